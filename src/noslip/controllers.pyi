"""The public names of `noslip.controllers`; read at run time too."""

from .control.controllers.base import (
    AbstractController as AbstractController,
    CustomController as CustomController,
    FeedForward as FeedForward,
)
from .control.controllers.computed_torque import (
    ComputedTorque as ComputedTorque,
    ProportionalDerivative as ProportionalDerivative,
    AccelerationResolved as AccelerationResolved,
    CartesianTracking as CartesianTracking,
)
from .control.controllers.following import (
    PathTracking as PathTracking,
)
from .control.controllers.pose import (
    PoseTracking as PoseTracking,
)
from .control.controllers.adaptive import (
    AdaptiveTracking as AdaptiveTracking,
    MotionForce as MotionForce,
)
from .control.controllers.tracking import (
    Tracking as Tracking,
)
from .control.controllers.steered import (
    SteeredTracking as SteeredTracking,
)
from .control.controllers.trailer import (
    TrailerTracking as TrailerTracking,
)
from .control.controllers.regulator import (
    Regulator as Regulator,
    LinearQuadratic as LinearQuadratic,
    linear_quadratic as linear_quadratic,
)
from .control.text import (
    parse_controller as parse_controller,
)
