"""Saha and Angeles (1991), J. Appl. Mech. 58(1), 238–243: the rolling disk.

The numbers in data/rolling_disk.json and data/couplings.json were computed independently of the
paper's method, in 40-digit arithmetic. The convention there: frame f (heading), e (contact to
center), a (axis), angles psi = yaw, theta = tilt, phi = spin.
"""

import json
import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import noslip as ns

DATA = Path(__file__).parent / "data"
REFERENCE = json.loads((DATA / "rolling_disk.json").read_text())
COUPLINGS = json.loads((DATA / "couplings.json").read_text())
STATE = 1e-12  # of the largest entry: rounding of one evaluation
MOTION = 1e-9  # m, rad: trajectories at tolerance 1e-13


def start_of(case):
    psi, theta = case["psi"], case["theta"]
    r = REFERENCE["params"]["r"]
    x, y = case["contact_xy"]
    lean = r * math.cos(theta)
    return {
        "disk.x": x - lean * math.sin(psi),
        "disk.y": y + lean * math.cos(psi),
        "disk.yaw": psi,
        "disk.tilt": theta,
        "disk.spin": case["phi"],
        "disk.yaw_rate": case["psi_dot"],
        "disk.tilt_rate": case["theta_dot"],
        "disk.spin_rate": case["phi_dot"],
    }


def close(actual, expected, tolerance):
    expected = np.asarray(expected)
    return np.max(np.abs(np.asarray(actual) - expected)) <= tolerance * np.max(np.abs(expected))


def turned(angle, reference):
    """Difference of two angles, modulo a full turn."""
    return abs((angle - reference + math.pi) % (2 * math.pi) - math.pi)


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=["lean", "low", "past_upright"])
def test_accelerations_contact_force_and_energy_at_a_state(disk, case):
    state, expected = case["state"], case["results"]
    instant = ns.evaluate(disk, start_of(state))
    R = np.array(state["R"])
    omega = R @ [instant.speeds[f"disk.w{k}"] for k in "xyz"]
    omega_dot = R @ [instant.accelerations[f"disk.w{k}"] for k in "xyz"]
    velocity = R @ [instant.speeds[f"disk.v{k}"] for k in "xyz"]
    # v̇ are component rates in turning axes: c̈ = R (v̇ + ω × v)
    vdot = np.array([instant.accelerations[f"disk.v{k}"] for k in "xyz"])
    spin = [instant.speeds[f"disk.w{k}"] for k in "xyz"]
    drift = np.cross(spin, [instant.speeds[f"disk.v{k}"] for k in "xyz"])
    force = [instant.reactions["rim"][k] for k in "xyz"]
    assert close([instant.coordinates[f"disk.{k}"] for k in "xyz"], state["c"], STATE)
    assert close(omega, state["omega"], STATE)
    assert close(velocity, expected["c_dot"], STATE)
    assert close(omega_dot, expected["omega_dot"], STATE)
    assert close(R @ (vdot + drift), expected["c_ddot"], STATE)
    assert close(force, expected["contact_force"], STATE)
    assert abs(instant.kinetic_energy - expected["kinetic_energy"]) < STATE * 10
    total = instant.kinetic_energy + instant.potential_energy
    assert abs(total - expected["total_energy"]) < STATE * expected["total_energy"]
    point = [instant.reactions["rim"][f"point_{k}"] for k in "xy"]
    assert close(point, state["contact_xy"], 10 * STATE)


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=["lean", "low", "past_upright"])
def test_generalized_inertia_and_convective_terms_about_the_contact(disk, case):
    """Eqs. (32) to (35) with the velocity of the contact point kept: I ω̇ = C ω + γ."""
    state, expected = case["state"], case["results"]
    instant = ns.evaluate(disk, start_of(state))
    R = np.array(state["R"])
    assert close(R @ instant.mass_matrix @ R.T, expected["inertia_about_contact_I"], STATE)
    # in turning axes the derivative of ω is the same as in fixed ones, so the terms only turn
    assert close(-(R @ instant.velocity_terms), expected["C_times_omega"], 10 * STATE)


def test_the_printed_convective_terms_are_not_what_is_computed(disk):
    """Eq. (33) as printed drops the motion of the contact point; the difference is large."""
    case = REFERENCE["cases"][0]
    instant = ns.evaluate(disk, start_of(case["state"]))
    R = np.array(case["state"]["R"])
    omega_dot = R @ [instant.accelerations[f"disk.w{k}"] for k in "xyz"]
    printed = case["results"]["WRONG_omega_dot_of_printed_eq33"]
    assert np.max(np.abs(omega_dot - printed)) > 2.0


@pytest.mark.parametrize("case", REFERENCE["trajectories"], ids=lambda c: c["name"])
def test_trajectories(disk, case):
    times = [0.0] + [point["t"] for point in case["points"]]
    run = ns.simulate(
        disk,
        duration=times[-1],
        start=start_of(case["initial"]),
        samples=times,
        rtol=1e-13,
        atol=1e-13,
    )
    for k, point in enumerate(case["points"], 1):
        contact = [run["rim.contact_x"][k], run["rim.contact_y"][k]]
        center = [run[f"disk.{axis}"][k] for axis in "xyz"]
        assert np.max(np.abs(np.subtract(contact, point["contact_xy"]))) < MOTION
        assert np.max(np.abs(np.subtract(center, point["centre"]))) < MOTION
        for ours, theirs in (("yaw", "psi"), ("tilt", "theta"), ("spin", "phi")):
            assert turned(run[f"disk.{ours}"][k], point[theirs]) < MOTION
        energy = run.kinetic_energy[k] + run.potential_energy[k]
        assert abs(energy - case["energy"]) < MOTION
    assert run.slip < 1e-13 and run.gap < 1e-13


