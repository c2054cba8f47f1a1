"""A closed loop with derivatives as native code: state [y; Y by columns], as in `forward.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca

from noslip.engines import NativeFunction, Program, System
from noslip.simulation.input_plan import InputPlan
from noslip.simulation.sensitivities.closed_loop import (
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
from noslip.simulation.sensitivities.tangents import Seeds, forward
from noslip.simulation.sensitivities.variables import Variable


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
        rates, tangents = self._rates(self.Y)
        return self._compile("rates", ca.vertcat(rates, ca.vec(tangents), self.loop.health()))

    @cached_property
    def project(self) -> NativeFunction | None:
        """[y; Y] on the constraints and their derivatives; the larger of both changes."""
        if not self.loop.system.has_projection:
            return None
        projected, tangents, residual = self._projection(self.Y)
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
        return self._compile("outputs", ca.vertcat(values, ca.vec(self._forward(values, self.Y))))

    @cached_property
    def batch_programs(self) -> dict[str, Program]:
        """Rates, projection and columns of (t, [y; Y Θ], …, [p; θ]) for the loop of a batch.

        Derivatives are carried in units of θ, what they are taken by, so that motions of which
        every one has its own θ share their tolerances. Columns are [q; v; outputs], then their
        derivatives by columns, not scaled.
        """
        count, num_q = self.Y.shape[1], self.loop.system.kinematics.num_coordinates
        units = ca.SX.sym("theta", count)
        scaled = ca.SX.sym("scaled", *self.Y.shape)
        Y = ca.mtimes(scaled, ca.diag(1 / units))
        x = ca.vertcat(self.loop.y, ca.vec(scaled))

        def program(name: str, values: ca.SX, tangents: ca.SX, rest: ca.SX) -> Program:
            column = ca.vertcat(values, ca.vec(tangents), rest)
            return self.loop.program(name, column, x=x, base=self._base, more=units)

        def by_units(tangents: ca.SX) -> ca.SX:
            return ca.mtimes(tangents, ca.diag(units))

        rates, tangents = self._rates(Y)
        found = {"rates": program("rates", rates, by_units(tangents), self.loop.health())}
        if self.loop.system.has_projection:
            projected, tangents, residual = self._projection(Y)
            found["project"] = program("project", projected, by_units(tangents), residual)
        values = ca.vertcat(self.loop.y[:num_q, :], self._speeds, *self._outputs)
        found["columns"] = program("columns", values, self._forward(values, Y), ca.SX(0, 1))
        return found

    def plan(self, numbers: LoopValues) -> InputPlan:
        """The inputs in the form of a trajectory."""
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

    def _rates(self, Y: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Rates of y, and of Y."""
        loop = self.loop
        differentiated = ca.SX(loop.rates)
        if loop.system.does_work and not self._needs_work:
            differentiated[loop.system.num_states - 1] = 0
        return loop.rates, self._forward(differentiated, Y)

    def _projection(self, Y: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """y and Y after a step onto the constraints, and the larger of both changes."""
        projected, residual = self.loop.projection()
        tangents = self._forward(projected, Y)
        num_q = self.loop.system.kinematics.num_coordinates
        size, moved = ca.SX(1), ca.SX(0)
        for entry in ca.vertsplit(ca.vec(Y[:num_q, :])):
            size = ca.fmax(size, ca.fabs(entry))
        for entry in ca.vertsplit(ca.vec(tangents[:num_q, :] - Y[:num_q, :])):
            moved = ca.fmax(moved, ca.fabs(entry))
        return projected, tangents, ca.fmax(residual, moved / size)

    def _forward(self, expression: ca.SX, Y: ca.SX) -> ca.SX:
        return forward(self.loop, expression, Y, self.seeds)

    def _jump(self, name: str, expression: ca.SX) -> NativeFunction:
        tangents = self._forward(expression, self.Y)
        return self._compile(name, ca.vertcat(expression, ca.vec(tangents)))

    @property
    def _base(self) -> ca.SX:
        return ca.vertcat(self.loop.base, self.seeds.symbols)

    def _compile(self, name: str, expression: ca.SX) -> NativeFunction:
        x = ca.vertcat(self.loop.y, ca.vec(self.Y))
        return self.loop.compile(name, expression, x=x, base=self._base)


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
