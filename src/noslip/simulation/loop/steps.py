"""Steps of the integration loop: stages, errors, samples; random numbers of updates.

**Philox4x32-10, a counter-based generator of random numbers, in NumPy and in the loop.**

**Philox4x32-10, a counter-based generator of random numbers [SalmonMoraesDrorShaw2011].**

Four words of 32 bits follow from a counter of four words and a key of two, by ten rounds of

    (1)  (c₀, c₁, c₂, c₃) ← (hi(M₁ c₂) ⊕ c₁ ⊕ k₀, lo(M₁ c₂), hi(M₀ c₀) ⊕ c₃ ⊕ k₁, lo(M₀ c₀))

and k ← k + W between them. There is no state: a number is known from where it is used. The key is
the seed, the counter is (sample, channel, run). The loop has the same operations in native code, so
that all targets draw the same integers; this one is for checks and for what Python draws itself.

**One step: rates, projection, size, trial and error, and states within it.**
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from noslip.engines import Block, Buffer, ElementType, Flow, Value
from noslip.simulation.loop import dop853, rules
from noslip.simulation.loop.dop853 import (
    DEFECT_AT,
    DEFECT_SHARE,
    NUM_DENSE_TERMS,
    NUM_STAGES,
    NUM_STAGES_DENSE,
)
from noslip.simulation.loop.rules import (
    ACCEPTED,
    APPROACH,
    ASTRAY,
    END_ROW,
    MAX_PROJECTIONS,
    NEAR_FLOOR,
    NON_FINITE,
    PROJECTED_ROW,
    PROJECTION_FAILED,
    RETRY,
    RK4,
    RK4_ROWS,
    RK4_TIMES,
    ROUNDING,
    SINGLE_ROUNDING,
    SINGULAR,
    STAGE_FLOOR,
    SURELY,
    TOO_FAR,
)
from noslip.simulation.loop.writer import LoopWriter, once

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
BUMPS = 0x9E3779B9, 0xBB67AE85
WORD = 0xFFFFFFFF


def words(counter: ArrayLike, key: ArrayLike) -> np.ndarray:
    """(…, 4) words of 32 bits by (1)."""
    c = [np.asarray(part, np.uint64) for part in np.moveaxis(np.asarray(counter), -1, 0)]
    k = [int(part) for part in np.asarray(key)]
    m, low, up = [np.uint64(x) for x in MULTIPLIERS], np.uint64(WORD), np.uint64(32)
    for _ in range(ROUNDS):
        first, second = m[0] * c[0], m[1] * c[2]
        c = [
            (second >> up) ^ c[1] ^ np.uint64(k[0]),
            second & low,
            (first >> up) ^ c[3] ^ np.uint64(k[1]),
            first & low,
        ]
        k = [(x + bump) & WORD for x, bump in zip(k, BUMPS, strict=True)]
    return np.stack(c, axis=-1)


def uniforms(seed: int, run: ArrayLike, channel: ArrayLike, sample: ArrayLike) -> np.ndarray:
    """(…, 2) numbers between 0 and 1, neither of them, of 52 bits.

    Parameters
    ----------
    seed : whole number, 64 bits of which count.
    run, channel, sample : whole numbers from 0 on.
    """
    run, channel, sample = np.broadcast_arrays(
        *(np.asarray(x, np.uint64) for x in (run, channel, sample))
    )
    low, up = np.uint64(WORD), np.uint64(32)
    counter = np.stack([sample & low, channel & low, run & low, run >> up], axis=-1)
    w = words(counter, (seed & WORD, seed >> 32 & WORD))
    high, rest = w[..., 0::2], w[..., 1::2]
    return ((high << np.uint64(20)) + (rest >> np.uint64(12)) + 0.5) * 2.0**-52


def normals(seed: int, run: ArrayLike, channel: ArrayLike, sample: ArrayLike) -> np.ndarray:
    """(…,) numbers of a normal distribution with variance 1, as `uniforms`, by Box and Muller."""
    u = uniforms(seed, run, channel, sample)
    return np.asarray(np.sqrt(-2 * np.log(u[..., 0])) * np.cos(2 * np.pi * u[..., 1]))


def draw_noise(w: LoopWriter) -> None:
    """Two uniform numbers for each channel, behind the base inputs, for the update that is due."""
    f, s = w.f, w.s
    sample = s.updates + f.widen(w.number("first_update"), f.lanes)
    run = s.index + f.widen(w.number("first_run"), f.lanes)
    seed = f.widen(w.number("seed"), f.lanes)
    for k, value in enumerate(written_uniforms(f, seed, run, sample, w.shape.num_noise)):
        w.base[w.shape.num_inputs + k] = value


def written_uniforms(
    f: Flow, seed: Value, run: Value, sample: Value, channels: int
) -> Iterator[Value]:
    """The numbers of :func:`uniforms`, two for each channel, as code writes them."""
    key = _both(f, "and", seed, WORD), _both(f, "lshr", seed, 32)
    run_words = _both(f, "and", run, WORD), _both(f, "lshr", run, 32)
    for channel in range(channels):
        counter = [_both(f, "and", sample, WORD), f.whole(channel), *run_words]
        words = _words(f, counter, key)
        yield from (_uniform(f, *words[2 * k : 2 * k + 2]) for k in range(2))


def _words(f: Flow, c: list[Value], key: tuple[Value, Value]) -> list[Value]:
    """Four words of a counter."""
    k0, k1 = key
    for number in range(ROUNDS):
        first = _both(f, "mul", c[0], MULTIPLIERS[0])
        second = _both(f, "mul", c[2], MULTIPLIERS[1])
        c = [
            _both(f, "xor", _both(f, "xor", _both(f, "lshr", second, 32), c[1]), k0),
            _both(f, "and", second, WORD),
            _both(f, "xor", _both(f, "xor", _both(f, "lshr", first, 32), c[3]), k1),
            _both(f, "and", first, WORD),
        ]
        if number < ROUNDS - 1:
            k0, k1 = (
                _both(f, "and", k + bump, WORD) for k, bump in zip((k0, k1), BUMPS, strict=True)
            )
    return c


def _uniform(f: Flow, high: Value, low: Value) -> Value:
    """A number between 0 and 1 of 52 bits of two words."""
    whole = _both(f, "shl", high, 20) + _both(f, "lshr", low, 12)
    real = f.to_real(whole)
    return (real + 0.5) * 2.0**-52


def _both(f: Flow, operation: str, a: Value, b: Value | int) -> Value:
    """A bitwise or integer operation in every lane."""
    other = f.widen(f.of(b, ElementType.WHOLE), a.width)
    return f.emit(f"{operation} {a.typed}, {other.name}", ElementType.WHOLE, a.width)


def find_inputs(w: LoopWriter, t: Value, y: Buffer) -> None:
    """Inputs at (t, y) and the rates of the law's states, into w.inputs."""
    f, shape = w.f, w.shape
    for k in range(shape.num_tables):
        segment = w.segments[k]
        c, starts = w.vector("coefficients"), w.vector("segment_starts")
        r = t - starts[segment]
        c0, c1, c2, c3 = (c[segment * 4 + power] for power in range(4))
        value = f.fma(f.fma(f.fma(c0, r, c1), r, c2), r, c3)
        target = f.load(f.offset(w.number("targets"), k, ElementType.WHOLE), ElementType.WHOLE)
        w.base[target] = value
    if shape.has_generator:
        w.call("generator", t, y, w.base, w.inputs)


