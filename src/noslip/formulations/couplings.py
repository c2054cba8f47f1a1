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

A vehicle with actuated and unactuated joints, θ̇_a and θ̇_u, has [SahaAngeles1989, eqs. 24–27]

    (1)  V = T_a θ̇_a + T_u θ̇_u,     J_a θ̇_a + J_u θ̇_u = 0,     T = T_a − T_u J_u⁻¹ J_a

The rows without θ̇_u carry the base by θ̇_a alone; the others are J. Those of a rolling contact are
its slip along the axes of the base, as in print, and not along the wheel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from noslip.algebra import EYE3, block_solve, skew
from noslip.base import FormulationError, nearest
from noslip.formulations.base import Equations, MethodObject
from noslip.formulations.tree import at_mass_centers, unit_speed_twists
from noslip.kinematics import Kinematics, Pair, frame_pose, twists
from noslip.model import (
    DISSIPATIVE,
    GIVEN,
    GRAVITY,
    LATERAL,
    LONGITUDINAL,
    SPIN,
    SPRING,
    WORLD,
    Joint,
)


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
    columns = [_in_world(kin, column) for column in unit_speed_twists(kin, kin.tree)]
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


def _in_world(kin: Kinematics, motion: list[Pair]) -> ca.SX:
    """Twists at the mass centers, stacked in world axes."""
    parts = []
    for node, (w, v) in zip(kin.tree.nodes, motion, strict=True):
        parts += [ca.mtimes(node.R_WD, w), ca.mtimes(node.R_WD, v)]
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)


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
        across, wanted = EYE3, [name for name in contact.directions() if name != SPIN]
        if not wanted:
            continue
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActuatedSplit:
    """T_a, T_u, J_a and J_u of (1), in world axes, with the names of both kinds of speeds."""

    actuated: tuple[str, ...]
    unactuated: tuple[str, ...]
    closures: tuple[str, ...]
    T_a: ca.SX
    T_u: ca.SX
    J_a: ca.SX
    J_u: ca.SX


def actuated_split(equations: Equations, actuated: Sequence[str] = ()) -> ActuatedSplit | None:
    """The matrices of (1); None where the actuated speeds do not carry the base.

    Parameters
    ----------
    equations : by any formulation.
    actuated : speeds θ̇_a; those that an input drives alone, by default.

    Raises
    ------
    FormulationError : if there is no such speed, or those given do not determine the motion.
    """
    kin = equations.kinematics
    names = [s.name for s in kin.speeds]
    for name in actuated:
        if name not in names:
            raise FormulationError(
                f"there is no speed '{name}'",
                f"actuated joints of model '{kin.model.name}'",
                nearest(name, names),
            )
    driven = [names.index(n) for n in actuated] or _driven(equations)
    single = [n.speeds.start for n in kin.tree.nodes if n.H.shape[1] == 1]
    # from the ground inwards: a wheel before what carries it
    passive = [k for k in reversed(single) if k not in driven]
    base = [k for k in range(len(names)) if k not in driven and k not in passive]
    A = kin.A
    carrying = [k for k in kin.row_basis if not _depends(A[k, passive])]
    closing = [k for k in kin.row_basis if k not in carrying]
    is_split = len(carrying) == len(base) and len(closing) == len(passive) and len(driven) > 0
    is_split = is_split and ca.sprank(ca.sparsify(A[carrying, base])) == len(base)
    if not is_split or _depends(kin.a) or kin.model.speed_inputs:
        if not actuated:
            return None
        raise FormulationError(
            f"{', '.join(actuated)} do not determine the motion of the base and of the other "
            f"joints ({', '.join(names[k] for k in passive) or 'none'}) by constraints at rest",
            f"actuated joints of model '{kin.model.name}'",
            "name as many as there are degrees of freedom, those that a motor could drive",
        )
    num_a, num_u = len(driven), len(passive)
    carried, _ = block_solve(ca.densify(A[carrying, base]), ca.densify(-A[carrying, driven]))
    rows, labels = _closures(kin, closing)
    by_actuated = _speeds(kin, [(base, carried), (driven, ca.SX.eye(num_a))], num_a)
    by_passive = _speeds(kin, [(passive, ca.SX.eye(num_u))], num_u)
    return ActuatedSplit(
        actuated=tuple(names[k] for k in driven),
        unactuated=tuple(names[k] for k in passive),
        closures=labels,
        T_a=_twist_columns(kin, by_actuated),
        T_u=_twist_columns(kin, by_passive),
        J_a=ca.mtimes(rows, by_actuated),
        J_u=ca.mtimes(rows, by_passive),
    )


