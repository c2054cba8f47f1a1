"""Documents of equations: their formats, pages and fonts.

**The mathematics font of pages: a subset of STIX Two Math, embedded so that pages work offline.**

The font comes with the package ziamath (SIL Open Font License). What a browser needs of it for our
MathML, letters, operators, and brackets and roots that grow, is cut out by fontTools on first use
and kept in the cache of compiled code. Without the package, pages use a font of the system.

**A derivation as text, Markdown, LaTeX and HTML.**

**Formats of derivations: text, LaTeX, HTML and Markdown, and one's own.**

A format of equations answers what `formats.py` lists, with the text of a document in place of
`write`.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import logging
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from noslip import Equations, SimulationError
from noslip.base import AbstractFormat, format_called
from noslip.engines import stored
from noslip.show.equations.layout import (
    Block,
    CellTable,
    EquationLine,
    Fenced,
    Lines,
    MathCall,
    MathGrid,
    MathNumber,
    MathRow,
    MatrixBlock,
    Node,
    Operator,
    Paragraph,
    Picture,
    Power,
    Quotient,
    Root,
    Section,
    Word,
    escape_latex,
    points,
    to_latex,
    to_mathml,
    to_text,
    with_marks_beside,
)
from noslip.show.equations.polynomials import SECONDS

#: Name by which our pages know the font.
FAMILY = "noslip math"
_FILE = "ziamath/fonts/STIXTwoMath-Regular.ttf"
#: Changes with what is cut out.
_VERSION = b"1"
#: Upright letters, signs, accents alone and combining, and what is invisible between factors.
_SIGNS = "−·×→≥≤≠±√∂∑Σ∞′ℓ≈…˙¨⃛ˆ̇̈̂¯‖|⋅⟨⟩⁡⁢⁣½\u00a0"


def _characters() -> set[int]:
    """Code points of the subset: ASCII, Greek, italic letters as browsers map them, signs."""
    found = set(range(0x20, 0x7F)) | set(range(0x391, 0x3CA)) | {ord(c) for c in _SIGNS}
    found |= set(range(0x1D434, 0x1D468)) | {0x210E}  # italic Latin letters
    found |= set(range(0x1D6E2, 0x1D71C))  # italic Greek letters
    return found


def font_style() -> str:
    """CSS that defines the font and uses it for mathematics; empty without the font."""
    data = subset()
    if not data:
        return ""
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'@font-face {{ font-family: "{FAMILY}"; src: url(data:font/woff;base64,{encoded}) '
        'format("woff"); }\n'
        f'.noslip math {{ font-family: "{FAMILY}", "STIX Two Math", "Cambria Math", math; }}'
    )


@cache
def subset() -> bytes:
    """The subset as WOFF, from the cache or newly made; empty if the package is not there."""
    try:
        version = importlib.metadata.version("ziamath").encode("ascii")
        key = hashlib.sha256(b"math font " + _VERSION + version + b"".join(
            code.to_bytes(3, "big") for code in sorted(_characters())
        )).digest()  # fmt: skip
        return stored(key, _cut)
    except (ImportError, OSError):
        return b""


def _cut() -> bytes:
    """Glyphs of the characters and all their sizes, with the table that says how they grow."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    # the file alone: nothing of the package is imported
    source = importlib.metadata.distribution("ziamath").locate_file(_FILE)
    font = TTFont(io.BytesIO(Path(str(source)).read_bytes()), recalcTimestamp=False)
    options = Options()
    options.layout_features = ["ssty", "dtls", "flac", "kern"]
    options.hinting = False
    options.name_IDs = [0, 1, 2, 13, 14]  # copyright and license stay
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=_characters())
    subsetter.subset(font)
    font.flavor = "woff"
    written = io.BytesIO()
    font.save(written)
    return written.getvalue()


#: Text is wrapped at this width; lines of mathematics break where a sum allows it.
WIDTH = 100
#: A line of typeset mathematics holds about this many characters of its text form.
LINE = 110
#: Points of a line of an article in LaTeX, of an equation's number, and of = and the gaps at it.
LATEX_LINE, _NUMBER, _SIGN = 345.0, 36.0, 36.0
#: Left sides with more points stand above their right sides in LaTeX.
LONGEST_SIDE = 110.0
#: Points of a piece of a formula in a paragraph.
_LISTED = 250.0
#: Rows of a table in LaTeX, which has no page breaks within one.
_TABLE_ROWS = 15


