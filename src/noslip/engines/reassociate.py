"""Reassociation of sums and products, so that they are complete sooner by the `latencies`.

    a b + a c → a (b + c)      common factors are multiplied once
    ((a + b) + c) + d          terms are added in the order of their availability, or by pairs,
                               (a + b) + (c + d), where that is sooner

Neither adds an operation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import NamedTuple

from noslip.engines.latencies import (
    FUSED,
    LATENCIES,
    SUMS,
    end,
    end_of_chain,
    end_of_pairs,
    end_of_two,
)
from noslip.engines.program import Operation, Program

#: Terms of a sum that are searched for common factors; longer sums are left alone.
MOST_FACTORED = 100

_Terms = list[tuple[int, tuple[int, ...]]]  # signs and factors


def reassociate(program: Program) -> Program:
    """The same outputs, with sums and products grouped so that they are complete sooner."""
    return _Reassociation(program).program()


class _Term(NamedTuple):
    """A term of a sum, sign · a or sign · a b, known from cycle ``ready`` on."""

    ready: int
    is_product: bool
    number: int  # tells terms that are equal otherwise
    factors: tuple[int, ...]
    sign: int


class _Reassociation:
    """A program in the making, with the cycle from which on each of its values is known.

    A sum that is used once, in another sum, is no value of its own but terms of that one; a product
    used once in a sum or a product likewise.
    """

    def __init__(self, program: Program) -> None:
        self.old = program
        self.given = program.num_given
        self.made: list[Operation] = []
        self.known: dict[tuple[str, tuple[int, ...]], int] = {}
        self.ready = [0] * self.given
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
        """All of it."""
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
        """The value of an operation, made now or found."""
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
        """Two factors with the product of all: those known first are multiplied first."""
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

    def signed_sum(self, terms: _Terms) -> _Term:
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
        """Terms with a b + a c as one term a (b + c), as far as the sum is known no later so."""
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
            ready = max(end(self.known_at(inner)), self.ready[common])
            if end([*self.known_at(others), (ready, True)]) > end(self.known_at(terms)):
                return terms
            total = self.signed_sum(inner)
            terms = [*others, (total.sign, (common, *total.factors))]
        return terms

    def known_at(self, terms: _Terms) -> list[tuple[int, bool]]:
        """Cycles from which on terms are known but for their last product, if there is one."""
        found = []
        for _, factors in terms:
            ready = [self.ready[value] for value in factors]
            heapify(ready)
            while len(ready) > 2:
                heappush(ready, max(heappop(ready), heappop(ready)) + FUSED)
            found.append((max(ready), len(ready) > 1))
        return found

    def term(self, number: int, sign: int, factors: tuple[int, ...]) -> _Term:
        """A sign and factors as a term: all but the last product are made."""
        if len(factors) == 1:
            return _Term(self.ready[factors[0]], False, number, factors, sign)
        a, b = self.pair(list(factors))
        return _Term(max(self.ready[a], self.ready[b]), True, number, (a, b), sign)

    def add(self, first: _Term, second: _Term) -> _Term:
        """The sum of two terms; of two products the one that is known first is multiplied first."""
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
        return _Term(self.ready[value], False, first.number, (value,), sign)
