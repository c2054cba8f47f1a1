"""`steady`: steady motions by root finding on the exact equations.

Unknown are the coordinates c and speeds ζ of `chart.py` and the inputs that are asked for. They
must satisfy, with what matters as in `steadiness.py`,

    (1)  ζ̇ = −M⁻¹ r(c, ζ, 0, u) = 0      the speeds stay
    (2)  ċ_k = 0                           the coordinates that matter stay
    (3)  g(c) = 0                          holonomic rows
    (4)  each given value is met

Some of these say the same (energy keeps the forward speed), and a family of solutions is left where
too little is given. So (1) to (4) are solved by Gauss–Newton steps of least length, with exact
derivatives and a line search; near a solution that is Newton's method. What is left of (1) to (4)
is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.analysis.angles import angles_of
from noslip.analysis.instant import check_time, input_vector
from noslip.analysis.steadiness import Point, Relevance, point_at, rate_unit, relevance
from noslip.analysis.steady_search import (
    TOLERANCE,
    Problem,
    Solution,
    find_wanted,
    least_speeds,
    search,
)
from noslip.engines.system import Array, System
from noslip.errors import SimulationError, nearest
from noslip.simulation.named_values import units_by_name
from noslip.simulation.request import check_redundant_rows
from noslip.simulation.starts.completion import Start, complete_start, start_names
from noslip.spatial import quaternion_from_angles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyMotion:
    """A steady motion. Made by :func:`steady`.

    Parameters
    ----------
    start : a consistent state on it, for :func:`noslip.simulate` and :func:`noslip.linearize`.
    values : coordinates that matter, their constant values, by name; then speeds that stay.
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
        lines.append(f"residual {self.residual:.1e}")
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
    """Whether a value is more than what the search leaves of zero."""
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
    """A steady motion that has the given values: an equilibrium, straight running, a turn.

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
    if not isinstance(system, System):
        raise TypeError(
            f"steady takes a System, got {type(system).__name__}: compile the equations first"
        )
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
    searched = _input_places(system, find, inputs or {})
    check_redundant_rows(system, params, parameters)
    point = _first_guess(system, given, guess, u, params, time)
    problem = Problem(
        relevant=relevance(point), wanted=find_wanted(point, given), searched=searched
    )
    found = search(point, problem)
    if not found.is_found:
        raise _not_found(found, problem.relevant, list(given))
    return _result(system, found, problem)


def _input_places(
    system: System, find: Sequence[str], given: Mapping[str, float]
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


def _first_guess(
    system: System,
    given: Mapping[str, float],
    guess: Mapping[str, float] | Start | None,
    u: Array,
    params: Array,
    time: float,
) -> Point:
    """Where to begin: given and guessed values, the others as they follow or at rest."""
    kin = system.kinematics
    values = {**({} if guess is None or isinstance(guess, Start) else guess), **given}
    _check_names(system, values)
    if isinstance(guess, Start):
        q, v = guess.q.copy(), guess.v
        _place(system, q, values)
    else:
        q, v = _configuration(system, values, params, time), np.zeros(kin.num_speeds)
    start = Start(
        time=guess.time if isinstance(guess, Start) else time,
        q=q,
        v=v,
        eta=np.zeros(0),
        mu=np.zeros(0),
        position_residual=0.0,
        speed_residual=0.0,
        completed={},
    )
    point = point_at(system, start, u, params)
    return least_speeds(point, find_wanted(point, values))


def _configuration(
    system: System, values: Mapping[str, float], params: Array, time: float
) -> Array:
    """Coordinates with these values that satisfy the holonomic rows; nearly, if they cannot."""
    speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
    places = {
        name: value
        for name, value in values.items()
        if name not in speeds and not name.endswith("_rate")
    }
    try:
        return complete_start(system, places, time=time, parameters=params).q
    except SimulationError:
        nodes = system.kinematics.tree.nodes
        q = np.array([r for node in nodes for r in node.joint.type.rest], dtype=float)
        _place(system, q, places)
        return q


def _place(system: System, q: Array, values: Mapping[str, float]) -> None:
    """Write coordinates and named angles into q."""
    names = [c.name for c in system.coordinates]
    for name, value in values.items():
        if name in names:
            q[names.index(name)] = value
    for node in system.kinematics.tree.nodes:
        angles = getattr(node.joint.type, "angles", None)
        if angles is None or node.joint.type.quaternion is None:
            continue
        at = node.coordinates.start + node.joint.type.quaternion
        own = [f"{node.joint.name}.{n}" for n in angles.names]
        if any(name in values for name in own):
            now = angles_of(q, at, angles.sequence)
            wanted = [float(values.get(name, a)) for name, a in zip(own, now, strict=True)]
            q[at : at + 4] = quaternion_from_angles(wanted, angles.sequence)


def _check_names(system: System, values: Mapping[str, float]) -> None:
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


def _not_found(found: Solution, relevant: Relevance, given: Sequence[str]) -> SimulationError:
    """What is missed most, and what may help."""
    point, F = found.point, found.F()
    chart = point.chart
    staying = [*chart.speeds, *(chart.coordinates[k] for k in relevant.coordinates)]
    missed = [(f"the rate of {s.name}", rate_unit(s.unit)) for s in staying]
    rows = [point.system.kinematics.rows[k] for k in point.system.kinematics.kept]
    missed += [(f"row {r.name}", r.unit.removesuffix("/s")) for r in rows if r.is_holonomic]
    units = units_by_name(point.system)
    missed += [(f"the given {name}", units[name]) for name in given]
    where = f"steady motion of model '{point.system.model.name}'"
    if not np.all(np.isfinite(F)):
        return SimulationError(
            "the equations have no value where the search begins, as for a wheel that lies flat",
            where,
            "give a guess of the configuration: guess={…}, on the command line --guess NAME=VALUE",
        )
    worst = int(np.argmax(np.abs(F)))
    name, unit = missed[worst]
    return SimulationError(
        f"no steady motion was found: {name} is still off by {F[worst]:.3g} {unit}",
        where,
        "give fewer values, a guess nearby (guess={…}), or let an input be found that keeps it "
        "(find=[…]); on the command line --guess NAME=VALUE and --find INPUT",
    )


def _result(system: System, found: Solution, problem: Problem) -> SteadyMotion:
    point, chart = found.point, found.point.chart
    _, cdot, g, v, _, _ = point.values()
    q = chart.to_coordinates(point.c)
    rows = system.kinematics.independent_rows(point.time, q, point.parameters)
    start = Start(
        time=point.time,
        q=q,
        v=v,
        eta=rows @ v,
        mu=np.zeros(0),
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
