"""Admissible reference motions of a vehicle on a timed path."""
