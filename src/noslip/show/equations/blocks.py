"""Blocks of a document of equations: paragraphs, tables, lines and matrices, in sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from noslip.show.equations.glyphs import Glyph
from noslip.show.equations.layout import MathGrid, Node


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words, with mathematics among them."""

    parts: tuple[str | Node, ...]


@dataclass(frozen=True, slots=True)
class CellTable:
    """Rows of cells under a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Node, ...], ...]


@dataclass(frozen=True, slots=True)
class EquationLine:
    """An equation: left and right of a sign, and a word on what it is."""

    left: Node
    right: Node
    note: str = ""
    sign: str = "="


@dataclass(frozen=True, slots=True)
class Lines:
    """Equations below each other."""

    lines: tuple[EquationLine, ...]


@dataclass(frozen=True, slots=True)
class MatrixBlock:
    """A matrix with a name, and what its rows and columns belong to."""

    left: Node
    grid: MathGrid
    row_names: tuple[Node, ...]
    column_names: tuple[Node, ...] = ()


Block = Paragraph | CellTable | Lines | MatrixBlock


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A title and the sections under it."""

    title: str
    sections: list[Section]


def glyphs_in(block: Block) -> Iterator[Glyph]:
    """All glyphs that a block shows."""
    match block:
        case Paragraph(parts):
            nodes = [p for p in parts if not isinstance(p, str)]
        case CellTable(_, rows):
            nodes = [c for row in rows for c in row if not isinstance(c, str)]
        case Lines(lines):
            nodes = [side for line in lines for side in (line.left, line.right)]
        case MatrixBlock(left, grid, names, _):
            nodes = [left, grid, *names]
    for node in nodes:
        yield from _glyphs_of(node)


def _glyphs_of(node: Any) -> Iterator[Glyph]:
    """Glyphs of a node and of what it is made of."""
    if isinstance(node, Glyph):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from _glyphs_of(item)
    elif is_dataclass(node):
        for part in fields(node):
            yield from _glyphs_of(getattr(node, part.name))


def words(*parts: str | Node) -> Paragraph:
    """A paragraph."""
    return Paragraph(parts)
