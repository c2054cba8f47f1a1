"""Measures of a sweep: the numbers taken at each point, and the layers of points that have them.

**Measures: numbers taken from each run of a sweep.**

A measure is a text ``WORD:COLUMN`` or ``WORD:COLUMN:ARGUMENT``:

    final:platform.x    start:…    at:platform.x:2.5        at the end, the start, a time
    min:…  max:…        when_min:…  when_max:…              extremes over the samples, and when
    mean:…  rms:…                                           over time, by the trapezoidal rule
    history:…                                               all samples
    event:NAME          event:NAME:3    count:NAME          when an event occurs (first, third)
    gradient:platform.x:m                                   exact derivative of the final value

A member of the family says what it needs of a run and reduces a `RunView`, which looks the same for
one trajectory and for a batch in lanes.

**Layers: which points, and which measures of them, a set of chunks holds.**

A store grows by layers. The first holds all points of its design; each extension adds layers for
what is new, so that nothing is computed twice:

    more points      a layer with the boxes of the new design that the old one does not cover
    more measures    a layer of the same points with the new measures alone
    another try      a layer of points that failed, with other settings

A box is a product of rows of the factors. What a larger product has beyond a smaller one is at most
one box a factor: new rows of the first × all others; old rows of the first × new of the second × …
So a layer of 1e9 points is described by some rows. Within a layer points have positions; blocks of
as many positions each are the chunks.

**Sobol indices: which share of a result's variance is due to which of its inputs.**

With y a function of independent inputs x₁ … x_d,

    first order   S_i = Var(E[y | x_i]) / Var(y)        x_i alone
    total         T_i = E[Var(y | x_~i)] / Var(y)       x_i with all its interactions

On a full grid, with equal weights on its points, both are sums and exact for that grid. From a
sample of independent inputs S_i is estimated by conditional means in bins of equal counts, with
the variance that a mean over a bin has by chance taken off (Plischke, Borgonovo and Smith 2013);
T_i cannot be had from a plain sample and is left out.
"""

from __future__ import annotations

import abc
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from noslip import SimulationError
from noslip.base import IF_YOUR_OWN, Array, Member, find_member, nearest, words_of
from noslip.sweeps.design import MOST_POINTS, Design, Integers, factor_from_json


class RunView(Protocol):
    """View of n runs for measures."""

    @property
    def times(self) -> Array:
        """(ns,) of the samples, s."""

    def samples(self, column: str) -> Array:
        """(n, ns) values; nan after the end of a run."""

    def final(self, column: str) -> Array:
        """(n,) values where each run ended."""

    def event_times(self, name: str) -> Array:
        """(n, m) the first m times; nan beyond."""

    def event_counts(self, name: str) -> Array:
        """(n,) how often it occurred."""

    def gradient(self, column: str, name: str) -> Array:
        """(n,) derivative of the final value."""


