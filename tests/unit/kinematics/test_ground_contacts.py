"""Any surface on any ground: pairs that are the same written another way, and their geometry."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import noslip as ns

GROUND = ns.contacts.Plane()
BALL = ns.surfaces.Ball(radius=0.1)
HILLS = ns.grounds.HeightGround(z="0.1*x^2 + 0.2*y^2 + 0.05*sin(2*x + y)")
BOWL = ns.grounds.SphereGround(radius=1.0, inside=True)
EGG = ns.surfaces.RevolvedSurface(
    profile="0.6*sqrt(0.04 - z^2)*(1 + z/2)", lower=-0.2 + 1e-9, upper=0.2 - 1e-9
)
ROUND = ("0.1*cos(u)*cos(v)", "0.1*sin(u)*cos(v)", "0.1*sin(v)")


def parametric(*position):
    return ns.surfaces.ParametricSurface(
        position=position, u_range=(-3.2, 3.2), v_range=(-1.5, 1.5)
    )


def body_on(ground, wheel, *, plane=GROUND, inertia=(0.004, 0.005, 0.006), **more):
    b = ns.ModelBuilder(name="rolling", gravity=(0.0, 0.0, -9.81))
    b.body("stone", mass=1.0, inertia=inertia, center_of_mass=(0.01, 0.0, -0.02))
    b.joint("stone", ns.joints.Free(), parent="world", child="stone")
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="stone", wheel=wheel, plane=plane, ground=ground, **more
        )
    )
    return b.build()


def motion(model, start, duration=2.0, **more):
    system = ns.compile(ns.derive(model))
    return ns.simulate(
        system, duration=duration, start=start, rtol=1e-12, atol=1e-12, reactions=True, **more
    )


UPRIGHT = {"stone.qw": 1.0, "stone.qx": 0.0, "stone.qy": 0.0, "stone.qz": 0.0}
SPEEDS = {"stone.wx": 1.0, "stone.wy": -2.0, "stone.wz": 0.5}

PAIRS = {
    "ball on hills": (HILLS, BALL),
    "ball in a bowl of revolution": (ns.grounds.RevolvedGround(z="0.3*r^2 + 0.1*r^4"), BALL),
    "ball in a sphere": (BOWL, BALL),
    "ball on a sphere": (ns.grounds.SphereGround(radius=1.0), BALL),
    "ball on a bar": (ns.grounds.CylinderGround(radius=0.5), BALL),
    "ball in a pipe": (ns.grounds.CylinderGround(radius=0.5, inside=True), BALL),
    "disk on hills": (HILLS, ns.surfaces.Disk(radius=0.2, axis=(0.0, 0.0, 1.0))),
    "disk in a pipe": (
        ns.grounds.CylinderGround(radius=0.5, inside=True),
        ns.surfaces.Disk(radius=0.1, axis=(0.0, 1.0, 0.0)),
    ),
    "torus in a sphere": (
        BOWL,
        ns.surfaces.Torus(radius=0.1, tube_radius=0.02, axis=(0.0, 0.0, 1.0)),
    ),
    "ellipsoid on hills": (HILLS, ns.surfaces.Ellipsoid(size=(0.1, 0.15, 0.2))),
    "ellipsoid on a sphere": (
        ns.grounds.SphereGround(radius=1.0),
        ns.surfaces.Ellipsoid(size=(0.1, 0.15, 0.2)),
    ),
    "bar on a sphere": (
        ns.grounds.SphereGround(radius=0.6),
        ns.surfaces.CylinderSurface(radius=0.2, axis=(0.0, 1.0, 0.3)),
    ),
    "cone on a sphere": (
        ns.grounds.SphereGround(radius=0.6),
        ns.surfaces.ConeSurface(radius=0.2, length=0.5, axis=(1.0, 0.0, 0.3)),
    ),
    "egg on a plane": (ns.grounds.FlatGround(), EGG),
    "egg on hills": (HILLS, EGG),
    "parametric on a plane": (ns.grounds.FlatGround(), parametric(*ROUND)),
    "parametric on a parametric ground": (
        ns.grounds.ParametricGround(
            position=("u", "v", "0.1*u*v + 0.05*u^2"), u_range=(-1.0, 1.0), v_range=(-1.0, 1.0)
        ),
        parametric("0.1*cos(u)*cos(v)", "0.15*sin(u)*cos(v)", "0.2*sin(v)"),
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.slow
def test_formulations_agree_and_contact_points_touch(pair):
    certificate = ns.verify(body_on(*PAIRS[pair]))
    assert certificate.holds, certificate.text()


def test_ground_that_a_body_carries_moves_with_it():
    """A ball on a ball that rolls itself, and a wheel that rolls inside it with a locked spin."""
    b = ns.ModelBuilder(name="balls", gravity=(0.0, 0.0, -9.81))
    for name in ("large", "small"):
        b.body(name, mass=1.0, inertia=(0.02, 0.03, 0.025), center_of_mass=(0.0, 0.01, 0.02))
        b.joint(name, ns.joints.Free(), parent="world", child=name)
    b.contact(ns.contacts.Rolling(name="floor", body="large", wheel=ns.surfaces.Ball(radius=0.5)))
    b.contact(
        ns.contacts.Rolling(
            name="rider",
            body="small",
            wheel=ns.surfaces.Ellipsoid(size=(0.1, 0.12, 0.14)),
            plane=ns.contacts.Plane(body="large"),
            ground=ns.grounds.SphereGround(radius=0.5),
            spin=True,
        )
    )
    certificate = ns.verify(b.build())
    assert certificate.holds, certificate.text()


@pytest.mark.parametrize("row", ["longitudinal", "lateral", "normal"])
def test_each_row_can_be_switched_off(row):
    model = body_on(HILLS, ns.surfaces.Ellipsoid(size=(0.1, 0.15, 0.2)), **{row: False})
    certificate = ns.verify(model)
    assert certificate.holds, certificate.text()
    assert ns.trace(model).num_independent_speeds == 4


@pytest.mark.parametrize(
    "wheel",
    [
        ns.surfaces.Ellipsoid(size=(0.1, 0.1, 0.1)),
        ns.surfaces.RevolvedSurface(profile="sqrt(0.01 - z^2)", lower=-0.1, upper=0.1),
        parametric(*ROUND),
    ],
)
@pytest.mark.slow
def test_a_ball_written_another_way_moves_alike(wheel):
    start = {"stone.x": 0.5, "stone.y": 0.1, "stone.z": -np.sqrt(0.81 - 0.26), **UPRIGHT, **SPEEDS}
    ball, other = (motion(body_on(BOWL, w), start) for w in (BALL, wheel))
    assert other.q[:, :7] == pytest.approx(ball.q[:, :7], abs=1e-9)
    for row in ("longitudinal", "lateral", "normal"):
        name = f"reaction.touch.{row}"
        assert other[name] == pytest.approx(ball[name], abs=1e-8)


def test_a_torus_by_its_parametric_form_is_the_torus():
    torus = ns.surfaces.Torus(radius=0.2, tube_radius=0.05, axis=(0.0, 0.0, 1.0))
    ring = "(0.2 + 0.05*cos(v))"
    other = parametric(f"{ring}*cos(u)", f"{ring}*sin(u)", "0.05*sin(v)")
    half = np.sin(0.6), np.cos(0.6)
    start = {"stone.qw": half[1], "stone.qx": half[0], "stone.qy": 0.0, "stone.qz": 0.0, **SPEEDS}
    one, two = (motion(body_on(ns.grounds.FlatGround(), w), start) for w in (torus, other))
    assert two.q[:, :7] == pytest.approx(one.q[:, :7], abs=1e-9)
    assert two["reaction.touch.normal"] == pytest.approx(one["reaction.touch.normal"], abs=1e-8)


@pytest.mark.parametrize("wheel", [BALL, ns.surfaces.Disk(radius=0.1, axis=(0.0, 1.0, 0.0))])
def test_a_paraboloid_is_one_ground_written_in_three_ways(wheel):
    grounds = (
        ns.grounds.HeightGround(z="0.3*(x^2 + y^2)"),
        ns.grounds.RevolvedGround(z="0.3*r**2"),
        ns.grounds.ParametricGround(
            position=("u*cos(v)", "u*sin(v)", "0.3*u^2"), u_range=(0.1, 2.0), v_range=(-3.2, 3.2)
        ),
    )
    start = {"touch.x": 0.5, "touch.y": 0.1, **UPRIGHT, **SPEEDS}
    first = motion(body_on(grounds[0], wheel), start, 1.0)
    given = {f"stone.{k}": float(first[f"stone.{k}"][0]) for k in "xyz"}
    for ground in grounds[1:]:
        other = motion(body_on(ground, wheel), {**given, **UPRIGHT, **SPEEDS}, 1.0)
        assert other.q[:, :7] == pytest.approx(first.q[:, :7], abs=1e-9)


def test_a_hill_of_huge_radius_is_a_plane():
    large = 1e7
    hill = ns.contacts.Plane(frame=ns.Placement(position=(0.0, 0.0, -large)))
    start = {"stone.z": 0.1, **UPRIGHT, **SPEEDS}
    flat = motion(body_on(ns.grounds.FlatGround(), BALL), start)
    round_ = motion(body_on(ns.grounds.SphereGround(radius=large), BALL, plane=hill), start)
    # the ground falls by x²/2R, and its normal turns by x/R
    assert round_.q[:, :7] == pytest.approx(flat.q[:, :7], abs=20 / large)


def test_rows_by_hand_say_the_same():
    """A ball in a bowl: |c| = R − r, and v + ω × (r/|c|) c = 0 by its three components."""
    b = ns.ModelBuilder(name="by hand", gravity=(0.0, 0.0, -9.81))
    b.body("stone", mass=1.0, inertia=(0.004, 0.005, 0.006), center_of_mass=(0.01, 0.0, -0.02))
    b.joint("stone", ns.joints.Free(), parent="world", child="stone")
    b.definition("far", "sqrt(stone.x^2 + stone.y^2 + stone.z^2)")
    b.row(ns.rows.PositionRow(name="height", expression="0.9 - far"))
    w = [f"angular_velocity(stone).{k}" for k in "xyz"]
    c = [f"0.1*stone.{k}/far" for k in "xyz"]
    for k, axis in enumerate("xyz"):
        i, j = (k + 1) % 3, (k + 2) % 3
        turned = f"{w[i]}*{c[j]} - {w[j]}*{c[i]}"
        text = f"velocity(stone, 0, 0, 0).{axis} + {turned}"
        b.row(ns.rows.VelocityRow(name=f"roll_{axis}", expression=text))
    start = {"stone.x": 0.5, "stone.y": 0.1, "stone.z": -np.sqrt(0.81 - 0.26), **UPRIGHT, **SPEEDS}
    by_hand = motion(b.build(), start, 1.0)
    contact = motion(body_on(BOWL, BALL), start, 1.0)
    assert contact.q == pytest.approx(by_hand.q, abs=1e-9)


def test_a_ball_rolls_through_the_bottom_of_a_bowl():
    model = body_on(ns.grounds.RevolvedGround(z="0.5*r^2"), BALL, inertia=(0.004, 0.004, 0.004))
    run = motion(model, {"stone.x": 0.4, "stone.y": 0.0, **UPRIGHT}, 3.0)
    assert run.ending is ns.Ending.FINISHED
    assert np.min(run["stone.x"]) < -0.1 and np.max(run["stone.x"]) > 0.1
    assert np.nanmax(np.abs(run["energy_error"])) < 1e-10


def test_a_spindle_rolls_over_its_poles():
    """End over end: the contact point passes both poles, where x² + y² of its profile is zero."""
    spindle = ns.surfaces.RevolvedSurface(profile="0.5*sqrt(0.04 - z^2)", lower=-0.2, upper=0.2)
    start = {**UPRIGHT, "stone.wy": 8.0, "stone.wx": 0.0, "stone.wz": 0.0}
    run = motion(body_on(ns.grounds.FlatGround(), spindle), start, 1.5)
    same = motion(
        body_on(ns.grounds.FlatGround(), ns.surfaces.Ellipsoid(size=(0.1, 0.1, 0.2))), start, 1.5
    )
    assert run.ending is ns.Ending.FINISHED
    assert np.max(run["touch.wheel_z"]) > 0.19 and np.min(run["touch.wheel_z"]) < -0.19
    assert run.q[:, :7] == pytest.approx(same.q[:, :7], abs=1e-9)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    size=st.tuples(*[st.integers(5, 20).map(lambda k: k / 100)] * 3),
    bend=st.tuples(*[st.integers(-50, 50).map(lambda k: k / 100)] * 3),
    tilt=st.integers(-50, 50).map(lambda k: k / 100),
)
@pytest.mark.slow
def test_any_ellipsoid_on_any_saddle_is_consistent(size, bend, tilt):
    a, c, d = bend
    ground = ns.grounds.HeightGround(z=f"({a!r})*x^2 + ({c!r})*y^2 + ({d!r})*x*y")
    plane = ns.contacts.Plane(frame=ns.Placement(angles=(tilt, 0.1, 0.3)))
    certificate = ns.verify(
        body_on(ground, ns.surfaces.Ellipsoid(size=size), plane=plane), states=2
    )
    assert certificate.holds, certificate.text()
