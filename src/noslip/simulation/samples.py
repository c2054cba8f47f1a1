"""Samples assembled to a `Trajectory`: turns of angles, its ending, and why it ended early.

**Diagnosis of a run that ended early: an input that is not finite, a singular law or basis.**

It costs a run nothing unless it has ended early. A run ends at the last valid state, so inputs are
evaluated there and just ahead: within the shortest steps that time resolves, and within the step
that was to come. On the way the state goes along its rates. What a law divides by, its guards, is
evaluated at the last state.

**Turns of named angles, counted along a run: they do not depend on which samples are asked for.**

Angles of an orientation lie between −π and π. Between two samples that are close to each other they
go on without a jump. Where samples are far apart beside the steps of the run, or an angle moves on
by more than an eighth of a turn, the run is repeated with samples that are close enough, once and
only when the angles are asked for; its steps are the same.

**Segments of a run: on in other independent speeds, and through singular positions.**

**Passage of a single run through a configuration at which holonomic rows lose rank.**

A parallelogram that lies flat, or a slider-crank whose rod is as long as its crank, at 90°: two
branches of configurations meet there, and a regular motion goes on along the one it came on. The
equations do not say so at the place itself, and integrating over it may end on either branch with
every row satisfied. Along the motion q(t) and v(t) are smooth, though:

    (1)  σ(t), the least singular value of the rows, vanishes at t* with a slope
    (2)  q and v from t* − δ on are the polynomials of time that fit them before, to t* + δ
    (3)  there they are projected on the rows, and the motion goes on
    (4)  the polynomials that fit what follows, taken back to t* − δ, must give the state there

Only (4) shows that it was the same branch: rows hold on both. Samples between t* − δ and t* + δ are
the polynomials through both sides, and events the zeros of those through their values on both.
Reactions are not determined there and are never interpolated.

**Driver of segments: integrate, and where the independent speeds fail, continue in others.**

A motion is integrated natively as long as its independent speeds determine it. Where they no longer
do, the segment ends with ``rules.SINGULAR``; others, and other rows where some repeat each other,
are chosen there and compiled once, the state is converted through the tree speeds v, and the next
segment begins. Where no others are better, these are used down to the last admissible conditioning.
If all rows together lose rank, the motion ends.

All motions are driven this way: single runs, trajectories of a batch, runs with sensitivities, and
a mechanism that is driven by hand. Motions that continue in the same basis are run together.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

from noslip.base import Array, Fault
from noslip.engines import NativeFunction, System, address, once_a_system
from noslip.kinematics import RANK_LOST, compressed
from noslip.simulation.events import EventCode
from noslip.simulation.expressions import Outputs
from noslip.simulation.inputs import InputGenerator, InputPlan, inputs_at
from noslip.simulation.loop import rules
from noslip.simulation.loop.rules import EPS
from noslip.simulation.native_run import EMPTY, NativeLoop, NativeResult
from noslip.simulation.request import METHODS, RunOptions
from noslip.simulation.starts.completion import Start
from noslip.simulation.starts.start_layout import Orientation, layout_of
from noslip.simulation.trajectory import (
    NO_EVENTS,
    Ending,
    LazyValue,
    Named,
    Sources,
    Trajectory,
    angle_rates,
    column,
    unwrapped,
)

#: σ over its usual size at which the passage begins: rounding in v grows as 1/σ².
NEAR = 0.02
#: Length of the motion that is fitted, in times in which σ changes by its usual size.
WINDOW = 0.5
#: Degrees of the polynomials, of which those are taken that agree best, and points that they fit.
DEGREES, POINTS = range(7, 13), 28
#: Degree of those through both sides.
BOTH_DEGREE = 20
#: Distance from the place, in that at which the passage begins, within which samples suffer: dense
#: output takes rates ahead of them.
SUFFERS = 16.0
#: Relative tolerance of the integration that they fit.
FIT_TOLERANCE = 1e-12
#: Error of the way back that is accepted: this, or so many tolerances of the run.
RETURNED, RETURNED_TOLERANCES = 2e-8, 10.0
#: Points at which values of events are looked at, and the misfit, over their range beside it, of
#: those that no polynomial fits.
LOOKS, NOT_SMOOTH = 65, 1e-7
#: Fraction of a row in what loses rank that counts as zero.
NO_SHARE = 1e-4
#: Slope of σ where it vanishes, over that before, below which two branches have a common tangent.
LEAST_SLOPE = 0.5


class Sampled(NamedTuple):
    """Samples of a motion within a passage."""

    states: Array  #: (n, ny)
    outputs: Array  #: (n, …) as `System.samples` has them
    accelerations: Array  #: (n, nv)


#: From a time and a state to the motion at later times, as far as it is regular.
Integrate = Callable[[float, Array, Array], tuple[Array, Array]]


class Passage(NamedTuple):
    """A passage through a singular configuration."""

    #: before, singular, after: times, s, of the last state before, the place and the first one
    #: after
    before: float
    singular: float
    after: float
    state: Array  #: (ny,) there
    samples: Callable[[Array], Sampled]  #: the motion at times between them
    reliable: float  #: time, s, after which states of the run suffer from the place ahead
    state_at: Callable[[float], Array]  #: states at times before, as they were fitted
    beside: tuple[Array, Array]  #: times and states on both sides that were fitted
    error: float  #: error of the way back

    def crossings(self, values: Array, begin: float) -> list[tuple[float, int, float]]:
        """Time, place and sense, ±1, of zeros after `begin`, s, in the order of time.

        Raises
        ------
        PassageRefused : if a value that changes its sign is not smooth.
        """
        t = self.beside[0]
        found = []
        for k, own in enumerate(values.T):
            before, after = own[t < self.singular], own[t > self.singular]
            if not np.isfinite(own).all():
                raise PassageRefused("an event has no value beside it")
            fit = _PolynomialFit(t, own[:, None], BOTH_DEGREE)
            off = float(np.abs(fit(t)[:, 0] - own).max())
            if off > NOT_SMOOTH * float(np.ptp(own)):
                if np.sign(before[-1]) != np.sign(after[0]):
                    raise PassageRefused("an event lies so near to it that it cannot be located")
                continue
            looks = np.linspace(begin, self.after, LOOKS)
            signs = np.sign(fit(looks)[:, 0])
            for j in np.flatnonzero((signs[:-1] != 0.0) & (signs[1:] != signs[:-1])):
                low, high = float(looks[j]), float(looks[j + 1])
                while low < (middle := (low + high) / 2) < high:
                    is_before = np.sign(fit(np.array([middle]))[0, 0]) == signs[j]
                    low, high = (middle, high) if is_before else (low, middle)
                found.append((high, k, -float(signs[j])))
        return sorted(found)


class PassageRefused(Exception):
    """Reason why a run ends at a singular configuration."""


class SingularPlace:
    """Singular configuration ahead of a state of a run, in the basis that is best there.

    `inputs_at`: [u; w; ẇ] at a time and a state.
    """

    def __init__(
        self, system: System, values: Array, inputs_at: Callable[[float, Array], Array]
    ) -> None:
        self.system, self.values, self._inputs_at = system, values, inputs_at
        kin = system.kinematics
        self._kin, self._nq, self._nf = kin, kin.num_coordinates, kin.num_independent_speeds

    def _matrices(self, t: Array, q: Array) -> Array:
        kin = self._kin
        rows = [k for k in range(len(kin.rows)) if k not in kin.self_satisfied]
        return (kin.probe.matrices(t, q, self.values) / kin.probe.scale)[:, rows]

    def sigma(self, t: Array, q: Array) -> Array:
        """(n,) least singular value of all rows at configurations (n, nq)."""
        A = compressed(self._matrices(t, q), len(self._kin.row_basis))
        return np.asarray(np.linalg.svd(A, compute_uv=False)[:, -1])

    def check_holonomic(self, t: float, q: Array) -> None:
        """Refuse a place at which rows lose rank that have no position form."""
        kin = self._kin
        rows = [k for k in range(len(kin.rows)) if k not in kin.self_satisfied]
        U = np.linalg.svd(self._matrices(np.array([t]), q[None])[0])[0]
        left = U[:, len(kin.row_basis) - 1]
        lost = [k for k, x in zip(rows, left, strict=True) if abs(x) > NO_SHARE]
        if not all(kin.rows[k].is_holonomic for k in lost):
            names = ", ".join(f"'{kin.rows[k].name}'" for k in lost)
            raise PassageRefused(f"the rows {names} that lose rank there are not all holonomic")

    def motion(self, t: Array, states: Array) -> Array:
        """(n, …) [q; v and other outputs; what follows η in the state] of times and states."""
        u = np.array([self._inputs_at(*at) for at in zip(t, states, strict=True)])
        x = np.ascontiguousarray(states[:, : self.system.num_states])
        outputs = self.system.samples.map(t, x, u, self.values)
        return np.hstack([states[:, : self._nq], outputs, states[:, self._nq + self._nf :]])

    def speeds(self, y: Array) -> Array:
        """(…, nv) tree speeds of what `motion` gives."""
        return y[..., self._nq : self._nq + self._kin.num_speeds]

    def _unprojected(self, t: float, y: Array, num_rest: int) -> Array:
        eta = self._kin.independent_rows(t, y[: self._nq], self.values) @ self.speeds(y)
        return np.concatenate([y[: self._nq], eta, y[len(y) - num_rest :]])

    def state(self, t: float, y: Array, num_rest: int) -> Array:
        """The state of what `motion` gives, projected on the rows; `num_rest` follow η in it."""
        y, nx = y.copy(), self.system.num_states
        u = np.zeros(len(self.system.inputs))
        for _ in range(4 if self.system.has_projection else 0):
            state = self._unprojected(t, y, num_rest)
            y[: self._nq] = self.system.projection(t, state[:nx], u, self.values)[: self._nq]
        return self._unprojected(t, y, num_rest)

    def states(self, t: Array, y: Array, num_rest: int) -> Array:
        """(n, ny) states of what `motion` gives."""
        found = [self._unprojected(*at, num_rest) for at in zip(t, y, strict=True)]
        return np.array(found).reshape(len(t), self._nq + self._nf + num_rest)

    def sampled(self, t: Array, y: Array, rates: Array, num_rest: int) -> Sampled:
        """Samples of what `motion` gives, with the residuals that they have."""
        kin, probe = self._kin, self._kin.probe
        states = self.states(t, y, num_rest)
        outputs = y[:, self._nq : y.shape[1] - num_rest].copy()
        at = kin.num_speeds + 2
        for k, time in enumerate(t):
            w = self._inputs_at(time, states[k])[len(self.system.model.inputs) :]
            q, w = y[k, : self._nq], w[: probe.num_speed_inputs]
            A, a = probe.constraint(time, q, w, self.values)
            g = np.array(probe.position(time, q, self.values)).ravel()
            residuals = np.array(A) @ self.speeds(y[k]) + np.array(a).ravel()
            outputs[k, at : at + len(residuals) + len(g)] = np.concatenate([residuals, g])
        return Sampled(states, outputs, self.speeds(rates))


def passage(
    place: SingularPlace,
    integrate: Integrate,
    known: tuple[Array, Callable[[int], Array]],
    end: tuple[float, Array],
    rtol: float,
) -> Passage:
    """Pass a singular configuration.

    Raises
    ------
    PassageRefused : with the reason.
    """
    (t0, here), kin = end, place.system.kinematics
    q0, num_rest = here[: kin.num_coordinates], len(here) - kin.num_coordinates
    num_rest -= kin.num_independent_speeds
    v0 = place.speeds(place.motion(np.array([t0]), here[None])[0])
    rate = np.array(kin.probe.kinematic_map(q0)) @ v0
    if not np.abs(rate).max(initial=0.0) > 0.0:
        raise PassageRefused("it rests there, and no motion says on which branch it would go on")
    place.check_holonomic(t0, q0)
    usual = _usual(place)
    slope, sigma = _slope(place, t0, q0, rate)
    if not slope > 0.0:
        raise PassageRefused("it does not approach that configuration along its motion")
    ahead = sigma / slope
    window = WINDOW * usual / slope
    before = min(t0, t0 + ahead - NEAR * usual / slope)
    first = max(float(known[0][0]), before - window)
    at = int(np.searchsorted(known[0], first, side="right")) - 1
    begin = float(known[0][at]), known[1](at)
    if before - first < 0.2 * window:
        raise PassageRefused("the motion before it is too short to be continued")
    near = _fitted(place, integrate, begin, _nodes(first, before), 2 * (t0 + ahead) - before)
    singular = _zero(place, near, before)
    after = 2 * singular - before
    state = place.state(after, near(after), num_rest)
    if not np.isfinite(state).all():
        raise PassageRefused("the states beyond it are not finite")
    beyond = _nodes(after, after + (before - first))
    far = _fitted(place, integrate, (after, state), beyond, before)
    wanted, found = near(before), far(before)
    off = _distance(place, wanted, found, near(first))
    if not off <= max(RETURNED, RETURNED_TOLERANCES * rtol):
        raise PassageRefused(
            f"the way back from the far side misses the state before it by {off:.2g}, so that it "
            "may be on another branch"
        )

    times, y = np.concatenate([near.t, far.t]), np.concatenate([near.y, far.y])

    def samples(t: Array) -> Sampled:
        both = _PolynomialFit(times, y, BOTH_DEGREE)
        return place.sampled(t, both(t), both.rate(t), num_rest)

    def state_at(t: float) -> Array:
        return place.state(t, near(t), num_rest)

    reliable = max(first, singular - SUFFERS * (singular - before))
    beside = times, place.states(times, y, num_rest)
    return Passage(before, singular, after, state, samples, reliable, state_at, beside, off)


class _PolynomialFit:
    """Polynomials of time through a motion, by least squares."""

    def __init__(self, t: Array, y: Array, degree: int) -> None:
        self.t, self.y = t, y
        self._middle, self._half = (t[0] + t[-1]) / 2, (t[-1] - t[0]) / 2
        self._c = chebyshev.chebfit(self._scaled(t), y, degree)

    def _scaled(self, t: float | Array) -> Any:
        return (t - self._middle) / self._half

    def __call__(self, t: float | Array) -> Array:
        return np.asarray(chebyshev.chebval(self._scaled(t), self._c)).T

    def rate(self, t: Array) -> Array:
        """Their derivatives."""
        rates = chebyshev.chebval(self._scaled(t), chebyshev.chebder(self._c))
        return np.asarray(rates).T / self._half

    @classmethod
    def best(cls, t: Array, y: Array, at: float) -> _PolynomialFit:
        """Fit of the degree whose extrapolation agrees best with that of the next degree."""
        found = [cls(t, y, degree) for degree in DEGREES]
        off = [float(np.linalg.norm(a(at) - b(at))) for a, b in pairwise(found)]
        return found[int(np.argmin(off))]


def _nodes(first: float, last: float) -> Array:
    """Chebyshev points of a span, its ends among them."""
    x = -np.cos(np.linspace(0.0, np.pi, POINTS))
    nodes = first + (last - first) * (1.0 + x) / 2
    nodes[0], nodes[-1] = first, last
    return nodes


def _fitted(
    place: SingularPlace,
    integrate: Integrate,
    begin: tuple[float, Array],
    nodes: Array,
    at: float,
) -> _PolynomialFit:
    """The motion at some nodes, to be taken to another time."""
    t, states = integrate(*begin, nodes)
    if len(t) < POINTS:
        raise PassageRefused("the motion beside it is too short to be continued")
    y = place.motion(t, states)
    if not np.isfinite(y).all():
        raise PassageRefused("the motion beside it is not finite")
    return _PolynomialFit.best(t, y, at)


def _usual(place: SingularPlace) -> float:
    """Size of σ at ordinary configurations."""

    def median() -> float:
        samples = place.system.kinematics.probe.configurations()
        return float(np.median([place.sigma(np.array([t]), q[None])[0] for t, q in samples]))

    return place.system.cached("usual rank", median)


def _slope(place: SingularPlace, t: float, q: Array, rate: Array) -> tuple[float, float]:
    """−dσ/dt along the motion, and σ."""
    h = 1e-4 / float(np.abs(rate).max())
    times, places = np.array([t, t - h]), np.array([q, q - h * rate])
    now, earlier = place.sigma(times, places)
    return float((earlier - now) / h), float(now)


def _zero(place: SingularPlace, near: _PolynomialFit, before: float) -> float:
    """The time at which σ vanishes."""
    nq = place.system.kinematics.num_coordinates
    last = len(near.t) // 2
    t, q = near.t[last:], near.y[last:, :nq]
    series = Chebyshev.fit(t, place.sigma(t, q), 5)
    span = float(near.t[-1] - near.t[0])
    roots = [float(r.real) for r in series.roots() if abs(r.imag) < 1e-3 * span]
    ahead = [r for r in roots if before < r < before + 0.2 * span]
    if not ahead:
        raise PassageRefused("rows lose rank there as they do where two branches only touch")
    singular = min(ahead)
    secant = float(series(before)) / (singular - before)
    if -float(series.deriv()(singular)) < LEAST_SLOPE * secant:
        raise PassageRefused("the branches that meet there have a common tangent")
    return singular


def _distance(place: SingularPlace, one: Array, other: Array, far: Array) -> float:
    """Difference of motions, over the length of the model and the largest speed."""
    kin = place.system.kinematics
    nq = kin.num_coordinates
    length = [1.0 if c.unit != "m" else kin.length for c in kin.coordinates]
    speeds = np.abs(place.speeds(np.stack([one, far])) * kin.probe.scale).max()
    q = np.abs((one - other)[:nq] / length).max(initial=0.0)
    v = np.abs(place.speeds(one - other) * kin.probe.scale).max(initial=0.0)
    return float(max(q, v / max(speeds, 1e-300)))


Indices = NDArray[np.int_]

#: The only motion of a single run.
ONE: Indices = np.zeros(1, int)


class SegmentBasis(NamedTuple):
    """Basis of a segment: a system in its independent speeds.

    `depth` counts the segments before it after which no others were better.
    """

    system: System
    depth: int = 0

    @property
    def floors(self) -> Array:
        """(nh,) lower bounds of the health values (singularity measures)."""
        return np.array([h.bound(self.depth) for h in self.system.singularity_measures])


def segment_loop(
    system: System,
    plan: InputPlan,
    watched: EventCode,
    method: str,
    depth: int,
    span: tuple[float, float, float],
) -> NativeLoop:
    """The loop of runs of the same code; cached with the system if the code is.

    `depth`: segments before after which there were no better speeds, so that these go on; `span`:
    start of the whole run, start and end of this part, s.
    """
    rates, law = system.hoisted_rates.rest, plan.generator
    projection = system.projection if system.has_projection else None

    def make() -> NativeLoop:
        begin, t, end = span
        updates = law.update_times(begin, end) if law else EMPTY
        due = updates[updates >= t - 1e-9 * law.period] if law else EMPTY
        return NativeLoop(
            rates=rates,
            num_generator_states=plan.num_states,
            tables=plan.tables,
            # a plan keeps the Python functions that its code calls back
            generator=plan if plan.callback else plan.function,
            update=plan.update,
            update_times=due,
            num_noise=plan.num_noise,
            seed=law.seed if law else 0,
            first_run=law.run if law else 0,
            first_update=len(updates) - len(due),
            num_inputs=len(system.inputs),
            knots=plan.knots,
            project=projection,
            events=watched.function,
            enclosures=watched.enclosures,
            directions=watched.directions(),
            num_endings=watched.num_endings,
            floors=SegmentBasis(system, depth).floors,
            method=METHODS[method],
            apart=system.work_apart,
            # where Python is called back, none on the calling thread
            direct_steps=0 if plan.calls_back else -1,
        )

    if not plan.is_kept:
        return make()
    # functions stand for themselves, so that they live as long as what has their addresses
    key = ("loop", rates, projection, plan.function, watched, method, depth, plan.knots.tobytes())
    return system.cached(key, make)


class Ends(NamedTuple):
    """Ends of the segments of n motions that may continue."""

    which: Indices  #: (n,) number of each motion
    #: codes, indices: (n,) ``rules.SINGULAR`` and which health value ended it, or
    #: ``rules.FINISHED`` for a stop on the way
    codes: Indices
    indices: Indices
    #: times, states: (n,) s and (n, ny)
    times: Array
    states: Array
    values: Array  #: (n, np) parameters


class Motions(Protocol):
    """One motion or many, for the driver of segments."""

    def run(self, basis: SegmentBasis, which: Indices) -> Ends | None:
        """Run a segment of some motions; the ends of those that may continue, None if none may."""

    def carry(self, here: SegmentBasis, there: SegmentBasis, which: Indices) -> None:
        """Convert the states of some motions to another basis, for their next segment."""


Following = Callable[[SegmentBasis, Ends], list[SegmentBasis | None]]


def drive(
    motions: Motions,
    groups: list[tuple[SegmentBasis, Indices]],
    following_bases: Following | None = None,
) -> None:
    """Run motions to their ends, segment by segment.

    `groups`: bases in which they start, and the numbers of those that start in each.
    `following_bases`: chooses the basis after a segment; by default `next_bases`.
    """
    choose = following_bases or next_bases
    while groups:
        following: dict[SegmentBasis, list[Indices]] = {}
        for here, which in groups:
            ends = motions.run(here, which)
            if ends is None:
                continue
            for there, some in _grouped(choose(here, ends), ends.which).items():
                if there != here:
                    motions.carry(here, there, some)
                following.setdefault(there, []).append(some)
        groups = [(basis, np.concatenate(parts)) for basis, parts in following.items()]


def next_bases(basis: SegmentBasis, ends: Ends) -> list[SegmentBasis | None]:
    """Basis in which each motion continues after a segment, None if it has ended."""
    system, found = basis.system, list[SegmentBasis | None]([None] * len(ends.which))
    singular = []
    for k, (code, index) in enumerate(zip(ends.codes, ends.indices, strict=True)):
        if code == rules.FINISHED:
            found[k] = basis
        elif code == rules.SINGULAR and system.singularity_measures[index].kind == "basis":
            singular.append(k)
    if not singular:
        return found
    q = ends.states[singular, : len(system.coordinates)]
    regular = system.regular_at(ends.times[singular], q, ends.values[singular])
    for k, there in zip(singular, regular, strict=True):
        if there is system:
            measure = system.singularity_measures[ends.indices[k]]
            is_last = measure.bound(basis.depth) <= measure.limit
            found[k] = None if is_last else SegmentBasis(system, basis.depth + 1)
        elif there is not None:
            found[k] = SegmentBasis(there)
    return found


def _grouped(bases: list[SegmentBasis | None], which: Indices) -> dict[SegmentBasis, Indices]:
    """Motions grouped by the basis in which they continue."""
    groups: dict[SegmentBasis, list[int]] = {}
    for basis, number in zip(bases, which.tolist(), strict=True):
        if basis is not None:
            groups.setdefault(basis, []).append(number)
    return {basis: np.array(numbers) for basis, numbers in groups.items()}


def end_of_one(result: NativeResult, values: Array) -> Ends:
    """End of the segment of a single motion."""
    return Ends(
        which=ONE,
        codes=np.array([result.code]),
        indices=np.array([result.index]),
        times=np.array([result.time]),
        states=result.state[None],
        values=values[None],
    )


def carried(here: System, there: System, states: Array, v: Array) -> Array:
    """(…, ny) states converted to the independent speeds of another system, from tree speeds."""
    nq, nf = len(here.coordinates), len(here.independent_speeds)
    names = [s.name for s in there.speeds]
    eta = v[..., [names.index(s.name) for s in there.independent_speeds]]
    return np.concatenate([states[..., :nq], eta, states[..., nq + nf :]], axis=-1)


def tree_speeds(system: System, t: float, state: Array, u: Array, values: Array) -> Array:
    """(nv,) tree speeds v at a state with inputs."""
    return system.motion(t, state[: system.num_states], u, values)[: len(system.speeds)]


#: Conditioning (1: all directions alike) below which a law is reported as singular.
SINGULAR = 1e-3
#: Times ahead: in shortest steps of 10 roundings, and in parts of the step that was to come.
SHORTEST = np.arange(0.0, 8.0, 0.125)
PARTS = np.array([0.25, 0.5, 0.75, 1.0])
#: Least singular value of the rows, over the largest, at which a failed projection is due to it.
RANK_NEARLY_LOST = 1e-2


def undefined_input(
    system: System, plan: InputPlan, t: float, state: Array, step: float, parameters: Array
) -> Fault | None:
    """The input that is nan or infinite where a run ended or just ahead, if there is one."""
    for time, place in _ahead(system, plan, t, state, step, parameters):
        values = current_inputs(plan, time, place)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            k = int(wrong[0])
            when = "just after" if time > t and f"{time:.9g}" == f"{t:.9g}" else "at"
            return Fault(
                f"{_named(system, k)} is {values[k]} {when} t = {time:.9g} s",
                f"model '{system.model.name}', t = {t:.9g} s",
                "check what determines it: is there a root of a negative number or a division by "
                "zero? Pass "
                "on_failure='return' to get the motion up to then",
            )
    return None


def _ahead(
    system: System, plan: InputPlan, t: float, state: Array, step: float, parameters: Array
) -> Iterator[tuple[float, Array]]:
    """Times and states where the run ended and just ahead, as long as they are finite."""
    if not np.all(np.isfinite(state)):
        return
    yield t, state
    u, nx = current_inputs(plan, t, state), system.num_states
    rates = system.rates(t, state[:nx], u, parameters)[:nx]
    if plan.generator is not None and plan.function is not None:
        law = plan.function(t, state, plan.base, plan.parameters)[len(u) :]
        rates = np.concatenate([rates, law])
    if not np.all(np.isfinite(rates)):
        return
    shortest = 10.0 * EPS * max(abs(t), 1e-8)
    for dt in (*(shortest * SHORTEST), *(step * PARTS)):
        yield t + dt, state + dt * rates


def current_inputs(plan: InputPlan, t: float, state: Array) -> Array:
    """[u; w; ẇ] at a state, those of Python callables too."""
    values = inputs_at(plan, t, state)
    if plan.callback is None:
        return values
    out = np.empty_like(values)
    given = (np.array([t]), np.ascontiguousarray(state), values.copy(), plan.parameters, out)
    kind = ctypes.POINTER(ctypes.c_double)
    plan.callback(*(ctypes.cast(address("callback", a), kind) for a in given))
    # what one raises only ahead of the end did not end the run
    return values if plan.failure else out


def _named(system: System, k: int) -> str:
    """An input by its place among [u; w; ẇ]."""
    num_w = len(system.model.speed_inputs)
    is_rate = k >= len(system.inputs) - num_w
    name = system.inputs[k - num_w if is_rate else k].name
    return f"the rate of input '{name}'" if is_rate else f"input '{name}'"


def singular_sentence(system: System, index: int, t: float, state: Array, values: Array) -> str:
    """Sentence on the singularity at which a health value ended a run.

    The mass matrix is found in the independent speeds. Where these do not determine the motion,
    because the rows lose rank in the others, it is no number, and inertia is not the cause.
    """
    measure, kin = system.singularity_measures[index], system.kinematics
    if measure.kind != "mass":
        return measure.sentence
    q = state[: kin.num_coordinates]
    matrix = kin.probe.matrices(np.array([t]), q[None], values)[0][list(kin.row_basis)]
    both = np.concatenate([matrix, kin.independent_rows(t, q, values)]) / kin.probe.scale
    both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-300)
    if not np.isfinite(both).all() or np.linalg.svd(both, compute_uv=False)[-1] >= RANK_LOST:
        return measure.sentence
    names = ", ".join(f"'{s.name}'" for s in kin.independent_speeds)
    return (
        f"the constraints lose rank here in the dependent speeds: with these parameters "
        f"{names} do not determine the motion"
    )


def not_passed(
    system: System, code: int, index: int, t: float, state: Array, values: Array, who: str
) -> str:
    """Sentence on a singular configuration that only `simulate` can pass; empty otherwise."""
    kin = system.kinematics
    is_rank = code == rules.SINGULAR and system.singularity_measures[index].kind == "basis"
    if code not in (rules.SINGULAR, rules.PROJECTION_FAILED) or not kin.held_positions:
        return ""
    q = state[: kin.num_coordinates]
    A = kin.probe.matrices(np.array([t]), q[None], values)[0] / kin.probe.scale
    A = A[[k for k in range(len(kin.rows)) if k not in kin.self_satisfied]]
    if not is_rank and np.isfinite(A).all():
        sigma = np.linalg.svd(A, compute_uv=False)
        is_rank = bool(sigma[len(kin.row_basis) - 1] < RANK_NEARLY_LOST * sigma[0])
    if not is_rank:
        return ""
    return (
        f"the rows lose rank there; {who} end at such a place, simulate goes through where it can"
    )


def broken_guard(
    system: System, generator: InputGenerator | None, t: float, state: Array, parameters: Array
) -> Fault | None:
    """Fault of a law whose guard vanishes at a state, if that is why the run ended."""
    if generator is None or not generator.guards:
        return None
    symbols = system.kinematics.symbols
    states = ca.vertcat(system.state, generator.states)
    known = ca.vertcat(symbols.params, generator.parameters)
    values = ca.Function(
        "guards",
        [symbols.t, states, known],
        [ca.vertcat(*[guard.conditioning for guard in generator.guards])],
        {"allow_free": True},
    )
    if values.get_free():
        return None
    found = np.array(values(t, state, parameters)).ravel()
    for guard, value in zip(generator.guards, found, strict=True):
        if not value >= SINGULAR:
            where = f"model '{system.model.name}', t = {t:.9g} s"
            if "path.arc_length" in generator.names:
                at = system.num_states + generator.names.index("path.arc_length")
                where += f", {state[at]:.4g} m along the path"
            return Fault(guard.what, where, guard.fix)
    return None


#: Largest change of an angle between samples of which turns are counted.
LARGEST_TURN = math.pi / 4
#: Samples of a repeated run for each of its steps, at first.
PER_STEP = 4
#: Samples of a repeated run at most.
MOST = 2_000_000

#: Coordinates and speeds of the same run at other times.
Again = Callable[[Array], "Trajectory"]


def angle_columns(
    system: System, t: Array, q: Array, v: Array, steps: int, again: Again
) -> Sources:
    """Named angles at the samples with the turns they have made, computed when first read."""
    found: Sources = {}
    for o in layout_of(system).orientations:
        values = LazyValue(partial(_angles, o, t, q, v, steps, again))
        for k, name in enumerate(o.angle_names):
            found[name] = ("rad", column(values, k))
    return found


def _angles(o: Orientation, t: Array, q: Array, v: Array, steps: int, again: Again) -> Array:
    """(n, 3) angles at the samples."""
    plain = _unwrapped(o, q)
    if len(t) < 2 or _are_close(o, t, plain, v, steps):
        return plain
    count = PER_STEP * max(steps, 1)
    while count <= MOST:
        times = np.union1d(t, np.linspace(t[0], t[-1], count))
        run = again(times)
        if len(run.t) != len(times):
            return plain
        dense = _unwrapped(o, run.q)
        if _are_close(o, times, dense, run.v, steps):
            turned: Array = dense[np.searchsorted(times, t)]
            # the numbers are those of the samples: only whole turns are taken over
            return plain + 2 * math.pi * np.round((turned - plain) / (2 * math.pi))
        count *= 2
    return plain


def _unwrapped(o: Orientation, q: Array) -> Array:
    return unwrapped(q[:, o.quaternion : o.quaternion + 4], o.angles.sequence)


def _are_close(o: Orientation, t: Array, angles: Array, v: Array, steps: int) -> bool:
    """Whether no angle can have made a turn between two samples."""
    if (len(t) - 1) * 4 < steps:
        return False
    rates = angle_rates(angles, o.angles.sequence, v[:, o.speed : o.speed + 3])
    sizes = np.nan_to_num(np.abs(rates[:, [0, 2]]), nan=0.0).max(axis=1)
    moved = np.maximum(sizes[1:], sizes[:-1]) * np.diff(t)
    return bool(moved.max(initial=0.0) <= LARGEST_TURN)


ENDINGS = {
    rules.FINISHED: Ending.FINISHED,
    rules.EVENT: Ending.EVENT,
    rules.CANCELLED: Ending.CANCELLED,
    rules.STEP_TOO_SMALL: Ending.STEP_TOO_SMALL,
    rules.SINGULAR: Ending.SINGULAR,
    rules.NON_FINITE: Ending.NON_FINITE,
    rules.MAX_STEPS: Ending.MAX_STEPS,
    rules.PROJECTION_FAILED: Ending.PROJECTION_FAILED,
}


class Segment(NamedTuple):
    """A part of the run in one basis: its system, inputs, and the samples it recorded.

    Those of a passage through a singular configuration have no basis, and no reactions; its
    crossings hold q and v instead of states.
    """

    system: System
    plan: InputPlan
    t: Array
    states: Array
    inputs: Array
    crossings: Array
    passage: Sampled | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SampleLayout:
    """Fields that all trajectories of a system share, and the column layout of their samples.

    `shared` are fields of a trajectory; columns of states and outputs are the same in every basis.
    """

    where: str  # for errors
    shared: dict[str, Any]
    parameters: dict[str, float]  # nominal
    nominal: bytes  # their values
    q: slice
    auxiliary_states: tuple[tuple[str, str, int], ...]  # name, unit and column
    num_states: int
    v: slice
    kinetic: int
    potential: int
    residuals: slice
    gaps: slice
    contacts: tuple[tuple[str, int], ...]  # name and column
    measured: dict[str, str]  # named speeds of measures, by name
    has_angles: bool


class _Samples(NamedTuple):
    """The samples of a segment: as the loop left them, and what follows in its own basis."""

    t: Array
    states: Array  # [q; η; μ; W; z]
    inputs: Array
    outputs: Array  # [v; K; U; A v + a; g; contact points]
    multipliers: Array


def assemble(
    request: RunOptions,
    segments: list[Segment],
    result: NativeResult,
    start: Start,
    counts: Sequence[int],
    *,
    reactions: bool = False,
    again: Again | None = None,
    who: str = "",
) -> Trajectory:
    """Trajectory from the samples of all segments, each evaluated in its own basis.

    `segments`: segments in the order of time; `again`: the same run at other sample times, to count
    turns of named angles by; `who`: plural noun for runs that end at singular configurations that
    simulate may pass.
    """
    system, values, stop, events = request.system, request.values, request.stop, request.events
    layout = _sample_layout(system)
    read = [_read(segment, values, reactions) for segment in segments]
    if len(read) > 1:
        read = [_Samples(*map(np.concatenate, zip(*read, strict=True)))]
    t, states, inputs, outputs, multipliers = read[0]
    ending, message = ending_of(result, segments[-1].system, stop, values, who)
    crossings = _crossings(system, segments, values, stop, events, layout.where)
    steps, rejections, evaluations = counts
    q, v = states[:, layout.q], outputs[:, layout.v]
    extra = _extra(layout, segments[0].plan.generator, states, outputs)
    extra |= _powers(system, segments, values, t)
    if layout.measured or request.outputs:
        extra |= _outputs(request, segments)
    if layout.has_angles and again is not None:
        extra |= angle_columns(system, t, q, v, steps, again)
    fields = {
        **layout.shared,
        # those of the model, mostly
        "parameters": layout.parameters.copy()
        if values.tobytes() == layout.nominal
        else dict(zip(layout.parameters, values.tolist(), strict=True)),
        "t": t,
        "q": q,
        "v": v,
        "vdot": LazyValue(partial(_accelerations, segments, values)),
        "inputs": inputs,
        "kinetic_energy": outputs[:, layout.kinetic],
        "potential_energy": outputs[:, layout.potential],
        "work": states[:, layout.num_states - 1] if system.does_work else np.zeros(len(t)),
        "row_residuals": outputs[:, layout.residuals],
        "position_residuals": outputs[:, layout.gaps],
        "multipliers": multipliers if reactions else None,
        "extra": extra,
        "ending": ending,
        "message": message,
        "notes": segments[0].plan.notes,
        "steps": steps,
        "rejections": rejections,
        "nfev": evaluations,
        "rtol": request.rtol,
        "atol": request.atol,
        "method": request.method,
        "start_completed": start.completed,
        "event_times": crossings[0],
        "event_states": crossings[1],
        "contact": "ideal",
        "contact_events": (),
        "ended_by": list(stop)[result.index] if ending is Ending.EVENT else None,
        "scenario": None,
        "path_errors": None,
        "admissibility": 0.0,
        "obstacles": (),
        "request": request,
    }
    # one by one, as a frozen class does, fields take 4 µs
    made = object.__new__(Trajectory)
    object.__setattr__(made, "__dict__", fields)
    return made


def ending_of(
    result: NativeResult,
    system: System,
    stop: Mapping[str, str] | None,
    values: Array,
    who: str = "",
) -> tuple[Ending, str]:
    """The ending and its sentence, with what caused it; `values` are the parameters."""
    ending = ENDINGS[result.code]
    if ending is Ending.FINISHED:
        return ending, ending.value
    at = f" (t = {result.time:.9g} s)"
    where = (system, result.code, result.index, result.time, result.state, values)
    if who and (sentence := not_passed(*where, who)):
        return ending, f"{ending.value[:-1]}: {sentence}.{at}"
    if ending is Ending.SINGULAR:
        sentence = singular_sentence(system, result.index, result.time, result.state, values)
        return ending, f"{ending.value[:-1]}: {sentence}.{at}"
    if ending is Ending.EVENT:
        return ending, f"{ending.value[:-1]} '{list(stop or {})[result.index]}'.{at}"
    return ending, ending.value + at


@once_a_system
def _sample_layout(system: System) -> _SampleLayout:
    kin = system.kinematics
    num_q, num_v = kin.num_coordinates, kin.num_speeds
    after_rows = num_v + 2 + len(kin.rows)
    after_g = after_rows + kin.g.shape[0]
    after_eta = num_q + kin.num_independent_speeds
    return _SampleLayout(
        where=f"trajectory of model '{system.model.name}'",
        shared={
            "model": system.model,
            "coordinates": system.coordinates,
            "speeds": system.speeds,
            "input_quantities": system.inputs,
            "rows": tuple(row.name for row in kin.rows),
            "row_units": tuple(row.unit for row in kin.rows),
            "multiplier_units": tuple(row.multiplier_unit for row in kin.rows),
        },
        parameters=system.model.parameter_values(),
        nominal=system.parameters().tobytes(),
        q=slice(num_q),
        auxiliary_states=tuple(
            (c.name, c.unit, k) for k, c in enumerate(system.auxiliary_states, after_eta)
        ),
        num_states=system.num_states,
        v=slice(num_v),
        kinetic=num_v,
        potential=num_v + 1,
        residuals=slice(num_v + 2, after_rows),
        gaps=slice(after_rows, after_g),
        contacts=tuple(
            (f"{trace.contact.name}.contact_{axis}", after_g + 3 * k + j)
            for k, trace in enumerate(kin.contacts)
            for j, axis in enumerate("xyz")
        ),
        measured=system.model.measured_speeds(),
        has_angles=any(joint.type.named_angles() for joint in system.model.joints),
    )


def _read(segment: Segment, values: Array, reactions: bool) -> _Samples:
    """Values at the samples of a segment, evaluated in its own basis."""
    here, t, inputs = segment.system, segment.t, segment.inputs
    if segment.passage is not None:
        unknown = np.full((len(t), len(here.kinematics.rows) if reactions else 0), np.nan)
        return _Samples(t, segment.states, inputs, segment.passage.outputs, unknown)
    x = segment.states[:, : here.num_states]
    if len(t) == 1:  # often the end alone is asked for
        outputs = here.samples(t, x[0], inputs[0], values)[None]
    else:
        outputs = here.samples.map(t, x, inputs, values)
    multipliers = here.multipliers.map(t, x, inputs, values) if reactions else outputs[:, :0]
    return _Samples(t, segment.states, inputs, outputs, multipliers)


def _accelerations(segments: list[Segment], values: Array) -> Array:
    """v̇ at the samples, each in its own basis."""
    parts = []
    for segment in segments:
        here = segment.system
        if segment.passage is not None:
            parts.append(segment.passage.accelerations)
            continue
        x, num_v = segment.states[:, : here.num_states], len(here.speeds)
        parts.append(here.motion.map(segment.t, x, segment.inputs, values)[:, num_v:])
    return np.concatenate(parts)


def _powers(system: System, segments: list[Segment], values: Array, t: Array) -> Sources:
    """Power of every input, and its energy by Simpson's rule over the samples, when first read."""
    model = system.model
    names = [*(i.name for i in model.inputs), *(i.name for i in model.speed_inputs)]
    if not names:
        return {}

    def find() -> Array:
        parts = []
        for segment in segments:
            here = segment.system
            if segment.passage is not None:
                parts.append(np.full((len(segment.t), len(names)), np.nan))
                continue
            x = segment.states[:, : here.num_states]
            parts.append(here.input_powers.map(segment.t, x, segment.inputs, values))
        return np.concatenate(parts)

    power = LazyValue(find)
    energy = LazyValue(lambda: integrated(t, power()))
    found: Sources = {f"power.{name}": ("W", column(power, k)) for k, name in enumerate(names)}
    return found | {f"energy.{name}": ("J", column(energy, k)) for k, name in enumerate(names)}


