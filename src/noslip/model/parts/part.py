"""The family of parts: wheels, casters, hitches and so on, which expand to plain model data.

A part is one table of a model file, or one call of `ModelBuilder.part`. It adds bodies, joints,
contacts, forces, inputs and shapes; what it has added is all that the rest of the package sees, and
`noslip expand` prints it. To add a part, here or in a module of your own, write a frozen data class
below `AbstractPart`; nothing else is touched:

1. `word`, by which model files know it; its fields are the keys of its table, `name` among them,
   and their types say units, signs and what they are names of (`quantities.py`);
2. `expand(b)`: adds what it stands for to a `ModelBuilder`, in the words of that class; a part may
   add others by `b.part`. Texts and numbers are combined by :func:`formula`.

What is below "fallbacks" in the base class has a general answer.

Axes are those of REP-103: x forward, y to the left, z up. A wheel turns positive when it rolls
forward. What a part adds carries its name: the spin of wheel ``left`` is the joint ``left``, with
``left.angle`` and ``left.rate``; whatever else it has is below that, as ``caster.swivel.rate`` or
the input ``left.torque``.

**Colors and shapes that parts and library models share, for drawing only.**

**PartExpansion of parts to plain model data, and checks in the words of the parts.**

Fields of parts are checked like those of any element. Faults of what a part has expanded to are
told of the part; where a part has a fault of its own, nothing is said of its elements.
"""

from __future__ import annotations

import abc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from math import pi
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from noslip.base import Array, Fault, Member, ModelError
from noslip.expressions import Scalar, nominal
from noslip.model.bodies import AbstractShape, Box, Cylinder, Placement
from noslip.model.checks import check_identifier, check_kinds, check_references, find_faults
from noslip.model.expression_checks import (
    Fields,
    check_expressions,
    check_numbers,
    check_units,
    vocabulary,
)
from noslip.model.findings import Finding, field, owner
from noslip.model.joints import Fixed, expand
from noslip.model.model import Model, ModelBuilder, PartExpansion, PartSign, rest_poses
from noslip.model.quantities import (
    NOT_NEGATIVE,
    POSITIVE,
    BodyName,
    Meaning,
    NumberReader,
    Vector3,
    rotation_about,
)
from noslip.model.schema import leaves

if TYPE_CHECKING:
    from noslip.model.model import Model, ModelBuilder


Mass = Annotated[Scalar, Meaning(unit="kg", sign=POSITIVE)]
NotNegativeMass = Annotated[Scalar, Meaning(unit="kg", sign=NOT_NEGATIVE)]
Angle = Annotated[Scalar, Meaning(unit="rad")]
#: Edge lengths along x, y and z.
Size = Annotated[Vector3, Meaning(unit="m", sign=POSITIVE)]
Damping = Annotated[Scalar, Meaning(unit="N*m*s/rad", sign=NOT_NEGATIVE)]

#: Axes of REP-103.
X: Vector3 = (1.0, 0.0, 0.0)
Y: Vector3 = (0.0, 1.0, 0.0)
Z: Vector3 = (0.0, 0.0, 1.0)

_NAME = re.compile(r"[A-Za-z_]\w*(?!\w*\s*\()", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z_]\w*|\d+(\.\d+)?(\[[^\]]*\])?", re.ASCII)

#: Units of letters in formulas, lengths apart; angles and shares have none.
UNITS = {"m": "kg", "M": "kg", "n": "", "s": "", "f": "N", "k": "N/m"}


class WheelOutline(NamedTuple):
    """Outline of a part's wheel: a cylinder on a body."""

    name: str  #: name of the wheel
    body: BodyName  #: body that it sits on, which does not spin with it
    position: Vector3  #: position of its center, in the frame of that body, m
    heading: Scalar  #: heading of the wheel about z of that body, rad
    #: radius, width: m
    radius: Scalar
    width: Scalar
    #: whether its axle is fixed to the body and the wheel does not slip sideways
    is_held: bool = False


class AbstractPart(Member, abc.ABC, family="part"):
    """A part of a vehicle or an arm; see the list at the top of this file."""

    __slots__ = ()

    name: str

    @abc.abstractmethod
    def expand(self, b: ModelBuilder) -> None:
        """Add what it stands for to a model."""

    # fallbacks

    def outlines(self) -> tuple[WheelOutline, ...]:
        """Its wheels, which must touch the ground and not each other."""
        return ()

    def faults(self, model: Model, read: NumberReader) -> Iterator[Finding]:
        """Findings about it in its own words, with ``("parts", self.name)`` as their path.

        Parameters
        ----------
        model : the expanded model, with numbers that can be read.
        read : function that returns the nominal numbers of fields.
        """
        return iter(())


