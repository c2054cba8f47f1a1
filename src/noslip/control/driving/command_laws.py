"""Input laws that follow the commands of a driver: `Servo`, and `Rider` for what must be balanced.

`Servo`: each channel's speed y follows the commanded one y* with a limited acceleration,

    (1)  ẏ = clip(k (y* − y), ±a),      y* = command, or clip(k_p (command − position), ±rate)

by the forces that inverse dynamics gives for it, D u = ẏ − a (see `channels.accelerations`). Speed
inputs follow the same law as states of their own, so that nothing with inertia jumps.

`Rider`: LQR gains scheduled over speed and turning rate (see `balancing.py`). The commands move the
operating point with limited rates, `STEP` seconds from one to the next. Between two of them x*, u*
and K are interpolated linearly,

    (2)  u = u*(t) − K(t) (x − x*(t))

A turn that would lean or steer by more than `REACH` is taken less tightly.
"""

from __future__ import annotations

import abc
from contextlib import suppress
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.control.driving.balancing import Balance, OperatingPoint
from noslip.control.driving.channels import FORCE, PLACE, DriveControls, accelerations
from noslip.control.reference.inverse import solve_inputs
from noslip.engines import System
from noslip.simulation import AbstractInputLaw, InputGenerator

#: Gains of places and speeds, 1/s.
KP, KV = 3.0, 8.0
#: Time between operating points, s, and the largest angle of a steady motion, rad.
STEP, REACH = 0.1, 0.5
#: How often a turn is made less tight, and a change of its rate, rad/s, that is not worth more.
TRIES, LITTLE = 5, 2e-3


class AbstractCommandLaw(AbstractInputLaw):
    """A law whose parameters follow the commands of a driver."""

    __slots__ = ()

    @abc.abstractmethod
    def parameters_at(self, t: float, commands: Array) -> tuple[Array, float]:
        """The law's parameters from a time on, and until when they hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Servo(AbstractCommandLaw):
    """(1) for all channels; the commands are parameters of the law.

    Parameters
    ----------
    controls : channels and the motors that serve them.
    commands : (nc,) at the start.
    """

    controls: DriveControls
    commands: Array

    def parameters_at(self, t: float, commands: Array) -> tuple[Array, float]:
        """The commands, until they change."""
        return commands, np.inf

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        controls = self.controls
        q = system.kinematics.symbols.q
        command = ca.SX.sym("command", len(controls.channels))
        imposed = [c for c in controls.channels if c.speed_input]
        w = ca.SX.sym("imposed", len(imposed))
        inputs: dict[str, ca.SX] = {}
        slopes, wanted, served = [], [], []
        for k, channel in enumerate(controls.channels):
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
            D, a = accelerations(system, served, controls.motors)
            u = solve_inputs(D, ca.vertcat(*wanted) - a)
            inputs |= {name: u[k] for k, name in enumerate(controls.motors)}
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


@dataclass(slots=True, kw_only=True, eq=False)
class Rider(AbstractCommandLaw):
    """(2), with the two operating points that a ride is between.

    Parameters
    ----------
    controls : speed, turning rate, and forces that are given as they are.
    balance : what keeps it upright.
    here, ahead : the operating points.
    since : time of the first one, s.
    held : commands that are met as far as they can be.
    """

    controls: DriveControls
    balance: Balance
    here: OperatingPoint
    ahead: OperatingPoint
    since: float
    held: tuple[float, float] = (np.nan, np.nan)

    def parameters_at(self, t: float, commands: Array) -> tuple[Array, float]:
        """x*, u* and K of both operating points, and the forces that are given."""
        if t >= self.since + STEP:
            self.here, self.since = self.ahead, t
            self.ahead = self._next((float(commands[0]), float(commands[1])))
        ends = (_flat(self.here), _flat(self.ahead))
        slope = (ends[1] - ends[0]) / STEP
        given = [c for k, c in enumerate(commands) if self.controls.channels[k].kind == FORCE]
        return np.concatenate([[self.since], ends[0], slope, given]), self.since + STEP

    def _next(self, commands: tuple[float, float]) -> OperatingPoint:
        """The next operating point on the way to a speed and a turning rate."""
        here = self.here
        if commands in (self.held, (here.speed, here.turning)):
            return here
        reached = zip((here.speed, here.turning), commands, self.controls.channels[:2], strict=True)
        speed, turning = (_towards(now, x, c.rate * STEP) for now, x, c in reached)
        for _ in range(TRIES):
            try:
                found = self.balance.operating_point(speed, turning, here)
            except SimulationError:
                turning *= 0.8
                continue
            tilt = self.balance.tilt(found)
            if tilt <= REACH:
                if speed == here.speed and abs(turning - here.turning) < LITTLE:
                    self.held = commands
                return found
            # angles grow about as the turning rate does
            turning *= 0.999 * REACH / tilt
        self.held = commands
        return here

    def generator(self, system: System) -> InputGenerator:
        """(2) in the symbols of this system."""
        balance = self.balance
        n, m = len(self.here.x), len(self.here.u)
        since = ca.SX.sym("since")
        ends = [ca.SX.sym(name, n + m + m * n) for name in ("point", "slope")]
        now = ends[0] + (system.kinematics.symbols.t - since) * ends[1]
        x, u, K = now[:n], now[n : n + m], ca.reshape(now[n + m :], n, m).T
        forces = u - ca.mtimes(K, balance.traced_states(system) - x)
        names = [c.force_input for c in self.controls.channels if c.kind == FORCE]
        given = ca.SX.sym("given", len(names))
        inputs = {name: forces[k] for k, name in enumerate(balance.motors)}
        inputs |= {name: given[k] for k, name in enumerate(names)}
        parameters, _ = self.parameters_at(self.since, np.zeros(len(self.controls.channels)))
        return InputGenerator(
            inputs={name: ca.densify(e) for name, e in inputs.items()},
            states=ca.SX(0, 1),
            rates=ca.SX(0, 1),
            start=np.zeros(0),
            names=(),
            units=(),
            parameters=ca.vertcat(since, *ends, given),
            parameter_values=parameters,
        )


def make_rider(
    controls: DriveControls, balance: Balance, t: float, speed: float, q: Array, v: Array
) -> Rider:
    """A rider who runs straight, or goes on in the turn that a state is in, whichever is nearer.

    Parameters
    ----------
    controls : what is commanded.
    balance : what keeps it upright.
    t : s.
    speed : m/s.
    q, v : the state.
    """
    first = balance.operating_point(speed, 0.0)
    with suppress(SimulationError):
        turn = balance.operating_point(speed, balance.turning(q, v), first)
        if balance.tilt(turn) <= REACH and balance.cost(turn, q, v) < balance.cost(first, q, v):
            first = turn
    return Rider(controls=controls, balance=balance, here=first, ahead=first, since=t)


def _flat(point: OperatingPoint) -> Array:
    return np.concatenate([point.x, point.u, point.gains.ravel()])


def _towards(now: float, wanted: float, step: float) -> float:
    return now + min(max(wanted - now, -step), step)


def _clip(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)
