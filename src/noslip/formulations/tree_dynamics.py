"""Dynamics on the tree of joints: inertia, wrenches, energy, and algorithms in O(n).

**Dynamics on the tree, shared by formulations: inertia, Newton–Euler wrenches, energy, rates.**

A joint may have an armature: the inertia A of a motor's rotor as the joint feels it, reflected by
its gear. It resists the joint's speed alone, A v̇ and ½ A v²; how the rotor is carried along by the
bodies, which a gear of ratio n makes n times smaller, is left out.

**Composite-rigid-body algorithm: generalized inertia and inverse dynamics in fewer operations.**

A body and all that it carries, as if welded to it, are a composite body. With V_B = X V_P + H s for
the twist of a body whose joint has the speeds s, twice the kinetic energy of all bodies is that of
the root's composite at the root's twist, and for every other joint

    (1)  sᵀ (Hᵀ F) s + 2 sᵀ (Xᵀ F)ᵀ V_P,        F = M_composite H

A wheel that spins about its own axis a is lumped with its carrier but for

    (2)  I_a σ²,        σ = a·ω + rate

and its spin needs of the carrier, and about its own axis,

    (3)  n = I_a (σ̇ a + σ ω × a),   I_a σ̇          since ȧ·ω = (ω × a)·ω = 0

Reference: [Featherstone2008], chapter 6, with the columns of a null-space basis for unit speeds.

**Articulated-body algorithm: accelerations of a tree without constraint rows, in O(n).**

The mass matrix of a tree is never formed. With δ the part of the bodies' accelerations that is due
to v̇ (the rest is that of v̇ = 0), X the change from parent to body, and H the motion of a joint,

    (1)  δ_B = X δ_P + H v̇_B
    (2)  M v̇ = b,      b = Q + B u − c,  c the inverse dynamics at v̇ = 0

From the tips to the base, every body takes over what hangs on it as inertia that still moves in its
joints (articulated), and the force that it needs:

    (3)  I_A = I + Σ Xᵀ (I_A − U D⁻¹ Uᵀ) X,    U = I_A H,   D = Hᵀ U
    (4)  p_A =     Σ Xᵀ (p_A + U D⁻¹ e),       e = b_B − Hᵀ p_A

and from the base to the tips

    (5)  v̇_B = D⁻¹ (e − Uᵀ X δ_P)

D is the least inertia that a joint feels; it is positive unless nothing with mass moves with it.
The rotor of a joint adds its armature to D and to nothing else.

Reference: [Featherstone2008], chapter 7, with the velocity terms taken out by (2).

**Forces and torques in every joint, from the solved motion: the constraint wrench w^N by body.**

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

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca

from noslip.algebra import (
    EYE3,
    block_solve,
    cross,
    inlined,
    skew,
    stack,
    symmetric_solve,
    turned_inertia,
    vector,
)
from noslip.kinematics import (
    Kinematics,
    Node,
    Pair,
    TracedPlaces,
    Tree,
    accelerations,
    frame_pose,
    generalized_forces,
    point_acceleration,
    twists,
)
from noslip.model import NORMAL, SPIN, AbstractRow, Joint

if TYPE_CHECKING:
    from noslip.formulations.equations import Equations


TINY = 1e-300  # kg


def at_mass_centers(tree: Tree, motion: list[Pair]) -> list[Pair]:
    """Twists with the velocity of the mass center instead of the origin's."""
    return [(w, v + cross(w, n.center_D)) for n, (w, v) in zip(tree.nodes, motion, strict=True)]


def unit_speed_twists(kin: Kinematics, tree: Tree) -> list[list[Pair]]:
    """Columns of T, body by body: ω and velocity of the mass center for η = e_j [eq. 26]."""
    columns = []
    for j in range(kin.num_independent_speeds):
        column = ca.densify(kin.S[:, j])
        columns.append(at_mass_centers(tree, twists(tree, column)))
    return columns


