"""Cameron and Book (1993), Georgia Tech manuscript: knife, tricycle, ball joint, sled with rotor.

The numbers in data/*.json were computed independently of the paper's method, with 40 digits.
Misprints put right: the roll-pitch-yaw joint is R = Rz(ψ) Ry(θ) Rx(φ) with φ the roll (section 4.3,
eqs. 75 and 76), and the rotor of section 5 moves sideways with the sled (eqs. 80, 82, 83).
"""

import functools
import json
import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from reference_models import STATE, close, near, simulate

import noslip as ns
from noslip import BoltzmannHamel
from noslip.formulations import mass_matrix

DATA = Path(__file__).parent / "data"


def reference(name):
    return json.loads((DATA / f"{name}.json").read_text())


TRICYCLE, BODY, SLED = (reference(k) for k in ("tricycle", "heavy_body", "sled_with_rotor"))


@functools.cache
def system(name, formulation=BoltzmannHamel):
    """Compiled by the paper's own equations unless another formulation is asked for."""
    return ns.compile(ns.derive(ns.load(name), formulation()))


def momenta(name, instant):
    """∂L/∂v of all tree speeds, the constraints not put in: M v on the tree."""
    kin = ns.trace(ns.load(name))
    M = ca.Function("M", [kin.symbols.q, kin.symbols.params], [mass_matrix(kin)])
    q = [instant.coordinates[c.name] for c in kin.coordinates]
    v = [instant.speeds[s.name] for s in kin.speeds]
    P = np.array(M(q, kin.probe.params)) @ v
    return dict(zip((s.name for s in kin.speeds), P, strict=True))


# 4.1: the knife


@pytest.mark.parametrize("offset", [0.0, 0.3, -0.2])
def test_knife_equations(offset, rng):
    """Eqs. (58), (59): d/dt L_v − cos θ L_x − sin θ L_y − θ̇ P_2 = F, d/dt L_θ̇ − L_θ + v P_2 = τ."""
    p = ns.load("knife-edge").parameter_values()
    m, pull = p["m"], p["m"] * p["g"] * math.sin(p["slope"])  # L_x = pull
    for _ in range(5):
        theta, v, rate, F, tau = rng.normal(size=5)
        instant = ns.evaluate(
            system("knife-edge"),
            {"skate.angle": theta, "skate.vx": v, "skate.rate": rate},
            inputs={"F_v": F, "tau": tau},
            parameters={"a": offset},
        )
        P_2 = m * offset * rate
        dL_v = F + math.cos(theta) * pull + rate * P_2
        # L_θ̇ = (J + m a²) θ̇ + m a w_2, and the potential's share of L_θ
        dL_rate = tau - pull * offset * math.sin(theta) - v * P_2
        ours = [instant.accelerations[k] for k in ("skate.vx", "skate.rate")]
        assert close(ours, [dL_v / m, dL_rate / (p["J"] + m * offset**2)], 10 * STATE)


def test_knife_on_a_slope_walks_on_a_cycloid():
    """x = (g/2ω²) sin² ωt, y = (g/2ω²)(ωt − sin 2ωt / 2), with g along the slope."""
    p = ns.load("knife-edge").parameter_values()
    omega = 1.5
    run = ns.simulate(
        system("knife-edge"),
        duration=8.0,
        start={"skate.rate": omega},
        rtol=1e-13,
        atol=1e-13,
    )
    size = p["g"] * math.sin(p["slope"]) / (2 * omega**2)
    turned = omega * run.t
    assert near(run["skate.angle"], turned)
    assert near(run["skate.vx"], 2 * omega * size * np.sin(turned))
    assert near(run["skate.x"], size * np.sin(turned) ** 2)
    assert near(run["skate.y"], size * (turned - np.sin(2 * turned) / 2))


# 4.2: the tricycle


@pytest.fixture(params=TRICYCLE["cases"], ids=["first", "second", "third"])
def tricycle_case(request):
    return request.param


def tricycle_at(case):
    state = case["state"]
    start = {
        "frame.x": state["x"],
        "frame.y": state["y"],
        "frame.angle": state["theta"],
        "steer.angle": state["phi"],
        "v": state["v"],
        "steer.rate": state["phi_dot"],
    }
    return ns.evaluate(system("tricycle"), start, inputs=case["inputs"])


def front_wheel_acceleration(instant):
    """v̇ of v = ẋ_frame cos φ + ℓ θ̇ sin φ."""
    ell = TRICYCLE["params"]["ell"]
    phi, rate = instant.coordinates["steer.angle"], instant.speeds["steer.rate"]
    along, turning = instant.speeds["frame.vx"], instant.speeds["frame.rate"]
    ax, alpha = instant.accelerations["frame.vx"], instant.accelerations["frame.rate"]
    c, s = math.cos(phi), math.sin(phi)
    return ax * c + ell * alpha * s + rate * (ell * turning * c - along * s)


