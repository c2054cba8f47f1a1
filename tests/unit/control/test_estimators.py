"""The extended Kalman filter: the linear filter, Riccati values, exact derivatives, consistency."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are
from scipy.stats import chi2
from small_mechanisms import cart

import noslip as ns
from noslip import PlantLaw
from noslip.control import parse_sensor
from noslip.control.estimators import KalmanFilter
from noslip.control.reference_motion import reference_motion
from noslip.controllers import Tracking

M, D, PERIOD = 2.0, 0.5, 0.05
POSITION, FORCE = 0.02, 0.5  # standard deviations of sensor and motor, m and N
KP, KD = 9.0, 6.0


@pytest.fixture(scope="module")
def system():
    return ns.compile(ns.derive(cart()))


def discrete(steps=1):
    """F and G of the filter's Runge–Kutta steps for the cart."""
    A, B, h = np.array([[0.0, 1.0], [0.0, -D / M]]), np.array([[0.0], [1 / M]]), PERIOD / steps
    powers = [np.linalg.matrix_power(h * A, k) / math.factorial(k) for k in range(5)]
    F, G = sum(powers), h * sum(p / (k + 1) for k, p in enumerate(powers[:4])) @ B
    for_all_F, for_all_G = np.eye(2), np.zeros((2, 1))
    for _ in range(steps):
        for_all_F, for_all_G = F @ for_all_F, F @ for_all_G + G
    return for_all_F, for_all_G


def white_noise(A, D, period=PERIOD):
    """∫ e^{As} D e^{Aᵀs} ds over a period, and e^{A period}: Van Loan's exponential."""
    n = len(A)
    both = expm(period * np.block([[-A, D], [np.zeros((n, n)), A.T]]))
    return both[n:, n:].T @ both[:n, n:], both[n:, n:].T


def law(system, motion, controller, plant, period, believed=None):
    """A controller along a motion, closed round a plant, for single runs and batches."""
    wanted = reference_motion(system, motion)
    start = np.concatenate([wanted.start.q, wanted.start.eta])
    inner = Tracking(
        motion=motion, controller=controller, reference_start=wanted.start.q, limits={}
    )
    made = PlantLaw(
        model=system,
        law=inner,
        known=wanted.parameters,
        plant=plant,
        period=period,
        believed=start if believed is None else believed,
    )
    return made, start


def held_cart(system, plant, kp=KP, kd=KD):
    motion = ns.motions.ExpressionMotion(coordinates={"cart.position": 0.0})
    controller = ns.controllers.ProportionalDerivative(kp=(kp,), kd=(kd,))
    return law(system, motion, controller, plant, PERIOD)[0]


def noisy_cart(**changes):
    given = {
        "sensors": (ns.Sensor(of="cart.position", sigma=POSITION),),
        "actuators": (ns.Actuator(of="F", sigma=FORCE),),
        "estimator": ns.sensors.ExtendedKalman(
            start_sigma={"cart.position": 0.1, "cart.speed": 0.3}
        ),
        "seed": 3,
    }
    return ns.Plant(**given | changes)


