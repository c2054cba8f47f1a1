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
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, Fault
from noslip.engines import NativeFunction, System, address
from noslip.kinematics import RANK_LOST
from noslip.simulation.expressions import Outputs
from noslip.simulation.inputs import InputGenerator, InputPlan, inputs_at
from noslip.simulation.loop import rules
from noslip.simulation.loop.rules import EPS
from noslip.simulation.native_run import NativeResult
from noslip.simulation.request import RunOptions
from noslip.simulation.segments import Sampled
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

    Parameters
    ----------
    request : request of the runs.
    segments : segments in the order of time.
    result : result of the last of them.
    start : completed.
    counts : steps, rejections and evaluations.
    reactions : whether multipliers are found too.
    again : the same run at other sample times, to count turns of named angles by.
    who : plural noun for runs that end at singular configurations that simulate may pass.
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
        "obstacles": (),
        "request": request,
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
