"""Traced expressions written for people, and checked against compiled code.

**SymPy expressions as layout trees.**

**Sums of products written shortly: common factors outside, the shorter of sin² and cos².**

**Check of displayed expressions against compiled code, at random states.**

**Traced expressions written for people, and checked against what is compiled.**

Each item is written in the shortest of three ways (closed, labeled, shared: see `closed_forms`).
Then everything that is shown is evaluated at random states and compared with the traced functions;
if anything differs, all of it is written again as the plain list of operations says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy
from sympy.polys.domains import ZZ
from sympy.polys.rings import PolyRing

from noslip.base import Array, LRUCache
from noslip.engines import Program, apply_kind, to_sympy, trace_program
from noslip.show.equations.layout import (
    DIGITS,
    MINUS,
    PLUS,
    Cases,
    Fenced,
    Glyph,
    MathCall,
    MathNumber,
    MathRow,
    Node,
    Operator,
    Power,
    Quotient,
    Root,
    Word,
    glyph_of_text,
    number,
    row,
)
from noslip.show.equations.polynomials import (
    Algebra,
    Atom,
    Budget,
    Forms,
    Monomial,
    Quaternion,
    Rational,
    Sum,
    TooLarge,
    content,
    forms_of,
    length,
    used_again,
    values_in,
)

_RELATIONS = {"Gt": ">", "Lt": "<", "Ge": "≥", "Le": "≤", "Eq": "=", "Ne": "≠"}
_NAMES = {"Abs": "abs", "ceiling": "ceil", "Min": "min", "Max": "max"}


class Arranger:
    """Arranges SymPy expressions.

    `ranks`: place of each symbol within a product: parameters first, then speeds, then inputs;
    `in_decimals`: whether fractions are written as decimals where these are short.
    """

    def __init__(
        self,
        glyphs: Mapping[sympy.Symbol, Glyph],
        ranks: Mapping[sympy.Symbol, tuple[int, int]],
        in_decimals: bool = False,
    ) -> None:
        self.glyphs = glyphs
        self.ranks = ranks
        self.in_decimals = in_decimals
        self._names: dict[sympy.Expr, str] = {}

    def __call__(self, expression: sympy.Expr) -> Node:
        """The expression as a node."""
        if expression.is_Add:
            return self.sum_of(expression.args)
        if expression.is_Mul or (expression.is_Rational and not expression.is_Integer):
            return self._product(expression)
        if expression.is_Symbol:
            return self.glyphs.get(expression) or glyph_of_text(expression.name)
        if expression.is_Number or expression in (sympy.pi, sympy.oo, sympy.nan):
            return _number(expression)
        if expression.is_Pow:
            return self._power(expression)
        if isinstance(expression, sympy.Piecewise):
            return self._cases(expression)
        if isinstance(expression, sympy.Rel):
            sign = Operator(_RELATIONS[_relation(expression)])
            return row(self(expression.lhs), sign, self(expression.rhs))
        if isinstance(expression, sympy.And | sympy.Or):
            word = Word(" and " if isinstance(expression, sympy.And) else " or ")
            items: list[Node] = [self(a) for a in expression.args]
            return MathRow(tuple(x for k, i in enumerate(items) for x in ([word, i] if k else [i])))
        name = type(expression).__name__
        return MathCall(_NAMES.get(name, name), tuple(self(a) for a in expression.args))

    def sum_of(
        self, terms: tuple[sympy.Expr, ...] | list[sympy.Expr], keep: bool = False
    ) -> MathRow:
        """Terms with their signs between them, positive ones first unless the order is to stay."""
        ordered = list(terms) if keep else sorted(terms, key=self._term_key)
        items: list[Node] = []
        for k, term in enumerate(ordered):
            is_negative, size = _signed_term(term)
            if is_negative:
                items.append(MINUS)
            elif k:
                items.append(PLUS)
            arranged = self(size)
            items.append(Fenced(arranged) if size.is_Add and (k or is_negative) else arranged)
        return MathRow(tuple(items))

    def _term_key(self, term: sympy.Expr) -> tuple[object, ...]:
        is_negative, size = _signed_term(term)
        return (is_negative, *self._factor_key(sympy.Mul.make_args(size)))

    def _factor_key(self, factors: tuple[sympy.Expr, ...]) -> tuple[object, ...]:
        return (tuple(sorted((self._rank(f) for f in factors if not f.is_Number), reverse=True)),)

    def _rank(self, factor: sympy.Expr) -> tuple[int, int, str]:
        """Sort key of a factor: parameters, sums, coordinates, speeds, inputs, functions."""
        base = factor.base if factor.is_Pow and factor.exp.is_Integer else factor
        if base.is_Symbol:
            return (*self.ranks.get(base, (1, 0)), base.name)
        if base.is_Number or base.is_NumberSymbol:
            return (-1, 0 if base.is_Number else 1, "")
        if base not in self._names:
            # what it is made of; equal names leave the order as it is
            self._names[base] = ",".join(sorted(s.name for s in base.free_symbols))
        place = 2 if base.is_Add else 8 if base.is_Pow else 9
        return (place, 0, type(base).__name__ + self._names[base])

    def _product(self, expression: sympy.Expr) -> Node:
        is_negative, size = _signed_term(expression)
        if is_negative:
            arranged = self(size)
            return row(MINUS, Fenced(arranged) if size.is_Add else arranged)
        top, bottom = self._fraction(size)
        if bottom != 1:
            return Quotient(self(top), self(bottom))
        factors = sorted(sympy.Mul.make_args(top), key=self._rank)
        items: list[Node] = []
        for k, factor in enumerate(factors):
            arranged = self(factor)
            is_sum = factor.is_Add or isinstance(factor, sympy.Piecewise)
            if k and isinstance(arranged, MathNumber) and isinstance(items[-1], MathNumber):
                items.append(Operator("·"))
            items.append(Fenced(arranged) if is_sum and len(factors) > 1 else arranged)
        return items[0] if len(items) == 1 else MathRow(tuple(items))

    def _fraction(self, expression: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
        """Numerator and denominator; 14 x/5 as 2.8 x where decimals are written."""
        top, bottom = sympy.fraction(expression)
        number, rest = bottom.as_coeff_Mul()
        is_fraction = self.in_decimals and number.is_Integer and number != 1
        if not is_fraction or _decimal_places(int(number)) > DECIMALS:
            return top, bottom
        factor, others = top.as_coeff_Mul()
        return _whole(_rounded(factor / number)) * others, rest

    def _power(self, expression: sympy.Pow) -> Node:
        base, exponent = expression.base, expression.exp
        if exponent.is_Rational and exponent < 0:
            return Quotient(MathNumber("1"), self(sympy.Pow(base, -exponent)))
        if exponent == sympy.Rational(1, 2):
            return Root(self(base))
        inside, above = self(base), self(exponent)
        if isinstance(inside, MathCall) and inside.power is None and exponent.is_Integer:
            return MathCall(inside.name, inside.arguments, above)
        bare = isinstance(inside, Glyph | MathNumber | Root)
        return Power(inside if bare else Fenced(inside), above)

    def _cases(self, expression: sympy.Piecewise) -> Node:
        return Cases(
            tuple(
                (self(value), None if condition == sympy.true else self(condition))
                for value, condition in expression.args
            )
        )


def _signed_term(term: sympy.Expr) -> tuple[bool, sympy.Expr]:
    """Whether a term stands behind a minus sign, and the term without it.

    A sum of negative terms within a product is one of positive terms behind a minus sign.
    """
    if term.is_Add:
        return False, term
    number, rest = term.as_coeff_Mul()
    is_negative = bool(number.is_extended_negative)
    factors = [] if abs(number) == 1 else [abs(number)]
    for factor in sympy.Mul.make_args(rest):
        base, power = factor.as_base_exp()
        if base.is_Add and power.is_Integer and all(_signed_term(a)[0] for a in base.args):
            is_negative ^= bool(power % 2)
            factor = sympy.Pow(sympy.Add(*[-a for a in base.args]), power)
        factors.append(factor)
    # a number before a sum alone would be multiplied out
    if len(factors) == 2 and factors[0].is_Number and factors[1].is_Add:
        return is_negative, sympy.Mul(*factors, evaluate=False)
    return is_negative, sympy.Mul(*factors)


#: Decimal places up to which a fraction is written as a decimal.
DECIMALS = 6


def _decimal_places(number: int) -> float:
    """Decimal places of 1/number; infinite if they do not end."""
    return next((k for k in range(DECIMALS + 1) if 10**k % number == 0), math.inf)


def _relation(expression: sympy.Rel) -> str:
    names = {"StrictGreaterThan": "Gt", "StrictLessThan": "Lt", "GreaterThan": "Ge"}
    names |= {"LessThan": "Le", "Equality": "Eq", "Unequality": "Ne"}
    return names[type(expression).__name__]


def _number(expression: sympy.Expr) -> Node:
    if expression == sympy.pi:
        return Glyph("π")
    if expression in (sympy.oo, -sympy.oo, sympy.nan):
        return Word(str(expression))
    if expression.is_Float:
        text = f"{float(expression):.{DIGITS}g}"
    else:
        text = str(expression)
    return number(text)


#: Sums up to this size and number of atoms are factored completely.
FACTORED_TERMS, FACTORED_ATOMS, FACTORED_DEGREE, FACTORED_NUMBER = 12, 5, 4, 10**6
#: By how much longer an expression may become when its terms are collected by masses.
WORTH_LEADING = 1.0
_NUMBERS = {"inf": sympy.oo, "-inf": -sympy.oo, "nan": sympy.nan}


Pieces = list[tuple[dict[tuple[int, ...], int], int]]


class Factorizations:
    """Complete factorizations of small sums, each done once whatever its atoms are called."""

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[tuple[int, ...], Rational]], tuple | None] = {}

    def of(self, a: Sum, places: list[int]) -> tuple[sympy.Expr, Pieces] | None:
        """Number and factors with their powers, by powers of the atoms; None if there is one."""
        column = {p: k for k, p in enumerate(places)}
        terms = {}
        for monomial, coefficient in a.items():
            powers = [0] * len(places)
            for place, power in monomial:
                powers[column[place]] = power
            terms[tuple(powers)] = coefficient
        key = frozenset(terms.items())
        if key not in self._known:
            self._known[key] = self._factored(terms, len(places))
        return self._known[key]

    def _factored(self, terms: dict, num: int) -> tuple[sympy.Expr, Pieces] | None:
        ring = PolyRing([f"x{k}" for k in range(num)], ZZ)
        coefficient, factors = ring.from_dict({m: int(c) for m, c in terms.items()}).factor_list()
        if len(factors) < 2 and all(power == 1 for _, power in factors):
            return None
        return sympy.Integer(int(coefficient)), [
            ({m: int(c) for m, c in sorted(f.items())}, power) for f, power in factors
        ]


class Writer:
    """Writes sums of an algebra as SymPy expressions.

    `symbols`: symbols of the inputs, in order; `value`: symbol of a value that has a name of its
    own; `leading`: inputs that terms are collected by first, such as masses.
    """

    def __init__(
        self,
        algebra: Algebra,
        symbols: list[sympy.Symbol],
        value: Callable[[int], sympy.Symbol],
        leading: frozenset[int] = frozenset(),
        factors: Factorizations | None = None,
        speeds: frozenset[int] = frozenset(),
    ) -> None:
        self.algebra = algebra
        self.symbols = symbols
        self.value = value
        self.leading = leading
        self.speeds = speeds
        self.factors = factors or Factorizations()
        self._atoms: dict[int, sympy.Expr] = {}

    def expression(self, a: Sum) -> sympy.Expr:
        """The sum as an expression with common factors taken out."""
        a = self._merged_angles(a)
        whole = self._written(a)
        if whole.is_Mul:
            return whole
        groups = self._by_speeds(a)
        if len(groups) == 2:
            # weights and springs apart from what depends on speeds
            apart = sympy.Add(*[self._written(group) for group in groups])
            whole = apart if size(apart) <= size(whole) else whole
        groups = self._by_leading(a)
        if len(groups) < 2:
            return whole
        apart = sympy.Add(*[self._written(group) for group in groups])
        return apart if size(apart) <= WORTH_LEADING * size(whole) else whole

    def _by_speeds(self, a: Sum) -> list[Sum]:
        """The terms without speeds and those with them, as far as there are any."""
        groups: tuple[Sum, Sum] = ({}, {})
        for monomial, coefficient in a.items():
            groups[any(self._is_speed(p) for p, _ in monomial)][monomial] = coefficient
        return [group for group in groups if group]

    def _is_speed(self, place: int) -> bool:
        atom = self.algebra.atoms[place]
        return atom.kind == "value" or (atom.kind == "symbol" and atom.name in self.speeds)

    def _merged_angles(self, a: Sum) -> Sum:
        """The sum with cos(x ± y) for cos x cos y ∓ sin x sin y, and sin(x ± y) likewise."""
        for _ in range(len(a)):
            try:
                pair = self._angle_pair(a)
                if pair is None:
                    break
                first, second, merged = pair
                rest = {m: c for m, c in a.items() if m not in (first, second)}
                a = self.algebra.add(rest, merged)
            except TooLarge:
                break
        return a

    def _angle_pair(self, a: Sum) -> tuple[Monomial, Monomial, Sum] | None:
        """Two terms that are the sine or cosine of a sum of angles, and that."""
        algebra = self.algebra
        seen: dict[tuple[Monomial, int, int], Monomial] = {}
        for monomial, coefficient in a.items():
            turns = [
                (p, algebra.squares_to_one(p))
                for p, e in monomial
                if e == 1 and algebra.atoms[p].kind in ("sine", "cosine")
            ]
            for i, (p, x) in enumerate(turns):
                for q, y in turns[i + 1 :]:
                    (p1, x1), (q1, y1) = sorted([(p, x), (q, y)], key=lambda t: t[1])
                    rest = tuple(f for f in monomial if f[0] not in (p1, q1))
                    # sines come first in a circle: (0, 0) is sin x sin y
                    places = x1.index(p1), y1.index(q1)
                    partner = (x1[1 - places[0]], y1[1 - places[1]])
                    other = seen.get((rest, *partner))
                    if other is not None and abs(a[other]) == abs(coefficient):
                        return other, monomial, self._joined(a, other, monomial, places, x1, y1)
                    seen[rest, p1, q1] = monomial
        return None

    def _joined(
        self,
        a: Sum,
        other: Monomial,
        monomial: Monomial,
        places: tuple[int, int],
        x: list[int],
        y: list[int],
    ) -> Sum:
        """cos x cos y and sin x sin y, or sin x cos y and cos x sin y, as one."""
        algebra = self.algebra
        own = {x[0], x[1], y[0], y[1]}
        rest = tuple(f for f in monomial if f[0] not in own)
        one, two = (dict(algebra.atoms[circle[0]].arguments[0]) for circle in (x, y))
        is_even = places[0] == places[1]
        # what stands with sin x: sin x sin y of the even ones, sin x cos y of the odd ones
        with_sine = a[monomial] if places[0] == 0 else a[other]
        without = a[other] if places[0] == 0 else a[monomial]
        same = with_sine == without
        if is_even:
            merged = algebra.sine_or_cosine("cos", algebra.add(one, two, -1 if same else 1))
            return algebra.multiply({rest: without}, merged)
        merged = algebra.sine_or_cosine("sin", algebra.add(one, two, 1 if same else -1))
        return algebra.multiply({rest: with_sine}, merged)

    def _by_leading(self, a: Sum) -> list[Sum]:
        """The terms in groups that share a mass; none unless every term has just one."""
        groups: dict[int, Sum] = {}
        for monomial, coefficient in a.items():
            own = [p for p, e in monomial if e == 1 and self._is_leading(p)]
            if len(own) != 1:
                return []
            groups.setdefault(own[0], {})[monomial] = coefficient
        return [groups[place] for place in sorted(groups)]

    def _is_leading(self, place: int) -> bool:
        atom = self.algebra.atoms[place]
        return atom.kind == "symbol" and atom.name in self.leading

    def _written(self, a: Sum) -> sympy.Expr:
        if not a:
            return sympy.Integer(0)
        coefficient, monomial, bare = content(self._with_tangents(self._fewest_terms(a)))
        if coefficient < 0 and any(c < 0 for c in bare.values()):
            coefficient, bare = -coefficient, {m: -c for m, c in bare.items()}
        outside = number_expression(coefficient) * self._monomial(monomial)
        return outside if len(bare) == 1 else _cancelled(outside * self._inside(bare))

    def _inside(self, a: Sum) -> sympy.Expr:
        """A sum without common factor: factored if it is small, else collected."""
        factors = self._factors(a)
        if factors is not None:
            return factors
        counts = Counter(
            (place, 1 if power > 0 else -1) for monomial in a for place, power in monomial
        )
        (place, sign), count = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if count < 2:
            return sympy.Add(*[number_expression(c) * self._monomial(m) for m, c in a.items()])
        inner = {m: c for m, c in a.items() if any(p == place and e * sign > 0 for p, e in m)}
        rest = {m: c for m, c in a.items() if m not in inner}
        return self._written(inner) + self._written(rest)

    def _factors(self, a: Sum) -> sympy.Expr | None:
        """The complete factorization of a small sum, if it has more than one factor."""
        places = sorted({p for m in a for p, _ in m})
        powers = [e for m in a for _, e in m]
        if not 3 <= len(a) <= FACTORED_TERMS or len(places) > FACTORED_ATOMS:
            return None
        if min(powers) < 0 or max(powers) > FACTORED_DEGREE:
            return None
        if any(not -FACTORED_NUMBER < c < FACTORED_NUMBER for c in a.values()):
            return None
        try:
            self.algebra.budget.spend(100 * len(a))
        except TooLarge:
            return None
        factors = self.factors.of(a, places)
        if factors is None:
            return None
        coefficient, pieces = factors
        written = [self._with_atoms(piece, places) ** power for piece, power in pieces]
        return sympy.Mul(coefficient, *written)

    def _with_atoms(self, piece: dict[tuple[int, ...], int], places: list[int]) -> sympy.Expr:
        return sympy.Add(
            *[
                sympy.Mul(c, *[self._atom(p) ** e for p, e in zip(places, m, strict=True) if e])
                for m, c in piece.items()
            ]
        )

    def _fewest_terms(self, a: Sum) -> Sum:
        """The sum with the squares that make it shortest, by Σ squares = 1."""
        best = a
        seen: set[frozenset[int]] = set()
        for place in sorted({p for m in a for p, e in m if e >= 2}):
            circle = self.algebra.squares_to_one(place)
            if not circle or frozenset(circle) in seen:
                continue
            seen.add(frozenset(circle))
            start = best
            for own in circle:
                others = [p for p in circle if p != own]
                candidate = _with_square_replaced(start, own, others)
                if len(candidate) < len(best):
                    best = candidate
        return best

    def _with_tangents(self, a: Sum) -> Sum:
        """The sum with sin²x for 1 − cos²x below, and tan x and cot x for quotients."""
        result: Sum = {}
        for monomial, coefficient in a.items():
            m = self._tangents(monomial) if any(e < 0 for _, e in monomial) else monomial
            result[m] = result.get(m, 0) + coefficient
        return {m: c for m, c in result.items() if c}

    def _tangents(self, monomial: Monomial) -> Monomial:
        powers = Counter(dict(monomial))
        for place, power in monomial:
            sine = self.algebra.sine_below(place) if power < 0 else None
            if sine is not None:
                powers[sine] += 2 * powers.pop(place)
        for place in list(powers):
            circle = self.algebra.squares_to_one(place)
            if self.algebra.atoms[place].kind != "sine":
                continue
            sine, cosine = circle
            up, down = powers[sine], powers[cosine]
            if up * down >= 0:
                continue
            count = min(abs(up), abs(down)) * (1 if up > 0 else -1)
            name = "tan" if count > 0 else "cot"
            atom = Atom("call", name, self.algebra.atoms[place].arguments)
            powers[sine] -= count
            powers[cosine] += count
            powers[self.algebra.place(atom)] += abs(count)
        return tuple(sorted((p, e) for p, e in powers.items() if e))

    def _monomial(self, monomial: Monomial) -> sympy.Expr:
        powers, sign = dict(monomial), 1
        for place, power in monomial:
            # √P / P is written 1/√P
            atom = self.algebra.atoms[place]
            below = self.algebra.below_root(atom) if atom.kind == "root" else None
            if power == 1 and below is not None and powers.get(below[0], 0) < 0:
                powers[below[0]] += 1
                powers[place] = -1
                sign *= below[1]
        return sympy.Mul(sign, *[self._atom(p) ** e for p, e in powers.items() if e])

    def _atom(self, place: int) -> sympy.Expr:
        if place not in self._atoms:
            self._atoms[place] = self._new_atom(self.algebra.atoms[place])
        return self._atoms[place]

    def _new_atom(self, atom: Atom) -> sympy.Expr:
        match atom.kind:
            case "symbol":
                return sympy.pi if atom.name == "pi" else self.symbols[int(atom.name)]
            case "value":
                return self.value(int(atom.name))
            case "sum":
                return self._written(dict(atom.meaning))
        if atom.name in _NUMBERS:
            return _NUMBERS[str(atom.name)]
        if atom.name == "cot":
            return sympy.cot(self.expression(dict(atom.arguments[0])))
        return apply_kind(str(atom.name), [self.expression(dict(a)) for a in atom.arguments])


def _cancelled(product: sympy.Expr) -> sympy.Expr:
    """A product whose sums have no numbers in common, and that differ by more than their sign."""
    if not product.is_Mul:
        return product
    powers: dict[sympy.Expr, sympy.Expr] = {}
    coefficient = sympy.Integer(1)
    for base, power in product.as_powers_dict().items():
        if base.is_Add and power.is_Integer:
            common, base = base.primitive()
            if -base in powers or all(a.could_extract_minus_sign() for a in base.args):
                common, base = -common, -base
            coefficient *= common**power
        powers[base] = powers.get(base, 0) + power
    return sympy.Mul(coefficient, *[base**power for base, power in powers.items()])


def _with_square_replaced(a: Sum, own: int, others: list[int]) -> Sum:
    """The sum with 1 − Σ others² for own²."""
    result: Sum = {}
    for monomial, coefficient in a.items():
        powers = dict(monomial)
        half, odd = divmod(powers.pop(own, 0), 2)
        if half <= 0:
            pieces: Sum = {monomial: coefficient}
        else:
            rest = tuple(sorted({**powers, **({own: 1} if odd else {})}.items()))
            pieces = {rest: coefficient}
            for _ in range(half):
                pieces = _times_one_minus(pieces, others)
        for m, c in pieces.items():
            result[m] = result.get(m, 0) + c
    return {m: c for m, c in result.items() if c}


def _times_one_minus(a: Sum, others: list[int]) -> Sum:
    result = dict(a)
    for monomial, coefficient in a.items():
        for place in others:
            powers = dict(monomial)
            powers[place] = powers.get(place, 0) + 2
            m = tuple(sorted((p, e) for p, e in powers.items() if e))
            result[m] = result.get(m, 0) - coefficient
    return result


def tidied(expression: sympy.Expr) -> sympy.Expr:
    """The expression with sums of angles merged in every bracket, and decimals multiplied out."""
    if not expression.args or not isinstance(expression, sympy.Add | sympy.Mul | sympy.Pow):
        return _whole(expression)
    expression = expression.func(*[tidied(a) for a in expression.args])
    if expression.is_Add:
        return _with_merged_angles(expression)
    return _multiplied_out(expression) if expression.is_Mul else expression


def _multiplied_out(product: sympy.Expr) -> sympy.Expr:
    """A product of a decimal and a sum as a sum: 0.002 (7 + 500 d) is 0.014 + d."""
    number, rest = product.as_coeff_Mul()
    factors = sympy.Mul.make_args(rest)
    sums = [f for f in factors if f.is_Add]
    if not number.is_Float or len(sums) != 1:
        return product
    terms = [term.as_coeff_Mul() for term in sums[0].args]
    scaled = [_multiplied_out(_whole(_rounded(number * own)) * more) for own, more in terms]
    return sympy.Mul(*[sympy.Add(*scaled) if f is sums[0] else f for f in factors])


def _rounded(number: sympy.Expr) -> sympy.Expr:
    """A product of decimals without what rounding added to it."""
    return sympy.Float(f"{float(number):.15g}", 17)


def _whole(number: sympy.Expr) -> sympy.Expr:
    """1.0 as 1, and what rounding left of it."""
    if not number.is_Float or not math.isfinite(float(number)):
        return number
    rounded = float(f"{float(number):.15g}")
    return sympy.Integer(int(rounded)) if rounded.is_integer() else number


def _with_merged_angles(total: sympy.Add) -> sympy.Expr:
    """A sum with cos(x ± y) for cos x cos y ∓ sin x sin y, sin(x ± y) likewise, 1 for squares."""
    terms = [_trigonometric(term) for term in total.args]
    place = 0
    while place < len(terms):
        found = next(
            (
                (k, merged)
                for k in range(place + 1, len(terms))
                if (merged := _merged_pair(terms[place], terms[k])) is not None
            ),
            None,
        )
        if found is None:
            place += 1
            continue
        k, merged = found
        del terms[k], terms[place]
        terms.insert(0, _trigonometric(merged))
        place = 0
    if len(terms) == len(total.args):
        return total
    return sympy.Add(*[term.whole for term in terms])


class _TrigTerm(NamedTuple):
    """A term of a sum: its number, its sines and cosines with their powers, and the rest."""

    whole: sympy.Expr
    number: sympy.Expr
    rest: frozenset[sympy.Expr]
    turns: frozenset[sympy.Expr]


def _trigonometric(term: sympy.Expr) -> _TrigTerm:
    number, rest = term.as_coeff_Mul()
    factors = sympy.Mul.make_args(rest)
    turns = {f for f in factors if isinstance(_base(f), sympy.sin | sympy.cos)}
    return _TrigTerm(term, number, frozenset(factors) - turns, frozenset(turns))


def _base(factor: sympy.Expr) -> sympy.Expr:
    return factor.base if factor.is_Pow else factor


def _merged_pair(first: _TrigTerm, second: _TrigTerm) -> sympy.Expr | None:
    """Two terms as one with the sine or cosine of a sum of angles, if they are that."""
    if first.rest != second.rest or abs(first.number) != abs(second.number):
        return None
    common = first.turns & second.turns
    own, other = first.turns - common, second.turns - common
    is_alike = first.number == second.number
    outside = sympy.Mul(*first.rest, *common)
    if len(own) == len(other) == 1 and is_alike:
        (a,), (b,) = own, other
        is_circle = a.is_Pow and b.is_Pow and a.exp == b.exp == 2 and a.base.args == b.base.args
        return first.number * outside if is_circle and a.base != b.base else None
    angles = sorted({_base(f).args[0] for f in own}, key=sympy.default_sort_key)
    if len(angles) != 2:
        return None
    x, y = angles
    cosines, sines = (
        frozenset({sympy.cos(x), sympy.cos(y)}),
        frozenset({sympy.sin(x), sympy.sin(y)}),
    )
    first_sine = frozenset({sympy.sin(x), sympy.cos(y)})
    second_sine = frozenset({sympy.cos(x), sympy.sin(y)})
    numbers = {own: first.number, other: second.number}
    if numbers.keys() == {cosines, sines}:
        return numbers[cosines] * outside * sympy.cos(x - y if is_alike else x + y)
    if numbers.keys() == {first_sine, second_sine}:
        return numbers[first_sine] * outside * sympy.sin(x + y if is_alike else x - y)
    return None


def number_expression(number: Rational) -> sympy.Expr:
    """A simple fraction as such, another number with the digits it has."""
    is_decimal = number.denominator >= 20 and 1000 % number.denominator == 0
    if number.denominator <= 64 and not is_decimal:
        return sympy.Rational(number.numerator, number.denominator)
    return sympy.Float(float(number), 17)


def size(expression: sympy.Expr) -> int:
    """Size of an expression: number of atoms and operations."""
    count = 0
    stack = [expression]
    while stack:
        node = stack.pop()
        count += 1
        stack.extend(node.args)
    return count


#: For each item the parts that it is the first to need, in order.
Parts = list[list[tuple[sympy.Symbol, sympy.Expr]]]

#: Relative difference that is allowed, and the share of the largest value below which differences
#: are absolute; and a last digit of numbers near 1.
TOLERANCE, FLOOR, LAST_DIGIT = 1e-9, 1e-5, 2.0**-51


@dataclass(frozen=True, slots=True)
class Item:
    """A scalar to write."""

    shown: ca.SX  #: traced, by the shortest route to it
    compiled: ca.SX  #: traced, by the formulation's own route; what it must equal
    label: sympy.Symbol | None = None  #: symbol that later items may use for it, if it is long
    is_free: bool = False  #: whether it must be equal for speeds that break the constraints too
    #: whether it belongs to the equations of motion, which are written first of all
    is_motion: bool = False


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The inputs of everything that is written: traced columns t, x, u, p, and their symbols."""

    columns: Sequence[ca.SX]  #: four traced columns
    symbols: list[sympy.Symbol]  #: one for each entry, in order
    #: values of all entries at some random states that fulfill the equations of motion, one row for
    #: each
    states: Array
    free_states: Array  #: the same at speeds that break the constraints
    #: places of the entries that terms are collected by first: masses and inertias
    leading: frozenset[int] = frozenset()
    quaternions: tuple[Quaternion, ...] = ()  #: places of q_w, q_x, q_y, q_z of unit quaternions
    #: ``("sine", k)`` or ``("cosine", k)`` for entries whose sine or cosine is positive
    positive: frozenset[tuple[str, int]] = frozenset()
    speeds: frozenset[int] = frozenset()  #: places of speeds and accelerations
    #: places of coordinates that are no parts of quaternions
    coordinates: frozenset[int] = frozenset()
    letter: str = "z"  #: letter of numbered parts


