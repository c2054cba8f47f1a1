"""What must be balanced follows paths under its balancing controller."""

import numpy as np
import pytest

import noslip as ns
from noslip.scene import frames, scene
from noslip.scene.overlays import trace_names, traces
from noslip.show.plots.paths import ground_paths

BASES = {"whipple-bicycle": "frame", "balancing-robot": "base"}
CIRCLE = ns.paths.Circle(radius=25.0, turns=0.3)


@pytest.mark.parametrize("name", BASES)
def test_a_steady_turn_on_a_circle_is_the_one_that_is_found_for_it(system_of, name):
    """On a circle the balance's operating point is exact: no force beyond its own, no error."""
    run = ns.track(system_of(name), CIRCLE)
    assert run.tracking_error < 1e-9
    assert "balanced by" in run.notes[-2] and "constant-speed" in run.notes[-1]
    for motor in (i.name for i in run.model.inputs):
        assert np.ptp(run[motor]) < 1e-7 * max(1.0, np.max(np.abs(run[motor])))


@pytest.mark.parametrize("name", BASES)
def test_it_comes_back_to_a_line(system_of, name):
    path, across = ns.paths.Line(start=(0.0, 0.0), end=(50.0, 0.0)), f"{BASES[name]}.y"
    run = ns.track(system_of(name), path, start={across: 0.2})
    assert run.path_errors.distance[0] == pytest.approx(0.2, abs=1e-6)
    assert run.path_errors.distance[-1] < 1e-4
    # upright again, and as fast as asked for
    lean = next(c for c in run.columns if c in ("frame.lean", "base.pitch"))
    assert abs(run[lean][-1] - run[lean][0]) < 1e-4
    # the line is drawn, dashed, and what came back to it
    assert np.array_equal(run["path.y"], np.zeros(len(run.t))) and np.ptp(run["path.x"]) > 49.0
    motion = frames(system_of(name), run, rate=2.0)
    drawn = {trace.name: trace for trace in traces(scene(run.model), motion)}
    assert drawn["path"].dashes is not None and np.ptp(drawn["path"].points[:, 1]) == 0.0
    assert trace_names(drawn.values())[drawn["path"].color] == "reference path"
    (reference,) = [path for path in ground_paths(run) if path.is_reference]
    assert np.array_equal(reference.x, run["path.x"])


#: Of a hall: 43 m, with bends of 1.04 m radius, where a bicycle of 1.02 m steers by 0.8 rad.
EIGHT = ns.paths.FigureEight(half_width=6.0, half_height=4.0)


@pytest.mark.parametrize(("name", "bound"), [("whipple-bicycle", 0.02), ("balancing-robot", 1e-4)])
def test_it_stays_on_an_eight_as_it_leans_before_the_bends(system_of, name, bound):
    """What is left is of second order in how far it is from steady turns: 9 mm and 0.03 mm.

    Steady turns alone, without preview, are 7 m and 0.4 m off: the bicycle falls.
    """
    run = ns.track(system_of(name), EIGHT)
    assert run.tracking_error < bound
    # slow enough for 0.2 g in the tightest bend, rounded down to 0.01 m/s
    p = np.linspace(0.0, np.pi, 100_001)
    dx, dy, ddx, ddy = 6 * np.cos(p), 8 * np.cos(2 * p), -6 * np.sin(p), -16 * np.sin(2 * p)
    speed = np.sqrt(0.2 * 9.81 / np.max(np.abs(dx * ddy - dy * ddx) / np.hypot(dx, dy) ** 3))
    assert speed - 0.01 < float(run.notes[-1].rpartition("=")[2]) <= speed


@pytest.mark.parametrize("name", BASES)
def test_it_comes_back_to_a_corner(system_of, name):
    """Rounded by default with two continuous derivatives of the curvature, and said."""
    corner = ns.paths.Polyline(points=((0.0, 0.0), (14.0, 0.0), (14.0, 14.0)), radius=5.0)
    run = ns.track(system_of(name), corner, start={f"{BASES[name]}.y": 0.2})
    # it starts within 0.1 mm of the path but for that, and errors decay at least as
    # exp(−t/1.5 s), over 13 s and more
    assert run.path_errors.distance[0] == pytest.approx(0.2, abs=1e-4)
    assert run.path_errors.distance[-1] < 1e-3
    assert "2 continuous derivatives" in run.notes[-3]


@pytest.mark.slow
def test_a_speed_that_changes_is_ridden(system_of):
    """Turns are found every 0.3 s of the way and cubic in between: 1 mm in bends of 4 m."""
    wave = ns.paths.Sine(amplitude=1.0, wave_number=0.5, extent=20.0)
    timing = "constant-energy:total_speed=2.5;radius_of_gyration=2"
    run = ns.track(system_of("whipple-bicycle"), wave, timing=timing)
    assert np.ptp(np.diff(run["path.arc_length"]) / np.diff(run.t)) > 0.2
    assert run.tracking_error < 1e-3


def test_a_heavier_robot_is_held_under_a_sampled_loop(system_of):
    plant = ns.Plant(parameters={"mass": 24.0}, start={"base.y": 0.1})
    loop = ns.ControlLoop(controller="path", period=0.005)
    path = ns.paths.Line(start=(0.0, 0.0), end=(20.0, 0.0))
    run = ns.track(system_of("balancing-robot"), path, controller=loop, plant=plant)
    assert not run.path_errors.lost and abs(run.path_errors.across[-1]) < 1e-2


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"controller": "pose"}, "falls unless it is balanced"),
        ({"timing": "quintic:30"}, "should go 0 m/s, but it can be balanced from 0.5 to 5 m/s"),
        ({"follower": ns.Follower(reverse=True)}, "contact points of the wheels"),
        ({"controller": ns.ControlLoop(limits={"left.torque": 1.0})}, "without limits"),
    ],
)
def test_what_would_fall_is_refused(system_of, options, what):
    with pytest.raises(ns.SimulationError, match=what):
        ns.track(system_of("balancing-robot"), CIRCLE, **options)


def test_a_bend_that_is_too_tight_is_refused_with_its_place(system_of):
    with pytest.raises(ns.SimulationError, match=r"0 m along the path .* lean or steer by"):
        ns.track(
            system_of("whipple-bicycle"), ns.paths.Circle(radius=2.0), timing="constant-speed:4"
        )
    tight = ns.paths.FigureEight(half_width=2.0, half_height=2.0)
    with pytest.raises(ns.SimulationError, match="steer by") as caught:
        ns.track(system_of("whipple-bicycle"), tight)
    assert "keep the curvature below" in caught.value.fix
