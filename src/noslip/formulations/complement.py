"""The natural orthogonal complement: reduced equations from unit-speed twists.

What it gives: I η̇ = C η + τ + γ + δ, the minimal equations free of constraint forces. When to
choose it: as a default; it differentiates nothing and costs least.

Letters
-------
θ̇ (paper) → η        independent speeds
t (paper) → V         stacked twists of the bodies, angular part first, at the mass centers
T                     natural orthogonal complement, V = T η (+ T₀ for moving constraints)
M, W → M_bodies, W_bodies   extended mass and angular velocity of the stacked bodies
I, C η                generalized inertia and convective terms
τ, γ, δ               generalized driving, gravity and dissipative forces

Derivation
----------
Newton and Euler for all bodies, w^N the nonworking constraint wrench [SahaAngeles1991, eq. 10]:

    (1)  M V̇ = −W M V + w^A + w^G + w^D + w^N

The j-th column of T is the twist of the system for η_j = 1 and all other independent speeds zero
[SahaAngeles1991, eq. 26]:

    (2)  T e_j = V at η = e_j, s = 0

Constraint wrenches do no work on admissible twists, Tᵀ w^N = 0 [eq. 13 and step 5], so Tᵀ(1) reads

    (3)  I η̇ = C η + τ + γ + δ,     I = Tᵀ M T                                   [eqs. 17, 18]

    (4)  C η = −(τ + γ + δ) at η̇ = 0                                             [eq. 27]

that is, inverse dynamics at zero independent accelerations (Walker and Orin). The constraint wrench
follows from the solved motion, w^N = M V̇ + W M V − w^W.

Departures
----------
Eq. (27) is printed with the opposite sign; (4) is right because C = −Tᵀ(MṪ + WMT). Twists are
resolved in the computing axes of each body with absolute derivatives, for which W = diag(ω×, 0) as
printed. With constraints that move in time the twist is V = T η + T₀ and (4) also carries Ṫ₀.

Solved equations
----------------
What is compiled is (3) with fewer operations: weights are an acceleration −g of the world, wheels
are lumped with what carries them where that pays, and

    (5)  I η̇ = Sᵀ Q − Tᵀ (M V̇₀ + W M V),     V̇₀ at η̇ = 0 and with −g,   Q without weights

is summed body by body or over composite bodies (`composite`), whichever is shorter, and seen from
the point on which a mechanism rolls (`kinematics.rolling_base`). The blocks of (3) are kept as they
are printed.

Reference: [SahaAngeles1991], [SahaAngeles1989].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca

from noslip.formulations.couplings import complement_objects
from noslip.formulations.equations import (
    AbstractFormulation,
    Blocks,
    Equations,
    MethodObject,
    ReducedSolution,
    solution_of,
)
from noslip.formulations.generalized_forces import AppliedForces, applied_forces
from noslip.formulations.tree_dynamics import (
    articulated_solve,
    center_wrenches,
    composite_inertia,
    generalized_inertia,
    inverse_dynamics,
    joint_inertias,
    kinetic_energy,
    lumped,
    motion_forces,
    rotor_forces,
    unit_speed_twists,
)
from noslip.kinematics import BasisAtContact, Kinematics, Tree, accelerations
from noslip.model import GRAVITY

#: Degrees of freedom of a tree without rows up to which its mass matrix is formed and factored.
LONGEST_DENSE = 7
#: Degrees of freedom of a tree without rows beyond which composite bodies take fewer operations.
MOST_BODIES = 4


@dataclass(frozen=True, slots=True)
class NaturalComplement(AbstractFormulation):
    """Saha and Angeles' natural orthogonal complement."""

    name = "natural orthogonal complement"
    word = "complement"
    reference = "SahaAngeles1991"
    derivation = "noslip.show.equations.derivations:complement"
    object_options = ("axes", "actuated")

    def fill(self, kinematics: Kinematics) -> Equations:
        """Blocks of the reduced equations by unit-speed twists and inverse dynamics."""
        kin = kinematics
        forces = applied_forces(kin)

        def blocks() -> Blocks:
            # (4) inverse dynamics at η̇ = 0, projected on the columns: Tᵀ(...) = Sᵀ Jᵀ(...)
            convective = inverse_dynamics(kin, kin.vdot0)
            # (2) columns of T, and (3) I = Tᵀ M T, body by body
            return Blocks(
                mass=generalized_inertia(kin.tree, unit_speed_twists(kin, kin.tree), kin.S),
                bias=ca.mtimes(kin.S.T, convective),
                forces=ca.mtimes(kin.S.T, forces.Q),
                inputs=ca.mtimes(kin.S.T, forces.B),
            )

        def recursion() -> ReducedSolution:
            needed = motion_forces(kin.tree, {}, kin.v, kin.vdot0, _world(kin))
            right = _without_weights(kin, forces) - needed
            return ReducedSolution(*articulated_solve(kin.tree, right), None)

        is_long_tree = not kin.rows and kin.num_independent_speeds > LONGEST_DENSE
        solve = recursion if is_long_tree else partial(solved, kin, forces)
        etadot = ca.SX.sym("etadot", kin.num_independent_speeds)

        def reactions() -> ca.SX:
            # w^N = M V̇ + W M V − w^W, projected on the tree speeds
            needed = inverse_dynamics(kin, ca.mtimes(kin.S, etadot) + kin.vdot0)
            return needed - forces.Q - ca.mtimes(forces.B, kin.acting_inputs)

        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=blocks,
            solve=solve,
            forces=forces,
            etadot=etadot,
            reactions=reactions,
            energy=partial(kinetic_energy, kin.tree, kin.twists, kin.v),
        )

    def objects(self, equations: Equations, **options: Any) -> tuple[MethodObject, ...]:
        """A, T, Ṫ, t, M, W, I, C, τ, γ, δ, θ̈; T_a, T_u, J_a, J_u; blocks A_i, A_j of couplings.

        Parameters
        ----------
        equations : equations of motion by this formulation.
        options : ``axes``, a body's name or ``world``, and ``actuated``, the speeds of T_a and J_a.
        """
        return complement_objects(equations, **options)


