"""Steady motions along ground that is the same all along: a pipe, a rail, a ridge; closed forms."""

from math import pi, sqrt

import numpy as np
import pytest

import noslip as ns

#: The z axis of a ground along x of the world.
ALONG_X = ns.contacts.Plane(frame=ns.Placement(angles=(0.0, pi / 2, 0.0)))
G, SPEED = 9.81, 1.3
#: Rounding of a motion that is found to 1e-9, in frequencies of order ten.
CLOSE = 1e-7


def rolling(wheel, ground, plane=ALONG_X, inertia=(0.02, 0.04, 0.02)):
    b = ns.ModelBuilder(name="along", gravity=(0.0, 0.0, -G))
    b.body("w", mass=1.0, inertia=inertia)
    b.joint("w", ns.joints.Free(), parent="world", child="w")
    b.contact(ns.contacts.Rolling(name="c", body="w", wheel=wheel, ground=ground, plane=plane))
    return ns.compile(ns.derive(b.build()))


def frequencies(linear):
    """rad/s of all pairs of eigenvalues, which neither grow nor decay."""
    swinging = linear.eigenvalues[linear.eigenvalues.imag > 1e-3]
    assert np.all(np.abs(swinging.real) < CLOSE)
    return swinging.imag


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, SPEED])
def test_a_ball_swings_in_a_pipe_it_rolls_along(speed):
    pipe, ball, moment = 0.5, 0.1, 0.4 * 0.1**2
    system = rolling(
        ns.surfaces.Ball(radius=ball),
        ns.grounds.CylinderGround(radius=pipe, inside=True),
        inertia=(moment,) * 3,
    )
    start = {"w.y": 0.0, "w.z": ball - pipe, "w.wx": 0.0, "w.wy": speed / ball, "w.wz": 0.0}
    found = frequencies(ns.linearize(system, start))
    # 7/5 m a = −m g φ, with (pipe − ball) φ̈ = a; a point of the ball turns with the ball
    swing = sqrt(5 / 7 * G / (pipe - ball))
    assert sorted(found) == pytest.approx([swing, speed / ball] if speed else [swing], rel=CLOSE)


AXLE = (0.0, 1.0, 0.0)
WHEELS = {
    "disk": (ns.surfaces.Disk(radius=0.2, axis=AXLE), 0.2),
    "torus": (ns.surfaces.Torus(radius=0.2, tube_radius=0.05, axis=AXLE), 0.25),
    "cylinder": (ns.surfaces.CylinderSurface(radius=0.2, axis=AXLE), 0.2),
    "cylinder the other way": (ns.surfaces.CylinderSurface(radius=0.2, axis=(0.0, -1.0, 0.0)), 0.2),
}
GROUNDS = {
    "rail": (ns.grounds.CylinderGround(radius=0.5), ALONG_X, 0.5),
    "ridge": (ns.grounds.HeightGround(z="-y^2"), ns.contacts.Plane(), 0.0),
}
SOME = (("cylinder the other way", "rail"), ("disk", "ridge"))
CASES = [
    pytest.param(w, g, marks=() if (w, g) in SOME else pytest.mark.long)
    for w in WHEELS
    for g in GROUNDS
]


@pytest.mark.slow
@pytest.mark.parametrize(("wheel", "ground"), CASES)
def test_a_wheel_rolls_along_a_rail_as_its_run_does(wheel, ground):
    (surface, radius), (form, plane, top) = WHEELS[wheel], GROUNDS[ground]
    system = rolling(surface, form, plane)
    motion = ns.steady(
        system, {"w.y": 0.0, "w.z": top + radius, "w.wy": SPEED / radius}, guess={"w.x": 0.3}
    )
    linear = ns.linearize(system, motion.start)
    assert "w.x" in {q.name for q in linear.ignored}
    # a steady run: it moves on at its speed, and stays where it is across
    run = ns.simulate(system, start=motion.start, duration=0.3, samples=4)
    assert run["w.x"] - run["w.x"][0] == pytest.approx(SPEED * run.t, abs=1e-8)
    assert run["w.z"] == pytest.approx(top + radius, abs=1e-8)