@dataclass(frozen=True, slots=True)
class ResultVariable:
    """A variable of the result: unit, and its dimension beyond those of the design."""

    unit: str  #: unit of its values
    dimension: str = ""  #: name of a further dimension, or ""
    coordinate: tuple[float, ...] = ()  #: values along it
    coordinate_unit: str = ""  #: coordinate unit of them
    description: str = ""  #: text for people

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value at one point."""
        return (len(self.coordinate),) if self.dimension else ()


class AbstractMeasure(Member, family="measure"):
    """A number, or a row of numbers, of a run.

    Parameters
    ----------
    text : text of the measure as it was written, the name of its variable.
    column : column of the run, or the name of an event.
    argument : argument behind the column, or "".
    """

    __slots__ = ("argument", "column", "text")

    #: Whether the samples of a run are needed, or its final values alone.
    needs_samples: ClassVar[bool] = True
    #: What it is taken of: ``column`` or ``event``.
    subject: ClassVar[str] = "column"
    #: What is behind the column, for messages: "" nothing, in brackets if it may be left out.
    argument_word: ClassVar[str] = ""

    def __init__(self, text: str, column: str, argument: str = "") -> None:
        self.text, self.column, self.argument = text, column, argument

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """The variable it gives, from the unit of its column and the times of the samples."""
        return ResultVariable(unit)

    @abc.abstractmethod
    def of(self, view: RunView) -> Array:
        """(n,) or (n, k) values."""

    def extra_times(self) -> tuple[float, ...]:
        """Times that must be among the samples, s."""
        return ()

    def fault(self) -> str:
        """Fault of its argument; empty if there is none."""
        if self.argument and not self.argument_word:
            return f"'{self.argument}' behind the {self.subject} is not expected"
        if not self.argument and self.argument_word and not self.argument_word.startswith("["):
            return f"a {self.argument_word} is missing"
        return ""


class Final(AbstractMeasure):
    """Value at the end of the run."""

    __slots__ = ()
    word = "final"
    needs_samples = False

    def of(self, view: RunView) -> Array:
        """The final value."""
        return view.final(self.column)


class First(AbstractMeasure):
    """At the start."""

    __slots__ = ()
    word = "start"

    def of(self, view: RunView) -> Array:
        """The first sample."""
        return view.samples(self.column)[:, 0]


class AtTime(AbstractMeasure):
    """At a time; not a number if the run ended before."""

    __slots__ = ()
    word = "at"
    argument_word = "time"

    def extra_times(self) -> tuple[float, ...]:
        """The time."""
        return (float(self.argument),)

    def fault(self) -> str:
        """The time must be a number."""
        try:
            is_time = float(self.argument) >= 0
        except ValueError:
            is_time = False
        return "" if is_time else f"the time is '{self.argument}', not a number in s from 0 on"

    def of(self, view: RunView) -> Array:
        """The sample at that time."""
        place = int(np.argmin(np.abs(view.times - float(self.argument))))
        return view.samples(self.column)[:, place]


class Least(AbstractMeasure):
    """The least of the samples."""

    __slots__ = ()
    word = "min"

    def of(self, view: RunView) -> Array:
        """The minimum."""
        return np.fmin.reduce(view.samples(self.column), axis=1)


class Largest(AbstractMeasure):
    """The largest of the samples."""

    __slots__ = ()
    word = "max"

    def of(self, view: RunView) -> Array:
        """The maximum."""
        return np.fmax.reduce(view.samples(self.column), axis=1)


class WhenLeast(AbstractMeasure):
    """Time of the smallest sample."""

    __slots__ = ()
    word = "when_min"

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """A time."""
        return ResultVariable("s")

    def of(self, view: RunView) -> Array:
        """The time of the minimum."""
        return _when(view, -view.samples(self.column))


class WhenLargest(AbstractMeasure):
    """Time of the largest sample."""

    __slots__ = ()
    word = "when_max"

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """A time."""
        return ResultVariable("s")

    def of(self, view: RunView) -> Array:
        """The time of the maximum."""
        return _when(view, view.samples(self.column))


def _when(view: RunView, values: Array) -> Array:
    filled = np.where(np.isnan(values), -np.inf, values)
    found = view.times[np.argmax(filled, axis=1)]
    return np.where(np.isnan(values).all(axis=1), np.nan, found)


class Mean(AbstractMeasure):
    """Mean over time."""

    __slots__ = ()
    word = "mean"

    def of(self, view: RunView) -> Array:
        """The integral over the time it was taken over."""
        return _mean(view.times, view.samples(self.column))


class RootMeanSquare(AbstractMeasure):
    """Root of the mean square over time."""

    __slots__ = ()
    word = "rms"

    def of(self, view: RunView) -> Array:
        """The root."""
        return np.sqrt(_mean(view.times, view.samples(self.column) ** 2))


def _mean(times: Array, values: Array) -> Array:
    """Mean over time up to the last sample of each row, by the trapezoidal rule."""
    steps = np.diff(times)
    areas = 0.5 * (values[:, 1:] + values[:, :-1]) * steps
    there = ~np.isnan(areas)
    # row by row: sums over an axis of a table may depend on how many rows it has
    total = np.array([np.sum(row[is_there]) for row, is_there in zip(areas, there, strict=True)])
    lasts = np.array([np.sum(steps[is_there]) for is_there in there])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lasts > 0, total / lasts, values[:, 0])


class History(AbstractMeasure):
    """All samples."""

    __slots__ = ()
    word = "history"

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """Over time."""
        return ResultVariable(unit, "time", tuple(times.tolist()), "s")

    def of(self, view: RunView) -> Array:
        """The samples."""
        return view.samples(self.column)


class EventTime(AbstractMeasure):
    """Time of an event, of its first or a given occurrence; nan if it does not occur."""

    __slots__ = ()
    word = "event"
    needs_samples = False
    subject = "event"
    argument_word = "[number]"

    def fault(self) -> str:
        """The number must be one from 1 to 16."""
        is_right = not self.argument or (self.argument.isdigit() and 1 <= int(self.argument) <= 16)
        return "" if is_right else f"the number of the event is '{self.argument}', not 1 to 16"

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """A time."""
        return ResultVariable("s")

    def of(self, view: RunView) -> Array:
        """The time."""
        return view.event_times(self.column)[:, int(self.argument or 1) - 1]


class EventCount(AbstractMeasure):
    """Number of occurrences of an event."""

    __slots__ = ()
    word = "count"
    needs_samples = False
    subject = "event"

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """A number."""
        return ResultVariable("1")

    def of(self, view: RunView) -> Array:
        """The count."""
        return np.asarray(view.event_counts(self.column), dtype=float)


class FinalGradient(AbstractMeasure):
    """Exact derivative of the final value by a parameter, a start value, an input or a number."""

    __slots__ = ()
    word = "gradient"
    argument_word = "name"

    def variable(self, unit: str, times: Array) -> ResultVariable:
        """Unit of the column over that of the name."""
        return ResultVariable(unit, description=f"derivative of the final value by {self.argument}")

    def of(self, view: RunView) -> Array:
        """The derivative."""
        return view.gradient(self.column, self.argument)


def read_measures(
    texts: Sequence[str], columns: Mapping[str, str], events: Sequence[str]
) -> list[AbstractMeasure]:
    """Measures of runs, checked.

    Raises
    ------
    SimulationError : for the first that is not known, with the nearest name.
    """
    found = []
    for text in texts:
        word, colon, rest = (part.strip() for part in str(text).partition(":"))
        member = find_member(AbstractMeasure, word)
        place = f"measure '{text}'"
        words = words_of(AbstractMeasure)
        if member is None:
            fix = f"{nearest(word, words)}; {IF_YOUR_OWN}"
            if word in columns and not colon:
                fix = f"say which value: final:{word}, max:{word}, mean:{word}, …"
            raise SimulationError(f"there is no measure '{word}'", place, fix)
        column, _, argument = (part.strip() for part in rest.partition(":"))
        made: AbstractMeasure = member(str(text), column, argument)
        known = columns if made.subject == "column" else events
        if column not in known:
            fix = nearest(column, list(known))
            if made.subject == "event" and not events:
                fix = "declare it: --event NAME=EXPRESSION, or events={'name': 'expression'}"
            raise SimulationError(f"there is no {made.subject} '{column}'", place, fix)
        if fault := made.fault():
            behind = f":{made.argument_word}" if made.argument_word else ""
            raise SimulationError(fault, place, f"write {word}:{made.subject}{behind}")
        found.append(made)
    return found


def check_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Measures as they are written, none twice, at least one.

    Raises
    ------
    SimulationError : there is none, or one twice.
    """
    if isinstance(texts, str):
        raise SimulationError(
            f"measures is '{texts}'", "sweep", f"give a list: measures=['{texts}']"
        )
    given = tuple(str(text).strip() for text in texts)
    if not given:
        raise SimulationError(
            "nothing is measured",
            "measures of a sweep",
            "name at least one, as in final:base.x; on the command line --measure final:base.x",
        )
    for text in given:
        if given.count(text) > 1:
            raise SimulationError(f"measure '{text}' is given twice", "sweep", "leave one out")
    return given


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PointResults:
    """Results of n points."""

    values: dict[str, Array]  #: measure → (n, …)
    endings: np.ndarray  #: (n,) places in `ENDINGS`
    reasons: dict[int, str]  #: place of a point that failed → why

    def put(self, which: np.ndarray, others: PointResults) -> None:
        """Take the results of others as those of some points."""
        self.endings[which] = others.endings
        for measure, array in others.values.items():
            self.values[measure][which] = array
        self.reasons.update({int(which[k]): text for k, text in others.reasons.items()})


