"""Missions: legs, motors, battery and zones, what they ask of drives, and drives for them."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
