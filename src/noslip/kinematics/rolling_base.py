"""Rolling base: speeds of a base at the point it rolls on, for the same motion in fewer operations.

A body B on a free joint rolls on the ground, itself or on a wheel of its own, and all three rows of
that contact are kept. Its twist is taken at the contact point C instead of its origin,

    (1)  v_C = v + ω × r        r from the origin of B to C, all in the axes of B

so that the rows say v_C = 0, or v_C in terms of the wheel's rate alone. No other independent speed
moves the point C of B, and most linear velocities of the basis are zero.

Bodies that turn on B and carry a wheel (a fork), and wheels, are resolved in the axes of B too. No
vector has to be turned before it is used, and rows of all wheels are solved in the same axes, where
most of their entries are plain coordinates.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from noslip.algebra import EYE3, cross, turned_inertia
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.symbols import Reader
from noslip.kinematics.tree import Node, Tree
from noslip.kinematics.wheel_rows import (
    CarriedBody,
    WheelRows,
    carried_bodies,
    path_from_base,
    trace_wheel,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RollingBase:
    """The base B of a mechanism and the point C it rolls on.

    Parameters
    ----------
    base : node of B.
    start : where B's speeds start, angular ones first.
    foot : contact at C.
    arm : r of (1).
    bodies : node → a fork or a wheel in the axes of B.
    wheels : contact → wheel in the axes of B.
    """

    base: int
    start: int
    foot: str
    arm: ca.SX
    bodies: dict[int, CarriedBody]
    wheels: dict[str, WheelRows]

    def tree_speeds(self, moved: ca.SX) -> ca.SX:
        """Tree speeds, or their rates, for columns of speeds at C: v = v_C + r × ω."""
        k = self.start
        v = moved[k + 3 : k + 6, :]
        for j in range(moved.shape[1]):
            v[:, j] += cross(self.arm, moved[k : k + 3, j])
        return ca.vertcat(moved[: k + 3, :], v, moved[k + 6 :, :])

    def moved_forces(self, forces: ca.SX) -> ca.SX:
        """Columns of forces on the speeds at C, with the power they have on the tree speeds."""
        k = self.start
        n = forces[k : k + 3, :]
        for j in range(forces.shape[1]):
            n[:, j] -= cross(self.arm, forces[k + 3 : k + 6, j])
        return ca.vertcat(forces[:k, :], n, forces[k + 3 :, :])

    def moved_velocity(self, contact: str, v: ca.SX) -> ca.SX:
        """Velocity of a contact's material point, in the axes of B, for speeds v at C."""
        rim, k = self.wheels[contact], self.start
        velocity = v[k + 3 : k + 6] + rim.relative
        if contact == self.foot:
            return velocity
        return velocity + cross(v[k : k + 3], rim.point - self.arm)

    def seen_from_base(self, contacts: tuple[ContactTrace, ...]) -> tuple[ContactTrace, ...]:
        """The same contacts, those of B's wheels in the axes of B."""
        wheels = self.wheels
        return tuple(
            wheels[t.contact.name].trace if t.contact.name in wheels else t for t in contacts
        )

    def moved_tree(self, tree: Tree) -> Tree:
        """The same tree with the origin of B at C, and forks and wheels in the axes of B."""
        nodes = [self._moved(k, node, tree) for k, node in enumerate(tree.nodes)]
        return dataclasses.replace(tree, nodes=tuple(nodes))

    def _moved(self, k: int, node: Node, tree: Tree) -> Node:
        if k == self.base:
            return dataclasses.replace(
                node,
                p_WB=node.p_WB + ca.mtimes(node.R_WD, self.arm),
                center_D=node.center_D - self.arm,
            )
        if node.parent != self.base and node.parent not in self.bodies:
            return node
        turned = EYE3 if node.parent == self.base else self.bodies[node.parent].axes
        p = ca.mtimes(turned, node.p_PB)
        p = p - self.arm if node.parent == self.base else p
        if k not in self.bodies:
            return dataclasses.replace(node, R_PD=ca.mtimes(turned, node.R_PD), p_PB=p)
        body = self.bodies[k]
        return dataclasses.replace(
            node,
            R_PD=EYE3,
            p_PB=p,
            R_DB=ca.mtimes(body.axes, node.R_DB),
            R_WD=tree.nodes[self.base].R_WD,
            H=body.motion,
            center_D=ca.mtimes(body.axes, node.center_D),
            inertia_D=turned_inertia(body.axes, node.inertia_D),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BasisAtContact:
    """The null-space basis S, speeds v at η and their rates at η̇ = 0, all in the speeds at C."""

    rolling_base: RollingBase
    S: ca.SX
    v: ca.SX
    vdot0: ca.SX


def find_rolling_base(
    tree: Tree, whole: Sequence[ContactTrace], v: ca.SX, reader: Reader
) -> RollingBase | None:
    """The first body on a free joint that rolls on the ground, with all its wheels, or None.

    Parameters
    ----------
    tree : of the mechanism.
    whole : contacts of which all three rows are kept.
    v : tree speeds.
    """
    paths = {t.contact.name: path for t in whole if (path := path_from_base(tree, t, reader))}
    # a wheel on a fork is none: its contact point moves against the base as the fork turns
    feet = [name for name, path in paths.items() if len(path) < 3]
    if not feet:
        return None
    base = paths[feet[0]][0]
    bodies: dict[int, CarriedBody] = {}
    wheels: dict[str, WheelRows] = {}
    for trace in whole:
        path = paths.get(trace.contact.name)
        if path is not None and path[0] == base:
            found = carried_bodies(tree, path, reader)
            wheels[trace.contact.name] = trace_wheel(trace, tree, path, found, v, reader)
            bodies |= found
    return RollingBase(
        base=base,
        start=tree.nodes[base].speeds.start,
        foot=feet[0],
        arm=wheels[feet[0]].point,
        bodies=bodies,
        wheels=wheels,
    )