class Evaluator:
    """Values of what is shown, with its parts and labels, at the states of an alphabet.

    An item that is not written out is a dummy symbol, and has the value of what is compiled.
    """

    def __init__(
        self,
        items: Sequence[Item],
        alphabet: Alphabet,
        expressions: list[sympy.Expr],
        parts: Parts,
    ) -> None:
        self.places = {s: k for k, s in enumerate(alphabet.symbols)}
        self.splits = np.cumsum([c.shape[0] for c in alphabet.columns])[:-1]
        compiled = [ca.densify(item.compiled) for item in items]
        whole = ca.vertcat(*compiled) if compiled else ca.SX(0, 1)
        self.compiled = ca.Function("compiled", list(alphabet.columns), [whole])
        self.dummies = {e: k for k, e in enumerate(expressions) if e.is_Dummy}
        self.steps: list[tuple[sympy.Symbol, sympy.Expr]] = []
        for item, expression, new in zip(items, expressions, parts, strict=True):
            self.steps += new
            # a label that is a symbol of the state, such as a dependent speed, has its value there
            if item.label is not None and item.label not in self.places:
                self.steps.append((item.label, expression))

    def references(self, states: Array) -> Array:
        """Compiled values of all items, one row for each state."""
        rows = [np.array(self.compiled(*np.split(s, self.splits))).ravel() for s in states]
        return np.array(rows).reshape(len(states), -1)

    def __call__(self, expressions: list[sympy.Expr], states: Array) -> Array:
        """Values of the expressions, one row for each state; nan where they have none."""
        with np.errstate(all="ignore"):
            known: dict[sympy.Expr, Any] = {s: states[:, k] for s, k in self.places.items()}
            if self.dummies:
                references = self.references(states)
                known |= {dummy: references[:, k] for dummy, k in self.dummies.items()}
            for s, meaning in self.steps:
                known[s] = evaluate(meaning, known)
            rows = [np.broadcast_to(evaluate(e, known), len(states)) for e in expressions]
        return np.array(rows, dtype=float).reshape(len(rows), len(states)).T


