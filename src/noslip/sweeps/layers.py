"""Layers: which points, and which measures of them, a set of chunks holds.

A store grows by layers. The first holds all points of its design; each extension adds layers for
what is new, so that nothing is computed twice:

    more points      a layer with the boxes of the new design that the old one does not cover
    more measures    a layer of the same points with the new measures alone
    another try      a layer of points that failed, with other settings

A box is a product of rows of the factors. What a larger product has beyond a smaller one is at most
one box a factor: new rows of the first × all others; old rows of the first × new of the second × …
So a layer of 1e9 points is described by some rows. Within a layer points have positions; blocks of
as many positions each are the chunks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from noslip.sweeps.design import MOST_POINTS, Array, Design, Integers, factor_from_json

#: Rows of one factor: all up to a length, or those listed.
Rows = int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RowBox:
    """A product of rows of the factors, in row-major order."""

    rows: tuple[Integers, ...]

    @property
    def size(self) -> int:
        """Points."""
        return math.prod(len(rows) for rows in self.rows)

    def points(self, positions: Integers, shape: tuple[int, ...]) -> Integers:
        """Points of the design at some positions in the box."""
        digits = np.unravel_index(positions, tuple(len(rows) for rows in self.rows))
        chosen = tuple(rows[d] for rows, d in zip(self.rows, digits, strict=True))
        return np.asarray(np.ravel_multi_index(chosen, shape))

    def positions(self, digits: Sequence[Integers]) -> Integers:
        """Positions of points given by their rows; −1 for those that are not in the box."""
        places, inside = [], np.ones(len(digits[0]), dtype=bool)
        for rows, given in zip(self.rows, digits, strict=True):
            place = np.searchsorted(rows, given)
            safe = np.minimum(place, len(rows) - 1)
            inside &= rows[safe] == given
            places.append(np.where(inside, safe, 0))
        found = np.ravel_multi_index(tuple(places), tuple(len(rows) for rows in self.rows))
        return np.where(inside, found, -1)


@dataclass(frozen=True, eq=False)
class Layer:
    """A set of points with measures, computed with settings.

    Parameters
    ----------
    number : of the layer in its store.
    design : its points are numbered by.
    boxes : of its points; or `listed`, the points themselves, sorted.
    measures : texts of what is measured there.
    settings : that differ from those of the request.
    block : points of a chunk.
    adds_points : whether no earlier layer holds them.
    """

    number: int
    design: Design
    boxes: tuple[RowBox, ...]
    measures: tuple[str, ...]
    block: int
    listed: Integers | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    adds_points: bool = True

    @cached_property
    def size(self) -> int:
        """Points."""
        return len(self.listed) if self.listed is not None else sum(b.size for b in self.boxes)

    @property
    def num_blocks(self) -> int:
        """Chunks."""
        return -(-self.size // self.block)

    def positions_of_block(self, number: int) -> Integers:
        """Positions of the points of a chunk."""
        return np.arange(number * self.block, min((number + 1) * self.block, self.size))

    def points(self, positions: Integers) -> Integers:
        """Points of the layer's design at positions."""
        if self.listed is not None:
            return self.listed[positions]
        found = np.empty(len(positions), np.int64)
        first = 0
        for box in self.boxes:
            here = (positions >= first) & (positions < first + box.size)
            if here.any():
                found[here] = box.points(positions[here] - first, self.design.shape)
            first += box.size
        return found

    def positions(self, points: Integers) -> Integers:
        """Positions of points of the layer's design; −1 for those it does not hold."""
        if self.listed is not None:
            place = np.minimum(np.searchsorted(self.listed, points), len(self.listed) - 1)
            return np.where(self.listed[place] == points, place, -1)
        digits = self.design.digits(points)
        found, first = np.full(len(points), -1, np.int64), 0
        for box in self.boxes:
            inside = box.positions(digits)
            found = np.where(inside >= 0, first + inside, found)
            first += box.size
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain data that :func:`layer_from_json` reads."""
        data: dict[str, Any] = {
            "factors": [factor.to_json() for factor in self.design.factors],
            "measures": list(self.measures),
            "settings": dict(self.settings),
            "block": self.block,
            "adds_points": self.adds_points,
        }
        if self.listed is not None:
            return data | {"points": self.listed.tolist()}
        return data | {"boxes": [[_written(rows) for rows in box.rows] for box in self.boxes]}


def layer_from_json(number: int, data: Mapping[str, Any], template: Design) -> Layer:
    """The layer that was written as plain data.

    Parameters
    ----------
    number : of the layer.
    data : from :meth:`Layer.to_json`.
    template : with the conditions and constants of its design.
    """
    factors = tuple(factor_from_json(f, template.constants) for f in data["factors"])
    design = Design(factors, template.conditions, template.constants)
    listed, boxes = None, tuple[RowBox, ...]()
    if "points" in data:
        listed = _read(data["points"], design.size)
    else:
        boxes = tuple(_read_box(box, design.shape) for box in data["boxes"])
    made = Layer(
        number,
        design,
        boxes,
        tuple(data["measures"]),
        int(data["block"]),
        listed,
        dict(data["settings"]),
        bool(data["adds_points"]),
    )
    if not 1 <= made.block <= MOST_POINTS or not same_json(made.to_json(), data):
        raise ValueError(f"layer {number} is not as it was written")
    return made


def same_json(one: Any, other: Any) -> bool:
    """Whether two tables are the same text, where True is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _read_box(box: Sequence[Any], shape: tuple[int, ...]) -> RowBox:
    return RowBox(tuple(_read(rows, n) for rows, n in zip(box, shape, strict=True)))


