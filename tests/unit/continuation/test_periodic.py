"""Motions that repeat: periods, Floquet multipliers and their families by independent numbers."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, root
from scipy.special import ellipk, mathieu_a, mathieu_b
from test_branch import particle

import noslip as ns


def pendulum():
    """A mass of 1 kg at 0.7 m, with a torque input and damping."""
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -9.81))
    b.parameter("d", 0.0, "N*m*s")
    b.body("bob", mass=1.0, inertia=(0.0, 0.0, 0.0))
    b.joint(
        "hinge",
        ns.joints.Revolute(axis=(0.0, 1.0, 0.0)),
        parent="world",
        child="bob",
        child_frame=ns.Placement(position=(0.0, 0.0, 0.7)),
    )
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="hinge.rate", input="torque"))
    b.force(ns.forces.JointDamper(name="damper", speed="hinge.rate", damping="d"))
    return ns.compile(ns.derive(b.build()))


def monodromy(f, jacobian, start, period):
    """(x(T), M) of ẋ = f(t, x) by SciPy, with the variational equations."""
    n = len(start)

    def rates(t, y):
        M = y[n:].reshape(n, n)
        return np.concatenate([f(t, y[:n]), (jacobian(t, y[:n]) @ M).ravel()])

    first = np.concatenate([start, np.eye(n).ravel()])
    last = solve_ivp(rates, (0.0, period), first, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return last[:n], last[n:].reshape(n, n)


def test_the_limit_cycle_of_van_der_pol():
    """Its period at m = 1 to 16 digits, and its multiplier by SciPy's own integration."""
    system = particle("m*(1 - rail.position^2)*rail.speed - rail.position", m=1.0)
    found = ns.periodic(system, {"rail.position": 2.0}, period=6.5)
    assert found.period == pytest.approx(6.66328685932313, abs=1e-9)
    x = np.array(list(found.values.values()))
    last, M = monodromy(
        lambda t, y: np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]]),
        lambda t, y: np.array([[0.0, 1.0], [-2 * y[0] * y[1] - 1, 1 - y[0] ** 2]]),
        x,
        found.period,
    )
    assert last == pytest.approx(x, abs=1e-9)
    assert np.sort(np.abs(found.multipliers)) == pytest.approx(
        np.sort(np.abs(np.linalg.eigvals(M))), abs=1e-8
    )
    assert found.is_stable and found.family == 0


@pytest.mark.parametrize(("amplitude", "guess"), [(0.3, 1.6), (2.0, 2.0), (3.0, 4.2)])
def test_swings_of_a_pendulum(amplitude, guess):
    """The period by the complete elliptic integral."""
    given = {"hinge.angle": amplitude, "hinge.rate": 0.0}
    found = ns.periodic(pendulum(), given=given, period=guess)
    period = 4 * math.sqrt(0.7 / 9.81) * ellipk(math.sin(amplitude / 2) ** 2)
    assert found.period == pytest.approx(period, abs=1e-9)
    assert np.abs(found.multipliers) == pytest.approx([1.0, 1.0], abs=1e-5)
    assert found.displacement == {}


def test_a_pendulum_that_turns_round():
    rate = 9.0
    found = ns.periodic(pendulum(), given={"hinge.rate": rate, "hinge.angle": 0.0}, period=0.9)
    # ω² = rate² − (4 g/l) sin²(θ/2)
    k2 = 4 * 9.81 / 0.7 / rate**2
    assert found.period == pytest.approx(4 / rate * ellipk(k2), abs=1e-9)
    assert found.displacement == pytest.approx({"hinge.angle": 2 * math.pi})


def test_swings_without_an_amplitude_are_a_family():
    found = ns.periodic(pendulum(), {"hinge.angle": 1.0}, period=1.8)
    assert found.family == 1 and "one of a family with 1 parameter" in found.text()


