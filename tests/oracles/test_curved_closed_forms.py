"""Balls on spheres and cylinders against closed forms of their motion.

With k = I/(m r²), letters as in each test; nothing here uses the contact's own geometry.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import noslip as ns

G, R_BALL = 9.81, 0.1
RATIO = 0.4  # of a solid ball


def rolling(ground, *, gravity=(0.0, 0.0, -G), wheel=None, inertia=None, **more):
    b = ns.ModelBuilder(name="ball", gravity=gravity)
    moment = RATIO * R_BALL**2
    b.body("ball", mass=1.0, inertia=inertia or (moment,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    wheel = wheel or ns.surfaces.Ball(radius=R_BALL)
    b.contact(ns.contacts.Rolling(name="touch", body="ball", wheel=wheel, ground=ground, **more))
    return ns.compile(ns.derive(b.build()))


def run(system, start, duration, **more):
    given = {"rtol": 1e-12, "atol": 1e-12, "reactions": True, **more}
    return ns.simulate(system, duration=duration, start=start, **given)


def spun_at(c, v, n):
    """ω = n × v/r of a ball that rolls without spin about the normal n: v = r ω × n."""
    return np.cross(n, v) / R_BALL


def test_a_ball_in_a_vertical_pipe_goes_up_and_down():
    """(1 + k) z̈ = −g − k Ω² z: it swings about −g/(kΩ²) with Ω √(k/(1 + k)), and does not fall."""
    radius, speed = 0.5, 3.0
    far = radius - R_BALL
    turn = speed / far
    pipe = ns.grounds.CylinderGround(radius=radius, inside=True)
    omega = spun_at(None, np.array([0.0, speed, 0.0]), np.array([-1.0, 0.0, 0.0]))
    start = {"ball.x": far, "ball.y": 0.0, "ball.z": 0.0}
    start |= {"ball.qw": 1.0, "ball.qx": 0.0, "ball.qy": 0.0, "ball.qz": 0.0}
    start |= {f"ball.w{k}": x for k, x in zip("xyz", omega, strict=True)}
    found = run(rolling(pipe), start, 3.0)
    t = found.t
    z = -G / (RATIO * turn**2) * (1 - np.cos(turn * np.sqrt(RATIO / (1 + RATIO)) * t))
    assert found["ball.z"] == pytest.approx(z, abs=1e-9)
    assert found["ball.x"] == pytest.approx(far * np.cos(turn * t), abs=1e-9)
    assert found["reaction.touch.normal"] == pytest.approx(speed**2 / far, rel=1e-9)


@pytest.mark.parametrize("wheel", [None, ns.surfaces.Ellipsoid(size=(R_BALL,) * 3)])
def test_a_ball_in_a_bowl_is_a_pendulum(wheel):
    """(1 + k)(R − r) θ̈ = −g sin θ."""
    radius = 1.0
    far = radius - R_BALL
    first = 1.0
    start = {"ball.x": far * np.sin(first), "ball.y": 0.0, "ball.z": -far * np.cos(first)}
    start |= {"ball.qw": 1.0, "ball.qx": 0.0, "ball.qy": 0.0, "ball.qz": 0.0}
    found = run(
        rolling(ns.grounds.SphereGround(radius=radius, inside=True), wheel=wheel), start, 3.0
    )
    swing = solve_ivp(
        lambda t, y: [y[1], -G * np.sin(y[0]) / ((1 + RATIO) * far)],
        (0.0, 3.0),
        [first, 0.0],
        method="DOP853",
        t_eval=found.t,
        rtol=1e-13,
        atol=1e-13,
    )
    theta, rate = swing.y
    assert found["ball.x"] == pytest.approx(far * np.sin(theta), abs=1e-9)
    assert found["ball.z"] == pytest.approx(-far * np.cos(theta), abs=1e-9)
    load = G * np.cos(theta) + far * rate**2
    assert found["reaction.touch.normal"] == pytest.approx(load, abs=1e-8)


@pytest.mark.parametrize("form", ["sphere", "height"])
def test_a_ball_leaves_a_dome_where_it_must(form):
    """From rest at θ₀ it leaves at cos θ = 2 cos θ₀/(3 + k), the 10/17 of textbooks."""
    radius, first = 1.0, 0.2
    far = radius + R_BALL
    ground = ns.grounds.SphereGround(radius=radius)
    if form == "height":
        ground = ns.grounds.HeightGround(z="sqrt(1 - x^2 - y^2)")
    start = {"ball.x": far * np.sin(first), "ball.y": 0.0, "ball.z": far * np.cos(first)}
    start |= {"ball.qw": 1.0, "ball.qx": 0.0, "ball.qy": 0.0, "ball.qz": 0.0}
    found = run(rolling(ground), start, 10.0)
    assert found.ending is ns.Ending.EVENT
    assert "touch lifts off" in found.message
    assert found["ball.z"][-1] / far == pytest.approx(2 * np.cos(first) / (3 + RATIO), rel=1e-9)
    kept = run(rolling(ns.grounds.SphereGround(radius=radius), lift="keep"), start, 2.0)
    assert kept.ending is ns.Ending.FINISHED
    assert kept["ball.z"].min() < 0


def test_a_ball_on_a_turntable_circles():
    """On a table that turns at Ω it circles at Ω k/(1 + k), wherever it is."""
    turn = 2.0
    b = ns.ModelBuilder(name="turntable", gravity=(0.0, 0.0, -G))
    b.body("table", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.body("ball", mass=1.0, inertia=(RATIO * R_BALL**2,) * 3)
    b.joint(
        "table",
        ns.joints.Revolute(axis=(0.0, 0.0, 1.0)),
        parent="world",
        child="table",
        motion={"angle": f"{turn}*t"},
    )
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.contact(
        ns.contacts.Rolling(
            name="touch",
            body="ball",
            wheel=ns.surfaces.Ball(radius=R_BALL),
            plane=ns.contacts.Plane(body="table"),
            ground=ns.grounds.HeightGround(z="0*x"),
        )
    )
    system = ns.compile(ns.derive(b.build()))
    start = {"ball.x": 0.3, "ball.y": 0.0, "ball.vx": 0.0, "ball.vy": 0.0}
    period = 2 * np.pi / (turn * RATIO / (1 + RATIO))
    found = ns.simulate(system, duration=period, start=start, rtol=1e-11, atol=1e-11)
    assert found["ball.x"][-1] == pytest.approx(0.3, abs=1e-9)
    # the place on the table goes round with it, the other way
    here = np.hypot(found["touch.x"], found["touch.y"])
    assert here == pytest.approx(np.hypot(found["ball.x"], found["ball.y"]), abs=1e-9)


def test_a_wheel_flatter_than_its_bowl_is_refused():
    system = rolling(ns.grounds.RevolvedGround(z="2*r^2"), wheel=ns.surfaces.Ball(radius=0.3))
    with pytest.raises(ns.SimulationError, match="relative curvature"):
        ns.simulate(system, duration=1.0, start={"touch.x": 0.0, "touch.y": 0.0})


def test_a_bar_on_a_plane_touches_along_a_line():
    bar = ns.surfaces.CylinderSurface(radius=0.1, axis=(0.0, 1.0, 0.0))
    with pytest.raises(ns.NoslipError):
        ns.simulate(rolling(ns.grounds.FlatGround(), wheel=bar), duration=1.0)


def test_a_run_ends_before_the_relative_curvature_reaches_zero():
    """A ball that rolls into a valley that gets narrower until it no longer fits."""
    valley = ns.grounds.HeightGround(z="(1 + 4*x)*y^2 - 0.3*x")
    system = rolling(valley, wheel=ns.surfaces.Ball(radius=0.2))
    found = ns.simulate(system, duration=5.0, start={"touch.x": 0.0}, on_failure="return")
    assert found.ending is ns.Ending.SINGULAR
    assert "relative curvature" in found.message
    # at the bottom the valley has the curvature 2(1 + 4x) over √(1 + 0.09), the slope of its floor
    last = found["touch.x"][-1]
    assert 0 < 1 - 0.2 * 2 * (1 + 4 * last) / np.sqrt(1.09) <= 1.01e-2


def test_a_start_that_would_have_to_be_pulled_is_refused():
    system = rolling(ns.grounds.SphereGround(radius=1.0, inside=True))
    with pytest.raises(ns.SimulationError, match="would have to pull"):
        ns.simulate(system, duration=1.0, start={"ball.z": 0.9, "ball.x": 0.0, "ball.y": 0.0})
