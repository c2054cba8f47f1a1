"""`steady`: steady motions by root finding on the exact equations.

A coordinate is ignored if nothing depends on it: not the equations of motion, not the rate of a
coordinate that matters, not a holonomic row that ties it to one (the place and the heading of a
vehicle, the angle of a wheel). Whether that is so is a property of the mechanism, so it is decided
at generic states, not at the state at hand, where a stiffness may happen to vanish.

Unknown are the coordinates c and speeds ζ of `local_coordinates.py` and the inputs that are asked
for. They must satisfy

    (1)  ζ̇ = −M⁻¹ r(c, ζ, 0, u) = 0      the speeds stay
    (2)  ċ_k = 0                           the coordinates that matter stay
    (3)  g(c) = 0                          holonomic rows
    (4)  each given value is met

Some of these say the same (energy keeps the forward speed), and a family of solutions is left where
too little is given. So F(y) = 0, the conditions (1) to (4) for y = (c, ζ, inputs searched for), is
solved by Gauss–Newton: a step is the least one, in lengths of the model and radians, that makes
F + (∂F/∂y) δy as small as possible, and it is halved until |F| falls. Accelerations enter F by a
mass matrix that is held fixed over a step, so that the derivatives are exact and |F| does fall.
What is left of (1) to (4) is reported, and it is small beside the forces that act,

    (5)  |F_i| ≤ ε min(1, a_i) + rounding,  a = |J y| + |J| y₀,  J = ∂F/∂y

with y₀ what was guessed and given, at least a length of the model and a radian: a friction that a
slope overcomes is not balanced by going so fast that the rest is small beside the speed.

Where nothing is found, the search is repeated in turned and carried coordinates, (5) and (6) of
`local_coordinates.py`, if there is curved ground: in them a body that circles in a bowl or a funnel
and a wheel that rolls along a pipe stay where they are, and only the heading of the axes, or the
place along the pipe, grows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from noslip.algebra import quaternion_from_angles
from noslip.analysis.instant import check_time, input_vector
from noslip.analysis.local_coordinates import (
    LocalCoordinates,
    LocalState,
    MovingAxes,
    angles_of,
    local_state_at,
    moving_axes,
)
from noslip.analysis.stacked import solve_stacked
from noslip.base import Array, SimulationError, nearest
from noslip.engines import System, require_system
from noslip.expressions import rate_unit
from noslip.simulation import Start, complete_start, start_names, units_by_name, with_regular_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyMotion:
    """A steady motion. Made by :func:`steady`.

    Parameters
    ----------
    start : a consistent state on it, for :func:`noslip.simulate` and :func:`noslip.linearize`.
    values : coordinates that matter, their constant values, by name; then speeds that stay. Of a
        body that circles on curved ground ``ball.turned_x`` and so on are places in axes that turn
        with the first angle of the body about the axis of the ground.
    rates : of the coordinates that are ignored, by name, at the start.
    inputs : values that keep it, those that were found among them.
    units : of all of these, by name; a rate has that of its coordinate over s.
    residual : largest part of (1) to (4) that is left.
    family : how many parameters the family of steady motions around it has; 0 if it is the only
        one near that meets what is given.
    """

    model: str
    start: Start
    values: dict[str, float]
    rates: dict[str, float]
    inputs: dict[str, float]
    units: dict[str, str]
    residual: float
    family: int

    def text(self) -> str:
        """The motion for people."""
        names = [*self.values, *self.rates, *self.inputs]
        width = max((len(n) for n in names), default=0)

        def table(title: str, values: Mapping[str, float]) -> list[str]:
            rounded = {n: x if _counts(x) else 0.0 for n, x in values.items()}
            return [
                title,
                *(f"  {n:<{width}}  {x: .12g} {self.units[n]}" for n, x in rounded.items()),
            ]

        lines = [f"{self.model}: a steady motion", *table("what stays", self.values)]
        lines += table("rates of what moves, at the start", self.rates) if self.rates else []
        lines += table("inputs", self.inputs) if self.inputs else []
        lines.append(f"residual {self.residual:.2g}")
        if self.family:
            few = f"{self.family} parameter{'s' if self.family > 1 else ''}"
            lines.append(f"one of a family with {few}: give so many more values for a single one")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """Plain numbers and dictionaries."""
        return {
            "model": self.model,
            "values": self.values,
            "rates": self.rates,
            "inputs": self.inputs,
            "units": self.units,
            "residual": self.residual,
            "family": self.family,
        }

    def __repr__(self) -> str:
        shown = (self.values | self.inputs).items()
        listed = ", ".join(f"{n} = {x:.6g} {self.units[n]}" for n, x in shown if _counts(x))
        return (
            f"SteadyMotion of '{self.model}' with {listed or 'everything at zero'}\n"
            "next: .text(), .values, .inputs, noslip.simulate(system, start=motion.start, …)"
        )


def _counts(value: float) -> bool:
    """Whether a value differs from zero by more than the tolerance of the search."""
    return abs(value) > 10 * TOLERANCE


def steady(
    system: System,
    given: Mapping[str, float],
    *,
    guess: Mapping[str, float] | Start | None = None,
    find: Sequence[str] = (),
    inputs: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    time: float = 0.0,
) -> SteadyMotion:
    """Find a steady motion that has the given values: an equilibrium, straight running, a turn.

    On curved ground also a body that circles at a constant height, as a ball in a bowl.

    Parameters
    ----------
    system : compiled system.
    given : coordinates, speeds, named angles and their rates that are wanted.
    guess : where to look first: further values by name, or a start such as that of a steady motion
        nearby; the joints' rest positions by default. Of several solutions the one found depends
        on it.
    find : force inputs to be found that keep the motion, such as ``["steer_torque"]``.
    inputs : values of the other inputs, zero by default.
    parameters : values that differ from the nominal ones.
    time : s, at which moving constraints are taken; a start as guess has its own.

    Raises
    ------
    SimulationError : for unknown names, or if no steady motion is found.
    """
    require_system("steady", system)
    if not isinstance(given, Mapping):
        raise TypeError(f"given is {_kind(given)}: pass names and values, {{'speed': 5.0}}")
    if not (guess is None or isinstance(guess, Mapping | Start)):
        raise TypeError(
            f"guess is {_kind(guess)}: pass names and values, {{'speed': 5.0}}, or the start of "
            "another steady motion, guess=motion.start"
        )
    check_time(system, time, guess)
    params = system.parameters(parameters)
    u = input_vector(system, inputs or {})
    searched = input_places(system, find, inputs or {})
    system = with_regular_rows(system, params, parameters)
    first = first_guess(system, given, guess, u, params, time)
    _, problem, found = search_charts(first, given, guess, searched)
    if not (found.is_found and found.is_regular()):
        raise _not_found(found, problem.relevant, list(given))
    return _result(system, found, problem)


def search_charts(
    first: LocalState,
    given: Mapping[str, float],
    guess: Mapping[str, float] | Start | None,
    searched: tuple[int, ...],
) -> tuple[LocalState, SteadyProblem, SteadySolution]:
    """Search in plain coordinates and in turned ones: guess, problem and best of what was found.

    The turned ones come first if the guess moves along the ground. Of coordinates in which nothing
    is found, the first ones are returned.
    """
    tried: list[tuple[LocalState, SteadyProblem, SteadySolution]] = []
    charts: list[MovingAxes | None] = [
        *moving_axes(first.system, first.chart.to_coordinates(first.c))
    ]
    moving = first.values()[1][list(relevance(first).coordinates)]
    is_moving = bool(np.max(np.abs(moving), initial=0.0) > TOLERANCE)
    charts.insert(len(charts) if is_moving else 0, None)
    # at first in plain ones, whose refusal stands
    problem_at(first, given, searched)
    for turned in charts:
        point = first
        try:
            if turned is not None:
                point = first_guess(
                    first.system, given, guess, first.inputs, first.parameters, first.time, turned
                )
            problem = problem_at(point, given, searched)
        except _NotPrescribedError:
            continue  # its angles are others than those that are given
        found = search(point, problem)
        tried.append((point, problem, found))
        if found.is_found and found.is_regular():
            return tried[-1]
    return tried[0]


def problem_at(
    point: LocalState, given: Mapping[str, float], searched: tuple[int, ...]
) -> SteadyProblem:
    """The conditions of a motion that is searched from a guess."""
    return SteadyProblem(
        relevant=relevance(point),
        wanted=find_wanted(point, given),
        searched=searched,
        reference=reference_of(scale_of(point), unknowns_of(point, searched)),
    )


def input_places(
    system: System, find: Sequence[str], given: Mapping[str, object]
) -> tuple[int, ...]:
    forces = [i.name for i in system.model.inputs]
    where = f"steady motion of model '{system.model.name}', find"
    if isinstance(find, str):
        raise SimulationError(f"find is the text '{find}'", where, f"write find=['{find}']")
    for name in find:
        if name not in forces:
            raise SimulationError(
                f"there is no force input '{name}' to be found", where, nearest(name, forces)
            )
        if name in given:
            raise SimulationError(
                f"input '{name}' is both given and to be found", where, "leave out one of them"
            )
    return tuple(forces.index(name) for name in dict.fromkeys(find))


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"


def first_guess(
    system: System,
    given: Mapping[str, float],
    guess: Mapping[str, float] | Start | None,
    u: Array,
    params: Array,
    time: float,
    turned: MovingAxes | None = None,
) -> LocalState:
    """Initial guess: given and guessed values, the others as they follow or at rest.

    With one of `moving_axes` it is in turned or carried coordinates.
    """
    kin = system.kinematics
    values = {**({} if guess is None or isinstance(guess, Start) else guess), **given}
    check_given(system, values)
    if isinstance(guess, Start):
        q, v, states = guess.q.copy(), guess.v, guess.mu
        place_values(system, q, values)
    else:
        q, v = guess_configuration(system, values, params, time), np.zeros(kin.num_speeds)
        states = np.array([values.get(z.name, 0.0) for z in kin.force_states])
    start = Start(
        time=guess.time if isinstance(guess, Start) else time,
        q=q,
        v=v,
        eta=np.zeros(0),
        mu=states,
        position_residual=0.0,
        speed_residual=0.0,
        completed={},
    )
    point = local_state_at(system, start, u, params, turned)
    moving = {name: value for name, value in values.items() if not is_place(system, name)}
    return least_speeds(point, find_wanted(point, moving))


def guess_configuration(
    system: System, values: Mapping[str, float], params: Array, time: float
) -> Array:
    """Coordinates with these values that satisfy the holonomic rows; nearly, if they cannot."""
    places = {name: value for name, value in values.items() if is_place(system, name)}
    try:
        return complete_start(system, places, time=time, parameters=params).q
    except SimulationError:
        q = system.kinematics.rest.copy()
        place_values(system, q, places)
        return q


def is_place(system: System, name: str) -> bool:
    """Whether a name is a coordinate or an angle, not a speed."""
    speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
    speeds |= {z.name for z in system.auxiliary_states}
    return name not in speeds and not name.endswith("_rate")


def place_values(system: System, q: Array, values: Mapping[str, float]) -> None:
    """Write coordinates and named angles into q."""
    names = [c.name for c in system.coordinates]
    for name, value in values.items():
        if name in names:
            q[names.index(name)] = value
    for node in system.kinematics.tree.nodes:
        angles = node.joint.type.named_angles()
        if angles is None or node.joint.type.quaternion is None:
            continue
        at = node.coordinates.start + node.joint.type.quaternion
        own = [f"{node.joint.name}.{n}" for n in angles.names]
        if any(name in values for name in own):
            now = angles_of(q, at, angles.sequence)
            wanted = [float(values.get(name, a)) for name, a in zip(own, now, strict=True)]
            q[at : at + 4] = quaternion_from_angles(wanted, angles.sequence)


def check_given(system: System, values: Mapping[str, float]) -> None:
    known = start_names(system)
    where = f"steady motion of model '{system.model.name}'"
    for name, value in values.items():
        if name not in known:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'", where, nearest(name, known)
            )
        is_number = isinstance(value, (float, int, np.number)) and not isinstance(value, bool)
        if not (is_number and np.isfinite(value)):
            raise SimulationError(f"'{name}' is {value!r}", where, "give a finite number")


def _not_found(found: SteadySolution, relevant: Relevance, given: Sequence[str]) -> SimulationError:
    """The error of a failed search: the condition missed most, and what may help."""
    point, F = found.point, found.F()
    where = f"steady motion of model '{point.system.model.name}'"
    if not np.all(np.isfinite(F)):
        return SimulationError(
            "the equations have no value where the search starts, as for a wheel that lies flat",
            where,
            "give a guess of the configuration: guess={…}, on the command line --guess NAME=VALUE",
        )
    if found.is_found:
        return SimulationError(
            "the solution is singular: a wheel lies flat, or a body is inside its ground",
            where,
            "give a guess of the configuration: guess={…}, on the command line --guess NAME=VALUE",
        )
    worst = int(np.argmax(np.abs(F)))
    name, unit = missed_conditions(point, relevant, given)[worst]
    return SimulationError(
        f"no steady motion was found: {name} is still off by {F[worst]:.3g} {unit}",
        where,
        "give fewer values, a closer guess (guess={…}), or let an input be found that maintains it "
        "(find=[…]); on the command line --guess NAME=VALUE and --find INPUT",
    )


def missed_conditions(
    point: LocalState, relevant: Relevance, given: Sequence[str]
) -> list[tuple[str, str]]:
    """Name and unit of each entry of F."""
    chart, kin = point.chart, point.system.kinematics
    staying = [*chart.speeds, *(chart.coordinates[k] for k in relevant.coordinates)]
    missed = [(f"the rate of {s.name}", rate_unit(s.unit)) for s in staying]
    rows = [kin.rows[k] for k in kin.row_basis]
    missed += [(f"row {r.name}", r.unit.removesuffix("/s")) for r in rows if r.is_holonomic]
    units = units_by_name(point.system)
    return missed + [(f"the given {name}", units[name]) for name in given]


def _result(system: System, found: SteadySolution, problem: SteadyProblem) -> SteadyMotion:
    point, chart = found.point, found.point.chart
    _, cdot, g, v, _, _ = point.values()
    q = chart.to_coordinates(point.c)
    rows = system.kinematics.independent_rows(point.time, q, point.parameters)
    start = Start(
        time=point.time,
        q=q,
        v=v,
        eta=rows @ v,
        mu=point.c[chart.num_placed :],
        position_residual=float(np.max(np.abs(g), initial=0.0)),
        speed_residual=0.0,
        completed={},
    )
    matter = list(problem.relevant.coordinates)
    free = [*matter, *range(len(point.c), found.rest_y.shape[1])]
    singular = np.linalg.svd(found.J()[:, free], compute_uv=False)
    rank = int(np.sum(singular > 1e-8 * max(1.0, float(singular[0])))) if len(singular) else 0
    values = {chart.coordinates[k].name: float(point.c[k]) for k in matter}
    values |= {s.name: float(x) for s, x in zip(chart.speeds, point.zeta, strict=True)}
    ignored = [k for k in range(len(point.c)) if k not in matter]
    rates = {chart.coordinates[k].name: float(cdot[k]) for k in ignored}
    units = {q.name: q.unit for q in (*chart.coordinates, *chart.speeds, *system.inputs)}
    units |= {name: f"{units[name]}/s" for name in rates}
    names = [i.name for i in point.system.inputs]
    shown = [k for k in range(len(names)) if k in problem.searched or point.inputs[k]]
    return SteadyMotion(
        model=system.model.name,
        start=start,
        values=values,
        rates=rates,
        inputs={names[k]: float(point.inputs[k]) for k in shown},
        units={name: units[name] for name in (*values, *rates, *(names[k] for k in shown))},
        residual=float(np.max(np.abs(found.F()), initial=0.0)),
        family=len(free) - rank,
    )


#: A derivative below this, relative to the largest of its row, is none.
_NONE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Places in c of the coordinates that matter, and in g of the rows that tie them."""

    coordinates: tuple[int, ...]
    rows: tuple[int, ...]


