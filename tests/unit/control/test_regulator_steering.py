"""The regulator with a speed input: it steers a trailer backwards, which forces alone cannot."""

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.linalg import solve_continuous_are

import noslip as ns
from noslip.control.lqr import linearize_along

TRAILER = {"steering": "steer.angle", "hinge": "hinge.angle", "hitch": "c", "trailer": "l2"}
STATES = {
    "tractor.x": 0.1,
    "tractor.y": 0.01,
    "tractor.angle": 0.3,
    "hinge.angle": 1.0,
    "steer.angle": 0.3,
    "tractor.vx": 1.0,
    "steering_rate": 0.1,
}
FORCES = {"F_u1": 1e-6, "F_u2": 1e-6, "F_u3": 1e-6}
INPUTS = FORCES | {"steering_rate_rate": 1.0}
LINE = ns.paths.Line((0.0, 0.0), (400.0, 0.0))
PATHS = {
    "circle": ns.paths.Circle(radius=25.0),
    "tight circle": ns.paths.Circle(radius=12.0),
    "sine": ns.paths.Sine(amplitude=3.0, wave_number=0.1, extent=150.0),
}


@pytest.fixture(scope="module")
def tractor(system_of):
    return system_of("tractor-trailer")


def backing(system, path):
    """The trailer's axle along a path, backwards, and where that starts."""
    motion = ns.motions.TrailerMotion(
        path=path, timing=ns.timing.ConstantSpeed(1.5), wheelbase="l1", **TRAILER
    )
    follow = ns.motions.FollowMotion(
        motion=motion, reference_start=np.zeros(len(system.coordinates))
    )
    return motion, ns.start_on_motion(system, follow, {}, system.parameters())


def regulator(system, motion, begin, duration=60.0, inputs=INPUTS, **changes):
    return ns.controllers.linear_quadratic(
        system,
        motion,
        reference_start=begin.q,
        duration=duration,
        state_weights=STATES,
        input_weights=inputs,
        **changes,
    )


def drive(
    system, motion, begin, controller, off, *, limits=None, period=0.0, duration=60.0, **options
):
    law = ns.controllers.Tracking(
        motion=motion,
        controller=controller,
        reference_start=begin.q,
        limits=limits or {},
        period=period,
    )
    start = {c.name: float(x) for c, x in zip(system.coordinates, begin.q, strict=True)}
    start |= {"tractor.vx": float(begin.eta[0])}
    for name, by in off.items():
        start[name] += by
    options = {"samples": 4001} | options
    run = ns.simulate(system, duration=duration, start=start, inputs=law, **options)
    ends = [abs(run[n.name][-1] - run[f"reference.{n.name}"][-1]) for n in system.coordinates]
    return run, max(ends)


def test_gains_on_a_line_solve_the_algebraic_equation(tractor):
    motion, begin = backing(tractor, LINE)
    found = regulator(tractor, motion, begin, duration=150.0, samples=11)
    line = linearize_along(tractor, motion, reference_start=begin.q, duration=150.0, samples=11)
    assert line.A.shape == (11, 7, 7) and line.B.shape == (11, 7, 4)
    A, B = line.A[0], line.B[0]
    # the steering angle is the integral of its rate, the rate that of the input
    assert A[3] == pytest.approx([0, 0, 0, 0, 0, 0, 1]) and not np.any(A[6])
    assert B[6] == pytest.approx([0, 0, 0, 1])
    Q = np.diag([STATES[n] for n in ("tractor.x", "tractor.y", "tractor.angle", "steer.angle")])
    Q = np.diag([*np.diag(Q), STATES["hinge.angle"], STATES["tractor.vx"], 0.1])
    P = solve_continuous_are(A, B, Q, np.diag(list(INPUTS.values())))
    assert found.costs[0] == pytest.approx(P, rel=1e-6, abs=1e-6)
    assert np.max(np.linalg.eigvals(A).real) > 0.1  # it folds up by itself
    assert np.max(np.linalg.eigvals(A - B @ found.gains[0]).real) < -0.05


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("fold", [0.4, -0.4])
def test_backing_up_recovers_from_a_folded_start(tractor, path, fold):
    motion, begin = backing(tractor, path)
    controller = regulator(tractor, motion, begin)
    run, off = drive(tractor, motion, begin, controller, {"hinge.angle": fold, "tractor.y": 0.5})
    assert off < 2e-3
    assert np.max(np.abs(run["hinge.angle"])) < 1.2
    # the rate that is given is that of the speed input that is given
    w, rate = run["steering_rate"], run["steering_rate_rate"]
    slope = (8 * (w[3:-1] - w[1:-3]) - (w[4:] - w[:-4])) / (12 * (run.t[1] - run.t[0]))
    assert slope == pytest.approx(rate[2:-2], abs=3e-7)


