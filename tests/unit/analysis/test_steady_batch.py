"""Many steady motions at once, compiled: each is the one that `steady` finds, interpreted."""

import threading

import numpy as np
import pytest

import noslip as ns


def one(values, k):
    return {name: float(v if np.ndim(v) == 0 else v[k]) for name, v in values.items()}


def assert_same_motion(found, expected):
    for name in ("values", "rates", "inputs"):
        a, b = getattr(found, name), getattr(expected, name)
        assert a == pytest.approx(b, rel=1e-8, abs=1e-8), name
    assert found.family == expected.family
    assert found.residual < 1e-9
    np.testing.assert_allclose(found.start.q, expected.start.q, atol=1e-8)
    np.testing.assert_allclose(found.start.v, expected.start.v, atol=1e-8)
    np.testing.assert_allclose(found.start.eta, expected.start.eta, atol=1e-8)


def test_turns_of_bicycles(system_of, rng):
    """Second way: `steady`, variant by variant; each motion is determined, so the same."""
    system, n = system_of("whipple-bicycle"), 8
    given = {"frame.lean": rng.uniform(-0.3, 0.3, n), "speed": rng.uniform(3.0, 6.0, n)}
    parameters = {"w": rng.uniform(1.0, 1.06, n), "mB": rng.uniform(80.0, 90.0, n)}
    find = ["steer_torque"]
    batch = ns.steady_batch(system, given, find=find, parameters=parameters)
    assert batch.is_found.all() and not batch.messages
    for k in range(n):
        alone = ns.steady(system, one(given, k), find=find, parameters=one(parameters, k))
        assert_same_motion(batch[k], alone)
    lines = ns.linearize(
        system, batch[0].start, inputs=batch[0].inputs, parameters=one(parameters, 0)
    )
    assert lines.eigenvalues.shape[0] > 3


def test_what_has_no_steady_motion_says_why(system_of):
    """A bicycle that leans needs a torque; upright it needs none."""
    system = system_of("whipple-bicycle")
    batch = ns.steady_batch(
        system, {"speed": 5.0, "frame.lean": [0.0, 0.3], "steer.angle": [0.0, 0.4]}
    )
    assert batch.is_found.tolist() == [True, False]
    with pytest.raises(ns.SimulationError) as alone:
        ns.steady(system, {"speed": 5.0, "frame.lean": 0.3, "steer.angle": 0.4})
    assert "no steady motion was found" in batch.messages[1]
    assert alone.value.what.split(" is still")[0] == batch.messages[1].split(" is still")[0]
    assert np.isnan(batch.values["frame.lean"][1]) and batch.family[1] == -1
    with pytest.raises(ns.SimulationError, match="variant 1"):
        batch[1]


def test_labels_blocks_and_cancelling(system_of, monkeypatch):
    system = system_of("rolling-disk")
    tilts = np.linspace(0.9, 1.4, 20)
    given = {"disk.tilt": tilts, "disk.yaw_rate": 1.0}
    whole = ns.steady_batch(system, given)
    monkeypatch.setattr("noslip.analysis.steady_motion.BLOCK", 8)
    done = []
    parts = ns.steady_batch(system, given, threads=2, progress=done.append)
    assert done[-1] == 1.0 and len(done) == 3
    for name, values in whole.values.items():
        np.testing.assert_allclose(parts.values[name], values, rtol=1e-12, atol=1e-12)
    data = whole.to_xarray()
    assert data["start.disk.tilt"].values.tolist() == tilts.tolist()
    assert data["disk.tilt"].attrs["units"] == "rad"
    stop = threading.Event()
    stop.set()
    assert not ns.steady_batch(system, given, cancel=stop).is_found.any()


def test_a_guess_at_which_nothing_determines_the_motion_says_so(system_of):
    """A disk that lies flat, first and among others; `steady` refuses it alone."""
    system, tilts = system_of("rolling-disk"), np.array([0.0, np.pi / 2, 0.0])
    batch = ns.steady_batch(system, {"disk.tilt": tilts})
    assert batch.is_found.tolist() == [False, True, False]
    assert sorted(batch.messages) == [0, 2] and "lies flat" in batch.messages[0]
    for given in ({"disk.tilt": tilts[[0, 2]]}, {"disk.tilt": 0.0}):
        with pytest.raises(ns.SimulationError, match="lies flat"):
            ns.steady_batch(system, given, count=2)
