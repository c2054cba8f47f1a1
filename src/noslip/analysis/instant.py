"""`evaluate` and `evaluate_batch`: a mechanism at an instant, alone or in many variants.

**n variants at an instant: matrices, stacked, and results. A single call has n = 1.**

Matrices of a single call are evaluated by CasADi's interpreter, at a thousandth of the cost of
compiling them; those of a batch, of however many, are compiled in lanes or for a GPU. The two round
differently.

**`evaluate` and `evaluate_batch`: accelerations, matrices, energies and reactions, by name.**

All numbers of a state are one row of a function of (t, x, inputs, parameters), and n states are n
rows; a single evaluation has n = 1. States at which the independent speeds of the system do not
determine the motion are evaluated in others, a group of states at a time.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.local_coordinates import LocalCoordinates
from noslip.analysis.reactions import contact_notes, unknown_notes
from noslip.base import ArgumentError, Array, SimulationError, as_number, check_memory, nearest
from noslip.engines import AbstractDevice, RowFunction, System, compile_rows, trace_program
from noslip.expressions import read_unit, times, unit_text
from noslip.model import bears_force
from noslip.simulation import (
    Outputs,
    Start,
    Starts,
    VariantResults,
    Variants,
    check_named,
    choose_bases,
    complete_start,
    on_its_branch,
    plan_inputs,
    regular_start,
    with_regular_rows,
)


def one_variant(
    system: System, what: str, state: Mapping[str, float], inputs: Array, parameters: Array
) -> Variants:
    """The batch of one that a single call is, of values that are checked."""
    return Variants(
        system=system,
        what=what,
        count=1,
        state={name: np.array([value], dtype=float) for name, value in state.items()},
        inputs=inputs[None],
        parameters=parameters[None],
        others={},
        varied={},
    )


def at_variant(values: Mapping[str, Array], k: int) -> dict[str, float]:
    """The numbers of one variant, by name."""
    return {name: float(x[k]) for name, x in values.items()}


@dataclass(frozen=True, slots=True, eq=False)
class StackedFunction:
    """Matrices of (t, [c; ζ], inputs, parameters), each (n, …)."""

    shapes: tuple[tuple[int, int], ...]
    function: RowFunction

    def __call__(self, t: float, x: Array, inputs: Array, parameters: Array) -> list[Array]:
        """The matrices of n variants, in the order in which they were given."""
        found = self.function.map(np.full(len(x), t), x, inputs, parameters)
        ends = np.cumsum([m * k for m, k in self.shapes])[:-1]
        parts = np.split(found, ends, axis=1)
        return [
            part.reshape(len(x), *shape) for part, shape in zip(parts, self.shapes, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LocalExpressions:
    """Expressions of a chart, traced at ζ̇ = 0: r, ċ, g, v, η, the mass matrix and derivatives."""

    system: System
    arguments: tuple[ca.SX, ca.SX, ca.SX, ca.SX]
    values: tuple[ca.SX, ...]
    mass: ca.SX
    by_c: tuple[ca.SX, ...]
    by_zeta: tuple[ca.SX, ...]
    by_inputs: tuple[ca.SX, ...]

    def compile(
        self,
        name: str,
        parts: Sequence[ca.SX],
        device: AbstractDevice | None = None,
        *,
        is_single: bool = False,
    ) -> StackedFunction:
        """Some of them in lanes, on a device, or by CasADi's interpreter for a single call."""
        dense = [ca.densify(ca.SX(part)) for part in parts]
        # a row after the other, as NumPy has them
        column = ca.vertcat(*[ca.vec(part.T) for part in dense])
        shapes = tuple((int(part.shape[0]), int(part.shape[1])) for part in dense)
        if is_single and device is None:
            return StackedFunction(shapes, interpret_rows(name, self.arguments, column))
        program = trace_program(name, self.arguments, ca.densify(self.system.fold(column)))
        return StackedFunction(shapes, compile_rows(program, device))


def interpret_rows(name: str, arguments: Sequence[ca.SX], column: ca.SX) -> RowFunction:
    """A column of expressions of (t, x, inputs, parameters), run by CasADi's interpreter."""
    return _InterpretedRows(name, arguments, column)


class _InterpretedRows:
    """A column of expressions as a function of rows, run by CasADi's interpreter."""

    def __init__(self, name: str, arguments: Sequence[ca.SX], column: ca.SX) -> None:
        self._function = ca.Function(name, list(arguments), [ca.densify(column)])
        self.output_size = int(column.shape[0])

    def map(self, t: ArrayLike, x: ArrayLike, u: ArrayLike, p: ArrayLike) -> Array:
        """Outputs (n, output_size) for t (n,), x (n, nx), u (n, nu) and p (n, np)."""
        given = zip(*(np.asarray(part, dtype=float) for part in (t, x, u, p)), strict=True)
        rows = [self._function.call(list(row))[0].full() for row in given]
        return np.array(rows, dtype=float).reshape(len(rows), self.output_size)


def local_expressions(system: System, chart: LocalCoordinates) -> LocalExpressions:
    """The functions of a chart in symbols."""
    s, inputs = system.kinematics.symbols, system.equations.inputs
    c, zeta = ca.SX.sym("c", len(chart.coordinates)), ca.SX.sym("zeta", len(chart.speeds))
    arguments = (s.t, c, zeta, ca.SX.zeros(len(chart.speeds)), inputs, s.params)
    *values, mass = chart.values(*arguments)
    ends = np.cumsum(chart.sizes)
    places = [list(range(end - size, end)) for end, size in zip(ends, chart.sizes, strict=True)]
    by_c, by_zeta, by_inputs = (
        tuple(whole[rows, :] for rows in places) for whole in chart.derivatives(*arguments)
    )
    return LocalExpressions(
        system=system,
        arguments=(s.t, ca.vertcat(c, zeta), inputs, s.params),
        values=tuple(values),
        mass=mass,
        by_c=by_c,
        by_zeta=by_zeta,
        by_inputs=by_inputs,
    )