def evaluate(w: LoopWriter, t: Value, y: Buffer, out: Buffer) -> Buffer:
    """Rates [ẋ; ż] at (t, y) into out; returns the array of the health values."""
    find_inputs(w, t, y)
    nz = w.shape.nz
    if not w.is_subroutine:
        w.s.evaluations = w.s.evaluations + 1
    if w.f.target.on_stack:
        # rows of K have no room for the health values
        w.call("rates", t, y, w.inputs, w.rates)
        w.copy(w.rates, out, w.shape.nx)
        w.copy(w.inputs.part(w.shape.num_inputs), out.part(w.shape.nx), nz)
        return w.rates.part(w.shape.nx)
    w.call("rates", t, y, w.inputs, out)
    behind = out.part(w.shape.nx)
    if not nz:
        return behind
    # the function has put the health values where ż goes
    w.copy(behind, w.health, w.shape.num_health)
    w.copy(w.inputs.part(w.shape.num_inputs), behind, nz)
    return w.health


def take_sides(w: LoopWriter, health: Buffer) -> None:
    """Give every floor the sign that its health value has now."""
    f, known = w.f, w.shape.floors
    if known:
        for k, floor in enumerate(known):
            w.sides[k] = f.copysign(f.real(floor), health[k])
        return
    floors = w.vector("floors")
    for place in f.each(w.shape.num_health):
        w.sides[place] = f.copysign(floors[place], health[place])


def is_healthy(w: LoopWriter, health: Buffer, share: float) -> Value:
    """Whether all health values are beyond a share of their floors; nan is not."""
    f, s = w.f, w.s
    s.is_well = f.truth(True)
    for k in f.each(w.shape.num_health):
        floor = w.sides[k]
        s.is_well = s.is_well & (health[k] * floor >= share * floor * floor)
    return s.is_well


def first_unhealthy(w: LoopWriter, health: Buffer) -> Value:
    """Index of the first health value that is nearer to zero than its floor, or −1."""
    f, s = w.f, w.s
    s.found = f.whole(-1)
    for k in f.each(w.shape.num_health):
        floor = w.sides[k]
        is_well = health[k] * floor >= floor * floor
        s.found = f.where((s.found >= 0) | is_well, s.found, f.of(k, ElementType.WHOLE))
    return s.found


def enter_segments(w: LoopWriter) -> None:
    """Select the segment of every table that applies from the time of the lane on."""
    f, s, shape = w.f, w.s, w.shape
    starts, ends = w.vector("segment_starts"), w.vector("end_segments", ElementType.WHOLE)
    for k in range(shape.num_tables):
        after = ends[table_set(w) * shape.num_tables + k]
        with f.repeat() as loop:
            following = w.segments[k] + 1
            loop.leave(following >= after)
            loop.leave(starts[following] > s.t + s.smallest)
            w.segments[k] = following


