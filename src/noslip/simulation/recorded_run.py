"""`RecordedRun`: a native run with recorded steps, for the adjoint.

Steps are recorded in chunks, with a checkpoint of the loop's memory at the start of each. The steps
of the newest chunks are stored too, as many as there is room for; older ones are recomputed from
their checkpoint when the adjoint sweep needs them, to the same bits. Ctrl-C is handled between two
chunks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.engines import WHOLES, NativeFunction, address, work_address
from noslip.simulation import rules
from noslip.simulation.loop.adjoint import PULL, Pull, adjoint_code
from noslip.simulation.memory import MemoryTemplate
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.runner import NativeResult, result_of

Array = np.ndarray

CHUNK = 1024  # steps
MOST_NUMBERS = 2**23  # of recorded steps that are kept, 64 MiB


@dataclass(slots=True)
class AdjointDerivatives:
    """Derivatives accumulated by the adjoint sweep.

    Parameters
    ----------
    weights : (ny,) λ, by the state.
    base, parameters : by base inputs and by those parameters that are asked for.
    coefficients : one (k, 4) array for each table, by the coefficients of its segments.
    """

    weights: Array
    base: Array
    parameters: Array
    coefficients: list[Array]


@dataclass(slots=True)
class _Chunk:
    """Checkpoint at the start of a chunk, and its steps as long as they are stored."""

    words: Array
    times: Array | None = None
    states: Array | None = None


class RepeatedRun:
    """Runs of the same code, one after the other in one memory, with recorded steps.

    Parameters
    ----------
    plan : of the first run; the others differ in `parameters`, `base`, `states` and `absolute`.
    steps : that a run may take, at most.
    """

    def __init__(self, plan: IntegrationPlan, *, steps: int = CHUNK) -> None:
        template = MemoryTemplate(plan, records_steps=True)
        self._memory, ny = template.instantiate(plan.numbers), plan.start_state.size
        self._begun, self._start_time = self._memory.words.copy(), plan.start_time
        self._reals = self._memory.words.view(np.float64)
        self._times, self._states = np.empty(steps + 1), np.empty((steps + 1, ny))
        self._pulls: tuple[Array, dict[str, Array], Callable[[], None]] | None = None

    def _set(self, values: Mapping[str, Array]) -> None:
        """The memory as it is before a run with these values."""
        self._memory.words[:] = self._begun
        places = self._memory.template.places
        for name, vector in values.items():
            self._reals[places[name]] = vector

    def forward(self, values: Mapping[str, Array]) -> tuple[NativeResult, Array, Array]:
        """Run with these values; the result, and times and states of all steps.

        A run that takes more steps than there is room for ends with ``rules.PAUSED``.
        """
        self._set(values)
        times, states = self._times, self._states
        times[0], states[0] = self._memory.time, self._memory.state
        count = self._memory.record_steps(times[1:], states[1:])
        result = result_of(self._memory)
        result.state, result.times = result.state.copy(), result.times.copy()
        result.states, result.inputs = result.states.copy(), result.inputs.copy()
        return result, times[: count + 1].copy(), states[: count + 1].copy()

    def prepare_back(
        self,
        pull: NativeFunction,
        pull_project: NativeFunction | None,
        sizes: tuple[int, int, int],
    ) -> None:
        """Get ready for adjoint sweeps.

        Parameters
        ----------
        pull, pull_project : native functions as in `loop.adjoint`.
        sizes : of derivatives by base inputs, parameters and segments of tables.
        """
        num_base, num_parameters, num_segments = sizes
        vectors = {
            "weights": np.zeros(self._states.shape[1]),
            "by_base": np.zeros(num_base),
            "by_coefficients": np.zeros(4 * num_segments),
            "by_parameters": np.zeros(num_parameters),
        }
        pulls = np.zeros(1, PULL)
        for name, vector in vectors.items():
            pulls[name] = address(name, vector)
        pulls["pull"], pulls["begin"] = pull.address, self._start_time
        pulls["pull_project"] = pull_project.address if pull_project else 0
        way = Pull(
            num_base=num_base,
            num_parameters=num_parameters,
            has_projection=pull_project is not None,
        )
        step_back, size, _ = adjoint_code(self._memory.template.back_shape, way)
        work = np.zeros(size + 8)
        aligned = work_address(work, size)
        record = address("record", self._memory.words, kind=WHOLES)
        pulls_at = address("pulls", pulls, kind=PULL)
        self._kept_work = work

        def go() -> None:
            step_back(record, pulls_at, aligned)

        self._pulls = pulls, vectors, go

    def back(
        self,
        values: Mapping[str, Array],
        times: Array,
        states: Array,
        weights: Array,
        added: Sequence[tuple[float, Array]] = (),
    ) -> dict[str, Array]:
        """Adjoint sweep over recorded steps, from the end of a run to its start.

        Parameters
        ----------
        values, times, states : of the run, as :meth:`forward` had and gave them.
        weights : λ at the end.
        added : times at which steps end, increasing, and what is added to λ there.

        Returns
        -------
        found : ``weights``, ``by_base``, ``by_coefficients`` and ``by_parameters``, copied.
        """
        assert self._pulls is not None
        _, vectors, _ = self._pulls
        self._set(values)
        for vector in vectors.values():
            vector[:] = 0.0
        vectors["weights"][:] = weights
        end = len(times) - 1
        for time, along in reversed(added):
            at = min(max(int(np.searchsorted(times, time, side="right")) - 1, 0), end)
            self._steps(times, states, at, end)
            end = at
            vectors["weights"] += along
        self._steps(times, states, 0, end)
        return {name: vector.copy() for name, vector in vectors.items()}

    def _steps(self, times: Array, states: Array, first: int, end: int) -> None:
        """Sweep back from one recorded time to another."""
        if end == first:
            return
        assert self._pulls is not None
        pulls, _, go = self._pulls
        record = pulls[0]
        steps = end + 1 - first
        record["step_times"] = address("step times", times[first:], steps)
        size = steps * self._states.shape[1]
        record["step_states"] = address("step states", states[first:], size)
        record["count"] = end - first
        go()


class RecordedRun:
    """One piece of a run with recorded steps."""

    def __init__(
        self, plan: IntegrationPlan, *, chunk: int = CHUNK, most: int = MOST_NUMBERS
    ) -> None:
        self._plan, self._size, self._most = plan, chunk, most
        self._memory = MemoryTemplate(plan, records_steps=True).instantiate(plan.numbers)
        self._chunks: list[_Chunk] = []

    def forward(self) -> NativeResult:
        """Run to the end."""
        while True:
            chunk = _Chunk(self._memory.words.copy())
            self._chunks.append(chunk)
            self._take(chunk)
            room = max(1, self._most // max(1, self._size * self._plan.start_state.size))
            if len(self._chunks) > room:
                self._chunks[-room - 1].times = self._chunks[-room - 1].states = None
            if self._memory.outcome()[0] != rules.PAUSED:
                return self._result()

    def _take(self, chunk: _Chunk) -> None:
        """Compute the steps of a chunk from its checkpoint."""
        ny = self._plan.start_state.size
        times, states = np.empty(self._size + 1), np.empty((self._size + 1, ny))
        times[0], states[0] = self._memory.time, self._memory.state
        count = self._memory.record_steps(times[1:], states[1:])
        chunk.times, chunk.states = times[: count + 1].copy(), states[: count + 1].copy()

    def _result(self) -> NativeResult:
        """Result of the run, copied from its memory, which the adjoint sweep overwrites."""
        result = result_of(self._memory)
        return dataclasses.replace(
            result,
            state=result.state.copy(),
            times=result.times.copy(),
            states=result.states.copy(),
            inputs=result.inputs.copy(),
        )

    def back(
        self,
        found: AdjointDerivatives,
        pull: NativeFunction,
        pull_project: NativeFunction | None,
        added: Sequence[tuple[float, Array]] = (),
    ) -> None:
        """Adjoint sweep over all steps, from the end of the piece to its start.

        Parameters
        ----------
        found : λ at the end on entry, at the start on return; the others are added to.
        pull, pull_project : native functions as in `loop.adjoint`.
        added : times at which steps end, increasing, and what is added to λ there.
        """
        vectors = self._pull_vectors(found)
        pulls = np.zeros(1, PULL)
        for name, vector in vectors.items():
            pulls[name] = address(name, vector)
        pulls["pull"], pulls["begin"] = pull.address, self._plan.start_time
        pulls["pull_project"] = pull_project.address if pull_project else 0
        self._way = Pull(
            num_base=found.base.size,
            num_parameters=found.parameters.size,
            has_projection=pull_project is not None,
        )
        waiting = list(added)
        for chunk in reversed(self._chunks):
            self._memory.words[:] = chunk.words
            if chunk.times is None:
                self._take(chunk)
            self._chunk_back(chunk, pulls, vectors["weights"], waiting)
            chunk.times = chunk.states = None
        at = np.cumsum([0, *(len(c) for c in found.coefficients)])
        rows = vectors["by_coefficients"].reshape(-1, 4)
        for k, coefficients in enumerate(found.coefficients):
            coefficients += rows[at[k] : at[k + 1]]
        found.weights[:] = vectors["weights"]
        found.base += vectors["by_base"]
        found.parameters += vectors["by_parameters"]

    def _pull_vectors(self, found: AdjointDerivatives) -> dict[str, Array]:
        num_segments = sum(len(c) for c in found.coefficients)
        return {
            "weights": np.array(found.weights),
            "by_base": np.zeros(found.base.size),
            "by_coefficients": np.zeros(4 * num_segments),
            "by_parameters": np.zeros(found.parameters.size),
        }

    def _chunk_back(
        self, chunk: _Chunk, pulls: Array, weights: Array, waiting: list[tuple[float, Array]]
    ) -> None:
        """Adjoint sweep over the steps of a chunk; stops where something is added to λ."""
        assert chunk.times is not None and chunk.states is not None
        end, is_first = len(chunk.times) - 1, chunk is self._chunks[0]
        while waiting and (is_first or waiting[-1][0] >= chunk.times[0]):
            time, along = waiting.pop()
            at = max(int(np.searchsorted(chunk.times, time, side="right")) - 1, 0)
            self._steps_back(chunk, pulls, min(at, end), end)
            end = min(at, end)
            weights += along
        self._steps_back(chunk, pulls, 0, end)

    def _steps_back(self, chunk: _Chunk, pulls: Array, first: int, end: int) -> None:
        assert chunk.times is not None and chunk.states is not None
        times, states = chunk.times[first : end + 1], chunk.states[first : end + 1]
        pulls["step_times"] = address("step times", times, end + 1 - first)
        pulls["step_states"] = address(
            "step states", states, times.size * self._plan.start_state.size
        )
        pulls["count"] = end - first
        step_back, size, _ = adjoint_code(self._memory.template.back_shape, self._way)
        work = np.zeros(size + 8)
        record = address("record", self._memory.words, kind=WHOLES)
        step_back(record, address("pulls", pulls, kind=PULL), work_address(work, size))
