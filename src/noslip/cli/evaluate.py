"""`noslip evaluate`: a model at an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from noslip.cli.options import json_option, read_changes, set_option, time_option

if TYPE_CHECKING:
    from noslip.model.model import Model


@click.command()
@click.argument("model")
@set_option
@time_option
@json_option
def evaluate(model: str, changes: tuple[str, ...], time: float, as_json: bool) -> None:
    """Accelerations, mass matrix, energies and reactions at a state.

    What is not set is completed consistently from the joints' rest positions.
    """
    from noslip.analysis.instant import evaluate as evaluate_state
    from noslip.engines.system import System
    from noslip.formulations.derive import derive as derive_equations
    from noslip.library import load
    from noslip.show.json_text import json_text
    from noslip.simulation.starts.completion import start_names

    loaded = load(model)
    system = System(equations=derive_equations(loaded))
    values = read_changes(loaded, changes)
    parameters = [p.name for p in loaded.parameters]
    inputs = [q.name for q in system.inputs]
    for name in values:
        _check_name(loaded, name, [*parameters, *inputs, *start_names(system)])
    numbers = {name: value for name, value in values.items() if not isinstance(value, str)}
    instant = evaluate_state(
        system,
        {n: x for n, x in numbers.items() if n not in (*parameters, *inputs)},
        inputs={n: x for n, x in values.items() if n in inputs},
        parameters={n: x for n, x in numbers.items() if n in parameters},
        time=time,
    )
    if as_json:
        click.echo(json_text(instant.to_json()))
    else:
        click.echo(instant.text())


def _check_name(model: Model, name: str, known: list[str]) -> None:
    """Refuse what is neither a parameter nor a start value nor an input."""
    from noslip.errors import SimulationError, nearest

    if name in known:
        return
    what = f"there is no parameter, start value or input '{name}'"
    fix = nearest(name, known, more="`noslip check` lists them")
    if model.scenario and name in {p.name for p in model.scenario.parameters}:
        what = f"'{name}' is a number of the scenario, which evaluate does not follow"
        fix = "leave it out, or use `noslip run`"
    raise SimulationError(what, f"model '{model.name}'", fix)
