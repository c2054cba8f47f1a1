"""Driving by commands: channels, the laws that follow them, and a mechanism moved in real time."""
