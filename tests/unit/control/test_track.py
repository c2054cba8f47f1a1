"""`track` without feedback: inverse dynamics along a path; and what is refused."""

import copy
import math

import numpy as np
import pytest

import noslip as ns
from noslip.control.controlled_runs import track
from noslip.controllers import PoseTracking
from noslip.engines import native
from noslip.paths import Circle, Line, Sine
from noslip.timing import ConstantSpeed, Quintic

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}


def test_axle_point_follows_the_circle_open_loop(agv):
    """The axle's midpoint on the circle: wheel angles k β of the closed form."""
    run = track(
        agv,
        Circle(radius=2.0),
        follower=ns.Follower(**AXLE),
        timing=Quintic(60.0),
        rtol=1e-12,
        atol=1e-12,
    )
    assert run.tracking_error < 1e-10
    p = agv.model.parameter_values()
    turns = [-(2.0 - s * p["l"] / 2) / p["r"] * 2 * math.pi for s in (1, -1)]
    ends = [run["wheel1.angle"][-1], run["wheel2.angle"][-1]]
    assert ends == pytest.approx(turns, abs=1e-8)
    assert repr(run).startswith("Trajectory of 'agv': ") and f"{run.summary()}\nnext: " in repr(run)


def test_a_point_that_must_slip_is_refused(agv):
    with pytest.raises(ns.SimulationError, match="the path is not admissible") as caught:
        center = {"point": (0.0, 0.0, 0.0), "direction": (0.0, 1.0, 0.0)}
        track(agv, Circle(radius=2.0), follower=ns.Follower(**center), timing=Quintic(60.0))
    assert "m along it" in caught.value.what
    assert "agv" in caught.value.where and "cannot move sideways" in caught.value.fix


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        (
            {"limits": {"tork": 1.0}, "controller": "pose"},
            "no input 'tork'",
            "torque1",
        ),
        ({"period": -1.0, "controller": "pose"}, "the period is -1.0 s", "positive time"),
        ({"limits": {"torque1": 1.0}}, "need a controller, and none is given", "give a"),
        (
            {"inputs": ("torque1", "torque2"), "controller": "pose"},
            "choice of inputs",
            "leave `inputs`",
        ),
    ],
)
def test_options_that_would_be_ignored_are_refused(agv, options, what, fix):
    with pytest.raises(ns.SimulationError, match=what) as caught:
        track(
            agv,
            Circle(radius=2.0),
            follower=ns.Follower(**AXLE),
            timing=ConstantSpeed(0.3),
            controller=ns.ControlLoop(**options),
        )
    assert "agv" in caught.value.where and fix in caught.value.fix


def test_a_path_too_sharp_for_the_steering_is_refused_with_its_place():
    tractor = ns.compile(ns.derive(ns.load("tractor-trailer")))
    request = {"timing": ConstantSpeed(1.0), "controller": ns.ControlLoop(inputs=("F_u2",))}
    steering = {"steering": "steer.angle", "wheelbase": "l1"}
    with pytest.raises(
        ns.SimulationError, match=r"which needs a steering angle of .* m along it"
    ) as caught:
        path = Sine(amplitude=3.0, wave_number=0.5, extent=30.0)
        track(
            tractor,
            path,
            follower=ns.Follower(largest_steering=0.5, **steering),
            **request,
        )
    assert "tractor-trailer" in caught.value.where and "wider path" in caught.value.fix
    straight = Line(start=(0.0, 0.0), end=(9.0, 0.0))
    result = track(tractor, straight, follower=ns.Follower(**steering), **request)
    assert result.tracking_error < 1e-9


def test_a_turning_rate_that_jumps_is_refused_without_feedback(agv):
    """A corner rounded by a circle: its curvature jumps, and the turning rate with it."""
    corners = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0))
    corner = ns.paths.Polyline(points=corners, radius=1.0, blend="circle")
    with pytest.raises(ns.SimulationError, match="jumps by 1 1/m 3 m along it") as caught:
        track(agv, corner, follower=ns.Follower(**AXLE), timing=ConstantSpeed(0.3))
    assert "infinite forces" in caught.value.what
    assert "'agv'" in caught.value.where and "stop there" in caught.value.fix
    # stopped at both ends of the blend, or led back by feedback, it is driven
    whole = ns.timing.parse_timing("schedule:times=0,1,2,3,4,5,6;speeds=0,3,0,pi/2,0,2,0")
    stopped = track(agv, corner, follower=ns.Follower(**AXLE), timing=whole)
    assert stopped.tracking_error < 1e-5
    held = track(
        agv,
        corner,
        follower=ns.Follower(**AXLE),
        controller=PoseTracking(),
        timing=ConstantSpeed(0.3),
    )
    assert 1e-3 < held.tracking_error < 0.05


def test_a_folder_gives_the_errors_back(agv, tmp_path):
    """`read_run` has what `track` returned: path errors, errors, admissibility, columns."""
    run = track(
        agv, Circle(radius=2.0), follower=ns.Follower(**AXLE), timing=Quintic(20.0), samples=41
    )
    read = ns.read_run(ns.write_run(run, tmp_path / "run", plots=False))
    for name in ("x", "y", "along", "across", "heading", "distance"):
        kept, wanted = (getattr(r.path_errors, name) for r in (read, run))
        np.testing.assert_array_equal(kept, wanted)
    assert read.path_errors.length == run.path_errors.length
    assert read.path_errors.to_json() == run.path_errors.to_json()
    assert read.admissibility == run.admissibility
    assert list(read.errors) == list(run.errors) == ["path.position_error", "path.heading_error"]
    assert set(read.columns) == set(run.columns)
    assert read.summary() == run.summary()


