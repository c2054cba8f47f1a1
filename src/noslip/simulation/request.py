"""`RunOptions`: what was asked for, read from the arguments of a call and checked once.

The same for one run, for a batch, for derivatives and for histories of motions. Refused is what no
run could do: settings, methods, times of samples, parameters that take a degree of freedom away.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import ArgumentError, Array, SimulationError, check_memory
from noslip.engines import System, require_system
from noslip.kinematics import independent_rows
from noslip.model import MAX_SAMPLES
from noslip.simulation.events import lift_events, limit_events
from noslip.simulation.expressions import Outputs, check_definitions
from noslip.simulation.inputs import AbstractInputLaw
from noslip.simulation.options import METHODS, OPTIONS, fault_of
from noslip.simulation.starts.completion import Start

_COUNT = (int, np.integer)

#: Samples from which on it is asked whether they fit into memory.
_MANY = 100_000

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

_DEFAULTS = {word: option.default for word, option in OPTIONS.items()} | {"duration": None}


class RunOptions(NamedTuple):
    """What was asked for, checked. Made by :func:`read_run` from the arguments of a call.

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
    **dict.fromkeys(("parameters", "definitions", "stop", "events", "outputs"), (dict,)),
}


def read_run(
    function: str,
    system: System,
    options: Mapping[str, Any],
    *,
    of_many: bool = False,
) -> RunOptions:
    """What a call asks for, checked.

    Parameters
    ----------
    function : name of the caller, for the message.
    system : compiled system.
    options : by name, the duration among them; others have their defaults.
    of_many : start and parameters are read by a batch itself.

    Raises
    ------
    TypeError : if the system is something else, and for what is no mapping from names.
    SimulationError : for the first setting that is out of its range.
    """
    require_system(function, system)
    asked = {**_DEFAULTS, **options}
    where = f"simulation of model '{system.model.name}'"
    if not system.coordinates:
        raise SimulationError(
            "the model has no coordinates: nothing in it can move",
            where,
            "give a body a joint that lets it move",
        )
    fault = fault_of(asked)
    if fault is not None:
        raise SimulationError(fault[0], where, fault[1])
    samples, start_time, duration = asked["samples"], asked["start_time"], asked["duration"]
    _check_samples(system, samples, where)
    progress, cancel = asked["progress"], asked["cancel"]
    named = {
        word: value
        for word, kinds in _MAPPINGS.items()
        if (value := asked[word]) is not None and not isinstance(value, kinds)
    }
    if named or progress is not None or cancel is not None:
        check_named(progress, cancel, **named)
    definitions, outputs = asked["definitions"] or {}, asked["outputs"] or {}
    if definitions:
        check_definitions(system, definitions)
    if outputs:
        Outputs(outputs).check(system)
    parameters, start = (None, None) if of_many else (asked["parameters"], asked["start"])
    values = system.parameters(parameters)
    here = with_regular_rows(system, values, parameters)
    if isinstance(start, Start) and here is not system:
        E = here.kinematics.independent_rows(start.time, start.q, values)
        start = dataclasses.replace(start, eta=E @ start.v)
    return RunOptions(
        here,
        start_time,
        start_time + duration,
        sample_times(samples, start_time, duration, here),
        asked["rtol"],
        asked["atol"],
        asked["max_steps"],
        values,
        asked["method"],
        asked["step"],
        asked["max_step"],
        start,
        asked["guess"],
        asked["inputs"],
        definitions,
        {**lift_events(here), **limit_events(here), **(asked["stop"] or {})},
        asked["events"] or {},
        outputs,
        progress,
        cancel,
        asked["on_failure"],
    )


@lru_cache(maxsize=64)
def _absolute(num_states: int, work: int, atol: float) -> Array:
    absolute = np.full(num_states, atol)
    if work >= 0:
        absolute[work] = 1e300
    absolute.flags.writeable = False
    return absolute


def _check_samples(system: System, samples: Any, where: str) -> None:
    """Refuse samples that are not times, and more than there is room for."""
    whole = "give a whole number, or the times in s as an array"
    count = samples
    if not isinstance(samples, _COUNT):
        try:
            times = np.asarray(samples, dtype=float)
        except (TypeError, ValueError):
            what = f"the samples are {samples!r:.40}, which are not times"
            raise SimulationError(what, where, whole) from None
        if not times.ndim:
            what = f"the requested number of samples is {samples!r:.40}"
            raise SimulationError(what, where, whole)
        count = times.size
    if count > MAX_SAMPLES:
        what = f"the requested number of samples is {count}"
        raise SimulationError(what, where, f"ask for {MAX_SAMPLES} or fewer")
    if count > _MANY:
        columns = 3 * len(system.coordinates) + 3 * len(system.speeds) + len(system.inputs)
        columns += 3 * len(system.kinematics.rows) + 10
        fix = f"request fewer samples than {count}"
        check_memory(8 * columns * count, "results", where, fix)


def check_named(progress: Any = None, cancel: Any = None, **given: Any) -> None:
    """Refuse arguments that are no mapping from names, no callable, or no cancel request.

    Parameters
    ----------
    progress, cancel : as in :func:`simulate`.
    given : arguments that are mappings or None, by their own names.

    Raises
    ------
    ArgumentError : for the first that is something else.
    """
    for word, value in given.items():
        if value is not None and not isinstance(value, Mapping):
            example = _EXAMPLES.get(word, "values, {'disk.tilt': 1.2}")
            what = f"{word} is {value!r:.60}"
            raise ArgumentError(what, "argument of a run", f"pass names and {example}")
    if progress is not None and not callable(progress):
        fix = "pass a function of the fraction done"
        raise ArgumentError(f"progress is {progress!r:.60}", "argument of a run", fix)
    if cancel is not None and not hasattr(cancel, "is_set"):
        fix = "pass a threading.Event, and set it to end the run"
        raise ArgumentError(f"cancel is {cancel!r:.60}", "argument of a run", fix)


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
    if not repeated or kin.combination is not None or probe.are_independent(kin.row_basis, samples):
        return system
    speeds = tuple(s.name for s in system.independent_speeds)
    return system.in_speeds(speeds, found.kept, values)


def row_parameters(system: System) -> list[int]:
    """Parameters that rows and independent speeds depend on; masses, mostly, are not among them."""
    kin = system.kinematics
    rows = ca.vertcat(kin.g, kin.velocities, ca.mtimes(kin.E, kin.symbols.v))
    params = kin.symbols.params
    return [k for k in range(params.shape[0]) if ca.depends_on(rows, params[k])]
