"""LLVM text (IR) written as Python arithmetic: values of functions on vectors of lanes.

An :class:`IRWriter` holds the lines of one function; a :class:`Value` is a vector in it with one
number for each lane, or a scalar with one lane. ``a * b + 1`` writes two instructions, without any
flag that would let LLVM change them: every lane is rounded as IEEE 754 says, whatever the other
lanes hold. Control flow and variables are written by `flow`.

    writer = IRWriter(8)
    x = writer.argument("x")
    print(writer.function("square", [x], [x * x], is_inline=True))
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ctypes import c_float
from dataclasses import dataclass

REAL, SINGLE, WHOLE, TRUTH = "double", "float", "i64", "i1"
#: Kinds of floating-point numbers.
REALS = (REAL, SINGLE)
#: LLVM's number for the memory of a GPU.
GLOBAL = "addrspace(1)"


def literal(number: float, kind: str = REAL) -> str:
    """A number as LLVM reads it, with all its bits; one of single precision is rounded to it."""
    if kind == SINGLE:
        number = c_float(number).value
    return f"0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"


def vector_type(lanes: int, kind: str = REAL) -> str:
    """LLVM's type of one number for each lane."""
    return kind if lanes == 1 else f"<{lanes} x {kind}>"


def splat(lanes: int, number: str, kind: str = REAL) -> str:
    """The same number in all lanes."""
    return number if lanes == 1 else f"splat ({kind} {number})"


def intrinsic(word: str, lanes: int, kind: str = REAL) -> str:
    """LLVM's own function of this name on numbers of a kind."""
    bits = "f32" if kind == SINGLE else "f64"
    return f"llvm.{word}.{bits}" if lanes == 1 else f"llvm.{word}.v{lanes}{bits}"


