"""Antunes, Sigaud, de Moraes (2010), Braz. J. Phys. 40(2), 131–140: sleigh, disk, carriage.

The numbers in data/*.json were computed independently of the paper's method, with 40 digits.
Corrections to the paper: the vakonomic multiplier is not free, Ψ̈ = −(v_T²/2b²) sin 2Ψ follows from
eqs. (28) and (30)–(32); the disk of appendix A has two multipliers. The knife's force is N = −μ.
"""

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from reference_models import STATE, close, load, near, simulate

import noslip as ns
from noslip import Multipliers, NaturalComplement, Vakonomic

DATA = Path(__file__).parent / "data"

SLEIGH, DISK, CARRIAGE = (
    json.loads((DATA / f"{name}.json").read_text())
    for name in ("chaplygin_sleigh", "vertical_disk", "carriage")
)


@functools.cache
def system(name, formulation=NaturalComplement):
    return ns.compile(ns.derive(load(name), formulation()))


def world_rates(instant, joint):
    """ẍ, ÿ of a planar joint that does not move sideways: (s̈, s′ φ̇) turned by the heading."""
    phi = instant.coordinates[f"{joint}.angle"]
    along = instant.accelerations[f"{joint}.vx"]
    across = instant.speeds[f"{joint}.vx"] * instant.speeds[f"{joint}.rate"]
    c, s = math.cos(phi), math.sin(phi)
    return [along * c - across * s, along * s + across * c]


# 2, 3 and appendix D: the sleigh

M, A, B = (SLEIGH["params"][k] for k in ("m", "a", "b"))
COSTATE = "costate.blade.lateral"


def sleigh_start(state):
    names = {"x": "sleigh.x", "y": "sleigh.y", "phi": "sleigh.angle", "lam": COSTATE}
    names |= {"s_dot": "sleigh.vx", "phi_dot": "sleigh.rate"}
    return {names[k]: v for k, v in state.items()}


def trajectory(name):
    return next(case for case in SLEIGH["trajectories"] if case["name"] == name)


@pytest.mark.parametrize("formulation", [NaturalComplement, Multipliers])
@pytest.mark.parametrize("case", SLEIGH["cases"], ids=["forced", "free"])
def test_sleigh_by_dalembert(case, formulation):
    """Eqs. (D12)–(D15); the knife's force is −μ."""
    start = sleigh_start({k: v for k, v in case["state"].items() if k != "lam"})
    inputs = {"F_cs": "F_cs", "F_cphi": "F_cphi", "torque_c": "tau_c"}
    inputs = {ours: case["inputs"][theirs] for theirs, ours in inputs.items()}
    instant = ns.evaluate(system("chaplygin-sleigh", formulation), start, inputs=inputs)
    expected = case["results"]["lda"]
    second = [*world_rates(instant, "sleigh"), instant.accelerations["sleigh.rate"]]
    assert close(second, expected["xyphi_ddot"])
    assert close(instant.accelerations["sleigh.vx"], expected["s_ddot"])
    assert close(instant.multipliers["blade.lateral"], expected["knife_reaction_N"])
    assert close(-instant.multipliers["blade.lateral"], expected["mu_paper_sign"])
    assert close(instant.kinetic_energy, case["results"]["kinetic_energy"])


@pytest.mark.parametrize("case", SLEIGH["cases"], ids=["first", "second"])
def test_vakonomic_sleigh(case):
    """Eqs. (13)–(16), (19), (D6): λ_c = λ + m a φ̇, and λ̇ is minus the constraint force."""
    state = case["state"]
    instant = ns.evaluate(system("chaplygin-sleigh", Vakonomic), sleigh_start(state))
    expected = case["results"]["vakonomic_no_input"]
    second = [*world_rates(instant, "sleigh"), instant.accelerations["sleigh.rate"]]
    assert close(second, expected["xyphi_ddot"])
    assert close(instant.accelerations["sleigh.vx"], expected["s_ddot"])
    assert close(-instant.multipliers["blade.lateral"], expected["lam_dot"])
    lam_c = state["lam"] + M * A * state["phi_dot"]
    assert close(lam_c, expected["lam_c"], 10 * STATE)
    assert close(instant.accelerations["sleigh.vx"], lam_c * state["phi_dot"] / M)
    assert close(math.sqrt(2 * instant.kinetic_energy / M), case["results"]["v_T"])
    assert close(control_angle(state["s_dot"], state["phi_dot"]), case["results"]["Psi"])


