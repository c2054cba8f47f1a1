"""Constraints solved for velocities: Voronets' and Chaplygin's forms, Chaplygin's multiplier.

**Voronets' form.** With as many coordinates x (the base) as there are admissible motions, on which
these are independent, the other coordinates y (the fibre) follow:

    (1)  ẏ = B(q) ẋ,    h_α = ∂/∂x_α + Σ B_kα ∂/∂y_k,    C_αβ = [h_α, h_β]

The curvature C lies in the fibre and vanishes where the constraints integrate.

**Chaplygin's form.** A group of symmetries ξ_a with T_qQ = D ⊕ span ξ makes the constraints a
connection: coordinates that no ξ_a moves are the shape, and each motion of the shape has one
admissible lift [BlochKrishnaprasadMarsdenMurray1996].

**Multiplier.** With the projections P onto D by the kinetic energy and H along the ξ_a,

    (2)  T(X, Y) = (P − H) [X, Y],    Θ(X) = trace T(X, ·)

are tensors on the shape. If Θ = −dσ, the reduced motion keeps the volume exp(σ) dr dp; if besides

    (3)  T(X, Y) = (Θ(X) Y − Θ(Y) X)/(m − 1)

for m shape freedoms, it is Hamiltonian in the time dτ = f dt with momenta f p, where
f = exp(σ/(m − 1)) is the multiplier: with two freedoms always [GarciaNaranjo2019].
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from noslip.algebra import symmetric_solve
from noslip.base import Array, FormulationError, counted
from noslip.formulations import Equations, mass_matrix
from noslip.geometry.closed_forms import (
    SHOWN,
    evaluated,
    exponential_of,
    formula_of,
    limit_of,
    potential_of,
    printed,
    symbols_of,
    tidied,
)
from noslip.geometry.distributions import FieldFrame
from noslip.geometry.fields import VANISHES, Field, FieldChart, rank_of

#: A residual below this, relative to the terms it is the difference of, is zero.
AGREES = 1e-8
#: Least singular value over the largest, of columns that share a space, at every configuration.
APART = 1e-3
#: Groups of symmetries that are tried, and freedoms of the shape whose tensor is taken.
GROUPS, FREEDOMS = 400, 6
#: Freedoms up to which velocities are solved for as formulas.
LARGEST_BASE = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VelocityForm:
    """Velocities of the fibre from those of the base, (1)."""

    base: tuple[str, ...]
    fibre: tuple[str, ...]
    #: Independent directions of the curvature: how many of the combinations do not integrate.
    curvature: int
    #: Least singular value of what moves the base, relative, at the configurations looked at.
    independence: float
    #: Where velocities of the base may not tell the motion; empty where no formula says so.
    limit: str
    chart: FieldChart = field(repr=False)
    fields: tuple[Field, ...] = field(repr=False)
    traced: ca.SX = field(repr=False)

    def coefficients(self, q: Any) -> Array:
        """(fibre, base) B of (1) at a configuration."""
        function = ca.Function("B", [self.chart.kin.symbols.q], [self.traced])
        return np.array(function(np.asarray(q, dtype=float)))

    def formulas(self) -> dict[str, sp.Expr]:
        """Coordinate of the fibre → its rate as a formula in those of the base, where it is short.

        Rates are symbols called by the coordinate and a prime.
        """
        names = [s.name for s in symbols_of(self.chart)]
        places = [names.index(name) for name in (*self.base, *self.fibre)]
        columns = [formula_of(self.chart, f.components) for f in self.fields]
        if any(c is None or sum(x.count_ops() for x in c) > SHOWN for c in columns):
            return {}
        F = sp.Matrix(columns).T[places, :]
        m = len(self.base)
        top = F[:m, :]
        if m > LARGEST_BASE or sum(x.count_ops() for x in top) > SHOWN:
            return {}
        lifts = F[m:, :] * top.inv(method="ADJ")
        given = np.array([np.ravel(x) for x in self.chart.evaluate(self.traced)])
        given = given.reshape(len(given), len(self.fibre), m)
        found = {}
        for k, name in enumerate(self.fibre):
            if sum(x.count_ops() for x in lifts[k, :]) > 2 * SHOWN:
                continue
            row = [tidied(sp.together(x)) for x in lifts[k, :]]
            ours = evaluated(self.chart, symbols_of(self.chart), row)
            if np.max(np.abs(ours - given[:, k])) > AGREES * max(1.0, np.max(np.abs(given[:, k]))):
                continue
            rates = [sp.Symbol(f"{b}'", real=True) for b in self.base]
            found[name] = sum((x * b for x, b in zip(row, rates, strict=True)), sp.Integer(0))
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "base": list(self.base),
            "fibre": list(self.fibre),
            "curvature": self.curvature,
            "independence": self.independence,
            "limit": self.limit,
        }

    def text(self) -> str:
        """Base, fibre and how much of it is curved."""
        return (
            f"velocities of {', '.join(self.fibre) or 'nothing'} follow from those of "
            f"{', '.join(self.base)}; {counted(self.curvature, 'direction')} of curvature"
            + f"; {self.limit}"
            * bool(self.limit)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Multiplier:
    """Chaplygin's multiplier f: whether the reduced motion is Hamiltonian in the time dτ = f dt."""

    #: ``yes``, ``no`` or ``undecided``.
    answer: str
    #: f as a formula, where one was found; ``constant`` where it is.
    formula: str
    reason: str
    #: Largest violation of what was tested, relative.
    residual: float
    form: ca.Function | None = field(repr=False, default=None)

    def text(self) -> str:
        """The answer, the formula and why."""
        formula = f", f = {self.formula}" if self.formula else ""
        return f"{self.answer}{formula}: {self.reason}"

    def ratio(self, first: Any, second: Any) -> float:
        """f at a configuration over f at another one, along the straight line between them.

        Raises
        ------
        FormulationError : if there is no multiplier.
        """
        if self.form is None:
            raise FormulationError(
                f"there is no multiplier: {self.reason}",
                "Multiplier.ratio",
                "ask where the answer is yes",
            )
        nodes, weights = np.polynomial.legendre.leggauss(32)
        begin = np.asarray(second, dtype=float)
        along = np.asarray(first, dtype=float) - begin
        slopes = [
            float(np.array(self.form(begin + (x + 1) / 2 * along)).ravel() @ along) for x in nodes
        ]
        return float(np.exp(weights @ slopes / 2))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChaplyginReduction:
    """The constraints as a connection over the shape."""

    #: Symmetries of the group.
    group: tuple[str, ...]
    #: Coordinates that none of them moves.
    shape: tuple[str, ...]
    #: Degrees of freedom of the shape.
    freedom: int
    #: Least singular value of motions and symmetries together, relative: zero where they meet.
    independence: float
    #: Where they may meet; empty where no formula says so.
    limit: str
    #: Dimension of the curvature: directions of the group in which loops of the shape move it.
    curvature: int
    #: The connection solved for coordinates, where the shape has as many as freedoms.
    connection: VelocityForm | None
    multiplier: Multiplier

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "group": list(self.group),
            "shape": list(self.shape),
            "freedom": self.freedom,
            "curvature": self.curvature,
            "independence": self.independence,
            "limit": self.limit,
            "connection": self.connection.to_json() if self.connection else None,
            "multiplier": {
                "answer": self.multiplier.answer,
                "formula": self.multiplier.formula,
                "reason": self.multiplier.reason,
                "residual": self.multiplier.residual,
            },
        }

    def text(self) -> str:
        """Shape, group and curvature."""
        return (
            f"yes: shape {', '.join(self.shape) or 'none'} with "
            f"{counted(self.freedom, 'freedom')}, group of {', '.join(self.group)}, curvature of "
            f"{counted(self.curvature, 'dimension')}, least singular value "
            f"{self.independence:.1e} of the largest" + f"; {self.limit}" * bool(self.limit)
        )