@pytest.mark.parametrize("steps", [1, 3])
def test_on_a_linear_plant_it_is_the_kalman_filter(system, steps):
    """Estimate, covariance, innovations and commands of every sample, to rounding; multi-rate."""
    sensors = (
        ns.Sensor(of="cart.position", sigma=POSITION),
        ns.Sensor(of="cart.speed", sigma=0.1, every=3, quantum=0.05),
    )
    sigma = {"cart.position": 0.1, "cart.speed": 0.3}
    filter_ = ns.sensors.ExtendedKalman(start_sigma=sigma, drift={"cart.speed": 0.2}, steps=steps)
    run = ns.simulate(
        system,
        duration=5.0,
        start={"cart.position": 0.15, "cart.speed": -0.2},
        inputs=held_cart(system, noisy_cart(sensors=sensors, estimator=filter_)),
        samples=np.arange(100) * PERIOD + PERIOD / 2,
    )
    F, G = discrete(steps)
    R = np.diag([POSITION**2, 0.1**2 + 0.05**2 / 12])
    Q, _ = white_noise(np.array([[0.0, 1.0], [0.0, -D / M]]), np.diag([0.0, 0.2**2]))
    x, P, u = np.zeros(2), np.diag([0.1**2, 0.3**2]), 0.0
    for k in range(100):
        if k:
            x = F @ x + G[:, 0] * u
            P = F @ P @ F.T + G @ G.T * FORCE**2 + Q
        rows = [0, 1] if k % 3 == 0 else [0]
        H = np.eye(2)[rows]
        y = np.array([run[f"measured.cart.{name}"][k] for name in ("position", "speed")])[rows]
        S = H @ P @ H.T + R[np.ix_(rows, rows)]
        nu = y - H @ x
        K = P @ H.T @ np.linalg.inv(S)
        x, P = x + K @ nu, P - K @ S @ K.T
        u = -KP * x[0] - KD * x[1]
        assert run["estimate.cart.position"][k] == pytest.approx(x[0], abs=1e-12)
        assert run["estimate.cart.speed"][k] == pytest.approx(x[1], abs=1e-12)
        assert run["covariance.cart.position,cart.speed"][k] == pytest.approx(P[0, 1], abs=1e-14)
        assert run["covariance.cart.speed,cart.speed"][k] == pytest.approx(P[1, 1], abs=1e-14)
        assert run["nis"][k] == pytest.approx(nu @ np.linalg.solve(S, nu), rel=1e-9)
        assert run["nis_count"][k] == len(rows)
        assert run["wanted.F"][k] == pytest.approx(u, abs=1e-11)
        e = np.array([run["estimate_error.cart.position"][k], run["estimate_error.cart.speed"][k]])
        assert run["nees"][k] == pytest.approx(e @ np.linalg.solve(P, e), rel=1e-9)


def test_late_values_and_a_bias_are_those_of_a_kalman_filter_with_a_longer_state(system):
    """The closed form keeps past states instead: z = (x_k, x_k−1, x_k−2), to rounding.

    A late value is one of the past states there, so nothing is repeated, and P of all of them says
    what it tells of now.
    """
    late, drift, bias = 2, 0.03, 0.4
    sensors = (
        ns.Sensor(of="cart.position", sigma=POSITION, every=2, delay=late),
        ns.Sensor(of="cart.speed", sigma=0.1, bias_sigma=bias, bias=0.1, delay=1),
    )
    filter_ = ns.sensors.ExtendedKalman(
        start_sigma={"cart.position": 0.1, "cart.speed": 0.3},
        drift={"bias.cart.speed": drift},
    )
    run = ns.simulate(
        system,
        duration=5.0,
        start={"cart.position": 0.15, "cart.speed": -0.2},
        inputs=held_cart(system, noisy_cart(sensors=sensors, estimator=filter_)),
        samples=np.arange(100) * PERIOD + PERIOD / 2,
    )
    F, G = discrete()
    move = np.zeros((9, 9))
    move[:2, :2], move[2, 2] = F, 1.0
    move[3:, :6] = np.eye(6)
    push = np.vstack([G, np.zeros((7, 1))])
    extra = np.diag([0, 0, drift**2 * PERIOD, *[0] * 6])
    z, P, u = np.zeros(9), np.diag([0.1**2, 0.3**2, bias**2, *[0] * 6]), 0.0
    for k in range(100):
        if k:
            z = move @ z + push[:, 0] * u
            P = move @ P @ move.T + push @ push.T * FORCE**2 + extra
        rows, R, y = [], [], []
        if k >= late and (k - late) % 2 == 0:
            rows.append(np.eye(9)[6])  # the position two samples ago
            R.append(POSITION**2)
            y.append(run["measured.cart.position"][k])
        if k >= 1:
            rows.append(np.eye(9)[4] + np.eye(9)[5])  # speed and bias one sample ago
            R.append(0.1**2)
            y.append(run["measured.cart.speed"][k])
        if rows:
            H, noise = np.array(rows), np.diag(R)
            S = H @ P @ H.T + noise
            nu = np.array(y) - H @ z
            K = P @ H.T @ np.linalg.inv(S)
            z, P = z + K @ nu, P - K @ S @ K.T
        u = -KP * z[0] - KD * z[1]
        names = ("cart.position", "cart.speed", "bias.cart.speed")
        for i, name in enumerate(names):
            assert run[f"estimate.{name}"][k] == pytest.approx(z[i], abs=1e-11)
            for j in range(i, 3):
                found = run[f"covariance.{name},{names[j]}"][k]
                assert found == pytest.approx(P[i, j], abs=1e-12)
        assert run["nis_count"][k] == len(rows)
        assert run["wanted.F"][k] == pytest.approx(u, abs=1e-10)
        # the bias of this run, 0.1 and what it drew
        error = run["bias.cart.speed"][k] - run["estimate.bias.cart.speed"][k]
        assert run["estimate_error.bias.cart.speed"][k] == pytest.approx(error, abs=1e-12)
    assert np.ptp(run["bias.cart.speed"]) == 0.0 and abs(run["bias.cart.speed"][0] - 0.1) > 0.01


