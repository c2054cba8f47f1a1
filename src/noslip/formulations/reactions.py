"""Forces and torques in every joint, from the solved motion: the constraint wrench w^N by body.

What a joint transmits is what is left of a body's motion when everything else that acts on it is
taken away, tip to base [SahaAngeles1991, step 5: w^N = M V̇ + W M V − w^W]:

    (1)  w_joint = w_inertia − w_gravity, springs, given − w_contacts, loops + Σ_children w_joint

A wrench here is the one on the child, at the joint's point on the child, in world axes; the parent
gets the opposite. It holds all that the joint transmits: its constraint forces, and along what it
lets free the forces of its motor, spring, damper or prescribed motion.

Where each force acts that a row stands for, is known of all rows but those written by hand. That of
a contact acts at its point. That of a prescribed motion or a speed input is the drive of its joint,
which works between parent and child there, as a motor does: it is part of what the joint transmits.
Gears, racks and planetary sets say where they act, and so may other rows by their `acts`. Else a
row says which speeds it ties, not on which bodies and where its force acts: a row between two gears
may stand for their teeth or for a shaft, a row on the angle of a pendulum for a motor or for a rail
in the world. Let W_j be the wrench of such a row on all bodies beyond joint j. The multiplier fixes
its power on the joint's own speeds v_j alone, whose columns of the row are A_j:

    (2)  H_jᵀ W_j = A_jᵀ λ

It acts on the bodies whose joints have speeds in the row and on bodies that carry these, so that
W_j = 0 unless one of them is beyond j. From there down to the world W_j is open, and with it (1),
but for a joint with six degrees of freedom, where (2) determines it.

A joint that closes a loop has multipliers instead: under a small turn θ and shift s of the child,
its rows g change by ∂g/∂θ θ + ∂g/∂s s, so that its moment is (∂g/∂θ)ᵀλ and its force (∂g/∂s)ᵀλ, in
the axes of the parent's joint frame. Other rows have no part in it but through λ, which needs no
points of action.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca

from noslip.algebra import EYE3, block_solve, cross, skew, vector
from noslip.formulations.tree import inertia_wrenches
from noslip.kinematics import Kinematics, Pair, TracedPlaces, accelerations, frame_pose
from noslip.model import NORMAL, SPIN, AbstractRow, Joint

if TYPE_CHECKING:
    from noslip.formulations.base import Equations

_UNKNOWN = vector([float("nan")] * 3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointWrench:
    """Wrench of a joint on its child, traced, in world axes.

    Parameters
    ----------
    joint : its name.
    point : where the wrench is taken, m.
    force, moment : N and N·m; NaN where they are not known (`unknown_wrenches`).
    """

    joint: str
    point: ca.SX
    force: ca.SX
    moment: ca.SX


def unknown_wrenches(kin: Kinematics) -> dict[str, tuple[str, ...]]:
    """Joints whose wrench depends on where rows written by hand act, with these rows; see (2)."""
    nodes = kin.tree.nodes
    found: dict[int, list[str]] = {}
    for k in _rows_by_hand(kin):
        columns = ca.sparsify(kin.A[k, :]).sparsity().get_col()
        beyond = set()
        for j, node in enumerate(nodes):
            if any(node.speeds.start <= column < node.speeds.stop for column in columns):
                while j >= 0:
                    beyond.add(j)
                    j = nodes[j].parent
        for j in beyond:
            if nodes[j].H.shape[1] < 6:
                found.setdefault(j, []).append(kin.rows[k].name)
    return {nodes[j].joint.name: tuple(found[j]) for j in sorted(found)}


def _rows_by_hand(kin: Kinematics) -> list[int]:
    """Places of the rows written by hand that push at all, but for those that say where."""
    silent = {r.row for r in kin.redundant if not r.follows_from}
    silent |= {k for k, row in _model_rows(kin) if row.name not in kin.unplaced}
    return [k for k, row in enumerate(kin.rows) if row.origin == "row" and k not in silent]


def _model_rows(kin: Kinematics) -> list[tuple[int, AbstractRow]]:
    """Rows written by hand, which come last, with their places."""
    first = len(kin.rows) - len(kin.model.rows)
    return list(enumerate(kin.model.rows, first))


def joint_wrenches(equations: Equations) -> tuple[JointWrench, ...]:
    """The wrench of every joint of the tree, then of every joint that closes a loop."""
    kin = equations.kinematics
    lam = equations.multipliers
    rates = accelerations(kin.tree, kin.twists, kin.v, equations.speed_rates)
    needed = inertia_wrenches(kin.tree, kin.twists, rates)
    outside = list(equations.forces.wrenches)
    _add_contacts(kin, lam, outside)
    places = TracedPlaces(kin.tree, kin.reader)
    for k, row in _model_rows(kin):
        if row.name not in kin.unplaced:
            for wrench in row.wrenches(places, lam[k]):
                _push(kin, outside, *wrench)
    in_loops = equations.forces.in_loops
    loops = [
        _with_forces(_loop_wrench(kin, lam, joint, outside), in_loops.get(joint.name))
        for joint in kin.tree.loops
    ]
    # (1), tip to base, about the bodies' origins in their computing axes
    carried: list[Pair] = [
        (n - n_out, f - f_out) for (n, f), (n_out, f_out) in zip(needed, outside, strict=True)
    ]
    unknown = unknown_wrenches(kin)
    by_hand = _rows_by_hand(kin)
    result: list[JointWrench] = []
    for k in reversed(range(len(kin.tree.nodes))):
        node = kin.tree.nodes[k]
        n, f = carried[k]
        if node.parent >= 0:
            n_P, f_P = carried[node.parent]
            f_here = ca.mtimes(node.R_PD, f)
            carried[node.parent] = (
                n_P + ca.mtimes(node.R_PD, n) + cross(node.p_PB, f_here),
                f_P + f_here,
            )
        _, p_BM = frame_pose(node.joint.child_frame, kin.reader)
        r = ca.mtimes(node.R_DB, p_BM)
        if node.joint.name in unknown:
            n, f = _UNKNOWN, _UNKNOWN
        elif by_hand and node.H.shape[1] == 6:
            # (2): what the rows do, the joint does not transmit
            speeds = list(range(node.speeds.start, node.speeds.stop))
            efforts = ca.mtimes(kin.A[by_hand, speeds].T, lam[by_hand, :])
            rows, _ = block_solve(node.H.T, ca.densify(efforts))
            n, f = n - rows[:3], f - rows[3:]
        result.append(
            JointWrench(
                joint=node.joint.name,
                point=node.p_WB + ca.mtimes(node.R_WD, r),
                force=ca.mtimes(node.R_WD, f),
                moment=ca.mtimes(node.R_WD, n - cross(r, f)),
            )
        )
    return (*reversed(result), *loops)


def _with_forces(wrench: JointWrench, acting: Pair | None) -> JointWrench:
    """A loop joint's wrench with what acts in it, such as a motor."""
    if acting is None:
        return wrench
    return replace(wrench, moment=wrench.moment + acting[0], force=wrench.force + acting[1])


