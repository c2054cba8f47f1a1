"""Projection of a state onto the holonomic constraints: one step, as an expression.

    δ = W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ g,    q ← q − N δ,    quaternions to unit length

One Gauss–Newton step onto the independent holonomic rows g = 0. It is the least-norm step, each
tree speed weighed by the inertia that moves with it at an ordinary configuration: W are numbers,
since the whole mass matrix would cost more than all the rest and gain nothing.

Where rows repeat each other with shares that vary, such as those of two side rods, all of them are
held together, by combinations (`Kinematics.independent_positions`).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from noslip.algebra import symmetric_solve
from noslip.formulations import kinetic_energy
from noslip.kinematics import Kinematics, twists


def is_projected(kin: Kinematics) -> bool:
    """Whether a model has anything to project on: holonomic rows or unit quaternions."""
    return bool(kin.probe.quaternions) or bool(kin.held_positions)


def projected_state(kin: Kinematics, state: ca.SX) -> ca.SX:
    """[x on the constraints; residual before].

    The tree speeds are carried over and η is read from them at the new place.
    """
    symbols = kin.symbols
    # the rows are taken at unit quaternions, so that one step squares what is left of them
    unit, q = _normalized(kin, symbols.q), symbols.q
    residual = ca.SX(0)
    if kin.held_positions:
        G, values = kin.independent_positions
        X = ca.mtimes(ca.diag(1 / _weights(kin)), G.T)
        y, _ = symmetric_solve(ca.mtimes(G, X), values)
        q = _shortened(kin, q - ca.mtimes(kin.N, ca.mtimes(X, y)))
        held = [kin.probe.holonomic.index(k) for k in kin.held_positions]
        for entry in ca.vertsplit(kin.g[held, :]):
            residual = ca.fmax(residual, ca.fabs(entry))
    q, residual = ca.substitute([q, residual], [symbols.q], [unit])
    for k in kin.probe.quaternions:
        residual = ca.fmax(residual, ca.fabs(ca.norm_2(symbols.q[k : k + 4]) - 1))
    E_there = ca.substitute([kin.E], [symbols.q], [q])[0]
    eta = ca.mtimes(E_there, kin.v) if ca.depends_on(kin.E, symbols.q) else kin.eta
    rest = state[kin.num_coordinates + kin.num_independent_speeds :, :]
    return ca.vertcat(q, eta, rest, residual)


def _normalized(kin: Kinematics, q: ca.SX) -> ca.SX:
    """Coordinates with quaternions of unit length."""
    parts = list(ca.vertsplit(q)) if q.shape[0] else []
    for k in kin.probe.quaternions:
        norm = ca.norm_2(q[k : k + 4])
        for j in range(k, k + 4):
            parts[j] = q[j] / norm
    return ca.vertcat(*parts) if parts else q


def _shortened(kin: Kinematics, q: ca.SX) -> ca.SX:
    """Coordinates with quaternions a little longer than 1 brought back to that.

    By 1/√x = 3/2 − x/2 + …: a step across unit quaternions makes them longer by its square, so
    that the rest is of its fourth power. A root would take longer than all the rest of the step.
    """
    parts = list(ca.vertsplit(q)) if q.shape[0] else []
    for k in kin.probe.quaternions:
        share = 1.5 - 0.5 * ca.sumsqr(q[k : k + 4])
        for j in range(k, k + 4):
            parts[j] = q[j] * share
    return ca.vertcat(*parts) if parts else q


def _weights(kin: Kinematics) -> ca.DM:
    """(nv, 1) inertia of each tree speed alone, or lengths where one moves no mass."""
    symbols = kin.symbols
    motion = twists(kin.tree, symbols.v)
    kinetic = kinetic_energy(kin.tree, motion, symbols.v)
    energy = ca.Function("K", [symbols.q, symbols.params, symbols.v], [kinetic])
    ((_, q),) = kin.probe.configurations(1)
    inertia = [2.0 * float(energy(q, kin.probe.params, e)) for e in np.eye(kin.num_speeds)]
    if min(inertia) <= 1e-9 * max(inertia):
        inertia = [kin.length**2 if angular else 1.0 for angular in kin.probe.is_angular]
    return ca.DM(inertia)
