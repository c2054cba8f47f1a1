"""The benchmark bicycle, and vehicles on hilly ground.

**The benchmark bicycle: rear frame with rider, front frame, two wheels.**

[MeijaardPapadopoulosRuinaSchwab2007]. The parameters have the names and values of the paper. Its
axes point forward, to the right and down; here they point forward, to the left and up, so that z
and the products xz change their sign where they enter.

**The benchmark bicycle on hilly ground that was measured on a grid.**

**A three-wheeled vehicle on hilly ground that was measured on a grid.**
"""

from __future__ import annotations

import dataclasses
from math import cos, pi, sin

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.expressions import Scalar
from noslip.forces import Motor, Wrench
from noslip.grounds import GridGround
from noslip.joints import Angles, Free, Revolute
from noslip.model import BLUE, DARK, LIGHT, METAL, ORANGE, RED, TEAL, box, wheel_shapes
from noslip.shapes import AbstractShape, Box, Cylinder, Ring, Sphere
from noslip.surfaces import Disk, Torus

_AXLE = (0.0, 1.0, 0.0)
_JEANS, _SKIN = "#54678f", "#eeca9b"


def whipple_bicycle() -> Model:
    """The bicycle: axes of the rear frame at the rear hub, x forward, y to the left, z up.

    R = Rz(yaw) Rx(lean) Ry(pitch). Lean and steer are positive to the right, as in the paper; the
    pitch follows from them, since both wheels touch the ground. The front frame has its origin
    where the steer axis meets the ground. Positive rates of the wheels roll forward.
    """
    b = ModelBuilder(
        name="whipple-bicycle",
        gravity=(0.0, 0.0, "-g"),
        description="The benchmark bicycle with a rigid rider, hands off the handlebar",
        references=("MeijaardPapadopoulosRuinaSchwab2007", "BasuMandalChatterjeePapadopoulos2007"),
    )
    _parameters(b)
    _bodies(b)
    b.joint(
        "frame",
        Free(
            angles=Angles(sequence="zxy", names=("yaw", "lean", "pitch"), symbols=("ψ", "φ", "θ_B"))
        ),
        parent="world",
        child="rear_frame",
        description="rear hub and orientation; lean is positive to the right, the paper's phi",
    )
    b.joint(
        "rear_wheel",
        Revolute(axis=_AXLE),
        parent="rear_frame",
        child="rear_wheel",
        description="spin of the rear wheel, the paper's theta_R reversed",
        symbols={"angle": "θ_R"},
    )
    b.joint(
        "steer",
        Revolute(axis=("sin(lam)", 0.0, "-cos(lam)")),
        parent="rear_frame",
        child="front_frame",
        parent_frame=Placement(position=("w + c", 0.0, "-rR")),
        description="steer angle, positive to the right, the paper's delta",
        symbols={"angle": "δ"},
    )
    b.joint(
        "front_wheel",
        Revolute(axis=_AXLE),
        parent="front_frame",
        child="front_wheel",
        parent_frame=Placement(position=("-c", 0.0, "rF")),
        description="spin of the front wheel, the paper's theta_F reversed",
        symbols={"angle": "θ_F"},
    )
    for name, radius in (("rear_wheel", "rR"), ("front_wheel", "rF")):
        b.contact(Rolling(name=name, body=name, wheel=Disk(radius=radius, axis=_AXLE)))
    b.input(
        "lean_torque", "N*m", "moment from outside that leans it to the right, as of a gust", "T_φ"
    )
    b.input("steer_torque", "N*m", "moment of the hands, steering to the right", "T_δ")
    b.input("drive_torque", "N*m", "moment of the chain on the rear wheel, forward", "T_θ")
    b.force(Wrench(name="gust", body="rear_frame", moment=("lean_torque", 0.0, 0.0), axes="body"))
    b.force(Motor(name="hands", speed="steer.rate", input="steer_torque"))
    b.force(Motor(name="chain", speed="rear_wheel.rate", input="drive_torque"))
    b.independent_speed("frame.wx")
    b.independent_speed("steer.rate")
    b.independent_speed("speed", "rR*rear_wheel.rate", "m/s", "v")
    b.mode("weave", oscillates=True, description="lean and steer in turn, unstable when slow")
    b.mode("capsize", coordinate="frame.lean", description="falls over slowly, when fast")
    b.mode("castering", coordinate="steer.angle", description="the front wheel trails, fast")
    b.scenario(
        Scenario(
            duration=8.0,
            samples=401,
            start={"speed": 4.6, "frame.wx": 0.5},
            description="Pushed to a lean rate of 0.5 rad/s at 4.6 m/s, it rights itself",
        )
    )
    return b.build()


