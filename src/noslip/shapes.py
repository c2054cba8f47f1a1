"""Shapes of bodies, drawn and weighed: boxes, cylinders, spheres, facets."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.bodies import (
        AbstractShape as AbstractShape,
        Box as Box,
        Cylinder as Cylinder,
        Sphere as Sphere,
        Ring as Ring,
        Turned as Turned,
        Facets as Facets,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
