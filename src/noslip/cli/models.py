"""`noslip list`, `check`, `expand` and `schema`: models, what one is made of, and their keys."""

from __future__ import annotations

from pathlib import Path

import click

import noslip as ns
from noslip.cli.console import fitted
from noslip.cli.options import check_target, force_option, json_option


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the models of the library."""
    from noslip.show import json_text

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
    """Check a model; show its bodies, coordinates, constraints, degrees of freedom and inputs."""
    from noslip.show import json_text

    report = ns.check(ns.load(model))
    click.echo(json_text(report.to_json()) if as_json else fitted(report.text()))


@click.command()
@click.argument("model")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def expand(model: str, output: Path | None, force: bool) -> None:
    """Show a model with its parts expanded, as a model file that can be edited."""
    from noslip.model import model_to_toml

    found = ns.load(model)
    if output is None:
        click.echo(model_to_toml(found), nl=False)
    else:
        ns.save_model(found, output, overwrite=force)


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.")
@force_option
def schema(output: Path | None, force: bool) -> None:
    """Show the JSON Schema of model files, for completion and checks in editors.

    Name it in the first line of a model file, #:schema ./noslip.schema.json, for editors with
    Taplo (VS Code: Even Better TOML). It includes the members of plugins.
    """
    from noslip.base import write_atomically
    from noslip.model import model_schema
    from noslip.show import json_text

    text = json_text(model_schema())
    if output is None:
        click.echo(text)
        return
    check_target(output, force)
    write_atomically(output, lambda path: path.write_text(text + "\n", "utf-8"))