def _parameters(b: ModelBuilder) -> None:
    """The values of the benchmark, by the names of the literature."""
    b.parameter("w", 1.02, "m", "wheel base")
    b.parameter("c", 0.08, "m", "trail")
    b.parameter("lam", pi / 10, "rad", "steer axis tilt, from the vertical")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.parameter("rR", 0.3, "m", "radius of the rear wheel", "r_R")
    b.parameter("mR", 2.0, "kg", "mass of the rear wheel", "m_R")
    b.parameter("IRxx", 0.0603, "kg*m^2", "inertia of the rear wheel about a diameter", "I_Rxx")
    b.parameter("IRyy", 0.12, "kg*m^2", "inertia of the rear wheel about its axle", "I_Ryy")
    b.parameter(
        "xB", 0.3, "m", "mass center of rear frame and rider, forward of the rear contact", "x_B"
    )
    b.parameter("zB", -0.9, "m", "mass center of rear frame and rider, below the ground", "z_B")
    b.parameter("mB", 85.0, "kg", "mass of rear frame and rider", "m_B")
    b.parameter("IBxx", 9.2, "kg*m^2", "inertia of rear frame and rider, forward axis", "I_Bxx")
    b.parameter("IBxz", 2.4, "kg*m^2", "product of inertia, entry of the tensor, z down", "I_Bxz")
    b.parameter("IByy", 11.0, "kg*m^2", "inertia of rear frame and rider, sideways axis", "I_Byy")
    b.parameter("IBzz", 2.8, "kg*m^2", "inertia of rear frame and rider, vertical axis", "I_Bzz")
    b.parameter(
        "xH", 0.9, "m", "mass center of fork and handlebar, forward of the rear contact", "x_H"
    )
    b.parameter("zH", -0.7, "m", "mass center of fork and handlebar, below the ground", "z_H")
    b.parameter("mH", 4.0, "kg", "mass of fork and handlebar", "m_H")
    b.parameter("IHxx", 0.05892, "kg*m^2", "inertia of fork and handlebar, forward axis", "I_Hxx")
    b.parameter(
        "IHxz", -0.00756, "kg*m^2", "product of inertia, entry of the tensor, z down", "I_Hxz"
    )
    b.parameter("IHyy", 0.06, "kg*m^2", "inertia of fork and handlebar, sideways axis", "I_Hyy")
    b.parameter("IHzz", 0.00708, "kg*m^2", "inertia of fork and handlebar, vertical axis", "I_Hzz")
    b.parameter("rF", 0.35, "m", "radius of the front wheel", "r_F")
    b.parameter("mF", 3.0, "kg", "mass of the front wheel", "m_F")
    b.parameter("IFxx", 0.1405, "kg*m^2", "inertia of the front wheel about a diameter", "I_Fxx")
    b.parameter("IFyy", 0.28, "kg*m^2", "inertia of the front wheel about its axle", "I_Fyy")


def _bodies(b: ModelBuilder) -> None:
    b.body(
        "rear_frame",
        mass="mB",
        inertia=("IBxx", "IByy", "IBzz", 0.0, "-IBxz", 0.0),
        center_of_mass=("xB", 0.0, "-zB - rR"),
        shapes=(*_rear_frame(), *_rider()),
    )
    b.body(
        "rear_wheel",
        mass="mR",
        inertia=("IRxx", "IRyy", "IRxx"),
        shapes=_wheel("rR"),
    )
    b.body(
        "front_frame",
        mass="mH",
        inertia=("IHxx", "IHyy", "IHzz", 0.0, "-IHxz", 0.0),
        center_of_mass=("xH - w - c", 0.0, "-zH"),
        shapes=_front_frame(),
    )
    b.body(
        "front_wheel",
        mass="mF",
        inertia=("IFxx", "IFyy", "IFxx"),
        shapes=_wheel("rF"),
    )


