"""LLVM text of programs, for scalars and for vectors with one number in each lane.

Every printed function has the signature

    void f(const double* t, const double* x, const double* u, const double* p, double* out)

where ``out`` must not overlap the inputs. Next to it stands a loop over rows, which takes the
distance between the rows of p, so that with 0 all rows share one vector of parameters:

    void rows(int64 n, const double* t, ..., const double* p, int64 p_stride, double* out)

In vector code every number is a vector: value k of lane j is at place ``k lanes + j``, for the
inputs and for ``out`` alike, and the loop goes over packs of lanes. A lane's result depends on
nothing but that lane's inputs, to the last bit. Vector code has elementary functions of its own
(`elementary_functions`). Scalar code calls those of the C library, but for sine and cosine: they
occur in nearly every right-hand side, and inline they are computed in parallel with other
operations, which a call would prevent.

Products and sums may be fused, quotients taken by reciprocals; nan and ∞ are kept.
Programs repeat nothing and are optimized beforehand (`engines.optimize`), so LLVM combines
instructions and no more: its O3 pipeline takes a third longer and changes the speed by less than
7 %, up or down. A long program is cut into parts that share a workspace (`optimization`):
operations that repeat become a loop, whose body is compiled once; others become functions of
bounded length, because one function compiles slower than in proportion to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from noslip.algebra import LookupTable, numbered_table
from noslip.engines.elementary_functions import (
    BODIES,
    FAR_ANGLES,
    device_functions,
    vector_functions,
)
from noslip.engines.ir_writer import (
    GLOBAL,
    REAL,
    SINGLE,
    TRUTH,
    alignment,
    intrinsic,
    literal,
    splat,
    vector_type,
)
from noslip.engines.native_arrays import address as array_address
from noslip.engines.optimization import CONSTANTS, Access, CodePart, cut, whole
from noslip.engines.program import INPUT_NAMES, Program

LONGEST_WHOLE = 5000  # operations up to which a program is one function

#: Operations that are functions of LLVM's own, by its names.
INTRINSICS = {
    **{kind: kind for kind in ("sqrt", "floor", "ceil", "copysign")},
    **{"abs": "fabs", "min": "minnum", "max": "maxnum"},
}
#: Operations that are functions of the C library.
LIBRARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "expm1", "log", "log1p", "pow", "hypot", "erf", "fmod", "remainder"),
)
CALLS = frozenset({*INTRINSICS, *LIBRARY})

# The text of each operation: {v} is the value it makes; {a}, {b}, {c} are its operands. Numbers are
# of type {real}, truths of type {truth}: one, or one for each lane.
# Sums are grouped by `optimize`: where LLVM may reassociate them too (reassoc), it fuses
# products with wrong sums now and then.
_ARITHMETIC = "{{v}} = {} nsz arcp contract {{real}} {{a}}, {{b}}"
_COMPARISON = (
    "{{v}}t = fcmp {} {{real}} {{a}}, {{b}}\n  {{v}} = uitofp {{truth}} {{v}}t to {{real}}"
)
_LOGIC = (
    "{{v}}a = fcmp une {{real}} {{a}}, {{zero}}\n  {{v}}b = fcmp une {{real}} {{b}}, {{zero}}\n"
    "  {{v}}t = {} {{truth}} {{v}}a, {{v}}b\n  {{v}} = uitofp {{truth}} {{v}}t to {{real}}"
)
INSTRUCTIONS: dict[str, str] = {
    **{kind: _ARITHMETIC.format(f"f{kind}") for kind in ("add", "sub", "mul", "div")},
    **{kind: _COMPARISON.format(f"o{kind}") for kind in ("lt", "le", "eq")},
    **{kind: _LOGIC.format(kind) for kind in ("and", "or")},
    "ne": _COMPARISON.format("une"),
    "neg": "{v} = fneg {real} {a}",
    "not": "{v}t = fcmp oeq {real} {a}, {zero}\n  {v} = uitofp {truth} {v}t to {real}",
    "if_else": (
        "{v}t = fcmp une {real} {a}, {zero}\n  {v} = select {truth} {v}t, {real} {b}, {real} {c}"
    ),
    "sign": (
        "{v}p = fcmp ogt {real} {a}, {zero}\n  {v}n = fcmp olt {real} {a}, {zero}\n"
        "  {v}z = select {truth} {v}n, {real} {minus_one}, {real} {a}\n"
        "  {v} = select {truth} {v}p, {real} {one}, {real} {v}z"
    ),
}

#: A quotient of our own, where a card's is slower.
_QUOTIENT = "{v} = call {real} @quotient({real} {a}, {real} {b})"

_INPUTS = ", ".join(f"ptr noalias nocapture readonly %{name}" for name in INPUT_NAMES)
_POINTERS = f"{_INPUTS}, ptr noalias nocapture writeonly %out"

# The loop calls the function proper, so that both give the same bits.
_ROW_LOOP = """define void @{symbol}_rows(i64 %n, {inputs},
    i64 %p_stride, ptr noalias nocapture %out) nounwind {{
start:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %row, label %done
row:
  %k = phi i64 [ 0, %start ], [ %next, %row ]
  %tk = getelementptr [{nt} x double], ptr %t, i64 %k
  %xk = getelementptr [{nx} x double], ptr %x, i64 %k
  %uk = getelementptr [{nu} x double], ptr %u, i64 %k
  %shift = mul i64 %k, %p_stride
  %pk = getelementptr double, ptr %p, i64 %shift
  %outk = getelementptr [{nout} x double], ptr %out, i64 %k
  call void @{symbol}(ptr %tk, ptr %xk, ptr %uk, ptr %pk, ptr %outk)
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %done
done:
  ret void
}}"""


# A program that was split by `optimize.hoist`: parameters and what is made of them, then the rest.
_MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
_WHOLE = """define void @whole({inputs}, ptr noalias nocapture writeonly %out) nounwind {{
  %both = alloca [{room} x double], align 64
  call void @llvm.memcpy.p0.p0.i64(ptr %both, ptr %p, i64 {size}, i1 false)
  %made = getelementptr double, ptr %both, i64 {count}
  call void @program1(ptr %t, ptr %x, ptr %u, ptr %p, ptr %made)
  call void @program0(ptr %t, ptr %x, ptr %u, ptr %both, ptr %out)
  ret void
}}
"""


# The first outputs of a program alone.
_HEAD = """define void @{symbol}_head({inputs}, ptr noalias nocapture writeonly %out) nounwind {{
  %all = alloca [{nout} x double], align 64
  call void @{symbol}(ptr %t, ptr %x, ptr %u, ptr %p, ptr %all)
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %all, i64 {size}, i1 false)
  ret void
}}"""


@dataclass(frozen=True, slots=True)
class VectorTypes:
    """LLVM types, constants and calls for vectors of lanes; with one lane they are scalar."""

    lanes: int = 1  #: numbers in a vector
    kind: str = REAL  #: kind of numbers, doubles or of single precision
    has_library: bool = True  #: whether there is a C library to call, as there is not on a GPU
    shared: tuple[tuple[int, str], ...] = ()  #: parameters that are at addresses of their own

    #: Types of numbers and of truths.
    real: str = field(init=False)
    truth: str = field(init=False)
    #: Types and constants that the templates of instructions take besides operands.
    words: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        real, truth = vector_type(self.lanes, self.kind), vector_type(self.lanes, TRUTH)
        numbers = {"zero": 0.0, "one": 1.0, "minus_one": -1.0}
        words = {name: self.number(value) for name, value in numbers.items()}
        words |= {"real": real, "truth": truth}
        for name, value in (("real", real), ("truth", truth), ("words", words)):
            object.__setattr__(self, name, value)

    @property
    def attributes(self) -> str:
        """Attributes of functions that are not inlined.

        With a frame pointer LLVM may align the stack, so that vectors which do not fit the
        registers are kept within cache lines. Without it a fifth of the time depends on luck.
        A thread's callers say themselves what is written into them.
        """
        if not self.has_library:
            return "nounwind"
        return "nounwind noinline" + (' "frame-pointer"="all"' if self.lanes > 1 else "")

    def number(self, value: float) -> str:
        """A constant, the same in all lanes."""
        return splat(self.lanes, literal(value, self.kind), self.kind)

    def call(self, kind: str, name: str, operands: list[str], known: dict[str, str]) -> str:
        """Call of a function; sine and cosine of one angle share one call (`known`, by angle)."""
        arguments = ", ".join(f"{self.real} {operand}" for operand in operands)
        if kind in ("sin", "cos"):
            is_new = operands[0] not in known
            both = known.setdefault(operands[0], f"{name}both")
            pair = f"{{ {self.real}, {self.real} }}"
            line = f"{name} = extractvalue {pair} {both}, {('sin', 'cos').index(kind)}"
            call = f"{both} = call {pair} @{self._symbol('sincos')}({arguments})"
            return f"{call}\n  {line}" if is_new else line
        return f"{name} = call {self.real} @{self._symbol(kind)}({arguments})"

    def gather(self, name: str, place: str, behind: int, table: LookupTable, is_new: bool) -> str:
        """Entry of a table; the place as a whole number is written once (`is_new`).

        A processor reads it where it is in this process, a thread of a GPU in its own module.
        """
        size = alignment(self.kind)
        whole = f"{place}_place" if place.startswith("%") else f"{name}_place"
        places = vector_type(self.lanes, "i32")
        lines = [f"{whole} = fptosi {self.real} {place} to {places}"] if is_new else []
        pointers, memory = vector_type(self.lanes, "ptr"), ""
        if self.has_library:
            address = array_address("table", table.coefficients) + behind * size
            first = f"ptr inttoptr (i64 {address} to ptr)"
        else:
            memory = f" {GLOBAL}"
            at = f"ptr{memory} @{table.symbol}, i64 {behind}"
            first = f"ptr{memory} getelementptr ({self.kind}, {at})"
        lines.append(f"{name}_at = getelementptr {self.kind}, {first}, {places} {whole}")
        if self.lanes == 1:
            lines.append(f"{name} = load {self.real}, ptr{memory} {name}_at, align {size}")
        else:
            true = splat(self.lanes, "true", TRUTH)
            given = f"{pointers} {name}_at, i32 {size}, {self.truth} {true}, {self.real} undef"
            lines.append(f"{name} = call {self.real} @{self.gathering}({given})")
        return "\n  ".join(lines)

    @property
    def gathering(self) -> str:
        """LLVM's function that loads one number for each lane."""
        return f"llvm.masked.gather.v{self.lanes}f64.v{self.lanes}p0"

    def library(self, programs: list[Program]) -> set[str]:
        """Functions of the C library that code of these programs may call."""
        kinds = {kind for program in programs for kind in program.count() if kind in CALLS}
        own = {self._own(kind) for kind in kinds} - {""}
        asked = {name for function in own for name in FAR_ANGLES.get(function, ())}
        return asked | {kind for kind in kinds if kind in LIBRARY and not self._own(kind)}

    def definitions(self, programs: list[Program], is_inline: bool) -> Iterator[str]:
        """Definitions and declarations of the functions that programs call.

        In long programs they had better not be inline: code that is fetched from afar is slower
        than a call.
        """
        counts = {
            operation.kind: len(operation.operands)
            for program in programs
            for operation in program.operations
            if operation.kind in CALLS
        }
        declared = [
            f"declare {self.real} @{self._symbol(kind)}({', '.join([self.real] * n)})"
            for kind, n in counts.items()
            if kind in INTRINSICS
        ]
        own = {self._own(kind) for kind in counts} - {""}
        if not self.has_library:
            own |= {"div"}
            is_single = self.kind == SINGLE
            yield from device_functions(
                own, is_single=is_single, is_inline=is_inline, declared=declared
            )
            return
        library = {k: n for k, n in counts.items() if k in LIBRARY and not self._own(k)}
        yield from vector_functions(
            own, library, self.lanes, is_inline=is_inline, declared=declared
        )

    def _own(self, kind: str) -> str:
        """The function of our own that stands for an operation, if one does."""
        name = "sincos" if kind in ("sin", "cos") else kind
        if not self.has_library:
            return name if kind in LIBRARY else ""
        return name if name in BODIES and (self.lanes > 1 or name == "sincos") else ""

    def _symbol(self, kind: str) -> str:
        if kind in INTRINSICS:
            return intrinsic(INTRINSICS[kind], self.lanes, self.kind)
        if self.kind == SINGLE:
            return f"single_{kind}"
        return f"lanes_{kind}" if kind == "sincos" or self._own(kind) else f"each_{kind}"