def whole(design: Design) -> tuple[RowBox, ...]:
    """The one box with all points of a design."""
    return (RowBox(tuple(np.arange(n) for n in design.shape)),)


def row_maps(old: Design, new: Design) -> tuple[Integers, ...] | None:
    """New row of each old row, for each factor of the design.

    None if the new design does not hold all points of the old one, by the same names.
    """
    if [f.names for f in old.factors] != [f.names for f in new.factors]:
        return None
    maps = []
    for before, after in zip(old.factors, new.factors, strict=True):
        if len(after) < len(before):
            return None
        kept = np.arange(len(before))
        is_prefix = all(
            np.array_equal(before.rows(some), after.rows(some)) for some in _pieces(len(before))
        )
        if not is_prefix:
            table = after.rows(np.arange(len(after)))
            places = {row.tobytes(): k for k, row in enumerate(table)}
            rows = before.rows(kept)
            found = [places.get(row.tobytes(), -1) for row in rows]
            if -1 in found:
                return None
            kept = np.array(found, np.int64)
        maps.append(kept)
    return tuple(maps)


def _pieces(count: int, size: int = 1_000_000) -> list[Integers]:
    return [np.arange(first, min(first + size, count)) for first in range(0, count, size)]


def inverse(kept: Integers, length: int) -> Integers:
    """Old row of each new row; −1 for new ones."""
    found = np.full(length, -1, np.int64)
    found[kept] = np.arange(len(kept))
    return found


def new_boxes(maps: Sequence[Integers], new: Design) -> tuple[RowBox, ...]:
    """Boxes of a new design beyond an old one with the given row maps."""
    boxes = []
    for k, kept in enumerate(maps):
        fresh = np.setdiff1d(np.arange(new.shape[k]), kept)
        rows = [np.sort(m) for m in maps[:k]]
        rows += [fresh, *(np.arange(n) for n in new.shape[k + 1 :])]
        if fresh.size:
            boxes.append(RowBox(tuple(rows)))
    return tuple(boxes)


def old_boxes(maps: Sequence[Integers]) -> tuple[RowBox, ...]:
    """The points of an old design within the new one."""
    return (RowBox(tuple(np.sort(m) for m in maps)),)


def _written(rows: Integers) -> Any:
    """Rows as [first, end] where they follow each other, else as a list."""
    if len(rows) and len(rows) == rows[-1] - rows[0] + 1:
        return {"from": int(rows[0]), "to": int(rows[-1]) + 1}
    return rows.tolist()


def _read(rows: Any, length: int) -> Integers:
    """Rising numbers below a length; those of a range are not made before they are checked."""
    if isinstance(rows, dict):
        first, end = int(rows["from"]), int(rows["to"])
        if not 0 <= first < end <= length:
            raise ValueError(f"rows {first} to {end} of {length}")
        return np.arange(first, end)
    found = np.array(rows, np.int64)
    if (
        found.ndim != 1
        or not found.size
        or np.any(np.diff(found) < 1)
        or np.any((found < 0) | (found >= length))
    ):
        raise ValueError(f"rows of {length} that are not there, or not in their order")
    return found


def values_at(layer: Layer, positions: Integers) -> tuple[dict[str, Array], Integers]:
    """Values by name, and points, at positions of a layer."""
    points = layer.points(positions)
    return layer.design.values(points), points