_Point = tuple[Scalar, Scalar, Scalar]


def _rear_frame() -> tuple[AbstractShape, ...]:
    """Tubes between hub, bottom bracket, saddle and steer axis."""
    hub: _Point = (0.0, 0.0, 0.0)
    bracket: _Point = ("0.42*w", 0.0, "-0.1*rR")
    seat, saddle = _place(0.27, 0.80), _place(0.22, 0.98)
    head_low, head_high = _on_axis("w + c", "-rR", 0.86), _on_axis("w + c", "-rR", 0.98)
    tubes = (
        (hub, bracket),
        (hub, seat),
        (bracket, saddle),
        (bracket, head_low),
        (seat, head_high),
        (head_low, head_high),
    )
    return (
        *(_tube(start, end, "0.018*w", BLUE) for start, end in tubes),
        Box(size=("0.24*w", "0.13*w", "0.04*w"), frame=Placement(position=saddle), color=DARK),
        _tube(_aside(bracket, "-0.09*w"), _aside(bracket, "0.09*w"), "0.02*w", METAL),
    )


def _rider() -> tuple[AbstractShape, ...]:
    """A rider with the hands on the thighs."""
    hip, neck, head = _place(0.21, 1.08), _place(0.37, 1.58), _place(0.42, 1.80)
    parts: list[AbstractShape] = [
        _tube(hip, neck, "0.11*w", TEAL),
        Sphere(radius="0.11*w", frame=Placement(position=neck), color=TEAL),
        _tube(neck, head, "0.045*w", _SKIN),
        Sphere(radius="0.095*w", frame=Placement(position=head), color=_SKIN),
    ]
    for side, down in (("0.09*w", 0.16), ("-0.09*w", 0.42)):
        knee, foot = _aside(_place(0.55, 0.76 + down / 3), side), _aside(_place(0.42, down), side)
        parts += [
            _tube(_aside(hip, side), knee, "0.06*w", _JEANS),
            Sphere(radius="0.06*w", frame=Placement(position=knee), color=_JEANS),
            _tube(knee, foot, "0.045*w", _JEANS),
            Box(
                size=("0.2*w", "0.08*w", "0.05*w"),
                frame=Placement(position=_aside(_place(0.47, down - 0.03), side)),
                color=DARK,
            ),
        ]
    for side, out in (("0.15*w", "0.24*w"), ("-0.15*w", "-0.24*w")):
        shoulder, elbow = _aside(_place(0.37, 1.56), side), _aside(_place(0.31, 1.22), out)
        hand = _aside(_place(0.46, 1.08), side)
        parts += [
            _tube(shoulder, elbow, "0.042*w", TEAL),
            Sphere(radius="0.042*w", frame=Placement(position=elbow), color=TEAL),
            _tube(elbow, hand, "0.036*w", _SKIN),
        ]
    return tuple(parts)


def _front_frame() -> tuple[AbstractShape, ...]:
    """Fork, stem and handlebar; the axis goes through the origin."""
    crown, stem = _on_axis("0", "0", 0.84), _on_axis("0", "0", 1.12)
    parts = [_tube(crown, stem, "0.014*w", RED)]
    for side in ("0.05*w", "-0.05*w"):
        parts.append(_tube(_aside(crown, side), ("-c", side, "rF"), "0.014*w", RED))
    parts.append(_tube(_aside(crown, "-0.06*w"), _aside(crown, "0.06*w"), "0.02*w", RED))
    parts.append(_tube(_aside(stem, "-0.27*w"), _aside(stem, "0.27*w"), "0.014*w", RED))
    for side in ("0.27*w", "-0.27*w"):
        end = _aside(stem, side)
        back: _Point = (f"{end[0]} - 0.16*w", side, f"{end[2]} - 0.02*w")
        parts.append(_tube(end, back, "0.02*w", DARK))
    return tuple(parts)


