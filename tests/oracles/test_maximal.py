"""The oracle in maximal coordinates against closed forms, its own motion, and planted errors."""

import dataclasses
from math import cos, pi, sin

import numpy as np
import pytest
from comparison import Comparison
from maximal import Maximal
from random_mechanisms import draw

import noslip as ns
from mechanisms import MECHANISMS

NONE = np.zeros(0)


def still(oracle, q):
    x = oracle.place(np.array(q, dtype=float))
    return oracle.at(x, np.zeros(oracle.size), 0.0, NONE, NONE, NONE, np.array(q, dtype=float))


def test_pendulum_in_closed_form():
    """θ̈ = −g/l sin θ, and the pin along the rod carries what the hinge's freedom does not."""
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -9.81))
    b.body("bob", mass=2.0, inertia=(0.0, 0.0, 0.0), center_of_mass=(0.0, 0.0, -0.7))
    b.joint("pin", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="world", child="bob")
    oracle = Maximal(b.build())
    answer = still(oracle, [0.4])
    assert answer.freedoms == 1
    assert answer.speed_rates == pytest.approx([-9.81 / 0.7 * sin(0.4)], rel=1e-14)
    assert answer.potential_energy == pytest.approx(-2.0 * 9.81 * 0.7 * cos(0.4), rel=1e-15)


def test_ball_rolls_down_a_slope_in_closed_form():
    """A ball has 5/7 of the acceleration of a block without friction, and turns as it goes."""
    slope, r = 0.3, 0.2
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.7, inertia=(0.4 * 1.7 * r**2,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    plane = ns.contacts.Plane(frame=ns.Placement(angles=(0.0, slope, 0.0)))
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="ball", wheel=ns.surfaces.Ball(radius=r), plane=plane
        )
    )
    answer = still(Maximal(b.build()), [r * sin(slope), 0.0, r * cos(slope), 1.0, 0.0, 0.0, 0.0])
    down = 5 / 7 * 9.81 * sin(slope)
    assert answer.freedoms == 3
    expected = [0.0, down / r, 0.0, down * cos(slope), 0.0, -down * sin(slope)]
    assert answer.speed_rates == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "freedoms"),
    [("four-bar", 1), ("door", 2), ("spatial-linkage", 2), ("torus", 3), ("sleigh", 2)],
)
def test_number_of_freedoms(name, freedoms):
    states = Comparison(MECHANISMS[name]()).states(2)
    assert [state.freedoms for state in states] == [freedoms] * 2


@pytest.mark.parametrize("name", ["spatial-linkage", "torus", "top"])
def test_its_own_motion_keeps_energy_and_rows(name):
    comparison = Comparison(MECHANISMS[name](), seed=4)
    oracle, state = comparison.oracle, comparison.states(1, t=0.0)[0]

    def energy(x, V, q):
        answer = oracle.at(x, V, 0.0, NONE, NONE, NONE, q)
        return answer.kinetic_energy + answer.potential_energy

    path = oracle.move(state.x, state.V, np.linspace(0, 0.2, 3), state.q, lambda t: (NONE,) * 3)
    first, *rest = (energy(*point) for point in path)
    assert rest == pytest.approx([first] * 2, rel=1e-11)
    for x, V, q in path:
        rows = oracle.rows(x, V, 0.0, NONE, NONE, q)
        assert np.nanmax(np.abs(rows.g)) < 1e-12
        assert np.max(np.abs(rows.J @ V)) < 1e-12


def test_rates_of_rows_by_differences():
    """The complex step and Cauchy's integral against central differences in time."""
    model = MECHANISMS["moving-rows"]()
    comparison = Comparison(model, seed=2)
    oracle, state = comparison.oracle, comparison.states(1)[0]

    def value(h):
        twists = np.vstack([state.V.reshape(-1, 6), np.zeros((1, 6))])
        x = state.x
        turned = [rotation(h * w) @ R for w, R in zip(twists[:, :3], x.R, strict=True)]
        moved = dataclasses.replace(x, R=np.array(turned), c=x.c + h * twists[:, 3:])
        q = oracle.coordinates(moved, state.q)
        rows = oracle.rows(moved, state.V, state.t + h, NONE, NONE, q)
        return rows.J @ state.V - rows.b

    h = 1e-4
    expected = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    found = oracle.rows(state.x, state.V, state.t, NONE, NONE, state.q).rate
    assert found == pytest.approx(expected, abs=1e-10)


def rotation(turn):
    angle = float(np.linalg.norm(turn))
    if not angle:
        return np.eye(3)
    a, b, c = turn / angle
    e = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
    return np.eye(3) + sin(angle) * e + (1 - cos(angle)) * e @ e


def test_prescribed_orientation_turns_as_told():
    """The angular velocity that rows ask of a driven ball joint, against its rotation later."""
    oracle = Maximal(MECHANISMS["led-pendulum"]())
    comparison = Comparison(oracle.model, seed=1)
    state = comparison.states(1)[0]
    x, V, _ = oracle.move(
        state.x, state.V, np.array([state.t, state.t + 0.1]), state.q, lambda t: (NONE,) * 3
    )[-1]
    t = state.t + 0.1
    yaw, lean, nod = 0.8 * t, 0.4 * sin(t), 0.1 + 0.2 * t
    turns = (0, 0, yaw), (lean, 0, 0), (0, nod, 0)
    wanted = np.linalg.multi_dot([rotation(np.array(turn, dtype=float)) for turn in turns])
    assert x.R[0] == pytest.approx(wanted, abs=1e-11)
    assert abs(V[5]) < 2 * pi


@pytest.mark.parametrize("what", ["gravity", "mass", "axis", "radius"])
def test_a_planted_error_is_found(what):
    """The comparison fails if noslip is given a mechanism that is off by 1e-7."""
    model = draw("rolling", 3)
    off = 1 + 1e-7
    if what == "gravity":
        other = dataclasses.replace(model, gravity=tuple(g * off for g in model.gravity))
    elif what == "mass":
        body = model.bodies[0]
        nominal = Maximal(model).number(body.mass)
        heavier = dataclasses.replace(body, mass=nominal * off)
        other = dataclasses.replace(model, bodies=(heavier, *model.bodies[1:]))
    elif what == "axis":
        joint = model.joints[0]
        place = dataclasses.replace(joint.child_frame, angles=(0.1, 0.2, 0.3))
        turned = dataclasses.replace(place, angles=(0.1 + 1e-7, 0.2, 0.3))
        joints = [dataclasses.replace(joint, child_frame=f) for f in (place, turned)]
        model = dataclasses.replace(model, joints=(joints[0], *model.joints[1:]))
        other = dataclasses.replace(model, joints=(joints[1], *model.joints[1:]))
    else:
        wheel = ns.contacts.Rolling(
            name="more", body=model.bodies[-1].name, wheel=ns.surfaces.Ball(radius=0.3)
        )
        larger = dataclasses.replace(wheel, wheel=ns.surfaces.Ball(radius=0.3 * off))
        model = dataclasses.replace(model, contacts=(wheel,))
        other = dataclasses.replace(model, contacts=(larger,))
    comparison = Comparison(model, equations=ns.derive(other))
    assert all(d < 1e-11 for d in Comparison(model).at_states(3).values())
    assert any(d > 1e-9 for d in comparison.at_states(3).values())
