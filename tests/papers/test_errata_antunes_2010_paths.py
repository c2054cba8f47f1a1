"""Errors of [AntunesSigaudMoraes2010], section 6: along a catenary and along a sine.

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import math

import casadi as ca
import numpy as np
import pytest
from errata import MOTION, size, sleigh, sleigh_letters, system

import noslip as ns

V_T, X_0 = 1.0, 0.8


def follow(path, at, sigma, duration, printed=False):
    """The sleigh under forces that keep it on a path and do no work, from its position alone.

    `path` gives curvature, ds/dσ and the parameter σ from x and y; (107) is printed with a/b.
    """
    compiled = system("chaplygin-sleigh")
    symbols = compiled.kinematics.symbols
    m, a, _, b = sleigh_letters(sleigh({}))
    traced = ca.SX.sym("sigma")
    kappa, stretch, parameter = path(traced, symbols.q[0], symbols.q[1])
    s_dot = V_T / ca.sqrt(1 + b**2 * kappa**2)
    turn = kappa * s_dot
    turn_rate = ca.gradient(turn, traced) * s_dot / stretch
    side = m * ((a if printed else b**2 / a) * turn_rate + s_dot * turn)
    arguments = [symbols.t, symbols.q, symbols.v, symbols.params]
    inputs = {
        name: ca.Function(name, arguments, [ca.substitute([force], [traced], [parameter])[0]])
        for name, force in (("F_cphi", side), ("F_cs", -a * kappa * side))
    }
    speeds = ca.Function("speeds", [traced], [s_dot, turn])(sigma)
    speeds = dict(zip(("sleigh.vx", "sleigh.rate"), map(float, speeds), strict=True))
    return ns.simulate(
        compiled,
        duration=duration,
        start=at | speeds,
        inputs=inputs,
        samples=51,
        rtol=1e-13,
        atol=1e-13,
    )


def catenary(sigma, x, y):
    """σ is the arc length: x = √(s² + x₀²), y = x₀ asinh(s/x₀); it turns to the right."""
    return -X_0 / (sigma**2 + X_0**2), ca.SX(1), X_0 * ca.sinh(y / X_0)


CATENARY_START = {"sleigh.x": X_0, "sleigh.angle": math.pi / 2}


@pytest.fixture(scope="module")
def catenary_run():
    return follow(catenary, CATENARY_START, 0.0, 5.0)


def test_catenary_starts_where_its_arc_does(catenary_run):
    """(98) has no dimension, and y(0) = x₀ ln x₀; the curve itself has y = x₀ asinh(s/x₀)."""
    run = catenary_run
    s = np.sqrt(np.maximum(run["sleigh.x"] ** 2 - X_0**2, 0.0))  # (97)
    library, corrected = run["sleigh.y"], X_0 * np.arcsinh(s / X_0)
    printed = X_0 * np.log(s + np.sqrt(s**2 + X_0**2))
    moving = s > 0.1  # at the vertex x does not tell s
    assert size((corrected - library)[moving]) < 10 * MOTION
    assert size(printed - library) == pytest.approx(abs(X_0 * math.log(X_0)), rel=1e-3)


def test_force_of_eq_107_leaves_the_catenary(catenary_run):
    """With a/b for b/a the sleigh is metres off after 5 s; with b/a it stays on the path."""
    run, astray = catenary_run, follow(catenary, CATENARY_START, 0.0, 5.0, printed=True)
    assert size(run["sleigh.x"] - X_0 * np.cosh(run["sleigh.y"] / X_0)) < MOTION
    away = [astray[f"sleigh.{k}"][-1] - run[f"sleigh.{k}"][-1] for k in "xy"]
    assert math.hypot(*away) == pytest.approx(2.37, rel=0.01)


@pytest.mark.parametrize(
    ("equation", "off"), [("99", 2.5), ("100", 1.44), ("104", 5.82), ("105", 0.188)]
)
def test_motion_along_the_catenary(catenary_run, equation, off):
    """ρ < 0 and Ψ in (π/2, π), and the squares of eqs. (104), (105)."""
    run = catenary_run
    b = sleigh_letters(sleigh({}))[3]
    s_dot, turn = run["sleigh.vx"], run["sleigh.rate"]
    s = X_0 * np.sinh(run["sleigh.y"] / X_0)
    span = s**2 + X_0**2
    lost, kept = np.sqrt(span + (b * X_0) ** 2), np.sqrt(span**2 + (b * X_0) ** 2)
    printed, corrected, library = {
        "99": (X_0 / span, -X_0 / span, turn / s_dot),
        "100": (
            np.arctan(span / (b * X_0)),
            np.pi - np.arctan(span / (b * X_0)),
            np.arctan2(s_dot, b * turn),
        ),
        "104": (-V_T * span / lost, V_T * span / kept, s_dot),
        "105": (-V_T * X_0 / lost, -V_T * X_0 / kept, turn),
    }[equation]
    assert size(corrected - library) < MOTION
    assert size(printed - library) == pytest.approx(off, rel=0.01)


def test_rate_of_the_control_angle_contradicts_the_angle(catenary_run):
    """(106) is right for Ψ in (π/2, π); (100) as printed has the opposite rate."""
    run = catenary_run
    b = sleigh_letters(sleigh({}))[3]
    s_dot, turn = run["sleigh.vx"], run["sleigh.rate"]
    s_ddot, turn_rate = (run[f"acceleration.sleigh.{k}"] for k in ("vx", "rate"))
    s = X_0 * np.sinh(run["sleigh.y"] / X_0)
    span = s**2 + X_0**2
    formula = -2 * b * X_0 * s * s_dot / (span**2 + (b * X_0) ** 2)
    library = b * (s_ddot * turn - s_dot * turn_rate) / V_T**2
    assert size(formula - library) < MOTION
    # d/dt arctan((s² + x₀²)/(b x₀))
    of_printed_angle = 2 * b * X_0 * s * s_dot / (span**2 + (b * X_0) ** 2)
    assert size(of_printed_angle - library) == pytest.approx(0.895, rel=0.01)


def sine(sigma, x, y):
    """y = −sin x, σ = x."""
    slope = 1 + ca.cos(sigma) ** 2
    return ca.sin(sigma) / slope**1.5, ca.sqrt(slope), x


def test_control_angle_along_a_sine():
    """(111): an arctangent drives backwards where the path bends to the right, sin x < 0."""
    run = follow(sine, {"sleigh.angle": -math.pi / 4}, 0.0, 8.0)
    b = sleigh_letters(sleigh({}))[3]
    x, phi = run["sleigh.x"], run["sleigh.angle"]
    assert size(run["sleigh.y"] + np.sin(x)) < MOTION and x[-1] > math.pi
    curvature = np.sin(x) / (1 + np.cos(x) ** 2) ** 1.5
    ahead = run["sleigh.vx"] * np.cos(phi)
    with np.errstate(divide="ignore"):
        printed = V_T * np.sin(np.arctan(1 / (b * curvature))) * np.cos(phi)
    corrected = V_T * np.sin(np.arctan2(1.0, b * curvature)) * np.cos(phi)
    assert size(corrected - ahead) < MOTION
    assert size(printed - ahead) == pytest.approx(1.65, rel=0.01)
    # eq. (112) is right as it is printed
    slope = 1 + np.cos(x) ** 2
    assert size(V_T * slope / np.sqrt(b**2 * np.sin(x) ** 2 + slope**3) - ahead) < MOTION
