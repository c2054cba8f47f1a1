"""Ways that the search finds, and the plans along them."""

import math
import signal
import threading
import time

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.planning.obstacles import Surroundings, read_footprint
from noslip.planning.problem import read_problem
from noslip.planning.search import WaySearch, vehicle_of

LIMITS = {
    "F_u1": 1e-3,
    "F_u2": 4000.0,
    "F_u3": 1e-3,
    "steering_rate": 0.6,
    "steering_rate_rate": 2.0,
    "steer.angle": 0.7,
    "hinge.angle": 1.2,
}


def box(x0, y0, x1, y1):
    return ns.obstacles.Polygon(points=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))


@pytest.mark.slow
def test_a_trailer_backs_between_two_others(system_of):
    """Cold: the search folds it forward and back, the plan's replay is exact."""
    found = ns.plan(
        system_of("tractor-trailer"),
        start={"tractor.x": 6, "tractor.y": 6, "tractor.angle": -0.4},
        goal={"tractor.x": -2, "tractor.y": 0, "tractor.angle": 0, "hinge.angle": 0},
        limits=LIMITS,
        obstacles=[box(-14, -6, -5.2, -2), box(-14, 2, -5.2, 6)],
    ).refine()
    assert found.miss() <= 1e-3 and found.clearance >= 0
    assert max(found.excess.values()) <= 1e-6
    assert np.min(found.run["tractor.vx"]) < -0.5 < 0.5 < np.max(found.run["tractor.vx"])


@pytest.mark.parametrize("name", ["mecanum-base", "differential-robot"])
def test_a_base_drives_round_a_wall(system_of, name):
    """A gap far to one side: a straight guess would end at the wall."""
    system = system_of(name)
    limits = {i.name: 0.5 for i in system.inputs}
    found = ns.plan(
        system,
        goal={"base.x": 3.0, "base.y": 0.0, "base.angle": 0.0},
        limits=limits,
        obstacles=[box(1.2, -1.0, 1.5, 3.0), box(1.2, -6.0, 1.5, -2.4)],
        clearance=0.02,
    )
    assert np.min(found.run["base.y"]) < -1.2
    assert found.clearance > -0.01
    assert found.miss() < 0.05


def test_the_best_of_several_ways_round_is_taken(system_of):
    """Below the box it is shorter; the way that is found first leads above it."""
    asked = {
        "goal": {"base.x": 3.0, "base.y": 0.0, "base.angle": 0.0},
        "limits": {"left.torque": 0.6, "right.torque": 0.6},
        "obstacles": [box(1.2, -0.6, 1.6, 0.9)],
        "clearance": 0.02,
    }
    robot = system_of("differential-robot")
    first, best = (ns.plan(robot, **asked, ways=ways) for ways in (1, 2))
    side = [float(np.interp(1.4, p.run["base.x"], p.run["base.y"])) for p in (first, best)]
    assert side[0] > 0.9 and side[1] < -0.6
    assert best.cost < first.cost - 0.3
    refined = best.refine()
    assert refined.miss() <= 1e-3 and refined.clearance >= 0


def test_a_way_of_another_class_does_not_cross_the_passage_of_the_first(system_of):
    """Two boxes: between them, then around one or the other, and no other way is left."""
    robot = system_of("differential-robot")
    row = [box(1.4, -1.2, 1.6, -0.4), box(1.4, 0.4, 1.6, 1.2)]
    problem = read_problem(
        robot,
        **{"start": None, "goal": {"base.x": 3.0, "base.y": 0.0, "base.angle": 0.0}},
        **{"minimize": "effort", "limits": None, "friction": None, "least_load": 0.0},
        **{"waypoints": (), "periodic": (), "rest": True, "duration": 5.0},
        **{"parameters": None, "smooth": 1e-4},
    )
    outlines = read_footprint(robot, None, problem.parameters, {})
    around = Surroundings(robot, outlines, row, problem.parameters)
    vehicle = vehicle_of(robot, ca.vertcat(*[ca.vec(o.traced) for o in outlines]))
    search = WaySearch(problem, vehicle, around, 0.0, lambda: False)
    ways = [search.way()]
    while len(ways) < 5 and (other := search.other_way(ways[-1])) is not None:
        ways.append(other)
    through = [way.q[np.argmin(np.abs(way.q[:, 0] - 1.5)), 1] for way in ways]
    assert sorted(np.searchsorted([-0.8, 0.8], through)) == [0, 1, 2]


@pytest.fixture(scope="module")
def tricycle(system_of):
    system = system_of("tricycle")
    limits = {"F_v": 20, "tau_phi": 1.0, "steer.angle": 0.9}
    goal = {"frame.x": 6.0, "frame.y": 0.0, "frame.angle": 0.0, "steer.angle": 0.0}
    return lambda **more: ns.plan(system, **({"goal": goal, "limits": limits} | more))


def test_a_vehicle_goes_sideways_by_turning(tricycle):
    """No obstacle at all, but the kinematics forbid the straight way; turns are counted anew."""
    goal = {"frame.x": 0.0, "frame.y": 1.0, "frame.angle": 2 * math.pi, "steer.angle": 0.0}
    found = tricycle(goal=goal)
    assert found.miss() < 1e-2
    assert abs(math.remainder(found.run["frame.angle"][-1], 2 * math.pi)) < 1e-2
    assert np.min(found.run["v"]) < 0 < np.max(found.run["v"])