@pytest.mark.parametrize("period", [PERIOD, 0.4])
def test_the_steady_covariance_under_white_noise_is_that_of_the_exact_riccati_equation(
    system, period
):
    """`drift` on the speed of the cart: Q of the exact exponential, to 1e-8."""
    A, density = np.array([[0.0, 1.0], [0.0, -D / M]]), 0.7
    Q, F = white_noise(A, np.diag([0.0, density**2]), period)
    H = np.array([[1.0, 0.0]])
    before = solve_discrete_are(F.T, H.T, Q, np.array([[POSITION**2]]))
    K = before @ H.T / (before[0, 0] + POSITION**2)
    after = before - K @ H @ before
    filter_ = ns.sensors.ExtendedKalman(drift={"cart.speed": density}, steps=4)
    plant = noisy_cart(estimator=filter_, actuators=())
    motion = ns.motions.ExpressionMotion(coordinates={"cart.position": 0.0})
    controller = ns.controllers.ProportionalDerivative(kp=(1.0,), kd=(2.0,))
    made, _ = law(system, motion, controller, plant, period)
    run = ns.simulate(system, duration=40.0, inputs=made, samples=2)
    names = ("cart.position", "cart.speed")
    for i, j in ((0, 0), (0, 1), (1, 1)):
        found = run[f"covariance.{names[i]},{names[j]}"][-1]
        assert found == pytest.approx(after[i, j], rel=1e-8)


def test_white_noise_of_a_state_on_constraints_is_that_of_its_linearization(system_of):
    """A of (5) against differences of the filter's F over a short period, of a rolling disk."""
    system, short = system_of("rolling-disk"), 2e-4
    begin = ns.complete_start(
        system, {"disk.tilt": 1.1, "disk.yaw_rate": 0.5, "disk.spin_rate": -3.0}
    )
    x = np.concatenate([begin.q, begin.eta])
    sensor = ns.sensors.PoseSensor(body=system.model.bodies[0].name).channels(system)
    made = KalmanFilter(system, ns.sensors.ExtendedKalman(), sensor, short, x)
    drift = {n: 0.1 * (k + 1) for k, n in enumerate(made.names)}
    ekf = KalmanFilter(system, ns.sensors.ExtendedKalman(drift=drift), sensor, short, x)
    _, F, _, Q = (np.array(e) for e in ekf.predict(0.0, x, [], system.parameters()))
    D = np.diag(ekf.density)
    # the trapezoidal rule of ∫ F D Fᵀ: off by T³/12 of the second derivative
    by_ends = short / 2 * (F @ D @ F.T + D)
    A = (F - np.eye(len(F))) / short
    bound = short**3 / 12 * 8 * np.linalg.norm(A) ** 2 * np.linalg.norm(D)
    assert np.abs(Q - by_ends).max() < bound
    assert np.abs(Q - short * D).max() > 20 * bound


