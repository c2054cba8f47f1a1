"""Small mechanisms that tests run over, each with a reason to be here.

`MECHANISMS` maps a name to the function that builds it. Numbers are chosen without symmetry, so
that an error in one entry cannot hide behind another.
"""

from collections.abc import Callable
from math import pi

from noslip import Model, ModelBuilder, Placement
from noslip.contacts import KnifeEdge, Plane, Rolling
from noslip.forces import JointDamper, JointFriction, JointSpring, Motor, Spring, Tire, Wrench
from noslip.joints import Angles, Fixed, Free, Planar, Prismatic, Revolute, Spherical
from noslip.rows import PositionRow, VelocityRow
from noslip.surfaces import Ball, Disk, Torus

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
DOWN = (0.0, 0.0, "-g")
FULL_INERTIA = (0.031, 0.042, 0.053, 0.004, -0.003, 0.006)


def builder(name: str, gravity: tuple = DOWN) -> ModelBuilder:
    b = ModelBuilder(name=name, gravity=gravity)
    if "-g" in gravity:
        b.parameter("g", 9.81, "m/s^2")
    return b


def pendulum() -> Model:
    """A rod on a hinge with motor, spring, damper and dry friction."""
    b = builder("pendulum")
    b.parameter("m", 1.3, "kg")
    b.parameter("l", 0.7, "m")
    b.body("rod", mass="m", inertia=(0.02, 0.03, 0.01), center_of_mass=(0.0, 0.0, "-l"))
    b.joint("swing", Revolute(axis=Y), parent="world", child="rod")
    b.input("torque", "N*m")
    b.force(Motor(name="motor", speed="swing.rate", input="torque"))
    b.force(JointSpring(name="coil", coordinate="swing.angle", stiffness=2.1, rest=0.3))
    b.force(JointDamper(name="oil", speed="swing.rate", damping=0.4))
    b.force(JointFriction(name="bearing", speed="swing.rate", level=0.2, smoothing=0.05))
    return b.build()


