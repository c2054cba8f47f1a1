"""Balls, disks and tires that roll, against closed forms and each other."""

import dataclasses

import numpy as np
import pytest
from rolling import ball_on_slope_acceleration, ball_on_turntable, steady_spin_rate

import noslip as ns

#: Over a few seconds the error of a rolling ball grows to about a thousand tolerances.
TIGHT = {"rtol": 1e-13, "atol": 1e-13}
INTEGRATED = 1e-9


def compiled(model):
    return ns.compile(ns.derive(model))


def test_ball_on_a_turntable_circles_at_two_sevenths_of_its_rate(system_of):
    run = ns.simulate(
        system_of("ball-on-turntable"),
        duration=10.0,
        start={"ball.x": 0.4, "ball.y": -0.1, "ball.wx": 0.8, "ball.wy": -2.0, "ball.wz": 5.0},
        samples=101,
        **TIGHT,
    )
    # the ball's orientation is the identity at the start, so its speeds are along the world's axes
    v0 = complex(run["ball.vx"][0], run["ball.vy"][0])
    expected = ball_on_turntable(run.t, 0.4 - 0.1j, v0, 1.7)
    assert abs(v0) > 0.3
    assert run["ball.x"] + 1j * run["ball.y"] == pytest.approx(expected, abs=INTEGRATED)
    assert run["ball.z"] == pytest.approx(0.11, abs=1e-13)
    assert run["table.angle"] == pytest.approx(1.7 * run.t, abs=1e-13)


def test_ball_at_rest_on_a_turntable_is_carried_by_its_contact(system_of):
    """The start is completed with the table's speed at the contact; the center stays at rest."""
    run = ns.simulate(
        system_of("ball-on-turntable"),
        duration=5.0,
        start={"ball.x": 0.5, "ball.vx": 0.0, "ball.vy": 0.0},
        samples=11,
        **TIGHT,
    )
    # v + ω × (−r n) = rate × x: ωx r = 1.7 · 0.5
    assert abs(run["ball.wx"][0]) == pytest.approx(1.7 * 0.5 / 0.11, rel=1e-12)
    assert run["ball.x"] == pytest.approx(0.5, abs=INTEGRATED)
    assert run["ball.y"] == pytest.approx(0.0, abs=INTEGRATED)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_ball_rolls_straight_down_a_slope(slope):
    b = ns.ModelBuilder(name="slope", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=0.7, inertia=(0.4 * 0.7 * 0.04,) * 3)
    # the joint's axes are those of the slope: x downhill, z across it
    along = ns.Placement(angles=(0.0, slope, 0.0))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball", parent_frame=along)
    plane = ns.contacts.Plane(frame=along)
    b.contact(
        ns.contacts.Rolling(
            name="touch", body="ball", wheel=ns.surfaces.Ball(radius=0.2), plane=plane
        )
    )
    start = {"ball.x": 0.1, "ball.wx": -1.5, "ball.wy": 2.0, "ball.wz": 3.0}
    run = ns.simulate(compiled(b.build()), duration=2.0, start=start, samples=21, **TIGHT)
    # v = ω × r n: ẋ = ωy r, ẏ = −ωx r, and the spin about the normal stays
    x = 0.1 + 0.4 * run.t + ball_on_slope_acceleration(slope, 9.81) * run.t**2 / 2
    assert run["ball.x"] == pytest.approx(x, abs=INTEGRATED)
    assert run["ball.y"] == pytest.approx(0.3 * run.t, abs=INTEGRATED)
    assert run["ball.z"] == pytest.approx(0.2, abs=1e-14)


def with_wheel(model, wheel):
    """The torus model with another rolling surface."""
    contact = dataclasses.replace(model.contacts[0], wheel=wheel)
    return dataclasses.replace(model, contacts=(contact,))


STATE = {"tire.tilt": 1.2, "tire.yaw": 0.3, "tire.spin": 0.5, "tire.tilt_rate": 0.4}
STATE |= {"tire.spin_rate": -5.0, "tire.yaw_rate": 0.7}


@pytest.mark.parametrize(
    ("limit", "wheel"),
    [
        ({"rho": 0.0}, ns.surfaces.Disk(radius="R", axis=(0.0, 0.0, 1.0))),
        ({"R": 0.0}, ns.surfaces.Ball(radius="rho")),
    ],
    ids=["disk", "ball"],
)
def test_torus_becomes_a_disk_or_a_ball(system_of, limit, wheel):
    torus = system_of("torus")
    other = compiled(with_wheel(torus.model, wheel))
    first = ns.evaluate(torus, STATE, parameters=limit)
    second = ns.evaluate(other, STATE, parameters=limit)
    assert first.speeds == pytest.approx(second.speeds, abs=1e-13)
    assert first.accelerations == pytest.approx(second.accelerations, abs=1e-11)
    # a ball's rows are along other axes, but the force on it is the same
    for key in ("x", "y", "z", "point_x", "point_y", "point_z"):
        force = first.reactions["tread"][key]
        assert force == pytest.approx(second.reactions["tread"][key], abs=1e-11)


