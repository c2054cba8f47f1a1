"""Motions period by period: many of one mechanism, taken on together under inputs that are held.

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

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
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
from noslip.simulation import rules
from noslip.simulation.batches.code import motion_in_lanes, motion_programs
from noslip.simulation.batches.lanes import (
    LanePlan,
    LaneResults,
    Shared,
    TableSets,
    empty_results,
)
from noslip.simulation.expressions import check_definitions, read_expression
from noslip.simulation.loop.loop import print_period
from noslip.simulation.loop.shape import Shape
from noslip.simulation.segments import (
    Ends,
    Indices,
    SegmentBasis,
    carried,
    drive,
)
from noslip.simulation.starts.bases import BasisGroup, run_starts, states_in
from noslip.simulation.starts.completion import complete_starts
from noslip.simulation.workers import run_workers

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
    """What is looked at after a period.

    Parameters
    ----------
    texts : name for messages → expression, as of outputs.
    variables : numbers that each motion has of its own, and the expressions know.
    """

    texts: Mapping[str, str]
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


class Periods:
    """n motions of one mechanism, period by period.

    Parameters
    ----------
    system : whose independent speeds motions begin in, if they can.
    columns : what is looked at.
    count : of motions.
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
    """Code of a period in a basis for a thread of a GPU.

    Parameters
    ----------
    shape : of the loop.
    is_basis : which of the singularity measures are those of the independent speeds.
    """

    shape: Shape
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


def thread_programs(system: System, columns: PeriodColumns) -> dict[str, Program]:
    """Functions of a period in a basis: rates, projection, and columns."""
    return motion_programs(system) | {"columns": columns.program(system)}


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
