"""One run of the native loop on a worker thread, so that it can be watched and interrupted.

An ``IntegrationPlan`` says in arrays and addresses what ``loop.integrate`` needs. ``run_native``
lays it out in memory, runs the loop without the GIL while the calling thread looks on, and hands
back what was filled as a ``NativeResult``. A run that was interrupted keeps what it has computed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from noslip.errors import SimulationError
from noslip.simulation import loop
from noslip.simulation.dop853 import NUM_DENSE_TERMS

POLL_INTERVAL = 0.02  # s between looks at the cancel request
PROGRESS_INTERVAL = 0.2  # s between calls of progress

Array = np.ndarray
_Rule = tuple[str, bool, str, str]  # field, whether it is as it must be, what and fix if not


class CancelRequest(Protocol):
    """What another thread sets to end a run early; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether the run shall end."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputTable:
    """A base input that is piecewise cubic in time.

    Parameters
    ----------
    index : which base input.
    starts : (k,) increasing. A segment holds from its start to the next one; the first also before
        its start, the last without end.
    coefficients : (k, 4) of s³, s², s, 1 with s = t − start: ``scipy.interpolate.PPoly.c.T``.
    """

    index: int
    starts: Array
    coefficients: Array

    def __post_init__(self) -> None:
        _take_vectors(self, "starts", "coefficients")
        count, shape = self.starts.size, self.coefficients.shape
        rules = (
            ("index", self.index >= 0, f"index is {self.index}", "count base inputs from 0"),
            (
                "starts",
                count > 0 and _increases(self.starts),
                "segments do not follow",
                "sort them",
            ),
            (
                "coefficients",
                shape == (count, 4),
                f"expected ({count}, 4), got {shape}",
                "give 4 each",
            ),
        )
        _check("InputTable", rules)


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntegrationPlan:
    """All that one native run needs. Functions are addresses; who makes a plan keeps them alive.

    Parameters
    ----------
    rates : address of [ẋ; health].
    parameters : of rates and project.
    start_time, end_time : s, in this order.
    start_state : (ny,) y = [x; z] at the start, z the states of the input generator.
    num_generator_states : nz.
    sample_times : (ns,) sorted, within [start_time, end_time].
    base_inputs : (nb,) constants; those that a table drives are replaced.
    tables : base inputs that change with time.
    generator : address of [inputs; ż] of (t, y, base inputs, generator_parameters), or 0: the
        inputs are the base inputs.
    update : address of the new z of (t, y, base inputs, generator_parameters), or 0; called at the
        update times, as a sampled controller is.
    update_times : (nk,) sorted; steps end on them.
    num_inputs : how many inputs the generator makes; −1: nb.
    knots : (nk,) times on which a step must end; starts of tables need not be repeated.
    project : address of [x after a Newton step; residual before it], or 0.
    projection_tolerance : residual that is left alone.
    events : address of the values whose zero crossings end the run, or 0.
    event_directions : (ne,) −1, 0 or +1: falling, both, rising.
    health_floors : (nh,) the run ends when a health value is below its floor.
    method : ``loop.DOP853`` or ``loop.RK4``.
    relative_tolerance, absolute_tolerance : of DOP853; the absolute one (ny,).
    step : first step of DOP853, 0 to choose it; the fixed step of RK4.
    max_step : longest step of DOP853.
    max_steps : of the whole run.
    """

    rates: int
    parameters: Array
    start_time: float
    end_time: float
    start_state: Array
    num_generator_states: int = 0
    sample_times: Array = field(default_factory=_none)
    base_inputs: Array = field(default_factory=_none)
    tables: tuple[InputTable, ...] = ()
    generator: int = 0
    generator_parameters: Array = field(default_factory=_none)
    update: int = 0
    update_times: Array = field(default_factory=_none)
    num_inputs: int = -1
    knots: Array = field(default_factory=_none)
    project: int = 0
    projection_tolerance: float = 1e-12
    events: int = 0
    event_parameters: Array = field(default_factory=_none)
    event_directions: Array = field(default_factory=_none)
    health_floors: Array = field(default_factory=_none)
    method: int = loop.DOP853
    relative_tolerance: float = 1e-8
    absolute_tolerance: Array = field(default_factory=_none)
    step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 2**62

    def __post_init__(self) -> None:
        _take_vectors(
            self,
            *("parameters", "start_state", "sample_times", "base_inputs", "generator_parameters"),
            *("update_times", "knots", "event_parameters", "event_directions", "health_floors"),
            "absolute_tolerance",
        )
        if self.num_inputs == -1:
            object.__setattr__(self, "num_inputs", self.base_inputs.size)
        _check("IntegrationPlan", self._rules())

    def _rules(self) -> Iterator[_Rule]:
        ny, times, directions = self.start_state.size, self.sample_times, self.event_directions
        span = f"t = {self.start_time} to {self.end_time}"
        yield "rates", self.rates != 0, "there is no function for the rates", "give its address"
        is_met = ny > 0 and bool(np.all(np.isfinite(self.start_state)))
        yield "start_state", is_met, "the start state is empty or not finite", "give finite numbers"
        is_met = -np.inf < self.start_time <= self.end_time < np.inf
        yield "end_time", is_met, f"the run goes from {span}", "give finite times, the end last"
        is_met = times.size == 0 or bool(self.start_time <= times[0] <= times[-1] <= self.end_time)
        is_met = is_met and bool(np.all(np.diff(times) >= 0.0))
        what = f"sample times are not sorted or not within {span}"
        yield "sample_times", is_met, what, "sort them, and sample within the run"
        is_met = bool(np.all(np.isfinite(self.knots)))
        yield "knots", is_met, "a knot is not finite", "give finite times"

        nz, num_base = self.num_generator_states, self.base_inputs.size
        is_met = 0 <= nz <= (ny if self.generator != 0 else 0)
        what = f"{nz} of {ny} states belong to a generator"
        yield "num_generator_states", is_met, what, "give the generator, and its states last"
        is_met = self.num_inputs >= 0 and (self.generator != 0 or self.num_inputs == num_base)
        what = f"{self.num_inputs} inputs are made of {num_base} base inputs"
        yield "num_inputs", is_met, what, "leave it out, or give the generator that makes them"
        largest = max((table.index for table in self.tables), default=-1)
        what = f"a table drives base input {largest} of {num_base}"
        yield "tables", largest < num_base, what, "give a base input for every table"
        is_met = (self.events != 0) == (directions.size > 0) and set(directions) <= {-1.0, 0.0, 1.0}
        what = f"the events' directions are {directions.tolist()}"
        fix = "give one for every event: −1 for falling, +1 for rising, 0 for both"
        yield "event_directions", is_met, what, fix

        is_met = self.method in (loop.DOP853, loop.RK4)
        yield "method", is_met, f"there is no method {self.method}", "give loop.DOP853 or loop.RK4"
        is_met = 0.0 <= self.step < np.inf and (self.step > 0.0 or self.method == loop.DOP853)
        fix = "give a positive step; DOP853 chooses its first one if it is 0"
        yield "step", is_met, f"the step is {self.step}", fix
        is_met = self.max_step > 0.0
        yield "max_step", is_met, f"the longest step is {self.max_step}", "give a positive number"
        yield "max_steps", self.max_steps >= 0, f"{self.max_steps} steps are allowed", "allow some"
        is_met = 0.0 <= self.relative_tolerance < np.inf
        what = f"the relative tolerance is {self.relative_tolerance}"
        yield "relative_tolerance", is_met, what, "give a small number, such as 1e-8"
        absolute = self.absolute_tolerance
        is_met = absolute.shape == (ny,) and bool(np.all(absolute > 0.0))
        what = f"expected {ny} positive absolute tolerances, got {absolute.tolist()}"
        fix = "give one for every state, such as 1e-10 times its typical size"
        yield "absolute_tolerance", is_met or self.method == loop.RK4, what, fix
        is_met = 0.0 < self.projection_tolerance < np.inf
        what = f"the projection's tolerance is {self.projection_tolerance}"
        yield "projection_tolerance", is_met, what, "give a small number, such as 1e-12"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NativeResult:
    """What one native run has left.

    Parameters
    ----------
    code : why it ended, one of the endings in ``loop``.
    index : which event or health value ended it, or −1.
    time, state, step : where it ended, and the step size to continue with.
    steps, rejections, evaluations : how many steps were taken and tried in vain, and how often the
        rates were evaluated.
    times, states, inputs : (n,), (n, ny), (n, nu) the samples reached; the last is the event, if
        one ended the run.
    is_interrupted : whether Ctrl-C was pressed while it ran.
    """

    code: int
    index: int
    time: float
    state: Array
    step: float
    steps: int
    rejections: int
    evaluations: int
    times: Array
    states: Array
    inputs: Array
    is_interrupted: bool


