"""Run folders: write a run as a folder of files, and read it back.

**Plain data as JSON that every program can read.**

JSON has no word for what is not a number: a run that ended with one says null there.

**Run folders: write a run as a folder of files, and read it back.**

A folder is written whole or not at all, and never replaces another (`base.OutputFolder`). Writer
and reader share one list of file names, and one of the entries of ``summary.json`` that a run is
read back from.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import Ending, NoslipError, SimulationError, System, Trajectory, __version__, derive
from noslip.analysis import SampledMotion, simulated_system
from noslip.base import (
    ArgumentError,
    Array,
    OutputFolder,
    counted,
    format_called,
    is_installed,
    known_formats,
    read_text,
    require,
    write_file,
)
from noslip.formats import AbstractRunFormat
from noslip.model import Toml, bears_force, load_model
from noslip.results import PathErrors
from noslip.simulation import ColumnTable

if TYPE_CHECKING:
    from noslip.results import Audit


def json_text(data: Any) -> str:
    """The text of plain data: dictionaries, lists, texts, numbers; null where one is not finite."""
    return json.dumps(_finite(data), indent=2, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


#: Files that a run is read back from; a folder with a summary is taken for a run.
MODEL, SUMMARY = "model.toml", "summary.json"
#: Bytes of a summary.
MAX_SUMMARY = 10_000_000
#: Obstacles of a plan, and the largest file of them.
OBSTACLES, MAX_OBSTACLES = "obstacles.json", 100_000_000
#: The same for people.
REPORT, SUMMARY_TEXT = "report.html", "summary.txt"
#: What a report cannot be written without.
REPORT_PACKAGES = ("matplotlib", "PIL", "ziamath")
#: The trajectory, whose format follows, and the formats in which it is written unless asked for.
TRAJECTORY, FORMATS = "trajectory", ("netcdf", "csv")

#: Entries of the summary that are fields of the trajectory → name of the field.
FIELDS = {
    "ended_by": "ended_by",
    "message": "message",
    "steps": "steps",
    "rejections": "rejections",
    "evaluations": "nfev",
    "method": "method",
    "rtol": "rtol",
    "atol": "atol",
    "notes": "notes",
    "admissibility_residual": "admissibility",
}
#: Those of them that folders of earlier versions may lack.
NEW = ("ended_by", "admissibility_residual")
#: Entries that are read back in another form.
ENDING, PARAMETERS, PATH_LENGTH = "ending", "parameters", "path_length"
#: Whether the scenario of the model is what was run.
IS_OF_SCENARIO = "is_of_scenario"


def write_run(
    run: Trajectory,
    folder: str | Path,
    *,
    command: str = "",
    plots: bool | None = None,
    force: bool = False,
    numbered: bool = False,
    audit: Audit | None = None,
    system: System | None = None,
    facts: Mapping[str, str] | None = None,
    tell: Callable[[str], None] | None = None,
    formats: Sequence[str] = FORMATS,
    note: Callable[[str], None] | None = None,
) -> Path:
    """Write a run into a folder of its own.

    Parameters
    ----------
    run : run by :func:`simulate`, :func:`run_scenario` or :func:`track`.
    folder : folder to be made; its parents too.
    command : command that reproduces the run, for the summary and the report.
    plots : whether the figures are drawn; by default where Matplotlib is installed.
    force : whether an earlier run in that folder is replaced. What noslip did not write there, or
        what was changed since, is kept.
    numbered : whether the next free folder is made, as ``run-2``, where this one is taken, instead
        of an error.
    audit : audit of the run, for the summary, the figures and the report.
    system : compiled system that was simulated, or drove the plant that was; given it,
        ``report.html`` is written too.
    facts : further words for the report, as in :func:`write_report`.
    tell : function called with a short text on what is being done.
    formats : formats of the trajectory, a file each: ``"netcdf"``, ``"csv"``, or the names of your
        own.
    note : function called with a sentence on what was kept of an earlier run, or on another folder.

    Returns
    -------
    Path : of the folder, which now holds ``trajectory.nc``, ``trajectory.csv``, ``model.toml``,
        ``summary.json``, ``summary.txt``, the figures as PNG, the report, and a manifest of them.
        It has the next free name, too, if another run takes the folder while this one is written.

    Raises
    ------
    SimulationError : the folder holds something that is not replaced.
    StorageError : it cannot be written; what was there is as it was.
    MissingPackageError : figures or a report are asked for, and a package for them is missing.
    """
    plots = is_installed("matplotlib") if plots is None else plots
    if plots:
        require("matplotlib", "a figure", "plots")
    for module in REPORT_PACKAGES if system is not None else ():
        require(module, "a report", REPORT)
    if not isinstance(run, Trajectory):
        raise ArgumentError(
            f"write_run takes a run, got {type(run).__name__}",
            "run, argument of write_run",
            "give what simulate, run_scenario or track returned",
        )
    system = None if system is None else simulated_system(system, run, "write_run")
    chosen = run_formats(formats or FORMATS)
    say = tell or (lambda word: None)

    def fill(temporary: Path) -> None:
        say("writing")
        _fill(temporary, run, chosen, RunSummary(run, command, audit))
        if plots and len(run.t) > 1:
            say("drawing")
            _draw(temporary, run, audit)
        if system is not None:
            from noslip.show.report.sections import write_report

            write_report(
                system,
                run,
                temporary / REPORT,
                command=command,
                facts=facts,
                audit=audit,
                tell=say,
            )

    target = OutputFolder(folder, mark=SUMMARY)
    return target.write(fill, force=force, numbered=numbered, note=note)


@dataclass(frozen=True, slots=True, eq=False)
class RunSummary:
    """A run in numbers."""

    run: Trajectory  #: run that is summed up
    command: str = ""  #: command that reproduces it
    audit: Audit | None = None  #: audit of the run

    def to_json(self) -> dict[str, Any]:
        """The run in numbers, as plain data."""
        run = self.run
        data: dict[str, Any] = {
            "noslip": __version__,
            "model": run.model.name,
            "command": self.command,
            ENDING: run.ending.name.lower(),
            "duration": _duration(run),
            "samples": len(run.t),
            **{key: getattr(run, field) for key, field in FIELDS.items()},
            **_contacts(run),
            "doubts": list(run.doubts),
            "energy_drift": run.energy_drift,
            "constraint_residual_speeds": run.slip,
            "constraint_residual_positions": run.gap,
            PARAMETERS: run.parameters,
            IS_OF_SCENARIO: run.scenario is not None,
            "final_state": _final(run),
        }
        if len(run.t) > 1:
            data["inputs"] = {name: use._asdict() for name, use in run.input_use().items()}
        if run.errors:
            data["tracking_error"] = run.tracking_error
            data["tracking_error_final"] = {n: float(e[-1]) for n, e in run.errors.items()}
        if run.path_errors is not None and len(run.t):
            data |= run.path_errors.to_json()
        if self.audit is not None:
            data["audit"] = self.audit.to_json()
        return data

    def text(self) -> str:
        """The run in a few lines."""
        run = self.run
        lines = [
            f"{run.model.name}: {run.verdict}",
            f"  {counted(len(run.t), 'sample')} over {_duration(run):g} s, {run.method}, "
            f"tolerance {run.rtol:g}, {counted(run.steps, 'step')}, "
            f"{counted(run.nfev, 'evaluation')}",
            f"  energy drift         {run.energy_drift:.3g} of the energy exchanged",
            f"  constraint residual  {run.slip:.3g} m/s or rad/s, {run.gap:.3g} m or rad",
        ]
        if run.errors and len(run.t):
            lines += [
                f"  tracking error       {e.size:.3g} {e.unit} at most ({e.name}), "
                f"{e.last:.3g} {e.unit} at the end{_other(e)}"
                for e in run.largest_errors
            ]
        if len(run.t) > 1:
            lines += [
                f"  {name:<20} {use.rms:.4g} {use.unit} RMS, {use.peak:.4g} at most, "
                f"{use.energy:.4g} J"
                for name, use in run.input_use().items()
                if use.peak > 0
            ]
        lines += [f"  note                 {note}" for note in run.notes]
        if self.command:
            lines.append(f"  reproduce            {self.command}")
        if self.audit is not None:
            lines += self.audit.text().splitlines()
        return "\n".join(lines)


def _duration(run: Trajectory) -> float:
    return float(run.t[-1] - run.t[0]) if len(run.t) else 0.0


def _other(error: Any) -> str:
    return "" if error.last_name == error.name else f" ({error.last_name})"


def _final(run: Trajectory) -> dict[str, float]:
    if not len(run.t):
        return {}
    names = [c.name for c in (*run.coordinates, *run.speeds)]
    return {name: float(run[name][-1]) for name in names}


def run_formats(words: Sequence[str]) -> list[AbstractRunFormat]:
    """Formats of a trajectory by their words.

    Raises
    ------
    SimulationError : if one is not known, or writes nothing.
    """
    found = [format_called(AbstractRunFormat, word, "formats") for word in words]
    for format in found:
        if not format.can("write"):
            able = [w for w, f in known_formats(AbstractRunFormat).items() if f.can("write")]
            raise SimulationError(
                f"a run cannot be written as {format.name}",
                "formats",
                f"choose among {', '.join(able)}",
            )
    return found


def _fill(
    folder: Path,
    run: Trajectory,
    formats: list[AbstractRunFormat],
    summary: RunSummary,
) -> None:
    """Everything but pictures; the model has the scenario as it was run."""
    model = run.model
    if run.scenario is not None:
        model = dataclasses.replace(model, scenario=run.scenario)
    write_file(Toml(), model, folder / MODEL)
    for format in formats:
        write_file(format, run, folder / f"{TRAJECTORY}{format.suffixes[0]}")
    (folder / SUMMARY).write_text(json_text(summary.to_json()) + "\n", "utf-8")
    (folder / SUMMARY_TEXT).write_text(summary.text() + "\n", "utf-8")
    if run.obstacles:
        listed = [{"corners": c.tolist(), "moves": moves} for c, moves in run.obstacles]
        (folder / OBSTACLES).write_text(json.dumps(listed) + "\n", "utf-8")


def _draw(folder: Path, run: Trajectory, audit: Audit | None) -> None:
    """The figures, a file each."""
    from noslip.show.plots.painting import sheet_png
    from noslip.show.plots.plotting import run_sheets

    for name, sheet in run_sheets(run, audit).items():
        (folder / f"{name}.png").write_bytes(sheet_png(sheet))


def read_run(folder: str | Path) -> Trajectory:
    """The trajectory in a folder that `noslip run`, `noslip track` or :func:`write_run` made.

    Parameters
    ----------
    folder : folder with ``model.toml``, ``summary.json`` and ``trajectory.nc``, or the trajectory
        in another format that can be read.

    Raises
    ------
    SimulationError : if the folder is no run, or its files do not belong together.
    """
    place = Path(folder)
    kept = _kept_trajectory(place)
    missing = [name for name in (MODEL, SUMMARY) if not os.path.isfile(place / name)]
    if kept is None or missing:
        name = (missing or [f"{TRAJECTORY}.nc"])[0]
        raise SimulationError(
            f"the folder has no {name}, so it is not a run that can be read",
            str(place),
            "give a folder that `noslip run` or `noslip track` made, or simulate again",
        )
    format, file = kept
    try:
        text = read_text(place / SUMMARY, SimulationError, "simulate again", max_bytes=MAX_SUMMARY)
        entries: dict[str, Any] = json.loads(text)
        system = System(equations=derive(load_model(place / MODEL)))
        run = _trajectory(system, format.read(file), entries)
        return run.replaced(obstacles=_obstacles(place / OBSTACLES))
    except NoslipError:
        raise
    except Exception as error:  # of whatever reads the parts of damaged files
        reason = f"{type(error).__name__}: {error}"[:200]
        raise SimulationError(
            f"the files of the run are inconsistent or damaged: {reason}",
            str(place),
            "simulate again",
        ) from None


def _obstacles(file: Path) -> tuple[tuple[Array, str], ...]:
    """What a plan kept clear of; nothing of other runs."""
    if not os.path.isfile(file):
        return ()
    text = read_text(file, SimulationError, "plan again", max_bytes=MAX_OBSTACLES)
    return tuple(
        (np.array(entry["corners"], dtype=float).reshape(-1, 2), str(entry["moves"]))
        for entry in json.loads(text)
    )


def _kept_trajectory(folder: Path) -> tuple[AbstractRunFormat, Path] | None:
    """The file of the trajectory and its format, the first that can be read."""
    files = (
        (format, folder / f"{TRAJECTORY}{suffix}")
        for format in known_formats(AbstractRunFormat).values()
        for suffix in format.suffixes
        if format.can("read")
    )
    return next(((format, file) for format, file in files if os.path.isfile(file)), None)


def _trajectory(system: System, found: ColumnTable, entries: dict[str, Any]) -> Trajectory:
    kin = system.kinematics
    t = found["time"][1]
    taken = {"time"}

    def table(names: list[str]) -> Array:
        taken.update(names)
        columns = [found[name][1] for name in names]
        return np.column_stack(columns) if columns else np.empty((len(t), 0))

    rows = [row.name for row in kin.rows]
    bearing = [k for k, name in enumerate(rows) if bears_force(system.model.contacts, name)]
    has_forces = bool(bearing) and f"reaction.{rows[bearing[0]]}" in found
    q, v = (table([x.name for x in xs]) for xs in (system.coordinates, system.speeds))
    vdot = table([f"acceleration.{s.name}" for s in system.speeds])
    inputs = table([i.name for i in system.inputs])
    residuals = table([f"residual.{name}" for name in rows])
    multipliers = None
    if has_forces:
        multipliers = np.zeros((len(t), len(rows)))
        multipliers[:, bearing] = table([f"reaction.{rows[k]}" for k in bearing])
    path_errors = None
    if PATH_LENGTH in entries:
        # earlier versions did not write where the reference is
        known = [name for name in PathErrors.COLUMNS if name in found]
        parts = {n.removeprefix("path."): x for n, x in zip(known, table(known).T, strict=True)}
        path_errors = PathErrors(
            x=parts.get("x", np.full(len(t), np.nan)),
            y=parts.get("y", np.full(len(t), np.nan)),
            along=parts["along_error"],
            across=parts["across_error"],
            heading=parts["heading_error"],
            length=entries[PATH_LENGTH],
        )
    energies = table(["kinetic_energy", "potential_energy", "work"])
    fields = {f: entries[key] for key, f in FIELDS.items() if key in entries or key not in NEW}
    fields["notes"] = tuple(entries["notes"])
    fields["contact"] = entries.get("contact", "ideal")
    fields["contact_events"] = Trajectory.events_of(entries.get("contact_events", ()))
    run = Trajectory(
        model=system.model,
        parameters={p.name: float(entries[PARAMETERS][p.name]) for p in system.model.parameters},
        coordinates=system.coordinates,
        speeds=system.speeds,
        input_quantities=system.inputs,
        rows=tuple(rows),
        row_units=tuple(row.unit for row in kin.rows),
        multiplier_units=tuple(row.multiplier_unit for row in kin.rows),
        t=t,
        q=q,
        v=v,
        vdot=vdot,
        inputs=inputs,
        kinetic_energy=energies[:, 0],
        potential_energy=energies[:, 1],
        work=energies[:, 2],
        row_residuals=residuals,
        position_residuals=np.empty((len(t), 0)),
        multipliers=multipliers,
        extra=_extra(system, found, taken),
        ending=Ending[entries[ENDING].upper()],
        scenario=system.model.scenario if entries.get(IS_OF_SCENARIO) else None,
        path_errors=path_errors,
        **fields,
    )
    return _with_position_residuals(system, run)


def _contacts(run: Trajectory) -> dict[str, object]:
    """The law of contacts, and when these changed, of a run in which they could."""
    if run.contact == "ideal":
        return {}
    return {"contact": run.contact, "contact_events": [e._asdict() for e in run.contact_events]}


def _extra(system: System, found: ColumnTable, taken: set[str]) -> ColumnTable:
    """Columns that are neither states nor follow from them."""
    follows = {"energy_error"}
    for joint in system.model.joints:
        angles = joint.type.named_angles()
        follows |= {f"{joint.name}.{n}_rate" for n in (angles.names if angles is not None else ())}
    measured = system.model.measured_speeds()
    speeds = system.model.independent_speeds
    follows |= {s.name for s in speeds if s.expression and s.name not in measured}
    return {name: column for name, column in found.items() if name not in taken | follows}


def _with_position_residuals(system: System, run: Trajectory) -> Trajectory:
    """The run with its position residuals, which the file does not hold, computed anew."""
    table = system.residuals.map(*SampledMotion.of(system, run).arguments(system))
    return dataclasses.replace(run, position_residuals=table[:, len(run.rows) :])
