"""`simulate_batch`: many trajectories at once, how they run, and their results.

**The trajectories of a batch, for the driver of segments.**

Those in the same basis run together in lanes. Where independent speeds no longer determine the
motion, states are converted through the tree speeds v to others that do, as in a single run. In
each basis the code has the same width, so that no trajectory's bits depend on how many others go on
with it.

**`simulate_batch`: many trajectories of a system at once, in lanes and on several threads.**

Every trajectory has its own start, parameters and inputs, and its own steps. It is integrated in
wide code next to others, none of which it sees: its numbers are the same to the last bit whatever
runs beside it, in whatever order, on however many threads. What is kept of it is chosen before, so
that a million runs need no million histories.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import (
    Array,
    MissingNameError,
    MissingPlaceError,
    SimulationError,
    counted,
    nearest,
    require,
    write_atomically,
)
from noslip.engines import DeviceArray, DeviceMemory, System
from noslip.model import Model
from noslip.simulation.batches.batch_code import (
    UNSETTLED,
    BatchCode,
    DeviceCode,
    LanePlan,
    LaneResults,
    compile_batch,
    empty_results,
    run_lanes,
    run_on_device,
)
from noslip.simulation.batches.batch_request import SINGLE_PROJECTION, BatchRequest, read_batch
from noslip.simulation.events import (
    ending_directions,
    fault_notes,
    own_events,
    pulling_start,
    switch_texts,
)
from noslip.simulation.expressions import angle_names
from noslip.simulation.inputs import Table
from noslip.simulation.loop import rules
from noslip.simulation.loop.rules import PROJECTION_TOLERANCE
from noslip.simulation.notes import (
    FEWEST_STEPS,
    brake_inputs,
    brake_text,
    first_lifts,
    held_contacts,
    second_contact_notes,
    usual_force,
    watched_events,
)
from noslip.simulation.request import BatchOptions, takes
from noslip.simulation.samples import (
    ENDINGS,
    Ends,
    Indices,
    SegmentBasis,
    carried,
    drive,
    not_passed,
    singular_sentence,
)
from noslip.simulation.starts.bases import run_starts, states_in
from noslip.simulation.starts.completion import Starts, complete_starts
from noslip.simulation.trajectory import (
    NO_EVENTS,
    Ending,
    LazyField,
    Named,
    NetCDF,
    add_variable,
    check_file,
    new_netcdf,
)

if TYPE_CHECKING:
    import xarray


#: Trajectories below which those that go on in other speeds do so on the processor: a kernel of
#: their own would take longer to translate.
FEW = 20_000


class BatchMotions:
    """Many trajectories, driven together.

    `out`: place of the samples, if not memory of its own.

    Attributes
    ----------
    begin : bases in which trajectories start, and which do.
    results : a row for each trajectory.
    systems : systems in whose speeds trajectories ran, the given one first.
    last : (n,) in which of them each ran last.
    changed_speeds : (n,) whether each went on in other speeds than it began with.
    units : units of the columns, by name.
    tables : tables of columns that are on the device.
    """

    def __init__(self, request: BatchRequest, out: np.ndarray | None) -> None:
        self.request = request
        self._codes: dict[tuple[System, bool], BatchCode] = {}
        self.systems: list[System] = []
        code = self.code(request.run.system)
        self.units: Mapping[str, str] = code.units
        self.last = np.zeros(request.count, np.int64)
        self.changed_speeds = np.zeros(request.count, dtype=bool)
        self._is_ended = False
        self.tables: dict[str, DeviceMemory] = {}
        states, start = _start_states(code, request)
        groups = run_starts(code.system, start, request.run.start_time, request.parameters)
        for here, which in groups:
            if here is not code.system:
                self._begin_in(here, which, states, start)
            _check_pressed(self.code(here), request, which, states[which])
        self.begin = [(SegmentBasis(here), which) for here, which in groups]
        self.results = _make_results(code, request, states.shape[1], out)
        self.restart(states)

    def _begin_in(self, system: System, which: Indices, states: np.ndarray, start: Starts) -> None:
        """Write start states in the speeds of another system."""
        code, num_q = self.code(system), start.q.shape[1]
        self.changed_speeds[which] = True
        self.last[which] = self.systems.index(system)
        t = np.full(len(which), self.request.run.start_time)
        rest = states[which, num_q + start.eta.shape[1] :]
        values = code.model_parameters(which)
        states[which] = states_in(system, t, start.q[which], start.v[which], rest, values)

    def restart(self, states: np.ndarray) -> None:
        """Reset all trajectories to start states (n, ny)."""
        results, run = self.results, self.request.run
        results.states[:], results.times[:], results.steps_left[:] = (
            states,
            run.start_time,
            run.step,
        )
        results.codes[:] = UNSETTLED
        for name in ("steps", "rejections", "evaluations", "filled"):
            getattr(results, f"num_{name}")[:] = 0

    def run(self, basis: SegmentBasis, which: np.ndarray) -> Ends | None:
        """Run trajectories in one basis; the ends of those that may continue."""
        request, results = self.request, self.results
        is_first = results.codes[which[0]] == UNSETTLED
        if not is_first:
            # whoever is not reached by then was cancelled
            results.codes[which] = rules.CANCELLED
            if self._is_ended:
                return None
        progress = request.run.progress
        report = None
        if is_first and progress is not None:
            report = lambda done: progress(done / request.count)  # noqa: E731
        self._is_ended = self._integrate(basis, which, report)
        if self._is_ended:
            never = results.codes == UNSETTLED
            results.codes[never] = rules.CANCELLED
            return None
        some = which[results.codes[which] == rules.SINGULAR]
        if not some.size:
            return None
        return Ends(
            which=some,
            codes=results.codes[some],
            indices=results.which[some],
            times=results.times[some],
            states=results.states[some],
            values=self.code(basis.system).model_parameters(some),
        )

    def _integrate(
        self, basis: SegmentBasis, which: np.ndarray, report: Callable[[int], object] | None
    ) -> bool:
        """Integrate trajectories in one basis where they shall run; whether it was ended early."""
        request, device, cancel = self.request, self.request.device, self.request.run.cancel
        if device is None or (basis.system is not self.systems[0] and which.size < FEW):
            self.tables.clear()
            return run_lanes(
                self.plan(basis, which, is_on_device=False),
                self.results,
                threads=request.threads,
                progress=report,
                cancel=cancel,
            )
        # what is kept there is whole as long as no trajectory goes on in other speeds
        self.tables.clear()
        kept = self.tables if request.stays_on_device else None
        programs = self.code(basis.system).programs
        code = DeviceCode(programs, device, request.is_single, kept)
        plan = self.plan(basis, which, is_on_device=True)
        return run_on_device(plan, self.results, code, progress=report, cancel=cancel)

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: np.ndarray) -> None:
        """Write states in the speeds of another system, through their tree speeds."""
        results = self.results
        if there.system is here.system:
            return
        self.changed_speeds[which] = True
        code = self.code(here.system)
        self.code(there.system)
        self.last[which] = self.systems.index(there.system)
        t, y = results.times[which], results.states[which]
        u = code.inputs_at(which, t, y)
        x = np.ascontiguousarray(y[:, : here.system.num_states])
        v = here.system.motion.map(t, x, u, code.model_parameters(which))
        v = v[:, : len(here.system.speeds)]
        results.states[which] = carried(here.system, there.system, y, v)

    def code(self, system: System, *, is_on_device: bool | None = None) -> BatchCode:
        """The request in the speeds of a system, for the device of the request if it has one.

        Parameters of lanes have values behind them that a device computes by itself.
        """
        place = self.request.device is not None if is_on_device is None else is_on_device
        if system not in self.systems:
            self.systems.append(system)
        if (system, place) not in self._codes:
            self._codes[system, place] = compile_batch(system, self.request, is_on_device=place)
        return self._codes[system, place]

    def plan(self, basis: SegmentBasis, queue: np.ndarray, *, is_on_device: bool) -> LanePlan:
        """Plan of the loop for some trajectories in a basis."""
        system, request, run = basis.system, self.request, self.request.run
        code = self.code(system, is_on_device=is_on_device)
        directions = ending_directions(system, request.events)
        return LanePlan(
            lanes=request.lanes,
            functions=dict.fromkeys(code.programs, -1) if is_on_device else code.functions,
            num_states=system.num_states,
            num_generator_states=code.num_generator_states,
            num_inputs=len(system.inputs),
            num_columns=len(request.columns),
            method=run.method_number,
            queue=queue,
            parameters=code.parameters,
            base_inputs=code.base_inputs,
            tables=code.tables,
            end_time=run.end_time,
            update_times=code.update_times,
            sample_times=run.times,
            directions=np.array([*directions, *[np.nan] * code.num_angles]),
            num_endings=len(request.terminal),
            health_floors=basis.floors,
            relative_tolerance=run.rtol,
            absolute_tolerance=run.absolute(system.num_states + code.num_generator_states),
            apart=system.work_apart,
            max_step=run.longest_step,
            max_steps=run.max_steps,
            projection_tolerance=SINGLE_PROJECTION
            if is_on_device and request.is_single
            else PROJECTION_TOLERANCE,
            num_noise=code.generator.noise.shape[0] // 2 if code.generator else 0,
            seed=code.generator.seed if code.generator else 0,
            first_run=code.generator.run if code.generator else 0,
        )


def _start_states(code: BatchCode, request: BatchRequest) -> tuple[np.ndarray, Starts]:
    """(n, ny) states [q; η; μ; W; z] where all trajectories start, no work done yet; the starts."""
    system, count, time = code.system, request.count, request.run.start_time
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)
    z = np.zeros(0)
    if code.generator is not None:
        code.generator.check_start(time, system.model.name)
        z = np.asarray(code.generator.start)

    def speed_inputs(trajectories: np.ndarray, q: np.ndarray) -> np.ndarray:
        y = np.zeros((len(q), system.num_states + z.size))
        y[:, : q.shape[1]], y[:, system.num_states :] = q, z
        times = np.full(len(q), time)
        return code.inputs_at(trajectories, times, y)[:, num_u : num_u + num_w]

    start = complete_starts(
        system,
        request.starts,
        count=count,
        time=time,
        parameters=request.parameters,
        speed_inputs=speed_inputs if num_w else None,
        guess=request.run.guess,
    )
    work = np.zeros((count, 1 if system.does_work else 0))
    parts = [start.q, start.eta, start.mu, work, np.tile(z, (count, 1))]
    states = np.concatenate(parts, axis=1)
    is_finite = np.isfinite(states).all(axis=1)
    if not is_finite.all():
        raise SimulationError(
            "the start state is not finite",
            f"start of model '{system.model.name}', trajectory {int(np.argmin(is_finite))}",
            "give another configuration, away from singular ones",
        )
    return states, start


def _check_pressed(
    code: BatchCode, request: BatchRequest, which: Indices, states: np.ndarray
) -> None:
    """Refuse starts of some trajectories at which the ground would have to pull a body."""
    lifts = [name for name in request.events if name in own_events(code.system).lifts]
    if not lifts:
        return
    t = np.full(len(which), request.run.start_time)
    values = code.events_at(which, t, states, is_compiled=request.device is None)
    for name in lifts:
        forces = values[:, list(request.events).index(name)]
        if np.any(forces < 0):
            k = int(np.argmax(forces < 0))
            number = f", trajectory {which[k]}"
            raise pulling_start(code.system, name, float(forces[k]), t[k], number)


def _make_results(
    code: BatchCode, request: BatchRequest, num_states: int, out: np.ndarray | None
) -> LaneResults:
    """Memory for the results; samples go where the user wants them."""
    shape = (request.count, len(request.run.times), len(request.columns))
    samples = np.zeros(0)
    where = f"batch of model '{code.system.model.name}'"
    if out is not None and "samples" not in request.keep:
        raise SimulationError(
            "out is given for samples, which are not kept", where, "give keep=['samples'] too"
        )
    if "samples" in request.keep:
        samples = np.empty(shape) if out is None else np.asanyarray(out)
        is_right = samples.shape == shape and samples.dtype == np.float64
        if not (is_right and samples.flags.c_contiguous and samples.flags.writeable):
            raise SimulationError(
                f"out has the shape {samples.shape} and the type {samples.dtype}",
                where,
                f"give a writable array of float64 with the shape {shape}, rows one after another",
            )
        samples[...] = np.nan
    return empty_results(
        request.count,
        num_states,
        len(request.columns),
        len(request.events),
        request.max_events,
        has_minimum="minimum" in request.keep,
        has_maximum="maximum" in request.keep,
        samples=samples,
        num_angles=code.num_angles,
    )


#: Dimensions, values and attributes of a variable of a dataset.
_Variable: TypeAlias = tuple[tuple[str, ...], NDArray, dict[str, str]]


#: The first so many trajectories once more, with these events and columns.
Again: TypeAlias = "Callable[[int, dict[str, str], tuple[str, ...]], Batch]"


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Many simulated motions, each reduced to what was asked for, by :func:`simulate_batch`."""

    model: Model  #: the mechanism that moved
    count: int  #: trajectories, n; also ``len(batch)``
    #: values that differed between them, (n,) each, by name (``"parameter.m"``,
    #: ``"start.disk.tilt"``, ``"input.torque1"``, ``"definition.gain"``)
    varied: Mapping[str, Array]
    #: units, varied_units: units of the columns, and of the varied values, by name
    units: Mapping[str, str]
    varied_units: Mapping[str, str]
    final: Mapping[str, Array]  #: column → (n,) values where each trajectory ended
    #: minimum, maximum: column → (n,) over the samples, if they were asked for
    minimum: Mapping[str, Array]
    maximum: Mapping[str, Array]
    #: column → (n, ns) values at `sample_times`, if they were asked for; nan after the end of a
    #: trajectory
    samples: Mapping[str, Array]
    sample_times: Array  #: (ns,) s
    #: event → (n, m) times at which its value crossed zero, the first m; nan beyond
    event_times: Mapping[str, Array]
    event_counts: Mapping[str, NDArray[np.int64]]  #: event → (n,) how often it did
    endings: NDArray[np.object_]  #: (n,) how each ended, as `Ending`; ``np.unique`` counts them
    ended_by: NDArray[np.str_]  #: (n,) the event or the cause that ended each, or ""
    t: Array  #: (n,) when each ended, s
    #: steps, rejections, nfev: (n,) what each took
    steps: NDArray[np.int64]
    rejections: NDArray[np.int64]
    nfev: NDArray[np.int64]
    #: (n,) whether it went on in other independent speeds, as :func:`simulate` does
    changed_speeds: NDArray[np.bool_]
    method: str
    rtol: float
    atol: float
    #: remarks on what is not known, such as crossings of events that may have been missed; contacts
    #: that would lift off are searched for when first read, in the first thousand trajectories
    notes: LazyField[tuple[str, ...]] = LazyField()
    #: search for contacts that would lift off, by running the batch again; pickling drops it
    lift_search: LiftSearch | None = field(default=None, repr=False)
    #: search for second contacts on curved ground, see `second_contacts`; pickling drops it, since
    #: systems are not pickled
    contact_search: ContactSearch | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        where = f"batch of model '{self.model.name}'"
        for kind in ("final", "minimum", "maximum", "samples"):
            none = f"simulate with keep=['{kind}'], and name it in columns=[…]"
            object.__setattr__(self, kind, Named("column", where, none, getattr(self, kind)))
        for kind in ("event_times", "event_counts"):
            table = Named("event", where, NO_EVENTS, getattr(self, kind))
            object.__setattr__(self, kind, table)

    def __getstate__(self) -> dict[str, Any]:
        # what was not searched for before is not searched for in order to be sent
        notes = self.__dict__["notes"]
        known = notes.known if isinstance(notes, _LiftNotes) else notes
        return {**self.__dict__, "contact_search": None, "lift_search": None, "notes": known}

    @cached_property
    def success(self) -> NDArray[np.bool_]:
        """(n,) whether each came to the end time or to an event."""
        good = (Ending.FINISHED, Ending.EVENT)
        return np.array([ending in good for ending in self.endings], dtype=bool)

    def __getitem__(self, name: str) -> Array:
        """(n,) final values of a column, such as ``batch["disk.tilt"]``."""
        if isinstance(name, str) and name in self.final:
            return self.final[name]
        if isinstance(name, int | np.integer):
            fix = f"columns have names: batch['column'][{name}] is its value of trajectory {name}"
        elif isinstance(name, list | tuple):
            fix = "ask for one at a time, or for several of batch.to_xarray()"
        else:
            fix = f"name it in columns=['{name}', …]; {nearest(str(name), self.final)}"
        raise MissingNameError(
            f"there is no column '{name}'", f"batch of model '{self.model.name}'", fix
        )

    def __len__(self) -> int:
        return self.count

    def __contains__(self, name: object) -> bool:
        return name in self.final

    def message(self, trajectory: int) -> str:
        """Ending of one trajectory, as a sentence."""
        if not -self.count <= operator.index(trajectory) < self.count:
            raise MissingPlaceError(
                f"there is no trajectory {trajectory}",
                f"batch of model '{self.model.name}'",
                f"give a number from 0 to {self.count - 1}, or from −{self.count} to −1",
            )
        ending, cause = self.endings[trajectory], self.ended_by[trajectory]
        at = f" (t = {self.t[trajectory]:.9g} s)"
        number = trajectory % self.count
        said = [note for note in (self._second_contact(number), self._lift(number)) if note]
        also = f" Note: {'; '.join(said)}." if said else ""
        if ending is Ending.FINISHED:
            return f"{ending.value}{also}"
        if ending is Ending.EVENT:
            return f"{ending.value[:-1]} '{cause}'.{at}{also}"
        return (f"{ending.value[:-1]}: {cause}.{at}" if cause else ending.value + at) + also

    @cached_property
    def second_contacts(self) -> dict[int, str]:
        """Trajectory → where its body is within its curved ground beside its contact.

        Searched for when first read, where each trajectory ended, and at its samples if all
        coordinates are among the columns that keep them.
        """
        found = {k: self._second_contact(k) for k in range(self.count)}
        return {k: note for k, note in found.items() if note}

    @cached_property
    def lifts(self) -> dict[int, str]:
        """Trajectory → its first contact that the ground would have to pull on, and since when.

        Searched for when first read, by running the batch again with the normal forces as events.
        """
        return {} if self.lift_search is None else self.lift_search(self.count)

    def _lift(self, trajectory: int) -> str:
        if self.lift_search is None or "lifts" in vars(self):
            return self.lifts.get(trajectory, "")
        return self.lift_search.first.get(trajectory, "")

    def _second_contact(self, trajectory: int) -> str:
        return "" if self.contact_search is None else self.contact_search(trajectory)

    def to_xarray(self) -> xarray.Dataset:
        """Dataset over ``trajectory``, ``time`` and ``occurrence``, units as attributes.

        Columns are named ``final.NAME``, ``minimum.NAME``, ``maximum.NAME``, and ``NAME`` where all
        samples were kept; events ``event.NAME`` and ``count.NAME``; what differed between the
        trajectories is a coordinate of ``trajectory``.
        """
        require("xarray", "to_xarray", f"batch of model '{self.model.name}'")
        import xarray

        data, coords = self._variables()
        return xarray.Dataset(data, coords=coords, attrs=self._attributes)

    @property
    def _attributes(self) -> dict[str, Any]:
        return {
            "model": self.model.name,
            "method": self.method,
            "rtol": self.rtol,
            "atol": self.atol,
        }

    def _variables(self) -> tuple[dict[str, _Variable], dict[str, _Variable]]:
        """Data and coordinates by name: dimensions, values, attributes."""
        data: dict[str, _Variable] = {}
        for word, table in (
            ("final.", self.final),
            ("minimum.", self.minimum),
            ("maximum.", self.maximum),
            ("", self.samples),
        ):
            dims = ("trajectory",) if word else ("trajectory", "time")
            for name, values in table.items():
                data[word + name] = (dims, values, {"units": self.units[name]})
        for name, times in self.event_times.items():
            data[f"event.{name}"] = (("trajectory", "occurrence"), times, {"units": "s"})
            data[f"count.{name}"] = (("trajectory",), self.event_counts[name], {"units": "1"})
        data["end_time"] = (("trajectory",), self.t, {"units": "s"})
        for name, counts in (("steps", self.steps), ("nfev", self.nfev)):
            data[name] = (("trajectory",), counts, {"units": "1"})
        endings = np.array([ending.name.lower() for ending in self.endings], dtype=str)
        data["ending"] = (("trajectory",), endings, {})
        coords: dict[str, _Variable] = {
            name: (("trajectory",), np.asarray(values), {"units": self.varied_units[name]})
            for name, values in self.varied.items()
        }
        if self.samples:
            coords["time"] = (("time",), self.sample_times, {"units": "s"})
        return data, coords

    def to_netcdf(self, path: str | Path) -> None:
        """Write the dataset as NetCDF, all or nothing."""
        other = "to_xarray().to_dataframe().to_csv(…) writes CSV"
        target = check_file(path, NetCDF(), other)

        def write(temporary: Path) -> None:
            data, coords = self._variables()
            with new_netcdf(temporary) as file:
                for name, (dims, values, attributes) in {**data, **coords}.items():
                    for dim, size in zip(dims, values.shape, strict=True):
                        if dim not in file.dimensions:
                            file.dimensions[dim] = size
                    add_variable(file, name, dims, values, attributes)
                # by this attribute readers tell coordinates from data
                auxiliary = [name for name in coords if name not in file.dimensions]
                if auxiliary:
                    file.attrs["coordinates"] = " ".join(auxiliary)
                for name, value in self._attributes.items():
                    file.attrs[name] = value

        write_atomically(target, write)

    def summary(self) -> str:
        """One line: how many trajectories ended in which way, and what they took."""
        counts = Counter(self.endings)
        endings = ", ".join(f"{n} {e.name.lower().replace('_', ' ')}" for e, n in counts.items())
        changed = int(np.sum(self.changed_speeds))
        note = f", {changed} changed their independent speeds" if changed else ""
        return (
            f"{counted(self.count, 'trajectory', 'trajectories')}: {endings}; "
            f"{counted(int(np.sum(self.steps)), 'step')}, "
            f"{counted(int(np.sum(self.nfev)), 'evaluation')}{note}"
            + "".join(f"\nnote: {each}" for each in self.notes)
        )

    def __repr__(self) -> str:
        return (
            f"Batch of '{self.model.name}': {self.summary()}\n"
            "next: batch['column'], batch.minimum, batch.event_times, batch.to_xarray()"
        )


