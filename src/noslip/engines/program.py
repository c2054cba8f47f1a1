"""A traced function as a list of operations; targets that use it, and the reference target.

**Targets: what turns a `Program` into a function that computes, or into something to read.**

A target answers:

1. `word`, and `purpose`: what it is for;
2. `compile(program)`: a function of t, x, u and p that returns the outputs. Truth is 1.0 or 0.0,
   and nothing raises: see the top of `interpreter.py`.

`engines.catalog` lists the targets and compares them. Simulations and analyses run in native code;
to add a target changes nothing about them.

**Reference target: a :class:`Program` evaluated operation by operation, without compiling.**

The table ``MEANINGS`` says what each operation means; every other target is tested against it.
Arithmetic is that of IEEE 754 and of the C library: a division by zero gives ±∞ or nan, the square
root of a negative number gives nan, and nothing raises. Truth is 1.0 or 0.0; any number but zero,
nan included, counts as true.

To add an operation: give it a line here, one in ``program.CASADI_KINDS``, and one in each printer.
Lookups of tables are listed in ``LOOKUPS``; printers see ``gather`` alone of them (`optimization`).

**A traced function as a list of operations: what every target prints, compiles or interprets.**

:func:`trace_program` reads a CasADi expression once and leaves plain data behind. Every operation
makes one value and none is made twice, so a printer walks the list and writes a line for each.

A *value* is known by its place in one long list: the inputs t, x, u, p one after the other, the
constants, then one value for each operation.
"""

from __future__ import annotations

import abc
import functools
import gc
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.algebra import LARGE, SMALL, LookupTable, called_table, numbered_table
from noslip.base import CompileError, Member

#: Outputs (n,) of t (nt,), x (nx,), u (nu,) and p (np,).
ProgramFunction: TypeAlias = Callable[
    [ArrayLike, ArrayLike, ArrayLike, ArrayLike], NDArray[np.float64]
]


class AbstractTarget(Member, abc.ABC, family="engine target"):
    """A target of programs; see the list at the top of this file."""

    __slots__ = ()

    #: What it is for, to end a sentence.
    purpose: ClassVar[str]

    @abc.abstractmethod
    def compile(self, program: Program) -> ProgramFunction:
        """The program as a function of t, x, u and p."""


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


