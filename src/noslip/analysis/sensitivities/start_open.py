"""Starts that leave coordinates open which the rows couple: whether they can be followed.

Which configuration is found depends then on the way to it, not only on what is given. Where the
completion moves otherwise than (1) of `start_tangents.py`, there is no derivative worth the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np

from noslip.analysis.sensitivities.start_place import RANK, Change, Place
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation.start import Start

Complete = Callable[[Mapping[str, float], Array], Start]

#: A completed start may differ by this share from what (1) says; a difference knows no better.
_OPEN = 1e-4


def is_open(place: Place) -> bool:
    """Whether coordinates that the rows couple are left open, and some have been moved to fit."""
    coupled = place.system.kept("coupled coordinates", lambda: _coupled(place.system))
    moved = np.abs(place.start.q - place.turns.first_guess)[coupled]
    if moved.max(initial=0.0) <= 1e-12:
        return False
    _, singular, Vt = np.linalg.svd(place.held_rows, full_matrices=True)
    rank = int((singular > RANK * max(1.0, singular[0])).sum())
    free = place.rows.N @ (Vt[rank:].T / place.layout.scale[:, None])
    return bool(np.abs(free[coupled]).max(initial=0.0) > 1e-9)


def _coupled(system: System) -> list[int]:
    """Coordinates that holonomic rows depend on."""
    kin = system.kinematics
    return sorted(set(ca.jacobian(kin.g, kin.symbols.q).sparsity().get_triplet()[1]))


def check_determined(
    place: Place, moving: Sequence[tuple[Change, Array]], complete: Complete
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


def _follows(place: Place, moving: Sequence[tuple[Change, Array]], complete: Complete) -> bool:
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


def _left_open(place: Place, change: Change) -> SimulationError:
    """What to say of a start that leaves coordinates open."""
    _, singular, Vt = np.linalg.svd(place.held_rows, full_matrices=True)
    rank = int((singular > RANK * max(1.0, singular[0])).sum())
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