def print_llvm(
    programs: Iterable[Program], lanes: int = 1, heads: Mapping[str, int] | None = None
) -> str:
    """One LLVM module with functions program0, program0_rows, program1, ... in this order.

    Of scalar programs in `heads`, program0_head gives so many of the first outputs alone.
    """
    lines: list[str] = []
    programs, types = list(programs), VectorTypes(lanes)
    for k, program in enumerate(programs):
        lines.extend(_function(program, f"program{k}", types))
        sizes = {"nt": program.input_sizes[0], "nx": program.input_sizes[1]}
        sizes |= {"nu": program.input_sizes[2], "nout": program.output_size}
        sizes = {name: size * lanes for name, size in sizes.items()}
        lines.append(_ROW_LOOP.format(symbol=f"program{k}", inputs=_INPUTS, **sizes))
        if heads and (count := heads.get(program.name)) is not None:
            head = {"symbol": f"program{k}", "inputs": _INPUTS, "size": str(8 * count)}
            lines.append(_HEAD.format(nout=program.output_size, **head))
            sizes["nout"] = count
            lines.append(_ROW_LOOP.format(symbol=f"program{k}_head", inputs=_INPUTS, **sizes))
    if heads:
        lines.append(_MEMCPY)
    is_inline = all(program.num_operations <= LONGEST_WHOLE for program in programs)
    lines.extend(types.definitions(programs, is_inline))
    if lanes > 1 and any(program.tables for program in programs):
        pointers = vector_type(lanes, "ptr")
        given = f"{pointers}, i32, {types.truth}, {types.real}"
        lines.append(f"declare {types.real} @{types.gathering}({given})")
    return "\n".join(lines) + "\n"