def test_a_followed_motion_has_errors_however_it_is_run(agv):
    """`simulate` with the scenario's own law returns what `run_scenario` does."""
    run = ns.run_scenario(agv, duration=2.0)
    scenario = run.scenario
    motion = ns.motions.ExpressionMotion(
        coordinates=scenario.motion,
        definitions=scenario.definitions,
        parameters=scenario.parameters,
    )
    law = ns.motions.FollowMotion(motion=motion, reference_start=np.zeros(len(agv.coordinates)))
    start = ns.start_on_motion(agv, law, dict(scenario.start), agv.parameters({}))
    law = ns.motions.FollowMotion(motion=motion, reference_start=start.q)
    same = ns.simulate(agv, duration=2.0, start=start, inputs=law, samples=scenario.samples)
    assert list(same.errors) == list(run.errors) == [c.name for c in agv.coordinates]
    for name in run.errors:
        np.testing.assert_array_equal(same.errors[name], run.errors[name])
    assert same.tracking_error == run.tracking_error
    assert same.scenario is None and same.path_errors is None


@pytest.mark.parametrize("kind", ["simulate", "batch", "gradient"])
def test_a_path_is_not_followed_from_a_later_time(agv, refuses, kind):
    """The place on the path is a state of the law, which is known where the motion begins."""
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0), timing=ns.timing.Quintic(duration=10.0)
    )
    law = ns.motions.FollowMotion(motion=motion, reference_start=np.zeros(len(agv.coordinates)))
    given = {"duration": 1.0, "inputs": law, "start_time": 3.0}
    runs = {
        "simulate": lambda: ns.simulate(agv, **given),
        "batch": lambda: ns.simulate_batch(agv, count=2, **given),
        "gradient": lambda: ns.gradient(agv, with_respect_to=["r"], terminal="platform.x", **given),
    }
    with refuses(
        ns.SimulationError, "starts at 3 s, but its input law", "model 'agv'", "start_time=0"
    ):
        runs[kind]()


CONTROLLERS = {
    "none": {},
    "pose": {"controller": PoseTracking(), "limits": {"torque1": 2.0}},
    "sampled": {"controller": PoseTracking(), "period": 0.1},
    "lqr": {
        "controller": ns.controllers.Regulator(
            weights={"platform.x": 20.0, "platform.y": 20.0, "torque1": 1.0, "torque2": 1.0},
            samples=9,
        )
    },
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_second_track_with_equal_settings_compiles_nothing(monkeypatch, name):
    """Equal by value: path, timing, controller are other objects; numbers of the run are free."""
    printed, original = [], native.print_llvm

    def counted(programs, *more):
        printed.append(len(programs))
        return original(programs, *more)

    monkeypatch.setattr(native, "print_llvm", counted)

    def run(system, parameters=None, **reference):
        path, timing = Circle(radius=2.0), Quintic(20.0)
        return track(
            system,
            path,
            timing=timing,
            follower=ns.Follower(**AXLE, **reference),
            controller=ns.ControlLoop(**copy.deepcopy(CONTROLLERS[name])),
            parameters=parameters,
            samples=11,
        )

    kept, fresh = (ns.compile(ns.derive(ns.load("agv"))) for _ in range(2))
    run(kept)
    assert printed
    printed.clear()
    runs = {"again": ({}, run(kept))}
    if name != "lqr":  # its gains, which are numbers of the code, depend on these
        changes = {"reference": {"bracket.angle": 0.2}, "parameters": {"m_platform": 30.0}}
        runs["other numbers"] = (changes, run(kept, **changes))
    assert not printed
    for changes, found in runs.values():
        expected = run(fresh, **changes)
        np.testing.assert_array_equal(found.q, expected.q)
        np.testing.assert_array_equal(found.v, expected.v)


def test_other_settings_are_other_code(agv):
    """Settings that are numbers of the code: none is taken for another from the cache."""
    pose = {"controller": PoseTracking()}

    def end(system, timing=20.0, reverse=False, **loop):
        run = track(
            system,
            Circle(radius=2.0),
            timing=Quintic(timing),
            follower=ns.Follower(reverse=reverse, **AXLE),
            controller=ns.ControlLoop(**pose | loop),
            start={"platform.x": 0.1},
        )
        return run["wheel1.angle"][-1]

    changes = [
        {},
        {"controller": PoseTracking(kx=2.0)},
        {"limits": {"torque1": 0.05}},
        {"limits": {"torque2": 0.05}},
        {"period": 0.1},
        {"timing": 25.0},
        {"reverse": True},
    ]
    ends = [end(agv, **change) for change in changes]
    for change, found in zip(changes, ends, strict=True):
        fresh = ns.compile(ns.derive(ns.load("agv")))
        assert found == end(fresh, **change), change
    assert len(set(ends)) == len(ends)


def test_a_law_that_is_no_value_is_traced_each_time(agv):
    """A function may depend on more than itself."""
    gain = [1.0]
    law = ns.controllers.CustomController(law=lambda t, q, v, q_r, eta_r: [gain[0], 0.0])
    ends = []
    for gain[0] in (0.001, 0.002):
        run = track(
            agv,
            Circle(radius=2.0),
            follower=ns.Follower(**AXLE),
            controller=law,
            timing=Quintic(20.0),
        )
        ends.append(run["wheel1.angle"][-1])
    assert law.key is None and ends[0] != ends[1]