def text_document(title: str, sections: list[Section]) -> str:
    """Unicode text for a terminal, without combining marks."""
    lines = [title, "=" * len(title)]
    for section in _without_pictures(sections):
        lines += ["", section.title, "-" * len(section.title)]
        for block in section.blocks:
            lines += ["", *_text_block(block)]
    return with_marks_beside("\n".join(line.rstrip() for line in lines))


def _without_pictures(sections: list[Section]) -> list[Section]:
    """What formats without drawings show; a section of drawings alone has nothing to say."""
    kept = [(s, tuple(b for b in s.blocks if not isinstance(b, Picture))) for s in sections]
    return [Section(s.title, blocks) for s, blocks in kept if blocks or not s.blocks]


def _text_block(block: Block) -> list[str]:
    match block:
        case Paragraph(parts):
            return _wrapped("".join(p if isinstance(p, str) else to_text(p) for p in parts))
        case CellTable(header, rows):
            return _columns([header, *[_cells(r, to_text) for r in rows]])
        case Lines(lines):
            return [x for line in lines for x in _text_line(line)]
        case MatrixBlock():
            return _text_matrix(block)
        case Picture():
            return []
    raise TypeError(block)


def _cells(cells: tuple[str | Node, ...], typeset: Callable[[Node], str]) -> tuple[str, ...]:
    return tuple(c if isinstance(c, str) else typeset(c) for c in cells)


def _wrapped(text: str, first: str = "", then: str = "") -> list[str]:
    """Lines of at most WIDTH characters, broken at spaces, with what each begins with."""
    lines: list[str] = []
    current, is_empty = first, True
    for word in text.split(" "):
        if not is_empty and _wide(current) + 1 + _wide(word) > WIDTH:
            lines.append(current)
            current, is_empty = then, True
        current, is_empty = (current + word if is_empty else f"{current} {word}"), False
    return [*lines, current]


def _wide(text: str) -> int:
    """Columns on a terminal, with marks beside their letters."""
    return len(with_marks_beside(text))


def _padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - _wide(text))
    return space + text if right else text + space


def _text_line(line: EquationLine) -> list[str]:
    note = f"   [{line.note}]" if line.note else ""
    beside = _beside(line.number)
    room = WIDTH - 8 - len(beside)
    more, hanging = " " * len(beside) + _MORE, " " * len(beside) + _HANGING
    first_indent = beside or "  "
    *before, left = broken(line.left, room)
    found: list[str] = []
    for k, part in enumerate(before):
        found += _wrapped(_row(part, k), more if k else first_indent, hanging)
    head = f"{_row(left, len(before))} {line.sign} "
    first, *rest = broken(line.right, room - _wide(head))
    found += _wrapped(head + to_text(first), more if before else first_indent, hanging)
    for row in rest:
        found += _wrapped(_row(row, 1), more, hanging)
    if _wide(found[-1]) + len(note) <= WIDTH:
        return [*found[:-1], found[-1] + note]
    return [*found, f"{more}{note.strip()}"]


#: Before what continues a line, and what does not fit even that.
_MORE, _HANGING = "    ", "      "


def _beside(number: int) -> str:
    """The number of an equation before it; nothing for none."""
    return f"  {f'({number})':<7}" if number else ""


def _row(row: MathRow, number: int) -> str:
    """A row of a broken line; the sign that it begins with belongs to the row before."""
    if number == 0:
        return to_text(row)
    sign, *rest = row.items
    return f"{to_text(sign)} {to_text(MathRow(tuple(rest)))}"


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """Cells under each other; the last column is not padded."""
    widths = [max(_wide(r[k]) for r in rows) for k in range(len(rows[0]))]
    lines = [
        "  " + "  ".join(_padded(c, w) for c, w in zip(r, widths, strict=True)).rstrip()
        for r in rows
    ]
    rule = "  " + "  ".join("-" * w for w in widths)
    return [lines[0], rule[: max(len(x) for x in lines)], *lines[1:]]


def _text_matrix(block: MatrixBlock) -> list[str]:
    """The matrix between brackets with the names of its rows, or entry by entry if it is wide."""
    cells = [[to_text(e) for e in r] for r in block.grid.rows]
    head = f"{_beside(block.number) or '  '}{to_text(block.left)} = "
    if not cells or not cells[0]:
        return [f"{head}[]"]
    widths = [max(_wide(r[j]) for r in cells) for j in range(len(cells[0]))]
    if _wide(head) + sum(widths) + 2 * len(widths) + 2 > WIDTH:
        rows = [
            (to_text(name), [f"{to_text(column)}: {to_text(e)}" for column, e in entries])
            for name, entries in listed(block)
        ]
        wide = max(_wide(name) for name, _ in rows)
        lines = [f"{head.removesuffix('= ')}row by row, without zeros:"]
        for name, said in rows:
            start = f"    {_padded(name, wide)}   "
            lines += _wrapped(";  ".join(said), start, " " * _wide(start))
        return lines
    lines = []
    for i, r in enumerate(cells):
        start = head if i == 0 else " " * _wide(head)
        inside = "  ".join(_padded(c, w, right=True) for c, w in zip(r, widths, strict=True))
        name = f"   {to_text(block.row_names[i])}" if block.row_names else ""
        lines.append(f"{start}[{inside}]{name}")
    return lines


