"""`IntegrationPlan`: arrays and addresses that one run of the native loop needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from noslip.base import SimulationError
from noslip.simulation import rules

Array = np.ndarray
_Rule = tuple[str, bool, str, str]  # field, whether it is as it must be, what and fix if not

EMPTY = np.zeros(0)
EMPTY.flags.writeable = False


def _empty() -> Array:
    return EMPTY


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
            ("index", self.index >= 0, "index is {p.index}", "count base inputs from 0"),
            (
                "starts",
                count > 0 and _increases(self.starts),
                "segments do not follow",
                "sort them",
            ),
            (
                "coefficients",
                shape == (count, 4),
                "expected ({p.starts.size}, 4), got {p.coefficients.shape}",
                "give 4 each",
            ),
        )
        _check(self, rules)


class RunValues(NamedTuple):
    """Values that differ between runs of the same code: fields of `IntegrationPlan`.

    Vectors are contiguous and of float64.
    """

    start_time: float
    end_time: float
    start_state: Array
    sample_times: Array
    parameters: Array
    generator_parameters: Array
    event_parameters: Array
    base_inputs: Array
    absolute_tolerance: Array
    relative_tolerance: float
    projection_tolerance: float
    step: float
    max_step: float
    max_steps: int

    @property
    def vectors(self) -> tuple[Array, ...]:
        """The vectors of fixed size, in the order in which memory holds them."""
        return (
            self.parameters,
            self.generator_parameters,
            self.event_parameters,
            self.base_inputs,
            self.absolute_tolerance,
            self.start_state,
        )

    def check(self) -> None:
        """Refuse a start and an end that no run could use; times of samples are checked before."""
        y = self.start_state
        # finite if all its numbers are, but for huge ones
        if not (y.size and isfinite(y.dot(y)) and -inf < self.start_time <= self.end_time < inf):
            _check(self, _rules_of_span(self))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntegrationPlan:
    """All that one native run needs. Functions are addresses; its maker keeps them loaded.

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
    events : address of the values whose zero crossings are found, or 0.
    enclosures : address of intervals of these values and of their rates, or 0: they are looked at
        in quarters of steps.
    event_directions : (ne,) −1, 0 or +1: falling, both, rising; NaN for angles, which come last and
        are unwrapped from event_parameters[0], [1], …, their values at the last check.
    num_endings : how many of them, the first ones, end the run; −1: all.
    health_floors : (nh,) the run ends when a health value is below its floor.
    method : ``rules.DOP853`` or ``rules.RK4``.
    relative_tolerance, absolute_tolerance : of DOP853; the absolute one (ny,).
    step : first step of DOP853, 0 to choose it; the fixed step of RK4.
    max_step : longest step of DOP853.
    max_steps : of the whole run.
    num_noise : channels of random numbers of the update, whose place is behind the base inputs.
    seed, first_run, first_update : of these numbers.
    apart : state whose error is measured by itself, with the tolerance of the first; −1: none.
    direct_steps : how many steps to take on the calling thread before a worker takes over; 0: none.
    """

    rates: int
    parameters: Array
    start_time: float
    end_time: float
    start_state: Array
    num_generator_states: int = 0
    sample_times: Array = field(default_factory=_empty)
    base_inputs: Array = field(default_factory=_empty)
    tables: tuple[InputTable, ...] = ()
    generator: int = 0
    generator_parameters: Array = field(default_factory=_empty)
    update: int = 0
    update_times: Array = field(default_factory=_empty)
    num_inputs: int = -1
    knots: Array = field(default_factory=_empty)
    project: int = 0
    projection_tolerance: float = 1e-12
    events: int = 0
    enclosures: int = 0
    event_parameters: Array = field(default_factory=_empty)
    event_directions: Array = field(default_factory=_empty)
    num_endings: int = -1
    health_floors: Array = field(default_factory=_empty)
    method: int = rules.DOP853
    relative_tolerance: float = 1e-8
    absolute_tolerance: Array = field(default_factory=_empty)
    step: float = 0.0
    max_step: float = np.inf
    max_steps: int = 2**62
    num_noise: int = 0
    seed: int = 0
    first_run: int = 0
    first_update: int = 0
    apart: int = -1
    direct_steps: int = 0

    def __post_init__(self) -> None:
        _take_vectors(
            self,
            *("parameters", "start_state", "sample_times", "base_inputs", "generator_parameters"),
            *("update_times", "knots", "event_parameters", "event_directions", "health_floors"),
            "absolute_tolerance",
        )
        if self.num_inputs == -1:
            object.__setattr__(self, "num_inputs", self.base_inputs.size)
        if self.num_endings == -1:
            object.__setattr__(self, "num_endings", self.event_directions.size)
        _check(self, self._rules())

    @property
    def numbers(self) -> RunValues:
        """Values that may differ in another run of the same code."""
        return RunValues(*[getattr(self, name) for name in RunValues._fields])

    @property
    def is_smooth(self) -> bool:
        """Whether samples may be found from several steps: nothing known breaks the motion up."""
        breaks = (self.knots, self.update_times, self.tables)
        return self.method == rules.DOP853 and not any(len(each) for each in breaks)

    def _rules(self) -> Iterator[_Rule]:
        ny, directions = self.start_state.size, self.event_directions
        yield "rates", self.rates != 0, "there is no function for the rates", "give its address"
        yield from _rules_of_span(self)
        yield _rule_of_samples(self)
        is_met = bool(np.isfinite(self.knots).all())
        yield "knots", is_met, "a knot is not finite", "give finite times"

        nz, num_base = self.num_generator_states, self.base_inputs.size
        is_met = 0 <= nz <= (ny if self.generator != 0 else 0)
        what = "{p.num_generator_states} of {p.start_state.size} states belong to a generator"
        yield "num_generator_states", is_met, what, "give the generator, and its states last"
        is_met = self.num_inputs >= 0 and (self.generator != 0 or self.num_inputs == num_base)
        what = "{p.num_inputs} inputs are made of {p.base_inputs.size} base inputs"
        yield "num_inputs", is_met, what, "leave it out, or give the generator that makes them"
        largest = max((table.index for table in self.tables), default=-1)
        what = "a table drives a base input beyond the {p.base_inputs.size} there are"
        yield "tables", largest < num_base, what, "give a base input for every table"
        is_met = (self.events != 0) == (directions.size > 0) and _are_directions(directions)
        what = "the events' directions are {p.event_directions}"
        fix = "give one for every event: −1 for falling, +1 for rising, 0 for both"
        yield "event_directions", is_met, what, fix
        is_met = 0 <= self.num_endings <= directions.size
        what = "{p.num_endings} of {p.event_directions.size} events end the run"
        yield "num_endings", is_met, what, "give at most as many as there are events"

        is_met = self.method in (rules.DOP853, rules.RK4)
        yield "method", is_met, "there is no method {p.method}", "give rules.DOP853 or rules.RK4"
        is_met = 0.0 <= self.step < np.inf and (self.step > 0.0 or self.method == rules.DOP853)
        fix = "give a positive step; DOP853 chooses its first one if it is 0"
        yield "step", is_met, "the step is {p.step}", fix
        is_met = self.max_step > 0.0
        yield "max_step", is_met, "the longest step is {p.max_step}", "give a positive number"
        yield "max_steps", self.max_steps >= 0, "{p.max_steps} steps are allowed", "allow some"
        is_met = 0.0 <= self.relative_tolerance < np.inf
        what = "the relative tolerance is {p.relative_tolerance}"
        yield "relative_tolerance", is_met, what, "give a small number, such as 1e-8"
        absolute = self.absolute_tolerance
        is_met = absolute.shape == (ny,) and bool((absolute > 0.0).all())
        what = (
            "expected {p.start_state.size} positive absolute tolerances, got {p.absolute_tolerance}"
        )
        fix = "give one for every state, such as 1e-10 times its typical size"
        yield "absolute_tolerance", is_met or self.method == rules.RK4, what, fix
        is_met = 0.0 < self.projection_tolerance < np.inf
        what = "the projection's tolerance is {p.projection_tolerance}"
        yield "projection_tolerance", is_met, what, "give a small number, such as 1e-12"


def direct_steps(num_states: int) -> int:
    """Steps to take on the calling thread: those of some milliseconds."""
    return 400_000 // num_states**2


def _rules_of_span(p: IntegrationPlan | RunValues) -> Iterator[_Rule]:
    """Conditions on the start and the end of every run."""
    is_met = p.start_state.size > 0 and all(np.isfinite(p.start_state).tolist())
    yield "start_state", is_met, "the start state is empty or not finite", "give finite numbers"
    is_met = -np.inf < p.start_time <= p.end_time < np.inf
    what = "the run goes from t = {p.start_time} to {p.end_time}"
    yield "end_time", is_met, what, "give finite times, the end last"


def _rule_of_samples(p: IntegrationPlan) -> _Rule:
    times = p.sample_times
    is_met = times.size == 0 or bool(p.start_time <= times[0] <= times[-1] <= p.end_time)
    is_met = is_met and (times.size < 3 or bool((times[1:] >= times[:-1]).all()))
    what = "sample times are not sorted or not within t = {p.start_time} to {p.end_time}"
    return "sample_times", is_met, what, "sort them, and sample within the run"


def _are_directions(values: Array) -> bool:
    """−1, 0 or +1; NaN for what is followed and never crosses."""
    return bool((np.isnan(values) | np.isin(values, (-1.0, 0.0, 1.0))).all())


def _take_vectors(target: object, *names: str) -> None:
    """Make fields of a frozen object contiguous arrays of float64."""
    for name in names:
        given = getattr(target, name)
        if given is not EMPTY:
            vector = np.ascontiguousarray(given, dtype=np.float64)
            object.__setattr__(target, name, vector)


def _increases(values: Array) -> bool:
    return bool(np.all(np.diff(values) > 0.0))


def _check(owner: object, rules: Iterable[_Rule]) -> None:
    """Raise the first rule that is not met; `p` in its words is the owner."""
    for name, is_met, what, fix in rules:
        if not is_met:
            kind = InputTable if isinstance(owner, InputTable) else IntegrationPlan
            raise SimulationError(what.format(p=owner), f"{kind.__name__}.{name}", fix)
