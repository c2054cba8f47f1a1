"""`Servo`: the forces by which a mechanism follows the commands of a driver.

Each channel's speed y follows the commanded one y* with a limited acceleration,

    (1)  ẏ = clip(k (y* − y), ±a),      y* = command, or clip(k_p (command − place), ±rate)

by the forces that inverse dynamics gives for it, D u = ẏ − a (see `channels.accelerations`). Speed
inputs follow the same law as states of their own, so that nothing with inertia jumps.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.analysis.inverse import solve_inputs
from noslip.engines.system import Array, System
from noslip.simulation.input_plan import AbstractInputLaw, InputGenerator
from noslip.studio.driving.channels import accelerations
from noslip.studio.driving.helm import FORCE, PLACE, Helm

#: Gains of places and speeds, 1/s.
KP, KV = 3.0, 8.0


class AbstractRule(AbstractInputLaw):
    """A law whose parameters follow the commands of a driver."""

    __slots__ = ()

    @abc.abstractmethod
    def numbers(self, t: float, commands: Array) -> tuple[Array, float]:
        """The law's parameters from a time on, and until when they hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Servo(AbstractRule):
    """(1) for all channels; the commands are parameters of the law.

    Parameters
    ----------
    helm : channels and the motors that serve them.
    commands : (nc,) at the start.
    """

    helm: Helm
    commands: Array

    def numbers(self, t: float, commands: Array) -> tuple[Array, float]:
        """The commands, until they change."""
        return commands, np.inf

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
