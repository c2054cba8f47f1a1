"""Rows of rolling contacts and knife edges.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.algebra import cross, unit, vector
from noslip.base import ModelError
from noslip.kinematics.symbols import Reader
from noslip.kinematics.tree import Pair, Tree, frame_pose
from noslip.model import (
    CLOSEST_ROW,
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    AbstractContact,
    AbstractSurface,
    Plane,
    Vector3,
)

_ZERO3 = vector([0, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContactTrace:
    """A contact as traced: where it is, along which axes, and how its material point moves.

    Parameters
    ----------
    directions : name → unit vector in the world (longitudinal, lateral, normal).
    point : contact point in the world, m.
    slip : name → velocity of the material point against the plane along that direction, m/s.
    velocity_D, axes_D : that velocity, and the directions as columns, in the body's computing axes.
    normal_D : the plane's normal in the same axes.
    arm_D : from the body's origin to the contact point, in the same axes.
    height : how far the wheel's lowest point is above the plane, m; zero in contact.
    regularity : sine of the angle between the wheel's plane and the plane it rolls on; 0 when it
        lies flat, where its contact is a whole circle. None for balls and blades.
    turning : angular velocity about the normal against the ground, rad/s.
    closest : (name, unit, value) of what vanishes at the closest points, (3).
    curvatures : both eigenvalues of the relative curvature, over that of the surface alone or times
        its reach; None on a plane, where it is always positive.
    margin : distance from the border of the ground, in lengths of its own, if it has one.
    """

    contact: AbstractContact
    directions: dict[str, ca.SX]
    point: ca.SX
    slip: dict[str, ca.SX]
    velocity_D: ca.SX
    axes_D: ca.SX
    normal_D: ca.SX
    arm_D: ca.SX
    height: ca.SX
    regularity: ca.SX | None
    turning: ca.SX
    closest: tuple[tuple[str, str, ca.SX], ...] = ()
    curvatures: tuple[ca.SX, ca.SX] | None = None
    margin: ca.SX | None = None


def trace_contact(
    contact: AbstractContact,
    tree: Tree,
    motion: list[Pair],
    reader: Reader,
    normal: ca.SX | None = None,
    q: ca.SX | None = None,
) -> ContactTrace:
    """Contact geometry and slip velocities for the bodies' twists `motion`.

    A `normal` in D axes may stand for the plane's own, as one that is still to be put in. Of the
    coordinates `q` those are taken that are the contact's own, if it has some.
    """
    if not contact.is_flat:
        place = ca.SX(0, 1) if q is None else q[tree.contact_places(contact.name)[0]]
        return _trace_curved(contact, tree, motion, reader, place)
    node = tree.nodes[tree.index(contact.body)]
    R_plane, p_plane, w_plane, v_plane, p_origin = _plane(contact.plane, tree, motion, reader)
    # everything in D axes of the body, relative to its origin
    to_D = node.R_WD.T
    n = ca.mtimes(to_D, R_plane[:, 2]) if normal is None else normal
    above = ca.dot(R_plane[:, 2], node.p_WB - p_plane)
    r, heading, regularity = contact.contact(n, node.R_DB, reader)
    f = ca.mtimes(to_D, R_plane)[:, 0] if heading is None else heading
    lateral = cross(n, f)
    # (1) velocity of the material point, less that of the plane's body there
    w, v = motion[tree.index(contact.body)]
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


def _trace_curved(
    contact: AbstractContact, tree: Tree, motion: list[Pair], reader: Reader, place: ca.SX
) -> ContactTrace:
    """A contact on curved ground, or of a surface without a closed form; in ground axes G."""
    wheel, middle = _rolling(contact)
    node, ground = tree.nodes[tree.index(contact.body)], contact.form
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
    w, v = motion[tree.index(contact.body)]
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
    node, ground = tree.nodes[tree.index(contact.body)], contact.form
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
    node, ground = tree.nodes[tree.index(contact.body)], contact.form
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
    k = tree.index(plane.body)
    if k < 0:
        return R, p
    node = tree.nodes[k]
    return ca.mtimes(node.R_WB, R), node.p_WB + ca.mtimes(node.R_WB, p)


def _plane(
    plane: Plane, tree: Tree, motion: list[Pair], reader: Reader
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
    """Orientation and origin of the plane, and its body's ω, v and origin, all in the world."""
    R, p = plane_pose(plane, tree, reader)
    k = tree.index(plane.body)
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
