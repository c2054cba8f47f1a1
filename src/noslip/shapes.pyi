"""The public names of `noslip.shapes`; read at run time too."""

from .model.bodies import (
    AbstractShape as AbstractShape,
    Box as Box,
    Cylinder as Cylinder,
    Sphere as Sphere,
    Ring as Ring,
    Turned as Turned,
    Facets as Facets,
)