def spring_chain() -> Model:
    """An arm on a ball joint, a forearm on a skew hinge, springs between them and to the world."""
    b = builder("spring-chain", (0.3, -0.2, "-g"))
    b.parameter("k", 35.0, "N/m")
    b.body("arm", mass=1.1, inertia=FULL_INERTIA, center_of_mass=(0.1, 0.02, -0.3))
    b.body("forearm", mass=0.7, inertia=(0.02, 0.025, 0.01), center_of_mass=(0.05, 0.0, -0.2))
    b.joint(
        "shoulder",
        Spherical(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="world",
        child="arm",
    )
    b.joint(
        "elbow",
        Revolute(axis=(0.3, 0.9, -0.2)),
        parent="arm",
        child="forearm",
        parent_frame=Placement(position=(0.1, 0.0, -0.6), angles=(0.2, -0.1, 0.4)),
        child_frame=Placement(position=(0.0, 0.05, 0.1), angles=(0.1, 0.3, -0.2), sequence="zyx"),
    )
    b.force(
        Spring(
            name="cord",
            body="forearm",
            point=(0.0, 0.1, -0.5),
            other_body="arm",
            other_point=(0.3, 0.0, 0.1),
            stiffness="k",
            rest_length=0.2,
            damping=1.5,
        )
    )
    b.force(
        Spring(
            name="anchor",
            body="arm",
            point=(0.2, 0.0, -0.4),
            other_point=(1.0, -0.5, 0.4),
            stiffness=20.0,
            rest_length=0.5,
        )
    )
    return b.build()


def thrown_body() -> Model:
    """A free body under wrenches in body axes and in world axes, some of them inputs."""
    b = builder("thrown-body")
    b.parameter("drag", 0.3, "N*s/m")
    b.body("stone", mass=1.7, inertia=FULL_INERTIA, center_of_mass=(0.05, -0.02, 0.03))
    b.joint(
        "flight",
        Free(angles=Angles(sequence="zxz", names=("precession", "nutation", "spin"))),
        parent="world",
        child="stone",
        parent_frame=Placement(position=(0.1, 0.2, 0.3), angles=(0.4, 0.1, -0.3)),
        child_frame=Placement(position=(-0.02, 0.04, 0.01), angles=(0.2, 0.5, 0.1)),
    )
    b.input("thrust", "N")
    b.input("twist", "N*m")
    b.force(
        Wrench(
            name="nozzle",
            body="stone",
            force=("thrust", "0.2*thrust", "0.1 + 0.3*sin(2*t)"),
            moment=(0.0, "twist*cos(t)", 0.02),
            point=(-0.2, 0.1, 0.05),
            axes="body",
        )
    )
    b.force(
        Wrench(
            name="wind",
            body="stone",
            force=("1.5 - drag*flight.vx", 0.2, "0.1*flight.x"),
            moment=(0.03, "0.1*twist", 0.0),
            point=(0.1, 0.0, 0.0),
        )
    )
    return b.build()


def top() -> Model:
    """A heavy symmetric top on its tip, axis along its body z."""
    b = builder("top")
    b.parameter("m", 0.8, "kg")
    b.parameter("h", 0.25, "m", "tip to mass center")
    b.parameter("I_t", 0.006, "kg*m^2", "about a diameter through the mass center")
    b.parameter("I_a", 0.009, "kg*m^2", "about its axis")
    b.body("top", mass="m", inertia=("I_t", "I_t", "I_a"), center_of_mass=(0.0, 0.0, "h"))
    b.joint(
        "tip",
        Spherical(angles=Angles(sequence="zxz", names=("precession", "nutation", "spin"))),
        parent="world",
        child="top",
    )
    return b.build()


def every_joint() -> Model:
    """One joint of every type in one tree, all frames placed askew."""
    b = builder("every-joint", (0.4, -1.1, "-g"))
    b.parameter("s", 1.0, "1", "scale of masses")
    names = ("base", "cart", "turret", "slide", "puck", "ball", "drone")
    for k, name in enumerate(names):
        factor = 1.0 + 0.17 * k
        b.body(
            name,
            mass=f"{0.9 * factor}*s",
            inertia=tuple(f"{e * factor}*s" for e in FULL_INERTIA),
            center_of_mass=(0.05 * factor, -0.03, 0.02 * k),
        )

    def place(k: int) -> Placement:
        return Placement(
            position=(0.3 - 0.1 * k, 0.1 * k, 0.2),
            angles=(0.3 * k, 0.2 - 0.1 * k, 0.4),
            sequence=("xyz", "zyx", "zxz")[k % 3],
        )

    joints = (
        ("bolt", Fixed(), "world", "base"),
        ("rail", Prismatic(axis=(0.2, 0.9, 0.1)), "base", "cart"),
        ("turn", Revolute(axis=(0.1, -0.3, 0.8)), "cart", "turret"),
        ("push", Prismatic(axis=(1.0, 1.0, -1.0)), "turret", "slide"),
        ("skid", Planar(), "cart", "puck"),
        ("socket", Spherical(), "slide", "ball"),
        ("fly", Free(), "puck", "drone"),
    )
    for k, (name, kind, parent, child) in enumerate(joints):
        b.joint(
            name, kind, parent=parent, child=child, parent_frame=place(k), child_frame=place(k + 3)
        )
    # springs on coordinates that are not integrals of one speed: their force is −Nᵀ ∂U/∂q
    for name in ("skid.x", "skid.y", "skid.angle", "fly.y", "rail.position"):
        b.force(
            JointSpring(
                name=f"spring_{name.replace('.', '_')}", coordinate=name, stiffness=3.0, rest=0.2
            )
        )
    return b.build()


def sleigh() -> Model:
    """The Chaplygin sleigh: a body in the plane on a blade, mass center ahead of it."""
    b = builder("sleigh")
    b.parameter("m", 1.4, "kg")
    b.parameter("J", 0.12, "kg*m^2")
    b.parameter("a", 0.3, "m", "blade to mass center")
    b.body("sled", mass="m", moment="J", center_of_mass=("a", 0.0, 0.0))
    b.joint("sled", Planar(), parent="world", child="sled")
    b.contact(KnifeEdge(name="blade", body="sled", direction=X))
    return b.build()


def sleigh_by_row() -> Model:
    """The same sleigh with its blade written as an expression."""
    b = builder("sleigh-by-row")
    b.parameter("m", 1.4, "kg")
    b.parameter("J", 0.12, "kg*m^2")
    b.parameter("a", 0.3, "m")
    b.body("sled", mass="m", moment="J", center_of_mass=("a", 0.0, 0.0))
    b.joint("sled", Planar(), parent="world", child="sled")
    b.row(VelocityRow(name="blade", expression="sled.vy"))
    return b.build()


def sleigh_on_slides() -> Model:
    """The same sleigh on two slides and a hinge: a slide's speed is singular at heading π/2."""
    b = builder("sleigh-on-slides")
    b.parameter("m", 1.4, "kg")
    b.parameter("J", 0.12, "kg*m^2")
    b.parameter("a", 0.3, "m")
    b.body("across", mass=0.0, moment=0.0)
    b.body("along", mass=0.0, moment=0.0)
    b.body("sled", mass="m", moment="J", center_of_mass=("a", 0.0, 0.0))
    b.joint("x", Prismatic(axis=X), parent="world", child="across")
    b.joint("y", Prismatic(axis=Y), parent="across", child="along")
    b.joint("heading", Revolute(axis=Z), parent="along", child="sled")
    b.contact(KnifeEdge(name="blade", body="sled", direction=X))
    return b.build()


#: Lengths of the four-bar linkage: ground, crank, coupler, rocker, m.
FOUR_BAR = (1.0, 0.35, 0.9, 0.7)


def four_bar() -> Model:
    """A crank-rocker closed by a hinge in space: of five rows two are independent."""
    b = builder("four-bar", (0.0, "-g", 0.0))
    b.parameter("d", FOUR_BAR[0], "m", "ground")
    b.parameter("a", FOUR_BAR[1], "m", "crank")
    b.parameter("b", FOUR_BAR[2], "m", "coupler")
    b.parameter("c", FOUR_BAR[3], "m", "rocker")
    b.parameter("tilt", 0.0, "rad", "of the rocker's axle, out of the plane's normal")
    b.body("crank", mass=0.8, inertia=(0.01, 0.02, 0.012), center_of_mass=("a/2", 0.0, 0.0))
    b.body("coupler", mass=1.1, inertia=(0.01, 0.05, 0.05), center_of_mass=("b/2", 0.05, 0.0))
    b.body("rocker", mass=0.9, inertia=(0.01, 0.04, 0.04), center_of_mass=("c/2", 0.0, 0.0))
    b.joint("crank", Revolute(axis=Z), parent="world", child="crank")
    b.joint(
        "coupler",
        Revolute(axis=Z),
        parent="crank",
        child="coupler",
        parent_frame=Placement(position=("a", 0.0, 0.0)),
    )
    b.joint(
        "rocker",
        Revolute(axis=Z),
        parent="world",
        child="rocker",
        parent_frame=Placement(position=("d", 0.0, 0.0), angles=("tilt", 0.0, 0.0)),
    )
    b.joint(
        "pin",
        Revolute(axis=Z),
        parent="coupler",
        child="rocker",
        parent_frame=Placement(position=("b", 0.0, 0.0)),
        child_frame=Placement(position=("c", 0.0, 0.0)),
    )
    b.input("drive", "N*m")
    b.force(Motor(name="motor", speed="crank.rate", input="drive"))
    b.independent_speed("crank.rate")
    return b.build()


#: Crank and rod of the slider-crank, m.
SLIDER_CRANK = (0.2, 0.5)


def slider_crank(close_by: str = "hinge") -> Model:
    """Crank, rod and piston along x. The loop is closed at the piston's pin or at its guide."""
    b = builder("slider-crank" if close_by == "hinge" else "slider-crank-guide", (0.0, 0.0, 0.0))
    b.parameter("r", SLIDER_CRANK[0], "m")
    b.parameter("l", SLIDER_CRANK[1], "m")
    b.body("crank", mass=2.0, inertia=(0.02, 0.02, 0.03))
    b.body("rod", mass=0.6, inertia=(0.001, 0.012, 0.012), center_of_mass=("l/2", 0.0, 0.0))
    b.body("piston", mass=0.9, inertia=(0.002, 0.002, 0.002))
    b.joint("crank", Revolute(axis=Z), parent="world", child="crank")
    b.joint(
        "rod",
        Revolute(axis=Z),
        parent="crank",
        child="rod",
        parent_frame=Placement(position=("r", 0.0, 0.0)),
    )
    tip = Placement(position=("l", 0.0, 0.0))
    guide = ("guide", Prismatic(axis=X), "world", "piston", Placement())
    pin = ("pin", Revolute(axis=Z), "rod", "piston", tip)
    for name, kind, parent, child, frame in (guide, pin) if close_by == "hinge" else (pin, guide):
        b.joint(name, kind, parent=parent, child=child, parent_frame=frame)
    return b.build()


def slider_crank_guide() -> Model:
    """The same engine with the loop closed by the piston's guide."""
    return slider_crank("guide")


def spatial_linkage() -> Model:
    """Two skew cranks tied by a rod with a ball joint at each end (RSSR): the rod spins freely."""
    b = builder("spatial-linkage")
    b.body("left", mass=0.9, inertia=FULL_INERTIA, center_of_mass=(0.1, 0.02, 0.0))
    b.body("right", mass=1.2, inertia=FULL_INERTIA, center_of_mass=(0.2, 0.0, 0.03))
    b.body("rod", mass=0.5, inertia=(0.002, 0.03, 0.03), center_of_mass=(0.5, 0.0, 0.0))
    b.joint("left", Revolute(axis=Z), parent="world", child="left")
    b.joint(
        "right",
        Revolute(axis=(0.2, 1.0, 0.3)),
        parent="world",
        child="right",
        parent_frame=Placement(position=(1.0, 0.2, 0.1), angles=(0.1, 0.2, 0.3)),
    )
    b.joint(
        "near",
        Spherical(),
        parent="left",
        child="rod",
        parent_frame=Placement(position=(0.3, 0.0, 0.1)),
    )
    b.joint(
        "far",
        Spherical(),
        parent="rod",
        child="right",
        parent_frame=Placement(position=(1.0, 0.0, 0.0)),
        child_frame=Placement(position=(0.5, 0.1, 0.0)),
    )
    return b.build()


def door() -> Model:
    """A door that two hinges on one axis hold: which of them carries what is indeterminate."""
    b = builder("door")
    b.body("door", mass=12.0, inertia=(2.0, 2.5, 0.7, 0.1, 0.0, 0.05), center_of_mass=(0.4, 0, 0.1))
    b.body("handle", mass=0.3, inertia=FULL_INERTIA, center_of_mass=(-0.1, 0.0, 0.0))
    b.joint("door", Free(), parent="world", child="door")
    at = Placement(position=(0.7, 0.03, 0.1))
    b.joint("handle", Revolute(axis=Y), parent="door", child="handle", parent_frame=at)
    for name, z in (("upper", 0.8), ("lower", -0.6)):
        at = Placement(position=(0.0, 0.0, z))
        hinge = Revolute(axis=Z)
        b.joint(name, hinge, parent="world", child="door", parent_frame=at, child_frame=at)
    return b.build()


def closed_chain(type: object, name: str) -> Model:
    """A chain of hinges and slides on skew axes, closed to the world by a joint of any type."""
    b = builder(name)
    axes = (X, Y, Z, (0.3, 1.0, 0.2), (1.0, -0.4, 0.3), (0.2, 0.5, 1.0), (0.7, 0.1, -0.6))
    parent = "world"
    for k, axis in enumerate(axes):
        body = f"link{k}"
        b.body(body, mass=0.5 + 0.1 * k, inertia=FULL_INERTIA, center_of_mass=(0.1, 0.05, 0.0))
        kind = Prismatic(axis=axis) if k in (2, 5) else Revolute(axis=axis)
        frame = Placement(position=(0.3, 0.1, 0.05 * k), angles=(0.1 * k, 0.2, -0.1))
        b.joint(body, kind, parent=parent, child=body, parent_frame=frame)
        parent = body
    b.joint(
        "closing",
        type,
        parent="world",
        child=parent,
        parent_frame=Placement(position=(0.4, 0.5, 0.6), angles=(0.2, 0.3, 0.1)),
        child_frame=Placement(position=(0.1, 0.0, 0.1), angles=(-0.2, 0.1, 0.3)),
    )
    return b.build()


def ball_on_turntable(is_driven: bool = True) -> Model:
    """A ball that rolls on a table; the table turns at a prescribed rate or freely."""
    b = builder("ball-on-turntable" if is_driven else "ball-on-free-turntable")
    b.parameter("m", 0.6, "kg")
    b.parameter("r", 0.11, "m")
    b.parameter("rate", 1.7, "rad/s")
    b.body("table", mass=3.0, inertia=(0.4, 0.5, 0.8))
    b.body("ball", mass="m", inertia=("0.4*m*r^2", "0.4*m*r^2", "0.4*m*r^2"))
    b.joint(
        "table",
        Revolute(axis=Z),
        parent="world",
        child="table",
        motion={"angle": "rate*t"} if is_driven else None,
    )
    b.joint("ball", Free(), parent="world", child="ball")
    b.contact(Rolling(name="touch", body="ball", wheel=Ball(radius="r"), plane=Plane(body="table")))
    return b.build()


def ball_on_free_turntable() -> Model:
    """The same ball, the table turning freely."""
    return ball_on_turntable(is_driven=False)


def ball_on_wobbling_table() -> Model:
    """A ball on a tilted plane of a table that is turned and shaken in all directions as told."""
    b = builder("ball-on-wobbling-table")
    b.parameter("w", 1.3, "rad/s")
    b.body("table", mass=3.0, inertia=FULL_INERTIA)
    b.body("ball", mass=0.6, inertia=(0.003, 0.004, 0.005), center_of_mass=(0.01, 0.0, 0.02))
    b.joint(
        "table",
        Free(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="world",
        child="table",
        motion={
            "x": "0.2*sin(w*t)",
            "y": "0.1*t^2",
            "z": "0.3*cos(2*t)",
            "yaw": "w*t",
            "pitch": "0.3*sin(t)",
            "roll": "0.2*cos(w*t)",
        },
    )
    b.joint("ball", Free(), parent="world", child="ball")
    plane = Plane(body="table", frame=Placement(position=(0.1, 0.2, 0.05), angles=(0.1, -0.2, 0.3)))
    b.contact(Rolling(name="touch", body="ball", wheel=Ball(radius=0.11), plane=plane))
    return b.build()


def shaken_pendulum() -> Model:
    """A pendulum whose pivot moves up and down as told."""
    b = builder("shaken-pendulum")
    b.parameter("m", 0.7, "kg")
    b.parameter("l", 0.4, "m")
    b.parameter("lift", 0.05, "m")
    b.parameter("w", 9.0, "rad/s")
    b.body("pivot", mass=0.3, inertia=(0.001, 0.001, 0.001))
    b.body("bob", mass="m", moment=0.0, center_of_mass=(0.0, "-l", 0.0))
    b.joint(
        "pivot",
        Prismatic(axis=Z),
        parent="world",
        child="pivot",
        motion={"position": "lift*sin(w*t)"},
    )
    b.joint(
        "swing",
        Revolute(axis=Z),
        parent="pivot",
        child="bob",
        parent_frame=Placement(angles=(pi / 2, 0.0, 0.0)),
    )
    return b.build()


def led_pendulum() -> Model:
    """A ball joint whose orientation is prescribed by its three angles, with a hinge behind it."""
    b = builder("led-pendulum")
    b.parameter("w", 0.8, "rad/s")
    b.body("hand", mass=0.9, inertia=FULL_INERTIA, center_of_mass=(0.02, 0.1, 0.0))
    b.body("rod", mass=0.4, inertia=FULL_INERTIA, center_of_mass=(0.2, 0.0, -0.1))
    b.joint(
        "wrist",
        Spherical(angles=Angles(sequence="zxy", names=("yaw", "lean", "nod"))),
        parent="world",
        child="hand",
        motion={"yaw": "w*t", "lean": "0.4*sin(t)", "nod": "0.1 + 0.2*t"},
    )
    b.joint(
        "hinge",
        Revolute(axis=(0.4, 1.0, 0.3)),
        parent="hand",
        child="rod",
        parent_frame=Placement(position=(0.3, 0.1, 0.0)),
    )
    return b.build()


def torus() -> Model:
    """A round tire that rolls on the ground, its axis along body z."""
    b = builder("torus")
    b.parameter("m", 2.0, "kg")
    b.parameter("R", 0.4, "m", "ring")
    b.parameter("rho", 0.1, "m", "tube")
    b.parameter("I_a", 0.25, "kg*m^2")
    b.parameter("I_t", 0.14, "kg*m^2")
    b.body("tire", mass="m", inertia=("I_t", "I_t", "I_a"))
    b.joint(
        "tire",
        Free(angles=Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
        parent="world",
        child="tire",
    )
    b.contact(
        Rolling(name="tread", body="tire", wheel=Torus(radius="R", tube_radius="rho", axis=Z))
    )
    return b.build()


def lopsided_wheel() -> Model:
    """A disk with its mass center off its axis and its wheel off its origin, on a slope."""
    b = builder("lopsided-wheel")
    b.parameter("slope", 0.2, "rad")
    b.body("wheel", mass=2.0, inertia=FULL_INERTIA, center_of_mass=(0.05, 0.02, -0.03))
    b.joint("wheel", Free(), parent="world", child="wheel")
    b.contact(
        Rolling(
            name="rim",
            body="wheel",
            wheel=Disk(radius=0.4, axis=(0.1, 0.2, 1.0)),
            center=(0.03, -0.02, 0.04),
            plane=Plane(frame=Placement(position=(0.1, 0.0, 0.2), angles=("slope", 0.1, 0.3))),
        )
    )
    return b.build()


def ideal_caster() -> Model:
    """A wheel that may slip along its heading and is held only sideways and in height."""
    b = builder("ideal-caster")
    b.body("frame", mass=2.0, inertia=FULL_INERTIA, center_of_mass=(0.1, 0.02, 0.0))
    b.body("wheel", mass=0.5, inertia=(0.002, 0.004, 0.002))
    b.joint("frame", Free(), parent="world", child="frame")
    b.joint(
        "axle",
        Revolute(axis=Y),
        parent="frame",
        child="wheel",
        parent_frame=Placement(position=(0.2, 0.1, -0.1), angles=(0.1, 0.0, 0.2)),
    )
    b.contact(
        Rolling(name="skid", body="wheel", wheel=Disk(radius=0.2, axis=Y), longitudinal=False)
    )
    return b.build()


def car() -> Model:
    """A bicycle car in the plane: rear wheel, heavy steered front wheel, steering rate given."""
    b = builder("car")
    b.parameter("l", 1.6, "m", "wheelbase")
    b.parameter("r", 0.3, "m")
    b.parameter("I_steer", 0.05, "kg*m^2", "of fork and wheel about the steering axis")
    b.body("body", mass=30.0, inertia=(2.0, 5.0, 6.0), center_of_mass=("0.4*l", 0.0, 0.2))
    b.body("fork", mass=0.0, inertia=(0.0, 0.0, "I_steer"))
    b.body("rear", mass=2.0, inertia=(0.05, 0.09, 0.05))
    b.body("front", mass=2.0, inertia=(0.05, 0.09, 0.05))
    b.joint(
        "body", Planar(), parent="world", child="body", parent_frame=Placement(position=(0, 0, "r"))
    )
    b.joint(
        "steer",
        Revolute(axis=Z),
        parent="body",
        child="fork",
        parent_frame=Placement(position=("l", 0.0, 0.0)),
    )
    b.joint("rear", Revolute(axis=Y), parent="body", child="rear")
    b.joint("front", Revolute(axis=Y), parent="fork", child="front")
    for name in ("rear", "front"):
        wheel = Disk(radius="r", axis=Y)
        b.contact(Rolling(name=name, body=name, wheel=wheel, normal=False))
    b.input("drive", "N*m")
    b.force(Motor(name="engine", speed="rear.rate", input="drive"))
    b.speed_input("steering", "steer.rate")
    return b.build()


def cart_on_turntable() -> Model:
    """A cart whose tires slide over a table that turns freely and is pushed back by them."""
    b = builder("cart-on-turntable")
    b.body("table", mass=3.0, inertia=(0.4, 0.5, 0.8), center_of_mass=(0.1, 0.0, 0.0))
    b.body("cart", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.2))
    b.joint("table", Revolute(axis=Z), parent="world", child="table")
    b.joint("cart", Planar(), parent="world", child="cart")
    for name, x, maximum in (("front", 0.4, 3.0), ("rear", -0.3, None)):
        b.force(
            Tire(
                name=name,
                body="cart",
                direction=(1.0, 0.1, 0.0),
                stiffness=5.0,
                v0=0.2,
                point=(x, 0.1, 0.0),
                maximum=maximum,
                plane=Plane(body="table"),
            )
        )
    return b.build()


def point_on_circle() -> Model:
    """A mass point on two slides, held on a circle by an expression: a pendulum of length l."""
    b = builder("point-on-circle", (0.0, "-g", 0.0))
    b.parameter("m", 1.3, "kg")
    b.parameter("l", 0.7, "m")
    b.body("slide", mass=0.0, moment=0.0)
    b.body("bead", mass="m", moment=0.0)
    b.joint("x", Prismatic(axis=X), parent="world", child="slide")
    b.joint("y", Prismatic(axis=Y), parent="slide", child="bead")
    b.row(PositionRow(name="wire", expression="(x.position^2 + y.position^2 - l^2)/(2*l)"))
    return b.build()


def moving_rows() -> Model:
    """General rows that move in time: a belt under a blade and a wire that breathes."""
    b = builder("moving-rows", (0.0, "-g", 0.0))
    b.body("puck", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.0))
    b.body("arm", mass=0.4, inertia=FULL_INERTIA, center_of_mass=(0.2, 0.0, 0.0))
    b.joint("puck", Planar(), parent="world", child="puck")
    b.joint("arm", Revolute(axis=Z), parent="puck", child="arm")
    b.row(
        VelocityRow(
            name="belt", expression="puck.vy*cos(t) + 0.3*puck.vx*puck.x - 0.2*sin(3*t)*puck.y"
        )
    )
    b.row(PositionRow(name="wire", expression="sin(arm.angle) + 0.5*puck.x - 0.2*cos(2*t)"))
    return b.build()


def steered_arm() -> Model:
    """Named independent speeds that are expressions, a speed input on a joint of a free chain."""
    b = builder("steered-arm")
    b.body("cart", mass=1.3, inertia=FULL_INERTIA, center_of_mass=(0.1, -0.05, 0.0))
    b.body("arm", mass=0.4, inertia=FULL_INERTIA, center_of_mass=(0.2, 0.0, 0.1))
    b.joint("cart", Planar(), parent="world", child="cart")
    b.joint("arm", Revolute(axis=(0.2, 0.1, 1.0)), parent="cart", child="arm")
    b.contact(
        KnifeEdge(name="blade", body="cart", direction=(1.0, 0.2, 0.0), point=(0.1, 0.3, 0.0))
    )
    b.speed_input("swing", "arm.rate")
    b.independent_speed(
        "drift", "cos(cart.angle)*cart.vx - sin(cart.angle)*cart.vy + 0.1*cart.rate", "m/s"
    )
    b.independent_speed("turn", "cart.rate*(2 + sin(cart.x))", "rad/s")
    return b.build()


MECHANISMS: dict[str, Callable[[], Model]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        pendulum,
        spring_chain,
        thrown_body,
        top,
        every_joint,
        sleigh,
        sleigh_by_row,
        sleigh_on_slides,
        four_bar,
        slider_crank,
        slider_crank_guide,
        spatial_linkage,
        door,
        ball_on_turntable,
        ball_on_free_turntable,
        ball_on_wobbling_table,
        shaken_pendulum,
        led_pendulum,
        torus,
        lopsided_wheel,
        ideal_caster,
        car,
        cart_on_turntable,
        point_on_circle,
        moving_rows,
        steered_arm,
    )
}
MECHANISMS |= {
    f"loop-closed-by-{type.word}": lambda type=type: closed_chain(
        type, f"loop-closed-by-{type.word}"
    )
    for type in (Fixed(), Revolute(axis=(0.5, 0.1, 1.0)), Prismatic(axis=Y), Planar(), Spherical())
}
