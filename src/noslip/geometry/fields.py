"""Vector fields on the configurations of a model: brackets, values, and ranks with their gap.

A field X has components X(q) in the coordinate rates q̇ (quaternions have four). The admissible
motions q̇ = N S η of homogeneous rows are combinations of the columns of N S; rates of speed inputs
are controls like any other, with the columns of N ∂s/∂w. The bracket

    (1)  [X, Y] = (∂Y/∂q) X − (∂X/∂q) Y

is traced with exact derivatives, and evaluated at random admissible configurations. Ranks are read
from singular values in double precision where the gap between the least that counts and the largest
that does not is 1e6, from pivoted Gram–Schmidt sums with 60 digits elsewhere, and where what a
field adds is small but more than rounding leaves.

Where rows move by themselves or change with time, time is one more coordinate (`is_timed`), and
what happens by itself is a field like others, with the rate 1 of t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, CompileError, FormulationError
from noslip.engines import trace_program
from noslip.kinematics import RANK_LOST, Kinematics

#: A ratio of neighboring singular values from which double precision decides a rank.
CLEAR = 1e6
#: Digits of ranks that double precision does not decide.
DIGITS = 60
#: Operations of all brackets of a level, beyond which deeper ones are refused.
MOST_OPERATIONS = 10_000_000
#: What a field adds is looked at with 60 digits if it is that many times what changes of the
#: configuration by `NUDGE`, relative, make of it.
FELT, NUDGE, NUDGES = 100.0, 4e-16, 3
#: Newton's steps of a configuration to 60 digits, and what counts as zero with them: numbers in
#: the rows have 16.
HELD, ZERO = 6, 1e-13
#: Entries below this, relative to the largest of a field's terms, vanish.
VANISHES = 1e-9


class Rank(NamedTuple):
    """A rank and what it is read from."""

    value: int
    gap: float  # the least singular value that counts over the largest that does not
    is_precise: bool  # whether by 60 digits


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A vector field with the name of its bracket: ``drive``, ``[drive, steer]``."""

    name: str
    components: ca.SX  # (nq,) of the coordinates that are kept
    depth: int = 1
    #: Names of the fields that it is the bracket of.
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldChart:
    """Configurations of a model, with the coordinates that fields are written in."""

    kin: Kinematics
    kept: tuple[int, ...]  # coordinates that are not left out; one more is time
    samples: tuple[tuple[float, Array], ...]  # time and all coordinates, admissible
    params: Array
    most: int = MOST_OPERATIONS  # operations of all brackets of a level
    is_timed: bool = False  # whether time is the last coordinate

    @cached_property
    def state(self) -> ca.SX:
        """All coordinates, those that are left out too."""
        symbols = self.kin.symbols
        return ca.vertcat(symbols.q, symbols.t) if self.is_timed else symbols.q

    @cached_property
    def q(self) -> ca.SX:
        """The coordinates that are kept."""
        return ca.vertcat(*[self.state[k] for k in self.kept])

    @cached_property
    def points(self) -> tuple[Array, ...]:
        """Values of `state` at the samples."""
        return tuple(np.append(q, t) if self.is_timed else q for t, q in self.samples)

    @cached_property
    def rest(self) -> Array:
        """Values of `state` at rest positions of joints, at the time of the first sample."""
        rest = self.kin.rest
        return np.append(rest, self.samples[0][0]) if self.is_timed else rest

    @cached_property
    def names(self) -> list[str]:
        """Names of the coordinates that are kept."""
        names = [*(c.name for c in self.kin.coordinates), "t"]
        return [names[k] for k in self.kept]

    @cached_property
    def units(self) -> list[str]:
        """Units of the coordinates that are kept."""
        units = [*(c.unit for c in self.kin.coordinates), "s"]
        return [units[k] for k in self.kept]

    @cached_property
    def sizes(self) -> Array:
        """(nq,) 1/m and 1/rad over the model's length: rates of all coordinates in one unit."""
        return np.array([1.0 if unit == "m" else self.kin.length for unit in self.units])

    def numeric(self, expression: ca.SX) -> ca.SX:
        """An expression at the parameters and the time of the chart."""
        symbols, values = self.kin.symbols, list(self.params)
        own = ca.vertcat(symbols.params, ca.SX(0, 1) if self.is_timed else symbols.t)
        given = ca.SX(ca.DM(values if self.is_timed else [*values, self.samples[0][0]]))
        found: ca.SX = ca.substitute([expression], [own], [given])[0]
        return found

    def bracket(self, X: Field, Y: Field) -> Field:
        """(1)"""
        along = ca.jtimes(Y.components, self.q, X.components)
        across = ca.jtimes(X.components, self.q, Y.components)
        name = f"[{X.name}, {Y.name}]"
        return Field(name, ca.densify(along - across), X.depth + Y.depth, (X.name, Y.name))

    def derivative(self, X: Field, function: ca.SX) -> ca.SX:
        """X f, the derivative of functions along a field."""
        return ca.jtimes(function, self.q, X.components)

    def check_length(self, fields: Sequence[Field], times: int) -> None:
        """Refuse brackets that would be far longer than allowed, before they are made."""
        columns = [field.components for field in fields]
        size = ca.Function("size", [self.state], columns).n_instructions()
        if size * times > 2 * self.most:
            raise self._too_long(size * times)

    def _too_long(self, operations: int) -> FormulationError:
        return FormulationError(
            f"brackets of this depth take about {operations} operations",
            f"geometry of model '{self.kin.model.name}'",
            "ask for fewer levels with deepest=, or leave coordinates out with without=",
        )

    def _function(self, columns: ca.SX) -> ca.Function:
        function = ca.Function("values", [self.state], [ca.densify(columns)])
        if function.n_instructions() > self.most:
            raise self._too_long(function.n_instructions())
        return function

    def evaluate(self, columns: ca.SX) -> list[Array]:
        """Values of a matrix of the coordinates at all samples."""
        function = self._function(columns)
        return [np.array(function(point)) for point in self.points]

    def values(self, fields: Sequence[Field]) -> list[Array]:
        """(nq, n) components of fields in m/s at each sample."""
        if not fields:
            return [np.zeros((len(self.kept), 0)) for _ in self.samples]
        found = self.evaluate(ca.horzcat(*[field.components for field in fields]))
        return [self.sizes[:, None] * x for x in found]

    def values_with_noise(self, fields: Sequence[Field]) -> list[tuple[Array, Array]]:
        """The same, each with (n,) how far its fields change where rounding moves coordinates."""
        if not fields:
            return [(x, np.zeros(0)) for x in self.values(fields)]
        function = self._function(ca.horzcat(*[field.components for field in fields]))
        rng, found = np.random.default_rng(60), []
        for point in self.points:
            value, *others = (
                self.sizes[:, None] * np.array(function(point * (1 + NUDGE * sign)))
                for sign in (0.0, *rng.choice([-1.0, 1.0], size=(NUDGES, len(point))))
            )
            apart = [np.linalg.norm(other - value, axis=0) for other in others]
            rounding = np.finfo(float).eps * np.maximum(1.0, np.linalg.norm(value, axis=0))
            found.append((value, np.maximum(np.max(apart, axis=0), rounding)))
        return found

    def rank(self, fields: Sequence[Field], sample: int = 0) -> Rank:
        """Rank of fields at a sample."""
        return self.rank_of(self.values(fields)[sample], fields, sample)

    def rank_of(self, values: Array, fields: Sequence[Field], sample: int) -> Rank:
        """Rank of the values of fields at a sample; with more digits where doubles do not tell."""
        found = rank_of(values)
        if found.gap >= CLEAR or not fields:
            return found
        precise = self.precise_rank(fields, sample)
        return found if precise is None else precise

    def precise_rank(self, fields: Sequence[Field], sample: int) -> Rank | None:
        """Rank by 60 digits; None where a table is looked up, which has doubles alone."""
        import mpmath

        context = mpmath.MPContext()
        context.dps = DIGITS
        function = self._precise(ca.horzcat(*[field.components for field in fields]), context)
        point = self._exact(sample, context)
        if function is None or point is None:
            return None
        n, out = len(self.kept), function(point)
        vectors = [
            [out[c * n + k] * float(self.sizes[k]) for k in range(n)] for c in range(len(fields))
        ]
        return _gram_schmidt(vectors, context)

    def _precise(self, columns: ca.SX, context: Any) -> Callable[[list[Any]], list[Any]] | None:
        """A function of the coordinates with many digits."""
        empty, meanings = ca.SX(0, 1), _meanings(context)
        inputs = [ca.SX.sym("t", 0), self.state, empty, empty]
        try:
            program = trace_program("precise", inputs, ca.vec(ca.densify(columns)))
        except CompileError:
            return None
        if any(kind not in meanings for kind, _ in program.operations):
            return None

        def evaluated(point: list[Any]) -> list[Any]:
            values = [*point, *(context.mpf(x) for x in program.constants)]
            for kind, operands in program.operations:
                values.append(meanings[kind](*(values[k] for k in operands)))
            return [values[k] for k in program.outputs]

        return evaluated

    @cached_property
    def held(self) -> ca.SX:
        """What holonomic rows and quaternions keep at zero."""
        quaternions = [self.kin.symbols.q[k : k + 4] for k in self.kin.probe.quaternions]
        return ca.vertcat(self.numeric(self.kin.g), *[ca.sumsqr(x) - 1 for x in quaternions])

    def _exact(self, sample: int, context: Any) -> list[Any] | None:
        """A sample with many digits: half degrees are meant as such, and rows hold to the last."""
        point, angles = self.points[sample], [c.unit == "rad" for c in self.kin.coordinates]
        found = [context.mpf(float(x)) for x in point]
        for k in np.flatnonzero(angles):
            halves = round(math.degrees(point[k]) * 2)
            if halves and abs(math.radians(halves / 2) - point[k]) <= 4e-16 * abs(point[k]):
                found[k] = context.pi * halves / 360
        if not self.held.numel():
            return found
        rest = self._precise(self.held, context)
        if rest is None:
            return None
        slopes = ca.Function(
            "slopes", [self.state], [ca.densify(ca.jacobian(self.held, self.state))]
        )
        back = np.linalg.pinv(np.array(slopes(point)), rcond=1e-10)
        for _ in range(HELD):  # each step leaves 1e-12 of what was left, and dependent rows agree
            over = rest(found)
            for place, shares in enumerate(back):
                found[place] -= sum(float(x) * y for x, y in zip(shares, over, strict=True))
        return found


