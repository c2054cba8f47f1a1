"""Check of bodies that give a single moment of inertia: they must turn about their z axis alone.

`moment` is about the z axis of the body. Turned about another one, such a body would have no
inertia at all, and its motion would be wrong without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.model.bodies import WORLD, Placement
from noslip.model.checks_expressions import value_at
from noslip.model.findings import Finding, vector_text
from noslip.model.joints import Joint, JointType
from noslip.model.model import Model
from noslip.model.vocabulary import Vocabulary
from noslip.spatial import vector

Array = NDArray[np.float64]

#: By which joints a body turns, and about which axes in its own frame.
Turns = list[tuple[str, Array]]

#: Sine of the angle below which an axis counts as parallel to z.
PARALLEL = 1e-9


def check_moment(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Bodies with a moment turn about their z axis, as far as that can be told at rest."""
    flat = [body.name for body in model.bodies if body.moment is not None]
    values = known.finite_parameters
    turns: dict[str, Turns] = {WORLD: []}
    for joint in known.topology.tree if flat else ():
        before = turns.get(joint.parent)
        found = None if before is None else _turns(joint, before, values)
        if found is not None:
            turns[joint.child] = found
    for name in flat:
        wrong = [turn for turn in turns.get(name, []) if np.hypot(*turn[1][:2]) > PARALLEL]
        if wrong:
            joint_name, axis = wrong[0]
            yield Finding(
                ("bodies", name, "moment"),
                f"body '{name}' has moment, its inertia about its own z axis alone, but joint "
                f"'{joint_name}' turns it about {vector_text(tuple(axis.round(9) + 0.0))}",
                "give inertia = [Ixx, Iyy, Izz] instead, about the axes of the body",
                True,
            )


def _turns(joint: Joint, before: Turns, values: dict[str, float]) -> Turns | None:
    """By what the child turns, in its frame, with all joints at rest; None if that is not known.

    ω_child = Rᵀ ω_parent + R_BM H v, H the angular part of the joint's motion, and
    R = R_PF R_BMᵀ since F and M coincide at rest.
    """
    R_PF, R_BM = (_rotation(f, values) for f in (joint.parent_frame, joint.child_frame))
    axis = [value_at(entry, values) for entry in getattr(joint.type, "axis", (0.0, 0.0, 1.0))]
    if R_PF is None or R_BM is None or None in axis or len(axis) != 3 or not any(axis):
        return None
    unit = np.array(axis, dtype=float) / np.max(np.abs(np.array(axis, dtype=float)))
    unit /= np.linalg.norm(unit)
    try:
        columns = _angular_motion(joint.type, tuple(unit))
    except TypeError:
        # a list where a tuple belongs is a fault of its own
        return None
    own = [(joint.name, R_BM @ column) for column in columns]
    return [(name, (R_PF @ R_BM.T).T @ axis) for name, axis in before] + own


@lru_cache(maxsize=256)
def _angular_motion(joint_type: JointType, axis: tuple[float, ...]) -> list[Array]:
    """The columns of H that turn, angular part, for a joint with this unit axis."""
    H = np.array(ca.evalf(joint_type.motion(vector(list(axis)))))[:3]
    return [column for column in H.T if column.any()]


def _rotation(frame: Placement, values: dict[str, float]) -> Array | None:
    """R₁(a₁) R₂(a₂) R₃(a₃), or None if an angle is not known."""
    R = np.eye(3)
    for letter, entry in zip(frame.sequence, frame.angles, strict=False):
        angle = value_at(entry, values)
        if angle is None or letter not in "xyz":
            return None
        i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[letter]
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        R = R @ turn
    return R
