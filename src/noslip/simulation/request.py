"""Options of runs, the same for everything that runs, and `RunOptions`: what was asked, checked.

**Options of runs: what each is, its type, default and limits, the same for everything that runs.**

A function that makes runs takes ``**options: Unpack[…]`` of one of the dictionaries below, for
editors and type checkers, and is decorated by :func:`takes`: its signature and its docstring name
every option, as :data:`OPTIONS` describes it, and any other keyword is refused. `RunOptions`
is made of them.

**`RunOptions`: what was asked for, read from the arguments of a call and checked once.**

The same for one run, for a batch, for derivatives and for histories of motions. Refused is what no
run could do: settings, methods, times of samples, parameters that take a degree of freedom away.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import textwrap
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.base import (
    ArgumentError,
    Array,
    SimulationError,
    as_number,
    check_memory,
    nearest,
    real_array,
)
from noslip.engines import System, once_a_system, require_system
from noslip.kinematics import independent_rows
from noslip.model import MAX_SAMPLES
from noslip.simulation.events import own_events
from noslip.simulation.expressions import Outputs, check_definitions
from noslip.simulation.inputs import AbstractInputLaw
from noslip.simulation.loop import rules
from noslip.simulation.starts.completion import Start

#: Methods by their names.
METHODS = {"dop853": rules.DOP853, "rk4": rules.RK4}

#: Tolerances outside these bounds are refused; an absolute one may be as small as wanted. Below the
#: rounding of a double an error estimate is noise; above a tenth no digit is right.
SMALLEST, LARGEST = 1e-15, 0.1
#: More steps than this no run will ever take, and the loops count with whole numbers of 64 bits.
MOST_STEPS = 10**18

NUMBER = (float, int, np.number)


class SolverOptions(TypedDict, total=False):
    """How motions are integrated."""

    method: str
    rtol: float
    atol: float
    step: float
    max_step: float
    max_steps: int


class WatchOptions(TypedDict, total=False):
    """How work is watched."""

    progress: Callable[[float], object] | None
    cancel: Any


class SampleOptions(TypedDict, total=False):
    """What is kept of a motion."""

    samples: int | Sequence[float] | Array
    outputs: Mapping[str, str] | None


class EventOptions(TypedDict, total=False):
    """What is looked for along a motion."""

    stop: Mapping[str, str] | None
    events: Mapping[str, str] | None


class EndOptions(TypedDict, total=False):
    """What single runs have besides."""

    reactions: bool
    on_failure: str


class ContactOptions(TypedDict, total=False):
    """What contacts do under loads."""

    contact: str | None


class MotionOptions(SolverOptions, total=False):
    """Which motion it is: where it starts, and under what."""

    guess: Mapping[str, float] | None
    inputs: Mapping[str, Any] | AbstractInputLaw | None
    definitions: Mapping[str, Any] | None
    start_time: float


class OneOptions(MotionOptions, total=False):
    """One motion, of numbers."""

    start: Mapping[str, float] | Start | None
    parameters: Mapping[str, float] | None


class ManyOptions(MotionOptions, WatchOptions, total=False):
    """Many motions, of numbers for all or lists of one for each, and how they are computed."""

    start: Mapping[str, ArrayLike] | Start | None
    parameters: Mapping[str, ArrayLike] | None
    count: int | None
    threads: int | None


class DeviceOptions(ManyOptions, total=False):
    """Where many motions are computed."""

    device: Any
    precision: str


class SimulateOptions(
    OneOptions,
    SampleOptions,
    EventOptions,
    EndOptions,
    WatchOptions,
    ContactOptions,
    total=False,
):
    """Options of :func:`simulate`."""


class AlongOptions(
    SolverOptions,
    SampleOptions,
    EventOptions,
    EndOptions,
    WatchOptions,
    ContactOptions,
    total=False,
):
    """Options of :func:`follow` and :func:`track`, which give the inputs themselves.

    With a reference to begin on, `start` holds the coordinates and speeds that differ from it; the
    duration may be that of a path. Without feedback the tolerances are 1e-13 if they are not given.
    """

    duration: float | None
    start: Mapping[str, float] | None
    parameters: Mapping[str, float] | None
    definitions: Mapping[str, str] | None


class ScenarioOptions(
    SolverOptions,
    SampleOptions,
    EventOptions,
    EndOptions,
    WatchOptions,
    ContactOptions,
    total=False,
):
    """Options of :func:`run_scenario`, whose start, inputs and parameters are the scenario's."""

    guess: Mapping[str, float] | None


class BatchOptions(SampleOptions, EventOptions, DeviceOptions, total=False):
    """Options of :func:`simulate_batch`."""

    columns: Sequence[str] | None
    keep: Sequence[str]
    max_events: int
    lanes: int | None
    arrays: str
    out: Array | None


