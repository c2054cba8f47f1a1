"""The public names of `noslip.controllers`; read at run time too."""

from .control.closed_loop import (
    AbstractController as AbstractController,
    CustomController as CustomController,
    FeedForward as FeedForward,
    Tracking as Tracking,
)
from .control.computed_torque import (
    ComputedTorque as ComputedTorque,
    ProportionalDerivative as ProportionalDerivative,
    AccelerationResolved as AccelerationResolved,
    CartesianTracking as CartesianTracking,
    AdaptiveTracking as AdaptiveTracking,
    MotionForce as MotionForce,
)
from .control.path_tracking import (
    PathTracking as PathTracking,
    PoseTracking as PoseTracking,
    SteeredTracking as SteeredTracking,
    TrailerTracking as TrailerTracking,
)
from .control.lqr import (
    Regulator as Regulator,
    LinearQuadratic as LinearQuadratic,
    linear_quadratic as linear_quadratic,
)
from .planning.predictive import (
    Predictive as Predictive,
)
from .control.member_texts import (
    parse_controller as parse_controller,
)
