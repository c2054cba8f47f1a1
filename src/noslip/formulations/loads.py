"""Forces that depend on what constraint rows transmit: loads solved for once, for all formulations.

A force may be linear in loads ℓ, the multipliers λ of some rows (`Loads.load`), as sliding friction
is in the normal force. Beside the inputs u, the generalized forces then have one more column,

    (1)  Q + B u + G ℓ

and with what a formulation fills, its reduced mass I, its forces and its reactions, all else is
affine in ℓ: one more right-hand side for each load,

    (2)  η̇ = η̇₀ + I⁻¹SᵀG ℓ,    λ = λ₀ + Λ ℓ

so that the loads themselves are closed by

    (3)  (1 − Λ) ℓ = ℓ₀

1 − Λ is the unit matrix without such forces. Where its determinant comes to zero, no finite load
balances the friction that it causes [Painleve1895].

Under a planar joint the loads of wheels are no multipliers. With F and M the joint's force and
moment on its child at p_J, n the normal and p_i the contact points, they are the N with

    (4)  Σ N_i = F·n,    Σ (p_i − p_J) × n N_i = M − (M·n) n

of three wheels not in line, and of more N = K Eᵀ (E K Eᵀ)⁻¹ b with E and b the sides of (4) and K
the wheels' stiffnesses: affine in ℓ again. They cannot lift.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca

from noslip.algebra import block_solve, cross, symmetric_solve
from noslip.base import ModelError, nearest
from noslip.formulations.reactions import joint_wrenches
from noslip.kinematics import Kinematics
from noslip.model import LATERAL, LONGITUDINAL, NORMAL, AbstractContact, Joint

if TYPE_CHECKING:
    from noslip.formulations.base import Equations


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadClosure:
    """(3) as it was solved.

    Parameters
    ----------
    rows : whose loads ℓ are, in order.
    matrix : 1 − Λ.
    loads : ℓ of the state, the inputs and the parameters.
    """

    rows: tuple[str, ...]
    matrix: ca.SX
    loads: ca.SX


def closed(open_equations: Equations) -> dict[str, Any]:
    """Fields of the equations without ℓ, from those that have ℓ as symbols."""
    eq = copy.copy(open_equations)
    kin, given = eq.kinematics, eq.forces
    ell, rows = given.load_symbols, given.loads
    zero = ca.SX.zeros(ell.shape)
    _check_linear(eq)

    def without(expression: ca.SX) -> ca.SX:
        return ca.substitute([expression], [ell], [zero])[0]

    solution = eq.solution
    first = without(solution.accelerations)
    mass = eq.reduced_mass if solution.mass is None else solution.mass
    pushes = ca.densify(ca.jacobian(eq.reduced_forces, ell))  # SᵀG
    responses, _ = symmetric_solve(mass, pushes)
    # Aᵀλ at ℓ = 0, and for each load alone
    reactions = eq.generalized_reactions
    at, here = ca.vertcat(eq.etadot, ell), ca.vertcat(first, zero)
    unit = ca.SX.eye(len(rows))
    columns = [ca.substitute([reactions], [at], [here])[0]] + [
        ca.substitute(
            [ca.jtimes(reactions, at, ca.vertcat(responses[:, k], unit[:, k]))], [at], [here]
        )[0]
        for k in range(len(rows))
    ]
    of_rows = multipliers_of(kin, ca.densify(ca.horzcat(*columns)))
    of_wheels = {
        f"{wheel.name}.{NORMAL}": load
        for support in planar_supports(kin)
        if any(f"{w.name}.{NORMAL}" in rows for w in support.wheels)
        for wheel, load in zip(support.wheels, ca.vertsplit(_wheel_loads(eq, support)), strict=True)
    }
    names, free, slopes = [r.name for r in kin.rows], [], []
    for row in rows:
        if row in of_wheels:
            free.append(without(of_wheels[row]))
            slopes.append(without(ca.jacobian(of_wheels[row], ell)))
        else:
            k = names.index(row)
            free.append(of_rows[k, 0])
            slopes.append(of_rows[k, 1:])
    matrix = ca.densify(ca.SX.eye(len(rows)) - ca.vertcat(*slopes))
    # not symmetric: Λ says how friction feeds back on loads
    loads = ca.densify(ca.vertcat(*free))
    loads = loads / matrix if len(rows) == 1 else ca.solve(matrix, loads)

    def put(expression: ca.SX) -> ca.SX:
        return ca.substitute([expression], [ell], [loads])[0]

    def blocks() -> Any:
        found, u = eq.blocks(), kin.symbols.u
        still = ca.substitute([loads], [u], [ca.SX.zeros(u.shape)])[0]
        # loads are affine in the inputs as these act
        slope = [
            ca.substitute([loads], [u], [one])[0] - still
            for one in ca.horzsplit(ca.densify(ca.SX.eye(u.shape[0])))
        ]
        inputs = found.inputs
        if slope:
            inputs = inputs + ca.mtimes(pushes, ca.horzcat(*slope))
        forces = ca.substitute([found.forces], [ell], [still])[0]
        return found._replace(forces=forces, inputs=inputs)

    def solve() -> Any:
        accelerations = first + ca.mtimes(responses, loads)
        return solution._replace(accelerations=accelerations)

    def of_grip(grip: Any) -> Any:
        parts = {name: put(x) for name, x in grip._asdict().items() if isinstance(x, ca.SX)}
        return grip._replace(**parts)

    forces = dataclasses.replace(
        given,
        shares={name: put(share) for name, share in given.shares.items()},
        wrenches=tuple((put(n), put(f)) for n, f in given.wrenches),
        state_rates=put(given.state_rates),
        in_loops={name: (put(n), put(f)) for name, (n, f) in given.in_loops.items()},
        grips={name: of_grip(grip) for name, grip in given.grips.items()},
        acting=lambda: {name: (put(b), put(j)) for name, (b, j) in given.acting().items()},
        loads=(),
        load_symbols=ca.SX(0, 1),
    )
    return {
        "blocks": blocks,
        "solve": solve,
        "forces": forces,
        "reactions": lambda: put(reactions),
        "closure": LoadClosure(rows=rows, matrix=matrix, loads=loads),
    }


def multipliers_of(kin: Kinematics, f: ca.SX) -> ca.SX:
    """λ of all rows for columns of reactions f = Aᵀλ; where rows are redundant, of least norm.

    f fixes λ of the independent rows: Kᵀ [y; 0] = f, λ = Pᵀ y. A redundant row is A_r = C A, so
    only λ + Cᵀλ_r is determined; the least-norm split counts forces in N and moments in N·m over
    the length of the model. Where rows are combined, all are C times the combinations.
    """
    kept, num = list(kin.row_basis), len(kin.row_basis)
    if not num:
        # rows that hold by themselves, if any: the least force for that is none
        return ca.SX.zeros(len(kin.rows), f.shape[1])
    determined = block_solve(kin.K.T, f)[0][:num, :]
    order = kept + [r.row for r in kin.redundant]
    if kin.combination is None:
        determined = ca.mtimes(kin.P.T, determined)
    if not kin.redundant:
        return determined
    first = num if kin.combination is None else 0
    C = block_solve(kin.K.T, ca.densify(kin.A[order[first:], :].T))[0][:num, :].T
    if kin.combination is None:
        C = ca.mtimes(C, kin.P)
    split = ca.vertcat(ca.SX.eye(num)[:first, :], ca.sparsify(ca.simplify(C)))
    scale = [kin.length if kin.rows[k].unit == "rad/s" else 1.0 for k in order]
    weighted = ca.mtimes(ca.diag(ca.DM(scale) ** 2), split)
    share, _ = symmetric_solve(ca.densify(ca.mtimes(split.T, weighted)), determined)
    all_rows = ca.mtimes(weighted, share)
    return ca.vertcat(*[all_rows[order.index(k), :] for k in range(len(kin.rows))])


def planar_wheels(kin: Kinematics) -> tuple[str, ...]:
    """Contacts whose loads are those by which they hold a planar joint."""
    return tuple(w.name for s in planar_supports(kin) for w in s.wheels)


def contact_load(equations: Equations, contact: str) -> ca.SX:
    """Load of a contact, N: of its normal row, or of the wheels that hold a planar joint."""
    kin, row = equations.kinematics, f"{contact}.{NORMAL}"
    names = [r.name for k, r in enumerate(kin.rows) if k not in kin.self_satisfied]
    if row in names:
        return equations.multipliers[[r.name for r in kin.rows].index(row)]
    closure = equations.closure
    if closure is not None and row in closure.rows:
        return closure.loads[closure.rows.index(row)]
    for support in planar_supports(kin):
        wheels = [w.name for w in support.wheels]
        if contact in wheels:
            return _wheel_loads(equations, support)[wheels.index(contact)]
    raise unknown_load(kin, row)


def known_loads(kin: Kinematics) -> tuple[str, ...]:
    """Rows that have a load: those that push, and normals of wheels under a planar joint."""
    silent = set(kin.self_satisfied)
    rows = [row.name for k, row in enumerate(kin.rows) if k not in silent]
    wheels = [f"{w.name}.{NORMAL}" for s in planar_supports(kin) for w in s.wheels]
    return tuple(dict.fromkeys((*rows, *wheels)))


def unknown_load(kin: Kinematics, row: str) -> ModelError:
    """The error of a load that no row has."""
    owner = row.rpartition(".")[0]
    fix = nearest(row, known_loads(kin))
    if any(c.name == owner for c in kin.model.contacts):
        fix = (
            f"write normal = true at contact '{owner}', or let a planar joint and two more "
            "wheels, not in line, carry it"
        )
    return ModelError(
        f"a force depends on the load '{row}', which this mechanism does not have",
        f"forces of model '{kin.model.name}'",
        fix,
    )


def _check_linear(eq: Equations) -> None:
    """Refuse forces that are not linear in loads, or have products of them with inputs."""
    forces, u = eq.forces, eq.kinematics.symbols.u
    slope = ca.jacobian(forces.Q, forces.load_symbols)
    if ca.depends_on(slope, ca.vertcat(forces.load_symbols, u)) or ca.depends_on(
        forces.B, forces.load_symbols
    ):
        raise ModelError(
            f"a force is not linear in the loads {', '.join(forces.loads)}",
            f"forces of model '{eq.model.name}'",
            "use loads as factors, in a direction that does not depend on them",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanarSupport:
    """Wheels that stand under a planar joint, between the same two bodies' sides as it."""

    joint: Joint
    place: int
    wheels: tuple[AbstractContact, ...]