def print_hoisted(main: Program, head: Program) -> str:
    """One LLVM module of a program that `optimize.hoist` split, and the whole of it again.

    Functions are program0 (what is left, whose parameters the hoisted values follow), program1
    (what makes these values), and whole, of the original arguments; each with its loop over rows.
    """
    count, behind = head.input_sizes[3], head.output_size
    sizes = {"nt": main.input_sizes[0], "nx": main.input_sizes[1]}
    sizes |= {"nu": main.input_sizes[2], "nout": main.output_size}
    whole = _WHOLE.format(inputs=_INPUTS, room=count + behind, size=8 * count, count=count)
    rows = _ROW_LOOP.format(symbol="whole", inputs=_INPUTS, **sizes)
    return print_llvm([main, head]) + _MEMCPY + whole + rows + "\n"


def print_thread_functions(
    programs: Mapping[str, Program],
    kind: str = REAL,
    shared: Mapping[str, Mapping[int, str]] | None = None,
) -> str:
    """LLVM text of programs for a thread of a GPU: functions of their names, and no C library.

    They have no loops over rows, and what they call is in the text. Tables are globals of the
    module (`LookupTable.symbol`), to be filled before a thread runs.

    `shared`: parameters that all threads share, by program, and their addresses.
    """
    types = VectorTypes(1, kind, has_library=False)
    lines: list[str] = []
    for name, program in programs.items():
        own = tuple((shared or {}).get(name, {}).items())
        lines.extend(_function(program, name, replace(types, shared=own)))
    for table in dict.fromkeys(table for program in programs.values() for table in program.tables):
        shape = f"[{table.coefficients.size} x {kind}]"
        lines.append(
            f"@{table.symbol} = {GLOBAL} externally_initialized global {shape} "
            "zeroinitializer, align 8"
        )
    is_inline = all(program.num_operations <= LONGEST_WHOLE for program in programs.values())
    lines.extend(types.definitions(list(programs.values()), is_inline))
    return "\n".join(lines) + "\n"


