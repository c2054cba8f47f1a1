"""Bodies on curved ground are taken by everything else as those on planes are."""

import re

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

import noslip as ns
from noslip.engines.devices import HostDevice
from noslip.grounds import GridGround
from noslip.model import NumberReader, load_model, model_to_toml

UPRIGHT = {"ball.qw": 1.0, "ball.qx": 0.0, "ball.qy": 0.0, "ball.qz": 0.0}
START = {"ball.x": 0.4, "ball.y": 0.0, "ball.wx": -3.0, "ball.wy": 0.0, "ball.wz": 0.0, **UPRIGHT}


@pytest.fixture(scope="module")
def bowl(system_of):
    return system_of("ball-in-bowl")


def test_small_motions_at_the_bottom_have_their_frequency(bowl):
    """ω² = g s/((1 + k)(1 − s r)): a pendulum of the length 1/s − r."""
    rest = {"ball.x": 0.0, "ball.y": 0.0, "ball.wx": 0.0, "ball.wy": 0.0, "ball.wz": 0.0}
    found = np.sort(ns.linearize(bowl, rest).eigenvalues.imag)
    wanted = np.sqrt(9.81 * 1.2 / (1.4 * (1 - 1.2 * 0.1)))
    assert found[-2:] == pytest.approx([wanted, wanted], rel=1e-9)


def test_derivatives_by_the_form_of_the_ground_are_those_of_differences(bowl):
    settings = {"duration": 0.5, "start": START, "rtol": 1e-12, "atol": 1e-12}
    found = ns.simulate_sensitivities(bowl, with_respect_to=("s",), **settings)
    h = 1e-4
    runs = [ns.simulate(bowl, parameters={"s": 1.2 + d}, **settings) for d in (h, -h)]
    for name in ("ball.x", "ball.z", "touch.x", "ball.wx"):
        difference = (runs[0][name] - runs[1][name]) / (2 * h)
        # a central difference has an error of h²/6 times the third derivative
        assert found[name][:, 0] == pytest.approx(difference, abs=1e-6)


def test_lanes_are_single_runs(bowl):
    s = np.array([0.8, 1.2, 1.5])
    batch = ns.simulate_batch(bowl, duration=1.0, start=START, parameters={"s": s})
    for k, value in enumerate(s):
        run = ns.simulate(
            bowl, duration=1.0, start=START, parameters={"s": float(value)}, samples=2
        )
        assert batch["ball.x"][k] == pytest.approx(run["ball.x"][-1], abs=1e-12)
        assert batch["touch.y"][k] == pytest.approx(run["touch.y"][-1], abs=1e-12)


