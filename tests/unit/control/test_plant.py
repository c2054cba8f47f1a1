"""A plant that the controller does not know: closed forms, statistics of noise, actuators."""

import math

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_lyapunov
from small_mechanisms import cart

import noslip as ns
from noslip.model import parse_force
from noslip.show.plots import panels
from noslip.simulation.loop.steps import normals

M, D = 2.0, 0.5
KP, KD = 9.0, 6.0
PERIOD = 0.05


@pytest.fixture(scope="module")
def system():
    return ns.compile(ns.derive(cart()))


def held(system, plant, period=0.0, **options):
    """The cart, led to 1 m by proportional and derivative feedback, 4 s."""
    return ns.follow(
        system,
        ns.motions.ExpressionMotion(coordinates={"cart.position": 1.0}),
        controller=ns.ControlLoop(
            controller=ns.controllers.ProportionalDerivative(kp=(KP,), kd=(KD,)), period=period
        ),
        plant=plant,
        **{"duration": 4.0, "start": {"cart.position": 0.0}, "rtol": 1e-11, "atol": 1e-11}
        | options,
    )


def test_a_wrong_mass_under_pd_has_a_closed_form(system):
    """m ẍ + (d + kd) ẋ + kp (x − 1) = 0 with the plant's m and d."""
    m, d = 3.5, 1.1
    run = held(system, ns.Plant(parameters={"m": m, "d": d}))
    A = np.array([[0.0, 1.0], [-KP / m, -(d + KD) / m]])
    for k in (0, 150, 400, 600):
        x = expm(A * run.t[k]) @ [-1.0, 0.0]
        assert abs(run["cart.position"][k] - 1.0 - x[0]) < 1e-9
        assert abs(run["cart.speed"][k] - x[1]) < 1e-9


def test_a_push_and_a_slope_leave_the_cart_where_the_spring_of_pd_balances_them(system):
    """At rest kp (1 − x) + F + m g_x = 0, g_x along the slope; the controller knows of neither."""
    push = parse_force(system.model, "type='wrench', body='cart', force=['2 + 0*t', 0, 0]")
    assert push == ns.forces.Wrench(name="push1", body="cart", force=("2 + 0*t", 0.0, 0.0))
    for plant, force in (
        (ns.Plant(forces=(push,)), 2.0),
        (ns.Plant(gravity=(-0.7, 0.0, -9.7)), -0.7 * M),
        (ns.Plant(forces=(push,), gravity=(-0.7, 0.0, -9.7)), 2.0 - 0.7 * M),
    ):
        run = held(system, plant, duration=40.0)
        assert abs(run["cart.position"][-1] - 1.0 - force / KP) < 1e-9
        assert plant.driven(system) is plant.driven(system)  # compiled once
        # of the system in hand, or of the plant's: the same forces
        ours, theirs = (ns.reactions(s, run)[0].force for s in (system, plant.driven(system)))
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ns.ModelError, match="'wagon'"):
        parse_force(system.model, "type='wrench', body='wagon'")
    with pytest.raises(ns.ModelError, match="cannot be read"):
        parse_force(system.model, "wrench on the cart")


def test_what_the_controller_saw_wanted_and_got_are_columns(system):
    """Continuous: F_wanted = kp (1 − x − bias) − kd v of what is seen, lag ḟ = (F_wanted − f)/T."""
    plant = ns.Plant(
        sensors=(ns.Sensor(of="cart.position", bias=0.1),),
        actuators=(ns.Actuator(of="F", lag=0.2),),
    )
    run = held(system, plant, samples=4001)
    x, v, seen = run["cart.position"], run["cart.speed"], run["seen.cart.position"]
    assert np.max(np.abs(seen - x - 0.1)) < 1e-12
    assert np.max(np.abs(run["wanted.F"] - KP * (1 - seen) + KD * v)) < 1e-8
    assert np.array_equal(run["got.F"], run["F"])
    got, wanted, h = run["got.F"], run["wanted.F"], run.t[1]
    slope = (8 * (got[3:-1] - got[1:-3]) - (got[4:] - got[:-4])) / (12 * h)
    assert np.max(np.abs(slope - (wanted - got)[2:-2] / 0.2)) < 1e-6
    sampled = held(system, ns.Plant(), period=PERIOD)
    assert {"sampled.cart.position", "wanted.F", "got.F"} <= set(sampled.columns)
    named = panels.signal_panels(run)
    assert [p.name for p in named] == ["cart.position", "F"]
    labels = [curve.label for curve in named[0].curves]
    assert labels == ["seen", "true", "reference"]
    assert [curve.label for curve in named[1].curves] == ["wanted", "got"]
    with pytest.raises(ns.SimulationError, match="measures everything exactly"):
        ns.plot(held(system, None), "signals")