def _function(program: Program, symbol: str, types: VectorTypes) -> Iterator[str]:
    """The function of a program, with all its operations or with a call of each of its parts."""
    if program.num_operations <= LONGEST_WHOLE:
        (part,), num_slots = whole(program).parts, 0
        body: Iterable[str] = _Printing(part, symbol, types).straight()
    else:
        # a thread's parameters may be at addresses of their own, where no loop finds them
        parted = cut(program, with_loops=types.has_library)
        parts, num_slots = parted.parts, parted.num_slots
        for k, part in enumerate(parts):
            printing = _Printing(part, f"{symbol}_part{k}", types)
            lines = list(printing.straight() if part.count == 1 else printing.loop())
            yield from printing.tables
            yield f"define internal void @{symbol}_part{k}({_POINTERS}, ptr noalias nocapture %w)"
            yield f"    {types.attributes} {{"
            yield from lines
            yield "  ret void\n}"
        arguments = ", ".join(f"ptr %{name}" for name in (*INPUT_NAMES, "out", "w"))
        body = [f"  %w = alloca [{num_slots} x {types.real}], align 64"]
        body += [f"  call void @{symbol}_part{k}({arguments})" for k in range(len(parts))]
    linkage = "" if types.has_library else "internal "
    yield f"define {linkage}void @{symbol}({_POINTERS}) {types.attributes} {{"
    yield from body
    yield "  ret void\n}"


