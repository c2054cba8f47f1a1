"""From the samples of a native run to a `Trajectory`: all they say, and how the run ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noslip.engines.system import Array, System
from noslip.simulation.inputs import InputPlan
from noslip.simulation.runner import NativeResult
from noslip.simulation.single import loop
from noslip.simulation.start import Start
from noslip.simulation.trajectory import Ending, Trajectory

_ENDINGS = {
    loop.FINISHED: Ending.FINISHED,
    loop.EVENT: Ending.EVENT,
    loop.CANCELLED: Ending.CANCELLED,
    loop.STEP_TOO_SMALL: Ending.STEP_TOO_SMALL,
    loop.SINGULAR: Ending.SINGULAR,
    loop.NON_FINITE: Ending.NON_FINITE,
    loop.MAX_STEPS: Ending.MAX_STEPS,
    loop.PROJECTION_FAILED: Ending.PROJECTION_FAILED,
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
    parts: dict[str, list[Array]] = {}

    def add(name: str, value: Array) -> None:
        parts.setdefault(name, []).append(value)

    kin = system.kinematics
    num_v, num_rows = kin.num_speeds, len(kin.rows)
    after_v, after_rows = 2 * num_v + 2, 2 * num_v + 2 + num_rows
    after_g = after_rows + kin.g.shape[0]
    for segment in segments:
        here = segment.system
        x = np.ascontiguousarray(segment.states[:, : here.num_states])
        at = (segment.t, x, np.ascontiguousarray(segment.inputs), values)
        # [v; v̇; K; U; A v + a; g; contact axes]
        found = here.samples.map(*at)
        add("t", segment.t)
        add("q", x[:, : kin.num_coordinates])
        add("v", found[:, :num_v])
        add("vdot", found[:, num_v : 2 * num_v])
        add("inputs", segment.inputs)
        add("kinetic", found[:, 2 * num_v])
        add("potential", found[:, 2 * num_v + 1])
        add("work", x[:, -1] if here.does_work else np.zeros(len(x)))
        add("rows", found[:, after_v:after_rows])
        add("positions", found[:, after_rows:after_g])
        add("contacts", found[:, after_g:])
        at_costates = kin.num_coordinates + kin.num_independent_speeds
        add("costates", x[:, at_costates : at_costates + len(here.costates)])
        add("generator", segment.states[:, here.num_states :])
        if reactions:
            add("multipliers", here.multipliers.map(*at))
    joined = {
        name: np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        for name, arrays in parts.items()
    }
    ending, message = _ending(result, last, stop)
    return Trajectory(
        model=system.model,
        parameters=dict(
            zip((p.name for p in system.model.parameters), values.tolist(), strict=True)
        ),
        coordinates=system.coordinates,
        speeds=system.speeds,
        input_quantities=system.inputs,
        rows=tuple(row.name for row in kin.rows),
        row_units=tuple(row.unit for row in kin.rows),
        multiplier_units=tuple(row.multiplier_unit for row in kin.rows),
        t=joined["t"],
        q=joined["q"],
        v=joined["v"],
        vdot=joined["vdot"],
        inputs=joined["inputs"],
        kinetic_energy=joined["kinetic"],
        potential_energy=joined["potential"],
        work=joined["work"],
        row_residuals=joined["rows"],
        position_residuals=joined["positions"],
        multipliers=joined.get("multipliers"),
        extra=_extra(system, segments, joined),
        ending=ending,
        message=message,
        notes=segments[0].plan.notes,
        steps=int(counts[0]),
        rejections=int(counts[1]),
        nfev=int(counts[2]),
        rtol=rtol,
        atol=atol,
        method=method,
        start_completed=begin.completed,
        **_crossings(system, segments, values, list(stop or {}), list(events or {})),
    )


def _crossings(
    system: System, segments: list[Segment], values: Array, stop: list[str], events: list[str]
) -> dict[str, dict[str, Array]]:
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
    return {"event_times": times, "event_states": states}


def _extra(
    system: System, segments: list[Segment], joined: dict[str, Array]
) -> dict[str, tuple[str, Array]]:
    """Contact points, costates, and the states of an input law."""
    extra: dict[str, tuple[str, Array]] = {}
    contacts = system.kinematics.contacts
    points = joined["contacts"].reshape(len(joined["t"]), len(contacts), 4, 3)[:, :, 0, :]
    for k, trace in enumerate(contacts):
        for j, axis in enumerate("xyz"):
            extra[f"{trace.contact.name}.contact_{axis}"] = ("m", points[:, k, j])
    for k, costate in enumerate(system.costates):
        extra[costate.name] = (costate.unit, joined["costates"][:, k])
    generator = segments[0].plan.generator
    if generator is not None:
        for k, (name, unit) in enumerate(zip(generator.names, generator.units, strict=True)):
            extra[name] = (unit, joined["generator"][:, k])
    return extra


def inputs_at(plan: InputPlan, t: float, state: Array) -> Array:
    """[u; w; ẇ] at a state, outside the loop."""
    base = plan.base.copy()
    for k, starts, coefficients in plan.tables:
        segment = max(int(np.searchsorted(starts, t, side="right")) - 1, 0)
        base[k] = np.polyval(coefficients[segment], t - starts[segment])
    if plan.function is None:
        return base
    return plan.function(t, state, base, plan.parameters)[: len(base)]


def _ending(
    result: NativeResult, system: System, stop: Mapping[str, str] | None
) -> tuple[Ending, str]:
    """The ending and its sentence, with the place named."""
    ending = _ENDINGS[result.code]
    at = f" (t = {result.time:.9g} s)"
    if ending is Ending.SINGULAR:
        sentence = system.health[result.index].sentence
        return ending, f"{ending.value[:-1]}: {sentence}.{at}"
    if ending is Ending.EVENT:
        return ending, f"{ending.value[:-1]} '{list(stop or {})[result.index]}'.{at}"
    if ending is Ending.FINISHED:
        return ending, ending.value
    return ending, ending.value + at
