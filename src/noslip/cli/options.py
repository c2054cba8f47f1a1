"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noslip.model.model import Model


set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, start value or input; VALUE may be an expression of parameters. Repeatable.",
)
plots_option = click.option(
    "--plots/--no-plots",
    default=True,
    show_default=True,
    help="Draw the figures; without them there is no report either, unless it is asked for.",
)
report_option = click.option(
    "--report/--no-report", default=None, help="Write the report, one page for people."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def read_triple(option: str, text: str) -> tuple[float | str, float | str, float | str]:
    """Three numbers or expressions of parameters, separated by commas."""
    parts = [p.strip() for p in text.split(",")]
    if len(parts) != 3 or not all(parts):
        raise click.UsageError(f"{option} {text!r}: write three values, such as 0,-a,0")
    return parts[0], parts[1], parts[2]


def read_changes(model: Model, changes: tuple[str, ...]) -> dict[str, float]:
    """--set NAME=VALUE pairs; a value is an expression of the model's parameters."""
    from noslip.model import expressions

    known = model.parameter_values()
    if model.scenario is not None:
        known |= {p.name: p.value for p in model.scenario.parameters}
    values: dict[str, float] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--set {change!r}: write NAME=VALUE, such as --set r=0.1")
        try:
            tree = expressions.parse(text)
            value = float(expressions.evaluate(tree, known | values, expressions.NUMBERS))
        except (expressions.ExpressionError, ArithmeticError, ValueError) as error:
            raise click.UsageError(f"--set {change!r}: the value cannot be read: {error}") from None
        except KeyError as error:
            raise click.UsageError(
                f"--set {change!r}: there is no parameter {error} to compute the value from"
            ) from None
        values[name.strip()] = value
    return values
