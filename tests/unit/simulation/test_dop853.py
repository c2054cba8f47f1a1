"""The coefficients of DOP853 against SciPy's copy, and against the conditions they must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from noslip.simulation import dop853

# Sums of up to 12 coefficients as large as 43, rounded.
ROUNDING = 1e-13


def test_coefficients_are_scipys():
    theirs = integrate.DOP853
    n = dop853.NUM_STAGES
    assert np.array_equal(dop853.A[:n, :n], theirs.A)
    assert np.array_equal(dop853.B, theirs.B)
    assert np.array_equal(dop853.C[:n], theirs.C)
    assert np.array_equal(dop853.A[n + 1 :], theirs.A_EXTRA)
    assert np.array_equal(dop853.C[n + 1 :], theirs.C_EXTRA)
    assert np.array_equal(dop853.D, theirs.D)
    # Theirs have a last entry for the first stage of the next step, which is not used.
    assert np.array_equal([*dop853.E3, 0.0], theirs.E3)
    assert np.array_equal([*dop853.E5, 0.0], theirs.E5)


def test_rows_of_A_sum_to_the_times_of_stages():
    assert np.abs(dop853.A.sum(axis=1) - dop853.C).max() < ROUNDING


def test_errors_of_a_constant_rate_vanish():
    assert abs(dop853.E3.sum()) < ROUNDING
    assert abs(dop853.E5.sum()) < ROUNDING


@pytest.mark.parametrize("power", range(8))
def test_weights_integrate_powers_of_time(power):
    stages = dop853.C[: dop853.NUM_STAGES]
    assert dop853.B @ stages**power == pytest.approx(1.0 / (power + 1), abs=ROUNDING)


def test_stages_that_are_left_out_have_no_weight():
    assert set(np.flatnonzero(dop853.D.any(axis=0))) == set(dop853.DENSE_STAGES)
