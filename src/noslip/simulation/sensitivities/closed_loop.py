"""`ClosedLoop`: a mechanism and its inputs as one traced, differentiable function.

    (1)  ẏ = F(t, y, b, p)      y = [x; z; c],   b base inputs,   p = [parameters; numbers; law's]

x is the state of the mechanism, z that of a law that makes inputs, c the integral of a running cost
if there is one. Base inputs are those that are numbers or tables; expressions, CasADi functions and
laws are substituted into F, so that derivatives include what they depend on. Numbers are those that
inputs and outputs know under a name. A Python callable cannot be differentiated and is refused.

Code is traced and compiled once for a request, and cached with the system; the numbers of a closed
loop, values of inputs, tables and parameters, are stored separately. The state jumps where the run
continues in other independent speeds, and at the updates of a sampled law:

    other speeds   [q; η; …] → [q; E v; …]       the same motion, converted through v
    a sampled law  [x; z; c] → [x; update; c]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import casadi as ca
import numpy as np

from noslip.base import Array, IdentityKey, SimulationError, nearest
from noslip.engines import NativeFunction, Program, System, compile_native, trace_program
from noslip.expressions import CONSTANTS, ExpressionError, names_of
from noslip.simulation.batches.columns import known_columns
from noslip.simulation.expressions import read_expression
from noslip.simulation.input_laws import AbstractInputLaw, InputGenerator, InputSpec, Table
from noslip.simulation.input_plan import (
    InputPlan,
    input_index,
    input_number,
    inputs_expression,
    settable_inputs,
    table_entries,
    traced_inputs,
)
from noslip.simulation.native_run import InputTable, driven

#: Named expressions and named numbers that inputs and outputs may use.
Definitions = Mapping[str, str | float]
Inputs: TypeAlias = Mapping[str, InputSpec] | AbstractInputLaw | None


@dataclass(frozen=True, kw_only=True, eq=False)
class ClosedLoop:
    """(1) in the symbols of a system. Made by :func:`close_loop`.

    Parameters
    ----------
    system : in whose independent speeds it is written.
    y, base, p : symbols of states, base inputs and parameters.
    rates : F.
    inputs : [u; w; ẇ] as expressions of t, y, b and p.
    generator : of the inputs, if a law makes them.
    numbers : names of the numbers among the definitions.
    definitions : what expressions may use, besides the names of the model.
    """

    system: System
    y: ca.SX
    base: ca.SX
    p: ca.SX
    rates: ca.SX
    inputs: ca.SX
    generator: InputGenerator | None
    numbers: tuple[str, ...]
    definitions: Mapping[str, str | ca.SX] = field(repr=False)

    @property
    def t(self) -> ca.SX:
        """Symbol of time."""
        return self.system.kinematics.symbols.t

    @property
    def num_states(self) -> int:
        """Size of y."""
        return int(self.y.shape[0])

    @property
    def num_simulated(self) -> int:
        """Size of [x; z], what a simulation without a running cost carries."""
        num_law = 0 if self.generator is None else len(self.generator.start)
        return self.system.num_states + num_law

    @property
    def arguments(self) -> ca.SX:
        """[y; b; p], all that F can be differentiated by."""
        return ca.vertcat(self.y, self.base, self.p)

    def put_in(self, expression: ca.SX) -> ca.SX:
        """An expression with the system's inputs substituted."""
        return ca.substitute([expression], [self.system.equations.inputs], [self.inputs])[0]

    def health(self) -> ca.SX:
        """Singularity measures, which must stay away from zero."""
        values = [h.value for h in self.system.singularity_measures]
        return self.put_in(ca.vertcat(*values)) if values else ca.SX(0, 1)

    def projection(self) -> tuple[ca.SX, ca.SX]:
        """y after one step onto the constraints, and the residual before it."""
        projected = self.put_in(self.system.projection_expression)
        num = self.system.num_states
        return ca.vertcat(projected[:num, :], self.y[num:, :]), projected[num]

    def output(self, text: str, where: str, more: Mapping[str, ca.SX] | None = None) -> ca.SX:
        """An expression of columns, parameters, definitions, t and more symbols by name."""
        return ca.densify(self.put_in(_read_output(self, text, where, more or {})))

    @property
    def is_sampled(self) -> bool:
        """Whether a law makes the inputs that is updated at times."""
        return self.generator is not None and self.generator.update is not None

    @cached_property
    def input_function(self) -> NativeFunction:
        """[u; w; ẇ] of (t, [x; z], b, p)."""
        return self.compile("inputs", self.inputs, x=self.y[: self.num_simulated, :])

    def compile(
        self,
        name: str,
        expression: ca.SX,
        *,
        x: ca.SX | None = None,
        base: ca.SX | None = None,
    ) -> NativeFunction:
        """Native code of an expression of (t, y, b, p), or of other columns for y and b."""
        return compile_native([self.program(name, expression, x=x, base=base)])[name]

    def program(
        self,
        name: str,
        expression: ca.SX,
        *,
        x: ca.SX | None = None,
        base: ca.SX | None = None,
        more: ca.SX | None = None,
    ) -> Program:
        """Operations of such an expression, which may take more symbols behind p."""
        given = (
            self.t,
            self.y if x is None else x,
            self.base if base is None else base,
            self.p if more is None else ca.vertcat(self.p, more),
        )
        return trace_program(name, given, ca.densify(self.system.fold(expression)))


