"""Better programs: lookups as arithmetic, fewer operations, and long programs in parts.

**Lowering of lookups: splines over grids and rows of tables as arithmetic on table entries.**

With ξ = (x − x₀)/step in the cell a = ⌊ξ⌋, s = ξ − a, and likewise b and r along y,

    (1)  h_ij = step⁻ⁱ⁻ʲ Σ_l B_lj(r) Σ_k B_ki(s) c[b + l, a + k],   k, l = 0 … 5

where B_ki are polynomials (`grid_spline.cell_weights`). All Taylor coefficients at one place share
the 36 entries, the powers of s and r and the inner sums. The only operation that reads memory is
``gather``: the entry at a place, a whole number as a double, and so many behind it. The cell is
held within the grid, also where x is nan, so that no other memory is read.

The row k of a table with 2ⁿ starts is found by halves, its last entry by one ``gather`` each:

    (2)  k ← k + 2ⁱ  if  start[k + 2ⁱ] ≤ p,   i = n − 1 … 0

**Optimization of programs for instruction-level parallelism.**

A traced sum adds its terms one after the other, in the order in which they were written, and each
addition waits for the one before. :func:`optimize` makes three changes, none of which adds an
operation:

    a b + a c → a (b + c)      common factors are multiplied once (reassociation)
    (a + b) + (c + d)          terms are added in the order of their availability, or by pairs,
                               where that is sooner (reassociation)
    order                      what the longest chain of operations waits for comes first (list
                               scheduling)

Lookups of splines are written as arithmetic before. Results differ from those of the
traced program by rounding; the interpreter keeps to the traced
one, so that the tests compare both.

When a sum is complete follows from the latencies of its operations. A term (ready, is_product, ...)
is available from cycle ``ready`` on. If it is a product, its last multiplication is not counted:
the sum fuses it (multiply-add); of two products one is computed first.

**Long programs cut into parts: loops over bodies that repeat, and straight-line code.**

The operations of a mechanism with many bodies alike repeat: a recursion along 1000 joints is one
body of operations, done 1000 times with other operands. Printed as a loop it is compiled once, and
its code stays in the processor's nearest cache. :func:`cut` finds such loops in a list of
operations that knows nothing of mechanisms:

    1  kinds of operations that repeat with some period (tandem repeats)
    2  where an iteration begins: where the fewest values are passed on
    3  iterations whose operations take the same operands of their own iteration

Over all iterations, an operand from elsewhere is one of these:

    carried      the iteration before computed it
    the same     read once, before the loop
    different    read from an array of inputs, of constants or from the workspace, at places that
                 are evenly spaced, or listed in a table

Parts pass values on in the workspace. Each is a small program of what it reads, and is optimized
as such. What does not repeat is straight-line code, cut into parts because one function compiles
slower than in proportion to its length; where little repeats, all of it is, and it is optimized as
a whole, which makes faster code.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.algebra import DEGREE, GridSpline, StepTable, cell_weights, numbered_table
from noslip.engines.program import INPUT_NAMES, Operation, Program, ProgramBuilder


def lower_lookups(program: Program) -> Program:
    """The same outputs with splines and rows written by means of table entries."""
    if all(operation.kind not in ("spline", "row") for operation in program.operations):
        return program
    builder = ProgramBuilder()
    place = [builder.new("input") for _ in range(sum(program.input_sizes))]
    place += [builder.constant(number) for number in program.constants]
    first = sum(program.input_sizes)
    for kind, operands in program.operations:
        given = [place[k] for k in operands]
        if kind == "spline":
            i, j, number = (int(program.constants[k - first]) for k in operands[2:])
            table = numbered_table(number)
            assert isinstance(table, GridSpline)
            made = _lowered(builder, table, given, (i, j))
        elif kind == "row":
            column, number = (int(program.constants[k - first]) for k in operands[1:])
            table = numbered_table(number)
            assert isinstance(table, StepTable)
            made = _entry(builder, table, given[0], column)
        else:
            made = builder.make(kind, *given)
        place.append(made)
    return builder.program(
        program.name, list(program.input_sizes), [place[k] for k in program.outputs]
    )


def _lowered(
    builder: ProgramBuilder, spline: GridSpline, operands: list[int], orders: tuple[int, int]
) -> int:
    """The value of a Taylor coefficient by (1)."""
    make, number = builder.make, builder.constant
    weights, cells = [], []
    for place, start, count, order in zip(
        operands[:2], spline.origin, spline.num_cells, orders, strict=True
    ):
        steps = make("div", make("sub", place, number(start)), number(spline.step))
        cell = make("max", make("floor", steps), number(0.0))
        cell = make("min", cell, number(float(count - 1)))
        s = make("sub", steps, cell)
        powers = [number(1.0), s]
        for k in range(2, DEGREE + 1 - order):
            powers.append(make("mul", powers[k // 2], powers[k - k // 2]))
        own = cell_weights(order) / spline.step**order
        weights.append([_sum(builder, [number(float(w)) for w in row], powers) for row in own])
        cells.append(cell)
    columns = spline.coefficients.shape[1]
    at = make("add", make("mul", cells[1], number(float(columns))), cells[0])
    table = number(float(spline.number))
    across = []
    for row in range(DEGREE + 1):
        behind = [number(float(row * columns + k)) for k in range(DEGREE + 1)]
        entries = [make("gather", at, shift, table) for shift in behind]
        across.append(_sum(builder, weights[0], entries))
    return _sum(builder, weights[1], across)


def _entry(builder: ProgramBuilder, table: StepTable, p: int, column: int) -> int:
    """A column of the row that holds at p, by (2)."""
    make, number = builder.make, builder.constant
    own, k = number(float(table.number)), number(0.0)
    half = table.num_starts // 2
    while half:
        start = make("gather", k, number(float(half)), own)
        k = make("if_else", make("le", start, p), make("add", k, number(float(half))), k)
        half //= 2
    first = make("mul", k, number(float(table.num_columns)))
    return make("gather", first, number(float(table.num_starts + column)), own)


def _sum(builder: ProgramBuilder, a: list[int], b: list[int]) -> int:
    """Σ a_k b_k."""
    products = [builder.make("mul", *pair) for pair in zip(a, b, strict=False)]
    return functools.reduce(lambda x, y: builder.make("add", x, y), products)


#: Operations up to which a program is scheduled.
LONGEST_SCHEDULED = 5000
#: Terms of a sum that are searched for common factors; longer sums are left alone.
MOST_FACTORED = 100

_Terms = list[tuple[int, tuple[int, ...]]]  # signs and factors
#: Latencies in cycles, typical of today's processors. All other operations have that of a fused
#: multiply-add.
FUSED = 4
LATENCIES = {
    "div": 13,
    "sqrt": 20,
    "sin": 40,
    "cos": 40,
    "tan": 50,
    "atan2": 60,
    "neg": 0,
    "abs": 0,
}
#: Cycle from which on late inputs are available.
LATE = 200
SUMS = ("add", "sub")

_Ready = Any  # a tuple that begins with (ready, is_product)


def optimize(
    program: Program, *, is_scheduled: bool | None = None, late: Collection[int] = ()
) -> Program:
    """The same outputs by operations with a shorter critical path.

    Parameters
    ----------
    is_scheduled : whether operations are also scheduled, or left in the order in which they were
        traced, where a value is used soon after it is computed. If not given, a
        long program is left as it is: its parts are optimized by themselves.
    late : inputs that are available later than others, as from the iteration before.
    """
    program = lower_lookups(program)
    if is_scheduled is None:
        if program.num_operations > LONGEST_SCHEDULED:
            return program
        is_scheduled = True
    regrouped = reassociate(program, late)
    return schedule(regrouped) if is_scheduled else regrouped


def reassociate(program: Program, late: Collection[int] = ()) -> Program:
    """The same outputs, with sums and products grouped so that they are complete sooner."""
    return _Reassociation(program, late).program()


class _SumTerm(NamedTuple):
    """A term of a sum, sign · a or sign · a b, available from cycle ``ready`` on."""

    ready: int
    is_product: bool
    number: int  # distinguishes terms that are equal otherwise
    factors: tuple[int, ...]
    sign: int


class _Reassociation:
    """A program being rewritten, with the cycle from which on each of its values is available.

    A sum that is used once, in another sum, is no value of its own but terms of that one; a product
    used once in a sum or a product likewise.
    """

    def __init__(self, program: Program, late: Collection[int]) -> None:
        self.old = program
        self.given = program.num_given
        self.made: list[Operation] = []
        self.known: dict[tuple[str, tuple[int, ...]], int] = {}
        self.ready = [0] * self.given
        for value in late:
            self.ready[value] = LATE
        self.place = list(range(self.given))  # of a value of the old program in the new one
        self.uses = [0] * (self.given + program.num_operations)
        self.user = [""] * len(self.uses)  # kind of the operation that uses a value last
        for kind, operands in program.operations:
            for value in operands:
                self.uses[value] += 1
                self.user[value] = kind
        for value in program.outputs:
            self.uses[value] += 2

    def program(self) -> Program:
        """The rewritten program."""
        for k, (kind, operands) in enumerate(self.old.operations):
            value = self.given + k
            if self.is_inner(value):
                self.place.append(-1)
            elif kind in SUMS:
                self.place.append(self.sum(self.terms(value)))
            elif kind == "mul":
                self.place.append(self.make("mul", *self.pair(self.factors(value))))
            else:
                self.place.append(self.make(kind, *[self.place[i] for i in operands]))
        outputs = tuple(self.place[value] for value in self.old.outputs)
        return replace(self.old, operations=tuple(self.made), outputs=outputs)

    def is_inner(self, value: int) -> bool:
        """Whether a value of the old program is only a part of a larger sum or product."""
        if value < self.given or self.uses[value] != 1:
            return False
        kind, user = self.old.operations[value - self.given].kind, self.user[value]
        return (kind in SUMS and user in SUMS) or (kind == "mul" and user in ("add", "sub", "mul"))

    def terms(self, value: int) -> _Terms:
        """Signs and factors of all terms of a sum."""
        found: _Terms = []
        stack = [(value, 1)]
        while stack:
            value, sign = stack.pop()
            kind, operands = self.old.operations[value - self.given]
            signs = (sign, -sign if kind == "sub" else sign)
            for operand, its_sign in zip(operands, signs, strict=True):
                if not self.is_inner(operand):
                    found.append((its_sign, (self.place[operand],)))
                elif self.old.operations[operand - self.given].kind == "mul":
                    found.append((its_sign, tuple(self.factors(operand))))
                else:
                    stack.append((operand, its_sign))
        return found

    def factors(self, value: int) -> list[int]:
        """All factors of a product."""
        found = []
        stack = [value]
        while stack:
            for operand in self.old.operations[stack.pop() - self.given].operands:
                if self.is_inner(operand):
                    stack.append(operand)
                else:
                    found.append(self.place[operand])
        return found

    def make(self, kind: str, *operands: int, ready: int | None = None) -> int:
        """The value of an operation, which is added unless the program has it already."""
        if kind in ("add", "mul") and operands[0] > operands[1]:
            operands = operands[::-1]
        if (kind, operands) not in self.known:
            self.known[kind, operands] = self.given + len(self.made)
            self.made.append(Operation(kind, operands))
            if ready is None:
                ready = max(self.ready[i] for i in operands) + LATENCIES.get(kind, FUSED)
            self.ready.append(ready)
        return self.known[kind, operands]

    def pair(self, factors: list[int]) -> tuple[int, int]:
        """Two factors with the product of all: those available first are multiplied first."""
        if len(factors) > 2:
            queue = [(self.ready[value], value) for value in factors]
            heapify(queue)
            while len(queue) > 2:
                value = self.make("mul", heappop(queue)[1], heappop(queue)[1])
                heappush(queue, (self.ready[value], value))
            factors = [value for _, value in queue]
        return factors[0], factors[1]

    def sum(self, terms: _Terms) -> int:
        """The value of a sum of products with signs."""
        total = self.signed_sum(terms)
        value = self.make("mul", *total.factors) if total.is_product else total.factors[0]
        return value if total.sign > 0 else self.make("neg", value)

    def signed_sum(self, terms: _Terms) -> _SumTerm:
        """A sum as one term: common factors first, then one by one or by pairs."""
        queue = [self.term(k, *term) for k, term in enumerate(self.factored(terms))]
        if len(queue) == 1:
            return queue[0]
        queue.sort()
        if len(queue) == 2 or end_of_chain(queue) <= end_of_pairs(queue):
            total = queue[0]
            for term in queue[1:]:
                total = self.add(total, term)
            return total
        while len(queue) > 1:
            heappush(queue, self.add(heappop(queue), heappop(queue)))
        return queue[0]

    def factored(self, terms: _Terms) -> _Terms:
        """Terms with a b + a c as one term a (b + c), as far as that does not delay the sum."""
        while len(terms) <= MOST_FACTORED:
            counts = Counter(i for _, factors in terms if len(factors) > 1 for i in set(factors))
            common, count = max(counts.items(), key=itemgetter(1), default=(-1, 0))
            if count < 2:
                return terms
            inner, others = [], []
            for sign, factors in terms:
                if len(factors) > 1 and common in factors:
                    k = factors.index(common)
                    inner.append((sign, factors[:k] + factors[k + 1 :]))
                else:
                    others.append((sign, factors))
            ready = max(end(self.available_at(inner)), self.ready[common])
            if end([*self.available_at(others), (ready, True)]) > end(self.available_at(terms)):
                return terms
            total = self.signed_sum(inner)
            terms = [*others, (total.sign, (common, *total.factors))]
        return terms

    def available_at(self, terms: _Terms) -> list[tuple[int, bool]]:
        """Cycles from which on terms are available, but for their last product, if there is one."""
        found = []
        for _, factors in terms:
            ready = [self.ready[value] for value in factors]
            heapify(ready)
            while len(ready) > 2:
                heappush(ready, max(heappop(ready), heappop(ready)) + FUSED)
            found.append((max(ready), len(ready) > 1))
        return found

    def term(self, number: int, sign: int, factors: tuple[int, ...]) -> _SumTerm:
        """A sign and factors as a term: all but the last product are made."""
        if len(factors) == 1:
            return _SumTerm(self.ready[factors[0]], False, number, factors, sign)
        a, b = self.pair(list(factors))
        return _SumTerm(max(self.ready[a], self.ready[b]), True, number, (a, b), sign)

    def add(self, first: _SumTerm, second: _SumTerm) -> _SumTerm:
        """The sum of two terms; of two products the one available first is multiplied first."""
        ready = end_of_two(first, second)
        a, b = (
            self.make("mul", *term.factors) if term.is_product else term.factors[0]
            for term in (first, second)
        )
        if first.sign == second.sign:
            value, sign = self.make("add", a, b, ready=ready), first.sign
        elif first.sign > 0:
            value, sign = self.make("sub", a, b, ready=ready), 1
        else:
            value, sign = self.make("sub", b, a, ready=ready), 1
        return _SumTerm(self.ready[value], False, first.number, (value,), sign)


def schedule(program: Program) -> Program:
    """The same operations by list scheduling, for a processor that starts one of them a cycle.

    Of all operations whose operands are available, the one with the longest chain of dependent
    operations behind it comes first.
    """
    given, operations = program.num_given, program.operations
    users: list[list[int]] = [[] for _ in operations]
    num_missing = [0] * len(operations)
    for k, operation in enumerate(operations):
        for value in set(operation.operands):
            if value >= given:
                users[value - given].append(k)
                num_missing[k] += 1
    kinds = [operation.kind for operation in operations]
    taken = [LATENCIES.get(kind, FUSED) for kind in kinds]
    for k, kind in enumerate(kinds):
        if kind == "mul" and len(users[k]) == 1 and kinds[users[k][0]] in SUMS:
            taken[k] = 0  # fused with the sum

    # critical path: cycles from the start of an operation to the end of the last that depends on it
    behind = [0] * len(operations)
    for k in range(len(operations) - 1, -1, -1):
        behind[k] = taken[k] + max((behind[j] for j in users[k]), default=0)

    ready = [(-behind[k], k) for k, n in enumerate(num_missing) if n == 0]
    heapify(ready)
    waiting: list[tuple[int, int]] = []  # for operands, with the cycle at which they are available
    start = [0] * len(operations)
    order: list[int] = []
    cycle = 0
    while ready or waiting:
        if not ready:
            cycle = max(cycle, waiting[0][0])
        while waiting and waiting[0][0] <= cycle:
            k = heappop(waiting)[1]
            heappush(ready, (-behind[k], k))
        k = heappop(ready)[1]
        order.append(k)
        for j in users[k]:
            start[j] = max(start[j], cycle + taken[k])
            num_missing[j] -= 1
            if num_missing[j] == 0:
                heappush(waiting, (start[j], j))
        cycle += 1

    place = list(range(given + len(operations)))
    for k, old in enumerate(order):
        place[given + old] = given + k
    return replace(
        program,
        operations=tuple(
            Operation(operations[k].kind, tuple([place[i] for i in operations[k].operands]))
            for k in order
        ),
        outputs=tuple(place[value] for value in program.outputs),
    )


def end(terms: list[tuple[int, bool]]) -> int:
    """Cycle at which a sum is complete by the faster of both ways to add its terms."""
    queue = sorted(terms)
    return min(end_of_chain(queue), end_of_pairs(queue))


def end_of_two(first: _Ready, second: _Ready) -> int:
    """Cycle at which the sum of two terms is complete."""
    return max(first[0] + FUSED * (first[1] and second[1]), second[0]) + FUSED


def end_of_chain(terms: Sequence[_Ready]) -> int:
    """Cycle at which a sum is complete if its terms are added one by one, in this order."""
    ready = terms[0][0] + FUSED * terms[0][1]
    for term in terms[1:]:
        ready = max(ready, term[0]) + FUSED
    return ready


def end_of_pairs(terms: Sequence[_Ready]) -> int:
    """Cycle at which a sum is complete if the two earliest terms are always added first."""
    queue = [term[:2] for term in terms]
    while len(queue) > 1:
        heappush(queue, (end_of_two(heappop(queue), heappop(queue)), False))
    return queue[0][0] + FUSED * queue[0][1]


def hoist(program: Program, shared: Collection[int]) -> tuple[Program, Program]:
    """Operations on parameters alone taken out of a program: what is left, and what makes them.

    What is left has the hoisted values behind its parameters; the other makes these values.
    """
    first, given = sum(program.input_sizes[:3]), program.num_given
    num_inputs = sum(program.input_sizes)
    is_known = bytearray(given + program.num_operations)
    for value in (*(first + k for k in shared), *range(num_inputs, given)):
        is_known[value] = True
    for value, (_, operands) in enumerate(program.operations, given):
        for k in operands:
            if not is_known[k]:
                break
        else:
            is_known[value] = True
    made = [k for k in range(program.num_operations) if is_known[given + k]]
    if not made:
        return program, replace(program, operations=(), outputs=())
    rest = [k for k in range(program.num_operations) if not is_known[given + k]]
    used = {v for k in rest for v in program.operations[k].operands} | set(program.outputs)
    hoisted = [given + k for k in made if given + k in used]

    head_places = {v: v for v in range(given)} | {given + k: given + j for j, k in enumerate(made)}
    head = replace(
        program,
        operations=_renumbered(program, made, head_places),
        outputs=tuple(head_places[v] for v in hoisted),
    )
    behind = len(hoisted)
    places = {v: v + (behind if v >= num_inputs else 0) for v in range(given)}
    places |= {value: num_inputs + j for j, value in enumerate(hoisted)}
    places |= {given + k: given + behind + j for j, k in enumerate(rest)}
    nt, nx, nu, np_ = program.input_sizes
    main = replace(
        program,
        input_sizes=(nt, nx, nu, np_ + behind),
        operations=_renumbered(program, rest, places),
        outputs=tuple(places[v] for v in program.outputs),
    )
    return main, head


def _renumbered(
    program: Program, which: list[int], places: dict[int, int]
) -> tuple[Operation, ...]:
    """Some operations of a program, with operands at other places."""
    chosen = (program.operations[k] for k in which)
    return tuple(
        [Operation(kind, tuple([places[v] for v in operands])) for kind, operands in chosen]
    )


#: Operations of a part of straight-line code: shorter functions compile in half the time.
LONGEST_PART = 1500
#: Operations of a body: at most, and at least, where several iterations are taken as one.
LONGEST_BODY, SHORTEST_BODY = 5000, 48
#: Share of operations in loops from which on a program has any.
LEAST_REPEATED = 0.5
#: Iterations that make a loop.
FEWEST_ITERATIONS = 6
#: Operations in a row that are compared to find a period, and periods that are tried.
WINDOW, MOST_PERIODS = 16, 24
#: Operands that are found by tables, for each operation of a body, up to which a loop pays.
MOST_TABLES = 0.5
#: Iterations that each end of a loop may give up, so that fewer operands need tables, and what an
#: operation outside of the loop costs, in places read from a table.
MOST_TRIMMED, TRIMMED_COST = 4, 16

#: Arrays besides the inputs: outputs, workspace, and constants of a part.
OUTPUTS, WORKSPACE, CONSTANTS = "out", "w", "constants"

Integers = NDArray[np.int64]


class Access(NamedTuple):
    """Read or write of a number: an array, and the index in it at each iteration.

    A part's constants have no array: their places are the numbers themselves.
    """

    array: str
    places: NDArray[np.int64] | NDArray[np.float64]

    @property
    def step(self) -> int | None:
        """Distance between the places of iterations; None if they are not evenly spaced."""
        steps = set(np.diff(self.places).tolist())
        if self.array == CONSTANTS:
            return None
        return int(steps.pop()) if len(steps) == 1 else None if steps else 0


@dataclass(frozen=True, slots=True, eq=False)
class CodePart:
    """Operations that are done `count` times, one iteration after the other."""

    body: Program  #: program of the numbers that it reads (its x) and that are carried (its p)
    count: int  #: iterations
    reads: tuple[Access, ...]  #: reads of the numbers that the body reads
    #: carried of the numbers that an iteration passes on, where the first one finds them
    carried: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()  #: writes of the first outputs of the body
    #: results of the last outputs of the body, which are written after the last iteration. Between
    #: both are the numbers that are passed on.
    results: tuple[Access, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PartedProgram:
    """A program as parts that are done one after the other, and the size of their workspace."""

    parts: tuple[CodePart, ...]
    num_slots: int


def whole(program: Program) -> PartedProgram:
    """A program as one part."""
    inputs = zip(INPUT_NAMES, program.input_sizes, strict=True)
    part = CodePart(
        body=program,
        count=1,
        reads=tuple(Access(name, np.array([k])) for name, size in inputs for k in range(size)),
        writes=tuple(Access(OUTPUTS, np.array([k])) for k in range(program.output_size)),
    )
    return PartedProgram((part,), 0)


def cut(program: Program, *, with_loops: bool = True) -> PartedProgram:
    """A program as parts: loops where its operations repeat, and straight-line code."""
    loops = _loops(program, _operand_table(program)) if with_loops else []
    repeated = sum(loop.stop - loop.start for loop in loops)
    if repeated < LEAST_REPEATED * program.num_operations:
        return _Cutting(reassociate(program), []).parted()
    return _Cutting(program, loops).parted()


@dataclass(frozen=True, slots=True, order=True)
class _Span:
    """Operations of a part: the first one, those of one iteration, and iterations.

    An iteration may be several of the program's own, whose `unit` is shorter.
    """

    start: int
    period: int
    count: int
    unit: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.count


class _CarriedValue(NamedTuple):
    """A value that an iteration takes from the one before: its place there, and the first one."""

    place: int
    first: int


@dataclass(slots=True)
class _Body:
    """Operations of a span, and the values they take from outside.

    `carried` and `read` number them; operands are as in the first iteration, where they are of the
    span's own, and else negative: −1 − (read), or beyond these −1 − (reads + carried).
    """

    span: _Span
    reads: dict[bytes, tuple[int, Integers]]
    carried: dict[_CarriedValue, int]
    sources: dict[tuple[int, int], bytes | _CarriedValue]  # of operand o of operation j


class _Cutting:
    """A program that is cut. Values are known by their places in its list."""

    def __init__(self, program: Program, loops: list[_Span]) -> None:
        self.program, self.given = program, program.num_given
        self.operands, self.has_loops = _operand_table(program), bool(loops)
        self.spans = list(_spans(loops, program.num_operations))
        starts = np.array([span.start for span in self.spans], dtype=np.int64)
        units = np.array([span.unit for span in self.spans], dtype=np.int64)
        number = np.arange(program.num_operations)
        self.span_of = np.searchsorted(starts, number, side="right") - 1
        self.place_of = (number - starts[self.span_of]) % units[self.span_of]
        sizes = program.input_sizes
        self.array_of = np.repeat(np.arange(5), (*sizes, len(program.constants)))
        self.index_of = np.concatenate([np.arange(n) for n in (*sizes, len(program.constants))])
        #: (span, place in its unit) of values in the workspace → last span that reads them
        self.kept: dict[tuple[int, int], int] = {}
        #: the same → first of the units whose values are read
        self.first_read: dict[tuple[int, int], int] = {}
        #: inputs and constants in the workspace
        self.copied: dict[int, None] = {}
        self.slots = np.full(self.given + program.num_operations, -1)

    def parted(self) -> PartedProgram:
        """The parts."""
        bodies = [self._body(span) for span in self.spans]
        for number, body in enumerate(bodies):
            for _, values in body.reads.values():
                self._need(values, number)
            for passed in body.carried:
                self._need(np.array([passed.first]), number)
        written, leftover = self._outputs()
        for value, _ in leftover:
            self._need(np.array([value]), len(self.spans))
        num_slots = self._allocate()
        parts: list[CodePart] = []
        if self.copied:
            parts.extend(self._copies([(v, WORKSPACE, int(self.slots[v])) for v in self.copied]))
        parts += [self._part(k, body, written) for k, body in enumerate(bodies)]
        if leftover:
            parts.extend(self._copies([(value, OUTPUTS, place) for value, place in leftover]))
        return PartedProgram(tuple(parts), num_slots)

    def _body(self, span: _Span) -> _Body:
        """Operations of a span, and the values they take from outside."""
        taken = self.operands[span.start : span.stop].reshape(span.count, span.period, -1)
        first = self.given + span.start + span.period * np.arange(span.count)[:, None, None]
        own = (taken[0] >= first[0]) | (taken[0] < 0)
        before = taken[1:] - first[:-1]
        is_carried = ~own & (before == before[:1]).all(axis=0) & (before >= 0).all(axis=0)
        is_carried &= span.count > 1
        body = _Body(span=span, reads={}, carried={}, sources={})
        for j, o in np.argwhere(~own).tolist():
            values = taken[:, j, o]
            if is_carried[j, o]:
                passed = _CarriedValue(int(before[0, j, o]), int(values[0]))
                body.carried.setdefault(passed, len(body.carried))
                body.sources[j, o] = passed
                continue
            key = values.tobytes()
            body.sources[j, o] = key
            if key not in body.reads and not self._is_constant(values):
                body.reads[key] = len(body.reads), values
        return body

    def _is_constant(self, values: Integers) -> bool:
        """Whether values are one constant."""
        value = int(values[0])
        first = sum(self.program.input_sizes)
        return first <= value < self.given and bool((values == value).all())

    def _array(self, values: Integers) -> str:
        """The array that values are read from: of inputs or constants, or else the workspace."""
        if values.max() < self.given:
            arrays = self.array_of[values]
            if (arrays == arrays[0]).all():
                return (*INPUT_NAMES, CONSTANTS)[arrays[0]]
        return WORKSPACE

    def _need(self, values: Integers, reader: int) -> None:
        """Keep values in the workspace, if they are read from there."""
        if self._array(values) != WORKSPACE:
            return
        self.copied.update(dict.fromkeys(values[values < self.given].tolist()))
        made = values[values >= self.given] - self.given
        if len(made) == 1:
            self._keep(int(made[0]), reader)
            return
        pairs = self.span_of[made] * (LONGEST_BODY + 1) + self.place_of[made]
        found, group = np.unique(pairs, return_inverse=True)
        least = np.full(len(found), len(self.span_of))
        np.minimum.at(least, group, made)
        for operation in least.tolist():
            self._keep(operation, reader)

    def _keep(self, operation: int, reader: int) -> None:
        """Keep the value of an operation in the workspace, and those of the following units."""
        number = int(self.span_of[operation])
        key, span = (number, int(self.place_of[operation])), self.spans[number]
        first = (operation - span.start) // span.unit
        self.kept[key] = max(self.kept.get(key, 0), reader)
        self.first_read[key] = min(self.first_read.get(key, first), first)

    def _is_result(self, number: int, place: int) -> bool:
        """Whether of all values at a place of a loop only the last one is read from elsewhere."""
        span = self.spans[number]
        last = span.count * span.period // span.unit - 1
        return span.count > 1 and self.first_read[number, place] == last

    def _access(self, values: Integers) -> Access:
        """Access that reads values."""
        array = self._array(values)
        if array == CONSTANTS:
            numbers = [self.program.constants[k] for k in self.index_of[values]]
            return Access(array, np.array(numbers))
        return Access(array, (self.slots if array == WORKSPACE else self.index_of)[values])

    def _outputs(self) -> tuple[dict[tuple[int, int], list[Integers]], list[tuple[int, int]]]:
        """Places of outputs by (span, place in its body) of what computes and writes them.

        And the others, which are copied after all: (value, place).
        """
        places: dict[int, list[int]] = defaultdict(list)
        for k, value in enumerate(self.program.outputs):
            places[value].append(k)
        leftover = [(v, k) for v, listed in places.items() if v < self.given for k in listed]
        keys = set()
        for value in places:
            if value >= self.given:
                number = int(self.span_of[value - self.given])
                span = self.spans[number]
                keys.add((number, (value - self.given - span.start) % span.period))
        written: dict[tuple[int, int], list[Integers]] = {}
        for number, place in sorted(keys):
            span = self.spans[number]
            first = self.given + span.start + place
            values = range(first, first + span.period * span.count, span.period)
            counts = {len(places.get(v, ())) for v in values}
            if len(counts) == 1:
                written[number, place] = list(np.array([places[v] for v in values]).T)
            else:
                leftover += [(v, k) for v in values for k in places.get(v, ())]
        return written, leftover

    def _allocate(self) -> int:
        """Give slots of the workspace to values; their number.

        Those of straight-line code are free again after the last part that reads them.
        """
        num_slots = len(self.copied)
        self.slots[list(self.copied)] = np.arange(num_slots)
        kept: list[list[int]] = [[] for _ in self.spans]
        for number, place in sorted(self.kept):
            kept[number].append(place)
        free: list[int] = []
        freed: list[list[int]] = [[] for _ in range(len(self.spans) + 1)]
        for number, span in enumerate(self.spans):
            # of straight-line code, and results of loops
            last = self.given + span.stop - span.unit
            single = [k for k in kept[number] if span.count == 1 or self._is_result(number, k)]
            for place in single:
                slot = heappop(free) if free else num_slots
                num_slots = max(num_slots, slot + 1)
                self.slots[last + place] = slot
                freed[self.kept[number, place]].append(slot)
            places = np.array([k for k in kept[number] if k not in single], dtype=np.int64)
            if len(places):
                first = self.given + span.start
                values = first + np.arange(0, span.stop - span.start, span.unit)[:, None] + places
                self.slots[values] = num_slots + np.arange(values.size).reshape(values.shape)
                num_slots += values.size
            for slot in freed[number]:
                heappush(free, slot)
        return num_slots

    def _part(
        self, number: int, body: _Body, written: dict[tuple[int, int], list[Integers]]
    ) -> CodePart:
        """The part of a span."""
        span, program = body.span, self.program
        num_reads, num_taken = len(body.reads), len(body.reads) + len(body.carried)
        constants: dict[int, int] = {}

        def constant(value: int) -> int:
            return constants.setdefault(value, num_taken + len(constants))

        places: dict[bytes | _CarriedValue, int] = {key: k for key, (k, _) in body.reads.items()}
        places |= {passed: num_reads + k for passed, k in body.carried.items()}
        first = self.given + span.start
        listed = program.operations[span.start : span.start + span.period]
        for j, (_, operands) in enumerate(listed):
            for o, value in enumerate(operands):
                key = body.sources.get((j, o))
                if key is not None and key not in places:
                    places[key] = constant(value)
        shift = num_taken + len(constants) - first
        sources = {at: places[key] for at, key in body.sources.items()}
        operations = [
            Operation(
                kind,
                tuple([sources.get((j, o), value + shift) for o, value in enumerate(operands)]),
            )
            for j, (kind, operands) in enumerate(listed)
        ]
        writes: list[tuple[int, Access]] = []
        for j in range(span.period):
            values = first + j + span.period * np.arange(span.count)
            at = number, j % span.unit
            if at in self.kept and not self._is_result(*at):
                writes.append((j, Access(WORKSPACE, self.slots[values])))
            for listed_places in written.get((number, j), ()):
                writes.append((j, Access(OUTPUTS, listed_places)))
        outputs = [first + j + shift for j, _ in writes]
        outputs += [first + passed.place + shift for passed in body.carried]
        last = span.period - span.unit
        results = [
            last + k
            for k in range(span.unit)
            if (number, k) in self.kept and self._is_result(number, k)
        ]
        outputs += [first + j + shift for j in results]
        final = self.given + span.stop - span.period
        made = Program(
            name=program.name,
            input_sizes=(0, num_reads, 0, len(body.carried)),
            constants=tuple(program.constants[self.index_of[v]] for v in constants),
            operations=tuple(operations),
            outputs=tuple(outputs),
        )
        if self.has_loops:
            late = range(num_reads, num_taken)
            made = optimize(made, is_scheduled=span.count > 1, late=late)
        return CodePart(
            body=made,
            count=span.count,
            reads=tuple(self._access(values) for _, values in body.reads.values()),
            carried=tuple(self._access(np.array([passed.first])) for passed in body.carried),
            writes=tuple(access for _, access in writes),
            results=tuple(Access(WORKSPACE, self.slots[[final + j]]) for j in results),
        )

    def _copies(self, copies: list[tuple[int, str, int]]) -> Iterator[CodePart]:
        """Parts that copy values to places of arrays: loops where many follow each other."""
        single: list[tuple[int, str, int]] = []
        values, places = (np.array([copy[k] for copy in copies]) for k in (0, 2))
        arrays = np.append(self.array_of, -1)[np.minimum(values, self.given)]
        follows = (np.diff(values) == 1) & (np.diff(places) == 1) & (np.diff(arrays) == 0)
        follows &= arrays[1:] != len(INPUT_NAMES)  # no constants
        starts = [0, *(np.flatnonzero(~follows) + 1).tolist(), len(copies)]
        for start, stop in pairwise(starts):
            if stop - start < SHORTEST_BODY:
                single += copies[start:stop]
                continue
            at = values[start:stop]
            yield self._copying(at[None, :], copies[start][1], places[None, start:stop])
        for start in range(0, len(single), LONGEST_PART):
            chosen = single[start : start + LONGEST_PART]
            at, there = (np.array([[copy[k]] for copy in chosen]) for k in (0, 2))
            yield self._copying(at, chosen[0][1], there)

    def _copying(self, values: Integers, array: str, places: Integers) -> CodePart:
        """A part that copies (n, iterations) values to places of an array."""
        reads: dict[bytes, int] = {}
        outputs = tuple([reads.setdefault(row.tobytes(), len(reads)) for row in values])
        sizes = (0, len(reads), 0, 0)
        sources = [np.frombuffer(key, dtype=np.int64) for key in reads]
        return CodePart(
            body=Program(self.program.name, sizes, constants=(), operations=(), outputs=outputs),
            count=values.shape[1],
            reads=tuple(
                self._access(at) if at[0] < self.given else Access(WORKSPACE, self.slots[at])
                for at in sources
            ),
            writes=tuple(Access(array, row) for row in places),
        )


def _spans(loops: list[_Span], num_operations: int) -> Iterator[_Span]:
    """Loops, with straight-line code between them in parts of equal length."""
    end = 0
    for loop in [*loops, _Span(num_operations, 1, 0, 1)]:
        num = -(-(loop.start - end) // LONGEST_PART)
        cuts = [end + (loop.start - end) * k // num for k in range(num + 1)] if num else []
        yield from (_Span(a, b - a, 1, b - a) for a, b in pairwise(cuts))
        if loop.count:
            yield loop
        end = loop.stop


def _operand_table(program: Program) -> Integers:
    """Operands of all operations, a row each, filled up with −1."""
    width = max((len(operands) for _, operands in program.operations), default=0)
    by_length = [(-1,) * k for k in range(width + 1)]
    rows = [operands + by_length[width - len(operands)] for _, operands in program.operations]
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _loops(program: Program, operands: Integers) -> list[_Span]:
    """Loops, one after the other; where several are possible, the most frequent period's."""
    codes, given = _codes(program), program.num_given
    live = _live(program, operands)
    is_free = np.ones(len(codes), dtype=bool)
    found: list[_Span] = []
    for period in _periods(codes):
        same = (codes[period:] == codes[:-period]) & is_free[period:] & is_free[:-period]
        for start, length in _runs(same, (FEWEST_ITERATIONS - 1) * period):
            for span in _iterations(start, length + period, period, operands, live, given):
                found.append(span)
                is_free[span.start : span.stop] = False
    # where a value is: an input, straight-line code, or one of the loops so far
    arrays = (*program.input_sizes, len(program.constants))
    home = np.repeat(np.arange(-5, 1), (*arrays, len(codes)))
    loops: list[_Span] = []
    for span in sorted(found):
        trimmed = _trimmed(span, operands, home, given)
        if trimmed is not None:
            loops.append(trimmed)
            home[given + trimmed.start : given + trimmed.stop] = len(loops)
    return loops


