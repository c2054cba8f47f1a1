"""Paths and timing laws as knobs: their numbers become sliders, and the whole a text as commands
have it, ``circle:radius=2``. The members say which there are, and what numbers they have.
"""

from __future__ import annotations

from collections.abc import Mapping

from noslip.paths import AbstractPath, Circle, Spline
from noslip.base import find_member, members_of
from noslip.control import (
    AbstractControllerPlan,
    AbstractForm,
    AbstractTimingPlan,
    Point,
    form_words,
    read_form,
)
from noslip.show import Knob

#: The kind whose text is typed as it stands, and that of a path through points on the floor.
TYPED, DRAWN = "typed", "drawn"
#: Points of a path to begin with, in radii of a typical circle.
FIRST_POINTS = ((0.0, 0.0), (1.5, 0.6), (3.0, -0.6), (4.5, 0.0))

#: What a form is of → the base class of the family.
FAMILIES: dict[str, type[AbstractForm]] = {"path": AbstractPath, "timing": AbstractTimingPlan}


def form_kinds(family: str) -> tuple[str, ...]:
    """Words of a ``path`` or ``timing`` that have sliders, `TYPED`, and for a path `DRAWN`."""
    drawn = (DRAWN,) if family == "path" else ()
    return (*form_words(FAMILIES[family]), *drawn, TYPED)


def first_points(length: float) -> tuple[Point, ...]:
    """Points of a path to begin with, for a model of a length, m."""
    radius = next(n.value for n in Circle.numbers(length) or () if n.name == "radius")
    return tuple((round(radius * x, 6), round(radius * y, 6)) for x, y in FIRST_POINTS)


def next_point(points: tuple[Point, ...]) -> Point:
    """The place of a further point: as far beyond the last as that is from the one before it."""
    (x0, y0), (x1, y1) = points[-2:]
    return round(2 * x1 - x0, 9), round(2 * y1 - y0, 9)


def drawn_text(points: tuple[Point, ...], closed: bool) -> str:
    """The path through points, as a command has it."""
    return Spline(points=points, closed=closed).text()


def controller_labels() -> dict[str, str]:
    """Word of each controller → what the page calls it."""
    found = members_of(AbstractControllerPlan, installed=True)
    return {member.word: member.label() for member in found}


def form_knobs(family: str, kind: str, length: float) -> tuple[Knob, ...]:
    """Sliders for the numbers of a path or a timing law.

    Parameters
    ----------
    family : ``path`` or ``timing``.
    kind : its word; `TYPED` has no sliders.
    length : of the model, m, which sets the sizes.
    """
    member = find_member(FAMILIES[family], kind)
    numbers = None if member is None else member.numbers(length)
    return tuple(Knob.ranged(f"{family}.{n.name}", *n[1:]) for n in numbers or ())


def form_text(family: str, kind: str, values: Mapping[str, float], typed: str) -> str:
    """The text of a form, as a command has it."""
    if kind == TYPED:
        return typed
    own = {n.removeprefix(f"{family}."): x for n, x in values.items() if n.startswith(f"{family}.")}
    return f"{kind}:" + ";".join(f"{name}={value!r}" for name, value in own.items())


def read_path(text: str) -> AbstractPath:
    """The path of a text. A file cannot be named here, unlike on the command line."""
    path: AbstractPath = read_form(AbstractPath, text, may_read_files=False)
    return path