def center_wrenches(tree: Tree, motion: list[Pair], rates: list[Pair]) -> list[Pair]:
    """Inertial wrench of each body about its mass center, in D axes (Newton and Euler).

    f = m (a + α × c + ω × (ω × c)),   n = I α + ω × I ω
    """
    result: list[Pair] = []
    carriers = {node.parent for node in tree.nodes}
    for k, (node, (w, _), (alpha, acc)) in enumerate(zip(tree.nodes, motion, rates, strict=True)):
        wrench = _carrier_wrench if k in carriers else _tip_wrench
        n, f = wrench(node.mass, node.center_D, node.inertia_D, w, alpha, acc)
        result.append((n, f))
    return result


def _center_wrench(
    is_carrier: bool,
    mass: ca.SX,
    center: ca.SX,
    inertia: ca.SX,
    w: ca.SX,
    alpha: ca.SX,
    acc: ca.SX,
) -> tuple[ca.SX, ...]:
    f = mass * (acc + point_acceleration(w, alpha, center, is_carrier))
    return ca.mtimes(inertia, alpha) + cross(w, ca.mtimes(inertia, w)), f


_carrier_wrench = inlined(partial(_center_wrench, True))
_tip_wrench = inlined(partial(_center_wrench, False))


def inertia_wrenches(tree: Tree, motion: list[Pair], rates: list[Pair]) -> list[Pair]:
    """Inertial wrenches about the bodies' origins: the moment is n + c × f."""
    result: list[Pair] = []
    for node, (n, f) in zip(tree.nodes, center_wrenches(tree, motion, rates), strict=True):
        result.append((n + cross(node.center_D, f), f))
    return result


def lumped(tree: Tree) -> Tree:
    """The same tree with fewer bodies that have mass, for the same motion and forces.

    A wheel that spins about its own axis a has the inertia I = I_t (1 − a aᵀ) + I_a a aᵀ. Its mass
    and the part across the axis move with its carrier as if they were welded on; the wheel keeps
    I_a a aᵀ alone. A body on a rigid joint gives all it has to its parent.
    """
    nodes = list(tree.nodes)
    for k in reversed(range(len(nodes))):
        node = nodes[k]
        is_welded = not node.H.shape[1]
        if node.parent < 0 or not (node.is_rotor or is_welded):
            continue
        axis = node.H[0:3, 0] if node.is_rotor else ca.SX.zeros(3)
        along = ca.dot(axis, ca.mtimes(node.inertia_D, axis)) * ca.mtimes(axis, axis.T)
        nodes[node.parent] = _joined(nodes[node.parent], node, node.inertia_D - along)
        nodes[k] = dataclasses.replace(
            node, mass=ca.SX(0), center_D=ca.SX.zeros(3), inertia_D=along
        )
    is_same = all(new is old for new, old in zip(nodes, tree.nodes, strict=True))
    return tree if is_same else dataclasses.replace(tree, nodes=tuple(nodes))


def _joined(parent: Node, child: Node, inertia: ca.SX) -> Node:
    """A body with the mass of another and an inertia about that one's mass center welded on.

    With d from the one mass center to the other:

    c = c_P + m/(m_P + m) d,    I = I_P + I + m_P m/(m_P + m) (|d|² 1 − d dᵀ)
    """
    if parent.mass.is_zero() and child.mass.is_zero():
        total = parent.inertia_D + ca.mtimes(child.R_PD, ca.mtimes(inertia, child.R_PD.T))
        return dataclasses.replace(parent, inertia_D=total)
    mass, center, total = _welded(
        *(parent.mass, parent.center_D, parent.inertia_D),
        *(child.mass, child.center_D, inertia, child.R_PD, child.p_PB),
    )
    return dataclasses.replace(parent, mass=mass, center_D=center, inertia_D=total)


