"""`Trajectory`, the fifth stage: what happened, with names, units and how it ended."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noslip.base import (
    Array,
    MissingNameError,
    SimulationError,
    check_folder,
    counted,
    format_of,
    nearest,
    require,
    write_file,
)
from noslip.model import Model, Quantity, Scenario, bears_force
from noslip.simulation.lazy_columns import (
    Columns,
    Given,
    LazyField,
    LazyValue,
    Sources,
    column,
    named_columns,
)
from noslip.simulation.path_errors import WORSE, PathErrors
from noslip.simulation.run_files import AbstractRunFormat, Csv, NetCDF, check_file

if TYPE_CHECKING:
    import xarray


#: Share of the energy exchanged, or of the way that was prescribed, from which on an error says
#: that a run means nothing; rounding leaves 1e-9 of it, the loosest tolerance some hundredths.
MEANINGLESS = 0.1
#: Speeds below this are rounding: nothing moves, m/s or rad/s.
AT_REST = 1e-13


class Ending(enum.Enum):
    """Every way a run can end, in the order in which they sort; the value is the sentence shown."""

    FINISHED = "The run reached its end time."
    EVENT = "The run ended at an event."
    CANCELLED = "The run was cancelled; the motion up to then is kept."
    STEP_TOO_SMALL = (
        "The steps became too small to advance the time: the motion is stiff or singular here. "
        "Loosen the tolerance, or check what happens at this time."
    )
    SINGULAR = "The mechanism reached a singular configuration."
    NON_FINITE = "The equations gave a number that is not finite."
    MAX_STEPS = "The allowed number of steps was used up. Raise max_steps, or loosen the tolerance."
    PROJECTION_FAILED = "A step could not be projected onto the constraints: take smaller steps."
    CONTACTS = "Contacts by Coulomb's law do not continue the motion."

    def __lt__(self, other: object) -> bool:
        """Whether it is listed before another one, so that ``np.unique(batch.endings)`` works."""
        if not isinstance(other, Ending):
            return NotImplemented
        listed = list(Ending)
        return listed.index(self) < listed.index(other)


class ContactEvent(NamedTuple):
    """A change of a contact in a run with ``contact="coulomb"``.

    Parameters
    ----------
    time : s.
    contact : its name.
    what : ``slips``, ``grips``, ``lifts``, ``lands`` or ``bounces``.
    loss : energy that the impact took, if it was one, J; with the first of several contacts.
    """

    time: float
    contact: str
    what: str
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Trajectory:
    """A simulated motion, sampled: what `simulate`, `run_scenario` and `track` return.

    Names follow SciPy's `solve_ivp` where it has them: `t`, `y`, `nfev`, `status`, `message`,
    `success`.

    Parameters
    ----------
    model : the mechanism that moved.
    t : (n,) times, s.
    q, v : (n, nq) coordinates and (n, nv) tree speeds.
    vdot : (n, nv) rates of the tree speeds; those of a run are computed when first asked for.
    inputs : (n, nu + 2 nw) force inputs, speed inputs and their rates.
    kinetic_energy, potential_energy : (n,), J.
    work : (n,) done since the start by everything without a potential, J.
    row_residuals : (n, nc) A v + a of all rows.
    position_residuals : (n, nh) g of the holonomic rows.
    multipliers : (n, nc) if they were asked for.
    extra : further columns by name: unit and values, or what finds them (contact points, states of
        an input law, outputs).
    ending : how it ended; `message` says it with the place.
    notes : what else there is to know of it; second contacts and contacts that would lift off are
        searched for when first read.
    contact : law of its contacts, ``ideal`` or ``coulomb``.
    contact_events : when contacts slipped, gripped, lifted and landed, of a run with Coulomb's law.
    ended_by : name of the expression in `stop` that ended it, if one did.
    event_times, event_states : event → (k,) when its value crossed zero, and (k, nq + nv) [q; v].
    scenario : as it was run, changes included; None for a run of another kind.
    path_errors : against the path that was tracked; None for a run of another kind.
    admissibility : largest part of the reference's rates that no admissible motion has, m/s, rad/s.
    """

    model: Model
    parameters: dict[str, float]
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    input_quantities: tuple[Quantity, ...]
    rows: tuple[str, ...]
    row_units: tuple[str, ...]
    multiplier_units: tuple[str, ...]
    t: Array
    q: Array
    v: Array
    vdot: LazyField[Array] = LazyField()
    inputs: Array
    kinetic_energy: Array
    potential_energy: Array
    work: Array
    row_residuals: Array
    position_residuals: Array
    multipliers: Array | None
    extra: Mapping[str, tuple[str, Given]]
    ending: Ending
    message: str
    notes: LazyField[tuple[str, ...]] = LazyField()
    steps: int
    rejections: int
    nfev: int
    rtol: float
    atol: float
    method: str
    start_completed: dict[str, float] = field(default_factory=dict)
    event_times: dict[str, Array] = field(default_factory=dict)
    event_states: dict[str, Array] = field(default_factory=dict)
    ended_by: str | None = None
    contact: str = "ideal"
    contact_events: tuple[ContactEvent, ...] = ()
    scenario: Scenario | None = None
    path_errors: PathErrors | None = None
    admissibility: float = 0.0

    @staticmethod
    def events_of(entries: Sequence[Mapping[str, Any]]) -> tuple[ContactEvent, ...]:
        """Events of contacts from plain data."""
        return tuple(ContactEvent(**entry) for entry in entries)

    @property
    def success(self) -> bool:
        """Whether the run came to its end time or to an event, and nothing says it is wrong."""
        return self.ending in (Ending.FINISHED, Ending.EVENT) and not self.doubts

    @property
    def status(self) -> int:
        """0 at the end time, 1 at an event, −1 otherwise, as in SciPy."""
        return {Ending.FINISHED: 0, Ending.EVENT: 1}.get(self.ending, -1)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Reasons to reject the result of a run that finished; empty if there are none.

        The balance of energy is of order one or no number, a run that follows a motion is as far
        away from it as the motion goes, or no step was taken.
        """
        if self.ending not in (Ending.FINISHED, Ending.EVENT) or not len(self.t):
            return ()
        found = [self._energy_doubt(), self._tracking_doubt()]
        if not self.steps and self.t[-1] > self.t[0]:
            found.append("no step was taken")
        return tuple(doubt for doubt in found if doubt)

    def _energy_doubt(self) -> str:
        off = np.abs(self.energy_error)
        if not np.all(np.isfinite(off)):
            return "its energy balance is not a number"
        stored = self.kinetic_energy, self.potential_energy, self.work
        moved = max(float(np.max(self.kinetic_energy)), *(float(np.ptp(e)) for e in stored[1:]))
        # rounding of large energies that cancel is no error of the motion
        rounding = 1e3 * np.finfo(float).eps * sum(float(np.max(np.abs(e))) for e in stored)
        is_moving = float(np.max(np.abs(self.v), initial=0.0)) > AT_REST
        if not is_moving or float(np.max(off)) <= max(MEANINGLESS * moved, rounding):
            return ""
        return f"its energy balance is off by {self.energy_drift:.2g} of the energy exchanged"

    def _tracking_doubt(self) -> str:
        # one that left a path under a controller says so by `path_errors.lost`, and a plant that
        # is not the model need not follow it
        is_other = any(name.startswith("got.") for name in self.extra)
        if self.path_errors is not None or not self.errors or is_other:
            return ""
        for error in self.largest_errors:
            ways = [
                float(np.ptp(self[f"reference.{name}"]))
                for name in self.errors
                if self.columns[name][0] == error.unit
            ]
            # one that begins beside its motion, as at a set point, is to come back to it
            begun = [
                abs(float(e[0])) for n, e in self.errors.items() if self.columns[n][0] == error.unit
            ]
            if not error.size <= max(MEANINGLESS * max(ways), WORSE * max(begun), AT_REST):
                return (
                    f"it is {error.size:.3g} {error.unit} off its prescribed motion "
                    f"({error.name}), which covers {max(ways):.3g} {error.unit}"
                )
        return ""

    @property
    def verdict(self) -> str:
        """Ending as a sentence, with the reasons to reject the result if there are any."""
        if not self.doubts:
            return self.message
        return f"{self.message} But the result is meaningless: {'; '.join(self.doubts)}."

    @property
    def y(self) -> Array:
        """(nq + nv, n) coordinates and tree speeds, as SciPy lays them out."""
        return np.vstack([self.q.T, self.v.T])

    @cached_property
    def energy_error(self) -> Array:
        """(n,) K + U − work, less its value at the start: zero for exact motion, J."""
        total = self.kinetic_energy + self.potential_energy - self.work
        return total - total[0] if len(total) else total

    @property
    def energy_drift(self) -> float:
        """Largest |energy_error| over the largest energy that moved, dimensionless."""
        scale = max(
            float(np.max(np.abs(self.kinetic_energy), initial=0.0)),
            float(np.ptp(self.potential_energy)) if len(self.t) else 0.0,
            1e-300,
        )
        return float(np.max(np.abs(self.energy_error), initial=0.0)) / scale

    @property
    def slip(self) -> float:
        """Largest |A v + a| over all rows and samples, in the rows' units (m/s or rad/s)."""
        return float(np.max(np.abs(self.row_residuals), initial=0.0))

    @property
    def gap(self) -> float:
        """Largest |g| over all holonomic rows and samples, m or rad."""
        return float(np.max(np.abs(self.position_residuals), initial=0.0))

    @cached_property
    def errors(self) -> dict[str, Array]:
        """Column → (n,) simulated minus reference; empty without a reference.

        Of a tracked path ``path.position_error`` and ``path.heading_error``: nothing tracks the
        angles of wheels and casters, and from a disturbed start a wheel has rolled another way than
        the reference's. Of a run that follows a motion all coordinates.
        """
        if self.path_errors is not None:
            return {name: self[name] for name in ("path.position_error", "path.heading_error")}
        return {
            c.name: self[c.name] - self[f"reference.{c.name}"]
            for c in self.coordinates
            if f"reference.{c.name}" in self.columns
        }

    @property
    def tracking_error(self) -> float:
        """Largest distance from a tracked path, m; otherwise largest of all errors, m or rad."""
        if self.path_errors is not None:
            return self.path_errors.largest
        return max((float(np.max(np.abs(e))) for e in self.errors.values() if len(e)), default=0.0)

    @cached_property
    def columns(self) -> Columns:
        """Every column by name: unit and (n,) values."""
        table: Sources = {}
        for quantities, values in (
            (self.coordinates, self.q),
            (self.speeds, self.v),
            (self.input_quantities, self.inputs),
        ):
            for k, quantity in enumerate(quantities):
                table[quantity.name] = (quantity.unit, values[:, k])
        vdot: Given = vars(self)["vdot"]  # not computed yet
        for k, quantity in enumerate(self.speeds):
            table[f"acceleration.{quantity.name}"] = (f"{quantity.unit}^2", column(vdot, k))
        table |= named_columns(self)
        table |= dict(self.extra)
        if self.path_errors is not None:
            table |= self.path_errors.columns
        table["kinetic_energy"] = ("J", self.kinetic_energy)
        table["potential_energy"] = ("J", self.potential_energy)
        table["work"] = ("J", self.work)
        table["energy_error"] = ("J", self.energy_error)
        for k, name in enumerate(self.rows):
            table[f"residual.{name}"] = (self.row_units[k], self.row_residuals[:, k])
            if self.multipliers is not None and bears_force(self.model.contacts, name):
                unit = self.multiplier_units[k]
                table[f"reaction.{name}"] = (unit, self.multipliers[:, k])
        return Columns(table)

    def __getitem__(self, name: str) -> Array:
        """Values of a column, such as ``run["wheel1.angle"]``."""
        if name == "time":
            return self.t
        if not isinstance(name, str) or name not in self.columns:
            fix = nearest(str(name), ["time", *self.columns])
            if isinstance(name, list | tuple):
                fix = "take one at a time, or several from run.to_xarray()"
            if str(name).startswith("reaction.") and self.multipliers is None:
                fix = "simulate with reactions=True"
            raise MissingNameError(
                f"there is no column '{name}'", f"trajectory of model '{self.model.name}'", fix
            )
        return self.columns[name][1]

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self.columns

    def to_xarray(self) -> xarray.Dataset:
        """Dataset with one variable a column over ``time``, units as attributes."""
        require("xarray", "to_xarray", f"trajectory of model '{self.model.name}'")
        import xarray

        data = {
            name: ("time", values, {"units": unit}) for name, (unit, values) in self.columns.items()
        }
        return xarray.Dataset(
            data,
            coords={"time": ("time", self.t, {"units": "s"})},
            attrs=self.attributes,
        )

    @property
    def attributes(self) -> dict[str, str | float]:
        """Metadata of the columns: model, message, method, tolerances and parameters."""
        return {
            "model": self.model.name,
            "message": self.message,
            "method": self.method,
            "rtol": self.rtol,
            "atol": self.atol,
            "parameters": ", ".join(f"{k} = {v:.17g}" for k, v in self.parameters.items()),
        }

    def plot(self, what: str | Sequence[str] = "", **options: Any) -> Any:
        """A figure of the run, as :func:`noslip.plot` draws it: ``run.plot("path")``."""
        import noslip

        return noslip.plot(self, what, **options)

    def animate(self, path: str | Path | None = None, **options: Any) -> Any:
        """A player in a notebook, or a file if there is a path; see :func:`noslip.animate`."""
        import noslip

        return noslip.animate(self, path, **options)

    def save(self, path: str | Path) -> None:
        """Write all columns to a file, all or nothing; its suffix says the format.

        Raises
        ------
        SimulationError : if no format has that suffix, or there is no such folder.
        """
        format = format_of(AbstractRunFormat, path, "write")
        write_file(format, self, check_folder(path, SimulationError))

    def to_netcdf(self, path: str | Path) -> None:
        """Write what `to_xarray` holds as NetCDF, all or nothing."""
        write_file(NetCDF(), self, check_file(path, NetCDF(), "to_csv writes CSV"))

    def to_csv(self, path: str | Path) -> None:
        """Write all columns as CSV, the unit after each name, all or nothing."""
        write_file(Csv(), self, check_file(path, Csv(), "to_netcdf writes NetCDF"))

    def summary(self) -> str:
        """One honest line: how it ended, energy, constraints, effort; one more on a reference."""
        line = (
            f"{self.verdict}  energy drift {self.energy_drift:.2g}, constraint residual "
            f"{self.slip:.2g} (speeds) {self.gap:.2g} (positions), "
            f"{counted(self.steps, 'step')}, {counted(self.nfev, 'evaluation')}"
        )
        if not self.errors or not len(self.t):
            return line
        if self.path_errors is not None:
            return f"{line}\n{self.covered()}: {self.path_errors.text()}"
        return f"{line}\ntracking error {self.tracking_error:.2g} m or rad"

    def input_use(self) -> dict[str, InputUse]:
        """Input → root mean square, largest magnitude and energy over the run."""
        found = {}
        span = float(self.t[-1] - self.t[0]) if len(self.t) else 0.0
        for quantity in self.input_quantities:
            energy = f"energy.{quantity.name}"
            if energy not in self.columns:
                continue
            values = self[quantity.name]
            mean = float(np.trapezoid(values**2, self.t)) / span if span > 0 else 0.0
            found[quantity.name] = InputUse(
                unit=quantity.unit,
                rms=float(np.sqrt(mean)),
                peak=float(np.max(np.abs(values), initial=0.0)),
                energy=float(self[energy][-1]) if len(self.t) else 0.0,
            )
        return found

    @property
    def largest_errors(self) -> list[LargestError]:
        """The largest errors of a run with samples, those in m and those in rad apart."""
        found = []
        for unit in dict.fromkeys(self.columns[name][0] for name in self.errors):
            sizes = {n: np.abs(e) for n, e in self.errors.items() if self.columns[n][0] == unit}
            worst = max(sizes, key=lambda n: float(np.max(sizes[n])))
            last = max(sizes, key=lambda n: float(sizes[n][-1]))
            most, end = float(np.max(sizes[worst])), float(sizes[last][-1])
            found.append(LargestError(unit, most, worst, end, last))
        return found

    def covered(self) -> str:
        """Covered part of the tracked path, and the time it took."""
        if self.path_errors is None:
            raise SimulationError(
                "the run has no path",
                f"trajectory of model '{self.model.name}'",
                "use a run of `track`",
            )
        driven = f"{self['path.arc_length'][-1]:.6g} m of {self.path_errors.length:.6g} m"
        return f"{driven} in {self.t[-1]:.6g} s"

    def replaced(self, **changes: Any) -> Trajectory:
        """A copy with other fields; what is computed when first asked for stays so."""
        return Trajectory(**{f.name: vars(self)[f.name] for f in fields(self)} | changes)

    def also_noted(self, *more: str, **changes: Any) -> Trajectory:
        """A copy with further notes, and other fields; what is still searched for stays so."""
        known = vars(self)["notes"]
        if callable(known):
            return self.replaced(notes=LazyValue(lambda: (*known(), *more)), **changes)
        return self.replaced(notes=(*known, *more), **changes)

    def __getstate__(self) -> dict[str, Any]:
        """All fields as they are read, for copies and other processes."""
        extra = dict(Columns(dict(self.extra)))
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"extra": extra}

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} … {self.t[-1]:g} s" if len(self.t) else "empty"
        return (
            f"Trajectory of '{self.model.name}': {counted(len(self.t), 'sample')}, {span}\n"
            f"{self.summary()}\n"
            "next: run['column'], run.plot(), run.animate(), run.save('run.nc'), run.to_xarray()"
        )


class InputUse(NamedTuple):
    """Use of an input in a run: root mean square and peak in its unit, energy in J."""

    unit: str
    rms: float
    peak: float
    energy: float


class LargestError(NamedTuple):
    """The largest of some errors of one unit: at most and at the end, and in which columns."""

    unit: str
    size: float
    name: str
    last: float
    last_name: str
