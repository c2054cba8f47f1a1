"""The same plan in lanes: what one run leaves is what a lane leaves among others.

Every run of `native_runs` whose functions can be traced goes through here: it is put into several
lanes of a batch, among runs that start elsewhere, so that lanes end, reject and stop at different
times. Masks are where mistakes hide.
"""

import dataclasses

import numpy as np
import pytest

from noslip.engines import Program, compile_wide
from noslip.simulation.batches.batch_code import LanePlan, TableSets, empty_results, run_lanes
from noslip.simulation.loop import rules
from noslip.simulation.native_run import EMPTY, NativeLoop, NativeResult

LANES = 8
#: Where the run itself stands among the others, which start a little elsewhere.
PLACES, COUNT = (0, 5, 11), 13
#: What a run begins with, unless it is given.
BEGUN = {
    **dict.fromkeys(("sample_times", "base_inputs", "generator_parameters"), EMPTY),
    **{"event_parameters": EMPTY, "step": 0.0, "max_step": np.inf, "max_steps": 2**62},
    "relative_tolerance": 1e-8,
}
WORDS = ("rates", "generator", "update", "project", "events")


def compare_in_lanes(loop: NativeLoop, values: dict, result: NativeResult, programs: dict) -> None:
    """Run a loop in lanes and compare, if it can be: `programs` are functions by address."""
    given = BEGUN | values
    addresses = {word: getattr(loop, word).address for word in WORDS if getattr(loop, word)}
    if not all(address in programs for address in addresses.values()):
        return  # a Python function is called back, which lanes cannot do
    for own in (given["generator_parameters"], given["event_parameters"]):
        if own.size and not np.array_equal(own, given["parameters"]):
            return  # one vector of parameters serves all functions of a batch
    if given["max_steps"] < 2**62 or np.isnan(loop.directions).any() or loop.direct_steps:
        return
    ny = given["start_state"].size
    traced = {word: programs[address] for word, address in addresses.items()}
    wide = compile_wide([_named(p, word) for word, p in traced.items()] + [_states(ny)], LANES)
    rng = np.random.default_rng(8)
    starts = np.tile(given["start_state"], (COUNT, 1)) * (1 + 0.05 * rng.normal(size=(COUNT, ny)))
    starts[list(PLACES)] = given["start_state"]
    results = empty_results(
        COUNT, ny, ny, len(loop.directions), 4,
        has_minimum=False, has_maximum=False, samples=np.zeros(0),
    )  # fmt: skip
    results.states[:], results.times[:] = starts, given["start_time"]
    results.steps_left[:] = given["step"]
    run_lanes(_lane_plan(loop, given, wide, ny), results, threads=1)
    # samples and the last event of one run may take further evaluations, across steps
    is_plain = not given["sample_times"].size and not loop.directions.size
    counts = ["num_steps", "num_rejections", *(["num_evaluations"] if is_plain else [])]
    expected = [result.steps, result.rejections, result.evaluations]
    for k in PLACES:
        assert (results.codes[k], results.which[k]) == (result.code, result.index)
        found = [getattr(results, word)[k] for word in counts]
        assert found == expected[: len(counts)]
        size = np.abs(result.state).max()
        assert results.times[k] == pytest.approx(result.time, rel=1e-9)
        assert results.states[k] == pytest.approx(result.state, rel=1e-7, abs=1e-7 * size)
        assert np.array_equal(results.states[k], results.states[PLACES[0]])


def _named(program: Program, name: str) -> Program:
    return dataclasses.replace(program, name=name)


def _states(ny: int) -> Program:
    """Columns that are the states themselves."""
    return Program("columns", (1, ny, 8, 8), (), (), tuple(range(1, 1 + ny)))


def _lane_plan(loop: NativeLoop, given: dict, wide: dict, ny: int) -> LanePlan:
    tables, base, method = loop.tables, given["base_inputs"], loop.method
    directions = loop.directions
    offsets = np.cumsum([0, *(table.starts.size for table in tables)])
    begins = np.concatenate([np.zeros(0), *(table.starts for table in tables)])
    times = np.concatenate([loop.knots, loop.update_times, begins])
    knots = np.unique(times)
    parameters = np.zeros(max(8, given["parameters"].size))
    parameters[: given["parameters"].size] = given["parameters"]
    return LanePlan(
        lanes=LANES,
        functions={name: function.address for name, function in wide.items()},
        num_states=ny - loop.num_generator_states,
        num_generator_states=loop.num_generator_states,
        num_inputs=base.size if loop.num_inputs < 0 else loop.num_inputs,
        num_columns=ny,
        method=loop.method,
        queue=np.arange(COUNT),
        parameters=parameters[None],
        base_inputs=given["base_inputs"][None],
        tables=TableSets(
            targets=np.array([table.index for table in tables], dtype=int),
            sets=np.zeros(0, dtype=int),
            first_segments=offsets[:-1],
            end_segments=offsets[1:],
            starts=begins,
            coefficients=np.concatenate([np.zeros((0, 4)), *(t.coefficients for t in tables)]),
            knot_offsets=np.array([0, knots.size]),
            knots=knots,
        ),
        end_time=given["end_time"],
        update_times=loop.update_times,
        sample_times=np.zeros(0),
        directions=loop.directions,
        num_endings=directions.size if loop.num_endings < 0 else loop.num_endings,
        health_floors=loop.floors,
        relative_tolerance=given["relative_tolerance"],
        absolute_tolerance=given["absolute_tolerance"],
        max_step=given["step" if method == rules.RK4 else "max_step"],
        max_steps=given["max_steps"],
        projection_tolerance=given["projection_tolerance"],
    )
