"""Lyapunov exponents: linear systems, divergence, a driven pendulum against SciPy's flow."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_branch import particle
from test_periodic import pendulum

import noslip as ns


def test_exponents_at_rest_are_real_parts_of_eigenvalues():
    """ẍ = 2 x − ẋ at x = 0: (−1 ± 3)/2."""
    found = ns.lyapunov_exponents(
        particle("2*rail.position - rail.speed"), duration=30.0, settle=12.0, spans=60
    )
    assert found.values == pytest.approx([1.0, -2.0], abs=1e-6)
    assert np.sum(found.values) == pytest.approx(-1.0, abs=1e-9)


def test_a_swinging_pendulum_has_none():
    """Hamiltonian, and not chaotic: neighbors part linearly, the area is kept."""
    found = ns.lyapunov_exponents(pendulum(), {"hinge.angle": 1.0}, duration=400.0, spans=100)
    assert abs(np.sum(found.values)) < 1e-7
    assert np.abs(found.values) == pytest.approx([0.0, 0.0], abs=0.03)


def test_a_driven_pendulum_in_chaos_against_scipy():
    """The same spans by SciPy's integration of the variational equations."""
    w, w0 = 2 * math.pi, 3 * math.pi
    beta, gamma = w0 / 4, 1.2
    text = (
        f"{gamma * w0**2!r}*cos({w!r}*t) - {w0**2!r}*sin(rail.position) - {2 * beta!r}*rail.speed"
    )
    spans = 12
    found = ns.lyapunov_exponents(
        particle(text), {"rail.position": 0.2}, duration=float(spans), spans=spans, rtol=1e-12
    )
    assert np.sum(found.values) == pytest.approx(-2 * beta, abs=1e-6)

    def rates(t, y):
        a = gamma * w0**2 * np.cos(w * t) - w0**2 * np.sin(y[0]) - 2 * beta * y[1]
        A = np.array([[0.0, 1.0], [-(w0**2) * np.cos(y[0]), -2 * beta]])
        return np.concatenate([[y[1], a], (A @ y[2:].reshape(2, 2)).ravel()])

    x, Q, logs = np.array([0.2, 0.0]), np.eye(2), []
    for k in range(spans):
        y = np.concatenate([x, Q.ravel()])
        y = solve_ivp(rates, (k, k + 1), y, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        x, (Q, R) = y[:2], np.linalg.qr(y[2:].reshape(2, 2))
        logs.append(np.log(np.abs(np.diag(R))))
    assert found.values == pytest.approx(np.sort(np.mean(logs, axis=0))[::-1], abs=1e-6)
    assert found.values[0] > 0.3 and 1.0 < found.dimension < 2.0
    assert "Kaplan–Yorke" in found.text()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"duration": 0.0}, "the duration is 0 s"),
        ({"duration": 1.0, "spans": 1}, "there are 1 spans"),
        ({"duration": math.nan}, "duration is nan"),
        ({"duration": 1.0, "start": 3}, "start is of type int"),
    ],
)
def test_what_has_no_exponents_is_refused(asked, said):
    with pytest.raises(ns.NoslipError, match=said):
        ns.lyapunov_exponents(pendulum(), **asked)
