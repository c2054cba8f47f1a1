"""What is asked of a plan, read: rows with names and bounds, a start, a goal and a cost.

Every limit is a bound of a state, of a control, or of a traced expression. Friction of a wheel with
load N and forces F along and across asks for μ²N² ≥ |F|² and N ≥ the least load, over the weight
that a wheel has in the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from noslip.base import LARGEST, Array, NoslipError, as_number, nearest, real_array
from noslip.engines import System
from noslip.model import LATERAL, LONGITUDINAL, NORMAL, number
from noslip.planning.transcription import TIME, motion_states
from noslip.simulation import Start, complete_start, reaction_values, read_expression, units_by_name

#: A bound, and what a limit may be given as.
Bounds: TypeAlias = tuple[float, float]
LimitSpec: TypeAlias = float | tuple[float, float]

TIME_COST, ENERGY, EFFORT = "time", "energy", "effort"
#: Weight of (c / limit)² beside the time: what decides where the time does not.
SMOOTH = 1e-4
#: Least of what must be more than zero.
TINY = 1e-30
#: Longest motion that is looked for if none is given, s.
LONGEST = 600.0
SHORTEST = 1e-3


class PlanError(NoslipError):
    """No plan can be made, or none was found."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A traced expression within bounds."""

    name: str
    value: ca.SX
    bounds: Bounds
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """What holds at the end of a phase: bounds of states, and rows."""

    states: dict[str, Bounds]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """A task with its numbers."""

    system: System
    start: Start  #: completed; states in `periodic` that are not given are free there
    given_start: dict[str, float]
    first_inputs: dict[str, float]
    #: state_limits, control_limits: bounds by name
    state_limits: dict[str, Bounds]
    control_limits: dict[str, Bounds]
    rows: tuple[Row, ...]  #: traced limits
    marks: tuple[Mark, ...]  #: marks of waypoints, the goal's last
    periodic: tuple[str, ...]
    duration: Bounds  #: bounds of all phases together, s
    minimize: str
    running: ca.SX  #: L
    input_scale: dict[str, float]
    parameters: Array  #: (np,) of the model
    changes: dict[str, float]
    friction: dict[str, float] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The place of faults."""
        return f"plan of model '{self.system.model.name}'"


def bounds_of(value: Any, what: str, where: str) -> Bounds:
    """A limit as (low, high): of one number, ±|number|."""
    fix = "give a positive number for both sides, or a pair (low, high)"
    try:
        pair = real_array(value).ravel()
    except (TypeError, ValueError, OverflowError):
        raise PlanError(
            f"{what} is {value!r:.60}, which is not a number or a pair", where, fix
        ) from None
    if len(pair) == 1:
        if not pair[0] > 0:
            raise PlanError(f"{what} is {pair[0]:g}: nothing can move within it", where, fix)
        check_size(pair, what, where)
        return -float(pair[0]), float(pair[0])
    if len(pair) != 2 or np.any(np.isnan(pair)) or pair[0] > pair[1]:
        raise PlanError(f"{what} is {value!r:.60}, not low ≤ high", where, fix)
    check_size(pair, what, where)
    return float(pair[0]), float(pair[1])


def _aim(value: Any, what: str, where: str) -> Bounds:
    """A goal as (low, high): one number twice."""
    fix = "give a finite number, or a pair (low, high)"
    try:
        pair = real_array(value).ravel()
    except (TypeError, ValueError, OverflowError):
        raise PlanError(
            f"{what} is {value!r:.60}, which is not a number or a pair", where, fix
        ) from None
    if len(pair) not in (1, 2) or np.any(np.isnan(pair)) or pair[0] > pair[-1]:
        raise PlanError(f"{what} is {value!r:.60}", where, fix)
    if not np.any(np.isfinite(pair)) or (len(pair) == 1 and not np.isfinite(pair[0])):
        raise PlanError(f"{what} is {value!r:.60}, which is not finite", where, fix)
    check_size(pair, what, where)
    return float(pair[0]), float(pair[-1])


def check_size(values: Array, what: str, where: str) -> None:
    """Refuse finite numbers beyond `LARGEST`, whose squares overflow."""
    sizes = np.abs(values[np.isfinite(values)])
    if np.any(sizes > LARGEST):
        fix = "leave it out, or give it in SI units"
        raise PlanError(f"{what} is {np.max(sizes):g}, beyond ±{LARGEST:g}", where, fix)


def read_setting(value: Any, what: str, where: str, least: float = -LARGEST) -> float:
    """A number from `least` to `LARGEST`."""
    found = as_number(value)
    if not least <= found <= LARGEST:
        fix = f"give a number from {least:g} to {LARGEST:g}"
        raise PlanError(f"{what} is {value!r:.60}", where, fix)
    return found


def expression(system: System, text: str, what: str) -> ca.SX:
    """A named expression, traced: inputs, accelerations and reactions among what it may use."""
    return system.fold(read_expression(system, text, what, is_output=True, has_reactions=False))


def state_names(system: System) -> list[str]:
    """States that a task may name."""
    states = motion_states(system)
    return [name for name in states.names if name != TIME and name not in states.unnamed]


def read_mark(
    system: System, given: Mapping[str, Any], what: str, *, rest: bool, where: str
) -> Mark:
    """A goal or a waypoint."""
    if not isinstance(given, Mapping) or not given:
        raise PlanError(
            f"the {what} is {given!r:.60}", where, f"name quantities: {what}={{'base.x': 2.5}}"
        )
    known = state_names(system)
    states: dict[str, Bounds] = {}
    rows: list[Row] = []
    units = units_by_name(system)
    for name, value in given.items():
        aim = _aim(value, f"{what} '{name}'", where)
        if name in known:
            states[name] = aim
        else:
            value_ = expression(system, name, f"{what} '{name}'")
            if ca.depends_on(value_, system.equations.inputs):
                raise PlanError(
                    f"the {what} '{name}' depends on inputs",
                    where,
                    "name coordinates and speeds in it; limit what depends on inputs by limits=",
                )
            rows.append(Row(name, value_, aim, units.get(name, "")))
    if rest:
        own = [q.name for q in system.independent_speeds]
        own += [i.name for i in system.model.speed_inputs]
        speeds = {q.name for q in system.speeds} & set(given)
        if not speeds - set(own):
            states = dict.fromkeys(own, (0.0, 0.0)) | states
    return Mark(states, tuple(rows))


def _check_goal(
    system: System, goal: Mapping[str, Any], values: Array, given_speeds: list[str], where: str
) -> None:
    """Refuse a goal that no state of the mechanism has, naming the row that forbids it."""
    own = {q.name for q in (*system.coordinates, *system.speeds, *system.independent_speeds)}
    own |= set(given_speeds) | motion_states(system).angles
    exact = {n: float(v) for n, v in goal.items() if n in own and np.ndim(v) == 0}
    w = np.array([exact.pop(n, 0.0) for n in given_speeds])
    more: dict[str, Any] = {"speed_inputs": lambda q: w} if given_speeds else {}
    try:
        complete_start(system, exact, parameters=values, **more)
    except NoslipError as error:
        speeds = {q.name: k for k, q in enumerate(system.speeds)}
        v = system.kinematics.symbols.v
        asked = [v[speeds[n]] for n in exact if n in speeds and f"'{n}'" in error.what]
        rows = [
            f"'{row.name}'"
            for row in system.kinematics.rows
            if asked and ca.depends_on(ca.SX(row.velocity), ca.vertcat(*asked))
        ]
        forbids = f"; of rows that bind it there are {', '.join(rows[:4])}" if rows else ""
        raise PlanError(
            f"no state of the mechanism has this goal: {error.what}{forbids}",
            f"{where}, goal {dict(goal)!r:.120}",
            "name fewer quantities in the goal, or values that the rows allow",
        ) from None


def _start_values(system: System, start: Start, first_inputs: Mapping[str, float]) -> Array:
    """States of the motion at the start."""
    own = [*start.q, *start.eta, *np.zeros(len(system.auxiliary_states)), *first_inputs.values()]
    found: Array = motion_states(system).from_system(np.array([[*own, 0.0]]))[0]
    return found


def _check_start(
    system: System, values: Array, limits: Mapping[str, Bounds], free: set[str], where: str
) -> None:
    """Refuse a start outside of limits; states that may begin anywhere are not looked at."""
    states = motion_states(system)
    for name, (low, high) in limits.items():
        value = float(values[states.names.index(name)])
        room = 1e-9 * max(1.0, abs(value))
        if name not in free and not low - room <= value <= high + room:
            raise PlanError(
                f"the start '{name}' = {value:g} is outside its limit, {low:g} to {high:g}",
                where,
                f"start within it, start={{'{name}': …}}, or widen the limit",
            )


def _check_still(
    system: System,
    start: Array,
    marks: Sequence[Mark],
    state_limits: Mapping[str, Bounds],
    control_limits: Mapping[str, Bounds],
    parameters: Array,
    free: set[str],
    where: str,
) -> None:
    """Refuse an aim for a state that nothing within the limits moves: a certificate."""
    # States rest where their rates are zero identically, whatever the others and the inputs are,
    # with themselves at the start and with what has equal limits at these. The largest such set is
    # left when states whose rates are not zero are taken out until there are none.
    states, inputs = motion_states(system), system.equations.inputs
    places = {q.name: k for k, q in enumerate(system.inputs)}
    fixed = {name: b[0] for name, b in control_limits.items() if b[0] == b[1]}
    pinned = {name for name, b in state_limits.items() if b[0] == b[1]} - free
    if not fixed and not pinned and len(system.inputs):
        return
    params = system.kinematics.symbols.params
    known = [params, *(inputs[places[name]] for name in fixed)]
    numbers = ca.vertcat(parameters, *fixed.values())
    still = [k for k, name in enumerate(states.names) if name != TIME and name not in free]
    while still:
        rates = ca.substitute(
            [states.rates[still]],
            [ca.vertcat(*known, states.x[still])],
            [ca.vertcat(numbers, start[still])],
        )[0]
        left = [
            k
            for place, k in enumerate(still)
            if states.names[k] in pinned or ca.sparsify(rates[place]).nnz() == 0
        ]
        if len(left) == len(still):
            break
        still = left
    for mark in marks:
        for k in still:
            name, value = states.names[k], float(start[k])
            low, high = mark.states.get(name, (-math.inf, math.inf))
            room = 1e-9 * max(1.0, abs(value))
            if low - room <= value <= high + room or name in states.angles:
                continue
            listed = ", ".join(f"'{n}'" for n in sorted({*fixed, *pinned}))
            raise PlanError(
                f"it is impossible: nothing within the limits moves '{name}' from {value:g}",
                where,
                f"widen the limits of {listed}" if listed else "give the model an input",
            )


def wheel_forces(system: System) -> dict[str, tuple[ca.SX, ca.SX, ca.SX]]:
    """Wheel with a known load → its longitudinal, lateral and normal force, traced."""
    values = reaction_values(system)
    found = {}
    for contact in system.model.contacts:
        names = [f"reaction.{contact.name}.{part}" for part in (LONGITUDINAL, LATERAL)]
        loads = (f"reaction.{contact.name}.{NORMAL}", f"load.{contact.name}")
        load = next((n for n in loads if n in values), "")
        if not contact.is_wheel or not load:
            continue
        parts = [values[n][1]() if n in values else ca.SX(0) for n in names]
        if all(ca.sparsify(p).is_zero() for p in parts):
            parts = [ca.SX(0), ca.SX(0)]
        traced = (*parts, values[load][1]())
        found[contact.name] = tuple(system.kinematics.at_speeds(system.fold(v)) for v in traced)
    return found  # type: ignore[return-value]


def weight_of(system: System, parameters: Array) -> float:
    """Weight of the whole mechanism, N; of 1 kg if it weighs nothing."""
    values = system.model.parameter_values(parameters)
    mass = sum(number(body.mass, values) for body in system.model.bodies)
    return 9.81 * mass if mass > 0 else 9.81


def _friction_rows(
    system: System, friction: Any, least_load: float, parameters: Array, where: str
) -> tuple[list[Row], dict[str, float]]:
    """Rows of friction and lift of every wheel whose load is known."""
    if friction is None and not least_load:
        return [], {}
    wheels = wheel_forces(system)
    if not wheels:
        raise PlanError(
            "no wheel has a known load, so that friction limits none",
            where,
            "leave friction out, or model the vehicle with its wheels: three contacts that are not "
            "in line, or normal rows",
        )
    if friction is None:
        coefficients: dict[str, float] = {}
    elif isinstance(friction, Mapping):
        unknown = set(friction) - set(wheels)
        if unknown:
            name = sorted(unknown)[0]
            raise PlanError(f"there is no wheel '{name}' with a load", where, nearest(name, wheels))
        coefficients = dict(friction)
    else:
        coefficients = dict.fromkeys(wheels, friction)
    for name, value in coefficients.items():
        what = f"the friction coefficient of '{name}'"
        coefficients[name] = read_setting(value, what, where, TINY)
    rows = []
    weight = weight_of(system, parameters) / len(wheels)
    for name, (along, across, load) in wheels.items():
        if name in coefficients:
            mu = coefficients[name]
            left = ((mu * load) ** 2 - along**2 - across**2) / (mu * weight) ** 2
            if ca.depends_on(left, ca.veccat(system.equations.state, system.equations.inputs)):
                rows.append(Row(f"friction of {name}", left, (0.0, math.inf)))
        least = least_load / weight
        rows.append(Row(f"load of {name}", load / weight, (least, math.inf), "weight"))
    return rows, coefficients


def read_limits(
    system: System, limits: Mapping[str, Any] | None, control_names: Sequence[str], where: str
) -> tuple[dict[str, Bounds], dict[str, Bounds], list[Row]]:
    """Limits of states, of controls, and of expressions."""
    known = state_names(system)
    state_limits: dict[str, Bounds] = {}
    control_limits: dict[str, Bounds] = {}
    rows: list[Row] = []
    pressed = {name for force in system.model.forces for name in force.pressed()}
    control_limits |= dict.fromkeys(pressed, (0.0, math.inf))
    if limits is not None and not isinstance(limits, Mapping):
        raise PlanError(
            f"limits is {limits!r:.60}", where, "name them: limits={'left.torque': 0.6}"
        )
    units = units_by_name(system)
    for name, value in (limits or {}).items():
        bounds = bounds_of(value, f"the limit of '{name}'", where)
        if name in control_names:
            low, high = control_limits.get(name, (-math.inf, math.inf))
            control_limits[name] = max(low, bounds[0]), min(high, bounds[1])
        elif name in known:
            state_limits[name] = bounds
        else:
            value_ = expression(system, name, f"limit '{name}'")
            rows.append(Row(name, value_, bounds, units.get(name, "")))
    return state_limits, control_limits, rows


def read_problem(
    system: System,
    *,
    start: Mapping[str, float] | None,
    goal: Mapping[str, Any],
    minimize: str,
    limits: Mapping[str, Any] | None,
    friction: Any,
    least_load: float,
    waypoints: Sequence[Mapping[str, Any]],
    periodic: Sequence[str],
    rest: bool,
    duration: Any,
    parameters: Mapping[str, float] | None,
    smooth: float,
) -> Problem:
    """Read what is asked, and refuse what cannot be."""
    where = f"plan of model '{system.model.name}'"
    if system.costates:
        raise PlanError(
            "vakonomic equations have no motion that follows from a start alone",
            where,
            "derive the model by another formulation: derive(model)",
        )
    waypoints, periodic = list(waypoints), list(periodic)
    read_setting(smooth, "smooth", where, 0.0)
    read_setting(least_load, "least_load, in N,", where, 0.0)
    values = system.parameters(parameters)
    given = dict(start or {})
    w_names = [i.name for i in system.model.speed_inputs]
    first = {n: read_setting(given.pop(n, 0.0), f"the start of '{n}'", where) for n in w_names}
    w0 = np.array([first[name] for name in w_names])
    if w_names:
        done = complete_start(system, given, parameters=values, speed_inputs=lambda q: w0)
    else:
        done = complete_start(system, given, parameters=values)
    known = state_names(system)
    num = len(w_names)
    force_names = [i.name for i in system.inputs[: len(system.inputs) - 2 * num]]
    control_names = [*force_names, *(i.name for i in system.inputs[len(force_names) + num :])]
    state_limits, control_limits, rows = read_limits(system, limits, control_names, where)
    free = set(periodic) - set(given)
    first_values = _start_values(system, done, first)
    check_size(first_values, "a value of the start", where)
    _check_start(system, first_values, state_limits, free, where)
    more, coefficients = _friction_rows(system, friction, least_load, values, where)
    rows += more
    marks = [
        read_mark(system, mark, f"waypoint {k + 1}", rest=False, where=where)
        for k, mark in enumerate(waypoints)
    ]
    marks.append(read_mark(system, goal, "goal", rest=rest and not periodic, where=where))
    _check_goal(system, goal, values, w_names, where)
    for name in periodic:
        if name not in known:
            raise PlanError(
                f"there is no state '{name}' that could repeat", where, nearest(name, known)
            )
    _check_still(system, first_values, marks, state_limits, control_limits, values, free, where)
    scale = {}
    for name in control_names:
        low, high = control_limits.get(name, (-math.inf, math.inf))
        size = (
            max(abs(v) for v in (low, high) if math.isfinite(v))
            if math.isfinite(low if math.isfinite(low) and low else high)
            else 0.0
        )
        scale[name] = size or 1.0
    if not (math.isfinite(smooth) and smooth >= 0):
        raise PlanError(f"the weight smooth is {smooth:g}", where, f"give 0 or more: {SMOOTH:g}")
    controls = {q.name: k for k, q in enumerate(system.inputs)}
    inputs = system.equations.inputs
    effort = (
        sum((inputs[controls[n]] / scale[n]) ** 2 for n in control_names)
        if control_names
        else ca.SX(0)
    )
    if minimize == TIME_COST:
        unlimited = [
            n
            for n in force_names
            if n not in control_limits or not all(map(math.isfinite, control_limits[n]))
        ]
        unlimited += [
            n for n in w_names if n not in state_limits and f"{n}_rate" not in control_limits
        ]
        if unlimited and not rows:
            listed = ", ".join(f"'{n}': …" for n in unlimited)
            raise PlanError(
                "the least time is zero where inputs have no limits",
                where,
                f"give limits={{{listed}}}, or minimize='effort' within a given duration",
            )
        running = 1 + smooth * effort
    elif minimize == ENERGY:
        power = system.fold(system.output_expression("input_powers"))
        size = weight_of(system, values) * 1e-3
        positive = (power + ca.sqrt(power**2 + size**2) - size) / 2
        running = ca.sum1(positive) / size * 1e-3 + smooth * effort
    elif minimize == EFFORT:
        running = effort
    else:
        try:
            running = expression(system, minimize, "minimize") + smooth * effort
        except NoslipError as error:
            costs = TIME_COST, ENERGY, EFFORT
            raise PlanError(
                f"there is no cost '{minimize}': {error.what}",
                where,
                nearest(minimize, costs),
            ) from None
    if duration is None:
        if minimize != TIME_COST:
            raise PlanError(
                f"the duration is open, and '{minimize}' alone does not bound it",
                where,
                "give duration=8.0, or a pair (least, longest) in s",
            )
        span = (SHORTEST, LONGEST)
    else:
        span = _aim(duration, "the duration", where)
        if not (span[1] > 0 and span[0] <= 1e9):  # the solver takes far more for infinite
            fix = "give a positive time in s, 1e9 at most"
            raise PlanError(f"the duration is {duration!r} s", where, fix)
        span = max(span[0], SHORTEST), span[1]
    return Problem(
        system=system,
        start=done,
        given_start=given,
        first_inputs=first,
        state_limits=state_limits,
        control_limits=control_limits,
        rows=tuple(rows),
        marks=tuple(marks),
        periodic=tuple(periodic),
        duration=span,
        minimize=minimize,
        running=ca.densify(ca.SX(running)),
        input_scale=scale,
        parameters=values,
        changes=dict(parameters or {}),
        friction=coefficients,
    )
