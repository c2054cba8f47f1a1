"""Rolling surfaces of bodies: disks, balls, tori, surfaces of revolution."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.surfaces import (
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
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
