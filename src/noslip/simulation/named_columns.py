"""Columns of a trajectory under further names: named angles, their rates, named speeds.

The traced formulas of the same quantities are in ``named_values``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noslip.model.expressions import evaluate, parse
from noslip.simulation.later import Later, Sources, column

if TYPE_CHECKING:
    from noslip.simulation.trajectory import Trajectory

Array = NDArray[np.float64]


def named_columns(run: Trajectory) -> Sources:
    """Unit and (n,) values of every such name, or what finds them."""
    return _angles(run) | _speeds(run)


def _angles(run: Trajectory) -> Sources:
    """Named angles of spherical and free joints, without jumps, then their rates."""
    table: Sources = {}
    coordinates, speeds = ([x.name for x in xs] for xs in (run.coordinates, run.speeds))
    for joint in run.model.joints:
        angles = getattr(joint.type, "angles", None)
        if angles is None or f"{joint.name}.qw" not in coordinates or not len(run.t):
            continue
        at, first = coordinates.index(f"{joint.name}.qw"), speeds.index(f"{joint.name}.wx")
        quaternions, omega = run.q[:, at : at + 4], run.v[:, first : first + 3]
        values = Later(partial(_unwrapped, quaternions, angles.sequence))
        rates = Later(partial(_rates, values, angles.sequence, omega))
        own = [f"{joint.name}.{name}" for name in angles.names]
        table |= {name: ("rad", column(values, k)) for k, name in enumerate(own)}
        table |= {f"{name}_rate": ("rad/s", column(rates, k)) for k, name in enumerate(own)}
    return table


def _unwrapped(quaternions: Array, sequence: str) -> Array:
    """(n, 3) angles of a rotation, without jumps."""
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_quat(quaternions, scalar_first=True)
    return np.unwrap(rotation.as_euler(sequence.upper(), suppress_warnings=True), axis=0)


def _rates(angles: Later, sequence: str, omega: Array) -> Array:
    """(n, 3) rates of angles a; NaN where the angles are singular.

    With R = R₁(a₁) R₂(a₂) R₃(a₃) and ω in the axes of the child,

        ω = R₃ᵀ R₂ᵀ e₁ ȧ₁ + R₃ᵀ e₂ ȧ₂ + e₃ ȧ₃
    """
    from scipy.spatial.transform import Rotation

    a = angles()
    e = [np.eye(3)["xyz".index(letter)] for letter in sequence.lower()]
    R3 = Rotation.from_rotvec(a[:, 2:] * e[2]).as_matrix()
    R2 = Rotation.from_rotvec(a[:, 1:2] * e[1]).as_matrix()
    E = np.stack(
        [
            np.einsum("nji,nkj,k->ni", R3, R2, e[0]),
            np.einsum("nji,j->ni", R3, e[1]),
            np.broadcast_to(e[2], a.shape),
        ],
        axis=-1,
    )
    regular = np.abs(np.linalg.det(E)) > 1e-9
    rates = np.full_like(omega, np.nan)
    rates[regular] = np.linalg.solve(E[regular], omega[regular][..., None])[..., 0]
    return rates


def _speeds(run: Trajectory) -> Sources:
    """Independent speeds that the model names by an expression, such as a bicycle's speed."""
    named = [speed for speed in run.model.independent_speeds if speed.expression]
    known: dict[str, Any] = {**run.parameters, "t": run.t}
    for quantities, table in ((run.coordinates, run.q), (run.speeds, run.v)):
        known |= {quantity.name: table[:, k] for k, quantity in enumerate(quantities)}
    return {s.name: (s.unit, Later(partial(_evaluated, s.expression, known))) for s in named}


def _evaluated(expression: str, known: dict[str, Any]) -> Array:
    """(n,) values of an expression of numbers and columns."""
    import casadi as ca

    values = {name: ca.DM(value) for name, value in known.items()}
    return np.array(evaluate(parse(expression), values, ca), dtype=float).ravel()
