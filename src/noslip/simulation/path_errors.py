"""`PathErrors`: how far a run is off the path it follows, and whether it is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noslip.base import Array

#: A run is lost that ends farther off than this part of the path's length ...
LOST = 0.01
#: ... and than so many times what it was off at the start.
WORSE = 2.0
#: Share of the samples, at the end, over which the final error is taken.
LAST = 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PathErrors:
    """Errors of what follows a path against its reference at the same time.

    Parameters
    ----------
    x, y : (n,) of the reference on its path, m.
    along, across, heading : (n,) ahead of the reference, m, to its left, m, turned against it, rad.
    length : of the path, m.
    """

    x: Array
    y: Array
    along: Array
    across: Array
    heading: Array
    length: float

    #: Columns of a trajectory with the reference on its path and these errors → their units.
    COLUMNS: ClassVar[dict[str, str]] = {
        "path.x": "m",
        "path.y": "m",
        "path.along_error": "m",
        "path.across_error": "m",
        "path.position_error": "m",
        "path.heading_error": "rad",
    }

    @property
    def distance(self) -> Array:
        """(n,) distances from the reference, m."""
        return np.hypot(self.along, self.across)

    @property
    def largest(self) -> float:
        """Largest distance from the reference, m."""
        return float(np.max(self.distance, initial=0.0))

    @property
    def final(self) -> float:
        """Largest distance from the reference in the last tenth of the run, m."""
        first = math.ceil((1 - LAST) * len(self.along)) - 1
        return float(np.max(self.distance[first:]))

    @property
    def lost(self) -> bool:
        """Whether the path was left: the run ends worse than it began, and far off."""
        begun = math.hypot(self.along[0], self.across[0])
        return not self.final <= max(LOST * self.length, WORSE * begun)

    @property
    def columns(self) -> dict[str, tuple[str, Array]]:
        """Reference and errors as columns of a trajectory: name → unit and values."""
        values = (self.x, self.y, self.along, self.across, self.distance, self.heading)
        return {
            name: (unit, column)
            for (name, unit), column in zip(self.COLUMNS.items(), values, strict=True)
        }

    def to_json(self) -> dict[str, float | bool]:
        """The errors in numbers."""
        return {
            "path_length": self.length,
            "path_error": self.largest,
            "path_error_final": math.hypot(self.along[-1], self.across[-1]),
            "heading_error": float(np.max(np.abs(self.heading))),
            "heading_error_final": float(self.heading[-1]),
            "lost": self.lost,
        }

    def text(self) -> str:
        """The errors in one line."""
        last = math.hypot(self.along[-1], self.across[-1])
        return (
            f"error {self.largest:.2e} m at most, {last:.2e} m and "
            f"{abs(self.heading[-1]):.2e} rad at the end{', lost' if self.lost else ''}"
        )
