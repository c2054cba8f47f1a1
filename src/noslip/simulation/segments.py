"""Segments of a run: on in other independent speeds, and through singular positions.

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

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.polynomial import Chebyshev, chebyshev
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import System
from noslip.kinematics import compressed
from noslip.simulation.events import EventCode
from noslip.simulation.inputs import InputPlan
from noslip.simulation.loop import rules
from noslip.simulation.native_run import EMPTY, NativeLoop, NativeResult
from noslip.simulation.request import METHODS

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
#: Share of a row in what loses rank that is none.
NO_SHARE = 1e-4
#: Slope of σ where it vanishes, over that before, below which two branches have a common tangent.
LEAST_SLOPE = 0.5


class Sampled(NamedTuple):
    """Samples of a motion within a passage.

    Parameters
    ----------
    states : (n, ny).
    outputs : (n, …) as `System.samples` has them.
    accelerations : (n, nv).
    """

    states: Array
    outputs: Array
    accelerations: Array


#: From a time and a state to the motion at later times, as far as it is regular.
Integrate = Callable[[float, Array, Array], tuple[Array, Array]]


class Passage(NamedTuple):
    """A passage through a singular configuration.

    Parameters
    ----------
    before, singular, after : times, s, of the last state before, the place and the first one after.
    state : (ny,) there.
    samples : the motion at times between them.
    reliable : time, s, after which states of the run suffer from the place ahead.
    state_at : states at times before, as they were fitted.
    beside : times and states on both sides that were fitted.
    error : error of the way back.
    """

    before: float
    singular: float
    after: float
    state: Array
    samples: Callable[[Array], Sampled]
    reliable: float
    state_at: Callable[[float], Array]
    beside: tuple[Array, Array]
    error: float

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

    Parameters
    ----------
    system : system whose rows lose rank.
    values : parameters.
    inputs_at : [u; w; ẇ] at a time and a state.
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

    Parameters
    ----------
    system, plan : system that runs, and its inputs.
    watched : values of events.
    method : name of the method.
    depth : segments before after which there were no better speeds, so that these go on.
    span : start of the whole run, start and end of this part, s.
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
            direct_steps=0 if plan.callback else -1,
        )

    if not plan.is_kept:
        return make()
    # functions stand for themselves, so that they live as long as what has their addresses
    key = ("loop", rates, projection, plan.function, watched, method, depth, plan.knots.tobytes())
    return system.cached(key, make)


class Ends(NamedTuple):
    """Ends of the segments of n motions that may continue.

    Parameters
    ----------
    which : (n,) number of each motion.
    codes, indices : (n,) ``rules.SINGULAR`` and which health value ended it, or ``rules.FINISHED``
        for a stop on the way.
    times, states : (n,) s and (n, ny).
    values : (n, np) parameters.
    """

    which: Indices
    codes: Indices
    indices: Indices
    times: Array
    states: Array
    values: Array


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

    Parameters
    ----------
    motions : motions that are driven.
    groups : bases in which they start, and the numbers of those that start in each.
    following_bases : chooses the basis after a segment; by default `next_bases`.
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
