"""Least squares and singular values of small matrices: the same bits as NumPy's."""

import numpy as np
import pytest

from noslip.simulation.small_matrices import least_squares, singular_values


def _matrices():
    rng = np.random.default_rng(4)
    for rows in (1, 2, 5, 9, 14):
        for columns in (1, 3, 9):
            A = rng.normal(size=(rows, columns))
            yield A
            yield A * (rng.random(A.shape) < 0.4)  # with zeros, and of lower rank


@pytest.mark.parametrize("A", list(_matrices()))
def test_as_numpy(A):
    b = np.random.default_rng(len(A)).normal(size=len(A))
    for rcond in (1e-12, 1e-2):
        expected = np.linalg.lstsq(A, b, rcond=rcond)[0]
        assert np.array_equal(least_squares(A, b, rcond), expected)
    for found, expected in zip(singular_values(A), np.linalg.svd(A), strict=True):
        assert np.array_equal(found, expected)
        assert found.flags.c_contiguous == expected.flags.c_contiguous


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_nothing(shape):
    assert np.array_equal(
        least_squares(np.zeros(shape), np.zeros(shape[0]), 1e-12), np.zeros(shape[1])
    )
    shapes = [part.shape for part in singular_values(np.zeros(shape))]
    assert shapes == [(shape[0], shape[0]), (0,), (shape[1], shape[1])]


def test_what_is_not_finite_does_not_converge():
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        singular_values(np.full((3, 3), np.nan))
