"""All constraint rows of a model: contacts, loops, prescribed motions, speed inputs, general.

Every row is given at the velocity level, r(q, v, t, w) = A v + a = 0, linear in v. Holonomic rows
also keep their position form g(q, t) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from noslip.algebra import EYE3, rotation_from_angles, turn_vector, vector
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.symbols import Reader, Symbols
from noslip.kinematics.tree import Node, Tree, frame_pose
from noslip.model import NORMAL, SPIN, Joint, Model

#: Origin of rows that find the closest points of a contact; they have no forces.
CLOSEST = "closest points"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTrace:
    """One constraint row.

    Parameters
    ----------
    name : ``contact.lateral``, ``loop.shift_x``, ``joint.angle``, the input's or the row's name.
    origin : what it comes from: ``rolling``, ``closest points``, ``knife edge``, ``loop``,
        ``motion``, ``speed input``, ``row``.
    velocity : r(q, v, t, w), kept at zero.
    position : g(q, t), kept at zero; None for a nonholonomic row.
    unit : of the velocity form; ``m/s`` or ``rad/s``. The multiplier is in N or N·m accordingly.
    """

    name: str
    origin: str
    velocity: ca.SX
    position: ca.SX | None
    unit: str

    @property
    def is_holonomic(self) -> bool:
        """Whether the row has a position form."""
        return self.position is not None

    @property
    def multiplier_unit(self) -> str:
        """Unit of the row's multiplier: power over the unit of the row."""
        return {"m/s": "N", "rad/s": "N*m"}.get(self.unit, f"W/({self.unit})")


def trace_rows(
    model: Model,
    tree: Tree,
    symbols: Symbols,
    N: ca.SX,
    contacts: tuple[ContactTrace, ...],
    reader: Reader,
    speed_index: dict[str, int],
) -> list[RowTrace]:
    """All rows, in the order contacts, loops, prescribed motions, speed inputs, general rows."""

    def holonomic(name: str, origin: str, g: ca.SX, unit: str) -> RowTrace:
        # ġ = (∂g/∂q) N v + ∂g/∂t
        rate = ca.jtimes(
            g, ca.vertcat(symbols.q, symbols.t), ca.vertcat(ca.mtimes(N, symbols.v), ca.SX(1))
        )
        return RowTrace(name=name, origin=origin, velocity=rate, position=g, unit=unit)

    rows: list[RowTrace] = []
    for trace in contacts:
        rows += _contact_rows(trace)
        for name, unit, g in trace.closest:
            rows.append(holonomic(f"{trace.contact.name}.{name}", CLOSEST, g, f"{unit}/s"))
    for joint in tree.loops:
        for name, unit, g in _loop_rows(joint, tree, reader):
            rows.append(holonomic(f"{joint.name}.{name}", "loop", g, f"{unit}/s"))
    for node in tree.nodes:
        for name, unit, g in _motion_rows(node, symbols.q, reader):
            rows.append(holonomic(f"{node.joint.name}.{name}", "motion", g, f"{unit}/s"))
    for k, speed_input in enumerate(model.speed_inputs):
        index = speed_index[speed_input.speed]
        unit = _speed_unit(tree, index)
        rows.append(
            RowTrace(
                name=speed_input.name,
                origin="speed input",
                velocity=symbols.v[index] - symbols.w[k],
                position=None,
                unit=unit,
            )
        )
    for row in model.rows:
        expression = reader.scalar(row.expression)
        if row.is_holonomic:
            rows.append(holonomic(row.name, "row", expression, f"{row.unit}/s"))
        else:
            rows.append(
                RowTrace(
                    name=row.name, origin="row", velocity=expression, position=None, unit=row.unit
                )
            )
    return rows


def _contact_rows(trace: ContactTrace) -> list[RowTrace]:
    contact = trace.contact
    return [
        RowTrace(
            name=f"{contact.name}.{name}",
            origin=contact.origin,
            velocity=trace.turning if name == SPIN else trace.slip[name],
            position=trace.height if name == NORMAL else None,
            unit="rad/s" if name == SPIN else "m/s",
        )
        for name in contact.directions()
    ]


class LoopPose(NamedTuple):
    """Pose of M in F of a joint that closes a loop, and of M in the world."""

    R_FM: ca.SX
    p_FM: ca.SX
    R_WM: ca.SX
    p_WM: ca.SX


def loop_pose(joint: Joint, tree: Tree, reader: Reader) -> LoopPose:
    """Poses of the two frames of a joint that closes a loop."""
    R_PF, p_PF = frame_pose(joint.parent_frame, reader)
    R_BM, p_BM = frame_pose(joint.child_frame, reader)
    R_WP, p_WP = _body_pose(tree, joint.parent)
    R_WB, p_WB = _body_pose(tree, joint.child)
    R_WF, p_WF = ca.mtimes(R_WP, R_PF), p_WP + ca.mtimes(R_WP, p_PF)
    R_WM, p_WM = ca.mtimes(R_WB, R_BM), p_WB + ca.mtimes(R_WB, p_BM)
    return LoopPose(ca.mtimes(R_WF.T, R_WM), ca.mtimes(R_WF.T, p_WM - p_WF), R_WM, p_WM)


def _loop_rows(joint: Joint, tree: Tree, reader: Reader) -> list[tuple[str, str, ca.SX]]:
    """Rows g(q) of a joint that closes a loop, from the pose of M in F."""
    pose = loop_pose(joint, tree, reader)
    return joint.type.closure(pose.R_FM, pose.p_FM, reader)


def _motion_rows(node: Node, q: ca.SX, reader: Reader) -> list[tuple[str, str, ca.SX]]:
    """Rows g(q, t) of prescribed coordinates, and of a prescribed orientation."""
    joint = node.joint
    if not joint.motion:
        return []
    motion = {name: reader.scalar(text) for name, text in joint.motion.items()}
    rows = []
    for k, coordinate in enumerate(joint.type.coordinates):
        if coordinate.name in motion:
            at = node.coordinates.start + k
            rows.append((coordinate.name, coordinate.unit, q[at] - motion[coordinate.name]))
    angles = joint.type.named_angles()
    if angles is not None and all(name in motion for name in angles.names):
        prescribed = rotation_from_angles(
            vector([motion[name] for name in angles.names]), angles.sequence
        )
        R_FM, _ = joint.type.pose(q[node.coordinates], reader)
        turn = turn_vector(ca.mtimes(prescribed.T, R_FM))
        rows += [(f"turn_{k}", "rad", e) for k, e in zip("xyz", ca.vertsplit(turn), strict=True)]
    return rows


def _body_pose(tree: Tree, body: str) -> tuple[ca.SX, ca.SX]:
    k = tree.index(body)
    if k < 0:
        return EYE3, vector([0, 0, 0])
    return tree.nodes[k].R_WB, tree.nodes[k].p_WB


def _speed_unit(tree: Tree, index: int) -> str:
    for node in tree.nodes:
        if node.speeds.start <= index < node.speeds.stop:
            return node.joint.type.speeds[index - node.speeds.start].unit
    raise IndexError(index)
