"""Constraint rows: contacts, wheels, loops, prescribed motions, speed inputs, general; their sizes.

**Rows of rolling contacts and knife edges.**

The contact point of a rolling body moves over the body and over the plane. A row states the
velocity of the *material* point that is in contact; differentiating it in time takes the motion of
the *geometric* contact point along, because the point is a function of q here (leaving that out is
the error of [SahaAngeles1991], Ṫ after eq. (31)).

The contact itself gives its contact point (`model/contacts`). With n the plane's normal, f the
heading, r the contact point from the body's origin, and all vectors in the computing axes D of the
body that touches:

    (1) v_contact = v + ω × r − (velocity of the ground's body at that point)
    (2) longitudinal f, lateral n × f

On curved ground, or with a surface that has no closed form, places of the contact are coordinates
of their own: u on the ground, with the point P(u), tangents T = ∂P/∂u and normal n, and w on the
surface, with the point p(w) and tangents τ = ∂p/∂w, where it is not found from n. Closest points
are those with

    (3) Tᵀ(p − P) = 0,   τᵀn = 0

which determine u and w, and n·(p − P) is the height. A level F = 0, whose parameters are its point
itself, has p − P = (gap) n instead, or ∂F/∂p + (ratio) n = 0, with one number more, and F = 0.
Rates of all these follow from (3). They have no inertia and no row of rolling has them in it, so
that the forces of (3) vanish and the normal force is that of the height alone.

(3) is regular where the relative curvature is: with W = −∂p/∂n of a surface that is found from n
and K of the ground, where no eigenvalue of 1 + W K is zero; else where none of the sum of both
curvatures is. Where one is negative the surfaces penetrate beside the contact, although (3) is as
regular as before.

**Rows of wheels in the axes of the body B that carries them, with their rates in closed form.**

A wheel is B itself, or hangs on B, or on a body that turns on B (a fork). With n = (n·a) a + s e
for its axis a and f = a × e, ω_F = ω + ω_r the angular velocity of what carries it, ω_r that
against B, h the place of the fork's hinge and σ the wheel's rate:

    (1)  P = c + d,  d = −radius e − tube n              contact point from the origin of B
    (2)  v_contact = v + ω × P + u,   u = ω_r × (P − h) + σ a × d,   a × d = −(radius + tube s) f

The contact point moves over the wheel. Seen from the carrier, e turns about a at the rate γ, since
n does not turn in the world, and d has the rate d'; in the axes of B, P has the rate P':

    (3)  γ = (n·a)/s (ω_F·e) − ω_F·a
    (4)  d' = −radius γ f + tube ω_F × n,   P' = ω_r × (P − h) + d'

At constant speeds the rate of (2), ω_F × P' + σ (ω_r × (a × d) + a × d'), is then

    (5)  ω_F × (ω_r × (P − h)) − (γ ω_F + σ ω_r) × radius f + σ γ radius e
         + tube (ω_F × (ω_F × n) + σ (a × (ω_F × n) − ω_r × s f))

A ball has d = −radius n, d' = radius ω × n and the rate radius ω × (ω × n). The formulations
differentiate the rows themselves, and `verify` compares.

**All constraint rows of a model: contacts, loops, prescribed motions, speed inputs, general.**

Every row is given at the velocity level, r(q, v, t, w) = A v + a = 0, linear in v. Holonomic rows
also keep their position form g(q, t) = 0.

**Sizes of constraint rows before their terms cancel, to distinguish small rows from rounding.**

A blade along a rail has the row n·e v = 0 with n ⊥ e: its coefficient is zero, computed as 1e-17,
and must not hold the blade. Comparing it with other rows does not help, for all of them may be
such. The row itself decides: with every value z_i that is computed on the way from the model's
numbers to the row taken as z_i (1 + δ_i), the row changes by

    (1)  |δr| ≤ δ Σ |∂r/∂δ_i|,      |δ_i| ≤ δ

the first-order bound of its rounding error (Linnainmaa, BIT 16, 1976). The sum is the size of the
terms that the row is made of; a coefficient far below it is what rounding left of them.

Numbers of the model are traced as symbols here, since CasADi computes with constants at once and
forgets what they came from: (0.1 + 0.2 − 0.3) v is 5.6e-17 v.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import EYE3, cross, is_identity, rotation_from_angles, turn_vector, unit, vector
from noslip.base import Array, ModelError
from noslip.kinematics.tree import Node, Pair, Reader, Symbols, Tree, frame_pose
from noslip.model import (
    CLOSEST_ROW,
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    SPIN,
    WORLD,
    AbstractContact,
    AbstractSurface,
    Joint,
    Model,
    Plane,
    Vector3,
)

_ZERO3 = vector([0, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContactTrace:
    """A contact as traced: where it is, along which axes, and how its material point moves."""

    contact: AbstractContact
    directions: dict[str, ca.SX]  #: name → unit vector in the world (longitudinal, lateral, normal)
    point: ca.SX  #: contact point in the world, m
    #: name → velocity of the material point against the plane along that direction, m/s
    slip: dict[str, ca.SX]
    #: velocity_D, axes_D: velocity, and the directions as columns, in the body's computing axes
    velocity_D: ca.SX
    axes_D: ca.SX
    normal_D: ca.SX  #: the plane's normal in the same axes
    arm_D: ca.SX  #: vector from the body's origin to the contact point, in the same axes
    height: ca.SX  #: height of the wheel's lowest point above the plane, m; zero in contact
    #: sine of the angle between the wheel's plane and the plane it rolls on; 0 when it lies flat,
    #: where its contact is a whole circle. None for balls and blades.
    regularity: ca.SX | None
    turning: ca.SX  #: angular velocity about the normal against the ground, rad/s
    #: (name, unit, value) of what vanishes at the closest points, (3)
    closest: tuple[tuple[str, str, ca.SX], ...] = ()
    #: both eigenvalues of the relative curvature, over that of the surface alone or times its
    #: reach; None on a plane, where it is always positive
    curvatures: tuple[ca.SX, ca.SX] | None = None
    #: distance from the border of the ground, in lengths of its own, if it has one
    margin: ca.SX | None = None


def trace_contact(
    contact: AbstractContact,
    tree: Tree,
    motion: list[Pair],
    reader: Reader,
    normal: ca.SX | None = None,
    q: ca.SX | None = None,
    v: ca.SX | None = None,
) -> ContactTrace:
    """Contact geometry and slip velocities for the bodies' twists `motion`.

    A `normal` in D axes may stand for the plane's own, as one that is still to be put in. Of the
    coordinates `q` those are taken that are the contact's own, if it has some; one that acts within
    a joint takes those of the joint, with speeds `v`.
    """
    if contact.joint[0]:
        assert q is not None and v is not None
        return _trace_within(contact, tree, reader, q, v)
    if not contact.is_flat:
        place = ca.SX(0, 1) if q is None else q[tree.contact_places(contact.name)[0]]
        return _trace_curved(contact, tree, motion, reader, place)
    node = tree.nodes[tree.index[contact.body]]
    R_plane, p_plane, w_plane, v_plane, p_origin = _plane(contact.plane, tree, motion, reader)
    # everything in D axes of the body, relative to its origin
    to_D = node.R_WD.T
    n = ca.mtimes(to_D, R_plane[:, 2]) if normal is None else normal
    above = ca.dot(R_plane[:, 2], node.p_WB - p_plane)
    r, heading, regularity = contact.contact(n, node.R_DB, reader)
    f = ca.mtimes(to_D, R_plane)[:, 0] if heading is None else heading
    lateral = cross(n, f)
    # (1) velocity of the material point, less that of the plane's body there
    w, v = motion[tree.index[contact.body]]
    velocity = v + cross(w, r)
    turning = w
    if contact.plane.body != "world":
        p_contact = node.p_WB + ca.mtimes(node.R_WD, r)
        of_plane = v_plane + cross(w_plane, p_contact - p_origin)
        velocity = velocity - ca.mtimes(to_D, of_plane)
        turning = w - ca.mtimes(to_D, w_plane)
    axes = {LONGITUDINAL: f, LATERAL: lateral, NORMAL: n}
    return ContactTrace(
        contact=contact,
        directions={name: ca.mtimes(node.R_WD, axis) for name, axis in axes.items()},
        point=node.p_WB + ca.mtimes(node.R_WD, r),
        slip={name: ca.dot(axis, velocity) for name, axis in axes.items()},
        velocity_D=velocity,
        axes_D=ca.horzcat(f, lateral, n),
        normal_D=n,
        arm_D=r,
        height=above + ca.dot(n, r),
        regularity=regularity,
        turning=ca.dot(n, turning),
    )


def _trace_within(
    contact: AbstractContact, tree: Tree, reader: Reader, q: ca.SX, v: ca.SX
) -> ContactTrace:
    """A stop or a bearing, which acts along a speed of a joint and has no direction in space."""
    joint, name = contact.joint
    node = next(n for n in tree.nodes if n.joint.name == joint)
    k = node.joint.speed_names().index(name)
    speed, none = v[node.speeds][k], ca.SX.zeros(3)
    gap, closing = ca.SX(0), ca.SX(0)
    if NORMAL in contact.directions():
        coordinate = ca.SX.sym("coordinate")
        left = contact.joint_gap(coordinate, reader)
        gap = ca.substitute([left], [coordinate], [q[node.coordinates][k]])[0]
        closing = ca.jacobian(left, coordinate) * speed
    return ContactTrace(
        contact=contact,
        directions=dict.fromkeys((LONGITUDINAL, LATERAL, NORMAL), none),
        point=node.p_WB,
        slip={LONGITUDINAL: speed, LATERAL: ca.SX(0), NORMAL: closing},
        velocity_D=none,
        axes_D=ca.SX.eye(3),
        normal_D=none,
        arm_D=none,
        height=gap,
        regularity=None,
        turning=ca.SX(0),
    )


def _trace_curved(
    contact: AbstractContact, tree: Tree, motion: list[Pair], reader: Reader, place: ca.SX
) -> ContactTrace:
    """A contact on curved ground, or of a surface without a closed form; in ground axes G."""
    wheel, middle = _rolling(contact)
    node, ground = tree.nodes[tree.index[contact.body]], contact.form
    R_plane, p_plane, w_plane, v_plane, p_origin = _plane(contact.plane, tree, motion, reader)
    R = ca.mtimes(R_plane.T, node.R_WB)
    center = ca.mtimes(R_plane.T, node.p_WB - p_plane) + ca.mtimes(R, reader.vector(middle))
    closest: list[tuple[str, ca.SX]] = []
    circle = wheel.circle()
    is_closed = ground.closed(circle)
    num_u = 0 if is_closed else len(ground.parameters())
    num_gap = int(num_u == 3)
    u, w_place = place[:num_u], place[num_u + num_gap :]
    chart = None
    if is_closed:
        axis = None
        if circle is not None and circle.axis is not None:
            axis = ca.mtimes(R, reader.direction(circle.axis))
        radius = reader.scalar(circle.radius) if circle is not None else ca.SX(0)
        n = ground.normal_at(center, axis, radius)
        bent = ground.curvature(n, reader)
        f = ground.heading(n)
    else:
        chart = ground.chart(u, reader)
        n, bent = chart.normal, chart.curvature
        f = ground.heading(n) if chart.tangents is None else unit(chart.tangents[:, 0])
    # the point of the surface
    regularity = None
    if wheel.parameters():
        own = wheel.chart(w_place[: len(wheel.parameters())], reader)
        arm = ca.mtimes(R, own.point)
        n_B = ca.mtimes(R.T, n)
        if own.tangents is not None:
            normals = ca.mtimes(own.tangents.T, n_B)
        else:
            normals = own.gradient + w_place[3] * n_B
        if (axis_B := wheel.wheel_axis()) is not None:
            f = unit(cross(ca.mtimes(R, reader.direction(axis_B)), n))
        closest += [("m", g) for g in ca.vertsplit(normals)]
        closest += [("m", g) for g in own.conditions]
        # the normals are opposite; where they are alike the body would be below its ground
        facing = -ca.dot(own.normal, n_B)
        turned = ca.mtimes(R, ca.mtimes(facing * own.curvature, R.T))
        curvatures = _eigenvalues(ca.SX(wheel.reach(reader)) * (turned + bent))
    else:
        touch = wheel.contact(n, R, reader)
        arm, regularity = touch.arm, touch.regularity
        f = f if touch.heading is None else touch.heading
        given = ca.SX.sym("n", 3)
        slope = ca.jacobian(wheel.contact(given, R, reader).arm, given)
        W = -ca.substitute(slope, given, ca.densify(n))
        curvatures = _eigenvalues(ca.mtimes(W, bent), 1.0)
    # the point of the ground
    p = center + arm
    if chart is None:
        height = ground.height(p, reader)
    else:
        apart = p - chart.point
        height = ca.dot(n, apart)
        if chart.tangents is not None:
            across = ca.mtimes(chart.tangents.T, apart)
        else:
            across = apart - place[num_u] * n
        closest += [("m", g) for g in ca.vertsplit(across)]
        closest += [("m", g) for g in chart.conditions]
    # the rest in D axes, as of a plane
    G_to_D = ca.mtimes(node.R_WD.T, R_plane)
    n_D, f_D = ca.mtimes(G_to_D, n), ca.mtimes(G_to_D, f)
    r = ca.mtimes(node.R_DB, reader.vector(middle)) + ca.mtimes(G_to_D, arm)
    w, v = motion[tree.index[contact.body]]
    velocity, turning = v + cross(w, r), w
    point = node.p_WB + ca.mtimes(node.R_WD, r)
    if contact.plane.body != "world":
        of_plane = v_plane + cross(w_plane, point - p_origin)
        velocity = velocity - ca.mtimes(node.R_WD.T, of_plane)
        turning = turning - ca.mtimes(node.R_WD.T, w_plane)
    axes = {LONGITUDINAL: f_D, LATERAL: cross(n_D, f_D), NORMAL: n_D}
    return ContactTrace(
        contact=contact,
        directions={name: ca.mtimes(node.R_WD, axis) for name, axis in axes.items()},
        point=point,
        slip={name: ca.dot(axis, velocity) for name, axis in axes.items()},
        velocity_D=velocity,
        axes_D=ca.horzcat(*axes.values()),
        normal_D=n_D,
        arm_D=r,
        height=height,
        regularity=regularity,
        turning=ca.dot(n_D, turning),
        closest=tuple((f"{CLOSEST_ROW}{k}", unit_, g) for k, (unit_, g) in enumerate(closest, 1)),
        curvatures=curvatures,
        margin=None if chart is None else ground.margin(u, reader),
    )


def curved_gaps(
    trace: ContactTrace, tree: Tree, q: ca.SX, reader: Reader, length: float
) -> list[ca.SX]:
    """Residuals that vanish if the contact point is on both surfaces with opposite normals.

    By the support function of the surface, or its normal, and by the ground's own points, or the
    gradient of its height: nothing of the tangents and rows by which the point was found.
    """
    contact, (wheel, middle) = trace.contact, _rolling(trace.contact)
    node, ground = tree.nodes[tree.index[contact.body]], contact.form
    still = [(_ZERO3, _ZERO3) for _ in tree.nodes]
    R_plane, p_plane, *_ = _plane(contact.plane, tree, still, reader)
    n = trace.directions[NORMAL]
    center = node.p_WB + ca.mtimes(node.R_WB, reader.vector(middle))
    place = q[tree.contact_places(contact.name)[0]]
    num_u = 0 if ground.closed(wheel.circle()) else len(ground.parameters())
    gaps: list[ca.SX] = []
    n_G, p_G = ca.mtimes(R_plane.T, n), ca.mtimes(R_plane.T, trace.point - p_plane)
    if num_u:
        chart = ground.chart(place[:num_u], reader)
        gaps += ca.vertsplit((p_G - trace.height * n_G - chart.point) / length)
        gaps += ca.vertsplit(chart.normal - n_G)
    else:
        x = ca.SX.sym("x", 3)
        slope = ca.gradient(ground.height(x, reader), x)
        gaps += ca.vertsplit(ca.substitute(slope, x, p_G) - n_G)
    down = -ca.mtimes(node.R_WB.T, n)
    if wheel.parameters():
        at = num_u + int(num_u == 3)
        own = wheel.chart(place[at : at + len(wheel.parameters())], reader)
        gaps += ca.vertsplit(cross(own.normal, down))
        gaps += ca.vertsplit((center + ca.mtimes(node.R_WB, own.point) - trace.point) / length)
    else:
        gaps.append((ca.dot(n, center - trace.point) - wheel.support(down, reader)) / length)
    return gaps


def _eigenvalues(tensor: ca.SX, offset: float = 0.0) -> tuple[ca.SX, ca.SX]:
    """Both eigenvalues, the smaller one first, of a product of tensors across one direction.

    The third is zero: with s = tr/2 and d the sum of the second-order minors, s ∓ √(s² − d).
    """
    half = ca.trace(tensor) / 2
    minors = (ca.trace(tensor) ** 2 - ca.trace(ca.mtimes(tensor, tensor))) / 2
    root = ca.sqrt(ca.fmax(half**2 - minors, 0))
    return offset + half - root, offset + half + root


def guess_places(contact: AbstractContact, tree: Tree, motion: list[Pair], reader: Reader) -> ca.SX:
    """Coordinates of a contact's own about where it touches, for the pose of its body."""
    if not contact.parameters():
        return ca.SX(0, 1)
    wheel, middle = _rolling(contact)
    node, ground = tree.nodes[tree.index[contact.body]], contact.form
    R_plane, p_plane, *_ = _plane(contact.plane, tree, motion, reader)
    R = ca.mtimes(R_plane.T, node.R_WB)
    center = ca.mtimes(R_plane.T, node.p_WB - p_plane) + ca.mtimes(R, reader.vector(middle))
    places: list[ca.SX] = []
    if ground.closed(wheel.circle()):
        n = ground.normal_at(center, None, ca.SX(0))
    else:
        u = ca.SX.sym("u", len(ground.parameters()))
        places.append(ground.guess(center, reader))
        n = ca.substitute(ground.chart(u, reader).normal, u, places[0])
        if len(ground.parameters()) == 3:
            places.append(ca.SX(0))
    if wheel.parameters():
        down = -ca.mtimes(R.T, n)
        places.append(wheel.guess(down, reader))
        if len(wheel.parameters()) == 3:
            w = ca.SX.sym("w", 3)
            size = ca.sqrt(ca.sumsqr(wheel.chart(w, reader).gradient))
            places.append(ca.substitute(size, w, places[-1]))
    return ca.vertcat(*places)


