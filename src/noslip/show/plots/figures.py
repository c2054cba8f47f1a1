"""Figures of matplotlib's, with real axes, from sheets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import NullLocator

from noslip.scene import INK, PALETTE
from noslip.show.plots.sheets import Area, Frame, Sheet, Stroke, Ticks
from noslip.show.plots.style import (
    BELOW_AXIS,
    COLUMN_GAP,
    DASHES,
    EDGE,
    FAINT,
    GAP,
    HAIR,
    SAMPLE,
    TEXT,
    TICK,
    TICKS,
    TITLE,
    Corner,
    Decimals,
    FigureStyle,
    Powers,
    linear_locator,
    log_locator,
)


class PlotFigure(Figure):
    """A figure of matplotlib's that a notebook shows in the ink of its page."""

    def _repr_html_(self) -> str:
        from noslip.show.plots.files import figure_html

        return figure_html(self)


def figure_of(sheet: Sheet, scale: float = 1.0) -> Figure:
    """The figure of a sheet, to be changed or shown; `scale` enlarges the text of its legends."""
    figure = PlotFigure(figsize=(sheet.width, sheet.height), dpi=150)
    first: Axes | None = None
    for frame in sheet.frames:
        left, bottom, wide, tall = frame.box
        place = (left / sheet.width, bottom / sheet.height, wide / sheet.width, tall / sheet.height)
        ax = figure.add_axes(place, sharex=first)
        first = first or (ax if sheet.shares_x else None)
        _fill(ax, frame)
        ax.tick_params(labelbottom=frame.has_numbers)
        names = frame.names
        if names is not None:
            handles = [_handle(sample) for sample in names.samples]
            legend(
                ax,
                handles,
                names.names,
                at=names.at,
                corner=names.corner,
                columns=names.columns,
                scale=scale,
            )
    if sheet.title:
        at = (sheet.left / sheet.width, 1 - EDGE / sheet.height)
        write(figure, *at, sheet.title, fontsize=TITLE, fontweight="bold", va="top")
    return figure


def restyle(figure: Figure, style: FigureStyle) -> Figure:
    """Enlarge a figure with its text and lines, set its text in the fonts of a style, dash curves.

    The text of legends has its size already, which their layout depends on.
    """
    k = style.scale
    if k != 1.0:
        figure.set_size_inches(k * figure.get_figwidth(), k * figure.get_figheight())
        for ax in figure.axes:
            ax.tick_params(labelsize=k * TICKS, width=k * HAIR, length=k * TICK, pad=k * TICK)
            for spine in ax.spines.values():
                spine.set_linewidth(k * HAIR)
            ax.grid(linewidth=k * 0.5)
            for line in (*ax.lines, *_samples(ax, Line2D)):
                line.set_linewidth(k * line.get_linewidth())
                line.set_markersize(k * line.get_markersize())
            for area in (*ax.collections, *_samples(ax, Patch)):
                area.set_linewidth(k * np.atleast_1d(area.get_linewidth())[0])
        for text in _texts(figure, legends=False):
            text.set_fontsize(k * float(text.get_fontsize()))
    if style.fonts:
        for ax in figure.axes:
            ax.tick_params(labelfontfamily=list(style.fonts))
        for text in _texts(figure):
            text.set_fontfamily(list(style.fonts))
    if style.is_gray:
        for ax in figure.axes:
            _dash_by_color(ax)
    return figure


def _dash_by_color(ax: Axes) -> None:
    """Give each color its dashes, so that curves differ in gray; not where dashes have a meaning.

    Of six colors and four patterns, the two that share one differ in lightness.
    """
    lines = [*ax.lines, *_samples(ax, Line2D)]
    colored = [(line, to_hex(line.get_color())) for line in lines]
    of_palette = [(line, PALETTE.index(color)) for line, color in colored if color in PALETTE]
    if not any(line.is_dashed() for line, _ in of_palette):
        for line, k in of_palette:
            if pattern := DASHES[k % len(DASHES)]:
                line.set_dashes(pattern)


def _texts(figure: Figure, *, legends: bool = True) -> list[Text]:
    """Titles, names of axes and of curves; numbers at ticks belong to their axes."""
    found = list(figure.texts)
    for ax in figure.axes:
        found += [ax.xaxis.label, ax.yaxis.label, *ax.texts]
        made = ax.get_legend()
        found += made.get_texts() if legends and made is not None else []
    return found


