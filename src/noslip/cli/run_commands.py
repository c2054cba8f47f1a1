"""`noslip run`, `track` and `plan`: simulate a scenario, a path or the best motion, into a folder.

**`noslip plan`: the best motion from here to there, and a folder with its exact replay.**
"""

from __future__ import annotations

import dataclasses
import functools
import math
import shlex
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import noslip as ns
from noslip.cli.analysis_commands import formulations
from noslip.cli.console import EXIT_CODE, cancelling, fitted, printable
from noslip.cli.options import (
    FLAGSHIP,
    NUMBER,
    FamilyWord,
    PlantWords,
    column_option,
    contact_option,
    friction_option,
    guess_option,
    json_option,
    period_option,
    plant_options,
    read_changes,
    read_columns,
    read_constants,
    read_expressions,
    read_numbers,
    read_stops,
    read_triple,
    set_option,
    stop_option,
)

if TYPE_CHECKING:
    from noslip.simulation import AlongOptions


def formats() -> list[str]:
    """Words of all formats in which a run can be written, those of plugins too."""
    from noslip.base import known_formats
    from noslip.formats import AbstractRunFormat

    return [word for word, f in known_formats(AbstractRunFormat).items() if f.can("write")]


limit_option = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="INPUT=VALUE",
    help="Largest magnitude of an input under a controller, as in torque1=5. Repeatable.",
)

