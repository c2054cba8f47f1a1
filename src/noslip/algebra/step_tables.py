"""Piecewise constant rows of numbers, as an operation of traced expressions.

A row c holds from its start p_k to the next: r(p) = c_k for p_k ≤ p < p_{k+1}, the first and the
last beyond the ends, too. Coefficients of splines, segments of paths and profiles are such rows;
whatever their number, a lookup is one call, and a search of log₂ n steps in compiled code.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.algebra.lookup_tables import Array, LookupTable, held, keyed_table, table_of


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepTable(LookupTable):
    """Rows with their starts. Made by :func:`step_table`.

    `coefficients` are the starts, filled up with ∞ to a power of two, and then the rows.

    Parameters
    ----------
    num_rows, num_columns : of the table.
    """

    kind: ClassVar[str] = "row"

    num_rows: int
    num_columns: int

    @property
    def num_starts(self) -> int:
        """Starts, and numbers that fill them up: a power of two."""
        return int(2 ** np.ceil(np.log2(max(self.num_rows, 2))))

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """The columns."""
        return tuple((k,) for k in range(self.num_columns))

    @property
    def starts(self) -> Array:
        """(n,) of the rows."""
        return self.coefficients[: self.num_rows]

    @property
    def rows(self) -> Array:
        """(n, m)."""
        return self.coefficients[self.num_starts :].reshape(self.num_rows, self.num_columns)

    def evaluate(self, p: ArrayLike, column: int) -> Array:
        """Entries of a column at places of any shape."""
        place = np.asarray(p, dtype=float)
        k = np.searchsorted(self.starts, place, side="right") - 1
        k = np.where(np.isnan(place), 0, np.clip(k, 0, self.num_rows - 1))
        found: Array = self.rows[k, column]
        return found

    def traced(self, p: ca.SX) -> list[ca.SX]:
        """The row that holds at p, an entry each; its derivative is zero."""
        return [held(entry) for entry in ca.vertsplit(ca.SX(_function(self.key)(held(p))))]


def step_table(starts: Sequence[float], rows: ArrayLike) -> StepTable:
    """The table of rows (n, m) that hold from their starts (n,) on; the first start is not used."""
    table = np.ascontiguousarray(rows, dtype=float)
    given = np.ascontiguousarray(starts, dtype=float)
    facts = np.array(table.shape, dtype=float).tobytes() + given.tobytes() + table.tobytes()
    num_rows, num_columns = table.shape

    def make(number: int) -> StepTable:
        empty = StepTable(
            coefficients=np.zeros(0),
            number=number,
            key=key,
            num_rows=num_rows,
            num_columns=num_columns,
        )
        fill = np.full(empty.num_starts - num_rows, np.inf)
        return StepTable(
            coefficients=np.concatenate([given, fill, table.ravel()]),
            number=number,
            key=key,
            num_rows=num_rows,
            num_columns=num_columns,
        )

    key = hashlib.sha256(b"row" + facts).hexdigest()[:16]
    return table_of(key, make)


#: Rows of a part of a table: CasADi copies a constant at every evaluation.
_PART = 64


@functools.cache
def _function(key: str) -> ca.Function:
    """(m,) the row at p."""
    table = keyed_table(key)
    assert isinstance(table, StepTable)
    p, rows = ca.MX.sym("p"), table.rows
    firsts = table.starts[::_PART]
    parts = []
    for k in range(0, table.num_rows, _PART):
        part, q = rows[k : k + _PART], ca.MX.sym("q")
        ends = [*table.starts[k : k + _PART], np.inf]
        ends[0] = -np.inf
        at = ca.low(ca.DM(ends), q)
        entries = ca.MX(ca.DM(part.T))[:, at]
        parts.append(ca.Function(f"part_{key}_{k}", [q], [entries]))
    if len(parts) == 1:
        found = parts[0](p)
    else:
        which = ca.low(ca.DM([-np.inf, *firsts[1:], np.inf]), p)
        choice = ca.Function.conditional(f"parts_{key}", parts[:-1], parts[-1])
        found = choice(which, p)
    return ca.Function(f"row_{key}", [p], [found], {"never_inline": True})
