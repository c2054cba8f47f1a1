"""The equations of motion without SymPy: sums of products as the package's own algebra leaves them.

This is what `noslip derive` shows where SymPy is not installed: symbols, constraints and equations
of motion, simplified term by term but not factored, and without the steps of the method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca
import numpy as np

from noslip import Equations
from noslip.base import Array
from noslip.engines import Program, apply, trace_program
from noslip.show.equations.layout import (
    DIGITS,
    MINUS,
    PLUS,
    Block,
    Cases,
    CellTable,
    Document,
    EquationLine,
    Fenced,
    Glyph,
    Lines,
    MathCall,
    MathNumber,
    MathRow,
    Node,
    Operator,
    Power,
    Quotient,
    Root,
    Section,
    Word,
    number,
    numbered,
    row,
    words,
)
from noslip.show.equations.polynomials import (
    Atom,
    Budget,
    Forms,
    Monomial,
    Rational,
    Sum,
    forms_of,
    length,
    used_again,
    values_in,
)
from noslip.show.equations.subject import Subject, printed_equations

#: Factors of all expressions together up to which nothing is shared between them.
CLOSED_LENGTH = 2500
#: Operations that simplifying may cost.
OPERATIONS = 60_000
#: Relative residual up to which the equations are confirmed.
TOLERANCE = 1e-9
_SIGNS = {"lt": "<", "le": "≤", "eq": "=", "ne": "≠"}
_BINARY = {"add": PLUS, "sub": MINUS, "mul": Operator("·")}


def plain_document(
    equations: Equations,
    *,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float,
) -> Document:
    """Symbols, constraints and equations of motion as a document."""
    subject = Subject(printed_equations(equations, coordinates, speeds))
    draft = _Draft.of(subject)
    written = _Written(draft, subject, seconds)
    model, formulation = equations.model, equations.formulation
    opening = [
        words(model.description or f"The model '{model.name}'."),
        words(f"Method: {formulation.name} [{formulation.reference}]."),
        words(
            "Without SymPy the equations are shown unfactored and without their derivation; "
            'pip install "noslip[show]" brings it.'
        ),
    ]
    legend = tuple((e.glyph, e.name, e.unit, e.meaning) for e in subject.notation.legend)
    table = CellTable(("symbol", "name", "unit", "meaning"), legend)
    sections = [
        Section("Model and method", tuple(opening)),
        Section("Symbols", (words("A dot is a time derivative."), table)),
        *written.sections(),
        Section("Check", (words(_verdict(written.residual())),)),
    ]
    return Document(
        f"Equations of motion of '{model.name}': {formulation.name}", numbered(sections)
    )


def _verdict(residual: float) -> str:
    if math.isnan(residual):
        return "Nothing could be evaluated at random states, so nothing is confirmed."
    if residual <= TOLERANCE:
        return (
            "The equations of motion above hold at the compiled accelerations of random states, "
            f"to a relative {TOLERANCE:.0e}."
        )
    said = f"by a relative {residual:.1e}"
    return f"Warning: the equations above differ from the compiled ones {said}."


@dataclass(frozen=True, slots=True)
class _Draft:
    """Draft of the text, as traced expressions.

    Parameters
    ----------
    rates : rates of coordinates that are no speeds themselves.
    rows : constraints, each zero.
    dependent : speeds that follow from the independent ones.
    mass, bias, forces : terms of the equations of motion, mass η̇ + bias = forces.
    costates : rates of the costates.
    """

    rates: list[tuple[Glyph, ca.SX]]
    rows: list[tuple[str, ca.SX]]
    dependent: list[tuple[Glyph, ca.SX]]
    mass: ca.SX
    bias: ca.SX
    forces: ca.SX
    costates: list[tuple[Glyph, ca.SX]]

    @classmethod
    def of(cls, subject: Subject) -> _Draft:
        """The expressions of a subject."""
        kin, notation, equations = subject.kin, subject.notation, subject.equations
        speeds = {s.glyph for s in notation.speeds}
        return cls(
            rates=[
                (entry.glyph.rate, ca.mtimes(kin.N[k, :], subject.v))
                for k, entry in enumerate(notation.coordinates)
                if entry.glyph.rate not in speeds
            ],
            rows=[(f"{r.name}, {r.origin}", subject.at_v(r.velocity)) for r in kin.rows],
            dependent=[
                (entry.glyph, kin.v[k])
                for k, entry in enumerate(notation.speeds)
                if k not in subject.independent
            ],
            mass=equations.reduced_mass,
            bias=equations.reduced_bias,
            forces=equations.reduced_forces
            + ca.mtimes(equations.reduced_inputs, kin.acting_inputs),
            costates=[
                (entry.glyph.rate, equations.costate_rates[k])
                for k, entry in enumerate(notation.costates)
            ],
        )

    def column(self) -> ca.SX:
        """All expressions below each other."""
        named = [*self.rates, *self.dependent, *self.costates]
        parts = [x for _, x in named] + [x for _, x in self.rows]
        blocks = [ca.vec(ca.densify(x)) for x in (self.mass, self.bias, self.forces)]
        return ca.densify(ca.vertcat(*parts, *blocks))


class _Written:
    """The expressions of a draft as sums, and these as mathematics."""

    def __init__(self, draft: _Draft, subject: Subject, seconds: float) -> None:
        self.draft, self.subject = draft, subject
        self.program = trace_program("shown", subject.columns, draft.column())
        self.forms = self._forms(seconds)
        self.parts = self._needed()
        letter = subject.notation.letter("z")
        self.names = {place: Glyph(letter, str(k + 1)) for k, place in enumerate(self.parts)}
        order = ["parameter", "time", "coordinate", "costate", "tree speed", "independent speed"]
        order += ["speed input", "force input", "multiplier"]
        self.ranks = [order.index(e.group) for e in subject.entries]

    def _forms(self, seconds: float) -> Forms:
        """Closed forms if they are short, else forms that share what is used again."""

        def made(share: frozenset[int]) -> Forms:
            return forms_of(
                self.program,
                Budget(OPERATIONS, seconds),
                share=share,
                quaternions=self.subject.quaternions,
                positive=self.subject.positive,
            )

        closed = made(frozenset())
        total = sum(length(closed.algebra, closed.values[k]) for k in self.program.outputs)
        return closed if total <= CLOSED_LENGTH else made(used_again(self.program))

    def _sums(self, place: int) -> list[Sum]:
        if place in self.forms.unexpanded:
            return self.forms.unexpanded[place][1]
        return [self.forms.definitions[place]]

    def _needed(self) -> list[int]:
        """Values with a name of their own that the outputs need, in the order of computing."""
        algebra, found = self.forms.algebra, set()
        wanted = [v for k in self.program.outputs for v in values_in(algebra, self.forms.values[k])]
        while wanted:
            place = wanted.pop()
            if place not in found:
                found.add(place)
                wanted += [v for a in self._sums(place) for v in values_in(algebra, a)]
        return sorted(found)

    # the document

    def sections(self) -> list[Section]:
        """Everything but the legend."""
        draft = self.draft
        outputs = iter([self.node(self.forms.values[k]) for k in self.program.outputs])
        zero = MathNumber("0")

        def lines(named: list[tuple[Glyph, ca.SX]]) -> list[Block]:
            return [Lines(tuple(EquationLine(g, next(outputs)) for g, _ in named))]

        rates, dependent, costates = (
            lines(named) for named in (draft.rates, draft.dependent, draft.costates)
        )
        rows = [EquationLine(next(outputs), zero, note) for note, _ in draft.rows]
        count = draft.bias.shape[0]
        mass = [next(outputs) for _ in range(count * count)]
        bias, forces = ([next(outputs) for _ in range(count)] for _ in range(2))
        etas = self.subject.notation.independent_speeds
        motion = []
        for i, entry in enumerate(etas):
            left = [
                _times(mass[i + count * j], e.glyph.rate)
                for j, e in enumerate(etas)
                if mass[i + count * j] != zero
            ]
            left += [bias[i]] if bias[i] != zero else []
            motion.append(EquationLine(_added(left), forces[i], entry.name))
        sections = []
        if self.parts:
            said = words(
                "Abbreviations for what is used more than once, in the order of computation."
            )
            named = [EquationLine(self.names[k], self._part(k)) for k in self.parts]
            sections.append(Section("Parts", (said, Lines(tuple(named)))))
        if draft.rates:
            sections.append(Section("Kinematics", tuple(rates)))
        if rows:
            sections.append(Section("Constraints", (Lines(tuple(rows)),)))
        if draft.dependent:
            said = words("The speeds that follow from the independent ones:")
            sections.append(Section("Admissible speeds", (said, *dependent)))
        nothing = words("No degree of freedom is left, so there is nothing to solve for.")
        whole = Lines(tuple(motion)) if motion else nothing
        sections.append(Section("Equations of motion", (whole,)))
        if draft.costates:
            sections.append(Section("Costates", tuple(costates)))
        return sections

    def _part(self, place: int) -> Node:
        if place not in self.forms.unexpanded:
            return self.node(self.forms.definitions[place])
        kind, operands = self.forms.unexpanded[place]
        nodes = [self.node(a) for a in operands]
        fenced = [Fenced(n) if isinstance(n, MathRow) else n for n in nodes]
        if kind in _BINARY:
            return row(fenced[0], _BINARY[kind], fenced[1])
        if kind == "div":
            return Quotient(nodes[0], nodes[1])
        if kind == "neg":
            return row(MINUS, fenced[0])
        if kind == "pow":
            return Power(fenced[0], nodes[1])
        return _call(kind, nodes)

    # sums as mathematics

    def node(self, a: Sum) -> Node:
        """A sum, positive terms first."""
        if not a:
            return MathNumber("0")
        terms = sorted(a.items(), key=lambda term: (term[1] < 0, self._term_key(term[0])))
        return _added([self._term(monomial, c) for monomial, c in terms])

    def _term_key(self, monomial: Monomial) -> tuple[object, ...]:
        return tuple(sorted((self._rank(place) for place, _ in monomial), reverse=True))

    def _rank(self, place: int) -> tuple[int, int]:
        """Parameters first, then coordinates, speeds and inputs; functions last."""
        atom = self.forms.algebra.atoms[place]
        if atom.kind == "symbol":
            return (0, 0) if atom.name == "pi" else (self.ranks[int(atom.name)], place)
        return (1 if atom.kind == "value" else 20, place)

    def _term(self, monomial: Monomial, c: Rational) -> Node:
        ordered = sorted(monomial, key=lambda factor: self._rank(factor[0]))
        top = [self._power(place, power) for place, power in ordered if power > 0]
        bottom = [self._power(place, -power) for place, power in ordered if power < 0]
        size = abs(Fraction(c))
        if size.denominator > 64:
            top.insert(0, number(f"{float(size):.{DIGITS}g}"))
        else:
            if size.numerator != 1 or not top:
                top.insert(0, MathNumber(str(size.numerator)))
            if size.denominator != 1:
                bottom.insert(0, MathNumber(str(size.denominator)))
        whole = _product(top)
        whole = Quotient(whole, _product(bottom)) if bottom else whole
        return row(MINUS, whole) if c < 0 else whole

    def _power(self, place: int, power: int) -> Node:
        base = self._atom(self.forms.algebra.atoms[place])
        if power == 1:
            return base
        if isinstance(base, MathCall) and len(base.arguments) == 1:
            return MathCall(base.name, base.arguments, MathNumber(str(power)))
        is_bare = isinstance(base, Glyph | Root | Fenced)
        return Power(base if is_bare else Fenced(base), MathNumber(str(power)))

    def _atom(self, atom: Atom) -> Node:
        match atom.kind:
            case "symbol":
                return Glyph("π") if atom.name == "pi" else self._glyph(int(atom.name))
            case "value":
                return self.names[int(atom.name)]
            case "sum":
                return Fenced(self.node(dict(atom.meaning)))
        if not atom.arguments:
            return Word(str(atom.name))
        return _call(str(atom.name), [self.node(dict(a)) for a in atom.arguments])

    def _glyph(self, k: int) -> Glyph:
        return self.subject.entries[k].glyph

    # the check

    def residual(self) -> float:
        """Largest residual at the compiled accelerations, relative to the terms."""
        subject, count = self.subject, self.draft.bias.shape[0]
        sizes = [x.shape[0] for x in (subject.kin.symbols.q, subject.kin.symbols.v)]
        first = 1 + sum(sizes) + subject.kin.eta.shape[0] + subject.mu.shape[0]
        worst = math.nan
        for state in subject.states:
            value = _evaluator(self.forms, self.program, state)
            found = np.array([value(self.forms.values[k]) for k in self.program.outputs])
            if not np.all(np.isfinite(found)):
                continue
            block = found[len(found) - count * (count + 2) :]
            mass = block[: count * count].reshape(count, count).T
            bias, forces = block[count * count :].reshape(2, count)
            terms = mass * state[first : first + count]
            whole = np.sum(terms, axis=1) + bias - forces
            scale = np.sum(np.abs(terms), axis=1) + np.abs(bias) + np.abs(forces)
            floor = 1e-6 * max(1.0, float(np.max(np.abs(block), initial=0.0)))
            largest = float(np.max(np.abs(whole) / (scale + floor), initial=0.0))
            worst = largest if math.isnan(worst) else max(worst, largest)
        return worst


def _evaluator(forms: Forms, program: Program, state: Array) -> Callable[[Sum], float]:
    """Values of sums at a state, atom by atom, independent of the operations they came from."""
    known: dict[int, float] = {}

    def value(a: Sum) -> float:
        return sum(float(c) * math.prod(atom(p) ** e for p, e in m) for m, c in a.items())

    def atom(place: int) -> float:
        if place not in known:
            known[place] = evaluated(forms.algebra.atoms[place])
        return known[place]

    def evaluated(found: Atom) -> float:
        match found.kind:
            case "symbol":
                return math.pi if found.name == "pi" else float(state[int(found.name)])
            case "sum":
                return value(dict(found.meaning))
            case "value":
                named = int(found.name)
                if named in forms.definitions:
                    return value(forms.definitions[named])
                kind, operands = forms.unexpanded[named]
                return float(apply(kind, [value(a) for a in operands]))
        if not found.arguments:
            return float(found.name)
        return float(apply(str(found.name), [value(dict(a)) for a in found.arguments]))

    def safe(a: Sum) -> float:
        try:
            return value(a)
        except (ZeroDivisionError, OverflowError):
            return math.nan

    return safe


def _call(kind: str, nodes: list[Node]) -> Node:
    if kind == "sqrt":
        return Root(nodes[0])
    if kind in _SIGNS:
        return row(nodes[0], Operator(_SIGNS[kind]), nodes[1])
    if kind in ("and", "or"):
        return row(nodes[0], Word(f" {kind} "), nodes[1])
    if kind == "if_else":
        return Cases(((nodes[1], nodes[0]), (nodes[2], None)))
    return MathCall(kind, tuple(nodes))


def _product(factors: list[Node]) -> Node:
    if not factors:
        return MathNumber("1")
    if len(factors) == 1:
        inner = factors[0]
        return inner.inside if isinstance(inner, Fenced) else inner
    items: list[Node] = []
    for factor in factors:
        if isinstance(factor, MathNumber) and items and isinstance(items[-1], MathNumber):
            items.append(Operator("·"))
        items.append(factor)
    return MathRow(tuple(items))


def _is_sum(node: Node) -> bool:
    return isinstance(node, MathRow) and any(x in (PLUS, MINUS) for x in node.items)


def _times(coefficient: Node, factor: Node) -> Node:
    if coefficient == MathNumber("1"):
        return factor
    if isinstance(coefficient, MathRow) and not _is_sum(coefficient):
        return MathRow((*coefficient.items, factor))
    return row(Fenced(coefficient) if _is_sum(coefficient) else coefficient, factor)


def _added(terms: list[Node]) -> Node:
    """Terms with their signs between them."""
    if not terms:
        return MathNumber("0")
    if len(terms) == 1:
        return terms[0]
    items: list[Node] = []
    for k, term in enumerate(terms):
        if isinstance(term, MathRow) and term.items[0] == MINUS:
            items += term.items
        else:
            items += [PLUS, term] if k else [term]
    return MathRow(tuple(items))
