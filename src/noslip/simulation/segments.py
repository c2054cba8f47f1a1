"""Driver of segments: run, and where the independent speeds fail, go on in others.

A motion is integrated natively as long as its independent speeds determine it. Where they no longer
do, the segment ends with ``rules.SINGULAR``; others are chosen there and compiled once, the state
is carried over through the tree speeds v, and the next segment begins. Where no others are better,
these go on as long as they can be trusted at all. If the constraints themselves lose rank, the
motion ends.

All motions are driven this way: single runs, trajectories of a batch, runs with sensitivities, and
a mechanism that is driven by hand. Motions that go on in the same place go on together.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from noslip.engines.system import Array, System
from noslip.kinematics.basis import dependent_columns_each
from noslip.simulation import rules
from noslip.simulation.runner import NativeResult

Indices = NDArray[np.int_]

#: The only motion of a single run.
ONE: Indices = np.zeros(1, int)

#: Least singular value of A_d, rows of length 1, below which no speeds determine the motion.
RANK_LOST = 1e-8


class Place(NamedTuple):
    """What a segment runs in: a system, and whether no other speeds are better than its own."""

    system: System
    is_best: bool = False

    @property
    def floors(self) -> Array:
        """(nh,) what the health values must stay above."""
        return np.array([h.limit if self.is_best else h.floor for h in self.system.health])


class Ends(NamedTuple):
    """Where segments ended of n motions that may go on.

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
    """One motion or many, as they are driven."""

    def run(self, place: Place, which: Indices) -> Ends | None:
        """Run a segment of some of them; where those ended that may go on, None if none may."""

    def carry(self, here: Place, there: Place, which: Indices) -> None:
        """Let the next segment of some of them begin in another place."""


def drive(motions: Motions, place: Place, count: int = 1) -> None:
    """Run motions to their ends, segment by segment.

    Parameters
    ----------
    motions : what is driven.
    place : where all of them start.
    count : how many there are.
    """
    groups = [(place, ONE if count == 1 else np.arange(count))]
    while groups:
        following: dict[Place, list[Indices]] = {}
        for here, which in groups:
            ends = motions.run(here, which)
            if ends is None:
                continue
            for there, some in _grouped(next_places(here, ends), ends.which).items():
                if there != here:
                    motions.carry(here, there, some)
                following.setdefault(there, []).append(some)
        groups = [(place, np.concatenate(parts)) for place, parts in following.items()]


def next_places(place: Place, ends: Ends) -> list[Place | None]:
    """Where each motion goes on after a segment, None if it has ended for good."""
    system, found = place.system, list[Place | None]([None] * len(ends.which))
    singular = []
    for k, (code, index) in enumerate(zip(ends.codes, ends.indices, strict=True)):
        if code == rules.FINISHED:
            found[k] = place
        elif code == rules.SINGULAR and system.health[index].kind == "basis":
            singular.append(k)
    if not singular:
        return found
    kin = system.kinematics
    q = ends.states[singular, : len(system.coordinates)]
    matrices = kin.probe.matrices(ends.times[singular], q, ends.values[singular])
    matrices = matrices[:, list(kin.kept)] / kin.probe.scale
    matrices /= np.maximum(np.linalg.norm(matrices, axis=2, keepdims=True), 1e-300)
    finite = np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)))
    dependent, least = dependent_columns_each(matrices[finite])
    own = tuple(s.name for s in kin.independent_speeds)
    for k, columns, value in zip(finite.tolist(), dependent.tolist(), least, strict=True):
        names = tuple(s.name for j, s in enumerate(kin.speeds) if j not in columns)
        if names == own:
            found[singular[k]] = None if place.is_best else Place(system, is_best=True)
        elif value >= RANK_LOST:
            found[singular[k]] = Place(system.in_speeds(names))
    return found


def _grouped(places: list[Place | None], which: Indices) -> dict[Place, Indices]:
    """Motions by the places in which they go on."""
    groups: dict[Place, list[int]] = {}
    for place, number in zip(places, which.tolist(), strict=True):
        if place is not None:
            groups.setdefault(place, []).append(number)
    return {place: np.array(numbers) for place, numbers in groups.items()}


def end_of_one(result: NativeResult, values: Array) -> Ends:
    """Where the segment of a single motion ended."""
    return Ends(
        which=ONE,
        codes=np.array([result.code]),
        indices=np.array([result.index]),
        times=np.array([result.time]),
        states=result.state[None],
        values=values[None],
    )


def carried(here: System, there: System, states: Array, v: Array) -> Array:
    """(…, ny) states of the same motions in the speeds of another system, from tree speeds."""
    nq, nf = len(here.coordinates), len(here.independent_speeds)
    names = [s.name for s in there.speeds]
    eta = v[..., [names.index(s.name) for s in there.independent_speeds]]
    return np.concatenate([states[..., :nq], eta, states[..., nq + nf :]], axis=-1)


def tree_speeds(system: System, t: float, state: Array, u: Array, values: Array) -> Array:
    """(nv,) v of a state with inputs."""
    return system.motion(t, state[: system.num_states], u, values)[: len(system.speeds)]
