"""Obstacles of plans: discs, polygons, grids and maps, at rest or moving."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
