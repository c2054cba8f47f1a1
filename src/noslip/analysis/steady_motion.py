"""`steady` and `steady_batch`: steady motions by root finding on the exact equations.

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

All of it is done for n variants at once, on stacked matrices; a single search has n = 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.algebra import quaternion_from_angles
from noslip.analysis.instant import (
    LocalExpressions,
    StackedFunction,
    at_variant,
    check_time,
    input_vector,
    least_stacked,
    local_expressions,
    one_variant,
    solve_stacked,
)
from noslip.analysis.local_coordinates import (
    LocalCoordinates,
    MovingAxes,
    angles_of,
    chart_at,
    check_no_costates,
    moving_axes,
)
from noslip.analysis.reactions import assumed_contacts, contact_lines
from noslip.base import ArgumentError, Array, SimulationError, nearest
from noslip.engines import AbstractDevice, System, require_system
from noslip.expressions import rate_unit
from noslip.model import Quantity
from noslip.simulation import (
    Start,
    Starts,
    VariantResults,
    Variants,
    choose_bases,
    units_by_name,
    with_regular_rows,
)

#: Largest |ζ̇|, |ċ|, |g| and miss of a given value (m, rad, s) that a steady motion may leave.
TOLERANCE = 1e-10
#: Rounding of a condition beside the sum of its terms, and the most of the forces that it may hide.
ROUNDING, HIDDEN = 64 * float(np.finfo(float).eps), 1e-8
MOST_STEPS = 100
#: How far the search is moved aside where it gets stuck, try by try, in m, rad and s.
ASIDE = (0.1, 0.3, 1.0, 3.0)
#: Variants that are searched together: their matrices stay in the caches.
BLOCK = 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyMotion:
    """A steady motion. Made by :func:`steady`."""

    model: str
    #: a consistent state on it, for :func:`noslip.simulate` and :func:`noslip.linearize`
    start: Start
    #: coordinates that matter, their constant values, by name; then speeds that stay. Of a body
    #: that circles on curved ground ``ball.turned_x`` and so on are places in axes that turn with
    #: the first angle of the body about the axis of the ground.
    values: dict[str, float]
    rates: dict[str, float]  #: rates of the ignored coordinates, by name, at the start
    inputs: dict[str, float]  #: values that keep it, those that were found among them
    #: units of all of these, by name; a rate has that of its coordinate over s
    units: dict[str, str]
    residual: float  #: largest part of (1) to (4) that is left
    #: number of parameters of the family of steady motions around it; 0 if it is the only one near
    #: that has the given values
    family: int
    #: state in which contacts that may slip are taken, ``rolls`` or ``off``, by name
    contacts: dict[str, str] = field(default_factory=dict)

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
        lines += contact_lines(self.contacts)
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
            "contacts": self.contacts,
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


def _kind(value: object) -> str:
    return f"of type {type(value).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyBatch(VariantResults):
    """Steady motions of many variants. Made by :func:`steady_batch`.

    Names are those of :class:`SteadyMotion`, with an array of one number for each variant where
    that has a number; ``batch[k]`` is the :class:`SteadyMotion` of a variant.
    """

    #: (n,) whether a steady motion was found; the numbers of others are nan
    is_found: NDArray[np.bool_] = field(repr=False)
    messages: dict[int, str] = field(repr=False)  #: variant → why none was found
    #: values, rates, inputs: name → (n,); nan where it is no value of a variant, as a speed that is
    #: independent for others alone
    values: dict[str, Array] = field(repr=False)
    rates: dict[str, Array] = field(repr=False)
    inputs: dict[str, Array] = field(repr=False)
    #: q, v, eta, states: (n, …) a consistent state on each motion, states of forces last
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    eta: Array = field(repr=False)
    states: Array = field(repr=False)
    units: dict[str, str] = field(repr=False)  #: units of all of these, by name
    position_residual: Array = field(repr=False)  #: (n,) largest holonomic row that is left
    residual: Array = field(repr=False)  #: (n,) largest condition that is left
    #: (n,) parameters of the family around each motion; −1 where none was found
    family: NDArray[np.int64] = field(repr=False)
    #: contact states, as of a single one
    contacts: dict[str, str] = field(default_factory=dict, repr=False)
    time: float  #: s, of the states

    def __getitem__(self, k: int) -> SteadyMotion:
        """The steady motion of one variant."""
        k = self.place_of(k)
        if not self.is_found[k]:
            raise SimulationError(
                self.messages.get(k, "it was not searched for: the work was cancelled"),
                f"{self.variants.where}, variant {k}",
                "check is_found first",
            )
        start = Start(
            time=self.time,
            q=self.q[k],
            v=self.v[k],
            eta=self.eta[k],
            mu=self.states[k],
            position_residual=float(self.position_residual[k]),
            speed_residual=0.0,
            completed={},
        )
        # a number that was found is finite; the other names are not of this variant
        values, rates, inputs = (
            {name: x for name, x in at_variant(table, k).items() if np.isfinite(x)}
            for table in (self.values, self.rates, self.inputs)
        )
        return SteadyMotion(
            model=self.model,
            start=start,
            values=values,
            rates=rates,
            inputs=inputs,
            units={name: self.units[name] for name in (*values, *rates, *inputs)},
            residual=float(self.residual[k]),
            family=int(self.family[k]),
            contacts=self.contacts,
        )

    def columns(self) -> dict[str, tuple[NDArray[Any], str]]:
        """Values, inputs, rates, and what is left."""
        units = self.units
        columns: dict[str, tuple[NDArray[Any], str]] = {
            name: (x, units[name]) for name, x in (self.values | self.inputs).items()
        }
        columns |= {f"rate.{name}": (x, units[name]) for name, x in self.rates.items()}
        columns |= {"residual": (self.residual, ""), "is_found": (self.is_found, "")}
        return columns | {"family": (self.family, "")}

    def __repr__(self) -> str:
        return (
            f"SteadyBatch of '{self.model}': {self.count} variants, "
            f"{int(np.count_nonzero(self.is_found))} steady motions found\n"
            "next: .values, .inputs, .is_found, [k], .to_xarray()"
        )


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
    guess : start of the search: further values by name, or a start such as that of a steady motion
        nearby; the joints' rest positions by default. Of several solutions the one found depends on
        it.
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
        raise ArgumentError(
            f"given is {_kind(given)}",
            "argument of steady",
            "pass names and values, {'speed': 5.0}",
        )
    if not (guess is None or isinstance(guess, Mapping | Start)):
        raise ArgumentError(
            f"guess is {_kind(guess)}",
            "argument of steady",
            "pass names and values, {'speed': 5.0}, or the start of another steady motion, "
            "guess=motion.start",
        )
    check_time(system, time, guess)
    params = system.parameters(parameters)
    u = input_vector(system, inputs or {})
    here = with_regular_rows(system, params, parameters)
    _check_given(here, given)
    variants = one_variant(here, "steady motion", given, u, params)
    task = _read_task(variants, guess, find, inputs, time, is_single=True)
    found = _find(variants, task)
    if found.refusals:
        raise found.refusals[0]
    return found.result()[0]


def steady_batch(
    system: System,
    given: Mapping[str, ArrayLike],
    *,
    guess: Mapping[str, float] | Start | None = None,
    find: Sequence[str] = (),
    inputs: Mapping[str, ArrayLike] | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    time: float = 0.0,
    count: int | None = None,
    threads: int | None = None,
    device: Any = "cpu",
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> SteadyBatch:
    """Find a steady motion of each of many variants.

    Wherever :func:`steady` takes a number, a list of numbers may be given too, one for each
    variant. Nothing is raised for a variant that has none: the result says why.

    Parameters
    ----------
    system : compiled system.
    given : coordinates, speeds, named angles and their rates that are wanted.
    guess : start of the search for all variants: further values by name, or a start.
    find : force inputs to be found that keep the motion.
    inputs : values of the other inputs, zero by default.
    parameters : values that differ from the nominal ones.
    time : s, at which moving constraints are taken; a start as guess has its own.
    count : number of variants, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"``: a GPU evaluates the conditions and their derivatives,
        one thread a variant; the steps of the search are computed on the processor all the same.
    progress : function called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, lists of different lengths, and guesses all of which are
        singular.
    """
    variants = Variants.read(
        system,
        "steady_batch",
        "steady motions",
        state=given,
        inputs=inputs,
        parameters=parameters,
        count=count,
        device=device,
    )
    check_time(system, time, guess)
    task = _read_task(variants, guess, find, inputs, time)
    return _find(variants, task, threads, progress, cancel).result()


class _Task(NamedTuple):
    """What is searched for, of all variants alike."""

    guess: Mapping[str, float] | Start | None  #: start of the search
    searched: tuple[int, ...]  #: places of the inputs to be found
    time: float  #: s
    #: whether it is a single call, for which nothing is compiled; for a batch everything is,
    #: however small, so that its bits do not depend on how many variants there are
    is_single: bool

    def values(self, variants: Variants, block: range) -> dict[str, Array]:
        """Guessed and given values of a block by name, (1,) or (n,)."""
        some = slice(block.start, block.stop)
        given = {name: x[some] if len(x) > 1 else x for name, x in variants.state.items()}
        guessed = {} if self.guess is None or isinstance(self.guess, Start) else self.guess
        return {**{name: np.array([float(x)]) for name, x in guessed.items()}, **given}


def _read_task(
    variants: Variants,
    guess: Mapping[str, float] | Start | None,
    find: Sequence[str],
    inputs: Mapping[str, object] | None,
    time: float,
    *,
    is_single: bool = False,
) -> _Task:
    """What is searched for, checked."""
    guessed = {} if guess is None or isinstance(guess, Start) else guess
    _check_given(variants.system, {**guessed, **_firsts(variants.state)})
    searched = _input_places(variants.system, find, inputs or {})
    at = guess.time if isinstance(guess, Start) else time
    return _Task(guess, searched, at, is_single)


def _find(
    variants: Variants,
    task: _Task,
    threads: int | None = None,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> _Motions:
    """Search the motions of all variants.

    They are grouped by the independent speeds that determine the motion where the search begins
    (`choose_bases`). Those of a group are written in the local coordinates of its first one, and
    the coordinates that matter are its own.
    """
    check_no_costates(variants.system)
    size = BLOCK if variants.device is None else variants.block
    q = np.full((variants.count, variants.system.kinematics.num_coordinates), np.nan)

    def place(block: range) -> None:
        q[block.start : block.stop] = _configurations(variants, task, block)

    variants.in_blocks(place, size=size, threads=threads, cancel=cancel)
    found = _Motions(variants, task)
    done = 0
    for here, which in _groups(variants, q, task.time, found.refusals):

        def report(fraction: float, before: int = done, part: int = len(which)) -> None:
            if progress is not None:
                progress((before + fraction * part) / variants.count)

        left, tried = which, []
        for search in _charts(here, variants, which, q, task):
            some = variants.take(left)
            search.begin(some, q[left], left, found)
            tried.append(search)
            again = None if len(tried) > 1 else report
            some.in_blocks(search.fill, size=size, threads=threads, progress=again, cancel=cancel)
            left = left[~found.is_found[left]]
            if not left.size:
                break
        found.name_none(tried[0], which)
        done += len(which)
    return found


def _groups(
    variants: Variants, q: Array, time: float, refusals: dict[int, SimulationError]
) -> list[tuple[System, NDArray[np.int_]]]:
    """Variants by the system that determines their motion at q, and why none does at others."""
    is_placed = np.all(np.isfinite(q), axis=1)
    placed = np.flatnonzero(is_placed)
    table, system = variants.parameters, variants.system
    params = table[0] if len(table) == 1 else table[placed]
    bases = choose_bases(system, np.full(len(placed), time), q[placed], params)
    for k in bases.faults:
        number = f", variant {placed[k]}" if variants.count > 1 else ""
        refusals[int(placed[k])] = bases.refusal(system, k, time, number)
    if is_placed.all() and not bases.groups:
        raise refusals[0]
    return [(here, placed[which]) for here, which in bases.groups if which.size]


def _charts(
    system: System, variants: Variants, which: NDArray[np.int_], q: Array, task: _Task
) -> Iterator[_Search]:
    """Searches in plain coordinates and in turned ones; the latter first if the guess moves."""
    first = variants.take(which[:1])
    # at first in plain ones, whose refusal stands
    plain = _Search(system, first, q[which[0]], None, task)
    charts: list[MovingAxes | None] = [*moving_axes(system, q[which[0]])]
    is_moving = False
    if charts:
        plain.begin(first, q[which[:1]], which[:1], None)
        is_moving = plain.is_moving()
    charts.insert(len(charts) if is_moving else 0, None)
    for turned in charts:
        try:
            yield plain if turned is None else _Search(system, first, q[which[0]], turned, task)
        except _NotPrescribedError:
            continue  # its angles are others than those that are given


def _configurations(variants: Variants, task: _Task, block: range) -> Array:
    """(n, nq) coordinates with the given values that satisfy the holonomic rows, if they can."""
    system, n, guess = variants.system, len(block), task.guess
    values, params = task.values(variants, block), variants.rows(variants.parameters, block)

    def of(k: int) -> dict[str, float]:
        return {name: float(x[min(k, len(x) - 1)]) for name, x in values.items()}

    if isinstance(guess, Start):
        q = np.tile(np.asarray(guess.q, dtype=float), (n, 1))
        for k in range(n):
            _place_values(system, q[k], of(k))
        return q

    def completed(count: int, values: Mapping[str, Array], params: Array) -> Array:
        places = {name: x for name, x in values.items() if _is_place(system, name)}
        return Starts.of(system, places, count=count, time=task.time, parameters=params).q

    try:
        return completed(n, values, params)
    except SimulationError:
        # some cannot: each as it comes
        q = np.tile(system.kinematics.rest, (n, 1))
    for k in range(n):
        own = of(k)
        places = {name: x for name, x in own.items() if _is_place(system, name)}
        try:
            q[k] = completed(1, {name: np.array([x]) for name, x in own.items()}, params[k : k + 1])
        except SimulationError:
            _place_values(system, q[k], places)
    return q


def _input_places(
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


def _is_place(system: System, name: str) -> bool:
    """Whether a name is a coordinate or an angle, not a speed."""
    speeds = {s.name for s in (*system.speeds, *system.independent_speeds)}
    speeds |= {z.name for z in system.auxiliary_states}
    return name not in speeds and not name.endswith("_rate")


def _place_values(system: System, q: Array, values: Mapping[str, float]) -> None:
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


def _check_given(system: System, values: Mapping[str, float]) -> None:
    known = list(units_by_name(system))
    where = f"steady motion of model '{system.model.name}'"
    for name, value in values.items():
        if name not in known:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'", where, nearest(name, known)
            )
        is_number = isinstance(value, (float, int, np.number)) and not isinstance(value, bool)
        if not (is_number and np.isfinite(value)):
            raise SimulationError(f"'{name}' is {value!r}", where, "give a finite number")


#: Places of ċ, v and η among what a chart evaluates; c itself, and q, which is a function of it.
_RATE, _SPEED, _INDEPENDENT, _COORDINATE, _PLACED = 1, 3, 4, -1, -2


class WantedValue(NamedTuple):
    """Where a value is that the motion must have: in which part of the chart, and its place."""

    part: int
    place: int

    @property
    def is_speed(self) -> bool:
        """Whether it says something about the speeds."""
        return self.part not in (_COORDINATE, _PLACED)

    def at(
        self, chart: LocalCoordinates, c: Array, values: Sequence[Array], by_y: Sequence[Array]
    ) -> tuple[Array, Array]:
        """(n,) value at n points, and (n, 1, k) its derivatives by y, which begins with c.

        `values` and `by_y` are r, ċ, g, v and η and their derivatives.
        """
        if self.is_speed:
            return values[self.part][:, self.place], by_y[self.part][:, [self.place]]
        slope = np.zeros((len(c), 1, by_y[0].shape[2]))
        if self.part == _COORDINATE:
            slope[:, 0, self.place] = 1.0
            return c[:, self.place], slope
        slope[:, 0, : c.shape[1]] = chart.place_slopes(c, self.place)
        return chart.to_many_coordinates(c)[:, self.place], slope


class _NotPrescribedError(SimulationError):
    """A value is no function of the coordinates and speeds of a chart."""


def find_wanted(
    system: System, chart: LocalCoordinates, given: Mapping[str, float]
) -> tuple[WantedValue, ...]:
    """Where the given values are found in the chart."""
    places = {
        _COORDINATE: {c.name: k for k, c in enumerate(chart.coordinates)},
        _RATE: chart.coordinate_rates,
        _SPEED: {s.name: k for k, s in enumerate(system.speeds)},
        _INDEPENDENT: {s.name: k for k, s in enumerate(system.independent_speeds)},
        _PLACED: {q.name: k for k, q in chart.placed(system.coordinates)},
    }
    wanted = []
    for name, value in given.items():
        part = next((part for part, names in places.items() if name in names), None)
        if part is None:
            owner = name.rpartition(".")[0]
            angles = chart.angle_names(owner)
            named = [angle for angle in angles if angle in units_by_name(system)]
            own = (*named, *places[_PLACED], *places[_SPEED])
            listed = ", ".join(n for n in own if n.rpartition(".")[0] == owner)
            raise _NotPrescribedError(
                f"'{name}' cannot be prescribed: the orientation of '{owner}' is described by "
                f"{', '.join(angles)} here",
                f"steady motion of model '{system.model.name}'",
                f"give it as a guess, guess={{'{name}': {value:g}}}, and prescribe others: {listed}"
                if _is_place(system, name)
                else f"prescribe others: {listed}",
            )
        wanted.append(WantedValue(part, places[part][name]))
    return tuple(wanted)


#: A derivative below this, relative to the largest of its row, is zero.
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


def relevance(
    system: System, chart: LocalCoordinates, params: Array, used: tuple[int, ...] = ()
) -> Relevance:
    """Find the coordinates and rows that matter to the motion, at generic states.

    Parameters
    ----------
    system, chart, params : system, coordinates and parameters of the motion.
    used : places in c of coordinates that matter to inputs.
    """
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


class _Motions:
    """What was found of all variants, by name, and why nothing was."""

    def __init__(self, variants: Variants, task: _Task) -> None:
        self._variants, self._task = variants, task
        system, n = variants.system, variants.count
        kin = system.kinematics
        self.refusals: dict[int, SimulationError] = {}
        self.is_found = np.zeros(n, bool)
        self._values: dict[str, Array] = {}
        self._rates: dict[str, Array] = {}
        self._units = {q.name: q.unit for q in system.inputs}
        self._q = np.full((n, kin.num_coordinates), np.nan)
        self._v = np.full((n, kin.num_speeds), np.nan)
        self._states = np.full((n, len(kin.force_states)), np.nan)
        self._inputs = np.full((n, len(system.inputs)), np.nan)
        self._position_residual = np.full(n, np.nan)
        self._residual = np.full(n, np.nan)
        self._family = np.full(n, -1, np.int64)

    def keep(self, search: _Search, places: NDArray[np.int_], found: _Points, at: _At) -> None:
        """Store solutions of variants in the coordinates of a search."""
        chart, matter = search.chart, search.matter
        self.is_found[places] = True
        columns = self._columns_of(search)
        for table, x in zip(columns, (found.c, found.zeta, at.cdot), strict=True):
            for k, column in table.items():
                column[places] = x[:, k]
        self._q[places], self._v[places] = chart.to_many_coordinates(found.c), at.v
        self._states[places] = found.c[:, chart.num_placed :]
        self._inputs[places] = found.inputs
        self._position_residual[places] = np.max(np.abs(at.g), axis=1, initial=0.0)
        self._residual[places] = np.max(np.abs(at.F), axis=1, initial=0.0)
        free = [*matter, *range(len(chart.coordinates), at.J.shape[2])]
        sizes = np.linalg.svd(at.J[:, :, free], compute_uv=False)
        bound = 1e-8 * np.maximum(1.0, sizes[:, :1]) if sizes.shape[1] else sizes
        self._family[places] = len(free) - np.sum(sizes > bound, axis=1)

    def _columns_of(self, search: _Search) -> tuple[dict[int, Array], ...]:
        """Columns of values of coordinates and of speeds, and of rates, by places in a chart."""
        chart, n = search.chart, self._variants.count

        def columns(
            named: dict[str, Array], quantities: Sequence[Quantity], some: Sequence[int]
        ) -> dict[int, Array]:
            names = {k: quantities[k].name for k in some}
            return {k: named.setdefault(name, np.full(n, np.nan)) for k, name in names.items()}

        self._units |= {q.name: q.unit for q in (*chart.coordinates, *chart.speeds)}
        ignored = [k for k in range(len(chart.coordinates)) if k not in search.matter]
        return (
            columns(self._values, chart.coordinates, search.matter),
            columns(self._values, chart.speeds, range(len(chart.speeds))),
            columns(self._rates, chart.coordinates, ignored),
        )

    def name_none(self, search: _Search, which: NDArray[np.int_]) -> None:
        """Name what a search would have found, where nothing was."""
        if not self.is_found[which].any():
            self._columns_of(search)

    def result(self) -> SteadyBatch:
        """All motions, by name."""
        variants, system = self._variants, self._variants.system
        used = [
            k
            for k in range(len(system.inputs))
            if k in self._task.searched or np.any(variants.inputs[:, k])
        ]
        inputs = {system.inputs[k].name: self._inputs[:, k] for k in used}
        units = self._units | {name: f"{self._units[name]}/s" for name in self._rates}
        params = variants.parameters[0] if len(variants.parameters) == 1 else variants.parameters
        t = np.full(variants.count, self._task.time)
        return SteadyBatch(
            model=system.model.name,
            contacts=assumed_contacts(system.model),
            count=variants.count,
            variants=variants,
            is_found=self.is_found,
            messages={k: error.faults[0].what for k, error in self.refusals.items()},
            values=self._values,
            rates=self._rates,
            inputs=inputs,
            q=self._q,
            v=self._v,
            eta=system.kinematics.independent_values(t, self._q, self._v, params),
            states=self._states,
            units={name: units[name] for name in (*self._values, *self._rates, *inputs)},
            position_residual=self._position_residual,
            residual=self._residual,
            family=self._family,
            time=self._task.time,
        )


class _Points(NamedTuple):
    """States of n variants: c and ζ (n, …), inputs, parameters, values that are wanted.

    `reference` is y₀ of (5).
    """

    c: Array
    zeta: Array
    inputs: Array
    parameters: Array
    wanted: Array
    reference: Array

    def take(self, k: NDArray[Any]) -> _Points:
        return _Points(*(part[k] for part in self))


class _At(NamedTuple):
    """(1) to (4) at n points, and what they are made of."""

    F: Array  #: (n, m) the conditions, accelerations by the mass matrix there
    J: Array  #: (n, m, k) ∂F/∂y at a fixed mass matrix; at a solution that of F itself
    allowed: Array  #: (n, m) what may be left of them by (5)
    #: r, inverse: the equations of motion at ζ̇ = 0, and M⁻¹
    r: Array
    inverse: Array
    #: cdot, g, v, eta: (n, …) what a chart gives
    cdot: Array
    g: Array
    v: Array
    eta: Array

    def take(self, k: NDArray[Any]) -> _At:
        return _At(*(part[k] for part in self))

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """(n,) whether the conditions hold by (5)."""
        return np.asarray(np.all(np.abs(self.F) <= self.allowed, axis=1))

    @property
    def sizes(self) -> Array:
        """(n,) |F|."""
        return np.asarray(np.linalg.norm(self.F, axis=1))

    def sizes_by(self, inverse: Array) -> Array:
        """(n,) |F|, accelerations by another mass matrix that is held fixed."""
        rates = (inverse @ self.r[:, :, None])[:, :, 0]
        rest = self.F[:, rates.shape[1] :]
        return np.asarray(np.linalg.norm(np.concatenate([rates, rest], axis=1), axis=1))


class _Search:
    """Search of variants in one chart, filled block by block.

    `system`: system whose independent speeds determine the motion of all of them; `q`: (nq,) where
    its search begins.
    """

    def __init__(
        self, system: System, first: Variants, q: Array, turned: MovingAxes | None, task: _Task
    ) -> None:
        self._system, self._task = system, task
        params = first.parameters[0]
        self.chart = chart_at(system, task.time, q, params, turned)
        self._relevant = relevance(system, self.chart, params)
        self.matter = list(self._relevant.coordinates)
        given = list(first.state)
        values = task.values(first, range(1))
        self._wanted = find_wanted(system, self.chart, _firsts(first.state))
        moving = {n: x for n, x in _firsts(values).items() if not _is_place(system, n)}
        places = zip(moving, find_wanted(system, self.chart, moving), strict=True)
        #: columns of given and guessed speeds
        self._moving = {name: w for name, w in places if w.is_speed}
        self._missed = _missed_conditions(system, self.chart, self._relevant, given)
        self._num_c, self._num_z = len(self.chart.coordinates), len(self.chart.speeds)
        ones = np.ones(len(task.searched))
        self._scale = np.append(scale_of(system, self.chart), ones)

    def begin(
        self, variants: Variants, q: Array, numbers: NDArray[np.int_], found: _Motions | None
    ) -> None:
        """Take variants that begin at q (n, nq), with their numbers among all."""
        self._variants, self._start = variants, q
        self._numbers, self._found = numbers, found
        searched, is_single = self._task.searched, self._task.is_single
        self._at: StackedFunction = self._system.cached(
            ("conditions", self.chart, searched, variants.device, is_single),
            lambda: _compile(
                local_expressions(self._system, self.chart), searched, variants.device, is_single
            ),
        )

    def is_moving(self) -> bool:
        """Whether coordinates that matter move where the first variant begins."""
        with np.errstate(all="ignore"):
            at = self._conditions(self._first_points(range(1)))
        return bool(np.max(np.abs(at.cdot[:, self.matter]), initial=0.0) > TOLERANCE)

    def fill(self, block: range) -> None:
        """Search a block of variants."""
        with np.errstate(all="ignore"):
            points, at, is_done = self._search(self._first_points(block))
            numbers = self._numbers[block.start : block.stop]
            assert self._found is not None
            if is_done.any():
                self._found.keep(self, numbers[is_done], points.take(is_done), at.take(is_done))
        refusals = self._found.refusals
        for k in np.flatnonzero(~is_done).tolist():
            what, fix = self._refusal(at.F[k], bool(at.is_found[k]))
            number = f", variant {numbers[k]}" if self._found.is_found.size > 1 else ""
            refusals.setdefault(
                int(numbers[k]), SimulationError(what, f"{self._variants.where}{number}", fix)
            )
        for k in numbers[is_done].tolist():
            refusals.pop(k, None)

    def _refusal(self, F: Array, is_solved: bool) -> tuple[str, str]:
        """The condition missed most, and what may help."""
        guess = (
            "give a guess of the configuration: guess={…}, on the command line --guess NAME=VALUE"
        )
        if is_solved:
            return (
                "the solution is singular: a wheel lies flat, or a body is inside its ground",
                guess,
            )
        if not np.all(np.isfinite(F)):
            return (
                "the equations have no value where the search starts, as for a wheel that lies "
                "flat",
                guess,
            )
        worst = int(np.argmax(np.abs(F)))
        name, unit = self._missed[worst]
        return (
            f"no steady motion was found: {name} is still off by {F[worst]:.3g} {unit}",
            "give fewer values, a closer guess (guess={…}), or let an input be found that "
            "maintains it (find=[…]); on the command line --guess NAME=VALUE and --find INPUT",
        )

    def _first_points(self, block: range) -> _Points:
        """Initial guesses: given and guessed values, the others as they follow or at rest."""
        variants, chart, n = self._variants, self.chart, len(block)
        guess = self._task.guess
        values = self._task.values(variants, block)
        params, u = (
            variants.rows(table, block) for table in (variants.parameters, variants.inputs)
        )
        q = self._start[block.start : block.stop]
        points = _Points(
            c=chart.from_many_coordinates(q, self._force_states(values, n)),
            zeta=np.zeros((n, self._num_z)),
            inputs=u,
            parameters=params,
            wanted=_table({name: values[name] for name in variants.state}, n),
            reference=np.zeros((n, len(self._scale))),
        )
        found = self._evaluate(points)
        speeds = slice(self._num_c, self._num_c + self._num_z)
        at_rest, by_zeta = found[:5], [by_y[:, :, speeds] for by_y in found[5:10]]
        if self._moving:
            wanted = self._moving.values()
            rows = np.stack([by_zeta[w.part][:, w.place] for w in wanted], axis=1)
            now = np.stack([at_rest[w.part][:, w.place, 0] for w in wanted], axis=1)
            asked = _table({name: values[name] for name in self._moving}, n)
            zeta = least_stacked(rows, asked - now, 1e-10)
        else:
            eta = np.zeros((n, self._num_z))
            if isinstance(guess, Start):
                v = np.tile(np.asarray(guess.v, dtype=float), (n, 1))
                at = np.full(n, self._task.time), np.tile(guess.q, (n, 1))
                eta = self._system.kinematics.independent_values(*at, v, params)
            # η is affine in ζ
            zeta = solve_stacked(by_zeta[4], eta[:, :, None] - at_rest[4])[:, :, 0]
        points = points._replace(zeta=zeta)
        scale = self._scale[: self._num_c + self._num_z]
        return points._replace(reference=reference_of(scale, self._unknowns(points)))

    def _unknowns(self, points: _Points) -> Array:
        """(n, …) y: coordinates, speeds and the inputs that are searched for."""
        searched = points.inputs[:, list(self._task.searched)]
        return np.concatenate([points.c, points.zeta, searched], axis=1)

    def _force_states(self, values: dict[str, Array], n: int) -> Array:
        """(n, nz) states of forces: given, guessed, or zero."""
        names = [z.name for z in self._system.kinematics.force_states]
        table, guess = np.zeros((n, len(names))), self._task.guess
        if not isinstance(guess, Start):
            for k, name in enumerate(names):
                table[:, k] = values.get(name, 0.0)
        elif len(guess.mu):
            table[:] = guess.mu
        return table

    def _is_regular(self, points: _Points, at: _At) -> NDArray[np.bool_]:
        """(n,) whether no contact is singular, as of a body that would be within its ground."""
        system, n = self._system, len(points.c)
        q = self.chart.to_many_coordinates(points.c)
        states = points.c[:, self.chart.num_placed :]
        x = np.concatenate([q, at.eta, states, np.zeros((n, int(system.does_work)))], axis=1)
        t = np.full(n, self._task.time)
        measures = system.rates.map(t, x, points.inputs, points.parameters)[:, system.num_states :]
        limits = [m.limit if m.kind == "contact" else -1.0 for m in system.singularity_measures]
        return np.asarray(np.all(np.abs(measures) > limits, axis=1))

    def _search(self, start: _Points) -> tuple[_Points, _At, NDArray[np.bool_]]:
        """Search from the guess, then from random points around it; the best, and if it is one.

        A variant that has arrived waits for nobody.
        """
        rng = np.random.default_rng(11)
        points, best = self._descend(start)
        is_done = best.is_found & self._is_regular(points, best)
        free = [*self.matter, *range(self._num_c, self._num_c + self._num_z)]
        for aside in ASIDE:
            lost = np.flatnonzero(~is_done)
            if not lost.size:
                break
            step = np.zeros(len(self._scale))
            step[free] = aside * rng.normal(size=len(free))
            moved = self._moved(start.take(lost), np.tile(step, (lost.size, 1)))
            tried_points, tried = self._descend(moved)
            counts = tried.is_found & self._is_regular(tried_points, tried)
            before = best.take(lost)
            is_better = np.isfinite(tried.sizes) & ~(before.sizes <= tried.sizes)
            is_better |= before.is_found & counts
            _put(points, lost[is_better], tried_points.take(is_better))
            _put(best, lost[is_better], tried.take(is_better))
            is_done[lost] = is_better & counts
        return points, best, is_done

    def _descend(self, points: _Points) -> tuple[_Points, _At]:
        """Gauss–Newton iteration with steps of least length, of all variants at once."""
        points = _Points(*(part.copy() for part in points))
        now = self._conditions(points)
        moving = np.arange(len(points.c))
        inputs = self._num_c + self._num_z
        for _ in range(MOST_STEPS):
            moving = moving[np.all(np.isfinite(now.F[moving]), axis=1)]
            if not moving.size:
                break
            here = now.take(moving)
            scale = np.tile(self._scale, (len(moving), 1))
            norms = np.linalg.norm(here.J[:, :, inputs:], axis=1)
            scale[:, inputs:] = 1.0 / np.maximum(norms, 1e-12)
            step = scale * least_stacked(here.J * scale[:, None, :], -here.F, 1e-11)
            longest = np.max(np.abs(step[:, : self._num_c]), axis=1, initial=0.0)
            step *= np.minimum(1.0, 0.5 / np.maximum(longest, 1e-300))[:, None]
            moving = self._shorten(points, now, moving, here, step)
        return points, now

    def _shorten(
        self, points: _Points, now: _At, moving: NDArray[Any], here: _At, step: Array
    ) -> NDArray[Any]:
        """Backtracking line search: the first of step, step/2, … that reduces |F| at a fixed mass.

        Those that no step improves have arrived; the others are returned.
        """
        sizes, tries = here.sizes, np.where(here.is_found, 1, 30)
        left = np.arange(len(moving))
        is_better = np.zeros(len(moving), bool)
        for k in range(30):
            left = left[(k < tries[left]) & ~is_better[left]]
            if not left.size:
                break
            trial_points = self._moved(points.take(moving[left]), step[left] / 2**k)
            trial = self._conditions(trial_points)
            falls = trial.sizes_by(here.inverse[left]) < sizes[left]
            falls &= np.all(np.isfinite(trial.F), axis=1)
            accepted = left[falls]
            is_better[accepted] = True
            _put(points, moving[accepted], trial_points.take(falls))
            _put(now, moving[accepted], trial.take(falls))
        return moving[is_better]

    def _moved(self, points: _Points, step: Array) -> _Points:
        num_c, num_z = self._num_c, self._num_z
        inputs = points.inputs.copy()
        inputs[:, list(self._task.searched)] += step[:, num_c + num_z :]
        return points._replace(
            c=points.c + step[:, :num_c],
            zeta=points.zeta + step[:, num_c : num_c + num_z],
            inputs=inputs,
        )

    def _evaluate(self, points: _Points) -> list[Array]:
        x = np.concatenate([points.c, points.zeta], axis=1)
        return self._at(self._task.time, x, points.inputs, points.parameters)

    def _conditions(self, points: _Points) -> _At:
        """(1) to (4) and their derivatives."""
        *parts, mass = self._evaluate(points)
        values, by_y = [part[:, :, 0] for part in parts[:5]], parts[5:]
        r, cdot, g, v, eta = values
        rows, rest = [by_y[1][:, self.matter], by_y[2]], [cdot[:, self.matter], g]
        for j, w in enumerate(self._wanted):
            found, slope = w.at(self.chart, points.c, values, by_y)
            rows.append(slope)
            rest.append((found - points.wanted[:, j])[:, None])
        inverse = solve_stacked(mass, np.tile(np.eye(self._num_z), (len(r), 1, 1)))
        J, terms = condition_slopes(inverse, by_y[0], np.concatenate(rows, axis=1))
        y = self._unknowns(points)
        return _At(
            F=np.concatenate([-(inverse @ r[:, :, None])[:, :, 0], *rest], axis=1),
            J=J,
            allowed=allowed_residuals(J, terms, self._num_z, y, points.reference),
            r=r,
            inverse=inverse,
            cdot=cdot,
            g=g,
            v=v,
            eta=eta,
        )


def condition_slopes(inverse: Array, r_y: Array, rest_y: Array) -> tuple[Array, Array]:
    """(n, m, k) ∂F/∂y of (1) to (4), and the same of the sums of magnitudes."""
    J = np.concatenate([-(inverse @ r_y), rest_y], axis=1)
    return J, np.concatenate([np.abs(inverse) @ np.abs(r_y), np.abs(rest_y)], axis=1)


def reference_of(scale: Array, y: Array) -> Array:
    """y₀ of (5): unknowns where a search starts, at least their scale; inputs last, without one."""
    least = np.zeros(y.shape)
    least[..., : len(scale)] = scale
    return np.maximum(least, np.abs(y))


def allowed_residuals(
    J: Array,
    terms: Array,
    num_z: int,
    y: Array,
    reference: Array,
    tolerance: float = TOLERANCE,
    size: Array | float = 1.0,
) -> Array:
    """(n, m) what may be left of (1) to (4) by (5), with `condition_slopes`.

    `tolerance` is ε, and `size`, (n, 1), the number in place of 1 that forces are compared with.
    """
    acting = np.abs((J @ y[:, :, None])[:, :, 0]) + (np.abs(J) @ reference[:, :, None])[:, :, 0]
    rounding = np.minimum(ROUNDING * (terms @ np.abs(y)[:, :, None])[:, :, 0], HIDDEN * acting)
    compared = np.minimum(acting, size)
    # what is no force, (2) to (4), is compared with 1 at least
    compared[:, num_z:] = np.maximum(compared[:, num_z:], 1.0)
    common = ROUNDING * np.max(np.minimum(acting, 1.0), axis=1, initial=0.0, keepdims=True)
    return np.asarray(tolerance * compared + rounding + common)


def scale_of(system: System, chart: LocalCoordinates) -> Array:
    """Scale of each coordinate and speed: what counts as a step of 1."""
    length = system.kinematics.length
    units = [q.unit for q in (*chart.coordinates, *chart.speeds)]
    return np.array([length if unit in ("m", "m/s") else 1.0 for unit in units])


def _missed_conditions(
    system: System, chart: LocalCoordinates, relevant: Relevance, given: Sequence[str]
) -> list[tuple[str, str]]:
    """Name and unit of each entry of F."""
    kin = system.kinematics
    staying = [*chart.speeds, *(chart.coordinates[k] for k in relevant.coordinates)]
    missed = [(f"the rate of {s.name}", rate_unit(s.unit)) for s in staying]
    rows = [kin.rows[k] for k in kin.row_basis]
    missed += [(f"row {r.name}", r.unit.removesuffix("/s")) for r in rows if r.is_holonomic]
    units = units_by_name(system)
    return missed + [(f"the given {name}", units[name]) for name in given]


def _table(values: Mapping[str, Array], n: int) -> Array:
    """(n, k) numbers by name, in their order."""
    table = np.empty((n, len(values)))
    for k, x in enumerate(values.values()):
        table[:, k] = x
    return table


def _firsts(values: Mapping[str, Array]) -> dict[str, float]:
    return {name: float(x[0]) for name, x in values.items()}


def _put(whole: Iterable[Array], places: NDArray[Any], parts: Iterable[Array]) -> None:
    """Replace some rows of stacked arrays."""
    for array, part in zip(whole, parts, strict=True):
        array[places] = part


def _compile(
    e: LocalExpressions, searched: Sequence[int], device: AbstractDevice | None, is_single: bool
) -> StackedFunction:
    """Values, derivatives by (c, ζ, inputs searched for), and the mass matrix."""
    by_y = [
        ca.horzcat(a, b, c[:, list(searched)])
        for a, b, c in zip(e.by_c, e.by_zeta, e.by_inputs, strict=True)
    ]
    return e.compile("conditions", [*e.values, *by_y, e.mass], device, is_single=is_single)