def test_tricycle_accelerations_and_reactions(tricycle_case):
    """Eqs. (68)–(70), in quasi-velocities that are regular at every heading."""
    instant, expected = tricycle_at(tricycle_case), tricycle_case["results"]
    assert instant.independent_speeds == ("v", "steer.rate")
    assert close(instant.mass_matrix, expected["reduced_inertia"])
    ours = [
        front_wheel_acceleration(instant),
        instant.accelerations["steer.rate"],
        instant.accelerations["frame.rate"],
    ]
    assert close(ours, [expected[k] for k in ("v_dot", "phi_ddot", "theta_ddot")])
    assert close(instant.speeds["frame.rate"], expected["theta_dot"])
    assert close([instant.coordinate_rates[f"frame.{k}"] for k in "xy"], expected["xy_dot"])
    assert close(instant.kinetic_energy, expected["kinetic_energy"])
    laterals = [instant.multipliers[f"{k}.lateral"] for k in ("rear", "front")]
    assert close(laterals, [expected[f"{k}_lateral_reaction"] for k in ("rear", "front")])


def test_tricycle_quasi_momentum(tricycle_case):
    """Eq. (71) with the paper's β, eq. (64): its third column is θ̇ = w_3/(ℓ cos θ cos φ) alone."""
    P = momenta("tricycle", tricycle_at(tricycle_case))
    theta, phi = tricycle_case["state"]["theta"], tricycle_case["state"]["phi"]
    P_3 = P["frame.rate"] / (TRICYCLE["params"]["ell"] * math.cos(theta) * math.cos(phi))
    assert close(P_3, tricycle_case["results"]["P_3"])


def test_tricycle_passes_the_heading_where_the_paper_is_singular():
    (case,) = TRICYCLE["trajectories"]
    keys = ("x", "y", "theta", "phi", "phi_dot")
    columns = ("frame.x", "frame.y", "frame.angle", "steer.angle", "steer.rate")
    start = {c: case["initial"][k] for c, k in zip(columns, keys, strict=True)}
    start["v"] = case["initial"]["v"]
    run = simulate(system("tricycle"), case, start, {"F_v": 5.0, "tau_phi": "0.1*cos(2*t)"})
    assert run["frame.angle"][0] < math.pi / 2 < run["frame.angle"][-1]
    ell = TRICYCLE["params"]["ell"]
    phi = run["steer.angle"]
    v = run["frame.vx"] * np.cos(phi) + ell * run["frame.rate"] * np.sin(phi)
    for k, point in enumerate(case["points"], 1):
        assert near([run[c][k] for c in columns], [point[key] for key in keys])
        assert near(v[k], point["v"])


# 4.3: the roll-pitch-yaw joint

OMEGA = ("pivot.wx", "pivot.wy", "pivot.wz")
ANGLES = ("pivot.roll", "pivot.pitch", "pivot.yaw")


def rates_of_angles(angles):
    """β of eq. (72): rates of roll, pitch and yaw from the angular velocity in body axes."""
    (sin_r, sin_p), (cos_r, cos_p) = np.sin(angles[:2]), np.cos(angles[:2])
    return np.array(
        [
            [1.0, sin_r * sin_p / cos_p, cos_r * sin_p / cos_p],
            [0.0, cos_r, -sin_r],
            [0.0, sin_r / cos_p, cos_r / cos_p],
        ]
    )


@pytest.mark.parametrize("case", BODY["cases"], ids=["first", "second"])
def test_roll_pitch_yaw_joint(case):
    """Eqs. (74)–(76) put right: d/dt L_ω + ω × L_ω − βᵀL_q = τ."""
    state, expected = case["state"], case["results"]
    angles = np.array([state[k] for k in ("phi_roll", "theta_pitch", "psi_yaw")])
    start = dict(zip(ANGLES, angles, strict=True)) | dict(
        zip(OMEGA, state["omega_body"], strict=True)
    )
    inputs = dict(zip(("tau_x", "tau_y", "tau_z"), case["inputs"]["tau_body"], strict=True))
    instant = ns.evaluate(system("heavy-body"), start, inputs=inputs)
    omega_dot = np.array([instant.accelerations[k] for k in OMEGA])
    assert close(omega_dot, expected["omega_dot_body"])
    assert close(instant.mass_matrix, BODY["params"]["J_about_pivot"])
    assert close(instant.kinetic_energy, expected["kinetic_energy"])
    assert close(instant.potential_energy, expected["potential"])
    q = [instant.coordinates[f"pivot.{k}"] for k in ("qw", "qx", "qy", "qz")]
    assert close(rotation(q), expected["R"])
    # angle rates are β ω; those of the angles' rates by differentiating β along the motion
    omega = np.array(state["omega_body"])
    rates = rates_of_angles(angles) @ omega
    assert close(rates, expected["euler_rates"])
    traced = ca.SX.sym("a", 3)
    row = [ca.sin(traced[0]), ca.cos(traced[0]), ca.tan(traced[1]), ca.cos(traced[1])]
    beta = ca.vertcat(
        ca.horzcat(1, row[0] * row[2], row[1] * row[2]),
        ca.horzcat(0, row[1], -row[0]),
        ca.horzcat(0, row[0] / row[3], row[1] / row[3]),
    )
    drift = ca.Function("d", [traced], [ca.jtimes(ca.mtimes(beta, omega), traced, ca.DM(rates))])
    second = rates_of_angles(angles) @ omega_dot + np.array(drift(angles)).ravel()
    assert close(second, expected["euler_accel"])


