"""A guess picks one of several assemblies; a start that leaves several says so."""

import numpy as np
import pytest
from linkages import four_bar_ratios, slider_crank

import noslip as ns
from mechanisms import FOUR_BAR, SLIDER_CRANK


@pytest.mark.parametrize("angle", [0.4, 2.0, -2.8])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_rough_angle_of_the_rocker_picks_the_assembly(system_of, angle, sign):
    coupler, rocker, *_ = four_bar_ratios(np.array([angle]), FOUR_BAR, sign)
    other = four_bar_ratios(np.array([angle]), FOUR_BAR, -sign)[1]
    # a third of the way to the other one
    way = np.remainder(other - rocker + np.pi, 2 * np.pi) - np.pi
    guess = {"rocker.angle": float((rocker + way / 3)[0])}
    start = ns.complete_start(system_of("four-bar"), {"crank.angle": angle}, guess=guess)
    assert np.exp(1j * start.q[2]) == pytest.approx(np.exp(1j * rocker[0]), abs=1e-12)
    assert np.exp(1j * (start.q[0] + start.q[1])) == pytest.approx(
        np.exp(1j * coupler[0]), abs=1e-12
    )
    # the same turn as the guess
    assert abs(start.q[2] - guess["rocker.angle"]) < np.pi
    assert not start.notes


def test_a_slider_goes_to_the_side_that_is_guessed(system_of):
    r, length = SLIDER_CRANK
    behind = r * np.cos(0.4) - np.sqrt(length**2 - (r * np.sin(0.4)) ** 2)
    system, given = system_of("slider-crank"), {"crank.angle": 0.4, "crank.rate": 2.0}
    guess = {"guide.position": -0.4}
    run = ns.simulate(system, duration=0.1, start=given, guess=guess, samples=3)
    assert run["guide.position"][0] == pytest.approx(behind, abs=1e-12)
    at = ns.evaluate(system, given, guess=guess)
    assert at.coordinates["guide.position"] == pytest.approx(behind, abs=1e-12)
    starts = {"crank.angle": [0.4, 0.5], "crank.rate": 2.0}
    batch = ns.simulate_batch(system, duration=0.1, start=starts, guess=guess)
    assert batch.final["guide.position"][0] == pytest.approx(run["guide.position"][-1], abs=1e-9)
    assert (batch.final["guide.position"] < 0.0).all()


def test_numbers_that_were_rounded_make_a_start(system_of):
    system = system_of("slider-crank")
    whole = ns.complete_start(system, {"crank.angle": 0.4}, guess={"guide.position": -0.4})
    rounded = {c.name: round(float(x), 8) for c, x in zip(system.coordinates, whole.q, strict=True)}
    start = ns.complete_start(system, {}, guess=rounded)
    assert start.q == pytest.approx(whole.q, abs=1e-8)
    assert start.position_residual < 1e-14


def test_a_start_with_several_assemblies_says_so(system_of):
    system = system_of("slider-crank")
    start = ns.complete_start(system, {"crank.angle": 0.4})
    assert "2 assemblies fit" in start.notes[0] and "guide.position = -0.3" in start.notes[0]
    _, position, *_ = slider_crank(np.array([0.4]), *SLIDER_CRANK)
    assert start.q[2] == pytest.approx(position[0], abs=1e-12)
    run = ns.simulate(system, duration=0.1, start={"crank.angle": 0.4})
    assert run.notes == start.notes == ns.evaluate(system, {"crank.angle": 0.4}).notes
    # both are given: nothing is left to be picked
    whole = {"crank.angle": 0.4, "guide.position": float(start.q[2]), "rod.angle": start.q[1]}
    assert not ns.complete_start(system, whole).notes


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        ({"crank.angle": 0.3}, "both given and guessed"),
        ({"crank.rate": 0.3}, "no coordinate and no named angle"),
        ({"crnk.angle": 0.3}, "there is no coordinate, speed or angle 'crnk.angle'"),
        ({"rod.angle": np.nan}, "not a finite number"),
    ],
)
def test_guesses_that_are_none_are_refused(system_of, guess, said):
    with pytest.raises(ns.SimulationError, match=said):
        ns.complete_start(system_of("slider-crank"), {"crank.angle": 0.4}, guess=guess)


def test_a_guess_beside_a_completed_start_is_refused(system_of):
    system = system_of("slider-crank")
    start = ns.complete_start(system, {"crank.angle": 0.4})
    with pytest.raises(ns.SimulationError, match="a guess is given together with"):
        ns.simulate(system, duration=0.1, start=start, guess={"rod.angle": 0.1})


@pytest.mark.parametrize("samples", [2, 7, [0.0]])
def test_the_last_state_that_was_reached_is_the_last_sample(system_of, samples):
    system = system_of("rolling-disk")
    start = {"disk.tilt": 0.4, "disk.tilt_rate": -3.0}
    run = ns.simulate(system, duration=5.0, start=start, samples=samples, on_failure="return")
    assert not run.success
    when = float(run.message.rsplit("t = ", 1)[1].split(" s")[0])
    assert run.t[-1] == pytest.approx(when, rel=1e-8)
    # the same state as a run that is asked for it
    asked = ns.simulate(
        system, duration=5.0, start=start, samples=[0.0, float(run.t[-1])], on_failure="return"
    )
    assert run.q[-1] == pytest.approx(asked.q[-1], abs=1e-9)
    assert len(run.kinetic_energy) == len(run.t) == len(run["disk.tilt"])


def test_nor_is_it_lost_where_the_steps_are_spent(system_of):
    start = {"crank.angle": 0.4, "crank.rate": 12.0}
    run = ns.simulate(
        system_of("four-bar"), duration=9.0, start=start, max_steps=5, on_failure="return"
    )
    assert run.steps == 5 and run.t[-1] not in np.linspace(0.0, 9.0, 201)
    assert run.gap < 1e-13
