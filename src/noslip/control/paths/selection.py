"""Pieces, traced: which of many columns holds at a parameter, without a branch in the code.

Compiled code without jumps evaluates every comparison, so the number of operations grows with the
number of pieces; as a balanced tree the longest chain of them grows with its logarithm only. One
choice between two numbers is a fraction of a nanosecond. What is chosen should be few numbers (the
coefficients of a piece) rather than whole results. Many rows of numbers are a table in memory
instead (`step_table`), whose code does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.algebra import step_table


def choose(p: ca.SX, starts: Sequence[float], columns: Sequence[ca.SX]) -> ca.SX:
    """The column k for starts[k] ≤ p < starts[k + 1]; the first and the last go on forever.

    Parameters
    ----------
    p : traced scalar.
    starts : (n,) rising; the first is not looked at.
    columns : (n,) columns of one length.
    """
    if len(columns) == 1:
        return columns[0]
    half = len(columns) // 2
    return ca.if_else(
        p < starts[half],
        choose(p, starts[:half], columns[:half]),
        choose(p, starts[half:], columns[half:]),
    )


#: Rows from which on they are looked up in memory rather than printed into the code.
MANY = 48


def look_up(
    p: ca.SX, starts: Sequence[float], table: ArrayLike, *, is_printed: bool = False
) -> list[ca.SX]:
    """The row of numbers that holds at p, as one traced scalar for each column of the table.

    Parameters
    ----------
    p : traced scalar.
    starts : (n,) rising, of the rows.
    table : (n, m).
    is_printed : print all rows into the code, so that a run finds where they change with time; many
        of them are looked up in memory otherwise, whose starts are to be told as knots.
    """
    if len(starts) > MANY and not is_printed:
        return step_table(starts, table).traced(p)
    rows = [ca.SX(ca.DM(row)) for row in np.asarray(table, dtype=float)]
    return ca.vertsplit(choose(p, starts, rows))


def polynomial(u: ca.SX, coefficients: Sequence[ca.SX]) -> ca.SX:
    """c₀ uⁿ + … + cₙ by Horner's rule."""
    result = coefficients[0]
    for c in coefficients[1:]:
        result = result * u + c
    return result


def inside(p: ca.SX, start: ca.SX, end: ca.SX) -> ca.SX:
    """p where it is between two breaks, else a parameter just inside: for choosing a piece."""
    return ca.fmax(start, ca.fmin(p, end - 1e-9 * (end - start)))


def clamp(p: ca.SX, low: float, high: float) -> ca.SX:
    """p held between two numbers; its derivative is 1 between them and 0 beyond."""
    return ca.if_else(p < low, low, ca.if_else(p > high, high, p))
