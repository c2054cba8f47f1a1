"""Serial arms from Denavit–Hartenberg tables, and the part that is one.

**Serial arms from Denavit–Hartenberg tables, in the standard and the modified convention.**

A row has four numbers, of which the joint moves one: θ turns about z, d shifts along z, a shifts
along x and α turns about x. The two conventions put a link's frame at its two ends:

    (1)  standard    X_{i−1,i} = Rz(θ_i) Tz(d_i) Tx(a_i) Rx(α_i)                frame at the far end
    (2)  modified    X_{i−1,i} = Rx(α_{i−1}) Tx(a_{i−1}) Rz(θ_i) Tz(d_i)        frame at its joint

In (1) joint i turns about z of frame i−1 and row i describes link i; in (2) it turns about z of its
own frame i, and a, α of row i are those of the link before it, as in Craig's book. Mass center and
inertia are given in the link's frame, so they differ between the conventions.

**A serial arm as a part, from a Denavit–Hartenberg table.**
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Annotated

from noslip.base import ModelError, nearest
from noslip.expressions import Scalar
from noslip.model.bodies import WORLD, AbstractShape, Cylinder, Placement, Sphere
from noslip.model.findings import Finding
from noslip.model.forces import JointDamper, Motor
from noslip.model.joints import AbstractJointType, Prismatic, Revolute
from noslip.model.model import ModelBuilder
from noslip.model.parts.part import BLUE, DARK, METAL, ORANGE, AbstractPart, Mass, fix, formula
from noslip.model.quantities import (
    NOT_NEGATIVE,
    ZERO,
    BodyName,
    Meaning,
    NumberReader,
    Point,
    PositiveLength,
    Vector3,
)

if TYPE_CHECKING:
    from noslip.model.model import Model


CONVENTIONS = ("standard", "modified")
KINDS = ("revolute", "prismatic")

_Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """A row of the table: a joint and the link that it moves."""

    #: joint, link: names of the joint and of the body
    joint: str
    link: str
    #: mass, center_of_mass, inertia, moment: inertia of the link, in its frame, as in :class:`Body`
    mass: Scalar
    inertia: tuple[Scalar, ...] | None = None
    moment: Scalar | None = None
    center_of_mass: Vector3 = ZERO
    #: a, alpha, d, theta: m and rad. The joint's coordinate is added to `theta` of a revolute and
    #: to `d` of a prismatic joint.
    a: Scalar = 0.0
    alpha: Scalar = 0.0
    d: Scalar = 0.0
    theta: Scalar = 0.0
    kind: str = "revolute"  #: ``"revolute"`` or ``"prismatic"``
    shapes: tuple[AbstractShape, ...] = ()  #: shapes that are drawn, in its frame
    description: str = ""


def serial_arm(
    builder: ModelBuilder,
    rows: Iterable[LinkRow],
    *,
    convention: str = "standard",
    parent: str = WORLD,
) -> None:
    """Add the links and joints of a table to a model.

    Parameters
    ----------
    builder : the model that gets them.
    rows : links from the base to the tip.
    convention : ``"standard"`` (1) or ``"modified"`` (2).
    parent : the body whose frame is frame 0; to mount the arm elsewhere, fix a base there first.

    Raises
    ------
    ModelError : if there is no such convention or kind of joint.
    """
    where = f"serial arm of model '{builder.name}'"
    if convention not in CONVENTIONS:
        raise ModelError(
            f"there is no convention '{convention}' of Denavit–Hartenberg tables",
            where,
            nearest(convention, CONVENTIONS),
        )
    for k, row in enumerate(rows, 1):
        if row.kind not in KINDS:
            raise ModelError(
                f"joint '{row.joint}' is of kind '{row.kind}'", where, nearest(row.kind, KINDS)
            )
        builder.body(
            row.link,
            mass=row.mass,
            inertia=row.inertia,
            moment=row.moment,
            center_of_mass=row.center_of_mass,
            shapes=row.shapes,
        )
        before, after = _frames(row, convention)
        builder.joint(
            row.joint,
            _joint_type(row),
            parent=parent,
            child=row.link,
            parent_frame=before,
            child_frame=after,
            description=row.description,
            symbols={"angle" if row.kind == "revolute" else "position": f"q_{k}"},
        )
        parent = row.link


def _joint_type(row: LinkRow) -> AbstractJointType:
    return Revolute(axis=_Z) if row.kind == "revolute" else Prismatic(axis=_Z)


def _frames(row: LinkRow, convention: str) -> tuple[Placement, Placement]:
    """The joint's frames on the link before it and on its own link.

    What stands before the joint's motion in (1) or (2) places F on the parent, what stands after it
    places the link on M; the child's frame is the inverse of that.
    """
    if convention == "modified":
        # F: Rx(α) Tx(a);  M: (Rz(θ) Tz(d))⁻¹
        before = Placement(position=(row.a, 0.0, 0.0), angles=(row.alpha, 0.0, 0.0))
        after = Placement(position=(0.0, 0.0, _minus(row.d)), angles=(0.0, 0.0, _minus(row.theta)))
        return before, after
    # F is frame i−1;  M: (Rz(θ) Tz(d) Tx(a) Rx(α))⁻¹ = Rx(−α) Tx(−a) Tz(−d) Rz(−θ)
    across, along = _turned(row.d, row.alpha)
    after = Placement(
        position=(_minus(row.a), _minus(across), _minus(along)),
        angles=(_minus(row.alpha), 0.0, _minus(row.theta)),
    )
    return Placement(), after


def _minus(scalar: Scalar) -> Scalar:
    return f"-({scalar})" if isinstance(scalar, str) else 0.0 - scalar


def _turned(d: Scalar, alpha: Scalar) -> tuple[Scalar, Scalar]:
    """d sin α and d cos α: the shift along z, in axes turned by −α about x."""
    if isinstance(d, str) or isinstance(alpha, str):
        if d == 0.0:
            return 0.0, 0.0
        return f"({d})*sin({alpha})", f"({d})*cos({alpha})"
    return d * math.sin(alpha), d * math.cos(alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmLink:
    """A row of a Denavit–Hartenberg table, with the mass of its link."""

    mass: Mass  #: mass of the link, a rod of `radius` from frame to frame, kg
    #: a, alpha, d, theta: m and rad; the joint's coordinate is added to `theta` or `d`
    a: Annotated[Scalar, Meaning(unit="m")] = 0.0
    alpha: Annotated[Scalar, Meaning(unit="rad")] = 0.0
    d: Annotated[Scalar, Meaning(unit="m")] = 0.0
    theta: Annotated[Scalar, Meaning(unit="rad")] = 0.0
    kind: Annotated[str, Meaning(choices=KINDS)] = "revolute"  #: ``revolute`` or ``prismatic``
    radius: PositiveLength = 0.04  #: radius of the rod, m
    #: center_of_mass, inertia: center of mass and inertia in the link's frame; those of the rod by
    #: default
    center_of_mass: Point | None = None
    inertia: Annotated[tuple[Scalar, ...], Meaning(unit="kg*m^2")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm(AbstractPart):
    """A serial arm: joints ``NAME.joint1``, …, links ``NAME.link1``, …, on a pedestal ``NAME``."""

    name: str
    parent: BodyName  #: body that carries it, or ``world``
    links: tuple[ArmLink, ...]  #: rows of the table, from the pedestal to the tip
    mass: Mass  #: mass of the pedestal, kg
    #: position of frame 0 of the table, in the parent's frame, m; its z axis is that of the first
    #: joint
    position: Point = ZERO
    #: angles of frame 0 against the parent, about x, y and z, rad
    angles: Annotated[Vector3, Meaning(unit="rad")] = ZERO
    #: ``standard``, with a link's frame at its far end, or ``modified``, at its joint
    convention: Annotated[str, Meaning(choices=CONVENTIONS)] = "standard"
    #: damping of each joint, N·m·s/rad or N·s/m
    damping: Annotated[Scalar, Meaning(sign=NOT_NEGATIVE)] = 0.0
    #: whether each joint has a motor, with the inputs ``NAME.joint1.torque`` (``.force`` for a
    #: prismatic one) and so on
    is_driven: bool = True

    word = "arm"
    also_called = ("manipulator", "robot_arm")

    def expand(self, b: ModelBuilder) -> None:
        wide: Scalar = self.links[0].radius if self.links else 0.04
        foot = Cylinder(radius=formula("1.6*r", r=wide), length=wide, color=DARK)
        moment = formula("m*r^2", m=self.mass, r=formula("1.6*r", r=wide))
        b.body(self.name, mass=self.mass, inertia=(moment, moment, moment), shapes=(foot,))
        frame = Placement(position=self.position, angles=self.angles)
        fix(b, self.name, self.parent, frame)
        known = self.convention in CONVENTIONS and all(row.kind in KINDS for row in self.links)
        if not known:
            return
        rows = [self._row(k, link) for k, link in enumerate(self.links, 1)]
        serial_arm(b, rows, convention=self.convention, parent=self.name)
        for row in rows:
            turns = row.kind == "revolute"
            speed = f"{row.joint}.{'rate' if turns else 'speed'}"
            if self.is_driven:
                word, unit = ("torque", "N*m") if turns else ("force", "N")
                drive = b.input(f"{row.joint}.{word}", unit, f"motor of '{row.joint}'")
                b.force(Motor(name=row.joint, speed=speed, input=drive))
            if self.damping != 0.0:
                name = f"{row.joint}.damper"
                b.force(JointDamper(name=name, speed=speed, damping=self.damping))

    def _row(self, k: int, link: ArmLink) -> LinkRow:
        """A row for the table's function, its link a rod along x and one along z."""
        # the link of a standard row reaches back from its far end: −a along x, then −d along its
        # joint's axis; that of a modified row is at its joint, and its rod is drawn to the next
        after = self.links[k] if k < len(self.links) else ArmLink(mass=1.0, a=link.a)
        standard = self.convention == "standard"
        a = link.a if standard else after.a
        middle: Vector3 = (formula("-a/2", a=a) if standard else formula("a/2", a=a), 0.0, 0.0)
        r, m = link.radius, link.mass
        along = formula("m*r^2/2", m=m, r=r)
        across = formula("m*(3*r^2 + a^2)/12", m=m, r=r, a=a)
        return LinkRow(
            joint=f"{self.name}.joint{k}",
            link=f"{self.name}.link{k}",
            mass=m,
            center_of_mass=link.center_of_mass or middle,
            inertia=(along, across, across) if link.inertia is None else link.inertia,
            a=link.a,
            alpha=link.alpha,
            d=link.d,
            theta=link.theta,
            kind=link.kind,
            shapes=tuple(_rods(a, link, middle, is_standard=standard)),
            description=f"joint {k} of '{self.name}'",
        )

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        if not self.links:
            yield Finding(
                ("parts", self.name, "links"),
                f"arm '{self.name}' has no links",
                f"write [[parts.{self.name}.links]] before each row of its table",
            )


def _rods(
    a: Scalar, link: ArmLink, middle: Vector3, *, is_standard: bool
) -> Iterator[AbstractShape]:
    r = link.radius
    yield Sphere(radius=formula("1.15*r", r=r), color=ORANGE)
    if a != 0.0:
        yield Cylinder(
            radius=r,
            length=formula("abs(a)", a=a),
            frame=Placement(position=middle, angles=(0.0, pi / 2, 0.0)),
            color=BLUE,
        )
    if link.d != 0.0 and is_standard:
        # the joint's axis seen from the frame at the far end is turned by −α about x
        turn = {"a": a, "d": link.d, "n": link.alpha}
        y, z = formula("-d/2*sin(n)", **turn), formula("-d/2*cos(n)", **turn)
        yield Cylinder(
            radius=formula("1.05*r", r=r),
            length=formula("abs(d)", d=link.d),
            frame=Placement(
                position=(formula("-a", **turn), y, z), angles=(formula("-n", **turn), 0.0, 0.0)
            ),
            color=METAL,
        )
