"""VDA 5050 factsheets: wheels, size and limits of a mobile robot as a model.

[VDA 5050, version 3.0, factsheet]: the vehicle's x axis points forward, y to the left; a wheel has
a position, a diameter and a width, and ``centerDisplacement`` from its pivot if it is a caster. A
factsheet has no mass but that of the load: the vehicle has that of `DENSITY` in the box of its
length, width and least height.

    DRIVE, FIXED   a wheel about a level axis, turned by theta; with a motor if isActiveDriven,
                   on a steered fork with a motor if isActiveSteered
    CASTER         a fork that swivels freely, and a wheel behind it
    MECANUM        a wheel with rollers at ±45°, arranged as those of four at the corners are
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip import Fault, ModelError, SimulationError
from noslip.base import LARGEST, nearest, read_text
from noslip.bridges.robots import (
    AbstractRobotFormat,
    Geometry,
    Link,
    LinkJoint,
    Pose,
    RobotDescription,
    Undercarriage,
)
from noslip.control import Point, heading
from noslip.model import rotation_about
from noslip.paths import AbstractPath, Composite, Line, Nurbs

#: Mass of a vehicle over the volume of its box, kg/m³, where it is not given.
DENSITY = 250.0
#: Mass of a wheel over the volume of its cylinder, kg/m³.
WHEEL_DENSITY = 1500.0
#: Versions that are read, by their first number.
MAJOR = "3"
MAX_BYTES = 5_000_000

#: Keys of a wheel that are read.
_WHEEL_KEYS = (
    *("type", "position", "diameter", "width", "centerDisplacement"),
    *("isActiveDriven", "isActiveSteered"),
)
_WHEELS = ("DRIVE", "FIXED", "CASTER", "MECANUM")
_X, _Y, _Z = np.eye(3)


class Vda5050(AbstractRobotFormat):
    """VDA 5050 factsheets; see the list at the top of this file."""

    __slots__ = ()

    word = "vda5050"
    name = "VDA 5050"
    suffixes = (".factsheet.json",)

    def describe(self, path: Path) -> RobotDescription:
        """The vehicle of a factsheet, on its wheels."""
        return _Factsheet(*read_message(path, "a factsheet")).vehicle()


def read_message(path: str | os.PathLike[str], what: str) -> tuple[str, Any]:
    """Name of a file, and what it holds as JSON; `what` it should be, for messages."""
    file = os.fspath(path)
    text = read_text(file, ModelError, f"give {what} as JSON", max_bytes=MAX_BYTES)
    try:
        return file, json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"the text is not JSON: {error}", file, "correct it there") from None


class Message:
    """A message that is being read; collects its faults.

    Raises
    ------
    ModelError : it is no message, or one of another version.
    """

    #: What sentences call it, and what to do with one of another version.
    what, fix = "message", ""

    def __init__(self, file: str, table: Any) -> None:
        self.file, self.faults = file, list[Fault]()
        self.table = table if isinstance(table, dict) else {}
        version = self.table.get("version")
        if not isinstance(version, str):
            raise ModelError(
                "the file has no version, so it is not a VDA 5050 message",
                file,
                f'give {self.what} with "version": "3.0.0"',
            )
        if version.split(".")[0] != MAJOR:
            raise ModelError(
                f"the {self.what.partition(' ')[2]} is of version {version[:20]}, version {MAJOR} "
                "is read",
                file,
                self.fix,
            )

    def number(
        self, table: dict[str, Any], key: str, where: str, default: float | None = None
    ) -> float:
        """A number of a table; a fault if it is not a number."""
        value = table.get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not abs(value) <= LARGEST
        ):
            self.fault(f"'{key}' is {value!r:.40}", where, "give a number in m or rad")
            return 1.0
        return float(value)

    def flag(self, table: dict[str, Any], key: str, where: str) -> bool:
        """A truth value of a table, false by default; a fault if it is another value."""
        value = table.get(key, False)
        if not isinstance(value, bool):
            self.fault(f"'{key}' is {value!r:.40}", where, "give true or false")
        return value is True

    def text(self, table: dict[str, Any], key: str, where: str, default: str = "") -> str:
        """A text of a table; a fault if it is another value, or missing and without a default."""
        value = table.get(key, default)
        if not isinstance(value, str) or not (value or default):
            self.fault(f"'{key}' is {value!r:.40}", where, "give a text")
            return default
        return value

    def word(self, table: dict[str, Any], key: str, where: str, known: tuple[str, ...]) -> str:
        """One of some words, the first by default."""
        value = table.get(key, known[0])
        if value not in known:
            self.fault(f"'{key}' is {value!r:.40}", where, nearest(str(value)[:40], known))
            return known[0]
        return str(value)

    def objects(self, table: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
        """A list of objects of a table, empty by default; a fault if it is another value."""
        held = table.get(key)
        if held is None:
            return []
        if not isinstance(held, list) or not all(isinstance(entry, dict) for entry in held):
            self.fault(f"'{key}' is {held!r:.40}", where, "give a list of objects")
            return []
        return held

    def misspelled(
        self, table: dict[str, Any], where: str, known: tuple[str, ...]
    ) -> Iterator[str]:
        """Notes on keys that are nearly one that is read and not there."""
        for key in table:
            if key not in known:
                for meant in difflib.get_close_matches(key, known, n=1, cutoff=0.85):
                    if meant not in table:
                        yield f"{where} has '{key}', which is not read; '{meant}' would be"

    def fault(self, what: str, where: str, fix: str) -> None:
        """Note what is wrong."""
        self.faults.append(Fault(what, f"{self.file}, {where}", fix))


class _Factsheet(Message):
    what = "a factsheet"
    fix = "export it as version 3: agvGeometry is mobileRobotGeometry there"

    def vehicle(self) -> RobotDescription:
        kind, size = self._object("typeSpecification"), self._object("physicalParameters")
        length, width = self._length(size, "length"), self._length(size, "width")
        height = self._length(size, "minimumHeight")
        for key in size:
            if self.number(size, key, "physicalParameters") < 0.0:
                self.fault(f"'{key}' is {size[key]:g}", "physicalParameters", "give 0 or more")
        geometry = self._object("mobileRobotGeometry")
        wheels = geometry.get("wheelDefinitions") or []
        if not isinstance(wheels, list) or not wheels:
            self.fault("there are no wheelDefinitions", "mobileRobotGeometry", "list the wheels")
            wheels = []
        limits = {
            "maximumSpeed": "m/s", "maximumAcceleration": "m/s²", "maximumDeceleration": "m/s²"
        }  # fmt: skip
        mass = DENSITY * length * width * height
        notes = [
            f"a factsheet has no mass: {mass:.4g} kg are taken, {DENSITY:g} kg/m³ in its box; "
            "correct it in the model file"
        ]
        links = [self._chassis(mass, length, width, height)]
        joints: list[LinkJoint] = []
        rolling: list[str] = []
        casters: list[str] = []
        driven: list[str] = []
        for k, wheel in enumerate(wheels, 1):
            where = f"mobileRobotGeometry.wheelDefinitions[{k - 1}]"
            if not isinstance(wheel, dict):
                self.fault("a wheel is not an object", where, "give type, position and diameter")
                continue
            self._wheel(wheel, f"wheel{k}", where, links, joints, rolling, casters, driven)
            notes += self.misspelled(wheel, where, _WHEEL_KEYS)
            if isinstance(wheel.get("position"), dict):
                notes += self.misspelled(wheel["position"], where, ("x", "y", "theta"))
            if wheel.get("type") == "CASTER" and wheel.get("isActiveDriven") is True:
                notes.append(f"caster 'wheel{k}' is driven, which is left out")
        notes += self.misspelled(size, "physicalParameters", tuple(limits))
        name = self.text(self.table, "serialNumber", "factsheet", "vehicle")
        name = self.text(kind, "seriesName", "typeSpecification", name)
        if self.faults:
            raise ModelError.from_faults(self.faults)
        rollers = self._rollers(wheels, joints)
        if rollers:
            notes.append(
                "a factsheet does not say how rollers lie: ±45° are taken, with the rollers on the "
                "ground of front left and rear right pointing forward and right"
            )
        said = [f"{key} = {size[key]:g} {unit}" for key, unit in limits.items() if key in size]
        if said:
            notes.append("limits are left out of the model: " + ", ".join(said))
        return RobotDescription(
            name=re.sub(r"\s+", "-", name),
            file=self.file,
            links=tuple(links),
            joints=tuple(joints),
            driven=tuple(driven),
            notes=tuple(notes),
            undercarriage=Undercarriage(
                wheels=dict.fromkeys(rolling),
                casters=dict.fromkeys(casters),
                slides=tuple(self._sliding(joints, rolling)),
                rollers=rollers,
            ),
        )

    def _rollers(self, wheels: list[Any], joints: list[LinkJoint]) -> dict[str, float]:
        """Angles of rollers of mecanum wheels, by the corner that each is at."""
        names = [f"wheel{k}" for k, w in enumerate(wheels, 1) if w.get("type") == "MECANUM"]
        places = {j.child: j.pose.p for j in joints if j.child in names}
        if not places:
            return {}
        middle = np.mean(list(places.values()), axis=0)
        return {
            name: -math.pi / 4 if (p[0] > middle[0]) == (p[1] > middle[1]) else math.pi / 4
            for name, p in places.items()
        }

    def _sliding(self, joints: list[LinkJoint], rolling: list[str]) -> list[str]:
        """All but the first wheel that steers by itself, whose rolling would lock the others."""
        carriers = {joint.child: joint.parent for joint in joints}
        steered = [name for name in rolling if carriers[name] != "chassis"]
        return steered[1:]

    def _chassis(self, mass: float, length: float, width: float, height: float) -> Link:
        squares = np.array([length, width, height]) ** 2
        return Link(
            name="chassis",
            where=self.file,
            mass=mass,
            center=_Z * height / 2,
            inertia=np.diag(mass * (squares.sum() - squares) / 12),
            visuals=(
                Geometry(kind="box", size=(length, width, height), pose=Pose(_Z * height / 2)),
            ),
        )

    def _wheel(
        self, wheel: dict[str, Any], name: str, where: str, links: list[Link],
        joints: list[LinkJoint], rolling: list[str], casters: list[str], driven: list[str],
    ) -> None:  # fmt: skip
        kind = wheel.get("type")
        if kind not in _WHEELS:
            self.fault(f"a wheel is of type {kind!r:.40}", where, nearest(str(kind), _WHEELS))
            return
        place = wheel.get("position") if isinstance(wheel.get("position"), dict) else {}
        assert isinstance(place, dict)
        x, y = self.number(place, "x", where), self.number(place, "y", where)
        theta = self.number(place, "theta", where, 0.0)
        radius = self._length(wheel, "diameter", where) / 2
        width = self._length(wheel, "width", where)
        trail = abs(self.number(wheel, "centerDisplacement", where, 0.0))
        pose = Pose(np.array([x, y, radius]), rotation_about(_Z, theta))
        parent = "chassis"
        is_steered, is_driven = (
            self.flag(wheel, key, where) for key in ("isActiveSteered", "isActiveDriven")
        )
        is_caster = kind == "CASTER" and not is_steered
        if is_caster and trail == 0.0:
            self.fault(
                f"caster '{name}' has no centerDisplacement, so that it would not swivel",
                where,
                "give the distance from its pivot to the wheel's center in m",
            )
        if is_caster or is_steered:
            parent = f"{name}_fork"
            links.append(Link(name=parent, where=where))
            joints.append(
                LinkJoint(
                    name=f"{name}_swivel" if is_caster else f"{name}_steer",
                    where=where,
                    kind="revolute",
                    parent="chassis",
                    child=parent,
                    pose=pose,
                    axis=_Z,
                )
            )
            if not is_caster:
                driven.append(f"{name}_steer")
            pose = Pose(-_X * trail)
        mass = WHEEL_DENSITY * math.pi * radius**2 * width
        across = mass * (3 * radius**2 + width**2) / 12
        cylinder = Geometry(
            kind="cylinder", size=(radius, width), pose=Pose(R=rotation_about(_X, -math.pi / 2))
        )
        links.append(
            Link(
                name=name,
                where=where,
                mass=mass,
                visuals=(cylinder,),
                inertia=np.diag([across, mass * radius**2 / 2, across]),
            )
        )
        joints.append(
            LinkJoint(
                name=f"{name}_axle",
                where=where,
                kind="revolute",
                parent=parent,
                child=name,
                pose=pose,
                axis=_Y,
            )
        )
        if is_caster:
            casters.append(parent)
        else:
            rolling.append(name)
            if is_driven:
                driven.append(f"{name}_axle")

    def _object(self, key: str) -> dict[str, Any]:
        value = self.table.get(key)
        if not isinstance(value, dict):
            self.fault(f"there is no object '{key}'", "factsheet", "VDA 5050 requires it")
            return {}
        return value

    def _length(self, table: dict[str, Any], key: str, where: str = "physicalParameters") -> float:
        value = self.number(table, key, where)
        if value <= 0.0:
            self.fault(f"'{key}' is {value:g} m", where, "give a positive length in m")
            return 1.0
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLeg:
    """A path from one stop to the next."""

    path: AbstractPath  #: path to follow, for :func:`noslip.track`
    nodes: tuple[str, ...]  #: identifiers of the nodes on it, the first and the last being its ends
    maximum_speed: float = math.inf  #: m/s, the least of its edges'; infinite where none is given
    is_backward: bool = False  #: whether the vehicle drives it backwards
    #: heading of the vehicle at the end of the leg, rad, if the order has one
    heading: float | None = None
    actions: tuple[str, ...] = ()  #: types of actions at its end

    @property
    def headings(self) -> tuple[float, float]:
        """Headings of the vehicle at the start and at the end of the path, rad."""
        around = math.pi if self.is_backward else 0.0
        first, last = headings(self.path)
        return first + around, last + around


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Legs of an order, one after the other. Made by :func:`read_order`."""

    name: str  #: name of the order
    legs: tuple[OrderLeg, ...]  #: legs in the order in which they are driven
    notes: tuple[str, ...]  #: remarks on what the legs do not carry


