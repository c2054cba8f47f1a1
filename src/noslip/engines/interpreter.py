"""Reference target: a :class:`Program` evaluated operation by operation, without compiling.

The table ``MEANINGS`` says what each operation means; every other target is tested against it.
Arithmetic is that of IEEE 754 and of the C library: a division by zero gives ±∞ or nan, the square
root of a negative number gives nan, and nothing raises. Truth is 1.0 or 0.0; any number but zero,
nan included, counts as true.

To add an operation: give it a line here, one in ``program.CASADI_KINDS``, and one in each printer.
Lookups of tables are listed in ``LOOKUPS``; printers see ``gather`` alone of them (`lookup`).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.algebra import numbered_table
from noslip.engines.target import AbstractTarget, ProgramFunction

if TYPE_CHECKING:
    from noslip.engines.program import Program

Array = NDArray[np.float64]
Function = Callable[..., Any]

INPUT_NAMES = ("t", "x", "u", "p")


def _truth(compare: Function) -> tuple[Function, Function]:
    """A comparison of numbers and of arrays, with truth as 1.0 or 0.0."""
    return (
        lambda *operands: 1.0 if compare(*operands) else 0.0,
        lambda *operands: np.asarray(compare(*operands), dtype=float),
    )


def _each(function: Function, num_operands: int) -> tuple[Function, Function]:
    """A function that NumPy lacks, applied number by number."""
    ufunc = np.frompyfunc(function, num_operands, 1)
    return function, lambda *operands: np.asarray(ufunc(*operands), dtype=float)


def _min(a: float, b: float) -> float:
    # nan counts as missing, as in the C library
    return a if a <= b or b != b else b


def _max(a: float, b: float) -> float:
    return a if a >= b or b != b else b


def _sign(a: float) -> float:
    return 1.0 if a > 0.0 else -1.0 if a < 0.0 else a


def _remainder(a: float, b: float) -> float:
    undefined = a != a or b != b or math.isinf(a) or b == 0.0
    return math.nan if undefined else math.remainder(a, b)


# What each operation means: for Python floats, and for NumPy arrays. The first may raise where the
# result is not finite; the second is used then.
MEANINGS: dict[str, tuple[Function, Function]] = {
    "add": (operator.add, np.add),
    "sub": (operator.sub, np.subtract),
    "mul": (operator.mul, np.multiply),
    "div": (operator.truediv, np.divide),
    "neg": (operator.neg, np.negative),
    "sqrt": (math.sqrt, np.sqrt),
    "exp": (math.exp, np.exp),
    "expm1": (math.expm1, np.expm1),
    "log": (math.log, np.log),
    "log1p": (math.log1p, np.log1p),
    "pow": (math.pow, np.power),
    "hypot": (math.hypot, np.hypot),
    "sin": (math.sin, np.sin),
    "cos": (math.cos, np.cos),
    "tan": (math.tan, np.tan),
    "asin": (math.asin, np.arcsin),
    "acos": (math.acos, np.arccos),
    "atan": (math.atan, np.arctan),
    "atan2": (math.atan2, np.arctan2),
    "sinh": (math.sinh, np.sinh),
    "cosh": (math.cosh, np.cosh),
    "tanh": (math.tanh, np.tanh),
    "asinh": (math.asinh, np.arcsinh),
    "acosh": (math.acosh, np.arccosh),
    "atanh": (math.atanh, np.arctanh),
    "erf": _each(math.erf, 1),
    "abs": (abs, np.abs),
    "sign": (_sign, np.sign),
    "floor": (math.floor, np.floor),
    "ceil": (math.ceil, np.ceil),
    "min": (_min, np.fmin),
    "max": (_max, np.fmax),
    "fmod": (math.fmod, np.fmod),
    "remainder": _each(_remainder, 2),
    "copysign": (math.copysign, np.copysign),
    "lt": _truth(operator.lt),
    "le": _truth(operator.le),
    "eq": _truth(operator.eq),
    "ne": _truth(operator.ne),
    "not": _truth(lambda a: a == 0.0),
    "and": _truth(lambda a, b: (a != 0.0) & (b != 0.0)),
    "or": _truth(lambda a, b: (a != 0.0) | (b != 0.0)),
    "if_else": (
        lambda condition, a, b: a if condition != 0.0 else b,
        lambda condition, a, b: np.where(np.not_equal(condition, 0.0), a, b),
    ),
}


def _evaluate(table: float, *given: Any) -> Any:
    return numbered_table(table).evaluate(*given)


#: Operations of a table, whose number is the last operand: a Taylor coefficient of a spline at
#: (x, y) of the orders (i, j), a column of the row that holds at p, and the entry of a table at a
#: place and so many behind it.
LOOKUPS: dict[str, Function] = {
    "spline": lambda x, y, i, j, table: _evaluate(table, x, y, int(i), int(j)),
    "row": lambda p, column, table: _evaluate(table, p, int(column)),
    "gather": lambda place, behind, table: numbered_table(table).coefficients.ravel()[
        np.asarray(place + behind, dtype=int)
    ],
}
MEANINGS |= {kind: (lookup, lookup) for kind, lookup in LOOKUPS.items()}

# Symmetries: f(a, b) = f(b, a), f(-a) = -f(a), f(-a) = f(a).
COMMUTATIVE = frozenset({"add", "mul", "min", "max", "eq", "ne", "and", "or", "hypot"})
ODD = frozenset({"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "sign"})
EVEN = frozenset({"cos", "cosh", "abs"})


def apply(kind: str, operands: Sequence[float]) -> float:
    """One operation on Python floats."""
    on_numbers, on_arrays = MEANINGS[kind]
    try:
        return float(on_numbers(*operands))
    except (ValueError, OverflowError, ZeroDivisionError):
        with np.errstate(all="ignore"):
            return float(on_arrays(*operands))


def interpret(program: Program, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
    """Outputs of a program, computed with Python floats.

    Parameters
    ----------
    program : Program
        The operations to run.
    t, x, u, p : (nt,), (nx,), (nu,), (np,) arrays
        Time, state, inputs and parameters, of the program's input sizes.

    Returns
    -------
    out : (output_size,) array
    """
    values: list[float] = []
    for vector in input_vectors(program.name, program.input_sizes, t, x, u, p):
        values.extend(vector.tolist())
    values.extend(program.constants)
    for kind, operands in program.operations:
        values.append(apply(kind, [values[k] for k in operands]))
    return np.array([values[k] for k in program.outputs], dtype=float)


def interpret_rows(
    program: Program, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike
) -> Array:
    """Outputs of a program for many rows of inputs at once, computed with NumPy arrays.

    Parameters
    ----------
    program : Program
        The operations to run.
    t, x, u, p : (n,), (n, nx), (n, nu), (n, np) arrays
        A row for each evaluation; p may also be (np,), the same for all rows.

    Returns
    -------
    out : (n, output_size) array
    """
    num_rows, tables = input_tables(program.name, program.input_sizes, t, x, u, p)
    values: list[Any] = [column for table in tables for column in np.atleast_2d(table).T]
    values.extend(program.constants)
    with np.errstate(all="ignore"):
        for kind, operands in program.operations:
            values.append(MEANINGS[kind][1](*(values[k] for k in operands)))
    out = np.empty((num_rows, program.output_size))
    for column, k in enumerate(program.outputs):
        out[:, column] = values[k]
    return out


class Interpreter(AbstractTarget):
    """Operations one by one, in Python floats."""

    __slots__ = ()

    word = "interpreter"
    purpose = "the reference that says what each operation means"

    def compile(self, program: Program) -> ProgramFunction:
        """The function that interprets a program."""
        return functools.partial(interpret, program)


def input_vectors(name: str, sizes: Sequence[int], *inputs: ArrayLike) -> list[Array]:
    """Inputs t, x, u, p of one evaluation as contiguous vectors of the given sizes."""
    each = zip(INPUT_NAMES, sizes, inputs, strict=True)
    return [input_vector(name, letter, size, given) for letter, size, given in each]


def input_vector(name: str, letter: str, size: int, given: ArrayLike) -> Array:
    """One of the inputs as a contiguous vector."""
    vector = np.ascontiguousarray(given, dtype=np.float64)
    if vector.size != size or vector.ndim > 1:
        raise ValueError(f"{name}: {letter} has shape {vector.shape}, expected ({size},)")
    return vector


def input_tables(name: str, sizes: Sequence[int], *inputs: ArrayLike) -> tuple[int, list[Array]]:
    """Number n of rows, and inputs t, x, u, p as contiguous (n, size) tables; p may be (size,)."""
    tables, num_rows = [], -1
    for letter, size, given in zip(INPUT_NAMES, sizes, inputs, strict=True):
        table = np.ascontiguousarray(given, dtype=np.float64)
        shared = letter == "p" and table.shape == (size,)
        if letter == "t" and table.ndim == 1:
            table = table.reshape(-1, 1)[:, :size]
        if num_rows < 0 and not shared and table.ndim == 2:
            num_rows = table.shape[0]
        if not shared and table.shape != (num_rows, size):
            rows = "n" if num_rows < 0 else num_rows
            raise ValueError(f"{name}: {letter} has shape {table.shape}, expected ({rows}, {size})")
        tables.append(table)
    return num_rows, tables
