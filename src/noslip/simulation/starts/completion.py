"""Consistent starts from given values: of n runs at once, and of one as n = 1.

**Named angles of orientations: what a start gives of them, and what it holds.**

Where only some angles are given, the others may move: a bicycle is given lean and steer, and its
pitch follows from the wheels. With the axes of turning as columns,

    (1)  ω = W ȧ,   W = [e₁ e₂ e₃],   ȧ = W⁻¹ ω

so that ȧ_k of the given angles are rows on ω.

An orientation has two sets of angles: where the first axis is used twice, (a, b, c) and (a + π, −b,
c + π), else (a, b, c) and (a + π, π − b, c + π). Rates belong to the set whose middle angle is the
given one, not always the one with the middle angle in its usual range.

Values of n starts are arrays (n,) by name. Coordinates, speeds, named angles and their rates may be
given in part. Given coordinates stay; the others move as little as they must, from the joints' rest
positions, to satisfy g(q, t) = 0. With G the holonomic rows of A, over a length of the model where
speeds are angular, a step is the least-norm one that satisfies the linearized rows and keeps these,

    (1)  [G; N_fixed] δ = [−g; 0],    q ← q + N δ

Speeds that are given, T v = τ, stay; the independent speeds that are not given are as small as the
given ones and the constraints allow. With the null-space basis of the kinematics,

    (2)  v = s + S η,   A S = 0,   A s + a = 0       T S η = τ − T s,   |η| least

Where the basis fails, C v = d stacks the constraints and what is given. C = U Σ Vᵀ gives the least
v that fits; of what it leaves free those speeds are taken that make E v least.

A start has the same bits alone and beside any others: see ``start_layout``. Its derivatives are in
``start_derivatives``, from the same rows and factors.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.algebra import angular_velocity, intrinsic_angles, quaternion_from_angles
from noslip.base import Array, SimulationError, counted, nearest
from noslip.engines import System, require_system
from noslip.simulation.starts.start_layout import (
    RANK,
    Layout,
    Orientation,
    Rows,
    apply,
    each,
    inverses,
    is_within,
    largest,
    layout_of,
    pseudo_inverse,
    row_weights,
    singular_inverse,
    singular_values,
)

Given = Mapping[str, Array]

_ZERO = np.zeros(1)
#: cos and sin, atan2 and hypot: of one start, and of many.
_TURNS = (math.cos, math.sin), (partial(each, math.cos), partial(each, math.sin))
_ANGLES = (math.atan2, math.hypot), (partial(each, math.atan2), partial(each, math.hypot))


@dataclass(frozen=True, slots=True)
class Held:
    """An orientation and the places of those of its angles, or of their rates, that are held."""

    orientation: Orientation
    places: tuple[int, ...]
    is_rate: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the prescribed angles and rates."""
        o = self.orientation
        names = o.rate_names if self.is_rate else o.angle_names
        return [names[k] for k in self.places]

    def values(self, given: Given, n: int) -> Array:
        """(n, k): what it is held at; what is not given is zero."""
        return columns(given_values(self.names, given, n), n)

    def rows(self, given: Given, q: Array, num_speeds: int) -> Array:
        """(n, k, nv): rates of the held angles from the tree speeds."""
        rows = np.zeros((len(q), len(self.places), num_speeds))
        at, o = self.orientation.speed, self.orientation
        rows[:, :, at : at + 3] = angle_rates(axes(o, angles_now(o, given, q), len(q)))[
            :, list(self.places)
        ]
        return rows

    def restore(self, given: Given, q: Array) -> None:
        """Set the held angles again, and leave the others."""
        o, n = self.orientation, len(q)
        angles = angles_now(o, given, q)
        for place, value in zip(self.places, given_values(self.names, given, n), strict=True):
            angles[place] = value
        q[:, o.quaternion : o.quaternion + 4] = quaternions(angles, o.angles.sequence, n)


def given_values(names: Sequence[str], given: Given, n: int) -> list[Any]:
    """Values by name, zero where they are not given: numbers of one start, arrays (n,) of many."""
    found = [given.get(name, _ZERO) for name in names]
    return [float(x[0]) if n == 1 else np.broadcast_to(x, n) for x in found]


def columns(values: Sequence[Any], n: int) -> Array:
    """(n, k) of k values that are numbers of one start, arrays of many."""
    if n == 1:
        return np.array([values], dtype=float)
    return np.stack([np.broadcast_to(x, n) for x in values], axis=-1)


def quaternions(angles: Sequence[Any], sequence: str, n: int) -> Array:
    """(n, 4): unit quaternions of named angles."""
    return columns(quaternion_from_angles(angles, sequence, *_TURNS[n > 1]), n)


def turning(o: Orientation, angles: Sequence[Any], rates: Sequence[Any], n: int) -> Array:
    """(n, 3): ω in body axes, of the rates of named angles."""
    sequence = o.angles.sequence
    return columns(angular_velocity(angles, rates, sequence, *_TURNS[n > 1]), n)


def axes(o: Orientation, angles: Sequence[Any], n: int) -> Array:
    """(n, 3, 3): W of (1)."""
    units = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    return np.stack([turning(o, angles, unit, n) for unit in units], axis=-1)


def angle_rates(W: Array) -> Array:
    """W⁻¹ of (1); least squares where the angles are singular."""
    return singular_inverse(W, 1e-12)


def start_angles(o: Orientation, given: Given, q: Array) -> list[Any]:
    """Named angles of an orientation: as given if all are, else those of its quaternion."""
    if all(name in given for name in o.angle_names):
        return given_values(o.angle_names, given, len(q))
    return angles_now(o, given, q)


def angles_now(o: Orientation, given: Given, q: Array) -> list[Any]:
    """Named angles of the quaternion as it is; of the two sets the one nearer to a middle angle."""
    sequence, parts = o.angles.sequence, q[:, o.quaternion : o.quaternion + 4].T
    quaternion = parts[:, 0].tolist() if len(q) == 1 else list(parts)
    angles = intrinsic_angles(quaternion, sequence, *_ANGLES[len(q) > 1])
    if o.angle_names[1] not in given:
        return angles
    (middle,) = given_values(o.angle_names[1:2], given, len(q))
    other = other_angles(angles, sequence)
    is_nearer = _apart(other[1], middle) < _apart(angles[1], middle)
    if len(q) == 1:
        return other if is_nearer else angles
    return [np.where(is_nearer, b, a) for a, b in zip(angles, other, strict=True)]


def other_angles(angles: Sequence[Any], sequence: str) -> list[Any]:
    """The other set of angles of the same orientation."""
    first, middle, last = angles
    turned = -middle if sequence[0] == sequence[2] else math.pi - middle
    return [first + math.pi, turned, last + math.pi]


def _apart(a: Any, b: Any) -> Any:
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


def releases(layout: Layout, given: Container[str]) -> list[tuple[Held, ...]]:
    """Coordinates to hold in each attempt, where only some angles of an orientation are given.

    One angle that is not given is let go first, the last of the sequence before the others; then
    more of them. Those that are held and not given are zero.
    """
    options = []
    for o in layout.orientations:
        places = _places(o.angle_names, given)
        if 0 < len(places) < 3:
            free = [k for k in reversed(range(3)) if k not in places]
            gone = [
                g for count in range(1, len(free) + 1) for g in itertools.combinations(free, count)
            ]
            options.append([Held(o, tuple(k for k in range(3) if k not in g)) for g in gone])
    return list(itertools.product(*options)) if options else []


def _places(names: Sequence[str], given: Container[str]) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(names) if name in given)