@pytest.mark.slow
def test_a_conical_wheel_set_hunts_as_klingel_says():
    # cones with their tips outside on rails at ±half, of a radius that is small beside the gauge
    half, radius, slope, rail = 0.75, 0.45, 0.05, 0.02
    length = radius / slope
    b = ns.ModelBuilder(name="wheel-set", gravity=(0.0, 0.0, -G))
    b.body("set", mass=1000.0, inertia=(600.0, 80.0, 600.0))
    b.joint("set", ns.joints.Free(), parent="world", child="set")
    for name, side in (("left", 1.0), ("right", -1.0)):
        b.contact(
            ns.contacts.Rolling(
                name=name,
                body="set",
                wheel=ns.surfaces.ConeSurface(radius=radius, length=length, axis=(0.0, -side, 0.0)),
                center=(0.0, side * (half + length), 0.0),
                ground=ns.grounds.CylinderGround(radius=rail),
                plane=ns.contacts.Plane(
                    frame=ns.Placement(position=(0.0, side * half, 0.0), angles=(0.0, pi / 2, 0.0))
                ),
                lateral=side > 0,
            )
        )
    system = ns.compile(ns.derive(b.build()))
    guess = {"set.z": radius + rail, "left.wheel_angle": pi, "right.wheel_angle": 0.0}
    for name in ("left", "right"):
        guess |= {f"{name}.angle": pi, f"{name}.wheel_along": length}
    start = ns.complete_start(
        system,
        {"set.y": 0.0, "set.qx": 0.0, "set.qy": 0.0, "set.qz": 0.0, "set.wy": SPEED / radius},
        guess=guess,
    )
    found = frequencies(ns.linearize(system, start))
    # Klingel: ω = v √(slope / (half radius)), but for terms of slope² = 2.5e-3
    klingel = SPEED * sqrt(slope / (half * radius))
    assert found == pytest.approx([klingel], rel=2.5e-3)


@pytest.mark.slow
def test_named_angles_are_prescribed_in_a_pipe():
    """Coordinates in other angles are passed over; a rate and a heading are met where they can."""
    pipe, radius = 1.0, 0.25
    b = ns.ModelBuilder(name="named", gravity=(0.0, 0.0, -G))
    b.body("w", mass=1.0, inertia=(0.02, 0.04, 0.02))
    named = ns.joints.Angles(sequence="zxy", names=("yaw", "roll", "pitch"))
    b.joint("w", ns.joints.Free(angles=named), parent="world", child="w")
    ground = ns.grounds.CylinderGround(radius=pipe, inside=True)
    b.contact(
        ns.contacts.Rolling(
            name="c", body="w", wheel=WHEELS["torus"][0], ground=ground, plane=ALONG_X
        )
    )
    system = ns.compile(ns.derive(b.build()))
    given = {"w.yaw": 0.0, "w.pitch_rate": SPEED / radius}
    motion = ns.steady(system, given, guess={"w.y": 0.0, "w.z": radius - pipe})
    assert motion.values["w.pitch_rate"] == pytest.approx(SPEED / radius, rel=CLOSE)
    assert motion.rates["w.x"] == pytest.approx(SPEED, rel=CLOSE)
    assert motion.values["w.z"] == pytest.approx(radius - pipe, rel=CLOSE)
    # a quaternion is no value of any chart: it may be guessed, and the refusal says so
    turned = {"w.y": 0.0, "w.z": radius - pipe, "w.wy": SPEED / radius}
    with pytest.raises(ns.SimulationError, match=r"described by w\.yaw, w\.roll") as caught:
        ns.steady(system, turned | {"w.qw": 1.0})
    assert "guess={'w.qw': 1}" in caught.value.fix and "w.wx, w.wy, w.wz" in caught.value.fix
    again = ns.steady(system, turned, guess={"w.qw": 1.0})
    assert again.rates["w.x"] == pytest.approx(SPEED, rel=CLOSE)
