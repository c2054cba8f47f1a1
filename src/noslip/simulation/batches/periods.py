"""Motions period by period: many of one mechanism, taken on together under inputs that are held.

**Completion of starts as traced expressions, for code that cannot call Python, as a GPU's.**

Coordinates, speeds, named angles and their rates are completed as `completion` does it, by its
equations (1) and (2) with full ranks: steps of Newton's method that leave what is given, and the
least independent speeds that fit. Where only some angles of an orientation are given, or some of
their rates, there are several ways, of which `completion` takes the first that fits. What has other
ranks (rows that repeat) is not carried; whoever uses this compares it with :func:`complete_starts`,
and picks the way that agrees.

Whoever acts on mechanisms again and again, as environments do, holds their inputs for a period of
fixed steps, looks at what came of it, and goes on. A period of all is a batch of the loop whose
arrays stay where they are: it begins where the one before ended, each at its own time. Where the
independent speeds of some no longer determine the motion, they go on in others, as all motions do.

    periods = Periods(system, columns, count, step=h)
    periods.begin(which, *periods.starts(given, count))      starts by name, completed
    periods.held[...] = ...                                  inputs, and variables of the columns
    periods.advance(which, steps)                            whether each could be taken that far
    periods.t, .x, .found                                    times, states, columns there
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import angular_velocity, quaternion_from_angles, traced_angles
from noslip.base import Array, SimulationError
from noslip.engines import (
    Buffer,
    Flow,
    Program,
    System,
    Target,
    Value,
    compile_wide,
    native_lanes,
    trace_program,
)
from noslip.simulation.batches.batch_code import (
    LanePlan,
    LaneResults,
    Shared,
    TableSets,
    empty_results,
    motion_in_lanes,
    motion_programs,
)
from noslip.simulation.expressions import check_definitions, read_expression
from noslip.simulation.loop import rules
from noslip.simulation.loop.loop import print_period
from noslip.simulation.loop.writer import Shape
from noslip.simulation.native_run import run_workers
from noslip.simulation.samples import Ends, Indices, SegmentBasis, carried, drive
from noslip.simulation.starts.bases import BasisGroup, run_starts, states_in
from noslip.simulation.starts.completion import (
    CompletionPlan,
    Held,
    Hold,
    complete_starts,
    releases,
)
from noslip.simulation.starts.start_layout import Orientation, layout_of

#: How far completed states may be from those of the processor.
APART = 1e-9


class TracedStart(NamedTuple):
    """Programs of (t, x, u, [p; given]) that complete a start; x: a state with its coordinates."""

    #: state with the orientations of the named angles; None if none are given
    orient: Program | None
    close: tuple[Program, ...]  #: states after a step of Newton's method, one way or another
    speeds: tuple[Program, ...]  #: independent speeds, likewise

    @staticmethod
    def states(system: System, given: Mapping[str, Array], count: int, values: Array) -> Array:
        """(n, nx) consistent states in the system's own speeds, in which a thread begins."""
        states, groups = completed_states(system, given, count, values)
        if any(here is not system for here, _ in groups):
            raise SimulationError(
                "the independent speeds of the system do not determine the motion at a start",
                f"environments of model '{system.model.name}' on a device",
                "run them on the processor, or derive the equations in other independent speeds",
            )
        return states

    @classmethod
    def of(cls, system: System, names: Sequence[str], *, is_driven: bool = False) -> TracedStart:
        """The completion of a start by names; those of states are in x, the others are given.

        Parameters
        ----------
        system : system in whose independent speeds it is completed.
        names : given names.
        is_driven : whether speed inputs are those of u, instead of zero.
        """
        layout = layout_of(system)
        plan = CompletionPlan.of(layout, tuple(names))
        states = (*layout.coordinates, *layout.auxiliary_states)
        behind = [name for name in names if name not in states]
        symbols = ca.SX.sym("given", len(behind))
        given = {name: symbols[k] for k, name in enumerate(behind)}
        ways = [plan.hold]
        tries = releases(layout, names)
        partly = {held.orientation.quaternion for way in tries for held in way}
        turned = {k + i for k in partly for i in range(4)}
        fixed = [k for k in plan.hold.fixed if k not in turned]
        ways += [Hold.of(layout, fixed, held) for held in tries]
        closing = [_close(system, hold, given) for hold in ways]
        rated = ((), plan.partly) if plan.partly else ((),)
        speeds = [_speeds(system, plan, own, given) for own in rated]

        def program(name: str, expression: ca.SX) -> Program:
            return _program(system, name, expression, symbols, is_driven=is_driven)

        return cls(
            orient=program("orient", _oriented(system, plan, given)) if plan.angled else None,
            close=tuple(program("close", one) for one in closing if one is not None),
            speeds=tuple(program("speeds", one) for one in speeds),
        )

    @np.errstate(all="ignore")  # what is not finite does not agree
    def way(
        self, exact: Array, begun: Array, u: Array, p: Array, nq: int, steps: int
    ) -> dict[str, Program]:
        """Programs that complete starts as the processor does; empty if no way agrees.

        Parameters
        ----------
        exact : (n, nx) states that the processor completed.
        begun : (n, nx) states with what is given of them.
        u, p : (n, nu) inputs, and (n, k) parameters and what else is given.
        nq : number of coordinates, which the independent speeds follow.
        steps : steps of Newton's method that close the coordinates.
        """
        t = np.zeros(len(begun))
        if self.orient is not None:
            begun = self.orient.interpret(t, begun, u, p)
        for close, speeds in itertools.product((None, *self.close), self.speeds):
            found = begun.copy()
            if close is not None:
                for _ in range(steps):
                    found = close.interpret(t, found, u, p)
            eta = speeds.interpret(t, found, u, p)
            found[:, nq : nq + eta.shape[1]] = eta
            if np.all(np.abs(found - exact) <= APART * np.maximum(1.0, np.abs(exact))):
                ways = {"orient": self.orient, "close": close, "speeds": speeds}
                return {name: one for name, one in ways.items() if one is not None}
        return {}


