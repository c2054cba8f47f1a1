"""Predictive control: the optimum of its program, obstacles, limits, steering, and time."""

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.planning.obstacles import Surroundings, read_footprint
from noslip.planning.predictive import COORDINATE, LAST, SPEED, SUBSTEPS, _Horizon

Predictive = ns.controllers.Predictive
TORQUES = {"left.torque": 0.6, "right.torque": 0.6}
ROBOT = {"limits": TORQUES, "weights": {"base.x": 5.0, "base.y": 5.0, "base.angle": 0.2}}


def optimum(arm, times, start, wanted, wished, effort, bounds):
    """The first inputs of least cost, by IPOPT on the accelerations of the system."""
    s = arm.kinematics.symbols
    state, inputs = arm.equations.state, arm.equations.inputs
    f = ca.Function("f", [state, inputs, s.params], [arm.equations.state_rates])
    opti, values = ca.Opti(), arm.parameters()
    h, count = times[1] - times[0], len(times) - 1
    X, U = opti.variable(4, count + 1), opti.variable(2, count)
    Q = np.array([COORDINATE, COORDINATE, SPEED, SPEED])
    cost = 0
    opti.subject_to(X[:, 0] == start)
    for k in range(count):
        x, dt = X[:, k], h / SUBSTEPS
        for _ in range(SUBSTEPS):
            k1 = f(x, U[:, k], values)
            k2 = f(x + dt / 2 * k1, U[:, k], values)
            k3 = f(x + dt / 2 * k2, U[:, k], values)
            k4 = f(x + dt * k3, U[:, k], values)
            x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        opti.subject_to(X[:, k + 1] == x)
        opti.subject_to(opti.bounded(-bounds, U[:, k], bounds))
        cost += effort * ca.sumsqr((U[:, k] - wished[k]) / bounds)
    for k in range(count + 1):
        cost += (LAST if k == count else 1.0) * ca.dot(Q, (X[:, k] - wanted[k]) ** 2)
    opti.minimize(cost / 2)
    opti.set_initial(X, wanted.T)
    opti.solver("ipopt", {"print_time": False, "ipopt": {"print_level": 0, "tol": 1e-11}})
    return opti.solve().value(U[:, 0])


def test_steps_at_one_sample_lead_to_the_optimum(system_of):
    """Gauss–Newton steps against IPOPT with exact Hessians, with a torque at its limit."""
    arm = system_of("manipulator-2r")
    motion = ns.motions.ExpressionMotion(
        coordinates={"joint1.angle": "0.5*sin(t)", "joint2.angle": "0.3*cos(t)"}
    )
    begin = np.array([0.0, 0.3])
    asked = Predictive(horizon=0.8, steps=8, limits={"tau1": 30.0, "tau2": 8.0}, effort=1e-2)
    law = asked.along(arm, motion, reference_start=begin, duration=2.0)
    horizon, shown = _Horizon(law, arm), np.array([0.25, 0.2, -0.3, 0.1])
    for _ in range(60):
        found = horizon.answer(0.0, 0.02, shown)
    times = 0.1 * np.arange(9)
    wanted, wished = horizon._reference(times)
    best = optimum(arm, times, shown, wanted, wished, 1e-2, np.array([30.0, 8.0]))
    assert np.max(np.abs(best)) > 7.99
    np.testing.assert_allclose(found[:2], best, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "obstacle",
    [
        ns.obstacles.Disc(center=(1.2, 0.05), radius=0.25),
        ns.obstacles.Polygon(points=((1.1, -0.1), (1.4, -0.1), (1.4, 0.6), (1.1, 0.6))),
        ns.obstacles.Disc(center=(1.5, -1.2), radius=0.25, moves=("0", "0.3*t")),
    ],
)
def test_it_drives_round_an_obstacle_and_returns(system_of, obstacle):
    robot = system_of("differential-robot")
    run = ns.track(
        robot,
        ns.paths.Line(start=(0, 0), end=(3, 0)),
        timing=ns.timing.Quintic(duration=8.0),
        controller=ns.ControlLoop(
            controller=Predictive(obstacles=(obstacle,), clearance=0.02, **ROBOT), period=0.04
        ),
    )
    values = robot.parameters()
    around = Surroundings(robot, read_footprint(robot, None, values, {}), [obstacle], values)
    # in continuous time; between samples of the horizon it may come nearer than 2 cm
    assert around.clearance(run).low > 0.01
    assert np.max(run["predictive.excess"]) < 0.01
    for name in TORQUES:
        assert np.max(np.abs(run[name])) <= 0.6 + 1e-12
    assert math.hypot(run["base.x"][-1] - 3.0, run["base.y"][-1]) < 5e-3


