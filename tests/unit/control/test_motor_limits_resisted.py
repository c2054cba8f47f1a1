"""The promise of least time, |u| ≤ limit, where dampers, friction, tires or drag resist.

It is looked at in two ways: by inverse dynamics at instants along the motion, and in a forward
simulation under the inputs.
"""

import dataclasses
from functools import cache

import numpy as np
import pytest
from small_mechanisms import DAMPING, MASS, rail

import noslip as ns

AXLE = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
FOLLOWS = ns.Follower(**AXLE)
EIGHT = ns.paths.FigureEight(half_width=2.0, half_height=1.0)
LINE = ns.paths.Line(start=(0.0, 0.0), end=(4.0, 0.0))
LIMIT = 0.2
MOTORS = {"torque1": LIMIT, "torque2": LIMIT}
#: `LeastTime` lets a limit be exceeded by this part of it at most, between the places it looks at.
PROMISED = 1e-3
#: Some motor is used up to this part.
USED = 0.99

DAMPERS = tuple(
    ns.forces.JointDamper(name=f"damper{k}", speed=f"wheel{k}.rate", damping=0.02) for k in (1, 2)
)
FRICTION = tuple(
    ns.forces.JointFriction(name=f"friction{k}", speed=f"wheel{k}.rate", level=0.1, smoothing=0.05)
    for k in (1, 2)
)
STRONG = tuple(dataclasses.replace(f, level=0.9 * LIMIT, smoothing=0.01) for f in FRICTION)
SPEED = "sqrt(platform.vx**2 + platform.vy**2)"
DRAG = ns.forces.Wrench(
    name="drag",
    body="platform",
    force=(f"-2*platform.vx*{SPEED}", f"-2*platform.vy*{SPEED}", 0.0),
    axes="body",
)
#: At the front, where a turn drags it sideways; heading along y.
TIRE = ns.forces.Tire(
    name="tire",
    body="platform",
    direction=(0.0, 1.0, 0.0),
    point=(0.0, 0.2, 0.0),
    stiffness=4.0,
    v0=0.05,
    maximum=1.0,
)
RESISTANCES = {
    "dampers": DAMPERS,
    "friction": FRICTION,
    "both": (*DAMPERS, *FRICTION),
    "strong friction": STRONG,
    "drag": (DRAG,),
    "tire": (TIRE,),
    "all": (*DAMPERS, *FRICTION, DRAG, TIRE),
}


@cache
def agv(*names):
    return with_forces("agv", *(f for name in names for f in RESISTANCES[name]))


def with_forces(name, *forces):
    model = ns.load(name)
    return ns.compile(ns.derive(dataclasses.replace(model, forces=(*model.forces, *forces))))


def largest(system, path, timing, frame, names):
    """Largest input by inverse dynamics at instants, and by a simulation under the inputs."""
    motion = ns.motions.PathMotion(path=path, timing=timing, **frame)
    moved = ns.kinematic_history(system, motion, duration=timing.duration(path), samples=1501)
    needed = ns.dynamics_history(system, moved)
    assert np.max(np.abs(needed.unreachable)) < 1e-8
    result = ns.track(system, path, follower=ns.Follower(**frame), timing=timing, samples=8001)
    assert result.tracking_error < 1e-7
    return [
        max(float(np.max(np.abs(columns[name]))) for name in names)
        for columns in (needed.inputs, result)
    ]


#: What `make test` looks at; weak friction and dampers with it are parts of "all". On a line, where
#: nothing resists a turn, the two hardest.
USUAL = {
    "eight": ("dampers", "strong friction", "drag", "tire", "all"),
    "line": ("strong friction", "all"),
}
RIDES = [
    pytest.param(names, path, marks=() if names in USUAL[path] else pytest.mark.long)
    for names in RESISTANCES
    for path in USUAL
]


