"""Timing laws: the speed of a point along its path."""
