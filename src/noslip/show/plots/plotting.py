"""`plot`: the figures of a run by name, of several runs side by side, or of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from noslip import SimulationError, Trajectory
from noslip.results import EigenvalueSweep, MeasuredTable
from noslip.base import ArgumentError, nearest
from noslip.scene import ground_joints
from noslip.show.plots import histories
from noslip.show.plots.curves import Panel
from noslip.show.plots.eigenvalues import plot_eigenvalues
from noslip.show.plots.files import FigureFile
from noslip.show.plots.histories import friction_sheet, side_by_side
from noslip.show.plots.panels import lay_out
from noslip.show.plots.paths import path_sheet
from noslip.show.plots.sheets import Sheet
from noslip.show.plots.style import style_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from noslip.results import Audit


#: What has columns over time.
Plotted: TypeAlias = Trajectory | MeasuredTable


def _named(choose: Callable[[Trajectory], list[str]]) -> Callable[[Trajectory], list[Panel]]:
    def panels(run: Trajectory) -> list[Panel]:
        return histories.history_panels(run, choose(run), by_size=True)

    return panels


def _histories(run: Trajectory) -> list[str]:
    names = histories.coordinate_names(run) + histories.speed_names(run)
    return names + histories.input_names(run)


def _errors(run: Trajectory) -> list[Panel]:
    if run.path_errors is not None:
        return histories.path_error_panels(run.t, run.path_errors)
    return histories.error_panels(run)


#: What can be drawn of a run, in panels, by name.
PANELS: Mapping[str, Callable[[Trajectory], list[Panel]]] = {
    "histories": _named(_histories),
    "coordinates": _named(histories.coordinate_names),
    "speeds": _named(histories.speed_names),
    "accelerations": _named(histories.acceleration_names),
    "inputs": _named(histories.input_names),
    "reactions": _named(histories.reaction_names),
    "energy": histories.energy_panels,
    "residuals": histories.residual_panels,
    "errors": _errors,
    "signals": histories.signal_panels,
    "phase": histories.phase_panels,
    "contacts": histories.contact_panels,
    "estimate": histories.estimate_panels,
    "adapted": histories.adapted_panels,
}
#: All names.
FIGURES = ("path", *PANELS, "friction")


def plot(
    run: Plotted | Sequence[Plotted] | EigenvalueSweep,
    what: str | Sequence[str] = "",
    *,
    against: str = "time",
    labels: Sequence[str] = (),
    audit: Audit | None = None,
    title: str = "",
    size: str = "page",
    style: str = "",
    save: str | Path | None = None,
) -> Figure:
    """A figure of a run, or of several runs side by side, with the model's own names and units.

    Parameters
    ----------
    run : what :func:`simulate`, :func:`run_scenario` or :func:`track` returned, or a list of them;
        or what :func:`sweep_eigenvalues` returned, whose eigenvalues are drawn. Of what
        :func:`read_measured` returned, among runs or alone, a list of columns is drawn.
    what : name of a figure: ``histories`` (coordinates, speeds and inputs; the default), ``path``,
        ``coordinates``, ``speeds``, ``accelerations``, ``inputs``, ``reactions``, ``energy``,
        ``residuals``, ``errors``, ``signals`` (what a controller saw, wanted and got),
        ``estimate`` (errors of an estimator), ``adapted`` (parameters that a controller adapts),
        ``phase``, ``contacts`` (states, grip, load and slip of what slides and lifts) or
        ``friction``; or a list of columns,
        such as ``["wheel1.angle", "torque1"]``, which are drawn in one panel for each unit.
    against : column on the abscissa of a list of columns, such as ``"sleigh.vx"``.
    labels : of several runs.
    audit : of the run, for ``friction``.
    title : above the figure.
    size : ``page`` (7.2 inches wide) or ``column`` (3.5).
    style : what it is for, instead of a size: ``screen``, ``paper`` (a column, in the font of the
        equations) or ``slide`` (10.8 inches wide, text of 16 points).
    save : file to write, too: PNG, SVG or PDF by its ending.

    Returns
    -------
    Figure : of matplotlib, to be changed or shown; it is not known to pyplot.
    """
    from noslip.show.plots.figures import figure_of, restyle

    target = None if save is None else FigureFile(save)
    if isinstance(run, EigenvalueSweep):
        return _sweep(run, what, title, size, style, save)
    chosen = style_named(style, size)
    size = chosen.size
    what = (what or "histories") if isinstance(what, str) else list(what)
    given = _runs(run)
    names = _labels(given, labels)
    if any(isinstance(one, MeasuredTable) for one in given) and isinstance(what, str):
        raise SimulationError(
            f"the figure '{what}' is for runs, but this is a measured table",
            "plot(…)",
            'give a list of columns, such as what=["base.x"]',
        )
    # of a list of columns a table has all that is drawn
    runs = cast("list[Trajectory]", given)
    if isinstance(what, str) and against != "time":
        raise SimulationError(
            f"'{against}' is given for the x axis of the figure '{what}', which has its own",
            "plot(…, against=…)",
            f'give a list of columns, such as what=["{what}"], or leave against out',
        )
    if what == "path":
        sheet = path_sheet(runs, names, title=title, size=size)
    elif what == "friction":
        sheet = friction_sheet(_audit(runs, audit), title=title, size=size)
    else:
        sets = [_panels(r, what, against) for r in runs]
        is_grid = what == "phase" or len(runs) > 1
        panels = sets[0]
        if len(runs) > 1:
            order = list(runs[0].columns) if isinstance(what, str) else list(what)
            panels = side_by_side(sets, names, order)
        columns = _columns(panels) if is_grid else 1
        sheet = lay_out(panels, title=title, size=size, columns=columns)
    figure = restyle(figure_of(sheet, chosen.scale), chosen)
    if target is not None:
        target.save(figure)
    return figure


def named_sheet(run: Trajectory, what: str, *, size: str = "page") -> Sheet:
    """The sheet of a figure of a run in panels."""
    return lay_out(_panels(run, what, "time"), size=size)


def _sweep(
    sweep: EigenvalueSweep,
    what: object,
    title: str,
    size: str,
    style: str,
    save: str | Path | None,
) -> Figure:
    if what not in ("", "eigenvalues"):
        raise SimulationError(
            f"there is no figure {what!r} of a sweep",
            f"sweep of model '{sweep.model}'",
            "leave out what: the eigenvalues are drawn",
        )
    return plot_eigenvalues(
        sweep.values,
        sweep.eigenvalues,
        parameter=sweep.name,
        unit=sweep.unit,
        stable=sweep.stable_ranges,
        modes=sweep.modes,
        title=title,
        size=size,
        style=style,
        save=save,
    )


def _panels(run: Trajectory, what: str | Sequence[str], against: str) -> list[Panel]:
    if not isinstance(what, str):
        return _filled(histories.history_panels(run, list(what), against=against), run, what)
    if what not in PANELS:
        fix = nearest(what, FIGURES)
        if what in run.columns:
            fix = f"columns are given as a list: what=['{what}']"
        elif "." in what:
            fix = f"columns are given as a list: what=['…']; {nearest(what, run.columns)}"
        raise SimulationError(
            f"there is no figure '{what}'", f"plot of model '{run.model.name}'", fix
        )
    return _filled(PANELS[what](run), run, what)


def _filled(panels: list[Panel], run: Trajectory, what: str | Sequence[str]) -> list[Panel]:
    if panels:
        return panels
    fix = f"draw another figure: {', '.join(FIGURES[:4])}, …"
    if what == "reactions" and run.rows:
        fix = "simulate with reactions=True"
    raise SimulationError(
        f"there is nothing to draw of {what if isinstance(what, str) else 'no columns'}",
        f"plot of model '{run.model.name}'",
        fix,
    )


def _runs(run: Plotted | Sequence[Plotted]) -> list[Plotted]:
    if not isinstance(run, Trajectory | MeasuredTable | Iterable):
        raise ArgumentError(
            f"plot takes a run, some runs or a sweep, got {type(run).__name__}",
            "run, argument of plot",
            "give what simulate, run_scenario, track or sweep_eigenvalues returned",
        )
    runs = [run] if isinstance(run, Trajectory | MeasuredTable) else list(run)
    for k, one in enumerate(runs):
        if not isinstance(one, Trajectory | MeasuredTable):
            raise ArgumentError(
                f"run {k + 1} is {type(one).__name__}",
                "run, argument of plot",
                "give what simulate, run_scenario or track returned",
            )
        if not len(one.t):
            raise SimulationError(
                "the run has no samples", f"plot of '{_name(one)}'", "simulate first"
            )
    if not runs:
        raise SimulationError("there is no run to draw", "plot(run, …)", "give at least one")
    return runs


def _name(run: Plotted) -> str:
    return run.name if isinstance(run, MeasuredTable) else run.model.name


def _labels(runs: Sequence[Plotted], labels: Sequence[str]) -> list[str]:
    if isinstance(labels, str):
        raise ArgumentError(
            f"labels is the text '{labels}'",
            "argument of plot",
            "give a list, one label for each run",
        )
    if labels and len(labels) != len(runs):
        raise SimulationError(
            f"there are {len(runs)} runs and {len(labels)} labels",
            "plot(…, labels=…)",
            "give one label for each run",
        )
    if labels:
        return [str(label) for label in labels]
    names = [_name(run) for run in runs]
    if len(set(names)) < len(names):
        names = [f"run {k + 1}" for k in range(len(runs))]
    return names


def _audit(runs: Sequence[Trajectory], audit: Audit | None) -> Audit:
    where = f"plot of model '{runs[0].model.name}'"
    if len(runs) > 1:
        raise SimulationError(
            "friction demand is drawn for one run at a time", where, "draw one at a time"
        )
    if audit is None:
        raise SimulationError(
            "friction demand is drawn from an audit, and none is given",
            where,
            "pass audit=noslip.audit(system, run)",
        )
    if not audit.loaded:
        raise SimulationError(
            "no wheel's load is known, so there is no friction demand",
            where,
            "see audit.text() for the reason",
        )
    return audit


def _columns(panels: Sequence[Panel]) -> int:
    return 1 if len(panels) == 1 else 2 if len(panels) < 5 else 3


#: File name of a figure → its title.
TITLES = {
    "path": "path over the ground",
    "coordinates": "coordinates",
    "speeds": "speeds",
    "accelerations": "accelerations",
    "inputs": "inputs",
    "reactions": "reactions",
    "energy": "energy and residuals",
    "errors": "simulated minus reference, size",
    "signals": "measured, commanded and applied values",
    "estimate": "errors of the estimate, with two standard deviations",
    "adapted": "adapted parameters",
    "contacts": "contacts that roll (line), slide (band) or are off",
    "friction": "friction demand of the wheels",
}


def run_sheets(
    run: Trajectory,
    audit: Audit | None = None,
    *,
    size: str = "page",
    titled: bool = True,
) -> dict[str, Sheet]:
    """The figures of a run by file name: path, coordinates, speeds, inputs, energy, errors, …"""
    name = run.model.name
    titles = {what: f"{name}: {words}" if titled else "" for what, words in TITLES.items()}
    sheets: dict[str, Sheet] = {}
    if ground_joints(run):
        sheets["path"] = path_sheet([run], [name], title=titles["path"], size=size)
    for what in ("coordinates", "speeds", "accelerations", "inputs", "reactions"):
        panels = PANELS[what](run)
        is_drawn = what not in ("inputs", "reactions") or any(
            np.any(curve.y) for panel in panels for curve in panel.curves
        )
        if panels and is_drawn:
            sheets[what] = lay_out(panels, title=titles[what], size=size)
    sheets["energy"] = lay_out(histories.energy_panels(run), title=titles["energy"], size=size)
    if run.errors:
        panels = histories.error_panels(run)
        sheets["errors"] = lay_out(panels, title=titles["errors"], size=size)
    if histories.has_signals(run) and (panels := histories.signal_panels(run)):
        sheets["signals"] = lay_out(panels, title=titles["signals"], size=size)
    if any(name.startswith("estimate_error.") for name in run.columns):
        panels = histories.estimate_panels(run)
        sheets["estimate"] = lay_out(panels, title=titles["estimate"], size=size)
    if any(name.startswith("adapted.") for name in run.columns):
        panels = histories.adapted_panels(run)
        sheets["adapted"] = lay_out(panels, title=titles["adapted"], size=size)
    if panels := histories.contact_panels(run):
        sheets["contacts"] = lay_out(panels, title=titles["contacts"], size=size)
    if audit is not None and audit.loaded:
        sheets["friction"] = friction_sheet(audit, title=titles["friction"], size=size)
    return sheets
