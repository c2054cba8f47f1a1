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

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import System
from noslip.simulation import rules
from noslip.simulation.runner import NativeResult

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


def drive(motions: Motions, groups: list[tuple[SegmentBasis, Indices]]) -> None:
    """Run motions to their ends, segment by segment.

    Parameters
    ----------
    motions : what is driven.
    groups : bases in which they start, and the numbers of those that start in each.
    """
    while groups:
        following: dict[SegmentBasis, list[Indices]] = {}
        for here, which in groups:
            ends = motions.run(here, which)
            if ends is None:
                continue
            for there, some in _grouped(next_bases(here, ends), ends.which).items():
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
