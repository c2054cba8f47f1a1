"""Features of time in expressions that a step could miss: kinks, jumps and narrow pulses.

An adaptive step sees its inputs at a dozen times. What happens between them, a pulse of a
millisecond in a step of a second, it does not see. Where an expression depends on time alone, its
features are known before the run, and steps end on them:

    kinks and jumps  zeros of g in sign(g), abs(g) and of a − b in min(a, b), max(a, b), conditions;
                     whole numbers g in floor(g)
    pulses           short times in which a part f(t) changes much, between long ones without

Both are found by enclosures: pieces of the run are cut in two until zero is excluded or g has a
rate of one sign, or until f changes little. What is everywhere is no feature: the steps follow it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, LRUCache
from noslip.engines import trace_program
from noslip.simulation.enclosures import (
    UNKNOWN,
    Enclosure,
    Interval,
    between_wholes,
    difference,
    enclose_operation,
    number,
)

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

    Attributes
    ----------
    used : places of the parameters that the features depend on.
    """

    def __init__(self, expression: ca.SX, t: ca.SX, params: ca.SX, others: ca.SX) -> None:
        given = (t, others, ca.SX(0, 1), params)
        program = trace_program("features", given, ca.densify(expression))
        lower, upper = ca.SX.sym("lower"), ca.SX.sym("upper")
        values = [
            Enclosure(Interval(lower, upper), number(1.0)),
            *([UNKNOWN] * others.numel()),
            *(Enclosure(number(params[k]), None) for k in range(params.numel())),
            *(Enclosure(number(c), None) for c in program.constants),
        ]
        num_given = len(values)
        # of each value: depends on t, on something else that changes, on a sharp operation
        kinds = [(k == 0, 0 < k <= others.numel(), False) for k in range(num_given)]
        breaks: list[Enclosure] = []
        levels: list[Enclosure] = []  # values of the operations themselves
        for operation in program.operations:
            own = [kinds[k] for k in operation.operands]
            of_t, of_others, sharp = (any(each) for each in zip(*own, strict=True))
            kinds.append((of_t, of_others, sharp or (of_t and operation.kind in SHARP)))
            values.append(UNKNOWN if of_others else enclose_operation(operation, values))
            if operation.kind in BREAKS and of_t and not of_others:
                zero = _zero_at_break(operation.kind, [values[k] for k in operation.operands])
                breaks.append(zero)
                levels.append(values[-1])
        # parts of t alone that something else, or nothing, goes on from
        ends = {k for k in program.outputs}
        for k, operation in enumerate(program.operations, num_given):
            if kinds[k][1]:
                ends |= set(operation.operands)
        pulses = [values[k] for k in sorted(ends) if k >= num_given and kinds[k] == _SHARP_IN_TIME]
        self._num_breaks = len(breaks)
        self._num_parts = len(breaks) + len(pulses)
        parts = (*breaks, *pulses, *levels)
        bounds = [e.bounds() for e in parts]
        self._bounds = (
            ca.Function("bounds", [lower, upper, params], [ca.horzcat(*bounds)]) if bounds else None
        )
        self._count = len(bounds)
        table = ca.vertcat(*bounds) if bounds else ca.SX(0, 1)
        self.used = [k for k in range(params.numel()) if ca.depends_on(table, params[k])]
        self._found = LRUCache(16)

    def find(self, values: Array, start: float, end: float) -> FoundTimes:
        """Features between two times, s, at values of the parameters."""
        if self._bounds is None:
            return NOTHING
        key = values[self.used].tobytes(), start, end
        found: FoundTimes = self._found.get(
            key, lambda: self.find_many(values[None], start, end)[0]
        )
        return found

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
