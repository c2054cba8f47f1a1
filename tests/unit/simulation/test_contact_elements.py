"""Stops of joints, bearings that stick, blades that break out, rollers: runs by Coulomb's law."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special

import noslip as ns
from noslip.model import model_to_toml

G = 9.81
TIGHT = {"contact": "coulomb", "rtol": 1e-11, "atol": 1e-12}


def pendulum(**stops):
    """A rod of 1 kg and 0.27 kg·m² about its pin, with its mass center 0.5 m below."""
    b = ns.ModelBuilder(name="pendulum", gravity=(0, 0, -G))
    b.parameter("e", 0.6, "1", "restitution of its stops")
    b.body("rod", mass=1.0, inertia=(0.02,) * 3, center_of_mass=(0, 0, -0.5))
    b.joint("pin", ns.joints.Revolute(axis=(0, 1, 0)), parent="world", child="rod", **stops)
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="pin.rate", input="torque"))
    return b.build()


def test_a_pendulum_bounces_off_its_stop():
    """Between bounces it takes half a swing: 2 K(sin(θ/2))/ω₀; each takes 1 − e² of its energy."""
    system = ns.compile(ns.derive(pendulum(limits=(0.0, 2.0), restitution="e")))
    run = ns.simulate(system, duration=3.0, start={"pin.angle": 1.0}, **TIGHT)
    fall, rate = G * 0.5 * (1 - np.cos(1.0)), np.sqrt(G * 0.5 / 0.27)
    angle, t, expected, losses = 1.0, 0.0, [], []
    quarter = scipy.special.ellipk(np.sin(angle / 2) ** 2) / rate
    for _ in range(4):
        t += quarter
        expected.append(t)
        losses.append(fall * (1 - 0.36))
        fall *= 0.36
        angle = np.arccos(1 - fall / (G * 0.5))
        t += (quarter := scipy.special.ellipk(np.sin(angle / 2) ** 2) / rate)
    events = run.contact_events
    assert {(e.contact, e.what) for e in events} == {("pin.lower", "bounces")}
    np.testing.assert_allclose([e.time for e in events], expected[: len(events)], atol=1e-10)
    np.testing.assert_allclose([e.loss for e in events], losses[: len(events)], rtol=1e-9)
    assert run["pin.angle"].min() > -1e-12
    assert run.energy_drift < 1e-9


def test_a_stop_holds_what_rests_on_it_and_lets_go():
    """It carries m g l sin θ, less by the torque that lifts, until that is all of it."""
    system = ns.compile(ns.derive(pendulum(limits=(0.2, 2.0))))
    run = ns.simulate(
        system, duration=2.0, start={"pin.angle": 0.2}, inputs={"torque": "t"}, **TIGHT
    )
    carried = G * 0.5 * np.sin(0.2)
    (event,) = run.contact_events
    assert (event.contact, event.what) == ("pin.lower", "lifts")
    assert event.time == pytest.approx(carried, abs=1e-10)
    rests = run.t < carried
    np.testing.assert_allclose(run["pin.lower.load"][rests], carried - run.t[rests], atol=1e-12)
    np.testing.assert_allclose(run["pin.angle"][rests], 0.2, atol=1e-14)
    # the same model ends there where contacts hold
    ideal = ns.simulate(system, duration=3.0, start={"pin.angle": 1.0})
    assert ideal.t[-1] < 1.0


def test_a_bearing_sticks_and_slips():
    """2 v̇ = 5 sin t − 3 from where the pull is 3 N, until v is zero again."""
    b = ns.ModelBuilder(name="slide", gravity=(0, 0, -G))
    b.body("block", mass=2.0, inertia=(0.02,) * 3)
    b.joint("rail", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="block")
    speed = {"speed": "rail.speed"}
    b.force(ns.forces.JointFriction(name="dry", level=3.0, smoothing=0.0, **speed))
    b.input("pull", "N")
    b.force(ns.forces.Motor(name="motor", input="pull", **speed))
    system = ns.compile(ns.derive(b.build()))
    run = ns.simulate(system, duration=7.0, inputs={"pull": "5*sin(t)"}, **TIGHT)
    slips = np.arcsin(0.6)

    def v(t):
        return (5 * (np.cos(slips) - np.cos(t)) - 3 * (t - slips)) / 2

    grips = scipy.optimize.brentq(v, 2.0, 4.0, xtol=1e-15)
    expected = [slips, grips, slips + np.pi, grips + np.pi, slips + 2 * np.pi]
    assert [e.what for e in run.contact_events] == ["slips", "grips"] * 2 + ["slips"]
    np.testing.assert_allclose([e.time for e in run.contact_events], expected, atol=1e-10)
    way = scipy.integrate.quad(v, slips, grips, epsabs=1e-14)[0]
    at = (run.t > grips) & (run.t < slips + np.pi)
    np.testing.assert_allclose(run["rail.position"][at], way, atol=1e-10)
    np.testing.assert_allclose(run["dry.friction_loss"][at], 3 * way, atol=1e-9)
    np.testing.assert_allclose(run["dry.grip"][at], np.abs(5 * np.sin(run.t[at])) / 3, atol=1e-11)
    assert run.energy_drift < 1e-9


def damped(smoothing):
    """A block on a rail with dry friction."""
    b = ns.ModelBuilder(name="slide", gravity=(0, 0, -G))
    b.parameter("s", 0.0, "m/s", "smoothing")
    b.body("block", mass=2.0, inertia=(0.02,) * 3)
    b.joint("rail", ns.joints.Prismatic(axis=(1, 0, 0)), parent="world", child="block")
    law = {"speed": "rail.speed", "level": 3.0, "smoothing": smoothing}
    b.force(ns.forces.JointFriction(name="dry", **law))
    return b.build()


def sleigh(**law):
    b = ns.ModelBuilder(name="sleigh", gravity=(0, 0, -G))
    b.body("sled", mass=3.0, inertia=(0.1, 0.1, 0.2), center_of_mass=(0.3, 0, 0))
    b.joint("base", ns.joints.Planar(), parent="world", child="sled")
    b.contact(ns.contacts.KnifeEdge(name="blade", body="sled", direction=(1, 0, 0), **law))
    return b.build()


def test_a_blade_breaks_out_and_holds_again():
    """Newton and Euler for the sled, with ∓μ N across the blade, by SciPy until it holds."""
    push, m, a, inertia = 0.2 * 29.4, 3.0, 0.3, 0.2
    system = ns.compile(ns.derive(sleigh(friction=0.2, load=29.4)))
    start = {"base.vx": 2.0, "base.rate": 3.0}
    run = ns.simulate(system, duration=0.5, start=start, **TIGHT)

    def rates(_, y):
        u, w, omega, *_, angle = y
        turn = -a * push / inertia  # it slides to its right, and friction acts to the left
        c, s = np.cos(angle), np.sin(angle)
        move = [w * omega + a * omega**2, push / m - u * omega - a * turn, turn]
        return [*move, c * u - s * w, s * u + c * w, omega]

    def holds(t, y):
        return y[1] if t > 1e-3 else -1.0

    holds.terminal = True
    exact = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14, "max_step": 1e-2}
    slid = scipy.integrate.solve_ivp(rates, (0, 0.5), [2, 0, 3, 0, 0, 0], events=holds, **exact)
    (event,) = run.contact_events
    assert (event.contact, event.what) == ("blade", "grips")
    assert event.time == pytest.approx(slid.t[-1], abs=1e-10)
    at = ns.simulate(system, duration=slid.t[-1], start=start, samples=2, **TIGHT)
    names = ("base.vx", "base.vy", "base.rate", "base.x", "base.y", "base.angle")
    np.testing.assert_allclose([at[n][-1] for n in names], slid.y[:, -1], atol=1e-10)
    assert run["blade.slip"][-1] == 0.0
    assert run.energy_drift < 1e-9
    # a blade without friction holds whatever it needs to
    held = ns.compile(ns.derive(sleigh()))
    with pytest.raises(ns.NoslipError, match="friction"):
        ns.simulate(held, duration=0.5, start=start, contact="coulomb")


def robot(**kind):
    """A planar base on two omni wheels and a skid."""
    b = ns.ModelBuilder(name="robot", gravity=(0, 0, -G))
    b.body("base", mass=15.0, inertia=(0.25, 0.45, 0.6), center_of_mass=(0.15, 0, 0.05))
    height = ns.Placement(position=(0, 0, 0.1))
    b.joint("base", ns.joints.Planar(), parent="world", child="base", parent_frame=height)
    for name, y, mu in (("left", 0.2, 0.3), ("right", -0.2, 0.7)):
        b.body(name, mass=1.2, inertia=(0.003, 0.006, 0.003))
        axle, place = ns.joints.Revolute(axis=(0, 1, 0)), ns.Placement(position=(0, y, 0))
        b.joint(name, axle, parent="base", child=name, parent_frame=place)
        b.input(f"{name}.torque", "N*m")
        b.force(ns.forces.Motor(name=f"{name}.motor", speed=f"{name}.rate", input=f"{name}.torque"))
        if kind["has_rollers"]:
            rim = {"radius": 0.1, "axis": (0, 1, 0), "roller_angle": np.pi / 2, "normal": False}
            b.contact(ns.contacts.RollerRolling(name=name, body=name, friction=mu, **rim))
        else:
            rim = {"wheel": ns.surfaces.Disk(radius=0.1, axis=(0, 1, 0)), "lateral": False}
            plane = ns.contacts.Plane(friction=mu)
            b.contact(ns.contacts.Rolling(name=name, body=name, plane=plane, **rim))
    free = {"longitudinal": False, "lateral": False, "center": (0.25, 0, -0.05)}
    b.contact(
        ns.contacts.Rolling(name="skid", body="base", wheel=ns.surfaces.Ball(radius=0.05), **free)
    )
    return b.build()


def test_an_omni_wheel_slips_as_a_wheel_that_is_free_sideways():
    """Rollers across the heading against rows that are switched off; friction by the ground."""
    runs = []
    for has_rollers in (True, False):
        system = ns.compile(ns.derive(robot(has_rollers=has_rollers)))
        torque = "3*(tanh((t-0.2)/0.05)-tanh((t-0.7)/0.05))/2"
        inputs = {"left.torque": torque, "right.torque": torque}
        runs.append(ns.simulate(system, duration=1.5, inputs=inputs, **TIGHT))
    one, other = runs
    assert [e.what for e in one.contact_events] == ["slips", "grips"]
    for a, b in zip(one.contact_events, other.contact_events, strict=True):
        assert (a.contact, a.what) == (b.contact, b.what)
        assert a.time == pytest.approx(b.time, abs=1e-10)
    for name in ("base.x", "base.y", "base.angle", "left.angle", "friction_loss"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: pendulum(limits=(0.0, 1.0), restitution=1.5), "joints.pin.restitution"),
        (lambda: pendulum(restitution=0.5), "joints.pin.restitution"),
        (lambda: pendulum(limits=(0.0, 1.0), restitution=-0.5), "joints.pin.restitution"),
        (lambda: sleigh(friction=0.2), "contacts.blade.friction"),
        (lambda: damped("s"), "forces.dry.smoothing"),
        (lambda: sleigh(friction=-0.2, load=1.0), "contacts.blade.friction"),
        (lambda: sleigh(friction=0.2, static_friction=0.1, load=1.0), "contacts.blade.static"),
        (lambda: sleigh(static_friction=0.1), "contacts.blade.static_friction"),
    ],
)
def test_what_contradicts_itself_is_refused(make, argument):
    with pytest.raises(ns.ModelError) as caught:
        make()
    assert argument in str(caught.value)


def test_files_say_all_of_it(tmp_path):
    """Read, written and read again, it is the same model."""
    for model in (pendulum(limits=(0.0, 1.0), restitution="e"), sleigh(friction=0.2, load=5.0)):
        path = tmp_path / f"{model.name}.toml"
        path.write_text(model_to_toml(model))
        assert ns.load(path) == model


def test_the_audit_of_such_a_run_says_what_happened(system_of):
    """What slid, and what those that rolled had to spare, against reactions over loads."""
    system = system_of("split-friction-robot")
    run = ns.run_scenario(system, reactions=True)
    audit = ns.audit(system, run)
    assert audit.verdict == "fails"
    (slide,) = audit.slides
    slips, grips = (event.time for event in run.contact_events)
    assert slide.wheel == "left"
    assert slips <= slide.start < slips + 0.006
    assert grips - 0.006 < slide.end <= grips
    for name, mu in (("left", 0.08), ("right", 0.7)):
        force = np.hypot(*(run[f"reaction.{name}.{way}"] for way in ("longitudinal", "lateral")))
        np.testing.assert_allclose(audit[name].demand, force / run[f"{name}.load"], atol=1e-10)
        np.testing.assert_allclose(audit[name].use, audit[name].demand / mu, rtol=1e-12)
    spare = 100 * (1 - audit["right"].use.max())
    assert f"right rolled with {spare:.3g} % of its friction to spare" in audit.text()
    slow = ns.audit(system, ns.run_scenario(system, changes={"torque": 0.3}))
    assert slow.verdict == "holds"
    with pytest.raises(ns.NoslipError, match="friction of their own"):
        ns.audit(system, run, friction=0.5)


def test_analyses_say_of_which_contact_states_they_speak(system_of):
    system = system_of("split-friction-robot")
    rolls = {"left": "rolls", "right": "rolls"}
    given, motors = {"base.vx": 0.5, "base.rate": 0.0}, ["left.torque", "right.torque"]
    straight = ns.steady(system, given=given, find=motors)
    assert straight.contacts == rolls
    about = ns.linearize(system, straight.start, inputs=straight.inputs)
    assert about.contacts == about.to_json()["contacts"] == rolls
    assert "left rolls, right rolls" in about.text()
    assert "left rolls, right rolls" in straight.text()
    needed = ns.inverse_dynamics(system, given, {"base.vx": 1.0})
    assert needed.contacts == rolls
    assert ns.inverse_dynamics_batch(system, given, {"base.vx": [1.0]})[0].contacts == rolls
    assert any("taken to roll: 'left'" in note for note in ns.evaluate(system, {}).notes)
    plain = system_of("agv")
    assert ns.evaluate(plain, {}).notes == ()


@pytest.mark.parametrize(
    "start",
    [
        {"ball.vx": 2.0, "ball.vy": 0.5, "ball.wx": 0.0, "ball.wy": 0.0, "ball.wz": 3.0},
        {"ball.x": 0.0, "ball.y": 0.0, "ball.z": 0.6},
    ],
    ids=["slides", "falls"],
)
def test_a_height_is_the_plane_that_it_describes(start):
    """Slip, grip and bounces on z = x/5, whose contact point is a coordinate, and on a plane."""
    slope = ns.contacts.Plane(frame=ns.Placement(angles=(0, -np.arctan(0.2), 0)))
    runs = []
    for ground in ({"plane": slope}, {"ground": ns.grounds.HeightGround(z="0.2*x")}):
        b = ns.ModelBuilder(name="ball", gravity=(0, 0, -G))
        b.body("ball", mass=2.0, inertia=(0.008,) * 3)
        b.joint("ball", ns.joints.Free(), parent="world", child="ball")
        law = {"wheel": ns.surfaces.Ball(radius=0.1), "friction": 0.3, "restitution": 0.5}
        b.contact(ns.contacts.Rolling(name="touch", body="ball", **law, **ground))
        system = ns.compile(ns.derive(b.build()))
        runs.append(ns.simulate(system, duration=1.0, start=start, **TIGHT))
    one, other = runs
    assert len(one.contact_events) == len(other.contact_events) > 0
    for a, b in zip(one.contact_events, other.contact_events, strict=True):
        assert (a.what, a.time) == (b.what, pytest.approx(b.time, abs=1e-9))
    for name in ("ball.x", "ball.y", "ball.z", "friction_loss", "impact_loss"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-9)