@inlined
def _welded(
    m_P: ca.SX, c_P: ca.SX, I_P: ca.SX, m: ca.SX, c: ca.SX, inertia: ca.SX, R: ca.SX, p: ca.SX
) -> tuple[ca.SX, ...]:
    mass = m_P + m
    d = p + ca.mtimes(R, c) - c_P
    # two bodies without mass have their center anywhere
    share = m / ca.fmax(mass, TINY)
    total = I_P + ca.mtimes(R, ca.mtimes(inertia, R.T))
    total = total + m_P * share * (ca.dot(d, d) * EYE3 - ca.mtimes(d, d.T))
    return mass, c_P + share * d, total


def generalized_inertia(tree: Tree, columns: list[list[Pair]], S: ca.SX) -> ca.SX:
    """I_jk = Σ_bodies ω_j·I ω_k + m c̃_j·c̃_k + Σ_rotors A S_j S_k, symmetric by construction."""
    n = len(columns)
    inertia = ca.SX.zeros(n, n)
    # one column of all ω and c̃ each, and of all momenta
    twist = [ca.vertcat(*[part for pair in column for part in pair]) for column in columns]
    for j in range(n):
        momenta = [
            _momentum(node.mass, node.inertia_D, w, v)
            for node, (w, v) in zip(tree.nodes, columns[j], strict=True)
        ]
        for k in range(j + 1):
            entry = ca.dot(ca.vertcat(*momenta), twist[k]) if momenta else ca.SX(0)
            for at, armature in tree.armatures:
                entry += armature * S[at, j] * S[at, k]
            inertia[j, k] = inertia[k, j] = entry
    return inertia


@inlined
def _momentum(mass: ca.SX, inertia: ca.SX, w: ca.SX, v: ca.SX) -> ca.SX:
    return ca.vertcat(ca.mtimes(inertia, w), mass * v)


def rotor_forces(tree: Tree, vdot: ca.SX) -> ca.SX:
    """A v̇ of the rotors on the tree speeds."""
    forces = ca.SX(vdot.shape[0], vdot.shape[1])
    for at, armature in tree.armatures:
        forces[at, :] = armature * vdot[at, :]
    return forces


def mass_matrix(kin: Kinematics) -> ca.SX:
    """M (nv×nv) on the tree speeds, from the twists of unit tree speeds."""
    columns = []
    for j in range(kin.num_speeds):
        e = ca.SX.zeros(kin.num_speeds)
        e[j] = 1
        columns.append(at_mass_centers(kin.tree, twists(kin.tree, e)))
    return generalized_inertia(kin.tree, columns, ca.SX.eye(kin.num_speeds))


def inverse_dynamics(kin: Kinematics, vdot: ca.SX) -> ca.SX:
    """M v̇ + c on the tree speeds by the Newton–Euler recursion, at v = Sη + s."""
    rates = accelerations(kin.tree, kin.twists, kin.v, vdot)
    wrenches = inertia_wrenches(kin.tree, kin.twists, rates)
    return generalized_forces(kin.tree, wrenches, kin.num_speeds) + rotor_forces(kin.tree, vdot)


def kinetic_energy(tree: Tree, motion: list[Pair], v: ca.SX) -> ca.SX:
    """K = ½ Σ ω·I ω + m |ċ|², and ½ A v² of rotors; the motion is that of the tree speeds v."""
    energy = ca.SX(0)
    for node, (w, v_C) in zip(tree.nodes, at_mass_centers(tree, motion), strict=True):
        energy += _kinetic_energy(node.mass, node.inertia_D, w, v_C)
    for at, armature in tree.armatures:
        energy += armature * v[at] ** 2 / 2
    return energy


@inlined
def _kinetic_energy(mass: ca.SX, inertia: ca.SX, w: ca.SX, v: ca.SX) -> ca.SX:
    return ca.dot(w, ca.mtimes(inertia, w)) / 2 + mass * ca.dot(v, v) / 2


