"""The public names of `noslip.surfaces`; read at run time too."""

from .model.surfaces import (
    AbstractSurface as AbstractSurface,
    Disk as Disk,
    Ball as Ball,
    Torus as Torus,
    Ellipsoid as Ellipsoid,
    CylinderSurface as CylinderSurface,
    ConeSurface as ConeSurface,
    RevolvedSurface as RevolvedSurface,
    ParametricSurface as ParametricSurface,
)
