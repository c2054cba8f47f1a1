"""`periodic`: motions that repeat, by shooting; `lyapunov_exponents`: how fast neighbors part.

**`periodic`: motions that repeat, by shooting with exact derivatives, up to what is ignored.**

With w the coordinates that matter and the speeds, and Φ the flow of a run,

    (1)  Φ_w(w, T, s) − w − 2π n = 0        the motion repeats; n whole turns of angles
    (2)  ẇ₀ · (w − w₀) = 0                  where on it the start is, if nothing depends on time
    (3)  g(w) = 0,  and each given value is met

What is ignored, as a place and a heading, goes on by the same amount in every period: the motion
repeats up to a symmetry. Where the equations or inputs depend on time the period T is known, and
(2) is left out. F(w, T) = 0, (1) to (3), is solved by Gauss–Newton as in `steady_motion.py`, with
the exact Jacobian of Φ. The Floquet multipliers are the eigenvalues of

    (4)  M = ∂Φ_w/∂w

in coordinates that holonomic rows leave free; one is 1 along the motion itself, and one for each
parameter of a family, as its energy.

**`lyapunov_exponents`: how fast neighboring motions part, all exponents with their errors.**

With x = X(w) and w the coordinates that matter and the speeds, as in `periodic.py`, a basis Q of
neighbors is carried by the exact derivative of the flow over spans of τ, and made orthonormal again
[BenettinGalganiGiorgilliStrelcyn1980],

    (1)  Φ′(w_k, τ) Q_k = Q_{k+1} R_{k+1},      λ_j = 1/(n τ) Σ_k log R_{k,jj}

Their sum is the mean divergence of the flow in w.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.analysis import RelevantState, split_changes
from noslip.base import ArgumentError, Array, SimulationError, counted
from noslip.engines import System, require_system
from noslip.expressions import ExpressionError, names_in, nominal, parse
from noslip.model import Quantity
from noslip.simulation import Start, Table, complete_start, flow_map, units_by_name

#: What may be left of (1) to (3), in m, rad and s, and the tolerance of the runs.
ALLOWED, TOLERANCE = 1e-9, 1e-12
#: Steps of the search, and how often each is halved.
MOST_STEPS, HALVINGS = 40, 8
#: A multiplier is 1 within this; as an exponent, two that are defective are so to the root of a
#: run's error.
NEUTRAL, NEUTRAL_EXPONENT = 1e-6, 1e-5
#: Varied values that belong to no model.
PERIOD = "period"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeriodicMotion:
    """A motion that repeats, up to what is ignored. Made by :func:`periodic`."""

    model: str
    #: a state on it, for :func:`noslip.simulate` and :func:`noslip.simulate_sensitivities`
    start: Start
    period: float  #: s
    values: dict[str, float]  #: coordinates that matter and speeds at the start, by name
    #: change in a period of coordinates that are ignored, and whole turns of angles
    displacement: dict[str, float]
    units: dict[str, str]  #: name → unit, of all of these
    #: Floquet multipliers, the largest first; one is 1 if nothing depends on time
    multipliers: NDArray[np.complex128] = field(repr=False)
    residual: float  #: largest difference between its end and its start
    family: int  #: number of parameters of the family of such motions around it
    inputs: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def is_stable(self) -> bool:
        """Whether no small disturbance grows from period to period."""
        return bool(np.max(np.abs(self.multipliers), initial=0.0) <= 1.0 + NEUTRAL)

    def text(self) -> str:
        """The motion for people."""
        names = [*self.values, *self.displacement]
        width = max((len(n) for n in names), default=0)

        def rows(values: Mapping[str, float]) -> list[str]:
            return [
                f"  {n:<{width}}  {0.0 if abs(x) < 1e-11 else x: .12g} {self.units[n]}".rstrip()
                for n, x in values.items()
            ]

        lines = [f"{self.model}: a motion that repeats after {self.period:.12g} s"]
        lines += ["at the start", *rows(self.values)]
        if self.displacement:
            lines += ["displacement in a period", *rows(self.displacement)]
        lines.append("Floquet multipliers")
        for mu in self.multipliers:
            if mu.imag >= 0.0:
                pair = f" ± {mu.imag:.9f} i" if mu.imag else ""
                lines.append(f"  {mu.real: .9f}{pair}, size {abs(mu):.9f}")
        lines.append("stable: no disturbance grows" if self.is_stable else "unstable")
        lines.append(f"residual {self.residual:.2g}")
        if self.family:
            lines.append(f"one of a family with {counted(self.family, 'parameter')}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain numbers and dictionaries; a multiplier is [real, imaginary]."""
        return {
            "model": self.model,
            "period": self.period,
            "values": self.values,
            "displacement": self.displacement,
            "units": self.units,
            "multipliers": [[mu.real, mu.imag] for mu in self.multipliers.tolist()],
            "is_stable": self.is_stable,
            "residual": self.residual,
            "family": self.family,
        }

    def __repr__(self) -> str:
        word = "stable" if self.is_stable else "unstable"
        return (
            f"PeriodicMotion of '{self.model}' with a period of {self.period:.9g} s ({word})\n"
            "next: .text(), .multipliers, .displacement, "
            "noslip.simulate(system, start=motion.start, duration=motion.period, …)"
        )


