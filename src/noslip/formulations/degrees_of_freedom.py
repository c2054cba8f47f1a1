"""Degrees of freedom counted by moving the mechanism, apart from the rows that were chosen.

At a configuration, each tree speed is given in turn, and what that does to each row is compared
with the row's own scale: a motion by one length of the model that breaks no row by more than a
billionth of it is free. Rows of joints and contacts are distances, slips and angles, whose scale is
that length. A row written by hand has the scale of the terms it is written with,

    (1)  |x ± y| → |x| + |y|        d(x ± y) → dx + dy
         |x y|   → |x| |y|          d(x y)   → |x| dy + |y| dx        d f(x) → |f'(x)| dx

found by walking through its text, all sizes positive. Nothing here knows of rounding errors, of
rows that were left out, or of the basis S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.expressions import (
    CONSTANTS,
    MEASURES,
    RATE,
    Measure,
    Name,
    Number,
    apply_to_numbers,
    fold,
    parse,
)
from noslip.kinematics import Kinematics
from noslip.model import in_order

Array = NDArray[np.float64]

#: Share of a row's scale by which a free motion may break it.
BROKEN = 1e-9
#: Step of the difference quotient that f' in (1) is taken from: only its size matters.
STEP = 1e-6


def count_degrees_of_freedom(kin: Kinematics, samples: Sequence[tuple[float, Array]]) -> int:
    """nv less the number of independent motions that break a row, at the most telling sample."""
    scales = np.array([row_scales(kin, t, q) for t, q in samples])
    broken = 0
    for (t, q), scale in zip(samples, scales, strict=True):
        A = kin.probe.matrix(q, t)[0] / np.where(scale > 0.0, scale, 1.0)[:, None]
        broken = max(broken, int(np.count_nonzero(np.linalg.svd(A, compute_uv=False) > BROKEN)))
    return kin.num_speeds - broken


def row_scales(kin: Kinematics, t: float, q: Array) -> Array:
    """(nc,) scales of the rows, for speeds of 1 m/s and 1 rad/s times a length of the model."""
    scales = np.ones(len(kin.rows))
    first = len(kin.rows) - len(kin.model.rows)  # rows written by hand come last
    if not kin.model.rows:
        return scales
    v = 1.0 / kin.probe.scale
    rates = np.abs(np.array(kin.probe.kinematic_map(q))) @ v
    fixed = kin.model.parameter_values(kin.probe.params)
    leaves = {name: _BoundedTerm(x, abs(x), 0.0) for name, x in (fixed | {"t": t}).items()}
    leaves |= {s.name: _BoundedTerm(0.0, 0.0, x) for s, x in zip(kin.speeds, v, strict=True)}
    texts = {d.name: d.expression for d in kin.model.definitions}
    for k, row in enumerate(kin.model.rows):
        moved = rates if row.is_holonomic else np.zeros(len(q))
        places = zip(kin.coordinates, q, moved, strict=True)
        own = leaves | {c.name: _BoundedTerm(x, abs(x), d) for c, x, d in places}
        measured = _Measured(kin, t, q, is_moved=row.is_holonomic)
        own |= measured.angles()
        for name in in_order(texts)[0]:
            own[name] = _term(texts[name], own, measured)
        found = _term(row.expression, own, measured)
        scales[first + k] = found.change if math.isfinite(found.change) else 1.0
    return scales


class _Measured(NamedTuple):
    """Terms of measures of the motion and of named angles at a configuration.

    Bodies move by one length of the model, and turn by one radian.
    """

    kin: Kinematics
    t: float
    q: Array
    is_moved: bool

    def term(self, measure: Measure, terms: list[_BoundedTerm]) -> _BoundedTerm:
        """The term of a measure."""
        if measure.word == RATE:
            return _BoundedTerm(0.0, 0.0, 1.0)
        has_place, order = MEASURES[measure.word]
        if order:
            return _BoundedTerm(0.0, 0.0, 1.0)
        symbols = self.kin.symbols
        place = [ca.SX(term.value) for term in terms]
        traced = self.kin.measures(ca.SX.zeros(self.kin.num_speeds))(measure, place)
        function = ca.Function("value", [symbols.t, symbols.q, symbols.params], [traced])
        value = float(function(self.t, self.q, self.kin.probe.params))
        size = abs(value) + (self.kin.probe.length if has_place else 1.0)
        return _BoundedTerm(value, size, 1.0 if self.is_moved else 0.0)

    def angles(self) -> dict[str, _BoundedTerm]:
        """Named angles and their rates."""
        found = {}
        for name in self.kin.measures(ca.SX.zeros(self.kin.num_speeds)).named_angles():
            is_rate = name.endswith("_rate")
            found[name] = _BoundedTerm(
                0.0, 0.0 if is_rate else math.pi, float(is_rate or self.is_moved)
            )
        return found


class _BoundedTerm(NamedTuple):
    """A value, and the sizes of it and of its change before terms cancel."""

    value: float
    size: float
    change: float


def _term(
    scalar: float | str, leaves: dict[str, _BoundedTerm], measured: _Measured
) -> _BoundedTerm:
    """An expression by (1)."""

    def leaf(node: Number | Name) -> _BoundedTerm:
        if isinstance(node, Number):
            return _BoundedTerm(node.value, abs(node.value), 0.0)
        if node.name in leaves:
            return leaves[node.name]
        value = CONSTANTS[node.name]
        return _BoundedTerm(value, abs(value), 0.0)

    return fold(parse(str(scalar)), leaf, _applied, measured.term)


def _applied(function: str, terms: list[_BoundedTerm]) -> _BoundedTerm:
    values = [term.value for term in terms]
    value = apply_to_numbers(function, values)
    if function in ("+", "-"):
        x, y = terms
        return _BoundedTerm(value, x.size + y.size, x.change + y.change)
    if function == "*":
        x, y = terms
        return _BoundedTerm(value, x.size * y.size, x.size * y.change + y.size * x.change)
    change = 0.0
    for k, term in enumerate(terms):
        if term.change:
            above, below = ([*values[:k], values[k] + h, *values[k + 1 :]] for h in (STEP, -STEP))
            difference = [apply_to_numbers(function, side) for side in (above, below)]
            change += abs(difference[0] - difference[1]) / (2 * STEP) * term.change
    return _BoundedTerm(value, abs(value), change)
