"""Controllers: what turns measured and wanted motion into inputs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noslip.control.controllers.base import (
        AbstractController as AbstractController,
        CustomController as CustomController,
        FeedForward as FeedForward,
    )
    from noslip.control.controllers.computed_torque import (
        ComputedTorque as ComputedTorque,
        ProportionalDerivative as ProportionalDerivative,
        AccelerationResolved as AccelerationResolved,
        CartesianTracking as CartesianTracking,
    )
    from noslip.control.controllers.following import (
        PathTracking as PathTracking,
    )
    from noslip.control.controllers.pose import (
        PoseTracking as PoseTracking,
    )
    from noslip.control.controllers.adaptive import (
        AdaptiveTracking as AdaptiveTracking,
        MotionForce as MotionForce,
    )
    from noslip.control.controllers.tracking import (
        Tracking as Tracking,
    )
    from noslip.control.controllers.steered import (
        SteeredTracking as SteeredTracking,
    )
    from noslip.control.controllers.trailer import (
        TrailerTracking as TrailerTracking,
    )
    from noslip.control.controllers.regulator import (
        Regulator as Regulator,
        LinearQuadratic as LinearQuadratic,
        linear_quadratic as linear_quadratic,
    )
    from noslip.control.text import (
        parse_controller as parse_controller,
    )
else:
    from noslip.base.public import lend

    __getattr__, __dir__ = lend(__name__)