def read_order(path: str | os.PathLike[str]) -> Order:
    """The legs that an order of VDA 5050 has a vehicle drive.

    Parameters
    ----------
    path : path of the message as JSON; version 3 is read.

    Raises
    ------
    ModelError : with all faults of the file.
    """
    return _Order(*read_message(path, "an order")).order()


#: Angle between two edges, rad, below which the path has no corner there.
CORNER = 1e-6
#: Distance between the end of a trajectory and its node, m, that is rounding.
NEAR = 1e-6
#: Actions that a vehicle stands still for.
_STANDING = ("SOFT", "HARD")
_BLOCKING = ("NONE", "SINGLE", *_STANDING)
_ORIENTATIONS = ("TANGENTIAL", "GLOBAL")
#: Keys of nodes and edges that are read, and may be left out.
_KEYS = ("actions", "trajectory", "maximumSpeed", "orientation", "orientationType")


class _Edge(NamedTuple):
    path: AbstractPath
    speed: float
    is_backward: bool


class _Order(Message):
    what = "an order"
    fix = "send it as version 3: maxSpeed is maximumSpeed there"

    def order(self) -> Order:
        """The legs of all that is released."""
        nodes, edges = self._sequence("nodes"), self._sequence("edges")
        notes = []
        released = {id(x): self.flag(x, "released", "order") for x in (*nodes, *edges)}
        held = [x for x in (*nodes, *edges) if not released[id(x)]]
        if held:
            notes.append(f"{len(held)} of its nodes and edges are not released, and left out")
        for part in (*nodes, *edges):
            where = f"{'node' if part in nodes else 'edge'} '{self._id(part)}'"
            notes += self.misspelled(part, where, _KEYS)
            if isinstance(part.get("trajectory"), dict):
                notes += self.misspelled(part["trajectory"], where, ("knotVector", "degree"))
            for action in self.objects(part, "actions", where):
                self.text(action, "actionType", where)
                if self.text(action, "blockingType", where):
                    self.word(action, "blockingType", where, _BLOCKING)
                notes += self.misspelled(action, where, ("actionType", "blockingType"))
        nodes = [node for node in nodes if released[id(node)]]
        edges = [edge for edge in edges if released[id(edge)]]
        if len(edges) != max(0, len(nodes) - 1) or not nodes:
            self.fault(
                f"there are {len(nodes)} released nodes and {len(edges)} released edges",
                "order",
                "give one edge between each pair of successive nodes",
            )
            raise ModelError.from_faults(self.faults)
        if not self.faults:
            self._check_sequence(nodes, edges)
        made = [self._edge(edge, *nodes[k : k + 2]) for k, edge in enumerate(edges)]
        name = self.text(self.table, "orderId", "order", "order")
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
        return Order(name=name, legs=tuple(legs), notes=tuple(notes))

    def _sequence(self, key: str) -> list[dict[str, Any]]:
        found = self.table.get(key)
        if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
            self.fault(f"'{key}' is not a list of objects", "order", "VDA 5050 requires it")
            raise ModelError.from_faults(self.faults)
        identifier = f"{key.removesuffix('s')}Id"
        for part in found:
            self.text(part, identifier, key)
        return sorted(found, key=lambda x: self.number(x, "sequenceId", key))

    def _id(self, part: dict[str, Any]) -> str:
        return str(part.get("nodeId", part.get("edgeId", "")))[:40]

    def _check_sequence(self, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
        """Nodes and edges follow each other by their numbers, and edges name their nodes."""
        for k, edge in enumerate(edges):
            where = f"edge '{self._id(edge)}'"
            before, at, after = (x["sequenceId"] for x in (nodes[k], edge, nodes[k + 1]))
            if not before < at < after:
                self.fault(
                    f"its sequenceId is {at:g}, those of the nodes around it are {before:g} and "
                    f"{after:g}",
                    where,
                    "number nodes and edges in the order in which they are driven",
                )
            for key, node in (("startNodeId", nodes[k]), ("endNodeId", nodes[k + 1])):
                if key in edge and edge[key] != node["nodeId"]:
                    self.fault(
                        f"its {key} is {edge[key]!r:.40}, its number is beside node "
                        f"'{self._id(node)}'",
                        where,
                        "correct the sequenceId or the node",
                    )

    def _edge(self, edge: dict[str, Any], start: dict[str, Any], end: dict[str, Any]) -> _Edge:
        where = f"edge '{edge.get('edgeId', '')!s:.40}'"
        ends = [self._place(node) for node in (start, end)]
        speed = self.number(edge, "maximumSpeed", where, LARGEST)
        if speed <= 0.0:
            self.fault(f"'maximumSpeed' is {speed:g} m/s", where, "give more than 0")
        turned = self.number(edge, "orientation", where, 0.0)
        is_global = self.word(edge, "orientationType", where, _ORIENTATIONS) == "GLOBAL"
        is_backward = not is_global and abs(math.remainder(turned, 2 * math.pi)) > math.pi / 2
        try:
            path = self._path(edge, where, ends)
        except SimulationError as error:
            self.fault(str(error).partition("\n")[0], where, "correct its trajectory or nodes")
            path = Line(start=(0.0, 0.0), end=(1.0, 0.0))
        return _Edge(path, speed if speed < LARGEST else math.inf, is_backward)

    def _path(self, edge: dict[str, Any], where: str, ends: list[Point]) -> AbstractPath:
        trajectory = edge.get("trajectory")
        if trajectory is None:
            return Line(start=ends[0], end=ends[1])
        if not isinstance(trajectory, dict):
            self.fault(f"'trajectory' is {trajectory!r:.40}", where, "give an object")
            trajectory = {}
        controls = self.objects(trajectory, "controlPoints", where)
        points = tuple((self.number(p, "x", where), self.number(p, "y", where)) for p in controls)
        weights = tuple(self.number(p, "weight", where, 1.0) for p in controls)
        knots = trajectory.get("knotVector", [])
        if not isinstance(knots, list):
            self.fault(f"'knotVector' is {knots!r:.40}", where, "give a list of numbers")
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
        self.number(held, "theta", where, 0.0)
        return self.number(held, "x", where), self.number(held, "y", where)

    def _is_stop(self, node: dict[str, Any], before: _Edge, after: _Edge) -> bool:
        (_, arriving), (leaving, _) = headings(before.path), headings(after.path)
        turn = math.remainder(leaving - arriving, 2 * math.pi)
        is_held = any(a.get("blockingType") in _STANDING for a in node.get("actions") or ())
        return is_held or abs(turn) > CORNER or before.is_backward != after.is_backward

    def _leg(self, nodes: list[dict[str, Any]], edges: list[_Edge]) -> OrderLeg:
        paths = tuple(edge.path for edge in edges)
        held = nodes[-1]["nodePosition"]
        return OrderLeg(
            path=paths[0] if len(paths) == 1 else Composite(paths),
            nodes=tuple(str(node.get("nodeId", "")) for node in nodes),
            maximum_speed=min(edge.speed for edge in edges),
            is_backward=edges[0].is_backward,
            heading=float(held["theta"]) if "theta" in held else None,
            actions=tuple(a["actionType"] for a in nodes[-1].get("actions") or ()),
        )


#: Keys of edges that say nothing about the path.
_IGNORED = ("corridor", "direction", "maxRotationSpeed", "maximumMobileRobotHeight")


def headings(path: AbstractPath) -> tuple[float, float]:
    """Direction of a path at its start and at its end, rad."""
    p = ca.SX.sym("p")
    f = ca.Function("heading", [p], [heading(path, p)])
    first, last = path.interval
    inside = 1e-9 * (last - first)
    return float(f(first + inside)), float(f(last - inside))