def test_steady_turn(disk):
    """Tilt and rates stay; the center goes round a circle of the closed form's radius."""
    steady = REFERENCE["steady_turn"]
    start = {
        "disk.tilt": steady["theta"],
        "disk.yaw_rate": steady["psi_dot"],
        "disk.spin_rate": steady["phi_dot"],
    }
    turn = 2 * math.pi / steady["psi_dot"]
    run = ns.simulate(disk, duration=turn, start=start, samples=101, rtol=1e-13, atol=1e-13)
    x, y = run["disk.x"], run["disk.y"]
    middle = np.mean(x[:-1]), np.mean(y[:-1])
    radius = np.hypot(x - middle[0], y - middle[1])
    assert np.max(np.abs(run["disk.tilt"] - steady["theta"])) < MOTION
    assert np.max(np.abs(radius - steady["centre_path_radius"])) < MOTION


def test_no_orientation_is_singular_but_flat(disk):
    """The quaternion disk goes through vertical and through every heading."""
    falling = {"disk.tilt": 1.0, "disk.tilt_rate": 4.0, "disk.spin_rate": -0.5}
    run = ns.simulate(disk, duration=0.3, start=falling, rtol=1e-11, atol=1e-11)
    assert run["disk.tilt"][0] < math.pi / 2 < run["disk.tilt"][-1]
    assert run.energy_drift < 1e-9
    turning = {"disk.tilt": 1.2, "disk.yaw_rate": 1.5, "disk.spin_rate": -5.0}
    run = ns.simulate(disk, duration=12.0, start=turning, rtol=1e-11, atol=1e-11)
    assert np.ptp(run["disk.yaw"]) > 2 * math.pi
    assert run.energy_drift < 1e-9


def test_revolute_coupling_matrices():
    """Eqs. (20) to (22)."""
    given = COUPLINGS["revolute"]
    b = ns.ModelBuilder(name="pair", gravity=(0.0, 0.0, 0.0))
    b.body("i", mass=1.0, inertia=(1.0, 1.0, 1.0))
    offset = tuple(float(x) for x in np.add(given["a_j"], given["rho_j"]))
    b.body("j", mass=1.0, inertia=(1.0, 1.0, 1.0), center_of_mass=offset)
    b.joint("base", ns.joints.Free(), parent="world", child="i")
    b.joint(
        "pin",
        ns.joints.Revolute(axis=tuple(given["e_ij"])),
        parent="i",
        child="j",
        parent_frame=ns.Placement(position=tuple(-x for x in given["rho_i"])),
    )
    A, _ = stacked_numbers(b.build(), [0.0] * 3 + [1.0, 0.0, 0.0, 0.0] + [0.0])
    assert A.shape == (6, 12)
    assert np.max(np.abs(A[:, :6] - given["A_i"])) < 1e-15
    assert np.max(np.abs(A[:, 6:] - given["A_j"])) < 1e-15
    assert np.linalg.matrix_rank(A[:, 6:]) == given["rank_A_j"]
    assert np.max(np.abs(A @ (given["t_i"] + given["t_j"]))) < 1e-15


def test_rolling_coupling_matrices():
    """Eqs. (23) to (25), with C_j = (c_j − q) × 1 where the print has c_i."""
    given = COUPLINGS["rolling"]
    c_i, c_j, q = (np.array(given[k]) for k in ("c_i", "c_j", "q"))
    normal = (c_j - q) / np.linalg.norm(c_j - q)
    tilt, heading = math.acos(normal[2]), math.atan2(normal[1], normal[0])
    b = ns.ModelBuilder(name="pair", gravity=(0.0, 0.0, 0.0))
    for name in ("i", "j"):
        b.body(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
        b.joint(name, ns.joints.Free(), parent="world", child=name)
    frame = ns.Placement(
        position=tuple(float(x) for x in q - c_i), angles=(heading, tilt, 0.0), sequence="zyz"
    )
    ball = ns.surfaces.Ball(radius=float(np.linalg.norm(c_j - q)))
    b.contact(
        ns.contacts.Rolling(
            name="ball", body="j", wheel=ball, plane=ns.contacts.Plane(body="i", frame=frame)
        )
    )
    still = [1.0, 0.0, 0.0, 0.0]
    A, _ = stacked_numbers(b.build(), [*c_i, *still, *c_j, *still])
    assert A.shape == (3, 12)
    assert np.max(np.abs(A[:, :6] - given["A_i"])) < 1e-14
    assert np.max(np.abs(A[:, 6:] - given["A_j"])) < 1e-14
    assert np.max(np.abs(A @ (given["t_i"] + given["t_j"]))) < 1e-14


def stacked_numbers(model, q):
    kin = ns.trace(model)
    matrices = ns.stacked_matrices(kin)
    symbols = kin.symbols
    numbers = ca.Function("m", [symbols.q, symbols.params], [matrices.A, matrices.T])
    return tuple(np.array(m) for m in numbers(q, kin.probe.params))