@pytest.mark.parametrize("q", [0.5, 1.0])
def test_borders_of_stability_of_mathieus_equation(q):
    """ẍ + (a − 2 q cos 2t) x = 0 at rest: multipliers of ±1 where SciPy's functions have them."""
    system = particle("-(a - 2*q*cos(2*t))*rail.position", a=0.3, q=q)
    found = ns.branch(
        system, {"a": (-0.6, 4.6)}, period=math.pi, at=0.3, parameters={"q": q}, crossing=False
    )
    odd = [mathieu_b(1, q), mathieu_a(1, q)]
    even = sorted([mathieu_a(0, q), mathieu_b(2, q), mathieu_a(2, q)])
    assert [p.value for p in found.points("period doubling")] == pytest.approx(odd, abs=1e-8)
    even = [x for x in even if x > -0.6]
    assert [p.value for p in found.points("branch point")] == pytest.approx(even, abs=1e-8)
    limits = np.sort([*odd, *even])
    inside = (np.searchsorted(limits, found.values) % 2 == 1) == (len(even) == 3)
    clear = np.min(np.abs(found.values[:, None] - limits), axis=1) > 1e-4
    assert np.array_equal(found.is_stable[clear], inside[clear])


def test_a_driven_pendulum_doubles_its_period():
    """The first doubling of a driven damped pendulum, against a shooting of SciPy's own.

    θ̈ + 2 β θ̇ + ω₀² sin θ = γ ω₀² cos ωt, ω = 2π, ω₀ = 1.5 ω, β = ω₀/4.
    """
    w, w0 = 2 * math.pi, 3 * math.pi
    beta = w0 / 4
    text = f"gamma*{w0**2!r}*cos({w!r}*t) - {w0**2!r}*sin(rail.position) - {2 * beta!r}*rail.speed"
    system = particle(text, gamma=1.0)
    found = ns.branch(
        system, {"gamma": (1.03, 1.08)}, guess={"rail.position": -0.4, "rail.speed": 12.0},
        period=1.0, step=0.1, crossing=False, at=1.06,
    )  # fmt: skip
    (doubling,) = found.points("period doubling")

    def shot(gamma, start):
        return monodromy(
            lambda t, y: np.array(
                [y[1], gamma * w0**2 * np.cos(w * t) - w0**2 * np.sin(y[0]) - 2 * beta * y[1]]
            ),
            lambda t, y: np.array([[0.0, 1.0], [-(w0**2) * np.cos(y[0]), -2 * beta]]),
            start,
            1.0,
        )

    def bordering(gamma):
        start = np.array(list(doubling.motion.values.values()))
        solved = root(
            lambda x: shot(gamma, x)[0] - x, start, jac=lambda x: shot(gamma, x)[1] - np.eye(2)
        )
        return float(np.linalg.det(shot(gamma, solved.x)[1] + np.eye(2)))

    border = brentq(bordering, doubling.value - 1e-4, doubling.value + 1e-4, xtol=1e-12)
    assert doubling.value == pytest.approx(border, abs=1e-8)
    assert doubling.value == pytest.approx(1.0663, abs=1e-4)


