"""Commands of many runs: `noslip sweep`, `noslip fit` and `noslip mission`.

**`noslip sweep`: run a model at many points into a folder, and go on where it was.**

**`noslip fit`: parameters of a model from measured motions.**

**`noslip mission`: what a list of legs asks of motors, battery and wheels.**
"""

from __future__ import annotations

import ast
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

import noslip as ns
from noslip.cli.console import EXIT_CODE, cancelling, fitted
from noslip.cli.options import (
    NUMBER,
    PLUGINS,
    column_option,
    guess_option,
    json_option,
    named_values,
    read_changes,
    read_columns,
    read_constants,
    read_expressions,
    read_numbers,
    read_stops,
    set_option,
    stop_option,
    tolerance_option,
)

#: Bytes of a request as TOML.
MAX_FILE = 10_000_000
#: Keys of a TOML file that are no settings of the work.
KEYS = (
    "model",
    "work",
    "vary",
    "sample",
    "zip",
    "where",
    "draws",
    "sampling",
    "seed",
    "measures",
    "settings",
)


@click.command()
@click.argument("model", required=False)
@click.option(
    "--file",
    "request_file",
    type=click.Path(path_type=Path),
    help="A TOML file with the request; options add to it.",
)
@click.option(
    "--work",
    metavar="WORD",
    help="Task at each point: run (default), track, noisy, linearize, steady, evaluate, or "
    "file.py:function.",
)
@click.option(
    "--vary",
    "varies",
    multiple=True,
    metavar="NAME=RANGE",
    help=(
        "Values LOW:HIGH:COUNT, log:LOW:HIGH:COUNT or a list V1,V2,V3. Repeatable; all "
        "combinations are run."
    ),
)
@click.option(
    "--sample",
    "sampled",
    multiple=True,
    metavar="NAME=DISTRIBUTION",
    help="gauss:MEAN,SD, uniform:LOW,HIGH, log-uniform:LOW,HIGH or triangle:LOW,PEAK,HIGH. "
    "Repeatable; all are sampled jointly.",
)
@click.option("--draws", type=int, help="Number of points that --sample draws.")
@click.option("--sampling", help="random (default), lhs (Latin hypercube) or sobol.")
@click.option("--seed", type=int, help="Seed of the random design; 0 by default.")
@click.option(
    "--zip",
    "zipped",
    multiple=True,
    metavar="NAME,NAME",
    help="Names whose values change together instead of in all combinations. Repeatable.",
)
@click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="COMPARISON",
    help="Keep only points that satisfy it, as in m*speed<20. Repeatable.",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="WORD:COLUMN",
    help="What to keep: final, start, min, max, when_min, when_max, mean, rms, history, at:X:TIME, "
    "event, count, gradient:X:NAME. Repeatable.",
)
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help="An event to measure, where an expression crosses zero.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An additional setting of the work, as in path=circle:radius={R} or runs=200. Repeatable.",
)
@click.option(
    "--duration", type=NUMBER, help="Duration in s; by default that of the model's scenario."
)
@click.option("--tolerance", type=NUMBER, help="Integration tolerance; 1e-9 by default.")
@set_option
@guess_option
@stop_option
@column_option
@click.option(
    "--on",
    default="threads",
    show_default=True,
    help="Where to run: threads, cuda, dask (a local cluster), or tcp://… (a Dask scheduler).",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    help="Number of threads or processes; all cores by default.",
)
@click.option(
    "--chunk",
    type=click.IntRange(min=1),
    help="Points in a chunk; by default about a second of work.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="cpu, or cuda: a GPU of this machine (cuda:1 the second), or of each worker of a cluster.",
)
@click.option("--target", default="", help="Instruction set for all processes, such as x86-64-v3.")
@click.option(
    "--mix-targets", is_flag=True, help="Continue a sweep that was started with another target."
)
@click.option(
    "--retry",
    "retries",
    multiple=True,
    metavar="NAME=VALUE",
    help="Retry failed points with another setting, as in tolerance=1e-6. Repeatable.",
)
@click.option(
    "--report/--no-report",
    default=None,
    help="Write report.html at the end; by default if its packages are installed.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the results.")