def _trimmed(span: _Span, operands: Integers, home: Integers, given: int) -> _Span | None:
    """A loop less the first and last iterations that take operands from elsewhere than the others.

    None if it does not pay: too many operands would need tables.
    """
    count, middle = span.count, span.count // 2
    taken = operands[span.start : span.stop].reshape(count, -1)
    iterations = np.arange(count)[:, None]
    step = taken[middle] - taken[middle - 1]
    first = given + span.start
    is_near = taken[middle] >= first + span.period * (middle - 1)  # of this iteration or the last
    homes = home[taken]
    is_odd = taken != taken[middle] + step * (iterations - middle)
    is_odd |= ~is_near & (homes != homes[middle])
    is_odd[0, is_near] = False
    before, after = is_odd[:middle], is_odd[middle:]
    # iterations that are to be given up until a column is even
    ahead = np.where(before.any(axis=0), middle - np.argmax(before[::-1], axis=0), 0)
    behind = np.where(after.any(axis=0), count - middle - np.argmax(after, axis=0), 0)
    choices = []
    for a in range(MOST_TRIMMED + 1):
        for b in range(MOST_TRIMMED + 1):
            num, left = int(np.count_nonzero((ahead > a) | (behind > b))), count - a - b
            if left >= FEWEST_ITERATIONS and num <= MOST_TABLES * span.period:
                choices.append((num * left + TRIMMED_COST * (a + b) * span.period, a, left))
    if not choices:
        return None
    _, a, left = min(choices)
    return replace(span, start=span.start + a * span.period, count=left)


