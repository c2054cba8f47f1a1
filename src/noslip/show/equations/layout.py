"""Layout of formulas and documents, the same for text, LaTeX and MathML.

**Short symbols for names: one letter, Greek where the name is, an index, and dots for rates.**

**Layout trees of formulas, the same for text, LaTeX and MathML.**

A node is a glyph, a number, an operator, a word, or one of the arrangements below. They are made
from SymPy expressions (`arranger`), from sums (`plain`) or from a line of Unicode (`formula`).

**Arranged mathematics as a line of text, as LaTeX and as MathML.**

MathML uses the elements that browsers show by themselves and no others: mrow, mi, mn, mo, mtext,
msub, msup, mover, mfrac, msqrt, mtable, mtr, mtd.

**Blocks of a document of equations: paragraphs, tables, lines and matrices, in sections.**
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from html import escape
from typing import Any

from noslip.expressions import GREEK, GREEK_LETTERS, GREEK_NAMES, greek_index, read_symbol

_LATEX = {letter: "\\" + name for name, letter in zip(GREEK_NAMES, GREEK_LETTERS, strict=True)}
_LATEX |= {
    letter.upper(): "\\" + name.capitalize()
    for name, letter in zip(GREEK_NAMES, GREEK_LETTERS, strict=True)
    if name.capitalize() in "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
}
_LATEX |= {"ℓ": r"\ell", "φ": r"\varphi", "ο": "o", "∂": r"\partial"}
#: Combining marks for one, two and three dots.
_DOTS = ("", "\u0307", "\u0308", "\u20db")
_HAT = "\u0302"
#: Three dots need amsmath; one above two is three as well, and every LaTeX has it.
_LATEX_DOTS = (("",), (r"\dot",), (r"\ddot",), (r"\ddot", r"\dot"))
#: Combining mark of C̃.
TILDE = "\u0303"
#: The same as accents that stand alone, for MathML.
ACCENTS = ("", "˙", "¨", "⃛")
#: Combining marks → signs of their own, which every font has and none drops.
_BESIDE = str.maketrans({"\u0307": "˙", "\u0308": "¨", "\u20db": "˙˙˙", "\u0302": "ˆ", TILDE: "˜"})


def with_marks_beside(text: str) -> str:
    """Text without combining marks: φ˙ for φ with a dot above; ẋ, which is one letter, stays."""
    return unicodedata.normalize("NFC", text).translate(_BESIDE)


@dataclass(frozen=True, slots=True)
class Glyph:
    """A symbol as mathematics writes it: θ̇ with index wheel1."""

    base: str  #: one letter, or a word that is written upright
    index: str = ""  #: index below; empty for none
    dots: int = 0  #: 1 for a rate, 2 for an acceleration
    #: whether it has a hat: a letter of a method that the model uses for something else
    is_hatted: bool = False

    @property
    def rate(self) -> Glyph:
        """The same with one more dot."""
        return replace(self, dots=self.dots + 1)

    def of(self, owner: str) -> Glyph:
        """The same with the owner's name in the index."""
        return replace(self, index=f"{self.index},{owner}" if self.index else owner)

    @property
    def text(self) -> str:
        """In one line of text; a number stands beside its letter, a word after a low line."""
        beside = self.index.isdigit() and len(self.base) == 1
        joined = "" if beside or not self.index else "_"
        base = _hatted(self.base) if self.is_hatted else self.base
        # dots over the last letter of a word would be those of a letter
        is_word = base[0] != "(" and sum(map(str.isalpha, base)) > 1
        dots = (ACCENTS if is_word else _DOTS)[self.dots]
        plain = f"{base}{dots}{joined}{self.index}"
        return unicodedata.normalize("NFC", plain)

    @property
    def latex(self) -> str:
        """In LaTeX."""
        base = latex_letters(self.base)
        if self.is_hatted:
            base = rf"\hat{{{base}}}"
        for command in _LATEX_DOTS[self.dots] if self.dots else ():
            base = f"{command}{{{base}}}"
        return f"{base}_{{{_latex_index(self.index)}}}" if self.index else base