def listed(block: MatrixBlock) -> list[tuple[Node, list[tuple[Node, Node]]]]:
    """A matrix row by row without zeros: the name of each row, and its columns with entries."""

    def named(names: tuple[Node, ...], k: int) -> Node:
        return names[k] if names else MathNumber(str(k + 1))

    found = []
    for i, entries in enumerate(block.grid.rows):
        kept = [
            (named(block.column_names, j), e) for j, e in enumerate(entries) if e != MathNumber("0")
        ]
        if kept:
            found.append((named(block.row_names, i), kept))
    return found


def _is_wide(block: MatrixBlock) -> bool:
    """Whether a typeset matrix would not fit on a page."""
    return len(block.grid.rows[0]) > 1 and sum(_matrix_lengths(block)[:-1]) > LINE


def _letters(node: Node) -> float:
    """Width of a formula in letters, and of the gap behind it."""
    return len(to_text(node)) + 1


def broken(
    node: Node, width: float = LINE, measure: Callable[[Node], float] = _letters
) -> list[MathRow]:
    """A long sum in pieces that fit a line each, broken before its signs.

    A product that is longer than a line is broken between its factors.

    Parameters
    ----------
    node : formula.
    width : width of a line.
    measure : width of a part, letters by default.
    """
    if not isinstance(node, MathRow):
        return [MathRow((node,))]
    joints = {Operator("("), Operator("=")}
    signs = [
        k
        for k, item in enumerate(node.items)
        if isinstance(item, Operator) and item.sign in "+−=" and k > 0
        and node.items[k - 1] not in joints
    ]  # fmt: skip
    pieces: list[list[Node]] = [[]]
    length = 0.0
    for first, end in pairwise([0, *signs, len(node.items)]):
        term = node.items[first:end]
        own = sum(map(measure, term))
        if pieces[-1] and length + own > width:
            pieces.append([])
            length = 0
        for factor in _factors(term) if own > width else [term]:
            size = sum(map(measure, factor))
            if factor is not term and length and length + size > width:
                pieces.append([Operator("·")] if factor[0] is not term[0] else [])
                length = measure(Operator("·"))
            pieces[-1] += factor
            length += size
    return [MathRow(tuple(p)) for p in pieces]


#: What stands before a term, and not between factors.
_BEFORE_TERMS = [Operator(sign) for sign in "+−=("]


def _factors(term: Sequence[Node]) -> list[list[Node]]:
    """A product in parts that it may be broken between: not behind a sign, a bracket, a number."""
    found: list[list[Node]] = [[]]
    for item in term:
        if isinstance(item, Power) and item.base == Operator(")"):  # it closes a bracket
            found[-1].append(item)
            continue
        before = found[-1][-1] if found[-1] else Operator("(")
        is_bare = isinstance(before, MathNumber) or before in _BEFORE_TERMS
        if not is_bare and (item == Operator("(") or not isinstance(item, Operator)):
            found.append([])
        found[-1].append(item)
    return found


def broken_math(
    node: Node, width: float = LINE, measure: Callable[[Node], float] = _letters
) -> list[MathRow]:
    """A long formula in pieces that fit a line each; what is too long is opened.

    Arguments are those of :func:`broken`.
    """
    return broken(MathRow(tuple(_opened(node, width, measure))), width, measure)