def _discrete(m, d, period=PERIOD):
    """x⁺ = A x + B u of the cart under a hold."""
    A = np.array([[0.0, 1.0, 0.0], [0.0, -d / m, 1 / m], [0.0, 0.0, 0.0]])
    E = expm(A * period)
    return E[:2, :2], E[:2, 2:]


def test_a_sampled_loop_with_bias_quantum_and_delay_is_its_recursion(system):
    """Closed form by the exact discretization: seen = round((x + bias)/q) q, two samples late."""
    m, d, bias, quantum = 2.6, 0.8, 0.03, 0.01
    plant = ns.Plant(
        parameters={"m": m, "d": d},
        sensors=(ns.Sensor(of="cart.position", bias=bias, quantum=quantum, delay=2),),
    )
    run = held(
        system, plant, period=PERIOD, samples=np.arange(0, 41) * PERIOD + 0.5 * PERIOD, duration=2.1
    )
    A, B = _discrete(m, d)
    half_A, half_B = _discrete(m, d, PERIOD / 2)
    x, line = np.array([0.0, 0.0]), None
    for k in range(41):
        new = quantum * math.floor((x[0] + bias) / quantum + 0.5)
        line = [new, new] if line is None else line
        seen, line = line[0], [line[1], new]
        u = KP * (1.0 - seen) - KD * x[1]
        middle = half_A @ x + half_B[:, 0] * u
        assert abs(run["seen.cart.position"][k] - seen) < 1e-12
        assert abs(run["wanted.F"][k] - u) < 1e-8
        assert abs(run["cart.position"][k] - middle[0]) < 1e-9
        x = A @ x + B[:, 0] * u


def test_noise_is_drawn_from_seed_run_channel_and_sample(system):
    sensors = (ns.Sensor(of="cart.position", sigma=0.02), ns.Sensor(of="cart.speed", density=0.01))
    times = np.arange(0, 20) * PERIOD + 0.01
    runs = [
        held(
            system,
            ns.Plant(sensors=sensors, seed=4, run=k),
            period=PERIOD,
            samples=times,
            duration=1.0,
        )
        for k in (0, 0, 1)
    ]
    assert np.array_equal(runs[0]["cart.position"], runs[1]["cart.position"])
    assert not np.array_equal(runs[0]["cart.position"], runs[2]["cart.position"])
    # what is seen at the start, whose true values are 0, is the noise alone
    for k, run in ((0, runs[0]), (1, runs[2])):
        assert run["seen.cart.position"][0] == pytest.approx(0.02 * normals(4, k, 0, 0), rel=1e-12)
        sigma = 0.01 / math.sqrt(PERIOD)  # of white noise of this density, sampled
        assert run["seen.cart.speed"][0] == pytest.approx(sigma * normals(4, k, 1, 0), rel=1e-12)


def test_the_variance_of_a_noisy_loop_is_that_of_lyapunovs_equation(system):
    """1000 runs of a batch: P = A_c P A_cᵀ + B K R Kᵀ Bᵀ, within four standard errors."""
    sigma, count = 0.05, 1000
    plant = ns.Plant(sensors=(ns.Sensor(of="cart.position", sigma=sigma),), seed=11)
    law = held_law(system, plant)
    batch = ns.simulate_batch(
        system,
        duration=6.0,
        start={"cart.position": np.full(count, 1.0)},
        inputs=law,
        columns=["cart.position", "cart.speed"],
    )
    A, B = _discrete(M, D)
    K = np.array([[KP, KD]])
    closed = A - B @ K
    P = solve_discrete_lyapunov(closed, (B * KP) @ (B * KP).T * sigma**2)
    x = np.column_stack([batch.final["cart.position"] - 1.0, batch.final["cart.speed"]])
    found = x.T @ x / count
    # standard error of a sample variance of a normal distribution
    assert np.max(np.abs(np.diag(found) / np.diag(P) - 1)) < 4 * math.sqrt(2 / count)
    assert np.max(np.abs(x.mean(axis=0) / np.sqrt(np.diag(P)))) < 4 / math.sqrt(count)


