"""SymPy target: programs as mathematics for people. Nothing is derived or evaluated with it.

A value that is used once is written where it is used; a value that is used again gets a name, so
that the output never grows beyond the program.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import sympy

from noslip.engines.program import Program

_KINDS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": lambda a, b: a**b,
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "min": sympy.Min,
    "max": sympy.Max,
    "hypot": lambda a, b: sympy.sqrt(a**2 + b**2),
    "expm1": lambda a: sympy.exp(a) - 1,
    "log1p": lambda a: sympy.log(1 + a),
    "not": lambda a: sympy.Piecewise((1, sympy.Eq(a, 0)), (0, True)),
    "lt": lambda a, b: sympy.Piecewise((1, a < b), (0, True)),
    "le": lambda a, b: sympy.Piecewise((1, a <= b), (0, True)),
    "eq": lambda a, b: sympy.Piecewise((1, sympy.Eq(a, b)), (0, True)),
    "ne": lambda a, b: sympy.Piecewise((0, sympy.Eq(a, b)), (1, True)),
    "if_else": lambda a, b, c: sympy.Piecewise((b, sympy.Ne(a, 0)), (c, True)),
    "copysign": lambda a, b: sympy.Abs(a) * sympy.sign(b),
    "fmod": sympy.Mod,
    "remainder": sympy.Mod,
    "ceil": sympy.ceiling,
}


@dataclass(frozen=True, slots=True)
class SympyProgram:
    """Named parts in order, and the outputs in terms of them."""

    parts: list[tuple[sympy.Symbol, sympy.Expr]]
    outputs: list[sympy.Expr]


def to_sympy(program: Program, names: list[sympy.Symbol], *, inline: int = 6) -> SympyProgram:
    """The program with input k written as names[k].

    Parameters
    ----------
    program : operation list.
    names : one symbol for each entry of t, x, u, p in order.
    inline : a value used more than once is still written out where it has fewer operations than
        this and two uses at most.
    """
    values: list[sympy.Expr] = list(names)
    values += [_constant(c) for c in program.constants]
    first = len(values)
    uses = Counter(i for op in program.operations for i in op.operands)
    uses.update(program.outputs)
    parts: list[tuple[sympy.Symbol, sympy.Expr]] = []
    for k, operation in enumerate(program.operations):
        function = _KINDS.get(operation.kind) or getattr(sympy, operation.kind)
        expression = function(*[values[i] for i in operation.operands])
        count = uses[first + k]
        is_small = expression.is_Atom or (expression.is_Mul and expression.count_ops() <= 1)
        if count > 1 and not is_small and not (count == 2 and expression.count_ops() < inline // 3):
            symbol = sympy.Symbol(f"z{len(parts) + 1}")
            parts.append((symbol, expression))
            expression = symbol
        values.append(expression)
    return SympyProgram(parts=parts, outputs=[values[i] for i in program.outputs])


def _constant(value: float) -> sympy.Expr:
    """Whole numbers as such; others with the digits they have."""
    if value == int(value) and abs(value) < 1e15:
        return sympy.Integer(int(value))
    return sympy.Float(value, 17) if len(repr(value)) > 12 else sympy.Rational(repr(value))
