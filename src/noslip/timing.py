"""Timing laws: when a body is where on its path, and the least time it takes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.control.timing.laws import (
        AbstractTiming as AbstractTiming,
        ConstantSpeed as ConstantSpeed,
        ConstantEnergy as ConstantEnergy,
        Quintic as Quintic,
    )
    from noslip.control.timing.piecewise import (
        Trapezoidal as Trapezoidal,
        SCurve as SCurve,
        SpeedProfile as SpeedProfile,
        SpeedSchedule as SpeedSchedule,
    )
    from noslip.control.timing.limits import (
        Limits as Limits,
    )
    from noslip.control.timing.least_time import (
        LeastTime as LeastTime,
        least_time as least_time,
    )
    from noslip.control.timing.motor_limits import (
        motor_limits as motor_limits,
    )
    from noslip.control.text import (
        parse_timing as parse_timing,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