def cost(run, still):
    """∫ xᵀQx + cᵀRc dt of what one run is off another."""
    x, y, turned = (run[f"tractor.{k}"] - still[f"tractor.{k}"] for k in ("x", "y", "angle"))
    c, s = (f(still["tractor.angle"]) for f in (np.cos, np.sin))
    errors = {"tractor.x": c * x + s * y, "tractor.y": -s * x + c * y, "tractor.angle": turned}
    for name in ("hinge.angle", "steer.angle", "tractor.vx", "steering_rate"):
        errors[name] = run[name] - still[name]
    total = sum(STATES[name] * e**2 for name, e in errors.items())
    total = total + sum(weight * (run[n] - still[n]) ** 2 for n, weight in INPUTS.items())
    return simpson(total, x=run.t)


def test_the_cost_is_that_of_the_riccati_equation(tractor):
    """xᵀP x in the limit of small starts x, on a circle backwards.

    The mean of the costs of x and −x, over xᵀP x, is 1 + c₂ h² + c₄ h⁴ + … for starts of size h.
    """
    motion, begin = backing(tractor, PATHS["circle"])
    controller = regulator(tractor, motion, begin, duration=90.0)
    start = np.array([0.0, 0.0, 0.0, 3e-3, 2e-3, 0.0, 0.0])
    predicted = start @ controller.costs[0] @ start
    options = {"duration": 90.0, "samples": 16001, "rtol": 1e-12, "atol": 1e-12}
    still, _ = drive(tractor, motion, begin, controller, {}, **options)

    def mean(h):
        both = []
        for size in (h, -h):
            off = {"hinge.angle": 2e-3 * size, "steer.angle": 3e-3 * size}
            run, _ = drive(tractor, motion, begin, controller, off, **options)
            both.append(cost(run, still) / (predicted * h**2))
        return sum(both) / 2

    far, near, nearest = (mean(h) for h in (4.0, 2.0, 1.0))
    # errors fall to a quarter with halved starts; without h² and h⁴ nothing is left
    assert (far - 1) / (near - 1) == pytest.approx(4.0, rel=1e-3)
    assert (near - 1) / (nearest - 1) == pytest.approx(4.0, rel=1e-3)
    assert (64 * nearest - 20 * near + far) / 45 == pytest.approx(1.0, rel=2e-9)


def test_looks_at_20_hz_are_enough(tractor):
    motion, begin = backing(tractor, PATHS["sine"])
    controller = regulator(tractor, motion, begin)
    run, off = drive(tractor, motion, begin, controller, {"hinge.angle": 0.3}, period=0.05)
    assert off < 1e-2
    # speeds go on without jumps
    w, rate = run["steering_rate"], run["steering_rate_rate"]
    step = run.t[1] - run.t[0]
    assert np.max(np.abs(np.diff(w))) <= 1.01 * step * np.max(np.abs(rate))
    limited, _ = drive(
        tractor,
        motion,
        begin,
        controller,
        {"hinge.angle": 0.3},
        period=0.05,
        limits={"steering_rate": 0.45},
    )
    assert np.max(np.abs(limited["steering_rate"])) <= 0.45 + 1e-12


def test_names_of_weights_are_checked(tractor):
    motion, begin = backing(tractor, LINE)
    with pytest.raises(ns.SimulationError, match="no 'steering_rate' to weight") as caught:
        regulator(tractor, motion, begin, inputs=FORCES | {"steering_rate": 1.0})
    assert "steering_rate_rate" in caught.value.fix and "tractor-trailer" in caught.value.where