def evaluate(expression: sympy.Expr, known: dict[sympy.Expr, Any]) -> Any:
    """Evaluate an expression whose symbols are known; subexpressions are memoized in `known`.

    Functions that are not arithmetic are SymPy's own, by way of `sympy.lambdify`.
    """
    if expression in known:
        return known[expression]
    arguments = [evaluate(a, known) for a in expression.args]
    if expression.is_Number or expression.is_NumberSymbol:
        value: Any = float(expression)
    elif expression.is_Add:
        value = sum(arguments)
    elif expression.is_Mul:
        value = math.prod(arguments)
    elif expression.is_Pow:
        value = _power(arguments[0], expression.exp, arguments[1])
    elif expression in (sympy.true, sympy.false):
        value = bool(expression)
    elif isinstance(expression, sympy.Piecewise):
        value = np.nan
        for pair, (result, condition) in reversed(
            list(zip(expression.args, arguments, strict=True))
        ):
            value = result if pair[1] == sympy.true else np.where(condition, result, value)
    elif isinstance(expression, sympy.Tuple):
        return tuple(arguments)
    else:
        value = _function(expression.func, len(arguments))(*arguments)
    known[expression] = value
    return value


def _power(base: Any, exponent: sympy.Expr, value: Any) -> Any:
    if exponent.is_Integer:
        positive = np.multiply(1.0, base) ** abs(int(exponent))
        return positive if exponent > 0 else np.divide(1.0, positive)
    if exponent == sympy.Rational(1, 2):
        return np.sqrt(base)
    return np.power(np.multiply(1.0, base), value)


