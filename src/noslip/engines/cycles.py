"""How long operations take, and the cycle from which on a sum of terms is known.

A term (ready, is_product, ...) is known from cycle ``ready`` on, but for its last product, which
the sum takes up; of two products one is made first.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

#: Cycles until a result can be used, typical of today's processors; all others take FUSED. A sum
#: takes up a product in the same time.
FUSED = 4
CYCLES = {"div": 13, "sqrt": 20, "sin": 40, "cos": 40, "tan": 50, "atan2": 60, "neg": 0, "abs": 0}
SUMS = ("add", "sub")

Known = Any  # a tuple that begins with (ready, is_product)


def end(terms: list[tuple[int, bool]]) -> int:
    """The sooner of both ways to add terms."""
    queue = sorted(terms)
    return min(end_of_chain(queue), end_of_pairs(queue))


def end_of_two(first: Known, second: Known) -> int:
    """Two terms are added."""
    return max(first[0] + FUSED * (first[1] and second[1]), second[0]) + FUSED


def end_of_chain(terms: Sequence[Known]) -> int:
    """Terms are added one by one, in this order."""
    ready = terms[0][0] + FUSED * terms[0][1]
    for term in terms[1:]:
        ready = max(ready, term[0]) + FUSED
    return ready


def end_of_pairs(terms: Sequence[Known]) -> int:
    """The two terms that are known first are added first, again and again."""
    queue = [term[:2] for term in terms]
    while len(queue) > 1:
        heappush(queue, (end_of_two(heappop(queue), heappop(queue)), False))
    return queue[0][0] + FUSED * queue[0][1]
