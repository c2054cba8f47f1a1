"""`plot`: the figures of a run by name, of several runs, of columns, of eigenvalues.

**Eigenvalues against a parameter, such as those of a bicycle against its speed.**

Modes are followed and named by ``analysis/modes.py``: a pair is one mode, with one color, and its
name is said with what its eigenvalues do, whether they oscillate, grow or decay, and where. Where a
real part crosses zero by too little to be seen beside the others, the ordinate is linear about
zero, logarithmic beyond.

**`plot`: the figures of a run by name, of several runs side by side, or of columns.**

**The figure of a mission's motors: torque over rate at each shaft, with the limits.**
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip import SimulationError, Trajectory
from noslip.analysis import SweptMode
from noslip.base import ArgumentError, Array, nearest, require
from noslip.results import Branch, EigenvalueSweep, MeasuredTable, StabilityChart
from noslip.scene import INK, PALETTE, ground_joints
from noslip.show.headlines import unit_text
from noslip.show.plots.painting import FigureFile
from noslip.show.plots.panels import (
    acceleration_names,
    adapted_panels,
    branch_figure,
    chart_figure,
    clearance_panels,
    contact_panels,
    coordinate_names,
    energy_panels,
    error_panels,
    estimate_panels,
    friction_sheet,
    has_signals,
    history_panels,
    input_names,
    lay_out,
    legend_columns,
    path_error_panels,
    phase_panels,
    reaction_names,
    residual_panels,
    side_by_side,
    signal_panels,
    speed_names,
)
from noslip.show.plots.paths import path_sheet
from noslip.show.plots.sheets import (
    EDGE,
    HAIR,
    LEADING,
    LINE,
    Curve,
    Panel,
    Sheet,
    color,
    legend_width,
    style_named,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noslip.missions import DutyCycle
    from noslip.results import Audit

Complex = NDArray[np.complex128]

#: A crossing of zero is seen where both sides of it have this part of the height.
SEEN = 0.08
#: Inches for the numbers and the name of a logarithmic ordinate.
ROOM = 0.56


def plot_eigenvalues(
    values: ArrayLike,
    eigenvalues: NDArray[np.complex128] | Sequence[NDArray[np.complex128]],
    *,
    parameter: str,
    unit: str,
    stable: Sequence[tuple[float, float]] | None = None,
    modes: Sequence[SweptMode] = (),
    title: str = "",
    size: str = "page",
    style: str = "",
    save: str | Path | None = None,
) -> Figure:
    """Real and imaginary parts of eigenvalues against a parameter; shaded where nothing grows.

    Modes are named by what they do, such as "weave: oscillates, grows below 4.29 m/s"; without
    `modes` they have no other name. Real parts have an ordinate that is linear about zero and
    logarithmic beyond where else no crossing would be seen.

    Parameters
    ----------
    values : (n,) of the parameter, in rising order.
    eigenvalues : (n, k), 1/s, in any order.
    parameter, unit : name and unit of the parameter, for the abscissa.
    stable : ranges to shade; by default where no real part is above zero.
    modes : modes of :class:`EigenvalueSweep`; found from the eigenvalues alone by default.
    title : title above the figure.
    size : ``page`` (7.2 inches wide) or ``column`` (3.5).
    style : use of the figure, instead of a size: ``screen``, ``paper`` (a column, in the font of
        the equations) or ``slide`` (10.8 inches wide, text of 16 points).
    save : file to write, too: PNG, SVG or PDF by its ending.

    Returns
    -------
    Figure : of matplotlib, with one panel of real parts and one of imaginary parts.
    """
    from noslip.show.plots.painting import figure_of, restyle

    chosen = style_named(style, size)
    target = None if save is None else FigureFile(save)
    x, table = _checked(values, eigenvalues)
    found = modes or SweptMode.follow(x, table, np.zeros((0, 0, 0)), ())
    bound = SweptMode.rounding(table)
    steady = stable_ranges(x, np.max(table.real, axis=1), bound) if stable is None else stable
    ends = [end for pair in steady for end in pair]
    names = [mode.words(x, ends, bound, unit_text(unit)) for mode in found]
    branches = np.hstack([mode.eigenvalues for mode in found])
    tints = [color(number) for number in range(len(found))]
    colors = [tint for tint, mode in zip(tints, found, strict=True) for _ in mode.eigenvalues[0]]
    panels = [
        Panel(
            name=name,
            unit=part_unit,
            curves=tuple(
                Curve(label=f"{name} {k + 1}", x=x, y=branch, color=colors[k], dashes=())
                for k, branch in enumerate(part(branches).T)
            ),
            x_name=parameter,
            x_unit=unit,
            has_names=False,
            fills_width=True,
        )
        for name, part_unit, part in (
            ("real part", "1/s", np.real),
            ("imaginary part", "rad/s", np.imag),
        )
    ]
    linear = linear_about_zero(branches.real, bound)
    told = [*names, "stable: nothing grows"] if len(steady) else names
    wide = width_of(chosen.size) - ROOM - 2 * EDGE
    told = [_broken(name, wide) for name in told]
    lines = sum(name.count("\n") + 1 for name in told)
    columns = legend_columns(told, wide) if lines == len(told) else 1
    sheet = lay_out(
        panels,
        title=title,
        size=chosen.size,
        head=0.06 + LEADING * math.ceil(lines / columns),
        room=ROOM if linear else 0.0,
    )
    figure = figure_of(sheet)
    if linear:
        _scale_about_zero(figure.axes[0], linear)
    shade = _shade(figure, steady)
    _name_curves(figure, tints, told, shade, columns, chosen.scale)
    restyle(figure, chosen)
    if target is not None:
        target.save(figure)
    return figure


def _broken(name: str, wide: float) -> str:
    """A name in lines that a legend of a width has room for, broken after commas."""
    lines: list[str] = []
    for part in name.split(", "):
        longer = f"{lines[-1]}, {part}" if lines else part
        if lines and legend_width([longer]) <= wide:
            lines[-1] = longer
        else:
            lines.append(part)
    return ",\n".join(lines)


def _shade(figure: Figure, steady: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Shade ranges; what their sample in the legend looks like."""
    shade: dict[str, Any] = {"color": INK, "alpha": 0.09, "linewidth": 0}
    for ax in figure.axes:
        across = ax.get_yaxis_transform()
        ax.hlines([0.0], 0.0, 1.0, transform=across, colors=INK, linewidth=HAIR, zorder=1.5)
        for low, high in steady:
            ax.axvspan(low, high, **shade)
    return shade


