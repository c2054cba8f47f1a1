"""Sobol indices against the closed form of Ishigami's function."""

import numpy as np
import pytest

from noslip.sweeps import SobolIndices
from noslip.sweeps.design import read_design

NAMES = ("a", "b", "c")
#: y = sin a + 7 sin² b + 0.1 c⁴ sin a on (−π, π)³ (Saltelli et al. 2008)
FIRST, TOTAL = (0.3139, 0.4424, 0.0), (0.5576, 0.4424, 0.2437)


def ishigami(a, b, c):
    return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def test_a_grid_gives_first_and_total_indices():
    """Of midpoints, whose error is of the order of the spacing squared."""
    x = np.pi * (np.arange(60) + 0.5) / 30 - np.pi
    found = SobolIndices.of_grid(NAMES, ishigami(x[:, None, None], x[:, None], x))
    assert list(found.first.values()) == pytest.approx(FIRST, abs=2e-3)
    assert list(found.total.values()) == pytest.approx(TOTAL, abs=2e-3)


def test_a_sample_gives_first_indices():
    """With 2^14 points their standard error is about 1/√2^14."""
    design = read_design(
        {},
        dict.fromkeys(NAMES, "uniform:-pi,pi"),
        draws=2**14,
        sampling="sobol",
        constants={},
    )
    inputs = design.values(np.arange(design.size))
    found = SobolIndices.of_sample(inputs, ishigami(*inputs.values()))
    assert list(found.first.values()) == pytest.approx(FIRST, abs=0.025)
    assert not found.total


def test_what_does_not_vary_has_no_indices():
    assert SobolIndices.of_grid(NAMES[:2], np.ones((3, 4))) is None
    assert SobolIndices.of_sample({"a": np.arange(100.0)}, np.ones(100)) is None
