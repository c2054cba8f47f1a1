"""Inputs over time: laws, their plan for the native loop, and features a step could miss.

**Input laws: what gives the inputs over time, one by one or all at once.**

An input may be a number, an expression, a table, a function, or all come from one law.
A table is piecewise cubic in time. A law gives all inputs at once, as traced expressions, and may
have states of its own. A law that divides by something that can vanish, such as the pivots of a
Jacobian, names it as a guard.

**Features of time in expressions that a step could miss: kinks, jumps and narrow pulses.**

An adaptive step sees its inputs at a dozen times. What happens between them, a pulse of a
millisecond in a step of a second, it does not see. Where an expression depends on time alone, its
features are known before the run, and steps end on them:

    kinks and jumps  zeros of g in sign(g), abs(g) and of a − b in min(a, b), max(a, b), conditions;
                     whole numbers g in floor(g)
    pulses           short times in which a part f(t) changes much, between long ones without

Both are found by enclosures: pieces of the run are cut in two until zero is excluded or g has a
rate of one sign, or until f changes little. What is everywhere is no feature: the steps follow it.

**Inputs over time as the native loop takes them.**

Constants and tables are evaluated in the loop, expressions and CasADi functions as compiled code.
Code of expressions stays with the system, so that a run with the same texts compiles nothing.
Python callables are called back, which is slower and is noted in the result. A speed input comes
with its rate ẇ: differentiated for expressions and tables, zero for constants.
"""

from __future__ import annotations

