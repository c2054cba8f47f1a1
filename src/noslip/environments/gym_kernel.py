"""A step of an environment as the code of a GPU's thread, around a period that the loop prints.

A thread takes one environment after another: the start of its next episode where one has ended,
else the period under its action; then what is seen of it, the reward, and whether it ends. In other
bases than the first, which few environments are in, a thread goes on in a function of its own, so
that the others have their registers for themselves.

Functions of the system and of the task are called by name; behind the names of those in another
basis stands its number.
"""

from __future__ import annotations

from dataclasses import dataclass

from noslip.engines import (
    PLACE,
    REAL,
    SINGLE,
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
from noslip.simulation import WORD, ThreadPeriod, philox_words, uniform_number

#: Steps of Newton's method that close the coordinates of a start.
CLOSING_STEPS = 6

#: Words of the record: sizes, actions with the distances of their rows and columns in numbers,
#: what an environment keeps, and what a step leaves.
THREAD_WORDS = (
    *("n", "seed", "has_states", "actions", "action_row", "action_column"),
    *("t", "x", "u", "variables", "acts", "episodes", "bases"),
    *("seen", "rewards", "terminated", "truncated", "why"),
)


@dataclass(frozen=True, slots=True)
class EpisodeShape:
    """Sizes and options that the code of a thread depends on.

    Parameters
    ----------
    periods : in each basis, the first one first.
    num_inputs, num_parameters, num_variables : of the model, and of the task.
    actions : input, middle and half of the range of each.
    base : inputs where nothing acts on them.
    steps, limit, largest : of the task.
    num_seen, num_ends : observations and ends, behind the reward.
    action_kind : of the numbers that actions are given as.
    start : state that a start is drawn about.
    ranges : lowest and highest of each drawn number, in order.
    drawn_states : places in the state of the first drawn numbers, that are coordinates.
    num_given : how many of the next ones are speeds and named angles; the others are variables.
    has_angles, has_closing : whether orientations follow the drawn ones; other coordinates.
    speeds : places in the state of the speeds that follow.
    """

    periods: tuple[ThreadPeriod, ...]
    num_inputs: int
    num_parameters: int
    num_variables: int
    actions: tuple[tuple[int, float, float], ...]
    base: tuple[float, ...]
    steps: int
    limit: int
    largest: float
    num_seen: int
    num_ends: int
    action_kind: str
    start: tuple[float, ...]
    ranges: tuple[tuple[float, float], ...]
    drawn_states: tuple[int, ...]
    num_given: int
    has_angles: bool
    has_closing: bool
    speeds: tuple[int, ...]

    @property
    def num_found(self) -> int:
        """Rewards, observations and ends."""
        return 1 + self.num_seen + self.num_ends


class _Moving:
    """An environment that moves: time, state, what is held, what is seen, in any basis."""

    def __init__(self, f: Flow, shape: EpisodeShape) -> None:
        self.f, self.shape = f, shape
        self.t = f.array(1)
        self.x = f.array(len(shape.start))
        #: Inputs, and the variables of the task behind them.
        self.held = f.array(shape.num_inputs + shape.num_variables)
        self.found = f.array(shape.num_found, is_scratch=True)
        #: Every function has the parameters that all share as constants of the record.
        self.shared = f.array(shape.num_parameters)
        #: Of a period: steps to take; those taken, the ending, and the measure that ended it.
        self.counts = f.array(3, WHOLE)

    @property
    def kept(self) -> tuple[Buffer, ...]:
        """Arrays that go on in another basis."""
        return self.t, self.x, self.held, self.found

    def call(self, name: str, p: Buffer, out: Buffer, how: str = "alwaysinline") -> None:
        """Call a function of (t, x, held, p)."""
        places = [array.place for array in (self.t, self.x, self.held, p, out)]
        self.f.invoke(f"@{name}", places, how)

    def advance(self, basis: int, steps: Operand, how: str) -> Value:
        """Steps of a period in a basis, which counts has then; whether the basis ended."""
        f, period = self.f, self.shape.periods[basis]
        self.counts[0] = steps
        name = f"period_{basis}" if how == "noinline" else "period"
        self.call(name, self.shared, self.counts, how)
        return period.has_ended(f, self.counts)


class _EpisodeWriter:
    """Writes a step of one environment, of a thread."""

    def __init__(self, shape: EpisodeShape) -> None:
        self.shape = shape
        f = self.f = Flow(Target.thread(on_stack=True))
        s = self.s = f.variables()
        s.declare(WHOLE, "env", "acts", "number", "basis", "left")
        s.declare(TRUTH, "is_new", "is_bad", "is_elsewhere", "has_ended")
        self.moving = _Moving(f, shape)
        self.x, self.held, self.found = self.moving.x, self.moving.held, self.moving.found
        self._loaded: dict[str, Value] = {}
        if len(shape.periods) > 1:
            self.passed = f.array(_passed_size(shape))
        self.drawn = f.array(shape.num_parameters + shape.num_given)
        self.closed = f.array(len(shape.start))

    def number(self, name: str, kind: str = WHOLE) -> Value:
        """A word of the record."""
        if name not in self._loaded:
            place = word_of_record(THREAD_WORDS.index(name))
            self.f.head.append(f"  %{name} = load {kind}, {place}, align 8")
            self._loaded[name] = self.f.value(f"%{name}", kind, 1)
        return self._loaded[name]

    def vector(self, name: str, kind: str = REAL) -> Given:
        """Vector that the record points to."""
        return Given(self.f, self.number(name, PLACE), kind)

    def at(self, k: int) -> Value:
        """Place of number k of this environment: the same number of all stand side by side."""
        return self.number("n") * k + self.s.env

    def step(self) -> None:
        """One environment: s.env."""
        f, s, shape = self.f, self.s, self.shape
        t, n, nu = self.moving.t, len(shape.start), shape.num_inputs
        s.acts = self.vector("acts", WHOLE)[s.env]
        s.is_new, s.is_bad, s.is_elsewhere = s.acts < 0, f.truth(False), f.truth(False)
        s.basis = f.whole(0)
        if len(shape.periods) > 1:
            s.basis = f.where(s.is_new, f.whole(0), self.vector("bases", WHOLE)[s.env])
        t[0] = f.where(s.is_new, 0.0, self.vector("t")[s.env])
        for k in range(n):
            self.x[k] = self.vector("x")[self.at(k)]
        for k in range(shape.num_variables):
            self.held[nu + k] = self.vector("variables")[self.at(k)]
        for k, value in enumerate(shape.base):
            self.held[k] = f.real(value)
        with f.when(s.is_new):
            self._begin()
        with f.when(~s.is_new):
            self._act()
            self._take_period()
        self.vector("t")[s.env] = t[0]
        for k in range(n):
            self.vector("x")[self.at(k)] = self.x[k]
        for k in range(nu):
            self.vector("u")[self.at(k)] = self.held[k]
        with f.when(~s.is_elsewhere):
            self.moving.call("columns", self.moving.shared, self.found)
        self._leave()

    def _act(self) -> None:
        """Inputs of the action, which is cut at ±1; one that is no number stays so."""
        f, given = self.f, self.vector("actions", self.shape.action_kind)
        row, column = self.s.env * self.number("action_row"), self.number("action_column")
        for k, (place, middle, half) in enumerate(self.shape.actions):
            action = f.as_kind(given[row + column * k], REAL)
            self.held[place] = middle + half * f.most(f.least(action, 1.0), -1.0)

    def _take_period(self) -> None:
        """The period, in the first basis as far as it goes."""
        f, s, shape, counts = self.f, self.s, self.shape, self.moving.counts
        if len(shape.periods) == 1:
            self.moving.advance(0, shape.steps, "alwaysinline")
            s.is_bad = counts[0] < shape.steps
            return
        s.has_ended = f.truth(False)
        counts[0] = f.whole(0)
        with f.when(s.basis.equals(0)):
            s.has_ended = self.moving.advance(0, shape.steps, "alwaysinline")
        s.left = f.whole(shape.steps) - counts[0]
        s.is_elsewhere = (s.basis > 0) | s.has_ended
        with f.when(s.is_elsewhere):
            kept, last = self.moving.kept, _passed_size(shape) - 2
            _join(kept, self.passed, shape)
            self.passed[last], self.passed[last + 1] = f.to_real(s.left), f.to_real(s.basis)
            f.invoke("@go_on", [self.passed.place], "noinline")
            _split(self.passed, kept, shape)
            s.left, s.basis = (_to_whole(f, self.passed[last + k]) for k in range(2))
            self.vector("bases", WHOLE)[s.env] = s.basis
        s.is_bad = s.left > 0

    def _begin(self) -> None:
        """Start of the next episode, by random numbers of its number and the environment's."""
        f, s, shape, n = self.f, self.s, self.shape, len(self.shape.start)
        if len(shape.periods) > 1:
            self.vector("bases", WHOLE)[s.env] = f.whole(0)
        s.number = self.vector("episodes", WHOLE)[s.env] + 1
        self.vector("episodes", WHOLE)[s.env] = s.number
        drawn = self._draw()
        states, given = len(shape.drawn_states), shape.num_given
        for k, value in enumerate(drawn[states + given :]):
            self.held[shape.num_inputs + k] = value
            self.vector("variables")[self.at(k)] = value
        with f.when(self.number("has_states").equals(0)):
            for k in range(n):
                self.x[k] = f.real(shape.start[k])
            for place, value in zip(shape.drawn_states, drawn, strict=False):
                self.x[place] = value
            for k, value in enumerate(drawn[states : states + given]):
                self.drawn[shape.num_parameters + k] = value
            if shape.has_angles:
                self.moving.call("orient", self.drawn, self.closed)
                for k in range(n):
                    self.x[k] = self.closed[k]
            if shape.has_closing:
                for _ in f.count(0, CLOSING_STEPS):
                    self.moving.call("close", self.drawn, self.closed)
                    for k in range(n):
                        self.x[k] = self.closed[k]
            self.moving.call("speeds", self.drawn, self.closed)
            for k, place in enumerate(shape.speeds):
                self.x[place] = self.closed[k]

    def _draw(self) -> list[Value]:
        """Uniform numbers of the ranges, as `philox.uniforms` of the environment and episode."""
        f, s = self.f, self.s
        seed = self.number("seed")
        key = seed & WORD, (seed >> 32) & WORD
        run = s.env & WORD, (s.env >> 32) & WORD
        drawn: list[Value] = []
        for channel in range(-(-len(self.shape.ranges) // 2)):
            words = philox_words(f, [s.number & WORD, f.whole(channel), *run], key)
            drawn += [uniform_number(f, *words[2 * k : 2 * k + 2]) for k in range(2)]
        ranges = self.shape.ranges
        return [
            low + (high - low) * value for (low, high), value in zip(ranges, drawn, strict=False)
        ]

    def _leave(self) -> None:
        """Store the observation, the reward, and whether and why the episode ends."""
        f, s, shape = self.f, self.s, self.shape
        found, seen, ends = self.found, shape.num_seen, shape.num_ends
        s.is_bad = s.is_bad | (~s.is_new & ~f.all_finite(found, shape.num_found, s))
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


def _sizes(shape: EpisodeShape) -> tuple[int, ...]:
    """Of the arrays that go on in another basis."""
    held = shape.num_inputs + shape.num_variables
    return 1, len(shape.start), held, shape.num_found


def _passed_size(shape: EpisodeShape) -> int:
    """Numbers of what is passed on: those arrays, steps left and the number of the basis."""
    return sum(_sizes(shape)) + 2


def _join(arrays: tuple[Buffer, ...], joined: Buffer | Given, shape: EpisodeShape) -> None:
    """Copy arrays one behind the other."""
    at = 0
    for array, size in zip(arrays, _sizes(shape), strict=True):
        for k in range(size):
            joined[at + k] = array[k]
        at += size


def _split(joined: Buffer | Given, arrays: tuple[Buffer, ...], shape: EpisodeShape) -> None:
    """Copy them back."""
    at = 0
    for array, size in zip(arrays, _sizes(shape), strict=True):
        for k in range(size):
            array[k] = joined[at + k]
        at += size


def _to_whole(f: Flow, a: Value) -> Value:
    """A whole number that was passed as a double."""
    return f.emit(f"fptosi {a.typed} to i64", WHOLE, 1)


def _print_others(shape: EpisodeShape) -> str:
    """Text of ``void go_on(ptr passed)``: what is left of a period, in whatever basis holds."""
    f, bases = Flow(Target.thread()), range(len(shape.periods))
    s = f.variables()
    s.declare(WHOLE, "left", "basis", "best")
    s.declare(REAL, "most")
    s.declare(TRUTH, "is_fresh", "has_ended")
    moving, last = _Moving(f, shape), _passed_size(shape) - 2
    margins = f.array(len(bases) * (1 + len(shape.speeds)), is_scratch=True)
    passed = Given(f, f.value("%passed", PLACE, 1))
    _split(passed, moving.kept, shape)
    s.left, s.basis = (_to_whole(f, passed[last + k]) for k in range(2))
    s.is_fresh = f.truth(False)
    with f.repeat() as loop:
        for b in f.choose(s.basis, bases):
            s.has_ended = moving.advance(b, s.left, "noinline")
        taken = moving.counts[0]
        s.left = s.left - taken
        loop.leave((s.left <= 0) | ~s.has_ended | (s.is_fresh & taken.equals(0)))
        for b in f.choose(s.basis, bases):
            moving.call(f"change{_suffix(b)}", moving.shared, margins, "noinline")
        # the best of the others that hold
        s.best, s.most = s.basis, f.real(1.0)
        for b in bases:
            is_better = (margins[b] > s.most) & ~s.basis.equals(b)
            s.best = f.where(is_better, f.whole(b), s.best)
            s.most = f.where(is_better, margins[b], s.most)
        loop.leave(s.best.equals(s.basis))
        s.basis, s.is_fresh = s.best, f.truth(True)
        for b in f.choose(s.basis, bases):
            for k, place in enumerate(shape.speeds):
                moving.x[place] = margins[len(bases) + b * len(shape.speeds) + k]
    for b in f.choose(s.basis, bases):
        moving.call(f"columns{_suffix(b)}", moving.shared, moving.found, "noinline")
    _join(moving.kept, passed, shape)
    passed[last], passed[last + 1] = f.to_real(s.left), f.to_real(s.basis)
    text = f.body("go_on", ("passed",)).replace("define void", "define internal void")
    periods = [
        period.text(f"period_{b}", suffix=_suffix(b), is_hot=False)
        for b, period in enumerate(shape.periods)
    ]
    return "\n".join([text, *periods, *sorted(f.declared)])


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
    body = f.kernel()
    others = [_print_others(shape)] if len(shape.periods) > 1 else []
    period = shape.periods[0].text("period", is_hot=True)
    return "\n".join([body, period, *others, *sorted(f.declared)])