#: The last answer for each system, since a sweep repeats the same request.
_last: WeakKeyDictionary[
    System, tuple[LocalCoordinates, tuple[bytes, tuple[int, ...]], Relevance]
] = WeakKeyDictionary()


def relevance(point: LocalState, used: tuple[int, ...] = ()) -> Relevance:
    """Find the coordinates and rows that matter to the motion, at generic states.

    Parameters
    ----------
    point : a state.
    used : places in c of coordinates that matter to inputs.
    """
    system, chart, params = point.system, point.chart, point.parameters
    known, key = _last.get(system), (params.tobytes(), used)
    if known is None or known[0] is not chart or known[1] != key:
        known = (chart, key, _find_relevance(system, chart, params, used))
        _last[system] = known
    return known[2]


def _find_relevance(
    system: System, chart: LocalCoordinates, params: Array, used: tuple[int, ...]
) -> Relevance:
    r_c, cdot_c, g_c = _generic_derivatives(system, chart, params)
    matters = np.any(r_c, axis=0)
    matters[list(used)] = True
    while True:
        more = matters | np.any(cdot_c[matters], axis=0)
        tied = np.any(g_c & more[None, :], axis=1)
        more |= np.any(g_c[tied], axis=0)
        if np.array_equal(more, matters):
            break
        matters = more
    return Relevance(
        coordinates=tuple(int(k) for k in np.flatnonzero(matters)),
        rows=tuple(int(k) for k in np.flatnonzero(tied)),
    )