@pytest.mark.parametrize("tilt", [1.3, 0.9])
@pytest.mark.parametrize("name", ["torus", "rolling-disk"])
def test_wheel_in_a_steady_turn(system_of, name, tilt):
    """Tilt, yaw rate and spin rate stay; the center moves on a circle about the vertical."""
    system = system_of(name)
    joint = {"torus": "tire", "rolling-disk": "disk"}[name]
    wheel = {
        "torus": dict(m=2.0, ring=0.4, tube=0.1, I_t=0.14, I_a=0.25, g=9.81),
        "rolling-disk": dict(m=2.0, ring=0.5, tube=0.0, I_t=0.125, I_a=0.25, g=9.81),
    }[name]
    yaw_rate = 1.1
    spin_rate = steady_spin_rate(tilt, yaw_rate, **wheel)
    start = {f"{joint}.tilt": tilt, f"{joint}.yaw_rate": yaw_rate, f"{joint}.spin_rate": spin_rate}
    run = ns.simulate(system, duration=4.0, start=start, samples=41, **TIGHT)
    assert run[f"{joint}.tilt"] == pytest.approx(tilt, abs=INTEGRATED)
    assert run[f"{joint}.yaw"] == pytest.approx(yaw_rate * run.t, abs=INTEGRATED)
    z = run[f"{joint}.x"] + 1j * run[f"{joint}.y"]
    # v = ω × r along the heading, which is x at the start
    height = wheel["ring"] * np.cos(tilt)
    speed = -spin_rate * (wheel["ring"] + wheel["tube"] * np.sin(tilt)) - yaw_rate * height
    circle = z[0] + speed * (np.exp(1j * yaw_rate * run.t) - 1) / (1j * yaw_rate)
    assert z == pytest.approx(circle, abs=INTEGRATED)


def test_torus_keeps_its_energy_while_it_wobbles(system_of):
    run = ns.simulate(system_of("torus"), duration=5.0, start=STATE, **TIGHT)
    assert run.energy_drift < 1e-11
    assert run.gap < 1e-13


def test_disk_that_falls_flat_ends_with_its_own_sentence(system_of):
    run = ns.simulate(
        system_of("rolling-disk"), duration=5.0, start={"disk.tilt": 1.2}, on_failure="return"
    )
    assert run.ending is ns.Ending.SINGULAR
    assert not run.success
    assert "wheel 'rim' lies flat on its plane" in run.message
    # it has fallen through almost all of its tilt
    assert run["disk.tilt"][-1] < 0.1


def test_disk_that_falls_flat_raises_by_default(system_of):
    with pytest.raises(ns.SimulationError) as caught:
        ns.simulate(system_of("rolling-disk"), duration=5.0, start={"disk.tilt": 1.2})
    assert "singular configuration: wheel 'rim' lies flat" in caught.value.what
    assert caught.value.where.startswith("model 'rolling-disk', t = 0.55")
    assert "on_failure='return'" in caught.value.fix


@pytest.mark.parametrize("axis", [(0.0, 1.0, 0.0), (0.6, 0.64, 0.48)], ids=["along", "askew"])
@pytest.mark.parametrize("slope", [0.0, 0.5], ids=["level", "slope"])
def test_a_ball_that_spins_fast_is_where_it_should_be(axis, slope):
    """A hundred times the spin and the way, at most ten times the error, at the usual tolerance.

    On a level floor errors are rounding: ten tolerances are asked for there.
    """
    r = 0.1
    b = ns.ModelBuilder("ball", gravity=(slope, -0.6 * slope, -9.81))
    b.body("ball", mass=1.0, inertia=(0.4 * r**2,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.contact(ns.contacts.Rolling(name="floor", body="ball", wheel=ns.surfaces.Ball(radius=r)))
    system = ns.compile(ns.derive(b.build()))
    errors = []
    for spin in (3.0, 300.0):
        w = spin * np.array(axis)
        start = {"ball.z": r} | {f"ball.w{k}": x for k, x in zip("xyz", w, strict=True)}
        run = ns.simulate(system, start=start, duration=10.0, samples=2)
        x = 10.0 * np.cross(w, [0, 0, r])[:2] + 50.0 * np.array([slope, -0.6 * slope]) * 5 / 7
        errors.append(np.hypot(run["ball.x"][-1] - x[0], run["ball.y"][-1] - x[1]))
        assert run.nfev < 1.3e4 * max(1.0, spin / 90.0)  # 12 a radian, and 3000
    assert errors[1] <= 10.0 * max(errors[0], 1e-9)
    assert slope or errors[1] < 2e-10  # rounding of 300 m in each of 3300 steps