# Voronets


def velocity_form(frame: FieldFrame, base: Sequence[int] | None = None) -> VelocityForm | None:
    """(1) in the coordinates that carry the motions best; None if no coordinates do."""
    chart, fields = frame.chart, frame.generators
    m = len(fields)
    values = chart.values(fields)
    quaternions = {k + j for k in chart.kin.probe.quaternions for j in range(4)}
    usable = [k for k, place in enumerate(chart.kept) if place not in quaternions]
    chosen = _carriers(values, usable, m) if base is None else list(base)
    if len(chosen) < m:
        return None
    independence = min(_independence(x[chosen], x) for x in values)
    if not independence > APART:
        return None
    F = ca.horzcat(*[f.components for f in fields])
    lifts = ca.densify(ca.solve(F[chosen, :].T, F.T).T)
    fibre = [k for k in usable if k not in chosen]
    names = [chart.kin.coordinates[k].name for k in chart.kept]
    h = [Field(names[b], lifts[:, k]) for k, b in enumerate(chosen)]
    curved = [chart.bracket(a, b) for a, b in itertools.combinations(h, 2)]
    return VelocityForm(
        base=tuple(names[k] for k in chosen),
        fibre=tuple(names[k] for k in fibre),
        curvature=_rank(chart, curved),
        independence=independence,
        limit=limit_of(chart, F[chosen, :]),
        chart=chart,
        fields=tuple(fields),
        traced=ca.densify(ca.simplify(lifts[fibre, :])),
    )