def _generic_derivatives(
    system: System, chart: LocalCoordinates, params: Array
) -> tuple[Array, Array, Array]:
    """Sparsity of the derivatives of r, ċ and g by c, at generic states."""
    rng = np.random.default_rng(7)
    probe = dataclasses.replace(system.kinematics.probe, params=params)
    found: list[Array] = []
    for t, q in probe.configurations(3):
        zeta, zetadot = rng.normal(size=(2, len(chart.speeds)))
        inputs = rng.normal(size=len(system.inputs))
        states = rng.normal(size=len(system.kinematics.force_states))
        arguments = (t, chart.from_coordinates(q, states), zeta, zetadot, inputs, params)
        by_c, by_zeta, _ = (np.array(e) for e in chart.derivatives(*arguments))
        if not np.all(np.isfinite(by_c)):
            continue
        size = np.max(np.abs(np.hstack([by_c, by_zeta])), axis=1, initial=0.0, keepdims=True)
        found.append(np.abs(by_c) > _NONE * np.maximum(size, 1e-300))
    r_c, cdot_c, g_c, _, _ = chart.split(np.any(found, axis=0))
    return r_c, cdot_c, g_c


#: Largest |ζ̇|, |ċ|, |g| and miss of a given value (m, rad, s) that a steady motion may leave.
TOLERANCE = 1e-10
#: Rounding of a condition beside the sum of its terms, and the most of the forces that it may hide.
ROUNDING, HIDDEN = 64 * float(np.finfo(float).eps), 1e-8
MOST_STEPS = 100
#: How far the search is moved aside where it gets stuck, try by try, in m, rad and s.
ASIDE = (0.1, 0.3, 1.0, 3.0)
#: Places of ċ, v and η among what a chart evaluates; c itself, and q, which is a function of it.
_RATE, _SPEED, _INDEPENDENT, _COORDINATE, PLACED = 1, 3, 4, -1, -2