def integrated(t: Array, rates: Array) -> Array:
    """(n, k) integrals of sampled rates from the first sample on, by Simpson's rule.

    Over the interval h from a sample y₁ to y₂, with h' beyond y₂ to y₃, the parabola through the
    three has the integral

        h/6 ((3 − a) y₁ + (3 + a b + a) y₂ − a b y₃),    a = h/(h + h'),  b = h/h'.

    Even intervals take the sample behind them, odd ones and the last the one before. These lines
    take the place of `scipy.integrate`, whose import is a fifth of a short run. Times that repeat
    (a restart at a jump) or a single interval leave trapezoids.
    """
    total = np.zeros_like(rates)
    if len(t) < 2:
        return total
    h = np.diff(t)[:, None]
    parts = h * (rates[:-1] + rates[1:]) / 2.0
    if len(t) > 2 and np.all(h > 0):

        def parabolas(h: Array, beyond: Array, y1: Array, y2: Array, y3: Array) -> Array:
            a, b = h / (h + beyond), h / beyond
            return np.asarray(h / 6.0 * ((3.0 - a) * y1 + (3.0 + a * b + a) * y2 - a * b * y3))

        ahead = parabolas(h[:-1], h[1:], rates[:-2], rates[1:-1], rates[2:])
        behind = parabolas(h[1:], h[:-1], rates[2:], rates[1:-1], rates[:-2])
        parts[1:] = behind
        parts[:-1:2] = ahead[::2]
    total[1:] = np.cumsum(parts, axis=0)
    return total


