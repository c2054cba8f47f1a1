"""Motions to follow: given by expressions, completed, and the inputs they need."""
