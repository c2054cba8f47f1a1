"""Designs: which points a sweep has, whatever part of them is asked for, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noslip import SimulationError
from noslip.sweeps.design import Design, factor_from_json, read_design

CONSTANTS = {"r": 0.5, "m": 2.0}


def design_of(vary=None, sample=None, **options):
    return read_design(vary or {}, sample or {}, constants=CONSTANTS, **options)


def all_values(design):
    return design.values(np.arange(design.size))


def test_axes_are_crossed_with_the_last_one_fastest():
    found = all_values(design_of({"a": "0:1:2", "b": [5.0, 7.0, 6.0]}))
    assert found["a"].tolist() == [0, 0, 0, 1, 1, 1]
    assert found["b"].tolist() == [5, 7, 6, 5, 7, 6]


def test_zipped_axes_change_together():
    design = design_of({"a": "0:1:3", "c": "1,2", "b": "log:1:100:3"}, zipped=[("a", "b")])
    assert design.shape == (3, 2)
    found = all_values(design)
    assert found["a"].tolist() == [0, 0, 0.5, 0.5, 1, 1]
    assert found["b"] == pytest.approx([1, 1, 10, 10, 100, 100], rel=1e-15)


def test_numbers_may_be_arithmetic_of_parameters():
    assert all_values(design_of({"a": "r:2*pi*m:2"}))["a"].tolist() == [0.5, 4 * np.pi]


@given(
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
    st.integers(2, 40),
    st.integers(2, 5),
    st.booleans(),
)
def test_a_finer_grid_holds_the_coarser_one_to_the_last_bit(low, span, count, times, is_log):
    low, word = (abs(low) + 1e-3, "log:") if is_log else (low, "")
    high = low + span
    coarse = design_of({"a": f"{word}{low!r}:{high!r}:{count}"})
    fine = design_of({"a": f"{word}{low!r}:{high!r}:{times * (count - 1) + 1}"})
    assert all_values(coarse)["a"].tolist() == all_values(fine)["a"][::times].tolist()


@pytest.mark.parametrize("sampling", ["random", "lhs", "sobol"])
def test_samples_are_the_same_whatever_part_is_asked_for(sampling, rng):
    design = design_of(
        sample={"a": "gauss:1,2", "b": "uniform:0,1", "c": "log-uniform:1,10"},
        draws=301,
        sampling=sampling,
        seed=7,
    )
    whole = all_values(design)
    for _ in range(5):
        some = rng.integers(0, design.size, rng.integers(1, 20))
        part = design.values(some)
        for name, values in whole.items():
            assert part[name].tolist() == values[some].tolist()
    again = Design(tuple(factor_from_json(f.to_json(), CONSTANTS) for f in design.factors))
    assert all_values(again)["a"].tolist() == whole["a"].tolist()


def test_random_samples_far_apart_cost_nothing():
    design = design_of(sample={"a": "uniform:0,1"}, draws=10_000_000_000, seed=1)
    far = design.values(np.array([3, 9_999_999_999, 5_000_000_001]))["a"]
    assert np.all((far > 0) & (far < 1)) and len(set(far)) == 3


def test_latin_hypercube_has_one_point_in_every_stratum():
    found = all_values(
        design_of(sample={"a": "uniform:0,1", "b": "uniform:0,1"}, draws=50, sampling="lhs")
    )
    for name in "ab":
        assert sorted((found[name] * 50).astype(int)) == list(range(50))


def test_more_random_and_sobol_samples_begin_with_the_fewer():
    for sampling in ("random", "sobol"):
        few, many = (
            all_values(design_of(sample={"a": "gauss:0,1"}, draws=n, sampling=sampling))["a"]
            for n in (20, 90)
        )
        assert few.tolist() == many[:20].tolist()


@pytest.mark.parametrize(
    ("text", "mean", "deviation"),
    [
        ("gauss:3,0.5", 3.0, 0.5),
        ("uniform:1,3", 2.0, 1 / np.sqrt(3)),
        ("triangle:0,1,2", 1.0, 1 / np.sqrt(6)),
        ("gauss:0,1,-1,1", 0.0, np.sqrt(1 - 2 * 0.24197072451914337 / 0.6826894921370859)),
        ("log-uniform:1,10", 9 / np.log(10), np.sqrt(99 / 2 / np.log(10) - (9 / np.log(10)) ** 2)),
    ],
)
def test_distributions_have_their_moments(text, mean, deviation):
    """By Sobol points, whose error is of the order 1/n."""
    drawn = all_values(design_of(sample={"a": text}, draws=2**14, sampling="sobol"))["a"]
    assert np.mean(drawn) == pytest.approx(mean, abs=2e-3)
    assert np.std(drawn) == pytest.approx(deviation, rel=2e-3)


def test_conditions_exclude_points():
    design = design_of({"a": "0:4:5", "b": "1:3:3"}, where=["a*b < 4", "sqrt(a) >= r*0"])
    values = all_values(design)
    expected = [a * b < 4 for a, b in zip(values["a"], values["b"], strict=True)]
    assert design.included(values, design.size).tolist() == expected


@pytest.mark.parametrize(
    ("vary", "sample", "options", "words"),
    [
        ({"a": "5:5:3"}, {}, {}, "is empty"),
        ({"a": "5:1:3"}, {}, {}, "is inverted"),
        ({"a": "1:5"}, {}, {}, "LOW:HIGH:COUNT"),
        ({"a": "1:5:1"}, {}, {}, "number of values is '1'"),
        ({"a": "1:5:x"}, {}, {}, "number of values is 'x'"),
        ({"a": "log:0:5:3"}, {}, {}, "starts at 0"),
        ({"a": "1:5:99999999999"}, {}, {}, "99999999999 values"),
        (dict.fromkeys("abc", "0:1:10000"), {}, {}, r"1e\+12 points"),
        ({"a": "10 kg:50 kg:3"}, {}, {}, "without their unit"),
        ({"a": "1,two,3"}, {}, {}, "uses 'two'"),
        ({"a": []}, {}, {}, "has no values"),
        ({"a": [1.0, np.nan]}, {}, {}, "not a finite number"),
        ({"a": [1.0, 1.0]}, {}, {}, "a value twice"),
        ({"a": [[1.0]]}, {}, {}, "not numbers"),
        ({"a": [True]}, {}, {}, "not numbers"),
        ({}, {}, {}, "nothing is varied"),
        ({}, {"a": "gaus:1,2"}, {"draws": 3}, "did you mean 'gauss'"),
        ({}, {"a": "gauss:1,-2"}, {"draws": 3}, "SD is not positive"),
        ({}, {"a": "gauss:1"}, {"draws": 3}, "has 1 numbers"),
        ({}, {"a": "uniform:2,1"}, {"draws": 3}, "LOW is not below HIGH"),
        ({}, {"a": "uniform:0,1"}, {"draws": 0}, "number of draws is 0"),
        ({}, {"a": "uniform:0,1"}, {"draws": 3, "sampling": "lsh"}, "did you mean 'lhs'"),
        ({}, {"a": "uniform:0,1"}, {"draws": 3, "seed": -1}, "the seed is -1"),
        ({"a": "0:1:2"}, {"a": "uniform:0,1"}, {"draws": 3}, "both varied and sampled"),
        ({"a": "0:1:2"}, {}, {"draws": 3}, "nothing is sampled"),
        ({"a": "0:1:2", "b": "0:1:3"}, {}, {"zipped": [("a", "b")]}, "a: 2, b: 3"),
        ({"a": "0:1:2"}, {}, {"zipped": [("a", "c")]}, "'c' is zipped, but not varied"),
        ({"a": "0:1:2"}, {}, {"where": ["a = 2"]}, "not a comparison"),
        ({"a": "0:1:2"}, {}, {"where": ["b < 2"]}, "'b' is not known"),
        ({"a": "0:1:2"}, {}, {"where": ["a < 2 +"]}, "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(vary, sample, options, words):
    with pytest.raises(SimulationError, match=words):
        design_of(vary, sample, **options)
