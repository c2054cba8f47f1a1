"""The trajectories of a batch, for the driver of segments.

Those in the same basis run together in lanes. Where independent speeds no longer determine the
motion, states are converted through the tree speeds v to others that do, as in a single run. In
each basis the code has the same width, so that no trajectory's bits depend on how many others go on
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from noslip.base import SimulationError
from noslip.engines import DeviceMemory, System
from noslip.simulation import rules
from noslip.simulation.batches.code import BatchCode, compile_batch
from noslip.simulation.batches.device import DeviceCode, run_on_device
from noslip.simulation.batches.lanes import (
    UNSETTLED,
    LanePlan,
    LaneResults,
    empty_results,
    run_lanes,
)
from noslip.simulation.batches.request import SINGLE_PROJECTION, BatchRequest
from noslip.simulation.events import ending_directions, lift_events, pulling_start
from noslip.simulation.rules import PROJECTION_TOLERANCE
from noslip.simulation.segments import Ends, Indices, SegmentBasis, carried
from noslip.simulation.starts.bases import run_starts, states_in
from noslip.simulation.starts.completion import Starts, complete_starts

#: Trajectories below which those that go on in other speeds do so on the processor: a kernel of
#: their own would take longer to translate.
FEW = 20_000


class BatchMotions:
    """Many trajectories, driven together.

    Parameters
    ----------
    request : what is asked for.
    out : where samples go, if not into memory of its own.

    Attributes
    ----------
    begin : bases in which trajectories start, and which do.
    results : a row for each trajectory.
    systems : in whose speeds trajectories ran, the given one first.
    last : (n,) in which of them each ran last.
    changed_speeds : (n,) whether each went on in other speeds than it began with.
    units : of the columns, by name.
    tables : of columns that are on the device.
    """

    def __init__(self, request: BatchRequest, out: np.ndarray | None) -> None:
        self._request = request
        self._codes: dict[tuple[System, bool], BatchCode] = {}
        self.systems: list[System] = []
        code = self._code(request.run.system)
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
            _check_pressed(self._code(here), request, which, states[which])
        self.begin = [(SegmentBasis(here), which) for here, which in groups]
        self.results = _make_results(code, request, states.shape[1], out)
        self.restart(states)

    def _begin_in(self, system: System, which: Indices, states: np.ndarray, start: Starts) -> None:
        """Write start states in the speeds of another system."""
        code, num_q = self._code(system), start.q.shape[1]
        self.changed_speeds[which] = True
        self.last[which] = self.systems.index(system)
        t = np.full(len(which), self._request.run.start_time)
        rest = states[which, num_q + start.eta.shape[1] :]
        values = code.model_parameters(which)
        states[which] = states_in(system, t, start.q[which], start.v[which], rest, values)

    def restart(self, states: np.ndarray) -> None:
        """Reset all trajectories to start states (n, ny)."""
        results, run = self.results, self._request.run
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
        request, results = self._request, self.results
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
            values=self._code(basis.system).model_parameters(some),
        )

    def _integrate(
        self, basis: SegmentBasis, which: np.ndarray, report: Callable[[int], object] | None
    ) -> bool:
        """Integrate trajectories in one basis where they shall run; whether it was ended early."""
        request, device, cancel = self._request, self._request.device, self._request.run.cancel
        if device is None or (basis.system is not self.systems[0] and which.size < FEW):
            self.tables.clear()
            return run_lanes(
                self._plan(basis, which, is_on_device=False),
                self.results,
                threads=request.threads,
                progress=report,
                cancel=cancel,
            )
        # what is kept there is whole as long as no trajectory goes on in other speeds
        self.tables.clear()
        kept = self.tables if request.stays_on_device else None
        programs = self._code(basis.system).programs
        code = DeviceCode(programs, device, request.is_single, kept)
        plan = self._plan(basis, which, is_on_device=True)
        return run_on_device(plan, self.results, code, progress=report, cancel=cancel)

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: np.ndarray) -> None:
        """Write states in the speeds of another system, through their tree speeds."""
        results = self.results
        if there.system is here.system:
            return
        self.changed_speeds[which] = True
        code = self._code(here.system)
        self._code(there.system)
        self.last[which] = self.systems.index(there.system)
        t, y = results.times[which], results.states[which]
        u = code.inputs_at(which, t, y)
        x = np.ascontiguousarray(y[:, : here.system.num_states])
        v = here.system.motion.map(t, x, u, code.model_parameters(which))
        v = v[:, : len(here.system.speeds)]
        results.states[which] = carried(here.system, there.system, y, v)

    def _code(self, system: System, *, is_on_device: bool | None = None) -> BatchCode:
        """The request in the speeds of a system, for the device of the request if it has one.

        Parameters of lanes have values behind them that a device computes by itself.
        """
        place = self._request.device is not None if is_on_device is None else is_on_device
        if system not in self.systems:
            self.systems.append(system)
        if (system, place) not in self._codes:
            self._codes[system, place] = compile_batch(system, self._request, is_on_device=place)
        return self._codes[system, place]

    def _plan(self, basis: SegmentBasis, queue: np.ndarray, *, is_on_device: bool) -> LanePlan:
        """Plan of the loop for some trajectories in a basis."""
        system, request, run = basis.system, self._request, self._request.run
        code = self._code(system, is_on_device=is_on_device)
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
    lifts = [name for name in request.events if name in lift_events(code.system)]
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
    if "samples" in request.keep:
        samples = np.empty(shape) if out is None else out
        is_right = samples.shape == shape and samples.dtype == np.float64
        if not (is_right and samples.flags.c_contiguous and samples.flags.writeable):
            raise SimulationError(
                f"out has the shape {samples.shape} and the type {samples.dtype}",
                f"batch of model '{code.system.model.name}'",
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