@cache
def _function(kind: Any, num: int) -> Any:
    names = sympy.symbols(f"a:{num}")
    return sympy.lambdify(names, kind(*names, evaluate=False), modules=["scipy", "numpy"])


def without_idle_coordinates(items: Sequence[Item], alphabet: Alphabet) -> list[ca.SX]:
    """What is shown, with coordinates that an item does not depend on at zero.

    A force on a vehicle is traced in the axes of the world: its heading stands in every term and
    cancels from the sum. Seen from a heading of zero nothing is left to cancel.
    """
    shown = [ca.densify(item.shown) for item in items]
    whole = ca.vertcat(*shown) if shown else ca.SX(0, 1)
    inputs = ca.vertcat(*alphabet.columns)
    values = ca.Function("shown", [inputs], [whole])
    is_free = np.array([item.is_free for item in items])
    depends = np.array(ca.DM(ca.jacobian_sparsity(whole, inputs), 1).full(), dtype=bool)
    idle: dict[int, list[int]] = {}
    for k in sorted(alphabet.coordinates):
        suspects = depends[:, k]
        for states, mine in ((alphabet.states, ~is_free), (alphabet.free_states, is_free)):
            if not (suspects & mine).any():
                continue
            for state in states:
                moved = state.copy()
                moved[k] = 0.0
                here, there = (np.array(values(s)).ravel() for s in (state, moved))
                with np.errstate(invalid="ignore"):
                    scale = np.abs(here) + FLOOR * max(1.0, float(np.nanmax(np.abs(here))))
                    suspects = suspects & ~(mine & ~(np.abs(there - here) <= TOLERANCE * scale))
        for i in np.flatnonzero(suspects):
            idle.setdefault(int(i), []).append(k)
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, places in idle.items():
        groups.setdefault(tuple(places), []).append(k)
    for group, members in groups.items():
        at_zero = ca.SX(inputs)
        at_zero[list(group)] = 0
        found = ca.substitute([shown[k] for k in members], [inputs], [at_zero])
        for k, expression in zip(members, found, strict=True):
            shown[k] = ca.densify(expression)
    return shown


