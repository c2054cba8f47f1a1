"""Eigenvalues against a parameter, such as those of a bicycle against its speed.

Each eigenvalue is followed from one value of the parameter to the next: the pairing that changes
them least, as a whole, after each is continued along a straight line. Summed are square roots of
the changes. On a line, sums of the changes themselves are the same however two are paired that pass
others on the same side; of their roots the one is least that leaves an eigenvalue where it was,
such as a zero that another one crosses.

Two branches that are conjugate are one mode, with one color. A mode is named by what its
eigenvalues show: whether it oscillates, grows or decays, and where. Where a real part crosses zero
by too little to be seen beside the others, the ordinate is linear about zero, logarithmic beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.errors import SimulationError
from noslip.show.plots.curves import Array, Curve, Panel
from noslip.show.plots.files import check_file, save_figure
from noslip.show.plots.panels import lay_out, legend_columns, legend_rows
from noslip.show.plots.style import EDGE, HAIR, INK, LEADING, LINE, color, style_named, width_of
from noslip.show.units import unit_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]

#: A real part below this part of the largest eigenvalue does not grow.
GROWS = 1e-7
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
    title: str = "",
    size: str = "page",
    style: str = "",
    save: str | Path | None = None,
) -> Figure:
    """Real and imaginary parts of eigenvalues against a parameter; shaded where nothing grows.

    Modes are named by what they do, such as "oscillates, grows below 4.29 m/s". Real parts have an
    ordinate that is linear about zero and logarithmic beyond where else no crossing would be seen.

    Parameters
    ----------
    values : (n,) of the parameter, in rising order.
    eigenvalues : (n, k), 1/s, in any order.
    parameter, unit : name and unit of the parameter, for the abscissa.
    stable : ranges to shade; by default where no real part is above zero.
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
    target = None if save is None else check_file(save)
    x, table = _checked(values, eigenvalues)
    branches = followed(x, table)
    bound = GROWS * float(np.max(np.abs(table)))
    steady = stable_ranges(x, np.max(table.real, axis=1), bound) if stable is None else stable
    ends = [end for pair in steady for end in pair]
    modes = modes_of(branches, bound)
    names = [mode_name(x, branches[:, mode], ends, bound, unit) for mode in modes]
    colors = {k: color(number) for number, mode in enumerate(modes) for k in mode}
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
    told = [*names, "stable: nothing grows"] if steady else names
    wide = width_of(chosen.size) - ROOM - 2 * EDGE
    sheet = lay_out(
        panels,
        title=title,
        size=chosen.size,
        head=0.06 + LEADING * legend_rows(told, wide),
        room=ROOM if linear else 0.0,
    )
    figure = figure_of(sheet)
    if linear:
        _scale_about_zero(figure.axes[0], linear)
    shade = _shade(figure, steady)
    _name(figure, [colors[mode[0]] for mode in modes], told, shade, wide, chosen.scale)
    restyle(figure, chosen)
    if target is not None:
        save_figure(figure, target)
    return figure


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
    wide: float,
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
        above, handles, names, at=(0.0, at), columns=legend_columns(names, wide),
        corner="lower left", scale=scale,
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


def modes_of(branches: Complex, bound: float) -> list[tuple[int, ...]]:
    """Branches in modes: alone, or two that are conjugate at the most values of the parameter."""
    count = branches.shape[1]
    paired: list[tuple[int, int, int]] = []
    for i in range(count):
        for j in range(i + 1, count):
            apart = np.abs(branches[:, i] - branches[:, j].conj())
            both = (apart <= bound) & (np.abs(branches[:, i].imag) > bound)
            if both.any():
                paired.append((-int(both.sum()), i, j))
    partner: dict[int, int] = {}
    for _, i, j in sorted(paired):
        if i not in partner and j not in partner:
            partner[i], partner[j] = j, i
    return [
        (k, partner[k]) if k in partner else (k,) for k in range(count) if partner.get(k, k) >= k
    ]


def mode_name(
    x: Array, branches: Complex, ends: Sequence[float], bound: float, unit: str = ""
) -> str:
    """What a mode does, such as "oscillates above ≈ 0.65 m/s, grows below 4.29 m/s".

    Parameters
    ----------
    x : (n,) values of the parameter.
    branches : (n, 1) or (n, 2) its eigenvalues.
    ends : values at which stability is known to change.
    bound : size below which a part is zero.
    unit : of the parameter.
    """
    largest = branches.real.max(axis=1)
    grows, decays = largest > bound, largest < -bound
    turns = np.abs(branches[:, 0].imag) > bound
    if not (grows.any() or decays.any() or turns.any()):
        return "neutral"
    shape = f"oscillates{_where(x, turns, (), unit)}" if turns.any() else "monotone"
    if grows.any():
        return f"{shape}, grows{_where(x, grows, ends, unit)}"
    return (
        f"{shape}, decays{_where(x, decays, ends, unit)}" if decays.any() else f"{shape}, neutral"
    )


def _where(x: Array, holds: NDArray[np.bool_], ends: Sequence[float], unit: str) -> str:
    """Where something holds, in words; nothing where it always does."""
    changes = np.flatnonzero(holds[1:] != holds[:-1])
    if not changes.size:
        return ""
    after = f" {unit_text(unit)}" if unit not in ("", "1") else ""

    def limit(k: int) -> str:
        known = [end for end in ends if x[k] <= end <= x[k + 1]]
        # of other limits no more is known than the two values between which they are
        return f"{known[0]:.3g}" if known else f"≈ {(x[k] + x[k + 1]) / 2:.2g}"

    if changes.size == 1:
        return f" {'below' if holds[0] else 'above'} {limit(int(changes[0]))}{after}"
    if changes.size == 2 and not holds[0]:
        return f" from {limit(int(changes[0]))} to {limit(int(changes[1]))}{after}"
    return " in part"


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


def followed(x: Array, table: Complex) -> Complex:
    """(n, k) eigenvalues with each column one branch."""
    from scipy.optimize import linear_sum_assignment

    first = table[0]
    rows = [first[np.lexsort((first.imag, first.real))]]
    for k in range(1, len(x)):
        ahead = rows[-1]
        if k > 1:
            ahead = ahead + (rows[-1] - rows[-2]) * (x[k] - x[k - 1]) / (x[k - 1] - x[k - 2])
        # a root of a square has no straight continuation: where two met, stay with what was
        cost = np.minimum(
            np.abs(ahead[:, None] - table[k][None]), np.abs(rows[-1][:, None] - table[k][None])
        )
        _, pairs = linear_sum_assignment(np.sqrt(cost))
        rows.append(table[k][pairs])
    return np.array(rows)


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