class DerivativeOptions(OneOptions, SampleOptions, WatchOptions, total=False):
    """Options of :func:`simulate_sensitivities`."""

    on_failure: str


class DerivativesOptions(SampleOptions, DeviceOptions, total=False):
    """Options of :func:`simulate_sensitivities_batch`."""


class Limit(NamedTuple):
    """Numbers that are accepted, ends included, and what to say of others: `{}` is the value."""

    lower: float
    upper: float
    what: str
    fix: str

    def fault(self, value: Any) -> tuple[str, str] | None:
        """What is wrong with a value, and its remedy; nan is in no range."""
        is_number = isinstance(value, NUMBER) and not math.isnan(as_number(value))
        if is_number and self.lower <= value <= self.upper:
            return None
        return self.what.format(value), self.fix


class Option(NamedTuple):
    """An option: its default, what it is, and its limits if it is a number."""

    default: Any
    says: str
    limit: Limit | None = None


_FINITE = 1.7976931348623157e308
_TOLERANCE = (
    f"give a positive number, rtol from {SMALLEST:g} to {LARGEST:g} and atol up to {LARGEST:g}; "
    "1e-6 is fast, 1e-9 usual, 1e-12 very accurate"
)

OPTIONS: dict[str, Option] = {
    "start": Option(
        None,
        "coordinates, speeds, named angles and their rates at the start; the rest is completed "
        "consistently. Or a completed start.",
    ),
    "guess": Option(
        None,
        "coordinates and named angles about which the rest is looked for, instead of the joints' "
        "rest positions: it picks one of several assemblies, of which the run has a note "
        "otherwise.",
    ),
    "inputs": Option(
        None,
        "by name: a number, an expression of t, coordinates, speeds and named angles, which lie "
        "between −π and π, a :class:`Table`, a CasADi function of (t, q, v, parameters), or a "
        "Python callable of (t, q, v), which only single runs without derivatives take; or a law "
        "that gives all of them. Inputs that are not given are zero.",
    ),
    "parameters": Option(None, "values that differ from the nominal ones."),
    "definitions": Option(
        None,
        "name → expression of t, parameters and earlier definitions, or number, that `inputs`, "
        "`stop`, `events` and `outputs` may use.",
    ),
    "duration": Option(None, "s."),
    "samples": Option(201, "number of equally spaced times, or the times themselves."),
    "outputs": Option(
        None,
        "name → expression, a further column each: of the motion, inputs and accelerations, as "
        '``"rate(speed)"`` or ``"acceleration(fork, 0.1, 0, 0).z"``.',
    ),
    "stop": Option(
        None,
        "name → expression; the run ends where one crosses zero. Named angles go on after a turn, "
        "as the columns do.",
    ),
    "events": Option(
        None,
        "name → expression; the times at which it crosses zero are noted, with the states, and the "
        'run goes on. ``"rising(x)"`` and ``"falling(x)"`` count in one direction, also in `stop`: '
        "a Poincaré section.",
    ),
    "method": Option("dop853", '``"dop853"`` (adaptive, order 8) or ``"rk4"`` (fixed `step`).'),
    "rtol": Option(
        1e-9,
        "relative tolerance of the adaptive method.",
        Limit(SMALLEST, LARGEST, "the relative tolerance is rtol = {}", _TOLERANCE),
    ),
    "atol": Option(
        1e-9,
        "absolute tolerance of the adaptive method.",
        Limit(5e-324, LARGEST, "the absolute tolerance is atol = {}", _TOLERANCE),
    ),
    "step": Option(
        0.0,
        "of rk4, s; for dop853 the first step, 0 to choose it.",
        Limit(0.0, _FINITE, "the step is {} s", "give a time in s; 0 to choose it"),
    ),
    "max_step": Option(
        math.inf,
        "bound on the step size, s. Where an expression switches is found, what a Python callable "
        "does within a step is not: give half of the shortest time it lasts.",
        Limit(
            5e-324, math.inf, "the largest step is {} s", "give max_step=…, a positive time in s"
        ),
    ),
    "max_steps": Option(
        10_000_000,
        "bound on the number of steps.",
        Limit(
            1,
            MOST_STEPS,
            "at most {} steps are allowed",
            f"give max_steps=…, from 1 to {MOST_STEPS:g}",
        ),
    ),
    "start_time": Option(
        0.0,
        "s.",
        Limit(-_FINITE, _FINITE, "the run starts at {} s", "give start_time=…, a finite time in s"),
    ),
    "reactions": Option(False, "also compute the multipliers at the samples."),
    "on_failure": Option(
        "raise",
        '``"raise"``, or ``"return"`` to get what was computed until then; the last state that was '
        "reached is the last sample.",
    ),
    "contact": Option(
        "ideal",
        '``"ideal"``, contacts hold whatever they need; ``"coulomb"``, they slide, lift off and '
        "land by their `friction` and `restitution`, and the run goes on.",
    ),
    "progress": Option(None, "called with the fraction done, now and then."),
    "cancel": Option(
        None,
        "a ``threading.Event``; setting it ends the work, and what was computed until then is "
        "returned.",
    ),
    "count": Option(None, "number of motions, where no list says it."),
    "threads": Option(None, "all cores if not given."),
    "device": Option(
        "cpu",
        '``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA\'s (``"cuda:1"`` for the second), where one '
        "thread is one motion.",
    ),
    "precision": Option(
        "double",
        '``"double"``, or ``"single"`` on a GPU: states, rates and parameters of 7 digits, time of '
        "16; tolerances below 1e-5 are refused.",
    ),
    "columns": Option(
        None,
        "what is kept: names of columns as in a `Trajectory`, outputs and definitions; all "
        "coordinates and speeds if not given.",
    ),
    "keep": Option(
        ("final",),
        'which values of the columns: ``"final"``, always; ``"minimum"`` and ``"maximum"`` over '
        'the samples; ``"samples"``, all of them.',
    ),
    "max_events": Option(16, "how many times of each event are kept; all are counted."),
    "lanes": Option(
        None, "numbers in a vector, 1 for scalar code; what suits the processor if not given."
    ),
    "arrays": Option(
        "numpy",
        '``"numpy"``, or ``"device"``: columns of results stay on the GPU, as arrays that CuPy, '
        "PyTorch and JAX take without a copy. Numbers may be given as such arrays too.",
    ),
    "out": Option(
        None, "(n, ns, nc) array for the samples, such as a ``numpy.memmap``, if they are kept."
    ),
}

