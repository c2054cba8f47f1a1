"""`noslip derive` and `noslip verify`: equations of motion, shown and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import noslip as ns
from noslip.cli.options import check_target, force_option, json_option

if TYPE_CHECKING:
    from noslip.formulations.base import AbstractFormulation

#: Format → how the name of its files ends.
ENDINGS = {"text": ".txt", "latex": ".tex", "html": ".html", "markdown": ".md"}


def formulations() -> dict[str, AbstractFormulation]:
    """All formulations by the word that --method takes, those of plugins too."""
    from noslip.formulations.catalog import known_formulations

    return known_formulations()


class Method(click.ParamType):
    """Click parameter type: the word of a formulation, looked up lazily."""

    name = "method"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The words, for help."""
        return f"[{'|'.join(formulations())}]"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself, if there is such a formulation."""
        words = formulations()
        if value not in words:
            self.fail(f"'{value}' is not one of {', '.join(words)}.", param, ctx)
        return value


@click.command()
@click.argument("model")
@click.option(
    "--method",
    type=Method(),
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
    equations = ns.derive(ns.load(model), formulations()[method])
    text = ns.equations_text(equations, format_ or "text")
    if output is None:
        click.echo(text)
        return
    from noslip.atomic import write_atomically

    write_atomically(output, lambda temporary: temporary.write_text(text + "\n", "utf-8"))
    click.echo(output)


def _format_of(target: Path, asked: str | None) -> str:
    """The format by the suffix of a file; a suffix that contradicts --format is refused."""
    kind = target.suffix.lower()
    found = next((f for f, ending in ENDINGS.items() if ending == kind), None)
    if found is None:
        raise ns.SimulationError(
            f"equations cannot be written as '{target.suffix or target.name}'",
            str(target),
            "let the name of the file end in .txt, .tex, .html or .md",
        )
    if asked is not None and asked != found:
        raise ns.SimulationError(
            f"the file's name says {found}, but --format {asked} is given",
            str(target),
            f"let the name of the file end in {ENDINGS[asked]}, or leave --format out",
        )
    if not target.parent.is_dir():
        raise ns.SimulationError(
            f"there is no folder '{target.parent}'",
            str(target),
            "make it, or correct the path",
        )
    return found


@click.command()
@click.argument("model")
@click.option("--states", type=click.IntRange(1), default=6, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def verify(model: str, states: int, seed: int, as_json: bool) -> None:
    """Compare all formulations at random states and print the certificate."""
    from noslip.show.json_text import json_text

    certificate = ns.verify(ns.load(model), states=states, seed=seed)
    click.echo(json_text(certificate.to_json()) if as_json else certificate.text())
    if not certificate.holds:
        raise SystemExit(1)