def control_angle(s_dot, phi_dot):
    """Ψ with s′ = v_T sin Ψ and b φ̇ = v_T cos Ψ."""
    return np.arctan2(s_dot, B * phi_dot)


def test_free_sleigh_in_closed_form():
    """s′ = v_T tanh, φ̇ = (v_T/b) sech, φ by the gudermannian of k t + c, at every instant."""
    case = trajectory("LdA_free")
    initial = case["initial"]
    compiled = system("chaplygin-sleigh")
    run = ns.simulate(
        compiled,
        duration=5.0,
        start=sleigh_start(initial),
        samples=101,
        rtol=1e-13,
        atol=1e-13,
        reactions=True,
    )
    v_T = math.hypot(initial["s_dot"], B * initial["phi_dot"])
    k, c = A * v_T / B**2, math.atanh(initial["s_dot"] / v_T)
    at = k * run.t + c
    s_dot, phi_dot = v_T * np.tanh(at), v_T / B / np.cosh(at)
    assert near(run["sleigh.vx"], s_dot)
    assert near(run["sleigh.rate"], phi_dot)
    turned = np.arctan(np.sinh(at)) - math.atan(math.sinh(c))  # gd(x) = arctan sinh x
    assert near(run["sleigh.angle"], initial["phi"] + B / A * turned)
    assert near(run["reaction.blade.lateral"], M * (1 - A**2 / B**2) * s_dot * phi_dot)


def test_free_sleigh_trajectory():
    case = trajectory("LdA_free")
    start = sleigh_start(case["initial"])
    run = simulate(system("chaplygin-sleigh"), case, start, reactions=True)
    columns = ("sleigh.x", "sleigh.y", "sleigh.angle", "sleigh.vx", "sleigh.rate")
    keys = ("x", "y", "phi", "s_dot", "phi_dot")
    for k, point in enumerate(case["points"], 1):
        assert near([run[c][k] for c in columns], [point[key] for key in keys])
        assert near(run["reaction.blade.lateral"][k], point["knife_reaction_N"])


@pytest.mark.parametrize("name", ["vakonomic_free_lam0_0", "vakonomic_free_lam0_0.6"])
def test_vakonomic_sleigh_trajectories(name):
    case = trajectory(name)
    start = sleigh_start(case["initial"])
    run = simulate(system("chaplygin-sleigh", Vakonomic), case, start)
    columns = ("sleigh.x", "sleigh.y", "sleigh.angle", "sleigh.vx", "sleigh.rate", COSTATE)
    keys = ("x", "y", "phi", "s_dot", "phi_dot", "lam")
    for k, point in enumerate(case["points"], 1):
        assert near([run[c][k] for c in columns], [point[key] for key in keys])
        angle = control_angle(run["sleigh.vx"][k], run["sleigh.rate"][k])
        assert near(angle, point["Psi"])


