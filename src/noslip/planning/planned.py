"""`Plan`: what was found, never without its exact replay, and the feedback that holds it.

**Feedback that holds an unstable motion on its plan: gains over time, part of the plan.**

The collocation's own equations, differentiated at the solution, carry small errors on:

    (1)  δx_{i+1} = F_i δx_i + G_i δc_i

with F_i and G_i as exact as the plan itself. Where a product of F_i grows by more than `GROWTH`,
what an open replay misses says nothing of the plan: rounding alone would tip a bicycle over. The
least Σ δxᵀQδx + δcᵀRδc gives, backward from the end,

    (2)  δc_i = −K_i δx_i,   K = (R + GᵀPG)⁻¹GᵀPF,   P ← Q + FᵀP(F − GK)

and the replay is given c = c_i − K_i (x − x̂(t)) within the limits of the inputs, with x̂ the
collocation's polynomial.

**`Plan`: what was found, never without its exact replay.**

The planned inputs, constant or linear in time between the nodes, are given to `simulate`; what the
replay misses, exceeds and needs is measured there and not in the transcription. Where the motion is
unstable, small errors grow, and a feedback that belongs to the plan holds it (`feedback`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import step_table
from noslip.analysis import Audit, audit_forces, contact_forces
from noslip.base import Array, counted
from noslip.engines import System, compile_expression
from noslip.planning.nonlinear_program import Indices
from noslip.planning.obstacles import Surroundings
from noslip.planning.problem import Problem, Row, state_names
from noslip.planning.transcription import DEGREE, Transcription, motion_states
from noslip.simulation import (
    AbstractInputLaw,
    InputGenerator,
    Table,
    Trajectory,
    read_expression,
    simulate,
    simulate_batch,
)

#: Growth of errors in the course of a motion, each against the size of its state, that is unstable.
GROWTH = 300.0
#: Smallest size of a state, in its unit.
SMALLEST = 0.1
#: Weight of errors at the end beside those on the way.
AT_END = 30.0
#: Weight of inputs, each against its size, beside that of errors.
INPUTS = 0.1


class SmallErrors(NamedTuple):
    """F (N, nx, nx) and G (N, nx, nc) of (1), and x̂: coefficients (N, d + 1, nx), highest first."""

    F: Array
    G: Array
    polynomials: Array


def linearized(t: Transcription, w: Array, steps: Array) -> SmallErrors:
    """The collocation's equations, differentiated at a solution."""
    n, nx, nc, d = t.num_intervals, t.nx, t.nc, DEGREE
    code, block = t.motion.code, t.motion
    entries = code.jacobian(w[block.variables], block.data)
    dense = np.zeros((n * d, nx + 1, nx + nc + 1))
    dense[:, code.row_of, code.column_of] = entries
    slopes = dense[:, :nx].reshape(n, d, nx, -1)
    # Σ_r C_rj δx_r + ∂(−h f)/∂x δx_j + ∂(−h f)/∂c δc = 0
    inner = np.zeros((n, d, nx, d, nx))
    eye = np.eye(nx)
    for j in range(d):
        for r in range(d):
            inner[:, j, :, r] = t.slopes[r + 1, j + 1] * eye
        inner[:, j, :, j] += slopes[:, j, :, :nx]
    first = np.stack([t.slopes[0, j + 1] * eye for j in range(d)])
    given = np.concatenate(
        [np.broadcast_to(first, (n, d, nx, nx)), slopes[..., nx : nx + nc]], axis=3
    )
    found = -np.linalg.solve(inner.reshape(n, d * nx, d * nx), given.reshape(n, d * nx, nx + nc))[
        :, -nx:
    ]
    points = w[t.points]
    powers = np.linalg.inv(np.vander(t.tau))  # of the time over the step
    polynomials = np.einsum("kr,nrx->nkx", powers, points)
    polynomials /= steps[:, None, None] ** np.arange(d, -1, -1)[None, :, None]
    return SmallErrors(found[..., :nx], found[..., nx:], polynomials)


def growth(F: Array, sizes: Array) -> float:
    """Largest factor by which an error grows from a node to a later one."""
    scaled = F * sizes / sizes[:, None]
    most, product = 1.0, np.eye(len(sizes))
    for step in scaled:
        product = step @ product
        most = max(most, float(np.linalg.norm(product, 2)))
    return most


