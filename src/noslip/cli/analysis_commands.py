"""`noslip evaluate`, `steady` and `linearize`: a model at a state and about steady motions."""

from __future__ import annotations

import math
import os
from pathlib import Path

import click

import noslip as ns
from noslip.cli.console import fitted
from noslip.cli.options import (
    check_target,
    column_option,
    force_option,
    guess_option,
    json_option,
    named_values,
    read_columns,
    read_constants,
    set_option,
    time_option,
)

#: Values of a sweep, if the range does not say how many, and at most.
COUNT, MOST = 101, 100_000


@click.command()
@click.argument("model")
@set_option
@guess_option
@column_option
@time_option
@json_option
def evaluate(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    columns: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Show accelerations, mass matrix, energies and reactions at a state.

    Values that are not set follow from the constraints, starting from the joints' rest positions.
    """
    from noslip.show import json_text

    system = ns.System(equations=ns.derive(ns.load(model)))
    state, inputs, parameters = named_values(system, changes)
    instant = ns.evaluate(
        system,
        state,
        inputs=inputs,
        parameters=parameters,
        guess=read_constants(system.model, guesses, "--guess"),
        outputs=read_columns(columns),
        time=time,
    )
    click.echo(json_text(instant.to_json()) if as_json else fitted(instant.text()))


@click.command()
@click.argument("model")
@set_option
@click.option(
    "--at",
    multiple=True,
    metavar="NAME=VALUE",
    help="A coordinate of a configuration to look at beside random ones. Repeatable.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="A coordinate to leave out, or a joint, such as a wheel's. Repeatable.",
)
@json_option
def geometry(
    model: str,
    changes: tuple[str, ...],
    at: tuple[str, ...],
    without: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say what of the constraints integrates, what brackets reach, and what symmetries give.

    Ranks are those of random configurations; with --at, those of one configuration, too.
    """
    from noslip.show import json_text

    loaded = ns.load(model)
    parameters = read_constants(loaded, changes)
    found: dict[str, ns.results.Distribution | ns.results.Controllability | ns.results.Structure]
    found = {
        "distribution": ns.distribution(
            loaded,
            at=read_constants(loaded, at, "--at") or None,
            without=without,
            parameters=parameters,
        ),
        "controllability": ns.controllability(loaded, parameters=parameters),
        "structure": ns.structure(loaded, parameters=parameters),
    }
    if as_json:
        click.echo(json_text({word: part.to_json() for word, part in found.items()}))
    else:
        click.echo(fitted("\n\n".join(part.text() for part in found.values())))


@click.command()
@click.argument("model")
@set_option
@guess_option
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="An input to solve for, so that it maintains the motion. Repeatable.",
)
@time_option
@json_option
def steady(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    find: tuple[str, ...],
    time: float,
    as_json: bool,
) -> None:
    """Find a steady motion: an equilibrium, straight running, a turn.

    Use --set for the values that the motion must have, inputs and parameters.
    """
    from noslip.analysis import split_changes
    from noslip.show import json_text

    loaded = ns.load(model)
    with ns.ProgressBar() as bar:
        system = ns.System(equations=ns.derive(loaded))
        split = split_changes(system, read_constants(loaded, changes))
        bar("searching")
        motion = ns.steady(
            system,
            split.start,
            guess=read_constants(loaded, guesses, "--guess"),
            find=find,
            inputs=split.inputs,
            parameters=split.parameters,
            time=time,
        )
    click.echo(json_text(motion.to_json()) if as_json else fitted(motion.text()))


