"""Joint types: how a body may move against the one that carries it."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
