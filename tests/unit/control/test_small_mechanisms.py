"""Every controller and every timing law with one coordinate, one input, or no freedom."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from small_mechanisms import DAMPING, MASS, SMALL, watch_slices

import noslip as ns

SPEED = 0.5  # of the reference, m/s
E0 = 0.1  # m ahead of it at the start
KP, KD = 9.0, 6.0
TIGHT = {"rtol": 1e-12, "atol": 1e-12}
DRIVEN = ("cart", "loaded_cart", "rail")
#: Position and speed of each.
STATES = {name: ("cart.position", "cart.speed") for name in SMALL} | {"rail": ("cart.x", "cart.vx")}


@pytest.fixture(autouse=True)
def _columns_stay_columns(monkeypatch):
    watch_slices(monkeypatch)


@cache
def system(name):
    return ns.compile(ns.derive(SMALL[name]()))


def tracking(name, controller, motion=f"{SPEED}*t", **options):
    place = STATES[name][0]
    given = {"limits": {}, **options}
    return ns.controllers.Tracking(
        motion=ns.motions.ExpressionMotion(coordinates={place: motion}),
        controller=controller,
        reference_start=np.zeros(len(system(name).coordinates)),
        **given,
    )


def off_reference(name):
    place, speed = STATES[name]
    return {place: E0, speed: SPEED}


def second_order(A, x0, t, forcing=(0.0, 0.0)):
    """x(t) of ẋ = A x + b, by the exponential of the matrix."""
    b = np.array(forcing)
    steady = -np.linalg.solve(A, b)
    return np.array([expm(A * tk) @ (np.array(x0) - steady) + steady for tk in t])


LINEAR = (
    ns.controllers.ComputedTorque(kp=KP, kd=KD),
    ns.controllers.AccelerationResolved(kp=KP, kd=KD),
    ns.controllers.CartesianTracking(body="cart", components=("vx",), kp=KP, kd=KD),
)


def test_the_reference_of_one_coordinate_moves():
    """A cart under computed torque on x = t/2 is at 2 m after 4 s."""
    law = tracking("cart", ns.controllers.ComputedTorque())
    run = ns.simulate(system("cart"), duration=4.0, inputs=law, **TIGHT)
    # from rest: e = −t/2 e^(−2t)
    assert run["cart.position"][-1] == pytest.approx(2.0 - 2.0 * np.exp(-8.0), abs=1e-10)
    assert run["reference.cart.position"] == pytest.approx(SPEED * run.t, abs=1e-12)


# the speed along a planar base is not the rate of a coordinate, as computed torque needs it
EXACT = [(name, c) for name in DRIVEN for c in (LINEAR[1:] if name == "rail" else LINEAR)]


@pytest.mark.parametrize(("name", "controller"), EXACT)
def test_errors_of_exact_laws_decay_as_chosen(name, controller):
    """ë + kd ė + kp e = 0, alone and in a batch, which also starts elsewhere."""
    place = STATES[name][0]
    law = tracking(name, controller)
    run = ns.simulate(system(name), duration=2.0, start=off_reference(name), inputs=law, **TIGHT)
    closed = (1 + 3 * run.t) * np.exp(-3 * run.t)
    assert run[place] - SPEED * run.t == pytest.approx(E0 * closed, abs=1e-11)
    sizes = np.array([E0, 0.0, -2.0])
    batch = ns.simulate_batch(
        system(name),
        duration=2.0,
        start={**dict.fromkeys(STATES[name], SPEED), place: sizes},
        inputs=law,
        **TIGHT,
    )
    assert batch[place] == pytest.approx(2.0 * SPEED + sizes * closed[-1], abs=1e-11)


@pytest.mark.parametrize("name", ["cart", "loaded_cart"])
@pytest.mark.parametrize("kind", ["pd", "pd with gravity", "custom", "custom function"])
def test_proportional_derivative_laws(name, kind):
    """m ë + (d + kd) ė + kp e = −d ṙ: a damper holds them back."""

    def law(t, q, v, wanted, speeds):
        return KP * (wanted[0] - q[0]) + KD * (speeds[0] - v[0])

    sizes = (("t", 1), ("q", 1), ("v", 1), ("wanted", 1), ("speeds", 1))
    symbols = [ca.SX.sym(letter, size) for letter, size in sizes]
    controller = {
        "pd": ns.controllers.ProportionalDerivative(kp=(KP,), kd=(KD,)),
        "pd with gravity": ns.controllers.ProportionalDerivative(kp=(KP,), kd=(KD,), gravity=True),
        "custom": ns.controllers.CustomController(law=law),
        "custom function": ns.controllers.CustomController(
            law=ca.Function("law", symbols, [law(*symbols)])
        ),
    }[kind]
    run = ns.simulate(
        system(name),
        duration=3.0,
        start=off_reference(name),
        inputs=tracking(name, controller),
        **TIGHT,
    )
    A = np.array([[0.0, 1.0], [-KP / MASS, -(KD + DAMPING) / MASS]])
    closed = second_order(A, (E0, 0.0), run.t, (0.0, -DAMPING * SPEED / MASS))
    assert run["cart.position"] - SPEED * run.t == pytest.approx(closed[:, 0], abs=1e-10)


@pytest.mark.parametrize("name", ["cart", "loaded_cart"])
def test_sampled_and_limited_laws(name):
    """The exact map from one look to the next, and the limit as a second integrator has it."""
    period, bound = 0.1, 1.0
    controller = ns.controllers.ComputedTorque(kp=KP, kd=KD)

    def force(t, x, v):
        return MASS * (KD * (SPEED - v) + KP * (SPEED * t - x)) + DAMPING * v

    law = tracking(name, controller, period=period)
    run = ns.simulate(
        system(name), duration=2.0, start=off_reference(name), inputs=law, samples=21, **TIGHT
    )
    A = np.array([[0.0, 1.0, 0.0], [0.0, -DAMPING / MASS, 1 / MASS], [0.0, 0.0, 0.0]])
    step, x = expm(A * period), np.array([E0, SPEED])
    for k, t in enumerate(run.t):
        assert [run["cart.position"][k], run["cart.speed"][k]] == pytest.approx(x, abs=1e-11)
        x = (step @ [*x, force(t, *x)])[:2]

    law = tracking(name, controller, limits={"F": bound})
    start = {"cart.position": 1.0, "cart.speed": 0.0}
    run = ns.simulate(system(name), duration=4.0, start=start, inputs=law, **TIGHT)

    def rate(t, x):
        return [x[1], (np.clip(force(t, *x), -bound, bound) - DAMPING * x[1]) / MASS]

    other = solve_ivp(rate, (0.0, 4.0), [1.0, 0.0], t_eval=run.t, rtol=1e-11, atol=1e-11)
    assert np.max(np.abs(run["F"])) == pytest.approx(bound, abs=1e-12)
    assert run["cart.position"] == pytest.approx(other.y[0], abs=1e-8)


def test_derivatives_of_a_closed_loop_with_one_coordinate():
    """e(T) is e(0) times what the loop leaves, whatever the mass; also from look to look."""
    s = system("cart")
    asked = {"with_respect_to": ["cart.position", "m"], "start": off_reference("cart"), **TIGHT}
    law = tracking("cart", ns.controllers.ComputedTorque(kp=KP, kd=KD))
    left = (1 + 3 * 1.5) * np.exp(-3 * 1.5)
    found = ns.simulate_sensitivities(s, duration=1.5, inputs=law, **asked)
    assert found["cart.position", "cart.position"][-1] == pytest.approx(left, abs=1e-10)
    assert found["cart.position", "m"][-1] == pytest.approx(0.0, abs=1e-10)
    back = ns.gradient(s, duration=1.5, inputs=law, terminal="cart.position", **asked)
    assert back["cart.position"] == pytest.approx(left, abs=1e-10)
    assert back["m"] == pytest.approx(0.0, abs=1e-10)

    law = tracking("cart", ns.controllers.ComputedTorque(kp=KP, kd=KD), period=0.1)
    found = ns.simulate_sensitivities(s, duration=1.5, inputs=law, **asked)
    back = ns.gradient(s, duration=1.5, inputs=law, terminal="cart.position", **asked)
    A = np.array([[0.0, 1.0, 0.0], [0.0, -DAMPING / MASS, 1 / MASS], [0.0, 0.0, 0.0]])
    step = expm(0.1 * A)
    closed = step[:2, :2] + step[:2, 2:] @ [[-MASS * KP, DAMPING - MASS * KD]]
    left = np.linalg.matrix_power(closed, 15)[0, 0]
    assert found["cart.position", "cart.position"][-1] == pytest.approx(left, abs=1e-10)
    assert back["cart.position"] == pytest.approx(left, abs=1e-10)
    assert back["m"] == pytest.approx(found["cart.position", "m"][-1], abs=1e-10)


NO_FREEDOM = (
    *LINEAR[:2],
    ns.controllers.CartesianTracking(body="cart", components=()),
    ns.controllers.ProportionalDerivative(kp=(), kd=()),
    ns.controllers.FeedForward(),
)


@pytest.mark.parametrize("controller", NO_FREEDOM, ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("period", [0.0, 0.1])
def test_where_nothing_is_free_motions_are_those_given(controller, period):
    """The speed input is the reference's; the cart that is moved needs no force of a motor."""
    law = tracking("shifted", controller, "sin(t)", period=period)
    run = ns.simulate(system("shifted"), duration=2.0, inputs=law, **TIGHT)
    assert run["cart.position"] == pytest.approx(np.sin(run.t), abs=1e-11)
    assert run["w"] == pytest.approx(np.cos(run.t), abs=1e-12)
    law = tracking("moved", controller, "sin(t)", period=period)
    run = ns.simulate(system("moved"), duration=2.0, inputs=law, **TIGHT)
    assert run["cart.position"] == pytest.approx(np.sin(run.t), abs=1e-11)
    assert run["reference.cart.position"] == pytest.approx(np.sin(run.t), abs=1e-9)
    assert np.max(np.abs(run["F"])) == 0.0