def collect(request: BatchRequest, motions: BatchMotions, again: Again) -> Batch:
    """The results under their names.

    `again`: the first so many trajectories once more, with these events and columns.
    """
    run, system, names, keep = request.run, request.run.system, request.columns, request.keep
    results = motions.results

    def by_name(values: Array) -> dict[str, Array]:
        return {name: values[..., k] for k, name in enumerate(names)}

    samples = by_name(results.samples) if "samples" in keep else {}
    for name in set(angle_names(system)) & samples.keys():
        samples[name] = np.unwrap(samples[name], axis=1)

    def left(word: str, columns: dict[str, Any]) -> dict[str, Any]:
        return _on_device(request, motions, word, columns) if request.stays_on_device else columns

    lifts = LiftSearch(system, request, again) if held_contacts(system) else None
    noted = [(k, n) for k, n in enumerate(request.events) if n not in request.terminal]
    for table, bound in ((results.minimum, np.inf), (results.maximum, -np.inf)):
        table[table == bound] = np.nan  # of trajectories without a sample
    return Batch(
        model=system.model,
        count=request.count,
        varied=request.varied,
        units=motions.units,
        varied_units=request.units,
        final=left("final", by_name(results.final)),
        minimum=left("minimum", by_name(results.minimum) if "minimum" in keep else {}),
        maximum=left("maximum", by_name(results.maximum) if "maximum" in keep else {}),
        samples=left("samples", samples),
        sample_times=run.times,
        event_times={n: results.event_times[:, k] for k, n in noted},
        event_counts={n: results.event_counts[:, k] for k, n in noted},
        endings=_endings(results),
        ended_by=_causes(request, motions),
        t=results.times,
        steps=results.num_steps,
        rejections=results.num_rejections,
        nfev=results.num_evaluations,
        changed_speeds=motions.changed_speeds,
        method=run.method,
        rtol=run.rtol,
        atol=run.atol,
        notes=_LiftNotes(_notes(request, results), lifts) if lifts else _notes(request, results),
        lift_search=lifts,
        contact_search=_contact_search(request, results),
    )


