"""Driver of segments: integrate, and where the independent speeds fail, continue in others.

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
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import System
from noslip.simulation import rules
from noslip.simulation.events import EventCode
from noslip.simulation.input_plan import InputPlan
from noslip.simulation.native_run import EMPTY, NativeLoop, NativeResult
from noslip.simulation.options import METHODS

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
    system, plan : what runs, and its inputs.
    watched : values of events.
    method : by its name.
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
            knots=plan.knots[(plan.knots > t) & (plan.knots < end)],
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
    return system.cached(("loop", rates, projection, plan.function, watched, method, depth), make)


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
    motions : what is driven.
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
