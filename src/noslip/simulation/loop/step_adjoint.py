"""Discrete adjoint of the loop: reverse-mode derivatives through recorded steps.

A step of a Runge–Kutta method with a projection P at its end is

    (1)  Y_j = y + h Σ_i a_ji k_i,   k_j = F(t_j, Y_j, b_j, p),   y⁺ = P(y + h Σ_j b_j k_j, b, p)

with as many corrections P as it takes. Let λ⁺ be the derivative of a number by y⁺. Then, from the
last stage to the first,

    (2)  λ = P_yᵀ λ⁺
    (3)  l_j = h b_j λ + h Σ_i a_ij F_y(Y_i)ᵀ l_i            i > j
    (4)  λ ← λ + Σ_j F_y(Y_j)ᵀ l_j                           derivative by y
    (5)  Σ_j F_p(Y_j)ᵀ l_j + P_pᵀ λ⁺                         derivative by p, and by b likewise

which is exact for the steps as they were taken, and costs the same for any number of parameters.
Stages are computed again from the recorded states, by the loop's own functions.

Pulls are vector-Jacobian products:

    pull          f(t, [y; l], b, p) → [F_yᵀl; F_bᵀl; F_pᵀl]
    pull_project  the same of P

A base input that a table drives is c₀ r³ + c₁ r² + c₂ r + c₃: its derivative goes to these.
"""

from __future__ import annotations

import functools
from ctypes import CFUNCTYPE, c_void_p
from dataclasses import dataclass
from typing import Any

import numpy as np

from noslip.engines import Buffer, ElementType, Given, Value, stored_machine_code
from noslip.simulation.loop import dop853
from noslip.simulation.loop.dop853 import NUM_STAGES
from noslip.simulation.loop.loop import sources_digest
from noslip.simulation.loop.rules import EPS, MAX_PROJECTIONS, RK4, RK4_ROWS, RK4_TIMES
from noslip.simulation.loop.steps import (
    STAGE_RANGES,
    STAGES,
    B,
    evaluate,
    find_inputs,
    just_below,
    project,
    state_at_end,
    take_stages,
    weighted,
)
from noslip.simulation.loop.writer import LoopWriter, Shape

# What the adjoint sweep needs besides the record of the run: addresses, then sizes and a number.
_ADDRESSES = (
    # functions
    *("pull", "pull_project"),
    # λ; derivatives by base inputs, by the coefficients of tables and by parameters
    *("weights", "by_base", "by_coefficients", "by_parameters"),
    # where each step began, and where the last one ended
    *("step_times", "step_states"),
)
_SIZES = ("count",)
_REALS = ("begin",)
PULL = np.dtype(
    [(name, np.int64) for name in (*_ADDRESSES, *_SIZES)] + [(name, np.float64) for name in _REALS]
)
_CALL = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """Sizes of derivatives: by base inputs (all or none) and by parameters; whether P has one."""

    num_base: int
    num_parameters: int
    has_projection: bool


@functools.lru_cache(maxsize=32)
def adjoint_code(shape: Shape, pull: Pull) -> tuple[Any, int, Any]:
    """``void step_back(record, pulls, work)`` compiled, words of work, and what keeps it alive."""
    name = f"adjoint {shape} {pull} {sources_digest()}"
    engine = stored_machine_code(lambda: print_adjoint(shape, pull), name=name)
    address = engine.get_function_address("step_back")
    return _CALL(address), _AdjointWriter(shape, pull).w.f.work_size, engine