_OPTIONS = (
    click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder for the results."),
    click.option("--force", is_flag=True, help="Overwrite an earlier run in that folder."),
    click.option(
        "--plots/--no-plots",
        default=None,
        help=(
            "Draw figures, by default if Matplotlib is installed; without them there is no "
            "report unless --report is given."
        ),
    ),
    click.option("--report/--no-report", default=None, help="Write the HTML report."),
    click.option(
        "--format",
        "formats",
        type=FamilyWord("format", formats),
        multiple=True,
        help="Format of the trajectory; netcdf and csv by default. Repeatable.",
    ),
    json_option,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Options of a run's folder and of what is printed."""

    folder: Path | None  #: folder to make, or None for the next free one in ``runs/``
    force: bool  #: whether an earlier run there is replaced
    plots: bool | None  #: whether the figures are drawn; None where Matplotlib is installed
    #: whether the report is written; None where there are plots and what else a report needs
    report: bool | None
    formats: tuple[str, ...]  #: formats of the trajectory
    as_json: bool  #: whether the output is for programs
    audit: bool = True  #: whether the friction that the ground must provide is printed

    def target(self, name: str) -> Path:
        """The folder to make, after checking that it may be made."""
        from noslip.base import OutputFolder

        asked = self.folder
        target = OutputFolder.free(Path("runs"), name) if asked is None else OutputFolder(asked)
        target.check(force=self.force)
        return target.path

    def after(self, cancel: threading.Event) -> Output:
        """Output after a run: data alone, which takes little time, if it was cancelled."""
        if not cancel.is_set():
            return self
        return dataclasses.replace(self, plots=False, report=False, audit=False)


def output_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options above for a command, which gets them as one `output`."""

    @functools.wraps(command)
    def packed(
        *arguments: Any,
        output: Path | None,
        force: bool,
        plots: bool | None,
        report: bool | None,
        formats: tuple[str, ...],
        as_json: bool,
        **others: Any,
    ) -> None:
        asked = Output(
            folder=output,
            force=force,
            plots=plots,
            report=report,
            formats=formats,
            as_json=as_json,
        )
        command(*arguments, output=asked, **others)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def write_output(
    system: ns.System,
    run: ns.Trajectory,
    target: Path,
    output: Output,
    *,
    friction: float | None,
    tell: Callable[[str], None],
    facts: Mapping[str, str] | None = None,
) -> tuple[str, ns.results.Audit | None]:
    """Write the folder of a run; return its summary for the terminal and the audit in it.

    `target`: folder that `output.target` chose; if it was taken since, the next free one is made.
    `friction`: coefficient of the ground, for the audit of what rolls. `tell`: function called with
    a short text on what is being done.
    """
    from noslip import write_run
    from noslip.analysis import touches_ground
    from noslip.show import REPORT, RunSummary, json_text

    command = printable("noslip " + shlex.join(sys.argv[1:]))
    # the multipliers of another theory are no forces of the ground
    is_real = system.equations.formulation.is_dalembert
    rolls = touches_ground(system) and len(run.t) and is_real and run.contact == "ideal"
    found = ns.audit(system, run, friction) if rolls and output.audit else None
    plots, report = _pictures(output)
    target = write_run(
        run,
        target,
        command=command,
        plots=plots,
        force=output.force,
        numbered=True,
        note=lambda sentence: click.echo(f"note: {sentence}", err=True),
        audit=found,
        system=system if report else None,
        facts=facts,
        tell=tell,
        formats=output.formats,
    )
    if output.as_json:
        return json_text(RunSummary(run, command, found).to_json() | {"folder": str(target)}), found
    lines = [RunSummary(run).text()]
    if output.audit and run.contact != "ideal" and len(run.t):
        lines.append(ns.audit(system, run).text())
    if run.path_errors is not None:
        lost = ", lost" if run.path_errors.lost else ""
        lines.append(f"  path                 {run.covered()}{lost}")
    lines.append(f"  folder               {target}")
    if report:
        lines.append(f"  report               {target / REPORT}")
    if found is not None:
        lines.append(found.text())
    return "\n".join(lines), found


def _pictures(output: Output) -> tuple[bool, bool]:
    """Whether to draw figures and to write a report; what is missing for them is noted."""
    from noslip.base import install_command, is_installed
    from noslip.show import REPORT_PACKAGES

    can_draw, can_report = is_installed("matplotlib"), all(map(is_installed, REPORT_PACKAGES))
    plots = can_draw if output.plots is None else output.plots
    asked = output.plots is not False if output.report is None else output.report
    report = asked and (can_report or bool(output.report))
    if (asked and not report) or (output.plots is None and not can_draw):
        said = "figures and a report need" if not can_draw else "a report needs"
        click.echo(f"note: {said} more packages: {install_command('show')}", err=True)
    return plots, report


@click.command()
@click.argument("model", default=FLAGSHIP)
@click.option(
    "--method",
    type=FamilyWord("method", formulations),
    metavar="METHOD",
    default="complement",
    show_default=True,
    help=(
        "Formulation, see `noslip derive --help`; vakonomic is a different theory, whose "
        "costates are set as in costate.blade.lateral=0.6."
    ),
)
@click.option(
    "--duration", type=NUMBER, help="Duration in s; by default that of the model's scenario."
)
@click.option(
    "--motion",
    "motions",
    multiple=True,
    metavar="NAME=EXPRESSION",
    help=(
        "A coordinate as a function of t instead of the model's scenario, as in "
        "joint1.angle=0.5*sin(t); a constant is a set point. With --tool: x, y or z of the "
        "tool. Repeatable."
    ),
)
@click.option("--tool", default="", metavar="BODY", help="Body whose origin follows --motion.")
@click.option("--tool-point", help="Point of the tool in its frame, m; 0,0,0 by default.")
@click.option(
    "--controller",
    default="none",
    show_default=True,
    help="Feedback along --motion: computed-torque, pd:kp=30,20,kd=6,4,gravity=true, "
    "cartesian:body=link2,components=vx,vy, acceleration-resolved.",
)
@limit_option
@period_option
@plant_options
@set_option
@guess_option
@stop_option
@column_option
@click.option(
    "--tolerance",
    type=NUMBER,
    help="Integration tolerance; by default 1e-9, and 1e-13 along a path without a controller.",
)
@contact_option
@friction_option
@output_options
def run(
    model: str,
    method: str,
    duration: float | None,
    motions: tuple[str, ...],
    tool: str,
    tool_point: str | None,
    controller: str,
    limits: tuple[str, ...],
    period: float,
    plant: PlantWords,
    changes: tuple[str, ...],
    guesses: tuple[str, ...],
    stops: tuple[str, ...],
    columns: tuple[str, ...],
    tolerance: float | None,
    contact: str | None,
    friction: float | None,
    output: Output,
) -> None:
    """Simulate a model's scenario and write a folder: trajectory, plots, report, summary.

    With --motion the model follows given coordinates or a tool path instead, under the torques
    of inverse dynamics or a --controller; --set then gives start values that differ
    from the motion.
    """
    loaded = ns.load(model)
    target = output.target(loaded.name)
    stop = read_stops(stops)
    is_controlled = controller != "none" or limits or period or not plant.is_empty
    if not motions and (tool or is_controlled):
        raise click.UsageError(
            "--tool, --controller, --limit, --period and the options of a plant need a --motion "
            "to follow"
        )
    if tool_point is not None and not tool:
        raise click.UsageError("--tool-point is a point of the --tool: name the body")
    if motions and guesses and not tool:
        raise click.UsageError(
            "--guess is a configuration near which the joints of a --tool are sought; a --motion "
            "of coordinates gives their start"
        )
    if motions and stop:
        raise click.UsageError("--stop ends a scenario; a --motion ends with --duration")
    from noslip.control import driven_system

    common: dict[str, Any] = {"on_failure": "return"}
    if tolerance is not None or motions:
        common |= dict.fromkeys(("rtol", "atol"), 1e-9 if tolerance is None else tolerance)
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded, formulations()[method]))
        values = read_changes(loaded, changes)
        common["outputs"] = read_columns(columns)
        with cancelling() as cancel:
            common |= {"progress": bar, "cancel": cancel}
            if motions:
                near = {**values, **read_constants(loaded, guesses, "--guess")}
                motion = _motion(loaded, motions, tool, tool_point or "0,0,0", near)
                bounds = read_numbers(loaded, "--limit", limits)
                loop = ns.ControlLoop(controller=controller, limits=bounds, period=period)
                driven = plant.plant(loaded, system)
                common |= {} if contact is None else {"contact": contact}
                run = _follow(system, motion, values, duration, loop, plant=driven, **common)
                system = system if driven is None else driven.driven(system)
            else:
                run = ns.run_scenario(
                    system,
                    changes=values,
                    guess=read_constants(loaded, guesses, "--guess"),
                    duration=duration,
                    stop=stop,
                    contact=contact,
                    **common,
                )
                system = driven_system(system)
        run = ns.timing.with_control_angles(system, run) if system.costates else run
        output = output.after(cancel)
        text, found = write_output(system, run, target, output, friction=friction, tell=bar)
    click.echo(text if output.as_json else fitted(text))
    if cancel.is_set():
        raise SystemExit(EXIT_CODE)
    if run.doubts:
        click.echo(_meaningless(run), err=True)
    is_lost = run.path_errors is not None and run.path_errors.lost
    if run.success and run.path_errors is not None and is_lost:
        fix = "give the scenario another controller, smaller gains, or a slower timing"
        click.echo(_lost(run.path_errors, fix), err=True)
    if not run.success or is_lost or _fails(found):
        raise SystemExit(1)


def _motion(
    model: ns.Model,
    texts: tuple[str, ...],
    tool: str,
    point: str,
    values: Mapping[str, float | str],
) -> ns.motions.ExpressionMotion | ns.motions.FrameMotion:
    """The motion of coordinates, or of a point of a body that moves the others."""
    found: dict[str, Any] = dict(read_expressions("--motion", texts, "joint1.angle=0.5*sin(t)"))
    if not tool:
        return ns.motions.ExpressionMotion(coordinates=found)
    names = {c.name for c in ns.trace(model).coordinates}
    near = {n: float(x) for n, x in values.items() if n in names and not isinstance(x, str)}
    return ns.motions.FrameMotion(
        body=tool, position=found, point=read_triple("--tool-point", point), near=near
    )


def _follow(
    system: ns.System,
    motion: ns.motions.ExpressionMotion | ns.motions.FrameMotion,
    values: Mapping[str, float | str],
    duration: float | None,
    loop: ns.ControlLoop,
    **options: Any,
) -> ns.Trajectory:
    """The motion, for as long as is asked for or as the model's scenario takes."""
    from noslip.analysis import split_changes

    scenario = system.model.scenario
    if duration is None and scenario is None:
        raise click.UsageError("the model has no scenario: give a --duration")
    parameters, start = split_changes(system, values).parameters_and_start()
    return ns.follow(
        system,
        motion,
        duration=scenario.duration if duration is None and scenario else float(duration or 0.0),
        controller=loop,
        start=start,
        parameters=parameters,
        **options,
    )


@click.command()
@click.argument("model")
@click.option(
    "--path",
    "path_texts",
    required=True,
    multiple=True,
    help=(
        "Path, such as circle:radius=2. Repeatable: paths are driven one after the other; "
        "where the next reverses, the vehicle stops and changes direction."
    ),
)
@click.option(
    "--timing",
    "timing_text",
    default="",
    help=(
        "Timing law, such as quintic:60 or least-time:speed=1,friction=0.3,torque1=0.5; a "
        "gentle quintic by default."
    ),
)
@click.option(
    "--point", default="", help="Point of the base that follows the path, m; automatic by default."
)
@click.option("--direction", default="", help="Forward axis of the base; automatic by default.")
@click.option("--reverse", is_flag=True, help="Drive backwards.")
@click.option(
    "--heading",
    default="",
    help="Heading of an omnidirectional base, rad; may depend on the arc length s.",
)
@click.option(
    "--steering", default="", help="Steering coordinate, with --wheelbase; automatic by default."
)
@click.option("--wheelbase", default="0", help="Wheelbase in m, or an expression of parameters.")
@click.option(
    "--largest-steering", type=NUMBER, help="Largest steering angle, rad; π/2 by default."
)
@click.option(
    "--steering-rate",
    type=NUMBER,
    help="Steering rate while the vehicle stands at a cusp, rad/s; 0.5 by default.",
)
@click.option(
    "--hinge",
    default="",
    help="Hitch angle of the trailer whose axle follows the path; automatic by default.",
)
@click.option(
    "--hitch", default="0", help="Distance from the base back to the hinge, m or an expression."
)
@click.option(
    "--trailer",
    default="0",
    help="Distance from the hinge back to the trailer's axle, m or an expression.",
)
@click.option(
    "--controller",
    default="none",
    show_default=True,
    help=(
        "Feedback, such as path, which suits all vehicles, pose, pose:kx=2,ky=6, steered, "
        "trailer, pd:kp=30,20,kd=6,4, lqr:platform.y=20,torque1=1,torque2=1."
    ),
)
@limit_option
@period_option
@click.option("--inputs", default="", help="Force inputs to use without a controller: F_u1,F_u2.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="NAME=VALUE",
    help="Initial value that the path does not determine, such as a caster angle. Repeatable.",
)
@plant_options
@contact_option
@friction_option
@click.option(
    "--duration", type=NUMBER, help="Duration in s; by default the time that the path takes."
)
@set_option
@click.option(
    "--tolerance",
    type=NUMBER,
    help="Integration tolerance; by default 1e-9, and 1e-13 without a controller.",
)
@output_options
def track(
    model: str,
    path_texts: tuple[str, ...],
    timing_text: str,
    point: str,
    direction: str,
    reverse: bool,
    heading: str,
    steering: str,
    wheelbase: str,
    largest_steering: float | None,
    steering_rate: float | None,
    hinge: str,
    hitch: str,
    trailer: str,
    controller: str,
    limits: tuple[str, ...],
    period: float,
    inputs: str,
    references: tuple[str, ...],
    plant: PlantWords,
    contact: str | None,
    duration: float | None,
    friction: float | None,
    changes: tuple[str, ...],
    tolerance: float | None,
    output: Output,
) -> None:
    """Drive a vehicle along a path and write a folder: trajectory, plots, report, summary."""
    loaded = ns.load(model)
    target = output.target(f"{loaded.name}-track")

    from noslip.analysis import split_changes

    parts = tuple(ns.paths.parse_path(text) for text in path_texts)
    path = parts[0] if len(parts) == 1 else ns.paths.Composite(paths=parts)
    timing = ns.timing.parse_timing(timing_text) if timing_text else None
    given: dict[str, Any] = {
        "reverse": reverse,
        "largest_steering": largest_steering,
        "steering_rate": steering_rate,
    }
    for name, text in (("point", point), ("direction", direction)):
        given |= {name: read_triple(f"--{name}", text)} if text else {}
    given |= {"steering": steering} if steering else {}
    given |= {"hinge": hinge} if hinge else {}
    for name, text in (("wheelbase", wheelbase), ("hitch", hitch), ("trailer", trailer)):
        given |= {name: text} if text != "0" else {}
    chosen_inputs = tuple(name.strip() for name in inputs.split(",") if name.strip())
    bounds, open_start = (
        read_numbers(loaded, option, texts)
        for option, texts in (("--limit", limits), ("--reference", references))
    )
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded))
        parameters, start = split_changes(
            system, read_changes(loaded, changes)
        ).parameters_and_start()
        options: AlongOptions = {
            "start": start,
            "parameters": parameters,
            "duration": duration,
            "on_failure": "return",
            "contact": contact or "ideal",
        }
        if tolerance is not None:
            options |= {"rtol": tolerance, "atol": tolerance}
        follower = ns.Follower(**given, heading=heading or None, reference=open_start)
        loop = ns.ControlLoop(
            controller=controller, inputs=chosen_inputs, limits=bounds, period=period
        )
        driven = plant.plant(loaded, system)
        with cancelling() as cancel:
            options |= {"progress": bar, "cancel": cancel}
            run = ns.track(
                system,
                path,
                timing=timing,
                follower=follower,
                controller=loop,
                plant=driven,
                **options,
            )
        output = output.after(cancel)
        errors = run.path_errors
        if errors is None or len(run.t) < 2:
            raise ns.SimulationError(
                run.message,
                f"the start of the run of model '{loaded.name}'",
                "choose another start, path or controller: the run ended at its start",
            )
        facts = {"path": ", ".join(path_texts), "controller": controller}
        said = {key: words for key, _, words in (note.partition(": ") for note in run.notes)}
        facts["follows"] = said["follows the path"]
        facts |= {"timing": timing_text} if timing_text else {}
        text, found = write_output(
            system if driven is None else driven.driven(system),
            run,
            target,
            output,
            friction=friction,
            tell=bar,
            facts=facts,
        )
    click.echo(text if output.as_json else fitted(text))
    if run.doubts:
        click.echo(_meaningless(run), err=True)
    if run.success and errors.lost:
        fix = "give a --controller: without one nothing corrects deviations from the path"
        if controller != "none":
            fix = "give smaller gains, or higher limits"
        if period:
            fix = f"give a shorter --period: gains times {period:g} s must stay well below 1"
        click.echo(_lost(errors, fix), err=True)
    if not run.success or errors.lost or _fails(found):
        raise SystemExit(1)


