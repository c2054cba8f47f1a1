"""The public names of `noslip.grounds`; read at run time too."""

from .model.grounds import (
    AbstractGround as AbstractGround,
    FlatGround as FlatGround,
    CylinderGround as CylinderGround,
    SphereGround as SphereGround,
    RevolvedGround as RevolvedGround,
    HeightGround as HeightGround,
    GridGround as GridGround,
    ParametricGround as ParametricGround,
)
