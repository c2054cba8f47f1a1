"""Columns of a batch: values recorded of every trajectory, traced, with names and units.

The names are those of a `Trajectory`. What a trajectory finds from all its samples together, such
as its energy error, is not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import casadi as ca

from noslip.base import SimulationError, nearest
from noslip.engines import System
from noslip.model import Quantity, bears_force
from noslip.simulation.expressions import named_values, output_units, read_expression
from noslip.simulation.input_laws import InputGenerator

Column = tuple[str, Callable[[], ca.SX]]  # unit, and how it is traced


def default_columns(system: System) -> tuple[str, ...]:
    """All coordinates and speeds."""
    return tuple(q.name for q in (*system.coordinates, *system.speeds))


def trace_columns(
    system: System,
    names: Sequence[str],
    generator: InputGenerator | None,
    definitions: Mapping[str, str | ca.SX],
    outputs: Mapping[str, str],
) -> tuple[dict[str, str], ca.SX]:
    """Units of the named columns, and their values as one traced column.

    Parameters
    ----------
    system : in whose symbols they are traced.
    names : what to keep.
    generator : of the inputs, whose states are columns too.
    definitions : further names, as in :func:`read_expression`.
    outputs : further columns, expressions of the motion, inputs, accelerations and reactions.
    """
    known = known_columns(system, generator)
    of_outputs = output_units(system, outputs)
    for name, text in outputs.items():
        read = partial(
            read_expression, system, text, f"output '{name}'", definitions, is_output=True
        )
        known[name] = (of_outputs[name], read)
    for name in definitions:
        read = partial(read_expression, system, name, f"column '{name}'", definitions)
        known.setdefault(name, ("", read))
    values = []
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise SimulationError(
                f"there is no column '{name}'",
                f"columns of a batch of model '{system.model.name}'",
                nearest(str(name), list(known)),
            )
        values.append(ca.densify(ca.SX(known[name][1]())))
    units = {name: known[name][0] for name in names}
    return units, ca.vertcat(*values) if values else ca.SX(0, 1)


def known_columns(system: System, generator: InputGenerator | None) -> dict[str, Column]:
    """All columns of a system, by name: unit and a function that traces it."""
    kin, eq = system.kinematics, system.equations
    known: dict[str, Column] = {}

    def add(quantities: Iterable[tuple[str, str]], column: Callable[[], Any]) -> None:
        for k, (name, unit) in enumerate(quantities):
            known[name] = (unit, partial(_entry, column, k))

    def with_units(quantities: Iterable[Quantity]) -> list[tuple[str, str]]:
        return [(q.name, q.unit) for q in quantities]

    add(with_units(system.coordinates), lambda: kin.symbols.q)
    add(with_units(system.speeds), lambda: kin.v)
    add(with_units(system.inputs), lambda: eq.inputs)
    rates = [(f"acceleration.{q.name}", f"{q.unit}^2") for q in system.speeds]
    add(rates, lambda: eq.speed_rates)
    for name, (unit, named) in named_values(system).items():
        known[name] = (unit, partial(_at_speeds, system, named))
    for trace in kin.contacts:
        names = [(f"{trace.contact.name}.contact_{axis}", "m") for axis in "xyz"]
        add(names, partial(kin.at_speeds, trace.point))
    after_eta = kin.num_coordinates + kin.num_independent_speeds
    add(with_units(system.auxiliary_states), lambda: system.state[after_eta:])
    if generator is not None:
        states = generator.states
        add(zip(generator.names, generator.units, strict=True), lambda: states)
    add([("kinetic_energy", "J")], lambda: eq.kinetic_energy)
    add([("potential_energy", "J")], lambda: eq.forces.potential_energy)
    add([("work", "J")], lambda: system.state[-1] if system.does_work else ca.SX(0))
    add([(f"residual.{row.name}", row.unit) for row in kin.rows], lambda: kin.row_values)
    contacts = system.model.contacts
    bearing = [k for k, row in enumerate(kin.rows) if bears_force(contacts, row.name)]
    reactions = [(f"reaction.{kin.rows[k].name}", kin.rows[k].multiplier_unit) for k in bearing]
    add(reactions, lambda: eq.multipliers[bearing])
    return known


def _entry(column: Callable[[], Any], k: int) -> ca.SX:
    return column()[k]


def _at_speeds(system: System, trace: Callable[[], ca.SX]) -> ca.SX:
    return system.kinematics.at_speeds(trace())
