"""Runs with ``contact="coulomb"`` against closed forms: books' problems of slip, lift and landing.

Bounds: events are found to rounding of their guards, ways and energies to the tolerance of 1e-11.
"""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import noslip as ns

G = 9.81
TIGHT = {"contact": "coulomb", "rtol": 1e-11, "atol": 1e-12}
EVENT, WAY, ENERGY = 1e-11, 1e-9, 1e-9
#: A foot is a ball so small that it is a point.
POINT = ns.surfaces.Ball(radius=1e-12)
#: A planar joint whose plane is x–z.
UPRIGHT = ns.Placement(angles=(np.pi / 2, 0, 0))


def foot(name, body, x, y, **more):
    return ns.contacts.Rolling(name=name, body=body, wheel=POINT, center=(x, y, 0), **more)


def upright(name, mass, moment):
    """A body in a vertical plane."""
    b = ns.ModelBuilder(name=name, gravity=(0, 0, -G))
    b.body(name, mass=mass, inertia=(moment, moment, moment))
    b.joint(name, ns.joints.Planar(), parent="world", child=name, parent_frame=UPRIGHT)
    return b


def compiled(b):
    return ns.compile(ns.derive(b.build()))


def words(run):
    return [(e.contact, e.what) for e in run.contact_events]


@pytest.mark.slow
def test_block_on_a_belt_sticks_and_slips():
    """Friction oscillator: static friction 0.5, 0.3 of sliding; all times in closed form."""
    static, sliding, belt, k, m = 0.5, 0.3, 0.5, 50.0, 2.0
    b = upright("block", m, 0.1)
    b.body("belt", mass=1.0, inertia=(1, 1, 1))
    along, moves = ns.joints.Prismatic(axis=(1, 0, 0)), {"position": f"{belt}*t"}
    b.joint("belt", along, parent="world", child="belt", motion=moves)
    for name, x in (("left", -0.2), ("right", 0.2)):
        law = {"friction": sliding, "static_friction": static}
        b.contact(foot(name, "block", x, -0.01, plane=ns.contacts.Plane(body="belt"), **law))
    b.force(ns.forces.JointSpring(name="spring", coordinate="block.x", stiffness=k))
    start = {"block.x": 0.0, "block.angle": 0.0}
    run = ns.simulate(compiled(b), duration=3.0, start=start, **TIGHT)
    w, x_slip, x_mid = np.sqrt(k / m), static * m * G / k, sliding * m * G / k
    slides = (np.pi + 2 * np.arctan2(belt / w, x_slip - x_mid)) / w
    holds = 2 * (x_slip - x_mid) / belt
    first = x_slip / belt
    period = slides + holds
    expected = [first, first + slides, first + period, first + period + slides]
    # two feet leave open who holds what: they slip only together
    times = np.array([e.time for e in run.contact_events]).reshape(-1, 2)
    np.testing.assert_allclose(times[:4], np.transpose([expected, expected]), atol=EVENT)
    assert words(run)[:4] == [(f, w) for w in ("slips", "grips") for f in ("left", "right")]
    assert run.energy_drift < ENERGY
    assert run["left.grip"].max() <= 1 + 1e-9
    lost = run["friction_loss"][-1]
    assert lost == pytest.approx(run["left.friction_loss"][-1] + run["right.friction_loss"][-1])


