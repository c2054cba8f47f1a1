"""Figures of families of motions: branches, and charts of stability over two values.

**A branch: columns over the varied value, solid where stable, dashed where not.**

Dots are the points at which motions or their stability change.

**A chart: shades by what grows fastest, a line where growth begins, stable ground in white.**
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import SimulationError
from noslip.base import Array, nearest
from noslip.results import Branch, StabilityChart
from noslip.scene import INK
from noslip.show.plots.painting import FigureFile
from noslip.show.plots.panels import lay_out, legend_columns
from noslip.show.plots.sheets import (
    EDGE,
    HAIR,
    LEADING,
    LINE,
    Curve,
    Panel,
    color,
    style_named,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
