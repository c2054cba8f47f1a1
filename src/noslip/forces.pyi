"""The public names of `noslip.forces`; read at run time too."""

from .model.forces import (
    AbstractForce as AbstractForce,
    Motor as Motor,
    Brake as Brake,
    JointSpring as JointSpring,
    JointDamper as JointDamper,
    JointFriction as JointFriction,
    Spring as Spring,
    Tire as Tire,
    Wrench as Wrench,
)
from .model.forces import (
    SlidingFriction as SlidingFriction,
    RollingResistance as RollingResistance,
    PivotingFriction as PivotingFriction,
    ElasticContact as ElasticContact,
    MagicTire as MagicTire,
    BrushTire as BrushTire,
)
