"""Motions of a system, one (`simulate`) or many at once (`batch`): starts, inputs, steps."""