def _program(
    system: System, name: str, expression: ca.SX, behind: ca.SX, *, is_driven: bool
) -> Program:
    """Operations of (t, x, u, [p; …]), where speed inputs are zero unless it is driven."""
    symbols = system.kinematics.symbols
    if symbols.w.shape[0] and not is_driven:
        expression = ca.substitute(expression, symbols.w, ca.SX.zeros(*symbols.w.shape))
    given = (symbols.t, system.state, system.equations.inputs, ca.vertcat(symbols.params, behind))
    return trace_program(name, given, ca.densify(system.fold(expression)))


def _state(system: System, q: ca.SX) -> ca.SX:
    """The state with other coordinates."""
    return ca.vertcat(q, system.state[q.shape[0] :])


def _with_angles(q: ca.SX, o: Orientation, angles: Sequence[ca.SX]) -> None:
    """Set an orientation to named angles."""
    found = quaternion_from_angles(angles, o.angles.sequence, ca.cos, ca.sin)
    for k, part in enumerate(found):
        q[o.quaternion + k] = part


def _angles(q: ca.SX, o: Orientation) -> list[ca.SX]:
    """Named angles of an orientation."""
    found = traced_angles(q[o.quaternion : o.quaternion + 4], o.angles.sequence)
    return [found[k] for k in range(3)]


def _rate_rows(system: System, held: Held) -> ca.SX:
    """(k, nv) rates of some angles from the tree speeds."""
    o, kin = held.orientation, system.kinematics
    angles, units = _angles(kin.symbols.q, o), ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    columns = [
        ca.vertcat(*angular_velocity(angles, unit, o.angles.sequence, ca.cos, ca.sin))
        for unit in units
    ]
    rows = ca.SX.zeros(len(held.places), kin.num_speeds)
    rows[:, o.speed : o.speed + 3] = ca.inv(ca.densify(ca.horzcat(*columns)))[list(held.places), :]
    return rows


