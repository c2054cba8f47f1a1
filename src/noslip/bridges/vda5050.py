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

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from noslip import Fault, ModelError
from noslip.base import LARGEST, nearest, read_text
from noslip.bridges.description import (
    Geometry,
    Link,
    LinkJoint,
    Pose,
    RobotDescription,
    Undercarriage,
)
from noslip.bridges.robots import AbstractRobotFormat
from noslip.model import rotation_about

#: Mass of a vehicle over the volume of its box, kg/m³, where it is not given.
DENSITY = 250.0
#: Mass of a wheel over the volume of its cylinder, kg/m³.
WHEEL_DENSITY = 1500.0
#: Versions that are read, by their first number.
MAJOR = "3"
MAX_BYTES = 5_000_000

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

    Parameters
    ----------
    file, table : its name, and what it holds.

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
        """A number of a table; a fault if it is none."""
        value = table.get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not abs(value) <= LARGEST
        ):
            self.fault(f"'{key}' is {value!r:.40}", where, "give a number in m or rad")
            return 1.0
        return float(value)

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
        geometry = self._object("mobileRobotGeometry")
        wheels = geometry.get("wheelDefinitions") or []
        if not isinstance(wheels, list) or not wheels:
            self.fault("there are no wheelDefinitions", "mobileRobotGeometry", "list the wheels")
            wheels = []
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
        if self.faults:
            raise ModelError.from_faults(self.faults)
        rollers = self._rollers(wheels, joints)
        if rollers:
            notes.append(
                "a factsheet does not say how rollers lie: ±45° are taken, with the rollers on the "
                "ground of front left and rear right pointing forward and right"
            )
        limits = {
            "maximumSpeed": "m/s", "maximumAcceleration": "m/s²", "maximumDeceleration": "m/s²"
        }  # fmt: skip
        said = [f"{key} = {size[key]:g} {unit}" for key, unit in limits.items() if key in size]
        if said:
            notes.append("limits are left out of the model: " + ", ".join(said))
        name = str(kind.get("seriesName") or self.table.get("serialNumber") or "vehicle")
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
        is_caster = kind == "CASTER" and wheel.get("isActiveSteered") is not True
        if is_caster and trail == 0.0:
            self.fault(
                f"caster '{name}' has no centerDisplacement, so that it would not swivel",
                where,
                "give the distance from its pivot to the wheel's center in m",
            )
        if is_caster or wheel.get("isActiveSteered") is True:
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
            if wheel.get("isActiveDriven") is True:
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