def formula(template: str, **scalars: Scalar) -> Scalar:
    """A formula with scalars in the place of its names: a number, or the text of an expression.

    ``formula("m*r^2/2", m="m_wheel", r=0.1)`` is ``"m_wheel*0.1[m]^2/2"``: numbers in a text have
    their units, lengths unless `UNITS` has their letter.
    """
    if not any(isinstance(scalar, str) for scalar in scalars.values()):
        value = nominal(template, {name: float(value) for name, value in scalars.items()})
        # a last digit that rounding made is not shown in files
        return float(f"{value:.15g}")
    return _NAME.sub(lambda m: _text(m[0], scalars[m[0]]) if m[0] in scalars else m[0], template)


def _text(letter: str, scalar: Scalar) -> str:
    unit = UNITS.get(letter, "m")
    number = not isinstance(scalar, str)
    text = repr(float(scalar)) + (f"[{unit}]" if unit else "") if number else str(scalar)
    return text if _PLAIN.fullmatch(text) else f"({text})"


def shifted(point: Vector3, dx: Scalar = 0.0, dy: Scalar = 0.0, dz: Scalar = 0.0) -> Vector3:
    """A point moved along the axes."""
    x, y, z = (_sum(a, b) for a, b in zip(point, (dx, dy, dz), strict=True))
    return x, y, z


def _sum(a: Scalar, b: Scalar) -> Scalar:
    return a if b == 0.0 else b if a == 0.0 else formula("a + b", a=a, b=b)


def minus(scalar: Scalar) -> Scalar:
    """The negative of a scalar."""
    return formula("-a", a=scalar) if isinstance(scalar, str) else 0.0 - scalar


def box_inertia(mass: Scalar, size: Vector3) -> tuple[Scalar, ...]:
    """Principal moments of a uniform box about its center."""
    x, y, z = size
    return tuple(formula("m*(a^2 + b^2)/12", m=mass, a=a, b=b) for a, b in ((y, z), (x, z), (x, y)))


def wheel_inertia(mass: Scalar, radius: Scalar, width: Scalar) -> tuple[Scalar, ...]:
    """Principal moments of a uniform cylinder with its axis along y."""
    across = formula("m*(3*r^2 + w^2)/12", m=mass, r=radius, w=width)
    return across, formula("m*r^2/2", m=mass, r=radius), across


def fix(b: ModelBuilder, name: str, parent: str, frame: Placement) -> None:
    """Fix a body to its parent, by a joint with the body's name."""
    b.joint(
        name,
        Fixed(),
        parent=parent,
        child=name,
        parent_frame=frame,
        description=f"'{name}' is fixed to '{parent}'",
    )


BLUE, TEAL, RED, ORANGE = "#4c78a8", "#72b7b2", "#e45756", "#f58518"
DARK, METAL, LIGHT, GLASS = "#2f3237", "#a3a9b2", "#d5d9df", "#9ecae9"


def wheel_shapes(
    radius: Scalar, width: Scalar, axis: str, aside: Scalar = 0.0
) -> tuple[AbstractShape, ...]:
    """A wheel about its body's origin: tire, rim, hub, and a mark that shows how it turns.

    Parameters
    ----------
    radius, width : m.
    axis : ``x``, ``y`` or ``z`` of the body.
    aside : aside of its middle, along the axis, m.
    """
    k = "xyz".index(axis)
    across = (k + 1) % 3
    middle: list[Scalar] = [0.0, 0.0, 0.0]
    middle[k] = aside
    along = list(middle)
    along[across] = _times(0.45, radius)
    size: list[Scalar] = [_times(0.14, radius)] * 3
    size[k], size[across] = _times(1.1, width), _times(0.8, radius)
    turned = Placement(position=_three(middle), angles=_ANGLES[axis])

    def ring(reach: float, wide: float, color: str) -> Cylinder:
        r, w = _times(reach, radius), _times(wide, width)
        return Cylinder(radius=r, length=w, frame=turned, color=color)

    return (
        Cylinder(radius=radius, length=width, frame=turned, color=DARK),
        ring(0.62, 1.05, LIGHT),
        ring(0.16, 1.25, METAL),
        Box(size=_three(size), frame=Placement(position=_three(along)), color=ORANGE),
    )


def _times(factor: float, scalar: Scalar) -> Scalar:
    return formula(f"{factor}*a", a=scalar)


