"""Latencies of operations, and the cycle at which a sum of terms is complete.

A term (ready, is_product, ...) is available from cycle ``ready`` on. If it is a product, its last
multiplication is not counted: the sum fuses it (multiply-add); of two products one is computed
first.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any

#: Latencies in cycles, typical of today's processors. All other operations have that of a fused
#: multiply-add.
FUSED = 4
LATENCIES = {
    "div": 13,
    "sqrt": 20,
    "sin": 40,
    "cos": 40,
    "tan": 50,
    "atan2": 60,
    "neg": 0,
    "abs": 0,
}
SUMS = ("add", "sub")

Known = Any  # a tuple that begins with (ready, is_product)


def end(terms: list[tuple[int, bool]]) -> int:
    """Cycle at which a sum is complete by the faster of both ways to add its terms."""
    queue = sorted(terms)
    return min(end_of_chain(queue), end_of_pairs(queue))


def end_of_two(first: Known, second: Known) -> int:
    """Cycle at which the sum of two terms is complete."""
    return max(first[0] + FUSED * (first[1] and second[1]), second[0]) + FUSED


def end_of_chain(terms: Sequence[Known]) -> int:
    """Cycle at which a sum is complete if its terms are added one by one, in this order."""
    ready = terms[0][0] + FUSED * terms[0][1]
    for term in terms[1:]:
        ready = max(ready, term[0]) + FUSED
    return ready


def end_of_pairs(terms: Sequence[Known]) -> int:
    """Cycle at which a sum is complete if the two earliest terms are always added first."""
    queue = [term[:2] for term in terms]
    while len(queue) > 1:
        heappush(queue, (end_of_two(heappop(queue), heappop(queue)), False))
    return queue[0][0] + FUSED * queue[0][1]
