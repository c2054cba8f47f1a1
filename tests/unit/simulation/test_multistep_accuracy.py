"""Samples of models from several steps: accuracy, what they cost, and how the error is known.

Second way: a batch takes the same steps, and each of them finds its samples by itself. The errors
of both are measured against a run at a tight tolerance.
"""

from __future__ import annotations

import numpy as np
import pytest
from plain_steps import plain_steps
from scipy import integrate
from test_hermite import best_check_point, product, slopes, weights

import noslip as ns
from noslip.simulation.loop.loop import LEFT_SHARE
from noslip.simulation.loop.rules import NUM_NODES

TIGHT = {"rtol": 1e-13, "atol": 1e-13}
BICYCLE = {"speed": 4.6, "frame.wx": 0.5}
STARTS = {
    "agv": {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4},
    "whipple-bicycle": BICYCLE,
    "heavy-body": {},
    "rolling-disk": {"disk.tilt": 1.4, "disk.yaw_rate": 0.3, "disk.spin_rate": -8.0},
    "lhd-noslip": {},
}


def batch_of_one(system, **common):
    """The same run by `simulate_batch`: coordinates and speeds at the samples, and the batch."""
    names = [quantity.name for quantity in (*system.coordinates, *system.speeds)]
    batch = ns.simulate_batch(system, **common, columns=names, keep=["samples"])
    return np.stack([batch.samples[name][0] for name in names], axis=1), batch


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("name", STARTS)
def test_samples_are_as_accurate_as_those_of_single_steps(system_of, name, tolerance):
    system = system_of(name)
    inputs = {u.name: "0.03*sin(2*t + 1)" for u in system.model.inputs}
    inputs |= {w.name: "0.03*cos(2*t + 1)" for w in system.model.speed_inputs}
    common = {"duration": 4.0, "samples": 161, "inputs": inputs}
    held = {"rtol": tolerance, "atol": tolerance}
    several = ns.simulate(system, start=STARTS[name], **common, **held)
    exact = ns.simulate(system, start=STARTS[name], **common, **TIGHT)
    starts = {key: np.array([value]) for key, value in STARTS[name].items()}
    single, batch = batch_of_one(system, start=starts, **common, **held)
    assert several.steps == batch.steps[0]
    expected = np.hstack([exact.q, exact.v])
    scale = 1.0 + np.abs(expected).max(axis=0)
    off = np.abs(np.hstack([several.q, several.v]) - expected) / scale
    off_single = np.abs(single - expected) / scale
    # both ends are those of the same steps; what rounding differs by grows a little on the way
    apart = np.abs(np.hstack([several.q, several.v]) - single)[-1] / scale
    assert apart.max() < 1e-12
    # single steps are held to the tolerance too, so they may be off by as much
    assert off.max() < 2.0 * off_single.max() + 3.0 * tolerance


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
@pytest.mark.parametrize("name", STARTS)
def test_a_sample_does_not_depend_on_the_others_asked_for(system_of, name, tolerance):
    system = system_of(name)
    common = {"start": STARTS[name], "duration": 6.0, "rtol": tolerance, "atol": tolerance}
    many = ns.simulate(system, **common, samples=401)
    few = ns.simulate(system, **common, samples=many.t[17::57])
    assert np.array_equal(few.q, many.q[17::57])
    assert np.array_equal(few.v, many.v[17::57])


@pytest.mark.parametrize("tolerance", [1e-6, 1e-7])
@pytest.mark.parametrize("name", ["heavy-body", "rolling-disk"])
def test_the_slope_at_one_place_tells_how_far_the_polynomial_is_off(system_of, name, tolerance):
    """SciPy's steps, against steps of their own: the estimate, and what the correction leaves."""
    state, rates, step = plain_steps(system_of(name), STARTS[name])
    run = integrate.solve_ivp(
        rates, (0.0, 5.0), state, method="DOP853", rtol=tolerance, atol=tolerance
    )
    t, Y = run.t, run.y.T
    F = np.array([rates(*at) for at in zip(t, Y, strict=True)])
    before, after = [], []
    for k in range(len(t) - NUM_NODES + 1):
        nodes, first = slice(k, k + NUM_NODES), k + NUM_NODES // 2 - 1
        h = t[first + 1] - t[first]
        x = np.ascontiguousarray((t[nodes] - t[first]) / h)
        at, steepest, largest = best_check_point(x)

        def value(theta, kind=weights, x=x, nodes=nodes, h=h):
            a, b = kind(x, theta)
            return a @ Y[nodes] + h * b @ F[nodes]

        slope = value(at, lambda x, theta: weights(x, theta, slopes))
        defect = slope - h * rates(t[first] + at * h, value(at))
        scale = tolerance * (1.0 + np.maximum(np.abs(Y[first]), np.abs(Y[first + 1])))

        def norm(error, scale=scale):
            return np.sqrt(np.mean((error / scale) ** 2))

        expected = norm(defect) * largest / abs(steepest)
        if expected < 1.0:  # else it is what the steps are off
            continue
        off = [value(theta) - step(t[first], Y[first], theta * h) for theta in (0.3, 0.5, 0.7)]
        share = [product(x, theta)[0] / steepest for theta in (0.3, 0.5, 0.7)]
        left = [norm(e - w * defect) for e, w in zip(off, share, strict=True)]
        before.append(max(map(norm, off)) / expected)
        after.append(max(left) / expected)
    assert len(before) > 5
    assert np.median(before) == pytest.approx(1.0, abs=0.1)
    assert 0.8 < min(before) < max(before) < 1.3
    assert np.median(after) < 0.2
    assert max(after) < LEFT_SHARE
