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

All other rows have one line each: transmissions, rows written by hand, drilling, joints that are
led and speed inputs. A row that says where its forces f at p and moments m act, for a multiplier of
one, has their columns on each of its bodies,

    Σ f · (ċ + ω × (p − c)) + m · ω = 0

so that a pair of gears is a block A_i and a block A_j at the pitch point. The others are written in
the rates of joints, and these in the twists, v = L V: of a revolute joint θ̇ = e · (ω_j − ω_i).
Where a constraint moves, A V + a = 0; A T = 0 holds all the same, and rank A = 6p − n.

Wrenches are about the mass centers, [moment; force]: w^A of actuators and given forces, w^G of
weights, w^D of what dissipates, w^S of springs. What acts along a joint with f has the wrenches Lᵀf
on both of its bodies, and so has the rotor of a motor, w^R = −LᵀA v̇. The rest is the constraints',

    w^N = M V̇ + W M V − w^W,     Tᵀw^N = 0,     w^N = Aᵀλ                              [eqs. 10, 16]

A vehicle with actuated and unactuated joints, θ̇_a and θ̇_u, has [SahaAngeles1989, eqs. 24–27]

    (1)  V = T_a θ̇_a + T_u θ̇_u,     J_a θ̇_a + J_u θ̇_u = 0,     T = T_a − T_u J_u⁻¹ J_a

