"""Quintic splines over square grids, as an operation of traced expressions.

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
from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from noslip.algebra.lookup_tables import Array, LookupTable, held, keyed_table, table_of
from noslip.algebra.spatial import inlined

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
    origin : x₀ and y₀, the first point of the grid.
    step : from a point to the next, along x and along y.
    """

    kind: ClassVar[str] = "spline"

    origin: tuple[float, float]
    step: float

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
        terms = ca.reshape(ca.SX(_function(self.key)(*at)), DEGREE + 1, DEGREE + 1)
        return _polynomial(x - at[0], y - at[1], held(terms))[0]


@inlined
def _polynomial(x: ca.SX, y: ca.SX, terms: ca.SX) -> tuple[ca.SX]:
    """Σ terms_ji xⁱ yʲ by Horner's rule."""
    h = ca.SX(0)
    for i in range(DEGREE, -1, -1):
        inner = ca.SX(0)
        for j in range(DEGREE, -1, -1):
            inner = inner * y + terms[j, i]
        h = h * x + inner
    return (h,)


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
def _function(key: str) -> ca.Function:
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