@pytest.mark.parametrize("lag", [0.002, 0.04, 0.5])
def test_a_lag_is_in_the_model_of_the_filter(system, lag):
    """The linear filter with the force as a third state, whatever the lag is beside the period."""
    run = ns.simulate(
        system,
        duration=4.0,
        start={"cart.position": 0.15, "cart.speed": -0.2},
        inputs=held_cart(
            system,
            noisy_cart(actuators=(ns.Actuator(of="F", sigma=FORCE, lag=lag, largest=1.0),)),
            kp=2.0,
            kd=2.0,
        ),
        samples=np.arange(80) * PERIOD + PERIOD / 2,
    )
    A = np.array([[0.0, 1.0, 0.0], [0.0, -D / M, 1 / M], [0.0, 0.0, -1 / lag]])
    both = np.zeros((4, 4))
    both[:3, :3], both[2, 3] = A, 1 / lag
    both = expm(PERIOD * both)
    F, G = both[:3, :3], both[:3, 3:]
    x, P, u = np.zeros(3), np.diag([0.1**2, 0.3**2, 0.0]), 0.0
    names = ("cart.position", "cart.speed", "got.F")
    for k in range(80):
        if k:
            x = F @ x + G[:, 0] * np.clip(u, -1.0, 1.0)
            P = F @ P @ F.T + G @ G.T * FORCE**2
        S = P[0, 0] + POSITION**2
        K = P[:, :1] / S
        x, P = x + K[:, 0] * (run["measured.cart.position"][k] - x[0]), P - S * K @ K.T
        u = -2.0 * x[0] - 2.0 * x[1]
        # moments of the force above the second are felt through damping: (D T/M)²/24 = 6.5e-6
        for i, name in enumerate(names):
            assert run[f"estimate.{name}"][k] == pytest.approx(x[i], abs=6.5e-6)
            for j in range(i, 3):
                found = run[f"covariance.{name},{names[j]}"][k]
                assert found == pytest.approx(P[i, j], abs=6.5e-6 * math.sqrt(P[i, i] * P[j, j]))
    assert run["nees_count"][-1] == 3


@pytest.mark.parametrize(
    "actuator",
    [
        {"lag": 0.1},
        {"lag": 0.1, "fastest": 4.0},
        {"fastest": 4.0},
        {"backlash": 0.4},
        {"dead_zone": 0.3, "largest": 0.8},
        {"backlash": 0.2, "dead_zone": 0.1, "largest": 1.0, "lag": 0.03, "fastest": 10.0},
    ],
    ids=lambda a: "+".join(a),
)
def test_without_noise_the_filter_follows_any_actuator(system, actuator):
    """Its model of the actuator is exact: what it believes stays the truth, a value hardly helps.

    Kinks of a rate that is limited, within a step of 1/20 of the period, are what is left.
    """
    plant = noisy_cart(
        sensors=(ns.Sensor(of="cart.position", sigma=100.0),),
        actuators=(ns.Actuator(of="F", **actuator),),
        estimator=ns.sensors.ExtendedKalman(steps=20, input_sigma={"F": 1e-9}),
    )
    motion = ns.motions.ExpressionMotion(coordinates={"cart.position": "sin(3*t)/3 + t*t"})
    controller = ns.controllers.ProportionalDerivative(kp=(KP,), kd=(KD,))
    made, start = law(system, motion, controller, plant, PERIOD)
    run = ns.simulate(
        system,
        duration=3.0,
        start={"cart.position": start[0], "cart.speed": start[1]},
        inputs=made,
    )
    for name in ("position", "speed"):
        assert np.abs(run[f"estimate_error.cart.{name}"]).max() < 2e-5
    plain = run["wanted.F"] - run["got.F"]
    assert np.abs(plain).max() > 0.05


def test_the_cost_of_regulator_and_filter_is_that_of_two_riccati_equations(system):
    """LQG: E[xᵀQx + ru²] = tr(S W) + tr(Kᵀ(r + GᵀSG)K P), over 2000 runs within 4 errors."""
    F, G = discrete()
    Q, r, W = np.diag([4.0, 1.0]), 0.02, G @ G.T * FORCE**2
    S = solve_discrete_are(F, G, Q, np.array([[r]]))
    K = np.linalg.solve(r + G.T @ S @ G, G.T @ S @ F)
    H = np.array([[1.0, 0.0]])
    before = solve_discrete_are(F.T, H.T, W, np.array([[POSITION**2]]))
    gain = before @ H.T / (before[0, 0] + POSITION**2)
    P = before - gain @ H @ before
    cost = np.trace(S @ W) + np.trace(K.T @ (r + G.T @ S @ G) @ K @ P)
    count = 2000
    batch = ns.simulate_batch(
        system,
        duration=4.0,
        count=count,
        start={"cart.position": 0.0},
        inputs=held_cart(system, noisy_cart(), kp=K[0, 0], kd=K[0, 1]),
        columns=["cart.position", "cart.speed", "wanted.F"],
    )
    x = np.column_stack([batch.final[n] for n in ("cart.position", "cart.speed")])
    found = np.sum(x @ Q * x, axis=1) + r * batch.final["wanted.F"] ** 2
    assert abs(found.mean() - cost) < 4 * found.std() / math.sqrt(count)