def _add_contacts(kin: Kinematics, lam: ca.SX, outside: list[Pair]) -> None:
    """Contact forces λ along their directions, on the body and opposite on the plane's body."""
    index = {row.name: k for k, row in enumerate(kin.rows)}
    for trace in kin.contacts:
        contact = trace.contact
        force = vector([0, 0, 0])
        for part, direction in trace.directions.items():
            name = f"{contact.name}.{part}"
            if name in index and part in contact.directions():
                force += lam[index[name]] * kin.at_speeds(direction)
        moment = vector([0, 0, 0])
        if (spin := index.get(f"{contact.name}.{SPIN}")) is not None:
            moment = lam[spin] * kin.at_speeds(trace.directions[NORMAL])
        point = kin.at_speeds(trace.point)
        _push(kin, outside, contact.body, point, force, moment)
        _push(kin, outside, contact.plane.body, point, -force, -moment)


def _loop_wrench(kin: Kinematics, lam: ca.SX, joint: Joint, outside: list[Pair]) -> JointWrench:
    """Wrench of a loop joint on its child, also added to both bodies."""
    index = {row.name: k for k, row in enumerate(kin.rows)}
    R_PF, p_PF = frame_pose(joint.parent_frame, kin.reader)
    R_BM, p_BM = frame_pose(joint.child_frame, kin.reader)
    R_WP, p_WP = _pose(kin, joint.parent)
    R_WB, p_WB = _pose(kin, joint.child)
    R_WF, p_WF = ca.mtimes(R_WP, R_PF), p_WP + ca.mtimes(R_WP, p_PF)
    point = p_WB + ca.mtimes(R_WB, p_BM)
    R_FM = ca.mtimes(R_WF.T, ca.mtimes(R_WB, R_BM))
    p_FM = ca.mtimes(R_WF.T, point - p_WF)
    theta, shift = ca.SX.sym("theta", 3), ca.SX.sym("shift", 3)
    turned = ca.mtimes(EYE3 + skew(theta), R_FM)
    rows = joint.type.closure(turned, p_FM + shift, kin.reader)
    power = ca.SX(0)
    for name, _, g in rows:
        power += lam[index[f"{joint.name}.{name}"]] * g
    still = [vector([0, 0, 0])] * 2
    moment, force = (
        ca.mtimes(R_WF, ca.substitute([ca.gradient(power, x)], [theta, shift], still)[0])
        for x in (theta, shift)
    )
    _push(kin, outside, joint.child, point, force, moment)
    _push(kin, outside, joint.parent, point, -force, -moment)
    return JointWrench(joint=joint.name, point=point, force=force, moment=moment)


def _push(
    kin: Kinematics, outside: list[Pair], body: str, point: ca.SX, force: ca.SX, moment: ca.SX
) -> None:
    """Add a force at a point and a moment, all in world axes, to what acts on a body."""
    k = kin.tree.index(body)
    if k < 0:
        return
    node = kin.tree.nodes[k]
    f = ca.mtimes(node.R_WD.T, force)
    n = ca.mtimes(node.R_WD.T, moment + cross(point - node.p_WB, force))
    outside[k] = (outside[k][0] + n, outside[k][1] + f)


def _pose(kin: Kinematics, body: str) -> tuple[ca.SX, ca.SX]:
    k = kin.tree.index(body)
    if k < 0:
        return EYE3, vector([0, 0, 0])
    return kin.tree.nodes[k].R_WB, kin.tree.nodes[k].p_WB
