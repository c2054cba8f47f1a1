"""Hamel's terms joint by joint, without coordinates: how momenta turn with the axes of the speeds.

With p a covector field on the configurations, given along the tree speeds v,

    Nᵀ ((∂a/∂q) − (∂a/∂q)ᵀ) q̇ + Nᵀ ∂a/∂t,   a = (N⁺)ᵀ p

is what `boltzmann_hamel.hamel_term` computes by differentiating N. Speeds in body axes turn with
them, which is known in closed form for every joint; what is left is the field's own change:

    (1)  turn(p, v) + ṗ − Nᵀ ∂(p·v)/∂q

with turn = ω × p for directions, and v × p for the turning itself.
"""

from __future__ import annotations

import casadi as ca

from noslip.kinematics.kinematics import Kinematics


def turning_term(kin: Kinematics, p: ca.SX, v: ca.SX) -> ca.SX:
    """(1) on the tree speeds.

    Parameters
    ----------
    kin : kinematics.
    p : (nv,) momenta along the tree speeds, as functions of q and t.
    v : (nv,) tree speeds, which may be expressions of q; only their values matter.
    """
    symbols = kin.symbols
    fixed = ca.SX.sym("v", kin.num_speeds)
    q_dot = ca.mtimes(kin.N, fixed)
    rate = ca.jtimes(p, ca.vertcat(symbols.q, symbols.t), ca.vertcat(q_dot, ca.SX(1)))
    slope = ca.mtimes(kin.N.T, ca.gradient(ca.dot(p, fixed), symbols.q))
    whole = _turned(kin, p, fixed) + rate - slope
    return ca.substitute([ca.densify(whole)], [fixed], [v])[0]


def _turned(kin: Kinematics, p: ca.SX, v: ca.SX) -> ca.SX:
    """turn(p, v) of (1), zero for joints of one speed."""
    parts = [
        node.joint.type.hamel_terms(v[node.speeds], p[node.speeds], kin.reader)
        for node in kin.tree.nodes
    ]
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)
