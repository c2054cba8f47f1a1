"""Columns of a batch: what is kept of every trajectory, as traced expressions with names and units.

The names are those of a `Trajectory`. What a trajectory finds from all its samples together, such
as its energy error, is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca

from noslip.engines.system import System
from noslip.errors import SimulationError, nearest
from noslip.simulation.inputs import InputGenerator, read_expression
from noslip.simulation.start_rows import Orientation, layout_of

Column = tuple[str, Callable[[], ca.SX]]  # unit, and how it is traced


def default_columns(system: System) -> tuple[str, ...]:
    """All coordinates and speeds."""
    return tuple(q.name for q in (*system.coordinates, *system.speeds))


def trace_columns(
    system: System,
    names: Sequence[str],
    generator: InputGenerator | None,
    definitions: Mapping[str, str | ca.SX],
) -> tuple[dict[str, str], ca.SX]:
    """Units of the named columns, and their values as one traced column.

    Parameters
    ----------
    system : in whose symbols they are traced.
    names : what to keep.
    generator : of the inputs, whose states are columns too.
    definitions : further names, as in :func:`read_expression`.
    """
    known = _known(system, generator)
    for name in definitions:
        known.setdefault(name, ("", lambda n=name: read_expression(system, n, n, definitions)))
    values = []
    for name in names:
        if name not in known:
            raise SimulationError(
                f"there is no column '{name}'",
                f"columns of a batch of model '{system.model.name}'",
                nearest(name, list(known)),
            )
        values.append(ca.densify(ca.SX(known[name][1]())))
    units = {name: known[name][0] for name in names}
    return units, ca.vertcat(*values) if values else ca.SX(0, 1)


def angle_columns(system: System) -> tuple[str, ...]:
    """Columns that are named angles, between −π and π."""
    return tuple(name for o in layout_of(system).orientations for name in o.angle_names)


def _known(system: System, generator: InputGenerator | None) -> dict[str, Column]:
    """Every column there is."""
    kin, eq = system.kinematics, system.equations
    known: dict[str, Column] = {}
    for quantities, column in (
        (system.coordinates, lambda: kin.symbols.q),
        (system.speeds, lambda: kin.v),
        (system.inputs, lambda: eq.inputs),
    ):
        for k, q in enumerate(quantities):
            known[q.name] = (q.unit, lambda k=k, column=column: column()[k])
    for k, q in enumerate(system.speeds):
        known[f"acceleration.{q.name}"] = (f"{q.unit}^2", lambda k=k: eq.speed_rates[k])
    for o in layout_of(system).orientations:
        for k, name in enumerate(o.angle_names):
            known[name] = ("rad", lambda o=o, k=k: _angles(kin.symbols.q, o)[k])
    for trace in kin.contacts:
        for j, axis in enumerate("xyz"):
            name = f"{trace.contact.name}.contact_{axis}"
            known[name] = ("m", lambda p=trace.point, j=j: kin.at_speeds(p[j]))
    at_costates = kin.num_coordinates + kin.num_independent_speeds
    for k, q in enumerate(system.costates):
        known[q.name] = (q.unit, lambda k=at_costates + k: system.state[k])
    if generator is not None:
        for k, (name, unit) in enumerate(zip(generator.names, generator.units, strict=True)):
            known[name] = (unit, lambda k=k: generator.states[k])
    known["kinetic_energy"] = ("J", lambda: eq.kinetic_energy)
    known["potential_energy"] = ("J", lambda: eq.forces.potential_energy)
    known["work"] = ("J", lambda: system.state[-1] if system.does_work else ca.SX(0))
    for k, row in enumerate(kin.rows):
        known[f"residual.{row.name}"] = (row.unit, lambda k=k: kin.row_values[k])
        known[f"reaction.{row.name}"] = (row.multiplier_unit, lambda k=k: eq.multipliers[k])
    return known


def _angles(q: ca.SX, o: Orientation) -> list[ca.SX]:
    """Named angles of a quaternion, traced."""
    quaternion = ca.vertsplit(q[o.quaternion : o.quaternion + 4])
    return intrinsic_angles(quaternion, o.angles.sequence, ca.atan2, ca.sqrt)


def intrinsic_angles(
    quaternion: Sequence[Any], sequence: str, atan2: Callable[..., Any], sqrt: Callable[..., Any]
) -> list[Any]:
    """Intrinsic angles of unit quaternions, in any algebra.

    The formulas are those of :func:`spatial.angles_from_quaternion`.

    Parameters
    ----------
    quaternion : w, x, y and z: symbols, or an array each.
    sequence : three letters of axes.
    atan2, sqrt : of that algebra.
    """
    w, *u = quaternion
    i, j, k = ("xyz".index(letter) for letter in sequence)
    m = 3 - i - j
    e = 1.0 if (j - i) % 3 == 1 else -1.0

    def R(row: int, column: int) -> Any:
        if row == column:
            return w * w + 2 * u[row] * u[row] - (u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        sign = -1.0 if (column - row) % 3 == 1 else 1.0
        return 2 * (u[row] * u[column] + sign * w * u[3 - row - column])

    if i == k:
        middle = atan2(sqrt(R(i, j) ** 2 + R(i, m) ** 2), R(i, i))
        return [atan2(R(j, i), -e * R(m, i)), middle, atan2(R(i, j), e * R(i, m))]
    middle = atan2(e * R(i, k), sqrt(R(i, i) ** 2 + R(i, j) ** 2))
    return [atan2(-e * R(j, k), R(k, k)), middle, atan2(-e * R(i, j), R(i, i))]