@pytest.mark.parametrize(("names", "path"), RIDES)
def test_motors_hold_what_is_promised_and_are_used(names, path):
    path = {"eight": EIGHT, "line": LINE}[path]
    system = agv(names)
    timing = ns.timing.LeastTime(inputs=MOTORS).on(system, path, FOLLOWS)
    for most in largest(system, path, timing, AXLE, MOTORS):
        assert USED * LIMIT < most < (1 + PROMISED) * LIMIT


def test_all_limits_at_once():
    """Speed, the ground and motors, as text; each holds."""
    timing = ns.timing.parse_timing("least-time:speed=0.4,friction=0.05,torque1=0.2,torque2=0.2")
    found = timing.on(agv("both"), EIGHT, FOLLOWS)
    assert np.max(found.speeds) <= 0.4 + 1e-9
    for most in largest(agv("both"), EIGHT, found, AXLE, MOTORS):
        assert USED * LIMIT < most < (1 + PROMISED) * LIMIT
    free = ns.timing.LeastTime(speed=0.4, friction=0.05).on(agv("both"), EIGHT, FOLLOWS)
    assert free.duration(EIGHT) < found.duration(EIGHT)


def test_rows_hold_for_the_fastest_timing_too():
    """On 400 places between which rows are linear: the second order of the step, 1/400 of a lap."""
    system, path = agv("both"), ns.paths.Circle(radius=1.5)
    timing = ns.timing.least_time(
        path,
        ns.timing.Limits(
            speed=2.0, rows=ns.timing.motor_limits(system, path, MOTORS, follower=FOLLOWS)
        ),
    )
    for most in largest(system, path, timing, AXLE, MOTORS):
        assert USED * LIMIT < most < (1 + PROMISED) * LIMIT


def test_a_steered_vehicle_with_dampers():
    names = ("tractor.vx", "hinge.rate")
    tractor = with_forces(
        "tractor-trailer",
        ns.forces.JointDamper(name="slow", speed=names[0], damping=150.0),
        ns.forces.JointFriction(name="stiff", speed=names[1], level=200.0, smoothing=0.01),
    )
    path = ns.paths.Sine(amplitude=3.0, wave_number=0.15, extent=60.0)
    forces = {f"F_u{k}": 500.0 for k in (1, 2, 3)}
    frame = {"steering": "steer.angle", "wheelbase": "l1"}
    timing = ns.timing.LeastTime(speed=3.0, inputs=forces).on(tractor, path, ns.Follower(**frame))
    for most in largest(tractor, path, timing, frame, forces):
        assert USED * 500.0 < most < (1 + PROMISED) * 500.0


def test_the_trailer_that_follows_the_path_is_what_is_limited():
    """With the trailer's axle on the path the base moves otherwise, and needs other forces."""
    tractor = with_forces("tractor-trailer")
    path = ns.paths.Sine(amplitude=3.0, wave_number=0.15, extent=60.0)
    forces = {f"F_u{k}": 500.0 for k in (1, 2, 3)}
    result = ns.track(
        tractor,
        path,
        follower=ns.Follower(
            steering="steer.angle",
            wheelbase="l1",
            hinge="hinge.angle",
            hitch="c",
            trailer="l2",
            reverse=True,
        ),
        timing=ns.timing.LeastTime(speed=3.0, inputs=forces),
        samples=8001,
    )
    most = max(np.max(np.abs(result[name])) for name in forces)
    assert USED * 500.0 < most < (1 + PROMISED) * 500.0


def test_the_inputs_that_are_used_are_those_limited():
    """Two of three forces do it all, each harder than the least of three."""
    sleigh = with_forces("chaplygin-sleigh")
    path = ns.paths.Sine(amplitude=-0.5, wave_number=1.0, extent=6.0)
    timing = ns.timing.LeastTime(speed=1.0, inputs={"F_cs": 0.5, "F_cphi": 0.5})
    result = ns.track(
        sleigh,
        path,
        controller=ns.ControlLoop(inputs=("F_cs", "F_cphi")),
        timing=timing,
        samples=8001,
    )
    most = max(np.max(np.abs(result[name])) for name in ("F_cs", "F_cphi"))
    assert USED * 0.5 < most < (1 + PROMISED) * 0.5


