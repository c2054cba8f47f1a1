"""Least time of random problems: monotone in every limit, and equal to a direct transcription.

A problem is a path, some of the limits of speed, acceleration, lateral and total acceleration, and
often two motors m_1 s̈ + m_2 (κ s̈ + κ' ṡ²) + slope(s) + damping · ṡ of a vehicle with two wheels.
"""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.control import sample
from noslip.control.path_geometry import length
from noslip.control.path_limits import LimitRows
from noslip.timing import Limits

#: The relative excess of limits that the search leaves is 1e-7, and a few times that of the time.
NOISE = 1e-6


def random_path(rng):
    size = rng.uniform(0.5, 5.0)
    return [
        lambda: ns.paths.Circle(radius=size, turns=rng.uniform(0.3, 1.5)),
        lambda: ns.paths.Ellipse(half_width=size, half_height=size * rng.uniform(0.2, 1.0)),
        lambda: ns.paths.FigureEight(half_width=size, half_height=size * rng.uniform(0.3, 1.0)),
        lambda: ns.paths.Sine(amplitude=size / 3, wave_number=1 / size, extent=6 * size),
        lambda: ns.paths.Line(start=(0.0, 0.0), end=(size, 0.0)),
        lambda: ns.paths.Spline(
            points=tuple((size * k, size * rng.uniform(-1, 1)) for k in range(5))
        ),
        lambda: ns.paths.Polyline(
            points=((0.0, 0.0), (size, 0.0), (size, size), (3 * size, size)), radius=size / 4
        ),
    ][rng.integers(7)]()


@dataclasses.dataclass(frozen=True)
class Motors:
    """Rows |u| ≤ force of two wheels."""

    mass: float
    arm: float
    slope: float
    damping: float
    force: float

    def rows(self, path, count=61):
        at = sample(path, count)
        kappa, rate = at.curvature[:, None], at.curvature_rate[:, None]
        s = at.arc_length
        hill = self.slope * np.sin(9 * s / s[-1])[:, None]
        inertia = np.hstack([(self.mass - side * self.arm * kappa) / 2 for side in (1, -1)])
        squared = np.hstack([-side * self.arm * rate / 2 for side in (1, -1)])
        load = np.hstack([hill, hill])

        def resistance(_, v):
            drag = np.repeat(self.damping * v[:, None], 2, axis=1)
            slope = np.full_like(drag, self.damping)
            return np.hstack([drag, -drag]), np.hstack([slope, -slope])

        return LimitRows(
            arc_lengths=s,
            inertia=np.hstack([inertia, -inertia]),
            squared=np.hstack([squared, -squared]),
            constant=np.hstack([load - self.force, -load - self.force]),
            names=("left", "right", "left brake", "right brake"),
            resistance=resistance if self.damping else None,
        )


def random_problem(rng):
    """A path, limits by name, and motors or nothing."""
    path = random_path(rng)
    names = ("speed", "acceleration", "lateral_acceleration", "total_acceleration")
    limits = {n: float(np.exp(rng.uniform(-2, 2))) for n in names if rng.random() < 0.5}
    if rng.random() < 0.5 or not {"acceleration", "total_acceleration"} & set(limits):
        motors = Motors(
            mass=rng.uniform(1.0, 5.0),
            arm=rng.uniform(0.0, 1.0),
            slope=rng.uniform(0.0, 0.9) * (rng.random() < 0.5),
            damping=rng.uniform(0.1, 1.0) * (rng.random() < 0.5),
            force=1.0,
        )
        return path, limits, motors
    return path, limits, None


def fastest(path, limits, motors):
    rows = None if motors is None else motors.rows(path)
    return ns.timing.least_time(path, Limits(**limits, rows=rows), count=80).times[-1]


def assert_monotone(rng, most=None):
    path, limits, motors = random_problem(rng)
    tight = fastest(path, limits, motors)
    for name in [*limits, *(["force"] if motors else [])][:most]:
        factor = rng.uniform(1.0, 1.5)
        if name == "force":
            loose = fastest(path, limits, dataclasses.replace(motors, force=motors.force * factor))
        else:
            loose = fastest(path, limits | {name: limits[name] * factor}, motors)
        assert loose <= tight * (1 + NOISE), (path, limits, motors, name, factor)


