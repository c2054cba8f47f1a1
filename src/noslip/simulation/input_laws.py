"""Input laws: what gives the inputs over time, one by one or all at once.

An input may be a number, an expression, a table, a function, or all come from one law.
A table is piecewise cubic in time. A law gives all inputs at once, as traced expressions, and may
have states of its own. A law that divides by something that can vanish, such as the pivots of a
Jacobian, names it as a guard.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, is_truth, nearest
from noslip.engines import System
from noslip.model import MAX_SAMPLES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """An input given at times, in between by `kind`: ``hold``, ``linear`` or ``cubic`` spline.

    Before the first and after the last time the end values hold.
    """

    times: Array
    values: Array
    kind: str = "linear"

    def __post_init__(self) -> None:
        try:
            if is_truth(self.times) or is_truth(self.values):
                raise TypeError("NumPy would read True as 1")
            times = np.asarray(self.times, dtype=float)
            values = np.asarray(self.values, dtype=float)
        except (TypeError, ValueError):
            raise SimulationError(
                f"a table holds numbers, got times {self.times!r:.40} and values "
                f"{self.values!r:.40}",
                "Table(times=…, values=…)",
                "give two one-dimensional arrays of numbers, of the same length",
            ) from None
        if self.kind not in ("hold", "linear", "cubic"):
            raise SimulationError(
                f"a table cannot be interpolated by '{self.kind}'",
                "Table(kind=…)",
                nearest(self.kind, ("hold", "linear", "cubic")),
            )
        if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
            raise SimulationError(
                f"a table needs as many values as times, at least 2, got {values.shape} values for "
                f"{times.shape} times",
                "Table(times=…, values=…)",
                "give two one-dimensional arrays of the same length",
            )
        if np.any(np.diff(times) <= 0) or not np.all(np.isfinite(times) & np.isfinite(values)):
            raise SimulationError(
                "the times of a table must increase and all numbers be finite",
                "Table(times=…, values=…)",
                "sort the rows by time and remove repeated or missing ones",
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def segments(self) -> tuple[Array, Array]:
        """Starts (n,) and coefficients (n, 4), cubic first, of the time since each start."""
        t, y = self.times, self.values
        zero = np.zeros(len(t))
        if self.kind == "hold":
            return t, np.column_stack([zero, zero, zero, y])
        if self.kind == "linear":
            slope = np.append(np.diff(y) / np.diff(t), 0.0)
            coefficients = np.column_stack([zero, zero, slope, y])
        else:
            from scipy.interpolate import CubicSpline

            spline = CubicSpline(t, y, bc_type="natural")
            last = np.array([[0.0, 0.0, 0.0, y[-1]]])
            coefficients = np.vstack([spline.c.T, last])
        # before the first time its value holds
        starts = np.concatenate([[t[0] - 1.0], t])
        first = np.array([[0.0, 0.0, 0.0, y[0]]])
        return starts, np.vstack([first, coefficients])


class Guard(NamedTuple):
    """Divisor of a law: its conditioning, and the message if that is small."""

    conditioning: ca.SX
    what: str
    fix: str


def conditioning(pivots: list[ca.SX]) -> ca.SX:
    """The smallest of some pivots over the largest in magnitude, traced; 1 if there are none."""
    if not pivots:
        return ca.SX(1)
    smallest = largest = ca.fabs(pivots[0])
    for pivot in pivots[1:]:
        magnitude = ca.fabs(pivot)
        smallest, largest = ca.fmin(smallest, magnitude), ca.fmax(largest, magnitude)
    return smallest / largest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputGenerator:
    """Inputs as traced expressions, with states of their own: a controller or a feed-forward law.

    Parameters
    ----------
    inputs : input name → expression of the system's symbols, `states` and `parameters`.
    states : (nz,) symbols of its own states z.
    rates : (nz,) ż.
    start : (nz,) z at the start.
    names : names of z, for columns; units alike.
    parameters : symbols of numbers it needs beyond the model's, with their values.
    update, period : (nz,) new z, set every `period` seconds, as a sampled controller does; none if
        the period is 0.
    noise, seed, run : (2 n,) symbols of uniform random numbers, two for each of n channels, that
        `update` is given; drawn anew for each update from the seed, the number of the run, the
        channel and the number of the update (`philox.py`).
    knots : times at which an input or one of its derivatives jumps; steps end there.
    guards : what the law divides by, for a run that ends where one of them vanishes.
    is_rounded : whether it rounds what it sees, so that it has no derivative.
    start_time : s, at which the states are `start`; None if they are where any run starts.
    key : cache key of its code, which is then kept with the system: laws with equal keys differ in
        `start` and `parameter_values` alone. None: the code is compiled for every run.
    """

    inputs: dict[str, ca.SX]
    states: ca.SX
    rates: ca.SX
    start: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    parameters: ca.SX
    parameter_values: Array
    update: ca.SX | None = None
    period: float = 0.0
    noise: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    seed: int = 0
    run: int = 0
    knots: Array = field(default_factory=lambda: np.zeros(0))
    guards: tuple[Guard, ...] = ()
    is_rounded: bool = False
    start_time: float | None = None
    key: Hashable = None

    def update_times(self, start_time: float, end_time: float) -> Array:
        """Times of the updates of a sampled law in a run, its start included, s."""
        if self.update is None:
            return np.zeros(0)
        updates = (end_time - start_time) / self.period * (1 + 1e-12)
        if not updates <= MAX_SAMPLES:
            raise SimulationError(
                f"a period of {self.period:g} s makes {updates:.3g} updates in this run",
                "period of a sampled controller",
                f"give a longer period, or 0 for a continuous one; {MAX_SAMPLES} updates at most",
            )
        count = int(np.floor(updates)) + 1
        times: Array = start_time + self.period * np.arange(count, dtype=float)
        return times

    def check_start(self, time: float, model: str) -> None:
        """Refuse a run of a model that starts when the law's own states are not known, s."""
        if self.start_time is not None and time != self.start_time:
            listed = ", ".join(f"'{name}'" for name in self.names[:3])
            raise SimulationError(
                f"the run starts at {time:g} s, but its input law has its own {listed} at "
                f"{self.start_time:g} s",
                f"inputs of model '{model}'",
                f"pass start_time={self.start_time:g}, or give a law that follows from the time "
                "alone, such as a motion whose coordinates are expressions of t",
            )


class AbstractInputLaw(abc.ABC):
    """All inputs at once, by a rule that may have states of its own; traced anew for each basis."""

    __slots__ = ()

    @abc.abstractmethod
    def generator(self, system: System) -> InputGenerator:
        """The rule in the symbols of this system."""


#: What an input may be given as.
InputSpec: TypeAlias = float | str | Table | ca.Function | Callable[[float, Array, Array], float]
