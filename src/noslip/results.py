"""Results: what functions return, with units and names."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
