"""The loop as text being written: its shape, variables, arrays and arguments.

**`Shape`, what the code of a loop depends on, and the record with the values of a run.**

A `Shape` is known when the loop is printed: sizes, and which parts there are. One loop serves all
systems of the same shape. Functions, vectors, times and tolerances are known when it runs, from a
record of 64-bit words.

**`LoopWriter`: the function being written, its variables, arrays and arguments.**

Letters are those of ``dop853``: K holds the rates of the stages, a row for each, F the terms of the
dense output. What a lane knows from round to round are variables that are declared here; all others
are of a round.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from noslip.engines import Buffer, ElementType, Flow, Given, Target, Value, word_of_record
from noslip.simulation.loop import rules
from noslip.simulation.loop.dop853 import NUM_DENSE_TERMS
from noslip.simulation.loop.rules import END_ROW, NUM_NODES, NUM_ROWS, PROJECTED_ROW


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes and options for which a loop is printed."""

    target: Target = Target()  #: lanes, and where arrays lie
    method: int = rules.DOP853  #: ``rules.DOP853`` or ``rules.RK4``
    #: nx, nz: states of the mechanism, and of the law that gives the inputs
    nx: int
    nz: int = 0
    num_health: int = 0  #: values that must stay away from zero
    num_inputs: int = 0  #: num inputs of the mechanism
    #: num_base, num_tables: numbers that the law of a batch is given, and how many of them tables
    #: drive
    num_base: int = 0
    num_tables: int = 0
    #: whether there are many trajectories, each with parameters of its own, and columns of them are
    #: kept; else there is one, whose functions take parameters from where they are given, and
    #: states and inputs are kept
    is_batch: bool = False
    num_parameters: int = 0  #: num parameters of all functions of a batch, rounded up by `rounded`
    #: varying of a GPU's thread, the parameters that differ from trajectory to trajectory; the
    #: others follow the record
    varying: tuple[int, ...] = ()
    #: num_events, num_endings, num_angles: values whose crossings are found, the first of them that
    #: end a run, the last of them that are angles which go on
    num_events: int = 0
    num_endings: int = 0
    num_angles: int = 0
    num_columns: int = 0  #: values kept of samples of a batch, rounded up by `rounded`
    #: keeps of the columns: ``"minimum"``, ``"maximum"``, ``"samples"``
    keeps: tuple[str, ...] = ()
    #: channels of random numbers that an update is given, two behind the base inputs for each
    num_noise: int = 0
    #: has_generator, has_update, has_projection, has_enclosures: flags of the functions that exist
    has_generator: bool = False
    has_update: bool = False
    has_projection: bool = False
    has_enclosures: bool = False
    has_knots: bool = False  #: whether steps must end on given times
    has_samples: bool = False  #: whether states within steps are asked for
    is_multistep: bool = False  #: whether samples are taken from several steps, see `loop.py`
    records_steps: bool = False  #: whether the end of every step is kept
    #: whether trajectories are periods of fixed steps that follow each other: all share parameters,
    #: steps end within their floors and correct the constraints once
    is_period: bool = False
    #: floors, step: bounds of the singularity measures, and step in s, of a GPU's thread in periods
    floors: tuple[float, ...] = ()
    step: float = 0.0
    apart: int = -1  #: state whose error is measured by itself, beside that of all others; −1: none

    @property
    def ny(self) -> int:
        """All states."""
        return self.nx + self.nz

    @property
    def row(self) -> int:
        """Numbers of a row of K: rates, and behind ẋ the health values.

        A thread of a GPU has little memory nearby: there they reach into the next row.
        """
        if self.target.is_thread:
            return self.ny
        return self.nx + max(self.nz, self.num_health)

    @property
    def overhang(self) -> int:
        """Numbers of health values that reach beyond the rates of a row of K."""
        return 0 if self.target.on_stack else max(0, self.nx + self.num_health - self.row)

    @property
    def is_fused(self) -> bool:
        """Whether a thread takes the stages and the end of a step in one loop.

        Then rates are evaluated in one place, where they are written out.
        """
        return self.target.on_stack and not self.num_events and not self.has_samples

    @property
    def num_crossings(self) -> int:
        """Events that do not end a run."""
        return self.num_events - self.num_endings - self.num_angles


