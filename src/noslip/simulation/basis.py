"""Whether the rows and the independent speeds of a system still serve, and better ones if not.

Both were chosen for the nominal parameters at generic configurations. A run may have others.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping

import casadi as ca
import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.kinematics.basis import independent_columns, independent_rows
from noslip.simulation.runner import NativeResult


def other_basis(system: System, result: NativeResult, values: Array) -> System | None:
    """The system in the best speeds where the run stopped, or None if there are none."""
    health = system.health[result.index]
    if health.kind != "basis":
        return None
    kin = system.kinematics
    q = result.state[: len(system.coordinates)]
    probe = dataclasses.replace(kin.probe, params=values)
    chosen = independent_columns(probe, kin.kept, [(result.time, q)])
    names = tuple(kin.speeds[k].name for k in chosen)
    if names == tuple(s.name for s in kin.independent_speeds):
        return system
    A = probe.matrix(q, result.time)[0][list(kin.kept)]
    dependent = [k for k in range(kin.num_speeds) if k not in chosen]
    A = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
    if np.linalg.svd(A[:, dependent], compute_uv=False)[-1] < 1e-8:
        return None
    return system.in_speeds(names)


def check_redundant_rows(
    system: System, values: Array, changed: Mapping[str, float] | None
) -> None:
    """A row that was redundant at the nominal parameters must still be so at these."""
    kin = system.kinematics
    if not changed or not kin.redundant:
        return
    places = system.kept("parameters of rows", lambda: row_parameters(system))
    of_rows, nominal = values[places], kin.probe.params[places]
    accepted = system.kept("rows accepted", lambda: deque([nominal.tobytes()], maxlen=16))
    if of_rows.tobytes() in accepted:
        return
    probe = dataclasses.replace(kin.probe, params=values)
    samples = probe.configurations(4)
    kept = independent_rows(probe, kin.rows, samples).kept
    for redundant in kin.redundant:
        if redundant.row in kept:
            name = kin.rows[redundant.row].name
            others = ", ".join(f"'{n}'" for n in redundant.follows_from)
            raise SimulationError(
                f"row '{name}' followed from {others} with the nominal parameters, but does not "
                "with these: the mechanism has lost a degree of freedom"
                if others
                else f"row '{name}' held by itself with the nominal parameters, but does not with "
                "these: the mechanism has lost a degree of freedom",
                f"parameters of model '{system.model.name}'",
                "restore the geometry (for example wheels on one axle), or write these values into "
                "the model and derive it again",
            )
    accepted.append(of_rows.tobytes())


def row_parameters(system: System) -> list[int]:
    """Parameters that rows and independent speeds depend on; masses, mostly, are not among them."""
    kin = system.kinematics
    rows = ca.vertcat(kin.g, kin.velocities, ca.mtimes(kin.E, kin.symbols.v))
    params = kin.symbols.params
    return [k for k in range(params.shape[0]) if ca.depends_on(rows, params[k])]
