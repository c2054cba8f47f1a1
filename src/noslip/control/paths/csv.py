"""Way-points from a file: a header ``x,y``, then one point a line, in m."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from noslip.control.paths.base import Point, place
from noslip.control.paths.splines import Spline
from noslip.errors import SimulationError

_EXAMPLE = "write the header x,y and then one point a line, in m, such as 0.5,1.2"


def path_from_csv(file: str | Path) -> Spline:
    """The spline through the way-points of a `file`: a header ``x,y``, then a point a line, in m.

    Raises
    ------
    SimulationError : the file cannot be read; it names the line.
    """
    file = Path(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SimulationError(
            f"the way-points cannot be read: {error.strerror}",
            str(file),
            "give the name of a CSV file with the columns x and y",
        ) from None
    except UnicodeDecodeError as error:
        raise SimulationError(
            f"the way-points are not text: byte {error.start} is not UTF-8",
            str(file),
            "save the file as CSV with the encoding UTF-8",
        ) from None
    rows = csv.reader(text.splitlines())
    header = next(rows, [])
    if [name.strip() for name in header] != ["x", "y"]:
        raise SimulationError(
            f"the header is '{','.join(header)}', expected 'x,y'", f"{file}, line 1", _EXAMPLE
        )
    points: list[Point] = []
    for row in rows:
        where = f"{file}, line {rows.line_num}"
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        points.append(_point(row, where))
        if len(points) > 1 and points[-1] == points[-2]:
            raise SimulationError(
                f"the way-point {place(points[-1])} is the same as the one before it",
                where,
                "remove the line",
            )
    if len(points) < 2:
        raise SimulationError(
            f"the file has {len(points)} way-points, at least 2 are needed", str(file), _EXAMPLE
        )
    return Spline(points=tuple(points))


def _point(row: list[str], where: str) -> Point:
    if len(row) != 2:
        raise SimulationError(f"the line has {len(row)} values, expected 2", where, _EXAMPLE)
    values = []
    for name, cell in zip("xy", row, strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise SimulationError(
                f"{name} is '{cell.strip()}', which is not a finite number", where, _EXAMPLE
            )
        values.append(value)
    return values[0], values[1]
