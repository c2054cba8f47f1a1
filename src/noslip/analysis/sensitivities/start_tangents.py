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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Place:
    """Where the completion ended, and what it had to hold."""

    system: System
    layout: Layout
    given: Mapping[str, float]
    start: Start
    w: Array
    params: Array
    rows: Rows
    turns: OrientationTangents
    function: NativeFunction

    def rates(self, q: Array, w: Array, params: Array, lam: Array, m: Array) -> _Rates:
        """Derivatives of the rows along a change."""
        start = self.start
        x = np.concatenate([start.q, start.v, lam, m, q])
        u, p = np.concatenate([self.w, w]), np.concatenate([self.params, params])
        values = self.function(start.time, x, u, p)
        sizes = (self.rows.g.size, *self.rows.A.shape, *self.rows.E.shape)
        return _Rates(*np.split(values, np.cumsum(sizes)[:-1]))


def start_tangents(
    system: System,
    given: Mapping[str, float],
    start: Start,
    *,
    speed_inputs: Array,
    params: Array,
    changes: Sequence[Change],
    complete: Callable[[Mapping[str, float], Array], Start] | None = None,
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
    place = _place(system, given, start, speed_inputs, params)
    columns = np.zeros((start.q.size + start.eta.size + start.mu.size, len(changes)))
    multipliers = _multipliers(place)
    is_open = _is_open(place)
    for k, change in enumerate(changes):
        q = _positions(place, change)
        if is_open and complete is not None:
            _check_determined(place, change, q, complete)
        eta = _speeds(place, change, q, multipliers)
        mu = [change.given.get(name, 0.0) for name in place.layout.costates]
        columns[:, k] = np.concatenate([q, eta, mu])
    return columns


def _place(
    system: System, given: Mapping[str, float], start: Start, w: Array, params: Array
) -> _Place:
    layout = layout_of(system)
    return _Place(
        system=system,
        layout=layout,
        given=given,
        start=start,
        w=w,
        params=params,
        rows=layout.rows(start.time, start.q, w, params),
        turns=OrientationTangents.at(system, layout, given, start),
        function=system.kept("start tangents", lambda: _compile(system)),
    )


def _compile(system: System) -> NativeFunction:
    """Native [g'; (A v + a)'; (Aᵀλ)'; (E v)'; (Eᵀm)'] of (t, [q; v; λ; m; q'], [w; w'], [p; p'])."""
    kin = system.kinematics
    s = kin.symbols
    rows, E = kin.velocities, ca.mtimes(kin.E, s.v)
    lam, m = ca.SX.sym("lam", rows.shape[0]), ca.SX.sym("m", E.shape[0])
    pushed = ca.jtimes(rows, s.v, lam, True) if rows.shape[0] else ca.SX(kin.num_speeds, 1)
    drawn = ca.mtimes(kin.E.T, m)
    along = [ca.SX.sym(f"{name}_", x.shape[0]) for name, x in (("q", s.q), ("w", s.w))]
    p_along = ca.SX.sym("p_", s.params.shape[0])
    values = ca.densify(ca.vertcat(kin.g, rows, pushed, E, drawn))
    rates = ca.jtimes(values, ca.vertcat(s.q, s.w, s.params), ca.vertcat(*along, p_along))
    arguments = (
        s.t,
        ca.vertcat(s.q, s.v, lam, m, along[0]),
        ca.vertcat(s.w, along[1]),
        ca.vertcat(s.params, p_along),
    )
    return compile_native([trace_program("start_tangents", arguments, ca.densify(rates))])[
        "start_tangents"
    ]


def _held_rows(place: _Place) -> Array:
    """Rows on δ: holonomic rows, fixed coordinates, given angles that others leave alone."""
    layout, rows = place.layout, place.rows
    parts = [rows.A[layout.holonomic], rows.N[place.turns.fixed], *place.turns.held_rows()]
    return np.concatenate(parts) / layout.scale


def _positions(place: _Place, change: Change) -> Array:
    """(1): q' of a change."""
    system, layout, rows = place.system, place.layout, place.rows
    nothing = np.zeros(rows.A.shape[0]), np.zeros(rows.E.shape[0])
    lifted = place.turns.given_tangent(change.given)
    g = place.rates(lifted, 0.0 * place.w, change.params, *nothing).g
    wanted = [-g, np.zeros(len(place.turns.fixed)), place.turns.held_tangents(change.given)]
    stacked, right = _held_rows(place), np.concatenate(wanted)
    step = np.linalg.lstsq(stacked, right, rcond=_RANK)[0]
    missed = np.abs(stacked @ step - right)
    size = max(1.0, float(np.abs(right).max(initial=0.0)))
    if missed.size and missed.max() > _MISSED * size:
        names = [system.kinematics.rows[k].name for k in layout.holonomic]
        worst = int(np.argmax(missed))
        row = f"row '{names[worst]}'" if worst < len(names) else "another value that is given"
        raise SimulationError(
            f"the start cannot follow '{change.name}': {row} would break",
            f"start of model '{system.model.name}'",
            "leave out a coordinate that the constraints determine, so that it can be completed",
        )
    return lifted + rows.N @ (step / layout.scale)


def _is_open(place: _Place) -> bool:
    """Whether coordinates that the rows couple are left open, and have been moved to fit."""
    moved = np.abs(place.start.q - place.turns.first_guess).max(initial=0.0)
    if moved <= 1e-12:
        return False
    stacked = _held_rows(place)
    coupled = np.any(np.abs(stacked[: len(place.layout.holonomic)]) > 1e-14, axis=0)
    if not np.any(coupled):
        return False
    singular = np.linalg.svd(stacked[:, coupled], compute_uv=False)
    rank = int((singular > _RANK * max(1.0, singular[0])).sum())
    return rank < int(coupled.sum())


def _check_determined(
    place: _Place,
    change: Change,
    q: Array,
    complete: Callable[[Mapping[str, float], Array], Start],
) -> None:
    """Refuse a start whose completion moves otherwise than (1), when what is given changes."""
    sizes = [abs(place.given[name]) for name in change.given]
    sizes += [abs(x) for x, along in zip(place.params, change.params, strict=True) if along]
    step = 1e-4 * max([1e-3, *sizes])
    ends = []
    for sign in (1.0, -1.0):
        given = {n: x + sign * step * change.given.get(n, 0.0) for n, x in place.given.items()}
        ends.append(complete(given, place.params + sign * step * change.params).q)
    found = (ends[0] - ends[1]) / (2 * step)
    if np.abs(found - q).max() <= _OPEN * max(1.0, float(np.abs(q).max())):
        return
    kin = place.system.kinematics
    open_ = [k for k in np.argsort(-np.abs(found - q)) if k not in place.turns.fixed]
    name = kin.coordinates[int(open_[0])].name
    raise SimulationError(
        f"the start leaves coordinates open that the rows couple, such as '{name}': how they "
        f"follow '{change.name}' depends on the way they are completed",
        f"start of model '{place.system.model.name}'",
        f"give it: start={{…, '{name}': {place.start.q[int(open_[0])]:.6g}}}",
    )


def _multipliers(place: _Place) -> tuple[Array, Array]:
    """C with its null space Z, and λ with Cᵀλ = −Eᵀη."""
    C = np.concatenate([place.rows.A, *(asked.row for asked in _asked_speeds(place))])
    E, eta = place.rows.E, place.start.eta
    lam = np.linalg.lstsq(C.T, -E.T @ eta, rcond=_RANK)[0] if C.size else np.zeros(len(C))
    return C, lam


class _Asked(NamedTuple):
    """Speeds that are given: a tree speed, an independent speed or rates of angles."""

    name: str
    row: Array  # on the tree speeds
    tree: int = -1
    independent: int = -1


def _asked_speeds(place: _Place) -> list[_Asked]:
    """The speeds that are given, always in the same order."""
    layout, asked = place.layout, []
    for name in place.given:
        if name in layout.speeds:
            k = layout.speeds[name]
            asked.append(_Asked(name, layout.unit[k : k + 1], tree=k))
        elif name in layout.independent_speeds:
            k = layout.independent_speeds[name]
            asked.append(_Asked(name, place.rows.E[k : k + 1], independent=k))
    return asked + [_Asked(joint, row) for joint, row in place.turns.rate_rows()]


def _speeds(place: _Place, change: Change, q: Array, solved: tuple[Array, Array]) -> Array:
    """(2) and (3): η' of a change that moves q by q'."""
    rows, asked = place.rows, _asked_speeds(place)
    C, lam = solved
    shares = np.split(lam, np.cumsum([rows.A.shape[0], *(len(a.row) for a in asked)])[:-1])
    # the multipliers of given independent speeds act through E, as η does
    m = place.start.eta.copy()
    for a, share in zip(asked, shares[1:], strict=True):
        if a.independent >= 0:
            m[a.independent] += share[0]
    rates = place.rates(q, change.speed_inputs(q), change.params, shares[0], m)
    right, pushed = [-rates.rows], rates.pushed + rates.drawn + rows.E.T @ rates.speeds
    for a, share in zip(asked, shares[1:], strict=True):
        if a.tree >= 0 or a.independent >= 0:
            along = rates.speeds[a.independent] if a.independent >= 0 else 0.0
            right.append(np.array([change.given.get(a.name, 0.0) - along]))
        else:
            wanted, push = place.turns.rate_tangent(a.name, change.given, q, share)
            right.append(wanted)
            pushed = pushed + push
    v = _least_speeds(place, change, C / place.layout.scale, np.concatenate(right), pushed)
    return rows.E @ v + rates.speeds


def _least_speeds(place: _Place, change: Change, C: Array, right: Array, pushed: Array) -> Array:
    """v' of (2) and (3); C is for speeds over the layout's scale."""
    scale = place.layout.scale
    weight = 1.0 / np.maximum(np.linalg.norm(C, axis=1), 1e-12)
    U, singular, Vt = np.linalg.svd(C * weight[:, None], full_matrices=True)
    rank = int((singular > _RANK * max(1.0, singular[0] if singular.size else 1.0)).sum())
    v = Vt[:rank].T @ ((U[:, :rank].T @ (right * weight)) / singular[:rank])
    missed = np.abs(C @ v - right) * weight
    if missed.size and missed.max() > _MISSED * max(1.0, float(np.abs(right * weight).max())):
        raise SimulationError(
            f"the speeds at the start cannot follow '{change.name}': what is given and the "
            "constraints would contradict each other",
            f"start of model '{place.system.model.name}'",
            "leave out a speed that the constraints determine, so that it can be completed",
        )
    Z = Vt[rank:].T
    if Z.shape[1]:
        EZ, E = (place.rows.E / scale) @ Z, place.rows.E / scale
        against = Z.T @ (pushed / scale + E.T @ (E @ v))
        v = v - Z @ np.linalg.solve(EZ.T @ EZ, against)
    return v / scale


def check_kept(
    system: System, start: Start, speed_inputs: Array, params: Array, changes: Sequence[Change]
) -> None:
    """Refuse a completed start that a change takes off the holonomic rows."""
    place = _place(system, {}, start, speed_inputs, params)
    nothing = np.zeros(place.rows.A.shape[0]), np.zeros(place.rows.E.shape[0])
    names = [system.kinematics.rows[k].name for k in place.layout.holonomic]
    for change in changes:
        g = place.rates(0.0 * start.q, 0.0 * speed_inputs, change.params, *nothing).g
        if g.size and np.abs(g).max() > _MISSED:
            raise SimulationError(
                f"the start is a completed one, and row '{names[int(np.argmax(np.abs(g)))]}' "
                f"breaks as '{change.name}' changes",
                f"start of model '{system.model.name}'",
                "give the start by names, so that it is completed anew",
            )