def table_set(w: LoopWriter) -> Value:
    """Index of the set of tables that a lane's trajectory uses."""
    if not w.shape.is_batch:
        return w.f.whole(0)
    return w.vector("table_sets", ElementType.WHOLE)[w.s.index]


def update_generator(w: LoopWriter) -> None:
    """Update the states of a sampled law at each update time up to now."""
    f, s, nx, nz = w.f, w.s, w.shape.nx, w.shape.nz
    times = w.vector("update_times")
    with f.repeat() as loop:
        loop.leave(s.updates >= w.number("num_updates"))
        due = times[s.updates]
        loop.leave(due > s.t + s.smallest)
        # what was due before this segment began was done then
        with f.when(due >= s.begin - s.smallest):
            find_inputs(w, s.t, w.y)
            if w.shape.num_noise:
                draw_noise(w)
            w.call("update", s.t, w.y, w.base, w.point)
            w.copy(w.point, w.y.part(nx), nz)
        s.updates = s.updates + 1


def project(w: LoopWriter, t: Value, x: Buffer) -> Value:
    """Project x on the constraints with the inputs found; number of corrections.

    Or −PROJECTION_FAILED where they do not converge, −NON_FINITE where they are not finite.
    """
    if w.shape.is_period:
        return _correct(w, t, x)
    w.s.corrections = w.subroutine(newton, t, x)
    return w.s.corrections


def _correct(w: LoopWriter, t: Value, x: Buffer) -> Value:
    """One step of Newton's method; the next fixed step corrects what it leaves."""
    f, nx = w.f, w.shape.nx
    w.call("project", t, x, w.inputs, w.newton)
    is_well = (w.newton[nx] <= ASTRAY) & w.f.all_finite(w.newton, nx)
    w.copy(w.newton, x, nx)
    return f.where(is_well, f.whole(1), -PROJECTION_FAILED)


def newton(w: LoopWriter, t: Value, x: Buffer) -> Value:
    """Newton's method, at most MAX_PROJECTIONS steps of it."""
    f, s, nx = w.f, w.s, w.shape.nx
    limit = w.number("projection")
    s.largest, s.residual = f.real(1.0), f.real(np.inf)
    s.corrections = f.whole(0)
    for i in f.rows(nx):
        s.largest = f.most(s.largest, f.largest(f.abs(x[i])))
    with f.repeat() as loop:
        w.call("project", t, x, w.inputs, w.newton)
        residual, before = w.newton[nx], s.residual
        # Newton's method squares a small residual; one that no longer halves is the rounding of
        # large coordinates, such as the angle of a wheel after many turns
        share = SINGLE_ROUNDING if (f.target.number == ElementType.SINGLE) else ROUNDING
        is_rounding = (before < 2.0 * residual) & (2.0 * residual <= share * s.largest)
        loop.leave((residual <= limit) | ((s.corrections > 2) & is_rounding))
        is_well = w.f.all_finite(w.newton, nx)
        s.corrections = f.where(is_well, s.corrections, -NON_FINITE)
        loop.leave(~is_well)
        w.copy(w.newton, x, nx)
        s.residual, s.corrections = residual, s.corrections + 1
        loop.leave(residual * residual <= SURELY * limit)
        is_vain = s.corrections >= MAX_PROJECTIONS
        s.corrections = f.where(is_vain, -PROJECTION_FAILED, s.corrections)
        loop.leave(is_vain)
    return s.corrections


def settle(w: LoopWriter, t: Value, y: Buffer) -> Value:
    """Project a reported state and find its inputs; as `project`."""
    f, s = w.f, w.s
    find_inputs(w, t, y)
    if not w.shape.has_projection:
        return f.whole(0)
    corrections = project(w, t, y)
    if w.shape.has_generator:
        with f.when(corrections > 0):
            find_inputs(w, t, y)
    return s.corrections


def nonzero(row: np.ndarray) -> dict[int, float]:
    """Weights by column."""
    return {int(j): float(row[j]) for j in np.flatnonzero(row)}


#: Weights of the stages, of the end and of two errors, by the rows of K that they combine.
STAGES = [nonzero(row) for row in dop853.A]
B, E5, E3 = nonzero(dop853.B), nonzero(dop853.E5), nonzero(dop853.E3)


#: By method: stages of a step after the first, and terms of its dense output.
STAGE_RANGES = {rules.DOP853: range(1, NUM_STAGES), RK4: range(1, 4)}
NUM_TERMS = {rules.DOP853: NUM_DENSE_TERMS, RK4: 3}


def next_row(w: LoopWriter) -> Buffer:
    """Row of K with the rates at w.next."""
    is_projected = w.shape.has_projection and not w.shape.is_fused
    return w.K(PROJECTED_ROW if is_projected else END_ROW)


def weighted(w: LoopWriter, weights: dict[int, float], i: Block) -> Value:
    """Σ_j a_j k_j."""
    total: Value | None = None
    for j, a in weights.items():
        k = w.K(j).fresh(i) if j == max(weights) else w.K(j)[i]
        total = k * a if total is None else w.f.fma(k, a, total)
    assert total is not None
    return total


