"""Results of a sweep for the terminal and as JSON: each point, or the range of each measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from noslip.show.headlines import axis_label
from noslip.sweeps import PointEnding, StoreReader, point_values

#: Points of a design that is shown whole, and of one that is read for its statistics.
MOST_ROWS, MOST_READ = 20, 1_000_000
#: Digits of a number, and letters of the reason of a failure.
DIGITS, LETTERS = 6, 70


class SweepResults:
    """Results of a store, read once.

    Parameters
    ----------
    reader : reader of the store, complete or not.
    """

    def __init__(self, reader: StoreReader) -> None:
        self._data = reader.store.data
        self._size = reader.design.size
        points = np.arange(self._size if self._size <= MOST_READ else 0)
        variables = self._data["variables"]
        measures = reader.store.request.measures
        self.longer = [m for m in measures if variables[m]["dimension"]]
        self.inputs = reader.design.values(points)
        self.measures = {m: reader.read(m, points) for m in measures if m not in self.longer}
        self._endings = [PointEnding(code) for code in reader.endings(points).tolist()]
        self._reasons = reader.reasons(points) if self.is_small else []

    @property
    def is_small(self) -> bool:
        """Whether there are so few points that each is shown."""
        return self._size <= MOST_ROWS

    def unit(self, name: str) -> str:
        """Unit of what is varied or measured."""
        own = self._data["units"].get(name, "")
        return str(self._data["variables"].get(name, {}).get("unit", own))

    def lines(self) -> list[str]:
        """A row for each point of a small design, or the range of each measure."""
        rows = list(self._rows() if self.is_small else self._ranges())
        if not self.measures or len(rows) < 2:
            return []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = [[x.rjust(w) for x, w in zip(row, widths, strict=True)] for row in rows]
        for row, plain in zip(padded, rows, strict=True):  # texts start at the left
            row[-1] = plain[-1]
            if not self.is_small:
                row[0] = plain[0].ljust(widths[0])
        return ["  " + "  ".join(row).rstrip() for row in padded]

    def _rows(self) -> Iterator[list[str]]:
        columns = {**self.inputs, **self.measures}
        yield [*(axis_label(name, self.unit(name)) for name in columns), ""]
        for k, (ending, reason) in enumerate(zip(self._endings, self._reasons, strict=True)):
            said = (
                ""
                if ending == PointEnding.FINISHED
                else f"{ending.words}: {reason}".removesuffix(": ")
            )
            said = said if len(said) <= LETTERS else said[: LETTERS - 1] + "…"
            yield [*(_number(values[k]) for values in columns.values()), said]

    def _ranges(self) -> Iterator[list[str]]:
        yield ["", "least", "median", "largest", ""]
        for name, values in self.measures.items():
            there = np.flatnonzero(np.isfinite(values))
            if len(there):
                low, middle, high = np.quantile(values[there], [0.0, 0.5, 1.0])
                at = {
                    word: self._point(int(there[pick(values[there])]))
                    for word, pick in (("least", np.argmin), ("largest", np.argmax))
                }
                where = "" if low == high else "; ".join(f"{w} at {x}" for w, x in at.items())
                label = axis_label(name, self.unit(name))
                yield [label, _number(low), _number(middle), _number(high), where]

    def _point(self, k: int) -> str:
        values = point_values(self.inputs, k)
        shown = ", ".join(f"{name}={x:.4g}" for name, x in list(values.items())[:3])
        return shown + (", …" if len(values) > 3 else "")

    def to_json(self) -> dict[str, Any]:
        """Units, the points of a small design, and the range of each measure."""
        columns = {**self.inputs, **self.measures}
        statistics = {}
        for name, values in self.measures.items():
            there = values[np.isfinite(values)]
            if len(there):
                low, middle, high = np.quantile(there, [0.0, 0.5, 1.0]).tolist()
                statistics[name] = {"least": low, "median": middle, "largest": high}
        found: dict[str, Any] = {
            "units": {name: self.unit(name) for name in columns},
            "statistics": statistics,
        }
        if self.is_small:
            found["results"] = [
                point_values(columns, k) | {"ending": ending.words, "reason": reason}
                for k, (ending, reason) in enumerate(zip(self._endings, self._reasons, strict=True))
            ]
        return found


def _number(value: float) -> str:
    """A number of the table; a dash where a point has none."""
    return f"{value + 0.0:.{DIGITS}g}" if np.isfinite(value) else "–"
