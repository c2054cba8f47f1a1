"""Figures of a trajectory: paths and time histories, with the model's own names and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noslip.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from noslip.analysis.audit import Audit

Array = NDArray[np.float64]

_QUANTITY = {
    "m": "position", "rad": "angle", "m/s": "speed", "rad/s": "rate", "m/s^2": "acceleration",
    "rad/s^2": "angular acceleration", "N": "force", "N*m": "torque", "J": "energy", "1": "",
}  # fmt: skip


def plot(run: Trajectory, names: Sequence[str], *, title: str = "") -> Figure:
    """Time histories of columns, one panel for each unit.

    Parameters
    ----------
    run : simulated motion.
    names : columns, such as ``["wheel1.angle", "torque1"]``.
    title : above the panels.
    """
    if isinstance(names, str):
        raise TypeError(f"names is the text '{names}': give a list of columns, such as ['{names}']")
    return time_figure(run.t, {name: (_unit(run, name), run[name]) for name in names}, title=title)


def _unit(run: Trajectory, name: str) -> str:
    return run.columns[name][0] if name in run.columns else "s"


def time_figure(
    t: Array, columns: Mapping[str, tuple[str, Array]], *, title: str = "", log: bool = False
) -> Figure:
    """Curves over time, those of one unit together in a panel."""
    units = list(dict.fromkeys(unit for unit, _ in columns.values()))
    figure = _figure(8.0, 1.0 + 2.6 * max(1, len(units)))
    axes = figure.subplots(max(1, len(units)), 1, sharex=True, squeeze=False)[:, 0]
    for ax, unit in zip(axes, units, strict=True):
        for name, (of, values) in columns.items():
            if of == unit:
                ax.plot(t, np.abs(values) if log else values, label=name, linewidth=1.4)
        _label(ax, unit, log)
    axes[-1].set_xlabel("time [s]")
    if title:
        axes[0].set_title(title)
    return figure


def path_figure(run: Trajectory) -> Figure | None:
    """Paths over the ground of planar and free joints and contacts; None if there are none."""
    paths: dict[str, tuple[Array, Array]] = {}
    for joint in run.model.joints:
        x, y = f"{joint.name}.x", f"{joint.name}.y"
        if x in run.columns and y in run.columns:
            paths[joint.name] = (run[x], run[y])
    for contact in run.model.contacts:
        x, y = (f"{contact.name}.contact_{axis}" for axis in "xy")
        if x in run.columns:
            paths[f"{contact.name} contact"] = (run[x], run[y])
    if not paths:
        return None
    figure = _figure(7.0, 6.2)
    ax = figure.subplots()
    for name, path in paths.items():
        is_contact = name.endswith(" contact")
        ax.plot(
            *path, label=name, linewidth=0.9 if is_contact else 2.0, zorder=2 if is_contact else 3
        )
    for path in list(paths.values())[:1]:
        ax.plot(path[0][0], path[1][0], "o", color="black", markersize=5, label="start", zorder=4)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("x [m]")
    ax.set_ylabel("y [m]")
    ax.set_title(f"{run.model.name}: path over the ground")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, frameon=False)
    return figure


def run_figures(
    run: Trajectory, errors: Mapping[str, Array], audit: Audit | None = None
) -> dict[str, Figure]:
    """The figures of a run by file name: path, coordinates, speeds, inputs, energy, errors, …"""
    name = run.model.name
    units = {c.name: c.unit for c in (*run.coordinates, *run.speeds, *run.input_quantities)}
    angles = [n for n in run.columns if n.endswith(_angle_names(run))]
    coordinates = [c.name for c in run.coordinates if c.unit != "1"] + angles
    speeds = [s.name for s in run.speeds]
    figures: dict[str, Figure] = {}
    path = path_figure(run)
    if path is not None:
        figures["path"] = path
    figures["coordinates"] = plot(run, coordinates, title=f"{name}: coordinates")
    figures["speeds"] = plot(run, speeds, title=f"{name}: speeds")
    figures["accelerations"] = plot(
        run, [f"acceleration.{s}" for s in speeds], title=f"{name}: accelerations"
    )
    if run.input_quantities:
        figures["inputs"] = plot(
            run, [q.name for q in run.input_quantities], title=f"{name}: inputs"
        )
    figures["energy"] = energy_figure(run)
    if errors:
        columns = {n: (units[n], e) for n, e in errors.items()}
        figures["errors"] = time_figure(
            run.t, columns, title=f"{name}: simulated minus reference, magnitude", log=True
        )
    if audit is not None and audit.loaded:
        figures["friction"] = friction_figure(audit)
    return figures


def friction_figure(audit: Audit) -> Figure:
    """Friction demand and load of each wheel over time; shaded, what other splits would make it."""
    figure = _figure(8.0, 6.0)
    above, below = figure.subplots(2, 1, sharex=True)
    top = max(1.5 * (audit.friction or 0.0), 0.01)
    for k, wheel in enumerate(audit.loaded):
        color = f"C{k}"
        for ax, values, (low, high) in (
            (above, wheel.demand, wheel.demand_range.T),
            (below, wheel.normal, wheel.normal_range.T),
        ):
            ax.plot(audit.t, values, label=wheel.name, color=color, linewidth=1.4)
            inside = np.isfinite(low) & np.isfinite(high)
            ax.fill_between(audit.t, low, high, where=inside, color=color, alpha=0.12)
        steady = wheel.demand[np.isfinite(wheel.demand)]
        top = max(top, 1.5 * float(np.quantile(steady, 0.99)) if steady.size else 0.0)
    if any(wheel.is_shared for wheel in audit.loaded):
        above.plot(audit.t, audit.required, color="black", linestyle=":", label="best split")
    if audit.friction is not None:
        above.axhline(audit.friction, color="black", linestyle="--", label="ground")
    # a wheel that lifts asks for no end of friction
    above.set_ylim(0.0, top)
    below.set_ylim(bottom=min(0.0, below.get_ylim()[0]))
    for ax, quantity in ((above, "friction demand [1]"), (below, "normal load [N]")):
        _label(ax, "", False)
        ax.set_ylabel(quantity)
    above.set_title(f"{audit.model}: what the wheels ask of the ground")
    below.set_xlabel("time [s]")
    return figure


def energy_figure(run: Trajectory) -> Figure:
    """Energies and work over time, and below them what does not balance."""
    figure = _figure(8.0, 6.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    for label, values, style in (
        ("kinetic", run.kinetic_energy, "-"),
        ("potential", run.potential_energy - run.potential_energy[0], "-"),
        ("work done on it", run.work, "--"),
    ):
        above.plot(run.t, values, label=label, linewidth=1.4, linestyle=style)
    _label(above, "J", False)
    above.set_title(f"{run.model.name}: energy (potential from its start)")
    floor = 1e-18
    below.plot(run.t, np.maximum(np.abs(run.energy_error), floor), label="energy error [J]")
    slip = np.max(np.abs(run.row_residuals), axis=1, initial=0.0)
    below.plot(run.t, np.maximum(slip, floor), label="largest row residual [m/s, rad/s]")
    below.set_yscale("log")
    below.set_xlabel("time [s]")
    below.grid(alpha=0.3)
    below.legend(fontsize=8, frameon=False)
    return figure


def _angle_names(run: Trajectory) -> tuple[str, ...]:
    names = []
    for joint in run.model.joints:
        angles = getattr(joint.type, "angles", None)
        if angles is not None:
            names += [f"{joint.name}.{n}" for n in angles.names]
    return tuple(names) or ("\0",)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _label(ax: Axes, unit: str, log: bool) -> None:
    ax.set_ylabel(f"{_QUANTITY.get(unit, '')} [{unit}]".strip())
    ax.grid(alpha=0.3)
    if log:
        ax.set_yscale("log")
    if ax.lines:
        ax.legend(fontsize=8, frameon=False, ncols=2)
