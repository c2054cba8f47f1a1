"""Independent speeds for a state, and the start of a run in them.

**Independent speeds for a state: the one place that chooses them, or says why there are none.**

    v = S(q, t) η + s(q, t, w)     η = E v

A choice of independent speeds is singular at some configurations: the pivots of S vanish there
(singularity measures of kind ``basis``), S η + s is not v any more, and every number that follows
from η is wrong while it looks like one. Whatever takes a state therefore goes through here: it
hands over q and the tree speeds v, which no choice spoils, and gets the system in the model's own
independent speeds, or in others that determine the motion there, with η in these. States of a batch
are grouped by the choice they need; one state is a batch of one.

Measures depend on t, q and parameters alone. A run may come nearer to a singular configuration than
its start may be: the native loop watches the same measures from then on (``samples``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, FormulationError, ModelError, SimulationError
from noslip.engines import System, once_a_system
from noslip.kinematics import SingularityMeasure
from noslip.simulation.inputs import InputPlan, inputs_at
from noslip.simulation.starts.completion import (
    Completion,
    OtherBranchError,
    Start,
    Starts,
    complete_one,
    start_names,
)

Indices = NDArray[np.int_]

#: What must be determined at a state → kinds of singularity measures that count.
NEEDS = {
    "dynamics": ("basis", "contact", "mass"),
    "kinematics": ("basis", "contact"),
    "speeds": ("basis",),
}


class BasisGroup(NamedTuple):
    """States whose motion the independent speeds of a system determine."""

    system: System
    which: Indices

    def states(self, t: Array, q: Array, v: Array, rest: Array, params: Array) -> Array:
        """(k, …) states [q; η; rest] of its own in these speeds, from tables of all n states."""
        given = (table[self.which] for table in (t, q, v, rest, params))
        return states_in(self.system, *given)


class Bases(NamedTuple):
    """Independent speeds of n states."""

    #: states by the system that determines their motion; the given system first
    groups: list[BasisGroup]
    #: measures that are singular at the other states, whatever the speeds
    faults: Mapping[int, SingularityMeasure]

    def check(self, system: System, t: Array, where: str = "state") -> None:
        """Refuse the first state at which nothing determines the motion."""
        if self.faults:
            k = min(self.faults)
            raise self.refusal(system, k, float(t[k]), f", {where} {k}")

    def refusal(self, system: System, k: int, t: float, number: str = "") -> SimulationError:
        """Error for the k-th state, which is singular, with how its number is said."""
        return singular_state(system, self.faults[k], t, number)


def choose_bases(
    system: System,
    t: Array,
    q: Array,
    params: Array,
    *,
    measures: Array | None = None,
    need: str = "dynamics",
) -> Bases:
    """Independent speeds and rows that determine the motion at each of n configurations.

    Parameters
    ----------
    system : system whose own speeds are kept where they do.
    t, q : (n,) s and (n, nq).
    params : (np,), or (n, np).
    measures : (n, nh) singularity measures of the system there, where they are known.
    need : result that must be determined there: "dynamics", "kinematics", which need no inertia, or
        "speeds".
    """
    own = measures_at(system, t, q, params) if measures is None else measures
    is_regular = _is_regular(system, own, need)
    if is_regular.all():
        return Bases([BasisGroup(system, np.arange(len(t)))], {})
    groups = [BasisGroup(system, np.flatnonzero(is_regular))] if is_regular.any() else []
    faults: dict[int, SingularityMeasure] = {}
    todo = [(BasisGroup(system, np.flatnonzero(~is_regular)), own[~is_regular], {system})]
    while todo:
        (here, which), values, tried = todo.pop()
        failing = [_first_singular(here, row, need) for row in values]
        for k, measure in zip(which.tolist(), failing, strict=True):
            faults[k] = measure
        helped = which[[measure.kind == "basis" for measure in failing]]
        rows = params[helped] if params.ndim > 1 else np.tile(params, (len(helped), 1))
        found: dict[System, list[int]] = {}
        others = here.regular_at(t[helped], q[helped], rows) if helped.size else []
        for k, other in zip(helped.tolist(), others, strict=True):
            if other is not None and other not in tried:
                found.setdefault(other, []).append(k)
        for other, numbers in found.items():
            some = np.array(numbers)
            rows = params[some] if params.ndim > 1 else params
            values = measures_at(other, t[some], q[some], rows)
            is_regular = _is_regular(other, values, need)
            for k in some[is_regular].tolist():
                del faults[k]
            if is_regular.any():
                groups.append(BasisGroup(other, some[is_regular]))
            if not is_regular.all():
                rest = BasisGroup(other, some[~is_regular])
                todo.append((rest, values[~is_regular], tried | {other}))
    return Bases(groups, faults)


def measures_at(system: System, t: Array, q: Array, params: Array) -> Array:
    """(n, nh) singularity measures at times (n,) and configurations (n, nq)."""
    n, nx = len(t), system.num_states
    x = np.zeros((n, nx))
    x[:, : q.shape[1]] = q
    return system.rates.map(t, x, np.zeros((n, len(system.inputs))), params)[:, nx:]


@once_a_system
def _limits(system: System, need: str) -> Array:
    """(nh,) limits of the measures, below zero for those that do not count."""
    return np.array(
        [m.limit if m.kind in NEEDS[need] else -1.0 for m in system.singularity_measures]
    )


def _is_regular(system: System, measures: Array, need: str) -> NDArray[np.bool_]:
    """(n,) whether no measure is within its limit; one that is not a number is."""
    return np.asarray((np.abs(measures) > _limits(system, need)).all(axis=1))


def _first_singular(system: System, measures: Array, need: str) -> SingularityMeasure:
    """The first measure within its limit."""
    is_beyond = np.abs(measures) > _limits(system, need)
    return system.singularity_measures[int(np.argmin(is_beyond))]


def singular_state(
    system: System, measure: SingularityMeasure, t: float, number: str = ""
) -> SimulationError:
    """Error for a state at which no independent speeds determine the motion."""
    return SimulationError(
        measure.sentence,
        f"model '{system.model.name}' at the given state, t = {t:g} s{number}",
        f"give another configuration; what can be set: {', '.join(start_names(system))}",
    )


def check_own_speeds(
    system: System, t: Array, q: Array, params: Array, measures: Array, where: str
) -> None:
    """Refuse the first of n states that the system's own independent speeds do not carry.

    For functions of the state [q; η], which cannot take others.

    Parameters
    ----------
    system : system in whose speeds the states are written.
    t, q, params : (n,) s, (n, nq) and (np,) or (n, np).
    measures : (n, nh) singularity measures of the system there; nan passes, as numbers do there.
    where : the function, for the error.
    """
    is_singular = np.any(np.abs(measures) <= _limits(system, "dynamics"), axis=1)
    if not is_singular.any():
        return
    k = int(np.argmax(is_singular))
    number = f", state {k}" if len(measures) > 1 else ""
    measure = _first_singular(system, measures[k], "dynamics")
    row = params[k] if params.ndim > 1 else params
    others = choose_bases(system, t[k : k + 1], q[k : k + 1], row)
    if measure.kind != "basis" or others.faults:
        raise singular_state(system, measure, float(t[k]), number)
    own, found = (
        ", ".join(s.name for s in here.independent_speeds)
        for here in (system, others.groups[0].system)
    )
    raise SimulationError(
        f"the independent speeds {own} do not determine the motion at this state",
        f"{where}, t = {t[k]:g} s{number}",
        f"declare others in the model ({found} do), or give another configuration",
    )


def regular_start(
    system: System, start: Start, params: Array, *, need: str = "dynamics"
) -> tuple[System, Start]:
    """The system in speeds and rows that determine the motion at a start, which is written in them.

    Raises
    ------
    SimulationError : where there are none.
    """
    if start.eta.size and _is_regular_at(system, start, params, need):
        return system, start
    groups, faults = choose_bases(system, *_place(start), params, need=need)
    if faults:
        raise singular_state(system, faults[0], start.time)
    here = groups[0].system
    if here is system and start.eta.size == len(here.independent_speeds):
        return system, start
    eta = here.kinematics.independent_rows(start.time, start.q, params) @ start.v
    return here, dataclasses.replace(start, eta=eta, is_carried=True)


def _is_regular_at(system: System, start: Start, params: Array, need: str) -> bool:
    """Whether the system's own speeds determine the motion at a start, found the short way."""
    nx = system.num_states
    x = np.zeros(nx)
    x[: len(start.q)] = start.q
    measures = system.rates(start.time, x, np.zeros(len(system.inputs)), params)[nx:]
    return bool((np.abs(measures) > _limits(system, need)).all())


