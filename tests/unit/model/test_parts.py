"""Parts against the same thing written by hand, equal data; vehicles of parts against Lagrange."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.analysis import contact_forces
from noslip.analysis.reactions import share_loads
from noslip.base import members_of
from noslip.base.families import isolated
from noslip.cli.main import main
from noslip.model import parse_model
from noslip.model.parts.part import formula
from noslip.model.schema import keys_of

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def builder():
    """A base with a planar joint, by hand."""
    b = ns.ModelBuilder(name="vehicle", gravity=(0.0, 0.0, -9.81))
    b.parameter("r", 0.1, "m", "radius of the wheels")
    b.body("base", mass=12.0, inertia=(0.1, 0.2, 0.3), center_of_mass=(-0.1, 0.0, 0.2))
    b.joint("base", ns.joints.Planar(), parent="world", child="base")
    return b


AT_ORIGIN = ns.Placement()


def at(*position, turn=0.0):
    return ns.Placement(position=position, angles=(0.0, 0.0, turn))


def cylinder(m, r, w):
    across = m * (3 * r**2 + w**2) / 12
    return across, m * r**2 / 2, across


def box(m, x, y, z):
    return m * (y**2 + z**2) / 12, m * (x**2 + z**2) / 12, m * (x**2 + y**2) / 12


def wheel(b, name, parent, frame, *, r=0.1, m=0.8, w=None, **rows):
    """Body, joint and contact of a wheel."""
    b.body(name, mass=m, inertia=cylinder(m, r, 0.4 * r if w is None else w))
    b.joint(name, ns.joints.Revolute(axis=Y), parent=parent, child=name, parent_frame=frame)
    rolling = ns.contacts.Rolling(
        name=name, body=name, wheel=ns.surfaces.Disk(radius=r, axis=Y), normal=False, **rows
    )
    b.contact(rolling)


def motor(b, name, speed, given, unit="N*m"):
    b.input(given, unit)
    b.force(ns.forces.Motor(name=name, speed=speed, input=given))


def damper(b, name, speed, damping):
    b.force(ns.forces.JointDamper(name=name, speed=speed, damping=damping))


def turning(b, name, parent, child, frame, child_frame=AT_ORIGIN):
    b.joint(
        name,
        ns.joints.Revolute(axis=Z),
        parent=parent,
        child=child,
        parent_frame=frame,
        child_frame=child_frame,
    )


#: Fields of a usual wheel.
WHEEL = {"parent": "base", "position": (0.0, 0.2, 0.1), "radius": 0.1, "mass": 0.8}
AXLE = {
    "parent": "base",
    "position": (0.0, 0.0, 0.1),
    "wheel_separation": 0.6,
    "wheel_radius": 0.1,
    "wheel_mass": 0.8,
}


def fork(b, name, joint, frame, mass, r=0.1, parent="base"):
    size = (0.3 * r, 1.5 * 0.4 * r, 1.3 * r)
    b.body(f"{name}.fork", mass=mass, inertia=box(mass, *size))
    turning(b, f"{name}.{joint}", parent, f"{name}.fork", frame)


def fixed_wheel(b):
    wheel(b, "w", "base", at(0.0, 0.2, 0.1, turn=0.3), w=0.05)
    damper(b, "w.bearing", "w.rate", 0.02)
    b.input("w.brake", "N*m")
    b.force(ns.forces.Brake(name="w.brake", speed="w.rate", input="w.brake", smoothing=0.05))


def driven_wheel(b):
    wheel(b, "w", "base", at(0.0, 0.2, 0.1))
    motor(b, "w", "w.rate", "w.torque")


def steered_wheel(b):
    fork(b, "w", "steer", at(0.0, 0.2, 0.1), 0.5)
    b.speed_input("w.steering_rate", "w.steer.rate")
    wheel(b, "w", "w.fork", ns.Placement())


def steered_driven_wheel(b):
    fork(b, "w", "steer", at(0.0, 0.2, 0.1), 0.5)
    motor(b, "w.steer", "w.steer.rate", "w.steering_torque")
    wheel(b, "w", "w.fork", ns.Placement())
    motor(b, "w", "w.rate", "w.torque")


def caster(b):
    fork(b, "w", "swivel", at(0.04 * math.cos(0.5), 0.2 + 0.04 * math.sin(0.5), 0.1, turn=0.5), 0.3)
    damper(b, "w.swivel", "w.swivel.rate", 0.01)
    wheel(b, "w", "w.fork", at(-0.04, 0.0, 0.0))


def ball_caster(b):
    b.body("w", mass=0.8, inertia=(0.4 * 0.8 * 0.01,) * 3)
    b.joint("w", ns.joints.Fixed(), parent="base", child="w", parent_frame=at(0.0, 0.2, 0.1))
    ball = ns.surfaces.Ball(radius=0.1)
    b.contact(
        ns.contacts.Rolling(name="w", body="w", wheel=ball, longitudinal=False, lateral=False)
    )


def rollers(b, angle):
    b.body("w", mass=0.8, inertia=cylinder(0.8, 0.1, 0.04))
    b.joint(
        "w",
        ns.joints.Revolute(axis=Y),
        parent="base",
        child="w",
        parent_frame=at(0.0, 0.2, 0.1, turn=0.3),
    )
    b.contact(
        ns.contacts.RollerRolling(
            name="w", body="w", radius=0.1, axis=Y, roller_angle=angle, normal=False
        )
    )
    motor(b, "w", "w.rate", "w.torque")


def blade(b):
    direction = (math.cos(0.3), math.sin(0.3), 0.0)
    b.contact(
        ns.contacts.KnifeEdge(name="w", body="base", direction=direction, point=(0.1, 0.0, 0.0))
    )


def axle(b, name="a", parent="base", **rows):
    for side, sign in (("left", 1), ("right", -1)):
        wheel(b, f"{name}.{side}", parent, at(0.0, sign * 0.3, 0.1), **rows)


def wheelset(b):
    m, r, w = 0.8, 0.1, 0.6
    across = 2 * (cylinder(m, r, 0.04)[0] + m * (w / 2) ** 2)
    b.body("a", mass=2 * m, inertia=(across, m * r**2, across))
    b.joint(
        "a", ns.joints.Revolute(axis=Y), parent="base", child="a", parent_frame=at(0.0, 0.0, 0.1)
    )
    for side, sign in (("left", 1), ("right", -1)):
        b.contact(
            ns.contacts.Rolling(
                name=f"a.{side}",
                body="a",
                wheel=ns.surfaces.Disk(radius=r, axis=Y),
                center=(0.0, sign * w / 2, 0.0),
                normal=False,
            )
        )
    motor(b, "a", "a.rate", "a.torque")


def differential_axle(b):
    b.body("a.cage", mass=0.0, inertia=(0.01,) * 3)
    b.joint(
        "a",
        ns.joints.Revolute(axis=Y),
        parent="base",
        child="a.cage",
        parent_frame=at(0.0, 0.0, 0.1),
    )
    axle(b)
    b.row(
        ns.rows.Differential(name="a", drive="a.angle", left="a.left.angle", right="a.right.angle")
    )
    motor(b, "a", "a.rate", "a.torque")


def ackermann_axle(b):
    b.body("a.column", mass=0.0, inertia=(0.0, 0.0, 0.0))
    turning(b, "a.steer", "base", "a.column", at(0.0, 0.0, 0.1))
    motor(b, "a.steer", "a.steer.rate", "a.steering_torque")
    for side, sign in (("left", 1), ("right", -1)):
        fork(b, f"a.{side}", "steer", at(0.0, sign * 0.3, 0.1), 0.5)
        wheel(b, f"a.{side}", f"a.{side}.fork", ns.Placement())
    for side, sign in (("left", 1), ("right", -1)):
        own, middle = f"(a.{side}.steer.angle)", "(a.steer.angle)"
        L, half = "1.2[m]", f"{sign}*0.6[m]/2"
        text = f"{L}*sin({own} - {middle}) - {half}*sin({own})*sin({middle})"
        acts = [
            ns.rows.RowForce(body=body, other_body="base", frame="base", moment=(0.0, 0.0, moment))
            for body, moment in (
                (f"a.{side}.fork", f"{L}*cos({own} - {middle}) - {half}*cos({own})*sin({middle})"),
                ("a.column", f"-{L}*cos({own} - {middle}) - {half}*sin({own})*cos({middle})"),
            )
        ]
        row = ns.rows.PositionRow(name=f"a.{side}.law", expression=text, unit="m", acts=tuple(acts))
        b.row(row)


def hitched(b):
    b.body("trailer", mass=5.0, inertia=(0.1, 0.2, 0.3))


def hitch(b):
    hitched(b)
    turning(b, "h", "base", "trailer", at(-0.3, 0.0, 0.0), at(0.9, 0.0, 0.0))
    damper(b, "h", "h.rate", 0.1)


def waist(b):
    hitched(b)
    turning(b, "h", "base", "trailer", at(-0.3, 0.0, 0.0))
    motor(b, "h", "h.rate", "h.torque")


def fifth_wheel(b):
    hitched(b)
    b.body("h.plate", mass=2.0, inertia=(0.005, 0.005, 0.01))
    b.joint(
        "h.plate",
        ns.joints.Fixed(),
        parent="base",
        child="h.plate",
        parent_frame=at(-0.3, 0.0, 0.2),
    )
    turning(b, "h", "h.plate", "trailer", ns.Placement(), at(0.9, 0.0, 0.2))


def trailer(b, name="t", parent="base", pin=(-0.3, 0.0, 0.0)):
    b.body(name, mass=5.0, inertia=box(5.0, 0.8, 0.5, 0.3), center_of_mass=(0.1, 0.0, 0.3))
    turning(b, f"{name}.hitch", parent, name, at(*pin), at(0.9, 0.0, 0.0))
    axle(b, name, name)


def trailers(b):
    trailer(b, "t1")
    trailer(b, "t2", "t1", (-0.2, 0.0, 0.0))


def load(b):
    b.body("l", mass=5.0, inertia=box(5.0, 0.3, 0.2, 0.1))
    b.joint("l", ns.joints.Fixed(), parent="base", child="l", parent_frame=at(0.1, 0.0, 0.4))


def pendulum(b, name="p", parent="base", pin=(0.0, 0.0, 1.0), m=2.0, length=0.6, axis=X):
    inertia = (0.4 * m * (length / 6) ** 2,) * 3
    b.body(name, mass=m, inertia=inertia, center_of_mass=(0.0, 0.0, -length))
    b.joint(name, ns.joints.Revolute(axis=axis), parent=parent, child=name, parent_frame=at(*pin))
    damper(b, f"{name}.pin", f"{name}.rate", 0.1)


def tank(b):
    long, high = 0.6, 0.4
    slope = math.tanh(math.pi * high / long)
    share, length = 8 * slope / (math.pi**3 * high / long), long / (math.pi * slope)
    still = 3.0 + 20.0 * (1 - share)
    b.body("l", mass=still, inertia=box(still, long, 0.5, high))
    b.joint("l", ns.joints.Fixed(), parent="base", child="l", parent_frame=at(0.0, 0.0, 0.5))
    pendulum(b, "l.slosh", "l", (0.0, 0.0, length), 20.0 * share, length, Y)


def strut(b):
    b.body("s", mass=2.0, inertia=box(2.0, 0.1, 0.1, 0.1))
    b.joint(
        "s", ns.joints.Prismatic(axis=Z), parent="base", child="s", parent_frame=at(0.0, 0.0, 0.1)
    )
    b.force(
        ns.forces.JointSpring(
            name="s.spring", coordinate="s.position", stiffness=2e4, rest=-100.0 / 2e4
        )
    )
    damper(b, "s.damper", "s.speed", 500.0)


def lift(b):
    b.body("s", mass=2.0, inertia=box(2.0, 0.5, 0.4, 0.1))
    b.joint(
        "s", ns.joints.Prismatic(axis=Z), parent="base", child="s", parent_frame=at(0.0, 0.0, 0.3)
    )
    motor(b, "s", "s.speed", "s.force", "N")


def flywheel(b):
    m, r, h = 3.0, 0.2, 0.04
    across = m * (3 * r**2 + h**2) / 12
    b.body("s", mass=m, inertia=(across, across, m * r**2 / 2))
    turning(b, "s", "base", "s", at(0.0, 0.0, 0.3))
    motor(b, "s", "s.rate", "s.torque")


def arm(b):
    b.body("arm", mass=1.0, inertia=((1.6 * 0.05) ** 2,) * 3)
    b.joint("arm", ns.joints.Fixed(), parent="base", child="arm", parent_frame=at(0.0, 0.0, 0.3))
    m, r, a = 2.0, 0.05, 0.5
    rod = (m * r**2 / 2, m * (3 * r**2 + a**2) / 12, m * (3 * r**2 + a**2) / 12)
    upright = (m * r**2 / 2, m * r**2 / 4, m * r**2 / 4)
    b.body("arm.link1", mass=m, inertia=upright)
    b.joint(
        "arm.joint1",
        ns.joints.Revolute(axis=Z),
        parent="arm",
        child="arm.link1",
        # the inverse of Tz(0.3) Rx(π/2)
        child_frame=ns.Placement(position=(0.0, -0.3, 0.0), angles=(-math.pi / 2, 0.0, 0.0)),
        symbols={"angle": "q_1"},
    )
    b.body("arm.link2", mass=m, inertia=rod, center_of_mass=(-a / 2, 0.0, 0.0))
    b.joint(
        "arm.joint2",
        ns.joints.Prismatic(axis=Z),
        parent="arm.link1",
        child="arm.link2",
        child_frame=ns.Placement(position=(-a, 0.0, 0.0)),
        symbols={"position": "q_2"},
    )
    motor(b, "arm.joint1", "arm.joint1.rate", "arm.joint1.torque")
    motor(b, "arm.joint2", "arm.joint2.speed", "arm.joint2.force", "N")


TRAILER = {
    "parent": "base",
    "hitch": (-0.3, 0.0, 0.0),
    "length": 0.9,
    "mass": 5.0,
    "size": (0.8, 0.5, 0.3),
    "position": (0.1, 0.0, 0.3),
    "wheel_separation": 0.6,
    "wheel_radius": 0.1,
    "wheel_mass": 0.8,
}
ARM_LINKS = (
    ns.parts.ArmLink(mass=2.0, d=0.3, alpha=math.pi / 2, radius=0.05),
    ns.parts.ArmLink(mass=2.0, a=0.5, radius=0.05, kind="prismatic"),
)
HITCH = {"parent": "base", "child": "trailer", "position": (-0.3, 0.0, 0.0)}

#: Word → part, what it must expand to by hand, and what is there before it.
BY_HAND = {
    "fixed_wheel": (
        ns.parts.FixedWheel(
            name="w", heading=0.3, width=0.05, damping=0.02, has_brake=True, **WHEEL
        ),
        fixed_wheel,
    ),
    "driven_wheel": (ns.parts.DrivenWheel(name="w", **WHEEL), driven_wheel),
    "steered_wheel": (ns.parts.SteeredWheel(name="w", steering="rate", fork_mass=0.5, **WHEEL),
        steered_wheel),
    "steered_driven_wheel": (ns.parts.SteeredDrivenWheel(name="w", fork_mass=0.5, **WHEEL),
        steered_driven_wheel),
    "caster": (
        ns.parts.Caster(
            name="w", trail=0.04, heading=0.5, fork_mass=0.3, swivel_damping=0.01, **WHEEL
        ),
        caster,
    ),
    "ball_caster": (ns.parts.BallCaster(name="w", **WHEEL), ball_caster),
    "mecanum_wheel": (ns.parts.MecanumWheel(name="w", roller_angle=0.7, heading=0.3, **WHEEL),
        lambda b: rollers(b, 0.7)),
    "omni_wheel": (ns.parts.OmniWheel(name="w", heading=0.3, **WHEEL),
        lambda b: rollers(b, "pi/2")),
    "blade": (ns.parts.Blade(name="w", parent="base", position=(0.1, 0.0, 0.0), heading=0.3),
        blade),
    "axle": (ns.parts.Axle(name="a", **AXLE), axle),
    "wheelset": (ns.parts.Wheelset(name="a", is_driven=True, **AXLE), wheelset),
    "differential_axle": (ns.parts.DifferentialAxle(name="a", cage_inertia=0.01, **AXLE),
        differential_axle),
    "ackermann_axle": (ns.parts.AckermannAxle(name="a", wheelbase=1.2, knuckle_mass=0.5, **AXLE),
        ackermann_axle),
    "hitch": (ns.parts.Hitch(name="h", child_position=(0.9, 0.0, 0.0), damping=0.1, **HITCH), hitch,
        hitched),
    "waist": (ns.parts.Waist(name="h", **HITCH), waist, hitched),
    "fifth_wheel": (
        ns.parts.FifthWheel(
            name="h",
            parent="base",
            child="trailer",
            position=(-0.3, 0.0, 0.2),
            child_position=(0.9, 0.0, 0.2),
            radius=0.1,
            mass=2.0,
        ),
        fifth_wheel,
        hitched,
    ),
    "trailer": (ns.parts.Trailer(name="t", **TRAILER), trailer),
    "trailers": (ns.parts.Trailers(name="t", count=2, hitch_offset=0.2, **TRAILER), trailers),
    "load": (
        ns.parts.Load(
            name="l", parent="base", mass=5.0, size=(0.3, 0.2, 0.1), position=(0.1, 0.0, 0.4)
        ),
        load,
    ),
    "pendulum": (
        ns.parts.Pendulum(
            name="p", parent="base", position=Z, mass=2.0, length=0.6, axis=X, damping=0.1
        ),
        pendulum,
    ),
    "tank": (
        ns.parts.Tank(
            name="l",
            parent="base",
            mass=3.0,
            liquid_mass=20.0,
            size=(0.6, 0.5, 0.4),
            position=(0.0, 0.0, 0.5),
            direction="x",
            damping=0.1,
        ),
        tank,
    ),
    "strut": (
        ns.parts.Strut(
            name="s",
            parent="base",
            position=(0.0, 0.0, 0.1),
            mass=2.0,
            stiffness=2e4,
            damping=500.0,
            preload=100.0,
        ),
        strut,
    ),
    "lift": (
        ns.parts.Lift(
            name="s", parent="base", position=(0.0, 0.0, 0.3), mass=2.0, size=(0.5, 0.4, 0.1)
        ),
        lift,
    ),
    "flywheel": (
        ns.parts.Flywheel(name="s", parent="base", position=(0.0, 0.0, 0.3), mass=3.0, radius=0.2),
        flywheel),
    "arm": (
        ns.parts.Arm(
            name="arm", parent="base", mass=1.0, position=(0.0, 0.0, 0.3), links=ARM_LINKS
        ),
        arm,
    ),
}  # fmt: skip


def plain(thing):
    """Nested tuples of a model without what is for people: shapes, letters, order of kinds."""
    if dataclasses.is_dataclass(thing):
        names = [f.name for f in dataclasses.fields(thing)]
        skipped = ("shapes", "description", "symbol", "symbols", "parameters", "equation_numbers")
        pairs = [(n, plain(getattr(thing, n))) for n in names if n not in skipped]
        return type(thing).__name__, tuple(pairs)
    if isinstance(thing, tuple):
        return tuple(map(plain, thing))
    return thing


def leaves(thing):
    if isinstance(thing, tuple):
        for item in thing:
            yield from leaves(item)
    else:
        yield thing


def assert_equal(one, other):
    ours, theirs = list(leaves(plain(one))), list(leaves(plain(other)))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, float) and isinstance(b, float):
            assert a == pytest.approx(b, rel=1e-13, abs=1e-16)
        else:
            assert a == b


@pytest.mark.parametrize("word", BY_HAND)
def test_a_part_expands_to_what_one_writes_by_hand(word):
    part, by_hand, *before = BY_HAND[word]
    assert part.word == word
    ours, theirs = builder(), builder()
    for there in before:
        there(ours)
    ours.part(part)
    by_hand(theirs)
    # checked as a whole where it stands alone; a wheel by itself is one
    assert_equal(ours.build(), theirs.build())


def test_every_part_is_here():
    words = {member.word for member in members_of(ns.parts.AbstractPart)}
    assert words == {*BY_HAND, "base"}


def test_the_page_names_every_part_and_key():
    page = (Path(__file__).parents[3] / "docs" / "parts.md").read_text(encoding="utf-8")
    for part in (*members_of(ns.parts.AbstractPart), ns.parts.ArmLink):
        assert part is ns.parts.ArmLink or f"| `{part.word}` |" in page
        for key in keys_of(part):
            assert key.name == "name" or f"`{key.name}`" in page, f"{part.__name__}.{key.name}"


def test_a_base_is_a_box_on_a_planar_joint():
    b = ns.ModelBuilder(name="vehicle", gravity=(0.0, 0.0, -9.81))
    b.part(ns.parts.Base(name="base", mass=6.0, size=(0.4, 0.3, 0.2), position=(0.1, 0.0, 0.2)))
    h = ns.ModelBuilder(name="vehicle", gravity=(0.0, 0.0, -9.81))
    h.body("base", mass=6.0, inertia=box(6.0, 0.4, 0.3, 0.2), center_of_mass=(0.1, 0.0, 0.2))
    h.joint("base", ns.joints.Planar(), parent="world", child="base")
    assert_equal(b.build(), h.build())


def test_formulas_are_numbers_or_texts():
    assert formula("m*r^2/2", m=3.0, r=2.0) == 6.0
    assert formula("m*r^2/2", m="m_w", r=0.1) == "m_w*0.1[m]^2/2"
    assert formula("sin(a) - s", a="x + y", s=1.0) == "sin((x + y)) - 1.0"
    assert formula("a - b", a="x", b=-1.0) == "x - (-1.0[m])"


# --------------------------------------------------------------------------- against Lagrange


def accelerations(model, speeds, inputs, state=()):
    """η̇ by name at given independent speeds."""
    system = ns.compile(ns.derive(model))
    return ns.evaluate(system, {**dict(state), **speeds}, inputs=inputs).accelerations


def robot(*, caster_mass=0.4):
    b = ns.ModelBuilder(name="robot", gravity=(0.0, 0.0, -9.81))
    b.part(ns.parts.Base(name="base", mass=12.0, size=(0.4, 0.3, 0.1), position=(-0.1, 0.0, 0.2)))
    for name, y in (("left", 0.2), ("right", -0.2)):
        b.part(
            ns.parts.DrivenWheel(
                name=name, parent="base", position=(0.0, y, 0.1), radius=0.1, mass=0.8, width=0.03
            )
        )
    place = (-0.3, 0.0, 0.05)
    b.part(
        ns.parts.BallCaster(
            name="ball", parent="base", position=place, radius=0.05, mass=caster_mass
        )
    )
    b.independent_speed("base.vx")
    b.independent_speed("base.rate")
    return b.build()


def test_a_differential_robot_moves_as_lagrange_says(rng):
    """T in (v, ω), wheel rates (v ∓ b ω)/r; the offset of the mass center turns with the body."""
    M, mw, mc, r, half, d, xc = 12.0, 0.8, 0.4, 0.1, 0.2, -0.1, -0.3
    across, spin, _ = cylinder(mw, r, 0.03)
    J = box(M, 0.4, 0.3, 0.1)[2] + M * d**2 + 0.4 * mc * 0.05**2 + mc * xc**2
    J += 2 * (across + mw * half**2)
    first = M * d + mc * xc
    for _ in range(3):
        v, w, left, right = rng.normal(size=4)
        found = accelerations(
            robot(), {"base.vx": v, "base.rate": w}, {"left.torque": left, "right.torque": right}
        )
        mass = M + mc + 2 * mw + 2 * spin / r**2
        turn = J + 2 * spin * half**2 / r**2
        assert found["base.vx"] == pytest.approx(
            ((left + right) / r + first * w**2) / mass, rel=1e-12
        )
        assert found["base.rate"] == pytest.approx(
            ((right - left) * half / r - first * v * w) / turn, rel=1e-12
        )


@pytest.mark.parametrize("name", ["mecanum-base", "omni-base"])
def test_bases_on_rollers_move_as_lagrange_says(name, rng):
    """M v̇ + gyroscopic terms of the bodies = Σ τᵢ ∂ωᵢ/∂v with ωᵢ linear in (vx, vy, ω)."""
    model = ns.load(name)
    p = model.parameter_values()
    r = p["wheel_radius"]
    rows, centers, m_wheel, damping = [], [], None, None
    for contact in model.contacts:
        joint = next(j for j in model.joints if j.name == contact.name)
        place = [ns_number(x, p) for x in joint.parent_frame.position]
        turn = ns_number(joint.parent_frame.angles[2], p)
        gamma = ns_number(contact.roller_angle, p)
        ahead, aside = (
            np.array([np.cos(turn), np.sin(turn)]),
            np.array([-np.sin(turn), np.cos(turn)]),
        )
        # the roller's axis a: a·v_center = r ω a·ahead
        a = ahead * np.sin(gamma) + aside * np.cos(gamma)
        lever = a[1] * place[0] - a[0] * place[1]
        rows.append(np.array([a[0], a[1], lever]) / (r * np.sin(gamma)))
        centers.append(place[:2])
        body = next(b for b in model.bodies if b.name == contact.name)
        m_wheel, spin, upright = body.mass, *[ns_number(x, p) for x in body.inertia[1:]]
        damping = next(f.damping for f in model.forces if f.name == f"{contact.name}.bearing")
    G = np.array(rows)
    base = model.bodies[0]
    J = ns_number(base.inertia[2], p)
    total = p["mass"] + len(rows) * m_wheel
    J += sum(upright + m_wheel * np.dot(c, c) for c in centers)
    center = sum(m_wheel * np.array(c) for c in centers)  # vanishes for both
    assert np.allclose(center, 0.0)
    M = np.diag([total, total, J]) + spin * G.T @ G
    for _ in range(2):
        v = rng.normal(size=3)
        torque = rng.normal(size=len(rows))
        gyro = total * np.array([-v[1] * v[2], v[0] * v[2], 0.0])
        expected = np.linalg.solve(M, G.T @ (torque - damping * G @ v) - gyro)
        found = accelerations(
            model,
            dict(zip(("base.vx", "base.vy", "base.rate"), v, strict=True)),
            {f"{c.name}.torque": t for c, t in zip(model.contacts, torque, strict=True)},
        )
        ours = [found[n] for n in ("base.vx", "base.vy", "base.rate")]
        assert ours == pytest.approx(list(expected), rel=1e-11, abs=1e-12)


def ns_number(scalar, values):
    from noslip.model.quantities import number

    return number(scalar, values)


def car(law="ideal", **fields):
    b = ns.ModelBuilder(name="car", gravity=(0.0, 0.0, -9.81))
    b.part(ns.parts.Base(name="base", mass=900.0, size=(3.0, 1.4, 0.6), position=(1.1, 0.0, 0.7)))
    axle = {"parent": "base", "wheel_separation": 1.4, "wheel_radius": 0.3, "wheel_mass": 15.0}
    b.part(ns.parts.DifferentialAxle(name="rear", position=(0.0, 0.0, 0.3), **axle))
    b.part(
        ns.parts.AckermannAxle(
            name="front",
            position=(2.5, 0.0, 0.3),
            wheelbase=2.5,
            steering="rate",
            law=law,
            **axle,
            **fields,
        )
    )
    b.independent_speed("base.vx")
    return b.build()


@pytest.mark.parametrize("turn", [0.0, 0.3, -0.5])
def test_an_ackermann_car_moves_as_lagrange_says(turn):
    """At a fixed steering angle T = M(δ) v²/2, so M(δ) v̇ = torque/r."""
    L, w, r, m = 2.5, 1.4, 0.3, 15.0
    across, spin, _ = cylinder(m, r, 0.4 * r)
    rate = math.tan(turn) / L  # yaw rate for v = 1
    M = 900.0 * (1 + (1.1 * rate) ** 2) + box(900.0, 3.0, 1.4, 0.6)[2] * rate**2
    for sign in (1, -1):
        y = sign * w / 2
        M += m * (1 - y * rate) ** 2 + across * rate**2 + spin * ((1 - y * rate) / r) ** 2
        vx, vy = 1 - y * rate, L * rate
        M += m * (vx**2 + vy**2) + across * rate**2 + spin * math.hypot(vx, vy) ** 2 / r**2
    system = ns.compile(ns.derive(car()))
    state = {"front.steer.angle": turn, "base.vx": 2.0}
    found = ns.evaluate(system, state, inputs={"rear.torque": 40.0})
    assert found.accelerations["base.vx"] == pytest.approx(40.0 / r / M, rel=1e-10)
    for side, sign in (("left", 1), ("right", -1)):
        exact = math.atan2(math.sin(turn) * L, L * math.cos(turn) - sign * w / 2 * math.sin(turn))
        angle = found.coordinates[f"front.{side}.steer.angle"]
        assert angle == pytest.approx(exact, abs=1e-12)


def test_a_trapezoid_lets_one_wheel_slip_by_the_angle_it_misses():
    """The slip angle is what the law of Ackermann asks for, less what the linkage gives."""
    system = ns.compile(ns.derive(car("trapezoid", slipping="right")))
    run = ns.simulate(
        system,
        duration=1.0,
        start={"base.vx": 2.0, "front.steer.angle": 0.4},
        inputs={"front.steering_rate": 0.1},
        outputs={"slip": "front.right.slip_angle"},
    )
    L, w = 2.5, 1.4
    left = run["front.left.steer.angle"]
    # where the left wheel and the rear axle point to
    R = L / np.tan(left) + w / 2
    asked = np.arctan2(L, R + w / 2)
    assert run["slip"] == pytest.approx(asked - run["front.right.steer.angle"], abs=1e-9)
    assert np.max(np.abs(run["slip"])) > 1e-3
    # the tie rod keeps its length: arms at the angle β, written with their ends
    beta, arm = math.atan(w / 2 / L), w / 8
    right = run["front.right.steer.angle"]
    ends = [
        np.stack([-arm * np.cos(beta + left), w / 2 - arm * np.sin(beta + left)]),
        np.stack([-arm * np.cos(beta - right), -w / 2 + arm * np.sin(beta - right)]),
    ]
    length = np.linalg.norm(ends[0] - ends[1], axis=0)
    assert length == pytest.approx(w - 2 * arm * math.sin(beta), abs=1e-9)


@pytest.mark.parametrize("law", ["ideal", "trapezoid"])
def test_wheels_of_a_car_carry_its_weight(law):
    """Four normal forces, from what the planar joint holds: they add up, and balance moments."""
    system = ns.compile(ns.derive(car(law)))
    start = {"base.vx": 3.0, "front.steer.angle": 0.2}
    run = ns.simulate(system, duration=0.5, start=start, inputs={"rear.torque": 100.0})
    found = contact_forces(system, run)
    assert set(found.load_from.values()) == {"base"} and not found.unknown
    total = np.sum(found.least[:, :, 2], axis=1)
    assert total == pytest.approx((900.0 + 4 * 15.0) * 9.81, rel=1e-10)


@pytest.mark.parametrize("stiffness", [(1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 5.0, "k"), None])
@pytest.mark.parametrize("motion", ["planar", "free"])
@pytest.mark.parametrize("center", [(0.08, -0.05, 0.4), (0.3, -0.2, 0.4)])
@pytest.mark.slow
def test_wheels_share_a_load_as_a_rigid_base_on_springs_does(stiffness, motion, center):
    """Sink and tilt of the base from statics; springs push only, so that one may lift off."""
    places = [(0.4, 0.3), (0.4, -0.3), (-0.5, 0.35), (-0.5, -0.35)]
    b = ns.ModelBuilder(name="table", gravity=(0.0, 0.0, -9.81))
    b.parameter("k", 3.0, "N/m", "stiffness of the last one")
    base = {"mass": 20.0, "size": (1.0, 0.6, 0.2), "position": center, "motion": motion}
    b.part(ns.parts.Base(name="base", **base))
    for name, (x, y), k in zip("abcd", places, stiffness or [None] * 4, strict=True):
        wheel = {"position": (x, y, 0.1), "radius": 0.1, "mass": 1.0, "stiffness": k}
        b.part(ns.parts.OmniWheel(name=name, parent="base", heading=0.3, **wheel))
    system = ns.compile(ns.derive(b.build()))
    found = contact_forces(system, ns.simulate(system, duration=0.1, samples=2))
    k = np.array([3.0 if k == "k" else k for k in stiffness or (1.0,) * 4])
    E = np.array([[1.0, x, y] for x, y in places]).T
    weight = np.array([20.0, 20.0 * center[0], 20.0 * center[1]])
    weight += sum(np.array([1.0, x, y]) for x, y in places)
    # which wheels stand: those that the base sinks onto, and only those
    for lifted in (None, 0, 1, 2, 3):
        K = np.diag(np.where(np.arange(4) == lifted, 0.0, k))
        sink = np.linalg.solve(E @ K @ E.T, 9.81 * weight)
        if np.array_equal(E.T @ sink > 0, np.diag(K) > 0):
            break
    else:
        pytest.fail("no set of wheels carries the base")
    assert (lifted is None) == (center[0] < 0.1)
    assert found.least[0, :, 2] == pytest.approx(K @ E.T @ sink, rel=1e-9, abs=1e-9)


def test_loads_that_no_split_holds_stay_those_of_the_springs():
    """A base whose mass center is beyond its wheels falls over: two loads are negative."""
    least = np.array([[[0.0, 0.0, x] for x in (3.0, 3.0, -1.0, -1.0)]])
    family = np.zeros((1, 4, 3, 1))
    family[0, :, 2, 0] = (1.0, -1.0, 1.0, -1.0)
    share_loads(least, family, [0, 1, 2, 3], np.ones(4))
    assert least[0, :, 2] == pytest.approx([3.0, 3.0, -1.0, -1.0], rel=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_a_semitrailer_on_a_tilting_plate_rests_on_its_own_axle(slope):
    """The plate passes no pitching moment: the axle carries what the lever about the pin says."""
    g = (9.81 * math.sin(slope), 0.0, -9.81 * math.cos(slope))
    b = ns.ModelBuilder(name="semi", gravity=g)
    b.part(ns.parts.Base(name="truck", mass=20.0, size=(1.0, 0.5, 0.2), position=(0.3, 0.0, 0.2)))
    for name, x in (("rear", 0.0), ("front", 0.6)):
        wheels = {"wheel_separation": 0.5, "wheel_radius": 0.1, "wheel_mass": 1.0}
        lateral = name == "rear"
        place = (x, 0.0, 0.1)
        b.part(ns.parts.Axle(name=name, parent="truck", position=place, lateral=lateral, **wheels))
    box = {"mass": 12.0, "size": (1.5, 0.5, 0.3), "position": (0.5, 0.0, 0.4)}
    b.part(ns.parts.Base(name="box", motion="carried", **box))
    pin = {"position": (0.1, 0.0, 0.25), "child_position": (1.2, 0.0, 0.25)}
    plate = {"radius": 0.1, "mass": 2.0, "tilts": True}
    b.part(ns.parts.FifthWheel(name="pin", parent="truck", child="box", **pin, **plate))
    wheels = {"wheel_separation": 0.5, "wheel_radius": 0.1, "wheel_mass": 1.0}
    b.part(ns.parts.Axle(name="axle", parent="box", position=(0.0, 0.0, 0.1), **wheels))
    model = b.build()
    system = ns.compile(ns.derive(model))
    found = ns.evaluate(system, {"truck.vx": 1.0})
    carried = sum(found.multipliers[f"axle.{side}.normal"] for side in ("left", "right"))
    # moments about the pin, of what weight is left when all accelerate together by a, and of the
    # ground's force, which spins the wheels up
    a = found.accelerations["truck.vx"]
    spin = 2 * 0.5 * 1.0 * 0.1**2 * a / 0.1
    ground = spin / 0.1
    ahead, down = g[0] - a, -g[2]
    moment = 12.0 * (0.7 * down - 0.15 * ahead) + 2.0 * (1.2 * down + 0.15 * ahead)
    moment += spin - 0.25 * ground
    assert carried == pytest.approx(moment / 1.2, rel=1e-9)
    assert found.speeds["pin.pitch.rate"] == pytest.approx(0.0, abs=1e-12)
    assert ns.verify(model).worst < 1e-9


def test_a_crane_swings_as_lagrange_says(system_of):
    """Cart and pendulum: (M + m) ẍ + m ℓ (θ̈ cos θ − θ̇² sin θ) = τ/r, with θ as the load's angle."""
    system = system_of("crane")
    angle, rate, torque = 0.4, -0.7, 90.0
    state = {"load.angle": angle, "load.rate": rate, "carriage.vx": 0.3}
    found = ns.evaluate(system, state, inputs={"rear.torque": torque}).accelerations
    m, ell, r, g = 400.0, 2.2, 0.3, 9.81
    # the load is behind its pin where the angle is positive: x_load = x − ℓ sin θ
    wheels = 4 * 40.0 * 1.5
    M = 900.0 + 120.0 + 60.0 + wheels + m
    own = 0.4 * m * 0.25**2
    c, s = math.cos(angle), math.sin(angle)
    A = np.array([[M, -m * ell * c], [-m * ell * c, m * ell**2 + own]])
    b = np.array([torque / r - m * ell * s * rate**2, -m * g * ell * s])
    expected = np.linalg.solve(A, b)
    assert [found["carriage.vx"], found["load.rate"]] == pytest.approx(list(expected), rel=1e-10)


