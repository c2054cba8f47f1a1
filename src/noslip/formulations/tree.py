"""Dynamics on the tree, shared by formulations: inertia, Newton–Euler wrenches, energy, rates.

A joint may have an armature: the inertia A of a motor's rotor as the joint feels it, reflected by
its gear. It resists the joint's speed alone, A v̇ and ½ A v²; how the rotor is carried along by the
bodies, which a gear of ratio n makes n times smaller, is left out.
"""

from __future__ import annotations

import dataclasses

import casadi as ca

from noslip.algebra import EYE3, cross, inlined
from noslip.kinematics import (
    Kinematics,
    Node,
    Pair,
    Tree,
    accelerations,
    generalized_forces,
    point_acceleration,
    twists,
)

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


@inlined
def _carrier_wrench(*of_body: ca.SX) -> tuple[ca.SX, ...]:
    return _center_wrench(True, *of_body)


@inlined
def _tip_wrench(*of_body: ca.SX) -> tuple[ca.SX, ...]:
    return _center_wrench(False, *of_body)


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
    """I_jk = Σ_bodies ω_j·I ω_k + m c̃_j·c̃_k + Σ_rotors A S_j S_k, symmetric by construction.

    Parameters
    ----------
    tree : of the bodies.
    columns : unit-speed twists.
    S : (nv, n) tree speeds of the columns.
    """
    n = len(columns)
    inertia = ca.SX.zeros(n, n)
    # one column of all ω and c̃ each, and of all momenta
    twist = [ca.vertcat(*[part for pair in column for part in pair]) for column in columns]
    for j in range(n):
        momenta = [
            _momentum(node.mass, node.inertia_D, w, v)[0]
            for node, (w, v) in zip(tree.nodes, columns[j], strict=True)
        ]
        for k in range(j + 1):
            entry = ca.dot(ca.vertcat(*momenta), twist[k]) if momenta else ca.SX(0)
            for at, armature in tree.armatures():
                entry += armature * S[at, j] * S[at, k]
            inertia[j, k] = inertia[k, j] = entry
    return inertia


@inlined
def _momentum(mass: ca.SX, inertia: ca.SX, w: ca.SX, v: ca.SX) -> tuple[ca.SX]:
    return (ca.vertcat(ca.mtimes(inertia, w), mass * v),)


def rotor_forces(tree: Tree, vdot: ca.SX) -> ca.SX:
    """A v̇ of the rotors on the tree speeds."""
    forces = ca.SX(vdot.shape[0], vdot.shape[1])
    for at, armature in tree.armatures():
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
        energy += _kinetic_energy(node.mass, node.inertia_D, w, v_C)[0]
    for at, armature in tree.armatures():
        energy += armature * v[at] ** 2 / 2
    return energy


@inlined
def _kinetic_energy(mass: ca.SX, inertia: ca.SX, w: ca.SX, v: ca.SX) -> tuple[ca.SX]:
    return (ca.dot(w, ca.mtimes(inertia, w)) / 2 + mass * ca.dot(v, v) / 2,)


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