def solved(kin: Kinematics, forces: AppliedForces) -> ReducedSolution:
    """(5) solved for η̇ by the shortest of several ways, all with the same result.

    Lumping wheels does not pay in the plane, nor do composite bodies where there are few.
    """
    applied = _without_weights(kin, forces)
    if kin.at_contact is not None:
        return _by_composites(kin, kin.at_contact, applied)
    if not kin.rows and kin.num_independent_speeds > MOST_BODIES:
        return _by_composites(kin, None, applied)
    trees = {id(tree): tree for tree in (kin.tree, lumped(kin.tree))}
    solutions = [_by_bodies(kin, tree, applied) for tree in trees.values()]
    if not kin.is_long:
        solutions.append(_by_composites(kin, None, applied))
    costs = [ca.n_nodes(solution.accelerations) for solution in solutions]
    return solutions[costs.index(min(costs))]


def _by_bodies(kin: Kinematics, tree: Tree, applied: ca.SX) -> ReducedSolution:
    """Each body at its mass center."""
    columns = unit_speed_twists(kin, tree)
    rates = accelerations(tree, kin.twists, kin.v, kin.vdot0, _world(kin))
    needed = center_wrenches(tree, kin.twists, rates)
    wrench = ca.vertcat(*[part for pair in needed for part in pair])
    projected = [
        ca.dot(ca.vertcat(*[part for pair in column for part in pair]), wrench)
        for column in columns
    ]
    applied = applied - rotor_forces(tree, kin.vdot0)
    right = ca.mtimes(kin.S.T, applied) - ca.vertcat(*projected)
    return solution_of(generalized_inertia(tree, columns, kin.S), right)


def _by_composites(
    kin: Kinematics, moved: BasisAtContact | None, applied: ca.SX
) -> ReducedSolution:
    """Wheels lumped, wrenches and inertias carried to the base; there from where it rolls."""
    tree = lumped(kin.tree)
    known = joint_inertias(tree)
    S, v, vdot0 = kin.S, kin.v, kin.vdot0
    if moved is not None:
        tree, applied = (
            moved.rolling_base.moved_tree(tree),
            moved.rolling_base.moved_forces(applied),
        )
        S, v, vdot0 = moved.S, moved.v, moved.vdot0
    needed = motion_forces(tree, known, v, vdot0, _world(kin))
    return solution_of(composite_inertia(tree, known, S), ca.mtimes(S.T, applied - needed))


def _world(kin: Kinematics) -> ca.SX:
    """Acceleration of the world that stands for weights."""
    return -kin.reader.vector(kin.model.gravity)


def _without_weights(kin: Kinematics, forces: AppliedForces) -> ca.SX:
    """Generalized forces on the tree speeds, inputs included, but for weights."""
    others = sum((share for name, share in forces.shares.items() if name != GRAVITY), ca.SX(0))
    return others + ca.mtimes(forces.B, kin.acting_inputs)
