"""Bodies on curved ground against the oracle in maximal coordinates, which has no places."""

import numpy as np
import pytest
from comparison import Comparison

import noslip as ns

HILLS = ns.grounds.HeightGround(z="a*sin(2*x)*cos(y) + 0.2*x")
BOWL = ns.grounds.RevolvedGround(z="a*r^2 + 0.3*r^4")


def rolling(wheel, ground, *, is_carried=False, **rows):
    """A body on the ground, which may be part of a body that flies freely itself."""
    b = ns.ModelBuilder(name="pair", gravity=(0.3, 0.0, -9.81))
    b.parameter("a", 0.15, "m", "height of the ground")
    b.body("stone", mass=1.3, inertia=(0.02, 0.03, 0.025), center_of_mass=(0.01, -0.02, 0.015))
    b.joint("stone", ns.joints.Free(), parent="world", child="stone")
    plane = ns.contacts.Plane(frame=ns.Placement(position=(0.1, 0.0, 0.2), angles=(0.1, -0.2, 0.3)))
    if is_carried:
        b.body("dish", mass=5.0, inertia=(0.4, 0.5, 0.6), center_of_mass=(0.0, 0.1, -0.1))
        b.joint("dish", ns.joints.Free(), parent="world", child="dish")
        plane = ns.contacts.Plane(body="dish", frame=plane.frame)
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="stone", wheel=wheel, ground=ground, plane=plane, lift="keep", **rows
        )
    )
    return b.build()


def cart():
    """A frame on two wheels of different size on hills, as a bicycle without steering."""
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.parameter("a", 0.1, "m", "height of the ground")
    b.body("frame", mass=3.0, inertia=(0.1, 0.2, 0.15), center_of_mass=(0.1, 0.02, 0.3))
    b.joint("frame", ns.joints.Free(), parent="world", child="frame")
    for name, x, radius in (("rear", 0.0, 0.2), ("front", 0.6, 0.15)):
        b.body(name, mass=0.7, inertia=(0.01, 0.02, 0.01))
        b.joint(
            name,
            ns.joints.Revolute(axis=(0.0, 1.0, 0.0)),
            parent="frame",
            child=name,
            parent_frame=ns.Placement(position=(x, 0.0, radius)),
        )
        wheel = ns.surfaces.Torus(radius=radius - 0.03, tube_radius=0.03, axis=(0.0, 1.0, 0.0))
        b.contact(
            ns.contacts.Rolling(
                name=f"{name}_touch", body=name, wheel=wheel, ground=HILLS, lift="keep"
            )
        )
    return b.build()


PAIRS = {
    "ball on hills": lambda: rolling(ns.surfaces.Ball(radius=0.2), HILLS),
    "disk on hills": lambda: rolling(ns.surfaces.Disk(radius=0.2, axis=(0.0, 1.0, 0.2)), HILLS),
    "torus in a bowl": lambda: rolling(
        ns.surfaces.Torus(radius=0.2, tube_radius=0.05, axis=(0.0, 0.0, 1.0)), BOWL
    ),
    "ellipsoid on hills": lambda: rolling(ns.surfaces.Ellipsoid(size=(0.2, 0.15, 0.25)), HILLS),
    "ellipsoid slides sideways": lambda: rolling(
        ns.surfaces.Ellipsoid(size=(0.2, 0.15, 0.25)), HILLS, lateral=False
    ),
    "ball rolls without a load": lambda: rolling(ns.surfaces.Ball(radius=0.2), HILLS, normal=False),
    "ball in a carried bowl": lambda: rolling(ns.surfaces.Ball(radius=0.2), BOWL, is_carried=True),
    "disk on carried hills": lambda: rolling(
        ns.surfaces.Disk(radius=0.2, axis=(0.0, 1.0, 0.2)), HILLS, is_carried=True
    ),
    "ball in a sphere": lambda: rolling(
        ns.surfaces.Ball(radius=0.2),
        ns.grounds.SphereGround(radius=1.0, inside=True),
        is_carried=True,
    ),
    "ball on a pipe": lambda: rolling(
        ns.surfaces.Ball(radius=0.2), ns.grounds.CylinderGround(radius=0.5)
    ),
    "cart on hills": cart,
}


@pytest.mark.parametrize("name", PAIRS)
def test_instants_are_those_of_the_oracle(name):
    comparison = Comparison(PAIRS[name](), seed=1)
    found = comparison.at_states(2)
    assert found, "no state was found"
    assert all(d < 1e-10 for d in found.values()), found
    if name != "ball rolls without a load":
        forces = comparison.joint_forces(1)
        assert all(d < 1e-10 for d in forces.values()), forces


@pytest.mark.parametrize("name", ["disk on hills", "ball in a carried bowl"])
def test_motions_are_those_of_the_oracle(name):
    found = Comparison(PAIRS[name](), seed=3).motion()
    assert found and all(np.isfinite(d) and d < 1e-9 for d in found.values()), found
