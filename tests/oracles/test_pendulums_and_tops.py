"""Pendulums, oscillators, tops and free bodies against closed forms and equations by hand."""

import numpy as np
import pytest
from pendulums import (
    damped_oscillation,
    shaken_pendulum,
    smooth_friction_speed,
    steady_precession_spin,
)
from scipy.spatial.transform import Rotation

import noslip as ns

TIGHT = {"rtol": 1e-13, "atol": 1e-13}
#: What is left of it after some seconds.
INTEGRATED = 1e-10
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def compiled(model):
    return ns.compile(ns.derive(model))


def slider(*forces, mass=1.5, inputs=()):
    """A mass on a slide along x with the given forces."""
    b = ns.ModelBuilder(name="slider", gravity=(0.0, 0.0, -9.81))
    b.body("block", mass=mass, inertia=(0.1, 0.1, 0.1))
    b.joint("slide", ns.joints.Prismatic(axis=X), parent="world", child="block")
    for name in inputs:
        b.input(name, "N")
    for force in forces:
        b.force(force)
    return compiled(b.build())


@pytest.fixture(scope="module")
def shaken(system_of):
    return ns.simulate(
        system_of("shaken-pendulum"),
        duration=4.0,
        start={"swing.angle": 1.0, "swing.rate": 0.0},
        samples=81,
        reactions=True,
        **TIGHT,
    )


class TestShakenPendulum:
    def test_motion(self, shaken):
        run = shaken
        theta, rate = shaken_pendulum(run.t, length=0.4, g=9.81, lift=0.05, w=9.0)
        assert run["swing.angle"] == pytest.approx(theta, abs=INTEGRATED)
        assert run["swing.rate"] == pytest.approx(rate, abs=10 * INTEGRATED)
        assert run["pivot.position"] == pytest.approx(0.05 * np.sin(9.0 * run.t), abs=1e-14)

    def test_force_that_holds_the_pivot(self, shaken):
        """N = (M + m)(g + z̈) + m l (θ̈ sin θ + θ̇² cos θ)."""
        run = shaken
        theta, rate = shaken_pendulum(run.t, length=0.4, g=9.81, lift=0.05, w=9.0)
        lift_rate2 = -0.05 * 81.0 * np.sin(9.0 * run.t)
        rate2 = -(9.81 + lift_rate2) / 0.4 * np.sin(theta)
        swing = rate2 * np.sin(theta) + rate**2 * np.cos(theta)
        force = (0.3 + 0.7) * (9.81 + lift_rate2) + 0.7 * 0.4 * swing
        assert run["reaction.pivot.position"] == pytest.approx(force, abs=100 * INTEGRATED)

    def test_work_of_the_pivot_is_the_energy_gained(self, shaken):
        """The work of the holding force, integrated along, accounts for all energy."""
        assert np.ptp(shaken.work) > 0.1
        assert shaken.energy_drift < 1e-11


def test_point_on_a_wire_swings_like_a_pendulum(system_of):
    """A circle written as an expression and a hinge give the same motion, over the top too."""
    on_wire = system_of("point-on-circle")
    b = ns.ModelBuilder(name="hinged", gravity=(0.0, -9.81, 0.0))
    b.body("bob", mass=1.3, moment=0.0, center_of_mass=(0.7, 0.0, 0.0))
    b.joint("hinge", ns.joints.Revolute(axis=Z), parent="world", child="bob")
    start = {"x.position": 0.7, "y.position": 0.0, "x.speed": 0.0, "y.speed": -4.5}
    wire = ns.simulate(on_wire, duration=3.0, start=start, samples=61, reactions=True, **TIGHT)
    hinge = ns.simulate(
        compiled(b.build()), duration=3.0, start={"hinge.rate": -4.5 / 0.7}, samples=61, **TIGHT
    )
    angle = hinge["hinge.angle"]
    assert np.ptp(angle) > 2 * np.pi
    assert wire["x.position"] == pytest.approx(0.7 * np.cos(angle), abs=1e-9)
    assert wire["y.position"] == pytest.approx(0.7 * np.sin(angle), abs=1e-9)
    # the wire pushes along the outward normal: λ = m (g sin φ − l φ̇²)
    force = 1.3 * (9.81 * np.sin(angle) - 0.7 * hinge["hinge.rate"] ** 2)
    assert wire["reaction.wire"] == pytest.approx(force, abs=1e-7)


