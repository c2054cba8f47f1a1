"""The memory of a native run: one block of 64-bit words, and the setup at its head.

    [setup | given anew | the same in every run | work | samples]

A `Mold` is a plan laid out: where everything lies, which functions are called, and all numbers that
runs of the same code share. It is made once; `cast` makes the memory of one run from it, with the
numbers that differ from run to run. Molds may be shared by threads, memories may not.
"""

from __future__ import annotations

import struct
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from noslip.simulation.dop853 import NUM_DENSE_TERMS
from noslip.simulation.hermite import NUM_NODES
from noslip.simulation.plan import EMPTY, IntegrationPlan, Numbers
from noslip.simulation.rules import CHECKS_PER_STEP, NUM_ROWS, PAUSED
from noslip.simulation.single import loop
from noslip.simulation.single.across import report_steps
from noslip.simulation.single.events import find_event
from noslip.simulation.single.report import report_step
from noslip.simulation.single.setup import (
    INTEGERS,
    LANES,
    OUTCOME,
    REALS,
    SETTINGS,
    SETUP,
    padded,
)
from noslip.simulation.single.stages import take_stages

Array = np.ndarray
_Byte: Any = c_char

CROSSINGS = 256  # events that do not end the run for which there is room before the loop pauses

_PLACES = {name: k for k, name in enumerate((*INTEGERS, *REALS))}
_PAUSE, _MAX_STEPS, _NUM_CROSSINGS, _MOST_CROSSINGS = (
    _PLACES[name] for name in ("pause", "max_steps", "num_crossings", "most_crossings")
)
_NUM_SAMPLES, _TIMES, _STATES, _INPUTS = (
    _PLACES[name]
    for name in ("num_samples", "recorded_times", "recorded_states", "recorded_inputs")
)
_TIME, _STEP, _HERE, _CODE = (_PLACES[name] for name in ("time", "step", "here", "code"))
_HEAD = len(_PLACES)  # words of the setup
_SETTINGS = 8 * len(INTEGERS)  # bytes before them
_VECTORS = slice(_PLACES["parameters"], _PLACES["health"] + 1)  # addresses within the block
_pack_settings: Any = struct.Struct(f"{len(SETTINGS)}d").pack_into


class Mold:
    """A plan laid out in memory, for any number of runs."""

    __slots__ = (
        "_head",
        "_known",
        "_places",
        "_rest",
        "_room",
        "_samples",
        "begins_here",
        "event_parameters",
        "no_crossings",
        "num_inputs",
        "num_states",
        "state",
        "status",
    )

    def __init__(self, plan: IntegrationPlan) -> None:
        self.num_states, self.num_inputs = plan.start_state.size, plan.num_inputs
        self.begins_here = plan.direct_steps > 0
        self.no_crossings = np.zeros((0, 2 + self.num_states))
        # a step leaves at most CHECKS_PER_STEP crossings of each event
        in_a_step = CHECKS_PER_STEP * plan.event_directions.size
        self._room = 2 * in_a_step + CROSSINGS
        if plan.num_endings == plan.event_directions.size:
            self._room = 0
        shared, integers = _shared(plan)
        sizes = {
            "parameters": plan.parameters.size,
            "generator_parameters": plan.generator_parameters.size,
            "event_parameters": plan.event_parameters.size,
            "base": plan.base_inputs.size,
            "absolute": plan.absolute_tolerance.size,
            "state": self.num_states,
        }
        sizes |= {name: vector.size for name, vector in (shared | integers).items()}
        sizes |= _work_sizes(plan) | {"crossings": self._room * (self.num_states + 2)}
        places, at = {}, _HEAD
        for name, size in sizes.items():
            places[name] = slice(at, at + size)
            at += size
        self._samples = at  # here begin the samples, as many as a run has
        self.state, self.status = places["state"], places["status"]
        self.event_parameters = places["event_parameters"]
        image = np.zeros(places["segments"].stop, np.int64)
        for name, vector in shared.items():
            image.view(np.float64)[places[name]] = vector
        for name, vector in integers.items():
            image[places[name]] = vector
        numbers = _numbers(plan) | {name: 8 * place.start for name, place in places.items()}
        numbers |= {"num_knots": shared["knots"].size, "sample_times": 8 * at}
        numbers |= _first_node(plan, numbers["nodes"])
        numbers["most_crossings"] = max(self._room - in_a_step, 0)
        if plan.generator == 0:
            numbers["inputs"] = numbers["base"]
        image[: len(INTEGERS)] = [numbers.get(name, 0) for name in INTEGERS]
        # what is given anew lies between the head and the rest
        self._known = image.nbytes
        self._head = image[:_HEAD].tobytes()
        self._rest = image[self.state.stop :].tobytes()
        self._places = image[_VECTORS].copy()

    def cast(self, numbers: Numbers) -> Memory:
        """The memory of a run with these numbers."""
        count, ny = numbers.sample_times.size, self.num_states
        times = self._samples + count
        states = times + count + 1
        inputs = states + (count + 1) * ny
        words = np.zeros(inputs + (count + 1) * self.num_inputs, np.int64)
        reals = words.view(np.float64)
        # to join bytes takes a fifth of the time of np.concatenate
        vectors: tuple[Any, ...] = numbers.vectors
        words.data.cast("B")[: self._known] = b"".join((self._head, *vectors, self._rest))
        here = addressof(_Byte.from_buffer(words))
        np.add(self._places, here, out=words[_VECTORS])
        words[_HERE], words[_NUM_SAMPLES], words[_MAX_STEPS] = here, count, numbers.max_steps
        words[_TIMES], words[_STATES] = here + 8 * times, here + 8 * states
        words[_INPUTS] = here + 8 * inputs
        _pack_settings(words, _SETTINGS, *numbers.settings)
        reals[self._samples : times] = numbers.sample_times
        reals[self.status.start + 1] = numbers.start_time
        return Memory(self, words, reals, (times, states, inputs))

    def crossings(self, reals: Array) -> Array:
        """(room, 2 + ny) of a block: event, time and state of the events that go on."""
        width = self.num_states + 2
        return reals[self._samples - self._room * width : self._samples].reshape(-1, width)


