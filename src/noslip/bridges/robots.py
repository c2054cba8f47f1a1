"""Robot descriptions of other formats, and how they become models that roll.

**Robot descriptions of other formats, and how they become a model that rolls.**

URDF and MJCF describe links, joints and geometry, and have no word for rolling. A bridge reads a
file into a `RobotDescription`; an `Undercarriage` says which links are wheels, what drives and how
the robot stands on the ground; :func:`build_model` makes a model of both:

1. the tree of links and joints, the root carried by a joint ``base`` (fixed, planar or free);
2. a rolling contact for each wheel, radius and axis found from its geometry and its joint;
3. motors, dampers, friction, springs and mimic joints (as rows);
4. notes on what the model does not carry.

All poses are at zero coordinates; a joint's frame is that of its child there.

**Files that say what a robot rolls on: ``robot.rolling.toml`` beside ``robot.urdf``.**

wheels = ["wheel_left", "wheel_right"]      # or {wheel_left = 0.0985, wheel_right = 0.0985}
casters = ["caster_front"]
slides = []                                  # wheels that may slide sideways
rollers = {}                                 # angles of rollers of mecanum and omni wheels, rad
driven = ["wheel_left_joint", "wheel_right_joint"]
locked = {torso_lift_joint = 0.1}
base = "planar"                              # planar, free or fixed

**Robot descriptions as model formats: read by suffix, put on an undercarriage, made a model.**

To add a format: a class below `AbstractRobotFormat` with `word`, `name`, `suffixes` and
`describe(path)`, and its module in `BRIDGES`.

**Mesh files of robot descriptions, STL, OBJ and Collada, coarsened so that a model can hold them.**

A mesh is only drawn. It is looked for in the folder of the description and in the package around
it, never beyond: names that lead out, by ``..``, by an absolute path or by a link, are not opened.
Nothing that a mesh file names (materials, textures) is read.

Coarsened by clustering [RossignacBorrel1993]: corners in one cell of a grid become one, their mean,
and faces that thereby lose a corner are dropped.
"""

from __future__ import annotations

import abc
import math
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pathlib import Path as FilePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip import Fault, Model, ModelBuilder, ModelError, NoslipError, Placement
from noslip.base import (
    LARGEST,
    Array,
    absolute,
    counted,
    format_of,
    members_of,
    nearest,
    read_bytes,
    read_text,
)
from noslip.bridges.xml_text import XmlElement, parse_xml
from noslip.contacts import RollerRolling, Rolling
from noslip.expressions import CONSTANTS, FUNCTIONS
from noslip.forces import JointDamper, JointFriction, JointSpring, Motor, Wrench
from noslip.joints import AbstractJointType, Fixed, Free, Planar, Prismatic, Revolute, Spherical
from noslip.model import WORLD, AbstractModelFormat, rotation_about
from noslip.rows import PositionRow
from noslip.shapes import AbstractShape, Box, Cylinder, Facets, Sphere
from noslip.surfaces import Ball, Disk

#: Speed at which dry friction of a joint has reached 76 % of its level, rad/s or m/s.
FRICTION_SMOOTHING = 1e-2
#: A wheel's cylinder lies along its joint's axis to this, as the sine of the angle.
PARALLEL = 0.01
#: What a base may be.
BASES = ("fixed", "planar", "free")

_EYE = np.eye(3)
_ORIGIN = np.zeros(3)


