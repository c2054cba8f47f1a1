"""Rows of rolling contacts and knife edges.

The contact point of a rolling body moves over the body and over the plane. A row states the
velocity of the *material* point that is in contact; differentiating it in time takes the motion of
the *geometric* contact point along, because the point is a function of q here (leaving that out is
the error of [SahaAngeles1991], Ṫ after eq. (31)).

The contact itself gives its contact point (`model/contacts`). With n the plane's normal, f the
heading, r the contact point from the body's origin, and all vectors in the computing axes D of the
body that touches:

    (1) v_contact = v + ω × r − (velocity of the plane's body at that point)
    (2) longitudinal f, lateral n × f
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.kinematics.symbols import Reader
from noslip.kinematics.tree import Pair, Tree, frame_pose
from noslip.model.contacts import LATERAL, LONGITUDINAL, NORMAL, AbstractContact, Plane
from noslip.spatial import cross, vector

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


def trace_contact(
    contact: AbstractContact,
    tree: Tree,
    motion: list[Pair],
    reader: Reader,
    normal: ca.SX | None = None,
) -> ContactTrace:
    """Contact geometry and slip velocities for the bodies' twists `motion`.

    A `normal` in D axes may stand for the plane's own, as one that is still to be put in.
    """
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
    if contact.plane.body != "world":
        p_contact = node.p_WB + ca.mtimes(node.R_WD, r)
        of_plane = v_plane + cross(w_plane, p_contact - p_origin)
        velocity = velocity - ca.mtimes(to_D, of_plane)
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
    )


def _plane(
    plane: Plane, tree: Tree, motion: list[Pair], reader: Reader
) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
    """Orientation and origin of the plane, and its body's ω, v and origin, all in the world."""
    R, p = frame_pose(plane.frame, reader)
    k = tree.index(plane.body)
    if k < 0:
        return R, p, _ZERO3, _ZERO3, _ZERO3
    node = tree.nodes[k]
    w, v = motion[k]
    return (
        ca.mtimes(node.R_WB, R),
        node.p_WB + ca.mtimes(node.R_WB, p),
        ca.mtimes(node.R_WD, w),
        ca.mtimes(node.R_WD, v),
        node.p_WB,
    )
