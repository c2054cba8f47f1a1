"""MJCF, the format of MuJoCo: bodies, joints, geoms, defaults, equalities and actuators.

[MuJoCo documentation, XML reference]: a body's frame is given in its parent's; its joints act one
after the other, each about a point and an axis of the body at zero; a geom's size is half of its
length; what has no mass weighs 1000 kg/m³. Angles are degrees unless the compiler says radian.

Contacts, tendons and the softness of equalities are not carried: an equality holds exactly here.
Files that a document includes are not read.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from noslip.bridges.description import (
    Geometry,
    Link,
    LinkJoint,
    LinkLoop,
    Pose,
    RobotDescription,
    joined_link,
    least_turn,
)
from noslip.bridges.robots import AbstractRobotFormat
from noslip.bridges.xml_text import XmlElement, XmlReader, read_document
from noslip.errors import nearest
from noslip.model.bodies import WORLD
from noslip.model.numbers import Array, rotation_about, rotation_to

#: Density of what has none, kg/m³.
DENSITY = 1000.0

_KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
_IGNORED = {
    "contact": "contact pairs",
    "tendon": "tendons",
    "sensor": "sensors",
    "keyframe": "keyframes",
    "include": "included files",
    "deformable": "deformable bodies",
    "extension": "plugins",
}
#: Actuators that are a force or torque; others have a controller of their own.
_FORCES = ("motor",)
_ACTUATORS = ("motor", "general", "position", "velocity", "intvelocity", "damper", "cylinder")


class Mjcf(AbstractRobotFormat):
    """MJCF; see the list at the top of this file."""

    __slots__ = ()

    word = "mjcf"
    name = "MJCF"
    suffixes = (".mjcf", ".xml")

    def describe(self, path: Path) -> RobotDescription:
        """The mechanism that an MJCF file describes."""
        return read_mjcf(path)


def read_mjcf(path: str | os.PathLike[str]) -> RobotDescription:
    """The mechanism that an MJCF file describes; its root is the world."""
    file, root = read_document(path, "mujoco", "MJCF", "a URDF file is named .urdf")
    return _MjcfReader(file, root).robot()


class _MjcfReader(XmlReader):
    """One file being read."""

    def __init__(self, file: str, root: XmlElement) -> None:
        super().__init__(file)
        self.root = root
        self.notes: list[str] = []
        self.links: list[Link] = []
        self.joints: list[LinkJoint] = []
        self.poses: dict[str, Pose] = {WORLD: Pose()}
        self.bodies = 0
        compilers = list(root.all("compiler"))
        self.compiler = {k: v for c in compilers for k, v in c.attributes.items()}
        self.degree = math.radians(1.0) if self.compiler.get("angle", "degree") == "degree" else 1.0
        self.sequence = self.compiler.get("eulerseq", "xyz")
        self.defaults: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        self.meshes = dict(self._mesh_files())

    def _mesh_files(self) -> Iterator[tuple[str, tuple[str, tuple[float, ...]]]]:
        """Name of a mesh, its file and its scale."""
        folder = self.compiler.get("meshdir", self.compiler.get("assetdir", ""))
        for asset in self.root.all("asset"):
            for mesh in asset.all("mesh"):
                file = mesh.attributes.get("file", "")
                name = mesh.attributes.get("name") or file.rpartition("/")[2].rpartition(".")[0]
                scale = self.numbers(mesh, "scale", (1.0, 1.0, 1.0))
                yield name, (f"{folder.rstrip('/')}/{file}" if folder else file, scale)

    def robot(self) -> RobotDescription:
        for element in self.root.all("default"):
            self._read_defaults(element, "main", self.defaults["main"])
        for tag, what in _IGNORED.items():
            if any(True for _ in self.root.all(tag)):
                self.notes.append(f"{what} are left out")
        if self.compiler.get("coordinate", "local") != "local":
            self.fault(
                self.root,
                'the compiler has coordinate="global", which MuJoCo no longer supports',
                "save the model with a current MuJoCo",
            )
        if not re.fullmatch("[xyzXYZ]{3}", self.sequence):
            self.fault(
                list(self.root.all("compiler"))[-1],
                f"the compiler has eulerseq={self.sequence!r:.40}",
                "give three axes: x, y, z that turn with the body, X, Y, Z that stand still",
            )
            self.sequence = "xyz"
        worlds = list(self.root.all("worldbody"))
        gravity = (0.0, 0.0, -9.81)
        for option in self.root.all("option"):
            x, y, z = self.numbers(option, "gravity", gravity)
            gravity = (x, y, z)
            if self.number(option, "density") or self.number(option, "viscosity"):
                self.notes.append("forces of the medium (density, viscosity) are left out")
        self.links.append(Link(name=WORLD, where=f"{self.file}, line {self.root.line}"))
        for world in worlds:
            self._children(world, WORLD, "main")
        loops = tuple(self._equalities())
        driven = tuple(self._driven())
        total = self._number_text(self.compiler.get("settotalmass", "-1"))
        if total > 0.0:
            self._scale(total)
        self.raise_faults()
        return RobotDescription(
            name=self.root.attributes.get("model", "model"),
            file=self.file,
            links=tuple(self.links),
            joints=tuple(self.joints),
            loops=loops,
            gravity=gravity,
            driven=driven,
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _number_text(self, text: str) -> float:
        return self.number(XmlElement("compiler", {"v": text}, self.root.line), "v")

    def _scale(self, total: float) -> None:
        now = sum(link.mass for link in self.links)
        if now > 0.0:
            self.links = [link.scaled(total / now) for link in self.links]

    # defaults

    def _read_defaults(
        self, element: XmlElement, name: str, above: Mapping[str, dict[str, str]]
    ) -> None:
        own = {tag: dict(attributes) for tag, attributes in above.items()}
        for child in element.children:
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.attributes)
        self.defaults[name] = own
        for child in element.all("default"):
            self._read_defaults(child, child.attributes.get("class", ""), own)

    def _filled(self, element: XmlElement, tag: str, class_name: str) -> XmlElement:
        """An element with the defaults of its class."""
        name = element.attributes.get("class", class_name)
        if name not in self.defaults:
            self.fault(element, f"there is no default class '{name}'", nearest(name, self.defaults))
            name = "main"
        given = self.defaults[name].get(tag, {})
        if not given:
            return element
        return XmlElement(
            element.tag, {**given, **element.attributes}, element.line, element.children
        )

    # the tree

    def _children(self, element: XmlElement, parent: str, class_name: str) -> None:
        # a stack, since bodies may be nested deeper than Python calls
        waiting = [(child, parent, class_name) for child in element.children]
        waiting.reverse()
        while waiting:
            child, above, inherited = waiting.pop()
            if child.tag == "frame":
                self.fault(
                    child, "<frame> is not supported", "save the model with MuJoCo's mj_saveXML"
                )
            if child.tag == "geom" and above == WORLD:
                continue  # the ground and what stands on it
            if child.tag != "body":
                continue
            used = child.attributes.get("childclass", inherited)
            name = self._body(child, above, used)
            waiting.extend((c, name, used) for c in reversed(child.children) if c.tag == "body")

    def _body(self, element: XmlElement, parent: str, class_name: str) -> str:
        self.bodies += 1
        name = element.attributes.get("name") or f"body_{self.bodies}"
        pose = self._pose(element)
        self.poses[name] = self.poses[parent].at(pose)
        where = f"{self.file}, line {element.line}"
        joints = [
            self._filled(child, "joint", class_name) for child in element.all("joint", "freejoint")
        ]
        above = parent
        for k, joint in enumerate(joints):
            is_last = k == len(joints) - 1
            child = name if is_last else f"{name}_{k + 1}"
            if not is_last:
                self.links.append(Link(name=child, where=where))
            own = joint.attributes.get("name") or (
                f"{name}_joint" if len(joints) == 1 else f"{name}_joint{k + 1}"
            )
            self.joints.append(self._joint(joint, own, above, child, pose if k == 0 else Pose()))
            above = child
        if not joints:
            self.joints.append(
                LinkJoint(
                    name=f"{name}_mount",
                    where=where,
                    kind="fixed",
                    parent=parent,
                    child=name,
                    pose=pose,
                )
            )
        self.links.append(self._link(element, name, class_name))
        return name

    def _joint(
        self, element: XmlElement, name: str, parent: str, child: str, pose: Pose
    ) -> LinkJoint:
        word = "free" if element.tag == "freejoint" else element.attributes.get("type", "hinge")
        if word not in _KINDS:
            self.fault(element, f"joint '{name}' has the type '{word}'", nearest(word, _KINDS))
        kind = _KINDS.get(word, "fixed")
        axis = np.array(self.numbers(element, "axis", (0.0, 0.0, 1.0)))
        length = float(np.linalg.norm(axis))
        if length == 0.0 and word in ("hinge", "slide"):
            self.fault(
                element, f"joint '{name}' has the axis (0, 0, 0)", 'give one, as axis="0 0 1"'
            )
        unit = self.degree if word == "hinge" else 1.0
        ref = self.number(element, "ref") * unit
        if ref:
            self.notes.append(
                f"joint '{name}' has ref = {ref:g}: its coordinate here is 0 where it is that there"
            )
        low, high = self.numbers(element, "range", (0.0, 0.0))
        limited = element.attributes.get("limited", "auto")
        is_limited = limited == "true" or (limited == "auto" and low < high)
        return LinkJoint(
            name=name,
            where=f"{self.file}, line {element.line}",
            kind=kind,
            parent=parent,
            child=child,
            pose=pose,
            anchor=np.zeros(3)
            if word == "free"
            else np.array(self.numbers(element, "pos", (0.0, 0.0, 0.0))),
            axis=axis / length if length else np.array([0.0, 0.0, 1.0]),
            damping=self.number(element, "damping"),
            friction=self.number(element, "frictionloss"),
            stiffness=self.number(element, "stiffness"),
            rest=self.number(element, "springref") * unit - ref,
            # a <freejoint> takes nothing from defaults
            armature=0.0 if element.tag == "freejoint" else self.number(element, "armature"),
            lower=low * unit - ref if is_limited else -math.inf,
            upper=high * unit - ref if is_limited else math.inf,
        )

    def _link(self, element: XmlElement, name: str, class_name: str) -> Link:
        geoms = [self._filled(child, "geom", class_name) for child in element.all("geom")]
        parts = [part for geom in geoms if (part := self._geometry(geom)) is not None]
        link = Link(
            name=name,
            where=f"{self.file}, line {element.line}",
            visuals=tuple(solid for solid, _ in parts),
        )
        inertial, how = element.first("inertial"), self.compiler.get("inertiafromgeom", "auto")
        if inertial is not None and how != "true":
            return self._with_inertial(link, inertial)
        for solid, mass in parts if how != "false" else ():
            if mass:
                link = joined_link(link, mass, solid.pose.p, mass * _unit_inertia(solid))
        for geom in geoms:
            if geom.attributes.get("type") == "mesh" or "mesh" in geom.attributes:
                if how != "false":
                    self.notes.append(
                        f"the mass of a mesh of body '{name}' is left out; give an <inertial>"
                    )
        return link

    def _with_inertial(self, link: Link, element: XmlElement) -> Link:
        pose = self._pose(element)
        mass = self.number(element, "mass")
        if "fullinertia" in element.attributes:
            xx, yy, zz, xy, xz, yz = self.numbers(element, "fullinertia", (0.0,) * 6)
            own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            own = np.diag(self.numbers(element, "diaginertia", (0.0, 0.0, 0.0)))
        return joined_link(link, mass, pose.p, pose.R @ own @ pose.R.T)

    def _geometry(self, element: XmlElement) -> tuple[Geometry, float] | None:
        """A geom and its mass; None for what is neither drawn nor has mass."""
        word = element.attributes.get("type", "mesh" if "mesh" in element.attributes else "sphere")
        pose, size = self._pose(element), self._size(element)
        if "fromto" in element.attributes and word in ("capsule", "cylinder", "box", "ellipsoid"):
            ends = np.array(self.numbers(element, "fromto", (0.0,) * 6)).reshape(2, 3)
            along = ends[1] - ends[0]
            length = float(np.linalg.norm(along))
            pose = Pose(ends.mean(axis=0), rotation_to(along) if length else np.eye(3))
            size = (*(size[:1] * 2 if word in ("box", "ellipsoid") else size[:1]), length / 2)
        count = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}.get(word)
        if count is None:
            if word == "mesh":
                name = element.attributes.get("mesh", "")
                file, scale = self.meshes.get(name, (name, (1.0, 1.0, 1.0)))
                color = self._color(element)
                made = Geometry(kind="mesh", size=scale, pose=pose, file=file, color=color)
                return made, 0.0
            if word not in ("plane", "hfield"):
                self.fault(element, f"a <geom> has the type '{word}'", nearest(word, _VOLUMES))
            return None
        if len(size) < count or min(size[:count]) <= 0.0:
            self.fault(
                element,
                f"a <geom> of type {word} has the size '{element.attributes.get('size', '')}'",
                f"give {count} positive numbers in m",
            )
            return None
        size = size[:count]
        full = {"box": (2.0, 2.0, 2.0), "capsule": (1.0, 2.0), "cylinder": (1.0, 2.0)}
        size = tuple(f * s for f, s in zip(full.get(word, (1.0,) * 3), size, strict=False))
        made = Geometry(kind=word, size=size, pose=pose, color=self._color(element))
        if "mass" in element.attributes:
            return made, self.number(element, "mass")
        return made, self.number(element, "density", DENSITY) * _VOLUMES[word](*size)

    def _size(self, element: XmlElement) -> tuple[float, ...]:
        text = element.attributes.get("size", "")
        count = len(text.split()[:4])
        return self.numbers(element, "size", (), count) if count else ()

    def _color(self, element: XmlElement) -> str:
        if "rgba" not in element.attributes:
            return ""
        rgba = self.numbers(element, "rgba", (0.5, 0.5, 0.5, 1.0))
        return "#" + "".join(f"{round(255 * min(max(v, 0.0), 1.0)):02x}" for v in rgba[:3])

    def _pose(self, element: XmlElement) -> Pose:
        position = np.array(self.numbers(element, "pos", (0.0, 0.0, 0.0)))
        return Pose(position, self._orientation(element))

    def _orientation(self, element: XmlElement) -> Array:
        given = element.attributes
        if "quat" in given:
            w, x, y, z = self.numbers(element, "quat", (1.0, 0.0, 0.0, 0.0))
            length = math.sqrt(w * w + x * x + y * y + z * z)
            if length == 0.0:
                self.fault(element, "a quaternion is zero", 'give one, as quat="1 0 0 0"')
                return np.eye(3)
            w, x, y, z = w / length, x / length, y / length, z / length
            return np.array(
                [
                    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                ]
            )
        if "axisangle" in given:
            *axis, angle = self.numbers(element, "axisangle", (0.0, 0.0, 1.0, 0.0))
            return rotation_about(_unit(np.array(axis)), angle * self.degree)
        if "euler" in given:
            R = np.eye(3)
            angles = self.numbers(element, "euler", (0.0, 0.0, 0.0))
            for letter, angle in zip(self.sequence, angles, strict=False):
                turn = rotation_about(np.eye(3)["xyz".index(letter.lower())], angle * self.degree)
                R = R @ turn if letter.islower() else turn @ R
            return R
        if "xyaxes" in given:
            both = np.array(self.numbers(element, "xyaxes", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)))
            first = _unit(both[:3])
            second = _unit(both[3:] - first * float(first @ both[3:]))
            return np.column_stack([first, second, np.cross(first, second)])
        if "zaxis" in given:
            return least_turn(_unit(np.array(self.numbers(element, "zaxis", (0.0, 0.0, 1.0)))))
        return np.eye(3)

    # equalities and actuators

    def _equalities(self) -> Iterator[LinkLoop]:
        names = {joint.name: k for k, joint in enumerate(self.joints)}
        for owner in self.root.all("equality"):
            for k, element in enumerate(owner.children):
                given = element.attributes
                if given.get("active", "true") == "false":
                    continue
                name = given.get("name") or f"equality_{k + 1}"
                if element.tag in ("connect", "weld") and "body1" in given:
                    yield self._loop(element, name)
                elif element.tag == "joint" and given.get("joint1") in names:
                    coefficients = self.numbers(element, "polycoef", (0.0, 1.0, 0.0, 0.0, 0.0))
                    at = names[given["joint1"]]
                    follows = (given.get("joint2", ""), coefficients)
                    self.joints[at] = self.joints[at].following(follows)
                else:
                    self.notes.append(f"the equality '{name}' ({element.tag}) is left out")
            self.notes.append("equalities are held exactly, not softly")

    def _loop(self, element: XmlElement, name: str) -> LinkLoop:
        first = element.attributes["body1"]
        second = element.attributes.get("body2", WORLD)
        for body in (first, second):
            if body not in self.poses:
                self.fault(
                    element,
                    f"equality '{name}' ties '{body}', which is not a body",
                    nearest(body, self.poses),
                )
        one, two = (self.poses.get(body, Pose()) for body in (first, second))
        if element.tag == "connect":
            anchor = Pose(np.array(self.numbers(element, "anchor", (0.0, 0.0, 0.0))))
            there = one.at(anchor).p
            other = Pose(two.R.T @ (there - two.p))
            return LinkLoop(
                name=name, kind="spherical", parent=first, child=second,
                parent_pose=anchor, child_pose=other,
            )  # fmt: skip
        if "relpose" in element.attributes:
            self.notes.append(f"weld '{name}' holds the pose at zero coordinates, not its relpose")
        here = Pose(two.R.T @ (one.p - two.p), two.R.T @ one.R)
        return LinkLoop(
            name=name, kind="fixed", parent=first, child=second,
            parent_pose=Pose(), child_pose=here,
        )  # fmt: skip

    def _driven(self) -> Iterator[str]:
        known = {joint.name for joint in self.joints}
        for owner in self.root.all("actuator"):
            for element in owner.children:
                joint = element.attributes.get("joint", "")
                if element.tag not in _ACTUATORS or joint not in known:
                    self.notes.append(f"an actuator ({element.tag}) is left out")
                    continue
                if element.tag not in _FORCES:
                    self.notes.append(
                        f"the servo of joint '{joint}' ({element.tag}) is a plain motor here"
                    )
                yield joint


def _unit(v: Array) -> Array:
    length = float(np.linalg.norm(v))
    result: Array = v / length if length else np.array([0.0, 0.0, 1.0])
    return result


#: Volume of a geom by its full size, m³.
_VOLUMES: dict[str, Callable[..., float]] = {
    "sphere": lambda r: 4 / 3 * math.pi * r**3,
    "capsule": lambda r, length: math.pi * r**2 * (length + 4 / 3 * r),
    "cylinder": lambda r, length: math.pi * r**2 * length,
    "box": lambda x, y, z: x * y * z,
    "ellipsoid": lambda x, y, z: 4 / 3 * math.pi * x * y * z,
}


def _unit_inertia(part: Geometry) -> Array:
    """Inertia of a solid of 1 kg about its center, in link axes."""
    size = part.size
    if part.kind == "sphere":
        moments = np.full(3, 0.4 * size[0] ** 2)
    elif part.kind == "box":
        squares = np.array(size) ** 2
        moments = (squares.sum() - squares) / 12
    elif part.kind == "ellipsoid":
        squares = np.array(size) ** 2
        moments = (squares.sum() - squares) / 5
    elif part.kind == "cylinder":
        r, h = size
        across = (3 * r**2 + h**2) / 12
        moments = np.array([across, across, r**2 / 2])
    else:  # capsule: a cylinder and two half spheres, whose centers are 3 r/8 from their bases
        r, h = size
        total = h + 4 / 3 * r
        m_c, m_s = h / total, 4 / 3 * r / total
        across = m_c * (3 * r**2 + h**2) / 12 + m_s * (0.4 * r**2 + h**2 / 4 + 3 / 8 * r * h)
        moments = np.array([across, across, m_c * r**2 / 2 + m_s * 0.4 * r**2])
    turned: Array = part.pose.R @ np.diag(moments) @ part.pose.R.T
    return turned