@json_option
def sweep(
    model: str | None,
    request_file: Path | None,
    work: str | None,
    varies: tuple[str, ...],
    sampled: tuple[str, ...],
    draws: int | None,
    sampling: str | None,
    seed: int | None,
    zipped: tuple[str, ...],
    conditions: tuple[str, ...],
    measures: tuple[str, ...],
    events: tuple[str, ...],
    options: tuple[str, ...],
    duration: float | None,
    tolerance: float | None,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    stops: tuple[str, ...],
    columns: tuple[str, ...],
    on: str,
    threads: int | None,
    chunk: int | None,
    device: str,
    target: str,
    mix_targets: bool,
    retries: tuple[str, ...],
    report: bool | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Run a parameter study: a model at many points, with measures of each run.

    The folder can be resumed: the same command continues where it stopped, more points or
    measures are added to it, and several processes can share the work.
    """
    from noslip.engines import choose_instruction_set
    from noslip.sweeps import read_request, run_request

    report = _writes_report(report)
    given = _read_file(request_file) if request_file is not None else {}
    name = model or given.get("model")
    if not name:
        raise click.UsageError("name a MODEL, or give a --file that does")
    choose_instruction_set(target)
    loaded = ns.load(str(name))
    settings: dict[str, Any] = dict(given.get("settings", {}))
    settings |= {key: _literal(text) for key, text in _pairs("--option", options).items()}
    for key, value in (("duration", duration), ("tolerance", tolerance)):
        settings |= {} if value is None else {key: value}
    for key, found in (
        ("set", read_changes(loaded, changes)),
        ("guess", read_constants(loaded, guesses, "--guess")),
        ("stop", read_stops(stops)),
        ("columns", read_columns(columns)),
        ("events", read_expressions("--event", events, "upright=frame.lean")),
    ):
        if found:
            settings[key] = {**settings.get(key, {}), **found}
    word = work or given.get("work", "run")
    if work and ":" in work:
        word, settings["function"] = "function", word
    request = read_request(
        loaded,
        word,
        vary={**given.get("vary", {}), **_pairs("--vary", varies)},
        sample={**given.get("sample", {}), **_pairs("--sample", sampled)},
        zipped=[*given.get("zip", []), *(_names(text) for text in zipped)],
        where=[*given.get("where", []), *conditions],
        draws=given.get("draws", 0) if draws is None else draws,
        sampling=sampling or given.get("sampling", "random"),
        seed=given.get("seed", 0) if seed is None else seed,
        measures=[*given.get("measures", []), *measures],
        settings=settings,
        plugins=click.get_current_context().meta.get(PLUGINS, []),
    )
    folder = output if output is not None else Path("runs") / f"{loaded.name}-sweep"
    retry = {key: _literal(text) for key, text in _pairs("--retry", retries).items()}
    with ns.ProgressBar() as bar, cancelling() as cancel:
        store, state = run_request(
            request,
            folder,
            on=on,
            threads=threads,
            chunk=chunk,
            retry=retry or None,
            device=device,
            mix_targets=mix_targets,
            progress=bar,
            cancel=cancel,
        )
    is_cut = cancel.is_set()
    if report and not is_cut:
        from noslip.show import write_sweep_report

        write_sweep_report(folder, command=_command())
    click.echo(_summary(store, state, folder, as_json))
    if is_cut:
        raise SystemExit(EXIT_CODE)


def _writes_report(asked: bool | None) -> bool:
    """Whether to write a report. Missing packages are noted, or refused where it was asked for."""
    from noslip.base import install_command, is_installed, require
    from noslip.show import REPORT_PACKAGES

    for module in REPORT_PACKAGES if asked else ():
        require(module, "a report", "noslip sweep --report", "show")
    if asked is None and not all(map(is_installed, REPORT_PACKAGES)):
        click.echo(f"note: a report needs more packages: {install_command('show')}", err=True)
        return False
    return asked is not False


def _command() -> str:
    import shlex

    from noslip.cli.console import printable

    return printable("noslip " + shlex.join(sys.argv[1:]))


def _summary(store: Any, state: ns.results.SweepProgress, folder: Path, as_json: bool) -> str:
    from noslip.base import install_command, is_installed
    from noslip.show import SweepResults
    from noslip.sweeps import StoreReader

    results = SweepResults(StoreReader(store))
    data = {
        "folder": str(folder),
        "points": state.total,
        "done": state.points,
        "failed": state.failed,
        "chunks": state.chunks,
        "complete": state.chunks >= state.total_chunks,
        "seconds": state.elapsed,
        "rate": state.rate,
        **results.to_json(),
    }
    if as_json:
        from noslip.show import json_text

        return json_text(data)
    lines = [
        f"{store.data['model_name']}: {state.points} of {state.total} points, "
        f"{state.failed} failed",
        *results.lines(),
        f"  rate     {state.rate:.4g} points per second, {state.elapsed:.3g} s",
        f"  folder   {folder}",
        f'  data     ns.open_sweep("{folder}") in Python, an xarray dataset'
        + (f"; there alone: {', '.join(results.longer)}" if results.longer else "")
        + ("" if is_installed("xarray") else f" ({install_command('data')})"),
    ]
    if os.path.exists(folder / "report.html"):
        lines.append(f"  report   {folder / 'report.html'}")
    if not data["complete"]:
        lines.append("  resume   give the same command again")
    if state.failed:
        where = "" if results.is_small else "the report and the data have the reasons; "
        lines.append(f"  failed   {where}--retry tolerance=1e-6 tries these points again")
    return "\n".join(lines)


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE pairs of an option."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (equals and name and value):
            raise click.UsageError(f"{option} {text!r:.60}: write NAME=VALUE")
        if name in found:
            raise click.UsageError(f"{option} {text!r:.60}: '{name}' is given twice")
        found[name] = value
    return found


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _literal(text: str) -> Any:
    """A number, a truth or a list as Python writes it, else the text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _read_file(path: Path) -> dict[str, Any]:
    """The request in a TOML file."""
    from noslip import SimulationError
    from noslip.base import nearest
    from noslip.sweeps import read_toml

    data = read_toml(path, max_bytes=MAX_FILE)
    if "plugins" in data:
        raise SimulationError(
            "'plugins' names code to run, which a file must not",
            str(path),
            "name it yourself, on the command line: --plugin MODULE",
        )
    settings = data.get("settings")
    if ":" in str(data.get("work", "")) or (isinstance(settings, dict) and "function" in settings):
        raise SimulationError(
            "the work is a Python function, code that a file must not name",
            str(path),
            "name it yourself, on the command line: --work module:function",
        )
    for key in data:
        if key not in KEYS:
            raise SimulationError(
                f"'{key}' is not a key of a sweep", str(path), nearest(str(key), KEYS)
            )
    kinds: dict[str, type] = {
        "vary": dict,
        "sample": dict,
        "settings": dict,
        "zip": list,
        "where": list,
    }
    kinds |= {"measures": list, "draws": int, "seed": int, "work": str}
    for key, kind in kinds.items():
        if key in data and not isinstance(data[key], kind):
            raise SimulationError(
                f"'{key}' is {data[key]!r:.60}", str(path), f"give a {kind.__name__} there"
            )
    return data


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


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--size",
    "catalog",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="CATALOG",
    help="A TOML file with motors and gears, smallest first; the first that bear the mission.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the numbers, the figure of the motors and a run for each leg.",
)
@click.option("--force", is_flag=True, help="Replace an earlier mission in that folder.")
@json_option
def mission(
    file: Path, catalog: Path | None, output: Path | None, force: bool, as_json: bool
) -> None:
    """Drive a mission FILE: torque, power, heat, battery, wheel loads and cycle time.

    FILE is TOML: a model, legs (paths, turns, stops, planned motions), motors and a battery; see
    docs/missions.md. The exit code is 1 where a motor, the floor or the battery bears less than is
    asked for.
    """
    from noslip.base import OutputFolder, is_installed
    from noslip.duty import (
        choices_data,
        choices_text,
        drive_mission,
        read_catalog,
        read_mission,
        size_drives,
    )
    from noslip.missions import plot_duty
    from noslip.show import json_text

    asked = read_mission(file)
    choices = read_catalog(catalog) if catalog is not None else None
    target = OutputFolder(output) if output is not None else None
    if target is not None:
        target.check(force=force)
    with ns.ProgressBar() as bar:
        duty = drive_mission(asked, progress=bar)
    sized = size_drives(duty, choices) if choices is not None else {}
    data = duty.to_json() | ({"drives": choices_data(sized)} if sized else {})
    text = duty.text() + (f"\n{choices_text(sized)}" if sized else "")

    def fill(folder: Path) -> None:
        for k, leg in enumerate(duty.legs, start=1):
            if leg.run is not None:
                ns.write_run(leg.run, folder / f"leg-{k}", plots=False)
        if asked.motors and is_installed("matplotlib"):
            plot_duty(duty).savefig(folder / "motors.png", dpi=160)
        (folder / "summary.txt").write_text(text + "\n", "utf-8")
        (folder / "summary.json").write_text(json_text(data) + "\n", "utf-8")

    if target is not None:
        place = target.write(fill, force=force)
        text += f"\n  folder  {place}"
    click.echo(json_text(data) if as_json else fitted(text))
    if duty.failures:
        raise SystemExit(1)
