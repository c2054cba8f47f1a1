"""What plan does where its first motion leads nowhere, or its time is over."""

import threading

import numpy as np
import pytest

import noslip as ns

STEERED = {f"{w}.steering_rate": 2.0 for w in ("front", "back")}
RATES = {f"{w}.steering_rate_rate": 10.0 for w in ("front", "back")}
ANGLES = {f"{w}.steer.angle": 0.8 for w in ("front", "back")}
BOARD = {
    "goal": {"board.x": 1.0, "board.y": 0.0, "board.angle": 0.0},
    "limits": {"rotor.torque": 1.0} | STEERED | RATES | ANGLES,
    "duration": (1.0, 20.0),
}
ARM = {
    "goal": {"joint1.angle": 1.0, "joint2.angle": -0.8},
    "limits": {"tau1": 50.0, "tau2": 20.0},
}


@pytest.mark.slow
def test_a_straight_board_that_nothing_drives_is_swung(system_of):
    """At rest and straight no input moves it at first order; the same seed gives the same bits."""
    board = system_of("snakeboard")
    with pytest.raises(ns.PlanError, match="no plan was found"):
        ns.plan(board, **BOARD, tries=0)
    found = ns.plan(board, **BOARD, seed=3)
    again = ns.plan(board, **BOARD, seed=3)
    assert found.miss() < 1e-3 and np.ptp(found.run["front.steer.angle"]) > 0.3
    assert found.cost == again.cost
    for name, values in found.inputs.items():
        np.testing.assert_array_equal(values, again.inputs[name])


def test_the_best_so_far_is_what_is_left_when_it_is_ended(system_of):
    """Ended after ever more iterations: first nothing, then something, then the optimum."""
    arm, kinds = system_of("manipulator-2r"), []
    best = ns.plan(arm, **ARM)
    for last in range(2, 40):
        ended, asked = threading.Event(), iter(range(last))

        def count(_, ended=ended, asked=asked):
            if next(asked, None) is None:
                ended.set()

        try:
            plan = ns.plan(arm, **ARM, progress=count, cancel=ended)
        except ns.PlanError as error:
            kinds.append("none")
            assert "cancelled" in error.what
            continue
        kinds.append("optimal" if plan.is_optimal else "best so far")
        assert plan.cost >= best.cost - 1e-6
        assert plan.is_optimal or "the best so far" in plan.summary()
        if plan.is_optimal:
            break
    assert kinds == sorted(kinds, key=["none", "best so far", "optimal"].index)
    assert set(kinds) == {"none", "best so far", "optimal"}


def test_numbers_of_tries_are_checked(system_of, refuses):
    with refuses(ns.PlanError, "0 ways", "plan of model", "1 to"):
        ns.plan(system_of("manipulator-2r"), **ARM, ways=0)
    with refuses(ns.PlanError, "-1 tries", "plan of model", "0 to"):
        ns.plan(system_of("manipulator-2r"), **ARM, tries=-1)
