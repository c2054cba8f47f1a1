"""The family of parts: wheels, casters, hitches and so on, which expand to plain model data.

**The family of parts: wheels, casters, hitches and so on, which expand to plain model data.**

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
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterator
from math import pi
from typing import TYPE_CHECKING, Annotated, NamedTuple

from noslip.base import Member
from noslip.expressions import Scalar, nominal
from noslip.model.bodies import AbstractShape, Box, Cylinder, Placement
from noslip.model.findings import Finding
from noslip.model.joints import Fixed
from noslip.model.quantities import NOT_NEGATIVE, POSITIVE, BodyName, Meaning, NumberReader, Vector3

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
    """Outline of a part's wheel: a cylinder on a body.

    Parameters
    ----------
    name : of the wheel.
    body : that it sits on, which does not spin with it.
    position : of its center, in the frame of that body, m.
    heading : of the wheel about z of that body, rad.
    radius, width : m.
    is_held : whether its axle is fixed to the body and the wheel does not slip sideways.
    """

    name: str
    body: BodyName
    position: Vector3
    heading: Scalar
    radius: Scalar
    width: Scalar
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
        read : gives fields their nominal numbers.
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
    aside : of its middle, along the axis, m.
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
