"""Driver of segments: run, and where the independent speeds fail, go on in others.

A motion is integrated natively as long as its independent speeds determine it. Where they no longer
do, the segment ends with ``rules.SINGULAR``; others are chosen there and compiled once, the state
is carried over through the tree speeds v, and the next segment begins. Where no others are better,
these go on as long as they can be trusted at all. If the constraints themselves lose rank, the
motion ends.

All motions are driven this way: single runs, trajectories of a batch, runs with sensitivities, and
a mechanism that is driven by hand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from noslip.engines.system import Array, System
from noslip.kinematics.basis import independent_columns
from noslip.simulation import rules
from noslip.simulation.runner import NativeResult


class Place(NamedTuple):
    """What a segment runs in: a system, and whether no other speeds are better than its own."""

    system: System
    is_best: bool = False

    @property
    def floors(self) -> Array:
        """(nh,) what the health values must stay above."""
        return np.array([h.limit if self.is_best else h.floor for h in self.system.health])


class Ended(Protocol):
    """Where and why a segment ended."""

    @property
    def code(self) -> int:
        """One of the endings in `rules`."""

    @property
    def index(self) -> int:
        """Which health value ended it."""

    @property
    def time(self) -> float:
        """s."""

    @property
    def state(self) -> Array:
        """[q; η; …]."""


class Leg(NamedTuple):
    """Where a segment begins: time, state, size of the first step, and steps taken before."""

    time: float
    state: Array
    step: float
    steps: int = 0


class Driven(NamedTuple):
    """A segment that was run: where, its result, and whether another follows in other speeds."""

    place: Place
    result: NativeResult
    goes_on: bool


def drive(
    place: Place,
    leg: Leg,
    end_time: float,
    run: Callable[[Place, Leg], NativeResult],
    carry: Callable[[Place, Place, NativeResult], Array],
    values: Array,
) -> Iterator[Driven]:
    """Run a motion to its end, segment by segment.

    Parameters
    ----------
    place : the system it starts in.
    leg : where it starts.
    end_time : s; a segment that finishes before is followed by the next one in the same place.
    run : runs a segment to its end.
    carry : from the place and the end of a segment to the state in the next one's place.
    values : (np,) parameters.
    """
    while True:
        result = run(place, leg)
        is_stop = result.code == rules.FINISHED and result.time < end_time
        following = place if is_stop else next_place(place, result, values)
        yield Driven(place, result, following is not None and not is_stop)
        if following is None:
            return
        state = result.state
        if following.system is not place.system:
            state = carry(place, following, result)
        leg = Leg(result.time, state, result.step, leg.steps + result.steps)
        place = following


def next_place(place: Place, ended: Ended, values: Array) -> Place | None:
    """Where a motion goes on after a segment, or None if it has ended for good.

    Parameters
    ----------
    place, ended : of the segment.
    values : (np,) parameters.
    """
    system = place.system
    if ended.code != rules.SINGULAR or system.health[ended.index].kind != "basis":
        return None
    kin = system.kinematics
    q = ended.state[: len(system.coordinates)]
    probe = dataclasses.replace(kin.probe, params=values)
    chosen = independent_columns(probe, kin.kept, [(ended.time, q)])
    names = tuple(kin.speeds[k].name for k in chosen)
    if names == tuple(s.name for s in kin.independent_speeds):
        return None if place.is_best else Place(system, is_best=True)
    A = probe.matrix(q, ended.time)[0][list(kin.kept)]
    dependent = [k for k in range(kin.num_speeds) if k not in chosen]
    A = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
    if np.linalg.svd(A[:, dependent], compute_uv=False)[-1] < 1e-8:
        return None
    return Place(system.in_speeds(names))


def carried(here: System, there: System, state: Array, v: Array) -> Array:
    """The state of the same motion in the speeds of another system, from its tree speeds."""
    nq, nf = len(here.coordinates), len(here.independent_speeds)
    names = [s.name for s in there.speeds]
    eta = v[[names.index(s.name) for s in there.independent_speeds]]
    return np.concatenate([state[:nq], eta, state[nq + nf :]])


def tree_speeds(system: System, t: float, state: Array, u: Array, values: Array) -> Array:
    """(nv,) v of a state with inputs."""
    return system.motion(t, state[: system.num_states], u, values)[: len(system.speeds)]
