"""The longitudinal direction of a contact is wheel axis × normal, of surfaces with an axis."""

import dataclasses

import numpy as np
import pytest

import noslip as ns
from noslip.base import members_of
from noslip.surfaces import AbstractSurface

AXIS = np.array([0.6, 0.0, 0.8])
SURFACES = {
    "disk": ns.surfaces.Disk(radius=0.1, axis=tuple(AXIS)),
    "torus": ns.surfaces.Torus(radius=0.1, tube_radius=0.03, axis=tuple(AXIS)),
    "cylinder": ns.surfaces.CylinderSurface(radius=0.1, axis=tuple(AXIS)),
    "cone": ns.surfaces.ConeSurface(radius=0.1, length=0.3, axis=tuple(AXIS)),
}
GROUNDS = {
    "plane": ns.grounds.FlatGround(),
    "dome": ns.grounds.SphereGround(radius=2.0),
    "rail": ns.grounds.CylinderGround(radius=1.5),
    "hill": ns.grounds.HeightGround(z="0.1*x^2 - 0.2*x*y"),
}


def test_every_surface_with_an_axis_is_here():
    own = [kind for kind in members_of(AbstractSurface) if kind.__module__.startswith("noslip.")]
    with_axis = {k.word for k in own if "axis" in {f.name for f in dataclasses.fields(k)}}
    assert with_axis == set(SURFACES)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("surface", SURFACES)
def test_longitudinal_is_axis_times_normal(surface, ground, rng):
    if ground == "plane" and surface in ("cylinder", "cone"):
        pytest.skip("touches along a line")
    b = ns.ModelBuilder(name="bar", gravity=(0, 0, -9.81))
    b.body("bar", mass=1.0, inertia=(0.01, 0.02, 0.02))
    b.joint("bar", ns.joints.Free(), parent="world", child="bar")
    frame = ns.Placement(angles=(0.2, -0.3, 0.4))
    b.contact(
        ns.contacts.Rolling(
            name="c", body="bar", wheel=SURFACES[surface], ground=GROUNDS[ground],
            plane=ns.contacts.Plane(frame=frame),
        )
    )  # fmt: skip
    system = ns.compile(ns.derive(b.build()))
    n = 5
    x = np.zeros((n, system.num_states))
    x[:, : len(system.coordinates)] = rng.uniform(-0.5, 0.5, (n, len(system.coordinates)))
    names = [c.name for c in system.coordinates]
    places = [names.index(f"bar.q{k}") for k in "wxyz"]
    x[:, places] /= np.linalg.norm(x[:, places], axis=1, keepdims=True)
    at = (np.zeros(n), x, np.zeros((n, 0)), system.parameters())
    _, ahead, aside, normal = system.contact_axes.map(*at).reshape(n, 4, 3).transpose(1, 0, 2)
    R = system.poses.map(*at)[:, :9].reshape(n, 3, 3)
    expected = np.cross(R @ AXIS, normal)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert ahead == pytest.approx(expected, abs=1e-12)
    assert aside == pytest.approx(np.cross(normal, ahead), abs=1e-12)
