"""Columns of a trajectory under further names: named angles, their rates, named speeds.

The traced formulas of the same quantities are in ``named_values``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noslip.model.expressions import evaluate, parse
from noslip.model.joints import Joint

if TYPE_CHECKING:
    from noslip.simulation.trajectory import Trajectory

Array = NDArray[np.float64]
Columns = dict[str, tuple[str, Array]]


def named_columns(run: Trajectory) -> Columns:
    """Unit and (n,) values of every such name."""
    return _angles(run) | _speeds(run)


def _angles(run: Trajectory) -> Columns:
    """Named angles of spherical and free joints, without jumps, then their rates."""
    table: Columns = {}
    names = [c.name for c in run.coordinates]
    for joint in run.model.joints:
        angles = getattr(joint.type, "angles", None)
        if angles is None or f"{joint.name}.qw" not in names or not len(run.t):
            continue
        from scipy.spatial.transform import Rotation

        at = names.index(f"{joint.name}.qw")
        rotation = Rotation.from_quat(run.q[:, at : at + 4], scalar_first=True)
        values = rotation.as_euler(angles.sequence.upper(), suppress_warnings=True)
        values = np.unwrap(values, axis=0)
        rates = angle_rates(run, joint, values)
        own = [f"{joint.name}.{name}" for name in angles.names]
        table |= {name: ("rad", values[:, k]) for k, name in enumerate(own)}
        table |= {f"{name}_rate": ("rad/s", rates[:, k]) for k, name in enumerate(own)}
    return table


def angle_rates(run: Trajectory, joint: Joint, a: Array) -> Array:
    """(n, 3) rates of a joint's named angles a; NaN where the angles are singular.

    With R = R₁(a₁) R₂(a₂) R₃(a₃) and ω in the axes of the child,

        ω = R₃ᵀ R₂ᵀ e₁ ȧ₁ + R₃ᵀ e₂ ȧ₂ + e₃ ȧ₃
    """
    from scipy.spatial.transform import Rotation

    angles = joint.type.angles  # type: ignore[union-attr]
    assert angles is not None
    e = [np.eye(3)["xyz".index(letter)] for letter in angles.sequence.lower()]
    R3 = Rotation.from_rotvec(a[:, 2:] * e[2]).as_matrix()
    R2 = Rotation.from_rotvec(a[:, 1:2] * e[1]).as_matrix()
    E = np.stack(
        [
            np.einsum("nji,nkj,k->ni", R3, R2, e[0]),
            np.einsum("nji,j->ni", R3, e[1]),
            np.broadcast_to(e[2], (len(run.t), 3)),
        ],
        axis=-1,
    )
    first = [s.name for s in run.speeds].index(f"{joint.name}.wx")
    omega = run.v[:, first : first + 3]
    regular = np.abs(np.linalg.det(E)) > 1e-9
    rates = np.full_like(omega, np.nan)
    rates[regular] = np.linalg.solve(E[regular], omega[regular][..., None])[..., 0]
    return rates


def _speeds(run: Trajectory) -> Columns:
    """Independent speeds that the model names by an expression, such as a bicycle's speed."""
    named = [speed for speed in run.model.independent_speeds if speed.expression]
    if not named:
        return {}
    import casadi as ca

    values: dict[str, Any] = {**run.parameters, "t": ca.DM(run.t)}
    for quantities, table in ((run.coordinates, run.q), (run.speeds, run.v)):
        values |= {quantity.name: ca.DM(table[:, k]) for k, quantity in enumerate(quantities)}
    return {
        speed.name: (
            speed.unit,
            np.array(evaluate(parse(speed.expression), values, ca), dtype=float).ravel(),
        )
        for speed in named
    }