@dataclass(frozen=True, slots=True)
class WantedValue:
    """A value that the motion must have: in which part of the chart, where there, and the value."""

    part: int
    place: int
    value: float

    @property
    def is_speed(self) -> bool:
        """Whether it says something about the speeds."""
        return self.part not in (_COORDINATE, PLACED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyProblem:
    """Conditions of a steady motion: relevant coordinates, target values, unknown inputs.

    `reference` is y₀ of (5).
    """

    relevant: Relevance
    wanted: tuple[WantedValue, ...]
    searched: tuple[int, ...]
    reference: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadySolution:
    """State of a search: the conditions at a point and their derivatives by y.

    Parameters
    ----------
    mass : mass matrix ∂r/∂ζ̇ at the point.
    r, r_y : the equations of motion at ζ̇ = 0.
    rest, rest_y : (2) to (4).
    y, reference : the unknowns, and y₀ of (5).
    """

    point: LocalState
    mass: Array
    r: Array
    r_y: Array
    rest: Array
    rest_y: Array
    y: Array
    reference: Array

    def F(self, mass: Array | None = None) -> Array:
        """(1) to (4), accelerations by this mass matrix or by another that is held fixed."""
        rates = -_solved(self.mass if mass is None else mass, self.r)
        return np.concatenate([rates, self.rest])

    def J(self) -> Array:
        """∂F/∂y at a fixed mass matrix; at a solution that of F itself."""
        return np.vstack([-_solved(self.mass, self.r_y), self.rest_y])

    @property
    def is_found(self) -> bool:
        """Whether the conditions hold by (5)."""
        allowed = allowed_residuals(
            self.mass[None], self.r_y[None], self.rest_y[None], self.y[None], self.reference[None]
        )
        return bool(np.all(np.abs(self.F()) <= allowed[0]))

    def is_regular(self) -> bool:
        """Whether no contact is singular there, as of a body that would be within its ground."""
        point, system = self.point, self.point.system
        q, eta = point.chart.to_coordinates(point.c), point.values()[4]
        states, work = point.c[point.chart.num_placed :], np.zeros(int(system.does_work))
        x = np.concatenate([q, eta, states, work])
        values = system.rates(point.time, x, point.inputs, point.parameters)[system.num_states :]
        measures = zip(system.singularity_measures, values, strict=True)
        return all(abs(value) > m.limit for m, value in measures if m.kind == "contact")


def reference_of(scale: Array, y: Array) -> Array:
    """y₀ of (5): unknowns where a search starts, at least their scale; inputs last, without one."""
    least = np.zeros(y.shape)
    least[..., : len(scale)] = scale
    return np.maximum(least, np.abs(y))


def allowed_residuals(
    mass: Array,
    r_y: Array,
    rest_y: Array,
    y: Array,
    reference: Array,
    tolerance: float = TOLERANCE,
    size: Array | float = 1.0,
) -> Array:
    """(n, …) what may be left of (1) to (4) by (5), stacked, one row a variant.

    `tolerance` is ε, and `size`, (n, 1, 1), the number in place of 1 that forces are compared with.
    """
    n, num_z = r_y.shape[:2]
    inverse = solve_stacked(mass, np.tile(np.eye(num_z), (n, 1, 1)))
    J = np.concatenate([inverse @ r_y, rest_y], axis=1)
    terms = np.concatenate([np.abs(inverse) @ np.abs(r_y), np.abs(rest_y)], axis=1)
    acting = np.abs(J @ y[:, :, None]) + np.abs(J) @ reference[:, :, None]
    rounding = np.minimum(ROUNDING * (terms @ np.abs(y)[:, :, None]), HIDDEN * acting)
    compared = np.minimum(acting, size)
    # what is no force, (2) to (4), is compared with 1 at least
    compared[:, num_z:] = np.maximum(compared[:, num_z:], 1.0)
    common = ROUNDING * np.max(np.minimum(acting, 1.0), axis=1, initial=0.0, keepdims=True)
    return np.asarray((tolerance * compared + rounding + common)[:, :, 0])


class _NotPrescribedError(SimulationError):
    """A value is no function of the coordinates and speeds of a chart."""


def find_wanted(point: LocalState, given: Mapping[str, float]) -> tuple[WantedValue, ...]:
    """The given values, each where it is found in the chart."""
    system, chart = point.system, point.chart
    places = {
        _COORDINATE: {c.name: k for k, c in enumerate(chart.coordinates)},
        _RATE: chart.coordinate_rates,
        _SPEED: {s.name: k for k, s in enumerate(system.speeds)},
        _INDEPENDENT: {s.name: k for k, s in enumerate(system.independent_speeds)},
        PLACED: {q.name: k for k, q in chart.placed(system.coordinates)},
    }
    wanted = []
    for name, value in given.items():
        part = next((part for part, names in places.items() if name in names), None)
        if part is None:
            owner = name.rpartition(".")[0]
            angles = chart.angle_names(owner)
            named = [angle for angle in angles if angle in start_names(system)]
            own = (*named, *places[PLACED], *places[_SPEED])
            listed = ", ".join(n for n in own if n.rpartition(".")[0] == owner)
            raise _NotPrescribedError(
                f"'{name}' cannot be prescribed: the orientation of '{owner}' is described by "
                f"{', '.join(angles)} here",
                f"steady motion of model '{system.model.name}'",
                f"give it as a guess, guess={{'{name}': {value:g}}}, and prescribe others: {listed}"
                if is_place(system, name)
                else f"prescribe others: {listed}",
            )
        wanted.append(WantedValue(part, places[part][name], float(value)))
    return tuple(wanted)


def least_speeds(point: LocalState, wanted: Sequence[WantedValue]) -> LocalState:
    """The point closest to the target speeds, the other speeds of least norm."""
    speeds = [w for w in wanted if w.is_speed]
    if not speeds:
        return point
    rest = dataclasses.replace(point, zeta=np.zeros(len(point.zeta)))
    values, (_, by_zeta, _) = rest.values(), rest.derivatives()
    rows = np.array([by_zeta[w.part][w.place] for w in speeds])
    miss = np.array([w.value - values[w.part][w.place] for w in speeds])
    zeta = np.asarray(np.linalg.lstsq(rows, miss, rcond=1e-10)[0], dtype=float)
    return dataclasses.replace(point, zeta=zeta)


def _solved(mass: Array, right: Array) -> Array:
    """M⁻¹ of a right-hand side; NaN where a search has come to a singular configuration."""
    try:
        return np.asarray(np.linalg.solve(mass, right), dtype=float)
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)


