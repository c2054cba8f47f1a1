"""Steered vehicles come back to their path, forward and in reverse, with and without a trailer."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import noslip as ns
from noslip.analysis.inverse import FollowMotion, trace_reference
from noslip.analysis.motion import ExpressionMotion
from noslip.analysis.scenario import start_on_motion
from noslip.control.controllers import trailer
from noslip.control.controllers.base import AbstractSteeringController, FeedForward
from noslip.control.controllers.steered import SteeredTracking
from noslip.control.controllers.tracking import Tracking
from noslip.control.controllers.trailer import TrailerTracking
from noslip.control.motions.trailer import TrailerMotion
from noslip.control.paths.curves import Circle, Line, Sine
from noslip.control.timing.laws import ConstantSpeed
from noslip.control.track import track

#: Steering of each vehicle for `track`, and the scale of its errors, m.
VEHICLES = {
    "tricycle": ({"steering": "steer.angle", "wheelbase": "ell"}, "frame", 1.0),
    "tractor-trailer": ({"steering": "steer.angle", "wheelbase": "l1"}, "tractor", 3.0),
}
TRAILER = {"steering": "steer.angle", "hinge": "hinge.angle", "hitch": "c", "trailer": "l2"}
FOLDED = math.radians(60.0)


@pytest.fixture(scope="module")
def systems():
    return {name: ns.compile(ns.derive(ns.load(name))) for name in VEHICLES}


def steered(scale, steering, **changes):
    """Errors decay over a way of the order of the scale."""
    gains = {"kx": 0.5 / scale, "ky": 1 / scale**2, "ktheta": 2 / scale}
    return SteeredTracking(**steering, **gains, **changes)


def disturbed(system, path, base, scale, steering, reverse=False):
    """Off by half the scale and half a radian."""
    options = {"timing": ConstantSpeed(scale), "reverse": reverse, "duration": 0.1}
    run = track(system, path, **steering, **options).trajectory
    return {
        f"{base}.x": run[f"{base}.x"][0] - 0.3 * scale,
        f"{base}.y": run[f"{base}.y"][0] + 0.4 * scale,
        f"{base}.angle": run[f"{base}.angle"][0] - 0.5,
    }


@pytest.mark.parametrize("shape", ["circle", "sine"])
@pytest.mark.parametrize(
    ("name", "reverse"), [("tricycle", False), ("tricycle", True), ("tractor-trailer", False)]
)
def test_disturbed_starts_converge(systems, name, reverse, shape):
    system = systems[name]
    steering, base, scale = VEHICLES[name]
    path = Circle(radius=5 * scale, turns=3.0)
    if shape == "sine":
        path = Sine(amplitude=scale, wave_number=0.5 / scale, extent=40 * scale)
    result = track(
        system,
        path,
        timing=ConstantSpeed(scale),
        controller=steered(scale, steering),
        start=disturbed(system, path, base, scale, steering, reverse),
        duration=25.0,
        reverse=reverse,
        **steering,
    )
    assert abs(result.across[0]) > 0.2 * scale
    assert math.hypot(result.along[-1], result.across[-1]) < 1e-4 * scale
    assert abs(result.heading[-1]) < 1e-4


def test_the_error_across_obeys_its_equation_over_the_way(systems):
    """y″ + k_θ y′ + k_y y = 0, for a small error on a line and a fast steering."""
    steering, base, _ = VEHICLES["tricycle"]
    controller = SteeredTracking(**steering, ky=1.0, ktheta=2.0, kdelta=400.0, kv=400.0)
    result = track(
        systems["tricycle"],
        Line((0.0, 0.0), (30.0, 0.0)),
        timing=ConstantSpeed(2.0),
        controller=controller,
        start={f"{base}.y": 1e-4},
        duration=5.0,
        **steering,
    )
    way = 2.0 * result.trajectory.t
    assert result.across == pytest.approx(1e-4 * (1 + way) * np.exp(-way), abs=1.5e-6)


def test_the_lyapunov_function_decreases(systems):
    steering, base, _ = VEHICLES["tricycle"]
    controller = SteeredTracking(**steering, ky=1.0, ktheta=2.0, kdelta=50.0, kv=50.0)
    result = track(
        systems["tricycle"],
        Line((0.0, 0.0), (30.0, 0.0)),
        timing=ConstantSpeed(1.0),
        controller=controller,
        start={f"{base}.x": -1.0, f"{base}.y": 1.0, f"{base}.angle": 0.8},
        duration=15.0,
        **steering,
    )
    distance = result.along**2 + result.across**2
    V = 0.5 * distance + 1 - np.cos(result.heading)
    later = result.trajectory.t > 0.3
    assert V[0] > 1.0 and V[-1] < 1e-6
    assert np.max(np.diff(V[later])) < 1e-9


def test_saturated_steering_takes_longer(systems):
    """A slow steering and a weak drive still come back, after a wider swing."""
    system = systems["tractor-trailer"]
    steering, base, scale = VEHICLES["tractor-trailer"]
    path = Circle(radius=15.0, turns=3.0)
    start = disturbed(system, path, base, scale, steering)
    after = {}
    for limits in ({}, {"steering_rate": 0.25, "F_u1": 2000.0, "F_u2": 2000.0, "F_u3": 2000.0}):
        result = track(
            system,
            path,
            timing=ConstantSpeed(scale),
            controller=steered(scale, steering),
            start=start,
            limits=limits,
            duration=40.0,
            **steering,
        )
        rate = np.max(np.abs(result.trajectory["steering_rate"]))
        assert rate > 0.25 if not limits else rate == 0.25
        assert math.hypot(result.along[-1], result.across[-1]) < 1e-3
        after[len(limits)] = np.max(np.abs(result.across[len(result.across) // 20 :]))
    assert after[4] > after[0]


def test_the_rate_of_a_steering_rate_is_its_derivative(systems):
    """ẇ given with w is the derivative of w along the run."""
    steering, base, scale = VEHICLES["tractor-trailer"]
    system, path = systems["tractor-trailer"], Sine(amplitude=3.0, wave_number=0.15, extent=90.0)
    result = track(
        system,
        path,
        timing=ConstantSpeed(scale),
        controller=steered(scale, steering),
        start=disturbed(system, path, base, scale, steering),
        duration=4.0,
        samples=8001,
        rtol=1e-11,
        atol=1e-11,
        **steering,
    )
    run = result.trajectory
    w, given = run["steering_rate"], run["steering_rate_rate"]
    found = (w[2:] - w[:-2]) / (run.t[2:] - run.t[:-2])
    assert found == pytest.approx(given[1:-1], abs=1e-4 * np.max(np.abs(given)))


def test_a_sampled_steering_goes_on_without_jumps(systems):
    steering, base, scale = VEHICLES["tractor-trailer"]
    system, path = systems["tractor-trailer"], Circle(radius=15.0, turns=3.0)
    result = track(
        system,
        path,
        timing=ConstantSpeed(scale),
        controller=steered(scale, steering, kdelta=2.0, kv=2.0),
        start=disturbed(system, path, base, scale, steering),
        period=0.05,
        duration=30.0,
        samples=6001,
        **steering,
    )
    w = result.trajectory["steering_rate"]
    most = np.max(np.abs(result.trajectory["steering_rate_rate"]))
    assert np.max(np.abs(np.diff(w))) <= 1.01 * most * 30.0 / 6000
    # a hold adds an offset of the order of the period, not a divergence
    assert math.hypot(result.along[-1], result.across[-1]) < 0.05


# trailers


def back_up(system, path, controller, fold, *, duration=80.0, limits=None, period=0.0):
    """A run of the trailer's axle along the path, from an articulation off by `fold` rad."""
    motion = TrailerMotion(path=path, timing=ConstantSpeed(1.5), wheelbase="l1", **TRAILER)
    follow = FollowMotion(motion=motion, reference_start=np.zeros(len(system.coordinates)))
    begin = start_on_motion(system, follow, {}, system.parameters())
    law = Tracking(
        motion=motion,
        controller=controller,
        reference_start=begin.q,
        limits=limits or {},
        period=period,
    )
    start = {c.name: float(x) for c, x in zip(system.coordinates, begin.q, strict=True)}
    start |= {"tractor.vx": float(begin.eta[0])}
    start["hinge.angle"] += fold
    run = ns.simulate(system, duration=duration, start=start, inputs=law)
    off = {c.name: run[c.name] - run[f"reference.{c.name}"] for c in system.coordinates}
    return run, off


