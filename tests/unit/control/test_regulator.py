"""The linear-quadratic regulator: against Riccati's algebraic equation, its own cost and others."""

import math

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.linalg import solve_continuous_are

import noslip as ns
from noslip.control.lqr import linear_quadratic, linearize_along
from noslip.control.reference_motion import start_on_motion, trace_reference
from noslip.controllers import Tracking
from noslip.forces import Motor
from noslip.joints import Spherical
from noslip.motions import ExpressionMotion, FollowMotion, PathMotion
from noslip.paths import Circle, Line
from noslip.timing import ConstantSpeed

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
POSE = {"platform.x": 20.0, "platform.y": 20.0, "platform.angle": 5.0}
TORQUES = {"torque1": 1.0, "torque2": 1.0}
OFF = {"platform.x": 2e-3, "platform.y": -1e-3, "platform.angle": 4e-3}


def on_path(system, path, speed=0.4, caster=0.0):
    """A motion of the axle along a path, and the state at its start."""
    motion = PathMotion(path=path, timing=ConstantSpeed(speed), **AXLE)
    follow = FollowMotion(motion=motion, reference_start=np.zeros(len(system.coordinates)))
    # the caster trails
    return motion, start_on_motion(system, follow, {"bracket.angle": caster}, system.parameters())


def drive(system, motion, begin, controller, off, duration, limits=None):
    """A run from `off` the reference, by coordinate."""
    law = Tracking(
        motion=motion, controller=controller, reference_start=begin.q, limits=limits or {}
    )
    start = {c.name: float(x) for c, x in zip(system.coordinates, begin.q, strict=True)}
    speeds = zip(system.independent_speeds, begin.eta, strict=True)
    start |= {s.name: float(e) for s, e in speeds}
    for name, by in off.items():
        start[name] += by
    return ns.simulate(
        system, duration=duration, start=start, inputs=law, samples=4001, rtol=1e-10, atol=1e-10
    )


def pose_errors(run):
    """Along i and j of the reference platform, and turned."""
    x, y, turned = (
        run[f"platform.{k}"] - run[f"reference.platform.{k}"] for k in ("x", "y", "angle")
    )
    c, s = (f(run["reference.platform.angle"]) for f in (np.cos, np.sin))
    return c * x + s * y, -s * x + c * y, turned


def cost(run, feed_forward):
    """∫ xᵀQx + (u − u_r)ᵀR(u − u_r) dt of the weights above."""
    total = sum(w * e**2 for w, e in zip(POSE.values(), pose_errors(run), strict=True))
    for name, weight in TORQUES.items():
        total = total + weight * (run[name] - feed_forward[name]) ** 2
    return simpson(total, x=run.t)


def regulator(system, motion, begin, duration, **changes):
    given = {"state_weights": POSE, "input_weights": TORQUES, **changes}
    return linear_quadratic(system, motion, reference_start=begin.q, duration=duration, **given)


def test_gains_of_a_set_point_solve_the_algebraic_equation(arm):
    """P of an arm at rest, by another route: K of Riccati's algebraic equation."""
    motion = ExpressionMotion(coordinates={"joint1.angle": 0.5, "joint2.angle": -0.4})
    q = np.array([0.5, -0.4])
    weights = {"joint1.angle": 100.0, "joint2.angle": 60.0, "joint1.rate": 1.0}
    torques = {"tau1": 0.2, "tau2": 0.5}
    found = linear_quadratic(
        arm,
        motion,
        reference_start=q,
        duration=20.0,
        state_weights=weights,
        input_weights=torques,
        samples=21,
    )
    line = linearize_along(arm, motion, reference_start=q, duration=20.0, samples=21)
    A, B = line.A[0], line.B[0]
    P = solve_continuous_are(A, B, np.diag([100.0, 60.0, 1.0, 0.0]), np.diag([0.2, 0.5]))
    assert found.costs[0] == pytest.approx(P, rel=1e-6, abs=1e-6)
    assert np.max(np.linalg.eigvals(A - B @ found.gains[0]).real) < -1.0
    law = Tracking(motion=motion, controller=found, reference_start=q, limits={})
    start = {"joint1.angle": 0.9, "joint2.angle": -1.0}
    run = ns.simulate(arm, duration=8.0, start=start, inputs=law)
    assert run.q[-1] == pytest.approx(q, abs=1e-5)


