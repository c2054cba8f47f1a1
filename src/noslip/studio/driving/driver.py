"""`Driver`: a mechanism that moves in real time under the commands of a driver.

The forces are those of a `Servo`, or of a `Rider` for what must be balanced. The motion is
integrated natively in short pieces, the commands held in each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.simulation import rules
from noslip.simulation.inputs import InputPlan, plan_inputs
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.runner import NativeResult, run_native
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.segments import Leg, Place, carried, drive
from noslip.simulation.simulate import PROJECTION_TOLERANCE
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import Trajectory
from noslip.studio.driving.helm import Helm
from noslip.studio.driving.rider import make_rider
from noslip.studio.driving.servo import AbstractRule, Servo

#: Tolerance of the integration, and the longest piece of time it does at once, s.
TOLERANCE, PIECE = 1e-8, 0.1
#: Sine of the angle between a wheel and the ground below which it has fallen over: 60° of lean.
FALLEN = 0.5
#: Samples of a drive that are kept; then every second one is dropped.
KEPT = 20_000


class Driver:
    """Moves a system on from a start.

    Parameters
    ----------
    system : compiled system.
    helm : what is commanded.
    values : (np,) parameter vector.
    start : where it stands.
    """

    def __init__(self, system: System, helm: Helm, values: Array, start: Start) -> None:
        self.system, self.values = system, values
        self._begin = start
        self._here = system
        self._step, self.t = 0.0, start.time
        work = np.zeros(1 if system.does_work else 0)
        self._state = np.concatenate([start.q, start.eta, start.mu, work])
        self._take(helm, start.q, start.v)
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
        self.commands[k] = self.helm.channels[k].within(value)

    def stop(self) -> None:
        """Set all commands to zero but those that cannot be, such as the speed of a bicycle."""
        for k, channel in enumerate(self.helm.channels):
            if channel.lower <= 0.0:
                self.commands[k] = 0.0

    def change(self, helm: Helm) -> None:
        """Go on with other channels, from the speed it has."""
        q, v = self.q, self.v
        self._state = self._state[: self._here.num_states]
        self._take(helm, q, v)

    def advance(self, seconds: float) -> None:
        """Move on by so much time, at most `PIECE`.

        Raises
        ------
        SimulationError : if the motion cannot go on.
        """
        end = self.t + min(seconds, PIECE)
        begin = Leg(self.t, self._state, self._step)
        for driven in drive(
            Place(self._here),
            begin,
            end,
            lambda place, leg: self._integrate(place, leg, end),
            self._carry,
            self.values,
        ):
            result = driven.result
            self._counts += np.array([result.steps, result.rejections, result.evaluations])
            self._state, self._step, self.t = result.state.copy(), result.step, result.time
            self._result = result
            if len(result.times):
                self._record(result.times[-1], result.states[-1], result.inputs[-1:])
            if result.code != rules.FINISHED and not driven.goes_on:
                self._refuse(result)
        self._check_upright()

    def trajectory(self, since: float = -np.inf) -> Trajectory:
        """What has been driven so far, from a time on."""
        kept = [_cut(segment, segment.t >= since) for segment in self._segments]
        return self._assembled([segment for segment in kept if len(segment.t)])

    def piece(self) -> Trajectory:
        """What was driven last: the last two samples."""
        last = self._segments[-1]
        return self._assembled([_cut(last, slice(-2, None))])

    def _assembled(self, segments: list[Segment]) -> Trajectory:
        if self._result is None or not segments:
            raise SimulationError("nothing has been driven yet", "drive", "drive a little first")
        return assemble(
            self.system,
            segments,
            self.values,
            self._result,
            self._here,
            self._begin,
            stop=None,
            events=None,
            counts=self._counts.tolist(),
            reactions=False,
            rtol=TOLERANCE,
            atol=TOLERANCE,
            method="dop853",
        )

    def _take(self, helm: Helm, q: Array, v: Array) -> None:
        """These channels from now on; what cannot stand still is commanded to go on as it does."""
        self.helm = helm
        now = [float(c.row @ v) if c.least > 0 else 0.0 for c in helm.channels]
        # to digits that a slider shows
        held = [c.within(float(f"{x:.6g}")) for c, x in zip(helm.channels, now, strict=True)]
        self.commands = np.array(held)
        self._rule: AbstractRule = Servo(helm=helm, commands=self.commands)
        if helm.balance is not None and helm.is_balanced:
            self._rule = make_rider(helm, helm.balance, self.t, self.commands[0], q, v)
        self._plan = self._planned(self._here)
        if self._plan.generator is not None:
            self._state = np.concatenate([self._state, self._plan.generator.start])

    def _planned(self, system: System) -> InputPlan:
        return plan_inputs(system, self._rule, self.values)

    def _integrate(self, place: Place, leg: Leg, end: float) -> NativeResult:
        """To a time, or to where the rule changes its numbers."""
        here, plan = self._here, self._plan
        numbers, until = self._rule.numbers(leg.time, self.commands)
        nz = len(leg.state) - here.num_states
        absolute = np.full(len(leg.state), TOLERANCE)
        if here.does_work:
            absolute[here.num_states - 1] = 1e300
        return run_native(
            IntegrationPlan(
                rates=here.rates.address,
                parameters=self.values,
                start_time=leg.time,
                end_time=min(end, until),
                start_state=leg.state,
                num_generator_states=nz,
                sample_times=np.array([end] if end <= until else []),
                base_inputs=plan.base,
                generator=plan.address,
                generator_parameters=np.concatenate([self.values, numbers]),
                num_inputs=len(here.inputs),
                project=here.projection.address if here.has_projection else 0,
                projection_tolerance=PROJECTION_TOLERANCE,
                health_floors=place.floors,
                relative_tolerance=TOLERANCE,
                absolute_tolerance=absolute,
                step=leg.step,
                max_steps=20_000,
                direct_steps=20_000,
            )
        )

    def _check_upright(self) -> None:
        """Stop where what must be balanced leans too far to come back."""
        if self.helm.balance is None:
            return
        here, inputs = self._here, self._segments[-1].inputs[-1]
        x = self._state[: here.num_states]
        margins = here.rates(self.t, x, inputs, self.values)[here.num_states :]
        for health, margin in zip(here.health, margins, strict=True):
            if health.kind == "contact" and margin < FALLEN:
                raise SimulationError(
                    f"it has fallen over: wheel '{health.name}' leans by more than 60°",
                    f"model '{self.system.model.name}', t = {self.t:.4g} s",
                    "start again, and ride more gently or let its balance be kept",
                )

    def _carry(self, here: Place, there: Place, result: NativeResult) -> Array:
        """Go on in other independent speeds where these no longer determine the motion."""
        state = carried(here.system, there.system, result.state, self.v)
        self._here = there.system
        self._plan = self._planned(there.system)
        return state

    def _refuse(self, result: NativeResult) -> None:
        raise SimulationError(
            f"the drive cannot go on: {_reason(self._here, result)}",
            f"model '{self.system.model.name}', t = {result.time:.4g} s",
            "start it again, and drive more gently there",
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
    if result.code == rules.SINGULAR:
        return system.health[result.index].sentence
    if result.code == rules.NON_FINITE:
        return "the forces it would need are not finite"
    return "the steps became too small"