#: Trajectories of which contacts that would lift off are searched for without being asked.
MOST_SEARCHED = 1000


class LiftSearch:
    """Search for contacts that the ground would have to pull on: the batch with further events.

    `again`: the first so many trajectories once more, with these events and columns.
    """

    def __init__(
        self,
        system: System,
        request: BatchRequest,
        again: Again,
    ) -> None:
        self._system, self._count, self._again = system, request.count, again
        self._scale = usual_force(system)

    def __call__(self, count: int) -> dict[int, str]:
        """Trajectory → note, of the first `count` trajectories."""
        columns = tuple(held_contacts(self._system).values())
        found = self._again(count, watched_events(self._system, self._scale), columns)
        return first_lifts(self._system, self._scale, found.samples, found.event_times)

    @cached_property
    def first(self) -> dict[int, str]:
        """Trajectory → note, of the first thousand trajectories."""
        return self(min(self._count, MOST_SEARCHED))

    def text(self) -> str:
        """What was found, as one note; empty if nothing was."""
        if not self.first:
            return ""
        k, note = next(iter(self.first.items()))
        more = f" and {len(self.first) - 1} more" if len(self.first) > 1 else ""
        of = f" of the first {MOST_SEARCHED}" if self._count > MOST_SEARCHED else ""
        return f"trajectory {k}{more}{of}: {note}"


