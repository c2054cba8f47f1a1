"""The command line: the same words as the Python functions.

Exit codes: 0 done, 1 the model or the run is at fault, 2 the command is.
"""

from __future__ import annotations

import json
import shlex
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noslip import __version__

if TYPE_CHECKING:
    from noslip.model.model import Model


class _Group(click.Group):
    """Shows what / where / fix instead of a traceback for a user's mistake."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException:
            raise
        except Exception as error:
            from noslip.errors import NoslipError

            if not isinstance(error, NoslipError):
                raise
            click.echo(f"{type(error).__name__}: {error}", err=True)
            ctx.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noslip")
def main() -> None:
    """Exact dynamics of mechanisms that roll, skate and steer.

    MODEL is a name from `noslip list` or the path of a model file (.toml).
    """


_set = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, start value or input; VALUE may be an expression of parameters. Repeatable.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@main.command("list")
@_json
def list_models(as_json: bool) -> None:
    """List the models of the library."""
    from noslip.library import MODELS, load

    models = {name: load(name).description for name in MODELS}
    if as_json:
        click.echo(json.dumps(models, indent=2))
        return
    width = max(map(len, models))
    for name, description in models.items():
        click.echo(f"{name:<{width}}  {description}")


@main.command()
@click.argument("model")
@_json
def check(model: str, as_json: bool) -> None:
    """Check a model and show its bodies, coordinates, rows, freedoms and inputs."""
    from noslip.library import load
    from noslip.show.check import check as check_report

    report = check_report(load(model))
    click.echo(json.dumps(report.to_json(), indent=2) if as_json else report.text())


@main.command()
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
    help="Formulation; vakonomic is another mechanics.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "latex", "html", "markdown"]),
    default="text",
    show_default=True,
)
def derive(model: str, method: str, format_: str) -> None:
    """Derive the equations of motion and show them."""
    from noslip.formulations.base import derive as derive_equations
    from noslip.formulations.vakonomic import Vakonomic
    from noslip.formulations.verify import FORMULATIONS
    from noslip.library import load
    from noslip.show.equations import equations_text

    formulation = {f.word: f for f in (*FORMULATIONS, Vakonomic())}[method]
    click.echo(equations_text(derive_equations(load(model), formulation), format_))


@main.command()
@click.argument("model")
@click.option("--states", type=click.IntRange(1), default=6, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@_json
def verify(model: str, states: int, seed: int, as_json: bool) -> None:
    """Compare five formulations at random states and print the certificate."""
    from noslip.formulations.verify import verify as verify_model
    from noslip.library import load

    certificate = verify_model(load(model), states=states, seed=seed)
    click.echo(json.dumps(certificate.to_json(), indent=2) if as_json else certificate.text())
    if not certificate.holds:
        raise SystemExit(1)


@main.command()
@click.argument("model")
@_set
@click.option("--time", "at", type=float, default=0.0, show_default=True, help="s")
@_json
def evaluate(model: str, changes: tuple[str, ...], at: float, as_json: bool) -> None:
    """Accelerations, mass matrix, energies and reactions at a state.

    What is not set is completed consistently from the joints' rest positions.
    """
    from noslip.analysis.instant import evaluate as evaluate_state
    from noslip.engines.system import System
    from noslip.formulations.base import derive as derive_equations
    from noslip.library import load

    loaded = load(model)
    system = System(equations=derive_equations(loaded))
    values = _changes(loaded, changes)
    parameters = {p.name for p in loaded.parameters}
    inputs = {q.name for q in system.inputs}
    instant = evaluate_state(
        system,
        {n: x for n, x in values.items() if n not in parameters | inputs},
        inputs={n: x for n, x in values.items() if n in inputs},
        parameters={n: x for n, x in values.items() if n in parameters},
        time=at,
    )
    if as_json:
        click.echo(json.dumps(instant.to_json(), indent=2))
    else:
        click.echo(instant.text())


@main.command()
@click.argument("model")
@click.option("--duration", type=float, help="s; the model's own by default.")
@_set
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
@click.option(
    "--friction",
    type=click.FloatRange(min=0.0),
    help="Friction coefficient of the ground: says whether and where a wheel would slip.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to make.")
@click.option("--force", is_flag=True, help="Replace an earlier run in that folder.")
@click.option("--plots/--no-plots", default=True, show_default=True)
@_json
def run(
    model: str,
    duration: float | None,
    changes: tuple[str, ...],
    tolerance: float,
    friction: float | None,
    output: Path | None,
    force: bool,
    plots: bool,
    as_json: bool,
) -> None:
    """Simulate a model's scenario and leave a folder with trajectory, plots and a summary."""
    from noslip.library import load
    from noslip.show.folder import check_target, free_folder, summary, summary_text, write_run

    loaded = load(model)
    target = output if output is not None else free_folder(Path("runs"), loaded.name)
    check_target(target, force=force)

    from noslip.analysis.audit import audit
    from noslip.analysis.scenario import run_scenario
    from noslip.engines.system import compile as compile_system
    from noslip.formulations.base import derive as derive_equations

    with _progress() as progress:
        system = compile_system(derive_equations(loaded))
        result = run_scenario(
            system,
            changes=_changes(loaded, changes),
            duration=duration,
            rtol=tolerance,
            atol=tolerance,
            progress=progress,
            on_failure="return",
        )
        command = "noslip " + shlex.join(sys.argv[1:])
        rolls = loaded.contacts and len(result.trajectory.t)
        found = audit(system, result.trajectory, friction) if rolls else None
        write_run(result, target, command=command, plots=plots, force=force, audit=found)
    if as_json:
        data = summary(result, command, found) | {"folder": str(target)}
        click.echo(json.dumps(data, indent=2))
    else:
        click.echo(summary_text(result))
        click.echo(f"  folder               {target}")
        if found is not None:
            click.echo(found.text())
    if not result.trajectory.success:
        raise SystemExit(1)


