"""Formats of derivations: text, LaTeX, HTML and Markdown, and one's own.

A format of equations answers what `formats.py` lists, with the text of a document in place of
`write`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from noslip import Equations, SimulationError
from noslip.base import AbstractFormat, format_called, is_installed
from noslip.show.equations.closed_forms import SECONDS

if TYPE_CHECKING:
    from noslip.show.equations.blocks import Section


class EquationDocument(Protocol):
    """Document for a file: a derivation, the matrices of a method, or linear equations."""

    @property
    def title(self) -> str:
        """Title of the document."""

    @property
    def sections(self) -> list[Section]:
        """Sections of the document."""


class AbstractEquationFormat(AbstractFormat, family="equation format"):
    """A format of derivations: a document's title and sections as text."""

    __slots__ = ()

    holds = "equations"
    error = SimulationError

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        raise NotImplementedError

    def write(self, document: EquationDocument, path: Path) -> None:
        """Write the document."""
        path.write_text(self.text(document.title, document.sections) + "\n", "utf-8")


# documents.py imports SymPy; the words are asked for without it


class TextFormat(AbstractEquationFormat):
    """Unicode text for a terminal."""

    __slots__ = ()

    word = "text"
    name = "text"
    suffixes = (".txt",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        from noslip.show.equations.documents import text_document

        return text_document(title, sections)


class LatexFormat(AbstractEquationFormat):
    """A fragment for the body of a LaTeX document, which needs no package."""

    __slots__ = ()

    word = "latex"
    name = "LaTeX"
    suffixes = (".tex",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        from noslip.show.equations.documents import latex_document

        return latex_document(title, sections)


class HtmlFormat(AbstractEquationFormat):
    """One page with MathML that needs no network."""

    __slots__ = ()

    word = "html"
    name = "HTML"
    suffixes = (".html",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        from noslip.show.equations.documents import html_document

        return html_document(title, sections)


class MarkdownFormat(AbstractEquationFormat):
    """Markdown with $ and $$ for mathematics."""

    __slots__ = ()

    word = "markdown"
    name = "Markdown"
    suffixes = (".md",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        from noslip.show.equations.documents import markdown_document

        return markdown_document(title, sections)


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
    linear: str | None = None,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float = SECONDS,
) -> EquationDocument:
    """The derivation as a document; without SymPy the equations alone.

    Parameters
    ----------
    linear : independent speed of straight running, about which small motions are written instead.
    """
    if linear is not None:
        from noslip.show.equations.small_motions import linear_equations

        return linear_equations(
            equations, linear, coordinates=coordinates, speeds=speeds, seconds=seconds
        )
    if is_installed("sympy"):
        from noslip.show.equations.derivation_text import derivation

        return derivation(equations, coordinates=coordinates, speeds=speeds, seconds=seconds)
    from noslip.show.equations.plain import plain_document

    return plain_document(equations, coordinates=coordinates, speeds=speeds, seconds=seconds)
