"""`plan`: the best motion from a start to a goal.

A first motion is guessed, transcribed (`transcription`), and improved by IPOPT on native
derivatives (`program`). Then the inputs that were found are simulated, and the plan is what that
exact replay does. `refine` halves intervals whose end the exact motion misses, and tightens limits
where the replay exceeds them between nodes.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from noslip.base import Array
from noslip.engines import System, require_system
from noslip.planning.planned import Plan, check, replay
from noslip.planning.problem import (
    SMOOTH,
    TIME_COST,
    PlanError,
    Problem,
    read_problem,
)
from noslip.planning.program import Solution
from noslip.planning.transcription import MotionSymbols, PlanTask, Transcription, reduced
from noslip.simulation import Trajectory

#: Intervals of a phase, unless the caller says.
INTERVALS = 40
#: s that a first guess lasts, where nothing else says it.
GUESSED = 5.0
#: Rounds of `refine`, and the most intervals it makes.
ROUNDS, MOST = 8, 640

IPOPT = {
    "ipopt.tol": 1e-7,
    "ipopt.constr_viol_tol": 1e-8,
    "ipopt.acceptable_tol": 1e-5,
    "ipopt.acceptable_constr_viol_tol": 1e-7,
    "ipopt.max_iter": 3000,
    "ipopt.mu_strategy": "adaptive",
}
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
    """A motion to begin with.

    Parameters
    ----------
    states, controls : (N + 1, nx) at the nodes and (N, nc) in the intervals.
    durations : of the phases, s.
    """

    states: Array
    controls: Array
    durations: Array


def plan(
    system: System,
    *,
    goal: Mapping[str, Any],
    start: Mapping[str, float] | None = None,
    minimize: str = TIME_COST,
    limits: Mapping[str, Any] | None = None,
    friction: float | Mapping[str, float] | None = None,
    least_load: float = 0.0,
    waypoints: Sequence[Mapping[str, Any]] = (),
    periodic: Sequence[str] = (),
    rest: bool = True,
    duration: float | tuple[float, float] | None = None,
    intervals: int = INTERVALS,
    guess: Trajectory | Plan | None = None,
    parameters: Mapping[str, float] | None = None,
    smooth: float = SMOOTH,
    time_limit: float = 60.0,
    progress: Callable[[float], object] | None = None,
    cancel: Any = None,
) -> Plan:
    """Find the best motion from a start to a goal, and replay it exactly.

    Parameters
    ----------
    system : compiled system.
    goal : name → number or (low, high) at the end: coordinates, speeds, or any expression of them.
    start : coordinates and speeds at the start, as of :func:`simulate`.
    minimize : ``"time"``; ``"energy"``, the positive work of the inputs; ``"effort"``, the integral
        of the squared inputs over their limits; or an expression that is integrated.
    limits : name → bound: a number for ±, or (low, high), of inputs, rates of given speeds, states
        and any expression of the motion, its accelerations and reactions.
    friction : coefficient of the ground, for all wheels or by wheel: none slips, none lifts.
    least_load : smallest load of a wheel, N.
    waypoints : what holds on the way, one mapping as the goal's for each.
    periodic : states that end as they began, and may begin anywhere.
    rest : whether speeds that the goal does not name are zero there.
    duration : s, or (least, longest); open by default.
    intervals : pieces of the motion between waypoints, in each of which the forces are constant.
    guess : a motion to begin with, such as one by :func:`track`.
    parameters : values that differ from the nominal ones.
    smooth : weight of the squared inputs beside another cost.
    time_limit : s of work until the search is given up.
    progress : called with the fraction of that time, now and then.
    cancel : a ``threading.Event``; setting it ends the work.

    Raises
    ------
    PlanError : for what cannot be asked, and where no motion is found: with the rows that are
        violated most.
    """
    require_system("plan", system)
    began = time.perf_counter()
    problem = read_problem(
        system,
        start=start,
        goal=goal,
        minimize=minimize,
        limits=limits,
        friction=friction,
        least_load=least_load,
        waypoints=waypoints,
        periodic=periodic,
        rest=rest,
        duration=duration,
        parameters=parameters,
        smooth=smooth,
    )
    if not 2 <= intervals <= MOST:
        raise PlanError(
            f"a phase of {intervals} intervals", problem.where, f"give from 2 to {MOST} intervals"
        )
    return _PlanSearch(problem, time_limit, began, progress, cancel).first(intervals, guess)


class _PlanSearch:
    """One problem on its way to a plan: its task, meshes and bounds."""

    def __init__(
        self,
        problem: Problem,
        time_limit: float,
        began: float,
        progress: Callable[[float], object] | None,
        cancel: Any,
    ) -> None:
        self.problem, self.time_limit, self.began = problem, time_limit, began
        self.progress, self.cancel = progress, cancel
        self.task = _task(problem)
        self.margins = np.zeros(len(problem.rows))
        self.built = time.perf_counter() - began

    @property
    def symbols(self) -> MotionSymbols:
        """States and controls."""
        return self.task.symbols

    def first(self, intervals: int, given: Any) -> Plan:
        """The plan on an even mesh."""
        num = len(self.problem.marks)
        counts = (intervals,) * num
        fractions = np.full(intervals * num, 1 / intervals)
        guess = self.guess(given, counts)
        self._turn_goal(guess)
        return self.solved(counts, fractions, guess, None)

    def _turn_goal(self, guess: Guess) -> None:
        """Nothing to turn without a search."""

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
        return np.concatenate([full, np.zeros(num), w, [0.0]])[list(self.symbols.at)]

    def bounds(self, t: Transcription) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Bounds of variables and rows."""
        p, s = self.problem, self.symbols
        low, high = np.full(t.num_variables, -np.inf), np.full(t.num_variables, np.inf)
        for name, (a, b) in p.state_limits.items():
            if name in s.names:
                low[t.points[:, 1:, s.index(name)]] = a
                high[t.points[:, 1:, s.index(name)]] = b
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
        for block in t.pairs:
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
        controls = ca.vertcat(inputs[:forces], inputs[forces + num :])
        rows = self.problem.rows
        return [k for k, row in enumerate(rows) if ca.depends_on(row.value, controls)]

    @property
    def _path(self) -> list[int]:
        forced = set(self._forced)
        return [k for k in range(len(self.problem.rows)) if k not in forced]

    def _stops(self) -> bool:
        """Whether to end the work; tells how much of its time is gone."""
        spent = time.perf_counter() - self.began
        if self.progress is not None:
            self.progress(min(spent / self.time_limit, 1.0))
        return spent > self.time_limit or (self.cancel is not None and self.cancel.is_set())

    def solved(
        self,
        counts: tuple[int, ...],
        fractions: Array,
        guess: Guess,
        warm: Solution | None,
    ) -> Plan:
        """The plan on a mesh."""
        began = time.perf_counter()
        t = self.task.transcribed(counts, 0, 1)
        t.set_numbers(self.problem.parameters, fractions)
        w = t.first_guess(guess.states, guess.controls, guess.durations)
        bounds, row_bounds = self.bounds(t)
        built = self.built + time.perf_counter() - began
        options = IPOPT | (WARM if warm is not None else {})
        found = t.program.solve(
            w, bounds, row_bounds, options=options, warm=warm, watch=self._stops
        )
        self.built = 0.0
        if not found.is_solved:
            self._fail(t, found, bounds, row_bounds)
        return self.planned(t, found, {"build": built, "solve": found.seconds})

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
        run = replay(p, times, inputs)
        checked = check(p, times, inputs, run)
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
            open_run=run,
            goal_errors=checked.errors,
            excess=checked.excess,
            clearance=np.inf,
            iterations=found.iterations,
            timings=timings,
            gains=None,
            refining=self.refined,
            ending=(t, found),
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
        self.began = time.perf_counter()
        best = first
        for _ in range(ROUNDS):
            if best.miss() <= tolerance and max(best.excess.values(), default=0.0) <= 1e-6:
                return best
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
        defects = np.max(np.abs(list(plan.defects().values())), axis=0)
        if plan.miss() > tolerance:
            cut = defects > max(0.1 * np.max(defects), 1e-2 * tolerance / len(defects))
        else:
            cut = np.zeros(len(defects), bool)
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

    own = {q.name for q in (*problem.system.coordinates, *problem.system.independent_speeds)}
    given = {n: float(v) for n, v in zip(s.names, x0, strict=True) if n in own}
    w = [float(x0[s.index(i.name)]) for i in problem.system.model.speed_inputs]
    more: dict[str, Any] = {"speed_inputs": lambda q: np.array(w)} if w else {}
    done = complete_start(problem.system, given, parameters=problem.parameters, **more)
    names = [i.name for i in problem.system.model.speed_inputs]
    return dataclasses.replace(problem, start=done, first_inputs=dict(zip(names, w, strict=True)))