def pose_filter(system, start):
    """A filter of one body's pose, and its state at a start."""
    begin = ns.complete_start(system, start)
    believed = np.concatenate([begin.q, begin.eta])
    sensor = ns.sensors.PoseSensor(body=system.model.bodies[0].name)
    return KalmanFilter(
        system, ns.sensors.ExtendedKalman(), sensor.channels(system), 0.02, believed
    ), believed


@pytest.mark.parametrize(
    ("name", "start", "size"),
    [
        # 7 coordinates with a quaternion and the height of the rim: 5 + 3
        ("rolling-disk", {"disk.tilt": 1.1, "disk.yaw_rate": 0.5, "disk.spin_rate": -3.0}, 8),
        ("ball-in-bowl", {"ball.wx": 0.7}, 8),
        ("agv", {"wheel1.rate": -3.0, "wheel2.rate": -5.0, "bracket.angle": 0.4}, 9),
    ],
)
def test_errors_live_on_the_constraints_and_move_as_motions_do(system_of, name, start, size):
    """F of (2) against differences of motions that all satisfy the constraints."""
    system = system_of(name)
    ekf, x = pose_filter(system, start)
    assert ekf.size == size == len(ekf.names)
    p, u = system.parameters(), np.zeros(len(system.model.inputs))
    after, F, *_ = (np.array(part) for part in ekf.predict(0.0, x, u, p))
    T, back = np.array(ekf.tangent(0.0, x, p)), np.array(ekf.cotangent(0.0, after, p))
    assert np.abs(np.array(ekf.cotangent(0.0, x, p)) @ T - np.eye(size)).max() < 1e-15
    symbol = ca.SX.sym("x", len(x))
    on_rows = ca.Function("on", [symbol], [ekf.project(ca.SX(0), symbol, ca.SX(ca.DM(p)), 3)])
    h = 1e-5
    for k in range(size):
        ends = [np.array(on_rows(x + s * h * T[:, k])).ravel() for s in (1, -1)]
        moved = [np.array(ekf.predict(0.0, end, u, p)[0]).ravel() for end in ends]
        # differences of second order: h² and rounding over h
        assert np.abs(back @ (moved[0] - moved[1]) / (2 * h) - F[:, k]).max() < 1e-9


def test_a_correction_stays_on_the_constraints(system_of):
    system = system_of("rolling-disk")
    ekf, x = pose_filter(system, {"disk.tilt": 1.1, "disk.spin_rate": -3.0})
    kin = system.kinematics
    s = kin.symbols
    p = ca.SX(ca.DM(system.parameters()))
    y = ca.SX(ca.DM([0.2, -0.1, 0.3]))
    new, *_ = ekf.correct(ca.SX(0), ca.SX(ca.DM(x)), 0.01 * ca.SX.eye(8), y, [ca.SX(1)] * 3, p)
    found = np.array(ca.DM(new)).ravel()
    height = ca.Function("g", [s.t, s.q, s.params], [kin.g])
    assert np.abs(found - x).max() > 0.05
    assert abs(float(height(0.0, found[:7], system.parameters())[0])) < 1e-9
    assert np.linalg.norm(found[3:7]) == pytest.approx(1.0, abs=1e-9)


def instruments():
    return (
        ns.sensors.Odometry(wheels=("wheel1", "wheel2"), sigma=0.02),
        ns.sensors.Gyroscope(body="platform", sigma=0.01),
        ns.sensors.Beacon(body="platform", at=(3.0, 2.0, 0.0), sigma=0.03),
        ns.sensors.Beacon(
            body="platform", at=(-3.0, 1.0, 0.0), sigma=0.03, angle_sigma=0.01, every=4
        ),
        ns.sensors.PoseSensor(body="platform", sigma=0.02, angle_sigma=0.02, every=10),
    )


def late_instruments():
    """A pose that comes 0.1 s late, and a gyroscope with a bias that every run has of its own."""
    return (
        ns.sensors.Odometry(wheels=("wheel1", "wheel2"), sigma=0.02),
        ns.sensors.Gyroscope(body="platform", sigma=0.01, bias_sigma=0.05),
        ns.sensors.Beacon(body="platform", at=(3.0, 2.0, 0.0), sigma=0.03, every=2, delay=1),
        ns.sensors.PoseSensor(body="platform", sigma=0.02, angle_sigma=0.02, every=5, delay=2),
    )


