"""Style of figures: ink, colors, sizes, ticks and legends, without any setting of pyplot's.

Curves have the six colors of :mod:`noslip.scene.colors`; further ones repeat them with dashes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator

from noslip import SimulationError
from noslip.base import nearest
from noslip.scene import INK as INK
from noslip.scene import PALETTE as PALETTE
from noslip.show.axis_units import raised

Corner = Literal["upper left", "lower left", "lower right"]

DASHES: tuple[tuple[float, ...], ...] = ((), (4.0, 1.6), (1.2, 1.3), (5.0, 1.5, 1.2, 1.5))
#: Widths of figures, inches: a column of two, the whole page of a paper, half of a slide, which is
#: enlarged.
WIDTHS = {"column": 3.5, "page": 7.2, "slide": 5.4}
TEXT, TICKS, TITLE = 8.0, 7.5, 9.0
LINE, THIN, HAIR = 1.3, 0.9, 0.6
#: Height of a line of text, inches.
LEADING = 1.32 * TEXT / 72
#: Length of the line before a name in a legend, and the gap after it, inches.
SAMPLE, GAP = 0.24, 0.07
#: Between columns of a legend, in heights of the text.
COLUMN_GAP = 1.6
#: Around everything, and from an abscissa down to its name, inches.
EDGE, BELOW_AXIS = 0.08, 0.22
#: Length of a tick, and from it to its number, points.
TICK = 2.5
#: Opacity of the grid.
FAINT = 0.13


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureStyle:
    """Style of a figure by its purpose: size, scale, and fonts.

    Parameters
    ----------
    size : one of `WIDTHS`.
    scale : of text, lines and the figure as a whole.
    fonts : families, the first that has a letter; none for those of matplotlib.
    is_gray : whether curves differ without their colors, by dashes.
    """

    size: str
    scale: float = 1.0
    fonts: tuple[str, ...] = ()
    is_gray: bool = False


#: Word → style. STIX is the font of the equations.
STYLES = {
    "screen": FigureStyle(size="page"),
    "paper": FigureStyle(size="column", fonts=("STIXGeneral", "DejaVu Sans"), is_gray=True),
    "slide": FigureStyle(size="slide", scale=2.0),
}


def style_named(word: str, size: str) -> FigureStyle:
    """The style of a word; without one, a figure of a size."""
    if not word:
        return FigureStyle(size=size)
    if word not in STYLES:
        raise SimulationError(f"there is no style '{word}'", "plot", nearest(str(word), STYLES))
    return STYLES[word]


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


def tick_texts(low: float, high: float, exponent: int, count: int) -> list[str]:
    """Labels of those ticks."""
    near = 1e-9 * (high - low)
    ticks = [
        x for x in linear_locator(count).tick_values(low, high) if low - near <= x <= high + near
    ]
    return Decimals(exponent).format_ticks(ticks) or [""]


def linear_locator(count: int) -> MaxNLocator:
    """Round numbers, at most `count` steps."""
    return MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])


def log_locator(count: int) -> LogLocator:
    """Powers of ten, few enough to be read."""
    return LogLocator(numticks=count)


def legend_width(names: Sequence[str]) -> float:
    """Width of a legend with one column, inches."""
    return SAMPLE + GAP + max((text_width(name) for name in names), default=0.0)
