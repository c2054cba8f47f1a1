"""Composite-rigid-body algorithm: generalized inertia and inverse dynamics in fewer operations.

A body and all that it carries, as if welded to it, are a composite body. With V_B = X V_P + H s for
the twist of a body whose joint has the speeds s, twice the kinetic energy of all bodies is that of
the root's composite at the root's twist, and for every other joint

    (1)  sᵀ (Hᵀ F) s + 2 sᵀ (Xᵀ F)ᵀ V_P,        F = M_composite H

A wheel that spins about its own axis a is lumped with its carrier but for

    (2)  I_a σ²,        σ = a·ω + rate

and its spin needs of the carrier, and about its own axis,

    (3)  n = I_a (σ̇ a + σ ω × a),   I_a σ̇          since ȧ·ω = (ω × a)·ω = 0

Reference: [Featherstone2008], chapter 6, with the columns of a null-space basis for unit speeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca

from noslip.algebra import cross, inlined, turned_inertia, vector
from noslip.formulations.tree import inertia_wrenches, rotor_forces
from noslip.kinematics import Node, Pair, Tree, accelerations, generalized_forces, twists

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
    """A body with its load as its parent feels it.

    Parameters
    ----------
    load : composite about the parent's origin.
    momenta : Xᵀ F of (1), column by column.
    own : Hᵀ F.
    """

    load: _Composite
    momenta: list[Pair]
    own: ca.SX


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
        if node.parent < 0:
            whole = _about(node, node.center_D, node.inertia_D).joined(loads.get(i))
            momenta = [whole.momentum(*column[i]) for column in columns]
            for j, k in entries:
                entries[j, k] += _power(momenta[j], columns[k][i])
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
            felt = [ca.vertcat(*[_power(f, twist) for f in moved]) for twist in carrier]
            for j, k in entries:
                of_joint = _joint_inertia(own, speeds[j], speeds[k], felt[j], felt[k])
                entries[j, k] += of_joint[0]
    for at, armature in tree.armatures():
        for j, k in entries:
            entries[j, k] += armature * S[at, j] * S[at, k]
    inertia = ca.SX.zeros(num, num)
    for (j, k), entry in entries.items():
        inertia[j, k] = inertia[k, j] = entry
    return inertia


@inlined
def _joint_inertia(
    own: ca.SX, speeds: ca.SX, others: ca.SX, felt: ca.SX, felt_by_others: ca.SX
) -> tuple[ca.SX]:
    mixed = ca.dot(speeds, felt_by_others) + ca.dot(felt, others)
    return (mixed + ca.dot(speeds, ca.mtimes(own, others)),)


def motion_forces(
    tree: Tree, known: Mapping[int, ca.SX], v: ca.SX, vdot: ca.SX, world: ca.SX
) -> ca.SX:
    """Inverse dynamics: generalized forces for joint speeds v and their rates.

    Parameters
    ----------
    tree : in which wheels may be lumped with their carriers.
    known : joint inertias; none where no wheel is lumped, though one may have no mass of its own.
    world : acceleration of the world; −g for weights.
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
            own[j, k] = _power(momentum, twist)
    forces = [ca.mtimes(R, f) for _, f in momenta]
    moments = [ca.mtimes(R, n) + cross(place, f) for (n, _), f in zip(momenta, forces, strict=True)]
    return _OnParent(moved, list(zip(moments, forces, strict=True)), own)


def _about(node: Node, c: ca.SX, inertia: ca.SX) -> _Composite:
    """A single body about the point from which c leads to its mass center."""
    moment = node.mass * c
    return _Composite(node.mass, moment, inertia + _parallel(c, _ZERO3, moment))


def _parallel(p: ca.SX, before: ca.SX, after: ca.SX) -> ca.SX:
    return _parallel_term(p, before, after)[0]


@inlined
def _parallel_term(p: ca.SX, before: ca.SX, after: ca.SX) -> tuple[ca.SX]:
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
    return (result,)


def _power(wrench: Pair, twist: Pair) -> ca.SX:
    return _power_of(*wrench, *twist)[0]


@inlined
def _power_of(n: ca.SX, f: ca.SX, w: ca.SX, v: ca.SX) -> tuple[ca.SX]:
    return (ca.dot(n, w) + ca.dot(f, v),)
