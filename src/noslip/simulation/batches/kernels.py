"""The arithmetic of steps on vectors of lanes, between evaluations: kernels of DOP853 and RK4.

Every lane has its own time t, step h and error. Letters are those of ``dop853``: stage s is at
t + c_s h and y + h Σ_j a_sj k_j; K holds the rates k_j one after the other, each with ``block``
rows; F holds the terms of the dense output, each with n rows, one for each state. Conditions are
words of −1 and 0. Sums are taken in a fixed order and fused as written, so that a lane's bits
depend on nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from noslip.engines.lanes import Value
from noslip.engines.row_kernels import RowKernel, compile_kernels
from noslip.simulation import dop853
from noslip.simulation.dop853 import NUM_DENSE_TERMS, NUM_STAGES, NUM_STAGES_DENSE
from noslip.simulation.rules import RK4_ROWS, RK4_TIMES

RELATIVE, COUNT = range(2)  # rows of "settings": the relative tolerance, the number of states


@functools.cache
def kernels(lanes: int) -> tuple[Mapping[str, int], Any]:
    """Addresses of all kernels for vectors of lanes, by name; kept as long as the process lives."""
    return compile_kernels(list(_all_kernels(lanes)))


def stage_names(method: str) -> list[str]:
    """Kernels of the stages of a method after the first, in order."""
    if method == "rk4":
        return [f"rk4_stage{s}" for s in range(1, 4)]
    return [f"dop853_stage{s}" for s in range(1, NUM_STAGES)]


def dense_names() -> list[str]:
    """Kernels of the stages that only the dense output of DOP853 needs."""
    return [f"dop853_stage{s}" for s in range(NUM_STAGES + 1, NUM_STAGES_DENSE)]


def _all_kernels(lanes: int) -> Iterator[RowKernel]:
    for s in (*range(1, NUM_STAGES), *range(NUM_STAGES + 1, NUM_STAGES_DENSE)):
        yield _stage(f"dop853_stage{s}", _nonzero(dop853.A[s]), float(dop853.C[s]), lanes)
    for s, (row, time) in enumerate(zip(RK4_ROWS, RK4_TIMES, strict=True), 1):
        yield _stage("rk4_end" if s == 4 else f"rk4_stage{s}", row, time, lanes)
    yield _dop853_end(lanes)
    yield _dense(lanes)
    yield _cubic(lanes)
    yield _interpolate(lanes)
    yield _is_rough(lanes)
    yield _blend(lanes)
    yield _is_finite(lanes)
    yield _is_healthy(lanes)
    yield _norms(lanes)
    yield _euler(lanes)
    yield _second_norm(lanes)


def _nonzero(row: np.ndarray) -> dict[int, float]:
    return {int(j): float(row[j]) for j in np.flatnonzero(row)}


def _weighted(w: RowKernel, weights: Mapping[int, float], rates: Mapping[int, Value]) -> Value:
    """Σ_j a_j k_j in the order of the weights."""
    total: Value | None = None
    for j, weight in weights.items():
        total = rates[j] * weight if total is None else w.fma(rates[j], weight, total)
    assert total is not None
    return total


def _stage(name: str, weights: Mapping[int, float], c: float, lanes: int) -> RowKernel:
    """State of a stage and its time, which never passes ``last``."""
    w = RowKernel(name, ("y", "h", "K", "t", "last", "out", "time"), lanes)
    h, last = w.load("h"), w.load("last")
    time = w.fma(h, c, w.load("t"))
    w.store("time", w.where(time < last, time, last))
    w.begin_rows()
    rates = {j: w.load_row("K", j) for j in weights}
    w.store_row("out", w.fma(h, _weighted(w, weights, rates), w.load_row("y")))
    w.end_rows()
    return w


def _scale(w: RowKernel, relative: Value, y: Value, end: Value) -> Value:
    """Tolerance of one state over a step."""
    return w.fma(relative, w.larger(w.abs(y), w.abs(end)), w.load_row("absolute"))


def _dop853_end(lanes: int) -> RowKernel:
    """State at a step's end, and the norm h ‖e5‖² / √(n (‖e5‖² + ‖e3‖²/100)) of its error."""
    w = RowKernel("dop853_end", ("y", "h", "K", "absolute", "settings", "out", "error"), lanes)
    b, e5, e3 = _nonzero(dop853.B), _nonzero(dop853.E5), _nonzero(dop853.E3)
    h, relative, count = w.load("h"), w.load("settings", RELATIVE), w.load("settings", COUNT)
    sum5, sum3 = w.begin_rows(0.0, 0.0)
    rates = {j: w.load_row("K", j) for j in sorted(b.keys() | e5.keys() | e3.keys())}
    y = w.load_row("y")
    end = w.fma(h, _weighted(w, b, rates), y)
    w.store_row("out", end)
    share = 1.0 / _scale(w, relative, y, end)
    error5, error3 = _weighted(w, e5, rates) * share, _weighted(w, e3, rates) * share
    sum5, sum3 = w.end_rows(w.fma(error5, error5, sum5), w.fma(error3, error3, sum3))
    total = w.fma(sum3, 0.01, sum5)
    norm = h * sum5 / w.sqrt(count * total)
    w.store("error", w.where(total.equals(0.0), 0.0, norm))
    return w


def _cubic_terms(w: RowKernel, h: Value) -> None:
    """Terms F0 to F2."""
    first, last = w.load_row("K"), w.load_row("K", NUM_STAGES)
    change = w.load_row("end") - w.load_row("y")
    w.store_row("F", change)
    w.store_row("F", w.fma(h, first, -change), 1, "n")
    w.store_row("F", w.fma(-h, first + last, 2.0 * change), 2, "n")