class _LiftNotes:
    """Notes of a batch, with those on contacts that would lift off once they are read."""

    def __init__(self, known: tuple[str, ...], search: LiftSearch) -> None:
        self.known, self._search = known, search

    def __call__(self) -> tuple[str, ...]:
        text = self._search.text()
        return (*self.known, text) if text else self.known


@dataclass(frozen=True, slots=True, eq=False)
class ContactSearch:
    """Search for second contacts of a trajectory, at its samples and where it ended."""

    system: System  #: system that was run
    #: times, coordinates: (n, k) s and (n, k, nq), nan beyond the end of a trajectory
    times: Array
    coordinates: Array
    parameters: Array  #: (n, np), or one row for all

    def __call__(self, trajectory: int) -> str:
        """Message about a second contact, or ""."""
        t, q = self.times[trajectory], self.coordinates[trajectory]
        is_known = np.all(np.isfinite(q), axis=1)
        values = self.parameters[trajectory if len(self.parameters) > 1 else 0]
        return "; ".join(second_contact_notes(self.system, t[is_known], q[is_known], values))


def _contact_search(request: BatchRequest, results: LaneResults) -> ContactSearch | None:
    """The search for second contacts, where there is curved ground."""
    system = request.run.system
    if all(c.is_flat for c in system.model.contacts if c.is_wheel):
        return None
    times = results.times[:, None].copy()
    coordinates = results.states[:, None, : system.kinematics.num_coordinates].copy()
    names = [c.name for c in system.coordinates]
    if "samples" in request.keep and set(names) <= set(request.columns):
        places = [request.columns.index(name) for name in names]
        coordinates = np.concatenate([results.samples[..., places], coordinates], axis=1)
        sampled = np.broadcast_to(request.run.times, (request.count, len(request.run.times)))
        times = np.concatenate([sampled, times], axis=1)
    return ContactSearch(system, times, coordinates, request.parameters)