def _carriers(values: Sequence[Array], usable: Sequence[int], m: int) -> list[int]:
    """Coordinates whose rates are independent everywhere, the most independent one each time."""
    rest = [x.copy() for x in values]
    chosen: list[int] = []
    while usable and len(chosen) < m:
        sizes = [
            min(
                float(np.linalg.norm(r[k]) / np.linalg.norm(x))
                for r, x in zip(rest, values, strict=True)
            )
            for k in usable
        ]
        best = int(np.argmax(np.round(sizes, 12)))
        if not sizes[best] > APART:
            return chosen
        chosen.append(usable[best])
        for r in rest:
            direction = r[usable[best]] / np.linalg.norm(r[usable[best]])
            r -= np.outer(r @ direction, direction)
    return sorted(chosen)


def _independence(part: Array, whole: Array) -> float:
    """Least singular value of some rows over the largest of all, with columns of unit length."""
    lengths = np.maximum(np.linalg.norm(whole, axis=0), 1e-300)
    inner = np.linalg.svd(part / lengths, compute_uv=False)
    outer = np.linalg.svd(whole / lengths, compute_uv=False)
    return float(inner[-1] / outer[0]) if inner.size else 0.0


def _rank(chart: FieldChart, fields: Sequence[Field]) -> int:
    if not fields:
        return 0
    values = chart.values(fields)
    if max(float(np.max(np.abs(x))) for x in values) <= VANISHES:
        return 0
    return max(rank_of(x).value for x in values)


# Chaplygin


def chaplygin_reduction(
    equations: Equations,
    frame: FieldFrame,
    names: Sequence[str],
    fields: Sequence[Field],
    dimension: int,
    forced: Mapping[str, str],
) -> ChaplyginReduction | None:
    """The group of symmetries that best shares the configurations with the motions."""
    chart, m = frame.chart, len(frame.generators)
    size = dimension - m
    if size < 1 or size > len(fields):
        return None
    spans = chart.values(frame.generators)
    moved = chart.values(fields)
    brackets = {
        pair: chart.values([chart.bracket(fields[pair[0]], fields[pair[1]])])
        for pair in itertools.combinations(range(len(fields)), 2)
    }
    best, apart, chosen = -1.0, 0.0, None
    for group in itertools.islice(itertools.combinations(range(len(fields)), size), GROUPS):
        independent, steadiness = independence_of(
            [np.hstack([s, x[:, list(group)]]) for s, x in zip(spans, moved, strict=True)]
        )
        # as far from the motions everywhere, before one that meets them somewhere
        if independent > APART and steadiness > best and _is_closed(group, moved, brackets):
            best, apart, chosen = steadiness, independent, group
    if chosen is None:
        return None
    own = [fields[k] for k in chosen]
    called = [names[k] for k in chosen]
    against = next((forced[name] for name in called if name in forced), "")
    return _reduced(equations, frame, called, own, apart, against)