def _rolling(contact: AbstractContact) -> tuple[AbstractSurface, Vector3]:
    """Surface of a contact, and its center in the body frame."""
    surface, center = contact.surface, contact.wheel_center()
    if surface is None or center is None:
        raise ModelError(
            f"contact '{contact.name}' is on curved ground and has no surface that rolls",
            f"contacts.{contact.name}",
            f"put it on a plane, or give {type(contact).__name__} `surface` and `wheel_center`",
        )
    return surface, center


def plane_pose(plane: Plane, tree: Tree, reader: Reader) -> tuple[ca.SX, ca.SX]:
    """R and p in the world of the frame of a plane."""
    R, p = frame_pose(plane.frame, reader)
    k = tree.index[plane.body]
    if k < 0:
        return R, p
    node = tree.nodes[k]
    return ca.mtimes(node.R_WB, R), node.p_WB + ca.mtimes(node.R_WB, p)


def _plane(
    plane: Plane, tree: Tree, motion: list[Pair], reader: Reader
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
    """Orientation and origin of the plane, and its body's ω, v and origin, all in the world."""
    R, p = plane_pose(plane, tree, reader)
    k = tree.index[plane.body]
    if k < 0:
        return R, p, _ZERO3, _ZERO3, _ZERO3
    node = tree.nodes[k]
    w, v = motion[k]
    return (
        R,
        p,
        ca.mtimes(node.R_WD, w),
        ca.mtimes(node.R_WD, v),
        node.p_WB,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WheelRows:
    """The three rows of a wheel on the ground, in the axes of B."""

    trace: ContactTrace  #: the contact with its velocity, axes, normal and arm in these axes
    point: ca.SX  #: P of (1)
    relative: ca.SX  #: u of (2), the velocity of the material point against B
    rate: ca.SX  #: (5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedBody:
    """A body that turns on B, or on one that does, in the axes of B."""

    axes: ca.SX  #: rotation from its computing axes to those of B
    step: ca.SX  #: vector from its parent's origin to its own
    motion: ca.SX  #: (6,) H of its joint


class _TouchingCircle(NamedTuple):
    """A rim that touches the ground: letters as in the head of this file."""

    radius: ca.SX
    tube: ca.SX
    n: ca.SX
    a: ca.SX
    f: ca.SX
    sine: ca.SX

    def velocity(self, spin: ca.SX) -> ca.SX:
        """σ a × d of (2)."""
        return -spin * ((self.radius + self.tube * self.sine) * self.f)

    def rate(self, w_F: ca.SX, w_r: ca.SX, spin: ca.SX) -> ca.SX:
        """(5) but for its first term, which is the fork's."""
        radius, tube, n, a, f, sine = self
        along = ca.dot(n, a)
        e = (n - along * a) / sine
        gamma = along / sine * ca.dot(w_F, e) - ca.dot(w_F, a)  # (3)
        rolled = (spin * gamma) * (radius * e) - cross(gamma * w_F + spin * w_r, radius * f)
        turn = cross(w_F, n)
        bent = cross(w_F, turn) + spin * (cross(a, turn) - cross(w_r, sine * f))
        return rolled + tube * bent


def path_from_base(tree: Tree, trace: ContactTrace, reader: Reader) -> tuple[int, ...] | None:
    """Nodes from a body on a free joint to its wheel, (B,), (B, wheel) or (B, fork, wheel)."""
    contact = trace.contact
    if contact.circle() is None or contact.plane.body != WORLD:
        return None
    path = [tree.index[contact.body]]
    while tree.nodes[path[0]].parent >= 0:
        path.insert(0, tree.nodes[path[0]].parent)
    base, *others = (tree.nodes[k] for k in path)
    if not is_identity(base.H):
        return None
    match others:
        case []:
            fits = True
        case [wheel]:
            fits = _sense(wheel, contact, reader) != 0
        case [fork, wheel]:
            turns = fork.joint.type.rotation_axis() is not None
            fits = turns and _sense(wheel, contact, reader) != 0
        case _:
            fits = False
    return tuple(path) if fits else None


def carried_bodies(tree: Tree, path: tuple[int, ...], reader: Reader) -> dict[int, CarriedBody]:
    """Bodies along a path from B, in the axes of B."""
    found: dict[int, CarriedBody] = {}
    for k in path[1:]:
        node = tree.nodes[k]
        turned = found[node.parent].axes if node.parent in found else EYE3
        # the axis is the same in both frames of the joint
        R_PF, _ = frame_pose(node.joint.parent_frame, reader)
        along = node.joint.type.rotation_axis()
        assert along is not None, "a path leads over joints that turn"
        axis = ca.mtimes(turned, ca.mtimes(R_PF, reader.direction(along)))
        axes = ca.mtimes(turned, node.R_PD)
        found[k] = CarriedBody(
            axes=axes,
            step=ca.mtimes(turned, node.p_PB),
            motion=ca.vertcat(axis, ca.mtimes(axes, node.H[3:6, 0])),
        )
    return found


def trace_wheel(
    trace: ContactTrace,
    tree: Tree,
    path: tuple[int, ...],
    bodies: dict[int, CarriedBody],
    v: ca.SX,
    reader: Reader,
) -> WheelRows:
    """A wheel at the end of a path from B, for tree speeds v."""
    contact, circle = trace.contact, trace.contact.circle()
    assert circle is not None, "a path leads to a wheel made of circles"
    base, node = tree.nodes[path[0]], tree.nodes[path[-1]]
    w, v_B = v[base.speeds][0:3], v[base.speeds][3:6]
    to_B = base.R_WD.T
    R_plane, _ = frame_pose(contact.plane.frame, reader)
    n = ca.mtimes(to_B, R_plane[:, 2])
    R = ca.mtimes(bodies[path[-1]].axes, node.R_DB) if len(path) > 1 else node.R_DB
    P, heading, sine = contact.contact(n, R, reader)
    f = ca.mtimes(to_B, R_plane)[:, 0] if heading is None else heading
    # (1), and what the turning of a fork does to the contact point
    w_r, swing = _ZERO3, _ZERO3
    for k in reversed(path[1:]):
        body, speed = bodies[k], v[tree.nodes[k].speeds.start]
        if k != path[-1]:
            w_r = speed * body.motion[0:3]
            swing = speed * (body.motion[3:6] + cross(body.motion[0:3], P))
        P = body.step + P
    w_F = w + w_r
    if circle.axis is None or sine is None:
        relative = swing
        rate = reader.scalar(circle.tube_radius) * cross(w_F, cross(w_F, n))
    else:
        a = ca.mtimes(R, reader.direction(circle.axis))
        rim = _TouchingCircle(
            radius=reader.scalar(circle.radius),
            tube=reader.scalar(circle.tube_radius),
            n=n,
            a=a,
            f=f,
            sine=sine,
        )
        spin = ca.SX(0)
        if len(path) > 1:
            spin = _sense(node, contact, reader) * v[node.speeds.start]
        relative = swing + rim.velocity(spin)
        rate = cross(w_F, swing) + rim.rate(w_F, w_r, spin)
    return WheelRows(
        trace=dataclasses.replace(
            trace,
            velocity_D=v_B + cross(w, P) + relative,
            axes_D=ca.horzcat(f, cross(n, f), n),
            normal_D=n,
            arm_D=P,
            regularity=sine,
        ),
        point=P,
        relative=relative,
        rate=rate,
    )


def _sense(node: Node, contact: AbstractContact, reader: Reader) -> int:
    """±1 where a wheel spins about the axis of its joint, along it or against it; else 0."""
    circle, center = contact.circle(), contact.wheel_center()
    if not node.is_rotor or circle is None or circle.axis is None or center is None:
        return 0
    joint, axis = node.H[0:3, 0], reader.direction(circle.axis)
    is_on_axis = cross(joint, reader.vector(center)).is_zero()
    if not (is_on_axis and joint.is_constant() and axis.is_constant()):
        return 0
    along = float(ca.dot(joint, axis))
    return round(along) if abs(along) == 1.0 else 0


#: Origin of rows that find the closest points of a contact; they have no forces.
CLOSEST = "closest points"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowTrace:
    """One constraint row."""

    #: ``contact.lateral``, ``loop.shift_x``, ``joint.angle``, the input's or the row's name
    name: str
    #: source of the row: ``rolling``, ``closest points``, ``knife edge``, ``loop``, ``motion``,
    #: ``speed input``, ``row``
    origin: str
    velocity: ca.SX  #: r(q, v, t, w), kept at zero
    position: ca.SX | None  #: g(q, t), kept at zero; None for a nonholonomic row
    #: unit of the velocity form; ``m/s`` or ``rad/s``. The multiplier is in N or N·m accordingly.
    unit: str

    @property
    def is_holonomic(self) -> bool:
        """Whether the row has a position form."""
        return self.position is not None

    @property
    def multiplier_unit(self) -> str:
        """Unit of the row's multiplier: power over the unit of the row."""
        return {"m/s": "N", "rad/s": "N*m"}.get(self.unit, f"W/({self.unit})")


def trace_rows(
    model: Model,
    tree: Tree,
    symbols: Symbols,
    N: ca.SX,
    contacts: tuple[ContactTrace, ...],
    reader: Reader,
    speed_index: Mapping[str, int],
) -> list[RowTrace]:
    """All rows, in the order contacts, loops, prescribed motions, speed inputs, general rows."""

    def holonomic(name: str, origin: str, g: ca.SX, unit: str) -> RowTrace:
        # ġ = (∂g/∂q) N v + ∂g/∂t
        rate = ca.jtimes(
            g, ca.vertcat(symbols.q, symbols.t), ca.vertcat(ca.mtimes(N, symbols.v), ca.SX(1))
        )
        return RowTrace(name=name, origin=origin, velocity=rate, position=g, unit=unit)

    rows: list[RowTrace] = []
    for trace in contacts:
        contact = trace.contact
        rows += [
            RowTrace(
                name=f"{contact.name}.{name}",
                origin=contact.origin,
                velocity=trace.turning if name == SPIN else trace.slip[name],
                position=trace.height if name == NORMAL else None,
                unit="rad/s" if name == SPIN else "m/s",
            )
            for name in contact.directions()
        ]
        for name, its_unit, g in trace.closest:
            rows.append(holonomic(f"{contact.name}.{name}", CLOSEST, g, f"{its_unit}/s"))
    for joint in tree.loops:
        for name, its_unit, g in _loop_rows(joint, tree, reader):
            rows.append(holonomic(f"{joint.name}.{name}", "loop", g, f"{its_unit}/s"))
    for node in tree.nodes:
        for name, its_unit, g in _motion_rows(node, symbols.q, reader):
            rows.append(holonomic(f"{node.joint.name}.{name}", "motion", g, f"{its_unit}/s"))
    for k, speed_input in enumerate(model.speed_inputs):
        index = speed_index[speed_input.speed]
        its_unit = _speed_unit(tree, index)
        rows.append(
            RowTrace(
                name=speed_input.name,
                origin="speed input",
                velocity=symbols.v[index] - symbols.w[k],
                position=None,
                unit=its_unit,
            )
        )
    for row in model.rows:
        expression = reader.scalar(row.expression)
        if row.is_holonomic:
            rows.append(holonomic(row.name, "row", expression, f"{row.unit}/s"))
        else:
            rows.append(
                RowTrace(
                    name=row.name, origin="row", velocity=expression, position=None, unit=row.unit
                )
            )
    return rows


class LoopPose(NamedTuple):
    """Pose of M in F of a joint that closes a loop, and of M in the world."""

    R_FM: ca.SX
    p_FM: ca.SX
    R_WM: ca.SX
    p_WM: ca.SX


def loop_pose(joint: Joint, tree: Tree, reader: Reader) -> LoopPose:
    """Poses of the two frames of a joint that closes a loop."""
    R_PF, p_PF = frame_pose(joint.parent_frame, reader)
    R_BM, p_BM = frame_pose(joint.child_frame, reader)
    R_WP, p_WP = _body_pose(tree, joint.parent)
    R_WB, p_WB = _body_pose(tree, joint.child)
    R_WF, p_WF = ca.mtimes(R_WP, R_PF), p_WP + ca.mtimes(R_WP, p_PF)
    R_WM, p_WM = ca.mtimes(R_WB, R_BM), p_WB + ca.mtimes(R_WB, p_BM)
    return LoopPose(ca.mtimes(R_WF.T, R_WM), ca.mtimes(R_WF.T, p_WM - p_WF), R_WM, p_WM)


def _loop_rows(joint: Joint, tree: Tree, reader: Reader) -> list[tuple[str, str, ca.SX]]:
    """Rows g(q) of a joint that closes a loop, from the pose of M in F."""
    pose = loop_pose(joint, tree, reader)
    return joint.type.closure(pose.R_FM, pose.p_FM, reader)


def _motion_rows(node: Node, q: ca.SX, reader: Reader) -> list[tuple[str, str, ca.SX]]:
    """Rows g(q, t) of prescribed coordinates, and of a prescribed orientation."""
    joint = node.joint
    if not joint.motion:
        return []
    motion = {name: reader.scalar(text) for name, text in joint.motion.items()}
    rows = []
    for k, coordinate in enumerate(joint.type.coordinates):
        if coordinate.name in motion:
            at = node.coordinates.start + k
            rows.append((coordinate.name, coordinate.unit, q[at] - motion[coordinate.name]))
    angles = joint.type.named_angles()
    if angles is not None and all(name in motion for name in angles.names):
        prescribed = rotation_from_angles(
            vector([motion[name] for name in angles.names]), angles.sequence
        )
        R_FM, _ = joint.type.pose(q[node.coordinates], reader)
        turn = turn_vector(ca.mtimes(prescribed.T, R_FM))
        rows += [(f"turn_{k}", "rad", e) for k, e in zip("xyz", ca.vertsplit(turn), strict=True)]
    return rows


def _body_pose(tree: Tree, body: str) -> tuple[ca.SX, ca.SX]:
    k = tree.index[body]
    if k < 0:
        return EYE3, vector([0, 0, 0])
    return tree.nodes[k].R_WB, tree.nodes[k].p_WB


def _speed_unit(tree: Tree, index: int) -> str:
    for node in tree.nodes:
        if node.speeds.start <= index < node.speeds.stop:
            return node.joint.type.speeds[index - node.speeds.start].unit
    raise IndexError(index)


#: (t, q, v, params) → (nc,) sizes.
TermSizes = Callable[[float, Array, Array, Array], Array]

#: Numbers that are what they are: no rounding brought them about.
_EXACT = (0.0, 1.0, -1.0)


class Literals:
    """Numbers of a model as traced symbols."""

    def __init__(self) -> None:
        self._symbols: list[ca.SX] = []
        self.values: list[float] = []

    def __call__(self, number: float) -> ca.SX:
        """A symbol for a number."""
        if number in _EXACT:
            return ca.SX(number)
        self.values.append(number)
        self._symbols.append(ca.SX.sym("c"))
        return self._symbols[-1]

    @property
    def symbols(self) -> ca.SX:
        """Column of all symbols made so far."""
        return ca.vertcat(ca.SX(0, 1), *self._symbols)


def term_sizes(symbols: Symbols, velocities: ca.SX, literals: Literals) -> TermSizes:
    """Σ |∂r/∂δ_i| of the rows r = A v, (1), as a function of t, q, v and the parameters."""
    moving = ca.jtimes(velocities, symbols.v, symbols.v)  # A v without a
    inputs = [symbols.t, symbols.q, symbols.v, symbols.w, symbols.params, literals.symbols]
    disturbed, delta = _disturbed(inputs, moving)
    changes = ca.jacobian(disturbed, delta)
    sums = ca.mtimes(ca.fabs(changes), ca.SX.ones(delta.shape[0]))
    at_zero = ca.substitute([ca.densify(sums)], [delta], [ca.SX.zeros(delta.shape[0])])[0]
    function = ca.Function("sizes", inputs, [at_zero])
    w, numbers = np.zeros(symbols.w.shape[0]), np.array(literals.values)

    def sizes(t: float, q: Array, v: Array, params: Array) -> Array:
        return np.array(function(t, q, v, w, params, numbers)).ravel()

    return sizes


def _disturbed(inputs: list[ca.SX], output: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The output with every value z on the way replaced by z (1 + δ), and all δ."""
    function = ca.Function("rows", inputs, [ca.densify(output)])
    delta: list[ca.SX] = []

    def near(value: ca.SX) -> ca.SX:
        delta.append(ca.SX.sym("delta"))
        return value * (1 + delta[-1])

    outputs = [ca.SX(0)] * output.numel()
    # CasADi reuses its registers; a register holds the value written to it last
    registers: dict[int, tuple[ca.SX, ca.SX]] = {}  # disturbed, and as it is
    for k in range(function.n_instructions()):
        code, sources = function.instruction_id(k), function.instruction_input(k)
        targets = function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            outputs[targets[1]] = registers[sources[0]][0]
            continue
        if code == ca.OP_INPUT:
            value = inputs[sources[0]][sources[1]]
            registers[targets[0]] = near(value), value
            continue
        if code == ca.OP_CONST:
            value = ca.SX(function.instruction_constant(k))
            registers[targets[0]] = value, value
            continue
        changed, exact = zip(*[registers[source] for source in sources], strict=True)
        if code == ca.OP_CALL:
            called = function.instructions_sx()[k].which_function()
            both = zip(_called(called, changed), _called(called, exact), strict=True)
            for target, (value, known) in zip(targets, both, strict=True):
                registers[target] = near(value), known
            continue
        if code in (ca.OP_POW, ca.OP_CONSTPOW):
            changed = (
                changed[0],
                exact[1],
            )  # an exponent has no derivative where the base is below 0
        registers[targets[0]] = near(_applied(code, changed)), _applied(code, exact)
    return ca.vertcat(*outputs), ca.vertcat(ca.SX(0, 1), *delta)


def _called(function: ca.Function, values: tuple[ca.SX, ...]) -> list[ca.SX]:
    """Entries of the outputs of a function, which are dense, at those of its inputs."""
    rest = iter(values)
    arguments = []
    for k in range(function.n_in()):
        own = [next(rest) for _ in range(function.nnz_in(k))]
        arguments.append(ca.SX(function.sparsity_in(k), ca.vertcat(*own)))
    outputs = (ca.vec(output) for output in function.call(arguments))
    return [value for output in outputs for value in ca.vertsplit(output)]


def _applied(code: int, values: tuple[ca.SX, ...]) -> ca.SX:
    """One operation of CasADi on its operands."""
    return ca.SX.unary(code, *values) if len(values) == 1 else ca.SX.binary(code, *values)
