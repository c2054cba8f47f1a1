"""Line numbers of the keys of a TOML text, for messages that say where.

A small scanner beside `tomllib`, which gives values but not places. It follows tables, arrays of
tables, dotted and quoted keys, inline tables and arrays over several lines. It does not judge:
where it meets something that is not TOML it stops, and `tomllib` says what is wrong there. It does
cap nesting, which `tomllib` does not.
"""

from __future__ import annotations

import re
import tomllib

from noslip.model.findings import Path

#: Parts of a dotted key, and levels of arrays and inline tables, that are read.
MAX_NESTING = 16

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED_KEY = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN_VALUE = re.compile(r"[^,\[\]{}#\n\"']+")


class NestingError(ValueError):
    """A key has too many parts, or arrays and inline tables are nested too deep."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


class _Stop(Exception):
    """The text is not TOML from here on."""


def line_numbers(text: str) -> dict[Path, int]:
    """The line (from 1) at which each key path of a TOML text first appears.

    Parameters
    ----------
    text : str
        A TOML document; of one that has a mistake, the part before it.

    Returns
    -------
    dict
        Paths such as ``("bodies", "platform", "shapes", 0, "size")``; numbers are indices into
        arrays. The empty path is line 1.

    Raises
    ------
    NestingError : a key has more than `MAX_NESTING` parts, or values are nested deeper.
    """
    scanner = _Scanner(text)
    try:
        scanner.document()
    except _Stop:
        pass
    return scanner.lines


class _Scanner:
    """Walks the text once from front to back, one method a construct of TOML."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 1
        self.lines: dict[Path, int] = {(): 1}
        # arrays of tables seen so far, with the index of the table now open
        self.open_tables: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return
            if self.text.startswith("[[", self.at):
                table = self.header("[[", "]]")
            elif self.text.startswith("[", self.at):
                table = self.header("[", "]")
            else:
                self.pair(table, 0)
                self.end_of_line()

    def header(self, opening: str, closing: str) -> Path:
        """``[a.b]`` or ``[[a.b]]``: the path of the table that follows."""
        line = self.line
        self.expect(opening)
        keys = self.key()
        self.expect(closing)
        self.end_of_line()
        path: Path = ()
        for k, key in enumerate(keys):
            path = (*path, key)
            self.note(path, line)
            if k == len(keys) - 1 and opening == "[[":
                self.open_tables[path] = self.open_tables.get(path, -1) + 1
            if path in self.open_tables:
                path = (*path, self.open_tables[path])
                self.note(path, line)
        return path

    def pair(self, table: Path, depth: int) -> None:
        """``key = value``, also inside an inline table."""
        line = self.line
        path = table
        for key in self.key():
            path = (*path, key)
            self.note(path, line)
        self.expect("=")
        self.skip(_SPACE)
        self.value(path, depth)

    def key(self) -> list[str]:
        """A bare, quoted or dotted key."""
        keys: list[str] = []
        while True:
            self.skip(_SPACE)
            if bare := self.skip(_BARE_KEY):
                keys.append(bare)
            elif quoted := self.skip(_QUOTED_KEY):
                keys.append(_unquoted(quoted))
            else:
                raise _Stop
            if len(keys) > MAX_NESTING:
                raise NestingError(f"a key has more than {MAX_NESTING} parts", self.line)
            self.skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def value(self, path: Path, depth: int) -> None:
        if depth > MAX_NESTING:
            raise NestingError(f"values are nested deeper than {MAX_NESTING} levels", self.line)
        if self.text.startswith("[", self.at):
            self.array(path, depth)
        elif self.text.startswith("{", self.at):
            self.inline_table(path, depth)
        elif not (self.skip(_STRING) or self.skip(_PLAIN_VALUE)):
            raise _Stop

    def array(self, path: Path, depth: int) -> None:
        self.expect("[")
        index = 0
        while True:
            self.skip(_BLANK)
            if self.text.startswith("]", self.at):
                break
            self.note((*path, index), self.line)
            self.value((*path, index), depth + 1)
            index += 1
            self.skip(_BLANK)
            if not self.text.startswith(",", self.at):
                break
            self.at += 1
        self.expect("]")

    def inline_table(self, path: Path, depth: int) -> None:
        self.expect("{")
        self.skip(_SPACE)
        while not self.text.startswith("}", self.at):
            self.pair(path, depth + 1)
            self.skip(_SPACE)
            if not self.text.startswith(",", self.at):
                break
            self.at += 1
        self.expect("}")

    def end_of_line(self) -> None:
        """Nothing but a comment may follow."""
        self.skip(_SPACE)
        if self.at < len(self.text) and self.text[self.at] not in "#\r\n":
            raise _Stop

    def expect(self, symbol: str) -> None:
        self.skip(_SPACE)
        if not self.text.startswith(symbol, self.at):
            raise _Stop
        self.at += len(symbol)

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Pass over a match, counting lines; empty if there is none."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        self.line += match[0].count("\n")
        return match[0]

    def note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)


def _unquoted(quoted: str) -> str:
    try:
        return tomllib.loads(f"key = {quoted}")["key"]
    except tomllib.TOMLDecodeError:
        raise _Stop from None
