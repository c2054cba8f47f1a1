"""`noslip derive`: the equations of motion, shown."""

from __future__ import annotations

from pathlib import Path

import click

from noslip.cli.options import check_target, force_option

#: Format → how the name of its files ends.
ENDINGS = {"text": ".txt", "latex": ".tex", "html": ".html", "markdown": ".md"}


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
    help="Formulation; vakonomic is a different theory.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(ENDINGS)),
    help="text by default; that of the file with -o.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write instead of printing, .txt, .tex, .html or .md.",
)
@force_option
def derive(model: str, method: str, format_: str | None, output: Path | None, force: bool) -> None:
    """Derive the equations of motion and show them."""
    if output is not None:
        format_ = _format_of(output, format_)
        check_target(output, force)
    from noslip.formulations.derive import derive as derive_equations
    from noslip.formulations.vakonomic import Vakonomic
    from noslip.formulations.verify import FORMULATIONS
    from noslip.library import load
    from noslip.show.equations.text import equations_text

    formulation = {f.word: f for f in (*FORMULATIONS, Vakonomic())}[method]
    text = equations_text(derive_equations(load(model), formulation), format_ or "text")
    if output is None:
        click.echo(text)
        return
    from noslip.atomic import write_atomically

    write_atomically(output, lambda temporary: temporary.write_text(text + "\n", "utf-8"))
    click.echo(output)


def _format_of(target: Path, asked: str | None) -> str:
    """The format that the ending of a file's name says; another one than asked for is refused."""
    from noslip.errors import SimulationError

    kind = target.suffix.lower()
    found = next((f for f, ending in ENDINGS.items() if ending == kind), None)
    if found is None:
        raise SimulationError(
            f"equations cannot be written as '{target.suffix or target.name}'",
            str(target),
            "let the name of the file end in .txt, .tex, .html or .md",
        )
    if asked is not None and asked != found:
        raise SimulationError(
            f"the file's name says {found}, but --format {asked} is given",
            str(target),
            f"let the name of the file end in {ENDINGS[asked]}, or leave --format out",
        )
    if not target.parent.is_dir():
        raise SimulationError(
            f"there is no folder '{target.parent}'", str(target), "make it, or correct the path"
        )
    return found