import abc
import ctypes
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, LRUCache, SimulationError, as_number, nearest, real_array
from noslip.engines import NativeFunction, System, compile_native, trace_program
from noslip.model import MAX_SAMPLES
from noslip.simulation.expressions import (
    UNKNOWN,
    Enclosure,
    Interval,
    between_wholes,
    difference,
    enclose_operation,
    number,
    read_expression,
)
from noslip.simulation.native_run import EMPTY, InputTable, driven


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
            times, values = real_array(self.times), real_array(self.values)
        except (TypeError, ValueError, OverflowError):
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputGenerator:
    """Inputs as traced expressions with states of their own: a controller or feed-forward law."""

    #: input name → expression of the system's symbols, `states` and `parameters`
    inputs: dict[str, ca.SX]
    states: ca.SX  #: (nz,) symbols of its own states z
    rates: ca.SX  #: (nz,) ż
    start: Array  #: (nz,) z at the start
    names: tuple[str, ...]  #: names of z, for columns; units alike
    units: tuple[str, ...]
    parameters: ca.SX  #: symbols of numbers it needs beyond the model's, with their values
    parameter_values: Array
    #: update, period: (nz,) new z, set every `period` seconds, as a sampled controller does; none
    #: if the period is 0
    update: ca.SX | None = None
    period: float = 0.0
    #: noise, seed, run: (2 n,) symbols of uniform random numbers, two for each of n channels, that
    #: `update` is given; drawn anew for each update from the seed, the number of the run, the
    #: channel and the number of the update (Philox)
    noise: ca.SX = field(default_factory=partial(ca.SX, 0, 1))
    seed: int = 0
    run: int = 0
    #: Python function f(t, period, shown) that is asked at each update, whose answers it needs
    ask: Callable[[float, float, Array], Array] | None = None
    #: shown, asked: values of `update` that the function is shown, and symbols of its answers
    shown: ca.SX = field(default_factory=partial(ca.SX, 0, 1))
    asked: ca.SX = field(default_factory=partial(ca.SX, 0, 1))
    num_signals: int = 0  #: answers at the end that are signals, the last states
    #: times at which an input or one of its derivatives jumps; steps end there
    knots: Array = field(default_factory=partial(np.zeros, 0))
    #: divisors of the law, for a run that ends where one of them vanishes
    guards: tuple[Guard, ...] = ()
    is_rounded: bool = False  #: whether it rounds what it sees, so that it has no derivative
    #: s, at which the states are `start`; None if they are where any run starts
    start_time: float | None = None
    #: cache key of its code, which is then kept with the system: laws with equal keys differ in
    #: `start` and `parameter_values` alone. None: the code is compiled for every run.
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

    def require_traced(self, what: str) -> None:
        """Refuse a law that asks a Python function."""
        if self.ask is not None:
            raise SimulationError(
                f"the controller is a Python function, which {what} cannot use",
                "inputs",
                "use simulate, follow or track, or a controller that is traced",
            )

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

    def keeping(self, values: Array) -> AbstractInputLaw:
        """The same law, which goes on to know these parameters whatever those of the plant are."""
        return KeptLaw(law=self, known=values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptLaw(AbstractInputLaw):
    """A law with parameters of its own in the place of the model's."""

    law: AbstractInputLaw
    known: Array

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system, but for the parameters."""
        own = self.law.generator(system)
        params = system.kinematics.symbols.params
        known = ca.SX.sym("known", params.shape[0])
        texts = [*own.inputs.values(), own.rates, own.shown]
        texts += [] if own.update is None else [own.update]
        found = ca.substitute([ca.densify(ca.SX(x)) for x in texts], [params], [known])
        return replace(
            own,
            inputs=dict(zip(own.inputs, found, strict=False)),
            rates=found[len(own.inputs)],
            shown=found[len(own.inputs) + 1],
            update=None if own.update is None else found[-1],
            parameters=ca.vertcat(known, own.parameters),
            parameter_values=np.concatenate([self.known, own.parameter_values]),
            guards=(),
            key=None if own.key is None else ("kept", own.key),
        )

    def keeping(self, values: Array) -> AbstractInputLaw:
        """Itself: it knows its own."""
        return self


#: What an input may be given as.
InputSpec: TypeAlias = float | str | Table | ca.Function | Callable[[float, Array, Array], float]


Indices = NDArray[np.int64]

#: Operations that make a narrow pulse of a wide one; sums, products and waves do not.
SHARP = frozenset(
    ("div", "pow", "exp", "expm1", "log", "log1p", "sqrt", "tan", "atan", "atan2", "hypot")
    + ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "asin", "acos", "erf")
)
#: Operations that bend or jump, by what is zero there.
BREAKS = frozenset({"abs", "sign", "min", "max", "floor", "ceil", "lt", "le"})
#: Pieces looked at in one go, and features, beyond which a run is left to its steps.
MOST_PIECES, MOST_KNOTS = 8192, 4096
#: Sets of parameters that are looked at together.
MOST_SETS = 1024
#: Parts into which a piece with one zero is cut at a time.
PARTS = 16
#: Change of f in a piece, of its largest value, that is looked at no further.
LITTLE = 0.05
#: Share of the run below which a piece counts as short.
SHORT = 1.0 / 256
#: Share of the run that short pieces may take before they are the rule.
RULE = 0.25


class FoundTimes(NamedTuple):
    """Features in a run: kinks and jumps, s; ends and peaks of pulses, s; whether all are here."""

    breaks: Array
    pulses: Array
    is_complete: bool

    @property
    def knots(self) -> Array:
        """All of them, sorted."""
        return np.unique(np.concatenate([self.breaks, self.pulses]))


NOTHING = FoundTimes(np.zeros(0), np.zeros(0), True)


class TimeFeatures:
    """Features of time of an expression, as functions of the ends of a piece of time.

    Parameters
    ----------
    expression : column of traced scalars.
    t, params : symbols of time and of parameters.
    others : symbols of everything else that changes in a run.
    has_pulses : whether pulses are looked for, beside kinks and jumps.

    Attributes
    ----------
    used : places of the parameters that the features depend on.
    """

    def __init__(
        self,
        expression: ca.SX,
        t: ca.SX,
        params: ca.SX,
        others: ca.SX,
        *,
        has_pulses: bool = True,
    ) -> None:
        given = (t, others, ca.SX(0, 1), params)
        program = trace_program("features", given, ca.densify(expression))
        operations, num_given = program.operations, program.num_given
        # of each value: depends on t, on something else that changes, on a sharp operation
        kinds = [(k == 0, 0 < k <= others.numel(), False) for k in range(num_given)]
        for operation in operations:
            own = [kinds[k] for k in operation.operands]
            of_t, of_others, sharp = (any(each) for each in zip(*own, strict=True))
            kinds.append((of_t, of_others, sharp or (of_t and operation.kind in SHARP)))
        breaks = [
            k
            for k, operation in enumerate(operations, num_given)
            if operation.kind in BREAKS and kinds[k][:2] == (True, False)
        ]
        # parts of t alone that something else, or nothing, goes on from
        ends = {k for k in program.outputs if has_pulses}
        for k, operation in enumerate(operations, num_given):
            if has_pulses and kinds[k][1]:
                ends |= set(operation.operands)
        pulses = [k for k in sorted(ends) if k >= num_given and kinds[k] == _SHARP_IN_TIME]
        self._num_breaks, self._num_parts = len(breaks), len(breaks) + len(pulses)
        self._count = self._num_parts + len(breaks)
        self.used: list[int] = []
        self._bounds: ca.Function | None = None
        self._found = LRUCache(16)
        if not self._count:
            return
        is_needed = bytearray(len(kinds))
        for k in (*breaks, *pulses):
            is_needed[k] = True
        for k in range(len(kinds) - 1, num_given - 1, -1):
            if is_needed[k]:
                for j in operations[k - num_given].operands:
                    is_needed[j] = True
        lower, upper = ca.SX.sym("lower"), ca.SX.sym("upper")
        values = [
            Enclosure(Interval(lower, upper), number(1.0)),
            *([UNKNOWN] * others.numel()),
            *(Enclosure(number(params[k]), None) for k in range(params.numel())),
            *(Enclosure(number(c), None) for c in program.constants),
        ]
        for k, operation in enumerate(operations, num_given):
            values.append(enclose_operation(operation, values) if is_needed[k] else UNKNOWN)
        zeros = []
        for k in breaks:
            kind, operands = operations[k - num_given]
            zeros.append(_zero_at_break(kind, [values[j] for j in operands]))
        # of breaks also the values of the operations themselves
        parts = (*zeros, *(values[k] for k in (*pulses, *breaks)))
        bounds = ca.horzcat(*[part.bounds() for part in parts])
        self._bounds = ca.Function("bounds", [lower, upper, params], [bounds])
        self.used = [k for k in range(params.numel()) if ca.depends_on(bounds, params[k])]

    def find(self, values: Array, start: float, end: float) -> FoundTimes:
        """Features between two times, s, at values of the parameters."""
        if self._bounds is None:
            return NOTHING
        key = values[self.used].tobytes(), start, end
        find = partial(self.find_many, values[None], start, end)
        found: list[FoundTimes] = self._found.get(key, find)
        return found[0]

    def find_many(self, rows: Array, start: float, end: float) -> list[FoundTimes]:
        """Features between two times, s, at each of n sets of parameters (n, np).

        Those of a set do not depend on the others, to the last bit.
        """
        if self._bounds is None:
            return [NOTHING] * len(rows)
        parts = range(0, len(rows), MOST_SETS)
        return [x for k in parts for x in self._find(rows[k : k + MOST_SETS], start, end)]

    @np.errstate(invalid="ignore", over="ignore")
    def _find(self, rows: Array, start: float, end: float) -> list[FoundTimes]:
        num = len(rows)
        breaks: list[list[Array]] = [[np.zeros(0)] for _ in range(num)]
        pulses: list[list[Array]] = [[np.zeros(0)] for _ in range(num)]
        is_complete = np.ones(num, bool)
        for k in range(self._num_parts):
            is_break = k < self._num_breaks
            look = self._find_breaks if is_break else self._find_pulses
            for j, found in enumerate(look(k, rows, start, end)):
                if found is not None and len(found) <= MOST_KNOTS:
                    (breaks if is_break else pulses)[j].append(found)
                elif is_break:
                    is_complete[j] = False
        return [
            FoundTimes(
                _within(np.concatenate(breaks[j]), start, end),
                _within(np.concatenate(pulses[j]), start, end),
                bool(is_complete[j]),
            )
            for j in range(num)
        ]

    def _enclosed(self, k: int, lower: Array, upper: Array, values: Array) -> Array:
        """(4, n) intervals of a part and of its rate in pieces, each at its own parameters."""
        assert self._bounds is not None
        found = np.array(self._bounds(lower[None], upper[None], values.T))
        return found.reshape(4, len(lower), self._count)[:, :, k]

    def _find_breaks(self, k: int, rows: Array, start: float, end: float) -> list[Array | None]:
        """Times at which a part is zero, of each set; None where there are too many."""
        num = len(rows)
        edges = np.linspace(start, end, 17)
        lower, upper = np.tile(edges[:-1], num), np.tile(edges[1:], num)
        own = np.repeat(np.arange(num), len(edges) - 1)
        single: list[tuple[Array, Array, Indices]] = []
        touched: list[tuple[Array, Indices]] = []
        is_lost = np.zeros(num, bool)
        for _ in range(60):
            is_lost |= np.bincount(own, minlength=num) > MOST_PIECES
            is_kept = ~is_lost[own]
            lower, upper, own = lower[is_kept], upper[is_kept], own[is_kept]
            if not lower.size:
                break
            low, high, falls, rises = self._enclosed(k, lower, upper, rows[own])
            is_open = ~((low > 0) | (high < 0))
            is_single = is_open & ((falls >= 0) | (rises <= 0))
            single.append((lower[is_single], upper[is_single], own[is_single]))
            is_open &= ~is_single
            middle = 0.5 * (lower + upper)
            is_fine = (upper - lower) <= 4e-16 * np.maximum(np.abs(middle), end - start)
            touched.append((middle[is_open & is_fine], own[is_open & is_fine]))
            is_open &= ~is_fine
            left = is_open
            lower, middle, upper, own = lower[left], middle[left], upper[left], own[left]
            lower, upper = np.concatenate([lower, middle]), np.concatenate([middle, upper])
            own = np.concatenate([own, own])
        is_lost[own] = True
        a, b, of = (np.concatenate(each) for each in zip(*single, strict=True))
        roots, of_roots = self._roots(k, a, b, of, rows)
        times = np.concatenate([roots, *(t for t, _ in touched)])
        sets = np.concatenate([of_roots, *(j for _, j in touched)])
        return [
            None if is_lost[j] else np.unique(found)
            for j, found in enumerate(_by_set(times, sets, num))
        ]

    def _roots(
        self, k: int, a: Array, b: Array, own: Indices, rows: Array
    ) -> tuple[Array, Indices]:
        """Zeros of a part that rises or falls between times: the first time on the far side."""
        if not a.size:
            return a, own
        side, other = (np.sign(self._enclosed(k, x, x, rows[own])[0]) for x in (a, b))
        crosses = side * other <= 0
        a, b, own = a[crosses], b[crosses], own[crosses]
        values = rows[own]
        a, b = self._first_change(k, a, b, values)
        # to the very time at which a jump is seen
        near = 64 * np.spacing(np.maximum(np.abs(a), np.abs(b)))
        level = self._num_parts + k
        before, after = (self._enclosed(level, x, x, values)[0] for x in (a - near, b + near))
        jumps = np.abs(after - before) > 0.5
        exact = self._first_change(level, a - near, b + near, values)[1]
        return np.where(jumps, exact, b), own

    def _first_change(self, k: int, a: Array, b: Array, values: Array) -> tuple[Array, Array]:
        """Neighboring times between others: the last with the sign or level of a part at the left.

        The second one is the first with another.
        """
        is_level = k >= self._num_parts

        def look(times: Array, which: Indices) -> Array:
            found = self._enclosed(k, times, times, values[which])[0]
            return found if is_level else np.sign(found)

        a, b = a.copy(), b.copy()
        side = look(a, np.arange(len(a)))
        shares = np.linspace(0.0, 1.0, PARTS + 1)[:, None]
        for _ in range(24):
            # those that are neighbors stay, whatever the others do
            left = np.flatnonzero(np.nextafter(a, b) < b)
            if not left.size:
                break
            times = a[left] + shares * (b[left] - a[left])
            times[-1] = b[left]
            inner = times[1:-1].ravel()
            signs = look(inner, np.tile(left, PARTS - 1)).reshape(PARTS - 1, -1)
            # how many times from the left are on its side
            count = np.sum(np.cumprod(signs == side[left], axis=0), axis=0)
            at = np.arange(len(left))
            a[left], b[left] = times[count, at], times[count + 1, at]
        return a, b

    def _find_pulses(self, k: int, rows: Array, start: float, end: float) -> list[Array | None]:
        """Begin, peak and end of the short times in which a part changes much, of each set."""
        num, span = len(rows), end - start
        edges = np.linspace(start, end, 17)
        lower, upper = np.tile(edges[:-1], num), np.tile(edges[1:], num)
        own = np.repeat(np.arange(num), len(edges) - 1)
        largest, is_lost = np.zeros(num), np.zeros(num, bool)
        short: list[Array] = [np.zeros((4, 0))]
        while lower.size:
            is_lost |= np.bincount(own, minlength=num) > MOST_PIECES
            is_kept = ~is_lost[own]
            lower, upper, own = lower[is_kept], upper[is_kept], own[is_kept]
            if not lower.size:
                break
            values = rows[own]
            low, high, _, _ = self._enclosed(k, lower, upper, values)
            middle = 0.5 * (lower + upper)
            value = np.abs(self._enclosed(k, middle, middle, values)[0])
            np.maximum.at(largest, own, np.where(np.isfinite(value), value, 0.0))
            is_done = ~(high - low > LITTLE * largest[own]) | (upper - lower <= 1e-9 * span)
            is_short = is_done & (upper - lower < SHORT * span)
            piece = (lower, upper, value, own.astype(float))
            short.append(np.array([x[is_short] for x in piece]))
            left = ~is_done
            lower, middle, upper, own = lower[left], middle[left], upper[left], own[left]
            lower, upper = np.concatenate([lower, middle]), np.concatenate([middle, upper])
            own = np.concatenate([own, own])
        pieces = np.concatenate(short, axis=1)
        found: list[Array | None] = []
        for j, places in enumerate(_by_set(np.arange(pieces.shape[1]), pieces[3].astype(int), num)):
            found.append(None if is_lost[j] else _pulse_times(pieces[:3, places], span))
        return found


def _pulse_times(pieces: Array, span: float) -> Array:
    """Begin, peak and end of pulses, of short pieces (3, n): lower, upper and value."""
    pieces = pieces[:, np.argsort(pieces[0])]
    if not pieces.size or np.sum(pieces[1] - pieces[0]) > RULE * span:
        return np.zeros(0)
    gaps = np.flatnonzero(pieces[0, 1:] > pieces[1, :-1]) + 1
    times = []
    for group in np.split(pieces, gaps, axis=1):
        peak = group[:, int(np.argmax(group[2]))]
        times += [group[0, 0], 0.5 * (peak[0] + peak[1]), group[1, -1]]
    return np.array(times)


def _by_set(values: NDArray[Any], sets: Indices, num: int) -> list[NDArray[Any]]:
    """Values apart, by the set that each belongs to."""
    order = np.argsort(sets, kind="stable")
    ends = np.cumsum(np.bincount(sets, minlength=num))[:-1]
    return np.split(values[order], ends)


_SHARP_IN_TIME = (True, False, True)


def _zero_at_break(kind: str, given: list[Enclosure]) -> Enclosure:
    """Expression that is zero where an operation bends or jumps."""
    if kind in ("abs", "sign"):
        return given[0]
    if kind in ("floor", "ceil"):
        return between_wholes(given[0])
    return difference(*given)


def _within(times: Array, start: float, end: float) -> Array:
    """Sorted times inside of a run, farther from its ends than rounding."""
    margin = 1e-12 * (end - start)
    return np.unique(times[(times > start + margin) & (times < end - margin)])


_CALLBACK = ctypes.CFUNCTYPE(None, *([ctypes.POINTER(ctypes.c_double)] * 5))

Callables = dict[int, Callable[[float, Array, Array], float]]


class InputPlan(NamedTuple):
    """Inputs as the native loop takes them."""

    base: Array  #: constants; those that a table drives are replaced
    tables: tuple[InputTable, ...]  #: base inputs that change with time
    knots: Array  #: times at which an input or one of its derivatives jumps
    #: function, address: [inputs; ż] of (t, [x; z], base, parameters); none if all are base inputs
    function: NativeFunction | None
    address: int
    parameters: Array  #: parameters of the model, then of the law
    #: generator, update: the law, and the new z of one that is sampled
    generator: InputGenerator | None
    update: NativeFunction | AskedUpdate | None = None
    #: callback, failure: Python callables as native code, and what one of them raised
    callback: Any = None
    failure: Sequence[BaseException] = ()
    #: input that a callable gave → the first time at which that was negative, s
    below: Mapping[str, float] = {}
    notes: tuple[str, ...] = ()  #: notes for the result
    is_kept: bool = False  #: whether its code stays with the system for the next run

    @property
    def calls_back(self) -> bool:
        """Whether Python functions are called back."""
        return self.callback is not None or isinstance(self.update, AskedUpdate)

    @property
    def num_states(self) -> int:
        """States z of the law."""
        return len(self.generator.start) if self.generator else 0

    @property
    def num_noise(self) -> int:
        """Channels of random numbers that the law is given."""
        return self.generator.noise.shape[0] // 2 if self.generator else 0

    @property
    def num_inputs(self) -> int:
        """Inputs of the mechanism."""
        return len(self.base) - 2 * self.num_noise


def plan_inputs(
    system: System,
    given: Mapping[str, InputSpec] | AbstractInputLaw | None,
    parameters: Array,
    definitions: Mapping[str, str] | None = None,
    span: tuple[float, float] | None = None,
    *,
    is_adaptive: bool = False,
) -> InputPlan:
    """Compile given inputs for the loop; inputs that are not given are zero.

    `definitions` are named expressions that later ones and the inputs may use. In a run over a span
    of time, features of time alone in expressions are knots; Python callables are watched if its
    steps are adaptive.
    """
    if isinstance(given, AbstractInputLaw):
        return _plan_generator(system, given.generator(system), parameters)
    base = np.zeros(len(system.inputs))
    if not given:
        return InputPlan(base, (), EMPTY, None, 0, parameters, None, is_kept=True)
    tables: list[InputTable] = []
    traced: dict[str, str | ca.Function] = {}
    callables: Callables = {}
    for name, spec in given.items():
        k, rate_offset = input_index(system, name)
        if isinstance(spec, Table):
            tables += table_entries(system, spec, k, rate_offset, name)
        elif isinstance(spec, str | ca.Function):
            traced[name] = spec
        elif callable(spec):
            if rate_offset:
                raise SimulationError(
                    f"speed input '{name}' is given as a Python callable, whose rate is not known",
                    f"inputs of model '{system.model.name}'",
                    "give an expression of t, a table or a CasADi function, which are "
                    "differentiated",
                )
            callables[k] = spec
        else:
            base[k] = input_number(spec, name, system)
    function, is_kept = _traced_function(system, traced, definitions) if traced else (None, True)
    knots = np.unique(np.concatenate([t.starts for t in tables])) if tables else EMPTY
    notes: tuple[str, ...] = ()
    if traced and span is not None:
        found = time_features(system, traced, definitions).find(parameters, *span)
        if found.knots.size:
            knots = np.union1d(knots, found.knots)
        if not found.is_complete:
            notes = (MANY_BREAKS,)
    plan = InputPlan(
        base=base,
        tables=tuple(tables),
        knots=knots,
        notes=notes,
        function=function,
        address=function.address if function else 0,
        parameters=parameters,
        generator=None,
        is_kept=is_kept and not tables,
    )
    if not callables:
        return plan
    return _with_callables(system, plan, callables, span[1] if span and is_adaptive else None)


MANY_BREAKS = (
    "an input has more kinks or jumps in time than steps can end on: give max_step=…, half of the "
    "time between two of them"
)


def time_features(
    system: System,
    given: Mapping[str, str | ca.Function],
    definitions: Mapping[str, str | ca.SX] | None,
) -> TimeFeatures:
    """Features of time of inputs, see `inputs.py`; cached with the system for texts."""

    def make() -> TimeFeatures:
        expression = system.fold(inputs_expression(system, given, definitions))
        symbols = system.kinematics.symbols
        others = ca.vertcat(system.state, system.equations.inputs)
        return TimeFeatures(expression, symbols.t, symbols.params, others)

    key = texts_key(given, definitions)
    return make() if key is None else system.cached(("time features", key), make)


def inputs_at(plan: InputPlan, t: float, state: Array) -> Array:
    """[u; w; ẇ] at a state, outside the loop."""
    base = driven(plan.base, plan.tables, t)
    if plan.function is None:
        return base
    return plan.function(t, state, base, plan.parameters)[: plan.num_inputs]


def law_rates(plan: InputPlan, t: float, state: Array) -> Array:
    """ż of the law that gives the inputs, at a state outside the loop."""
    if plan.function is None or not plan.num_states:
        return EMPTY
    base = driven(plan.base, plan.tables, t)
    return plan.function(t, state, base, plan.parameters)[plan.num_inputs :]


def settable_inputs(system: System) -> list[str]:
    """Names of inputs that can be given: u and w."""
    model = system.model
    return [u.name for u in model.inputs] + [w.name for w in model.speed_inputs]


def input_index(system: System, name: str) -> tuple[int, int]:
    """Index of an input in [u; w; ẇ], and the offset from it to its rate, 0 if it has none."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    settable = settable_inputs(system)
    if name not in settable:
        raise SimulationError(
            f"there is no input '{name}'",
            f"inputs of model '{system.model.name}'",
            nearest(name, settable),
        )
    k = settable.index(name)
    return k, num_w if k >= num_u else 0


def input_number(spec: Any, name: str, system: System) -> float:
    """The value of an input that is a number."""
    value = as_number(spec)
    if not np.isfinite(value):
        raise SimulationError(
            f"input '{name}' is {spec!r}, which is not a finite number",
            f"inputs of model '{system.model.name}'",
            "give a number, an expression of t, a Table, a CasADi function or a Python callable",
        )
    return value


def texts_key(*mappings: Mapping[str, Any] | None) -> Hashable:
    """Cache key of code of these names and texts; None if some are no texts."""
    key = tuple(tuple((mapping or {}).items()) for mapping in mappings)
    is_text = all(isinstance(value, str) for items in key for _, value in items)
    return key if is_text else None


def _traced_function(
    system: System, given: dict[str, str | ca.Function], definitions: Mapping[str, str] | None
) -> tuple[NativeFunction, bool]:
    """Native inputs of expressions and CasADi functions, and whether they stay with the system."""

    def make() -> NativeFunction:
        return _native(system, "inputs", inputs_expression(system, given, definitions), None)

    key = texts_key(given, definitions)
    return (make(), False) if key is None else (system.cached(("inputs", key), make), True)


def _native(
    system: System, name: str, expression: ca.SX, generator: InputGenerator | None
) -> NativeFunction:
    """A function of (t, [x; z], base inputs, [parameters; the generator's]) as native code."""
    symbols = system.kinematics.symbols
    states = generator.states if generator else ca.SX(0, 1)
    extra = generator.parameters if generator else ca.SX(0, 1)
    noise = generator.noise if generator else ca.SX(0, 1)
    program = trace_program(
        name,
        (
            symbols.t,
            ca.vertcat(system.state, states),
            ca.vertcat(system.equations.inputs, noise),
            ca.vertcat(symbols.params, extra),
        ),
        ca.densify(expression),
    )
    return compile_native([program])[name]


def _law(system: System, generator: InputGenerator) -> tuple[NativeFunction, ...]:
    """A law as native code; its update, and what that shows a Python function, as far as it has."""
    found = [_native(system, "inputs", inputs_expression(system, generator), generator)]
    if (update := generator.update) is not None:
        both = replace(generator, parameters=ca.vertcat(generator.parameters, generator.asked))
        found.append(_native(system, "update", update, both))
        if generator.ask is not None:
            found.append(_native(system, "shown", generator.shown, generator))
    return tuple(found)


def _plan_generator(system: System, generator: InputGenerator, parameters: Array) -> InputPlan:
    key, make = generator.key, partial(_law, system, generator)
    function, *more = make() if key is None else system.cached(("law", key), make)
    update: NativeFunction | AskedUpdate | None = more[0] if more else None
    if generator.ask is not None and more:
        update = AskedUpdate(system, generator, *more)
    return InputPlan(
        base=np.zeros(len(system.inputs) + generator.noise.shape[0]),
        tables=(),
        knots=generator.knots,
        function=function,
        address=function.address,
        parameters=np.concatenate([parameters, generator.parameter_values]),
        generator=generator,
        update=update,
        failure=update.failure if isinstance(update, AskedUpdate) else (),
    )


class AskedUpdate:
    """The update of a law that asks a Python function, with the signature of native code."""

    def __init__(
        self,
        system: System,
        law: InputGenerator,
        update: NativeFunction,
        shown: NativeFunction,
    ) -> None:
        nz, num = len(law.start), law.asked.shape[0]
        ny, nb = system.num_states + nz, len(system.inputs) + law.noise.shape[0]
        known = len(system.model.parameters) + len(law.parameter_values)
        self.failure: list[BaseException] = []

        def call(t: Any, y: Any, u: Any, p: Any, out: Any) -> None:
            result = np.ctypeslib.as_array(out, (nz,))
            if self.failure:
                result[:] = np.nan
                return
            try:
                given = [np.ctypeslib.as_array(x, (n,)) for x, n in ((y, ny), (u, nb), (p, known))]
                assert law.ask is not None
                answer = np.asarray(
                    law.ask(t[0], law.period, shown(t[0], *given)), dtype=float
                ).ravel()
                if answer.shape != (num,) or not np.isfinite(answer).all():
                    raise SimulationError(
                        f"the controller gives {answer!r:.80} at {t[0]:.6g} s",
                        f"controller of model '{system.model.name}'",
                        f"return {num} finite numbers, one for each input in its order",
                    )
                given[2] = np.concatenate([given[2], answer])
                result[:] = update(t[0], *given)
            except BaseException as error:
                # nothing may pass through native code: note it, stop the run by a non-finite state
                self.failure.append(error)
                result[:] = np.nan

        self._callback = _CALLBACK(call)

    @property
    def address(self) -> int:
        """Where it is."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0


def _with_callables(
    system: System, plan: InputPlan, callables: Callables, end_time: float | None
) -> InputPlan:
    """Wrap Python callables f(t, q, v) in a native callback with the loop's signature."""
    num_q, nx = len(system.coordinates), system.num_states
    num_inputs, num_v = len(system.inputs), len(system.speeds)
    native, motion = plan.function, system.motion
    parameters = plan.parameters
    failure: list[BaseException] = []
    below: dict[str, float] = {}
    names = {k: system.inputs[k].name for k in callables}
    watches = (
        {k: SmoothnessWatch(system, names[k], f, end_time) for k, f in callables.items()}
        if end_time is not None
        else {}
    )

    def call(t, x, u, p, out):
        result = np.ctypeslib.as_array(out, (num_inputs,))
        if failure:
            result[:] = np.nan
            return
        try:
            state = np.ctypeslib.as_array(x, (nx,))
            base = np.ctypeslib.as_array(u, (num_inputs,))
            result[:] = native(t[0], state, base, parameters) if native else base
            v = motion(t[0], state, result, parameters)[:num_v]
            for k, f in callables.items():
                result[k] = float(f(t[0], state[:num_q].copy(), v))
                if result[k] < -NEGATIVE:
                    below[names[k]] = min(below.get(names[k], t[0]), t[0])
                if watches:
                    watches[k].see(t[0], result[k], state[:num_q], v)
        except BaseException as error:
            # nothing may pass through native code: note it, stop the run by a non-finite input
            failure.append(error)
            result[:] = np.nan

    callback = _CALLBACK(call)
    listed = ", ".join(f"'{name}'" for name in names.values())
    return plan._replace(
        address=ctypes.cast(callback, ctypes.c_void_p).value or 0,
        callback=callback,
        failure=failure,
        below=below,
        notes=(
            *plan.notes,
            f"input {listed} is a Python callable, called back at every evaluation: slower",
        ),
        is_kept=False,
    )


#: Values of an input from which on it is negative, and not by rounding.
NEGATIVE = 1e-9
#: Evaluations after which a watch judges a callable; so many Python makes in some tens of ms.
WATCHED = 512
#: Evaluations still to come from which on a run counts as stalled: minutes of Python.
STALLED = 5_000_000
#: Ways up and down, in what a callable spans, from which on it is no smooth function: a smooth one
#: that goes up or down goes 1, noise some hundreds.
ROUGH = 16.0
#: Relative difference of two values at the same time and state that is no rounding.
UNREPEATED = 1e-6


class SmoothnessWatch:
    """Watches the values of a Python callable in an adaptive run, which smooth functions alone do.

    Steps are chosen by how the rates change within them. Where the values jump about however near
    the times are, the steps shrink until jump times step meets the tolerance, and the run stands
    still. So it is judged while it runs: is most of it still to come at this pace, and do the
    values go up and down without end within the short time that was covered? Random ones are found
    at once, by asking twice.
    """

    def __init__(self, system: System, name: str, f: Callable[..., float], end_time: float) -> None:
        self._where = f"inputs of model '{system.model.name}'"
        self._name, self._f, self._end = name, f, end_time
        self._times: list[float] = []
        self._values: list[float] = []
        self._is_first = True

    def see(self, t: float, value: float, q: Array, v: Array) -> None:
        """Take notice of a value; refuse the callable where it stalls the run."""
        if self._is_first:
            self._is_first = False
            again = float(self._f(t, q.copy(), v))
            if abs(again - value) > UNREPEATED * max(abs(again), abs(value)):
                raise self._refusal(
                    f"gives {value:.6g}, then {again:.6g} for the same time and state: it is "
                    "random, or remembers its calls"
                )
        self._times.append(t)
        self._values.append(value)
        if len(self._times) >= WATCHED:
            times, values = np.array(self._times), np.array(self._values)
            self._times.clear()
            self._values.clear()
            self._judge(times, values)

    def _judge(self, times: Array, values: Array) -> None:
        covered = float(np.ptp(times))
        left = self._end - float(np.max(times))
        if left * WATCHED <= STALLED * covered or not np.all(np.isfinite(values)):
            return
        values = values[np.argsort(times, kind="stable")]
        span = float(np.ptp(values))
        if span <= UNREPEATED * float(np.max(np.abs(values))):
            return
        if float(np.sum(np.abs(np.diff(values)))) > ROUGH * span:
            raise self._refusal(
                f"is not smooth: at t = {times[-1]:.9g} s it goes up and down by {span:.3g} within "
                f"{covered:.1e} s, and adaptive steps stand still"
            )

    def _refusal(self, what: str) -> SimulationError:
        return SimulationError(
            f"input '{self._name}' {what}",
            self._where,
            "draw noise once, into a Table(times=…, values=…, kind='hold'), one row "
            "for each sampling time; write dry friction smoothly, as tanh(v/0.01)",
        )


def _traced_entries(
    system: System,
    spec: str | ca.Function,
    k: int,
    rate_offset: int,
    name: str,
    definitions: Mapping[str, str | ca.SX] | None,
) -> dict[int, ca.SX]:
    """Expression of an input k, and of its rate where that comes with it."""
    kin = system.kinematics
    symbols = kin.symbols
    if isinstance(spec, str):
        expression = read_expression(system, spec, f"input '{name}'", definitions)
    else:
        expression = _call_casadi(system, spec, name)
    entries = {k: ca.SX(expression)}
    if rate_offset:
        if ca.depends_on(entries[k], ca.vertcat(kin.eta, symbols.w)):
            raise SimulationError(
                f"speed input '{name}' depends on speeds, so its rate would need accelerations",
                f"inputs of model '{system.model.name}'",
                "let it depend on time and coordinates only",
            )
        at = ca.vertcat(symbols.t, symbols.q)
        along = ca.vertcat(ca.SX(1), ca.mtimes(kin.N, kin.v))
        entries[k + rate_offset] = ca.jtimes(entries[k], at, along)
    return entries


def _call_casadi(system: System, function: ca.Function, name: str) -> ca.SX:
    """A CasADi function of (t, q, v, parameters) at the traced symbols."""
    kin = system.kinematics
    arguments = (kin.symbols.t, kin.symbols.q, kin.v, kin.symbols.params)
    expected = [argument.shape for argument in arguments]
    taken = [function.size_in(k) for k in range(function.n_in())]
    if taken != expected or function.n_out() != 1 or function.size_out(0) != (1, 1):
        given = [function.size_out(k) for k in range(function.n_out())]
        raise SimulationError(
            f"input '{name}' is a CasADi function from {_shapes(taken)} to {_shapes(given)}, "
            f"expected one from t, q, v and the parameters, {_shapes(expected)}, to 1",
            f"inputs of model '{system.model.name}'",
            "write ca.Function(name, [t, q, v, p], [value]) with columns of these sizes",
        )
    return function(*arguments)


def _shapes(shapes: list[tuple[int, int]]) -> str:
    return ", ".join(str(n) if m == 1 else f"{n}×{m}" for n, m in shapes) or "nothing"


def inputs_expression(
    system: System,
    given: Mapping[str, str | ca.Function] | InputGenerator,
    definitions: Mapping[str, str | ca.SX] | None = None,
    *,
    kept: Collection[str] = (),
) -> ca.SX:
    """[inputs; ż] of expressions by name or of a law; other inputs stay those of the system.

    Rates of speed inputs come with them, but for those that are `kept`.
    """
    names = [q.name for q in system.inputs]
    traced: dict[int, ca.SX] = {}  # of inputs and of the rates that come with them
    rates = ca.SX(0, 1)
    if isinstance(given, InputGenerator):
        traced = {names.index(name): e for name, e in given.inputs.items()}
        rates = given.rates
    else:
        for name, spec in given.items():
            k, rate_offset = input_index(system, name)
            traced |= _traced_entries(system, spec, k, rate_offset, name, definitions)
    traced = {k: e for k, e in traced.items() if names[k] not in kept}
    inputs = system.equations.inputs
    entries = [traced.get(k, inputs[k]) for k in range(len(system.inputs))]
    expression = ca.vertcat(*entries, rates)
    # what depends on a speed that is given sees the value given here
    num_u = len(system.model.inputs)
    if system.model.speed_inputs:
        speeds = ca.densify(ca.vertcat(*entries[num_u:]))
        expression = ca.substitute([expression], [inputs[num_u:, :]], [speeds])[0]
    return expression


def table_entries(
    system: System, table: Table, k: int, rate_offset: int, name: str
) -> list[InputTable]:
    """Segments of an input k that a table gives, and of its rate where that comes with it."""
    starts, coefficients = table.segments()
    entries = [InputTable(k, starts, coefficients)]
    if rate_offset:
        if table.kind == "hold" and _moves_mass(system, k):
            raise SimulationError(
                f"speed input '{name}' jumps between held values, but what it moves has inertia: "
                "the jump would need an infinite force",
                f"inputs of model '{system.model.name}'",
                "interpolate: Table(…, kind='linear') or kind='cubic'",
            )
        a, b, c = coefficients[:, 0], coefficients[:, 1], coefficients[:, 2]
        slope = np.column_stack([np.zeros(len(a)), 3 * a, 2 * b, c])
        entries.append(InputTable(k + rate_offset, starts, slope))
    return entries


def _moves_mass(system: System, k: int) -> bool:
    """Whether the rate of a speed input needs force anywhere in the mechanism."""
    eq, symbols = system.equations, system.kinematics.symbols
    j = k - len(system.model.inputs)
    needed = ca.jacobian(eq.generalized_reactions, symbols.wdot[j])
    push = ca.Function(
        "push",
        [symbols.t, symbols.q, system.kinematics.eta, symbols.w, symbols.params],
        [ca.densify(needed)],
        {"allow_free": True},
    )
    if push.get_free():
        return True
    samples = system.kinematics.probe.configurations(2)
    eta = np.zeros(system.kinematics.num_independent_speeds)
    w = np.zeros(len(system.model.speed_inputs))
    return any(
        float(np.max(np.abs(np.array(push(t, q, eta, w, system.parameters()))), initial=0.0))
        > 1e-12
        for t, q in samples
    )
