"""Leaves: where all configurations lie that admissible motions reach from one another.

Fields R(q) that brackets reach span the tangent of a leaf. With as many coordinates b (the base)
that R moves independently, the others f (the fibre) follow along it,

    (1)  df/db = R_f R_b⁻¹

and a curve whose b goes straight to a reference b₀ stays in its leaf. Where it ends, f is the leaf
coordinate: a function of the configuration that no admissible motion changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

from noslip.base import Array, FormulationError
from noslip.geometry.fields import Field, FieldChart

#: Tolerance of curves within a leaf, and the least singular value of R_b over its largest.
TOLERANCE, SINGULAR = 1e-12, 1e-9
#: Times that rates are asked for along one curve: to a place where they grow beyond all bounds, a
#: curve would take ever smaller steps.
MOST_RATES = 3000
#: Admissible motions along which leaf coordinates are tried, and how far each goes, in s.
TRIALS, REACH = 3, 0.4


@dataclass(frozen=True, kw_only=True, eq=False)
class Leaf:
    """Leaf coordinates by (1), with the motions along which they were seen to stay."""

    chart: FieldChart
    reached: tuple[Field, ...]
    base: tuple[int, ...]  # places in chart.kept
    fibre: tuple[int, ...]
    reference: Array  # all coordinates

    @cached_property
    def _slopes(self) -> ca.Function:
        """R_b and R_f at q."""
        columns = ca.densify(ca.horzcat(*[f.components for f in self.reached]))
        parts = [columns[list(self.base), :], columns[list(self.fibre), :]]
        return ca.Function("slopes", [self.chart.state], parts)

    def values(self, q: Array) -> Array:
        """(fibre,) leaf coordinates of a configuration.

        Raises
        ------
        FormulationError : where the base does not carry the leaf on the way to the reference.
        """
        kept = np.array(self.chart.kept)
        base, fibre = kept[list(self.base)], kept[list(self.fibre)]
        first = np.asarray(q, dtype=float)
        way = self.reference[base] - first[base]
        asked = itertools.count()

        def rate(s: float, f: Array) -> Array:
            if next(asked) > MOST_RATES:
                raise self._lost("is longer than can be followed")
            at = first.copy()
            at[base] += s * way
            at[fibre] = f
            R_b, R_f = (np.array(x) for x in self._slopes(at))
            singular = np.linalg.svd(R_b, compute_uv=False)
            if not singular[-1] > SINGULAR * singular[0]:
                raise self._lost("passes where the coordinates that carry the leaf lose rank")
            return np.asarray(R_f @ np.linalg.solve(R_b, way))

        if not np.any(way):
            return first[fibre]
        found = solve_ivp(
            rate, (0.0, 1.0), first[fibre], method="DOP853", rtol=TOLERANCE, atol=TOLERANCE
        )
        if not found.success or not np.all(np.isfinite(found.y)):
            raise self._lost("could not be followed")
        return np.asarray(found.y[:, -1])

    def _lost(self, why: str) -> FormulationError:
        return FormulationError(
            f"the way to the reference of the leaf {why}",
            f"integral of model '{self.chart.kin.model.name}'",
            "compare configurations that are nearer to each other",
        )

    @property
    def residual(self) -> float:
        """Largest change of leaf coordinates along admissible motions, relative to all changes."""
        return max(self.changes)

    @cached_property
    def changes(self) -> tuple[float, ...]:
        """Those along one motion from each sample that has a way to the reference."""
        rng = np.random.default_rng(45)
        found = list[float]()
        kept = np.array(self.chart.kept)
        columns = ca.horzcat(*[f.components for f in self.reached])
        rates = ca.Function("rates", [self.chart.state], [ca.densify(columns)])
        for start in self.chart.points[:TRIALS]:
            weights = rng.normal(size=len(self.reached))
            values = np.array(rates(start))
            weights /= max(float(np.max(np.abs(values @ weights))), 1e-300)

            def rate(_: float, x: Array, q: Array = start, w: Array = weights) -> Array:
                at = q.copy()
                at[kept] = x
                return np.asarray(np.array(rates(at)) @ w)

            moved = solve_ivp(
                rate, (0.0, REACH), start[kept], method="DOP853", rtol=TOLERANCE, atol=TOLERANCE
            )
            end = start.copy()
            end[kept] = moved.y[:, -1]
            try:
                change = np.max(np.abs(self.values(end) - self.values(start)), initial=0.0)
            except FormulationError:
                continue
            size = float(np.max(np.abs(end - start)))
            if np.isfinite(change) and size > 0.0:
                found.append(float(change) / size)
        return tuple(found)

    def carriers(self, k: int) -> tuple[int, ...]:
        """Places in chart.kept of the base whose motion changes the kth coordinate of the fibre."""
        moved = np.zeros(len(self.base), dtype=bool)
        for q in self.chart.points:
            R_b, R_f = (np.array(x) for x in self._slopes(q))
            slope = np.linalg.solve(R_b.T, R_f[k])
            moved |= np.abs(slope) > 1e-9 * max(1.0, float(np.max(np.abs(slope))))
        return tuple(b for b, is_moved in zip(self.base, moved, strict=True) if is_moved)


def leaf_of(chart: FieldChart, reached: Sequence[Field], first: Sequence[int]) -> Leaf | None:
    """The leaf with these places among its fibre, from the model's rest or a random reference.

    Of the references that most of the samples have a way to; None where none of them has one.
    """
    columns = chart.values(reached)[0]
    fibre = list(first)
    while len(fibre) < len(chart.kept) - len(reached):
        # the place without which the others still carry the leaf best
        left = [k for k in range(len(chart.kept)) if k not in fibre]
        sizes = [
            np.linalg.svd(columns[[j for j in left if j != k]], compute_uv=False)[-1] for k in left
        ]
        fibre.append(left[int(np.argmax(sizes))])
    base = tuple(k for k in range(len(chart.kept)) if k not in fibre)
    best = None
    for reference in (chart.rest, *chart.points):
        found = Leaf(
            chart=chart, reached=tuple(reached), base=base, fibre=tuple(fibre), reference=reference
        )
        if len(found.changes) > (0 if best is None else len(best.changes)):
            best = found
        if len(found.changes) == TRIALS:
            break
    return best