def test_what_cannot_be_controlled_is_refused(refuses):
    for controller in (*LINEAR, ns.controllers.FeedForward()):
        with refuses(ns.SimulationError, "0 force inputs for 1 degree of", "'oscillator'"):
            law = tracking("oscillator", controller)
            ns.simulate(system("oscillator"), duration=1.0, inputs=law)
    with refuses(ns.SimulationError, "needs two degrees of freedom", "'cart'", "none"):
        ns.simulate(
            system("cart"), duration=1.0, inputs=tracking("cart", ns.controllers.PoseTracking())
        )
    with refuses(ns.SimulationError, "no planar joint", "'cart'", "ExpressionMotion"):
        steered = ns.controllers.SteeredTracking(steering="cart.position", wheelbase=1.0)
        ns.simulate(system("cart"), duration=1.0, inputs=tracking("cart", steered))
    with refuses(ns.SimulationError, "no planar joint", "'cart'", "ExpressionMotion"):
        ns.track(system("cart"), LINE, timing=ns.timing.Quintic(2.0))
    with refuses(ns.SimulationError, "0 coordinates are given", "'cart'", "at least 1"):
        law = ns.controllers.Tracking(
            motion=ns.motions.ExpressionMotion(coordinates={}),
            controller=ns.controllers.ComputedTorque(),
            reference_start=np.zeros(1),
            limits={},
        )
        ns.simulate(system("cart"), duration=1.0, inputs=law)


