"""What `noslip run` and `noslip track` leave: a folder, and a summary on the terminal."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from noslip.cli.options import json_option

if TYPE_CHECKING:
    from noslip.engines.system import System
    from noslip.simulation.trajectory import Trajectory

_OPTIONS = (
    click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to make."),
    click.option("--force", is_flag=True, help="Replace an earlier run in that folder."),
    click.option(
        "--plots/--no-plots",
        default=True,
        show_default=True,
        help="Draw the figures; without them there is no report either, unless it is asked for.",
    ),
    click.option(
        "--report/--no-report", default=None, help="Write the report, one page for people."
    ),
    json_option,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What is asked for.

    Parameters
    ----------
    folder : to make, or None for the next free one in ``runs/``.
    force : replace an earlier run there.
    plots : draw the figures.
    report : write the report; None where there are plots.
    as_json : print for programs.
    """

    folder: Path | None
    force: bool
    plots: bool
    report: bool | None
    as_json: bool

    def target(self, name: str) -> Path:
        """The folder to make, after checking that it may be made.

        Parameters
        ----------
        name : of the folder in ``runs/`` if none was asked for.
        """
        from noslip.show.run_folder import check_target, free_folder

        target = self.folder if self.folder is not None else free_folder(Path("runs"), name)
        check_target(target, force=self.force)
        return target


def output_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options above for a command, which gets them as one `output`."""

    @functools.wraps(command)
    def packed(
        *arguments: Any,
        output: Path | None,
        force: bool,
        plots: bool,
        report: bool | None,
        as_json: bool,
        **others: Any,
    ) -> None:
        asked = Output(folder=output, force=force, plots=plots, report=report, as_json=as_json)
        command(*arguments, output=asked, **others)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def leave(
    system: System,
    run: Trajectory,
    target: Path,
    output: Output,
    *,
    friction: float | None,
    tell: Callable[[str], None],
    facts: Mapping[str, str] | None = None,
) -> str:
    """Write the folder of a run; what to print of it.

    Parameters
    ----------
    system : that was simulated.
    run : what happened.
    target : as `output.target` chose it.
    output : what is asked for.
    friction : coefficient of the ground, for the audit of what rolls.
    tell : called with a word on what is being done.
    facts : further words for the report.
    """
    from noslip.analysis.audit import audit
    from noslip.show.json_text import json_text
    from noslip.show.run_folder import summary, summary_text, write_run

    command = "noslip " + shlex.join(sys.argv[1:])
    rolls = system.model.contacts and len(run.t)
    found = audit(system, run, friction) if rolls else None
    write_run(
        run,
        target,
        command=command,
        plots=output.plots,
        force=output.force,
        audit=found,
        system=system if (output.plots if output.report is None else output.report) else None,
        facts=facts,
        tell=tell,
    )
    if output.as_json:
        return json_text(summary(run, command, found) | {"folder": str(target)})
    lines = [summary_text(run)]
    if run.path_errors is not None:
        lost = ", lost" if run.path_errors.lost else ""
        lines.append(f"  path                 {run.covered()}{lost}")
    lines.append(f"  folder               {target}")
    if found is not None:
        lines.append(found.text())
    return "\n".join(lines)
