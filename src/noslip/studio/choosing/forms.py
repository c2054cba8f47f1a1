"""Paths and timing laws as knobs: their numbers become sliders, and the whole a text as commands
have it, ``circle:radius=2``. The members say which there are, and what numbers they have.
"""

from __future__ import annotations

from collections.abc import Mapping

import noslip.control.text  # noqa: F401  (all members of the package)
from noslip.control.controllers.base import AbstractControllerPlan
from noslip.control.forms import AbstractForm, form_words, read_form
from noslip.control.paths.base import AbstractPath
from noslip.control.timing.laws import AbstractTimingPlan
from noslip.families import find_member, members_of
from noslip.show.knobs import Knob, ranged

#: The kind whose text is typed as it stands.
TYPED = "typed"

#: What a form is of → the base class of the family.
FAMILIES: dict[str, type[AbstractForm]] = {"path": AbstractPath, "timing": AbstractTimingPlan}


def form_kinds(family: str) -> tuple[str, ...]:
    """Words of a ``path`` or ``timing`` that have sliders, and `TYPED`."""
    return (*form_words(FAMILIES[family]), TYPED)


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
    return tuple(ranged(f"{family}.{n.name}", *n[1:]) for n in numbers or ())


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