def worst_difference(
    items: Sequence[Item], alphabet: Alphabet, expressions: list[sympy.Expr], parts: Parts
) -> float:
    """Largest difference between what is shown and what is compiled, relative to the latter.

    What the last digits of the state do to the latter counts for nothing: entries that cancel
    exactly leave rounding behind where they are compiled.
    """
    if not items:
        return 0.0
    digits = np.random.default_rng(16)
    evaluator = Evaluator(items, alphabet, expressions, parts)
    is_free = np.array([item.is_free for item in items])
    worst = math.nan
    for states, mine in ((alphabet.states, ~is_free), (alphabet.free_states, is_free)):
        found, references = evaluator(expressions, states), evaluator.references(states)
        shaken = states * (1.0 + digits.choice([-LAST_DIGIT, LAST_DIGIT], states.shape))
        noises = np.nan_to_num(10.0 * np.abs(evaluator.references(shaken) - references), posinf=0.0)
        for values, reference, noise in zip(found, references, noises, strict=True):
            if not (np.all(np.isfinite(values)) and np.all(np.isfinite(reference)) and mine.any()):
                continue
            scale = np.abs(reference) + FLOOR * max(1.0, float(np.max(np.abs(reference))))
            beyond = np.maximum(np.abs(values - reference) - noise, 0.0)
            difference = float(np.max((beyond / scale)[mine]))
            worst = difference if math.isnan(worst) else max(worst, difference)
    return worst


