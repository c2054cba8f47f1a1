"""Sheets of panels: histories, phases, energies, errors, eigenvalues, branches, charts.

**Sheets of panels: histories of a run, phases, energies, errors, eigenvalues.**

**Sheets made of panels: curves with names, each panel with one quantity and its unit.**

`lay_out` places panels by inches: the room that numbers and names take is known before anything is
drawn, so nothing has to be laid out twice. Stacked panels share their abscissa and have their names
on the right (above them in a narrow figure); a grid of panels has one row of names for all.

Of stacked curves that lie on each other, later ones are dashed, so that each color is seen, and
their names follow that of the first, after "=" or "≈".

**Panels of a run: columns over time, phases, energies, errors, ground forces, several runs.**

**Figures of families of motions: branches, and charts of stability over two values.**

**A branch: columns over the varied value, solid where stable, dashed where not.**

Dots are the points at which motions or their stability change.

**A chart: shades by what grows fastest, a line where growth begins, stable ground in white.**
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import SimulationError, Trajectory
from noslip.base import Array, nearest
from noslip.model import angle_names, bears_force
from noslip.results import Audit, Branch, PathErrors, StabilityChart
from noslip.scene import INK, PALETTE, PATH_COLORS, ground_joints
from noslip.show.headlines import axis_label, quantity_of
from noslip.show.plots.painting import FigureFile
from noslip.show.plots.sheets import (
    DASHES,
    EDGE,
    HAIR,
    LEADING,
    LINE,
    NOTHING,
    TICKS,
    Area,
    Curve,
    Frame,
    Names,
    Panel,
    Sheet,
    Stroke,
    Ticks,
    band_polygons,
    color,
    dashes,
    exponent_of,
    legend_width,
    style_named,
    text_width,
    tick_texts,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches below an abscissa with numbers and name, and between panels.
BELOW, BETWEEN = 0.40, 0.16
#: Height of a panel, inches, with few names beside it.
HEIGHT = 1.32
#: A figure narrower than this has its names above the panels, inches.
NARROW = 5.0
#: Steps between ticks of an ordinate, at most.
Y_TICKS = 5
#: Width of a digit, in heights of the text.
DIGIT = 0.64


def lay_out(
    panels: Sequence[Panel],
    *,
    title: str = "",
    size: str = "page",
    columns: int = 1,
    head: float = 0.0,
    room: float = 0.0,
) -> Sheet:
    """A sheet of panels."""
    width = width_of(size)
    if columns == 1:
        return _stack(panels, title, width, head, room)
    return _grid(panels, title, width, columns if width >= NARROW else 1)


def _stack(panels: Sequence[Panel], title: str, width: float, head: float, room: float) -> Sheet:
    """Panels under each other, names on the right or, in a narrow figure, above each."""
    panels = [_told(panel) for panel in panels]
    beside = width >= NARROW
    right = max(EDGE + 0.02, *(_overhang(p, width) for p in panels))
    if beside and any(p.names for p in panels):
        right = EDGE + 0.1 + max(legend_width(p.names) for p in panels if p.names)
    left = EDGE + max(room, *(_room(p) for p in panels))
    inner = width - left - right
    heads = [0.0 if beside else LEADING * legend_rows(p.names, inner) for p in panels]
    tall = [max(HEIGHT, LEADING * len(p.names)) if beside else HEIGHT for p in panels]
    top = EDGE + (0.2 if title else 0.0) + head
    height = top + sum(tall) + sum(heads) + BETWEEN * (len(panels) - 1) + BELOW
    frames = []
    at = height - top
    for k, panel in enumerate(panels):
        at -= heads[k] + tall[k]
        box = (left, at, inner, tall[k])
        if beside:
            names = _named(panel, (1 + 0.1 / inner, 1.0))
        else:
            columns = legend_columns(panel.names, inner)
            names = _named(panel, (0.0, 1 + 0.05 / tall[k]), columns)
        frames.append(_frame(panel, box, left - EDGE, names, is_last=k == len(panels) - 1))
        at -= BETWEEN
    return Sheet(
        width=width, height=height, frames=tuple(frames), title=title, left=left, shares_x=True
    )


def _told(panel: Panel) -> Panel:
    """A panel whose legend tells which curves lie on each other."""
    twins = panel.twins() if panel.names else {}
    if not twins:
        return panel
    curves, place = [], {}
    count: dict[int, int] = {}
    for k, curve in enumerate(panel.curves):
        first, sign = twins.get(k, (k, ""))
        count[first] = count.get(first, -1) + 1
        place[k] = (first, k)
        dashed = curve.dashes
        if dashed is None:
            dashed = DASHES[1 + (count[first] - 1) % (len(DASHES) - 1)] if sign else dashes(k)
        told = f"{sign} {curve.label}" if sign else ""
        tinted = curve.color or color(k)
        curves.append(replace(curve, told=told, color=tinted, dashes=dashed))
    order = sorted(place, key=lambda k: place[k])
    return replace(panel, curves=tuple(curves[k] for k in order))


def _grid(panels: Sequence[Panel], title: str, width: float, columns: int) -> Sheet:
    """Panels in a grid, each with its own abscissa, and the names of the first for all."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    lefts = [EDGE + max(_room(p) for p in panels[c::columns]) for c in range(columns)]
    inner = (width - sum(lefts) - EDGE - 0.1 * (columns - 1)) / columns
    tall = min(max(HEIGHT, 0.62 * inner), 2.1)
    names = panels[0].names
    head = LEADING * legend_rows(names, width - 2 * EDGE) + 0.06 if names else 0.0
    top = EDGE + (0.2 if title else 0.0) + head
    height = top + rows * (tall + BELOW) + 0.06 * (rows - 1)
    frames = []
    for k, panel in enumerate(panels):
        row, column = divmod(k, columns)
        x = sum(lefts[: column + 1]) + (inner + 0.1) * column
        y = height - top - (row + 1) * tall - row * (BELOW + 0.06)
        first = None
        if k == 0:
            first = _named(panel, (0.0, 1 + 0.07 / tall), legend_columns(names, width - 2 * EDGE))
        frames.append(_frame(panel, (x, y, inner, tall), lefts[column] - EDGE, first))
    return Sheet(width=width, height=height, frames=tuple(frames), title=title, left=lefts[0])


