"""The Gibbs–Appell equations: the gradient of the acceleration energy.

What it gives: the reduced equations from one scalar function, without constraint forces and without
twists of unit speeds. When to choose it: as an independent route; it differentiates a scalar, so it
costs more to trace than the complement.

Letters
-------
G          acceleration energy (Appell's S, which is our null-space basis)
η̇, v̇       independent and tree accelerations, v̇ = S η̇ + Ṡη + ṡ
ω, α, a    angular velocity, angular acceleration, acceleration of a mass center

Derivation
----------
    (1)  G = Σ_bodies ½ m a·a + ½ α·I α + α·(ω × I ω)
    (2)  ∂G/∂η̇ = Q̃ + B̃ u,  the generalized forces on η                      [Appell1899]

G is quadratic in η̇, so its Hessian is the reduced mass matrix and its gradient at η̇ = 0 the bias.
The same function of all tree accelerations gives the reactions: ∂G/∂v̇ = Q + B u + Aᵀλ.

Departures
----------
None. [SahaAngeles1991] names the method in its introduction and remarks that G is harder to write
down than the kinetic energy; tracing writes it down.

Reference: [Appell1899], as named in [SahaAngeles1991].
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.algebra import cross
from noslip.formulations.equations import AbstractFormulation, Blocks, Equations
from noslip.formulations.generalized_forces import applied_forces
from noslip.formulations.tree_dynamics import kinetic_energy
from noslip.kinematics import Kinematics, accelerations


@dataclass(frozen=True, slots=True)
class GibbsAppell(AbstractFormulation):
    """Gibbs and Appell's acceleration energy."""

    name = "Gibbs–Appell equations"
    word = "gibbs-appell"
    reference = "Appell1899"
    derivation = "noslip.show.equations.derivations:gibbs_appell"

    def fill(self, kinematics: Kinematics) -> Equations:
        """Blocks of the reduced equations from the derivatives of the acceleration energy."""
        kin = kinematics
        forces = applied_forces(kin)
        # (1), (2) in the independent accelerations
        etadot = ca.SX.sym("etadot", kin.num_independent_speeds)
        G = acceleration_energy(kin, ca.mtimes(kin.S, etadot) + kin.vdot0)
        mass, gradient = ca.hessian(G, etadot)
        bias = ca.substitute([gradient], [etadot], [ca.SX.zeros(etadot.shape)])[0]
        # the same function of all tree accelerations, for the reactions
        vdot = ca.SX.sym("vdot", kin.num_speeds)
        needed = ca.gradient(acceleration_energy(kin, vdot), vdot)
        needed = ca.substitute([needed], [vdot], [ca.mtimes(kin.S, etadot) + kin.vdot0])[0]
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: Blocks(
                mass=ca.densify(mass),
                bias=ca.densify(bias),
                forces=ca.mtimes(kin.S.T, forces.Q),
                inputs=ca.mtimes(kin.S.T, forces.B),
            ),
            forces=forces,
            etadot=etadot,
            reactions=lambda: needed - forces.Q - ca.mtimes(forces.B, kin.acting_inputs),
            energy=lambda: kinetic_energy(kin.tree, kin.twists, kin.v),
        )


def acceleration_energy(kin: Kinematics, vdot: ca.SX) -> ca.SX:
    """G of the bodies at v = Sη + s and tree accelerations v̇ (up to terms without v̇)."""
    rates = accelerations(kin.tree, kin.twists, kin.v, vdot)
    energy = ca.SX(0)
    for node, (w, _), (alpha, acc) in zip(kin.tree.nodes, kin.twists, rates, strict=True):
        c, inertia = node.center_D, node.inertia_D
        a = acc + cross(alpha, c) + cross(w, cross(w, c))
        spin = cross(w, ca.mtimes(inertia, w))
        energy += node.mass * ca.dot(a, a) / 2
        energy += ca.dot(alpha, ca.mtimes(inertia, alpha)) / 2 + ca.dot(alpha, spin)
    for at, armature in kin.tree.armatures:
        energy += armature * vdot[at] ** 2 / 2
    return energy