def _output_texts(request: RunOptions) -> dict[str, str]:
    system = request.system
    texts = system.cached("speeds of measures", system.model.measured_speeds)
    return {**texts, **request.outputs}


def output_names(request: RunOptions) -> dict[str, str]:
    """Names and units of the outputs of a run and of its named speeds of measures."""
    system, texts = request.system, _output_texts(request)
    if not texts:
        return {}
    units = Outputs(texts).units(system)
    return units | {s.name: s.unit for s in system.model.independent_speeds if s.name in texts}


def output_function(request: RunOptions, here: System) -> NativeFunction:
    """The outputs of a run in the speeds of a system, compiled once."""
    texts = _output_texts(request)

    def make() -> NativeFunction:
        return here.compile_expression("outputs", Outputs(texts).trace(here, request.definitions))

    return here.cached(("outputs", tuple(texts.items()), tuple(request.definitions.items())), make)


def _outputs(request: RunOptions, segments: list[Segment]) -> Sources:
    """Outputs that were asked for and named speeds of measures, computed when first read."""
    units = output_names(request)
    values = LazyValue(partial(_output_values, request, segments))
    return {name: (units[name], column(values, k)) for k, name in enumerate(units)}


def _output_values(request: RunOptions, segments: list[Segment]) -> Array:
    """(n, k) values of all outputs at the samples, each in its own basis."""
    parts = []
    for segment in segments:
        here = segment.system
        if segment.passage is not None:
            parts.append(np.full((len(segment.t), len(_output_texts(request))), np.nan))
            continue
        x = segment.states[:, : here.num_states]
        function = output_function(request, here)
        parts.append(function.map(segment.t, x, segment.inputs, request.values))
    return np.concatenate(parts)


