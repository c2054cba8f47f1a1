"""Power and energy of inputs: their sum is the work that the run carries as a state."""

import math

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, cumulative_trapezoid

import noslip as ns
from noslip.simulation.samples import integrated


def test_power_of_a_motor_is_torque_times_rate(system_of):
    agv = system_of("agv")
    run = ns.track(agv, ns.paths.Circle(radius=2.0), timing=ns.timing.Quintic(20.0))
    for k in (1, 2):
        by_hand = run[f"torque{k}"] * run[f"wheel{k}.rate"]
        assert np.max(np.abs(np.abs(run[f"power.torque{k}"]) - np.abs(by_hand))) < 1e-12
    spent = run["energy.torque1"] + run["energy.torque2"]
    # nothing else does work; Simpson's rule over 601 samples of a smooth power
    assert np.max(np.abs(spent - run.work)) < 1e-6 * np.max(np.abs(run.work))
    assert abs(spent[-1]) < 1e-6 * np.max(spent)  # from rest to rest on the level


def test_speeds_that_are_given_do_work_too(system_of):
    car = system_of("ackermann-car")
    run = ns.track(car, ns.paths.Sine(amplitude=2.0, wave_number=0.2, extent=30.0))
    spent = run["energy.rear.torque"] + run["energy.front.steering_rate"]
    assert np.max(np.abs(run["power.front.steering_rate"])) > 0
    assert np.max(np.abs(spent - run.work)) < 1e-6 * np.max(np.abs(run.work))


def test_rms_and_peak_have_closed_forms(system_of):
    """u = sin t over whole turns: 1/√2 and 1."""
    arm = system_of("manipulator-2r")
    run = ns.simulate(
        arm,
        duration=2 * math.pi,
        start={"joint1.angle": -math.pi / 2},
        inputs={"tau1": "sin(t)", "tau2": 0.0},
        samples=2001,
    )
    use = run.input_use()
    assert abs(use["tau1"].rms - 1 / math.sqrt(2)) < 1e-6
    assert abs(use["tau1"].peak - 1.0) < 1e-5 and use["tau2"] == ("N*m", 0.0, 0.0, 0.0)
    spent = run["energy.tau1"] + run["energy.tau2"]
    assert np.max(np.abs(spent - run.work)) < 1e-6 * max(1.0, np.max(np.abs(run.work)))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 40, 41])
def test_energies_are_cumulative_integrals_over_uneven_samples(count, rng):
    t = np.cumsum(rng.uniform(0.1, 1.0, count))
    rates = rng.normal(size=(count, 3))
    rule = {"x": t, "axis": 0, "initial": 0.0}
    by_scipy = (cumulative_simpson if count > 2 else cumulative_trapezoid)(rates, **rule)
    # sums of as many terms, rounded each
    assert np.max(np.abs(integrated(t, rates) - by_scipy)) < count * 4e-16 * np.max(np.abs(rates))


def test_energies_of_a_quadratic_power_are_exact_and_repeated_times_add_nothing():
    t = np.array([0.0, 0.3, 1.0, 1.1, 2.0])
    assert integrated(t, (3.0 * t**2)[:, None])[:, 0] == pytest.approx(t**3, abs=1e-14)
    t, rates = np.array([0.0, 1.0, 1.0, 2.0]), np.array([[1.0], [1.0], [3.0], [3.0]])
    assert integrated(t, rates)[:, 0].tolist() == [0.0, 1.0, 1.0, 4.0]  # a jump at t = 1
    assert integrated(t[:1], rates[:1]).tolist() == [[0.0]]
