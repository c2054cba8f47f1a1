"""`noslip verify`: five formulations, one answer."""

from __future__ import annotations

import click

from noslip.cli.options import json_option


@click.command()
@click.argument("model")
@click.option("--states", type=click.IntRange(1), default=6, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def verify(model: str, states: int, seed: int, as_json: bool) -> None:
    """Compare five formulations at random states and print the certificate."""
    from noslip.formulations.verify import verify as verify_model
    from noslip.library import load
    from noslip.show.json_text import json_text

    certificate = verify_model(load(model), states=states, seed=seed)
    click.echo(json_text(certificate.to_json()) if as_json else certificate.text())
    if not certificate.holds:
        raise SystemExit(1)