def held_law(system, plant):
    from noslip.control.closed_loop import Tracking
    from noslip.control.reference_motion import reference_motion
    from noslip.control.true_plant import PlantLaw

    motion = ns.motions.ExpressionMotion(coordinates={"cart.position": 1.0})
    wanted = reference_motion(system, motion)
    law = Tracking(
        motion=motion,
        controller=ns.controllers.ProportionalDerivative(kp=(KP,), kd=(KD,)),
        reference_start=wanted.start.q,
        limits={},
    )
    return PlantLaw(model=system, law=law, known=system.parameters(), plant=plant, period=PERIOD)


def test_lag_and_dead_zone_have_closed_forms(system):
    """A lag adds a state: ḟ = (u − f)/τ; a dead zone leaves it where no force arrives."""
    lag = 0.3
    run = held(system, ns.Plant(actuators=(ns.Actuator(of="F", lag=lag),)))
    A = np.array([[0.0, 1.0, 0.0], [0.0, -D / M, 1 / M], [-KP / lag, -KD / lag, -1 / lag]])
    for k in (100, 600):
        assert abs(run["cart.position"][k] - 1 - (expm(A * run.t[k]) @ [-1.0, 0.0, 0.0])[0]) < 1e-8
    stuck = held(system, ns.Plant(actuators=(ns.Actuator(of="F", dead_zone=0.9),)), duration=60.0)
    assert 0.001 < abs(stuck["cart.position"][-1] - 1) <= 0.9 / KP and stuck["F"][-1] == 0.0
    # F is what is wanted, less the zone
    wanted = KP * (1 - stuck["cart.position"]) - KD * stuck["cart.speed"]
    arrived = np.sign(wanted) * np.maximum(np.abs(wanted) - 0.9, 0.0)
    assert np.max(np.abs(stuck["F"] - arrived)) < 1e-9


def test_saturation_rate_limits_and_backlash_hold_in_a_sampled_loop(system):
    largest, fastest = 2.0, 10.0
    limited = ns.Actuator(of="F", largest=largest, fastest=fastest)
    run = held(system, ns.Plant(actuators=(limited,)), period=PERIOD, duration=8.0, samples=1601)
    assert np.max(np.abs(run["F"])) <= largest + 1e-9
    assert np.max(np.abs(np.diff(run["F"]) / np.diff(run.t))) <= fastest * (1 + 1e-6)
    assert np.max(np.abs(run["wanted.F"])) > largest and abs(run["cart.position"][-1] - 1) < 0.02
    width = 0.6
    play = held(
        system,
        ns.Plant(actuators=(ns.Actuator(of="F", backlash=width),)),
        period=PERIOD,
        duration=8.0,
    )
    gap = play["wanted.F"] - play["F"]
    assert np.max(np.abs(gap)) <= width / 2 + 1e-12 and np.ptp(gap) > 0.9 * width


def test_a_push_comes_from_a_plant_with_an_input_of_its_own(system):
    """m ẍ = F + P: a constant push leaves P/kp."""
    b = ns.ModelBuilder(name="pushed", gravity=(0.0, 0.0, 0.0))
    b.parameter("m", M, "kg")
    b.parameter("d", D, "N*s/m")
    b.body("cart", mass="m", inertia=(1.0, 1.0, 1.0))
    b.joint("cart", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="cart")
    b.force(ns.forces.JointDamper(name="damper", speed="cart.speed", damping="d"))
    for name in ("F", "push"):
        b.input(name, "N")
        b.force(ns.forces.Motor(name=f"motor_{name}", speed="cart.speed", input=name))
    pushed = ns.compile(ns.derive(b.build()))
    run = held(system, ns.Plant(system=pushed, disturbances={"push": "0.45"}), duration=40.0)
    assert abs(run["cart.position"][-1] - (1 + 0.45 / KP)) < 1e-6
    assert np.max(np.abs(run["push"] - 0.45)) < 1e-12


