"""A period of environments as native code, printed once for lanes of a processor and for a GPU.

In a period the action is held and the classical Runge–Kutta method takes so many steps, each
projected on the constraints. A step is not taken, nor any after it, where the equations do not hold
at its beginning, where its end is not finite or too far from the constraints, or where the basis of
independent speeds ends within it.

    print_lanes_period(shape)     periods of a queue of environments; Python does the rest
    print_thread_period(shape)    all that a step of an environment is: the reset of one that has
                                  ended, the period, what is seen of it and whether it ends

Functions of the system and of the task are called by name (a thread) or by address (lanes). Rates
are evaluated in one place, where a thread has them written out: 4 times a step, and once more at
the end where a basis may end. In other bases than the first, which few environments are in, a
thread goes on in a function of its own, so that the others have their registers for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from noslip.engines import (
    KERNEL,
    PLACE,
    REAL,
    REGISTERS,
    SINGLE,
    THREAD,
    TRUTH,
    WHOLE,
    Buffer,
    Flow,
    Given,
    Operand,
    Target,
    Value,
    word_of_record,
)
from noslip.simulation import WORD, philox_words, uniform_number

#: Residual of constraints after a step, m or rad, from which it has not been followed.
ASTRAY = 1e-2
#: Steps of Newton's method that close the coordinates of a start.
CLOSING_STEPS = 6

#: Words of the record of lanes: the queue and its part, states by environment, functions.
LANE_WORDS = (
    *("queue", "length", "first", "after", "steps", "actions", "t", "x", "u", "known"),
    *("parameters", "taken", "has_ended", "found", "rates", "project", "look"),
)
#: Words of the record of threads: sizes, actions with the distances of their rows and columns in
#: numbers, what an environment keeps, and what a step leaves.
THREAD_WORDS = (
    *("n", "seed", "has_states", "actions", "action_row", "action_column"),
    *("t", "x", "u", "variables", "acts", "episodes", "bases"),
    *("seen", "rewards", "terminated", "truncated", "why"),
)


@dataclass(frozen=True, slots=True)
class PeriodShape:
    """Sizes and options that the code of a period depends on.

    Parameters
    ----------
    target : lanes, or a thread.
    num_states, num_inputs : nx, nu.
    num_residuals : behind the projected state; 0 without projection.
    step : s.
    limits : of the measures of singularity behind the rates, and whether a basis ends at one.
    actions : input, middle and half of the range of each.
    base : inputs where nothing acts on them.
    num_parameters, num_variables : of the model, and of the task behind them.
    num_found : rewards, observations and ends.
    """

    target: Target
    num_states: int
    num_inputs: int
    num_residuals: int
    step: float
    limits: tuple[tuple[float, bool], ...]
    actions: tuple[tuple[int, float, float], ...]
    base: tuple[float, ...]
    num_parameters: int
    num_variables: int
    num_found: int

    @property
    def has_basis(self) -> bool:
        """Whether a basis may end."""
        return any(is_basis for _, is_basis in self.limits)


@dataclass(frozen=True, slots=True)
class EpisodeShape:
    """Further sizes and options that the code of a thread depends on.

    Parameters
    ----------
    period : of its period.
    others : of its period in other bases.
    steps, limit, largest : of the task.
    num_seen : observations.
    action_kind : of the numbers that actions are given as.
    start : state that a start is drawn about.
    ranges : lowest and highest of each drawn number, in order.
    drawn_states : places in the state of the first drawn numbers, that are coordinates.
    num_given : how many of the next ones are speeds and named angles; the others are variables.
    has_angles, has_closing : whether orientations follow the drawn ones; other coordinates.
    speeds : places in the state of the speeds that follow.
    """

    period: PeriodShape
    others: tuple[PeriodShape, ...]
    steps: int
    limit: int
    largest: float
    num_seen: int
    action_kind: str
    start: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...]
    drawn_states: tuple[int, ...]
    num_given: int
    has_angles: bool
    has_closing: bool
    speeds: tuple[int, ...]


class _PeriodWriter:
    """Writes a period of the environments that are in the lanes now.

    Attributes
    ----------
    x, u : state and inputs, before and after.
    known : parameters and variables.
    found : what is seen at the end.
    """

    def __init__(
        self, shape: PeriodShape, words: tuple[str, ...], others: tuple[PeriodShape, ...] = ()
    ) -> None:
        self.shape, self._words = shape, words
        #: How a thread calls functions, and what follows their names.
        self.how, self.suffix = "alwaysinline", ""
        f = self.f = Flow(shape.target)
        s = self.s = f.variables()
        s.declare(REAL, "t", "now")
        s.declare(WHOLE, "taken", "env")
        s.declare(TRUTH, "goes_on", "has_ended", "is_held", "was_within")
        n, measures = shape.num_states, max(len(one.limits) for one in (shape, *others))
        residuals = max(one.num_residuals for one in (shape, *others))
        self.x, self.u = f.array(n), f.array(shape.num_inputs)
        self.known = f.array(shape.num_parameters + shape.num_variables)
        self.found = f.array(shape.num_found, is_scratch=True)
        self.trial, self.end = (f.array(n, is_scratch=True) for _ in range(2))
        self.rates = f.array(n + measures, is_scratch=True)
        self.newton = f.array(n + residuals, is_scratch=True)
        self.before = f.array(measures)
        self.time = f.array(1, is_scratch=True)
        self._loaded: dict[str, Value] = {}

    def number(self, name: str, kind: str = WHOLE) -> Value:
        """A word of the record, the same for all lanes."""
        if name not in self._loaded:
            f, k = self.f, self._words.index(name)
            place = f"ptr %{name}_at"
            if f.target.is_thread:
                place = word_of_record(k)
            else:
                f.head.append(f"  %{name}_at = getelementptr i64, ptr %setup, i64 {k}")
            f.head.append(f"  %{name} = load {kind}, {place}, align 8")
            self._loaded[name] = f.value(f"%{name}", kind, 1)
        return self._loaded[name]

    def vector(self, name: str, kind: str = REAL) -> Given:
        """Vector that the record points to."""
        return Given(self.f, self.number(name, PLACE), kind)

    def call(self, name: str, t: Value, x: Buffer, p: Buffer, out: Buffer) -> None:
        """Call a function: f(t, x, u, p) into out."""
        self.time[0] = t
        places = [array.place for array in (self.time, x, self.u, p, out)]
        if self.f.target.is_thread:
            self.f.invoke(f"@{name}{self.suffix}", places, self.how)
        else:
            self.f.invoke(self.number(name, PLACE).name, places)

    def act(self, row: Value, column: Operand, kind: str = REAL) -> None:
        """Inputs of the action, which is cut at ±1; one that is no number stays so.

        Parameters
        ----------
        row, column : place of the first number, and the distance of the next ones.
        kind : of the numbers.
        """
        f, given = self.f, self.vector("actions", kind)
        for k, (place, middle, half) in enumerate(self.shape.actions):
            action = f.as_kind(given[row + column * k], REAL)
            self.u[place] = middle + half * f.most(f.least(action, 1.0), -1.0)

    def take_base(self) -> None:
        """Inputs without an action."""
        for k, value in enumerate(self.shape.base):
            self.u[k] = self.f.real(value)

    def advance(self, steps: Operand, p: Buffer) -> None:
        """Steps of a period: s.taken, s.has_ended and s.t follow, and the state in x."""
        f, s, shape = self.f, self.s, self.shape
        n, h = shape.num_states, shape.step
        s.goes_on, s.has_ended, s.is_held = f.truth(True), f.truth(False), f.truth(True)
        s.was_within, s.taken, s.now = f.truth(True), f.whole(0), s.t
        for i in f.rows(n):
            self.trial[i] = self.x[i]
        evaluations = f.of(steps, WHOLE) * 4 if isinstance(steps, Value) else f.of(4 * steps, WHOLE)
        for count in f.count(0, evaluations + 1 if shape.has_basis else evaluations):
            stage = count & 3
            is_first, is_third, is_last = (stage.equals(k) for k in (0, 2, 3))
            self.call("rates", s.now, self.trial, p, self.rates)
            for _ in f.choose(stage, [0]):
                self._begin_step(count)
            weight = f.where(is_first | is_last, h / 6, f.real(h / 3))
            part = f.where(is_third, h, f.real(h / 2))
            for i in f.rows(n):
                rate, x = self.rates[i], self.x[i]
                end = f.fma(weight, rate, f.where(is_first, x, self.end[i]))
                self.end[i] = end
                self.trial[i] = f.where(is_last, end, f.fma(part, rate, x))
            s.now = s.t + f.where(stage >= 2, h, f.real(h / 2))
            for _ in f.choose(stage, [3]):
                self._end_step(p)

    def _begin_step(self, count: Value) -> None:
        """Whether the step that led here is taken, where a basis may end; whether the next may."""
        f, s, shape = self.f, self.s, self.shape
        s.is_within, s.is_same, s.holds = f.truth(True), f.truth(True), f.truth(True)
        for k, (limit, is_basis) in enumerate(shape.limits):
            value = self.rates[shape.num_states + k]
            is_far = f.abs(value) >= limit
            if is_basis:
                s.is_within = s.is_within & is_far
                # a step may not leap over the end
                s.is_same = s.is_same & (self.before[k] * value > 0.0)
                self.before[k] = value
            else:
                s.holds = s.holds & is_far
        if shape.has_basis:
            is_well = s.was_within & s.is_within & s.is_same
            s.is_well = is_well | f.widen(count.equals(0), f.lanes)
            s.has_ended = s.has_ended | (s.goes_on & ~s.is_well)
            s.is_held = s.is_held & s.is_well
            for _ in f.choose(f.where(count > 0, f.of(1, WHOLE), 0), [1]):
                self._take_step()
            s.was_within = s.is_within
        s.is_held = s.holds

    def _end_step(self, p: Buffer) -> None:
        """Projection of the end of a step."""
        f, s, n = self.f, self.s, self.shape.num_states
        if self.shape.num_residuals:
            self.call("project", s.now, self.trial, p, self.newton)
            for i in f.rows(n):
                self.trial[i] = self.newton[i]
            for k in range(self.shape.num_residuals):
                s.is_held = s.is_held & (f.abs(self.newton[n + k]) <= ASTRAY)
        s.is_held = s.is_held & self.all_finite(self.trial, n)
        if not self.shape.has_basis:
            self._take_step()

    def _take_step(self) -> None:
        f, s = self.f, self.s
        s.goes_on = s.goes_on & s.is_held
        for i in f.rows(self.shape.num_states):
            self.x[i] = f.where(s.goes_on, self.trial[i], self.x[i])
        s.t = f.where(s.goes_on, s.t + self.shape.step, s.t)
        s.taken = s.taken + f.to_whole(s.goes_on)

    def all_finite(self, x: Buffer, count: int) -> Value:
        """Whether the first `count` numbers are finite."""
        return self.f.all_finite(x, count, self.s)


def print_lanes_period(shape: PeriodShape) -> tuple[str, int]:
    """Text of ``void period(ptr setup, ptr work)``, and words of work that it needs."""
    w = _PeriodWriter(shape, LANE_WORDS)
    f, s, n, count = w.f, w.s, shape.num_states, shape.num_parameters
    size_known, parameters = count + shape.num_variables, Buffer(f, w.number("parameters", PLACE))
    for k in f.each(count):
        w.known[k] = parameters[k]
    listed = ", ".join(f"i64 {k}" for k in range(f.lanes))
    lane = f.value(f"<{listed}>" if f.lanes > 1 else "0", WHOLE, f.lanes)
    for pack in f.count(w.number("first"), w.number("after")):
        # the last environment fills the last lanes
        place = f.widen(pack * f.lanes, f.lanes) + lane
        s.env = w.vector("queue", WHOLE)[f.least(place, w.number("length") - 1)]
        for k in f.each(n):
            w.x[k] = w.vector("x")[s.env * n + k]
        w.take_base()
        w.act(s.env * len(shape.actions), 1)
        s.t = w.vector("t")[s.env]
        w.advance(w.number("steps"), parameters)
        for name, array, size in (("x", w.x, n), ("u", w.u, shape.num_inputs)):
            for k in f.each(size):
                w.vector(name)[s.env * size + k] = array[k]
        w.vector("t")[s.env] = s.t
        w.vector("taken", WHOLE)[s.env] = s.taken
        w.vector("has_ended", WHOLE)[s.env] = f.to_whole(s.has_ended)
        for k in range(count, size_known):
            w.known[k] = w.vector("known")[s.env * size_known + k]
        w.call("look", s.t, w.x, w.known, w.found)
        for k in f.each(shape.num_found):
            w.vector("found")[s.env * shape.num_found + k] = w.found[k]
    return "\n".join([f.body("period", ("setup", "work")), *sorted(f.declared)]), f.work_size


class _EpisodeWriter(_PeriodWriter):
    """Writes a step of one environment, of a thread."""

    def __init__(self, shape: EpisodeShape) -> None:
        super().__init__(shape.period, THREAD_WORDS)
        self.episode = shape
        f = self.f
        self.s.declare(WHOLE, "acts", "number", "basis", "left")
        self.s.declare(TRUTH, "is_new", "is_bad", "is_elsewhere")
        if shape.others:
            self.passed = f.array(_BasisChange(shape).size)
        self.drawn = f.array(shape.period.num_parameters + shape.num_given)
        self.closed = f.array(shape.period.num_states)

    def at(self, k: int) -> Value:
        """Place of number k of this environment: the same number of all stand side by side."""
        return self.number("n") * k + self.s.env

    def step(self) -> None:
        """One environment: s.env."""
        f, s, shape, n = self.f, self.s, self.episode, self.shape.num_states
        s.acts = self.vector("acts", WHOLE)[s.env]
        s.is_new, s.is_bad, s.is_elsewhere = s.acts < 0, f.truth(False), f.truth(False)
        if shape.others:
            s.basis = f.where(s.is_new, f.whole(0), self.vector("bases", WHOLE)[s.env])
        s.t = f.where(s.is_new, 0.0, self.vector("t")[s.env])
        for k in range(n):
            self.x[k] = self.vector("x")[self.at(k)]
        for k in range(self.shape.num_variables):
            self.known[self.shape.num_parameters + k] = self.vector("variables")[self.at(k)]
        self.take_base()
        with f.when(s.is_new):
            self._begin()
        with f.when(~s.is_new):
            row = s.env * self.number("action_row")
            self.act(row, self.number("action_column"), shape.action_kind)
            self._take_period()
        self.vector("t")[s.env] = s.t
        for k in range(n):
            self.vector("x")[self.at(k)] = self.x[k]
        for k in range(self.shape.num_inputs):
            self.vector("u")[self.at(k)] = self.u[k]
        with f.when(~s.is_elsewhere):
            self.call("look", s.t, self.x, self.known, self.found)
        self._leave()

    def _take_period(self) -> None:
        """The period, in the first basis as far as it goes."""
        f, s, shape = self.f, self.s, self.episode
        if not shape.others:
            self.advance(shape.steps, self.known)
            s.is_bad = s.taken < shape.steps
            return
        s.taken, s.has_ended = f.whole(0), f.truth(False)
        with f.when(s.basis.equals(0)):
            self.advance(shape.steps, self.known)
        s.left = f.whole(shape.steps) - s.taken
        # an action that is no number ends no basis
        is_number = self.all_finite(self.u, self.shape.num_inputs)
        s.is_elsewhere = (s.basis > 0) | (s.has_ended & is_number)
        with f.when(s.is_elsewhere):
            places = _BasisChange(shape)
            for array, (first, size) in zip(self._kept, places.parts, strict=True):
                for k in range(size):
                    self.passed[first + k] = array[k]
            for name, k in places.numbers.items():
                value = getattr(s, name)
                self.passed[k] = value if value.kind == REAL else f.to_real(value)
            f.invoke("@go_on", [self.passed.place], "noinline")
            for array, (first, size) in zip(self._kept, places.parts, strict=True):
                for k in range(size):
                    array[k] = self.passed[first + k]
            s.t = self.passed[places.numbers["t"]]
            s.left, s.basis = (
                _to_whole(f, self.passed[places.numbers[name]]) for name in ("left", "basis")
            )
            self.vector("bases", WHOLE)[s.env] = s.basis
        s.is_bad = s.left > 0

    @property
    def _kept(self) -> tuple[Buffer, ...]:
        """Arrays that go on in another basis."""
        return self.x, self.u, self.known.part(self.shape.num_parameters), self.found

    def _begin(self) -> None:
        """Start of the next episode, by random numbers of its number and the environment's."""
        f, s, shape, n = self.f, self.s, self.episode, self.shape.num_states
        if shape.others:
            self.vector("bases", WHOLE)[s.env] = f.whole(0)
        s.number = self.vector("episodes", WHOLE)[s.env] + 1
        self.vector("episodes", WHOLE)[s.env] = s.number
        drawn = self._draw()
        states, given = len(shape.drawn_states), shape.num_given
        for k, value in enumerate(drawn[states + given :]):
            self.known[self.shape.num_parameters + k] = value
            self.vector("variables")[self.at(k)] = value
        with f.when(self.number("has_states").equals(0)):
            for k in range(n):
                self.x[k] = f.real(shape.start[k])
            for place, value in zip(shape.drawn_states, drawn, strict=False):
                self.x[place] = value
            for k, value in enumerate(drawn[states : states + given]):
                self.drawn[self.shape.num_parameters + k] = value
            if shape.has_angles:
                self.call("orient", s.t, self.x, self.drawn, self.closed)
                for k in range(n):
                    self.x[k] = self.closed[k]
            if shape.has_closing:
                for _ in f.count(0, CLOSING_STEPS):
                    self.call("close", s.t, self.x, self.drawn, self.closed)
                    for k in range(n):
                        self.x[k] = self.closed[k]
            self.call("speeds", s.t, self.x, self.drawn, self.closed)
            for k, place in enumerate(shape.speeds):
                self.x[place] = self.closed[k]

    def _draw(self) -> list[Value]:
        """Uniform numbers of the ranges, as `philox.uniforms` of the environment and episode."""
        f, s = self.f, self.s
        seed = self.number("seed")
        key = seed & WORD, (seed >> 32) & WORD
        run = s.env & WORD, (s.env >> 32) & WORD
        drawn: list[Value] = []
        for channel in range(-(-len(self.episode.ranges) // 2)):
            words = philox_words(f, [s.number & WORD, f.whole(channel), *run], key)
            drawn += [uniform_number(f, *words[2 * k : 2 * k + 2]) for k in range(2)]
        ranges = self.episode.ranges
        return [
            low + (high - low) * value for (low, high), value in zip(ranges, drawn, strict=False)
        ]

    def _leave(self) -> None:
        """Store the observation, the reward, and whether and why the episode ends."""
        f, s, shape = self.f, self.s, self.episode
        found, seen = self.found, shape.num_seen
        ends = self.shape.num_found - 1 - seen
        s.is_bad = s.is_bad | (~s.is_new & ~self.all_finite(found, 1 + seen + ends))
        s.why = f.whole(0)
        for k in reversed(range(ends)):
            s.why = f.where(found[1 + seen + k] > 0.0, f.whole(1 + k), s.why)
        s.why = f.where(s.is_bad, f.whole(ends + 1), s.why)
        s.why = f.where(s.is_new, f.whole(0), s.why)
        s.acts = f.where(s.is_new, f.whole(0), s.acts + 1)
        is_over = s.why > 0
        is_cut = (s.acts >= shape.limit) & ~is_over
        self.vector("acts", WHOLE)[s.env] = f.where(is_over | is_cut, f.whole(-1), s.acts)
        self.vector("rewards")[s.env] = f.where(s.is_bad | s.is_new, 0.0, found[0])
        for k in range(seen):
            value = found[1 + k]
            cut = f.most(f.least(value, shape.largest), -shape.largest)
            cut = f.where(value.is_nan(), 0.0, cut)
            self.vector("seen", SINGLE)[s.env * seen + k] = cut
        for name, value in (("terminated", is_over), ("truncated", is_cut), ("why", s.why)):
            place = f.offset(self.number(name, PLACE), s.env, "i8")
            word = "zext" if value.kind == TRUTH else "trunc"
            byte = f.emit(f"{word} {value.typed} to i8", "i8", 1)
            f.lines.append(f"  store {byte.typed}, {place.typed}, align 1")


class _BasisChange:
    """Places of what goes on in another basis: numbers, then state, inputs, variables and found."""

    numbers = {"t": 0, "left": 1, "basis": 2}

    def __init__(self, shape: EpisodeShape) -> None:
        period = shape.period
        sizes = (period.num_states, period.num_inputs, period.num_variables, period.num_found)
        self.parts, at = list[tuple[int, int]](), len(self.numbers)
        for size in sizes:
            self.parts.append((at, size))
            at += size
        self.size = at


def _to_whole(f: Flow, a: Value) -> Value:
    """A whole number that was passed as a double."""
    return f.emit(f"fptosi {a.typed} to i64", WHOLE, 1)


def _print_others(shape: EpisodeShape) -> str:
    """Text of ``void go_on(ptr state)``: what is left of a period, in whatever basis holds."""
    shapes = [replace(one, target=THREAD) for one in (shape.period, *shape.others)]
    w = _PeriodWriter(shapes[0], (), tuple(shapes[1:]))
    f, s = w.f, w.s
    s.declare(WHOLE, "left", "basis", "best")
    s.declare(REAL, "most")
    s.declare(TRUTH, "is_fresh")
    w.how = "noinline"
    margins = f.array(len(shapes) * (1 + len(shape.speeds)), is_scratch=True)
    given, places = Given(f, f.value("%state", PLACE, 1)), _BasisChange(shape)
    arrays = (w.x, w.u, w.known.part(shape.period.num_parameters), w.found)
    for array, (first, size) in zip(arrays, places.parts, strict=True):
        for k in range(size):
            array[k] = given[first + k]
    s.t, s.is_fresh = given[places.numbers["t"]], f.truth(False)
    s.left, s.basis = (_to_whole(f, given[places.numbers[n]]) for n in ("left", "basis"))
    with f.repeat() as loop:
        for b in f.choose(s.basis, range(len(shapes))):
            w.shape, w.suffix = shapes[b], _suffix(b)
            w.advance(s.left, w.known)
        s.left = s.left - s.taken
        loop.leave((s.left <= 0) | ~s.has_ended | (s.is_fresh & s.taken.equals(0)))
        for b in f.choose(s.basis, range(len(shapes))):
            w.suffix = _suffix(b)
            w.call("change", s.t, w.x, w.known, margins)
        # the best of the others that hold
        s.best, s.most = s.basis, f.real(1.0)
        for b in range(len(shapes)):
            is_better = (margins[b] > s.most) & ~s.basis.equals(b)
            s.best = f.where(is_better, f.whole(b), s.best)
            s.most = f.where(is_better, margins[b], s.most)
        loop.leave(s.best.equals(s.basis))
        s.basis, s.is_fresh = s.best, f.truth(True)
        for b in f.choose(s.basis, range(len(shapes))):
            for k, place in enumerate(shape.speeds):
                w.x[place] = margins[len(shapes) + b * len(shape.speeds) + k]
    for b in f.choose(s.basis, range(len(shapes))):
        w.suffix = _suffix(b)
        w.call("look", s.t, w.x, w.known, w.found)
    for array, (first, size) in zip(arrays, places.parts, strict=True):
        for k in range(size):
            given[first + k] = array[k]
    given[places.numbers["t"]] = s.t
    for name in ("left", "basis"):
        given[places.numbers[name]] = f.to_real(getattr(s, name))
    text = f.body("go_on", ("state",)).replace("define void", "define internal void")
    return "\n".join([text, *sorted(f.declared)])


def _suffix(b: int) -> str:
    """Suffix of the names of a basis's functions."""
    return f"_{b}" if b else ""


def print_thread_period(shape: EpisodeShape) -> str:
    """Text of the kernel whose threads take one environment after another."""
    w = _EpisodeWriter(shape)
    f, s = w.f, w.s
    s.env = f.value("%thread", WHOLE, 1)
    with f.repeat() as loop:
        loop.leave(s.env >= w.number("n"))
        w.step()
        s.env = s.env + f.value("%threads", WHOLE, 1)
    body = f.body(KERNEL, ("memory",), ("thread", "threads"))
    others = [_print_others(shape)] if shape.others else []
    return "\n".join([body, *others, *sorted(f.declared)])


#: The target of a thread: all vectors are registers.
THREAD_TARGET = REGISTERS
