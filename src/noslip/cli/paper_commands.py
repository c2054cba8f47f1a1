"""`noslip papers`: the five papers, result by result, and their figures."""

from __future__ import annotations

from pathlib import Path

import click

import noslip as ns
from noslip.cli.options import check_target, force_option


@click.command()
@click.argument("words", nargs=-1, metavar="[PAPER] | figure PAPER NUMBER")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File of the figure: .png, .svg or .pdf.",
)
@force_option
def papers(words: tuple[str, ...], output: Path | None, force: bool) -> None:
    """List the reproduced results of the five papers, show one paper, or draw one of its figures.

    PAPER is saha1991, saha1989, desantis1994, cameron1993 or antunes2010.
    """
    from noslip.show import papers_text

    if words and words[0] == "figure":
        if len(words) != 3 or not words[2].isdigit():
            raise click.UsageError("write noslip papers figure PAPER NUMBER, such as saha1989 4")
        _draw(words[1], int(words[2]), output, force)
        return
    if len(words) > 1:
        raise click.UsageError("one paper at a time; a figure is drawn by: figure PAPER NUMBER")
    if output is not None:
        raise click.UsageError("-o names the file of a figure")
    click.echo(papers_text(words[0] if words else None))


def _draw(paper: str, number: int, output: Path | None, force: bool) -> None:
    from noslip import paper_figure
    from noslip.base import made_parents
    from noslip.show import FigureFile

    if output is not None:
        FigureFile(output)
    target = output or Path("runs") / f"{paper}-figure-{number}.png"
    check_target(target, force)
    with ns.ProgressBar() as bar:
        bar("simulating and drawing")
        figure = paper_figure(paper, number)
        with made_parents(target):
            written = FigureFile(target).save(figure)
    click.echo(written)
