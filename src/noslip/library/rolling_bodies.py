"""Bodies that roll: balls, a coin, a stone, and a shell driven from inside.

**A ball that rolls in a bowl without slipping.**

**A ball on a dish that spins: what no table can do, it stays on it without friction of rolling.**

**A coin that rolls down a funnel on its edge.**

**A rattleback: a stone that spins one way and turns back when it is spun the other way.**

**A spherical robot: a shell that rolls on the floor, driven by a steered wheel inside it.**

**A tippe top: it slips, and turns over because of it.**
"""

from __future__ import annotations

from math import cos, pi, sin

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Plane, Rolling
from noslip.forces import Motor, PivotingFriction, RollingResistance
from noslip.grounds import RevolvedGround, SphereGround
from noslip.joints import Angles, Free, Revolute, Spherical
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED, box, wheel_shapes
from noslip.shapes import AbstractShape, Box, Cylinder, Ring, Sphere, Turned
from noslip.surfaces import Ball, Disk, Ellipsoid


def add_ball(b: ModelBuilder) -> None:
    """A solid ball of mass m and radius r_ball that moves freely, with a ring to see it turn."""
    moment = "0.4*m*r_ball^2"
    b.body(
        "ball",
        mass="m",
        inertia=(moment, moment, moment),
        shapes=(
            Sphere(radius="r_ball", color=RED),
            Ring(radius="r_ball", tube_radius="r_ball/30", color=LIGHT),
        ),
    )
    b.joint(
        "ball",
        Free(),
        parent="world",
        child="ball",
        description="middle of the ball and its orientation",
    )


def ball_in_bowl() -> Model:
    """A bowl of height s r²/2 about the vertical; s is the curvature of its bottom."""
    b = ModelBuilder(
        name="ball-in-bowl",
        gravity=(0.0, 0.0, "-g"),
        description="A ball that rolls through a bowl without slipping",
        references=("BorisovMamaevKilin2002",),
    )
    b.parameter("m", 1.0, "kg", "mass of the ball")
    b.parameter("r_ball", 0.1, "m", "radius of the ball", "r_b")
    b.parameter("s", 1.2, "1/m", "curvature of the bottom of the bowl")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    add_ball(b)
    b.contact(
        Rolling(
            name="touch",
            body="ball",
            wheel=Ball(radius="r_ball"),
            ground=RevolvedGround(z="s/2*r^2", extent=0.9),
        )
    )
    for speed in ("ball.wx", "ball.wy", "ball.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=8.0,
            samples=401,
            start={"ball.x": 0.6, "ball.y": 0.0, "ball.wx": -6.0, "ball.wy": 0.0, "ball.wz": 0.0},
            description="Set rolling along the wall, it goes round and past the bottom",
        )
    )
    return b.build()


