"""The public names of `noslip.timing`; read at run time too."""

from .control.timing_laws import (
    AbstractTiming as AbstractTiming,
    ConstantSpeed as ConstantSpeed,
    ConstantEnergy as ConstantEnergy,
    Quintic as Quintic,
    Trapezoidal as Trapezoidal,
    SCurve as SCurve,
    SpeedProfile as SpeedProfile,
    SpeedSchedule as SpeedSchedule,
    control_angle as control_angle,
    gyration as gyration,
    with_control_angles as with_control_angles,
)
from .control.path_limits import Limits as Limits
from .control.least_time import (
    LeastTime as LeastTime,
    least_time as least_time,
    motor_limits as motor_limits,
)
from .control.member_texts import (
    parse_timing as parse_timing,
)
