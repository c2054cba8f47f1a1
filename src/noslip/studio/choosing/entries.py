"""What comes from a page and must not be taken as it is: options by name, and typed values."""

from __future__ import annotations

from collections.abc import Mapping

from noslip.errors import SimulationError, nearest
from noslip.model import expressions
from noslip.model.expressions import ExpressionError
from noslip.studio.choosing.choice import TASKS, WAYS
from noslip.studio.choosing.forms import FAMILIES, controller_labels, form_kinds

#: Options of a choice that are words → the words there are.
WORDS: dict[str, tuple[str, ...]] = {
    "formulation": tuple(WAYS),
    "task": tuple(TASKS),
}


def check_options(options: Mapping[str, object]) -> None:
    """Refuse words that no list of the page has; a browser can send anything."""
    members = {family: form_kinds(family) for family in FAMILIES if family in options}
    if "controller" in options:
        members["controller"] = tuple(controller_labels())
    for key, value in options.items():
        known = (WORDS | members).get(key)
        if known is not None and value not in known:
            raise SimulationError(f"there is no {key} '{value}'", key, nearest(str(value), known))


def read_assignment(text: str, known: Mapping[str, float]) -> tuple[str, float]:
    """Name and number of ``name = value``, as ``--set`` takes it.

    Parameters
    ----------
    text : what was typed; the value may be an expression.
    known : numbers that the expression may use.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise SimulationError(f"'{text}' is not NAME=VALUE", "set", "write for example r=0.1")
    try:
        tree = expressions.parse(value)
        return name, float(expressions.evaluate(tree, dict(known), expressions.NUMBERS))
    except (ExpressionError, ArithmeticError, ValueError) as error:
        raise SimulationError(
            f"the value '{value}' cannot be read: {error}", "set", "write a number"
        ) from None
    except KeyError as error:
        raise SimulationError(
            f"the value '{value}' uses {error}, which is not known",
            "set",
            nearest(str(error).strip("'"), known),
        ) from None