def _depends(expression: ca.SX) -> bool:
    """Whether any entry is more than a zero."""
    return any(not e.is_zero() for e in ca.vertsplit(ca.vec(ca.densify(expression)), 1))


def _driven(equations: Equations) -> list[int]:
    """Speeds that an input drives alone, in the order of the inputs."""
    B = ca.densify(equations.forces.B)
    found: list[int] = []
    for j in range(B.shape[1]):
        entries = [k for k in range(B.shape[0]) if not B[k, j].is_zero()]
        if len(entries) == 1 and entries[0] not in found:
            found.append(entries[0])
    return found


def _speeds(kin: Kinematics, parts: list[tuple[list[int], ca.SX]], num: int) -> ca.SX:
    """Tree speeds (nv, num) from the rows that are given; the others are zero."""
    whole = ca.SX(kin.num_speeds, num)
    for places, rows in parts:
        for i, k in enumerate(places):
            whole[k, :] = rows[i, :]
    return ca.densify(whole)


def _twist_columns(kin: Kinematics, speeds: ca.SX) -> ca.SX:
    """Stacked twists of columns of tree speeds, in world axes."""
    columns = [
        _in_world(kin, at_mass_centers(kin.tree, twists(kin.tree, speeds[:, j])))
        for j in range(speeds.shape[1])
    ]
    return ca.horzcat(*columns) if columns else ca.SX(6 * len(kin.tree.nodes), 0)


def _closures(kin: Kinematics, closing: list[int]) -> tuple[ca.SX, tuple[str, ...]]:
    """Rows J on the tree speeds; both of a rolling contact along x and y of the base's axes."""
    rows, labels, done = [], [], set()
    for k in closing:
        if k in done:
            continue
        owner = kin.rows[k].name.rpartition(".")[0]
        trace = next((t for t in kin.contacts if t.contact.name == owner), None)
        both = [
            j for j in closing
            if kin.rows[j].name in (f"{owner}.{LONGITUDINAL}", f"{owner}.{LATERAL}")
        ]  # fmt: skip
        if trace is None or len(both) < 2:
            rows.append(kin.A[k, :])
            labels.append(kin.rows[k].name)
            done.add(k)
            continue
        base = kin.tree.nodes[kin.tree.index(trace.contact.body)]
        while base.parent >= 0:
            base = kin.tree.nodes[base.parent]
        ways = [trace.directions[kin.rows[j].name.rpartition(".")[2]] for j in both]
        turn = ca.mtimes(base.R_WB.T, ca.horzcat(*ways))[:2, :]
        rows.append(ca.mtimes(turn, kin.A[both, :]))
        labels += [f"{owner} along {axis} of {base.body.name}" for axis in "xy"]
        done |= set(both)
    return (ca.vertcat(*rows) if rows else ca.SX(0, kin.num_speeds)), tuple(labels)


