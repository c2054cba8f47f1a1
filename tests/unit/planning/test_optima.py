"""Plans against closed forms and published optima, and against their own exact replay."""

import numpy as np
import pytest

import noslip as ns


@pytest.mark.parametrize(("distance", "push"), [(1.0, 1.0), (3.0, 0.5)])
def test_least_time_of_a_pushed_block_is_that_of_the_switch_halfway(block, distance, push):
    """d = (F/m)(T/2)², full push forward, then back."""
    found = ns.plan(block, goal={"s.position": distance}, limits={"push": push})
    assert found.duration == pytest.approx(2 * np.sqrt(distance / push), abs=1e-6)
    half = len(found.inputs["push"]) // 2
    assert found.inputs["push"][:half] == pytest.approx(push, rel=1e-6)
    assert found.inputs["push"][half:] == pytest.approx(-push, rel=1e-6)
    assert found.run["s.position"][-1] == pytest.approx(distance, abs=1e-9)


def test_least_effort_of_a_pushed_block_is_its_closed_form(block):
    """u = 6 − 12 t of least ∫u²: 12; in n constant pieces, of the discrete optimum 12/(1 − n⁻²)."""
    n = 20
    found = ns.plan(
        block,
        goal={"s.position": 1.0},
        limits={"push": 10.0},
        minimize="effort",
        duration=1.0,
        intervals=n,
    )
    assert 100 * found.cost == pytest.approx(12 / (1 - 1 / n**2), rel=1e-6)


def test_a_speed_limit_makes_a_trapezoid(block):
    """T = d/v + v m/F."""
    found = ns.plan(
        block,
        goal={"s.position": 2.0},
        limits={"push": 1.0, "s.speed": 0.5},
        intervals=9,  # 0.5 s of 4.5 s are one of nine pieces
    )
    assert found.duration == pytest.approx(2.0 / 0.5 + 0.5, abs=1e-6)


def test_a_limited_expression_holds_along_the_replay(block):
    """A power F v ≤ P: all of it once the push is limited by it."""
    found = ns.plan(
        block, goal={"s.position": 1.0}, limits={"push": 1.0, "push*s.speed": (-0.3, 0.3)}
    )
    assert found.duration > 2.0
    refined = found.refine()
    assert max(refined.excess.values()) <= 1e-6
    assert np.max(refined.run["push"] * refined.run["s.speed"]) <= 0.3 * (1 + 1e-6)


def test_waypoints_are_met_on_the_way(block):
    found = ns.plan(
        block,
        goal={"s.position": 0.0},
        waypoints=[{"s.position": 1.0, "s.speed": 0.0}],
        limits={"push": 1.0},
        intervals=20,
    )
    assert found.duration == pytest.approx(4.0, abs=1e-6)
    assert np.max(found.run["s.position"]) == pytest.approx(1.0, abs=1e-6)


def test_a_robot_turns_about_itself_and_its_wheels_hold(system_of):
    """Exact replay, exact defects, and friction that the audit confirms."""
    robot = system_of("differential-robot")
    goal = {"base.x": 1.0, "base.y": 0.3, "base.angle": 0.5}
    limits = {"left.torque": 0.6, "right.torque": 0.6}
    found = ns.plan(robot, goal=goal, limits=limits, friction=0.3, intervals=20).refine()
    for name, value in goal.items():
        assert found.run[name][-1] == pytest.approx(value, abs=1e-3)
    assert max(found.excess.values()) <= 1e-6
    assert found.audit.friction == 0.3
    assert np.max(found.audit.required) <= 0.3 + 1e-6
    assert "plan of 'differential-robot'" in found.summary()


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"goal": {"s.positon": 1.0}}, "not known"),
        ({"goal": {"s.position": np.nan}}, "s.position"),
        ({"goal": {}}, "goal"),
        ({"limits": {"push": 0.0}}, "nothing can move"),
        ({"limits": {}}, "no limits"),
        ({"limits": {"push": 1.0, "s.position": 0.5}}, "outside its limit"),
        ({"minimize": "effort"}, "duration is open"),
        ({"friction": 0.5}, "no wheel"),
        ({"duration": 1.0}, "violated most"),  # 2 s are needed
        ({"intervals": 1}, "intervals"),
        ({"guess": 3}, "guess"),
    ],
)
def test_what_cannot_be_planned_is_named(block, asked, what):
    given = {"goal": {"s.position": 1.0}, "limits": {"push": 1.0}} | asked
    with pytest.raises(ns.NoslipError) as caught:
        ns.plan(block, **given)
    assert what in caught.value.what and caught.value.fix
