"""Derivatives of many motions: each is what the single call gives."""

import numpy as np
import pytest

import noslip as ns


def one(values, k):
    """Numbers of one motion; texts and tables as they are."""
    return {
        name: v if isinstance(v, str | ns.Table) else float(v if np.ndim(v) == 0 else v[k])
        for name, v in values.items()
    }


SLEIGH = {
    "with_respect_to": ["m", "sleigh.rate", "I"],
    "duration": 3.0,
    "terminal": "sleigh.x",
    "running": "sleigh.y^2",
}


def assert_same_gradient(found, expected):
    assert found.value == pytest.approx(expected.value, rel=1e-13, abs=1e-14)
    assert list(found.derivatives) == list(expected.derivatives)
    np.testing.assert_allclose(found.vector, expected.vector, rtol=1e-11, atol=1e-12)
    assert (found.steps, found.nfev) == (expected.steps, expected.nfev)
    assert found.units == expected.units
    for part in ("terminal", "running", "misfit"):
        assert getattr(found, part) == pytest.approx(getattr(expected, part), abs=1e-13)


def test_gradients_with_tables_measurements_and_definitions(system_of, rng):
    """A vehicle under tables and a gain: derivatives by each value of a table."""
    system, n = system_of("agv"), 3
    torque = ns.Table(times=[0.0, 0.5, 1.0], values=[0.1, -0.1, 0.05])
    kwargs = {
        "with_respect_to": ["torque1", "gain", "m_platform", "wheel1.rate"],
        "duration": 1.0,
        "terminal": "platform.x + torque1",
        "measurements": ns.Measurements(
            times=[0.25, 1.0], values={"seen": [0.1, 0.2]}, misfit="(platform.y - seen)^2"
        ),
    }
    start = {"wheel1.rate": rng.uniform(-6, -4, n), "wheel2.rate": -5.0, "bracket.angle": 0.3}
    inputs = {"torque1": torque, "torque2": "gain*sin(t)"}
    parameters = {"m_platform": rng.uniform(20, 30, n)}
    definitions = {"gain": rng.uniform(0.1, 0.2, n)}
    batch = ns.gradient_batch(
        system,
        start=start,
        inputs=inputs,
        parameters=parameters,
        definitions=definitions,
        **kwargs,
    )
    assert batch["torque1"].shape == (n, 3)
    for k in range(n):
        alone = ns.gradient(
            system,
            start=one(start, k),
            inputs=inputs,
            parameters=one(parameters, k),
            definitions=one(definitions, k),
            **kwargs,
        )
        assert_same_gradient(batch[k], alone)


def test_starts_that_rows_complete(system_of, rng):
    """A bicycle's pitch follows from its lean and steer: each start has derivatives of its own."""
    system, n = system_of("whipple-bicycle"), 3
    kwargs = {
        "with_respect_to": ["frame.lean", "speed", "w", "steer_torque"],
        "duration": 0.5,
        "terminal": "frame.x + frame.lean",
    }
    start = {"frame.lean": rng.uniform(-0.1, 0.1, n), "speed": rng.uniform(4, 6, n)}
    inputs = {"steer_torque": rng.uniform(-0.1, 0.1, n)}
    batch = ns.gradient_batch(system, start=start, inputs=inputs, **kwargs)
    sensed = ns.simulate_sensitivities_batch(
        system,
        start=start,
        inputs=inputs,
        with_respect_to=kwargs["with_respect_to"],
        duration=0.5,
        samples=3,
    )
    for k in range(n):
        own = {"start": one(start, k), "inputs": one(inputs, k)}
        assert_same_gradient(batch[k], ns.gradient(system, **own, **kwargs))
        alone = ns.simulate_sensitivities(
            system,
            with_respect_to=kwargs["with_respect_to"],
            duration=0.5,
            samples=3,
            **own,
        )
        np.testing.assert_allclose(
            sensed["frame.x", "w"][k], alone["frame.x", "w"], rtol=1e-11, atol=1e-12
        )
    # third way: tangents and adjoint
    np.testing.assert_allclose(
        sensed["frame.x"][:, -1, 1] + lean_rate(system, sensed), batch["speed"], rtol=1e-5
    )