# CasADi's operations under our names. A few more are written with these in
# ProgramBuilder.read.
CASADI_KINDS: dict[int, str] = {
    getattr(ca, f"OP_{kind.upper()}"): kind
    for kind in (
        *("add", "sub", "mul", "div", "neg", "sqrt", "pow", "hypot"),
        *("exp", "expm1", "log", "log1p", "erf"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("sign", "floor", "ceil", "fmod", "remainder", "copysign"),
        *("lt", "le", "eq", "ne", "not", "and", "or"),
    )
} | {ca.OP_CONSTPOW: "pow", ca.OP_FABS: "abs", ca.OP_FMIN: "min", ca.OP_FMAX: "max"}

#: Operations on two values that are simplified only where one of them is special.
ARITHMETIC = frozenset({"add", "sub", "mul"})

LISTED_OPERATIONS = 60  # programs up to this length are printed in full


class Operation(NamedTuple):
    """One operation of a program: its kind and its operands."""

    kind: str
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A function of time, state, inputs and parameters as a list of operations.

    Operation k makes value ``num_given + k`` out of earlier ones; ``outputs`` are the values that
    the outputs take; ``input_sizes`` are the lengths of t, x, u and p.
    """

    name: str
    input_sizes: tuple[int, int, int, int]
    constants: tuple[float, ...] = field(repr=False)
    operations: tuple[Operation, ...] = field(repr=False)
    outputs: tuple[int, ...] = field(repr=False)

    @property
    def output_size(self) -> int:
        """Length of the output vector."""
        return len(self.outputs)

    @property
    def num_given(self) -> int:
        """Number of values known before the first operation: inputs and constants."""
        return sum(self.input_sizes) + len(self.constants)

    @property
    def num_operations(self) -> int:
        """Number of operations."""
        return len(self.operations)

    @property
    def tables(self) -> tuple[LookupTable, ...]:
        """Lookup tables; the last operand of a lookup operation is the table's number."""
        first = sum(self.input_sizes)
        numbers = {
            self.constants[operands[-1] - first]
            for kind, operands in self.operations
            if kind in LOOKUPS
        }
        return tuple(numbered_table(number) for number in sorted(numbers))

    @property
    def used_inputs(self) -> set[int]:
        """Numbers of the input values that are read."""
        read = {i for _, operands in self.operations for i in operands} | set(self.outputs)
        return {i for i in read if i < sum(self.input_sizes)}

    def short_outputs(self, most: int) -> list[bool]:
        """Whether each output takes so many operations at most."""
        first, found = self.num_given, []
        for output in self.outputs:
            reached, ahead = set[int](), [output]
            while ahead and len(reached) <= most:
                value = ahead.pop()
                if value >= first and value not in reached:
                    reached.add(value)
                    ahead += self.operations[value - first].operands
            found.append(len(reached) <= most)
        return found

    def interpret(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs for many rows of inputs, by NumPy instead of machine code."""
        return interpret_rows(self, t, x, u, p)

    def count(self) -> dict[str, int]:
        """Number of operations of each kind, the most frequent first."""
        return dict(Counter(operation.kind for operation in self.operations).most_common())

    def __str__(self) -> str:
        """All operations when they are few, else how many there are of each kind."""
        inputs = list(zip(INPUT_NAMES, self.input_sizes, strict=True))
        sizes = ", ".join(f"{name}[{size}]" for name, size in inputs)
        head = f"{self.name}({sizes}) -> out[{self.output_size}], {self.num_operations} operations"
        if self.num_operations > LISTED_OPERATIONS:
            return f"{head}: " + ", ".join(f"{n} {kind}" for kind, n in self.count().items())
        names = [f"{name}[{k}]" for name, size in inputs for k in range(size)]
        names += [repr(number) for number in self.constants]
        names += [f"v{k}" for k in range(self.num_operations)]
        lines = [
            f"  v{k} = {kind}({', '.join(names[i] for i in operands)})"
            for k, (kind, operands) in enumerate(self.operations)
        ]
        lines += [f"  out[{k}] = {names[i]}" for k, i in enumerate(self.outputs)]
        return "\n".join([head, *lines])


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pause Python's garbage collector while a million tuples are made, none of them garbage.

    It takes a third of the time of a long program.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@no_garbage_collection()
def trace_program(name: str, inputs: Sequence[ca.SX], output: ca.SX) -> Program:
    """The operations that compute a traced expression: shared, simplified, and none unused.

    Parameters
    ----------
    name : str
        Name of the function.
    inputs : four SX columns
        t, x, u and p: distinct symbols; any column may be empty.
    output : SX column
        Expressions of these symbols; structural zeros become the constant 0.
    """
    function = _function(name, inputs, output)
    values = ProgramBuilder()
    input_values = [[values.new("input") for _ in range(vector.numel())] for vector in inputs]
    outputs = [values.constant(0.0)] * output.numel()
    rows = output.sparsity().row()

    # every instruction writes registers of its own, one after the other
    registers: list[int] = []
    for k in range(function.n_instructions()):
        code, sources = function.instruction_id(k), function.instruction_input(k)
        if (kind := CASADI_KINDS.get(code)) is not None:
            registers.append(values.make(kind, *[registers[i] for i in sources]))
        elif code == ca.OP_OUTPUT:
            outputs[rows[function.instruction_output(k)[1]]] = registers[sources[0]]
        elif code == ca.OP_INPUT:
            registers.append(input_values[sources[0]][sources[1]])
        elif code == ca.OP_CONST:
            registers.append(values.constant(function.instruction_constant(k)))
        elif code == ca.OP_CALL and (table := called_table(function, k)) is not None:
            made = values.lookups(table, *[registers[i] for i in sources])
            targets = function.instruction_output(k)  # negative where an output is not used
            registers += [v for v, target in zip(made, targets, strict=True) if target >= 0]
        else:
            registers.append(values.read(code, [registers[i] for i in sources], name))
    return values.program(name, [len(vector) for vector in input_values], outputs)


def _function(name: str, inputs: Sequence[ca.SX], output: ca.SX) -> ca.Function:
    """The CasADi function, after checking that it is one."""
    for letter, vector in zip(INPUT_NAMES, inputs, strict=True):
        is_dense = vector.is_dense() and vector.is_column()
        if vector.numel() and not (is_dense and vector.is_valid_input()):
            raise ValueError(f"{name}: {letter} is not a column of symbols: {vector}")
    if len(ca.symvar(ca.vertcat(*inputs))) < sum(vector.numel() for vector in inputs):
        raise ValueError(f"{name}: a symbol occurs twice among the inputs t, x, u, p")
    if output.numel() and not output.is_column():
        raise ValueError(f"{name}: the output has shape {output.shape}, expected a column")
    options = {"allow_free": True, "live_variables": False}
    function = ca.Function("traced", list(inputs), [output], options)
    if function.has_free():
        free = ", ".join(f"'{symbol}'" for symbol in function.get_free())
        raise CompileError(
            f"the expression contains {free}, which no input provides",
            f"function '{name}', inputs t, x, u, p",
            "add the symbol to one of the inputs, or substitute a number for it",
        )
    return function


class ProgramBuilder:
    """The values of a program in the making, each known by how it is made, so none is made twice.

    Signs are moved outward, (-a) b → -(a b), where sums take them up, a + (-b) → a - b. The
    rewritings are exact but for the sign of a zero; only 0 a → 0, 0/a → 0, a - a → 0 and a/a → 1
    take a to be finite and nonzero, as CasADi does too.
    """

    def __init__(self) -> None:
        self.made: list[tuple[str, tuple[int, ...]]] = []
        self.is_plain: list[bool] = []  # whether no rule of `simplify` looks into the value
        self.numbers: dict[int, float] = {}
        self.known: dict[tuple[str, object], int] = {}

    def new(self, kind: str, operands: tuple[int, ...] = ()) -> int:
        self.made.append((kind, operands))
        self.is_plain.append(kind not in ("constant", "neg", "if_else"))
        return len(self.made) - 1

    def constant(self, number: float) -> int:
        key = ("constant", float(number).hex())  # distinguishes -0 from 0 and matches nan
        if key not in self.known:
            self.known[key] = self.new("constant")
            self.numbers[self.known[key]] = float(number)
        return self.known[key]

    def read(self, code: int, operands: list[int], name: str) -> int:
        """The value of a CasADi operation that has no kind of its own, in the named function."""
        if code == ca.OP_SQ:
            return self.make("mul", operands[0], operands[0])
        if code == ca.OP_TWICE:
            return self.make("add", operands[0], operands[0])
        if code == ca.OP_INV:
            return self.make("div", self.constant(1.0), operands[0])
        if code == ca.OP_IF_ELSE_ZERO:
            return self.make("if_else", *operands, self.constant(0.0))
        if code in (ca.OP_ASSIGN, ca.OP_LIFT):
            return operands[0]
        words = (word for word in dir(ca) if word.startswith("OP_") and getattr(ca, word) == code)
        raise CompileError(
            f"CasADi's operation {next(words, code)} cannot be compiled",
            f"function '{name}'",
            "write it with the operations listed in noslip.engines.program.CASADI_KINDS",
        )

    def lookups(self, table: LookupTable, *places: int) -> list[int]:
        """The values of all outputs of a table."""
        own = self.constant(float(table.number))
        return [
            self.make(table.kind, *places, *(self.constant(float(k)) for k in order), own)
            for order in table.orders
        ]

    def make(self, kind: str, *operands: int) -> int:
        """The value of an operation: a constant, a simpler or an earlier one where there is one."""
        if kind in ARITHMETIC and operands[0] != operands[1]:
            a, b = operands
            if self.is_plain[a] and self.is_plain[b]:
                # nothing to simplify, but for b − a where there is a − b
                if kind == "sub" and ("sub", (b, a)) in self.known:
                    return self.make("neg", self.known["sub", (b, a)])
                key = kind, (b, a) if b < a and kind != "sub" else operands
                found = self.known.get(key)
                if found is None:
                    found = self.known[key] = len(self.made)
                    self.made.append(key)
                    self.is_plain.append(True)
                return found
        if all(k in self.numbers for k in operands):
            return self.constant(apply(kind, [self.numbers[k] for k in operands]))
        simpler = None if kind in LOOKUPS else self.simplify(kind, *operands)
        if simpler is not None:
            return simpler
        if kind in COMMUTATIVE and operands[0] > operands[1]:
            operands = operands[::-1]
        if (kind, operands) not in self.known:
            self.known[kind, operands] = self.new(kind, operands)
        return self.known[kind, operands]

    def simplify(self, kind: str, a: int, b: int = -1, c: int = -1) -> int | None:
        """A value equal to the operation's that costs less or is shared more, if there is one."""
        if kind == "add":
            return self.simplify_sum(a, b)
        if kind == "sub":
            return self.simplify_difference(a, b)
        if kind in ("mul", "div"):
            return self.simplify_product(kind, a, b)
        if kind == "if_else" and a in self.numbers:
            return b if self.numbers[a] != 0.0 else c
        minus_a = self.negative(a)
        if minus_a is None:
            return None
        if kind in ODD:
            return self.make("neg", self.make(kind, minus_a))
        if kind in EVEN:
            return self.make(kind, minus_a)
        return minus_a if kind == "neg" else None

    def simplify_sum(self, a: int, b: int) -> int | None:
        for first, second in ((a, b), (b, a)):
            if self.numbers.get(second) == 0.0:
                return first
            minus = self.negative(second)
            if minus is not None:
                return self.make("sub", first, minus)
            # CasADi's form of a choice, (c ? x : 0) + (!c ? y : 0), is c ? x : y
            (kind, one), (other_kind, other) = self.made[first], self.made[second]
            if kind == other_kind == "if_else":
                (c, x, zero), (d, y, same) = one, other
                if self.made[d] == ("not", (c,)) and zero == same == self.constant(0.0):
                    return self.make("if_else", c, x, y)
        return None

    def simplify_difference(self, a: int, b: int) -> int | None:
        if a == b:
            return self.constant(0.0)
        if self.numbers.get(b) == 0.0:
            return a
        if self.numbers.get(a) == 0.0:
            return self.make("neg", b)
        minus_a, minus_b = self.negative(a), self.negative(b)
        if minus_b is not None:
            return self.make("add", a, minus_b)
        if minus_a is not None:
            return self.make("neg", self.make("add", minus_a, b))
        reverse = self.known.get(("sub", (b, a)))
        return None if reverse is None else self.make("neg", reverse)

    def simplify_product(self, kind: str, a: int, b: int) -> int | None:
        if kind == "mul" and b in self.numbers:
            a, b = b, a
        number_a = self.numbers.get(a)
        if number_a == 0.0:
            return self.constant(0.0)
        if kind == "mul" and number_a == SMALL and self.made[b][0] == "floor":
            inside, factors = self.made[self.made[b][1][0]]
            if inside == "mul" and LARGE in [self.numbers.get(k) for k in factors]:
                return next(k for k in factors if k not in self.numbers)  # held: the same
        if kind == "mul" and (number_a == 1.0 or number_a == -1.0):
            return b if number_a == 1.0 else self.make("neg", b)
        if kind == "div" and (a == b or self.numbers.get(b) == 1.0):
            return a if a != b else self.constant(1.0)
        minus_a, minus_b = self.negative(a), self.negative(b)
        if minus_a is not None:
            return self.make("neg", self.make(kind, minus_a, b))
        if minus_b is not None:
            return self.make("neg", self.make(kind, a, minus_b))
        return None

    def negative(self, value: int) -> int | None:
        """The value a, if the given one is -a."""
        kind, operands = self.made[value]
        return operands[0] if kind == "neg" else None

    def program(self, name: str, sizes: list[int], outputs: list[int]) -> Program:
        """The program that makes the outputs and nothing else."""
        is_needed = bytearray(len(self.made))
        for k in outputs:
            is_needed[k] = True
        for k in range(len(self.made) - 1, -1, -1):
            if is_needed[k]:
                for i in self.made[k][1]:
                    is_needed[i] = True

        num_inputs, constants = sum(sizes), [k for k in self.numbers if is_needed[k]]
        place = [*range(num_inputs), *[-1] * (len(self.made) - num_inputs)]
        for i, k in enumerate(constants, num_inputs):
            place[k] = i
        given = num_inputs + len(constants)
        operations: list[Operation] = []
        for k in range(num_inputs, len(self.made)):
            if is_needed[k] and place[k] < 0:
                kind, operands = self.made[k]
                place[k] = given + len(operations)
                operations.append(Operation(kind, tuple([place[i] for i in operands])))
        return Program(
            name=name,
            input_sizes=(sizes[0], sizes[1], sizes[2], sizes[3]),
            constants=tuple(self.numbers[k] for k in constants),
            operations=tuple(operations),
            outputs=tuple(place[k] for k in outputs),
        )
