"""Saha and Angeles (1989), IEEE Conf. Robotics and Automation, 1572–1577: the three-wheeled AGV.

The numbers in data/agv.json were computed independently of the paper's method, in 40-digit
arithmetic. Bodies 1, 2, 3 are the wheels, 4 the bracket, 5 the platform.
"""

import dataclasses
import json
import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import noslip as ns

REFERENCE = json.loads((Path(__file__).parent / "data" / "agv.json").read_text())
BODIES = ("wheel1", "wheel2", "wheel3", "bracket", "platform")
STATE = 1e-12  # of the largest entry: rounding of one evaluation
MOTION = 1e-9  # rad, rad/s, rad/s², N m: columns of the circle tables


@pytest.fixture(params=REFERENCE["cases"], ids=["first", "second", "third"])
def case(request):
    return request.param


def close(actual, expected, tolerance=STATE):
    expected = np.asarray(expected, dtype=float)
    difference = np.max(np.abs(np.asarray(actual) - expected))
    return difference <= tolerance * np.max(np.abs(expected))


def at(system, case):
    state = {
        "platform.angle": case["state"]["beta"],
        "bracket.angle": case["state"]["psi"],
        "wheel1.rate": case["state"]["theta_dot_a"][0],
        "wheel2.rate": case["state"]["theta_dot_a"][1],
    }
    inputs = dict(zip(("torque1", "torque2"), case["inputs"]["tau"], strict=True))
    return ns.evaluate(system, state, inputs=inputs)


def test_inertia_convective_terms_and_accelerations(agv, case):
    instant, expected = at(agv, case), case["results"]
    rates = [instant.speeds[n] for n in ("wheel3.rate", "bracket.rate")]
    active = [instant.accelerations[n] for n in ("wheel1.rate", "wheel2.rate")]
    passive = [instant.accelerations[n] for n in ("wheel3.rate", "bracket.rate")]
    assert close(instant.mass_matrix, expected["generalized_inertia_I"])
    assert close(-instant.velocity_terms, expected["C_times_thetadot"])
    assert close(active, expected["theta_ddot_a"])
    assert close(rates, expected["theta_dot_u"])
    assert close(passive, expected["theta_ddot_u"])
    assert close(instant.kinetic_energy, expected["kinetic_energy"])


def test_platform_motion_in_the_world(agv, case):
    """Eqs. (2), (3) and (8)."""
    instant, expected = at(agv, case), case["results"]
    assert close(instant.speeds["platform.rate"], expected["omega"])
    assert close(
        [instant.speeds["platform.vx"], instant.speeds["platform.vy"]],
        expected["xdot_ydot_platform"],
    )
    moved = [instant.coordinate_rates[f"platform.{k}"] for k in "xy"]
    assert close(moved, expected["X_dot_Y_dot"])
    # component rates in the platform's axes, turned and with ω × v, are the second derivatives
    beta, rate = case["state"]["beta"], instant.speeds["platform.rate"]
    vx, vy = instant.speeds["platform.vx"], instant.speeds["platform.vy"]
    ax = instant.accelerations["platform.vx"] - rate * vy
    ay = instant.accelerations["platform.vy"] + rate * vx
    second = [
        ax * math.cos(beta) - ay * math.sin(beta),
        ax * math.sin(beta) + ay * math.cos(beta),
        instant.accelerations["platform.rate"],
    ]
    assert close(second, expected["XYbeta_ddot"])


def test_wheel_reactions(agv, case):
    """The two coaxial wheels share a lateral row: their sum is determined, least norm halves it."""
    instant, expected = at(agv, case), case["results"]["reactions"]
    lam = instant.multipliers
    # our longitudinal direction is −j for positive rolling, our lateral is i (e₃)
    ours = [
        lam["wheel1.lateral"] + lam["wheel2.lateral"],
        -lam["wheel1.longitudinal"],
        -lam["wheel2.longitudinal"],
        lam["wheel3.lateral"],
        -lam["wheel3.longitudinal"],
    ]
    assert close(ours, list(expected.values()), 10 * STATE)
    assert lam["wheel1.lateral"] == pytest.approx(lam["wheel2.lateral"], abs=1e-13)


def stacked(model, case, speeds):
    """A, T of a model at a case, in the paper's order of bodies and in platform axes."""
    kin = ns.trace(model)
    matrices = ns.stacked_matrices(kin)
    symbols = kin.symbols
    numbers = ca.Function("m", [symbols.q, kin.eta, symbols.params], [matrices.A, matrices.T])
    q = {"bracket.angle": case["state"]["psi"]}
    A, T = numbers([q.get(c.name, 0.0) for c in kin.coordinates], speeds, kin.probe.params)
    order = [6 * matrices.bodies.index(body) + k for body in BODIES for k in range(6)]
    return np.array(A)[:, order], np.array(T)[order], matrices.couplings, kin


