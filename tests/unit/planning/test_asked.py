"""Tasks of a plan in model files and as texts: the same plans as by numbers."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip.model import model_to_toml, parse_model

TASK = """
[plan]
goal = {frame.x = "6*ell", frame.y = 0, frame.angle = "0deg", steer.angle = 0}
start = {frame.y = 0.2}
limits = {F_v = 20, tau_phi = "±1", steer.angle = "-1..40deg", "v^2" = "-1..4"}
obstacles = "disc:center=3.2,0.3;radius=0.3"
clearance = 0.05
duration = "1..20"
intervals = 30

[[plan.waypoints]]
at = {frame.x = "2..2.5"}
"""


@pytest.fixture(scope="module")
def planned():
    text = model_to_toml(ns.load("tricycle"))
    model, warnings = parse_model(text + TASK)
    assert not warnings
    return ns.compile(ns.derive(model))


def test_a_task_in_a_file_is_that_of_python(system_of, planned):
    """Bit by bit, by numbers on the model without it."""
    found = ns.plan(planned)
    ell = planned.model.parameter_values()["ell"]
    same = ns.plan(
        system_of("tricycle"),
        goal={"frame.x": 6 * ell, "frame.y": 0.0, "frame.angle": 0.0, "steer.angle": 0.0},
        start={"frame.y": 0.2},
        limits={
            **{"F_v": 20.0, "tau_phi": 1.0, "steer.angle": (-1.0, math.radians(40))},
            "v^2": (-1.0, 4.0),
        },
        obstacles=[ns.obstacles.Disc(center=(3.2, 0.3), radius=0.3)],
        clearance=0.05,
        duration=(1.0, 20.0),
        intervals=30,
        waypoints=[{"frame.x": (2.0, 2.5)}],
    )
    assert np.array_equal(found.t, same.t)
    assert np.array_equal(found.run["frame.y"], same.run["frame.y"])
    assert 2.0 - 1e-3 <= found.run["frame.x"][len(found.run.t) // 2] <= 2.5 + 1e-3


def test_a_task_is_written_and_read_again(planned):
    again = parse_model(model_to_toml(planned.model))[0]
    assert again.plan == planned.model.plan
    assert ns.ModelBuilder.from_model(planned.model).build().plan == again.plan


def test_what_the_call_says_comes_first(planned):
    found = ns.plan(
        planned,
        goal={"frame.x": "2*ell + 0.5"},
        limits={"F_v": 10.0},
        obstacles=[],
        waypoints=[],
        start={"frame.y": 0.0},
    )
    marks = found.problem.marks
    assert len(marks) == 1 and marks[0].states["frame.y"] == (0.0, 0.0)
    assert found.problem.control_limits["F_v"] == (-10.0, 10.0)
    assert found.problem.control_limits["tau_phi"] == (-1.0, 1.0)
    assert found.surroundings is None


@pytest.mark.parametrize(
    ("words", "says", "where"),
    [
        ('goal = {frame.x = "far"}', "'far', which is not a number", "goal"),
        ("goal = {}", "empty goal", "goal"),
        ("start = {frame.x = 1}", "plan has no goal", "goal"),
        ("goal = {frame.x = 1}\nclearance = -1", "clearance -1 m", "clearance"),
        ('goal = {frame.x = 1}\nobstacles = "disk:1"', "no obstacle 'disk'", "obstacles[0]"),
        ('goal = {frame.x = 1}\nduration = "a..2"', "'a', which is not", "duration"),
        ("gaol = {frame.x = 1}", "'gaol'", "gaol"),
    ],
)
def test_faults_of_a_task_are_found_when_the_file_is_read(words, says, where):
    with pytest.raises(ns.ModelError) as caught:
        parse_model(model_to_toml(ns.load("tricycle")) + f"\n[plan]\n{words}\n")
    faults = [f for f in caught.value.faults if says in f.what]
    assert faults and f"plan.{where}" in faults[0].where and "line" in faults[0].where


def test_a_builder_sets_the_task(block):
    b = ns.ModelBuilder.from_model(block.model)
    b.plan(goal={"s.position": 1.0}, limits={"push": 1.0}, waypoints=[{"s.position": 0.4}])
    model = b.build()
    assert parse_model(model_to_toml(model))[0].plan == model.plan
    found = ns.plan(ns.compile(ns.derive(model)))
    assert found.duration == pytest.approx(2.0, abs=0.01)
    with pytest.raises(ns.NoslipError, match="no 'gaol'"):
        b.plan(goal={"s.position": 1.0}, gaol=3)


def test_a_model_without_a_task_needs_a_goal(system_of):
    with pytest.raises(ns.PlanError, match=r"no goal is given, and the model has no \[plan\]"):
        ns.plan(system_of("tricycle"))
