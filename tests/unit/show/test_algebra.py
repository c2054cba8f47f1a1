"""The algebra of sums: exact, bounded in size and in work, and equal to the program's values."""

import math
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from noslip.engines import apply_kind, trace_program
from noslip.engines.program import LOOKUPS, MEANINGS, interpret
from noslip.show.equations.polynomials import (
    ONE,
    Algebra,
    Atom,
    Budget,
    TooLarge,
    forms_of,
)
from noslip.show.equations.writing import Writer

PLENTY = 10**6


@pytest.fixture
def algebra() -> Algebra:
    return Algebra(Budget(PLENTY, 60.0))


def atoms(algebra: Algebra, count: int):
    return [algebra.atom(Atom("symbol", k)) for k in range(count)]


def test_a_unit_quaternion_has_length_one():
    algebra = Algebra(Budget(PLENTY, 60.0), quaternions=((0, 1, 2, 3),))
    q = atoms(algebra, 4)
    length = {}
    for part in q:
        length = algebra.add(length, algebra.multiply(part, part))
    assert length == {ONE: 1}


def test_roots_leave_denominators(algebra):
    """1/(x + √P) (x − √P) and the like are polynomials over x² − P."""
    x, p = atoms(algebra, 2)
    root = algebra.root(p)
    assert algebra.multiply(root, root) == p
    below = algebra.add(x, root)
    assert algebra.multiply(algebra.reciprocal(below), below) == {ONE: 1}
    assert algebra.root({ONE: Fraction(9, 4)}) == {ONE: Fraction(3, 2)}
    four = algebra.multiply({ONE: 4}, algebra.add(x, p))
    assert algebra.root(four) == algebra.multiply({ONE: 2}, algebra.root(algebra.add(x, p)))


def test_what_grows_too_large_is_refused(algebra):
    total = {}
    for part in atoms(algebra, 12):
        total = algebra.add(total, part)
    with pytest.raises(TooLarge):
        algebra.power(total, 8)
    with pytest.raises(TooLarge):
        algebra.power({ONE: 3, **total}, 40)


X = ca.SX.sym("x", 3)
SYMBOLS = [sympy.Symbol(f"x{k}", real=True) for k in range(3)]
EXPRESSIONS = {
    "rotation": ca.cos(X[0]) * (X[1] + X[2]) + ca.sin(X[0]) ** 2 * X[1] + ca.cos(X[0]) ** 2 * X[1],
    "quotient": (X[0] ** 2 - X[1] ** 2) / (X[0] + X[1]) + X[2] / X[0],
    "norm": X[0] / ca.sqrt(X[0] ** 2 + X[1] ** 2 + 1),
    "choice": ca.if_else(X[0] > X[1], X[2], -X[2]) ** 2 + ca.fabs(X[0]) * ca.fabs(X[0]),
    "functions": ca.tanh(X[0] / 0.05)
    + ca.exp(-X[1]) * ca.log(1 + X[2] ** 2)
    + ca.atan2(X[1], X[2]),
    "decimals": 0.7083 * X[0] + 1 / 3 * X[1] ** 3 + math.pi / 2 * X[2] + 6.1e-17 * X[0],
    "reflection": X[0] / (X[0] + ca.if_else(X[0] > 0, 1, -1) * ca.sqrt(X[0] ** 2 + X[1] ** 2)),
    "rounding": ca.floor(3 * X[0]) + ca.fmin(X[1], X[2]) + ca.fmax(X[0], 0.2) + ca.sign(X[1]),
}


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_forms_have_the_values_of_the_program(name, share, rng):
    empty = ca.SX(0, 1)
    program = trace_program(name, [ca.SX(0, 1), X, empty, empty], EXPRESSIONS[name])
    named = frozenset(range(program.num_given, program.num_given + program.num_operations))
    forms = forms_of(program, Budget(PLENTY, 60.0), share=named if share else frozenset())
    writer = Writer(forms.algebra, SYMBOLS, lambda k: sympy.Symbol(f"v{k}"))
    found = writer.expression(forms.values[program.outputs[0]])
    for k in sorted(forms.definitions, reverse=True):
        found = found.xreplace({sympy.Symbol(f"v{k}"): writer.expression(forms.definitions[k])})
    for _ in range(4):
        x = rng.uniform(-1.5, 1.5, 3)
        expected = interpret(program, [], x, [], [])[0]
        numbers = {s: sympy.Float(float(v), 25) for s, v in zip(SYMBOLS, x, strict=True)}
        assert float(found.xreplace(numbers)) == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_closed_forms_are_short():
    empty = ca.SX(0, 1)
    x0, x1, x2 = SYMBOLS
    for name, expected in {
        "rotation": x1 + (x1 + x2) * sympy.cos(x0),
        "quotient": x0 - x1 + x2 / x0,
        "choice": x0**2 + x2**2,
    }.items():
        program = trace_program(name, [empty, X, empty, empty], EXPRESSIONS[name])
        forms = forms_of(program, Budget(PLENTY, 60.0))
        writer = Writer(forms.algebra, SYMBOLS, lambda k: sympy.Symbol(f"v{k}"))
        shown = writer.expression(forms.values[program.outputs[0]])
        assert sympy.simplify(shown - expected) == 0
        assert sympy.count_ops(shown) <= sympy.count_ops(expected) + 2