def run_native(
    plan: IntegrationPlan,
    *,
    progress: Callable[[float], object] | None = None,
    cancel: CancelRequest | None = None,
) -> NativeResult:
    """Samples and the end state of one run, which may be cut short by Ctrl-C or another thread.

    Parameters
    ----------
    plan : IntegrationPlan
        What to integrate. Its functions must stay loaded until this returns.
    progress : callable, optional
        Called from this thread a few times per second with the fraction of time covered, and once
        at the end.
    cancel : CancelRequest, optional
        Looked at every 0.02 s; once it is set, the run ends with ``loop.CANCELLED``.
    """
    memory = _Memory(plan)
    failures: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            loop.integrate(memory.setup)
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    if cancel is not None and cancel.is_set():
        memory.status[0] = 1.0
    try:
        threading.Thread(target=work, name="noslip native loop", daemon=True).start()
        is_interrupted = _watch(done, plan, memory.status, progress, cancel)
    except BaseException:
        memory.status[0] = 1.0
        raise
    if failures:
        raise failures[0]
    return memory.result(is_interrupted)


def _watch(
    done: threading.Event,
    plan: IntegrationPlan,
    status: Array,
    progress: Callable[[float], object] | None,
    cancel: CancelRequest | None,
) -> bool:
    """Wait for the worker, pass requests and progress on; whether Ctrl-C was pressed.

    Waiting is for an event of our own: in Python 3.11 a thread whose ``join`` is interrupted counts
    as ended although it still runs.
    """
    span = plan.end_time - plan.start_time
    reported = time.monotonic()

    def report() -> None:
        if progress is not None:
            progress(float((status[1] - plan.start_time) / span) if span > 0.0 else 1.0)

    try:
        while not done.wait(POLL_INTERVAL):
            if cancel is not None and cancel.is_set():
                status[0] = 1.0
            if time.monotonic() - reported >= PROGRESS_INTERVAL:
                report()
                reported = time.monotonic()
        report()
    except KeyboardInterrupt:
        status[0] = 1.0
        done.wait()
        return True
    except BaseException:
        status[0] = 1.0
        done.wait()
        raise
    return False


