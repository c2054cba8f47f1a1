"""Formats of derivations: text, LaTeX, HTML and Markdown, and one's own.

A format of equations answers what `formats.py` lists, with the text of a document in place of
`write`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from noslip import SimulationError
from noslip.base import AbstractFormat

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