#: Variables that every sweep has.
ENDING, REASON = "ending", "reason"


class PointEnding(IntEnum):
    """How a point ended, as its code in a store; codes above `EXCLUDED` are failures."""

    NOT_RUN = 0
    FINISHED = 1
    EVENT = 2
    EXCLUDED = 3
    ERROR = 4
    STEP_TOO_SMALL = 5
    SINGULAR = 6
    NON_FINITE = 7
    MAX_STEPS = 8
    PROJECTION_FAILED = 9
    DOUBTFUL = 10
    CONTACTS = 11

    @property
    def words(self) -> str:
        """The ending as it is written."""
        return "not run" if self is PointEnding.NOT_RUN else self.name.lower()


#: How a point can end, in words.
ENDINGS: tuple[str, ...] = tuple(ending.words for ending in PointEnding)
NOT_RUN, FINISHED, EVENT, EXCLUDED, ERROR = list(PointEnding)[:5]
DOUBTFUL = PointEnding.DOUBTFUL


def is_failed(codes: np.ndarray) -> np.ndarray:
    """Whether endings are failures."""
    return codes >= ERROR


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
    """A set of points with measures, computed with settings."""

    number: int  #: number of the layer in its store
    design: Design  #: design that its points are numbered by
    boxes: tuple[RowBox, ...]  #: boxes of its points; or `listed`, the points themselves, sorted
    measures: tuple[str, ...]  #: texts of what is measured there
    block: int  #: points of a chunk
    listed: Integers | None = None
    #: settings that differ from those of the request
    settings: Mapping[str, Any] = field(default_factory=dict)
    adds_points: bool = True  #: whether no earlier layer holds them

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
    """The layer that was written as plain data."""
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


