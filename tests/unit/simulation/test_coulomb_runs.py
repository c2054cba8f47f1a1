"""Runs with ``contact="coulomb"`` against closed forms, conservation laws and other models."""

import dataclasses
import itertools

import numpy as np
import pytest

import noslip as ns

G, R = 9.81, 0.1
#: Bounds of runs at rtol 1e-11: of times, of ways, and of the energy balance.
TIGHT = {"contact": "coulomb", "rtol": 1e-11, "atol": 1e-12}
EVENT, WAY, ENERGY = 1e-12, 1e-10, 1e-9


def ball(friction=0.3, restitution=0.0, **more):
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, -G))
    b.body("ball", mass=2.0, inertia=(0.008, 0.008, 0.008))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    touch = {"wheel": ns.surfaces.Ball(radius=R), "friction": friction, "restitution": restitution}
    b.contact(ns.contacts.Rolling(name="ground", body="ball", **touch | more))
    return b.build()


def robot(is_free, left, right):
    """A base on two driven wheels and a skid without friction."""
    b = ns.ModelBuilder(name="robot", gravity=(0, 0, -G))
    b.body("base", mass=15.0, inertia=(0.25, 0.45, 0.6), center_of_mass=(0.15, 0, 0.05))
    height = ns.Placement() if is_free else ns.Placement(position=(0, 0, R))
    kind = ns.joints.Free() if is_free else ns.joints.Planar()
    b.joint("base", kind, parent="world", child="base", parent_frame=height)
    for name, y, mu in (("left", 0.2, left), ("right", -0.2, right)):
        b.body(name, mass=1.2, inertia=(0.003, 0.006, 0.003))
        axle, place = ns.joints.Revolute(axis=(0, 1, 0)), ns.Placement(position=(0, y, 0))
        b.joint(name, axle, parent="base", child=name, parent_frame=place)
        disk = ns.surfaces.Disk(radius=R, axis=(0, 1, 0))
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=disk, friction=mu))
        b.input(f"{name}.torque", "N*m")
        b.force(ns.forces.Motor(name=f"{name}.motor", speed=f"{name}.rate", input=f"{name}.torque"))
    free = {"longitudinal": False, "lateral": False, "center": (0.25, 0, -0.05)}
    b.contact(
        ns.contacts.Rolling(name="skid", body="base", wheel=ns.surfaces.Ball(radius=0.05), **free)
    )
    return b.build()


def cart(friction=0.9):
    """A tall cart in a vertical plane that brakes with its front wheel."""
    b = ns.ModelBuilder(name="cart", gravity=(0, 0, -G))
    b.body("chassis", mass=20.0, inertia=(1.6, 1.6, 1.6), center_of_mass=(0, 0.55, 0))
    upright = ns.Placement(angles=(np.pi / 2, 0, 0))
    b.joint("chassis", ns.joints.Planar(), parent="world", child="chassis", parent_frame=upright)
    for name, x in (("rear", -0.4), ("front", 0.4)):
        b.body(name, mass=1.5, inertia=(0.016875,) * 3)
        axle, place = ns.joints.Revolute(axis=(0, 0, 1)), ns.Placement(position=(x, 0, 0))
        b.joint(name, axle, parent="chassis", child=name, parent_frame=place)
        disk = ns.surfaces.Disk(radius=0.15, axis=(0, 0, 1))
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=disk, friction=friction))
    b.input("brake", "N*m")
    b.force(ns.forces.Motor(name="brake", speed="front.rate", input="brake"))
    return b.build()


@pytest.fixture(scope="module")
def balls():
    return {e: ns.compile(ns.derive(ball(restitution=e))) for e in (0.0, 0.8)}


PULSE = "{}*(tanh((t-0.2)/0.05)-tanh((t-0.9)/0.05))/2 + 0.2"


def spun(is_free, left, right, torques):
    system = ns.compile(ns.derive(robot(is_free, left, right)))
    names = zip(("left", "right"), torques, strict=True)
    inputs = {f"{name}.torque": PULSE.format(torque) for name, torque in names}
    return ns.simulate(system, duration=2.0, inputs=inputs, reactions=True, **TIGHT)


@pytest.fixture(scope="module")
def split():
    """A robot on split friction: one wheel spins."""
    return {is_free: spun(is_free, 0.3, 0.7, (3, 3)) for is_free in (True, False)}