def row_rates(kin: Kinematics) -> ca.SX:
    """Ȧ v + ȧ of the independent rows: their exact rates at constant v, at v = Sη + s."""
    symbols = kin.symbols
    if not kin.row_basis:
        return ca.SX(0, 1)
    is_combined = kin.combination is not None
    rows = kin.velocities if is_combined else kin.independent(kin.velocities)
    at = ca.vertcat(symbols.q, symbols.t, symbols.w)
    along = ca.vertcat(ca.mtimes(kin.N, symbols.v), ca.SX(1), symbols.wdot)
    rates = kin.at_speeds(ca.jtimes(rows, at, along))
    return kin.independent(rates) if is_combined else rates


def basis_rate(kin: Kinematics) -> ca.SX:
    """Ė v of the rows η = E v, at v = Sη + s."""
    symbols = kin.symbols
    along = ca.mtimes(kin.N, symbols.v)
    if not kin.num_independent_speeds:
        return ca.SX(0, 1)
    return kin.at_speeds(ca.jtimes(ca.mtimes(kin.E, symbols.v), symbols.q, along))


_ZERO3 = vector([0, 0, 0])


class _Composite(NamedTuple):
    """Mass, first moment and inertia about the origin of a node, in its axes."""

    mass: ca.SX
    moment: ca.SX
    inertia: ca.SX

    def momentum(self, w: ca.SX, v: ca.SX) -> Pair:
        """Angular momentum about the origin and momentum, for a twist there."""
        n = ca.mtimes(self.inertia, w) + cross(self.moment, v)
        return n, self.mass * v + cross(w, self.moment)

    def joined(self, other: _Composite | None) -> _Composite:
        """Both together."""
        if other is None:
            return self
        return _Composite(*[a + b for a, b in zip(self, other, strict=True)])


class _OnParent(NamedTuple):
    """A body with its load as its parent feels it."""

    load: _Composite  #: composite about the parent's origin
    momenta: list[Pair]  #: Xᵀ F of (1), column by column
    own: ca.SX  #: Hᵀ F


def joint_inertias(tree: Tree) -> dict[int, ca.SX]:
    """Node → Hᵀ M H of a body that carries nothing but lumped wheels, on a joint with one speed.

    It is the same in all axes; in those of the body it is a constant.
    """
    carriers = {node.parent for node in tree.nodes if not _is_spin(node)}
    found = {}
    for k, node in enumerate(tree.nodes):
        if k not in carriers and node.H.shape[1] == 1:
            w, v = node.H[0:3, 0], node.H[3:6, 0] + cross(node.H[0:3, 0], node.center_D)
            found[k] = ca.dot(w, ca.mtimes(node.inertia_D, w)) + node.mass * ca.dot(v, v)
    return found


def composite_inertia(tree: Tree, known: Mapping[int, ca.SX], S: ca.SX) -> ca.SX:
    """SᵀMS for the columns of S as speeds of the joints; `known` are joint inertias."""
    num = S.shape[1]
    columns = [twists(tree, ca.densify(S[:, j])) for j in range(num)]
    entries = {(j, k): ca.SX(0) for j in range(num) for k in range(j + 1)}
    loads: dict[int, _Composite] = {}
    for i in reversed(range(len(tree.nodes))):
        node = tree.nodes[i]
        moving = [k for k, column in enumerate(columns) if not _is_still(column[i])]
        if node.parent < 0:
            whole = _about(node, node.center_D, node.inertia_D).joined(loads.get(i))
            momenta = {k: whole.momentum(*columns[k][i]) for k in moving}
            for j, k in _pairs(moving):
                entries[j, k] += _power(*momenta[j], *columns[k][i])
            continue
        speeds = [ca.densify(S[node.speeds, j]) for j in range(num)]
        carrier = [column[node.parent] for column in columns]
        if _is_spin(node):
            # (2)
            a = ca.mtimes(node.R_PD, node.H[0:3, 0])
            sigma = [ca.dot(a, w) + s for (w, _), s in zip(carrier, speeds, strict=True)]
            for j, k in entries:
                entries[j, k] += known[i] * sigma[j] * sigma[k]
            continue
        # (1)
        load, moved, own = _on_parent(node, loads.get(i))
        loads[node.parent] = load.joined(loads.get(node.parent))
        if moved:
            own = known.get(i, own)
            felt = [ca.vertcat(*[_power(*f, *twist) for f in moved]) for twist in carrier]
            for j, k in entries:
                entries[j, k] += _joint_inertia(own, speeds[j], speeds[k], felt[j], felt[k])
    for at, armature in tree.armatures:
        for j, k in entries:
            entries[j, k] += armature * S[at, j] * S[at, k]
    inertia = ca.SX.zeros(num, num)
    for (j, k), entry in entries.items():
        inertia[j, k] = inertia[k, j] = entry
    return inertia