def test_the_linearization_on_a_circle_is_constant_and_that_by_hand(agv):
    """Across the wheels (platform axis i) ė_i = ω e_j − v e_θ + …, with e in turning axes."""
    motion, begin = on_path(agv, Circle(radius=2.0))
    line = linearize_along(agv, motion, reference_start=begin.q, duration=1.0, samples=4)
    assert line.A.shape == (4, 9, 9) and line.B.shape == (4, 9, 2)
    rate = 0.4 / 2.0
    assert line.A[:, 0, 1] == pytest.approx(rate, abs=1e-9)
    assert line.A[:, 0, 2] == pytest.approx(-0.4, abs=1e-9)
    assert line.A[:, 1, 0] == pytest.approx(-rate, abs=1e-9)


def test_the_cost_is_that_of_the_riccati_equation(agv):
    """xᵀP x in the limit of small starts x.

    The mean of the costs of x and −x, over xᵀP x, is 1 + c₂ h² + c₄ h⁴ + … for starts of size h.
    """
    # the caster as it stays on the circle: (a + b) cos ψ − R sin ψ = d
    p = agv.model.parameter_values()
    arm = p["a"] + p["b"]
    caster = math.atan2(arm, 2.0) - math.asin(p["d"] / math.hypot(arm, 2.0))
    motion, begin = on_path(agv, Circle(radius=2.0), caster=caster)
    controller = regulator(agv, motion, begin, 25.0)
    still = drive(agv, motion, begin, controller, {}, 25.0)
    c, s = math.cos(begin.q[2]), math.sin(begin.q[2])
    x, y, angle = OFF.values()
    off = np.array([c * x + s * y, -s * x + c * y, angle, *np.zeros(6)])
    predicted = off @ controller.costs[0] @ off

    def mean(h):
        runs = [
            drive(agv, motion, begin, controller, {n: z * by for n, by in OFF.items()}, 25.0)
            for z in (h, -h)
        ]
        return sum(cost(run, still) for run in runs) / (2 * h**2 * predicted)

    far, near, nearest = (mean(h) for h in (4.0, 2.0, 1.0))
    # errors fall to a quarter with halved starts; without h² and h⁴ nothing is left
    assert (far - 1) / (near - 1) == pytest.approx(4.0, rel=1e-3)
    assert (near - 1) / (nearest - 1) == pytest.approx(4.0, rel=1e-3)
    assert (64 * nearest - 20 * near + far) / 45 == pytest.approx(1.0, rel=3e-9)


def test_what_cannot_be_regulated_is_refused(agv):
    motion, begin = on_path(agv, Circle(radius=2.0))
    cases = {
        "no 'platform.z' to weight": ({"state_weights": {"platform.z": 1.0}}, "platform"),
        "weight of 'platform.x' is -1": ({"state_weights": {"platform.x": -1.0}}, "0 or more"),
        "weight of 'torque2' is 0": ({"input_weights": TORQUES | {"torque2": 0.0}}, "positive"),
        "'torque2' has no weight": ({"input_weights": {"torque1": 1.0}}, "torque1, torque2"),
        "of samples is 3, expected 4 to 201": ({"samples": 3}, "samples=61"),
    }
    for what, (changes, fix) in cases.items():
        with pytest.raises(ns.SimulationError, match=what) as caught:
            regulator(agv, motion, begin, 5.0, **changes)
        assert "linear-quadratic control of model 'agv'" in caught.value.where
        assert fix in caught.value.fix
    nowhere = np.full(len(begin.q), np.nan)
    with pytest.raises(ns.SimulationError, match="reference_start is"):
        linear_quadratic(
            *(agv, motion),
            reference_start=nowhere,
            duration=5.0,
            state_weights=POSE,
            input_weights=TORQUES,
        )
    with pytest.raises(ns.SimulationError, match="duration is 0 s") as caught:
        regulator(agv, motion, begin, 0.0)
    assert "time that the motion takes" in caught.value.fix