class _Printing:
    """Lines of a part, and of the tables that they read."""

    def __init__(self, part: CodePart, symbol: str, types: VectorTypes) -> None:
        self.part, self.symbol, self.types = part, symbol, types
        self.real, self.aligned = types.real, alignment(types.kind)
        self.shared = dict(types.shared)
        self.names: dict[int, str] = {}
        self.tables: list[str] = []
        self.bases: dict[tuple[str, int], str] = {}
        self.entry: list[str] = []  # lines before a loop
        self.top: list[str] = []  # lines at the start of an iteration
        body = part.body
        for k, value in enumerate(body.constants, sum(body.input_sizes)):
            self.names[k] = types.number(value)

    def loop(self) -> Iterator[str]:
        """Lines of operations that are done several times."""
        part, real = self.part, self.real
        num_reads = len(part.reads)
        starts = []
        for k, access in enumerate(part.carried):
            starts.append(self._load(f"%start{k}", access, self.entry))
            self.names[num_reads + k] = f"%carried{k}"
        lines = list(self.straight())
        yield "start:"
        yield from self.entry
        yield "  br label %loop\nloop:"
        yield "  %i = phi i64 [ 0, %start ], [ %next, %loop ]"
        num_writes, num_carried = len(part.writes), len(part.carried)
        for k, value in enumerate(part.body.outputs[num_writes : num_writes + num_carried]):
            last = self.names[value]
            yield f"  %carried{k} = phi {real} [ {starts[k]}, %start ], [ {last}, %loop ]"
        yield from self.top
        yield from lines
        yield "  %next = add i64 %i, 1"
        yield f"  %more = icmp slt i64 %next, {part.count}"
        yield "  br i1 %more, label %loop, label %done\ndone:"
        results = part.body.outputs[num_writes + num_carried :]
        for k, (value, access) in enumerate(zip(results, part.results, strict=True)):
            lines = []
            at = self._address(f"%result{k}", access, lines)
            yield from lines
            yield f"  store {real} {self.names[value]}, ptr {at}, align {self.aligned}"

    def straight(self) -> Iterator[str]:
        """Lines of all operations, done once; a number is loaded before its first use."""
        body, types, names = self.part.body, self.types, self.names
        given, num_inputs = body.num_given, sum(body.input_sizes)
        known: dict[str, str] = {}
        gathered: set[str] = set()
        stored: dict[int, list[int]] = {}
        for k, value in enumerate(body.outputs[: len(self.part.writes)]):
            stored.setdefault(value, []).append(k)
        for k, (kind, operands) in enumerate(body.operations):
            for value in operands:
                if value not in names:
                    yield from self._read(value)
            name = names[given + k] = f"%v{k}"
            if kind == "gather":
                behind, table = (int(body.constants[v - num_inputs]) for v in operands[1:])
                at = names[operands[0]]
                is_new = at not in gathered or not at.startswith("%")
                gathered.add(at)
                yield "  " + types.gather(name, at, behind, numbered_table(table), is_new)
            elif kind in CALLS:
                yield "  " + types.call(kind, name, [names[v] for v in operands], known)
            else:
                words = {letter: names[v] for letter, v in zip("abc", operands, strict=False)}
                text = INSTRUCTIONS[kind]
                if kind == "div" and not types.has_library:
                    text = _QUOTIENT
                yield "  " + text.format(v=name, **words, **types.words)
            for number in stored.get(given + k, ()):
                yield from self._write(number)
        for number, value in enumerate(body.outputs):
            if value < given:
                if value not in names:
                    yield from self._read(value)
                if number < len(self.part.writes):
                    yield from self._write(number)

    def _read(self, value: int) -> Iterator[str]:
        """Lines that load a number; what is the same in all iterations is loaded before them."""
        access = self.part.reads[value]
        is_same = self.part.count > 1 and access.step == 0
        lines = self.entry if is_same else []
        self.names[value] = self._load(f"%{access.array}_{value}", access, lines)
        if not is_same:
            yield from lines

    def _write(self, number: int) -> Iterator[str]:
        """Lines that store an output."""
        value, access = self.part.body.outputs[number], self.part.writes[number]
        lines: list[str] = []
        at = self._address(f"%to{number}", access, lines)
        yield from lines
        yield f"  store {self.real} {self.names[value]}, ptr {at}, align {self.aligned}"

    def _load(self, name: str, access: Access, lines: list[str]) -> str:
        """Name of a number, after the lines that load it."""
        real, aligned, kind = self.real, self.aligned, self.types.kind
        if access.array == CONSTANTS:
            numbers = [literal(float(value), kind) for value in access.places]
            if len(numbers) == 1:
                return self.types.number(float(access.places[0]))
            table = self._table(kind, numbers)
            lines.append(f"  {name}_at = getelementptr {kind}, ptr {table}, i64 %i")
            if self.types.lanes == 1:
                lines.append(f"  {name} = load {real}, ptr {name}_at, align {aligned}")
                return name
            indices = splat(self.types.lanes, "0", "i32")
            lines.append(f"  {name}_one = load {kind}, ptr {name}_at, align {aligned}")
            lines.append(f"  {name}_first = insertelement {real} poison, {kind} {name}_one, i64 0")
            shape = vector_type(self.types.lanes, "i32")
            both = f"{real} {name}_first, {real} poison"
            lines.append(f"  {name} = shufflevector {both}, {shape} {indices}")
            return name
        if access.array == "p" and int(access.places[0]) in self.shared:
            at = self.shared[int(access.places[0])]
            lines.append(f"  {name} = load {real}, {at}, align {aligned}")
        else:
            at = self._address(f"{name}_at", access, lines)
            lines.append(f"  {name} = load {real}, ptr {at}, align {aligned}")
        return name

    def _address(self, name: str, access: Access, lines: list[str]) -> str:
        """Name of an address, after the lines that compute it."""
        array, first, step = f"%{access.array}", int(access.places[0]), access.step
        if step is None:
            table = self._table("i32", [str(int(place)) for place in access.places])
            lines.append(f"  {name}_entry = getelementptr i32, ptr {table}, i64 %i")
            lines.append(f"  {name}_place = load i32, ptr {name}_entry, align 4")
            place = f"i32 {name}_place"
        else:
            place = f"i64 {first}"
            if step:
                array = self._base(access.array, step)
        lines.append(f"  {name} = getelementptr {self.real}, ptr {array}, {place}")
        return name

    def _base(self, array: str, step: int) -> str:
        """Address of an array, moved on with each iteration by a step."""
        if (array, step) not in self.bases:
            name = f"%{array}_by{len(self.bases)}"
            self.top.append(f"  {name}_far = mul i64 %i, {step}")
            moved = f"getelementptr {self.real}, ptr %{array}, i64 {name}_far"
            self.top.append(f"  {name} = {moved}")
            self.bases[array, step] = name
        return self.bases[array, step]

    def _table(self, kind: str, entries: list[str]) -> str:
        """A table of constants, one for each iteration."""
        name = f"@{self.symbol}_table{len(self.tables)}"
        listed = ", ".join(f"{kind} {entry}" for entry in entries)
        self.tables.append(f"{name} = internal constant [{len(entries)} x {kind}] [{listed}]")
        return name