def ball_on_dish() -> Model:
    """A shallow dish of height s r²/2 on a vertical axle with a motor, and a ball."""
    b = ModelBuilder(
        name="ball-on-dish",
        gravity=(0.0, 0.0, "-g"),
        description="A ball that rolls on a spinning dish, which feels it",
        references=("BorisovMamaevKilin2002",),
    )
    b.parameter("m", 0.5, "kg", "mass of the ball")
    b.parameter("r_ball", 0.06, "m", "radius of the ball", "r_b")
    b.parameter("J", 0.2, "kg*m^2", "inertia of the dish about its axle")
    b.parameter("r_dish", 0.8, "m", "radius of the dish", "r_d")
    b.parameter("s", 0.15, "1/m", "curvature of the dish")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    radii = tuple(f"{share}*r_dish" for share in (1.0, 0.75, 0.5, 0.25, 0.0))
    b.body(
        "dish",
        mass=5.0,
        inertia=("J/2", "J/2", "J"),
        shapes=(
            Turned(radii=radii, heights=tuple(f"s/2*({r})^2" for r in radii), color=LIGHT),
            Box(
                size=("0.1*r_dish", "0.1*r_dish", "0.012*r_dish"),
                frame=Placement(position=("0.88*r_dish", 0.0, "s/2*(0.88*r_dish)^2")),
                color=ORANGE,
            ),
        ),
    )
    b.joint(
        "dish",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="world",
        child="dish",
        description="turning of the dish about its axle",
    )
    add_ball(b)
    b.contact(
        Rolling(
            name="touch",
            body="ball",
            wheel=Ball(radius="r_ball"),
            plane=Plane(body="dish"),
            ground=RevolvedGround(z="s/2*r^2", extent="r_dish"),
        )
    )
    b.input("torque", "N*m", "motor torque on the dish", "τ")
    b.force(Motor(name="motor", speed="dish.rate", input="torque"))
    for speed in ("dish.rate", "ball.wx", "ball.wy", "ball.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=10.0,
            samples=501,
            start={"dish.rate": 3.0, "ball.x": 0.25, "ball.y": 0.0, "ball.wx": 0.0, "ball.wy": 0.0},
            description="Put down on the dish as it spins at 3 rad/s, the ball circles on it",
        )
    )
    return b.build()


def coin_in_funnel() -> Model:
    """A funnel of height −d²/r and a thin coin, its axis z; R = Rz(yaw) Rx(tilt) Rz(spin)."""
    b = ModelBuilder(
        name="coin-in-funnel",
        gravity=(0.0, 0.0, "-g"),
        description="A coin that rolls round a funnel on its edge",
        references=("BorisovMamaev2002",),
    )
    b.parameter("m", 0.02, "kg", "mass of the coin")
    b.parameter("r_coin", 0.05, "m", "radius of the coin", "r_c")
    b.parameter("d", 0.22, "m", "size of the funnel: at this radius it is as deep, at 45 degrees")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "coin",
        mass="m",
        inertia=("m*r_coin^2/4", "m*r_coin^2/4", "m*r_coin^2/2"),
        shapes=(
            Cylinder(radius="0.97*r_coin", length="r_coin/14", color="#d9a441"),
            Ring(radius="0.96*r_coin", tube_radius="0.04*r_coin", color=DARK),
            *(
                Box(
                    size=("0.7*r_coin", "r_coin/10", "r_coin/9"),
                    frame=Placement(
                        position=(f"0.45*r_coin*cos({k})", f"0.45*r_coin*sin({k})", 0.0),
                        angles=(0.0, 0.0, k),
                    ),
                    color=LIGHT if k else ORANGE,
                )
                for k in (0.0, pi)
            ),
        ),
    )
    b.joint(
        "coin",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="coin",
        description="yaw: heading; tilt: angle between coin and horizon; spin: about its axis",
    )
    b.contact(
        Rolling(
            name="rim",
            body="coin",
            wheel=Disk(radius="r_coin", axis=(0.0, 0.0, 1.0)),
            ground=RevolvedGround(z="-d^2/r", extent=0.6, inner=0.12),
        )
    )
    for speed in ("coin.wx", "coin.wy", "coin.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={
                "coin.yaw": pi / 2,
                "coin.tilt": 1.336,
                "coin.spin": 0.0,
                "rim.x": 0.45,
                "rim.y": 0.0,
                "coin.spin_rate": -16.0,
                "coin.yaw_rate": 2.0,
                "coin.tilt_rate": 0.0,
            },
            description="Set rolling round the funnel on its edge",
        )
    )
    return b.build()


def _hull() -> tuple[AbstractShape, ...]:
    """The lower half of the ellipsoid with a flat deck, and a mark on it."""
    below = [k * pi / 24 - pi / 2 for k in range(13)]
    return (
        Turned(
            radii=(*(cos(a) for a in below), 1.0, 0.0),
            heights=(*(sin(a) for a in below), 0.0, 0.0),
            stretch=("a", "b", "c"),
            color=BLUE,
        ),
        Box(
            size=("0.5*a", "0.3*b", "0.1*c"),
            frame=Placement(position=("0.5*a", 0.0, 0.0)),
            color=ORANGE,
        ),
    )


