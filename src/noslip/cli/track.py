"""`noslip track`: drive a vehicle along a path."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from noslip.cli.options import (
    friction_option,
    read_changes,
    read_numbers,
    read_triple,
    set_option,
)
from noslip.cli.output import Output, leave, output_options
from noslip.cli.progress import Progress

if TYPE_CHECKING:
    from noslip.simulation.path_errors import PathErrors


@click.command()
@click.argument("model")
@click.option("--path", "path_text", required=True, help="Such as circle:radius=2.")
@click.option(
    "--timing",
    "timing_text",
    required=True,
    help="Such as quintic:60, or least-time:speed=1,friction=0.3,torque1=0.5.",
)
@click.option("--point", default="0,0,0", show_default=True, help="Of the base, in its frame, m.")
@click.option(
    "--direction", default="1,0,0", show_default=True, help="Of the base, along the path."
)
@click.option("--reverse", is_flag=True, help="Drive backwards.")
@click.option("--steering", default="", help="Steering coordinate, with --wheelbase.")
@click.option("--wheelbase", default="0", help="m, or an expression of parameters.")
@click.option("--largest-steering", type=float, default=math.pi / 2, help="rad; π/2 by default.")
@click.option("--hinge", default="", help="Angle of a trailer, whose axle follows the path.")
@click.option("--hitch", default="0", help="From the base back to the hinge, m or expression.")
@click.option("--trailer", default="0", help="From the hinge back to its axle, m or expression.")
@click.option(
    "--controller",
    default="none",
    show_default=True,
    help="Such as pose, pose:kx=2,ky=6, steered, trailer, pd:kp=30,20,kd=6,4, "
    "lqr:platform.y=20,torque1=1,torque2=1.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="INPUT=VALUE",
    help="Largest magnitude of an input under a controller, as in torque1=5. Repeatable.",
)
@click.option("--period", type=float, default=0.0, help="s between samples; 0: continuous.")
@click.option("--inputs", default="", help="Force inputs to use without a controller: F_u1,F_u2.")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="NAME=VALUE",
    help="Start of what the path leaves open, such as a caster's angle. Repeatable.",
)
@friction_option
@click.option("--duration", type=float, help="s; as long as the path takes by default.")
@set_option
@click.option("--tolerance", type=float, default=1e-9, show_default=True)
@output_options
def track(
    model: str,
    path_text: str,
    timing_text: str,
    point: str,
    direction: str,
    reverse: bool,
    steering: str,
    wheelbase: str,
    largest_steering: float,
    hinge: str,
    hitch: str,
    trailer: str,
    controller: str,
    limits: tuple[str, ...],
    period: float,
    inputs: str,
    references: tuple[str, ...],
    duration: float | None,
    friction: float | None,
    changes: tuple[str, ...],
    tolerance: float,
    output: Output,
) -> None:
    """Drive a vehicle along a path and leave a folder: trajectory, plots, report, summary."""
    from noslip.library import load

    loaded = load(model)
    target = output.target(f"{loaded.name}-track")

    from noslip.analysis.scenario import split_changes
    from noslip.control.text import parse_controller, parse_path, parse_timing
    from noslip.control.track import track as track_path
    from noslip.engines.system import compile as compile_system
    from noslip.errors import SimulationError
    from noslip.formulations.derive import derive as derive_equations

    path, timing = parse_path(path_text), parse_timing(timing_text)
    follower, ahead = read_triple("--point", point), read_triple("--direction", direction)
    known: dict[str, Any] = {"point": follower, "direction": ahead}
    known |= {"steering": steering, "wheelbase": wheelbase} if steering else {}
    known |= {"hinge": hinge, "hitch": hitch, "trailer": trailer} if hinge else {}
    law = parse_controller(controller, known)
    bounds, open_start = (
        read_numbers(loaded, option, texts)
        for option, texts in (("--limit", limits), ("--reference", references))
    )
    bar = Progress()
    with bar as progress:
        system = compile_system(derive_equations(loaded))
        parameters, start = split_changes(system, read_changes(loaded, changes))
        run = track_path(
            system,
            path,
            timing=timing,
            reverse=reverse,
            steering=steering,
            wheelbase=wheelbase,
            largest_steering=largest_steering,
            hinge=hinge,
            hitch=hitch,
            trailer=trailer,
            controller=law,
            inputs=tuple(name.strip() for name in inputs.split(",") if name.strip()),
            limits=bounds,
            period=period,
            reference=open_start,
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
        errors = run.path_errors
        if errors is None or len(run.t) < 2:
            raise SimulationError(
                run.message,
                f"the start of the run of model '{loaded.name}'",
                "choose another start, path or controller: there is no motion to show",
            )
        facts = {"path": path_text, "timing": timing_text, "controller": controller}
        text = leave(
            system,
            run,
            target,
            output,
            friction=friction,
            tell=bar.tell,
            facts=facts,
        )
    click.echo(text)
    if run.success and errors.lost:
        click.echo(_lost(errors, period, controller), err=True)
    if not run.success or errors.lost:
        raise SystemExit(1)


def _lost(errors: PathErrors, period: float, controller: str) -> str:
    """What, where and fix of a vehicle that is not on its path."""
    from noslip.errors import Fault

    begun = math.hypot(errors.along[0], errors.across[0])
    fix = "give a --controller: without one nothing leads back to the path"
    if controller != "none":
        fix = "give smaller gains, or higher limits"
    if period:
        fix = f"give a shorter --period: gains times {period:g} s must stay well below 1"
    what = f"the vehicle left its path: it ends {errors.final:.3g} m off"
    where = f"the last tenth of the run, which began {begun:.3g} m off"
    return f"SimulationError: {Fault(what, where, fix).text()}"