@pytest.mark.parametrize("lam", [0.0, 0.6, -1.1])
def test_vakonomic_sleigh_is_a_pendulum_with_three_constants(lam):
    """v_T, m ẋ − λ_c sin φ and m ẏ + λ_c cos φ are conserved, and Ψ̈ = −(v_T²/2b²) sin 2Ψ."""
    start = {"sleigh.angle": 0.2, "sleigh.vx": 0.3, "sleigh.rate": 1.5, COSTATE: lam}
    run = ns.simulate(
        system("chaplygin-sleigh", Vakonomic),
        duration=5.0,
        start=start,
        samples=101,
        rtol=1e-13,
        atol=1e-13,
        reactions=True,
    )
    s_dot, phi_dot, phi = (run[f"sleigh.{k}"] for k in ("vx", "rate", "angle"))
    lam_c = run[COSTATE] + M * A * phi_dot
    v_T = np.hypot(s_dot, B * phi_dot)
    constants = (
        v_T,
        M * s_dot * np.cos(phi) - lam_c * np.sin(phi),
        M * s_dot * np.sin(phi) + lam_c * np.cos(phi),
    )
    for constant in constants:
        assert near(constant, constant[0], 1e-11)
    # Ψ̇ from the motion, and Ψ̈ from the rate of λ_c
    s_ddot, phi_ddot = (run[f"acceleration.sleigh.{k}"] for k in ("vx", "rate"))
    angle_rate = B * (s_ddot * phi_dot - s_dot * phi_ddot) / v_T**2
    assert near(angle_rate, lam_c / (M * B), 1e-11)
    lam_c_dot = -run["reaction.blade.lateral"] + M * A * phi_ddot
    angle = control_angle(s_dot, phi_dot)
    assert near(lam_c_dot / (M * B), -(v_T**2) / (2 * B**2) * np.sin(2 * angle), 1e-11)


def test_circles_are_not_vakonomic():
    """Section 6 tracks one; its constant Ψ would need Ψ̈ = 0, which the equations refuse."""
    v_T, angle = 1.0, math.pi / 4
    start = {"sleigh.vx": v_T * math.sin(angle), "sleigh.rate": v_T * math.cos(angle) / B}
    # λ_c = 0 keeps Ψ̇ = 0 for an instant
    start[COSTATE] = -M * A * start["sleigh.rate"]
    instant = ns.evaluate(system("chaplygin-sleigh", Vakonomic), start)
    assert instant.accelerations["sleigh.vx"] == pytest.approx(0.0, abs=1e-15)
    lam_c_dot = -instant.multipliers["blade.lateral"] + M * A * instant.accelerations["sleigh.rate"]
    assert lam_c_dot / (M * B) == pytest.approx(-(v_T**2) / (2 * B**2))


# appendix A: the upright disk


def disk_start(state):
    names = {"x": "fork.x", "y": "fork.y", "phi": "fork.angle", "theta": "spin.angle"}
    names |= {"s_dot": "fork.vx", "phi_dot": "fork.rate"}
    names |= {"lam1": "costate.rim.lateral", "lam2": "costate.rim.longitudinal"}
    return {names[k]: v for k, v in state.items()}


@pytest.mark.parametrize("case", DISK["cases"], ids=["driven", "free"])
def test_disk_by_dalembert(case):
    expected = case["results"]
    instant = ns.evaluate(system("vertical-disk"), disk_start(case["state"]), inputs=case["inputs"])
    turning = [instant.accelerations[k] for k in ("fork.rate", "spin.rate")]
    assert near(instant.accelerations["fork.vx"], expected["s_ddot"], STATE)
    assert close([*world_rates(instant, "fork"), *turning], expected["xyphitheta_ddot"])
    forces = [instant.multipliers[f"rim.{k}"] for k in ("lateral", "longitudinal")]
    assert close(forces, [expected["lateral_reaction"], expected["rolling_reaction"]])
    assert close(instant.kinetic_energy, expected["kinetic_energy"])
    p = load("vertical-disk").parameter_values()
    b = p["R"] * math.sqrt(p["I2"] / (p["I1"] + p["m"] * p["R"] ** 2))
    assert close([b, b], [expected["b"], DISK["params"]["b"]])
    state = case["state"]
    assert close(math.atan2(state["s_dot"], b * state["phi_dot"]), expected["Psi"])


@pytest.mark.parametrize("case", DISK["cases"], ids=["first", "second"])
def test_vakonomic_disk(case):
    """Two multipliers; the paper's one is the case I_1 θ̇ = R λ_2."""
    expected = case["vakonomic"]
    state = case["state"] | {"lam1": expected["lam1_lateral"], "lam2": expected["lam2_rolling"]}
    instant = ns.evaluate(system("vertical-disk", Vakonomic), disk_start(state))
    turning = [instant.accelerations[k] for k in ("fork.rate", "spin.rate")]
    assert close([*world_rates(instant, "fork"), *turning], expected["xyphitheta_ddot"])
    rates = [-instant.multipliers[f"rim.{k}"] for k in ("lateral", "longitudinal")]
    assert close(rates, [expected["lam1_dot"], expected["lam2_dot"]])