def _oriented(system: System, plan: CompletionPlan, given: Mapping[str, ca.SX]) -> ca.SX:
    """State whose orientations have the named angles, zero where they are not given."""
    q = ca.SX(system.kinematics.symbols.q)
    for o in plan.angled:
        _with_angles(q, o, [given.get(name, ca.SX(0)) for name in o.angle_names])
    return _state(system, q)


def _close(system: System, hold: Hold, given: Mapping[str, ca.SX]) -> ca.SX | None:
    """State after a step (1), over the scale of the speeds; None if nothing can move."""
    layout, kin = layout_of(system), system.kinematics
    closing, free = layout.closing.tolist(), hold.free.tolist()
    if not closing or not free:
        return None
    q, parts = kin.symbols.q, [kin.A[closing, free]]
    if hold.kept.size:
        parts.append(kin.N[hold.kept.tolist(), free])
    parts += [_rate_rows(system, held)[:, free] for held in hold.held]
    scale = ca.SX(ca.DM(hold.scale))
    matrix = ca.densify(ca.vertcat(*parts) @ ca.diag(1 / scale))
    rest = matrix.shape[0] - len(closing)
    right = ca.vertcat(-kin.g[layout.closing_g.tolist()], ca.SX.zeros(rest))
    step = matrix.T @ ca.solve(matrix @ matrix.T, right)
    # no farther than the mechanism is long, or than it is away from where it must be
    longest = ca.fmax(kin.probe.length, ca.mmax(ca.fabs(kin.g)))
    step = step * ca.fmin(1, longest / ca.fmax(ca.norm_2(step), 1e-300))
    moved = q + kin.N[:, free] @ (step / scale)
    for k in hold.quaternions:
        moved[k : k + 4] = moved[k : k + 4] / ca.norm_2(moved[k : k + 4])
    for k in hold.kept.tolist():
        moved[k] = q[k]
    for held in hold.held:
        angles = _angles(moved, held.orientation)
        for place, name in zip(held.places, held.names, strict=True):
            angles[place] = given.get(name, ca.SX(0))
        _with_angles(moved, held.orientation, angles)
    return _state(system, moved)


def _speeds(
    system: System, plan: CompletionPlan, rated: tuple[Held, ...], given: Mapping[str, ca.SX]
) -> ca.SX:
    """Independent speeds (2); of orientations `rated` only the given rates are held."""
    kin = system.kinematics
    eta, known = ca.SX.zeros(kin.num_independent_speeds), set[int]()
    rows, values = list[ca.SX](), list[ca.SX]()
    for name, k in plan.independent.items():
        eta[k] = given[name]
        known.add(k)
    unit = ca.SX.eye(kin.num_speeds)
    for name, k in plan.tree.items():
        rows.append(unit[k, :])
        values.append(given[name])
    for held in rated:
        rows.append(_rate_rows(system, held))
        values += [given[name] for name in held.names]
    partly = [held.orientation for held in rated]
    for o, places in plan.rated:
        if o in partly:
            continue
        angles = _angles(kin.symbols.q, o)
        if all(name in given for name in o.angle_names):
            angles = [given[name] for name in o.angle_names]
        rates = [given.get(name, ca.SX(0)) for name in o.rate_names]
        omega = angular_velocity(angles, rates, o.angles.sequence, ca.cos, ca.sin)
        for k in range(3):
            if places:
                eta[places[k]] = omega[k]
                known.add(places[k])
            else:
                rows.append(unit[o.speed + k, :])
                values.append(omega[k])
    free = [k for k in range(kin.num_independent_speeds) if k not in known]
    if not rows or not free:
        return eta
    T = ca.vertcat(*rows)
    W = ca.densify(T @ kin.S[:, free])
    left = ca.vertcat(*values) - T @ (kin.s + kin.S @ eta)
    if W.shape[0] <= W.shape[1]:
        found = W.T @ ca.solve(W @ W.T, left)
    else:
        found = ca.solve(W.T @ W, W.T @ left)
    for k, place in enumerate(free):
        eta[place] = found[k]
    return eta


