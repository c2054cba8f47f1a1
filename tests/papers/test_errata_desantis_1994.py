"""Errors of [DeSantis1994], sections 2 to 4 and 7: the general method and manipulators.

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import numpy as np
import pytest
from errata import LHD, NO_TIRES, ROUNDING, STEERING, TRACTOR, At, arm, compare, size, skew, system

import noslip as ns
from noslip.formulations import body_jacobian

# sections 2 to 4


def test_angular_velocity_matrix():
    """(1), (2.1): S(Ω) x = Ω × x, the matrix of RᵀṘ."""
    at = At("heavy-body", {"pivot.wx": 0.5, "pivot.wy": -1.2, "pivot.wz": 0.8, "pivot.roll": 0.3})
    R = at.kin.tree.nodes[0].R_WB
    R, R_dot = at.numbers(R, at.rate(R))
    x, y, z = at.start.eta
    printed = np.array([[0, -z, x], [z, 0, -y], [-x, y, 0]])
    compare(printed=printed, corrected=skew([x, y, z]), library=R.T @ R_dot, off=1.7)


def test_projector_of_the_admissible_velocities():
    """(2.13): 1 − Aᵀ(AAᵀ)⁻¹A; as printed AᵀA is to be inverted, which has the rank of A."""
    at = At("tricycle", {"frame.angle": 0.4, "steer.angle": 0.3, "v": 1.5, "steer.rate": -0.8})
    A, E = at.numbers(at.kin.A, at.kin.E)
    assert A.shape == (2, 4) and np.linalg.matrix_rank(A.T @ A) == 2 < 4
    projector = np.eye(4) - A.T @ np.linalg.solve(A @ A.T, A)
    B = E.T @ np.linalg.inv(E @ projector @ E.T)
    assert size(A @ projector @ B) < ROUNDING
    J_nh = at.numbers(ns.DeSantis().matrices(at.kin).J_nh)
    assert size(projector @ B - J_nh) < ROUNDING
    assert size(J_nh - at.numbers(at.kin.S)) < ROUNDING


@pytest.mark.parametrize(
    ("name", "state", "inputs", "parameters", "off"),
    [
        ("tractor-trailer", TRACTOR, STEERING, {}, 0.103),
        ("lhd", LHD, {}, NO_TIRES, 0.103),
        ("manipulator-2r", arm(2), {}, {"g": 0.0}, 2.25),
    ],
)
def test_accelerations_without_forces(name, state, inputs, parameters, off):
    """(4.21), (5.14), (6.35), (6.36): g_0 = −D⁻¹Cα."""
    at = At(name, state, inputs, parameters)
    matrices = ns.DeSantis().matrices(at.kin)
    D, C, library = at.numbers(matrices.D, matrices.C, at.equations.accelerations)
    n = len(at.start.eta)
    g_0 = np.linalg.solve(D.reshape(n, n), C.reshape(n, n) @ at.start.eta)
    compare(printed=g_0, corrected=-g_0, library=library, off=off)


@pytest.mark.parametrize(
    ("name", "state", "off"),
    [
        ("heavy-body", {"pivot.wx": 0.5, "pivot.wy": -1.2, "pivot.wz": 0.8}, 0.562),
        ("manipulator-6r", arm(6), 0.835),
    ],
)
def test_skew_symmetry_in_space(name, state, off):
    """Remark 4.1, (4.27): αᵀ(Ḋ − 2C)α = 0 does not make Ḋ − 2C skew; with C̃ it is."""
    at = At(name, state)
    matrices = ns.DeSantis().matrices(at.kin)
    D_dot, C, C_skew = at.numbers(at.rate(matrices.D), matrices.C, matrices.C_skew)
    printed, corrected, eta = D_dot - 2 * C, D_dot - 2 * C_skew, at.start.eta
    assert abs(eta @ printed @ eta) < ROUNDING
    assert size(C @ eta - C_skew @ eta) < ROUNDING
    compare(
        printed=printed + printed.T,
        corrected=corrected + corrected.T,
        library=np.zeros_like(C),
        off=off,
        scale=size(C),
    )


# section 7: manipulators

CARTESIAN = {"tau1": 1.0, "tau2": -0.5}


@pytest.fixture(scope="module")
def two_links():
    return At("manipulator-2r", arm(2), CARTESIAN, {"g": 0.0})


@pytest.fixture(scope="module")
def cartesian():
    request = {"body": "link2", "components": ("vx", "vy"), "parameters": {"g": 0.0}}
    return ns.cartesian_model(system("manipulator-2r"), arm(2), inputs=CARTESIAN, **request)


@pytest.mark.parametrize(
    ("part", "off"), [("mass", 0.248), ("force", 0.461), ("velocity terms", 0.580)]
)
def test_cartesian_model(two_links, cartesian, part, off):
    """(7.6)–(7.10): J⁻ᵀ on the left, V_x = J⁻ᵀ(C − D J⁻¹J̇)q̇, judged by energy, power and motion."""
    J, D = cartesian.jacobian, two_links.instant.mass_matrix
    inverse, v = np.linalg.inv(J), cartesian.velocity
    tau = np.array(list(CARTESIAN.values()))
    M_x, F_x = inverse.T @ D @ inverse, inverse.T @ tau
    bias, drift = two_links.instant.velocity_terms, D @ inverse @ cartesian.jacobian_rate_term
    if part == "mass":
        printed, corrected = (v @ M @ v / 2 for M in (inverse @ D @ inverse, M_x))
        library = two_links.instant.kinetic_energy
    elif part == "force":
        printed, corrected = inverse @ tau @ v, F_x @ v
        library = tau @ two_links.start.eta
    else:
        # the equation of motion (7.10) at the library's acceleration of the tip
        pushed = M_x @ cartesian.acceleration
        printed, corrected = (
            pushed - inverse.T @ (bias + drift),
            pushed + inverse.T @ (bias - drift),
        )
        library = F_x
    compare(printed=printed, corrected=corrected, library=library, off=off)


GOAL, KP, KD = np.array([0.5, -0.4]), np.diag([30.0, 20.0]), np.diag([6.0, 4.0])


@pytest.mark.parametrize(("equation", "off"), [("7.13", 7.78), ("7.15", 0.0221), ("7.16", 16.1)])
def test_lyapunov_function_of_the_controlled_arm(equation, off):
    """V = ½eᵀK_p e + ½q̇ᵀDq̇ and V̇ = −q̇ᵀK_d q̇, without gravity."""
    state = arm(2)
    q, q_dot = np.array([0.3, -0.8]), np.array([0.7, -1.1])
    e = q - GOAL
    tau = dict(zip(("tau1", "tau2"), -KP @ e - KD @ q_dot, strict=True))
    at = At("manipulator-2r", state, tau, {"g": 0.0})
    q_ddot = at.acceleration("joint1.rate", "joint2.rate")
    D, D_dot = at.numbers(at.equations.reduced_mass, at.rate(at.equations.reduced_mass))
    C = at.numbers(ns.DeSantis().matrices(at.kin).C)
    # the rate of ½eᵀK_p e + ½q̇ᵀDq̇ along the library's motion: right side of (7.14)
    library = q_dot @ KP @ e + q_dot @ D @ q_ddot + q_dot @ D_dot @ q_dot / 2
    damping, power = -q_dot @ KD @ q_dot, q_dot @ np.array(list(tau.values()))
    printed, corrected = {
        "7.13": (2 * (e @ KP @ q_dot + power), e @ KP @ q_dot + power),
        "7.15": (
            damping + q_dot @ (D_dot - C) @ q_dot / 2,
            damping + q_dot @ (D_dot - 2 * C) @ q_dot / 2,
        ),
        "7.16": (-q_dot @ KP @ q, damping),
    }[equation]
    compare(printed=printed, corrected=corrected, library=library, off=off)


def test_proportional_control_does_not_hold_against_gravity():
    """(7.1), (7.11): at the goal and at rest the arm falls; with the torque G it stays."""
    state = {"joint1.angle": 0.5, "joint2.angle": -0.4}
    falling = At("manipulator-2r", state)
    G = -falling.numbers(falling.equations.reduced_forces)
    held = At("manipulator-2r", state, dict(zip(("tau1", "tau2"), G, strict=True)))
    names = ("joint1.rate", "joint2.rate")
    compare(
        printed=falling.acceleration(*names),
        corrected=held.acceleration(*names),
        library=np.zeros(2),
        off=19.3,
        scale=100.0,
    )


def test_only_the_last_column_of_a_link_jacobian_is_a_unit_vector():
    """Section 7 (e): J_hi is [0 0 0 0 0 1]' in its i-th column, and has i columns."""
    at = At("manipulator-6r", arm(6))
    J_h = at.numbers(body_jacobian(at.kin))
    turning = [J_h[6 * i + 3 : 6 * i + 6] for i in range(6)]
    for i, link in enumerate(turning):
        assert size(link[:, i] - [0.0, 0.0, 1.0]) < ROUNDING
        assert size(link[:, i + 1 :]) == 0.0
    # the twist of the last link for all rates, against that of its own joint alone
    compare(
        printed=[0.0, 0.0, at.start.eta[5]],
        corrected=turning[5] @ at.start.eta,
        library=at.numbers(at.kin.twists[5][0]),
        off=1.27,
    )
