"""`noslip evaluate`: a model at an instant."""

from __future__ import annotations

import json

import click

from noslip.cli.options import json_option, read_changes, set_option


@click.command()
@click.argument("model")
@set_option
@click.option("--time", "at", type=float, default=0.0, show_default=True, help="s")
@json_option
def evaluate(model: str, changes: tuple[str, ...], at: float, as_json: bool) -> None:
    """Accelerations, mass matrix, energies and reactions at a state.

    What is not set is completed consistently from the joints' rest positions.
    """
    from noslip.analysis.instant import evaluate as evaluate_state
    from noslip.engines.system import System
    from noslip.formulations.base import derive as derive_equations
    from noslip.library import load

    loaded = load(model)
    system = System(equations=derive_equations(loaded))
    values = read_changes(loaded, changes)
    parameters = {p.name for p in loaded.parameters}
    inputs = {q.name for q in system.inputs}
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    instant = evaluate_state(
        system,
        {n: x for n, x in numbers.items() if n not in parameters | inputs},
        inputs={n: x for n, x in values.items() if n in inputs},
        parameters={n: x for n, x in numbers.items() if n in parameters},
        time=at,
    )
    if as_json:
        click.echo(json.dumps(instant.to_json(), indent=2))
    else:
        click.echo(instant.text())
