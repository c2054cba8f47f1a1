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
from collections.abc import Sequence

import numpy as np

from noslip.base import Array
from noslip.engines import System
from noslip.simulation.input_laws import Table
from noslip.simulation.input_plan import input_index
from noslip.simulation.plan import InputTable
from noslip.simulation.recorded_run import AdjointDerivatives, RecordedRun
from noslip.simulation.sensitivities.closed_loop import segment_at
from noslip.simulation.sensitivities.gradient_code import GradientCode
from noslip.simulation.sensitivities.objective import Measurements
from noslip.simulation.sensitivities.segments import Jump, Piece, SegmentSettings
from noslip.simulation.sensitivities.variables import INPUT, TABLE, Variable

_POWERS = np.array([3.0, 2.0, 1.0, 0.0])


class Adjoint:
    """Derivatives of an objective, collected from the end of a run to its start.

    Attributes
    ----------
    found : λ and the derivatives by base inputs, tables and parameters.
    terminal, misfit : values of these parts of the objective.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        recorded: Sequence[RecordedRun],
        settings: SegmentSettings,
        measurements: Measurements | None,
    ) -> None:
        self._pieces, self._recorded = pieces, recorded
        self._settings, self._measurements = settings, measurements
        code = _code(pieces[-1])
        self.found = AdjointDerivatives(
            weights=np.zeros(code.loop.num_states),
            base=np.zeros(len(settings.base) if code.wants_base else 0),
            parameters=np.zeros(len(code.places)),
            coefficients=[np.zeros((len(t.starts), 4)) for t in settings.tables],
        )
        self.terminal = self.misfit = 0.0

    @property
    def tables(self) -> tuple[InputTable, ...]:
        """Tables that drive base inputs."""
        return self._settings.tables

    def go(self) -> None:
        """Sweep from the end of the run to its start."""
        self._begin()
        for piece, recorded in zip(reversed(self._pieces), reversed(self._recorded), strict=True):
            code = _code(piece)
            recorded.back(self.found, code.pull, code.pull_project, self._measured(piece, code))
            for jump in reversed(piece.jumps):
                self._jump(jump)

    def note_tables(self, by_base: Array, t: float, *, from_left: bool = False) -> None:
        """Add derivatives by base inputs at a time to those by the tables that drive them."""
        if not by_base.size:
            return
        for table, found in zip(self._settings.tables, self.found.coefficients, strict=True):
            at = segment_at(table.starts, float(np.nextafter(t, -np.inf)) if from_left else t)
            found[at] += by_base[table.index] * (t - table.starts[at]) ** _POWERS

    def _begin(self) -> None:
        """λ at the end: of the running cost, and of the terminal expression."""
        last, found, numbers = self._pieces[-1], self.found, self._settings.numbers
        code, t = _code(last), last.result.time
        if code.loop.num_states > code.loop.num_simulated:
            found.weights[-1] = 1.0
        if code.terminal is not None:
            # inputs that jump at the end count as they were before
            base = numbers.base_at(float(np.nextafter(t, -np.inf)))
            value, *pulled = code.terminal(t, last.result.state, base, numbers.p)
            self.terminal = float(value)
            found.weights += self._note(np.array(pulled), t, from_left=True)

    def _measured(self, piece: Piece, code: GradientCode) -> list[tuple[float, Array]]:
        """Terms that the measurements of a piece add to λ, with their times."""
        measurements, added = self._measurements, []
        if code.misfit is None or measurements is None:
            return []
        result, rows = piece.result, measurements.rows
        for k in range(piece.num_good):
            t = float(result.times[k])
            row = rows[int(np.searchsorted(measurements.times, t))]
            given = np.concatenate([result.inputs[k], row])
            value, *pulled = code.misfit(t, result.states[k], given, self._settings.numbers.p)
            self.misfit += float(value)
            is_end = t >= self._settings.run.end_time
            added.append((t, self._note(np.array(pulled), t, from_left=is_end)))
        return added

    def _jump(self, jump: Jump) -> None:
        """λ before a jump."""
        code, found = jump.code, self.found
        assert isinstance(code, GradientCode)
        pull = code.pull_update if jump.there is None else code.pull_carry(jump.there)
        x = np.concatenate([jump.state, found.weights])
        base = self._settings.numbers.base_at(jump.time)
        pulled = pull(jump.time, x, base, self._settings.numbers.p)
        found.weights[:] = self._note(pulled, jump.time, from_left=False)

    def _note(self, pulled: Array, t: float, *, from_left: bool) -> Array:
        """Accumulate a pull by base inputs, tables and parameters; returns that by y."""
        found = self.found
        size, num = found.weights.size, found.base.size
        by_base = pulled[size : size + num]
        found.base += by_base
        found.parameters += pulled[size + num :]
        self.note_tables(by_base, t, from_left=from_left)
        return pulled[:size].copy()


def _code(piece: Piece) -> GradientCode:
    assert isinstance(piece.code, GradientCode)
    return piece.code


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
