"""Sums of products as dictionaries from monomials to rational numbers, and a budget for them.

A monomial is a sorted tuple of (atom, power) pairs, the atoms being numbers; powers may be
negative. What the atoms stand for is known to `algebra`.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

Rational = int | Fraction
Monomial = tuple[tuple[int, int], ...]
Sum = dict[Monomial, Rational]
#: A sum as a key.
Frozen = frozenset[tuple[Monomial, Rational]]

ONE: Monomial = ()


class TooLarge(Exception):
    """The result has too many terms, or the budget is spent."""


class Budget:
    """How much work may be done: a number of operations, the same on every machine, and a time.

    The number decides in practice, so that the same equations always look the same; the time is
    there for what nobody foresaw.
    """

    def __init__(self, operations: int, seconds: float) -> None:
        self.left = operations
        self.end = time.monotonic() + seconds
        self.is_late = False

    def renewed(self, operations: int) -> Budget:
        """Another number of operations until the same time."""
        budget = Budget(operations, 0.0)
        budget.end = self.end
        return budget

    def spend(self, operations: int) -> None:
        """Take operations off; raises `TooLarge` when nothing is left."""
        self.left -= operations
        if self.left < 0:
            raise TooLarge
        if self.is_late or time.monotonic() > self.end:
            self.is_late = True
            raise TooLarge


def exact(number: Rational) -> Rational:
    """A whole number as an int, which is faster to compute with."""
    return number if isinstance(number, int) or number.denominator != 1 else number.numerator


def negative(a: Sum) -> Sum:
    """−a."""
    return {m: -c for m, c in a.items()}


def content(a: Sum) -> tuple[Rational, Monomial, Sum]:
    """Number and monomial that divide every term, and what remains, mostly positive."""
    common = dict(next(iter(a)))
    for monomial in a:
        powers = dict(monomial)
        for place in common:
            common[place] = min(common[place], powers.get(place, 0))
        for place, power in powers.items():
            if power < 0 and place not in common:
                common[place] = power
    monomial = tuple(sorted((p, e) for p, e in common.items() if e))
    top = math.gcd(*[c.numerator for c in a.values()])
    bottom = math.lcm(*[c.denominator for c in a.values()])
    inverse = tuple((p, -e) for p, e in monomial)
    scale = Fraction(bottom, top)
    bare = {merge(m, inverse): exact(c * scale) for m, c in a.items()}
    positive = sum(c > 0 for c in bare.values())
    number = exact(Fraction(top, bottom))
    if 2 * positive < len(bare) or (2 * positive == len(bare) and bare[min(bare)] < 0):
        return -number, monomial, {m: -c for m, c in bare.items()}
    return number, monomial, bare


def merge(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a:
        return b
    if not b:
        return a
    powers = dict(a)
    for place, power in b:
        powers[place] = powers.get(place, 0) + power
    return tuple(sorted((p, e) for p, e in powers.items() if e))


def put(a: dict[Any, Rational], monomial: Any, number: Rational) -> None:
    """Add a term in place."""
    total = a.get(monomial, 0) + number
    if total:
        a[monomial] = exact(total)
    else:
        a.pop(monomial, None)


def drop(monomial: Monomial, place: int) -> Monomial:
    """The monomial without an atom."""
    return tuple(p for p in monomial if p[0] != place)


def dense(a: Sum, places: list[int]) -> tuple[dict[tuple[int, ...], Rational], list[int]]:
    """Terms by their powers of all atoms, without what is common to them, and that."""
    column = {p: k for k, p in enumerate(places)}
    rows = []
    for monomial in a:
        powers = [0] * len(places)
        for place, power in monomial:
            powers[column[place]] = power
        rows.append(powers)
    low = [min(column) for column in zip(*rows, strict=True)]
    keys = [tuple(x - y for x, y in zip(r, low, strict=True)) for r in rows]
    return dict(zip(keys, a.values(), strict=True)), low
