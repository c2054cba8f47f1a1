"""The no-slip audit of many states: each is that of a run with one sample."""

import dataclasses

import numpy as np
import pytest

import noslip as ns

FORCES = ("longitudinal", "lateral", "normal", "demand")


def one(values, k):
    return {name: float(v if np.ndim(v) == 0 else v[k]) for name, v in values.items()}


@pytest.mark.parametrize(
    ("name", "state", "inputs", "parameters"),
    [
        (
            "agv",
            {"wheel1.rate": (-8.0, -4.0), "wheel2.rate": (-8.0, -4.0), "bracket.angle": (-1, 1)},
            {"torque1": (-2.0, 2.0), "torque2": (-2.0, 2.0)},
            {"m_platform": (20.0, 30.0)},
        ),
        ("forklift", {}, {}, {}),
    ],
)
def test_states_are_audited_as_runs_of_one_sample(system_of, rng, name, state, inputs, parameters):
    """Second way: `audit` of a run that has just begun."""
    system, n = system_of(name), 6
    state, inputs, parameters = (
        {k: rng.uniform(*v, n) for k, v in given.items()} for given in (state, inputs, parameters)
    )
    friction = rng.uniform(0.02, 0.8, n)
    batch = ns.audit_batch(
        system, state, inputs=inputs, parameters=parameters, friction=friction, count=n
    )
    for k in range(n):
        run = ns.simulate(
            system,
            duration=1e-3,
            start=one(state, k),
            inputs=one(inputs, k),
            parameters=one(parameters, k),
            samples=[0.0, 1e-3],
        )
        whole = ns.audit(system, run, float(friction[k]))
        alone = dataclasses.replace(
            whole, t=whole.t[:1], required=whole.required[:1], wheels=cut(whole.wheels)
        )
        for wheel, expected in zip(batch[k].wheels, alone.wheels, strict=True):
            assert (wheel.name, wheel.kind, wheel.load_from) == (
                expected.name,
                expected.kind,
                expected.load_from,
            )
            for part in (*FORCES, *(f"{p}_range" for p in FORCES)):
                np.testing.assert_allclose(
                    getattr(wheel, part), getattr(expected, part), rtol=1e-7, atol=1e-7
                )
        np.testing.assert_allclose(batch[k].required, alone.required, rtol=1e-6, atol=1e-7)
        assert batch[k].verdict == batch.verdicts[k] == alone.verdict


def cut(wheels):
    names = [*FORCES, *(f"{p}_range" for p in FORCES), "use", "slide"]
    return tuple(
        dataclasses.replace(w, **{name: getattr(w, name)[:1] for name in names}) for w in wheels
    )


def test_a_closed_form(system_of):
    """A disk that rolls straight and upright: its weight on the ground, and nothing else."""
    system = system_of("rolling-disk")
    masses = np.array([1.0, 2.0, 3.0])
    batch = ns.audit_batch(
        system,
        {"disk.tilt": np.pi / 2, "disk.spin_rate": -4.0},
        parameters={"m": masses},
        friction=[0.1, 0.5, 0.0],
    )
    (wheel,) = batch.wheels
    g = dict(zip((p.name for p in system.model.parameters), system.parameters(), strict=True))["g"]
    np.testing.assert_allclose(wheel.normal, masses * g, rtol=1e-12)
    np.testing.assert_allclose(wheel.demand, 0.0, atol=1e-12)
    assert batch.verdicts.tolist() == ["holds"] * 3
    data = batch.to_xarray()
    assert data["parameter.m"].values.tolist() == masses.tolist()
    assert "3 holds" in repr(batch)
    unknown = ns.audit_batch(system, {"disk.tilt": [1.0, 1.1]})
    assert unknown.verdicts.tolist() == ["unknown"] * 2


def test_samples_of_a_batch_of_runs(system_of):
    """What `simulate_batch` kept is a list of states."""
    system = system_of("rolling-disk")
    runs = ns.simulate_batch(
        system,
        duration=1.0,
        start={"disk.tilt": [1.2, 1.4], "disk.spin_rate": -5.0},
        keep=["samples"],
        samples=5,
    )
    names = [q.name for q in (*system.coordinates, *system.speeds)]
    states = {name: runs.samples[name].ravel() for name in names}
    batch = ns.audit_batch(system, states, friction=0.4)
    run = ns.simulate(
        system, duration=1.0, start={"disk.tilt": 1.4, "disk.spin_rate": -5.0}, samples=5
    )
    expected = ns.audit(system, run, 0.4)
    np.testing.assert_allclose(
        batch.wheels[0].demand.reshape(2, 5)[1], expected.wheels[0].demand, rtol=1e-6, atol=1e-7
    )
