"""This vehicle, this path: what follows, heads and steers is found, for vehicles of all kinds."""

import math

import numpy as np
import pytest
import vehicles

import noslip as ns
from noslip.control import find_follower
from noslip.control.followers import motion_along, undriven_speeds

PATHS = {
    "line": ns.paths.Line(start=(0.0, 0.0), end=(15.0, 3.0)),
    "circle": ns.paths.Circle(radius=8.0, turns=0.4),
    "corner": ns.paths.Polyline(points=((0.0, 0.0), (14.0, 0.0), (14.0, 14.0)), radius=5.0),
    "spline": ns.paths.Spline(points=((0.0, 0.0), (10.0, 3.0), (20.0, 0.0))),
}
#: 43 m, as it is driven in a hall.
EIGHT = ns.paths.FigureEight(half_width=6.0, half_height=4.0)
VEHICLES = {
    "steered": lambda: vehicles.truck((), ()),
    "steered, counted downwards": lambda: vehicles.truck((), (), axis=(0.0, 0.0, -1.0)),
    "two trailers": lambda: vehicles.truck((0.0, 0.5), (3.0, 2.5)),
    "ackermann": vehicles.ackermann,
    "steered at both ends": vehicles.four_wheel_steered,
    "omni": vehicles.omni,
}
_systems: dict[str, ns.System] = {}


def system_for(name, make):
    if name not in _systems:
        _systems[name] = ns.compile(ns.derive(make()))
    return _systems[name]


def rides():
    """Every vehicle on every path: on two of them in make test, each path by three."""
    for k, name in enumerate(VEHICLES):
        for j, path in enumerate(PATHS):
            yield pytest.param(name, path, marks=() if (k - j) % 2 else pytest.mark.long)


@pytest.mark.parametrize(("vehicle", "path"), list(rides()))
def test_every_vehicle_follows_every_path_without_options(vehicle, path):
    run = ns.track(system_for(vehicle, VEHICLES[vehicle]), PATHS[path])
    assert run.tracking_error < 1e-6
    # the rates asked for are those of the model's own constraints, to the run's tolerance of 1e-9
    assert run.admissibility < 1e-8


LIBRARY = (
    *("agv", "carriage", "tricycle", "tractor-trailer", "vertical-disk", "differential-robot"),
    *("ackermann-car", "forklift", "mecanum-base", "omni-base", "truck-trailers"),
    "mobile-manipulator",
)


def library_rides():
    """Every vehicle on every path: on two of them in make test, each path by four or more."""
    for k, name in enumerate(LIBRARY):
        for j, path in enumerate([*PATHS, "eight"]):
            is_taken = (k - j) % 5 in (0, 2)
            yield pytest.param(name, path, marks=() if is_taken else pytest.mark.long)


@pytest.mark.parametrize(("name", "path"), list(library_rides()))
def test_every_library_vehicle_follows_without_options(system_of, name, path):
    run = ns.track(system_of(name), PATHS.get(path, EIGHT))
    assert run.tracking_error < 1e-6 and not run.path_errors.lost


def test_how_fast_errors_grow_without_feedback_is_said(system_of):
    """In a turn an arm that a constant torque holds falls out or in: λ of the steady turn."""
    system = system_of("sled-with-rotor")
    run = ns.track(system, "circle:radius=5;turns=2", timing="constant-speed:0.5")
    assert run.tracking_error > 1e-6
    note = run.notes[-1]
    speeds = {name: run[name][0] for name in ("sled.vx", "sled.rate")}
    inputs = {name: run[name][0] for name in ("F_v1", "tau1", "tau2")}
    grows = np.max(ns.linearize(system, speeds, inputs=inputs).eigenvalues.real)
    tenfold = float(note.partition("tenfold every ")[2].split()[0])
    # said with two digits, and fitted to two decades of a run
    assert tenfold == pytest.approx(math.log(10) * 0.5 / grows, rel=0.05)
    assert note.startswith("without feedback") and "such as 'path'" in note
    # under feedback, and where nothing grows, there is nothing to say
    assert not any("tenfold" in n for n in ns.track(system, "circle:5", controller="path").notes)


