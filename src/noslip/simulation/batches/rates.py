"""Inputs, rates and health of all lanes, at given states or in the stages of a step."""

from __future__ import annotations

import math

from noslip.simulation.batches.setup import (
    H_TRY,
    HEALTHY,
    INDEX,
    LAST,
    TIME,
    T,
    rates_at,
    real_at,
    word,
    word_at,
    worker_at,
)
from noslip.simulation.native import call, copy, native, reals, unit, words


@native
def find_inputs(s, time, y):
    """Inputs of all lanes at the times and states at two addresses, into s.inputs."""
    if s.num_tables > 0 or s.generator != 0:
        s.input_time, s.input_state = time, y
        call(s.make_inputs, (s.here,))


@unit
def make_inputs(here):
    """Inputs of all lanes at s.input_time and s.input_state: by tables, then by the generator."""
    s = worker_at(here)
    lanes, index, t = s.lanes, word(s, INDEX), reals(s.input_time)
    for k in range(s.num_tables):
        base = reals(s.base + 8 * lanes * words(s.targets)[k])
        segments = words(s.segments + 8 * lanes * k)
        for j in range(lanes):
            if index[j] >= 0:
                c = reals(s.coefficients + 32 * segments[j])
                r = t[j] - reals(s.segment_starts)[segments[j]]
                base[j] = ((c[0] * r + c[1]) * r + c[2]) * r + c[3]
    if s.generator != 0:
        call(s.generator, (s.input_time, s.input_state, s.base, s.parameters, s.inputs))


@native
def evaluate(s, time, y, out):
    """Rates [ẋ; ż] of all lanes into out; s.health is where the health values are."""
    find_inputs(s, time, y)
    call(s.rates, (time, y, s.inputs, s.parameters, out))
    behind = out + 8 * s.lanes * s.nx
    if s.nz == 0:
        s.health = behind
    else:
        # the function has put the health values where ż goes
        s.health = s.health_copy
        copy(behind, s.health, s.lanes * s.num_health)
        copy(s.inputs + 8 * s.lanes * s.num_inputs, behind, s.lanes * s.nz)


@native
def evaluate_stages(s, kernels, first, count):
    """Rates of ``count`` stages by kernels at an address, into rows of K from ``first`` on."""
    time, stage = real_at(s, TIME), s.stage
    for k in range(count):
        given = (s.y, real_at(s, H_TRY), s.k, real_at(s, T), real_at(s, LAST))
        call(words(kernels)[k], (*given, stage, time, s.ny, s.row))
        evaluate(s, time, stage, rates_at(s, first + k))
        if s.num_health > 0:
            call(s.is_healthy, (s.health, s.stage_floors, word_at(s, HEALTHY), s.num_health, 0))


@native
def take_sides(s, j):
    """Let every floor of a lane be on the side of zero where the health value is now."""
    for k in range(s.num_health):
        place = k * s.lanes + j
        for floors in (s.floors, s.stage_floors, s.near_floors):
            floor = reals(floors)[place]
            reals(floors)[place] = math.copysign(floor, reals(s.health)[place])


@native
def first_unhealthy(s, j):
    """First health value of a lane nearer to zero than its floor, beyond zero or nan, or −1."""
    for k in range(s.num_health):
        place = k * s.lanes + j
        floor = reals(s.floors)[place]
        if not reals(s.health)[place] * floor >= floor * floor:
            return k
    return -1
