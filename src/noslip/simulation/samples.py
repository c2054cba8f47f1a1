"""From the samples of a native run to a `Trajectory`: all they say, and how the run ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noslip.engines.system import Array, System
from noslip.simulation import rules
from noslip.simulation.inputs import InputPlan, inputs_at
from noslip.simulation.runner import NativeResult
from noslip.simulation.start import Start
from noslip.simulation.trajectory import Ending, Trajectory

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """A stretch of the run in one basis: its system, inputs, and the samples it filled."""

    system: System
    plan: InputPlan
    t: Array
    states: Array
    inputs: Array
    crossings: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Names:
    """What the trajectories of a system share: names and units, and where its samples hold what."""

    parameters: tuple[str, ...]
    rows: tuple[str, ...]
    row_units: tuple[str, ...]
    multiplier_units: tuple[str, ...]
    contacts: tuple[tuple[str, int], ...]  # columns, and their places in [point; axes] of all
    after_v: int
    after_rows: int
    after_g: int
    costates: slice


class _Samples(NamedTuple):
    """Everything the samples of a segment say."""

    t: Array
    q: Array
    v: Array
    vdot: Array
    inputs: Array
    kinetic: Array
    potential: Array
    work: Array
    rows: Array
    positions: Array
    contacts: Array
    costates: Array
    generator: Array
    multipliers: Array


def assemble(
    system: System,
    segments: list[Segment],
    values: Array,
    result: NativeResult,
    last: System,
    begin: Start,
    stop: Mapping[str, str] | None,
    events: Mapping[str, str] | None,
    counts: Array,
    reactions: bool,
    rtol: float,
    atol: float,
    method: str,
) -> Trajectory:
    """Everything the samples say, segment by segment in the basis each was run in."""
    names = _names(system)
    read = [_read(segment, values, reactions) for segment in segments]
    found = read[0] if len(read) == 1 else _Samples(*map(np.concatenate, zip(*read, strict=True)))
    ending, message = ending_of(result, last, stop)
    event_times, event_states = _crossings(system, segments, values, stop or {}, events or {})
    steps, rejections, evaluations = counts.tolist()
    return Trajectory(
        model=system.model,
        parameters=dict(zip(names.parameters, values.tolist(), strict=True)),
        coordinates=system.coordinates,
        speeds=system.speeds,
        input_quantities=system.inputs,
        rows=names.rows,
        row_units=names.row_units,
        multiplier_units=names.multiplier_units,
        t=found.t,
        q=found.q,
        v=found.v,
        vdot=found.vdot,
        inputs=found.inputs,
        kinetic_energy=found.kinetic,
        potential_energy=found.potential,
        work=found.work,
        row_residuals=found.rows,
        position_residuals=found.positions,
        multipliers=found.multipliers if reactions else None,
        extra=_extra(system, segments, found),
        ending=ending,
        message=message,
        notes=segments[0].plan.notes,
        steps=steps,
        rejections=rejections,
        nfev=evaluations,
        rtol=rtol,
        atol=atol,
        method=method,
        start_completed=begin.completed,
        event_times=event_times,
        event_states=event_states,
    )


def ending_of(
    result: NativeResult, system: System, stop: Mapping[str, str] | None
) -> tuple[Ending, str]:
    """The ending and its sentence, with the place named."""
    ending = ENDINGS[result.code]
    if ending is Ending.FINISHED:
        return ending, ending.value
    at = f" (t = {result.time:.9g} s)"
    if ending is Ending.SINGULAR:
        sentence = system.health[result.index].sentence
        return ending, f"{ending.value[:-1]}: {sentence}.{at}"
    if ending is Ending.EVENT:
        return ending, f"{ending.value[:-1]} '{list(stop or {})[result.index]}'.{at}"
    return ending, ending.value + at


def _names(system: System) -> _Names:
    return system.kept("names of samples", lambda: _make_names(system))


def _make_names(system: System) -> _Names:
    kin = system.kinematics
    after_v = 2 * kin.num_speeds + 2
    after_rows = after_v + len(kin.rows)
    after_eta = kin.num_coordinates + kin.num_independent_speeds
    return _Names(
        parameters=tuple(p.name for p in system.model.parameters),
        rows=tuple(row.name for row in kin.rows),
        row_units=tuple(row.unit for row in kin.rows),
        multiplier_units=tuple(row.multiplier_unit for row in kin.rows),
        contacts=tuple(
            (f"{trace.contact.name}.contact_{axis}", 12 * k + j)
            for k, trace in enumerate(kin.contacts)
            for j, axis in enumerate("xyz")
        ),
        after_v=after_v,
        after_rows=after_rows,
        after_g=after_rows + kin.g.shape[0],
        costates=slice(after_eta, after_eta + len(system.costates)),
    )


def _read(segment: Segment, values: Array, reactions: bool) -> _Samples:
    """What the samples of a segment say in its own basis."""
    here = segment.system
    at, num_v, num_x = _names(here), len(here.speeds), here.num_states
    states, t = segment.states, segment.t
    x = np.ascontiguousarray(states[:, :num_x])
    u = np.ascontiguousarray(segment.inputs)
    # [v; v̇; K; U; A v + a; g; contact axes]
    only_one = len(t) == 1  # often the end alone is asked for
    found = (
        here.samples(t, x[0], u[0], values)[None] if only_one else here.samples.map(t, x, u, values)
    )
    return _Samples(
        t=t,
        q=x[:, : len(here.coordinates)],
        v=found[:, :num_v],
        vdot=found[:, num_v : 2 * num_v],
        inputs=segment.inputs,
        kinetic=found[:, 2 * num_v],
        potential=found[:, 2 * num_v + 1],
        work=x[:, -1] if here.does_work else np.zeros(len(x)),
        rows=found[:, at.after_v : at.after_rows],
        positions=found[:, at.after_rows : at.after_g],
        contacts=found[:, at.after_g :],
        costates=x[:, at.costates],
        generator=states[:, num_x:],
        multipliers=here.multipliers.map(t, x, u, values) if reactions else found[:, :0],
    )


def _crossings(
    system: System,
    segments: list[Segment],
    values: Array,
    stop: Mapping[str, str],
    events: Mapping[str, str],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Times and states [q; v] of each event, in the order of time."""
    times: dict[str, Array] = {}
    states: dict[str, Array] = {}
    num_q, num_v = len(system.coordinates), len(system.speeds)
    for k, name in enumerate(events):
        found_t, found_y = [np.zeros(0)], [np.zeros((0, num_q + num_v))]
        for segment in segments:
            here, rows = segment.system, segment.crossings
            rows = rows[rows[:, 0] == len(stop) + k]
            if len(rows):
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
    system: System, segments: list[Segment], found: _Samples
) -> dict[str, tuple[str, Array]]:
    """Contact points, costates, and the states of an input law."""
    contacts = found.contacts
    extra = {name: ("m", contacts[:, k]) for name, k in _names(system).contacts}
    for k, costate in enumerate(system.costates):
        extra[costate.name] = (costate.unit, found.costates[:, k])
    generator = segments[0].plan.generator
    if generator is not None:
        for k, (name, unit) in enumerate(zip(generator.names, generator.units, strict=True)):
            extra[name] = (unit, found.generator[:, k])
    return extra
