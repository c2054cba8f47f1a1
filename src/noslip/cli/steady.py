"""`noslip steady`: a steady motion that has given values."""

from __future__ import annotations

import click

from noslip.cli.linearize import constants
from noslip.cli.options import json_option, set_option, time_option


@click.command()
@click.argument("model")
@set_option
@click.option(
    "--guess",
    "guesses",
    multiple=True,
    metavar="NAME=VALUE",
    help="Where to look first; the motion found may have another value. Repeatable.",
)
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="An input to be found that keeps the motion. Repeatable.",
)
@time_option
@json_option
def steady(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    find: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Find a steady motion: an equilibrium, straight running, a turn.

    What is set are the values it must have, inputs and parameters.
    """
    from noslip.analysis.eigenvalue_sweep import split_changes
    from noslip.analysis.steady import steady as find_steady
    from noslip.engines.system import System
    from noslip.formulations.derive import derive as derive_equations
    from noslip.library import load
    from noslip.show.json_text import json_text

    loaded = load(model)
    system = System(equations=derive_equations(loaded))
    given, inputs, parameters = split_changes(system, constants(loaded, changes))
    motion = find_steady(
        system,
        given,
        guess=constants(loaded, guesses, "--guess"),
        find=find,
        inputs=inputs,
        parameters=parameters,
        time=time,
    )
    click.echo(json_text(motion.to_json()) if as_json else motion.text())
