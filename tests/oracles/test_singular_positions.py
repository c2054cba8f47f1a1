"""Runs go through singular positions on the branch they came on, as one equation says."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import noslip as ns

CRANK, BASE, GRAVITY = 0.3, 1.0, 9.81
HINGE = ns.joints.Revolute(axis=(0, 0, 1))


def at(x):
    return ns.Placement(position=(x, 0.0, 0.0))


@pytest.fixture(scope="module")
def parallelogram():
    b = ns.ModelBuilder("parallelogram", gravity=(0.0, -GRAVITY, 0.0))
    for name, mass, length in (("crank", 1.0, CRANK), ("rod", 0.5, BASE), ("rocker", 1.0, CRANK)):
        b.body(name, mass=mass, moment=0.02, center_of_mass=(length / 2, 0, 0))
    b.joint("crank", HINGE, parent="world", child="crank")
    b.joint("rod", HINGE, parent="crank", child="rod", parent_frame=at(CRANK))
    b.joint("rocker", HINGE, parent="world", child="rocker", parent_frame=at(BASE))
    ends = {"parent_frame": at(BASE), "child_frame": at(CRANK)}
    b.joint("pin", HINGE, parent="rod", child="rocker", **ends)
    return ns.compile(ns.derive(b.build()))


#: Two cranks that turn alike and a rod that does not: 2K/θ̇², and dU/dθ over cos θ.
INERTIA = 2 * (0.02 + (CRANK / 2) ** 2) + 0.5 * CRANK**2
TORQUE = GRAVITY * (CRANK + 0.5 * CRANK)


def by_hand(times, angle, rate):
    def rates(t, y):
        return [y[1], -TORQUE * np.cos(y[0]) / INERTIA]

    span = times[0], times[-1]
    return solve_ivp(rates, span, [angle, rate], "DOP853", times, rtol=1e-13, atol=1e-13).y


@pytest.mark.parametrize(
    ("turns", "tolerance"), [(5, 1e-9), pytest.param(100, 1e-9, marks=pytest.mark.slow)]
)
def test_a_parallelogram_turns_through_its_flat_positions(parallelogram, turns, tolerance):
    start, guess = {"crank.angle": 0.4, "crank.rate": 12.0}, {"rocker.angle": 0.4}
    run = ns.simulate(parallelogram, duration=0.5 * turns, start=start, guess=guess)
    angle, _ = by_hand(run.t, 0.4, 12.0)
    assert angle[-1] > 2 * np.pi * turns and run.success
    assert run["rocker.angle"] == pytest.approx(run["crank.angle"], abs=1e-9)
    # to a hundred tolerances: where it is at a time, and how fast it is at a place
    assert run["crank.angle"] == pytest.approx(angle, rel=100 * tolerance)
    won = 2 * TORQUE * (np.sin(run["crank.angle"]) - np.sin(0.4)) / INERTIA
    assert run["crank.rate"] == pytest.approx(np.sqrt(12.0**2 - won), rel=100 * tolerance)
    assert run.gap < 1e-9
    assert "went through a singular configuration at t = 0.249315" in " ".join(run.notes)


def reached(angle):
    """Time at which the crank is at an angle, and its rate there."""
    time = brentq(lambda t: by_hand([0.0, t], 0.4, 12.0)[0][-1] - angle, 0.01, 1.0, xtol=1e-15)
    return time, float(by_hand([0.0, time], 0.4, 12.0)[1][-1])


#: Angles at a flat position and so near that a run passes them together with it.
FLAT = [np.pi, np.pi + 1e-9, np.pi - 1e-4, np.pi + 0.01, 2 * np.pi]
TURNING = {"start": {"crank.angle": 0.4, "crank.rate": 12.0}, "guess": {"rocker.angle": 0.4}}


@pytest.mark.parametrize(
    ("angle", "text"),
    [(angle, "crank.angle - {angle!r}") for angle in FLAT]
    + [(angle, "{rate!r} - rocker.rate") for angle in FLAT[:-1]],  # it is not that fast before
)
def test_a_stop_at_a_flat_position_ends_the_run_there(parallelogram, angle, text):
    time, rate = reached(angle)
    stop = {"there": text.format(angle=float(angle), rate=rate)}
    run = ns.simulate(parallelogram, duration=0.9, stop=stop, **TURNING)
    assert run.ended_by == "there" and run.ending is ns.Ending.EVENT
    assert run.t[-1] == pytest.approx(time, abs=1e-9) and np.all(np.diff(run.t) > 0.0)
    for name, value in {"angle": angle, "rate": rate}.items():
        assert run[f"crank.{name}"][-1] == pytest.approx(value, rel=2e-9)
        assert run[f"rocker.{name}"][-1] == pytest.approx(value, rel=2e-9)


@pytest.mark.parametrize("samples", [2, 501])
def test_events_at_flat_positions_are_recorded_once(parallelogram, samples):
    events = {"flat": "sin(rocker.angle)", "never": "crank.angle + 1"}
    given = {"duration": 2.5, "events": events, "samples": samples}
    run = ns.simulate(parallelogram, **given, **TURNING)
    states, turns = run.event_states["flat"], int(run["crank.angle"][-1] // np.pi)
    assert states[:, 0] == pytest.approx(np.pi * np.arange(1, turns + 1), abs=1e-9)
    angle, rate = by_hand(np.append(0.0, run.event_times["flat"]), 0.4, 12.0)
    assert states[:, 0] == pytest.approx(angle[1:], abs=1e-7)
    for k in (3, 5):  # rates of crank and rocker
        assert states[:, k] == pytest.approx(rate[1:], rel=1e-8)
    assert run.success and not len(run.event_times["never"])


@pytest.mark.parametrize("late", [0.0, -1e-5, 1e-5])
def test_a_run_may_end_at_a_flat_position(parallelogram, late):
    end = reached(np.pi)[0] + late
    run = ns.simulate(parallelogram, duration=end, samples=[end / 2, end], **TURNING)
    angle, rate = by_hand([0.0, end / 2, end], 0.4, 12.0)
    assert run.success and run.t.tolist() == [end / 2, end]
    assert run["rocker.angle"] == pytest.approx(angle[1:], abs=1e-9)
    assert run["rocker.rate"] == pytest.approx(rate[1:], rel=1e-9)


def test_a_joint_limit_at_a_flat_position_ends_the_run():
    system = plane("y.position*(y.position - x.position)", limits=(-2.0, 0.0))
    run = ns.simulate(system, duration=2.0, start={"x.position": -1.0, "x.speed": 1.0})
    assert run.ended_by == "x reaches its limit"
    assert run.t[-1] == pytest.approx(1.0, abs=1e-9)


def crossed_inertia(angle, other, step=1e-6):
    """2K/θ̇² and U of the branch on which the rocker turns the other way, by plane geometry."""
    tip = CRANK * np.exp(1j * angle)
    end = BASE + CRANK * np.exp(1j * other)
    rod = (end - tip) / BASE
    # θ̇ = 1: tip' = i tip, end' = i CRANK e^{iφ} φ', rod' = i rod ω; |end − tip| stays
    across = np.real(1j * CRANK * np.exp(1j * other) * np.conj(rod))
    ratio = np.real(1j * tip * np.conj(rod)) / across
    end_rate = 1j * CRANK * np.exp(1j * other) * ratio
    turning = np.imag((end_rate - 1j * tip) * np.conj(rod)) / BASE
    center = 1j * tip + 0.5j * rod * BASE * turning
    own = 0.02 + (CRANK / 2) ** 2
    inertia = own * (1 + ratio**2) + 0.02 * turning**2 + 0.5 * np.abs(center) ** 2
    heights = (tip.imag + (end - BASE).imag) / 2 + 0.5 * (tip + end).imag / 2
    return inertia, GRAVITY * heights


def test_the_crossed_branch_stays_crossed(parallelogram):
    start, guess = {"crank.angle": 0.4, "crank.rate": 12.0}, {"rocker.angle": -0.7}
    run = ns.simulate(parallelogram, duration=2.5, start=start, guess=guess, rtol=1e-10)
    theta, phi = run["crank.angle"], run["rocker.angle"]
    assert theta[-1] > 10 * np.pi and phi[-1] < -9 * np.pi
    away = np.abs(np.sin(theta)) > 0.1  # where the ratio of rates is no 0/0
    inertia, potential = crossed_inertia(theta[away], phi[away])
    energy = inertia * run["crank.rate"][away] ** 2 / 2 + potential
    assert energy == pytest.approx(energy[0], rel=1e-8)


def test_a_slider_crank_with_a_rod_as_long_as_its_crank():
    b = ns.ModelBuilder("equal links", gravity=(0.0, 0.0, 0.0))
    for name in ("crank", "rod"):
        b.body(name, mass=1.0, moment=0.02, center_of_mass=(CRANK / 2, 0, 0))
    b.body("piston", mass=0.7, moment=0.1)
    b.joint("crank", HINGE, parent="world", child="crank")
    b.joint("rod", HINGE, parent="crank", child="rod", parent_frame=at(CRANK))
    b.joint("guide", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="piston")
    b.joint("pin", HINGE, parent="rod", child="piston", parent_frame=at(CRANK))
    system = ns.compile(ns.derive(b.build()))
    start, guess = {"crank.angle": 0.4, "crank.rate": 5.0}, {"guide.position": 0.5}
    run = ns.simulate(system, duration=4.0, start=start, guess=guess, rtol=1e-10, reactions=True)
    theta, rate = run["crank.angle"], run["crank.rate"]
    # the piston runs through the origin: x = 2 r cos θ, and the rod leans as the crank does
    assert theta[-1] > 4 * np.pi
    assert run["guide.position"] == pytest.approx(2 * CRANK * np.cos(theta), abs=1e-8)
    center = CRANK * np.hypot(1.5 * np.sin(theta), 0.5 * np.cos(theta))
    inertia = 2 * 0.02 + (CRANK / 2) ** 2 + center**2 + 0.7 * (2 * CRANK * np.sin(theta)) ** 2
    assert rate == pytest.approx(5.0 * np.sqrt(inertia[0] / inertia), rel=1e-8)
    assert any(note.startswith("reactions") for note in run.notes)


def plane(text, row=ns.rows.PositionRow, limits=None):
    """A point in a plane held by one row, and how it starts."""
    b = ns.ModelBuilder("point", gravity=(0.0, 0.0, 0.0))
    for name, axis in (("x", (1, 0, 0)), ("y", (0, 1, 0))):
        b.body(name, mass=1.0, moment=1.0)
        parent = "world" if name == "x" else "x"
        held = limits if name == "x" else None
        b.joint(name, ns.joints.Prismatic(axis=axis), parent=parent, child=name, limits=held)
    b.row(row(name="curve", expression=text, unit="m" if row is ns.rows.PositionRow else "m/s"))
    return ns.compile(ns.derive(b.build()))


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_a_point_stays_on_the_line_that_it_came_on(slope):
    system = plane("y.position*(y.position - x.position)")
    start = {"x.position": -1.0, "y.position": -slope, "x.speed": 1.0}
    run = ns.simulate(system, duration=2.0, start=start, samples=[0.5, 1.0, 1.5, 2.0])
    assert run["x.position"] == pytest.approx([-0.5, 0.0, 0.5, 1.0], abs=1e-9)
    assert run["y.position"] == pytest.approx(slope * run["x.position"], abs=1e-9)
    assert run["y.speed"] == pytest.approx([slope] * 4, abs=1e-9)


REFUSED = {
    "a common tangent": (
        "y.position*(y.position - x.position^2)",
        ns.rows.PositionRow,
        {"x.position": -1.0, "x.speed": 1.0},
        "common tangent|only touch",
    ),
    "a row of speeds": (
        "x.position*y.speed",
        ns.rows.VelocityRow,
        {"x.position": -1.0, "x.speed": 1.0},
        "'curve' that lose rank there are not all holonomic",
    ),
    "rest": ("y.position*(y.position - x.position)", ns.rows.PositionRow, {}, "it rests there"),
}


@pytest.mark.parametrize("max_step", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_passed_ends_the_run_with_the_reason(case, max_step):
    text, row, start, reason = REFUSED[case]
    with pytest.raises(ns.SimulationError, match=reason):
        ns.simulate(plane(text, row), duration=3.0, start=start, max_step=max_step)


@pytest.mark.parametrize("near", [0.4, -0.7])
def test_a_guess_picks_the_branch_of_sensitivities(parallelogram, near):
    """Derivatives by the start angle, against runs beside it on the same branch."""
    held = {"duration": 0.15, "guess": {"rocker.angle": near}, "rtol": 1e-12, "atol": 1e-12}
    start = {"crank.angle": 0.4, "crank.rate": 12.0}
    found = ns.simulate_sensitivities(
        parallelogram, start=start, samples=2, with_respect_to=["crank.angle"], **held
    )
    h = 1e-4
    ends = [
        ns.simulate(parallelogram, start={**start, "crank.angle": 0.4 + e}, samples=2, **held)
        for e in (h, -h)
    ]
    slope = (ends[0]["rocker.angle"][-1] - ends[1]["rocker.angle"][-1]) / (2 * h)
    assert found["rocker.angle", "crank.angle"][-1] == pytest.approx(slope, rel=1e-6)
    gradient = ns.gradient(
        parallelogram,
        start=start,
        terminal="rocker.angle",
        with_respect_to=["crank.angle"],
        **held,
    )
    assert gradient["crank.angle"] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("tolerance", [1e-9, 1e-12])
def test_batches_and_derivatives_say_that_they_end_there(parallelogram, tolerance):
    given = {"guess": {"rocker.angle": 0.4}, "rtol": tolerance, "atol": tolerance, "duration": 1.0}
    start = {"crank.angle": 0.4, "crank.rate": 12.0}
    batch = ns.simulate_batch(parallelogram, start=start, count=2, **given)
    said = r"the rows lose rank there; {} end at such a place, simulate goes through"
    assert re.search(said.format("batches"), batch.message(1))
    words = {"with_respect_to": ["crank.rate"], "start": start, **given}
    with pytest.raises(ns.SimulationError, match=said.format("derivatives of runs")):
        ns.simulate_sensitivities(parallelogram, **words)
    with pytest.raises(ns.SimulationError, match=said.format("derivatives of runs")):
        ns.gradient(parallelogram, terminal="crank.angle", **words)