def take_stages(w: LoopWriter, t: Value, h: Value, last: Value, which: range) -> Value:
    """Rates of stages into their rows of K, none later than last; whether all are healthy.

    Where they are not, the step comes near a singular place, where rates mean nothing.
    """
    first, after = w.f.of(which.start, ElementType.WHOLE), w.f.of(which.stop, ElementType.WHOLE)
    return w.subroutine(stages, t, h, last, first, after, evaluations=len(which))


def stages(w: LoopWriter, t: Value, h: Value, last: Value, first: Value, after: Value) -> Value:
    """The stages from the first up to one."""
    f, s = w.f, w.s
    s.is_near, s.share = f.truth(True), f.real(0.0)
    is_rk4 = w.shape.method == RK4
    weights = (
        {k: RK4_ROWS[k - 1] for k in range(1, 4)}
        if is_rk4
        else {k: STAGES[k] for k in range(1, NUM_STAGES_DENSE) if k != NUM_STAGES}
    )
    for stage in f.count(first, after):
        if f.target.is_thread and not is_rk4:
            _combine(w, stage, h)
        else:
            for k in f.choose(stage, list(weights)):
                s.share = f.real(float(RK4_TIMES[k - 1] if is_rk4 else dop853.C[k]))
                for i in f.rows(w.shape.ny):
                    w.stage[i] = f.fma(h, weighted(w, weights[k], i), w.y[i])
        health = evaluate(w, f.least(f.fma(s.share, h, t), last), w.stage, w.K(stage))
        s.is_near = s.is_near & is_healthy(w, health, STAGE_FLOOR)
    return s.is_near


def _combine(w: LoopWriter, stage: Value, h: Value) -> None:
    """State y + h Σ_j a_j k_j of a stage of DOP853 into w.stage, its time into s.share.

    As a loop over rows of K, with weights from a table: written out for every stage, this would be
    more code than the rates, and a GPU would wait for instructions more than for anything else.
    """
    f, s, n, number = w.f, w.s, w.shape.ny, w.f.target.number
    begins, places, weights = [0], list[int](), list[float]()
    for k in range(NUM_STAGES_DENSE):
        chosen = {} if k in (0, NUM_STAGES) else STAGES[k]
        places += [w.place_of_row(j) for j in chosen if j]
        weights += [a for j, a in chosen.items() if j]
        begins.append(len(places))
    leads = [0.0 if k in (0, NUM_STAGES) else STAGES[k][0] for k in range(NUM_STAGES_DENSE)]
    lead = f.constant_table("stage_leads", number, leads)[stage]
    s.share = f.constant_table("stage_times", ElementType.REAL, [float(c) for c in dop853.C])[stage]
    total = f.registers(n)
    for i in f.rows(n):
        total[i] = w.K(0)[i] * lead
    first = f.constant_table("stage_begins", ElementType.WHOLE, begins)
    s.term, s.terms = first[stage], first[stage + 1]
    with f.repeat() as loop:
        loop.leave(s.term >= s.terms)
        row = w.row_at(f.constant_table("stage_rows", ElementType.WHOLE, places)[s.term])
        weight = f.constant_table("stage_weights", number, weights)[s.term]
        for i in f.rows(n):
            total[i] = f.fma(row[i], weight, total[i])
        s.term = s.term + 1
    part = f.of(h, number)
    for i in f.rows(n):
        w.stage[i] = f.fma(part, total[i], w.y[i])


def _combine_end(w: LoopWriter) -> list[Buffer]:
    """Sums of the end and of both errors: Σ_j b_j k_j and so on."""
    f, n, number = w.f, w.shape.ny, w.f.target.number
    totals = [f.registers(n) for _ in range(3)]
    sums = list(zip(totals, (B, E5, E3), ("end", "fifth", "third"), strict=True))
    rows = sorted({j for _, weights, _ in sums for j in weights if j})
    for i in f.rows(n):
        for out, weights, _ in sums:
            out[i] = w.K(0)[i] * weights.get(0, 0.0)
    for term in f.count(0, len(rows)):
        at = f.constant_table("end_rows", ElementType.WHOLE, [w.place_of_row(j) for j in rows])[
            term
        ]
        row = w.row_at(at)
        found = [
            f.constant_table(f"weights_{word}", number, [weights.get(j, 0.0) for j in rows])[term]
            for _, weights, word in sums
        ]
        for i in f.rows(n):
            k = row[i]
            for out, weight in zip(totals, found, strict=True):
                out[i] = f.fma(k, weight, out[i])
    return totals


def state_at_end(w: LoopWriter, h: Value, out: Buffer) -> None:
    """State y + h Σ_j b_j k_j into out."""
    weights = RK4_ROWS[3] if w.shape.method == RK4 else B
    for i in w.f.rows(w.shape.ny):
        out[i] = w.f.fma(h, weighted(w, weights, i), w.y[i])


def scale(w: LoopWriter, i: Block, y: Value, end: Value) -> Value:
    """Tolerance of states over a step."""
    f = w.f
    absolute = tolerances(w, i)
    return f.fma(w.number("relative"), f.most(f.abs(y), f.abs(end)), absolute)


