"""`Driver`: a mechanism that moves in real time under the commands of a driver.

The forces are those of a `Servo`, or of a `Rider` for what must be balanced. The motion is
integrated natively in short pieces, the commands held in each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noslip.base import Array, SimulationError
from noslip.control.driving.channels import DriveControls
from noslip.control.driving.command_laws import AbstractCommandLaw, Servo, make_rider
from noslip.engines import System
from noslip.simulation import (
    FINISHED,
    NON_FINITE,
    ONE,
    PROJECTION_TOLERANCE,
    SINGULAR,
    Ends,
    Indices,
    InputPlan,
    IntegrationPlan,
    NativeResult,
    RunRequest,
    Segment,
    SegmentBasis,
    Start,
    Trajectory,
    assemble,
    carried,
    drive,
    end_of_one,
    plan_inputs,
    run_native,
    run_start,
)

#: Tolerance of the integration, and the longest piece of time it does at once, s.
TOLERANCE, PIECE = 1e-8, 0.1
#: Steps of a piece.
MOST_STEPS = 20_000
#: Sine of the angle between a wheel and the ground below which it has fallen over: 60° of lean.
FALLEN = 0.5
#: Samples of a drive that are kept; then every second one is dropped.
KEPT = 20_000


class Driver:
    """Moves a system on from a start.

    Parameters
    ----------
    system : compiled system.
    controls : what is commanded.
    values : (np,) parameter vector.
    start : where it stands.
    """

    def __init__(
        self, system: System, controls: DriveControls, values: Array, start: Start
    ) -> None:
        self.system, self.values = system, values
        self._begin = start
        self._request = RunRequest(
            system=system,
            start_time=start.time,
            end_time=np.inf,
            times=np.zeros(0),
            rtol=TOLERANCE,
            atol=TOLERANCE,
            max_steps=MOST_STEPS,
            values=values,
        )
        self._end = start.time
        self._here, eta = run_start(system, start, values)
        self._step, self.t = 0.0, start.time
        work = np.zeros(1 if system.does_work else 0)
        self._state = np.concatenate([start.q, eta, start.mu, work])
        self._take(controls, start.q, start.v)
        self._segments: list[Segment] = []
        self._counts = np.zeros(3, dtype=int)
        self._result: NativeResult | None = None
        self._record(self.t, self._state, np.zeros((1, len(system.inputs))))

    @property
    def q(self) -> Array:
        """Coordinates now."""
        return self._state[: len(self.system.coordinates)]

    @property
    def v(self) -> Array:
        """Tree speeds now."""
        here = self._here
        inputs = self._segments[-1].inputs[-1]
        x = self._state[: here.num_states]
        return here.motion(self.t, x, inputs, self.values)[: len(here.speeds)]

    def command(self, k: int, value: float) -> None:
        """Set a channel, within what it can do."""
        self.commands[k] = self.controls.channels[k].within(value)

    def stop(self) -> None:
        """Set all commands to zero but those that cannot be, such as the speed of a bicycle."""
        for k, channel in enumerate(self.controls.channels):
            if channel.lower <= 0.0:
                self.commands[k] = 0.0

    def change(self, controls: DriveControls) -> None:
        """Go on with other channels, from the speed it has."""
        q, v = self.q, self.v
        self._state = self._state[: self._here.num_states]
        self._take(controls, q, v)

    def advance(self, seconds: float) -> None:
        """Move on by so much time, at most `PIECE`.

        Raises
        ------
        SimulationError : if the motion cannot go on.
        """
        self._end = self.t + min(seconds, PIECE)
        drive(self, [(SegmentBasis(self._here), ONE)])
        assert self._result is not None
        if self._result.code != FINISHED:
            self._refuse(self._result)
        self._check_upright()

    def trajectory(self, since: float = -np.inf) -> Trajectory:
        """Trajectory driven so far, from a given time on."""
        kept = [_cut(segment, segment.t >= since) for segment in self._segments]
        return self._assembled([segment for segment in kept if len(segment.t)])

    def piece(self) -> Trajectory:
        """Last piece of the trajectory: its last two samples."""
        last = self._segments[-1]
        return self._assembled([_cut(last, slice(-2, None))])

    def _assembled(self, segments: list[Segment]) -> Trajectory:
        if self._result is None or not segments:
            raise SimulationError("no drive has been recorded yet", "drive", "drive a little first")
        return assemble(self._request, segments, self._result, self._begin, self._counts.tolist())

    def _take(self, controls: DriveControls, q: Array, v: Array) -> None:
        """These channels from now on; what cannot stand still is commanded to go on as it does."""
        self.controls = controls
        now = [float(c.row @ v) if c.least > 0 else 0.0 for c in controls.channels]
        # to digits that a slider shows
        held = [c.within(float(f"{x:.6g}")) for c, x in zip(controls.channels, now, strict=True)]
        self.commands = np.array(held)
        self._law: AbstractCommandLaw = Servo(controls=controls, commands=self.commands)
        if controls.balance is not None and controls.is_balanced:
            self._law = make_rider(controls, controls.balance, self.t, self.commands[0], q, v)
        self._plan = self._planned(self._here)
        if self._plan.generator is not None:
            self._state = np.concatenate([self._state, self._plan.generator.start])

    def _planned(self, system: System) -> InputPlan:
        return plan_inputs(system, self._law, self.values)

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run to the end of a piece, or to where the parameters of the law change."""
        here, plan, request, end = self._here, self._plan, self._request, self._end
        parameters, until = self._law.parameters_at(self.t, self.commands)
        result = run_native(
            IntegrationPlan(
                rates=here.rates.address,
                parameters=self.values,
                start_time=self.t,
                end_time=min(end, until),
                start_state=self._state,
                num_generator_states=plan.num_states,
                sample_times=np.array([end] if end <= until else []),
                base_inputs=plan.base,
                generator=plan.address,
                generator_parameters=np.concatenate([self.values, parameters]),
                num_inputs=len(here.inputs),
                project=here.projection.address if here.has_projection else 0,
                projection_tolerance=PROJECTION_TOLERANCE,
                health_floors=basis.floors,
                relative_tolerance=request.rtol,
                absolute_tolerance=request.absolute(len(self._state)),
                step=self._step,
                max_steps=request.max_steps,
                direct_steps=request.max_steps,
            )
        )
        self._counts += np.array([result.steps, result.rejections, result.evaluations])
        self._state, self._step, self.t = result.state.copy(), result.step, result.time
        self._result = result
        if len(result.times):
            self._record(result.times[-1], result.states[-1], result.inputs[-1:])
        is_stop = result.code == FINISHED and result.time < end
        is_singular = result.code == SINGULAR
        return end_of_one(result, self.values) if is_stop or is_singular else None

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Go on in other independent speeds where these no longer determine the motion."""
        if there.system is here.system:
            return
        self._state = carried(here.system, there.system, self._state, self.v)
        self._here = there.system
        self._plan = self._planned(there.system)

    def _check_upright(self) -> None:
        """Stop where what must be balanced leans too far to come back."""
        if self.controls.balance is None:
            return
        here, inputs = self._here, self._segments[-1].inputs[-1]
        x = self._state[: here.num_states]
        margins = here.rates(self.t, x, inputs, self.values)[here.num_states :]
        for health, margin in zip(here.singularity_measures, margins, strict=True):
            if health.kind == "contact" and margin < FALLEN:
                raise SimulationError(
                    f"it has fallen over: wheel '{health.name}' leans by more than 60°",
                    f"model '{self.system.model.name}', t = {self.t:.4g} s",
                    "start again, and ride more gently or switch on balancing",
                )

    def _refuse(self, result: NativeResult) -> None:
        raise SimulationError(
            f"the drive cannot continue: {_reason(self._here, result)}",
            f"model '{self.system.model.name}', t = {result.time:.4g} s",
            "start again, and drive more gently there",
        )

    def _record(self, t: float, state: Array, inputs: Array) -> None:
        last = self._segments[-1] if self._segments else None
        if last is None or last.system is not self._here or last.plan is not self._plan:
            self._segments.append(
                Segment(
                    system=self._here,
                    plan=self._plan,
                    t=np.array([t]),
                    states=state[None].copy(),
                    inputs=inputs.copy(),
                    crossings=np.zeros((0, 2 + len(state))),
                )
            )
            return
        keep = slice(None, None, 2 if len(last.t) >= KEPT else 1)
        self._segments[-1] = last._replace(
            t=np.append(last.t[keep], t),
            states=np.vstack([last.states[keep], state]),
            inputs=np.vstack([last.inputs[keep], inputs]),
        )


def _cut(segment: Segment, kept: Any) -> Segment:
    """Some samples of a segment."""
    return segment._replace(
        t=segment.t[kept], states=segment.states[kept], inputs=segment.inputs[kept]
    )


def _reason(system: System, result: NativeResult) -> str:
    if result.code == SINGULAR:
        return system.singularity_measures[result.index].sentence
    if result.code == NON_FINITE:
        return "the forces it would need are not finite"
    return "the steps became too small"
