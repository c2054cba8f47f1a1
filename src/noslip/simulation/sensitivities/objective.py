"""Objectives of `gradient`: numbers made from a motion.

J = terminal(y(t_end)) + ∫ running(y) dt + Σ_k misfit(y(t_k), measured values at t_k)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noslip.base import Array, SimulationError
from noslip.simulation.request import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurements:
    """Measurements at some times, and the misfit of a motion to them.

    Parameters
    ----------
    times : (n,) increasing, s.
    values : name → (n,) measured values.
    misfit : expression of columns, parameters, t and the names of `values`, summed over the times,
        such as ``"(platform.x - x)**2"`` with ``values={"x": …}``.
    """

    times: Array
    values: Mapping[str, Array]
    misfit: str

    def __post_init__(self) -> None:
        times = np.asarray(self.times, dtype=float)
        values = {name: np.asarray(x, dtype=float) for name, x in self.values.items()}
        if times.ndim != 1 or not times.size or np.any(np.diff(times) <= 0):
            raise SimulationError(
                "the times of measurements must increase",
                "Measurements(times=…)",
                "sort them, and leave out repeated ones",
            )
        for name, x in values.items():
            if x.shape != times.shape or not np.all(np.isfinite(x)):
                raise SimulationError(
                    f"'{name}' has the shape {x.shape}, and there are {times.size} times; or not "
                    "all of its values are finite",
                    "Measurements(values=…)",
                    "give one finite value for each time",
                )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @property
    def rows(self) -> Array:
        """(n, k) measured values, one row for each time."""
        return np.column_stack([np.zeros((self.times.size, 0)), *self.values.values()])


class Objective(NamedTuple):
    """A number made from a motion: expressions at its end and over time, and a misfit."""

    terminal: str | None
    running: str | None
    measurements: Measurements | None


def check_objective(
    run: RunOptions, terminal: str | None, running: str | None, measurements: Measurements | None
) -> None:
    """Refuse an objective that says nothing, or speaks of times outside the run."""
    where = f"gradient of model '{run.system.model.name}'"
    if terminal is None and running is None and measurements is None:
        raise SimulationError(
            "there is nothing to take the gradient of",
            where,
            "give terminal='…', running='…' or measurements=Measurements(…)",
        )
    for word, text in (("terminal", terminal), ("running", running)):
        if not (text is None or isinstance(text, str)):
            raise SimulationError(
                f"{word} is {text!r:.60}, which is not an expression",
                where,
                "write arithmetic of columns, parameters and t, such as 'platform.x**2'",
            )
    if measurements is None:
        return
    if not isinstance(measurements, Measurements):
        raise SimulationError(
            f"measurements is {type(measurements).__name__}",
            where,
            "give Measurements(times=…, values={…}, misfit='…')",
        )
    first, last = measurements.times[0], measurements.times[-1]
    if first < run.start_time or last > run.end_time:
        raise SimulationError(
            f"measurements were taken from {first:g} to {last:g} s",
            where,
            f"give times between {run.start_time:g} and {run.end_time:g} s",
        )
