"""A forklift, seen from the side, that brakes with a raised load: its rear lifts off."""

from __future__ import annotations

from math import pi

from noslip import Model, ModelBuilder, Placement, Scenario
from noslip.contacts import Rolling
from noslip.forces import Motor
from noslip.joints import Fixed, Planar, Revolute
from noslip.model import BLUE, DARK, ORANGE
from noslip.shapes import AbstractShape, Box, Cylinder
from noslip.surfaces import Disk


def _wheel() -> tuple[AbstractShape, ...]:
    """A tire with a mark that shows how it turns."""
    mark = Placement(position=("0.6*radius", 0.0, 0.0))
    return (
        Cylinder(radius="radius", length=0.5, color=DARK),
        Box(size=("0.35*radius", "0.2*radius", 0.52), frame=mark, color=BLUE),
    )


def braking_forklift() -> Model:
    """Truck with mast and load in a vertical plane, on a braked front and a free rear wheel.

    The planar joint's x is forward and its y up. The rear lifts off where the deceleration a has
    a h > g s, with h and s the height of the mass center and how far it is behind the front axle.
    """
    b = ModelBuilder(
        name="braking-forklift",
        gravity=(0.0, 0.0, "-g"),
        description="A forklift that brakes with a raised load: its rear lifts off and lands",
        references=("Moreau1988",),
    )
    b.parameter("wheelbase", 1.4, "m", "front axle to rear axle")
    b.parameter("mass", 1800.0, "kg", "of the truck, counterweight included")
    b.parameter("load", 600.0, "kg", "mass on the forks")
    b.parameter("height", 1.8, "m", "of the load's middle above the axles")
    b.parameter("wheel", 40.0, "kg", "mass of the wheels of an axle")
    b.parameter("radius", 0.25, "m", "of the wheels")
    b.parameter("mu", 0.8, "1", "friction on the ground", "\\mu")
    b.parameter("e", 0.0, "1", "restitution of the wheels")
    b.parameter("g", 9.81, "m/s^2", "gravity")
    b.input("brake", "N*m", "torque with which the front wheel is braked")
    b.body(
        "truck",
        mass="mass",
        inertia=(300.0, 650.0, 650.0),
        center_of_mass=("-0.75*wheelbase", 0.35, 0.0),
        shapes=(
            Box(
                size=("1.25*wheelbase", 0.6, 0.9),
                frame=Placement(position=("-0.55*wheelbase", 0.35, 0.0)),
                color=ORANGE,
            ),
            Box(
                size=(0.1, 2.4, 0.7),
                frame=Placement(position=(0.35, 1.15, 0.0)),
                color=DARK,
            ),
        ),
    )
    b.body(
        "pallet",
        mass="load",
        inertia=(60.0, 60.0, 60.0),
        shapes=(
            Box(size=(0.8, 0.7, 0.8), color="#8a7a66"),
            Box(
                size=(1.0, 0.05, 0.6),
                frame=Placement(position=(-0.05, -0.38, 0.0)),
                color=DARK,
            ),
        ),
    )
    b.joint(
        "truck",
        Planar(),
        parent="world",
        child="truck",
        parent_frame=Placement(position=(0.0, 0.0, "radius"), angles=(pi / 2, 0.0, 0.0)),
        description="of the front axle; its angle is the pitch, nose up",
    )
    b.joint(
        "pallet",
        Fixed(),
        parent="truck",
        child="pallet",
        parent_frame=Placement(position=(0.9, "height", 0.0)),
        description="holds the raised load on the mast",
    )
    for name, place, what in (("front", 0.0, "braked"), ("rear", "-wheelbase", "free")):
        b.body(
            name,
            mass="wheel",
            inertia=("wheel*radius^2/2", "wheel*radius^2/2", "wheel*radius^2/2"),
            shapes=_wheel(),
        )
        b.joint(
            name,
            Revolute(axis=(0.0, 0.0, 1.0)),
            parent="truck",
            child=name,
            parent_frame=Placement(position=(place, 0.0, 0.0)),
            description=f"{what} axle, both of its wheels",
        )
        wheel = Disk(radius="radius", axis=(0.0, 0.0, 1.0))
        b.contact(Rolling(name=name, body=name, wheel=wheel, friction="mu", restitution="e"))
    b.force(Motor(name="front.brake", speed="front.rate", input="brake"))
    b.scenario(
        Scenario(
            duration=3.0,
            samples=601,
            start={"truck.x": 0.0, "truck.vx": 4.5},
            inputs={"brake": "4200*(tanh((t-0.3)/0.03)-tanh((t-0.85)/0.03))/2"},
            contact="coulomb",
            description="It brakes hard from 4.5 m/s with 600 kg raised to 2 m, then lets go",
        )
    )
    return b.build()
