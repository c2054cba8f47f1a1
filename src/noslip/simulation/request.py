"""`RunRequest`: the arguments of a run, read from a call and checked once.

The same for one run, for a batch, for derivatives and for histories of motions. Refused is what no
run could do: settings, methods, times of samples, parameters that take a degree of freedom away.

A relative tolerance below the rounding of a double cannot be met, and the error estimate is then
noise; one above a tenth leaves no digit right. Both run, and their result means nothing, which is
worse than an error.
"""

from __future__ import annotations

import dataclasses
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, check_memory
from noslip.engines import System, require_system
from noslip.kinematics import are_independent, independent_rows
from noslip.model import MAX_SAMPLES
from noslip.simulation import rules
from noslip.simulation.events import lift_events, limit_events
from noslip.simulation.expressions import check_definitions, check_outputs
from noslip.simulation.input_laws import AbstractInputLaw
from noslip.simulation.starts.completion import Start

#: Methods by their names.
METHODS = {"dop853": rules.DOP853, "rk4": rules.RK4}

_NUMBER = (float, int, np.number)
_COUNT = (int, np.integer)

#: Samples from which on it is asked whether they fit into memory.
_MANY = 100_000
#: Tolerances outside these bounds are refused; an absolute one may be as small as wanted.
SMALLEST, LARGEST = 1e-15, 0.1

#: What to pass for an argument that maps names to something; a start's values where none is listed.
_EXAMPLES = {
    **dict.fromkeys(("stop", "events", "outputs"), "expressions, {'flat': 'disk.z'}"),
    "parameters": "values, {'m': 2.0}",
    "definitions": "values or expressions, {'gain': 0.2}",
    "inputs": "values or expressions, {'torque1': '0.1*sin(t)'}",
}

#: Sets of parameter values that are remembered: with the nominal rows, and with other ones, each of
#: which has a system of its own.
MOST_NOMINAL, MOST_ACCEPTED = 10_000, 16

#: A run spans at least so many different times.
FEWEST_TIMES = 10_000

#: More steps than this no run will ever take, and the loops count with whole numbers of 64 bits.
MOST_STEPS = 10**18


class RunRequest(NamedTuple):
    """A checked request for a run. Made by :func:`read_run` from the arguments of a call.

    Parameters
    ----------
    system : compiled system.
    start_time, end_time : s.
    times : (ns,) of the samples, s.
    method : ``"dop853"`` or ``"rk4"``.
    rtol, atol : tolerances of the adaptive method.
    step : of rk4, s; for dop853 the first step, 0 to choose it.
    max_step, max_steps : bounds on step size and number of steps.
    values : (np,) parameters; of a batch the nominal ones.
    start, inputs, definitions, stop, events, outputs : as they are given.
    progress, cancel, on_failure : how a run is watched, and what becomes of one that fails.
    """

    system: System
    start_time: float
    end_time: float
    times: Array
    rtol: float
    atol: float
    max_steps: int
    values: Array
    method: str = "dop853"
    step: float = 0.0
    max_step: float = np.inf
    start: Mapping[str, float] | Start | None = None
    guess: Mapping[str, float] | None = None
    inputs: Any = None
    definitions: Mapping[str, Any] = MappingProxyType({})
    stop: Mapping[str, str] = MappingProxyType({})
    events: Mapping[str, str] = MappingProxyType({})
    outputs: Mapping[str, str] = MappingProxyType({})
    progress: Callable[[float], object] | None = None
    cancel: Any = None
    on_failure: str = "raise"

    @property
    def method_number(self) -> int:
        """The integration method, as the loop names it."""
        return METHODS[self.method]

    @property
    def longest_step(self) -> float:
        """s; of rk4, its step."""
        return self.step if self.method == "rk4" else self.max_step

    def absolute(self, num_states: int, atol: float | None = None) -> Array:
        """(ny,) absolute tolerances; the work is integrated along but does not choose the steps.

        Parameters
        ----------
        num_states : of the system, and of a law behind it.
        atol : instead of the one asked for.
        """
        system = self.system
        place = system.num_states - 1 if system.does_work else -1
        return _absolute(num_states, place, float(self.atol if atol is None else atol))


#: Arguments that are mappings from names, and what else they may be; dictionaries are mappings.
_MAPPINGS: dict[str, tuple[type, ...]] = {
    "start": (dict, Start),
    "guess": (dict,),
    "inputs": (dict, AbstractInputLaw),
    **dict.fromkeys(("starts", "parameters", "definitions", "stop", "events", "outputs"), (dict,)),
}


