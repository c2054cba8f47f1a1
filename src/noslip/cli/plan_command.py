"""`noslip plan`: the best motion from here to there, and a folder with its exact replay."""

from __future__ import annotations

import math
import re
from typing import Any

import click

import noslip as ns
from noslip.cli.console import cancelling, fitted
from noslip.cli.options import NUMBER, read_changes, set_option
from noslip.cli.run_commands import Output, output_options, write_output


def _pairs(option: str, texts: tuple[str, ...], known: dict[str, float]) -> dict[str, Any]:
    """NAME=VALUE,NAME=VALUE as numbers, or LOW..HIGH as pairs; ``90deg`` is an angle."""
    from noslip.expressions import ExpressionError, nominal

    def number(text: str, said: str) -> float:
        plain = re.sub(r"(\d\.?)\s*(deg|°)$", r"\1*pi/180", text.strip())
        try:
            value = float(nominal(plain, known))
        except (ExpressionError, KeyError):
            value = math.nan
        if not math.isfinite(value):
            raise click.UsageError(
                f"{said}: '{text.strip()}' is not a number or an expression of parameters"
            )
        return value

    found: dict[str, Any] = {}
    for text in texts:
        for entry in text.split(","):
            name, equals, value = (part.strip() for part in entry.partition("="))
            said = f"{option} {entry.strip()!r}"
            if not equals or not name:
                raise click.UsageError(f"{said}: write NAME=VALUE, such as {option} base.x=2.5")
            if name in found:
                raise click.UsageError(f"{said}: '{name}' is given twice")
            low, pair, high = value.removeprefix("±").partition("..")
            found[name] = (number(low, said), number(high, said)) if pair else number(low, said)
    return found


@click.command()
@click.argument("model")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    required=True,
    metavar="NAME=VALUE,…",
    help="Where it ends, as in base.x=2.5,base.angle=90deg; LOW..HIGH for a range. Repeatable.",
)
@click.option(
    "--start",
    "starts",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Where it begins; zero where nothing is said. Repeatable.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Largest magnitude, or LOW..HIGH, of an input, a coordinate, a speed. Repeatable.",
)
@click.option(
    "--obstacle",
    "obstacles",
    multiple=True,
    metavar="TEXT",
    help="Such as 'disc:center=1,0;radius=0.3', 'polygon:points=0,0,1,0,1,1' or "
    "'map:floor.png;resolution=0.05'. Repeatable.",
)
@click.option("--clearance", type=NUMBER, default=0.0, help="Least distance to obstacles, m.")
@click.option("--friction", type=NUMBER, help="Coefficient of the ground: no wheel slips or lifts.")
@click.option(
    "--minimize",
    default="time",
    show_default=True,
    help="time, energy, effort, or an expression that is integrated.",
)
@click.option("--duration", type=NUMBER, help="Duration in s; open by default.")
@click.option("--intervals", type=int, default=40, show_default=True, help="Pieces of the motion.")
@click.option(
    "--refine/--no-refine",
    default=True,
    show_default=True,
    help="Refine until the replay is within 1 mm and keeps every limit.",
)
@click.option(
    "--time-limit", type=NUMBER, default=60.0, show_default=True, help="Seconds of work at most."
)
@set_option
@output_options
def plan(
    model: str,
    goals: tuple[str, ...],
    starts: tuple[str, ...],
    limits: tuple[str, ...],
    obstacles: tuple[str, ...],
    clearance: float,
    friction: float | None,
    minimize: str,
    duration: float | None,
    intervals: int,
    refine: bool,
    time_limit: float,
    changes: tuple[str, ...],
    output: Output,
) -> None:
    """Plan the best motion from a start to a goal and write a folder with its exact replay."""
    from noslip.analysis import split_changes
    from noslip.control import read_form

    loaded = ns.load(model)
    target = output.target(f"{loaded.name}-plan")
    known = loaded.parameter_values()
    goal, start, bounds = (
        _pairs(option, texts, known)
        for option, texts in (("--goal", goals), ("--start", starts), ("--limit", limits))
    )
    things = [read_form(ns.obstacles.AbstractObstacle, text) for text in obstacles]
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded))
        parameters, more = split_changes(
            system, read_changes(loaded, changes)
        ).parameters_and_start()
        with cancelling() as cancel:
            found = ns.plan(
                system,
                start={**more, **start},
                goal=goal,
                limits=bounds,
                friction=friction,
                obstacles=things,
                clearance=clearance,
                minimize=minimize,
                duration=duration,
                intervals=intervals,
                parameters=parameters,
                time_limit=time_limit,
                progress=bar,
                cancel=cancel,
            )
            if refine:
                found = found.refine()
        facts = {"plan": found.summary().replace("\n", "; ")}
        text, _ = write_output(
            system,
            found.run,
            target,
            output,
            friction=friction,
            tell=bar,
            facts=facts,
        )
    if not output.as_json:
        click.echo(fitted(found.summary()))
    click.echo(text if output.as_json else fitted(text))
    if not found.run.success:
        raise SystemExit(1)