def planar_supports(kin: Kinematics) -> tuple[PlanarSupport, ...]:
    """Planar joints of the tree with three wheels at least below, which hold no height by a row."""
    silent = {kin.rows[k].name for k in kin.self_satisfied}
    rows = {row.name for row in kin.rows} - silent
    found = []
    for place, node in enumerate(kin.tree.nodes):
        if not node.joint.type.is_planar:
            continue
        under = kin.wheels_under(node.joint, kin.probe.params)
        wheels = tuple(
            trace.contact
            for trace in (kin.contacts[k] for k in under)
            if f"{trace.contact.name}.{NORMAL}" not in rows
        )
        if len(wheels) >= 3:
            found.append(PlanarSupport(joint=node.joint, place=place, wheels=wheels))
    return tuple(found)


def _wheel_loads(eq: Equations, support: PlanarSupport) -> ca.SX:
    """(4), with ℓ as symbols."""
    kin = eq.kinematics
    wrench = joint_wrenches(eq)[support.place]
    traces = [t for t in kin.contacts if t.contact in support.wheels]
    ahead, aside, n = (
        kin.at_speeds(traces[0].directions[d]) for d in (LONGITUDINAL, LATERAL, NORMAL)
    )
    arms = [kin.at_speeds(t.point) - wrench.point for t in traces]
    middle = sum(arms, ca.SX.zeros(3)) / len(arms)

    def sides(force: ca.SX, moment: ca.SX) -> ca.SX:
        # about the middle of the contacts, where they are best conditioned
        turned = (moment - cross(middle, force)) / kin.length
        return ca.vertcat(ca.dot(force, n), ca.dot(turned, ahead), ca.dot(turned, aside))

    E = ca.horzcat(*[sides(n, cross(arm, n)) for arm in arms])
    normal = ca.dot(wrench.force, n) * n
    b = sides(normal, wrench.moment)
    if len(arms) == 3:
        return ca.solve(ca.densify(E), b)
    given = [t.contact.load_stiffness() for t in traces]
    K = ca.SX.ones(len(arms))
    if all(k is not None for k in given):
        K = ca.vertcat(*[kin.reader.scalar(k) for k in given if k is not None])
    KE = ca.mtimes(ca.diag(K), E.T)
    return ca.mtimes(KE, symmetric_solve(ca.densify(ca.mtimes(E, KE)), b)[0])
