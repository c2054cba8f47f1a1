"""The papers' own matrices on stacked twists: couplings A, mass M, spin W, complement T.

In world axes, all bodies in the tree's order, twists [ω; ċ] at the mass centers, angular part
first:

    A V = 0        M V̇ = −W M V + w        V = T η

Each joint gives six rows and each rolling contact three, whether independent or not
[SahaAngeles1991, eqs. 11, 22, 24]; a knife edge gives its one row. The rows of a joint: the
relative twist of the child against the parent, at the joint's point, projected across what the
joint allows. For a revolute joint that is

    e × (ω_j − ω_i) = 0,   ċ_j − ċ_i + ω_j × (o − c_j) − ω_i × (o − c_i) = 0                 [eqs.
    20–22]

with o the joint's point. For a rolling contact at the point q, [eqs. 23–25] with C_j = (c_j − q) ×
1 (the print has C_j = (c_i − q) × 1):

    −(ċ_i + (c_i − q) × ω_i) + (ċ_j + (c_j − q) × ω_j) = 0

Moving constraints and speed inputs are not homogeneous in the twists and have no place in these
matrices.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.formulations.complement import unit_speed_twists
from noslip.kinematics.kinematics import Kinematics
from noslip.kinematics.tree import frame_pose
from noslip.model.contacts import LATERAL, LONGITUDINAL
from noslip.model.joints import Joint
from noslip.spatial import EYE3, skew


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StackedMatrices:
    """A, M, W and T of the stacked bodies, traced.

    Parameters
    ----------
    bodies : their order in the stack.
    couplings : what each row of A belongs to, such as ``joint wheel1`` or ``contact wheel1``.
    A : (6γ + 3ν, 6p).
    M, W : (6p, 6p).
    T : (6p, nf).
    """

    bodies: tuple[str, ...]
    couplings: tuple[str, ...]
    A: ca.SX
    M: ca.SX
    W: ca.SX
    T: ca.SX


def stacked_matrices(kin: Kinematics) -> StackedMatrices:
    """The papers' matrices of a model, at q and η.

    Parameters
    ----------
    kin : traced kinematics.
    """
    nodes = kin.tree.nodes
    columns = []
    for column in unit_speed_twists(kin, kin.tree):
        parts = []
        for node, (w, v) in zip(nodes, column, strict=True):
            parts += [ca.mtimes(node.R_WD, w), ca.mtimes(node.R_WD, v)]
        columns.append(ca.vertcat(*parts))
    masses, spins = [], []
    for node, (w, _) in zip(nodes, kin.twists, strict=True):
        inertia = ca.mtimes(node.R_WD, ca.mtimes(node.inertia_D, node.R_WD.T))
        masses += [inertia, node.mass * EYE3]
        spins += [skew(ca.mtimes(node.R_WD, w)), ca.SX(3, 3)]
    rows, names = _couplings(kin)
    return StackedMatrices(
        bodies=tuple(node.body.name for node in nodes),
        couplings=tuple(names),
        A=ca.vertcat(*rows) if rows else ca.SX(0, 6 * len(nodes)),
        M=ca.diagcat(*masses),
        W=ca.diagcat(*spins),
        T=ca.horzcat(*columns) if columns else ca.SX(6 * len(nodes), 0),
    )


def _couplings(kin: Kinematics) -> tuple[list[ca.SX], list[str]]:
    rows, names = [], []
    joints = [(node.joint, _joint_rows(kin, node.joint)) for node in kin.tree.nodes]
    joints += [(joint, _joint_rows(kin, joint)) for joint in kin.tree.loops]
    for joint, block in joints:
        if block is not None:
            rows.append(block)
            names += [f"joint {joint.name}"] * block.shape[0]
    for trace in kin.contacts:
        contact = trace.contact
        point = kin.at_speeds(trace.point)
        across, wanted = EYE3, contact.directions()
        if not {LONGITUDINAL, LATERAL} <= set(wanted):
            # it may slip in the plane: only the rows that are on. (A height that is off is kept by
            # another part, so the papers' three rows hold for a wheel that does not slip.)
            across = kin.at_speeds(ca.horzcat(*[trace.directions[name] for name in wanted])).T
        block = ca.mtimes(across, _point_difference(kin, contact.plane.body, contact.body, point))
        rows.append(block)
        names += [f"contact {contact.name}"] * block.shape[0]
    return rows, names


def _joint_rows(kin: Kinematics, joint: Joint) -> ca.SX | None:
    """Six rows of a joint: what its relative twist may not have. None for a free joint."""
    k = kin.tree.index(joint.child)
    child = kin.tree.nodes[k]
    R_BM, p_BM = frame_pose(joint.child_frame, kin.reader)
    point = child.p_WB + ca.mtimes(child.R_WB, p_BM)
    turning = _turning_difference(kin, joint.parent, joint.child)
    moving = _point_difference(kin, joint.parent, joint.child, point)
    across = joint.type.coupling(kin.reader)
    if across is None:
        return None
    R_WM = ca.mtimes(child.R_WB, R_BM)
    to_M, to_world = ca.diagcat(R_WM.T, R_WM.T), ca.diagcat(R_WM, R_WM)
    relative = ca.mtimes(to_M, ca.vertcat(turning, moving))
    return ca.mtimes(to_world, ca.mtimes(across, relative))


def _turning_difference(kin: Kinematics, first: str, second: str) -> ca.SX:
    """(3, 6p) with ω_second − ω_first = result · V."""
    return _place(kin, second, EYE3, ca.SX(3, 3)) - _place(kin, first, EYE3, ca.SX(3, 3))


def _point_difference(kin: Kinematics, first: str, second: str, point: ca.SX) -> ca.SX:
    """(3, 6p) with the velocity at `point` of `second` less that of `first`: ċ + (c − q) × ω."""
    result = ca.SX(3, 6 * len(kin.tree.nodes))
    for body, sign in ((second, 1.0), (first, -1.0)):
        k = kin.tree.index(body)
        if k >= 0:
            node = kin.tree.nodes[k]
            center = node.p_WB + ca.mtimes(node.R_WD, node.center_D)
            result = result + sign * _place(kin, body, skew(center - point), EYE3)
    return result


def _place(kin: Kinematics, body: str, angular: ca.SX, linear: ca.SX) -> ca.SX:
    """A (3, 6p) matrix that is zero but for the columns of one body."""
    k = kin.tree.index(body)
    num = len(kin.tree.nodes)
    if k < 0:
        return ca.SX(3, 6 * num)
    return ca.horzcat(ca.SX(3, 6 * k), angular, linear, ca.SX(3, 6 * (num - k - 1)))