def rattleback() -> Model:
    """The stone of the reference: an ellipsoid, its principal axes turned against those of inertia.

    R = Rz(yaw) Rx(roll) Ry(pitch); x along the stone, z up. The product of inertia `D` is what
    couples spinning with rattling.
    """
    b = ModelBuilder(
        name="rattleback",
        gravity=(0.0, 0.0, "-g"),
        description="A rattleback: spun against its sense, it rattles and turns back",
        references=("KaneLevinson1982",),
    )
    b.parameter("m", 1.0, "kg", "mass")
    b.parameter("a", 0.2, "m", "semi-axis of the ellipsoid along the stone")
    b.parameter("b", 0.03, "m", "semi-axis across it")
    b.parameter("c", 0.02, "m", "semi-axis upwards")
    b.parameter("h", 0.01, "m", "mass center below that of the ellipsoid")
    b.parameter("A", 2e-4, "kg*m^2", "inertia about the long axis")
    b.parameter("B", 1.6e-3, "kg*m^2", "inertia about the axis across")
    b.parameter("C", 1.7e-3, "kg*m^2", "inertia about the vertical axis")
    b.parameter("D", -2e-5, "kg*m^2", "product of inertia of the two level axes")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "stone",
        mass="m",
        inertia=("A", "B", "C", "D", 0.0, 0.0),
        center_of_mass=(0.0, 0.0, "-h"),
        shapes=_hull(),
    )
    b.joint(
        "stone",
        Free(angles=Angles(sequence="zxy", names=("yaw", "roll", "pitch"))),
        parent="world",
        child="stone",
        description="yaw: about the vertical; roll: about the long axis; pitch: up and down",
    )
    b.contact(Rolling(name="touch", body="stone", wheel=Ellipsoid(size=("a", "b", "c"))))
    for speed in ("stone.wx", "stone.wy", "stone.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=10.0,
            samples=1001,
            start={
                "stone.yaw": 0.0,
                "stone.roll": 0.01,
                "stone.pitch": 0.01,
                "stone.yaw_rate": -5.0,
            },
            description="Spun the wrong way at 5 rad/s, it rattles and turns back within 4 s",
        )
    )
    return b.build()


