"""De Santis (1994), report EPM/RT-94-04: tractor-trailer, load-haul-dump vehicle, manipulators.

https://publications.polymtl.ca/9627/

The numbers in data/*.json were computed independently of the paper's method, with 40 digits and
with the misprints of the paper put right: g_0 = −D⁻¹Cα (eqs. 4.21, 5.14, 6.35, 6.36), the wrenches
of eqs. 6.29, 6.24' and 6.25' about the mass centers, and the vehicle of appendix A, which can bend
without slip.
"""

import functools
import json
import math
from itertools import pairwise
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from reference_models import STATE, close, load, near, simulate
from scipy.integrate import solve_ivp

import noslip as ns

DATA = Path(__file__).parent / "data"


def reference(name):
    return json.loads((DATA / f"{name}.json").read_text())


TRACTOR, LHD = reference("tractor_trailer"), reference("lhd")
ARM2, ARM3, ARM6 = (reference(f"manipulator_{k}r") for k in (2, 3, 6))


@functools.cache
def system(name):
    return ns.compile(ns.derive(load(name)))


def values_at(name, case, start, inputs, **options):
    """Values at the tabulated times, as a function from a column's name and a point's index."""
    run = simulate(system(name), case, start, inputs, **options)
    return lambda k, *columns: [float(run[c][k + 1]) for c in columns]


def world_rates(instant, joint):
    """ẍ, ÿ of a planar joint: its speeds are in turning axes, so c̈ = R (v̇ + ω × v)."""
    angle = instant.coordinates[f"{joint}.angle"]
    vx, vy, rate = (instant.speeds[f"{joint}.{k}"] for k in ("vx", "vy", "rate"))
    ax = instant.accelerations[f"{joint}.vx"] - rate * vy
    ay = instant.accelerations[f"{joint}.vy"] + rate * vx
    c, s = math.cos(angle), math.sin(angle)
    return [ax * c - ay * s, ax * s + ay * c]


def blocks(compiled, state):
    """D, C q̇ and the generalized forces without inputs."""
    start = ns.complete_start(compiled, state)
    x = np.concatenate([start.q, start.eta, np.zeros(1 if compiled.does_work else 0)])
    n = len(compiled.independent_speeds)
    numbers = compiled.blocks(0.0, x, np.zeros(len(compiled.inputs)), compiled.parameters())
    return numbers[: n * n].reshape(n, n), numbers[n * n : n * n + n], numbers[n * n + n :][:n]


def hinge_force(instant, joint):
    """Force on the body before a joint, in the plane: opposite to that on its child."""
    return [-instant.joint_reactions[joint][k] for k in "xy"]


# 6: the tractor-trailer


def tractor_at(case, **changed):
    state = case["state"] | changed
    start = {
        "tractor.x": state["x"],
        "tractor.y": state["y"],
        "tractor.angle": state["theta"],
        "hinge.angle": state["phi"],
        "steer.angle": state["delta"],
        "tractor.vx": state["v_u1"],
    }
    return start, {**case["inputs"], "steering_rate": state["delta_dot"]}


@pytest.fixture(params=TRACTOR["cases"], ids=["first", "second", "third"])
def tractor_case(request):
    return request.param


def test_tractor_trailer_accelerations(tractor_case):
    """Eqs. (6.31)–(6.44) with g_0 = −D⁻¹Cα and F_u1 along the steered wheel."""
    start, inputs = tractor_at(tractor_case)
    instant = ns.evaluate(system("tractor-trailer"), start, inputs=inputs)
    expected, v = tractor_case["results"], tractor_case["state"]["v_u1"]
    rates = [instant.coordinate_rates[f"tractor.{k}"] for k in ("x", "y", "angle")]
    assert close([*rates, instant.coordinate_rates["hinge.angle"]], expected["q_dot"])
    assert close(instant.mass_matrix, expected["D"])
    assert close(instant.velocity_terms, expected["C"] * v)
    acceleration = instant.accelerations["tractor.vx"]
    assert close(acceleration, expected["alpha_dot"])
    assert close(instant.mass_matrix * acceleration + instant.velocity_terms, expected["tau_a"])
    turning = [instant.accelerations[k] for k in ("tractor.rate", "hinge.rate")]
    assert close(
        [turning[0], sum(turning), turning[1]],
        [expected[k] for k in ("theta_ddot", "theta2_ddot", "phi_ddot")],
    )
    assert close(instant.kinetic_energy, expected["kinetic_energy"])


