"""Short symbols for names: one letter, Greek where the name is, an index, and dots for rates."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma "
    "tau upsilon phi chi psi omega"
).split()
_LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
#: Name of a letter → the letter, capital ones under capital names.
GREEK = dict(zip(_NAMES, _LETTERS, strict=True))
GREEK |= {name.capitalize(): letter.upper() for name, letter in GREEK.items()}
GREEK |= {"lam": "λ", "ell": "ℓ", "varphi": "φ"}

_LATEX = {letter: "\\" + name for name, letter in zip(_NAMES, _LETTERS, strict=True)}
_LATEX |= {
    letter.upper(): "\\" + name.capitalize()
    for name, letter in zip(_NAMES, _LETTERS, strict=True)
    if name.capitalize() in "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
}
_LATEX |= {"ℓ": r"\ell", "φ": r"\varphi", "ο": "o", "∂": r"\partial"}
#: Combining marks for one, two and three dots.
_DOTS = ("", "\u0307", "\u0308", "\u20db")
_LATEX_DOTS = ("", r"\dot", r"\ddot", r"\dddot")
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
    """

    base: str
    index: str = ""
    dots: int = 0

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
        plain = f"{self.base}{_DOTS[self.dots]}{joined}{self.index}"
        return unicodedata.normalize("NFC", plain)

    @property
    def latex(self) -> str:
        """In LaTeX."""
        base = latex_letters(self.base)
        if self.dots:
            base = f"{_LATEX_DOTS[self.dots]}{{{base}}}"
        return f"{base}_{{{_latex_index(self.index)}}}" if self.index else base


def latex_letters(base: str) -> str:
    """A letter in italics, a word upright, a product in brackets such as (C η) as one."""
    if len(base) == 1:
        return _LATEX.get(base, base)
    if len(base) == 2 and base[1] == TILDE:
        return rf"\tilde{{{latex_letters(base[0])}}}"
    if base.startswith("("):
        return f"({' '.join(latex_letters(part) for part in base[1:-1].split(' '))})"
    return rf"\mathrm{{{escape_latex(base)}}}"


def _latex_index(index: str) -> str:
    if len(index) == 1 or index.replace(",", "").isdigit():
        return latex_letters(index) if len(index) == 1 else index
    parts = [latex_letters(part) for part in index.split(",")]
    return ",".join(parts)


_SIGNS = {"−": "$-$", "–": "--", "—": "---", "×": r"$\times$", "·": r"$\cdot$", "²": "$^2$"}
_SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SIGNS |= {"°": r"$^\circ$", "’": "'", "½": r"$\frac{1}{2}$"}


def escape_latex(text: str) -> str:
    """Text with the characters that LaTeX reads as commands, and Greek letters as mathematics."""
    done = ""
    for c in text:
        if c in "#$%&_{}":
            done += "\\" + c
        elif c in _LATEX:
            done += f"${_LATEX[c]}$"
        else:
            done += _SIGNS.get(c, c)
    return done


def glyph_of_text(text: str) -> Glyph:
    """The glyph of parts and labels that is written so: z12, S41, T_wheel1,31, (C η)_1."""
    found = re.fullmatch(r"(\(.*\)|.)(?:_(.+)|(\d+))?", text)
    return Glyph(found[1], found[2] or found[3] or "") if found else Glyph(text)


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
    return Glyph(GREEK.get(head, head or name), ",".join(_greek_index(tail)))


def _greek_index(tail: str) -> list[str]:
    return [GREEK.get(part, part) for part in tail.split(",")] if tail else []