def _dense(lanes: int) -> RowKernel:
    """All terms of DOP853's dense output."""
    w = RowKernel("dop853_dense", ("y", "end", "h", "K", "F"), lanes)
    h = w.load("h")
    w.begin_rows()
    _cubic_terms(w, h)
    weights = [_nonzero(row) for row in dop853.D]
    rates = {j: w.load_row("K", j) for j in sorted(set().union(*weights))}
    for r, row in enumerate(weights):
        w.store_row("F", h * _weighted(w, row, rates), 3 + r, "n")
    w.end_rows()
    return w


def _cubic(lanes: int) -> RowKernel:
    """The dense output of RK4: a cubic, whose higher terms are zero."""
    w = RowKernel("cubic", ("y", "end", "h", "K", "F"), lanes)
    h = w.load("h")
    w.begin_rows()
    _cubic_terms(w, h)
    for r in range(3, NUM_DENSE_TERMS):
        w.store_row("F", w.of(0.0, "double"), r, "n")
    w.end_rows()
    return w


def _interpolate(lanes: int) -> RowKernel:
    """State at t + θh: y + θ(F0 + (1 − θ)(F1 + θ(F2 + …)))."""
    w = RowKernel("interpolate", ("y", "F", "theta", "out"), lanes)
    theta = w.load("theta")
    rest = 1.0 - theta
    w.begin_rows()
    total = w.load_row("F", NUM_DENSE_TERMS - 1, "n") * theta
    for r in range(NUM_DENSE_TERMS - 2, -1, -1):
        total = (total + w.load_row("F", r, "n")) * (theta if r % 2 == 0 else rest)
    w.store_row("out", w.load_row("y") + total)
    w.end_rows()
    return w


def _is_rough(lanes: int) -> RowKernel:
    """Whether dense output u misses the tolerance, from h u' − h f(u) at θ, or is nan."""
    names = ("F", "theta", "h", "rates", "y", "end", "absolute", "settings", "out")
    w = RowKernel("is_rough", names, lanes)
    theta, h, relative = w.load("theta"), w.load("h"), w.load("settings", RELATIVE)
    rest, count = 1.0 - theta, w.load("settings", COUNT)
    (squares,) = w.begin_rows(0.0)
    # the factors are θ and 1 − θ in turn, their derivatives 1 and −1
    total = slope = w.load_row("F", NUM_DENSE_TERMS - 1, "n")
    total = total * theta
    for r in range(NUM_DENSE_TERMS - 2, -1, -1):
        total = total + w.load_row("F", r, "n")
        slope = w.fma(slope, theta, total) if r % 2 == 0 else w.fma(slope, rest, -total)
        total = total * (theta if r % 2 == 0 else rest)
    scale = _scale(w, relative, w.load_row("y"), w.load_row("end"))
    share = dop853.DEFECT_SHARE * w.fma(-h, w.load_row("rates"), slope) / scale
    (squares,) = w.end_rows(w.fma(share, share, squares))
    is_good = squares <= count
    w.store("out", w.as_words(is_good ^ 1))
    return w


def _blend(lanes: int) -> RowKernel:
    """Replace rows in lanes where a condition holds."""
    w = RowKernel("blend", ("condition", "source", "target"), lanes)
    condition = w.loaded_condition("condition")
    w.begin_rows()
    source, target = w.load_row("source"), w.load_row("target")
    w.store_row("target", w.where(condition, source, target))
    w.end_rows()
    return w


def _is_finite(lanes: int) -> RowKernel:
    """Whether all rows are finite."""
    w = RowKernel("is_finite", ("x", "out"), lanes)
    (total,) = w.begin_rows(0.0)
    x = w.load_row("x")
    (total,) = w.end_rows(total + (x - x))
    w.store("out", w.as_words(total.equals(0.0)))
    return w


def _is_healthy(lanes: int) -> RowKernel:
    """Whether a condition holds and all health values are on the far side of the floors."""
    w = RowKernel("is_healthy", ("health", "floors", "condition"), lanes)
    before = w.loaded_condition("condition")
    (count,) = w.begin_rows(0.0)
    floor = w.load_row("floors")
    is_met = w.load_row("health") * floor >= floor * floor
    (count,) = w.end_rows(w.where(is_met, count, count + 1.0))
    w.store("condition", w.as_words(before & count.equals(0.0)))
    return w


def _norms(lanes: int) -> RowKernel:
    """Squares of the state and of its rate over the tolerances, summed: two rows."""
    w = RowKernel("norms", ("y", "K", "absolute", "settings", "out"), lanes)
    relative = w.load("settings", RELATIVE)
    state, rate = w.begin_rows(0.0, 0.0)
    y = w.load_row("y")
    share = 1.0 / _scale(w, relative, y, y)
    a, b = y * share, w.load_row("K") * share
    state, rate = w.end_rows(w.fma(a, a, state), w.fma(b, b, rate))
    w.store("out", state)
    w.store("out", rate, 1)
    return w


def _euler(lanes: int) -> RowKernel:
    """An explicit Euler step, y + h k₀."""
    w = RowKernel("euler", ("y", "h", "K", "out"), lanes)
    h = w.load("h")
    w.begin_rows()
    w.store_row("out", w.fma(h, w.load_row("K"), w.load_row("y")))
    w.end_rows()
    return w


def _second_norm(lanes: int) -> RowKernel:
    """Squares of k₁ − k₀ over the tolerances, summed."""
    w = RowKernel("second_norm", ("y", "K", "absolute", "settings", "out"), lanes)
    relative = w.load("settings", RELATIVE)
    (total,) = w.begin_rows(0.0)
    y = w.load_row("y")
    share = (w.load_row("K", 1) - w.load_row("K")) / _scale(w, relative, y, y)
    (total,) = w.end_rows(w.fma(share, share, total))
    w.store("out", total)
    return w
