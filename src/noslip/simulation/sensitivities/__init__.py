"""Exact derivatives: of the equations, of a simulated motion, and of a number made from it."""
