"""Traced expressions written for people, and checked against what is compiled.

Each item is written in the shortest of three ways (closed, labeled, shared: see `closed_forms`).
Then everything that is shown is evaluated at random states and compared with the traced functions;
if anything differs, all of it is written again as the plain list of operations says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields

import casadi as ca
import sympy

from noslip.base import LRUCache
from noslip.engines import Program, apply_kind, to_sympy, trace_program
from noslip.show.equations.algebra import Budget, Sum
from noslip.show.equations.closed_forms import Forms, forms_of, length, used_again, values_in
from noslip.show.equations.confirming import (
    TOLERANCE,
    Alphabet,
    Item,
    Parts,
    without_idle_coordinates,
    worst_difference,
)
from noslip.show.equations.factoring import Factorizations, Writer, size, tidied

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
    """Items as SymPy expressions.

    Parameters
    ----------
    expressions : one for each item.
    parts : for each item the parts that it is the first to need, in order.
    is_simplified : whether simplified forms are shown; else they did not pass the check.
    is_late : whether the time limit stopped the simplification.
    worst : largest relative difference from what is compiled; nan if nothing could be compared.
    """

    expressions: list[sympy.Expr]
    parts: Parts
    is_simplified: bool
    is_late: bool
    worst: float

    @property
    def is_confirmed(self) -> bool:
        """Whether the written expressions agree with the compiled ones."""
        return self.worst <= TOLERANCE


def write(items: Sequence[Item], alphabet: Alphabet, *, seconds: float) -> Written:
    """The items for people.

    Parameters
    ----------
    items : in the order in which they will be shown.
    alphabet : what they are written in.
    seconds : time limit of the simplification.
    """
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
