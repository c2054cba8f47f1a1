"""Elementary functions of wide code against mpmath and the C library, to the last place."""

import itertools
import math

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from wide_functions import EMPTY, SPECIAL, function_of, values

from noslip.engines import compile_wide, trace_program
from noslip.engines.elementary_functions import FAR, HALF_PI, LOG_2


@pytest.mark.parametrize(
    "kind", ["sin", "tan", "asin", "atan", "sinh", "tanh", "expm1", "cos", "exp", "log"]
)
def test_signs_of_zero_and_nan(kind: str) -> None:
    numbers = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1e-300, -1e-300])
    with np.errstate(all="ignore"):
        expected = getattr(np, {"asin": "arcsin", "atan": "arctan"}.get(kind, kind))(numbers)
    computed = values(function_of(kind), numbers)
    np.testing.assert_array_equal(computed, expected)
    is_number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(computed[is_number]), np.signbit(expected[is_number]))


def test_angles_of_all_special_points() -> None:
    numbers = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, 5e-324, -5e-324, 1e308, -1e-308])
    pairs = np.array(list(itertools.product(numbers, numbers)))
    x = ca.SX.sym("x", 2)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.atan2(x[0], x[1]))
    computed = values(compile_wide([program], 8)["f"], pairs)
    expected = np.arctan2(pairs[:, 0], pairs[:, 1])
    np.testing.assert_allclose(computed, expected, rtol=2.3e-16, atol=0)
    assert np.array_equal(np.signbit(computed), np.signbit(expected))


# errors in units in the last place


def ulps(computed: np.ndarray, exact: list[mp.mpf]) -> np.ndarray:
    """Errors in units in the last place of the true values."""
    errors = []
    for value, truth in zip(computed, exact, strict=True):
        exponent = max(int(mp.floor(mp.log(abs(truth), 2))) if truth else -1074, -1022)
        errors.append(float(abs(mp.mpf(float(value)) - truth) / mp.mpf(2) ** (exponent - 52)))
    return np.array(errors)


def both_signs(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([sizes, -sizes])


COUNT = 250
WORST_ANGLE = 6381956970095103 * 2.0**797  # of all doubles the nearest to a multiple of π/2


def nearly_quarter_turns() -> list[float]:
    """Doubles up to FAR that are nearer to a multiple of π/2 than others of their size.

    A double is m 2^k with m < 2⁵³. The best m are denominators of the continued fraction of
    2^k (2/π).
    """
    found = []
    with mp.workprec(400):
        for k in range(-52, -12):
            rest = mp.mpf(2) ** k * 2 / mp.pi
            before, m = 0, 1
            while m < 2**53:
                found.append(m * 2.0**k)
                rest = 1 / (rest - mp.floor(rest))
                before, m = m, int(mp.floor(rest)) * m + before
    return [angle for angle in found if 1.0 < angle <= FAR]


def angles(rng: np.random.Generator) -> np.ndarray:
    """Angles of all sizes, many of them as near to multiples of π/2 as doubles come."""
    turns = np.round(np.exp(rng.uniform(0.0, 26.0, COUNT)))
    return np.concatenate(
        [
            both_signs(rng.uniform(0.0, 10.0, COUNT)),
            both_signs(np.exp(rng.uniform(-30.0, 27.0, COUNT))),
            np.arange(1, 100) * np.pi / 2,
            turns * np.pi / 2,
            both_signs(np.array(nearly_quarter_turns())),
            [FAR],
        ]
    )


def near_one(rng: np.random.Generator) -> np.ndarray:
    return 1.0 - np.exp(rng.uniform(-36.0, -2.0, COUNT))


ARGUMENTS = {
    "sin": angles,
    "cos": angles,
    "tan": angles,
    "exp": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 1.0, COUNT)),
            both_signs(rng.uniform(0.0, 709.0, COUNT)),
            rng.uniform(-745.0, -705.0, COUNT),
        ]
    ),
    "expm1": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 1.0, COUNT)),
            both_signs(np.exp(rng.uniform(-60.0, 6.5, COUNT))),
        ]
    ),
    "log": lambda rng: np.concatenate(
        [
            np.exp(rng.uniform(-709.0, 709.0, COUNT)),
            rng.uniform(0.5, 2.0, COUNT),
            1.0 + both_signs(np.exp(rng.uniform(-36.0, -2.0, COUNT))),
            [5e-324, 1e-310, 2.2e-308, 1.79e308],
        ]
    ),
    "atan": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 5.0, COUNT)),
            both_signs(np.exp(rng.uniform(-700.0, 700.0, COUNT))),
        ]
    ),
    "asin": lambda rng: np.concatenate(
        [
            both_signs(rng.uniform(0.0, 1.0, COUNT)),
            both_signs(np.exp(rng.uniform(-700.0, 0.0, COUNT))),
            near_one(rng),
        ]
    ),
    "acos": lambda rng: np.concatenate(
        [both_signs(rng.uniform(0.0, 1.0, COUNT)), both_signs(near_one(rng))]
    ),
    **dict.fromkeys(
        ("sinh", "cosh", "tanh"),
        lambda rng: np.concatenate(
            [
                both_signs(rng.uniform(0.0, 2.0, COUNT)),
                both_signs(np.exp(rng.uniform(-60.0, 6.55, COUNT))),
            ]
        ),
    ),
}
LIMITS = dict.fromkeys(ARGUMENTS, 1.0) | dict.fromkeys(("asin", "acos", "sinh", "cosh"), 1.5)


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_errors_in_the_last_place(kind: str, rng: np.random.Generator) -> None:
    arguments = ARGUMENTS[kind](rng)
    computed = values(function_of(kind), arguments)
    with mp.workprec(1300):
        exact = [getattr(mp, kind)(mp.mpf(float(x))) for x in arguments]
        assert np.max(ulps(computed, exact)) < LIMITS[kind]


