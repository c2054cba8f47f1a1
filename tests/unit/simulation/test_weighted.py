"""Sums of vectors by a table of weights against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from noslip.simulation.weighted import weighted_steps, weighted_sums

TABLE = [{0: 0.5}, {0: 2.0, 2: -0.25, 5: 0.125}, {3: 1.0 / 3.0, 1: 7.0}]
sums, steps = weighted_sums(TABLE), weighted_steps(TABLE)


@njit
def sum_of(which, K, row, n, out):
    sums(which, K, row, n, out)


@njit
def step_of(which, K, row, n, out, y, h):
    steps(which, K, row, n, out, y, h)


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("which", range(len(TABLE)))
@pytest.mark.parametrize("n", [1, 4, 5, 11])
def test_weighted_vectors(rng: np.random.Generator, which: int, n: int) -> None:
    row = n + 3
    K, y, h = rng.normal(size=(6, row)), rng.normal(size=n + 3), 0.7
    expected = sum(weight * K[j, :n] for j, weight in TABLE[which].items())
    room = np.full(n + 8, np.nan)
    sum_of(which, address(K), row, n, address(room))
    np.testing.assert_allclose(room[:n], expected, rtol=0, atol=1e-14)
    assert np.isnan(room[n + 3 :]).all()
    step_of(which, address(K), row, n, address(room), address(y), h)
    np.testing.assert_allclose(room[:n], y[:n] + h * expected, rtol=0, atol=1e-14)
    assert np.isnan(room[n + 3 :]).all()


def test_no_row_of_the_table_writes_nothing() -> None:
    room = np.full(8, np.nan)
    sum_of(len(TABLE), address(np.ones(48)), 8, 4, address(room))
    assert np.isnan(room).all()