def independence_of(samples: Sequence[Array]) -> tuple[float, float]:
    """How far columns are from meeting, and how much that is the same at all configurations.

    The first is the least singular value over the largest, for columns of unit length; the second
    the least volume that they span over the largest, to a digit.
    """
    ratios, volumes = [], []
    for columns in samples:
        scaled = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        singular = np.linalg.svd(scaled, compute_uv=False)
        ratios.append(float(singular[-1] / singular[0]))
        volumes.append(float(np.prod(np.linalg.svd(columns, compute_uv=False))))
    return min(ratios), round(min(volumes) / max(max(volumes), 1e-300), 1)


def _is_closed(
    group: Sequence[int], moved: Sequence[Array], brackets: dict[tuple[int, int], list[Array]]
) -> bool:
    """Whether brackets within the group are combinations of it, the same ones everywhere."""
    for pair in itertools.combinations(group, 2):
        shares = []
        for x, value in zip(moved, brackets[pair], strict=True):
            share = np.linalg.lstsq(x[:, list(group)], value[:, 0], rcond=None)[0]
            rest = x[:, list(group)] @ share - value[:, 0]
            if np.max(np.abs(rest)) > AGREES * max(1.0, float(np.max(np.abs(value)))):
                return False
            shares.append(share)
        if np.max(np.abs(np.array(shares) - shares[0])) > AGREES * max(1.0, np.max(np.abs(shares))):
            return False
    return True


def _reduced(
    equations: Equations,
    frame: FieldFrame,
    names: Sequence[str],
    group: Sequence[Field],
    independence: float,
    against: str,
) -> ChaplyginReduction:
    chart = frame.chart
    unmoved = np.ones(len(chart.kept), dtype=bool)
    for values in chart.values(group):
        unmoved &= np.max(np.abs(values), axis=1) <= VANISHES
    shape = [int(k) for k in np.flatnonzero(unmoved)]
    m = len(frame.generators)
    projection = _Projections(equations, frame, group)
    brackets = [chart.bracket(X, Y) for X, Y in itertools.combinations(frame.generators, 2)]
    vertical = [projection.vertical(b) for b in brackets]
    return ChaplyginReduction(
        group=tuple(names),
        shape=tuple(chart.kin.coordinates[chart.kept[k]].name for k in shape),
        freedom=m,
        independence=independence,
        limit=limit_of(chart, ca.horzcat(*[X.components for X in (*frame.generators, *group)])),
        curvature=_rank(chart, vertical),
        connection=velocity_form(frame, shape) if len(shape) == m else None,
        multiplier=_multiplier(projection, frame, brackets, against),
    )


class _Projections:
    """Components of rates in the frame: along symmetries, and by the kinetic energy."""

    def __init__(self, equations: Equations, frame: FieldFrame, group: Sequence[Field]) -> None:
        chart, kin = frame.chart, equations.kinematics
        self.equations, self.frame, self.group = equations, frame, group
        N = chart.numeric(ca.densify(kin.N))
        self.back, _ = symmetric_solve(ca.mtimes(N.T, N), N.T)
        columns = ca.horzcat(*[f.components for f in (*frame.generators, *group)])
        W = ca.mtimes(self.back, columns)
        self.shares, _ = symmetric_solve(ca.mtimes(W.T, W), ca.mtimes(W.T, self.back))

    def along(self) -> ca.SX:
        """(m, nq) H: components in the frame, along the symmetries."""
        return self.shares[: len(self.frame.generators), :]

    def vertical(self, X: Field) -> Field:
        """What of a field the symmetries make."""
        of_group = ca.mtimes(self.shares[len(self.frame.generators) :, :], X.components)
        columns = ca.horzcat(*[f.components for f in self.group])
        return Field(X.name, ca.densify(ca.mtimes(columns, of_group)))

    def by_energy(self) -> ca.SX:
        """(m, nq) P: components in the frame of the motion that is nearest by kinetic energy."""
        chart, kin = self.frame.chart, self.equations.kinematics
        S = chart.numeric(ca.densify(kin.S))
        M = chart.numeric(ca.densify(mass_matrix(kin)))
        inner = ca.mtimes([S.T, M, S])
        found, _ = symmetric_solve(inner, ca.mtimes([S.T, M, self.back]))
        return found