def search(point: LocalState, problem: SteadyProblem) -> SteadySolution:
    """Search from a point, and from random points around it if that fails; the best is returned."""
    rng = np.random.default_rng(11)
    best = _descend(point, problem)
    speeds = range(len(point.c), len(point.c) + len(point.zeta))
    free = [*problem.relevant.coordinates, *speeds]
    for aside in ASIDE:
        if best.is_found and best.is_regular():
            break
        step = np.zeros(len(point.c) + len(point.zeta) + len(problem.searched))
        step[free] = aside * rng.normal(size=len(free))
        tried = _descend(_moved(point, step, problem), problem)
        size = np.linalg.norm(tried.F())
        is_less = np.isfinite(size) and not np.linalg.norm(best.F()) <= size
        if is_less or (best.is_found and tried.is_found and tried.is_regular()):
            best = tried
    return best


def _descend(point: LocalState, problem: SteadyProblem) -> SteadySolution:
    """Gauss–Newton iteration with steps of least length."""
    scale = np.append(scale_of(point), np.ones(len(problem.searched)))
    now = _conditions(point, problem)
    inputs = len(scale) - len(problem.searched)
    for _ in range(MOST_STEPS):
        F, J = now.F(), now.J()
        if not np.all(np.isfinite(F)):
            break
        scale[inputs:] = 1.0 / np.maximum(np.linalg.norm(J[:, inputs:], axis=0), 1e-12)
        step = scale * np.linalg.lstsq(J * scale, -F, rcond=1e-11)[0]
        longest = float(np.max(np.abs(step[: len(point.c)]), initial=0.0))
        step *= min(1.0, 0.5 / max(longest, 1e-300))
        better = _shorter(now, step, problem, 1 if now.is_found else 30)
        if better is None:
            break
        now = better
    return now


