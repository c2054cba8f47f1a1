"""Errors of [SahaAngeles1989], the guided vehicle.

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import dataclasses
import math

import numpy as np
import pytest
from errata import MOTION, At, compare, size, system

import noslip as ns


@pytest.fixture(scope="module")
def agv():
    state = {"bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}
    return At("agv", state, {"torque1": 0.12, "torque2": -0.05})


PLATFORM = ("platform.rate", "platform.vx", "platform.vy")


def platform_rows(at):
    """T'_p of (6a), from the null-space basis."""
    names = [s.name for s in at.kin.speeds]
    return at.numbers(at.kin.S)[[names.index(name) for name in PLATFORM]]


def test_pseudo_inverse_of_twists_that_cannot_be(agv):
    """(6c) is exact for ẋ = −a ω only; a turn with ẋ = 0 comes out slower by 1 + a²."""
    T_p, (a,) = platform_rows(agv), agv.parameter("a")
    omega, V = 0.1, 0.2
    naive, possible = np.array([omega, 0.0, V]), np.array([omega, -a * omega, V])

    def achieved(twist):
        return T_p @ np.linalg.pinv(T_p) @ twist

    compare(
        printed=achieved(naive)[[0, 2]],
        corrected=achieved(possible)[[0, 2]],
        library=[omega, V],
        off=1.01e-3,
    )
    assert achieved(naive)[0] == pytest.approx(omega / (1 + a**2), rel=1e-12)


def test_components_of_the_platform_acceleration(agv):
    """(7a)–(7c) give the absolute acceleration along i, j, not the rates of ẋ, ẏ."""
    T_p, (r, ell, a) = platform_rows(agv), agv.parameter("r", "l", "a")
    rates = agv.speed("wheel1.rate", "wheel2.rate")
    W_T = (r / ell) ** 2 * (rates[0] - rates[1]) * np.array([[0, 0], [ell / 2, ell / 2], [-a, a]])
    formula = T_p @ agv.acceleration("wheel1.rate", "wheel2.rate") + W_T @ rates
    omega, vx, vy = agv.speed(*PLATFORM)
    component_rates = agv.acceleration(*PLATFORM)
    absolute = component_rates + [0.0, -omega * vy, omega * vx]
    compare(printed=component_rates, corrected=absolute, library=formula, off=0.122)


def test_state_of_the_vehicle_needs_the_caster_angle():
    """(30): I depends on ψ, in closed form; (θ₁, θ₂) of the printed state do not."""
    at = At("agv", {"bracket.angle": 0.5})
    r, ell, a, b, d, m_w, m_p, I_s, I_t, I_z = at.parameter(
        *("r", "l", "a", "b", "d", "m_wheel", "m_platform"),
        *("I_spin", "I_diameter", "I_z"),
    )

    def inertia(psi):
        e, n = np.ones(2), np.array([1.0, -1.0])
        K = m_w * r**2 + I_s
        t3 = math.cos(psi) / 2 * e - (a + b) / ell * math.sin(psi) * n
        p3 = r / d * (math.sin(psi) / 2 * e + (a + b) / ell * math.cos(psi) * n)
        platform = m_p * ((a * r / ell) ** 2 * np.outer(n, n) + r**2 / 4 * np.outer(e, e))
        turning = (I_z + 2 * I_t) * (r / ell) ** 2 * np.outer(n, n)
        return platform + turning + K * np.eye(2) + K * np.outer(t3, t3) + I_t * np.outer(p3, p3)

    compare(
        printed=inertia(0.0), corrected=inertia(0.5), library=at.instant.mass_matrix, off=9.83e-4
    )


def test_wheel_angles_do_not_determine_the_caster():
    """(30) again: both wheels go round a loop and come back, the caster does not."""
    model = system("agv").model
    loop = {"wheel1.angle": "0.4*(1 - cos(beta))", "wheel2.angle": "0.4*sin(beta)"}
    scenario = dataclasses.replace(model.scenario, motion=loop, start={})
    round_trip = ns.compile(ns.derive(dataclasses.replace(model, scenario=scenario)))
    run = ns.run_scenario(round_trip, rtol=1e-12, atol=1e-12)
    assert size([run[f"wheel{k}.angle"][-1] - run[f"wheel{k}.angle"][0] for k in (1, 2)]) < MOTION
    assert run["bracket.angle"][-1] - run["bracket.angle"][0] == pytest.approx(-0.873, rel=0.01)
