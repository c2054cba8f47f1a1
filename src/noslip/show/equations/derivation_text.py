"""The equations of motion with their derivation, as text, Markdown, LaTeX or HTML.

What is shown is simplified within a budget and a time limit, and then compared with the traced
functions at random states; see `writing`. The symbols are those of `notation`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import sympy

from noslip import Equations
from noslip.show.equations import derivation_document, steps
from noslip.show.equations.derivation_document import (
    Draft,
    Drafted,
    Finished,
    finished,
    items_of,
)
from noslip.show.equations.layout import DIGITS, Section, numbered, words
from noslip.show.equations.polynomials import SECONDS
from noslip.show.equations.sketch import SKETCH, sketch
from noslip.show.equations.subject import Subject, printed_equations
from noslip.show.equations.writing import (
    MOST_PARTS,
    TOLERANCE,
    Arranger,
    Evaluator,
    Item,
    Written,
    write,
)

#: Parts beyond which a page says at its beginning what they are.
MANY_PARTS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A derivation, written and checked."""

    #: title, sections: the document
    title: str
    sections: list[Section] = field(repr=False)
    #: both sides of the equations of motion, in the symbols that are shown
    motion: list[tuple[sympy.Expr, sympy.Expr]]
    #: every part and every labeled entry → what it stands for, in order
    meanings: dict[sympy.Symbol, sympy.Expr] = field(repr=False)
    #: full name of a quantity → its symbol; a rate's name has a dot mark, as ``"x'"``
    symbols: dict[str, sympy.Symbol] = field(repr=False)
    #: remark on how it was written and how well it agrees with what is compiled
    written: Written = field(repr=False)
    #: largest relative residual of the shown equations at the compiled accelerations
    residual: float

    @property
    def is_confirmed(self) -> bool:
        """Whether everything shown agrees with what is compiled."""
        return self.written.is_confirmed and self.residual <= TOLERANCE


