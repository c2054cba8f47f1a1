"""Kinematics: `trace` gives poses, constraint rows and a basis of their null space."""