def test_other_independent_speeds_are_translated_or_refused(agv, arm):
    """The same law where the run has other independent speeds than the gains."""
    motion, begin = on_path(agv, Circle(radius=2.0))
    controller = regulator(agv, motion, begin, 5.0, samples=11)
    law = Tracking(motion=motion, controller=controller, reference_start=begin.q, limits={})
    start = {c.name: float(x) for c, x in zip(agv.coordinates, begin.q, strict=True)}
    start |= {"platform.x": 2.05}
    other = agv.in_speeds(("platform.vy", "platform.rate"))
    runs = [ns.simulate(s, duration=3.0, start=start, inputs=law) for s in (agv, other)]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-7)
    motion = ExpressionMotion(coordinates={"joint1.angle": 0.5, "joint2.angle": -0.4})
    with pytest.raises(ns.SimulationError, match="for the independent speed 'wheel1") as caught:
        controller.forces(arm, trace_reference(arm, motion))
    assert "manipulator-2r" in caught.value.where
    assert "linear_quadratic(system" in caught.value.fix


def test_quaternions_are_refused():
    b = ns.ModelBuilder(name="top", gravity=(0.0, 0.0, 0.0), description="A body about a point")
    b.body("top", mass=1.0, inertia=(1.0, 2.0, 3.0))
    b.joint("pivot", Spherical(), parent="world", child="top")
    for k in "xyz":
        b.input(f"tau_{k}", "N*m", "torque")
        b.force(Motor(name=f"motor_{k}", speed=f"pivot.w{k}", input=f"tau_{k}"))
    system = ns.compile(ns.derive(b.build()))
    with pytest.raises(ns.SimulationError, match="orientations as quaternions") as caught:
        linear_quadratic(
            system,
            ExpressionMotion(coordinates={}),
            reference_start=np.array([1.0, 0.0, 0.0, 0.0]),
            duration=1.0,
            state_weights={},
            input_weights={f"tau_{k}": 1.0 for k in "xyz"},
        )
    assert "'top'" in caught.value.where and "revolute or planar" in caught.value.fix


def test_costs_without_bound_are_refused(system_of):
    """Forces alone cannot keep a trailer from folding in reverse."""
    system = system_of("tractor-trailer")
    motion = PathMotion(
        path=Line((0.0, 0.0), (2000.0, 0.0)),
        timing=ConstantSpeed(5.0),
        reverse=True,
        steering="steer.angle",
        wheelbase="l1",
    )
    with pytest.raises(ns.SimulationError, match="no bounded solution") as caught:
        linear_quadratic(
            system,
            motion,
            reference_start=np.array([0.0, 0.0, math.pi, 0.0, 0.0]),
            duration=400.0,
            state_weights={"hinge.angle": 1.0},
            input_weights={f"F_u{k}": 1e-6 for k in (1, 2, 3)},
            samples=5,
        )
    assert "tractor-trailer" in caught.value.where and "inputs can move" in caught.value.fix


def test_saturated_torques_take_longer(agv):
    motion, begin = on_path(agv, Circle(radius=2.0))
    controller = regulator(agv, motion, begin, 30.0)
    off = {"platform.x": 0.15, "platform.y": -0.2, "platform.angle": 0.3}
    for limit in (math.inf, 0.2):
        limits = {"torque1": limit, "torque2": limit}
        run = drive(agv, motion, begin, controller, off, 30.0, limits)
        most = max(np.max(np.abs(run[name])) for name in TORQUES)
        assert most > 0.2 if math.isinf(limit) else most == limit
        assert max(abs(e[-1]) for e in pose_errors(run)) < 1e-3