def with_free_caster():
    """The vehicle with the caster's wheel off the ground: four joint rates are independent."""
    model = ns.load("agv")
    contacts = tuple(c for c in model.contacts if c.name != "wheel3")
    names = ("wheel1.rate", "wheel2.rate", "wheel3.rate", "bracket.rate")
    speeds = tuple(ns.IndependentSpeed(name=name) for name in names)
    return dataclasses.replace(model, contacts=contacts, independent_speeds=speeds)


def test_twist_matrices_of_active_and_passive_rates(case):
    """Eq. (24): t = T_a θ̇_a + T_u θ̇_u is the complement of the vehicle with its caster free."""
    _, T, _, _ = stacked(with_free_caster(), case, np.zeros(4))
    assert close(T[:, :2], case["results"]["T_a"])
    assert close(T[:, 2:], case["results"]["T_u"])


def test_closure_of_the_caster(case):
    """Eqs. (25), (26): J_a θ̇_a + J_u θ̇_u = 0 is the caster's contact, and det J_u = −r d."""
    _, T_free, _, _ = stacked(with_free_caster(), case, np.zeros(4))
    A, T, couplings, kin = stacked(ns.load("agv"), case, np.zeros(2))
    rows = [k for k, name in enumerate(couplings) if name == "contact wheel3"]
    J = A[rows][:2] @ T_free
    assert close(J[:, :2], case["results"]["J_a"])
    assert close(J[:, 2:], case["results"]["J_u"])
    p = kin.model.parameter_values()
    assert np.linalg.det(J[:, 2:]) == pytest.approx(-p["r"] * p["d"], rel=1e-13)
    # eq. (27): T = T_a − T_u J_u⁻¹ J_a
    reduced = T_free[:, :2] - T_free[:, 2:] @ np.linalg.solve(J[:, 2:], J[:, :2])
    assert close(T, reduced)
    assert close(T, case["results"]["T"])


def test_coupling_matrix_has_rank_28(case):
    """Eq. (16): four revolute joints and three contacts, 33 rows on five free bodies."""
    A, T, couplings, _ = stacked(ns.load("agv"), case, np.zeros(2))
    A = A[[k for k, name in enumerate(couplings) if name != "joint platform"]]
    assert list(A.shape) == REFERENCE["A33x30"]["shape"]
    assert np.linalg.matrix_rank(A) == REFERENCE["A33x30"]["rank"]
    assert np.max(np.abs(A @ T)) < 1e-15


def variant(path):
    """The scenario of a tabulated path: which point follows the circle, and which way."""
    model = ns.load("agv")
    rho = "sqrt(R^2 - a^2)" if path["mode"] == "C_on_circle" else "R"
    if path["rho_P"] < 0:
        rho = f"-{rho}"
    scenario = model.scenario
    definitions = {**scenario.definitions, "rho": rho}
    scenario = dataclasses.replace(scenario, definitions=definitions)
    return dataclasses.replace(model, scenario=scenario)


def name_of(path):
    return f"R{path['R']:g}-{path['mode']}-{path['direction'][:7]}-{path['psi0_choice']}"


FORWARD = [path for path in REFERENCE["circular_paths"] if path["rho_P"] > 0]
REVERSE = [path for path in REFERENCE["circular_paths"] if path["rho_P"] < 0]


@pytest.mark.parametrize("path", FORWARD, ids=name_of)
def test_circle_tables(path):
    """Figs. 4 and 5: joint angles, rates, accelerations, caster angle and torques on the circle."""
    system = ns.compile(ns.derive(variant(path)))
    changes = {"R": path["R"], "bracket.angle": path["psi0"]}
    run = ns.run_scenario(system, changes=changes, rtol=1e-13, atol=1e-13)
    for sample in path["samples"] + path["samples_start_transient"]:
        k = int(np.argmin(np.abs(run.t - sample["t"])))
        assert run.t[k] == pytest.approx(sample["t"], abs=1e-12)

        def read(names, k=k):
            return [run[name][k] for name in names]

        wheels = ("wheel1", "wheel2")
        pairs = [
            (read([f"{w}.rate" for w in wheels]), sample["theta_dot_a"]),
            (read([f"acceleration.{w}.rate" for w in wheels]), sample["theta_ddot_a"]),
            (read(["torque1", "torque2"]), sample["tau"]),
            (read(["bracket.angle"]), [sample["psi"]]),
            (read(["bracket.rate"]), [sample["psi_dot"]]),
            (read(["acceleration.bracket.rate"]), [sample["psi_ddot"]]),
            (read(["platform.angle"]), [sample["beta"]]),
        ]
        if "theta_a" in sample:
            pairs += [
                (read([f"{w}.angle" for w in wheels]), sample["theta_a"]),
                (read(["wheel3.angle", "wheel3.rate"]), [sample["theta_3"], sample["theta3_dot"]]),
                (read(["platform.x", "platform.y"]), [sample["X"], sample["Y"]]),
            ]
        for actual, expected in pairs:
            assert np.max(np.abs(np.subtract(actual, expected))) < MOTION
    middle = int(np.argmin(np.abs(run.t - 30.0)))
    assert run.kinetic_energy[middle] == pytest.approx(path["energy_T30"], rel=1e-11)
    assert run.work[middle] == pytest.approx(path["energy_T30"], rel=1e-10)
    assert run.admissibility < 1e-12


