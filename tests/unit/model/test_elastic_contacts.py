"""Elastic contacts against statics, energy and bouncing; wheels whose rollers are bodies."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import noslip as ns

G = 9.81


def ball(**more):
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, -G))
    b.body("ball", mass=2.0, inertia=(0.008, 0.008, 0.008))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    surface = ns.surfaces.Ball(radius=0.1)
    b.force(ns.forces.ElasticContact(name="c", body="ball", wheel=surface, stiffness=2e4, **more))
    return ns.compile(ns.derive(b.build()))


def test_a_ball_bounces_as_a_mass_on_a_spring_while_it_touches():
    """Without damping it comes back to its height, and it touches for half a swing and a bit."""
    system = ball()
    height, w = 0.3, math.sqrt(2e4 / 2.0)
    fall = math.sqrt(2 * height / G)
    # δ = A sin(ωt + φ) + g/ω² about the depth at rest
    touching = (math.pi + 2 * math.atan(G / w / math.sqrt(2 * G * height))) / w
    period = 2 * fall + touching
    how = {"max_step": 1e-3, "rtol": 1e-11, "atol": 1e-12}
    run = ns.simulate(system, duration=period, start={"ball.z": 0.1 + height}, **how)
    assert run["ball.z"][-1] == pytest.approx(0.1 + height, abs=1e-7)
    assert run["ball.vz"][-1] == pytest.approx(0.0, abs=1e-6)
    assert run.energy_drift < 1e-9


def test_damping_and_friction_only_take_energy():
    system = ball(damping=0.5, friction=0.3)
    start = {"ball.z": 0.15, "ball.vx": 1.0, "ball.wy": -5.0}
    run = ns.simulate(system, duration=1.0, start=start, max_step=1e-3)
    energy = run["kinetic_energy"] + run["potential_energy"]
    assert np.all(np.diff(energy) < 1e-7) and energy[-1] < 0.9 * energy[0]
    assert run.energy_drift < 1e-7


def parting(stiffness):
    """A ball without weight, which leaves its floor along z faster than the floor follows."""
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, 0.0))
    b.body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.joint("up", ns.joints.Prismatic(axis=(0, 0, 1)), parent="world", child="ball")
    pressed = {"wheel": ns.surfaces.Ball(radius=0.1), "stiffness": stiffness, "damping": 2.0}
    b.force(ns.forces.ElasticContact(name="floor", body="ball", **pressed))
    return ns.compile(ns.derive(b.build()))


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("speed", [0.5, 1.0, 3.7])
@pytest.mark.parametrize("stiffness", [50.0, 2e3])
def test_what_was_stored_is_lost_without_a_force(stiffness, speed, tolerance):
    """The ball moves uniformly, where d v ≥ 1 there is no force: W = U(t) − U(0), in every run."""
    system, depth = parting(stiffness), 0.1
    given = {"duration": 0.37, "rtol": tolerance, "atol": tolerance}
    start = {"up.position": 0.1 - depth, "up.speed": speed}
    run = ns.simulate(system, start=start, samples=38, **given)
    left = stiffness * np.maximum(depth - speed * run.t, 0.0) ** 2 / 2
    enough = 100 * tolerance * max(1.0, left[0])
    assert run["up.position"] == pytest.approx(speed * run.t, abs=1e-12)
    assert run.work[-1] == pytest.approx(left[-1] - left[0], abs=enough)
    assert run.work == pytest.approx(left - left[0], abs=10 * enough)
    batch = ns.simulate_batch(system, start=start, count=3, columns=["work"], **given)
    assert batch.final["work"] == pytest.approx(left[-1] - left[0], abs=enough)


def test_five_formulations_and_faults():
    assert ns.verify(ball(damping=0.5, friction=0.3).model).worst < 1e-12
    b = ns.ModelBuilder.from_model(ball().model)
    egg = ns.surfaces.RevolvedSurface(profile="0.1*sqrt(1 - z^2)", lower=-0.9, upper=0.9)
    b.force(ns.forces.ElasticContact(name="d", body="ball", wheel=egg, stiffness=2e4))
    b.force(
        ns.forces.ElasticContact(
            name="e", body="world", wheel=ns.surfaces.Ball(radius=0.1), stiffness=2e4
        )
    )
    with pytest.raises(ns.ModelError) as error:
        b.build()
    assert "has no closed form" in str(error.value)
    assert "presses 'world' against itself" in str(error.value)


R, ROLLERS, K = 0.1, 8, 2e5


def rig(angle, rollers=ROLLERS, **more):
    """A wheel under a mast that moves along all three axes and does not turn."""
    b = ns.ModelBuilder(name="rig", gravity=(0.0, 0.0, -G))
    parent = "world"
    for name, axis in (("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)), ("z", (0.0, 0.0, 1.0))):
        b.body(name, mass=2.0, inertia=(0.01, 0.01, 0.01))
        b.joint(name, ns.joints.Prismatic(axis=axis), parent=parent, child=name)
        parent = name
    wheel = {"name": "w", "parent": "z", "position": (0.0, 0.0, R), "radius": R, "mass": 1.0}
    rolling = {"rollers": rollers, "stiffness": K, "roller_mass": 0.1 if rollers else 0.0}
    b.part(ns.parts.MecanumWheel(roller_angle=angle, **wheel, **rolling, **more))
    return b


def depth_of(angle, phi):
    """How far below the hub a roller reaches whose middle is at an angle phi from straight down."""
    r = 0.15 * R
    long = math.sqrt(r * R) / math.sin(angle)
    # components of straight down along the roller's axis, across it, and outward
    along, out = math.sin(phi) * math.sin(angle), math.cos(phi)
    across = math.sin(phi) * math.cos(angle)
    reach = math.sqrt((long * along) ** 2 + r**2 * (across**2 + out**2))
    return (R - r) * out + reach


@pytest.mark.parametrize("angle", [math.pi / 2, math.pi / 4])
def test_a_wheel_hops_from_roller_to_roller(angle):
    """Slowly turned, its hub is where the springs of the rollers that touch carry it."""
    b = rig(angle, friction=0.0, contact_damping=10.0)
    b.speed_input("turn", "w.rate")
    system = ns.compile(ns.derive(b.build()))
    weight = (2.0 + 1.0 + ROLLERS * 0.1) * G
    start = {"z.position": -weight / K}
    run = ns.simulate(
        system, duration=4.0, start=start, inputs={"turn": 0.25}, rtol=1e-7, atol=1e-9
    )

    def height(theta):
        depths = [depth_of(angle, theta + 2 * math.pi * k / ROLLERS) for k in range(ROLLERS)]
        return brentq(
            lambda h: K * sum(max(d - h, 0.0) for d in depths) - weight, R - 0.01, R + 0.01
        )

    expected = np.array([height(theta) for theta in run["w.angle"]]) - R
    bump = np.ptp(expected)
    assert bump > 3e-4
    # it swings a little where it lands on the next roller
    assert run["z.position"][20:] == pytest.approx(expected[20:], abs=0.01 * bump)


def test_rollers_hold_along_their_axes_as_the_ideal_row_does():
    """f sin γ + w cos γ is held: v_x sin γ + v_y cos γ = r ω sin γ, but for creep."""
    system = ns.compile(ns.derive(rig(math.pi / 4, contact_damping=10.0).build()))
    how = {"duration": 1.0, "inputs": {"w.torque": 0.3}, "rtol": 1e-6, "atol": 1e-8}
    run = ns.simulate(system, start={"z.position": -0.0002}, **how)
    c = math.sqrt(0.5)
    slip = c * run["x.speed"] + c * run["y.speed"] - R * c * run["w.rate"]
    # creep v0 x/√(1 − x²) at the share x of friction in use; twice that, since loads dip at hops
    used = 0.3 / (R * c) / (0.8 * (2.0 + 1.0 + ROLLERS * 0.1) * G)
    assert np.mean(np.abs(slip[50:])) < 2 * 0.05 * used / math.sqrt(1 - used**2)
    # the ground pushes along the rollers only, whose axes tilt by up to half a share of the rim
    mass, tilt = 4.0 + 1.0 + ROLLERS * 0.1, 1 - math.cos(math.pi / ROLLERS)
    assert (mass + 2.0) * run["x.speed"][-1] == pytest.approx(mass * run["y.speed"][-1], rel=tilt)


def test_rollers_without_stiffness_mass_or_a_base_that_moves_are_told_in_words_of_the_wheel():
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -G))
    b.part(ns.parts.Base(name="base", mass=12.0, size=(0.4, 0.3, 0.1), position=(0.0, 0.0, 0.2)))
    wheel = {"parent": "base", "position": (0.0, 0.0, 0.1), "radius": 0.1, "mass": 0.8}
    b.part(ns.parts.OmniWheel(name="w", rollers=8, **wheel))
    with pytest.raises(ns.ModelError) as error:
        b.build()
    said = str(error.value)
    assert "has rollers as bodies and no stiffness of their contact" in said
    assert "has rollers as bodies without mass" in said
    assert "which has a fixed height" in said