@main.command()
@click.argument("model")
@click.option("--path", "path_text", required=True, help="Such as circle:radius=2.")
@click.option("--timing", "timing_text", required=True, help="Such as quintic:60.")
@click.option("--point", default="0,0,0", show_default=True, help="Of the base, in its frame, m.")
@click.option(
    "--direction", default="1,0,0", show_default=True, help="Of the base, along the path."
)
@click.option("--reverse", is_flag=True, help="Drive backwards.")
@click.option("--steering", default="", help="Steering coordinate, with --wheelbase.")
@click.option("--wheelbase", default="0", help="m, or an expression of parameters.")
@click.option(
    "--controller",
    type=click.Choice(["none", "pose", "computed-torque"]),
    default="none",
    show_default=True,
)
@click.option("--period", type=float, default=0.0, help="s between samples; 0: continuous.")
@click.option("--friction", type=float, help="Friction coefficient of the ground, for a verdict.")
@click.option("--duration", type=float, help="s; as long as the path takes by default.")
@_set
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to make.")
@click.option("--force", is_flag=True, help="Replace an earlier run in that folder.")
@click.option("--plots/--no-plots", default=True, show_default=True)
@_json
def track(
    model: str,
    path_text: str,
    timing_text: str,
    point: str,
    direction: str,
    reverse: bool,
    steering: str,
    wheelbase: str,
    controller: str,
    period: float,
    duration: float | None,
    friction: float | None,
    changes: tuple[str, ...],
    tolerance: float,
    output: Path | None,
    force: bool,
    plots: bool,
    as_json: bool,
) -> None:
    """Drive a vehicle along a path and leave a folder with trajectory, plots and a summary."""
    from noslip.library import load
    from noslip.show.folder import check_target, free_folder, summary, summary_text, write_run

    loaded = load(model)
    target = output if output is not None else free_folder(Path("runs"), f"{loaded.name}-track")
    check_target(target, force=force)

    from noslip.analysis.audit import audit
    from noslip.analysis.scenario import split_changes
    from noslip.control.controllers import ComputedTorque, PoseTracking
    from noslip.control.paths_text import parse_path
    from noslip.control.timing_text import parse_timing
    from noslip.control.track import track as track_path
    from noslip.engines.system import compile as compile_system
    from noslip.formulations.base import derive as derive_equations
    from noslip.model.contacts import Rolling

    path, timing = parse_path(path_text), parse_timing(timing_text)
    follower, ahead = _triple("--point", point), _triple("--direction", direction)
    laws = {
        "none": lambda: None,
        "pose": lambda: PoseTracking(),
        "computed-torque": lambda: ComputedTorque(kp=4.0, kd=4.0),
    }
    with _progress() as progress:
        system = compile_system(derive_equations(loaded))
        parameters, start = split_changes(system, _changes(loaded, changes))
        result = track_path(
            system,
            path,
            timing=timing,
            reverse=reverse,
            steering=steering,
            wheelbase=wheelbase,
            controller=laws[controller](),
            period=period,
            start=start,
            parameters=parameters,
            duration=duration,
            rtol=tolerance,
            atol=tolerance,
            progress=progress,
            on_failure="return",
            point=follower,
            direction=ahead,
        )
        command = "noslip " + shlex.join(sys.argv[1:])
        as_run = result.as_scenario_run()
        rolls = any(isinstance(c, Rolling) for c in loaded.contacts) and len(result.along) > 0
        found = audit(system, result.trajectory, friction) if rolls else None
        write_run(as_run, target, command=command, plots=plots, force=force, audit=found)
    if as_json:
        numbers = summary(as_run, command, found) | result.to_json() | {"folder": str(target)}
        click.echo(json.dumps(numbers, indent=2))
    else:
        click.echo(summary_text(as_run))
        click.echo(f"  tracking             {result.summary()}")
        click.echo(f"  folder               {target}")
        if found is not None:
            click.echo(found.text())
    if not result.trajectory.success:
        raise SystemExit(1)


