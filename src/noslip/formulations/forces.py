"""Generalized forces: gravity, springs, dampers, friction, tires, motors, given wrenches.

On the tree speeds: Q(q, v, t) + B(q) u. Each share of Q is stored separately, because the papers
and the energy balance use them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from noslip.algebra import Traced, cross, inlined, stack, vector
from noslip.base import ModelError
from noslip.formulations.loads import known_loads, unknown_load
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
    SPRING,
    ZERO,
    AbstractContact,
    Grip,
    Joint,
    Reads,
    Sliding,
    Vector3,
)

_ZERO3 = vector([0, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AppliedForces:
    """Generalized forces on the tree speeds, at v = Sη + s.

    Parameters
    ----------
    shares : ``gravity``, ``spring``, ``dissipative``, ``given`` → (nv,) share of Q.
    B : (nv, nu) input matrix.
    potential_energy : of gravity and springs, J.
    wrenches : moment and force on each body about its origin, in its computing axes, of all that
        acts on bodies (not in joints), inputs included.
    state_rates : (nz,) rates of the states that forces have of their own.
    in_loops : of joints that close a loop: moment and force on the child at the joint's point, in
        world axes, of what acts in them; they are among `wrenches`.
    grips : name of a force that slides over a plane → what it takes of it.
    acting : gives each share as what acts on bodies, (6p,) moments and forces about their origins
        in computing axes, and as what acts along the joints, (nv,); inputs are among ``given``.
    loads, load_symbols : rows whose loads ℓ the forces are linear in, and symbols of these; none
        once they are solved for.
    """

    shares: dict[str, ca.SX]
    B: ca.SX
    potential_energy: ca.SX
    wrenches: tuple[Pair, ...]
    state_rates: ca.SX
    in_loops: dict[str, Pair]
    grips: dict[str, Grip]
    acting: Callable[[], dict[str, Pair]] = dict
    loads: tuple[str, ...] = ()
    load_symbols: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

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
        wrenches=_sums(kin, list(loads.wrenches.values())),
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
    """Traced `noslip.model.forces.Loads`: collects the wrenches and generalized forces.

    Parameters
    ----------
    kin : traced kinematics.
    """

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
        k = self._kin.tree.index(body)
        place = self.read.vector(point)
        if k < 0:
            return place, _ZERO3
        node = self._kin.tree.nodes[k]
        w, v = self._motion[k]
        r = ca.mtimes(node.R_DB, place)
        return node.p_WB + ca.mtimes(node.R_WD, r), ca.mtimes(node.R_WD, v + cross(w, r))

    def turning(self, body: str) -> ca.SX:
        k = self._kin.tree.index(body)
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
        k = self._kin.tree.index(body)
        if k < 0:
            return
        node, wrenches = self._kin.tree.nodes[k], self.wrenches[share]
        to_D = node.R_DB if in_body else node.R_WD.T
        f = ca.mtimes(to_D, force)
        n = _ZERO3 if moment is None else ca.mtimes(to_D, moment)
        r = ca.mtimes(node.R_DB, self.read.vector(point))
        wrenches[k] = (wrenches[k][0] + n + cross(r, f), wrenches[k][1] + f)

    def push_at(self, share: str, body: str, place: ca.SX, force: Traced) -> None:
        k = self._kin.tree.index(body)
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
