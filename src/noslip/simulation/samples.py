"""Assembly of a `Trajectory` from the samples of a native run, and its ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from noslip.base import Array
from noslip.engines import NativeFunction, System
from noslip.simulation import rules
from noslip.simulation.expressions import output_units, trace_outputs
from noslip.simulation.failures import not_passed, singular_sentence
from noslip.simulation.input_laws import InputGenerator
from noslip.simulation.input_plan import InputPlan, inputs_at
from noslip.simulation.lazy_columns import (
    NO_EVENTS,
    LazyValue,
    Named,
    Sources,
    column,
    measured_speeds,
)
from noslip.simulation.native_run import NativeResult
from noslip.simulation.request import RunOptions
from noslip.simulation.singular_passing import Sampled
from noslip.simulation.starts.completion import Start
from noslip.simulation.trajectory import Ending, Trajectory
from noslip.simulation.turns import Again, angle_columns

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

    Parameters
    ----------
    request : what was asked for.
    segments : in the order of time.
    result : of the last of them.
    start : completed.
    counts : steps, rejections and evaluations.
    reactions : whether multipliers are found too.
    again : the same run at other sample times, to count turns of named angles by.
    who : what ends at singular configurations that simulate may pass, in the plural.
    """
    system, values, stop, events = request.system, request.values, request.stop, request.events
    layout = system.cached("layout of samples", lambda: _make_layout(system))
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
        "parameters": _named_values(layout, values),
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
    }
    return _trajectory(fields)


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


def _trajectory(fields: dict[str, Any]) -> Trajectory:
    """A trajectory of all its fields at once; one by one, as a frozen class does, takes 4 µs."""
    made = object.__new__(Trajectory)
    object.__setattr__(made, "__dict__", fields)
    return made


def _make_layout(system: System) -> _SampleLayout:
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
        measured=measured_speeds(system.model),
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
    texts = system.cached("speeds of measures", lambda: measured_speeds(system.model))
    return {**texts, **request.outputs}


def output_names(request: RunOptions) -> dict[str, str]:
    """Names and units of the outputs of a run and of its named speeds of measures."""
    system, texts = request.system, _output_texts(request)
    units = output_units(system, texts)
    return units | {s.name: s.unit for s in system.model.independent_speeds if s.name in texts}


def output_function(request: RunOptions, here: System) -> NativeFunction:
    """The outputs of a run in the speeds of a system, compiled once."""
    texts = _output_texts(request)

    def make() -> NativeFunction:
        return here.compile_expression("outputs", trace_outputs(here, texts, request.definitions))

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


def _named_values(layout: _SampleLayout, values: Array) -> dict[str, float]:
    """Parameters by name; those of the model, mostly."""
    if values.tobytes() == layout.nominal:
        return layout.parameters.copy()
    return dict(zip(layout.parameters, values.tolist(), strict=True))


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