def _wheel(radius: str) -> tuple[AbstractShape, ...]:
    """Tire, hub, spokes and a mark on the rim that shows the spin."""
    across = Placement(angles=(pi / 2, 0.0, 0.0))
    tire = Ring(radius=f"0.96*{radius}", tube_radius=f"0.04*{radius}", frame=across)
    hub = Cylinder(radius=f"0.1*{radius}", length=f"0.25*{radius}", frame=across, color=METAL)
    spokes = (
        Box(
            size=(f"1.9*{radius}", f"0.02*{radius}", f"0.02*{radius}"),
            frame=Placement(angles=(0.0, k * pi / 6, 0.0)),
            color=LIGHT,
        )
        for k in range(6)
    )
    mark = Box(
        size=(f"0.16*{radius}", f"0.1*{radius}", f"0.22*{radius}"),
        frame=Placement(position=(f"0.86*{radius}", 0.0, 0.0)),
        color=ORANGE,
    )
    return (tire, hub, *spokes, mark)


def _place(forward: float, height: float) -> _Point:
    """A point of the rear frame: forward in wheel bases, height above the ground in -zB."""
    return (f"{forward}*w", 0.0, f"{-height}*zB - rR")


def _on_axis(forward: str, ground: str, height: float) -> _Point:
    """The point of the steer axis at that height, in -zB, above where it meets the ground."""
    return (f"{forward} + {height}*zB*tan(lam)", 0.0, f"{ground} - {height}*zB")


def _aside(point: _Point, side: Scalar) -> _Point:
    """The same point, moved to the left."""
    return (point[0], side, point[2])


def _tube(start: _Point, end: _Point, radius: str, color: str) -> Cylinder:
    """A round tube from a point to another: R = Rx(a) Ry(b) turns z towards its end."""
    x, y, z = (f"(({b}) - ({a}))" for a, b in zip(start, end, strict=True))
    middle = tuple(f"(({a}) + ({b}))/2" for a, b in zip(start, end, strict=True))
    return Cylinder(
        radius=radius,
        length=f"sqrt({x}^2 + {y}^2 + {z}^2)",
        frame=Placement(
            position=(middle[0], middle[1], middle[2]),
            angles=(f"atan2(-{y}, {z})", f"atan2({x}, sqrt({y}^2 + {z}^2))", 0.0),
        ),
        color=color,
    )


def hills(step: float, columns: int, rows: int, origin: tuple[float, float]) -> GridGround:
    """Gentle hills as one would measure them, to the millimeter."""
    x = [origin[0] + step * k for k in range(columns)]
    y = [origin[1] + step * k for k in range(rows)]
    heights = [
        round(0.22 * sin(0.55 * a) * cos(0.45 * b) + 0.06 * sin(0.9 * b), 3) for b in y for a in x
    ]
    return GridGround(heights=tuple(heights), columns=columns, step=step, origin=origin)


def bicycle_on_hills() -> Model:
    """The bicycle of `whipple-bicycle` with both wheels on the hills."""
    model = whipple_bicycle()
    ground = hills(1.5, 11, 6, (-1.5, -3.75))
    contacts = tuple(
        dataclasses.replace(contact, ground=ground)
        for contact in model.contacts
        if isinstance(contact, Rolling)
    )
    return dataclasses.replace(
        model,
        name="bicycle-on-hills",
        description="The benchmark bicycle over hills from a grid of measured heights",
        contacts=contacts,
        scenario=Scenario(
            duration=2.0,
            samples=201,
            start={
                "speed": 5.0,
                "frame.x": 0.0,
                "frame.y": 0.0,
                "frame.yaw": 0.0,
                "frame.lean": 0.0,
            },
            description="Coasting over hills without hands at 5 m/s",
        ),
    )