def test_a_tank_sloshes_at_the_frequency_of_its_surface():
    """ω² = g k tanh(k h), k = π/L, with the tank held fast."""
    b = ns.ModelBuilder(name="tank", gravity=(0.0, 0.0, -9.81))
    b.part(
        ns.parts.Tank(
            name="tank",
            parent="world",
            mass=3.0,
            liquid_mass=20.0,
            size=(0.6, 0.5, 0.4),
            position=(0.0, 0.0, 0.5),
            direction="x",
        )
    )
    system = ns.compile(ns.derive(b.build()))
    eps = 1e-6
    found = ns.evaluate(system, {"tank.slosh.angle": eps}).accelerations["tank.slosh.rate"]
    k = math.pi / 0.6
    # the ball that stands for the liquid has a little inertia of its own: (2/5)(1/6)²
    own = 1 + 0.4 / 36
    assert -found / eps * own == pytest.approx(9.81 * k * math.tanh(k * 0.4), rel=1e-9)


def test_struts_carry_a_free_base_at_its_height():
    """Four struts with a preload of a quarter of the weight: level at rest, bounce frequency."""
    weight = 100.0 * 9.81
    b = ns.ModelBuilder(name="sprung", gravity=(0.0, 0.0, -9.81))
    size = (1.0, 0.6, 0.2)
    b.part(
        ns.parts.Base(name="base", mass=100.0, size=size, position=(0.0, 0.0, 0.5), motion="free")
    )
    for name, x, y in (("fl", 0.4, 0.3), ("fr", 0.4, -0.3), ("rl", -0.4, 0.3), ("rr", -0.4, -0.3)):
        b.part(
            ns.parts.Strut(
                name=f"{name}_strut",
                parent="base",
                position=(x, y, 0.1),
                mass=1.0,
                stiffness=1e4,
                preload=weight / 4,
            )
        )
        b.part(
            ns.parts.FixedWheel(
                name=name,
                parent=f"{name}_strut",
                position=(0.0, 0.0, 0.0),
                radius=0.1,
                mass=1.0,
                lateral=name == "rl",  # two would scrub where it rolls
            )
        )
    system = ns.compile(ns.derive(b.build()))
    found = ns.evaluate(system, {})
    assert max(map(abs, found.accelerations.values())) < 1e-9
    loads = [found.multipliers[f"{name}.normal"] for name in ("fl", "fr", "rl", "rr")]
    assert loads == pytest.approx([weight / 4 + 2.0 * 9.81] * 4, rel=1e-12)
    assert ns.verify(system.model, states=2).holds