def _name_curves(
    figure: Figure,
    colors: Sequence[str],
    names: Sequence[str],
    shade: dict[str, Any],
    columns: int,
    scale: float,
) -> None:
    """The legend above the panels: modes, and what the shade is if there is a name for it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from noslip.show.plots.painting import legend

    handles: list[Any] = [Line2D([], [], color=tint, linewidth=LINE) for tint in colors]
    if len(names) > len(colors):
        handles.append(Patch(**shade))
    above = figure.axes[0]
    # the same distance above low and high panels
    at = 1 + 0.05 / (above.get_position().height * figure.get_figheight())
    legend(
        above, handles, names, at=(0.0, at), columns=columns, corner="lower left",
        scale=scale,
    )  # fmt: skip


def _scale_about_zero(ax: Axes, linear: float) -> None:
    from matplotlib.ticker import NullLocator

    low, high = ax.get_ylim()
    ax.set_yscale("asinh", linear_width=linear)
    reach = max(-low, high)
    powers = [linear * 10.0**k for k in range(12) if linear * 10.0**k <= reach]
    while len(powers) > 3:
        powers = powers[1::2]
    ticks = [y for y in (*(-p for p in reversed(powers)), 0.0, *powers) if low <= y <= high]
    ax.set_yticks(ticks, [f"{y:g}".replace("-", "−") for y in ticks])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylim(low, high if high > linear else 1.5 * linear)


def linear_about_zero(real: Array, bound: float) -> float:
    """Size of real parts, a power of ten, up to which they are drawn to scale; 0 for all.

    Zero is returned where the crossings of zero are seen on a linear ordinate, or there are none.
    """
    height = float(np.max(real) - np.min(real))
    sides = [min(float(y.max()), -float(y.min())) for y in real.T]
    crossing = [side for side in sides if side > max(bound, 1e-6 * height)]
    if not crossing or min(crossing) >= SEEN * height:
        return 0.0
    return float(10.0 ** np.floor(np.log10(min(crossing))))


def _checked(
    values: ArrayLike, eigenvalues: NDArray[np.complex128] | Sequence[NDArray[np.complex128]]
) -> tuple[Array, Complex]:
    x = np.asarray(values, dtype=float)
    table = np.asarray(eigenvalues, dtype=complex)
    where = "plot_eigenvalues(values, eigenvalues, …)"
    if x.ndim != 1 or table.ndim != 2 or len(x) != len(table) or table.shape[1] == 0:
        raise SimulationError(
            f"the values have shape {x.shape} and the eigenvalues {table.shape}",
            where,
            "give (n,) values and (n, k) eigenvalues, a row for each value",
        )
    if len(x) < 2 or not np.all(np.diff(x) > 0):
        raise SimulationError(
            "the values of the parameter do not increase",
            where,
            "give at least two, in increasing order",
        )
    if not np.all(np.isfinite(table)):
        raise SimulationError(
            "an eigenvalue is not a finite number", where, "leave such values of the parameter out"
        )
    return x, table


def stable_ranges(x: Array, growth: Array, bound: float) -> list[tuple[float, float]]:
    """Ranges of the parameter where the largest real part is not above the bound.

    Their ends are where the straight line between neighbors crosses it.
    """
    above = growth - bound
    ranges: list[tuple[float, float]] = []
    start: float | None = float(x[0]) if above[0] <= 0 else None
    for k in range(1, len(x)):
        if (above[k] <= 0) == (above[k - 1] <= 0):
            continue
        part = above[k - 1] / (above[k - 1] - above[k])
        crossing = float(x[k - 1] + part * (x[k] - x[k - 1]))
        if start is None:
            start = crossing
        else:
            ranges.append((start, crossing))
            start = None
    if start is not None:
        ranges.append((start, float(x[-1])))
    return ranges


#: What has columns over time.
Plotted: TypeAlias = Trajectory | MeasuredTable


def _named(choose: Callable[[Trajectory], list[str]]) -> Callable[[Trajectory], list[Panel]]:
    def panels(run: Trajectory) -> list[Panel]:
        return history_panels(run, choose(run), by_size=True)

    return panels


def _histories(run: Trajectory) -> list[str]:
    names = coordinate_names(run) + speed_names(run)
    return names + input_names(run)


def _errors(run: Trajectory) -> list[Panel]:
    if run.path_errors is not None:
        return path_error_panels(run.t, run.path_errors)
    return error_panels(run)


#: What can be drawn of a run, in panels, by name.
PANELS: Mapping[str, Callable[[Trajectory], list[Panel]]] = {
    "histories": _named(_histories),
    "coordinates": _named(coordinate_names),
    "speeds": _named(speed_names),
    "accelerations": _named(acceleration_names),
    "inputs": _named(input_names),
    "reactions": _named(reaction_names),
    "energy": energy_panels,
    "residuals": residual_panels,
    "errors": _errors,
    "signals": signal_panels,
    "phase": phase_panels,
    "contacts": contact_panels,
    "estimate": estimate_panels,
    "adapted": adapted_panels,
    "clearance": clearance_panels,
}
#: All names.
FIGURES = ("path", *PANELS, "friction")


def plot(
    run: Plotted | Sequence[Plotted] | EigenvalueSweep | Branch | StabilityChart,
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
    run : run by :func:`simulate`, :func:`run_scenario` or :func:`track`, or a list of them; or a
        sweep by :func:`sweep_eigenvalues`, whose eigenvalues are drawn; or a branch by
        :func:`branch`, whose columns are drawn; or a chart by :func:`stability_chart`. Of
        measurements by :func:`read_measured`, among runs or alone, a list of columns is drawn.
    what : name of a figure: ``histories`` (coordinates, speeds and inputs; the default), ``path``,
        ``coordinates``, ``speeds``, ``accelerations``, ``inputs``, ``reactions``, ``energy``,
        ``residuals``, ``errors``, ``signals`` (what a controller saw, wanted and got),
        ``estimate`` (errors of an estimator), ``adapted`` (parameters that a controller adapts),
        ``phase``, ``contacts`` (states, grip, load and slip of what slides and lifts) or
        ``friction``; or a list of columns,
        such as ``["wheel1.angle", "torque1"]``, which are drawn in one panel for each unit.
    against : column on the abscissa of a list of columns, such as ``"sleigh.vx"``.
    labels : names of several runs.
    audit : audit of the run, for ``friction``.
    title : title above the figure.
    size : ``page`` (7.2 inches wide) or ``column`` (3.5).
    style : use of the figure, instead of a size: ``screen``, ``paper`` (a column, in the font of
        the equations) or ``slide`` (10.8 inches wide, text of 16 points).
    save : file to write, too: PNG, SVG or PDF by its ending.

    Returns
    -------
    Figure : of matplotlib, to be changed or shown; it is not known to pyplot.
    """
    from noslip.show.plots.painting import figure_of, restyle

    target = None if save is None else FigureFile(save)
    if isinstance(run, EigenvalueSweep):
        return _sweep(run, what, title, size, style, save)
    if isinstance(run, Branch):
        return branch_figure(run, what, title=title, size=size, style=style, save=save)
    if isinstance(run, StabilityChart):
        return chart_figure(run, what, title=title, size=size, style=style, save=save)
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
        return _filled(history_panels(run, list(what), against=against), run, what)
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
    "clearance": "distance to obstacles",
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
    sheets["energy"] = lay_out(energy_panels(run), title=titles["energy"], size=size)
    if run.errors:
        panels = error_panels(run)
        sheets["errors"] = lay_out(panels, title=titles["errors"], size=size)
    if has_signals(run) and (panels := signal_panels(run)):
        sheets["signals"] = lay_out(panels, title=titles["signals"], size=size)
    if any(name.startswith("estimate_error.") for name in run.columns):
        panels = estimate_panels(run)
        sheets["estimate"] = lay_out(panels, title=titles["estimate"], size=size)
    if any(name.startswith("adapted.") for name in run.columns):
        panels = adapted_panels(run)
        sheets["adapted"] = lay_out(panels, title=titles["adapted"], size=size)
    if "clearance" in run:
        sheets["clearance"] = lay_out(clearance_panels(run), title=titles["clearance"], size=size)
    if panels := contact_panels(run):
        sheets["contacts"] = lay_out(panels, title=titles["contacts"], size=size)
    if audit is not None and audit.loaded:
        sheets["friction"] = friction_sheet(audit, title=titles["friction"], size=size)
    return sheets


