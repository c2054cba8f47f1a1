"""One way to write a program: closed, labeled or shared, as `closed_forms` says."""

from __future__ import annotations

import math
from collections import Counter

import sympy

from noslip.engines.program import Program
from noslip.engines.sympy import apply_kind
from noslip.show.equations.closed_forms import Forms, forms_of, length, values_in
from noslip.show.equations.confirming import Alphabet
from noslip.show.equations.factoring import Factorizations, Writer
from noslip.show.equations.sums import Budget, Sum

#: Factors in all terms of a sum beyond which it is not even tried.
LONGEST = 200


class Way:
    """One of the three ways to write a program."""

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
            program, budget, labeled=labeled, share=share, quaternions=alphabet.quaternions
        )
        self.writer = Writer(
            self.forms.algebra, alphabet.symbols, value_symbol, alphabet.leading, factors
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
        """What a value is written with."""
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
    """A stand-in for a value of the program until it has its number."""
    return sympy.Symbol(f"{_VALUE}{place}")


def place_of(stand_in: sympy.Symbol) -> int:
    """The value's place in the program."""
    return int(stand_in.name.removeprefix(_VALUE))


def values_of(expression: sympy.Expr) -> set[sympy.Symbol]:
    """The stand-ins in an expression."""
    return {s for s in expression.free_symbols if s.name.startswith(_VALUE)}
