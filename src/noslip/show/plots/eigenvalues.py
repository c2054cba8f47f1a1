"""Eigenvalues against a parameter, such as those of a bicycle against its speed.

Each eigenvalue is followed from one value of the parameter to the next: the pairing that changes
them least, as a whole, after each is continued along a straight line. Summed are square roots of
the changes. On a line, sums of the changes themselves are the same however two are paired that pass
others on the same side; of their roots the one is least that leaves an eigenvalue where it was,
such as a zero that another one crosses.
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
from noslip.show.plots.panels import lay_out
from noslip.show.plots.style import INK, style_named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]

#: A real part below this part of the largest eigenvalue does not grow.
GROWS = 1e-7


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
    panels = [
        Panel(
            name=name,
            unit=part_unit,
            curves=tuple(_curves(x, part(branches), name)),
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
    bound = GROWS * float(np.max(np.abs(table)))
    steady = stable_ranges(x, np.max(table.real, axis=1), bound) if stable is None else stable
    figure = figure_of(lay_out(panels, title=title, size=chosen.size, head=0.16 if steady else 0.0))
    _shade(figure, steady, chosen.scale)
    restyle(figure, chosen)
    if target is not None:
        save_figure(figure, target)
    return figure


def _shade(figure: Figure, steady: Sequence[tuple[float, float]], scale: float) -> None:
    from matplotlib.patches import Patch

    from noslip.show.plots.figures import legend

    shade: dict[str, Any] = {"color": INK, "alpha": 0.09, "linewidth": 0}
    for ax in figure.axes:
        for low, high in steady:
            ax.axvspan(low, high, **shade)
    if steady:
        above = figure.axes[0]
        # the same distance above low and high panels
        at = 1 + 0.05 / (above.get_position().height * figure.get_figheight())
        legend(
            above, [Patch(**shade)], ["stable: nothing grows"], at=(1.0, at),
            corner="lower right", scale=scale,
        )  # fmt: skip


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
            "the values of the parameter do not rise", where, "give at least two, in rising order"
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


def _curves(x: Array, parts: Array, name: str) -> list[Curve]:
    return [
        Curve(label=f"{name} {k + 1}", x=x, y=branch, dashes=())
        for k, branch in enumerate(parts.T)
    ]  # fmt: skip