STILL = {f"ball.{name}": 0.0 for name in ("vx", "vy", "wx", "wy", "wz")}


@pytest.mark.slow
def test_bowling_ball_slides_then_rolls(balls):
    """v₀ − μ g t until v = r ω: T = 2 v₀/(7 μ g), then 5/7 of v₀."""
    run = ns.simulate(balls[0.0], duration=2.0, start=STILL | {"ball.vx": 2.0}, **TIGHT)
    T = 2 * 2.0 / (7 * 0.3 * G)
    (event,) = run.contact_events
    assert (event.contact, event.what) == ("ground", "grips")
    assert event.time == pytest.approx(T, abs=EVENT)
    way = 2 * T - 0.15 * G * T**2 + 10 / 7 * (2.0 - T)
    assert run["ball.x"][-1] == pytest.approx(way, abs=WAY)
    lost = 0.5 * 2.0 * 2.0**2 * 2 / 7
    assert run["friction_loss"][-1] == pytest.approx(lost, abs=WAY)
    assert run.energy_drift < ENERGY
    assert any("slid from 0 to 0.194165 s" in note for note in run.notes)
    np.testing.assert_array_equal(run["ground.contact"], np.where(run.t < T, 1.0, 2.0))
    assert np.max(np.abs(run["ground.slip"] - np.maximum(2.0 - 3.5 * 0.3 * G * run.t, 0))) < WAY
    np.testing.assert_allclose(run["ground.load"], 2.0 * G, rtol=1e-13)
    np.testing.assert_allclose(run["ground.grip"], np.where(run.t < T, 1.0, 0.0), atol=1e-12)


@pytest.mark.slow
def test_billiard_ball_with_side_spin_slides_along_a_parabola(balls):
    """Slip keeps its direction, so the path is a parabola; T = 2 |v_slip|/(7 μ g)."""
    given = {"ball.vx": 2.0, "ball.wx": 5.0, "ball.wy": -3.0, "ball.wz": 7.0}
    run = ns.simulate(balls[0.0], duration=1.0, start=STILL | given, **TIGHT)
    slip = np.array([2.0 - R * -3.0, R * 5.0])
    size = np.linalg.norm(slip)
    T = 2 * size / (7 * 0.3 * G)
    assert run.contact_events[0].time == pytest.approx(T, abs=EVENT)
    t = np.minimum(run.t, T)
    for name, v, s in (("ball.x", 2.0, slip[0]), ("ball.y", 0.0, slip[1])):
        a = -0.3 * G * s / size
        path = v * t + a * t**2 / 2 + (v + a * T) * (run.t - t)
        np.testing.assert_allclose(run[name], path, atol=WAY)


@pytest.mark.slow
def test_bouncing_ball_comes_to_rest(balls):
    """Times of bounces are a geometric series, and what is lost is all there was."""
    height = 1.0
    run = ns.simulate(balls[0.8], duration=5.0, start={"ball.z": R + height}, **TIGHT)
    times = [e.time for e in run.contact_events]
    first = np.sqrt(2 * height / G)
    expected = first * (1 + 2 * np.cumsum([0, *(0.8**k for k in range(1, 20))]))
    np.testing.assert_allclose(times[:20], expected, atol=1e-11)
    # the last bounces, below 1e-6 m/s, are closed
    assert times[-1] == pytest.approx(first * 1.8 / 0.2, abs=3e-6)
    assert run["impact_loss"][-1] == pytest.approx(2.0 * G * height, abs=WAY)
    assert run.energy_drift < ENERGY


@pytest.mark.slow
def test_a_planar_robot_slides_as_one_on_a_free_base(split):
    """Loads by the planar joint against loads by normal rows: nothing else is shared."""
    planar, free = split[False], split[True]
    for name in ("base.x", "base.y", "left.angle", "right.angle", "friction_loss"):
        np.testing.assert_allclose(planar[name], free[name], atol=1e-8)
    pairs = zip(planar.contact_events, free.contact_events, strict=True)
    for one, other in pairs:
        assert (one.contact, one.what) == (other.contact, other.what)
        assert one.time == pytest.approx(other.time, abs=1e-9)


