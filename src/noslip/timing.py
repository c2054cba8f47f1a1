"""Timing laws: when a body is where on its path, and the least time it takes."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