class _Memory:
    """The vectors of one run, and the setup that tells the loop their addresses."""

    __slots__ = ("_kept", "inputs", "setup", "state", "states", "status", "times")

    def __init__(self, plan: IntegrationPlan) -> None:
        count, ny, num_inputs = plan.sample_times.size + 1, plan.start_state.size, plan.num_inputs
        self.times = np.zeros(count)
        self.states = np.zeros((count, ny))
        self.inputs = np.zeros((count, num_inputs))
        self.state = plan.start_state.copy()
        self.status = np.array([0.0, plan.start_time, 0.0])
        self._kept: list[Array] = []
        self.setup = np.zeros(1, loop.SETUP)
        _set_numbers(self.setup[0], plan)
        self._place_vectors(plan)

    def _place_vectors(self, plan: IntegrationPlan) -> None:
        setup, tables = self.setup[0], plan.tables
        starts = np.concatenate([_none(), *(table.starts for table in tables)])
        offsets = np.cumsum([0, *(table.starts.size for table in tables)])
        knots = np.unique(np.concatenate([plan.knots, plan.update_times, starts]))
        setup["num_knots"] = knots.size
        base = plan.base_inputs.copy()
        made = np.zeros(setup["num_inputs"] + setup["nz"])
        vectors = {
            "parameters": plan.parameters,
            "generator_parameters": plan.generator_parameters,
            "event_parameters": plan.event_parameters,
            "base": base,
            "inputs": base if plan.generator == 0 else made,
            "targets": np.array([table.index for table in tables], np.int64),
            "offsets": offsets,
            "starts": starts,
            "coefficients": np.concatenate(
                [np.zeros((0, 4)), *(table.coefficients for table in tables)]
            ),
            "segments": offsets[:-1].copy(),
            "knots": knots,
            "sample_times": plan.sample_times,
            "update_times": plan.update_times,
            "absolute": plan.absolute_tolerance,
            "floors": plan.health_floors,
            "directions": plan.event_directions,
            "status": self.status,
            "y": self.state,
            "recorded_times": self.times,
            "recorded_states": self.states,
            "recorded_inputs": self.inputs,
        }
        for name, vector in vectors.items():
            setup[name] = vector.ctypes.data
        nx, ny, num_events = int(setup["nx"]), int(setup["ny"]), int(setup["num_events"])
        sizes = {"K": loop.NUM_ROWS * int(setup["row"]), "F": NUM_DENSE_TERMS * ny}
        sizes |= dict.fromkeys(("stage", "end", "next", "point"), ny)
        sizes |= {"newton": nx + 1, "health": int(setup["num_health"])}
        sizes |= dict.fromkeys(("left", "right", "at_end", "probe"), num_events)
        work = np.zeros(sum(sizes.values()))
        address = work.ctypes.data
        for name, size in sizes.items():
            setup[name] = address
            address += 8 * size
        self._kept = [*vectors.values(), work]

    def result(self, is_interrupted: bool) -> NativeResult:
        """What the loop has left here."""
        setup = self.setup[0]
        filled = int(setup["filled"])
        return NativeResult(
            **{name: int(setup[name]) for name in ("code", "index", "steps", "rejections")},
            evaluations=int(setup["evaluations"]),
            time=float(setup["time"]),
            step=float(setup["step"]),
            state=self.state,
            times=self.times[:filled],
            states=self.states[:filled],
            inputs=self.inputs[:filled],
            is_interrupted=is_interrupted,
        )


