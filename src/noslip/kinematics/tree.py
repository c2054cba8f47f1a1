"""The tree of joints: symbols everything is traced in, and recursions for poses, twists and forces.

**The symbols everything is traced in, and expressions of the model read as traced scalars.**

**Recursions over the tree of joints: poses, twists, accelerations, and forces along the joints.**

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

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import casadi as ca

from noslip.algebra import EYE3, Traced, cross, inlined, rotation_from_angles, unit, vector
from noslip.base import ModelError
from noslip.expressions import Measure, Scalar, evaluate, parse
from noslip.model import WORLD, Body, Joint, Model, Placement, Quantity, topology


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Symbols:
    """Columns of traced symbols: t, q, v, states of forces z, u, w, ẇ and the parameters."""

    t: ca.SX
    q: ca.SX
    v: ca.SX
    z: ca.SX
    u: ca.SX
    w: ca.SX
    wdot: ca.SX
    params: ca.SX


class Reader:
    """Reads scalars of the model (numbers or text) as traced scalars of named symbols.

    `literal`: function that traces a number; a constant by default. `measure`: function that traces
    a measure of the motion from its traced arguments.
    """

    def __init__(
        self,
        values: dict[str, Traced],
        literal: Callable[[float], Traced] = float,
        measure: Callable[[Measure, list[ca.SX]], ca.SX] | None = None,
    ) -> None:
        self._values = values
        self._literal = literal
        self._measure = measure
        self._columns: dict[tuple[float, ...], ca.SX] = {}

    def scalar(self, scalar: Scalar) -> ca.SX:
        """Traced scalar of a number or an expression."""
        if isinstance(scalar, str):
            tree = parse(scalar)
            try:
                found = evaluate(tree, self._values, ca, self._literal, self._measure)
            except ArithmeticError as error:  # of its numbers alone, as 1/0
                what = f"'{scalar:.60}' has no finite value: {error}"
                fix = "write an expression that can be evaluated"
                raise ModelError(what, "an expression of numbers", fix) from error
            return ca.SX(found)
        if (number := float(scalar)) != number:
            fix = "give a number, or an expression"
            raise ModelError("nan is no number to compute with", "a number of a motion", fix)
        return ca.SX(self._literal(number))

    def vector(self, entries: Iterable[Scalar]) -> ca.SX:
        """Traced column of numbers or expressions; of constants the one that was made before."""
        entries = tuple(entries)
        if self._literal is not float or any(isinstance(entry, str) for entry in entries):
            return vector([self.scalar(e) for e in entries])
        key = tuple(map(float, entries))
        if key not in self._columns:
            self._columns[key] = vector([self.scalar(e) for e in entries])
        return self._columns[key]

    def direction(self, entries: Iterable[Scalar]) -> ca.SX:
        """Traced unit vector along a direction."""
        return unit(self.vector(entries))

    def extended(
        self,
        values: Mapping[str, Traced],
        measure: Callable[[Measure, list[ca.SX]], ca.SX] | None = None,
    ) -> Reader:
        """A reader that knows more names, and traces measures of the motion if it is told how."""
        return Reader({**self._values, **values}, self._literal, measure or self._measure)


def named(quantities: Iterable[Quantity], symbols: ca.SX) -> dict[str, ca.SX]:
    """Names of quantities with their traced scalars."""
    return {quantity.name: symbols[k] for k, quantity in enumerate(quantities)}


def parameter_reader(
    model: Model, params: ca.SX, literal: Callable[[float], Traced] = float
) -> Reader:
    """A reader that knows the model's parameters."""
    return Reader({p.name: params[k] for k, p in enumerate(model.parameters)}, literal)


#: Angular part and linear part of a twist, its rate, or a wrench, in D axes, at the body's origin.
Pair = tuple[ca.SX, ca.SX]