def test_tractor_trailer_terms_of_the_steering_rate(tractor_case):
    """Eqs. (6.32)–(6.37): C = C_1 + δ̇ C_2, and g_01, g_02 are their shares of −D⁻¹Cα."""
    expected, v = tractor_case["results"], tractor_case["state"]["v_u1"]
    terms = []
    for rate in (0.0, 1.0):
        start, inputs = tractor_at(tractor_case, delta_dot=rate)
        instant = ns.evaluate(system("tractor-trailer"), start, inputs=inputs)
        terms.append(instant.velocity_terms.item())
    first, second = terms[0], terms[1] - terms[0]
    # C_1 vanishes with the turning, so both are measured against the whole
    assert first / v == pytest.approx(expected["C_1"], abs=STATE * 1e4)
    assert second / v == pytest.approx(expected["C_2"], abs=STATE * 1e4)
    assert -first / expected["D"] == pytest.approx(expected["g_01"], abs=10 * STATE)
    assert -second / expected["D"] == pytest.approx(expected["g_02"], abs=10 * STATE)


def test_tractor_trailer_jacobian_to_twists(tractor_case):
    """Eqs. (6.19), (6.21): twists of both mass centers in body axes, by DeSantis' own matrices."""
    kin = ns.trace(load("tractor-trailer"))
    matrices = ns.DeSantis().matrices(kin)
    start, inputs = tractor_at(tractor_case)
    compiled = system("tractor-trailer")
    w = np.array([inputs["steering_rate"]])
    q = ns.complete_start(compiled, start, speed_inputs=lambda q: w).q
    J = np.array(ca.Function("J", [kin.symbols.q, kin.symbols.params], [matrices.J])(
        q, compiled.parameters()
    )).ravel()  # fmt: skip
    bodies = [node.body.name for node in kin.tree.nodes]
    planar = [6 * bodies.index(b) + k for b in ("tractor", "trailer") for k in (0, 1, 5)]
    expected = tractor_case["results"]
    assert close(J[planar], expected["J"])
    v = tractor_case["state"]["v_u1"]
    assert close(J[planar] * v, expected["J_h1_c_J_h2_c_twists"])


