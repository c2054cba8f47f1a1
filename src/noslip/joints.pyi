"""The public names of `noslip.joints`; read at run time too."""

from .model.joints import (
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
    AbstractCompositeJoint as AbstractCompositeJoint,
    Universal as Universal,
)
from .show.joint_templates import (
    JOINT_TEMPLATES as JOINT_TEMPLATES,
    JointTemplate as JointTemplate,
    joint_template as joint_template,
)
