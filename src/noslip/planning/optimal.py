"""`plan`: the best motion from a start to a goal.

**What is asked of `plan`: the call's words before those of the model's own `[plan]`.**

Amounts may be texts, as in files and on the command line: ``"90deg"``, ``"-1..3"`` for a range,
``"±2"``, an expression of parameters. Obstacles may be texts, ``"disc:center=1,0;radius=0.3"``.

A first motion is guessed, transcribed (`transcription`), and improved by IPOPT on native
derivatives (`program`). Then the inputs that were found are simulated, and the plan is what that
exact replay does. `refine` halves intervals whose end the exact motion misses, and tightens limits
where the replay exceeds them between nodes.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from noslip.base import Array, NoslipError, interruptible
from noslip.control import read_form
from noslip.engines import System, require_system
from noslip.expressions import ExpressionError, nominal
from noslip.model import Finding, Model
from noslip.planning.nonlinear_program import Solution
from noslip.planning.obstacles import AbstractObstacle, Surroundings, read_footprint, separations
from noslip.planning.planned import (
    GROWTH,
    SMALLEST,
    Plan,
    PlanFeedback,
    check,
    growth,
    linearized,
    regulated,
    replay,
)
from noslip.planning.problem import (
    SMOOTH,
    TIME_COST,
    TINY,
    PlanError,
    Problem,
    read_problem,
    read_setting,
    state_names,
)
from noslip.planning.search import Vehicle, Way, WaySearch, vehicle_of
from noslip.planning.transcription import (
    TIME,
    MotionSymbols,
    PairShape,
    PlanTask,
    Transcription,
    motion_states,
    reduced,
)
from noslip.simulation import Table, Trajectory, simulate

#: Tables of amounts, of which a call changes entries and not the whole.
TABLES = ("start", "goal", "limits")
_DEGREES = re.compile(r"(\d\.?)\s*(deg|°)$")
#: Text of an amount in messages.
SHOWN = 60
#: Keys from the top of a model to a value.
Path: TypeAlias = tuple[str | int, ...]


def asked(system: System, given: Mapping[str, Any], parameters: Any) -> dict[str, Any]:
    """Arguments of a plan with the model's own where the call has None, texts read."""
    own = system.model.task()
    where = f"plan of model '{system.model.name}'"
    known = system.model.parameter_values(system.parameters(parameters))
    found: dict[str, Any] = {}
    for name, value in given.items():
        first = getattr(own, name)
        if name == "waypoints":
            first = [mark.at for mark in first]
        if name in TABLES and isinstance(value, Mapping):
            value = {**first, **value}
        found[name] = first if value is None else value
    if system.model.plan is None and given["goal"] is None:
        raise PlanError(
            "no goal is given, and the model has no [plan]",
            where,
            "name where it ends: goal={'base.x': 2.5}",
        )
    for name in TABLES:
        found[name] = _read_table(found[name], known, name, where)
    found["waypoints"] = [
        _read_table(mark, known, f"waypoint {k + 1}", where)
        for k, mark in enumerate(found["waypoints"])
    ]
    if isinstance(found["duration"], str):
        found["duration"] = amount(found["duration"], known, "duration", where)
    found["obstacles"] = _read_obstacles(found["obstacles"], where)
    return found


def _read_table(table: Any, known: Mapping[str, float], what: str, where: str) -> Any:
    if not isinstance(table, Mapping):
        return table
    return {
        name: amount(value, known, f"{what} '{name}'", where) if isinstance(value, str) else value
        for name, value in table.items()
    }


def _read_obstacles(obstacles: Any, where: str) -> Any:
    """Obstacles, of which some are texts."""
    listed = [obstacles] if isinstance(obstacles, str) else obstacles
    if not isinstance(listed, list | tuple):
        return listed
    found = []
    for k, one in enumerate(listed):
        if not isinstance(one, str):
            found.append(one)
            continue
        try:
            found.append(read_form(AbstractObstacle, one))
        except NoslipError as error:
            raise PlanError(f"obstacle {k + 1}: {error.what}", where, error.fix) from None
    return found