def _samples(ax: Axes, kind: type) -> list[Any]:
    made = ax.get_legend()
    return [h for h in made.legend_handles if isinstance(h, kind)] if made is not None else []


def _fill(ax: Axes, frame: Frame) -> None:
    """Everything in a frame but its legend."""
    _, _, wide, tall = frame.box
    dress(ax)
    for area in frame.areas:
        ax.add_collection(
            PolyCollection(area.polygons, zorder=area.level, **_faces(area)), autolim=False
        )
    for stroke in frame.strokes:
        ax.add_line(_line(stroke))
    if frame.y_ticks.log:
        ax.set_yscale("log")
    ax.set_xlim(*frame.x_limits)
    ax.set_ylim(*frame.y_limits)
    _set_ticks(ax.xaxis, frame.x_ticks)
    _set_ticks(ax.yaxis, frame.y_ticks)
    for axis, label in ((ax.xaxis, frame.x_label), (ax.yaxis, frame.y_label)):
        if label:
            axis.set_label_text(label, fontsize=TEXT, color=INK, parse_math=False)
    # where the names of the axes go is known: nothing has to be measured while drawing
    ax.xaxis.set_label_coords(0.5, -BELOW_AXIS / tall)
    ax.yaxis.set_label_coords(-(frame.room - 0.01) / wide, 0.5)
    ax.yaxis.label.set_verticalalignment("top")
    if frame.is_map:
        ax.set_aspect("equal", adjustable="box")


def _line(stroke: Stroke) -> Line2D:
    line = Line2D(
        stroke.x, stroke.y, color=stroke.color, linewidth=stroke.width, zorder=stroke.level,
        label=stroke.label,
    )  # fmt: skip
    if stroke.dashes:
        line.set_dashes(stroke.dashes)
    if stroke.dot:
        name = stroke.label or "start"
        line.set(linestyle="none", marker="o", markersize=stroke.dot, label=name)
    return line


def _handle(sample: Stroke | Area) -> Artist:
    return _line(sample) if isinstance(sample, Stroke) else Patch(**_faces(sample))


def _faces(area: Area) -> dict[str, Any]:
    return {
        "facecolor": (area.color, area.fill),
        "edgecolor": (area.color, area.edge),
        "linewidth": area.width,
    }


def _set_ticks(axis: Axis, ticks: Ticks) -> None:
    if ticks.log:
        axis.set_major_locator(log_locator(ticks.count))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(Powers())
    else:
        axis.set_major_locator(linear_locator(ticks.count))
        axis.set_major_formatter(Decimals(ticks.exponent))


def dress(ax: Axes) -> None:
    """Axes with two sides, thin lines and a faint grid."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(HAIR)
        spine.set_edgecolor(INK)
    ax.tick_params(labelsize=TICKS, width=HAIR, length=TICK, pad=TICK, color=INK, labelcolor=INK)
    ax.grid(color=INK, alpha=FAINT, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.patch.set_visible(False)


def write(ax: Axes | Figure, x: float, y: float, text: str, **options: object) -> None:
    """Text in ink, never read as mathematics, since names may have any sign in them."""
    given: dict[str, object] = {"fontsize": TEXT, "color": INK, "parse_math": False, **options}
    ax.text(x, y, text, **given)  # type: ignore[arg-type]


def legend(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], *, at: tuple[float, float],
    columns: int = 1, corner: Corner = "upper left", scale: float = 1.0,
) -> None:  # fmt: skip
    """Names beside the data; `at` is where its corner goes, in axes coordinates."""
    # names may begin with a low line, which a legend would hide: so they are put in afterwards
    made = ax.legend(
        handles, ["name"] * len(handles), loc=corner, bbox_to_anchor=at, ncols=columns,
        fontsize=scale * TEXT, frameon=False, borderaxespad=0.0, borderpad=0.0, labelcolor=INK,
        handlelength=SAMPLE * 72 / TEXT, handletextpad=GAP * 72 / TEXT, labelspacing=0.32,
        columnspacing=COLUMN_GAP,
    )  # fmt: skip
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