def latex_letters(base: str) -> str:
    """A letter in italics, a word upright, a product in brackets such as (C η) as one."""
    plain = unicodedata.normalize("NFD", base)
    if len(plain) == 2 and plain[1] in _ABOVE:
        return rf"{_ABOVE[plain[1]]}{{{latex_letters(plain[0])}}}"
    if len(base) == 1:
        return _LATEX.get(base, base)
    if base.startswith("("):
        return f"({' '.join(latex_letters(part) for part in base[1:-1].split(' '))})"
    if len(base) <= 3 and any(c in _LATEX for c in base):
        return " ".join(_LATEX.get(c, c) for c in base)
    word = escape_latex(base)
    # mathematics within, as in Tᵀw, is none within \mathrm
    return rf"\mbox{{{word}}}" if "$" in word else rf"\mathrm{{{word}}}"


def _hatted(base: str) -> str:
    """A hat on the letter, on the first one of a product in brackets."""
    k = 1 if base.startswith("(") else 0
    return f"{base[: k + 1]}{_HAT}{base[k + 1 :]}"


def _latex_index(index: str) -> str:
    if len(index) == 1 or index.replace(",", "").isdigit():
        return latex_letters(index) if len(index) == 1 else index
    parts = [latex_letters(part) for part in index.split(",")]
    return ",".join(parts)


_SIGNS = {"−": "$-$", "–": "--", "—": "---", "×": r"$\times$", "·": r"$\cdot$", "²": "$^2$"}
_SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SIGNS |= {"°": r"$^\circ$", "’": "'", "′": "'", "½": r"$\frac{1}{2}$", "…": r"\ldots{}"}
_SIGNS |= {
    "±": r"$\pm$",
    "→": r"$\to$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "∞": r"$\infty$",
}
_SIGNS |= {"∫": r"$\int$", "√": r"$\surd$", "∈": r"$\in$", "⊗": r"$\otimes$", "≈": r"$\approx$"}
#: Combining marks → commands above a letter.
_ABOVE = {"\u0307": r"\dot", "\u0308": r"\ddot", TILDE: r"\tilde", "\u0304": r"\bar", _HAT: r"\hat"}
_UNRAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ", "0123456789-+T")
_UNLOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_PIECES = re.compile(
    rf"(?P<letter>.)(?P<marks>[{''.join(_ABOVE)}]+)|(?P<up>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ]+)|(?P<down>[₀-₉]+)|(?P<other>.)",
    re.DOTALL,
)


def escape_latex(text: str) -> str:
    """Text with the characters that LaTeX reads as commands, and mathematics as such.

    Greek letters, letters with dots, and numbers above and below the line need no package so.
    """
    # ä is a letter of LaTeX, Ṫ is not
    plain = "".join(unicodedata.normalize("NFD", c) if c > "\u1dff" else c for c in text)
    done = ""
    for piece in _PIECES.finditer(plain):
        if piece["letter"]:
            inside = _LATEX.get(piece["letter"], piece["letter"])
            for mark in piece["marks"]:
                inside = f"{_ABOVE[mark]}{{{inside}}}"
            done += f"${inside}$"
        elif piece["up"]:
            done += f"$^{{{piece['up'].translate(_UNRAISED)}}}$"
        elif piece["down"]:
            done += f"$_{{{piece['down'].translate(_UNLOWERED)}}}$"
        else:
            c = piece["other"]
            known = _SIGNS.get(c, c) if c not in _LATEX else f"${_LATEX[c]}$"
            done += "\\" + c if c in "#$%&_{}" else known
    # mathematics that follows mathematics is one formula
    return re.sub(r"(?<!\\)\$\$", "", done)


