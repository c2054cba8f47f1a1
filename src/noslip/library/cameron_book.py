"""The systems of Cameron and Book: a skate, a tricycle, a heavy body, a sled with a rotor.

**A skate on a slope: the simplest nonholonomic joint [CameronBook1993, section 4.1].**

**A tricycle driven and steered at its front wheel [CameronBook1993, section 4.2].**

**A heavy body that turns about a fixed point [CameronBook1993, section 4.3].**

**A sled on a blade with a rotor on top of it [CameronBook1993, section 5].**
"""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import KnifeEdge
from noslip.forces import Motor, Wrench
from noslip.joints import Angles, Planar, Revolute, Spherical
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED, TEAL, Vector3, axle, box
from noslip.shapes import AbstractShape, Box, Cylinder, Ring, Sphere


def knife_edge() -> Model:
    """The skate: origin at the blade's contact, x along the blade; the world's x points downhill.

    With its mass center over the blade it turns at a constant rate and, let go with a spin, walks
    across the slope on a cycloid without getting lower on the whole.
    """
    b = ModelBuilder(
        name="knife-edge",
        gravity=("g*sin(slope)", 0.0, "-g*cos(slope)"),
        description="Knife edge on an inclined plane",
        references=("CameronBook1993",),
        equation_numbers={
            "skate.x_rate": "(54)",
            "skate.y_rate": "(54)",
            "blade.lateral": "(56)",
            "skate.vx": "(58)",
            "skate.rate": "(59)",
        },
    )
    b.parameter("m", 1.2, "kg", "mass")
    b.parameter("J", 0.05, "kg*m^2", "moment of inertia about the mass center")
    b.parameter("a", 0.0, "m", "blade's contact to the mass center, forward")
    b.parameter("slope", 0.25, "rad", "inclination of the plane, downhill along x", "α")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "skate",
        mass="m",
        moment="J",
        center_of_mass=("a", 0.0, 0.0),
        shapes=_skate(),
    )
    b.joint(
        "skate",
        Planar(),
        parent="world",
        child="skate",
        description="contact point and heading of the blade, the paper's x, y, theta",
        symbols={"vx": "v", "vy": "ω_2", "angle": "θ"},
    )
    b.contact(KnifeEdge(name="blade", body="skate", direction=(1.0, 0.0, 0.0)))
    b.input("F_v", "N", "force along the blade")
    b.input("tau", "N*m", "torque that turns the blade")
    b.force(Wrench(name="push", body="skate", force=("F_v", 0.0, 0.0), axes="body"))
    b.force(Motor(name="turn", speed="skate.rate", input="tau"))
    b.independent_speed("skate.vx")
    b.independent_speed("skate.rate")
    b.scenario(
        Scenario(
            duration=8.0,
            samples=401,
            start={"skate.rate": 1.5},
            description="Let go on the slope with a spin: it walks across on a cycloid",
        )
    )
    return b.build()


def _skate() -> tuple[AbstractShape, ...]:
    """A blade on two posts, sole, shoe and ankle, the toe ahead; lengths in m."""
    return (
        Box(size=(0.4, 0.008, 0.03), frame=Placement(position=(0.0, 0.0, 0.015)), color=METAL),
        *(
            Box(size=(0.05, 0.02, 0.04), frame=Placement(position=(x, 0.0, 0.045)), color=LIGHT)
            for x in (-0.1, 0.1)
        ),
        Box(size=(0.32, 0.09, 0.015), frame=Placement(position=(0.0, 0.0, 0.07)), color=DARK),
        Box(size=(0.22, 0.085, 0.07), frame=Placement(position=(-0.03, 0.0, 0.11)), color=BLUE),
        Cylinder(
            radius=0.0425,
            length=0.066,
            frame=Placement(position=(0.09, 0.0, 0.109)),
            color=BLUE,
        ),
        Sphere(radius=0.04, frame=Placement(position=(0.115, 0.0, 0.105)), color=ORANGE),
        Cylinder(
            radius=0.048, length=0.12, frame=Placement(position=(-0.085, 0.0, 0.19)), color=BLUE
        ),
        Cylinder(
            radius=0.052, length=0.02, frame=Placement(position=(-0.085, 0.0, 0.245)), color=ORANGE
        ),
    )


