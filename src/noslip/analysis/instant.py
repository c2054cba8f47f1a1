"""`evaluate`: accelerations, matrices, energies and reactions at one state, by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError, is_truth, nearest
from noslip.engines import System
from noslip.expressions import read_unit, times, unit_text
from noslip.formulations import unknown_notes
from noslip.model import bears_force
from noslip.simulation import (
    ALL,
    OtherBranchError,
    Start,
    branch_notes,
    check_named,
    check_outputs,
    complete_start,
    on_own_branch,
    output_units,
    plan_inputs,
    regular_start,
    trace_outputs,
    with_regular_rows,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instant:
    """A state with its accelerations, mass matrix, energies and reactions.

    Parameters
    ----------
    coordinates, speeds : the state, by name.
    coordinate_rates : q̇ by name.
    accelerations : v̇ of all tree speeds by name.
    independent_speeds : names the reduced equations are written in.
    mass_matrix : reduced mass matrix SᵀMS, in that order.
    velocity_terms : reduced bias Sᵀ(c + M(Ṡη + ṡ)).
    multipliers : λ by row, N or N·m, acting on the mechanism.
    reactions : by contact, loop, motion or row: multipliers by part, and for contacts the force on
        the body in world axes (``x``, ``y``, ``z``) and the contact point.
    joint_reactions : by joint: force on its child in world axes, moment about the joint's point,
        and that point; NaN where they are not known.
    units : of coordinates, speeds (independent ones too), multipliers and outputs, by name.
    outputs : expressions that were asked for, by name.
    notes : what is not known, and why.
    """

    coordinates: dict[str, float]
    speeds: dict[str, float]
    coordinate_rates: dict[str, float]
    accelerations: dict[str, float]
    independent_speeds: tuple[str, ...]
    mass_matrix: Array
    velocity_terms: Array
    kinetic_energy: float
    potential_energy: float
    multipliers: dict[str, float]
    reactions: dict[str, dict[str, float]]
    joint_reactions: dict[str, dict[str, float]]
    speed_residual: float
    position_residual: float
    units: dict[str, str]
    outputs: dict[str, float] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """The instant for people, one table a quantity, each number with its unit."""
        return instant_text(self)

    def to_json(self) -> dict[str, object]:
        """Plain numbers, lists and dictionaries."""
        return {
            "coordinates": self.coordinates,
            "speeds": self.speeds,
            "coordinate_rates": self.coordinate_rates,
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
        raise TypeError(
            f"evaluate takes a System and a state by name, got {type(system).__name__} and "
            f"{type(state).__name__}: write evaluate(system, {{'wheel1.rate': 2.0}})"
        )
    check_time(system, time)
    check_named(inputs=inputs, parameters=parameters, guess=guess, outputs=outputs)
    check_outputs(system, outputs or {})
    params = system.parameters(parameters)
    system = with_regular_rows(system, params, parameters)
    try:
        return _evaluate(system, state, inputs, params, guess, outputs, time)
    except OtherBranchError as other:
        here = on_own_branch(system, other, params)
        found = _evaluate(here, state, inputs, params, guess, outputs, time)
        return dataclasses.replace(found, notes=branch_notes(system, here) + found.notes)


def _evaluate(
    system: System,
    state: Mapping[str, float],
    inputs: Mapping[str, float | str] | None,
    params: Array,
    guess: Mapping[str, float] | None,
    outputs: Mapping[str, str] | None,
    time: float,
) -> Instant:
    """Evaluate in the equations of a system."""
    given = dict(inputs or {})
    texts = {name: text for name, text in given.items() if isinstance(text, str)}
    u = input_vector(system, {n: x for n, x in given.items() if not isinstance(x, str)})
    inputs_at = _expressions(system, texts, u, set(given), params, time) if texts else None
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    rest = np.zeros(len(system.independent_speeds)), np.zeros(len(system.auxiliary_states))

    def speed_inputs(q: Array) -> Array:
        return (u if inputs_at is None else inputs_at(q, *rest))[num_u : num_u + num_w]

    start = complete_start(
        system, state, guess=guess, time=time, speed_inputs=speed_inputs, parameters=params
    )
    here, start = regular_start(system, start, params)
    if inputs_at is not None:
        if here is not system:
            inputs_at = _expressions(here, texts, u, set(given), params, time)
        u = inputs_at(start.q, start.eta, start.mu)
    system = here
    found = instant(system, start, u, params)
    return found if not outputs else with_outputs(system, found, start, u, params, outputs)


def with_outputs(
    system: System,
    found: Instant,
    start: Start,
    u: Array,
    params: Array,
    outputs: Mapping[str, str],
) -> Instant:
    """An instant with the values of expressions, in the speeds in which it was found."""
    kin = system.kinematics
    x = np.concatenate([start.q, start.eta, start.mu, np.zeros(1 if system.does_work else 0)])
    symbols = (kin.symbols.t, system.state, system.equations.inputs, kin.symbols.params)
    function = ca.Function("outputs", symbols, [trace_outputs(system, outputs)])
    values = np.array(function(start.time, x, u, params)).ravel()
    return dataclasses.replace(
        found,
        outputs=dict(zip(outputs, map(float, values), strict=True)),
        units=found.units | output_units(system, outputs),
    )


def check_time(system: System, time: float, state: object = None) -> None:
    """Refuse a time that is no number, or not that of a completed start.

    Parameters
    ----------
    system : whose model the message names.
    time : s.
    state : a :class:`Start` has a time of its own, and 0 stands for it.
    """
    is_number = isinstance(time, int | float | np.number) and not isinstance(time, bool)
    if not is_number or not np.isfinite(time):
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
    kinds: Sequence[str] = ALL,
) -> tuple[System, Start, Array]:
    """The system at a state, in rows, speeds and on the branch that determine the motion there.

    Parameters
    ----------
    system : compiled system.
    state : coordinates and speeds, completed consistently; or a completed start.
    time : s.
    speed_inputs : (nw,).
    parameters : values that differ from the nominal ones.
    kinds : of singularity measures that count.

    Returns
    -------
    here, start, params : the system, the state in its speeds, and the parameters (np,).
    """
    params = system.parameters(parameters)
    system = with_regular_rows(system, params, parameters)
    if isinstance(state, Start):
        return *regular_start(system, state, params, kinds=kinds), params

    def complete(here: System) -> Start:
        return complete_start(
            here, state, time=time, speed_inputs=lambda q: speed_inputs, parameters=params
        )

    try:
        start = complete(system)
    except OtherBranchError as other:
        system = on_own_branch(system, other, params)
        start = complete(system)
    return *regular_start(system, start, params, kinds=kinds), params


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

    Parameters
    ----------
    own : system whose independent speeds may be named; those of `here` and tree speeds, too.
    here : in speeds that determine the motion at the state.
    start : the state, in these.
    given : rates by name.
    params, speed_inputs : (np,) parameters; w and ẇ.

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


def _expressions(
    system: System, texts: dict[str, str], u: Array, given: set[str], params: Array, time: float
) -> Callable[[Array, Array, Array], Array]:
    """[u; w; ẇ] at (q, η, μ): what is given as text from the state, the rest as it stands in u."""
    plan = plan_inputs(system, texts, params)
    num_w = len(system.model.speed_inputs)
    names = [q.name for q in system.inputs]
    # the rate of a speed input is differentiated, unless it is given as well
    rates = {
        names[names.index(n) + num_w] for n in texts if names.index(n) >= len(names) - 2 * num_w
    }
    follows = np.array([n in texts or (n in rates and n not in given) for n in names])
    work = np.zeros(1 if system.does_work else 0)

    def inputs_at(q: Array, eta: Array, mu: Array) -> Array:
        assert plan.function is not None
        x = np.concatenate([q, eta, mu, work])
        found = plan.function(time, x, plan.base, plan.parameters)[: len(names)]
        return np.where(follows, found, u)

    return inputs_at


def instant(system: System, start: Start, u: Array, params: Array) -> Instant:
    """Evaluate a completed start, in independent speeds that determine the motion there."""
    kin, t = system.kinematics, start.time
    work = np.zeros(1 if system.does_work else 0)
    x = np.concatenate([start.q, start.eta, start.mu, work])
    rates = system.rates(t, x, u, params)
    num_v, num_f = kin.num_speeds, kin.num_independent_speeds
    motion, blocks, energies, lam, axes, wrenches = system.instant(t, x, u, params)
    if not np.all(np.isfinite(motion)):
        raise SimulationError(
            "the equations give a number that is not finite here",
            f"model '{system.model.name}' at the given state, t = {t:g} s",
            "give smaller numbers, and inputs and wrenches that have a value here",
        )
    reactions, joints = instant_parts(
        system,
        axes.reshape(1, -1, 4, 3),
        {kin.rows[k].name: lam[k : k + 1] for k in bearing_rows(system)},
        wrenches.reshape(1, -1, 3, 3),
    )
    return Instant(
        coordinates={c.name: float(e) for c, e in zip(kin.coordinates, start.q, strict=True)},
        speeds={s.name: float(e) for s, e in zip(kin.speeds, start.v, strict=True)},
        coordinate_rates={c.name: float(rates[k]) for k, c in enumerate(kin.coordinates)},
        accelerations={s.name: float(motion[num_v + k]) for k, s in enumerate(kin.speeds)},
        independent_speeds=tuple(s.name for s in kin.independent_speeds),
        mass_matrix=blocks[: num_f * num_f].reshape(num_f, num_f),
        velocity_terms=blocks[num_f * num_f : num_f * num_f + num_f],
        kinetic_energy=float(energies[0]),
        potential_energy=float(energies[1]),
        multipliers={kin.rows[k].name: float(lam[k]) for k in bearing_rows(system)},
        reactions=_first(reactions),
        joint_reactions=_first(joints),
        speed_residual=start.speed_residual,
        position_residual=start.position_residual,
        units={q.name: q.unit for q in (*kin.coordinates, *kin.speeds, *kin.independent_speeds)}
        | {row.name: row.multiplier_unit for row in kin.rows},
        notes=start.notes + unknown_notes(kin),
    )


def bearing_rows(system: System) -> list[int]:
    """Rows that hold something, not those that find places of contacts."""
    contacts, rows = system.model.contacts, system.kinematics.rows
    return [k for k, row in enumerate(rows) if bears_force(contacts, row.name)]


def instant_parts(
    system: System, axes: Array, multipliers: Mapping[str, Array], wrenches: Array
) -> tuple[dict[str, dict[str, Array]], dict[str, dict[str, Array]]]:
    """Reactions by owner and part, and wrenches of joints on their children, of n states.

    Parameters
    ----------
    system : whose they are.
    axes : (n, contacts, 4, 3) contact points and directions.
    multipliers : row → (n,).
    wrenches : (n, joints, 3, 3) points, forces and moments.
    """
    kin, reactions = system.kinematics, _by_owner(multipliers)
    for k, trace in enumerate(kin.contacts):
        entry = reactions.setdefault(trace.contact.name, {})
        force = np.zeros((len(axes), 3))
        for j, part in enumerate(trace.directions):
            if part in entry:
                force += entry[part][:, None] * axes[:, k, 1 + j]
        entry |= {letter: force[:, i] for i, letter in enumerate("xyz")}
        entry |= {f"point_{letter}": axes[:, k, 0, i] for i, letter in enumerate("xyz")}
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


def _first(owners: Mapping[str, Mapping[str, Array]]) -> dict[str, dict[str, float]]:
    """The numbers of the first state."""
    return {
        owner: {part: float(values[0]) for part, values in parts.items()}
        for owner, parts in owners.items()
    }


def input_vector(system: System, inputs: Mapping[str, float] | Mapping[str, float | str]) -> Array:
    """[u; w; ẇ] of inputs by name; those that are not given are zero, texts are refused."""
    names = [q.name for q in system.inputs]
    u = np.zeros(len(names))
    for name, value in inputs.items():
        if name not in names:
            raise SimulationError(
                f"there is no input '{name}'",
                f"inputs of model '{system.model.name}'",
                nearest(name, names),
            )
        u[names.index(name)] = _number(system, name, value)
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
    return np.array([float(given.get(name, 0.0)) for name in names])


def _number(system: System, name: str, value: object) -> float:
    try:
        number = np.nan if is_truth(value) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise SimulationError(
            f"input '{name}' is {value!r}, which is not a finite number",
            f"inputs of model '{system.model.name}'",
            "give a number, or an expression of t in quotes",
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
