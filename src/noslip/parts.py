"""Parts of vehicles and robots: wheels, axles, hitches, arms, loads."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.model.parts.part import (
        AbstractPart as AbstractPart,
    )
    from noslip.model.parts.bodies import (
        Base as Base,
        Load as Load,
        Pendulum as Pendulum,
        Tank as Tank,
        Strut as Strut,
        Lift as Lift,
        Flywheel as Flywheel,
    )
    from noslip.model.parts.wheels import (
        FixedWheel as FixedWheel,
        DrivenWheel as DrivenWheel,
        SteeredWheel as SteeredWheel,
        SteeredDrivenWheel as SteeredDrivenWheel,
        Caster as Caster,
        BallCaster as BallCaster,
        MecanumWheel as MecanumWheel,
        OmniWheel as OmniWheel,
        Blade as Blade,
    )
    from noslip.model.parts.axles import (
        Axle as Axle,
        Wheelset as Wheelset,
        DifferentialAxle as DifferentialAxle,
        AckermannAxle as AckermannAxle,
    )
    from noslip.model.parts.hitches import (
        Hitch as Hitch,
        FifthWheel as FifthWheel,
        Waist as Waist,
        Trailer as Trailer,
        Trailers as Trailers,
    )
    from noslip.model.parts.arms import (
        Arm as Arm,
        ArmLink as ArmLink,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
