"""The memory of one run: one block of 64-bit words, with the loop's record at its head.

    [record | values of this run | shared values | results | crossings | work | samples]

A `MemoryTemplate` is the layout of a plan: offsets, addresses of functions, and all numbers that
runs of the same code share. It is made once; `instantiate` makes the memory of one run from it,
with the numbers that differ from run to run. Threads may share templates, but not memories.
"""

from __future__ import annotations

import dataclasses
import struct
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from noslip.engines import System, address
from noslip.simulation.events import EventCode
from noslip.simulation.input_plan import InputPlan
from noslip.simulation.loop.code import loop_code
from noslip.simulation.loop.shape import ADDRESSES, INTEGERS, PLACES, REALS, Shape
from noslip.simulation.plan import EMPTY, InputTable, IntegrationPlan, RunValues, direct_steps
from noslip.simulation.request import METHODS
from noslip.simulation.rules import CROSSINGS_PER_STEP, PAUSED, RK4

Array = np.ndarray
_Byte: Any = c_char

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


class MemoryTemplate:
    """Layout and shared values of the memory of runs of the same code.

    Attributes
    ----------
    kept : objects whose code the loop calls, where nobody else keeps them as long as it runs.
    """

    kept: object = None

    def __init__(self, plan: IntegrationPlan, *, records_steps: bool = False) -> None:
        shared, integers = _shared(plan)
        shape = shape_of(plan, has_knots=shared["knots"].size > 0, records_steps=records_steps)
        self.code = loop_code(shape)
        self.back_shape = dataclasses.replace(shape, is_multistep=False, records_steps=False)
        self.num_states, self.num_inputs = plan.start_state.size, plan.num_inputs
        self.begins_here = plan.direct_steps > 0
        self.no_crossings = np.zeros((0, 2 + self.num_states))
        self._is_fixed = plan.method == RK4
        # memory that no crossing fills is never touched
        in_a_step = CROSSINGS_PER_STEP * shape.num_crossings
        self._room = in_a_step + CROSSINGS if shape.num_crossings else 0
        num_faults = 2 * (shape.num_events - shape.num_angles)
        anew = {
            "parameters": plan.parameters.size,
            "generator_parameters": plan.generator_parameters.size,
            "event_parameters": plan.event_parameters.size,
            "base": plan.base_inputs.size,
            "absolute": plan.absolute_tolerance.size,
            "states": self.num_states,
            "times": 1,
            "steps_left": 1,
        }
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
            "rates": plan.rates,
            "generator": plan.generator,
            "update": plan.update,
            "project": plan.project,
            "events": plan.events,
            "enclosures": plan.enclosures,
            "queue_length": 1,
            "num_updates": plan.update_times.size if plan.update else 0,
            "seed": plan.seed,
            "first_run": plan.first_run,
            "first_update": plan.first_update,
            "pause": plan.direct_steps,
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

    def instantiate(self, numbers: RunValues) -> Memory:
        """The memory of a run with these numbers."""
        count, ny = numbers.sample_times.size, self.num_states
        times = self._samples + count + 1
        states = times + count + 1
        inputs = states + (count + 1) * ny
        words = np.zeros(inputs + (count + 1) * self.num_inputs, np.int64)
        reals = words.view(np.float64)
        # to join bytes takes a fifth of the time of np.concatenate
        vectors: tuple[Any, ...] = numbers.vectors
        span = _pack_span(numbers.start_time, numbers.step)
        words.data.cast("B")[: self._known] = b"".join((self._head, *vectors, span, self._rest))
        here = addressof(_Byte.from_buffer(words))
        np.add(self._offsets, here, out=words[_VECTORS])
        words[_NUM_SAMPLES], words[_MAX_STEPS] = count, numbers.max_steps
        words[_TIMES], words[_STATES] = here + 8 * times, here + 8 * states
        words[_INPUTS] = here + 8 * inputs
        longest = numbers.step if self._is_fixed else numbers.max_step
        tolerances = numbers.relative_tolerance, numbers.projection_tolerance
        _pack_reals(words, _REALS, numbers.end_time, longest, *tolerances)
        reals[self._samples : times - 1] = numbers.sample_times
        reals[times - 1] = np.inf
        reals[self.places["status"].start + 1] = numbers.start_time
        work = (here + 8 * self._work) // 64 * 64
        return Memory(self, words, reals, (times, states, inputs), (here, work))

    def crossings(self, reals: Array) -> Array:
        """(room, 2 + ny) of a block: event, time and state of the events that go on."""
        return reals[self.places["crossings"]].reshape(-1, self.num_states + 2)