class TestForces:
    def test_joint_spring_and_damper(self):
        spring = ns.forces.JointSpring(
            name="coil", coordinate="slide.position", stiffness=20.0, rest=0.3
        )
        damper = ns.forces.JointDamper(name="oil", speed="slide.speed", damping=0.8)
        start = {"slide.position": 0.8, "slide.speed": -0.4}
        run = ns.simulate(slider(spring, damper), duration=5.0, start=start, samples=51, **TIGHT)
        x, v = damped_oscillation(run.t, m=1.5, k=20.0, d=0.8, x=0.5, v=-0.4)
        assert run["slide.position"] == pytest.approx(0.3 + x, abs=INTEGRATED)
        assert run["slide.speed"] == pytest.approx(v, abs=INTEGRATED)

    def test_joint_friction(self):
        friction = ns.forces.JointFriction(
            name="dry", speed="slide.speed", level=2.0, smoothing=0.05
        )
        run = ns.simulate(
            slider(friction), duration=1.0, start={"slide.speed": 0.9}, samples=51, **TIGHT
        )
        v = smooth_friction_speed(run.t, m=1.5, level=2.0, smoothing=0.05, v=0.9)
        assert v[-1] < 1e-5
        assert run["slide.speed"] == pytest.approx(v, abs=INTEGRATED)

    def test_spring_between_bodies(self):
        """Two masses on one line: the center moves on, the distance oscillates at √(k/μ)."""
        b = ns.ModelBuilder(name="pair", gravity=(0.0, 0.0, -9.81))
        for name, mass in (("left", 0.9), ("right", 1.6)):
            b.body(name, mass=mass, inertia=(0.1, 0.1, 0.1))
            b.joint(name, ns.joints.Prismatic(axis=X), parent="world", child=name)
        b.force(
            ns.forces.Spring(
                name="coil",
                body="right",
                other_body="left",
                stiffness=30.0,
                rest_length=0.5,
                damping=0.7,
            )
        )
        start = {
            "left.position": 0.0,
            "right.position": 0.8,
            "left.speed": 0.4,
            "right.speed": -0.1,
        }
        run = ns.simulate(compiled(b.build()), duration=4.0, start=start, samples=41, **TIGHT)
        mu = 0.9 * 1.6 / 2.5
        x, _ = damped_oscillation(run.t, m=mu, k=30.0, d=0.7, x=0.3, v=-0.5)
        distance = run["right.position"] - run["left.position"]
        center = (0.9 * run["left.position"] + 1.6 * run["right.position"]) / 2.5
        assert distance == pytest.approx(0.5 + x, abs=INTEGRATED)
        moved = (1.6 * 0.8 + (0.9 * 0.4 - 1.6 * 0.1) * run.t) / 2.5
        assert center == pytest.approx(moved, abs=INTEGRATED)

    @pytest.mark.parametrize("axes", ["world", "body"])
    def test_wrench_on_a_spinning_body(self, axes):
        """A force fixed in the world is constant; one fixed in the body turns with it at ω."""
        b = ns.ModelBuilder(name="spinner", gravity=(0.0, 0.0, 0.0))
        b.body("disk", mass=2.0, inertia=(0.1, 0.1, 0.2))
        b.joint("disk", ns.joints.Planar(), parent="world", child="disk")
        b.input("push", "N")
        b.force(ns.forces.Wrench(name="jet", body="disk", force=("push", 0.0, 0.0), axes=axes))
        w, F, m = 3.0, 1.7, 2.0
        run = ns.simulate(
            compiled(b.build()),
            duration=2.0,
            start={"disk.rate": w},
            inputs={"push": F},
            samples=21,
            **TIGHT,
        )
        t = run.t
        z = run["disk.x"] + 1j * run["disk.y"]
        if axes == "world":
            expected = F / m * t**2 / 2 + 0j
        else:
            # z̈ = (F/m) e^{iωt}
            expected = F / (m * w**2) * (1 + 1j * w * t - np.exp(1j * w * t))
        assert z == pytest.approx(expected, abs=INTEGRATED)

    def test_moment_and_lever_of_a_wrench(self):
        """α = (M + x F)/I of a body on a pin."""
        b = ns.ModelBuilder(name="lever", gravity=(0.0, 0.0, 0.0))
        b.body("bar", mass=1.0, inertia=(0.1, 0.1, 0.5))
        b.joint("pin", ns.joints.Revolute(axis=Z), parent="world", child="bar")
        b.force(
            ns.forces.Wrench(
                name="hand",
                body="bar",
                force=(0.0, 2.0, 0.0),
                moment=(0.0, 0.0, 0.3),
                point=(0.4, 0.0, 0.0),
                axes="body",
            )
        )
        here = ns.evaluate(compiled(b.build()), {"pin.angle": 0.7, "pin.rate": 2.0})
        assert here.accelerations["pin.rate"] == pytest.approx((0.3 + 0.4 * 2.0) / 0.5, rel=1e-14)


