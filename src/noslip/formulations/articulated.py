"""Articulated-body algorithm: accelerations of a tree without constraint rows, in O(n).

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
"""

from __future__ import annotations

import casadi as ca

from noslip.kinematics.linear import symmetric_solve
from noslip.kinematics.tree import Node, Tree
from noslip.spatial import cross, skew


def articulated_solve(tree: Tree, b: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """v̇ of M v̇ = b on the tree speeds, and the pivots of all D."""
    num = len(tree.nodes)
    inertia = [_spatial_inertia(node) for node in tree.nodes]
    bias: list[ca.SX | None] = [None] * num
    kept: list[tuple[ca.SX, ca.SX, ca.SX]] = [(ca.SX(), ca.SX(), ca.SX())] * num
    pivots: list[ca.SX] = []
    for k in reversed(range(num)):
        node, I_A, p_A = tree.nodes[k], inertia[k], bias[k]
        if node.H.shape[1]:
            U = ca.sparsify(ca.mtimes(I_A, node.H))
            D = ca.mtimes(node.H.T, U)
            if not node.armature.is_zero():
                D = D + node.armature
            e = b[node.speeds]
            if p_A is not None:
                e = e - ca.mtimes(node.H.T, p_A)
            solved, magnitudes = symmetric_solve(D, ca.horzcat(U.T, e))
            pivots += magnitudes
            G, y = ca.sparsify(solved[:, :6]), solved[:, 6]
            kept[k] = (U, G, y)
            if node.parent >= 0:
                I_A = _symmetric(I_A - ca.mtimes(U, G))
                push = ca.mtimes(U, y)
                p_A = push if p_A is None else p_A + push
        if node.parent >= 0:
            inertia[node.parent] = _symmetric(inertia[node.parent] + _moved(node, I_A))
            if p_A is not None:
                moved, there = _wrench_to_parent(node, p_A), bias[node.parent]
                bias[node.parent] = moved if there is None else there + moved
    rates: list[ca.SX] = [ca.SX(0)] * b.shape[0]
    motion: list[ca.SX | None] = []
    for k, node in enumerate(tree.nodes):
        delta = motion[node.parent] if node.parent >= 0 else None
        delta = None if delta is None else _motion_to_body(node, delta)
        if node.H.shape[1]:
            _, G, y = kept[k]
            rate = y if delta is None else y - ca.mtimes(G, delta)
            own = ca.mtimes(node.H, rate)
            delta = own if delta is None else delta + own
            for j, at in enumerate(range(node.speeds.start, node.speeds.stop)):
                rates[at] = rate[j]
        motion.append(delta)
    return (ca.vertcat(*rates) if rates else ca.SX(0, 1)), pivots


def _spatial_inertia(node: Node) -> ca.SX:
    """[[I + m c̃ c̃ᵀ, m c̃], [m c̃ᵀ, m 1]] about the body's origin, in D axes."""
    c, m = skew(node.center_D), node.mass
    about = node.inertia_D + m * ca.mtimes(c, c.T)
    return ca.sparsify(ca.vertcat(ca.horzcat(about, m * c), ca.horzcat(m * c.T, m * ca.SX.eye(3))))


def _moved(node: Node, inertia: ca.SX) -> ca.SX:
    """Xᵀ I X: the inertia as the parent feels it, about its own origin and in its axes."""
    R, p = node.R_PD, skew(node.p_PB)
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
    upper = ca.triu(matrix)
    return ca.sparsify(ca.triu2symm(upper))


def _wrench_to_parent(node: Node, wrench: ca.SX) -> ca.SX:
    f = ca.mtimes(node.R_PD, wrench[3:])
    return ca.vertcat(ca.mtimes(node.R_PD, wrench[:3]) + cross(node.p_PB, f), f)


def _motion_to_body(node: Node, motion: ca.SX) -> ca.SX:
    w, v = motion[:3], motion[3:]
    to_D = node.R_PD.T
    return ca.vertcat(ca.mtimes(to_D, w), ca.mtimes(to_D, v + cross(w, node.p_PB)))