#: Operations on vectors for which a thread is worth its start, and up to which the calling thread
#: does them itself, deaf to Ctrl-C for some tens of milliseconds.
LEAST_WORK, MOST_WORK = 400_000, 40_000_000
#: No tables drive the inputs.
_NO_TABLES = TableSets(
    targets=np.zeros(0, np.int64),
    sets=np.zeros(0, np.int64),
    first_segments=np.zeros(0, np.int64),
    end_segments=np.zeros(0, np.int64),
    starts=np.zeros(0),
    coefficients=np.zeros((0, 4)),
    knot_offsets=np.zeros(2, np.int64),
    knots=np.zeros(0),
)


class PeriodColumns(NamedTuple):
    """What is looked at after a period."""

    texts: Mapping[str, str]  #: name for messages → expression, as of outputs
    #: numbers that each motion has of its own, and the expressions know
    variables: tuple[str, ...] = ()

    def program(self, system: System) -> Program:
        """The columns of (t, x, [u; variables], parameters) in a basis."""
        symbols = ca.SX.sym("variables", len(self.variables))
        known = {name: symbols[k] for k, name in enumerate(self.variables)}
        check_definitions(system, known)
        read = [
            read_expression(system, text, where, known, is_output=True)
            for where, text in self.texts.items()
        ]
        kin = system.kinematics
        held = ca.vertcat(system.equations.inputs, symbols)
        given = (kin.symbols.t, system.state, held, kin.symbols.params)
        return trace_program("columns", given, ca.densify(system.fold(ca.vertcat(*read))))

    def thread_programs(self, system: System) -> dict[str, Program]:
        """Functions of a period in a basis, for a thread: rates, projection, and the columns."""
        return motion_programs(system) | {"columns": self.program(system)}


class Periods:
    """n motions of one mechanism, period by period.

    Parameters
    ----------
    system : system whose independent speeds motions begin in, if they can.
    columns : columns that are evaluated.
    count : count of motions.
    step : s.
    values : parameters, nominal if not given.

    Attributes
    ----------
    t, x, held, found : (n,) s, (n, nx), (n, nu + nv) inputs and variables, and (n, nc) columns.
    bases : (n,) number of the independent speeds that each is in, 0 those of the system.
    results : arrays of the loop.
    values : parameters.
    """

    def __init__(
        self,
        system: System,
        columns: PeriodColumns,
        count: int,
        *,
        step: float,
        values: Array | None = None,
    ) -> None:
        self._columns, self._step = columns, step
        self.values = system.parameters() if values is None else values
        self.held = np.zeros((count, len(system.inputs) + len(columns.variables)))
        self.results = empty_results(
            count,
            system.num_states,
            len(columns.texts),
            0,
            0,
            has_minimum=False,
            has_maximum=False,
            samples=np.zeros(0),
        )
        self.results.steps_left[:] = step
        self.bases = np.zeros(count, dtype=int)
        self._lanes = list[_Lanes]()
        self.number_of(system)

    @property
    def t(self) -> Array:
        """(n,) s."""
        return self.results.times

    @property
    def x(self) -> Array:
        """(n, nx) states, each in its own independent speeds."""
        return self.results.states

    @property
    def found(self) -> Array:
        """(n, nc) columns after the last period."""
        return self.results.final

    def basis(self, k: int) -> System:
        """The system in the independent speeds that one motion is in."""
        return self._lanes[self.bases[k]].system

    def starts(self, given: Mapping[str, Array], count: int) -> tuple[Array, NDArray[np.int_]]:
        """(n, nx) consistent states of starts by name, and (n,) numbers of their bases."""
        states, groups = completed_states(self._lanes[0].system, given, count, self.values)
        bases = np.zeros(count, dtype=int)
        for here, some in groups:
            bases[some] = self.number_of(here)
        return states, bases

    def begin(self, which: Indices, states: Array, bases: NDArray[np.int_]) -> None:
        """Let some begin at t = 0 in states with the numbers of their bases."""
        self.t[which], self.x[which], self.bases[which] = 0.0, states, bases
        self.advance(which, 0)

    def advance(self, which: Indices, steps: int) -> NDArray[np.bool_]:
        """Take some on by so many steps; (n,) whether each of them got there."""
        self.results.num_steps[which] = 0
        period = _Period(self, steps)
        groups = [(SegmentBasis(self._lanes[0].system), which)]
        if len(self._lanes) > 1:
            numbers = self.bases[which]
            groups = [
                (SegmentBasis(own.system), which[numbers == k]) for k, own in enumerate(self._lanes)
            ]
        drive(period, [group for group in groups if group[1].size])
        return period.is_there

    def number_of(self, system: System) -> int:
        """Number of a basis, whose code is made when it is first met."""
        for k, own in enumerate(self._lanes):
            if own.system is system:
                return k
        lanes = _Lanes(system, self._columns, self.values, self.results, self.held, self._step)
        self._lanes.append(lanes)
        return len(self._lanes) - 1

    def run(self, system: System, which: Indices, steps: int) -> None:
        """Take some on in one basis, until they are there or as far as it goes."""
        self._lanes[self.number_of(system)].run(which, steps)