@pytest.mark.slow
def test_split_friction_spins_one_wheel(split):
    run = split[True]
    assert [(e.contact, e.what) for e in run.contact_events] == [
        ("left", "slips"),
        ("left", "grips"),
    ]
    assert run.energy_drift < ENERGY
    # at every sample no pull, no penetration, nothing above its cone, no slip of what rolls
    for name, mu in (("left", 0.3), ("right", 0.7), ("skid", 0.0)):
        assert run[f"{name}.load"].min() > 0.0
        assert np.max(np.abs(run[f"residual.{name}.normal"])) < 1e-13
        if mu:
            parts = [run[f"reaction.{name}.{p}"] for p in ("longitudinal", "lateral")]
            most = mu * run[f"{name}.load"]
            slides = run[f"{name}.contact"] == 1.0
            np.testing.assert_allclose(np.hypot(*parts)[slides], most[slides], rtol=1e-11)
    assert run.slip < 1e-13


@pytest.mark.slow
def test_motors_do_what_is_stored_and_lost(split):
    run = split[True]
    stored = run.kinetic_energy + run.potential_energy
    lost = run["friction_loss"] + run["impact_loss"]
    np.testing.assert_allclose(run.work + lost, stored + lost - stored[0], atol=1e-8)
    done = sum(run[f"energy.{side}.torque"][-1] for side in ("left", "right"))
    # by Simpson's rule over the samples
    assert done == pytest.approx(stored[-1] - stored[0] + lost[-1], rel=1e-3)


@pytest.mark.slow
def test_a_braking_cart_lifts_its_rear_and_lands():
    """The same events with tolerances of 1e-10 and 1e-12; the impact takes energy."""
    system = ns.compile(ns.derive(cart()))
    brake = ns.Table(
        times=[0.0, 0.2, 0.22, 0.42, 0.44, 3.0], values=[0.0, 0.0, 25.0, 25.0, 0.0, 0.0],
        kind="linear",
    )  # fmt: skip
    given = {"duration": 1.0, "start": {"chassis.vx": 4.0}, "inputs": {"brake": brake}}
    runs = [
        ns.simulate(system, **given, contact="coulomb", rtol=tol, atol=tol)
        for tol in (1e-10, 1e-12)
    ]
    for run in runs:
        words = [(e.contact, e.what) for e in run.contact_events]
        assert words[:3] == [("rear", "slips"), ("rear", "lifts"), ("rear", "lands")]
        assert run.energy_drift < ENERGY
        assert run["impact_loss"][-1] > 1.0
        off = run["rear.contact"] == 0.0
        assert off.any()
        assert np.all(run["rear.load"][off] == 0.0)
    times = [[e.time for e in run.contact_events] for run in runs]
    np.testing.assert_allclose(*times, atol=1e-9)


@pytest.mark.slow
def test_tippe_top_inverts_and_keeps_jelletts_integral():
    """−L·r of a sphere is constant for any force at its contact [Jellett], also through hops."""
    m, r = 0.02, 0.02
    a, I1, I3 = 0.3 * r, 131 / 350 * m * r**2, 2 / 5 * m * r**2
    b = ns.ModelBuilder(name="tippe top", gravity=(0, 0, -G))
    b.body("top", mass=m, inertia=(I1, I1, I3), center_of_mass=(0, 0, -a))
    b.joint("top", ns.joints.Free(), parent="world", child="top")
    b.contact(
        ns.contacts.Rolling(name="c", body="top", wheel=ns.surfaces.Ball(radius=r), friction=0.3)
    )
    system = ns.compile(ns.derive(b.build()))
    tilt, spin = 0.1, 180.0
    start = {"top.qw": np.cos(tilt / 2), "top.qx": np.sin(tilt / 2), "top.qy": 0.0, "top.qz": 0.0}
    start |= {"top.wx": 0.0, "top.wy": spin * np.sin(tilt), "top.wz": spin * np.cos(tilt)}
    start |= {"top.z": r, "top.vx": 0.0, "top.vy": 0.0}
    run = ns.simulate(system, duration=4.0, start=start, contact="coulomb", rtol=1e-12, atol=1e-12)
    w, x, y, z = (run[f"top.q{k}"] for k in "wxyz")
    axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x**2 + y**2)])
    rows = [
        [1 - 2 * (y**2 + z**2), 2 * (x * y - w * z), axis[0]],
        [2 * (x * y + w * z), 1 - 2 * (x**2 + z**2), axis[1]],
        [2 * (x * z - w * y), 2 * (y * z + w * x), axis[2]],
    ]
    turned = np.moveaxis(np.array(rows), -1, 0)
    omega = np.array([run[f"top.w{k}"] for k in "xyz"]).T * [I1, I1, I3]
    momentum = np.einsum("nij,nj->ni", turned, omega)
    jellett = np.einsum("ni,in->n", momentum, a * axis - r * np.array([[0.0], [0.0], [1.0]]))
    assert np.ptp(jellett) < 1e-11 * abs(jellett[0])
    angle = np.degrees(np.arccos(axis[2]))
    assert angle[0] < 10
    assert angle[-1] > 150
    assert run.energy_drift < ENERGY