def tolerances(w: LoopWriter, i: Block) -> Value:
    """Absolute tolerances of states, the same in all lanes."""
    place = w.f.offset(w.number("absolute"), i.start)
    return w.f.load(place, width=i.width)


def try_step(w: LoopWriter) -> None:
    """State at a step's end into w.end, and the norm of its error into s.error.

    It is h ‖e5‖² / √(n (‖e5‖² + ‖e3‖²/100)); of RK4, which does not know it, 0.
    """
    f, s = w.f, w.s
    is_near = take_stages(w, s.t, s.h_try, s.last, STAGE_RANGES[w.shape.method])
    if w.shape.method == RK4:
        state_at_end(w, s.h_try, w.end)
        s.error = f.real(0.0)
        return
    _measure_error(w, is_near)


def _measure_error(w: LoopWriter, is_near: Value) -> None:
    """State at the end of a step of DOP853 into w.end, and the norm of its error into s.error."""
    f, s, n = w.f, w.s, w.shape.ny
    s.sum5, s.sum3 = f.real(0.0), f.real(0.0)
    totals = _combine_end(w) if f.target.is_thread else None
    for i in f.rows(n):
        y = w.y[i]
        found = [total[i] for total in totals] if totals else [weighted(w, B, i)]
        end = f.fma(s.h_try, found[0], y)
        share = 1.0 / scale(w, i, y, end)
        found += [] if totals else [weighted(w, E5, i), weighted(w, E3, i)]
        e5, e3 = found[1] * share, found[2] * share
        s.sum5, s.sum3 = s.sum5 + f.total(e5 * e5), s.sum3 + f.total(e3 * e3)
        w.end[i] = end
    total = f.fma(s.sum3, 0.01, s.sum5)
    error = s.h_try * s.sum5 / f.sqrt(float(n) * total)
    # a step must not leap over a singular place: it is tried shorter, down to a smallest approach
    error = f.where(total.equals(0.0), 0.0, error)
    if w.shape.apart >= 0:
        error = f.most(error, _error_apart(w, totals))
    s.error = f.where(~is_near & is_long(w), TOO_FAR, error)


def _error_apart(w: LoopWriter, totals: list[Buffer] | None) -> Value:
    """Norm of the error of one state by itself, with the absolute tolerance of the first.

    In one sum with those of the others, the larger of two orders would hide what these say.
    """
    f, s, i = w.f, w.s, Block(w.shape.apart)
    most = f.most(f.abs(w.y[i]), f.abs(w.end[i]))
    share = 1.0 / f.fma(w.number("relative"), most, tolerances(w, Block(0)))
    found = [total[i] for total in totals[1:]] if totals else [weighted(w, E, i) for E in (E5, E3)]
    e5, e3 = (f.total(e * share * e * share) for e in found)
    total = f.fma(e3, 0.01, e5)
    return f.where(total.equals(0.0), 0.0, s.h_try * e5 / f.sqrt(total))


def is_long(w: LoopWriter) -> Value:
    """Whether a shorter step may still be tried, to come nearer to a singularity."""
    return w.s.h_try > APPROACH * (w.number("end_time") - w.s.begin)


def close_step(w: LoopWriter, is_dense: Value) -> None:
    """Projection, rates, health and events at the end of a step: s.verdict becomes ACCEPTED.

    Or it stays RETRY, or becomes an ending. The state is left in w.next, its rates in `next_row`.
    Dense output takes the rates of the step itself, at its end before a projection.
    """
    f, s, shape, n = w.f, w.s, w.shape, w.shape.ny
    with f.when(w.f.all_finite(w.end, n)):
        s.verdict = f.whole(ACCEPTED)
        w.copy(w.end, w.next, n)
        if not shape.has_projection:
            _find_rates(w, END_ROW)
        else:
            with f.when(is_dense):
                _find_rates(w, END_ROW)
            with f.when(~is_dense):
                find_inputs(w, s.last, w.next)
            s.moved = f.whole(0)
            with f.when(s.verdict.equals(ACCEPTED)):
                s.moved = project(w, s.last, w.next)
                s.verdict = f.where(s.moved < 0, f.whole(0) - s.moved, s.verdict)
            is_known = is_dense & s.moved.equals(0)
            with f.when(s.verdict.equals(ACCEPTED) & is_known):
                w.copy(w.K(END_ROW), w.K(PROJECTED_ROW), n)
            with f.when(s.verdict.equals(ACCEPTED) & ~is_known):
                _find_rates(w, PROJECTED_ROW)
    with f.when(s.verdict.equals(ACCEPTED)):
        _check_health(w)
        if shape.num_events:
            w.call("events", s.last, w.next, w.inputs, w.at_end)


