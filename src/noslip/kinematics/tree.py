"""Recursions over the tree of joints: poses, twists, accelerations, and forces along the joints.

Each body has computing axes D at its origin. They are the body axes, except for a wheel that is
symmetric about its own revolute axis: there D does not spin with it (it is fixed to the joint frame
on the parent), so that the spin angle drops out of everything but pictures. All derivatives below
are absolute ones resolved in D, which is why D need not be fixed to the body.

A node carries the mass, mass center and inertia of its body along, because D depends on their
symmetry and they are resolved in D; no pose, twist or row depends on them.

Letters
-------
P parent, B body, D its computing axes, F and M the joint's frames on parent and child
w_D, v_D      angular velocity, velocity of the body's origin, in D axes
alpha_D, a_D  their absolute rates
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.kinematics.symbols import Reader
from noslip.model.bodies import WORLD, Body, Placement
from noslip.model.joints import Joint
from noslip.model.model import Model
from noslip.model.topology import topology
from noslip.spatial import EYE3, cross, rotation_from_angles, vector

#: Angular part and linear part of a twist, its rate, or a wrench, in D axes, at the body's origin.
Pair = tuple[ca.SX, ca.SX]

_ZERO3 = vector([0, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A body as the recursions see it, with the joint that carries it.

    Parameters
    ----------
    parent : index of the parent's node, −1 for the world.
    coordinates, speeds : where the joint's entries start and end in q and v.
    R_PD, p_PB : pose of D in the parent's computing axes.
    R_DB : from body axes to D axes; the identity unless the wheel's spin is left out of D.
    R_WD, p_WB : pose in the world.
    H : (6, k) motion of the joint in D axes at the body's origin.
    mass, center_D, inertia_D : mass, mass center and inertia about it, in D axes.
    is_rotor : whether it is a wheel whose spin is left out of D, which stays with the parent.
    armature : inertia of a motor's rotor along the joint's one speed.
    """

    body: Body
    joint: Joint
    parent: int
    coordinates: slice
    speeds: slice
    R_PD: ca.SX
    p_PB: ca.SX
    R_DB: ca.SX
    R_WD: ca.SX
    p_WB: ca.SX
    H: ca.SX
    mass: ca.SX
    center_D: ca.SX
    inertia_D: ca.SX
    is_rotor: bool
    armature: ca.SX

    @property
    def R_WB(self) -> ca.SX:
        """Orientation of the body in the world."""
        return ca.mtimes(self.R_WD, self.R_DB)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """All nodes, parents before children, and the loop joints.

    `places` are contacts with coordinates of their own: where these are in q and in v, after those
    of all joints.
    """

    nodes: tuple[Node, ...]
    loops: tuple[Joint, ...]
    places: tuple[tuple[str, slice, slice], ...] = ()

    def contact_places(self, contact: str) -> tuple[slice, slice]:
        """Where the coordinates of a contact are in q and in v."""
        found = ((q, v) for name, q, v in self.places if name == contact)
        return next(found, (slice(0, 0), slice(0, 0)))

    def armatures(self) -> list[tuple[int, ca.SX]]:
        """Places in v of joints that a rotor turns with, and its inertia."""
        found = ((node.speeds.start, node.armature) for node in self.nodes)
        return [(at, armature) for at, armature in found if not armature.is_zero()]

    def index(self, body: str) -> int:
        """Index of a body's node; −1 for the world."""
        if body == WORLD:
            return -1
        return next(k for k, node in enumerate(self.nodes) if node.body.name == body)


def build_tree(model: Model, q: ca.SX, reader: Reader) -> Tree:
    """The tree of a checked model at the coordinates q; `reader` knows the parameters."""
    spanning = topology(model)
    bodies = {b.name: b for b in model.bodies}
    nodes: list[Node] = []
    index = {WORLD: -1}
    at_q = at_v = 0
    for joint in spanning.tree:
        k_q, k_v = len(joint.type.coordinates), len(joint.type.speeds)
        parent = nodes[index[joint.parent]] if index[joint.parent] >= 0 else None
        nodes.append(
            _node(
                body=bodies[joint.child],
                joint=joint,
                parent=parent,
                parent_index=index[joint.parent],
                coordinates=slice(at_q, at_q + k_q),
                speeds=slice(at_v, at_v + k_v),
                q=q[at_q : at_q + k_q, :],
                reader=reader,
                spins_freely=_spins_freely(model, bodies[joint.child], joint),
            )
        )
        index[joint.child] = len(nodes) - 1
        at_q, at_v = at_q + k_q, at_v + k_v
    places = []
    for contact in model.contacts:
        if count := len(contact.parameters()):
            places.append((contact.name, slice(at_q, at_q + count), slice(at_v, at_v + count)))
            at_q, at_v = at_q + count, at_v + count
    return Tree(nodes=tuple(nodes), loops=spanning.loops, places=tuple(places))