@pytest.mark.slow
def test_looser_limits_are_never_slower(rng):
    for _ in range(50):
        assert_monotone(rng, most=1)


@pytest.mark.long
def test_looser_limits_are_never_slower_in_a_thousand_problems(rng):
    for _ in range(1000):
        assert_monotone(rng)


def transcribed(path, limits, motors, count=4000):
    """Duration by direct transcription: z = ṡ² at places, limits in the middle between them, IPOPT.

    The cost is ∑ 2 h/(√z_k + √z_{k+1}) (D. Verscheure
    et al., "Time-optimal path tracking for robots", IEEE Trans. on Automatic Control 54, 2009).
    """
    s = np.linspace(0.0, length(path), count + 1)
    h, middle = np.diff(s), (s[1:] + s[:-1]) / 2
    at = sample(path, 8001)
    bend = np.interp(middle, at.arc_length, np.abs(at.curvature))
    problem = ca.Opti()
    inner = problem.variable(count - 1)
    z = ca.vertcat(0, inner, 0)
    problem.subject_to(problem.bounded(1e-10, inner, limits.get("speed", 1e3) ** 2))
    u, mean = (z[1:] - z[:-1]) / (2 * h), (z[1:] + z[:-1]) / 2
    if "acceleration" in limits:
        problem.subject_to(problem.bounded(-limits["acceleration"], u, limits["acceleration"]))
    if "lateral_acceleration" in limits:
        problem.subject_to(bend * mean <= limits["lateral_acceleration"])
    if "total_acceleration" in limits:
        problem.subject_to(u**2 + (bend * mean) ** 2 <= limits["total_acceleration"] ** 2)
    if motors is not None:
        rows = motors.rows(path)
        a, b, c = rows.at(middle)
        drag = motors.damping * ca.sqrt(mean)
        for i, sign in enumerate((1, 1, -1, -1)):
            problem.subject_to(a[:, i] * u + b[:, i] * mean + c[:, i] + sign * drag <= 0)
    root = ca.vertcat(0, ca.sqrt(inner), 0)
    problem.minimize(ca.sum1(2 * h / (root[1:] + root[:-1])))
    problem.set_initial(inner, 1e-2 * np.sin(np.pi * s / s[-1])[1:-1])
    problem.solver(
        "ipopt",
        {"print_time": False},
        {"print_level": 0, "sb": "yes", "tol": 1e-11, "mu_strategy": "adaptive"},
    )
    return float(problem.solve().value(problem.f))


#: Both are of the second order in the distance of places, but for the transcription's jumps of
#: curvature (polylines), which are inside one of its 4000 intervals.
CLOSE, CLOSE_WITH_JUMPS = 3e-5, 5e-4


@pytest.mark.parametrize(
    "seed", [k if k in (0, 8) else pytest.param(k, marks=pytest.mark.long) for k in range(14)]
)
def test_least_time_is_that_of_a_direct_transcription(seed):
    problem = random_problem(np.random.default_rng(seed))
    off = CLOSE_WITH_JUMPS if isinstance(problem[0], ns.paths.Polyline) else CLOSE
    assert fastest(*problem) == pytest.approx(transcribed(*problem), rel=off)


@pytest.mark.parametrize("level", [0.05, 0.15, 0.3, 0.6, 1.0])
def test_least_time_scales_with_friction(level):
    """T √(a/R) is a number, whatever the size of both: nothing depends on rounding."""
    for radius in (1.0, 3.0):
        timing = ns.timing.least_time(
            ns.paths.Circle(radius=radius), Limits(total_acceleration=9.81 * level), count=60
        )
        unit = ns.timing.least_time(
            ns.paths.Circle(radius=1.0), Limits(total_acceleration=1.0), count=60
        )
        scale = np.sqrt(radius / (9.81 * level))
        assert timing.times[-1] == pytest.approx(unit.times[-1] * scale, rel=1e-6)


def test_infeasible_limits_name_what_conflicts_at_rest(refuses):
    """A hill steeper than the motors: they can hold the vehicle nowhere near its top."""
    path = ns.paths.Line(start=(0.0, 0.0), end=(4.0, 0.0))
    motors = Motors(mass=2.0, arm=0.0, slope=1.5, damping=0.0, force=1.0)
    with refuses(ns.SimulationError, "no motion satisfies", "m from the start", "loosen"):
        fastest(path, {"speed": 0.2}, motors)
