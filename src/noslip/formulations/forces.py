"""Generalized forces: gravity, springs, dampers, friction, tires, motors, given wrenches.

On the tree speeds: Q(q, v, t) + B(q) u. Each share of Q is kept apart, because the papers and the
energy balance ask for them by name.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.kinematics.contacts import trace_contact
from noslip.kinematics.kinematics import Kinematics
from noslip.kinematics.tree import Pair, generalized_forces, twists
from noslip.model.bodies import WORLD
from noslip.model.contacts import LATERAL, LONGITUDINAL, KnifeEdge
from noslip.model.forces import (
    JointDamper,
    JointFriction,
    JointSpring,
    Motor,
    Spring,
    Tire,
    Wrench,
)
from noslip.model.quantities import ZERO, Vector3
from noslip.spatial import cross, vector

GRAVITY, SPRING, DISSIPATIVE, GIVEN = "gravity", "spring", "dissipative", "given"

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
    """

    shares: dict[str, ca.SX]
    B: ca.SX
    potential_energy: ca.SX
    wrenches: tuple[Pair, ...]

    @property
    def Q(self) -> ca.SX:
        """Sum of the shares."""
        return sum(self.shares.values(), ca.SX(0))


def _sums(kin: Kinematics, shares: list[list[Pair]]) -> tuple[Pair, ...]:
    """Wrench on each body, all shares together, at v = Sη + s."""
    num = len(kin.tree.nodes)
    parts = [sum((share[k][j] for share in shares), _ZERO3) for k in range(num) for j in (0, 1)]
    if not parts:
        return ()
    stacked = kin.at_speeds(ca.vertcat(*parts))
    split = ca.vertsplit(stacked, 3)
    return tuple((split[2 * k], split[2 * k + 1]) for k in range(num))


def applied_forces(kin: Kinematics) -> AppliedForces:
    """All forces of the model on the tree speeds."""
    model, symbols, reader = kin.model, kin.symbols, kin.reader
    num = kin.num_speeds
    speed = {s.name: k for k, s in enumerate(kin.speeds)}
    coordinate = {c.name: k for k, c in enumerate(kin.coordinates)}
    motion = twists(kin.tree, symbols.v)
    joint = {share: [ca.SX(0)] * num for share in (SPRING, DISSIPATIVE, GIVEN)}
    wrenches = {share: _no_wrenches(kin) for share in (GRAVITY, SPRING, DISSIPATIVE, GIVEN)}
    energy = _gravity(kin, wrenches[GRAVITY])

    for force in model.forces:
        match force:
            case Motor():
                k = speed[force.speed]
                joint[GIVEN][k] += reader.scalar(force.input)
            case JointSpring():
                at = coordinate[force.coordinate]
                stretch = symbols.q[at] - reader.scalar(force.rest)
                stiffness = reader.scalar(force.stiffness)
                energy += stiffness * stretch**2 / 2
                # Q = −Nᵀ ∂U/∂q: the x of a planar joint is moved by both of its linear speeds
                for k in range(num):
                    joint[SPRING][k] -= stiffness * stretch * kin.N[at, k]
            case JointDamper():
                k = speed[force.speed]
                joint[DISSIPATIVE][k] -= reader.scalar(force.damping) * symbols.v[k]
            case JointFriction():
                k = speed[force.speed]
                level, smooth = reader.scalar(force.level), reader.scalar(force.smoothing)
                joint[DISSIPATIVE][k] -= level * ca.tanh(symbols.v[k] / smooth)
            case Spring():
                energy += _spring(kin, motion, force, wrenches)
            case Tire():
                _tire(kin, motion, force, wrenches[DISSIPATIVE])
            case Wrench():
                _wrench(kin, force, wrenches[GIVEN])

    total = {
        share: generalized_forces(kin.tree, wrenches[share], num) + vector(joint[share])
        if share in joint and num
        else generalized_forces(kin.tree, wrenches[share], num)
        for share in wrenches
    }
    # given forces are linear in the inputs: split them into B u and the rest
    B = ca.jacobian(total[GIVEN], symbols.u)
    total[GIVEN] = ca.substitute([total[GIVEN]], [symbols.u], [ca.SX.zeros(symbols.u.shape)])[0]
    return AppliedForces(
        shares={share: kin.at_speeds(force) for share, force in total.items()},
        B=kin.at_speeds(B),
        potential_energy=energy,
        wrenches=_sums(kin, list(wrenches.values())),
    )


def _no_wrenches(kin: Kinematics) -> list[Pair]:
    return [(_ZERO3, _ZERO3) for _ in kin.tree.nodes]


