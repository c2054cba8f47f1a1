"""What runs: native functions in a loop on worker threads, and the memory of one run of it.

**What runs: native functions in a loop, and the memory of one run of it.**

    [record | values of this run | shared values | results | crossings | work | samples]

A `NativeLoop` has what runs of the same code share: the functions, the numbers that do not differ,
and the layout of one block of 64-bit words with the loop's record at its head. It is made once;
`NativeLoop.begin` makes a `NativeRun` of it, with the numbers that differ. Threads may share loops,
but not runs.

A run begins on the calling thread; if it is not over after a few steps, it continues in a worker
thread while the calling one polls. Ctrl-C ends the loop and raises KeyboardInterrupt; a run that
was cancelled returns what it has computed.
"""

from __future__ import annotations

import dataclasses
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np

from noslip.base import SimulationError
from noslip.engines import address
from noslip.simulation.loop import rules
from noslip.simulation.loop.loop import loop_code
from noslip.simulation.loop.rules import CROSSINGS_PER_STEP, PAUSED
from noslip.simulation.loop.writer import ADDRESSES, INTEGERS, PLACES, REALS, Shape

POLL_INTERVAL = 0.02  # s between checks of the cancel request
PROGRESS_INTERVAL = 0.2  # s between calls of progress
WORKER = "noslip worker"  # name of threads


class CancelRequest(Protocol):
    """Flag that another thread sets to end a run early; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether the run shall end."""


class _Crew:
    """Where workers are. Each attribute is set in one operation, which no Ctrl-C divides."""

    has_begun = shall_end = is_over = False


def run_workers(
    work: Callable[[int], None],
    count: int,
    *,
    stop: Callable[[], object],
    report: Callable[[], object] | None = None,
    cancel: CancelRequest | None = None,
    may_hang: bool = False,
) -> None:
    """Run work(0), …, work(count − 1) on threads. None of them runs any more when this ends.

    Workers write into memory that their caller frees once this returns or raises. Python raises
    KeyboardInterrupt, and what other handlers of signals raise, in the main thread alone, and
    anywhere in it. So the first worker starts and awaits the others, and the calling thread does
    nothing but wait for the first one.

    Parameters
    ----------
    work : function of the worker's number; it keeps what it writes into alive.
    count : count of workers.
    stop : function that makes work end soon; called at Ctrl-C, at a failure and on request.
    report : function called a few times a second, and at the end.
    cancel : checked every 0.02 s; once it is set, `stop` is called.
    may_hang : work may call functions of others that do not return; a second Ctrl-C leaves it.

    Raises
    ------
    KeyboardInterrupt, and whatever `report` or a worker raises, after all workers have ended.
    """
    crew, failures = _Crew(), list[BaseException]()
    # in Python 3.11 a thread whose `join` is interrupted counts as ended although it still runs
    bell = threading.Lock()
    bell.acquire()

    def one(k: int) -> None:
        try:
            work(k)
        except BaseException as error:
            failures.append(error)
            stop()

    def lead() -> None:
        crew.has_begun = True
        others = list[threading.Thread]()
        try:
            if not crew.shall_end:
                for k in range(1, count):
                    if crew.shall_end:
                        break
                    other = threading.Thread(target=one, args=(k,), name=WORKER, daemon=True)
                    other.start()
                    others.append(other)
                one(0)
        except BaseException as error:
            failures.append(error)
            stop()
        finally:
            for other in others:
                other.join()
            crew.is_over = True
            bell.release()

    try:
        threading.Thread(target=lead, name=WORKER, daemon=True).start()
        reported = time.monotonic()
        while not crew.is_over:
            bell.acquire(timeout=POLL_INTERVAL)
            if cancel is not None and cancel.is_set():
                stop()
            if report is not None and time.monotonic() - reported >= PROGRESS_INTERVAL:
                report()
                reported = time.monotonic()
        if report is not None:
            report()
    except BaseException:
        crew.shall_end = True
        _outlast(crew, bell, stop, may_hang)
        raise
    if failures:
        raise failures[0]


def _outlast(crew: _Crew, bell: threading.Lock, stop: Callable[[], object], may_hang: bool) -> None:
    """Wait for the end of workers, whatever interrupts that."""
    while True:
        try:
            stop()
            # one that has not begun sees first that it shall not
            while crew.has_begun and not crew.is_over:
                bell.acquire(timeout=POLL_INTERVAL)
            return
        except BaseException:
            if may_hang:
                raise


