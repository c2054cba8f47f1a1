"""Compiled functions as Python calls them: all forms of arguments, and nothing that is shared."""

import gc
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.engines import (
    NativeFunction,
    Program,
    compile_expression,
    compile_native,
    trace_program,
)
from noslip.engines.native import FEW
from noslip.engines.program import interpret

EMPTY = ca.SX(0, 1)
X = np.array([1.5, -2.0, 0.25, 8.0])
U = np.array([3.0])
P = np.array([0.5, -7.0])


def program() -> Program:
    """A function of all inputs that gives other numbers when any two of them change places."""
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 4)
    u, p = ca.SX.sym("u"), ca.SX.sym("p", 2)
    places = ca.DM([1, 10, 100, 1000])
    output = ca.vertcat(t + ca.dot(places, x), u * ca.sin(x[1]), ca.dot(places[:2], p), x[::-1])
    return trace_program("f", [t, x, u, p], output)


@pytest.fixture(scope="module")
def function() -> NativeFunction:
    return compile_native([program()])["f"]


def test_an_expression_and_its_value_by_casadi() -> None:
    t, x, u, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("u"), ca.SX.sym("p", 2)
    expression = ca.SX(3, 1)  # sparse: an entry that is not there is zero
    expression[0], expression[2] = t * x[3] - p[1], ca.atan2(u, x[0])
    found = compile_expression("f", (t, x, u, p), expression)(4.0, X, U, P)
    expected = ca.Function("f", [t, x, u, p], [expression])(4.0, X, U, P)
    assert found == pytest.approx(np.array(expected).ravel(), rel=1e-15)


def test_the_same_text_is_compiled_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        functions = list(pool.map(lambda _: compile_native([program()])["f"], range(16)))
    assert len({f.address for f in functions}) == 1


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array: np.ndarray) -> np.ndarray:
    """The same numbers with others between them."""
    wide = np.full((len(array), 3), np.nan)
    wide[:, 1] = array
    return wide[:, 1]


class Special(np.ndarray):
    """A kind of array of somebody else's."""


FORMS: dict[str, Callable[[np.ndarray], object]] = {
    "array": np.copy,
    "list": np.ndarray.tolist,
    "tuple": tuple,
    "strided": strided,
    "backward": lambda a: a[::-1].copy()[::-1],
    "off its boundary": lambda a: np.frombuffer(b"?" + a.tobytes(), np.uint8)[1:].view(float),
    "read-only": read_only,
    "other byte order": lambda a: a.astype(">f8"),
    "single precision": lambda a: a.astype(np.float32),
    "from a file": lambda a: pickle.loads(pickle.dumps(a)),
    "subclass": lambda a: a.view(Special),
    "objects": lambda a: a.astype(object),
    "memory": memoryview,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_an_argument_and_the_interpreter(
    function: NativeFunction, form: Callable[[np.ndarray], object]
) -> None:
    expected = interpret(program(), 4.0, X, U, P)
    assert function(4.0, X, U, P) == pytest.approx(expected, rel=1e-15)
    bits = function(4.0, X, U, P).tobytes()
    t = np.array([4.0])
    assert function(form(t), form(X), form(U), form(P)).tobytes() == bits
    # one of them alone, so that the others go the short way
    assert function(form(t), X, U, P).tobytes() == bits
    assert function(4.0, form(X), U, P).tobytes() == bits
    assert function(4.0, X, form(U), P).tobytes() == bits
    assert function(4.0, X, U, form(P)).tobytes() == bits


@pytest.mark.parametrize(
    ("place", "given", "message"),
    [
        (0, [], r"f: t has shape \(0,\), expected \(1,\)"),
        (0, np.zeros(2), r"f: t has shape \(2,\), expected \(1,\)"),
        (1, X[:3], r"f: x has shape \(3,\), expected \(4,\)"),
        (1, X.reshape(2, 2), r"f: x has shape \(2, 2\), expected \(4,\)"),
        (1, X.reshape(4, 1), r"f: x has shape \(4, 1\), expected \(4,\)"),
        (1, 1.0, r"f: x has shape \(1,\), expected \(4,\)"),
        (2, U.reshape(1, 1), r"f: u has shape \(1, 1\), expected \(1,\)"),
        (3, [*P, 0.0], r"f: p has shape \(3,\), expected \(2,\)"),
        (3, P.astype(np.float32)[:1], r"f: p has shape \(1,\), expected \(2,\)"),
        (1, ["a", "b", "c", "d"], "could not convert string to float"),
    ],
)
def test_what_does_not_fit_is_refused(
    function: NativeFunction, place: int, given: object, message: str
) -> None:
    inputs: list = [0.0, X, U, P]
    inputs[place] = given
    with pytest.raises(ValueError, match=message):
        function(*inputs)


def test_complex_numbers_are_refused(function: NativeFunction) -> None:
    with pytest.raises(np.exceptions.ComplexWarning):
        function(0.0, X + 1j, U, P)


def test_results_are_the_callers_own(function: NativeFunction) -> None:
    inputs = [np.array([4.0]), X.copy(), U.copy(), P.copy()]
    before = [array.copy() for array in inputs]
    one, other = function(*inputs), function(*inputs)
    assert one.flags.writeable
    assert one.flags.c_contiguous
    assert one.dtype == np.float64
    assert not np.shares_memory(one, other)
    one[:] = np.nan
    assert not np.isnan(other).any()
    assert function(*inputs).tobytes() == other.tobytes()
    for array, was in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(array, was)


def test_a_result_outlives_its_function() -> None:
    x = ca.SX.sym("x", 100)
    twice = compile_native([trace_program("f", [EMPTY, x, EMPTY, EMPTY], 2 * x)])["f"]
    out = twice([], np.arange(100.0), [], [])
    del twice
    gc.collect()
    np.testing.assert_array_equal(out, 2 * np.arange(100.0))


def test_threads_with_arguments_of_their_own(function: NativeFunction) -> None:
    def many(seed: int) -> bool:
        states = np.random.default_rng(seed).normal(size=(300, 4))
        each = [function(seed, x, U, P).tobytes() for x in states]
        rows = function.map(np.full(300, seed), states, np.tile(U, (300, 1)), P)
        return each == [row.tobytes() for row in rows]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(many, range(16)))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_rows_and_single_calls(
    function: NativeFunction, form: Callable[[np.ndarray], object]
) -> None:
    t, states = np.arange(3.0), np.stack([X, 2 * X, -X])
    inputs = np.array([[3.0], [-1.0], [0.5]])
    rows = zip(t, states, inputs, strict=True)
    bits = b"".join(function(at, x, u, P).tobytes() for at, x, u in rows)
    assert function.map(form(t), states, inputs, P).tobytes() == bits
    assert function.map(t, [form(x) for x in states], inputs, P).tobytes() == bits
    assert function.map(t, states, inputs, form(P)).tobytes() == bits
    # numbers of a wider table, as states are of mechanism and controller together
    wide = np.column_stack([states, np.full((3, 2), np.nan)])
    assert function.map(t, wide[:, :4], inputs, P).tobytes() == bits


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1])
def test_few_rows_and_many(function: NativeFunction, count: int) -> None:
    rng = np.random.default_rng(count)
    t, x, u = rng.normal(size=count), rng.normal(size=(count, 4)), rng.normal(size=(count, 1))
    out = function.map(t, x, u, P)
    assert out.shape == (count, function.output_size)
    assert out.flags.writeable
    each = [function(*at, P) for at in zip(t, x, u, strict=True)]
    assert out.tobytes() == b"".join(row.tobytes() for row in each)
    # parameters of its own for every row
    assert function.map(t, x, u, np.tile(P, (count, 1))).tobytes() == out.tobytes()