def test_lanes_end_where_a_ball_lifts():
    b = ns.ModelBuilder(name="dome", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ground, ball = ns.grounds.SphereGround(radius=1.0), ns.surfaces.Ball(radius=0.1)
    b.contact(ns.contacts.Rolling(name="touch", body="ball", wheel=ball, ground=ground))
    system = ns.compile(ns.derive(b.build()))
    first = np.array([0.1, 0.2, 0.3])
    starts = {"ball.x": 1.1 * np.sin(first), "ball.y": 0.0, "ball.z": 1.1 * np.cos(first)}
    batch = ns.simulate_batch(system, duration=10.0, start=starts, rtol=1e-11, atol=1e-11)
    assert batch["ball.z"] / 1.1 == pytest.approx(2 * np.cos(first) / 3.4, abs=1e-8)


@pytest.mark.parametrize("device", ["cpu", HostDevice()], ids=["lanes", "threads"])
def test_lanes_refuse_a_start_that_the_ground_would_have_to_pull(device):
    """Rolling over the top of a dome at a speed v² > g (R + r)."""
    b = ns.ModelBuilder(name="dome", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ground, ball = ns.grounds.SphereGround(radius=1.0), ns.surfaces.Ball(radius=0.1)
    b.contact(ns.contacts.Rolling(name="touch", body="ball", wheel=ball, ground=ground))
    system = ns.compile(ns.derive(b.build()))
    top = {"ball.x": 0.0, "ball.y": 0.0, "ball.z": 1.1, "ball.wx": 0.0, "ball.wz": 0.0}
    fast = np.sqrt(9.81 * 1.1) / 0.1
    slow = ns.simulate_batch(
        system, duration=0.01, start={**top, "ball.wy": 0.99 * fast}, count=2, device=device
    )
    assert slow.success.all()
    for run in (
        lambda: ns.simulate(system, duration=0.01, start={**top, "ball.wy": 1.01 * fast}),
        lambda: ns.simulate_batch(
            system,
            duration=0.01,
            start={**top, "ball.wy": np.array([0.9, 1.01]) * fast},
            device=device,
        ),
    ):
        with pytest.raises(ns.SimulationError, match=r"'touch' would have to pull with 0\.19"):
            run()


def test_rows_that_find_places_are_no_reactions(bowl):
    run = ns.simulate(bowl, duration=0.1, start=START, reactions=True)
    assert not [name for name in run.columns if name.startswith("reaction.touch.closest")]
    assert "residual.touch.closest_1" in run.columns
    assert set(ns.evaluate(bowl, START).multipliers) == {
        f"touch.{part}" for part in ("longitudinal", "lateral", "normal")
    }
    assert run.multipliers[:, 3:] == pytest.approx(np.zeros((len(run.t), 2)), abs=1e-12)


def test_a_ball_circles_in_a_spherical_bowl_as_its_closed_form_says():
    """−(1 + k) Ω² ρ cos θ = g + k a Ω ω_n, with ω_n the spin about the line of centers.

    From I ω̇ = a e_r × m (v̇ − g) and rolling, v = Ω ρ sin θ, with all vectors turning at Ω.
    """
    b = ns.ModelBuilder(name="circling", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ground, ball = ns.grounds.SphereGround(radius=1.0, inside=True), ns.surfaces.Ball(radius=0.1)
    # the axis of the sphere is not that of the world
    plane = ns.contacts.Plane(frame=ns.Placement(position=(0.2, 0.1, 0.0)))
    b.contact(
        ns.contacts.Rolling(name="touch", body="ball", wheel=ball, ground=ground, plane=plane)
    )
    system = ns.compile(ns.derive(b.build()))
    given = {"ball.x": 0.7, "ball.y": 0.1}
    for speed in (2.0, -3.0):
        found = ns.steady(system, given, guess={"ball.z": -0.7, "ball.vy": speed})
        start, Omega = found.start, found.rates["ball.turn_z"]
        e = (start.q[:3] - [0.2, 0.1, 0.0]) / 0.9
        R = rotation(start.q[3:7])
        assert np.linalg.norm(e) == pytest.approx(1.0, rel=1e-12)
        wanted = 9.81 + 0.4 * 0.1 * Omega * (R @ start.v[:3]) @ e
        assert -1.4 * Omega**2 * 0.9 * e[2] == pytest.approx(wanted, rel=1e-9)
        run = ns.simulate(system, duration=1.0, start=start, rtol=1e-11, atol=1e-11)
        assert np.ptp(np.hypot(run["ball.x"] - 0.2, run["ball.y"] - 0.1)) < 1e-9
        turned = np.unwrap(np.arctan2(run["ball.y"] - 0.1, run["ball.x"] - 0.2))
        assert turned[-1] == pytest.approx(Omega, rel=1e-9)


def rotation(quaternion):
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_a_ball_circles_in_a_bowl_of_a_profile_by_newton_and_euler(bowl):
    """I Ω z × ω = −a n × m (−Ω² ρ e + g z), n across the ground, e outwards: all turns at Ω."""
    batch = ns.steady_batch(
        bowl,
        {"ball.x": np.array([0.3, 0.5]), "ball.y": 0.0, "ball.wz": 0.0},
        guess={"ball.wx": -6.0},
    )
    assert batch.is_found.all()
    single = ns.steady(
        bowl, {"ball.x": 0.3, "ball.y": 0.0, "ball.wz": 0.0}, guess={"ball.wx": -6.0}
    )
    assert batch.rates["ball.turn_z"][0] == pytest.approx(single.rates["ball.turn_z"], rel=1e-9)
    up = np.array([0.0, 0.0, 1.0])
    for k, radius in enumerate((0.3, 0.5)):
        start, Omega = batch[k].start, batch.rates["ball.turn_z"][k]
        slope = 1.2 * (start.q[7] if len(start.q) > 7 else 0.0)
        n = np.array([-slope, 0.0, 1.0]) / np.hypot(slope, 1.0)
        omega = rotation(start.q[3:7]) @ start.v[:3]
        assert start.q[:2] == pytest.approx([radius, 0.0], abs=1e-12)
        assert np.cross(omega, 0.1 * n) == pytest.approx([0.0, Omega * radius, 0.0], abs=1e-9)
        force = 9.81 * up - Omega**2 * radius * np.array([1.0, 0.0, 0.0])
        turning = 0.4 * 0.01 * Omega * np.cross(up, omega)
        assert turning == pytest.approx(-0.1 * np.cross(n, force), abs=1e-9)
        run = ns.simulate(bowl, duration=1.0, start=start, rtol=1e-11, atol=1e-11)
        assert np.ptp(np.hypot(run["ball.x"], run["ball.y"])) < 1e-9
        assert np.ptp(run["ball.z"]) < 1e-9


def test_small_motions_about_a_circling_coin_are_those_of_its_linearization(system_of):
    """A tilt rate of ε gives a tilt of ε (exp A t)₁₂ up to ε²."""
    coin = system_of("coin-in-funnel")
    guess = {"coin.yaw": np.pi / 2, "coin.tilt": 1.336}
    guess |= {"coin.spin_rate": -16.0, "coin.yaw_rate": 2.0}
    found = ns.steady(coin, {"rim.x": 0.45, "rim.y": 0.0}, guess=guess)
    line = ns.linearize(coin, found.start)
    assert {c.name for c in line.ignored} == {"coin.yaw", "coin.spin"}
    names = [s.name for s in line.states]
    eps, beside = 1e-5, {**named_state(coin, found), "coin.tilt_rate": 1e-5}
    run = ns.simulate(coin, duration=0.3, start=beside, rtol=1e-12, atol=1e-12, samples=7)
    for t, tilt in zip(run.t, run["coin.tilt"], strict=True):
        flow = expm(t * line.A)[names.index("coin.tilt"), names.index("coin.tilt_rate")]
        # ε² of the second order is 1e-10; the tilt moves by 2e-7
        assert tilt - found.values["coin.tilt"] == pytest.approx(eps * flow, abs=1e-10)


def named_state(system, motion):
    """A start by names, so that one of its values can be changed."""
    names = [c.name for c in system.coordinates]
    places = {n: float(x) for n, x in zip(names, motion.start.q, strict=True)}
    rates = {f"coin.{n}_rate": motion.values[f"coin.{n}_rate"] for n in ("yaw", "tilt", "spin")}
    angles = {"coin.yaw": np.pi / 2, "coin.tilt": motion.values["coin.tilt"], "coin.spin": 0.0}
    return {"rim.x": places["rim.x"], "rim.y": places["rim.y"], **angles, **rates}


def test_a_ball_circles_on_a_dish_that_turns(system_of):
    """Its places on the dish turn against it, although the motion is steady."""
    dish = system_of("ball-on-dish")
    given = {"ball.x": 0.3, "ball.y": 0.0, "dish.rate": 4.0, "ball.wz": 0.0}
    found = ns.steady(dish, given, guess={"ball.wx": -3.0})
    run = ns.simulate(dish, duration=2.0, start=found.start, rtol=1e-11, atol=1e-11)
    assert np.ptp(np.hypot(run["ball.x"], run["ball.y"])) < 1e-9
    assert np.ptp(run["dish.rate"]) < 1e-9
    assert ns.linearize(dish, found.start).residual < 1e-9


def test_a_stone_of_a_profile_rolls_round_the_axis_that_it_is_symmetric_about():
    """Its places on the surface move over it, although the motion is steady."""
    b = ns.ModelBuilder(name="stone", gravity=(0.0, 0.0, -9.81))
    b.body("stone", mass=1.0, inertia=(0.004, 0.004, 0.006))
    angles = ns.joints.Angles(sequence="zxz", names=("yaw", "tilt", "spin"))
    b.joint("stone", ns.joints.Free(angles=angles), parent="world", child="stone")
    wheel = ns.surfaces.RevolvedSurface(profile="0.2*sqrt(1 - (z/0.1)^2)", lower=-0.1, upper=0.1)
    b.contact(ns.contacts.Rolling(name="touch", body="stone", wheel=wheel))
    system = ns.compile(ns.derive(b.build()))
    given = {"stone.tilt": 1.2, "stone.yaw_rate": 2.0}
    guess = {"stone.spin_rate": -3.0}
    found = ns.steady(system, given, guess=guess)
    # the same stone by its support function, which needs no places
    b = ns.ModelBuilder(name="stone", gravity=(0.0, 0.0, -9.81))
    b.body("stone", mass=1.0, inertia=(0.004, 0.004, 0.006))
    b.joint("stone", ns.joints.Free(angles=angles), parent="world", child="stone")
    wheel = ns.surfaces.Ellipsoid(size=(0.2, 0.2, 0.1))
    b.contact(ns.contacts.Rolling(name="touch", body="stone", wheel=wheel))
    other = ns.steady(ns.compile(ns.derive(b.build())), given, guess=guess)
    for name in ("stone.z", "stone.yaw_rate", "stone.spin_rate"):
        assert (found.values | found.rates)[name] == pytest.approx(other.values[name], abs=1e-9)


def test_friction_is_asked_about_the_local_normal(bowl):
    """At rest on the wall: what holds it along the wall over what holds it across."""
    at_rest = {**START, "ball.wx": 0.0}
    found = ns.evaluate(bowl, at_rest)
    run = ns.simulate(bowl, duration=0.01, start=at_rest, reactions=True)
    slope = np.arctan(1.2 * run["touch.x"][0])
    load = run["reaction.touch.normal"][0]
    assert load == pytest.approx(9.81 * np.cos(slope), rel=1e-9)
    along = np.hypot(run["reaction.touch.longitudinal"][0], run["reaction.touch.lateral"][0])
    # a ball that starts to roll down is held back by k/(1 + k) of its weight along the slope
    assert along == pytest.approx(9.81 * np.sin(slope) * 0.4 / 1.4, rel=1e-9)
    audited = ns.audit(bowl, run, friction=0.5)
    assert audited.wheels[0].demand[0] == pytest.approx(along / load, rel=1e-6)
    assert found is not None


def test_what_is_not_steady_is_told(bowl):
    with pytest.raises(ns.SimulationError, match="no steady motion"):
        # a ball that is lifted off its bowl
        ns.steady(bowl, {"ball.x": 0.5, "ball.y": 0.0, "ball.z": 0.5})


@pytest.mark.parametrize("name", ["ball-in-bowl", "spherical-robot", "vehicle-on-hills"])
def test_files_hold_it(name, tmp_path):
    model = ns.load(name)
    path = tmp_path / "model.toml"
    path.write_text(model_to_toml(model))
    assert load_model(path) == model


def test_equations_are_written_with_its_places_as_symbols(bowl):
    text = ns.equations_text(bowl.equations)
    assert "agree with the compiled functions" in " ".join(text.split())
    assert "contact point along x of the ground" in text


def hill(x, y):
    return np.sin(x) * np.cos(0.7 * y) + 0.1 * x * y


@pytest.mark.parametrize("derivative", [0, 1, 2])
def test_a_grid_converges_with_the_order_of_its_spline_across_cells(derivative):
    """The error of a quintic spline and its derivatives falls with h to the 6th, 5th and 4th."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    exact = ca.sin(x) * ca.cos(0.7 * y) + 0.1 * x * y
    rng = np.random.default_rng(1)
    places = rng.uniform(0.5, 4.5, size=(2, 400))
    errors = []
    for count in (21, 41):
        line = np.linspace(0.0, 5.0, count)
        ground = GridGround.from_points(line, line, hill(line[None, :], line[:, None]))
        error = ground.elevation(x, y, NumberReader({})) - exact
        for _ in range(derivative):
            error = ca.jacobian(error, x)
        # half of the places are on borders of cells
        places[0, ::2] = np.round(places[0, ::2] * 20 / 5) * 5 / 20
        values = ca.Function("e", [x, y], [error]).map(400)(places[:1], places[1:])
        errors.append(np.abs(np.array(values)).max())
    order = np.log2(errors[0] / errors[1])
    assert order > 6 - derivative - 0.35


def test_a_paraboloid_as_a_grid_is_the_paraboloid():
    """A quintic spline holds it exactly, so that the motions agree to rounding."""
    line = np.arange(-2.0, 2.01, 0.5)
    grid = GridGround.from_points(line, line, 0.3 * (line[None, :] ** 2 + line[:, None] ** 2))
    runs = []
    for ground in (grid, ns.grounds.HeightGround(z="0.3*(x^2 + y^2)")):
        b = ns.ModelBuilder(name="bowl", gravity=(0.0, 0.0, -9.81))
        b.body("ball", mass=1.0, inertia=(0.004, 0.005, 0.006))
        b.joint("ball", ns.joints.Free(), parent="world", child="ball")
        wheel = ns.surfaces.Disk(radius=0.1, axis=(0.0, 1.0, 0.0))
        b.contact(ns.contacts.Rolling(name="touch", body="ball", wheel=wheel, ground=ground))
        system = ns.compile(ns.derive(b.build()))
        runs.append(ns.simulate(system, duration=1.0, start=START, rtol=1e-12, atol=1e-12))
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-9)


@pytest.fixture(scope="module")
def rough():
    """A ball on 300 by 300 random heights, where the fifth derivative jumps at all borders."""
    rng = np.random.default_rng(3)
    line = 0.1 * (np.arange(300) - 150)
    ground = GridGround.from_points(line, line, 2e-4 * rng.normal(size=(300, 300)))
    b = ns.ModelBuilder(name="rough", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass="m", inertia=(0.004, 0.004, 0.004))
    b.parameter("m", 1.0, "kg", "mass")
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    ball = ns.surfaces.Ball(radius=0.1)
    b.contact(
        ns.contacts.Rolling(name="touch", body="ball", wheel=ball, ground=ground, lift="keep")
    )
    return ns.compile(ns.derive(b.build()))


ROLLING = {"ball.x": 0.0, "ball.y": 0.0, "ball.wx": -3.0, "ball.wy": 10.0, "ball.wz": 0.5}


@pytest.fixture(scope="module")
def over_cells(rough):
    """A run over thirteen borders of cells, to rounding."""
    return ns.simulate(rough, duration=1.0, start=ROLLING, rtol=1e-14, atol=1e-14, samples=3)


def test_integration_keeps_its_order_across_borders_of_cells(rough, over_cells):
    errors = []
    for steps in (100, 200, 400):
        run = ns.simulate(
            rough, duration=1.0, start=ROLLING, method="rk4", step=1 / steps, samples=3
        )
        errors.append(np.abs(run.q - over_cells.q).max())
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([4, 4], abs=0.1)
    run = ns.simulate(rough, duration=1.0, start=ROLLING, rtol=1e-11, atol=1e-11, samples=3)
    # 128 steps with errors of 1e-11 each at most
    assert np.abs(run.q - over_cells.q).max() < 1e-11


def test_lanes_and_threads_of_a_device_look_up_the_same_grid(rough, over_cells):
    starts = {**ROLLING, "ball.wx": np.array([-3.0, -2.0, 1.0])}
    settings = {"duration": 1.0, "start": starts, "rtol": 1e-12, "atol": 1e-12}
    lanes = ns.simulate_batch(rough, **settings)
    assert lanes["ball.x"][0] == pytest.approx(over_cells["ball.x"][-1], abs=1e-9)
    threads = ns.simulate_batch(rough, device=HostDevice(), **settings)
    assert threads["ball.z"] == pytest.approx(lanes["ball.z"], abs=1e-12)


def test_derivatives_of_runs_go_through_the_lookup(rough):
    settings = {"duration": 0.4, "rtol": 1e-12, "atol": 1e-12}
    found = ns.simulate_sensitivities(
        rough, start=ROLLING, with_respect_to=("ball.wy",), samples=2, **settings
    )
    h = 1e-4
    runs = [
        ns.simulate(rough, start={**ROLLING, "ball.wy": 10.0 + d}, samples=2, **settings)
        for d in (h, -h)
    ]
    for name in ("ball.x", "ball.y", "ball.wx"):
        difference = (runs[0][name][-1] - runs[1][name][-1]) / (2 * h)
        # a central difference has an error of h²/6 times the third derivative
        assert found[name][-1, 0] == pytest.approx(difference, abs=1e-6)
    adjoint = ns.gradient(
        rough, with_respect_to=("ball.wy",), terminal="ball.y", start=ROLLING, **settings
    )
    assert adjoint.derivatives["ball.wy"] == pytest.approx(found["ball.y"][-1, 0], abs=1e-9)


def test_five_formulations_agree_on_a_grid(rough):
    assert ns.verify(rough.model, states=2).holds


def test_equations_on_a_grid_are_written_with_its_slopes():
    """Also where orientation is given by named angles, and places of contacts come behind it."""
    line = 0.5 * np.arange(-4, 5)
    ground = GridGround.from_points(line, line, 0.1 * line[None, :] ** 2 + 0.05 * line[:, None])
    b = ns.ModelBuilder(name="coin", gravity=(0.0, 0.0, -9.81))
    b.body("coin", mass=1.0, inertia=(0.004, 0.008, 0.004))
    angles = ns.joints.Angles(sequence="zxy", names=("yaw", "lean", "roll"))
    b.joint("coin", ns.joints.Free(angles=angles), parent="world", child="coin")
    disk = ns.surfaces.Disk(radius=0.1, axis=(0.0, 1.0, 0.0))
    b.contact(ns.contacts.Rolling(name="touch", body="coin", wheel=disk, ground=ground))
    text = ns.equations_text(ns.derive(b.build()))
    assert "agree with the compiled functions" in " ".join(text.split())
    assert re.search(r"h\d*_x²?\(x_touch, y_touch\)", text)


RANGES = {"u_range": (-1.0, 1.0), "v_range": (-1.0, 1.0)}


def profile(text, lower=-0.1, upper=0.1):
    return ns.surfaces.RevolvedSurface(profile=text, lower=lower, upper=upper)


def parametric(*position):
    return ns.surfaces.ParametricSurface(position=position, **RANGES)


@pytest.mark.parametrize(
    "position",
    [
        ("0.3*cos(u)*cos(v)", "0.1*sin(u)*cos(v)", "0.02*sin(v)"),
        ("(0.2 + 0.05*cos(v))*cos(u)", "(0.2 + 0.05*cos(v))*sin(u)", "0.05*sin(v)"),
        ("0.1*v*cos(u)", "0.1*v*sin(u)", "v^2"),
    ],
    ids=["thin stone", "torus", "bowl"],
)
def test_surfaces_that_close_and_have_poles_do_not_pass_through_themselves(position):
    b = ns.ModelBuilder(name="whole", gravity=(0.0, 0.0, -9.81))
    b.body("stone", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("stone", ns.joints.Free(), parent="world", child="stone")
    pi = np.pi
    v_range = (-pi, pi) if "0.2 +" in position[0] else (-pi / 2, pi / 2)
    wheel = ns.surfaces.ParametricSurface(
        position=position,
        u_range=(-pi, pi),
        v_range=(0.0, 1.0) if "v^2" in position[2] else v_range,
    )
    b.contact(ns.contacts.Rolling(name="touch", body="stone", wheel=wheel))
    assert b.build() is not None


def faults_of(**contact):
    b = ns.ModelBuilder(name="faulty", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    given = {"name": "touch", "body": "ball", "wheel": ns.surfaces.Ball(radius=0.1), **contact}
    b.contact(ns.contacts.Rolling(**given))
    with pytest.raises(ns.ModelError) as raised:
        b.build()
    return raised.value.faults


@pytest.mark.parametrize(
    ("contact", "what"),
    [
        ({"ground": ns.grounds.HeightGround(z="abs(x)")}, "abs() has a kink"),
        ({"ground": ns.grounds.HeightGround(z="x + w")}, "'w'"),
        ({"ground": ns.grounds.SphereGround(radius=-1.0)}, "radius"),
        ({"ground": GridGround(heights=(0.0,) * 36, columns=5, step=1.0)}, "rows of 5"),
        ({"ground": GridGround(heights=(0.0,) * 37, columns=6, step=1.0)}, "no whole number"),
        ({"ground": GridGround(heights=(float("nan"),) * 36, columns=6, step=1.0)}, "nan"),
        ({"ground": ns.grounds.HeightGround(z="x^2"), "name": "ball"}, "a joint of the same name"),
        ({"lift": "fly"}, "lift"),
        ({"wheel": ns.surfaces.Ellipsoid(size=(0.1, -0.1, 0.1))}, "size"),
        (
            {
                "wheel": ns.surfaces.ParametricSurface(
                    position=("u", "v", "0.1"), u_range=(1.0, 0.0), v_range=(0.0, 1.0)
                )
            },
            "u_range",
        ),
        ({"wheel": profile("min(0.1, 0.2 + z)")}, "min() has a kink"),
        ({"wheel": profile("z")}, "the radius -0.0975 m at z = -0.0975 m"),
        ({"wheel": profile("sqrt(z^2 - 0.0025)")}, "no radius at z = -0.0475 m"),
        ({"wheel": profile("0.1", lower=0.1, upper=-0.1)}, "from z = 0.1 to -0.1 m"),
        ({"wheel": parametric("u", "v", "abs(u)")}, "abs() has a kink"),
        ({"wheel": parametric("sqrt(u)", "v", "u*v")}, "no point or no slope at u = -0.958"),
        ({"wheel": parametric("u", "u", "u")}, "no normal at"),
        ({"wheel": parametric("0.1*cos(3*u)", "0.1*sin(6*u)", "v")}, "passes through itself"),
        (
            {"ground": ns.grounds.ParametricGround(position=("u", "v", "abs(u)"), **RANGES)},
            "abs() has a kink",
        ),
        (
            {"ground": ns.grounds.ParametricGround(position=("u", "v", "sqrt(u)"), **RANGES)},
            "no point or no slope",
        ),
        ({"ground": ns.grounds.HeightGround(z="sqrt(x - 5)")}, "no value anywhere"),
        (
            {"ground": ns.grounds.RevolvedGround(z="r^2", extent=1.0, inner=2.0)},
            "from the radius 2 to 1 m",
        ),
    ],
)
def test_faults_are_told(contact, what):
    faults = faults_of(**contact)
    assert any(what in fault.what for fault in faults), [fault.what for fault in faults]


def test_a_grid_with_unequal_steps_is_refused():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.5])
    with pytest.raises(ns.ModelError, match="not uniform"):
        GridGround.from_points(x, x, np.zeros((6, 6)))


def test_a_body_that_does_not_touch_at_the_start_is_told_how_far(bowl):
    given = {"ball.x": 0.0, "ball.y": 0.0, "ball.z": 0.5}
    with pytest.raises(ns.SimulationError, match=r"'touch.normal' by 0\.4"):
        ns.simulate(bowl, duration=1.0, start=given)