@pytest.mark.slow
def test_friction_that_depends_on_the_direction_turns_the_slip():
    """A ball whose friction across is half of that along, against the slip's own equations."""
    mu, across, m, r = 0.4, 0.2, 2.0, 0.1
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, -G))
    b.body("ball", mass=m, inertia=(0.4 * m * r**2,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    law = {"friction": mu, "lateral_friction": across}
    b.contact(ns.contacts.Rolling(name="c", body="ball", wheel=ns.surfaces.Ball(radius=r), **law))
    start = {"ball.vx": 2.0, "ball.vy": -1.5, "ball.wx": 0.0, "ball.wy": 0.0, "ball.wz": 0.0}
    run = ns.simulate(compiled(b), duration=1.5, start=start, **TIGHT)

    def slip_rate(t, y):
        s, (a, c) = y[:2], (mu, across)
        d = s / np.hypot(a * s[0], c * s[1])
        return np.concatenate([-3.5 * G * d * [a**2, c**2], -G * d * [a**2, c**2]])

    # up to the last 1e-3 m/s of slip, where the direction turns ever faster
    ends = run.contact_events[0].time
    seen = run.t < ends - 1e-2
    found = solve_ivp(
        slip_rate, (0, ends), [2.0, -1.5, 2.0, -1.5], t_eval=run.t[seen], rtol=1e-12, atol=1e-13
    )
    slip = np.hypot(*found.y[:2])
    np.testing.assert_allclose(run["c.slip"][seen], slip, atol=1e-8)
    assert np.max(np.abs(run["c.grip"][seen] - 1.0)) < 1e-12
    assert words(run) == [("c", "grips")]
    assert run.energy_drift < ENERGY


def dome_after_slip(mu, cos_start):
    """Angles of slip and of lift-off of a ball on a dome, from rest."""
    slips = brentq(lambda a: 2 * np.sin(a) - mu * (17 * np.cos(a) - 10 * cos_start), 0.0, np.pi / 2)
    # W = L ω²: W' = 2 g sin − 2 μ (g cos − W)
    A = G * (4 * mu**2 - 2) / (1 + 4 * mu**2)
    B = 2 * mu * (A - G)
    W = 10 / 7 * G * (cos_start - np.cos(slips))
    C = (W - A * np.cos(slips) - B * np.sin(slips)) * np.exp(-2 * mu * slips)

    def load(a):
        return G * np.cos(a) - (C * np.exp(2 * mu * a) + A * np.cos(a) + B * np.sin(a))

    return slips, brentq(load, slips, np.pi / 2)


@pytest.mark.slow
def test_a_ball_leaves_a_dome_after_it_has_slipped():
    """Curved ground with a gap; angles of slip and lift-off from the energy along the angle."""
    R, r, m, mu, begin = 1.0, 0.1, 1.0, 0.3, 0.1
    b = ns.ModelBuilder(name="dome", gravity=(0, 0, -G))
    b.body("ball", mass=m, inertia=(0.4 * m * r**2,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ground, wheel = ns.grounds.SphereGround(radius=R), ns.surfaces.Ball(radius=r)
    b.contact(ns.contacts.Rolling(name="c", body="ball", wheel=wheel, ground=ground, friction=mu))
    system = compiled(b)
    given = {"start": {"ball.x": 1.1 * np.sin(begin), "ball.y": 0.0}, "guess": {"ball.z": 1.0}}
    run = ns.simulate(system, duration=1.5, **given, **TIGHT)
    assert words(run) == [("c", "slips"), ("c", "lifts")]
    at = [0.0, *(e.time for e in run.contact_events)]
    there = ns.simulate(system, duration=1.5, samples=[*at, 1.5], **given, **TIGHT)
    angles = np.arctan2(there["ball.x"], there["ball.z"])[1:3]
    np.testing.assert_allclose(angles, dome_after_slip(mu, np.cos(begin)), atol=1e-9)
    assert run.energy_drift < ENERGY
    assert np.all(run["c.load"][run["c.contact"] > 0] > -1e-9)


@pytest.mark.slow
def test_a_ladder_leaves_its_wall_at_two_thirds():
    """Without friction the wall is left where sin θ is 2/3 of what it was."""
    length, m, begin = 2.0, 3.0, np.radians(70)
    b = upright("ladder", m, m * length**2 / 12)
    free = {"longitudinal": False, "lateral": False}
    b.contact(foot("floor", "ladder", length / 2, 0, **free))
    wall = ns.contacts.Plane(frame=ns.Placement(angles=(0, np.pi / 2, 0)))
    b.contact(foot("wall", "ladder", -length / 2, 0, plane=wall, **free))
    system, given = compiled(b), {"start": {"ladder.angle": -begin}}
    run = ns.simulate(system, duration=0.8, **given, **TIGHT)
    assert words(run)[0] == ("wall", "lifts")
    at = run.contact_events[0].time
    there = ns.simulate(system, duration=0.8, samples=[0.0, at, 0.8], **given, **TIGHT)
    assert np.sin(-there["ladder.angle"][1]) == pytest.approx(2 / 3 * np.sin(begin), abs=1e-10)
    assert run.energy_drift < ENERGY


@pytest.mark.slow
def test_a_block_slides_on_a_slope_that_accelerates():
    """It slips where a = g (sin α + μ cos α)/(cos α − μ sin α) or its mirror image."""
    slope, mu, rate = 0.3, 0.6, 4.0
    b = upright("block", 2.0, 0.1)
    b.body("wedge", mass=1.0, inertia=(1, 1, 1))
    along = ns.joints.Prismatic(axis=(1, 0, 0))
    moves = {"position": f"-{rate}*t^3/6"}
    b.joint("wedge", along, parent="world", child="wedge", motion=moves)
    plane = ns.contacts.Plane(body="wedge", frame=ns.Placement(angles=(0, slope, 0)))
    for name, x in (("low", 0.2), ("high", -0.2)):
        b.contact(foot(name, "block", x, -0.1, plane=plane, friction=mu))
    start = {"block.x": 0.0, "block.angle": -slope}
    run = ns.simulate(compiled(b), duration=1.5, start=start, **TIGHT)
    # the wedge goes up its own slope: friction has to keep the block from sliding down
    most = G * (mu * np.cos(slope) - np.sin(slope)) / (np.cos(slope) + mu * np.sin(slope))
    assert words(run)[:2] == [("low", "slips"), ("high", "slips")]
    for event in run.contact_events[:2]:
        assert event.time == pytest.approx(most / rate, abs=1e-9)


@pytest.mark.slow
def test_a_block_rocks_as_housners():
    """Times of impacts by quadrature; each takes 1 − (1 − 3/2 sin² α)² of the energy [Housner]."""
    half, high, m, begin = 0.1, 0.5, 10.0, 0.6
    alpha, R = np.arctan2(half, high), np.hypot(half, high)
    moment = m * R**2 / 3
    b = upright("block", m, moment)
    b.contact(foot("left", "block", -half, -high, friction=2.0))
    b.contact(foot("right", "block", half, -high, friction=2.0))
    tilt = begin * alpha
    c, s = np.cos(-tilt), np.sin(-tilt)
    start = {"block.angle": -tilt, "block.x": -(c * half + s * high), "block.rate": 0.0}
    start |= {"block.y": -(s * half - c * high)}
    p2, keeps = 3 * G / (4 * R), 1 - 1.5 * np.sin(alpha) ** 2

    def quarter(top):
        def density(u):
            product = np.sin(alpha - top * (1 - u * u / 2)) * (top / 2)
            return 2 * top / np.sqrt(4 * p2 * product * np.sinc(top * u * u / 2 / np.pi))

        return quad(density, 0, 1, epsabs=1e-13, epsrel=1e-13)[0]

    times, t, top = [], 0.0, tilt
    for _ in range(4):
        t += quarter(top)
        times.append(t)
        speed = keeps * np.sqrt(2 * p2 * (np.cos(alpha - top) - np.cos(alpha)))
        top = alpha - np.arccos(speed**2 / (2 * p2) + np.cos(alpha))
        t += quarter(top)
    run = ns.simulate(compiled(b), duration=times[-1] + 0.05, start=start, **TIGHT)
    impacts = [e for e in run.contact_events if e.loss > 0]
    np.testing.assert_allclose([e.time for e in impacts], times, atol=1e-9)
    first = 0.5 * (moment + m * R**2) * 2 * p2 * (np.cos(alpha - tilt) - np.cos(alpha))
    assert impacts[0].loss == pytest.approx(first * (1 - keeps**2), rel=1e-9)
    assert run.energy_drift < ENERGY


@pytest.mark.slow
def test_eulers_disk_loses_what_its_levers_take():
    """Each loss is ∫ N l |ω| dt of its part of ω, and as it sinks it goes round ever faster."""
    model = ns.load("eulers-disk")
    run = ns.simulate(
        ns.compile(ns.derive(model)),
        duration=0.8,
        start=model.scenario.start,
        samples=40_001,
        **TIGHT,
    )
    omega = np.array([run[f"disk.w{k}"] for k in "xyz"])
    # the vertical in body axes: R of zxz has it in its last row
    a, s = run["disk.tilt"], run["disk.spin"]
    n = np.array([np.sin(a) * np.sin(s), np.sin(a) * np.cos(s), np.cos(a)])
    along = np.sum(omega * n, axis=0)
    across = np.linalg.norm(omega - along * n, axis=0)
    for force, lever, rate in (("rolling", "roll", across), ("pivoting", "pivot", np.abs(along))):
        power = run["rim.load"] * run.parameters[lever] * rate
        # by the trapezoidal rule, of second order in 2e-5 s
        taken = np.trapezoid(power * np.tanh(rate / run.parameters["slow"]), run.t)
        assert run[f"{force}.friction_loss"][-1] == pytest.approx(taken, rel=1e-6)
    energy = run.kinetic_energy + run.potential_energy
    assert energy[0] - energy[-1] == pytest.approx(run["friction_loss"][-1], rel=1e-8)
    assert run["disk.tilt"][-1] < 0.97 * 0.3
    assert run["disk.yaw_rate"][-1] > 1.01 * run["disk.yaw_rate"][0]
    assert run.energy_drift < ENERGY


@pytest.mark.slow
@pytest.mark.parametrize("holds", [True, False])
def test_rolling_resistance_takes_grip(holds):
    """Down a slope a ball needs μ = (κ tan α + l/R)/(1 + κ), κ = 2/5, and slides with less."""
    m, r, slope, lever = 2.0, 0.1, 0.3, 0.02
    needed = (0.4 * np.tan(slope) + lever / r) / 1.4
    mu = needed * (1.001 if holds else 0.999)
    b = ns.ModelBuilder(name="ball", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    b.body("ball", mass=m, inertia=(0.4 * m * r * r,) * 3)
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    wheel = ns.surfaces.Ball(radius=r)
    b.contact(ns.contacts.Rolling(name="ground", body="ball", wheel=wheel, friction=mu))
    sizes = {"contact": "ground", "lever": lever, "smoothing": 1e-6}
    b.force(ns.forces.RollingResistance(name="resistance", **sizes))
    run = ns.simulate(compiled(b), duration=1.0, start={"ball.wy": 1.0 / r}, **TIGHT)
    load, pull = m * G * np.cos(slope), m * G * np.sin(slope)
    if holds:
        a = (pull - lever * load / r) / (1.4 * m)
        spin = a / r
    else:
        a, spin = (pull - mu * load) / m, (mu * r - lever) * load / (0.4 * m * r * r)
    np.testing.assert_array_equal(run["ground.contact"], 2.0 if holds else 1.0)
    np.testing.assert_allclose(run["ground.grip"], needed / mu if holds else 1.0, rtol=1e-12)
    assert run["ball.x"][-1] == pytest.approx(1.0 + a / 2, abs=WAY)
    turned = 1.0 / r + spin / 2
    assert run["resistance.friction_loss"][-1] == pytest.approx(lever * load * turned, abs=WAY)
    slid = 0.0 if holds else mu * load * (1.0 + a / 2 - r * turned)
    assert run["friction_loss"][-1] == pytest.approx(lever * load * turned + slid, abs=WAY)


@pytest.mark.slow
def test_a_rattleback_with_pivoting_friction_moves_as_by_newton_and_euler():
    """m v̇ = F + m g, I ω̇ + ω × I ω = r × F − l N n sign(ω·n), v = −ω × r, in body axes."""
    lever, slow = 2e-4, 0.5
    model = ns.load("rattleback")
    touch = dataclasses.replace(model.contacts[0], friction=2.0)
    pivoting = ns.forces.PivotingFriction(
        name="pivoting", contact="touch", lever=lever, smoothing=slow
    )
    model = dataclasses.replace(
        model, contacts=(touch,), forces=(*model.forces, pivoting), scenario=None
    )
    start = {"stone.yaw": 0.0, "stone.roll": 0.01, "stone.pitch": 0.01, "stone.yaw_rate": -5.0}
    run = ns.simulate(ns.compile(ns.derive(model)), duration=0.25, samples=51, start=start, **TIGHT)
    p = model.parameter_values()
    m, h = p["m"], p["h"]
    squares = np.array([p["a"], p["b"], p["c"]]) ** 2
    inertia = np.array([[p["A"], p["D"], 0], [p["D"], p["B"], 0], [0, 0, p["C"]]])
    center = np.array([0.0, 0.0, -h])

    def rates(t, x):
        n, omega = x[:3], x[3:6]
        turning = -np.cross(omega, n)  # of n in body axes
        size = np.sqrt(n @ (squares * n))
        arm = -squares * n / size - center
        bent = -squares * turning / size + squares * n * (n @ (squares * turning)) / size**3

        def moment(force):
            held = lever * (n @ force) * np.tanh(omega @ n / slow)
            return np.cross(arm, force) - held * n

        # F is linear in ω̇: v̇ = d/dt(−ω × r) + ω × v
        v = -np.cross(omega, arm)
        still = m * (-np.cross(omega, bent) + np.cross(omega, v) + G * n)
        unit = [m * -np.cross(e, arm) for e in np.eye(3)]
        matrix = inertia - np.array([moment(f) for f in unit]).T
        right = moment(still) - np.cross(omega, inertia @ omega)
        taken = lever * (n @ (still + np.array(unit).T @ np.linalg.solve(matrix, right)))
        turned = taken * np.tanh(omega @ n / slow) * (omega @ n)
        return np.concatenate([turning, np.linalg.solve(matrix, right), [turned]])

    first = [run[f"stone.w{k}"][0] for k in "xyz"]
    roll, pitch = 0.01, 0.01
    # the last row of Rz Rx(roll) Ry(pitch)
    n = np.array([-np.cos(roll) * np.sin(pitch), np.sin(roll), np.cos(roll) * np.cos(pitch)])
    known = solve_ivp(
        rates, (0, 0.25), [*n, *first, 0.0], method="DOP853", rtol=1e-11, atol=1e-12, t_eval=run.t
    )
    omega = np.array([run[f"stone.w{k}"] for k in "xyz"])
    np.testing.assert_allclose(omega, known.y[3:6], atol=1e-8)
    np.testing.assert_allclose(run["pivoting.friction_loss"], known.y[6], atol=1e-11)
    assert run["pivoting.friction_loss"][-1] > 1e-4
    assert run.energy_drift < ENERGY


@pytest.mark.slow
def test_kanes_pendulum_is_refused_with_its_coefficients():
    """A double pendulum that strikes the ground while its tip slips may gain energy [Kane1984]."""
    b = ns.ModelBuilder(name="pendulum", gravity=(0, 0, -G))
    top = ns.Placement(position=(0, 0, 1.55), angles=(np.pi / 2, 0, 0))
    for name, parent in (("upper", "world"), ("lower", "upper")):
        b.body(name, mass=1.0, inertia=(1 / 12, 1 / 12, 1 / 12), center_of_mass=(0.5, 0, 0))
        place = top if parent == "world" else ns.Placement(position=(1, 0, 0))
        hinge = ns.joints.Revolute(axis=(0, 0, 1))
        b.joint(name, hinge, parent=parent, child=name, parent_frame=place)
    b.contact(foot("tip", "lower", 1.0, 0.0, friction=0.5, restitution=0.7))
    system = compiled(b)
    start = {"upper.angle": -0.5, "lower.angle": -0.5, "upper.rate": -2.0, "lower.rate": 2.0}
    run = ns.simulate(system, duration=2.0, start=start, on_failure="return", **TIGHT)
    assert run.ending.name == "CONTACTS"
    assert "'tip' with friction 0.5 and restitution 0.7" in run.message
    assert "would gain" in run.message
    # up to there it is a motion
    assert run.energy_drift < ENERGY
    other = start | {"upper.angle": -0.3, "lower.angle": -0.8, "upper.rate": 0, "lower.rate": -3.0}
    run = ns.simulate(system, duration=0.9, start=other, **TIGHT)
    assert [e.what for e in run.contact_events] == ["bounces"] * 3
    assert all(e.loss > 0 for e in run.contact_events)


@pytest.mark.slow
def test_a_ball_goes_to_and_fro_between_walls():
    """Walls that are only met: the model has all its freedoms, and each bounce leaves 0.9."""
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, 0))
    b.body("ball", mass=2.0, inertia=(0.008, 0.008, 0.008))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    law = {"friction": 0.2, "restitution": 0.9, "touches": False}
    for name, x, angle in (("left", -1.0, np.pi / 2), ("right", 1.0, -np.pi / 2)):
        plane = ns.contacts.Plane(frame=ns.Placement(position=(x, 0, 0), angles=(0, angle, 0)))
        wheel = ns.surfaces.Ball(radius=0.1)
        b.contact(ns.contacts.Rolling(name=name, body="ball", wheel=wheel, plane=plane, **law))
    model = b.build()
    assert ns.check(model).degrees_of_freedom == 6
    system = compiled(b)
    start = {"ball.vx": 2.0, "ball.vy": 0.3, "ball.vz": 0, "ball.wx": 0, "ball.wy": 0, "ball.wz": 0}
    ideal = ns.simulate(system, duration=1.0, start=start)
    assert ideal["ball.x"][-1] == pytest.approx(2.0)  # it goes through: nothing holds there
    run = ns.simulate(system, duration=3.5, start=start, reactions=True, **TIGHT)
    expected = 0.45 + np.cumsum([0.0, 1.8 / 1.8, 1.8 / 1.62])
    np.testing.assert_allclose([e.time for e in run.contact_events], expected, atol=1e-9)
    assert words(run) == [("right", "bounces"), ("left", "bounces"), ("right", "bounces")]
    assert run.energy_drift < ENERGY
    assert np.all(np.diff(run["impact_loss"]) >= 0)
    with pytest.raises(ns.ModelError, match="nothing stops there"):
        wheel = ns.surfaces.Ball(radius=0.1)
        b.contact(
            ns.contacts.Rolling(name="c", body="ball", wheel=wheel, touches=False, normal=False)
        )
        b.build()


@pytest.mark.slow
@pytest.mark.long
def test_the_woodpecker_hops_down_its_pole():
    """Glocker's toy with Siconos' parameters, its three contacts on rows of small angles.

    Siconos publishes −0.0413482 m and −0.340934 rad at 0.29998 s, by time steps of 2e-5 s. Moreau's
    and Jean's steps tend to −0.0413222 m and −0.342207 rad for steps that tend to zero, which an
    event-driven program of its own for these linear equations gives to all digits.
    """
    rO, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    stiffness, none = 0.0056, (0.0, 0.0, 0.0)
    b = ns.ModelBuilder(name="woodpecker", gravity=(0, 0, -G))
    x, z = ns.joints.Prismatic(axis=(1, 0, 0)), ns.joints.Prismatic(axis=(0, 0, 1))
    turn = ns.joints.Revolute(axis=(0, 1, 0))

    def body(name, joint, parent="world", mass=0.0, moment=0.0):
        b.body(name, mass=mass, inertia=(moment,) * 3 if moment else none)
        b.joint(name, joint, parent=parent, child=name)

    def row(name, expression, unit="m"):
        b.row(ns.rows.PositionRow(name=name, expression=expression, unit=unit))

    body("sleeve", z, mass=0.0003)
    body("tilt", turn, moment=5e-9)
    body("bird", z, mass=0.0045)
    body("nod", turn, moment=7e-7)
    row("bird_row", f"bird.position - sleeve.position - {lM}*tilt.angle - {lG}*nod.angle")
    body("spring", turn)
    row("spring_row", "spring.angle - tilt.angle + nod.angle", "rad")
    b.force(ns.forces.JointSpring(name="coil", coordinate="spring.angle", stiffness=stiffness))
    pole = ns.contacts.Plane(frame=ns.Placement(angles=(0, np.pi / 2, 0)))
    jaw = f"sleeve.position + {rM}*tilt.angle"
    for name, bounce, gap, along in (
        ("beak", 0.5, f"{-hS}*nod.angle + {lM + lG - lS - rO}",
         f"sleeve.position + {lM}*tilt.angle + {lG - lS}*nod.angle"),
        ("lower", 0.0, f"{hM}*tilt.angle + {rM - rO}", jaw),
        ("upper", 0.0, f"{-hM}*tilt.angle + {rM - rO}", jaw),
    ):  # fmt: skip
        body(f"{name}_x", x)
        body(name, z, parent=f"{name}_x")
        row(f"{name}_gap", f"{name}_x.position - ({gap})")
        row(f"{name}_along", f"{name}.position - ({along})")
        law = {"friction": 0.3, "restitution": bounce, "touches": False}
        b.contact(foot(f"{name}_c", name, 0.0, 0.0, plane=pole, **law))
    start = {"sleeve.position": 0.0, "tilt.angle": -(rM - rO) / hM, "nod.angle": -0.2788}
    start |= {"sleeve.speed": -0.3411, "tilt.rate": 0.0, "nod.rate": -7.4583}
    run = ns.simulate(compiled(b), duration=0.29998, start=start, **TIGHT)
    assert run["sleeve.position"][-1] == pytest.approx(-0.04132223, abs=1e-8)
    assert run["nod.angle"][-1] == pytest.approx(-0.3422070, abs=1e-7)
    assert len(run.contact_events) == 18
    assert all(e.loss >= 0 for e in run.contact_events)
    assert run.energy_drift < 1e-8
