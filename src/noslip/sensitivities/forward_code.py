"""A closed loop with derivatives as native code: state [y; Y by columns], as in `forward.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca

from noslip.engines.native import NativeFunction
from noslip.engines.system import System
from noslip.sensitivities.closed_loop import (
    ClosedLoop,
    Definitions,
    Inputs,
    LoopValues,
    after_update,
    carried_over,
    close_loop,
    input_plan,
    structure,
)
from noslip.sensitivities.tangents import Seeds, forward
from noslip.sensitivities.variables import Variable
from noslip.simulation.input_plan import InputPlan


@dataclass(frozen=True, kw_only=True, eq=False)
class TangentCode:
    """Native functions of (t, [y; Y], [b; ∂b/∂θ of tables], p). Made by :func:`tangent_code`."""

    loop: ClosedLoop
    seeds: Seeds
    Y: ca.SX
    texts: Mapping[str, str]
    _carried: dict[System, NativeFunction] = field(default_factory=dict, repr=False)

    @cached_property
    def rates(self) -> NativeFunction:
        """[ẏ; Ẏ; health]."""
        loop = self.loop
        differentiated = ca.SX(loop.rates)
        if loop.system.does_work and not self._needs_work:
            differentiated[loop.system.num_states - 1] = 0
        rates = ca.vertcat(loop.rates, ca.vec(self._forward(differentiated)), loop.health())
        return self._compile("rates", rates)

    @cached_property
    def project(self) -> NativeFunction | None:
        """[y; Y] on the constraints and their derivatives; the larger of both changes."""
        if not self.loop.system.has_projection:
            return None
        projected, residual = self.loop.projection()
        tangents = self._forward(projected)
        num_q = self.loop.system.kinematics.num_coordinates
        size, moved = ca.SX(1), ca.SX(0)
        for entry in ca.symvar(self.Y[:num_q, :]):
            size = ca.fmax(size, ca.fabs(entry))
        for entry in ca.vertsplit(ca.vec(tangents[:num_q, :] - self.Y[:num_q, :])):
            moved = ca.fmax(moved, ca.fabs(entry))
        residual = ca.fmax(residual, moved / size)
        return self._compile("project", ca.vertcat(projected, ca.vec(tangents), residual))

    @cached_property
    def update(self) -> NativeFunction | None:
        """[y; Y] after an update of a sampled law."""
        return self._jump("update", after_update(self.loop)) if self.loop.is_sampled else None

    def carry(self, there: System) -> NativeFunction:
        """[y; Y] in the speeds of another system."""
        if there not in self._carried:
            self._carried[there] = self._jump("carry", carried_over(self.loop, there))
        return self._carried[there]

    @cached_property
    def outputs(self) -> NativeFunction:
        """[v; outputs], then their derivatives by columns."""
        values = ca.vertcat(self._speeds, *self._outputs)
        return self._compile("outputs", ca.vertcat(values, ca.vec(self._forward(values))))

    def plan(self, numbers: LoopValues) -> InputPlan:
        """The inputs as a trajectory knows them."""
        return input_plan(self.loop, numbers)

    @property
    def _speeds(self) -> ca.SX:
        return ca.densify(self.loop.put_in(self.loop.system.kinematics.v))

    @cached_property
    def _outputs(self) -> list[ca.SX]:
        return [self.loop.output(text, f"output '{name}'") for name, text in self.texts.items()]

    @property
    def _needs_work(self) -> bool:
        work = self.loop.system.state[-1]
        return any(bool(ca.depends_on(output, work)) for output in self._outputs)

    def _forward(self, expression: ca.SX) -> ca.SX:
        return forward(self.loop, expression, self.Y, self.seeds)

    def _jump(self, name: str, expression: ca.SX) -> NativeFunction:
        return self._compile(name, ca.vertcat(expression, ca.vec(self._forward(expression))))

    def _compile(self, name: str, expression: ca.SX) -> NativeFunction:
        x = ca.vertcat(self.loop.y, ca.vec(self.Y))
        return self.loop.compile(
            name, expression, x=x, base=ca.vertcat(self.loop.base, self.seeds.symbols)
        )


def tangent_code(
    system: System,
    inputs: Inputs,
    definitions: Definitions,
    variables: Sequence[Variable],
    outputs: Mapping[str, str],
) -> TangentCode:
    """The code for a system and a request, cached."""
    asked = tuple((v.name, v.kind, len(v.values)) for v in variables)
    key = ("tangents", structure(inputs, definitions), asked, tuple(outputs.items()))

    def make() -> TangentCode:
        loop = close_loop(system, inputs, definitions)
        count = sum(len(v.values) for v in variables)
        return TangentCode(
            loop=loop,
            seeds=Seeds(loop, variables),
            Y=ca.SX.sym("Y", loop.num_states, count),
            texts=outputs,
        )

    return system.cached(key, make)
