"""Inputs, rates and health (singularity measures) at a state; inputs at knots."""

from __future__ import annotations

from noslip.engines import WHOLE, Buffer, Value
from noslip.simulation.loop.random import draw_noise
from noslip.simulation.loop.writer import LoopWriter


def find_inputs(w: LoopWriter, t: Value, y: Buffer) -> None:
    """Inputs at (t, y) and the rates of the law's states, into w.inputs."""
    f, shape = w.f, w.shape
    for k in range(shape.num_tables):
        segment = w.segments[k]
        c, starts = w.vector("coefficients"), w.vector("segment_starts")
        r = t - starts[segment]
        c0, c1, c2, c3 = (c[segment * 4 + power] for power in range(4))
        value = f.fma(f.fma(f.fma(c0, r, c1), r, c2), r, c3)
        target = f.load(f.offset(w.number("targets"), k, WHOLE), WHOLE)
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
        s.found = f.where((s.found >= 0) | is_well, s.found, f.of(k, WHOLE))
    return s.found


def enter_segments(w: LoopWriter) -> None:
    """Select the segment of every table that applies from the time of the lane on."""
    f, s, shape = w.f, w.s, w.shape
    starts, ends = w.vector("segment_starts"), w.vector("end_segments", WHOLE)
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
    return w.vector("table_sets", WHOLE)[w.s.index]


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