def box(size: Vector3, position: Vector3, color: str) -> Box:
    """A box about a position of the body frame, its edges along the body axes."""
    return Box(size=size, frame=Placement(position=position), color=color)


def axle(length: Scalar, radius: Scalar, height: Scalar, at: Scalar = 0.0) -> Cylinder:
    """A bar along y, `at` a distance ahead of the body's origin and at a height above it."""
    return Cylinder(
        radius=radius,
        length=length,
        frame=Placement(position=(at, 0.0, height), angles=_ANGLES["y"]),
        color=METAL,
    )


_ANGLES: dict[str, Vector3] = {
    "x": (0.0, pi / 2, 0.0),
    "y": (pi / 2, 0.0, 0.0),
    "z": (0.0, 0.0, 0.0),
}


def _three(entries: list[Scalar]) -> Vector3:
    x, y, z = entries
    return x, y, z


#: How far a wheel may be from the ground, relative to its radius.
TOUCHING = 1e-6


def checked(builder: ModelBuilder) -> tuple[Model, tuple[Fault, ...]]:
    """The expanded model of a builder, and warnings about it.

    Raises
    ------
    ModelError : with all faults of the model, each as what / where / fix.
    """
    model, findings = expanded(builder)
    faults = [finding.fault() for finding in findings if not finding.warning]
    if faults:
        # shapes come last: a negative radius is reported of the wheel, then of its shape
        raise ModelError.from_faults(sorted(faults, key=lambda fault: ".shapes[" in fault.where))
    return model, tuple(finding.fault() for finding in findings)


@np.errstate(all="ignore")  # numbers without a meaning are findings, not warnings of NumPy
def expanded(builder: ModelBuilder) -> tuple[Model, list[Finding]]:
    """The expanded model of a builder, and everything that is found about it."""
    parts = builder.parts
    plain = builder.plain()
    fields = tuple(field for part in parts for field in leaves(part, ("parts", part.name)))
    findings = [*check_kinds((*leaves(plain), *fields)), *_name_faults(parts)]
    if findings:
        return plain, findings
    if not parts:
        joints = expand(plain)
        return joints.model, find_faults(joints.model, joints)
    findings += check_numbers(plain, vocabulary(plain, fields))
    bare = Model(name=plain.name, gravity=plain.gravity)
    try:
        expansion = builder.expand()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # a part that computes with a field that has no value
        findings += check_expressions(bare, vocabulary(plain, fields))
        if not findings:
            raise
        return plain, findings
    joints = expand(expansion.model)
    model = joints.model
    expansion = expansion._replace(model=model)
    known = vocabulary(model, fields)
    # only the fields of the parts are looked at, with the names of everything
    findings += check_references(bare, known)
    findings += check_expressions(bare, known)
    findings += check_units(model, known)
    of_elements = find_faults(model, joints)
    if not findings and not any(f.path[0] == "parameters" for f in of_elements if f.path):
        findings += _geometry_faults(expansion)
    # told of the parts' own fields so far; what is given in place of them is checked by this
    model = replace(model, part_signs=(*model.part_signs, *_signs(fields)))
    return model, [*findings, *_retold(of_elements, findings, expansion)]


def _signs(fields: Fields) -> Iterator[PartSign]:
    """What the fields of parts ask of values that depend on parameters."""
    for path, key, _, value in fields:
        texts = tuple(
            v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, str)
        )
        if key.meaning.sign and texts:
            yield PartSign(
                part=str(path[1]), field=field(path), values=texts, sign=key.meaning.sign
            )


def _name_faults(parts: tuple[AbstractPart, ...]) -> Iterator[Finding]:
    for part in parts:
        path = ("parts", part.name)
        yield from check_identifier(path, part.name, owner(path), is_dotted=True)
    for name, count in Counter(part.name for part in parts).items():
        if count > 1:
            yield Finding(
                ("parts", name),
                f"{count} parts are called '{name}'",
                "give each part its own name",
            )


def _retold(
    of_elements: Iterable[Finding], of_parts: list[Finding], expansion: PartExpansion
) -> Iterator[Finding]:
    """Findings about elements; those that a part added are reported for the part, once each."""
    at_fault = {f.path[1] for f in of_parts if len(f.path) > 1}
    told = set[tuple[str, str]]()
    for finding in of_elements:
        kind, name = (*map(str, finding.path[:2]), "", "")[:2]
        origin = expansion.origins.get((kind, name))
        if origin is None:
            yield finding
        elif not finding.warning and origin.name not in at_fault:
            element = f"{kind.removesuffix('s')} '{name}'"
            shared = tuple(word for word in finding.path[2:] if hasattr(origin, str(word)))
            if shared and name == origin.name and finding.what.startswith(element):
                # the part has this field too: it is told as the part's
                word = f"{origin.word.replace('_', ' ')} '{name}'"
                what = word + finding.what.removeprefix(element)
            else:
                what = f"part '{origin.name}' is at fault: {finding.what}"
            if (origin.name, what) not in told:
                told.add((origin.name, what))
                yield Finding(("parts", origin.name, *shared), what, finding.fix)


