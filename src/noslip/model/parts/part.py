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
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

from noslip.base import Member
from noslip.expressions import Scalar, nominal
from noslip.model.bodies import Placement
from noslip.model.findings import Finding
from noslip.model.joints import Fixed
from noslip.model.number_reader import NumberReader
from noslip.model.quantities import NOT_NEGATIVE, POSITIVE, BodyName, Meaning, Vector3

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
