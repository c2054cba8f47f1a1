"""`Driver`: a mechanism that moves in real time under the commands of a driver.

Each channel's speed y follows the commanded one y* with a limited acceleration,

    (1)  ẏ = clip(k (y* − y), ±a),      y* = command, or clip(k_p (command − place), ±rate)

by the forces that inverse dynamics gives for it, D u = ẏ − a (see `channels.accelerations`). Speed
inputs follow the same law as states of their own, so that nothing with inertia jumps. The motion is
integrated natively in short pieces, the commands held in each.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import casadi as ca
import numpy as np

from noslip.analysis.inverse import solve_inputs
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.show.studio.channels import FORCE, PLACE, Helm, accelerations
from noslip.simulation.inputs import AbstractInputLaw, InputGenerator, InputPlan, plan_inputs
from noslip.simulation.plan import IntegrationPlan
from noslip.simulation.runner import NativeResult, run_native
from noslip.simulation.samples import Segment, assemble
from noslip.simulation.simulate import PROJECTION_TOLERANCE, other_basis
from noslip.simulation.single import loop
from noslip.simulation.start import Start
from noslip.simulation.trajectory import Trajectory

#: Gains of places and speeds, 1/s.
KP, KV = 3.0, 8.0
#: Tolerance of the integration, and the longest piece of time it does at once, s.
TOLERANCE, PIECE = 1e-8, 0.1
#: Samples of a drive that are kept; then every second one is dropped.
KEPT = 20_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Servo(AbstractInputLaw):
    """(1) for all channels; the commands are parameters of the law.

    Parameters
    ----------
    helm : channels and the motors that serve them.
    commands : (nc,) at the start.
    """

    helm: Helm
    commands: Array

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        helm = self.helm
        q = system.kinematics.symbols.q
        command = ca.SX.sym("command", len(helm.channels))
        imposed = [c for c in helm.channels if c.speed_input]
        w = ca.SX.sym("imposed", len(imposed))
        inputs: dict[str, ca.SX] = {}
        slopes, wanted, served = [], [], []
        for k, channel in enumerate(helm.channels):
            if channel.kind == FORCE:
                inputs[channel.force_input] = command[k]
                continue
            target = command[k]
            if channel.kind == PLACE:
                target = _clip(KP * (command[k] - q[channel.coordinate]), channel.rate)
            if channel.speed_input:
                j = imposed.index(channel)
                slope = _clip(KV * (target - w[j]), 4 * channel.rate)
                inputs |= {channel.speed_input: w[j], f"{channel.speed_input}_rate": slope}
                slopes.append(slope)
            else:
                limit = 4 * channel.rate if channel.kind == PLACE else channel.rate
                speed = ca.dot(ca.DM(channel.row), system.kinematics.v)
                wanted.append(_clip(KV * (target - speed), limit))
                served.append(channel)
        if served:
            D, a = accelerations(system, served, helm.motors)
            u = solve_inputs(D, ca.vertcat(*wanted) - a)
            inputs |= {name: u[k] for k, name in enumerate(helm.motors)}
        return InputGenerator(
            inputs={name: ca.densify(e) for name, e in inputs.items()},
            states=w,
            rates=ca.vertcat(*slopes) if slopes else ca.SX(0, 1),
            start=np.zeros(len(imposed)),
            names=tuple(f"drive.{c.speed_input}" for c in imposed),
            units=tuple(f"{c.unit}/s" for c in imposed),
            parameters=command,
            parameter_values=self.commands,
        )


def _clip(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)


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
        self.system, self.helm, self.values = system, helm, values
        self.commands = np.zeros(len(helm.channels))
        self._begin = start
        self._here = system
        self._plan = self._planned(system)
        work = np.zeros(1 if system.does_work else 0)
        z = self._plan.generator.start if self._plan.generator is not None else np.zeros(0)
        self._state = np.concatenate([start.q, start.eta, start.mu, work, z])
        self._step, self.t = 0.0, start.time
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
        largest = self.helm.channels[k].largest
        self.commands[k] = min(max(value, -largest), largest)

    def advance(self, seconds: float) -> None:
        """Move on by so much time, at most `PIECE`.

        Raises
        ------
        SimulationError : if the motion cannot go on.
        """
        end = self.t + min(seconds, PIECE)
        while self.t < end:
            result = self._integrate(end)
            self._counts += np.array([result.steps, result.rejections, result.evaluations])
            self._state, self._step, self.t = result.state.copy(), result.step, result.time
            self._result = result
            if len(result.times):
                self._record(result.times[-1], result.states[-1], result.inputs[-1:])
            if result.code == loop.FINISHED:
                return
            self._change_basis(result)

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
            counts=self._counts,
            reactions=False,
            rtol=TOLERANCE,
            atol=TOLERANCE,
            method="dop853",
        )

    def _planned(self, system: System) -> InputPlan:
        return plan_inputs(system, Servo(helm=self.helm, commands=self.commands), self.values)

    def _integrate(self, end: float) -> NativeResult:
        here, plan = self._here, self._plan
        nz = len(self._state) - here.num_states
        absolute = np.full(len(self._state), TOLERANCE)
        if here.does_work:
            absolute[here.num_states - 1] = 1e300
        return run_native(
            IntegrationPlan(
                rates=here.rates.address,
                parameters=self.values,
                start_time=self.t,
                end_time=end,
                start_state=self._state,
                num_generator_states=nz,
                sample_times=np.array([end]),
                base_inputs=plan.base,
                generator=plan.address,
                generator_parameters=np.concatenate([self.values, self.commands]),
                num_inputs=len(here.inputs),
                project=here.projection.address if here.has_projection else 0,
                projection_tolerance=PROJECTION_TOLERANCE,
                health_floors=np.array([h.floor for h in here.health]),
                relative_tolerance=TOLERANCE,
                absolute_tolerance=absolute,
                step=self._step,
                max_steps=20_000,
                direct_steps=20_000,
            )
        )

    def _change_basis(self, result: NativeResult) -> None:
        """Go on in other independent speeds where these no longer determine the motion."""
        following = None
        if result.code == loop.SINGULAR:
            following = other_basis(self._here, result, self.values)
        if following is None or following is self._here:
            raise SimulationError(
                f"the drive cannot go on: {_reason(self._here, result)}",
                f"model '{self.system.model.name}', t = {result.time:.4g} s",
                "start it again, and drive more gently there",
            )
        here = self._here
        nq, nf = len(here.coordinates), len(here.independent_speeds)
        v = self.v
        names = [s.name for s in following.speeds]
        eta = v[[names.index(s.name) for s in following.independent_speeds]]
        self._state = np.concatenate([self._state[:nq], eta, self._state[nq + nf :]])
        self._here, self._step = following, 0.0
        self._plan = self._planned(following)

    def _record(self, t: float, state: Array, inputs: Array) -> None:
        last = self._segments[-1] if self._segments else None
        if last is None or last.system is not self._here:
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
        self._segments[-1] = dataclasses.replace(
            last,
            t=np.append(last.t[keep], t),
            states=np.vstack([last.states[keep], state]),
            inputs=np.vstack([last.inputs[keep], inputs]),
        )


def _cut(segment: Segment, kept: Any) -> Segment:
    """Some samples of a segment."""
    return dataclasses.replace(
        segment, t=segment.t[kept], states=segment.states[kept], inputs=segment.inputs[kept]
    )


def _reason(system: System, result: NativeResult) -> str:
    if result.code == loop.SINGULAR:
        return system.health[result.index].sentence
    if result.code == loop.NON_FINITE:
        return "the forces it would need are not finite"
    return "the steps became too small"