def try_fused_step(w: LoopWriter) -> None:
    """A step of DOP853 and the rates at its end, with one place where rates are evaluated.

    As `try_step` and `close_step`; see `take_fused_step` for why.
    """
    f, s, shape, n = w.f, w.s, w.shape, w.shape.ny
    s.verdict, s.is_near, s.now = f.whole(RETRY), f.truth(True), s.last
    s.share = f.real(0.0)
    for stage in f.count(1, NUM_STAGES + 1):
        s.is_end = stage.equals(NUM_STAGES)
        with f.when(~s.is_end):
            _combine(w, stage, s.h_try)
            s.now = f.least(f.fma(s.share, s.h_try, s.t), s.last)
        with f.when(s.is_end):
            _measure_error(w, s.is_near)
            s.now = s.last
            with f.when((s.error <= 1.0) & w.f.all_finite(w.end, n)):
                s.verdict = f.whole(ACCEPTED)
                w.copy(w.end, w.next, n)
                if shape.has_projection:
                    find_inputs(w, s.last, w.next)
                    s.moved = project(w, s.last, w.next)
                    s.verdict = f.where(s.moved < 0, f.whole(0) - s.moved, s.verdict)
                w.copy(w.next, w.stage, n)
            # the rates there are not asked for where the step is not taken
            s.evaluations = f.where(s.verdict.equals(ACCEPTED), s.evaluations, s.evaluations - 1)
        with w.hot():
            health = evaluate(w, s.now, w.stage, w.K(stage))
        w.copy(health, w.health, shape.num_health)
        s.is_near = s.is_near & (s.is_end | is_healthy(w, health, STAGE_FLOOR))
    with f.when(s.verdict.equals(ACCEPTED)):
        s.verdict = f.where(w.f.all_finite(w.K(END_ROW), n), s.verdict, RETRY)
        with f.when(s.verdict.equals(ACCEPTED)):
            _check_health(w)


def take_fused_step(w: LoopWriter) -> None:
    """A step of RK4 and the rates at its end, with one place where rates are evaluated.

    Those where it begins are evaluated there first, unless the step before has left them.

    A thread of a GPU has them written out there, and all vectors in registers: the rates of the
    stage before, the sum that becomes the end, and the state of the stage. The verdict is left in
    s.verdict, the state in w.next, its rates in the first row of K.
    """
    f, s, shape, n = w.f, w.s, w.shape, w.shape.ny
    number, k = f.target.number, w.K(0)
    s.verdict, s.whole = f.whole(ACCEPTED), f.of(s.h_try, number)
    s.half, s.sixth = s.whole * 0.5, s.whole * (1.0 / 6.0)
    s.was_stale, s.unhealthy_here, s.from_here = s.is_stale, f.whole(-1), begin_of_step(w)
    for i in f.rows(n):
        w.end[i] = f.where(s.was_stale, w.y[i], f.fma(s.sixth, k[i], w.y[i]))
    for stage in f.count(f.where(s.was_stale, f.whole(0), 1), 5):
        is_begin, is_last = stage.equals(0), stage.equals(4)
        part = f.where(stage >= 3, s.whole, s.half)
        s.now = f.where(stage >= 3, s.last, f.least(f.fma(s.h_try, 0.5, s.t), s.last))
        s.now = f.where(is_begin, s.from_here, s.now)
        for i in f.rows(n):
            inner = f.where(is_begin, w.y[i], f.fma(part, k[i], w.y[i]))
            w.next[i] = f.where(is_last, w.end[i], inner)
        if shape.has_projection:
            with f.when(is_last):
                find_inputs(w, s.last, w.next)
                with f.when(w.f.all_finite(w.next, n)):
                    s.moved = project(w, s.last, w.next)
                    s.verdict = f.where(s.moved < 0, f.whole(0) - s.moved, s.verdict)
        with w.hot():
            health = evaluate(w, s.now, w.next, w.stage)
        w.copy(health, w.health, shape.num_health)
        with f.when(is_begin):
            with f.when(s.is_first):
                take_sides(w, w.health)
            s.is_stale, s.unhealthy_here = f.truth(False), first_unhealthy(w, w.health)
        weight = f.where(is_begin | stage.equals(3), s.sixth, s.sixth + s.sixth)
        for i in f.rows(n):
            k[i] = w.stage[i]
            w.end[i] = f.fma(weight, w.stage[i], w.end[i])
    is_well = w.f.all_finite(w.next, n) & w.f.all_finite(k, n)
    s.verdict = f.where(is_well, s.verdict, RETRY)
    is_singular = s.unhealthy_here >= 0
    s.which = f.where(is_singular, s.unhealthy_here, s.which)
    s.verdict = f.where(is_singular, SINGULAR, s.verdict)
    with f.when(s.verdict.equals(ACCEPTED)):
        _check_health(w)


def _find_rates(w: LoopWriter, row: int) -> None:
    """Rates at w.next into a row of K, and health; the step fails if they are not finite."""
    f, s = w.f, w.s
    health = evaluate(w, s.last, w.next, w.K(row))
    if health is not w.health:
        w.copy(health, w.health, w.shape.num_health)
    s.verdict = f.where(w.f.all_finite(w.K(row), w.shape.ny), s.verdict, RETRY)


