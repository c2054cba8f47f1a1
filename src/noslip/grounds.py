"""Grounds on which bodies roll: flat, curved, given by heights or a grid."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
