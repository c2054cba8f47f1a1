"""`noslip track`: drive a vehicle along a path."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from noslip.cli.options import (
    json_option,
    plots_option,
    read_changes,
    read_triple,
    report_option,
    set_option,
)
from noslip.cli.progress import Progress, announce_compilation


@click.command()
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
@set_option
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to make.")
@click.option("--force", is_flag=True, help="Replace an earlier run in that folder.")
@plots_option
@report_option
@json_option
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
    report: bool | None,
    as_json: bool,
) -> None:
    """Drive a vehicle along a path and leave a folder: trajectory, plots, report, summary."""
    from noslip.library import load
    from noslip.show.folder import check_target, free_folder, summary, summary_text, write_run
    from noslip.show.json_text import json_text

    loaded = load(model)
    target = output if output is not None else free_folder(Path("runs"), f"{loaded.name}-track")
    check_target(target, force=force)

    from noslip.analysis.audit import audit
    from noslip.analysis.scenario import split_changes
    from noslip.control.controllers.joints import ComputedTorque
    from noslip.control.controllers.pose import PoseTracking
    from noslip.control.paths.text import parse_path
    from noslip.control.timing.text import parse_timing
    from noslip.control.track import track as track_path
    from noslip.engines.system import compile as compile_system
    from noslip.formulations.base import derive as derive_equations
    from noslip.model.contacts import Rolling

    path, timing = parse_path(path_text), parse_timing(timing_text)
    follower, ahead = read_triple("--point", point), read_triple("--direction", direction)
    laws = {
        "none": lambda: None,
        "pose": lambda: PoseTracking(),
        "computed-torque": lambda: ComputedTorque(kp=4.0, kd=4.0),
    }
    announce_compilation()
    bar = Progress()
    with bar as progress:
        system = compile_system(derive_equations(loaded))
        parameters, start = split_changes(system, read_changes(loaded, changes))
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
        facts = {"path": path_text, "timing": timing_text, "controller": controller}
        write_run(
            as_run,
            target,
            command=command,
            plots=plots,
            force=force,
            audit=found,
            system=system if (plots if report is None else report) else None,
            facts=facts | {"tracking": result.summary()},
            tell=bar.tell,
        )
    if as_json:
        numbers = summary(as_run, command, found) | result.to_json() | {"folder": str(target)}
        click.echo(json_text(numbers))
    else:
        click.echo(summary_text(as_run))
        click.echo(f"  tracking             {result.summary()}")
        click.echo(f"  folder               {target}")
        if found is not None:
            click.echo(found.text())
    if not result.trajectory.success:
        raise SystemExit(1)