def alignment(kind: str) -> int:
    """Bytes on which a number of a kind is aligned in memory."""
    return 4 if kind == SINGLE else 8


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value in a function being written: its name, element type and number of lanes."""

    writer: IRWriter
    name: str
    kind: str = REAL
    width: int = 1

    def __add__(self, other: Operand) -> Value:
        return self.writer.binary({REAL: "fadd", WHOLE: "add"}, self, other)

    def __radd__(self, other: Operand) -> Value:
        return self + other

    def __sub__(self, other: Operand) -> Value:
        return self.writer.binary({REAL: "fsub", WHOLE: "sub"}, self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.writer.of(other, self.kind) - self

    def __mul__(self, other: Operand) -> Value:
        return self.writer.binary({REAL: "fmul", WHOLE: "mul"}, self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self * other

    def __truediv__(self, other: Operand) -> Value:
        return self.writer.quotient(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.writer.of(other, self.kind) / self

    def __neg__(self) -> Value:
        return self.writer.emit(f"fneg {self.typed}", self.kind, self.width)

    def __and__(self, other: Operand) -> Value:
        return self.writer.binary({WHOLE: "and", TRUTH: "and"}, self, other)

    def __or__(self, other: Operand) -> Value:
        return self.writer.binary({WHOLE: "or", TRUTH: "or"}, self, other)

    def __xor__(self, other: Operand) -> Value:
        return self.writer.binary({WHOLE: "xor", TRUTH: "xor"}, self, other)

    def __invert__(self) -> Value:
        return self ^ {TRUTH: True, WHOLE: -1}[self.kind]

    def __lshift__(self, count: int) -> Value:
        return self.writer.binary({WHOLE: "shl"}, self, count)

    def __rshift__(self, count: int) -> Value:
        return self.writer.binary({WHOLE: "ashr"}, self, count)

    def __lt__(self, other: Operand) -> Value:
        return self.writer.compare("olt", "slt", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.writer.compare("ogt", "sgt", self, other)

    def __le__(self, other: Operand) -> Value:
        return self.writer.compare("ole", "sle", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.writer.compare("oge", "sge", self, other)

    def equals(self, other: Operand) -> Value:
        """Whether the numbers are equal; false where one is nan."""
        return self.writer.compare("oeq", "eq", self, other)

    def is_nan(self) -> Value:
        """Whether it is nan."""
        return self.writer.compare("uno", "", self, self)

    @property
    def typed(self) -> str:
        """Type and name, as an operand is written."""
        return f"{vector_type(self.width, self.kind)} {self.name}"


Operand = Value | float | int


class IRWriter:
    """Writer of one function on vectors; its methods are the operations without a Python operator.

    Parameters
    ----------
    lanes : numbers in a vector.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.count_ = 0
        self.block = "start"

    def argument(self, name: str, kind: str = REAL) -> Value:
        """A vector that the function is given."""
        return Value(self, f"%{name}", kind, self.lanes)

    def value(self, name: str, kind: str, width: int) -> Value:
        """A value by its name."""
        return Value(self, name, kind, width)

    def of(self, operand: Operand, kind: str) -> Value:
        """An operand as a value; a Python number is one for all lanes."""
        if isinstance(operand, Value):
            return operand
        if kind == TRUTH:
            return Value(self, str(bool(operand)).lower(), kind)
        return Value(self, literal(operand, kind) if kind in REALS else str(int(operand)), kind)

    def as_kind(self, a: Value, kind: str) -> Value:
        """A floating-point number in the other precision, rounded where that is single."""
        if a.kind == kind or a.kind not in REALS or kind not in REALS:
            return a
        word = "fptrunc" if kind == SINGLE else "fpext"
        return self.emit(f"{word} {a.typed} to {vector_type(a.width, kind)}", kind, a.width)

    def widen(self, a: Value, width: int) -> Value:
        """A number that stands for all lanes as a vector."""
        if a.width == width:
            return a
        if a.width != 1:
            raise ValueError(f"{a.width} numbers where {width} are needed")
        if not a.name.startswith("%"):
            return Value(self, splat(width, a.name, a.kind), a.kind, width)
        vector = vector_type(width, a.kind)
        one = self.emit(f"insertelement {vector} poison, {a.typed}, i64 0", a.kind, width)
        zeros = f"<{width} x i32> zeroinitializer"
        return self.emit(f"shufflevector {one.typed}, {one.typed}, {zeros}", a.kind, width)

    def alike(self, *operands: Operand) -> list[Value]:
        """Operands of one kind, as values of the same width; single precision wins over double."""
        kinds = [v.kind for v in operands if isinstance(v, Value)]
        kind = SINGLE if SINGLE in kinds else next(iter(kinds), REAL)
        values = [self.as_kind(self.of(operand, kind), kind) for operand in operands]
        width = max(value.width for value in values)
        return [self.widen(value, width) for value in values]

    def emit(self, text: str, kind: str, width: int | None = None) -> Value:
        """A line, and the value it makes."""
        self.count_ += 1
        name = f"%l{self.count_}"
        self.lines.append(f"  {name} = {text}")
        return Value(self, name, kind, self.lanes if width is None else width)

    def binary(self, words: dict[str, str], a: Value, other: Operand) -> Value:
        a, b = self.alike(a, other)
        word = words[REAL if a.kind == SINGLE else a.kind]
        return self.emit(f"{word} {a.typed}, {b.name}", a.kind, a.width)

    def quotient(self, a: Value, other: Operand) -> Value:
        """a/b; where a card's is slow, by a function of our own."""
        return self.binary({REAL: "fdiv"}, a, other)

    def compare(self, of_reals: str, of_wholes: str, a: Value, other: Operand) -> Value:
        a, b = self.alike(a, other)
        words = f"fcmp {of_reals}" if a.kind in REALS else f"icmp {of_wholes}"
        return self.emit(f"{words} {a.typed}, {b.name}", TRUTH, a.width)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """a b + c, rounded once."""
        return self._intrinsic("fma", a, b, c)

    def sqrt(self, a: Operand) -> Value:
        """√a, nan below zero."""
        return self._intrinsic("sqrt", a)

    def abs(self, a: Operand) -> Value:
        """|a|."""
        return self._intrinsic("fabs", a)

    def copysign(self, size: Operand, sign: Operand) -> Value:
        """|size| with the sign of the other."""
        return self._intrinsic("copysign", size, sign)

    def where(self, condition: Value, a: Operand, b: Operand) -> Value:
        """Value a in lanes where the condition holds, b in the others."""
        one, other = self.alike(a, b)
        width = max(condition.width, one.width)
        condition, one, other = (self.widen(v, width) for v in (condition, one, other))
        text = f"select {condition.typed}, {one.typed}, {other.typed}"
        return self.emit(text, one.kind, width)

    def bits(self, a: Value) -> Value:
        """The bits of a double as a whole number."""
        return self.emit(f"bitcast {a.typed} to {vector_type(a.width, WHOLE)}", WHOLE, a.width)

    def from_bits(self, a: Value) -> Value:
        """The double of these bits."""
        return self.emit(f"bitcast {a.typed} to {vector_type(a.width)}", REAL, a.width)

    def to_real(self, a: Value) -> Value:
        """A whole number as a double."""
        return self.emit(f"sitofp {a.typed} to {vector_type(a.width)}", REAL, a.width)

    def call(self, name: str, *arguments: Value) -> Value:
        """Value of a function of vectors in the same module."""
        listed = ", ".join(argument.typed for argument in arguments)
        width, kind = arguments[0].width, arguments[0].kind
        return self.emit(f"call {vector_type(width, kind)} @{name}({listed})", kind, width)

    def replace_where(
        self, condition: Value, values: Sequence[Value], function: str, argument: Value
    ) -> list[Value]:
        """Values, replaced by those of a function in lanes where a condition holds.

        The function returns as many vectors as there are values, and is called only if the
        condition holds in some lane.
        """
        before, fallback, after = (
            self.block,
            f"fallback{self.count_}",
            f"after_fallback{self.count_}",
        )
        types = [vector_type(self.lanes, value.kind) for value in values]
        returned = f"{{ {', '.join(types)} }}"
        self.lines += [
            f"  br i1 {self._any(condition)}, label %{fallback}, label %{after}",
            f"{fallback}:",
            f"  %{fallback}_all = call {returned} @{function}({argument.typed})",
        ]
        others = []
        for k, value in enumerate(values):
            other = self.emit(f"extractvalue {returned} %{fallback}_all, {k}", value.kind)
            others.append(self.where(condition, other, value))
        self.lines += [f"  br label %{after}", f"{after}:"]
        self.block = after
        return [
            self.emit(f"phi {t} [ {v.name}, %{before} ], [ {o.name}, %{fallback} ]", v.kind)
            for t, v, o in zip(types, values, others, strict=True)
        ]

    def polynomial(self, coefficients: Sequence[float], z: Value) -> Value:
        """Σ c_k z^k by two interleaved Horner schemes, for even and odd k: half the latency."""
        if len(coefficients) < 4:
            return self._horner(coefficients, z)
        square = z * z
        even = self._horner(coefficients[0::2], square)
        odd = self._horner(coefficients[1::2], square)
        return self.fma(odd, z, even)

    def two_sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Sum a + b and its rounding error."""
        total = a + b
        part = total - a
        return total, (a - (total - part)) + (b - part)

    def function(
        self, name: str, arguments: Sequence[Value], results: Sequence[Value], is_inline: bool
    ) -> str:
        """The whole function, inline or called; with two results it returns both."""
        listed = ", ".join(argument.typed for argument in arguments)
        vector = vector_type(self.lanes, results[0].kind)
        if len(results) == 1:
            ending = [f"  ret {results[0].typed}"]
            returned = vector
        else:
            returned = f"{{ {vector}, {vector} }}"
            first = self.emit(f"insertvalue {returned} poison, {results[0].typed}, 0", "")
            ending = [f"  %both = insertvalue {returned} {first.name}, {results[1].typed}, 1"]
            ending += [f"  ret {returned} %both"]
        how = "alwaysinline" if is_inline else "noinline"
        head = f"define internal {returned} @{name}({listed}) nounwind {how} {{"
        return "\n".join([head, "start:", *self.lines, *ending, "}"])

    def _horner(self, coefficients: Sequence[float], z: Value) -> Value:
        total: Operand = coefficients[-1]
        for c in coefficients[-2::-1]:
            total = self.fma(total, z, c)
        return self.widen(self.of(total, z.kind), z.width)

    def _any(self, condition: Value) -> str:
        """Whether a condition holds in some lane."""
        if self.lanes == 1:
            return condition.name
        name = f"llvm.vector.reduce.or.v{self.lanes}i1"
        self.declared.add(f"declare i1 @{name}({vector_type(self.lanes, TRUTH)})")
        return self.emit(f"call i1 @{name}({condition.typed})", TRUTH).name

    def _intrinsic(self, word: str, *operands: Operand) -> Value:
        values = self.alike(*operands)
        width, kind = values[0].width, values[0].kind
        name, vector = intrinsic(word, width, kind), vector_type(width, kind)
        listed = ", ".join([vector] * len(operands))
        self.declared.add(f"declare {vector} @{name}({listed})")
        return self.call(name, *values)
