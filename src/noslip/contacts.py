"""Contacts without slip: rolling, rolling on rollers, knife edges."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
