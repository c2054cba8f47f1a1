"""URDF, in and out: the tree of links and joints, inertia, shapes, damping, friction, mimic.

[URDF XML specification, ROS wiki and docs.ros.org]: lengths in m, ``rpy`` about fixed axes x, y, z
in rad, so R = Rz(yaw) Ry(pitch) Rx(roll); a joint's origin is the frame of its child link at zero;
its axis is in that frame, x by default.

Files are read; nothing in them is run, included or fetched. Of a model its tree is written; what
URDF has no word for is listed: rolling, loops, most forces, parameters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from noslip import Joint, Model, ModelError, Placement
from noslip.base import Array, counted, nearest
from noslip.bridges.robots import (
    AbstractRobotFormat,
    Geometry,
    Link,
    LinkJoint,
    Pose,
    RobotDescription,
)
from noslip.bridges.xml_text import XmlElement, XmlReader, left_out, read_document, walk
from noslip.expressions import names_of, nominal
from noslip.forces import JointDamper, JointFriction, Motor
from noslip.joints import Fixed, Free, Planar, Prismatic, Revolute
from noslip.model import WORLD, NumberReader, frame_numbers, topology
from noslip.rows import AbstractRow
from noslip.shapes import AbstractShape, Box, Cylinder, Sphere

_KINDS = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
}
#: Attributes of shapes, without which they have no size.
_SIZES = {
    "box": ("size",), "sphere": ("radius",), "mesh": ("filename",),
    "cylinder": ("radius", "length"), "capsule": ("radius", "length"),
}  # fmt: skip
#: Elements of a transmission that say which joint it drives, and how that is called elsewhere.
_TRANSMISSION = ("type", "joint", "actuator", "hardwareInterface")
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

    def write(self, model: Model, path: Path) -> None:
        """Write the tree of a model."""
        path.write_text(_Writing(model).text(), "utf-8")

    def notes(self, model: Model) -> tuple[str, ...]:
        """Notes on what URDF cannot express."""
        writing = _Writing(model)
        writing.text()
        return tuple(writing.notes)


def read_urdf(path: str | os.PathLike[str]) -> RobotDescription:
    """The robot that a URDF file describes."""
    other = "a file for MuJoCo is named .xml or .mjcf"
    file, root = read_document(path, "robot", "URDF", other)
    _refuse_xacro(root, file)
    return _UrdfReader(file).robot(root)


def _refuse_xacro(root: XmlElement, file: str) -> None:
    for element in walk(root):
        if element.tag.startswith("xacro:") or any(
            mark in value for value in element.attributes.values() for mark in ("${", "$(")
        ):
            raise ModelError(
                "the file is xacro, whose macros are not executed",
                f"{file}, line {element.line}",
                "expand it first: xacro robot.urdf.xacro > robot.urdf",
            )


class _UrdfReader(XmlReader):
    """One file being read."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.notes: list[str] = []

    def robot(self, root: XmlElement) -> RobotDescription:
        colors = {m.attributes.get("name", ""): self._color(m) for m in root.all("material")}
        links = tuple(self._link(element, colors) for element in root.all("link"))
        joints = tuple(
            joint for element in root.all("joint") if (joint := self._joint(element)) is not None
        )
        actuated = [
            element.attributes["name"]
            for owner in root.all("transmission", "ros2_control")
            for element in walk(owner)
            if element.tag == "joint" and "name" in element.attributes
        ]
        known = {joint.name for joint in joints}
        for name in dict.fromkeys(actuated):
            if name not in known:
                self.notes.append(f"the file has no joint '{name}', which it names as actuated")
        for owner in root.all("transmission"):
            for element in owner.all(*_TRANSMISSION):
                element.take()
        for owner in root.all(*_IGNORED):
            self.notes.append(f"{_IGNORED[owner.tag]} are left out")
            owner.take()
        name = root.attributes.get("name", "robot")
        self.notes += left_out(root)
        self.raise_faults()
        return RobotDescription(
            name=name,
            file=self.file,
            links=links,
            joints=joints,
            driven=tuple(dict.fromkeys(actuated)) or None,
            notes=tuple(dict.fromkeys(self.notes)),
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
            given, at = inertial.first("mass"), inertial.first("inertia")
            for tag, held, *names in (
                ("mass", given, "value"),
                ("inertia", at, "ixx", "iyy", "izz"),
            ):
                if held is None:
                    fix = f'write <{tag} {names[0]}="…"/> in it'
                    self.fault(inertial, f"the <inertial> of link '{name}' has no <{tag}>", fix)
                else:
                    self.needed(held, *names)
            mass = self.number(given, "value")
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
                named = material.attributes.get("name", "")
                color = self._color(material) or colors.get(named, "")
                if not color and named not in colors and not material.children:
                    self.notes.append(f"there is no material '{named}': it has no color here")
            holder = element.first("geometry")
            shapes = list(holder.all(*_SIZES)) if holder is not None else []
            if not shapes:
                at = f"link '{link.attributes.get('name', '')}', line {element.line},"
                self.notes.append(f"a <{tag}> of {at} has no shape that is known")
            for shape in shapes:
                kind, file = shape.tag, shape.attributes.get("filename", "")
                size: tuple[float, ...] = ()
                self.needed(shape, *_SIZES[kind])
                if kind == "box":
                    size = self.numbers(shape, "size", (1.0, 1.0, 1.0))
                elif kind in ("cylinder", "capsule"):
                    size = (self.number(shape, "radius"), self.number(shape, "length"))
                elif kind == "sphere":
                    size = (self.number(shape, "radius"),)
                else:
                    size = self.numbers(shape, "scale", (1.0, 1.0, 1.0))
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
        given = element.first("axis")
        if given is not None:
            self.needed(given, "xyz")
        axis = np.array(self.numbers(given, "xyz", (1.0, 0.0, 0.0)))
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
        if limit is None and word in ("revolute", "prismatic"):
            self.notes.append(f"joint '{name}' is {word} and has no <limit>: it moves without end")
        for key in ("damping", "friction"):
            if self.number(dynamics, key) < 0.0:
                what = f"the {key} of joint '{name}' is {self.number(dynamics, key):g}"
                self.fault(element, what, "give 0 or more")
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
        return self.color(holder) if holder is not None else ""


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


def rpy_of(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    yaw = math.atan2(R[1, 0], R[0, 0]) if math.hypot(R[0, 0], R[1, 0]) > 1e-12 else 0.0
    # where the pitch is ±π/2 only yaw ∓ roll is determined: roll makes up for it
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


#: Limits that URDF asks for where there are none, m, N, N·m, m/s and rad/s.
_FAR = 1e6


class _Writing:
    """One model being written; `notes` are what URDF cannot say of it.

    A link's frame is that of the joint that carries it, on the child: a joint turns about the
    origin of its link.
    """

    def __init__(self, model: Model) -> None:
        self.model, self.notes = model, list[str]()
        self.read = NumberReader(model.parameter_values())
        self.tree = topology(model)
        self.frames = {joint.child: self._pose(joint.child_frame) for joint in self.tree.tree}
        self.frames[WORLD] = Pose()
        self.lines: list[str] = []

    def text(self) -> str:
        """The file."""
        model = self.model
        base = self._base()
        root = WORLD if base is None else base.child
        self.lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(model.name)}>"]
        if base is None:
            self.lines.append(f'  <link name="{WORLD}"/>')
        else:
            self.notes.append(
                f"joint '{base.name}' ({base.type.word}) carries the root '{root}', which is where "
                "URDF begins"
            )
        for body in model.bodies:
            self._link(body.name)
        couplings = self._couplings()
        for joint in self.tree.tree:
            if joint is not base:
                self._joint(joint, couplings)
        for force in model.forces:
            if isinstance(force, Motor):
                self._motor(force.name, force.speed)
        self.lines.append("</robot>")
        self._list_rest()
        return "\n".join(self.lines) + "\n"

    def _base(self) -> Joint | None:
        """The planar or free joint of a robot that stands on nothing else."""
        under = [joint for joint in self.tree.tree if joint.parent == WORLD]
        if len(under) == 1 and (under[0].type.is_planar or under[0].type.is_free):
            return under[0]
        return None

    def _link(self, name: str) -> None:
        body = next(body for body in self.model.bodies if body.name == name)
        frame = self.frames[name]
        mass = self.read.scalar(body.mass)
        xx, yy, zz, xy, xz, yz = (self.read.scalar(e) for e in body.inertia_entries())
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        center = frame.R.T @ (self.read.vector(body.center_of_mass) - frame.p)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = frame.R.T @ inertia @ frame.R
        self.lines.append(f"  <link name={quoteattr(name)}>")
        if mass or inertia.any():
            entries = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
            values = " ".join(f'{key}="{_digits(value)}"' for key, value in entries.items())
            self.lines += [
                "    <inertial>",
                f"      {_origin(Pose(center))}",
                f'      <mass value="{_digits(mass)}"/>',
                f"      <inertia {values}/>",
                "    </inertial>",
            ]
        for shape in body.shapes:
            self._shape(name, shape, frame)
        self.lines.append("  </link>")

    def _shape(self, name: str, shape: AbstractShape, frame: Pose) -> None:
        read = self.read
        if isinstance(shape, Box):
            form = f'<box size="{_spaced(read.vector(shape.size))}"/>'
        elif isinstance(shape, Cylinder):
            radius, length = read.scalar(shape.radius), read.scalar(shape.length)
            form = f'<cylinder radius="{_digits(radius)}" length="{_digits(length)}"/>'
        elif isinstance(shape, Sphere):
            form = f'<sphere radius="{_digits(read.scalar(shape.radius))}"/>'
        else:
            self.notes.append(f"a {shape.word} of body '{name}' is not drawn")
            return
        pose = frame.inverse().at(self._pose(shape.frame))
        rgb = _spaced([int(shape.color[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        self.lines += [
            "    <visual>",
            f"      {_origin(pose)}",
            f"      <geometry>{form}</geometry>",
            f'      <material name="{shape.color}"><color rgba="{rgb} 1"/></material>',
            "    </visual>",
        ]

    def _joint(self, joint: Joint, couplings: dict[str, tuple[str, float, float]]) -> None:
        words = {Fixed: "fixed", Revolute: "continuous", Prismatic: "prismatic"}
        words |= {Planar: "planar", Free: "floating"}
        word = words.get(type(joint.type))
        if word == "continuous" and joint.limits is not None:
            word = "revolute"
        if word is None or joint.motion:
            what = "moves as given" if joint.motion else f"is of type '{joint.type.word}'"
            raise ModelError(
                f"joint '{joint.name}' {what}, for which URDF has no joint type",
                f"model '{self.model.name}', joints.{joint.name}",
                "replace it by a chain of revolute or prismatic joints, or fix it",
            )
        pose = self.frames[joint.parent].inverse().at(self._pose(joint.parent_frame))
        self.lines += [
            f'  <joint name={quoteattr(joint.name)} type="{word}">',
            f"    {_origin(pose)}",
            f"    <parent link={quoteattr(joint.parent)}/>",
            f"    <child link={quoteattr(joint.child)}/>",
        ]
        axis = getattr(joint.type, "axis", (0.0, 0.0, 1.0))
        if word != "fixed":
            self.lines.append(f'    <axis xyz="{_spaced(self.read.direction(axis))}"/>')
        if word in ("revolute", "prismatic"):
            ends = joint.limits if joint.limits is not None else (-_FAR, _FAR)
            low, high = (_digits(self.read.scalar(end)) for end in ends)
            self.lines.append(
                f'    <limit lower="{low}" upper="{high}" effort="{_FAR:g}" velocity="{_FAR:g}"/>'
            )
            what = "effort and velocity" if joint.limits is not None else "joints that slide"
            self.notes.append(f"limits of {what} are {_FAR:g}, because URDF requires them")
        if joint.armature != 0.0:
            self.notes.append(f"the armature of joint '{joint.name}' is left out")
        losses = self._dynamics(joint)
        if any(losses):
            damping, friction = map(_digits, losses)
            self.lines.append(f'    <dynamics damping="{damping}" friction="{friction}"/>')
        if joint.name in couplings:
            leader, factor, offset = couplings[joint.name]
            self.lines.append(
                f"    <mimic joint={quoteattr(leader)} "
                f'multiplier="{_digits(factor)}" offset="{_digits(offset)}"/>'
            )
        self.lines.append("  </joint>")

    def _dynamics(self, joint: Joint) -> tuple[float, float]:
        """Damping and dry friction of a joint."""
        damping = friction = 0.0
        for force in self.model.forces:
            if isinstance(force, JointDamper) and force.speed in _single(joint):
                damping += self.read.scalar(force.damping)
            elif isinstance(force, JointFriction) and force.speed in _single(joint):
                friction += self.read.scalar(force.level)
                self.notes.append("dry friction is written without the speed it is smooth below")
        return damping, friction

    def _couplings(self) -> dict[str, tuple[str, float, float]]:
        """Joint → the joint it follows, factor and offset, for rows that say so."""
        found: dict[str, tuple[str, float, float]] = {}
        own = {j.coordinate_names()[0]: j.name for j in self.tree.tree if _single(j)}
        for row in self.model.rows:
            made = self._coupling(row, own, found)
            if made is None:
                self.notes.append(f"row '{row.name}' ({row.word}) is left out")
            else:
                found[made[0]] = made[1]
        return found

    def _coupling(
        self, row: AbstractRow, own: dict[str, str], taken: dict[str, tuple[str, float, float]]
    ) -> tuple[str, tuple[str, float, float]] | None:
        """a q₁ + b q₂ + c = 0 as q₁ = −(b/a) q₂ − c/a; None for any other row."""
        used = [name for name in names_of(row.expression) if name not in self.read.values]
        if not row.is_holonomic or len(used) != 2 or not all(name in own for name in used):
            return None
        first, second = sorted(used, key=list(own).index, reverse=True)

        def at(x: float, y: float) -> float:
            return nominal(row.expression, {**self.read.values, first: x, second: y})

        c = at(0.0, 0.0)
        a, b = at(1.0, 0.0) - c, at(0.0, 1.0) - c
        size = abs(a) + abs(b) + abs(c)
        is_linear = abs(at(-1.7, 2.3) - (-1.7 * a + 2.3 * b + c)) <= 1e-12 * size
        if not is_linear or a == 0.0 or own[first] in taken:
            return None
        return own[first], (own[second], -b / a, -c / a)

    def _motor(self, name: str, speed: str) -> None:
        joint = next((j for j in self.tree.tree if speed in _single(j)), None)
        if joint is None:
            self.notes.append(f"motor '{name}' on '{speed}' is left out")
            return
        interface = "hardware_interface/EffortJointInterface"
        held = f"<hardwareInterface>{interface}</hardwareInterface>"
        self.lines += [
            f"  <transmission name={quoteattr(name)}>",
            "    <type>transmission_interface/SimpleTransmission</type>",
            f"    <joint name={quoteattr(joint.name)}>{held}</joint>",
            f"    <actuator name={quoteattr(name)}>{held}</actuator>",
            "  </transmission>",
        ]

    def _list_rest(self) -> None:
        """Note all else that the file does not carry."""
        model = self.model
        wheels = [contact.name for contact in model.contacts]
        if wheels:
            self.notes.append(
                f"{counted(len(wheels), 'contact')} ({', '.join(wheels)}) are left out: URDF has "
                "no word for rolling; name the links that roll as you import the file"
            )
        if self.tree.loops:
            names = ", ".join(joint.name for joint in self.tree.loops)
            self.notes.append(f"joints that close loops are left out: {names}")
        written = JointDamper | JointFriction | Motor
        for force in model.forces:
            is_single = any(getattr(force, "speed", None) in _single(j) for j in self.tree.tree)
            if not (isinstance(force, written) and is_single) and not isinstance(force, Motor):
                self.notes.append(f"force '{force.name}' ({force.word}) is left out")
        gravity = self.read.vector(model.gravity)
        if not np.allclose(gravity, (0.0, 0.0, -9.81), rtol=0.0, atol=1e-12):
            self.notes.append(f"gravity ({_spaced(gravity)}) m/s² is left out")
        kinds = {
            "parameters": "parameters are numbers in the file",
            "speed_inputs": "speed inputs are left out",
            "definitions": "definitions are left out",
            "independent_speeds": "independent speeds are left out",
            "scenario": "the scenario is left out",
        }
        self.notes += [said for kind, said in kinds.items() if getattr(model, kind)]
        self.notes = list(dict.fromkeys(self.notes))

    def _pose(self, frame: Placement) -> Pose:
        R, p = frame_numbers(frame, self.read)
        return Pose(p, R)


def _single(joint: Joint) -> tuple[str, ...]:
    """The speed of a joint that turns or slides."""
    is_single = isinstance(joint.type, Revolute | Prismatic)
    return tuple(joint.speed_names()) if is_single else ()


def _origin(pose: Pose) -> str:
    return f'<origin xyz="{_spaced(pose.p)}" rpy="{_spaced(rpy_of(pose.R))}"/>'


def _spaced(values: Iterable[float]) -> str:
    return " ".join(map(_digits, values))


def _digits(value: float) -> str:
    return repr(float(value) + 0.0)
