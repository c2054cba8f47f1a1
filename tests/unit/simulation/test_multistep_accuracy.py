"""Samples of models from several steps: accuracy, what they cost, and how the error is known.

Second way: a batch takes the same steps, and each of them finds its samples by itself. The errors
of both are measured against a run at a tight tolerance.
"""

import numpy as np
import pytest

import noslip as ns

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