def _place(start: Start) -> tuple[Array, Array]:
    """Time (1,) and coordinates (1, nq) of a start, which users may have made of any numbers."""
    return np.array([start.time]), np.asarray(start.q, dtype=float)[None]


def run_start(system: System, start: Start, params: Array) -> tuple[System, Array]:
    """The system in which a run begins, and η there: other speeds where its own do not carry v.

    Where no speeds do, the run ends at once in its own, with the reason.
    """
    if start.is_carried:
        return system, start.eta
    groups, _ = choose_bases(system, *_place(start), params, need="speeds")
    if not groups or groups[0].system is system:
        return system, start.eta
    here = groups[0].system
    return here, here.kinematics.independent_rows(start.time, start.q, params) @ start.v


def run_starts(system: System, starts: Starts, time: float, params: Array) -> list[BasisGroup]:
    """Systems in which the runs of a batch begin; see :func:`run_start`."""
    doubtful = np.flatnonzero(~starts.is_carried)
    own = BasisGroup(system, np.arange(len(starts.q)))
    if not doubtful.size:
        return [own]
    rows = params[0] if len(params) == 1 else params[doubtful]
    t = np.full(doubtful.size, time)
    found = choose_bases(system, t, starts.q[doubtful], rows, need="speeds").groups
    others = [BasisGroup(here, doubtful[which]) for here, which in found if here is not system]
    left = np.setdiff1d(own.which, np.concatenate([own.which[:0], *(g.which for g in others)]))
    return [BasisGroup(system, left), *others] if left.size else others


