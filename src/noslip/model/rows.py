"""General constraint rows given as expressions, and named definitions that expressions use.

**Dependence of an expression on some of its names, decided on its tree alone.**

A constraint row must be linear in the speeds, a given wrench in the inputs. The answer is
structural: ``x*y/y`` counts as nonlinear in y although it is not, and nothing is ever simplified.

**Named definitions: expressions that rows, speeds, forces and runs may use by name.**

Their order is free; none may use itself, directly or through others.

**General constraint rows given as expressions.**

An expression says which speeds or coordinates a row ties, not on which bodies and where its force
acts; `acts` of a row, a list of :class:`RowForce`, does.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, Protocol

import casadi as ca

from noslip.algebra import Traced
from noslip.base import Member
from noslip.expressions import (
    CONSTANTS,
    Expression,
    ExpressionError,
    Measure,
    Name,
    Number,
    fold,
    names_of,
)
from noslip.model.bodies import WORLD
from noslip.model.findings import Finding, Path, owner
from noslip.model.quantities import ZERO, BodyName, Meaning, Reads, Vector3

if TYPE_CHECKING:
    from noslip.model.expression_checks import Vocabulary
    from noslip.model.forces import Loads


class Dependence(IntEnum):
    """Dependence of an expression on chosen names, from none to nonlinear."""

    CONSTANT = 0
    LINEAR = 1
    AFFINE = 2
    NONLINEAR = 3


def dependence(
    expression: Expression,
    names: Mapping[str, Dependence],
    of_measure: Callable[[Measure], Dependence] = lambda _: Dependence.CONSTANT,
) -> Dependence:
    """Dependence of `expression` on `names`, everything else held constant.

    Parameters
    ----------
    expression : Expression
        A tree from :func:`noslip.expressions.arithmetic.parse`.
    names : mapping
        How the names that vary, such as the speeds, count by themselves; definitions may be
        nonlinear.
    of_measure : function
        How a measure of the motion depends on them, its arguments held constant.

    Returns
    -------
    Dependence
        LINEAR is a sum of terms that each hold one of the names once; AFFINE has a constant added.
    """

    def leaf(node: Number | Name) -> tuple[Dependence, float | None]:
        if isinstance(node, Number):
            return Dependence.CONSTANT, node.value
        return names.get(node.name, Dependence.CONSTANT), CONSTANTS.get(node.name)

    def measure(
        node: Measure, arguments: list[tuple[Dependence, float | None]]
    ) -> tuple[Dependence, float | None]:
        is_moved = any(kind is not Dependence.CONSTANT for kind, _ in arguments)
        return Dependence.NONLINEAR if is_moved else of_measure(node), None

    return fold(expression, leaf, _combine, measure)[0]


def _combine(
    function: str, arguments: list[tuple[Dependence, float | None]]
) -> tuple[Dependence, float | None]:
    """Dependence of a call, and its number if it is a literal one."""
    kinds = [kind for kind, _ in arguments]
    varying = [kind for kind in kinds if kind is not Dependence.CONSTANT]
    if not varying:
        return Dependence.CONSTANT, None
    match function:
        case "neg":
            return kinds[0], None
        case "+" | "-":
            mixed = len(varying) == 1 and arguments[kinds.index(Dependence.CONSTANT)][1] != 0.0
            return max(varying[0], varying[-1], Dependence.AFFINE if mixed else varying[0]), None
        case "*" if len(varying) == 1:
            return varying[0], None
        case "/" if kinds[1] is Dependence.CONSTANT:
            return kinds[0], None
        case "**" if kinds[1] is Dependence.CONSTANT and arguments[1][1] == 1.0:
            return kinds[0], None
        case _:
            return Dependence.NONLINEAR, None


#: What expressions of the motion may use besides parameters.
MOVING: tuple[str, ...] = ("coordinates", "speeds", "angles", "rates", "definitions", "t")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A named expression of parameters, coordinates, speeds, measures, time, other definitions."""

    name: str  #: name in expressions
    #: expression, kept as it is in files, equations and reports
    expression: Annotated[str, Meaning(scope=MOVING)]
    unit: str = ""  #: unit of its values; not checked where it is left out
    description: str = ""


