"""`noslip check`: what a model is made of."""

from __future__ import annotations

import click

from noslip.cli.options import json_option


@click.command()
@click.argument("model")
@json_option
def check(model: str, as_json: bool) -> None:
    """Check a model and show its bodies, coordinates, rows, degrees of freedom and inputs."""
    from noslip.library import load
    from noslip.show.check import check as check_report
    from noslip.show.json_text import json_text

    report = check_report(load(model))
    click.echo(json_text(report.to_json()) if as_json else report.text())