def test_a_heavy_noisy_vehicle_is_led_along_its_path(system_of):
    """Fifty kilograms more, a noisy late pose, motors that saturate: it stays on its circle."""
    agv = system_of("agv")
    plant = ns.Plant(
        parameters={"m_platform": 60.0},
        start={"platform.x": 2.1},
        sensors=(
            ns.Sensor(of="platform.x", sigma=0.005, delay=1),
            ns.Sensor(of="platform.y", sigma=0.005, delay=1),
        ),
        actuators=(ns.Actuator(of="torque1", largest=0.4), ns.Actuator(of="torque2", largest=0.4)),
        seed=1,
    )
    run = ns.track(
        agv,
        ns.paths.Circle(radius=2.0),
        timing=ns.timing.ConstantSpeed(0.3),
        controller=ns.ControlLoop(controller="pose", period=0.02),
        plant=plant,
        duration=30.0,
    )
    assert run.path_errors.distance[0] > 0.09 and not run.path_errors.lost
    # at 0.3 m/s a sample of 0.02 s is 6 mm late, 40 kg more are 36 mm (the law has no integral)
    assert np.max(run.path_errors.distance[-100:]) < 0.06
    assert np.std(run["seen.platform.x"] - run["platform.x"]) > 0.003


@pytest.mark.parametrize(
    ("plant", "what"),
    [
        (ns.Plant(sensors=(ns.Sensor(of="cart.positon"),)), "no 'cart.positon' for sensors"),
        (ns.Plant(actuators=(ns.Actuator(of="G"),)), "no 'G' for actuators"),
        (ns.Plant(disturbances={"F": "1"}), "the controller uses it too"),
        (ns.Plant(sensors=(ns.Sensor(of="cart.speed", sigma=0.1),)), "belong to sampled signals"),
        (ns.Plant(sensors=(ns.Sensor(of="cart.speed", delay=1),)), "belong to sampled signals"),
        (ns.Plant(actuators=(ns.Actuator(of="F", backlash=0.1),)), "belong to sampled signals"),
        (ns.Plant(sensors=(ns.Sensor(of="cart.speed"),) * 2), "two sensors"),
    ],
)
def test_what_a_plant_cannot_be_is_refused(system, plant, what):
    with pytest.raises(ns.SimulationError, match=what) as caught:
        held(system, plant)
    assert "cart" in caught.value.where and caught.value.fix


@pytest.mark.parametrize(
    "make",
    [
        lambda: ns.Sensor(of="x", sigma=-1.0),
        lambda: ns.Sensor(of="x", sigma=1.0, density=1.0),
        lambda: ns.Sensor(of="x", delay=0.5),
        lambda: ns.Sensor(of="x", delay=10_001),
        lambda: ns.Sensor(of="x", delay=10**9),
        lambda: ns.Sensor(of="x", delay=10**30),
        lambda: ns.Sensor(of="x", every=0),
        lambda: ns.Sensor(of="x", bias=math.inf),
        lambda: ns.Actuator(of="F", lag=-0.1),
        lambda: ns.Actuator(of="F", largest=0.0),
    ],
)
def test_sizes_that_sensors_and_actuators_cannot_have_are_refused(make):
    with pytest.raises(ns.SimulationError) as caught:
        make()
    assert "of=" in caught.value.where or "argument of Sensor" in caught.value.where


def test_derivatives_of_noise_are_refused(system):
    plant = ns.Plant(sensors=(ns.Sensor(of="cart.position", sigma=0.1),))
    with pytest.raises(ns.SimulationError, match="random numbers cannot be differentiated"):
        ns.gradient(
            system,
            duration=1.0,
            terminal="cart.position",
            with_respect_to=["m"],
            inputs=held_law(system, plant),
        )