def complement_objects(
    equations: Equations, *, axes: str = WORLD, actuated: Sequence[str] = ()
) -> tuple[MethodObject, ...]:
    """The objects of the natural orthogonal complement, named as in the two papers.

    Parameters
    ----------
    equations : by this formulation.
    axes : of all vectors: the world's, or those of a body by its name. Rates are absolute.
    actuated : speeds θ̇_a of T_a and J_a; those that an input drives alone, by default.
    """
    kin, forces = equations.kinematics, equations.forces
    stacked = stacked_matrices(kin)
    num = 2 * len(stacked.bodies)
    turn = ca.diagcat(*[_axes(kin, axes)] * num) if num else ca.SX(0, 0)
    # rows of A are vectors three by three, but for those of a contact that may slip
    rows_turn = turn_rows(kin, stacked, axes)
    eta = tuple(s.name for s in kin.independent_speeds)
    twist = tuple(f"{b}.{part}{axis}" for b in stacked.bodies for part in "wv" for axis in "xyz")
    couplings = _numbered(stacked.couplings)
    T = ca.mtimes(turn, stacked.T)
    M = ca.mtimes(turn, ca.mtimes(stacked.M, turn.T))
    W = ca.mtimes(turn, ca.mtimes(stacked.W, turn.T))
    A = ca.mtimes(rows_turn, ca.mtimes(stacked.A, turn.T))
    T_dot, C = _rates(kin)
    T_dot = ca.mtimes(turn, T_dot)
    I = equations.reduced_mass  # noqa: E741
    V = ca.mtimes(turn, _in_world(kin, at_mass_centers(kin.tree, kin.twists)))
    pushed = forces.shares[GIVEN] + ca.mtimes(forces.B, kin.acting_inputs)

    def on_speeds(force: ca.SX) -> ca.SX:
        return ca.mtimes(kin.S.T, ca.densify(force) + ca.SX.zeros(kin.num_speeds))

    def made(name: str, value: ca.SX, meaning: str, equation: str, **others: Any) -> MethodObject:
        given = {"letter": name} | others
        return MethodObject(name=name, value=value, meaning=meaning, equation=equation, **given)

    result = [
        made("A", A, "velocity constraints of all couplings, A t = 0", "eq. 11", rows=couplings,
             columns=twist),
        made("T", T, "natural orthogonal complement, t = T θ̇", "eqs. 12, 26", rows=twist,
             columns=eta),
        made("T_dot", T_dot, "its absolute rate", "eq. 15", letter="T", dots=1, rows=twist,
             columns=eta),
        made("t", V, "twists of all bodies, angular part first", "eqs. 1, 9", rows=twist),
        made("M", M, "extended mass of all bodies", "eqs. 5, 7", rows=twist, columns=twist),
        made("W", W, "extended angular velocity of all bodies", "eqs. 5, 8", rows=twist,
             columns=twist),
        made("I", I, "generalized inertia TᵀMT", "eq. 18", rows=eta, columns=eta),
        made("C", C, "convective inertia terms −Tᵀ(MṪ + WMT)", "eq. 18", rows=eta, columns=eta),
        made("tau", on_speeds(pushed), "generalized driving force", "eq. 18", letter="τ", rows=eta),
        made("gamma", on_speeds(forces.shares[GRAVITY]), "generalized force of gravity", "eq. 18",
             letter="γ", rows=eta),
        made("delta", on_speeds(forces.shares[DISSIPATIVE]), "generalized dissipative force",
             "eq. 18", letter="δ", rows=eta),
        made("theta_ddot", equations.accelerations, "independent accelerations", "eq. 18",
             letter="θ", dots=2, rows=eta),
    ]  # fmt: skip
    springs = on_speeds(forces.shares[SPRING])
    if _depends(springs):
        result.insert(-1, made("sigma", springs, "generalized force of springs", "", letter="σ",
                               rows=eta))  # fmt: skip
    if _depends(kin.s):
        moved = ca.mtimes(turn, _twist_columns(kin, ca.densify(kin.s)))
        result.insert(2, made("T_0", moved, "twists of the moving constraints, t = T θ̇ + T_0", "",
                              letter="T", index="0", rows=twist))  # fmt: skip
    split = actuated_split(equations, actuated)
    if split is not None:
        a, u = split.actuated, split.unactuated
        where = "SahaAngeles1989, eq."
        result += [
            made("T_a", ca.mtimes(turn, split.T_a), "twists by the actuated joint rates",
                 f"{where} 24a", letter="T", index="a", rows=twist, columns=a),
            made("T_u", ca.mtimes(turn, split.T_u), "twists by the unactuated joint rates",
                 f"{where} 24a", letter="T", index="u", rows=twist, columns=u),
            made("J_a", split.J_a, "closures by the actuated joint rates", f"{where} 25b",
                 letter="J", index="a", rows=split.closures, columns=a),
            made("J_u", split.J_u, "closures by the unactuated joint rates", f"{where} 25b",
                 letter="J", index="u", rows=split.closures, columns=u),
        ]  # fmt: skip
    return (*result, *_blocks(kin, stacked, A, couplings))