def glyph_of_text(text: str) -> Glyph:
    """The glyph of parts and labels that is written so: z12, S41, Ṫ_wheel1,31, C̃_12, (C η)_1."""
    plain = unicodedata.normalize("NFD", text)
    is_hatted = _HAT in plain
    marks = "".join(_DOTS)
    pattern = rf"(\(.*\)|.{TILDE}?)([{marks}]?)(?:_(.+)|(\d+))?"
    found = re.fullmatch(pattern, plain.replace(_HAT, ""))
    if found is None:
        return Glyph(text)
    return Glyph(found[1], found[3] or found[4] or "", _DOTS.index(found[2]), is_hatted)


def glyph_of_name(name: str) -> Glyph:
    """The symbol of a name of the user's: m_wheel, I1, tau2, omega_max, Kp, drag.

    What stands before a low line or before digits is the letter, the rest its index. Names of
    Greek letters become the letters; a word stays a word.
    """
    head, _, tail = name.replace(".", "_").strip("_").partition("_")
    tail = tail.strip("_").replace("_", ",")
    digits = re.fullmatch(r"(\D+)(\d+)", head)
    if digits:
        head, tail = digits[1], digits[2] + (f",{tail}" if tail else "")
    elif re.fullmatch(r"[A-Z][a-z]", head) and head not in GREEK:
        head, tail = head[0], head[1] + (f",{tail}" if tail else "")
    index = ",".join(greek_index(part) for part in tail.split(",")) if tail else ""
    return Glyph(GREEK.get(head, head or name), index)


def glyph_of_symbol(text: str) -> Glyph:
    """The symbol that a model gives, plain or as LaTeX."""
    letter = read_symbol(text)
    return Glyph(letter.base, letter.index, letter.dots)


@dataclass(frozen=True, slots=True)
class MathNumber:
    """A number, as digits."""

    digits: str


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator sign between or before nodes: + − = · ∂ Σ ≥."""

    sign: str


@dataclass(frozen=True, slots=True)
class Word:
    """Upright text within mathematics."""

    text: str


@dataclass(frozen=True, slots=True)
class MathRow:
    """Nodes side by side."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """A fraction: one node over another."""

    top: Node
    bottom: Node


@dataclass(frozen=True, slots=True)
class Power:
    """A superscript: a node with an exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Root:
    """The square root of a node."""

    inside: Node


@dataclass(frozen=True, slots=True)
class Fenced:
    """A node between brackets."""

    inside: Node
    left: str = "("
    right: str = ")"


@dataclass(frozen=True, slots=True)
class MathCall:
    """A function of a node; `power` is written at its name, sin² x."""

    name: str
    arguments: tuple[Node, ...]
    power: Node | None = None


