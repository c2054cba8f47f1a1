"""Sheets: figures as plain data, with curves, ranges of axes and one style.

**Style of figures: ink, colors, sizes, ticks and legends, without any setting of pyplot's.**

Curves have the six colors of :mod:`noslip.scene.colors`; further ones repeat them with dashes.

**Curves with names and units, the panels they share, and the ranges their axes show.**

**Sheets: figures as plain data, with everything placed before anything is drawn.**

A sheet has frames (axes with curves, areas, ticks, names) at known places, in inches from its lower
left corner. From one sheet come a figure of matplotlib's, to be changed and shown
(:mod:`~noslip.show.plots.painting`), and a PNG or an SVG element that are painted stroke by stroke,
several times as fast (:mod:`~noslip.show.plots.painting`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator

from noslip import SimulationError
from noslip.base import Array, nearest
from noslip.scene import INK as INK
from noslip.scene import PALETTE as PALETTE
from noslip.show.headlines import raised

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
    """Style of a figure by its purpose: size, scale, and fonts."""

    size: str  #: one of `WIDTHS`
    scale: float = 1.0  #: scale of text, lines and the figure as a whole
    #: families, the first that has a letter; none for those of matplotlib
    fonts: tuple[str, ...] = ()
    is_gray: bool = False  #: whether curves differ without their colors, by dashes


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


#: NumberReader that differ by less than this part of their size are the same but for rounding.
ROUNDING = 1e-9
#: What is smaller than this in every unit is zero but for rounding.
NOTHING = 1e-13
#: Curves nearer than this part of the height of their panel cover each other: a third of a line.
COVERED = 0.004


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A named curve."""

    label: str  #: the model's own name
    #: x, y: (n,) values; what is not finite is left out
    x: Array
    y: Array
    band: Array | None = None  #: (n, 2) shaded from the first to the second, if any
    color: str = ""  #: color of the palette by default, in the order of the curves
    #: lengths of dashes and gaps; None for those that go with the color
    dashes: tuple[float, ...] | None = None
    dot: float = 0.0  #: diameter of dots that are drawn instead of a line, points
    told: str = ""  #: text of the legend, if it is not the name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Curves of one quantity."""

    #: name, unit: name and unit of the ordinate
    name: str
    unit: str
    curves: tuple[Curve, ...]  #: curves, at least one
    #: x_name, x_unit: name and unit of the abscissa
    x_name: str = "time"
    x_unit: str = "s"
    log: bool = False  #: whether sizes are drawn on a logarithmic ordinate
    #: bottom, top: limits of the ordinate where they are not those of the curves
    bottom: float | None = None
    top: float | None = None
    has_names: bool = True  #: whether the curves are named beside the panel
    marks_start: bool = False  #: whether a dot shows where each curve begins
    fills_width: bool = False  #: whether the curves go from one side to the other, as over time

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its curves for the legend."""
        return tuple(c.told or c.label for c in self.curves) if self.has_names else ()

    def drawn(self, y: Array) -> Array:
        """Ordinates as they are drawn: sizes on a logarithmic axis, where zero has no place."""
        if not self.log:
            return np.asarray(y, dtype=float)
        size = np.abs(y)
        return np.where(size > 0, size, np.nan)

    def twins(self) -> dict[int, tuple[int, str]]:
        """Curves that lie on an earlier one → which, and "=" (but for rounding) or "≈"."""
        low, high = self.limits()
        height = float(np.log10(high / low)) if self.log else high - low
        found: dict[int, tuple[int, str]] = {}
        for k, curve in enumerate(self.curves):
            for first in range(k):
                if first in found:
                    continue
                apart = self._distance(self.curves[first], curve)
                if apart <= COVERED * height:
                    # a panel is as high as its curves spread, and so is what rounding is beside
                    found[k] = (first, "=" if apart <= ROUNDING * height else "≈")
                    break
        return found

    def _distance(self, one: Curve, other: Curve) -> float:
        """The most by which two lines are apart; infinite where they have different points."""
        if one.dot or other.dot or one.x.shape != other.x.shape:
            return np.inf
        a, b = self.drawn(one.y), self.drawn(other.y)
        inside = np.isfinite(a)
        if not inside.any() or not np.array_equal(inside, np.isfinite(b)):
            return np.inf
        if not np.allclose(one.x, other.x, rtol=ROUNDING, atol=NOTHING, equal_nan=True):
            return np.inf
        a, b = a[inside], b[inside]
        return float(np.max(np.abs(np.log10(a / b) if self.log else a - b)))

    def limits(self) -> tuple[float, float]:
        """Least and largest ordinate, with room above and below."""
        parts = [self.drawn(c.y) for c in self.curves]
        parts += [self.drawn(c.band.ravel()) for c in self.curves if c.band is not None]
        found = np.concatenate([part[np.isfinite(part)] for part in parts])
        if self.log:
            # a few samples that are zero by chance are not worth decades of empty paper
            ends = np.quantile(found, [0.05, 1.0]) if found.size else np.array([1e-16, 1.0])
            low, high = 10.0 ** np.floor(np.log10(ends[0])), 10.0 ** np.ceil(np.log10(ends[1]))
            return float(low), float(max(high, 10 * low))
        low, high = _spread(found)
        margin = 0.06 * (high - low)
        return (
            low - margin if self.bottom is None else self.bottom,
            high + margin if self.top is None else self.top,
        )

    def x_limits(self) -> tuple[float, float]:
        """Least and largest abscissa."""
        every = np.concatenate([c.x[np.isfinite(c.x)] for c in self.curves])
        low, high = _spread(every)
        # time fills the whole width, other quantities turn within it
        fills = self.fills_width or self.x_name == "time"
        margin = 0.0 if fills else 0.05 * (high - low)
        return low - margin, high + margin


def _spread(values: Array) -> tuple[float, float]:
    """Least and largest value; around a value that stays the same, a range to see it in."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    size = max(abs(low), abs(high))
    if size < NOTHING:
        return -1.0, 1.0
    if high - low < ROUNDING * size:
        return low - 0.1 * size, high + 0.1 * size
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stroke:
    """A line through points in the units of its axes."""

    #: x, y: (n,) points; a line is broken where they are not finite
    x: Array
    y: Array
    color: str
    width: float = 1.0  #: points
    #: lengths of dashes and gaps, in widths of the line; none for a solid one
    dashes: tuple[float, ...] = ()
    dot: float = 0.0  #: diameter of the dots that are drawn instead of a line, points
    level: float = 2.0  #: order of drawing: a higher level is drawn later
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Area:
    """Polygons, each (k, 2), in the units of their axes."""

    polygons: tuple[Array, ...]
    color: str = INK
    #: fill, edge: opacity of inside and outline
    fill: float
    edge: float = 0.0
    width: float = 0.0  #: width of the outline, points
    level: float = 1.0  #: order of drawing: a higher level is drawn later


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ticks:
    """Ticks of an axis: at most `count` steps, or powers of ten; numbers count 10 to `exponent`."""

    count: int
    exponent: int = 0
    log: bool = False

    def between(self, low: float, high: float) -> list[tuple[float, str]]:
        """Places and texts of those in view."""
        if self.log:
            places = log_locator(self.count).tick_values(low, high)
            texts = Powers().format_ticks(list(places))
            near = 1e-9 * low
        else:
            places = linear_locator(self.count).tick_values(low, high)
            texts = Decimals(self.exponent).format_ticks(list(places))
            near = 1e-9 * (high - low)
        pairs = zip(map(float, places), texts, strict=True)
        return [(x, text) for x, text in pairs if low - near <= x <= high + near]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Names:
    """The legend of a frame."""

    names: tuple[str, ...]  #: names of the samples
    samples: tuple[Stroke | Area, ...]  #: sample before each name, as it is drawn in the frame
    at: tuple[float, float]  #: position of its corner, in widths and heights of the frame
    corner: Corner = "upper left"
    columns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """Axes at their place."""

    #: position of the left and lower side, width and height, inches
    box: tuple[float, float, float, float]
    #: x_limits, y_limits: smallest and largest value in view
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    #: x_ticks, y_ticks: positions of numbers and lines of the grid
    x_ticks: Ticks
    y_ticks: Ticks
    #: x_label, y_label: names of the axes; empty for none
    x_label: str
    y_label: str
    room: float  #: distance from the left side to the far side of the name of the ordinate, inches
    #: strokes, areas: curves and areas that are drawn in it
    strokes: tuple[Stroke, ...]
    areas: tuple[Area, ...] = ()
    names: Names | None = None  #: legend, if any
    has_numbers: bool = True  #: whether the abscissa has numbers
    is_map: bool = False  #: whether both axes have the same scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sheet:
    """Frames on paper."""

    #: width, height: inches
    width: float
    height: float
    frames: tuple[Frame, ...]  #: frames from top to bottom, or row by row
    title: str = ""  #: title above them, at `left` inches
    left: float = 0.0
    shares_x: bool = False  #: whether all frames have the abscissa of the first


def band_polygons(x: Array, band: Array) -> tuple[Array, ...]:
    """Polygons between the two sides (n, 2) of a band, one for each part that is finite."""
    inside = np.all(np.isfinite(band), axis=1) & np.isfinite(x)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    found = []
    for first, last in ends.reshape(-1, 2):
        at, (low, high) = x[first:last], band[first:last].T
        if last - first > 1:
            found.append(np.column_stack([np.append(at, at[::-1]), np.append(low, high[::-1])]))
    return tuple(found)
