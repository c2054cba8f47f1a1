"""Stacks of small matrices: each has the bits it has alone, and what NumPy finds for it."""

import numpy as np
import pytest

from noslip.simulation.starts.start_layout import (
    apply,
    inverses,
    pseudo_inverse,
    singular_inverse,
    singular_values,
    solutions,
)


def _stacks():
    rng = np.random.default_rng(4)
    for rows in (1, 2, 3, 5, 9, 14):
        for columns in (1, 3, 9):
            C = rng.normal(size=(7, rows, columns))
            yield C
            yield C * (rng.random(C.shape) < 0.4)  # with zeros, and of lower rank


STACKS = list(_stacks())


def as_alone(function, *stacks):
    """What a function finds for a stack, which must be what it finds for each alone."""
    found = function(*stacks)
    for k in range(len(stacks[0])):
        alone = function(*(stack[k : k + 1].copy() for stack in stacks))
        pairs = zip(alone, found, strict=True) if isinstance(found, tuple) else [(alone, found)]
        assert all(np.array_equal(one[0], many[k], equal_nan=True) for one, many in pairs)
    return found


@pytest.mark.parametrize("C", STACKS)
def test_each_as_alone_and_as_numpy_says(C):
    d = np.random.default_rng(len(C)).normal(size=C.shape[:2])
    for found in (as_alone(pseudo_inverse, C), as_alone(singular_inverse, C)):
        expected = np.linalg.pinv(C, rcond=1e-10)
        # elimination is trusted up to a condition of 1e8
        assert found == pytest.approx(expected, abs=1e-8 * max(1.0, np.abs(expected).max()))
        assert as_alone(apply, found, d) == pytest.approx(np.einsum("nji,ni->nj", found, d))
    for part, expected in zip(as_alone(singular_values, C), np.linalg.svd(C), strict=True):
        assert np.array_equal(part, expected)


@pytest.mark.parametrize("size", [1, 2, 6, 12])
def test_neighbors_that_are_singular(rng, size):
    K, right = rng.normal(size=(5, size, size)), rng.normal(size=(5, size, 2))
    K[2] = 0.0
    found, X = as_alone(inverses, K), as_alone(solutions, K, right)
    assert np.isnan(found[2]).all() and np.isnan(X[2]).all()
    regular = [0, 1, 3, 4]
    assert np.array_equal(found[regular], np.linalg.inv(K[regular]))
    assert np.array_equal(X[regular], np.linalg.solve(K[regular], right[regular]))


def test_rows_of_zeros_ask_for_nothing(rng):
    C = rng.normal(size=(3, 3, 7))
    C[:, 1] = 0.0
    expected = np.linalg.pinv(C)
    assert pseudo_inverse(C)[:, :, [0, 2]] == pytest.approx(expected[:, :, [0, 2]], abs=1e-13)
    assert not pseudo_inverse(C)[:, :, 1].any()


@pytest.mark.parametrize("shape", [(2, 0, 4), (1, 4, 0), (3, 0, 0)])
def test_nothing(shape):
    n, rows, columns = shape
    assert pseudo_inverse(np.zeros(shape)).shape == (n, columns, rows)
    assert [part.shape for part in singular_values(np.zeros(shape))] == [
        (n, rows, rows), (n, 0), (n, columns, columns),
    ]  # fmt: skip


def test_what_is_not_finite_has_no_inverse(rng):
    C = rng.normal(size=(2, 3, 3))
    C[0, 1, 1] = np.nan
    assert not singular_inverse(C)[0].any()
    assert np.array_equal(singular_inverse(C)[1], singular_inverse(C[1:])[0])