def derivation(
    equations: Equations,
    *,
    coordinates: str | None = None,
    speeds: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Derivation:
    """Derive the equations of motion of a model step by step, as a document."""
    printed = printed_equations(equations, coordinates, speeds)
    page = _laid_out(Subject(printed), seconds)
    if len(page.found.parts) > MOST_PARTS:
        stepwise = _laid_out(Subject(printed, is_stepwise=True), seconds)
        page = min(page, stepwise, key=lambda p: len(p.found.parts))
    subject, drafted, items, arrange, _ = page
    found = derivation_document.with_few_parts(page.found, drafted, arrange)
    written, motion = found.written, found.motion
    sections = derivation_document.with_used_symbols(subject, found.sections)
    sections[0] = _with_parts_told(sections[0], written, len(found.parts))
    residual = _residual(subject, items, written, [*motion, *found.sums])
    difference = printed.difference(subject.alphabet.states)
    residual = math.nan if math.isnan(difference) else max(residual, difference)
    sections.append(_closing(written, residual))
    sections[1:1] = [Section(SKETCH, (drawn,)) for drawn in sketch(subject)]
    formulation = equations.formulation
    return Derivation(
        title=f"Equations of motion of '{equations.model.name}': {formulation.name}",
        sections=numbered(sections),
        motion=motion,
        meanings=_meanings(items, written),
        symbols=_symbols(subject),
        written=written,
        residual=residual,
    )


class _LaidOut(NamedTuple):
    """A derivation laid out: its subject, drafts, their items, and what has become of them."""

    subject: Subject
    drafted: list[Drafted]
    items: list[Item]
    arrange: Arranger
    found: Finished


def _laid_out(subject: Subject, seconds: float) -> _LaidOut:
    drafted = _draft(subject)
    items = [item for _, blocks in drafted for block in blocks for item in items_of(block)]
    written = write(items, subject.alphabet, seconds=seconds)
    arrange = subject.arrange
    meant = [*written.expressions, *(e for new in written.parts for _, e in new)]
    arrange.in_decimals = any(e.atoms(sympy.Float) for e in meant)
    return _LaidOut(subject, drafted, items, arrange, finished(drafted, written, arrange))


def _with_parts_told(opening: Section, written: Written, num_parts: int) -> Section:
    """The opening of a page, with a word on the parts if there are many."""
    parts = [s for new in written.parts for s, _ in new][:num_parts]
    if len(parts) <= MANY_PARTS:
        return opening
    said = (
        f"These equations are long. {len(parts)} parts, {parts[0]} to {parts[-1]}, stand for what "
        "is used more than once, each introduced where it is first needed. Small motions have "
        "short equations: noslip derive --linear SPEED."
    )
    return Section(opening.title, (*opening.blocks, words(said)))


def _draft(subject: Subject) -> list[Drafted]:
    equations = subject.equations
    formulation, model = equations.formulation, equations.model
    opening: list[Draft] = [words(model.description or f"The model '{model.name}'.")]
    reference = f"Method: {formulation.name} [{formulation.reference}]."
    opening.append(words(reference))
    drafted = [
        ("Model and method", opening),
        derivation_document.mechanism(subject),
        derivation_document.symbols(subject),
    ]
    drafted += [derivation_document.kinematics(subject), derivation_document.constraints(subject)]
    title, blocks = derivation_document.admissible_speeds(
        subject, subject.letter(*formulation.basis_symbol)
    )
    is_stepwise = subject.is_stepwise and bool(subject.kin.row_basis)
    drafted.append((title, [*blocks, *(steps.moving(subject) if is_stepwise else [])]))
    drafted += _own_sections(subject)
    forces = derivation_document.constraint_forces(subject)
    if forces is not None and is_stepwise:
        forces = (forces[0], steps.reactions(subject))
    last = (derivation_document.force_states(subject), forces)
    return [*drafted, *(section for section in last if section is not None)]


def _own_sections(subject: Subject) -> list[Drafted]:
    """Sections of a formulation, up to the equations of motion."""
    module, _, function = subject.equations.formulation.derivation.partition(":")
    if not module:
        return derivation_document.general(subject)
    write_sections: Callable[[Subject], list[Drafted]]
    write_sections = getattr(importlib.import_module(module), function)
    return write_sections(subject)


def _residual(
    subject: Subject,
    items: list[Item],
    written: Written,
    motion: list[tuple[sympy.Expr, sympy.Expr]],
) -> float:
    """Largest residual of the rows at the compiled accelerations, relative to their terms."""
    if not motion:
        return 0.0
    found = Evaluator(items, subject.alphabet, written.expressions, written.parts)
    terms = [[*sympy.Add.make_args(a), *[-t for t in sympy.Add.make_args(b)]] for a, b in motion]
    states = subject.alphabet.states
    worst = math.nan
    for values in found([t for row in terms for t in row], states):
        if not np.all(np.isfinite(values)):
            continue
        rows = np.split(values, np.cumsum([len(row) for row in terms])[:-1])
        floor = 1e-6 * max(1.0, float(np.max(np.abs(values))))
        largest = max(abs(np.sum(r)) / (np.sum(np.abs(r)) + floor) for r in rows)
        worst = largest if math.isnan(worst) else max(worst, largest)
    return float(worst)


def _closing(written: Written, residual: float) -> Section:
    said = []
    if not written.is_simplified:
        said.append("The simplified forms did not pass the check, so nothing is simplified here.")
    if written.is_late:
        said.append("The simplification reached its time limit before it was finished.")
    omitted = sum(e.is_Dummy for e in written.expressions)
    if omitted:
        said.append(f"{omitted} expressions are too long to be written out.")
    if any(e.atoms(sympy.Float) for e in written.expressions):
        said.append(f"Numbers are printed with {DIGITS} digits.")
    worst = max(written.worst, residual)
    if math.isnan(worst):
        said.append("Nothing could be evaluated at random states, so nothing is confirmed.")
    elif worst <= TOLERANCE:
        said.append(
            f"All {len(written.expressions) - omitted} expressions above were evaluated at random "
            "states and agree with the compiled functions, and the equations of motion hold at the "
            f"compiled accelerations, to a relative {TOLERANCE:.0e}."
        )
    else:
        said.append(
            f"Warning: what is shown differs from the compiled functions by a relative {worst:.1e}."
        )
    return Section("Check", (words(" ".join(said)),))


def _meanings(items: list[Item], written: Written) -> dict[sympy.Symbol, sympy.Expr]:
    meanings: dict[sympy.Symbol, sympy.Expr] = {}
    for item, expression, new in zip(items, written.expressions, written.parts, strict=True):
        meanings |= dict(new)
        if item.label is not None and item.label != expression:
            meanings.setdefault(item.label, expression)
    return meanings


def _symbols(subject: Subject) -> dict[str, sympy.Symbol]:
    from noslip.show.equations.subject import symbol

    known = {e.name: symbol(e.glyph) for e in subject.notation.legend}
    moving = [*subject.notation.coordinates, *subject.notation.speeds]
    moving += [*subject.notation.independent_speeds, *subject.notation.costates]
    moving += subject.notation.force_states
    known |= {f"{e.name}'": symbol(e.glyph.rate) for e in moving}
    return known