class Shot(NamedTuple):
    """F at a point, ∂F/∂y, what may be left of F, and M."""

    F: Array
    J: Array
    allowed: Array
    monodromy: Array
    ignored: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeriodicTask:
    """Motions that are asked for, checked."""

    system: System  #: compiled
    given: Mapping[str, float]  #: values at the start
    #: inputs, definitions, parameters: those of :func:`noslip.simulate`
    inputs: Mapping[str, Any]
    definitions: Mapping[str, Any]
    parameters: Mapping[str, float]
    #: s, or an expression of definitions and parameters; a guess if nothing depends on time
    period: float | str
    is_forced: bool  #: whether something depends on time, so that the period is known
    start_time: float  #: s
    varied: str = ""  #: name of what is varied, if anything
    kind: str = ""

    def with_value(self, s: float | None) -> PeriodicTask:
        """The task at a value of what is varied."""
        if s is None or not self.varied:
            return self
        changed = {self.varied: float(s)}
        if self.kind == "parameters":
            return replace(self, parameters={**self.parameters, **changed})
        if self.kind == "inputs":
            return replace(self, inputs={**self.inputs, **changed})
        if self.kind == "definitions":
            return replace(self, definitions={**self.definitions, **changed})
        return self

    is_map = True

    @staticmethod
    def neutral(exponents: NDArray[np.complex128]) -> float:
        """Size below which an exponent of a multiplier counts as zero."""
        return NEUTRAL_EXPONENT

    @property
    def name(self) -> str:
        """What is varied."""
        return self.varied

    @property
    def unit(self) -> str:
        """Of what is varied."""
        system = self.system
        units = {PERIOD: "s", **units_by_name(system)}
        units |= {q.name: q.unit for q in system.inputs}
        units |= {p.name: p.unit for p in system.model.parameters}
        return units.get(self.varied, "1")

    def motion(self, value: float, guess: Mapping[str, float] | Start | None) -> PeriodicMotion:
        """The motion at a value of what is varied, by the search of :func:`periodic`."""
        at = self.with_value(value)
        if self.kind == "start":
            at = replace(at, given={**self.given, self.varied: value})
        if self.kind == PERIOD:
            at = replace(at, period=value)
        single = replace(at, varied="", kind="")
        equations = equations_from(single, guess)
        y = equations.solve(equations.unknowns(single.duration()))
        if y is None:
            raise not_found(single)
        return equations.motions(y[None])[0]

    def equations_at(self, motion: PeriodicMotion, value: float) -> tuple[PeriodicEquations, Array]:
        """The equations with a phase that is that of a motion, and its unknowns."""
        equations = PeriodicEquations(self.with_value(value), motion.start)
        return equations, equations.unknowns(motion.period, value)

    def duration(self) -> float:
        """The known period, s."""
        if not isinstance(self.period, str):
            return float(self.period)
        values = {**self.system.model.parameter_values(), **self.parameters}
        values |= {n: x for n, x in self.definitions.items() if not isinstance(x, str)}
        for name, text in self.definitions.items():
            if isinstance(text, str):
                values[name] = nominal(text, values)
        try:
            return float(nominal(self.period, values))
        except ExpressionError as error:
            raise SimulationError(
                f"the period is {self.period!r:.60}, which cannot be read: {error}",
                f"periodic motion of model '{self.system.model.name}'",
                "write a number in s, or an expression of parameters and definitions",
            ) from error

    def numbers(self) -> tuple[Array, Array]:
        """Inputs at the start, as far as they do not depend on the state, and parameters."""
        system = self.system
        values: dict[str, float] = {**system.model.parameter_values(), **self.parameters}
        values["t"] = self.start_time
        for name, x in self.definitions.items():
            values[name] = nominal(x, values)
        u = np.zeros(len(system.inputs))
        for k, quantity in enumerate(system.inputs):
            spec = self.inputs.get(quantity.name, 0.0)
            if isinstance(spec, str) and names_in(parse(spec)) <= set(values):
                u[k] = nominal(spec, values)
            elif isinstance(spec, int | float | np.number):
                u[k] = float(spec)
        return u, system.parameters(self.parameters)

    def used(self) -> frozenset[str] | None:
        """Names that inputs depend on; None if that is not known."""
        found: set[str] = set()
        for spec in self.inputs.values():
            if isinstance(spec, str):
                found |= names_in(parse(spec))
            elif not isinstance(spec, int | float | np.number | Table):
                return None
        for text in self.definitions.values():
            if isinstance(text, str):
                found |= names_in(parse(text))
        return frozenset(found)


