"""Arranged mathematics as a line of text, as LaTeX and as MathML.

MathML uses the elements that browsers show by themselves and no others: mrow, mi, mn, mo, mtext,
msub, msup, mover, mfrac, msqrt, mtable, mtr, mtd.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from noslip.show.equations.glyphs import ACCENTS, Glyph, escape_latex
from noslip.show.equations.layout import (
    Cases,
    Fenced,
    MathCall,
    MathGrid,
    MathNumber,
    MathRow,
    Node,
    Operator,
    Power,
    Quotient,
    Root,
    Word,
)

_SUPERSCRIPTS = str.maketrans("0123456789−T", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ")
_TIGHT = {"∂", "Σ"}
_LATEX_SIGNS = {
    "−": "-", "·": r"\cdot", "∂": r"\partial", "Σ": r"\sum", "≥": r"\ge", "≤": r"\le",
    "≠": r"\ne", "(": r"\big(", ")": r"\big)", "×": r"\times", "→": r"\to", "|": r"\vert",
}  # fmt: skip
_THIN = ' rspace="0.1667em"'
_LATEX_FUNCTIONS = {"sin", "cos", "tan", "cot", "exp", "log", "sinh", "cosh", "tanh", "min", "max"}


def to_text(node: Node) -> str:
    """One line of Unicode text; products with spaces, fractions with a slash."""
    match node:
        case Glyph():
            return node.text
        case MathNumber(digits):
            return digits
        case Operator(sign):
            return sign
        case Word(text):
            return text
        case MathRow(items):
            return _text_row(items)
        case Quotient(top, bottom):
            return f"{_text_factor(top)}/{_text_factor(bottom, below=True)}"
        case Power(base, exponent):
            raised = to_text(exponent)
            if raised.translate(_SUPERSCRIPTS) != raised and all(
                c in "0123456789−T" for c in raised
            ):
                return f"{to_text(base)}{raised.translate(_SUPERSCRIPTS)}"
            return f"{to_text(base)}^{_text_factor(exponent, below=True)}"
        case Root(inside):
            return f"√({to_text(inside)})"
        case Fenced(inside, left, right):
            return f"{left}{to_text(inside)}{right}"
        case MathCall(name, arguments, power):
            raised = to_text(power).translate(_SUPERSCRIPTS) if power is not None else ""
            return f"{name}{raised}({', '.join(to_text(a) for a in arguments)})"
        case MathGrid(rows):
            return "[" + "; ".join(", ".join(to_text(e) for e in r) for r in rows) + "]"
        case Cases(cases):
            parts = [
                f"{to_text(value)} " + ("otherwise" if c is None else f"if {to_text(c)}")
                for value, c in cases
            ]
            return "{" + ", ".join(parts) + "}"
    raise TypeError(node)


def _text_row(items: tuple[Node, ...]) -> str:
    text = ""
    for k, item in enumerate(items):
        piece = to_text(item)
        sign = item.sign if isinstance(item, Operator) else ""
        before = items[k - 1] if k else None
        after_tight = isinstance(before, Operator) and (
            before.sign in _TIGHT or (before.sign == "−" and k == 1)
        )
        after_tight = after_tight or (isinstance(before, Power) and before.base == Operator("∂"))
        slash = sign == "/" or (isinstance(before, Operator) and before.sign == "/")
        tight = slash or after_tight or sign in (",", ";")
        if not text or tight or isinstance(before, Word | None):
            text += piece
        elif isinstance(item, Word) and not isinstance(before, Operator):
            text += piece
        else:
            text += f" {piece}"
    return text


def _is_product(node: Node) -> bool:
    return isinstance(node, MathRow) and not any(isinstance(i, Operator) for i in node.items)


def _text_factor(node: Node, below: bool = False) -> str:
    """A piece that may stand beside a slash."""
    whole = to_text(node)
    single = not isinstance(node, MathRow | Quotient | Cases)
    return whole if single or (_is_product(node) and not below) else f"({whole})"


def to_latex(node: Node) -> str:
    """LaTeX of a formula, without delimiters."""
    match node:
        case Glyph():
            return node.latex
        case MathNumber(digits):
            return digits
        case Operator(sign):
            return _LATEX_SIGNS.get(sign, sign)
        case Word(text):
            return rf"\mbox{{{escape_latex(text)}}}"
        case MathRow(items):
            return " ".join(to_latex(i) for i in items)
        case Quotient(top, bottom):
            return rf"\frac{{{to_latex(top)}}}{{{to_latex(bottom)}}}"
        case Power(base, exponent):
            inside = to_latex(base)
            wrapped = f"{{{inside}}}" if isinstance(base, Glyph) else inside
            return f"{wrapped}^{{{to_latex(exponent)}}}"
        case Root(inside):
            return rf"\sqrt{{{to_latex(inside)}}}"
        case Fenced(inside, left, right):
            return rf"\left{left}{to_latex(inside)}\right{right}"
        case MathCall(name, arguments, power):
            return _latex_call(name, arguments, power)
        case MathGrid(rows):
            # an array may have any number of columns
            lines = r" \\ ".join(" & ".join(to_latex(e) for e in r) for r in rows)
            columns = "c" * max((len(r) for r in rows), default=1)
            array = rf"\begin{{array}}{{{columns}}} {lines} \end{{array}}"
            return rf"\left[{array}\right]"
        case Cases(cases):
            lines = r" \\ ".join(
                f"{to_latex(value)} & "
                + (r"\mbox{otherwise}" if c is None else rf"\mbox{{if }} {to_latex(c)}")
                for value, c in cases
            )
            return rf"\left\{{\begin{{array}}{{ll}} {lines} \end{{array}}\right."
    raise TypeError(node)


def _latex_call(name: str, arguments: tuple[Node, ...], power: Node | None) -> str:
    if name == "abs":
        whole = rf"\left\vert {to_latex(arguments[0])}\right\vert"
        return whole if power is None else f"{whole}^{{{to_latex(power)}}}"
    upright = rf"\mathop{{\mathrm{{{escape_latex(name)}}}}}\nolimits"
    command = rf"\{name}" if name in _LATEX_FUNCTIONS else upright
    raised = f"^{{{to_latex(power)}}}" if power is not None else ""
    inside = ", ".join(to_latex(a) for a in arguments)
    if len(arguments) == 1 and isinstance(arguments[0], Glyph):
        return f"{command}{raised} {inside}"
    return rf"{command}{raised}\left({inside}\right)"


def to_mathml(node: Node) -> str:
    """Presentation MathML of a formula, without the math element."""
    match node:
        case Glyph():
            return _mathml_glyph(node)
        case MathNumber(digits):
            return f"<mn>{escape(digits)}</mn>"
        case Operator(sign):
            return f"<mo>{escape(sign)}</mo>"
        case Word(text):
            return f"<mtext>{escape(_hard_spaces(text))}</mtext>"
        case MathRow(items):
            return f"<mrow>{_mathml_items(items)}</mrow>"
        case Quotient(top, bottom):
            return f"<mfrac>{to_mathml(top)}{to_mathml(bottom)}</mfrac>"
        case Power(base, exponent):
            return f"<msup>{to_mathml(base)}{to_mathml(exponent)}</msup>"
        case Root(inside):
            return f"<msqrt>{to_mathml(inside)}</msqrt>"
        case Fenced(inside, left, right):
            return f"<mrow><mo>{left}</mo>{to_mathml(inside)}<mo>{right}</mo></mrow>"
        case MathCall(name, arguments, power):
            return _mathml_call(name, arguments, power)
        case MathGrid(rows):
            # a page may draw the brackets itself, where the font's cannot grow
            return f'<mrow class="matrix"><mo>[</mo>{_mathml_table(rows)}<mo>]</mo></mrow>'
        case Cases(cases):
            rows = tuple(
                (value, Word("otherwise") if c is None else MathRow((Word("if "), c)))
                for value, c in cases
            )
            return f"<mrow><mo>{{</mo>{_mathml_table(rows)}</mrow>"
    raise TypeError(node)


def _mathml_items(items: tuple[Node, ...]) -> str:
    """Items with the invisible multiplication sign between factors, for screen readers."""
    pieces: list[str] = []
    for k, item in enumerate(items):
        quiet = (Operator, Word)
        if k and not isinstance(item, quiet) and not isinstance(items[k - 1], quiet):
            is_function = isinstance(item, MathCall) or isinstance(items[k - 1], MathCall)
            pieces.append(f"<mo{_THIN if is_function else ''}>&#x2062;</mo>")
        pieces.append(to_mathml(item))
    return "".join(pieces)


def _mathml_glyph(glyph: Glyph) -> str:
    def letters(text: str) -> str:
        if text.isdigit():
            return f"<mn>{text}</mn>"
        if text.startswith("("):
            inside = "".join(letters(part) for part in text[1:-1].split(" "))
            return f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>"
        if len(text) <= 3 and any("α" <= c <= "ω" for c in text[1:]):
            return f"<mrow>{''.join(letters(c) for c in text)}</mrow>"
        return f"<mi>{escape(text)}</mi>" if len(text) == 1 else f"<mtext>{escape(text)}</mtext>"

    base = letters(glyph.base)
    if glyph.is_hatted:
        base = f'<mover accent="true">{base}<mo stretchy="false">^</mo></mover>'
    if glyph.dots:
        base = f'<mover accent="true">{base}<mo>{ACCENTS[glyph.dots]}</mo></mover>'
    if not glyph.index:
        return base
    parts = [letters(part) for part in glyph.index.split(",")]
    index = parts[0] if len(parts) == 1 else f"<mrow>{'<mo>,</mo>'.join(parts)}</mrow>"
    return f"<msub>{base}{index}</msub>"


def _mathml_call(name: str, arguments: tuple[Node, ...], power: Node | None) -> str:
    if name == "abs":
        whole = f"<mrow><mo>|</mo>{to_mathml(arguments[0])}<mo>|</mo></mrow>"
        return whole if power is None else f"<msup>{whole}{to_mathml(power)}</msup>"
    head = f"<mi>{escape(name)}</mi>"
    if power is not None:
        head = f"<msup>{head}{to_mathml(power)}</msup>"
    if len(arguments) == 1 and isinstance(arguments[0], Glyph):
        return f"<mrow>{head}<mo{_THIN}>&#x2061;</mo>{to_mathml(arguments[0])}</mrow>"
    inside = "<mo>,</mo>".join(to_mathml(a) for a in arguments)
    return f"<mrow>{head}<mo>&#x2061;</mo><mrow><mo>(</mo>{inside}<mo>)</mo></mrow></mrow>"


def _mathml_table(rows: tuple[tuple[Node, ...], ...]) -> str:
    cell: Callable[[Node], str] = lambda e: f"<mtd>{to_mathml(e)}</mtd>"  # noqa: E731
    lines = "".join(f"<mtr>{''.join(cell(e) for e in r)}</mtr>" for r in rows)
    return f"<mtable>{lines}</mtable>"


def _hard_spaces(text: str) -> str:
    """Spaces at the ends would be dropped."""
    inner = text.strip()
    left = len(text) - len(text.lstrip())
    right = len(text) - len(text.rstrip())
    return "\u00a0" * left + inner + "\u00a0" * right if inner else "\u00a0" * len(text)