def driven_batch(system, count, believed_sigma=1.0, sensors=None, lag=0.0, **believed):
    """A vehicle on a circle, 2 s, starts drawn from what the filter believes of them."""
    sigma = {"platform.x": 0.05, "platform.y": 0.05, "platform.angle": 0.03}
    sigma |= {name: 0.05 for name in ("wheel1.rate", "wheel2.rate", "bracket.angle")}
    sigma |= {f"wheel{k}.angle": 0.02 for k in (1, 2, 3)}
    plant = ns.Plant(
        sensors=instruments() if sensors is None else sensors,
        actuators=tuple(ns.Actuator(of=f"torque{k}", sigma=0.02, lag=lag) for k in (1, 2)),
        estimator=ns.sensors.ExtendedKalman(
            start_sigma={n: believed_sigma * x for n, x in sigma.items()} | believed
        ),
        seed=8,
    )
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0),
        timing=ns.timing.ConstantSpeed(0.3),
        point=(0.0, "-a", 0.0),
        direction=(0.0, 1.0, 0.0),
    )
    controller = ns.controllers.PoseTracking(point=(0.0, "-a", 0.0), direction=(0.0, 1.0, 0.0))
    made, start = law(system, motion, controller, plant, 0.05)
    names = [x.name for x in (*system.coordinates, *system.independent_speeds)]
    rng = np.random.default_rng(5)
    starts = {
        n: x + sigma[n] * rng.standard_normal(count) for n, x in zip(names, start, strict=True)
    }
    return ns.simulate_batch(
        system,
        duration=2.0,
        start=starts,
        inputs=made,
        columns=["nees", "nees_count", "nis", "nis_count"],
        keep=("samples",),
        samples=np.arange(40) * 0.05 + 0.025,
    ).samples


def test_normalized_errors_of_a_vehicle_are_chi_square(system_of):
    """1000 runs in lanes with odometry, gyroscope, beacons and pose: NEES and NIS at each sample.

    80 sums of 4000 to 9000 degrees of freedom each; bounds at 1e-5 for each, so 1e-3 for all.
    """
    found = driven_batch(system_of("agv"), 1000)
    assert np.all(found["nees_count"] == 9)
    for word in ("nees", "nis"):
        total, count = found[word].sum(axis=0), found[f"{word}_count"].sum(axis=0)
        low, high = chi2.ppf(5e-6, count), chi2.ppf(1 - 5e-6, count)
        assert np.all((low < total) & (total < high)), total / count


def test_normalized_errors_with_late_sensors_and_a_bias_are_chi_square(system_of, pytestconfig):
    """10 errors, among them the gyroscope's bias; with the bounds of the test above."""
    runs = 1000 if pytestconfig.getoption("--long") else 300
    found = driven_batch(system_of("agv"), runs, sensors=late_instruments())
    assert np.all(found["nees_count"] == 10)
    for word in ("nees", "nis"):
        total, count = found[word].sum(axis=0), found[f"{word}_count"].sum(axis=0)
        low, high = chi2.ppf(5e-6, count), chi2.ppf(1 - 5e-6, count)
        assert np.all((low < total) & (total < high)), total / count
    # a filter that takes the bias for known is found out
    sure = {"bias.gyroscope.platform": 0.01}
    wrong = driven_batch(system_of("agv"), 100, sensors=late_instruments(), **sure)
    assert wrong["nees"][:, 0].sum() > chi2.ppf(1 - 1e-6, 100 * 10)


def test_normalized_errors_beside_an_actuator_lag_are_chi_square(system_of, pytestconfig):
    """Forces of both motors are two further errors; NEES and NIS of 50 seeds (200 with --long)."""
    runs = 200 if pytestconfig.getoption("--long") else 50
    found = driven_batch(system_of("agv"), runs, lag=0.15)
    assert np.all(found["nees_count"][:, 1:] == 11)
    for word in ("nees", "nis"):
        total, count = found[word].sum(axis=0), found[f"{word}_count"].sum(axis=0)
        low, high = chi2.ppf(5e-6, count), chi2.ppf(1 - 5e-6, count)
        assert np.all((low < total) & (total < high)), total / count
    # over all samples, which depend on each other: the last of each run within 95 %
    last, count = found["nees"][:, -1].sum(), 11 * runs
    assert chi2.ppf(0.025, count) < last < chi2.ppf(0.975, count), last / runs


