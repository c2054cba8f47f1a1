"""Forces and torques: motors, brakes, springs, friction, tires."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
