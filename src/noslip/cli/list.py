"""`noslip list`: the models of the library."""

from __future__ import annotations

import click

from noslip.cli.options import json_option


@click.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the models of the library."""
    from noslip.library import MODELS, load
    from noslip.show.json_text import json_text

    models = {name: load(name).description for name in MODELS}
    if as_json:
        click.echo(json_text(models))
        return
    width = max(map(len, models))
    for name, description in models.items():
        click.echo(f"{name:<{width}}  {description}")