@pytest.mark.slow
def test_ideal_runs_are_untouched_by_friction(balls):
    """Friction alone feeds the audit: the numbers of an ideal run stay, bit by bit."""
    plain = ns.compile(ns.derive(ball(friction=None)))
    start = {"ball.vx": 2.0, "ball.wz": 1.0}
    runs = [ns.simulate(s, duration=1.0, start=start) for s in (plain, balls[0.0])]
    np.testing.assert_array_equal(runs[0].y, runs[1].y)


def test_bad_coefficients_are_refused():
    with pytest.raises(ns.ModelError, match="friction"):
        ball(friction=-0.1)
    with pytest.raises(ns.ModelError, match=r"restitution 1\.5"):
        ball(restitution=1.5)
    with pytest.raises(ns.ModelError, match="no load"):
        ball(normal=False)
    with pytest.raises(ns.ModelError, match=r"static friction 0\.2, below"):
        ball(static_friction=0.2)
    with pytest.raises(ns.ModelError, match="lateral_friction and no friction"):
        ball(friction=None, lateral_friction=0.2)


def test_laws_and_models_without_them_are_refused(system_of, balls):
    with pytest.raises(ns.SimulationError, match="'columb'"):
        ns.simulate(balls[0.0], duration=1.0, contact="columb")
    with pytest.raises(ns.SimulationError, match="fixed steps"):
        ns.simulate(balls[0.0], duration=1.0, contact="coulomb", method="rk4", step=1e-3)
    with pytest.raises(ns.SimulationError, match="no friction"):
        ns.simulate(system_of("rolling-disk"), duration=1.0, contact="coulomb")


@pytest.mark.slow
def test_scenarios_and_folders_know_the_law(tmp_path, balls):
    scenario = ns.Scenario(duration=0.5, start=STILL | {"ball.vx": 2.0}, contact="coulomb")
    model = dataclasses.replace(balls[0.0].model, scenario=scenario)
    system = ns.compile(ns.derive(model))
    run = ns.run_scenario(system)
    ns.write_run(run, tmp_path / "run", plots=False)
    again = ns.read_run(tmp_path / "run")
    assert again.contact == "coulomb"
    assert again.contact_events == run.contact_events
    assert len(run.contact_events) == 1
    with pytest.raises(ns.SimulationError, match="friction of their own"):
        ns.audit(system, run, 0.5)
    ideal = ns.run_scenario(system, contact="ideal", changes={"ball.wy": 20.0})
    # without a coefficient of the ground the audit takes that of the contact
    assert ns.audit(system, ideal).friction == 0.3


@pytest.mark.slow
def test_a_wheel_under_a_planar_joint_that_lifts_ends_the_run():
    system = ns.compile(ns.derive(robot(False, 1.5, 1.5)))
    given = {"duration": 1.0, "inputs": {f"{side}.torque": "30*t" for side in ("left", "right")}}
    with pytest.raises(ns.SimulationError, match="'skid' lifts off"):
        ns.simulate(system, **given, contact="coulomb")
    run = ns.simulate(system, **given, contact="coulomb", on_failure="return")
    assert run.ending.name == "CONTACTS"
    assert not run.success
    assert run["skid.load"][-1] == pytest.approx(0.0, abs=1e-6)
    assert run.energy_drift < ENERGY