def amount(
    text: str, known: Mapping[str, float], what: str, where: str
) -> float | tuple[float, float]:
    """Value of a text: a number, or a range (low, high)."""

    def number(part: str) -> float:
        plain = _DEGREES.sub(r"\1*pi/180", part.strip())
        try:
            value = float(nominal(plain, dict(known)))
        except (ExpressionError, KeyError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise PlanError(
                f"{what} is '{part.strip():.{SHOWN}}', which is not a number",
                where,
                "write a number, an expression of parameters, an angle as 90deg, or LOW..HIGH",
            )
        return value

    low, is_range, high = text.strip().removeprefix("±").partition("..")
    return (number(low), number(high)) if is_range else number(low)


def text_faults(model: Model, known: Any) -> Iterator[Finding]:
    """Findings about the texts of a model's plan: amounts and obstacles."""
    plan = model.plan
    assert plan is not None
    values = model.parameter_values()
    tables: list[tuple[Path, Any]] = [((name,), getattr(plan, name)) for name in TABLES]
    tables += [(("waypoints", k, "at"), mark.at) for k, mark in enumerate(plan.waypoints)]
    given = [((*path, n), text) for path, table in tables for n, text in table.items()]
    for path, text in [*given, (("duration",), plan.duration)]:
        if isinstance(text, str):
            read = partial(amount, text, values, "it", "")
            yield from _fault(("plan", *path), read)
    for k, text in enumerate(plan.obstacles):
        if text.partition(":")[0].strip() != "map":  # files are read when it is planned
            read = partial(read_form, AbstractObstacle, text)
            yield from _fault(("plan", "obstacles", k), read)


def _fault(path: Path, read: Callable[[], object]) -> Iterator[Finding]:
    try:
        read()
    except NoslipError as error:
        for fault in error.faults:
            yield Finding(path, f"the plan cannot be read: {fault.what}", fault.fix)


#: s that a first guess lasts, where nothing else says it.
GUESSED = 5.0
#: Obstacles that an outline looks at in a node, beside those that it touched.
SLOTS, MOST_TOUCHED = 3, 12
#: Distance over an outline's size up to which an obstacle counts as near.
NEAR = 0.5
#: m by which a plan may cut corners between its nodes, before it is refined.
NODES_APART = 0.01
#: m of this that are mended by a larger clearance at the nodes, instead of more nodes.
CUTS = 1e-3
#: Share of the time that the first motion has, before others are tried; their durations over
#: GUESSED, and swings in the course of them; most of them.
PATIENCE, PACES, SWINGS, MOST_TRIES = 0.7, (1.0, 2.0), (2, 6), 1000
#: Most ways round.
MOST_WAYS = 20
#: Rounds of `refine`, and the most intervals it makes.
ROUNDS, MOST = 8, 640

IPOPT = {
    "ipopt.tol": 1e-7,
    "ipopt.constr_viol_tol": 1e-8,
    "ipopt.acceptable_tol": 1e-5,
    "ipopt.acceptable_constr_viol_tol": 1e-7,
    "ipopt.max_iter": 3000,
    "ipopt.mu_strategy": "adaptive",
    # of MUMPS, which else takes a hundred times as long over a bicycle, and elsewhere no less
    "ipopt.mumps_permuting_scaling": 0,
    "ipopt.mumps_scaling": 0,
}
#: After a search, whose way is near an optimum: a small barrier does not leave it.
SEARCHED = {"ipopt.mu_strategy": "monotone", "ipopt.mu_init": 3e-3}
WARM = {
    "ipopt.warm_start_init_point": "yes",
    "ipopt.warm_start_bound_push": 1e-8,
    "ipopt.warm_start_mult_bound_push": 1e-8,
    "ipopt.warm_start_bound_frac": 1e-8,
    "ipopt.warm_start_slack_bound_push": 1e-8,
    "ipopt.warm_start_slack_bound_frac": 1e-8,
    "ipopt.mu_init": 1e-4,
    "ipopt.mu_strategy": "monotone",
}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """A motion to begin with."""

    #: states, controls: (N + 1, nx) at the nodes and (N, nc) in the intervals
    states: Array
    controls: Array
    durations: Array  #: durations of the phases, s


@interruptible
def plan(
    system: System,
    *,
    goal: Mapping[str, float | str | Sequence[float | str]] | None = None,
    start: Mapping[str, float | str] | None = None,
    minimize: str | None = None,
    limits: Mapping[str, float | str | Sequence[float | str]] | None = None,
    friction: float | Mapping[str, float] | None = None,
    least_load: float | None = None,
    waypoints: Sequence[Mapping[str, float | str | Sequence[float | str]]] | None = None,
    periodic: Sequence[str] | None = None,
    rest: bool | None = None,
    duration: float | str | tuple[float, float] | None = None,
    obstacles: str | Sequence[AbstractObstacle | str] | None = None,
    footprint: Mapping[str, Any] | None = None,
    clearance: float | None = None,
    intervals: int | None = None,
    guess: Trajectory | Plan | None = None,
    parameters: Mapping[str, float] | None = None,
    smooth: float = SMOOTH,
    time_limit: float = 60.0,
    ways: int = 1,
    tries: int = 4,
    seed: int = 0,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> Plan:
    """Find the best motion from a start to a goal, and replay it exactly.

    What the call leaves out is that of the model's own ``[plan]``, if it has one. Amounts may be
    texts: ``"90deg"``, ``"-1..3"``, an expression of parameters.

    Parameters
    ----------
    system : compiled system.
    goal : name → number or (low, high) at the end: coordinates, speeds, or any expression of them.
    start : coordinates and speeds at the start, as of :func:`simulate`.
    minimize : ``"time"``, by default; ``"energy"``, the positive work of the inputs; ``"effort"``,
        the integral of the squared inputs over their limits; or an expression that is integrated.
    limits : name → bound: a number for ±, or (low, high), of inputs, rates of given speeds, states
        and any expression of the motion, its accelerations and reactions.
    friction : coefficient of the ground, for all wheels or by wheel: none slips, none lifts.
    least_load : smallest load of a wheel, N; 0 by default where there is friction.
    waypoints : conditions on the way, one mapping for each, as of the goal.
    periodic : states that end as they began, and may begin anywhere.
    rest : whether speeds that the goal does not name are zero there, as they are by default.
    duration : s, or (least, longest); open by default.
    obstacles : discs, polygons, grids and maps of :mod:`noslip.obstacles`, or their texts, as in
        ``"disc:center=1,0;radius=0.3"``.
    footprint : body → radius, corners (x, y) in its axes, or (corners, radius); of all bodies with
        shapes by default.
    clearance : smallest distance to obstacles, m; 0 by default.
    intervals : pieces of the motion between waypoints, in each of which the forces are constant;
        40 by default.
    guess : a motion to begin with, such as one by :func:`track`.
    parameters : values that differ from the nominal ones.
    smooth : weight of the squared inputs beside another cost.
    time_limit : s of work after which the best motion so far is taken, or the search given up.
    ways : number of ways round obstacles, of other homotopy classes, of which the best is taken.
    tries : first motions that swing at random and are tried where the first one leads nowhere.
    seed : seed of these random motions.
    progress : function called now and then with the fraction of that time.
    cancel : a ``threading.Event``; setting it ends the work.

    Raises
    ------
    PlanError : for what cannot be asked, and where no motion is found: with the rows that are
        violated most.
    """
    require_system("plan", system)
    began = time.perf_counter()
    given = {
        **{"start": start, "goal": goal, "minimize": minimize, "limits": limits},
        **{"friction": friction, "least_load": least_load, "waypoints": waypoints},
        **{"periodic": periodic, "rest": rest, "duration": duration, "obstacles": obstacles},
        **{"clearance": clearance, "intervals": intervals},
    }
    task = asked(system, given, parameters)
    obstacles, clearance, intervals = (task.pop(n) for n in ("obstacles", "clearance", "intervals"))
    problem = read_problem(system, **task, parameters=parameters, smooth=smooth)
    if not 2 <= intervals <= MOST:
        raise PlanError(
            f"a phase of {intervals} intervals", problem.where, f"give from 2 to {MOST} intervals"
        )
    if not 0 <= tries <= MOST_TRIES:
        raise PlanError(
            f"{tries} tries are asked for", problem.where, f"give from 0 to {MOST_TRIES}"
        )
    if not 1 <= ways <= MOST_WAYS:
        raise PlanError(f"{ways} ways are asked for", problem.where, f"give from 1 to {MOST_WAYS}")
    if seed < 0:
        raise PlanError(f"the seed is {seed}", problem.where, "give 0 or more")
    read_setting(clearance, "the clearance, in m,", problem.where, 0.0)
    read_setting(time_limit, "time_limit, in s,", problem.where, TINY)
    around = _surroundings(problem, obstacles, footprint, clearance)
    search = _PlanSearch(problem, around, clearance, time_limit, began, progress, cancel)
    return search.first(intervals, guess, ways, tries, seed)


def _surroundings(
    problem: Problem, obstacles: Any, footprint: Any, clearance: float
) -> Surroundings | None:
    """Outlines and obstacles, if there are any."""
    where, fix = problem.where, "list obstacles: obstacles=[ns.obstacles.Disc(center=(1, 0), …)]"
    try:
        listed = [o for o in obstacles]
    except TypeError:
        raise PlanError(f"obstacles is {obstacles!r:.60}", where, fix) from None
    for k, obstacle in enumerate(listed):
        if not isinstance(obstacle, AbstractObstacle):
            raise PlanError(f"obstacle {k + 1} is {obstacle!r:.60}", where, fix)
    if not listed:
        return None
    system, p = problem.system, problem.parameters
    outlines = read_footprint(system, footprint, p, problem.state_limits)
    return Surroundings(system, outlines, listed, p)


class _PlanSearch:
    """One problem on its way to a plan: its task, meshes and bounds."""

    def __init__(
        self,
        problem: Problem,
        around: Surroundings | None,
        clearance: float,
        time_limit: float,
        began: float,
        progress: Callable[[float], object] | None,
        cancel: Any,
    ) -> None:
        self.problem, self.time_limit, self.began = problem, time_limit, began
        self.progress, self.cancel = progress, cancel
        #: s after which this attempt ends.
        self.until = time_limit
        self.around, self.clearance, self.extra = around, clearance, 0.0
        #: Pieces that an outline must look at everywhere, because a plan touched them.
        self.touched: list[tuple[int, int]] = []
        self.task = _task(problem, around)
        if around is not None:
            self._check_ends(around)
        self.margins = np.zeros(len(problem.rows))
        self.state_margins: dict[str, float] = {}
        self.search: WaySearch | None = None
        self.way: Way | None = None
        self.is_near = False
        self.searching = 0.0
        self.built = time.perf_counter() - began

    @property
    def symbols(self) -> MotionSymbols:
        """States and controls."""
        return self.task.symbols

    def first(self, intervals: int, given: Any, ways: int, tries: int, seed: int) -> Plan:
        """The plan on an even mesh."""
        num = len(self.problem.marks)
        counts = (intervals,) * num
        fractions = np.full(intervals * num, 1 / intervals)
        guess = (self.searched(intervals) if given is None else None) or self.guess(given, counts)
        if given is not None or not self.symbols.controls:
            tries = 0
        self.until = self.time_limit * (PATIENCE if tries or ways > 1 else 1.0)
        plans: list[tuple[Plan, tuple[Problem, list[tuple[int, int]]]]] = []
        failed: PlanError | None = None
        for k in range(ways):
            if k:
                self.until = self.time_limit - self._left() * (1 - 1 / (ways - k))
                other = self.another(intervals)
                if other is None:
                    break
                guess = other
            try:
                plan = self.solved(counts, fractions, guess, None)
                plans.append((plan, (self.problem, self.touched)))
            except PlanError as error:
                failed = failed or error
            if self._is_cancelled() or self._left() <= 0:
                break
        if plans:
            best, (self.problem, self.touched) = min(plans, key=lambda item: item[0].cost)
            return best
        assert failed is not None
        if not tries or self._is_cancelled() or self._left() <= 0:
            raise failed
        rng, self.is_near = np.random.default_rng(seed), False
        for k in range(tries):
            self.until = self.time_limit - self._left() * (1 - 1 / min(2, tries - k))
            if self._left() <= 0 or self._is_cancelled():
                break
            try:
                return self.solved(counts, fractions, self.swinging(counts, rng), None)
            except PlanError:
                continue
        raise failed

    def swinging(self, counts: tuple[int, ...], rng: np.random.Generator) -> Guess:
        """A motion whose inputs swing at random, on its straight way from mark to mark.

        Where a straight motion at rest is left by no input at first order, as that of a snakeboard,
        a swinging one is.
        """
        p, s = self.problem, self.symbols
        total = _clip(GUESSED * rng.choice(PACES), p.duration)
        swings = int(rng.integers(*SWINGS, endpoint=True))
        t = np.linspace(0.0, total, 16 * swings + 1)
        inputs: dict[str, Any] = {}
        rate = 2 * np.pi * swings / total
        given = {i.name for i in p.system.model.speed_inputs}
        for name in s.controls:
            base = name.removesuffix("_rate")
            low, high = p.control_limits.get(name, (-np.inf, np.inf))
            size = p.input_scale[name]
            middle = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else 0.0
            size = min(size, high - middle, middle - low)
            swing = rng.uniform(0.3, 1.0) * size * np.sin(rate * t + rng.uniform(0, 2 * np.pi))
            if base in given and base != name:
                low, high = p.state_limits.get(base, (-np.inf, np.inf))
                own = np.append(0.0, np.cumsum((swing[1:] + swing[:-1]) / 2 * np.diff(t)))
                own = own - (own.max() + own.min()) / 2
                inputs[base] = Table(times=t, values=np.clip(own, low, high))
            else:
                inputs[name] = Table(times=t, values=middle + swing)
        run = simulate(
            p.system,
            duration=total,
            start=p.start if not given else dict(p.given_start),
            inputs=inputs,
            parameters=p.changes,
            on_failure="return",
        )
        durations = np.array(counts) / sum(counts) * total
        moved = self.guess(run, counts)
        straight = self.guess(None, counts)
        ends = np.append(0, np.cumsum(counts))
        at = np.arange(ends[-1] + 1)
        line = np.column_stack([np.interp(at, ends, column[ends]) for column in moved.states.T])
        states = straight.states + moved.states - line
        if TIME in s.names:
            states[:, s.index(TIME)] = at / ends[-1] * total
        return Guess(states, moved.controls, durations)

    def searched(self, intervals: int) -> Guess | None:
        """A motion along ways that searches find from mark to mark, if the model is a vehicle."""
        began = time.perf_counter()
        p, system = self.problem, self.problem.system
        outlines = ca.SX(0, 1)
        if self.around is not None:
            outlines = ca.vertcat(*[ca.vec(o.traced) for o in self.around.outlines])
        vehicle = None if p.periodic else vehicle_of(system, outlines)
        names = [c.name for c in system.coordinates]
        if vehicle is None or not all(
            names[k] in mark.states for mark in p.marks for k in vehicle.base[:2]
        ):
            return None
        ways: list[Way] = []
        for k in range(len(p.marks)):
            begin = ways[-1].q[-1] if ways else None
            search = WaySearch(
                p, vehicle, self.around, self.clearance, self._tells_and_stops, k, begin
            )
            try:
                ways.append(search.way())
            except PlanError:
                if self._is_cancelled():
                    raise PlanError(
                        "the search was cancelled", p.where, "call plan again"
                    ) from None
                raise
        if len(ways) == 1:
            self.search, self.way = search, ways[0]
        guess = self._along(search, ways, intervals)
        self.searching = time.perf_counter() - began
        return guess

    def another(self, intervals: int) -> Guess | None:
        """A motion along a way of another homotopy class than the last one, if there is one."""
        if self.search is None or self.way is None:
            return None
        began = time.perf_counter()
        self.way = self.search.other_way(self.way)
        if self.way is None:
            return None
        self.problem, self.touched = self.search.problem, []
        guess = self._along(self.search, [self.way], intervals)
        self.searching += time.perf_counter() - began
        return guess

    def _along(self, search: WaySearch, ways: list[Way], intervals: int) -> Guess:
        """A motion along ways from mark to mark."""
        vehicle = search.vehicle
        # the way of a trailer may miss the goal's hinge
        self.is_near = not vehicle.hinges
        names = [c.name for c in self.problem.system.coordinates]
        for k, way in enumerate(ways):
            self._turn_mark(k, names, way.q[-1])
        return self._timed(vehicle, ways, search.size, intervals)

    def _turn_mark(self, k: int, names: list[str], end: Array) -> None:
        """Count whole turns of angles as the way does."""
        mark = self.problem.marks[k]
        states = dict(mark.states)
        for name, (low, high) in mark.states.items():
            if name in names and name.endswith("angle") and low == high:
                turns = 2 * np.pi * np.round((end[names.index(name)] - low) / (2 * np.pi))
                states[name] = low + turns, high + turns
        if states != mark.states:
            marks = list(self.problem.marks)
            marks[k] = dataclasses.replace(mark, states=states)
            self.problem = dataclasses.replace(self.problem, marks=tuple(marks))

    def _timed(self, vehicle: Vehicle, ways: list[Way], size: float, intervals: int) -> Guess:
        """A motion along ways that stops where the drive's direction changes."""
        p, s = self.problem, self.symbols
        speed, push = self._pace(vehicle, size)
        drives = np.concatenate([way.drive for way in ways])
        lengths = np.concatenate([way.lengths for way in ways])
        path = np.concatenate([ways[0].q[:1], *(way.q[1:] for way in ways)])
        turns = np.sum(drives[1:] * drives[:-1], axis=1) < 0
        ends = [0, *(np.flatnonzero(turns) + 1), len(drives)]
        times, places = [np.zeros(1)], [np.zeros(1)]
        along = np.append(0.0, np.cumsum(lengths))
        for a, b in itertools.pairwise(ends):
            length = along[b] - along[a]
            last = max(3.0 * np.sqrt(length / push), 1.5 * length / speed)
            part = np.linspace(0.0, 1.0, 4 * intervals + 1)[1:]
            times.append(times[-1][-1] + part * last)
            places.append(along[a] + length * part**2 * (3 - 2 * part))
        t, at = np.concatenate(times), np.concatenate(places)
        low, high = p.duration
        total = float(np.clip(t[-1], low, high))
        t = t * (total / t[-1])
        # intervals of even length from mark to mark
        marks = np.interp(along[np.cumsum([0, *(len(way.drive) for way in ways)])], at, t)
        durations = np.maximum(np.diff(marks), 1e-3 * total)
        steps = np.repeat(durations / intervals, intervals)
        nodes = np.append(0.0, np.cumsum(steps))
        where = np.interp(nodes, t, at)
        rate = np.gradient(np.interp(nodes, t, at), nodes)
        q = np.column_stack([np.interp(where, along, column) for column in path.T])
        k = np.clip(np.searchsorted(along, where, side="right") - 1, 0, len(lengths) - 1)
        drive = drives[k] / lengths[k][:, None] * rate[:, None]
        x = np.tile(self._start_values(), (len(nodes), 1))
        names = [c.name for c in p.system.coordinates]
        for j, name in enumerate(s.names):
            if name in names:
                x[:, j] = q[:, names.index(name)]
            elif name in vehicle.drive:
                x[:, j] = drive[:, vehicle.drive.index(name)]
            elif name == vehicle.steering_speed and vehicle.steering >= 0:
                x[:, j] = np.gradient(q[:, vehicle.steering], nodes)
            elif name == TIME:
                x[:, j] = nodes
        x[0] = self._start_values()
        return Guess(x, np.zeros((len(steps), len(s.controls))), durations)

    def _pace(self, vehicle: Vehicle, size: float) -> tuple[float, float]:
        """Speed and acceleration to begin with, m/s and m/s²."""
        limits = [
            max(abs(v) for v in self.problem.state_limits[name])
            for name in vehicle.drive
            if name in self.problem.state_limits
        ]
        return min([x for x in limits if np.isfinite(x)] or [4 * size]), 0.5 * size

    def guess(self, given: Any, counts: tuple[int, ...]) -> Guess:
        """A first motion: the given one, or straight from mark to mark."""
        s, p = self.symbols, self.problem
        total = sum(counts)
        x = np.tile(self._start_values(), (total + 1, 1))
        durations = np.full(len(counts), _clip(GUESSED, p.duration) / len(counts))
        c = np.zeros((total, len(s.controls)))
        columns: Any
        if isinstance(given, Plan):
            given_t, columns = given.t, given.states | given.inputs
        elif isinstance(given, Trajectory):
            given_t, columns = given.t, given
        elif given is None:
            return self._straight(x, c, durations, counts)
        else:
            raise PlanError(
                f"the guess is {given!r:.60}",
                p.where,
                "give a run, such as one by track, or a plan",
            )
        where = np.linspace(given_t[0], given_t[-1], total + 1)
        for k, name in enumerate(s.names):
            if name in columns:
                x[:, k] = np.interp(where, given_t, columns[name])
        middle = (where[1:] + where[:-1]) / 2
        for k, name in enumerate(s.controls):
            if name in columns:
                values = columns[name]
                c[:, k] = np.interp(middle, given_t[: len(values)], values)
        durations = np.array(counts) / total * (given_t[-1] - given_t[0])
        return Guess(x, c, durations)

    def _straight(self, x: Array, c: Array, durations: Array, counts: tuple[int, ...]) -> Guess:
        """States that a mark names, straight from one to the next."""
        at = 0
        for count, mark in zip(counts, self.problem.marks, strict=True):
            share = np.linspace(0, 1, count + 1)
            for name, (low, high) in mark.states.items():
                if name in self.symbols.names:
                    k = self.symbols.index(name)
                    end = _clip(x[at, k], (low, high))
                    x[at : at + count + 1, k] = x[at, k] + share * (end - x[at, k])
                    x[at + count + 1 :, k] = end
            at += count
        return Guess(x, c, durations)

    def _start_values(self) -> Array:
        """States at the start."""
        p, system = self.problem, self.problem.system
        full = np.concatenate([p.start.q, p.start.eta])
        num = len(system.auxiliary_states)
        w = [p.first_inputs[i.name] for i in system.model.speed_inputs]
        own = np.concatenate([full, np.zeros(num), w, [0.0]])
        return motion_states(system).from_system(own[None])[0, list(self.symbols.at)]

    def full_states(self, x: Array) -> Array:
        """(n, nx) states of the system, those that nothing needs as at the start."""
        p, system = self.problem, self.problem.system
        num = len(system.auxiliary_states) + len(system.model.speed_inputs) + 1
        own = np.concatenate([p.start.q, p.start.eta, np.zeros(num)])
        states = motion_states(system)
        full = np.repeat(states.from_system(own[None]), len(x), axis=0)
        full[:, list(self.symbols.at)] = x
        return states.to_system(full)[:, : system.equations.state.shape[0]]

    def _check_ends(self, around: Surroundings) -> None:
        """Refuse a start or a goal that touches an obstacle at rest."""
        members = np.flatnonzero(around.groups < 0)
        if not len(members):
            return
        x0 = self._start_values()
        poses = [("start", x0)]
        mark = self.problem.marks[-1]
        goal, names = x0.copy(), self.symbols.names
        for name, (low, high) in mark.states.items():
            if low == high and name in names:
                goal[names.index(name)] = low
        own = motion_states(self.problem.system).traced
        seen = {k for o in around.outlines for k in _seen(own(o.traced), self.symbols.x)}
        if all(
            mark.states.get(names[k], (0, 1))[0] == mark.states.get(names[k], (0, 1))[1]
            for k in seen
        ):
            poses.append(("goal", goal))
        for word, x in poses:
            found = around.near(self.full_states(x[None]), 1, members)
            for outline, (piece, distance, _) in zip(around.outlines, found, strict=True):
                gap, owner = float(distance[0, 0]), int(around.owners[piece[0, 0]])
                if gap >= self.clearance:
                    continue
                obstacle = f"obstacle {owner + 1} ({around.obstacles[owner].word})"
                fault = f"is {gap:.3g} m from {obstacle}, less than {self.clearance:g} m"
                if gap < 0:
                    fault = f"overlaps {obstacle} by {-gap:.3g} m"
                raise PlanError(
                    f"at the {word} the outline of '{outline.body}' {fault}",
                    self.problem.where,
                    f"move the {word} or the obstacle, or give a smaller footprint or clearance",
                )

    def _set_obstacles(self, t: Transcription, guess: Guess, w: Array) -> None:
        """Give every pair the pieces that are nearest along a guess, and lines between them."""
        around = self.around
        if around is None:
            return
        x = self.full_states((guess.states[1:] + guess.states[:-1]) / 2)
        times = np.cumsum(t.fractions * guess.durations[t.phase_of])
        times -= t.fractions * guess.durations[t.phase_of] / 2
        k = 0
        for group, members, slots in self._groups(guess):
            offset = np.zeros((len(times), 2))
            if group >= 0:
                offset = around.offsets(times)[0][group]
            corners = around.corners_at(x)
            near = around.near(x, slots, members, offset)
            for j, (pieces, _, directions) in enumerate(near):
                must = [m for o, m in self.touched if o == j and m in set(members.tolist())]
                for m in must:
                    missing = ~np.any(pieces == m, axis=1)
                    if np.any(missing):
                        _, towards = separations(
                            corners[j][missing] - offset[missing, None], around.corners[m][None]
                        )
                        pieces[missing, -1] = m
                        directions[missing, -1] = towards
                t.set_pieces(
                    k, around.corners[pieces], around.radii[pieces], self.clearance + self.extra
                )
                angle = np.unwrap(np.arctan2(directions[..., 1], directions[..., 0]), axis=0)
                normal = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
                own = np.einsum("nkc,nsc->nsk", corners[j], normal).min(axis=-1)
                own -= around.outlines[j].radius
                there = around.corners[pieces] + offset[:, None, None]
                other = np.einsum("nskc,nsc->nsk", there, normal).max(axis=-1)
                other += around.radii[pieces]
                w[t.lines[k][..., 0]], w[t.lines[k][..., 1]] = angle, (own + other) / 2
                k += 1

    def _groups(self, guess: Guess) -> list[tuple[int, Any, int]]:
        """Obstacles at rest, then each that moves: its place, its pieces, and pieces at a time."""
        around, found = self.around, []
        if around is None:
            return []
        for group in range(-1, len(around.displacements)):
            members = np.flatnonzero(around.groups == group)
            if len(members):
                most = min(SLOTS, len(members))
                if group < 0:
                    near = around.near(self.full_states(guess.states), most, members)
                    reach = [
                        NEAR * float(np.max(np.ptp(o.corners, axis=0)) + 2 * o.radius)
                        for o in around.outlines
                    ]
                    counts = [
                        np.max(np.sum(d < r, axis=1))
                        for (_, d, _), r in zip(near, reach, strict=True)
                    ]
                    most = max(1, int(np.max(counts)))
                most += len({m for _, m in self.touched})
                found.append((group, members, min(len(members), most)))
        return found

    def bounds(self, t: Transcription) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Bounds of variables and rows."""
        p, s = self.problem, self.symbols
        low, high = np.full(t.num_variables, -np.inf), np.full(t.num_variables, np.inf)
        for name, (a, b) in p.state_limits.items():
            if name in s.names:
                back = self.state_margins.get(name, 0.0)
                low[t.points[:, 1:, s.index(name)]] = a + back
                high[t.points[:, 1:, s.index(name)]] = b - back
        for name, (a, b) in p.control_limits.items():
            if name in s.controls:
                low[t.controls[:, s.controls.index(name)]] = a
                high[t.controls[:, s.controls.index(name)]] = b
        x0 = self._start_values()
        free = [n in p.periodic and n not in p.given_start for n in s.names]
        fixed = ~np.array(free)
        low[t.nodes[0, fixed]] = high[t.nodes[0, fixed]] = x0[fixed]
        low[t.durations], high[t.durations] = 1e-3, p.duration[1]
        row_low, row_high = np.zeros(t.num_rows), np.zeros(t.num_rows)
        row_low[t.duration_row], row_high[t.duration_row] = p.duration
        ends = np.cumsum(t.intervals)
        for k, mark in enumerate(p.marks):
            for name, (a, b) in mark.states.items():
                if name in s.names:
                    at = t.nodes[ends[k], s.index(name)]
                    low[at], high[at] = max(low[at], a), min(high[at], b)
                    if a < low[at] or b > high[at]:
                        self._refuse_limit(name, (a, b))
                    if low[at] > high[at]:  # a mark on the limit, which is taken back
                        low[at] = high[at] = np.clip(low[at], a, b)
            block = t.marks[k]
            if block is not None:
                row_low[block.rows[0]] = [row.bounds[0] for row in mark.rows]
                row_high[block.rows[0]] = [row.bounds[1] for row in mark.rows]
        for block, rows in ((t.path, self._path), (t.forced, self._forced)):
            if block is not None:
                given = [p.rows[k].bounds for k in rows]
                inset = self.margins[rows]
                row_low[block.rows] = np.array([b[0] for b in given]) + inset
                row_high[block.rows] = np.array([b[1] for b in given]) - inset
        if t.path is not None:  # what the start does not keep cannot be kept there
            row_low[t.path.rows[0]], row_high[t.path.rows[0]] = -np.inf, np.inf
        for block in (block for pair in t.pairs for block in pair):
            row_high[block.rows] = np.inf
        return (low, high), (row_low, row_high)

    def _refuse_limit(self, name: str, goal: tuple[float, float]) -> None:
        limit = self.problem.state_limits.get(name)
        if limit and (goal[0] > limit[1] or goal[1] < limit[0]):
            raise PlanError(
                f"the goal '{name}' = {goal[0]:g} is outside its limit, "
                f"{limit[0]:g} to {limit[1]:g}",
                self.problem.where,
                "move the goal, or widen the limit",
            )

    @property
    def _forced(self) -> list[int]:
        inputs = self.problem.system.equations.inputs
        num = len(self.problem.system.model.speed_inputs)
        forces = inputs.shape[0] - 2 * num
        controls = ca.vertcat(inputs[:forces, :], inputs[forces + num :, :])
        rows = self.problem.rows
        return [k for k, row in enumerate(rows) if ca.depends_on(row.value, controls)]

    @property
    def _path(self) -> list[int]:
        forced = set(self._forced)
        return [k for k in range(len(self.problem.rows)) if k not in forced]

    def _stops(self) -> bool:
        """Whether to end the work."""
        return time.perf_counter() - self.began > self.until or self._is_cancelled()

    def _tells_and_stops(self) -> bool:
        """Whether to end the work; tells how much of its time is gone."""
        if self.progress is not None:
            self.progress(min((time.perf_counter() - self.began) / self.time_limit, 1.0))
        return self._stops()

    def _left(self) -> float:
        """s of work that are left."""
        return self.time_limit - (time.perf_counter() - self.began)

    def _is_cancelled(self) -> bool:
        return self.cancel is not None and bool(self.cancel.is_set())

    def solved(
        self,
        counts: tuple[int, ...],
        fractions: Array,
        guess: Guess,
        warm: Solution | None,
    ) -> Plan:
        """The plan on a mesh."""
        began = time.perf_counter()
        slots: tuple[int, ...] = ()
        for _, _, count in self._groups(guess):
            slots += (count,) * len(self.around.outlines if self.around else ())
        t = self.task.transcribed(counts, slots, self.around.size if self.around else 1)
        t.set_numbers(self.problem.parameters, fractions)
        w = t.first_guess(guess.states, guess.controls, guess.durations)
        if warm is not None and (len(warm.w), len(warm.rows)) != (len(w), t.num_rows):
            warm = None  # other obstacles are near
        if warm is not None:
            w = warm.w
            t.set_margin(self.clearance + self.extra)
        else:
            self._set_obstacles(t, guess, w)
        bounds, row_bounds = self.bounds(t)
        built = self.built + time.perf_counter() - began
        options = IPOPT | (WARM if warm is not None else SEARCHED if self.is_near else {})
        found = t.program.solve(
            w, bounds, row_bounds, options=options, warm=warm, watch=self._tells_and_stops
        )
        self.built = 0.0
        if not found.is_kept:
            self._fail(t, found, bounds, row_bounds)
        plan = self.planned(
            t, found, {"search": self.searching, "build": built, "solve": found.seconds}
        )
        if self.around is None or plan.clearance >= -NODES_APART or not found.is_solved:
            return plan
        known = set(self.touched)
        new = [pair for pair in map(tuple, plan.touching.tolist()) if pair not in known]
        if not new or len(known) > MOST_TOUCHED:
            return plan
        self.touched += new
        again = Guess(found.w[t.nodes], found.w[t.controls], found.w[t.durations])
        return self.solved(counts, fractions, again, None)

    def planned(self, t: Transcription, found: Solution, timings: dict[str, float]) -> Plan:
        """The plan of a solution, replayed."""
        s, p = self.symbols, self.problem
        began = time.perf_counter()
        X, U, T = found.w[t.nodes], found.w[t.controls], found.w[t.durations]
        steps = t.fractions * T[t.phase_of]
        times = np.append(0.0, np.cumsum(steps))
        states = {name: X[:, k] for k, name in enumerate(s.names)}
        given = [i.name for i in p.system.model.speed_inputs]
        inputs = {
            n: U[:, k] for k, n in enumerate(s.controls) if n.removesuffix("_rate") not in given
        }
        inputs |= {name: states[name] for name in given}
        if p.periodic:
            p = self.problem = _started(p, s, X[0])
        run = open_run = replay(p, times, inputs)
        law = self._feedback(t, found.w, times)
        if law is not None:
            run = replay(p, times, inputs, law)
        checked = check(p, times, inputs, run, law)
        near = self.around.clearance(run, self.clearance) if self.around else None
        if self.around is not None:
            more = {**run.extra, **self.around.columns(run)}
            run = run.replaced(obstacles=self.around.polygons(), extra=more)
        timings = timings | {"replay": time.perf_counter() - began}
        cost = float(times[-1]) if p.minimize == TIME_COST else found.objective
        return Plan(
            system=p.system,
            problem=p,
            t=times,
            states=states,
            inputs=inputs,
            cost=cost,
            run=run,
            open_run=open_run,
            goal_errors=checked.errors,
            excess=checked.excess,
            clearance=near.low - self.clearance if near else np.inf,
            touching=near.overlaps if near else np.zeros((0, 2), dtype=np.int64),
            surroundings=self.around,
            iterations=found.iterations,
            is_optimal=found.is_solved,
            timings=timings,
            feedback=law,
            refining=self.refined,
            ending=(t, found),
        )

    def _feedback(self, t: Transcription, w: Array, times: Array) -> PlanFeedback | None:
        """What holds the motion on the plan, if it is unstable."""
        s, steps = self.symbols, np.diff(times)
        if not t.nc:
            return None
        lin = linearized(t, w, steps)
        X, c = w[t.nodes], w[t.controls]
        sizes = np.maximum(np.ptp(X, axis=0), SMALLEST)
        if growth(lin.F, sizes) < GROWTH:
            return None
        scale = np.array([self.problem.input_scale[name] for name in s.controls])
        input_sizes = np.maximum(np.ptp(c, axis=0), 1e-3 * scale)
        limits = self.problem.control_limits
        return PlanFeedback(
            plant=self.problem.system,
            at=s.at,
            names=s.names,
            controls=s.controls,
            nodes=times,
            polynomials=lin.polynomials,
            inputs=c,
            bounds=np.array([limits.get(name, (-np.inf, np.inf)) for name in s.controls]),
            gains=regulated(lin, steps, sizes, input_sizes),
        )

    def _fail(self, t: Transcription, found: Solution, bounds: Any, row_bounds: Any) -> None:
        """Say which rows are violated most."""
        over = np.maximum(row_bounds[0] - found.rows, found.rows - row_bounds[1])
        worst: dict[str, float] = {}
        for row in np.argsort(-over)[:200]:
            if over[row] <= 1e-6:
                break
            name = self._row_name(t, int(row))
            worst[name] = max(worst.get(name, 0.0), float(over[row]))
        listed = [f"{name} by {value:.3g}" for name, value in list(worst.items())[:5]]
        if self._is_cancelled():
            raise PlanError("the search was cancelled", self.problem.where, "call plan again")
        if self._stops() and found.status == "User_Requested_Stop":
            why = f"within {self.time_limit:g} s"
        else:
            why = f"after {found.iterations} iterations ({found.status.replace('_', ' ').lower()})"
        shown = f"; violated most: {', '.join(listed)}" if listed else "; all rows hold, no optimum"
        raise PlanError(
            f"no plan was found {why}{shown}",
            self.problem.where,
            "widen these limits, give a guess (such as a run by track), waypoints, more intervals "
            "or a longer time_limit",
        )

    def _row_name(self, t: Transcription, row: int) -> str:
        name, k = t.name_of(row)
        word = name.split()[0]
        if word == "path":
            return self.problem.rows[self._path[k % len(self._path)]].name
        if word == "forced":
            return self.problem.rows[self._forced[k % len(self._forced)]].name
        if word == "mark":
            _, mark, j = name.split()
            which = "goal" if int(mark) == len(self.problem.marks) - 1 else f"waypoint {mark}"
            return f"{which} '{self.problem.marks[int(mark)].rows[int(j)].name}'"
        return name

    def refined(self, first: Plan, tolerance: float) -> Plan:
        """A plan that reaches the goal within a tolerance and keeps every limit."""
        self.began, self.until = time.perf_counter(), self.time_limit
        best = first
        for k in range(ROUNDS + 1):
            is_kept = max(best.excess.values(), default=0.0) <= 1e-6 and best.clearance >= 0
            if best.miss() <= tolerance and is_kept:
                return best
            if k < ROUNDS:
                best = self._finer(best, tolerance)
        worst = max(best.excess, key=lambda n: best.excess[n], default="")
        raise PlanError(
            f"after {ROUNDS} rounds the replay misses the goal by {best.miss():.2g} and exceeds "
            f"'{worst}' by {best.excess.get(worst, 0.0):.2g} of its size",
            self.problem.where,
            "give a larger tolerance, more intervals, or a plan with a longer duration",
        )

    def _finer(self, plan: Plan, tolerance: float) -> Plan:
        """Halve the intervals with the largest defects; take limits back by what exceeds them."""
        t, found = plan.ending
        for k, row in enumerate(self.problem.rows):
            self.margins[k] += 1.2 * plan.excess.get(row.name, 0.0) * _size(row.bounds)
        for name, limit in self.problem.state_limits.items():
            if plan.excess.get(name, 0.0) > 0:
                more = 1.2 * plan.excess[name] * _size(limit)
                self.state_margins[name] = self.state_margins.get(name, 0.0) + more
        defects = np.max(np.abs(list(plan.defects().values())), axis=0)
        if plan.miss() > tolerance:
            # a feedback loses a plan by any of its defects
            share = 0.01 if plan.has_feedback else 0.1
            cut = defects > max(share * np.max(defects), 1e-2 * tolerance / len(defects))
        else:
            cut = np.zeros(len(defects), bool)
        if plan.clearance < 0 and plan.surroundings is not None:
            at = plan.surroundings.clearance(plan.run, self.clearance).t
            if plan.clearance < -CUTS:  # a corner is cut between nodes: more of them there
                cut |= (plan.t[:-1] < at + 2 * plan.duration / len(cut)) & (
                    plan.t[1:] > at - 2 * plan.duration / len(cut)
                )
            else:
                self.extra += 1.2 * -plan.clearance + 1e-5
        if np.any(cut) and len(defects) + np.sum(cut) > MOST:
            raise PlanError(
                f"a mesh of {MOST} intervals is not fine enough",
                self.problem.where,
                "give a larger tolerance, or a shorter motion",
            )
        times = np.repeat(1 + cut.astype(int), 1)
        counts = tuple(int(np.sum(times[t.phase_of == k])) for k in range(t.num_phases))
        fractions = np.repeat(t.fractions / times, times)
        X, U, T = found.w[t.nodes], found.w[t.controls], found.w[t.durations]
        where = np.append(0.0, np.cumsum(t.fractions))
        finer = np.append(0.0, np.cumsum(fractions))
        states = np.column_stack([np.interp(finer, where, X[:, k]) for k in range(t.nx)])
        guess = Guess(states, np.repeat(U, times, axis=0), T)
        warm = found if not np.any(cut) else None
        return self.solved(counts, fractions, guess, warm)


def _size(bounds: tuple[float, float]) -> float:
    return max((abs(v) for v in bounds if np.isfinite(v)), default=1.0) or 1.0


def _clip(value: float, bounds: tuple[float, float]) -> float:
    return float(min(max(value, bounds[0]), bounds[1]))


def _started(problem: Problem, s: MotionSymbols, x0: Array) -> Problem:
    """The problem of a periodic motion, begun where it was found to begin."""
    from noslip.simulation import complete_start

    own = {q.name for q in problem.system.independent_speeds} | set(state_names(problem.system))
    own -= {i.name for i in problem.system.model.speed_inputs}
    own -= {z.name for z in problem.system.auxiliary_states}
    given = {n: float(v) for n, v in zip(s.names, x0, strict=True) if n in own}
    w = [float(x0[s.index(i.name)]) for i in problem.system.model.speed_inputs]
    more: dict[str, Any] = {"speed_inputs": lambda q: np.array(w)} if w else {}
    done = complete_start(problem.system, given, parameters=problem.parameters, **more)
    names = [i.name for i in problem.system.model.speed_inputs]
    return dataclasses.replace(problem, start=done, first_inputs=dict(zip(names, w, strict=True)))


def _seen(expression: ca.SX, x: ca.SX) -> set[int]:
    """Places of the symbols in x that an expression depends on."""
    return set(ca.jacobian_sparsity(ca.densify(ca.vec(expression)), x).get_triplet()[1])


def _task(problem: Problem, around: Surroundings | None) -> PlanTask:
    """The task without its numbers; one for equal words."""
    system = problem.system
    key = (
        "plan",
        tuple(
            (row.name, problem.friction.get(row.name.removeprefix("friction of ")))
            for row in problem.rows
        ),
        tuple((tuple(mark.states), tuple(row.name for row in mark.rows)) for mark in problem.marks),
        problem.periodic,
        str(problem.running) if problem.running.n_dep() < 50 else problem.minimize,
        problem.minimize,
        tuple(problem.input_scale.items()),
        around
        and (
            tuple((o.body, o.corners.tobytes(), o.radius) for o in around.outlines),
            tuple(map(str, around.displacements)),
            bool(np.any(around.groups < 0)),
        ),
    )
    return system.cached(key, lambda: _make_task(problem, around))


def _make_task(problem: Problem, around: Surroundings | None) -> PlanTask:
    system = problem.system
    inputs = system.equations.inputs
    num = len(system.model.speed_inputs)
    forces = inputs.shape[0] - 2 * num
    controls = ca.vertcat(inputs[:forces, :], inputs[forces + num :, :])
    own = motion_states(system).traced
    is_forced = [ca.depends_on(row.value, controls) for row in problem.rows]
    rows = [own(row.value) for row in problem.rows]
    path = ca.vertcat(*[v for v, f in zip(rows, is_forced, strict=True) if not f])
    forced = ca.vertcat(*[v for v, f in zip(rows, is_forced, strict=True) if f])
    marks = tuple(ca.vertcat(*[own(row.value) for row in mark.rows]) for mark in problem.marks)
    running = own(problem.running)
    pairs: list[PairShape] = []
    if around is not None:
        groups: list[ca.SX | None] = [None] if np.any(around.groups < 0) else []
        groups += around.displacements
        pairs = [
            PairShape(o.body, own(o.traced), o.radius, group)
            for group in groups
            for o in around.outlines
        ]
    wanted = ca.vertcat(path, forced, *marks, running)
    for pair in pairs:
        moved = ca.SX(0, 1) if pair.displacement is None else pair.displacement
        wanted = ca.vertcat(wanted, ca.vec(pair.outline), moved)
    names = set(problem.state_limits) | set(problem.periodic)
    names |= {name for mark in problem.marks for name in mark.states}
    symbols = reduced(system, ca.densify(wanted), names)
    scale = np.array([problem.input_scale[name] for name in symbols.controls])
    return PlanTask(
        symbols=symbols,
        running=running,
        path=_column(path),
        forced=_column(forced),
        marks=tuple(map(_column, marks)),
        periodic=problem.periodic,
        pairs=tuple(pairs),
        input_scale=scale,
    )


def _column(expression: ca.SX) -> ca.SX:
    return ca.densify(expression) if expression.shape[0] else ca.SX(0, 1)
