"""Commands about families of motions.

**`noslip branch`: steady motions over a value that is varied, and where they change.**
"""

from __future__ import annotations

import math
from pathlib import Path

import click

import noslip as ns
from noslip.cli.analysis_commands import figure_target
from noslip.cli.console import fitted
from noslip.cli.options import (
    NUMBER,
    force_option,
    guess_option,
    json_option,
    read_constants,
    set_option,
    time_option,
)

style_option = click.option(
    "--style",
    type=click.Choice(["screen", "paper", "slide"]),
    default="screen",
    show_default=True,
    help="Size and fonts of the figure.",
)


@click.command()
@click.argument("model")
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="NAME=LOW:HIGH",
    help="The speed, coordinate, angle, input or parameter that is varied, and its range.",
)
@set_option
@click.option(
    "--at",
    type=NUMBER,
    help="Value at which the first motion is looked for; the lower end of the range by default.",
)
@guess_option
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="An input to solve for, so that it maintains the motion. Repeatable.",
)
@click.option(
    "--crossing/--no-crossing",
    default=True,
    show_default=True,
    help="Also follow the curves that cross at branch points.",
)
@click.option(
    "--step",
    type=NUMBER,
    default=0.02,
    show_default=True,
    help="Longest step between two points, as a part of the range.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Figure of the branch: .png, .svg or .pdf; in runs/ by default.",
)
@force_option
@style_option
@time_option
@json_option
def branch(
    model: str,
    vary: tuple[str, ...],
    changes: tuple[str, ...],
    at: float | None,
    guesses: tuple[str, ...],
    find: tuple[str, ...],
    crossing: bool,
    step: float,
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Follow a family of steady motions over a value, around folds, and say where it changes.

    Use --set for values that all these motions have, inputs and parameters. Folds, branch points,
    Hopf points and limits of stability are located.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    name, low, high = _varied(vary)
    loaded = ns.load(model)
    target = figure_target(loaded.name, name, output, force, as_json)
    with ns.ProgressBar("following") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_constants(loaded, changes))
        found = ns.branch(
            system,
            {name: (low, high)},
            given=split.start,
            at=at,
            guess=read_constants(loaded, guesses, "--guess") or None,
            find=find,
            inputs=split.inputs,
            parameters=split.parameters,
            crossing=crossing,
            step=step,
            time=time,
            progress=bar,
        )
        if target is not None:
            from noslip.base import made_parents

            with made_parents(target):
                ns.plot(found, title=found.model, style=style, save=target)
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))
    if target is not None and not as_json:
        click.echo(f"  figure  {target}")


def _varied(texts: tuple[str, ...]) -> tuple[str, float, float]:
    """Name, low and high of NAME=LOW:HIGH."""
    if len(texts) > 1:
        raise click.UsageError("--vary is given twice: one value is varied at a time")
    name, _, ends = (part.strip() for part in texts[0].partition("="))
    try:
        low, high = (float(part) for part in ends.split(":"))
    except ValueError:
        low, high = math.nan, math.nan
    if not (name and low < high and math.isfinite(high - low)):
        raise click.UsageError(
            f"--vary {texts[0]!r}: write NAME=LOW:HIGH with numbers LOW below HIGH, such as "
            "speed=0:10"
        )
    return name, low, high