def test_tractor_trailer_on_tires():
    """Step 5 with J_nh = 1, by Jacobians of points in world axes; run by Radau's method."""
    vehicle = system("tractor-trailer-slip")
    p = {x.name: x.value for x in vehicle.model.parameters}
    inertia = [np.diag([p[f"m{k}"], p[f"m{k}"], p[f"j{k}"]]) for k in (1, 2)]

    def jacobian(heading, bent, ahead, behind=None):
        """∂(x, y, angle)/∂q of a point on the tractor or behind the hinge, less its translation."""
        across = [np.array([-np.sin(a), np.cos(a)]) for a in (heading, heading + bent)]
        J = np.zeros((3, 4))
        J[:2, :2], J[2, 2] = np.eye(2), 1.0
        J[:2, 2] = ahead * across[0]
        if behind is not None:
            J[:2, 2] = -p["c"] * across[0] - behind * across[1]
            J[:2, 3], J[2, 3] = -behind * across[1], 1.0
        return J

    def centers(theta, phi):
        return jacobian(theta, phi, p["b"]), jacobian(theta, phi, 0.0, p["e"])

    def rate(t, y):
        theta, phi, delta, q_dot = *y[2:5], y[5:]
        turned = 1e-6 * q_dot[2:4]
        bodies = zip(
            inertia,
            centers(theta, phi),
            centers(theta + turned[0], phi + turned[1]),
            centers(theta - turned[0], phi - turned[1]),
            strict=True,
        )
        D, bias, forces = np.zeros((4, 4)), np.zeros(4), []
        for M, J, after, before in bodies:
            D += J.T @ M @ J
            bias += J.T @ M @ ((after - before) / 2e-6 @ q_dot)
        axles = (
            (jacobian(theta, phi, p["l1"]), theta + delta, p["C1"], 0.0),
            (jacobian(theta, phi, 0.0), theta, p["C2"], 1500.0),
            (jacobian(theta, phi, 0.0, p["l2"]), theta + phi, p["C3"], 0.0),
        )
        tau = np.zeros(4)
        for J, angle, stiffness, F_u in axles:
            along = np.array([np.cos(angle), np.sin(angle)])
            across = np.array([-along[1], along[0]])
            v = J[:2] @ q_dot
            F_w = -stiffness * (v @ across) / np.hypot(v @ along, p["v0"])
            forces.append(F_w)
            tau += J[:2].T @ (F_u * along + F_w * across)
        return [*q_dot, 0.06 * np.cos(0.8 * t), *np.linalg.solve(D, tau - bias)], forces

    turning = np.tan(0.1) / p["l1"]
    bending = -(np.sin(0.2) + (p["l2"] + p["c"] * np.cos(0.2)) * turning) / p["l2"]
    begin = [0.0, 0.0, 0.0, 0.2, 0.1, 2.0, 0.0, 2 * turning, 2 * bending]

    # y has δ behind q, and its rate with them
    def y_dot(t, y):
        found, _ = rate(t, y)
        return found

    sol = solve_ivp(y_dot, (0, 10), begin, method="Radau", rtol=1e-9, atol=1e-9, t_eval=[5, 10])
    run = ns.run_scenario(vehicle, rtol=1e-12, atol=1e-12)
    names = [f"tractor.{k}" for k in ("x", "y", "angle")] + ["hinge.angle", "steer.angle"]
    for k, y in enumerate(sol.y.T, start=1):
        assert np.array([run[n][250 * k] for n in names]) == pytest.approx(y[:5], abs=1e-7)
        sides = [run[f"F_w{j}"][250 * k] for j in (1, 2, 3)]
        assert sides == pytest.approx(rate(sol.t[k - 1], y)[1], rel=1e-7)


@pytest.mark.parametrize("shaped", [0.0, 1.0])
def test_cartesian_crane(shaped):
    """Newton's equations of bridge, trolley and load, with the tension that keeps the length."""
    crane = system("cartesian-crane")
    p = {x.name: x.value for x in crane.model.parameters}
    m, g, length = p["m"], p["g"], p["l_0"]
    masses = np.array([p["m_b"] + p["m_t"], p["m_t"]])
    sizes, ways = np.array([600.0, 400.0]), np.array([3.0, 2.0])
    times = 2 * np.sqrt(ways * (masses + m) / sizes)
    delays = shaped * np.pi / np.sqrt(g / length * (1 + m / masses))

    def bang(t):
        return np.where((t < 0) | (t >= times), 0.0, np.where(t < times / 2, sizes, -sizes))

    def rate(t, y):
        # the winch lowers the load by 1.5 m from 12 to 15 s
        s = np.clip((t - 12) / 3, 0, 1)
        rope = length + 1.5 * (s - np.sin(2 * np.pi * s) / (2 * np.pi))
        l_dot, l_ddot = (1 - np.cos(2 * np.pi * s)) / 2, np.pi / 3 * np.sin(2 * np.pi * s)
        V, r, v = y[2:4], y[4:7] - [*y[:2], 0.0], y[7:10]
        relative, u = v - [*V, 0.0], r / rope
        F = (bang(t) + bang(t - delays)) / 2
        free = np.array([*(-F / masses), -g])
        pull = u @ u / m + np.sum(u[:2] ** 2 / masses)
        tension = (u @ free - (rope * l_ddot + l_dot**2 - relative @ relative) / rope) / pull
        return [
            *V,
            *((F + tension * u[:2]) / masses),
            *v,
            *(np.array([0, 0, -g]) - tension / m * u),
        ]

    switched = [x for d in (0 * delays, delays) for x in (*d, *(d + times / 2), *(d + times))]
    ends = sorted({0.0, *switched, 12.0, 15.0, 16.0})
    y = np.array([0, 0, 0, 0, 0, 0, -length, 0, 0, 0])
    for begin, end in pairwise(ends):
        middle = 1e-13 * (end - begin)
        y = solve_ivp(
            lambda t, y, a=begin + middle, b=end - middle: rate(min(max(t, a), b), y),
            (begin, end), y, method="DOP853", rtol=1e-12, atol=1e-12,
        ).y[:, -1]  # fmt: skip
    run = ns.run_scenario(crane, changes={"shaped": shaped}, rtol=1e-12, atol=1e-12)
    names = ("bridge.position", "trolley.position", "bridge.speed", "trolley.speed")
    assert [run[n][-1] for n in (*names, "load.x", "load.y")] == pytest.approx(y[:6], abs=1e-9)


