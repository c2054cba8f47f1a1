"""Further constraint rows: given equations, gears and other transmissions."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
