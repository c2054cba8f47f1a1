"""Inputs over time: constants, tables, expressions, CasADi functions, Python callables, generators.

A run evaluates its inputs natively: constants and tables in the loop, expressions and CasADi
functions as compiled code. Python callables are called back, which is slower and is noted in the
result. A speed input comes with its rate ẇ: differentiated for expressions and tables, zero for
constants.
"""

from __future__ import annotations

import abc
import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from noslip.engines.llvm import NativeFunction, compile_native
from noslip.engines.program import trace_program
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.model import expressions
from noslip.model.checks_expressions import is_undefined
from noslip.model.expressions import ExpressionError
from noslip.simulation.guards import Guard

_CALLBACK = ctypes.CFUNCTYPE(None, *([ctypes.POINTER(ctypes.c_double)] * 5))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """An input given at times, in between by `kind`: ``hold``, ``linear`` or ``cubic`` spline.

    Before the first and after the last time the end values hold.
    """

    times: Array
    values: Array
    kind: str = "linear"

    def __post_init__(self) -> None:
        times = np.asarray(self.times, dtype=float)
        values = np.asarray(self.values, dtype=float)
        if self.kind not in ("hold", "linear", "cubic"):
            raise SimulationError(
                f"a table cannot be interpolated by '{self.kind}'",
                "Table(kind=…)",
                nearest(self.kind, ("hold", "linear", "cubic")),
            )
        if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
            raise SimulationError(
                f"a table needs as many values as times, at least 2, got {values.shape} values for "
                f"{times.shape} times",
                "Table(times=…, values=…)",
                "give two one-dimensional arrays of the same length",
            )
        if np.any(np.diff(times) <= 0) or not np.all(np.isfinite(times) & np.isfinite(values)):
            raise SimulationError(
                "the times of a table must increase and all numbers be finite",
                "Table(times=…, values=…)",
                "sort the rows by time and remove repeated or missing ones",
            )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def segments(self) -> tuple[Array, Array]:
        """Starts (n,) and coefficients (n, 4), cubic first, of the time since each start."""
        t, y = self.times, self.values
        zero = np.zeros(len(t))
        if self.kind == "hold":
            return t, np.column_stack([zero, zero, zero, y])
        if self.kind == "linear":
            slope = np.append(np.diff(y) / np.diff(t), 0.0)
            coefficients = np.column_stack([zero, zero, slope, y])
        else:
            from scipy.interpolate import CubicSpline

            spline = CubicSpline(t, y, bc_type="natural")
            last = np.array([[0.0, 0.0, 0.0, y[-1]]])
            coefficients = np.vstack([spline.c.T, last])
        # before the first time its value holds
        starts = np.concatenate([[t[0] - 1.0], t])
        first = np.array([[0.0, 0.0, 0.0, y[0]]])
        return starts, np.vstack([first, coefficients])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputGenerator:
    """Inputs as traced expressions, with states of their own: a controller or a feed-forward law.

    Parameters
    ----------
    inputs : input name → expression of the system's symbols, `states` and `parameters`.
    states : (nz,) symbols of its own states z.
    rates : (nz,) ż.
    start : (nz,) z at the start.
    names : names of z, for columns; units alike.
    parameters : symbols of numbers it needs beyond the model's, with their values.
    update, period : (nz,) new z, set every `period` seconds, as a sampled controller does; none if
        the period is 0.
    knots : times at which an input or one of its derivatives jumps; steps end there.
    guards : what the law divides by, for a run that ends where one of them vanishes.
    """

    inputs: dict[str, ca.SX]
    states: ca.SX
    rates: ca.SX
    start: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    parameters: ca.SX
    parameter_values: Array
    update: ca.SX | None = None
    period: float = 0.0
    knots: Array = field(default_factory=lambda: np.zeros(0))
    guards: tuple[Guard, ...] = ()


class AbstractInputLaw(abc.ABC):
    """All inputs at once, by a rule that may have states of its own; traced anew for each basis."""

    __slots__ = ()

    @abc.abstractmethod
    def generator(self, system: System) -> InputGenerator:
        """The rule in the symbols of this system."""