def _named(panel: Panel, at: tuple[float, float], columns: int = 0) -> Names | None:
    """The legend beside a panel, or above it in some columns."""
    if not panel.names:
        return None
    return Names(
        names=panel.names,
        samples=tuple(_stroke(panel, k) for k in range(len(panel.curves))),
        at=at,
        corner="lower left" if columns else "upper left",
        columns=columns or 1,
    )


def _frame(
    panel: Panel,
    box: tuple[float, float, float, float],
    room: float,
    names: Names | None,
    *,
    is_last: bool = True,
) -> Frame:
    """A panel at its place; `room` inches are on its left, and the last one has the abscissa."""
    _, _, wide, tall = box
    (x_low, x_high), (low, high) = panel.x_limits(), panel.limits()
    x_ticks = Ticks(count=8 if wide > 3 else 5, exponent=exponent_of(x_low, x_high))
    y_ticks = Ticks(count=5, log=True)
    if not panel.log:
        y_ticks = Ticks(count=Y_TICKS, exponent=exponent_of(low, high))
    strokes = [_stroke(panel, k) for k in range(len(panel.curves))]
    areas = []
    for stroke, curve in zip(tuple(strokes), panel.curves, strict=True):
        if panel.marks_start:
            start = slice(0, 1)
            strokes.append(Stroke(x=curve.x[start], y=curve.y[start], color=stroke.color, dot=3.5))
        if curve.band is not None:
            polygons = band_polygons(curve.x, curve.band)
            areas.append(Area(polygons=polygons, color=stroke.color, fill=0.14))
    return Frame(
        box=box,
        x_limits=(x_low, x_high),
        y_limits=(low, high),
        x_ticks=x_ticks,
        y_ticks=y_ticks,
        x_label=axis_label(panel.x_name, panel.x_unit, x_ticks.exponent) if is_last else "",
        y_label=_wrapped(panel, y_ticks.exponent, tall),
        room=room,
        strokes=tuple(strokes),
        areas=tuple(areas),
        names=names,
        has_numbers=is_last,
    )


def _stroke(panel: Panel, k: int) -> Stroke:
    curve = panel.curves[k]
    return Stroke(
        x=curve.x,
        y=panel.drawn(curve.y),
        color=curve.color or color(k),
        width=LINE,
        dashes=dashes(k) if curve.dashes is None else curve.dashes,
        dot=curve.dot,
        label=curve.label,
    )


def _room(panel: Panel) -> float:
    """Inches that numbers and name of the ordinate take on the left."""
    low, high = panel.limits()
    if panel.log:
        digits, exponent = 4.2, 0
    else:
        exponent = exponent_of(low, high)
        digits = max(len(text) for text in tick_texts(low, high, exponent, Y_TICKS))
    lines = 1 + _wrapped(panel, exponent, HEIGHT).count("\n")
    return digits * DIGIT * TICKS / 72 + 0.1 + lines * LEADING


def _overhang(panel: Panel, width: float) -> float:
    """Inches by which a number at the end of the abscissa may reach beyond it: half of it."""
    low, high = panel.x_limits()
    last = tick_texts(low, high, exponent_of(low, high), 8 if width > 3 else 5)[-1]
    return len(last) * DIGIT * TICKS / 144


