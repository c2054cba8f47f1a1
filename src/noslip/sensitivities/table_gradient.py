"""Derivatives by the values of a table, from those by the coefficients of its segments.

A table is piecewise c₀ r³ + c₁ r² + c₂ r + c₃ with r the time since the segment began; see
`simulation/inputs.py` for its segments, one before the first time among them.

    hold     c₃ = y_i
    linear   c₃ = y_i,  c₂ = (y_{i+1} − y_i) / (t_{i+1} − t_i)
    cubic    all of them linear in all values

The rate of a speed input has the coefficients 0, 3 c₀, 2 c₁, c₂.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from noslip.engines.system import Array, System
from noslip.sensitivities.values import place_of
from noslip.sensitivities.variables import INPUT, TABLE, Variable
from noslip.simulation.input_kinds import Table
from noslip.simulation.plan import InputTable


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
    place, offset = place_of(system, variable.name)
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