def read_run(function: str, given: Mapping[str, Any]) -> RunRequest:
    """The request of a call, checked.

    Parameters
    ----------
    function : name of the caller, for the message.
    given : its arguments by name, those of :func:`simulate`; ``locals()`` before anything else.
        A batch has `starts` instead of `start`, and reads `parameters` itself.

    Raises
    ------
    TypeError : if the system is something else, and for what is no mapping from names.
    SimulationError : for the first setting that is out of its range.
    """
    get = given.get
    system, start_time, duration = given["system"], given["start_time"], given["duration"]
    tolerance, samples = get("tolerance"), get("samples", 2)
    rtol, atol = get("rtol", tolerance), get("atol", tolerance)
    method, step, max_step = get("method", "dop853"), get("step", 0.0), get("max_step", math.inf)
    max_steps, on_failure = get("max_steps", 10_000_000), get("on_failure", "raise")
    settings = (rtol, atol, step, max_step, max_steps, start_time, duration, method, on_failure)
    _check_settings(function, system, settings, samples)
    progress, cancel = get("progress"), get("cancel")
    named = [
        word
        for word, kinds in _MAPPINGS.items()
        if (value := get(word)) is not None and not isinstance(value, kinds)
    ]
    if named or progress is not None or cancel is not None:
        check_named(progress, cancel, **{word: given[word] for word in named})
    definitions = get("definitions") or {}
    if definitions:
        check_definitions(system, definitions)
    outputs = get("outputs") or {}
    if outputs:
        check_outputs(system, outputs)
    parameters = None if "starts" in given else get("parameters")
    values = system.parameters(parameters)
    system, start = with_regular_rows(system, values, parameters), get("start")
    if isinstance(start, Start) and system is not given["system"]:
        E = system.kinematics.independent_rows(start.time, start.q, values)
        start = dataclasses.replace(start, eta=E @ start.v)
    return RunRequest(
        system,
        start_time,
        start_time + duration,
        sample_times(samples, start_time, duration, system),
        rtol,
        atol,
        max_steps,
        values,
        method,
        step,
        max_step,
        start,
        get("guess"),
        get("inputs"),
        definitions,
        {**lift_events(system), **limit_events(system), **(get("stop") or {})},
        get("events") or {},
        outputs,
        progress,
        cancel,
        on_failure,
    )


@lru_cache(maxsize=64)
def _absolute(num_states: int, work: int, atol: float) -> Array:
    absolute = np.full(num_states, atol)
    if work >= 0:
        absolute[work] = 1e300
    absolute.flags.writeable = False
    return absolute


