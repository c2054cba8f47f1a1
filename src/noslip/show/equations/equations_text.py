"""`equations_text`: the equations of motion for people, with SymPy or without it."""

from __future__ import annotations

from collections.abc import Sequence

from noslip import Equations
from noslip.base import format_called, is_installed
from noslip.show.equations.closed_forms import SECONDS
from noslip.show.equations.formats import AbstractEquationFormat, EquationDocument


def equations_text(
    equations: Equations,
    format: str = "text",
    *,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float = SECONDS,
) -> str:
    """The derivation of the equations of motion, for people.

    Without SymPy, the equations alone, unfactored.

    Parameters
    ----------
    equations : derived equations; the document follows their formulation.
    format : ``"text"``, ``"markdown"``, ``"latex"`` (a fragment for any document)
        or ``"html"`` (one page with MathML that needs no network), or the word of your own.
    coordinates : of orientations, ``"angles"`` or ``"quaternion"``; the angles by default where the
        model names some.
    speeds : independent speeds to print, as in ``("disk.yaw_rate", "w = disk.spin_rate/2")``; the
        usual ones by default.
    seconds : time limit of the simplification; what is not done by then is shown as it is.

    Raises
    ------
    NoslipError : if there is no such format, or there are no such coordinates or speeds.
    """
    used = format_called(AbstractEquationFormat, format, "equations_text, format")
    done = equations_document(equations, coordinates=coordinates, speeds=speeds, seconds=seconds)
    return used.text(done.title, done.sections)


def equations_document(
    equations: Equations,
    *,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float = SECONDS,
) -> EquationDocument:
    """The derivation as a document; without SymPy the equations alone."""
    if is_installed("sympy"):
        from noslip.show.equations.text import derivation

        return derivation(equations, coordinates=coordinates, speeds=speeds, seconds=seconds)
    from noslip.show.equations.plain import plain_document

    return plain_document(equations, coordinates=coordinates, speeds=speeds, seconds=seconds)
