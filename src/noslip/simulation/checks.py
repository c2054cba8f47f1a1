"""What a run is asked for, refused where no run could do it: settings, methods, times of samples.

The same for one run, for a batch and for derivatives. A relative tolerance below the rounding of a
double cannot be met, and the error estimate is then noise; one above a tenth leaves no digit right.
Both run, and their result means nothing, which is worse than an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.model.scenario import MAX_SAMPLES
from noslip.simulation import rules

#: Methods by their names.
METHODS = {"dop853": rules.DOP853, "rk4": rules.RK4}

_NUMBER = (float, int, np.number)
_COUNT = (int, np.integer)

#: Tolerances outside these bounds are refused; an absolute one may be as small as wanted.
SMALLEST, LARGEST = 1e-15, 0.1

#: What to pass for an argument that maps names to something; a start's values where none is listed.
_EXAMPLES = {
    **dict.fromkeys(("stop", "events", "outputs"), "expressions, {'flat': 'disk.z'}"),
    "parameters": "values, {'m': 2.0}",
    "definitions": "values or expressions, {'gain': 0.2}",
    "inputs": "values or expressions, {'torque1': '0.1*sin(t)'}",
}

#: More steps than this no run will ever take, and the loops count with whole numbers of 64 bits.
MOST_STEPS = 10**18


def check_run(
    function: str,
    system: System,
    *,
    duration: float,
    samples: Any,
    method: str,
    rtol: float,
    atol: float,
    step: float,
    max_step: float,
    max_steps: int,
    start_time: float,
    on_failure: str = "raise",
) -> None:
    """Refuse what no run could use.

    Parameters
    ----------
    function : name of who asks, for the message.
    system, duration, samples, method, rtol, atol, step, max_step, max_steps, start_time,
        on_failure : as in :func:`simulate`.

    Raises
    ------
    TypeError : if the system is something else.
    SimulationError : for the first setting that is out of its range.
    """
    if not isinstance(system, System):
        raise TypeError(
            f"{function} takes a System, got {type(system).__name__}: compile the equations first"
        )

    def refused(what: str, fix: str) -> SimulationError:
        return SimulationError(what, f"simulation of model '{system.model.name}'", fix)

    if not system.coordinates:
        raise refused(
            "the model has no coordinates: nothing in it can move",
            "give a body a joint that lets it move",
        )
    settings = (rtol, atol, step, max_step, max_steps, start_time, duration, method, on_failure)
    try:
        fault = _fault(*settings)
    except TypeError:  # something cannot be a key, so it is no number
        fault = _fault.__wrapped__(*settings)
    if fault is not None:
        raise refused(*fault)
    whole = "give a whole number, or the times in s as an array"
    count = samples
    if not isinstance(samples, _COUNT):
        try:
            times = np.asarray(samples, dtype=float)
        except (TypeError, ValueError):
            raise refused(f"the samples are {samples!r:.40}, which are not times", whole) from None
        if not times.ndim:
            raise refused(f"the number of samples asked for is {samples!r:.40}", whole)
        count = times.size
    if count > MAX_SAMPLES:
        raise refused(
            f"the number of samples asked for is {count}", f"ask for {MAX_SAMPLES} or fewer"
        )


@lru_cache(maxsize=64, typed=True)
def _fault(
    rtol: float,
    atol: float,
    step: float,
    max_step: float,
    max_steps: int,
    start_time: float,
    duration: float,
    method: str,
    on_failure: str,
) -> tuple[str, str] | None:
    """What is wrong with settings and what to do, if anything; most come again and again."""
    if not (_within(rtol, SMALLEST, LARGEST) and _within(atol, 5e-324, LARGEST)):
        return (
            f"the tolerances are rtol = {rtol}, atol = {atol}",
            f"give positive numbers, rtol from {SMALLEST:g} to {LARGEST:g} and atol up to "
            f"{LARGEST:g}; 1e-6 is quick, 1e-9 usual, 1e-12 sharp",
        )
    if not _within(step, 0.0, math.inf) or step == math.inf:
        return f"the step is {step} s", "give a time in s; 0 to choose it"
    if not _within(max_step, 5e-324, math.inf):
        return f"the largest step is {max_step} s", "give max_step=…, a positive time in s"
    if not _within(max_steps, 1, MOST_STEPS):
        fix = f"give max_steps=…, from 1 to {MOST_STEPS:g}"
        return f"at most {max_steps} steps are allowed", fix
    if not _within(start_time, -math.inf, math.inf) or math.isinf(start_time):
        return f"the run starts at {start_time} s", "give start_time=…, a finite time in s"
    is_number = isinstance(duration, _NUMBER) and not isinstance(duration, bool)
    if not (is_number and math.isfinite(duration) and duration > 0):
        shown = f"{duration} s" if is_number else f"{duration!r:.60}, which is not a number"
        return f"the duration is {shown}", "give a positive time in s"
    if method not in METHODS:
        return f"there is no method '{method}'", "use method='dop853' or method='rk4'"
    if method == "rk4" and not step > 0:
        return "rk4 has no step", "give step=…, in s"
    if on_failure not in ("raise", "return"):
        return f"on_failure is '{on_failure}'", "use 'raise' or 'return'"
    return None


def check_named(progress: Any = None, cancel: Any = None, **given: Any) -> None:
    """Refuse what is no mapping from names, and what cannot be called or asked.

    Parameters
    ----------
    progress, cancel : as in :func:`simulate`.
    given : arguments that are mappings or None, by their own names.

    Raises
    ------
    TypeError : for the first that is something else.
    """
    for word, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            example = _EXAMPLES.get(word, "values, {'disk.tilt': 1.2}")
            raise TypeError(f"{word} is {value!r:.60}: pass names and {example}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {progress!r}: pass a function of the fraction done")
    if cancel is not None and not hasattr(cancel, "is_set"):
        raise TypeError(f"cancel is {cancel!r}: pass a threading.Event, and set it to end the run")


def sample_times(
    samples: int | Sequence[float] | Array, start_time: float, duration: float, system: System
) -> Array:
    """Times of the samples, from their number or as they are given."""
    if isinstance(samples, _COUNT):
        if samples < 2:
            raise SimulationError(
                f"the number of samples asked for is {samples}",
                f"simulation of model '{system.model.name}'",
                "ask for at least 2, or give the times themselves",
            )
        return _spaced(start_time, start_time + duration, int(samples))
    times = np.asarray(samples, dtype=float)
    if not (times.ndim == 1 and times.size and _increases(times, start_time, duration)):
        raise SimulationError(
            "the sample times must increase and lie within the run",
            f"simulation of model '{system.model.name}'",
            f"give times between {start_time:g} and {start_time + duration:g} s",
        )
    return times


def _spaced(start: float, end: float, count: int) -> Array:
    """What ``np.linspace`` gives, bit by bit, in less than half of its time."""
    times = np.arange(count, dtype=float)
    times *= (end - start) / (count - 1)
    times += start
    times[-1] = end
    return times


def _increases(times: Array, start_time: float, duration: float) -> bool:
    """Whether times follow each other within a run; nan follows nothing."""
    if not start_time <= times.item(0) <= times.item(-1) <= start_time + duration:
        return False
    return times.size < 3 or np.count_nonzero(times[1:] >= times[:-1]) == times.size - 1


def _within(value: Any, lower: float, upper: float) -> bool:
    """Whether a value is a number in a closed range; nan is in none."""
    is_number = isinstance(value, _NUMBER) and not isinstance(value, bool)
    return is_number and bool(lower <= value <= upper)
