"""URDF: the tree of links and joints, inertia, primitives, damping, friction, mimic.

[URDF XML specification, ROS wiki and docs.ros.org]: lengths in m, ``rpy`` about fixed axes x, y, z
in rad, so R = Rz(yaw) Ry(pitch) Rx(roll); a joint's origin is the frame of its child link at zero;
its axis is in that frame, x by default.

Files are read; nothing in them is run, included or fetched.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from noslip.bridges.description import (
    Geometry,
    Link,
    LinkJoint,
    Pose,
    RobotDescription,
)
from noslip.bridges.robots import AbstractRobotFormat
from noslip.bridges.xml_text import XmlElement, XmlReader, read_document
from noslip.errors import ModelError, nearest
from noslip.model.numbers import Array

_KINDS = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
}
#: Elements that say nothing about the mechanics, or nothing that a model carries.
_IGNORED = {
    "gazebo": "settings of Gazebo",
    "sensor": "sensors",
    "ros2_control": "interfaces of ros2_control other than which joints are actuated",
}


class Urdf(AbstractRobotFormat):
    """URDF; see the list at the top of this file."""

    __slots__ = ()

    word = "urdf"
    name = "URDF"
    suffixes = (".urdf",)

    def describe(self, path: Path) -> RobotDescription:
        """The robot that a URDF file describes."""
        return read_urdf(path)


def read_urdf(path: str | os.PathLike[str]) -> RobotDescription:
    """The robot that a URDF file describes."""
    other = "a file for MuJoCo is named .xml or .mjcf"
    file, root = read_document(path, "robot", "URDF", other)
    _refuse_xacro(root, file)
    return _Reading(file).robot(root)


def _refuse_xacro(root: XmlElement, file: str) -> None:
    for element in _walk(root):
        if element.tag.startswith("xacro:") or any(
            mark in value for value in element.attributes.values() for mark in ("${", "$(")
        ):
            raise ModelError(
                "the file is xacro, a language of macros that would have to be run",
                f"{file}, line {element.line}",
                "expand it first: xacro robot.urdf.xacro > robot.urdf",
            )


def _walk(element: XmlElement) -> Iterator[XmlElement]:
    waiting = [element]
    while waiting:
        now = waiting.pop()
        yield now
        waiting.extend(now.children)


class _Reading(XmlReader):
    """One file being read."""

    def robot(self, root: XmlElement) -> RobotDescription:
        colors = {
            m.attributes.get("name", ""): color
            for m in root.all("material")
            if (color := self._color(m))
        }
        links = tuple(self._link(element, colors) for element in root.all("link"))
        joints = tuple(
            joint for element in root.all("joint") if (joint := self._joint(element)) is not None
        )
        actuated = [
            element.attributes["name"]
            for owner in root.all("transmission", "ros2_control")
            for element in _walk(owner)
            if element.tag == "joint" and "name" in element.attributes
        ]
        notes = [
            f"{what} are left out" for tag, what in _IGNORED.items() if root.first(tag) is not None
        ]
        self.raise_faults()
        return RobotDescription(
            name=root.attributes.get("name", "robot"),
            file=self.file,
            links=links,
            joints=joints,
            driven=tuple(dict.fromkeys(actuated)) or None,
            notes=tuple(notes),
        )

    def _name(self, element: XmlElement) -> str:
        name = element.attributes.get("name", "")
        if not name:
            self.fault(element, f"a <{element.tag}> has no name", 'write name="…"')
        return name

    def _link(self, element: XmlElement, colors: dict[str, str]) -> Link:
        name = self._name(element)
        inertial = element.first("inertial")
        mass, center, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
        if inertial is not None:
            pose = self._pose(inertial)
            mass = self.number(inertial.first("mass"), "value")
            at = inertial.first("inertia")
            xx, xy, xz, yy, yz, zz = (
                self.number(at, key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            )
            own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            center, inertia = pose.p, pose.R @ own @ pose.R.T
            inertia = own if np.array_equal(pose.R, np.eye(3)) else (inertia + inertia.T) / 2
        return Link(
            name=name,
            where=f"{self.file}, line {element.line}",
            mass=mass,
            center=center,
            inertia=inertia,
            visuals=tuple(self._geometries(element, "visual", colors)),
            collisions=tuple(self._geometries(element, "collision", colors)),
        )

    def _geometries(self, link: XmlElement, tag: str, colors: dict[str, str]) -> Iterator[Geometry]:
        for element in link.all(tag):
            pose = self._pose(element)
            material = element.first("material")
            color = ""
            if material is not None:
                named = colors.get(material.attributes.get("name", ""), "")
                color = self._color(material) or named
            holder = element.first("geometry")
            for shape in holder.children if holder is not None else ():
                kind, file = shape.tag, shape.attributes.get("filename", "")
                size: tuple[float, ...] = ()
                if kind == "box":
                    size = self.numbers(shape, "size", (1.0, 1.0, 1.0))
                elif kind in ("cylinder", "capsule"):
                    size = (self.number(shape, "radius"), self.number(shape, "length"))
                elif kind == "sphere":
                    size = (self.number(shape, "radius"),)
                elif kind == "mesh":
                    size = self.numbers(shape, "scale", (1.0, 1.0, 1.0))
                else:
                    continue
                if kind != "mesh" and min(size) < 0.0:
                    self.fault(shape, f"a <{kind}> has a negative size", "give lengths in m")
                yield Geometry(kind=kind, size=size, pose=pose, color=color, file=file)

    def _joint(self, element: XmlElement) -> LinkJoint | None:
        name, word = self._name(element), element.attributes.get("type", "")
        ends = {}
        for end in ("parent", "child"):
            holder = element.first(end)
            ends[end] = holder.attributes.get("link", "") if holder is not None else ""
            if not ends[end]:
                self.fault(
                    element, f"joint '{name}' has no {end}", f'write <{end} link="…"/> in it'
                )
        if word not in _KINDS:
            self.fault(
                element,
                f"joint '{name}' has the type '{word}'",
                nearest(word, _KINDS),
            )
            return None
        axis = np.array(self.numbers(element.first("axis"), "xyz", (1.0, 0.0, 0.0)))
        length = float(np.linalg.norm(axis))
        if length == 0.0 and word not in ("fixed", "floating"):
            self.fault(
                element,
                f"joint '{name}' has the axis (0, 0, 0), which has no direction",
                'give one, as <axis xyz="0 0 1"/>',
            )
        limit, dynamics = element.first("limit"), element.first("dynamics")
        mimic = element.first("mimic")
        is_bounded = limit is not None and word in ("revolute", "prismatic")
        return LinkJoint(
            name=name,
            where=f"{self.file}, line {element.line}",
            kind=_KINDS[word],
            parent=ends["parent"],
            child=ends["child"],
            pose=self._pose(element),
            axis=axis / length if length else np.array([1.0, 0.0, 0.0]),
            damping=self.number(dynamics, "damping"),
            friction=self.number(dynamics, "friction"),
            lower=self.number(limit, "lower") if is_bounded else -math.inf,
            upper=self.number(limit, "upper") if is_bounded else math.inf,
            effort=self.limit(limit, "effort", math.inf),
            velocity=self.limit(limit, "velocity", math.inf),
            mimic=None
            if mimic is None
            else (
                mimic.attributes.get("joint", "?"),
                (self.number(mimic, "offset"), self.number(mimic, "multiplier", 1.0)),
            ),
        )

    def _pose(self, element: XmlElement) -> Pose:
        origin = element.first("origin")
        position = np.array(self.numbers(origin, "xyz", (0.0, 0.0, 0.0)))
        roll, pitch, yaw = self.numbers(origin, "rpy", (0.0, 0.0, 0.0))
        return Pose(position, rotation_from_rpy(roll, pitch, yaw))

    def _color(self, material: XmlElement) -> str:
        holder = material.first("color")
        if holder is None:
            return ""
        rgba = self.numbers(holder, "rgba", (0.5, 0.5, 0.5, 1.0))
        return "#" + "".join(f"{round(255 * min(max(v, 0.0), 1.0)):02x}" for v in rgba[:3])


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    if roll == pitch == yaw == 0.0:
        return np.eye(3)
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
