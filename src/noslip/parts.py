"""Parts of vehicles and robots: wheels, axles, hitches, arms, loads."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