def _meaningless(run: ns.Trajectory) -> str:
    """Message (what, where, fix) of a run that finished with a meaningless result."""
    from noslip import Fault

    what = f"the result is meaningless: {'; '.join(run.doubts)}"
    where = f"run of model '{run.model.name}' at tolerance {run.rtol:g}"
    fix = "give a smaller --tolerance, such as 1e-9; the folder shows what was computed"
    return f"SimulationError: {Fault(what, where, fix).text()}"


def _fails(found: ns.results.Audit | None) -> bool:
    """Whether the ground that was asked about does not hold the motion; says so.

    Without a coefficient of friction nothing was asked: a lift is a note of the run.
    """
    from noslip import Fault

    if found is None or found.friction is None or found.verdict != "fails":
        return False
    kinds = {"slip": found.slips, "lift": found.lifts, "slide": found.slides}
    names = {
        kind: dict.fromkeys(failure.wheel for failure in failures if failure.is_certain)
        for kind, failures in kinds.items()
    }
    said = [f"{', '.join(of)} would {kind}" for kind, of in names.items() if of]
    where = f"audit of model '{found.model}'" + (f": {'; '.join(said)}" if said else "")
    fixes = ["drive slower"]
    if names["lift"]:
        fixes.append('give lift = "keep" to a contact that is held down')
    elif not names["slide"]:
        fixes.append("leave out --friction: contacts without slip hold whatever it takes")
    what = f"ground with friction {found.friction:g} does not hold this motion"
    fault = Fault(what, where, ", or ".join(fixes))
    click.echo(f"SimulationError: {fault.text()}", err=True)
    return True


