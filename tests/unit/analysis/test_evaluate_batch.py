"""Many states at an instant, compiled: each is that of the single call, interpreted."""

import numpy as np
import pytest

import noslip as ns


def one(values, k):
    """Numbers of one variant; texts as they are."""
    return {
        name: v if isinstance(v, str) else float(v if np.ndim(v) == 0 else v[k])
        for name, v in values.items()
    }


def assert_same_instant(found, expected):
    for name in ("coordinates", "speeds", "coordinate_rates", "accelerations", "multipliers"):
        a, b = getattr(found, name), getattr(expected, name)
        assert list(a) == list(b)
        np.testing.assert_allclose(
            list(a.values()), list(b.values()), rtol=1e-11, atol=1e-10, err_msg=name
        )
    for name in ("reactions", "joint_reactions"):
        a, b = getattr(found, name), getattr(expected, name)
        assert list(a) == list(b)
        for owner in a:
            assert list(a[owner]) == list(b[owner])
            np.testing.assert_allclose(
                list(a[owner].values()), list(b[owner].values()), rtol=1e-9, atol=1e-8
            )
    assert found.independent_speeds == expected.independent_speeds
    np.testing.assert_allclose(found.mass_matrix, expected.mass_matrix, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.velocity_terms, expected.velocity_terms, atol=1e-10)
    for name in ("kinetic_energy", "potential_energy"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-12)
    assert found.position_residual < 1e-11 and found.speed_residual < 1e-11
    assert found.outputs == pytest.approx(expected.outputs, rel=1e-10, abs=1e-10)
    assert found.units == expected.units


CASES = {
    "agv": (
        {"wheel1.rate": (-8.0, -4.0), "wheel2.rate": (-8.0, -4.0), "bracket.angle": (-1.0, 1.0)},
        {"torque1": (-0.2, 0.2), "torque2": "0.1*sin(platform.angle) + m_platform/1000"},
        {"m_platform": (20.0, 30.0)},
        {"turn": "rate(platform.rate)"},
    ),
    "whipple-bicycle": (
        {"speed": (2.0, 7.0), "frame.lean": (-0.2, 0.2), "steer.angle": (-0.3, 0.3)},
        {},
        {"w": (1.0, 1.1)},
        {},
    ),
}


@pytest.mark.parametrize("name", ["agv", "whipple-bicycle"])
def test_states_are_those_of_single_calls(system_of, rng, name):
    system, n = system_of(name), 11
    spans, inputs, parameters, outputs = CASES[name]

    def drawn(given):
        return {k: v if isinstance(v, str) else rng.uniform(*v, n) for k, v in given.items()}

    state, inputs, parameters = drawn(spans), drawn(inputs), drawn(parameters)
    batch = ns.evaluate_batch(system, state, inputs=inputs, parameters=parameters, outputs=outputs)
    assert len(batch) == n and batch.is_evaluated.all() and not batch.others
    for k in range(n):
        alone = ns.evaluate(
            system,
            one(state, k),
            inputs=one(inputs, k),
            parameters=one(parameters, k),
            outputs=outputs,
        )
        assert_same_instant(batch[k], alone)


def test_a_variant_in_other_speeds_is_evaluated_alone(system_of):
    """Across the slide whose speed is independent, that speed says nothing of the blade's."""
    system = system_of("sleigh-on-slides")
    state = {"heading.angle": np.array([0.3, np.pi / 2, 1.0]), "heading.rate": 0.7}
    outputs = {"twice": "2*rate(heading.rate)"}
    batch = ns.evaluate_batch(system, state, outputs=outputs)
    assert list(batch.others) == [1]
    for k in range(3):
        alone = ns.evaluate(system, one(state, k), outputs=outputs)
        assert_same_instant(batch[k], alone)
        assert batch.outputs["twice"][k] == pytest.approx(alone.outputs["twice"], abs=1e-10)
        for name, value in alone.accelerations.items():
            assert batch.accelerations[name][k] == pytest.approx(value, abs=1e-10)
        for owner, parts in alone.reactions.items():
            for part, value in parts.items():
                assert batch.reactions[owner][part][k] == pytest.approx(value, abs=1e-9)
    assert np.isnan(batch.mass_matrix[1]).all() and np.isfinite(batch.mass_matrix[[0, 2]]).all()


def test_inverse_dynamics_of_many(system_of, rng):
    """Second ways: single calls; and the accelerations that the inputs found produce."""
    system, n = system_of("agv"), 7
    state = {"wheel1.rate": rng.uniform(-8, -4, n), "wheel2.rate": -5.0}
    rates = {s.name: rng.uniform(-1, 1, n) for s in system.independent_speeds}
    parameters = {"m_platform": rng.uniform(20, 30, n)}
    weights = {"torque1": rng.uniform(0.5, 2.0, n)}
    batch = ns.inverse_dynamics_batch(system, state, rates, parameters=parameters, weights=weights)
    for k in range(n):
        alone = ns.inverse_dynamics(
            system,
            one(state, k),
            one(rates, k),
            parameters=one(parameters, k),
            weights=one(weights, k),
        )
        assert batch[k].inputs == pytest.approx(alone.inputs, rel=1e-10, abs=1e-11)
        np.testing.assert_allclose(batch[k].unreachable, alone.unreachable, atol=1e-10)
    moved = ns.evaluate_batch(system, state, inputs=batch.inputs, parameters=parameters)
    assert np.abs(batch.unreachable).max() < 1e-9  # as many torques as degrees of freedom
    for name, values in rates.items():
        np.testing.assert_allclose(moved.accelerations[name], values, atol=1e-9)
    assert set(batch.to_xarray().data_vars) >= {"torque1", "torque2"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"state": {"whel1.rate": [1.0, 2.0]}}, "wheel1.rate"),
        ({"state": {}, "inputs": {"torqe1": [1.0, 2.0]}}, "torque1"),
        ({"state": {}, "parameters": {"m_platfrm": [1.0, 2.0]}}, "m_platform"),
        ({"state": {"wheel1.rate": [1.0, 2.0], "wheel2.rate": [1.0, 2.0, 3.0]}}, "differ"),
        ({"state": {"wheel1.rate": [1.0, np.nan]}}, "finite"),
    ],
)
def test_bad_arguments_are_refused_with_a_way_out(system_of, arguments, word):
    with pytest.raises(ns.SimulationError) as caught:
        ns.evaluate_batch(system_of("agv"), **arguments)
    assert word in str(caught.value)
