"""Dependence of an expression on some of its names, decided on its tree alone.

A constraint row must be linear in the speeds, a given wrench in the inputs. The answer is
structural: ``x*y/y`` counts as nonlinear in y although it is not, and nothing is ever simplified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum

from noslip.expressions import CONSTANTS, Expression, Measure, Name, Number, fold


class Dependence(IntEnum):
    """Dependence of an expression on chosen names, from none to nonlinear."""

    CONSTANT = 0
    LINEAR = 1
    AFFINE = 2
    NONLINEAR = 3


def dependence(
    expression: Expression,
    names: Mapping[str, Dependence],
    of_measure: Callable[[Measure], Dependence] = lambda _: Dependence.CONSTANT,
) -> Dependence:
    """Dependence of `expression` on `names`, everything else held constant.

    Parameters
    ----------
    expression : Expression
        A tree from :func:`noslip.expressions.arithmetic.parse`.
    names : mapping
        How the names that vary, such as the speeds, count by themselves; definitions may be
        nonlinear.
    of_measure : function
        How a measure of the motion depends on them, its arguments held constant.

    Returns
    -------
    Dependence
        LINEAR is a sum of terms that each hold one of the names once; AFFINE has a constant added.
    """

    def leaf(node: Number | Name) -> tuple[Dependence, float | None]:
        if isinstance(node, Number):
            return Dependence.CONSTANT, node.value
        return names.get(node.name, Dependence.CONSTANT), CONSTANTS.get(node.name)

    def measure(
        node: Measure, arguments: list[tuple[Dependence, float | None]]
    ) -> tuple[Dependence, float | None]:
        is_moved = any(kind is not Dependence.CONSTANT for kind, _ in arguments)
        return Dependence.NONLINEAR if is_moved else of_measure(node), None

    return fold(expression, leaf, _combine, measure)[0]


def _combine(
    function: str, arguments: list[tuple[Dependence, float | None]]
) -> tuple[Dependence, float | None]:
    """Dependence of a call, and its number if it is a literal one."""
    kinds = [kind for kind, _ in arguments]
    varying = [kind for kind in kinds if kind is not Dependence.CONSTANT]
    if not varying:
        return Dependence.CONSTANT, None
    match function:
        case "neg":
            return kinds[0], None
        case "+" | "-":
            mixed = len(varying) == 1 and arguments[kinds.index(Dependence.CONSTANT)][1] != 0.0
            return max(varying[0], varying[-1], Dependence.AFFINE if mixed else varying[0]), None
        case "*" if len(varying) == 1:
            return varying[0], None
        case "/" if kinds[1] is Dependence.CONSTANT:
            return kinds[0], None
        case "**" if kinds[1] is Dependence.CONSTANT and arguments[1][1] == 1.0:
            return kinds[0], None
        case _:
            return Dependence.NONLINEAR, None
