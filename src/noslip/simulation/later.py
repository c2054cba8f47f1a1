"""What a trajectory computes when it is first asked for: accelerations, and columns by name.

Most runs are made for a few of their columns, and accelerations take longer than all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: An array, or what finds it.
Given = Array | Callable[[], Array]
#: Unit and values by name.
Sources = dict[str, tuple[str, Given]]


class Later:
    """An array that is found at the first call and kept; what found it is let go."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Array]) -> None:
        self._find: Callable[[], Array] | None = find

    def __call__(self) -> Array:
        find = self._find
        if find is not None:
            # two threads may both find it, and find the same
            self._found = find()
            self._find = None
        return self._found


def column(table: Given, k: int) -> Given:
    """A column of a table, found with it."""
    return (lambda: table()[:, k]) if callable(table) else table[:, k]


class MaybeLater:
    """A field of a frozen dataclass: given as an array or as what finds it, read as an array."""

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type | None = None) -> Array:
        if owner is None:  # so a dataclass asks for a default, and there is none
            raise AttributeError(self._name)
        given: Given = vars(owner)[self._name]
        return given() if callable(given) else given

    def __set__(self, owner: object, given: Given) -> None:
        vars(owner)[self._name] = given


class Columns(Mapping[str, tuple[str, Array]]):
    """Columns by name: unit and (n,) values, found when they are asked for.

    Parameters
    ----------
    given : by name, the unit and the values or what finds them.
    """

    def __init__(self, given: Sources) -> None:
        self._given = given

    def __getitem__(self, name: str) -> tuple[str, Array]:
        unit, values = self._given[name]
        return unit, values() if callable(values) else values

    def __contains__(self, name: object) -> bool:
        return name in self._given

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} [{unit}]" for name, (unit, _) in self._given.items())
        return f"Columns: {listed}"