def rotation(q):
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_heavy_body_falls_freely():
    """Energy and angular momentum about the vertical are conserved; no angle is in the state."""
    (case,) = BODY["trajectories"]
    start = dict(zip(ANGLES, case["initial"]["angles"], strict=True))
    start |= dict(zip(OMEGA, case["initial"]["omega"], strict=True))
    run = simulate(system("heavy-body"), case, start, {})
    J = np.array(BODY["params"]["J_about_pivot"])
    vertical = []
    for k in range(len(run.t)):
        R = rotation([run[f"pivot.{e}"][k] for e in ("qw", "qx", "qy", "qz")])
        omega = np.array([run[name][k] for name in OMEGA])
        vertical.append((R @ J @ omega)[2])
        if k:
            point = case["points"][k - 1]
            assert near(R, point["R"])
            assert near(omega, point["omega"])
            # columns are angles up to full turns
            turned = np.subtract([run[a][k] for a in ANGLES], point["angles_roll_pitch_yaw"])
            assert near((turned + math.pi) % (2 * math.pi), math.pi)
    assert near(vertical, vertical[0], 1e-12)
    assert np.max(np.abs(run.energy_error)) < 1e-11


def test_a_body_passes_the_orientation_where_its_angles_are_singular():
    """At a pitch of π/2 roll and yaw turn about the same axis; the quaternion does not care."""
    start = {"pivot.pitch": math.pi / 2 - 0.5, "pivot.wy": 2.0}
    run = ns.simulate(
        system("heavy-body"),
        duration=0.5,
        start=start,
        parameters={"g": 0.0},
        rtol=1e-12,
        atol=1e-12,
    )
    assert run.success
    assert run.energy_drift < 1e-11


# 5: the sled with a rotor

SLED_COLUMNS = {
    "x": "sled.x",
    "y": "sled.y",
    "theta1": "sled.angle",
    "theta2": "rotor.angle",
    "v1": "sled.vx",
    "theta1_dot": "sled.rate",
    "theta2_dot": "rotor.rate",
}


@pytest.mark.parametrize("case", SLED["cases"], ids=["first", "second"])
def test_sled_with_rotor(case):
    """Eqs. (84), (87), (90), (93), and the blade's force."""
    start = {SLED_COLUMNS[k]: v for k, v in case["state"].items()}
    instant = ns.evaluate(system("sled-with-rotor"), start, inputs=case["inputs"])
    expected = case["results"]
    names = ("sled.vx", "sled.rate", "rotor.rate")
    ours = [instant.accelerations[k] for k in names]
    assert close(ours, [expected[k] for k in ("v1_dot", "theta1_ddot", "theta2_ddot")])
    assert instant.independent_speeds == names
    assert close(instant.mass_matrix, expected["reduced_inertia"])
    assert close(instant.multipliers["blade.lateral"], expected["blade_reaction_lateral"])
    assert close(momenta("sled-with-rotor", instant)["sled.vy"], expected["P12"])
    assert close(instant.kinetic_energy, expected["kinetic_energy"])


def test_sled_with_rotor_trajectory():
    (case,) = SLED["trajectories"]
    start = {SLED_COLUMNS[k]: v for k, v in case["initial"].items()}
    inputs = {"F_v1": 0.5, "tau1": "0.3*cos(t)", "tau2": "0.2*sin(2*t)"}
    run = simulate(system("sled-with-rotor"), case, start, inputs)
    for k, point in enumerate(case["points"], 1):
        theirs = [value for key, value in point.items() if key != "t"]
        assert near([run[SLED_COLUMNS[key]][k] for key in point if key != "t"], theirs)
