"""A run of a closed loop in pieces: each in one basis, between two updates of a sampled law.

The same for states alone and for states with their derivatives: `Code` says what is integrated and
how it jumps between two pieces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noslip.base import Array
from noslip.engines import NativeFunction, System
from noslip.simulation import rules
from noslip.simulation.native_run import InputTable, NativeLoop, NativeResult, NativeRun, driven
from noslip.simulation.request import RunOptions
from noslip.simulation.segments import ONE, Ends, Indices, SegmentBasis, drive, end_of_one
from noslip.simulation.sensitivities.closed_loop import ClosedLoop, LoopValues


class Code(Protocol):
    """A closed loop as native code: states to integrate, and their jumps."""

    @property
    def loop(self) -> ClosedLoop:
        """The closed loop."""

    @property
    def rates(self) -> NativeFunction:
        """Rates of the state, then health."""

    @property
    def project(self) -> NativeFunction | None:
        """The state after a step onto the constraints, and the residual before it."""

    @property
    def update(self) -> NativeFunction | None:
        """The state after an update of a sampled law."""

    def carry(self, there: System) -> NativeFunction:
        """The state converted to the independent speeds of another system."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentSettings:
    """Settings of a run in pieces.

    Parameters
    ----------
    run : when and how.
    absolute : absolute tolerance for each state.
    base, tables : base inputs of the code, and the tables that drive some of them.
    numbers : of the closed loop.
    """

    run: RunOptions
    absolute: Array
    base: Array
    tables: tuple[InputTable, ...]
    numbers: LoopValues


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jump:
    """A jump of the state at a time: to other independent speeds, or an update of a law."""

    code: Code
    time: float
    state: Array
    there: System | None  # None: an update of the law


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """A piece of a run: the jumps before it, its code and its result.

    Parameters
    ----------
    jumps : before it, in their order.
    code : it ran in.
    result : of the native loop.
    num_good : samples that count; one where the speeds fail is taken again in the next piece.
    """

    jumps: tuple[Jump, ...]
    code: Code
    result: NativeResult
    num_good: int


Run = Callable[[NativeRun], NativeResult]


def run_segments(
    code_of: Callable[[System], Code],
    system: System,
    state: Array,
    settings: SegmentSettings,
    run: Run,
    *,
    records_steps: bool = False,
) -> list[Piece]:
    """Pieces of a run, the last of which says how it ended.

    Parameters
    ----------
    code_of : the code in the speeds of a system.
    system : to start with.
    state : at the start.
    settings : of the run.
    run : runs one piece.
    records_steps : whether it records the ends of steps.
    """
    motion = _Pieces(code_of, system, state, settings, run, records_steps=records_steps)
    drive(motion, [(SegmentBasis(system), ONE)])
    return motion.pieces


class _Pieces:
    """A closed loop, for the driver of segments."""

    def __init__(
        self,
        code_of: Callable[[System], Code],
        system: System,
        state: Array,
        settings: SegmentSettings,
        run: Run,
        *,
        records_steps: bool,
    ) -> None:
        request = settings.run
        self._code_of, self._settings, self._run = code_of, settings, run
        self._records_steps = records_steps
        self._here = code_of(system)
        self._values = settings.numbers.p[: len(system.model.parameters)]
        law, start, end = self._here.loop.generator, request.start_time, request.end_time
        updates = law.update_times(start, end) if law else np.zeros(0)
        self._updates = updates[updates < end]
        self._time, self._state, self._step = request.start_time, state, request.step
        self._jumps: list[Jump] = []
        self._done = self._steps = 0
        self.pieces: list[Piece] = []

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run until the speeds fail, or to the next update of the law."""
        request, t = self._settings.run, self._time
        if self._updates.size and self._updates[0] <= t + 1e-12 * max(1.0, abs(t)):
            self._jump(None)
            self._updates = self._updates[1:]
        stop = float(self._updates[0]) if self._updates.size else request.end_time
        left = request._replace(
            step=self._step,
            max_steps=request.max_steps - self._steps,
            times=request.times[self._done :],
        )
        segment = dataclasses.replace(self._settings, run=left)
        loop = piece_loop(self._here, segment, t, stop, basis, records_steps=self._records_steps)
        result = self._run(begin_piece(loop, segment, t, stop, self._state))
        self._time, self._state, self._step = result.time, result.state, result.step
        self._steps += result.steps
        self._done += result.times.size
        jumps, self._jumps = tuple(self._jumps), []
        self.pieces.append(
            Piece(jumps=jumps, code=self._here, result=result, num_good=result.times.size)
        )
        is_stop = result.code == rules.FINISHED and result.time < request.end_time
        is_singular = result.code == rules.SINGULAR
        return end_of_one(result, self._values) if is_stop or is_singular else None

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Begin the next piece where this one ended, in other speeds if need be."""
        last = self.pieces[-1]
        num_good = int(np.sum(last.result.times < last.result.time))
        self._done -= last.num_good - num_good
        self.pieces[-1] = dataclasses.replace(last, num_good=num_good)
        if there.system is not here.system:
            self._jump(there.system)
            self._here = self._code_of(there.system)

    def _jump(self, there: System | None) -> None:
        """Apply a jump to the state."""
        jump = Jump(code=self._here, time=self._time, state=self._state, there=there)
        self._jumps.append(jump)
        self._state = _jumped(jump, self._settings)


def piece_loop(
    code: Code,
    settings: SegmentSettings,
    t: float,
    stop: float,
    basis: SegmentBasis,
    *,
    records_steps: bool = False,
) -> NativeLoop:
    """The native loop of a piece from t to a stop."""
    knots = settings.numbers.knots
    return NativeLoop(
        rates=code.rates,
        tables=settings.tables,
        knots=knots[(knots > t) & (knots < stop)],
        project=code.project,
        floors=basis.floors,
        method=settings.run.method_number,
        direct_steps=-1,
        records_steps=records_steps,
    )


def begin_piece(
    loop: NativeLoop,
    settings: SegmentSettings,
    t: float,
    stop: float,
    state: Array,
    own: Sequence[Array] = (),
) -> NativeRun:
    """A run of a piece; a sample at an update is taken after it.

    It may have parameters, base inputs and absolute tolerances of its `own`.
    """
    request = settings.run
    times = request.times
    parameters, base, absolute = own or (settings.numbers.p, settings.base, settings.absolute)
    return loop.begin(
        start_time=t,
        end_time=stop,
        start_state=state,
        sample_times=times if stop >= request.end_time else times[times < stop],
        relative_tolerance=request.rtol,
        step=request.step,
        max_step=request.max_step,
        max_steps=request.max_steps,
        parameters=parameters,
        base_inputs=base,
        absolute_tolerance=absolute,
    )


def _jumped(jump: Jump, settings: SegmentSettings) -> Array:
    """The state after a jump."""
    code = jump.code
    function = code.update if jump.there is None else code.carry(jump.there)
    assert function is not None
    base = driven(settings.base, settings.tables, jump.time)
    return function(jump.time, jump.state, base, settings.numbers.p)