def _codes(program: Program) -> Integers:
    """A number for each kind of operation; a gather's also tells its table and place in that."""
    numbers: dict[object, int] = {}
    codes = [
        numbers.setdefault((kind, operands[1:]) if kind == "gather" else kind, len(numbers))
        for kind, operands in program.operations
    ]
    return np.array(codes, dtype=np.int64)


def _periods(codes: Integers) -> list[int]:
    """Distances at which windows of operations occur again, the most frequent first."""
    num = len(codes) - WINDOW + 1
    if num < 2:
        return []
    hashes = np.zeros(num, dtype=np.uint64)
    for k in range(WINDOW):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + codes[k : k + num].astype(np.uint64)
    order = np.argsort(hashes, kind="stable")
    again = hashes[order[1:]] == hashes[order[:-1]]
    distances = (order[1:] - order[:-1])[again]
    counts = np.bincount(distances[distances <= LONGEST_BODY], minlength=1)
    best = np.argsort(-counts, kind="stable")[:MOST_PERIODS]
    return [int(k) for k in best if counts[k] >= (FEWEST_ITERATIONS - 1)]


def _live(program: Program, operands: Integers) -> Integers:
    """Number of values that pass each operation: computed before, and used there or later."""
    num, given = len(operands), program.num_given
    last = np.full(given + num, -1)
    at = np.broadcast_to(np.arange(num)[:, None], operands.shape)
    is_operand = operands >= 0
    np.maximum.at(last, operands[is_operand], at[is_operand])
    last = last[given:]
    made = np.flatnonzero(last >= 0)
    changes = np.zeros(num + 2, dtype=np.int64)
    np.add.at(changes, made + 1, 1)
    np.add.at(changes, last[made] + 1, -1)
    return np.cumsum(changes)


