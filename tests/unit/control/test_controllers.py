"""Controllers bring disturbed starts back to the reference, continuous, sampled and saturated."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import simpson

import noslip as ns
from noslip.analysis.motion import ExpressionMotion
from noslip.control.controllers.base import CustomController
from noslip.control.controllers.joints import ComputedTorque, ProportionalDerivative
from noslip.control.controllers.pose import PoseTracking
from noslip.control.controllers.tracking import Tracking
from noslip.control.paths.curves import Circle, Line, Sine
from noslip.control.timing.laws import ConstantSpeed, Quintic
from noslip.control.track import track

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}


@pytest.fixture(scope="module")
def agv():
    return ns.compile(ns.derive(ns.load("agv")))


@pytest.fixture(scope="module")
def arm():
    return ns.compile(ns.derive(ns.load("manipulator-2r")))


def at_rest(system, **coordinates):
    """A set point as a motion, and its configuration."""
    places = {name.replace("__", "."): value for name, value in coordinates.items()}
    motion = ExpressionMotion(coordinates={n: float(x) for n, x in places.items()})
    q = np.array([places[c.name] for c in system.coordinates])
    return motion, q


def test_axle_point_follows_the_circle_open_loop(agv):
    """The axle's midpoint on the circle: wheel angles k β of the closed form."""
    result = track(agv, Circle(radius=2.0), timing=Quintic(60.0), rtol=1e-12, atol=1e-12, **AXLE)
    run = result.trajectory
    assert result.tracking_error < 1e-10
    p = agv.model.parameter_values()
    turns = [-(2.0 - s * p["l"] / 2) / p["r"] * 2 * math.pi for s in (1, -1)]
    ends = [run["wheel1.angle"][-1], run["wheel2.angle"][-1]]
    assert ends == pytest.approx(turns, abs=1e-8)


def test_a_point_that_must_slip_is_refused(agv):
    with pytest.raises(ns.SimulationError, match="the path is not admissible") as caught:
        track(agv, Circle(radius=2.0), timing=Quintic(60.0), direction=(0.0, 1.0, 0.0))
    assert "m along it" in caught.value.what
    assert "agv" in caught.value.where and "cannot move sideways" in caught.value.fix


def test_models_without_a_planar_base_are_refused(arm):
    with pytest.raises(ns.SimulationError, match="no planar joint with the ground") as caught:
        track(arm, Circle(radius=2.0), timing=Quintic(60.0))
    assert "manipulator-2r" in caught.value.where and "ExpressionMotion" in caught.value.fix


@pytest.mark.parametrize(
    "path", [Circle(radius=2.0), Sine(amplitude=0.5, wave_number=1.0, extent=9.0)]
)
def test_pose_tracking_converges_from_a_disturbed_start(agv, path):
    controller = PoseTracking(**AXLE)
    start = {"platform.angle": 0.3 - math.pi / 2 * (not isinstance(path, Circle))}
    reference = track(agv, path, timing=ConstantSpeed(0.4), duration=1.0, **AXLE).trajectory
    start = {
        "platform.x": reference["platform.x"][0] + 0.15,
        "platform.y": reference["platform.y"][0] - 0.1,
        "platform.angle": reference["platform.angle"][0] + 0.4,
    }
    result = track(
        agv,
        path,
        timing=ConstantSpeed(0.4),
        controller=controller,
        start=start,
        duration=22.0,
        **AXLE,
    )
    assert abs(result.across[0]) > 0.05
    assert np.hypot(result.along, result.across)[-1] < 1e-4
    assert abs(result.heading[-1]) < 1e-4


def test_pose_tracking_survives_saturation_and_sampling(agv):
    controller = PoseTracking(kv=5.0, **AXLE)
    shifted = {"platform.x": 2.1, "platform.y": 0.0}
    ends = {}
    for period, limit in ((0.0, math.inf), (0.0, 0.15), (0.02, 0.15)):
        limits = {"torque1": limit, "torque2": limit}
        result = track(
            agv,
            Circle(radius=2.0),
            timing=ConstantSpeed(0.3),
            controller=controller,
            start=shifted,
            limits=limits,
            period=period,
            duration=40.0,
            **AXLE,
        )
        torque = np.max(np.abs(result.trajectory["torque1"]))
        assert torque <= limit
        ends[period, limit] = np.hypot(result.along, result.across)[-1]
    assert ends[0.0, math.inf] < 1e-4
    assert ends[0.0, 0.15] < 1e-3
    # a hold adds an offset of the order of the period, not a divergence
    assert ends[0.02, 0.15] < 5e-3