def test_coordinates_that_the_path_leaves_open_count():
    """A caster that starts turned pushes the wheels at first."""
    system = with_forces(
        "agv", *(ns.forces.JointDamper(name="d", speed="bracket.rate", damping=0.05),)
    )
    for angle in (0.0, 2.5):
        result = ns.track(
            system,
            LINE,
            follower=ns.Follower(reference={"bracket.angle": angle}, **AXLE),
            timing=ns.timing.LeastTime(inputs=MOTORS),
            samples=8001,
        )
        most = max(np.max(np.abs(result[name])) for name in MOTORS)
        assert USED * LIMIT < most < (1 + PROMISED) * LIMIT


def test_one_freedom_has_a_closed_form():
    """m v̇ = F − d v forward, then −F − d v: both closed, they meet in place and speed."""
    F, way = 1.0, 3.0
    system = ns.compile(ns.derive(rail()))
    path = ns.paths.Line(start=(0.0, 0.0), end=(way, 0.0))
    result = ns.track(system, path, timing=ns.timing.LeastTime(inputs={"F": F}), samples=4001)
    run, top = result, F / DAMPING

    def rise(v):  # way to reach v from rest
        return -MASS / DAMPING * (v + top * np.log(1 - v / top))

    def fall(v):  # way from v to rest
        return MASS / DAMPING * (v - top * np.log(1 + v / top))

    low, high = 0.0, top * (1 - 1e-12)
    for _ in range(100):
        v = (low + high) / 2
        low, high = (v, high) if rise(v) + fall(v) < way else (low, v)
    least = MASS / DAMPING * (np.log(1 + v / top) - np.log(1 - v / top))
    assert np.max(np.abs(run["F"])) == pytest.approx(F, rel=1e-5)
    assert run.t[-1] == pytest.approx(least, rel=1e-5)
    # the speed has a cusp between two of the 4001 samples
    assert np.max(run["cart.vx"]) == pytest.approx(v, rel=1e-3)
    assert result.tracking_error < 1e-9


def test_what_depends_on_more_than_place_and_speed_is_refused(refuses):
    gust = ns.forces.Wrench(name="gust", body="platform", force=("0.1*sin(t)", 0.0, 0.0))
    windy = with_forces("agv", gust)
    for find in (
        lambda: ns.timing.LeastTime(inputs=MOTORS).on(windy, LINE, FOLLOWS),
        lambda: ns.timing.motor_limits(windy, LINE, MOTORS, follower=FOLLOWS),
    ):
        with refuses(ns.SimulationError, "change with time", "motor limits of model 'agv'", "of t"):
            find()
    # what limits no motor is not concerned
    assert ns.timing.LeastTime(acceleration=0.1).on(windy, LINE, FOLLOWS).duration(LINE) > 0
    model = ns.load("agv")
    faded = ns.forces.Wrench(name="boost", body="platform", force=("boost*platform.vx", 0.0, 0.0))
    with_boost = dataclasses.replace(
        model,
        inputs=(*model.inputs, ns.ForceInput(name="boost", unit="N*s/m")),
        forces=(*model.forces, faded),
    )
    boosted = ns.compile(ns.derive(with_boost))
    with refuses(ns.SimulationError, "depends on speeds", "'agv'", "force itself"):
        ns.timing.motor_limits(boosted, LINE, MOTORS, follower=FOLLOWS)
    with refuses(ns.SimulationError, "no force input 'torque1'", "'agv'", "torque2"):
        ns.timing.motor_limits(agv(), LINE, MOTORS, inputs=("torque2",), follower=FOLLOWS)


def test_friction_that_no_motor_overcomes_is_refused(refuses):
    stuck = with_forces(
        "agv", *(dataclasses.replace(f, level=1.0, smoothing=1e-9) for f in FRICTION)
    )
    with refuses(ns.SimulationError, "no motion satisfies the limits", "fastest motion", "limits"):
        ns.timing.LeastTime(inputs=MOTORS).on(stuck, LINE, FOLLOWS)
