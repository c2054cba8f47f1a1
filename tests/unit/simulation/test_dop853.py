"""The coefficients of DOP853 against SciPy's copy, and against the conditions they must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from plain_steps import plain_steps
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


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("agv", {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4}),
        ("whipple-bicycle", {"speed": 4.6, "frame.wx": 0.5}),
        ("heavy-body", {}),
        ("rolling-disk", {"disk.tilt": 1.4, "disk.yaw_rate": 0.3, "disk.spin_rate": -8.0}),
    ],
)
def test_the_defect_at_one_place_tells_how_far_dense_output_is_off(
    system_of, name, start, tolerance
):
    """SciPy's steps and dense output, against steps of their own."""
    state, rates, step = plain_steps(system_of(name), start)
    solver = integrate.DOP853(rates, 0.0, state, 5.0, rtol=tolerance, atol=tolerance)
    solver.step()
    shares = []
    while solver.status == "running":
        t, y = solver.t, solver.y.copy()
        solver.step()
        h, dense = solver.t - t, solver.dense_output()
        scale = tolerance * (1.0 + np.maximum(np.abs(y), np.abs(solver.y)))
        off = max(
            np.max(np.abs(dense(t + theta * h) - step(t, y, theta * h)) / scale)
            for theta in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
        )
        # the slope by differences of a polynomial of degree 7
        theta, d = dop853.DEFECT_AT, 0.05
        points = [dense(t + (theta + k * d) * h) for k in (1, -1, 2, -2, 3, -3)]
        slope = (
            45 * (points[0] - points[1]) - 9 * (points[2] - points[3]) + (points[4] - points[5])
        ) / (60 * d)
        middle = dense(t + theta * h)
        defect = np.max(np.abs(slope - h * rates(t + theta * h, middle)) / scale)
        if off > 0.01:  # else it is rounding
            shares.append(off / defect)
    assert len(shares) > 5
    assert np.median(shares) == pytest.approx(dop853.DEFECT_SHARE, rel=0.3)
    assert 0.6 * dop853.DEFECT_SHARE < min(shares) < max(shares) < 1.4 * dop853.DEFECT_SHARE
