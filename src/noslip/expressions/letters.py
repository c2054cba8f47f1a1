r"""Symbols of quantities as people write them, read from plain text or LaTeX.

``θ``, ``\theta`` and ``theta`` are one letter; ``I_1``, ``I1`` and ``I_{1}`` one letter with an
index; ``θ̇`` and ``\dot{\theta}`` a letter with a dot.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

#: Names of the Greek letters in the order of `GREEK_LETTERS`.
GREEK_NAMES = tuple(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma "
    "tau upsilon phi chi psi omega".split()
)
GREEK_LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"
#: Name of a letter → the letter, capital ones under capital names.
GREEK = dict(zip(GREEK_NAMES, GREEK_LETTERS, strict=True))
GREEK |= {name.capitalize(): letter.upper() for name, letter in GREEK.items()}
GREEK |= {"lam": "λ", "ell": "ℓ", "varphi": "φ", "vartheta": "θ", "varepsilon": "ε"}

_DOTS = {"\u0307": 1, "\u0308": 2, "\u20db": 3}
_MARKS = ("", *_DOTS)
_DOTTED = re.compile(r"\\(d{1,3})ot\s*(?:\{(?P<group>.+?)\}(?=_|$|\s)|(?P<single>\\[A-Za-z]+|\w))")
_SYMBOL = re.compile(
    r"(?P<base>[^\W\d_]+|ℓ)(?P<dots>[\u0307\u0308\u20db]?)"
    r"(?:(?P<digits>\d+)|_\{(?P<long>[^{}]+)\}|_(?P<short>[^\s{}]+))?"
)


@dataclass(frozen=True, slots=True)
class Letter:
    """A symbol: one letter or a word, an index beside it, and dots above it."""

    base: str
    index: str = ""
    dots: int = 0

    @property
    def rate(self) -> Letter:
        """The same with one dot more."""
        return replace(self, dots=self.dots + 1)

    @property
    def plain(self) -> str:
        """Plain text, such as ``θ̇_1``."""
        joined = f"_{self.index}" if self.index else ""
        return unicodedata.normalize("NFC", f"{self.base}{_MARKS[self.dots]}{joined}")


def read_symbol(text: str) -> Letter:
    """The symbol of a text.

    Raises
    ------
    ValueError : if it is not a symbol.
    """
    bare = unicodedata.normalize("NFD", text.strip().strip("$").strip())
    dots = 0
    dotted = _DOTTED.match(bare)
    if dotted:
        dots = len(dotted[1])
        bare = (dotted["group"] or dotted["single"]) + bare[dotted.end() :].strip()
    bare = re.sub(r"\\(?:mathrm|mathit|mathsf|text|textrm)\s*\{([^{}]*)\}", r"\1", bare)
    bare = re.sub(r"\\([A-Za-z]+)\s*", _letter, bare)
    bare = re.sub(r"\\[,;! ]|\s+", "", bare)
    if re.fullmatch(r"\{[^{}]+\}(?:_.+)?", bare):
        bare = bare.replace("{", "", 1).replace("}", "", 1)
    found = _SYMBOL.fullmatch(bare)
    if found is None:
        raise ValueError(f"'{text}' is not a letter with an index")
    index = found["digits"] or found["long"] or found["short"] or ""
    above = dots or _DOTS.get(found["dots"], 0)
    base = GREEK.get(found["base"], found["base"])
    return Letter(base, ",".join(greek_index(part) for part in index.split(",")), above)


def _letter(command: re.Match[str]) -> str:
    if command[1] not in GREEK:
        raise ValueError(f"there is no letter \\{command[1]}")
    return GREEK[command[1]]


#: Greek names that may stand after one letter in an index: F_cphi is F with the index cφ.
_IN_INDEX = "alpha|beta|gamma|delta|theta|lambda|rho|sigma|tau|phi|chi|psi|omega"


def greek_index(part: str) -> str:
    """A part of an index with Greek letters for their names: phi, cphi."""
    if part in GREEK:
        return GREEK[part]
    found = re.fullmatch(rf"([A-Za-z])({_IN_INDEX})", part)
    return f"{found[1]}{GREEK[found[2]]}" if found else part
