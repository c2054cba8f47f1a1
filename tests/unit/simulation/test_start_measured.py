"""`complete_start(nearest=…)`: the consistent start that is nearest to measured numbers."""

import numpy as np
import pytest
from scipy.optimize import minimize

import noslip as ns


def measured(system, start, rng, size=0.01):
    """All coordinates and speeds of a start, with errors."""
    quantities = (*system.coordinates, *system.speeds)
    values = np.concatenate([start.q, start.v])
    return {q.name: x + size * rng.normal() for q, x in zip(quantities, values, strict=True)}


@pytest.fixture
def car(system_of, rng):
    system = system_of("ackermann-car")
    start = ns.complete_start(system, {"base.vx": 2.0, "front.steer.angle": 0.3, "base.x": 1.0})
    return system, start, measured(system, start, rng)


def sizes(system, quantities):
    length = system.kinematics.probe.length
    return np.array([length if q.unit.startswith("rad") else 1.0 for q in quantities])


def test_coordinates_are_those_of_an_optimizer(car):
    """SLSQP knows nothing of the steps of Gauss and Newton."""
    system, _, given = car
    found = ns.complete_start(system, given, nearest=True)
    kin, W = system.kinematics, sizes(system, system.coordinates)
    y = np.array([given[c.name] for c in system.coordinates])

    def row(q):
        return np.array(kin.probe.position(0.0, q, system.parameters())).ravel()

    best = minimize(
        lambda q: 1e4 * np.sum((W * (q - y)) ** 2),
        y,
        jac=lambda q: 2e4 * W**2 * (q - y),
        constraints={"type": "eq", "fun": row},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 500},
    )
    np.testing.assert_allclose(found.q, best.x, atol=1e-7)  # of SLSQP's differences of the rows
    assert found.position_residual < 1e-12 and np.max(np.abs(row(y))) > 1e-4


def test_speeds_solve_the_normal_equations(car):
    """[W² Aᵀ; A 0] [v; λ] = [W² τ; −a] at the configuration that was found."""
    system, _, given = car
    found = ns.complete_start(system, given, nearest=True)
    W = np.diag(sizes(system, system.speeds) ** 2)
    w = np.zeros(len(system.model.speed_inputs))
    A, a = system.kinematics.probe.constraint(0.0, found.q, w, system.parameters())
    A, a, tau = np.array(A), np.array(a).ravel(), np.array([given[s.name] for s in system.speeds])
    KKT = np.block([[W, A.T], [A, np.zeros((len(A), len(A)))]])
    v = np.linalg.lstsq(KKT, np.concatenate([W @ tau, -a]))[0][: len(tau)]
    np.testing.assert_allclose(found.v, v, atol=1e-11)
    assert found.speed_residual < 1e-12


def test_what_fits_stays_and_what_is_sure_stays_nearly(car):
    system, start, given = car
    exact = measured(system, start, np.random.default_rng(0), size=0.0)
    again = ns.complete_start(system, exact, nearest=True)
    np.testing.assert_allclose(again.q, start.q, atol=1e-13)
    np.testing.assert_allclose(again.v, start.v, atol=1e-12)
    sure = ns.complete_start(system, given, nearest={"front.left.steer.angle": 1e-6})
    moved = dict(zip([c.name for c in system.coordinates], sure.q, strict=True))
    # what its deviation, over the others' squared, leaves
    assert moved["front.left.steer.angle"] == pytest.approx(
        given["front.left.steer.angle"], abs=1e-10
    )


def test_named_angles_and_rates_are_measured(system_of):
    """The height of a disk and its tilt say one thing twice: their mean by least squares."""
    system = system_of("rolling-disk")
    radius = system.model.parameter_values()["r"]
    tilt, off = 1.2, 1e-4
    given = {"disk.tilt": tilt, "disk.yaw": 0.4, "disk.z": radius * np.sin(tilt) + off}
    found = ns.complete_start(system, given | {"disk.tilt_rate": 0.2}, nearest=True)
    again = ns.complete_start(system, {"disk.tilt": 0.9}, nearest=True)
    height = dict(zip([c.name for c in system.coordinates], found.q, strict=True))["disk.z"]
    assert radius * np.sin(tilt) < height < given["disk.z"]
    # h = r sin θ: with σ of 1 m and of 1/L rad the correction of h is r² cos²θ / (L² + r² cos²θ)
    lever, length = radius * np.cos(tilt), system.kinematics.probe.length
    expected = off * lever**2 / (length**2 + lever**2)
    assert height - radius * np.sin(tilt) == pytest.approx(expected, rel=1e-3)
    assert again.position_residual < 1e-12


def test_bad_deviations_are_refused(car, refuses):
    system, _, given = car
    where = "nearest start of model 'ackermann-car'"
    with refuses(ns.SimulationError, "has a standard deviation and no value", where, "base"):
        ns.complete_start(system, given, nearest={"base.u": 1.0})
    with refuses(ns.SimulationError, "is 0.0", where, "positive"):
        ns.complete_start(system, given, nearest={"base.x": 0.0})