#: Largest residual of a constraint row that a start may leave, in the unit of the row.
TOLERANCE = 1e-11
#: The same of a start that was completed before; a run projects what is left of it.
COMPLETED = 1e-7
#: And to this share of the largest coordinate: ten roundings of it.
ROUNDING = 10 * float(np.finfo(float).eps)
#: Relative error of coordinate rates up to which independent speeds carry a start.
CARRIED = 1e-7
#: Configurations from which other assemblies are looked for, and steps of each.
ASSEMBLY_TRIES, ASSEMBLY_STEPS = 8, 30
#: Lengths of the model and radians by which assemblies differ.
APART = 1e-6
#: Size up to which the null-space basis is trusted.
LARGEST_BASIS = 1e6
#: Steps to the configuration nearest to measured numbers, at most.
MEASURED_STEPS = 500
#: Share of the speeds by which rows may be missed where the basis is trusted.
BASIS_ERROR = 1e-13
#: Weight of coordinates that contacts own beside those of bodies.
FOLLOWING = 1e-5
#: Sets of given names for which plans are kept.
MAX_PLANS = 64
#: Starts that are completed together, and numbers in each of their matrices.
BLOCK, BLOCK_NUMBERS = 1024, 2**20

Places = NDArray[np.int64]
#: From trajectories, and their coordinates (n, nq), to the speed inputs (n, nw) at the start.
SpeedInputs = Callable[[Places, Array], Array]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """A consistent state at the start of a run."""

    time: float  #: s
    #: q, v: coordinates and tree speeds
    q: Array
    v: Array
    eta: Array  #: independent speeds
    mu: Array  #: costates of vakonomic equations and states of forces; as given, else zero
    #: position_residual, speed_residual: largest |g| and |A v + a| that is left
    position_residual: float
    speed_residual: float
    #: coordinates and speeds that were not given and came out different from zero
    completed: dict[str, float]
    notes: tuple[str, ...] = ()  #: remark where several assemblies fit, with the one that was taken
    #: whether v is known to be s + S η of the system's own independent speeds; where it is not,
    #: `bases.regular_start` finds out
    is_carried: bool = False

    def check(self, system: System, parameters: Array) -> None:
        """Refuse a start that breaks a holonomic row, as of other parameters it may.

        Raises
        ------
        SimulationError : with the row that is broken most.
        """
        kin = system.kinematics
        if not kin.probe.holonomic:
            return
        w = np.zeros((1, len(system.model.speed_inputs)))  # positions do not depend on them
        at = np.array([self.time]), np.asarray(self.q, dtype=float)[None]
        g = layout_of(system).rows(*at, w, parameters).g[0]
        worst = int(np.argmax(np.abs(g)))
        if not abs(g[worst]) <= COMPLETED * max(1.0, kin.length):
            row = kin.rows[kin.probe.holonomic[worst]].name
            raise SimulationError(
                f"the start breaks row '{row}' by {g[worst]:.3g}",
                f"start of model '{system.model.name}'",
                "give the start by names, so that noslip completes it with these parameters",
            )


class Starts(NamedTuple):
    """n consistent starts; the fields are those of :class:`Start`, a row for each."""

    q: Array
    v: Array
    eta: Array
    mu: Array
    is_carried: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        system: System,
        given: Mapping[str, Array],
        *,
        count: int,
        time: float,
        parameters: Array,
    ) -> Starts:
        """Completed starts of n states by name, with speed inputs at zero."""
        return complete_starts(
            system, given, count=count, time=time, parameters=parameters, speed_inputs=None
        )

    def take(self, which: NDArray[np.int_]) -> Starts:
        """Some of them."""
        q, v, eta, mu, is_carried = self
        return Starts(q[which], v[which], eta[which], mu[which], is_carried[which])

    def one(self, system: System, k: int, time: float, params: Array) -> Start:
        """One of them, in the independent speeds of a system."""
        return Start(
            time=time,
            q=self.q[k],
            v=self.v[k],
            eta=system.kinematics.independent_rows(time, self.q[k], params) @ self.v[k],
            mu=self.mu[k],
            position_residual=0.0,
            speed_residual=0.0,
            completed={},
        )


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Given values of n starts: values (n,) by name, times (n,), w (n, nw), parameters."""

    system: System
    layout: Layout
    plan: CompletionPlan
    given: Given
    t: Array
    w: Array
    params: Array  # (np,) of all, or (n, np)

    def part(self, k: Places) -> Task:
        """Some of the starts."""
        if len(k) == len(self.t):
            return self
        given = {name: x[k] for name, x in self.given.items()}
        params = self.params if self.params.ndim == 1 else self.params[k]
        return Task(self.system, self.layout, self.plan, given, self.t[k], self.w[k], params)

    def rows(self, q: Array) -> Rows:
        """The rows at configurations (n, nq)."""
        return self.layout.rows(self.t, q, self.w, self.params)

    def params_of(self, k: int) -> Array:
        """(np,) parameters of one start."""
        return self.params if self.params.ndim == 1 else self.params[k]


class Hold(NamedTuple):
    """Constraint on a completion: coordinates and angles of orientations that it does not move."""

    #: fixed, held: coordinates, and orientations of which only some angles are held
    fixed: list[int]
    held: tuple[Held, ...]
    #: free, scale: speeds that are not at rest, and their scale
    free: Places
    scale: Array
    kept: Places  #: fixed coordinates whose rates are made of them
    quaternions: list[int]  #: quaternions that are not fixed, or not wholly

    @classmethod
    def of(cls, layout: Layout, fixed: list[int], held: tuple[Held, ...] = ()) -> Hold:
        """Hold of given coordinates; a block whose coordinates are all fixed has zero speeds."""
        loose = [block for block in layout.blocks if not block.coordinates.issubset(fixed)]
        free = sorted(k for block in loose for k in block.speeds)
        kept = sorted(k for block in loose for k in block.coordinates.intersection(fixed))
        turning = [
            k
            for k in layout.kinematics.probe.quaternions
            if not set(range(k, k + 4)).issubset(fixed)
        ]
        scale = layout.scale[free]
        places = set(layout.kinematics.probe.places)
        # what contacts own follows the bodies, however far
        scale = scale * np.array([FOLLOWING if k in places else 1.0 for k in free])
        return cls(fixed, held, np.array(free, int), scale, np.array(kept, int), turning)

    def matrix(self, task: Task, q: Array, rows: Rows, holonomic: Places) -> Array:
        """The matrix of (1) on the free speeds, over their scale."""
        parts = [rows.A.take(holonomic, axis=1)]
        if self.kept.size:
            parts.append(rows.N.take(self.kept, axis=1))
        parts += [h.rows(task.given, q, len(task.layout.scale)) for h in self.held]
        stacked = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return stacked.take(self.free, axis=2) / self.scale


@dataclass(frozen=True, slots=True, eq=False)
class CompletionPlan:
    """Plan of a completion: everything that follows from the given names alone."""

    coordinates: list[tuple[str, int]]  #: names, and their places
    angled: list[Orientation]  #: orientations of which angles are given
    hold: Hold  #: hold of all coordinates that are given
    #: independent, tree: independent speeds, and other tree speeds, and their places
    independent: dict[str, int]
    tree: dict[str, int]
    #: orientations of which rates are given; and the places of their angular speeds among the
    #: independent ones, if they are
    rated: list[tuple[Orientation, list[int]]]
    partly: tuple[Held, ...]  #: quaternions of which only some entries are given

    @classmethod
    def of(cls, layout: Layout, names: tuple[str, ...]) -> CompletionPlan:
        """The plan for some names, made once."""
        known: CompletionPlan | None = layout.plans.get(names)
        if known is not None:
            return known
        if len(layout.plans) >= MAX_PLANS:
            layout.plans.clear()
        coordinates = [(n, layout.coordinates[n]) for n in names if n in layout.coordinates]
        angled = [o for o in layout.orientations if any(n in names for n in o.angle_names)]
        for o in angled:
            _check_given_once(layout, names, o)
        turned = [k for o in angled for k in range(o.quaternion, o.quaternion + 4)]
        independent = {n: k for n, k in layout.independent_speeds.items() if n in names}
        speeds = layout.speeds
        rated = [(o, _places(o.rate_names, names)) for o in layout.orientations]
        layout.plans[names] = plan = cls(
            coordinates=coordinates,
            angled=angled,
            hold=Hold.of(layout, sorted([k for _, k in coordinates] + turned)),
            independent=independent,
            tree={n: speeds[n] for n in names if n in speeds and n not in independent},
            rated=[
                (o, _independent_places(layout, o, independent)) for o, places in rated if places
            ],
            partly=tuple(Held(o, some, is_rate=True) for o, some in rated if 0 < len(some) < 3),
        )
        return plan


def _check_given_once(layout: Layout, names: tuple[str, ...], o: Orientation) -> None:
    """An orientation starts from named angles or from a quaternion, not from both."""
    quaternion = layout.states[o.quaternion : o.quaternion + 4]
    both = [next(n for n in o.angle_names if n in names), *(n for n in quaternion if n in names)]
    if len(both) > 1:
        raise SimulationError(
            f"an orientation is given by both '{both[0]}' and '{both[1]}'",
            f"start of model '{layout.kinematics.model.name}'",
            "give the named angles, or the quaternion",
        )


def _independent_places(layout: Layout, o: Orientation, given: Mapping[str, int]) -> list[int]:
    """Places of an orientation's angular speeds among the independent ones, if they are."""
    names = list(layout.speeds)[o.speed : o.speed + 3]
    if any(n in given or n not in layout.independent_speeds for n in names):
        return []
    return [layout.independent_speeds[n] for n in names]