class Memory:
    """The words of one run, and what Python looks at in them.

    Parameters
    ----------
    mold : it was cast from.
    words, reals : all of it, as integers and as numbers.
    samples : places of times, states and inputs of samples, with room for one more for an event.
    """

    __slots__ = ("_reals", "_samples", "crossings", "mold", "setup", "words")

    def __init__(
        self, mold: Mold, words: Array, reals: Array, samples: tuple[int, int, int]
    ) -> None:
        self.mold, self.words, self._reals, self._samples = mold, words, reals, samples
        self.setup: Array = np.ndarray((1,), SETUP, words)  # its head
        self.crossings: list[Array] = []

    @classmethod
    def of(cls, plan: IntegrationPlan) -> Memory:
        """The memory of a single run."""
        return Mold(plan).cast(plan.numbers)

    @property
    def status(self) -> Array:
        """(3,) cancel request, time reached, steps taken."""
        return self._reals[self.mold.status]

    @property
    def state(self) -> Array:
        """(ny,) at the start, then where the loop ended."""
        return self._reals[self.mold.state]

    @property
    def event_parameters(self) -> Array:
        """Parameters of the events, at their head the angles that these follow."""
        return self._reals[self.mold.event_parameters]

    @property
    def time(self) -> float:
        """Where the loop ended."""
        return self._reals.item(_TIME)

    @property
    def step(self) -> float:
        """The step size to continue with."""
        return self._reals.item(_STEP)

    def integrate(self) -> int:
        """Run the loop until it ends or pauses for something else than room; the code."""
        words = self.words
        while True:
            loop.integrate(self.setup)
            number = words.item(_NUM_CROSSINGS)
            if number:
                self.crossings.append(self.mold.crossings(self._reals)[:number].copy())
                words[_NUM_CROSSINGS] = 0
            code = words.item(_CODE)
            is_full = number > words.item(_MOST_CROSSINGS)
            if code != PAUSED or not is_full:
                return code

    def run_on(self) -> None:
        """Let the next call of the loop go to the end."""
        self.words[_PAUSE] = 0

    def outcome(self) -> list[int]:
        """Code, index, steps, rejections, evaluations and number of samples."""
        outcome: list[int] = self.words[OUTCOME].tolist()
        return outcome

    def samples(self, count: int) -> tuple[Array, Array, Array]:
        """(n,) times, (n, ny) states and (n, nu) inputs of the first samples."""
        times, states, inputs = self._samples
        ny, nu, reals = self.mold.num_states, self.mold.num_inputs, self._reals
        return (
            reals[times : times + count],
            reals[states : states + count * ny].reshape(count, ny),
            reals[inputs : inputs + count * nu].reshape(count, nu),
        )

    def noted(self) -> Array:
        """(k, 2 + ny) event, time and state of the events that did not end the run."""
        if not self.crossings:
            return self.mold.no_crossings
        return np.concatenate(self.crossings)