def _opened(node: Node, width: float, measure: Callable[[Node], float]) -> list[Node]:
    """A formula side by side: a fraction that is too long as 1/b (a), a bracket as its sum.

    A root that is too long is a power, and a function an upright word.
    """

    def bracketed(inside: Node, close: Node) -> list[Node]:
        return [Operator("("), *_opened(inside, width, measure), close]

    items: list[Node] = []
    for item in node.items if isinstance(node, MathRow) else (node,):
        if measure(item) - 1 <= width:
            items.append(item)
            continue
        match item:
            case Quotient(top, bottom) if measure(bottom) - 1 <= width:
                is_sum = isinstance(top, MathRow) and any(x in top.items for x in _BEFORE_TERMS)
                inside = _opened(Fenced(top) if is_sum else top, width, measure)
                items += [Quotient(MathNumber("1"), bottom), *inside]
            case Quotient(top, bottom):
                inverse = Power(Operator(")"), MathRow((Operator("−"), MathNumber("1"))))
                items += _opened(Fenced(top), width, measure) + bracketed(bottom, inverse)
            case Fenced(inside, "(", ")"):
                items += bracketed(inside, Operator(")"))
            case Root(inside):
                half = Quotient(MathNumber("1"), MathNumber("2"))
                items += bracketed(inside, Power(Operator(")"), half))
            case MathCall(name, (argument,), None):
                items += [Word(name), *bracketed(argument, Operator(")"))]
            case MathRow():
                items += _opened(item, width, measure)
            case _:
                items.append(item)
    return items


def latex_document(title: str, sections: list[Section]) -> str:
    """A fragment for the body of a LaTeX document, which needs no package."""
    lines = [rf"\section*{{\raggedright {escape_latex(title)}}}"]
    for section in _without_pictures(sections):
        lines += ["", rf"\subsection*{{{escape_latex(section.title)}}}"]
        for block in section.blocks:
            lines += ["", _latex_block(block)]
    return "\n".join(lines)


def latex_blocks(section: Section) -> str:
    """The blocks of a section as LaTeX for notebooks, which know amsmath."""
    return "\n".join(
        "\n".join(
            [r"\begin{align*}", " \\\\\n".join(map(_latex_line, block.lines)), r"\end{align*}"]
        )
        if isinstance(block, Lines)
        else _latex_block(block)
        for block in section.blocks
    )


def _latex_block(block: Block) -> str:
    match block:
        case Paragraph(parts):
            said = [escape_latex(p) if isinstance(p, str) else _latex_cell(p) for p in parts]
            # long names and formulas rather leave gaps than stand out
            return rf"{{\sloppy {''.join(said)}\par}}"
        case CellTable(header, rows):
            body = [" & ".join(map(_latex_cell, r)) + r" \\" for r in rows]
            columns = _latex_columns([header, *rows])
            top = " & ".join(map(escape_latex, header)) + r" \\ \hline"
            chunks = [body[k : k + _TABLE_ROWS] for k in range(0, len(body), _TABLE_ROWS)]
            return "\n\n".join(
                "\n".join([rf"\begin{{tabular}}{{{columns}}}", top, *part, r"\end{tabular}"])
                for part in chunks
            )
        case Lines(lines):
            left = max(points(line.left) for line in lines)
            if left > LONGEST_SIDE:
                return _latex_array(lines)
            rows_ = [row for line in lines for row in _eqnarray_rows(line, left)]
            return "\n".join([r"\begin{eqnarray*}", " \\\\\n".join(rows_), r"\end{eqnarray*}"])
        case MatrixBlock() if _latex_is_wide(block):
            return _latex_listing(block)
        case MatrixBlock(left, grid, row_names):
            beside = _latex_row_names(grid, row_names) if row_names else ""
            number = _latex_number(block.number)
            return rf"\[ {number}{to_latex(left)} = {to_latex(grid)}{beside} \]"
        case Picture():
            return ""
    raise TypeError(block)


def _latex_number(number: int) -> str:
    """The number of an equation, before it in the formula."""
    return rf"\mbox{{({number})}}\quad " if number else ""


def _latex_row_names(grid: MathGrid, names: tuple[Node, ...]) -> str:
    """An array beside a matrix, whose rows are as high as those of the matrix."""
    rows = []
    for name, entries in zip(names, grid.rows, strict=True):
        high = " ".join(e for e in map(to_latex, entries) if "\\frac" in e or "\\sqrt" in e)
        rows.append((rf"\vphantom{{{high}}} " if high else "") + to_latex(name))
    lines = r" \\ ".join(rows)
    return rf"\ \begin{{array}}{{l}} {lines} \end{{array}}"


def _latex_listing(block: MatrixBlock) -> str:
    """A wide matrix row by row, as paragraphs that LaTeX breaks itself."""
    number = f"({block.number}) " if block.number else ""
    lines = [
        rf"{number}${to_latex(block.left)}$ row by row, without zeros:",
        r"\begin{description}\raggedright",
    ]
    for name, entries in listed(block):
        said = "; ".join(
            rf"${to_latex(column)}$:~"
            + " ".join(f"${to_latex(part)}$" for part in broken_math(e, _LISTED, points))
            for column, e in entries
        )
        lines.append(rf"\item[${to_latex(name)}$] {said}")
    return "\n".join([*lines, r"\end{description}"])