REVERSED = {
    "on the axle": lambda: vehicles.truck((0.0,), (3.0,)),
    "on both axles": lambda: vehicles.truck((0.0, 0.0), (3.0, 2.5)),
    "behind the axles": lambda: vehicles.truck((0.5, 0.4), (3.0, 2.5)),
    "on one axle, behind the other": lambda: vehicles.truck((0.0, 0.5), (3.0, 2.5)),
}


@pytest.mark.parametrize("path", ["line", "circle"])
@pytest.mark.parametrize("vehicle", REVERSED)
def test_trailers_go_first_in_reverse(vehicle, path):
    """The last trailer follows; hinges on axles by differentiation, others by integration."""
    system = system_for(vehicle, REVERSED[vehicle])
    last = [b.name for b in system.model.bodies if b.name.startswith("trailer")][-1]
    run = ns.track(system, PATHS[path], follower=ns.Follower(reverse=True))
    assert run.tracking_error < 1e-6 and run.admissibility < 1e-8
    assert f"axle of '{last}', in reverse" in run.notes[0]


def test_a_hinge_on_the_axle_takes_one_derivative_more():
    """k = 1 for one steered axle with finite torques, one more for each hinge on an axle."""
    orders = {}
    for hitches in ((), (0.0,), (0.0, 0.0), (0.5,), (0.0, 0.5)):
        system = system_for(
            f"truck {hitches}", lambda h=hitches: vehicles.truck(h, (3.0,) * len(h))
        )
        follower = find_follower(system, system.parameters(), reverse=bool(hitches))
        motion = motion_along(PATHS["circle"], ns.timing.Quintic(10.0), follower)
        orders[hitches] = motion.order(system)
    assert orders == {(): 1, (0.0,): 2, (0.0, 0.0): 3, (0.5,): 1, (0.0, 0.5): 2}


def test_angles_of_a_truck_on_a_circle_are_those_of_geometry():
    """Axles at right angles to the radii: R² = R_last² + …, tan δ = l/R, folds in between."""
    hitches, lengths, radius = (0.5, 0.4), (3.0, 2.5), 8.0
    system = system_for("behind the axles", REVERSED["behind the axles"])
    run = ns.track(
        system, ns.paths.Circle(radius=radius, turns=0.2), follower=ns.Follower(reverse=True)
    )
    # squares of the radii of the hinge and of the axle ahead, from the last trailer on
    hinge2 = math.sqrt(radius**2 + lengths[1] ** 2)
    axle1 = math.sqrt(hinge2**2 - hitches[1] ** 2)
    hinge1 = math.sqrt(axle1**2 + lengths[0] ** 2)
    truck = math.sqrt(hinge1**2 - hitches[0] ** 2)
    fold2 = math.atan(lengths[1] / radius) + math.atan(hitches[1] / axle1)
    fold1 = math.atan(lengths[0] / axle1) + math.atan(hitches[0] / truck)
    for name, angle in (
        ("fork.angle", math.atan(2.0 / truck)),
        ("trailer1.angle", fold1),
        ("trailer2.angle", fold2),
    ):
        assert np.max(np.abs(np.abs(run[name]) - angle)) < 1e-6


def test_a_base_that_moves_sideways_holds_its_heading_or_takes_one():
    system = system_for("omni", vehicles.omni)
    circle = ns.paths.Circle(radius=4.0, turns=0.5)
    held = ns.track(system, circle, follower=ns.Follower(heading=0.3))
    assert held.tracking_error < 1e-6 and np.max(np.abs(held["base.angle"] - 0.3)) < 1e-6
    turning = ns.track(system, circle, follower=ns.Follower(heading="0.1*s"))
    assert turning.tracking_error < 1e-6
    assert np.max(np.abs(turning["base.angle"] - 0.1 * turning["path.arc_length"])) < 1e-6
    along = ns.track(system, circle)
    assert np.max(np.abs(along["base.angle"] - along["path.heading"])) < 1e-6
    # held, its curvature may jump: the motors need not turn it
    corner = ns.paths.Polyline(
        points=((0.0, 0.0), (6.0, 0.0), (6.0, 6.0)), radius=2.0, blend="circle"
    )
    assert ns.track(system, corner, follower=ns.Follower(heading=0.0)).tracking_error < 1e-6