class PeriodicEquations:
    """F(w, T) or F(w, T, s) of a task, near a start."""

    def __init__(self, task: PeriodicTask, start: Start) -> None:
        self.task = task
        u, params = task.numbers()
        wanted = dict(task.given)
        if task.kind == "start":
            wanted[task.varied] = 0.0
        self.state = RelevantState(task.system, start, u, params, task.used(), wanted)
        self._names = list(wanted)
        self._num_w = len(self.state.first)
        self._anchor = self.state.first.copy()
        self._normal: Array | None = None
        self._turns: Array | None = None
        self._known: OrderedDict[bytes, Shot] = OrderedDict()
        more = [1.0] * (not task.is_forced) + [1.0] * bool(task.varied)
        #: What counts as a step of 1.
        self.scale = np.concatenate([self.state.scale, more])

    #: Length of a Newton step, beside the unknowns, that is rounding.
    precision = 1e-9

    @property
    def names(self) -> tuple[Quantity, ...]:
        """Coordinates that matter and speeds."""
        return self.state.quantities

    @property
    def chart(self) -> object:
        """What the unknowns stand for: points of other equations are not comparable."""
        return self

    @property
    def num_places(self) -> int:
        """Unknowns that are coordinates."""
        return len(self.state.matter)

    def is_regular(self, y: Array) -> bool:
        """Whether the motion has a flow."""
        return bool(np.all(np.isfinite(self.at(y).F)))

    def columns(self, Y: Array) -> list[tuple[Quantity, Array]]:
        """Values at the starts of points (n, k), by name, and periods; not what is varied."""
        period = Quantity(name=PERIOD, unit="s")
        found = [(q, Y[:, k]) for k, q in enumerate(self.names)]
        found.append((period, np.array([self.period_of(y) for y in Y])))
        return [(q, column) for q, column in found if q.name != self.task.varied]

    def unknowns(self, period: float, s: float | None = None) -> Array:
        """y of the start."""
        more = ([] if self.task.is_forced else [period]) + ([] if s is None else [s])
        return np.concatenate([self.state.first, more])

    def at(self, y: Array) -> Shot:
        """(1) to (3) at a point, by one run with its derivatives."""
        key = y.tobytes()
        if key not in self._known:
            self._known[key] = self._shot(y)
            while len(self._known) > 4096:
                self._known.popitem(last=False)
        return self._known[key]

    def period_of(self, y: Array) -> float:
        """T of a point, s."""
        if not self.task.is_forced:
            return float(y[self._num_w])
        return self._task_at(y).duration()

    def _task_at(self, y: Array) -> PeriodicTask:
        return self.task.with_value(float(y[-1]) if self.task.varied else None)

    def _shot(self, y: Array) -> Shot:
        task, k = self._task_at(y), len(y)
        nan = np.full(1, np.nan)
        w, T = y[: self._num_w], self.period_of(y)
        _, params = task.numbers()
        num = self._num_w
        start, X = self.state.start(w, params)
        by_name = [task.varied] if task.kind in ("parameters", "inputs", "definitions") else []
        if not (np.all(np.isfinite(w)) and 0.0 < T < 1e9):
            return Shot(nan, np.full((1, k), np.nan), nan, nan, nan)
        try:
            flow = flow_map(
                self.state.system,
                start,
                X,
                duration=T,
                with_respect_to=by_name,
                inputs=task.inputs,
                definitions=task.definitions,
                parameters=task.parameters,
                start_time=task.start_time,
                rtol=TOLERANCE,
                atol=TOLERANCE,
            )
        except SimulationError:
            return Shot(nan, np.full((1, k), np.nan), nan, nan, nan)
        along = np.column_stack([flow.tangents, flow.last_rates])
        after, ignored, moved = self.state.local(flow.last, along, params)
        if self._turns is None:
            self._turns = self.state.turns(w, after, params)
        F = [after - w - self._turns]
        rows = np.zeros((num, k))
        M = moved[:, :num]
        rows[:, :num] = M - np.eye(num)
        if not task.is_forced:
            rows[:, num] = moved[:, -1]
        if by_name:
            rows[:, -1] = moved[:, num]
        if task.is_forced and task.varied and isinstance(task.period, str):
            step = 1e-6 * max(1.0, abs(y[-1]))
            ahead, behind = (
                self.task.with_value(float(y[-1]) + sign * step).duration() for sign in (1, -1)
            )
            rows[:, -1] += moved[:, -1] * (ahead - behind) / (2 * step)
        J = [rows]
        if not task.is_forced:
            if self._normal is None:
                _, _, first = self.state.local(flow.first, flow.first_rates[:, None], params)
                speed = first[:, 0] / self.state.scale**2
                self._normal = speed / max(float(np.linalg.norm(speed)), 1e-300)
            F.append(np.array([self._normal @ (w - self._anchor)]))
            J.append(np.concatenate([self._normal, np.zeros(k - num)])[None])
        more, slopes = self.state.conditions(w, params)
        if more.size:
            more = more.copy()
            wide = np.zeros((len(more), k))
            wide[:, :num] = slopes
            if task.kind == "start":
                more[-1] -= y[-1]
                wide[-1, -1] -= 1.0
            F.append(more)
            J.append(wide)
        if task.kind == PERIOD:
            F.append(np.array([T - y[-1]]))
            row = np.zeros((1, k))
            row[0, num], row[0, -1] = 1.0, -1.0
            J.append(row)
        whole = np.concatenate(F)
        size = max(1.0, float(np.max(np.abs(w), initial=0.0)))
        return Shot(
            F=whole,
            J=np.vstack(J),
            allowed=np.full(len(whole), ALLOWED * size),
            monodromy=self.state.independent(w, M, params),
            ignored=ignored,
        )

    def solve(self, y: Array) -> Array | None:
        """The solution near a guess, by Gauss–Newton steps of least length."""
        here = self.at(y)
        for _ in range(MOST_STEPS):
            if not np.all(np.isfinite(here.F)):
                return None
            fixed = self.scale
            step = fixed * np.linalg.lstsq(here.J * fixed, -here.F, rcond=1e-8)[0]
            longest = float(np.linalg.norm(step / fixed))
            is_done = bool(np.all(np.abs(here.F) <= here.allowed))
            if is_done and longest < 1e-10:
                return y
            step *= min(1.0, 0.5 / max(longest, 1e-300))
            size = float(np.linalg.norm(here.F))
            for halving in range(HALVINGS):
                there = y + step / 2**halving
                found = self.at(there)
                if np.all(np.isfinite(found.F)) and np.linalg.norm(found.F) < size:
                    y, here = there, found
                    break
            else:
                return y if is_done else None
        return y if bool(np.all(np.abs(here.F) <= here.allowed)) else None

    def eigenvalues(self, Y: Array) -> NDArray[np.complex128]:
        """(n, k) Floquet multipliers at points, the largest first."""
        rows = []
        for y in Y:
            M = self.at(y).monodromy
            values = np.linalg.eigvals(M) if M.ndim == 2 else np.full(1, np.nan)
            order = np.lexsort((-values.imag, -np.abs(values)))
            rows.append(values[order].astype(complex))
        return np.array(rows)

    def motions(self, Y: Array) -> list[PeriodicMotion]:
        """Points as motions."""
        return [self._motion(y) for y in Y]

    def _motion(self, y: Array) -> PeriodicMotion:
        shot, task = self.at(y), self._task_at(y)
        _, params = task.numbers()
        w = y[: self._num_w]
        start, _ = self.state.start(w, params)
        quantities = self.state.quantities
        chart = self.state.chart
        drift = shot.ignored - self.state.ignored_at_first()
        ignored = [chart.coordinates[k] for k in self.state.ignored]
        displacement = {c.name: float(x) for c, x in zip(ignored, drift, strict=True)}
        assert self._turns is not None
        displacement |= {
            q.name: float(x) for q, x in zip(quantities, self._turns, strict=True) if x
        }
        sizes = np.linalg.svd(shot.J * self.scale, compute_uv=False)
        rank = int(np.sum(sizes > 1e-7 * max(1.0, float(np.max(sizes, initial=0.0)))))
        numbers = {n: float(x) for n, x in task.inputs.items() if isinstance(x, int | float)}
        return PeriodicMotion(
            model=self.state.system.model.name,
            start=start,
            period=self.period_of(y),
            values={q.name: float(x) for q, x in zip(quantities, w, strict=True)},
            displacement=displacement,
            units={q.name: q.unit for q in (*quantities, *ignored)},
            multipliers=self.eigenvalues(y[None])[0],
            residual=float(np.max(np.abs(shot.F), initial=0.0)),
            family=len(y) - rank,
            inputs=numbers,
        )


