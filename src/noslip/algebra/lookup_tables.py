"""Tables of numbers as operations of traced expressions: looked up, stepwise, by splines on grids.

**Tables of numbers that traced expressions look up by a call, and their registry in a process.**

A member of :class:`LookupTable` is called in an expression by a function that CasADi does not look
into, ``KIND_KEY``; `engines.program` reads such a call as one operation `kind` for each of its
outputs, and `engines.lookup` writes these as arithmetic on entries of the table.

Traps
-----
- CasADi (3.8) differentiates calls within SX wrongly where a derivative is zero. So neither places
  nor results let a derivative through: :func:`held` writes them as ⌊2⁹⁰⁰x⌋ 2⁻⁹⁰⁰, which is x
  for all |x| < 10³⁷ (but for 10⁻²⁷⁰), and has the derivative zero.

**Piecewise constant rows of numbers, as an operation of traced expressions.**

A row c holds from its start p_k to the next: r(p) = c_k for p_k ≤ p < p_{k+1}, the first and the
last beyond the ends, too. Coefficients of splines, segments of paths and profiles are such rows;
whatever their number, a lookup is one call, and a search of log₂ n steps in compiled code.

**Quintic splines over square grids, as an operation of traced expressions.**

The surface h(x, y) is a tensor product of B-splines of degree five with uniform knots,

    (1)  h = Σ_ij c_ij B(ξ − i) B(η − j),   ξ = (x − x₀)/step, η = (y − y₀)/step

so it has four continuous derivatives, and 36 coefficients c determine it in a cell. In an
expression it is one call of a function that CasADi does not look into, whatever the size of the
grid: the Taylor coefficients at a place that is held, x̂ = x without its derivative,

    (2)  h(x, y) = Σ_ij h_ij(x̂, ŷ) (x − x̂)ⁱ (y − ŷ)ʲ,   h_ij = (∂ⁱ⁺ʲh/∂xⁱ∂yʲ)/(i! j!),   i, j ≤ 5

This is h_00 as a number, and exact in all derivatives. `engines.program` reads the call as an
operation for each h_ij; x − x̂ is zero there, so that no more than the coefficients needed are left.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.algebra.spatial import inlined

Array = NDArray[np.float64]

#: Powers of two of :func:`held`.
LARGE, SMALL = 2.0**900, 2.0**-900
_NAME = re.compile(r"[a-z]+_([0-9a-f]{16})")


def held(x: ca.SX) -> ca.SX:
    """The same number without its derivative."""
    return ca.floor(x * LARGE) * SMALL


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LookupTable:
    """A table in the memory of this process."""

    coefficients: Array = field(repr=False)  #: the entries, one behind the other
    number: int  #: number of the table in this process; operations name it by it
    key: str  #: key of all that it is made of

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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepTable(LookupTable):
    """Rows with their starts. Made by :func:`step_table`.

    `coefficients` are the starts, filled up with ∞ to a power of two, and then the rows.
    """

    kind: ClassVar[str] = "row"

    #: num_rows, num_columns: size of the table
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
        return [held(entry) for entry in ca.vertsplit(ca.SX(_step_function(self.key)(held(p))))]


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
def _step_function(key: str) -> ca.Function:
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


DEGREE = 5
#: Quintic B-splines of uniform knots on one cell: weights of powers of s, 0 ≤ s ≤ 1.
_CELL = (
    np.array(
        [
            [1, -5, 10, -10, 5, -1],
            [26, -50, 20, 20, -20, 5],
            [66, 0, -60, 0, 30, -10],
            [26, 50, 20, -20, -20, 10],
            [1, 5, 10, 10, 5, -5],
            [0, 0, 0, 0, 0, 1],
        ]
    )
    / 120
)
#: Cells along x and along y of a patch of the table.
PATCH = 64


def cell_weights(order: int) -> Array:
    """(6, 6 − order) weights of powers of s of Taylor coefficients of the splines on a cell."""
    weights = _CELL
    for k in range(1, order + 1):
        weights = weights[:, 1:] * np.arange(1, weights.shape[1]) / k
    return weights


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GridSpline(LookupTable):
    """A quintic spline over a square grid. Made by :func:`grid_spline`.

    Beyond the border the polynomials of the last cells go on.

    Parameters
    ----------
    coefficients : (m, n) c_ji of (1): a row for each place along y.
    """

    kind: ClassVar[str] = "spline"

    origin: tuple[float, float]  #: x₀ and y₀, the first point of the grid
    step: float  #: spacing of the points along x and along y

    @property
    def orders(self) -> tuple[tuple[int, ...], ...]:
        """(i, j) of all Taylor coefficients, those of one i after the other."""
        return tuple((i, j) for i in range(DEGREE + 1) for j in range(DEGREE + 1))

    @property
    def num_cells(self) -> tuple[int, int]:
        """Along x and along y."""
        m, n = self.coefficients.shape
        return n - DEGREE, m - DEGREE

    def evaluate(self, x: Array, y: Array, i: int = 0, j: int = 0) -> Array:
        """Taylor coefficient h_ij at places of any one shape."""
        weights, first = [], []
        given = zip((x, y), self.origin, self.num_cells, (i, j), strict=True)
        for place, start, count, order in given:
            steps = (np.asarray(place, dtype=float) - start) / self.step
            cell = np.clip(np.nan_to_num(np.floor(steps)), 0, count - 1)
            powers = (steps - cell)[..., None] ** np.arange(DEGREE + 1 - order)
            weights.append(powers @ cell_weights(order).T / self.step**order)
            first.append(cell.astype(int)[..., None] + np.arange(DEGREE + 1))
        near = self.coefficients[first[1][..., :, None], first[0][..., None, :]]
        across = (near @ weights[0][..., None])[..., 0]
        found: Array = np.sum(weights[1] * across, axis=-1)
        return found

    def traced(self, x: ca.SX, y: ca.SX) -> ca.SX:
        """h(x, y) by (2)."""
        at = held(x), held(y)
        terms = ca.reshape(ca.SX(_spline_function(self.key)(*at)), DEGREE + 1, DEGREE + 1)
        return _polynomial(x - at[0], y - at[1], held(terms))


@inlined
def _polynomial(x: ca.SX, y: ca.SX, terms: ca.SX) -> ca.SX:
    """Σ terms_ji xⁱ yʲ by Horner's rule."""
    h = ca.SX(0)
    for i in range(DEGREE, -1, -1):
        inner = ca.SX(0)
        for j in range(DEGREE, -1, -1):
            inner = inner * y + terms[j, i]
        h = h * x + inner
    return h