# --------------------------------------------------------------------------- files, names, checks

ROBOT = """
format = 1
name = "robot"
gravity = [0, 0, -9.81]

[parameters]
wheel_radius = {value = 0.1, unit = "m"}

[parts]
base = {type = "base", mass = 12.0, size = [0.4, 0.3, 0.1], position = [-0.1, 0, 0.2]}
left = {type = "driven_wheel", parent = "base", position = [0, 0.2, "wheel_radius"], radius = "wheel_radius", mass = 0.8}
right = {type = "driven_wheel", parent = "base", position = [0, -0.2, "wheel_radius"], radius = "wheel_radius", mass = 0.8}
caster = {type = "caster", parent = "base", position = [-0.3, 0, 0.05], radius = 0.05, trail = 0.03, mass = 0.2, fork_mass = 0.1}
"""  # noqa: E501


def faults_of(text):
    with pytest.raises(ns.ModelError) as caught:
        parse_model(text, "robot.toml")
    return caught.value.faults


def test_names_are_those_of_the_parts():
    model, _ = parse_model(ROBOT)
    kin = ns.trace(model)
    coordinates = [c.name for c in kin.coordinates]
    assert coordinates[3:] == ["left.angle", "right.angle", "caster.swivel.angle", "caster.angle"]
    assert [i.name for i in model.inputs] == ["left.torque", "right.torque"]
    assert {"caster.longitudinal", "caster.lateral"} <= {row.name for row in kin.rows}


