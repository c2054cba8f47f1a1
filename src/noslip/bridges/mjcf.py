"""MJCF, the format of MuJoCo: bodies, joints, geoms, defaults, equalities and actuators.

[MuJoCo documentation, XML reference]: a body's frame is given in its parent's; its joints act one
after the other, each about a point and an axis of the body at zero; a geom's size is half of its
length; what has no mass weighs 1000 kg/m³. Angles are degrees unless the compiler says radian.

Contacts, tendons and the softness of equalities are not carried: an equality holds exactly here.
Files that a document includes are not read. What a file has and this reader does not use is listed.

A <frame> turns and moves what is in it; a <replicate> repeats it, the k-th time in the frame with

    (1)  R_k = R(k · euler),  p_k = p_(k−1) + R_(k−1) offset,  p_0 = 0.

A shell of unit density has what a solid gains as its surface moves outwards by ε,

    (2)  m = dV/dε,  I = dI_V/dε.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noslip.base import Array, nearest
from noslip.bridges.robots import (
    AbstractRobotFormat,
    Geometry,
    Link,
    LinkJoint,
    LinkLoop,
    Pose,
    RobotDescription,
    joined_link,
    least_turn,
)
from noslip.bridges.xml_text import Attributes, XmlElement, XmlReader, left_out, read_document
from noslip.model import WORLD, rotation_about, rotation_to

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
_TRUTHS = ("true", "false")
_CHOICES = (*_TRUTHS, "auto")
#: Elements of the tree that are read.
_READ = ("body", "joint", "freejoint", "geom")
#: What a flag of <option> disables.
_FLAGS = {
    "gravity": ("gravity",),
    "spring": ("stiffness",),
    "damper": ("damping",),
    "passive": ("stiffness", "damping", "gravcomp"),
    "frictionloss": ("frictionloss",),
    "limit": ("range",),
    "equality": ("equality",),
    "constraint": ("equality", "range", "frictionloss"),
    "actuation": ("actuator",),
}
#: Copies of what is in a <replicate>.
MAX_COPIES = 10_000
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


class _TreeItem(NamedTuple):
    """An element of the tree, the frame it stands in, its class, and what its name ends in."""

    element: XmlElement
    frame: Pose
    class_name: str
    suffix: str


class _WeighedGeom(NamedTuple):
    """A geom, its mass, kg, and the inertia (3, 3) of 1 kg of it about its center, m²."""

    solid: Geometry
    mass: float
    inertia: Array


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
        merged = {k: v for c in compilers for k, v in c.attributes.items()}
        line = compilers[-1].line if compilers else root.line
        self.settings = XmlElement("compiler", Attributes(merged), line)
        for element in compilers:
            element.attributes.used = self.settings.attributes.used
        self.compiler = self.settings.attributes
        angle = self._word(self.settings, "angle", "degree", ("degree", "radian"))
        self.degree = math.radians(1.0) if angle == "degree" else 1.0
        self.sequence = self.compiler.get("eulerseq", "xyz")
        self.disabled: set[str] = set()
        self.has_limits = self._word(self.settings, "autolimits", "true", _TRUTHS) == "true"
        self.is_balanced = self._word(self.settings, "balanceinertia", "false", _TRUTHS) == "true"
        self.geom_inertia = self._word(self.settings, "inertiafromgeom", "auto", _CHOICES)
        self.least_mass = self.number(self.settings, "boundmass")
        self.least_moment = self.number(self.settings, "boundinertia")
        self.groups = self.numbers(self.settings, "inertiagrouprange", (0.0, 5.0))
        if self.groups[0] > self.groups[1]:
            what = f"inertiagrouprange is {self.groups[0]:g} to {self.groups[1]:g}"
            self.fault(self.settings, what, "give the lower end first")
        self.copies = 0
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
        for element in self.root.all(*_IGNORED):
            self.notes.append(f"{_IGNORED[element.tag]} are left out")
            element.take()
        if self.compiler.get("coordinate", "local") != "local":
            self.fault(
                self.root,
                'the compiler has coordinate="global", which MuJoCo no longer supports',
                "save the model with a current MuJoCo",
            )
        if not re.fullmatch("[xyzXYZ]{3}", self.sequence):
            self.fault(
                self.settings,
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
            for flag in option.all("flag"):
                for word, what in _FLAGS.items():
                    if self._word(flag, word, "enable", ("enable", "disable")) == "disable":
                        self.disabled.update(what)
        if "gravity" in self.disabled:
            gravity = (0.0, 0.0, 0.0)
        self.links.append(Link(name=WORLD, where=f"{self.file}, line {self.root.line}"))
        for world in worlds:
            self._children(world, WORLD, "main")
        loops = tuple(self._equalities())
        driven = tuple(self._driven())
        total = self.number(self.settings, "settotalmass", -1.0)
        if total > 0.0:
            self._scale(total)
        name = self.root.attributes.get("model", "model")
        self.notes += left_out(self.root)
        self.raise_faults()
        return RobotDescription(
            name=name,
            file=self.file,
            links=tuple(self.links),
            joints=tuple(self.joints),
            loops=loops,
            gravity=gravity,
            driven=driven,
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _word(self, element: XmlElement, name: str, usual: str, known: tuple[str, ...]) -> str:
        """One of some words; another is a fault."""
        word = str(element.attributes.get(name, usual))
        if word not in known:
            self.fault(element, f'<{element.tag}> has {name}="{word:.40}"', nearest(word, known))
            return usual
        return word

    def _bounded(self, link: Link) -> Link:
        """A link with the least mass and inertia, and the balance, that the compiler asks for."""
        is_bounded = self.least_mass > 0.0 or self.least_moment > 0.0
        if not (is_bounded or self.is_balanced):
            return link
        moments, axes = np.linalg.eigh(link.inertia)
        moments = np.maximum(moments, self.least_moment)
        if self.is_balanced and moments[0] + moments[1] < moments[2]:
            moments[:] = moments.mean()
        inertia = axes @ np.diag(moments) @ axes.T
        return replace(link, mass=max(link.mass, self.least_mass), inertia=inertia)

    def _scale(self, total: float) -> None:
        now = sum(link.mass for link in self.links)
        if now > 0.0:
            self.links = [link.scaled(total / now) for link in self.links]

    # defaults

    def _read_defaults(
        self, element: XmlElement, name: str, above: Mapping[str, dict[str, str]]
    ) -> None:
        own = {tag: dict(attributes) for tag, attributes in above.items()}
        element.attributes.get("class")
        seen = set[str]()
        for child in element.children:
            if child.tag != "default":
                child.is_reached = True
                own.setdefault(child.tag, {}).update(child.attributes)
                if child.tag in seen:
                    fix = "write its attributes in one"
                    self.fault(child, f"default class '{name}' has two <{child.tag}>", fix)
                seen.add(child.tag)
        self.defaults[name] = own
        for child in element.all("default"):
            inner = child.attributes.get("class", "")
            if inner in self.defaults:
                what = (
                    f"there are two default classes '{inner}'"
                    if inner
                    else "a default class has no name"
                )
                self.fault(child, what, 'give each its own class="…"')
            self._read_defaults(child, inner, own)

    def _filled(self, element: XmlElement, tag: str, class_name: str) -> XmlElement:
        """An element with the defaults of its class."""
        name = element.attributes.get("class", class_name)
        if name not in self.defaults:
            self.fault(element, f"there is no default class '{name}'", nearest(name, self.defaults))
            name = "main"
        given = self.defaults[name].get(tag, {})
        if not given:
            return element
        merged = Attributes({**given, **element.attributes}, element.attributes.used)
        return XmlElement(element.tag, merged, element.line, element.children)

    # the tree

    def _children(self, element: XmlElement, parent: str, class_name: str) -> None:
        # a stack, since bodies may be nested deeper than Python calls
        waiting = [(item, parent) for item in self._items(element, class_name)]
        waiting.reverse()
        while waiting:
            item, above = waiting.pop()
            if item.element.tag != "body":
                # of the world: the ground and what stands on it, which is only checked
                if item.element.tag == "geom":
                    self._geometry(self._filled(item.element, "geom", item.class_name), Pose())
                continue
            used = item.element.attributes.get("childclass", item.class_name)
            inner = list(self._items(item.element, used, item.suffix))
            name = self._body(item, above, inner)
            waiting.extend((i, name) for i in reversed(inner) if i.element.tag == "body")

    def _items(self, element: XmlElement, class_name: str, suffix: str = "") -> Iterator[_TreeItem]:
        """Bodies, joints and geoms of an element; those in frames and replicates in their place."""
        waiting = [_TreeItem(c, Pose(), class_name, suffix) for c in reversed(element.children)]
        while waiting:
            item = waiting.pop()
            child = item.element
            if child.tag in _READ:
                child.is_reached = True
                yield item
            elif child.tag in ("frame", "replicate"):
                child.is_reached = True
                copies = list(self._copies(item))
                inner = [copy._replace(element=c) for copy in copies for c in child.children]
                waiting.extend(reversed(inner))

    def _copies(self, item: _TreeItem) -> Iterator[_TreeItem]:
        """Frames in which what is in a <frame> or <replicate> is read, by equation (1)."""
        child, inherited = item.element, item.class_name
        inherited = child.attributes.get("childclass", inherited)
        if child.tag == "frame":
            yield item._replace(frame=item.frame.at(self._pose(child)), class_name=inherited)
            return
        self.needed(child, "count")
        count = self.number(child, "count")
        self.copies += max(1, int(min(count, 1e9)))
        if count != round(count) or not 0 <= count or self.copies > MAX_COPIES:
            self.fault(
                child,
                f"a <replicate> has count={child.attributes.get('count', '')!r:.40}",
                f"give a whole number; a file may have {MAX_COPIES} copies",
            )
            return
        offset = np.array(self.numbers(child, "offset", (0.0, 0.0, 0.0)))
        angles = np.array(self.numbers(child, "euler", (0.0, 0.0, 0.0)))
        place = Pose()
        separator, digits = child.attributes.get("sep", ""), len(str(max(int(count) - 1, 0)))
        for k in range(int(count)):
            suffix = f"{separator}{k:0{digits}d}{item.suffix}"
            yield _TreeItem(child, item.frame.at(place), inherited, suffix)
            place = Pose(place.at(Pose(offset)).p, self._turned((k + 1) * angles))

    def _body(self, item: _TreeItem, parent: str, inner: list[_TreeItem]) -> str:
        element = item.element
        self.bodies += 1
        given = element.attributes.get("name")
        name = f"{given}{item.suffix}" if given else f"body_{self.bodies}"
        pose = item.frame.at(self._pose(element))
        self.poses[name] = self.poses[parent].at(pose)
        where = f"{self.file}, line {element.line}"
        joints = [
            i._replace(element=self._filled(i.element, "joint", i.class_name))
            for i in inner
            if i.element.tag in ("joint", "freejoint")
        ]
        above = parent
        for k, joint in enumerate(joints):
            is_last = k == len(joints) - 1
            child = name if is_last else f"{name}_{k + 1}"
            if not is_last:
                self.links.append(Link(name=child, where=where))
            given = joint.element.attributes.get("name")
            own = f"{given}{joint.suffix}" if given else f"{name}_joint"
            own += f"{k + 1}" if not given and len(joints) > 1 else ""
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
        self.links.append(self._bounded(self._link(element, name, inner)))
        return name

    def _joint(self, item: _TreeItem, name: str, parent: str, child: str, pose: Pose) -> LinkJoint:
        element = item.element
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
        low, high, is_limited = self._range(element, name)
        # a <freejoint> takes nothing from defaults
        passive = ("damping", "frictionloss", "stiffness", "armature")
        is_free = element.tag == "freejoint"
        own = {
            key: self.number(element, key) * (not is_free and key not in self.disabled)
            for key in passive
        }
        if "springdamper" in element.attributes and not is_free:
            self.notes.append(
                f"the springdamper of joint '{name}' is left out: give stiffness and damping"
            )
        return LinkJoint(
            name=name,
            where=f"{self.file}, line {element.line}",
            kind=kind,
            parent=parent,
            child=child,
            pose=pose,
            anchor=np.zeros(3)
            if word == "free"
            else item.frame.at(Pose(np.array(self.numbers(element, "pos", (0.0, 0.0, 0.0))))).p,
            axis=item.frame.R @ axis / length if length else np.array([0.0, 0.0, 1.0]),
            damping=own["damping"],
            friction=own["frictionloss"],
            stiffness=own["stiffness"],
            rest=self.number(element, "springref") * unit - ref,
            armature=own["armature"],
            lower=low * unit - ref if is_limited else -math.inf,
            upper=high * unit - ref if is_limited else math.inf,
        )

    def _range(self, element: XmlElement, name: str) -> tuple[float, float, bool]:
        """Ends of a joint's range, and whether they limit it."""
        low, high = self.numbers(element, "range", (0.0, 0.0))
        limited = self._word(element, "limited", "auto", _CHOICES)
        if limited == "true" and not low < high:
            self.fault(
                element,
                f"joint '{name}' is limited to {low:g} to {high:g}",
                "give the lower end of the range first",
            )
        elif low > high or low == high != 0.0:
            self.notes.append(
                f"joint '{name}' has a range from {low:g} to {high:g}, which limits nothing"
            )
        is_limited = limited == "true" or (limited == "auto" and self.has_limits and low < high)
        return low, high, is_limited and "range" not in self.disabled

    def _link(self, element: XmlElement, name: str, inner: list[_TreeItem]) -> Link:
        geoms = [
            (self._filled(item.element, "geom", item.class_name), item.frame)
            for item in inner
            if item.element.tag == "geom"
        ]
        parts = [part for geom, at in geoms if (part := self._geometry(geom, at)) is not None]
        gravcomp = self.number(element, "gravcomp")
        link = Link(
            name=name,
            where=f"{self.file}, line {element.line}",
            visuals=tuple(part.solid for part in parts),
            lift=0.0 if "gravcomp" in self.disabled else gravcomp,
        )
        inertial, how = element.first("inertial"), self.geom_inertia
        if inertial is not None and how != "true":
            return self._with_inertial(link, inertial)
        for part in parts if how != "false" else ():
            if part.mass:
                link = joined_link(link, part.mass, part.solid.pose.p, part.mass * part.inertia)
        for geom, _ in geoms:
            if geom.attributes.get("type") == "plane":
                self.fault(geom, f"a <geom> of body '{name}' is a plane", "planes are of the world")
            if geom.attributes.get("type") == "mesh" or "mesh" in geom.attributes:
                if how != "false":
                    self.notes.append(
                        f"the mass of a mesh of body '{name}' is left out; give an <inertial>"
                    )
        return link

    def _with_inertial(self, link: Link, element: XmlElement) -> Link:
        pose = self._pose(element)
        self.needed(element, "pos", "mass")
        mass = self.number(element, "mass")
        if "fullinertia" in element.attributes:
            xx, yy, zz, xy, xz, yz = self.numbers(element, "fullinertia", (0.0,) * 6)
            own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            own = np.diag(self.numbers(element, "diaginertia", (0.0, 0.0, 0.0)))
        return joined_link(link, mass, pose.p, pose.R @ own @ pose.R.T)

    def _geometry(self, element: XmlElement, frame: Pose) -> _WeighedGeom | None:
        """A geom and its mass; None for what is neither drawn nor has mass."""
        word = element.attributes.get("type", "mesh" if "mesh" in element.attributes else "sphere")
        pose, size = self._pose(element), self._size(element)
        is_long = word in ("capsule", "cylinder", "box", "ellipsoid")
        if "fromto" in element.attributes and not is_long:
            fix = "give it to a capsule, cylinder, box or ellipsoid"
            self.fault(element, f"a <geom> of type {word} has fromto", fix)
        elif "fromto" in element.attributes:
            ends = np.array(self.numbers(element, "fromto", (0.0,) * 6)).reshape(2, 3)
            along = ends[1] - ends[0]
            length = float(np.linalg.norm(along))
            pose = Pose(ends.mean(axis=0), rotation_to(along) if length else np.eye(3))
            size = (*(size[:1] * 2 if word in ("box", "ellipsoid") else size[:1]), length / 2)
        pose = frame.at(pose)
        count = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}.get(word)
        if count is None:
            if word == "mesh":
                name = element.attributes.get("mesh", "")
                file, scale = self.meshes.get(name, (name, (1.0, 1.0, 1.0)))
                color = self.color(element)
                made = Geometry(kind="mesh", size=scale, pose=pose, file=file, color=color)
                return _WeighedGeom(made, 0.0, np.zeros((3, 3)))
            if word == "plane" and len(size) not in (0, 3):
                self.fault(element, "a <geom> of type plane has not 3 sizes", 'as size="0 0 1"')
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
        made = Geometry(kind=word, size=size, pose=pose, color=self.color(element))
        is_shell = self._word(element, "shellinertia", "false", _TRUTHS) == "true"
        if is_shell and word not in _OUTWARDS:
            self.notes.append(f"a shell of type {word} is taken as a solid")
            is_shell = False
        volume, inertia = _unit_solid(made) if not is_shell else _unit_shell(made)
        mass = self.number(element, "density", DENSITY) * volume
        mass = self.number(element, "mass", mass)
        if mass < 0.0:
            self.fault(element, f"a <geom> has the mass {mass:g} kg", "give 0 or more")
        lowest, highest = self.groups
        if not lowest <= self.whole(element, "group") <= highest:
            mass = 0.0
        return _WeighedGeom(made, mass, inertia)

    def _size(self, element: XmlElement) -> tuple[float, ...]:
        count = len(element.attributes.get("size", "").split())
        return self.numbers(element, "size", (), min(max(count, 1), 3))

    def _pose(self, element: XmlElement) -> Pose:
        position = np.array(self.numbers(element, "pos", (0.0, 0.0, 0.0)))
        return Pose(position, self._orientation(element))

    def _orientation(self, element: XmlElement) -> Array:
        given = element.attributes
        ways = [way for way in ("quat", "axisangle", "euler", "xyaxes", "zaxis") if way in given]
        if len(ways) > 1:
            self.fault(element, f"<{element.tag}> has {ways[0]} and {ways[1]}", "keep one of them")
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
            return rotation_about(self._unit(element, axis), angle * self.degree)
        if "euler" in given:
            return self._turned(np.array(self.numbers(element, "euler", (0.0, 0.0, 0.0))))
        if "xyaxes" in given:
            both = np.array(self.numbers(element, "xyaxes", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)))
            first = self._unit(element, both[:3])
            across = both[3:] - first * float(first @ both[3:])
            # axes that are parallel leave rounding alone
            is_across = np.linalg.norm(across) > 1e-12 * np.linalg.norm(both[3:])
            second = self._unit(element, across if is_across else np.zeros(3))
            return np.column_stack([first, second, np.cross(first, second)])
        if "zaxis" in given:
            return least_turn(self._unit(element, self.numbers(element, "zaxis", (0.0, 0.0, 1.0))))
        return np.eye(3)

    def _turned(self, angles: Array) -> Array:
        """The rotation by three angles about the axes of the compiler's sequence."""
        R = np.eye(3)
        for letter, angle in zip(self.sequence, angles, strict=True):
            turn = rotation_about(np.eye(3)["xyz".index(letter.lower())], angle * self.degree)
            R = R @ turn if letter.islower() else turn @ R
        return R

    def _unit(self, element: XmlElement, v: Array | Sequence[float]) -> Array:
        """The unit vector along a direction; x where it has none, which is a fault."""
        length = float(np.linalg.norm(v))
        if length == 0.0:
            self.fault(
                element,
                f"the orientation of <{element.tag}> has an axis without a direction",
                "give axes of some length, and x and y that are not parallel",
            )
            return np.array([1.0, 0.0, 0.0])
        result: Array = np.asarray(v) / length
        return result

    # equalities and actuators

    def _equalities(self) -> Iterator[LinkLoop]:
        names = {joint.name: k for k, joint in enumerate(self.joints)}
        for owner in self.root.all("equality"):
            if "equality" in self.disabled:
                owner.take()
                continue
            for k, element in enumerate(owner.all()):
                given = element.attributes
                if given.get("active", "true") == "false":
                    continue
                name = given.get("name") or f"equality_{k + 1}"
                if element.tag in ("connect", "weld") and "body1" in given:
                    yield self._loop(element, name)
                elif element.tag == "joint":
                    self.needed(element, "joint1")
                    coefficients = self.numbers(element, "polycoef", (0.0, 1.0, 0.0, 0.0, 0.0))
                    tied = given.get("joint1", "")
                    at = names.get(tied)
                    if at is None:
                        what = f"the equality '{name}' ties '{tied}', which is not a joint"
                        self.fault(element, what, nearest(tied, names))
                        continue
                    if self.joints[at].mimic is not None:
                        self.notes.append(f"joint '{tied}' has two equalities; '{name}' is held")
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
        known, driven = {joint.name for joint in self.joints}, set[str]()
        for owner in self.root.all("actuator"):
            if "actuator" in self.disabled:
                self.notes.append("actuators are disabled and left out")
                owner.take()
                continue
            for element in owner.all():
                joint = element.attributes.get("joint", "")
                if joint and joint not in known:
                    what = f"an actuator ({element.tag}) drives '{joint}', which is not a joint"
                    self.fault(element, what, nearest(joint, known))
                    continue
                if joint in driven:
                    self.notes.append(f"joint '{joint}' has several actuators, and one motor here")
                driven.add(joint)
                if element.tag not in _ACTUATORS or not joint:
                    self.notes.append(f"an actuator ({element.tag}) is left out")
                    continue
                if element.tag not in _FORCES:
                    self.notes.append(
                        f"the servo of joint '{joint}' ({element.tag}) is a plain motor here"
                    )
                yield joint