def frame_pose(placement: Placement, reader: Reader) -> tuple[ca.SX, ca.SX]:
    """Orientation and position of a placed frame in its body's axes."""
    position = reader.vector(placement.position)
    if all(a == 0 for a in placement.angles):
        return EYE3, position
    return rotation_from_angles(reader.vector(placement.angles), placement.sequence), position


def twists(tree: Tree, v: ca.SX) -> list[Pair]:
    """Twist of each body for tree speeds v: w_D and v_D.

    ω_B = ω_P + ω_r,   v_B = v_P + ω_P × p_PB + v_r,   [ω_r; v_r] = H v_joint
    """
    result: list[Pair] = []
    for node in tree.nodes:
        relative = ca.mtimes(node.H, v[node.speeds]) if node.H.shape[1] else ca.SX.zeros(6)
        w, vel = relative[0:3], relative[3:6]
        if node.parent >= 0:
            w_P, v_P = result[node.parent]
            w = w + ca.mtimes(node.R_PD.T, w_P)
            vel = vel + ca.mtimes(node.R_PD.T, v_P + cross(w_P, node.p_PB))
        result.append((w, vel))
    return result


def turning(tree: Tree, motion: list[Pair], k: int) -> ca.SX:
    """Angular velocity of a node's axes D, in D: its body's, or the parent's if D stays with it."""
    node = tree.nodes[k]
    if not node.is_rotor:
        return motion[k][0]
    return ca.mtimes(node.R_PD.T, motion[node.parent][0]) if node.parent >= 0 else _ZERO3


def point_acceleration(w: ca.SX, alpha: ca.SX, p: ca.SX, is_carrier: bool) -> ca.SX:
    """α × p + ω × (ω × p): acceleration of a point of a body against its origin.

    Of a body that carries others several points are needed: (α̃ + ω̃ ω̃) p has its matrix in common.
    """
    if not is_carrier:
        return cross(alpha, p) + cross(w, cross(w, p))
    x, y, z = ca.vertsplit(w)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    matrix = ca.vertcat(
        ca.horzcat(-(yy + zz), xy - alpha[2], xz + alpha[1]),
        ca.horzcat(xy + alpha[2], -(xx + zz), yz - alpha[0]),
        ca.horzcat(xz - alpha[1], yz + alpha[0], -(xx + yy)),
    )
    return ca.mtimes(matrix, p)


def turned_inertia(R: ca.SX, inertia: ca.SX) -> ca.SX:
    """R I Rᵀ, symmetric by construction."""
    half = ca.mtimes(R, inertia)
    result = ca.SX.zeros(3, 3)
    for j in range(3):
        for k in range(j + 1):
            result[j, k] = result[k, j] = ca.dot(half[j, :], R[k, :])
    return result


def accelerations(
    tree: Tree, motion: list[Pair], v: ca.SX, vdot: ca.SX, world: ca.SX = _ZERO3
) -> list[Pair]:
    """Absolute acceleration of each body: alpha_D and a_D (of the body's origin).

    The `world` may have an acceleration of its own: with −g every body shows its weight.

    α_B = α_P + ω_P × ω_r + ω̇_r
    a_B = a_P + α_P × p + ω_P × (ω_P × p) + 2 ω_P × v_r + ω_r × v_r + v̇_r
    """
    result: list[Pair] = []
    for node in tree.nodes:
        k = node.H.shape[1]
        relative = ca.mtimes(node.H, v[node.speeds]) if k else ca.SX.zeros(6)
        rate = ca.mtimes(node.H, vdot[node.speeds]) if k else ca.SX.zeros(6)
        w_r, v_r = relative[0:3], relative[3:6]
        alpha, acc = rate[0:3], rate[3:6] + cross(w_r, v_r)
        if node.parent >= 0:
            w_P, _ = motion[node.parent]
            alpha_P, a_P = result[node.parent]
            w_P_D = ca.mtimes(node.R_PD.T, w_P)
            alpha = alpha + ca.mtimes(node.R_PD.T, alpha_P) + cross(w_P_D, w_r)
            carried = a_P + point_acceleration(w_P, alpha_P, node.p_PB, True)
            acc = acc + ca.mtimes(node.R_PD.T, carried) + 2 * cross(w_P_D, v_r)
        else:
            acc = acc + ca.mtimes(node.R_PD.T, world)
        result.append((alpha, acc))
    return result