def grid_spline(values: Array, origin: tuple[float, float], step: float) -> GridSpline:
    """The spline through (m, n) values; a row is along x, the rows follow each other along y."""
    values = np.ascontiguousarray(values, dtype=float)
    facts = np.array([*values.shape, *origin, step], dtype=float)
    key = hashlib.sha256(facts.tobytes() + values.tobytes()).hexdigest()[:16]

    def make(number: int) -> GridSpline:
        return GridSpline(
            coefficients=np.ascontiguousarray(_coefficients(_coefficients(values).T).T),
            number=number,
            key=key,
            origin=(float(origin[0]), float(origin[1])),
            step=step,
        )

    return table_of(key, make)


def _coefficients(values: Array) -> Array:
    """(n + 4, …) coefficients of splines through (n, …) values.

    The ends are "not a knot": the fifth derivative does not jump at the two knots next to them, so
    that the order of the spline is the same everywhere.
    """
    from scipy.linalg import solve_banded

    count = len(values)
    sixth = np.array([1, -6, 15, -20, 15, -6, 1])
    rows = [(k, k, sixth) for k in range(2)]
    rows += [(k + 2, k, np.array([1, 26, 66, 26, 1]) / 120) for k in range(count)]
    rows += [(count + 2 + k, count - 4 + k, sixth) for k in range(2)]
    bands = np.zeros((13, count + 4))  # six diagonals on both sides
    for row, first, entries in rows:
        columns = np.arange(first, first + len(entries))
        bands[6 + row - columns, columns] = entries
    nothing = np.zeros((2, *values.shape[1:]))
    found: Array = solve_banded((6, 6), bands, np.concatenate([nothing, values, nothing]))
    return found


def _keyed(key: str) -> GridSpline:
    table = keyed_table(key)
    assert isinstance(table, GridSpline)
    return table


@functools.cache
def _spline_function(key: str) -> ca.Function:
    """(36,) all h_ij at (x, y), those of one i after the other."""
    spline = _keyed(key)
    x, y = ca.MX.sym("x"), ca.MX.sym("y")
    cells, weights = [], []
    for place, start, count in zip((x, y), spline.origin, spline.num_cells, strict=True):
        steps = (place - start) / spline.step
        cell = ca.fmin(ca.fmax(ca.floor(steps), 0), count - 1)
        powers = [ca.MX(1)]
        for _ in range(DEGREE):
            powers.append(powers[-1] * (steps - cell))
        rows = [
            ca.mtimes(ca.DM(cell_weights(k) / spline.step**k), ca.vertcat(*powers[: 6 - k])).T
            for k in range(DEGREE + 1)
        ]
        weights.append(ca.vertcat(*rows))
        cells.append(cell)
    near = ca.reshape(_near(key)(*cells), DEGREE + 1, DEGREE + 1)
    jets = ca.mtimes(weights[1], ca.mtimes(near, weights[0].T))
    return ca.Function(f"spline_{key}", [x, y], [ca.vec(jets)], {"never_inline": True})


@functools.cache
def _near(key: str) -> ca.Function:
    """The 36 coefficients of a cell, column by column; shared by all partial derivatives.

    CasADi copies a constant at every evaluation, so a large table is cut into patches.
    """
    spline = _keyed(key)
    counts = [-(-count // PATCH) for count in spline.num_cells]
    size = PATCH + DEGREE
    patches = [
        _patch(f"patch_{key}_{a}_{b}", spline.coefficients[b : b + size, a : a + size])
        for b in range(0, counts[1] * PATCH, PATCH)
        for a in range(0, counts[0] * PATCH, PATCH)
    ]
    if len(patches) == 1:
        return patches[0]
    i, j = ca.MX.sym("i"), ca.MX.sym("j")
    k, m = ca.floor(i / PATCH), ca.floor(j / PATCH)
    which = ca.Function.conditional(f"patches_{key}", patches[:-1], patches[-1])
    chosen = which(m * counts[0] + k, i - PATCH * k, j - PATCH * m)
    return ca.Function(f"near_{key}", [i, j], [chosen])


def _patch(name: str, table: Array) -> ca.Function:
    """The 36 coefficients of a cell of a small table."""
    rows = table.shape[0]
    i, j = ca.MX.sym("i"), ca.MX.sym("j")
    near = np.add.outer(np.arange(DEGREE + 1) * rows, np.arange(DEGREE + 1)).ravel()
    return ca.Function(name, [i, j], [ca.MX(ca.DM(table))[i * rows + j + ca.DM(near)]])