_Byte: Any = c_char

EMPTY = np.zeros(0)
EMPTY.flags.writeable = False


def _empty() -> np.ndarray:
    return EMPTY


CROSSINGS = 256  # events that do not end the run for which there is room before the loop pauses
LINE = 8  # words in a cache line

_HEAD = len(PLACES)  # words of the record
_REALS = 8 * len(INTEGERS)  # bytes before them
_pack_reals: Any = struct.Struct(f"{len(REALS)}d").pack_into
_pack_span: Any = struct.Struct("2d").pack
_VECTORS = slice(PLACES["queue"], len(ADDRESSES))  # addresses within the block
_PAUSE, _MAX_STEPS, _MOST_CROSSINGS, _NUM_SAMPLES = (
    PLACES[name] for name in ("pause", "max_steps", "most_crossings", "num_samples")
)
_STEP_TIMES, _STEP_STATES, _MOST_RECORDED = (
    PLACES[name] for name in ("step_times", "step_states", "most_recorded")
)
_TIMES, _STATES, _INPUTS = (
    PLACES[name] for name in ("recorded_times", "recorded_states", "recorded_inputs")
)
#: Results of a run that lie side by side, in this order.
_OUTCOME = ("codes", "which", "num_steps", "num_rejections", "num_evaluations", "num_filled")