LINE = ns.paths.Line(start=(0.0, 0.0), end=(3.0, 0.0))
TIMINGS = (
    ns.timing.Quintic(4.0),
    ns.timing.Trapezoidal(speed=1.2, acceleration=0.8),
    ns.timing.SCurve(speed=1.2, acceleration=0.8, jerk=2.0),
    ns.timing.ConstantSpeed(0.7),
    ns.timing.ConstantEnergy(total_speed=0.7, radius_of_gyration=0.3),
    ns.timing.SpeedSchedule(times=(0.0, 2.0, 4.0), speeds=(0.0, 1.5, 0.0)),
    ns.timing.SpeedProfile(arc_lengths=(0.0, 1.0, 3.0), speeds=(0.0, 1.0, 0.0)),
    ns.timing.least_time(LINE, ns.timing.Limits(speed=1.0, acceleration=0.9)),
)


@pytest.mark.parametrize("timing", TIMINGS, ids=lambda t: type(t).__name__)
def test_every_timing_law_drives_one_freedom(timing):
    """ẋ is the law's own speed, F = m ẍ + d ẋ, and it ends where the line ends."""
    for more in ({}, {"controller": ns.controllers.AccelerationResolved()}):
        run = ns.track(system("rail"), LINE, timing=timing, samples=401, **more, **TIGHT)
        assert run.tracking_error < 1e-9
        t, s, bend = ca.SX.sym("t"), ca.SX.sym("s"), ca.SX.sym("bend")
        law = ca.Function("law", [t, s, bend], [timing.speed(t, s, bend, 3.0)])
        speeds = [float(law(*at, 0.0)) for at in zip(run.t, run["cart.x"], strict=True)]
        assert run["cart.vx"] == pytest.approx(np.array(speeds), abs=1e-7)
        force = MASS * run["acceleration.cart.vx"] + DAMPING * run["cart.vx"]
        # at a knot the acceleration has two values
        knots = np.array([*timing.knots(LINE), np.inf])
        inner = np.min(np.abs(run.t[:, None] - knots), axis=1) > 1e-9
        assert run["F"][inner] == pytest.approx(force[inner], abs=1e-9)
        assert run["cart.x"][-1] == pytest.approx(3.0, abs=1e-9)
