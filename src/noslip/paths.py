"""Paths to follow: lines, arcs, clothoids, splines, and paths made of others."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
