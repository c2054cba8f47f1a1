"""Polynomials of bounded size: closed forms of programs, and short ways to write them.

**Sparse multivariate polynomials of bounded size: the algebra behind displayed closed forms.**

Sums are dictionaries from monomials to rational numbers. A monomial is a sorted tuple of (atom,
power) pairs, the atoms being numbers; powers may be negative. Atoms are

    symbol      a symbol of the model; the q_w of a unit quaternion is kept at power 0 or 1 by
                q_w² = 1 − q_x² − q_y² − q_z²
    sine        sin of something, kept at power 0 or 1 by sin² = 1 − cos²
    cosine      cos of something
    root        something whose square is known: √P, |x|, or ±x by a condition; kept at power 0 or 1
    sum         a sum of several terms in a denominator, so its power is negative; above 1 − cos²
                cos is kept at power 0 or 1
    call        any other function, taken as it is
    value       a result that grew too large, or has a name, and is known by its place

Every operation has a cost that is known before it is done, so nothing here can hang: what would
grow beyond `MAX_TERMS` or beyond the budget raises `TooLarge`.

**Closed forms: the values of a program as sums of products, as far as they stay small.**

Three ways to write the outputs of a program, from the shortest program of ideas to the longest:

    closed      in the inputs alone
    labeled     in the inputs and values that already have a name of their own, such as speeds
    shared      in the inputs, the named values and parts that are used more than once
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from noslip.engines import Operation, Program

Rational = int | Fraction
Monomial = tuple[tuple[int, int], ...]
Sum = dict[Monomial, Rational]
#: A sum as a key.
Frozen = frozenset[tuple[Monomial, Rational]]

ONE: Monomial = ()


class TooLarge(Exception):
    """The result has too many terms, or the budget is spent."""


class Budget:
    """Limit on work: a number of operations, the same on every machine, and a time.

    The number decides in practice, so that the same equations always look the same; the time is
    there for unforeseen cases.
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
    """Add a term to a sum in place."""
    total = a.get(monomial, 0) + number
    if total:
        a[monomial] = exact(total)
    else:
        a.pop(monomial, None)


def drop(monomial: Monomial, place: int) -> Monomial:
    """Remove an atom from a monomial."""
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


Quaternion = tuple[int, int, int, int]