def _shared(plan: IntegrationPlan) -> tuple[dict[str, Array], dict[str, Array]]:
    """Numbers and integers that are the same in every run: tables, knots, floors, directions."""
    tables = plan.tables
    offsets, starts, rows = np.zeros(1, np.int64), EMPTY, EMPTY
    if tables:
        starts = np.concatenate([table.starts for table in tables])
        rows = np.concatenate([table.coefficients for table in tables]).ravel()
        offsets = np.cumsum([0, *(table.starts.size for table in tables)])
    knots = EMPTY
    if starts.size or plan.knots.size or plan.update_times.size:
        knots = np.unique(np.concatenate([plan.knots, plan.update_times, starts]))
    return {
        "starts": starts,
        "coefficients": rows,
        "knots": knots,
        "update_times": plan.update_times,
        "floors": plan.health_floors,
        "directions": plan.event_directions,
        "status": np.zeros(3),
    }, {
        "targets": np.array([table.index for table in tables], np.int64),
        "offsets": offsets,
        "segments": offsets[:-1],
    }


def _numbers(plan: IntegrationPlan) -> dict[str, int]:
    """Addresses of functions and sizes."""
    ny, nz, num_health = plan.start_state.size, plan.num_generator_states, plan.health_floors.size
    return {
        "rates": plan.rates,
        "generator": plan.generator,
        "update": plan.update,
        "project": plan.project,
        "events": plan.events,
        "take_stages": take_stages.address,
        "report_step": report_step.address,
        "report_steps": report_steps.address if plan.is_smooth else 0,
        "find_event": find_event.address if plan.events else 0,
        "method": plan.method,
        "nx": ny - nz,
        "nz": nz,
        "ny": ny,
        "row": _row(plan),
        "width": padded(ny),
        "num_nodes": _num_nodes(plan),
        "node_size": _node_size(plan),
        "num_inputs": plan.num_inputs,
        "num_tables": len(plan.tables),
        "num_updates": plan.update_times.size if plan.update else 0,
        "num_health": num_health,
        "num_events": plan.event_directions.size,
        "num_endings": plan.num_endings,
        "pause": plan.direct_steps,
    }


def _row(plan: IntegrationPlan) -> int:
    """Length of a row of K."""
    nz = plan.num_generator_states
    return padded(plan.start_state.size - nz + max(nz, plan.health_floors.size))


def _num_nodes(plan: IntegrationPlan) -> int:
    """How many ends of steps are kept: those of a polynomial, or the last one alone."""
    return NUM_NODES if plan.is_smooth else 1


def _node_size(plan: IntegrationPlan) -> int:
    """Words of a node: its time, the state, the end of the step from it, and its stages."""
    return LANES + 2 * padded(plan.start_state.size) + NUM_ROWS * _row(plan)


def _first_node(plan: IntegrationPlan, place: int) -> dict[str, int]:
    """Places in the first node, which is at a place itself; all in bytes."""
    width = 8 * padded(plan.start_state.size)
    y = place + 8 * LANES
    return {"node": place, "y": y, "end": y + width, "K": y + 2 * width}


def _work_sizes(plan: IntegrationPlan) -> dict[str, int]:
    """Sizes of the vectors the loop works in."""
    ny, nz, num_events = (
        plan.start_state.size,
        plan.num_generator_states,
        plan.event_directions.size,
    )
    sizes = {"nodes": _num_nodes(plan) * _node_size(plan), "stencil": 5 * NUM_NODES + 1}
    sizes |= {"F": NUM_DENSE_TERMS * ny, "newton": ny - nz + 1}
    sizes |= dict.fromkeys(("stage", "next", "point"), padded(ny))
    sizes |= dict.fromkeys(("left", "right", "at_end", "probe"), num_events)
    return sizes | {"health": plan.health_floors.size, "inputs": plan.num_inputs + nz}