def _gravity(kin: Kinematics, wrenches: list[Pair]) -> ca.SX:
    """m g at each mass center; returns the potential energy −Σ m g·c."""
    gravity = kin.reader.vector(kin.model.gravity)
    energy = ca.SX(0)
    for k, node in enumerate(kin.tree.nodes):
        force = node.mass * ca.mtimes(node.R_WD.T, gravity)
        wrenches[k] = (cross(node.center_D, force), force)
        center = node.p_WB + ca.mtimes(node.R_WD, node.center_D)
        energy -= node.mass * ca.dot(gravity, center)
    return energy


def _spring(
    kin: Kinematics, motion: list[Pair], spring: Spring, wrenches: dict[str, list[Pair]]
) -> ca.SX:
    """Tension along the line between two points; returns the energy stored."""
    reader = kin.reader
    p, v = _point(kin, motion, spring.body, spring.point)
    p_other, v_other = _point(kin, motion, spring.other_body, spring.other_point)
    length = ca.norm_2(p - p_other)
    along = (p - p_other) / length
    stretch = length - reader.scalar(spring.rest_length)
    stiffness = reader.scalar(spring.stiffness)
    tension = stiffness * stretch
    drag = reader.scalar(spring.damping) * ca.dot(along, v - v_other)
    for share, size in ((SPRING, tension), (DISSIPATIVE, drag)):
        _push(kin, wrenches[share], spring.body, spring.point, -size * along, _ZERO3)
        _push(kin, wrenches[share], spring.other_body, spring.other_point, size * along, _ZERO3)
    return stiffness * stretch**2 / 2


def _tire(kin: Kinematics, motion: list[Pair], tire: Tire, wrenches: list[Pair]) -> None:
    """F_w = −C v_w/√(v_u² + v0²), or −F tanh of that over F, along normal × heading."""
    reader = kin.reader
    # it touches the plane as a blade does, with the same axes
    blade = KnifeEdge(
        name=tire.name,
        body=tire.body,
        direction=tire.direction,
        point=tire.point,
        plane=tire.plane,
    )
    contact = trace_contact(blade, kin.tree, motion, reader)
    v_u, v_w = contact.slip[LONGITUDINAL], contact.slip[LATERAL]
    v0 = reader.scalar(tire.v0)
    size = -reader.scalar(tire.stiffness) * v_w / ca.sqrt(v_u**2 + v0**2)
    if tire.maximum is not None:
        maximum = reader.scalar(tire.maximum)
        size = maximum * ca.tanh(size / maximum)
    force = size * contact.directions[LATERAL]
    _push(kin, wrenches, tire.body, tire.point, force, _ZERO3)
    if tire.plane.body != WORLD:
        # the plane's body is pushed back at the same place
        origin = kin.tree.nodes[kin.tree.index(tire.plane.body)].p_WB
        turning = cross(contact.point - origin, force)
        _push(kin, wrenches, tire.plane.body, ZERO, -force, -turning)


def _wrench(kin: Kinematics, wrench: Wrench, wrenches: list[Pair]) -> None:
    force, moment = kin.reader.vector(wrench.force), kin.reader.vector(wrench.moment)
    if wrench.axes == "body" and wrench.body != WORLD:
        R_DB = kin.tree.nodes[kin.tree.index(wrench.body)].R_DB
        f, n = ca.mtimes(R_DB, force), ca.mtimes(R_DB, moment)
        _push_in_D(kin, wrenches, wrench.body, wrench.point, f, n)
    else:
        _push(kin, wrenches, wrench.body, wrench.point, force, moment)


def _push(
    kin: Kinematics, wrenches: list[Pair], body: str, point: Vector3, force: ca.SX, moment: ca.SX
) -> None:
    """Add a force at a point of a body and a moment, both in world axes, to the body's wrench."""
    k = kin.tree.index(body)
    if k < 0:
        return
    to_D = kin.tree.nodes[k].R_WD.T
    _push_in_D(kin, wrenches, body, point, ca.mtimes(to_D, force), ca.mtimes(to_D, moment))


def _push_in_D(
    kin: Kinematics, wrenches: list[Pair], body: str, point: Vector3, f: ca.SX, n: ca.SX
) -> None:
    """The same with force and moment in the body's computing axes."""
    k = kin.tree.index(body)
    r = ca.mtimes(kin.tree.nodes[k].R_DB, kin.reader.vector(point))
    wrenches[k] = (wrenches[k][0] + n + cross(r, f), wrenches[k][1] + f)


def _point(kin: Kinematics, motion: list[Pair], body: str, point: Vector3) -> tuple[ca.SX, ca.SX]:
    """Position and velocity of a point of a body, in the world."""
    k = kin.tree.index(body)
    place = kin.reader.vector(point)
    if k < 0:
        return place, _ZERO3
    node = kin.tree.nodes[k]
    w, v = motion[k]
    r = ca.mtimes(node.R_DB, place)
    return node.p_WB + ca.mtimes(node.R_WD, r), ca.mtimes(node.R_WD, v + cross(w, r))