def close_loop(
    system: System, inputs: Inputs, definitions: Definitions, running: str | None = None
) -> ClosedLoop:
    """The closed loop of a system with its inputs.

    Parameters
    ----------
    system : whose symbols are used.
    inputs : as :func:`noslip.simulate` takes them, Python callables apart.
    definitions : named expressions and numbers.
    running : expression whose integral is carried as the last state.
    """
    generator, given = None, {}
    if isinstance(inputs, AbstractInputLaw):
        generator = inputs.generator(system)
        if generator.noise.shape[0]:
            raise SimulationError(
                "a law with random numbers cannot be differentiated",
                f"inputs of model '{system.model.name}'",
                "take the derivatives without noise: sensors with sigma=0",
            )
    else:
        given = {n: s for n, s in (inputs or {}).items() if isinstance(s, str | ca.Function)}
    symbols = {n: ca.SX.sym(n) for n, value in definitions.items() if not isinstance(value, str)}
    read: dict[str, str | ca.SX] = {
        name: value if isinstance(value, str) else symbols[name]
        for name, value in definitions.items()
    }
    traced = traced_inputs(system, given, read, generator)
    made = inputs_expression(system, traced, generator)
    num = len(system.inputs)
    states = generator.states if generator else ca.SX(0, 1)
    extra = generator.parameters if generator else ca.SX(0, 1)
    loop = ClosedLoop(
        system=system,
        y=ca.vertcat(system.state, states, ca.SX.sym("c", 0 if running is None else 1)),
        base=system.equations.inputs,
        p=ca.vertcat(system.kinematics.symbols.params, *symbols.values(), extra),
        rates=ca.SX(0, 1),
        inputs=ca.densify(made[:num, :]),
        generator=generator,
        numbers=tuple(symbols),
        definitions=read,
    )
    parts = [loop.put_in(system.rates_expression[: system.num_states, :])]
    if generator is not None:
        parts.append(made[num:, :])
    if running is not None:
        parts.append(loop.output(running, "running cost"))
    return dataclasses.replace(loop, rates=ca.densify(ca.vertcat(*parts)))


