"""Numbers that steer a run: tolerances, steps and samples, refused where no run could use them.

A relative tolerance below the rounding of a double cannot be met, and the error estimate is then
noise; one above a tenth leaves no digit right. Both run, and their result means nothing, which is
worse than an error.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from noslip.errors import SimulationError
from noslip.model.scenario import MAX_SAMPLES

#: Tolerances outside these bounds are refused; an absolute one may be as small as wanted.
SMALLEST, LARGEST = 1e-15, 0.1


def check_settings(
    model: str,
    *,
    rtol: float,
    atol: float,
    step: float,
    max_step: float,
    max_steps: int,
    start_time: float,
    samples: Any,
) -> None:
    """Refuse settings that no run could use.

    Parameters
    ----------
    model : name of the model, for the message.
    rtol, atol, step, max_step, max_steps, start_time, samples : as in :func:`simulate`.

    Raises
    ------
    SimulationError : for the first number that is out of its range.
    """
    where = f"simulation of model '{model}'"
    if not (_within(rtol, SMALLEST, LARGEST) and _within(atol, 5e-324, LARGEST)):
        raise SimulationError(
            f"the tolerances are rtol = {rtol}, atol = {atol}",
            where,
            f"give positive numbers, rtol from {SMALLEST:g} to {LARGEST:g} and atol up to "
            f"{LARGEST:g}; 1e-6 is quick, 1e-9 usual, 1e-12 sharp",
        )
    if not _within(step, 0.0, math.inf) or step == math.inf:
        raise SimulationError(f"the step is {step} s", where, "give a time in s; 0 to choose it")
    if not _within(max_step, 5e-324, math.inf):
        raise SimulationError(
            f"the largest step is {max_step} s", where, "give max_step=…, a positive time in s"
        )
    if not _within(max_steps, 1, math.inf):
        raise SimulationError(
            f"at most {max_steps} steps are allowed", where, "give max_steps=…, 1 or more"
        )
    if not _within(start_time, -math.inf, math.inf) or math.isinf(start_time):
        raise SimulationError(
            f"the run starts at {start_time} s", where, "give start_time=…, a finite time in s"
        )
    _check_samples(samples, where)


def _check_samples(samples: Any, where: str) -> None:
    """A count, or an array of numbers, that fits into memory."""
    try:
        is_count = isinstance(samples, int | np.integer)
        count = int(samples) if is_count else np.asarray(samples, dtype=float).size
    except (TypeError, ValueError):
        raise SimulationError(
            f"the samples are {samples!r:.40}, which are not times",
            where,
            "give a whole number, or the times in s as an array",
        ) from None
    if count > MAX_SAMPLES:
        raise SimulationError(
            f"{count} samples are asked for", where, f"ask for {MAX_SAMPLES} or fewer"
        )


def _within(value: Any, lower: float, upper: float) -> bool:
    """Whether a value is a number in a closed range; nan is in none."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and bool(lower <= value <= upper)
