"""Orders of VDA 5050 as missions: legs with paths between stops.

An order [VDA 5050, version 3.0, order] is a sequence of nodes and edges. Each edge is a path, a
rational B-spline where it has a trajectory; they are joined into legs between stops: where a node
has an action that forbids driving, where the path has a corner, and where the vehicle goes on
backwards.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from noslip import AbstractPath, Composite, Line, ModelError, Nurbs, SimulationError
from noslip.base import LARGEST
from noslip.bridges.vda5050 import Message, read_message
from noslip.control import Point, heading


@dataclass(frozen=True, slots=True, kw_only=True)
class MissionLeg:
    """A path from one stop to the next.

    Parameters
    ----------
    path : to follow, for :func:`noslip.track`.
    nodes : identifiers of the nodes on it, the first and the last being its ends.
    maximum_speed : m/s, the least of its edges'; infinite where none is given.
    is_backward : whether the vehicle drives it backwards.
    heading : of the vehicle at its end, rad, if the order says one.
    actions : types of actions at its end.
    """

    path: AbstractPath
    nodes: tuple[str, ...]
    maximum_speed: float = math.inf
    is_backward: bool = False
    heading: float | None = None
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mission:
    """Legs of an order, one after the other. Made by :func:`read_mission`.

    Parameters
    ----------
    name : of the order.
    legs : in the order in which they are driven.
    notes : on what the legs do not carry.
    """

    name: str
    legs: tuple[MissionLeg, ...]
    notes: tuple[str, ...]


def read_mission(path: str | os.PathLike[str]) -> Mission:
    """The legs that an order of VDA 5050 has a vehicle drive.

    Parameters
    ----------
    path : of the message as JSON; version 3 is read.

    Raises
    ------
    ModelError : with all faults of the file.
    """
    return _Order(*read_message(path, "an order")).mission()


#: Angle between two edges, rad, below which the path has no corner there.
CORNER = 1e-6
#: Distance between the end of a trajectory and its node, m, that is rounding.
NEAR = 1e-6
#: Actions that a vehicle stands still for.
_STANDING = ("SOFT", "HARD")


class _Edge(NamedTuple):
    path: AbstractPath
    speed: float
    is_backward: bool


class _Order(Message):
    what = "an order"
    fix = "send it as version 3: maxSpeed is maximumSpeed there"

    def mission(self) -> Mission:
        """The legs of all that is released."""
        nodes, edges = self._sequence("nodes"), self._sequence("edges")
        notes = []
        held = [x for x in (*nodes, *edges) if x.get("released") is not True]
        if held:
            notes.append(f"{len(held)} of its nodes and edges are not released, and left out")
        nodes = [node for node in nodes if node.get("released") is True]
        edges = [edge for edge in edges if edge.get("released") is True]
        if len(edges) != max(0, len(nodes) - 1) or not nodes:
            self.fault(
                f"there are {len(nodes)} released nodes and {len(edges)} released edges",
                "order",
                "give one edge between each pair of successive nodes",
            )
            raise ModelError.from_faults(self.faults)
        made = [self._edge(edge, *nodes[k : k + 2]) for k, edge in enumerate(edges)]
        if self.faults:
            raise ModelError.from_faults(self.faults)
        legs, first = [], 0
        for k in range(len(made)):
            if k + 1 < len(made) and not self._is_stop(nodes[k + 1], made[k], made[k + 1]):
                continue
            legs.append(self._leg(nodes[first : k + 2], made[first : k + 1]))
            first = k + 1
        ignored = sorted({key for edge in edges for key in _IGNORED if key in edge})
        if ignored:
            notes.append(f"edges have {', '.join(ignored)}, which is left to the vehicle")
        if any(edge.get("actions") for edge in edges):
            notes.append("actions on edges are left out")
        name = str(self.table.get("orderId") or "order")
        return Mission(name=name, legs=tuple(legs), notes=tuple(notes))

    def _sequence(self, key: str) -> list[dict[str, Any]]:
        found = self.table.get(key)
        if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
            self.fault(f"'{key}' is not a list of objects", "order", "VDA 5050 requires it")
            raise ModelError.from_faults(self.faults)
        return sorted(found, key=lambda x: self.number(x, "sequenceId", key))

    def _edge(self, edge: dict[str, Any], start: dict[str, Any], end: dict[str, Any]) -> _Edge:
        where = f"edge '{edge.get('edgeId', '')!s:.40}'"
        ends = [self._place(node) for node in (start, end)]
        speed = self.number(edge, "maximumSpeed", where, LARGEST)
        if speed <= 0.0:
            self.fault(f"'maximumSpeed' is {speed:g} m/s", where, "give more than 0")
        turned = self.number(edge, "orientation", where, 0.0)
        is_global = edge.get("orientationType") == "GLOBAL"
        is_backward = not is_global and abs(math.remainder(turned, 2 * math.pi)) > math.pi / 2
        try:
            path = self._path(edge, where, ends)
        except SimulationError as error:
            self.fault(str(error).partition("\n")[0], where, "correct its trajectory or nodes")
            path = Line(start=(0.0, 0.0), end=(1.0, 0.0))
        return _Edge(path, speed if speed < LARGEST else math.inf, is_backward)

    def _path(self, edge: dict[str, Any], where: str, ends: list[Point]) -> AbstractPath:
        trajectory = edge.get("trajectory")
        if not isinstance(trajectory, dict):
            return Line(start=ends[0], end=ends[1])
        listed = trajectory.get("controlPoints")
        controls = [p for p in listed if isinstance(p, dict)] if isinstance(listed, list) else []
        points = tuple((self.number(p, "x", where), self.number(p, "y", where)) for p in controls)
        weights = tuple(self.number(p, "weight", where, 1.0) for p in controls)
        knots = trajectory.get("knotVector") or ()
        made = Nurbs(
            points=points,
            degree=trajectory.get("degree", 1),
            weights=weights,
            knots=tuple(knots) if isinstance(knots, list) else (),
        )
        for p, at, name in ((points[0], ends[0], "starts"), (points[-1], ends[1], "ends")):
            if math.dist(p, at) > NEAR:
                self.fault(
                    f"the trajectory {name} {math.dist(p, at):.3g} m from its node",
                    where,
                    "let the first and the last control point be the nodes",
                )
        return made

    def _place(self, node: dict[str, Any]) -> Point:
        where = f"node '{node.get('nodeId', '')!s:.40}'"
        held = node.get("nodePosition")
        if not isinstance(held, dict):
            self.fault("a node has no nodePosition", where, "give x and y in m")
            return 0.0, 0.0
        return self.number(held, "x", where), self.number(held, "y", where)

    def _is_stop(self, node: dict[str, Any], before: _Edge, after: _Edge) -> bool:
        (_, arriving), (leaving, _) = headings(before.path), headings(after.path)
        turn = math.remainder(leaving - arriving, 2 * math.pi)
        is_held = any(a.get("blockingType") in _STANDING for a in _actions(node))
        return is_held or abs(turn) > CORNER or before.is_backward != after.is_backward

    def _leg(self, nodes: list[dict[str, Any]], edges: list[_Edge]) -> MissionLeg:
        paths = tuple(edge.path for edge in edges)
        held = nodes[-1].get("nodePosition")
        theta = held.get("theta") if isinstance(held, dict) else None
        return MissionLeg(
            path=paths[0] if len(paths) == 1 else Composite(paths),
            nodes=tuple(str(node.get("nodeId", "")) for node in nodes),
            maximum_speed=min(edge.speed for edge in edges),
            is_backward=edges[0].is_backward,
            heading=float(theta) if isinstance(theta, int | float) else None,
            actions=tuple(str(a.get("actionType", "")) for a in _actions(nodes[-1])),
        )


#: Keys of edges that say nothing about the path.
_IGNORED = ("corridor", "direction", "maxRotationSpeed", "maximumMobileRobotHeight")


def _actions(node: dict[str, Any]) -> list[dict[str, Any]]:
    held = node.get("actions")
    return [a for a in held if isinstance(a, dict)] if isinstance(held, list) else []


def headings(path: AbstractPath) -> tuple[float, float]:
    """Direction of a path at its start and at its end, rad."""
    p = ca.SX.sym("p")
    f = ca.Function("heading", [p], [heading(path, p)])
    first, last = path.interval
    inside = 1e-9 * (last - first)
    return float(f(first + inside)), float(f(last - inside))