def test_joints_that_the_path_leaves_open_are_held(system_of):
    run = ns.track(system_of("sled-with-rotor"), PATHS["line"])
    assert "rotor.angle held" in run.notes[0] and run.tracking_error < 1e-6
    assert np.max(np.abs(run["rotor.angle"])) < 1e-6
    turned = ns.track(
        system_of("sled-with-rotor"),
        PATHS["line"],
        follower=ns.Follower(reference={"rotor.angle": 0.4}),
    )
    assert np.max(np.abs(turned["rotor.angle"] - 0.4)) < 1e-6


@pytest.mark.parametrize(
    ("make", "missing"),
    [
        (vehicles.sleigh_without_motors, ("sleigh.vx", "sleigh.rate")),
        (vehicles.pushed_sleigh, ("sleigh.rate",)),
        (lambda: ns.load("rolling-disk"), ("disk.wx", "disk.wy", "disk.wz")),
    ],
)
def test_a_vehicle_without_motors_is_refused_by_the_missing_one(make, missing):
    system = ns.compile(ns.derive(make()))
    assert undriven_speeds(system) == missing
    with pytest.raises(ns.SimulationError, match="no actuator drives") as caught:
        ns.track(system, PATHS["line"])
    assert all(f"'{name}'" in caught.value.what for name in missing)
    assert missing[0] in caught.value.fix and system.model.name in caught.value.where


def test_on_tires_it_is_led_as_the_vehicle_without_slip(system_of):
    """Slip is the side force over the stiffness: a tenth of it leaves a tenth of the error."""
    circle, tires = ns.paths.Circle(radius=12.0, turns=0.2), system_of("lhd")
    runs = [
        ns.track(tires, circle, controller=given, parameters={"C1": 1.2e5 * k, "C2": 1e5 * k})
        for k, given in ((1.0, None), (10.0, "none"))
    ]
    soft, stiff = (run.tracking_error for run in runs)
    # and what is of second order in the slip
    assert 9.0 < soft / stiff < 11.0 and soft < 0.1
    assert runs[0].model.name == "lhd" and "on tires: controller 'path'" in runs[0].notes[-1]
    # what pushes the axles sideways is no motor of the vehicle without slip
    assert np.max(np.abs(runs[0]["F_w2"])) < 1e-6
    # the library's own model without slip is the limit
    limit = ns.track(system_of("lhd-noslip"), circle, controller="path")
    for name in ("front.x", "waist.angle"):
        apart = [np.max(np.abs(run[name] - limit[name])) for run in runs]
        assert 9.0 < apart[0] / apart[1] < 11.0


def test_a_path_that_is_not_smooth_enough_is_refused_with_its_place(system_of):
    """A motor that steers cannot follow a jump of the curvature's rate."""
    tricycle = system_of("tricycle")
    corners = ((0.0, 0.0), (40.0, 0.0), (40.0, 30.0))
    clothoids = ns.paths.Polyline(points=corners, radius=10.0, blend="clothoid")
    with pytest.raises(ns.SimulationError, match=r"rate of the path jumps by .* 21\.3 m") as caught:
        ns.track(tricycle, clothoids)
    assert "order=2" in caught.value.fix and "tricycle" in caught.value.where
    # left open, it is made smooth, and said
    run = ns.track(tricycle, ns.paths.Polyline(points=corners, radius=10.0))
    assert run.tracking_error < 1e-6 and any("2 continuous derivatives" in n for n in run.notes)
    cubic = ns.paths.Spline(points=((0.0, 0.0), (20.0, 5.0), (40.0, 0.0)), order=0)
    with pytest.raises(ns.SimulationError, match="curvature's rate of the path jumps"):
        ns.track(tricycle, cubic)


def test_an_articulated_vehicle_follows_with_its_rear_in_reverse():
    system = system_for("articulated", vehicles.articulated)
    ahead = ns.track(system, PATHS["circle"], rtol=1e-12, atol=1e-12)
    assert ahead.tracking_error < 1e-6 and "of the base" in ahead.notes[0]
    back = ns.track(system, PATHS["line"], follower=ns.Follower(reverse=True))
    assert back.tracking_error < 1e-6 and "axle of 'rear'" in back.notes[0]
