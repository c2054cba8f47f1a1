"""A run that came to its end says when it is meaningless, or what it cannot know."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli.main import main

SPRING = {"push": "-9*s.position"}


def test_a_motion_that_is_not_followed_means_nothing(system_of):
    run = ns.run_scenario(system_of("agv"), rtol=0.1, atol=0.1)
    assert run.ending is ns.Ending.FINISHED and not run.success
    assert "off its prescribed motion" in run.verdict
    assert run.verdict in run.summary() and "is meaningless" in repr(run)


def test_the_console_the_summary_and_the_exit_code_say_so(tmp_path):
    arguments = ["run", "agv", "--tolerance", "0.1", "--no-plots", "-o", str(tmp_path / "run")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "But the result is meaningless" in result.output
    assert "fix    give a smaller --tolerance" in result.output
    kept = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert kept["ending"] == "finished" and len(kept["doubts"]) == 2
    assert "is meaningless" in (tmp_path / "run" / "summary.txt").read_text()


def test_a_fixed_step_that_blows_up_means_nothing(block):
    # RK4 is stable up to h √k = 2.8, here it is 3
    run = ns.simulate(
        block,
        duration=200.0,
        start={"s.position": 1.0},
        inputs={"push": "-9*s.position"},
        method="rk4",
        step=1.0,
    )
    assert np.max(np.abs(run.q)) > 1e20 and run.ending is ns.Ending.FINISHED
    assert not run.success and "energy balance" in run.verdict


def test_a_run_that_begins_beside_its_set_point_leaves_no_doubt(system_of):
    """Under feedback it comes back; how far off it began is no fault of the run."""
    motion = ns.motions.ExpressionMotion(coordinates={"joint1.angle": 0.5, "joint2.angle": -0.4})
    run = ns.follow(
        system_of("manipulator-2r"),
        motion,
        duration=2.0,
        controller=ns.controllers.ProportionalDerivative(
            kp=(30.0, 20.0), kd=(6.0, 4.0), gravity=True
        ),
        start={"joint1.angle": -1.0, "joint2.angle": 1.2},
    )
    assert run.success and not run.doubts


def test_nothing_moves_and_nothing_is_wrong(block):
    run = ns.simulate(block, duration=1.0)
    assert run.success and run.notes == ()


def test_time_must_be_able_to_pass(block, refuses):
    with refuses(ns.SimulationError, "are 16 s apart", "model 'block'", "start_time nearer"):
        ns.simulate(block, duration=10.0, start_time=1e17)
    assert ns.simulate(block, duration=10.0, start_time=1e9).steps > 0


@pytest.mark.parametrize(("size", "atol"), [(1e-12, "1e-21"), (1e-6, "1e-15")])
def test_motion_below_the_tolerance_is_noted_with_the_one_to_give(block, size, atol):
    given = {"duration": 10.0, "start": {"s.position": size}, "inputs": SPRING}
    run = ns.simulate(block, **given)
    assert f"give atol={atol}" in run.notes[0]
    better = ns.simulate(block, **given, atol=float(atol))
    assert better.success and better.notes == ()
    # x = x₀ cos 3t; over ten seconds errors of rtol in 80 steps add up
    np.testing.assert_allclose(better["s.position"] / size, np.cos(3 * better.t), atol=2e-8)


def test_motion_above_the_tolerance_is_not_noted(block):
    assert ns.simulate(block, duration=1.0, start={"s.position": 0.1}, inputs=SPRING).notes == ()


def random_after(begin, size):
    rng = np.random.default_rng(3)
    return lambda t, q, v: size * rng.normal() if t >= begin else 0.0


#: Python callables that no adaptive step can follow → what is said of them.
ROUGH = {
    "random": (random_after(0.0, 1.0), "for the same time and state"),
    "random later": (random_after(1.0, 1.0), "is not smooth: at t = 1.0"),
    "small noise": (random_after(0.5, 1e-4), "is not smooth: at t = 0.5"),
    "hash of the time": (lambda t, q, v: np.sin(1e7 * np.sin(1e5 * t)), "is not smooth"),
    "dry friction": (lambda t, q, v: -np.sign(v[0]), "is not smooth: at t = 1.0"),
}


@pytest.mark.parametrize("name", ROUGH)
def test_a_callable_that_is_not_smooth_does_not_stall_a_run(block, name, refuses):
    callable, what = ROUGH[name]
    with refuses(ns.SimulationError, what, "inputs of model 'block'", "Table(times=…"):
        ns.simulate(block, duration=10.0, start={"s.speed": 1.0}, inputs={"push": callable})


def test_fast_and_switching_callables_run(block):
    for callable in (
        lambda t, q, v: np.sin(300 * t),
        lambda t, q, v: float(t % 1 > 0.5),
        lambda t, q, v: -1e4 * q[0] - 10 * v[0],
    ):
        assert ns.simulate(block, duration=2.0, inputs={"push": callable}).success


def test_a_caster_without_trail_loses_rank_not_inertia(system_of, refuses):
    turning = {"wheel1.rate": -5.0, "wheel2.rate": -8.0}
    with refuses(ns.SimulationError, "'wheel3.lateral' is missed", "model 'agv'", "leave out"):
        ns.simulate(system_of("agv"), duration=1.0, start=turning, parameters={"d": 0.0})
    start = {"wheel1.rate": -5.0, "wheel2.rate": -5.0}
    with refuses(ns.SimulationError, "the constraints lose rank", "model 'agv'", "on_failure"):
        ns.simulate(system_of("agv"), duration=1.0, start=start, parameters={"d": 0.0})
    batch = ns.simulate_batch(
        system_of("agv"), duration=0.1, start=start, parameters={"d": [0.0, 0.025]}
    )
    assert "the constraints lose rank" in batch.message(0) and batch.success[1]


def test_a_start_of_a_huge_disk_is_met_to_its_own_rounding(system_of):
    start = {"disk.tilt": 1.2, "disk.spin_rate": -1e-3}
    run = ns.simulate(system_of("rolling-disk"), duration=1.0, start=start, parameters={"r": 5e5})
    # coordinates of 5e5 m are rounded to 6e-11 m
    assert run.success and run.gap < 1e-9


def test_a_kinked_motion_is_noted():
    # a joint is to turn at 1 rad/s from one moment to the next
    b = ns.ModelBuilder(name="arm", gravity=(0.0, 0.0, 0.0))
    b.body("link", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("j", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="world", child="link")
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="j.rate", input="torque"))
    notes = {}
    for name, text in {"kink": "max(0, t - 0.3)", "smooth": "max(0, t - 0.3)^3"}.items():
        b.scenario(ns.Scenario(duration=1.0, motion={"j.angle": text}))
        run = ns.run_scenario(ns.compile(ns.derive(b.build())))
        notes[name] = run.notes
    assert "kinks, the first at t = 0.3 s, where the rate of 'j.angle' jumps" in notes["kink"][0]
    assert notes["smooth"] == ()