def test_sampled_inputs_are_held_between_looks(agv):
    result = track(
        agv,
        Line(start=(0.0, 0.0), end=(5.0, 0.0)),
        timing=ConstantSpeed(0.3),
        controller=PoseTracking(**AXLE),
        start={"platform.y": 0.05},
        period=0.1,
        duration=1.0,
        samples=101,
        **AXLE,
    )
    torque = result.trajectory["torque1"]
    held = torque[:100].reshape(10, 10)
    assert np.max(np.ptp(held[:, 1:], axis=1)) == 0.0
    assert np.max(np.abs(np.diff(held[:, 5]))) > 0.0


def test_computed_torque_error_obeys_its_linear_equation(arm):
    """ë + kd ė + kp e = 0 exactly, along a moving reference."""
    motion = ExpressionMotion(
        coordinates={"joint1.angle": "0.3 + 0.5*sin(t)", "joint2.angle": "0.9 - 0.4*cos(2*t)"}
    )
    law = Tracking(
        motion=motion,
        controller=ComputedTorque(kp=9.0, kd=6.0),
        reference_start=np.array([0.3, 0.5]),
        limits={},
    )
    start = {"joint1.angle": 0.5, "joint2.angle": 0.2, "joint1.rate": 0.5, "joint2.rate": 0.0}
    run = ns.simulate(arm, duration=3.0, start=start, inputs=law, rtol=1e-12, atol=1e-12)
    for k, e0 in ((1, 0.2), (2, -0.3)):
        error = run[f"joint{k}.angle"] - run[f"reference.joint{k}.angle"]
        closed = e0 * (1 + 3 * run.t) * np.exp(-3 * run.t)
        assert error == pytest.approx(closed, abs=1e-10)


@pytest.mark.parametrize("gravity", [9.81, 0.0])
def test_pd_with_gravity_compensation_is_lyapunov_stable(arm, gravity):
    """V = ½ eᵀKp e + ½ q̇ᵀD q̇ decreases with V̇ = −q̇ᵀKd q̇ [DeSantis1994, 7.13–7.16]."""
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)
    kp, kd = (30.0, 20.0), (6.0, 4.0)
    controller = ProportionalDerivative(kp=kp, kd=kd, gravity=True)
    law = Tracking(motion=motion, controller=controller, reference_start=q, limits={})
    start = {"joint1.angle": -1.0, "joint2.angle": 1.2, "joint1.rate": 0.5, "joint2.rate": -1.0}
    run = ns.simulate(
        arm,
        duration=5.0,
        start=start,
        inputs=law,
        parameters={"g": gravity},
        samples=20001,
        rtol=1e-12,
        atol=1e-12,
    )
    V = controller.lyapunov(run, q)
    assert V == pytest.approx(0.5 * ((run.q - q) ** 2 @ np.array(kp)) + run.kinetic_energy)
    assert V[0] == pytest.approx(59.4389696122762, rel=1e-12)
    assert np.all(np.diff(V) < 1e-12)
    dissipated = simpson((run.v**2) @ np.array(kd), x=run.t)
    assert V[0] - V[-1] == pytest.approx(dissipated, rel=1e-8)
    assert V[-1] == pytest.approx(2.96508720935026e-09, rel=1e-6)


def test_pd_without_compensation_sags(arm):
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)
    controller = ProportionalDerivative(kp=(30.0, 20.0), kd=(6.0, 4.0))
    law = Tracking(motion=motion, controller=controller, reference_start=q, limits={})
    start = {"joint1.angle": 0.5, "joint2.angle": -0.4}
    run = ns.simulate(arm, duration=8.0, start=start, inputs=law)
    assert run["joint1.angle"][-1] < 0.4