def _geometry_faults(expansion: PartExpansion) -> Iterator[Finding]:
    """Faults that parts report, wheels that miss the ground, and wheels that overlap."""
    read = NumberReader(expansion.model.parameter_values())
    for given, part in expansion.placed:
        for finding in part.faults(expansion.model, read):
            yield Finding(("parts", given.name, *finding.path[2:]), finding.what, finding.fix)
    poses = rest_poses(expansion.model, read)
    wheels = [
        (given, outline, _cylinder(outline, poses, read))
        for given, part in expansion.placed
        for outline in part.outlines()
        if outline.body in poses
    ]
    in_plane = ModelBuilder.from_model(expansion.model).keeps_height
    for given, outline, (center, _, radius, _) in wheels:
        gap = center[2] - radius
        if in_plane(outline.body) and abs(gap) > TOUCHING * radius:
            how = f"hangs {gap:.3g} m above" if gap > 0 else f"sinks {-gap:.3g} m into"
            z = read.scalar(outline.position[2])
            yield Finding(
                ("parts", given.name),
                f"wheel '{outline.name}' {how} the ground",
                f"give its center the height of its radius, position z = {z - gap:.6g} on "
                f"'{outline.body}'",
            )
    yield from _turning_faults([(given, outline) for given, outline, _ in wheels], read)
    for (given, one, a), (_, other, b) in combinations(wheels, 2):
        if one.name != other.name and _overlap(a, b):
            yield Finding(
                ("parts", given.name),
                f"wheels '{one.name}' and '{other.name}' overlap",
                "move them apart, or make them smaller",
            )


def _turning_faults(
    wheels: list[tuple[AbstractPart, WheelOutline]], read: NumberReader
) -> Iterator[Finding]:
    """Axles that are fixed to one body and have no center of rotation in common.

    A wheel with the heading h through c lets its body turn about points p with h·(p − c) = 0.
    """
    bodies: dict[str, list[tuple[AbstractPart, WheelOutline]]] = {}
    for given, outline in wheels:
        if outline.is_held:
            bodies.setdefault(outline.body, []).append((given, outline))
    for body, held in bodies.items():
        turns = np.array([read.scalar(outline.heading) for _, outline in held])
        centers = np.array([read.vector(outline.position)[:2] for _, outline in held])
        headings = np.column_stack([np.cos(turns), np.sin(turns)])
        reach = np.sum(headings * centers, axis=1)
        point = np.linalg.lstsq(headings, reach, rcond=None)[0]
        off = headings @ point - reach
        if np.max(np.abs(off)) > TOUCHING * max(1.0, float(np.max(np.abs(centers)))):
            names = [f"'{outline.name}'" for _, outline in held]
            given = held[int(np.argmax(np.abs(off)))][0]
            yield Finding(
                ("parts", given.name),
                f"wheels {', '.join(names[:-1])} and {names[-1]} of '{body}' cannot turn together: "
                "their axles have no common center of rotation",
                "put them on one line, steer one of them, or let it slip with lateral = false",
            )


#: Center, axis, radius and width.
_Cylinder = tuple[Array, Array, float, float]


def _cylinder(
    outline: WheelOutline, poses: dict[str, tuple[Array, Array]], read: NumberReader
) -> _Cylinder:
    R, p = poses[outline.body]
    turned = R @ rotation_about(np.array([0.0, 0.0, 1.0]), read.scalar(outline.heading))
    center = p + R @ read.vector(outline.position)
    return center, turned[:, 1], read.scalar(outline.radius), read.scalar(outline.width)


def _overlap(a: _Cylinder, b: _Cylinder) -> bool:
    """Whether two wheels with parallel axes overlap; wheels with other axes are not checked."""
    between = b[0] - a[0]
    along = abs(float(between @ a[1]))
    across = float(np.linalg.norm(between - (between @ a[1]) * a[1]))
    parallel = bool(np.linalg.norm(np.cross(a[1], b[1])) < 1e-9)
    near = 1 - 1e-9
    return parallel and along < near * (a[3] + b[3]) / 2 and across < near * (a[2] + b[2])