def test_tractor_trailer_reactions(tractor_case):
    start, inputs = tractor_at(tractor_case)
    instant = ns.evaluate(system("tractor-trailer"), start, inputs=inputs)
    expected = tractor_case["results"]["reactions"]
    ours = [
        instant.multipliers[f"{k}.lateral"] for k in ("rear_axle", "front_wheel", "trailer_axle")
    ]
    theirs = [expected[f"{k}_lateral"] for k in ("rear_axle", "front_wheel", "trailer_axle")]
    assert close(ours, theirs)
    assert close(hinge_force(instant, "hinge"), expected["hinge_force_on_tractor_xy"])


def test_tractor_trailer_trajectory():
    (case,) = TRACTOR["trajectories"]
    columns = (
        "tractor.x",
        "tractor.y",
        "tractor.angle",
        "hinge.angle",
        "tractor.vx",
        "steer.angle",
    )
    keys = ("x", "y", "theta", "phi", "v_u1", "delta")
    start = {c: case["initial"][k] for c, k in zip(columns, keys, strict=True)}
    inputs = {"F_u2": 1500.0, "steering_rate": "0.06*cos(0.8*t)"}
    at = values_at("tractor-trailer", case, start, inputs)
    for k, point in enumerate(case["points"]):
        assert near(at(k, *columns), [point[key] for key in keys])


# 8: the load-haul-dump vehicle

SLIP = [case for case in LHD["cases"] if case["model"] == "slip"]
NO_SLIP = [case for case in LHD["cases"] if case["model"] == "no_slip"]
NO_TIRES = {"C1": 0.0, "C2": 0.0}


def slipping_at(state):
    return {
        "front.x": state["x"],
        "front.y": state["y"],
        "front.angle": state["theta"],
        "waist.angle": state["phi"],
        "x_dot": state["x_dot"],
        "y_dot": state["y_dot"],
        "front.rate": state["theta_dot"],
        "waist.rate": state["phi_dot"],
    }


@pytest.mark.parametrize("case", SLIP, ids=["first", "second"])
def test_slipping_vehicle_under_given_axle_forces(case):
    """Section 8 with the wrenches about the mass centers, side forces given."""
    expected, start = case["results"], slipping_at(case["state"])
    compiled = system("lhd")
    instant = ns.evaluate(compiled, start, inputs=case["inputs"], parameters=NO_TIRES)
    second = [
        *world_rates(instant, "front"),
        instant.accelerations["front.rate"],
        instant.accelerations["waist.rate"],
    ]
    assert instant.independent_speeds == ("x_dot", "y_dot", "front.rate", "waist.rate")
    assert close(instant.mass_matrix, expected["D"])
    assert close(instant.velocity_terms, expected["C_times_qdot"])
    assert close(second, expected["q_ddot"])
    assert close(instant.mass_matrix @ second + instant.velocity_terms, expected["tau_a"])
    assert close(instant.kinetic_energy, expected["kinetic_energy"])
    assert close(hinge_force(instant, "waist"), expected["hinge_force_on_front_body_xy"])
    assert close(
        list(axle_velocities(instant).values()), list(expected["axle_velocities"].values())
    )