class _AdjointWriter:
    """Writer of the adjoint step: a loop's writer, and the arrays of the adjoint sweep."""

    def __init__(self, shape: Shape, pull: Pull) -> None:
        w = self.w = LoopWriter(shape)
        self.pull, f, n = pull, w.f, shape.ny
        names = (*_ADDRESSES, *_SIZES, *_REALS)
        self.given: dict[str, Value] = {}
        for k, name in enumerate(names):
            kind = (
                ElementType.PLACE
                if name in _ADDRESSES
                else ElementType.WHOLE
                if name in _SIZES
                else ElementType.REAL
            )
            f.head.append(f"  %pulls_{name}_at = getelementptr i64, ptr %pulls, i64 {k}")
            f.head.append(f"  %pulls_{name} = load {kind}, ptr %pulls_{name}_at, align 8")
            self.given[name] = Value(f, f"%pulls_{name}", kind, 1)
        self.point = f.array(2 * n)
        self.pulled = f.array(n + pull.num_base + pull.num_parameters)
        self.stages = f.array(NUM_STAGES * n)
        self.corrected = f.array(MAX_PROJECTIONS * n)

    def array(self, name: str) -> Buffer:
        """Vector that the record of the adjoint sweep points to."""
        return Buffer(self.w.f, self.given[name])


def print_adjoint(shape: Shape, pull: Pull) -> str:
    """LLVM text of the function."""
    b = _AdjointWriter(shape, pull)
    w, f, s, n = b.w, b.w.f, b.w.s, shape.ny
    times, states = Given(f, b.given["step_times"]), b.array("step_states")
    first = w.vector("first_segments", ElementType.WHOLE)
    for k in range(shape.num_tables):
        w.segments[k] = first[k]
    s.evaluations, s.begin = f.whole(0), b.given["begin"]
    s.n = b.given["count"] - 1
    with f.repeat() as loop:
        loop.leave(s.n < 0)
        s.t, s.t_new = times[s.n], times[s.n + 1]
        w.copy(states.part(s.n * n), w.y, n)
        _step_back(b)
        s.n = s.n - 1
    body = f.body("step_back", ("setup", "pulls", "work"))
    text = [body, *w.subroutines.values(), *sorted(f.declared)]
    return "\n".join(text)


def _step_back(b: _AdjointWriter) -> None:
    """(1) to (5) for one step, from w.y at s.t."""
    w, f, s, n = b.w, b.w.f, b.w.s, b.w.shape.ny
    is_rk4 = w.shape.method == RK4
    s.h_try, s.last = s.t_new - s.t, s.t_new
    if w.shape.has_knots:
        s.last = f.where(_is_knot(w, s.t_new), just_below(w, s.t_new), s.t_new)
        _choose_segments(w)
    evaluate(w, s.t, w.y, w.K(0))
    take_stages(w, s.t, s.h_try, s.last, STAGE_RANGES[w.shape.method])
    if b.pull.has_projection:
        state_at_end(w, s.h_try, w.end)
        _project_back(b)
    count = 4 if is_rk4 else NUM_STAGES
    for i in f.rows(count * n):
        b.stages[i] = f.real(0.0)
    _spread(b, RK4_ROWS[3] if is_rk4 else B, b.array("weights"))
    weights = b.array("weights")
    for j in reversed(range(count)):
        time, state = s.t, w.y
        row = {} if not j else RK4_ROWS[j - 1] if is_rk4 else STAGES[j]
        if j:
            for i in f.rows(n):
                w.stage[i] = f.fma(s.h_try, weighted(w, row, i), w.y[i])
            c = float(RK4_TIMES[j - 1] if is_rk4 else dop853.C[j])
            time, state = f.least(f.fma(c, s.h_try, s.t), s.last), w.stage
        _pull(b, "pull", time, state, b.stages.part(j * n))
        if j:
            _spread(b, row, b.pulled)
        for i in f.rows(n):
            weights[i] = weights[i] + b.pulled[i]


def _is_knot(w: LoopWriter, t: Value) -> Value:
    """Whether steps end on a time before the end of the run."""
    f, s = w.f, w.s
    knots, count = w.vector("knots"), w.vector("knot_offsets", ElementType.WHOLE)[1]
    s.low, s.high = f.whole(0), count
    with f.repeat() as search:
        search.leave(s.low >= s.high)
        middle = (s.low + s.high) >> 1
        is_below = knots[middle] < t
        s.low, s.high = f.where(is_below, middle + 1, s.low), f.where(is_below, s.high, middle)
    s.is_knot = f.truth(False)
    with f.when(s.low < count):
        s.is_knot = knots[s.low].equals(t) & (t < w.number("end_time"))
    return s.is_knot


