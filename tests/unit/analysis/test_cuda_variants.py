"""Batches without a motion on a card of NVIDIA's: run where there is one, `pytest -m cuda`."""

import numpy as np
import pytest

import noslip as ns
from noslip.engines.cuda_driver import cuda_device

pytestmark = pytest.mark.cuda

N = 3000


@pytest.fixture(scope="module", autouse=True)
def card():
    try:
        return cuda_device()
    except ns.DeviceError as error:
        pytest.skip(error.what)


def both(call, *given, **named):
    return (call(*given, device=device, **named) for device in ("cpu", "cuda"))


def test_evaluate(system_of, rng):
    states = {"frame.lean": rng.uniform(-0.3, 0.3, N), "speed": rng.uniform(3.0, 6.0, N)}
    masses = {"mB": rng.uniform(80.0, 90.0, N)}
    system = system_of("whipple-bicycle")
    lanes, card = both(ns.evaluate_batch, system, states, parameters=masses)
    for name, values in lanes.accelerations.items():
        np.testing.assert_allclose(card.accelerations[name], values, rtol=1e-10, atol=1e-10)
    for name, values in lanes.multipliers.items():
        np.testing.assert_allclose(card.multipliers[name], values, rtol=1e-10, atol=1e-9)


def test_inverse_dynamics(system_of, rng):
    system = system_of("agv")
    states = {"wheel1.rate": rng.uniform(-8.0, -4.0, N), "wheel2.rate": -5.0}
    rates = {s.name: rng.uniform(-1.0, 1.0, N) for s in system.independent_speeds}
    lanes, card = both(ns.inverse_dynamics_batch, system, states, rates)
    for name, values in lanes.inputs.items():
        np.testing.assert_allclose(card.inputs[name], values, rtol=1e-10, atol=1e-10)


def test_linearize(system_of, rng):
    about = {"speed": rng.uniform(0.5, 9.5, N)}
    masses = {"mB": rng.uniform(80.0, 90.0, N)}
    lanes, card = both(
        ns.linearize_batch, system_of("whipple-bicycle"), about, parameters=masses, keep=["A"]
    )
    assert np.array_equal(lanes.is_steady, card.is_steady)
    np.testing.assert_allclose(card.A, lanes.A, rtol=1e-9, atol=1e-9)
    # a double eigenvalue has half the digits of the matrix
    np.testing.assert_allclose(card.eigenvalues, lanes.eigenvalues, rtol=1e-6, atol=1e-6)


def test_steady(system_of, rng):
    given = {"frame.lean": rng.uniform(-0.3, 0.3, N), "speed": rng.uniform(3.0, 6.0, N)}
    lanes, card = both(ns.steady_batch, system_of("whipple-bicycle"), given, find=["steer_torque"])
    assert np.array_equal(lanes.is_found, card.is_found)
    for name, values in lanes.values.items():
        np.testing.assert_allclose(card.values[name], values, rtol=1e-8, atol=1e-8)


def test_sensitivities(system_of, rng):
    system = system_of("chaplygin-sleigh")
    given = {
        **{"with_respect_to": ["m", "sleigh.rate"], "duration": 10.0, "samples": 5},
        "start": {"sleigh.vx": rng.uniform(0.5, 2.0, N), "sleigh.rate": rng.uniform(0.2, 1.0, N)},
        "parameters": {"m": rng.uniform(0.8, 1.5, N)},
    }
    lanes, card = both(ns.simulate_sensitivities_batch, system, **given)
    assert card.success.all()
    assert np.mean(lanes.steps == card.steps) > 0.99  # a rounding may decide a step
    for name, by in lanes.derivatives.items():
        np.testing.assert_allclose(card.derivatives[name], by, rtol=1e-6, atol=1e-6)
