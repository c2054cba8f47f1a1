"""Sheets: figures as plain data, with everything placed before anything is drawn.

A sheet has frames (axes with curves, areas, ticks, names) at known places, in inches from its lower
left corner. From one sheet come a figure of matplotlib's, to be changed and shown
(:mod:`~noslip.show.plots.figures`), and a PNG or an SVG element that are painted stroke by stroke,
several times as fast (:mod:`~noslip.show.plots.painting`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.scene import INK
from noslip.show.plots.curves import Array
from noslip.show.plots.style import Corner, Decimals, Powers, linear_locator, log_locator


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stroke:
    """A line through points in the units of its axes.

    Parameters
    ----------
    x, y : (n,) points; a line is broken where they are not finite.
    width : points.
    dashes : lengths of dashes and gaps, in widths of the line; none for a solid one.
    dot : diameter of the dots that are drawn instead of a line, points.
    level : what has a higher one is drawn later.
    """

    x: Array
    y: Array
    color: str
    width: float = 1.0
    dashes: tuple[float, ...] = ()
    dot: float = 0.0
    level: float = 2.0
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Area:
    """Polygons, each (k, 2), in the units of their axes.

    Parameters
    ----------
    fill, edge : opacity of inside and outline.
    width : of the outline, points.
    level : what has a higher one is drawn later.
    """

    polygons: tuple[Array, ...]
    color: str = INK
    fill: float
    edge: float = 0.0
    width: float = 0.0
    level: float = 1.0


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
    """The legend of a frame.

    Parameters
    ----------
    names : of the samples.
    samples : what is drawn before each name, as it is drawn in the frame.
    at : of its corner, in widths and heights of the frame.
    """

    names: tuple[str, ...]
    samples: tuple[Stroke | Area, ...]
    at: tuple[float, float]
    corner: Corner = "upper left"
    columns: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """Axes at their place.

    Parameters
    ----------
    box : left, bottom, width and height, inches.
    x_limits, y_limits : least and largest value in view.
    x_ticks, y_ticks : where numbers and lines of the grid are.
    x_label, y_label : names of the axes; empty for none.
    room : from the left side to the far side of the name of the ordinate, inches.
    strokes, areas : what is drawn in it.
    names : legend, if any.
    has_numbers : whether the abscissa has numbers.
    is_map : whether both axes have the same scale.
    """

    box: tuple[float, float, float, float]
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    x_ticks: Ticks
    y_ticks: Ticks
    x_label: str
    y_label: str
    room: float
    strokes: tuple[Stroke, ...]
    areas: tuple[Area, ...] = ()
    names: Names | None = None
    has_numbers: bool = True
    is_map: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sheet:
    """Frames on paper.

    Parameters
    ----------
    width, height : inches.
    frames : from top to bottom, or row by row.
    title : above them, at `left` inches.
    shares_x : whether all frames have the abscissa of the first.
    """

    width: float
    height: float
    frames: tuple[Frame, ...]
    title: str = ""
    left: float = 0.0
    shares_x: bool = False


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
