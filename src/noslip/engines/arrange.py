"""The operations of a program arranged for a processor that works on several of them at once.

A traced sum adds its terms one after the other, in the order in which they were written, and each
addition waits for the one before. :func:`arrange` makes four changes, none of which adds work:

    p + q cos x                values of one angle are written as such (`trig_polynomials`)
    a b + a c → a (b + c)      common factors are multiplied once (`reassociate`)
    (a + b) + (c + d)          terms are added in the order in which they are known (`reassociate`)
    order                      what the longest chain of operations waits for comes first

Results differ from those of the traced program by rounding; the interpreter keeps to the traced
one, so that the tests compare both.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush

from noslip.engines.latencies import FUSED, LATENCIES, SUMS
from noslip.engines.program import Operation, Program
from noslip.engines.reassociate import reassociate
from noslip.engines.trig_polynomials import shorten


def arrange(program: Program, *, order: bool = True) -> Program:
    """The same outputs by operations that wait less for each other.

    Parameters
    ----------
    program : as it was traced.
    order : whether operations are also shortened and ordered by need. A long program is better left
        in the order in which it was traced, where a value is used soon after it is made.
    """
    return by_need(reassociate(shorten(program))) if order else reassociate(program)


def by_need(program: Program) -> Program:
    """The same operations, at every cycle the one with the longest chain behind it.

    This is list scheduling for a processor that starts one operation a cycle.
    """
    given, operations = program.num_given, program.operations
    users: list[list[int]] = [[] for _ in operations]
    num_missing = [0] * len(operations)
    for k, operation in enumerate(operations):
        for value in set(operation.operands):
            if value >= given:
                users[value - given].append(k)
                num_missing[k] += 1
    kinds = [operation.kind for operation in operations]
    taken = [LATENCIES.get(kind, FUSED) for kind in kinds]
    for k, kind in enumerate(kinds):
        if kind == "mul" and len(users[k]) == 1 and kinds[users[k][0]] in SUMS:
            taken[k] = 0  # the sum takes it up

    # cycles from the start of an operation to the end of the last that waits for it
    behind = [0] * len(operations)
    for k in range(len(operations) - 1, -1, -1):
        behind[k] = taken[k] + max((behind[j] for j in users[k]), default=0)

    ready = [(-behind[k], k) for k, n in enumerate(num_missing) if n == 0]
    heapify(ready)
    waiting: list[tuple[int, int]] = []  # for operands, with the cycle at which they are known
    start = [0] * len(operations)
    order: list[int] = []
    cycle = 0
    while ready or waiting:
        if not ready:
            cycle = max(cycle, waiting[0][0])
        while waiting and waiting[0][0] <= cycle:
            k = heappop(waiting)[1]
            heappush(ready, (-behind[k], k))
        k = heappop(ready)[1]
        order.append(k)
        for j in users[k]:
            start[j] = max(start[j], cycle + taken[k])
            num_missing[j] -= 1
            if num_missing[j] == 0:
                heappush(waiting, (start[j], j))
        cycle += 1

    place = list(range(given + len(operations)))
    for k, old in enumerate(order):
        place[given + old] = given + k
    return replace(
        program,
        operations=tuple(
            Operation(operations[k].kind, tuple([place[i] for i in operations[k].operands]))
            for k in order
        ),
        outputs=tuple(place[value] for value in program.outputs),
    )
