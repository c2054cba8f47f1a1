"""How a completed start changes with what it was completed from.

A start gives some coordinates and speeds; the rest follows. With a prime for the derivative by one
variable, positions and speeds follow from what the completion solves (see `simulation/start.py`):

    (1)  q' = q'_given + N δ      A_h δ = −g',   N_fixed δ = 0,   |δ| least

g' is the change of the holonomic rows along q'_given and p', A_h their rows of A. The completed
speeds have least independent ones under all that is asked of them, C v = d:

    (2)  C v' = d' − C'v
    (3)  Zᵀ [EᵀE v' + Eᵀ(E'v) + E'ᵀη + C'ᵀλ] = 0      C Z = 0,   Cᵀλ = −Eᵀη

(3) is the derivative of Eᵀη + Cᵀλ = 0. Then η' = E v' + E'v. No difference is taken.

Where what is given leaves coordinates open that the rows couple, which configuration is found
depends on the way to it; such a start has no derivative worth the name, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.analysis.sensitivities.start_orientations import OrientationTangents
from noslip.engines.llvm import NativeFunction, compile_native
from noslip.engines.program import trace_program
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.start import Start
from noslip.simulation.start_rows import Layout, Rows, layout_of

#: A row may be missed by this share of the tangents; a completed start may differ by this from (1).
_MISSED = 1e-7
_OPEN = 1e-4
_RANK = 1e-10

Complete = Callable[[Mapping[str, float], Array], Start]


class Change(NamedTuple):
    """What one variable changes: its name, start values by name, parameters, speed inputs at q."""

    name: str
    given: dict[str, float]
    params: Array
    speed_inputs: Callable[[Array], Array]  # from q' to w'


class _Rates(NamedTuple):
    """Derivatives along (q', w', p') at constant v, λ and m."""

    g: Array
    rows: Array  # A v + a
    pushed: Array  # Aᵀλ
    speeds: Array  # E v
    drawn: Array  # Eᵀm


class _Asked(NamedTuple):
    """Speeds that are given: a tree speed, an independent speed or rates of angles."""

    name: str
    row: Array  # on the tree speeds
    tree: int = -1
    independent: int = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class _Place:
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
        return np.asarray(np.linalg.pinv(self.held_rows, rcond=_RANK))

    @cached_property
    def asked(self) -> list[_Asked]:
        """The speeds that are given, always in the same order."""
        layout, asked = self.layout, []
        for name in self.given:
            if name in layout.speeds:
                k = layout.speeds[name]
                asked.append(_Asked(name, layout.unit[k : k + 1], tree=k))
            elif name in layout.independent_speeds:
                k = layout.independent_speeds[name]
                asked.append(_Asked(name, self.rows.E[k : k + 1], independent=k))
        return asked + [_Asked(joint, row) for joint, row in self.turns.rate_rows()]

    @cached_property
    def C(self) -> Array:
        return np.concatenate([self.rows.A, *(asked.row for asked in self.asked)])

    @cached_property
    def multipliers(self) -> list[Array]:
        """λ with Cᵀλ = −Eᵀη: the share of the rows, then that of each speed asked for."""
        C, right = self.C, -self.rows.E.T @ self.start.eta
        lam = np.linalg.lstsq(C.T, right, rcond=_RANK)[0] if C.size else np.zeros(len(C))
        sizes = [self.rows.A.shape[0], *(len(asked.row) for asked in self.asked)]
        return np.split(lam, np.cumsum(sizes)[:-1])

    @cached_property
    def factors(self) -> tuple[Array, Array, Array]:
        """C/scale with rows of unit length: the lengths' inverses, its pseudoinverse, and Z."""
        C = self.C / self.layout.scale
        weight = 1.0 / np.maximum(np.linalg.norm(C, axis=1), 1e-12)
        U, singular, Vt = np.linalg.svd(C * weight[:, None], full_matrices=True)
        least = _RANK * max(1.0, float(singular[0]) if singular.size else 1.0)
        rank = int((singular > least).sum())
        return weight, (Vt[:rank].T / singular[:rank]) @ U[:, :rank].T, Vt[rank:].T

    def rates(self, q: Array, w: Array, params: Array, lam: Array, m: Array) -> _Rates:
        """Derivatives of the rows along a change."""
        start, system = self.start, self.system
        function = system.kept("start tangents", lambda: _compile(system))
        x = np.concatenate([start.q, start.v, lam, m, q])
        u, p = np.concatenate([self.w, w]), np.concatenate([self.params, params])
        values = function(start.time, x, u, p)
        sizes = (self.rows.g.size, *self.rows.A.shape, *self.rows.E.shape)
        return _Rates(*np.split(values, np.cumsum(sizes)[:-1]))

    def g_rates(self, q: Array, params: Array) -> Array:
        """g' along q' and p'."""
        nothing = np.zeros(self.rows.A.shape[0]), np.zeros(self.rows.E.shape[0])
        return self.rates(q, 0.0 * self.w, params, *nothing).g


def start_tangents(
    system: System,
    given: Mapping[str, float],
    start: Start,
    *,
    speed_inputs: Array,
    params: Array,
    changes: Sequence[Change],
    complete: Complete,
) -> Array:
    """Derivatives (nq + nf + nμ, n) of [q; η; μ] of a completed start.

    Parameters
    ----------
    system : compiled system.
    given : what the start was completed from.
    start : the completed start.
    speed_inputs, params : at the start.
    changes : what each variable changes.
    complete : completes other values and parameters in the same way.
    """
    place = _Place(system=system, given=given, start=start, w=speed_inputs, params=params)
    columns = np.zeros((start.q.size + start.eta.size + start.mu.size, len(changes)))
    matter = [k for k, change in enumerate(changes) if _matters(system, change)]
    for k in matter:
        change = changes[k]
        q = _positions(place, change)
        mu = [change.given.get(name, 0.0) for name in place.layout.costates]
        columns[:, k] = np.concatenate([q, _speeds(place, change, q), mu])
    if matter and _is_open(place):
        moving = [(changes[k], columns[: start.q.size, k]) for k in matter]
        _check_determined(place, moving, complete)
    return columns


def _matters(system: System, change: Change) -> bool:
    """Whether a change reaches the start at all: masses, mostly, do not."""
    known = system.kept("parameters of rows", lambda: _row_parameters(system))
    is_reached = bool(change.given) or bool(np.any(change.params[known]))
    return is_reached or bool(system.model.speed_inputs)


def _row_parameters(system: System) -> list[int]:
    """Parameters that rows and independent speeds depend on."""
    kin = system.kinematics
    rows = ca.vertcat(kin.g, kin.velocities, ca.mtimes(kin.E, kin.symbols.v))
    params = kin.symbols.params
    return [k for k in range(params.shape[0]) if ca.depends_on(rows, params[k])]


def _compile(system: System) -> NativeFunction:
    """Native :class:`_Rates` of (t, [q; v; λ; m; q'], [w; w'], [p; p'])."""
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


def _positions(place: _Place, change: Change) -> Array:
    """(1): q' of a change."""
    system, layout, turns = place.system, place.layout, place.turns
    lifted = turns.given_tangent(change.given)
    wanted = [-place.g_rates(lifted, change.params), np.zeros(len(turns.fixed))]
    right = np.concatenate([*wanted, turns.held_tangents(change.given)])
    step = place.held_inverse @ right
    missed = np.abs(place.held_rows @ step - right)
    if missed.size and missed.max() > _MISSED * max(1.0, float(np.abs(right).max())):
        names = [system.kinematics.rows[k].name for k in layout.holonomic]
        worst = int(np.argmax(missed))
        row = f"row '{names[worst]}'" if worst < len(names) else "another value that is given"
        raise SimulationError(
            f"the start cannot follow '{change.name}': {row} would break",
            f"start of model '{system.model.name}'",
            "leave out a coordinate that the constraints determine, so that it can be completed",
        )
    return lifted + place.rows.N @ (step / layout.scale)


def _is_open(place: _Place) -> bool:
    """Whether coordinates that the rows couple are left open, and some have been moved to fit."""
    coupled = place.system.kept("coupled coordinates", lambda: _coupled(place.system))
    moved = np.abs(place.start.q - place.turns.first_guess)[coupled]
    if moved.max(initial=0.0) <= 1e-12:
        return False
    _, singular, Vt = np.linalg.svd(place.held_rows, full_matrices=True)
    rank = int((singular > _RANK * max(1.0, singular[0])).sum())
    free = place.rows.N @ (Vt[rank:].T / place.layout.scale[:, None])
    return bool(np.abs(free[coupled]).max(initial=0.0) > 1e-9)


def _coupled(system: System) -> list[int]:
    """Coordinates that holonomic rows depend on."""
    kin = system.kinematics
    return sorted(set(ca.jacobian(kin.g, kin.symbols.q).sparsity().get_triplet()[1]))


def _check_determined(
    place: _Place, moving: Sequence[tuple[Change, Array]], complete: Complete
) -> None:
    """Refuse a start whose completion moves otherwise than (1), when what is given changes.

    All changes at once, each by its own share, are compared with a difference; one by one only if
    that fails.
    """
    if len(moving) > 1 and _follows(place, moving, complete):
        return
    for change, q in moving:
        if not _follows(place, [(change, q)], complete):
            raise _left_open(place, change)


def _follows(place: _Place, moving: Sequence[tuple[Change, Array]], complete: Complete) -> bool:
    """Whether a completion follows some changes together as (1) says."""
    given, params, q = dict.fromkeys(place.given, 0.0), 0.0 * place.params, 0.0 * place.start.q
    for k, (change, tangent) in enumerate(moving):
        sizes = [abs(place.given[name]) for name in change.given]
        sizes += [abs(x) for x, along in zip(place.params, change.params, strict=True) if along]
        size = max([1e-3, *sizes]) / (k + 1)
        params, q = params + size * change.params, q + size * tangent
        for name, along in change.given.items():
            given[name] += size * along
    step, ends = 1e-4, []
    for sign in (step, -step):
        moved = {name: x + sign * given[name] for name, x in place.given.items()}
        ends.append(complete(moved, place.params + sign * params).q)
    off = (ends[0] - ends[1]) / (2 * step) - q
    return bool(np.abs(off).max() <= _OPEN * max(1.0, float(np.abs(q).max())))


def _left_open(place: _Place, change: Change) -> SimulationError:
    """What to say of a start that leaves coordinates open."""
    _, singular, Vt = np.linalg.svd(place.held_rows, full_matrices=True)
    rank = int((singular > _RANK * max(1.0, singular[0])).sum())
    free = np.abs(place.rows.N @ (Vt[rank:].T / place.layout.scale[:, None])).max(axis=1)
    coupled = place.system.kept("coupled coordinates", lambda: _coupled(place.system))
    worst = max(coupled, key=lambda k: free[k])
    name = place.system.coordinates[worst].name
    return SimulationError(
        f"the start leaves coordinates open that the rows couple, such as '{name}': how they "
        f"follow '{change.name}' depends on the way they are completed",
        f"start of model '{place.system.model.name}'",
        f"give it: start={{…, '{name}': {place.start.q[worst]:.6g}}}",
    )


def _speeds(place: _Place, change: Change, q: Array) -> Array:
    """(2) and (3): η' of a change that moves q by q'."""
    E, shares = place.rows.E, place.multipliers
    # the multipliers of given independent speeds act through E, as η does
    m = place.start.eta.copy()
    for asked, lam in zip(place.asked, shares[1:], strict=True):
        if asked.independent >= 0:
            m[asked.independent] += lam[0]
    rates = place.rates(q, change.speed_inputs(q), change.params, shares[0], m)
    right, pushed = [-rates.rows], rates.pushed + rates.drawn + E.T @ rates.speeds
    for asked, lam in zip(place.asked, shares[1:], strict=True):
        if asked.tree >= 0 or asked.independent >= 0:
            along = rates.speeds[asked.independent] if asked.independent >= 0 else 0.0
            right.append(np.array([change.given.get(asked.name, 0.0) - along]))
        else:
            wanted, push = place.turns.rate_tangent(asked.name, change.given, q, lam)
            right.append(wanted)
            pushed = pushed + push
    return E @ _least_speeds(place, change, np.concatenate(right), pushed) + rates.speeds


def _least_speeds(place: _Place, change: Change, right: Array, pushed: Array) -> Array:
    """v' of (2) and (3)."""
    scale, (weight, inverse, Z) = place.layout.scale, place.factors
    v = inverse @ (right * weight)
    missed = np.abs((place.C / scale) @ v - right) * weight
    if missed.size and missed.max() > _MISSED * max(1.0, float(np.abs(right * weight).max())):
        raise SimulationError(
            f"the speeds at the start cannot follow '{change.name}': what is given and the "
            "constraints would contradict each other",
            f"start of model '{place.system.model.name}'",
            "leave out a speed that the constraints determine, so that it can be completed",
        )
    if Z.shape[1]:
        E = place.rows.E / scale
        EZ = E @ Z
        v = v - Z @ np.linalg.solve(EZ.T @ EZ, Z.T @ (pushed / scale + E.T @ (E @ v)))
    return v / scale


def check_kept(
    system: System, start: Start, speed_inputs: Array, params: Array, changes: Sequence[Change]
) -> None:
    """Refuse a completed start that a change takes off the holonomic rows."""
    place = _Place(system=system, given={}, start=start, w=speed_inputs, params=params)
    names = [system.kinematics.rows[k].name for k in place.layout.holonomic]
    for change in changes:
        g = place.g_rates(0.0 * start.q, change.params)
        if g.size and np.abs(g).max() > _MISSED:
            raise SimulationError(
                f"the start is a completed one, and row '{names[int(np.argmax(np.abs(g)))]}' "
                f"breaks as '{change.name}' changes",
                f"start of model '{system.model.name}'",
                "give the start by names, so that it is completed anew",
            )
