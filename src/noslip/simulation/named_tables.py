"""Tables of results by name, which say what there is where a name is not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noslip.errors import MissingNameError, nearest

#: What to do about an event of a run that was asked for none.
NO_EVENTS = "the run had no events: simulate with events={'name': 'expression', …}"


class Named(dict[str, Any]):
    """A dictionary whose missing names are answered with what / where / fix.

    Parameters
    ----------
    noun : of what has a name: "column", "event".
    where : whose table it is.
    none : what to do if the table is empty.
    values : by name.
    """

    __slots__ = ("_none", "_noun", "_where")

    def __init__(
        self, noun: str, where: str, none: str, values: Mapping[str, Any] | None = None
    ) -> None:
        if values:
            super().__init__(values)
        self._noun, self._where, self._none = noun, where, none

    def __missing__(self, name: object) -> Any:
        fix = nearest(str(name), self) if self else self._none
        raise MissingNameError(f"there is no {self._noun} '{name}'", self._where, fix)
