"""Options of runs: what each is, its type, default and limits, the same for everything that runs.

A function that makes runs takes ``**options: Unpack[…]`` of one of the dictionaries below, for
editors and type checkers, and is decorated by :func:`takes`: its signature and its docstring name
every option, as :data:`OPTIONS` describes it, and a word that is none is refused. `request.py`
makes of them what was asked for, checked.
"""

from __future__ import annotations

import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from noslip.base import Array, SimulationError, nearest
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
        is_number = isinstance(value, NUMBER) and not isinstance(value, bool)
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
        "run goes on.",
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
    except TypeError:  # something cannot be a key, so it is no number
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
    is_number = isinstance(duration, NUMBER) and not isinstance(duration, bool)
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
    if method == "rk4" and not given["step"] > 0:
        return "rk4 has no step", "give step=…, in s"
    if on_failure not in ("raise", "return"):
        return f"on_failure is '{on_failure}'", "use 'raise' or 'return'"
    return None
