"""The derivation of any formulation: its own prose, then mass, bias and forces as it fills them."""

from __future__ import annotations

import casadi as ca

from noslip.show.equations.blocks import Paragraph, words
from noslip.show.equations.derivations.common import Drafted, column, reduced_mass, reduced_motion
from noslip.show.equations.derivations.document import Draft
from noslip.show.equations.derivations.subject import Subject


def general(subject: Subject) -> list[Drafted]:
    """M η̇ + h = f, with M, h and f as the formulation fills them."""
    kin, routes = subject.kin, (subject.simplest, subject.equations)
    formulation = subject.equations.formulation
    f = [e.reduced_forces + ca.mtimes(e.reduced_inputs, kin.acting_inputs) for e in routes]
    mass = reduced_mass(subject, subject.letter("M"))
    bias = column(subject, subject.letter("h"), routes[0].reduced_bias, routes[1].reduced_bias)
    forces = column(subject, subject.letter("f"), f[0], f[1])
    blocks: list[Draft] = [
        *(_paragraph(subject, text) for text in formulation.prose),
        words("In the independent speeds ", subject.formula("M η̇ + h = f"), " with"),
        *(mass, bias, forces),
    ]
    rows = [bias.term(i) for i in range(kin.num_independent_speeds)]
    title = formulation.name[:1].upper() + formulation.name[1:]
    return [(title, blocks), reduced_motion(subject, mass, rows, [forces])]


def _paragraph(subject: Subject, text: str) -> Paragraph:
    """Words with formulas between dollar signs."""
    return words(*(subject.formula(t) if k % 2 else t for k, t in enumerate(text.split("$")) if t))