class _Period:
    """One period of some motions, for the driver of segments."""

    def __init__(self, periods: Periods, steps: int) -> None:
        self._periods, self._steps = periods, steps
        self.is_there = np.zeros(len(periods.t), dtype=bool)
        #: Steps taken before the speeds changed, −1 where they did not.
        self._changed_at = np.full(len(periods.t), -1)

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Take some on in one basis."""
        if basis.depth:
            return None  # fixed steps go astray where no other speeds are better
        periods, system = self._periods, basis.system
        results = periods.results
        periods.run(system, which, self._steps)
        codes = results.codes[which]
        is_there = codes == rules.MAX_STEPS
        self.is_there[which] = is_there
        if is_there.all():
            return None
        # speeds in which no step was taken are no better than those before them
        is_stuck = results.num_steps[which] == self._changed_at[which]
        some = which[(codes == rules.SINGULAR) & ~is_stuck]
        if not some.size or not self._steps:
            return None
        return Ends(
            which=some,
            codes=results.codes[some],
            indices=results.which[some],
            times=results.times[some],
            states=results.states[some],
            values=np.tile(periods.values, (some.size, 1)),
        )

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Write states in the speeds of another system, through their tree speeds."""
        if there.system is here.system:
            return
        periods = self._periods
        t, x = periods.t[which], periods.x[which]
        u = periods.held[which, : len(here.system.inputs)]
        v = here.system.motion.map(t, x, u, periods.values)[:, : len(here.system.speeds)]
        periods.x[which] = carried(here.system, there.system, x, v)
        periods.bases[which] = periods.number_of(there.system)
        self._changed_at[which] = periods.results.num_steps[which]