def _latex_cell(cell: str | Node) -> str:
    """A cell of a table; a list in brackets may break at its commas, a name at its dots."""
    match cell:
        case str():
            return re.sub(r"(?<=\w)(\.|\\_)(?=[A-Za-z])", r"\1\\allowbreak{}", escape_latex(cell))
        case Fenced(MathRow(items), "(", ")") if Operator(",") in items:
            entries = [f"${to_latex(item)}$" for item in items if item != Operator(",")]
            return f"({', '.join(entries)})"
    return f"${to_latex(cell)}$"


#: Points of a letter in a table, and between its columns.
_LETTER_POINTS, _GAP_POINTS = 5.2, 13.0


def _latex_columns(rows: Sequence[Sequence[str | Node]]) -> str:
    """Columns of a table: those with most room for it are paragraphs, as many as make it fit."""

    def words_of(cell: str | Node) -> list[float]:
        """Points of what a cell breaks into."""
        match cell:
            case str():
                return [_LETTER_POINTS * len(x) for x in re.split(r"(?<=[ ._])", cell)]
            case Fenced(MathRow(items), "(", ")"):
                return [points(item) + 10.0 for item in items if item != Operator(",")]
        return [points(cell)]

    columns = [[words_of(cell) for cell in column] for column in zip(*rows, strict=True)]
    widths = [max(map(sum, column)) for column in columns]
    # a column can become as narrow as its longest word
    slack = [
        width - max(max(words, default=0.0) for words in column)
        for width, column in zip(widths, columns, strict=True)
    ]
    over = sum(widths) + _GAP_POINTS * len(widths) - LATEX_LINE
    by_slack = sorted(range(len(widths)), key=lambda k: -slack[k])
    counts = [n for n in range(len(widths)) if sum(slack[k] for k in by_slack[:n]) >= over]
    chosen = by_slack[: min(counts, default=len(widths))]
    share = min(over / (sum(slack[k] for k in chosen) or 1.0), 1.0)
    return "".join(
        rf"p{{{(widths[k] - slack[k] * share) / LATEX_LINE:.2f}\linewidth}}" if k in chosen else "l"
        for k in range(len(widths))
    )


def _latex_array(lines: tuple[EquationLine, ...]) -> str:
    """Equations with long left sides, flush left, each broken where it does not fit."""
    displays = []
    for line in lines:
        whole = MathRow((*_items_of(line.left), Operator(line.sign), *_items_of(line.right)))
        pieces = broken_math(whole, LATEX_LINE - _NUMBER, points)
        said = [to_latex(piece) for piece in pieces]
        notes = _latex_notes(line, LATEX_LINE - _NUMBER)
        if notes and points(pieces[-1]) + _note_points(line) <= LATEX_LINE - _NUMBER:
            said[-1] += rf" \quad {notes.pop()}"
        said += notes
        starts = [_latex_number(line.number), *[r"\quad"] * (len(said) - 1)]
        rows = [rf"\displaystyle {s} {r}" for s, r in zip(starts, said, strict=True)]
        body = " \\\\\n".join(rows)
        displays.append("\n".join([r"\[ \begin{array}{l}", body, r"\end{array} \]"]))
    return "\n".join(displays)


#: Points of a small letter.
_NOTE_POINTS = 4.7


def _note_points(line: EquationLine) -> float:
    """Points of the note behind an equation, and of the gap before it."""
    return 20.0 + _NOTE_POINTS * len(line.note) if line.note else 0.0


def _latex_notes(line: EquationLine, room: float) -> list[str]:
    """The note of an equation in lines that are not longer than some points."""
    if not line.note:
        return []
    pieces = textwrap.wrap(f"({line.note})", max(int(room / _NOTE_POINTS), 20))
    return [rf"\mbox{{\small {escape_latex(piece)}}}" for piece in pieces]


def _items_of(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, MathRow) else (node,)


def _eqnarray_rows(line: EquationLine, beside: float) -> list[str]:
    """An equation as rows of eqnarray, which LaTeX has without a package.

    `beside` is the number of points of the longest left side.
    """
    room = LATEX_LINE - _NUMBER - _SIGN - beside
    left = to_latex(line.left)
    pieces = broken_math(line.right, room, points)
    first, *rest = [to_latex(r) for r in pieces]
    number = _latex_number(line.number)
    rows = [f"{number}{left} & {line.sign} & {first}", *[f"& & {{}} {r}" for r in rest]]
    notes = _latex_notes(line, room)
    if notes and points(pieces[-1]) + _note_points(line) <= room:
        rows[-1] += rf" \quad {notes.pop()}"
    return [*rows, *[f"& & {note}" for note in notes]]


