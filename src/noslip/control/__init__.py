"""Paths in the plane, the laws by which time runs along them, and what makes a mechanism follow."""
