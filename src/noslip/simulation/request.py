"""`RunRequest`: when, how and how well a motion is to be integrated, checked once.

The same for one run, for a batch, for derivatives and for histories of motions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from noslip.engines.system import Array, System
from noslip.simulation.checks import METHODS, check_run, sample_times


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunRequest:
    """What a run is asked for, besides a mechanism and what acts on it.

    Parameters
    ----------
    start_time, end_time : s.
    times : (ns,) of the samples, s.
    method : ``"dop853"`` or ``"rk4"``.
    rtol, atol : tolerances of the adaptive method.
    step : of rk4, s; for dop853 the first step, 0 to choose it.
    max_step, max_steps : bounds on step size and number of steps.
    """

    start_time: float
    end_time: float
    times: Array
    method: str
    rtol: float
    atol: float
    step: float
    max_step: float
    max_steps: int

    @property
    def method_number(self) -> int:
        """The method as the loop knows it."""
        return METHODS[self.method]

    @property
    def longest_step(self) -> float:
        """s; of rk4, its step."""
        return self.step if self.method == "rk4" else self.max_step

    def absolute(self, system: System, num_states: int, atol: float | None = None) -> Array:
        """(ny,) absolute tolerances; the work is integrated along but does not choose the steps.

        Parameters
        ----------
        num_states : of the system, and of a law behind it.
        atol : instead of the one asked for.
        """
        place = system.num_states - 1 if system.does_work else -1
        return _absolute(num_states, place, float(self.atol if atol is None else atol))


def read_run(
    function: str,
    system: System,
    *,
    duration: float,
    samples: int | Sequence[float] | Array,
    method: str,
    rtol: float,
    atol: float,
    step: float,
    max_step: float,
    max_steps: int,
    start_time: float,
    on_failure: str = "raise",
) -> RunRequest:
    """The request of arguments as :func:`simulate` takes them.

    Parameters
    ----------
    function : name of who asks, for the message.

    Raises
    ------
    TypeError : if the system is something else.
    SimulationError : for the first setting that is out of its range.
    """
    check_run(
        function,
        system,
        duration=duration,
        samples=samples,
        method=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
        start_time=start_time,
        on_failure=on_failure,
    )
    return RunRequest(
        start_time=start_time,
        end_time=start_time + duration,
        times=sample_times(samples, start_time, duration, system),
        method=method,
        rtol=rtol,
        atol=atol,
        step=step,
        max_step=max_step,
        max_steps=max_steps,
    )


@lru_cache(maxsize=64)
def _absolute(num_states: int, work: int, atol: float) -> Array:
    absolute = np.full(num_states, atol)
    if work >= 0:
        absolute[work] = 1e300
    absolute.flags.writeable = False
    return absolute