def tricycle() -> Model:
    """The tricycle: frame axes at the middle of the rear axle, x forward, y to the left.

    Its speed v is that of the front wheel along its heading. The paper's third quasi-velocity,
    −ẋ sin φ + ℓ θ̇ cos θ cos φ, is singular at headings of ±π/2; here the front wheel's own lateral
    speed stands instead, which is regular. A uniform field of acceleration (gx, gy) pulls in the
    plane, as on a slope.
    """
    b = ModelBuilder(
        name="tricycle",
        gravity=("gx", "gy", 0.0),
        description="Tricycle with a driven and steered front wheel, on a gentle slope",
        references=("CameronBook1993",),
        equation_numbers={
            "rear.lateral": "(66)",
            "frame.rate": "(63)",
            "v": "(69)",
            "steer.rate": "(70)",
        },
    )
    b.parameter("ell", 1.1, "m", "rear axle to front wheel")
    b.parameter("m_b", 12.0, "kg", "mass of the frame")
    b.parameter("p", 0.45, "m", "rear axle to the frame's mass center, forward")
    b.parameter("J_b", 1.6, "kg*m^2", "moment of inertia of the frame, mass center")
    b.parameter("m_f", 1.5, "kg", "mass of fork and front wheel, at the front contact")
    b.parameter("J_f", 0.04, "kg*m^2", "moment of inertia of fork and front wheel, vertical")
    b.parameter("gx", 0.8, "m/s^2", "pull in the plane along x")
    b.parameter("gy", -0.3, "m/s^2", "pull in the plane along y")
    b.body(
        "frame",
        mass="m_b",
        moment="J_b",
        center_of_mass=("p", 0.0, 0.0),
        shapes=_frame(),
    )
    b.body(
        "fork",
        mass="m_f",
        moment="J_f",
        shapes=_fork(),
    )
    b.joint(
        "frame",
        Planar(),
        parent="world",
        child="frame",
        description="middle of the rear axle and heading, the paper's x, y, theta",
        symbols={"vy": "ω_2", "angle": "θ"},
    )
    b.joint(
        "steer",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="frame",
        child="fork",
        parent_frame=Placement(position=("ell", 0.0, 0.0)),
        description="steering angle, the paper's phi",
        symbols={"angle": "φ"},
    )
    b.contact(KnifeEdge(name="rear", body="frame", direction=(1.0, 0.0, 0.0)))
    b.contact(KnifeEdge(name="front", body="fork", direction=(1.0, 0.0, 0.0)))
    b.input("F_v", "N", "driving force along the front wheel")
    b.input("tau_phi", "N*m", "steering torque")
    b.force(Wrench(name="drive", body="fork", force=("F_v", 0.0, 0.0), axes="body"))
    b.force(Motor(name="steering", speed="steer.rate", input="tau_phi"))
    b.independent_speed("v", "frame.vx*cos(steer.angle) + ell*frame.rate*sin(steer.angle)", "m/s")
    b.independent_speed("steer.rate")
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            start={"frame.angle": 0.3, "steer.angle": 0.2, "v": 1.0, "steer.rate": 0.1},
            inputs={"F_v": 5.0, "tau_phi": "0.1*cos(2*t)"},
            description="Driven through a left turn past the heading where the paper's "
            "quasi-velocities are singular",
        )
    )
    return b.build()


def _frame() -> tuple[AbstractShape, ...]:
    """A tube from the rear axle to the head, a saddle on its post, and the rear wheels."""
    return (
        box(("0.85*ell", "0.07*ell", "0.07*ell"), ("0.42*ell", 0.0, "0.27*ell"), BLUE),
        Box(
            size=("0.07*ell", "0.07*ell", "0.42*ell"),
            frame=Placement(position=("0.89*ell", 0.0, "0.44*ell"), angles=(0.0, 0.35, 0.0)),
            color=BLUE,
        ),
        box(("0.06*ell", "0.06*ell", "0.3*ell"), ("0.2*ell", 0.0, "0.4*ell"), METAL),
        box(("0.28*ell", "0.2*ell", "0.06*ell"), ("0.18*ell", 0.0, "0.56*ell"), DARK),
        box(("0.08*ell", "0.1*ell", "0.08*ell"), ("0.04*ell", 0.0, "0.24*ell"), BLUE),
        axle("0.7*ell", "0.03*ell", "0.2*ell"),
        *(_wheel((0.0, f"{side}*0.35*ell", "0.2*ell")) for side in (1, -1)),
    )


