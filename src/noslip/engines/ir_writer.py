"""LLVM text (IR) written as Python arithmetic, with variables, arrays, branches and loops.

**LLVM text (IR) written as Python arithmetic: values of functions on vectors of lanes.**

An :class:`IRWriter` holds the lines of one function; a :class:`Value` is a vector in it with one
number for each lane, or a scalar with one lane. ``a * b + 1`` writes two instructions, without any
flag that would let LLVM change them: every lane is rounded as IEEE 754 says, whatever the other
lanes hold. Control flow and variables are written by `flow`.

    writer = IRWriter(8)
    x = writer.argument("x")
    print(writer.function("square", [x], [x * x], is_inline=True))

**Structured LLVM text: a function with variables, arrays, branches and loops, for any target.**

A :class:`Flow` writes one function. The same Python code prints it for one lane, for several lanes
of a processor and for a thread of a GPU; a :class:`Target` says what differs. A value is a number
for each lane, a number that all lanes share (of width 1), or, within :meth:`Flow.rows` of one lane,
several numbers that stand side by side in memory.

    s = f.s                          s.t = s.t + h reads and writes; LLVM makes registers of them
    with f.when(condition):          one lane branches; several enter if it holds in any, and
                                     what is assigned changes in those lanes alone
    with f.repeat() as loop:         runs until ``loop.leave(condition)`` has let go every lane
    for k in f.count(a, b):          a loop at run time, the same for all lanes
    for i in f.rows(n):              over n numbers of each lane

Traps
-----
- Assignments in a branch are blended lane by lane, unless the array is declared scratch: then lanes
  that are not in the branch lose what they had.
- A variable lives in the branch that first assigns it. To read it outside is refused: in several
  lanes it would hold numbers of lanes that never were there. Declare it before.
- Operations carry no flags: LLVM rounds them as written, and a lane's bits depend on no other.
"""

from __future__ import annotations

import enum
import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_float
from dataclasses import dataclass
from typing import Any


class ElementType(enum.StrEnum):
    """Types of the numbers of a value, by their names in LLVM."""

    REAL = "double"
    SINGLE = "float"
    WHOLE = "i64"
    TRUTH = "i1"
    PLACE = "ptr"


REAL, SINGLE, WHOLE, TRUTH, PLACE = ElementType
#: Kinds of floating-point numbers.
REALS = (REAL, SINGLE)
#: Names of kinds within those of LLVM's own functions.
_SHORT: dict[str, str] = {REAL: "f64", WHOLE: "i64"}
#: Quotients are written by a function of our own where a card's are slow.
DIVISION: dict[str, str] = {REAL: "fdiv"}
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


def _operation(
    words: dict[str, str], *, is_turned: bool = False
) -> Callable[[Value, Operand], Value]:
    """A Python operator as the instruction for the kind of its operands, which may be turned.

    A thread of a GPU divides by the function of its programs.
    """

    def write(a: Value, other: Operand) -> Value:
        writer = a.writer
        if is_turned:
            a, other = writer.of(other, a.kind), a
        a, b = writer.alike(a, other)
        if words is DIVISION and writer.quotients:
            return writer.call(writer.quotients[a.kind], a, b)
        word = words[REAL if a.kind == SINGLE else a.kind]
        return writer.emit(f"{word} {a.typed}, {b.name}", a.kind, a.width)

    return write


def _conversion(word: str, kind: str, says: str) -> Callable[[IRWriter, Value], Value]:
    """A method that makes numbers of a kind of those of another."""

    def write(writer: IRWriter, a: Value) -> Value:
        return writer.emit(f"{word} {a.typed} to {vector_type(a.width, kind)}", kind, a.width)

    write.__doc__ = says
    return write


def _function(word: str, says: str) -> Callable[..., Value]:
    """A method that calls LLVM's own function of numbers of one kind."""

    def write(writer: IRWriter, *operands: Operand) -> Value:
        values = writer.alike(*operands)
        width, kind = values[0].width, values[0].kind
        name, vector = intrinsic(word, width, kind), values[0].type
        writer.declared.add(f"declare {vector} @{name}({', '.join([vector] * len(values))})")
        return writer.call(name, *values)

    write.__doc__ = says
    return write