class Function(Protocol):
    """Native code at an address, loaded as long as this lives."""

    @property
    def address(self) -> int:
        """Where it is; 0 if there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class InputTable:
    """A base input that is piecewise cubic in time."""

    index: int  #: number of the base input
    #: (k,) increasing. A segment holds from its start to the next one; the first also before its
    #: start, the last without end.
    starts: np.ndarray
    #: (k, 4) of s³, s², s, 1 with s = t − start: ``scipy.interpolate.PPoly.c.T``
    coefficients: np.ndarray

    def segment(self, t: float) -> int:
        """Number of the segment that holds from a time on."""
        return max(int(np.searchsorted(self.starts, t, side="right")) - 1, 0)


def driven(base: np.ndarray, tables: Sequence[InputTable], t: float) -> np.ndarray:
    """Base inputs at a time, those of tables evaluated; at a jump those that hold from it on."""
    result = base.copy()
    for table in tables:
        k = table.segment(t)
        result[table.index] = np.polyval(table.coefficients[k], t - table.starts[k])
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class NativeLoop:
    """Functions to integrate, and all that runs of them share."""

    rates: Function  #: [ẋ; health] of (t, x, inputs, parameters)
    num_generator_states: int = 0  #: nz, the last states, of the law that gives the inputs
    #: [inputs; ż] of (t, y, base inputs, generator_parameters); without it the inputs are the base
    #: inputs
    generator: Function | None = None
    #: update, update_times: the new z, and when: steps end there, as of a sampled controller
    update: Function | None = None
    update_times: np.ndarray = field(default_factory=_empty)
    #: channels of random numbers of the update, whose place is behind the base inputs
    num_noise: int = 0
    #: seed, first_run, first_update: seed, first run and first update of the random numbers
    seed: int = 0
    first_run: int = 0
    first_update: int = 0
    num_inputs: int = -1  #: number of inputs of the generator; −1: as many as base inputs
    tables: tuple[InputTable, ...] = ()  #: base inputs that change with time
    #: times on which a step must end; starts of tables need not be repeated
    knots: np.ndarray = field(default_factory=_empty)
    project: Function | None = None  #: [x after a Newton step; residual before it]
    events: Function | None = None  #: values whose zero crossings are found
    #: intervals of these values and of their rates; without it they are looked at in quarters of
    #: steps
    enclosures: Function | None = None
    #: (ne,) −1, 0 or +1: falling, both, rising; NaN for angles, which come last and are unwrapped
    #: from event_parameters[0], [1], …, their values at the last check
    directions: np.ndarray = field(default_factory=_empty)
    num_endings: int = -1  #: number of events that end the run, the first ones; −1: all
    #: (nh,) the run ends when a health value is below its floor
    floors: np.ndarray = field(default_factory=_empty)
    method: int = rules.DOP853  #: ``rules.DOP853`` or ``rules.RK4``
    #: state whose error is measured by itself, with the tolerance of the first; −1: none
    apart: int = -1
    #: number of steps on the calling thread before a worker takes over; 0: none, −1: those of some
    #: milliseconds
    direct_steps: int = 0
    records_steps: bool = False  #: whether the ends of all steps are kept
    #: By the sizes of vectors; there is one, mostly.
    _layouts: dict[tuple[int, ...], _Layout] = field(default_factory=dict, init=False, repr=False)

    @property
    def is_smooth(self) -> bool:
        """Whether samples may be found from several steps: nothing known breaks the motion up."""
        breaks = (self.knots, self.update_times, self.tables)
        return self.method == rules.DOP853 and not any(len(each) for each in breaks)

    def begin(
        self,
        *,
        start_time: float,
        end_time: float,
        start_state: np.ndarray,
        parameters: np.ndarray,
        absolute_tolerance: np.ndarray,
        relative_tolerance: float = 1e-8,
        sample_times: np.ndarray = EMPTY,
        base_inputs: np.ndarray = EMPTY,
        generator_parameters: np.ndarray = EMPTY,
        event_parameters: np.ndarray = EMPTY,
        projection_tolerance: float = rules.PROJECTION_TOLERANCE,
        step: float = 0.0,
        max_step: float = np.inf,
        max_steps: int = 2**62,
    ) -> NativeRun:
        """A run of the loop. Vectors are contiguous and of float64."""
        # finite if all its numbers are, but for huge ones
        size = start_state.dot(start_state) if start_state.size else np.nan
        if not (isfinite(size) or (start_state.size and np.all(np.isfinite(start_state)))):
            raise SimulationError(
                "the start state is empty or not finite",
                f"start of the run, t = {start_time:.9g} s",
                "give finite numbers",
            )
        if not -np.inf < start_time <= end_time < np.inf:
            raise SimulationError(
                f"the run goes from t = {start_time} to {end_time}",
                "times of the run",
                "give finite times, the end last",
            )
        vectors = (
            parameters,
            generator_parameters,
            event_parameters,
            base_inputs,
            absolute_tolerance,
            start_state,
        )
        sizes = tuple(map(len, vectors))
        layout = self._layouts.get(sizes)
        if layout is None:
            layout = self._layouts[sizes] = _Layout(self, sizes)
        longest = step if self.method == rules.RK4 else max_step
        reals = end_time, longest, relative_tolerance, projection_tolerance
        return layout.instantiate(vectors, (start_time, step), reals, max_steps, sample_times)


class _Layout:
    """Where a loop has what in the memory of a run, and the words that all its runs share."""

    def __init__(self, loop: NativeLoop, sizes: tuple[int, ...]) -> None:
        shared, integers = _shared(loop)
        num_base, self.num_states = sizes[3], sizes[5]
        if sizes[4] != self.num_states and loop.method != rules.RK4:
            raise ValueError(f"{sizes[4]} absolute tolerances of {self.num_states} states")
        self.num_inputs = num_base if loop.num_inputs < 0 else loop.num_inputs
        shape = _shape(loop, self.num_states, self.num_inputs, has_knots=shared["knots"].size > 0)
        self.loop, self.code = loop, loop_code(shape)
        self.back_shape = dataclasses.replace(shape, is_multistep=False, records_steps=False)
        direct = loop.direct_steps
        if direct < 0:
            direct = 400_000 // self.num_states**2
        self.begins_here = direct > 0
        self.no_crossings = np.zeros((0, 2 + self.num_states))
        # memory that no crossing fills is never touched
        in_a_step = CROSSINGS_PER_STEP * shape.num_crossings
        self._room = in_a_step + CROSSINGS if shape.num_crossings else 0
        num_faults = 2 * (shape.num_events - shape.num_angles)
        names = ("parameters", "generator_parameters", "event_parameters", "base", "absolute")
        anew = dict(zip((*names, "states"), sizes, strict=True)) | {"times": 1, "steps_left": 1}
        same = {name: vector.size for name, vector in (shared | integers).items()}
        left = dict.fromkeys(_OUTCOME, 1) | {"counter": 1, "num_crossings": 1, "num_recorded": 1}
        left |= {"fault_counts": num_faults, "fault_times": num_faults}
        crossings = {"crossings": self._room * (self.num_states + 2)}
        places, at = {}, _HEAD
        for name, size in (anew | same | left | crossings).items():
            places[name] = slice(at, at + size)
            at += size
        self._work = at + LINE  # room to begin on a cache line
        self._samples = self._work + self.code.work_size  # as many as a run has
        self.places = places
        self.outcome = slice(places["codes"].start, places["num_filled"].stop)
        image = np.zeros(places["crossings"].start, np.int64)
        for name, vector in shared.items():
            image.view(np.float64)[places[name]] = vector
        for name, vector in integers.items():
            image[places[name]] = vector
        numbers = {
            name: 0 if function is None else function.address
            for name, function in (
                *(("rates", loop.rates), ("generator", loop.generator), ("update", loop.update)),
                *(("project", loop.project), ("events", loop.events)),
                ("enclosures", loop.enclosures),
            )
        } | {
            "queue_length": 1,
            "num_updates": loop.update_times.size if loop.update else 0,
            "seed": loop.seed,
            "first_run": loop.first_run,
            "first_update": loop.first_update,
            "pause": direct,
            "most_crossings": max(self._room - in_a_step, 0),
            "crossing_room": self._room,
        }
        numbers |= {name: 8 * place.start for name, place in places.items()}
        numbers["sample_times"] = 8 * self._samples
        image[: len(INTEGERS)] = [numbers.get(name, 0) for name in INTEGERS]
        # what is given anew lies between the head and the rest
        self._known = image.nbytes
        self._head = image[:_HEAD].tobytes()
        self._rest = image[places["steps_left"].stop :].tobytes()
        self._offsets = image[_VECTORS].copy()

    def instantiate(
        self,
        vectors: tuple[Any, ...],
        begins: tuple[float, float],
        reals: tuple[float, ...],
        max_steps: int,
        sample_times: np.ndarray,
    ) -> NativeRun:
        """The memory of a run: vectors, time and step at the start, end time and tolerances."""
        count, ny = len(sample_times), self.num_states
        times = self._samples + count + 1
        states = times + count + 1
        inputs = states + (count + 1) * ny
        words = np.zeros(inputs + (count + 1) * self.num_inputs, np.int64)
        numbers = words.view(np.float64)
        # to join bytes takes a fifth of the time of np.concatenate
        known = b"".join((self._head, *vectors, _pack_span(*begins), self._rest))
        words.data.cast("B")[: self._known] = known
        here = addressof(_Byte.from_buffer(words))
        np.add(self._offsets, here, out=words[_VECTORS])
        words[_NUM_SAMPLES], words[_MAX_STEPS] = count, max_steps
        words[_TIMES], words[_STATES] = here + 8 * times, here + 8 * states
        words[_INPUTS] = here + 8 * inputs
        _pack_reals(words, _REALS, *reals)
        numbers[self._samples : times - 1] = sample_times
        numbers[times - 1] = np.inf
        numbers[self.places["status"].start + 1] = begins[0]
        work = (here + 8 * self._work) // 64 * 64
        return NativeRun(self, words, numbers, (times, states, inputs), (here, work))

    def crossings(self, reals: np.ndarray) -> np.ndarray:
        """(room, 2 + ny) of a block: event, time and state of the events that go on."""
        return reals[self.places["crossings"]].reshape(-1, self.num_states + 2)


class NativeRun:
    """One run: the words of its memory, and views of them for Python.

    `words`, `reals`: all of it, as integers and as numbers; `samples`: offsets of times, states and
    inputs of samples, with room for one more for an event; `addresses`: addresses of the record and
    of the loop's work.
    """

    __slots__ = ("_addresses", "_reals", "_samples", "crossings", "layout", "words")

    def __init__(
        self,
        layout: _Layout,
        words: np.ndarray,
        reals: np.ndarray,
        samples: tuple[int, int, int],
        addresses: tuple[int, int],
    ) -> None:
        self.layout, self.words, self._reals, self._samples = layout, words, reals, samples
        self._addresses = addresses
        self.crossings: list[np.ndarray] = []

    @property
    def status(self) -> np.ndarray:
        """(3,) cancel request, time reached, steps taken."""
        return self._reals[self.layout.places["status"]]

    @property
    def state(self) -> np.ndarray:
        """(ny,) state at the start, then where the loop ended."""
        return self._reals[self.layout.places["states"]]

    @property
    def event_parameters(self) -> np.ndarray:
        """Parameters of the events, at their head the angles that these follow."""
        return self._reals[self.layout.places["event_parameters"]]

    @property
    def faults(self) -> tuple[np.ndarray, np.ndarray]:
        """(ne, 2) how often crossings of events were not excluded and values not defined; when."""
        places = self.layout.places
        counts, times = self.words[places["fault_counts"]], self._reals[places["fault_times"]]
        return counts.reshape(-1, 2), times.reshape(-1, 2)

    @property
    def time(self) -> float:
        """Time at which the loop ended."""
        return self._reals.item(self.layout.places["times"].start)

    @property
    def code(self) -> int:
        """Why it ended, one of the endings in ``rules``."""
        return self.words.item(self.layout.outcome.start)

    def set(self, words: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Memory as it was at another time, with these vectors by name in place of its own."""
        self.words[:] = words
        for name, vector in values.items():
            self._reals[self.layout.places[name]] = vector

    def integrate(self) -> int:
        """Run the loop until it ends or pauses, not counting pauses for room; the ending code."""
        words, layout = self.words, self.layout
        at, code = layout.places["num_crossings"].start, layout.outcome.start
        while True:
            layout.code.integrate(*self._addresses)
            number = words.item(at)
            if number:
                self.crossings.append(layout.crossings(self._reals)[:number].copy())
            is_full = number > words.item(_MOST_CROSSINGS)
            if words.item(code) != PAUSED or not is_full:
                return words.item(code)

    def record_steps(self, times: np.ndarray, states: np.ndarray) -> int:
        """Run the loop until it ends or these are full of ends of steps; how many there are."""
        words = self.words
        words[_STEP_TIMES] = address("step times", times)
        words[_STEP_STATES] = address("step states", states)
        words[_MOST_RECORDED] = len(times)
        words[_PAUSE] = 0
        self.integrate()
        return int(words.item(self.layout.places["num_recorded"].start))

    def go(
        self,
        progress: Callable[[float], object] | None = None,
        cancel: CancelRequest | None = None,
        span: tuple[float, float] | None = None,
    ) -> NativeResult:
        """Run to the end, which another thread may cut short.

        `progress`: function called from this thread a few times per second with the fraction of
        time covered, and once at the end. `cancel`: checked every 0.02 s; once it is set, the run
        ends with ``rules.CANCELLED``. `span`: span of the progress, s; this run by default.
        """
        status = self.status
        begin, end = span or (float(status[1]), float(self._reals[PLACES["end_time"]]))

        def report() -> None:
            if progress is not None:
                progress(float((status[1] - begin) / (end - begin)) if end > begin else 1.0)

        def stop() -> None:
            status[0] = 1.0

        def work(_: int) -> None:
            self.integrate()

        if cancel is not None and cancel.is_set():
            stop()
        begins_here = self.layout.begins_here
        if begins_here and self.integrate() != PAUSED:
            report()
            return self.result()
        self.words[_PAUSE] = 0
        # a Python callable that hangs must not hold the second Ctrl-C, too
        run_workers(
            work,
            1,
            stop=stop,
            report=None if progress is None else report,
            cancel=cancel,
            may_hang=not begins_here,
        )
        return self.result()

    def result(self) -> NativeResult:
        """What it left until now, as views of its memory."""
        layout, reals = self.layout, self._reals
        code, index, steps, rejections, evaluations, n = self.words[layout.outcome].tolist()
        times, states, inputs = self._samples
        ny, nu = layout.num_states, layout.num_inputs
        return NativeResult(
            code,
            index,
            steps,
            rejections,
            evaluations,
            self.time,
            reals.item(layout.places["steps_left"].start),
            self.state,
            reals[times : times + n],
            reals[states : states + n * ny].reshape(n, ny),
            reals[inputs : inputs + n * nu].reshape(n, nu),
            np.concatenate(self.crossings) if self.crossings else layout.no_crossings,
        )


