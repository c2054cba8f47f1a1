"""Analyze a system at an instant, along a motion, and about steady motions."""
