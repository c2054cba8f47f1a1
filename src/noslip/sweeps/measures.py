"""Measures: numbers taken from each run of a sweep.

A measure is a text ``WORD:COLUMN`` or ``WORD:COLUMN:ARGUMENT``:

    final:platform.x    start:…    at:platform.x:2.5        at the end, the start, a time
    min:…  max:…        when_min:…  when_max:…              extremes over the samples, and when
    mean:…  rms:…                                           over time, by the trapezoidal rule
    history:…                                               all samples
    event:NAME          event:NAME:3    count:NAME          when an event occurs (first, third)
    gradient:platform.x:m                                   exact derivative of the final value

A member of the family says what it needs of a run and reduces a `RunView`, which looks the same for
one trajectory and for a batch in lanes.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Protocol

import numpy as np

from noslip import SimulationError
from noslip.base import IF_YOUR_OWN, Member, find_member, nearest, words_of
from noslip.sweeps.design import Array


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
    """A variable of the result: unit, and its dimension beyond those of the design.

    Parameters
    ----------
    unit : of its values.
    dimension : name of a further dimension, or "".
    coordinate : values along it.
    coordinate_unit : of them.
    description : for people.
    """

    unit: str
    dimension: str = ""
    coordinate: tuple[float, ...] = ()
    coordinate_unit: str = ""
    description: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value at one point."""
        return (len(self.coordinate),) if self.dimension else ()


class AbstractMeasure(Member, family="measure"):
    """A number, or a row of numbers, of a run.

    Parameters
    ----------
    text : as it was written, the name of its variable.
    column : of the run, or the name of an event.
    argument : behind the column, or "".
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

    Parameters
    ----------
    texts : as they are written.
    columns : what a run has, with units.
    events : names of its events.

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
    """Results of n points.

    Parameters
    ----------
    values : measure → (n, …).
    endings : (n,) places in `ENDINGS`.
    reasons : place of a point that failed → why.
    """

    values: dict[str, Array]
    endings: np.ndarray
    reasons: dict[int, str]

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
