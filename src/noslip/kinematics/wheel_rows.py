"""Rows of wheels in the axes of the body B that carries them, with their rates in closed form.

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
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca

from noslip.algebra import EYE3, cross, is_identity, vector
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.symbols import Reader
from noslip.kinematics.tree import Node, Tree, frame_pose
from noslip.model import WORLD, AbstractContact

_ZERO3 = vector([0, 0, 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WheelRows:
    """The three rows of a wheel on the ground, in the axes of B.

    Parameters
    ----------
    trace : the contact with its velocity, axes, normal and arm in these axes.
    point : P of (1).
    relative : u of (2), the velocity of the material point against B.
    rate : (5).
    """

    trace: ContactTrace
    point: ca.SX
    relative: ca.SX
    rate: ca.SX


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CarriedBody:
    """A body that turns on B, or on one that does, in the axes of B.

    Parameters
    ----------
    axes : from its computing axes to those of B.
    step : from its parent's origin to its own.
    motion : (6,) H of its joint.
    """

    axes: ca.SX
    step: ca.SX
    motion: ca.SX


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
    path = [tree.index(contact.body)]
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