def vehicle_on_hills() -> Model:
    """Two driven wheels behind, one steered wheel in front, all with round tires.

    R = Rz(yaw) Ry(pitch) Rx(roll), x forward, the origin between the rear wheels. On hills two
    wheels on one axle cannot both roll without sliding sideways, so the right one may.
    """
    b = ModelBuilder(
        name="vehicle-on-hills",
        gravity=(0.0, 0.0, "-g"),
        description="A three-wheeled vehicle that drives over hills from a grid of heights",
        references=("ChakrabortyGhosal2004",),
    )
    b.parameter("w", 1.2, "m", "wheel base")
    b.parameter("track", 0.8, "m", "distance between the rear wheels", "b")
    b.parameter("r", 0.25, "m", "radius of the wheels, tires included")
    b.parameter("tire", 0.05, "m", "radius of the tires", "r_t")
    b.parameter("m", 120.0, "kg", "mass of the frame")
    b.parameter("m_wheel", 4.0, "kg", "mass of a wheel", "m_w")
    b.parameter("height", 0.2, "m", "mass center above the axle", "h")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.body(
        "frame",
        mass="m",
        inertia=("m*track^2/12", "m*w^2/8", "m*w^2/8"),
        center_of_mass=("0.35*w", 0.0, "height"),
        shapes=(
            box(("0.75*w", "0.6*track", "0.12*w"), ("0.3*w", 0.0, "0.12*w"), BLUE),
            box(("0.45*w", "0.16*track", "0.1*w"), ("0.82*w", 0.0, "0.28*w"), BLUE),
            box(("0.06*w", "track", "0.06*w"), (0.0, 0.0, 0.0), METAL),
        ),
    )
    wheel = ("m_wheel*r^2/4", "m_wheel*r^2/2", "m_wheel*r^2/4")
    for name in ("left", "right", "front"):
        b.body(name, mass="m_wheel", inertia=wheel, shapes=wheel_shapes("r", "1.4*tire", "y"))
    b.body(
        "fork",
        mass=5.0,
        inertia=(0.1, 0.1, 0.05),
        shapes=(box(("0.05*w", "0.05*w", "0.3*w"), (0.0, 0.0, "0.15*w"), METAL),),
    )
    b.joint(
        "frame",
        Free(angles=Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
        parent="world",
        child="frame",
        description="middle of the rear axle and orientation",
    )
    for name, side in (("left", "track/2"), ("right", "-track/2")):
        b.joint(
            name,
            Revolute(axis=(0.0, 1.0, 0.0)),
            parent="frame",
            child=name,
            parent_frame=Placement(position=(0.0, side, 0.0)),
            description=f"spin of the {name} wheel, positive rolls forward",
        )
    b.joint(
        "steer",
        Revolute(axis=(0.0, 0.0, 1.0)),
        parent="frame",
        child="fork",
        parent_frame=Placement(position=("w", 0.0, 0.0)),
        description="steering, positive to the left",
    )
    b.joint(
        "front",
        Revolute(axis=(0.0, 1.0, 0.0)),
        parent="fork",
        child="front",
        description="spin of the front wheel, positive rolls forward",
    )
    ground = hills(1.5, 10, 6, (-1.5, -3.75))
    tire = Torus(radius="r - tire", tube_radius="tire", axis=(0.0, 1.0, 0.0))
    for name in ("left", "right", "front"):
        b.contact(
            Rolling(
                name=f"on_{name}", body=name, wheel=tire, ground=ground, lateral=name != "right"
            )
        )
    b.input("left_torque", "N*m", "motor torque on the left wheel", "τ_l")
    b.input("right_torque", "N*m", "motor torque on the right wheel", "τ_r")
    b.force(Motor(name="left_motor", speed="left.rate", input="left_torque"))
    b.force(Motor(name="right_motor", speed="right.rate", input="right_torque"))
    b.speed_input("steering", "steer.rate", "rate of steering", "w_s")
    b.independent_speed("speed", "r*left.rate", "m/s", "v")
    b.scenario(
        Scenario(
            duration=3.5,
            samples=251,
            start={
                "speed": 2.0,
                "frame.x": 0.0,
                "frame.y": 1.0,
                "frame.yaw": -0.3,
                "steer.angle": 0.0,
            },
            inputs={
                "left_torque": "4 + 6*sin(t)",
                "right_torque": "4 + 6*sin(t)",
                "steering": "0.35*cos(1.5*t)",
            },
            description="Driving over the hills on a winding way",
        )
    )
    return b.build()