def _latex_is_wide(block: MatrixBlock) -> bool:
    """Whether a matrix would not fit on a line of an article."""
    columns = zip(*block.grid.rows, strict=True)
    widths = [max(points(entry, 1) for entry in column) + 10.0 for column in columns]
    names = max(map(points, block.row_names), default=-15.0) + 15.0
    return sum(widths) + names + points(block.left) + _NUMBER + 26.0 > LATEX_LINE


def _latex_line(line: EquationLine) -> str:
    *before, left = [to_latex(r) for r in broken_math(line.left)]
    first, *rest = [to_latex(r) for r in broken_math(line.right)]
    note = rf" && \text{{{escape_latex(line.note)}}}" if line.note else ""
    number = rf"\text{{({line.number})}}\quad " if line.number else ""
    starts = [f" {number}", *[chr(92) + "quad "] * (len(before) - 1)]
    rows = [f"&{start}{r}" for start, r in zip(starts, before, strict=False)]
    head = rf"&\quad {left} {line.sign}" if before else f"{number}{left} &{line.sign}"
    rows.append(f"{head} {first}{note}")
    return " \\\\\n".join([*rows, *[rf"&\quad {r}" for r in rest]])


def markdown_document(title: str, sections: list[Section]) -> str:
    """Markdown with $ and $$ for mathematics."""
    lines = [f"# {escape_markdown(title)}"]
    for section in _without_pictures(sections):
        lines += ["", f"## {escape_markdown(section.title)}"]
        for block in section.blocks:
            lines += ["", _markdown_block(block)]
    return "\n".join(lines)


#: What Markdown reads as something else than text: emphasis, code, tables, mathematics, HTML,
#: entities and links. Letters on both sides of an underscore keep it one.
_MARKUP = re.compile(
    r"(?P<mark>[\\`*|$~])|(?P<edge>(?<![^\W_])_|_(?![^\W_]))|(?P<tag><(?=[A-Za-z/!?]))"
    r"|(?P<entity>&(?=#?\w+;))|(?P<link>\](?=[(\[:])|!(?=\[))|(?P<line>\s*[\n\r\v\f\u2028\u2029]\s*)"
)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    shown = {"tag": "&lt;", "entity": "&amp;", "line": " "}
    return _MARKUP.sub(lambda m: shown.get(m.lastgroup or "", f"\\{m[0]}"), text)


def _markdown_block(block: Block) -> str:
    match block:
        case Paragraph(parts):
            said = "".join(
                escape_markdown(p) if isinstance(p, str) else f"${to_latex(p)}$" for p in parts
            )
            # what would begin a heading, a list or a quotation
            return re.sub(r"\A(\s*\d*)([#>+=.)-])", r"\1\\\2", said)
        case CellTable(header, rows):
            body = ["| " + " | ".join(_markdown_cell(c) for c in r) + " |" for r in (header, *rows)]
            return "\n".join([body[0], "|" + "---|" * len(header), *body[1:]])
        case Lines(lines):
            inside = " \\\\\n".join(_latex_line(x) for x in lines).replace("<", r"\lt ")
            return f"$$\n\\begin{{aligned}}\n{inside}\n\\end{{aligned}}\n$$"
        case MatrixBlock() if _is_wide(block):
            listing = [
                f"| ${to_latex(name)}$ | "
                + "; ".join(f"${to_latex(column)}$: ${to_latex(e)}$" for column, e in entries)
                + " |"
                for name, entries in listed(block)
            ]
            number = f"({block.number}) " if block.number else ""
            head = f"{number}${to_latex(block.left)}$ row by row, without zeros:"
            return "\n".join([head, "", "| row | entries by column |", "|---|---|", *listing])
        case MatrixBlock():
            return "$$\n" + _latex_block(block)[3:-3] + "\n$$"
        case Picture():
            return ""
    raise TypeError(block)


def _markdown_cell(cell: str | Node) -> str:
    if isinstance(cell, str):
        return escape_markdown(cell)
    return f"${to_latex(cell).replace('|', chr(92) + 'vert ')}$"


@cache
def _css(name: str) -> str:
    """A style sheet beside this file."""
    return files("noslip.show.equations").joinpath(f"{name}.css").read_text("utf-8").strip()


#: Seen where a notebook strips styles, and figures and mathematics with them.
UNTRUSTED = (
    '<p class="untrusted">This notebook is not trusted, so figures and mathematics are left out: '
    "run it, or choose Trust Notebook (JupyterLab: View, Activate Command Palette).</p>"
)