def plot_duty(duty: DutyCycle) -> Figure:
    """A panel for each motor: what every leg asks of it, its limit, and its rated torque.

    Parameters
    ----------
    duty : cycle by :func:`noslip.missions.drive_mission`.

    Raises
    ------
    SimulationError : the mission has no motors.
    MissingPackageError : matplotlib is not installed.
    """
    require("matplotlib", "the figure of a mission", "plot_duty")
    from matplotlib.figure import Figure as Canvas

    motors = duty.mission.motors
    if not motors:
        raise SimulationError(
            "the mission has no motors", "plot_duty", "give it motors: [motors.INPUT]"
        )
    figure = Canvas(figsize=(7.2, 2.6 * len(motors) + 0.4), layout="constrained")
    legs = [leg for leg in duty.legs if leg.run is not None]
    for axes, (name, motor) in zip(
        figure.subplots(len(motors), squeeze=False)[:, 0], motors.items(), strict=True
    ):
        fastest = 1e-9
        for k, leg in enumerate(legs):
            axle = leg.drives[name]
            torque, rate = motor.shaft(axle.torque, axle.rate, axle.acceleration)
            fastest = max(fastest, float(np.max(np.abs(rate))))
            color = PALETTE[k % len(PALETTE)]
            axes.plot(np.abs(rate), np.abs(torque), lw=1.0, color=color, label=leg.name)
        rates = np.linspace(0.0, 1.05 * min(motor.maximum_speed, 3 * fastest), 400)
        limit = motor.limit(rates)
        if np.all(np.isfinite(limit)):
            axes.plot(rates, limit, color="black", lw=1.2, label="limit")
        if np.isfinite(motor.rated_torque):
            axes.axhline(motor.rated_torque, color="black", lw=0.8, ls="--", label="rated")
        axes.set(xlabel="rate of the shaft (rad/s)", ylabel="torque of the shaft (N·m)")
        axes.set_title(f"motor at {name}", fontsize=9)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure
