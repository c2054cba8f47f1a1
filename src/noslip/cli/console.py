"""Texts on consoles and pipes of every encoding: letters they lack are written in ASCII.

    φ  phi     v̇  v'     m²  m^2     N·m  N*m     →  ->     ä  ä where there is one, else a

A console in UTF-8 shows everything but bytes of file names that are no text.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from typing import TextIO

from noslip.expressions import GREEK_LETTERS, GREEK_NAMES

#: Name of the error handler, and of the encoding in place of ASCII, which click takes for UTF-8.
HANDLER, ENCODING = "noslip-letters", "noslip-ascii"

_WORDS = dict(zip(GREEK_LETTERS, GREEK_NAMES, strict=True))
_WORDS |= {letter.upper(): word.title() for letter, word in _WORDS.items()}
_WORDS |= {
    "ς": "sigma",
    "ϕ": "phi",
    "ϑ": "theta",
    "ϵ": "epsilon",
    "µ": "u",
    "ℓ": "l",
    "·": "*",
    "×": "x",
    "÷": "/",
    "±": "+-",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "°": " deg",
    "→": "->",
    "←": "<-",
    "↦": "->",
    "⇒": "=>",
    "►": ">",
    "▸": ">",
    "•": "*",
    "─": "-",
    "│": "|",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "√": "sqrt",
    "∞": "inf",
    "∂": "d",
    "∫": "int ",
    "∑": "sum ",
    "∈": "in",
    "⊥": "_|_",
    "∥": "||",
    "ß": "ss",
    "æ": "ae",
    "ø": "o",
    "ł": "l",
    "\u0307": "'",  # a dot above the letter before: a rate
    "\u0308": "''",
    "\u20db": "'''",
}


def in_ascii(text: str) -> str:
    """A text in ASCII: words for Greek letters, letters without accents, ? for all else."""
    return "".join(map(_letter, text))


def _letter(letter: str) -> str:
    if letter in _WORDS or letter.isascii():
        return _WORDS.get(letter, letter)
    name = unicodedata.name(letter, "")
    parts = unicodedata.normalize("NFKD", letter)
    if "DOT ABOVE" in name or (parts != letter and parts[0] in _WORDS):
        return "".join(_WORDS.get(part, part if part.isascii() else "") for part in parts)
    plain = "".join(_WORDS.get(part, part) for part in parts if not unicodedata.combining(part))
    if not plain or not plain.isascii():
        return "" if unicodedata.combining(letter) else "?"
    if "SUPERSCRIPT" in name:
        return f"^{plain}"
    return plain


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return in_ascii(error.object[error.start : error.end]), error.end


class _Encoder(codecs.IncrementalEncoder):
    def encode(self, input: str, final: bool = False) -> bytes:
        return in_ascii(input).encode("ascii")


def _ascii_codec(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ENCODING:
        return None
    return codecs.CodecInfo(
        name=ENCODING,
        encode=lambda text, errors="strict": (in_ascii(text).encode("ascii"), len(text)),
        decode=codecs.lookup("ascii").decode,
        incrementalencoder=_Encoder,
        incrementaldecoder=codecs.lookup("ascii").incrementaldecoder,
    )


codecs.register_error(HANDLER, _replace)
codecs.register(_ascii_codec)


def adapt_streams() -> None:
    """Let stdout and stderr write every text, whatever their encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError, ValueError, LookupError):
                if codecs.lookup(stream.encoding).name == "ascii":
                    stream.reconfigure(encoding=ENCODING)
                else:
                    stream.reconfigure(errors=HANDLER)


def drop_output() -> None:
    """Forget what stdout cannot take, so that it is not tried again as the process ends."""
    stream: TextIO = sys.stdout
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def printable(text: str) -> str:
    """A text that UTF-8 can hold: bytes of file names that are no text become �."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


#: Narrowest console that lines are broken for, and the largest part of it that an indent may take.
NARROWEST, INDENT = 40, 0.45


def fitted(text: str, stream: TextIO | None = None) -> str:
    """A text with lines broken between words where a console is narrower, below their beginning.

    A line of a table goes on below its second column. Pipes and files get it as it is.
    """
    target = sys.stdout if stream is None else stream
    if not target.isatty():
        return text
    width = max(NARROWEST, shutil.get_terminal_size().columns)
    return "\n".join(broken(line, width) for line in text.split("\n"))


def broken(line: str, width: int) -> str:
    """A line in pieces no wider than a width, if words allow it."""
    if len(line) <= width:
        return line
    # two spaces end the first column
    found = re.match(r" *\S+(?: \S+)* {2,}", line)
    lead = len(line) - len(line.lstrip())
    indent = len(found[0]) if found and len(found[0]) <= INDENT * width else lead + 2
    pieces = textwrap.wrap(
        line.strip(),
        width,
        initial_indent=" " * lead,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)
