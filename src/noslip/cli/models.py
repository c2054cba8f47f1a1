"""`noslip list`, `check` and `expand`: the models of the library, and what one is made of."""

from __future__ import annotations

from pathlib import Path

import click

import noslip as ns
from noslip.cli.options import json_option


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the models of the library."""
    from noslip.show.json_text import json_text

    models = {name: ns.load(name).description for name in ns.MODELS}
    if as_json:
        click.echo(json_text(models))
        return
    width = max(map(len, models))
    for name, description in models.items():
        click.echo(f"{name:<{width}}  {description}")


@click.command()
@click.argument("model")
@json_option
def check(model: str, as_json: bool) -> None:
    """Check a model and show its bodies, coordinates, rows, degrees of freedom and inputs."""
    from noslip.show.json_text import json_text

    report = ns.check(ns.load(model))
    click.echo(json_text(report.to_json()) if as_json else report.text())


@click.command()
@click.argument("model")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@click.option("--force", is_flag=True, help="Replace that file.")
def expand(model: str, output: Path | None, force: bool) -> None:
    """Show what a model's parts expand to, as a model file that can be edited."""
    from noslip.model.files import model_to_toml

    found = ns.load(model)
    if output is None:
        click.echo(model_to_toml(found), nl=False)
    else:
        ns.save_model(found, output, overwrite=force)