def _on_device(
    request: BatchRequest, motions: BatchMotions, word: str, columns: dict[str, Any]
) -> dict[str, Any]:
    """Columns as arrays on the device: those that were left there, else copied there."""
    device = request.device
    if device is None or not columns:
        return columns
    values = list(columns.values())
    memory = motions.tables.get(word)
    # angles of samples are unwrapped, and extremes of no sample nan
    is_changed = word != "final" and not (
        word == "samples" and not set(angle_names(request.run.system)) & columns.keys()
    )
    if memory is None or is_changed:
        memory = device.uploaded(np.stack(values, axis=-1))
    return dict(
        zip(columns, DeviceArray.columns(memory, values[0].shape, len(values)), strict=True)
    )


def _notes(request: BatchRequest, results: LaneResults) -> tuple[str, ...]:
    """Notes on events whose crossings are not known, each with the first trajectory."""
    notes = []
    system = request.run.system
    for what in switch_texts(system, request.traced, request.definitions):
        notes.append(
            f"{what}: steps of a batch do not end on switches of the state; if one is narrow, "
            "give max_step=…, or run it alone"
        )
    for name in brake_inputs(system):
        tables = request.tables.get(name, ())
        lowest = [float(np.min(request.constants.get(name, np.zeros(1))))]
        lowest += [float(np.min(table.values)) for table in tables]
        if min(lowest) < 0.0:
            notes.append(brake_text(name))
        elif name in request.traced or request.law is not None:
            notes.append(
                f"input '{name}' of a brake counts as 0 where it is negative; where that is, is "
                "not looked at in a batch"
            )
    for k, name in enumerate(request.events):
        what = f"{'stop' if name in request.terminal else 'event'} '{name}'"
        counts, times = results.fault_counts[:, k], results.fault_times[:, k]
        for kind in range(counts.shape[1]):
            which = np.flatnonzero(counts[:, kind])
            if which.size:
                first = int(which[0])
                alone = np.zeros(counts.shape[1], np.int64)
                alone[kind] = counts[first, kind]
                (note,) = fault_notes([what], alone[None], times[None, first])
                others = f"trajectory {first}" + (
                    f" and {which.size - 1} more" if which.size > 1 else ""
                )
                notes.append(f"{others}: {note}")
    return tuple(notes)