def spherical_robot() -> Model:
    """A cart hangs in the middle of the shell; its wheel rolls inside without slipping.

    The cart carries a fork that a motor steers about the vertical axis of the cart, and the fork
    the wheel. The cart is held at the middle of the shell by a ball joint, which takes the place of
    the springs that press real ones against it, so that the wheel needs no normal row.
    """
    b = ModelBuilder(
        name="spherical-robot",
        gravity=(0.0, 0.0, "-g"),
        description="A shell that rolls on the floor, driven by a steered wheel that rolls in it",
        references=("HalmeSchonbergWang1996",),
    )
    b.parameter("R", 0.3, "m", "outer radius of the shell")
    b.parameter("d", 0.01, "m", "thickness of the shell")
    b.parameter("r", 0.08, "m", "radius of the wheel")
    b.parameter("m_shell", 2.0, "kg", "mass of the shell", "m_s")
    b.parameter("m_cart", 4.0, "kg", "mass of the cart", "m_c")
    b.parameter("m_wheel", 0.3, "kg", "mass of the wheel", "m_w")
    b.parameter("l", 0.15, "m", "mass center of the cart below the middle")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    shell = "2/3*m_shell*R^2"
    b.body(
        "shell",
        mass="m_shell",
        inertia=(shell, shell, shell),
        shapes=tuple(
            Ring(radius="R - d/2", tube_radius="d/2", frame=Placement(angles=angles), color=color)
            for angles, color in (
                ((0.0, 0.0, 0.0), ORANGE),
                ((1.5707963267948966, 0.0, 0.0), BLUE),
                ((0.0, 1.5707963267948966, 0.0), BLUE),
                ((0.7853981633974483, 0.0, 0.0), METAL),
                ((-0.7853981633974483, 0.0, 0.0), METAL),
            )
        ),
    )
    b.body(
        "cart",
        mass="m_cart",
        inertia=(0.02, 0.02, 0.02),
        center_of_mass=(0.0, 0.0, "-l"),
        shapes=(
            box(("0.5*R", "0.3*R", "0.25*R"), (0.0, 0.0, "-0.25*R"), RED),
            Cylinder(radius="0.02*R", length="0.3*R", frame=Placement(), color=METAL),
        ),
    )
    b.body(
        "fork",
        mass=0.2,
        inertia=(3e-4, 3e-4, 2e-4),
        center_of_mass=(0.0, 0.0, "-0.6*R"),
        shapes=(box(("0.08*R", "0.12*R", "0.3*R"), (0.0, 0.0, "-0.5*R"), METAL),),
    )
    b.body(
        "wheel",
        mass="m_wheel",
        inertia=("m_wheel*r^2/4", "m_wheel*r^2/2", "m_wheel*r^2/4"),
        shapes=wheel_shapes("r", "r/3", "y"),
    )
    b.joint(
        "shell",
        Free(),
        parent="world",
        child="shell",
        description="middle and orientation of the shell",
    )
    b.joint(
        "cart",
        Spherical(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="shell",
        child="cart",
        description="orientation of the cart against the shell",
    )
    b.joint(
        "steer",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="cart",
        child="fork",
        description="steering of the wheel, positive to the left",
    )
    b.joint(
        "wheel",
        Revolute(axis=(0.0, 1.0, 0.0)),
        parent="fork",
        child="wheel",
        parent_frame=Placement(position=(0.0, 0.0, "-(R - d - r)")),
        description="spin of the wheel, positive drives forward along x of the fork",
    )
    b.contact(Rolling(name="floor", body="shell", wheel=Ball(radius="R")))
    b.contact(
        Rolling(
            name="inside",
            body="wheel",
            wheel=Disk(radius="r", axis=(0.0, 1.0, 0.0)),
            plane=Plane(body="shell"),
            ground=SphereGround(radius="R - d", inside=True),
            normal=False,
        )
    )
    b.input("drive", "N*m", "torque of the motor of the wheel", "τ")
    b.force(Motor(name="drive", speed="wheel.rate", input="drive"))
    b.speed_input("steering", "steer.rate", "rate of steering", "w")
    b.scenario(
        Scenario(
            duration=6.0,
            samples=301,
            start={"steer.angle": 0.0},
            inputs={"drive": "0.15", "steering": "0.4*sin(t)"},
            description="Driven from rest while the wheel is steered to one side and back",
        )
    )
    return b.build()


def _top() -> tuple[AbstractShape, ...]:
    """A ball that is cut off above its center, with a stem that stays within the ball."""
    cut = 0.42
    below = [-pi / 2 + k * (pi / 2 + cut) / 12 for k in range(13)]
    scale = ("r", "r", "r")
    return (
        Turned(
            radii=(*(cos(a) for a in below), 0.0),
            heights=(*(sin(a) for a in below), sin(cut)),
            stretch=scale,
            color=BLUE,
        ),
        Turned(
            radii=(0.2, 0.2, 0.28, 0.0),
            heights=(sin(cut), 0.8, 0.94, 0.96),
            stretch=scale,
            color=ORANGE,
        ),
    )


def tippe_top() -> Model:
    """A ball whose mass center is below its middle; R = Rz(yaw) Rx(tilt) Rz(spin).

    It slides with friction all the while it rises, so that it runs by Coulomb's law. Whatever the
    force at its contact, [CohenR1977] L·(a e − r n) keeps its value: Jellett's integral.
    """
    b = ModelBuilder(
        name="tippe-top",
        gravity=(0.0, 0.0, "-g"),
        description="A tippe top: spun fast, it slips, rises and stands on its head",
        references=("CohenR1977",),
    )
    b.parameter("m", 0.02, "kg", "mass")
    b.parameter("r", 0.02, "m", "radius")
    b.parameter("a", 0.006, "m", "mass center below the middle of the ball")
    b.parameter("mu", 0.3, "1", "friction on the ground", "\\mu")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "top",
        mass="m",
        inertia=("131/350*m*r^2", "131/350*m*r^2", "2/5*m*r^2"),
        center_of_mass=(0.0, 0.0, "-a"),
        shapes=_top(),
    )
    b.joint(
        "top",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="top",
        description="yaw: heading; tilt: of its axis from the vertical; spin: about its axis",
    )
    b.contact(Rolling(name="tip", body="top", wheel=Ball(radius="r"), friction="mu"))
    for speed in ("top.wx", "top.wy", "top.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=3.0,
            samples=601,
            start={
                "top.yaw": 0.0,
                "top.tilt": 0.1,
                "top.spin": 0.0,
                "top.yaw_rate": 180.0,
                "top.tilt_rate": 0.0,
                "top.spin_rate": 0.0,
            },
            contact="coulomb",
            description="Spun at 180 rad/s about the vertical, it turns over within a second",
        )
    )
    return b.build()


