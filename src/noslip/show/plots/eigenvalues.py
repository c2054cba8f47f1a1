"""Eigenvalues against a parameter, such as those of a bicycle against its speed.

Modes are followed and named by ``analysis/modes.py``: a pair is one mode, with one color, and its
name is said with what its eigenvalues do, whether they oscillate, grow or decay, and where. Where a
real part crosses zero by too little to be seen beside the others, the ordinate is linear about
zero, logarithmic beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip import SimulationError
from noslip.analysis import SweptMode, swept_modes
from noslip.scene import INK
from noslip.show.axis_units import unit_text
from noslip.show.plots.curves import Array, Curve, Panel
from noslip.show.plots.files import FigureFile
from noslip.show.plots.panels import lay_out, legend_columns
from noslip.show.plots.style import (
    EDGE,
    HAIR,
    LEADING,
    LINE,
    color,
    legend_width,
    style_named,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]

#: A crossing of zero is seen where both sides of it have this part of the height.
SEEN = 0.08
#: Inches for the numbers and the name of a logarithmic ordinate.
ROOM = 0.56


def plot_eigenvalues(
    values: ArrayLike,
    eigenvalues: ArrayLike,
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
    modes : of :class:`EigenvalueSweep`; found from the eigenvalues alone by default.
    title : above the figure.
    size : ``page`` (7.2 inches wide) or ``column`` (3.5).
    style : what it is for, instead of a size: ``screen``, ``paper`` (a column, in the font of the
        equations) or ``slide`` (10.8 inches wide, text of 16 points).
    save : file to write, too: PNG, SVG or PDF by its ending.

    Returns
    -------
    Figure : of matplotlib, with one panel of real parts and one of imaginary parts.
    """
    from noslip.show.plots.figures import figure_of, restyle

    chosen = style_named(style, size)
    target = None if save is None else FigureFile(save)
    x, table = _checked(values, eigenvalues)
    found = modes or swept_modes(x, table, np.zeros((0, 0, 0)), ())
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
    _name(figure, tints, told, shade, columns, chosen.scale)
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


def _name(
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

    from noslip.show.plots.figures import legend

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


def _checked(values: ArrayLike, eigenvalues: ArrayLike) -> tuple[Array, Complex]:
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