def _check_health(w: LoopWriter) -> None:
    """Reject a step whose health ends far below a floor, so that a run ends on valid states.

    Speeds that follow from others through a nearly singular matrix lose accuracy. A fixed step is
    not taken.
    """
    f, s = w.f, w.s
    if not w.shape.num_health:
        return
    s.unhealthy = first_unhealthy(w, w.health)
    # those who follow a fixed step look for other speeds where it begins
    is_far = ~is_healthy(w, w.health, 1.0 if w.shape.is_period else NEAR_FLOOR)
    if w.shape.method == RK4:
        s.which = f.where(is_far, s.unhealthy, s.which)
        s.verdict = f.where(is_far, SINGULAR, s.verdict)
    else:
        s.verdict = f.where(is_far & is_long(w), RETRY, s.verdict)


def first_step(w: LoopWriter, longest: Value) -> Value:
    """First step by Hairer's rule: from the sizes of the state, its rate and second derivative."""
    f, s, n = w.f, w.s, w.shape.ny
    s.state, s.rate, s.second = f.real(0.0), f.real(0.0), f.real(0.0)
    for i in f.rows(n):
        share = 1.0 / scale(w, i, w.y[i], w.y[i])
        a, b = w.y[i] * share, w.K(0)[i] * share
        s.state, s.rate = s.state + f.total(a * a), s.rate + f.total(b * b)
    is_flat = (s.rate <= 1e-10) | (s.state <= 1e-10)
    s.euler = f.least(f.where(is_flat, 1e-6, 0.01 * f.sqrt(s.state / s.rate)), longest)
    # an explicit Euler step shows how fast the rate changes
    for i in f.rows(n):
        w.stage[i] = f.fma(s.euler, w.K(0)[i], w.y[i])
    evaluate(w, s.t + s.euler, w.stage, w.K(1))
    for i in f.rows(n):
        a = (w.K(1)[i] - w.K(0)[i]) / scale(w, i, w.y[i], w.y[i])
        s.second = s.second + f.total(a * a)
    h = s.euler
    fastest = f.most(f.sqrt(s.second) / h, f.sqrt(s.rate))
    eighth = f.sqrt(f.sqrt(f.sqrt(0.01 / fastest)))
    limit = f.where(fastest <= 1e-15, f.most(1e-3 * h, 1e-6), eighth)
    return f.where(f.is_finite(fastest), f.least(f.least(100.0 * h, limit), longest), h)


def next_step(w: LoopWriter, error: Value, may_grow: Value) -> Value:
    """Step size after a step of size s.h_try with an error norm, see `rules.next_step`."""
    f, s, c, h = w.f, w.s, rules, w.s.h_try
    largest = f.where(may_grow, c.GROWTH, f.real(1.0))
    density = f.sqrt(f.sqrt(f.sqrt(error))) / h
    is_first = s.mean.equals(0.0)
    before, mean = f.where(is_first, density, s.density), f.where(is_first, density, s.mean)
    rising = density * f.sqrt(f.most(density / before, 1.0))
    mean = f.most(rising, mean + c.SHARE * (density - mean))
    recent = f.most(density, before)
    mean = f.where(c.PAST * recent < mean, recent, mean)
    known = h * f.least(largest, f.most(c.SAFETY / (h * mean), 1.0 / 3.0))
    most = c.SAFETY / (c.GROWTH * h)
    is_tiny, is_known = error <= c.LEAST_ERROR, error < c.LARGEST_ERROR
    other = f.where(f.is_finite(error), h / 3.0, 0.1 * h)
    following = f.where(is_tiny, largest * h, f.where(is_known, known, other))
    density = f.where(is_known, density, s.density)
    s.mean = f.where(is_tiny, f.least(s.mean, most), f.where(is_known, mean, s.mean))
    s.density = f.where(is_tiny, f.least(s.density, most), density)
    return following


def begin_of_step(w: LoopWriter) -> Value:
    """Time at which the rates where a step begins are evaluated, if they are evaluated anew."""
    # a switch such as sign(t − knot) is zero on the knot itself
    now = w.s.t
    return w.f.where(w.s.is_first, now, just_above(w, now)) if w.shape.has_knots else now


def just_above(w: LoopWriter, t: Value) -> Value:
    """The number just above a time."""
    return -just_below(w, -t)


def just_below(w: LoopWriter, t_new: Value) -> Value:
    """The number just below a time."""
    f = w.f
    bits = f.bits(t_new)
    below = f.where(t_new > 0.0, bits - 1, bits + 1)
    return f.from_bits(f.where(t_new.equals(0.0), f.whole(-(2**63) + 1), below))


#: Value of s.rough (0 or 1) before the dense output was checked.
UNKNOWN = -1

D = [nonzero(row) for row in dop853.D]


def prepare_dense(w: LoopWriter, t: Value, h: Value, last: Value) -> Value:
    """Dense output of a step into w.F, a cubic for RK4; whether it is finite."""
    if w.shape.method != RK4:
        take_stages(w, t, h, last, range(NUM_STAGES + 1, NUM_STAGES_DENSE))
    return dense_terms(w, h)


@once()
def dense_terms(w: LoopWriter, h: Value) -> Value:
    """Terms of the dense output from the stages."""
    f, n = w.f, w.shape.ny
    is_rk4 = w.shape.method == RK4
    for i in f.rows(n):
        k0, k12 = w.K(0)[i], w.K(END_ROW)[i]
        change = w.end[i] - w.y[i]
        terms = [change, f.fma(h, k0, -change), f.fma(-h, k0 + k12, 2.0 * change)]
        if not is_rk4:
            terms += [h * weighted(w, row, i) for row in D]
        for r, term in enumerate(terms):
            w.F.part(r * n)[i] = term
    return w.f.all_finite(w.F, NUM_TERMS[w.shape.method] * n)