def axle_velocities(instant):
    """Speeds of both axles along and across their bodies, from the blades of the other vehicle."""
    kin = ns.trace(load("lhd-noslip"))
    names = [(trace, part) for trace in kin.contacts for part in ("longitudinal", "lateral")]
    f = ca.Function(
        "slip",
        [kin.symbols.q, kin.symbols.v, kin.symbols.params],
        [ca.vertcat(*[trace.slip[part] for trace, part in names])],
    )
    q = [instant.coordinates[c.name] for c in kin.coordinates]
    v = [instant.speeds[s.name] for s in kin.speeds]
    values = np.array(f(q, v, kin.probe.params)).ravel()
    return dict(zip(("v_u1", "v_w1", "v_u2", "v_w2"), values, strict=True))


@pytest.mark.parametrize("case", SLIP, ids=["first", "second"])
def test_tires_give_the_axle_forces_of_their_law(case):
    """F_w = −C v_w/|v_u| as a force element, and the same force as an input, move it alike."""
    start, velocity = slipping_at(case["state"]), case["results"]["axle_velocities"]
    drives = {k: v for k, v in case["inputs"].items() if k not in ("F_w2", "F_w3")}
    by_tires = ns.evaluate(system("lhd"), start, inputs=drives, parameters={"v0": 0.0})
    C1, C2 = LHD["params"]["C1"], LHD["params"]["C2"]
    given = {
        "F_w2": -C1 * velocity["v_w1"] / abs(velocity["v_u1"]),
        "F_w3": -C2 * velocity["v_w2"] / abs(velocity["v_u2"]),
    }
    by_input = ns.evaluate(system("lhd"), start, inputs=drives | given, parameters=NO_TIRES)
    ours, theirs = (list(i.accelerations.values()) for i in (by_tires, by_input))
    assert close(ours, theirs, 10 * STATE)


@pytest.mark.parametrize("case", NO_SLIP, ids=["first", "second"])
def test_vehicle_without_slip_bends(case):
    """Appendix A says that it cannot; v and φ̇ are free."""
    state, expected = case["state"], case["results"]
    start = {
        "front.angle": state["theta"],
        "waist.angle": state["phi"],
        "front.vx": state["v_u1"],
        "waist.rate": state["phi_dot"],
    }
    compiled = system("lhd-noslip")
    instant = ns.evaluate(compiled, start, inputs=case["inputs"])
    names = ("front.vx", "front.rate", "waist.rate")
    ours = [instant.accelerations[k] for k in names]
    assert close(instant.speeds["front.rate"], expected["theta_dot"])
    assert close(ours, [expected[k] for k in ("v_u1_dot", "theta_ddot", "phi_ddot")])
    laterals = [instant.multipliers[f"{k}_axle.lateral"] for k in ("front", "rear")]
    assert close(laterals, [expected[f"lateral_reaction_axle{k}"] for k in (1, 2)])
    assert close(hinge_force(instant, "waist"), expected["hinge_force_on_front_body_xy"])


@pytest.mark.parametrize("case", LHD["trajectories"], ids=lambda case: case["name"])
def test_vehicle_trajectories(case):
    name = "lhd-noslip" if case["name"] == "no_slip" else "lhd"
    start = {"waist.angle": case["initial"]["phi"]}
    start["front.vx"] = case["initial"].get("v_u1", case["initial"].get("x_dot"))
    inputs = {"F_u2": 3000.0, "Gamma": "3000*cos(1.5*t)"}
    options = {} if name == "lhd-noslip" else {"parameters": {"v0": 0.0}}
    at = values_at(name, case, start, inputs, **options)
    for k, point in enumerate(case["points"]):
        assert near(at(k, "front.x", "front.y", "front.angle", "waist.angle"), point["q"])
        angle, vx, vy, *turning = at(
            k, "front.angle", "front.vx", "front.vy", "front.rate", "waist.rate"
        )
        c, s = math.cos(angle), math.sin(angle)
        assert near([vx * c - vy * s, vx * s + vy * c, *turning], point["q_dot"])


