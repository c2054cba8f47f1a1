"""A mechanism and its inputs as one differentiable function: its variables and derivatives.

**`ClosedLoop`: a mechanism and its inputs as one traced, differentiable function.**

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

**Variables of differentiation: parameters, numbers in definitions, start values and inputs.**

Names are those of the call. A parameter of the model, a number among the definitions, a value that
the start gives, an input that is a number: one variable each. An input that is a table is as many
variables as it has values, ``torque[0]``, ``torque[1]``, ….

To add a kind: a branch in `_variable`, its seeds in `Variable`, and its line in the docs.

**Derivatives of traced expressions in given directions, and against given weights.**

(1)  G' = G_y Y + G_b B + G_p P       one column for each variable
(2)  Gᵀl by y, b and p                cost independent of the number of variables

**`derivatives`: of the right-hand side, or of outputs, by states, inputs and parameters; exact.**

    ẋ = f(t, x, u, p):   ∂f/∂x,  ∂f/∂u,  ∂f/∂p         o(t, x, u, p):   ∂o/∂x,  ∂o/∂u,  ∂o/∂p

x = [q; η; μ; W] and u = [u; w; ẇ] as in `engines/system.py`. Everything is traced by CasADi's
automatic differentiation and compiled as one native function; only what can differ from zero is
computed. States at which η does not determine the motion are refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from noslip.base import Array, IdentityKey, SimulationError, nearest
from noslip.engines import (
    NativeFunction,
    Program,
    System,
    compile_native,
    require_system,
    trace_program,
)
from noslip.expressions import CONSTANTS, ExpressionError, names_of
from noslip.model import Quantity
from noslip.simulation.batches.batch_request import known_columns
from noslip.simulation.expressions import read_expression, units_by_name
from noslip.simulation.inputs import (
    AbstractInputLaw,
    InputGenerator,
    InputPlan,
    InputSpec,
    Table,
    input_index,
    input_number,
    inputs_expression,
    settable_inputs,
    table_entries,
)
from noslip.simulation.native_run import InputTable, driven
from noslip.simulation.request import check_named, with_regular_rows
from noslip.simulation.starts.bases import check_own_speeds
from noslip.simulation.starts.completion import Start
from noslip.simulation.starts.start_layout import layout_of

#: Named expressions and named numbers that inputs and outputs may use.
Definitions = Mapping[str, str | float]
Inputs: TypeAlias = Mapping[str, InputSpec] | AbstractInputLaw | None


@dataclass(frozen=True, kw_only=True, eq=False)
class ClosedLoop:
    """(1) in the symbols of a system. Made by :func:`close_loop`."""

    system: System  #: system in whose independent speeds it is written
    #: y, base, p: symbols of states, base inputs and parameters
    y: ca.SX
    base: ca.SX
    p: ca.SX
    rates: ca.SX  #: F
    inputs: ca.SX  #: [u; w; ẇ] as expressions of t, y, b and p
    generator: InputGenerator | None  #: generator of the inputs, if a law makes them
    numbers: tuple[str, ...]  #: names of the numbers among the definitions
    #: named expressions that others may use, besides the names of the model
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
    """The closed loop of a system with its inputs."""
    generator, given = None, {}
    if isinstance(inputs, AbstractInputLaw):
        generator = inputs.generator(system)
        generator.require_traced("a derivative")
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
    made = inputs_expression(system, generator or given, read)
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
    """Values of a closed loop: base inputs, tables, parameters and knots."""

    base: Array  #: base inputs; those that a table drives are zero
    tables: tuple[InputTable, ...]  #: tables that drive base inputs
    p: Array  #: parameters, numbers and those of the law
    knots: Array  #: times at which inputs or their derivatives may jump

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
    """Refuse inputs without a derivative, values that are not numbers, and unknown names."""
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


PARAMETER: Final = "parameter"
NUMBER: Final = "number"
START: Final = "start"
INPUT: Final = "input"
TABLE: Final = "table"

#: Share by which a parameter is changed to see whether rows stay redundant.
_NUDGE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Variable:
    """One name that derivatives are taken by."""

    name: str  #: name as it was asked for
    kind: str  #: parameter, number, start, input or table
    place: int  #: among the parameters of the closed loop, or among the base inputs
    values: Array  #: (n,) what it is; of a table all its values, else one
    unit: str  #: unit of it
    table: Table | None = None  #: table as it was given

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


class Seeds:
    """B and P of (1): what the variables change directly, with symbols for tables.

    `variables`: one column for each of their values.

    Attributes
    ----------
    base, p : (nb, n), (np, n).
    symbols : base inputs over time per unit of a table's value, as :meth:`Variable.basis` has them.
    """

    def __init__(self, loop: ClosedLoop, variables: Sequence[Variable]) -> None:
        count = sum(len(v.values) for v in variables)
        self.base, self.p = ca.SX(loop.base.shape[0], count), ca.SX(loop.p.shape[0], count)
        symbols, column = [], 0
        for variable in variables:
            if variable.kind == TABLE:
                for _ in variable.values:
                    for k in driven_places(loop.system, variable):
                        symbols.append(ca.SX.sym("beta"))
                        self.base[k, column] = symbols[-1]
                    column += 1
                continue
            if variable.kind == INPUT:
                self.base[variable.place, column] = 1.0
            elif variable.place >= 0:
                self.p[variable.place, column] = 1.0
            column += 1
        self.symbols = ca.vertcat(*symbols) if symbols else ca.SX(0, 1)


def driven_places(system: System, variable: Variable) -> list[int]:
    """Base inputs that a table drives: its own and, of a speed input, the rate."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    k = variable.place
    return [k, k + num_w] if k >= num_u else [k]