def _task(problem: Problem) -> PlanTask:
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
    )
    return system.cached(key, lambda: _make_task(problem))


def _make_task(problem: Problem) -> PlanTask:
    system = problem.system
    inputs = system.equations.inputs
    num = len(system.model.speed_inputs)
    forces = inputs.shape[0] - 2 * num
    controls = ca.vertcat(inputs[:forces], inputs[forces + num :])
    is_forced = [ca.depends_on(row.value, controls) for row in problem.rows]
    rows = [row.value for row in problem.rows]
    path = ca.vertcat(*[v for v, f in zip(rows, is_forced, strict=True) if not f])
    forced = ca.vertcat(*[v for v, f in zip(rows, is_forced, strict=True) if f])
    marks = tuple(ca.vertcat(*[row.value for row in mark.rows]) for mark in problem.marks)
    wanted = ca.vertcat(path, forced, *marks, problem.running)
    names = set(problem.state_limits) | set(problem.periodic)
    names |= {name for mark in problem.marks for name in mark.states}
    symbols = reduced(system, ca.densify(wanted), names)
    scale = np.array([problem.input_scale[name] for name in symbols.controls])
    return PlanTask(
        symbols=symbols,
        running=problem.running,
        path=_column(path),
        forced=_column(forced),
        marks=tuple(map(_column, marks)),
        periodic=problem.periodic,
        pairs=(),
        input_scale=scale,
    )


def _column(expression: ca.SX) -> ca.SX:
    return ca.densify(expression) if expression.shape[0] else ca.SX(0, 1)