def parts_style() -> str:
    """CSS of what `html_blocks` makes, within an element of class "noslip"."""
    return f"{_css('equations')}\n{font_style()}".strip()


def html_document(title: str, sections: list[Section]) -> str:
    """A self-contained HTML page: MathML, no script."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_css('page')}\n</style>",
            "</head>",
            "<body>",
            _html_parts(title, sections, []),
            "</body>",
            "</html>",
        ]
    )


def html_fragment(title: str, sections: list[Section], folded: list[Section] | None = None) -> str:
    """HTML to embed in a notebook, with titles as large as those of everything else there.

    The `folded` part opens on a click.
    """
    page = _html_parts(title, sections, folded or [])
    page = page.replace("</style>", f"</style>\n{UNTRUSTED}", 1)
    page = page.replace("<h1>", '<h1 style="font-size: 1.25em">', 1)
    return page.replace("<h2>", '<h2 style="font-size: 1.05em">')


def _html_parts(title: str, sections: list[Section], folded: list[Section]) -> str:
    lines = [
        '<div class="noslip">',
        f"<style>\n{parts_style()}\n</style>",
        f"<h1>{escape(title)}</h1>",
    ]
    lines += [_html_section(section) for section in sections]
    if folded:
        lines += ["<details>", "<summary>Derivation</summary>"]
        lines += [*[_html_section(section) for section in folded], "</details>"]
    return "\n".join([*lines, "</div>"])


def _html_section(section: Section) -> str:
    return f"<h2>{escape(section.title)}</h2>\n{html_blocks(section)}"


def html_blocks(section: Section) -> str:
    """The blocks of a section as HTML."""
    return "\n".join(_html_block(block) for block in section.blocks)


def _math(node: Node, display: bool = False) -> str:
    kind = ' displaystyle="true"' if display else ""
    return f"<math{kind}>{to_mathml(node)}</math>"


def _html_block(block: Block) -> str:
    match block:
        case Paragraph(parts):
            return f"<p>{''.join(_html_cell(p) for p in parts)}</p>"
        case CellTable(header, rows):
            head = "".join(f"<th>{escape(c)}</th>" for c in header)
            body = "\n".join(
                f"<tr>{''.join(f'<td>{_html_cell(c)}</td>' for c in r)}</tr>" for r in rows
            )
            return (
                f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
                f"<tbody>\n{body}\n</tbody>\n</table></div>"
            )
        case Lines(lines):
            body = "\n".join(_html_line(line) for line in lines)
            is_long = any(len(broken_math(line.left)) > 1 for line in lines)
            table = (
                f'<table class="long">\n{body}\n</table>'
                if is_long
                else f"<table>\n{body}\n</table>"
            )
            return _scrolled(table, _line_lengths(lines))
        case MatrixBlock() if _is_wide(block):
            body = "\n".join(
                f'<tr><td>{_math(name)}</td><td class="listed">'
                + "; ".join(f"{_math(column)}:&nbsp;{_math(e)}" for column, e in entries)
                + "</td></tr>"
                for name, entries in listed(block)
            )
            number = f"{_html_number(block.number)} " if block.number else ""
            head = f"<p>{number}{_math(block.left)} row by row, without zeros:</p>"
            return f'{head}\n<div class="wide"><table>\n{body}\n</table></div>'
        case MatrixBlock(left, grid, row_names):
            equals = MathRow((left, Operator("=")))
            table = _named_matrix(grid, row_names) if row_names else to_mathml(grid)
            whole = f'<math displaystyle="true"><mrow>{to_mathml(equals)}{table}</mrow></math>'
            if block.number:
                cells = f"<td>{_html_number(block.number)}</td><td>{whole}</td>"
                whole = f"<table><tr>{cells}</tr></table>"
            return _scrolled(whole, _matrix_lengths(block))
        case Picture(svg, caption):
            said = f'<figcaption class="note">{escape(caption)}</figcaption>'
            return f'<figure class="drawn">{svg}{said}</figure>'
    raise TypeError(block)


def _named_matrix(grid: MathGrid, names: tuple[Node, ...]) -> str:
    """A matrix with the names of its rows in a last column; borders of cells are its brackets."""
    rows = []
    for i, (name, entries) in enumerate(zip(names, grid.rows, strict=True)):
        ends = [*["row-top"] * (i == 0), *["row-bottom"] * (i == len(names) - 1)]
        cells = ""
        for j, entry in enumerate(entries):
            sides = [*["bracket-open"] * (j == 0), *["bracket-close"] * (j == len(entries) - 1)]
            cells += f"<mtd{_class(sides)}>{to_mathml(entry)}</mtd>"
        cells += f'<mtd class="row-name">{to_mathml(name)}</mtd>'
        rows.append(f"<mtr{_class(ends)}>{cells}</mtr>")
    return f'<mtable class="named">{"".join(rows)}</mtable>'


def _class(words: list[str]) -> str:
    return f' class="{" ".join(words)}"' if words else ""


def _scrolled(inside: str, lengths: list[int]) -> str:
    """A box that scrolls; where it cannot, the number of letters says how small to set them."""
    return f'<div class="scroll" style="--letters: {sum(lengths)}">{inside}</div>'


def _line_lengths(lines: tuple[EquationLine, ...]) -> list[int]:
    """Letters of the longest left side, right side and note."""
    sides, whole = [0], [0]
    for line in lines:
        *before, left = [len(to_text(r)) for r in broken_math(line.left)]
        first, *rest = [len(to_text(r)) for r in broken_math(line.right)]
        sides.append(0 if before else left)
        whole += [*before, *rest, first + (left if before else 0)]
    numbers = max(len(str(line.number)) + 2 if line.number else 0 for line in lines)
    return [numbers + max(sides), max(whole) + 2, max(len(line.note) for line in lines)]


def _matrix_lengths(block: MatrixBlock) -> list[int]:
    """Letters of the name, of each column and of the names of the rows."""
    columns = zip(*block.grid.rows, strict=True)
    widths = [max(len(to_text(entry)) for entry in column) + 2 for column in columns]
    names = max((len(to_text(name)) + 2 for name in block.row_names), default=0)
    return [len(to_text(block.left)) + 3, *widths, names]


def _html_number(number: int) -> str:
    return f'<span class="number">({number})</span>' if number else ""


def _html_cell(cell: str | Node) -> str:
    return escape(cell) if isinstance(cell, str) else _math(cell)


def _html_line(line: EquationLine) -> str:
    *before, left = broken_math(line.left)
    first, *rest = broken_math(line.right)
    note = f'<td class="note">{escape(line.note)}</td>' if line.note else ""
    sign: Node = Operator(line.sign)
    own = f"<td>{_html_number(line.number)}</td>" if line.number else ""
    empty = "<td></td>" if line.number else ""
    # a left side that is broken takes the room of both sides
    spans = '<td colspan="2"' if before else "<td></td><td"
    indented = f'<tr>{empty}{spans} class="more">{{}}</td>{{}}</tr>'
    rows = [f"<tr>{own}{spans}>{_math(r, True)}</td></tr>" for r in before[:1]]
    rows += [indented.format(_math(r, True), "") for r in before[1:]]
    if before:
        rows.append(indented.format(_math(MathRow((*left.items, sign, *first.items)), True), note))
    else:
        side = f'<td class="side">{_math(left, True)}</td>'
        rows.append(
            f"<tr>{own}{side}<td>{_math(MathRow((sign, *first.items)), True)}</td>{note}</tr>"
        )
    rows += [indented.format(_math(r, True), "") for r in rest]
    return "\n".join(rows)


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
        return text_document(title, sections)


class LatexFormat(AbstractEquationFormat):
    """A fragment for the body of a LaTeX document, which needs no package."""

    __slots__ = ()

    word = "latex"
    name = "LaTeX"
    suffixes = (".tex",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        return latex_document(title, sections)


class HtmlFormat(AbstractEquationFormat):
    """One page with MathML that needs no network."""

    __slots__ = ()

    word = "html"
    name = "HTML"
    suffixes = (".html",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
        return html_document(title, sections)


class MarkdownFormat(AbstractEquationFormat):
    """Markdown with $ and $$ for mathematics."""

    __slots__ = ()

    word = "markdown"
    name = "Markdown"
    suffixes = (".md",)

    def text(self, title: str, sections: list[Section]) -> str:
        """The document."""
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

    Parameters
    ----------
    equations : derived equations; the document follows their formulation.
    format : ``"text"``, ``"markdown"``, ``"latex"`` (a fragment for any document)
        or ``"html"`` (one page with MathML that needs no network), or the word of your own.
    coordinates : coordinates of orientations, ``"angles"`` or ``"quaternion"``; the angles by
        default where the model names some.
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
    """The derivation as a document.

    Parameters
    ----------
    linear : independent speed of straight running, about which small motions are written instead.
    """
    if linear is not None:
        from noslip.show.equations.small_motions import linear_equations

        return linear_equations(
            equations, linear, coordinates=coordinates, speeds=speeds, seconds=seconds
        )
    from noslip.show.equations.derivations import derivation

    return derivation(equations, coordinates=coordinates, speeds=speeds, seconds=seconds)
