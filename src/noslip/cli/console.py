"""The terminal: texts in every encoding, and Ctrl-C.

**Texts on consoles and pipes of every encoding: letters they lack are written in ASCII.**

    φ  phi     v̇  v'     m²  m^2     N·m  N*m     →  ->     ä  ä where there is one, else a

A console in UTF-8 shows everything but bytes of file names that are no text.

**Ctrl-C ends a command within a second, wherever it is, with exit code 130.**

A KeyboardInterrupt alone does not do that, for three reasons:

1. Raised in a callback (CasADi's conversions of arguments, a finalizer, ctypes) it is dropped. So
   it is raised again until it gets through; not while one is on its way, which would end the
   clean-up in its `finally` clauses.
2. A library may turn it into an exception of its own. So whatever ends a command after Ctrl-C is
   taken for the interruption.
3. A library may not return for a long time. So a thread waits that the signal itself wakes. If the
   command has not ended after a grace period, it removes temporary files and ends the process.

A simulation is cancelled instead (`cancelling`), and what it has computed is written if that takes
no longer than the grace period.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import shutil
import signal
import socket
import sys
import textwrap
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

from noslip.base import is_within_casadi, repeat
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
    "˙": "'",  # the same marks beside their letter
    "¨": "''",
    "ˆ": "^",
    "˜": "~",
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


EXIT_CODE = 130
#: s that a command has to end by itself, and s between two attempts to raise KeyboardInterrupt.
GRACE, RETRY = 0.6, 0.02


class Interruption:
    """Whether Ctrl-C was pressed, and what happens then.

    Attributes
    ----------
    requested : set by Ctrl-C.
    is_deferred : nothing is raised; whoever sees `requested` ends by himself.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.is_deferred = False
        self._ear: socket.socket | None = None

    def install(self) -> None:
        """Take over Ctrl-C for the rest of this process, where Python's own handler has it."""
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        self._ear, mouth = socket.socketpair()
        mouth.setblocking(False)
        signal.set_wakeup_fd(mouth.detach(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._handle)
        sys.unraisablehook = self._tell_unraisable
        threading.Thread(target=self._watch, name="noslip interrupt", daemon=True).start()

    def release(self) -> None:
        """Leave Ctrl-C to a command with a handler of its own."""
        signal.set_wakeup_fd(-1)

    def leave(self) -> None:
        """End the process if Ctrl-C was pressed and this is its command line.

        Not by an exception: once a KeyboardInterrupt has passed through code that is made from
        text, as in the making of a data class, CPython ends itself by the signal whatever the code.
        """
        if self._ear is not None and self.requested.is_set():
            self.is_deferred = True
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            self._end(b"")

    @staticmethod
    def _end(last_words: bytes) -> None:
        # modules that were never imported have nothing to remove
        atomic = sys.modules.get("noslip.base.files")
        if atomic is not None:
            atomic.remove_own()
        os.write(2, last_words)
        os._exit(EXIT_CODE)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested.set()
        if not (self.is_deferred or _is_passing() or is_within_casadi(frame)):
            raise KeyboardInterrupt

    def _watch(self) -> None:
        assert self._ear is not None
        while signal.SIGINT not in self._ear.recv(256):
            pass
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            time.sleep(RETRY)
            if not self.is_deferred:
                repeat()
        self._end(b"\nAborted!\n")

    @staticmethod
    def _tell_unraisable(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(dropped)


INTERRUPTION = Interruption()


@contextmanager
def cancelling() -> Iterator[threading.Event]:
    """Ctrl-C sets the event here and raises nothing; from then on the command ends by itself."""
    INTERRUPTION.is_deferred = True
    try:
        yield INTERRUPTION.requested
    finally:
        INTERRUPTION.is_deferred = INTERRUPTION.requested.is_set()


def _is_passing() -> bool:
    """Whether a KeyboardInterrupt is on its way up, through clean-up that must not be cut short."""
    error = sys.exception()
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False
