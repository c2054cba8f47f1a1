"""Many starts at once: each has the bits it has alone, and is refused as it is alone."""

import numpy as np
import pytest

import noslip as ns
from noslip.simulation.starts.completion import complete_one, complete_starts

#: Model and what its starts give: ranges of values.
CASES = {
    "a pendulum": ("pendulum", {"swing.angle": (-3, 3), "swing.rate": (-1, 1)}),
    "rolling completes speeds": ("agv", {"wheel1.rate": (-5, 5), "bracket.angle": (-3, 3)}),
    "a dependent speed": ("agv", {"platform.vy": (-1, 1), "bracket.angle": (-1, 1)}),
    "all angles and rates": (
        "rolling-disk",
        {"disk.yaw": (-4, 4), "disk.tilt": (1, 2), "disk.spin": (-9, 9), "disk.tilt_rate": (-1, 1)},
    ),
    "some angles": ("rolling-disk", {"disk.tilt": (-2, -0.5), "disk.spin_rate": (-9, 9)}),
    "a quaternion": ("rolling-disk", {"disk.qw": (1, 2), "disk.qx": (1, 2), "disk.wx": (-1, 1)}),
    "one coordinate of a place": (
        "lopsided-wheel",
        {"wheel.x": (0, 50), "wheel.qw": (1, 2), "wheel.qx": (1, 2), "wheel.qy": (0, 0),
         "wheel.qz": (0, 0)},
    ),
    "a pitch that follows": (
        "whipple-bicycle",
        {"frame.lean": (-0.4, 0.4), "steer.angle": (-0.4, 0.4), "speed": (3, 6)},
    ),
    "rates that follow": (
        "whipple-bicycle",
        {"frame.lean": (-0.4, 0.4), "steer.rate": (-0.4, 0.4), "frame.lean_rate": (-1, 1)},
    ),
    "a linkage": ("four-bar", {"crank.angle": (-0.5, 0.9), "crank.rate": (-2, 2)}),
    "links in line": ("four-bar", {"crank.rate": (-2, 2)}),
    "a basis that fails": (
        "sleigh-on-slides", {"heading.angle": (np.pi / 2, np.pi / 2), "y.speed": (1, 2)},
    ),
    "a motion of time": ("led-pendulum", {}),
    "a steered trailer": ("tractor-trailer", {"steer.angle": (-0.4, 0.4), "tractor.vx": (1, 2)}),
}  # fmt: skip
COUNT, TIME = 37, 0.3


def parts(system, starts, **kwargs):
    """[q, η, μ] of some starts, with the speed inputs 0.2, 0.4, …."""
    w = 0.2 * (1 + np.arange(len(system.model.speed_inputs)))
    return complete_starts(
        system,
        starts,
        time=TIME,
        speed_inputs=lambda which, q: np.tile(w, (len(q), 1)),
        **kwargs,
    )


@pytest.mark.parametrize("case", CASES)
def test_a_start_has_its_own_bits(case, system_of, rng):
    name, given = CASES[case]
    system = system_of(name)
    starts = {n: rng.uniform(*ends, COUNT) for n, ends in given.items()}
    params = np.tile(system.parameters(), (COUNT, 1))
    many = parts(system, starts, count=COUNT, parameters=params)
    order = rng.permutation(COUNT)[:20]
    some = parts(
        system, {n: x[order] for n, x in starts.items()}, count=20, parameters=params[order]
    )
    w = 0.2 * (1 + np.arange(len(system.model.speed_inputs)))
    for k in range(COUNT):
        start = ns.complete_start(
            system,
            {n: float(x[k]) for n, x in starts.items()},
            time=TIME,
            speed_inputs=lambda q: w,
        )
        assert start.position_residual < 1e-11 and start.speed_residual < 1e-12
        for own, all_of_them in zip((start.q, start.v, start.eta, start.mu), many[:4], strict=True):
            assert np.array_equal(own, all_of_them[k])
    for mixed, all_of_them in zip(some, many, strict=True):
        assert np.array_equal(mixed, all_of_them[order])


def test_the_first_that_fails_is_named(system_of, refuses):
    """Whatever fails, and however many: a loop that does not close is no sooner than a speed."""
    system = system_of("four-bar")
    crank = np.array([0.7, 0.7, 0.7, 0.7])
    rocker = ns.complete_start(system, {"crank.angle": 0.7}).q[2] + np.array([0.0, 0.0, 0.3, 0.3])
    rates = np.array([0.0, 1.0, 0.0, 1.0])
    starts = {"crank.angle": crank, "rocker.angle": rocker}
    starts |= {"crank.rate": 2.0 * rates, "coupler.rate": 9.0 * rates, "rocker.rate": rates}
    params = system.parameters()[None]
    with refuses(ns.SimulationError, "speeds contradict", "trajectory 1", "leave out a speed"):
        complete_starts(system, starts, count=4, time=0.0, parameters=params, speed_inputs=None)
    later = {name: x[[0, 2, 1]] for name, x in starts.items()}
    with refuses(ns.SimulationError, "breaks row 'pin", "trajectory 1", "leave out a coordinate"):
        complete_starts(system, later, count=3, time=0.0, parameters=params, speed_inputs=None)


def test_a_basis_that_fails_is_left_for_singular_values(system_of):
    """Both ways find the same speeds where both can."""
    system = system_of("agv")
    found = complete_one(
        system,
        {"wheel1.rate": 3.0, "platform.vy": 0.2},
        time=0.0,
        speed_inputs=None,
        parameters=None,
    )
    fit = found.factors.args[0]
    C = np.concatenate([found.rows.A[0], *(asked.row[0] for asked in found.asked)])
    d = np.concatenate([-found.rows.a[0], *(asked.value[0] for asked in found.asked)])
    assert np.linalg.matrix_rank(C) == C.shape[1]  # so that C v = d leaves nothing of v open

    def is_found(v):
        """Both ways are backward stable: they solve (C + ΔC) v = d with |ΔC| ≤ m ε |C| (m rows).

        v itself may differ by the condition number of C more, 203 here: which digits are off
        changes from one LAPACK to the next.
        """
        error = np.linalg.norm(C @ (v - found.v[0]))
        size = np.linalg.norm(C, 2) * np.linalg.norm(found.v[0])
        return error <= len(C) * np.finfo(float).eps * size

    for way in (fit.by_basis, fit.by_singular_values):
        v, is_fit = way()
        assert is_fit.all()
        assert is_found(v[0])
    E = found.rows.E[0]
    for R, B in (fit.basis_factors(), fit.singular_factors()):
        v = R @ d
        assert is_found(v - B @ (B.T @ (E.T @ (E @ v))))
        assert C @ B == pytest.approx(0.0, abs=1e-14)


@pytest.mark.slow
def test_a_start_that_cannot_be_closed_is_refused_with_rates_given(system_of, refuses):
    disk = system_of("rolling-disk")
    given = {"disk.tilt": 1.2, "disk.z": 3.0, "disk.yaw_rate": 0.3, "disk.spin_rate": -2.0}
    with refuses(ns.SimulationError, "breaks row 'rim.normal'", "start of model 'rolling-disk'"):
        ns.complete_start(disk, given)
    many = {name: np.full(3, x) for name, x in given.items()}
    with refuses(ns.SimulationError, "breaks row 'rim.normal'", "trajectory 0", "leave out"):
        ns.simulate_batch(disk, duration=1.0, start=many)