@given(st.lists(st.sampled_from(["add", "sub", "mul", "div", "sin", "cos", "sqrt"]), max_size=25),
       st.integers(0, 2**32 - 1))  # fmt: skip
def test_any_program_keeps_its_values(kinds, seed):
    """Random straight-line programs: the sums are the values, wherever those are ordinary."""
    rng = np.random.default_rng(seed)
    values = [*ca.vertsplit(X)]
    for kind in kinds:
        a, b = (values[k] for k in rng.integers(len(values), size=2))
        operations = {
            "add": a + b,
            "sub": a - b,
            "mul": a * b,
            "div": a / (b * b + 1),
            "sin": ca.sin(a),
            "cos": ca.cos(a),
            "sqrt": ca.sqrt(a * a + 2),
        }
        values.append(operations[kind])
    empty = ca.SX(0, 1)
    program = trace_program("random", [empty, X, empty, empty], values[-1])
    forms = forms_of(program, Budget(20_000, 60.0))
    if forms.unexpanded:
        return
    writer = Writer(forms.algebra, SYMBOLS, lambda k: sympy.Symbol(f"v{k}"))
    shown = writer.expression(forms.values[program.outputs[0]])
    x = rng.uniform(-1.0, 1.0, 3)
    expected = interpret(program, [], x, [], [])[0]
    numbers = {s: sympy.Float(float(v), 40) for s, v in zip(SYMBOLS, x, strict=True)}
    assert float(shown.xreplace(numbers)) == pytest.approx(expected, rel=1e-8, abs=1e-8)


OPERANDS = {"if_else": 3} | dict.fromkeys(
    ["add", "sub", "mul", "div", "pow", "hypot", "atan2", "min", "max", "fmod", "remainder",
     "copysign", "lt", "le", "eq", "ne", "and", "or"],
    2,
)  # fmt: skip


@pytest.mark.parametrize("kind", sorted(MEANINGS.keys() - LOOKUPS))
def test_every_operation_means_the_same_in_sympy(kind, rng):
    """Each kind of operation against its meaning for numbers, away from ties."""
    wide = kind in ("fmod", "remainder", "copysign", "floor", "ceil", "sign", "abs")
    low, high = (-7.0, 7.0) if wide else (1.05, 1.95) if kind == "acosh" else (0.05, 0.95)
    for _ in range(6):
        a = [round(float(v), 6) for v in rng.uniform(low, high, OPERANDS.get(kind, 1))]
        expected = MEANINGS[kind][0](*a)
        found = apply_kind(kind, [sympy.Float(v, 20) for v in a])
        assert float(found) == pytest.approx(float(expected), rel=1e-12, abs=1e-12)