class Pose(NamedTuple):
    """Position (3,) and orientation (3, 3) of a frame in another."""

    p: Array = _ORIGIN
    R: Array = _EYE

    def at(self, other: Pose) -> Pose:
        """The pose of a frame that is given in this one."""
        return Pose(self.p + self.R @ other.p, self.R @ other.R)

    def inverse(self) -> Pose:
        """The pose of the other frame in this one."""
        return Pose(-self.R.T @ self.p, self.R.T)


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """A primitive or mesh on a link."""

    #: ``box`` (edges), ``cylinder`` and ``capsule`` (radius, length along z), ``sphere`` (radius),
    #: ``ellipsoid`` (half axes), ``mesh`` (factors of its size)
    kind: str
    size: tuple[float, ...]  #: size of it, m
    pose: Pose = Pose()  #: pose in the link
    color: str = ""  #: color as ``#rrggbb``; empty where none is given
    file: str = ""  #: name of a mesh


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A rigid body: inertia (3, 3) about its mass center, in link axes.

    `lift` is the part of its weight that a force on its mass center compensates.
    """

    name: str
    where: str
    mass: float = 0.0
    center: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: tuple[Geometry, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    lift: float = 0.0

    def scaled(self, factor: float) -> Link:
        """The same with another mass."""
        return replace(self, mass=self.mass * factor, inertia=self.inertia * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkJoint:
    """A joint of a description."""

    name: str
    where: str
    kind: str  #: ``fixed``, ``revolute``, ``prismatic``, ``planar``, ``spherical`` or ``free``
    parent: str
    child: str
    pose: Pose = Pose()  #: pose of the child in the parent, at zero
    #: point of the child that the joint turns about, in the child, m
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    #: unit vector, in the child
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    #: damping, friction, stiffness, rest: coefficients of the joint, in SI units
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0  #: inertia of the motor's rotor as the joint feels it
    #: lower, upper, effort, velocity: limits of the joint; infinite where there are none
    lower: float = -math.inf
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    #: the joint it follows, empty for none, and the coefficients of the polynomial of that joint's
    #: coordinate which its own coordinate is, the constant first
    mimic: tuple[str, tuple[float, ...]] | None = None

    def following(self, mimic: tuple[str, tuple[float, ...]]) -> LinkJoint:
        """The same joint, following another."""
        return replace(self, mimic=mimic)

    @property
    def range(self) -> tuple[float, float] | None:
        """Lowest and highest coordinate; None where it may move without end."""
        ends = self.lower, self.upper
        return ends if all(map(math.isfinite, ends)) and ends[0] < ends[1] else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLoop:
    """A joint that closes a loop: ``spherical`` or ``fixed``, with its frames on both links."""

    name: str
    kind: str
    parent: str
    child: str
    parent_pose: Pose
    child_pose: Pose


@dataclass(frozen=True, slots=True, kw_only=True)
class Undercarriage:
    """Wheels of a robot, and what drives them."""

    #: links that roll without slipping, each with its radius in m, or None to find it from the
    #: link's geometry
    wheels: Mapping[str, float | None] = field(default_factory=dict)
    #: links of casters: a wheel, or a fork that carries one; they roll and are not driven. A link
    #: without a joint that moves it is a ball that slides, and constrains nothing.
    casters: Mapping[str, float | None] = field(default_factory=dict)
    #: wheels that roll forward and may slide sideways, as all but one of several steered wheels
    #: must; the angle by which one does is defined as ``LINK.slip_angle``
    slides: tuple[str, ...] = ()
    #: wheels with rollers around their rim, each with the angle from its axle to the axis of the
    #: roller on the ground, rad: π/2 for an omni wheel, ±π/4 for a mecanum one
    rollers: Mapping[str, float] = field(default_factory=dict)
    #: joints with a motor; by default those that the file names as actuated, or else all with one
    #: degree of freedom that are not part of a caster, locked, or mimic
    driven: tuple[str, ...] | None = None
    #: joints that are held at a coordinate, rad or m
    locked: Mapping[str, float] = field(default_factory=dict)
    #: carrier of the root: ``fixed`` (default without wheels), ``planar`` (default with wheels: it
    #: stays level, on wheels that touch the plane z = 0) or ``free``
    base: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotDescription:
    """Links and joints of a robot, as a file of another format has them.

    `driven` are the joints it names as actuated, if it does; `undercarriage` is what it says itself
    about what rolls.
    """

    name: str
    file: str
    links: tuple[Link, ...]
    joints: tuple[LinkJoint, ...]
    loops: tuple[LinkLoop, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    driven: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    undercarriage: Undercarriage | None = None


class ImportedModel(NamedTuple):
    """A model and notes on what it does not carry of the file it comes from."""

    model: Model
    notes: tuple[str, ...]


def build_model(robot: RobotDescription, under: Undercarriage | None = None) -> ImportedModel:
    """The model of a robot that stands on an undercarriage, by default its own.

    Raises
    ------
    ModelError : with all faults of the description and the undercarriage.
    """
    own = robot.undercarriage or Undercarriage()
    return _Building(robot, under if under is not None else own).build()


class _RollingLink(NamedTuple):
    link: Link
    radius: float
    axis: Array
    center: Array
    is_ball: bool


class _Building:
    """One model in the making."""

    def __init__(self, robot: RobotDescription, under: Undercarriage) -> None:
        self.robot, self.under = robot, under
        self.faults: list[Fault] = []
        self.notes = list(robot.notes)
        self.links = {link.name: link for link in robot.links}
        self.joints = {joint.name: joint for joint in robot.joints}
        self.carrier: dict[str, LinkJoint] = {}
        self.passive: set[str] = set()

    def build(self) -> ImportedModel:
        self._check_tree()
        self._check_undercarriage()
        self._raise()
        root = next(link for link in self.links if link not in self.carrier)
        self.poses = self._poses(root)
        wheels = self._wheels()
        self._raise()
        self._stand_on_ground(root, bool(wheels))
        return ImportedModel(self._model(root, wheels), tuple(dict.fromkeys(self.notes)))

    # (1) the tree

    def _check_tree(self) -> None:
        for kind, parts in (("link", self.robot.links), ("joint", self.robot.joints)):
            seen: set[str] = set()
            for part in parts:
                if part.name in seen:
                    self._fault(
                        f"two {kind}s are called '{part.name}'", part.where, "rename one of them"
                    )
                seen.add(part.name)
        for joint in self.robot.joints:
            for end, name in (("parent", joint.parent), ("child", joint.child)):
                if name not in self.links:
                    self._fault(
                        f"joint '{joint.name}' has the {end} '{name}', which is not a link",
                        joint.where,
                        nearest(name, self.links),
                    )
            if joint.child in self.carrier:
                other = self.carrier[joint.child].name
                self._fault(
                    f"link '{joint.child}' is the child of '{other}' and of '{joint.name}'",
                    joint.where,
                    "a link has one parent joint; close loops in the model file afterwards",
                )
            self.carrier.setdefault(joint.child, joint)
            if joint.mimic is not None and joint.mimic[0] not in ("", *self.joints):
                self._fault(
                    f"joint '{joint.name}' follows '{joint.mimic[0]}', which is not a joint",
                    joint.where,
                    nearest(joint.mimic[0], self.joints),
                )
            if joint.mimic is not None and self._is_mimic_circle(joint):
                self._fault(
                    f"joint '{joint.name}' follows itself",
                    joint.where,
                    "let one joint of the cycle be free",
                )
        if not self.links:
            self._fault("the robot has no link", self.robot.file, 'add <link name="base"/>')
            return
        roots = [name for name in self.links if name not in self.carrier]
        if not roots:
            self._fault(
                "every link is the child of a joint, so that none can be the root",
                self.robot.file,
                "remove the joint that closes the cycle",
            )
        elif len(roots) > 1:
            self._fault(
                f"there are {len(roots)} links that no joint carries: "
                + ", ".join(f"'{name}'" for name in roots[:5]),
                self.links[roots[1]].where,
                "connect them to one root, or remove them",
            )
        else:
            reached = set(self._below(roots[0]))
            for name in [name for name in self.links if name not in reached][:1]:
                self._fault(
                    f"link '{name}' is its own ancestor",
                    self.links[name].where,
                    "remove the joint that closes the cycle",
                )
        if self.faults:
            return
        # children first, since what is fixed is counted with its parent
        for name in reversed(list(self._below(roots[0]))):
            self._check_inertia(self.links[name])

    def _is_mimic_circle(self, joint: LinkJoint) -> bool:
        seen, now = {joint.name}, joint
        while now.mimic is not None and now.mimic[0] in self.joints:
            now = self.joints[now.mimic[0]]
            if now.name in seen:
                return now.name == joint.name
            seen.add(now.name)
        return False

    def _check_inertia(self, link: Link) -> None:
        if link.mass < 0.0:
            self._fault(
                f"link '{link.name}' has the mass {link.mass:g} kg", link.where, "give 0 or more"
            )
        least = _least_moment(link)
        joint = self.carrier.get(link.name)
        if least == 0.0:
            return
        if joint is not None and joint.kind == "fixed":
            # it never turns alone: its inertia counts with that of the link it is fixed to
            parent = self.links[joint.parent]
            moved = joint.pose.at(Pose(link.center, _EYE))
            turned = joint.pose.R @ link.inertia @ joint.pose.R.T
            self.links[joint.parent] = joined_link(parent, link.mass, moved.p, turned)
            self.links[link.name] = replace(link, mass=0.0, inertia=np.zeros((3, 3)))
            self.notes.append(
                f"link '{link.name}' has the principal moment of inertia {least:.3g} kg m², as no "
                f"body has; its mass is counted with '{joint.parent}', to which it is fixed"
            )
            return
        self._fault(
            f"link '{link.name}' has the principal moment of inertia {least:.4g} kg m², which "
            "no body has",
            link.where,
            "correct the entries of its inertia; wrong signs of the products are the usual cause",
        )

    def _below(self, root: str) -> Iterator[str]:
        """Links carried by a link, itself first."""
        children: dict[str, list[str]] = {}
        for joint in self.carrier.values():
            children.setdefault(joint.parent, []).append(joint.child)
        waiting, seen = [root], set()
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.links:
                continue
            seen.add(name)
            yield name
            waiting.extend(reversed(children.get(name, [])))

    def _poses(self, root: str) -> dict[str, Pose]:
        """Poses of the links in the root, with locked joints at their coordinates."""
        poses = {root: Pose()}
        for name in self._below(root):
            if name != root:
                joint = self.carrier[name]
                poses[name] = poses[joint.parent].at(self._locked_pose(joint))
        return poses

    def _locked_pose(self, joint: LinkJoint) -> Pose:
        value = self.under.locked.get(joint.name, 0.0)
        if joint.kind == "revolute" and value:
            turn = rotation_about(joint.axis, value)
            return joint.pose.at(Pose(joint.anchor - turn @ joint.anchor, turn))
        if joint.kind == "prismatic" and value:
            return joint.pose.at(Pose(value * joint.axis, _EYE))
        return joint.pose

    # (2) what rolls

    def _check_undercarriage(self) -> None:
        where, under = "undercarriage", self.under
        if under.base not in ("", *BASES):
            self._fault(f"the base is '{under.base}'", where, nearest(under.base, BASES))
        for name in (*under.wheels, *under.casters, *under.slides, *under.rollers):
            if name not in self.links:
                more = ""
                if name in self.joints:
                    more = f"; '{name}' is a joint, its link is '{self.joints[name].child}'"
                self._fault(f"there is no link '{name}'", where, nearest(name, self.links) + more)
        for name in (*under.slides, *under.rollers):
            if name in self.links and name not in (*under.wheels, *under.casters):
                self._fault(
                    f"link '{name}' may slide sideways, but is not a wheel",
                    where,
                    f"name it as a wheel too: --wheel {name}",
                )
        for name in (*(under.driven or ()), *under.locked):
            if name not in self.joints:
                self._fault(f"there is no joint '{name}'", where, nearest(name, self.joints))
            elif self.joints[name].kind not in ("revolute", "prismatic"):
                self._fault(
                    f"joint '{name}' is {self.joints[name].kind}, which can be neither "
                    "driven nor locked at a value",
                    where,
                    "leave it out",
                )
        for name, value in (*under.locked.items(), *under.rollers.items()):
            if not math.isfinite(value):
                self._fault(f"'{name}' has the value {value:g}", where, "give a finite number")
        for name in set(under.driven or ()) & set(under.locked):
            self._fault(f"joint '{name}' is both driven and locked", where, "choose one")
        for name, radius in (*under.wheels.items(), *under.casters.items()):
            if radius is not None and not 0.0 < radius < math.inf:
                self._fault(
                    f"wheel '{name}' has the radius {radius:g} m", where, "give more than 0"
                )

    def _wheels(self) -> list[_RollingLink]:
        wheels = [self._wheel(name, radius) for name, radius in self.under.wheels.items()]
        for name, radius in self.under.casters.items():
            link = self._caster_wheel(name)
            if link is None:
                self.notes.append(
                    f"caster '{name}' has no joint that turns: it slides on the ground without "
                    "friction and constrains nothing"
                )
                continue
            self.passive.update(self._joints_from_root(link, moving=name))
            wheels.append(self._wheel(link, radius))
        found = [wheel for wheel in wheels if wheel is not None]
        self._check_ground(found)
        return found

    def _caster_wheel(self, name: str) -> str | None:
        """The link of a caster that rolls: itself or below it, about an axis that is level."""
        for link in self._below(name):
            joint = self.carrier.get(link)
            if joint is not None and self._is_turning(joint):
                up = (self.poses[link].R @ joint.axis)[2]
                if abs(up) < 0.5:
                    return link
        return None

    def _joints_from_root(self, link: str, *, moving: str) -> Iterator[str]:
        """Joints of a caster: from its wheel up to the joint that carries it."""
        while True:
            joint = self.carrier[link]
            yield joint.name
            if link == moving or joint.parent not in self.carrier:
                break
            link = joint.parent
        # the link that was named may be the wheel itself, on a fork that swivels
        above = self.carrier.get(joint.parent)
        if above is not None and self._is_turning(above):
            up = (self.poses[above.child].R @ above.axis)[2]
            if abs(up) > 0.9:
                yield above.name

    def _is_turning(self, joint: LinkJoint) -> bool:
        return joint.kind == "revolute" and joint.name not in self.under.locked

    def _wheel(self, name: str, radius: float | None) -> _RollingLink | None:
        link, joint = self.links[name], self.carrier.get(name)
        if joint is None or not self._is_turning(joint):
            self._fault(
                f"wheel '{name}' hangs on "
                + (
                    "no joint"
                    if joint is None
                    else f"the joint '{joint.name}', which does not turn"
                ),
                link.where,
                "name a link that turns about its axis",
            )
            return None
        round_parts = list(self._round_parts(name, joint))
        found = max(round_parts, default=None, key=lambda part: part[0])
        if radius is None and found is None:
            self._fault(
                f"no cylinder or sphere about its axis gives the radius of wheel '{name}' is",
                link.where,
                f"give its radius in m, as --wheel {name}=0.1",
            )
            return None
        size, center, is_ball = found if found is not None else (0.0, joint.anchor, False)
        # the center of a wheel is on its axis
        along = joint.anchor + joint.axis * float(joint.axis @ (center - joint.anchor))
        used = size if radius is None else radius
        if float(np.linalg.norm(center - along)) > 0.01 * used:
            self.notes.append(
                f"the geometry of wheel '{name}' is off its axis by "
                f"{np.linalg.norm(center - along):.3g} m; it rolls about the axis"
            )
        if not is_ball and abs((self.poses[name].R @ joint.axis)[2]) > 0.2:
            self.notes.append(f"the axis of wheel '{name}' is not level")
        return _RollingLink(link, used, joint.axis, along, is_ball)

    def _round_parts(self, name: str, joint: LinkJoint) -> Iterator[tuple[float, Array, bool]]:
        """Radius, center in the link, and whether it is a ball, of what could be the wheel."""
        here = self.poses[name]
        for other in self._below(name):
            if other != name and self.carrier[other].kind != "fixed":
                continue
            there = self.poses[other]
            link = self.links[other]
            for part in (*link.collisions, *link.visuals):
                pose = Pose(here.R.T @ (there.p - here.p), here.R.T @ there.R).at(part.pose)
                if part.kind == "sphere":
                    yield part.size[0], pose.p, True
                elif part.kind in ("cylinder", "capsule"):
                    if float(np.linalg.norm(np.cross(pose.R[:, 2], joint.axis))) < PARALLEL:
                        yield part.size[0], pose.p, False

    def _check_ground(self, wheels: list[_RollingLink]) -> None:
        self.ground = min((self._bottom(wheel) for wheel in wheels), default=0.0)
        for wheel in wheels:
            gap = self._bottom(wheel) - self.ground
            if gap > 1e-3 * wheel.radius:
                self.notes.append(
                    f"wheel '{wheel.link.name}' is {gap:.3g} m above the lowest one; it rolls as "
                    "if the ground reached it"
                )

    def _bottom(self, wheel: _RollingLink) -> float:
        """Height of the lowest point of a wheel in the root."""
        pose = self.poses[wheel.link.name]
        up = float((pose.R @ wheel.axis)[2])
        drop = wheel.radius * (1.0 if wheel.is_ball else math.sqrt(max(0.0, 1.0 - up * up)))
        return float((pose.p + pose.R @ wheel.center)[2]) - drop

    def _stand_on_ground(self, root: str, has_wheels: bool) -> None:
        """Let the one free joint under a root that is the world be the base."""
        self.base = self.under.base or ("planar" if has_wheels else "fixed")
        self.is_world = root.lower() == WORLD and self.links[root].mass == 0.0
        free = [j for j in self.carrier.values() if j.parent == root and j.kind == "free"]
        if not (self.is_world and len(free) == 1 and self.base != "fixed"):
            self.is_world = self.is_world and self.base == "fixed"
            return
        joint = free[0]
        up = Pose(np.array([0.0, 0.0, joint.pose.p[2] - self.ground]), joint.pose.R)
        axis = joint.pose.R.T @ np.array([0.0, 0.0, 1.0])
        self.carrier[joint.child] = replace(joint, kind=self.base, pose=up, axis=axis)

    # (3) the model

    def _model(self, root: str, wheels: list[_RollingLink]) -> Model:
        robot = self.robot
        base, is_world = self.base, self.is_world
        own_links = [name for name in self.links if not (is_world and name == root)]
        link_name = _identifiers(own_links, {WORLD})
        joint_name = _identifiers(self.joints, {"base"})
        for kind, given in (("link", link_name), ("joint", joint_name)):
            changed = {old: new for old, new in given.items() if old != new}
            if changed:
                self.notes.append(
                    f"{counted(len(changed), f'{kind} name')} changed so that expressions can use "
                    "them: " + ", ".join(f"'{old}' → '{new}'" for old, new in changed.items())
                )
        b = ModelBuilder(
            name=_model_name(robot.name),
            gravity=_numbers(robot.gravity),
            description=f"Imported from {robot.file.replace(chr(92), '/').rpartition('/')[2]}",
        )
        for name in own_links:
            link = self.links[name]
            b.body(
                link_name[name],
                mass=link.mass,
                inertia=_inertia(link.inertia),
                center_of_mass=_numbers(link.center),
                shapes=tuple(self._shapes(link)),
            )
            if link.lift and link.mass:
                weight = -link.lift * link.mass * np.array(robot.gravity)
                b.force(
                    Wrench(
                        name=f"{link_name[name]}_lift",
                        body=link_name[name],
                        point=_numbers(link.center),
                        force=_numbers(weight),
                    )
                )
        if is_world:
            link_name[root] = WORLD
        else:
            types: dict[str, AbstractJointType] = {
                "fixed": Fixed(), "planar": Planar(), "free": Free()
            }  # fmt: skip
            b.joint(
                "base",
                types[base],
                parent=WORLD,
                child=link_name[root],
                parent_frame=Placement(position=(0.0, 0.0, _number(-self.ground))),
                description="pose of the robot's root",
            )
        for name in self._below(root):
            if name != root:
                joint = self.carrier[name]
                self._add_joint(b, joint, joint_name[joint.name], link_name)
        for loop in robot.loops:
            b.joint(
                next(iter(_identifiers([loop.name], {*joint_name.values(), "base"}).values())),
                Spherical() if loop.kind == "spherical" else Fixed(),
                parent=link_name[loop.parent],
                child=link_name[loop.child],
                parent_frame=_placement(loop.parent_pose),
                child_frame=_placement(loop.child_pose),
            )
        for wheel in wheels:
            self._add_contact(b, wheel, link_name[wheel.link.name], normal=base == "free")
        self._add_drives(b, joint_name)
        return b.build()

    def _shapes(self, link: Link) -> Iterator[AbstractShape]:
        parts = link.visuals or link.collisions
        for part in parts:
            if part.kind == "mesh":
                yield from self._mesh(link.name, part)
                continue
            made = list(_shape(part))
            if not made:
                self.notes.append(f"a {part.kind} of link '{link.name}' is not drawn")
            yield from made

    def _mesh(self, link: str, part: Geometry) -> Iterator[AbstractShape]:
        made = drawn(part.file, FilePath(self.robot.file), part.size)
        if isinstance(made, str):
            self.notes.append(made.replace(" is not drawn", f" of link '{link}' is not drawn", 1))
            return
        yield replace(made, frame=_placement(part.pose), color=part.color or made.color)

    def _add_joint(
        self, b: ModelBuilder, joint: LinkJoint, name: str, link_name: Mapping[str, str]
    ) -> None:
        pose = self._locked_pose(joint)
        kind = "fixed" if joint.name in self.under.locked else joint.kind
        axis = _numbers(joint.axis)
        types: dict[str, AbstractJointType] = {
            "fixed": Fixed(), "revolute": Revolute(axis=axis), "prismatic": Prismatic(axis=axis),
            "planar": Planar(), "spherical": Spherical(), "free": Free(),
        }  # fmt: skip
        anchor = Pose(joint.anchor, _EYE)
        child = Pose()
        if kind == "planar":
            # a planar joint moves in the x-y plane of its frame: its z axis is the plane's normal
            anchor = child = Pose(_ORIGIN, least_turn(joint.axis))
        elif joint.anchor.any():
            child = anchor
        b.joint(
            name,
            types[kind],
            parent=link_name[joint.parent],
            child=link_name[joint.child],
            parent_frame=_placement(pose.at(anchor)),
            child_frame=_placement(child),
            **self._own_values(joint, kind),
        )
        self._add_losses(b, joint, name, kind)
        if joint.stiffness and kind in _NAMES:
            b.force(
                JointSpring(
                    name=f"{name}_spring",
                    coordinate=f"{name}.{_NAMES[kind][0]}",
                    stiffness=_number(joint.stiffness),
                    rest=_number(joint.rest),
                )
            )
        elif joint.stiffness and kind != "fixed":
            self.notes.append(f"the stiffness of joint '{joint.name}' ({kind}) is left out")

    def _add_losses(self, b: ModelBuilder, joint: LinkJoint, name: str, kind: str) -> None:
        """Damping and dry friction along every speed of a joint.

        Dry friction of a free joint acts along the axes of its parent, which its speeds are not,
        and those of a planar joint are a turn and two lengths.
        """
        speeds = _speeds_of(kind)
        for speed in speeds if joint.damping else ():
            b.force(
                JointDamper(
                    name=f"{name}_damping" + f"_{speed}" * (len(speeds) > 1),
                    speed=f"{name}.{speed}",
                    damping=_number(joint.damping),
                )
            )
        for speed in speeds if joint.friction and kind != "free" else ():
            b.force(
                JointFriction(
                    name=f"{name}_friction" + f"_{speed}" * (len(speeds) > 1),
                    speed=f"{name}.{speed}",
                    level=_number(joint.friction),
                    smoothing=FRICTION_SMOOTHING,
                )
            )
        if kind != "fixed" and joint.damping and not speeds:
            self.notes.append(f"the damping of joint '{joint.name}' ({kind}) is left out")
        if kind != "fixed" and joint.friction and (kind == "free" or not speeds):
            self.notes.append(f"dry friction of joint '{joint.name}' ({kind}) is left out")

    def _own_values(self, joint: LinkJoint, kind: str) -> dict[str, Any]:
        """Armature and limits of a joint in the model."""
        is_single = kind in ("revolute", "prismatic")
        found: dict[str, Any] = {}
        if joint.armature and is_single:
            found["armature"] = _number(joint.armature)
        elif joint.armature and kind != "fixed":
            self.notes.append(f"the armature of joint '{joint.name}' ({kind}) is left out")
        if joint.range is not None and is_single:
            found["limits"] = tuple(map(_number, joint.range))
        elif math.isfinite(joint.lower) and joint.lower >= joint.upper and is_single:
            self.notes.append(
                f"joint '{joint.name}' has limits from {joint.lower:g} to {joint.upper:g}, which "
                "would hold it; they are left out"
            )
        elif is_single and math.isfinite(joint.lower) != math.isfinite(joint.upper):
            self.notes.append(
                f"joint '{joint.name}' has a limit on one side alone, {joint.lower:g} to "
                f"{joint.upper:g}; it is left out"
            )
        if is_single and (math.isfinite(joint.effort) or math.isfinite(joint.velocity)):
            self.notes.append(
                "limits of effort and velocity are left out: a joint has those of its coordinate, "
                "and a controller those of its inputs"
            )
        return found

    def _add_contact(
        self, b: ModelBuilder, wheel: _RollingLink, name: str, *, normal: bool
    ) -> None:
        radius = b.parameter(f"r_{name}", _number(wheel.radius), "m", f"radius of wheel {name}")
        center, axis = _numbers(wheel.center), _numbers(wheel.axis)
        is_left = (self.poses[wheel.link.name].R @ wheel.axis)[1] >= 0.0
        to_left = axis if is_left else _numbers(-wheel.axis)
        if wheel.link.name in self.under.rollers:
            angle = _number(self.under.rollers[wheel.link.name])
            b.contact(
                RollerRolling(
                    name=name,
                    body=name,
                    radius=radius,
                    axis=to_left,
                    roller_angle=angle,
                    center=center,
                    normal=normal,
                )
            )
            return
        surface = Ball(radius=radius) if wheel.is_ball else Disk(radius=radius, axis=axis)
        slides = wheel.link.name in self.under.slides
        b.contact(
            Rolling(
                name=name,
                body=name,
                wheel=surface,
                center=center,
                normal=normal,
                lateral=not slides,
            )
        )
        if slides and not wheel.is_ball:
            b.definition(
                f"{name}.slip_angle",
                _slip_angle(name, center, to_left),
                "rad",
                f"slip angle of wheel {name}",
            )

    def _add_drives(self, b: ModelBuilder, joint_name: Mapping[str, str]) -> None:
        for joint in self.robot.joints:
            if joint.kind not in ("revolute", "prismatic") or joint.name in self.under.locked:
                continue
            name = joint_name[joint.name]
            speed = _NAMES[joint.kind][1]
            if joint.mimic is not None:
                row = self._mimic_row(joint, joint_name)
                if row is not None:
                    b.row(row)
                continue
            if self._is_driven(joint):
                unit = "N*m" if joint.kind == "revolute" else "N"
                noun = "torque" if joint.kind == "revolute" else "force"
                given = b.input(f"{name}_{noun}", unit, f"{noun} of joint {name}")
                b.force(Motor(name=f"{name}_motor", speed=f"{name}.{speed}", input=given))

    def _mimic_row(self, joint: LinkJoint, joint_name: Mapping[str, str]) -> PositionRow | None:
        """q = c₀ + c₁ q' + c₂ q'² + …; None where the other is locked with it."""
        assert joint.mimic is not None
        leader, coefficients = joint.mimic
        name, (coordinate, _) = joint_name[joint.name], _NAMES[joint.kind]
        terms = [repr(_number(coefficients[0]))]
        if leader:
            other = self.joints[leader]
            if other.kind not in _NAMES or leader in self.under.locked:
                self.notes.append(f"joint '{joint.name}' does not follow '{leader}', which is held")
                return None
            at = f"{joint_name[leader]}.{_NAMES[other.kind][0]}"
            powers = enumerate(coefficients[1:], 1)
            terms += [f"{c!r}*{at}" + (f"^{k}" if k > 1 else "") for k, c in powers if c]
        unit = "rad" if joint.kind == "revolute" else "m"
        expression = f"{name}.{coordinate} - ({' + '.join(terms)})"
        return PositionRow(name=f"{name}_mimic", expression=expression, unit=unit)

    def _is_driven(self, joint: LinkJoint) -> bool:
        if self.under.driven is not None:
            return joint.name in self.under.driven
        if joint.name in self.passive:
            return False
        return self.robot.driven is None or joint.name in self.robot.driven

    def _fault(self, what: str, where: str, fix: str) -> None:
        self.faults.append(Fault(what, where, fix))

    def _raise(self) -> None:
        if self.faults:
            raise ModelError.from_faults(self.faults)


def _slip_angle(
    body: str, center: tuple[float, float, float], axis: tuple[float, float, float]
) -> str:
    """From where a wheel points to where its center moves; its axle `axis` points to the left."""
    u, v = (f"velocity({body}, {', '.join(map(repr, center))}).{k}" for k in "xy")
    x, y = (
        "("
        + " + ".join(f"{a!r}*axis({body}, {n}).{k}" for a, n in zip(axis, "xyz", strict=True) if a)
        + ")"
        for k in "xy"
    )
    # along the axle, and along axle × z
    return f"atan2({u}*{x} + {v}*{y}, {u}*{y} - {v}*{x})"


def _least_moment(link: Link) -> float:
    """The least principal moment of inertia if it is negative beyond rounding, else 0."""
    if not link.inertia.any():
        return 0.0
    least = float(np.min(np.linalg.eigvalsh(link.inertia)))
    # what is below a micrometre's worth of its mass is rounding of the file
    largest = float(np.max(np.abs(link.inertia)))
    return least if least < -max(1e-9 * largest, 1e-12 * link.mass) else 0.0


def least_turn(z: Array) -> Array:
    """The smallest rotation that turns z to a unit vector."""
    axis = np.cross([0.0, 0.0, 1.0], z)
    sine = float(np.linalg.norm(axis))
    if sine == 0.0:
        return np.eye(3) if z[2] > 0 else np.diag([1.0, -1.0, -1.0])
    turn: Array = rotation_about(axis / sine, math.atan2(sine, float(z[2])))
    return turn


def joined_link(link: Link, mass: float, center: Array, inertia: Array) -> Link:
    """A link with a further mass on it, given in its axes, by Steiner's theorem."""
    total = link.mass + mass
    if total == 0.0:
        return replace(link, inertia=link.inertia + inertia)
    common = (link.mass * link.center + mass * center) / total

    def about(m: float, at: Array) -> Array:
        d = at - common
        return m * (float(d @ d) * _EYE - np.outer(d, d))

    joined = link.inertia + about(link.mass, link.center) + inertia + about(mass, center)
    return replace(link, mass=total, center=common, inertia=joined)


