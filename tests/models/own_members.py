"""A joint, a rolling surface, a force, a shape and a formulation that the package does not have.

A plugin as a user would write it: it imports noslip, defines classes, and registers nothing.
"""

from dataclasses import dataclass
from typing import Annotated

import casadi as ca
import numpy as np

import noslip as ns
from noslip import Equations, Meaning, Quantity
from noslip.algebra import cross, rotation_about
from noslip.expressions import Scalar
from noslip.formulations import applied_forces, inverse_dynamics, kinetic_energy
from noslip.formulations.equations import Blocks
from noslip.kinematics import accelerations
from noslip.model import DISSIPATIVE, POSITIVE, ZERO, Direction, Point, Vector3
from noslip.model.bodies import joined, patch
from noslip.model.quantities import BodyName, PositiveLength


@dataclass(frozen=True, slots=True, kw_only=True)
class Screw(ns.joints.AbstractJointType):
    """Turning about `axis`, moving along it by `lead` (m) for each radian."""

    axis: Direction
    lead: Annotated[Scalar, Meaning(unit="m")]

    word = "own_screw"
    also_called = ("spiral_nut",)
    coordinates = (Quantity(name="turn", unit="rad", description="turn", symbol="ψ"),)
    speeds = (Quantity(name="rate", unit="rad/s", description="rate of the turn", symbol="ψ̇"),)
    rest = (0.0,)

    def pose(self, q, read):
        axis = read.direction(self.axis)
        return rotation_about(axis, q[0]), axis * read.scalar(self.lead) * q[0]

    def motion(self, read):
        axis = read.direction(self.axis)
        return ca.vertcat(axis, axis * read.scalar(self.lead))

    def closure(self, R, p, read):
        axis = read.direction(self.axis)
        across = ca.nullspace(ca.SX(axis).T)
        turn = ca.atan2(
            ca.dot(across[:, 1], ca.mtimes(R, across[:, 0])),
            ca.dot(across[:, 0], ca.mtimes(R, across[:, 0])),
        )
        # the two directions may form a left-handed frame with the axis
        turn = turn * ca.dot(cross(across[:, 0], across[:, 1]), axis)
        shifts = [(f"shift_{k + 1}", "m", ca.dot(across[:, k], p)) for k in range(2)]
        tilts = [
            (f"tilt_{k + 1}", "rad", ca.dot(across[:, k], ca.mtimes(R, axis))) for k in range(2)
        ]
        return [*shifts, ("lead", "m", ca.dot(axis, p) - read.scalar(self.lead) * turn), *tilts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoid(ns.surfaces.AbstractSurface):
    """An ellipsoid with semi-axes `size` (m) along the axes of its body."""

    size: Annotated[Vector3, Meaning(unit="m", sign=POSITIVE)]

    word = "own_ellipsoid"

    def support(self, direction, read):
        stretched = read.vector(self.size) * direction
        return ca.sqrt(ca.dot(stretched, stretched))

    def reach(self, read):
        return ca.mmax(read.vector(self.size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drag(ns.forces.AbstractForce):
    """Drag of the air at a point of a body: −area · √(v² + v0²) v, area being ½ ρ c A."""

    name: str
    body: BodyName
    area: Annotated[Scalar, Meaning(unit="kg/m", sign=POSITIVE)]
    v0: Annotated[Scalar, Meaning(unit="m/s", sign=POSITIVE)] = 0.1
    point: Point = ZERO

    word = "own_drag"

    def apply(self, loads):
        _, v = loads.point(self.body, self.point)
        speed = ca.sqrt(ca.dot(v, v) + loads.read.scalar(self.v0) ** 2)
        force = -loads.read.scalar(self.area) * speed * v
        loads.push(DISSIPATIVE, self.body, self.point, force)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cone(ns.shapes.AbstractShape):
    """A cone of `radius` and `length` (m), its base at the origin and its tip along z."""

    radius: PositiveLength
    length: PositiveLength
    frame: ns.Placement = ns.Placement()
    color: str = "#54a24b"

    word = "own_cone"

    def triangles(self, read):
        r, h = read.scalar(self.radius), read.scalar(self.length)
        around = np.linspace(0.0, 2 * np.pi, 33)
        rim = np.column_stack([r * np.cos(around), r * np.sin(around), 0 * around])
        tip, middle = np.tile([0.0, 0.0, h], (33, 1)), np.zeros((33, 3))
        return joined(patch(np.stack([rim, tip])), patch(np.stack([middle, rim])))


@dataclass(frozen=True, slots=True)
class Kane(ns.AbstractFormulation):
    """Kane's equations: partial velocities times inertia forces."""

    word = "own_kane"
    name = "Kane's equations"
    reference = "Kane and Levinson, Dynamics, 1985"
    prose = (
        "The generalized inertia forces are $F^* = − Σ ((∂v_c / ∂η)ᵀ m a_c + …)$ over all bodies.",
    )

    def fill(self, kinematics):
        kin, forces = kinematics, applied_forces(kinematics)
        etadot = ca.SX.sym("etadot", kin.num_independent_speeds)
        vdot = ca.mtimes(kin.S, etadot) + kin.vdot0
        inertia = ca.SX.zeros(kin.num_independent_speeds)
        rates = accelerations(kin.tree, kin.twists, kin.v, vdot)
        for node, (w, v), (alpha, acc) in zip(kin.tree.nodes, kin.twists, rates, strict=True):
            c, J = node.center_D, node.inertia_D
            a_c = acc + cross(alpha, c) + cross(w, cross(w, c))
            moment = ca.mtimes(J, alpha) + cross(w, ca.mtimes(J, w))
            inertia += ca.mtimes(ca.jacobian(v + cross(w, c), kin.eta).T, node.mass * a_c)
            inertia += ca.mtimes(ca.jacobian(w, kin.eta).T, moment)
        still = ca.SX.zeros(etadot.shape)
        blocks = Blocks(
            mass=ca.densify(ca.jacobian(inertia, etadot)),
            bias=ca.densify(ca.substitute([inertia], [etadot], [still])[0]),
            forces=ca.mtimes(kin.S.T, forces.Q),
            inputs=ca.mtimes(kin.S.T, forces.B),
        )
        return Equations(
            formulation=self,
            kinematics=kin,
            blocks=lambda: blocks,
            forces=forces,
            etadot=etadot,
            reactions=lambda: (
                inverse_dynamics(kin, vdot) - forces.Q - ca.mtimes(forces.B, kin.symbols.u)
            ),
            energy=lambda: kinetic_energy(kin.tree, kin.twists, kin.v),
        )


def rocker() -> ns.Model:
    """An ellipsoid that rolls on the ground with a nut on a screw, held by a spring, on top."""
    b = ns.ModelBuilder(name="rocker", gravity=(0.0, 0.0, "-g"))
    b.parameter("g", 9.81, "m/s^2")
    b.parameter("m", 2.0, "kg")
    b.parameter("p", 0.02, "m")
    b.parameter("c", 0.3, "m")
    b.parameter("drag", 0.4, "kg/m")
    b.parameter("k", 0.5, "N*m/rad")
    b.input("torque", "N*m")
    b.body("stone", mass="m", inertia=(0.06, 0.08, 0.1), center_of_mass=(0.0, 0.0, -0.1))
    cone = Cone(radius=0.05, length="c/2", frame=ns.Placement(position=(0.0, 0.0, 0.1)))
    b.body("nut", mass=0.3, inertia=(2e-4, 2e-4, 3e-4), shapes=(cone,))
    b.joint(
        "stone",
        ns.joints.Free(angles=ns.joints.Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="world",
        child="stone",
    )
    b.joint("nut", Screw(axis=(0.0, 0.0, 1.0), lead="p"), parent="stone", child="nut")
    b.contact(
        ns.contacts.Rolling(name="ground", body="stone", wheel=Ellipsoid(size=(0.4, 0.35, "c")))
    )
    b.force(Drag(name="air", body="stone", area="drag"))
    b.force(ns.forces.JointSpring(name="spring", coordinate="nut.turn", stiffness="k"))
    b.force(ns.forces.Motor(name="motor", speed="nut.rate", input="torque"))
    b.scenario(
        ns.Scenario(
            duration=2.0,
            samples=41,
            start={"stone.roll": 0.2, "stone.yaw_rate": 1.0},
            inputs={"torque": "0.01*sin(t)"},
        )
    )
    return b.build()