# 7: manipulators


def arm_state(case):
    state = {f"joint{k}.angle": q for k, q in enumerate(case["state"]["q"], 1)}
    return state | {f"joint{k}.rate": r for k, r in enumerate(case["state"]["q_dot"], 1)}


def torques(values):
    return {f"tau{k}": tau for k, tau in enumerate(values, 1)}


PLANAR = [
    (f"manipulator-{len(arm['params']['m'])}r", c) for arm in (ARM2, ARM3) for c in arm["cases"]
]


@pytest.mark.parametrize(("name", "case"), PLANAR, ids=["2R-1", "2R-2", "3R-1", "3R-2"])
def test_planar_arms(name, case):
    """D q̈ + C q̇ + G = τ."""
    expected, compiled = case["results"], system(name)
    D, bias, forces = blocks(compiled, arm_state(case))
    assert close(D, expected["D"])
    assert close(bias, expected["C_times_qdot"])
    assert close(-forces, expected["gravity_G"])
    inputs = torques(case["inputs"]["tau"])
    instant = ns.evaluate(compiled, arm_state(case), inputs=inputs)
    assert close(list(instant.accelerations.values()), expected["q_ddot"], 10 * STATE)
    assert close(instant.kinetic_energy, expected["kinetic_energy"])


@pytest.mark.parametrize(("name", "case"), PLANAR, ids=["2R-1", "2R-2", "3R-1", "3R-2"])
def test_planar_arms_have_a_skew_matrix(name, case):
    """Remark 4.1 holds in the plane: Ḋ − 2C is skew for the printed C, which is Christoffel's."""
    kin = ns.trace(load(name))
    matrices = ns.DeSantis().matrices(kin)
    C, C_skew, D_dot = arm_matrices(kin, matrices, case)
    assert close(C, C_skew)
    assert close(C, case["results"]["C_christoffel"], 10 * STATE)
    assert np.max(np.abs(D_dot - 2 * C + (D_dot - 2 * C).T)) < 10 * STATE


def arm_matrices(kin, matrices, case):
    D_dot = ca.jtimes(ca.vec(ca.densify(matrices.D)), kin.symbols.q, ca.mtimes(kin.N, kin.v))
    D_dot = ca.reshape(D_dot, matrices.D.shape)
    f = ca.Function(
        "m",
        [kin.symbols.q, kin.eta, kin.symbols.params],
        [matrices.C, matrices.C_skew, D_dot],
    )
    values = f(case["state"]["q"], case["state"]["q_dot"], kin.probe.params)
    return [np.array(value) for value in values]


def test_arm_under_proportional_and_derivative_control():
    """Eqs. (7.11)–(7.16): V = ½ eᵀK_p e + ½ q̇ᵀD q̇ decreases, at the rate q̇ᵀK_d q̇."""
    case = next(c for c in ARM2["trajectories"] if c["name"] == "PD_no_gravity")
    gains = ((30.0, 6.0, 0.5), (20.0, 4.0, -0.4))
    inputs = {
        f"tau{k}": f"-{Kp}*(joint{k}.angle - ({goal})) - {Kd}*joint{k}.rate"
        for k, (Kp, Kd, goal) in enumerate(gains, 1)
    }
    start = {f"joint{k}.angle": case["initial"]["q"][k - 1] for k in (1, 2)}
    start |= {f"joint{k}.rate": case["initial"]["q_dot"][k - 1] for k in (1, 2)}
    at = values_at("manipulator-2r", case, start, inputs, parameters={"g": 0.0})

    def lyapunov(k):
        angles = at(k, "joint1.angle", "joint2.angle")
        springs = sum(g[0] * (q - g[2]) ** 2 / 2 for g, q in zip(gains, angles, strict=True))
        return springs + at(k, "kinetic_energy")[0]

    assert lyapunov(-1) == pytest.approx(case["V0"], rel=STATE)
    for k, point in enumerate(case["points"]):
        assert near(at(k, "joint1.angle", "joint2.angle"), point["q"])
        assert near(at(k, "joint1.rate", "joint2.rate"), point["q_dot"])
        assert near(lyapunov(k), point["V_lyapunov"])


