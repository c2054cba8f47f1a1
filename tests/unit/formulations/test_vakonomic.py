"""Vakonomic mechanics where there is little to solve."""

import pytest

import noslip as ns


@pytest.mark.parametrize("wind", [0.0, 3.0])
def test_a_sled_that_cannot_accelerate_is_verified(wind):
    """Two blades in one line let it go straight on alone: η̇ is zero as it is written."""
    b = ns.ModelBuilder(name="sled", gravity=(0.0, 0.0, -9.81))
    b.body("sled", mass=2.0, moment=0.5, center_of_mass=(0.1, 0.2, 0.0))
    b.joint("sled", ns.joints.Planar(), parent="world", child="sled")
    for name, x in (("rear", 0.0), ("front", 1.0)):
        blade = ns.contacts.KnifeEdge(
            name=name, body="sled", direction=(1.0, 0.0, 0.0), point=(x, 0.0, 0.0)
        )
        b.contact(blade)
    b.force(ns.forces.Wrench(name="wind", body="sled", force=(0.0, wind, 0.0), axes="body"))
    b.independent_speed("sled.vx")
    certificate = ns.verify(b.build())
    assert certificate.holds
    assert certificate.vakonomic < 1e-12
