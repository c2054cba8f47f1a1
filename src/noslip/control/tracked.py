"""What came of following a path: the run, its errors, and whether the vehicle is still there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noslip.analysis.scenario import ScenarioRun
from noslip.engines.system import Array
from noslip.simulation.trajectory import Trajectory

#: Columns of what is tracked: how far off and how much turned against the reference, m and rad.
TRACKED = ("path.position_error", "path.heading_error")
#: A vehicle is lost that ends farther off than this part of the path's length ...
LOST = 0.01
#: ... and than so many times what it was off at the start.
WORSE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrackResult:
    """A tracked path.

    Parameters
    ----------
    trajectory : what happened.
    along, across, heading : (n,) errors of the following frame against the reference: behind or
        ahead and to the left of it along the path, m, and turned against it, rad.
    admissibility : largest part of the prescribed motion that no admissible motion has.
    path_length : m.
    """

    trajectory: Trajectory
    along: Array
    across: Array
    heading: Array
    admissibility: float
    path_length: float

    @property
    def tracking_error(self) -> float:
        """Largest distance from the reference, m."""
        return float(np.max(np.hypot(self.along, self.across)))

    @property
    def final_error(self) -> float:
        """Largest distance from the reference in the last tenth of the run, m."""
        last = slice(-(-9 * len(self.along) // 10) - 1, None)
        return float(np.max(np.hypot(self.along[last], self.across[last])))

    @property
    def lost(self) -> bool:
        """Whether the vehicle left its path: it ends worse than it began, and far off."""
        begun = math.hypot(self.along[0], self.across[0])
        return not self.final_error <= max(LOST * self.path_length, WORSE * begun)

    def as_scenario_run(self) -> ScenarioRun:
        """The run as scenarios have it, with the errors of what follows the path.

        Wheels and casters are not among them: nobody tracks their angles, and from a disturbed
        start a wheel has rolled another way than the reference's.
        """
        run = self.trajectory
        errors = {name: run[name] for name in TRACKED}
        return ScenarioRun(trajectory=run, errors=errors, admissibility=self.admissibility)

    def to_json(self) -> dict[str, float | bool]:
        """The errors in numbers."""
        return {
            "path_length": self.path_length,
            "path_error": self.tracking_error,
            "path_error_final": math.hypot(self.along[-1], self.across[-1]),
            "heading_error": float(np.max(np.abs(self.heading))),
            "heading_error_final": float(self.heading[-1]),
            "lost": self.lost,
        }

    def summary(self) -> str:
        """The error in one line."""
        last = math.hypot(self.along[-1], self.across[-1])
        return (
            f"{self.covered()}: error {self.tracking_error:.2e} m at most, {last:.2e} m and "
            f"{abs(self.heading[-1]):.2e} rad at the end{', lost' if self.lost else ''}"
        )

    def covered(self) -> str:
        """How much of the path was driven, and in what time."""
        run = self.trajectory
        driven = f"{run['path.arc_length'][-1]:.6g} m of {self.path_length:.6g} m"
        return f"{driven} in {run.t[-1]:.6g} s"

    def __repr__(self) -> str:
        return (
            f"TrackResult of '{self.trajectory.model.name}': {self.summary()}\n"
            "next: .trajectory['column'], .tracking_error, .along, .across, .heading, .lost"
        )