def regulated(lin: SmallErrors, steps: Array, sizes: Array, input_sizes: Array) -> Array:
    """(N, nc, nx) gains K of (2)."""
    Q = np.diag(1 / sizes**2)
    P = AT_END * Q
    gains = np.zeros((len(steps), len(input_sizes), len(sizes)))
    for i in range(len(steps) - 1, -1, -1):
        F, G = lin.F[i], lin.G[i]
        R = INPUTS * steps[i] * np.diag(1 / input_sizes**2)
        gains[i] = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
        P = steps[i] * Q + F.T @ P @ (F - G @ gains[i])
        P = (P + P.T) / 2
    return gains


@dataclass(frozen=True, slots=True, eq=False)
class PlanFeedback(AbstractInputLaw):
    """c = c_i − K_i (x − x̂(t)) within limits."""

    plant: System  #: the system of the plan
    at: tuple[int, ...]  #: (nx,) places of x among all states of the motion
    #: names, controls: names of x and of c, rates of given speeds last
    names: tuple[str, ...]
    controls: tuple[str, ...]
    nodes: Array  #: (N + 1,) s
    polynomials: Array  #: (N, d + 1, nx) x̂ in the time since each node, highest power first
    inputs: Array  #: (N, nc) c_i
    bounds: Array  #: (nc, 2) of c
    gains: Array  #: (N, nc, nx)

    def generator(self, system: System) -> InputGenerator:
        """Rows of the table are intervals: start, polynomials, inputs and gains."""
        n, degree, nx = self.polynomials.shape
        nc = len(self.controls)
        parts = [self.nodes[:-1], self.polynomials, self.inputs, self.gains]
        table = np.concatenate([part.reshape(n, -1) for part in parts], axis=1)
        kin, plant = system.kinematics, self.plant
        row = step_table(self.nodes[:-1].tolist(), table).traced(kin.symbols.t)
        since = kin.symbols.t - row[0]
        rest = ca.vertcat(*row[1:])
        powers = ca.reshape(rest[: degree * nx], nx, degree)
        planned = powers[:, 0]
        for k in range(1, degree):
            planned = planned * since + powers[:, k]
        inputs = rest[degree * nx : degree * nx + nc]
        gains = ca.reshape(rest[degree * nx + nc :], nx, nc).T
        given = [i.name for i in plant.model.speed_inputs]
        leads = ca.SX.sym("lead", len(given))
        of_input = [self.names.index(name) for name in given]
        w = planned[of_input] + leads if given else ca.SX(0, 1)
        own = {s.name: kin.eta[k] for k, s in enumerate(kin.independent_speeds)}
        eta = [
            own[s.name] if s.name in own else read_expression(system, s.name, "feedback of a plan")
            for s in plant.independent_speeds
        ]
        first = len(system.coordinates) + len(system.independent_speeds)
        forces = system.equations.state[first:]
        states = motion_states(plant)
        all_x = states.of_system(ca.vertcat(kin.symbols.q, *eta, forces, w, kin.symbols.t))
        error = ca.vertsplit(ca.substitute(all_x[list(self.at)], kin.symbols.w, w) - planned)
        for k, name in enumerate(self.names):
            if name in states.angles:  # whole turns apart
                error[k] = ca.atan2(ca.sin(error[k]), ca.cos(error[k]))
        c = inputs - ca.mtimes(gains, ca.vertcat(*error))
        low, high = (np.clip(side, -1e30, 1e30) for side in self.bounds.T)
        c = ca.fmin(ca.fmax(c, ca.DM(low)), ca.DM(high))
        num = nc - len(given)
        by_name = {name: c[k] for k, name in enumerate(self.controls)}
        by_name |= {name: w[k] for k, name in enumerate(given)}
        return InputGenerator(
            inputs=by_name,
            states=leads,
            rates=c[num:] - inputs[num:],
            start=np.zeros(len(given)),
            names=tuple(f"lead.{name}" for name in given),
            units=tuple(q.unit for q in plant.inputs if q.name in given),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=self.nodes,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """An optimal motion from a start to a goal, with its exact replay. Made by :func:`plan`."""

    system: System  #: system that moves
    problem: Problem  #: problem as it was read
    t: Array  #: (N + 1,) nodes, s
    #: name → (N + 1,) values at the nodes; coordinates that nothing looks at are left out
    states: dict[str, Array]
    #: name → values of the planned inputs: (N,) constant between nodes, or (N + 1,) of given
    #: speeds, linear in between
    inputs: dict[str, Array]
    cost: float  #: minimized cost: s, J, or the integral that was asked for
    run: Trajectory  #: the exact replay by :func:`simulate` under the planned inputs
    open_run: Trajectory  #: the replay without feedback, where `run` has one; else the same
    goal_errors: dict[str, float]  #: goal → what the replay misses, in its unit
    #: limit → by how much the replay exceeds it, relative to its size; 0 where it holds
    excess: dict[str, float]
    #: smallest distance to an obstacle along the replay, m, less the one asked for; infinite
    #: without obstacles
    clearance: float
    #: (n, 2) outlines and pieces of obstacles that are nearer than that
    touching: Indices = field(repr=False)
    #: outlines and obstacles, if there are any
    surroundings: Surroundings | None = field(repr=False)
    iterations: int
    is_optimal: bool  #: whether the solver was done; else this is the best it had found in its time
    timings: dict[str, float]  #: time of each stage, s
    #: input law of :func:`simulate` that stabilizes an unstable motion on the plan; else None
    feedback: PlanFeedback | None = field(repr=False)
    refining: Callable[[Plan, float], Plan] = field(repr=False)
    ending: Any = field(repr=False)  #: solution of the solver; refining begins there
    _audit: list[Audit] = field(default_factory=list, repr=False)

    @property
    def duration(self) -> float:
        """s."""
        return float(self.t[-1])

    @property
    def has_feedback(self) -> bool:
        """Whether the replay is held on the plan by a feedback."""
        return self.feedback is not None

    @property
    def audit(self) -> Audit:
        """No-slip audit of the replay, at the least of the friction coefficients given."""
        if not self._audit:
            mu = min(self.problem.friction.values(), default=None)
            forces = contact_forces(self.system, self.run)
            self._audit.append(audit_forces(self.system, forces, self.run.t, mu))
        return self._audit[0]

    def defects(self) -> dict[str, Array]:
        """State → (N,) by what the exact motion of an interval misses its planned end."""
        own = {q.name for q in self.system.independent_speeds} | set(state_names(self.system))
        own -= {i.name for i in self.system.model.speed_inputs}
        own -= {z.name for z in self.system.auxiliary_states}
        seen = [name for name in self.states if name in own]
        tied = tied_coordinates(self.problem)
        turns = motion_states(self.system).angles
        steps = np.diff(self.t)
        found = {name: np.zeros(len(steps)) for name in seen}
        for size in np.unique(np.round(steps, 12)):
            at = np.flatnonzero(np.abs(steps - size) < 1e-11)
            batch = simulate_batch(
                self.system,
                duration=float(steps[at[0]]),
                start={name: self.states[name][at] for name in seen if name not in tied},
                inputs=self._inputs_from(at),
                parameters=self.problem.changes,
                columns=seen,
                count=len(at),
            )
            for name in seen:
                missed = batch.final[name] - self.states[name][at + 1]
                found[name][at] = whole_turns_apart(missed) if name in turns else missed
        return found

    def _inputs_from(self, at: Indices) -> dict[str, Any]:
        """Inputs of intervals, each from its own start."""
        found: dict[str, Any] = {}
        for name, values in self.inputs.items():
            if len(values) == len(self.t):
                spans = [np.array([0.0, self.t[k + 1] - self.t[k]]) for k in at]
                found[name] = [
                    Table(times=span, values=values[k : k + 2])
                    for k, span in zip(at, spans, strict=True)
                ]
            else:
                found[name] = values[at]
        return found

    def refine(self, tolerance: float = 1e-3) -> Plan:
        """The plan on a finer mesh, until its replay reaches the goal and keeps every limit.

        Parameters
        ----------
        tolerance : largest miss of the goal by the replay, m; rotations by 1.75 tolerance rad (so
            0.1° for 1 mm). Limits are kept to 1e-6 of their sizes, obstacles are not touched.

        Raises
        ------
        PlanError : if that is not reached.
        """
        return self.refining(self, tolerance)

    def miss(self) -> float:
        """Largest miss of the goal: m, or rad over 1.75."""
        units = {q.name: q.unit for q in (*self.system.coordinates, *self.system.speeds)}
        sizes = [
            abs(v) / (1.75 if units.get(n, "").startswith("rad") else 1.0)
            for n, v in self.goal_errors.items()
        ]
        return max(sizes, default=0.0)

    def summary(self) -> str:
        """The plan in a few lines."""
        worst = max(self.excess.items(), key=lambda item: item[1], default=("", 0.0))
        lines = [
            f"plan of '{self.system.model.name}': {self.duration:.4f} s, cost {self.cost:.6g} "
            f"({self.problem.minimize}), {counted(len(self.t) - 1, 'interval')}, "
            f"{counted(self.iterations, 'iteration')}, {sum(self.timings.values()):.2f} s",
            "replay by simulate: misses "
            + (", ".join(f"{n} by {v:.2g}" for n, v in self.goal_errors.items()) or "nothing"),
        ]
        if not self.is_optimal:
            lines.append("the best so far: the solver was stopped before it was done")
        if self.has_feedback:
            missed = max(
                (abs(v) for v in goal_errors(self.problem, self.open_run).values()), default=0.0
            )
            lines.append(f"with the plan's feedback; without it the largest miss is {missed:.2g}")
        lines.append(
            f"limits are exceeded by at most {worst[1]:.1e} of their size"
            + (f" ({worst[0]})" if worst[1] > 0 else "")
        )
        if np.isfinite(self.clearance):
            lines.append(f"obstacles are {self.clearance:.4f} m farther away than asked, or more")
        return "\n".join(lines)

    def save(self, path: str | Path) -> None:
        """Save the replay, with all columns, as :meth:`Trajectory.save` does."""
        self.run.save(path)

    def __repr__(self) -> str:
        return self.summary()


def tied_coordinates(problem: Problem) -> set[str]:
    """Coordinates that position rows determine, preferably those that the task does not name."""
    system = problem.system

    states = motion_states(system)
    names = list(states.names[: len(system.coordinates) - len(states.orientations)])

    def make() -> Any:
        rows = [row.position for row in system.kinematics.rows if row.position is not None]
        g = states.traced(ca.vertcat(*rows)) if rows else ca.SX(0, 1)
        symbols, q = system.kinematics.symbols, states.x[: len(names)]
        given = [symbols.t, q, ca.SX(0, 1), symbols.params]
        return compile_expression("rows", given, system.fold(ca.vec(ca.jacobian(g, q)))), len(rows)

    code, num = system.cached(("plan position rows",), make)
    if not num:
        return set()
    own = np.concatenate([problem.start.q, np.zeros(len(states.names))])
    q = states.from_system(own[None])[:, : len(names)]
    G = code.map([0.0], q, np.zeros((1, 0)), problem.parameters).reshape(len(names), num).T
    named = set(problem.state_limits) | set(problem.periodic) | set(problem.given_start)
    named |= {name for mark in problem.marks for name in mark.states}
    found: set[str] = set()
    basis = np.zeros((num, 0))
    for k in sorted(range(len(names)), key=lambda k: names[k] in named):
        rest = G[:, k] - basis @ (basis.T @ G[:, k])
        size = np.linalg.norm(rest)
        if size > 1e-9 * max(1.0, float(np.linalg.norm(G[:, k]))):
            basis = np.column_stack([basis, rest / size])
            found.add(names[k])
    return found


def tables(t: Array, inputs: dict[str, Array]) -> dict[str, Table]:
    """Planned inputs as `simulate` takes them."""
    return {
        name: Table(times=t, values=values, kind="linear")
        if len(values) == len(t)
        else Table(times=t, values=np.append(values, values[-1]), kind="hold")
        for name, values in inputs.items()
    }


def sample_times(t: Array, between: int = 4) -> Array:
    """Nodes, and times between them."""
    steps = np.diff(t)[:, None] * np.arange(between) / between
    return np.append((t[:-1, None] + steps).ravel(), t[-1])


class NamedRows:
    """Values of rows along runs, by native code."""

    def __init__(self, system: System, rows: tuple[Row, ...]) -> None:
        symbols = system.kinematics.symbols
        given = [symbols.t, system.equations.state, system.equations.inputs, symbols.params]
        self.rows, self.system = rows, system
        value = ca.vertcat(*[row.value for row in rows])
        self._code = compile_expression("limits", given, value)

    def along(self, run: Trajectory, parameters: Array, inputs: Array) -> Array:
        """(n, rows) at the samples of a run."""
        names = [q.name for q in (*self.system.coordinates, *self.system.independent_speeds)]
        names += [q.name for q in self.system.auxiliary_states]
        x = np.column_stack([run[name] for name in names])
        return self._code.map(run.t, x, inputs, parameters)


def goal_errors(problem: Problem, run: Trajectory) -> dict[str, float]:
    """Goal → what the end of a run misses."""
    mark, found = problem.marks[-1], {}
    for name, (low, high) in mark.states.items():
        if name in run:
            value = float(run[name][-1])
            if name in motion_states(problem.system).angles:
                middle = (low + high) / 2
                value = middle + float(whole_turns_apart(np.array(value - middle)))
            found[name] = value - min(max(value, low), high)
    if mark.rows:
        system = problem.system
        values = rows_code(system, mark.rows).along(
            run, problem.parameters, np.zeros((len(run.t), len(system.inputs)))
        )[-1]
        for row, value in zip(mark.rows, values, strict=True):
            found[row.name] = float(value - min(max(value, row.bounds[0]), row.bounds[1]))
    return found


def whole_turns_apart(angle: Array) -> Array:
    """Angles less whole turns, from −π to π."""
    found: Array = angle - 2 * np.pi * np.round(angle / (2 * np.pi))
    return found


def rows_code(system: System, rows: tuple[Row, ...]) -> NamedRows:
    """Native code of rows; cached."""
    key = ("plan rows", tuple(str(row.value) if row.name == "" else row.name for row in rows))
    return system.cached(key, lambda: NamedRows(system, rows))


def input_columns(
    system: System, t: Array, inputs: dict[str, Array], run: Trajectory, *, late: bool
) -> Array:
    """(n, nu) planned inputs at samples; at a node those of the interval after it, or before."""
    at = run.t
    after = np.searchsorted(t, at, side="left" if late else "right")
    k = np.clip(after - 1, 0, len(t) - 2)
    found = np.zeros((len(at), len(system.inputs)))
    for j, quantity in enumerate(system.inputs):
        name = quantity.name
        base = name.removesuffix("_rate")
        if name in inputs:
            values = inputs[name]
            is_linear = len(values) == len(t)
            found[:, j] = np.interp(at, t, values) if is_linear else values[k]
        elif base in inputs:
            values = inputs[base]
            found[:, j] = (np.diff(values) / np.diff(t))[k]
    return found


def replay(problem: Problem, t: Array, inputs: dict[str, Array], law: Any = None) -> Trajectory:
    """The exact run of planned inputs, or of a law."""
    contacts = problem.system.model.contacts
    return simulate(
        problem.system,
        duration=float(t[-1]),
        start=problem.start,
        inputs=tables(t, inputs) if law is None else law,
        parameters=problem.changes,
        samples=sample_times(t),
        reactions=bool(contacts),
        on_failure="return",
    )


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """What a replay misses and exceeds."""

    errors: dict[str, float]
    excess: dict[str, float]


def check(
    problem: Problem, t: Array, inputs: dict[str, Array], run: Trajectory, law: Any = None
) -> Checked:
    """Compare a replay, of inputs or of a law, with what was asked."""
    system = problem.system
    if law is not None:
        t, inputs = run.t, {q.name: run[q.name] for q in system.inputs}
    excess: dict[str, float] = {}
    for name, (low, high) in {**problem.state_limits, **problem.control_limits}.items():
        if name in inputs:
            values = inputs[name]
        elif name in run:
            values = run[name]
        elif name.removesuffix("_rate") in inputs:
            values = np.diff(inputs[name.removesuffix("_rate")]) / np.diff(t)
        else:
            continue
        size = max(abs(v) for v in (low, high) if np.isfinite(v)) or 1.0
        excess[name] = float(max(np.max(values) - high, low - np.min(values), 0.0) / size)
    if problem.rows:
        code = rows_code(system, problem.rows)
        worst = np.zeros(len(problem.rows))
        for late in (False, True):
            u = input_columns(system, t, inputs, run, late=late)
            values = code.along(run, problem.parameters, u)
            bounds = np.array([row.bounds for row in problem.rows])
            over = np.max(np.maximum(values - bounds[:, 1], bounds[:, 0] - values), axis=0)
            sizes = [
                max((abs(v) for v in row.bounds if np.isfinite(v)), default=1.0) or 1.0
                for row in problem.rows
            ]
            worst = np.maximum(worst, np.maximum(over, 0.0) / sizes)
        for row, value in zip(problem.rows, worst, strict=True):
            excess[row.name] = max(excess.get(row.name, 0.0), float(value))
    return Checked(goal_errors(problem, run), excess)
