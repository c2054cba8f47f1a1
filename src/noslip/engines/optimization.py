"""Optimization of programs for instruction-level parallelism.

A traced sum adds its terms one after the other, in the order in which they were written, and each
addition waits for the one before. :func:`optimize` makes three changes, none of which adds an
operation:

    a b + a c → a (b + c)      common factors are multiplied once (reassociation)
    (a + b) + (c + d)          terms are added in the order of their availability, or by pairs,
                               where that is sooner (reassociation)
    order                      what the longest chain of operations waits for comes first (list
                               scheduling)

Lookups of splines are written as arithmetic before (`lookup`). Results differ from those of the
traced program by rounding; the interpreter keeps to the traced
one, so that the tests compare both.

When a sum is complete follows from the latencies of its operations. A term (ready, is_product, ...)
is available from cycle ``ready`` on. If it is a product, its last multiplication is not counted:
the sum fuses it (multiply-add); of two products one is computed first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any, NamedTuple

from noslip.engines.lookup import lower_lookups
from noslip.engines.program import Operation, Program

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
    program : as it was traced.
    is_scheduled : whether operations are also scheduled, or left in the order in which they were
        traced, where a value is used soon after it is computed. If not given, a
        long program is left as it is: its parts are optimized by themselves (`repetition`).
    late : inputs that are available later than others, as from the iteration before.
    """
    program = lower_lookups(program)
    if is_scheduled is None:
        if program.num_operations > LONGEST_SCHEDULED:
            return program
        is_scheduled = True
    if not is_scheduled:
        return reassociate(program, late)
    return schedule(reassociate(program, late))


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

    Parameters
    ----------
    program : to be split.
    shared : parameters that the hoisted operations may take.
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

    def moved(values: list[int], first: int, others: dict[int, int]) -> dict[int, int]:
        return others | {value: first + k for k, value in enumerate(values)}

    same = {v: v for v in range(given)}
    head_places = moved([given + k for k in made], given, same)
    head = replace(
        program,
        operations=_renumbered(program, made, head_places),
        outputs=tuple(head_places[v] for v in hoisted),
    )
    behind = len(hoisted)
    places = {v: v + (behind if v >= num_inputs else 0) for v in range(given)}
    places = moved(hoisted, num_inputs, places)
    places = moved([given + k for k in rest], given + behind, places)
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