@pytest.mark.slow
def test_a_controller_believes_in_rolling():
    """While nothing slips a tracked run is the ideal one; where a wheel slips, a path is missed."""
    system = ns.compile(ns.derive(robot(False, 0.3, 0.7)))
    path = ns.paths.Circle(radius=2.0)

    def tracked(duration, contact, controller):
        timing = ns.timing.Quintic(duration=duration)
        tolerances = {"rtol": 1e-9, "atol": 1e-9, "contact": contact}
        return ns.track(system, path, timing=timing, controller=controller, **tolerances)

    sampled = ns.ControlLoop(controller="path", period=0.01)
    for controller in ("path", sampled):
        slow = [tracked(16.0, contact, controller) for contact in ("ideal", "coulomb")]
        assert not slow[1].contact_events
        for name in ("base.x", "base.y", "left.torque"):
            np.testing.assert_allclose(slow[1][name], slow[0][name], atol=1e-7)
    fast = tracked(6.5, "coulomb", "path")
    assert ("left", "slips") in {(e.contact, e.what) for e in fast.contact_events}
    assert fast.energy_drift < 1e-6
    assert np.max(fast.path_errors.distance) > 0.01
    assert max(np.max(fast[f"{wheel}.grip"]) for wheel in ("left", "right")) < 1.0 + 1e-8
    # a sampled one comes to it with slope one; what begins to slip turns as the law says
    until = {"timing": ns.timing.Quintic(duration=6.5), "duration": 2.2, "contact": "coulomb"}
    loops = [ns.ControlLoop(controller="path", period=period) for period in (0.0, 2e-4, 1e-3)]
    runs = [ns.track(system, path, controller=loop, **until) for loop in loops]
    assert all([e.what for e in run.contact_events] == ["slips", "slips"] for run in runs)
    errors = [np.max(np.abs(run["base.x"] - runs[0]["base.x"])) for run in runs]
    assert errors[2] < 1e-3
    assert errors[1] < 0.3 * errors[2]


@pytest.mark.slow
def test_plots_and_reports_show_contact_states(balls, tmp_path):
    run = ns.simulate(balls[0.0], duration=1.0, start=STILL | {"ball.vx": 2.0}, **TIGHT)
    figure = ns.plot(run, "contacts")
    assert len(figure.axes) == 4
    path = ns.write_report(balls[0.0], run, tmp_path / "report.html")
    text = path.read_text("utf-8")
    assert "Contacts roll, slide and lift off" in text
    assert "slid from 0 to 0.194165 s" in text
    assert "No-slip audit" not in text
    ideal = ns.simulate(balls[0.0], duration=1.0)
    with pytest.raises(ns.SimulationError, match="contacts"):
        ns.plot(ideal, "contacts")


@pytest.mark.slow
def test_smoothed_friction_comes_to_the_same_motion_with_slope_one():
    """Wheels that always slide, by tanh(|v|/s): their error falls as s, to none as s does."""
    model = robot(False, 0.3, 0.7)
    wheels = [
        dataclasses.replace(c, longitudinal=False, lateral=False, friction=None)
        for c in model.contacts
    ]
    smooth = [
        ns.forces.SlidingFriction(
            name=f"{name}.slide", contact=name, friction=mu, smoothing="smooth"
        )
        for name, mu in (("left", 0.3), ("right", 0.7))
    ]
    soft = dataclasses.replace(
        model,
        contacts=tuple(wheels),
        forces=(*model.forces, *smooth),
        parameters=(*model.parameters, ns.Parameter(name="smooth", value=1e-2, unit="m/s")),
    )
    inputs = {f"{name}.torque": PULSE.format(3) for name in ("left", "right")}
    given = {"duration": 2.0, "inputs": inputs, "samples": 2}
    exact = ns.simulate(ns.compile(ns.derive(model)), **given, **TIGHT)
    system, names = ns.compile(ns.derive(soft)), ("base.x", "base.y", "base.angle")

    def end(run):
        return np.array([run[name][-1] for name in names])

    tight = {"rtol": 1e-9, "atol": 1e-10}
    ends = [
        end(ns.simulate(system, **given, **tight, parameters={"smooth": s}))
        for s in (4e-4, 2e-4, 1e-4)
    ]
    off = [np.abs(x - end(exact)) for x in ends]
    for a, b in itertools.pairwise(off):
        np.testing.assert_allclose(a / b, 2.0, rtol=0.05)
    # without the part that falls as s
    without = 2 * ends[-1] - ends[-2]
    assert np.max(np.abs(without - end(exact))) < np.max(off[-1]) / 10
