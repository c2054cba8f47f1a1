"""`noslip derive`: the equations of motion, shown."""

from __future__ import annotations

import click


@click.command()
@click.argument("model")
@click.option(
    "--method",
    type=click.Choice(
        [
            *("complement", "desantis", "boltzmann-hamel", "gibbs-appell", "multipliers"),
            "vakonomic",
        ]
    ),
    default="complement",
    show_default=True,
    help="Formulation; vakonomic is another mechanics.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "latex", "html", "markdown"]),
    default="text",
    show_default=True,
)
def derive(model: str, method: str, format_: str) -> None:
    """Derive the equations of motion and show them."""
    from noslip.formulations.base import derive as derive_equations
    from noslip.formulations.vakonomic import Vakonomic
    from noslip.formulations.verify import FORMULATIONS
    from noslip.library import load
    from noslip.show.equations.text import equations_text

    formulation = {f.word: f for f in (*FORMULATIONS, Vakonomic())}[method]
    click.echo(equations_text(derive_equations(load(model), formulation), format_))