class Asked(NamedTuple):
    """Speeds that are given: one independent speed, one tree speed or rates of angles."""

    labels: list[str]
    row: Array  # (n, k, nv) on the tree speeds
    value: Array  # (n, k)
    independent: Sequence[int] = ()  # places among the independent speeds
    orientation: Orientation | None = None  # of rates of angles
    held: Held | None = None  # those of only some


class SpeedFactors(NamedTuple):
    """Factors of C v = d: R d solves it, and with C Z = 0, B Bᵀ = Z (ZᵀEᵀE Z)⁻¹ Zᵀ."""

    R: Array  # (nv, rows)
    B: Array  # (nv, k)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Completion:
    """n consistent starts, and how they were completed."""

    task: Task  #: task that they were completed from, with the speed inputs at the start
    first_guess: Array  #: (n, nq) coordinates with which the completion began
    is_guessed: bool  #: whether a guess picked them
    #: q, v, eta, mu: (n, …) what was found
    q: Array
    v: Array
    eta: Array
    mu: Array
    is_carried: NDArray[np.bool_]  #: (n,) whether v is s + S η, up to rounding
    rows: Rows  #: rows at the start
    #: hold, asked, factors: data of one start; of many, those of the last that took another way
    hold: Hold
    asked: list[Asked]
    factors: Callable[[], SpeedFactors]

    def start(self) -> Start:
        """The one start."""
        task, q, v = self.task, self.q[0], self.v[0]
        named = zip(task.layout.states, (*q.tolist(), *v.tolist()), strict=True)
        return Start(
            time=float(task.t[0]),
            q=q,
            v=v,
            eta=self.eta[0],
            mu=self.mu[0],
            position_residual=float(largest(self.rows.g)[0]),
            speed_residual=float(largest(apply(self.rows.A, self.v) + self.rows.a)[0]),
            completed={n: x for n, x in named if n not in task.given and abs(x) > 1e-15},
            notes=() if self.is_guessed else _other_assemblies(task, self.q, self.rows),
            is_carried=bool(self.is_carried[0]),
        )


def complete_start(
    system: System,
    given: Mapping[str, float],
    *,
    guess: Mapping[str, float] | None = None,
    time: float = 0.0,
    speed_inputs: Callable[[Array], Array] | None = None,
    parameters: Array | None = None,
    nearest: bool | Mapping[str, float] = False,
) -> Start:
    """Consistent coordinates and speeds that keep the given values, or are nearest to them.

    Parameters
    ----------
    system : compiled system.
    given : values by name: coordinates, tree speeds, named independent speeds, named angles and
        their rates (``disk.tilt``, ``disk.tilt_rate``).
    guess : coordinates and named angles about which the others are looked for, instead of the
        joints' rest positions: it picks one of several assemblies.
    time : s.
    speed_inputs : function from coordinates to (nw,) values of the speed inputs at that time; zero
        by default.
    parameters : (np,) parameter vector; nominal by default.
    nearest : whether the values are measured, and need not fit each other: those of least squares
        are found that satisfy the constraints. Or their standard deviations by name; that of one
        which is not named is 1, of angles over a length of the model.

    Raises
    ------
    SimulationError : for unknown names, if the given values contradict the constraints, or if the
        mechanism has more freedom at this configuration than its equations.
    """
    require_system("complete_start", system)
    if nearest or isinstance(nearest, Mapping):
        return _nearest_start(
            system,
            given,
            nearest if isinstance(nearest, Mapping) else {},
            guess=guess or {},
            time=float(time),
            speed_inputs=speed_inputs,
            params=system.parameters()
            if parameters is None
            else system.parameter_vector(parameters),
        )
    return complete_one(
        system,
        given,
        guess=guess,
        time=time,
        speed_inputs=speed_inputs,
        parameters=None if parameters is None else system.parameter_vector(parameters),
    ).start()


def complete_one(
    system: System,
    given: Mapping[str, float],
    *,
    guess: Mapping[str, float] | None = None,
    time: float,
    speed_inputs: Callable[[Array], Array] | None,
    parameters: Array | None,
) -> Completion:
    """The completion behind :func:`complete_start`."""
    layout, guess = layout_of(system), guess or {}
    _check_names(system, layout, given)
    _check_guess(system, layout, given, guess)
    params = system.parameters() if parameters is None else parameters
    one = speed_inputs
    return _complete(
        system,
        {name: np.array([value], dtype=float) for name, value in given.items()},
        _FIRST,
        float(time),
        params,
        None if one is None else lambda _, q: one(q[0])[None],
        guess=guess,
    )


