"""`PathTracking`: every vehicle back to every path, with nothing told to it."""

import numpy as np
import pytest
import vehicles

import noslip as ns

PATHS = {
    "line": ns.paths.Line(start=(0.0, 0.0), end=(15.0, 3.0)),
    "circle": ns.paths.Circle(radius=8.0, turns=0.4),
    "corner": ns.paths.Polyline(points=((0.0, 0.0), (14.0, 0.0), (14.0, 14.0)), radius=5.0),
    "spline": ns.paths.Spline(points=((0.0, 0.0), (10.0, 3.0), (20.0, 0.0))),
    "eight": ns.paths.FigureEight(half_width=8.0, half_height=4.0),
}
VEHICLES = (
    *("agv", "carriage", "vertical-disk", "differential-robot", "chaplygin-sleigh", "knife-edge"),
    *("tricycle", "ackermann-car", "forklift", "lhd-noslip", "tractor-trailer", "truck-trailers"),
    *("mecanum-base", "omni-base", "mobile-manipulator", "sled-with-rotor"),
)
#: One for each way of steering, for the usual suite.
FEW = {"carriage": "circle", "tricycle": "spline", "forklift": "circle", "omni-base": "line"}


def cases(request):
    if request.config.getoption("--long"):
        return [(name, path) for name in VEHICLES for path in PATHS]
    return list(FEW.items())


def beside(system, path, off=0.2):
    """The start of a vehicle to the side of its path, m."""
    run = ns.track(system, path, duration=0.1, samples=2, controller="path")
    name = next(c.name for c in system.coordinates if c.name.endswith(".y"))
    return {name: float(run[name][0]) + off}


def test_every_vehicle_comes_back_to_every_path(request, system_of):
    for name, path in cases(request):
        system = system_of(name)
        run = ns.track(system, PATHS[path], controller="path", start=beside(system, PATHS[path]))
        assert run.path_errors.distance[0] == pytest.approx(0.2, abs=1e-6), (name, path)
        # over the way driven, in lengths of the vehicle: the longest one has five of them
        assert run.path_errors.distance[-1] < 1e-3 and not run.path_errors.lost, (name, path)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["carriage", "tricycle"])
def test_errors_across_obey_the_equation_of_the_law(system_of, name, reverse):
    """y″ + (2/λ) y′ + y/λ² = 0 over the way: y = y₀ (1 + s/λ) exp(−s/λ), fast actuators."""
    reach, small = 2.0, 1e-4
    line = ns.paths.Line(start=(0.0, 0.0), end=(30.0, 0.0))
    run = ns.track(
        system_of(name),
        line,
        timing="constant-speed:0.1",
        follower=ns.Follower(reverse=reverse),
        controller=ns.controllers.PathTracking(reach=reach, k=40.0),
        start=beside(system_of(name), line, small),
        duration=100.0,
    )
    s = run["path.arc_length"] / reach
    expected = small * (1 + s) * np.exp(-s)
    # speeds settle over 0.1 m/s / 40 1/s = 2.5 mm of way
    assert np.max(np.abs(run.path_errors.across - expected)) < 5e-3 * small


def test_stops_and_cusps_are_held(request, system_of):
    """There and back; a steered vehicle in reverse is unstable without feedback."""
    bend = ns.paths.Clothoid(start_curvature=0.0, end_curvature=0.05, length=12.0)
    path = ns.paths.Composite(paths=(bend, ns.paths.reversed_path(bend)))
    trailers = ("tractor-trailer", "truck-trailers")  # fold up in reverse
    names = VEHICLES if request.config.getoption("--long") else ("tricycle",)
    for name in names:
        if name in trailers:
            continue
        run = ns.track(system_of(name), path, controller="path")
        assert run.tracking_error < 1e-5, name


def test_what_it_cannot_lead_is_refused(system_of):
    arm = system_of("manipulator-2r")
    swing = ns.motions.ExpressionMotion(coordinates={"joint1.angle": "0.1*t", "joint2.angle": 0.5})
    with pytest.raises(ns.SimulationError, match="needs a vehicle that follows a path"):
        ns.follow(arm, swing, duration=1.0, controller="path")
    with pytest.raises(ns.SimulationError, match="reach is -1"):
        ns.controllers.PathTracking(reach=-1.0)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("tractor-trailer", "circle:radius=15"),
        ("truck-trailers", "line:start=0,0,end=40,0"),
        ("lhd-noslip", "circle:radius=15"),
    ],
)
def test_trailers_that_go_first_are_led(system_of, name, path):
    """In reverse from 0.2 m beside: one trailer, three, and a waist; all are unstable alone."""
    system, back = system_of(name), ns.Follower(reverse=True)
    base = next(c.name for c in system.coordinates if c.name.endswith(".y"))
    on = ns.track(system, path, follower=back, controller="path")
    assert on.tracking_error < 1e-6 and "axle of" in on.notes[0]
    run = ns.track(system, path, follower=back, controller="path", start={base: on[base][0] + 0.2})
    off = run.path_errors.distance
    assert off[0] == pytest.approx(0.2, abs=1e-6)
    # within a tenth at the end of a line of 40 m, on which the last meters are slow
    assert off[-1] < 0.02 and np.max(off) < 0.4 and not run.path_errors.lost


def test_a_chain_whose_speeds_are_singular_at_the_start_is_led():
    """Rates of fork and trailer, the model's own speeds, say nothing of how fast a truck goes."""
    system, back = (
        ns.compile(ns.derive(vehicles.truck((0.0, 0.0), (3.0, 2.5)))),
        ns.Follower(reverse=True),
    )
    base = next(c.name for c in system.coordinates if c.name.endswith(".y"))
    on = ns.track(system, "circle:radius=15", follower=back, controller="path")
    assert on.tracking_error < 1e-6
    beside = {base: on[base][0] + 0.2}
    run = ns.track(system, "circle:radius=15", follower=back, controller="path", start=beside)
    off = run.path_errors.distance
    assert off[0] == pytest.approx(0.2, abs=1e-6)
    assert off[-1] < 1e-6 and np.max(off) < 0.21 and not run.path_errors.lost
