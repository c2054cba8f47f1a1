"""Joint types: how a body may move against the one that carries it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.joints import (
        AbstractJointType as AbstractJointType,
        Fixed as Fixed,
        Revolute as Revolute,
        Prismatic as Prismatic,
        Screw as Screw,
        Translation as Translation,
        Planar as Planar,
        Spherical as Spherical,
        Free as Free,
        Angles as Angles,
    )
    from noslip.model.composite_joints import (
        AbstractCompositeJoint as AbstractCompositeJoint,
        Universal as Universal,
    )
    from noslip.show.joint_templates import (
        JOINT_TEMPLATES as JOINT_TEMPLATES,
        JointTemplate as JointTemplate,
        joint_template as joint_template,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