def complete_starts(
    system: System,
    given: Mapping[str, Array],
    *,
    count: int,
    time: float,
    parameters: Array,
    speed_inputs: SpeedInputs | None,
    guess: Mapping[str, float] | None = None,
) -> Starts:
    """Consistent starts of many trajectories.

    Raises
    ------
    SimulationError : as :func:`complete_start`, with the number of the trajectory.
    """
    layout = layout_of(system)
    is_shared = len(parameters) == 1 and all(len(v) == 1 for v in given.values())
    num_starts = 1 if is_shared and speed_inputs is None else count
    _check_names(system, layout, {name: float(values[0]) for name, values in given.items()})
    guess = guess or {}
    _check_guess(system, layout, given, guess)
    block = max(1, min(BLOCK, BLOCK_NUMBERS // max(1, len(layout.scale)) ** 2))
    parts = []
    for k in np.array_split(np.arange(num_starts), -(-num_starts // block)):
        own = {
            name: np.broadcast_to(values, len(k)) if len(values) == 1 else values[k]
            for name, values in given.items()
        }
        params = parameters[0] if len(parameters) == 1 else parameters[k]
        is_one = num_starts == 1
        found = _complete(system, own, k, time, params, speed_inputs, guess=guess, is_one=is_one)
        parts.append(Starts(found.q, found.v, found.eta, found.mu, found.is_carried))
    fields: list[Any] = list(parts[0])
    if len(parts) > 1:
        fields = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    if num_starts < count:
        fields = [np.repeat(part, count, axis=0) for part in fields]
    return Starts(*fields)


def start_names(system: System) -> list[str]:
    """Names of all quantities that a start may give."""
    return list(layout_of(system).names)


_FIRST = np.zeros(1, dtype=int)


def _first_fault(
    faults: Mapping[int, SimulationError], trajectories: Places, is_one: bool
) -> SimulationError:
    """The fault of the first trajectory that has one, with its number among many."""
    first = min(faults)
    if is_one:
        return faults[first]
    fault = faults[first].faults[0]
    place = f"{fault.where}, trajectory {trajectories[first]}"
    return SimulationError(fault.what, place, fault.fix)


@np.errstate(all="ignore")  # what is not finite is refused
def _complete(
    system: System,
    given: Given,
    trajectories: Places,
    time: float,
    params: Array,
    speed_inputs: SpeedInputs | None,
    *,
    guess: Mapping[str, float],
    is_one: bool = True,
) -> Completion:
    """Starts of some trajectories. The first that fails is refused, with its number among many."""
    layout, n = layout_of(system), len(trajectories)
    t, w = np.full(n, time), np.zeros((n, len(system.model.speed_inputs)))
    plan = CompletionPlan.of(layout, tuple(given))
    task = Task(system, layout, plan, given, t, w, params)
    faults: dict[int, SimulationError] = {}
    first = _given_coordinates(task, guess)
    q, rows, hold = _close(task, first, faults)
    if guess and hold.free.size and layout.closing.size:
        q, rows = _next_to_guess(task, guess, first, (q, rows, hold))
    if len(faults) == n:
        raise _first_fault(faults, trajectories, is_one)
    if speed_inputs is not None:
        w = np.asarray(speed_inputs(trajectories, q), dtype=float)
        task = Task(system, layout, plan, given, t, w, params)
        rows = task.rows(q)
    v, asked, factors, is_carried = _fit_speeds(task, q, rows, faults)
    eta = apply(rows.E, v)
    mu = np.zeros((n, len(layout.auxiliary_states)))
    for k, name in enumerate(layout.auxiliary_states):
        mu[:, k] = given.get(name, 0.0)
    _check_branch(task, q, faults)
    if not is_carried.all():
        _check_carried(task, rows, (q, eta, mu), v, faults)
    if faults:
        raise _first_fault(faults, trajectories, is_one)
    return Completion(
        task=task,
        first_guess=first,
        is_guessed=bool(guess),
        q=q,
        v=v,
        eta=eta,
        mu=mu,
        is_carried=is_carried,
        rows=rows,
        hold=hold,
        asked=asked,
        factors=factors,
    )


def _check_names(system: System, layout: Layout, given: Mapping[str, float]) -> None:
    for name, value in given.items():
        if name not in layout.names:
            raise SimulationError(
                f"there is no coordinate, speed or angle '{name}'",
                f"start of model '{system.model.name}'",
                nearest(name, list(layout.names)),
            )
        is_number = isinstance(value, (float, int, np.number)) and not isinstance(value, bool)
        if not (is_number and math.isfinite(value)):
            shown = f"{value}" if isinstance(value, np.number) else f"{value!r:.60}"
            raise SimulationError(
                f"'{name}' starts at {shown}, which is not a finite number",
                f"start of model '{system.model.name}'",
                "give a finite number in SI units",
            )


def _check_guess(
    system: System, layout: Layout, given: Mapping[str, object], guess: Mapping[str, float]
) -> None:
    """A guess is of coordinates and named angles that are not given."""
    angles = [n for o in layout.orientations for n in o.angle_names]
    _check_names(system, layout, guess)
    for name in guess:
        if name in given or name not in (*layout.coordinates, *angles):
            raise SimulationError(
                f"'{name}' is both given and guessed"
                if name in given
                else f"'{name}' is guessed, but it is no coordinate and no named angle",
                f"start of model '{system.model.name}'",
                "leave it out of the guess, which picks one of several configurations",
            )


# Of measured numbers


def _nearest_start(
    system: System,
    given: Mapping[str, float],
    deviations: Mapping[str, float],
    *,
    guess: Mapping[str, float],
    time: float,
    speed_inputs: Callable[[Array], Array] | None,
    params: Array,
) -> Start:
    """The consistent start that is nearest to measured values y of h(q) and T v.

    Coordinates by Gauss and Newton's method, q ← q + N δ, then speeds at once:

        (3)  |W (y − h − M δ)| least with G δ = −g        |W (τ − T v)| least with A v = −a

    W is 1/σ. Of all that do equally well, δ and v are the least.
    """
    layout = layout_of(system)
    _check_names(system, layout, given)
    _check_guess(system, layout, given, guess)
    where = f"nearest start of model '{system.model.name}'"
    for name, sigma in deviations.items():
        if name not in given:
            raise SimulationError(
                f"'{name}' has a standard deviation and no value", where, nearest(name, list(given))
            )
        if not (math.isfinite(sigma) and sigma > 0):
            raise SimulationError(
                f"the standard deviation of '{name}' is {sigma!r}", where, "give a positive number"
            )
    own = {name: np.array([value], dtype=float) for name, value in given.items()}
    plan = CompletionPlan.of(layout, tuple(given))
    w = np.zeros((1, len(system.model.speed_inputs)))
    task = Task(system, layout, plan, own, np.array([time]), w, params)
    q = _nearest_coordinates(task, _given_coordinates(task, guess), deviations, where)
    if speed_inputs is not None:
        task = dataclasses.replace(task, w=np.asarray(speed_inputs(q[0]), dtype=float)[None])
    v = _nearest_speeds(task, q, deviations)
    found = dict(zip(layout.states, (*q[0].tolist(), *v.tolist()), strict=True))
    for name in layout.auxiliary_states:
        if name in given:
            found[name] = given[name]
    done = complete_one(
        system, found, time=time, speed_inputs=speed_inputs, parameters=params
    ).start()
    named = zip(layout.states, (*done.q.tolist(), *done.v.tolist()), strict=True)
    completed = {n: x for n, x in named if n not in given and abs(x) > 1e-15}
    return dataclasses.replace(done, completed=completed)


def _least(M: Array, y: Array, G: Array, g: Array) -> Array:
    """x with |M x − y| least among those with G x = g, and then |x| least."""
    weight = row_weights(G)
    inverse = singular_inverse((G * weight[:, None])[None])[0]
    x: Array = inverse @ (weight * g)
    _, sigma, Vt = singular_values((G * weight[:, None])[None])
    rank = int(np.sum(sigma[0] > RANK * np.max(sigma[0], initial=0.0)))
    Z = Vt[0][rank:].T
    if len(M) and Z.shape[1]:
        x = x + Z @ (singular_inverse((M @ Z)[None])[0] @ (y - M @ x))
    return x


def _nearest_coordinates(
    task: Task, q: Array, deviations: Mapping[str, float], where: str
) -> Array:
    """(1, nq) configuration of (3)."""
    layout, probe = task.layout, task.layout.kinematics.probe
    kin, scale = layout.kinematics, task.layout.scale
    is_angle = [c.unit == "rad" for c in kin.coordinates]
    places = [k for _, k in task.plan.coordinates]
    sigmas = [
        deviations.get(name, 1 / probe.length if is_angle[k] else 1.0)
        for name, k in task.plan.coordinates
    ]
    angled = []
    for o in task.plan.angled:
        held = Held(o, _places(o.angle_names, task.given))
        angled.append(held)
        sigmas += [deviations.get(name, 1 / probe.length) for name in held.names]
    y = np.array([task.given[name][0] for name, _ in task.plan.coordinates])
    W = 1 / np.array(sigmas)

    def stepped(q: Array) -> Array:
        """The least step of (3), over the scale."""
        rows = task.rows(q)
        parts, errors = [rows.N[0][places]], [y - q[0, places]]
        for held in angled:
            now = angles_now(held.orientation, task.given, q)
            turns = held.values(task.given, 1)[0] - np.array([now[k] for k in held.places])
            errors.append(np.remainder(turns + np.pi, 2 * np.pi) - np.pi)
            parts.append(held.rows(task.given, q, len(scale))[0])
        M = W[:, None] * np.concatenate(parts) / scale
        G, g = rows.A[0][layout.closing] / scale, rows.g[0][layout.closing_g]
        return _least(M, W * np.concatenate(errors), G, -g)

    def moved(q: Array, step: Array) -> Array:
        """The configuration after a step, over the scale."""
        return _normalized(q + apply(task.rows(q).N, (step / scale)[None]), probe.quaternions)

    rng = np.random.default_rng(5)
    for aside in (0.0, 0.01, 0.1, 0.3, 1.0):
        now = moved(q, aside * probe.length * rng.normal(size=len(scale)))
        first = size = np.inf
        for _ in range(MEASURED_STEPS):
            step = stepped(now)
            before, size = size, float(np.linalg.norm(step))
            if not np.isfinite(size):
                break
            first = size if np.isinf(first) else first
            now = moved(now, step * min(1.0, probe.length / max(size, 1e-300)))
            # steps shrink to rounding, and then no more
            if size <= 1e-15 or (size <= 1e-9 * max(first, probe.length) and size >= 0.5 * before):
                return now
    raise SimulationError(
        f"no configuration nearest to what is given was found in {MEASURED_STEPS} steps",
        where,
        "give a guess of coordinates that are not measured, or fewer that contradict the rows",
    )


def _nearest_speeds(task: Task, q: Array, deviations: Mapping[str, float]) -> Array:
    """(nv,) speeds of (3)."""
    layout, rows, length = task.layout, task.rows(q), task.layout.kinematics.probe.length
    kin, scale = layout.kinematics, task.layout.scale
    parts, values, names, angular = [], [], [], []
    for places, matrix, quantities in (
        (task.plan.independent, rows.E[0], kin.independent_speeds),
        (task.plan.tree, layout.unit, kin.speeds),
    ):
        for name, k in places.items():
            parts.append(matrix[[k]])
            values.append(task.given[name][0])
            names.append(name)
            angular.append(quantities[k].unit.startswith("rad"))
    for o, _ in task.plan.rated:
        held = Held(o, _places(o.rate_names, task.given), is_rate=True)
        parts.append(held.rows(task.given, q, len(scale))[0])
        values += held.values(task.given, 1)[0].tolist()
        names += held.names
        angular += [True] * len(held.names)
    sigmas = [
        deviations.get(name, 1 / length if turns else 1.0)
        for name, turns in zip(names, angular, strict=True)
    ]
    W = 1 / np.array(sigmas)
    M = np.concatenate(parts) if parts else np.zeros((0, len(scale)))
    found = _least(W[:, None] * M / scale, W * np.array(values), rows.A[0] / scale, -rows.a[0])
    return found / scale


# Coordinates


def _given_coordinates(task: Task, guess: Mapping[str, float]) -> Array:
    """(n, nq): rest positions overwritten by guesses, then by given values."""
    layout, given, n = task.layout, task.given, len(task.t)
    q = np.empty((n, len(layout.rest)))
    q[:] = layout.rest
    angled = task.plan.angled
    if guess:
        for name, k in layout.coordinates.items():
            q[:, k] = guess.get(name, q[0, k])
        given = {**{name: np.full(n, float(x)) for name, x in guess.items()}, **given}
        angled = [o for o in layout.orientations if any(name in given for name in o.angle_names)]
    for name, k in task.plan.coordinates:
        q[:, k] = given[name]
    for o in angled:
        at = slice(o.quaternion, o.quaternion + 4)
        q[:, at] = quaternions(given_values(o.angle_names, given, n), o.angles.sequence, n)
    probe = layout.kinematics.probe
    q = _normalized(q, probe.quaternions)
    if not probe.num_places:
        return q
    # what contacts own, where it is not given, about where the bodies touch
    found = probe.with_places(q, task.params)
    for name, k in layout.coordinates.items():
        if name in given:
            found[:, k] = q[:, k]
    return found


def _normalized(q: Array, quaternions: Sequence[int]) -> Array:
    """The coordinates, with unit quaternions at some places."""
    for k in quaternions:
        part = q[:, k : k + 4]
        part /= np.sqrt(np.add.reduce(part * part, axis=1, keepdims=True))
    return q


def _close(
    task: Task, guess: Array, faults: dict[int, SimulationError]
) -> tuple[Array, Rows, Hold]:
    """Move the free coordinates until g(q, t) = 0, as little as they must; and the rows there.

    Where only some angles of an orientation are given, the others stay too if they can. Where links
    lie in line, no small motion changes g in the direction it lacks; the free coordinates are then
    moved aside first, by more and more, always in the same way.
    """
    layout, probe = task.layout, task.layout.kinematics.probe
    hold = task.plan.hold
    q, rows = _newton(task, guess, hold)
    if not rows.g.size:
        return q, rows, hold

    def closes(q: Array, rows: Rows) -> NDArray[np.bool_]:
        """Whether rows are met, up to the rounding of large coordinates."""
        return largest(rows.g) <= TOLERANCE * max(1.0, probe.length) + ROUNDING * largest(q)

    is_closed = closes(q, rows)
    if is_closed.all():
        return q, rows, hold
    first, first_g = q.copy(), rows.g.copy()

    def attempt(which: Places, begin: Array, hold: Hold) -> Hold:
        """Take over what closes from another beginning, or with less held."""
        found, there = _newton(task.part(which), begin, hold)
        is_good = closes(found, there)
        good = which[is_good]
        q[good], is_closed[good] = found[is_good], True
        rows.values[good] = there.values[is_good]
        return hold

    tries = releases(layout, task.given)
    partly = {h.orientation.quaternion for held in tries for h in held}
    turned = [k + i for k in partly for i in range(4)]
    fixed = [k for k in hold.fixed if k not in turned]
    for held in tries:
        which = np.flatnonzero(~is_closed)
        if which.size:
            hold = attempt(which, guess[which], Hold.of(layout, fixed, held))
    rng = np.random.default_rng(5)
    for aside in (0.01, 0.1, 0.3, 1.0):
        step = aside * probe.length * rng.normal(size=len(layout.scale)) / layout.scale
        which = np.flatnonzero(~is_closed & np.isfinite(first_g).all(axis=1))
        if which.size:
            begin = guess[which]
            N = task.part(which).rows(begin).N
            moved = begin + apply(N, np.tile(step, (len(which), 1)))
            moved = _normalized(moved, probe.quaternions)
            moved[:, fixed] = begin[:, fixed]
            hold = attempt(which, moved, Hold.of(layout, fixed, tries[-1] if tries else ()))
    for k in np.flatnonzero(~is_closed).tolist():
        q[k] = first[k]
        faults[k] = _contradiction(task, first[k], first_g[k])
    return q, rows, hold


def _newton(task: Task, q: Array, hold: Hold, steps: int = 200) -> tuple[Array, Rows]:
    """Coordinates after Newton's method with least steps (1), and the rows there."""
    length = task.layout.kinematics.probe.length
    tolerance = TOLERANCE * max(1.0, length)
    rows = task.rows(q)
    if not rows.g.shape[1]:
        return q, rows
    error, closing = largest(rows.g), task.layout.closing_g
    if not ((error > 1e-15).any() and hold.free.size and closing.size):
        return q, rows
    rounding = 1e-15 * np.maximum(1.0, largest(q))
    q, is_open = q.copy(), error > rounding
    for _ in range(steps):
        which = is_open.nonzero()[0]
        if not which.size:
            break
        is_all = len(which) == len(q)
        now, before = (q, error) if is_all else (q[which], error[which])
        here, own = rows if is_all else rows.part(which), task.part(which)
        matrix = hold.matrix(own, now, here, task.layout.closing)
        # what is held is restored below: only the rows ask for a step
        inverse = pseudo_inverse(matrix)[:, :, : closing.size]
        step = apply(inverse, -here.g.take(closing, axis=1))
        # no farther than the mechanism is long, or than it is away from where it must be
        size = np.sqrt(np.add.reduce(step * step, axis=1))
        longest = np.maximum(length, before)
        if (size > longest).any():
            step *= np.minimum(1.0, longest / np.maximum(size, 1e-300))[:, None]
        move = apply(here.N.take(hold.free, axis=2), step / hold.scale)
        trial = _normalized(now + move, hold.quaternions)
        if hold.kept.size:
            trial[:, hold.kept] = now[:, hold.kept]
        for h in hold.held:
            h.restore(own.given, trial)
        there = own.rows(trial)
        left = largest(there.g)
        is_far = left > (rounding if is_all else rounding[which])
        if is_all and not is_far.any():
            return trial, there
        # until rounding is reached, or rows are not defined
        is_taken = ((left < before) | (before > tolerance)) & np.isfinite(size)
        if is_all and is_taken.all():
            q, rows, error = trial, there, left
        else:
            moved = which[is_taken]
            q[moved], error[moved] = trial[is_taken], left[is_taken]
            rows.values[moved] = there.values[is_taken]
        # a step of rounding size that leaves rows violated: no step can satisfy them
        is_stuck = (size <= 1e-12 * length) & (before > 1e3 * tolerance)
        is_open[which] = is_far & is_taken & ~is_stuck
    return q, rows


def _other_assemblies(task: Task, q: Array, rows: Rows) -> tuple[str, ...]:
    """A note, if what is given leaves several isolated configurations of which one was taken.

    Others are looked for from some configurations all over the ranges, always the same ones. Wheels
    that stand on the ground stand on it from the other side too: only loops and rows by hand count.
    """
    layout, plan, kin = task.layout, task.plan, task.layout.kinematics
    hold = plan.hold
    if not any(kin.rows[k].origin in ("loop", "row") for k in layout.closing) or not hold.free.size:
        return ()
    matrix = hold.matrix(task, q, rows, layout.closing)[0]
    if np.linalg.matrix_rank(matrix, RANK) < hold.free.size:
        return ()
    fixed = q[0, hold.fixed].tobytes() + task.t.tobytes() + task.params_of(0).tobytes()
    key = "other assemblies", tuple(hold.fixed), fixed
    others = task.system.cached(key, lambda: _assemblies(task, q))
    distinct: list[Array] = []
    for other in others:
        if all(_is_apart(task, other, known) for known in (q[0], *distinct)):
            distinct.append(other)
    if not distinct:
        return ()

    def shown(found: Array) -> str:
        moved = [k for k in range(len(found)) if abs(distinct[0][k] - q[0, k]) > 1e-9]
        return ", ".join(f"{kin.coordinates[k].name} = {found[k]:.6g}" for k in moved)

    return (
        f"{counted(1 + len(distinct), 'assembly', 'assemblies')} fit what the start gives; the one "
        f"taken has {shown(q[0])}, another {shown(distinct[0])}: choose one by guess={{…}}",
    )


def _elsewhere(layout: Layout) -> Array:
    """(tries, nq) configurations all over the ranges, always the same ones; rows may be broken."""
    probe, rng = layout.kinematics.probe, np.random.default_rng(11)
    low, high = probe.coordinate_range[:, 0], probe.coordinate_range[:, 1]
    q = low + (high - low) * rng.random((ASSEMBLY_TRIES, len(low)))
    for k in probe.quaternions:
        q[:, k : k + 4] = rng.normal(size=(ASSEMBLY_TRIES, 4))
    return _normalized(q, probe.quaternions)


def _next_to_guess(
    task: Task, guess: Mapping[str, float], first: Array, found: tuple[Array, Rows, Hold]
) -> tuple[Array, Rows]:
    """The configurations that are next to the guess, in what is guessed, of all that fit."""
    layout, probe = task.layout, task.layout.kinematics.probe
    q, _, hold = found
    orientations = [o.quaternion for o in layout.orientations if guess.keys() & {*o.angle_names}]
    turned = [k + i for k in orientations for i in range(4)]
    places = [k for name, k in layout.coordinates.items() if name in guess] + turned
    is_angle = np.array([c.unit == "rad" for c in layout.kinematics.coordinates])

    def off(at: Array) -> Array:
        """(n,) how far configurations are from the guess, in lengths of the model and radians."""
        away = at - first
        away[:, is_angle] = np.abs(np.remainder(away[:, is_angle] + np.pi, 2 * np.pi) - np.pi)
        away[:, ~is_angle] /= probe.length
        for k in probe.quaternions:
            one, other = first[:, k : k + 4], at[:, k : k + 4]
            sense = np.where(np.add.reduce(one * other, axis=1, keepdims=True) < 0.0, -1.0, 1.0)
            away[:, k : k + 4] = one - sense * other
        return np.asarray(np.linalg.norm(away[:, places], axis=1))

    q, best = q.copy(), off(q)
    moving = [k for k in range(q.shape[1]) if k not in hold.fixed and k not in places]
    for other in _elsewhere(layout):
        begin = first.copy()
        begin[:, moving] = other[moving]
        there, at = _newton(task, _normalized(begin, hold.quaternions), hold, ASSEMBLY_STEPS)
        away = off(there)
        is_closed = largest(at.g) <= TOLERANCE * max(1.0, probe.length)
        is_nearer = is_closed & (away < best - APART)
        q[is_nearer], best[is_nearer] = there[is_nearer], away[is_nearer]
    # whole turns, where the rows allow them
    turns = np.zeros_like(q)
    angles = [k for k in places if is_angle[k]]
    turns[:, angles] = 2 * np.pi * np.round((q[:, angles] - first[:, angles]) / (2 * np.pi))
    if turns.any():
        is_same = largest(task.rows(q - turns).g) <= TOLERANCE * max(1.0, probe.length)
        q[is_same] -= turns[is_same]
    return _newton(task, q, hold)


def _assemblies(task: Task, q: Array) -> list[Array]:
    """Configurations that satisfy the given values, from starting points all over the ranges."""
    probe, hold, begin = task.layout.kinematics.probe, task.plan.hold, _elsewhere(task.layout)
    n = len(begin)
    begin[:, hold.fixed] = q[0, hold.fixed]
    given = {name: np.tile(x, n) for name, x in task.given.items()}
    t, w = np.tile(task.t, n), np.tile(task.w, (n, 1))
    many = Task(task.system, task.layout, task.plan, given, t, w, task.params_of(0))
    found, rows = _newton(many, begin, hold, ASSEMBLY_STEPS)
    is_closed = largest(rows.g) <= TOLERANCE * max(1.0, probe.length)
    return list(found[is_closed])


def _is_apart(task: Task, one: Array, other: Array) -> bool:
    """Whether configurations differ by more than whole turns and signs of quaternions."""
    kin = task.layout.kinematics
    off = one - other
    for k, coordinate in enumerate(kin.coordinates):
        if coordinate.unit == "rad":
            off[k] = math.remainder(off[k], 2 * math.pi)
    for k in kin.probe.quaternions:
        at = slice(k, k + 4)
        off[at] = min(off[at], one[at] + other[at], key=lambda x: float(np.abs(x).max()))
    return bool(np.abs(off).max() > APART * max(1.0, kin.length))


def _contradiction(task: Task, q: Array, g: Array) -> SimulationError:
    system, kin = task.system, task.system.kinematics
    rows = [kin.rows[k].name for k in kin.probe.holonomic]
    worst = int(np.nanargmax(np.abs(np.nan_to_num(g, nan=np.inf))))
    fixed = task.plan.hold.fixed
    names = ", ".join(f"{kin.coordinates[k].name} = {q[k]:.6g}" for k in fixed) or "nothing"
    if not np.isfinite(g[worst]):
        return SimulationError(
            f"row '{rows[worst]}' is not defined at this start, as for a wheel that lies flat",
            f"start of model '{system.model.name}' (given: {names})",
            f"give another configuration; what can be set: {', '.join(task.layout.names)}",
        )
    return SimulationError(
        f"the start breaks row '{rows[worst]}' by {g[worst]:.3g}, and the coordinates that are not "
        "given cannot correct it",
        f"start of model '{system.model.name}' (given: {names})",
        "leave out a coordinate that the constraints determine, or give consistent values",
    )


# Speeds


class _SpeedCompletion:
    """Speeds of n starts: A v + a = 0 and what is asked for, T v = τ."""

    def __init__(self, task: Task, q: Array, rows: Rows, rated: tuple[Held, ...]) -> None:
        self.task, self.rows = task, rows
        self.asked = _asked(task, q, rows, rated)
        self.others = [asked for asked in self.asked if not asked.independent]
        self.given = [k for asked in self.asked for k in asked.independent]
        self.scale = task.layout.scale

    def by_basis(self) -> tuple[Array, NDArray[np.bool_]]:
        """Speeds (n, nv) by (2), and where they fit."""
        rows, X = self.rows, self.rows.basis
        v = X[:, :, 0].copy()
        if self.given:
            given = [asked.value for asked in self.asked if asked.independent]
            eta = given[0] if len(given) == 1 else np.concatenate(given, axis=1)
            v = v + apply(X.take([1 + k for k in self.given], axis=2), eta)
        is_fit = largest(X) <= LARGEST_BASIS
        if self.others:
            T, tau, back = self._others(X)
            v = v + apply(back, tau - apply(T, v))
            is_fit &= is_within(apply(T, v) - tau, BASIS_ERROR, v) & self.is_in_proportion(v)
        if rows.a.size:
            is_fit &= is_within((apply(rows.A, v) + rows.a) * rows.weight, BASIS_ERROR, v)
        return v, is_fit

    def is_in_proportion(self, v: Array) -> NDArray[np.bool_]:
        """(n,) whether speeds are not so much larger than what is given that rounding made them."""
        sizes = [largest(self.rows.a), *(largest(asked.value) for asked in self.asked)]
        found: NDArray[np.bool_] = largest(v) <= LARGEST_BASIS * np.maximum.reduce(sizes)
        return found

    def _others(self, X: Array) -> tuple[Array, Array, Array]:
        """T, τ, and what takes T v to τ within the speeds that are free."""
        T, tau, free = self.others[0].row, self.others[0].value, self._free(X)
        if len(self.others) > 1:
            T = np.concatenate([asked.row for asked in self.others], axis=1)
            tau = np.concatenate([asked.value for asked in self.others], axis=1)
        return T, tau, free @ pseudo_inverse(T @ free)

    def _free(self, X: Array) -> Array:
        """Columns of S of the independent speeds that are not given."""
        return X.take([k for k in range(1, X.shape[2]) if k - 1 not in self.given], axis=2)

    def basis_factors(self) -> SpeedFactors:
        """Factors of :meth:`by_basis` of one start."""
        rows, size, kept = self.rows, len(self.scale), self.task.layout.kept
        weight = rows.weight[0][kept]
        inverse = inverses(np.concatenate([rows.A[0][kept] * weight[:, None], rows.E[0]])[None])[0]
        S = inverse[:, len(kept) :]
        R = np.zeros((size, rows.A.shape[1] + sum(a.value.shape[1] for a in self.asked)))
        R[:, kept] = inverse[:, : len(kept)] * weight
        place, others = rows.A.shape[1], []
        for asked in self.asked:
            at = list(range(place, place + asked.value.shape[1]))
            place += len(at)
            if asked.independent:
                R[:, at] = S[:, list(asked.independent)]
            else:
                others += at
        X = np.concatenate([np.zeros((1, size, 1)), S[None]], axis=2)
        B = self._free(X)[0]
        if self.others:
            T, _, back = (part[0] for part in self._others(X))
            R = R - back @ (T @ R)
            R[:, others] = back
            B = B - back @ (T @ B)
        return SpeedFactors(R, B)

    def by_singular_values(self) -> tuple[Array, NDArray[np.bool_]]:
        """Speeds (n, nv) where the basis fails, and where they fit."""
        C, d, weight = self._stacked()
        R, B = self._singular_factors(C, weight)
        v = apply(R, d)
        v = v + apply(R, d - apply(C, v))
        v = v - apply(B, apply(self.rows.E, v))
        is_fit = is_within((apply(C, v) - d) * weight, 1e-9, d * weight)
        return v, is_fit & self.is_in_proportion(v)

    def _stacked(self) -> tuple[Array, Array, Array]:
        """C v = d, and what gives its rows unit length."""
        asked = self.asked
        C = np.concatenate([self.rows.A, *(a.row for a in asked)], axis=1)
        d = np.concatenate([-self.rows.a, *(a.value for a in asked)], axis=1)
        return C, d, row_weights(C / self.scale)

    def _singular_factors(self, C: Array, weight: Array) -> tuple[Array, Array]:
        U, sigma, Vt = singular_values(C / self.scale * weight[:, :, None])
        size = sigma.shape[1]
        most = np.maximum(1.0, np.max(sigma, axis=1, keepdims=True, initial=0.0))
        is_in = np.zeros(Vt.shape[:2], dtype=bool)
        is_in[:, :size] = sigma > RANK * most
        back = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=is_in[:, :size])
        V = Vt.transpose(0, 2, 1) / self.scale[:, None]
        R = (V[:, :, :size] * back[:, None, :]) @ U[:, :, :size].transpose(0, 2, 1)
        null = V * ~is_in[:, None, :]
        # rounding of E on what is free must not be inverted
        size = float(largest((self.rows.E / self.scale)[None])[0])
        return R * weight[:, None, :], null @ singular_inverse(self.rows.E @ null, least=size)

    def singular_factors(self) -> SpeedFactors:
        """Factors of :meth:`by_singular_values` of one start."""
        C, _, weight = self._stacked()
        R, B = self._singular_factors(C, weight)
        return SpeedFactors(R[0], B[0])

    def contradiction(self, v: Array, k: int) -> SimulationError:
        """Error for speeds (nv,) of start k that violate the constraints."""
        system, (C, d, weight) = self.task.system, self._stacked()
        residual = C[k] @ v - d[k]
        worst = int(np.argmax(np.abs(residual) * weight[k]))
        if not self.is_in_proportion(v[None])[k]:
            fastest = int(np.argmax(np.abs(v)))
            return SimulationError(
                f"'{system.speeds[fastest].name}' would be {v[fastest]:.3g} with the given speeds, "
                "which the constraints all but forbid at this configuration",
                f"start of model '{system.model.name}'",
                "leave out a given speed, or start in another configuration",
            )
        labels = [r.name for r in system.kinematics.rows]
        labels += [label for asked in self.asked for label in asked.labels]
        return SimulationError(
            f"the given speeds contradict each other or the constraints: '{labels[worst]}' is "
            f"missed by {residual[worst]:.3g}",
            f"start of model '{system.model.name}'",
            "leave out a speed that the constraints determine; the rest is computed for you",
        )


def _asked(task: Task, q: Array, rows: Rows, rated: tuple[Held, ...]) -> list[Asked]:
    """Speeds that are given; of orientations `rated` only the given rates are held."""
    layout, plan, given, n = task.layout, task.plan, task.given, len(q)
    asked = [
        Asked([name], rows.E[:, k : k + 1], given[name][:, None], (k,))
        for name, k in plan.independent.items()
    ]
    for name, k in plan.tree.items():
        asked.append(Asked([name], _unit_rows(layout, n, k, 1), given[name][:, None]))
    for held in rated:
        values, own = held.values(given, n), held.rows(given, q, len(layout.unit))
        asked.append(Asked(held.names, own, values, orientation=held.orientation, held=held))
    partly = [held.orientation for held in rated]
    for o, places in plan.rated:
        if o not in partly:
            rates = given_values(o.rate_names, given, n)
            omega = turning(o, start_angles(o, given, q), rates, n)
            labels = [f"{o.joint}.{s}" for s in ("wx", "wy", "wz")]
            own = _unit_rows(layout, n, o.speed, 3)
            asked.append(Asked(labels, own, omega, places, orientation=o))
    return asked


def _unit_rows(layout: Layout, n: int, first: int, count: int) -> Array:
    """(n, count, nv) rows that are some tree speeds themselves."""
    rows = layout.unit[None, first : first + count]
    return rows if n == 1 else np.broadcast_to(rows, (n, *rows.shape[1:]))


def _fit_speeds(
    task: Task, q: Array, rows: Rows, faults: dict[int, SimulationError]
) -> tuple[Array, list[Asked], Callable[[], SpeedFactors], NDArray[np.bool_]]:
    """Tree speeds with A v + a = 0 and the given values; free independent speeds least.

    And (n,) which of them are s + S η of the kinematics, as those of a run are.

    Where the rates of only some angles are given, those of the others are zero if they can be.
    """
    v, is_carried = np.zeros((len(q), len(task.layout.scale))), np.zeros(len(q), bool)
    which = np.arange(len(q))
    if faults:
        which = np.delete(which, list(faults))
    partly = task.plan.partly
    for rated in ((), partly) if partly else ((),):
        for way, factors in (
            (_SpeedCompletion.by_basis, _SpeedCompletion.basis_factors),
            (_SpeedCompletion.by_singular_values, _SpeedCompletion.singular_factors),
        ):
            is_all = len(which) == len(q)
            there = rows if is_all else rows.part(which)
            fit = _SpeedCompletion(task.part(which), q if is_all else q[which], there, rated)
            found, is_fit = way(fit)
            is_carried[which] = is_fit & (way is _SpeedCompletion.by_basis)
            if is_all and is_fit.all():
                return found, fit.asked, partial(factors, fit), is_carried
            v[which] = found
            if is_fit.all():
                return v, fit.asked, partial(factors, fit), is_carried
            which = which[~is_fit]
    for k, place in zip(which.tolist(), np.flatnonzero(~is_fit).tolist(), strict=True):
        faults[k] = fit.contradiction(v[k], place)
    return v, fit.asked, partial(factors, fit), is_carried


class OtherBranchError(SimulationError):
    """A start on another branch of the configurations than that of the equations.

    `place` is its time, s, and its coordinates.
    """

    place: tuple[float, Array]


def _check_branch(task: Task, q: Array, faults: dict[int, SimulationError]) -> None:
    """Refuse starts on another branch of the configurations than the one the equations are for.

    Rows are independent there that the chosen ones imply elsewhere, so that the mechanism cannot
    move as the equations say.
    """
    system, kin = task.system, task.system.kinematics
    if kin.probe.rank is None:
        return
    for k in range(len(q)):
        probe = dataclasses.replace(kin.probe, params=task.params_of(k))
        if k not in faults and not probe.is_on(q[k], float(task.t[k])):
            fault = faults[k] = OtherBranchError(
                "the mechanism has other degrees of freedom at this configuration than "
                f"elsewhere, where it has {kin.num_independent_speeds}: its configurations "
                "form several branches",
                f"start of model '{system.model.name}'",
                "start on the other branch, or leave out the constraints that lock it there; "
                "simulate and evaluate take equations of this branch if the model names no "
                "independent speeds",
            )
            fault.place = float(task.t[k]), q[k]


def _check_carried(
    task: Task,
    rows: Rows,
    state: tuple[Array, Array, Array],
    v: Array,
    faults: dict[int, SimulationError],
) -> None:
    """Refuse starts at which the mechanism has more degrees of freedom than its equations.

    Rows were chosen where the mechanism usually is. At a singular configuration the same rows may
    repeat each other: S η + s is then not the completed v. (Where only the independent speeds fail,
    a run changes them.)
    """
    system, n = task.system, len(v)
    if not v.any():
        return
    x = np.concatenate([*state, np.zeros((n, int(system.does_work)))], axis=1)
    u = np.zeros((n, task.layout.num_inputs))
    if task.w.size:
        num_u, num_w = len(system.model.inputs), task.w.shape[1]
        u[:, num_u : num_u + num_w] = task.w
    rate = apply(rows.N, v)
    off = system.rates.map(task.t, x, u, task.params)[:, : rate.shape[1]] - rate
    is_carried = is_within(off, CARRIED, rate)
    if is_carried.all():
        return
    for k in np.flatnonzero(~is_carried & v.any(axis=1)).tolist():
        fault = None if k in faults else _repeated_rows(task, rows.A[k])
        if fault is not None:
            faults[k] = fault


def _repeated_rows(task: Task, A: Array) -> SimulationError | None:
    """Fault of rows of which all together have less rank at a configuration than elsewhere."""
    kin = task.system.kinematics
    rows = [k for k in range(len(A)) if k not in kin.self_satisfied]
    A = A[rows] / task.layout.scale
    A *= row_weights(A)[:, None]
    U, singular, _ = np.linalg.svd(A)
    rank = len(kin.row_basis)
    if not rank or singular[rank - 1] > 1e-9:
        return None
    repeated = [
        f"'{kin.rows[k].name}'" for k, x in zip(rows, U[:, rank - 1], strict=True) if abs(x) > 1e-6
    ]
    degrees = counted(kin.num_independent_speeds, "degree of freedom", "degrees of freedom")
    return SimulationError(
        f"the rows {', '.join(repeated)} repeat each other at this configuration, unlike "
        "elsewhere: the mechanism can move here in a way that its equations do not describe, with "
        f"{degrees}",
        f"start of model '{task.system.model.name}'",
        "leave out one of these constraints, or start at rest or in another configuration",
    )