#: Factors in all terms of a sum beyond which it is not even tried.
LONGEST = 200


class WrittenForm:
    """The values of a program written in one of the three forms: closed, labeled or shared."""

    def __init__(
        self,
        program: Program,
        alphabet: Alphabet,
        budget: Budget,
        factors: Factorizations,
        labeled: frozenset[int] = frozenset(),
        share: frozenset[int] = frozenset(),
    ) -> None:
        self.forms: Forms = forms_of(
            program,
            budget,
            labeled=labeled,
            share=share,
            quaternions=alphabet.quaternions,
            positive=alphabet.positive,
        )
        self.writer = Writer(
            self.forms.algebra,
            alphabet.symbols,
            value_symbol,
            alphabet.leading,
            factors,
            alphabet.speeds,
        )

    def factors(self, place: int) -> float:
        """Number of factors in all terms of a value; infinite if it needs others."""
        forms = self.forms
        form = forms.definitions.get(place, forms.values[place])
        if place in forms.unexpanded or values_in(forms.algebra, form):
            return math.inf
        return length(forms.algebra, form)

    def factors_with_parts(self, place: int) -> int:
        """Number of factors in a value and in all parts that it needs."""
        forms, total = self.forms, 0
        seen, wanted = {place}, [place]
        while wanted:
            k = wanted.pop()
            for a in self._sums(k):
                total += length(forms.algebra, a)
                new = set(values_in(forms.algebra, a)) - seen
                seen |= new
                wanted += new
        return total

    def short(self, place: int, longest: int = LONGEST) -> sympy.Expr | None:
        """A value, unless it is sure to be too long."""
        forms = self.forms
        form = forms.definitions.get(place, forms.values[place])
        if place in forms.unexpanded or length(forms.algebra, form) > longest:
            return None
        return self.expression(place)

    def _sums(self, place: int) -> list[Sum]:
        """The sums that a value is written with."""
        forms = self.forms
        if place in forms.unexpanded:
            return forms.unexpanded[place][1]
        return [forms.definitions.get(place, forms.values[place])]

    def written_again(self, places: list[int]) -> frozenset[int]:
        """Values that are written more than once to write the given ones."""
        forms = self.forms
        counts: Counter[int] = Counter()
        wanted = list(places)
        seen: set[int] = set()
        while wanted:
            place = wanted.pop()
            if place in seen:
                continue
            seen.add(place)
            found = [v for a in self._sums(place) for v in values_in(forms.algebra, a)]
            counts.update(found)
            wanted += found
        return frozenset(k for k, count in counts.items() if count > 1)

    def expression(self, place: int) -> sympy.Expr:
        """A value, not by its own name."""
        if place in self.forms.unexpanded:
            kind, operands = self.forms.unexpanded[place]
            return apply_kind(kind, [self.writer.expression(a) for a in operands])
        return self.writer.expression(self.forms.definitions.get(place, self.forms.values[place]))


_VALUE = "value "


def value_symbol(place: int) -> sympy.Symbol:
    """Placeholder symbol of a value of the program until it has its number."""
    return sympy.Symbol(f"{_VALUE}{place}")


def place_of(placeholder: sympy.Symbol) -> int:
    """Index in the program of the value that a placeholder stands for."""
    return int(placeholder.name.removeprefix(_VALUE))


def values_of(expression: sympy.Expr) -> set[sympy.Symbol]:
    """The placeholder symbols in an expression."""
    return {s for s in expression.free_symbols if s.name.startswith(_VALUE)}


#: Largest closed and labeled forms; what is longer is written with shared parts.
CLOSED_SIZE, LABELED_SIZE = 90, 110
#: Operations that are written with shared parts, in all items together.
WRITTEN_OPERATIONS = 5000
#: Factors in all terms of a closed form that is shorter than what it would share.
LONGEST_CLOSED = 400
#: What is not longer than this is written itself wherever its label could be.
SHORTER_THAN_LABEL = 5
#: A part that is used once is written where it is used, up to this size.
INLINED_SIZE = 60
#: Operations that each of the three ways may cost.
OPERATIONS = 60_000

#: Simplified expressions of the programs written last; each is still compared where it is shown.
_SIMPLIFIED = LRUCache(max_entries=16)


@dataclass(frozen=True, slots=True)
class Written:
    """Items as SymPy expressions."""

    expressions: list[sympy.Expr]  #: one for each item
    parts: Parts  #: parts that each item is the first to need, in order
    is_simplified: bool  #: whether simplified forms are shown; else they did not pass the check
    is_late: bool  #: whether the time limit stopped the simplification
    #: largest relative difference from what is compiled; nan if nothing could be compared
    worst: float

    @property
    def is_confirmed(self) -> bool:
        """Whether the written expressions agree with the compiled ones."""
        return self.worst <= TOLERANCE