def _constant(kind: str, says: str) -> Callable[[IRWriter, float], Value]:
    """A method that gives a number of a kind, the same in all lanes."""

    def write(writer: IRWriter, number: float) -> Value:
        return writer.widen(writer.of(number, kind), writer.lanes)

    write.__doc__ = says
    return write


def _comparison(of_reals: str, of_wholes: str) -> Callable[[Value, Operand], Value]:
    """A Python comparison as the condition for the kind of its operands."""

    def write(a: Value, other: Operand) -> Value:
        a, b = a.writer.alike(a, other)
        words = f"fcmp {of_reals}" if a.kind in REALS else f"icmp {of_wholes}"
        return a.writer.emit(f"{words} {a.typed}, {b.name}", TRUTH, a.width)

    return write


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value in a function being written: its name, element type and number of lanes."""

    writer: IRWriter
    name: str
    kind: str = REAL
    width: int = 1

    __add__ = __radd__ = _operation({REAL: "fadd", WHOLE: "add"})
    __sub__ = _operation({REAL: "fsub", WHOLE: "sub"})
    __rsub__ = _operation({REAL: "fsub", WHOLE: "sub"}, is_turned=True)
    __mul__ = __rmul__ = _operation({REAL: "fmul", WHOLE: "mul"})
    __truediv__ = _operation(DIVISION)
    __rtruediv__ = _operation(DIVISION, is_turned=True)
    __and__ = _operation({WHOLE: "and", TRUTH: "and"})
    __or__ = _operation({WHOLE: "or", TRUTH: "or"})
    __xor__ = _operation({WHOLE: "xor", TRUTH: "xor"})
    __lshift__ = _operation({WHOLE: "shl"})
    __rshift__ = _operation({WHOLE: "ashr"})
    __lt__ = _comparison("olt", "slt")
    __gt__ = _comparison("ogt", "sgt")
    __le__ = _comparison("ole", "sle")
    __ge__ = _comparison("oge", "sge")
    #: Whether the numbers are equal; false where one is nan.
    equals = _comparison("oeq", "eq")
    _is_unordered = _comparison("uno", "")

    def __neg__(self) -> Value:
        return self.writer.emit(f"fneg {self.typed}", self.kind, self.width)

    def __invert__(self) -> Value:
        return self ^ (True if self.kind == TRUTH else -1)

    def is_nan(self) -> Value:
        """Whether it is nan."""
        return self._is_unordered(self)

    @property
    def type(self) -> str:
        """LLVM's type of one number for each lane."""
        return vector_type(self.width, self.kind)

    @property
    def typed(self) -> str:
        """Type and name, as an operand is written."""
        return f"{self.type} {self.name}"


Operand = Value | float | int


