"""Where the completion of a start ended: its rows, what it held, and their derivatives.

Made for one start and used for all that it is followed by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.analysis.sensitivities.start_orientations import OrientationTangents
from noslip.engines.llvm import NativeFunction, compile_native
from noslip.engines.program import trace_program
from noslip.engines.system import Array, System
from noslip.simulation.start import Start
from noslip.simulation.start_rows import Layout, Rows, layout_of, row_weights

#: Singular values below this share of the largest count as zero.
RANK = 1e-10


class Change(NamedTuple):
    """What one variable changes: its name, start values by name, parameters, speed inputs at q."""

    name: str
    given: dict[str, float]
    params: Array
    speed_inputs: Callable[[Array], Array]  # from q' to w'


class Rates(NamedTuple):
    """Derivatives along (q', w', p') at constant v, λ and m."""

    g: Array
    rows: Array  # A v + a
    pushed: Array  # Aᵀλ
    speeds: Array  # E v
    drawn: Array  # Eᵀm


class Asked(NamedTuple):
    """Speeds that are given: a tree speed, an independent speed or rates of angles."""

    name: str
    row: Array  # on the tree speeds
    tree: int = -1
    independent: int = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """Where the completion ended, and what it had to hold."""

    system: System
    given: Mapping[str, float]
    start: Start
    w: Array
    params: Array

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.system)

    @cached_property
    def rows(self) -> Rows:
        return self.layout.rows(self.start.time, self.start.q, self.w, self.params)

    @cached_property
    def turns(self) -> OrientationTangents:
        return OrientationTangents.at(self.system, self.layout, self.given, self.start)

    @cached_property
    def held_rows(self) -> Array:
        """Rows on δ over the scale: holonomic, fixed coordinates, given angles that are held."""
        parts = [self.rows.A[self.layout.holonomic], self.rows.N[self.turns.fixed]]
        return np.concatenate([*parts, *self.turns.held_rows()]) / self.layout.scale

    @cached_property
    def held_inverse(self) -> Array:
        return np.asarray(np.linalg.pinv(self.held_rows, rcond=RANK))

    @cached_property
    def asked(self) -> list[Asked]:
        """The speeds that are given, always in the same order."""
        layout, asked = self.layout, []
        for name in self.given:
            if name in layout.speeds:
                k = layout.speeds[name]
                asked.append(Asked(name, layout.unit[k : k + 1], tree=k))
            elif name in layout.independent_speeds:
                k = layout.independent_speeds[name]
                asked.append(Asked(name, self.rows.E[k : k + 1], independent=k))
        return asked + [Asked(joint, row) for joint, row in self.turns.rate_rows()]

    @cached_property
    def C(self) -> Array:
        return np.concatenate([self.rows.A, *(asked.row for asked in self.asked)])

    @cached_property
    def multipliers(self) -> list[Array]:
        """λ with Cᵀλ = −Eᵀη: the share of the rows, then that of each speed asked for."""
        C, right = self.C, -self.rows.E.T @ self.start.eta
        lam = np.linalg.lstsq(C.T, right, rcond=RANK)[0] if C.size else np.zeros(len(C))
        sizes = [self.rows.A.shape[0], *(len(asked.row) for asked in self.asked)]
        return np.split(lam, np.cumsum(sizes)[:-1])

    @cached_property
    def factors(self) -> tuple[Array, Array, Array]:
        """C/scale with rows of unit length: the lengths' inverses, its pseudoinverse, and Z."""
        C = self.C / self.layout.scale
        weight = row_weights(C)
        U, singular, Vt = np.linalg.svd(C * weight[:, None], full_matrices=True)
        least = RANK * max(1.0, float(singular[0]) if singular.size else 1.0)
        rank = int((singular > least).sum())
        return weight, (Vt[:rank].T / singular[:rank]) @ U[:, :rank].T, Vt[rank:].T

    def rates(self, q: Array, w: Array, params: Array, lam: Array, m: Array) -> Rates:
        """Derivatives of the rows along a change."""
        start, system = self.start, self.system
        function = system.kept("start tangents", lambda: _compile(system))
        x = np.concatenate([start.q, start.v, lam, m, q])
        u, p = np.concatenate([self.w, w]), np.concatenate([self.params, params])
        values = function(start.time, x, u, p)
        sizes = (self.rows.g.size, *self.rows.A.shape, *self.rows.E.shape)
        return Rates(*np.split(values, np.cumsum(sizes)[:-1]))

    def g_rates(self, q: Array, params: Array) -> Array:
        """g' along q' and p'."""
        nothing = np.zeros(self.rows.A.shape[0]), np.zeros(self.rows.E.shape[0])
        return self.rates(q, 0.0 * self.w, params, *nothing).g


def _compile(system: System) -> NativeFunction:
    """Native :class:`Rates` of (t, [q; v; λ; m; q'], [w; w'], [p; p'])."""
    kin = system.kinematics
    s = kin.symbols
    rows, E = kin.velocities, ca.mtimes(kin.E, s.v)
    lam, m = ca.SX.sym("lam", rows.shape[0]), ca.SX.sym("m", E.shape[0])
    pushed = ca.jtimes(rows, s.v, lam, True) if rows.shape[0] else ca.SX(kin.num_speeds, 1)
    values = ca.densify(ca.vertcat(kin.g, rows, pushed, E, ca.mtimes(kin.E.T, m)))
    q, w, p = (ca.SX.sym("along", x.shape[0]) for x in (s.q, s.w, s.params))
    rates = ca.jtimes(values, ca.vertcat(s.q, s.w, s.params), ca.vertcat(q, w, p))
    arguments = (
        s.t,
        ca.vertcat(s.q, s.v, lam, m, q),
        ca.vertcat(s.w, w),
        ca.vertcat(s.params, p),
    )
    name = "start_tangents"
    return compile_native([trace_program(name, arguments, ca.densify(rates))])[name]
