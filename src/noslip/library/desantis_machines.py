"""The systems of DeSantis: articulated vehicles and manipulators.

**A tractor with a steered front wheel that pulls a trailer [DeSantis1994, section 6].**

**The same vehicle on tires that slip sideways, as the conclusion announces [DeSantis1994].**

**A load-haul-dump mining vehicle, steered at its waist, on tires that slip [DeSantis1994, 8].**

**The load-haul-dump vehicle on axles that do not slip sideways [DeSantis1994, appendix A].**

The appendix concludes that it then cannot bend at its waist. It can: two degrees of freedom remain,
the forward speed v and the waist's rate φ̇, with

    θ̇ = −(v sin φ + l2 φ̇) / (c cos φ + l2)

The two axles' centers of rotation need only lie on a line with the waist; they coincide where
φ̇ = 0.

**Planar arms in the vertical plane, from a Denavit–Hartenberg table: what two models share.**

**A planar arm with two links under gravity [DeSantis1994, section 7].**

**A planar arm with three links under gravity [DeSantis1994, section 7].**

**A six-joint arm with the proportions of a PUMA 560 [DeSantis1994, section 7].**
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from types import MappingProxyType
from typing import Any

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.expressions import Scalar
from noslip.forces import Motor, Tire, Wrench
from noslip.joints import Planar, Revolute
from noslip.model import (
    BLUE,
    DARK,
    GLASS,
    LIGHT,
    METAL,
    ORANGE,
    RED,
    TEAL,
    LinkRow,
    Vector3,
    axle,
    box,
    serial_arm,
)
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere

_X: Vector3 = (1.0, 0.0, 0.0)
_Z: Vector3 = (0.0, 0.0, 1.0)


def tractor_trailer() -> Model:
    """The vehicle: tractor axes at the center of its rear axle, x forward, y to the left.

    `hinge.angle` is the heading of the trailer less that of the tractor. The steered wheel has no
    mass, so its rate may be imposed; the wheels do not slip sideways and roll freely.
    """
    b = _tractor_and_trailer(
        name="tractor-trailer",
        description="Tractor with a steered front wheel and a trailer behind its rear axle",
        equation_numbers={
            "rear_axle.lateral": "(6.14)",
            "trailer_axle.lateral": "(6.8)",
            "tractor.rate": "(6.15)",
            "hinge.rate": "(6.16)",
            "tractor.vx": "(6.39)",
        },
    )
    for on in _AXLES.values():
        b.contact(KnifeEdge(**on))
    b.independent_speed("tractor.vx")
    b.scenario(_weaving("reaction"))
    return b.build()


def tractor_trailer_slip() -> Model:
    """The vehicle with four degrees of freedom; tires take the place of the axles that hold.

    That is J_nh = 1 in step 5 and forces of tires in step 8, as the author has them for the loader;
    α = q̇. As the tires become stiffer it moves as the one without slip does.
    """
    b = _tractor_and_trailer(
        name="tractor-trailer-slip",
        description="Tractor with a trailer on tires that slip sideways",
        equation_numbers={},
    )
    for k, stiffness in ((1, 60000.0), (2, 120000.0), (3, 100000.0)):
        tires = f"cornering stiffness of the tires, {_AXLES[k]['name'].replace('_', ' ')}"
        b.parameter(f"C{k}", stiffness, "N/rad", tires)
        b.force(Tire(**_AXLES[k], stiffness=f"C{k}", v0="v0"))
    b.parameter("v0", 0.05, "m/s", "speed below which slip is counted against it, 0 for none")
    # the paper's α = q̇: rates of the coordinates
    heading = "tractor.angle"
    b.independent_speed(
        "x_dot", f"tractor.vx*cos({heading}) - tractor.vy*sin({heading})", "m/s", "ẋ"
    )
    b.independent_speed(
        "y_dot", f"tractor.vx*sin({heading}) + tractor.vy*cos({heading})", "m/s", "ẏ"
    )
    b.independent_speed("tractor.rate")
    b.independent_speed("hinge.rate")
    # it begins with the rates that axles without slip would have
    turning, bending = "tan(0.1)/l1", "-(l1*sin(0.2) + (l2 + c*cos(0.2))*tan(0.1))/(l1*l2)"
    rates = {"tractor.rate": f"2*{turning}", "hinge.rate": f"2*{bending}"}
    b.scenario(_weaving("force", rates))
    return b.build()


#: Number of the paper's forces F_u and F_w → axle on which they act.
_AXLES: dict[int, dict[str, Any]] = {
    2: {"name": "rear_axle", "body": "tractor", "direction": _X},
    1: {"name": "front_wheel", "body": "front", "direction": _X},
    3: {"name": "trailer_axle", "body": "trailer", "point": ("-l2", 0.0, 0.0), "direction": _X},
}


def _weaving(kind: str, more: Mapping[str, Scalar] = MappingProxyType({})) -> Scenario:
    """Scenario of both vehicles, with the side forces of their axles as outputs.

    Parameters
    ----------
    kind : kind of the side forces: of rows, ``reaction``, or of tires, ``force``.
    more : start values besides those of both.
    """
    sides = {f"F_w{k}": f"{kind}.{_AXLES[k]['name']}.lateral" for k in sorted(_AXLES)}
    return Scenario(
        duration=10.0,
        samples=501,
        start={"hinge.angle": 0.2, "tractor.vx": 2.0, "steer.angle": 0.1, **more},
        inputs={"F_u2": 1500.0, "steering_rate": "0.06*cos(0.8*t)"},
        outputs=sides,
        description="Driven at the rear axle while the front wheel swings to both sides",
    )


def _tractor_and_trailer(
    *, name: str, description: str, equation_numbers: dict[str, str]
) -> ModelBuilder:
    """Bodies, joints, drives and steering, without what keeps the axles from sliding."""
    b = ModelBuilder(
        name=name,
        gravity=(0.0, 0.0, "-g"),
        description=description,
        references=("DeSantis1994",),
        equation_numbers={
            "tractor.x_rate": "(6.4)",
            "tractor.y_rate": "(6.4)",
            "steering_rate": "(6.45)",
            **equation_numbers,
        },
    )
    b.parameter("l1", 2.8, "m", "rear axle to front wheel")
    b.parameter("l2", 5.0, "m", "hinge to the trailer's axle")
    b.parameter("c", 0.6, "m", "rear axle to the hinge behind it")
    b.parameter("b", 1.2, "m", "rear axle to the tractor's mass center, forward")
    b.parameter("e", 2.0, "m", "hinge to the trailer's mass center")
    b.parameter("m1", 3000.0, "kg", "mass of the tractor")
    b.parameter("j1", 4500.0, "kg*m^2", "moment of inertia of the tractor, mass center")
    b.parameter("m2", 5000.0, "kg", "mass of the trailer")
    b.parameter("j2", 12000.0, "kg*m^2", "moment of inertia of the trailer, mass center")
    b.parameter("g", 9.81, "m/s^2", "gravity")

    b.body(
        "tractor",
        mass="m1",
        moment="j1",
        center_of_mass=("b", 0.0, 0.0),
        shapes=_tractor(),
    )
    b.body(
        "front",
        mass=0.0,
        moment=0.0,
        shapes=(
            _wheel((0.0, 0.0, "0.13*l1"), "0.13*l1"),
            *(
                Box(
                    size=("0.05*l1", "0.02*l1", "0.2*l1"),
                    frame=Placement(position=(0.0, f"{side}*0.08*l1", "0.2*l1")),
                    color=METAL,
                )
                for side in (1, -1)
            ),
            Box(
                size=("0.08*l1", "0.2*l1", "0.03*l1"),
                frame=Placement(position=(0.0, 0.0, "0.3*l1")),
                color=METAL,
            ),
        ),
    )
    b.body(
        "trailer",
        mass="m2",
        moment="j2",
        center_of_mass=("-e", 0.0, 0.0),
        shapes=_trailer(),
    )
    b.joint(
        "tractor",
        Planar(),
        parent="world",
        child="tractor",
        description="pose of the rear axle's center; angle is the paper's theta",
        symbols={"vx": "v_u1", "vy": "v_w1", "angle": "θ"},
    )
    b.joint(
        "steer",
        Revolute(axis=_Z),
        parent="tractor",
        child="front",
        parent_frame=Placement(position=("l1", 0.0, 0.0)),
        description="steering angle, the paper's delta",
        symbols={"angle": "δ"},
    )
    b.joint(
        "hinge",
        Revolute(axis=_Z),
        parent="tractor",
        child="trailer",
        parent_frame=Placement(position=("-c", 0.0, 0.0)),
        description="angle of the trailer against the tractor, the paper's phi",
        symbols={"angle": "φ"},
    )
    b.input("F_u1", "N", "driving force along the front wheel")
    b.input("F_u2", "N", "driving force along the tractor at its rear axle")
    b.input("F_u3", "N", "driving force along the trailer at its axle")
    drives: dict[str, tuple[str, Scalar]] = {
        "F_u1": ("front", 0.0),
        "F_u2": ("tractor", 0.0),
        "F_u3": ("trailer", "-l2"),
    }
    for name, (body, place) in drives.items():
        b.force(
            Wrench(
                name=f"drive_{body}",
                body=body,
                force=(name, 0.0, 0.0),
                point=(place, 0.0, 0.0),
                axes="body",
            )
        )
    b.speed_input("steering_rate", "steer.rate", "rate of the steering angle", "F_s")
    return b


def _tractor() -> tuple[AbstractShape, ...]:
    """Chassis, hood and steering head, cab with windows and roof, exhaust, axle and drawbar."""
    return (
        _box("1.05*l1", "0.2*l1", "0.08*l1", "0.45*l1", "0.21*l1", DARK),
        _box("0.48*l1", "0.3*l1", "0.2*l1", "0.68*l1", "0.36*l1", BLUE),
        _box("0.14*l1", "0.16*l1", "0.14*l1", "0.98*l1", "0.38*l1", BLUE),
        _box("0.04*l1", "0.24*l1", "0.12*l1", "0.93*l1", "0.37*l1", LIGHT),
        _box("0.36*l1", "0.44*l1", "0.42*l1", "0.26*l1", "0.46*l1", BLUE),
        _box("0.375*l1", "0.36*l1", "0.17*l1", "0.26*l1", "0.55*l1", GLASS),
        _box("0.28*l1", "0.455*l1", "0.17*l1", "0.26*l1", "0.55*l1", GLASS),
        _box("0.42*l1", "0.5*l1", "0.03*l1", "0.26*l1", "0.685*l1", DARK),
        Cylinder(
            radius="0.02*l1",
            length="0.3*l1",
            frame=Placement(position=("0.62*l1", "0.11*l1", "0.55*l1")),
            color=METAL,
        ),
        axle("0.66*l1", "0.03*l1", "0.18*l1"),
        _box("c+0.1*l1", "0.07*l1", "0.04*l1", "-(c-0.1*l1)/2", "0.18*l1", METAL),
        *(_wheel((0.0, f"{side}*0.33*l1", "0.18*l1"), "0.18*l1") for side in (1, -1)),
    )


def _trailer() -> tuple[AbstractShape, ...]:
    """A box with a stripe, rails, a tongue with the coupling, and the axle."""
    return (
        _box("0.88*l2", "0.6*l1", "0.42*l1", "-0.62*l2", "0.53*l1", TEAL),
        _box("0.882*l2", "0.605*l1", "0.05*l1", "-0.62*l2", "0.44*l1", LIGHT),
        _box("0.005*l2", "0.5*l1", "0.3*l1", "-1.062*l2", "0.55*l1", METAL),
        _box("0.85*l2", "0.2*l1", "0.07*l1", "-0.62*l2", "0.28*l1", DARK),
        _box("0.24*l2", "0.06*l1", "0.05*l1", "-0.11*l2", "0.25*l1", METAL),
        Sphere(radius="0.05*l1", frame=Placement(position=(0.0, 0.0, "0.22*l1")), color=DARK),
        axle("0.66*l1", "0.03*l1", "0.15*l1", "-l2"),
        _box("0.1*l1", "0.3*l1", "0.12*l1", "-l2", "0.2*l1", DARK),
        *(_wheel(("-l2", f"{side}*0.33*l1", "0.15*l1"), "0.15*l1") for side in (1, -1)),
    )


def _box(length: str, width: str, height: str, ahead: str, above: str, color: str) -> Box:
    """A box in the middle of the vehicle, its own middle so far ahead and above."""
    frame = Placement(position=(ahead, 0.0, above))
    return Box(size=(length, width, height), frame=frame, color=color)


def _wheel(position: Vector3, radius: Scalar) -> Cylinder:
    """A wheel with its axle along y."""
    return Cylinder(
        radius=radius,
        length="0.1*l1",
        frame=Placement(position=position, angles=(pi / 2, 0.0, 0.0)),
        color=DARK,
    )


_DOWN: Vector3 = (0.0, 0.45, 0.0)
_ROCK = "#8a7a66"

#: Inputs of the scenario of both vehicles, with slip and without.
DRIVE: dict[str, Scalar] = {"F_u2": 3000.0, "Gamma": "3000*cos(1.5*t)"}


def lhd() -> Model:
    """The vehicle with four degrees of freedom; lateral forces come from its tires.

    Side forces F_w2, F_w3 at the axles are inputs as well, besides those of the tires: a push, or
    a tire law of one's own with C1 = C2 = 0.
    """
    b = vehicle(
        name="lhd",
        description="Articulated load-haul-dump vehicle on tires that slip sideways",
    )
    b.parameter("C1", 120000.0, "N/rad", "cornering stiffness of the front axle's tires")
    b.parameter("C2", 100000.0, "N/rad", "cornering stiffness of the rear axle's tires")
    b.parameter("v0", 0.05, "m/s", "speed below which slip is counted against it, 0 for none")
    b.force(Tire(name="front_tires", body="front", direction=_X, stiffness="C1", v0="v0"))
    b.force(
        Tire(
            name="rear_tires",
            body="rear",
            point=("-l2", 0.0, 0.0),
            direction=_X,
            stiffness="C2",
            v0="v0",
        )
    )
    b.input("F_w2", "N", "side force at the front axle, to the left")
    b.input("F_w3", "N", "side force at the rear axle, to the left")
    b.force(Wrench(name="push_front", body="front", force=(0.0, "F_w2", 0.0), axes="body"))
    b.force(
        Wrench(
            name="push_rear",
            body="rear",
            force=(0.0, "F_w3", 0.0),
            point=("-l2", 0.0, 0.0),
            axes="body",
        )
    )
    # the paper's α = q̇: rates of the coordinates
    heading = "front.angle"
    b.independent_speed("x_dot", f"front.vx*cos({heading}) - front.vy*sin({heading})", "m/s", "ẋ")
    b.independent_speed("y_dot", f"front.vx*sin({heading}) + front.vy*cos({heading})", "m/s", "ẏ")
    b.independent_speed("front.rate")
    b.independent_speed("waist.rate")
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={"waist.angle": 0.1, "front.vx": 3.0},
            inputs=DRIVE,
            description="Driven at the front axle while its waist swings to both sides",
        )
    )
    return b.build()


def vehicle(*, name: str, description: str) -> ModelBuilder:
    """Bodies, joints, drives and waist torque, without what keeps the axles from sliding.

    Front axes at the center of the front axle, x forward, y to the left; the waist is behind it.
    """
    b = ModelBuilder(
        name=name,
        gravity=(0.0, 0.0, "-g"),
        description=description,
        references=("DeSantis1994",),
        equation_numbers={
            "front.x_rate": "(6.4)",
            "front.y_rate": "(6.4)",
            "front_axle.lateral": "(6.14)",
            "rear_axle.lateral": "(6.8)",
        },
    )
    b.parameter("c", 1.7, "m", "front axle to the waist")
    b.parameter("l2", 1.7, "m", "waist to the rear axle")
    b.parameter("b", 0.3, "m", "front axle to the front body's mass center, forward")
    b.parameter("e", 1.2, "m", "waist to the rear body's mass center")
    b.parameter("m1", 9000.0, "kg", "mass of the front body")
    b.parameter("j1", 11000.0, "kg*m^2", "moment of inertia of the front body, mass center")
    b.parameter("m2", 11000.0, "kg", "mass of the rear body")
    b.parameter("j2", 13000.0, "kg*m^2", "moment of inertia of the rear body, mass center")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "front",
        mass="m1",
        moment="j1",
        center_of_mass=("b", 0.0, 0.0),
        shapes=_front(),
    )
    b.body(
        "rear",
        mass="m2",
        moment="j2",
        center_of_mass=("-e", 0.0, 0.0),
        shapes=_rear(),
    )
    b.joint(
        "front",
        Planar(),
        parent="world",
        child="front",
        description="pose of the front axle's center; angle is the paper's theta",
        symbols={"vx": "v_u1", "vy": "v_w1", "angle": "θ"},
    )
    b.joint(
        "waist",
        Revolute(axis=_Z),
        parent="front",
        child="rear",
        parent_frame=Placement(position=("-c", 0.0, 0.0)),
        description="angle of the rear body against the front one, the paper's phi",
        symbols={"angle": "φ"},
    )
    b.input("F_u2", "N", "driving force along the front body at its axle")
    b.input("F_u3", "N", "driving force along the rear body at its axle")
    b.input("Gamma", "N*m", "torque of the waist on the rear body")
    b.force(Wrench(name="drive_front", body="front", force=("F_u2", 0.0, 0.0), axes="body"))
    b.force(
        Wrench(
            name="drive_rear",
            body="rear",
            force=("F_u3", 0.0, 0.0),
            point=("-l2", 0.0, 0.0),
            axes="body",
        )
    )
    b.force(Motor(name="waist", speed="waist.rate", input="Gamma"))
    return b


def _front() -> tuple[AbstractShape, ...]:
    """Frame, boom, and a bucket with rocks in it."""
    return (
        box(("1.1*c", "0.55*c", "0.28*c"), ("-0.35*c", 0.0, "0.5*c"), BLUE),
        box(("0.6*c", "0.5*c", "0.22*c"), ("-0.05*c", 0.0, "0.72*c"), BLUE),
        *(
            Box(
                size=("0.95*c", "0.1*c", "0.12*c"),
                frame=Placement(position=("0.4*c", f"{side}*0.22*c", "0.55*c"), angles=_DOWN),
                color=METAL,
            )
            for side in (1, -1)
        ),
        axle("c", "0.08*c", "0.4*c"),
        box(("0.75*c", "1.3*c", "0.05*c"), ("1.15*c", 0.0, "0.1*c"), ORANGE),
        box(("0.06*c", "1.3*c", "0.55*c"), ("0.8*c", 0.0, "0.37*c"), ORANGE),
        *(
            box(("0.6*c", "0.05*c", "0.36*c"), ("1.08*c", f"{side}*0.63*c", "0.28*c"), ORANGE)
            for side in (1, -1)
        ),
        box(("0.08*c", "1.34*c", "0.04*c"), ("1.53*c", 0.0, "0.09*c"), DARK),
        *(
            Sphere(radius=f"{size}*c", frame=Placement(position=(x, y, z)), color=_ROCK)
            for size, x, y, z in (
                (0.22, "1.06*c", "0.3*c", "0.28*c"),
                (0.26, "1.1*c", "-0.2*c", "0.28*c"),
                (0.15, "1.3*c", "0.05*c", "0.25*c"),
                (0.16, "0.98*c", "0.05*c", "0.42*c"),
            )
        ),
        *(_lhd_wheel((0.0, f"{side}*0.5*c", "0.4*c")) for side in (1, -1)),
    )


def _rear() -> tuple[AbstractShape, ...]:
    """The waist's pin, engine with grille and counterweight, and the driver's cab."""
    return (
        box(("0.7*l2", "0.45*c", "0.3*c"), ("-0.3*l2", 0.0, "0.5*c"), TEAL),
        box(("1.1*l2", "0.66*c", "0.5*c"), ("-1.1*l2", 0.0, "0.65*c"), TEAL),
        box(("0.12*l2", "0.9*c", "0.42*c"), ("-1.7*l2", 0.0, "0.55*c"), DARK),
        box(("0.4*l2", "0.5*c", "0.02*c"), ("-1.2*l2", 0.0, "0.905*c"), DARK),
        box(("0.4*l2", "0.42*c", "0.34*c"), ("-0.35*l2", 0.0, "0.82*c"), GLASS),
        box(("0.46*l2", "0.48*c", "0.05*c"), ("-0.35*l2", 0.0, "1.01*c"), DARK),
        Cylinder(
            radius="0.1*c",
            length="0.6*c",
            frame=Placement(position=(0.0, 0.0, "0.5*c")),
            color=METAL,
        ),
        axle("c", "0.08*c", "0.4*c", "-l2"),
        *(_lhd_wheel(("-l2", f"{side}*0.5*c", "0.4*c")) for side in (1, -1)),
    )


def _lhd_wheel(position: Vector3) -> Cylinder:
    """A wheel with its axle along y."""
    return Cylinder(
        radius="0.4*c",
        length="0.3*c",
        frame=Placement(position=position, angles=(pi / 2, 0.0, 0.0)),
        color=DARK,
    )


def lhd_noslip() -> Model:
    """The vehicle with two degrees of freedom: forward speed of the front axle and waist rate."""
    b = vehicle(
        name="lhd-noslip",
        description="Articulated load-haul-dump vehicle whose axles do not slip sideways",
    )
    b.contact(KnifeEdge(name="front_axle", body="front", direction=(1.0, 0.0, 0.0)))
    b.contact(
        KnifeEdge(name="rear_axle", body="rear", point=("-l2", 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    )
    b.independent_speed("front.vx")
    b.independent_speed("waist.rate")
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={"waist.angle": 0.1, "front.vx": 2.0},
            inputs=DRIVE,
            description="Driven at the front axle while its waist swings to both sides",
        )
    )
    return b.build()


_COLORS = (BLUE, TEAL, RED)


def planar_arm(
    *, name: str, description: str, links: Sequence[tuple[float, float, float, float]]
) -> ModelBuilder:
    """Links, joints, motors and parameters of an arm in the x-y plane, gravity along −y.

    `links`: links of each its mass, length, distance of the mass center from its joint, and moment
    of inertia about the mass center, kg, m, m, kg m².
    """
    b = ModelBuilder(
        name=name,
        gravity=(0.0, "-g", 0.0),
        description=description,
        references=("DeSantis1994",),
        equation_numbers={f"joint{k}.rate": "(7.1)" for k in range(1, len(links) + 1)},
    )
    rows = []
    for k, (mass, length, center, moment) in enumerate(links, 1):
        b.parameter(f"m{k}", mass, "kg", f"mass of link {k}")
        b.parameter(f"l{k}", length, "m", f"length of link {k}")
        b.parameter(f"r{k}", center, "m", f"joint {k} to the mass center of link {k}")
        b.parameter(f"I{k}", moment, "kg*m^2", f"moment of inertia of link {k}, mass center")
        # the standard convention has a link's frame at its far end, x along the link
        rows.append(
            LinkRow(
                joint=f"joint{k}",
                link=f"link{k}",
                a=f"l{k}",
                mass=f"m{k}",
                moment=f"I{k}",
                center_of_mass=(f"r{k}-l{k}", 0.0, 0.0),
                description=f"angle of link {k}, the paper's q_{k}",
                shapes=_link(k, len(links)),
            )
        )
    b.parameter("g", 9.81, "m/s^2", "gravity")
    serial_arm(b, rows, convention="standard")
    for k in range(1, len(links) + 1):
        b.input(f"tau{k}", "N*m", f"torque on joint {k}")
        b.force(Motor(name=f"motor{k}", speed=f"joint{k}.rate", input=f"tau{k}"))
        b.independent_speed(f"joint{k}.rate")
    return b


def _link(k: int, count: int) -> tuple[AbstractShape, ...]:
    """A bar with round ends, beside its neighbors, a pin at its joint, and a tool on the last."""
    beside = f"{(k - 1) % 2}*l1/11"
    color = _COLORS[k - 1]
    bar: tuple[AbstractShape, ...] = (
        Box(
            size=(f"l{k}", "l1/9", "l1/13"),
            frame=Placement(position=(f"-l{k}/2", 0.0, beside)),
            color=color,
        ),
        *(
            Cylinder(
                radius="l1/18",
                length="l1/13",
                frame=Placement(position=(place, 0.0, beside)),
                color=color,
            )
            for place in (f"-l{k}", 0.0)
        ),
        Cylinder(
            radius="l1/28",
            length="l1/4",
            frame=Placement(position=(f"-l{k}", 0.0, "l1/22")),
            color=DARK,
        ),
    )
    if k < count:
        return bar
    tool = Cylinder(
        radius="l1/30", length="l1/6", frame=Placement(position=(0.0, 0.0, beside)), color=ORANGE
    )
    return (*bar, tool)


def manipulator_2r() -> Model:
    """The arm: x horizontal, gravity along −y, first angle from the x axis, the second relative."""
    b = planar_arm(
        name="manipulator-2r",
        description="Planar arm with two revolute joints in the vertical plane",
        links=((3.0, 0.5, 0.25, 0.0625), (2.0, 0.4, 0.2, 0.0267)),
    )
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            start={"joint1.angle": 0.2, "joint2.angle": 0.5},
            description="Released from rest without torques: a double pendulum",
        )
    )
    return b.build()


def manipulator_3r() -> Model:
    """The arm: x horizontal, gravity along −y, first angle from the x axis, the others relative."""
    b = planar_arm(
        name="manipulator-3r",
        description="Planar arm with three revolute joints in the vertical plane",
        links=((3.0, 0.5, 0.25, 0.0625), (2.0, 0.4, 0.2, 0.0267), (1.0, 0.2, 0.1, 0.0033)),
    )
    b.scenario(
        Scenario(
            duration=1.0,
            samples=401,
            start={"joint1.angle": 0.2, "joint2.angle": 0.5, "joint3.angle": -0.3},
            inputs={"tau1": 5.0, "tau2": 1.0, "tau3": 0.2},
            description="Let go from rest under constant torques that do not hold it",
        )
    )
    return b.build()


#: The modified table, row by row: α and a of the link before, d, rad and m.
TABLE: tuple[tuple[Scalar, Scalar, Scalar], ...] = (
    (0.0, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
    (0.0, "a2", "d3"),
    (-pi / 2, "a3", "d4"),
    (pi / 2, 0.0, 0.0),
    (-pi / 2, 0.0, 0.0),
)

#: Mass, kg, and mass center, m, of each link, in its frame.
MASSES: tuple[tuple[float, Vector3], ...] = (
    (10.0, (0.01, -0.02, -0.05)),
    (17.4, (0.2, 0.006, 0.01)),
    (4.8, (0.012, -0.07, 0.014)),
    (0.82, (0.002, 0.003, -0.019)),
    (0.34, (0.001, -0.002, 0.004)),
    (0.09, (0.0, 0.001, 0.032)),
)

#: Ixx, Iyy, Izz, Ixy, Ixz, Iyz of each link about its mass center, in its frame, kg m².
#: Measured arms are published with moments that no body has, such as Izz > Ixx + Iyy. Of link 1,
#: which turns about z alone, Ixx and Iyy do not matter; I3y is 0.0125 in print.
INERTIAS: tuple[tuple[Scalar, ...], ...] = (
    (0.18, 0.18, 0.35, 0.004, -0.003, 0.002),
    (0.13, 0.524, 0.539, 0.010, -0.006, 0.008),
    (0.066, "I3y", 0.086, -0.002, 0.001, 0.003),
    (0.0018, 0.0018, 0.0013, 0.0001, 0.0, -0.0001),
    (0.0003, 0.0003, 0.0004, 0.0, 0.00002, 0.0),
    (0.00015, 0.00015, 0.00004, 0.0, 0.0, 0.00001),
)


def manipulator_6r() -> Model:
    """The arm: base frame with z up, shoulder at the origin, tool along z of the last link."""
    b = ModelBuilder(
        name="manipulator-6r",
        gravity=(0.0, 0.0, "-g"),
        description="Six-joint arm with the proportions of a PUMA 560 and full inertia tensors",
        references=("DeSantis1994",),
        equation_numbers={f"joint{k}.rate": "(7.1)" for k in range(1, 7)},
    )
    b.parameter("a2", 0.4318, "m", "length of the upper arm")
    b.parameter("a3", 0.0203, "m", "offset of the forearm at the elbow")
    b.parameter("d3", 0.15005, "m", "offset of the forearm along the shoulder's axis")
    b.parameter("d4", 0.4318, "m", "length of the forearm")
    b.parameter("tool", 0.1, "m", "wrist center to tool point")
    b.parameter("I3y", 0.021, "kg*m^2", "moment of inertia of link 3 about its y axis")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    rows = []
    shapes = _shapes()
    for k, (alpha, a, d) in enumerate(TABLE, 1):
        mass, center = MASSES[k - 1]
        rows.append(
            LinkRow(
                joint=f"joint{k}",
                link=f"link{k}",
                alpha=alpha,
                a=a,
                d=d,
                mass=b.parameter(f"m{k}", mass, "kg", f"mass of link {k}"),
                center_of_mass=center,
                inertia=INERTIAS[k - 1],
                shapes=shapes[k - 1],
                description=f"angle of joint {k}, the paper's q_{k}",
            )
        )
    serial_arm(b, rows, convention="modified")
    for k in range(1, 7):
        b.input(f"tau{k}", "N*m", f"torque on joint {k}")
        b.force(Motor(name=f"motor{k}", speed=f"joint{k}.rate", input=f"tau{k}"))
        b.independent_speed(f"joint{k}.rate")
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            definitions={
                "progress": "t/2",
                "turned": "10*progress^3 - 15*progress^4 + 6*progress^5",
            },
            motion={
                "joint1.angle": "0.3 - 1.4*turned",
                "joint2.angle": "-0.8 + 0.6*turned",
                "joint3.angle": "0.6 - 0.9*turned",
                "joint4.angle": "0.4 + 1.1*turned",
                "joint5.angle": "0.9 - 0.7*turned",
                "joint6.angle": "-0.5 + 1.6*turned",
            },
            description="From one posture to another and to rest, every joint on a fifth-order "
            "polynomial of time; torques from inverse dynamics",
        )
    )
    return b.build()


def _shapes() -> tuple[tuple[AbstractShape, ...], ...]:
    """Shapes of each link, in its frame."""
    return (
        (
            _cylinder("a2/3", "a2/14", ("0", "0", "-a2"), DARK),
            _cylinder("a2/6", "a2", ("0", "0", "-a2/2"), METAL),
            _cylinder("a2/5.5", "a2/12", ("0", "0", "-0.2*a2"), BLUE),
            _cylinder("a2/6", "1.1*d3", ("0", "-0.1*d3", "0"), METAL, across=True),
        ),
        (
            Box(
                size=("a2", "a2/4", "a2/6"),
                frame=Placement(position=("a2/2", 0.0, "0.6*d3")),
                color=BLUE,
            ),
            _cylinder("a2/5.7", "a2/4.5", ("0", "0", "0.6*d3"), BLUE),
            _cylinder("a2/8", "a2/5", ("a2", "0", "0.6*d3"), BLUE),
            _cylinder("a2/12", "a2/4", ("0", "0", "0.6*d3"), DARK),
        ),
        (
            _cylinder("a2/9", "a2/3.5", ("0", "0", "-a2/12"), TEAL),
            _cylinder("a2/16", "a2/3.2", ("0", "0", "-a2/12"), DARK),
            _cylinder("a2/11", "0.8*d4", ("a3", "0.42*d4", "0"), TEAL, across=True),
        ),
        (
            _cylinder("a2/13", "a2/8", ("0", "0", "-a2/7"), METAL),
            _cylinder("a2/16", "a2/6", ("0", "0", "-a2/12"), LIGHT),
        ),
        (Sphere(radius="a2/13", color=DARK),),
        (
            _cylinder("a2/18", "0.6*tool", ("0", "0", "0.4*tool"), METAL),
            _cylinder("a2/12", "0.1*tool", ("0", "0", "0.7*tool"), ORANGE),
            *(
                Box(
                    size=("a2/40", "a2/20", "0.35*tool"),
                    frame=Placement(position=(f"{side}*a2/18", 0.0, "0.9*tool")),
                    color=ORANGE,
                )
                for side in (1, -1)
            ),
        ),
    )


def _cylinder(
    radius: str, length: str, position: tuple[str, str, str], color: str, *, across: bool = False
) -> Cylinder:
    """A cylinder along z, or along y if it lies across."""
    angles = (pi / 2, 0.0, 0.0) if across else (0.0, 0.0, 0.0)
    frame = Placement(position=position, angles=angles)
    return Cylinder(radius=radius, length=length, frame=frame, color=color)
