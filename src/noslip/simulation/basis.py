"""Whether the rows of a system, chosen for the nominal parameters, still serve with others."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping

import casadi as ca

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.kinematics.basis import independent_rows


def check_redundant_rows(
    system: System, values: Array, changed: Mapping[str, float] | None
) -> None:
    """A row that was redundant at the nominal parameters must still be so at these."""
    kin = system.kinematics
    if not changed or not kin.redundant:
        return
    places = system.cached("parameters of rows", lambda: row_parameters(system))
    of_rows, nominal = values[places], kin.probe.params[places]
    accepted = system.cached("rows accepted", lambda: deque([nominal.tobytes()], maxlen=16))
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