MAX_TERMS = 120
MAX_PRODUCTS = 2500
MAX_BITS = 2000


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom: a factor of monomials."""

    kind: str  #: kind of atom, see the top of the file
    name: str | int  #: name of a function, a symbol's index, a value's place in the program
    #: arguments of a function, a sine or a cosine; of a root what shall be shown
    arguments: tuple[Frozen, ...] = ()
    meaning: Frozen = frozenset()  #: the square of a root, the sum in a denominator


class Algebra:
    """Operations on sums, and the atoms they are made of."""

    def __init__(
        self,
        budget: Budget,
        quaternions: tuple[Quaternion, ...] = (),
        positive: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self.budget = budget
        self._positive = positive
        self.atoms: list[Atom] = []
        self.lengths: dict[int, int] = {}
        self._unit = {q[0]: q for q in quaternions}
        self._index: dict[Atom, int] = {}
        self._sums: set[int] = set()
        self._special: set[int] = set()
        self._circles: dict[int, int] = {}  # 1 − cos²x in denominators → cos x
        self._merged: dict[tuple[Monomial, Monomial], Monomial] = {}

    def atom(self, atom: Atom) -> Sum:
        """An atom as a sum of one term; equal atoms are the same."""
        return {((self.place(atom), 1),): 1}

    def place(self, atom: Atom) -> int:
        """The number of an atom; a new one if it is not known yet."""
        place = self._index.get(atom)
        if place is None:
            place = self._index[atom] = len(self.atoms)
            self.atoms.append(atom)
            is_scalar_part = atom.kind == "symbol" and atom.name in self._unit
            if atom.kind in ("sine", "root", "sum") or is_scalar_part:
                self._special.add(place)
            if atom.kind == "sum":
                self._sums.add(place)
                cosine = self._cosine_of(dict(atom.meaning))
                if cosine is not None:
                    self._circles[place] = self.place(cosine)
        return place

    def squares_to_one(self, place: int) -> list[int]:
        """Atoms whose squares add up to one, this one among them: sin and cos, a quaternion."""
        atom = self.atoms[place]
        if atom.kind in ("sine", "cosine"):
            names = (("sine", "sin"), ("cosine", "cos"))
            return [self.place(Atom(kind, name, atom.arguments)) for kind, name in names]
        for quaternion in self._unit.values():
            if atom.kind == "symbol" and atom.name in quaternion:
                return [self.place(Atom("symbol", k)) for k in quaternion]
        return []

    def sine_below(self, place: int) -> int | None:
        """The sine whose square an atom in a denominator is, 1 − cos²x."""
        atom = self.atoms[place]
        if atom.kind != "sum" or len(atom.meaning) != 2:
            return None
        cosine = self._cosine_of(dict(atom.meaning))
        return None if cosine is None else self.place(Atom("sine", "sin", cosine.arguments))

    def _cosine_of(self, a: Sum) -> Atom | None:
        """cos x, if the sum is 1 − cos²x."""
        for monomial in a if len(a) == 2 and a.get(ONE) == 1 else ():
            if len(monomial) == 1 and monomial[0][1] == 2 and a[monomial] == -1:
                atom = self.atoms[monomial[0][0]]
                return atom if atom.kind == "cosine" else None
        return None

    def below_root(self, root: Atom) -> tuple[int, int] | None:
        """The atom that stands for the root's P or −P in denominators, and that sign."""
        for sign in (1, -1):
            meaning = frozenset((m, sign * c) for m, c in root.meaning)
            place = self._index.get(Atom("sum", "", meaning=meaning))
            if place is not None:
                return place, sign
        return None

    def add(self, a: Sum, b: Sum, sign: int = 1) -> Sum:
        """a + b or a − b."""
        self.budget.spend(1 + len(b) // 4)
        result = dict(a)
        for monomial, number in b.items():
            put(result, monomial, sign * number)
        return self._bounded(self._without_denominators(result))

    def multiply(self, a: Sum, b: Sum) -> Sum:
        """The product a b."""
        if len(a) == 1 and ONE in a:
            return {m: exact(a[ONE] * c) for m, c in b.items()}
        if len(b) == 1 and ONE in b:
            return {m: exact(b[ONE] * c) for m, c in a.items()}
        return self._bounded(self._without_denominators(self._product(a, b)))

    def _product(self, a: Sum, b: Sum) -> Sum:
        if len(a) * len(b) > MAX_PRODUCTS:
            raise TooLarge
        self.budget.spend(len(a) * len(b))
        result: Sum = {}
        for m, c in a.items():
            for n, d in b.items():
                merged = self._merged.get((m, n))
                if merged is None:
                    merged = self._merged[m, n] = merge(m, n)
                if self._is_reduced(merged):
                    put(result, merged, c * d)
                else:
                    for monomial, number in self._reduced(merged, c * d).items():
                        put(result, monomial, number)
        return result

    def _is_reduced(self, monomial: Monomial) -> bool:
        for place, power in monomial:
            if place in self._special and (power > 0 if place in self._sums else power != 1):
                return False
        return not self._circles or self._over_circle(monomial) is None

    def _over_circle(self, monomial: Monomial) -> tuple[int, int] | None:
        """1 − cos²x below and cos²x above it in a monomial, which are 1/(1 − cos²x) − 1."""
        powers = dict(monomial)
        for place, cosine in self._circles.items():
            if place in powers and powers.get(cosine, 0) >= 2:
                return place, cosine
        return None

    def _reduced(self, monomial: Monomial, number: Rational) -> Sum:
        """The monomial with sines and roots at power 0 or 1 and sums in the denominator only."""
        for place, power in monomial:
            if place not in self._special:
                continue
            if place in self._sums:
                if power < 0:
                    continue
                known, odd, half = dict(self.atoms[place].meaning), 0, power
            elif power == 1:
                continue
            else:
                known, odd, half = self._square(place), power % 2, power // 2
            rest = tuple(p for p in monomial if p[0] != place)
            start: Sum = {merge(rest, ((place, 1),) if odd else ()): number}
            factor = known if half > 0 else self.reciprocal(known)
            for _ in range(abs(half)):
                start = self._product(start, factor)
            return start
        over = self._over_circle(monomial) if self._circles else None
        if over is not None:
            place, cosine = over
            return self._product(
                {merge(monomial, ((cosine, -2),)): number}, {ONE: 1, ((place, 1),): -1}
            )
        return {monomial: number}

    def _square(self, place: int) -> Sum:
        atom = self.atoms[place]
        if atom.kind == "root":
            return dict(atom.meaning)
        if atom.kind == "symbol":
            rest = [self.place(Atom("symbol", k)) for k in self._unit[int(atom.name)][1:]]
            square: Sum = {ONE: 1}
            square.update({((p, 2),): -1 for p in rest})
            return square
        cosine = self.place(Atom("cosine", "cos", atom.arguments))
        return {ONE: 1, ((cosine, 2),): -1}

    def divide(self, a: Sum, b: Sum) -> Sum:
        """The quotient a / b."""
        if len(b) > 1:
            quotient = self.exact_quotient(a, b)
            if quotient is not None:
                return quotient
            inverse = self.exact_quotient(b, a)
            if inverse is not None:
                return self.reciprocal(inverse)
        return self.multiply(a, self.reciprocal(b))

    def reciprocal(self, a: Sum) -> Sum:
        """1 / a; a sum in the denominator becomes an atom, and roots are moved out of it."""
        if not a:
            raise TooLarge
        if len(a) == 1:
            ((monomial, number),) = a.items()
            inverse = tuple((place, -power) for place, power in monomial)
            return self._reduced(inverse, exact(Fraction(1) / number))
        rational = self._rationalized(a)
        if rational is not None:
            return rational
        number, monomial, bare = content(a)
        for place in sorted(self._sums):
            # what is already known in a denominator may be a factor of this one
            quotient = self.exact_quotient(bare, dict(self.atoms[place].meaning))
            if quotient is not None:
                below = self._product(self.reciprocal(quotient), {((place, -1),): 1})
                break
        else:
            place = self.place(Atom("sum", "", meaning=frozenset(bare.items())))
            below = {((place, -1),): 1}
        outside = tuple((p, -power) for p, power in monomial)
        return self._product(below, self._reduced(outside, exact(Fraction(1) / number)))

    def _rationalized(self, a: Sum) -> Sum | None:
        """1 / (x + y r) = (x − y r) / (x² − y² r²) for a root r that is alone in a."""
        roots = {p for m in a for p, _ in m if self.atoms[p].kind == "root"}
        if len(roots) != 1:
            return None
        (root,) = roots
        conjugate = {m: -c if any(p == root for p, _ in m) else c for m, c in a.items()}
        norm = self._product(a, conjugate)
        if not norm or any(p == root for m in norm for p, _ in m):
            return None
        return self._product(conjugate, self.reciprocal(norm))

    def _without_denominators(self, a: Sum) -> Sum:
        """The sum with denominators cancelled where they divide what stands over them."""
        if not self._sums:
            return a
        for place in sorted({p for m in a for p, _ in m} & self._sums):
            meaning = dict(self.atoms[place].meaning)
            while True:
                powers = [power for m in a for p, power in m if p == place]
                if not powers:
                    break
                lowest = (place, min(powers))
                over = {drop(m, place): c for m, c in a.items() if lowest in m}
                quotient = self.exact_quotient(over, meaning)
                if quotient is None:
                    break
                a = {m: c for m, c in a.items() if lowest not in m}
                raised: Monomial = ((place, lowest[1] + 1),) if lowest[1] < -1 else ()
                for m, c in quotient.items():
                    put(a, merge(m, raised), c)
        return a

    def exact_quotient(self, a: Sum, b: Sum) -> Sum | None:
        """q with a = q b, if there is one and it is found within bounds."""
        if len(a) < 2 or len(b) < 2 or len(b) > 4 * len(a):
            return None
        self.budget.spend(1 + (len(a) + len(b)) // 4)
        places = sorted({p for m in (*a, *b) for p, _ in m})
        rest, low_a = dense(a, places)
        divisor, low_b = dense(b, places)
        lead, least = max(divisor), min(divisor)
        # the first and the last terms must divide each other
        if any(x < y for x, y in zip(max(rest), lead, strict=True)) or any(
            x < y for x, y in zip(min(rest), least, strict=True)
        ):
            return None
        shift = [x - y for x, y in zip(low_a, low_b, strict=True)]
        quotient: Sum = {}
        while rest:
            top = max(rest)
            step = tuple(x - y for x, y in zip(top, lead, strict=True))
            if min(step) < 0 or len(quotient) > MAX_TERMS or len(rest) > 2 * MAX_TERMS:
                return None
            self.budget.spend(len(divisor))
            factor = exact(Fraction(rest[top]) / divisor[lead])
            powers = [x + y for x, y in zip(step, shift, strict=True)]
            quotient[tuple((p, e) for p, e in zip(places, powers, strict=True) if e)] = factor
            for term, c in divisor.items():
                put(rest, tuple(x + y for x, y in zip(term, step, strict=True)), -factor * c)
        reduced: Sum = {}
        for m, c in quotient.items():
            for n, d in self._reduced(m, c).items():
                put(reduced, n, d)
        return reduced

    def power(self, a: Sum, exponent: int) -> Sum:
        """a to a whole power."""
        base = a if exponent >= 0 else self.reciprocal(a)
        result: Sum = {ONE: 1}
        for _ in range(abs(exponent)):
            result = self.multiply(result, base)
        return result

    def root(self, a: Sum) -> Sum:
        """√a; square numbers are taken out."""
        if not a:
            return {}
        number, monomial, bare = content(a)
        outside, inner = Fraction(1), Fraction(number)
        top, bottom = math.isqrt(abs(inner.numerator)), math.isqrt(inner.denominator)
        if Fraction(top**2, bottom**2) == abs(inner):
            outside, inner = Fraction(top, bottom), Fraction(1 if inner > 0 else -1)
        front, monomial = self._taken_out(monomial)
        found: Sum = {front: exact(outside)}
        sine = self._positive_sine(bare) if inner == 1 else None
        if sine is not None:
            found, bare = self.multiply(found, sine), {ONE: 1}
        inside = {merge(m, monomial): exact(inner * c) for m, c in bare.items()}
        if inside == {ONE: 1}:
            return found
        key = frozenset(inside.items())
        return self.multiply(found, self.atom(Atom("root", "sqrt", (key,), key)))

    def sine_or_cosine(self, kind: str, a: Sum) -> Sum:
        """``sin`` or ``cos`` of a sum, whose first term is positive: sin(−a) = −sin a."""
        if not a:
            return {ONE: 1} if kind == "cos" else {}
        flipped = a[max(a)] < 0
        argument = negative(a) if flipped else a
        key = (frozenset(argument.items()),)
        if kind == "cos":
            return self.atom(Atom("cosine", "cos", key))
        sine = self.atom(Atom("sine", "sin", key))
        return negative(sine) if flipped else sine

    def is_positive(self, place: int) -> bool:
        """Whether an atom is known to be positive: the sine or cosine of some angles."""
        atom = self.atoms[place]
        if atom.kind not in ("sine", "cosine"):
            return False
        return any(
            kind == atom.kind and dict(atom.arguments[0]) == self.atom(Atom("symbol", k))
            for kind, k in self._positive
        )

    def _taken_out(self, monomial: Monomial) -> tuple[Monomial, Monomial]:
        """The root of the squares of positive atoms in a monomial, and what is left of it."""
        out = tuple((p, e // 2) for p, e in monomial if e % 2 == 0 and self.is_positive(p))
        left = tuple((p, e) for p, e in monomial if e % 2 or not self.is_positive(p))
        return out, left

    def _positive_sine(self, a: Sum) -> Sum | None:
        """sin x of 1 − cos²x, if it is known to be positive."""
        cosine = self._cosine_of(a)
        if cosine is None:
            return None
        sine = self.place(Atom("sine", "sin", cosine.arguments))
        return {((sine, 1),): 1} if self.is_positive(sine) else None

    def _bounded(self, a: Sum) -> Sum:
        if len(a) > MAX_TERMS or any(c.numerator.bit_length() > MAX_BITS for c in a.values()):
            raise TooLarge
        return a


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
    """Every value of a program as a sum, and what the values with a name stand for."""

    algebra: Algebra  #: algebra of the sums
    #: one sum for each value of the program; input k is the atom ``Atom("symbol", k)``
    values: list[Sum] = field(default_factory=list)
    #: value → its sum, for those that are atoms of their own
    definitions: dict[int, Sum] = field(default_factory=dict)
    #: value → operation and operands, for those that would grow too large as a sum
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

    `budget`: budget for all operations together; what it does not suffice for is left unexpanded.
    `share`: values that are named too where they are long. `positive`: ``("sine", k)`` or
    ``("cosine", k)`` for inputs whose sine or cosine is positive.
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