@dataclass(slots=True, eq=False)
class NativeResult:
    """Result of one native run."""

    code: int  #: reason why it ended, one of the endings in ``rules``
    index: int  #: number of the event or singularity measure that ended it, or −1
    #: steps, rejections, evaluations: numbers of steps, of rejected steps, and of evaluations of
    #: the rates
    steps: int
    rejections: int
    evaluations: int
    #: time, step, state: end of the run, and the step size to continue with
    time: float
    step: float
    state: np.ndarray
    #: times, states, inputs: (n,), (n, ny), (n, nu) the samples reached; the last is the event, if
    #: one ended the run
    times: np.ndarray
    states: np.ndarray
    inputs: np.ndarray
    #: (k, 2 + ny) event, time and state of the events that did not end the run
    crossings: np.ndarray

    def copy(self) -> NativeResult:
        """The same in memory of its own, where that of the run is used again."""
        return NativeResult(
            self.code,
            self.index,
            self.steps,
            self.rejections,
            self.evaluations,
            self.time,
            self.step,
            self.state.copy(),
            self.times.copy(),
            self.states.copy(),
            self.inputs.copy(),
            self.crossings,
        )


def integrate(
    rates: Function,
    state: np.ndarray,
    times: np.ndarray,
    *,
    span: tuple[float, float],
    parameters: np.ndarray,
    tolerance: float,
    knots: Sequence[float] = (),
) -> tuple[np.ndarray, float]:
    """States of ẋ = f(t, x) at the samples, and the time that was reached, s.

    Parameters
    ----------
    rates : ẋ of (t, x, no inputs, parameters).
    state : state at the start.
    times, span : (n,) samples that increase; start and end, s.
    knots : times within the span on which steps end.
    """
    is_within = not len(times) or bool(span[0] <= times[0] <= times[-1] <= span[1])
    if not (is_within and (np.diff(times) >= 0.0).all()):
        raise SimulationError(
            "the sample times must increase and lie within the run",
            "times of the samples",
            f"give times between {span[0]:g} and {span[1]:g} s",
        )
    found = (
        NativeLoop(rates=rates, knots=np.array(knots, dtype=float))
        .begin(
            start_time=span[0],
            end_time=span[1],
            start_state=state,
            sample_times=times,
            parameters=parameters,
            relative_tolerance=tolerance,
            absolute_tolerance=np.full(len(state), tolerance),
        )
        .go()
    )
    return found.states, found.time if found.code != rules.FINISHED else span[1]


