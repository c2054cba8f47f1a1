"""Four-bar linkage and slider-crank against their closed forms."""

import numpy as np
import pytest
from linkages import four_bar_ratios, rate_from_energy, slider_crank

import noslip as ns
from mechanisms import FOUR_BAR, SLIDER_CRANK

#: Integration at rtol = 1e-12 over a few turns of the crank.
INTEGRATED = 1e-9


@pytest.fixture(scope="module")
def four_bar_run(system_of):
    return ns.simulate(
        system_of("four-bar"),
        duration=3.0,
        start={"crank.angle": 0.4, "crank.rate": 12.0},
        samples=301,
        rtol=1e-12,
        atol=1e-12,
        reactions=True,
    )


def four_bar_motion(run):
    """Angles and ratios on the assembly mode the start was completed to."""
    theta = run["crank.angle"]
    found = np.cos(run["rocker.angle"]), np.sin(run["rocker.angle"])
    for sign in (1.0, -1.0):
        coupler, rocker, *ratios = four_bar_ratios(theta, FOUR_BAR, sign)
        if np.hypot(np.cos(rocker) - found[0], np.sin(rocker) - found[1])[0] < 1e-6:
            return coupler, rocker, *ratios
    raise AssertionError("the start is on neither assembly mode")


def test_of_five_rows_of_a_planar_loop_two_are_independent(system_of):
    kin = system_of("four-bar").kinematics
    assert [kin.rows[k].name for k in kin.row_basis] == ["pin.shift_x", "pin.shift_y"]
    assert [kin.rows[r.row].name for r in kin.redundant] == [
        "pin.shift_z",
        "pin.tilt_1",
        "pin.tilt_2",
    ]
    assert kin.num_independent_speeds == 1


def test_four_bar_positions(four_bar_run):
    coupler, rocker, *_ = four_bar_motion(four_bar_run)
    found = four_bar_run["crank.angle"] + four_bar_run["coupler.angle"]
    assert np.exp(1j * found) == pytest.approx(np.exp(1j * coupler), abs=1e-13)
    assert np.exp(1j * four_bar_run["rocker.angle"]) == pytest.approx(
        np.exp(1j * rocker), abs=1e-13
    )


def test_four_bar_speeds(four_bar_run):
    *_, of_coupler, of_rocker = four_bar_motion(four_bar_run)
    rate = four_bar_run["crank.rate"]
    found = rate + four_bar_run["coupler.rate"]
    assert found == pytest.approx(of_coupler * rate, abs=1e-11)
    assert four_bar_run["rocker.rate"] == pytest.approx(of_rocker * rate, abs=1e-11)


def test_four_bar_turns_as_its_energy_says(four_bar_run):
    """½ I(θ) θ̇² + U(θ) = const over several turns."""
    run = four_bar_run
    theta = run["crank.angle"]
    assert theta[-1] > 4 * np.pi
    _, a, b, c = FOUR_BAR
    g = 9.81
    coupler, rocker, of_coupler, of_rocker = four_bar_motion(run)
    # mass, moment about the mass center, where that is on its link
    center = np.exp(1j * theta) * a + np.exp(1j * coupler) * (b / 2 + 0.05j)
    center_rate = 1j * np.exp(1j * theta) * a
    center_rate = center_rate + 1j * of_coupler * np.exp(1j * coupler) * (b / 2 + 0.05j)
    inertia = 0.012 + 0.8 * (a / 2) ** 2
    inertia = inertia + 0.05 * of_coupler**2 + 1.1 * np.abs(center_rate) ** 2
    inertia = inertia + (0.04 + 0.9 * (c / 2) ** 2) * of_rocker**2
    potential = g * (0.8 * a / 2 * np.sin(theta) + 1.1 * center.imag + 0.9 * c / 2 * np.sin(rocker))
    rate = rate_from_energy(inertia, potential, 12.0)
    assert run["crank.rate"] == pytest.approx(rate, rel=INTEGRATED)


def test_four_bar_reactions_at_the_redundant_rows_are_zero(four_bar_run):
    """Nothing pushes out of the plane, so the least-norm reactions there vanish."""
    for name in ("pin.shift_z", "pin.tilt_1", "pin.tilt_2"):
        assert np.max(np.abs(four_bar_run[f"reaction.{name}"])) < 1e-12


@pytest.mark.parametrize("name", ["slider-crank", "slider-crank-guide"])
def test_slider_crank_runs_through_its_dead_centers(system_of, name):
    """The piston's speed vanishes at θ = 0 and π; the crank passes there as its energy says."""
    run = ns.simulate(
        system_of(name),
        duration=5.0,
        start={"crank.angle": -0.3, "crank.rate": 9.0},
        samples=501,
        rtol=1e-12,
        atol=1e-12,
    )
    theta = run["crank.angle"]
    assert theta[-1] - theta[0] > 6 * np.pi
    r, length = SLIDER_CRANK
    rod, position, of_rod, of_position = slider_crank(theta, r, length)
    assert run["rod.angle"] + theta == pytest.approx(rod, abs=1e-11)
    if name == "slider-crank":
        assert run["guide.position"] == pytest.approx(position, abs=1e-12)
        assert run["guide.speed"] == pytest.approx(of_position * run["crank.rate"], abs=1e-10)
    # velocity of the rod's mass center per rate of the crank
    center = 1j * np.exp(1j * theta) * r + 1j * of_rod * np.exp(1j * rod) * length / 2
    inertia = 0.03 + 0.012 * of_rod**2 + 0.6 * np.abs(center) ** 2 + 0.9 * of_position**2
    rate = rate_from_energy(inertia, np.zeros_like(theta), 9.0)
    assert run["crank.rate"] == pytest.approx(rate, rel=INTEGRATED)


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "slider-crank-guide"])
def test_cranks_run_for_hundreds_of_turns(system_of, name):
    """Angles of thousands of radians are known to 1e-12 only, and the loop can be no tighter."""
    start = {"crank.angle": 0.3, "crank.rate": 60.0}
    run = ns.simulate(system_of(name), duration=105.0, start=start, samples=11, rtol=1e-6)
    assert run["crank.angle"][-1] > 1600 * np.pi
    assert run.gap < 1e-11
