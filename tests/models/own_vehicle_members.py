"""A ground, a contact, a row type and a part that the package does not have, in one model.

A plugin as a user would write it, like `own_members.py`.
"""

from dataclasses import dataclass
from typing import Annotated

import casadi as ca
import numpy as np

import noslip as ns
from noslip import Meaning
from noslip.algebra import unit
from noslip.contacts import AbstractContact, Plane
from noslip.expressions import Scalar
from noslip.model import LATERAL, LONGITUDINAL, ZERO, Point, Touch
from noslip.model.grounds import AbstractHeight
from noslip.model.quantities import BodyName, PositiveLength
from noslip.model.rows import MOVING, speed_faults
from noslip.rows import AbstractRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves(AbstractHeight):
    """Waves of `amplitude` and `length` (m) along x, a trough at x = 0."""

    amplitude: PositiveLength
    length: PositiveLength

    word = "own_waves"

    def elevation(self, x, y, read):
        turn = 2 * ca.pi * x / read.scalar(self.length)
        return -read.scalar(self.amplitude) * ca.cos(turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike(AbstractContact):
    """A point of a body that stands still on the plane, about which the body may turn."""

    name: str
    body: BodyName
    point: Point = ZERO
    plane: Plane = Plane()

    word = "own_spike"
    origin = "spike"
    is_wheel = False

    def directions(self):
        return LONGITUDINAL, LATERAL

    def contact(self, n, R, read):
        ahead = R[:, 0]
        heading = unit(ahead - ca.dot(ahead, n) * n)
        return Touch(arm=ca.mtimes(R, read.vector(self.point)), heading=heading, regularity=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(AbstractRow):
    """Two speeds in a fixed ratio: `first` = `ratio` · `second`."""

    name: str
    first: Annotated[str, Meaning(scope=MOVING)]
    second: Annotated[str, Meaning(scope=MOVING)]
    ratio: Annotated[Scalar, Meaning(unit="1")]
    unit: str = "rad/s"

    word = "own_ratio"
    is_holonomic = False

    @property
    def expression(self):
        return f"{self.first} - ({self.ratio})*{self.second}"

    def expression_faults(self, path, tree, known):
        return speed_faults(path, tree, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotor(ns.parts.AbstractPart):
    """A disk of `mass` (kg) and `radius` (m) on an upright axle of its `parent`."""

    name: str
    parent: BodyName
    mass: Annotated[Scalar, Meaning(unit="kg", sign="positive")]
    radius: PositiveLength
    position: Point = ZERO

    word = "own_rotor"

    def expand(self, b):
        moment = f"({self.mass})*({self.radius})^2"
        across, along = f"{moment}/4", f"{moment}/2"
        b.body(self.name, mass=self.mass, inertia=(across, across, along))
        b.joint(
            self.name,
            ns.joints.Revolute(axis=(0.0, 0.0, 1.0)),
            parent=self.parent,
            child=self.name,
            parent_frame=ns.Placement(position=self.position),
        )


#: Of the waves, m.
AMPLITUDE, LENGTH, BALL = 0.05, 2.0, 0.1


def fairground() -> ns.Model:
    """A board that turns about a spike with two coupled rotors, and a ball on waves beside it."""
    b = ns.ModelBuilder(name="fairground", gravity=(0.0, 0.0, "-g"))
    b.parameter("g", 9.81, "m/s^2")
    b.parameter("m", 0.5, "kg")
    b.parameter("R", 0.2, "m")
    b.input("torque", "N*m")
    b.body("board", mass=2.0, moment=0.3, center_of_mass=(0.2, 0.0, 0.0))
    b.joint("board", ns.joints.Planar(), parent="world", child="board")
    b.contact(Spike(name="spike", body="board", point=(0.1, 0.05, 0.0)))
    for name, x in (("left", -0.3), ("right", 0.3)):
        b.part(Rotor(name=name, parent="board", mass="m", radius="R", position=(x, 0.0, 0.0)))
    b.row(Ratio(name="gears", first="left.rate", second="right.rate", ratio=-2.0))
    b.force(ns.forces.Motor(name="motor", speed="left.rate", input="torque"))
    b.body("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ground = Waves(amplitude=AMPLITUDE, length=LENGTH)
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="ball", wheel=ns.surfaces.Ball(radius=BALL), ground=ground
        )
    )
    b.scenario(
        ns.Scenario(
            duration=1.0,
            samples=21,
            start={"ball.x": 0.02, "ball.y": 0.0, "left.rate": 1.0},
            inputs={"torque": "0.01*sin(t)"},
        )
    )
    return b.build()


def frequency_in_trough() -> float:
    """Of the ball about the trough, rad/s: ω² = (g/ρ) m/(m + J/r²), ρ the radius of its path."""
    curvature = AMPLITUDE * (2 * np.pi / LENGTH) ** 2
    return float(np.sqrt(9.81 / (1 / curvature - BALL) / (1 + 4e-3 / BALL**2)))
