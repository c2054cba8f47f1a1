"""Every joint type answers its questions consistently: pose, motion, map of rates, closure."""

import casadi as ca
import numpy as np
import pytest

from noslip.algebra import (
    angular_velocity,
    quaternion_from_angles,
    rotation_from_angles,
    rotation_from_quaternion,
    turn_vector,
)
from noslip.base import members_of
from noslip.joints import AbstractCompositeJoint, AbstractJointType
from noslip.kinematics.tree import Reader

READ = Reader({})


@pytest.fixture
def coordinates(joint_type, rng):
    q = rng.normal(size=len(joint_type.coordinates))
    if joint_type.quaternion is not None:
        at = slice(joint_type.quaternion, joint_type.quaternion + 4)
        q[at] /= np.linalg.norm(q[at])
    return q


def test_every_joint_type_is_in_the_list(request):
    from joint_types import ALL_JOINTS

    own = [t for t in members_of(AbstractJointType) if t.__module__ == AbstractJointType.__module__]
    own = [t for t in own if not issubclass(t, AbstractCompositeJoint)]
    assert {type(joint) for joint in ALL_JOINTS.values()} == set(own)
    assert [type.word for type in own] == list(ALL_JOINTS)


def test_rates_of_the_pose_are_the_motion(joint_type, coordinates, rng):
    """Ṙ = R ω× and ṗ = R v for the twist H v in M axes, along q̇ = N v."""
    q = ca.SX.sym("q", len(coordinates))
    v = rng.normal(size=len(joint_type.speeds))
    R, p = joint_type.pose(q, READ)
    rates = ca.mtimes(joint_type.kinematic_map(q), ca.DM(v)) if len(v) else ca.SX(0, 1)
    numbers = ca.Function("f", [q], [R, p, ca.jtimes(R, q, rates), ca.jtimes(p, q, rates)])
    R, p, R_rate, p_rate = (np.array(e) for e in numbers(coordinates))
    twist = np.array(ca.evalf(ca.mtimes(joint_type.motion(READ), ca.DM(v)))).ravel()
    omega = R.T @ R_rate
    assert R.T @ R == pytest.approx(np.eye(3), abs=1e-14)
    assert omega == pytest.approx(-omega.T, abs=1e-14)
    assert [omega[2, 1], omega[0, 2], omega[1, 0]] == pytest.approx(twist[:3], abs=1e-14)
    assert R.T @ p_rate.ravel() == pytest.approx(twist[3:], abs=1e-14)


def test_frames_coincide_at_rest(joint_type):
    R, p = joint_type.pose(ca.DM(joint_type.rest), READ)
    assert np.array(ca.evalf(R)) == pytest.approx(np.eye(3), abs=0)
    assert np.array(ca.evalf(p)).ravel() == pytest.approx(np.zeros(3), abs=0)


def test_poses_of_the_joint_satisfy_its_closure(joint_type, coordinates):
    R, p = joint_type.pose(ca.DM(coordinates), READ)
    rows = joint_type.closure(R, p, READ)
    assert len(rows) == 6 - len(joint_type.speeds)
    values = [float(ca.evalf(g)) for _, _, g in rows]
    assert values == pytest.approx([0.0] * len(rows), abs=1e-14)


def test_closure_holds_what_the_joint_does_not_move(joint_type, coordinates):
    """The rates of the rows at a possible pose vanish for the joint's motion and for no other."""
    R, p = joint_type.pose(ca.DM(coordinates), READ)
    # a small twist x of M on top of the pose: R (1 + x×), p + R x
    x = ca.SX.sym("x", 6)
    turned, moved = ca.mtimes(R, ca.SX.eye(3) + ca.skew(x[:3])), p + ca.mtimes(R, x[3:])
    rows = [g for _, _, g in joint_type.closure(turned, moved, READ)]
    G = np.zeros((0, 6))
    if rows:
        G = np.array(ca.Function("G", [x], [ca.jacobian(ca.vertcat(*rows), x)])(np.zeros(6)))
    H = np.array(ca.evalf(ca.SX(joint_type.motion(READ)))).reshape(6, -1)
    assert G @ H == pytest.approx(np.zeros((G.shape[0], H.shape[1])), abs=1e-14)
    assert np.linalg.matrix_rank(np.vstack([G, H.T]), tol=1e-9) == 6


