"""A steered vehicle with a steering rate as its input, against the kinematic bicycle."""

import numpy as np
import pytest

import noslip as ns

WHEELBASE, RADIUS = 1.6, 0.3


@pytest.fixture(scope="module")
def run(system_of):
    return ns.simulate(
        system_of("car"),
        duration=6.0,
        start={"rear.rate": 10.0},
        inputs={"drive": "2*sin(t)", "steering": "0.5*cos(1.3*t)"},
        samples=121,
        rtol=1e-12,
        atol=1e-12,
        reactions=True,
    )


def test_steering_angle_is_the_integral_of_its_rate(run):
    assert run["steer.rate"] == pytest.approx(0.5 * np.cos(1.3 * run.t), abs=1e-14)
    assert run["steer.angle"] == pytest.approx(0.5 / 1.3 * np.sin(1.3 * run.t), abs=1e-11)
    assert run["steering_rate"] == pytest.approx(-0.65 * np.sin(1.3 * run.t), abs=1e-14)


def test_car_turns_like_the_kinematic_bicycle(run):
    """ψ̇ = v tan δ / l, the rear wheel does not slip sideways, wheels roll."""
    v, delta = run["body.vx"], run["steer.angle"]
    assert run["body.rate"] == pytest.approx(v * np.tan(delta) / WHEELBASE, abs=1e-12)
    assert run["body.vy"] == pytest.approx(0.0, abs=1e-13)
    assert run["rear.rate"] * RADIUS == pytest.approx(v, abs=1e-12)
    assert run["front.rate"] * RADIUS == pytest.approx(v / np.cos(delta), abs=1e-12)


def test_motor_and_steering_account_for_all_energy(run):
    assert np.ptp(run.work) > 1.0
    assert run.energy_drift < 1e-11


def test_torque_of_the_steering_is_inertia_times_its_rate(system_of):
    """At rest and straight ahead, fork and wheel are turned about the steering axis alone."""
    here = ns.evaluate(system_of("car"), {}, inputs={"steering_rate": 3.0})
    assert here.multipliers["steering"] == pytest.approx((0.05 + 0.05) * 3.0, rel=1e-13)
    assert here.accelerations["body.vx"] == pytest.approx(0.0, abs=1e-14)
    assert here.accelerations["steer.rate"] == pytest.approx(3.0, rel=1e-14)


def test_straight_car_accelerates_with_its_equivalent_mass(system_of):
    here = ns.evaluate(system_of("car"), {"rear.rate": 5.0}, inputs={"drive": 4.0})
    mass = 30.0 + 2 * 2.0 + 2 * 0.09 / RADIUS**2
    assert here.accelerations["body.vx"] == pytest.approx(4.0 / RADIUS / mass, rel=1e-13)