def lean_rate(system, sensed):
    """∂(lean)/∂speed at the end, of the quaternion of the frame."""
    names = [f"frame.{q}" for q in ("qw", "qx", "qy", "qz")]
    w, x, y, z = (sensed.values[n][:, -1] for n in names)
    d = [sensed[n, "speed"][:, -1] for n in names]
    # zxy turns: sin(lean) = 2 (w x + y z)
    sine = 2 * (w * x + y * z)
    return 2 * (d[0] * x + w * d[1] + d[2] * z + y * d[3]) / np.sqrt(1 - sine**2)


def test_sensitivities_of_sleighs(system_of, rng):
    system, n = system_of("chaplygin-sleigh"), 4
    start = {"sleigh.vx": rng.uniform(0.5, 2.0, n), "sleigh.rate": rng.uniform(0.2, 1.0, n)}
    kwargs = {
        "with_respect_to": ["m", "sleigh.vx"],
        "duration": 2.0,
        "samples": 5,
        "outputs": {"reach": "sqrt(sleigh.x^2 + sleigh.y^2 + 1)"},
    }
    batch = ns.simulate_sensitivities_batch(system, start=start, **kwargs)
    assert batch.success.all() and batch.t.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    for k in range(n):
        alone = ns.simulate_sensitivities(system, start=one(start, k), **kwargs)
        for name, values in alone.columns.items():
            np.testing.assert_allclose(batch[name][k], values, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(batch.values["reach"][k], alone.outputs["reach"], rtol=1e-13)
        np.testing.assert_allclose(batch.values["sleigh.x"][k], alone.run["sleigh.x"], rtol=1e-13)
        assert batch.steps[k] == alone.run.steps
    again = batch[1]
    np.testing.assert_allclose(again["sleigh.x", "m"], batch["sleigh.x", "m"][1], rtol=1e-12)
    data = batch.to_xarray()
    assert data["sleigh.x"].dims == ("variant", "time", "by")
    assert data["start.sleigh.vx"].attrs["units"] == "m/s"


def test_motions_that_change_their_speeds_are_single_calls(system_of):
    """Across the slide the sleigh goes on in other speeds; one that is too fast fails."""
    system = system_of("sleigh-on-slides")
    start = {"x.speed": np.array([0.3, -1.2, 0.5]), "heading.rate": np.array([1.2, 1.5, 0.2])}
    kwargs = {"with_respect_to": ["heading.rate", "J"], "duration": 2.0, "terminal": "x.position"}
    runs = ns.simulate_batch(system, duration=2.0, start=start)
    assert runs.changed_speeds.any() and not runs.changed_speeds.all()
    batch = ns.gradient_batch(system, start=start, **kwargs)
    for k in range(3):
        assert_same_gradient(batch[k], ns.gradient(system, start=one(start, k), **kwargs))


def test_a_motion_that_fails_says_why_and_ends_no_other(system_of):
    system = system_of("rolling-disk")
    start = {"disk.tilt": np.array([1.2, 1.0]), "disk.spin_rate": np.array([-5.0, 0.0])}
    kwargs = {"with_respect_to": ["m"], "duration": 3.0, "terminal": "disk.x", "max_steps": 60}
    batch = ns.gradient_batch(system, start=start, **kwargs)
    expected = []
    for k in range(2):
        try:
            expected.append(bool(ns.gradient(system, start=one(start, k), **kwargs)))
        except ns.SimulationError as error:
            expected.append(False)
            assert batch.messages[k] == error.what
            with pytest.raises(ns.SimulationError, match=f"motion {k}"):
                batch[k]
    assert batch.success.tolist() == expected and not all(expected)


def test_what_is_refused(system_of, refuses):
    system = system_of("chaplygin-sleigh")
    start = {"sleigh.vx": [1.0, 2.0], "sleigh.rate": [1.0, 2.0, 3.0]}
    with refuses(ns.SimulationError, "differ", "derivatives", "one value"):
        ns.gradient_batch(system, start=start, **SLEIGH)
    with refuses(ns.SimulationError, "nothing to take the gradient of", "sleigh", "terminal"):
        ns.gradient_batch(system, with_respect_to=["m"], duration=1.0, start={"sleigh.vx": [1, 2]})
    with refuses(ns.SimulationError, "does not give it", "sleigh", "give it"):
        ns.gradient_batch(system, start={"sleigh.vx": [1.0, 2.0]}, **SLEIGH)