def rounded(count: int) -> int:
    """A size rounded up, so that fewer loops of different shapes are compiled."""
    return -(-count // 16) * 16


Taken = ParamSpec("Taken")
Found = TypeVar("Found", Value, None)


def once(
    evaluations: int = 0,
) -> Callable[
    [Callable[Concatenate[LoopWriter, Taken], Found]],
    Callable[Concatenate[LoopWriter, Taken], Found],
]:
    """A part of the loop that is written once, as a function: see :meth:`LoopWriter.subroutine`."""

    def decorate(body: Any) -> Any:
        @functools.wraps(body)
        def call(w: LoopWriter, *arguments: Value | Buffer) -> Value:
            return w.subroutine(body, *arguments, evaluations=evaluations)

        return call

    return decorate


_FUNCTIONS = ("rates", "generator", "update", "project", "events", "enclosures", "columns")
_GIVEN = (
    # trajectories to do, and how many were taken; the memory that stays with the run
    *("queue", "counter"),
    # parameters of the functions, and base inputs; rows with a distance, 0 if all share one
    *("parameters", "generator_parameters", "event_parameters", "base"),
    # by trajectory which set of tables drives its base inputs (0: all the first); a set's knots are
    # knots[knot_offsets[set]:…]; its table k has segments first_segments[set num_tables + k] up to
    # end_segments, each c₀ s³ + c₁ s² + c₂ s + c₃ with s = t − its start, for base input targets[k]
    *("table_sets", "knot_offsets", "knots", "first_segments", "end_segments"),
    *("segment_starts", "coefficients", "targets"),
    *("update_times", "sample_times", "directions", "absolute", "floors"),
)
_LEFT = (
    # cancel request; of one run also the time reached and the steps taken
    "status",
    # by trajectory: ending and which event or health value; time, state, step size and counts at
    # the start of a segment, then at its end
    *("codes", "which", "times", "steps_left", "num_steps", "num_rejections", "num_evaluations"),
    *("num_filled", "states"),
    # samples of one run, with room for one more at an event; its crossings: event, time and state;
    # the ends of its steps
    *("recorded_times", "recorded_states", "recorded_inputs", "crossings", "num_crossings"),
    *("step_times", "step_states", "num_recorded"),
    # by trajectory and column
    *("final", "minimum", "maximum", "samples"),
    # by trajectory and event: how often, and the first times
    *("event_counts", "event_times"),
    # by trajectory, event and fault (UNRESOLVED, UNDEFINED): how often, and when first
    *("fault_counts", "fault_times"),
    # by trajectory: angles that events follow, at the last check
    "angles",
    # number of threads that paused in the midst of a trajectory
    "num_paused",
)
_SIZES = (
    *("queue_length", "parameter_stride", "base_stride"),
    *("num_updates", "num_samples", "num_columns", "max_steps", "max_events"),
    # a run pauses after so many steps, a thread after so many rounds (0: never), and where there is
    # no room for more crossings or ends of steps
    *("pause", "most_crossings", "crossing_room", "most_recorded"),
    # random numbers: their seed, the number of the first trajectory and of its first update
    *("seed", "first_run", "first_update"),
)
ADDRESSES: tuple[str, ...] = (*_FUNCTIONS, *_GIVEN, *_LEFT)
INTEGERS: tuple[str, ...] = (*ADDRESSES, *_SIZES)
REALS: tuple[str, ...] = ("end_time", "max_step", "relative", "projection")
#: The record: words, then numbers.
SETUP = np.dtype([(name, np.int64) for name in INTEGERS] + [(name, np.float64) for name in REALS])
PLACES: dict[str, int] = {name: k for k, name in enumerate((*INTEGERS, *REALS))}


#: Codes of a lane besides the endings of `rules`: it takes a trajectory, or goes on.
NEW, GOES_ON = -3, -2

_REALS = ("t", "h", "error", "density", "mean", "begin", "smallest", "stop")
_WHOLES = (
    *("index", "code", "which", "steps", "rejections", "evaluations", "filled", "knot"),
    *("knot_end", "updates", "unhealthy", "reported", "crossings", "recorded", "pending"),
    "looks",
)
_TRUTHS = ("may_grow", "is_stale", "is_first", "is_finite")
#: Of the event that ends a run, until the steps before it have reported, see `loop.py`.
_PENDING = ("event_theta", "event_step", "event_last", "event_end")


class _CallArrays:
    """Arrays in memory through which a thread passes numbers to functions that are not written out.

    Arrays whose addresses no function sees are registers.
    """

    def __init__(self, w: LoopWriter) -> None:
        shape, f = w.shape, w.f
        nx, ny, nu, ne = shape.nx, shape.ny, shape.num_inputs, shape.num_events
        #: By function: numbers of x, u and out.
        self._sizes = {
            "rates": (nx, nu, nx + shape.num_health),
            "project": (nx, nu, nx + 1),
            "events": (ny, nu, ne),
            "columns": (ny, nu, 0),
            "enclosures": (0, nu, 0),
            "generator": (ny, shape.num_base, nu + shape.nz),
            "update": (ny, shape.num_base, shape.nz),
        }
        self._f, self._w = f, w
        self._time, self.parameters = f.array(1), f.array(shape.num_parameters)
        longest = [max(sizes[k] for sizes in self._sizes.values()) for k in range(3)]
        self._x, self._u, self._out = (f.array(size) for size in longest)

    def call(self, name: str, t: Value, x: Buffer, u: Buffer, out: Buffer) -> None:
        """Call a function with copies of its arguments; arrays of its own are passed directly."""
        sizes = self._sizes[name]
        self._time[0] = t
        places = [self._time]
        for given, passed, size in ((x, self._x, sizes[0]), (u, self._u, sizes[1])):
            for k in range(size):
                passed[k] = given[k]
            places.append(passed if size else given)
        shared = self._w.parameters(name) if self._w.shape.is_period else self.parameters
        places += [shared, self._out if sizes[2] else out]
        called = f"@{name}{self._w.suffix}"
        self._f.invoke(called, [array.at(0) for array in places], "noinline")
        for k in range(sizes[2]):
            out[k] = self._out[k]


class ThreadMemory:
    """Memory in which a thread of a GPU keeps a trajectory between two launches.

    Word k of all threads stand side by side, so that they are read together.
    """

    def __init__(self, w: LoopWriter) -> None:
        f = self._f = w.f
        self._given = Given(f, Value(f, "%memory", ElementType.PLACE, 1), ElementType.WHOLE)
        self._thread, self._threads = (
            Value(f, f"%{n}", ElementType.WHOLE, 1) for n in ("thread", "threads")
        )

    def __getitem__(self, k: int) -> Value:
        return self._given[self._threads * k + self._thread]

    def __setitem__(self, k: int, value: Value) -> None:
        self._given[self._threads * k + self._thread] = value


class LoopWriter:
    """Writes a loop of a shape.

    Attributes
    ----------
    f : the function.
    s : variables of the loop.
    given : numbers and addresses of the record.
    """

    def __init__(self, shape: Shape, subroutines: dict[str, str] | None = None) -> None:
        self.shape = shape
        self.subroutines = {} if subroutines is None else subroutines  # texts by name
        self.is_subroutine = subroutines is not None
        self._returned: dict[str, Value] = {}
        f = self.f = Flow(shape.target)
        #: Arguments of every subroutine: the record, which a thread finds itself, and the work.
        self._memory = ["ptr %work"] if shape.target.is_thread else ["ptr %setup", "ptr %work"]
        self.s = f.s
        self.s.declare(ElementType.REAL, *_REALS, *_PENDING)
        self.s.declare(ElementType.WHOLE, *_WHOLES)
        self.s.declare(ElementType.TRUTH, *_TRUTHS)
        self._loaded: dict[str, Value] = {}
        n, row = shape.ny, shape.row
        # what a paused run keeps besides its arrays
        kept = 1 + len(_REALS) + len(_PENDING) + len(_WHOLES) + len(_TRUTHS)
        self.kept = f.array(0 if shape.target.is_thread else kept, ElementType.WHOLE)
        #: Memory for the variables of a paused run, and for the arrays of a thread.
        self.pause_memory = ThreadMemory(self) if shape.target.is_thread else self.kept
        self.time = f.array(1, is_scratch=True)
        if shape.is_multistep:
            self.node_size = 2 + 2 * n + NUM_ROWS * row
            self.nodes = f.array(NUM_NODES * self.node_size)
            self.node = f.local(ElementType.PLACE)
            self.stencil = f.array(5 * NUM_NODES + 1)
        else:
            self._y = f.array(n)
            self._end = f.array(n, is_scratch=True)
            self._k0 = f.array(row)
            self._K = f.array((NUM_ROWS - 1) * row + 3 * shape.overhang, is_scratch=True)
        self.next = f.array(n)
        self.stage, self.point, self.other = (f.array(n, is_scratch=True) for _ in range(3))
        self.F = f.array(NUM_DENSE_TERMS * n, is_scratch=True)
        self.newton = f.array(shape.nx + 1, is_scratch=True)
        self.health = f.array(shape.num_health)
        self.sides = f.array(shape.num_health)
        self.before = f.array(shape.num_events)
        self.after, self.at_end, self.probe = (
            f.array(shape.num_events, is_scratch=True) for _ in range(3)
        )
        # values before the step; whether a value is nan; whether crossings of it are not excluded
        self.held, self.undefined, self.open = (f.array(shape.num_events) for _ in range(3))
        enclosed = shape.num_events if shape.has_enclosures else 0
        self.box = f.array(1 + 4 * shape.nx if enclosed else 0, is_scratch=True)
        self.bounds = f.array(4 * enclosed, is_scratch=True)
        self.segments = f.array(shape.num_tables, ElementType.WHOLE)
        self.values = f.array(shape.num_columns, is_scratch=True)
        self.own_parameters = f.array(shape.num_parameters)
        self._own_base = f.array(shape.num_base)
        self._own_inputs = f.array(shape.num_inputs + shape.nz, is_scratch=True)
        #: Whether a thread's functions are written out where they are called, and may be at all;
        #: what follows their names.
        self.is_hot, self.may_be_hot, self.suffix = False, True, ""
        if f.target.on_stack:
            self.rates = f.array(shape.nx + shape.num_health)
            self._passed = _CallArrays(self)

    # what is given
    def number(self, name: str) -> Value:
        """A number or size of the record, the same for all lanes."""
        if name not in self._loaded:
            kind = ElementType.REAL if PLACES[name] >= PLACES["end_time"] else ElementType.WHOLE
            kind = ElementType.PLACE if name in ADDRESSES else kind
            # at the head of the function, so that every branch may read it
            f, place = self.f, f"ptr %{name}_at"
            if f.target.is_thread:
                place = word_of_record(PLACES[name])
            else:
                at = f"getelementptr i64, ptr %setup, i64 {PLACES[name]}"
                f.head.append(f"  %{name}_at = {at}")
            f.head.append(f"  %{name} = load {kind}, {place}, align 8")
            self._loaded[name] = Value(f, f"%{name}", kind, 1)
        return self._loaded[name]

    def give(self, **numbers: Value) -> None:
        """Numbers that are known otherwise than from the record."""
        self._loaded |= numbers

    def vector(self, name: str, kind: str = ElementType.REAL) -> Given:
        """Vector that the record points to."""
        return Given(self.f, self.number(name), kind)

    # vectors of a lane
    @property
    def y(self) -> Buffer:
        """State where the step starts."""
        return self._in_node(2) if self.shape.is_multistep else self._y

    @property
    def end(self) -> Buffer:
        """State at the end of the step, before a projection."""
        return self._in_node(2 + self.shape.ny) if self.shape.is_multistep else self._end

    def K(self, k: int | Value) -> Buffer:
        """Row k of K: the rates of a stage."""
        row = self.shape.row
        if self.shape.is_multistep:
            return self._in_node(2 + 2 * self.shape.ny).part(k * row)
        if isinstance(k, int) and k == 0:
            return self._k0
        return self._K.part((k - 1) * row + self._shift(k))

    def place_of_row(self, k: int) -> int:
        """Place of a row of K behind the first, known when the text is printed."""
        shift = self._shift(k)
        assert isinstance(shift, int)
        return (k - 1) * self.shape.row + shift

    def row_at(self, place: Value) -> Buffer:
        """Row of K behind the first, by its place."""
        return self._K.part(place)

    def _shift(self, k: int | Value) -> int | Value:
        """Room before a row of K, for health values of the one before that reach beyond it.

        The rows of a step's end are known when others before them are evaluated anew.
        """
        overhang = self.shape.overhang
        if not overhang:
            return 0
        if isinstance(k, int):
            return overhang * ((k >= END_ROW) + (k >= PROJECTED_ROW))
        return self.f.where(k >= END_ROW, self.f.whole(overhang), 0)

    def _in_node(self, place: int) -> Buffer:
        # a subroutine works on one node
        node = Value(self.f, "%node", ElementType.PLACE, 1) if self.is_subroutine else self.node[0]
        return Buffer(self.f, node).part(place)

    @property
    def base(self) -> Buffer:
        """Base inputs of a lane: numbers, or what tables make of them."""
        if self.shape.is_batch:
            return self._own_base
        return Buffer(self.f, self.number("base"))

    @property
    def inputs(self) -> Buffer:
        """Inputs of the mechanism and rates of the law's states."""
        return self._own_inputs if self.shape.has_generator else self.base

    def parameters(self, name: str) -> Buffer:
        """Parameters of a function."""
        if self.shape.is_period and self.f.target.is_thread:
            return Buffer(self.f, Value(self.f, "%p", ElementType.PLACE, 1))
        if self.shape.is_batch and not self.shape.is_period:
            return self.own_parameters
        words = {"generator": "generator_parameters", "update": "generator_parameters"}
        words |= {"events": "event_parameters", "enclosures": "event_parameters"}
        return Buffer(self.f, self.number(words.get(name, "parameters")))

    def call(self, name: str, t: Value, x: Buffer, u: Buffer, out: Buffer) -> None:
        """Call a function of the system: f(t, x, u, p) into out."""
        target = self.f.target
        if target.on_stack and not self.is_hot:
            self._passed.call(name, t, x, u, out)
            return
        self.time[0] = t
        places = [array.at(0) for array in (self.time, x, u, self.parameters(name), out)]
        if target.is_thread:
            how = "alwaysinline" if target.on_stack else "noinline"
            self.f.invoke(f"@{name}{self.suffix}", places, how)
        else:
            self.f.invoke(self.number(name).name, places)

    @contextmanager
    def hot(self) -> Iterator[None]:
        """Code in which a thread's functions are written out, so that they work on registers."""
        before, self.is_hot = self.is_hot, self.may_be_hot
        yield
        self.is_hot = before

    def set_parameter(self, k: int, value: Value) -> None:
        """Set a parameter of a lane."""
        self.own_parameters[k] = value
        if self.f.target.on_stack:
            self._passed.parameters[k] = value

    def copy(self, source: Buffer, target: Buffer, count: int) -> None:
        """Copy numbers of each lane."""
        for i in self.f.rows(count):
            target[i] = source[i]

    # subroutines
    def subroutine(
        self, body: Callable[..., Value | None], *arguments: Value | Buffer, evaluations: int = 0
    ) -> Value:
        """Call a part of the loop that is written once as a function; its result.

        It works on the same arrays and in the same lanes, and has its own variables. Where arrays
        lie on the stack it is written out where it is called.
        """
        f, name = self.f, body.__name__.strip("_")
        if f.target.on_stack:
            found = body(self, *arguments)
            return f.truth(True) if found is None else found
        if name not in self.subroutines:
            self.subroutines[name] = ""  # one that it calls may call others
            self.subroutines[name] = self._written(name, body, arguments)
        # its node, the lanes that are in this branch, its own
        given = [self.node[0]] if self.shape.is_multistep else []
        if f.lanes > 1:
            given.append(f.mask if f.mask is not None else f.truth(True))
        given += [a.at(0) if isinstance(a, Buffer) else a for a in arguments]
        returned = self._returned[name]
        listed = ", ".join([*self._memory, *(v.typed for v in given)])
        call = f"call {returned.type} @{name}({listed})"
        if evaluations:
            self.s.evaluations = self.s.evaluations + evaluations
        return f.emit(call, returned.kind, returned.width)

    def _written(
        self, name: str, body: Callable[..., Value | None], arguments: Sequence[Value | Buffer]
    ) -> str:
        """The text of a subroutine."""
        w = LoopWriter(self.shape, self.subroutines)
        w._returned = self._returned
        f, context = w.f, []
        if self.shape.is_multistep:
            context.append("ptr %node")
            w.node[0] = Value(f, "%node", ElementType.PLACE, 1)
        if f.lanes > 1:
            f.mask, f.depth = Value(f, "%mask", ElementType.TRUTH, f.lanes), 1
            context.append(f.mask.typed)
        given: list[Value | Buffer] = []
        for k, argument in enumerate(arguments):
            value = argument.at(0) if isinstance(argument, Buffer) else argument
            own = Value(f, f"%a{k}", value.kind, value.width)
            context.append(own.typed)
            if isinstance(argument, Buffer):
                given.append(Buffer(f, own, argument.kind, argument.depth))
            else:
                given.append(own)
        found = body(w, *given)
        found = f.truth(True) if found is None else found
        self._returned[name] = found
        self.f.declared |= f.declared
        returned = found.type
        frame = ' "frame-pointer"="all"' if f.lanes > 1 else ""
        listed = ", ".join([*self._memory, *context])
        head = f"define internal {returned} @{name}({listed}) nounwind noinline{frame} {{"
        return "\n".join([head, "start:", *f.head, *f.lines, f"  ret {found.typed}", "}"])

    # pausing
    def save(self, flag: int) -> None:
        """Save all variables to memory, with a flag whether the run continues from there."""
        f, kept = self.f, self.pause_memory
        kept[0] = f.whole(flag)
        if flag:
            for k, (array, place) in enumerate(self._persistent(), 1):
                value = array[place]
                if array.kind == ElementType.TRUTH:
                    value = f.to_whole(value)
                elif array.kind != ElementType.WHOLE:
                    value = f.bits(f.of(value, ElementType.REAL))
                kept[k] = value

    def restore(self) -> None:
        """Restore all variables from memory."""
        f, kept = self.f, self.pause_memory
        for k, (array, place) in enumerate(self._persistent(), 1):
            value = kept[k]
            if array.kind == ElementType.TRUTH:
                value = ~value.equals(0)
            elif array.kind != ElementType.WHOLE:
                value = f.from_bits(value)
            array[place] = value

    @property
    def pause_size(self) -> int:
        """Words that a thread keeps between two launches."""
        return 1 + len(self._persistent())

    def _persistent(self) -> list[tuple[Buffer, int]]:
        """Variables, and of a thread numbers of arrays, that outlast a round."""
        named = [self.s.place(name) for name in (*_REALS, *_PENDING, *_WHOLES, *_TRUTHS)]
        found = [(array, 0) for array in named]
        if self.f.target.is_thread:
            shape = self.shape
            sizes = [(self._y, shape.ny), (self._k0, shape.ny), (self.sides, shape.num_health)]
            sizes += [(self.before, shape.num_events), (self.undefined, shape.num_events)]
            sizes += [(self.segments, shape.num_tables)]
            found += [(array, k) for array, size in sizes for k in range(size)]
        return found
