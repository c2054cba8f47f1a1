"""Errors of [SahaAngeles1991], the rolling disk and the general method.

The printed form, the corrected form and what the library computes at the same state stand side by
side; see errata.py beside this file, and docs/errata.md for readers.
"""

import math

import casadi as ca
import numpy as np
import pytest
from errata import ROUNDING, At, arm, compare, size, skew

import noslip as ns


@pytest.fixture(scope="module")
def disk():
    angles = {"disk.yaw": 0.4, "disk.tilt": 1.2, "disk.spin": 0.3}
    rates = {"disk.yaw_rate": 0.8, "disk.tilt_rate": -0.5, "disk.spin_rate": -4.0}
    return At("rolling-disk", angles | rates)


def disk_vectors(disk):
    """ω, d = c − q, ċ, q̇, R with η = Rᵀω, and I_C, in the world; q is the contact point."""
    node, point = disk.kin.tree.nodes[0], disk.kin.contacts[0].point
    parts = [node.p_WB, point, disk.rate(node.p_WB), disk.rate(point), node.R_WB, node.inertia_D]
    c, q, c_dot, q_dot, R, inertia = disk.numbers(*parts)
    return R @ disk.start.eta, c - q, c_dot, q_dot, R, R @ inertia @ R.T


def test_rate_of_the_complement_of_the_disk(disk):
    """Ṫ after (31): the contact point moves, Ṫ = [0; (q̇ − ċ) ×] and not [0; −ċ ×]."""
    # columns for ω in the world
    T = ca.mtimes(ns.stacked_matrices(disk.kin).T, disk.kin.tree.nodes[0].R_WB.T)
    _, _, c_dot, q_dot, *_ = disk_vectors(disk)
    compare(
        printed=np.vstack([np.zeros((3, 3)), -skew(c_dot)]),
        corrected=np.vstack([np.zeros((3, 3)), skew(q_dot - c_dot)]),
        library=disk.numbers(disk.rate(T)),
        off=1.84,
    )


@pytest.mark.parametrize(("form", "off"), [("33", 1.37), ("line before 33", 1.04)])
def test_convective_terms_of_the_disk(disk, form, off):
    """C ω = −ω × I_C ω − m d × (ω × ḋ), ḋ = ċ − q̇; as printed energy comes from nowhere."""
    omega, d, c_dot, q_dot, R, inertia = disk_vectors(disk)
    (m,) = disk.parameter("m")
    gyroscopic = -np.cross(omega, inertia @ omega)
    # (q − c) × ω and (q − c)·ω; the line before has ω × (q − c) where (33) needs ω × (c − q)
    sign = 1 if form == "33" else -1
    printed = gyroscopic - sign * m * np.cross(-d, omega) * (-d @ omega)
    library = -R @ disk.instant.velocity_terms
    corrected = gyroscopic - m * np.cross(d, np.cross(omega, c_dot - q_dot))
    compare(printed=printed, corrected=corrected, library=library, off=off)
    # W; the true motion keeps its energy
    assert omega @ (printed - library) == pytest.approx(-0.746, rel=0.01)
    # what (33) leaves out, in closed form: m r² φ̇ (ω·e) f
    f, e, (r,) = np.array([math.cos(0.4), math.sin(0.4), 0.0]), d / 0.5, disk.parameter("r")
    missing = m * r**2 * -4.0 * (omega @ e) * f
    if form == "33":
        assert size(printed + missing - library) <= ROUNDING * size(library)


def ball_on_a_plate():
    b = ns.ModelBuilder(name="ball-on-a-plate", gravity=(0.0, 0.0, 0.0))
    for name in ("plate", "ball"):
        b.body(name, mass=1.0, inertia=(0.1, 0.2, 0.3))
        b.joint(name, ns.joints.Free(), parent="world", child=name)
    plane = ns.contacts.Plane(body="plate", frame=ns.Placement(position=(0.0, 0.1, 0.2)))
    b.contact(
        ns.contacts.Rolling(
            name="ball", body="ball", wheel=ns.surfaces.Ball(radius=0.3), plane=plane
        )
    )
    return b.build()


def test_coupling_of_two_rolling_bodies():
    """(25): C_j = (c_j − q) ×, with the center of its own body; A T = 0 only so."""
    at = At(ball_on_a_plate, {"ball.x": 0.4, "ball.y": -0.3})
    stacked = ns.stacked_matrices(at.kin)
    centers = [at.kin.tree.nodes[at.kin.tree.index[name]].p_WB for name in ("plate", "ball")]
    A, T, c_i, c_j, q = at.numbers(stacked.A, stacked.T, *centers, at.kin.contacts[0].point)
    assert stacked.bodies == ("plate", "ball")

    def coupled(center):
        return np.hstack([-skew(c_i - q), -np.eye(3), skew(center - q), np.eye(3)])

    assert size(A - coupled(c_j)) < ROUNDING
    compare(printed=coupled(c_i) @ T, corrected=coupled(c_j) @ T, library=A @ T, off=0.409, scale=1)


def test_sign_of_inverse_dynamics_at_zero_accelerations():
    """(27): C θ̇ = −(τ + γ + δ) at θ̈ = 0, with C = −Tᵀ(MṪ + WMT) as (18) defines it."""
    state = {"bracket.angle": 0.4, "wheel1.rate": -5.0, "wheel2.rate": -8.0}
    at = At("agv", state)
    stacked = ns.stacked_matrices(at.kin)
    T, T_dot, M, W = at.numbers(stacked.T, at.rate(stacked.T), stacked.M, stacked.W)
    C = -T.T @ (M @ T_dot + W @ M @ T)
    # the torques of θ̈ = 0, and that they are
    tau = at.instant.velocity_terms
    held = At("agv", state, dict(zip(("torque1", "torque2"), tau, strict=True)))
    assert size(held.acceleration("wheel1.rate", "wheel2.rate")) < ROUNDING
    compare(printed=tau, corrected=-tau, library=C @ at.start.eta, off=0.151)


def test_spin_matrix_that_goes_with_the_axes():
    """(5): W = diag(ω ×, 0) needs absolute rates; rates of body components need diag(ω ×, ω ×)."""
    at = At("manipulator-6r", arm(6))
    matrices = ns.DeSantis().matrices(at.kin)  # linear part first, in body axes
    J, J_dot, M, W = at.numbers(matrices.J, matrices.J_dot, matrices.M, matrices.W)
    angular_only = W * np.kron(np.eye(6), np.kron(np.diag([0, 1]), np.ones((3, 3))))
    eta = at.start.eta
    compare(
        printed=J.T @ (M @ J_dot + angular_only @ M @ J) @ eta,
        corrected=J.T @ (M @ J_dot + W @ M @ J) @ eta,
        library=at.instant.velocity_terms,
        off=0.524,
    )
