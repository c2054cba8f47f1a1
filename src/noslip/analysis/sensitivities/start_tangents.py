"""How a completed start changes with what it was completed from.

A start gives some coordinates and speeds; the rest follows. With a prime for the derivative by one
variable, positions and speeds follow from what the completion solves (see `simulation/start.py`):

    (1)  q' = q'_given + N δ      A_h δ = −g',   N_fixed δ = 0,   |δ| least

g' is the change of the holonomic rows along q'_given and p', A_h their rows of A. The completed
speeds have least independent ones under all that is asked of them, C v = d:

    (2)  C v' = d' − C'v
    (3)  Zᵀ [EᵀE v' + Eᵀ(E'v) + E'ᵀη + C'ᵀλ] = 0      C Z = 0,   Cᵀλ = −Eᵀη

(3) is the derivative of Eᵀη + Cᵀλ = 0. Then η' = E v' + E'v. No difference is taken.

Where what is given leaves coordinates open, see `start_open.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from noslip.analysis.sensitivities.start_open import Complete, check_determined, is_open
from noslip.analysis.sensitivities.start_place import Change, Place
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.basis import row_parameters
from noslip.simulation.start import Start

#: A row may be missed by this share of the tangents.
_MISSED = 1e-7


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
    place = Place(system=system, given=given, start=start, w=speed_inputs, params=params)
    columns = np.zeros((start.q.size + start.eta.size + start.mu.size, len(changes)))
    matter = [k for k, change in enumerate(changes) if _matters(system, change)]
    for k in matter:
        change = changes[k]
        q = _positions(place, change)
        mu = [change.given.get(name, 0.0) for name in place.layout.costates]
        columns[:, k] = np.concatenate([q, _speeds(place, change, q), mu])
    if matter and is_open(place):
        moving = [(changes[k], columns[: start.q.size, k]) for k in matter]
        check_determined(place, moving, complete)
    return columns


def _matters(system: System, change: Change) -> bool:
    """Whether a change reaches the start at all: masses, mostly, do not."""
    known = system.kept("parameters of rows", lambda: row_parameters(system))
    is_reached = bool(change.given) or bool(np.any(change.params[known]))
    return is_reached or bool(system.model.speed_inputs)


def _positions(place: Place, change: Change) -> Array:
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


def _speeds(place: Place, change: Change, q: Array) -> Array:
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


def _least_speeds(place: Place, change: Change, right: Array, pushed: Array) -> Array:
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
    place = Place(system=system, given={}, start=start, w=speed_inputs, params=params)
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