def generalized_forces(tree: Tree, wrenches: list[Pair], num_speeds: int) -> ca.SX:
    """Generalized forces on the tree speeds of wrenches on the bodies, tip to base: Jᵀ w."""
    forces: list[ca.SX] = [ca.SX(0)] * num_speeds
    total = list(wrenches)
    for k in reversed(range(len(tree.nodes))):
        node = tree.nodes[k]
        n, f = total[k]
        if node.H.shape[1]:
            projected = ca.mtimes(node.H.T, ca.vertcat(n, f))
            for j, at in enumerate(range(node.speeds.start, node.speeds.stop)):
                forces[at] = projected[j]
        if node.parent >= 0:
            n_P, f_P = total[node.parent]
            f_here = ca.mtimes(node.R_PD, f)
            total[node.parent] = (
                n_P + ca.mtimes(node.R_PD, n) + cross(node.p_PB, f_here),
                f_P + f_here,
            )
    return vector(forces) if forces else ca.SX(0, 1)


def _node(
    *,
    body: Body,
    joint: Joint,
    parent: Node | None,
    parent_index: int,
    coordinates: slice,
    speeds: slice,
    q: ca.SX,
    reader: Reader,
    spins_freely: bool,
) -> Node:
    R_PF, p_PF = frame_pose(joint.parent_frame, reader)
    R_BM, p_BM = frame_pose(joint.child_frame, reader)
    R_FM, p_FM = joint.type.pose(q, reader)
    H_M = joint.type.motion(reader)
    if spins_freely:
        # D stays with F: the motion is along the axis, which F and M share
        R_PD, R_DB, p_PB, H = R_PF, R_FM, p_PF, H_M
    else:
        R_PD, R_DB = ca.mtimes(R_PF, ca.mtimes(R_FM, R_BM.T)), EYE3
        # from the parent's origin to F, to M, and back from M to the body's origin
        p_PB = p_PF + ca.mtimes(R_PF, p_FM) - ca.mtimes(R_PD, p_BM)
        angular = ca.mtimes(R_BM, H_M[0:3, :])
        linear = ca.mtimes(R_BM, H_M[3:6, :])
        shifted = [linear[:, j] - cross(angular[:, j], p_BM) for j in range(H_M.shape[1])]
        H = ca.vertcat(angular, ca.horzcat(*shifted)) if shifted else ca.SX(6, 0)
    xx, yy, zz, xy, xz, yz = (reader.scalar(e) for e in body.inertia_entries())
    inertia = ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    return Node(
        body=body,
        joint=joint,
        parent=parent_index,
        coordinates=coordinates,
        speeds=speeds,
        R_PD=R_PD,
        p_PB=p_PB,
        R_DB=R_DB,
        R_WD=R_PD if parent is None else ca.mtimes(parent.R_WD, R_PD),
        p_WB=p_PB if parent is None else parent.p_WB + ca.mtimes(parent.R_WD, p_PB),
        H=H,
        mass=reader.scalar(body.mass),
        center_D=reader.vector(body.center_of_mass),
        inertia_D=inertia,
        is_rotor=spins_freely,
        armature=reader.scalar(joint.armature),
    )


def _spins_freely(model: Model, body: Body, joint: Joint) -> bool:
    """Whether the body is a wheel whose spin about its own axis changes nothing but its picture.

    It is when it hangs on a revolute joint about x, y or z through its origin, carries nothing, has
    its mass center on that axis and the same inertia in all directions across it.
    """
    axis = joint.type.rotation_axis()
    if axis is None or joint.child_frame != Placement():
        return False
    if any(body.name in (j.parent, j.child) for j in model.joints if j is not joint):
        return False
    along = [k for k in range(3) if axis[k] != 0]
    if len(along) != 1 or isinstance(axis[along[0]], str):
        return False
    first, second = (k for k in range(3) if k != along[0])
    entries = body.inertia_entries()
    center = body.center_of_mass
    return (
        body.moment is None
        and entries[first] == entries[second]
        and all(product == 0 for product in entries[3:])
        and center[first] == 0
        and center[second] == 0
    )
