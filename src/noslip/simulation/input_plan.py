"""Inputs over time as the native loop takes them.

Constants and tables are evaluated in the loop, expressions and CasADi functions as compiled code.
Code of expressions stays with the system, so that a run with the same texts compiles nothing.
Python callables are called back, which is slower and is noted in the result. A speed input comes
with its rate ẇ: differentiated for expressions and tables, zero for constants.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, is_truth, nearest
from noslip.engines import NativeFunction, System, compile_native, trace_program
from noslip.simulation.expressions import read_expression
from noslip.simulation.input_laws import AbstractInputLaw, InputGenerator, InputSpec, Table
from noslip.simulation.native_run import EMPTY, InputTable, driven
from noslip.simulation.time_features import TimeFeatures

_CALLBACK = ctypes.CFUNCTYPE(None, *([ctypes.POINTER(ctypes.c_double)] * 5))

Callables = dict[int, Callable[[float, Array, Array], float]]


class InputPlan(NamedTuple):
    """Inputs as the native loop takes them.

    Parameters
    ----------
    base : constants; those that a table drives are replaced.
    tables : base inputs that change with time.
    knots : times at which an input or one of its derivatives jumps.
    function, address : [inputs; ż] of (t, [x; z], base, parameters); none if all are base inputs.
    parameters : of the model, then of the law.
    generator, update : the law, and the new z of one that is sampled.
    callback, failure : Python callables as native code, and what one of them raised.
    notes : for the result.
    is_kept : whether its code stays with the system for the next run.
    """

    base: Array
    tables: tuple[InputTable, ...]
    knots: Array
    function: NativeFunction | None
    address: int
    parameters: Array
    generator: InputGenerator | None
    update: NativeFunction | None = None
    callback: Any = None
    failure: Sequence[BaseException] = ()
    notes: tuple[str, ...] = ()
    is_kept: bool = False

    @property
    def num_states(self) -> int:
        """States z of the law."""
        return len(self.generator.start) if self.generator else 0

    @property
    def num_noise(self) -> int:
        """Channels of random numbers that the law is given."""
        return self.generator.noise.shape[0] // 2 if self.generator else 0

    @property
    def num_inputs(self) -> int:
        """Inputs of the mechanism."""
        return len(self.base) - 2 * self.num_noise


def plan_inputs(
    system: System,
    given: Mapping[str, InputSpec] | AbstractInputLaw | None,
    parameters: Array,
    definitions: Mapping[str, str] | None = None,
    span: tuple[float, float] | None = None,
    *,
    is_adaptive: bool = False,
) -> InputPlan:
    """Compile given inputs for the loop; inputs that are not given are zero.

    `definitions` are named expressions that later ones and the inputs may use. In a run over a span
    of time, features of time alone in expressions are knots; Python callables are watched if its
    steps are adaptive.
    """
    if isinstance(given, AbstractInputLaw):
        return _plan_generator(system, given.generator(system), parameters)
    base = np.zeros(len(system.inputs))
    if not given:
        return InputPlan(base, (), EMPTY, None, 0, parameters, None, is_kept=True)
    tables: list[InputTable] = []
    traced: dict[str, str | ca.Function] = {}
    callables: Callables = {}
    for name, spec in given.items():
        k, rate_offset = input_index(system, name)
        if isinstance(spec, Table):
            tables += table_entries(system, spec, k, rate_offset, name)
        elif isinstance(spec, str | ca.Function):
            traced[name] = spec
        elif callable(spec):
            if rate_offset:
                raise SimulationError(
                    f"speed input '{name}' is given as a Python callable, whose rate is not known",
                    f"inputs of model '{system.model.name}'",
                    "give an expression of t, a table or a CasADi function, which are "
                    "differentiated",
                )
            callables[k] = spec
        else:
            base[k] = input_number(spec, name, system)
    function, is_kept = _traced_function(system, traced, definitions) if traced else (None, True)
    knots = np.unique(np.concatenate([t.starts for t in tables])) if tables else EMPTY
    notes: tuple[str, ...] = ()
    if traced and span is not None:
        found = time_features(system, traced, definitions).find(parameters, *span)
        if found.knots.size:
            knots, is_kept = np.union1d(knots, found.knots), False
        if not found.is_complete:
            notes = (MANY_BREAKS,)
    plan = InputPlan(
        base=base,
        tables=tuple(tables),
        knots=knots,
        notes=notes,
        function=function,
        address=function.address if function else 0,
        parameters=parameters,
        generator=None,
        is_kept=is_kept and not tables,
    )
    if not callables:
        return plan
    return _with_callables(system, plan, callables, span[1] if span and is_adaptive else None)


MANY_BREAKS = (
    "an input has more kinks or jumps in time than steps can end on: give max_step=…, half of the "
    "time between two of them"
)


def time_features(
    system: System,
    given: Mapping[str, str | ca.Function],
    definitions: Mapping[str, str | ca.SX] | None,
) -> TimeFeatures:
    """Features of time of inputs, see `time_features.py`; cached with the system for texts."""

    def make() -> TimeFeatures:
        traced = traced_inputs(system, given, definitions)
        expression = system.fold(inputs_expression(system, traced, None))
        symbols = system.kinematics.symbols
        others = ca.vertcat(system.state, system.equations.inputs)
        return TimeFeatures(expression, symbols.t, symbols.params, others)

    key = texts_key(given, definitions)
    return make() if key is None else system.cached(("time features", key), make)


def inputs_at(plan: InputPlan, t: float, state: Array) -> Array:
    """[u; w; ẇ] at a state, outside the loop."""
    base = driven(plan.base, plan.tables, t)
    if plan.function is None:
        return base
    return plan.function(t, state, base, plan.parameters)[: plan.num_inputs]


def settable_inputs(system: System) -> list[str]:
    """Names of inputs that can be given: u and w."""
    model = system.model
    return [u.name for u in model.inputs] + [w.name for w in model.speed_inputs]


def input_index(system: System, name: str) -> tuple[int, int]:
    """Index of an input in [u; w; ẇ], and the offset from it to its rate, 0 if it has none."""
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    settable = settable_inputs(system)
    if name not in settable:
        raise SimulationError(
            f"there is no input '{name}'",
            f"inputs of model '{system.model.name}'",
            nearest(name, settable),
        )
    k = settable.index(name)
    return k, num_w if k >= num_u else 0


def input_number(spec: Any, name: str, system: System) -> float:
    """The value of an input that is a number."""
    try:
        value = float("nan") if is_truth(spec) else float(spec)
    except (TypeError, ValueError):
        value = float("nan")
    if not np.isfinite(value):
        raise SimulationError(
            f"input '{name}' is {spec!r}, which is not a finite number",
            f"inputs of model '{system.model.name}'",
            "give a number, an expression of t, a Table, a CasADi function or a Python callable",
        )
    return value


def texts_key(*mappings: Mapping[str, Any] | None) -> Hashable:
    """Cache key of code of these names and texts; None if some are no texts."""
    key = tuple(tuple((mapping or {}).items()) for mapping in mappings)
    is_text = all(isinstance(value, str) for items in key for _, value in items)
    return key if is_text else None


def _traced_function(
    system: System, given: dict[str, str | ca.Function], definitions: Mapping[str, str] | None
) -> tuple[NativeFunction, bool]:
    """Native inputs of expressions and CasADi functions, and whether they stay with the system."""

    def make() -> NativeFunction:
        return _compile(system, traced_inputs(system, given, definitions), None)

    key = texts_key(given, definitions)
    return (make(), False) if key is None else (system.cached(("inputs", key), make), True)


def _compile(
    system: System, traced: dict[int, ca.SX], generator: InputGenerator | None
) -> NativeFunction:
    """Native [inputs; ż]."""
    return _native(system, "inputs", inputs_expression(system, traced, generator), generator)


def _native(
    system: System, name: str, expression: ca.SX, generator: InputGenerator | None
) -> NativeFunction:
    """A function of (t, [x; z], base inputs, [parameters; the generator's]) as native code."""
    symbols = system.kinematics.symbols
    states = generator.states if generator else ca.SX(0, 1)
    extra = generator.parameters if generator else ca.SX(0, 1)
    noise = generator.noise if generator else ca.SX(0, 1)
    program = trace_program(
        name,
        (
            symbols.t,
            ca.vertcat(system.state, states),
            ca.vertcat(system.equations.inputs, noise),
            ca.vertcat(symbols.params, extra),
        ),
        ca.densify(expression),
    )
    return compile_native([program])[name]


def _plan_generator(system: System, generator: InputGenerator, parameters: Array) -> InputPlan:
    names = [q.name for q in system.inputs]
    traced = {names.index(name): e for name, e in generator.inputs.items()}

    def cached(name: str, make: Callable[[], NativeFunction]) -> NativeFunction:
        key = generator.key
        return make() if key is None else system.cached((name, key), make)

    function = cached("law", lambda: _compile(system, traced, generator))
    update = generator.update
    return InputPlan(
        base=np.zeros(len(names) + generator.noise.shape[0]),
        tables=(),
        knots=generator.knots,
        function=function,
        address=function.address,
        parameters=np.concatenate([parameters, generator.parameter_values]),
        generator=generator,
        update=None
        if update is None
        else cached("update", lambda: _native(system, "update", update, generator)),
    )


def _with_callables(
    system: System, plan: InputPlan, callables: Callables, end_time: float | None
) -> InputPlan:
    """Wrap Python callables f(t, q, v) in a native callback with the loop's signature."""
    num_q, nx = len(system.coordinates), system.num_states
    num_inputs, num_v = len(system.inputs), len(system.speeds)
    native, motion = plan.function, system.motion
    parameters = plan.parameters
    failure: list[BaseException] = []
    watches = (
        {
            k: SmoothnessWatch(system, system.inputs[k].name, f, end_time)
            for k, f in callables.items()
        }
        if end_time is not None
        else {}
    )

    def call(t, x, u, p, out):
        result = np.ctypeslib.as_array(out, (num_inputs,))
        if failure:
            result[:] = np.nan
            return
        try:
            state = np.ctypeslib.as_array(x, (nx,))
            base = np.ctypeslib.as_array(u, (num_inputs,))
            result[:] = native(t[0], state, base, parameters) if native else base
            v = motion(t[0], state, result, parameters)[:num_v]
            for k, f in callables.items():
                result[k] = float(f(t[0], state[:num_q].copy(), v))
                if watches:
                    watches[k].see(t[0], result[k], state[:num_q], v)
        except BaseException as error:
            # nothing may pass through native code: note it, stop the run by a non-finite input
            failure.append(error)
            result[:] = np.nan

    callback = _CALLBACK(call)
    listed = ", ".join(f"'{system.inputs[k].name}'" for k in callables)
    return plan._replace(
        address=ctypes.cast(callback, ctypes.c_void_p).value or 0,
        callback=callback,
        failure=failure,
        notes=(
            *plan.notes,
            f"input {listed} is a Python callable, called back at every evaluation: slower",
        ),
        is_kept=False,
    )


#: Evaluations after which a watch judges a callable; so many Python makes in some tens of ms.
WATCHED = 512
#: Evaluations still to come from which on a run counts as stalled: minutes of Python.
STALLED = 5_000_000
#: Ways up and down, in what a callable spans, from which on it is no smooth function: a smooth one
#: that goes up or down goes 1, noise some hundreds.
ROUGH = 16.0
#: Relative difference of two values at the same time and state that is no rounding.
UNREPEATED = 1e-6


class SmoothnessWatch:
    """Watches the values of a Python callable in an adaptive run, which smooth functions alone do.

    Steps are chosen by how the rates change within them. Where the values jump about however near
    the times are, the steps shrink until jump times step meets the tolerance, and the run stands
    still. So it is judged while it runs: is most of it still to come at this pace, and do the
    values go up and down without end within the short time that was covered? Random ones are found
    at once, by asking twice.
    """

    def __init__(self, system: System, name: str, f: Callable[..., float], end_time: float) -> None:
        self._where = f"inputs of model '{system.model.name}'"
        self._name, self._f, self._end = name, f, end_time
        self._times: list[float] = []
        self._values: list[float] = []
        self._is_first = True

    def see(self, t: float, value: float, q: Array, v: Array) -> None:
        """Take notice of a value; refuse the callable where it stalls the run."""
        if self._is_first:
            self._is_first = False
            again = float(self._f(t, q.copy(), v))
            if abs(again - value) > UNREPEATED * max(abs(again), abs(value)):
                raise self._refusal(
                    f"gives {value:.6g}, then {again:.6g} for the same time and state: it is "
                    "random, or remembers its calls"
                )
        self._times.append(t)
        self._values.append(value)
        if len(self._times) >= WATCHED:
            times, values = np.array(self._times), np.array(self._values)
            self._times.clear()
            self._values.clear()
            self._judge(times, values)

    def _judge(self, times: Array, values: Array) -> None:
        covered = float(np.ptp(times))
        left = self._end - float(np.max(times))
        if left * WATCHED <= STALLED * covered or not np.all(np.isfinite(values)):
            return
        values = values[np.argsort(times, kind="stable")]
        span = float(np.ptp(values))
        if span <= UNREPEATED * float(np.max(np.abs(values))):
            return
        if float(np.sum(np.abs(np.diff(values)))) > ROUGH * span:
            raise self._refusal(
                f"is not smooth: at t = {times[-1]:.9g} s it goes up and down by {span:.3g} within "
                f"{covered:.1e} s, and adaptive steps stand still"
            )

    def _refusal(self, what: str) -> SimulationError:
        return SimulationError(
            f"input '{self._name}' {what}",
            self._where,
            "draw noise once, into a Table(times=…, values=…, kind='hold'), one row "
            "for each sampling time; write dry friction smoothly, as tanh(v/0.01)",
        )


def traced_inputs(
    system: System,
    given: Mapping[str, str | ca.Function],
    definitions: Mapping[str, str | ca.SX] | None,
    generator: InputGenerator | None = None,
) -> dict[int, ca.SX]:
    """Expressions of inputs and of the rates that come with them, by index in [u; w; ẇ]."""
    if generator is not None:
        names = [q.name for q in system.inputs]
        return {names.index(name): e for name, e in generator.inputs.items()}
    traced: dict[int, ca.SX] = {}
    for name, spec in given.items():
        k, rate_offset = input_index(system, name)
        traced |= _traced_entries(system, spec, k, rate_offset, name, definitions)
    return traced


def _traced_entries(
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
        expression = ca.substitute([expression], [inputs[num_u:, :]], [given])[0]
    return expression


def table_entries(
    system: System, table: Table, k: int, rate_offset: int, name: str
) -> list[InputTable]:
    """Segments of an input k that a table gives, and of its rate where that comes with it."""
    starts, coefficients = table.segments()
    entries = [InputTable(k, starts, coefficients)]
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
        entries.append(InputTable(k + rate_offset, starts, slope))
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