def _endings(results: LaneResults) -> np.ndarray:
    """Ending of each trajectory."""
    table = np.empty(max(ENDINGS) + 1, dtype=object)
    for code, ending in ENDINGS.items():
        table[code] = ending
    return table[results.codes]


def _causes(request: BatchRequest, motions: BatchMotions) -> np.ndarray:
    """Name of the event, or sentence of the singularity, that ended each trajectory."""
    results = motions.results
    causes = np.full(len(results.codes), "", dtype=object)
    is_event = results.codes == rules.EVENT
    is_singular = np.isin(results.codes, (rules.SINGULAR, rules.PROJECTION_FAILED))
    causes[is_event] = np.array([*request.events, ""], dtype=object)[results.which[is_event]]
    for k, system in enumerate(motions.systems):
        here = np.flatnonzero(is_singular & (motions.last == k))
        values = request.parameters[here if len(request.parameters) > 1 else np.zeros_like(here)]
        for place, own in zip(here.tolist(), values, strict=True):
            at = results.times[place], results.states[place], own
            how = int(results.codes[place]), int(results.which[place])
            causes[place] = not_passed(system, *how, *at, "batches")
            if not causes[place] and how[0] == rules.SINGULAR:
                causes[place] = singular_sentence(system, how[1], *at)
    return causes