def _set_numbers(setup: Any, plan: IntegrationPlan) -> None:
    """Addresses of functions, sizes and tolerances of a plan into a setup."""
    ny, nz, num_health = plan.start_state.size, plan.num_generator_states, plan.health_floors.size
    numbers = {
        "rates": plan.rates,
        "generator": plan.generator,
        "update": plan.update,
        "project": plan.project,
        "events": plan.events,
        "method": plan.method,
        "nx": ny - nz,
        "nz": nz,
        "ny": ny,
        "row": ny - nz + max(nz, num_health),
        "num_inputs": plan.num_inputs,
        "num_tables": len(plan.tables),
        "num_samples": plan.sample_times.size,
        "num_updates": plan.update_times.size if plan.update else 0,
        "num_health": num_health,
        "num_events": plan.event_directions.size,
        "max_steps": plan.max_steps,
        "time": plan.start_time,
        "step": plan.step,
        "end_time": plan.end_time,
        "max_step": plan.max_step,
        "relative": plan.relative_tolerance,
        "projection": plan.projection_tolerance,
    }
    for name, number in numbers.items():
        setup[name] = number


def _take_vectors(target: object, *names: str) -> None:
    """Make fields of a frozen object contiguous arrays of float64."""
    for name in names:
        vector = np.ascontiguousarray(getattr(target, name), dtype=np.float64)
        object.__setattr__(target, name, vector)


def _increases(values: Array) -> bool:
    return bool(np.all(np.diff(values) > 0.0))


def _check(owner: str, rules: Iterable[_Rule]) -> None:
    """Raise the first rule that is not met."""
    for name, is_met, what, fix in rules:
        if not is_met:
            raise SimulationError(what, f"{owner}.{name}", fix)