def test_a_filter_that_believes_too_much_is_not_consistent(system_of):
    """Starts twice as far off as it believes: the test above is able to fail."""
    found = driven_batch(system_of("agv"), 200, believed_sigma=0.5)
    assert found["nees"][:, 0].sum() > chi2.ppf(1 - 1e-6, 200 * 9)


@pytest.mark.slow
def test_a_run_notes_that_its_filter_is_overconfident(system_of):
    """A robot from rest, its caster believed to be known exactly, and starts that are drawn."""
    system, loop = (
        system_of("differential-robot"),
        ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.05),
    )
    sigma = {x.name: 0.02 for x in system.coordinates} | {"base.vx": 0.02, "base.rate": 0.02}

    def run(believed, start, seed):
        plant = ns.Plant(
            start=start,
            sensors=(
                ns.sensors.Odometry(wheels=("left", "right"), sigma=0.02),
                ns.sensors.Gyroscope(body="base", sigma=0.01),
                ns.sensors.PoseSensor(body="base", sigma=0.05, angle_sigma=0.05, every=20),
            ),
            actuators=tuple(ns.Actuator(of=f"{k}.torque", sigma=0.01) for k in ("left", "right")),
            estimator=ns.sensors.ExtendedKalman(start_sigma=believed),
            seed=seed,
        )
        timing = ns.timing.Quintic(duration=20)
        path, more = ns.paths.Circle(radius=2.0), {"timing": timing, "controller": loop}
        found = ns.track(system, path, plant=plant, duration=3.0, **more)
        return [note for note in found.notes if "overconfident" in note]

    (note,) = run({}, {}, 1)
    assert "start_sigma" in note and "exactly" in note
    rng = np.random.default_rng(4)
    for seed in range(3):
        at = {"base.x": 2.0, "base.y": 0.0}  # where the circle begins, m
        drawn = {n: x + sigma[n] * rng.standard_normal() for n, x in at.items()}
        assert run(sigma, drawn, seed) == []
    # believed to be ten times as well known as it is, with nothing thin
    (note,) = run({n: 0.1 * s for n, s in sigma.items()}, {"base.x": 2.04, "base.y": -0.03}, 1)
    assert "further off than start_sigma" in note and "exactly" not in note


def test_the_controller_uses_the_estimate_and_ellipses_are_drawn(system_of):
    from noslip.show.plots.paths import estimate_ellipses
    from noslip.show.plots.plotting import run_sheets

    system = system_of("agv")
    plant = ns.Plant(
        start={"platform.x": 2.05},
        sensors=instruments(),
        estimator=ns.sensors.ExtendedKalman(start_sigma={"platform.x": 0.05, "platform.y": 0.05}),
        seed=2,
    )
    motion = ns.motions.PathMotion(
        path=ns.paths.Circle(radius=2.0),
        timing=ns.timing.ConstantSpeed(0.3),
        point=(0.0, "-a", 0.0),
        direction=(0.0, 1.0, 0.0),
    )
    controller = ns.controllers.PoseTracking(point=(0.0, "-a", 0.0), direction=(0.0, 1.0, 0.0))
    made, start = law(system, motion, controller, plant, 0.05)
    names = [x.name for x in (*system.coordinates, *system.independent_speeds)]
    begin = dict(zip(names, start, strict=True)) | {"platform.x": start[0] + 0.05}
    run = ns.simulate(system, duration=4.0, start=begin, inputs=made)
    off = run["estimate_error.platform.x"]
    assert abs(off[0]) > 0.01 and np.abs(off[-20:]).max() < 0.03
    drawn = estimate_ellipses(run)
    k = 0
    P = np.array(
        [
            [run[f"covariance.platform.{a},platform.{b}"][k] for a, b in row]
            for row in (("xx", "xy"), ("xy", "yy"))
        ]
    )
    x, y = (drawn[0] - drawn[0].mean(axis=0)).T
    area = 0.5 * abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    # a polygon of 48 corners has sin(2π/48)/(2π/48) of its ellipse
    share = math.sin(math.pi / 24) / (math.pi / 24)
    assert area == pytest.approx(share * math.pi * 5.991464547 * math.sqrt(np.linalg.det(P)))
    sheets = run_sheets(run)
    assert "95 % of the estimate" in sheets["path"].frames[0].names.names
    assert len(sheets["estimate"].frames) == 9


