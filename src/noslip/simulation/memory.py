"""Where the vectors of a native run lie: one block of memory, and the setup with its addresses."""

from __future__ import annotations

import numpy as np

from noslip.simulation import loop
from noslip.simulation.dop853 import NUM_DENSE_TERMS
from noslip.simulation.plan import EMPTY, IntegrationPlan

Array = np.ndarray

CROSSINGS = 256  # events that do not end the run for which there is room before the loop pauses
_PAUSE, _NUM_CROSSINGS, _MOST_CROSSINGS = (
    loop.INTEGERS.index(name) for name in ("pause", "num_crossings", "most_crossings")
)


class Memory:
    """The vectors of one run, side by side, and the setup that tells the loop where they are."""

    __slots__ = (
        "_crossings",
        "_integers",
        "_kept",
        "_reals",
        "crossings",
        "inputs",
        "setup",
        "state",
        "states",
        "status",
        "times",
    )

    def __init__(self, plan: IntegrationPlan) -> None:
        tables = plan.tables
        offsets, starts = np.zeros(1, np.int64), EMPTY
        if tables:
            starts = np.concatenate([table.starts for table in tables])
            offsets = np.cumsum([0, *(table.starts.size for table in tables)])
        knots = EMPTY
        if starts.size or plan.knots.size or plan.update_times.size:
            knots = np.unique(np.concatenate([plan.knots, plan.update_times, starts]))
        # a step leaves at most CHECKS_PER_STEP crossings of each event
        in_a_step = loop.CHECKS_PER_STEP * plan.event_directions.size
        room = 2 * in_a_step + CROSSINGS if plan.num_endings < plan.event_directions.size else 0
        numbers = _numbers(plan)
        numbers |= {"num_knots": knots.size, "most_crossings": max(room - in_a_step, 0)}
        given = {
            "parameters": plan.parameters,
            "generator_parameters": plan.generator_parameters,
            "event_parameters": plan.event_parameters,
            "base": plan.base_inputs,
            "starts": starts,
            "knots": knots,
            "sample_times": plan.sample_times,
            "update_times": plan.update_times,
            "absolute": plan.absolute_tolerance,
            "floors": plan.health_floors,
            "directions": plan.event_directions,
            "status": np.array([0.0, plan.start_time, 0.0]),
            "y": plan.start_state,
        }
        count, ny, num_inputs = plan.sample_times.size + 1, plan.start_state.size, plan.num_inputs
        sizes = {name: vector.size for name, vector in given.items()}
        sizes |= _work_sizes(plan, numbers["row"])
        sizes |= {
            "coefficients": 4 * starts.size,
            "recorded_times": count,
            "recorded_states": count * ny,
            "recorded_inputs": count * num_inputs,
            "crossings": room * (ny + 2),
        }
        block = np.zeros(sum(sizes.values()))
        address, at = block.ctypes.data, 0
        places: dict[str, slice] = {}
        for name, size in sizes.items():
            places[name] = slice(at, at + size)
            numbers[name] = address + 8 * at
            at += size
        for name, vector in given.items():
            block[places[name]] = vector
        if tables:
            rows = np.concatenate([table.coefficients for table in tables])
            block[places["coefficients"]] = rows.ravel()
        if plan.generator == 0:
            numbers["inputs"] = numbers["base"]
        targets = np.array([table.index for table in tables], np.int64)
        segments = offsets[:-1].copy()
        integers = {"targets": targets, "offsets": offsets, "segments": segments}
        numbers |= {name: vector.ctypes.data for name, vector in integers.items()}
        self._kept = (block, *integers.values())
        self.status, self.state = block[places["status"]], block[places["y"]]
        self._crossings = block[places["crossings"]].reshape(room, ny + 2)
        self.crossings: list[Array] = []
        self.times = block[places["recorded_times"]]
        self.states = block[places["recorded_states"]].reshape(count, ny)
        self.inputs = block[places["recorded_inputs"]].reshape(count, num_inputs)
        self.setup = np.zeros(1, loop.SETUP)
        whole = self.setup.view(np.int64)
        self._integers = whole[: len(loop.INTEGERS)]
        self._reals = whole[len(loop.INTEGERS) :].view(np.float64)
        self._integers[:] = [numbers.get(name, 0) for name in loop.INTEGERS]
        self._reals[:] = _reals(plan)

    @property
    def time(self) -> float:
        """Where the loop ended."""
        return float(self._reals[0])

    @property
    def step(self) -> float:
        """The step size to continue with."""
        return float(self._reals[1])

    def integrate(self) -> int:
        """Run the loop until it ends or pauses for something else than room; the code."""
        while True:
            loop.integrate(self.setup)
            number = int(self._integers[_NUM_CROSSINGS])
            if number:
                self.crossings.append(self._crossings[:number].copy())
                self._integers[_NUM_CROSSINGS] = 0
            code = self.outcome()[0]
            is_full = number > self._integers[_MOST_CROSSINGS]
            if code != loop.PAUSED or not is_full:
                return code

    def run_on(self) -> None:
        """Let the next call of the loop go to the end."""
        self._integers[_PAUSE] = 0

    def outcome(self) -> list[int]:
        """Code, index, steps, rejections, evaluations and number of samples."""
        outcome: list[int] = self._integers[loop.OUTCOME].tolist()
        return outcome


def _numbers(plan: IntegrationPlan) -> dict[str, int]:
    """Addresses of functions and sizes."""
    ny, nz, num_health = plan.start_state.size, plan.num_generator_states, plan.health_floors.size
    return {
        "rates": plan.rates,
        "generator": plan.generator,
        "update": plan.update,
        "project": plan.project,
        "events": plan.events,
        "method": plan.method,
        "nx": ny - nz,
        "nz": nz,
        "ny": ny,
        "row": loop.padded(ny - nz + max(nz, num_health)),
        "num_inputs": plan.num_inputs,
        "num_tables": len(plan.tables),
        "num_samples": plan.sample_times.size,
        "num_updates": plan.update_times.size if plan.update else 0,
        "num_health": num_health,
        "num_events": plan.event_directions.size,
        "num_endings": plan.num_endings,
        "max_steps": plan.max_steps,
        "pause": plan.direct_steps,
    }


def _work_sizes(plan: IntegrationPlan, row: int) -> dict[str, int]:
    """Sizes of the vectors the loop works in."""
    ny, nz, num_events = (
        plan.start_state.size,
        plan.num_generator_states,
        plan.event_directions.size,
    )
    sizes = {"K": loop.NUM_ROWS * row, "F": NUM_DENSE_TERMS * ny, "newton": ny - nz + 1}
    sizes |= dict.fromkeys(("stage", "end", "next", "point"), loop.padded(ny))
    sizes |= dict.fromkeys(("left", "right", "at_end", "probe"), num_events)
    return sizes | {"health": plan.health_floors.size, "inputs": plan.num_inputs + nz}


def _reals(plan: IntegrationPlan) -> tuple[float, ...]:
    """Times and tolerances, in the order of ``loop.REALS``."""
    return (
        plan.start_time,
        plan.step,
        plan.end_time,
        plan.max_step,
        plan.relative_tolerance,
        plan.projection_tolerance,
        plan.start_time,
    )