@dataclass(frozen=True, slots=True)
class SobolIndices:
    """Indices of one result, by input."""

    first: dict[str, float]  #: S_i
    total: dict[str, float]  #: T_i, or empty where the design does not give them

    @classmethod
    def of_grid(cls, names: tuple[str, ...], values: Array) -> SobolIndices | None:
        """Indices of values on a full grid, an axis for each name; None if they do not vary."""
        variance = float(np.var(values))
        if not np.isfinite(variance) or variance <= 0:
            return None
        axes = range(values.ndim)
        first, total = {}, {}
        for k, name in enumerate(names):
            others = tuple(j for j in axes if j != k)
            first[name] = float(np.var(values.mean(axis=others))) / variance
            total[name] = float(np.mean(np.var(values, axis=k))) / variance
        return cls(first, total)

    @classmethod
    def of_sample(cls, inputs: dict[str, Array], values: Array) -> SobolIndices | None:
        """First-order indices from a sample of independent inputs; None from too few points."""
        good = np.isfinite(values)
        values = values[good]
        count = len(values)
        variance = float(np.var(values)) if count else 0.0
        if count < 64 or variance <= 0:
            return None
        bins = int(np.clip(round(count ** (1 / 3)), 8, 64))
        first = {}
        for name, column in inputs.items():
            order = np.argsort(column[good], kind="stable")
            parts = np.array_split(values[order], bins)
            means = np.array([part.mean() for part in parts])
            sizes = np.array([len(part) for part in parts])
            within = np.array([part.var(ddof=1) for part in parts])
            between = float(np.sum(sizes * (means - values.mean()) ** 2) / count)
            chance = float(np.sum(within) / count)
            first[name] = max(0.0, (between - chance) / variance)
        return cls(first, {})