def forward(loop: ClosedLoop, expression: ca.SX, Y: ca.SX, seeds: Seeds) -> ca.SX:
    """(1) for a column of expressions."""
    fixed = ca.vertcat(loop.base, loop.p)
    both = ca.vertcat(seeds.base, seeds.p)
    whole = ca.jtimes(expression, loop.arguments, ca.vertcat(Y, both))
    if Y.shape[1] < 3:
        return ca.densify(whole)
    # with several columns it is mostly cheaper to form G_y once
    split = ca.mtimes(ca.jacobian(expression, loop.y), Y) + ca.jtimes(expression, fixed, both)
    return ca.densify(min((whole, split), key=_num_operations))


def _num_operations(expression: ca.SX) -> int:
    function = ca.Function("count", [], [expression], {"allow_free": True})
    return int(function.n_instructions())


def reverse(loop: ClosedLoop, expression: ca.SX, weights: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """(2) for a column of expressions."""
    product = ca.densify(ca.jtimes(expression, loop.arguments, weights, True))
    num_y, num_b = loop.y.shape[0], loop.base.shape[0]
    return product[:num_y, :], product[num_y : num_y + num_b, :], product[num_y + num_b :, :]


class DerivativeValues(NamedTuple):
    """Values (n,) and their derivatives (n, nx), (n, nu) and (n, np) at a state.

    With many states at once, (k, n) and (k, n, …).
    """

    values: Array
    by_state: Array
    by_inputs: Array
    by_parameters: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Derivatives:
    """Exact derivatives as native code. Made by :func:`derivatives`."""

    of: tuple[Quantity, ...]  #: n differentiated quantities: rates of the states, or outputs
    #: states, inputs, parameters: quantities that derivatives are taken by
    states: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    parameters: tuple[Quantity, ...]
    #: native [values; derivatives that can differ from zero; singularity measures] of (t, x, u, p)
    function: NativeFunction = field(repr=False)
    _places: tuple[Array, ...] = field(repr=False)  # of the nonzeros in each matrix, by rows
    _system: System = field(repr=False)

    def __call__(
        self, time: float, state: ArrayLike, inputs: ArrayLike, parameters: ArrayLike
    ) -> DerivativeValues:
        """Values and derivatives at a time, state, inputs and parameters.

        Raises
        ------
        SimulationError : for arrays of other shapes, and where the independent speeds are singular.
        """
        try:
            values = self.function(time, state, inputs, parameters)[None]
        except (TypeError, ValueError):
            raise self._refusal(False, time, state, inputs, parameters) from None
        self._check(values, [time], [state], parameters)
        return DerivativeValues(*(array[0] for array in self._scattered(values)))

    def map(
        self, time: ArrayLike, state: ArrayLike, inputs: ArrayLike, parameters: ArrayLike
    ) -> DerivativeValues:
        """Values and derivatives for k times (k,), states and inputs (k, …), a row for each.

        Parameters may be (np,), the same for all.

        Raises
        ------
        SimulationError : for arrays of other shapes, and where the independent speeds are singular
            at one of the states.
        """
        try:
            values = self.function.map(time, state, inputs, parameters)
        except (TypeError, ValueError):
            raise self._refusal(True, time, state, inputs, parameters) from None
        self._check(values, time, state, parameters)
        return self._scattered(values)

    def _check(self, values: Array, time: Any, state: Any, parameters: Any) -> None:
        """Refuse states that the independent speeds do not carry."""
        system = self._system
        measures = values[:, len(self.of) + sum(map(len, self._places)) :]
        t, x, params = (np.asarray(a, dtype=float) for a in (time, state, parameters))
        q = x[:, : len(system.coordinates)]
        times = np.broadcast_to(t, len(values))
        check_own_speeds(system, times, q, params, measures, self._where)

    @property
    def _where(self) -> str:
        names = "".join(f" of {quantity.name}, …" for quantity in self.of[:1])
        return f"derivatives{names} of model '{self._system.model.name}'"

    def _refusal(self, is_many: bool, *given: ArrayLike) -> SimulationError:
        """Error for values that the code did not accept."""
        words = ("time", "state", "inputs", "parameters")
        ordered = (None, self.states, self.inputs, self.parameters)
        shapes = [_shape(value) for value in given]
        rows = (shapes[0] or (0,))[:1] if is_many else ()
        found = ("the arrays have the wrong shapes", "give time, state, inputs and parameters")
        for word, quantities, shape in zip(words, ordered, shapes, strict=True):
            own = () if quantities is None else (len(quantities),)
            also = {"time": (1,), "parameters": own}
            if shape in (rows + own, also.get(word, rows + own)):
                continue
            named = ", ".join(q.name for q in quantities or ())
            fix = f"give numbers in this order: {named or 'none'}" if own else "give a time in s"
            found = (
                f"{word} has the shape {shape}, expected {rows + own}"
                if shape is not None
                else f"{word} does not contain numbers, or has rows of different lengths",
                f"{fix}; a row for each time" if is_many else fix,
            )
            break
        return SimulationError(found[0], self._where, found[1])

    def _scattered(self, values: Array) -> DerivativeValues:
        n, at = len(self.of), len(self.of)
        matrices = []
        columns = (self.states, self.inputs, self.parameters)
        for places, quantities in zip(self._places, columns, strict=True):
            matrix = np.zeros((len(values), n * len(quantities)))
            matrix[:, places] = values[:, at : at + len(places)]
            matrices.append(matrix.reshape(len(values), n, len(quantities)))
            at += len(places)
        return DerivativeValues(values[:, :n], *matrices)

    def __repr__(self) -> str:
        count = sum(len(places) for places in self._places)
        full = len(self.of) * (len(self.states) + len(self.inputs) + len(self.parameters))
        return (
            f"Derivatives of {', '.join(q.name for q in self.of)}: {count} of {full} entries can "
            "differ from zero\nnext: d = derivatives(time, state, inputs, parameters); d.by_state"
        )


def derivatives(system: System, outputs: Mapping[str, str] | None = None) -> Derivatives:
    """Exact derivatives of a system's equations by its states, inputs and parameters.

    Parameters
    ----------
    system : compiled system.
    outputs : name → expression of columns (coordinates, speeds, angles, energies, inputs,
        accelerations, reactions), parameters and t; without it the rates of the states are
        differentiated.
    """
    require_system("derivatives", system)
    check_named(outputs=outputs)
    asked = tuple((outputs or {}).items())
    return system.cached(("derivatives", asked), lambda: _make(system, dict(asked)))


def _make(system: System, outputs: Mapping[str, str]) -> Derivatives:
    states = _states(system)
    if outputs:
        loop = close_loop(system, None, {})
        of = tuple(Quantity(name=name, unit="1") for name in outputs)
        values = [loop.output(text, f"output '{name}'") for name, text in outputs.items()]
        expression = ca.vertcat(*values)
    else:
        of = tuple(Quantity(name=f"rate of {s.name}", unit=f"({s.unit})/s") for s in states)
        expression = system.rates_expression[: system.num_states, :]
    # what is folded into the code is a constant
    expression = system.fold(expression)
    nonzeros: list[Any] = [expression]
    places = []
    params = system.kinematics.symbols.params
    for symbols in (system.state, system.equations.inputs, params):
        matrix = ca.sparsify(ca.jacobian(expression, symbols))
        i, j = (np.array(k, dtype=int) for k in matrix.sparsity().get_triplet())
        places.append(i * matrix.shape[1] + j)
        nonzeros += matrix.nonzeros()
    nonzeros.append(system.rates_expression[system.num_states :, :])
    return Derivatives(
        of=of,
        states=states,
        inputs=system.inputs,
        parameters=tuple(
            Quantity(name=p.name, unit=p.unit, description=p.description)
            for p in system.model.parameters
        ),
        function=system.compile_expression("derivatives", ca.vertcat(*nonzeros)),
        _places=tuple(places),
        _system=system,
    )


def _states(system: System) -> tuple[Quantity, ...]:
    """Quantities of the state x."""
    work = (Quantity(name="work", unit="J"),) if system.does_work else ()
    return system.coordinates + system.independent_speeds + system.auxiliary_states + work


def _shape(given: ArrayLike) -> tuple[int, ...] | None:
    """Shape of numbers; None for anything else."""
    try:
        return np.asarray(given, dtype=float).shape
    except (TypeError, ValueError):
        return None
