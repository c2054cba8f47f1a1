"""Commands that show runs: plot, compare, animate, and the studio.

**`noslip plot`, `compare` and `animate`: runs as figures, side by side, and as animations.**

**`noslip studio`: play with a model in the browser.**
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import warnings
from pathlib import Path

import click

import noslip as ns
from noslip.cli.console import INTERRUPTION, fitted
from noslip.cli.options import (
    FLAGSHIP,
    NUMBER,
    FamilyWord,
    check_target,
    force_option,
    json_option,
    read_changes,
    set_option,
    tolerance_option,
)


def _formulations() -> dict[str, ns.AbstractFormulation]:
    """Formulation by word; d'Alembert's principle has one motion, whatever the form."""
    from noslip.cli.analysis_commands import formulations

    found = formulations()
    return {"dalembert": found["complement"], **found}


@click.command()
@click.argument("source", metavar="MODEL_OR_RUN")
@click.argument("what", nargs=-1, metavar="[FIGURE | COLUMN...]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write, .png, .svg or .pdf; the model's name with .png by default.",
)
@force_option
@click.option(
    "--style",
    type=click.Choice(["screen", "paper", "slide"]),
    default="screen",
    show_default=True,
    help="Size and fonts of the figure.",
)
@click.option("--title", default="", help="Title above the figure.")
@click.option(
    "--duration",
    type=NUMBER,
    help="Duration in s of a model's run; by default that of its scenario.",
)
@set_option
@tolerance_option
def plot(
    source: str,
    what: tuple[str, ...],
    output: Path | None,
    force: bool,
    style: str,
    title: str,
    duration: float | None,
    changes: tuple[str, ...],
    tolerance: float,
) -> None:
    """Draw a run from its folder, or simulate a model's scenario and draw it.

    FIGURE is histories, path, speeds, inputs, energy or another; COLUMN a quantity of the run, such
    as base.x. Without either the histories are drawn.
    """
    is_folder = os.path.isdir(source)
    if is_folder and (changes or duration is not None):
        raise click.UsageError("--set and --duration belong to a model; the run is already made")
    target = output if output is not None else Path(f"{Path(source).stem}.png")
    check_target(target, force)
    from noslip.show import FIGURES, FigureFile

    FigureFile(target)
    is_named = not what or (len(what) == 1 and ("." not in what[0] or what[0] in FIGURES))
    with ns.ProgressBar("drawing") as bar:
        run = ns.read_run(source) if is_folder else _simulated(source, changes, duration, tolerance)
        if is_named and what and what[0] in run.columns and what[0] not in FIGURES:
            is_named = False
        bar("drawing")
        chosen = "".join(what) if is_named else list(what)
        ns.plot(run, chosen, style=style, title=title, save=target)
    click.echo(str(target))


@click.command()
@click.argument("sources", metavar="MODEL_OR_RUN...", nargs=-1, required=True)
@click.option(
    "--with",
    "variants",
    multiple=True,
    metavar="NAME=VALUE[,NAME=VALUE]",
    help="Run the model once more with these values, as --set has them. Repeatable.",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=FamilyWord("method", _formulations),
    metavar="METHOD",
    help="Run the model by this formulation, dalembert or vakonomic. Repeatable, two or more.",
)
@set_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Also write a figure of the runs: .png, .svg or .pdf.",
)
@force_option
@click.option(
    "--figure", default="", help="Figure to draw: histories, path, speeds, inputs, energy, …"
)
@json_option
@tolerance_option
def compare(
    sources: tuple[str, ...],
    variants: tuple[str, ...],
    methods: tuple[str, ...],
    changes: tuple[str, ...],
    output: Path | None,
    force: bool,
    figure: str,
    as_json: bool,
    tolerance: float,
) -> None:
    """Compare runs: folders of runs, or models whose scenarios are simulated first.

    Prints what differs: parameters, peaks, power, errors, final state. Costates start at zero
    unless set, as in --method dalembert --method vakonomic --set costate.blade.lateral=0.6.
    """
    if variants and (len(sources) > 1 or os.path.isdir(sources[0])):
        raise click.UsageError("--with belongs to one model; runs are already made")
    if methods and (len(methods) < 2 or variants or len(sources) > 1 or os.path.isdir(sources[0])):
        raise click.UsageError("--method belongs to one model, and is given twice or more")
    if changes and not methods:
        raise click.UsageError("--set belongs to --method; a variant of a model is --with")
    if output is not None:
        from noslip.show import FigureFile

        check_target(output, force)
        FigureFile(output)
    elif figure:
        raise click.UsageError("--figure belongs to -o, the file that it is drawn in")
    sets = [(source, "") for source in sources] + [(sources[0], v) for v in variants]
    with ns.ProgressBar("comparing") as bar:
        bar("simulating")
        runs = [
            ns.read_run(source)
            if os.path.isdir(source)
            else _simulated(source, tuple(variant.split(",")) if variant else (), None, tolerance)
            for source, variant in sets
            if not methods
        ] + [_simulated(sources[0], changes, None, tolerance, method) for method in methods]
        found = ns.compare(*runs, labels=list(methods) or _labels(sets))
        if output is not None:
            bar("drawing")
            found.plot(figure, save=output)
    if as_json:
        from noslip.show import json_text

        click.echo(json_text(found.to_json()))
    else:
        click.echo(fitted(found.text()))
    if output is not None:
        click.echo(str(output), err=as_json)


def _labels(sets: list[tuple[str, str]]) -> list[str]:
    """Names of runs: what was changed, or the last part of their path that tells them apart."""
    plain = [source for source, variant in sets if not variant]
    names = [Path(source).name or source for source in plain]
    names = names if len(set(names)) == len(names) else plain
    labels = [*names, *(variant for _, variant in sets if variant)]
    if len(set(labels)) < len(labels):
        return [f"{label} ({k + 1})" for k, label in enumerate(labels)]
    return labels


@click.command()
@click.argument("source", metavar="MODEL_OR_RUN")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write, .html, .gif, .mp4 or .png; the model's name with .html by default.",
)
@force_option
@click.option("--forces", is_flag=True, help="Draw the contact forces as arrows.")
@click.option(
    "--velocities", is_flag=True, help="Draw the velocities of the mass centers as arrows."
)
@click.option(
    "--traces/--no-traces",
    default=True,
    show_default=True,
    help="Draw the traces of contact points and mass centers.",
)
@click.option(
    "--follow/--no-follow", default=None, help="Follow the bodies, or keep the whole path in view."
)
@click.option("--rate", type=click.FloatRange(min=0.0, min_open=True), help="Frames per second.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0.0, min_open=True),
    default=1.0,
    show_default=True,
    help="Playback speed: seconds of motion per second.",
)
@click.option("--title", help="Title in the corner, before the time; by default the model's name.")
@click.option("--size", default="960x600", show_default=True, help="Size of films in pixels.")
@click.option(
    "--duration",
    type=NUMBER,
    help="Duration in s of a model's run; by default that of its scenario.",
)
@set_option
@tolerance_option
def animate(
    source: str,
    output: Path | None,
    force: bool,
    forces: bool,
    velocities: bool,
    traces: bool,
    follow: bool | None,
    rate: float | None,
    speed: float,
    title: str | None,
    size: str,
    duration: float | None,
    changes: tuple[str, ...],
    tolerance: float,
) -> None:
    """Animate a run from its folder, or simulate a model's scenario and animate it.

    An HTML file plays in any browser without a network; films are GIF or MP4.
    """
    width, height = _read_size(size)
    is_folder = os.path.isdir(source)
    if is_folder and (changes or duration is not None):
        raise click.UsageError("--set and --duration belong to a model; the run is already made")
    target = output if output is not None else Path(f"{Path(source).stem}.html")
    check_target(target, force)
    from noslip.show import FilmFile

    FilmFile(target).check_rate(rate, speed)
    with ns.ProgressBar("drawing") as bar:
        run = ns.read_run(source) if is_folder else _simulated(source, changes, duration, tolerance)
        bar("drawing")
        ns.animate(
            run,
            target,
            forces=forces,
            velocities=velocities,
            traces=traces,
            follow=follow,
            rate=rate,
            speed=speed,
            title=title,
            width=width,
            height=height,
            progress=bar,
        )
    click.echo(f"{target}  {target.stat().st_size / 1e6:.1f} MB, {run.t[-1] - run.t[0]:g} s")


def _read_size(text: str) -> tuple[int, int]:
    wide, _, high = text.lower().partition("x")
    if not (wide.isdecimal() and high.isdecimal() and 16 <= int(wide) <= 7680 >= int(high) >= 16):
        raise click.UsageError(f"--size {text!r}: write width x height, such as 960x600")
    return int(wide), int(high)


def _simulated(
    source: str,
    changes: tuple[str, ...],
    duration: float | None,
    tolerance: float,
    method: str = "complement",
) -> ns.Trajectory:
    model = ns.load(source)
    system = ns.compile(ns.derive(model, _formulations()[method]))
    values = read_changes(model, changes)
    if not system.costates:
        # of several methods one has costates
        values = {name: x for name, x in values.items() if not name.startswith("costate.")}
    return ns.run_scenario(
        system,
        changes=values,
        duration=duration,
        rtol=tolerance,
        atol=tolerance,
        on_failure="return",
    )


@click.command()
@click.argument("source", metavar="MODEL_OR_RUN")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Page to write, .html; by default named after the model or the run.",
)
@force_option
@click.option(
    "--knob",
    "knobs",
    multiple=True,
    metavar="NAME[=LOW:HIGH]",
    help="A parameter, start value or constant input with a slider, and its range, as in "
    "mass=10:30. Repeatable; a few by default.",
)
@click.option(
    "--plot",
    "plots",
    multiple=True,
    metavar="COLUMN",
    help="A curve to draw at first, such as disk.tilt. Repeatable.",
)
@click.option(
    "--drive",
    "drive",
    multiple=True,
    metavar="INPUT",
    help="An input to drive with by arrow keys or the thumb, up and down, then left and right. "
    "Twice at most.",
)
@click.option(
    "--duration", type=NUMBER, help="Duration in s; by default that of the model's scenario."
)
@click.option("--title", default="", help="Title of the page.")
@click.option(
    "--equations/--no-equations",
    default=True,
    show_default=True,
    help="Typeset the equations of motion in the page.",
)
def share(
    source: str,
    output: Path | None,
    force: bool,
    knobs: tuple[str, ...],
    plots: tuple[str, ...],
    drive: tuple[str, ...],
    duration: float | None,
    title: str,
    equations: bool,
) -> None:
    """Write a run as a page that simulates it anew in any browser.

    The page needs no network and no installation: it holds the equations of motion and the
    integration loop as WebAssembly, and each change of a slider is simulated by them.
    """
    is_folder = Path(source).is_dir()
    target = output if output is not None else Path(f"{Path(source).stem}.html")
    check_target(target, force)
    ranges = dict(_knob(text) for text in knobs)
    with ns.ProgressBar("writing") as bar:
        bar("writing")
        thing = ns.read_run(source) if is_folder else source
        done = ns.share(
            thing,
            target,
            knobs=ranges,
            plots=plots,
            drive=drive,
            duration=duration,
            title=title,
            equations=equations,
            overwrite=force,
        )
    click.echo(f"written: {done} ({done.stat().st_size / 1000:.0f} kB)")


def _knob(text: str) -> tuple[str, tuple[float, float] | None]:
    """Read NAME or NAME=LOW:HIGH."""
    name, is_given, ends = text.partition("=")
    if not is_given:
        return name.strip(), None
    low, _, high = ends.partition(":")
    try:
        return name.strip(), (float(low), float(high))
    except ValueError:
        raise click.UsageError(f"--knob {text!r}: write NAME=LOW:HIGH, as in mass=10:30") from None


#: s that work left behind has to come to its end.
PATIENCE = 0.8


@click.command()
@click.argument("model", required=False)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port on 127.0.0.1; by default any free port.",
)
@click.option(
    "--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser."
)
@click.option(
    "--link",
    metavar="ADDRESS",
    help="Open the state of an earlier page: its address, or the part after the =.",
)
def studio(model: str | None, port: int | None, browser: bool, link: str | None) -> None:
    """Explore a model in the browser: sliders, plots, equations, driving by hand.

    MODEL is optional. A model file is reloaded whenever it is saved. The folder of a sweep
    shows its model and a table of its points: click one to see its motion. Ctrl-C stops the
    studio.
    """
    from noslip.base import require

    for module in ("viser", "matplotlib", "zstandard"):
        require(module, "the studio", "noslip studio", "studio")
    import rich

    from noslip.studio import Studio, find_link

    state = "" if link is None else find_link(link)
    model = model or _model_of(state) or FLAGSHIP
    # viser has lines of its own about addresses, connections and browsers that went away
    rich.get_console().quiet = True
    warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")
    if model in ns.MODELS:
        open_studio = Studio(model, port=port or 0)
    elif os.path.isdir(model):
        open_studio = Studio(sweep=Path(model), port=port or 0)
    else:
        open_studio = Studio(file=Path(model), port=port or 0)
    try:
        address = open_studio.address_of(state)
    except ns.NoslipError:
        open_studio.close()
        raise
    ended = threading.Event()
    INTERRUPTION.release()
    # also where a shell started it in the background, with Ctrl-C ignored
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        click.echo(f"noslip studio  {address}  (Ctrl-C ends it)")
        with tempfile.TemporaryDirectory(prefix="noslip-studio-") as folder:
            if browser:
                click.launch(str(_redirect(address, Path(folder))))
            while not ended.wait(3600.0):
                pass
    except KeyboardInterrupt:
        click.echo("")
    finally:
        _end_soon()
        open_studio.close()


def _model_of(state: str) -> str:
    """The model of a link, where it is one of the library."""
    from noslip.studio import read_link

    name = read_link(state).model if state else ""
    return name if name in ns.MODELS else ""


def _redirect(address: str, folder: Path) -> Path:
    """A page in a folder of ours that leads to an address.

    Everybody on a computer can read the arguments of a browser that is started, so that the
    address with its token cannot be one of them.
    """
    page = folder / "studio.html"
    page.write_text(
        '<!doctype html><meta charset="utf-8"><title>noslip studio</title>'
        f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">studio</a>',
        "utf-8",
    )
    return page


def _end_soon() -> None:
    """End the process without waiting for threads that a closed page left running."""
    last = threading.Timer(PATIENCE, os._exit, args=(0,))
    last.daemon = True
    last.start()
