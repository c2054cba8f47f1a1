"""`noslip animate`: write the animation of a run."""

from __future__ import annotations

from pathlib import Path

import click

import noslip as ns
from noslip.cli.options import check_target, force_option, read_changes, set_option


@click.command()
@click.argument("source", metavar="MODEL_OR_RUN")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write, .html, .gif, .mp4 or .png; the model's name with .html by default.",
)
@force_option
@click.option("--forces", is_flag=True, help="Arrows for the forces of the ground.")
@click.option("--velocities", is_flag=True, help="Arrows for the velocities of the mass centers.")
@click.option("--traces/--no-traces", default=True, show_default=True)
@click.option(
    "--follow/--no-follow", default=None, help="Keep the bodies in the middle, or all in view."
)
@click.option("--rate", type=click.FloatRange(min=0.0, min_open=True), help="Pictures a second.")
@click.option(
    "--speed",
    type=click.FloatRange(min=0.0, min_open=True),
    default=1.0,
    show_default=True,
    help="Seconds of the motion in a second.",
)
@click.option("--title", help="In the corner, before the time; the model's name by default.")
@click.option("--size", default="960x600", show_default=True, help="Of films, pixels.")
@click.option("--duration", type=float, help="s, of a model; its own by default.")
@set_option
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
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
    """Show a run: the folder of one, or a model's scenario, which is simulated first.

    An HTML file plays in any browser without a network; films are GIF or MP4.
    """
    width, height = _read_size(size)
    is_folder = Path(source).is_dir()
    if is_folder and (changes or duration is not None):
        raise click.UsageError("--set and --duration belong to a model; the run is already made")
    target = output if output is not None else Path(f"{Path(source).stem}.html")
    check_target(target, force)
    from noslip.show.animate import check_file

    check_file(target)
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
    source: str, changes: tuple[str, ...], duration: float | None, tolerance: float
) -> ns.Trajectory:
    model = ns.load(source)
    return ns.run_scenario(
        ns.compile(ns.derive(model)),
        changes=read_changes(model, changes),
        duration=duration,
        rtol=tolerance,
        atol=tolerance,
        on_failure="return",
    )