def _speeds_of(kind: str) -> tuple[str, ...]:
    """Names of the speeds of a joint of a description that have losses of one kind."""
    if kind in _NAMES:
        return (_NAMES[kind][1],)
    types: dict[str, AbstractJointType] = {"spherical": Spherical(), "free": Free()}
    return tuple(speed.name for speed in types[kind].speeds) if kind in types else ()


#: Coordinate and speed of a joint with one degree of freedom.
_NAMES = {"revolute": ("angle", "rate"), "prismatic": ("position", "speed")}


def _shape(part: Geometry) -> Iterator[AbstractShape]:
    """Shape that draws a primitive; none if it cannot be drawn."""
    frame, color = _placement(part.pose), {"color": part.color} if part.color else {}
    size = tuple(_number(value) for value in part.size)
    if part.kind == "box":
        yield Box(size=(size[0], size[1], size[2]), frame=frame, **color)
    elif part.kind == "sphere":
        yield Sphere(radius=size[0], frame=frame, **color)
    elif part.kind in ("cylinder", "capsule"):
        yield Cylinder(radius=size[0], length=size[1], frame=frame, **color)
    if part.kind == "capsule":
        for side in (0.5, -0.5):
            end = Pose(part.pose.p + part.pose.R[:, 2] * (side * size[1]), part.pose.R)
            yield Sphere(radius=size[0], frame=_placement(end), **color)


