"""Identification: parameters of a mechanism from measured motions."""