def solve_stacked(matrix: Array, right: Array) -> Array:
    """Stacked solutions; nan where a matrix is singular."""
    if not matrix.shape[-1]:
        return np.zeros((*matrix.shape[:-1], right.shape[-1]))
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        is_singular = ~(np.abs(np.linalg.det(matrix)) > 0.0)
        safe = np.where(is_singular[:, None, None], np.eye(matrix.shape[-1]), matrix)
        return np.where(is_singular[:, None, None], np.nan, np.linalg.solve(safe, right))


def least_stacked(matrix: Array, right: Array, rcond: float) -> Array:
    """Stacked least-norm least-squares solutions; nan where a matrix is not finite."""
    is_finite = np.all(np.isfinite(matrix), axis=(1, 2))
    safe = np.where(is_finite[:, None, None], matrix, 0.0)
    found = np.einsum("nij,nj->ni", np.linalg.pinv(safe, rcond=rcond), right)
    return np.where(is_finite[:, None], found, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instant:
    """A state with its accelerations, mass matrix, energies and reactions."""

    #: coordinates, speeds: the state, by name
    coordinates: dict[str, float]
    speeds: dict[str, float]
    #: coordinate_rates, coordinate_accelerations: q̇ and q̈ by name
    coordinate_rates: dict[str, float]
    coordinate_accelerations: dict[str, float]
    accelerations: dict[str, float]  #: v̇ of all tree speeds by name
    independent_speeds: tuple[str, ...]  #: names the reduced equations are written in
    mass_matrix: Array  #: reduced mass matrix SᵀMS, in that order
    velocity_terms: Array  #: reduced bias Sᵀ(c + M(Ṡη + ṡ))
    kinetic_energy: float
    potential_energy: float
    multipliers: dict[str, float]  #: λ by row, N or N·m, acting on the mechanism
    #: multipliers by contact, loop, motion or row and by part; for contacts also the force on the
    #: body in world axes (``x``, ``y``, ``z``) and the contact point
    reactions: dict[str, dict[str, float]]
    #: force on the child of each joint in world axes, moment about the joint's point, and that
    #: point; NaN where they are not known
    joint_reactions: dict[str, dict[str, float]]
    speed_residual: float
    position_residual: float
    #: units of coordinates, speeds (independent ones too), multipliers and outputs, by name
    units: dict[str, str]
    #: expressions that were asked for, by name
    outputs: dict[str, float] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()  #: quantities that are not known, with the reason

    def text(self) -> str:
        """The instant for people, one table a quantity, each number with its unit."""
        return instant_text(self)

    def to_json(self) -> dict[str, object]:
        """Plain numbers, lists and dictionaries."""
        return {
            "coordinates": self.coordinates,
            "speeds": self.speeds,
            "coordinate_rates": self.coordinate_rates,
            "coordinate_accelerations": self.coordinate_accelerations,
            "accelerations": self.accelerations,
            "independent_speeds": list(self.independent_speeds),
            "mass_matrix": self.mass_matrix.tolist(),
            "velocity_terms": self.velocity_terms.tolist(),
            "kinetic_energy": self.kinetic_energy,
            "potential_energy": self.potential_energy,
            "multipliers": self.multipliers,
            "reactions": self.reactions,
            "joint_reactions": self.joint_reactions,
            "speed_residual": self.speed_residual,
            "position_residual": self.position_residual,
            "units": self.units,
            "outputs": self.outputs,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        moving = [f"{n} = {x:.6g} {self.units[n]}" for n, x in self.speeds.items() if x]
        return (
            f"Instant with {', '.join(moving) or 'everything at rest'}\n"
            "next: .text(), .accelerations, .reactions, .mass_matrix"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InstantBatch(VariantResults):
    """Many states with their accelerations, matrices, energies and reactions.

    Made by :func:`evaluate_batch`. Names are those of :class:`Instant`, with an array of one number
    for each variant where that has a number; ``batch[k]`` is the :class:`Instant` of a variant.
    """

    independent_speeds: tuple[str, ...]  #: names the reduced equations are written in
    #: coordinates, speeds, coordinate_rates, coordinate_accelerations, accelerations, multipliers,
    #: outputs: name → (n,)
    coordinates: dict[str, Array] = field(repr=False)
    speeds: dict[str, Array] = field(repr=False)
    coordinate_rates: dict[str, Array] = field(repr=False)
    coordinate_accelerations: dict[str, Array] = field(repr=False)
    accelerations: dict[str, Array] = field(repr=False)
    #: mass_matrix, velocity_terms: (n, nf, nf) and (n, nf); nan where `others` has the variant
    mass_matrix: Array = field(repr=False)
    velocity_terms: Array = field(repr=False)
    #: kinetic_energy, potential_energy, speed_residual, position_residual: (n,)
    kinetic_energy: Array = field(repr=False)
    potential_energy: Array = field(repr=False)
    multipliers: dict[str, Array] = field(repr=False)
    #: reactions, joint_reactions: owner → part → (n,)
    reactions: dict[str, dict[str, Array]] = field(repr=False)
    joint_reactions: dict[str, dict[str, Array]] = field(repr=False)
    speed_residual: Array = field(repr=False)
    position_residual: Array = field(repr=False)
    outputs: dict[str, Array] = field(repr=False)
    is_evaluated: NDArray[np.bool_] = field(repr=False)  #: (n,) false where the work was cancelled
    #: variants in other independent speeds, in which the motion is determined there
    others: dict[int, Instant] = field(repr=False)
    units: dict[str, str] = field(repr=False)  #: units of all columns, by name
    notes: tuple[str, ...]  #: quantities that are not known, with the reason

    def __getitem__(self, k: int) -> Instant:
        """The state of one variant."""
        k = self.place_of(k)
        if k in self.others:
            return self.others[k]

        def at(values: Mapping[str, Array]) -> dict[str, float]:
            return at_variant(values, k)

        return Instant(
            coordinates=at(self.coordinates),
            speeds=at(self.speeds),
            coordinate_rates=at(self.coordinate_rates),
            coordinate_accelerations=at(self.coordinate_accelerations),
            accelerations=at(self.accelerations),
            independent_speeds=self.independent_speeds,
            mass_matrix=self.mass_matrix[k],
            velocity_terms=self.velocity_terms[k],
            kinetic_energy=float(self.kinetic_energy[k]),
            potential_energy=float(self.potential_energy[k]),
            multipliers=at(self.multipliers),
            reactions={owner: at(parts) for owner, parts in self.reactions.items()},
            joint_reactions={owner: at(parts) for owner, parts in self.joint_reactions.items()},
            speed_residual=float(self.speed_residual[k]),
            position_residual=float(self.position_residual[k]),
            units=self.units,
            outputs=at(self.outputs),
            notes=self.notes,
        )

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """State, accelerations, energies, reactions and outputs."""
        units = self.units
        columns: dict[str, tuple[NDArray[Any], str]] = {
            n: (x, units[n]) for n, x in (self.coordinates | self.speeds).items()
        }
        for name, x in self.accelerations.items():
            columns[f"acceleration.{name}"] = (x, f"{units[name]}^2")
        columns["kinetic_energy"] = (self.kinetic_energy, "J")
        columns["potential_energy"] = (self.potential_energy, "J")
        for name, x in self.multipliers.items():
            columns[f"multiplier.{name}"] = (x, units[name])
        for kind, owners in (("reaction", self.reactions), ("joint", self.joint_reactions)):
            for owner, parts in owners.items():
                for part, x in parts.items():
                    unit = reaction_unit(units, owner, part)
                    columns[f"{kind}.{owner}.{part}"] = (x, unit)
        return columns | {name: (x, units.get(name, "")) for name, x in self.outputs.items()}

    def __repr__(self) -> str:
        note = f", {len(self.others)} in other speeds" if self.others else ""
        return (
            f"InstantBatch of '{self.model}': {self.count} variants{note}\n"
            "next: .accelerations, .reactions, .mass_matrix, [k], .to_xarray()"
        )


def evaluate(
    system: System,
    state: Mapping[str, float],
    *,
    inputs: Mapping[str, float | str] | None = None,
    parameters: Mapping[str, float] | None = None,
    guess: Mapping[str, float] | None = None,
    outputs: Mapping[str, str] | None = None,
    time: float = 0.0,
) -> Instant:
    """Evaluate accelerations, matrices, energies and reactions at a state.

    Parameters
    ----------
    system : compiled system.
    state : coordinates, speeds, named angles and rates; the rest is completed consistently.
    inputs : force and speed inputs (and ``name_rate`` of a speed input), zero by default: numbers,
        or expressions of t, coordinates and speeds; the rate of one for a speed input follows.
    parameters : values that differ from the nominal ones.
    guess : coordinates and named angles about which the rest is looked for; it picks one of several
        assemblies.
    outputs : name → expression of the motion, inputs, accelerations and reactions, such as
        ``"rate(speed)"``.
    time : s; what depends on t, forces, motions and rows, is taken then.
    """
    if not isinstance(system, System) or not isinstance(state, Mapping):
        raise ArgumentError(
            f"evaluate takes a System and a state by name, got {type(system).__name__} and "
            f"{type(state).__name__}",
            "arguments of evaluate",
            "write evaluate(system, {'wheel1.rate': 2.0})",
        )
    check_time(system, time)
    check_named(inputs=inputs, parameters=parameters, guess=guess, outputs=outputs)
    Outputs(outputs or {}).check(system)
    params = system.parameters(parameters)
    system = with_regular_rows(system, params, parameters)
    texts, more = dict(inputs or {}), dict(outputs or {})
    found, notes = on_its_branch(
        system, params, lambda here: _evaluate(here, state, texts, params, guess, more, time)
    )
    return dataclasses.replace(found, notes=notes + found.notes) if notes else found


_FIRST = np.zeros(1, int)


def _evaluate(
    system: System,
    state: Mapping[str, float],
    inputs: dict[str, float | str],
    params: Array,
    guess: Mapping[str, float] | None,
    outputs: dict[str, str],
    time: float,
) -> Instant:
    """Evaluate one state, in the equations of a system."""
    texts = {name: text for name, text in inputs.items() if isinstance(text, str)}
    u = input_vector(system, {n: x for n, x in inputs.items() if not isinstance(x, str)})
    variants = one_variant(system, "state", {}, u, params)
    work = _Evaluation(variants, texts, frozenset(inputs), None, outputs, time, is_single=True)
    of_speeds = work.speed_inputs(range(1)) if system.model.speed_inputs else None
    start = complete_start(
        system,
        state,
        guess=guess,
        time=time,
        speed_inputs=None if of_speeds is None else lambda q: of_speeds(_FIRST, q[None])[0],
        parameters=params,
    )
    numbers = (start.q[None], start.v[None], start.eta[None], start.mu[None])
    work.keep(range(1), Starts(*numbers, np.array([start.is_carried])), start.notes)
    return work.result()[0]


def evaluate_batch(
    system: System,
    state: Mapping[str, ArrayLike],
    *,
    inputs: Mapping[str, ArrayLike | str] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    guess: Mapping[str, float] | None = None,
    outputs: Mapping[str, str] | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> InstantBatch:
    """Evaluate accelerations, matrices, energies and reactions at many states.

    Wherever :func:`evaluate` takes a number, a list of numbers may be given too, one for each
    variant.

    Parameters
    ----------
    system : compiled system.
    state : coordinates, speeds, named angles and rates; the rest is completed consistently.
    inputs : force and speed inputs (and ``name_rate`` of a speed input), zero by default: numbers,
        or expressions of t, coordinates, speeds and parameters, the same for all.
    parameters : values that differ from the nominal ones.
    guess : coordinates and named angles about which the rest is looked for, of all variants.
    outputs : name → expression, as in :func:`evaluate`.
    time : s.
    count : number of variants, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"`` for a GPU of NVIDIA's (``"cuda:1"`` for the second), where one
        thread is one variant.
    progress : function called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : as :func:`evaluate`, with the number of the variant.
    """
    check_named(inputs=inputs, parameters=parameters, guess=guess, outputs=outputs)
    given = dict(inputs or {})
    texts = {name: text for name, text in given.items() if isinstance(text, str)}
    variants = Variants.read(
        system,
        "evaluate_batch",
        "states",
        state=state,
        inputs={name: x for name, x in given.items() if name not in texts},
        parameters=parameters,
        count=count,
        device=device,
    )
    check_time(system, time)
    Outputs(outputs or {}).check(variants.system)
    work = _Evaluation(variants, texts, frozenset(given), guess, dict(outputs or {}), time)
    variants.in_blocks(
        work.fill,
        threads=threads,
        progress=progress,
        cancel=cancel,
    )
    return work.result()


class _InstantFunction(NamedTuple):
    """Everything that an instant has as a row of numbers, with the places of its parts.

    `bearing` are rows that hold something, `units` of all that has a name, and `notes` of what is
    not known.
    """

    rows: RowFunction
    places: dict[str, slice]
    bearing: tuple[str, ...]
    units: dict[str, str]
    notes: tuple[str, ...]


def _instant_function(
    system: System, outputs: Mapping[str, str], device: AbstractDevice | None, is_single: bool
) -> _InstantFunction:
    """Traced, and compiled but for a single state, once for each system."""

    def make() -> _InstantFunction:
        parts = {
            "rates": system.rates_expression,
            "curving": _coordinate_accelerations(system),
            **{name: system.output_expression(name) for name in ("motion", "blocks", "energies")},
            "multipliers": system.equations.multipliers[bearing_rows(system)],
            "forces": _contact_forces(system),
            "wrenches": system.output_expression("joint_wrenches"),
            "residuals": system.output_expression("residuals"),
            "outputs": Outputs(outputs).trace(system),
        }
        columns = {name: ca.densify(ca.vec(ca.SX(part))) for name, part in parts.items()}
        ends = np.cumsum([int(column.shape[0]) for column in columns.values()]).tolist()
        places = zip(columns, [0, *ends], ends, strict=False)
        kin = system.kinematics
        units = {q.name: q.unit for q in (*kin.coordinates, *kin.speeds, *kin.independent_speeds)}
        units |= {row.name: row.multiplier_unit for row in kin.rows}
        return _InstantFunction(
            rows=rows_of(system, "instants", ca.vertcat(*columns.values()), device, is_single),
            places={name: slice(first, end) for name, first, end in places},
            bearing=tuple(kin.rows[k].name for k in bearing_rows(system)),
            units=units | Outputs(outputs).units(system),
            notes=(*unknown_notes(kin), *contact_notes(kin.model)),
        )

    return system.cached(("instants", tuple(outputs.items()), device, is_single), make)


def _coordinate_accelerations(system: System) -> ca.SX:
    """q̈ = N v̇ + Ṅ v."""
    kin = system.kinematics
    fixed = ca.SX.sym("v", kin.num_speeds)
    rates = ca.mtimes(kin.N, fixed)
    turned = ca.substitute([ca.jtimes(rates, kin.symbols.q, rates)], [fixed], [kin.v])[0]
    return ca.densify(ca.mtimes(kin.N, system.equations.speed_rates) + turned)


def _contact_forces(system: System) -> ca.SX:
    """For each contact: its point, and Σ λ e over those of its directions that hold something."""
    kin, bearing = system.kinematics, bearing_rows(system)
    rows = {kin.rows[k].name: system.equations.multipliers[k] for k in bearing}
    columns = []
    for contact in kin.contacts:
        force = ca.SX.zeros(3)
        for part, direction in contact.directions.items():
            force += rows.get(f"{contact.contact.name}.{part}", 0.0) * direction
        columns += [contact.point, force]
    return kin.at_speeds(ca.vertcat(ca.SX(0, 1), *columns))


def rows_of(
    system: System, name: str, column: ca.SX, device: AbstractDevice | None, is_single: bool
) -> RowFunction:
    """A column of (t, x, inputs, parameters) of a system, as a function of rows or of one row."""
    if is_single and device is None:
        symbols = system.kinematics.symbols
        arguments = (symbols.t, system.state, system.equations.inputs, symbols.params)
        return interpret_rows(name, arguments, column)
    return compile_rows(system.program(name, column), device)


class _Evaluation:
    """States of all variants, filled block by block."""

    def __init__(
        self,
        variants: Variants,
        texts: dict[str, str],
        given: frozenset[str],
        guess: Mapping[str, float] | None,
        outputs: dict[str, str],
        time: float,
        *,
        is_single: bool = False,
    ) -> None:
        self._variants, self._guess, self._time = variants, guess, time
        self._is_single = is_single
        self._texts, self._given, self._outputs = texts, given, outputs
        self._system, kin, n = variants.system, variants.system.kinematics, variants.count
        self._at = self._function(variants.system)
        size = self._at.rows.output_size + kin.num_coordinates + kin.num_speeds
        check_memory(8.0 * n * size, "results", variants.where, "give fewer variants at a time")
        self._q = np.full((n, kin.num_coordinates), np.nan)
        self._v = np.full((n, kin.num_speeds), np.nan)
        self._values = np.full((n, self._at.rows.output_size), np.nan)
        self._is_done = np.zeros(n, bool)
        self._others: list[tuple[System, NDArray[np.int_], Array]] = []
        self._notes: tuple[str, ...] = ()

    def _function(self, system: System) -> _InstantFunction:
        # states in other speeds are few, as a rule
        if self._is_single or system is not self._system:
            return _instant_function(system, self._outputs, None, True)
        return _instant_function(system, self._outputs, self._variants.device, False)

    def fill(self, block: range) -> None:
        """Complete and evaluate a block of variants."""
        given = self.speed_inputs(block) if self._texts else None
        self.keep(
            block,
            self._variants.completed(block, self._time, guess=self._guess, speed_inputs=given),
        )

    def keep(self, block: range, start: Starts, notes: tuple[str, ...] = ()) -> None:
        """Evaluate the completed states of a block, of which there are notes."""
        self._notes += notes
        variants, system = self._variants, self._system
        t, all_of = np.full(len(block), self._time), np.arange(len(block))
        params = variants.rows(variants.parameters, block)
        u = variants.rows(variants.inputs, block)
        work = np.zeros((len(block), int(system.does_work)))
        rest = np.concatenate([start.mu, work], axis=1)
        x = np.concatenate([start.q, start.eta, rest], axis=1)
        values = self._at.rows.map(t, x, self._inputs(system, u, params)(all_of, x), params)
        some = slice(block.start, block.stop)
        self._q[some], self._v[some], self._values[some] = start.q, start.v, values
        measures = values[:, self._at.places["rates"]][:, system.num_states :]
        bases = choose_bases(system, t, start.q, params, measures=measures)
        if bases.faults:
            k = min(bases.faults)
            raise bases.refusal(system, k, self._time, self._number(block.start + k))
        for group in bases.groups:
            here, which = group
            if here is not system:
                there = group.states(t, start.q, start.v, rest, params)
                given = self._inputs(here, u, params)(which, there)
                at = self._function(here)
                own = at.rows.map(t[which], there, given, params[which])
                self._values[block.start + which] = np.nan
                self._others.append((here, block.start + which, own))
            else:
                at, own = self._at, values if len(bases.groups) == 1 else values[which]
            is_finite = np.isfinite(own[:, at.places["motion"]]).all(axis=1)
            if not is_finite.all():
                number = self._number(block.start + int(which[np.argmin(is_finite)]))
                raise SimulationError(
                    "the equations give a number that is not finite here",
                    f"model '{system.model.name}' at the given state, t = {self._time:g} s{number}",
                    "give smaller numbers, and inputs and wrenches that have a value here",
                )
        self._is_done[some] = True

    def _number(self, k: int) -> str:
        return f", variant {k}" if self._variants.count > 1 else ""

    def speed_inputs(self, block: range) -> Callable[[NDArray[np.int64], Array], Array]:
        """w of places in a block and their coordinates, as far as it is known before the speeds."""
        variants, system = self._variants, self._system
        at = self._inputs(
            system, *(variants.rows(x, block) for x in (variants.inputs, variants.parameters))
        )
        num, num_w = len(system.model.inputs), len(system.model.speed_inputs)
        size = system.num_states

        def given(k: NDArray[np.int64], q: Array) -> Array:
            x = np.zeros((len(q), size))
            x[:, : q.shape[1]] = q
            return at(k, x)[:, num : num + num_w]

        return given

    def _inputs(
        self, system: System, u: Array, params: Array
    ) -> Callable[[NDArray[np.int64], Array], Array]:
        """[u; w; ẇ] of places in a block and states: expressions in place of numbers."""
        if not self._texts:
            return lambda k, x: u[k]
        plan = plan_inputs(system, self._texts, params[0])
        function = plan.function
        assert function is not None
        names = [quantity.name for quantity in system.inputs]
        first = len(names) - 2 * len(system.model.speed_inputs)
        of_w = [n for n in self._texts if names.index(n) >= first]
        # the rate of a speed input is differentiated, unless it is given as well
        rates = {names[names.index(n) + len(system.model.speed_inputs)] for n in of_w}
        follows = np.array(
            [n in self._texts or (n in rates and n not in self._given) for n in names]
        )

        def inputs_at(k: NDArray[np.int64], x: Array) -> Array:
            base = np.tile(plan.base, (len(x), 1))
            found = function.map(np.full(len(x), self._time), x, base, params[k])
            return np.where(follows, found[:, : len(names)], u[k])

        return inputs_at

    def result(self) -> InstantBatch:
        """All states, by name."""
        all_of = np.arange(self._variants.count)
        whole = self._named(self._system, self._at, all_of, self._values)
        for here, which, values in self._others:
            part = self._named(here, self._function(here), which, values)
            for name in _NUMBERS:
                _assign(getattr(whole, name), which, getattr(part, name))
            whole.others.update({int(k): part[i] for i, k in enumerate(which)})
        return whole

    def _named(
        self, system: System, at: _InstantFunction, which: NDArray[np.int_], values: Array
    ) -> InstantBatch:
        """Numbers of some variants by name, in the independent speeds of a system."""
        kin, n, nf = system.kinematics, len(which), system.kinematics.num_independent_speeds
        part = {name: values[:, place] for name, place in at.places.items()}
        q, v = self._q[which], self._v[which]
        multipliers = {name: part["multipliers"][:, k] for k, name in enumerate(at.bearing)}
        reactions, joints = _instant_parts(
            system,
            part["forces"].reshape(n, -1, 2, 3),
            multipliers,
            part["wrenches"].reshape(n, -1, 3, 3),
        )
        left = np.abs(part["residuals"])
        return InstantBatch(
            model=system.model.name,
            count=n,
            variants=self._variants.take(which),
            independent_speeds=tuple(s.name for s in kin.independent_speeds),
            coordinates={c.name: q[:, k] for k, c in enumerate(kin.coordinates)},
            speeds={s.name: v[:, k] for k, s in enumerate(kin.speeds)},
            coordinate_rates={c.name: part["rates"][:, k] for k, c in enumerate(kin.coordinates)},
            coordinate_accelerations={
                c.name: part["curving"][:, k] for k, c in enumerate(kin.coordinates)
            },
            accelerations={
                s.name: part["motion"][:, kin.num_speeds + k] for k, s in enumerate(kin.speeds)
            },
            mass_matrix=part["blocks"][:, : nf * nf].reshape(n, nf, nf),
            velocity_terms=part["blocks"][:, nf * nf : nf * nf + nf],
            kinetic_energy=part["energies"][:, 0],
            potential_energy=part["energies"][:, 1],
            multipliers=multipliers,
            reactions=reactions,
            joint_reactions=joints,
            speed_residual=left[:, : len(kin.rows)].max(axis=1, initial=0.0),
            position_residual=left[:, len(kin.rows) :].max(axis=1, initial=0.0),
            outputs={name: part["outputs"][:, k] for k, name in enumerate(self._outputs)},
            is_evaluated=self._is_done[which],
            others={},
            units=at.units,
            notes=self._notes + at.notes,
        )


#: What a variant in other independent speeds has as well as all others.
_NUMBERS = (
    *("coordinate_rates", "coordinate_accelerations", "accelerations"),
    *("kinetic_energy", "potential_energy", "multipliers"),
    *("reactions", "joint_reactions", "speed_residual", "position_residual", "outputs"),
)


def _assign(whole: Any, places: NDArray[np.int_], part: Any) -> None:
    """Write an array into places of another, or all of a dictionary of them."""
    if isinstance(whole, dict):
        for name, values in whole.items():
            _assign(values, places, part[name])
    else:
        whole[places] = part


def check_time(system: System, time: float, state: object = None) -> None:
    """Refuse a time that is no number, or not that of a completed start.

    Parameters
    ----------
    system : system whose model the message names.
    time : s.
    state : a :class:`Start` has a time of its own, and 0 stands for it.
    """
    is_number = isinstance(time, int | float | np.number) and not isinstance(time, bool)
    if not is_number or not math.isfinite(time):
        raise SimulationError(
            f"the time is {time!r:.60} s", f"model '{system.model.name}'", "give a number in s"
        )
    if isinstance(state, Start) and time not in (0.0, state.time):
        raise SimulationError(
            f"the time is {time:g} s, but the given start is for t = {state.time:g} s",
            f"model '{system.model.name}'",
            "leave out the time, or give the state by names and values",
        )


def state_at(
    system: System,
    state: Mapping[str, float] | Start,
    *,
    time: float,
    speed_inputs: Array,
    parameters: Mapping[str, float] | None,
    need: str = "dynamics",
) -> tuple[System, Start, Array]:
    """The system at a state, in rows, speeds and on the branch that determine the motion there.

    Returns
    -------
    here, start, params : the system, the state in its speeds, and the parameters (np,).
    """
    params = system.parameters(parameters)
    system = with_regular_rows(system, params, parameters)
    if isinstance(state, Start):
        return *regular_start(system, state, params, need=need), params

    def complete(here: System) -> tuple[System, Start]:
        start = complete_start(
            here, state, time=time, speed_inputs=lambda q: speed_inputs, parameters=params
        )
        return here, start

    (system, start), _ = on_its_branch(system, params, complete)
    return *regular_start(system, start, params, need=need), params


def independent_rates(
    own: System,
    here: System,
    start: Start,
    given: Mapping[str, float],
    params: Array,
    speed_inputs: tuple[Array, Array],
) -> Array:
    """η̇ in the speeds of a system at a state, of rates by name.

        v̇ = S η̇ + v̇₀     d(E_k v)/dt = r_k for each name k

    Rates that are not named are zero, if only independent speeds are.

    `own`: system whose independent speeds may be named; those of `here` and tree speeds, too.
    `params`, `speed_inputs`: (np,) parameters; w and ẇ.

    Raises
    ------
    SimulationError : for other names; where speeds are named that are not independent at this
        state, if constraints determine other rates of them, or they leave some rate open.
    """
    names = [s.name for s in here.independent_speeds]
    own_names, tree = ([s.name for s in x] for x in (own.independent_speeds, own.speeds))
    known = list(dict.fromkeys([*own_names, *names, *tree]))
    rates = named_vector(dict(given), known, "independent speed", own)
    if set(given) <= set(names):
        return rates[[known.index(name) for name in names]]
    kin, s, t = here.kinematics, here.kinematics.symbols, start.time
    moving = ca.Function(
        "v", [s.t, s.q, kin.eta, s.w, s.wdot, s.params], [ca.densify(kin.S), kin.vdot0]
    )
    S, vdot0 = (np.array(x) for x in moving(t, start.q, start.eta, *speed_inputs, params))
    E, change = speed_rows(own, t, start, params)
    # of each name, d(E_k v)/dt = J_k η̇ + the rest
    asked, J, right = list(given), np.zeros((len(given), len(names))), np.zeros(len(given))
    for k, name in enumerate(asked):
        right[k] = given[name]
        if name in names:
            J[k, names.index(name)] = 1.0
            continue
        if name in tree:
            row, moved = np.eye(len(tree))[tree.index(name)], 0.0
        else:
            row, moved = E[own_names.index(name)], float(change[own_names.index(name)])
        J[k] = row @ S
        right[k] -= row @ vdot0.ravel() + moved
    found: Array = np.asarray(np.linalg.lstsq(J, right, rcond=1e-10)[0], dtype=float)
    independent = ", ".join(f"'{name}'" for name in names)
    off = np.abs(J @ found - right)
    if off.max() > RATE_ERROR * max(1.0, float(np.abs(right).max())):
        worst = int(np.argmax(off))
        raise SimulationError(
            f"the rate of '{asked[worst]}' is {given[asked[worst]]:.6g}, but the constraints "
            f"determine {given[asked[worst]] + (J @ found - right)[worst]:.6g} at this state",
            f"model '{own.model.name}', t = {t:g} s",
            f"give rates of the speeds that are independent here: {independent}",
        )
    if np.linalg.matrix_rank(J, tol=1e-10) < len(names):
        raise SimulationError(
            f"the rates of {', '.join(given)} leave others open: these speeds are not all "
            "independent at this state",
            f"model '{own.model.name}', t = {t:g} s",
            f"give rates of the speeds that are independent here: {independent}",
        )
    return found


#: Share of the given rates by which constraints may miss them.
RATE_ERROR = 1e-8


def speed_rows(system: System, t: float, start: Start, params: Array) -> tuple[Array, Array]:
    """E (nf, nv) and Ė v (nf,) at a state: η̇ = E v̇ + Ė v."""
    kin, s = system.kinematics, system.kinematics.symbols
    eta, qdot = ca.mtimes(kin.E, s.v), ca.mtimes(kin.N, s.v)
    change = ca.jtimes(eta, s.q, qdot) + ca.jtimes(eta, s.t, ca.SX(1))
    rows = system.cached(
        "rates of independent speeds",
        lambda: ca.Function("E", [s.t, s.q, s.v, s.params], [ca.densify(kin.E), change]),
    )
    E, moved = (np.array(x) for x in rows(t, start.q, start.v, params))
    return E.reshape(kin.num_independent_speeds, kin.num_speeds), moved.ravel()


def bearing_rows(system: System) -> list[int]:
    """Rows that hold something, not those that find places of contacts."""
    contacts, rows = system.model.contacts, system.kinematics.rows
    return [k for k, row in enumerate(rows) if bears_force(contacts, row.name)]


def _instant_parts(
    system: System, forces: Array, multipliers: Mapping[str, Array], wrenches: Array
) -> tuple[dict[str, dict[str, Array]], dict[str, dict[str, Array]]]:
    """Reactions by owner and part, and wrenches of joints on their children, of n states."""
    kin, reactions = system.kinematics, _by_owner(multipliers)
    for k, trace in enumerate(kin.contacts):
        entry = reactions.setdefault(trace.contact.name, {})
        entry |= {letter: forces[:, k, 1, i] for i, letter in enumerate("xyz")}
        entry |= {f"point_{letter}": forces[:, k, 0, i] for i, letter in enumerate("xyz")}
    names = [joint.name for joint in (*(node.joint for node in kin.tree.nodes), *kin.tree.loops)]
    # in the order in which people read them: force, moment, point
    order = {"": 1, "moment_": 2, "point_": 0}
    joints = {
        name: {
            f"{word}{letter}": wrenches[:, k, place, i]
            for word, place in order.items()
            for i, letter in enumerate("xyz")
        }
        for k, name in enumerate(names)
    }
    return reactions, joints


def _by_owner(multipliers: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
    """Multipliers grouped by what owns their rows."""
    result: dict[str, dict[str, Array]] = {}
    for name, values in multipliers.items():
        owner, _, part = name.rpartition(".")
        result.setdefault(owner or name, {})[part if owner else "force"] = values
    return result


def input_vector(system: System, inputs: Mapping[str, float] | Mapping[str, float | str]) -> Array:
    """[u; w; ẇ] of inputs by name; those that are not given are zero, texts are refused."""
    names = [q.name for q in system.inputs]
    u, where = np.zeros(len(names)), f"inputs of model '{system.model.name}'"
    for name, value in inputs.items():
        if name not in names:
            raise SimulationError(f"there is no input '{name}'", where, nearest(name, names))
        u[names.index(name)] = _number(value, f"input '{name}'", where, _OR_TEXT)
    return u


def speed_input_vectors(system: System, given: Mapping[str, float] | None) -> tuple[Array, Array]:
    """w and ẇ by name, zero if not given."""
    names = [i.name for i in system.model.speed_inputs]
    both = named_vector(
        dict(given or {}), [*names, *(f"{n}_rate" for n in names)], "speed input", system
    )
    return both[: len(names)], both[len(names) :]


def named_vector(given: dict[str, float], names: list[str], what: str, system: System) -> Array:
    """Values in the order of names, zero if not given; other names are refused."""
    for name in given:
        if name not in names:
            raise SimulationError(
                f"there is no {what} '{name}'",
                f"model '{system.model.name}'",
                nearest(name, names),
            )
    where = f"model '{system.model.name}'"
    found = {name: _number(x, f"the {what} '{name}'", where) for name, x in given.items()}
    return np.array([found.get(name, 0.0) for name in names])


_OR_TEXT = ", or an expression of t in quotes"


def _number(value: object, what: str, where: str, more: str = "") -> float:
    """A finite number; `more` may be given in its place."""
    number = as_number(value)
    if not np.isfinite(number):
        raise SimulationError(
            f"{what} is {value!r:.60}, which is not a finite number", where, f"give a number{more}"
        )
    return number


#: Units of the parts of a reaction that are no multipliers, by how their names begin.
PARTS = {"point_": "m", "moment_": "N*m"}


def instant_text(instant: Instant) -> str:
    """The tables of an instant as text: name, number and unit."""
    units = instant.units
    rates = {name: "1/s" if (u := units[name]) == "1" else f"{u}/s" for name in instant.coordinates}
    found = [*instant.reactions.values(), *instant.joint_reactions.values()]
    # places are compared with all others, angles with a radian
    places = [x for name, x in instant.coordinates.items() if units[name] == "m"]
    places += [x for parts in found for n, x in parts.items() if _part_unit(n) == "m"]
    sizes = {"m": _size(places), "rad": 1.0}
    lines = _table("coordinates", instant.coordinates, units, sizes)
    lines += _table("speeds", instant.speeds, units)
    lines += _table("coordinate rates", instant.coordinate_rates, rates)
    # m/s becomes m/s^2
    changes = {name: f"{units[name]}^2" for name in instant.speeds}
    lines += _table("accelerations", instant.accelerations, changes)
    # where they are not those of speeds
    turning = {name.removesuffix(".rate") for name in instant.accelerations}
    own = {
        name: x
        for name, x in instant.coordinate_accelerations.items()
        if name.removesuffix(".angle") not in turning and name not in instant.accelerations
    }
    lines += _table("coordinate accelerations", own, {n: f"{u}^2" for n, u in rates.items()})
    lines += _mass_matrix(instant)
    energies = {"kinetic": instant.kinetic_energy, "potential": instant.potential_energy}
    lines += _table("energies", energies, dict.fromkeys(energies, "J"))
    lines += _table("multipliers", instant.multipliers, units)
    if instant.outputs:
        lines += _table("outputs", instant.outputs, units)
    # forces and moments together, as a moment is a force at an arm of some meters at most
    forces = (x for parts in found for n, x in parts.items() if _part_unit(n) != "m")
    largest = _size([*forces, *instant.multipliers.values(), *instant.velocity_terms.tolist()])
    for owner, parts in instant.reactions.items():
        named = {part: reaction_unit(units, owner, part) for part in parts}
        lines += _table(f"reaction of '{owner}'", parts, named, sizes, largest)
    for owner, parts in instant.joint_reactions.items():
        known = {part: value for part, value in parts.items() if not math.isnan(value)}
        title = f"joint '{owner}' on its child"
        title = title if known == parts else f"{title}: not known"
        lines += _table(title, known, _units_of(known), sizes, largest)
    contacts = [parts for parts in instant.reactions.values() if "point_x" in parts]
    if any("normal" not in parts for parts in contacts):
        lines.append(
            "contacts without a normal row carry no weight here: the joint that holds their "
            "height does; `noslip run` gives the loads of the wheels"
        )
    lines += [f"note: {note}" for note in instant.notes]
    residual = (
        f"constraint residual {instant.speed_residual:.2g} (speeds, m/s or rad/s) "
        f"{instant.position_residual:.2g} (positions, m or rad)"
    )
    if max(instant.speed_residual, instant.position_residual) <= NO_RESIDUAL:
        residual = "constraints hold to rounding error"
    lines.append(residual)
    return "\n".join(lines)


#: What is smaller than this part of the largest number beside it is rounding, and shown as zero.
ROUNDING = 1e-14
#: m/s, m or rad below which a residual is rounding.
NO_RESIDUAL = 1e-12


def _size(values: Iterable[float]) -> float:
    return max((abs(x) for x in values if math.isfinite(x)), default=0.0)


def _table(
    title: str,
    values: Mapping[str, float],
    units: Mapping[str, str],
    sizes: Mapping[str, float] | None = None,
    largest: float = 0.0,
) -> list[str]:
    """A title, then name, number and unit in columns.

    What is rounding beside numbers of its unit, here or in `sizes`, or beside the `largest` force,
    is written as zero.
    """
    known = sizes or {}
    name_width = max(map(len, values), default=0)
    numbers = {}
    for name, value in values.items():
        beside = _size(x for other, x in values.items() if units[other] == units[name])
        size = max(known.get(units[name], largest), beside)
        is_zero = abs(value) < ROUNDING * size
        # no minus before a zero
        numbers[name] = f"{0.0 if is_zero else value + 0.0: .12g}"
    width = max(map(len, numbers.values()), default=0)
    return [
        title,
        *(
            f"  {name:<{name_width}}  {number:<{width}}  {units[name]}".rstrip()
            for name, number in numbers.items()
        ),
    ]


def _mass_matrix(instant: Instant) -> list[str]:
    """The reduced mass matrix; an entry is in J over the units of both speeds."""
    speeds = [read_unit(instant.units[name] or "1") for name in instant.independent_speeds]
    found = [unit_text(times(times(read_unit("J"), a, -1), b, -1)) for a in speeds for b in speeds]
    listed = ", ".join(dict.fromkeys(found))
    M = instant.mass_matrix
    # |M_ij|² < M_ii M_jj: what is far below that bound is rounding
    bound = ROUNDING * np.sqrt(np.outer(np.diag(M), np.diag(M)).clip(min=0.0))
    rows = [[f"{x + 0.0: .9g}" for x in row] for row in np.where(np.abs(M) < bound, 0.0, M)]
    width = max((len(entry) for row in rows for entry in row), default=0)
    return [
        f"reduced mass matrix ({', '.join(instant.independent_speeds)}) [{listed}]",
        *("  " + "  ".join(f"{entry:<{width}}" for entry in row).rstrip() for row in rows),
    ]


def reaction_unit(units: Mapping[str, str], owner: str, part: str) -> str:
    """Unit of a part of a reaction: that of its multiplier, points in m, all else a force."""
    return units.get(f"{owner}.{part}") or units.get(owner) or _part_unit(part)


def _part_unit(part: str) -> str:
    return next((unit for word, unit in PARTS.items() if part.startswith(word)), "N")


def _units_of(parts: Mapping[str, float]) -> dict[str, str]:
    """Points in m, moments in N*m, all else a force."""
    return {part: _part_unit(part) for part in parts}