def test_it_steers_a_car_behind_sensors_and_an_estimator(system_of):
    """Speed inputs go to their values without jumps, within the limit of their rate."""
    limits = {
        "rear.torque": 600.0,
        "front.steering_rate": 1.0,
        "front.steering_rate_rate": 4.0,
        "front.steer.angle": 0.6,
    }
    sensors = tuple(
        ns.Sensor(of=f"base.{name}", sigma=sigma)
        for name, sigma in (("x", 0.01), ("y", 0.01), ("angle", 0.005))
    )
    run = ns.track(
        system_of("ackermann-car"),
        ns.paths.Line(start=(0, 0), end=(12, 0)),
        timing=ns.timing.Quintic(duration=8.0),
        controller=ns.ControlLoop(controller=Predictive(horizon=3.0, limits=limits), period=0.05),
        plant=ns.Plant(start={"base.y": 0.4}, sensors=sensors, seed=3),
    )
    assert abs(run["base.y"][-1]) < 0.03 and abs(run["base.x"][-1] - 12.0) < 0.05
    assert np.max(np.abs(np.diff(run["front.steering_rate"]) / np.diff(run.t))) <= 4.0 + 1e-9
    assert np.max(np.abs(run["front.steer.angle"])) <= 0.6


def test_limits_of_speeds_are_kept_ahead(system_of):
    """The reference is faster than it may be: it lags, and catches up."""
    run = ns.track(
        system_of("differential-robot"),
        ns.paths.Line(start=(0, 0), end=(2, 0)),
        timing=ns.timing.Quintic(duration=4.0),
        controller=ns.ControlLoop(
            controller=Predictive(
                limits=TORQUES | {"base.vx": (-0.1, 0.55), "left.torque*left.rate": 1.0}
            ),
            period=0.05,
        ),
        duration=7.0,
    )
    assert 0.54 < np.max(run["base.vx"]) < 0.55 * (1 + 1e-3)
    assert 0.95 < np.max(np.abs(run["left.torque"] * run["left.rate"])) < 1.0 + 1e-3
    assert run["base.x"][-1] == pytest.approx(2.0, abs=0.01)


def test_what_comes_too_late_is_applied_a_period_later(system_of):
    """No step is in time: each sample takes the second part of the plan before."""
    arm = system_of("manipulator-2r")
    motion = ns.motions.ExpressionMotion(coordinates={"joint1.angle": 0.3, "joint2.angle": 0.0})
    runs = [
        ns.follow(
            arm,
            motion,
            controller=ns.ControlLoop(
                controller=Predictive(horizon=1.0, time_limit=limit), period=0.02
            ),
            duration=2.0,
            start={"joint1.angle": 0.1},
        )
        for limit in (math.inf, 1e-9)
    ]
    assert not runs[0]["predictive.late"].any() and runs[1]["predictive.late"][1:].all()
    for run in runs:
        assert run["joint1.angle"][-1] == pytest.approx(0.3, abs=5e-3)


@pytest.mark.parametrize(
    ("given", "period", "what"),
    [
        ({}, 0.0, "at samples"),
        ({"horizon": -1.0}, 0.1, "horizon"),
        ({"steps": 0}, 0.1, "steps"),
        ({"weights": {"base.z": 1.0}}, 0.1, "base.z"),
        ({"limits": {"left.torqe": 1.0}}, 0.1, "left.torqe"),
        ({"clearance": math.nan}, 0.1, "clearance"),
    ],
)
def test_what_cannot_be_asked_is_refused(system_of, given, period, what):
    with pytest.raises(ns.NoslipError) as caught:
        loop = ns.ControlLoop(controller=Predictive(**given), period=period)
        ns.track(
            system_of("differential-robot"),
            ns.paths.Line(start=(0, 0), end=(1, 0)),
            controller=loop,
        )
    assert what in caught.value.what


def test_it_goes_on_in_other_independent_speeds(system_of):
    """A run may change them: the reference is that of the speeds at hand, the inputs the same."""
    robot = system_of("differential-robot")
    names = "left.rate", "right.rate"
    speeds = tuple(replace(robot.model.independent_speeds[0], name=n, symbol="") for n in names)
    other = ns.compile(ns.derive(replace(robot.model, independent_speeds=speeds)))
    motion = ns.motions.ExpressionMotion(
        coordinates={"base.x": "0.3*t", "base.y": 0.0, "base.angle": 0.0}
    )
    start = ns.complete_start(robot, {"base.vx": 0.2, "base.rate": 0.1})
    found = []
    for system in (robot, other):
        along = Predictive(limits=TORQUES).along(
            robot, motion, reference_start=start.q, duration=2.0
        )
        horizon = _Horizon(along, system)
        horizon.Q = np.array([1.0 if n.startswith("base.") else 0.0 for n in horizon.symbols.names])
        horizon.Q[[n in ("base.vx", "base.rate") for n in horizon.symbols.names]] = 0.0
        own = ns.complete_start(system, {"base.vx": 0.2, "base.rate": 0.1})
        for _ in range(30):
            answer = horizon.answer(0.0, 0.02, np.concatenate([own.q, own.eta]))
        found.append(answer[:2])
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6)