_Function = TypeVar("_Function", bound=Callable[..., Any])


def takes(
    options: Any, *, moved: Mapping[str, str] | None = None, **own: Any
) -> Callable[[_Function], _Function]:
    """Decorator of a function whose ``**options`` are those of a dictionary above.

    Its signature names them one by one, its docstring describes them in place of the line
    ``options :``, and a word that is none is refused, with the nearest one.

    Parameters
    ----------
    options : the class of the dictionary.
    moved : words that belong into another argument → what to write.
    own : defaults that differ from :data:`OPTIONS`, for the signature.
    """
    types = _types(options)

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        *plain, _ = signature.parameters.values()
        known = frozenset([p.name for p in plain] + list(types))
        name, system = function.__name__, plain[0].name

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if not given.keys() <= known:
                first = next(word for word in given if word not in known)
                subject = args[0] if args else given.get(system)
                where = f"{name} of model '{_name_of(subject)}'"
                fix = (moved or {}).get(first) or nearest(first, sorted(known))
                raise SimulationError(f"there is no option '{first}'", where, fix)
            return function(*args, **given)

        more = [
            inspect.Parameter(
                word,
                inspect.Parameter.KEYWORD_ONLY,
                default=own.get(word, OPTIONS[word].default),
                annotation=kind,
            )
            for word, kind in types.items()
        ]
        call.__signature__ = signature.replace(parameters=[*plain, *more])  # type: ignore[attr-defined]
        call.__doc__ = _described(function.__doc__ or "", types)
        return call  # type: ignore[return-value]

    return decorate


def _name_of(system: Any) -> str:
    return getattr(getattr(system, "model", None), "name", "?")


def _types(options: Any) -> dict[str, str]:
    """Text of the type of each option of a dictionary, in the order of :data:`OPTIONS`."""
    found = {
        word: kind if isinstance(kind, str) else kind.__forward_arg__
        for word, kind in options.__annotations__.items()
    }
    return {word: found[word] for word in OPTIONS if word in found}


def _described(doc: str, types: Mapping[str, str]) -> str:
    """A docstring with the options in place of the line that stands for them."""
    lines = []
    for line in doc.split("\n"):
        if not line.strip().startswith("options :"):
            lines.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        for word in types:
            text = f"{word} : {OPTIONS[word].says}"
            lines += textwrap.wrap(
                text,
                100,
                initial_indent=indent,
                subsequent_indent=f"{indent}    ",
                break_on_hyphens=False,
            )
    return "\n".join(lines)


#: Settings that are checked without a system.
SETTINGS = (
    *("rtol", "atol", "step", "max_step", "max_steps", "start_time"),
    *("duration", "method", "on_failure"),
)


