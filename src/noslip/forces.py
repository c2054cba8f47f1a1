"""Forces and torques: motors, brakes, springs, friction, tires."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.forces import (
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
    from noslip.model.contact_friction import (
        SlidingFriction as SlidingFriction,
        RollingResistance as RollingResistance,
        PivotingFriction as PivotingFriction,
    )
    from noslip.model.elastic_contacts import (
        ElasticContact as ElasticContact,
    )
    from noslip.model.tires import (
        MagicTire as MagicTire,
        BrushTire as BrushTire,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
