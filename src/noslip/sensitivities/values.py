"""The numbers of a closed loop, apart from its code: values of inputs, tables and parameters.

Code is traced and compiled once for what is asked for, and kept with the system; a call with other
numbers finds it again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.engines.native import NativeFunction
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.sensitivities.closed_loop import ClosedLoop, Definitions, Inputs
from noslip.simulation.input_expressions import table_entries
from noslip.simulation.input_kinds import AbstractInputLaw, Table
from noslip.simulation.inputs import InputPlan, input_number
from noslip.simulation.plan import InputTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoopValues:
    """The numbers of a closed loop.

    Parameters
    ----------
    base : base inputs; those that a table drives are zero.
    tables : that drive base inputs.
    p : parameters, numbers and those of the law.
    knots : times at which inputs or their derivatives may jump.
    """

    base: Array
    tables: tuple[InputTable, ...]
    p: Array
    knots: Array

    def base_at(self, t: float) -> Array:
        """Base inputs at a time; at a jump those that hold from it on."""
        return driven(self.base, self.tables, t)

    def with_knots(self, times: Array) -> LoopValues:
        """The same with steps that end on more times."""
        return dataclasses.replace(self, knots=np.union1d(self.knots, times))


def driven(base: Array, tables: Sequence[InputTable], t: float) -> Array:
    """Base inputs at a time, those that tables drive among them."""
    result = base.copy()
    for table in tables:
        at = segment_at(table.starts, t)
        result[table.index] = np.polyval(table.coefficients[at], t - table.starts[at])
    return result


def segment_at(starts: Array, t: float) -> int:
    """The segment of a table that holds from a time on."""
    return max(int(np.searchsorted(starts, t, side="right")) - 1, 0)


def numbers_of(
    loop: ClosedLoop, inputs: Inputs, definitions: Definitions, parameters: Array
) -> LoopValues:
    """The numbers that go with a closed loop."""
    system, generator = loop.system, loop.generator
    named = [float(definitions[name]) for name in loop.numbers]
    law = generator.parameter_values if generator else np.zeros(0)
    base = np.zeros(len(system.inputs))
    tables: list[InputTable] = []
    if not isinstance(inputs, AbstractInputLaw):
        for name, spec in (inputs or {}).items():
            k, offset = place_of(system, name)
            if isinstance(spec, Table):
                entries = table_entries(system, spec, k, offset, name)
                tables += [InputTable(index=i, starts=s, coefficients=c) for i, s, c in entries]
            elif not isinstance(spec, str | ca.Function):
                base[k] = input_number(spec, name, system)
    knots = [table.starts for table in tables] + ([generator.knots] if generator else [])
    return LoopValues(
        base=base,
        tables=tuple(tables),
        p=np.concatenate([parameters, named, law]),
        knots=np.unique(np.concatenate([np.zeros(0), *knots])),
    )


def settable_inputs(system: System) -> list[str]:
    """Names of inputs that can be given."""
    model = system.model
    return [u.name for u in model.inputs] + [w.name for w in model.speed_inputs]


def place_of(system: System, name: str) -> tuple[int, int]:
    """Place of an input among [u; w; ẇ], and how far from it its rate is, 0 if it has none."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    k = [q.name for q in system.inputs].index(name)
    return k, num_w if k >= num_u else 0


def input_plan(loop: ClosedLoop, numbers: LoopValues, function: NativeFunction) -> InputPlan:
    """The inputs as :func:`noslip.simulate` knows them; `function` gives them from (t, [x; z])."""
    return InputPlan(
        base=numbers.base,
        tables=tuple((t.index, t.starts, t.coefficients) for t in numbers.tables),
        knots=numbers.knots,
        function=function,
        address=function.address,
        parameters=numbers.p,
        generator=loop.generator,
    )


def check_given(system: System, inputs: Inputs, definitions: Definitions) -> None:
    """Refuse inputs without a derivative, numbers that are none, and names that are not known."""
    where = f"model '{system.model.name}'"
    for name, value in definitions.items():
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not (isinstance(value, str) or (is_number and np.isfinite(value))):
            raise SimulationError(
                f"definition '{name}' is {value!r}",
                where,
                "give an expression as text, or a finite number",
            )
    if isinstance(inputs, AbstractInputLaw):
        return
    settable = settable_inputs(system)
    for name, spec in (inputs or {}).items():
        if name not in settable:
            raise SimulationError(
                f"there is no input '{name}'", f"inputs of {where}", nearest(name, settable)
            )
        if callable(spec) and not isinstance(spec, ca.Function):
            raise SimulationError(
                f"input '{name}' is a Python callable, whose derivative is not known",
                f"inputs of {where}",
                "give a number, an expression, a Table or a CasADi function: these are "
                "differentiated",
            )


def structure(inputs: Inputs, definitions: Definitions) -> Hashable:
    """What of inputs and definitions decides on the traced code, numbers apart.

    A law and a CasADi function stand for themselves: the key holds them, so that no other can take
    their place.
    """
    named = tuple(
        (name, value if isinstance(value, str) else None) for name, value in definitions.items()
    )
    if isinstance(inputs, AbstractInputLaw):
        return Same(inputs), named
    traced = {
        (name, Same(spec) if isinstance(spec, ca.Function) else spec)
        for name, spec in (inputs or {}).items()
        if isinstance(spec, str | ca.Function)
    }
    return frozenset(traced), named


class Same:
    """A key that is equal to another one of the very same object."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)