def write(items: Sequence[Item], alphabet: Alphabet, *, seconds: float) -> Written:
    """The items for people."""
    ways = [[ca.densify(item.shown) for item in items], without_idle_coordinates(items, alphabet)]
    programs = [
        trace_program("shown", alphabet.columns, ca.vertcat(*way) if way else ca.SX(0, 1))
        for way in ways
    ]
    program = programs[0]
    # other items may share terms with the coordinates in them, so both ways are tried
    expressions, parts, is_late = min(
        (simplified(p, items, alphabet, seconds) for p in dict.fromkeys(programs)), key=_length
    )
    worst = worst_difference(items, alphabet, expressions, parts)
    if worst <= TOLERANCE or math.isnan(worst):
        return Written(expressions, parts, True, is_late, worst)
    plain = to_sympy(program, alphabet.symbols, letter=alphabet.letter)
    expressions = plain.outputs
    parts = _first_uses(expressions, dict(plain.parts))
    worst = worst_difference(items, alphabet, expressions, parts)
    return Written(expressions, parts, False, is_late, worst)


def _length(found: tuple[list[sympy.Expr], Parts, bool]) -> int:
    expressions, parts, _ = found
    return sum(size(e) for e in expressions) + sum(2 + size(e) for new in parts for _, e in new)


def simplified(
    program: Program, items: Sequence[Item], alphabet: Alphabet, seconds: float
) -> tuple[list[sympy.Expr], Parts, bool]:
    """All expressions, the parts that each is the first to need, and whether time ran out.

    They are cached for what they depend on, unless time ran out.
    """
    marks = tuple(_plain_fields(item, "shown", "compiled") for item in items)
    kinds = _plain_fields(alphabet, "columns", "states", "free_states")
    expressions, parts, is_late = _SIMPLIFIED.get(
        (program, marks, kinds, seconds),
        lambda: _simplified(program, items, alphabet, seconds),
        is_kept=lambda found: not found[2],
    )
    return list(expressions), [list(new) for new in parts], is_late


def _plain_fields(data: Item | Alphabet, *omitted: str) -> tuple[Hashable, ...]:
    """Values of the fields of a data class but for some, lists as tuples."""
    values = (getattr(data, f.name) for f in fields(data) if f.name not in omitted)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _simplified(
    program: Program, items: Sequence[Item], alphabet: Alphabet, seconds: float
) -> tuple[list[sympy.Expr], Parts, bool]:
    outputs = [_signed(program, place) for place in program.outputs]
    labels = _labels(program, items, outputs)
    named = frozenset(labels)
    budget = Budget(OPERATIONS, seconds)
    factors = Factorizations()
    closed = WrittenForm(program, alphabet, budget, factors)
    labeled = WrittenForm(program, alphabet, budget.renewed(OPERATIONS), factors, named)
    chosen: list[sympy.Expr | None] = []
    known: dict[sympy.Symbol, sympy.Expr] = {}
    of_state = set(alphabet.symbols)
    for k, (place, _) in enumerate(outputs):
        usable = _usable(known, of_state) if items[k].is_free else known
        # what has been shown already goes by its name; the equations of motion are written out
        own = value_symbol(place)
        is_known = own in usable and not items[k].is_motion
        chosen.append(
            _shortest(closed.short(place), own if is_known else labeled.short(place), usable)
        )
        known |= _made_known(labels, k, place, chosen[-1])
    # what is too long is written with parts, first with all that are used again in the program,
    # then with those that are still used again after what cancels has gone
    for k, count in _too_long(program, items, chosen).items():
        chosen[k] = sympy.Dummy(f"[{count} operations]")
    long = [place for (place, _), e in zip(outputs, chosen, strict=True) if e is None]
    ways = [closed, labeled]
    share = used_again(program)
    for _ in range(2 if long else 0):
        fresh = budget.renewed(OPERATIONS)
        ways.append(WrittenForm(program, alphabet, fresh, factors, named, share))
        share = ways[-1].written_again(long)
    for k, (place, _) in enumerate(outputs):
        # a long sum may still be shorter than all the parts that would share it
        if chosen[k] is None and closed.factors(place) < ways[-1].factors_with_parts(place):
            chosen[k] = closed.short(place, LONGEST_CLOSED)
    expressions, definitions = _filled(outputs, items, chosen, ways[-1], labels, of_state)
    expressions, parts = _inlined(expressions, {s: tidied(e) for s, e in definitions.items()})
    expressions = [tidied(e) for e in expressions]
    parts = {s: tidied(e) for s, e in parts.items()}
    is_late = any(way.forms.algebra.budget.is_late for way in ways)
    return *_numbered(expressions, _first_uses(expressions, parts), alphabet.letter), is_late


def _signed(program: Program, place: int) -> tuple[int, int]:
    """A value as another one and its sign, where it is the negative of that."""
    if place >= program.num_given:
        kind, operands = program.operations[place - program.num_given]
        if kind == "neg" and operands[0] >= program.num_given:
            return operands[0], -1
    return place, 1


def _too_long(
    program: Program, items: Sequence[Item], chosen: list[sympy.Expr | None]
) -> dict[int, int]:
    """Items that are not written out, because all together would be too long to read.

    The equations of motion come first, then the others in their order; → number of operations.
    """
    seen: set[int] = set()
    omitted: dict[int, int] = {}
    missing = [k for k, e in enumerate(chosen) if e is None]
    for k in sorted(missing, key=lambda k: (not items[k].is_motion, k)):
        needed: set[int] = set()
        wanted = [program.outputs[k]]
        while wanted:
            place = wanted.pop()
            if place >= program.num_given and place not in seen and place not in needed:
                needed.add(place)
                wanted += program.operations[place - program.num_given].operands
        if len(seen) + len(needed) > WRITTEN_OPERATIONS:
            omitted[k] = len(needed)
        else:
            seen |= needed
    return omitted


def _labels(
    program: Program, items: Sequence[Item], outputs: list[tuple[int, int]]
) -> dict[int, tuple[int, sympy.Expr]]:
    """Value → the item that it is, and how it is written from then on."""
    labels: dict[int, tuple[int, sympy.Expr]] = {}
    for k, (item, (place, sign)) in enumerate(zip(items, outputs, strict=True)):
        if item.label is not None and place >= program.num_given:
            labels.setdefault(place, (k, sign * item.label))
    return labels


def _made_known(
    labels: dict[int, tuple[int, sympy.Expr]], k: int, place: int, whole: sympy.Expr | None
) -> dict[sympy.Symbol, sympy.Expr]:
    """Substitution for item k once it is shown: its label, unless it is short."""
    item, label = labels.get(place, (-1, None))
    if item != k or label is None:
        return {}
    if whole is None or whole.is_Dummy or size(whole) > SHORTER_THAN_LABEL or values_of(whole):
        return {value_symbol(place): label}
    return {value_symbol(place): whole}


def _usable(
    known: dict[sympy.Symbol, sympy.Expr], of_state: set[sympy.Symbol]
) -> dict[sympy.Symbol, sympy.Expr]:
    """Labels that hold at any speeds: a dependent speed is what the rows make it only on them."""
    return {s: label for s, label in known.items() if not label.free_symbols & of_state}