#: What an input may be given as.
InputSpec = float | str | Table | ca.Function | Callable[[float, Array, Array], float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputPlan:
    """Inputs as the native loop takes them."""

    base: Array
    tables: tuple[tuple[int, Array, Array], ...]
    knots: Array
    function: NativeFunction | None
    address: int
    parameters: Array
    generator: InputGenerator | None
    update: NativeFunction | None = None
    callback: Any = None
    failure: list[BaseException] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def plan_inputs(
    system: System,
    given: Mapping[str, InputSpec] | AbstractInputLaw | None,
    parameters: Array,
    definitions: Mapping[str, str] | None = None,
) -> InputPlan:
    """Compile what is given into what the loop takes; inputs that are not given are zero.

    `definitions` are named expressions that later ones and the inputs may use.
    """
    if isinstance(given, AbstractInputLaw):
        return _plan_generator(system, given.generator(system), parameters)
    given = dict(given or {})
    names = [q.name for q in system.inputs]
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    settable = names[: num_u + num_w]
    base = np.zeros(len(names))
    tables: list[tuple[int, Array, Array]] = []
    traced: dict[int, ca.SX] = {}
    callables: dict[int, Callable[[float, Array, Array], float]] = {}
    for name, spec in given.items():
        if name not in settable:
            raise SimulationError(
                f"there is no input '{name}'",
                f"inputs of model '{system.model.name}'",
                nearest(name, settable),
            )
        k = names.index(name)
        is_speed = k >= num_u
        if isinstance(spec, Table):
            tables += table_entries(system, spec, k, num_w if is_speed else 0, name)
        elif isinstance(spec, str | ca.Function):
            rate_offset = num_w if is_speed else 0
            traced |= traced_entries(system, spec, k, rate_offset, name, definitions)
        elif callable(spec):
            if is_speed:
                raise SimulationError(
                    f"speed input '{name}' is given as a Python callable, whose rate is not known",
                    f"inputs of model '{system.model.name}'",
                    "give an expression of t, a table or a CasADi function, which are "
                    "differentiated",
                )
            callables[k] = spec
        else:
            base[k] = _number(spec, name, system)
    function = None
    if traced:
        function = _compile(system, traced, None)
    plan = InputPlan(
        base=base,
        tables=tuple(tables),
        knots=np.unique(np.concatenate([t[1] for t in tables])) if tables else np.zeros(0),
        function=function,
        address=function.address if function else 0,
        parameters=parameters,
        generator=None,
    )
    return _with_callables(system, plan, callables) if callables else plan


def _number(spec: Any, name: str, system: System) -> float:
    try:
        value = float(spec)
    except (TypeError, ValueError):
        value = float("nan")
    if not np.isfinite(value):
        raise SimulationError(
            f"input '{name}' is {spec!r}, which is not a finite number",
            f"inputs of model '{system.model.name}'",
            "give a number, an expression of t, a Table, a CasADi function or a Python callable",
        )
    return value


def table_entries(
    system: System, table: Table, k: int, rate_offset: int, name: str
) -> list[tuple[int, Array, Array]]:
    """Segments of an input k that a table gives, and of its rate where that comes with it."""
    starts, coefficients = table.segments()
    entries = [(k, starts, coefficients)]
    if rate_offset:
        if table.kind == "hold" and _moves_mass(system, k):
            raise SimulationError(
                f"speed input '{name}' jumps between held values, but what it moves has inertia: "
                "the jump would need an infinite force",
                f"inputs of model '{system.model.name}'",
                "interpolate: Table(…, kind='linear') or kind='cubic'",
            )
        a, b, c = coefficients[:, 0], coefficients[:, 1], coefficients[:, 2]
        slope = np.column_stack([np.zeros(len(a)), 3 * a, 2 * b, c])
        entries.append((k + rate_offset, starts, slope))
    return entries


def _moves_mass(system: System, k: int) -> bool:
    """Whether the rate of a speed input needs force anywhere in the mechanism."""
    eq, symbols = system.equations, system.kinematics.symbols
    j = k - len(system.model.inputs)
    needed = ca.jacobian(eq.generalized_reactions, symbols.wdot[j])
    push = ca.Function(
        "push",
        [symbols.t, symbols.q, system.kinematics.eta, symbols.w, symbols.params],
        [ca.densify(needed)],
        {"allow_free": True},
    )
    if push.get_free():
        return True
    samples = system.kinematics.probe.configurations(2)
    eta = np.zeros(system.kinematics.num_independent_speeds)
    w = np.zeros(len(system.model.speed_inputs))
    return any(
        float(np.max(np.abs(np.array(push(t, q, eta, w, system.parameters()))), initial=0.0))
        > 1e-12
        for t, q in samples
    )


def traced_entries(
    system: System,
    spec: str | ca.Function,
    k: int,
    rate_offset: int,
    name: str,
    definitions: Mapping[str, str | ca.SX] | None,
) -> dict[int, ca.SX]:
    """Expression of an input k, and of its rate where that comes with it."""
    kin = system.kinematics
    symbols = kin.symbols
    if isinstance(spec, str):
        expression = read_expression(system, spec, f"input '{name}'", definitions)
    else:
        expression = _call_casadi(system, spec, name)
    entries = {k: ca.SX(expression)}
    if rate_offset:
        if ca.depends_on(entries[k], ca.vertcat(kin.eta, symbols.w)):
            raise SimulationError(
                f"speed input '{name}' depends on speeds, so its rate would need accelerations",
                f"inputs of model '{system.model.name}'",
                "let it depend on time and coordinates only",
            )
        at = ca.vertcat(symbols.t, symbols.q)
        along = ca.vertcat(ca.SX(1), ca.mtimes(kin.N, kin.v))
        entries[k + rate_offset] = ca.jtimes(entries[k], at, along)
    return entries


def _call_casadi(system: System, function: ca.Function, name: str) -> ca.SX:
    """A CasADi function of (t, q, v, parameters) at the traced symbols."""
    kin = system.kinematics
    arguments = (kin.symbols.t, kin.symbols.q, kin.v, kin.symbols.params)
    expected = [argument.shape for argument in arguments]
    taken = [function.size_in(k) for k in range(function.n_in())]
    if taken != expected or function.n_out() != 1 or function.size_out(0) != (1, 1):
        given = [function.size_out(k) for k in range(function.n_out())]
        raise SimulationError(
            f"input '{name}' is a CasADi function from {_shapes(taken)} to {_shapes(given)}, "
            f"expected one from t, q, v and the parameters, {_shapes(expected)}, to 1",
            f"inputs of model '{system.model.name}'",
            "write ca.Function(name, [t, q, v, p], [value]) with columns of these sizes",
        )
    return function(*arguments)


def _shapes(shapes: list[tuple[int, int]]) -> str:
    return ", ".join(str(n) if m == 1 else f"{n}×{m}" for n, m in shapes) or "nothing"


def read_expression(
    system: System, text: str, where: str, definitions: Mapping[str, str | ca.SX] | None = None
) -> ca.SX:
    """An expression of t, parameters, coordinates and speeds as a traced scalar at v = Sη + s.

    `definitions` are named expressions, each of what comes before it, that the text may use; or
    symbols under their names.
    """
    kin = system.kinematics
    reader = kin.reader
    known = {"t", *(p.name for p in system.model.parameters)}
    known |= {q.name for q in kin.coordinates} | {q.name for q in kin.speeds}
    for name, definition in (definitions or {}).items():
        if isinstance(definition, str):
            _check_expression(system, definition, f"definition '{name}'", known)
            definition = reader.scalar(definition)
        reader = reader.extended({name: definition})
        known.add(name)
    _check_expression(system, text, where, known)
    return kin.at_speeds(reader.scalar(text))


def _check_expression(system: System, text: str, where: str, known: set[str]) -> None:
    """Refuse what cannot be read and names that are not known."""
    try:
        tree = expressions.parse(text)
    except ExpressionError as error:
        raise SimulationError(
            f"expression '{text}' cannot be read: {error}",
            f"{where} of model '{system.model.name}'",
            "write arithmetic of t, parameters, coordinates and speeds, such as '0.1*sin(t)'",
        ) from None
    unknown = expressions.names_in(tree) - known - set(expressions.CONSTANTS)
    if unknown:
        name = sorted(unknown)[0]
        raise SimulationError(
            f"expression '{text}' uses '{name}', which is not known",
            f"{where} of model '{system.model.name}'",
            nearest(name, sorted(known)),
        )
    if is_undefined(tree, {}):
        raise SimulationError(
            f"expression '{text}' has no finite value",
            f"{where} of model '{system.model.name}'",
            "keep denominators away from zero and arguments of sqrt, log, asin and powers in range",
        )


def _compile(
    system: System, traced: dict[int, ca.SX], generator: InputGenerator | None
) -> NativeFunction:
    """Native [inputs; ż]."""
    return _native(system, "inputs", inputs_expression(system, traced, generator), generator)


def inputs_expression(
    system: System, traced: dict[int, ca.SX], generator: InputGenerator | None
) -> ca.SX:
    """[inputs; ż]: traced entries, all others passed through from the base inputs."""
    inputs = system.equations.inputs
    entries = [traced.get(k, inputs[k]) for k in range(len(system.inputs))]
    rates = generator.rates if generator else ca.SX(0, 1)
    expression = ca.vertcat(*entries, rates)
    # what depends on a speed that is given sees the value given here
    num_u = len(system.model.inputs)
    if system.model.speed_inputs:
        given = ca.densify(ca.vertcat(*entries[num_u:]))
        expression = ca.substitute([expression], [inputs[num_u:]], [given])[0]
    return expression


def _native(
    system: System, name: str, expression: ca.SX, generator: InputGenerator | None
) -> NativeFunction:
    """A function of (t, [x; z], base inputs, [parameters; the generator's]) as native code."""
    symbols = system.kinematics.symbols
    states = generator.states if generator else ca.SX(0, 1)
    extra = generator.parameters if generator else ca.SX(0, 1)
    program = trace_program(
        name,
        (
            symbols.t,
            ca.vertcat(system.state, states),
            system.equations.inputs,
            ca.vertcat(symbols.params, extra),
        ),
        ca.densify(expression),
    )
    return compile_native([program])[name]


def _plan_generator(system: System, generator: InputGenerator, parameters: Array) -> InputPlan:
    names = [q.name for q in system.inputs]
    traced = {names.index(name): e for name, e in generator.inputs.items()}
    function = _compile(system, traced, generator)
    return InputPlan(
        base=np.zeros(len(names)),
        tables=(),
        knots=generator.knots,
        function=function,
        address=function.address,
        parameters=np.concatenate([parameters, generator.parameter_values]),
        generator=generator,
        update=None
        if generator.update is None
        else _native(system, "update", generator.update, generator),
    )


def _with_callables(
    system: System, plan: InputPlan, callables: dict[int, Callable[[float, Array, Array], float]]
) -> InputPlan:
    """Wrap Python callables f(t, q, v) in a native callback with the loop's signature."""
    num_q, nx = len(system.coordinates), system.num_states
    num_inputs, num_v = len(system.inputs), len(system.speeds)
    native, motion = plan.function, system.motion
    parameters = plan.parameters
    failure: list[BaseException] = []

    def call(t, x, u, p, out):
        result = np.ctypeslib.as_array(out, (num_inputs,))
        try:
            state = np.ctypeslib.as_array(x, (nx,))
            base = np.ctypeslib.as_array(u, (num_inputs,))
            result[:] = native(t[0], state, base, parameters) if native else base
            v = motion(t[0], state, result, parameters)[:num_v]
            for k, f in callables.items():
                result[k] = float(f(t[0], state[:num_q].copy(), v))
        except BaseException as error:
            # nothing may pass through native code: note it, stop the run by a non-finite input
            failure.append(error)
            result[:] = np.nan

    callback = _CALLBACK(call)
    listed = ", ".join(f"'{system.inputs[k].name}'" for k in callables)
    return InputPlan(
        base=plan.base,
        tables=plan.tables,
        knots=plan.knots,
        function=plan.function,
        address=ctypes.cast(callback, ctypes.c_void_p).value or 0,
        parameters=parameters,
        generator=None,
        callback=callback,
        failure=failure,
        notes=(f"input {listed} is a Python callable, called back at every evaluation: slower",),
    )