@takes(BatchOptions)
def simulate_batch(system: System, *, duration: float, **options: Unpack[BatchOptions]) -> Batch:
    """Many motions of a system, each with its own start, parameters and inputs.

    Wherever a number may be given, a list of numbers may be given too, one for each trajectory; a
    :class:`Table` too. Nothing that happens to one trajectory ends the others or raises: how each
    ended is said in the result.

    Parameters
    ----------
    system : compiled system.
    duration : s.
    options : options of the simulations.

    Raises
    ------
    SimulationError : for inconsistent arguments.
    """
    given: dict[str, Any] = {"system": system, "duration": duration, **options}
    request = read_batch(system, given)
    motions = BatchMotions(request, options.get("out"))
    drive(motions, motions.begin)

    def again(number: int, events: dict[str, str], columns: tuple[str, ...]) -> Batch:
        steps = {"max_step": min(request.run.max_step, duration / FEWEST_STEPS)}
        asked = {"events": events, "columns": columns, "outputs": {c: c for c in columns}, **steps}
        return simulate_batch(**given | _AGAIN | _first(given, number, request.count) | asked)

    return collect(request, motions, again)


#: Arguments of a batch that is repeated for further events.
_AGAIN: dict[str, Any] = {
    "keep": ("final", "samples"),
    "samples": 2,
    "max_events": 1,
    "out": None,
    "device": "cpu",
    "precision": "double",
    "arrays": "numpy",
    "progress": None,
    "cancel": None,
}


def _first(given: Mapping[str, Any], number: int, count: int) -> dict[str, Any]:
    """Arguments that differ between trajectories, of the first so many of them."""
    found: dict[str, Any] = {"count": number}
    for word in ("start", "parameters", "inputs", "definitions"):
        values = given.get(word)
        if isinstance(values, Mapping):
            found[word] = {name: _cut(value, number, count) for name, value in values.items()}
    return found


def _cut(value: Any, number: int, count: int) -> Any:
    """The first of as many values as there are trajectories; what is one for all stays."""
    if isinstance(value, str | Table | ca.Function) or not hasattr(value, "__len__"):
        return value
    is_each = len(value) == count and number < count
    return value[:number] if is_each else value
