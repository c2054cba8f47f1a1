"""`noslip fit`: parameters of a model from measured motions."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

import noslip as ns
from noslip.cli.console import fitted
from noslip.cli.options import (
    NUMBER,
    json_option,
    named_values,
    read_expressions,
    read_numbers,
    set_option,
    tolerance_option,
)


@click.command()
@click.argument("model")
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-p",
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME[:KEY=VALUE,…]",
    help="A parameter to estimate: m or m:guess=20,lower=1,upper=90,mean=25,sigma=2. Repeatable.",
)
@click.option(
    "--unknown-start",
    "unknown_starts",
    multiple=True,
    metavar="NAME[:KEY=VALUE,…]",
    help="A start value to estimate separately for each run. Repeatable.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help=(
        "A column to compare and what it measures, as in gps=platform.x+a; then only columns so "
        "named are used, by default all with the names of coordinates, speeds and angles. "
        "Repeatable."
    ),
)
@click.option(
    "--sigma",
    "sigmas",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Standard deviation of a column's noise; estimated if not given. Repeatable.",
)
@click.option(
    "--definition",
    "definitions",
    multiple=True,
    metavar="NAME=VALUE",
    help="A number for use in --column, which --parameter can estimate, as in bias=0. Repeatable.",
)
@click.option(
    "--held",
    is_flag=True,
    help="Hold the values of input columns between samples instead of interpolating.",
)
@click.option(
    "--level",
    type=NUMBER,
    default=0.95,
    show_default=True,
    help="Level of the confidence intervals.",
)
@click.option(
    "--gradients",
    type=click.Choice(["forward", "adjoint"]),
    default="forward",
    show_default=True,
    help="How derivatives of the runs are computed; adjoint pays off with many parameters.",
)
@set_option
@tolerance_option
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the results.")
@click.option("--force", is_flag=True, help="Overwrite an earlier fit in that folder.")
@json_option
def fit(
    model: str,
    data: tuple[Path, ...],
    parameters: tuple[str, ...],
    unknown_starts: tuple[str, ...],
    columns: tuple[str, ...],
    sigmas: tuple[str, ...],
    definitions: tuple[str, ...],
    held: bool,
    level: float,
    gradients: str,
    changes: tuple[str, ...],
    tolerance: float,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate parameters of a MODEL from measured motions.

    DATA are CSV or NetCDF files, one motion each, with a column of times. Use --set for start
    values and inputs of all of them, and for known parameters.
    """
    from noslip.base import OutputFolder
    from noslip.control import parse_signal
    from noslip.show import json_text

    if not parameters and not unknown_starts:
        raise click.UsageError("nothing is to be estimated: add --parameter NAME")
    loaded = ns.load(model)
    name = f"{loaded.name}-fit"
    folder = output if output is not None else OutputFolder.free(Path("runs"), name).path
    if os.path.exists(folder) and not force:
        raise ns.SimulationError(
            "it already exists and is not replaced",
            str(folder),
            "choose another folder with -o, or replace it with --force",
        )
    asked, starts = (
        [parse_signal(ns.FitParameter, text) for text in texts]
        for texts in (parameters, unknown_starts)
    )
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded))
        start, inputs, fixed = named_values(system, changes)
        found = ns.fit(
            system,
            list(data),
            parameters=asked,
            unknown_starts=starts,
            columns=read_expressions("--column", columns, "gps=platform.x") or None,
            sigma=read_numbers(loaded, "--sigma", sigmas),
            definitions=dict(read_numbers(loaded, "--definition", definitions)),
            start=start,
            inputs=inputs,
            held=held,
            fixed=fixed,
            level=level,
            gradients=gradients,
            rtol=tolerance,
            atol=tolerance,
            progress=bar,
        )
        bar("drawing")
        folder.mkdir(parents=True, exist_ok=True)
        command = shlex.join(["noslip", *sys.argv[1:]])
        page = ns.write_fit_report(found, folder / "report.html", command=command)
        (folder / "fit.json").write_text(json_text(found.to_json()) + "\n", encoding="utf-8")
        (folder / "fit.txt").write_text(found.text() + "\n", encoding="utf-8")
    text = fitted(f"{found.text()}\n  page  {page}")
    click.echo(json_text(found.to_json()) if as_json else text)