def test_a_gait_returns_displaced():
    """A snakeboard that drags: shape and speeds return, place and heading go on alike."""
    model = ns.load("snakeboard")
    drag = ns.forces.JointDamper(name="drag", speed="board.vx", damping=2.0)
    model = dataclasses.replace(model, forces=(*model.forces, drag))
    system = ns.compile(ns.derive(model))
    inputs = {
        "rotor.torque": "3*cos(4*t) - rotor.rate - 3*rotor.angle",
        "front.steering_rate": "-2.4*cos(4*t)",
        "back.steering_rate": "2.4*cos(4*t)",
    }
    found = ns.periodic(
        system,
        {"board.vx": -0.13, "rotor.rate": 2.0},
        given={"front.steer.angle": 0.1, "back.steer.angle": -0.05},
        period="2*pi/4",
        inputs=inputs,
    )
    assert found.family == 0 and found.is_stable and found.period == math.pi / 2
    run = ns.simulate(
        system,
        duration=3 * found.period,
        start=found.start,
        inputs=inputs,
        samples=np.arange(4) * found.period,
        rtol=1e-12,
        atol=1e-12,
    )
    for name in ("front.steer.angle", "back.steer.angle", "board.vx", "rotor.angle"):
        assert np.ptp(run[name]) < 1e-8
    turned = np.diff(run["board.angle"])
    assert turned == pytest.approx(found.displacement["board.angle"], abs=1e-8)
    # the displacement in the axes of the board is the same in every period
    x, y, heading = (np.diff(run["board.x"]), np.diff(run["board.y"]), run["board.angle"][:-1])
    ahead = np.cos(heading) * x + np.sin(heading) * y
    beside = -np.sin(heading) * x + np.cos(heading) * y
    assert np.ptp(ahead) < 1e-8 and np.ptp(beside) < 1e-8
    assert abs(ahead[0]) > 0.1 and abs(turned[0]) > 0.01
    assert found.displacement["board.x"] == pytest.approx(x[0], abs=1e-8)


def test_a_family_of_limit_cycles_over_a_parameter():
    system = particle("m*(1 - rail.position^2)*rail.speed - rail.position", m=1.0)
    first = ns.periodic(system, {"rail.position": 2.0}, period=6.4, parameters={"m": 0.5})
    found = ns.branch(system, {"m": (0.5, 2.0)}, guess=first, step=0.1)
    assert found.of == "periodic motions" and found.is_stable.all()
    k = len(found) // 2
    alone = ns.periodic(
        system, found[k].start, period=6.8, parameters={"m": float(found.values[k])}
    )
    assert found.columns["period"][k] == pytest.approx(alone.period, abs=1e-8)
    assert found[k].multipliers == pytest.approx(alone.multipliers, abs=1e-7)


def test_the_swings_of_a_pendulum_over_their_period():
    """A conservative family: amplitude against period by the elliptic integral."""
    first = ns.periodic(
        pendulum(), {"hinge.rate": 0.0}, given={"hinge.angle": 1.0, "hinge.rate": 0.0}, period=1.8
    )
    found = ns.branch(
        pendulum(), {"period": (1.75, 2.6)}, guess=first, at=float(first.period),
        given={"hinge.rate": 0.0}, step=0.1,
    )  # fmt: skip
    angle = found.columns["hinge.angle"]
    closed = 4 * np.sqrt(0.7 / 9.81) * ellipk(np.sin(angle / 2) ** 2)
    assert found.values == pytest.approx(closed, abs=1e-8)
    assert np.ptp(np.abs(angle)) > 1.0


def test_a_motion_is_data():
    found = ns.periodic(pendulum(), {"hinge.rate": 0.0}, given={"hinge.angle": 1.0}, period=1.8)
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["period"] == found.period and len(plain["multipliers"]) == 2
    assert "repeats after 1.78973" in found.text() and "PeriodicMotion of 'pendulum'" in repr(found)
    run = ns.simulate(pendulum(), duration=found.period, start=found.start, rtol=1e-12, atol=1e-12)
    assert run["hinge.angle"][-1] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"period": 0.0}, "the period is 0.0"),
        ({"period": "2*pi/w"}, "cannot be read|no value|'w'"),
        ({"period": 1.8, "given": {"hinge.angel": 1.0}}, "'hinge.angel'"),
        ({"period": 1.8, "inputs": {"torque": lambda t, q, v: 0.0}}, "of type function"),
        ({"period": 1.8, "start": {"hinge.angle": 1e-9}, "parameters": {"d": 1.0}}, "at rest"),
        (
            {"period": 1.8, "start": {"hinge.angle": 0.4}, "parameters": {"d": 0.1}},
            "at rest|no motion that repeats",
        ),
    ],
)
def test_what_cannot_repeat_is_refused(asked, said):
    with pytest.raises(ns.NoslipError, match=said) as refusal:
        ns.periodic(pendulum(), **asked)
    assert refusal.value.faults[0].fix
