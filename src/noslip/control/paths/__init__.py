"""Plane curves to follow."""