def _fork() -> tuple[AbstractShape, ...]:
    """The front wheel between the legs of the fork, pedals, stem and handlebar with grips."""
    return (
        _wheel((0.0, 0.0, "0.2*ell")),
        *(
            box(("0.04*ell", "0.02*ell", "0.3*ell"), (0.0, f"{side}*0.06*ell", "0.34*ell"), ORANGE)
            for side in (1, -1)
        ),
        box(("0.06*ell", "0.16*ell", "0.04*ell"), (0.0, 0.0, "0.47*ell"), ORANGE),
        Cylinder(
            radius="0.025*ell",
            length="0.3*ell",
            frame=Placement(position=(0.0, 0.0, "0.6*ell")),
            color=METAL,
        ),
        axle("0.26*ell", "0.02*ell", "0.2*ell"),
        axle("0.46*ell", "0.02*ell", "0.75*ell"),
        *(
            Cylinder(
                radius="0.03*ell",
                length="0.1*ell",
                frame=Placement(
                    position=(0.0, f"{side}*0.24*ell", "0.75*ell"), angles=(pi / 2, 0.0, 0.0)
                ),
                color=DARK,
            )
            for side in (1, -1)
        ),
    )


def _wheel(position: Vector3) -> Cylinder:
    """A wheel with its axle along y."""
    return Cylinder(
        radius="0.2*ell",
        length="0.06*ell",
        frame=Placement(position=position, angles=(pi / 2, 0.0, 0.0)),
        color=DARK,
    )


