"""Closed forms: the values of a program as sums of products, as far as they stay small.

Three ways to write the outputs of a program, from the shortest program of ideas to the longest:

    closed      in the inputs alone
    labeled     in the inputs and values that already have a name of their own, such as speeds
    shared      in the inputs, the named values and parts that are used more than once
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction

from noslip.engines import Operation, Program
from noslip.show.equations.algebra import (
    ONE,
    Algebra,
    Atom,
    Budget,
    Quaternion,
    Rational,
    Sum,
    TooLarge,
    exact,
    negative,
)

#: Time limit of the simplification, s. The number of operations limits it long before.
SECONDS = 6.0
#: A constant below this is what rounding left of a zero, such as cos(π/2).
ROUNDED_ZERO = 1e-15
#: A value with fewer factors than this is written out wherever it is used.
WORTH_A_NAME = 7
#: The same for a value that has a name anyway; a sum is always worth it.
WORTH_ITS_LABEL = 5
#: Where parts are shared, a value with more factors than this is not expanded.
LONGEST_PART = 100
#: What an operation costs however short its operands are.
OVERHEAD = 3
PI = Atom("symbol", "pi")


@dataclass(slots=True)
class Forms:
    """Every value of a program as a sum, and what the values with a name stand for.

    Parameters
    ----------
    algebra : of the sums.
    values : one sum for each value of the program; input k is the atom ``Atom("symbol", k)``.
    definitions : value → its sum, for those that are atoms of their own.
    unexpanded : value → operation and operands, for those that would grow too large as a sum.
    """

    algebra: Algebra
    values: list[Sum] = field(default_factory=list)
    definitions: dict[int, Sum] = field(default_factory=dict)
    unexpanded: dict[int, tuple[str, list[Sum]]] = field(default_factory=dict)


def forms_of(
    program: Program,
    budget: Budget,
    *,
    labeled: Collection[int] = frozenset(),
    share: Collection[int] = frozenset(),
    quaternions: tuple[Quaternion, ...] = (),
    positive: frozenset[tuple[str, int]] = frozenset(),
) -> Forms:
    """The forms of all values.

    Parameters
    ----------
    program : operation list.
    budget : for all operations together; what it does not suffice for is left unexpanded.
    labeled : values that have names.
    share : values that are named too where they are long.
    quaternions : places of the inputs that make up unit quaternions.
    positive : ``("sine", k)`` or ``("cosine", k)`` for inputs whose sine or cosine is positive.
    """
    forms = Forms(algebra=Algebra(budget, quaternions, positive))
    algebra = forms.algebra
    forms.values += [algebra.atom(Atom("symbol", k)) for k in range(sum(program.input_sizes))]
    forms.values += [_constant(algebra, c) for c in program.constants]
    for operation in program.operations:
        forms.values.append(_value(forms, operation, labeled, share))
    return forms


def _value(
    forms: Forms, operation: Operation, labeled: Collection[int], share: Collection[int]
) -> Sum:
    k = len(forms.values)
    operands = [forms.values[i] for i in operation.operands]
    try:
        forms.algebra.budget.spend(OVERHEAD)
        form = _apply(forms.algebra, operation.kind, operands)
    except TooLarge:
        forms.unexpanded[k] = (operation.kind, operands)
        return forms.algebra.atom(Atom("value", k))
    factors = length(forms.algebra, form)
    has_label = k in labeled and (len(form) > 1 or factors >= WORTH_ITS_LABEL)
    if share and factors > LONGEST_PART:
        forms.unexpanded[k] = (operation.kind, operands)
        return forms.algebra.atom(Atom("value", k))
    if has_label or (k in share and factors >= WORTH_A_NAME):
        forms.definitions[k] = form
        return forms.algebra.atom(Atom("value", k))
    return form


def values_in(algebra: Algebra, a: Sum) -> list[int]:
    """Values that a sum is written with, each as often as it is."""
    found: list[int] = []
    for monomial in a:
        for place, _ in monomial:
            atom = algebra.atoms[place]
            if atom.kind == "value":
                found.append(int(atom.name))
            inner = [*atom.arguments, *([atom.meaning] if atom.kind == "sum" else [])]
            for part in inner:
                found += values_in(algebra, dict(part))
    return found


def used_again(program: Program) -> frozenset[int]:
    """Values that are used more than once."""
    uses = Counter(i for operation in program.operations for i in operation.operands)
    uses.update(program.outputs)
    return frozenset(k for k, count in uses.items() if count > 1)


def length(algebra: Algebra, a: Sum) -> int:
    """Number of factors in all terms, those within functions and denominators included."""
    return sum(
        sum(_length_of(algebra, place) for place, _ in monomial) if monomial else 1
        for monomial in a
    )


def _length_of(algebra: Algebra, place: int) -> int:
    known = algebra.lengths.get(place)
    if known is None:
        atom = algebra.atoms[place]
        known = 1 + sum(length(algebra, dict(x)) for x in atom.arguments)
        if atom.kind == "sum":
            known += length(algebra, dict(atom.meaning))
        algebra.lengths[place] = known
    return known


def rational(value: float) -> Rational:
    """A float as the fraction or the decimal number that it was meant to be: 0.05² is 0.0025."""
    simple = Fraction(value).limit_denominator(1000)
    meant = simple if float(simple) == value else Fraction(repr(value))
    decimal = Fraction(f"{value:.14g}")
    return exact(decimal if abs(decimal - meant) <= abs(meant) / 10**15 else meant)


def _constant(algebra: Algebra, value: float) -> Sum:
    if not math.isfinite(value):
        return algebra.atom(Atom("call", repr(value)))
    if abs(value) < ROUNDED_ZERO:
        return {}
    turns = Fraction(value / math.pi).limit_denominator(64)
    if turns and float(turns) * math.pi == value:
        return algebra.multiply({ONE: exact(turns)}, algebra.atom(PI))
    return {ONE: rational(value)}


def _apply(algebra: Algebra, kind: str, operands: list[Sum]) -> Sum:
    match kind, operands:
        case "add", [a, b]:
            return algebra.add(a, b)
        case "sub", [a, b]:
            return algebra.add(a, b, -1)
        case "neg", [a]:
            return negative(a)
        case "mul", [a, b]:
            return algebra.multiply(a, b)
        case "div", [a, b]:
            return algebra.divide(a, b)
        case "pow", [a, b] if set(b) <= {ONE}:
            exponent = Fraction(b.get(ONE, 0))
            if exponent.denominator == 1 and abs(exponent) <= 8:
                return algebra.power(a, int(exponent))
            if exponent == Fraction(1, 2):
                return algebra.root(a)
        case "sqrt", [a]:
            return algebra.root(a)
        case "hypot", [a, b]:
            return algebra.root(algebra.add(algebra.multiply(a, a), algebra.multiply(b, b)))
        case "sin" | "cos", [a]:
            return algebra.sine_or_cosine(kind, a)
        case "sign", [a] if len(a) == 1 and _is_positive(algebra, a):
            return {ONE: 1 if next(iter(a.values())) > 0 else -1}
        case "abs", [a]:
            return _of_known_square(algebra, "abs", [a], a)
        case "if_else", [condition, a, b]:
            if a == b:
                return a
            if a == negative(b):
                return _of_known_square(algebra, "if_else", [condition, a, b], a)
    algebra.budget.spend(1)
    return algebra.atom(Atom("call", kind, tuple(frozenset(x.items()) for x in operands)))


def _is_positive(algebra: Algebra, a: Sum) -> bool:
    """Whether all atoms of a term are positive."""
    return all(algebra.is_positive(place) for monomial in a for place, _ in monomial)


def _of_known_square(algebra: Algebra, name: str, arguments: list[Sum], a: Sum) -> Sum:
    """|a|, or ±a by a condition: whatever its sign, its square is a²."""
    if name == "abs" and set(a) <= {ONE}:
        return a if a.get(ONE, 0) >= 0 else negative(a)
    if name == "abs" and len(a) == 1 and _is_positive(algebra, a):
        return a if next(iter(a.values())) > 0 else negative(a)
    square = algebra.multiply(a, a)
    shown = tuple(frozenset(x.items()) for x in arguments)
    return algebra.atom(Atom("root", name, shown, frozenset(square.items())))