def _wrapped(panel: Panel, exponent: int, tall: float) -> str:
    """Name and unit in one line, or in two where the panel is too low for one."""
    whole = axis_label(panel.name, panel.unit, exponent)
    unit = axis_label("", panel.unit, exponent)
    if panel.name and unit and text_width(whole) > tall:
        return f"{panel.name}\n{unit}"
    return whole


def legend_columns(names: Sequence[str], width: float) -> int:
    """Columns of a legend that is so many inches wide."""
    return max(1, min(len(names), int((width + 0.18) // (legend_width(names) + 0.18))))


def legend_rows(names: Sequence[str], width: float) -> int:
    """Rows of a legend that is so many inches wide."""
    return math.ceil(len(names) / legend_columns(names, width)) if names else 0


#: Curves smaller than this part of the largest one of their unit get a panel of their own.
SMALL = 0.08
#: What a controller knows and commands → color; what is has that of a path, what should be, ink.
SIGNALS = {"seen": PALETTE[1], "estimate": PATH_COLORS["estimate"], "wanted": PALETTE[1]}
#: Panels of one unit at most.
MOST = 3


def unit_of(run: Trajectory, name: str) -> str:
    """Unit of a column; a column that is not there is refused."""
    if name == "time":
        return "s"
    run[name]
    return run.columns[name][0]


def history_panels(
    run: Trajectory, names: Sequence[str], *, against: str = "time", by_size: bool = False
) -> list[Panel]:
    """Columns over time or another column, one panel for each unit."""
    x, x_unit = run[against], unit_of(run, against)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(unit_of(run, name), []).append(name)
    parts: list[tuple[str, list[str]]] = []
    for unit, members in groups.items():
        split = by_magnitude(run, members) if by_size else [members]
        parts += [(unit, part) for part in split]
    return [
        Panel(
            name=_axis_name(unit, part),
            unit=unit,
            curves=tuple(Curve(label=name, x=x, y=run[name]) for name in part),
            x_name=against,
            x_unit=x_unit,
        )
        for unit, part in parts
    ]


def by_magnitude(run: Trajectory, names: Sequence[str]) -> list[list[str]]:
    """Columns in groups of like size, largest first, each group in the order given.

    A group ends where the next smaller column is less than `SMALL` of its largest. What stays zero
    is seen anywhere and goes with the first group.
    """
    size = {name: float(np.max(np.abs(run[name]), initial=0.0)) for name in names}
    order = sorted((n for n in names if size[n] > NOTHING), key=lambda n: -size[n])
    groups: list[list[str]] = []
    for name in order:
        if groups and (size[name] >= SMALL * size[groups[-1][0]] or len(groups) == MOST):
            groups[-1].append(name)
        else:
            groups.append([name])
    nothing = [n for n in names if n not in order]
    if not groups:
        return [nothing]
    groups[0] += nothing
    return [[n for n in names if n in group] for group in groups]


def _axis_name(unit: str, names: Sequence[str]) -> str:
    """Name of the quantity that the unit measures, or of the column if that is ambiguous."""
    return quantity_of(unit) or (names[0] if len(names) == 1 else "")


# columns by kind


def coordinate_names(run: Trajectory) -> list[str]:
    """Coordinates and named angles; quaternions are left to them."""
    angles = [f"{j.name}.{n}" for j in run.model.joints for n in angle_names(j)]
    plain = [c.name for c in run.coordinates if c.unit != "1"]
    return plain + [n for n in angles if n in run.columns]


def speed_names(run: Trajectory) -> list[str]:
    """Tree speeds."""
    return [s.name for s in run.speeds]


def acceleration_names(run: Trajectory) -> list[str]:
    """Rates of the tree speeds."""
    return [f"acceleration.{s.name}" for s in run.speeds]


def input_names(run: Trajectory) -> list[str]:
    """Force inputs, speed inputs and the rates of these."""
    return [q.name for q in run.input_quantities]


def reaction_names(run: Trajectory) -> list[str]:
    """Multipliers of all rows that bear forces, where they were asked for."""
    rows = [row for row in run.rows if bears_force(run.model.contacts, row)]
    return [f"reaction.{row}" for row in rows] if run.multipliers is not None else []


# phase plots


def phase_panels(run: Trajectory) -> list[Panel]:
    """Every angle and position against its own rate."""
    pairs = [*_plain_pairs(run), *_angle_pairs(run)]
    panels = []
    for name, (rate_name, rate) in pairs:
        unit = unit_of(run, name)
        curve = Curve(label=run.model.name, x=run[name], y=rate)
        panels.append(
            Panel(
                name=rate_name,
                unit=f"{unit}/s",
                curves=(curve,),
                x_name=name,
                x_unit=unit,
                has_names=False,
                marks_start=True,
            )
        )
    return panels


def _plain_pairs(run: Trajectory) -> Iterable[tuple[str, tuple[str, Array]]]:
    """Coordinates whose rate is a speed: those of revolute and prismatic joints, and headings."""
    pairs = {"angle": "rate", "position": "speed"}
    for coordinate in run.coordinates:
        joint, _, last = coordinate.name.rpartition(".")
        rate = f"{joint}.{pairs.get(last, '')}"
        if rate in run.columns:
            yield coordinate.name, (rate, run[rate])


def _angle_pairs(run: Trajectory) -> Iterable[tuple[str, tuple[str, Array]]]:
    for joint in run.model.joints:
        names = [f"{joint.name}.{n}" for n in angle_names(joint)]
        if names and names[0] in run.columns:
            yield from ((name, (f"{name}_rate", run[f"{name}_rate"])) for name in names)


def energy_panels(run: Trajectory) -> list[Panel]:
    """Energies and work, the energy that is missing, and the largest residual of each unit."""
    start = run.potential_energy[0]
    curves = (
        Curve(label="kinetic_energy", x=run.t, y=run.kinetic_energy),
        Curve(label="Δ potential_energy", x=run.t, y=run.potential_energy - start),
        Curve(label="work", x=run.t, y=run.work, dashes=(4.0, 1.6)),
    )
    missing = Curve(label="|energy_error|", x=run.t, y=run.energy_error)
    panels = [
        Panel(name="energy", unit="J", curves=curves),
        Panel(name="missing energy", unit="J", curves=(missing,), log=True),
    ]
    for unit, members in _rows_by_unit(run).items():
        largest = np.max(np.abs(run.row_residuals[:, members]), axis=1)
        if np.any(largest):
            curve = Curve(label="largest residual", x=run.t, y=largest)
            panels.append(_residuals(unit, (curve,)))
    return panels


def residual_panels(run: Trajectory) -> list[Panel]:
    """|A v + a| of every row."""
    panels = []
    for unit, members in _rows_by_unit(run).items():
        curves = [
            Curve(label=run.rows[k], x=run.t, y=run.row_residuals[:, k]) for k in members
        ]  # fmt: skip
        panels.append(_residuals(unit, tuple(curves)))
    return panels


def _residuals(unit: str, curves: tuple[Curve, ...]) -> Panel:
    said = tuple(
        Curve(label=f"{c.label} (zero)" if not np.any(c.y) else c.label, x=c.x, y=c.y)
        for c in curves
    )
    return Panel(name="residual", unit=unit, curves=said, log=True)


def _rows_by_unit(run: Trajectory) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for k, unit in enumerate(run.row_units):
        groups.setdefault(unit, []).append(k)
    return groups


def error_panels(run: Trajectory) -> list[Panel]:
    """|simulated − reference| of coordinates, those of one unit together."""
    groups: dict[str, list[str]] = {}
    for name in run.errors:
        groups.setdefault(unit_of(run, name), []).append(name)
    if not groups:
        raise SimulationError(
            "the run has no reference to compare with",
            f"plot of model '{run.model.name}'",
            "plot errors of a run that followed a motion or a path",
        )
    return [
        Panel(
            name=f"{quantity_of(unit) or 'coordinate'} error",
            unit=unit,
            curves=tuple(Curve(label=name, x=run.t, y=run.errors[name]) for name in names),
            log=True,
        )
        for unit, names in groups.items()
    ]


def estimate_panels(run: Trajectory) -> list[Panel]:
    """Errors of an estimate at its samples, true less estimated, within two standard deviations."""
    names = [n.removeprefix("estimate_error.") for n in run.columns if "estimate_error." in n]
    if not names:
        raise SimulationError(
            "the run has no estimate",
            f"plot of model '{run.model.name}'",
            "give its plant an estimator: Plant(estimator=ns.sensors.ExtendedKalman(…))",
        )
    panels: list[Panel] = []
    for name in names:
        spread = 2 * np.sqrt(np.maximum(run[f"covariance.{name},{name}"], 0.0))
        error = Curve(
            label="error and 2 σ",
            x=run.t,
            y=run[f"estimate_error.{name}"],
            band=np.column_stack([-spread, spread]),
        )
        unit = unit_of(run, f"estimate_error.{name}")
        panels.append(Panel(name=name, unit=unit, curves=(error,), has_names=not panels))
    return panels


def has_signals(run: Trajectory) -> bool:
    """Whether the run tells what a controller saw or wanted."""
    return any(name.startswith(("seen.", "estimate.", "wanted.")) for name in run.columns)


def signal_panels(run: Trajectory, *, only: Sequence[str] = ()) -> list[Panel]:
    """Panels of measured or estimated, true and reference values; of wanted and applied inputs."""
    if not has_signals(run):
        raise SimulationError(
            "the run has no plant of its own, so the controller measures everything exactly",
            f"plot of model '{run.model.name}'",
            "plot signals of a run with a plant: track(…, plant=Plant(…))",
        )
    found: dict[str, Panel] = {}
    exact: dict[str, Panel] = {}
    for column in run.columns:
        kind, _, name = column.partition(".")
        if kind not in SIGNALS or name not in run.columns:
            continue
        itself = "got" if kind == "wanted" else "true"
        curves = [
            Curve(label=kind, x=run.t, y=run[column], color=SIGNALS[kind]),
            Curve(label=itself, x=run.t, y=run[name], color=PATH_COLORS["body"]),
        ]
        if f"reference.{name}" in run.columns:
            y = run[f"reference.{name}"]
            dashes = (4.0, 1.6)
            curves.append(Curve(label="reference", x=run.t, y=y, color=INK, dashes=dashes))
        size = float(np.max(np.abs(run[name]), initial=0.0))
        apart = np.max(np.abs(run[column] - run[name]), initial=0.0)
        panel = Panel(name=name, unit=unit_of(run, name), curves=tuple(curves))
        if apart > 1e-12 * size:
            found[name] = panel
        elif kind == "wanted":
            exact[name] = panel  # got as it was wanted; what is seen as it is need not be drawn
    # beside what is measured, what was commanded
    panels = found | exact if found else {}
    return [p for name, p in panels.items() if name in only] or list(panels.values())


def main_signals(run: Trajectory) -> list[str]:
    """What a reader of signals asks for first: headings over the ground, and inputs.

    Places over the ground are seen in the figure of the path.
    """
    joints = {joint.name for joint in ground_joints(run)}
    drawn = {f"{joint}.{axis}" for joint in joints for axis in "xy"}
    places = [c.name for c in run.coordinates if c.name.rpartition(".")[0] in joints]
    return [name for name in places if name not in drawn] + input_names(run)


def adapted_panels(run: Trajectory) -> list[Panel]:
    """What an adaptive controller takes parameters for, beside the plant's own values."""
    names = [n.removeprefix("adapted.") for n in run.columns if n.startswith("adapted.")]
    if not names:
        raise SimulationError(
            "the run has no adapted parameters",
            f"plot of model '{run.model.name}'",
            "follow a path with an adaptive controller: AdaptiveTracking(unknown=…)",
        )
    panels = []
    for name in names:
        curves = [
            Curve(
                label=f"adapted {name}",
                x=run.t,
                y=run[f"adapted.{name}"],
                color=PATH_COLORS["estimate"],
            )
        ]
        if name in run.parameters:
            true = np.full(len(run.t), run.parameters[name])
            dashes = (4.0, 1.6)
            curves.append(Curve(label="of the plant", x=run.t, y=true, color=INK, dashes=dashes))
        unit = unit_of(run, f"adapted.{name}")
        panels.append(Panel(name=name, unit=unit, curves=tuple(curves)))
    return panels


def clearance_panels(run: Trajectory) -> list[Panel]:
    """Distance of a plan to its obstacles."""
    if "clearance" not in run:
        raise SimulationError(
            "the run has no clearance",
            f"plot of model '{run.model.name}'",
            "plan it among obstacles: plan(system, obstacles=[…])",
        )
    curve = Curve(label="clearance", x=run.t, y=run["clearance"])
    return [Panel(name="clearance", unit="m", curves=(curve,), bottom=0.0, has_names=False)]


def path_error_panels(t: Array, errors: PathErrors) -> list[Panel]:
    """Errors of a tracked path: ahead of and beside the reference, and turned against it."""
    places = (
        Curve(label="along", x=t, y=errors.along),
        Curve(label="across", x=t, y=errors.across),
    )
    heading = Curve(label="heading", x=t, y=errors.heading)
    return [
        Panel(name="path error", unit="m", curves=places),
        Panel(name="heading error", unit="rad", curves=(heading,)),
    ]


#: Ground that holds this many times what is drawn is not drawn.
FAR = 6.0
#: Loads below this part of the largest are near lift-off, which is drawn then.
LIGHT, LIFT_OFF = 0.25, "lift-off at 0 N"


#: Name of the panel of strips.
STRIPS = "contacts"


def contact_panels(run: Trajectory) -> list[Panel]:
    """States of the contacts of a run by Coulomb's law as strips, then grip, load and slip.

    A strip is a line while its contact rolls, a band while it slides, and a gap while it is off.
    """
    suffix = ".contact"
    names = [name.removesuffix(suffix) for name in run.columns if name.endswith(suffix)]
    if run.contact == "ideal" or not names:
        return []
    strips: list[Curve] = []
    found: dict[str, list[Curve]] = {"grip": [], "load": [], "slip": []}
    for k, name in enumerate(names):
        state, place = run[f"{name}{suffix}"], float(len(names) - k)
        line = np.where(state > 0, place, np.nan)
        wide = np.where((state == 1.0)[:, None], place + np.array([-0.3, 0.3]), line[:, None])
        strips.append(Curve(label=name, x=run.t, y=line, band=wide))
        for what, curves in found.items():
            curves.append(
                Curve(label=f"{name}.{what}", x=run.t, y=run[f"{name}.{what}"], told=name)
            )
    units = {"grip": "1", "load": "N", "slip": "m/s"}
    titles = {"grip": "grip", "load": "load", "slip": "sliding speed"}
    top = len(names) + 0.6
    first = Panel(name=STRIPS, unit="", curves=tuple(strips), bottom=0.4, top=top)
    return [
        first,
        *(Panel(name=titles[w], unit=units[w], curves=tuple(c)) for w, c in found.items()),
    ]


def friction_panels(audit: Audit) -> list[Panel]:
    """Friction demand and load of each wheel whose load is known, with their limits.

    Limits are the friction coefficient of the ground, if it is given, and a load of zero where one
    comes near it, in the least-norm split or in another.
    """
    demands, loads = [], []
    top = 0.01
    for wheel in audit.loaded:
        if wheel.grip_from or not audit.judged:
            label, band = wheel.name, wheel.demand_range
            demands.append(Curve(label=label, x=audit.t, y=wheel.demand, band=band))
        loads.append(Curve(label=wheel.name, x=audit.t, y=wheel.normal, band=wheel.normal_range))
        steady, widest = _usual(wheel.demand), _usual(wheel.demand_range[:, 1])
        top = max(top, 1.5 * steady, min(1.05 * widest, 3.0 * steady))
    if any(wheel.is_shared for wheel in audit.loaded):
        demands.append(
            Curve(label="best split", x=audit.t, y=audit.required, color=INK, dashes=(1.2, 1.3))
        )
    if audit.friction is not None:
        is_near = audit.friction < FAR * top
        top = max(top, 1.2 * audit.friction) if is_near else top
        label = f"ground, μ = {audit.friction:g}" + ("" if is_near else " (above)")
        ground = np.full(len(audit.t), audit.friction)
        demands.append(Curve(label=label, x=audit.t, y=ground, color=INK, dashes=(4.0, 1.6)))
    # a wheel that lifts asks for no end of friction; a load below zero would have to pull
    known = [x[np.isfinite(x)] for w in audit.loaded for x in (w.normal, w.normal_range)]
    lowest = min((float(x.min()) for x in known if x.size), default=0.0)
    highest = max((float(x.max()) for x in known if x.size), default=0.0)
    bottom = min(0.0, 1.06 * lowest)
    if lowest < LIGHT * highest:
        zero = np.zeros(len(audit.t))
        loads.append(Curve(label=LIFT_OFF, x=audit.t, y=zero, color=INK, dashes=(4.0, 1.6)))
        bottom = min(bottom, -0.06 * highest)  # not on the axis
    return [
        Panel(name="friction demand", unit="1", curves=tuple(demands), bottom=0.0, top=top),
        Panel(name="normal load", unit="N", curves=tuple(loads), bottom=bottom),
    ]


def _usual(demand: Array) -> float:
    """The largest demand but for a few moments."""
    finite = demand[np.isfinite(demand)]
    return float(np.quantile(finite, 0.99)) if finite.size else 0.0


def friction_sheet(audit: Audit, *, title: str = "", size: str = "page") -> Sheet:
    """Friction demand above load; the ranges over all splits of the forces are shaded."""
    return lay_out(friction_panels(audit), title=title, size=size)


def side_by_side(
    sets: Sequence[Sequence[Panel]], labels: Sequence[str], columns: Sequence[str]
) -> list[Panel]:
    """One panel for each curve that all runs have, with a curve for each run."""
    tables = [{_key(p, c): (p, c) for p in panels for c in p.curves} for panels in sets]
    common = [key for key in tables[0] if all(key in table for table in tables)]
    order = {name: k for k, name in enumerate(columns)}
    common.sort(key=lambda key: order.get(key[0], len(order)))
    if not common:
        raise SimulationError(
            "the runs have no column in common", "plot([run1, run2], …)", "draw them one by one"
        )
    found = []
    for key in common:
        panel, _ = tables[0][key]
        curves = [
            Curve(label=label, x=table[key][1].x, y=table[key][1].y, dashes=DASHES[k % len(DASHES)])
            for k, (label, table) in enumerate(zip(labels, tables, strict=True))
        ]
        found.append(
            Panel(
                name=key[0],
                unit=panel.unit,
                curves=tuple(curves),
                x_name=panel.x_name,
                x_unit=panel.x_unit,
                log=panel.log,
                marks_start=panel.marks_start,
            )
        )
    return found


def _key(panel: Panel, curve: Curve) -> tuple[str, str]:
    """By which curves of several runs belong together: the column, or the name of a lone axis."""
    return (curve.label if panel.has_names else panel.name, panel.x_name)


#: Dashes and gaps of what is unstable, and the diameter of a dot, points.
DASHED, DOT = (3.0, 2.0), 6.0
#: Color of the dots of each kind of special point: its place in the palette.
KINDS = (
    "fold", "branch point", "Hopf point", "period doubling", "torus", "stability limit",
)  # fmt: skip
#: Columns that are drawn if none is named.
FEW = 2


def branch_figure(
    found: Branch,
    what: str | Sequence[str],
    *,
    title: str,
    size: str,
    style: str,
    save: str | Path | None,
) -> Figure:
    """Columns of a branch over what is varied, and the growth of small motions."""
    from matplotlib.lines import Line2D

    from noslip.show.plots.painting import figure_of, legend, restyle

    chosen = style_named(style, size)
    target = None if save is None else FigureFile(save)
    names = _chosen(found, what)
    points = [p for p in found.special if p.kind in KINDS]
    kinds = [kind for kind in KINDS if any(p.kind == kind for p in points)]
    panels = [_panel(found, name, _column(found, name)) for name in names]
    told = ["stable", "unstable", *kinds]
    columns = legend_columns(told, width_of(chosen.size) - 2 * EDGE)
    rows = math.ceil(len(told) / columns)
    sheet = lay_out(panels, title=title, size=chosen.size, head=0.06 + LEADING * rows)
    figure = figure_of(sheet)
    tints = {kind: color(1 + KINDS.index(kind)) for kind in kinds}
    for ax, name in zip(figure.axes, names, strict=True):
        if name == GROWTH:
            ax.axhline(0.0, color=INK, linewidth=HAIR, zorder=1.5)
        for point in points:
            ax.plot(
                [point.value], [_value_at(found, name, point)], "o",
                color=tints[point.kind], markersize=DOT, markeredgecolor="white", zorder=4,
            )  # fmt: skip
    handles: list[Any] = [
        Line2D([], [], color=INK, linewidth=LINE),
        Line2D([], [], color=INK, linewidth=LINE, dashes=DASHED),
        *(Line2D([], [], color=tints[k], marker="o", linestyle="", markersize=DOT) for k in kinds),
    ]
    above = figure.axes[0]
    at = 1 + 0.05 / (above.get_position().height * figure.get_figheight())
    legend(
        above, handles, told, at=(0.0, at), columns=columns, corner="lower left",
        scale=chosen.scale,
    )  # fmt: skip
    restyle(figure, chosen)
    if target is not None:
        target.save(figure)
    return figure


#: Name of the panel of the largest real part.
GROWTH = "growth"


def _chosen(found: Branch, what: str | Sequence[str]) -> list[str]:
    """Names of the panels: those asked for, or what changes most, and the growth."""
    known = [*found.columns, GROWTH]
    if what:
        asked = [what] if isinstance(what, str) else list(what)
        for name in asked:
            if name not in known:
                raise SimulationError(
                    f"there is no column {name!r}",
                    f"branch of model '{found.model}'",
                    nearest(str(name), known),
                )
        return asked
    spread = {
        name: float(np.nanmax(x) - np.nanmin(x))
        for name, x in found.columns.items()
        if np.isfinite(x).any()
    }
    moving = [name for name in sorted(spread, key=lambda n: -spread[n]) if spread[name] > 1e-6]
    places = [name for name in moving if found.units[name] in ("rad", "m")]
    return [*(places or moving)[:FEW], GROWTH]


def _column(found: Branch, name: str) -> Array:
    return found.growth if name == GROWTH else found.columns[name]


def _panel(found: Branch, name: str, column: Array) -> Panel:
    """A column over the varied value, a curve for each stretch that is stable or is not."""
    curves: list[Curve] = []
    for number in range(len(found.ends)):
        own = np.flatnonzero(found.curve == number)
        changes = np.flatnonzero(np.diff(found.is_stable[own].astype(int))) + 1
        for some in np.split(own, changes):
            # up to the first point of the next stretch
            reach = np.arange(some[0], min(some[-1] + 2, own[-1] + 1))
            curves.append(
                Curve(
                    label=f"{name} {len(curves)}",
                    x=found.values[reach],
                    y=column[reach],
                    color=color(0),
                    dashes=() if found.is_stable[some[0]] else DASHED,
                )
            )
    return Panel(
        name=name,
        unit="1/s" if name == GROWTH else found.units[name],
        curves=tuple(curves),
        x_name=found.name,
        x_unit=found.unit,
        has_names=False,
        fills_width=True,
    )


def _value_at(found: Branch, name: str, point: Any) -> float:
    if name == GROWTH:
        return float(np.max(point.eigenvalues.real, initial=-np.inf))
    known = {**point.motion.values, **point.motion.inputs, point.name: point.value}
    return float(known.get(name, np.nan))


def chart_figure(
    found: StabilityChart,
    what: str | Sequence[str],
    *,
    title: str,
    size: str,
    style: str,
    save: str | Path | None,
) -> Figure:
    """Growth over two values, and the border of stability."""
    from noslip.show.plots.painting import figure_of, legend, restyle

    if what:
        raise SimulationError(
            f"there is no figure {what!r:.60} of a chart",
            f"chart of model '{found.model}'",
            "leave out what: the growth is drawn",
        )
    chosen = style_named(style, size)
    target = None if save is None else FigureFile(save)
    (x_name, y_name), (x_unit, y_unit) = found.names, found.units
    ends = Curve(label=y_name, x=found.x[[0, -1]], y=found.y[[0, -1]], color=INK)
    panel = Panel(
        name=y_name,
        unit=y_unit,
        curves=(ends,),
        x_name=x_name,
        x_unit=x_unit,
        bottom=float(found.y[0]),
        top=float(found.y[-1]),
        has_names=False,
        fills_width=True,
    )
    figure = figure_of(lay_out([panel], title=title, size=chosen.size, head=0.06 + LEADING))
    figure.set_figheight(TALLER * figure.get_figheight())
    (ax,) = figure.axes
    for line in list(ax.lines):
        line.remove()
    handles, told = _paint_chart(ax, found)
    at = 1 + 0.05 / (ax.get_position().height * figure.get_figheight())
    legend(
        ax, handles, told, at=(0.0, at), columns=len(told), corner="lower left",
        scale=chosen.scale,
    )  # fmt: skip
    restyle(figure, chosen)
    if target is not None:
        target.save(figure)
    return figure


#: Height of a chart beside that of a panel of curves.
TALLER = 1.6
#: Shades of what grows: with a swing and without, and of what is no steady motion.
SWINGS, PARTS, NONE = color(2), color(1), "#bbbbbb"


def _paint_chart(ax: Any, found: StabilityChart) -> tuple[list[Any], list[str]]:
    """Regions of a chart, with the samples and names of its legend."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    is_known = np.isfinite(found.growth)
    size = np.where(is_known & ~found.is_stable, np.maximum(found.growth, 0.0), 0.0)
    depth = 0.25 + 0.6 * np.sqrt(size / max(float(np.max(size)), 1e-300))
    picture = np.ones((*found.growth.shape, 4))
    swings = found.frequency > 1e-6
    told: list[str] = ["stable"]
    handles: list[Any] = [Patch(facecolor="white", edgecolor=INK, linewidth=HAIR)]
    for mask, tint, name in (
        (is_known & ~found.is_stable & swings, SWINGS, "a swing grows"),
        (is_known & ~found.is_stable & ~swings, PARTS, "it grows without swinging"),
        (~is_known, NONE, "no steady motion"),
    ):
        if mask.any():
            shade = np.array(to_rgba(tint))
            part = depth[mask][:, None] if tint != NONE else 1.0
            picture[mask] = shade * part + np.ones(4) * (1.0 - part)
            handles.append(Patch(facecolor=tint, alpha=0.7, linewidth=0))
            told.append(name)
    dx, dy = (each[1] - each[0] for each in (found.x, found.y))
    ax.imshow(
        picture,
        origin="lower",
        aspect="auto",
        extent=(
            found.x[0] - dx / 2, found.x[-1] + dx / 2, found.y[0] - dy / 2, found.y[-1] + dy / 2,
        ),
        interpolation="nearest",
        zorder=0.5,
    )  # fmt: skip
    if found.is_stable.any() and not found.is_stable[is_known].all():
        # where what is stable decays, growth itself crosses zero between the points
        decays = float(np.mean(found.growth[found.is_stable] < -1e-6)) > 0.9
        value, level = (found.growth, 0.0) if decays else (found.is_stable.astype(float), 0.5)
        ax.contour(found.x, found.y, value, levels=[level], colors=[INK], linewidths=[LINE])
    ax.set_xlim(found.x[0], found.x[-1])
    ax.set_ylim(found.y[0], found.y[-1])
    return handles, told
