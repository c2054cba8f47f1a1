"""A vehicle with a trailer whose axle follows a path: the way to prescribe backing up.

With the base on the path, the trailer is pushed and folds up. With the trailer's axle on it, the
base is hinged to what follows (`path.py`), off its axle by the hitch c: on a line the angle between
them is stable in reverse for a hitch behind the axle, forward for one ahead of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from noslip.base import SimulationError
from noslip.control.follower import AxleLink
from noslip.control.motions.path import AbstractPathMotion, PathMotion, StandingTurn
from noslip.control.paths.base import AbstractPath
from noslip.control.reference.motion import MotionTrace
from noslip.control.timing.laws import AbstractTiming
from noslip.engines import System
from noslip.expressions import Scalar, nominal
from noslip.simulation import PathErrors, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailerMotion(AbstractPathMotion):
    """The trailer's axle along a path, the base and the steering as they must be.

    Parameters
    ----------
    path, timing : where the trailer's axle goes and how fast.
    steering, hinge, wheelbase, hitch, trailer, reverse, largest_steering : of the base, whose
        origin is on its axle, and of the trailer, as in :class:`Follower`.
    """

    path: AbstractPath
    timing: AbstractTiming
    steering: str
    hinge: str
    wheelbase: Scalar
    hitch: Scalar
    trailer: Scalar
    reverse: bool = True
    largest_steering: float = math.pi / 2

    def trace(self, system: System) -> MotionTrace:
        """Pose of the base, steering and articulation over time."""
        self._check(system)
        return self._along().trace(system)

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of the trailer's axle along a run."""
        return self._along().errors(system, run)

    def hinges(self) -> tuple[str, ...]:
        """The one of the trailer."""
        return (self.hinge,)

    def timed(self, timing: AbstractTiming) -> TrailerMotion:
        """The same motion under another timing law."""
        return replace(self, timing=timing)

    def order(self, system: System) -> int:
        """Same as for any chain of axles."""
        return self._along().order(system)

    def standing_turns(self, system: System) -> tuple[StandingTurn | None, ...]:
        """Same as for any chain of axles."""
        return self._along().standing_turns(system)

    def check_feed_forward(self, system: System) -> None:
        """Refuse what no finite forces can do."""
        self._along().check_feed_forward(system)

    def _along(self) -> PathMotion:
        """The trailer's axle, with the base hinged to it."""
        drawbar = AxleLink(
            coordinate=self.hinge,
            near=(self.trailer, 0.0),
            far=(_less(self.hitch), 0.0),
            sign=-1.0,
        )
        return PathMotion(
            path=self.path,
            timing=self.timing,
            reverse=self.reverse,
            steering=self.steering,
            wheelbase=self.wheelbase,
            largest_steering=self.largest_steering,
            links=(drawbar,),
            base=1,
        )

    def _check(self, system: System) -> None:
        if not self.steering:
            raise SimulationError(
                "the axle of a trailer follows the path, but nothing steers",
                f"motion of model '{system.model.name}'",
                "name the steering of the base, with its wheelbase",
            )
        hitch = nominal(self.hitch, system.model.parameter_values())
        if hitch * (1 if self.reverse else -1) < 0:
            way = "in reverse" if self.reverse else "forward"
            raise SimulationError(
                f"the hitch is {hitch:g} m behind the axle, where the articulation is not stable "
                f"for a trailer on the path {way}",
                f"motion of model '{system.model.name}'",
                "let the base follow the path with PathMotion"
                if not self.reverse
                else "place the hitch behind the axle",
            )


def _less(value: Scalar) -> Scalar:
    return f"-({value})" if isinstance(value, str) else -value
