"""Errors of [CameronBook1993].

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import math

import numpy as np
import pytest
from errata import ROUNDING, At, compare

from noslip.formulations import mass_matrix


def test_tricycle_is_singular_only_as_printed():
    """(64), (65): αᵀ loses a rank at θ = π/2; with the front wheel's lateral speed it keeps it."""
    smallest = []
    for theta in (0.4, math.pi / 2):
        state = {"frame.angle": theta, "steer.angle": 0.3, "v": 1.5, "steer.rate": -0.8}
        at = At("tricycle", state)
        (ell,) = at.parameter("ell")
        (s, k), (sp, kp) = (math.sin(theta), math.cos(theta)), (math.sin(0.3), math.cos(0.3))
        printed = [
            [k / kp, s / kp, 0, 0],
            [-s, k, 0, 0],
            [-sp, 0, ell * k * kp, 0],
            [0, 0, 0, 1],
        ]
        library = at.numbers(at.kin.K) @ np.linalg.inv(at.numbers(at.kin.N))
        smallest.append([np.linalg.svd(m, compute_uv=False)[-1] for m in (printed, library)])
    (printed, library), (printed_north, library_north) = smallest
    assert printed > 0.1 and printed_north < ROUNDING
    assert library_north == pytest.approx(library, rel=ROUNDING) and library > 0.1


BODY = {"pivot.roll": 0.3, "pivot.pitch": -0.6, "pivot.yaw": 1.1}


def test_order_of_the_angles_of_the_ball_joint():
    """Section 4.3 turns φ about Z first; (72)–(76) hold with φ the roll and ψ the yaw."""
    rates = {"pivot.roll_rate": 0.7, "pivot.pitch_rate": -0.4, "pivot.yaw_rate": 0.9}
    at = At("heavy-body", BODY | rates)

    def omega(phi, phi_dot, psi_dot):
        """Eq. (73)."""
        s, k, st, kt = math.sin(phi), math.cos(phi), math.sin(-0.6), math.cos(-0.6)
        return np.array([[1, 0, -st], [0, k, kt * s], [0, -s, kt * k]]) @ [phi_dot, -0.4, psi_dot]

    compare(
        printed=omega(1.1, 0.9, 0.7),
        corrected=omega(0.3, 0.7, 0.9),
        library=at.start.eta,
        off=0.496,
    )


@pytest.mark.parametrize(("equation", "off"), [("75", 0.088), ("76", 0.789)])
def test_equations_of_the_ball_joint(equation, off):
    """d/dt L_ω + ω × L_ω = τ; (75) has L_ωz where L_ωx belongs, (76) the rate of L_ωy for L_ωz."""
    omega, tau = np.array([0.5, -1.2, 0.8]), np.array([0.4, -0.3, 0.2])
    state = BODY | dict(zip(("pivot.wx", "pivot.wy", "pivot.wz"), omega, strict=True))
    inputs = dict(zip(("tau_x", "tau_y", "tau_z"), tau, strict=True))
    at = At("heavy-body", state, inputs, {"g": 0.0})
    J = at.instant.mass_matrix
    (px, py, pz), rate = J @ omega, J @ at.acceleration("pivot.wx", "pivot.wy", "pivot.wz")
    wx, wy, wz = omega
    printed, corrected, axis = {
        "75": (rate[1] + wz * pz - wx * pz, rate[1] + wz * px - wx * pz, 1),
        "76": (rate[1] - wy * px + wx * py, rate[2] - wy * px + wx * py, 2),
    }[equation]
    compare(printed=printed, corrected=corrected, library=tau[axis], off=off, scale=1.0)


@pytest.mark.parametrize(("quantity", "off"), [("momentum", 0.56), ("energy", 0.196)])
def test_rotor_moves_sideways_with_the_sled(quantity, off):
    """(80), (82), (83): L contains m₂ w₁₂²/2 too until w₁₂ is put to zero."""
    at = At("sled-with-rotor", {})
    m1, m2, ell, I1, I2 = at.parameter("m1", "m2", "ell", "I1", "I2")
    v, w, turn, spin = 0.5, 0.7, 0.8, -2.0
    speeds = np.array([v, w, turn, spin])
    assert [s.name for s in at.kin.speeds] == ["sled.vx", "sled.vy", "sled.rate", "rotor.rate"]
    M = at.numbers(mass_matrix(at.kin))
    if quantity == "momentum":
        printed, corrected = m1 * w - m1 * ell * turn, (m1 + m2) * w - m1 * ell * turn
        library = (M @ speeds)[1]
    else:
        printed = (m1 + m2) * v**2 / 2 + m1 * w**2 / 2 - m1 * ell * turn * w
        printed += I1 * turn**2 / 2 + I2 * (turn + spin) ** 2 / 2
        corrected = printed + m2 * w**2 / 2
        library = speeds @ M @ speeds / 2
    compare(printed=printed, corrected=corrected, library=library, off=off)