@pytest.mark.parametrize(
    ("plant", "period", "said"),
    [
        (noisy_cart(), 0.0, "the loop is continuous"),
        (noisy_cart(sensors=()), PERIOD, "nothing is measured"),
        (
            noisy_cart(sensors=(ns.sensors.Gyroscope(body="cart"),), estimator=None),
            PERIOD,
            "gyroscope measures something else",
        ),
        (
            noisy_cart(sensors=(ns.Sensor(of="cart.position", delay=99),)),
            PERIOD,
            "delayed by 99 samples, and the estimator supports up to 20",
        ),
        (
            noisy_cart(estimator=ns.sensors.ExtendedKalman(start_sigma={"bias.cart.speed": 0.1})),
            PERIOD,
            "there is no sensor 'cart.speed'",
        ),
        (noisy_cart(sensors=(ns.sensors.Gyroscope(body="car"),)), PERIOD, "there is no body 'car'"),
        (noisy_cart(sensors=(ns.sensors.Odometry(wheels=("w",)),)), PERIOD, "'w' with an angle"),
        (
            noisy_cart(estimator=ns.sensors.ExtendedKalman(start_sigma={"cart.x": 0.1})),
            PERIOD,
            "there is no coordinate or independent speed 'cart.x'",
        ),
        (
            noisy_cart(
                actuators=(ns.Actuator(of="F", lag=0.1),),
                estimator=ns.sensors.ExtendedKalman(drift={"got.F": 0.1}),
            ),
            PERIOD,
            "'got.F' is the force of an actuator",
        ),
        (
            noisy_cart(estimator=ns.sensors.ExtendedKalman(input_sigma={"G": 0.1})),
            PERIOD,
            "there is no force input 'G'",
        ),
    ],
)
def test_mistakes_of_an_estimated_loop_are_told(system, plant, period, said):
    with pytest.raises(ns.SimulationError, match=said):
        plant.check(system, period)
        ns.simulate(system, duration=0.1, inputs=held_cart(system, plant))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ns.sensors.ExtendedKalman(start_sigma={"x": -1.0}), "start_sigma of 'x' is -1.0"),
        (lambda: ns.sensors.ExtendedKalman(steps=0), "steps is 0"),
        (lambda: ns.sensors.Gyroscope(body="b", sigma=-1.0), "sigma is -1.0"),
        (lambda: ns.sensors.Gyroscope(body="b", axis="w"), "there is no axis 'w'"),
        (lambda: ns.sensors.Odometry(wheels=("a",), every=0), "every is 0"),
        (lambda: ns.sensors.Beacon(body="b", at=(0.0, 0.0, 0.0), delay=-1), "delay is -1"),
        (lambda: ns.sensors.Gyroscope(body="b", bias_sigma=-1.0), "bias_sigma is -1.0"),
    ],
)
def test_settings_with_mistakes_are_refused(make, said):
    with pytest.raises(ns.SimulationError, match=said):
        make()


def test_sensors_are_read_from_text():
    assert parse_sensor("gyroscope:body=base,sigma=0.02") == ns.sensors.Gyroscope(
        body="base", sigma=0.02
    )
    assert parse_sensor("odometry:wheels=left,right;sigma=0.1") == ns.sensors.Odometry(
        wheels=("left", "right"), sigma=0.1
    )
    beacon = parse_sensor("beacon:body=base;at=3,2,0;angle_sigma=0.1;every=4")
    assert beacon == ns.sensors.Beacon(body="base", at=(3.0, 2.0, 0.0), angle_sigma=0.1, every=4)
    assert parse_sensor("base.x:sigma=0.1") == ns.Sensor(of="base.x", sigma=0.1)


def test_a_speed_input_is_refused(system_of):
    system = system_of("tractor-trailer")
    with pytest.raises(ns.SimulationError, match="the model has the speed input 'steering_rate'"):
        KalmanFilter(system, ns.sensors.ExtendedKalman(), (), 0.05)