def _read_output(loop: ClosedLoop, text: str, where: str, more: Mapping[str, ca.SX]) -> ca.SX:
    """An expression that may use every column a trajectory has."""
    system, definitions = loop.system, {**loop.definitions, **more}
    if not isinstance(text, str):
        raise SimulationError(
            f"the {where} is {text!r}, which is not an expression",
            f"model '{system.model.name}'",
            "write arithmetic of columns, parameters and t, such as 'platform.x**2'",
        )
    try:
        used = names_of(text)
    except ExpressionError:
        used = frozenset()  # read_expression says what is wrong with it
    columns = {name: trace for name, (_, trace) in known_columns(system, loop.generator).items()}
    plain = {q.name for q in (*system.coordinates, *system.speeds)}
    known = {"t", *CONSTANTS, *(p.name for p in system.model.parameters)}
    known |= set(columns) | set(loop.definitions)
    for name in sorted(known & set(more)):
        raise SimulationError(
            f"'{name}' is measured, but the name is already in use",
            f"{where} of model '{system.model.name}'",
            f"give it another name, such as '{name.replace('.', '_')}_measured'",
        )
    known |= set(more)
    for name in sorted(used - known):
        raise SimulationError(
            f"expression '{text}' uses '{name}', which is not known",
            f"{where} of model '{system.model.name}'",
            nearest(name, sorted(known)),
        )
    for name in used & set(columns) - plain - set(definitions):
        definitions[name] = ca.SX(columns[name]())
    return read_expression(system, text, where, definitions)


def carried_over(loop: ClosedLoop, there: System) -> ca.SX:
    """y converted to the independent speeds of another system, as an expression."""
    kin = loop.system.kinematics
    names = [s.name for s in kin.speeds]
    chosen = [names.index(s.name) for s in there.independent_speeds]
    num_q, num_f = kin.num_coordinates, kin.num_independent_speeds
    speeds = ca.densify(loop.put_in(kin.v))[chosen, :]
    return ca.vertcat(loop.y[:num_q, :], speeds, loop.y[num_q + num_f :, :])


def after_update(loop: ClosedLoop) -> ca.SX:
    """y after an update of a sampled law."""
    assert loop.generator is not None and loop.generator.update is not None
    num = loop.system.num_states
    rest = loop.y[num + loop.generator.states.shape[0] :, :]
    return ca.vertcat(loop.y[:num, :], loop.generator.update, rest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoopValues:
    """Values of a closed loop: base inputs, tables, parameters and knots.

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
        """The same values with more knots, on which steps end."""
        return dataclasses.replace(self, knots=np.union1d(self.knots, times))


def numbers_of(
    loop: ClosedLoop, inputs: Inputs, definitions: Definitions, parameters: Array
) -> LoopValues:
    """Values of a closed loop, from the arguments of a call."""
    system, generator = loop.system, loop.generator
    named = [float(definitions[name]) for name in loop.numbers]
    law = generator.parameter_values if generator else np.zeros(0)
    base = np.zeros(len(system.inputs))
    tables: list[InputTable] = []
    if not isinstance(inputs, AbstractInputLaw):
        for name, spec in (inputs or {}).items():
            k, offset = input_index(system, name)
            if isinstance(spec, Table):
                tables += table_entries(system, spec, k, offset, name)
            elif not isinstance(spec, str | ca.Function):
                base[k] = input_number(spec, name, system)
    knots = [table.starts for table in tables] + ([generator.knots] if generator else [])
    return LoopValues(
        base=base,
        tables=tuple(tables),
        p=np.concatenate([parameters, named, law]),
        knots=np.unique(np.concatenate([np.zeros(0), *knots])),
    )


def input_plan(loop: ClosedLoop, numbers: LoopValues) -> InputPlan:
    """The inputs in the form of :func:`noslip.simulate`."""
    function = loop.input_function
    return InputPlan(
        base=numbers.base,
        tables=numbers.tables,
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
    """Cache key of the traced code of inputs and definitions, without their numbers.

    A law and a CasADi function stand for themselves: the key holds them, so that no other can take
    their place.
    """
    named = tuple(
        (name, value if isinstance(value, str) else None) for name, value in definitions.items()
    )
    if isinstance(inputs, AbstractInputLaw):
        return IdentityKey(inputs), named
    traced = {
        (name, IdentityKey(spec) if isinstance(spec, ca.Function) else spec)
        for name, spec in (inputs or {}).items()
        if isinstance(spec, str | ca.Function)
    }
    return frozenset(traced), named
