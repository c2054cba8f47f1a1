"""Families of file formats: models, equations, systems and runs."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
