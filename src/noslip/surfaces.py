"""Rolling surfaces of bodies: disks, balls, tori, surfaces of revolution."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
