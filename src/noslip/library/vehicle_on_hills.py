"""A three-wheeled vehicle on hilly ground that was measured on a grid."""

from __future__ import annotations

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.forces import Motor
from noslip.joints import Angles, Free, Revolute
from noslip.surfaces import Torus
from noslip.library.bicycle_on_hills import hills
from noslip.model import BLUE, METAL, box, wheel_shapes


def build() -> Model:
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
