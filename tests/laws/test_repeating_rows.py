"""The rank of all rows decides, wherever some of them repeat others."""

import numpy as np
import pytest
from maximal import Maximal
from repeating import CRANK, RADIUS, ROD, WHEEL, plate_at_height, side_rods, tied_sliders
from scipy.integrate import solve_ivp

import noslip as ns

#: Inertia of both wheels and both rods about an axle, kg·m².
INERTIA = 2 * WHEEL + 2 * ROD * CRANK**2


@pytest.fixture(scope="module")
def wheels():
    return ns.compile(ns.derive(side_rods()))


def potential(angle):
    """U over g m: heights of the two rods, whose mass centers are at their pins on wheel 0."""
    return CRANK * (np.cos(angle) - np.sin(angle))


def turned(angle, **values):
    return {"wheel0.angle": angle, "wheel1.angle": angle, **values}


def assert_turns_as_its_energy_says(run, rel):
    angle, rate = run["wheel0.angle"], run["wheel0.rate"]
    energy = INERTIA * rate**2 / 2 + 9.81 * ROD * potential(angle)
    assert energy == pytest.approx(energy[0], rel=rel)
    assert run["wheel1.angle"] == pytest.approx(angle, abs=1e-11)


def test_two_wheels_with_side_rods_turn_through_all_dead_centers(wheels):
    run = ns.simulate(wheels, duration=12.0, start=turned(0.4, **{"wheel0.rate": 8.0}), rtol=1e-11)
    assert run["wheel0.angle"][-1] > 28 * np.pi
    assert_turns_as_its_energy_says(run, 1e-8)
    # nothing to switch, and no row is worse off than any other: rounding of 90 rad at 10 rad/s
    assert not wheels._relatives
    assert np.abs(run.row_residuals).max() < 1e-12 and run.gap < 1e-13


@pytest.mark.slow
def test_they_turn_a_thousand_times(wheels):
    duration = 2000.0 * np.pi / 8.0
    run = ns.simulate(wheels, duration=duration, start=turned(0.4, **{"wheel0.rate": 8.0}))
    assert run["wheel0.angle"][-1] > 2000.0 * np.pi
    assert np.abs(run.row_residuals).max() < 1e-10 and run.gap < 1e-10
    # 11 000 steps of an error of 1e-9 of the angle, 6500 rad at the end
    assert_turns_as_its_energy_says(run, 1e-6)


KINDS = {
    "on axles": {},
    "one rolls": {"treads": 1},
    "one rod, both roll": {"rods": 1, "treads": 2},
    "one rod with the pin, both roll": {"rods": 1, "treads": 2, "pin_on_rod": True},
    "both roll": {"treads": 2},
}


@pytest.fixture(scope="module", params=KINDS)
def both(request):
    """The wheels by noslip and by the oracle."""
    model = side_rods(**KINDS[request.param])
    return ns.compile(ns.derive(model)), Maximal(model)


def test_formulations_agree_on_them(both):
    assert ns.verify(both[0].model).holds


@pytest.mark.parametrize("angle", [0.0, np.pi / 4, np.pi / 2, 2.0])
def test_accelerations_are_those_of_maximal_coordinates(both, angle):
    system, oracle = both
    at = ns.evaluate(system, turned(angle, **{"wheel0.rate": 2.0}))
    q = np.array(list(at.coordinates.values()))
    v = np.array(list(at.speeds.values()))
    x, none = oracle.place(q), np.zeros(0)
    tree = oracle.rows(x, np.zeros(oracle.size), 0.0, none, none, q)
    J, L = tree.J[: tree.num_tree], oracle.speeds(x)
    V = np.linalg.solve(np.vstack([J, L]), np.concatenate([np.zeros(len(J)), v]))
    answer = oracle.at(x, V, 0.0, none, none, none, q)
    assert answer.freedoms == 1
    assert list(at.accelerations.values()) == pytest.approx(answer.speed_rates, abs=1e-10)