def _lost(errors: ns.results.PathErrors, fix: str) -> str:
    """Message (what, where, fix) of a vehicle that left its path."""
    from noslip import Fault

    begun = math.hypot(errors.along[0], errors.across[0])
    what = f"the vehicle left its path: it ends {errors.final:.3g} m off"
    where = f"the last tenth of the run, which began {begun:.3g} m off"
    return f"SimulationError: {Fault(what, where, fix).text()}"


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str] | None:
    """NAME=VALUE,NAME=VALUE as texts that `plan` reads; None without any."""
    found: dict[str, str] = {}
    for text in texts:
        for entry in text.split(","):
            name, equals, value = (part.strip() for part in entry.partition("="))
            said = f"{option} {entry.strip()!r}"
            if not equals or not name:
                raise click.UsageError(f"{said}: write NAME=VALUE, such as {option} base.x=2.5")
            if name in found:
                raise click.UsageError(f"{said}: '{name}' is given twice")
            found[name] = value
    return found or None


@click.command()
@click.argument("model")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Where it ends, as in base.x=2.5,base.angle=90deg; LOW..HIGH for a range. Repeatable. "
    "What is not given here is that of the model's [plan].",
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
@click.option("--clearance", type=NUMBER, help="Least distance to obstacles, m; 0 by default.")
@click.option("--friction", type=NUMBER, help="Coefficient of the ground: no wheel slips or lifts.")
@click.option(
    "--minimize",
    help="time, by default, energy, effort, or an expression that is integrated.",
)
@click.option("--duration", help="Duration in s, or LOW..HIGH; open by default.")
@click.option("--intervals", type=int, help="Pieces of the motion; 40 by default.")
@click.option(
    "--ways", type=int, default=1, show_default=True, help="Ways round obstacles that are compared."
)
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
    clearance: float | None,
    friction: float | None,
    minimize: str | None,
    duration: str | None,
    intervals: int | None,
    ways: int,
    refine: bool,
    time_limit: float,
    changes: tuple[str, ...],
    output: Output,
) -> None:
    """Plan the best motion from a start to a goal and write a folder with its exact replay."""
    from noslip.analysis import split_changes

    loaded = ns.load(model)
    target = output.target(f"{loaded.name}-plan")
    goal, start, bounds = (
        _pairs(option, texts)
        for option, texts in (("--goal", goals), ("--start", starts), ("--limit", limits))
    )
    if friction is None and loaded.plan is not None:
        friction = loaded.plan.friction
    with ns.ProgressBar() as bar:
        system = ns.compile(ns.derive(loaded))
        parameters, more = split_changes(
            system, read_changes(loaded, changes)
        ).parameters_and_start()
        with cancelling() as cancel:
            found = ns.plan(
                system,
                start={**more, **(start or {})} or None,
                goal=goal,
                limits=bounds,
                friction=friction,
                obstacles=obstacles or None,
                clearance=clearance,
                minimize=minimize,
                duration=duration,
                intervals=intervals,
                ways=ways,
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