def _is_still(twist: Pair) -> bool:
    return bool(twist[0].is_zero() and twist[1].is_zero())


def _pairs(some: list[int]) -> list[tuple[int, int]]:
    return [(j, k) for at, j in enumerate(some) for k in some[: at + 1]]


@inlined
def _joint_inertia(
    own: ca.SX, speeds: ca.SX, others: ca.SX, felt: ca.SX, felt_by_others: ca.SX
) -> ca.SX:
    mixed = ca.dot(speeds, felt_by_others) + ca.dot(felt, others)
    return mixed + ca.dot(speeds, ca.mtimes(own, others))


def motion_forces(
    tree: Tree, known: Mapping[int, ca.SX], v: ca.SX, vdot: ca.SX, world: ca.SX
) -> ca.SX:
    """Inverse dynamics: generalized forces for joint speeds v and their rates.

    `tree`: tree in which wheels may be lumped with their carriers. `known`: joint inertias; none
    where no wheel is lumped, though one may have no mass of its own. `world`: acceleration of the
    world; −g for weights.
    """
    motion = twists(tree, v)
    rates = accelerations(tree, motion, v, vdot, world)
    wrenches = inertia_wrenches(tree, motion, rates)
    about_axes: dict[int, ca.SX] = {}
    for k, node in enumerate(tree.nodes):
        if k in known and _is_spin(node):
            # (3)
            a, at = ca.mtimes(node.R_PD, node.H[0:3, 0]), node.speeds.start
            w, alpha = motion[node.parent][0], rates[node.parent][0]
            spin, rate = ca.dot(a, w) + v[at], ca.dot(a, alpha) + vdot[at]
            about_axes[at] = known[k] * rate
            n, f = wrenches[node.parent]
            n = n + about_axes[at] * a + known[k] * spin * cross(w, a)
            wrenches[node.parent], wrenches[k] = (n, f), (_ZERO3, _ZERO3)
    forces = generalized_forces(tree, wrenches, v.shape[0])
    for at, moment in about_axes.items():
        forces[at] = moment
    return forces + rotor_forces(tree, vdot)


def _is_spin(node: Node) -> bool:
    """Whether a wheel is lumped with its carrier but for its spin."""
    return node.is_rotor and node.parent >= 0 and bool(node.mass.is_zero())


def _on_parent(node: Node, load: _Composite | None) -> _OnParent:
    R, p, H = node.R_PD, node.p_PB, node.H
    columns: list[Pair] = [(H[0:3, j], H[3:6, j]) for j in range(H.shape[1])]
    if load is None:
        # a single body: about its mass center
        place = p + ca.mtimes(R, node.center_D)
        columns = [(w, v + cross(w, node.center_D)) for w, v in columns]
        momenta = [(ca.mtimes(node.inertia_D, w), node.mass * v) for w, v in columns]
        moved = _about(node, place, turned_inertia(R, node.inertia_D))
    else:
        place = p
        whole = _about(node, node.center_D, node.inertia_D).joined(load)
        momenta = [whole.momentum(w, v) for w, v in columns]
        before = ca.mtimes(R, whole.moment)
        after = before + whole.mass * p
        inertia = turned_inertia(R, whole.inertia) + _parallel(p, before, after)
        moved = _Composite(whole.mass, after, inertia)
    own = ca.SX.zeros(len(columns), len(columns))
    for j, momentum in enumerate(momenta):
        for k, twist in enumerate(columns):
            own[j, k] = _power(*momentum, *twist)
    forces = [ca.mtimes(R, f) for _, f in momenta]
    moments = [ca.mtimes(R, n) + cross(place, f) for (n, _), f in zip(momenta, forces, strict=True)]
    return _OnParent(moved, list(zip(moments, forces, strict=True)), own)


