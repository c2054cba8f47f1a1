"""The coefficients of DOP853 against SciPy's copy, and against the conditions they must satisfy."""

import numpy as np
from scipy import integrate

from noslip.simulation.loop import dop853


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
