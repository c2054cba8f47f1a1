"""The public names of `noslip.parts`; read at run time too."""

from .model.parts.part import (
    AbstractPart as AbstractPart,
)
from .model.parts.vehicle_bodies import (
    Base as Base,
    Load as Load,
    Pendulum as Pendulum,
    Tank as Tank,
    Strut as Strut,
    Lift as Lift,
    Flywheel as Flywheel,
    Hitch as Hitch,
    FifthWheel as FifthWheel,
    Waist as Waist,
    Trailer as Trailer,
    Trailers as Trailers,
)
from .model.parts.wheels import (
    FixedWheel as FixedWheel,
    DrivenWheel as DrivenWheel,
    SteeredWheel as SteeredWheel,
    SteeredDrivenWheel as SteeredDrivenWheel,
    Caster as Caster,
    BallCaster as BallCaster,
    MecanumWheel as MecanumWheel,
    OmniWheel as OmniWheel,
    Blade as Blade,
    Axle as Axle,
    Wheelset as Wheelset,
    DifferentialAxle as DifferentialAxle,
    AckermannAxle as AckermannAxle,
)
from .model.parts.arms import (
    Arm as Arm,
    ArmLink as ArmLink,
)