@pytest.mark.parametrize(
    ("place", "given", "message"),
    [
        (0, np.zeros(2), r"f: x has shape \(3, 4\), expected \(2, 4\)"),
        (0, np.zeros((3, 2)), r"f: t has shape \(3, 2\), expected \(3, 1\)"),
        (1, np.zeros((2, 4)), r"f: x has shape \(2, 4\), expected \(3, 4\)"),
        (1, np.zeros((3, 5)), r"f: x has shape \(3, 5\), expected \(3, 4\)"),
        (1, X, r"f: x has shape \(4,\), expected \(3, 4\)"),
        (2, np.zeros((3, 0)), r"f: u has shape \(3, 0\), expected \(3, 1\)"),
        (3, np.zeros(3), r"f: p has shape \(3,\), expected \(3, 2\)"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    function: NativeFunction, place: int, given: np.ndarray, message: str
) -> None:
    inputs: list = [np.zeros(3), np.tile(X, (3, 1)), np.tile(U, (3, 1)), P]
    inputs[place] = given
    with pytest.raises(ValueError, match=message):
        function.map(*inputs)


def test_a_program_with_its_parameters_hoisted(system_of, rng):
    """The whole, and the rest of it after the head, are the program: to rounding, of any p."""
    system = system_of("whipple-bicycle")
    split = system.hoisted_rates
    program = system.program("rates", system.rates_expression)
    plain = compile_native([program])["rates"]
    assert split.num_hoisted > 10
    assert split.main_program.num_operations < program.num_operations
    start = ns.complete_start(system, {"speed": 4.0, "frame.lean": 0.1})
    n = 5
    x = np.tile(np.concatenate([start.q, start.eta, np.zeros(int(system.does_work))]), (n, 1))
    x += 0.01 * rng.normal(size=x.shape)
    u, t = rng.normal(size=(n, len(system.inputs))), np.zeros(n)
    p = system.parameters() * rng.uniform(0.9, 1.1, (n, len(system.parameters())))
    expected = plain.map(t, x, u, p)
    np.testing.assert_allclose(split.whole.map(t, x, u, p), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(
        split.rest.map(t, x, u, split.parameters(p)), split.whole.map(t, x, u, p)
    )
    one = split.rest(0.0, x[0], u[0], split.parameters(p[0]))
    np.testing.assert_array_equal(one, split.whole(0.0, x[0], u[0], p[0]))
    both = compile_native([program], {"rates": 5})
    np.testing.assert_array_equal(both["rates"].map(t, x, u, p), expected)
    np.testing.assert_array_equal(both["rates head"].map(t, x, u, p), expected[:, :5])