def _multiplier(
    projection: _Projections, frame: FieldFrame, brackets: Sequence[Field], against: str
) -> Multiplier:
    """(2) and (3)."""
    chart, kin = frame.chart, projection.equations.kinematics
    fields, m = frame.generators, len(frame.generators)
    if kin.model.speed_inputs or not ca.sparsify(kin.s).is_zero():
        return _open("speeds are given, which move the mechanism by themselves")
    if against:
        return _open(against)
    if m == 1:
        return _open("with one freedom of the shape, motions are quadratures without it")
    if m > FREEDOMS:
        return _open(f"the tensor is not taken for {m} freedoms of the shape")
    H = projection.along()
    difference = projection.by_energy() - H
    pairs = list(itertools.combinations(range(m), 2))
    tensor = {
        pair: ca.mtimes(difference, b.components) for pair, b in zip(pairs, brackets, strict=True)
    }
    tensor |= {(j, i): -t for (i, j), t in tensor.items()}
    theta = [sum((tensor[i, k][k] for k in range(m) if k != i), ca.SX(0)) for i in range(m)]
    row = ca.horzcat(*theta)
    curls = [
        chart.derivative(fields[i], theta[j])
        - chart.derivative(fields[j], theta[i])
        - ca.mtimes(row, ca.mtimes(H, b.components))
        for (i, j), b in zip(pairs, brackets, strict=True)
    ]
    simple = [
        tensor[i, j] + (theta[j] * _unit(m, i) - theta[i] * _unit(m, j)) / (m - 1) for i, j in pairs
    ]
    every = chart.evaluate(ca.densify(ca.vertcat(*tensor.values(), *theta)))
    largest = max(float(np.max(np.abs(x))) for x in every)
    if largest <= VANISHES:
        return Multiplier(
            answer="yes",
            formula="constant",
            reason="the reduced motion is Hamiltonian in the time itself",
            residual=largest,
            form=ca.Function("form", [kin.symbols.q], [ca.SX.zeros(1, chart.q.numel())]),
        )
    scale = max(largest, largest**2)
    residual = _largest(chart, curls) / scale
    if residual > AGREES:
        return Multiplier(
            answer="no",
            formula="",
            reason="the reduced motion keeps no volume: the one-form is not closed "
            f"(by {residual:.1e})",
            residual=residual,
        )
    further = _largest(chart, simple) / scale
    if further > AGREES:
        return Multiplier(
            answer="undecided",
            formula="",
            reason=f"the reduced motion keeps a volume, but condition (3) fails by {further:.1e}: "
            "with more than two freedoms it suffices and is not necessary",
            residual=further,
        )
    form = ca.densify(-ca.mtimes(row, H) / (m - 1))
    written = potential_of(chart, form)
    formula = "" if written is None else printed(exponential_of(written))
    return Multiplier(
        answer="yes",
        formula=formula,
        reason=f"the one-form of its logarithm is closed to {max(residual, further):.1e}",
        residual=max(residual, further),
        form=ca.Function("form", [kin.symbols.q], [form]),
    )


def _open(reason: str) -> Multiplier:
    return Multiplier(answer="undecided", formula="", reason=reason, residual=0.0)


def _unit(m: int, k: int) -> ca.SX:
    found = ca.SX.zeros(m)
    found[k] = 1
    return found


def _largest(chart: FieldChart, values: Sequence[ca.SX]) -> float:
    found = chart.evaluate(ca.densify(ca.vertcat(*values)))
    return max(float(np.max(np.abs(x), initial=0.0)) for x in found)