def test_a_wheel_that_turns_forward_goes_forward():
    """REP-103: x forward, y to the left, z up; a positive rate of both wheels moves it along x."""
    system = ns.compile(ns.derive(parse_model(ROBOT)[0]))
    speeds = ns.evaluate(system, {"left.rate": 2.0, "right.rate": 2.0}).speeds
    assert speeds["base.vx"] == pytest.approx(0.2) and speeds["base.rate"] == pytest.approx(0.0)
    turned = ns.evaluate(system, {"left.rate": -1.0, "right.rate": 1.0}).speeds
    assert turned["base.rate"] == pytest.approx(0.2 / 0.4)


def test_an_expanded_file_is_the_same_model(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text(ROBOT)
    result = CliRunner().invoke(main, ["expand", str(path)], catch_exceptions=False)
    assert result.exit_code == 0 and "[parts" not in result.output
    plain_file = tmp_path / "plain.toml"
    plain_file.write_text(result.output)
    assert ns.load(plain_file) == ns.load(path)
    other = tmp_path / "other.toml"
    arguments = ["expand", "differential-robot", "-o", str(other)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert ns.load(other) == ns.load("differential-robot")
    # not a second time without --force
    assert CliRunner().invoke(main, arguments).exit_code == 1
    assert CliRunner().invoke(main, [*arguments, "--force"]).exit_code == 0


WRONG = {
    "hangs": ("position = [-0.3, 0, 0.05]", "position = [-0.3, 0, 0.07]",
        ("wheel 'caster' hangs 0.02 m above the ground", "position z = 0.05 on 'base'")),
    "sinks": ("position = [-0.3, 0, 0.05]", "position = [-0.3, 0, 0.04]",
        ("wheel 'caster' sinks 0.01 m into the ground", "position z = 0.05")),
    "overlap": ("[0, -0.2,", "[0, 0.19,", ("wheels 'left' and 'right' overlap", "move them apart")),
    "no trail": ("trail = 0.03", "trail = 0.0",
        ("caster 'caster' has a trail of 0 m", "behind its swivel axis")),
    "no size": ("size = [0.4, 0.3, 0.1]", "size = [0.4, 0.3, 0]",
        ("part 'base' has size 0, expected more than 0", "above zero")),
    "no parent": ('left = {type = "driven_wheel", parent = "base"',
        'left = {type = "driven_wheel", parent = "bass"',
        ("part 'left' refers to body 'bass', which is not declared", "did you mean 'base'")),
    "negative": ("mass = 0.2,", "mass = -0.2,",
        ("part 'caster' has mass -0.2, expected more than 0", "above zero")),
    "unknown key": ("trail = 0.03", "trial = 0.03, trail = 0.03",
        ("'trial' is not a key of parts.caster", "did you mean 'trail'")),
    "unknown word": ('caster = {type = "caster"', 'caster = {type = "castor"',
        ("part 'caster' has type \"castor\"", "did you mean 'caster'?")),
    "no name of its own": ("mass = 0.8}\ncaster",
        'mass = 0.8}\n\'a b\' = {type = "blade", parent = "base"}\ncaster',
        ("part 'a b' has a name that expressions cannot use", "a_b")),
    "into the ground": ("position = [-0.1, 0, 0.2]", "position = [-0.1, 0, 0.02]",
        ("base 'base' reaches 0.03 m into the ground", "half its height")),
    "rollers along the axle": ('left = {type = "driven_wheel", parent',
        'left = {type = "mecanum_wheel", roller_angle = 0, parent',
        ("mecanum wheel 'left' has rollers along its axle", "give roller_angle = 1.5708")),
    "tandem": (
        "mass = 0.8}\ncaster",
        'mass = 0.8}\nextra = {type = "fixed_wheel", parent = "base", position = [0.2, 0.0, 0.05], '
        "radius = 0.05, mass = 0.1}\ncaster",
        ("of 'base' cannot turn together", "lateral = false"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_faults_are_told_in_the_words_of_the_part(case):
    old, new, (what, fix) = WRONG[case]
    text = ROBOT.replace(old, new, 1)
    assert text != ROBOT
    faults = faults_of(text)
    assert len(faults) == 1, faults
    assert what in faults[0].what and fix in faults[0].fix
    assert "robot.toml, line" in faults[0].where and "parts" in faults[0].where


def test_units_of_a_part_are_checked():
    text = ROBOT.replace('radius = "wheel_radius", mass', 'radius = "10*wheel_radius^2", mass')
    _, warnings = parse_model(text)
    assert [w.where for w in warnings] == [
        f"model, line {line}, parts.{name}.radius" for line, name in ((11, "left"), (12, "right"))
    ]
    assert all("part '" in w.what for w in warnings)


def test_a_fault_of_the_expansion_is_told_of_the_part():
    """A body that is there already: the element is named, and the part is blamed."""
    text = ROBOT.replace(
        "[parts]", '[bodies."caster.fork"]\nmass = 1.0\ninertia = [1, 1, 1]\n\n[parts]'
    )
    faults = faults_of(text)
    assert any(
        "part 'caster' is at fault: 2 bodies are called 'caster.fork'" in f.what for f in faults
    )


def test_a_trapezoid_without_slip_is_refused_with_the_reason():
    with pytest.raises(ns.ModelError, match="no common center of rotation"):
        car("trapezoid", slipping="none")


def test_two_parts_with_one_name_and_what_is_no_part_are_refused():
    b = builder()
    for _ in range(2):
        b.part(ns.parts.Blade(name="blade", parent="base"))
    with pytest.raises(ns.ModelError, match="2 parts are called 'blade'"):
        b.build()
    with pytest.raises(TypeError, match="DrivenWheel"):
        b.part("wheel")
    b = builder()
    b.part(
        ns.parts.DrivenWheel(
            name="w", parent="base", position=(0.0, 0.0, None), radius=0.1, mass=1.0
        )
    )
    with pytest.raises(ns.ModelError, match="part 'w' has position"):
        b.build()


def test_an_input_must_not_hide_a_speed():
    b = builder()
    b.input("base.vx", "N")
    b.force(ns.forces.Wrench(name="push", body="base", force=("base.vx", 0.0, 0.0)))
    with pytest.raises(ns.ModelError, match="has the name of a speed"):
        b.build()


def test_a_part_of_ones_own_works_like_the_rest(tmp_path):
    with isolated():

        @dataclass(frozen=True, kw_only=True)
        class Twin(ns.parts.AbstractPart):
            """Two driven wheels in one call."""

            name: str
            parent: str
            separation: float

            word = "twin"

            def expand(self, b):
                for side, sign in (("left", 1), ("right", -1)):
                    b.part(
                        ns.parts.DrivenWheel(
                            name=f"{self.name}.{side}",
                            parent=self.parent,
                            position=(0.0, sign * self.separation / 2, 0.1),
                            radius=0.1,
                            mass=1.0,
                        )
                    )

        path = tmp_path / "own.toml"
        path.write_text(
            'format = 1\nname = "own"\ngravity = [0, 0, -9.81]\n[parts]\n'
            'base = {type = "base", mass = 5.0, size = [1, 0.5, 0.2], position = [0, 0, 0.3]}\n'
            'drive = {type = "twin", parent = "base", separation = 0.6}\n'
        )
        model = ns.load(path)
        assert [i.name for i in model.inputs] == ["drive.left.torque", "drive.right.torque"]
        assert ns.verify(model, states=2).holds
        broken = path.read_text().replace("0.6", "0.01")
        assert "overlap" in faults_of(broken)[0].what


def test_rollers_hold_along_their_axis_alone(rng):
    """The row of a mecanum wheel against the velocity of its contact point, written out."""
    b = builder()
    b.part(ns.parts.MecanumWheel(name="w", roller_angle=0.7, heading=0.3, **WHEEL))
    kin = ns.trace(b.build())
    [row] = [r for r in kin.rows if r.name == "w.longitudinal"]
    assert len(kin.rows) == 1
    A = ca.Function("A", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [ca.densify(kin.A)])
    q = rng.normal(size=kin.num_coordinates)
    found = np.array(A(0.0, q, [0.1])).ravel()
    f = np.array([math.cos(0.3), math.sin(0.3)])
    w = np.array([-math.sin(0.3), math.cos(0.3)])
    a = f * math.sin(0.7) + w * math.cos(0.7)
    expected = [a[0], a[1], -0.2 * a[0], -0.1 * math.sin(0.7)]
    assert found == pytest.approx(expected, abs=1e-14)
    assert row.origin == "rolling"


def test_a_brake_takes_energy_and_needs_none():
    b = builder()
    b.part(ns.parts.FixedWheel(name="w", has_brake=True, **WHEEL))
    b.part(ns.parts.Blade(name="straight", parent="base", position=(0.3, 0.2, 0.0)))
    system = ns.compile(ns.derive(b.build()))
    run = ns.simulate(
        system, duration=3.0, start={"base.vx": 1.0}, inputs={"w.brake": 1.0}, reactions=False
    )
    assert run.success and run.energy_drift < 1e-7
    assert abs(run["base.vx"][-1]) < 1e-2 and np.all(np.diff(np.abs(run["base.vx"])) < 1e-8)


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"mass": 0.0}, "parts.base.mass"),
        ({"load": 0.0}, "parts.pallet.mass"),
    ],
)
def test_values_given_later_are_judged_as_those_of_the_file(system_of, values, where):
    """What parts ask of their fields stays with the model, also in a batch and a sweep."""
    system, (name,) = system_of("forklift"), values
    rows = {name: [*values.values(), 1.0]}
    for call in (
        lambda: ns.simulate(system, duration=0.1, parameters=values),
        lambda: ns.evaluate_batch(system, {}, parameters=rows),
        lambda: ns.simulate_batch(system, duration=0.1, parameters=rows),
    ):
        with pytest.raises(ns.NoslipError, match="expected more than 0") as caught:
            call()
        assert where in str(caught.value)