def test_a_law_of_your_own(arm):
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)

    def spring(t: ca.SX, at: ca.SX, v: ca.SX, wanted: ca.SX, speed: ca.SX) -> list[ca.SX]:
        return [30 * (wanted[0] - at[0]) - 6 * v[0], 20 * (wanted[1] - at[1]) - 4 * v[1]]

    mine = Tracking(
        motion=motion, controller=CustomController(law=spring), reference_start=q, limits={}
    )
    theirs = Tracking(
        motion=motion,
        controller=ProportionalDerivative(kp=(30.0, 20.0), kd=(6.0, 4.0)),
        reference_start=q,
        limits={},
    )
    runs = [ns.simulate(arm, duration=2.0, inputs=law) for law in (mine, theirs)]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-12)
    short = CustomController(law=lambda t, at, v, wanted, speed: [0.0])
    law = Tracking(motion=motion, controller=short, reference_start=q, limits={})
    with pytest.raises(ns.SimulationError, match="1 forces for 2 inputs") as caught:
        ns.simulate(arm, duration=1.0, inputs=law)
    assert "manipulator-2r" in caught.value.where and "tau1" in caught.value.fix


def test_wrong_gains_say_what_is_needed(arm, agv):
    motion, q = at_rest(arm, joint1__angle=0.5, joint2__angle=-0.4)
    controller = ProportionalDerivative(kp=(1.0,), kd=(1.0, 1.0))
    law = Tracking(motion=motion, controller=controller, reference_start=q, limits={})
    with pytest.raises(ns.SimulationError, match="1 and 2 gains") as caught:
        ns.simulate(arm, duration=1.0, inputs=law)
    assert "PD control" in caught.value.where and "joint1.rate" in caught.value.fix
    sleigh = ns.compile(ns.derive(ns.load("chaplygin-sleigh")))
    with pytest.raises(ns.SimulationError, match="is not the rate of one coordinate") as caught:
        track(
            sleigh,
            Circle(radius=2.0),
            timing=ConstantSpeed(0.3),
            controller=ComputedTorque(kp=1.0, kd=1.0),
        )
    assert "chaplygin-sleigh" in caught.value.where and "control the pose" in caught.value.fix


def test_steered_vehicles_follow_through_their_steering():
    """The tractor's steering is a speed input: its rate is read from the path's curvature."""
    tractor = ns.compile(ns.derive(ns.load("tractor-trailer")))
    steered = next(i.speed for i in tractor.model.speed_inputs).replace(".rate", ".angle")
    path = Sine(amplitude=3.0, wave_number=0.15, extent=60.0)
    result = track(
        tractor,
        path,
        timing=ConstantSpeed(2.0),
        steering=steered,
        wheelbase="l1",
        duration=20.0,
        rtol=1e-11,
        atol=1e-11,
        inputs=("F_u2",),
    )
    assert result.tracking_error < 1e-7
    assert np.ptp(result.trajectory[steered]) > 0.1


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        (
            {"limits": {"tork": 1.0}, "controller": PoseTracking()},
            "no input 'tork'",
            "torque1",
        ),
        ({"period": -1.0, "controller": PoseTracking()}, "the period is -1.0 s", "positive time"),
        ({"limits": {"torque1": 1.0}}, "belong to a controller, and there is none", "give a"),
        (
            {"inputs": ("torque1", "torque2"), "controller": PoseTracking()},
            "choice of inputs",
            "leave `inputs`",
        ),
    ],
)
def test_options_that_would_be_ignored_are_refused(agv, options, what, fix):
    with pytest.raises(ns.SimulationError, match=what) as caught:
        track(agv, Circle(radius=2.0), timing=ConstantSpeed(0.3), **AXLE, **options)
    assert "agv" in caught.value.where and fix in caught.value.fix


def test_pose_tracking_is_refused_where_it_cannot_work():
    tractor = ns.compile(ns.derive(ns.load("tractor-trailer")))
    with pytest.raises(ns.SimulationError, match="needs two freedoms driven by forces") as caught:
        track(
            tractor,
            Line(start=(0.0, 0.0), end=(9.0, 0.0)),
            timing=ConstantSpeed(1.0),
            steering="steer.angle",
            wheelbase="l1",
            controller=PoseTracking(),
        )
    assert "tractor-trailer" in caught.value.where and "steered vehicles" in caught.value.fix