def states_in(system: System, t: Array, q: Array, v: Array, rest: Array, params: Array) -> Array:
    """(n, …) states [q; η; rest] in the independent speeds of a system, from tree speeds."""
    eta = system.kinematics.independent_values(t, q, v, params)
    return np.concatenate([q, eta, rest], axis=1)


_Found = TypeVar("_Found")

_NO_WORK = np.zeros(1)


def begin(
    system: System,
    plan: InputPlan,
    start: Mapping[str, float] | Start | None,
    time: float,
    values: Array,
    guess: Mapping[str, float] | None = None,
) -> Start:
    """The completed start of a run at a time, s; one that is completed already stays as it is."""
    if not isinstance(start, Start):
        return complete(system, plan, start, time, values, guess).start()
    if guess:
        raise SimulationError(
            "a guess is given together with a completed start",
            f"simulation of model '{system.model.name}'",
            "leave out the guess, or give the start by names",
        )
    if plan.generator is not None:
        plan.generator.check_start(time, system.model.name)
    if start.time != time:
        raise SimulationError(
            f"the start is for t = {start.time:g} s, but the run starts at {time:g} s",
            f"simulation of model '{system.model.name}'",
            f"pass start_time={start.time:g}, or complete the start at the other time",
        )
    start.check(system, values)
    # it may have been completed with other parameters
    return dataclasses.replace(start, is_carried=False)


def on_its_branch(
    system: System, values: Array, work: Callable[[System], _Found]
) -> tuple[_Found, tuple[str, ...]]:
    """What work finds with the system on the branch that a start is on, and a note on another one.

    Raises
    ------
    OtherBranchError : where there is no such system.
    """
    try:
        return work(system), ()
    except OtherBranchError as other:
        try:
            here = system.on_branch(*other.place, values)
        except (ModelError, FormulationError):
            raise other from None
    own, elsewhere = len(here.independent_speeds), len(system.independent_speeds)
    note = (
        f"the start is on a branch of the configurations on which the mechanism has {own} degrees "
        f"of freedom; on another one it has {elsewhere}"
    )
    return work(here), (note,) if own != elsewhere else ()


def state_at(system: System, q: Array, eta: Array, mu: Array, plan: InputPlan) -> Array:
    """[q; η; μ; W; z] at the start, no work done yet."""
    parts = [q, eta, mu]
    if system.does_work:
        parts.append(_NO_WORK)
    if plan.generator is not None:
        parts.append(plan.generator.start)
    return np.concatenate(parts, dtype=np.float64)


def complete(
    system: System,
    plan: InputPlan,
    start: Mapping[str, float] | None,
    time: float,
    values: Array,
    guess: Mapping[str, float] | None = None,
) -> Completion:
    """The completion of a start at a time, s, with the speed inputs that hold there."""
    if plan.generator is not None:
        plan.generator.check_start(time, system.model.name)
    num_u, num_w = len(system.model.inputs), len(system.model.speed_inputs)

    def speed_inputs(q: Array) -> Array:
        eta, mu = np.zeros(len(system.independent_speeds)), np.zeros(len(system.auxiliary_states))
        return inputs_at(plan, time, state_at(system, q, eta, mu, plan))[num_u : num_u + num_w]

    return complete_one(
        system,
        dict(start or {}),
        guess=dict(guess or {}),
        time=time,
        speed_inputs=speed_inputs if num_w else None,
        parameters=values,
    )