def _choose_segments(w: LoopWriter) -> None:
    """Select the segment of every table that applies in the step."""
    f, s = w.f, w.s
    end = w.number("end_time")
    s.from_time = s.t + 10.0 * EPS * f.most(f.abs(s.t), 1e-8 * (end - s.begin))
    starts = w.vector("segment_starts")
    firsts, ends = (
        w.vector("first_segments", ElementType.WHOLE),
        w.vector("end_segments", ElementType.WHOLE),
    )
    for k in range(w.shape.num_tables):
        with f.repeat() as on:
            on.leave(w.segments[k] + 1 >= ends[k])
            on.leave(starts[w.segments[k] + 1] > s.from_time)
            w.segments[k] = w.segments[k] + 1
        with f.repeat() as back:
            back.leave(w.segments[k] <= firsts[k])
            back.leave(starts[w.segments[k]] <= s.from_time)
            w.segments[k] = w.segments[k] - 1


def _note(b: _AdjointWriter, t: Value) -> None:
    """(5): add what a pull gives by base inputs, tables and parameters."""
    w, f, n, num_base = b.w, b.w.f, b.w.shape.ny, b.pull.num_base
    base, pulled = b.array("by_base"), b.pulled.part(n)
    for k in f.each(num_base):
        base[k] = base[k] + pulled[k]
    if num_base:
        starts, by = w.vector("segment_starts"), Given(f, b.given["by_coefficients"])
        for k in range(w.shape.num_tables):
            segment = w.segments[k]
            along = pulled[
                f.load(f.offset(w.number("targets"), k, ElementType.WHOLE), ElementType.WHOLE)
            ]
            r = t - starts[segment]
            for power in (3, 2, 1, 0):
                by[segment * 4 + power] = by[segment * 4 + power] + along
                along = along * r
    found, by_parameters = pulled.part(num_base), b.array("by_parameters")
    for k in f.each(b.pull.num_parameters):
        by_parameters[k] = by_parameters[k] + found[k]


def _pull(b: _AdjointWriter, function: str, t: Value, state: Buffer, weights: Buffer) -> None:
    """Vector-Jacobian products Fᵀl at a stage into b.pulled, accumulated by `_note`."""
    w, n = b.w, b.w.shape.ny
    w.copy(state, b.point, n)
    w.copy(weights, b.point.part(n), n)
    find_inputs(w, t, state)
    w.time[0] = t
    places = [w.time, b.point, w.base, w.parameters("rates"), b.pulled]
    w.f.invoke(b.given[function].name, [array.at(0) for array in places])
    _note(b, t)


def _spread(b: _AdjointWriter, row: dict[int, float], source: Buffer) -> None:
    """Add h a_j times a vector to the weights of the stages that a row of the method combines."""
    f, n = b.w.f, b.w.shape.ny
    for j, weight in row.items():
        share, stage = b.w.s.h_try * weight, b.stages.part(j * n)
        for i in f.rows(n):
            stage[i] = f.fma(share, source[i], stage[i])


def _project_back(b: _AdjointWriter) -> None:
    """(2) for each correction of the projection at the end of a step."""
    w, f, s, n = b.w, b.w.f, b.w.s, b.w.shape.ny
    find_inputs(w, s.last, w.end)
    w.copy(w.end, w.next, n)
    s.count_back = project(w, s.last, w.next)
    s.k = f.whole(0)
    with f.repeat() as forth:
        forth.leave(s.k >= s.count_back)
        state = b.corrected.part(s.k * n)
        with f.when(s.k.equals(0)):
            w.copy(w.end, state, n)
        with f.when(s.k > 0):
            w.copy(w.newton, state, w.shape.nx)
            w.copy(w.end.part(w.shape.nx), state.part(w.shape.nx), w.shape.nz)
        w.call("project", s.last, state, w.inputs, w.newton)
        s.k = s.k + 1
    weights = b.array("weights")
    s.k = s.count_back - 1
    with f.repeat() as back:
        back.leave(s.k < 0)
        _pull(b, "pull_project", s.last, b.corrected.part(s.k * n), weights)
        w.copy(b.pulled, weights, n)
        s.k = s.k - 1