_ZERO3 = vector([0, 0, 0])
#: Moment and force of nothing.
NO_WRENCH: Pair = (_ZERO3, _ZERO3)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Node:
    """A body as the recursions see it, with the joint that carries it."""

    body: Body
    joint: Joint
    parent: int  #: index of the parent's node, −1 for the world
    #: coordinates, speeds: ranges of the joint's entries in q and v
    coordinates: slice
    speeds: slice
    #: R_PD, p_PB: pose of D in the parent's computing axes
    R_PD: ca.SX
    p_PB: ca.SX
    #: rotation from body axes to D axes; the identity unless the wheel's spin is left out of D
    R_DB: ca.SX
    #: R_WD, p_WB: pose in the world
    R_WD: ca.SX
    p_WB: ca.SX
    H: ca.SX  #: (6, k) motion of the joint in D axes at the body's origin
    #: mass, center_D, inertia_D: mass, mass center and inertia about it, in D axes
    mass: ca.SX
    center_D: ca.SX
    inertia_D: ca.SX
    #: whether it is a wheel whose spin is left out of D, which stays with the parent
    is_rotor: bool
    armature: ca.SX  #: inertia of a motor's rotor along the joint's one speed

    @property
    def R_WB(self) -> ca.SX:
        """Orientation of the body in the world."""
        return ca.mtimes(self.R_WD, self.R_DB)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """All nodes, parents before children, and the loop joints."""

    nodes: tuple[Node, ...]
    loops: tuple[Joint, ...]
    index: dict[str, int]  #: index of each body's node; −1 for the world
    #: places in v of joints that a rotor turns with, and its inertia
    armatures: tuple[tuple[int, ca.SX], ...]
    #: contacts with coordinates of their own: where these are in q and in v, after those of all
    #: joints
    places: tuple[tuple[str, slice, slice], ...] = ()

    def contact_places(self, contact: str) -> tuple[slice, slice]:
        """Slices of a contact's coordinates in q and in v."""
        found = ((q, v) for name, q, v in self.places if name == contact)
        return next(found, (slice(0, 0), slice(0, 0)))

    def no_wrenches(self) -> list[Pair]:
        """No wrench on each body, to which some are added."""
        return [NO_WRENCH] * len(self.nodes)

    def by_joint(self, speeds: ca.SX) -> list[ca.SX]:
        """Tree speeds, or their rates, joint by joint."""
        ends = [node.speeds.stop for node in self.nodes]
        return list(ca.vertsplit(speeds, [0, *ends, speeds.shape[0]]))[: len(ends)]


def build_tree(model: Model, q: ca.SX, reader: Reader) -> Tree:
    """The tree of a checked model at the coordinates q; `reader` knows the parameters."""
    spanning = topology(model)
    bodies = {b.name: b for b in model.bodies}
    num_joints = Counter(name for j in model.joints for name in {j.parent, j.child})
    nodes: list[Node] = []
    index = {WORLD: -1}
    at_q = at_v = 0
    for joint in spanning.tree:
        body, parent = bodies[joint.child], index[joint.parent]
        is_rotor = num_joints[body.name] == 1 and _spins_freely(body, joint)
        coordinates = slice(at_q, at_q + len(joint.type.coordinates))
        speeds = slice(at_v, at_v + len(joint.type.speeds))
        R_PF, p_PF = frame_pose(joint.parent_frame, reader)
        R_BM, p_BM = frame_pose(joint.child_frame, reader)
        R_FM, p_FM = joint.type.pose(q[coordinates, :], reader)
        H_M = joint.type.motion(reader)
        if is_rotor:
            # D stays with F: the motion is along the axis, which F and M share
            R_PD, R_DB, p_PB, H = R_PF, R_FM, p_PF, H_M
        else:
            R_DB = EYE3
            R_PD, p_PB, H = _placed(R_PF, p_PF, R_FM, p_FM, R_BM, p_BM, H_M)
        R_WD, p_WB = R_PD, p_PB
        if parent >= 0:
            carrier = nodes[parent]
            R_WD = ca.mtimes(carrier.R_WD, R_PD)
            p_WB = carrier.p_WB + ca.mtimes(carrier.R_WD, p_PB)
        xx, yy, zz, xy, xz, yz = ca.vertsplit(reader.vector(body.inertia_entries()))
        node = Node(
            body=body,
            joint=joint,
            parent=parent,
            coordinates=coordinates,
            speeds=speeds,
            R_PD=R_PD,
            p_PB=p_PB,
            R_DB=R_DB,
            R_WD=R_WD,
            p_WB=p_WB,
            H=H,
            mass=reader.scalar(body.mass),
            center_D=reader.vector(body.center_of_mass),
            inertia_D=ca.vertcat(
                ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz)
            ),
            is_rotor=is_rotor,
            armature=reader.scalar(joint.armature),
        )
        index[body.name] = len(nodes)
        nodes.append(node)
        at_q, at_v = coordinates.stop, speeds.stop
    places = []
    for contact in model.contacts:
        if count := len(contact.parameters()):
            places.append((contact.name, slice(at_q, at_q + count), slice(at_v, at_v + count)))
            at_q, at_v = at_q + count, at_v + count
    return Tree(
        nodes=tuple(nodes),
        loops=spanning.loops,
        index=index,
        armatures=tuple((n.speeds.start, n.armature) for n in nodes if not n.armature.is_zero()),
        places=tuple(places),
    )


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
    for node, own in zip(tree.nodes, tree.by_joint(v), strict=True):
        carrier = result[node.parent] if node.parent >= 0 else (_ZERO3, _ZERO3)
        w, velocity = _carried_twist(node.R_PD, node.p_PB, node.H, own, *carrier)
        result.append((w, velocity))
    return result


@inlined
def _carried_twist(
    R_PD: ca.SX, p_PB: ca.SX, H: ca.SX, own: ca.SX, w_P: ca.SX, v_P: ca.SX
) -> tuple[ca.SX, ...]:
    relative = ca.mtimes(H, own)
    w = relative[0:3] + ca.mtimes(R_PD.T, w_P)
    return w, relative[3:6] + ca.mtimes(R_PD.T, v_P + cross(w_P, p_PB))


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


