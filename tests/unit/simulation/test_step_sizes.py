"""The next step: against the rule written in exact words, and what it is there for."""

import ctypes
import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from noslip.engines import Given, Target, Value, stored_machine_code
from noslip.engines.ir_writer import PLACE, WHOLE
from noslip.simulation.loop.rules import SAFETY, next_step
from noslip.simulation.loop.steps import next_step as loop_next_step
from noslip.simulation.loop.writer import LoopWriter, Shape

# Errors of a few roundings of numbers near 1.
ROUNDING = 1e-13
H = 0.02


def run(densities, h=H):
    """Sizes of steps where an error is 1 at so many steps a second, and which were rejected."""
    before = mean = 0.0
    may_grow, sizes, rejected = True, [], []
    for density in densities:
        while True:
            error = (h * density) ** 8
            sizes.append(h)
            rejected.append(error > 1.0)
            h, before, mean = next_step(h, error, may_grow and not rejected[-1], before, mean)
            may_grow = not rejected[-1]
            if may_grow:
                break
    return np.array(sizes), np.array(rejected)


@cache
def in_lanes(lanes):
    """The loop's own choice, printed for so many lanes: h, error, may grow, before, mean."""
    w = LoopWriter(Shape(target=Target(lanes=lanes), nx=1))
    f, s = w.f, w.s
    given, left = Given(f, Value(f, "%setup", PLACE, 1)), Given(f, Value(f, "%left", PLACE, 1))
    counter = f.array(1, WHOLE)
    counter[0] = f.whole(0)
    k = f.take(counter.at(0))
    s.h_try, error, may_grow, s.density, s.mean = (given[k + i * lanes] for i in range(5))
    left[k] = loop_next_step(w, error, may_grow > 0.0)
    left[k + lanes], left[k + 2 * lanes] = s.density, s.mean
    text = [f.body("chosen", ("setup", "work", "left")), *sorted(f.declared)]
    engine = stored_machine_code("\n".join(text))
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
    return call(engine.get_function_address("chosen")), f.work_size, engine


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("may_grow", [False, True])
def test_the_loop_chooses_the_next_step_by_the_rule(may_grow, lanes):
    call, size, _ = in_lanes(lanes)
    errors = (0.0, 1e-12, 1e-3, 0.1, 1.0, 5.0, 900.0, 1e9, np.inf, np.nan)
    for error, before, mean in product(errors, (0.0, 20.0, 40.0, 90.0), (30.0, 70.0, 400.0)):
        mean = mean if before else 0.0
        given = np.repeat([[H], [error], [float(may_grow)], [before], [mean]], lanes, axis=1)
        left, work = np.zeros((3, lanes)), np.zeros(size + 8)
        call(given.ctypes.data, -(-work.ctypes.data // 64) * 64, left.ctypes.data)
        chosen = next_step(H, error, may_grow, before, mean)
        for found in left.T:
            assert tuple(found) == pytest.approx(chosen, rel=ROUNDING), (error, before, mean)


@pytest.mark.parametrize(
    ("error", "expected"), [(1e3, 1.0 / 3.0), (1e30, 1.0 / 3.0), (math.inf, 0.1)]
)
def test_errors_that_tell_nothing_are_not_remembered(error, expected):
    size, *remembered = next_step(H, error, True, 30.0, 40.0)
    assert size == pytest.approx(expected * H, rel=ROUNDING)
    assert remembered == [30.0, 40.0]


def test_a_step_after_an_error_that_is_small_by_accident_is_not_tried_in_vain():
    # an error of a hundredth now and then: alone it would ask for a step 1.4 times too long
    densities = np.where(np.arange(60) % 6 == 5, 50.0 * 0.01**0.125, 50.0)
    sizes, rejected = run(densities, h=SAFETY / 50.0)
    assert not rejected.any()
    assert 50.0 * sizes.max() < 1.0


def test_a_density_that_rises_is_met_before_steps_are_rejected():
    densities = 50.0 * 1.25 ** np.arange(20)
    assert not run(densities, h=SAFETY / 50.0)[1][1:].any()
