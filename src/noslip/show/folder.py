"""A run as a folder: trajectory, plots, report and a summary, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noslip import __version__
from noslip.errors import SimulationError
from noslip.model.files import save_model
from noslip.show.json_text import json_text
from noslip.simulation.trajectory import Trajectory, largest_errors
from noslip.words import counted

if TYPE_CHECKING:
    from noslip.analysis.audit import Audit
    from noslip.engines.system import System

#: The page for people.
REPORT = "report.html"
#: The file by which a folder is known to be a run of ours.
SUMMARY = "summary.json"
#: What was simulated, and what happened.
MODEL, TRAJECTORY = "model.toml", "trajectory.nc"


def write_run(
    run: Trajectory,
    folder: str | Path,
    *,
    command: str = "",
    plots: bool = True,
    force: bool = False,
    audit: Audit | None = None,
    system: System | None = None,
    facts: Mapping[str, str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Path:
    """Write a run into a folder of its own.

    Parameters
    ----------
    run : what :func:`simulate`, :func:`run_scenario` or :func:`track` returned.
    folder : to be made; its parents too.
    command : how to do it again, for the summary and the report.
    plots : also draw the figures.
    force : replace an earlier run in that folder (never a folder with anything else in it).
    audit : of the run, for the summary, the figures and the report.
    system : compiled system that was simulated; given it, ``report.html`` is written too.
    facts : further words for the report, as in :func:`write_report`.
    tell : called with a word on what is being done.

    Returns
    -------
    Path : of the folder, which now holds ``trajectory.nc``, ``trajectory.csv``, ``model.toml``,
        ``summary.json``, ``summary.txt``, the figures as PNG and the report.
    """
    if not isinstance(run, Trajectory):
        raise TypeError(
            f"write_run takes a run, got {type(run).__name__}: give what simulate, run_scenario or "
            "track returned"
        )
    target = Path(folder)
    check_target(target, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise SimulationError(
            f"the folder cannot be made: {error.strerror}", str(target), "choose another with -o"
        ) from None
    try:
        say = tell or (lambda word: None)
        say("writing")
        _fill(temporary, run, command, audit)
        if plots and len(run.t) > 1:
            say("drawing")
            _draw(temporary, run, audit)
        if system is not None:
            from noslip.show.report.report import write_report

            write_report(
                system,
                run,
                temporary / REPORT,
                command=command,
                facts=facts,
                audit=audit,
                tell=say,
            )
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        if target.exists():
            old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
            os.replace(target, old / target.name)
            os.replace(temporary, target)
            shutil.rmtree(old)
        else:
            os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def check_target(target: Path, *, force: bool) -> None:
    """Refuse to touch what is there, unless it is an earlier run and `force` says so."""
    if not target.exists():
        return
    if not target.is_dir() or (any(target.iterdir()) and not (target / SUMMARY).exists()):
        raise SimulationError(
            "the target exists and is not a run of noslip, so it is not replaced",
            str(target),
            "choose another folder with -o",
        )
    if any(target.iterdir()) and not force:
        raise SimulationError(
            "the folder already holds a run",
            str(target),
            "choose another folder with -o, or replace the run with --force",
        )


def free_folder(parent: Path, name: str) -> Path:
    """parent/name, or parent/name-2, name-3, … if that is taken."""
    candidate = parent / name
    number = 2
    while candidate.exists():
        candidate = parent / f"{name}-{number}"
        number += 1
    return candidate


def summary(run: Trajectory, command: str = "", audit: Audit | None = None) -> dict[str, Any]:
    """The run in numbers, as plain data."""
    data: dict[str, Any] = {
        "noslip": __version__,
        "model": run.model.name,
        "command": command,
        "ending": run.ending.name.lower(),
        "ended_by": run.ended_by,
        "message": run.message,
        "duration": float(run.t[-1] - run.t[0]) if len(run.t) else 0.0,
        "samples": len(run.t),
        "steps": run.steps,
        "rejections": run.rejections,
        "evaluations": run.nfev,
        "method": run.method,
        "rtol": run.rtol,
        "atol": run.atol,
        "energy_drift": run.energy_drift,
        "constraint_residual_speeds": run.slip,
        "constraint_residual_positions": run.gap,
        "parameters": run.parameters,
        "final_state": _final(run),
        "notes": list(run.notes),
    }
    if run.errors:
        data["tracking_error"] = run.tracking_error
        data["tracking_error_final"] = {n: float(e[-1]) for n, e in run.errors.items()}
        data["admissibility_residual"] = run.admissibility
    if run.path_errors is not None and len(run.t):
        data |= run.path_errors.to_json()
    if audit is not None:
        data["audit"] = audit.to_json()
    return data


def summary_text(run: Trajectory, command: str = "", audit: Audit | None = None) -> str:
    """The run in a few honest lines."""
    lines = [
        f"{run.model.name}: {run.message}",
        f"  {counted(len(run.t), 'sample')} over {summary(run)['duration']:g} s, {run.method}, "
        f"tolerance {run.rtol:g}, {counted(run.steps, 'step')}, "
        f"{counted(run.nfev, 'evaluation')}",
        f"  energy drift         {run.energy_drift:.2e} of the energy that moved",
        f"  constraint residual  {run.slip:.2e} m/s or rad/s, {run.gap:.2e} m or rad",
    ]
    if run.errors and len(run.t):
        lines += [
            f"  tracking error       {e.size:.2e} {e.unit} at most ({e.name}), "
            f"{e.last:.2e} {e.unit} at the end ({e.last_name})"
            for e in largest_errors(run)
        ]
    lines += [f"  note                 {note}" for note in run.notes]
    if command:
        lines.append(f"  again                {command}")
    if audit is not None:
        lines += audit.text().splitlines()
    return "\n".join(lines)


def _final(run: Trajectory) -> dict[str, float]:
    if not len(run.t):
        return {}
    names = [c.name for c in (*run.coordinates, *run.speeds)]
    return {name: float(run[name][-1]) for name in names}


def _fill(folder: Path, run: Trajectory, command: str, audit: Audit | None) -> None:
    """Everything but pictures."""
    save_model(run.model, folder / MODEL)
    run.to_netcdf(folder / TRAJECTORY)
    run.to_csv(folder / "trajectory.csv")
    (folder / SUMMARY).write_text(json_text(summary(run, command, audit)) + "\n", "utf-8")
    (folder / "summary.txt").write_text(summary_text(run, command, audit) + "\n", "utf-8")


def _draw(folder: Path, run: Trajectory, audit: Audit | None) -> None:
    """The figures, a file each."""
    from noslip.show.plots import run_figures, save_figure

    for name, figure in run_figures(run, audit).items():
        save_figure(figure, folder / f"{name}.png")
