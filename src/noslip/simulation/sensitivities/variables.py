"""Variables of differentiation: parameters, numbers in definitions, start values and inputs.

Names are those of the call. A parameter of the model, a number among the definitions, a value that
the start gives, an input that is a number: one variable each. An input that is a table is as many
variables as it has values, ``torque[0]``, ``torque[1]``, ….

To add a kind: a branch in `_variable`, its seeds in `Variable`, and its line in the docs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, nearest
from noslip.engines import System
from noslip.simulation.expressions import units_by_name
from noslip.simulation.input_laws import AbstractInputLaw, Table
from noslip.simulation.input_plan import input_index, settable_inputs, table_entries
from noslip.simulation.native_run import InputTable
from noslip.simulation.request import with_regular_rows
from noslip.simulation.sensitivities.closed_loop import Definitions, Inputs
from noslip.simulation.starts.completion import Start
from noslip.simulation.starts.layout import layout_of

PARAMETER, NUMBER, START, INPUT, TABLE = "parameter", "number", "start", "input", "table"

#: Share by which a parameter is changed to see whether rows stay redundant.
_NUDGE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variable:
    """One name that derivatives are taken by.

    Parameters
    ----------
    name : as it was asked for.
    kind : parameter, number, start, input or table.
    place : among the parameters of the closed loop, or among the base inputs.
    values : (n,) what it is; of a table all its values, else one.
    unit : of it.
    table : as it was given, of a table.
    """

    name: str
    kind: str
    place: int
    values: Array
    unit: str
    table: Table | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its values one by one."""
        if self.kind != TABLE:
            return (self.name,)
        return tuple(f"{self.name}[{k}]" for k in range(len(self.values)))

    def basis(self, system: System, k: int) -> list[InputTable]:
        """Base inputs over time per unit of the table's value k, their rates among them."""
        assert self.table is not None
        one = np.zeros(len(self.values))
        one[k] = 1.0
        unit = dataclasses.replace(self.table, values=one)
        place, offset = input_index(system, self.name)
        return table_entries(system, unit, place, offset, self.name)


def read_variables(
    system: System,
    names: Sequence[str],
    *,
    start: Mapping[str, float] | Start | None,
    inputs: Inputs,
    definitions: Definitions,
    parameters: Array,
) -> tuple[Variable, ...]:
    """The variables of some names, checked."""
    if isinstance(names, str):
        raise SimulationError(
            f"with_respect_to is the text '{names}'",
            f"sensitivities of model '{system.model.name}'",
            f"give a list: with_respect_to=['{names}']",
        )
    if not names:
        raise SimulationError(
            "there is nothing to differentiate with respect to",
            f"sensitivities of model '{system.model.name}'",
            "name parameters, start values or inputs: with_respect_to=['m', …]",
        )
    found = [
        _variable(system, name, start, inputs, definitions, parameters)
        for name in dict.fromkeys(names)
    ]
    _check_rows(system, [v for v in found if v.kind == PARAMETER], parameters)
    return tuple(found)


def _variable(
    system: System,
    name: str,
    start: Mapping[str, float] | Start | None,
    inputs: Inputs,
    definitions: Definitions,
    parameters: Array,
) -> Variable:
    model = system.model
    names = [p.name for p in model.parameters]
    numbers = [n for n, value in definitions.items() if not isinstance(value, str)]
    if name in names:
        _check_not_folded(system, name)
        k = names.index(name)
        value = parameters[k : k + 1]
        return _one(name, PARAMETER, k, value, model.parameters[k].unit)
    if name in numbers:
        k = len(names) + numbers.index(name)
        return _one(name, NUMBER, k, definitions[name], "1")
    if name in layout_of(system).names:
        return _start_value(system, name, start)
    settable = settable_inputs(system)
    if name in settable:
        return _input(system, name, inputs)
    if name in definitions:
        raise SimulationError(
            f"definition '{name}' is requested, but it is the expression '{definitions[name]}'",
            f"sensitivities of model '{model.name}'",
            f"give it as a number: definitions={{'{name}': 0.1}}",
        )
    known = [*names, *numbers, *layout_of(system).names, *settable]
    raise SimulationError(
        f"there is no parameter, start value or input '{name}'",
        f"sensitivities of model '{model.name}'",
        nearest(str(name), known),
    )


def _one(name: str, kind: str, place: int, value: Any, unit: str) -> Variable:
    values = np.array(value, dtype=float).reshape(1)
    return Variable(name=name, kind=kind, place=place, values=values, unit=unit)


def _check_not_folded(system: System, name: str) -> None:
    if name in system.folded:
        raise SimulationError(
            f"parameter '{name}' is a constant in the compiled code",
            f"sensitivities of model '{system.model.name}'",
            f"leave '{name}' out of fold=… when compiling",
        )


def _start_value(system: System, name: str, start: Mapping[str, float] | Start | None) -> Variable:
    where = f"sensitivities of model '{system.model.name}'"
    if isinstance(start, Start):
        raise SimulationError(
            f"'{name}' is requested, but the start is already completed and is used as it is",
            where,
            f"give the start by name, including '{name}'",
        )
    if name not in (start or {}):
        raise SimulationError(
            f"'{name}' is requested, but the start does not give it",
            where,
            f"give it: start={{'{name}': …}}; values that are not given follow from those that are",
        )
    return _one(name, START, -1, (start or {})[name], units_by_name(system)[name])


def _input(system: System, name: str, inputs: Inputs) -> Variable:
    where = f"sensitivities of model '{system.model.name}'"
    if isinstance(inputs, AbstractInputLaw):
        raise SimulationError(
            f"input '{name}' is requested, but a law determines it",
            where,
            "use parameters or start values, or give the input as a number or a Table",
        )
    spec: Any = (inputs or {}).get(name, 0.0)
    if isinstance(spec, str | ca.Function):
        raise SimulationError(
            f"input '{name}' is requested, but it is an expression",
            where,
            "name its numbers: definitions={'amplitude': 0.1}, inputs={"
            f"'{name}': 'amplitude*sin(t)'}}, with_respect_to=['amplitude']",
        )
    k, _ = input_index(system, name)
    unit = system.inputs[k].unit
    if isinstance(spec, Table):
        return Variable(name=name, kind=TABLE, place=k, values=spec.values, unit=unit, table=spec)
    return _one(name, INPUT, k, spec, unit)


def _check_rows(system: System, variables: Sequence[Variable], parameters: Array) -> None:
    """Refuse a parameter that makes redundant rows independent: it takes a degree of freedom."""
    kin = system.kinematics
    if not kin.redundant:
        return
    rows = ca.vertcat(kin.velocities, kin.g)

    def check(name: str, k: int) -> None:
        nudged = parameters.copy()
        nudged[k] += _NUDGE * (abs(nudged[k]) or 1.0)
        if ca.depends_on(rows, kin.symbols.params[k]):
            with_regular_rows(system, nudged, {name: nudged[k]})

    for v in variables:
        try:
            # it is a property of the mechanism: checked once
            system.cached(("redundant rows", v.name), partial(check, v.name, v.place))
        except SimulationError as error:
            raise SimulationError(
                f"there is no derivative with respect to '{v.name}': as soon as it changes, "
                f"{error.what}",
                f"sensitivities of model '{system.model.name}'",
                f"leave '{v.name}' out",
            ) from None
