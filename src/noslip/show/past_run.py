"""`read_run`: a run's folder back as the trajectory it was written from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip.analysis.reactions import sampled_states
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.formulations.derive import derive
from noslip.model.files import load_model
from noslip.show.folder import MODEL, SUMMARY, TRAJECTORY
from noslip.simulation.path_errors import COLUMNS, PathErrors
from noslip.simulation.trajectory import Ending, Trajectory

if TYPE_CHECKING:
    import xarray


def read_run(folder: str | Path) -> Trajectory:
    """The trajectory in a folder that `noslip run`, `noslip track` or :func:`write_run` made.

    Parameters
    ----------
    folder : with ``model.toml``, ``trajectory.nc`` and ``summary.json``.

    Raises
    ------
    SimulationError : if the folder is no run, or its files do not belong together.
    """
    place = Path(folder)
    for name in (MODEL, TRAJECTORY, SUMMARY):
        if not (place / name).is_file():
            raise SimulationError(
                f"the folder has no {name}, so it is not a run that can be read",
                str(place),
                "give a folder that `noslip run` or `noslip track` made, or simulate again",
            )
    import xarray

    try:
        said: dict[str, Any] = json.loads((place / SUMMARY).read_text(encoding="utf-8"))
        with xarray.open_dataset(place / TRAJECTORY, engine="h5netcdf") as dataset:
            return _trajectory(System(equations=derive(load_model(place / MODEL))), dataset, said)
    except (KeyError, OSError, ValueError) as error:
        raise SimulationError(
            f"the files of the run do not belong together or are damaged: {error}",
            str(place),
            "simulate again",
        ) from None


def _trajectory(system: System, dataset: xarray.Dataset, said: dict[str, Any]) -> Trajectory:
    kin = system.kinematics
    t = np.asarray(dataset["time"].values, dtype=float)
    taken: set[str] = set()

    def table(names: list[str]) -> Array:
        taken.update(names)
        columns = [np.asarray(dataset[name].values, dtype=float) for name in names]
        return np.column_stack(columns) if columns else np.empty((len(t), 0))

    rows = [row.name for row in kin.rows]
    has_forces = bool(rows) and f"reaction.{rows[0]}" in dataset
    q, v = (table([x.name for x in xs]) for xs in (system.coordinates, system.speeds))
    vdot = table([f"acceleration.{s.name}" for s in system.speeds])
    inputs = table([i.name for i in system.inputs])
    residuals = table([f"residual.{name}" for name in rows])
    multipliers = table([f"reaction.{name}" for name in rows]) if has_forces else None
    path_errors = None
    if "path_length" in said:
        along, across, _, heading = table([*COLUMNS]).T
        path_errors = PathErrors(
            along=along, across=across, heading=heading, length=said["path_length"]
        )
    energies = table(["kinetic_energy", "potential_energy", "work"])
    run = Trajectory(
        model=system.model,
        parameters={p.name: float(said["parameters"][p.name]) for p in system.model.parameters},
        coordinates=system.coordinates,
        speeds=system.speeds,
        input_quantities=system.inputs,
        rows=tuple(rows),
        row_units=tuple(row.unit for row in kin.rows),
        multiplier_units=tuple(row.multiplier_unit for row in kin.rows),
        t=t,
        q=q,
        v=v,
        vdot=vdot,
        inputs=inputs,
        kinetic_energy=energies[:, 0],
        potential_energy=energies[:, 1],
        work=energies[:, 2],
        row_residuals=residuals,
        position_residuals=np.empty((len(t), 0)),
        multipliers=multipliers,
        extra=_extra(system, dataset, taken),
        ending=Ending[said["ending"].upper()],
        message=said["message"],
        notes=tuple(said["notes"]),
        steps=said["steps"],
        rejections=said["rejections"],
        nfev=said["evaluations"],
        rtol=said["rtol"],
        atol=said["atol"],
        method=said["method"],
        ended_by=said.get("ended_by"),
        path_errors=path_errors,
        admissibility=said.get("admissibility_residual", 0.0),
    )
    return _with_gaps(system, run)


def _extra(
    system: System, dataset: xarray.Dataset, taken: set[str]
) -> dict[str, tuple[str, Array]]:
    """Columns that are neither states nor follow from them."""
    follows = {"energy_error"}
    for joint in system.model.joints:
        angles = getattr(joint.type, "angles", None)
        names = [f"{joint.name}.{n}" for n in angles.names] if angles is not None else []
        follows |= {*names, *(f"{name}_rate" for name in names)}
    follows |= {s.name for s in system.model.independent_speeds if s.expression}
    return {
        str(name): (str(column.attrs["units"]), np.asarray(column.values, dtype=float))
        for name, column in dataset.data_vars.items()
        if name not in taken | follows
    }


def _with_gaps(system: System, run: Trajectory) -> Trajectory:
    """The residuals of position, which the file does not hold, computed again."""
    table = system.residuals.map(*sampled_states(system, run))
    return dataclasses.replace(run, position_residuals=table[:, len(run.rows) :])
