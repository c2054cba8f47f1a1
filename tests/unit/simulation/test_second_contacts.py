"""A body that is within its ground beside its contact is reported, with time, depth and place."""

import re

import numpy as np
import pytest

import noslip as ns
from noslip.grounds import GridGround
from noslip.model import NumberReader

#: A level floor with a narrow bump at x = 1.
BUMP = "0.1*exp(-((x - 1)/0.07)^2)"
RADIUS, SPEED = 0.2, 0.5


def bump(x):
    return 0.1 * np.exp(-(((x - 1) / 0.07) ** 2))


@pytest.fixture(scope="module")
def system():
    b = ns.ModelBuilder(name="bump", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.016, 0.016, 0.016))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    wheel, ground = ns.surfaces.Ball(radius=RADIUS), ns.grounds.HeightGround(z=BUMP)
    b.contact(ns.contacts.Rolling(name="touch", body="ball", wheel=wheel, ground=ground))
    return ns.compile(ns.derive(b.build()))


def test_a_ball_that_rolls_into_a_bump_is_reported(system):
    """While it still rolls on the floor, whose contact knows nothing of the bump."""
    start = {"touch.x": 0.6, "touch.y": 0.0, "ball.wy": SPEED / RADIUS, "ball.wx": 0.0}
    run = ns.simulate(system, duration=0.45, start=start, samples=46)
    (note,) = run.notes
    found = re.search(r"t = ([\d.]+) s, ([\d.e-]+) m deep near \(([\d.]+), ", note)
    assert found is not None and "second contact" in note
    when, depth, x = map(float, found.groups())
    # by the distance of the bump from the center
    line = np.linspace(0.7, 1.3, 6001)
    far = np.hypot(line - run["ball.x"][:, None], bump(line) - run["ball.z"][:, None])
    first = run.t[np.argmax(far.min(axis=1) < RADIUS - 1e-5)]
    assert first <= when <= first + 0.03
    assert 0 < depth < 0.02 and 0.9 < x < 1.0


@pytest.mark.parametrize("columns", [None, "all"])
def test_batches_say_which_trajectories_touch_twice(system, columns):
    """At the end, and earlier where samples of all coordinates are kept."""
    starts = {"touch.x": np.array([0.3, 0.6]), "touch.y": 0.0, "ball.wy": SPEED / RADIUS}
    starts |= {"ball.wx": 0.0}
    more = {}
    if columns is not None:
        more = {"keep": ["samples"], "samples": 46, "columns": [c.name for c in system.coordinates]}
    batch = ns.simulate_batch(system, duration=0.45, start=starts, **more)
    (found,) = batch.second_contacts
    assert found == 1
    assert "second contact" in batch.message(1) and "second contact" not in batch.message(0)
    when = float(re.search(r"t = ([\d.]+) s", batch.second_contacts[1]).group(1))
    assert when == 0.45 if columns is None else when < 0.45


def test_what_touches_once_has_no_note(system):
    away = ns.simulate(system, duration=0.2, start={"touch.x": 0.3, "touch.y": 0.0})
    assert away.notes == ()


@pytest.mark.parametrize(
    "ground",
    [
        ns.grounds.FlatGround(),
        ns.grounds.CylinderGround(radius=1.0),
        ns.grounds.CylinderGround(radius=1.0, inside=True),
        ns.grounds.SphereGround(radius=1.0),
        ns.grounds.SphereGround(radius=1.0, inside=True),
        ns.grounds.HeightGround(z="0.3*x^2 - 0.2*y"),
        ns.grounds.RevolvedGround(z="0.3*r^2"),
        GridGround(
            heights=tuple(0.1 * x * y for y in range(6) for x in range(6)), columns=6, step=1.0
        ),
        ns.grounds.ParametricGround(
            position=("u", "v", "0.3*u*v"), u_range=(-2.0, 2.0), v_range=(-2.0, 2.0)
        ),
    ],
    ids=lambda ground: ground.word,
)
def test_clearance_is_zero_on_the_ground_and_has_the_sign_of_its_normal(ground):
    read = NumberReader({})
    if ground.word == "plane":
        points, normals = np.array([[0.3, 0.4, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    else:
        net = ground.picture(read)[5:9, 5:9]
        points = net[1:-1, 1:-1].reshape(-1, 3)
        across = np.cross(net[1:-1, 2:] - net[1:-1, :-2], net[2:, 1:-1] - net[:-2, 1:-1])
        normals = (across / np.linalg.norm(across, axis=-1, keepdims=True)).reshape(-1, 3)
    for d in (-0.01, 0.0, 0.01):
        found = ground.clearance(points + d * normals, read)
        # along z on a slope, and by normals of a net of finite width
        assert found == pytest.approx(np.full(len(points), d), rel=0.5, abs=1e-9)