def _filled(
    outputs: list[tuple[int, int]],
    items: Sequence[Item],
    chosen: list[sympy.Expr | None],
    shared: WrittenForm,
    labels: dict[int, tuple[int, sympy.Expr]],
    of_state: set[sympy.Symbol],
) -> tuple[list[sympy.Expr], dict[sympy.Symbol, sympy.Expr]]:
    """All expressions, the missing ones with parts, and what the parts stand for."""
    known: dict[sympy.Symbol, sympy.Expr] = {}
    expressions: list[sympy.Expr] = []
    definitions: dict[int, sympy.Expr] = {}
    for k, ((place, sign), short) in enumerate(zip(outputs, chosen, strict=True)):
        usable = _usable(known, of_state) if items[k].is_free else known
        whole = shared.expression(place) if short is None else short
        expression = whole if whole.is_Dummy else (sign * whole).xreplace(usable)
        expressions.append(expression)
        wanted = values_of(expression)
        while wanted:
            part = place_of(wanted.pop())
            if part not in definitions:
                definitions[part] = shared.expression(part).xreplace(usable)
                wanted |= values_of(definitions[part])
        if place not in definitions:
            known |= _made_known(labels, k, place, whole)
    return expressions, {value_symbol(k): definitions[k] for k in sorted(definitions)}


def _shortest(
    closed: sympy.Expr | None,
    labeled: sympy.Expr | None,
    known: dict[sympy.Symbol, sympy.Expr],
) -> sympy.Expr | None:
    """The closed form if it is short, the labeled one if it is much shorter, or none."""
    closed_size = math.inf if closed is None or values_of(closed) else size(closed)
    unknown = labeled is None or values_of(labeled) - set(known)
    labeled_size = math.inf if unknown else size(labeled)
    if labeled_size <= LABELED_SIZE and closed_size > 16 and 2 * labeled_size < closed_size:
        return labeled
    if closed_size <= CLOSED_SIZE:
        return closed
    return labeled if labeled_size <= LABELED_SIZE else None


def _counts(
    expressions: list[sympy.Expr], definitions: dict[sympy.Symbol, sympy.Expr]
) -> dict[sympy.Symbol, int]:
    """Number of occurrences of each part."""
    uses = dict.fromkeys(definitions, 0)
    for expression in (*expressions, *definitions.values()):
        for s in values_of(expression):
            uses[s] += expression.count(s)
    return uses


def _inlined(
    expressions: list[sympy.Expr], definitions: dict[sympy.Symbol, sympy.Expr]
) -> tuple[list[sympy.Expr], dict[sympy.Symbol, sympy.Expr]]:
    """The same with parts that are short or used once put in place."""
    uses = _counts(expressions, definitions)
    placed: dict[sympy.Symbol, sympy.Expr] = {}
    parts: dict[sympy.Symbol, sympy.Expr] = {}
    for s, meaning in definitions.items():
        meaning = meaning.xreplace(placed)
        if (uses[s] == 1 and size(meaning) <= INLINED_SIZE) or size(meaning) < 4:
            placed[s] = meaning
        else:
            parts[s] = meaning
    return [e.xreplace(placed) for e in expressions], parts


#: Parts of a page beyond which those that cost least are written where they are used, and by how
#: much all of it may become longer by that.
MOST_PARTS, MOST_LONGER = 12, 3.0


def with_fewer_parts(written: Written, shown: Sequence[sympy.Symbol]) -> Written:
    """The same with some of the parts that are shown written out, the cheapest first."""
    meanings = {s: e for new in written.parts for s, e in new}
    whole_size = sum(map(size, (*written.expressions, *meanings.values())))
    placed = _written_out(written, shown, meanings, MOST_LONGER * whole_size)
    if len(shown) - len(placed) > MOST_PARTS:
        # a page that keeps more of them anyway is at least short
        placed = _written_out(written, shown, meanings, 0.0)
    known = {s: meanings[s] for s in placed}
    values: dict[sympy.Symbol, sympy.Expr] = {}
    for s, meaning in meanings.items():
        if s in known:
            values[s] = meaning.xreplace(values)

    def whole(e: sympy.Expr) -> sympy.Expr:
        return tidied(e.xreplace(values)) if e.free_symbols & values.keys() else e

    # the parts that are left take the first names, so that there are no gaps
    kept = [s for s in meanings if s not in known]
    names = dict(zip(kept, meanings, strict=False))
    parts = [
        [(names[s], whole(e).xreplace(names)) for s, e in new if s in names]
        for new in written.parts
    ]
    expressions = [whole(e).xreplace(names) for e in written.expressions]
    return replace(written, expressions=expressions, parts=parts)


def _written_out(
    written: Written,
    shown: Sequence[sympy.Symbol],
    meanings: Mapping[sympy.Symbol, sympy.Expr],
    longer: float,
) -> list[sympy.Symbol]:
    """Parts to write where they are used, in order: those used once, then until few are left.

    `longer` is the size by which all may grow.
    """
    left = list(shown)
    sizes = {s: size(meanings[s]) for s in left}
    within = {s: _occurrences(meanings[s], meanings) for s in left}
    uses: Counter[sympy.Symbol] = Counter()
    for counted in (*within.values(), *(_occurrences(e, meanings) for e in written.expressions)):
        uses.update(counted)
    placed: list[sympy.Symbol] = []
    while left:
        cost = {s: (uses[s] - 1) * (sizes[s] - 1) for s in left}
        cheapest = min(left, key=cost.__getitem__)
        if uses[cheapest] > 1 and (len(left) <= MOST_PARTS or cost[cheapest] > longer):
            break
        longer -= cost[cheapest]
        left.remove(cheapest)
        placed.append(cheapest)
        for s in left:
            count = within[s].pop(cheapest, 0)
            if count:
                sizes[s] += count * (sizes[cheapest] - 1)
                within[s].update({k: count * n for k, n in within[cheapest].items()})
        for s, count in within[cheapest].items():
            uses[s] += (uses[cheapest] - 1) * count
    return placed


def _occurrences(
    expression: sympy.Expr, of: Mapping[sympy.Symbol, sympy.Expr]
) -> Counter[sympy.Symbol]:
    """How often each part stands in an expression."""
    counts: Counter[sympy.Symbol] = Counter()
    if expression.free_symbols & of.keys():
        counts.update(s for s in sympy.preorder_traversal(expression) if s in of)
    return counts


def _numbered(
    expressions: list[sympy.Expr], parts: Parts, letter: str
) -> tuple[list[sympy.Expr], Parts]:
    """The same with parts called z1, z2, … in the order in which they are shown."""
    places = [s for new in parts for s, _ in new]
    names = {s: sympy.Symbol(f"{letter}{k + 1}") for k, s in enumerate(places)}
    return [e.xreplace(names) for e in expressions], [
        [(names[s], e.xreplace(names)) for s, e in new] for new in parts
    ]


def _first_uses(expressions: list[sympy.Expr], parts: dict[sympy.Symbol, sympy.Expr]) -> Parts:
    """For each expression the parts that no earlier one needed, in order."""
    order = {s: k for k, s in enumerate(parts)}
    shown: set[sympy.Symbol] = set()
    result = []
    for expression in expressions:
        new: set[sympy.Symbol] = set()
        wanted = [s for s in expression.free_symbols if s in order]
        while wanted:
            s = wanted.pop()
            if s not in shown and s not in new:
                new.add(s)
                wanted += [r for r in parts[s].free_symbols if r in order]
        result.append([(s, parts[s]) for s in sorted(new, key=order.__getitem__)])
        shown |= new
    return result