@pytest.mark.parametrize("kind", ["sin", "cos", "tan"])
@pytest.mark.parametrize("lanes", [1, 8])
def test_far_angles_are_those_of_the_c_library(kind: str, lanes: int, rng) -> None:
    far = both_signs(np.exp(rng.uniform(27.8, 709.0, COUNT)))
    near = rng.uniform(-10.0, 10.0, COUNT)
    ends = [np.nextafter(FAR, np.inf), WORST_ANGLE, np.finfo(float).max]
    numbers = np.concatenate([far, ends])
    expected = [getattr(math, kind)(x) for x in numbers]
    function = function_of(kind, lanes)
    np.testing.assert_array_equal(values(function, numbers), expected)
    # near ones beside them are as they are by themselves
    mixed = values(function, np.stack([far[:COUNT], near], axis=1).ravel())
    np.testing.assert_array_equal(mixed[1::2], values(function, near))


def test_errors_of_angles_in_the_last_place(rng: np.random.Generator) -> None:
    exponents = rng.uniform(-300.0, 300.0, (COUNT, 1)) + rng.uniform(-3.0, 3.0, (COUNT, 2))
    points = np.exp(exponents) * rng.choice([-1.0, 1.0], (COUNT, 2))
    x = ca.SX.sym("x", 2)
    program = trace_program("f", [EMPTY, x, EMPTY, EMPTY], ca.atan2(x[0], x[1]))
    computed = values(compile_wide([program], 8)["f"], points)
    with mp.workprec(300):
        exact = [mp.atan2(mp.mpf(float(y)), mp.mpf(float(x))) for y, x in points]
        assert np.max(ulps(computed, exact)) < 1.0


def test_constants_have_all_their_digits() -> None:
    with mp.workprec(1500):
        rest = mp.pi / 2
        for part in HALF_PI:
            assert part == float(rest)
            rest -= mp.mpf(part)
        rest = mp.log(2) - mp.mpf(LOG_2[0])
        assert LOG_2[1] == float(rest)
        assert LOG_2[0] * 2.0**32 == np.floor(LOG_2[0] * 2.0**32)


@pytest.mark.parametrize("kind", ["sin", "tan", "exp", "log", "atan", "tanh", "erf"])
def test_a_lane_does_not_see_the_others(kind: str, rng: np.random.Generator) -> None:
    function = function_of(kind)
    numbers = np.concatenate([rng.normal(size=40), SPECIAL, [1e15, -3e200]])
    bits = values(function, numbers).tobytes()
    for _ in range(5):
        order = rng.permutation(len(numbers))
        again = np.empty(len(numbers))
        again[order] = values(function, numbers[order])
        assert again.tobytes() == bits
    alone = np.concatenate([values(function, numbers[k : k + 1]) for k in range(len(numbers))])
    assert alone.tobytes() == bits
