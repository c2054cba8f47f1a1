"""Samples: the next one, recording, and states within a step."""

from __future__ import annotations

from collections.abc import Iterator

from noslip.engines import Buffer, Value
from noslip.simulation.loop.dense import ask_roughness, state_within
from noslip.simulation.loop.projection import settle
from noslip.simulation.loop.rates import find_inputs
from noslip.simulation.loop.writer import LoopWriter
from noslip.simulation.rules import ACCEPTED, NON_FINITE


def next_sample(w: LoopWriter) -> Value:
    """Time of the next sample; infinity after the last one."""
    return w.vector("sample_times")[w.s.filled]


def record(w: LoopWriter, t: Value, y: Buffer) -> None:
    """Record a sample: time, state and the inputs found, or columns of them."""
    s, shape = w.s, w.shape
    if shape.is_batch:
        _record_columns(w, t, y)
    else:
        w.vector("recorded_times")[s.filled] = t
        _keep(w, "recorded_states", y, shape.ny)
        _keep(w, "recorded_inputs", w.inputs, shape.num_inputs)
    s.filled = s.filled + 1


def _keep(w: LoopWriter, name: str, x: Buffer, count: int) -> None:
    """Copy a vector of the only lane to a row of a table."""
    if count:
        row = Buffer(w.f, w.f.offset(w.number(name), w.s.filled * count))
        w.copy(x, row, count)


def _record_columns(w: LoopWriter, t: Value, y: Buffer) -> None:
    """Record column values, or their minima and maxima."""
    f, s, shape, count = w.f, w.s, w.shape, w.number("num_columns")
    find_columns(w, t, y)
    for k in each_column(w):
        value, at = w.values[k], s.index * count + k
        for word in ("minimum", "maximum"):
            if word in shape.keeps:
                table = w.vector(word)
                before = table[at]
                is_new = value < before if word == "minimum" else value > before
                table[at] = f.where(is_new, value, before)
        if "samples" in shape.keeps:
            row = s.index * w.number("num_samples") + s.filled
            w.vector("samples")[row * count + k] = value


def each_column(w: LoopWriter) -> Iterator[Value]:
    """Loop over the indices of the columns, at run time."""
    if w.shape.num_columns:
        yield from w.f.count(0, w.number("num_columns"))


def find_columns(w: LoopWriter, t: Value, y: Buffer) -> None:
    """Column values with the inputs found, into w.values."""
    w.call("columns", t, y, w.inputs, w.values)


def record_samples_here(w: LoopWriter) -> None:
    """Record the samples at the time of the current state."""
    f, s = w.f, w.s
    with f.repeat() as loop:
        loop.leave(next_sample(w) > s.t)
        if w.shape.is_batch:
            # where these speeds fail, a sample is left to those that follow
            loop.leave(s.unhealthy >= 0)
        find_inputs(w, s.t, w.y)
        record(w, s.t, w.y)


def record_within(w: LoopWriter, t: Value, h: Value, t_end: Value) -> None:
    """Record the samples of a step before a time; s.verdict is left an ending where that fails."""
    f, s = w.f, w.s
    with f.when(next_sample(w) < t_end):
        ask_roughness(w, t, h)
        with f.repeat() as loop:
            time = next_sample(w)
            loop.leave(time >= t_end)
            find_state(w, t, h, (time - t) / h, time)
            loop.leave(~s.verdict.equals(ACCEPTED))
            record(w, time, w.point)


def find_state(w: LoopWriter, t: Value, h: Value, theta: Value, time: Value) -> None:
    """State at θ of a step, which is at a time, into w.point; s.verdict where that fails."""
    f, s = w.f, w.s
    state_within(w, t, h, theta)
    s.is_state = w.all_finite(w.point, w.shape.ny)
    s.verdict = f.where(s.is_state, s.verdict, NON_FINITE)
    with f.when(s.is_state):
        corrections = settle(w, time, w.point.blended())
        s.verdict = f.where(corrections < 0, f.whole(0) - corrections, s.verdict)
