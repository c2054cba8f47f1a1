"""The public names of `noslip.timing`; read at run time too."""

from .control.timing.laws import (
    AbstractTiming as AbstractTiming,
    ConstantSpeed as ConstantSpeed,
    ConstantEnergy as ConstantEnergy,
    Quintic as Quintic,
)
from .control.timing.piecewise import (
    Trapezoidal as Trapezoidal,
    SCurve as SCurve,
    SpeedProfile as SpeedProfile,
    SpeedSchedule as SpeedSchedule,
)
from .control.timing.limits import (
    Limits as Limits,
)
from .control.timing.least_time import (
    LeastTime as LeastTime,
    least_time as least_time,
)
from .control.timing.motor_limits import (
    motor_limits as motor_limits,
)
from .control.text import (
    parse_timing as parse_timing,
)
