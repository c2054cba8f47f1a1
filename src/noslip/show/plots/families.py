"""The figure of a branch: columns over the varied value, solid where stable, dashed where not.

Dots are the points at which motions or their stability change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import SimulationError
from noslip.base import Array, nearest
from noslip.results import Branch
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
