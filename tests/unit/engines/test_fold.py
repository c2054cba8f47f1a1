"""Parameters folded into the code as constants, or kept as arguments: the same numbers."""

import numpy as np
import pytest

import noslip as ns

SAME = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def equations():
    return ns.derive(ns.load("agv"))


@pytest.fixture(scope="module")
def kept(equations):
    return ns.compile(equations)


def rates(system, rng, count=20):
    x = rng.normal(size=(count, system.num_states))
    u = rng.normal(size=(count, len(system.inputs)))
    return system.rates.map(np.zeros(count), x, u, system.parameters())


def num_operations(system):
    return system.program("rates", system.rates_expression).num_operations


def test_folded_and_kept_parameters_give_the_same_rates(equations, kept):
    some = ns.compile(equations, fold=["m_platform", "a"])
    folded = ns.compile(equations, fold=True)
    expected = rates(kept, np.random.default_rng(1))
    for system in (some, folded):
        np.testing.assert_allclose(rates(system, np.random.default_rng(1)), expected, **SAME)
    assert num_operations(folded) < num_operations(some) <= num_operations(kept)


def test_folded_code_ignores_the_argument(equations, kept, rng):
    folded = ns.compile(equations, fold=True)
    x, u = rng.normal(size=folded.num_states), rng.normal(size=len(folded.inputs))
    p = folded.parameters()
    np.testing.assert_array_equal(folded.rates(0.0, x, u, p), folded.rates(0.0, x, u, 2.0 * p))
    assert not np.allclose(kept.rates(0.0, x, u, p), kept.rates(0.0, x, u, 2.0 * p))


def test_a_run_of_folded_code_is_the_same_run(equations, kept):
    start = {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4}
    kwargs = {"duration": 2.0, "start": start, "inputs": {"torque1": "0.1*sin(t)*m_platform"}}
    expected = ns.simulate(kept, **kwargs, rtol=1e-12, atol=1e-12)
    run = ns.simulate(ns.compile(equations, fold=True), **kwargs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.q, expected.q, rtol=1e-10, atol=1e-10)


def test_kept_parameters_of_folded_code_can_be_changed(equations, kept):
    system = ns.compile(equations, fold=["a"])
    kwargs = {"duration": 1.0, "start": {"wheel1.rate": -5.0}, "parameters": {"m_platform": 30.0}}
    expected, run = ns.simulate(kept, **kwargs), ns.simulate(system, **kwargs)
    np.testing.assert_allclose(run.q, expected.q, rtol=1e-9, atol=1e-9)


def test_folded_parameters_cannot_be_changed(equations, refuses):
    system = ns.compile(equations, fold=["m_platform"])
    with refuses(ns.SimulationError, "but the code was compiled for 20", "model 'agv', parameters"):
        ns.simulate(system, duration=1.0, parameters={"m_platform": 30.0})
    # its own value may be given
    nominal = system.model.parameter_values()["m_platform"]
    assert system.parameters({"m_platform": nominal}) is not None


def test_other_speeds_keep_what_is_folded():
    system = ns.compile(ns.derive(ns.load("agv")), fold=True)
    other = system.in_speeds(("platform.vy", "platform.rate"))
    assert other.folded == system.folded


def test_unknown_names_are_not_folded(equations, refuses):
    with refuses(ns.CompileError, "'m_platfrm' to fold", "of model 'agv'", "you mean 'm_platform'"):
        ns.compile(equations, fold=["m_platfrm"])
    with refuses(ns.CompileError, "fold is 'a'", "of model 'agv'", "give a list: fold=['a']"):
        ns.compile(equations, fold="a")
