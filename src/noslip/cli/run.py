"""`noslip run`: simulate a model's scenario."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from noslip.cli.options import json_option, plots_option, read_changes, report_option, set_option
from noslip.cli.progress import Progress, announce_compilation


@click.command()
@click.argument("model")
@click.option("--duration", type=float, help="s; the model's own by default.")
@set_option
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
@click.option(
    "--friction",
    type=click.FloatRange(min=0.0),
    help="Friction coefficient of the ground: says whether and where a wheel would slip.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to make.")
@click.option("--force", is_flag=True, help="Replace an earlier run in that folder.")
@plots_option
@report_option
@json_option
def run(
    model: str,
    duration: float | None,
    changes: tuple[str, ...],
    tolerance: float,
    friction: float | None,
    output: Path | None,
    force: bool,
    plots: bool,
    report: bool | None,
    as_json: bool,
) -> None:
    """Simulate a model's scenario and leave a folder: trajectory, plots, report, summary."""
    from noslip.library import load
    from noslip.show.folder import check_target, free_folder, summary, summary_text, write_run
    from noslip.show.json_text import json_text

    loaded = load(model)
    target = output if output is not None else free_folder(Path("runs"), loaded.name)
    check_target(target, force=force)

    from noslip.analysis.audit import audit
    from noslip.analysis.scenario import run_scenario
    from noslip.engines.system import compile as compile_system
    from noslip.formulations.base import derive as derive_equations

    announce_compilation()
    bar = Progress()
    with bar as progress:
        system = compile_system(derive_equations(loaded))
        result = run_scenario(
            system,
            changes=read_changes(loaded, changes),
            duration=duration,
            rtol=tolerance,
            atol=tolerance,
            progress=progress,
            on_failure="return",
        )
        command = "noslip " + shlex.join(sys.argv[1:])
        rolls = loaded.contacts and len(result.trajectory.t)
        found = audit(system, result.trajectory, friction) if rolls else None
        write_run(
            result,
            target,
            command=command,
            plots=plots,
            force=force,
            audit=found,
            system=system if (plots if report is None else report) else None,
            tell=bar.tell,
        )
    if as_json:
        data = summary(result, command, found) | {"folder": str(target)}
        click.echo(json_text(data))
    else:
        click.echo(summary_text(result))
        click.echo(f"  folder               {target}")
        if found is not None:
            click.echo(found.text())
    if not result.trajectory.success:
        raise SystemExit(1)
