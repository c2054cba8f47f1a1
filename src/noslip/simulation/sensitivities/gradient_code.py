"""A closed loop and its adjoint as native code, as in `gradient.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca

from noslip.engines import NativeFunction, System
from noslip.simulation.sensitivities.closed_loop import (
    ClosedLoop,
    Definitions,
    Inputs,
    after_update,
    carried_over,
    close_loop,
    structure,
)
from noslip.simulation.sensitivities.tangents import reverse
from noslip.simulation.sensitivities.variables import INPUT, NUMBER, PARAMETER, TABLE, Variable

_BY_PARAMETER = (PARAMETER, NUMBER)


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientCode:
    """Native functions of (t, y, b, p), and pulls of (t, [y; l], b, p). See :func:`gradient_code`.

    A pull is a vector-Jacobian product: [G_yᵀl; G_bᵀl if base inputs are variables; G_pᵀl of the
    parameters that are].
    """

    loop: ClosedLoop
    wants_base: bool
    places: tuple[int, ...]  # of the parameters that are variables
    terminal_text: str | None
    misfit_text: str | None
    measured: tuple[str, ...]
    _carried: dict[System, tuple[NativeFunction, NativeFunction]] = field(
        default_factory=dict, repr=False
    )

    @cached_property
    def rates(self) -> NativeFunction:
        """[ẏ; health]."""
        return self.loop.compile("rates", ca.vertcat(self.loop.rates, self.loop.health()))

    @cached_property
    def project(self) -> NativeFunction | None:
        """y on the constraints, and the residual before."""
        if not self.loop.system.has_projection:
            return None
        return self.loop.compile("project", ca.vertcat(*self.loop.projection()))

    @cached_property
    def update(self) -> NativeFunction | None:
        """y after an update of a sampled law."""
        return (
            self.loop.compile("update", after_update(self.loop)) if self.loop.is_sampled else None
        )

    def carry(self, there: System) -> NativeFunction:
        """y in the speeds of another system."""
        return self._carry(there)[0]

    @cached_property
    def pull(self) -> NativeFunction:
        """Pull of the rates."""
        return self._pull("pull", self.loop.rates)

    @cached_property
    def pull_project(self) -> NativeFunction | None:
        """Pull of the projection."""
        if not self.loop.system.has_projection:
            return None
        return self._pull("pull_project", self.loop.projection()[0])

    @cached_property
    def pull_update(self) -> NativeFunction:
        """Pull of the update of a sampled law."""
        return self._pull("pull_update", after_update(self.loop))

    def pull_carry(self, there: System) -> NativeFunction:
        """Pull of the conversion to other independent speeds; l in those."""
        return self._carry(there)[1]

    @cached_property
    def terminal(self) -> NativeFunction | None:
        """[value; derivatives as of a pull] of the terminal expression."""
        if self.terminal_text is None:
            return None
        value = self.loop.output(self.terminal_text, "terminal expression")
        return self.loop.compile("terminal", ca.vertcat(value, self._pulled(value, ca.SX(1))))

    @cached_property
    def misfit(self) -> NativeFunction | None:
        """[value; derivatives as of a pull] of the misfit, of (t, y, [b; measured], p)."""
        if self.misfit_text is None:
            return None
        symbols = {name: ca.SX.sym(name) for name in self.measured}
        value = self.loop.output(self.misfit_text, "misfit", symbols)
        base = ca.vertcat(self.loop.base, *symbols.values())
        pulled = ca.vertcat(value, self._pulled(value, ca.SX(1)))
        return self.loop.compile("misfit", pulled, base=base)

    @cached_property
    def _uses_work(self) -> bool:
        """Whether the work is part of the objective; if not, nothing depends on it."""
        loop = self.loop
        texts = {"terminal expression": self.terminal_text, "misfit": self.misfit_text}
        symbols = {name: ca.SX.sym(name) for name in self.measured}
        values = [loop.output(text, where, symbols) for where, text in texts.items() if text]
        work = loop.system.state[-1]
        return bool(ca.depends_on(ca.vertcat(loop.rates, *values), work))

    def _carry(self, there: System) -> tuple[NativeFunction, NativeFunction]:
        if there not in self._carried:
            expression = carried_over(self.loop, there)
            self._carried[there] = (
                self.loop.compile("carry", expression),
                self._pull("pull_carry", expression),
            )
        return self._carried[there]

    def _pull(self, name: str, expression: ca.SX) -> NativeFunction:
        loop = self.loop
        symbols = ca.SX.sym("l", expression.shape[0])
        weights = ca.SX(symbols)
        if loop.system.does_work and not self._uses_work:
            weights[loop.system.num_states - 1] = 0
        x = ca.vertcat(loop.y, symbols)
        return loop.compile(name, self._pulled(expression, weights), x=x)

    def _pulled(self, expression: ca.SX, weights: ca.SX) -> ca.SX:
        by_state, by_base, by_parameter = reverse(self.loop, expression, weights)
        parts = [by_state, by_base] if self.wants_base else [by_state]
        return ca.vertcat(*parts, *(by_parameter[k] for k in self.places))


def gradient_code(
    system: System,
    inputs: Inputs,
    definitions: Definitions,
    variables: Sequence[Variable],
    *,
    terminal: str | None,
    running: str | None,
    misfit: str | None,
    measured: tuple[str, ...],
) -> GradientCode:
    """The code for a system and a request, cached."""
    wants_base = any(v.kind in (INPUT, TABLE) for v in variables)
    # start values have no place
    places = tuple(sorted({v.place for v in variables if v.kind in _BY_PARAMETER}))
    asked = (terminal, running, misfit, measured, wants_base, places)

    def make() -> GradientCode:
        return GradientCode(
            loop=close_loop(system, inputs, definitions, running),
            wants_base=wants_base,
            places=places,
            terminal_text=terminal,
            misfit_text=misfit,
            measured=measured,
        )

    return system.cached(("gradient", structure(inputs, definitions), asked), make)