The rows without θ̇_u carry the base by θ̇_a alone; the others are J. Those of a rolling contact are
its slip along the axes of the base, as in print, and not along the wheel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from noslip.algebra import EYE3, block_solve, cross, skew, symmetric_solve
from noslip.base import FormulationError, nearest
from noslip.formulations.equations import Equations, MethodObject
from noslip.formulations.tree_dynamics import (
    at_mass_centers,
    center_wrenches,
    rotor_forces,
    unit_speed_twists,
)
from noslip.kinematics import (
    Kinematics,
    Pair,
    TracedPlaces,
    accelerations,
    frame_pose,
    twists,
)
from noslip.model import (
    DISSIPATIVE,
    GIVEN,
    GRAVITY,
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    SPIN,
    SPRING,
    WORLD,
    AbstractRow,
    Joint,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StackedMatrices:
    """A, M, W and T of the stacked bodies, traced."""

    bodies: tuple[str, ...]  #: order of the bodies in the stack
    #: owner of each row of A, such as ``joint wheel1``, ``contact wheel1`` or ``row mesh``
    couplings: tuple[str, ...]
    A: ca.SX  #: (6γ + 3ν + others, 6p)
    a: ca.SX  #: A V + a = 0; zero where no constraint moves
    #: M, W: (6p, 6p)
    M: ca.SX
    W: ca.SX
    T: ca.SX  #: (6p, nf)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coupling:
    """Rows of A that belong together, and the bodies that they couple."""

    name: str
    bodies: tuple[str, ...]
    rows: ca.SX
    moved: ca.SX | None = None


def stacked_matrices(kin: Kinematics, *, with_couplings: bool = True) -> StackedMatrices:
    """The papers' matrices of a model, at q and η.

    Parameters
    ----------
    kin : traced kinematics.
    with_couplings : whether A and a are wanted too.
    """
    nodes = kin.tree.nodes
    columns = [_in_world(kin, column) for column in unit_speed_twists(kin, kin.tree)]
    masses, spins = [], []
    for node, (w, _) in zip(nodes, kin.twists, strict=True):
        inertia = ca.mtimes(node.R_WD, ca.mtimes(node.inertia_D, node.R_WD.T))
        masses += [inertia, node.mass * EYE3]
        spins += [skew(ca.mtimes(node.R_WD, w)), ca.SX(3, 3)]
    found = couplings(kin) if with_couplings else []
    return StackedMatrices(
        bodies=tuple(node.body.name for node in nodes),
        couplings=tuple(c.name for c in found for _ in range(c.rows.shape[0])),
        A=ca.vertcat(ca.SX(0, 6 * len(nodes)), *[c.rows for c in found]),
        a=ca.vertcat(ca.SX(0, 1), *[_moved(c) for c in found]),
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


def _moved(coupling: Coupling) -> ca.SX:
    """The share of a in these rows."""
    return ca.SX.zeros(coupling.rows.shape[0]) if coupling.moved is None else coupling.moved


def couplings(kin: Kinematics) -> list[Coupling]:
    """All couplings: joints, contacts, then the other rows."""
    found = []
    for joint in (*(node.joint for node in kin.tree.nodes), *kin.tree.loops):
        block = _joint_rows(kin, joint)
        if block is not None:
            bodies = (joint.parent, joint.child)
            found.append(Coupling(name=f"joint {joint.name}", bodies=bodies, rows=block))
    for trace in kin.contacts:
        contact = trace.contact
        point = kin.at_speeds(trace.point)
        bodies = (contact.plane.body, contact.body)
        across, wanted = EYE3, [name for name in contact.directions() if name != SPIN]
        if wanted:
            if not {LONGITUDINAL, LATERAL} <= set(wanted):
                # it may slip in the plane: only the rows that are on. (A height that is off is
                # kept by another part, so the papers' three rows hold for a wheel that does not
                # slip.)
                ways = ca.horzcat(*[trace.directions[name] for name in wanted])
                across = kin.at_speeds(ways).T
            block = ca.mtimes(across, _point_difference(kin, *bodies, point))
            found.append(Coupling(name=f"contact {contact.name}", bodies=bodies, rows=block))
        if SPIN in contact.directions():
            normal = kin.at_speeds(trace.directions[NORMAL]).T
            block = ca.mtimes(normal, _turning_difference(kin, *bodies))
            found.append(Coupling(name=f"drilling {contact.name}", bodies=bodies, rows=block))
    return [*found, *_other_rows(kin)]


#: Origin of a row → how it is called beside joints and contacts.
_OTHER_ROWS = {"motion": "motion", "speed input": "input", "row": "row"}


def _other_rows(kin: Kinematics) -> list[Coupling]:
    """Rows that are neither a joint nor a contact, one line each."""
    chosen = [k for k, row in enumerate(kin.rows) if row.origin in _OTHER_ROWS]
    if not chosen:
        return []
    own = {row.name: row for row in kin.model.rows}
    rates, found = joint_rates(kin), []
    for k in chosen:
        row = kin.rows[k]
        placed = None
        if row.origin == "row" and row.name not in kin.unplaced:
            placed = _placed_row(kin, own[row.name])
        line = ca.mtimes(kin.A[k, :], rates) if placed is None else placed
        columns = {j // 6 for j in ca.sparsify(line).sparsity().get_col()}
        found.append(
            Coupling(
                name=f"{_OTHER_ROWS[row.origin]} {row.name}",
                bodies=tuple(kin.tree.nodes[j].body.name for j in sorted(columns)),
                rows=ca.densify(line),
                moved=kin.a[k],
            )
        )
    return found


def _placed_row(kin: Kinematics, row: AbstractRow) -> ca.SX | None:
    """Σ f · (ċ + ω × (p − c)) + m · ω; None for forces that are not in proportion to λ."""
    multiplier = ca.SX.sym("lambda")
    line = ca.SX(1, 6 * len(kin.tree.nodes))
    for body, point, force, moment in row.wrenches(TracedPlaces(kin.tree, kin.reader), multiplier):
        k = kin.tree.index[body]
        if k < 0:
            continue
        arm = point - _center(kin, k)
        at = slice(6 * k, 6 * k + 6)
        line[at] += ca.vertcat(moment + cross(arm, force), force).T
    slope = ca.jacobian(line, multiplier)
    if ca.depends_on(slope, multiplier):
        return None
    return kin.at_speeds(ca.reshape(slope, 1, line.shape[1]))


def joint_rates(kin: Kinematics) -> ca.SX:
    """L (nv, 6p) with v = L V: of each joint what its twist H v is in the twists of its bodies."""
    found = ca.SX(kin.num_speeds, 6 * len(kin.tree.nodes))
    for node in kin.tree.nodes:
        if node.speeds.start == node.speeds.stop:
            continue
        H = node.joint.type.motion(kin.reader)
        relative = _relative_twist(kin, node.joint)[0]
        found[node.speeds, :] = ca.mtimes(ca.solve(ca.mtimes(H.T, H), H.T), relative)
    return found


def _relative_twist(kin: Kinematics, joint: Joint) -> tuple[ca.SX, ca.SX]:
    """(6, 6p) twist of M against F at the joint's point, in M axes, and R_WM."""
    child = kin.tree.nodes[kin.tree.index[joint.child]]
    R_BM, p_BM = frame_pose(joint.child_frame, kin.reader)
    point = child.p_WB + ca.mtimes(child.R_WB, p_BM)
    R_WM = ca.mtimes(child.R_WB, R_BM)
    turning = _turning_difference(kin, joint.parent, joint.child)
    moving = _point_difference(kin, joint.parent, joint.child, point)
    return ca.vertcat(ca.mtimes(R_WM.T, turning), ca.mtimes(R_WM.T, moving)), R_WM


def _joint_rows(kin: Kinematics, joint: Joint) -> ca.SX | None:
    """Six rows of a joint: what its relative twist may not have. None for a free joint."""
    across = joint.type.coupling(kin.reader)
    if across is None:
        return None
    relative, R_WM = _relative_twist(kin, joint)
    return ca.mtimes(ca.diagcat(R_WM, R_WM), ca.mtimes(across, relative))


def _turning_difference(kin: Kinematics, first: str, second: str) -> ca.SX:
    """(3, 6p) with ω_second − ω_first = result · V."""
    return _place(kin, second, EYE3, ca.SX(3, 3)) - _place(kin, first, EYE3, ca.SX(3, 3))


def _point_difference(kin: Kinematics, first: str, second: str, point: ca.SX) -> ca.SX:
    """(3, 6p) with the velocity at `point` of `second` less that of `first`: ċ + (c − q) × ω."""
    result = ca.SX(3, 6 * len(kin.tree.nodes))
    for body, sign in ((second, 1.0), (first, -1.0)):
        k = kin.tree.index[body]
        if k >= 0:
            result = result + sign * _place(kin, body, skew(_center(kin, k) - point), EYE3)
    return result


def _center(kin: Kinematics, k: int) -> ca.SX:
    """Mass center of a body in the world."""
    node = kin.tree.nodes[k]
    return node.p_WB + ca.mtimes(node.R_WD, node.center_D)


def _place(kin: Kinematics, body: str, angular: ca.SX, linear: ca.SX) -> ca.SX:
    """A (3, 6p) matrix that is zero but for the columns of one body."""
    k = kin.tree.index[body]
    num = len(kin.tree.nodes)
    if k < 0:
        return ca.SX(3, 6 * num)
    return ca.horzcat(ca.SX(3, 6 * k), angular, linear, ca.SX(3, 6 * (num - k - 1)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActuatedSplit:
    """J_a and J_u of (1), tree speeds by θ̇_a and θ̇_u, and the names of both kinds of speeds."""

    actuated: tuple[str, ...]
    unactuated: tuple[str, ...]
    closures: tuple[str, ...]
    by_actuated: ca.SX
    by_passive: ca.SX
    J_a: ca.SX
    J_u: ca.SX


def actuated_split(equations: Equations, actuated: Sequence[str] = ()) -> ActuatedSplit | None:
    """The matrices of (1); None where the actuated speeds do not carry the base.

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
    own = [s.name for s in kin.independent_speeds]
    if {names[k] for k in driven} == set(own):
        driven = [names.index(name) for name in own]
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
        by_actuated=by_actuated,
        by_passive=by_passive,
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
        base = kin.tree.nodes[kin.tree.index[trace.contact.body]]
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

    `axes`: axes of all vectors: the world's, or those of a body by its name. Rates are absolute.
    `actuated`: speeds θ̇_a of T_a and J_a; those that an input drives alone, by default.
    """
    kin, forces = equations.kinematics, equations.forces
    stacked = stacked_matrices(kin)
    num = 2 * len(stacked.bodies)
    turn = ca.diagcat(*[_axes(kin, axes)] * num) if num else ca.SX(0, 0)
    # rows of A are vectors three by three, but for those of a contact that may slip
    rows_turn = turn_rows(kin, stacked, axes)
    # angles that carry the named axes themselves do not get into columns of twists
    seen = _seen_from(kin, axes)
    eta = tuple(s.name for s in kin.independent_speeds)
    twist = tuple(f"{b}.{part}{axis}" for b in stacked.bodies for part in "wv" for axis in "xyz")
    names = _numbered(stacked.couplings)
    A = ca.mtimes(rows_turn, ca.mtimes(stacked.A, turn.T))
    in_axes = stacked_matrices(seen, with_couplings=False)
    T, M, W = in_axes.T, in_axes.M, in_axes.W
    T_dot, C = _rates(seen)
    I = equations.reduced_mass  # noqa: E741
    V = _in_world(seen, at_mass_centers(kin.tree, kin.twists))
    pushed = forces.shares[GIVEN] + ca.mtimes(forces.B, kin.acting_inputs)

    def on_speeds(force: ca.SX) -> ca.SX:
        return ca.mtimes(kin.S.T, ca.densify(force) + ca.SX.zeros(kin.num_speeds))

    def made(name: str, value: ca.SX, meaning: str, equation: str, **others: Any) -> MethodObject:
        given = {"letter": name} | others
        return MethodObject(name=name, value=value, meaning=meaning, equation=equation, **given)

    result = [
        made("A", A, "velocity constraints of all couplings, A t = 0", "eq. 11", rows=names,
             columns=twist),
        made("T", T, "natural orthogonal complement, t = T θ̇", "eqs. 12, 26", rows=twist,
             columns=eta),
        made("T_dot", T_dot, "its absolute rate", "eq. 15", letter="T", dots=1, rows=twist,
             columns=eta),
        made("t", V, "twists of all bodies, angular part first", "eqs. 1, 9", rows=twist),
        made("M", M, "extended mass of all bodies", "eqs. 5, 7", rows=twist, columns=twist),
        made("W", W, "extended angular velocity of all bodies", "eqs. 5, 8", rows=twist,
             columns=twist),
        *_wrenches(equations, seen, T, twist, eta),
        made("I", I, "generalized inertia TᵀMT", "eq. 18", rows=eta, columns=eta),
        made("C", C, "convective inertia terms −Tᵀ(MṪ + WMT)", "eq. 18", rows=eta, columns=eta),
        made("tau", on_speeds(pushed), "generalized driving force Tᵀw^A", "eq. 18", letter="τ",
             rows=eta),
        made("gamma", on_speeds(forces.shares[GRAVITY]), "generalized force of gravity Tᵀw^G",
             "eq. 18", letter="γ", rows=eta),
        made("delta", on_speeds(forces.shares[DISSIPATIVE]),
             "generalized dissipative force Tᵀw^D", "eq. 18", letter="δ", rows=eta),
        made("theta_ddot", equations.accelerations, "independent accelerations", "eq. 18",
             letter="θ", dots=2, rows=eta),
    ]  # fmt: skip
    springs = on_speeds(forces.shares[SPRING])
    if _depends(springs):
        result.insert(-1, made("sigma", springs, "generalized force of springs Tᵀw^S", "",
                               letter="σ", rows=eta))  # fmt: skip
    if _depends(stacked.a):
        result.insert(1, made("a", stacked.a, "shares of constraints that move, A t + a = 0", "",
                              rows=names))  # fmt: skip
    if _depends(kin.s):
        moved = _twist_columns(seen, ca.densify(kin.s))
        result.insert(2, made("T_0", moved, "twists of the moving constraints, t = T θ̇ + T_0", "",
                              letter="T", index="0", rows=twist))  # fmt: skip
    result += _state_matrices(equations, C)
    split = actuated_split(equations, actuated)
    # columns in other speeds than those of T would be another matrix under its name
    if split is not None and split.actuated == eta:
        a, u = split.actuated, split.unactuated
        where = "SahaAngeles1989, eq."
        by_actuated, by_passive = split.by_actuated, split.by_passive
        T_a, T_u = (_twist_columns(seen, by) for by in (by_actuated, by_passive))
        parts = [
            ("T_a", T_a, "twists by the actuated joint rates", "24a", twist, a),
            ("T_u", T_u, "twists by the unactuated joint rates", "24a", twist, u),
            ("J_a", split.J_a, "closures by the actuated joint rates", "25b", split.closures, a),
            ("J_u", split.J_u, "closures by the unactuated joint rates", "25b", split.closures, u),
        ]
        rates = [
            ("T_a_dot", _twist_rates(seen, by_actuated), *parts[0][2:]),
            ("T_u_dot", _twist_rates(seen, by_passive), *parts[1][2:]),
            ("J_a_dot", _entry_rates(kin, split.J_a), *parts[2][2:]),
            ("J_u_dot", _entry_rates(kin, split.J_u), *parts[3][2:]),
        ]
        result += [
            made(name, value, meaning, f"{where} {place}", letter=name[0], index=name[2], rows=rows,
                 columns=columns)
            for name, value, meaning, place, rows, columns in parts
        ]  # fmt: skip
        result += [
            made(name, value, f"rates of {meaning}", f"{where} 28b", letter=name[0], index=name[2],
                 dots=1, rows=rows, columns=columns)
            for name, value, meaning, _, rows, columns in rates
        ]  # fmt: skip
    return (*result, *_blocks(kin, stacked, A, names))


def applied_wrenches(equations: Equations, seen: Kinematics) -> dict[str, tuple[ca.SX, str, str]]:
    """Index → stacked wrench [moment; force], meaning and equations: w^A, w^G, w^D, w^S, w^R."""
    kin, tree = equations.kinematics, seen.tree
    back = joint_rates(seen).T
    known = {
        "A": (GIVEN, "wrenches of actuators and given forces", "eqs. 9, 16"),
        "G": (GRAVITY, "wrenches of gravity", "eqs. 9, 16"),
        "D": (DISSIPATIVE, "dissipative wrenches", "eqs. 9, 16"),
        "S": (SPRING, "wrenches of springs", ""),
    }
    acting = equations.forces.acting()
    found = {}
    for index, (share, meaning, equation) in known.items():
        of_bodies, of_joints = acting[share]
        parts = ca.vertsplit(of_bodies, 3) if of_bodies.numel() else []
        wrench = ca.SX(0, 1)
        for k, node in enumerate(tree.nodes):
            moment, force = parts[2 * k], parts[2 * k + 1]
            moment = moment - cross(node.center_D, force)
            wrench = ca.vertcat(wrench, *(ca.mtimes(node.R_WD, x) for x in (moment, force)))
        found[index] = (wrench + ca.mtimes(back, ca.densify(of_joints)), meaning, equation)
    rotors = rotor_forces(kin.tree, equations.speed_rates)
    found["R"] = (-ca.mtimes(back, rotors), "wrenches of the rotors of motors", "")
    for index in "SR":
        if not _depends(found[index][0]):
            del found[index]
    return found


def _wrenches(
    equations: Equations, seen: Kinematics, T: ca.SX, twist: tuple[str, ...], eta: tuple[str, ...]
) -> list[MethodObject]:
    """w^A, w^G, w^D, w^S, w^R, their sum w^W, w^N and Tᵀw^N."""
    kin, found = equations.kinematics, applied_wrenches(equations, seen)
    working = sum((value for value, _, _ in found.values()), ca.SX.zeros(len(twist)))
    rates = accelerations(kin.tree, kin.twists, kin.v, equations.speed_rates)
    needed = _in_world(seen, center_wrenches(kin.tree, kin.twists, rates))
    found["W"] = (working, "working wrenches, the sum of these", "eqs. 9, 16")
    resting = needed - working
    found["N"] = (resting, "nonworking constraint wrenches Mṫ + WMt − w^W", "eqs. 9, 10")
    result = [
        MethodObject(
            name=f"w_{index}", letter="w", index=index, value=ca.densify(value), meaning=meaning,
            equation=equation, rows=twist,
        )
        for index, (value, meaning, equation) in found.items()
    ]  # fmt: skip
    work = MethodObject(
        name="Tt_w_N", letter="Tᵀw", index="N", value=ca.mtimes(T.T, resting), rows=eta,
        shown=ca.SX.zeros(len(eta)),
        meaning="Tᵀ w^N, zero: no work in virtual displacements", equation="eqs. 13, 14",
    )  # fmt: skip
    return [*result, work]


def _state_matrices(equations: Equations, C: ca.SX) -> list[MethodObject]:
    """P and Q of q̇ = P q + Q u with q = [θ; θ̇], where every independent speed is a rate."""
    kin, n = equations.kinematics, equations.kinematics.num_independent_speeds
    mapped = ca.mtimes(kin.N, kin.S)
    names = []
    for j in range(n):
        own = [k for k in range(mapped.shape[0]) if ca.is_equal(mapped[k, j], ca.SX(1))]
        row = next((k for k in own if _is_unit(mapped[k, :], j)), None)
        if row is None or kin.coordinates[row].name in names:
            return []
        names.append(kin.coordinates[row].name)
    if not n or _depends(kin.s):
        return []
    inverse, _ = symmetric_solve(equations.reduced_mass, ca.SX.eye(n))
    eta = tuple(s.name for s in kin.independent_speeds)
    none, one = ca.SX.zeros(n, n), ca.SX.eye(n)
    P = ca.vertcat(ca.horzcat(none, one), ca.horzcat(none, ca.mtimes(inverse, C)))
    rows, where = (*names, *eta), "SahaAngeles1989, eq. 30"
    return [
        MethodObject(
            name="P", letter="P", value=P, rows=rows, columns=rows, equation=where,
            meaning="first-order form q̇ = P q + Q u of q = [θ; θ̇]",
        ),
        MethodObject(
            name="Q", letter="Q", value=ca.vertcat(none, inverse), rows=rows, columns=eta,
            meaning="what generalized forces u = τ + γ + δ do to q̇ = P q + Q u", equation=where,
        ),
    ]  # fmt: skip


def _is_unit(row: ca.SX, j: int) -> bool:
    """Whether a row is zero but for a one in column j."""
    return all(ca.is_equal(row[i], ca.SX(float(i == j)), 0) for i in range(row.shape[1]))


def _entry_rates(kin: Kinematics, matrix: ca.SX) -> ca.SX:
    """Rates of the entries along the motion."""
    at = ca.vertcat(kin.symbols.q, kin.symbols.t)
    along = ca.vertcat(ca.mtimes(kin.N, kin.v), ca.SX(1))
    return ca.reshape(ca.jtimes(ca.vec(ca.densify(matrix)), at, along), *matrix.shape)


def _seen_from(kin: Kinematics, axes: str) -> Kinematics:
    """The same mechanism with all poses against a body, by the shortest chain of joints."""
    if axes == WORLD:
        return kin
    nodes = kin.tree.nodes
    _axes(kin, axes)
    start = kin.tree.index[axes]
    found = {start: (nodes[start].R_DB.T, ca.SX.zeros(3))}
    k = start
    while k >= 0:
        node, (R, p) = nodes[k], found[k]
        R_P = ca.mtimes(R, node.R_PD.T)
        found[node.parent] = (R_P, p - ca.mtimes(R_P, node.p_PB))
        k = node.parent
    for k, node in enumerate(nodes):
        if k not in found:
            R, p = found[node.parent]
            found[k] = (ca.mtimes(R, node.R_PD), p + ca.mtimes(R, node.p_PB))
    posed = tuple(
        dataclasses.replace(node, R_WD=found[k][0], p_WB=found[k][1])
        for k, node in enumerate(nodes)
    )
    return dataclasses.replace(kin, tree=dataclasses.replace(kin.tree, nodes=posed))


def _rates(kin: Kinematics) -> tuple[ca.SX, ca.SX]:
    """Ṫ, and C = −Tᵀ(MṪ + WMT) summed body by body in computing axes."""
    columns = unit_speed_twists(kin, kin.tree)
    num = len(columns)
    C, rates = ca.SX.zeros(num, num), []
    for k, (node, halves) in enumerate(zip(kin.tree.nodes, _body_rates(kin, columns), strict=True)):
        omega = kin.twists[k][0]
        for half, (T_D, rate) in enumerate(halves):
            mass = node.inertia_D if half == 0 else node.mass * EYE3
            force = ca.mtimes(mass, rate)
            if half == 0:
                force = force + ca.mtimes(skew(omega), ca.mtimes(mass, T_D))
            C = C - ca.mtimes(T_D.T, force)
            rates.append(ca.mtimes(node.R_WD, rate))
    return ca.vertcat(ca.SX(0, num), *rates), C


def _twist_rates(kin: Kinematics, speeds: ca.SX) -> ca.SX:
    """Absolute rates of the stacked twists of columns of tree speeds."""
    columns = [
        at_mass_centers(kin.tree, twists(kin.tree, speeds[:, j])) for j in range(speeds.shape[1])
    ]
    rates = [
        ca.mtimes(node.R_WD, rate)
        for node, halves in zip(kin.tree.nodes, _body_rates(kin, columns), strict=True)
        for _, rate in halves
    ]
    return ca.vertcat(ca.SX(0, len(columns)), *rates)


def _body_rates(kin: Kinematics, columns: list[list[Pair]]) -> list[list[tuple[ca.SX, ca.SX]]]:
    """Columns T_D of each body, both halves, in computing axes, with their absolute rates.

    Along axes D that turn with ω_D the absolute rate is that of the entries and ω_D × T_D.
    """
    result = []
    for k, node in enumerate(kin.tree.nodes):
        turning = kin.twists[k][0]
        if node.is_rotor:
            carrier = kin.twists[node.parent][0] if node.parent >= 0 else ca.SX.zeros(3)
            turning = ca.mtimes(node.R_PD.T, carrier)
        halves = []
        for half in range(2):
            T_D = ca.horzcat(ca.SX(3, 0), *[ca.densify(column[k][half]) for column in columns])
            halves.append((T_D, _entry_rates(kin, T_D) + ca.mtimes(skew(turning), T_D)))
        result.append(halves)
    return result


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


#: Subscripts of the bodies of a coupling, in order; a transmission may have more than two.
_BODIES = "ijklmn"


def _blocks(
    kin: Kinematics, stacked: StackedMatrices, A: ca.SX, rows: tuple[str, ...]
) -> list[MethodObject]:
    """A_i and A_j of each coupling: its columns of the bodies i and j that it joins."""
    equations = {"joint": "eqs. 19, 22", "contact": "eqs. 19, 24, 25"}
    result = []
    for coupling in couplings(kin):
        places = [k for k, c in enumerate(stacked.couplings) if c == coupling.name]
        kind, _, owner = coupling.name.partition(" ")
        letters = _BODIES if len(coupling.bodies) <= len(_BODIES) else map(str, range(1, 1000))
        for index, body in zip(letters, coupling.bodies, strict=False):
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
                    equation=equations.get(kind, "eq. 19"),
                    rows=tuple(rows[k] for k in places),
                    columns=tuple(f"{body}.{part}{axis}" for part in "wv" for axis in "xyz"),
                    is_part=True,
                )
            )
    return result