def test_two_link_arm_falls_freely():
    case = next(c for c in ARM2["trajectories"] if c["name"] == "free_fall_gravity")
    start = {f"joint{k}.angle": case["initial"]["q"][k - 1] for k in (1, 2)}
    at = values_at("manipulator-2r", case, start, {})
    for k, point in enumerate(case["points"]):
        assert near(at(k, "joint1.angle", "joint2.angle"), point["q"])
        assert near(at(k, "joint1.rate", "joint2.rate"), point["q_dot"])


@pytest.mark.parametrize(
    ("name", "case", "tau"),
    [
        ("manipulator-3r", ARM3["trajectories"][0], (5.0, 1.0, 0.2)),
        ("manipulator-6r", ARM6["trajectories"][0], (1.0, -20.0, -5.0, 0.1, -0.05, 0.02)),
    ],
    ids=["3R", "6R"],
)
def test_arms_under_constant_torques(name, case, tau):
    count = len(tau)
    start = {f"joint{k}.angle": q for k, q in enumerate(case["initial"]["q"], 1)}
    at = values_at(name, case, start, torques(tau))
    for k, point in enumerate(case["points"]):
        assert near(at(k, *(f"joint{j}.angle" for j in range(1, count + 1))), point["q"])
        assert near(at(k, *(f"joint{j}.rate" for j in range(1, count + 1))), point["q_dot"])


@pytest.mark.parametrize("case", ARM6["cases"], ids=["first", "second"])
def test_six_joint_arm(case):
    """Section 7 in space: D, C q̇, G, torques of a motion and the motion of those torques."""
    expected, compiled = case["results"], system("manipulator-6r")
    D, bias, forces = blocks(compiled, arm_state(case))
    assert close(D, expected["D"])
    assert close(bias, expected["C_times_qdot"])
    assert close(-forces, expected["gravity_G"])
    tau = D @ case["state"]["q_ddot"] + bias - forces
    assert close(tau, expected["tau"])
    instant = ns.evaluate(compiled, arm_state(case), inputs=torques(expected["tau"]))
    assert close(instant.kinetic_energy, expected["kinetic_energy"])
    # entries of D span five decades, and so does what rounding of τ does to q̈
    conditioning = np.linalg.cond(D) * np.max(np.abs(tau))
    ours = list(instant.accelerations.values())
    assert np.max(np.abs(np.subtract(ours, case["state"]["q_ddot"]))) < 1e-15 * conditioning


@pytest.mark.parametrize("case", ARM6["cases"], ids=["first", "second"])
def test_six_joint_arm_place_of_the_tool(case):
    compiled, expected = system("manipulator-6r"), case["results"]
    R, p = link_pose(compiled, case, 6)
    assert close(R, expected["R_tool"])
    tool = compiled.model.parameter_values()["tool"]
    assert close(p + R @ [0.0, 0.0, tool], expected["tool_position"])


def link_pose(compiled, case, link):
    start = ns.complete_start(compiled, arm_state(case))
    x = np.concatenate([start.q, start.eta, np.zeros(1 if compiled.does_work else 0)])
    poses = compiled.poses(0.0, x, np.zeros(len(compiled.inputs)), compiled.parameters())
    numbers = poses[12 * (link - 1) : 12 * link]
    return numbers[:9].reshape(3, 3), numbers[9:]