def in_order(texts: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """Names of definitions, each after those it uses; and the circles, each once.

    Parameters
    ----------
    texts : expressions by name; one that cannot be read counts as using nothing.
    """
    uses = {name: sorted(_names(text) & set(texts)) for name, text in texts.items()}
    circles: list[list[str]] = []
    while True:
        try:
            return list(TopologicalSorter(uses).static_order()), circles
        except CycleError as error:
            # names in the direction of use, from the one that stands first
            circle = error.args[1][:0:-1]
            first = circle.index(min(circle, key=list(texts).index))
            circle = circle[first:] + circle[:first]
            circles.append(circle)
            uses[circle[-1]].remove(circle[0])


def _names(text: str) -> frozenset[str]:
    try:
        return names_of(text)
    except ExpressionError:
        return frozenset()


#: What expressions of positions may use besides parameters.
_PLACED = ("coordinates", "angles", "definitions", "t")


class JointAxis(NamedTuple):
    """Axis of a joint in the world: the body it carries, a point, and a unit vector, traced."""

    body: str
    point: Traced
    direction: Traced


class RowWrench(NamedTuple):
    """Wrench of a row on a body: a force at a point and a moment, in world axes, traced."""

    body: str
    point: Traced
    force: Traced
    moment: Traced


class Places(Protocol):
    """Poses of the bodies and joints of a mechanism, traced."""

    #: Gives fields their values; expressions may use coordinates, speeds and t.
    read: Reads

    def axis(self, coordinate: str) -> JointAxis:
        """The axis of the joint that a coordinate belongs to."""

    def frame(self, body: str) -> tuple[Traced, Traced]:
        """R_WB and p_WB of a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowForce:
    """Bodies on which the force of a row acts: one, and in reaction another.

    Entries are for a multiplier of one, so that the row is force · v + moment · ω, with v the
    velocity of `body` at the point and ω its angular velocity, both against `other_body`. They may
    be expressions of positions.
    """

    #: body, other_body: bodies between which it acts
    body: BodyName
    other_body: BodyName = WORLD
    #: body in whose frame point, force and moment are given; `body` if empty
    frame: Annotated[str, Meaning(names="body", is_optional=True)] = ""
    point: Annotated[Vector3, Meaning(unit="m", scope=_PLACED)] = ZERO  #: point of application, m
    #: force, moment: direction of the force, and the moment, for a multiplier of one
    force: Annotated[Vector3, Meaning(scope=_PLACED)] = ZERO
    moment: Annotated[Vector3, Meaning(scope=_PLACED)] = ZERO

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        """Wrenches on both bodies."""
        R, p = places.frame(self.frame or self.body)
        point, force, moment = (
            ca.mtimes(R, places.read.vector(x)) for x in (self.point, self.force, self.moment)
        )
        return [
            RowWrench(body, p + point, sign * multiplier * force, sign * multiplier * moment)
            for body, sign in ((self.body, 1.0), (self.other_body, -1.0))
        ]

    def faults(self, row: str, path: Path) -> Iterator[Finding]:
        """Findings about its fields together."""
        if self.body == self.other_body:
            yield Finding(
                path,
                f"row '{row}' acts between body '{self.body}' and itself",
                "name two bodies; other_body is the world by default",
            )
        if self.force == ZERO and self.moment == ZERO:
            yield Finding(
                path,
                f"row '{row}' acts on '{self.body}' with neither force nor moment",
                "give the direction of its force, such as force = [0, 1, 0], or its moment",
            )


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

    #: Where its force acts, as it is given.
    acts: tuple[RowForce, ...] = ()

    def apply(self, loads: Loads) -> None:
        """Apply what it loses, if anything."""

    def has_friction(self) -> bool:
        """Whether it loses anything."""
        return False

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        """Findings about its fields together."""
        for k, act in enumerate(self.acts):
            yield from act.faults(self.name, ("rows", self.name, "acts", k))

    def why_unplaced(self) -> str:
        """Reason why `wrenches` cannot say on which bodies and points it acts; empty if it can.

        A clause without a subject, which the row's name precedes.
        """
        return "" if self.acts else "does not declare on which bodies and where its force acts"

    def wrenches(self, places: Places, multiplier: Traced) -> list[RowWrench]:
        """Wrenches on bodies."""
        return [wrench for act in self.acts for wrench in act.wrenches(places, multiplier)]

    def pitch_circles(self) -> tuple[tuple[str, str], ...]:
        """Circles to draw: angles of joints, and radii about their axes as text."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VelocityRow(AbstractRow):
    """A row A(q) v + a(q, t) = 0, given as an expression that is linear in the speeds."""

    name: str  #: unique among rows
    #: expression of parameters, coordinates, speeds, measures and time ``t``; the constraint sets
    #: it to zero
    expression: Annotated[str, Meaning(scope=MOVING)]
    unit: str = "m/s"  #: unit of the expression; the multiplier's unit is W over it (m/s → N)
    #: bodies and points on which its force acts, for the wrenches of joints
    acts: tuple[RowForce, ...] = ()

    word = "velocity"
    is_holonomic = False

    def expression_faults(
        self, path: Path, tree: Expression, known: Vocabulary
    ) -> Iterator[Finding]:
        return speed_faults(path, tree, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionRow(AbstractRow):
    """A row g(q, t) = 0, an expression of parameters, coordinates, measures and time ``t``.

    `acts` says on which bodies and where its force acts, for the wrenches of joints.
    """

    name: str
    expression: Annotated[str, Meaning(scope=_PLACED)]
    unit: str = "m"
    acts: tuple[RowForce, ...] = ()

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
                f"{owner(path)} has an expression without a coordinate, so it constrains nothing",
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
            f"{said} without a speed",
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
