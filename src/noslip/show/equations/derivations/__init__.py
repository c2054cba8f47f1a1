"""Derivations of the equations of motion, one for each formulation, as documents."""
