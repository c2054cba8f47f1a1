"""Inputs, rates and health at one time and state, and what inputs do at a knot."""

from __future__ import annotations

import math

from noslip.simulation.native import call_at, copy, fused, reals, words


@fused
def all_finite(address, n):
    x = reals(address)
    for i in range(n):
        if not math.isfinite(x[i]):
            return False
    return True


@fused
def rates_at(s, k):
    """Address of row k of K."""
    return s.K + 8 * k * s.row


@fused
def find_inputs(s, t, y):
    """Inputs at (t, y) and the generator's rates, into s.inputs."""
    for k in range(s.num_tables):
        segment = words(s.segments)[k]
        c = reals(s.coefficients + 32 * segment)
        r = t - reals(s.starts)[segment]
        target = words(s.targets)[k]
        reals(s.base)[target] = ((c[0] * r + c[1]) * r + c[2]) * r + c[3]
    if s.generator != 0:
        call_at(s.generator, t, y, s.base, s.generator_parameters, s.inputs)


@fused
def evaluate(s, t, y, out):
    """Rates [ẋ; ż] at (t, y) into out; health into s.health, inputs into s.inputs."""
    find_inputs(s, t, y)
    call_at(s.rates, t, y, s.inputs, s.parameters, out)
    # The function has put the health values where ż goes.
    if s.nz == 0:
        s.health = out + 8 * s.nx
    else:
        copy(out + 8 * s.nx, s.health, s.num_health)
        copy(s.inputs + 8 * s.num_inputs, out + 8 * s.nx, s.nz)
    s.evaluations += 1


@fused
def take_sides(s):
    """Let every floor be on the side of zero where the health value is now."""
    health, floors = reals(s.health), reals(s.floors)
    for k in range(s.num_health):
        floors[k] = math.copysign(floors[k], health[k])


@fused
def first_unhealthy(s, share):
    """Index of the first health value nearer to zero than a share of its floor, or −1.

    One on the other side of zero is, and so is NaN.
    """
    health, floors = reals(s.health), reals(s.floors)
    for k in range(s.num_health):
        if not health[k] * floors[k] >= share * floors[k] * floors[k]:
            return k
    return -1


@fused
def enter_segments(s, t):
    """Choose the segment of every table that holds from time t on."""
    segments, offsets, starts = words(s.segments), words(s.offsets), reals(s.starts)
    for k in range(s.num_tables):
        while segments[k] + 1 < offsets[k + 1] and starts[segments[k] + 1] <= t:
            segments[k] += 1


@fused
def update_generator(s, t, done):
    """Let the generator set its states anew at each update time up to t; how many were done."""
    while done < s.num_updates and reals(s.update_times)[done] <= t:
        find_inputs(s, t, s.y)
        call_at(s.update, t, s.y, s.base, s.generator_parameters, s.stage)
        copy(s.stage, s.y + 8 * s.nx, s.nz)
        done += 1
    return done