def rank_of(values: Array) -> Rank:
    """Rank by singular values, and the largest ratio of neighbors, in double precision."""
    singular = np.linalg.svd(values, compute_uv=False) if values.size else np.zeros(0)
    if not singular.size or singular[0] == 0.0:
        return Rank(0, np.inf, False)
    floor = np.finfo(float).eps * singular[0] * max(values.shape)
    counted = np.maximum(singular, floor)
    ends = [k for k in range(1, len(counted)) if counted[k] < RANK_LOST * counted[0]]
    ratios = {k: counted[k - 1] / counted[k] for k in ends}
    if not ratios:  # of full rank
        return Rank(len(singular), float(counted[-1] / floor), False)
    best = max(ratios, key=lambda k: ratios[k])
    return Rank(best, float(ratios[best]), False)


def _gram_schmidt(vectors: list[list[Any]], context: Any) -> Rank:
    """Rank of vectors by orthogonalization, the longest remainder first, each of unit length."""
    remaining = []
    for vector in vectors:
        size = context.sqrt(sum(x * x for x in vector))
        if size > ZERO / 10:
            remaining.append([x / size for x in vector])
    lengths: list[Any] = []
    while remaining:
        sizes = [context.sqrt(sum(x * x for x in vector)) for vector in remaining]
        k = max(range(len(sizes)), key=lambda j: sizes[j])
        lengths.append(sizes[k])
        if sizes[k] <= ZERO:
            break
        first = [x / sizes[k] for x in remaining.pop(k)]
        for vector in remaining:
            share = sum(a * b for a, b in zip(first, vector, strict=True))
            vector[:] = [b - share * a for a, b in zip(first, vector, strict=True)]
    counted = [x for x in lengths if x > ZERO]
    below = max([context.mpf(10) ** -DIGITS, *(x for x in lengths if x <= ZERO)])
    return Rank(len(counted), float(min(counted, default=context.mpf(1)) / below), True)


