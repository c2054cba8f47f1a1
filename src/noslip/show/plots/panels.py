"""Figures made of panels: curves with names, each panel with one quantity and its unit.

`draw` places panels by inches: the room that numbers and names take is known before anything is
drawn, so nothing has to be laid out twice. Stacked panels share their abscissa and have their names
on the right (above them in a narrow figure); a grid of panels has one row of names for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from noslip.show.plots.curves import Panel
from noslip.show.plots.style import (
    LEADING,
    LINE,
    TICKS,
    TITLE,
    color,
    dashes,
    dress,
    exponent_of,
    label_axes,
    legend,
    legend_width,
    linear_ticks,
    log_ticks,
    new_figure,
    text_width,
    tick_texts,
    width_of,
    write,
)
from noslip.show.units import axis_label

#: Inches: around everything, below an abscissa with numbers and name, between panels.
EDGE, BELOW, BETWEEN = 0.08, 0.40, 0.16
#: Height of a panel, inches, with few names beside it.
HEIGHT = 1.32
#: A figure narrower than this has its names above the panels, inches.
NARROW = 5.0
#: Steps between ticks of an ordinate, at most.
Y_TICKS = 5
#: Width of a digit, in heights of the text.
DIGIT = 0.64


def draw(
    panels: Sequence[Panel],
    *,
    title: str = "",
    size: str = "page",
    columns: int = 1,
    head: float = 0.0,
) -> Figure:
    """A figure of panels.

    Parameters
    ----------
    panels : from top to bottom, or row by row.
    title : above them.
    size : ``page`` or ``column``.
    columns : of a grid; 1 to stack panels over one abscissa.
    head : inches to leave free above stacked panels.
    """
    width = width_of(size)
    if columns == 1:
        return _stack(panels, title, width, head)
    return _grid(panels, title, width, columns if width >= NARROW else 1)


def _stack(panels: Sequence[Panel], title: str, width: float, head: float) -> Figure:
    """Panels under each other, names on the right or, in a narrow figure, above each."""
    beside = width >= NARROW
    right = max(EDGE + 0.02, *(_overhang(p, width) for p in panels))
    if beside and any(p.names for p in panels):
        right = EDGE + 0.1 + max(legend_width(p.names) for p in panels if p.names)
    left = EDGE + max(_room(p) for p in panels)
    inner = width - left - right
    heads = [0.0 if beside else LEADING * _rows(p.names, inner) for p in panels]
    tall = [max(HEIGHT, LEADING * len(p.names)) if beside else HEIGHT for p in panels]
    top = EDGE + (0.2 if title else 0.0) + head
    height = top + sum(tall) + sum(heads) + BETWEEN * (len(panels) - 1) + BELOW
    figure = new_figure(width, height)
    first: Axes | None = None
    at = height - top
    for k, panel in enumerate(panels):
        at -= heads[k] + tall[k]
        ax = figure.add_axes(
            (left / width, at / height, inner / width, tall[k] / height), sharex=first
        )
        first = first or ax
        is_last = k == len(panels) - 1
        handles = fill(ax, panel, (left - EDGE, inner, tall[k]), with_x=is_last)
        ax.tick_params(labelbottom=is_last)
        if panel.names and beside:
            legend(ax, handles, panel.names, at=(1 + 0.1 / inner, 1.0))
        elif panel.names:
            legend(
                ax, handles, panel.names, at=(0.0, 1 + 0.05 / tall[k]), corner="lower left",
                columns=_columns(panel.names, inner),
            )  # fmt: skip
        at -= BETWEEN
    _title(figure, title, left, height)
    return figure


def _grid(panels: Sequence[Panel], title: str, width: float, columns: int) -> Figure:
    """Panels in a grid, each with its own abscissa, and the names of the first for all."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    lefts = [EDGE + max(_room(p) for p in panels[c::columns]) for c in range(columns)]
    inner = (width - sum(lefts) - EDGE - 0.1 * (columns - 1)) / columns
    tall = min(max(HEIGHT, 0.62 * inner), 2.1)
    names = panels[0].names
    head = LEADING * _rows(names, width - 2 * EDGE) + 0.06 if names else 0.0
    top = EDGE + (0.2 if title else 0.0) + head
    height = top + rows * (tall + BELOW) + 0.06 * (rows - 1)
    figure = new_figure(width, height)
    for k, panel in enumerate(panels):
        row, column = divmod(k, columns)
        x = sum(lefts[: column + 1]) + (inner + 0.1) * column
        y = height - top - (row + 1) * tall - row * (BELOW + 0.06)
        ax = figure.add_axes((x / width, y / height, inner / width, tall / height))
        handles = fill(ax, panel, (lefts[column] - EDGE, inner, tall), with_x=True)
        if k == 0 and names:
            legend(
                ax, handles, names, at=(0.0, 1 + 0.07 / tall), corner="lower left",
                columns=_columns(names, width - 2 * EDGE),
            )  # fmt: skip
    _title(figure, title, lefts[0], height)
    return figure


def fill(
    ax: Axes, panel: Panel, inches: tuple[float, float, float], *, with_x: bool
) -> list[Line2D]:
    """Draw a panel into axes; `inches` are its room on the left, its width and its height."""
    room, wide, tall = inches
    dress(ax)
    handles = []
    for k, curve in enumerate(panel.curves):
        ink = curve.color or color(k)
        line = Line2D(curve.x, panel.drawn(curve.y), color=ink, linewidth=LINE, label=curve.label)
        pattern = dashes(k) if curve.dashes is None else curve.dashes
        if pattern:
            line.set_dashes(pattern)
        ax.add_line(line)
        handles.append(line)
        if panel.marks_start:
            start = slice(0, 1)
            ax.plot(curve.x[start], curve.y[start], "o", color=ink, markersize=3.5, label="start")
        if curve.band is not None:
            low, high = curve.band.T
            inside = np.isfinite(low) & np.isfinite(high)
            ax.fill_between(
                curve.x, low, high, where=inside.tolist(), color=ink, alpha=0.14, linewidth=0
            )
    if panel.log:
        ax.set_yscale("log")
    ax.set_xlim(*panel.x_limits())
    low, high = panel.limits()
    ax.set_ylim(low, high)
    x_exponent = linear_ticks(ax.xaxis, *panel.x_limits(), 8 if wide > 3 else 5)
    if panel.log:
        log_ticks(ax.yaxis, 5)
        exponent = 0
    else:
        exponent = linear_ticks(ax.yaxis, low, high, Y_TICKS)
    x_label = axis_label(panel.x_name, panel.x_unit, x_exponent) if with_x else ""
    label_axes(ax, x_label, _wrapped(panel, exponent, tall))
    # where the names of the axes go is known: nothing has to be measured while drawing
    ax.xaxis.set_label_coords(0.5, -0.22 / tall)
    ax.yaxis.set_label_coords(-(room - 0.01) / wide, 0.5)
    ax.yaxis.label.set_verticalalignment("top")
    return handles


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


def _columns(names: Sequence[str], width: float) -> int:
    return max(1, min(len(names), int((width + 0.18) // (legend_width(names) + 0.18))))


def _rows(names: Sequence[str], width: float) -> int:
    return math.ceil(len(names) / _columns(names, width)) if names else 0


def _title(figure: Figure, title: str, left: float, height: float) -> None:
    if title:
        write(
            figure, left / figure.get_figwidth(), 1 - EDGE / height, title,
            fontsize=TITLE, fontweight="bold", va="top",
        )  # fmt: skip