class _Lanes:
    """Code for motions in one basis, several side by side in lanes, and the record it reads."""

    def __init__(
        self,
        system: System,
        columns: PeriodColumns,
        values: Array,
        results: LaneResults,
        held: Array,
        step: float,
    ) -> None:
        self.system = system
        lanes, count = native_lanes(), len(held)
        # functions stay loaded as long as this lives
        self._functions = motion_in_lanes(system, lanes) | compile_wide(
            [columns.program(system)], lanes
        )
        self._queue = np.zeros(count, np.int64)
        plan = LanePlan(
            lanes=lanes,
            functions={name: function.address for name, function in self._functions.items()},
            num_states=system.num_states,
            num_generator_states=0,
            num_inputs=len(system.inputs),
            num_columns=len(columns.texts),
            method=rules.RK4,
            queue=self._queue,
            parameters=system.hoisted_rates.parameters(values)[None],
            base_inputs=held,
            tables=_NO_TABLES,
            end_time=np.inf,  # so many steps, not until a time
            update_times=np.zeros(0),
            sample_times=np.zeros(0),
            directions=np.zeros(0),
            num_endings=0,
            health_floors=_floors(system),
            relative_tolerance=0.0,
            absolute_tolerance=np.zeros(system.num_states),
            max_step=step,
            max_steps=0,
            projection_tolerance=0.0,
            is_period=True,
        )
        self._shared, self._lanes = Shared(plan, results), lanes
        self._operations = 4 * system.hoisted_rates.main_program.num_operations

    def run(self, which: Indices, steps: int) -> None:
        """Take some on until each has taken so many steps, or as far as they go."""
        shared, count = self._shared, len(which)
        self._queue[:count] = which
        shared.begin(queue_length=count, max_steps=steps)
        packs = -(-count // self._lanes)
        work = packs * steps * self._operations
        threads = max(1, min(os.cpu_count() or 1, packs, work // LEAST_WORK))
        if threads == 1 and work <= MOST_WORK:
            shared.work()
        else:
            run_workers(lambda _: shared.work(), threads, stop=shared.stop)


@dataclass(frozen=True, slots=True)
class ThreadPeriod:
    """Code of a period in a basis for a thread of a GPU."""

    shape: Shape  #: shape of the loop
    #: mask of the singularity measures that are those of the independent speeds
    is_basis: tuple[bool, ...]

    @classmethod
    def of(cls, system: System, num_variables: int, step: float) -> ThreadPeriod:
        """The period of a system with so many variables behind its inputs, and steps, s."""
        measures, nu = system.singularity_measures, len(system.inputs)
        shape = Shape(
            target=Target.thread(on_stack=True),
            method=rules.RK4,
            nx=system.num_states,
            num_health=len(measures),
            num_inputs=nu,
            num_base=nu + num_variables,
            is_batch=True,
            has_projection=system.has_projection,
            is_period=True,
            floors=tuple(_floors(system).tolist()),
            step=step,
        )
        return cls(shape, tuple(m.kind == "basis" for m in measures))

    def text(self, name: str, *, suffix: str = "", is_hot: bool) -> str:
        """LLVM text of the function, see `print_period`."""
        return print_period(self.shape, name, suffix=suffix, is_hot=is_hot)

    def has_ended(self, f: Flow, counts: Buffer) -> Value:
        """Whether the basis ended within the period that left these counts."""
        ended = f.truth(False)
        for k, is_basis in enumerate(self.is_basis):
            if is_basis:
                ended = ended | counts[2].equals(k)
        return ended & counts[1].equals(rules.SINGULAR)


def _floors(system: System) -> Array:
    """(nh,) bounds of the singularity measures within which fixed steps go astray."""
    measures = system.singularity_measures
    return np.array([m.floor if m.kind == "basis" else m.limit for m in measures])


def completed_states(
    system: System, given: Mapping[str, Array], count: int, values: Array
) -> tuple[Array, list[BasisGroup]]:
    """(n, nx) consistent states, and the systems in whose independent speeds they are."""
    start = complete_starts(
        system, given, count=count, time=0.0, parameters=values[None, :], speed_inputs=None
    )
    groups = run_starts(system, start, 0.0, values[None, :])
    found = np.zeros((count, system.num_states))
    for here, which in groups:
        q, v, mu = start.q[which], start.v[which], start.mu[which]
        state = states_in(here, np.zeros(len(which)), q, v, mu, values)
        found[which, : state.shape[1]] = state
    return found, groups