def rolled(times, angle, rate):
    """Angle and rate of two wheels that roll with one rod: x = Rθ, the pin at c(cos θ, −sin θ).

    2K/θ̇² = 3R² + 2I + m((R − c sin θ)² + c² cos² θ) and U = −m g c sin θ; dE/dt = 0.
    """

    def rates(t, y):
        sin, cos = np.sin(y[0]), np.cos(y[0])
        inertia = 3 * RADIUS**2 + 2 * WHEEL
        inertia += ROD * ((RADIUS - CRANK * sin) ** 2 + (CRANK * cos) ** 2)
        slope = -2 * ROD * RADIUS * CRANK * cos
        return [y[1], (ROD * 9.81 * CRANK * cos - slope * y[1] ** 2 / 2) / inertia]

    span = times[0], times[-1]
    return solve_ivp(rates, span, [angle, rate], "DOP853", times, rtol=1e-13, atol=1e-13).y


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.7, np.pi])
@pytest.mark.parametrize("pin_on_rod", [False, True])
def test_treads_lead_one_rod_through_its_dead_centers(pin_on_rod, angle):
    model = side_rods(rods=1, treads=2, pin_on_rod=pin_on_rod)
    start = turned(angle, **{"wheel0.rate": -3.0, "rod0.angle": -angle, "frame.position": 0.0})
    held = {"duration": 12.0, "samples": 61, "rtol": 1e-11, "atol": 1e-11}
    run = ns.simulate(ns.compile(ns.derive(model)), start=start, **held)
    wanted, rate = rolled(run.t, angle, -3.0)
    assert wanted[-1] < -8 * np.pi
    assert run["wheel0.angle"] == pytest.approx(wanted, abs=1e-8)
    assert run["wheel0.rate"] == pytest.approx(rate, abs=1e-8)
    assert run["wheel1.angle"] == pytest.approx(run["wheel0.angle"], abs=1e-12)
    assert run.gap < 1e-12 and not run.notes


@pytest.mark.parametrize("angle", [0.0, np.pi / 2])
def test_a_start_on_a_dead_center_needs_no_second_angle(wheels, angle):
    start = {"wheel0.angle": angle, "wheel0.rate": 3.0}
    run = ns.simulate(wheels, duration=1.0, start=start, rtol=1e-11, atol=1e-11)
    assert run["wheel1.rate"][0] == pytest.approx(3.0, abs=1e-13)
    assert_turns_as_its_energy_says(run, 1e-9)


def test_motions_with_sensitivities_and_batches_pass_too(wheels):
    start = turned(0.4, **{"wheel0.rate": 8.0})
    held = {"duration": 2.0, "rtol": 1e-11, "atol": 1e-11}
    alone = ns.simulate(wheels, start=start, samples=3, **held)
    batch = ns.simulate_batch(wheels, start=start, count=3, **held)
    found = ns.simulate_sensitivities(
        wheels, start=start, samples=3, with_respect_to=["wheel0.rate"], **held
    )
    assert batch.final["wheel0.angle"] == pytest.approx(alone["wheel0.angle"][-1], abs=1e-9)
    h = 1e-5
    near = [
        ns.simulate(wheels, start={**start, "wheel0.rate": 8.0 + e}, samples=3, **held)
        for e in (h, -h)
    ]
    slope = (near[0]["wheel1.angle"] - near[1]["wheel1.angle"]) / (2 * h)
    assert found["wheel1.angle", "wheel0.rate"] == pytest.approx(slope, abs=1e-5)


def test_small_motions_are_those_of_a_pendulum_at_a_dead_center():
    # both rods as one mass at 45°, and rods whose pins are in line with the axles nowhere else
    system = ns.compile(ns.derive(side_rods()))
    motion = ns.steady(system, {}, guess=turned(-np.pi / 4 + np.pi))
    rest = motion.values["wheel0.angle"] % (2 * np.pi)
    assert np.sin(rest + np.pi / 4) == pytest.approx(0.0, abs=1e-9)
    stiffness = -9.81 * ROD * potential(rest)
    found = ns.linearize(system, motion.start)
    wanted = np.emath.sqrt(-stiffness / INERTIA)
    assert abs(wanted) > 1.0
    for one in (wanted, -wanted):
        assert np.min(np.abs(found.eigenvalues - one)) < 1e-9 * abs(wanted)
    assert len(found.eigenvalues) == 2