@pytest.mark.parametrize("path", REVERSE, ids=name_of)
def test_inverse_kinematics_and_dynamics_in_reverse(path):
    """Backwards, the mass center trails the axle and open-loop motion is unstable, as for a sleigh.

    Rounding then grows by e^(distance over length), so the forward simulation is no test; the
    inverse one, which gives the tabulated angles and torques, does not see it.
    """
    system = ns.compile(ns.derive(variant(path)))
    changes = {"R": path["R"], "bracket.angle": path["psi0"]}
    run = ns.run_scenario(system, changes=changes, rtol=1e-13, atol=1e-13)
    for sample in path["samples"]:
        k = int(np.argmin(np.abs(run.t - sample["t"])))
        names = ("wheel1.angle", "wheel2.angle", "wheel3.angle", "bracket.angle", "platform.angle")
        ours = [run[f"reference.{n}"][k] for n in names]
        theirs = [*sample["theta_a"], sample["theta_3"], sample["psi"], sample["beta"]]
        assert np.max(np.abs(np.subtract(ours, theirs))) < MOTION
        torques = [run["torque1"][k], run["torque2"][k]]
        assert np.max(np.abs(np.subtract(torques, sample["tau"]))) < MOTION


@pytest.mark.parametrize("radius", [1.0, 2.0])
def test_simulation_error_shrinks_with_the_tolerance(agv, radius):
    """Section 5 says that it would not; with the caster angle in the state it does."""
    errors = []
    for tolerance in (1e-6, 1e-9, 1e-12):
        result = ns.run_scenario(agv, changes={"R": radius}, rtol=tolerance, atol=tolerance)
        last = [abs(result.errors[f"wheel{k}.angle"][-1]) for k in (1, 2)]
        errors.append(max(last))
    assert errors[1] < errors[0] / 100
    assert errors[2] < errors[1]
    assert errors[2] < 1e-11


def test_run_under_given_torques(agv):
    case = REFERENCE["trajectories"][0]
    run = ns.simulate(
        agv,
        duration=case["points"][-1]["t"],
        start={"bracket.angle": case["initial"]["psi"]},
        inputs={"torque1": "-0.05 + 0.02*sin(t)", "torque2": "-0.05 - 0.01*cos(2*t)"},
        samples=[0.0] + [p["t"] for p in case["points"]],
        rtol=1e-13,
        atol=1e-13,
    )
    for k, point in enumerate(case["points"], 1):
        ours = [run[n][k] for n in ("wheel1.angle", "wheel2.angle", "bracket.angle")]
        ours += [run[n][k] for n in ("wheel1.rate", "wheel2.rate")]
        ours += [run[n][k] for n in ("platform.angle", "platform.x", "platform.y")]
        theirs = [*point["theta_a"], point["psi"], *point["theta_dot_a"]]
        theirs += [point["beta"], point["X"], point["Y"]]
        assert np.max(np.abs(np.subtract(ours, theirs))) < MOTION


def test_a_twist_outside_the_range_is_not_averaged_away(agv):
    """Eq. (6c): least squares of an inadmissible twist would silently bend the path."""
    model = agv.model
    motion = {
        "platform.x": "R*cos(beta)",
        "platform.y": "R*sin(beta)",
        "platform.angle": "beta",
    }
    scenario = dataclasses.replace(model.scenario, motion=motion)
    system = ns.compile(ns.derive(dataclasses.replace(model, scenario=scenario)))
    with pytest.raises(ns.SimulationError, match="not admissible") as caught:
        ns.run_scenario(system)
    assert "motion" in caught.value.where
    assert "satisfies the constraints" in caught.value.fix