def sampled_outputs(request: RunOptions, segments: list[Segment], names: Sequence[str]) -> Array:
    """(n, k) values of further outputs at the samples."""
    asked = request._replace(outputs={name: name for name in names})
    return _output_values(asked, segments)[:, -len(names) :]


def _crossings(
    system: System,
    segments: list[Segment],
    values: Array,
    stop: Mapping[str, str],
    events: Mapping[str, str],
    where: str,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Times and states [q; v] of each event, in the order of time."""
    times, states = Named("event", where, NO_EVENTS), Named("event", where, NO_EVENTS)
    if not events:
        return times, states
    num_q, num_v = len(system.coordinates), len(system.speeds)
    for k, name in enumerate(events):
        found_t, found_y = [np.zeros(0)], [np.zeros((0, num_q + num_v))]
        for segment in segments:
            here, rows = segment.system, segment.crossings
            rows = rows[rows[:, 0] == len(stop) + k]
            if len(rows) and segment.passage is not None:
                found_t.append(rows[:, 1])
                found_y.append(rows[:, 2:])
            elif len(rows):
                t, x = rows[:, 1].copy(), np.ascontiguousarray(rows[:, 2 : 2 + here.num_states])
                inputs = np.array(
                    [inputs_at(segment.plan, *at) for at in zip(t, rows[:, 2:], strict=True)]
                )
                v = here.motion.map(t, x, inputs, values)[:, :num_v]
                found_t.append(t)
                found_y.append(np.hstack([x[:, :num_q], v]))
        times[name], states[name] = np.concatenate(found_t), np.concatenate(found_y)
    return times, states


def _extra(
    layout: _SampleLayout, generator: InputGenerator | None, states: Array, outputs: Array
) -> Sources:
    """Contact points, auxiliary states, and the states of an input law."""
    extra: Sources = {name: ("m", outputs[:, k]) for name, k in layout.contacts}
    for name, unit, k in layout.auxiliary_states:
        extra[name] = (unit, states[:, k])
    if generator is not None:
        named = zip(generator.names, generator.units, strict=True)
        for k, (name, unit) in enumerate(named, layout.num_states):
            extra[name] = (unit, states[:, k])
    return extra