def _shorter(
    now: SteadySolution, step: Array, problem: SteadyProblem, tries: int
) -> SteadySolution | None:
    """Backtracking line search: the first of step, step/2, … that reduces |F|, same mass matrix."""
    size = np.linalg.norm(now.F())
    for k in range(tries):
        trial = _conditions(_moved(now.point, step / 2**k, problem), problem)
        falls = np.linalg.norm(trial.F(now.mass)) < size
        if falls and np.all(np.isfinite(trial.F())):
            return trial
    return None


def scale_of(point: LocalState) -> Array:
    """Scale of each coordinate and speed: what counts as a step of 1."""
    length = point.system.kinematics.length
    units = [q.unit for q in (*point.chart.coordinates, *point.chart.speeds)]
    return np.array([length if unit in ("m", "m/s") else 1.0 for unit in units])


def unknowns_of(point: LocalState, searched: Sequence[int]) -> Array:
    """y: coordinates, speeds and the inputs that are searched for."""
    return np.concatenate([point.c, point.zeta, point.inputs[list(searched)]])


def _conditions(point: LocalState, problem: SteadyProblem) -> SteadySolution:
    """(1) to (4) and their derivatives."""
    values = point.values()
    r, cdot, g, _, _, mass = values
    by_c, by_zeta, by_inputs = point.derivatives()
    inputs = list(problem.searched)
    by_y = [
        np.hstack([a, b, c[:, inputs]]) for a, b, c in zip(by_c, by_zeta, by_inputs, strict=True)
    ]
    keep = list(problem.relevant.coordinates)
    rows, miss = [], []
    for w in problem.wanted:
        if w.is_speed:
            rows.append(by_y[w.part][w.place])
            miss.append(values[w.part][w.place] - w.value)
        elif w.part == PLACED:
            row = np.zeros(by_y[0].shape[1])
            row[: len(point.c)] = np.array(point.chart.placing(point.c))[w.place]
            rows.append(row)
            miss.append(point.chart.to_coordinates(point.c)[w.place] - w.value)
        else:
            rows.append(np.eye(1, by_y[0].shape[1], w.place)[0])
            miss.append(point.c[w.place] - w.value)
    return SteadySolution(
        point=point,
        mass=mass,
        r=r,
        r_y=by_y[0],
        rest=np.concatenate([cdot[keep], g, miss]),
        rest_y=np.vstack([by_y[1][keep], by_y[2], *rows]),
        y=unknowns_of(point, problem.searched),
        reference=problem.reference,
    )


def _moved(point: LocalState, step: Array, problem: SteadyProblem) -> LocalState:
    num_c, num_z = len(point.c), len(point.zeta)
    inputs = point.inputs.copy()
    inputs[list(problem.searched)] += step[num_c + num_z :]
    return dataclasses.replace(
        point,
        c=point.c + step[:num_c],
        zeta=point.zeta + step[num_c : num_c + num_z],
        inputs=inputs,
    )