@once()
def dense_state(w: LoopWriter, theta: Value, out: Buffer) -> None:
    """State at t + θh with the dense output in w.F: y + θ(F0 + (1−θ)(F1 + θ(F2 + …))), into out."""
    f, n, rest = w.f, w.shape.ny, 1.0 - theta
    for i in f.rows(n):
        total: Value | None = None
        for r in reversed(range(NUM_TERMS[w.shape.method])):
            term = w.F.part(r * n)[i]
            total = (term if total is None else total + term) * (theta if r % 2 == 0 else rest)
        assert total is not None
        out[i] = w.y[i] + total


@once()
def dense_enclosure(w: LoopWriter, a: Value, b: Value, h: Value) -> None:
    """Intervals of the mechanism's states and their rates from t + ah to t + bh, into w.box.

    They are [(b − a)h; x₋; x₊; ẋ₋; ẋ₊]: dense output in intervals. θ is between a and b, and
    neither it nor 1 − θ is negative.
    """
    f, n, ny = w.f, w.shape.nx, w.shape.ny
    share = 1.0 / h
    w.box[0] = (b - a) * h
    for i in f.rows(n):
        lower = upper = w.F.part((NUM_TERMS[w.shape.method] - 1) * ny)[i]
        falls = rises = 0.0 * lower
        for r in reversed(range(NUM_TERMS[w.shape.method])):
            first, last = (a, b) if r % 2 == 0 else (1.0 - b, 1.0 - a)
            low, high = (lower, upper) if r % 2 == 0 else (-upper, -lower)
            falls = f.least(falls * first, falls * last) + low
            rises = f.most(rises * first, rises * last) + high
            lower = f.least(lower * first, lower * last)
            upper = f.most(upper * first, upper * last)
            if r:
                term = w.F.part((r - 1) * ny)[i]
                lower, upper = lower + term, upper + term
        y = w.y[i]
        for k, value in enumerate((y + lower, y + upper, share * falls, share * rises)):
            w.box.part(1 + k * n)[i] = value


def partial_step(w: LoopWriter, t: Value, h: Value, theta: Value, out: Buffer) -> None:
    """State at t + θh by a partial step, which overwrites the stages of the step."""
    part = theta * h
    take_stages(w, t, part, t + part, STAGE_RANGES[w.shape.method])
    w.subroutine(state_at_end, part, out)


@once(evaluations=1)
def defect(w: LoopWriter, t: Value, h: Value) -> Value:
    """Whether dense output misses the tolerance, in the norm in which steps must meet it: 0 or 1.

    It is of order 7 where the steps are of order 8, so on long steps it can be worse than they are.
    How far it is off is known from how far it misses the differential equation at one place.
    """
    f, s, n = w.f, w.s, w.shape.ny
    theta = f.real(DEFECT_AT)
    dense_state(w, theta, w.point)
    row = w.K(1)  # the stages are not needed any more
    evaluate(w, f.fma(theta, h, t), w.point, row)
    s.squares = f.real(0.0)
    for i in f.rows(n):
        total = slope = w.F.part((NUM_DENSE_TERMS - 1) * n)[i]
        total = total * theta
        for r in reversed(range(NUM_DENSE_TERMS - 1)):
            total = total + w.F.part(r * n)[i]
            factor = DEFECT_AT if r % 2 == 0 else 1.0 - DEFECT_AT
            slope = f.fma(slope, factor, total if r % 2 == 0 else -total)
            total = total * factor
        off = f.fma(-h, row[i], slope) / scale(w, i, w.y[i], w.end[i])
        off = DEFECT_SHARE * off
        s.squares = s.squares + f.total(off * off)
    return f.where(s.squares <= float(n), f.whole(0), 1)


def ask_roughness(w: LoopWriter, t: Value, h: Value) -> None:
    """Set s.rough, unless it is known; the cubic of RK4 is as good as its steps."""
    with w.f.when(w.s.rough.equals(UNKNOWN)):
        w.s.rough = w.f.whole(0) if w.shape.method == RK4 else defect(w, t, h)


def state_within(w: LoopWriter, t: Value, h: Value, theta: Value) -> None:
    """State at t + θh of an accepted step into w.point, to the step's own accuracy."""
    f, s = w.f, w.s
    dense_state(w, theta, w.point)
    with f.when(s.rough.equals(1)):
        partial_step(w, t, h, theta, w.other)
        for i in f.rows(w.shape.ny):
            w.point.blended()[i] = w.other[i]


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
    s.is_state = w.f.all_finite(w.point, w.shape.ny)
    s.verdict = f.where(s.is_state, s.verdict, NON_FINITE)
    with f.when(s.is_state):
        corrections = settle(w, time, w.point.blended())
        s.verdict = f.where(corrections < 0, f.whole(0) - corrections, s.verdict)