class Memory:
    """The words of one run, and views of them for Python.

    Parameters
    ----------
    template : that it is an instance of.
    words, reals : all of it, as integers and as numbers.
    samples : offsets of times, states and inputs of samples, with room for one more for an event.
    addresses : of the record and of the loop's work.
    """

    __slots__ = ("_addresses", "_reals", "_samples", "crossings", "template", "words")

    def __init__(
        self,
        template: MemoryTemplate,
        words: Array,
        reals: Array,
        samples: tuple[int, int, int],
        addresses: tuple[int, int],
    ) -> None:
        self.template, self.words, self._reals, self._samples = template, words, reals, samples
        self._addresses = addresses
        self.crossings: list[Array] = []

    @classmethod
    def of(cls, plan: IntegrationPlan) -> Memory:
        """The memory of a single run."""
        return MemoryTemplate(plan).instantiate(plan.numbers)

    @property
    def status(self) -> Array:
        """(3,) cancel request, time reached, steps taken."""
        return self._reals[self.template.places["status"]]

    @property
    def state(self) -> Array:
        """(ny,) state at the start, then where the loop ended."""
        return self._reals[self.template.places["states"]]

    @property
    def event_parameters(self) -> Array:
        """Parameters of the events, at their head the angles that these follow."""
        return self._reals[self.template.places["event_parameters"]]

    @property
    def faults(self) -> tuple[Array, Array]:
        """(ne, 2) how often crossings of events were not excluded and values not defined; when."""
        places = self.template.places
        counts, times = self.words[places["fault_counts"]], self._reals[places["fault_times"]]
        return counts.reshape(-1, 2), times.reshape(-1, 2)

    @property
    def time(self) -> float:
        """Time at which the loop ended."""
        return self._reals.item(self.template.places["times"].start)

    @property
    def step(self) -> float:
        """The step size to continue with."""
        return self._reals.item(self.template.places["steps_left"].start)

    def integrate(self) -> int:
        """Run the loop until it ends or pauses, not counting pauses for room; the ending code."""
        words, template = self.words, self.template
        at, code = template.places["num_crossings"].start, template.outcome.start
        while True:
            template.code.integrate(*self._addresses)
            number = words.item(at)
            if number:
                self.crossings.append(template.crossings(self._reals)[:number].copy())
            is_full = number > words.item(_MOST_CROSSINGS)
            if words.item(code) != PAUSED or not is_full:
                return words.item(code)

    def record_steps(self, times: Array, states: Array) -> int:
        """Run the loop until it ends or these are full of ends of steps; how many there are.

        Parameters
        ----------
        times, states : (n,) and (n, ny), of a run whose template records steps.
        """
        words = self.words
        words[_STEP_TIMES] = address("step times", times)
        size = len(times) * self.template.num_states
        words[_STEP_STATES] = address("step states", states, size)
        words[_MOST_RECORDED] = len(times)
        self.run_on()
        self.integrate()
        return int(words.item(self.template.places["num_recorded"].start))

    def run_on(self) -> None:
        """Remove the limit on steps, so that the next call of the loop runs to the end."""
        self.words[_PAUSE] = 0

    def outcome(self) -> list[int]:
        """Code, index, steps, rejections, evaluations and number of samples."""
        outcome: list[int] = self.words[self.template.outcome].tolist()
        return outcome

    def samples(self, count: int) -> tuple[Array, Array, Array]:
        """(n,) times, (n, ny) states and (n, nu) inputs of the first samples."""
        times, states, inputs = self._samples
        ny, nu, reals = self.template.num_states, self.template.num_inputs, self._reals
        return (
            reals[times : times + count],
            reals[states : states + count * ny].reshape(count, ny),
            reals[inputs : inputs + count * nu].reshape(count, nu),
        )

    def noted(self) -> Array:
        """(k, 2 + ny) event, time and state of the events that did not end the run."""
        if not self.crossings:
            return self.template.no_crossings
        return np.concatenate(self.crossings)


def shape_of(plan: IntegrationPlan, *, has_knots: bool, records_steps: bool = False) -> Shape:
    """The shape of the loop that a plan needs."""
    directions = plan.event_directions
    return Shape(
        method=plan.method,
        nx=plan.start_state.size - plan.num_generator_states,
        nz=plan.num_generator_states,
        num_health=plan.health_floors.size,
        num_inputs=plan.num_inputs,
        num_tables=len(plan.tables),
        num_events=directions.size,
        num_endings=plan.num_endings - int(np.isnan(directions[: plan.num_endings]).sum()),
        num_angles=int(np.isnan(directions).sum()),
        num_noise=plan.num_noise,
        has_generator=plan.generator != 0,
        has_update=plan.update != 0 and plan.update_times.size > 0,
        has_projection=plan.project != 0,
        has_enclosures=plan.enclosures != 0,
        has_knots=has_knots,
        has_samples=True,
        is_multistep=plan.is_smooth,
        records_steps=records_steps,
        apart=plan.apart,
    )


