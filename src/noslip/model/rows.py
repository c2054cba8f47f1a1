"""General constraint rows given as expressions.

A row says which speeds or coordinates it ties, not on which bodies and where its force acts.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from noslip.families import Member
from noslip.model.definitions import MOVING
from noslip.model.dependence import Dependence
from noslip.model.expressions import Expression
from noslip.model.findings import Finding, Path, owner
from noslip.model.quantities import Meaning, Reads
from noslip.spatial import Traced

if TYPE_CHECKING:
    from noslip.model.forces import Loads
    from noslip.model.vocabulary import Vocabulary


class JointAxis(NamedTuple):
    """Axis of a joint in the world: the body it carries, a point, and a unit vector, traced."""

    body: str
    point: Traced
    direction: Traced


class RowWrench(NamedTuple):
    """What a row does to a body: a force at a point and a moment, in world axes, traced."""

    body: str
    point: Traced
    force: Traced
    moment: Traced


#: The axis of the joint that a coordinate belongs to, by its name.
AxisOf = Callable[[str], JointAxis]


class AbstractRow(Member, abc.ABC, family="row type"):
    """Base class of constraint rows: an expression that every motion keeps at zero."""

    __slots__ = ()

    name: str
    expression: str
    unit: str

    #: Whether the expression is g(q, t), whose rate is the row, or the row itself.
    is_holonomic: ClassVar[bool]

    @abc.abstractmethod
    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        """Findings about the expression, which can be read and has a value."""

    # fallbacks

    def apply(self, loads: Loads) -> None:
        """Apply what it loses, if anything."""

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        """Findings about its fields together."""
        return iter(())

    #: Whether `wrenches` says on which bodies and where its force acts.
    says_where: ClassVar[bool] = False

    def wrenches(self, axis: AxisOf, read: Reads) -> list[RowWrench]:
        """On which bodies and where it acts, for a multiplier of one."""
        return []

    def pitch_circles(self) -> tuple[tuple[str, str], ...]:
        """Circles to draw: angles of joints, and radii about their axes as text."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VelocityRow(AbstractRow):
    """A row A(q) v + a(q, t) = 0, given as an expression that is linear in the speeds.

    Parameters
    ----------
    name : unique among rows.
    expression : of parameters, coordinates, speeds, measures and time ``t``; it is kept at zero.
    unit : of the expression; the multiplier's unit is W over it (m/s → N).
    """

    name: str
    expression: Annotated[str, Meaning(scope=MOVING)]
    unit: str = "m/s"

    word = "velocity"
    is_holonomic = False

    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        return speed_faults(path, tree, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionRow(AbstractRow):
    """A row g(q, t) = 0, an expression of parameters, coordinates, measures and time ``t``."""

    name: str
    expression: Annotated[str, Meaning(scope=("coordinates", "angles", "definitions", "t"))]
    unit: str = "m"

    word = "position"
    is_holonomic = True

    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        if known.order(tree) > 0:
            yield Finding(
                path,
                f"{owner(path)} has an expression of speeds, but is a row on positions",
                'leave the speeds out, or write type = "velocity"',
            )
        elif not known.depends_on_motion(tree):
            yield Finding(
                path,
                f"{owner(path)} has an expression with no coordinate in it, so it constrains "
                "nothing",
                f"use a coordinate, {_one_of(known.coordinates)}",
            )


def speed_faults(path: Path, tree: Expression, known: Vocabulary) -> Iterator[Finding]:
    """An expression that must be linear in the speeds and hold at least one."""
    said = f"{owner(path)} has an expression"
    if known.order(tree) > 1:
        yield Finding(
            path,
            f"{said} of accelerations",
            "write it in positions and speeds; rate(…) takes what positions determine",
        )
        return
    how = known.dependence_on_speeds(tree)
    if how is Dependence.CONSTANT:
        yield Finding(
            path,
            f"{said} with no speed in it",
            f"use a speed, {_one_of(known.speeds)}; a condition on coordinates alone is a row "
            'of type = "position"',
        )
    if how is Dependence.NONLINEAR:
        yield Finding(
            path,
            f"{said} that is not linear in the speeds",
            "write a sum of terms that each have one speed as a factor; factors may depend on "
            "coordinates, never on speeds",
        )


def _one_of(names: tuple[str, ...]) -> str:
    return f"for example '{names[0]}'" if names else "of which this model has none"