def _meanings(context: Any) -> dict[str, Any]:
    """What the operations of a program mean with many digits."""
    one, zero = context.mpf(1), context.mpf(0)

    def truth(compare: Any) -> Any:
        return lambda a, b: one if compare(a, b) else zero

    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sqrt": context.sqrt,
        "exp": context.exp,
        "expm1": context.expm1,
        "log": context.log,
        "log1p": context.log1p,
        "pow": context.power,
        "hypot": context.hypot,
        "sin": context.sin,
        "cos": context.cos,
        "tan": context.tan,
        "asin": context.asin,
        "acos": context.acos,
        "atan": context.atan,
        "atan2": context.atan2,
        "sinh": context.sinh,
        "cosh": context.cosh,
        "tanh": context.tanh,
        "asinh": context.asinh,
        "acosh": context.acosh,
        "atanh": context.atanh,
        "erf": context.erf,
        "abs": abs,
        "sign": context.sign,
        "min": min,
        "max": max,
        "lt": truth(lambda a, b: a < b),
        "le": truth(lambda a, b: a <= b),
        "eq": truth(lambda a, b: a == b),
        "ne": truth(lambda a, b: a != b),
        "not": lambda a: one if a == 0 else zero,
        "and": truth(lambda a, b: a != 0 and b != 0),
        "or": truth(lambda a, b: a != 0 or b != 0),
        "if_else": lambda condition, a, b: a if condition != 0 else b,
    }
