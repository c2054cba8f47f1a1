"""Tables of numbers that traced expressions look up by a call, and their registry in a process.

A member of :class:`LookupTable` is called in an expression by a function that CasADi does not look
into, ``KIND_KEY``; `engines.program` reads such a call as one operation `kind` for each of its
outputs, and `engines.lookup` writes these as arithmetic on entries of the table.

Traps
-----
- CasADi (3.8) differentiates calls within SX wrongly where a derivative is zero. So neither places
  nor results let a derivative through: :func:`held` writes them as ⌊2⁹⁰⁰x⌋ 2⁻⁹⁰⁰, which is x
  for all |x| < 10³⁷ (but for 10⁻²⁷⁰), and has the derivative zero.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Powers of two of :func:`held`.
LARGE, SMALL = 2.0**900, 2.0**-900
_NAME = re.compile(r"[a-z]+_([0-9a-f]{16})")


def held(x: ca.SX) -> ca.SX:
    """The same number without its derivative."""
    return ca.floor(x * LARGE) * SMALL


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LookupTable:
    """A table in the memory of this process.

    Parameters
    ----------
    coefficients : the entries, one behind the other.
    number : of the table in this process; operations name it by it.
    key : of all that it is made of.
    """

    coefficients: Array = field(repr=False)
    number: int
    key: str

    #: Operation that it is looked up by.
    kind: ClassVar[str]

    @property
    def symbol(self) -> str:
        """Name of its array in code that is printed."""
        return f"table_{self.key}"

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """Whole numbers that tell the outputs of a call apart, in order."""
        raise NotImplementedError

    def evaluate(self, *given: Any) -> Array:
        """An output at places, which are followed by its whole numbers."""
        raise NotImplementedError


T = TypeVar("T", bound=LookupTable)

#: All tables of this process, by their keys: expressions call them by it.
_TABLES: dict[str, LookupTable] = {}
_MAKING = threading.Lock()


def table_of(key: str, make: Callable[[int], T]) -> T:
    """The table of a key, made with its number if there is none."""
    with _MAKING:
        if key not in _TABLES:
            made = make(len(_TABLES))
            made.coefficients.setflags(write=False)
            _TABLES[key] = made
        found: T = _TABLES[key]  # type: ignore[assignment]  # keys are of one kind each
        return found


def keyed_table(key: str) -> LookupTable:
    """The table of a key."""
    return _TABLES[key]


def numbered_table(number: float) -> LookupTable:
    """The table of a number."""
    return list(_TABLES.values())[int(number)]


def called_table(function: ca.Function, k: int) -> LookupTable | None:
    """The table that instruction k of a function looks up; None for other calls."""
    match = _NAME.fullmatch(function.instructions_sx()[k].which_function().name())
    return None if match is None else _TABLES.get(match[1])