@pytest.mark.parametrize("word", ["fixed", "prismatic"])
@pytest.mark.parametrize("turn", [np.pi - 0.1, 2.0, -2.0])
def test_closure_is_not_satisfied_after_half_a_turn(word, turn):
    """The skew part of R vanishes at half a turn; the rows must not."""
    from joint_types import ALL_JOINTS

    joint_type = ALL_JOINTS[word]
    R = rotation_from_angles(ca.DM([0.0, turn, 0.0]), "xyz")
    rows = joint_type.closure(R, ca.SX.zeros(3), READ)
    values = np.array([float(ca.evalf(g)) for _, _, g in rows])
    assert np.linalg.norm(values) == pytest.approx(abs(2 * np.sin(turn / 2)), rel=1e-12)


@pytest.mark.parametrize("word", ["revolute", "planar"])
def test_closure_is_not_satisfied_with_the_axis_reversed(word):
    from joint_types import ALL_JOINTS

    joint_type = ALL_JOINTS[word]
    axis = joint_type.axis if word == "revolute" else (0.0, 0.0, 1.0)
    across = np.cross(axis, [1.0, 0.0, 0.0])
    across /= np.linalg.norm(across)
    almost = np.pi - 1e-3
    e = ca.skew(ca.DM(across))
    R = ca.SX.eye(3) + np.sin(almost) * e + (1 - np.cos(almost)) * ca.mtimes(e, e)
    rows = joint_type.closure(R, ca.SX.zeros(3), READ)
    values = np.array([float(ca.evalf(g)) for _, _, g in rows])
    assert np.linalg.norm(values) == pytest.approx(2 * np.sin(almost / 2), rel=1e-9)


def test_turn_vector_of_a_small_rotation_is_its_rotation_vector(rng):
    small = 1e-6 * rng.normal(size=3)
    R = np.eye(3) + np.array(ca.skew(ca.DM(small)))
    assert np.array(ca.evalf(turn_vector(ca.SX(R)))).ravel() == pytest.approx(small, abs=1e-11)


@pytest.mark.parametrize("quarters", range(-5, 6))
def test_right_angles_leave_structural_zeros(quarters):
    R = rotation_from_angles([quarters * np.pi / 2, 0.0, 0.0], "xyz")
    assert ca.sparsify(R).nnz() == 3
    exact = np.linalg.matrix_power(np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]), quarters % 4)
    assert np.array_equal(np.array(ca.DM(R)), exact)
    near = rotation_from_angles([quarters * np.pi / 2 + 1e-12, 0.0, 0.0], "xyz")
    assert np.array(ca.DM(near)) == pytest.approx(exact, abs=2e-12)
    assert ca.sparsify(near).nnz() == 5


@pytest.mark.parametrize("sequence", ["xyz", "zyx", "zxz", "yzy"])
def test_quaternion_and_rates_of_named_angles(sequence, rng):
    angles, rates = rng.normal(size=3), rng.normal(size=3)
    a = ca.SX.sym("a", 3)
    R = rotation_from_angles(a, sequence)
    numbers = ca.Function("R", [a], [R, ca.jtimes(R, a, ca.DM(rates))])
    R, R_rate = (np.array(e) for e in numbers(angles))
    quaternion = quaternion_from_angles(angles, sequence)
    assert np.array(ca.evalf(rotation_from_quaternion(ca.DM(quaternion)))) == pytest.approx(R)
    omega = R.T @ R_rate
    found = angular_velocity(angles, rates, sequence)
    assert found == pytest.approx([omega[2, 1], omega[0, 2], omega[1, 0]], abs=1e-14)