@click.command()
@click.argument("model")
@set_option
@guess_option
@click.option(
    "--steady",
    "search",
    is_flag=True,
    help=(
        "Search for a steady motion with the given values; otherwise they must describe one "
        "already."
    ),
)
@click.option(
    "--find",
    multiple=True,
    metavar="INPUT",
    help="With --steady: an input to solve for, so that it maintains the motion. Repeatable.",
)
@click.option(
    "--sweep",
    "sweeps",
    multiple=True,
    metavar="NAME=LOW:HIGH[:COUNT]",
    help="Plot eigenvalues over a range of a speed, coordinate, angle, input or parameter.",
)
@click.option(
    "--tie",
    "ties",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help="Another value that changes with the swept one, as an expression of it. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Figure of the sweep: .png, .svg or .pdf; in runs/ by default.",
)
@force_option
@click.option(
    "--style",
    type=click.Choice(["screen", "paper", "slide"]),
    default="screen",
    show_default=True,
    help="Size and fonts of the figure.",
)
@time_option
@json_option
def linearize(
    model: str,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    search: bool,
    find: tuple[str, ...],
    sweeps: tuple[str, ...],
    ties: tuple[str, ...],
    output: Path | None,
    force: bool,
    style: str,
    time: float,
    as_json: bool,
) -> None:
    """Linearize a model about an equilibrium or a steady motion.

    Use --set for coordinates, speeds, angles, inputs and parameters of the motion; the others
    follow from the constraints. An input that is an expression of coordinates and speeds is
    feedback. Shows states, eigenvalues and their meaning.
    """
    from noslip.show import json_text

    if len(sweeps) > 1:
        raise click.UsageError("--sweep is given twice: one value is swept at a time")
    if output is not None and not sweeps:
        raise click.UsageError("-o names the figure of a sweep: add --sweep NAME=LOW:HIGH")
    if find and not search:
        raise click.UsageError("--find needs --steady")
    if ties and not sweeps:
        raise click.UsageError("--tie names what changes with a sweep: add --sweep NAME=LOW:HIGH")
    loaded = ns.load(model)
    guess = read_constants(loaded, guesses, "--guess")
    if not sweeps:
        with ns.ProgressBar() as bar:
            system = ns.System(equations=ns.derive(loaded))
            bar("linearizing")
            result = _linearize(system, changes, guess, search, find, time)
        click.echo(json_text(result.to_json()) if as_json else fitted(result.text()))
        return
    name, points = _range(sweeps[0])
    target = _figure(loaded.name, name, output, force, as_json)
    with ns.ProgressBar("linearizing") as bar:
        system = ns.System(equations=ns.derive(loaded))
        about, inputs, parameters = named_values(system, changes)
        swept = ns.sweep_eigenvalues(
            system,
            name,
            points,
            about=about,
            inputs=inputs,
            parameters=parameters,
            tied=dict(_tie(text) for text in ties),
            guess=guess,
            search=search,
            find=find,
            progress=bar,
            time=time,
        )
        if target is not None:
            from noslip.base import made_parents

            with made_parents(target):
                ns.plot(swept, title=swept.model, style=style, save=target)
    click.echo(json_text(swept.to_json()) if as_json else fitted(swept.text()))
    if target is not None and not as_json:
        click.echo(f"  figure  {target}")


def _linearize(
    system: ns.System,
    changes: tuple[str, ...],
    guess: dict[str, float],
    search: bool,
    find: tuple[str, ...],
    time: float,
) -> ns.results.Linearization:
    about, inputs, parameters = named_values(system, changes)
    if not search:
        return ns.linearize(
            system, about, inputs=inputs, parameters=parameters, guess=guess, time=time
        )
    numbers = {name: x for name, x in inputs.items() if not isinstance(x, str)}
    if len(numbers) < len(inputs):
        raise click.UsageError("--steady takes inputs that are numbers; leave it out for feedback")
    motion = ns.steady(
        system, about, guess=guess, find=find, inputs=numbers, parameters=parameters, time=time
    )
    return ns.linearize(system, motion.start, inputs=motion.inputs, parameters=parameters)


def _tie(text: str) -> tuple[str, str]:
    """NAME and EXPRESSION."""
    name, equals, expression = (part.strip() for part in text.partition("="))
    if not (name and equals and expression):
        raise click.UsageError(f"--tie {text!r}: write NAME=EXPRESSION, such as m2=2*m1")
    return name, expression


def _range(text: str) -> tuple[str, list[float]]:
    """Name and values of NAME=LOW:HIGH[:COUNT]."""
    name, _, ends = (part.strip() for part in text.partition("="))
    parts = ends.split(":")
    try:
        low, high = float(parts[0]), float(parts[1])
        count = int(parts[2]) if len(parts) == 3 else COUNT
    except (ValueError, IndexError):
        low, high, count = 0.0, 0.0, 0
    is_range = low < high and math.isfinite(high - low)
    if not (name and 2 <= len(parts) <= 3 and is_range and 2 <= count <= MOST):
        raise click.UsageError(
            f"--sweep {text!r}: write NAME=LOW:HIGH or NAME=LOW:HIGH:COUNT with numbers LOW below "
            f"HIGH and COUNT from 2 to {MOST}, such as speed=0:10 or speed=0:10:21"
        )
    return name, [low + (high - low) * k / (count - 1) for k in range(count)]


def _figure(model: str, name: str, output: Path | None, force: bool, as_json: bool) -> Path | None:
    """Path of the figure; None with --json or without Matplotlib, unless --output asks for one."""
    from noslip.base import install_command, is_installed

    if output is not None:
        from noslip.show import FigureFile

        FigureFile(output)
        check_target(output, force)
        return output
    if as_json:
        return None
    if not is_installed("matplotlib"):
        click.echo(f"note: a chart needs more packages: {install_command('show')}", err=True)
        return None
    folder = Path("runs")
    stem, number = f"{model}-{name}", 2
    target = folder / f"{stem}.png"
    while os.path.exists(target):
        target, number = folder / f"{stem}-{number}.png", number + 1
    return target