def test_a_closed_region_is_impossible_and_says_so(tricycle):
    walls = [box(4, -3, 4.2, 3), box(8, -3, 8.2, 3), box(4, -3, 8.2, -2.8), box(4, 2.8, 8.2, 3)]
    with pytest.raises(ns.NoslipError, match=r"impossible"):
        tricycle(obstacles=walls)


def test_a_goal_that_the_kinematics_forbid_names_the_row(tricycle):
    goal = {"frame.x": 3.0, "frame.y": 0.0, "frame.angle": 0.0, "frame.vy": 0.4}
    with pytest.raises(ns.NoslipError) as caught:
        tricycle(goal=goal)
    assert "no state" in caught.value.what and "rear" in caught.value.what


def test_what_nothing_within_the_limits_moves_is_impossible(tricycle):
    """With the steering held the vehicle stays on its line; along it there is a plan."""
    held = {"F_v": 20.0, "tau_phi": 1.0, "steer.angle": (0.0, 0.0)}
    goal = {"frame.x": 3.0, "frame.y": 1.0, "frame.angle": 0.0}
    with pytest.raises(ns.PlanError, match=r"impossible.*'frame.y'"):
        tricycle(goal=goal, limits=held)
    with pytest.raises(ns.PlanError, match=r"impossible.*'frame.y'"):
        tricycle(goal=goal, limits=held | {"steer.angle": 1.0, "tau_phi": (0.0, 0.0)})
    found = tricycle(goal=goal | {"frame.y": 0.0}, limits=held)
    assert abs(found.goal_errors["frame.x"]) < 1e-3


def test_a_start_outside_a_limit_is_named(tricycle):
    with pytest.raises(ns.PlanError, match=r"the start 'steer.angle' = 1.2 .* -1 to 1"):
        tricycle(start={"steer.angle": 1.2}, limits={"F_v": 20, "tau_phi": 1, "steer.angle": 1.0})


def test_a_plan_can_be_cancelled_and_ends_in_time(tricycle):
    """Before the search, and in the solver; the time limit is told as progress."""
    cancel, told = threading.Event(), []
    cancel.set()
    with pytest.raises(ns.NoslipError, match="cancelled"):
        tricycle(cancel=cancel)
    cancel.clear()

    def stop_later(fraction):
        told.append(fraction)
        if len(told) > 3:
            cancel.set()

    with pytest.raises(ns.NoslipError, match="cancelled"):
        tricycle(cancel=cancel, progress=stop_later)
    assert all(0 <= fraction <= 1 for fraction in told)
    with pytest.raises(ns.NoslipError, match="within"):
        tricycle(time_limit=1e-3)


@pytest.mark.slow
def test_ctrl_c_ends_a_plan_at_any_time(tricycle):
    """Also within the solver, in whose callbacks an exception is lost."""
    began = time.perf_counter()
    tricycle()
    whole = time.perf_counter() - began
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for share in np.linspace(0.1, 0.9, 6):
            timer = threading.Timer(share * whole, signal.raise_signal, [signal.SIGINT])
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                for _ in range(5):
                    tricycle()
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_same_question_has_the_same_answer(tricycle):
    disc = ns.obstacles.Disc(center=(3.0, 0.1), radius=0.5)
    first, second = (tricycle(obstacles=[disc]) for _ in range(2))
    assert np.array_equal(first.t, second.t)
    assert all(np.array_equal(first.inputs[n], second.inputs[n]) for n in first.inputs)


def test_ten_thousand_obstacles_are_read(tricycle, rng):
    """All far but one row of them; the way goes through."""
    places = rng.uniform(-40, 40, (10000, 2))
    places = places[np.abs(places[:, 1]) > 1.5]
    discs = [ns.obstacles.Disc(center=tuple(c), radius=0.05) for c in places]
    found = tricycle(obstacles=discs)
    assert found.clearance > -0.01
    assert found.duration < 6.0


PYLONS = {
    "start": {"base.x": 0.0, "base.y": 0.0, "base.angle": math.pi / 2},
    "waypoints": [
        {"base.x": (9.5, 10.5), "base.y": (14.5, 15.5)},
        {"base.x": (-5.5, -4.5), "base.y": (9.5, 10.5)},
    ],
    "goal": {"base.x": 0.0, "base.y": 0.0},
}


def test_a_way_leads_from_waypoint_to_waypoint_forward(system_of):
    """A car that may not back up: straight from mark to mark it would drive sideways."""
    found = ns.plan(
        system_of("ackermann-car"),
        **PYLONS,
        limits={
            "rear.torque": 600.0,
            "front.steering_rate": 1.0,
            "front.steering_rate_rate": 4.0,
            "front.steer.angle": 0.6,
            "base.vx": (0.0, 8.0),
        },
        intervals=16,
    ).refine()
    # at its goal the speed is at its limit, which refining takes back elsewhere
    assert found.miss() <= 1e-3 and max(found.excess.values()) <= 1e-6
    assert np.min(found.run["base.vx"]) > -1e-6
    gaps = [
        np.hypot(found.run["base.x"] - x, found.run["base.y"] - y) for x, y in [(10, 15), (-5, 10)]
    ]
    first, second = (int(np.argmin(gap)) for gap in gaps)
    assert 0 < first < second and max(np.min(gap) for gap in gaps) < 0.5 * math.sqrt(2) + 1e-3
