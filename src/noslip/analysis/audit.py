"""The no-slip audit: what friction a motion asks of the ground, and where a wheel would lift.

A rolling constraint supplies any force. Real ground supplies a tangential force F_t up to μ N, and
no pull. From the reactions along a run the audit takes the load N, the longitudinal and lateral
force and the friction demand |F_t| / N of every wheel, and compares them with the ground.

Where equilibrium leaves the split of forces between wheels open, three numbers stand side by side:
that of the least-norm split, its range over the splits that count (`audit_splits`), and the
friction coefficient below which no split whatsoever holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from noslip.analysis.audit_forces import contact_forces
from noslip.analysis.audit_result import Audit, WheelAudit
from noslip.analysis.audit_splits import (
    friction_demand,
    independent_directions,
    least_friction,
    split_ranges,
)
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.model.contacts import KnifeEdge
from noslip.numeric import is_truth
from noslip.simulation.trajectory import Trajectory


def audit(system: System, run: Trajectory, friction: float | None = None) -> Audit:
    """Loads, contact forces and friction demand of every wheel along a run.

    Parameters
    ----------
    system : the system that was simulated.
    run : the motion.
    friction : coefficient of the ground; without it there is no verdict on slip.

    Raises
    ------
    SimulationError : for a negative friction coefficient, a run of another model, or vakonomic
        equations, whose multipliers are no forces of the ground.
    """
    if friction is not None and (is_truth(friction) or not 0 <= friction < np.inf):
        raise SimulationError(
            f"the friction coefficient is {friction}",
            f"audit of model '{system.model.name}'",
            "give a number that is not negative, such as 0.6 for rubber on concrete",
        )
    if not system.equations.formulation.is_dalembert:
        raise SimulationError(
            f"{system.equations.formulation.name} equations have no forces of the ground: their "
            "multipliers are not reactions of real bodies",
            f"audit of model '{system.model.name}'",
            "simulate with derive(model), which follows d'Alembert's principle",
        )
    forces = contact_forces(system, run)
    n, c, _ = forces.least.shape
    ok = forces.is_valid
    is_wheel = np.array([not isinstance(x, KnifeEdge) for x in forces.contacts], dtype=bool)
    directions = independent_directions(forces.family)
    ranges = split_ranges(
        forces.least.reshape(n, 3 * c), directions, np.arange(3 * c) % 3 == 2
    ).reshape(n, c, 3, 2)
    demand = friction_demand(forces.least)
    demand_range = _demand_ranges(ranges)
    required = least_friction(forces.least, directions, is_wheel)

    def at_all(values: Array) -> Array:
        full = np.full((len(run.t), *values.shape[1:]), np.nan)
        full[ok] = values
        return full

    wheels = tuple(
        WheelAudit(
            name=contact.name,
            body=contact.body,
            kind="wheel" if is_wheel[k] else "blade",
            load_from=forces.load_from.get(contact.name, ""),
            longitudinal=at_all(forces.least[:, k, 0]),
            lateral=at_all(forces.least[:, k, 1]),
            normal=at_all(forces.least[:, k, 2]),
            demand=at_all(demand[:, k]),
            longitudinal_range=at_all(ranges[:, k, 0]),
            lateral_range=at_all(ranges[:, k, 1]),
            normal_range=at_all(ranges[:, k, 2]),
            demand_range=at_all(demand_range[:, k]),
        )
        for k, contact in enumerate(forces.contacts)
    )
    return Audit(
        model=system.model.name,
        t=run.t,
        friction=friction,
        wheels=wheels,
        required=at_all(required),
        unsupported=tuple(
            dataclasses.replace(u, moment=at_all(u.moment)) for u in forces.unsupported
        ),
        notes=tuple(_notes(wheels, forces.unknown, int(np.sum(~ok)))),
    )


def _demand_ranges(ranges: Array) -> Array:
    """(n, c, 2) of ranges (n, c, 3, 2): the smallest force on the largest load, and the reverse."""
    low, high = ranges[..., 0], ranges[..., 1]
    sizes = np.sort(np.abs(ranges), axis=-1)
    near = np.where((low <= 0) & (high >= 0), 0.0, sizes[..., 0])
    least = np.stack([near[..., 0], near[..., 1], high[..., 2]], axis=-1)
    largest = np.stack([sizes[..., 0, 1], sizes[..., 1, 1], low[..., 2]], axis=-1)
    return np.stack([friction_demand(least), friction_demand(largest)], axis=-1)


def _notes(wheels: tuple[WheelAudit, ...], unknown: dict[str, str], left_out: int) -> Iterator[str]:
    for why in dict.fromkeys(unknown.values()):
        names = [f"'{name}'" for name, reason in unknown.items() if reason == why]
        one = len(names) == 1
        yield (
            f"the {'load' if one else 'loads'} of {', '.join(names)} {'is' if one else 'are'} not "
            f"known: {why}"
        )
    for wheel in wheels:
        if wheel.name in unknown:
            continue
        if wheel.kind == "wheel" and not wheel.load_from:
            yield (
                f"the load of '{wheel.name}' is not known: it has no normal row and stands under "
                "no planar joint; set normal = true"
            )
    blades = [wheel.name for wheel in wheels if wheel.kind == "blade"]
    if blades and any(wheel.kind == "wheel" for wheel in wheels):
        listed = ", ".join(f"'{name}'" for name in blades)
        yield f"blades carry no load here ({listed}): the wheels carry all of it"
    if left_out:
        yield (
            f"{left_out} of the samples left out: the forces cannot be computed there in the "
            "independent speeds of the system"
        )
