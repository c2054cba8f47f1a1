"""`SteppedMotion`: a motion that goes on piece by piece under a law that may be exchanged.

For what a person or another program drives in real time: nothing but the present state is needed to
go on, and what was driven can be looked at as a trajectory at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from noslip.base import Array, SimulationError
from noslip.engines import System
from noslip.kinematics import SingularityMeasure
from noslip.simulation import rules
from noslip.simulation.input_laws import AbstractInputLaw
from noslip.simulation.input_plan import InputPlan, plan_inputs
from noslip.simulation.native_run import EMPTY, NativeLoop, NativeResult
from noslip.simulation.request import RunOptions
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.segments import ONE, Ends, Indices, SegmentBasis, carried, drive, end_of_one
from noslip.simulation.start import state_at
from noslip.simulation.starts.bases import run_start
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import Trajectory

#: Samples that are kept; then every second one is dropped.
KEPT = 20_000

#: Parameters of the law from a time on, s, and until when they hold.
ParametersAt = Callable[[float], tuple[Array, float]]


class SteppedMotion:
    """A motion from a start on.

    Parameters
    ----------
    system : compiled system.
    start : completed.
    law : of the inputs.
    values : (np,) parameters of the model.
    tolerance : of the integration.
    max_steps : of a piece.
    """

    def __init__(
        self,
        system: System,
        start: Start,
        law: AbstractInputLaw,
        values: Array,
        *,
        tolerance: float,
        max_steps: int,
    ) -> None:
        self._request = RunOptions(
            system=system,
            start_time=start.time,
            end_time=np.inf,
            times=EMPTY,
            rtol=tolerance,
            atol=tolerance,
            max_steps=max_steps,
            values=values,
        )
        self._start, self._values, self._law = start, values, law
        self._here, eta = run_start(system, start, values)
        self._plan = plan_inputs(self._here, law, values)
        self._state = state_at(self._here, start.q, eta, start.mu, self._plan)
        self._step, self.t, self._end = 0.0, start.time, start.time
        self._segments: list[Segment] = []
        self._counts = np.zeros(3, dtype=int)
        self._result: NativeResult | None = None
        self._loop: tuple[SegmentBasis, InputPlan, NativeLoop] | None = None
        self._record(self._state, np.zeros((1, len(system.inputs))))

    @property
    def q(self) -> Array:
        """Coordinates now."""
        return self._state[: len(self._here.coordinates)]

    @property
    def v(self) -> Array:
        """Tree speeds now."""
        return self._here.motion(*self._now(), self._values)[: len(self._here.speeds)]

    @property
    def margins(self) -> list[tuple[SingularityMeasure, float]]:
        """Singularity measures, and their values now."""
        values = self._here.rates(*self._now(), self._values)[self._here.num_states :]
        return list(zip(self._here.singularity_measures, values.tolist(), strict=True))

    def _now(self) -> tuple[float, Array, Array]:
        return self.t, self._state[: self._here.num_states], self._segments[-1].inputs[-1]

    def change(self, law: AbstractInputLaw) -> None:
        """Go on under another law."""
        self._law = law
        self._state = self._state[: self._here.num_states]
        self._plan = plan_inputs(self._here, law, self._values)
        if self._plan.generator is not None:
            self._state = np.concatenate([self._state, self._plan.generator.start])

    def advance(self, end: float, parameters_at: ParametersAt) -> str:
        """Move on to a time, s; the reason why that cannot be done, "" if it was."""
        self._end, self._parameters_at = end, parameters_at
        drive(self, [(SegmentBasis(self._here), ONE)])
        assert self._result is not None
        if self._result.code == rules.FINISHED:
            return ""
        if self._result.code == rules.SINGULAR:
            return self._here.singularity_measures[self._result.index].sentence
        if self._result.code == rules.NON_FINITE:
            return "the forces it would need are not finite"
        return "the steps became too small"

    def trajectory(self, since: float = -np.inf) -> Trajectory:
        """What was driven from a time on, s."""
        kept = [_cut(segment, segment.t >= since) for segment in self._segments]
        return self._assembled([segment for segment in kept if len(segment.t)])

    def piece(self) -> Trajectory:
        """The last piece: the last two samples."""
        return self._assembled([_cut(self._segments[-1], slice(-2, None))])

    def _assembled(self, segments: list[Segment]) -> Trajectory:
        if self._result is None or not segments:
            raise SimulationError("no drive has been recorded yet", "drive", "drive a little first")
        return assemble(self._request, segments, self._result, self._start, self._counts.tolist())

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run to the end of a piece, or to where the parameters of the law change."""
        plan, request, end = self._plan, self._request, self._end
        parameters, until = self._parameters_at(self.t)
        if self._loop is None or self._loop[0] != basis or self._loop[1] is not plan:
            self._loop = basis, plan, _loop(basis, plan)
        result = (
            self._loop[2]
            .begin(
                parameters=self._values,
                start_time=self.t,
                end_time=min(end, until),
                start_state=self._state,
                sample_times=np.array([end] if end <= until else []),
                base_inputs=plan.base,
                generator_parameters=np.concatenate([self._values, parameters]),
                relative_tolerance=request.rtol,
                absolute_tolerance=request.absolute(len(self._state)),
                step=self._step,
                max_steps=request.max_steps,
            )
            .go()
        )
        self._counts += np.array([result.steps, result.rejections, result.evaluations])
        self._state, self._step, self.t = result.state.copy(), result.step, result.time
        self._result = result
        if len(result.times):
            self._record(result.states[-1], result.inputs[-1:])
        is_stop = result.code == rules.FINISHED and result.time < end
        is_singular = result.code == rules.SINGULAR
        return end_of_one(result, self._values) if is_stop or is_singular else None

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Go on in other independent speeds where these no longer determine the motion."""
        if there.system is here.system:
            return
        self._state = carried(here.system, there.system, self._state, self.v)
        self._here = there.system
        self._plan = plan_inputs(there.system, self._law, self._values)

    def _record(self, state: Array, inputs: Array) -> None:
        last = self._segments[-1] if self._segments else None
        if last is None or last.system is not self._here or last.plan is not self._plan:
            samples = np.array([self.t]), state[None].copy(), inputs.copy()
            crossings = np.zeros((0, 2 + len(state)))
            self._segments.append(Segment(self._here, self._plan, *samples, crossings))
            return
        thinned = _cut(last, slice(None, None, 2 if len(last.t) >= KEPT else 1))
        self._segments[-1] = thinned._replace(
            t=np.append(thinned.t, self.t),
            states=np.vstack([thinned.states, state]),
            inputs=np.vstack([thinned.inputs, inputs]),
        )


def _loop(basis: SegmentBasis, plan: InputPlan) -> NativeLoop:
    system = basis.system
    return NativeLoop(
        rates=system.rates,
        num_generator_states=plan.num_states,
        generator=plan.function,
        num_inputs=len(system.inputs),
        project=system.projection if system.has_projection else None,
        floors=basis.floors,
        direct_steps=10**9,
    )


def _cut(segment: Segment, kept: Any) -> Segment:
    """Some samples of a segment."""
    return segment._replace(
        t=segment.t[kept], states=segment.states[kept], inputs=segment.inputs[kept]
    )