PATHS = {
    "line": Line((0.0, 0.0), (150.0, 0.0)),
    "circle": Circle(radius=25.0),
    "tight circle": Circle(radius=7.0, turns=3.0),
    "sine": Sine(amplitude=3.0, wave_number=0.1, extent=150.0),
    "slalom": Sine(amplitude=5.0, wave_number=0.15, extent=150.0),
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("fold", [0.4, -0.4])
def test_backing_up_recovers_from_a_folded_start(systems, path, fold):
    run, off = back_up(systems["tractor-trailer"], path, TrailerTracking(**TRAILER), fold)
    assert np.max(np.abs(run["hinge.angle"] - run["reference.hinge.angle"])) < FOLDED
    assert np.max(np.abs(run["hinge.angle"])) < math.radians(70.0)
    assert run["tractor.vx"][-1] < -0.8
    for name, error in off.items():
        assert abs(error[-1]) < 1e-4, name
    assert np.max(np.abs(run["steer.angle"])) < 1.0


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_backing_up_without_feedback_folds(systems, path):
    run, _ = back_up(systems["tractor-trailer"], path, FeedForward(), 0.4)
    assert np.max(np.abs(run["hinge.angle"])) > math.radians(145.0)


def test_saturated_backing_up_holds_until_the_steering_is_too_slow(systems):
    system, path = systems["tractor-trailer"], PATHS["line"]
    forces = {f"F_u{k}": 1500.0 for k in (1, 2, 3)}
    for limit, folds in ((0.4, False), (0.2, True)):
        limits = {"steering_rate": limit} | forces
        run, off = back_up(system, path, TrailerTracking(**TRAILER), 0.3, limits=limits)
        assert np.max(np.abs(run["steering_rate"])) == limit
        assert (np.max(np.abs(run["hinge.angle"])) > FOLDED) == folds
        assert folds or abs(off["hinge.angle"][-1]) < 1e-3


def test_sampled_backing_up(systems):
    """Looks at 20 Hz are enough to keep the trailer from folding."""
    controller = TrailerTracking(**TRAILER, kdelta=2.0)
    run, off = back_up(systems["tractor-trailer"], PATHS["line"], controller, 0.3, period=0.05)
    assert np.max(np.abs(run["hinge.angle"])) < FOLDED
    assert abs(off["tractor.y"][-1]) < 0.02


def test_the_trailer_follows_forward_too(systems):
    """The base on the path, the trailer from a fold of 0.6 rad."""
    system = systems["tractor-trailer"]
    steering, base, _ = VEHICLES["tractor-trailer"]
    path = Sine(amplitude=3.0, wave_number=0.1, extent=90.0)
    result = track(
        system,
        path,
        timing=ConstantSpeed(2.0),
        controller=TrailerTracking(**TRAILER),
        start={f"{base}.y": 1.0, "hinge.angle": 0.6},
        duration=40.0,
        **steering,
    )
    run = result.trajectory
    assert np.max(np.abs(run["hinge.angle"])) < FOLDED
    assert math.hypot(result.along[-1], result.across[-1]) < 1e-2
    assert abs(run["hinge.angle"][-1] - run["reference.hinge.angle"][-1]) < 1e-3


def test_the_linearization_is_that_of_the_textbook(systems):
    """Trailer axle, heading, fold and steering on a line, by hand."""
    p = systems["tractor-trailer"].model.parameter_values()
    controller = TrailerTracking(**TRAILER)
    for sign in (1.0, -1.0):
        A, B = controller.linearization(systems["tractor-trailer"], sign)
        turn = np.array([0.0, 0.0, -1 / p["l2"], -p["c"] / (p["l1"] * p["l2"])])
        fold = turn - np.array([0.0, 0.0, 0.0, 1 / p["l1"]])
        by_hand = sign * np.array([[0.0, 1.0, 0.0, 0.0], turn, fold, np.zeros(4)])
        assert pytest.approx(by_hand, abs=1e-12) == A[1:, 1:]
        # along the line the error decays by itself
        assert A[0] == pytest.approx([-controller.kx, 0, 0, 0, 0], abs=1e-12)
        assert A[1:, 0] == pytest.approx(0.0, abs=1e-12)
        K = controller.gains(systems["tractor-trailer"], sign)
        assert K[0] == pytest.approx(0.0, abs=1e-9)
        assert np.max(np.linalg.eigvals(A - B @ K[None]).real) < -0.05


def test_a_steady_turn_is_that_of_plane_geometry(systems):
    """The hinge is √(R₂² + l₂²) from the center, and √(R₁² + c²)."""
    system = systems["tractor-trailer"]
    p = system.model.parameter_values()
    controller = TrailerTracking(**TRAILER)
    for radius in (50.0, 12.0, -12.0, 5.0):
        turn = controller.steady_turn(system, 1 / radius)
        base = math.copysign(math.sqrt(radius**2 + p["l2"] ** 2 - p["c"] ** 2), radius)
        assert math.tan(turn.steering) == pytest.approx(p["l1"] / base, abs=1e-12)
        fold = -math.atan(p["l2"] / radius) - math.atan(p["c"] / base)
        assert turn.fold == pytest.approx(fold, abs=1e-12)
    with pytest.raises(ns.SimulationError, match="cannot stay on a circle of 0") as caught:
        TrailerTracking(**TRAILER | {"trailer": "0.1*l2"}).steady_turn(system, 1 / 1e-3)
    assert "tractor-trailer" in caught.value.where and "wider turn" in caught.value.fix


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_every_circle_is_stable_with_its_own_gains(systems, sign):
    """The linearization is the derivative of the nonlinear errors, and the gains are its own."""
    system = systems["tractor-trailer"]
    controller = TrailerTracking(**TRAILER)
    straight = controller.gains(system, sign)
    margins = []
    for curvature in (0.02, -0.05, 0.1, 0.2, -0.35):
        A, B = controller.linearization(system, sign, curvature)
        K = controller.gains(system, sign, curvature)
        decay = np.max(np.linalg.eigvals(A - B @ K[None]).real)
        assert decay < -0.08
        margins.append((decay, np.max(np.linalg.eigvals(A - B @ straight[None]).real)))
        mirrored = controller.gains(system, sign, -curvature)
        assert mirrored == pytest.approx(K * [-1, 1, 1, 1, 1], abs=1e-9)
    # those of the line are slower on the sharpest, or no longer stable
    assert margins[-1][1] > 0.6 * margins[-1][0]
    assert (margins[-1][1] > 0) == (sign > 0)


def test_gains_between_the_nodes_are_those_of_the_circle(systems):
    """What is compiled: polynomials of the bend, against the Riccati equation."""
    system = systems["tractor-trailer"]
    controller = TrailerTracking(**TRAILER)
    schedule = trailer._schedule(controller, system)
    length = system.model.parameter_values()["l2"]
    assert 1.0 < schedule.widest <= trailer.WIDEST
    for sign, table in ((1.0, schedule.forward), (-1.0, schedule.reverse)):
        for part in np.linspace(-1.0, 1.0, 9):
            K = controller.gains(system, sign, math.tan(part * schedule.widest) / length)
            assert [np.polyval(row, part) for row in table] == pytest.approx(K, abs=1e-3)


def test_small_errors_on_a_circle_follow_the_linearization(systems):
    """x(s) of the full simulation against exp((A − BK)s), backwards on a circle of 12 m."""
    system = systems["tractor-trailer"]
    controller = TrailerTracking(**TRAILER, kv=200.0, kdelta=200.0)
    path = Circle(radius=12.0, turns=2.0)
    run, off = back_up(system, path, controller, 1e-4, duration=10.0)
    A, B = controller.linearization(system, -1.0, -1 / 12.0)
    K = controller.gains(system, -1.0, -1 / 12.0)
    p = system.model.parameter_values()
    # the way that the base drives
    way = 1.5 * run.t * math.sqrt(12.0**2 + p["l2"] ** 2 - p["c"] ** 2) / 12.0
    # a fold of the trailer about the hinge moves its axle across
    heading = run["reference.tractor.angle"][0] + run["reference.hinge.angle"][0]
    turned = heading + 1e-4
    gap = -p["l2"] * np.array(
        [math.cos(turned) - math.cos(heading), math.sin(turned) - math.sin(heading)]
    )
    axes = np.array(
        [[math.cos(heading), math.sin(heading)], [-math.sin(heading), math.cos(heading)]]
    )
    x0 = np.array([*(axes @ gap), 1e-4, 1e-4, 0.0])
    expected = np.array([expm((A - B @ K[None]) * s) @ x0 for s in way])
    assert off["hinge.angle"] == pytest.approx(expected[:, 3], abs=2e-7)
    assert off["steer.angle"] == pytest.approx(expected[:, 4], abs=2e-7)


def test_the_motion_of_the_trailer_is_admissible(systems):
    system = systems["tractor-trailer"]
    for path in PATHS.values():
        run, off = back_up(system, path, FeedForward(), 0.0, duration=10.0)
        assert max(np.max(np.abs(e)) for e in off.values()) < 1e-5
        p = run.parameters
        heading = run["tractor.angle"] + run["hinge.angle"]
        x = run["tractor.x"] - p["c"] * np.cos(run["tractor.angle"]) - p["l2"] * np.cos(heading)
        on_path = np.array(
            ca.Function("r", [s := ca.SX.sym("s")], [path.position(s)])(
                run["path.parameter"][None, :]
            )
        )
        assert x == pytest.approx(on_path[0], abs=1e-5)


# errors


def test_what_cannot_be_steered_is_refused(systems):
    tractor = systems["tractor-trailer"]
    steering, _, _ = VEHICLES["tractor-trailer"]
    options = {"timing": ConstantSpeed(1.0), "duration": 1.0}
    wrong = SteeredTracking(steering="ster.angle", wheelbase="l1")
    with pytest.raises(ns.SimulationError, match=r"no coordinate 'ster\.angle'") as caught:
        track(tractor, Circle(radius=15.0), controller=wrong, **steering, **options)
    assert "tractor-trailer" in caught.value.where and "steer.angle" in caught.value.fix
    lhd = ns.compile(ns.derive(ns.load("lhd")))
    motion = ExpressionMotion(coordinates={c.name: 0.1 for c in lhd.coordinates})
    wrong = SteeredTracking(steering="waist.angle", wheelbase=1.0)
    with pytest.raises(ns.SimulationError, match="4 degrees of freedom, but its speed") as caught:
        wrong.forces(lhd, trace_reference(lhd, motion))
    assert "'lhd'" in caught.value.where and "PoseTracking" in caught.value.fix


def test_a_hitch_that_folds_the_reference_is_refused(systems):
    motion = TrailerMotion(
        path=PATHS["line"], timing=ConstantSpeed(1.0), wheelbase="l1", reverse=False, **TRAILER
    )
    with pytest.raises(ns.SimulationError, match=r"0\.6 m behind the axle") as caught:
        motion.trace(systems["tractor-trailer"])
    assert "tractor-trailer" in caught.value.where and "PathMotion" in caught.value.fix
    ahead = TrailerMotion(
        path=PATHS["line"], timing=ConstantSpeed(1.0), wheelbase="l1", **TRAILER | {"hitch": "-c"}
    )
    with pytest.raises(ns.SimulationError, match="in reverse") as caught:
        ahead.trace(systems["tractor-trailer"])
    assert "behind the axle" in caught.value.fix


class FromSpeeds(AbstractSteeringController):
    """Feeds a speed back into a speed input, which has no exact rate."""

    def forces(self, system, reference):
        return reference.forces

    def speed_inputs(self, system, reference):
        return -system.kinematics.eta[0]


def test_a_steering_rate_from_speeds_is_refused(systems):
    with pytest.raises(ns.SimulationError, match="'steering_rate' is fed back from") as caught:
        back_up(systems["tractor-trailer"], PATHS["line"], FromSpeeds(), 0.0)
    assert "tractor-trailer" in caught.value.where and "coordinates" in caught.value.fix


def test_track_backs_a_trailer_up(systems):
    """The trailer's axle on the path by `track` itself, with its errors."""
    system = systems["tractor-trailer"]
    request = {
        "timing": ConstantSpeed(1.5),
        "steering": "steer.angle",
        "wheelbase": "l1",
        "hinge": "hinge.angle",
        "hitch": "c",
        "trailer": "l2",
        "reverse": True,
    }
    circle = Circle(radius=12.0)
    still = track(system, circle, controller=TrailerTracking(**TRAILER), **request)
    assert still.tracking_error < 1e-7
    fold = still.trajectory["hinge.angle"][0]
    start = {"hinge.angle": fold - 0.2}
    held = track(system, circle, controller=TrailerTracking(**TRAILER), start=start, **request)
    # folding about the hinge moves the axle by a chord of l2
    assert math.hypot(held.along[0], held.across[0]) == pytest.approx(10 * math.sin(0.1), rel=1e-9)
    assert math.hypot(held.along[-1], held.across[-1]) < 1e-2
    assert not held.lost
    # nothing leads back without feedback
    free = track(system, circle, start=start, **request)
    assert free.lost and "lost" in free.summary()
    weights = {"tractor.x": 0.1, "tractor.y": 0.01, "tractor.angle": 0.3, "hinge.angle": 1.0}
    weights |= {"steer.angle": 0.3, "tractor.vx": 1.0, "steering_rate_rate": 1.0}
    weights |= {f"F_u{k}": 1e-6 for k in (1, 2, 3)}
    regulator = ns.Regulator(weights=weights, samples=21)
    held = track(system, circle, controller=regulator, start=start, **request)
    assert math.hypot(held.along[-1], held.across[-1]) < 1e-2


def test_paths_that_trailers_cannot_follow_are_refused_with_their_place(systems):
    tractor = systems["tractor-trailer"]
    back = {
        "timing": ConstantSpeed(1.0),
        "steering": "steer.angle",
        "wheelbase": "l1",
        "hinge": "hinge.angle",
        "hitch": "c",
        "trailer": "l2",
        "reverse": True,
    }
    # tan δ = l1/√(R² + l2² − c²) on a circle
    p = tractor.model.parameter_values()
    angle = math.atan(p["l1"] / math.sqrt(3.0**2 + p["l2"] ** 2 - p["c"] ** 2))
    what = f"needs a steering angle of {angle:.4g} rad, more than 0.3, .* m along it"
    with pytest.raises(ns.SimulationError, match=what) as caught:
        track(tractor, Circle(radius=3.0), largest_steering=0.3, **back)
    assert "tractor-trailer" in caught.value.where and "wider path" in caught.value.fix
    jump = ns.Polyline(points=((0.0, 0.0), (20.0, 0.0), (20.0, 20.0)), radius=8.0)
    for request in (back, {k: v for k, v in back.items() if k not in ("hinge", "reverse")}):
        request = {
            k: v for k, v in request.items() if "hinge" in request or k not in ("hitch", "trailer")
        }
        with pytest.raises(ns.SimulationError, match=r"jumps by 0\.125 1/m 12 m along") as caught:
            track(tractor, jump, **request)
        assert "steering angle would have to jump" in caught.value.what
        assert "tractor-trailer" in caught.value.where and "clothoid" in caught.value.fix
    with pytest.raises(ns.SimulationError, match="but nothing steers") as caught:
        track(tractor, Circle(radius=12.0), **back | {"steering": ""})
    assert "tractor-trailer" in caught.value.where and "wheelbase" in caught.value.fix
    with pytest.raises(ns.SimulationError, match="which the motion does not prescribe") as caught:
        track(tractor, Circle(radius=12.0), timing=ConstantSpeed(1.0))
    assert "tractor-trailer" in caught.value.where and "as the steering" in caught.value.fix
