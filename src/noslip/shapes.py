"""Shapes of bodies, drawn and weighed: boxes, cylinders, spheres, facets."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