class IRWriter:
    """Writer of one function on vectors; methods are the operations without a Python operator."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.count_ = 0
        self.block = "start"
        #: Kind of numbers → function that divides them, where an instruction does not.
        self.quotients: dict[str, str] = {}

    def argument(self, name: str, kind: str = REAL) -> Value:
        """A vector that the function is given."""
        return Value(self, f"%{name}", kind, self.lanes)

    def of(self, operand: Operand, kind: str) -> Value:
        """An operand as a value; a Python number is one for all lanes.

        Of the two kinds of floating-point numbers one becomes the other, rounded where that is
        single.
        """
        if isinstance(operand, Value):
            a = operand
            if a.kind == kind or a.kind not in REALS or kind not in REALS:
                return a
            word = "fptrunc" if kind == SINGLE else "fpext"
            return self.emit(f"{word} {a.typed} to {vector_type(a.width, kind)}", kind, a.width)
        if kind == TRUTH:
            return Value(self, str(bool(operand)).lower(), kind)
        return Value(self, literal(operand, kind) if kind in REALS else str(int(operand)), kind)

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
        values = [self.of(operand, kind) for operand in operands]
        width = max(value.width for value in values)
        return [self.widen(value, width) for value in values]

    def emit(self, text: str, kind: str, width: int | None = None) -> Value:
        """A line, and the value it makes."""
        self.count_ += 1
        name = f"%l{self.count_}"
        self.lines.append(f"  {name} = {text}")
        return Value(self, name, kind, self.lanes if width is None else width)

    fma = _function("fma", "a b + c, rounded once.")
    sqrt = _function("sqrt", "√a, nan below zero.")
    abs = _function("fabs", "|a|.")
    copysign = _function("copysign", "|size| with the sign of the other.")
    bits = _conversion("bitcast", WHOLE, "The bits of a double as a whole number.")
    from_bits = _conversion("bitcast", REAL, "The double of these bits.")
    to_real = _conversion("sitofp", REAL, "A whole number as a double.")
    to_whole = _conversion("zext", WHOLE, "A truth as 0 or 1.")

    def where(self, condition: Value, a: Operand, b: Operand) -> Value:
        """Value a in lanes where the condition holds, b in the others."""
        one, other = self.alike(a, b)
        width = max(condition.width, one.width)
        condition, one, other = (self.widen(v, width) for v in (condition, one, other))
        text = f"select {condition.typed}, {one.typed}, {other.typed}"
        return self.emit(text, one.kind, width)

    def call(self, name: str, *arguments: Value) -> Value:
        """Value of a function of vectors in the same module."""
        listed = ", ".join(argument.typed for argument in arguments)
        width, kind = arguments[0].width, arguments[0].kind
        return self.emit(f"call {vector_type(width, kind)} @{name}({listed})", kind, width)

    def any(self, condition: Value) -> Value:
        """Whether a condition holds in some lane."""
        if condition.width == 1:
            return condition
        name = f"llvm.vector.reduce.or.v{condition.width}i1"
        self.declared.add(f"declare i1 @{name}({vector_type(condition.width, TRUTH)})")
        return self.emit(f"call i1 @{name}({condition.typed})", TRUTH, 1)

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
            f"  br i1 {self.any(condition).name}, label %{fallback}, label %{after}",
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


CONSTANT = "addrspace(4)"  # LLVM's number for a GPU's memory for constants
#: Numbers up to which a loop over them is written out.
LONGEST_WRITTEN = 64
LINE = 8  # words in a cache line


@dataclass(frozen=True, slots=True)
class Target:
    """Target of the text: number of lanes, block size and where arrays lie."""

    lanes: int = 1  #: trajectories side by side
    block: int = 4  #: numbers of one lane that are combined at a time
    #: whether each array lies on the stack by itself, where LLVM may keep it in registers; else all
    #: lie in memory that the function is given, or in a block that a thread has
    on_stack: bool = False
    is_thread: bool = False  #: whether it is the code of a thread of a GPU
    #: kind of the numbers of arrays; variables, among them time, are doubles all the same
    number: str = REAL

    @classmethod
    def thread(cls, *, on_stack: bool = False) -> Target:
        """A thread of a GPU; arrays on the stack are registers, where a loop is so short."""
        return cls(block=1, on_stack=on_stack, is_thread=True)


#: Name of the kernel of a GPU's threads.
KERNEL = "integrate"


@dataclass(frozen=True, slots=True)
class Block:
    """Numbers of a loop over rows: the first, and how many side by side."""

    start: int | Value
    width: int = 1


@dataclass(slots=True, eq=False)
class Buffer:
    """Numbers of each lane in memory: number k of all lanes stand side by side."""

    f: Flow  #: the function
    #: origin, first: address of a number, and which number after it is the first
    origin: Value
    kind: str = REAL  #: kind of the numbers
    #: depth of the branch whose lanes it belongs to; those in deeper ones are blended
    depth: float = 0
    first: int = 0

    def at(self, k: int | Value) -> Value:
        """Address of number k."""
        k = k + self.first
        if isinstance(k, int) and k == 0:
            return self.origin
        return self.f.offset(self.origin, k, vector_type(self.f.lanes, self.kind))

    def __getitem__(self, i: int | Value | Block) -> Value:
        block = i if isinstance(i, Block) else Block(i)
        return self.f.load(self.at(block.start), self.kind, self.f.lanes * block.width)

    def fresh(self, i: Block) -> Value:
        """Numbers of a block that were just written one by one, loaded one by one.

        Until they have left the processor they cannot be read together without waiting.
        """
        f = self.f
        if f.lanes > 1 or i.width == 1:
            return self[i]
        total = Value(f, "poison", self.kind, i.width)
        for k in range(i.width):
            at = self.at(i.start + k)
            one = f.emit(f"load atomic {self.kind}, {at.typed} monotonic, align 8", self.kind, 1)
            text = f"insertelement {total.typed}, {one.typed}, i64 {k}"
            total = f.emit(text, self.kind, i.width)
        return total

    def __setitem__(self, i: int | Value | Block, value: Operand) -> None:
        block, f = i if isinstance(i, Block) else Block(i), self.f
        wide = f.widen(f.of(value, self.kind), f.lanes * block.width)
        f.store(self.at(block.start), wide, is_blended=self.depth < f.depth)

    def part(self, k: int | Value) -> Buffer:
        """The array from number k on."""
        if isinstance(k, int):
            return Buffer(self.f, self.origin, self.kind, self.depth, self.first + k)
        return Buffer(self.f, self.at(k), self.kind, self.depth)

    def blended(self) -> Buffer:
        """The same array, blended: a branch changes only the lanes that are in it."""
        return Buffer(self.f, self.origin, self.kind, 0, self.first)


class Variables:
    """Attributes are variables of a function; the first assignment makes one."""

    _f: Flow
    _known: dict[str, tuple[Buffer, tuple[int, ...]]]

    def __init__(self, f: Flow) -> None:
        self.__dict__.update(_f=f, _known={})

    def declare(self, kind: str, *names: str) -> None:
        """Variables that outlast the branches which assign them."""
        for name in names:
            self._known[name] = (self._f.local(kind), self._f.scope)

    def __setattr__(self, name: str, value: Operand) -> None:
        f: Flow = self._f
        if name not in self._known or not f.is_within(self._known[name][1]):
            kind = value.kind if isinstance(value, Value) else REAL
            self._known[name] = (f.local(kind), f.scope)
        self._known[name][0][0] = value

    def __getattr__(self, name: str) -> Value:
        if name not in self._known:
            raise AttributeError(f"variable '{name}' is read before it is assigned")
        array, scope = self._known[name]
        if not self._f.is_within(scope):
            raise ValueError(f"variable '{name}' is read outside of the branch that made it")
        value: Value = array[0]
        return value

    def place(self, name: str) -> Buffer:
        """Buffer that holds a variable."""
        return self._known[name][0]


@dataclass(slots=True, eq=False)
class Given:
    """Memory passed to the function, with an index for each lane or one for all."""

    f: Flow
    place: Value
    kind: str = REAL

    def __getitem__(self, k: int | Value) -> Value:
        return self.f.gather(self.f.offset(self.place, k, self.kind), self.kind)

    def __setitem__(self, k: int | Value, value: Operand) -> None:
        f = self.f
        f.scatter(f.offset(self.place, k, self.kind), f.of(value, self.kind))


@dataclass(slots=True, eq=False)
class ConstantTable:
    """Numbers in the memory for constants of a GPU, from where all threads read the same."""

    f: Flow
    name: str
    kind: str

    def __getitem__(self, k: Value) -> Value:
        place = f"ptr {CONSTANT}"
        at = self.f.emit(f"getelementptr {self.kind}, {place} @{self.name}, {k.typed}", place, 1)
        return self.f.load(at, self.kind)


class Loop:
    """A loop that lanes leave one by one."""

    def __init__(self, f: Flow, after: str) -> None:
        self.f, self.after = f, after
        self.active = f.local(TRUTH) if f.lanes > 1 else None

    def leave(self, condition: Value) -> None:
        """Leave the loop in lanes where a condition holds; it ends with the last lane."""
        f, on = self.f, self.f.label("on")
        if self.active is not None:
            assert f.mask is not None
            f.mask = f.mask & ~f.widen(condition, f.lanes)
            f.store(self.active.at(0), f.mask)
            condition = ~f.any(f.mask)
        f.lines.append(f"  br {condition.typed}, label %{self.after}, label %{on}\n{on}:")


class Flow(IRWriter):
    """The lines of one function."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.lanes)
        self.target = target
        self.head: list[str] = []
        self.depth = 0
        self.mask: Value | None = None
        self.scope: tuple[int, ...] = ()
        self.work_size = 0  # words of memory that the function is given for its arrays
        self.s = Variables(self)
        if target.is_thread:
            self.quotients = {REAL: "quotient_of_times", target.number: "quotient"}

    # numbers
    def constant_table(self, name: str, kind: str, numbers: Sequence[float]) -> ConstantTable:
        """Numbers that are known when the text is printed, with an index at run time."""
        listed = ", ".join(f"{kind} {self.of(number, kind).name}" for number in numbers)
        shape = f"[{len(numbers)} x {kind}]"
        self.declared.add(f"@{name} = internal {CONSTANT} constant {shape} [{listed}], align 8")
        return ConstantTable(self, name, kind)

    real = _constant(REAL, "A number in all lanes.")
    whole = _constant(WHOLE, "A whole number in all lanes.")
    truth = _constant(TRUTH, "Whether something holds, in all lanes.")

    def least(self, a: Operand, b: Operand) -> Value:
        """The smaller of two, the first if one is nan."""
        a, b = self.alike(a, b)
        return self.where(b < a, b, a)

    def most(self, a: Operand, b: Operand) -> Value:
        """The larger of two, the first if one is nan."""
        a, b = self.alike(a, b)
        return self.where(b > a, b, a)

    def is_finite(self, a: Value) -> Value:
        """Whether it is neither nan nor infinite."""
        return (a - a).equals(0.0)

    def all_finite(self, x: Buffer, count: int) -> Value:
        """Whether the first `count` numbers are finite."""
        s = self.s
        s.off = self.real(0.0)
        for i in self.rows(count):
            s.off = s.off + self.total(x[i] - x[i])
        return s.off.equals(0.0)

    def total(self, a: Value) -> Value:
        """Sum over the numbers of a block, in each lane."""
        return self._over_block(a, operator.add)

    def largest(self, a: Value) -> Value:
        """Largest of the numbers of a block, in each lane."""
        return self._over_block(a, self.most)

    def _over_block(self, a: Value, combine: Any) -> Value:
        if a.width == self.lanes:
            return a
        total: Value | None = None
        for k in range(a.width):
            one = self.emit(f"extractelement {a.typed}, i64 {k}", a.kind, 1)
            total = one if total is None else combine(total, one)
        assert total is not None
        return total

    # memory
    def local(self, kind: str) -> Buffer:
        """A number of each lane on the stack, which LLVM keeps in a register."""
        place = self._on_stack(kind, 1)
        return Buffer(self, place, kind, self.depth)

    def array(self, size: int, kind: str = "", *, is_scratch: bool = False) -> Buffer:
        """Numbers of each lane; in scratch, lanes that a branch leaves out may be written over."""
        size, kind = max(1, size), kind or self.target.number
        if self.target.on_stack:
            place = self._on_stack(kind, size)
        else:
            place = Value(self, f"%w{self.work_size}", PLACE, 1)
            at = f"getelementptr i64, ptr %work, i64 {self.work_size}"
            self.head.append(f"  {place.name} = {at}")
            words = -(-size * self.lanes * alignment(kind) // 8)
            line = 1 if self.target.is_thread else LINE
            self.work_size += -(-words // line) * line
        return Buffer(self, place, kind, float("inf") if is_scratch else self.depth)

    def registers(self, size: int) -> Buffer:
        """Numbers that no function sees and that have no index at run time: LLVM's registers."""
        number = self.target.number
        return Buffer(self, self._on_stack(number, max(1, size)), number, self.depth)

    def _on_stack(self, kind: str, size: int = 0) -> Value:
        """Numbers of each lane on the stack; without a size, one number of all of them."""
        place = Value(self, f"%m{len(self.head)}", PLACE, 1)
        held, aligned = kind, alignment(kind)
        if size:
            held, is_thread = vector_type(self.lanes, kind), self.target.is_thread
            # LLVM makes no register of an array with one truth, and a GPU's memory is far
            held = held if size == 1 and is_thread else f"[{size} x {held}]"
            aligned = aligned if is_thread else 64
        self.head.append(f"  {place.name} = alloca {held}, align {aligned}")
        return place

    def offset(self, place: Value, k: int | Value, unit: str = REAL) -> Value:
        """The address of the k-th thing of a type after an address, for each lane or for all."""
        index = self.of(k, WHOLE)
        text = f"getelementptr {unit}, {place.typed}, {index.typed}"
        return self.emit(text, PLACE, max(index.width, place.width))

    def load(self, place: Value, kind: str = REAL, width: int = 1) -> Value:
        """Load numbers from an address."""
        text = f"load {vector_type(width, kind)}, {place.typed}, align {alignment(kind)}"
        return self.emit(text, kind, width)

    def store(self, place: Value, value: Value, is_blended: bool = False) -> None:
        """Store numbers at an address; lanes that are not in this branch keep theirs."""
        if is_blended and self.mask is not None:
            value = self.where(self.mask, value, self.load(place, value.kind, value.width))
        self.lines.append(f"  store {value.typed}, {place.typed}, align {alignment(value.kind)}")

    def gather(self, places: Value, kind: str = REAL) -> Value:
        """Gather a number from an address for each lane, or one for all."""
        if places.width == 1:
            return self.load(places, kind)
        w, mask = places.width, self.mask or self.truth(True)
        vector, short = vector_type(w, kind), _SHORT[kind]
        name = f"llvm.masked.gather.v{w}{short}.v{w}p0"
        self.declared.add(f"declare {vector} @{name}(<{w} x ptr>, i32, <{w} x i1>, {vector})")
        listed = f"{places.typed}, i32 8, {mask.typed}, {vector} zeroinitializer"
        return self.emit(f"call {vector} @{name}({listed})", kind, w)

    def scatter(self, places: Value, value: Value) -> None:
        """Scatter a number to an address for each lane that is in this branch."""
        if self.lanes == 1:
            self.store(places, value)
            return
        w = self.lanes
        if places.width == 1:
            raise ValueError("several lanes write to one place")
        value, mask = self.widen(value, w), self.mask
        mask = mask if mask is not None else self.truth(True)
        name = f"llvm.masked.scatter.v{w}{_SHORT[value.kind]}.v{w}p0"
        vector = vector_type(w, value.kind)
        self.declared.add(f"declare void @{name}({vector}, <{w} x ptr>, i32, <{w} x i1>)")
        self.lines.append(
            f"  call void @{name}({value.typed}, {places.typed}, i32 8, {mask.typed})"
        )

    def invoke(self, function: str, places: Sequence[Value], how: str = "") -> None:
        """Call a function of addresses, by its symbol or its address.

        Parameters
        ----------
        how : ``"alwaysinline"`` or ``"noinline"``, where LLVM shall not choose.
        """
        listed = ", ".join(p.typed for p in places)
        self.lines.append(f"  call void {function}({listed}) {how}".rstrip())

    # control
    def label(self, word: str) -> str:
        """A new label."""
        self.count_ += 1
        return f"{word}{self.count_}"

    def is_within(self, scope: tuple[int, ...]) -> bool:
        """Whether the current position is in a branch, or in one nested in it."""
        return self.scope[: len(scope)] == scope

    @contextmanager
    def _inside(self) -> Iterator[None]:
        outer = self.mask, self.depth, self.scope
        self.count_ += 1
        self.scope = (*self.scope, self.count_)
        yield
        self.mask, self.depth, self.scope = outer

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """An if block."""
        body, after = self.label("when"), self.label("after")
        with self._inside():
            if self.lanes > 1:
                condition = self.widen(condition, self.lanes)
                condition = condition if self.mask is None else condition & self.mask
                self.mask, self.depth = condition, self.depth + 1
                condition = self.any(condition)
            self.lines.append(f"  br {condition.typed}, label %{body}, label %{after}\n{body}:")
            yield
            self.lines.append(f"  br label %{after}\n{after}:")

    @contextmanager
    def repeat(self) -> Iterator[Loop]:
        """A loop that lanes leave one by one."""
        body, after = self.label("repeat"), self.label("after")
        loop = Loop(self, after)
        with self._inside():
            if loop.active is not None:
                self.store(loop.active.at(0), self.mask or self.truth(True))
                self.depth += 1
            self.lines.append(f"  br label %{body}\n{body}:")
            if loop.active is not None:
                self.mask = loop.active[0]
            yield loop
            self.lines.append(f"  br label %{body}\n{after}:")

    def count(self, start: int | Value, stop: int | Value, step: int = 1) -> Iterator[Value]:
        """Whole numbers at run time, the same in all lanes; at least one."""
        place, body, after = self._on_stack(WHOLE), self.label("count"), self.label("after")
        self.store(place, self.of(start, WHOLE))
        self.lines.append(f"  br label %{body}\n{body}:")
        with self._inside():
            k = self.load(place, WHOLE)
            yield k
            following = k + step
            self.store(place, following)
            goes_on = following < stop
            self.lines.append(f"  br {goes_on.typed}, label %{body}, label %{after}\n{after}:")

    def each(self, n: int) -> Iterator[int | Value]:
        """Numbers 0 to n − 1: written out where they are few."""
        if n <= LONGEST_WRITTEN // 4 or self.target.on_stack:
            yield from range(n)
        else:
            yield from self.count(0, n)

    def rows(self, n: int) -> Iterator[Block]:
        """Over n numbers of each lane: several of one lane at a time, or one of several lanes."""
        if self.lanes > 1:
            if n:
                yield from (Block(k) for k in (range(n) if n <= 2 else self.count(0, n)))
            return
        block, start = self.target.block, 0
        if n > LONGEST_WRITTEN and not self.target.on_stack:
            start = n - n % block
            for k in self.count(0, start, block):
                yield Block(k, block)
        width = block
        while start < n:
            while width > n - start:
                width //= 2
            yield Block(start, width)
            start += width

    def choose(self, which: Value, cases: Sequence[int]) -> Iterator[int]:
        """Switch: a case for each number, selected at run time, the same in all lanes."""
        after, labels = self.label("after"), {k: self.label("case") for k in cases}
        listed = " ".join(f"i64 {k}, label %{label}" for k, label in labels.items())
        self.lines.append(f"  switch {which.typed}, label %{after} [ {listed} ]")
        for k, label in labels.items():
            self.lines.append(f"{label}:")
            with self._inside():
                yield k
            self.lines.append(f"  br label %{after}")
        self.lines.append(f"{after}:")

    # trajectories
    def take(self, counter: Value) -> Value:
        """Atomic fetch-and-add: the next count of a shared counter for each lane in this branch."""
        if self.lanes == 1:
            return self.emit(f"atomicrmw add {counter.typed}, i64 1 monotonic", WHOLE, 1)
        mask = self.mask if self.mask is not None else self.truth(True)
        asks = self.emit(f"zext {mask.typed} to {vector_type(self.lanes, WHOLE)}", WHOLE)
        each = [
            self.emit(f"extractelement {asks.typed}, i64 {j}", WHOLE, 1) for j in range(self.lanes)
        ]
        ends = [each[0]]
        for ask in each[1:]:
            ends.append(ends[-1] + ask)
        begin = self.emit(f"atomicrmw add {counter.typed}, {ends[-1].typed} monotonic", WHOLE, 1)
        taken = Value(self, "poison", WHOLE, self.lanes)
        for j, (end, ask) in enumerate(zip(ends, each, strict=True)):
            place = begin + (end - ask)
            taken = self.emit(f"insertelement {taken.typed}, {place.typed}, i64 {j}", WHOLE)
        return taken

    def body(self, name: str, arguments: Sequence[str], wholes: Sequence[str] = ()) -> str:
        """Text of the function, whose arguments are addresses, and whole numbers behind them.

        A thread that is given no work has a block of its own for its arrays.
        """
        words = [f"ptr %{argument}" for argument in arguments]
        listed = ", ".join([*words, *(f"{WHOLE} %{argument}" for argument in wholes)])
        frame = ' "frame-pointer"="all"' if self.lanes > 1 else ""
        head = f"define void @{name}({listed}) nounwind{frame} {{"
        own = []
        if "work" not in arguments and self.work_size:
            own = [f"  %work = alloca [{self.work_size} x i64], align 8"]
        return "\n".join([head, "start:", *own, *self.head, *self.lines, "  ret void", "}"])

    def kernel(self) -> str:
        """Text of the function as the kernel of a GPU's threads, which share a memory."""
        return self.body(KERNEL, ("memory",), ("thread", "threads"))


__all__ = [
    "KERNEL",
    "PLACE",
    "REAL",
    "TRUTH",
    "WHOLE",
    "Block",
    "Buffer",
    "Flow",
    "Given",
    "Target",
    "Value",
    "Variables",
    "literal",
]  # fmt: skip
