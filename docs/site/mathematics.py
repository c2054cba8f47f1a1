"""Mathematics of the site: equations of a page as MathML, and marks that every font has.

An indented block of equations on a page is a line each, with its number first and what it follows
behind it; formulas stand apart by three spaces:

    (1)   M V̇ = −W M V + w^W + w^N,   V = T η        [eq. 10]

Other blocks keep their text, with the dots of φ̇ beside the letter, as the terminal has them.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from pathlib import Path

from noslip.show.equations.documents import font_style
from noslip.show.equations.layout import formula, to_mathml, with_marks_beside

#: Marks above letters.
_MARKS = "\u0302\u0303\u0304\u0307\u0308"
_NUMBER = re.compile(r"\((\d+\w?)\)\s+")
_RELATION = re.compile("[=≤←→]")
_MOST_LINES = 8
_SOURCE = re.compile(r"\s{2,}(\[[^\]]*\beqs?\. [^\]]*\])$")
#: Words of two letters; longer ones of small letters are words anyway.
_SHORT = {"is", "at", "to", "of", "on", "in", "by", "it", "or"}
_PRODUCTS = {"mgr"}
_FUNCTIONS = {"sin", "cos", "tan", "arccot", "diag", "det", "max", "min", "exp"}


def is_equations(text: str) -> bool:
    """Whether all lines of a block are equations, and the first has a number or a marked letter."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    is_marked = any(mark in unicodedata.normalize("NFD", text) for mark in _MARKS)
    are_relations = all(_RELATION.search(line) or _NUMBER.match(line) for line in lines)
    return (
        0 < len(lines) <= _MOST_LINES
        and are_relations
        and bool(is_marked or _NUMBER.match(lines[0]))
    )


def _readable(text: str) -> str:
    """A formula as `formula` reads it: indices in braces, words in quotes."""
    plain = re.sub(r"_([^\W_]{2,})", r"_{\1}", unicodedata.normalize("NFD", text))

    def quoted(found: re.Match[str]) -> str:
        word, after = found[0], plain[found.end() : found.end() + 1]
        if word in _FUNCTIONS:
            return f'"{word}"' if after in "(²" else f'"{word} "'
        is_word = word in _SHORT or (len(word) > 2 and word.islower() and word not in _PRODUCTS)
        return f'" {word} "' if is_word else word

    # what is in braces is an index, a letter with a mark is none of a word
    return re.sub(rf"(?<![{{A-Za-z])[A-Za-z]{{2,}}(?![A-Za-z}}{_MARKS}])", quoted, plain)


def _typeset(part: str) -> str:
    """A formula as MathML, words as they are."""
    if re.fullmatch(r"[A-Za-z'’ ]{3,}", part):
        return f"<span>{escape(part)}</span>"
    return f'<math displaystyle="true">{to_mathml(formula(_readable(part)))}</math>'


def write(target: Path) -> None:
    """Style sheet of the font of mathematics, whose dots stand clear of their letters."""
    target.write_text(font_style() + "\n", "utf-8")


def mathml(text: str) -> str:
    """A block of equations as a table of MathML."""
    rows = []
    for line in text.splitlines():
        if not line.strip():
            continue
        number = _NUMBER.match(line.strip())
        rest = line.strip()[number.end() :] if number else line.strip()
        source = _SOURCE.search(rest)
        rest = rest[: source.start()] if source else rest
        cells = "".join(_typeset(part) for part in re.split(r"\s{2,}", rest) if part)
        rows.append(
            f'<tr><td class="number">{f"({number[1]})" if number else ""}</td>'
            f"<td>{cells}</td>"
            f'<td class="source">{escape(source[1]) if source else ""}</td></tr>'
        )
    return f'<div class="equations noslip"><table>{"".join(rows)}</table></div>'


def typeset(app, doctree) -> None:
    """Equations of a page as MathML, and dots beside letters in every other block."""
    from docutils import nodes

    for block in list(doctree.findall(nodes.literal_block)):
        text = block.astext()
        if block.get("language", "none") in ("none", "default", "") and is_equations(text):
            block.replace_self(nodes.raw("", mathml(text), format="html"))
        elif with_marks_beside(text) != unicodedata.normalize("NFC", text):
            text = with_marks_beside(text)
            block.rawsource = text
            block.children = [nodes.Text(text)]
            block.children[0].parent = block
    for inline in list(doctree.findall(nodes.literal)):
        text = with_marks_beside(inline.astext())
        if text != unicodedata.normalize("NFC", inline.astext()):
            inline.children = [nodes.Text(text)]
            inline.children[0].parent = inline