def accelerations(
    tree: Tree, motion: list[Pair], v: ca.SX, vdot: ca.SX, world: ca.SX = _ZERO3
) -> list[Pair]:
    """Absolute acceleration of each body: alpha_D and a_D (of the body's origin).

    The `world` may have an acceleration of its own: with −g every body shows its weight.

    α_B = α_P + ω_P × ω_r + ω̇_r
    a_B = a_P + α_P × p + ω_P × (ω_P × p) + 2 ω_P × v_r + ω_r × v_r + v̇_r
    """
    result: list[Pair] = []
    columns = zip(tree.nodes, tree.by_joint(v), tree.by_joint(vdot), strict=True)
    for node, own, own_rate in columns:
        w_P = motion[node.parent][0] if node.parent >= 0 else _ZERO3
        carrier = result[node.parent] if node.parent >= 0 else (_ZERO3, world)
        alpha, acc = _carried_rate(node.R_PD, node.p_PB, node.H, own, own_rate, w_P, *carrier)
        result.append((alpha, acc))
    return result


@inlined
def _carried_rate(
    R_PD: ca.SX,
    p_PB: ca.SX,
    H: ca.SX,
    own: ca.SX,
    own_rate: ca.SX,
    w_P: ca.SX,
    alpha_P: ca.SX,
    a_P: ca.SX,
) -> tuple[ca.SX, ...]:
    relative, rate = ca.mtimes(H, own), ca.mtimes(H, own_rate)
    w_r, v_r = relative[0:3], relative[3:6]
    w_P_D = ca.mtimes(R_PD.T, w_P)
    alpha = rate[0:3] + ca.mtimes(R_PD.T, alpha_P) + cross(w_P_D, w_r)
    carried = a_P + point_acceleration(w_P, alpha_P, p_PB, True)
    acc = rate[3:6] + cross(w_r, v_r) + ca.mtimes(R_PD.T, carried) + 2 * cross(w_P_D, v_r)
    return alpha, acc


def generalized_forces(tree: Tree, wrenches: list[Pair], num_speeds: int) -> ca.SX:
    """Generalized forces on the tree speeds of wrenches on the bodies, tip to base: Jᵀ w."""
    if all(wrench is NO_WRENCH for wrench in wrenches):
        return ca.SX.zeros(num_speeds, 1)
    forces: list[ca.SX] = []
    total = [*wrenches, NO_WRENCH]  # the world's, −1, is the last
    for k in reversed(range(len(tree.nodes))):
        node = tree.nodes[k]
        given = (node.R_PD, node.p_PB, node.H, *total[k], *total[node.parent])
        along, n, f = _passed_wrench(*given)
        total[node.parent] = (n, f)
        forces.append(along)
    places = ca.SX.zeros(num_speeds - sum(n.speeds.stop - n.speeds.start for n in tree.nodes), 1)
    return ca.densify(ca.vertcat(*reversed(forces), places))


@inlined
def _passed_wrench(
    R_PD: ca.SX, p_PB: ca.SX, H: ca.SX, n: ca.SX, f: ca.SX, n_P: ca.SX, f_P: ca.SX
) -> tuple[ca.SX, ...]:
    """Forces along the joint, and the wrench on the parent with this one passed on."""
    there = ca.mtimes(R_PD, f)
    moment = n_P + ca.mtimes(R_PD, n) + cross(p_PB, there)
    return ca.mtimes(H.T, ca.vertcat(n, f)), moment, f_P + there


@inlined
def _placed(
    R_PF: ca.SX, p_PF: ca.SX, R_FM: ca.SX, p_FM: ca.SX, R_BM: ca.SX, p_BM: ca.SX, H_M: ca.SX
) -> tuple[ca.SX, ...]:
    """Pose of a body in its parent, from there to F, to M, and back to its origin; its motion."""
    R_PD = ca.mtimes(R_PF, ca.mtimes(R_FM, R_BM.T))
    p_PB = p_PF + ca.mtimes(R_PF, p_FM) - ca.mtimes(R_PD, p_BM)
    angular = ca.mtimes(R_BM, H_M[0:3, :])
    linear = ca.mtimes(R_BM, H_M[3:6, :])
    shifted = [linear[:, j] - cross(angular[:, j], p_BM) for j in range(H_M.shape[1])]
    H = ca.vertcat(angular, ca.horzcat(*shifted)) if shifted else ca.SX(6, 0)
    return R_PD, p_PB, H


def _spins_freely(body: Body, joint: Joint) -> bool:
    """Whether a body on one joint is a wheel whose spin changes nothing but its picture.

    It is when it hangs on a revolute joint about x, y or z through its origin, has its mass center
    on that axis and the same inertia in all directions across it.
    """
    axis = joint.type.rotation_axis()
    if axis is None or joint.child_frame != Placement():
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
