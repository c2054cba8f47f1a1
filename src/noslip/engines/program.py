"""A traced function as a list of operations: what every target prints, compiles or interprets.

:func:`trace_program` reads a CasADi expression once and leaves plain data behind. Every operation
makes one value and none is made twice, so a printer walks the list and writes a line for each.

A *value* is known by its place in one long list: the inputs t, x, u, p one after the other, the
constants, then one value for each operation.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca

from noslip.algebra import LARGE, SMALL, LookupTable, called_table, numbered_table
from noslip.base import CompileError
from noslip.engines.interpreter import COMMUTATIVE, EVEN, INPUT_NAMES, LOOKUPS, ODD, apply

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
