"""Style of figures: ink, colors, sizes, ticks and legends, without any setting of pyplot's.

The six colors keep a contrast of at least 3 on white and on dark paper, and stay apart for people
who do not see red, green or blue; further curves repeat them with dashes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullLocator

from noslip.errors import SimulationError, nearest
from noslip.show.units import raised

Corner = Literal["upper left", "lower left", "lower right"]

#: Text, axes and what has no color of its own; pages of either shade replace it.
INK = "#16181a"
#: Blue, orange, green, crimson, violet, ochre.
PALETTE = ("#3264b9", "#ff640f", "#22a688", "#be1478", "#b575f8", "#786419")
DASHES: tuple[tuple[float, ...], ...] = ((), (4.0, 1.6), (1.2, 1.3), (5.0, 1.5, 1.2, 1.5))
#: Widths of figures, inches: a column of two, or the whole page of a paper.
WIDTHS = {"column": 3.5, "page": 7.2}
TEXT, TICKS, TITLE = 8.0, 7.5, 9.0
LINE, THIN, HAIR = 1.3, 0.9, 0.6
#: Height of a line of text, inches.
LEADING = 1.32 * TEXT / 72
#: Length of the line before a name in a legend, and the gap after it, inches.
SAMPLE, GAP = 0.24, 0.07


def color(k: int) -> str:
    """Color of the k-th curve."""
    return PALETTE[k % len(PALETTE)]


def dashes(k: int) -> tuple[float, ...]:
    """Dashes of the k-th curve: none for the first six, then others for each six."""
    return DASHES[k // len(PALETTE) % len(DASHES)]


def width_of(size: str) -> float:
    """Width of a figure, inches."""
    if size not in WIDTHS:
        raise SimulationError(f"there is no size '{size}'", "plot", nearest(str(size), WIDTHS))
    return WIDTHS[size]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure; its size in inches."""
    return Figure(figsize=(width, height), dpi=150)


@lru_cache(maxsize=1024)
def text_width(text: str, size: float = TEXT) -> float:
    """Width of a line of text, inches."""
    if not text:
        return 0.0
    found = TextToPath().get_text_width_height_descent(text, FontProperties(size=size), False)
    return float(found[0]) / 72


class Decimals(Formatter):
    """Ticks as plain decimals of 10 to an exponent, all with as many figures as they need."""

    def __init__(self, exponent: int) -> None:
        self._scale = 10.0**-exponent
        self._places = 0

    def set_locs(self, locs: Sequence[float]) -> None:
        """See where the ticks are, and so how many figures they need."""
        steps = [b - a for a, b in pairwise(locs)]
        step = min((abs(s) for s in steps if s), default=1.0) * self._scale
        self._places = next(
            (k for k in range(12) if abs(step * 10**k - round(step * 10**k)) < 1e-6 * step * 10**k),
            3,
        )

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The text of a tick."""
        text = f"{x * self._scale:.{self._places}f}"
        return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


class Powers(Formatter):
    """Ticks of a logarithmic axis: 10⁻¹²."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The text of a tick."""
        exponent = round(math.log10(x))
        return "1" if exponent == 0 else f"10{raised(exponent)}"


def exponent_of(low: float, high: float) -> int:
    """The power of ten, a multiple of 3, that leaves short numbers; 0 for everyday sizes."""
    size = max(abs(low), abs(high))
    if not (size > 0 and math.isfinite(size)):
        return 0
    order = math.floor(math.log10(size) + 1e-9)
    return 0 if -2 <= order < 4 else 3 * (order // 3)


def linear_ticks(axis: Axis, low: float, high: float, count: int) -> int:
    """Ticks at round numbers; the power of ten that their label must name is returned."""
    exponent = exponent_of(low, high)
    axis.set_major_locator(_locator(count))
    axis.set_major_formatter(Decimals(exponent))
    return exponent


def tick_texts(low: float, high: float, exponent: int, count: int) -> list[str]:
    """Labels of those ticks."""
    near = 1e-9 * (high - low)
    ticks = [x for x in _locator(count).tick_values(low, high) if low - near <= x <= high + near]
    return Decimals(exponent).format_ticks(ticks) or [""]


def _locator(count: int) -> MaxNLocator:
    return MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])


def log_ticks(axis: Axis, count: int) -> None:
    """Ticks at powers of ten, few enough to be read."""
    axis.set_major_locator(LogLocator(numticks=count))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(Powers())


def dress(ax: Axes) -> None:
    """Axes with two sides, thin lines and a faint grid."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_linewidth(HAIR)
        spine.set_edgecolor(INK)
    ax.tick_params(labelsize=TICKS, width=HAIR, length=2.5, pad=2.5, color=INK, labelcolor=INK)
    ax.grid(color=INK, alpha=0.13, linewidth=0.5)
    ax.set_axisbelow(True)
    ax.patch.set_visible(False)


def write(ax: Axes | Figure, x: float, y: float, text: str, **options: object) -> None:
    """Text in ink, never read as mathematics, since names may have any sign in them."""
    given: dict[str, object] = {"fontsize": TEXT, "color": INK, "parse_math": False, **options}
    ax.text(x, y, text, **given)  # type: ignore[arg-type]


def label_axes(ax: Axes, x: str, y: str) -> None:
    """Names of both axes; those that are empty are left out."""
    if x:
        ax.set_xlabel(x, fontsize=TEXT, color=INK, parse_math=False)
    if y:
        ax.set_ylabel(y, fontsize=TEXT, color=INK, parse_math=False)


def legend(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], *, at: tuple[float, float],
    columns: int = 1, corner: Corner = "upper left",
) -> None:  # fmt: skip
    """Names beside the data; `at` is where its corner goes, in axes coordinates."""
    # names may begin with a low line, which a legend would hide: so they are put in afterwards
    made = ax.legend(
        handles, ["name"] * len(handles), loc=corner, bbox_to_anchor=at, ncols=columns,
        fontsize=TEXT, frameon=False, borderaxespad=0.0, borderpad=0.0, labelcolor=INK,
        handlelength=SAMPLE * 72 / TEXT, handletextpad=GAP * 72 / TEXT, labelspacing=0.32,
        columnspacing=1.6,
    )  # fmt: skip
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)


def legend_width(names: Sequence[str]) -> float:
    """Width of a legend with one column, inches."""
    return SAMPLE + GAP + max((text_width(name) for name in names), default=0.0)