class TestTop:
    WHEEL = {"m": 0.8, "h": 0.25, "I_t": 0.006, "I_a": 0.009, "g": 9.81}

    def test_steady_precession(self, system_of):
        precession = 2.0
        spin = steady_precession_spin(0.6, precession, **self.WHEEL)
        start = {"tip.nutation": 0.6, "tip.precession_rate": precession, "tip.spin_rate": spin}
        run = ns.simulate(system_of("top"), duration=2.0, start=start, samples=21, **TIGHT)
        assert run["tip.nutation"] == pytest.approx(0.6, abs=1e-9)
        assert run["tip.precession"] == pytest.approx(precession * run.t, abs=1e-8)

    def test_nutating_top_keeps_its_momenta(self, system_of):
        start = {"tip.nutation": 0.6, "tip.spin_rate": 60.0, "tip.nutation_rate": 1.0}
        run = ns.simulate(system_of("top"), duration=3.0, start=start, samples=61, **TIGHT)
        assert np.ptp(run["tip.nutation"]) > 0.05
        # about the axis, and about the vertical through the tip
        assert run["tip.wz"] == pytest.approx(run["tip.wz"][0], rel=1e-13)
        about_tip = 0.006 + 0.8 * 0.25**2
        L = np.column_stack(
            [about_tip * run["tip.wx"], about_tip * run["tip.wy"], 0.009 * run["tip.wz"]]
        )
        up = Rotation.from_quat(run.q[:, :4], scalar_first=True).apply(Z, inverse=True)
        vertical = np.sum(L * up, axis=1)
        assert vertical == pytest.approx(vertical[0], rel=1e-10)
        assert run.energy_drift < 1e-11


STONE = (0.02, 0.05, 0.06)


@pytest.fixture(scope="module")
def stone():
    b = ns.ModelBuilder(name="stone", gravity=(0.0, 0.0, -9.81))
    b.body("stone", mass=1.2, inertia=STONE, center_of_mass=(0.1, -0.2, 0.05))
    b.joint("flight", ns.joints.Free(), parent="world", child="stone")
    return compiled(b.build())


class TestFreeBody:
    def test_tumbling_keeps_angular_momentum_and_energy(self, stone):
        start = {"flight.wx": 0.1, "flight.wy": 6.0, "flight.wz": 0.2}
        run = ns.simulate(stone, duration=5.0, start=start, samples=51, **TIGHT)
        omega = run.v[:, :3]
        # it flips over: the middle axis is unstable
        assert np.min(omega[:, 1]) < -4.0
        turn = Rotation.from_quat(run.q[:, 3:7], scalar_first=True)
        L = turn.apply(omega * np.array(STONE))
        assert L == pytest.approx(np.tile(L[0], (len(L), 1)), abs=1e-10)
        assert run.energy_drift < 1e-11

    def test_mass_center_falls_freely(self, stone):
        start = {"flight.wx": 1.0, "flight.wy": 2.0, "flight.wz": -3.0, "flight.vx": 0.5}
        run = ns.simulate(stone, duration=2.0, start=start, samples=21, **TIGHT)
        turn = Rotation.from_quat(run.q[:, 3:7], scalar_first=True)
        place = run.q[:, :3] + turn.apply([0.1, -0.2, 0.05])
        velocity = np.array([0.5, 0.0, 0.0]) + np.cross([1.0, 2.0, -3.0], [0.1, -0.2, 0.05])
        fall = np.outer(run.t**2 / 2, [0.0, 0.0, -9.81])
        expected = np.array([0.1, -0.2, 0.05]) + np.outer(run.t, velocity) + fall
        assert place == pytest.approx(expected, abs=INTEGRATED)

    def test_symmetric_body_precesses_about_its_angular_momentum(self):
        """The axis turns about L at |L| / I_t, and ω about the axis at (1 − I_a/I_t) ω_a."""
        b = ns.ModelBuilder(name="plate", gravity=(0.0, 0.0, 0.0))
        b.body("plate", mass=1.0, inertia=(0.03, 0.03, 0.05))
        b.joint("flight", ns.joints.Free(), parent="world", child="plate")
        start = {"flight.wx": 0.8, "flight.wz": 5.0}
        run = ns.simulate(compiled(b.build()), duration=3.0, start=start, samples=31, **TIGHT)
        wobble = (0.05 / 0.03 - 1) * 5.0
        omega = run["flight.wx"] + 1j * run["flight.wy"]
        assert omega == pytest.approx(0.8 * np.exp(1j * wobble * run.t), abs=INTEGRATED)
        L = np.array([0.03 * 0.8, 0.0, 0.05 * 5.0])
        about_L = Rotation.from_rotvec(np.outer(run.t / 0.03, L))
        axis = Rotation.from_quat(run.q[:, 3:7], scalar_first=True).apply(Z)
        assert axis == pytest.approx(about_L.apply(Z), abs=INTEGRATED)
