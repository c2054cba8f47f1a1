"""`steady_batch`: steady motions of many variants of a mechanism.

The search of `steady.py`, the same steps with the same bounds, on stacked matrices evaluated in
lanes; a variant that has arrived waits for nobody. Variants are grouped by the independent speeds
that determine the motion where the search begins (`choose_bases`). Those of a group are written in
the local coordinates of its first one, and the coordinates that matter are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.analysis.instant import check_time
from noslip.analysis.local_coordinates import moving_axes
from noslip.analysis.stacked import (
    LocalExpressions,
    StackedFunction,
    least_stacked,
    local_expressions,
    solve_stacked,
)
from noslip.analysis.steady_motion import (
    ASIDE,
    MOST_STEPS,
    PLACED,
    SteadyMotion,
    allowed_residuals,
    check_given,
    find_wanted,
    first_guess,
    guess_configuration,
    input_places,
    is_place,
    missed_conditions,
    place_values,
    problem_at,
    reference_of,
    scale_of,
    search_charts,
)
from noslip.base import Array, SimulationError
from noslip.engines import AbstractDevice, System
from noslip.simulation import (
    Start,
    Variants,
    choose_bases,
    complete_starts,
    dataset,
    in_blocks,
    read_variants,
    singular_state,
)

if TYPE_CHECKING:
    import xarray

#: Variants that are searched together: their matrices stay in the caches.
BLOCK = 1024


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteadyBatch:
    """Steady motions of many variants. Made by :func:`steady_batch`.

    Names are those of :class:`SteadyMotion`, with an array of one number for each variant where
    that has a number; ``batch[k]`` is the :class:`SteadyMotion` of a variant.

    Parameters
    ----------
    model : name of the mechanism.
    count : variants.
    is_found : (n,) whether a steady motion was found; the numbers of others are nan.
    messages : variant → why none was found.
    values, rates, inputs : name → (n,); nan where it is no value of a variant, as a speed that is
        independent for others alone.
    q, v, eta, states : (n, …) a consistent state on each motion, states of forces last.
    units : of all of these, by name.
    residual : (n,) largest condition that is left.
    family : (n,) parameters of the family around each motion; −1 where none was found.
    time : s, of the states.
    """

    model: str
    count: int
    is_found: NDArray[np.bool_] = field(repr=False)
    messages: dict[int, str] = field(repr=False)
    values: dict[str, Array] = field(repr=False)
    rates: dict[str, Array] = field(repr=False)
    inputs: dict[str, Array] = field(repr=False)
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    eta: Array = field(repr=False)
    states: Array = field(repr=False)
    units: dict[str, str] = field(repr=False)
    residual: Array = field(repr=False)
    family: NDArray[np.int64] = field(repr=False)
    time: float
    variants: Variants = field(repr=False)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k: int) -> SteadyMotion:
        """The steady motion of one variant."""
        if not -self.count <= k < self.count:
            raise IndexError(f"there are {self.count} variants, and number {k} is requested")
        k %= self.count
        if not self.is_found[k]:
            raise SimulationError(
                self.messages.get(k, "it was not searched for: the work was cancelled"),
                f"{self.variants.where}, variant {k}",
                "check is_found first",
            )

        def at(values: Mapping[str, Array]) -> dict[str, float]:
            # a number that was found is finite; the other names are not of this variant
            return {name: float(x[k]) for name, x in values.items() if np.isfinite(x[k])}

        start = Start(
            time=self.time,
            q=self.q[k],
            v=self.v[k],
            eta=self.eta[k],
            mu=self.states[k],
            position_residual=0.0,
            speed_residual=0.0,
            completed={},
        )
        values, rates, forces = at(self.values), at(self.rates), at(self.inputs)
        return SteadyMotion(
            model=self.model,
            start=start,
            values=values,
            rates=rates,
            inputs=forces,
            units={name: self.units[name] for name in (*values, *rates, *forces)},
            residual=float(self.residual[k]),
            family=int(self.family[k]),
        )

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``variant``; what differs between variants is a coordinate of it."""
        units = self.units
        columns: dict[str, tuple[NDArray[Any], str]] = {
            name: (x, units[name]) for name, x in (self.values | self.inputs).items()
        }
        columns |= {f"rate.{name}": (x, units[name]) for name, x in self.rates.items()}
        columns |= {"residual": (self.residual, ""), "is_found": (self.is_found, "")}
        columns["family"] = (self.family, "")
        return dataset(self.variants, columns, "steady motions")

    def __repr__(self) -> str:
        return (
            f"SteadyBatch of '{self.model}': {self.count} variants, "
            f"{int(np.count_nonzero(self.is_found))} steady motions found\n"
            "next: .values, .inputs, .is_found, [k], .to_xarray()"
        )


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
    guess : where to look first, for all variants: further values by name, or a start.
    find : force inputs to be found that keep the motion.
    inputs : values of the other inputs, zero by default.
    parameters : values that differ from the nominal ones.
    time : s, at which moving constraints are taken; a start as guess has its own.
    count : number of variants, where no list says it.
    threads : all cores if not given.
    device : ``"cpu"``, or ``"cuda"``: a GPU evaluates the conditions and their derivatives,
        one thread a variant; the steps of the search are computed on the processor all the same.
    progress : called with the fraction done.
    cancel : a ``threading.Event``; setting it ends the work, and what was not done is nan.

    Raises
    ------
    SimulationError : for unknown names, lists of different lengths, and guesses all of which are
        singular.
    """
    variants = read_variants(
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
    guessed = {} if guess is None or isinstance(guess, Start) else guess
    check_given(variants.system, {**guessed, **_firsts(variants.state)})
    searched = input_places(variants.system, find, inputs or {})
    time = guess.time if isinstance(guess, Start) else time
    size = BLOCK if variants.device is None else variants.block
    q = np.full((variants.count, variants.system.kinematics.num_coordinates), np.nan)

    def place(block: range) -> None:
        q[block.start : block.stop] = _configurations(variants, guess, time, block)

    in_blocks(variants.count, place, size=size, threads=threads, cancel=cancel)
    groups, messages = _groups(variants, q, time)
    works, done = [], 0
    for which in groups:
        work = _SteadySearch(variants.take(which), q[which], guess, searched, time)
        works.append((which, work))

        def report(fraction: float, before: int = done, part: int = len(which)) -> None:
            if progress is not None:
                progress((before + fraction * part) / variants.count)

        in_blocks(len(which), work.fill, size=size, threads=threads, progress=report, cancel=cancel)
        done += len(which)
    return _joined(variants, works, messages)


def _groups(
    variants: Variants, q: Array, time: float
) -> tuple[list[NDArray[np.int_]], dict[int, str]]:
    """Variants by the speeds that determine their motion at q, and why none do at others.

    Those that were not placed, since the work was cancelled, go with the first.
    """
    is_placed = np.all(np.isfinite(q), axis=1)
    placed = np.flatnonzero(is_placed)
    table, system = variants.parameters, variants.system
    params = table[0] if len(table) == 1 else table[placed]
    bases = choose_bases(system, np.full(len(placed), time), q[placed], params)
    messages = {int(placed[k]): measure.sentence for k, measure in bases.faults.items()}
    groups = [placed[which] for _, which in bases.groups]
    rest = np.flatnonzero(~is_placed)
    if rest.size:
        groups = [np.concatenate([groups[0], rest]), *groups[1:]] if groups else [rest]
    if not groups:
        k = min(bases.faults)
        raise singular_state(system, bases.faults[k], time, f", variant {placed[k]}")
    return groups, messages


def _configurations(
    variants: Variants, guess: Mapping[str, float] | Start | None, time: float, block: range
) -> Array:
    """(n, nq) coordinates with the given values that satisfy the holonomic rows, if they can."""
    system, n = variants.system, len(block)
    values, params = _guessed(variants, guess, block), variants.rows(variants.parameters, block)

    def of(k: int) -> dict[str, float]:
        return {name: float(x[min(k, len(x) - 1)]) for name, x in values.items()}

    if isinstance(guess, Start):
        q = np.tile(guess.q, (n, 1))
        for k in range(n):
            place_values(system, q[k], of(k))
        return q
    places = {name: x for name, x in values.items() if is_place(system, name)}
    try:
        return complete_starts(
            system, places, count=n, time=time, parameters=params, speed_inputs=None
        ).q
    except SimulationError:
        # some cannot: each as it comes
        return np.array([guess_configuration(system, of(k), params[k], time) for k in range(n)])


def _guessed(
    variants: Variants, guess: Mapping[str, float] | Start | None, block: range
) -> dict[str, Array]:
    """Guessed and given values of a block by name, (1,) or (n,)."""
    some = slice(block.start, block.stop)
    given = {name: x[some] if len(x) > 1 else x for name, x in variants.state.items()}
    guessed = {} if guess is None or isinstance(guess, Start) else guess
    return {**{name: np.array([float(x)]) for name, x in guessed.items()}, **given}


def _joined(
    variants: Variants,
    works: Sequence[tuple[NDArray[np.int_], _SteadySearch]],
    messages: dict[int, str],
) -> SteadyBatch:
    """The motions of all groups; each has its own names of values."""
    parts = [(which, work.result()) for which, work in works]
    n = variants.count

    def table(read: Callable[[SteadyBatch], NDArray[Any]], empty: Any = np.nan) -> NDArray[Any]:
        first = read(parts[0][1])
        whole = np.full((n, *first.shape[1:]), empty, first.dtype)
        for which, part in parts:
            whole[which] = read(part)
        return whole

    def named(read: Callable[[SteadyBatch], dict[str, Array]]) -> dict[str, Array]:
        whole = {name: np.full(n, np.nan) for _, part in parts for name in read(part)}
        for which, part in parts:
            for name, x in read(part).items():
                whole[name][which] = x
        return whole

    return SteadyBatch(
        model=variants.system.model.name,
        count=n,
        is_found=table(lambda b: b.is_found, False),
        messages=messages
        | {int(which[k]): text for which, part in parts for k, text in part.messages.items()},
        values=named(lambda b: b.values),
        rates=named(lambda b: b.rates),
        inputs=named(lambda b: b.inputs),
        q=table(lambda b: b.q),
        v=table(lambda b: b.v),
        eta=table(lambda b: b.eta),
        states=table(lambda b: b.states),
        units={name: unit for _, part in parts for name, unit in part.units.items()},
        residual=table(lambda b: b.residual),
        family=table(lambda b: b.family, -1),
        time=parts[0][1].time,
        variants=variants,
    )


class _Points(NamedTuple):
    """States of some variants: c and ζ (n, …), inputs, parameters, values that are wanted.

    `reference` is y₀ of (5) of `steady.py`.
    """

    c: Array
    zeta: Array
    inputs: Array
    parameters: Array
    wanted: Array
    reference: Array

    def take(self, k: NDArray[Any]) -> _Points:
        return _Points(*(part[k] for part in self))


class _Conditions(NamedTuple):
    """(1) to (4) of `steady.py` and their derivatives, as `SteadySolution` has them."""

    mass: Array
    r: Array
    r_y: Array
    rest: Array
    rest_y: Array
    y: Array
    reference: Array

    def take(self, k: NDArray[Any]) -> _Conditions:
        return _Conditions(*(part[k] for part in self))

    def F(self, mass: Array | None = None) -> Array:
        rates = -solve_stacked(self.mass if mass is None else mass, self.r[:, :, None])
        return np.concatenate([rates[:, :, 0], self.rest], axis=1)

    def J(self) -> Array:
        return np.concatenate([-solve_stacked(self.mass, self.r_y), self.rest_y], axis=1)

    def is_found(self) -> NDArray[np.bool_]:
        allowed = allowed_residuals(self.mass, self.r_y, self.rest_y, self.y, self.reference)
        return np.asarray(np.all(np.abs(self.F()) <= allowed, axis=1))


class _SteadySearch:
    """Steady motions of the variants of a group, filled block by block.

    Parameters
    ----------
    variants : of the group.
    start : (n, nq) where each search begins; nan where the work was cancelled before.
    guess, searched, time : as they are given, and places of the inputs to be found.
    """

    def __init__(
        self,
        variants: Variants,
        start: Array,
        guess: Mapping[str, float] | Start | None,
        searched: tuple[int, ...],
        time: float,
    ) -> None:
        self._variants, self._start, self._guess, self._time = variants, start, guess, time
        state, u, params = variants.at(0)
        first = first_guess(variants.system, state, guess, u.copy(), params, self._time)
        if moving_axes(first.system, first.chart.to_coordinates(first.c)):
            # in turned coordinates where the first variant circles on curved ground
            self._first, self._problem, _ = search_charts(first, state, guess, searched)
        else:
            self._first = first
            self._problem = problem_at(first, state, searched)
        self._system, self._chart = self._first.system, self._first.chart
        self._keep = list(self._problem.relevant.coordinates)
        self._scale = np.append(scale_of(self._first), np.ones(len(searched)))
        self._at: StackedFunction = self._system.cached(
            ("steady_batch", self._chart, searched, variants.device),
            lambda: _compile(
                local_expressions(self._system, self._chart), searched, variants.device
            ),
        )
        n, kin = variants.count, self._system.kinematics
        self._is_found = np.zeros(n, bool)
        self._messages: dict[int, str] = {}
        self._y = np.full((n, len(self._scale)), np.nan)
        self._rates = np.full((n, len(self._chart.coordinates)), np.nan)
        self._q = np.full((n, kin.num_coordinates), np.nan)
        self._v = np.full((n, kin.num_speeds), np.nan)
        self._eta = np.full((n, kin.num_independent_speeds), np.nan)
        self._inputs = np.full((n, len(self._system.inputs)), np.nan)
        self._residual = np.full(n, np.nan)
        self._family = np.full(n, -1, np.int64)

    def fill(self, block: range) -> None:
        """Search a block of variants."""
        with np.errstate(all="ignore"):
            found = self._search(self._begin(block))
            self._keep_found(np.arange(block.start, block.stop), *found)

    def _begin(self, block: range) -> _Points:
        """Initial guesses: given and guessed values, the others as they follow or at rest."""
        variants, chart, n = self._variants, self._chart, len(block)
        some = slice(block.start, block.stop)
        guess = self._guess
        values = _guessed(variants, guess, block)
        given = {name: values[name] for name in variants.state}
        params, u = (
            variants.rows(table, block) for table in (variants.parameters, variants.inputs)
        )
        c = chart.from_many_coordinates(self._start[some], self._force_states(values, n))
        points = _Points(
            c=c,
            zeta=np.zeros((n, len(chart.speeds))),
            inputs=u,
            parameters=params,
            wanted=_table(given, n),
            reference=np.zeros((n, len(self._scale))),
        )
        found = self._evaluate(points)
        speeds = slice(c.shape[1], c.shape[1] + len(chart.speeds))
        at_rest, by_zeta = found[:5], [by_y[:, :, speeds] for by_y in found[5:10]]
        speeds_given = {n: x for n, x in values.items() if not is_place(self._system, n)}
        wanted_there = find_wanted(self._first, _firsts(speeds_given))
        found_places = zip(speeds_given, wanted_there, strict=True)
        speeds_wanted = {name: w for name, w in found_places if w.is_speed}
        wanted = list(speeds_wanted.values())
        if wanted:
            rows = np.stack([by_zeta[w.part][:, w.place] for w in wanted], axis=1)
            now = np.stack([at_rest[w.part][:, w.place, 0] for w in wanted], axis=1)
            asked = {name: values[name] for name in speeds_wanted}
            return self._at_guess(points, least_stacked(rows, _table(asked, n) - now, 1e-10))
        eta = np.zeros((n, len(chart.speeds)))
        if isinstance(guess, Start):
            kin = self._system.kinematics
            moving = [kin.independent_rows(self._time, guess.q, p) @ guess.v for p in params]
            eta = np.array(moving).reshape(eta.shape)
        # η is affine in ζ
        zeta = solve_stacked(by_zeta[4], eta[:, :, None] - at_rest[4])[:, :, 0]
        return self._at_guess(points, zeta)

    def _at_guess(self, points: _Points, zeta: Array) -> _Points:
        """States with these speeds, from which the search starts."""
        points = points._replace(zeta=zeta)
        inputs = len(self._scale) - len(self._problem.searched)
        reference = reference_of(self._scale[:inputs], self._unknowns(points))
        return points._replace(reference=reference)

    def _unknowns(self, points: _Points) -> Array:
        """(n, …) y: coordinates, speeds and the inputs that are searched for."""
        searched = points.inputs[:, list(self._problem.searched)]
        return np.concatenate([points.c, points.zeta, searched], axis=1)

    def _force_states(self, values: dict[str, Array], n: int) -> Array:
        """(n, nz) states of forces: given, guessed, or zero."""
        names = [z.name for z in self._system.kinematics.force_states]
        table = np.zeros((n, len(names)))
        if isinstance(self._guess, Start) and len(self._guess.mu):
            table[:] = self._guess.mu
        elif not isinstance(self._guess, Start):
            for k, name in enumerate(names):
                table[:, k] = values.get(name, 0.0)
        return table

    def _is_regular(self, points: _Points) -> NDArray[np.bool_]:
        """Whether no contact of each variant is singular."""
        system, n = self._system, len(points.c)
        q = self._chart.to_many_coordinates(points.c)
        eta = self._evaluate(points)[4][:, :, 0]
        states, work = points.c[:, self._chart.num_placed :], int(system.does_work)
        x = np.concatenate([q, eta, states, np.zeros((n, work))], axis=1)
        rates = system.rates.map(np.full(n, self._time), x, points.inputs, points.parameters)
        measures = system.singularity_measures
        limits = np.array([m.limit if m.kind == "contact" else -1.0 for m in measures])
        return np.asarray(np.all(np.abs(rates[:, system.num_states :]) > limits, axis=1))

    def _search(self, start: _Points) -> tuple[_Points, _Conditions]:
        """Search from the guess, then from random points around it, as `steady.search` does."""
        rng = np.random.default_rng(11)
        points, best = self._descend(start)
        num_c, num_z = start.c.shape[1], start.zeta.shape[1]
        free = [*self._keep, *range(num_c, num_c + num_z)]
        for aside in ASIDE:
            lost = np.flatnonzero(~best.is_found())
            if not lost.size:
                break
            step = np.zeros(len(self._scale))
            step[free] = aside * rng.normal(size=len(free))
            moved = self._moved(start.take(lost), np.tile(step, (lost.size, 1)))
            tried_points, tried = self._descend(moved)
            sizes, before = (np.linalg.norm(x.F(), axis=1) for x in (tried, best.take(lost)))
            is_better = np.isfinite(sizes) & ~(before <= sizes)
            points = _put(points, lost[is_better], tried_points.take(is_better))
            best = _put(best, lost[is_better], tried.take(is_better))
        return points, best

    def _descend(self, points: _Points) -> tuple[_Points, _Conditions]:
        """Gauss–Newton iteration with steps of least length, of all variants at once."""
        points = _Points(*(part.copy() for part in points))
        now = self._conditions(points)
        moving = np.arange(len(points.c))
        inputs = len(self._scale) - len(self._problem.searched)
        for _ in range(MOST_STEPS):
            here = now.take(moving)
            F = here.F()
            is_finite = np.all(np.isfinite(F), axis=1)
            moving, here, F = moving[is_finite], here.take(is_finite), F[is_finite]
            if not moving.size:
                break
            J = here.J()
            scale = np.tile(self._scale, (len(J), 1))
            norms = np.linalg.norm(J[:, :, inputs:], axis=1)
            scale[:, inputs:] = 1.0 / np.maximum(norms, 1e-12)
            step = scale * least_stacked(J * scale[:, None, :], -F, 1e-11)
            longest = np.max(np.abs(step[:, : points.c.shape[1]]), axis=1, initial=0.0)
            step *= np.minimum(1.0, 0.5 / np.maximum(longest, 1e-300))[:, None]
            points, now, moving = self._shorter(points, now, moving, here, step)
            if not moving.size:
                break
        return points, now

    def _shorter(
        self,
        points: _Points,
        now: _Conditions,
        moving: NDArray[Any],
        here: _Conditions,
        step: Array,
    ) -> tuple[_Points, _Conditions, NDArray[Any]]:
        """Backtracking line search; those that no step improves have arrived."""
        sizes = np.linalg.norm(here.F(), axis=1)
        tries = np.where(here.is_found(), 1, 30)
        left = np.arange(len(moving))
        is_better = np.zeros(len(moving), bool)
        for k in range(30):
            left = left[(k < tries[left]) & ~is_better[left]]
            if not left.size:
                break
            trial_points = self._moved(points.take(moving[left]), step[left] / 2**k)
            trial = self._conditions(trial_points)
            falls = np.linalg.norm(trial.F(here.mass[left]), axis=1) < sizes[left]
            falls &= np.all(np.isfinite(trial.F()), axis=1)
            accepted = left[falls]
            is_better[accepted] = True
            points = _put(points, moving[accepted], trial_points.take(falls))
            now = _put(now, moving[accepted], trial.take(falls))
        return points, now, moving[is_better]

    def _moved(self, points: _Points, step: Array) -> _Points:
        num_c, num_z = points.c.shape[1], points.zeta.shape[1]
        inputs = points.inputs.copy()
        inputs[:, list(self._problem.searched)] += step[:, num_c + num_z :]
        return points._replace(
            c=points.c + step[:, :num_c],
            zeta=points.zeta + step[:, num_c : num_c + num_z],
            inputs=inputs,
        )

    def _evaluate(self, points: _Points) -> list[Array]:
        x = np.concatenate([points.c, points.zeta], axis=1)
        return self._at(self._time, x, points.inputs, points.parameters)

    def _conditions(self, points: _Points) -> _Conditions:
        """(1) to (4) and their derivatives."""
        *parts, mass = self._evaluate(points)
        values, by_y = [part[:, :, 0] for part in parts[:5]], parts[5:]
        r, cdot, g, _, _ = values
        rows, miss = [by_y[1][:, self._keep], by_y[2]], [cdot[:, self._keep], g]
        for j, w in enumerate(self._problem.wanted):
            if w.is_speed:
                rows.append(by_y[w.part][:, [w.place]])
                found = values[w.part][:, w.place]
            elif w.part == PLACED:
                slope = np.zeros((len(r), 1, len(self._scale)))
                slope[:, 0, : points.c.shape[1]] = self._chart.place_slopes(points.c, w.place)
                rows.append(slope)
                found = self._chart.to_many_coordinates(points.c)[:, w.place]
            else:
                unit = np.zeros((len(r), 1, len(self._scale)))
                unit[:, 0, w.place] = 1.0
                rows.append(unit)
                found = points.c[:, w.place]
            miss.append((found - points.wanted[:, j])[:, None])
        return _Conditions(
            mass=mass,
            r=r,
            r_y=by_y[0],
            rest=np.concatenate(miss, axis=1),
            rest_y=np.concatenate(rows, axis=1),
            y=self._unknowns(points),
            reference=points.reference,
        )

    def _keep_found(self, places: NDArray[Any], points: _Points, best: _Conditions) -> None:
        """Store the solutions of variants, and the messages of those without one."""
        is_solved = best.is_found()
        found = is_solved & self._is_regular(points)
        F, J = best.F(), best.J()
        missed = missed_conditions(self._first, self._problem.relevant, list(self._variants.state))
        for k in np.flatnonzero(~found):
            worst = int(np.argmax(np.abs(F[k]))) if np.all(np.isfinite(F[k])) else -1
            self._messages[int(places[k])] = (
                "the solution is singular: a wheel lies flat, or a body is inside its ground"
                if is_solved[k]
                else "the equations have no value where the search begins"
                if worst < 0
                else f"no steady motion was found: {missed[worst][0]} is still off by "
                f"{F[k, worst]:.3g} {missed[worst][1]}"
            )
        places, points, F, J = places[found], points.take(found), F[found], J[found]
        self._is_found[places] = True
        if not places.size:
            return
        free = [*self._keep, *range(points.c.shape[1], J.shape[2])]
        singular = np.linalg.svd(J[:, :, free], compute_uv=False)
        if singular.shape[1]:
            rank = np.sum(singular > 1e-8 * np.maximum(1.0, singular[:, :1]), axis=1)
        else:
            rank = np.zeros(len(places), int)
        self._family[places] = len(free) - rank
        self._residual[places] = np.max(np.abs(F), axis=1, initial=0.0)
        values = [part[:, :, 0] for part in self._evaluate(points)[:5]]
        self._rates[places] = values[1]
        q, v = self._chart.to_many_coordinates(points.c), values[3]
        self._q[places], self._v[places] = q, v
        self._eta[places] = values[4]
        if self._system is not self._variants.system:
            kin = self._variants.system.kinematics
            for k, own_q, own_v, params in zip(places, q, v, points.parameters, strict=True):
                self._eta[k] = kin.independent_rows(self._time, own_q, params) @ own_v
        self._inputs[places] = points.inputs
        self._y[places] = self._unknowns(points)

    def result(self) -> SteadyBatch:
        """All motions, by name."""
        chart, system = self._chart, self._system
        names = [quantity.name for quantity in chart.coordinates]
        values = {names[k]: self._y[:, k] for k in self._keep}
        values |= {s.name: self._y[:, len(names) + k] for k, s in enumerate(chart.speeds)}
        ignored = [k for k in range(len(names)) if k not in self._keep]
        rates = {names[k]: self._rates[:, k] for k in ignored}
        used = [
            k
            for k in range(len(system.inputs))
            if k in self._problem.searched or np.any(self._variants.inputs[:, k])
        ]
        inputs = {system.inputs[k].name: self._inputs[:, k] for k in used}
        units = {q.name: q.unit for q in (*chart.coordinates, *chart.speeds, *system.inputs)}
        units |= {name: f"{units[name]}/s" for name in rates}
        return SteadyBatch(
            model=system.model.name,
            count=self._variants.count,
            is_found=self._is_found,
            messages=self._messages,
            values=values,
            rates=rates,
            inputs=inputs,
            q=self._q,
            v=self._v,
            eta=self._eta,
            states=self._y[:, chart.num_placed : len(chart.coordinates)],
            units={name: units[name] for name in (*values, *rates, *inputs)},
            residual=self._residual,
            family=self._family,
            time=self._time,
            variants=self._variants,
        )


def _table(values: Mapping[str, Array], n: int) -> Array:
    """(n, k) numbers by name, in their order."""
    table = np.empty((n, len(values)))
    for k, x in enumerate(values.values()):
        table[:, k] = x
    return table


def _firsts(values: Mapping[str, Array]) -> dict[str, float]:
    return {name: float(x[0]) for name, x in values.items()}


def _put(whole: Any, places: NDArray[Any], parts: Any) -> Any:
    """A tuple of stacked arrays with some rows replaced."""
    for array, part in zip(whole, parts, strict=True):
        array[places] = part
    return whole


def _compile(
    e: LocalExpressions, searched: Sequence[int], device: AbstractDevice | None
) -> StackedFunction:
    """Values, derivatives by (c, ζ, inputs searched for), and the mass matrix."""
    by_y = [
        ca.horzcat(a, b, c[:, list(searched)])
        for a, b, c in zip(e.by_c, e.by_zeta, e.by_inputs, strict=True)
    ]
    return e.compile("conditions", [*e.values, *by_y, e.mass], device)
