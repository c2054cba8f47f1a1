"""Where the numbers of a batch lie: what all workers share, and the memory of each."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from noslip.simulation import rules
from noslip.simulation.batches.arrays import Array, LanePlan, LaneResults
from noslip.simulation.batches.kernels import dense_names, kernels, stage_names
from noslip.simulation.batches.setup import REAL_ROWS, WORD_ROWS, WORKER
from noslip.simulation.dop853 import NUM_DENSE_TERMS

METHODS = {"dop853": rules.DOP853, "rk4": rules.RK4}


class Shared:
    """The part of a worker's record that all workers share."""

    def __init__(self, plan: LanePlan, results: LaneResults) -> None:
        self.status = np.zeros(1, np.int64)
        addresses, self.kept = kernels(plan.lanes)
        is_rk4 = plan.method == "rk4"
        stages = np.array([addresses[name] for name in stage_names(plan.method)], np.int64)
        dense_stages = np.array([addresses[name] for name in dense_names()], np.int64)
        tables = plan.tables
        vectors: dict[str, Array] = {
            "stages": stages,
            "dense_stages": dense_stages,
            "queue": np.ascontiguousarray(plan.queue, np.int64),
            "counter": np.zeros(1, np.int64),
            "starts": _doubles(plan.starts),
            "start_times": _doubles(plan.start_times),
            "start_steps": _doubles(plan.steps),
            "start_filled": np.ascontiguousarray(plan.filled, np.int64),
            "parameter_rows": _doubles(plan.parameters),
            "base_rows": _doubles(plan.base_inputs),
            "knot_offsets": np.ascontiguousarray(tables.knot_offsets, np.int64),
            "knots": _doubles(tables.knots),
            "first_segments": np.ascontiguousarray(tables.first_segments, np.int64),
            "end_segments": np.ascontiguousarray(tables.end_segments, np.int64),
            "segment_starts": _doubles(tables.starts),
            "coefficients": _doubles(tables.coefficients),
            "targets": np.ascontiguousarray(tables.targets, np.int64),
            "update_times": _doubles(plan.update_times),
            "sample_times": _doubles(plan.sample_times),
            "directions": _doubles(plan.directions),
            "is_terminal": np.ascontiguousarray(plan.is_terminal, np.int64),
            "status": self.status,
        }
        if tables.sets.size:
            vectors["table_sets"] = np.ascontiguousarray(tables.sets, np.int64)
        for name in LaneResults.__slots__:
            if getattr(results, name).size:
                vectors[name] = getattr(results, name)
        self.numbers: dict[str, Any] = {k: v.ctypes.data for k, v in vectors.items()}
        self.numbers |= {name.lower(): address for name, address in plan.functions.items()}
        self.numbers |= {
            "end": addresses["rk4_end" if is_rk4 else "dop853_end"],
            "dense": addresses["cubic" if is_rk4 else "dop853_dense"],
            **{name: addresses[name] for name in ("interpolate", "is_rough", "blend")},
            **{name: addresses[name] for name in ("is_finite", "is_healthy")},
            **{name: addresses[name] for name in ("norms", "euler", "second_norm")},
        }
        self.numbers |= _units(plan)
        self.numbers |= _sizes(plan, results, len(stages))
        self.vectors = vectors


def _units(plan: LanePlan) -> dict[str, int]:
    """Addresses of the parts of the loop that this run needs; they are compiled when first used."""
    from noslip.simulation.batches.loop import integrate_lanes
    from noslip.simulation.batches.rates import make_inputs
    from noslip.simulation.batches.steps import close_step
    from noslip.simulation.native import is_on_disk

    units: dict[str, Any] = {"close_step": close_step}
    if plan.tables.targets.size or plan.functions.get("generator"):
        units["make_inputs"] = make_inputs
    if plan.directions.size:
        from noslip.simulation.batches.events import find_events, find_roots

        units |= {"find_events": find_events, "find_roots": find_roots}
    if plan.directions.size or plan.sample_times.size:
        from noslip.simulation.batches.samples import take_samples

        units["take_samples"] = take_samples
    if not all(is_on_disk(f) for f in (integrate_lanes, *(u.compiled for u in units.values()))):
        print("compiling the batch loop for this machine, once: some seconds", file=sys.stderr)
    return {name: function.address for name, function in units.items()}