def test_a_path_too_sharp_for_the_steering_is_refused_with_its_place():
    tractor = ns.compile(ns.derive(ns.load("tractor-trailer")))
    request = {"timing": ConstantSpeed(1.0), "steering": "steer.angle", "wheelbase": "l1"}
    with pytest.raises(ns.SimulationError, match="m along it, which needs a steering") as caught:
        path = Sine(amplitude=3.0, wave_number=0.5, extent=30.0)
        track(tractor, path, largest_steering=0.5, inputs=("F_u2",), **request)
    assert "tractor-trailer" in caught.value.where and "wider path" in caught.value.fix
    straight = Line(start=(0.0, 0.0), end=(9.0, 0.0))
    result = track(tractor, straight, inputs=("F_u2",), **request)
    assert result.tracking_error < 1e-9


def test_two_parallel_lines_joined_by_a_smooth_curve(agv):
    """The other path of [SahaAngeles1991, section 6], open loop."""
    corners = ((0.0, 0.0), (3.0, 0.0), (5.0, 2.0), (8.0, 2.0))
    path = ns.Polyline(points=corners, radius=0.6, blend="clothoid")
    result = track(agv, path, timing=Quintic(40.0), rtol=1e-11, atol=1e-11, **AXLE)
    run = result.trajectory
    assert result.tracking_error < 1e-7
    assert run["platform.y"][0] == pytest.approx(0.0, abs=1e-12)
    assert run["platform.y"][-1] == pytest.approx(2.0, abs=1e-7)
    assert run["platform.angle"][-1] == pytest.approx(run["platform.angle"][0], abs=1e-7)


def test_driving_in_reverse_is_unstable_open_loop_and_held_by_feedback(agv):
    """Backwards the mass center trails the axle: a disturbance grows, pose tracking kills it."""
    circle = Circle(radius=2.0)
    request = {"timing": ConstantSpeed(0.3), "reverse": True, "duration": 25.0, **AXLE}
    rest = {"reference": {"bracket.angle": math.pi - 0.14}}
    nudged = {"wheel1.rate": 5.0}
    open_loop = track(agv, circle, start=nudged, **request, **rest)
    held = track(agv, circle, start=nudged, controller=PoseTracking(), **request, **rest)
    assert open_loop.tracking_error > 0.1
    assert math.hypot(held.along[-1], held.across[-1]) < 1e-3


def test_feedback_takes_no_more_than_three_times_the_steps(agv):
    """A reference that is carried along shows a controller no errors of an integrator's stages."""
    circle, timing = Circle(radius=2.0), Quintic(60.0)
    open_loop = track(agv, circle, timing=timing, **AXLE)
    for controller in (PoseTracking(), ComputedTorque(kp=4.0, kd=4.0)):
        held = track(agv, circle, timing=timing, controller=controller, **AXLE)
        assert held.trajectory.steps < 3 * open_loop.trajectory.steps
        assert held.tracking_error < 1e-9


def test_the_carried_reference_stays_on_the_path(agv):
    """After half an hour it is where the path is, to about the tolerance."""
    path = Circle(radius=2.0, turns=60.0)
    result = track(
        agv,
        path,
        timing=ConstantSpeed(0.4),
        controller=PoseTracking(),
        start={"platform.x": 2.05},
        duration=1800.0,
        **AXLE,
    )
    run = result.trajectory
    # the axle on the circle, heading along it; the mass center is a ahead
    a, angle = run.parameters["a"], run["path.arc_length"] / 2.0
    expected = {
        "x": 2 * np.cos(angle) - a * np.sin(angle),
        "y": 2 * np.sin(angle) + a * np.cos(angle),
        "angle": angle,
    }
    for name, place in expected.items():
        assert run[f"reference.platform.{name}"] == pytest.approx(place, abs=2e-8)
    assert math.hypot(result.along[-1], result.across[-1]) < 2e-8
    # the path's own states are the closed form
    assert run["path.arc_length"] == pytest.approx(0.4 * run.t, abs=1e-8)


def free_motion(roots, t):
    """y of Π (d/dt − root) y = 0 from y = 1, all its derivatives zero."""
    powers = np.vander(roots, increasing=True).T
    weights = np.linalg.solve(powers, np.eye(len(roots))[0])
    return np.real(np.exp(np.outer(t, roots)) @ weights)