#: Volume of a geom by its full size, m³.
_VOLUMES: dict[str, Callable[..., Any]] = {
    "sphere": lambda r: 4 / 3 * math.pi * r**3,
    "capsule": lambda r, length: math.pi * r**2 * (length + 4 / 3 * r),
    "cylinder": lambda r, length: math.pi * r**2 * length,
    "box": lambda x, y, z: x * y * z,
    "ellipsoid": lambda x, y, z: 4 / 3 * math.pi * x * y * z,
}


#: How the full size of a geom grows as its surface moves outwards.
_OUTWARDS = {"sphere": (1,), "box": (2, 2, 2), "cylinder": (1, 2), "capsule": (1, 0)}


def _unit_solid(part: Geometry) -> tuple[float, Array]:
    """Volume, and inertia of 1 kg about its center, in link axes, of a solid."""
    turned: Array = part.pose.R @ np.diag(_moments(part.kind, part.size)) @ part.pose.R.T
    return _VOLUMES[part.kind](*part.size), turned


def _unit_shell(part: Geometry) -> tuple[float, Array]:
    """Area, and inertia of 1 kg about its center, in link axes, of a shell, by equation (2)."""
    # the derivatives of polynomials by a complex step, which has no error of its own
    step = 1e-30
    moved = tuple(s + 1j * step * k for s, k in zip(part.size, _OUTWARDS[part.kind], strict=True))
    volume = _VOLUMES[part.kind](*moved)
    area = volume.imag / step
    moments = (volume * _moments(part.kind, moved)).imag / step / area
    turned: Array = part.pose.R @ np.diag(moments) @ part.pose.R.T
    return area, turned


def _moments(kind: str, size: tuple[Any, ...]) -> Any:
    """Principal moments of inertia of a solid of 1 kg about its center, along its own axes."""
    if kind == "sphere":
        return np.full(3, 0.4 * size[0] ** 2)
    if kind in ("box", "ellipsoid"):
        squares = np.array(size) ** 2
        return (squares.sum() - squares) / (12 if kind == "box" else 5)
    r, h = size
    if kind == "cylinder":
        across = (3 * r**2 + h**2) / 12
        return np.array([across, across, r**2 / 2])
    # capsule: a cylinder and two half spheres, whose centers are 3 r/8 from their bases
    total = h + 4 / 3 * r
    m_c, m_s = h / total, 4 / 3 * r / total
    across = m_c * (3 * r**2 + h**2) / 12 + m_s * (0.4 * r**2 + h**2 / 4 + 3 / 8 * r * h)
    return np.array([across, across, m_c * r**2 / 2 + m_s * 0.4 * r**2])
