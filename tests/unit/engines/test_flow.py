"""The structured writer: branches, loops and memory in one lane, in several, and on the stack.

Every function is printed for each target and compared with plain Python, lane by lane.
"""

import ctypes
from functools import cache

import numpy as np
import pytest

from noslip.engines import Flow, Given, Target, Value
from noslip.engines.ir_writer import PLACE, REAL, WHOLE, vector_type
from noslip.engines.machine_code import CONTROL_FLOW_PASSES, machine_code

TARGETS = {
    "one": Target(),
    "two": Target(lanes=2),
    "four": Target(lanes=4),
    "eight": Target(lanes=8),
    "thread": Target.thread(),
}


@pytest.fixture(params=TARGETS.values(), ids=TARGETS)
def target(request):
    return request.param


@cache
def compiled(write, target):
    """A function of (given, left), written by a function of a Flow and two tables."""
    f = Flow(target)
    given, left = (Given(f, Value(f, f"%{name}", PLACE, 1)) for name in ("given", "left"))
    write(f, given, left)
    text = "\n".join([f.body("written", ("given", "left", "work")), *sorted(f.declared)])
    engine = machine_code(text, CONTROL_FLOW_PASSES)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
    return call(engine.get_function_address("written")), f.work_size, engine


def run(write, target, numbers, size=1):
    """What is left for each lane of the numbers given for it; both by rows."""
    call, work_size, _ = compiled(write, target)
    given = np.ascontiguousarray(numbers, dtype=float)
    left = np.full((size, target.lanes), np.nan)
    work = np.zeros(work_size + 8)
    call(given.ctypes.data, left.ctypes.data, -(-work.ctypes.data // 64) * 64)
    return left


def lane(f):
    """The number of each lane."""
    counter = f.array(1, WHOLE)
    counter[0] = f.whole(0)
    return f.take(counter.at(0))


def numbers_of(target, rng, rows=1):
    return rng.normal(size=(rows, target.lanes))


def branches(f, given, left):
    s, k = f.s, lane(f)
    s.x, s.y = given[k], f.real(1.0)
    with f.when(s.x > 0.0):
        s.y = s.x * 2.0
        with f.when(s.x > 0.5):
            s.y = s.y + 10.0
        s.x = -s.x
    left[k] = s.x + 100.0 * s.y


def test_assignments_in_a_branch_change_its_lanes_alone(target, rng):
    x = numbers_of(target, rng)
    y = np.where(x > 0, 2 * x + np.where(x > 0.5, 10, 0), 1.0)
    assert run(branches, target, x) == pytest.approx(np.where(x > 0, -x, x) + 100 * y, rel=1e-15)


def collatz(f, given, left):
    s, k = f.s, lane(f)
    s.n, s.steps = given[k], f.real(0.0)
    with f.repeat() as loop:
        loop.leave(s.n <= 1.0)
        half = s.n * 0.5
        held = vector_type(f.lanes, WHOLE)
        whole = f.to_real(f.emit(f"fptosi {half.typed} to {held}", WHOLE))
        s.n = f.where(whole.equals(half), half, f.fma(s.n, 3.0, 1.0))
        s.steps = s.steps + 1.0
    left[k] = s.steps


def test_lanes_leave_a_loop_one_by_one(target):
    def steps(n):
        count = 0
        while n > 1:
            n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
        return count

    numbers = np.arange(3, 3 + target.lanes)
    expected = [[steps(int(n)) for n in numbers]]
    assert np.array_equal(run(collatz, target, numbers), expected)


def arrays(f, given, left):
    """Squares of six numbers of each lane; negated where the first is below zero."""
    s, k, x = f.s, lane(f), f.array(6)
    kept, scratch = f.array(1), f.array(1, is_scratch=True)
    for i in range(6):
        x[i] = given[k + i * f.lanes]
    kept[0], scratch[0] = f.real(1.0), f.real(1.0)
    s.total = f.real(0.0)
    for i in f.rows(6):
        s.total = s.total + f.total(x[i] * x[i])
    with f.when(x[0] < 0.0):
        for i in f.rows(6):
            x[i] = -x[i]
        kept[0], scratch[0] = f.real(2.0), f.real(2.0)
        s.inside = scratch[0]
        s.total = s.total * s.inside
    for i in range(6):
        left[k + i * f.lanes] = x[i]
    left[k + 6 * f.lanes], left[k + 7 * f.lanes] = s.total, kept[0]
    largest = f.real(0.0)
    for i in f.rows(6):
        largest = f.most(largest, f.largest(x[i]))
        s.largest = largest
    left[k + 8 * f.lanes] = s.largest if f.lanes == 1 else f.real(0.0)


def test_arrays_are_blended_in_a_branch_and_scratch_serves_its_lanes(target, rng):
    x = numbers_of(target, rng, 6)
    found = run(arrays, target, x, 9)
    flipped = x[0] < 0
    assert np.array_equal(found[:6], np.where(flipped, -x, x))
    assert found[6] == pytest.approx((x**2).sum(axis=0) * np.where(flipped, 2, 1), rel=1e-14)
    assert np.array_equal(found[7], np.where(flipped, 2.0, 1.0))


def tables(f, given, left):
    """Entries chosen by each lane, and a sum over a loop of known length with cases in it."""
    s, k = f.s, lane(f)
    s.sum = f.real(0.0)
    for j in f.count(0, 5):
        for case in f.choose(j, [1, 3]):
            s.sum = s.sum + float(case)
        s.sum = s.sum + f.to_real(j) * given[k]
    with f.when(given[k] > 0.0):
        left[k] = s.sum
    for i in f.each(40):
        left[k + (i + 1) * f.lanes] = given[k]


def test_a_variable_is_not_read_outside_of_the_branch_that_made_it(target):
    f = Flow(target)
    s = f.s
    with f.when(f.truth(True)):
        s.inside = f.real(1.0)
        assert s.inside.kind == REAL
    with pytest.raises(ValueError, match="'inside' is read outside of the branch"):
        _ = s.inside
    with pytest.raises(AttributeError, match="'never' is read before"):
        _ = s.never
    s.declare(REAL, "declared")
    with f.when(f.truth(True)):
        s.declared = f.real(2.0)
    assert s.declared.kind == REAL
