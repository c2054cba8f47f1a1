"""`Recorder`: native runs with recorded steps, for the adjoint.

Runs of the same code are done one after the other in one memory. Their steps are recorded in
chunks, with a checkpoint of the memory at the start of each but the first. The steps of the newest
chunks are kept, as many as there is room for; older ones are recomputed from their checkpoint when
the adjoint sweep needs them, to the same bits. Ctrl-C is handled between two chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.base import Array
from noslip.engines import NativeFunction, address, work_memory
from noslip.simulation import rules
from noslip.simulation.loop.adjoint import PULL, Pull, adjoint_code
from noslip.simulation.native_run import NativeResult, NativeRun

CHUNK = 1024  # steps
MOST_NUMBERS = 2**23  # of recorded steps that are kept, 64 MiB


@dataclass(slots=True)
class _Chunk:
    """Checkpoint at the start of a chunk, none at that of a run; its steps as long as kept."""

    words: Array | None
    times: Array | None = None
    states: Array | None = None


@dataclass(slots=True)
class Recorded:
    """A run whose steps were recorded: what it began with, what it left, and its steps."""

    values: Mapping[str, Array]
    result: NativeResult
    chunks: list[_Chunk]


class Recorder:
    """Runs of the same code with recorded steps.

    Parameters
    ----------
    run : the first of them, of a loop that records steps; others differ in the vectors
        `parameters`, `base` and `states`.
    chunk : steps.
    most : numbers of recorded steps that are kept of a run.
    """

    def __init__(self, run: NativeRun, *, chunk: int = CHUNK, most: int = MOST_NUMBERS) -> None:
        self._run, self._begun, self._start_time = run, run.words.copy(), run.time
        ny = run.state.size
        self._times, self._states = np.empty(chunk + 1), np.empty((chunk + 1, ny))
        self._room = max(1, most // max(1, chunk * ny))

    def forward(self, values: Mapping[str, Array] | None = None) -> Recorded:
        """Run to the end with these vectors in place of those of the first run."""
        values = values or {}
        self._run.set(self._begun, values)
        chunks: list[_Chunk] = []
        while not chunks or self._run.code == rules.PAUSED:
            chunks.append(_Chunk(self._run.words.copy() if chunks else None))
            self._take(chunks[-1])
            if len(chunks) > self._room:
                chunks[-self._room - 1].times = chunks[-self._room - 1].states = None
        return Recorded(values, self._run.result().copy(), chunks)

    def _take(self, chunk: _Chunk) -> None:
        """Compute the steps of a chunk from its checkpoint."""
        times, states = self._times, self._states
        times[0], states[0] = self._run.time, self._run.state
        count = self._run.record_steps(times[1:], states[1:]) + 1
        chunk.times, chunk.states = times[:count].copy(), states[:count].copy()

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
        self._found = {
            "weights": np.zeros(self._states.shape[1]),
            "by_base": np.zeros(num_base),
            "by_coefficients": np.zeros(4 * num_segments),
            "by_parameters": np.zeros(num_parameters),
        }
        self._pulls = np.zeros(1, PULL)
        for name, vector in self._found.items():
            self._pulls[name] = address(name, vector)
        self._pulls["pull"], self._pulls["begin"] = pull.address, self._start_time
        self._pulls["pull_project"] = pull_project.address if pull_project else 0
        way = Pull(
            num_base=num_base,
            num_parameters=num_parameters,
            has_projection=pull_project is not None,
        )
        step_back, size, _ = adjoint_code(self._run.layout.back_shape, way)
        self._work, aligned = work_memory(size)
        record = address("record", self._run.words, kind=np.int64)
        pulls_at = address("pulls", self._pulls, kind=PULL)

        def go() -> None:
            step_back(record, pulls_at, aligned)

        self._go: Callable[[], None] = go

    def back(
        self, recorded: Recorded, weights: Array, added: Sequence[tuple[float, Array]] = ()
    ) -> dict[str, Array]:
        """Adjoint sweep over all steps, from the end of a run to its start.

        Parameters
        ----------
        recorded : by this recorder.
        weights : λ at the end.
        added : times at which steps end, increasing, and what is added to λ there.

        Returns
        -------
        found : ``weights``, ``by_base``, ``by_coefficients`` and ``by_parameters``, copied.
        """
        for vector in self._found.values():
            vector[:] = 0.0
        self._found["weights"][:] = weights
        waiting = list(added)
        for chunk in reversed(recorded.chunks):
            is_first = chunk.words is None
            self._run.set(*((self._begun, recorded.values) if is_first else (chunk.words, {})))
            if chunk.times is None or chunk.states is None:
                self._take(chunk)
            assert chunk.times is not None and chunk.states is not None
            end = len(chunk.times) - 1
            while waiting and (is_first or waiting[-1][0] >= chunk.times[0]):
                time, along = waiting.pop()
                at = max(int(np.searchsorted(chunk.times, time, side="right")) - 1, 0)
                self._steps(chunk.times, chunk.states, min(at, end), end)
                end = min(at, end)
                self._found["weights"] += along
            self._steps(chunk.times, chunk.states, 0, end)
            if not is_first:
                chunk.times = chunk.states = None
        return {name: vector.copy() for name, vector in self._found.items()}

    def _steps(self, times: Array, states: Array, first: int, end: int) -> None:
        """Sweep back from one recorded time to another."""
        if end == first:
            return
        steps = end + 1 - first
        self._pulls["step_times"] = address("step times", times[first:], steps)
        size = steps * self._states.shape[1]
        self._pulls["step_states"] = address("step states", states[first:], size)
        self._pulls["count"] = end - first
        self._go()