@pytest.mark.parametrize(
    "changed", [{}, {"p": 0.0, "r": 1.0}, {"p": 0.3, "r": 0.7}, {"p": 0.5}], ids=str
)
def test_another_row_may_repeat_at_other_parameters(changed):
    system = ns.compile(ns.derive(tied_sliders()))
    rate = -9.81 * 3 / 6
    run = ns.simulate(system, duration=1.0, start={"x.speed": 1.0}, parameters=changed)
    for name in "xyz":
        assert run[f"{name}.position"][-1] == pytest.approx(1.0 + rate / 2, abs=1e-12)
    at = ns.evaluate(system, {"y.speed": 1.0}, parameters=changed)
    assert list(at.accelerations.values()) == pytest.approx([rate] * 3, abs=1e-12)
    # what the rows do together: m a of x and y, and the weight of z less its own
    p, r = changed.get("p", 1.0), changed.get("r", 0.0)
    A = np.array([[1, 0, -1], [p, 1 - p, -1], [r, 1 - r, -1]])
    pushes = A.T @ np.array(list(at.multipliers.values()))
    assert pushes == pytest.approx([rate, 2 * rate, 3 * rate + 3 * 9.81], abs=1e-12)
    batch = ns.simulate_batch(
        system, duration=1.0, start={"x.speed": [1.0, 2.0]}, parameters=changed
    )
    assert batch.final["y.position"] == pytest.approx(np.array([1.0, 2.0]) + rate / 2, abs=1e-12)


def test_parameters_that_change_the_freedom_are_refused():
    system = ns.compile(ns.derive(tied_sliders()))
    with pytest.raises(ns.SimulationError, match=r"'row3' repeat .* gained a degree of freedom"):
        ns.simulate(system, duration=1.0, parameters={"r": 1.0})
    mixed = {"p": [0.0, 1.0], "r": [1.0, 0.0]}
    with pytest.raises(ns.SimulationError, match="the redundant rows differ"):
        ns.simulate_batch(system, duration=1.0, start={"x.speed": 1.0}, parameters=mixed)


@pytest.fixture(scope="module", params=[True, False], ids=["position first", "velocity first"])
def plate(request):
    return ns.compile(ns.derive(plate_at_height(position_first=request.param)))


def test_a_position_row_beside_a_velocity_row_is_held(plate):
    assert [plate.kinematics.rows[k].name for k in plate.kinematics.row_basis] == ["height"]
    motion = ns.steady(plate, {"plate.vx": 1.5})
    assert motion.start.q[1] == pytest.approx(1.0, abs=1e-12)
    run = ns.simulate(plate, duration=2.0, start=motion.start)
    assert run.gap < 1e-13
    assert run["plate.x"][-1] == pytest.approx(motion.start.q[0] + 3.0, abs=1e-12)


@pytest.mark.parametrize(
    "ask",
    [
        lambda system, start: ns.steady(system, start),
        lambda system, start: ns.linearize(system, start),
        lambda system, start: ns.evaluate(system, start),
        lambda system, start: ns.simulate(system, duration=1.0, start=start),
        lambda system, start: ns.simulate_batch(system, duration=1.0, start=start),
    ],
    ids=["steady", "linearize", "evaluate", "simulate", "batch"],
)
def test_a_start_that_breaks_it_is_refused_everywhere(plate, ask):
    with pytest.raises(ns.SimulationError, match="height"):
        ask(plate, {"plate.y": 0.3})


def test_a_completed_start_of_other_parameters_is_refused(plate):
    start = ns.steady(plate, {"plate.vx": 1.5}).start
    with pytest.raises(ns.SimulationError, match="breaks row 'height' by -1"):
        ns.simulate(plate, duration=1.0, start=start, parameters={"h": 2.0})
    with pytest.raises(ns.SimulationError, match="breaks row 'height' by -1"):
        ns.linearize(plate, start, parameters={"h": 2.0})
