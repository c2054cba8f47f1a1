"""Motions to follow, of frames, trailers and coordinates."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
