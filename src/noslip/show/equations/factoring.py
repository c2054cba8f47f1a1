"""Sums of products written shortly: common factors outside, the shorter of sin² and cos²."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import sympy
from sympy.polys.domains import ZZ
from sympy.polys.rings import PolyRing

from noslip.engines import apply_kind
from noslip.show.equations.algebra import Algebra, Atom, Monomial, Rational, Sum, TooLarge, content

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
        for monomial, number in a.items():
            powers = [0] * len(places)
            for place, power in monomial:
                powers[column[place]] = power
            terms[tuple(powers)] = number
        key = frozenset(terms.items())
        if key not in self._known:
            self._known[key] = self._factored(terms, len(places))
        return self._known[key]

    def _factored(self, terms: dict, num: int) -> tuple[sympy.Expr, Pieces] | None:
        ring = PolyRing([f"x{k}" for k in range(num)], ZZ)
        number, factors = ring.from_dict({m: int(c) for m, c in terms.items()}).factor_list()
        if len(factors) < 2 and all(power == 1 for _, power in factors):
            return None
        return sympy.Integer(int(number)), [
            ({m: int(c) for m, c in sorted(f.items())}, power) for f, power in factors
        ]


class Writer:
    """Writes sums of an algebra as SymPy expressions.

    Parameters
    ----------
    algebra : whose atoms the sums are made of.
    symbols : of the inputs, in order.
    value : symbol of a value that has a name of its own.
    leading : inputs that terms are collected by first, such as masses.
    factors : factorizations that are known already.
    speeds : inputs that are speeds.
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
        for monomial, number in a.items():
            groups[any(self._is_speed(p) for p, _ in monomial)][monomial] = number
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
        for monomial, number in a.items():
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
                    if other is not None and abs(a[other]) == abs(number):
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
        for monomial, number in a.items():
            own = [p for p, e in monomial if e == 1 and self._is_leading(p)]
            if len(own) != 1:
                return []
            groups.setdefault(own[0], {})[monomial] = number
        return [groups[place] for place in sorted(groups)]

    def _is_leading(self, place: int) -> bool:
        atom = self.algebra.atoms[place]
        return atom.kind == "symbol" and atom.name in self.leading

    def _written(self, a: Sum) -> sympy.Expr:
        if not a:
            return sympy.Integer(0)
        number, monomial, bare = content(self._with_tangents(self._fewest_terms(a)))
        if number < 0 and any(c < 0 for c in bare.values()):
            number, bare = -number, {m: -c for m, c in bare.items()}
        outside = number_expression(number) * self._monomial(monomial)
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
        number, pieces = factors
        written = [self._with_atoms(piece, places) ** power for piece, power in pieces]
        return sympy.Mul(number, *written)

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
        for monomial, number in a.items():
            m = self._tangents(monomial) if any(e < 0 for _, e in monomial) else monomial
            result[m] = result.get(m, 0) + number
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
    number = sympy.Integer(1)
    for base, power in product.as_powers_dict().items():
        if base.is_Add and power.is_Integer:
            common, base = base.primitive()
            if -base in powers or all(a.could_extract_minus_sign() for a in base.args):
                common, base = -common, -base
            number *= common**power
        powers[base] = powers.get(base, 0) + power
    return sympy.Mul(number, *[base**power for base, power in powers.items()])


def _with_square_replaced(a: Sum, own: int, others: list[int]) -> Sum:
    """The sum with 1 − Σ others² for own²."""
    result: Sum = {}
    for monomial, number in a.items():
        powers = dict(monomial)
        half, odd = divmod(powers.pop(own, 0), 2)
        if half <= 0:
            pieces: Sum = {monomial: number}
        else:
            rest = tuple(sorted({**powers, **({own: 1} if odd else {})}.items()))
            pieces = {rest: number}
            for _ in range(half):
                pieces = _times_one_minus(pieces, others)
        for m, c in pieces.items():
            result[m] = result.get(m, 0) + c
    return {m: c for m, c in result.items() if c}


def _times_one_minus(a: Sum, others: list[int]) -> Sum:
    result = dict(a)
    for monomial, number in a.items():
        for place in others:
            powers = dict(monomial)
            powers[place] = powers.get(place, 0) + 2
            m = tuple(sorted((p, e) for p, e in powers.items() if e))
            result[m] = result.get(m, 0) - number
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
    """1.0 as 1."""
    is_whole = number.is_Float and float(number).is_integer()
    return sympy.Integer(int(float(number))) if is_whole else number


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