def _rates(kin: Kinematics) -> tuple[ca.SX, ca.SX]:
    """Ṫ in world axes, and C = −Tᵀ(MṪ + WMT) summed body by body in computing axes.

    With T_D the columns of a body along axes D that turn with ω_D, the absolute rate is that of the
    entries and ω_D × T_D.
    """
    at = ca.vertcat(kin.symbols.q, kin.symbols.t)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1))
    columns = unit_speed_twists(kin, kin.tree)
    num = len(columns)
    C, rates = ca.SX.zeros(num, num), []
    for k, node in enumerate(kin.tree.nodes):
        omega = kin.twists[k][0]
        turning = omega
        if node.is_rotor:
            turning = ca.mtimes(node.R_PD.T, kin.twists[node.parent][0])
        halves = []
        for half in range(2):
            T_D = ca.horzcat(*[ca.densify(column[k][half]) for column in columns])
            T_D = T_D if columns else ca.SX(3, 0)
            entries = ca.reshape(ca.jtimes(ca.vec(T_D), at, along), 3, num)
            rate = entries + ca.mtimes(skew(turning), T_D)
            mass = node.inertia_D if half == 0 else node.mass * EYE3
            force = ca.mtimes(mass, rate)
            if half == 0:
                force = force + ca.mtimes(skew(omega), ca.mtimes(mass, T_D))
            C = C - ca.mtimes(T_D.T, force)
            halves.append(ca.mtimes(node.R_WD, rate))
        rates += halves
    return (ca.vertcat(*rates) if rates else ca.SX(0, num)), C


def _axes(kin: Kinematics, axes: str) -> ca.SX:
    """(3, 3) from world axes to those that are named."""
    if axes == WORLD:
        return EYE3
    names = [node.body.name for node in kin.tree.nodes]
    if axes not in names:
        raise FormulationError(
            f"there is no body '{axes}' whose axes could be used",
            f"model '{kin.model.name}'",
            nearest(axes, [WORLD, *names]),
        )
    return kin.tree.nodes[names.index(axes)].R_WB.T


def turn_rows(kin: Kinematics, stacked: StackedMatrices, axes: str) -> ca.SX:
    """Turns the rows of A that are components of vectors, three by three."""
    turn, parts, k = _axes(kin, axes), [], 0
    while k < len(stacked.couplings):
        size = stacked.couplings.count(stacked.couplings[k])
        parts += [turn] * (size // 3) if size % 3 == 0 else [ca.SX.eye(size)]
        k += size
    return ca.diagcat(*parts) if parts else ca.SX(0, 0)


def _numbered(couplings: tuple[str, ...]) -> tuple[str, ...]:
    """Each row with its number within its coupling."""
    return tuple(f"{c} {couplings[: k + 1].count(c)}" for k, c in enumerate(couplings))


def _blocks(
    kin: Kinematics, stacked: StackedMatrices, A: ca.SX, rows: tuple[str, ...]
) -> list[MethodObject]:
    """A_i and A_j of each coupling: its columns of the bodies i and j that it joins."""
    joints = {f"joint {n.joint.name}": n.joint for n in kin.tree.nodes}
    joints |= {f"joint {joint.name}": joint for joint in kin.tree.loops}
    pairs = {name: (joint.parent, joint.child) for name, joint in joints.items()}
    for trace in kin.contacts:
        contact = trace.contact
        pairs[f"contact {contact.name}"] = (contact.plane.body, contact.body)
    result = []
    for name in dict.fromkeys(stacked.couplings):
        places = [k for k, c in enumerate(stacked.couplings) if c == name]
        kind, _, owner = name.partition(" ")
        equation = "eqs. 19, 22" if kind == "joint" else "eqs. 19, 24, 25"
        for index, body in zip("ij", pairs[name], strict=True):
            if body == WORLD:
                continue
            at = 6 * stacked.bodies.index(body)
            result.append(
                MethodObject(
                    name=f"A_{index}.{kind}.{owner}",
                    letter="A",
                    index=index,
                    value=A[places, at : at + 6],
                    meaning=f"block of {kind} '{owner}' on body '{body}'",
                    equation=equation,
                    rows=tuple(rows[k] for k in places),
                    columns=tuple(f"{body}.{part}{axis}" for part in "wv" for axis in "xyz"),
                    is_part=True,
                )
            )
    return result
