"""The adjoint of a recorded run: from ∂J/∂y at the end to ∂J/∂y at the start.

Within a piece λ goes back step by step (`simulation/loop/adjoint.py`). Between two pieces, where y
jumps, y⁺ = J(y, b, p), it goes back as

    λ = J_yᵀ λ⁺,     J_bᵀ λ⁺ and J_pᵀ λ⁺ are added to the derivatives by inputs and parameters

and where a measurement is taken, the derivatives of its misfit are added.

A table is piecewise c₀ r³ + c₁ r² + c₂ r + c₃ with r the time since the segment began; see
`simulation/input_laws.py` for its segments, one before the first time among them. Derivatives by
its values follow from those by the coefficients:

    hold     c₃ = y_i
    linear   c₃ = y_i,  c₂ = (y_{i+1} − y_i) / (t_{i+1} − t_i)
    cubic    all of them linear in all values

The rate of a speed input has the coefficients 0, 3 c₀, 2 c₁, c₂.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.base import Array
from noslip.engines import System
from noslip.simulation.input_laws import Table
from noslip.simulation.input_plan import input_index
from noslip.simulation.native_run import InputTable
from noslip.simulation.recorded_run import Recorded, Recorder
from noslip.simulation.sensitivities.gradient_code import GradientCode
from noslip.simulation.sensitivities.motions import driven_rows
from noslip.simulation.sensitivities.objective import Measurements
from noslip.simulation.sensitivities.segments import Jump, SegmentSettings
from noslip.simulation.sensitivities.variables import INPUT, TABLE, Variable

_POWERS = np.array([3.0, 2.0, 1.0, 0.0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedPiece:
    """A piece of n runs that were done in the same code, with recorded steps.

    Parameters
    ----------
    code, recorder : that they were done in.
    recorded : the runs.
    num_good : samples of each that count.
    jumps : before it; with jumps there is one run.
    """

    code: GradientCode
    recorder: Recorder
    recorded: Sequence[Recorded]
    num_good: int
    jumps: tuple[Jump, ...] = ()


class Pulled:
    """Derivatives of an objective of n runs by states, base inputs, tables and parameters.

    Attributes
    ----------
    weights : (n, ny) λ, by the state.
    base, parameters : by base inputs and by those parameters that are asked for.
    coefficients : (n, k, 4) for each table, by the coefficients of its segments.
    terminal, misfit : (n,) values of these parts of the objective.
    """

    def __init__(self, code: GradientCode, tables: Sequence[InputTable], base: Array) -> None:
        n = len(base)
        self.tables = tables
        self.weights = np.zeros((n, code.loop.num_states))
        self.base = np.zeros((n, base.shape[1] if code.wants_base else 0))
        self.parameters = np.zeros((n, len(code.places)))
        self.coefficients = [np.zeros((n, len(t.starts), 4)) for t in tables]
        self.terminal, self.misfit = np.zeros(n), np.zeros(n)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Derivatives by base inputs and parameters, and segments of tables."""
        segments = sum(len(t.starts) for t in self.tables)
        return self.base.shape[1], self.parameters.shape[1], segments

    def note(self, pulled: Array, t: float, *, from_left: bool) -> Array:
        """Accumulate pulls by base inputs, tables and parameters; returns those by y."""
        size, num = self.weights.shape[1], self.base.shape[1]
        by_base = pulled[:, size : size + num]
        self.base += by_base
        self.parameters += pulled[:, size + num :]
        if num:
            self.note_tables(by_base, t, from_left=from_left)
        return pulled[:, :size]

    def note_tables(self, by_base: Array, t: float, *, from_left: bool = False) -> None:
        """Add derivatives by base inputs at a time to those by the tables that drive them."""
        for table, found in zip(self.tables, self.coefficients, strict=True):
            at = table.segment(float(np.nextafter(t, -np.inf)) if from_left else t)
            found[:, at] += by_base[:, [table.index]] * (t - table.starts[at]) ** _POWERS

    def add(self, j: int, found: Mapping[str, Array]) -> None:
        """Add what a sweep found for one run; λ is the one at its start."""
        self.weights[j] = found["weights"]
        self.base[j] += found["by_base"]
        self.parameters[j] += found["by_parameters"]
        rows, at = found["by_coefficients"].reshape(-1, 4), 0
        for coefficients in self.coefficients:
            coefficients[j] += rows[at : at + coefficients.shape[1]]
            at += coefficients.shape[1]


