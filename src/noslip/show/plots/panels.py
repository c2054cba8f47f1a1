"""Sheets made of panels: curves with names, each panel with one quantity and its unit.

`lay_out` places panels by inches: the room that numbers and names take is known before anything is
drawn, so nothing has to be laid out twice. Stacked panels share their abscissa and have their names
on the right (above them in a narrow figure); a grid of panels has one row of names for all.

Of stacked curves that lie on each other, later ones are dashed, so that each color is seen, and
their names follow that of the first, after "=" or "≈".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from noslip.show.axis_units import axis_label
from noslip.show.plots.curves import Panel
from noslip.show.plots.sheets import Area, Frame, Names, Sheet, Stroke, Ticks, band_polygons
from noslip.show.plots.style import (
    DASHES,
    EDGE,
    LEADING,
    LINE,
    TICKS,
    color,
    dashes,
    exponent_of,
    legend_width,
    text_width,
    tick_texts,
    width_of,
)

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
    """A sheet of panels.

    Parameters
    ----------
    panels : from top to bottom, or row by row.
    title : above them.
    size : ``page`` or ``column``.
    columns : of a grid; 1 to stack panels over one abscissa.
    head : inches to leave free above stacked panels.
    room : least inches for numbers and names of the ordinates of stacked panels.
    """
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
