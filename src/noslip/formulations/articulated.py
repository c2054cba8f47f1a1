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

from noslip.algebra import cross, inlined, skew, stack, symmetric_solve
from noslip.kinematics import Tree


def articulated_solve(tree: Tree, b: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
    """v̇ of M v̇ = b on the tree speeds, and the pivots of all D."""
    num, right = len(tree.nodes), tree.by_joint(b)
    # what is taken over by the world, −1, is the last and goes nowhere
    inertia = [_spatial_inertia(n.mass, n.center_D, n.inertia_D)[0] for n in tree.nodes]
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
def _spatial_inertia(mass: ca.SX, center: ca.SX, inertia: ca.SX) -> tuple[ca.SX]:
    """[[I + m c̃ c̃ᵀ, m c̃], [m c̃ᵀ, m 1]] about the body's origin, in D axes."""
    c, m = skew(center), mass
    about = inertia + m * ca.mtimes(c, c.T)
    return (ca.vertcat(ca.horzcat(about, m * c), ca.horzcat(m * c.T, m * ca.SX.eye(3))),)


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