def heavy_body() -> Model:
    """The body: origin at the pivot, mass center off its axes, R = Rz(yaw) Ry(pitch) Rx(roll).

    Start and columns are in roll, pitch and yaw, which are singular at a pitch of ±π/2; the state
    is a quaternion, which is not.
    """
    b = ModelBuilder(
        name="heavy-body",
        gravity=(0.0, 0.0, "-g"),
        description="Rigid body on a ball joint under gravity, in roll, pitch and yaw",
        references=("CameronBook1993",),
        equation_numbers={
            **{f"pivot.{name}_rate": "(72)" for name in ("roll", "pitch", "yaw")},
            **{"pivot.wx": "(74)", "pivot.wy": "(75)", "pivot.wz": "(76)"},
        },
    )
    b.parameter("m", 1.5, "kg", "mass")
    b.parameter("s_x", 0.1, "m", "pivot to mass center along x")
    b.parameter("s_y", -0.05, "m", "pivot to mass center along y")
    b.parameter("s_z", 0.2, "m", "pivot to mass center along z")
    for name, value in {
        "xx": 0.8,
        "yy": 1.1,
        "zz": 0.6,
        "xy": 0.05,
        "xz": -0.02,
        "yz": 0.03,
    }.items():
        b.parameter(f"J_{name}", value, "kg*m^2", "entry of the inertia tensor about the pivot")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "body",
        mass="m",
        # about the mass center: J − m (s·s 1 − s sᵀ)
        inertia=(
            "J_xx - m*(s_y^2 + s_z^2)",
            "J_yy - m*(s_x^2 + s_z^2)",
            "J_zz - m*(s_x^2 + s_y^2)",
            "J_xy + m*s_x*s_y",
            "J_xz + m*s_x*s_z",
            "J_yz + m*s_y*s_z",
        ),
        center_of_mass=("s_x", "s_y", "s_z"),
        shapes=(
            Sphere(radius=0.06, color=DARK),
            Cylinder(
                radius=0.03,
                length="abs(s_z)",
                frame=Placement(position=(0.0, 0.0, "s_z/2")),
                color=METAL,
            ),
            Box(
                size=(0.5, 0.34, 0.12), frame=Placement(position=("s_x", "s_y", "s_z")), color=BLUE
            ),
            Box(
                size=(0.12, 0.1, 0.07),
                frame=Placement(position=("s_x+0.3", "s_y", "s_z")),
                color=ORANGE,
            ),
            Cylinder(
                radius=0.1,
                length=0.02,
                frame=Placement(position=("s_x", "s_y", "s_z+0.065")),
                color=LIGHT,
            ),
        ),
    )
    b.joint(
        "pivot",
        Spherical(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="world",
        child="body",
        description="orientation; roll, pitch, yaw are the paper's phi, theta, psi",
    )
    for axis in "xyz":
        b.input(f"tau_{axis}", "N*m", f"torque about the body's {axis} axis")
        b.independent_speed(f"pivot.w{axis}")
    b.force(Wrench(name="torque", body="body", moment=("tau_x", "tau_y", "tau_z"), axes="body"))
    b.scenario(
        Scenario(
            duration=2.0,
            samples=401,
            start={
                "pivot.roll": 0.3,
                "pivot.pitch": -0.2,
                "pivot.yaw": 0.5,
                "pivot.wx": 0.4,
                "pivot.wy": 0.3,
                "pivot.wz": -0.6,
            },
            description="Let go leaning: it falls over and swings through",
        )
    )
    return b.build()


def sled_with_rotor() -> Model:
    """The sled: origin at the blade's contact, x along the blade, its mass center behind."""
    b = ModelBuilder(
        name="sled-with-rotor",
        gravity=(0.0, 0.0, "-g"),
        description="Sled on a blade that carries a rotor above the blade's contact",
        references=("CameronBook1993",),
        equation_numbers={
            "sled.x_rate": "(54)",
            "sled.y_rate": "(54)",
            "blade.lateral": "(56)",
            "sled.vx": "(87)",
            "sled.rate": "(90)",
            "rotor.rate": "(93)",
        },
    )
    b.parameter("m1", 2.0, "kg", "mass of the sled")
    b.parameter("m2", 0.8, "kg", "mass of the rotor")
    b.parameter("ell", 0.4, "m", "blade's contact to the sled's mass center behind it")
    b.parameter("I1", 0.9, "kg*m^2", "moment of inertia of the sled about the blade's contact")
    b.parameter("I2", 0.15, "kg*m^2", "moment of inertia of the rotor about its axis")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "sled",
        mass="m1",
        moment="I1 - m1*ell^2",
        center_of_mass=("-ell", 0.0, 0.0),
        shapes=(
            Box(
                size=("2.1*ell", "0.9*ell", "0.07*ell"),
                frame=Placement(position=("-0.75*ell", 0.0, "0.25*ell")),
                color=BLUE,
            ),
            Box(
                size=("0.6*ell", "0.03*ell", "0.22*ell"),
                frame=Placement(position=(0.0, 0.0, "0.11*ell")),
                color=METAL,
            ),
            Cylinder(
                radius="0.06*ell",
                length="0.2*ell",
                frame=Placement(position=(0.0, 0.0, "0.36*ell")),
                color=DARK,
            ),
            Box(
                size=("0.5*ell", "0.6*ell", "0.22*ell"),
                frame=Placement(position=("-1.35*ell", 0.0, "0.39*ell")),
                color=TEAL,
            ),
            *(
                Box(
                    size=("0.6*ell", "0.06*ell", "0.2*ell"),
                    frame=Placement(position=("-1.4*ell", f"{side}*0.4*ell", "0.1*ell")),
                    color=DARK,
                )
                for side in (1, -1)
            ),
        ),
    )
    b.body(
        "rotor",
        mass="m2",
        moment="I2",
        shapes=(
            Ring(
                radius="0.45*ell",
                tube_radius="0.05*ell",
                frame=Placement(position=(0.0, 0.0, "0.48*ell")),
                color=RED,
            ),
            Cylinder(
                radius="0.1*ell",
                length="0.14*ell",
                frame=Placement(position=(0.0, 0.0, "0.48*ell")),
                color=METAL,
            ),
            *(
                Box(
                    size=("0.4*ell", "0.07*ell", "0.05*ell"),
                    frame=Placement(
                        position=(f"0.24*ell*cos({angle})", f"0.24*ell*sin({angle})", "0.48*ell"),
                        angles=(0.0, 0.0, angle),
                    ),
                    color=LIGHT if angle else ORANGE,
                )
                for angle in (0.0, pi / 2, pi, 3 * pi / 2)
            ),
        ),
    )
    b.joint(
        "sled",
        Planar(),
        parent="world",
        child="sled",
        description="blade's contact and heading, the paper's x, y, theta_1",
        symbols={"vx": "v_1", "vy": "ω_12", "angle": "θ_1"},
    )
    b.joint(
        "rotor",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="sled",
        child="rotor",
        description="angle of the rotor against the sled, the paper's theta_2",
        symbols={"angle": "θ_2"},
    )
    b.contact(KnifeEdge(name="blade", body="sled", direction=(1.0, 0.0, 0.0)))
    b.input("F_v1", "N", "force along the blade")
    b.input("tau1", "N*m", "torque from outside that turns the sled")
    b.input("tau2", "N*m", "torque of the sled on the rotor")
    b.force(Wrench(name="push", body="sled", force=("F_v1", 0.0, 0.0), axes="body"))
    b.force(Motor(name="turn", speed="sled.rate", input="tau1"))
    b.force(Motor(name="spin", speed="rotor.rate", input="tau2"))
    for speed in ("sled.vx", "sled.rate", "rotor.rate"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=5.0,
            samples=401,
            start={"sled.angle": 0.2, "sled.vx": 0.5, "sled.rate": 1.0, "rotor.rate": -2.0},
            inputs={"F_v1": 0.5, "tau1": "0.3*cos(t)", "tau2": "0.2*sin(2*t)"},
            description="Pushed along the blade while sled and rotor are twisted to both sides",
        )
    )
    return b.build()