def _triple(option: str, text: str) -> tuple[float | str, float | str, float | str]:
    """Three numbers or expressions of parameters, separated by commas."""
    parts = [p.strip() for p in text.split(",")]
    if len(parts) != 3 or not all(parts):
        raise click.UsageError(f"{option} {text!r}: write three values, such as 0,-a,0")
    return parts[0], parts[1], parts[2]


def _changes(model: Model, changes: tuple[str, ...]) -> dict[str, float]:
    """--set NAME=VALUE pairs; a value is an expression of the model's parameters."""
    from noslip.model import expressions

    known = model.parameter_values()
    if model.scenario is not None:
        known |= {p.name: p.value for p in model.scenario.parameters}
    values: dict[str, float] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"--set {change!r}: write NAME=VALUE, such as --set r=0.1")
        try:
            tree = expressions.parse(text)
            value = float(expressions.evaluate(tree, known | values, expressions.NUMBERS))
        except (expressions.ExpressionError, ArithmeticError, ValueError) as error:
            raise click.UsageError(f"--set {change!r}: the value cannot be read: {error}") from None
        except KeyError as error:
            raise click.UsageError(
                f"--set {change!r}: there is no parameter {error} to compute the value from"
            ) from None
        values[name.strip()] = value
    return values


class _progress:
    """A bar on the terminal for anything longer than a second, the first compilation included."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.timer = threading.Timer(1.0, self._show)
        self.timer.daemon = True
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Callable[[float], None]:
        if sys.stderr.isatty():
            self.timer.start()
        return self.update

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        with self.lock:
            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("preparing", total=None)
            self.bar.start()

    def update(self, fraction: float) -> None:
        with self.lock:
            if self.bar is not None:
                self.bar.update(self.task, description="simulating", total=1.0, completed=fraction)

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        with self.lock:
            if self.bar is not None:
                self.bar.stop()


if __name__ == "__main__":
    main()
