"""Where the numbers of a batch lie: the record that all workers share, and the work of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from noslip.engines.flow import Target
from noslip.simulation.batches.arrays import Array, LanePlan, LaneResults
from noslip.simulation.checks import METHODS
from noslip.simulation.loop.code import LoopCode, loop_code
from noslip.simulation.loop.shape import SETUP, Shape

LINE = 8  # words in a cache line


class Shared:
    """The record of a batch and the vectors it points to, and the code that runs it."""

    def __init__(self, plan: LanePlan, results: LaneResults) -> None:
        self.status = np.zeros(1)
        tables = plan.tables
        vectors: dict[str, Array] = {
            "queue": _words(plan.queue),
            "counter": np.zeros(1, np.int64),
            "starts": _doubles(plan.starts),
            "start_times": _doubles(plan.start_times),
            "start_steps": _doubles(plan.steps),
            "start_filled": _words(plan.filled),
            "parameters": _doubles(plan.parameters),
            "base": _doubles(plan.base_inputs),
            "table_sets": _words(tables.sets if tables.sets.size else np.zeros(len(plan.starts))),
            "knot_offsets": _words(tables.knot_offsets),
            "knots": _doubles(tables.knots),
            "first_segments": _words(tables.first_segments),
            "end_segments": _words(tables.end_segments),
            "segment_starts": _doubles(tables.starts),
            "coefficients": _doubles(tables.coefficients),
            "targets": _words(tables.targets),
            "update_times": _doubles(plan.update_times),
            "sample_times": np.append(_doubles(plan.sample_times), np.inf),
            "directions": _doubles(plan.directions),
            "absolute": _doubles(plan.absolute_tolerance),
            "floors": _doubles(plan.health_floors),
            "status": self.status,
        }
        vectors |= {name: getattr(results, name) for name in LaneResults.__slots__}
        numbers: dict[str, Any] = {k: v.ctypes.data for k, v in vectors.items()}
        numbers |= plan.functions
        numbers |= {
            "queue_length": plan.queue.size,
            "parameter_stride": plan.parameters.shape[1] if len(plan.parameters) > 1 else 0,
            "base_stride": plan.base_inputs.shape[1] if len(plan.base_inputs) > 1 else 0,
            "num_updates": plan.update_times.size if plan.functions.get("update") else 0,
            "num_samples": plan.sample_times.size,
            "max_steps": plan.max_steps,
            "max_events": results.event_times.shape[2],
            "end_time": plan.end_time,
            "max_step": plan.max_step,
            "relative": plan.relative_tolerance,
            "projection": plan.projection_tolerance,
        }
        self.record = np.zeros(1, SETUP)
        for name, number in numbers.items():
            self.record[name] = number
        self.code: LoopCode = loop_code(shape_of(plan, results))
        self._kept = vectors

    def work(self) -> None:
        """Run trajectories until there are none left; any number of threads may do so at once."""
        memory = np.zeros(self.code.work_size + LINE)
        begin = -(-memory.ctypes.data // 64) * 64
        self.code.integrate(self.record.ctypes.data, begin)


def shape_of(plan: LanePlan, results: LaneResults) -> Shape:
    """The shape of the loop that a batch needs."""
    num_angles = results.angles.shape[1]
    keeps = ("minimum", "maximum", "samples")
    return Shape(
        target=Target(lanes=plan.lanes),
        method=METHODS[plan.method],
        nx=plan.num_states,
        nz=plan.num_generator_states,
        num_health=plan.health_floors.size,
        num_inputs=plan.num_inputs,
        num_base=plan.base_inputs.shape[1],
        num_tables=plan.tables.targets.size,
        is_batch=True,
        num_parameters=plan.parameters.shape[1],
        num_events=plan.directions.size,
        num_endings=plan.num_endings,
        num_angles=num_angles,
        num_columns=plan.num_columns,
        keeps=tuple(name for name in keeps if getattr(results, name).size),
        has_generator=bool(plan.functions.get("generator")),
        has_update=bool(plan.functions.get("update")) and plan.update_times.size > 0,
        has_projection=bool(plan.functions.get("project")),
        has_knots=plan.tables.knots.size > 0 or plan.tables.targets.size > 0,
        has_samples=plan.sample_times.size > 0,
    )


def _doubles(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def _words(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.int64)