def test_disk_under_constant_torques():
    case = next(c for c in DISK["trajectories"] if c["name"] == "forced_LdA")
    inputs = {"tau_theta": 0.05, "tau_phi": 0.01}
    run = simulate(system("vertical-disk"), case, disk_start(case["initial"]), inputs)
    columns = ("fork.x", "fork.y", "fork.angle", "spin.angle", "fork.vx", "fork.rate")
    keys = ("x", "y", "phi", "theta", "s_dot", "phi_dot")
    for k, point in enumerate(case["points"], 1):
        assert near([run[c][k] for c in columns], [point[key] for key in keys])


def test_vakonomic_disk_trajectory():
    case = next(c for c in DISK["trajectories"] if c["name"] == "vakonomic_free")
    run = simulate(system("vertical-disk", Vakonomic), case, disk_start(case["initial"]))
    costates = ("costate.rim.lateral", "costate.rim.longitudinal")
    columns = ("fork.x", "fork.y", "fork.angle", "fork.vx", "fork.rate", *costates)
    keys = ("x", "y", "phi", "s_dot", "phi_dot", "lam1", "lam2")
    for k, point in enumerate(case["points"], 1):
        assert near([run[c][k] for c in columns], [point[key] for key in keys])
    # I_1 θ̇ − R λ_2 is conserved
    p = load("vertical-disk").parameter_values()
    momentum = p["I1"] * run["spin.rate"] - p["R"] * run["costate.rim.longitudinal"]
    assert near(momentum, momentum[0], 1e-12)


# appendix B: the carriage


@pytest.mark.parametrize("case", CARRIAGE["cases"], ids=["first", "second"])
def test_carriage(case):
    state, expected = case["state"], case["results"]
    start = {
        "carriage.angle": state["phi"],
        "carriage.vx": state["s_dot"],
        "carriage.rate": state["phi_dot"],
    }
    instant = ns.evaluate(system("carriage"), start, inputs=case["inputs"])
    ours = [instant.accelerations[k] for k in ("carriage.vx", "carriage.rate")]
    assert close(ours, [expected["s_ddot"], expected["phi_ddot"]])
    wheels = [instant.accelerations[f"wheel{k}.rate"] for k in (1, 2)]
    assert close(wheels, expected["theta12_ddot"])
    assert close(instant.mass_matrix, np.diag([expected["M_s"], expected["J_phi"]]))
    tractions = [instant.multipliers[f"wheel{k}.longitudinal"] for k in (1, 2)]
    assert close(tractions, expected["traction_forces"])
    # both wheels carry one lateral row: its force is shared, least norm halves it
    laterals = [instant.multipliers[f"wheel{k}.lateral"] for k in (1, 2)]
    assert close(sum(laterals), expected["lateral_reaction"])
    assert laterals[0] == pytest.approx(laterals[1], rel=1e-12)
    assert close(instant.kinetic_energy, expected["kinetic_energy"])
    b = math.sqrt(instant.mass_matrix[1, 1] / instant.mass_matrix[0, 0])
    assert close([b, b], [expected["b"], CARRIAGE["params"]["b"]])


def test_carriage_trajectory():
    (case,) = CARRIAGE["trajectories"]
    initial = case["initial"]
    start = {
        "carriage.angle": initial["phi"],
        "carriage.vx": initial["s_dot"],
        "carriage.rate": initial["phi_dot"],
    }
    inputs = {"tau1": "0.2 + 0.05*sin(t)", "tau2": "0.1*cos(2*t)"}
    run = simulate(system("carriage"), case, start, inputs)
    columns = [f"carriage.{k}" for k in ("x", "y", "angle", "vx", "rate")]
    keys = ("x", "y", "phi", "s_dot", "phi_dot")
    for k, point in enumerate(case["points"], 1):
        assert near([run[c][k] for c in columns], [point[key] for key in keys])
        assert near([run[f"wheel{j}.angle"][k] for j in (1, 2)], point["theta12"])