def _identifiers(names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Names that expressions can read, unique, as near to the given ones as can be."""
    used = {*taken, *CONSTANTS, *FUNCTIONS, "t"}
    result = {}
    for name in names:
        made = re.sub(r"[^A-Za-z0-9_]", "_", name, flags=re.ASCII) or "_"
        if made[0].isdigit():
            made = f"_{made}"
        candidate, number = made, 2
        while candidate in used:
            candidate, number = f"{made}_{number}", number + 1
        used.add(candidate)
        result[name] = candidate
    return result


def _model_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", name, flags=re.ASCII)[:100].strip("-") or "robot"


def _placement(pose: Pose) -> Placement:
    made = Placement.at(pose.p, None if np.allclose(pose.R, _EYE, atol=0.0) else pose.R)
    return Placement(position=_numbers(made.position), angles=_numbers(made.angles))


def _number(value: float) -> float:
    """A number of a file; one within rounding of 0, and −0, is 0."""
    return float(value) if abs(value) > 1e-30 else 0.0


def _numbers(values: Iterable[float | str]) -> tuple[float, float, float]:
    x, y, z = (_number(float(value)) for value in values)
    return x, y, z


def _inertia(inertia: Array) -> tuple[float, ...]:
    # moments that are negative by rounding are 0
    moments, axes = np.linalg.eigh(inertia)
    if moments[0] < 0.0:
        inertia = axes @ np.diag(np.maximum(moments, 0.0)) @ axes.T
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    diagonal = (_number(xx), _number(yy), _number(zz))
    return diagonal if not (xy or xz or yz) else (*diagonal, *map(_number, (xy, xz, yz)))


#: Ending of such files, in place of the description's own.
SUFFIX = ".rolling.toml"
MAX_BYTES = 100_000

_KEYS = ("wheels", "casters", "slides", "rollers", "driven", "locked", "base")


def beside(path: Path) -> Undercarriage | None:
    """The undercarriage that a file beside a description gives; None if there is none."""
    file = path.with_suffix(SUFFIX)
    return read_undercarriage(file) if os.path.isfile(file) else None


def read_undercarriage(path: str | os.PathLike[str]) -> Undercarriage:
    """The undercarriage of a TOML file.

    Raises
    ------
    ModelError : with all its faults.
    """
    file = os.fspath(path)
    text = read_text(file, ModelError, "give a TOML file with wheels = […]", max_bytes=MAX_BYTES)
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ModelError(f"the text is not TOML: {error}", file, "correct it there") from error
    unknown = [key for key in table if key not in _KEYS]
    faults = [Fault(f"there is no key '{key}'", file, nearest(key, _KEYS)) for key in unknown]
    reading = _UndercarriageReader(file, table, faults)
    made = Undercarriage(
        wheels=reading.radii("wheels"),
        casters=reading.radii("casters"),
        slides=reading.names("slides") or (),
        rollers=reading.numbers("rollers"),
        driven=reading.names("driven"),
        locked=reading.numbers("locked"),
        base=reading.text("base"),
    )
    if faults:
        raise ModelError.from_faults(faults)
    return made


class _UndercarriageReader:
    def __init__(self, file: str, table: Mapping[str, Any], faults: list[Fault]) -> None:
        self.file, self.table, self.faults = file, table, faults

    def names(self, key: str) -> tuple[str, ...] | None:
        value = self.table.get(key)
        if value is None:
            return None
        is_right = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if not is_right or len(set(value)) < len(value):
            self._fault(key, 'a list of names, each once, as ["left", "right"]')
            return None
        return tuple(value)

    def numbers(self, key: str) -> dict[str, float]:
        value = self.table.get(key, {})
        is_right = isinstance(value, dict) and all(
            isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= LARGEST
            for n in value.values()
        )
        if not is_right:
            self._fault(key, "a table of names and finite numbers, as {lift = 0.1}")
            return {}
        return {name: float(number) for name, number in value.items()}

    def radii(self, key: str) -> dict[str, float | None]:
        if isinstance(self.table.get(key), dict):
            return dict(self.numbers(key))
        return dict.fromkeys(self.names(key) or ())

    def text(self, key: str) -> str:
        value = self.table.get(key, "")
        if not isinstance(value, str):
            self._fault(key, 'a word, as "planar"')
            return ""
        return value

    def _fault(self, key: str, wanted: str) -> None:
        what = f"'{key}' is {self.table[key]!r:.60}"
        self.faults.append(Fault(what, self.file, f"give {wanted}"))


class AbstractRobotFormat(AbstractModelFormat):
    """A format of robots that knows links and joints, and nothing about rolling."""

    __slots__ = ()

    @abc.abstractmethod
    def describe(self, path: Path) -> RobotDescription:
        """The robot that a file describes."""

    def read(self, path: Path) -> tuple[Model, tuple[Fault, ...]]:
        """The model of a file on the undercarriage beside it, and notes as warnings."""
        model, notes = build_model(self.describe(path), beside(path))
        fix = f"noslip import {path.name} makes a model file to complete"
        return model, tuple(Fault(note, os.fspath(path), fix) for note in notes)


def import_robot(
    path: str | os.PathLike[str], undercarriage: Undercarriage | None = None
) -> ImportedModel:
    """The model of a robot description, and notes on what it does not carry.

    Parameters
    ----------
    path : path of a URDF, MJCF or VDA 5050 file, or of a Denavit–Hartenberg table.
    undercarriage : wheels and drives; by default those of the file ``NAME.rolling.toml`` beside it,
        or of the file itself, or else the robot is fixed to the world.

    Raises
    ------
    ModelError : with all faults of the file, each with its line.
    """
    format = format_of(AbstractModelFormat, path, "read")
    if not isinstance(format, AbstractRobotFormat):
        suffixes = [
            suffix
            for member in members_of(AbstractModelFormat)
            if issubclass(member, AbstractRobotFormat)
            for suffix in member.suffixes
        ]
        raise ModelError(
            f"a file of {format.name} is a model already",
            os.fspath(path),
            f"load it directly, or give a file that ends in {' or '.join(suffixes)}",
        )
    used = undercarriage if undercarriage is not None else beside(Path(path))
    return build_model(format.describe(Path(path)), used)


#: Bytes of a mesh file, and triangles in it.
MAX_MESH_BYTES, MAX_TRIANGLES = 100_000_000, 2_000_000
#: Cells along the longest edge of a mesh, at first, and triangles that are kept of it.
CELLS, KEPT = 24, 300
#: Folders above a description in which its package is looked for.
ABOVE = 4

Faces = NDArray[np.int64]
Mesh = tuple[Array, Faces]


def mesh_path(name: str, description: Path) -> Path:
    """The file that a description means by the name of a mesh.

    Raises
    ------
    ModelError : it is not there, or outside of the description's folder and package.
    """
    folder = absolute(description).parent
    around = [folder, *folder.parents][: ABOVE + 1]
    package = next((place for place in around if os.path.isfile(place / "package.xml")), folder)
    # some write a third slash
    found = re.fullmatch(r"(package|model):///?([^/]+)/(.+)", name, flags=re.DOTALL)
    if found is not None:
        roots = [place for place in around if place.name == found[2]]
        roots += [place / found[2] for place in around if _is_package(place, found[2], package)]
        candidates = [(root, root / found[3]) for root in roots]
        if not roots:
            raise _refusal(name, description, f"there is no package '{found[2]:.60}' around it")
    else:
        plain = name.removeprefix("file://")
        if "://" in plain:
            raise _refusal(name, description, "it is an address, and none is followed")
        candidates = [(package, folder / plain)]
    for root, path in candidates:
        if "\0" in str(path):
            continue
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(os.path.realpath(root)):
            raise _refusal(name, description, "it is outside of the folder of the description")
        if os.path.isfile(real):  # Path.is_file fails at names that are too long
            return real
    raise _refusal(name, description, "there is no such file")


def _is_package(place: Path, name: str, package: Path) -> bool:
    """Whether a folder is a package beside or around a description, or lies within its own.

    One that is neither is some folder of the computer that has the name by chance, or by intent.
    """
    found = place / name
    if name in (".", "..") or "\0" in name or not os.path.isdir(found):
        return False
    # a link out of the place is none of its folders
    if not Path(os.path.realpath(found)).is_relative_to(place):
        return False
    is_marked = any(os.path.isfile(found / mark) for mark in ("package.xml", "model.config"))
    return is_marked or place.is_relative_to(package)


def _refusal(name: str, description: Path, why: str) -> ModelError:
    return ModelError(
        f"mesh '{name[:80]}' is not drawn: {why}",
        str(description),
        "put the mesh into the folder of the description or its package",
    )


def facets_of(name: str, description: Path, scale: tuple[float, ...]) -> Facets:
    """A mesh of a description as a shape, coarsened.

    Raises
    ------
    ModelError : it is not there, cannot be read, or is empty.
    """
    path = mesh_path(name, description)
    readers = {".stl": _stl, ".obj": _obj, ".dae": _dae}
    if path.suffix.lower() not in readers:
        raise _refusal(name, description, f"'{path.suffix}' is not read, .stl, .obj and .dae are")
    try:
        # numbers that are too large become infinite or none, and are refused below
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            points, faces = readers[path.suffix.lower()](path)
            points = points * np.array(scale)
        if not faces.size or not np.all(np.abs(points) <= LARGEST):
            raise _refusal(name, description, "it has no triangles, or no finite ones")
        if np.prod(scale) < 0:
            faces = faces[:, ::-1]
        points, faces = coarsened(points, faces)
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise _refusal(name, description, f"it cannot be read: {error}"[:200]) from None
    digits = [float(f"{value:.4g}") for value in points.ravel()]
    return Facets(points=tuple(digits), faces=tuple(map(float, faces.ravel().tolist())))


def coarsened(points: Array, faces: Faces) -> Mesh:
    """At most `KEPT` triangles of the same outline."""
    cells = CELLS
    while True:
        size = float(np.max(np.ptp(points, axis=0))) or 1.0
        places = np.floor((points - points.min(axis=0)) / (size / cells * (1 + 1e-9)))
        _, which = np.unique(places, axis=0, return_inverse=True)
        which = which.ravel()
        count = np.bincount(which)
        means = np.column_stack([np.bincount(which, points[:, k]) / count for k in range(3)])
        merged = which[faces]
        a, b, c = merged.T
        merged = merged[(a != b) & (b != c) & (a != c)]
        # the same corners in the same sense, whichever comes first
        first = np.argmin(merged, axis=1)[:, None]
        turned = np.take_along_axis(merged, (first + np.arange(3)) % 3, axis=1)
        merged = np.unique(turned, axis=0)
        if len(merged) <= KEPT or cells <= 2:
            used, again = np.unique(merged, return_inverse=True)
            if not len(merged):
                raise ValueError("all its triangles are a single point")
            return means[used], again.reshape(-1, 3).astype(np.int64)
        cells = max(2, int(cells * math.sqrt(KEPT / len(merged))))


def _bytes(path: Path) -> bytes:
    return read_bytes(path, ModelError, "give a smaller mesh", max_bytes=MAX_MESH_BYTES)


def _soup(corners: Array) -> Mesh:
    if len(corners) > 3 * MAX_TRIANGLES:
        raise ValueError(f"it has more than {MAX_TRIANGLES} triangles")
    points, which = np.unique(corners, axis=0, return_inverse=True)
    return points, which.reshape(-1, 3).astype(np.int64)


def _stl(path: Path) -> Mesh:
    """STL, binary (80 bytes, a count, 50 bytes a triangle) or text (lines ``vertex x y z``)."""
    data = _bytes(path)
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        kind = np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("about", "<u2")])
        table = np.frombuffer(data, dtype=kind, offset=84)
        corners = table["corners"].reshape(-1, 3)
        if not np.isfinite(corners).all():
            raise ValueError("a corner is not a finite number")
        return _soup(corners.astype(float))
    found = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data)
    if not found or len(found) % 3:
        raise ValueError("it is neither binary nor text STL")
    corners = np.array(found, dtype="S32").astype(float)
    if not np.isfinite(corners).all():
        raise ValueError("a corner is not a finite number")
    return _soup(corners)


def _obj(path: Path) -> Mesh:
    """Wavefront OBJ: lines ``v x y z`` and ``f a b c …``, polygons as fans."""
    points: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in _bytes(path).decode("utf-8", "replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            at = [int(word.partition("/")[0]) for word in words[1:]]
            at = [k - 1 if k > 0 else len(points) + k for k in at]
            faces += [(at[0], at[k], at[k + 1]) for k in range(1, len(at) - 1)]
        if len(faces) > MAX_TRIANGLES:
            raise ValueError(f"it has more than {MAX_TRIANGLES} triangles")
    return _checked(np.array(points, dtype=float).reshape(-1, 3), np.array(faces, dtype=np.int64))


def _checked(points: Array, faces: Faces) -> Mesh:
    faces = faces.reshape(-1, 3)
    if faces.size and not (0 <= faces.min() and faces.max() < len(points)):
        raise ValueError("a face refers to a missing vertex")
    return points, faces


def _dae(path: Path) -> Mesh:
    """Collada: triangles and polygons of all geometries, where its scene places them."""
    text = read_text(path, ModelError, "give a mesh", max_bytes=MAX_MESH_BYTES)
    root = parse_xml(text, str(path))
    meshes = {
        geometry.attributes.get("id", ""): _collada_mesh(mesh)
        for library in root.all("library_geometries")
        for geometry in library.all("geometry")
        for mesh in geometry.all("mesh")
    }
    placed: list[tuple[Mesh, Array]] = []
    for library in root.all("library_visual_scenes"):
        for scene in library.all("visual_scene"):
            _place_nodes(scene, np.eye(4), meshes, placed)
    placed = placed or [(mesh, np.eye(4)) for mesh in meshes.values()]
    points, faces, count = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0
    for (own, triangles), T in placed:
        points.append(own @ T[:3, :3].T + T[:3, 3])
        faces.append(triangles + count)
        count += len(own)
    asset = root.first("asset")
    unit = asset.first("unit") if asset is not None else None
    axis = asset.first("up_axis") if asset is not None else None
    meter = float(unit.attributes.get("meter", "1")) if unit is not None else 1.0
    up = axis.text.strip() if axis is not None else "Y_UP"
    turn = {"X_UP": [[0, -1, 0], [0, 0, -1], [1, 0, 0]], "Z_UP": np.eye(3)}
    R = np.array(turn.get(up, [[1, 0, 0], [0, 0, -1], [0, 1, 0]]), dtype=float)
    return _checked(meter * np.concatenate(points) @ R.T, np.concatenate(faces))


def _place_nodes(
    node: XmlElement, T: Array, meshes: dict[str, Mesh], placed: list[tuple[Mesh, Array]]
) -> None:
    for child in node.children:
        is_moving = child.tag in ("matrix", "translate", "scale", "rotate")
        values = np.array(child.text.split() if is_moving else [], dtype=float)
        if child.tag == "matrix":
            T = T @ values.reshape(4, 4)
        elif child.tag == "translate":
            T = T @ np.block([[np.eye(3), values[:3, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
        elif child.tag == "scale":
            T = T @ np.diag([*values[:3], 1.0])
        elif child.tag == "rotate":
            T = T @ _turn(values)
        elif child.tag == "node":
            _place_nodes(child, T, meshes, placed)
        elif child.tag == "instance_geometry":
            name = child.attributes.get("url", "").removeprefix("#")
            if name in meshes:
                placed.append((meshes[name], T))


def _turn(values: Array) -> Array:
    T = np.eye(4)
    T[:3, :3] = rotation_about(values[:3] / np.linalg.norm(values[:3]), math.radians(values[3]))
    return T


def _collada_mesh(mesh: XmlElement) -> Mesh:
    arrays = {
        source.attributes.get("id", ""): np.array(values.text.split(), dtype=float)
        for source in mesh.all("source")
        for values in source.all("float_array")
    }
    vertices = {
        v.attributes.get("id", ""): held.attributes.get("source", "").removeprefix("#")
        for v in mesh.all("vertices")
        for held in v.all("input")
        if held.attributes.get("semantic") == "POSITION"
    }
    points, faces = np.zeros((0, 3)), [np.zeros((0, 3), dtype=np.int64)]
    for part in mesh.all("triangles", "polylist", "polygons"):
        inputs = list(part.all("input"))
        stride = 1 + max(int(i.attributes.get("offset", "0")) for i in inputs)
        own = next(i for i in inputs if i.attributes.get("semantic") == "VERTEX")
        at = int(own.attributes.get("offset", "0"))
        points = arrays[vertices[own.attributes.get("source", "").removeprefix("#")]].reshape(-1, 3)
        lists = [np.array(p.text.split(), dtype=np.int64)[at::stride] for p in part.all("p")]
        if part.tag == "triangles":
            counts = [3] * (sum(map(len, lists)) // 3)
        elif part.tag == "polygons":
            counts = [len(p) for p in lists]
        else:
            held = part.first("vcount")
            counts = [int(word) for word in held.text.split()] if held is not None else []
        corners, start = np.concatenate([*lists, np.zeros(0, dtype=np.int64)]), 0
        if set(counts) == {3}:
            faces.append(corners[: 3 * len(counts)].reshape(-1, 3))
            continue
        for count in counts[:MAX_TRIANGLES]:
            c = corners[start : start + count]
            fan = [(c[0], c[k], c[k + 1]) for k in range(1, count - 1)]
            faces.append(np.array(fan, dtype=np.int64).reshape(-1, 3))
            start += count
    return _checked(points, np.concatenate(faces))


def drawn(name: str, description: Path, scale: tuple[float, ...]) -> Facets | str:
    """The shape of a mesh, or the reason that it is not drawn."""
    try:
        return facets_of(name, description, scale)
    except NoslipError as error:
        return str(error).partition("\n")[0]