def eulers_disk() -> Model:
    """A heavy disk that goes round on its rim; R = Rz(yaw) Rx(tilt) Rz(spin).

    In the steady motion in which its center rests, yaw_rate² sin(tilt) = 4 g/r. Rolling resistance
    and pivoting friction take its energy, and as it sinks it goes round ever faster.
    """
    b = ModelBuilder(
        name="eulers-disk",
        gravity=(0.0, 0.0, "-g"),
        description="Euler's disk: it sinks by rolling resistance and goes round ever faster",
        references=("Moffatt2000",),
    )
    b.parameter("m", 0.4, "kg", "mass")
    b.parameter("r", 0.0375, "m", "radius")
    b.parameter("mu", 0.3, "1", "friction on the ground", "\\mu")
    b.parameter("roll", 1e-4, "m", "lever of rolling resistance")
    b.parameter("pivot", 2e-5, "m", "lever of pivoting friction")
    b.parameter("slow", 1e-3, "rad/s", "angular speed at which both have reached 76 %")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "disk",
        mass="m",
        inertia=("m*r^2/4", "m*r^2/4", "m*r^2/2"),
        shapes=(
            Cylinder(radius="r", length="0.1*r", color=BLUE),
            Box(
                size=("0.5*r", "0.12*r", "0.12*r"),
                frame=Placement(position=("0.55*r", 0.0, 0.0)),
                color=ORANGE,
            ),
        ),
    )
    b.joint(
        "disk",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="disk",
        description="yaw: heading; tilt: from lying flat; spin: about its axis",
    )
    b.contact(
        Rolling(name="rim", body="disk", wheel=Disk(radius="r", axis=(0, 0, 1)), friction="mu")
    )
    b.force(RollingResistance(name="rolling", contact="rim", lever="roll", smoothing="slow"))
    b.force(PivotingFriction(name="pivoting", contact="rim", lever="pivot", smoothing="slow"))
    for speed in ("disk.wx", "disk.wy", "disk.wz"):
        b.independent_speed(speed)
    b.scenario(
        Scenario(
            duration=4.0,
            samples=1601,
            start={
                "disk.yaw": 0.0,
                "disk.tilt": 0.3,
                "disk.spin": 0.0,
                "disk.tilt_rate": 0.0,
                "disk.yaw_rate": 59.505,
                "disk.spin_rate": -56.848,
            },
            contact="coulomb",
            description="Set going on its rim, it sinks and goes round ever faster",
        )
    )
    return b.build()