def sweep_back(
    parts: Sequence[RecordedPiece],
    settings: SegmentSettings,
    base: Array,
    p: Array,
    measurements: Measurements | None,
) -> Pulled:
    """Derivatives of an objective of n runs, from their ends to their starts.

    Parameters
    ----------
    parts : pieces of the runs, in the order of time.
    settings : of the runs.
    base, p : (n, nb) base inputs and (n, np) parameters.
    measurements : whose misfit is part of the objective.
    """
    code, run = parts[-1].code, settings.run
    found = Pulled(code, settings.tables, base)
    end, n = run.end_time, len(base)
    if code.terminal is not None:
        # inputs that jump at the end count as they were before
        now = driven_rows(settings.tables, base, float(np.nextafter(end, -np.inf)))
        states = np.array([recorded.result.state for recorded in parts[-1].recorded])
        values = code.terminal.map(np.full(n, end), states, now, p)
        found.terminal = values[:, 0]
        found.weights += found.note(values[:, 1:], end, from_left=True)
    if code.loop.num_states > code.loop.num_simulated:
        found.weights[:, -1] += 1.0
    for part in reversed(parts):
        added = _measured(part, found, settings, p, measurements)
        part.recorder.prepare_back(part.code.pull, part.code.pull_project, found.sizes)
        for j, recorded in enumerate(part.recorded):
            along = [(t, rows[j]) for t, rows in added]
            found.add(j, part.recorder.back(recorded, found.weights[j], along))
        for jump in reversed(part.jumps):
            _jump(jump, found, settings)
    return found


def _measured(
    part: RecordedPiece,
    found: Pulled,
    settings: SegmentSettings,
    p: Array,
    measurements: Measurements | None,
) -> list[tuple[float, Array]]:
    """Terms that the measurements of a part add to λ, with their times."""
    code, added = part.code, []
    if code.misfit is None or measurements is None:
        return []
    results = [recorded.result for recorded in part.recorded]
    for i, t in enumerate(results[0].times[: part.num_good].tolist()):
        x = np.array([result.states[i] for result in results])
        row = measurements.rows[int(np.searchsorted(measurements.times, t))]
        inputs = np.array([result.inputs[i] for result in results])
        given = np.column_stack([inputs, np.tile(row, (len(x), 1))])
        values = code.misfit.map(np.full(len(x), t), x, given, p)
        found.misfit += values[:, 0]
        is_end = t >= settings.run.end_time
        added.append((t, found.note(values[:, 1:], t, from_left=is_end)))
    return added


def _jump(jump: Jump, found: Pulled, settings: SegmentSettings) -> None:
    """λ before a jump of a single run."""
    code, numbers = jump.code, settings.numbers
    assert isinstance(code, GradientCode)
    pull = code.pull_update if jump.there is None else code.pull_carry(jump.there)
    x = np.concatenate([jump.state, found.weights[0]])
    pulled = pull(jump.time, x, numbers.base_at(jump.time), numbers.p)
    found.weights[0] = found.note(pulled[None], jump.time, from_left=False)[0]


def inputs_instead(variables: Sequence[Variable]) -> list[Variable]:
    """The same variables with the input's value at the start in place of each table."""
    return [
        dataclasses.replace(v, kind=INPUT, values=v.values[:1], table=None)
        if v.kind == TABLE
        else v
        for v in variables
    ]


def by_values(
    system: System, variable: Variable, tables: Sequence[InputTable], found: Sequence[Array]
) -> Array:
    """Derivatives by the values of a table.

    Parameters
    ----------
    system : whose input it is.
    variable : the table.
    tables, found : tables as the loop has them, and derivatives by their coefficients.
    """
    assert variable.table is not None
    place, offset = input_index(system, variable.name)
    indices = [table.index for table in tables]
    by = found[indices.index(place)].copy()
    if offset:
        rate = found[indices.index(place + offset)]
        by[:, :3] += rate[:, 1:] * np.array([3.0, 2.0, 1.0])
    return _by_values(variable.table, by)


def _by_values(table: Table, by: Array) -> Array:
    """Derivatives by the values from those by coefficients (k, 4)."""
    if table.kind == "hold":
        return by[:, 3].copy()
    if table.kind == "linear":
        values = by[1:, 3].copy()
        values[0] += by[0, 3]
        slopes = by[1:-1, 2] / np.diff(table.times)
        values[1:] += slopes
        values[:-1] -= slopes
        return values
    units = np.eye(len(table.times))
    return np.array(
        [np.sum(by * dataclasses.replace(table, values=e).segments()[1]) for e in units]
    )
