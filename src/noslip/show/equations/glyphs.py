"""Short symbols for names: one letter, Greek where the name is, an index, and dots for rates."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class Glyph:
    """A symbol as mathematics writes it: θ̇ with index wheel1.

    Parameters
    ----------
    base : one letter, or a word that is written upright.
    index : beside it, below; empty for none.
    dots : 1 for a rate, 2 for an acceleration.
    is_hatted : whether it has a hat: a letter of a method that the model uses for something else.
    """

    base: str
    index: str = ""
    dots: int = 0
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
        plain = f"{base}{_DOTS[self.dots]}{joined}{self.index}"
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
    if len(base) == 1:
        return _LATEX.get(base, base)
    if len(base) == 2 and base[1] == TILDE:
        return rf"\tilde{{{latex_letters(base[0])}}}"
    if base.startswith("("):
        return f"({' '.join(latex_letters(part) for part in base[1:-1].split(' '))})"
    if len(base) <= 3 and any(c in _LATEX for c in base):
        return " ".join(_LATEX.get(c, c) for c in base)
    return rf"\mathrm{{{escape_latex(base)}}}"


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
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀ", "0123456789-+T")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
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
            done += f"$^{{{piece['up'].translate(_RAISED)}}}$"
        elif piece["down"]:
            done += f"$_{{{piece['down'].translate(_LOWERED)}}}$"
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