def _about(node: Node, c: ca.SX, inertia: ca.SX) -> _Composite:
    """A single body about the point from which c leads to its mass center."""
    moment = node.mass * c
    return _Composite(node.mass, moment, inertia + _parallel(c, _ZERO3, moment))


@inlined
def _parallel(p: ca.SX, before: ca.SX, after: ca.SX) -> ca.SX:
    """Parallel-axis term that moves an inertia to the point p before it.

    With the first moments before and after, after = before + m p:

    p·(before + after) 1 − p afterᵀ − before pᵀ, symmetric by construction
    """
    products = [p[k] * (before[k] + after[k]) for k in range(3)]
    result = ca.SX.zeros(3, 3)
    for j in range(3):
        result[j, j] = products[(j + 1) % 3] + products[(j + 2) % 3]
        for k in range(j):
            result[j, k] = result[k, j] = -(p[j] * after[k] + before[j] * p[k])
    return result


@inlined
def _power(n: ca.SX, f: ca.SX, w: ca.SX, v: ca.SX) -> ca.SX:
    return ca.dot(n, w) + ca.dot(f, v)


def articulated_solve(tree: Tree, b: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """v̇ of M v̇ = b on the tree speeds, and the pivots of all D."""
    num, right = len(tree.nodes), tree.by_joint(b)
    # what is taken over by the world, −1, is the last and goes nowhere
    inertia = [_spatial_inertia(n.mass, n.center_D, n.inertia_D) for n in tree.nodes]
    inertia.append(ca.SX.zeros(6, 6))
    bias = [ca.SX.zeros(6)] * (num + 1)
    kept: list[tuple[ca.SX, ca.SX]] = [(ca.SX(), ca.SX())] * num
    pivots: list[ca.SX] = []
    for k in reversed(range(num)):
        node = tree.nodes[k]
        G, y, found, inertia[node.parent], bias[node.parent] = _taken_over(
            node.R_PD,
            node.p_PB,
            node.H,
            node.armature,
            right[k],
            inertia[k],
            bias[k],
            inertia[node.parent],
            bias[node.parent],
        )
        kept[k] = (G, y)
        pivots += ca.vertsplit(found) if node.H.shape[1] else []
    rates: list[ca.SX] = []
    motion: list[ca.SX] = []
    for k, node in enumerate(tree.nodes):
        before = motion[node.parent] if node.parent >= 0 else ca.SX.zeros(6)
        rate, delta = _passed_motion(node.R_PD, node.p_PB, node.H, *kept[k], before)
        rates.append(rate)
        motion.append(delta)
    return (ca.vertcat(*rates) if rates else ca.SX(0, 1)), pivots


@inlined
def _taken_over(
    R_PD: ca.SX,
    p_PB: ca.SX,
    H: ca.SX,
    armature: ca.SX,
    b: ca.SX,
    I_A: ca.SX,
    p_A: ca.SX,
    I_P: ca.SX,
    p_P: ca.SX,
) -> tuple[ca.SX, ...]:
    """D⁻¹ Uᵀ, D⁻¹ e, pivots of D; inertia and force of the parent with (3) and (4) taken over."""
    U = ca.mtimes(I_A, H)
    D = ca.mtimes(H.T, U) + armature
    e = b - ca.mtimes(H.T, p_A)
    solved, pivots = symmetric_solve(D, ca.horzcat(U.T, e))
    G, y = solved[:, :6], solved[:, 6]
    left = _symmetric(I_A - ca.mtimes(U, G))
    passed = _wrench_to_parent(R_PD, p_PB, p_A + ca.mtimes(U, y))
    return G, y, stack(pivots), _symmetric(I_P + _moved(R_PD, p_PB, left)), p_P + passed


@inlined
def _passed_motion(
    R_PD: ca.SX, p_PB: ca.SX, H: ca.SX, G: ca.SX, y: ca.SX, before: ca.SX
) -> tuple[ca.SX, ...]:
    """v̇ of a joint by (5), and δ of its body by (1)."""
    delta = _motion_to_body(R_PD, p_PB, before)
    rate = y - ca.mtimes(G, delta)
    return rate, delta + ca.mtimes(H, rate)


@inlined
def _spatial_inertia(mass: ca.SX, center: ca.SX, inertia: ca.SX) -> ca.SX:
    """[[I + m c̃ c̃ᵀ, m c̃], [m c̃ᵀ, m 1]] about the body's origin, in D axes."""
    c, m = skew(center), mass
    about = inertia + m * ca.mtimes(c, c.T)
    return ca.vertcat(ca.horzcat(about, m * c), ca.horzcat(m * c.T, m * ca.SX.eye(3)))


def _moved(R: ca.SX, p_PB: ca.SX, inertia: ca.SX) -> ca.SX:
    """Xᵀ I X: the inertia as the parent feels it, about its own origin and in its axes."""
    p = skew(p_PB)
    upper, mixed, lower = inertia[:3, :3], inertia[:3, 3:], inertia[3:, 3:]
    A = ca.mtimes(R, ca.mtimes(upper, R.T))
    B = ca.mtimes(R, ca.mtimes(mixed, R.T))
    C = _symmetric(ca.mtimes(R, ca.mtimes(lower, R.T)))
    pC = ca.mtimes(p, C)
    Bp = ca.mtimes(B, p)
    corner = B + pC
    return ca.vertcat(ca.horzcat(A - Bp - Bp.T - ca.mtimes(pC, p), corner), ca.horzcat(corner.T, C))


def _symmetric(matrix: ca.SX) -> ca.SX:
    """The matrix with its upper triangle mirrored, so that only that is computed."""
    return ca.triu2symm(ca.triu(matrix))


def _wrench_to_parent(R: ca.SX, p_PB: ca.SX, wrench: ca.SX) -> ca.SX:
    f = ca.mtimes(R, wrench[3:])
    return ca.vertcat(ca.mtimes(R, wrench[:3]) + cross(p_PB, f), f)


def _motion_to_body(R: ca.SX, p_PB: ca.SX, motion: ca.SX) -> ca.SX:
    w, v = motion[:3], motion[3:]
    return ca.vertcat(ca.mtimes(R.T, w), ca.mtimes(R.T, v + cross(w, p_PB)))


_UNKNOWN = vector([float("nan")] * 3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointWrench:
    """Wrench of a joint on its child, traced, in world axes."""

    joint: str  #: name of the joint
    point: ca.SX  #: reference point of the wrench, m
    #: force, moment: N and N·m; NaN where they are not known (`unknown_wrenches`)
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
    outside = list(equations.forces.wrenches())
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
    k = kin.tree.index[body]
    if k < 0:
        return
    node = kin.tree.nodes[k]
    f = ca.mtimes(node.R_WD.T, force)
    n = ca.mtimes(node.R_WD.T, moment + cross(point - node.p_WB, force))
    outside[k] = (outside[k][0] + n, outside[k][1] + f)


def _pose(kin: Kinematics, body: str) -> tuple[ca.SX, ca.SX]:
    k = kin.tree.index[body]
    if k < 0:
        return EYE3, vector([0, 0, 0])
    return kin.tree.nodes[k].R_WB, kin.tree.nodes[k].p_WB