def _check_settings(function: str, system: System, settings: tuple[Any, ...], samples: Any) -> None:
    """Refuse a system that cannot move, settings out of their range and samples that are none."""
    require_system(function, system)

    def refused(what: str, fix: str) -> SimulationError:
        return SimulationError(what, f"simulation of model '{system.model.name}'", fix)

    if not system.coordinates:
        raise refused(
            "the model has no coordinates: nothing in it can move",
            "give a body a joint that lets it move",
        )
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
            raise refused(f"the requested number of samples is {samples!r:.40}", whole)
        count = times.size
    if count > MAX_SAMPLES:
        raise refused(
            f"the requested number of samples is {count}", f"ask for {MAX_SAMPLES} or fewer"
        )
    if count > _MANY:
        columns = 3 * len(system.coordinates) + 3 * len(system.speeds) + len(system.inputs)
        columns += 3 * len(system.kinematics.rows) + 10
        check_memory(
            8 * columns * count,
            "results",
            f"simulation of model '{system.model.name}'",
            f"request fewer samples than {count}",
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
    """Fault of the settings and its remedy, if there is one; cached, as most settings repeat."""
    if not (_within(rtol, SMALLEST, LARGEST) and _within(atol, 5e-324, LARGEST)):
        return (
            f"the tolerances are rtol = {rtol}, atol = {atol}",
            f"give positive numbers, rtol from {SMALLEST:g} to {LARGEST:g} and atol up to "
            f"{LARGEST:g}; 1e-6 is fast, 1e-9 usual, 1e-12 very accurate",
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
    apart = math.ulp(max(abs(start_time), abs(start_time + duration)))
    if duration < FEWEST_TIMES * apart:
        return (
            f"the run starts at {start_time:g} s and lasts {duration:g} s, but numbers of that "
            f"size are {apart:.2g} s apart: time would not advance",
            "give a start_time nearer to zero, and shift the times of inputs with it",
        )
    if method not in METHODS:
        return f"there is no method '{method}'", "use method='dop853' or method='rk4'"
    if method == "rk4" and not step > 0:
        return "rk4 has no step", "give step=…, in s"
    if on_failure not in ("raise", "return"):
        return f"on_failure is '{on_failure}'", "use 'raise' or 'return'"
    return None


def check_named(progress: Any = None, cancel: Any = None, **given: Any) -> None:
    """Refuse arguments that are no mapping from names, no callable, or no cancel request.

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
                f"the requested number of samples is {samples}",
                f"simulation of model '{system.model.name}'",
                "give at least 2, or the times themselves",
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
    """Same bits as ``np.linspace``, in less than half of its time."""
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


def with_regular_rows(system: System, values: Array, changed: Mapping[str, float] | None) -> System:
    """The system with rows that are independent at these parameters: itself, mostly.

    Which row repeats others may differ from the nominal parameters; how many are independent must
    not.

    Raises
    ------
    SimulationError : if the mechanism has other degrees of freedom at these parameters.
    """
    kin = system.kinematics
    if not changed or not kin.redundant:
        return system
    places = system.cached("parameters of rows", lambda: row_parameters(system))
    of_rows, nominal = values[places], kin.probe.params[places]
    as_nominal = system.cached(
        "rows as nominal", lambda: OrderedDict[bytes, None]({nominal.tobytes(): None})
    )
    accepted = system.cached("rows accepted", OrderedDict[bytes, System])
    key = of_rows.tobytes()
    if key in as_nominal:
        return system
    found = accepted.get(key)
    if found is None:
        found = _with_regular_rows(system, values)
        if found is system:
            if len(as_nominal) >= MOST_NOMINAL:
                as_nominal.popitem(last=False)
            as_nominal[key] = None
        else:
            if len(accepted) >= MOST_ACCEPTED:
                accepted.popitem(last=False)
            accepted[key] = found
    return found


def _with_regular_rows(system: System, values: Array) -> System:
    kin = system.kinematics
    probe = dataclasses.replace(kin.probe, params=values)
    samples = probe.configurations(4)
    found = independent_rows(probe, kin.rows, samples)
    where = f"parameters of model '{system.model.name}'"
    again = "write these values into the model and derive it again"
    is_as_many = bool(samples) and max(found.ranks) == len(kin.row_basis)
    restore = "restore the geometry (for example wheels on one axle), or "
    for redundant in kin.redundant:
        if redundant.row not in found.kept or (is_as_many and redundant.follows_from):
            continue
        name = kin.rows[redundant.row].name
        others = ", ".join(f"'{n}'" for n in redundant.follows_from)
        if is_as_many:
            what = f"row '{name}' no longer holds by itself, as with the nominal parameters"
        elif others:
            what = (
                f"row '{name}' followed from {others} with the nominal parameters, but does not "
                "with these: the mechanism has lost a degree of freedom"
            )
        else:
            what = (
                f"row '{name}' held by itself with the nominal parameters, but does not with "
                "these: the mechanism has lost a degree of freedom"
            )
        raise SimulationError(what, where, restore + again)
    repeated = [k for k in kin.row_basis if k not in found.kept]
    if samples and not is_as_many:
        names = ", ".join(f"'{kin.rows[k].name}'" for k in repeated)
        raise SimulationError(
            f"the rows {names} repeat others with these parameters, unlike with the nominal "
            "ones: the mechanism has gained a degree of freedom",
            where,
            again,
        )
    if (
        not repeated
        or kin.combination is not None
        or are_independent(probe, kin.row_basis, samples)
    ):
        return system
    speeds = tuple(s.name for s in system.independent_speeds)
    return system.in_speeds(speeds, found.kept, values)


def row_parameters(system: System) -> list[int]:
    """Parameters that rows and independent speeds depend on; masses, mostly, are not among them."""
    kin = system.kinematics
    rows = ca.vertcat(kin.g, kin.velocities, ca.mtimes(kin.E, kin.symbols.v))
    params = kin.symbols.params
    return [k for k in range(params.shape[0]) if ca.depends_on(rows, params[k])]
