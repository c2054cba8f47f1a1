"""Commands about families of motions.

**`noslip branch`: motions over a value that is varied, and where they change.**

**`noslip periodic`: a motion that repeats, and its Floquet multipliers.**

**`noslip chart`: stability over two values. `noslip lyapunov`: how fast neighbors part.**
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
    read_changes,
    read_constants,
    set_option,
    time_option,
    tolerance_option,
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
    "--period",
    metavar="TIME",
    help="Follow motions that repeat after about this time in s; an expression of parameters if "
    "inputs depend on time, as in 2*pi/w.",
)
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
    period: str | None,
    find: tuple[str, ...],
    crossing: bool,
    step: float,
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Follow a family of motions over a value, around folds, and say where it changes.

    Use --set for values that all these motions have, inputs and parameters. They are steady, or
    with --period repeat; then --guess says where the first begins. Folds, branch points, Hopf
    points, period doublings and limits of stability are located.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    name, low, high = _varied(vary)
    loaded = ns.load(model)
    target = figure_target(loaded.name, name, output, force, as_json)
    with ns.ProgressBar("following") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, _changes(loaded, changes, period))
        found = ns.branch(
            system,
            {name: (low, high)},
            given=split.start,
            at=at,
            guess=read_constants(loaded, guesses, "--guess") or None,
            period=None if period is None else _period(period),
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


@click.command()
@click.argument("model")
@click.option(
    "--period",
    required=True,
    metavar="TIME",
    help="Where to look first, in s; what it is if inputs depend on time, an expression of "
    "parameters, as in 2*pi/w.",
)
@set_option
@guess_option
@time_option
@json_option
def periodic(
    model: str,
    period: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Find a motion that repeats, up to a place and a heading, and its Floquet multipliers.

    Use --set for values that its start must have, inputs and parameters, --guess for where the
    search begins.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    loaded = ns.load(model)
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_changes(loaded, changes))
        bar("searching")
        found = ns.periodic(
            system,
            read_constants(loaded, guesses, "--guess"),
            period=_period(period),
            given=split.start,
            inputs=split.inputs,
            parameters=split.parameters,
            start_time=time,
        )
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))


@click.command()
@click.argument("model")
@click.option(
    "--vary",
    multiple=True,
    required=True,
    metavar="NAME=LOW:HIGH[:COUNT]",
    help="A speed, coordinate, angle, input or parameter, and its range. Given twice.",
)
@set_option
@click.option(
    "--steady",
    "search",
    is_flag=True,
    help="Search for a steady motion at each point; otherwise the values must describe one.",
)
@guess_option
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="With --steady: an input to solve for, so that it maintains the motion. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Figure of the chart: .png, .svg or .pdf; in runs/ by default.",
)
@force_option
@style_option
@time_option
@json_option
def chart(
    model: str,
    vary: tuple[str, ...],
    changes: tuple[str, ...],
    search: bool,
    guesses: tuple[str, ...],
    find: tuple[str, ...],
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Draw where steady motions are stable over two values.

    Use --set for further values of the motions, inputs and parameters.
    """
    from noslip.analysis import split_changes
    from noslip.base import made_parents
    from noslip.show import json_text

    sides = dict(_side(text) for text in vary)
    if len(sides) != 2 or len(vary) != 2:
        raise click.UsageError("--vary is given twice, with two names")
    if (find or guesses) and not search:
        raise click.UsageError("--find and --guess need --steady")
    loaded = ns.load(model)
    target = figure_target(loaded.name, "-".join(sides), output, force, as_json)
    with ns.ProgressBar("charting") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_constants(loaded, changes))
        found = ns.stability_chart(
            system,
            sides,
            about=split.start,
            search=search,
            guess=read_constants(loaded, guesses, "--guess") or None,
            find=find,
            inputs=split.inputs,
            parameters=split.parameters,
            time=time,
            progress=bar,
        )
        if target is not None:
            with made_parents(target):
                ns.plot(found, title=found.model, style=style, save=target)
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))
    if target is not None and not as_json:
        click.echo(f"  figure  {target}")


def _side(text: str) -> tuple[str, tuple[float, ...]]:
    """Name and range of NAME=LOW:HIGH[:COUNT]."""
    name, _, ends = (part.strip() for part in text.partition("="))
    try:
        numbers = tuple(float(part) for part in ends.split(":"))
    except ValueError:
        numbers = ()
    is_range = len(numbers) in (2, 3) and numbers[0] < numbers[1]
    if not (name and is_range and all(math.isfinite(x) for x in numbers)):
        raise click.UsageError(
            f"--vary {text!r}: write NAME=LOW:HIGH or NAME=LOW:HIGH:COUNT with numbers LOW below "
            "HIGH, such as speed=0:10 or speed=0:10:41"
        )
    return name, numbers


@click.command()
@click.argument("model")
@click.option("--duration", type=NUMBER, required=True, help="Time that is averaged over, s.")
@click.option(
    "--settle", type=NUMBER, default=0.0, show_default=True, help="Time to settle before it, s."
)
@click.option(
    "--spans",
    type=click.IntRange(2, 1_000_000),
    default=200,
    show_default=True,
    help="Number of times that neighbors are made orthonormal again.",
)
@set_option
@tolerance_option
@time_option
@json_option
def lyapunov(
    model: str,
    duration: float,
    settle: float,
    spans: int,
    changes: tuple[str, ...],
    tolerance: float,
    time: float,
    as_json: bool,
) -> None:
    """Compute the Lyapunov exponents of a motion: how fast its neighbors part.

    Use --set for its start, inputs and parameters.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    loaded = ns.load(model)
    with ns.ProgressBar("averaging") as bar:
        system = ns.compile(ns.derive(loaded))
        split = split_changes(system, read_changes(loaded, changes))
        found = ns.lyapunov_exponents(
            system,
            split.start,
            duration=duration,
            settle=settle,
            spans=spans,
            inputs=split.inputs,
            parameters=split.parameters,
            start_time=time,
            rtol=tolerance,
            progress=bar,
        )
    click.echo(json_text(found.to_json()) if as_json else fitted(found.text()))


def _changes(
    model: ns.Model, changes: tuple[str, ...], period: str | None
) -> dict[str, float] | dict[str, float | str]:
    """Values of --set; inputs of motions that repeat may be expressions."""
    return read_constants(model, changes) if period is None else read_changes(model, changes)


def _period(text: str) -> float | str:
    """A number in s, or an expression."""
    try:
        return float(text)
    except ValueError:
        return text


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