def _sizes(plan: LanePlan, results: LaneResults, num_stages: int) -> dict[str, Any]:
    nx, nz, num_health = plan.num_states, plan.num_generator_states, plan.health_floors.size
    return {
        "lanes": plan.lanes,
        "method": METHODS[plan.method],
        "nx": nx,
        "nz": nz,
        "ny": nx + nz,
        "row": nx + max(nz, num_health),
        "num_inputs": plan.num_inputs,
        "num_base": plan.base_inputs.shape[1],
        "num_parameters": plan.parameters.shape[1],
        "parameter_stride": plan.parameters.shape[1] if len(plan.parameters) > 1 else 0,
        "base_stride": plan.base_inputs.shape[1] if len(plan.base_inputs) > 1 else 0,
        "num_tables": plan.tables.targets.size,
        "num_updates": plan.update_times.size if plan.functions.get("update") else 0,
        "num_samples": plan.sample_times.size,
        "num_health": num_health,
        "num_events": plan.directions.size,
        "num_angles": results.angles.shape[1],
        "max_events": results.event_times.shape[2],
        "num_columns": plan.num_columns,
        "queue_length": plan.queue.size,
        "max_steps": plan.max_steps,
        "num_stages": num_stages,
        "has_more": 1,
        "end_time": plan.end_time,
        "max_step": plan.max_step,
        "relative": plan.relative_tolerance,
        "projection": plan.projection_tolerance,
    }


class Worker:
    """One worker's record, and its memory in one block, all vectors at whole cache lines."""

    def __init__(self, plan: LanePlan, shared: Shared) -> None:
        lanes, sizes = plan.lanes, shared.numbers
        ny, num_events = sizes["ny"], sizes["num_events"]
        rows = {"reals": len(REAL_ROWS), "words": len(WORD_ROWS), "segments": sizes["num_tables"]}
        rows |= dict.fromkeys(("y", "stage", "end_state", "next", "point", "other", "absolute"), ny)
        rows |= {"k": rules.NUM_ROWS * sizes["row"], "f": NUM_DENSE_TERMS * ny}
        rows |= {"base": sizes["num_base"], "inputs": sizes["num_inputs"] + sizes["nz"]}
        rows |= {"parameters": sizes["num_parameters"], "newton": sizes["nx"] + 1}
        rows |= dict.fromkeys(("before", "after", "at_end", "probe", "roots"), num_events)
        rows |= {"values": sizes["num_columns"], "settings": 2}
        floors = ("floors", "stage_floors", "near_floors", "health_copy")
        rows |= dict.fromkeys(floors, sizes["num_health"])
        line = 8  # doubles in a cache line
        lengths = {name: -(-count * lanes // line) * line for name, count in rows.items()}
        block = np.zeros(sum(lengths.values()) + line)
        at = (-block.ctypes.data // 8) % line
        places: dict[str, Array] = {}
        for name, length in lengths.items():
            places[name] = block[at : at + rows[name] * lanes].reshape(rows[name], lanes)
            at += length
        places["absolute"][:] = plan.absolute_tolerance[:, None]
        places["settings"][0], places["settings"][1] = plan.relative_tolerance, ny
        places["floors"][:] = plan.health_floors[:, None]
        places["stage_floors"][:] = rules.STAGE_FLOOR * plan.health_floors[:, None]
        places["near_floors"][:] = rules.NEAR_FLOOR * plan.health_floors[:, None]
        places["words"].view(np.int64)[WORD_ROWS.index("INDEX")] = -1
        if not sizes.get("generator"):
            places["inputs"] = places["base"]
        self.record = np.zeros(1, WORKER)
        numbers = sizes | {name: place.ctypes.data for name, place in places.items()}
        numbers["here"] = self.record.ctypes.data
        for name, number in numbers.items():
            self.record[name] = number
        self._kept = (block, shared)


def _doubles(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)