def _shape(loop: NativeLoop, num_states: int, num_inputs: int, *, has_knots: bool) -> Shape:
    """The shape of the code of a loop."""
    directions = loop.directions
    num_endings = directions.size if loop.num_endings < 0 else loop.num_endings
    return Shape(
        method=loop.method,
        nx=num_states - loop.num_generator_states,
        nz=loop.num_generator_states,
        num_health=loop.floors.size,
        num_inputs=num_inputs,
        num_tables=len(loop.tables),
        num_events=directions.size,
        num_endings=num_endings - int(np.isnan(directions[:num_endings]).sum()),
        num_angles=int(np.isnan(directions).sum()),
        num_noise=loop.num_noise,
        has_generator=loop.generator is not None,
        has_update=loop.update is not None and loop.update_times.size > 0,
        has_projection=loop.project is not None,
        has_enclosures=loop.enclosures is not None,
        has_knots=has_knots,
        has_samples=True,
        is_multistep=loop.is_smooth,
        records_steps=loop.records_steps,
        apart=loop.apart,
    )


def _shared(loop: NativeLoop) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Numbers and integers that are the same in every run: tables, knots, floors, directions."""
    tables = loop.tables
    offsets, starts, rows = np.zeros(1, np.int64), EMPTY, EMPTY
    if tables:
        starts = np.concatenate([table.starts for table in tables])
        rows = np.concatenate([table.coefficients for table in tables]).ravel()
        offsets = np.cumsum([0, *(table.starts.size for table in tables)])
    knots = EMPTY
    if starts.size or loop.knots.size or loop.update_times.size:
        knots = np.unique(np.concatenate([loop.knots, loop.update_times, starts]))
    return {
        "segment_starts": starts,
        "coefficients": rows,
        "knots": knots,
        "update_times": loop.update_times,
        "floors": loop.floors,
        "directions": loop.directions,
        "status": np.zeros(3),
    }, {
        "queue": np.zeros(1, np.int64),
        "targets": np.array([table.index for table in tables], np.int64),
        "first_segments": offsets[:-1],
        "end_segments": offsets[1:],
        "knot_offsets": np.array([0, knots.size]),
    }
