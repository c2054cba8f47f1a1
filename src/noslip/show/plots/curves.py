"""Curves with names and units, the panels they share, and the ranges their axes show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: NumberReader that differ by less than this part of their size are the same but for rounding.
ROUNDING = 1e-9
#: What is smaller than this in every unit is zero but for rounding.
NOTHING = 1e-13
#: Curves nearer than this part of the height of their panel cover each other: a third of a line.
COVERED = 0.004


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A named curve.

    Parameters
    ----------
    label : the model's own name.
    told : what the legend says instead, if anything else.
    x, y : (n,) values; what is not finite is left out.
    band : (n, 2) shaded from the first to the second, if any.
    color : of the palette by default, in the order of the curves.
    dashes : lengths of dashes and gaps; None for those that go with the color.
    dot : diameter of dots that are drawn instead of a line, points.
    """

    label: str
    x: Array
    y: Array
    band: Array | None = None
    color: str = ""
    dashes: tuple[float, ...] | None = None
    dot: float = 0.0
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """Curves of one quantity.

    Parameters
    ----------
    name, unit : of the ordinate.
    curves : at least one.
    x_name, x_unit : of the abscissa.
    log : draw sizes on a logarithmic ordinate.
    bottom, top : limits of the ordinate where they are not those of the curves.
    has_names : whether the curves are named beside the panel.
    marks_start : whether a dot shows where each curve begins.
    fills_width : whether the curves go from one side to the other, as over time.
    """

    name: str
    unit: str
    curves: tuple[Curve, ...]
    x_name: str = "time"
    x_unit: str = "s"
    log: bool = False
    bottom: float | None = None
    top: float | None = None
    has_names: bool = True
    marks_start: bool = False
    fills_width: bool = False

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
