"""Grounds on which bodies roll: flat, curved, given by heights or a grid."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.grounds import (
        AbstractGround as AbstractGround,
        FlatGround as FlatGround,
        CylinderGround as CylinderGround,
        SphereGround as SphereGround,
        RevolvedGround as RevolvedGround,
        HeightGround as HeightGround,
        GridGround as GridGround,
        ParametricGround as ParametricGround,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