@pytest.mark.parametrize("reverse", [False, True])
def test_pose_errors_obey_their_equations(agv, reverse):
    """(d/dt + kv)(d/dt + kx) ahead, and (d/dt + kv)(y″ + kθ v y′ + ky v² y) across."""
    v = 0.5
    request = {
        "timing": ConstantSpeed(v),
        "controller": PoseTracking(),
        "reverse": reverse,
        "duration": 10.0,
        "rtol": 1e-12,
        "atol": 1e-12,
        # the caster trails
        "reference": {"bracket.angle": math.pi if reverse else 0.0},
        **AXLE,
    }
    line = Line(start=(0.0, 0.0), end=(9.0, 0.0))
    base = track(agv, line, **request).trajectory
    start = {name: float(base[name][0]) for name in ("platform.x", "platform.y")}
    ahead = track(agv, line, start=start | {"platform.x": start["platform.x"] - 0.1}, **request)
    expected = free_motion(np.array([-4.0, -1.0]), ahead.trajectory.t)
    assert ahead.along == pytest.approx(-0.1 * expected, abs=1e-9)
    beside = track(agv, line, start=start | {"platform.y": start["platform.y"] + 1e-4}, **request)
    roots = np.array([-4.0, *(v * np.roots([1.0, 3.0, 4.0]))])
    expected = free_motion(roots, beside.trajectory.t)
    assert beside.across == pytest.approx(1e-4 * expected, abs=2e-10)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_lyapunov_function_of_pose_tracking_decreases(agv, reverse):
    """V = ½(e_x² + e_y²) + (1 − cos e_θ)/ky, once the speeds are those of the law."""
    path = Sine(amplitude=0.5, wave_number=1.0, extent=9.0)
    rest = {"reference": {"bracket.angle": math.pi if reverse else 0.0}}
    request = {"timing": ConstantSpeed(0.4), "reverse": reverse, **rest, **AXLE}
    base = track(agv, path, duration=0.1, **request).trajectory
    start = {
        "platform.x": base["platform.x"][0] - 0.3,
        "platform.y": base["platform.y"][0] + 0.4,
        "platform.angle": base["platform.angle"][0] + 1.2,
    }
    held = track(agv, path, controller=PoseTracking(kv=60.0), start=start, duration=20.0, **request)
    V = 0.5 * (held.along**2 + held.across**2) + (1 - np.cos(held.heading)) / 4.0
    later = held.trajectory.t > 0.2
    assert V[0] > 0.2 and V[-1] < 1e-6
    assert np.max(np.diff(V[later])) < 1e-9


def test_a_turning_rate_that_jumps_is_refused_without_feedback(agv):
    """A corner rounded by a circle: its curvature jumps, and the turning rate with it."""
    corner = ns.Polyline(points=((0.0, 0.0), (4.0, 0.0), (4.0, 3.0)), radius=1.0)
    with pytest.raises(ns.SimulationError, match="jumps by 1 1/m 3 m along it") as caught:
        track(agv, corner, timing=ConstantSpeed(0.3), **AXLE)
    assert "no finite forces" in caught.value.what
    assert "'agv'" in caught.value.where and "clothoids, stop there" in caught.value.fix
    # stopped at both ends of the blend, or led back by feedback, it is driven
    whole = ns.parse_timing("schedule:times=0,1,2,3,4,5,6;speeds=0,3,0,pi/2,0,2,0")
    stopped = track(agv, corner, timing=whole, **AXLE)
    assert stopped.tracking_error < 1e-5
    held = track(agv, corner, timing=ConstantSpeed(0.3), controller=PoseTracking(), **AXLE)
    assert 1e-3 < held.tracking_error < 0.05


@pytest.mark.parametrize(
    "make",
    [
        lambda: PoseTracking(kv=-1.0),
        lambda: ns.SteeredTracking(steering="s", wheelbase=1.0, ky=float("nan")),
        lambda: ns.TrailerTracking(
            steering="s", hinge="h", hitch=1.0, trailer=1.0, weights=(1.0, -1.0, 1.0, 1.0)
        ),
        lambda: ComputedTorque(kp=-1.0),
        lambda: ProportionalDerivative(kp=(1.0, -2.0), kd=(1.0, 1.0)),
        lambda: ns.CartesianTracking(body="b", components=("vx",), kd="fast"),
        lambda: ns.AccelerationResolved(kd=-3.0),
    ],
)
def test_gains_that_lead_away_are_refused(make):
    with pytest.raises(ns.SimulationError, match="expected a number of 0 or more") as caught:
        make()
    assert caught.value.where.endswith(("Tracking", "Torque", "Derivative", "Resolved"))
    assert "positive number" in caught.value.fix