def _iterations(
    start: int, length: int, unit: int, operands: Integers, live: Integers, given: int
) -> list[_Span]:
    """Loops among operations whose kinds repeat; several units are one iteration if they can be."""
    joined = unit * -(-SHORTEST_BODY // unit)
    for period in dict.fromkeys((joined, unit)):
        if length // period < FEWEST_ITERATIONS:
            continue
        # begin where the fewest values pass, but for those that pass the whole loop
        growth = (live[start + period] - live[start]) / period
        passing = live[start : start + period] - growth * np.arange(period)
        first = start + int(np.argmin(passing))
        count = (start + length - first) // period
        taken = operands[first : first + period * count].reshape(count, -1)
        begins = given + first + period * np.arange(count)[:, None]
        own = np.where(taken >= begins, taken - begins, -1)
        same = (own[1:] == own[:-1]).all(axis=1)
        found = [
            _Span(first + at * period, period, more + 1, unit)
            for at, more in _runs(same, FEWEST_ITERATIONS - 1)
        ]
        if found:
            return found
    return []


def _runs(flags: NDArray[np.bool_], least: int) -> list[tuple[int, int]]:
    """Starts and lengths of runs of true that have at least some length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    is_long = lengths >= least
    return list(zip(starts[is_long].tolist(), lengths[is_long].tolist(), strict=True))
