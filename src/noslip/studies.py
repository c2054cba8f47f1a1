"""Families of parameter studies: what is drawn, measured and computed."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
