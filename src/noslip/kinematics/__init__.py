"""Kinematics: `trace` gives poses, constraint rows and a basis of the speeds they leave free."""
