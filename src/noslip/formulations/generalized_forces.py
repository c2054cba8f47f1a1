"""Generalized forces, and loads that depend on what constraint rows transmit.

**Forces that depend on what constraint rows transmit: loads solved for once, for all
formulations.**

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

**Generalized forces: gravity, springs, dampers, friction, tires, motors, given wrenches.**

On the tree speeds: Q(q, v, t) + B(q) u. Each share of Q is stored separately, because the papers
and the energy balance use them by name.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca

from noslip.algebra import Traced, block_solve, cross, inlined, stack, symmetric_solve, vector
from noslip.base import ModelError, nearest
from noslip.formulations.tree_dynamics import joint_wrenches
from noslip.kinematics import (
    Kinematics,
    Pair,
    generalized_forces,
    loop_pose,
    trace_contact,
)
from noslip.model import (
    DISSIPATIVE,
    GIVEN,
    GRAVITY,
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    SPRING,
    ZERO,
    AbstractContact,
    Grip,
    Joint,
    Reads,
    Sliding,
    Vector3,
)

if TYPE_CHECKING:
    from noslip.formulations.equations import Equations


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadClosure:
    """(3) as it was solved."""

    rows: tuple[str, ...]  #: rows whose loads are ℓ, in order
    matrix: ca.SX  #: 1 − Λ
    loads: ca.SX  #: ℓ of the state, the inputs and the parameters


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

    def wrenches() -> tuple[Pair, ...]:
        return tuple((put(n), put(f)) for n, f in given.wrenches())

    def of_grip(grip: Any) -> Any:
        parts = {name: put(x) for name, x in grip._asdict().items() if isinstance(x, ca.SX)}
        return grip._replace(**parts)

    forces = dataclasses.replace(
        given,
        shares={name: put(share) for name, share in given.shares.items()},
        wrenches=wrenches,
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


_ZERO3 = vector([0, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AppliedForces:
    """Generalized forces on the tree speeds, at v = Sη + s."""

    #: ``gravity``, ``spring``, ``dissipative``, ``given`` → (nv,) share of Q
    shares: dict[str, ca.SX]
    B: ca.SX  #: (nv, nu) input matrix
    potential_energy: ca.SX  #: potential energy of gravity and springs, J
    #: function that returns moment and force on each body about its origin, in its computing axes,
    #: of all that acts on bodies (not in joints), inputs included
    wrenches: Callable[[], tuple[Pair, ...]]
    state_rates: ca.SX  #: (nz,) rates of the states that forces have of their own
    #: moments and forces on the children of joints that close a loop, at the joint's point, in
    #: world axes, of what acts in them; they are among `wrenches`
    in_loops: dict[str, Pair]
    grips: dict[str, Grip]  #: name of a force that slides over a plane → what it takes of it
    #: function that returns each part as what acts on bodies, (6p,) moments and forces about their
    #: origins in computing axes, and as what acts along the joints, (nv,); inputs are among
    #: ``given``
    acting: Callable[[], dict[str, Pair]] = dict
    #: loads, load_symbols: rows whose loads ℓ the forces are linear in, and symbols of these; none
    #: once they are solved for
    loads: tuple[str, ...] = ()
    load_symbols: ca.SX = field(default_factory=partial(ca.SX, 0, 1))

    @property
    def Q(self) -> ca.SX:
        """Sum of the shares."""
        return sum(self.shares.values(), ca.SX(0))


def _acting(kin: Kinematics, expression: ca.SX) -> ca.SX:
    """An expression of the inputs u, at those that act."""
    if not any(force.pressed() for force in kin.model.forces):
        return expression
    return ca.substitute([expression], [kin.symbols.u], [kin.acting_inputs])[0]


def _sums(kin: Kinematics, shares: list[list[Pair]]) -> tuple[Pair, ...]:
    """Wrench on each body, all shares together, at v = Sη + s."""
    num = len(kin.tree.nodes)
    if not num:
        return ()
    columns = [_column(share) for share in shares]
    stacked = _acting(kin, kin.at_speeds(sum(columns, ca.SX(6 * num, 1))))
    split = ca.vertsplit(stacked, 3)
    return tuple((split[2 * k], split[2 * k + 1]) for k in range(num))


def _column(wrenches: list[Pair]) -> ca.SX:
    """Wrenches of all bodies in one column."""
    return ca.vertcat(ca.SX(0, 1), *[part for pair in wrenches for part in pair])


def applied_forces(kin: Kinematics) -> AppliedForces:
    """All forces of the model on the tree speeds."""
    symbols, num = kin.symbols, kin.num_speeds
    loads = _TracedLoads(kin)
    loads.store(_gravity(kin, loads.wrenches[GRAVITY]))
    for force in kin.model.forces:
        force.apply(loads)
    for row in kin.model.rows:
        row.apply(loads)
    total = {
        share: generalized_forces(kin.tree, wrenches, num) + vector(loads.joint[share])
        if share in loads.joint and num
        else generalized_forces(kin.tree, wrenches, num)
        for share, wrenches in loads.wrenches.items()
    }
    # given forces are linear in the inputs: split them into B u and the rest
    B = ca.jacobian(total[GIVEN], symbols.u)

    def acting() -> dict[str, Pair]:
        nothing = [ca.SX(0)] * num
        parts = {
            share: (_column(wrenches), ca.vertcat(ca.SX(0, 1), *loads.joint.get(share, nothing)))
            for share, wrenches in loads.wrenches.items()
        }
        return {
            share: (_acting(kin, kin.at_speeds(body)), _acting(kin, kin.at_speeds(joint)))
            for share, (body, joint) in parts.items()
        }

    total[GIVEN] = ca.substitute([total[GIVEN]], [symbols.u], [ca.SX.zeros(symbols.u.shape)])[0]
    return AppliedForces(
        shares={share: kin.at_speeds(force) for share, force in total.items()},
        B=kin.at_speeds(B),
        potential_energy=loads.energy,
        wrenches=partial(_sums, kin, list(loads.wrenches.values())),
        state_rates=kin.at_speeds(stack(loads.state_rates)),
        in_loops={
            name: (_acting(kin, kin.at_speeds(n)), _acting(kin, kin.at_speeds(f)))
            for name, (n, f) in loads.in_loops.items()
        },
        grips={name: _at_speeds(kin, grip) for name, grip in loads.grips.items()},
        acting=acting,
        loads=tuple(loads.loads),
        load_symbols=ca.vertcat(ca.SX(0, 1), *loads.loads.values()),
    )


def _at_speeds(kin: Kinematics, grip: Grip) -> Grip:
    """A grip at v = Sη + s."""
    given = {name: x for name, x in grip._asdict().items() if isinstance(x, ca.SX)}
    parts = ca.vertsplit(kin.at_speeds(ca.vertcat(*given.values())))
    found: dict[str, Any] = dict(zip(given, parts, strict=True))
    return grip._replace(**found)


class _TracedLoads:
    """Traced `noslip.model.forces.Loads`: collects the wrenches and generalized forces."""

    def __init__(self, kin: Kinematics) -> None:
        self.read: Reads = kin.reader
        self.energy = ca.SX(0)
        self.joint = {s: [ca.SX(0)] * kin.num_speeds for s in (SPRING, DISSIPATIVE, GIVEN)}
        shares = (GRAVITY, SPRING, DISSIPATIVE, GIVEN)
        self.wrenches = {s: kin.tree.no_wrenches() for s in shares}
        self._kin = kin
        self._motion = kin.motion
        self._speeds = {s.name: k for k, s in enumerate(kin.speeds)}
        self._coordinates = {c.name: k for k, c in enumerate(kin.coordinates)}
        self._loops = {
            name: (joint, k)
            for joint in kin.tree.loops
            for names in (joint.coordinate_names(), joint.speed_names())
            for k, name in enumerate(names)
        }
        self.in_loops: dict[str, Pair] = {}
        self.grips: dict[str, Grip] = {}
        self._states = {z.name: k for k, z in enumerate(kin.force_states)}
        self.state_rates = [ca.SX(0)] * len(self._states)
        self.loads: dict[str, ca.SX] = {}

    def coordinate(self, name: str) -> ca.SX:
        if name in self._coordinates:
            return self._kin.symbols.q[self._coordinates[name]]
        joint, k = self._loops[name]
        return self._measured(joint)[k]

    def _measured(self, joint: Joint) -> ca.SX:
        """Coordinates of a joint that closes a loop."""
        pose = loop_pose(joint, self._kin.tree, self._kin.reader)
        found = joint.type.measured(pose.R_FM, pose.p_FM, self.read)
        if found is None:
            raise ModelError(
                f"joint '{joint.name}' closes a loop, and its type '{joint.type.word}' does not "
                "tell its coordinates there",
                f"joints.{joint.name}",
                "put the spring in a joint that carries a body, or define `measured` of the type",
            )
        return found

    def speed(self, name: str) -> ca.SX:
        if name in self._speeds:
            return self._kin.symbols.v[self._speeds[name]]
        joint, k = self._loops[name]
        # of M against F, at M, in M axes
        pose = loop_pose(joint, self._kin.tree, self._kin.reader)
        turns = [self.turning(body) for body in (joint.child, joint.parent)]
        moves = [self._velocity_at(body, pose.p_WM) for body in (joint.child, joint.parent)]
        twist = [ca.mtimes(pose.R_WM.T, a - b) for a, b in (turns, moves)]
        H = joint.type.motion(self.read)
        return ca.solve(ca.mtimes(H.T, H), ca.mtimes(H.T, ca.vertcat(*twist)))[k]

    def _velocity_at(self, body: str, place: ca.SX) -> ca.SX:
        """Velocity of the point of a body that is at a place in the world."""
        p, v = self.point(body, ZERO)
        return v + cross(self.turning(body), place - p)

    def point(self, body: str, point: Vector3) -> tuple[ca.SX, ca.SX]:
        k = self._kin.tree.index[body]
        place = self.read.vector(point)
        if k < 0:
            return place, _ZERO3
        node = self._kin.tree.nodes[k]
        w, v = self._motion[k]
        r = ca.mtimes(node.R_DB, place)
        return node.p_WB + ca.mtimes(node.R_WD, r), ca.mtimes(node.R_WD, v + cross(w, r))

    def turning(self, body: str) -> ca.SX:
        k = self._kin.tree.index[body]
        return _ZERO3 if k < 0 else ca.mtimes(self._kin.tree.nodes[k].R_WD, self._motion[k][0])

    def sliding(self, contact: AbstractContact) -> Sliding:
        own = [t for t in self._kin.contacts if t.contact is contact]
        found = (
            own[0]
            if own
            else trace_contact(contact, self._kin.tree, self._motion, self._kin.reader)
        )
        return Sliding(found.point, found.directions, found.slip)

    def contact(self, name: str) -> AbstractContact:
        return next(c for c in self._kin.model.contacts if c.name == name)

    def holds(self, row: str) -> bool:
        return row not in self._kin.released

    def load(self, row: str) -> ca.SX:
        if row in self._kin.released:
            return ca.SX(0)
        if row not in self.loads:
            if row not in known_loads(self._kin):
                raise unknown_load(self._kin, row)
            self.loads[row] = ca.SX.sym(f"load.{row}")
        return self.loads[row]

    def push(
        self,
        share: str,
        body: str,
        point: Vector3,
        force: Traced,
        moment: Traced | None = None,
        *,
        in_body: bool = False,
    ) -> None:
        k = self._kin.tree.index[body]
        if k < 0:
            return
        node, wrenches = self._kin.tree.nodes[k], self.wrenches[share]
        to_D = node.R_DB if in_body else node.R_WD.T
        f = ca.mtimes(to_D, force)
        n = _ZERO3 if moment is None else ca.mtimes(to_D, moment)
        r = ca.mtimes(node.R_DB, self.read.vector(point))
        wrenches[k] = (wrenches[k][0] + n + cross(r, f), wrenches[k][1] + f)

    def push_at(self, share: str, body: str, place: ca.SX, force: Traced) -> None:
        k = self._kin.tree.index[body]
        if k >= 0:
            turning = cross(place - self._kin.tree.nodes[k].p_WB, force)
            self.push(share, body, ZERO, force, turning)

    def grip(self, name: str, grip: Grip) -> None:
        self.grips[name] = grip

    def along_speed(self, share: str, name: str, force: Traced) -> None:
        if name in self._speeds:
            self.joint[share][self._speeds[name]] += force
            return
        # a wrench W with HᵀW = force along this speed, on the child and back on the parent
        joint, k = self._loops[name]
        pose = loop_pose(joint, self._kin.tree, self._kin.reader)
        H = joint.type.motion(self.read)
        unit = ca.SX.zeros(H.shape[1])
        unit[k] = force
        wrench = ca.mtimes(H, ca.solve(ca.mtimes(H.T, H), unit))
        n, f = ca.mtimes(pose.R_WM, wrench[:3]), ca.mtimes(pose.R_WM, wrench[3:])
        for body, sign in ((joint.child, 1.0), (joint.parent, -1.0)):
            origin, _ = self.point(body, ZERO)
            self.push(share, body, ZERO, sign * f, sign * (n + cross(pose.p_WM - origin, f)))
        before = self.in_loops.get(joint.name, (_ZERO3, _ZERO3))
        self.in_loops[joint.name] = (before[0] + n, before[1] + f)

    def along_coordinate(self, share: str, name: str, force: Traced) -> None:
        if name not in self._coordinates:
            joint, k = self._loops[name]
            N = joint.type.kinematic_map(self._measured(joint))
            for j, speed in enumerate(joint.speed_names()):
                if not N[k, j].is_zero():
                    self.along_speed(share, speed, force * N[k, j])
            return
        # Q = Nᵀ f: the x of a planar joint is moved by both of its linear speeds
        at = self._coordinates[name]
        for k in range(self._kin.num_speeds):
            if not self._kin.N[at, k].is_zero():
                self.joint[share][k] += force * self._kin.N[at, k]

    def store(self, energy: Traced) -> None:
        self.energy += energy

    def state(self, name: str) -> ca.SX:
        return self._kin.symbols.z[self._states[name]]

    def evolve(self, name: str, rate: Traced) -> None:
        self.state_rates[self._states[name]] = ca.SX(rate)


def _gravity(kin: Kinematics, wrenches: list[Pair]) -> ca.SX:
    """m g at each mass center; returns the potential energy −Σ m g·c."""
    gravity = kin.reader.vector(kin.model.gravity)
    energy = ca.SX(0)
    for k, node in enumerate(kin.tree.nodes):
        n, f, share = _weight(gravity, node.mass, node.center_D, node.R_WD, node.p_WB)
        wrenches[k] = (n, f)
        energy -= share
    return energy


@inlined
def _weight(
    gravity: ca.SX, mass: ca.SX, center_D: ca.SX, R_WD: ca.SX, p_WB: ca.SX
) -> tuple[ca.SX, ...]:
    """Moment and force of a weight, and minus its potential energy."""
    force = mass * ca.mtimes(R_WD.T, gravity)
    center = p_WB + ca.mtimes(R_WD, center_D)
    return cross(center_D, force), force, mass * ca.dot(gravity, center)
