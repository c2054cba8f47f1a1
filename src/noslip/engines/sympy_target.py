"""SymPy target: programs as mathematics for people. Nothing is derived with it.

A value that is used once is written where it is used; a value that is used again gets a name, so
that the output never grows beyond the program. Nothing is simplified here beyond what SymPy does by
itself when it builds an expression.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray
from sympy.utilities.lambdify import implemented_function

from noslip.algebra import GridSpline, StepTable, numbered_table
from noslip.engines.program import AbstractTarget, Program, ProgramFunction, input_vectors

HALF = sympy.Rational(1, 2)
#: Operands and operations of a value that is written out: used once, and more than once.
WRITTEN_OUT, REPEATED = 80, 3


def _choice(condition: Any, a: Any, b: Any) -> sympy.Expr:
    """The value a where the condition holds, else b; nothing is rearranged."""
    if condition in (sympy.true, sympy.false):
        return sympy.S(a if condition == sympy.true else b)
    return sympy.Piecewise((a, condition), (b, True), evaluate=False)


def _truth(a: sympy.Expr) -> Any:
    """Condition of a number used as a truth value: its comparison, or that it is not zero."""
    if isinstance(a, sympy.Piecewise) and [e for e, _ in a.args] == [1, 0]:
        return a.args[0][1]
    return sympy.Ne(a, 0)


#: Functions of splines that were written, by their names.
_SPLINES: dict[str, Any] = {}


def _spline(x: Any, y: Any, i: Any, j: Any, table: Any) -> sympy.Expr:
    """A Taylor coefficient of a spline h as its partial derivative, over factorials."""
    return (
        _partial_derivative(int(i), int(j), int(table))(x, y)
        / sympy.factorial(i)
        / sympy.factorial(j)
    )


@functools.cache
def _partial_derivative(i: int, j: int, table: int) -> Any:
    """A function called h_xxy for two derivatives by x and one by y, which has numbers."""
    spline, scale = numbered_table(table), math.factorial(i) * math.factorial(j)
    assert isinstance(spline, GridSpline)
    letter = f"h{table + 1}" if table else "h"
    name = letter + ("_" + "x" * i + "y" * j if i + j else "")
    _SPLINES[name] = lambda x, y: scale * spline.evaluate(x, y, i, j)
    return implemented_function(name, _SPLINES[name])


def _row(p: Any, column: Any, table: Any) -> sympy.Expr:
    """An entry of the row of a table that holds at p."""
    return _column(int(column), int(table))(p)


@functools.cache
def _column(column: int, table: int) -> Any:
    """A function called c1_2 for a column of a table, which has numbers."""
    rows = numbered_table(table)
    assert isinstance(rows, StepTable)
    name = f"c{table + 1}_{column + 1}"
    _SPLINES[name] = lambda p: rows.evaluate(p, column)
    return implemented_function(name, _SPLINES[name])


KINDS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": lambda a, b: a**b,
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "min": lambda a, b: sympy.Min(a, b, evaluate=False),
    "max": lambda a, b: sympy.Max(a, b, evaluate=False),
    "hypot": lambda a, b: sympy.sqrt(a**2 + b**2),
    "expm1": lambda a: sympy.exp(a) - 1,
    "log1p": lambda a: sympy.log(1 + a),
    "not": lambda a: _choice(sympy.Eq(a, 0), 1, 0),
    "lt": lambda a, b: _choice(sympy.Lt(a, b), 1, 0),
    "le": lambda a, b: _choice(sympy.Le(a, b), 1, 0),
    "eq": lambda a, b: _choice(sympy.Eq(a, b), 1, 0),
    "ne": lambda a, b: _choice(sympy.Ne(a, b), 1, 0),
    "and": lambda a, b: _choice(sympy.And(_truth(a), _truth(b)), 1, 0),
    "or": lambda a, b: _choice(sympy.Or(_truth(a), _truth(b)), 1, 0),
    "if_else": lambda a, b, c: _choice(_truth(a), b, c),
    "copysign": lambda a, b: sympy.Abs(a) * sympy.sign(b),
    # the sign of the first operand, as in C; and the rest to the nearest multiple
    "fmod": lambda a, b: a - b * sympy.sign(a / b) * sympy.floor(sympy.Abs(a / b)),
    "remainder": lambda a, b: a - b * sympy.ceiling(a / b - HALF),
    "ceil": sympy.ceiling,
    "spline": _spline,
    "row": _row,
}


def apply_kind(kind: str, operands: list[sympy.Expr]) -> sympy.Expr:
    """One operation of a program on SymPy expressions."""
    return (KINDS.get(kind) or getattr(sympy, kind))(*operands)


@dataclass(frozen=True, slots=True)
class SympyProgram:
    """Named parts in order, and the outputs in terms of them."""

    parts: list[tuple[sympy.Symbol, sympy.Expr]]
    outputs: list[sympy.Expr]


def to_sympy(program: Program, names: list[sympy.Symbol], *, letter: str = "z") -> SympyProgram:
    """The program with input k written as names[k].

    Parameters
    ----------
    program : operation list.
    names : one symbol for each entry of t, x, u, p in order.
    letter : the parts are called by it and a number.
    """
    values: list[sympy.Expr] = list(names)
    values += [_constant(c) for c in program.constants]
    sizes = [1] * len(values)
    uses = Counter(i for op in program.operations for i in op.operands)
    uses.update(program.outputs)
    parts: list[tuple[sympy.Symbol, sympy.Expr]] = []
    for operation in program.operations:
        expression = apply_kind(operation.kind, [values[i] for i in operation.operands])
        size = 1 + sum(sizes[i] for i in operation.operands)
        # what is used once is written where it is used, unless that grows beyond reading
        limit = WRITTEN_OUT if uses[len(values)] == 1 else REPEATED
        if size > limit and not expression.is_Atom:
            symbol = sympy.Symbol(f"{letter}{len(parts) + 1}")
            parts.append((symbol, expression))
            expression, size = symbol, 1
        values.append(expression)
        sizes.append(size)
    return SympyProgram(parts=parts, outputs=[values[i] for i in program.outputs])


class SympyTarget(AbstractTarget):
    """SymPy's expressions, evaluated with Python floats."""

    __slots__ = ()

    word = "sympy"
    purpose = "to show mathematics; it is evaluated to compare it with the other targets alone"

    def compile(self, program: Program) -> ProgramFunction:
        """The function that SymPy writes; it may raise where a result is not finite."""
        names = list(sympy.symbols(f"given:{sum(program.input_sizes)}", seq=True))
        written = to_sympy(program, names)
        evaluate = sympy.lambdify(
            names, written.outputs, [_SPLINES, "math"], cse=lambda outputs: (written.parts, outputs)
        )

        def function(t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
            vectors = input_vectors(program.name, program.input_sizes, t, x, u, p)
            return np.array(evaluate(*np.concatenate(vectors).tolist()), dtype=float)

        return function


def _constant(value: float) -> sympy.Expr:
    """Whole numbers as such; others with the digits they have."""
    if value != value or abs(value) == float("inf"):
        return sympy.nan if value != value else sympy.oo * (1 if value > 0 else -1)
    if value == int(value) and abs(value) < 1e15:
        return sympy.Integer(int(value))
    return sympy.Float(value, 17) if len(repr(value)) > 12 else sympy.Rational(repr(value))
