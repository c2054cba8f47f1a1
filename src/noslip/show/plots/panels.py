"""Figures made of panels: curves with names, each panel with one quantity and its unit.

`draw` places panels by inches: the room that numbers and names take is known before anything is
drawn, so nothing has to be laid out twice. Stacked panels share their abscissa and have their names
on the right (above them in a narrow figure); a grid of panels has one row of names for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

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
from noslip.show.plots.units import axis_label

Array = NDArray[np.float64]

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
#: Numbers that differ by less than this part of their size are the same but for rounding.
ROUNDING = 1e-9
#: What is smaller than this in every unit is zero but for rounding.
NOTHING = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A named curve.

    Parameters
    ----------
    label : the model's own name.
    x, y : (n,) values; what is not finite is left out.
    band : (n, 2) shaded from the first to the second, if any.
    color : of the palette by default, in the order of the curves.
    dashes : lengths of dashes and gaps; None for those that go with the color.
    """

    label: str
    x: Array
    y: Array
    band: Array | None = None
    color: str = ""
    dashes: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Curves of one quantity.

    Parameters
    ----------
    name, unit : of the ordinate.
    curves : at least one.
    x_name, x_unit : of the abscissa.
    log : draw sizes on a logarithmic ordinate.
    bottom, top : limits of the ordinate where they are not those of the curves.
    has_names : whether the curves are named beside the panel.
    marks_start : whether a dot shows where each curve begins.
    fills_width : whether the curves go from one side to the other, as over time.
    """

    name: str
    unit: str
    curves: tuple[Curve, ...]
    x_name: str = "time"
    x_unit: str = "s"
    log: bool = False
    bottom: float | None = None
    top: float | None = None
    has_names: bool = True
    marks_start: bool = False
    fills_width: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What stands beside it."""
        return tuple(c.label for c in self.curves) if self.has_names else ()


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
    right = EDGE + 0.02
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
        line = Line2D(curve.x, _drawn(panel, curve.y), color=ink, linewidth=LINE, label=curve.label)
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
    ax.set_xlim(*_x_limits(panel))
    low, high = limits(panel)
    ax.set_ylim(low, high)
    x_exponent = linear_ticks(ax.xaxis, *_x_limits(panel), 8 if wide > 3 else 5)
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


def limits(panel: Panel) -> tuple[float, float]:
    """Least and largest ordinate, with room above and below."""
    parts = [_drawn(panel, c.y) for c in panel.curves]
    parts += [_drawn(panel, c.band.ravel()) for c in panel.curves if c.band is not None]
    found = np.concatenate([part[np.isfinite(part)] for part in parts])
    if panel.log:
        # a few samples that are zero by chance are not worth decades of empty paper
        ends = np.quantile(found, [0.05, 1.0]) if found.size else np.array([1e-16, 1.0])
        low, high = 10.0 ** np.floor(np.log10(ends[0])), 10.0 ** np.ceil(np.log10(ends[1]) + 1e-9)
        return float(low), float(max(high, 10 * low))
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 0.0)
    size = max(abs(low), abs(high))
    if size < NOTHING:
        low, high = -1.0, 1.0
    elif high - low < ROUNDING * size:
        low, high = low - 0.1 * size, high + 0.1 * size
    margin = 0.06 * (high - low)
    low, high = low - margin, high + margin
    return (
        low if panel.bottom is None else panel.bottom,
        high if panel.top is None else panel.top,
    )


def _drawn(panel: Panel, y: Array) -> Array:
    """Ordinates as they are drawn: sizes on a logarithmic axis, where zero has no place."""
    if not panel.log:
        return np.asarray(y, dtype=float)
    size = np.abs(y)
    return np.where(size > 0, size, np.nan)


def _x_limits(panel: Panel) -> tuple[float, float]:
    every = np.concatenate([c.x[np.isfinite(c.x)] for c in panel.curves])
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    size = max(abs(low), abs(high))
    if high - low <= ROUNDING * size:
        return low - 0.1 * (size or 10.0), high + 0.1 * (size or 10.0)
    # time fills the whole width, other quantities turn within it
    fills = panel.fills_width or panel.x_name == "time"
    margin = 0.0 if fills else 0.05 * (high - low)
    return low - margin, high + margin


def _room(panel: Panel) -> float:
    """Inches that numbers and name of the ordinate take on the left."""
    low, high = limits(panel)
    if panel.log:
        digits, exponent = 4.2, 0
    else:
        exponent = exponent_of(low, high)
        digits = max(len(text) for text in tick_texts(low, high, exponent, Y_TICKS))
    lines = 1 + _wrapped(panel, exponent, HEIGHT).count("\n")
    return digits * DIGIT * TICKS / 72 + 0.1 + lines * LEADING


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