def _shared(plan: IntegrationPlan) -> tuple[dict[str, Array], dict[str, Array]]:
    """Numbers and integers that are the same in every run: tables, knots, floors, directions."""
    tables = plan.tables
    offsets, starts, rows = np.zeros(1, np.int64), EMPTY, EMPTY
    if tables:
        starts = np.concatenate([table.starts for table in tables])
        rows = np.concatenate([table.coefficients for table in tables]).ravel()
        offsets = np.cumsum([0, *(table.starts.size for table in tables)])
    knots = EMPTY
    if starts.size or plan.knots.size or plan.update_times.size:
        knots = np.unique(np.concatenate([plan.knots, plan.update_times, starts]))
    return {
        "segment_starts": starts,
        "coefficients": rows,
        "knots": knots,
        "update_times": plan.update_times,
        "floors": plan.health_floors,
        "directions": plan.event_directions,
        "status": np.zeros(3),
    }, {
        "queue": np.zeros(1, np.int64),
        "targets": np.array([table.index for table in tables], np.int64),
        "first_segments": offsets[:-1],
        "end_segments": offsets[1:],
        "knot_offsets": np.array([0, knots.size]),
    }


def template_of(
    system: System,
    plan: InputPlan,
    watched: EventCode,
    method: str,
    depth: int,
    numbers: RunValues,
    start_time: float,
) -> MemoryTemplate:
    """Memory template of runs of the same code; cached with the system if the code is.

    Parameters
    ----------
    system, plan : what runs, and its inputs.
    watched : values of events.
    method : by its name.
    depth : segments before after which there were no better speeds, so that these go on.
    numbers : of the first run, with the hoisted parameters of the system's rates.
    start_time : of the whole run, s.
    """
    rates = system.hoisted_rates.rest
    projection = system.projection if system.has_projection else None

    def make() -> MemoryTemplate:
        tables = [InputTable(index=k, starts=s, coefficients=c) for k, s, c in plan.tables]
        t, end_time, knots = numbers.start_time, numbers.end_time, plan.knots
        floors = [h.bound(depth) for h in system.singularity_measures]
        laid_out = IntegrationPlan(
            **numbers._asdict(),
            rates=rates.address,
            num_generator_states=plan.num_states,
            tables=tuple(tables),
            generator=plan.address,
            update=plan.update.address if plan.update else 0,
            update_times=_update_times(plan, start_time, t, end_time),
            num_noise=plan.num_noise,
            seed=plan.generator.seed if plan.generator else 0,
            first_run=plan.generator.run if plan.generator else 0,
            first_update=_first_update(plan, start_time, t, end_time),
            num_inputs=len(system.inputs),
            knots=knots[(knots > t) & (knots < end_time)],
            project=projection.address if projection else 0,
            events=watched.function.address if watched.function else 0,
            enclosures=watched.enclosures.address if watched.enclosures else 0,
            event_directions=watched.directions(),
            num_endings=watched.num_endings,
            health_floors=np.array(floors),
            method=METHODS[method],
            apart=system.work_apart,
            # where Python is called back, none on the calling thread
            direct_steps=0 if plan.callback else direct_steps(len(numbers.start_state)),
        )
        return MemoryTemplate(laid_out)

    if not plan.is_kept:
        template = make()
        template.kept = (rates, projection, plan, watched)
        return template
    # functions stand for themselves, so that they live as long as what has their addresses
    functions = (rates, projection, plan.function, watched)
    return system.cached(("template", functions, method, depth), make)


def _first_update(plan: InputPlan, start_time: float, t: float, end_time: float) -> int:
    """Number of updates of a sampled law done at t."""
    if plan.generator is None:
        return 0
    times = plan.generator.update_times(start_time, end_time)
    return len(times) - len(_update_times(plan, start_time, t, end_time))


def _update_times(plan: InputPlan, start_time: float, t: float, end_time: float) -> Array:
    """Update times of a sampled law from t on."""
    if plan.generator is None:
        return np.zeros(0)
    times = plan.generator.update_times(start_time, end_time)
    return times[times >= t - 1e-9 * plan.generator.period]