def is_forced(system: System, inputs: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether the equations or the inputs depend on time."""
    import casadi as ca

    t = system.kinematics.symbols.t
    if bool(ca.depends_on(system.rates_expression, t)):
        return True
    texts = [x for x in (*inputs.values(), *definitions.values()) if isinstance(x, str)]
    if any(isinstance(x, Table) for x in inputs.values()):
        return True
    return any("t" in names_in(parse(text)) for text in texts)


def read_task(
    system: System,
    *,
    period: float | str,
    given: Mapping[str, float] | None,
    inputs: Mapping[str, Any] | None,
    definitions: Mapping[str, float | str] | None,
    parameters: Mapping[str, float] | None,
    start_time: float,
    vary: str = "",
) -> PeriodicTask:
    """What is asked for, checked."""
    where = f"periodic motion of model '{system.model.name}'"
    for word, value in (("given", given), ("inputs", inputs), ("definitions", definitions)):
        if value is not None and not isinstance(value, Mapping):
            raise ArgumentError(
                f"{word} is of type {type(value).__name__}", where, "pass names and values"
            )
    check_values(where, start_time=start_time)
    is_number = isinstance(period, int | float | np.number) and not isinstance(period, bool)
    if not isinstance(period, str) and not (is_number and 0.0 < float(period) < 1e9):
        raise ArgumentError(f"the period is {period!r}", where, "give a positive time in s")
    if system.costates:
        raise SimulationError(
            "vakonomic equations have costates, which are not known of a motion that repeats",
            where,
            "derive the equations by another method, such as NaturalComplement()",
        )
    for name, spec in (inputs or {}).items():
        if not isinstance(spec, int | float | np.number | str | Table):
            raise SimulationError(
                f"input '{name}' is of type {type(spec).__name__}",
                where,
                "give a number, an expression or a Table",
            )
    try:
        forced = is_forced(system, inputs or {}, definitions or {})
    except ExpressionError as error:
        raise SimulationError(f"an input cannot be read: {error}", where, "correct it") from error
    kind = ""
    if vary:
        numbers = [n for n, x in (definitions or {}).items() if not isinstance(x, str)]
        if vary == PERIOD:
            kind = PERIOD
        elif vary in numbers:
            kind = "definitions"
        else:
            split = split_changes(system, {vary: 0.0})
            kind = "parameters" if split.parameters else "inputs" if split.inputs else "start"
    if kind == PERIOD and forced:
        raise SimulationError(
            "the period is varied, but inputs depend on time, which gives it",
            where,
            "vary a number of the inputs: definitions={'w': 2.0}, period='2*pi/w'",
        )
    task = PeriodicTask(
        system=system,
        given=dict(given or {}),
        inputs=dict(inputs or {}),
        definitions=dict(definitions or {}),
        parameters=dict(parameters or {}),
        period=period,
        is_forced=forced,
        start_time=float(start_time),
        varied=vary,
        kind=kind,
    )
    system.parameters(parameters)
    if isinstance(period, str) and not 0.0 < task.duration() < 1e9:
        raise SimulationError(
            f"the period {period!r} is {task.duration():g} s", where, "give a positive time in s"
        )
    return task


def periodic(
    system: System,
    start: Mapping[str, float] | Start | None = None,
    *,
    period: float | str,
    given: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    definitions: Mapping[str, float | str] | None = None,
    parameters: Mapping[str, float] | None = None,
    start_time: float = 0.0,
) -> PeriodicMotion:
    """Find a motion that repeats: a limit cycle, a swing, a gait that returns displaced.

    What nothing depends on, such as a place and a heading, need not return: it is displaced by the
    same amount in every period. Angles may turn round.

    Parameters
    ----------
    system : compiled system.
    start : first guess: values by name, completed consistently, or a completed start.
    period : first guess, s; the period itself if equations or inputs depend on time, then also an
        expression of definitions and parameters, ``"2*pi/w"``.
    given : values that the start must have, which pick one of a family, as of all swings of a
        pendulum the one with an amplitude.
    inputs : numbers, expressions of t, coordinates and speeds, or a :class:`Table`, by name.
    definitions, parameters, start_time : arguments of :func:`simulate`.

    Raises
    ------
    SimulationError : for unknown names, or if no such motion is found.
    """
    require_system("periodic", system)
    where = f"periodic motion of model '{system.model.name}'"
    if not (start is None or isinstance(start, Mapping | Start)):
        raise ArgumentError(
            f"start is of type {type(start).__name__}", where, "pass names and values, or a Start"
        )
    task = read_task(
        system,
        period=period,
        given=given,
        inputs=inputs,
        definitions=definitions,
        parameters=parameters,
        start_time=start_time,
    )
    _check_names(system, task.given, where)
    equations = equations_from(task, start)
    y = equations.solve(equations.unknowns(task.duration()))
    if y is None:
        raise not_found(task)
    if not task.is_forced and _is_still(equations, y):
        raise SimulationError(
            "the search ends at rest: a steady motion, which repeats after any time",
            where,
            "give a value that moves, given={…}, or begin farther from the steady motion",
        )
    return equations.motions(y[None])[0]


def not_found(task: PeriodicTask) -> SimulationError:
    """The refusal where a search ends nowhere."""
    return SimulationError(
        f"no motion that repeats was found near a period of {task.duration():g} s",
        f"periodic motion of model '{task.system.model.name}'",
        "begin nearer to it, with the state and the time of a run that almost repeats, or give "
        "fewer values",
    )


def _is_still(equations: PeriodicEquations, y: Array) -> bool:
    """Whether nothing that matters moves."""
    _, params = equations.task.numbers()
    state = equations.state
    start, X = state.start(y[: len(state.first)], params)
    flow = flow_map(
        state.system,
        start,
        X[:, :0],
        duration=1e-6 * equations.period_of(y),
        inputs=equations.task.inputs,
        definitions=equations.task.definitions,
        parameters=equations.task.parameters,
        start_time=equations.task.start_time,
    )
    _, _, moved = state.local(flow.first, flow.first_rates[:, None], params)
    return bool(np.max(np.abs(moved), initial=0.0) < 1e-8)


def equations_from(
    task: PeriodicTask, start: Mapping[str, float] | Start | None
) -> PeriodicEquations:
    """The equations near what is given of a start."""
    return PeriodicEquations(task, start_of(task, start))


def start_of(task: PeriodicTask, start: Mapping[str, float] | Start | None) -> Start:
    """What is given of a start, completed."""
    if isinstance(start, Start):
        return start
    u, params = task.numbers()
    num_u = len(task.system.model.inputs)
    w = u[num_u : num_u + len(task.system.model.speed_inputs)]
    return complete_start(
        task.system,
        {**(start or {}), **task.given},
        time=task.start_time,
        speed_inputs=lambda q: w,
        parameters=params,
    )


def check_values(where: str, **numbers: object) -> None:
    """Refuse arguments that are not finite numbers."""
    for name, value in numbers.items():
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value):  # type: ignore[call-overload]
            raise ArgumentError(f"{name} is {value!r:.60}", where, "give a finite number")


def _check_names(system: System, given: Mapping[str, float], where: str) -> None:
    from noslip.base import nearest

    known = units_by_name(system)
    for name, value in given.items():
        if name not in known:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'", where, nearest(name, known)
            )
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise SimulationError(f"'{name}' is {value!r}", where, "give a finite number")


#: Spans, unless another number is asked for.
SPANS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LyapunovExponents:
    """Lyapunov exponents of a motion. Made by :func:`lyapunov_exponents`."""

    model: str
    values: Array  #: (k,) exponents, 1/s, the largest first
    deviations: Array  #: (k,) standard errors of the mean, over batches of spans
    times: Array = field(repr=False)  #: (n,) ends of the spans, s
    history: Array = field(repr=False)  #: (n, k) exponents up to these times
    states: tuple[str, ...] = ()  #: names of the coordinates that matter and the speeds

    @property
    def dimension(self) -> float:
        """Kaplan–Yorke dimension of the attractor."""
        sums = np.cumsum(self.values)
        if not sums.size or sums[0] < 0.0:
            return 0.0
        count = int(np.max(np.flatnonzero(sums >= 0.0))) + 1
        if count == len(sums):
            return float(count)
        return float(count + sums[count - 1] / abs(self.values[count]))

    def text(self) -> str:
        """The exponents for people."""
        lines = [f"{self.model}: Lyapunov exponents [1/s] over {self.times[-1]:g} s"]
        lines += [
            f"  {x: .6g} ± {d:.2g}" for x, d in zip(self.values, self.deviations, strict=True)
        ]
        lines.append(f"  sum {float(np.sum(self.values)):.9g}, the mean divergence")
        lines.append(f"  Kaplan–Yorke dimension {self.dimension:.4g}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain numbers and lists."""
        return {
            "model": self.model,
            "states": list(self.states),
            "values": self.values.tolist(),
            "deviations": self.deviations.tolist(),
            "duration": float(self.times[-1]),
            "dimension": self.dimension,
        }

    def __repr__(self) -> str:
        listed = ", ".join(f"{x:.4g}" for x in self.values)
        return (
            f"LyapunovExponents of '{self.model}': {listed} 1/s\n"
            "next: .text(), .values, .deviations, .history, .dimension"
        )


def lyapunov_exponents(
    system: System,
    start: Mapping[str, float] | Start | None = None,
    *,
    duration: float,
    spans: int = SPANS,
    settle: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    definitions: Mapping[str, float | str] | None = None,
    parameters: Mapping[str, float] | None = None,
    start_time: float = 0.0,
    rtol: float = 1e-9,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> LyapunovExponents:
    """Mean rates at which neighboring motions part, all of them: the Lyapunov spectrum.

    What nothing depends on, such as a place and a heading, is left out.

    Parameters
    ----------
    system : compiled system.
    start : values by name, completed consistently, or a completed start.
    duration : time that is averaged over, s.
    spans : number of times that neighbors are made orthonormal again.
    settle : time before that, in which a motion comes to its attractor, s.
    inputs : numbers, expressions of t, coordinates and speeds, or a :class:`Table`, by name.
    definitions, parameters, start_time : arguments of :func:`simulate`.
    rtol : relative and absolute tolerance of the runs.
    progress : function that is called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and exponents up to then are returned.

    Raises
    ------
    SimulationError : for unknown names, and for a motion that ends.
    """
    require_system("lyapunov_exponents", system)
    where = f"Lyapunov exponents of model '{system.model.name}'"
    check_values(
        where, duration=duration, settle=settle, rtol=rtol, start_time=start_time, spans=spans
    )
    if not (start is None or isinstance(start, Mapping | Start)):
        raise ArgumentError(
            f"start is of type {type(start).__name__}", where, "pass names and values, or a Start"
        )
    if not 0.0 < duration < 1e9 or not 0.0 <= settle < 1e9 or not 2 <= spans <= 1_000_000:
        raise ArgumentError(
            f"the duration is {duration:g} s, settle {settle:g} s, and there are {spans} spans",
            where,
            "give a positive duration, settle of zero or more, and 2 spans or more",
        )
    task = read_task(
        system,
        period=1.0,
        given=None,
        inputs=inputs,
        definitions=definitions,
        parameters=parameters,
        start_time=start_time,
    )
    u, params = task.numbers()
    begun = start_of(task, start)
    options: dict[str, Any] = {
        "inputs": task.inputs,
        "definitions": task.definitions,
        "parameters": task.parameters,
        "rtol": rtol,
        "atol": rtol,
    }
    time = task.start_time
    span = duration / spans
    spectrum: list[Array] = []
    names: tuple[str, ...] = ()
    waiting = int(np.ceil(settle / span)) if settle else 0
    carried: tuple[Array, Array] | None = None
    for k in range(waiting + spans):
        if cancel is not None and cancel.is_set() and spectrum:
            break
        # local coordinates that are regular where the span begins
        state = RelevantState(task.system, begun, u, params, task.used(), {})
        names = tuple(q.name for q in state.quantities)
        if carried is None:
            basis = state.neighbors(state.first, params)
        else:
            _, _, basis = state.local(*carried, params)
        here, X = state.start(state.first, params)
        flow = flow_map(state.system, here, X @ basis, duration=span, start_time=time, **options)
        w, _, moved = state.local(flow.last, flow.tangents, params)
        Q, R = np.linalg.qr(moved)
        if k >= waiting:
            spectrum.append(np.log(np.abs(np.diag(R))) / span)
        time += span
        there, X = state.start(w, params)
        begun = replace(there, time=time)
        carried = np.concatenate([there.q, there.eta, there.mu]), X @ Q
        if progress is not None:
            progress((k + 1) / (waiting + spans))
    table = np.array(spectrum)
    if not np.all(np.isfinite(table)):
        raise SimulationError(
            "neighbors of the motion have no finite distance", where, "take shorter spans: spans=…"
        )
    mean = table.mean(axis=0)
    order = np.argsort(-mean)
    parts = np.array_split(table, min(10, len(table)))
    means = np.array([part.mean(axis=0) for part in parts])
    deviation = means.std(axis=0, ddof=1) / np.sqrt(len(parts))
    counts = np.arange(1, len(table) + 1)
    return LyapunovExponents(
        model=system.model.name,
        values=mean[order],
        deviations=deviation[order],
        times=np.asarray(counts * span, dtype=float),
        history=(np.cumsum(table, axis=0) / counts[:, None])[:, order],
        states=names,
    )