@dataclass(frozen=True, slots=True)
class MathGrid:
    """A matrix."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """A case distinction: nodes with their conditions (None for otherwise)."""

    cases: tuple[tuple[Node, Node | None], ...]


Node = (
    Glyph
    | MathNumber
    | Operator
    | Word
    | MathRow
    | Quotient
    | Power
    | Root
    | Fenced
    | MathCall
    | MathGrid
    | Cases
)

PLUS, MINUS = Operator("+"), Operator("−")


def row(*items: Node) -> MathRow:
    """Nodes side by side."""
    return MathRow(items)


def joined(items: list[Node], sign: Operator) -> MathRow:
    """Nodes with an operator between them."""
    placed: list[Node] = []
    for k, item in enumerate(items):
        placed += [sign, item] if k else [item]
    return MathRow(tuple(placed))


#: Digits of numbers that are not simple fractions.
DIGITS = 10


def number(text: str) -> Node:
    """A number as Python prints it; a power of ten where it has an exponent."""
    if "e" not in text:
        return signed_number(text)
    digits, _, exponent = text.partition("e")
    power = Power(MathNumber("10"), signed_number(str(int(exponent))))
    return power if digits == "1" else row(signed_number(digits), Operator("·"), power)


def signed_number(text: str) -> Node:
    """A number as digits, its sign before it."""
    return row(MINUS, MathNumber(text[1:])) if text.startswith("-") else MathNumber(text)


_RAISED_SIGNS: dict[str, Node] = {"T": Glyph("T"), "-": MINUS, "+": PLUS}
_BAR = "\u0304"
_UP = r"(?:[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ]+|\^\w|\^\{[^}]*\})?"
_TOKEN = re.compile(
    rf"(?P<word>\"[^\"]*\")(?P<above>{_UP})|(?P<base>(?!½)[^\W\d_]|∂)(?P<mark>[{_HAT}{TILDE}{_BAR}]?)"
    rf"(?P<dots>[\u0307\u0308]?)(?:_(?:\{{(?P<long>[^}}]*)\}}|(?P<short>\w))|(?P<low>[₀-₉]+))?"
    rf"(?P<raised>{_UP})|(?P<number>\d+(?:\.\d+)?)|(?P<open>[(\[])|(?P<close>[)\]])(?P<outer>{_UP})"
    r"|(?P<sign>\S)"
)


def formula(line: str, letter: Callable[[Glyph], Glyph] = lambda glyph: glyph) -> MathRow:
    """A line such as ``I η̇ = C η + τ`` as a node; each letter is a symbol, "words" are upright.

    Hats, tildes and bars stay, indices are behind a low line or small, powers behind ^ or raised.

    `letter` says how each of them is written.
    """
    stack: list[list[Node]] = [[]]
    brackets: list[str] = []
    for token in _TOKEN.finditer(unicodedata.normalize("NFD", line)):
        if token["word"]:
            stack[-1].append(_raised(Word(token["word"][1:-1]), token["above"]))
        elif token["base"]:
            dots = {"": 0, "\u0307": 1, "\u0308": 2}[token["dots"]]
            index = token["long"] or token["short"] or (token["low"] or "").translate(_UNLOWERED)
            is_hatted, above = token["mark"] == _HAT, token["mark"].replace(_HAT, "")
            own = Glyph(token["base"] + above, index, dots, is_hatted)
            written: Node = Operator("∂") if token["base"] == "∂" else letter(own)
            stack[-1].append(_raised(written, token["raised"]))
        elif token["number"]:
            stack[-1].append(MathNumber(token["number"]))
        elif token["open"]:
            brackets.append(token["open"])
            stack.append([])
        elif token["close"]:
            inside = MathRow(tuple(stack.pop()))
            stack[-1].append(
                _raised(Fenced(inside, brackets.pop(), token["close"]), token["outer"])
            )
        elif token["sign"] == "½":
            stack[-1].append(Quotient(MathNumber("1"), MathNumber("2")))
        else:
            stack[-1].append(Operator(token["sign"]))
    return MathRow(tuple(stack[0]))


def _raised(node: Node, mark: str) -> Node:
    signs = re.findall(r"\d+|.", mark.strip("^{}").translate(_UNRAISED))
    found = [MathNumber(x) if x.isdigit() else _RAISED_SIGNS.get(x) or Glyph(x) for x in signs]
    return Power(node, found[0] if len(found) == 1 else row(*found)) if found else node


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


#: Points of what LaTeX sets at 10 points, with the gaps around: of signs, and of letters by kind.
_SIGN_POINTS = {"+": 12.2, "−": 12.2, "=": 13.4, "·": 7.3, "(": 4.6, ")": 4.6, ",": 4.5, "Σ": 16.2}
_ITALIC, _CAPITAL, _ROMAN, _DIGIT = 5.5, 7.4, 5.2, 5.0
#: Size of indices and exponents, and of a fraction within a line.
_SMALL = 0.72


def points(node: Node, depth: int = 0) -> float:
    """Width of a formula as LaTeX sets it at 10 points, within some hundredths.

    Parameters
    ----------
    node : formula.
    depth : 0 for displayed ones, 1 in matrices, whose fractions are smaller.
    """

    def inside(node: Node) -> float:
        return points(node, depth)

    match node:
        case Glyph(base, index):
            capitals = sum(c.isupper() for c in base)
            wide = _ROMAN if len(base) > 3 else _ITALIC
            own = capitals * _CAPITAL + (len(base) - capitals) * wide
            return own + _SMALL * (_ROMAN + 0.4) * len(index) + 0.5
        case MathNumber(digits):
            return _DIGIT * len(digits) - 2.2 * digits.count(".")
        case Operator(sign):
            return _SIGN_POINTS.get(sign, 9.0)
        case Word(text):
            return _ROMAN * len(text)
        case MathRow(items):
            return sum(map(inside, items))
        case Quotient(top, bottom):
            size = 1.0 if depth == 0 else _SMALL
            return size * max(points(top, depth + 1), points(bottom, depth + 1)) + 2.4
        case Power(base, exponent):
            return inside(base) + _SMALL * inside(exponent) + 0.5
        case Root(within):
            return inside(within) + 10.0
        case Fenced(within):
            return inside(within) + (12.0 if isinstance(within, Quotient) else 9.5)
        case MathCall(name, arguments, power):
            raised = _SMALL * inside(power) if power is not None else 0.0
            fence = 1.7 if len(arguments) == 1 and isinstance(arguments[0], Glyph) else 9.5
            return _ROMAN * len(name) + raised + fence + sum(map(inside, arguments)) + 1.7
        case MathGrid(rows):
            columns = zip(*rows, strict=True)
            return 16.0 + sum(max(points(e, 1) for e in column) + 10.0 for column in columns)
        case Cases(cases):
            return 30.0 + max(inside(v) + (50.0 if c is None else inside(c)) for v, c in cases)
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


#: Combining marks of letters → accents of MathML.
_MATHML_MARKS = {_DOTS[1]: ACCENTS[1], TILDE: "~", _BAR: "¯"}


def _mathml_glyph(glyph: Glyph) -> str:
    def letters(text: str) -> str:
        if text.isdigit():
            return f"<mn>{text}</mn>"
        if text.startswith("("):
            inside = "".join(letters(part) for part in text[1:-1].split(" "))
            return f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>"
        plain = unicodedata.normalize("NFD", text)
        if len(plain) == 2 and plain[1] in _MATHML_MARKS:
            inside = letters(plain[0])
            mark = _MATHML_MARKS[plain[1]]
            return f'<mover accent="true">{inside}<mo stretchy="false">{mark}</mo></mover>'
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
    """An equation: left and right of a sign, a word on what it is, and its number, 0 for none."""

    left: Node
    right: Node
    note: str = ""
    sign: str = "="
    number: int = 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Equations below each other."""

    lines: tuple[EquationLine, ...]


@dataclass(frozen=True, slots=True)
class MatrixBlock:
    """A matrix with a name, what its rows and columns belong to, and its number, 0 for none."""

    left: Node
    grid: MathGrid
    row_names: tuple[Node, ...]
    column_names: tuple[Node, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing with a caption, in HTML; left out of other formats."""

    svg: str
    caption: str


Block = Paragraph | CellTable | Lines | MatrixBlock | Picture


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


def numbered(sections: list[Section]) -> list[Section]:
    """The sections with the equations and matrices numbered through, from 1."""
    count = itertools.count(1)

    def block_of(block: Block) -> Block:
        if isinstance(block, Lines):
            return Lines(tuple(replace(line, number=next(count)) for line in block.lines))
        return replace(block, number=next(count)) if isinstance(block, MatrixBlock) else block

    return [Section(s.title, tuple(map(block_of, s.blocks))) for s in sections]


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
        case Picture():
            nodes = []
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
