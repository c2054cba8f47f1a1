"""Energies and what does not balance, residuals of the constraints, errors against a reference."""

from __future__ import annotations

import numpy as np

from noslip.errors import SimulationError
from noslip.show.plots.curves import Array, Curve, Panel
from noslip.show.plots.histories import unit_of
from noslip.show.units import quantity_of
from noslip.simulation.path_errors import PathErrors
from noslip.simulation.trajectory import Trajectory


def energy_panels(run: Trajectory) -> list[Panel]:
    """Energies and work, the energy that is missing, and the largest residual of each unit."""
    start = run.potential_energy[0]
    curves = (
        Curve(label="kinetic_energy", x=run.t, y=run.kinetic_energy),
        Curve(label="Δ potential_energy", x=run.t, y=run.potential_energy - start),
        Curve(label="work", x=run.t, y=run.work, dashes=(4.0, 1.6)),
    )
    missing = Curve(label="|energy_error|", x=run.t, y=run.energy_error)
    panels = [
        Panel(name="energy", unit="J", curves=curves),
        Panel(name="missing energy", unit="J", curves=(missing,), log=True),
    ]
    for unit, members in _rows_by_unit(run).items():
        largest = np.max(np.abs(run.row_residuals[:, members]), axis=1)
        if np.any(largest):
            curve = Curve(label="largest residual", x=run.t, y=largest)
            panels.append(_residuals(unit, (curve,)))
    return panels


def residual_panels(run: Trajectory) -> list[Panel]:
    """|A v + a| of every row."""
    panels = []
    for unit, members in _rows_by_unit(run).items():
        curves = [
            Curve(label=run.rows[k], x=run.t, y=run.row_residuals[:, k]) for k in members
        ]  # fmt: skip
        panels.append(_residuals(unit, tuple(curves)))
    return panels


def _residuals(unit: str, curves: tuple[Curve, ...]) -> Panel:
    said = tuple(
        Curve(label=f"{c.label} (zero)" if not np.any(c.y) else c.label, x=c.x, y=c.y)
        for c in curves
    )
    return Panel(name="residual", unit=unit, curves=said, log=True)


def _rows_by_unit(run: Trajectory) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for k, unit in enumerate(run.row_units):
        groups.setdefault(unit, []).append(k)
    return groups


def error_panels(run: Trajectory) -> list[Panel]:
    """|simulated − reference| of coordinates, those of one unit together."""
    groups: dict[str, list[str]] = {}
    for name in run.errors:
        groups.setdefault(unit_of(run, name), []).append(name)
    if not groups:
        raise SimulationError(
            "the run has no reference to compare with",
            f"plot of model '{run.model.name}'",
            "plot errors of a run that followed a motion or a path",
        )
    return [
        Panel(
            name=f"{quantity_of(unit) or 'coordinate'} error",
            unit=unit,
            curves=tuple(Curve(label=name, x=run.t, y=run.errors[name]) for name in names),
            log=True,
        )
        for unit, names in groups.items()
    ]


def path_error_panels(t: Array, errors: PathErrors) -> list[Panel]:
    """Errors of a tracked path: ahead of and beside the reference, and turned against it."""
    places = (
        Curve(label="along", x=t, y=errors.along),
        Curve(label="across", x=t, y=errors.across),
    )
    heading = Curve(label="heading", x=t, y=errors.heading)
    return [
        Panel(name="path error", unit="m", curves=places),
        Panel(name="heading error", unit="rad", curves=(heading,)),
    ]