def fault_of(given: Mapping[str, Any]) -> tuple[str, str] | None:
    """What is wrong with settings that no run could use, and its remedy."""
    settings = tuple(given[word] for word in SETTINGS)
    try:
        return _fault(*settings)
    except (TypeError, ValueError):  # something cannot be a key, so it is no number
        return _fault.__wrapped__(*settings)


#: A run spans at least so many different times.
FEWEST_TIMES = 10_000


@functools.lru_cache(maxsize=64, typed=True)
def _fault(*settings: Any) -> tuple[str, str] | None:
    """Fault of settings, cached: most repeat."""
    given = dict(zip(SETTINGS, settings, strict=True))
    for word, value in given.items():
        option = OPTIONS[word]
        fault = option.limit.fault(value) if option.limit else None
        if fault:
            return fault
    start_time, duration, method, on_failure = settings[-4:]
    if not (isinstance(duration, NUMBER) and 0 < as_number(duration) < math.inf):
        shown = (
            f"{duration} s"
            if isinstance(duration, float | int)
            else f"{duration!r:.60}, which is not a number"
        )
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
    if method == "rk4" and not given["step"] > 0:
        return "rk4 has no step", "give step=…, in s"
    if on_failure not in ("raise", "return"):
        return f"on_failure is '{on_failure}'", "use 'raise' or 'return'"
    return None


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
    """What was asked for, checked. Made by :func:`read_run` from the arguments of a call."""

    system: System  #: compiled system
    #: start_time, end_time: s
    start_time: float
    end_time: float
    times: Array  #: (ns,) of the samples, s
    #: rtol, atol: tolerances of the adaptive method
    rtol: float
    atol: float
    #: max_step, max_steps: bounds on step size and number of steps
    max_steps: int
    values: Array  #: (np,) parameters; of a batch the nominal ones
    method: str = "dop853"  #: ``"dop853"`` or ``"rk4"``
    step: float = 0.0  #: step of rk4, s; for dop853 the first step, 0 to choose it
    max_step: float = np.inf
    #: start, inputs, definitions, stop, events, outputs: arguments as they are given
    start: Mapping[str, float] | Start | None = None
    guess: Mapping[str, float] | None = None
    inputs: Any = None
    definitions: Mapping[str, Any] = MappingProxyType({})
    stop: Mapping[str, str] = MappingProxyType({})
    events: Mapping[str, str] = MappingProxyType({})
    outputs: Mapping[str, str] = MappingProxyType({})
    #: progress, cancel, on_failure: progress and cancelling of a run, and treatment of a failed one
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
        """(ny,) absolute tolerances; the work is integrated along but does not choose the steps."""
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
    options : options by name, the duration among them; others have their defaults.
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
    start_time, duration = asked["start_time"], asked["duration"]
    times = sample_times(asked["samples"], start_time, duration, system)
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
    own = own_events(here)
    return RunOptions(
        here,
        start_time,
        start_time + duration,
        times,
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
        {**own.lifts, **own.limits, **(asked["stop"] or {})},
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


def sample_times(samples: Any, start_time: float, duration: float, system: System) -> Array:
    """Times of the samples, from their number or as they are given, if there is room for them."""
    where = f"simulation of model '{system.model.name}'"
    whole = "give a whole number, or the times in s as an array"
    count = samples
    if not isinstance(samples, _COUNT):
        try:
            times = real_array(samples)
        except (TypeError, ValueError, OverflowError):
            what = f"the requested number of samples is {samples!r:.40}"
            if hasattr(samples, "__len__"):
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
    if isinstance(samples, _COUNT):
        if samples < 2:
            what = f"the requested number of samples is {samples}"
            raise SimulationError(what, where, "give at least 2, or the times themselves")
        return np.linspace(start_time, start_time + duration, int(samples))
    times = np.asarray(samples, dtype=float)
    if not (times.ndim == 1 and times.size and _increases(times, start_time, duration)):
        raise SimulationError(
            "the sample times must increase and lie within the run",
            where,
            f"give times between {start_time:g} and {start_time + duration:g} s",
        )
    return times


def check_named(progress: Any = None, cancel: Any = None, **given: Any) -> None:
    """Refuse arguments that are no mapping from names, no callable, or no cancel request.

    Parameters
    ----------
    progress, cancel : arguments of :func:`simulate`.
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
    places = row_parameters(system)
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


@once_a_system
def row_parameters(system: System) -> list[int]:
    """Parameters that rows and independent speeds depend on; masses, mostly, are not among them."""
    kin = system.kinematics
    rows = ca.vertcat(kin.g, kin.velocities, ca.mtimes(kin.E, kin.symbols.v))
    params = kin.symbols.params
    return [k for k in range(params.shape[0]) if ca.depends_on(rows, params[k])]
