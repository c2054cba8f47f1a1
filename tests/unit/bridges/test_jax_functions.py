"""Functions of JAX: their derivatives against ours and against differences; jit and vmap."""

import sys

import numpy as np
import pytest

import noslip as ns

jax = pytest.importorskip("jax", reason="JAX is not installed")

DRIVE = dict(
    duration=1.0, samples=6, inputs={"torque2": -0.04}, rtol=1e-11, atol=1e-11,
    start={"wheel1.rate": -4.0, "bracket.angle": 0.1},
)  # fmt: skip
UNKNOWN = ("m_platform", "wheel2.rate", "torque1")
THETA = np.array([25.0, -5.0, 0.05])
COLUMNS = ("platform.x", "platform.angle", "wheel3.rate")


@pytest.fixture(autouse=True)
def double_precision():
    """JAX in double precision, as it was before afterwards."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def point(system_of, rng):
    system = system_of("tractor-trailer")
    ((t, q),) = system.kinematics.probe.configurations(1)
    x = np.concatenate([q, rng.normal(size=len(system.independent_speeds))])
    return system, t, x, rng.normal(size=len(system.inputs)), system.parameters()


def test_rates_are_ours_under_jit_and_vmap(point, rng):
    system, t, x, u, p = point
    f = ns.to_jax(system)
    ours = system.rates(t, np.append(x, 0.0), u, p)[: len(x)]
    np.testing.assert_allclose(f(t, x, u), ours, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(jax.jit(f)(t, x, u, p), f(t, x, u, p))
    many = x + 0.1 * rng.normal(size=(7, len(x)))
    mapped = jax.jit(jax.vmap(f, in_axes=(None, 0, None, None)))(t, many, u, p)
    for row, state in zip(mapped, many, strict=True):
        np.testing.assert_array_equal(row, f(t, state, u, p))


def test_derivatives_of_rates_are_those_of_casadi(point):
    import casadi as ca

    system, t, x, u, p = point
    f = ns.to_jax(system)
    function = system.casadi_function()
    X, U, P = (ca.MX.sym("s", len(a)) for a in (x, u, p))
    y = function(t, X, U, P)
    for symbol, argument in ((X, 1), (U, 2), (P, 3)):
        J = ca.Function("J", [X, U, P], [ca.jacobian(y, symbol)])
        ours = np.array(J(x, u, p))
        tolerance = dict(rtol=1e-10, atol=1e-11 * max(1.0, np.abs(ours).max()))
        np.testing.assert_allclose(jax.jacfwd(f, argument)(t, x, u, p), ours, **tolerance)
        np.testing.assert_allclose(jax.jacrev(f, argument)(t, x, u, p), ours, **tolerance)
    many = np.stack([x, 1.1 * x])
    slopes = jax.vmap(jax.jacrev(f, 1), in_axes=(None, 0, None, None))(t, many, u, p)
    np.testing.assert_allclose(slopes[1], jax.jacfwd(f, 1)(t, 1.1 * x, u, p), rtol=1e-12)


def test_a_run_and_its_derivatives_are_ours(system_of):
    system = system_of("agv")
    run = ns.simulate_jax(system, with_respect_to=UNKNOWN, columns=COLUMNS, **DRIVE)
    given = {**DRIVE, "inputs": {"torque1": THETA[2], "torque2": -0.04}}
    given["start"] = {**DRIVE["start"], "wheel2.rate": THETA[1]}
    ours = ns.simulate_sensitivities(
        system, with_respect_to=UNKNOWN, parameters={"m_platform": THETA[0]}, **given
    )
    found = jax.jit(run)(THETA)
    J = jax.jacfwd(run)(THETA)
    for k, name in enumerate(COLUMNS):
        np.testing.assert_allclose(found[:, k], ours.run[name], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(J[:, k], ours[name])


def test_both_modes_agree_and_map_over_runs(system_of):
    system = system_of("agv")
    slopes = []
    for mode in ("forward", "adjoint"):
        run = ns.simulate_jax(system, with_respect_to=UNKNOWN, columns=COLUMNS, mode=mode, **DRIVE)
        summed = jax.grad(lambda theta, run=run: jax.numpy.sum(run(theta)))
        slopes.append(summed(THETA))
        many = jax.vmap(run)(np.stack([THETA, 1.01 * THETA]))
        np.testing.assert_array_equal(many[1], run(1.01 * THETA))
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-8)


def test_single_precision_is_refused(point, refuses):
    system, t, x, u, p = point
    f = ns.to_jax(system)
    jax.config.update("jax_enable_x64", False)
    with refuses(ns.SimulationError, "JAX is in single precision", "JAX function", "enable_x64"):
        f(t, x, u, p)


def test_what_does_not_fit_is_refused(system_of, refuses):
    system = system_of("agv")
    given = dict(with_respect_to=UNKNOWN, columns=COLUMNS)
    with refuses(ns.SimulationError, "the mode is 'backward'", "JAX function", "adjoint"):
        ns.simulate_jax(system, **given, mode="backward", duration=1.0)
    with refuses(ns.SimulationError, "the duration is missing", "JAX function", "duration"):
        ns.simulate_jax(system, **given)
    with refuses(ns.SimulationError, "there is no column 'platform.z'", "run of", "platform.x"):
        ns.simulate_jax(system, with_respect_to=UNKNOWN, columns=["platform.z"], duration=1.0)
    with refuses(ns.SimulationError, "with_respect_to is empty", "run of", "list of names"):
        ns.simulate_jax(system, with_respect_to=[], columns=COLUMNS, duration=1.0)
    with refuses(ns.SimulationError, "no option 'durations'", "run of", "'duration'"):
        ns.simulate_jax(system, **given, duration=1.0, durations=1.0)
    rates = ns.to_jax(system)
    with refuses(ns.NoslipError, "needs x", "argument of what to_jax gave", "give x="):
        rates(0.0)
    with refuses(ns.NoslipError, "do not fit each other", "rates of model", "one for all"):
        rates(np.zeros(3), np.zeros((2, system.num_states - 1)))


@pytest.mark.parametrize("transform", [jax.jit, jax.jacfwd, jax.vmap])
def test_what_shapes_show_is_refused_while_jax_traces(system_of, transform):
    system = system_of("knife-edge")
    rates = ns.to_jax(system)
    run = ns.simulate_jax(system, with_respect_to=["m"], columns=["skate.x"], duration=0.1)
    for wrong in (np.zeros((2, 3)), np.zeros((2, 5, 1))):
        with pytest.raises(ns.NoslipError, match="x has shape"):
            transform(lambda x: rates(0.0, x))(wrong)
        with pytest.raises(ns.NoslipError, match="θ has shape"):
            transform(run)(wrong)


@pytest.mark.parametrize("mode", ["forward", "adjoint"])
def test_values_are_refused_by_name_wherever_jax_does_not_compile(system_of, mode):
    run = ns.simulate_jax(
        system_of("knife-edge"), with_respect_to=["m"], columns=["skate.x"], duration=0.1, mode=mode
    )
    with pytest.raises(ns.NoslipError, match="mass"):
        jax.grad(lambda theta: run(theta).sum())(np.array([-1.0]))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"(?s)NoslipError|mass.*fix"):
        jax.jit(run)(np.array([-1.0]))


def test_without_jax_the_extra_is_named(system_of, monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "jax", None)
    fix = 'pip install "noslip[jax]"'
    with refuses(ns.NoslipError, "needs the package JAX", "JAX function of model", fix):
        ns.to_jax(system_of("agv"))
