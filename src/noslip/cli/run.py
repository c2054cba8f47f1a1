"""`noslip run`: simulate a model's scenario."""

from __future__ import annotations

import click

from noslip.cli.options import (
    friction_option,
    read_changes,
    read_stops,
    set_option,
    stop_option,
)
from noslip.cli.output import Output, leave, output_options
from noslip.cli.progress import Progress


@click.command()
@click.argument("model")
@click.option("--duration", type=float, help="s; the model's own by default.")
@set_option
@stop_option
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
@friction_option
@output_options
def run(
    model: str,
    duration: float | None,
    changes: tuple[str, ...],
    stops: tuple[str, ...],
    tolerance: float,
    friction: float | None,
    output: Output,
) -> None:
    """Simulate a model's scenario and leave a folder: trajectory, plots, report, summary."""
    from noslip.library import load

    loaded = load(model)
    target = output.target(loaded.name)

    from noslip.analysis.scenario import run_scenario
    from noslip.engines.system import compile as compile_system
    from noslip.formulations.derive import derive as derive_equations

    stop = read_stops(stops)
    bar = Progress()
    with bar as progress:
        system = compile_system(derive_equations(loaded))
        run = run_scenario(
            system,
            changes=read_changes(loaded, changes),
            duration=duration,
            stop=stop,
            rtol=tolerance,
            atol=tolerance,
            progress=progress,
            on_failure="return",
        )
        text = leave(system, run, target, output, friction=friction, tell=bar.tell)
    click.echo(text)
    if not run.success:
        raise SystemExit(1)
