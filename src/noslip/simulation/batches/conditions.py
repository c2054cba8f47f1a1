"""Conditions, one for each lane: −1 where they hold and 0 where they do not."""

from __future__ import annotations

from noslip.simulation.batches.setup import MASK, word, word_at
from noslip.simulation.native import call, native


@native
def any_of(s, row):
    """Whether a condition holds in some lane."""
    condition = word(s, row)
    for j in range(s.lanes):
        if condition[j] != 0:
            return True
    return False


@native
def blend(s, condition, source, target, num_rows):
    """Replace rows in lanes where a condition at an address holds."""
    call(s.blend, (condition, source, target, num_rows, 0))


@native
def is_finite(s, x, num_rows):
    """Whether rows at an address are finite, lane by lane, into MASK."""
    call(s.is_finite, (x, word_at(s, MASK), num_rows, 0))
