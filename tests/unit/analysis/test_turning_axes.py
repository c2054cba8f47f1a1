"""Frequencies about a motion that spins are seen in axes that turn with it, and that is said.

A ball that spins by N at the bottom of a spherical bowl, with ρ the way of its center from the
bowl's and ξ = x + iy, in the world:

    ξ̈ + i (2/7)(r/ρ) N ξ̇ + (5/7)(g/ρ) ξ = 0
"""

import numpy as np
import pytest

import noslip as ns

BOWL, RADIUS, G = 0.5, 0.1, 9.81


def ball():
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, -G))
    b.body("w", mass=1.0, inertia=(0.4 * RADIUS**2,) * 3)
    b.joint("w", ns.joints.Free(), parent="world", child="w")
    bowl = ns.grounds.SphereGround(radius=BOWL, inside=True)
    b.contact(
        ns.contacts.Rolling(name="c", body="w", wheel=ns.surfaces.Ball(radius=RADIUS), ground=bowl)
    )
    return ns.compile(ns.derive(b.build()))


@pytest.mark.parametrize("spin", [30.0, -300.0])
def test_frequencies_in_turning_axes_are_those_of_the_world_and_the_turn(spin):
    way = BOWL - RADIUS
    world = np.roots([1.0, 2 / 7 * RADIUS / way * spin, -5 / 7 * G / way])  # Ω, ξ = exp(iΩt)
    found = ns.linearize(ball(), {"w.x": 0, "w.y": 0, "w.z": -way, "w.wz": spin})
    ((name, rate),) = found.turning.items()
    assert rate == pytest.approx(spin, rel=1e-9)
    seen = sorted(2 * np.pi * mode.frequency for mode in found.modes if mode.is_oscillating)
    assert seen == pytest.approx(sorted(np.abs(world - rate)), rel=1e-8)
    (line,) = found.axes_notes
    assert line in found.text() and f"{name} at {spin:.6g} rad/s" in line
    assert f"{abs(spin) / (2 * np.pi):.4g}" in line
    assert found.to_json()["turning"] == found.turning


def test_axes_that_stand_still_are_not_mentioned(system_of):
    still = ns.linearize(ball(), {"w.x": 0, "w.y": 0, "w.z": RADIUS - BOWL})
    assert still.turning == {} and still.axes_notes == ()
    straight = ns.linearize(system_of("whipple-bicycle"), {"speed": 5.0})
    assert straight.axes_notes == () and "axes  " not in straight.text()
