"""Singularity measures: numbers that reach zero where a basis or a rolling contact is singular."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.algebra import stack
from noslip.kinematics.basis import Array, Probe
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.symbols import Symbols

#: Share by which bounds come nearer to the limit, from segment to segment.
APPROACHING = 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SingularityMeasure:
    """A number that reaches zero at a singularity, which a motion must stay away from.

    Parameters
    ----------
    name : what it watches.
    kind : ``basis`` (another choice of independent speeds helps) or ``contact`` (nothing does).
    value : traced, about 1 in magnitude at ordinary configurations. Those of a basis change their
        signs where they pass zero, so that no step leaps over such a place unseen.
    floor : nearer to zero another choice of independent speeds is taken.
    limit : nearer than that, or than the floor where there is no other choice to take, the run
        stops.
    sentence : what the user reads then.
    """

    name: str
    kind: str
    value: ca.SX = field(repr=False)
    floor: float
    limit: float
    sentence: str

    def bound(self, depth: int) -> float:
        """Bound that ends a segment after `depth` changes of speeds that brought no improvement.

        That of a basis comes near to its limit in parts. Stages of a step see a value that falls
        below half of the next part, so that none leaps over a place at which it only touches zero.
        """
        if depth == 0:
            return self.floor
        if self.kind != "basis":
            return self.limit
        return max(self.limit, self.floor / APPROACHING**depth)


def find_singularity_measures(
    symbols: Symbols,
    probe: Probe,
    pivots: list[ca.SX],
    contacts: tuple[ContactTrace, ...],
    samples: list[tuple[float, Array]],
) -> tuple[SingularityMeasure, ...]:
    """Pivots of K that move with the configuration, and how far each wheel is from lying flat."""
    result = []
    moving = [p for p in pivots if ca.depends_on(p, ca.vertcat(symbols.q, symbols.t))]
    if moving:
        values = ca.Function("p", [symbols.t, symbols.q, symbols.params], [stack(moving)])
        numbers = np.array([np.array(values(t, q, probe.params)).ravel() for t, q in samples])
        for value in _apart(moving, np.nanmedian(np.abs(numbers), axis=0)):
            result.append(
                SingularityMeasure(
                    name="independent speeds",
                    kind="basis",
                    value=value,
                    floor=0.2,
                    limit=1e-3,
                    sentence="the constraints lose rank here, so that no independent speeds "
                    "determine the motion",
                )
            )
    for trace in contacts:
        if trace.curvatures is not None:
            result.append(_curvature_measure(trace))
        if trace.margin is not None:
            name = trace.contact.name
            result.append(
                SingularityMeasure(
                    name=f"{name}.margin",
                    kind="contact",
                    value=ca.fmax(trace.margin, 0),
                    floor=1e-6,
                    limit=1e-6,
                    sentence=f"contact '{name}' has reached the border of its ground",
                )
            )
        if trace.regularity is not None and ca.depends_on(trace.regularity, symbols.q):
            result.append(
                SingularityMeasure(
                    name=trace.contact.name,
                    kind="contact",
                    value=trace.regularity,
                    floor=1e-6,
                    limit=1e-6,
                    sentence=f"wheel '{trace.contact.name}' lies flat on its plane, where it "
                    "touches along a whole circle and rolling is not defined",
                )
            )
    return tuple(result)


def _curvature_measure(trace: ContactTrace) -> SingularityMeasure:
    """The smaller eigenvalue of the relative curvature; a negative one counts as zero."""
    assert trace.curvatures is not None
    name = trace.contact.name
    return SingularityMeasure(
        name=f"{name}.curvature",
        kind="contact",
        value=ca.fmax(trace.curvatures[0], 0),
        floor=1e-2,
        limit=1e-2,
        sentence=f"the relative curvature of contact '{name}' is not positive: beside its contact "
        "point the body touches the ground along a line or penetrates it",
    )


def _apart(pivots: list[ca.SX], usual: Array) -> list[ca.SX]:
    """Pivots over their usual magnitudes: all that have a sign, and the least of the others.

    The product of two that change their signs in one step would not show it.
    """
    scaled = [pivot / float(scale) for pivot, scale in zip(pivots, usual, strict=True)]
    magnitudes = [value for value in scaled if _is_magnitude(value)]
    signed = [value for value in scaled if not _is_magnitude(value)]
    return signed + ([functools.reduce(ca.fmin, magnitudes)] if magnitudes else [])


def _is_magnitude(value: ca.SX) -> bool:
    """Whether a scalar is never below zero by the way it is written: a root, or a ratio of them."""
    if value.is_constant() or value.is_symbolic():
        return value.is_constant() and float(value) >= 0.0
    if value.op() == ca.OP_DIV:
        return all(_is_magnitude(value.dep(k)) for k in range(2))
    return value.op() in (ca.OP_SQRT, ca.OP_FABS, ca.OP_SQ)
