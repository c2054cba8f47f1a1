"""Events: values whose zero crossings end a run or are recorded, as cached native code.

A named angle jumps from π to −π, where nothing happens. In events it is unwrapped, as the column of
the same name is: events are traced with the angles at the last check as symbols, and return the
angles after their own values, so that the loop can unwrap from there.

Beside their values there are enclosures: intervals of values and rates while time and states stay
within intervals, by which the loop chooses where to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.engines import NativeFunction, Program, System, compile_native, trace_program
from noslip.model import NumberReader, topology
from noslip.simulation.enclosures import EVERYTHING, UNKNOWN, Enclosure, Interval, enclose, number
from noslip.simulation.expressions import (
    jumping_angles,
    load_name,
    read_expression,
    unwrapped_near,
)
from noslip.simulation.input_plan import texts_key

#: Operations up to which an event is enclosed; intervals through many are too wide to be of use.
MOST_ENCLOSED = 120


#: Of a value that is not enclosed: the lower end lies above the upper one.
BLIND = Enclosure(Interval(ca.SX(np.inf), ca.SX(-np.inf)), EVERYTHING)


class EventValues(NamedTuple):
    """Events, traced.

    Parameters
    ----------
    expression : values of all events, then the angles they follow.
    near : these angles at the last check, symbols.
    values : of all events, with `turning` symbols for the angles.
    turning : these symbols.
    angles : what they stand for, between −π and π.
    """

    expression: ca.SX
    near: ca.SX
    values: ca.SX
    turning: ca.SX
    angles: ca.SX


class EventCode(NamedTuple):
    """Events as native code.

    Parameters
    ----------
    function : of (t, x, inputs, [angles at the last check; parameters]).
    enclosures : of the same values, see `enclosures_program`.
    names : what each is, such as ``"stop 'fell'"``.
    num_endings, num_events, num_angles : how many of its values end the run, are recorded, and are
        angles to unwrap from.
    falling : which of them count only where they fall below zero.
    notes : on those that never change, for the result.
    """

    function: NativeFunction | None = None
    enclosures: NativeFunction | None = None
    names: tuple[str, ...] = ()
    num_endings: int = 0
    num_events: int = 0
    num_angles: int = 0
    falling: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()

    def directions(self) -> Array:
        """−1 for falling ones, 0 for those that count in both directions, NaN for angles."""
        return np.concatenate([-np.array(self.falling, float), np.full(self.num_angles, np.nan)])


_NOTHING = EventCode()


def lift_events(system: System) -> dict[str, str]:
    """Stops where the ground would have to pull: name → normal force of a contact.

    Raises
    ------
    SimulationError : a run is to end where a contact lifts whose normal force is not known.
    """
    found = {}
    for contact in system.model.contacts:
        load = load_name(system, contact.name) if contact.ends_at_lift else ""
        if load:
            found[f"{contact.name} lifts off"] = load
        elif contact.asks_to_end:
            why = (
                "vakonomic equations have costates in place of forces"
                if system.costates
                else "no normal row of its own holds it, nor three wheels or more, not in line, "
                "the planar joint that it stands under"
            )
            raise SimulationError(
                f"contact '{contact.name}' has lift = \"end\", and its normal force is not known: "
                + why,
                f"model '{system.model.name}', contact '{contact.name}'",
                'leave lift out or write lift = "keep", or let a free joint carry the body',
            )
    return found


def limit_events(system: System) -> dict[str, str]:
    """Stops where a joint would leave its limits: name → a product that falls below zero there."""
    found = {}
    for joint in topology(system.model).tree:
        if joint.limits is not None:
            low, high = (f"({end})" if isinstance(end, str) else repr(end) for end in joint.limits)
            (name,) = joint.coordinate_names()
            found[f"{joint.name} reaches its limit"] = f"({name} - {low})*({high} - {name})"
    return found


def ending_directions(system: System, names: Iterable[str]) -> list[float]:
    """−1 for stops that only count where they fall: those of limits; 0 for all others."""
    falling = limit_events(system)
    return [-1.0 if name in falling else 0.0 for name in names]


def limit_notes(system: System, q: Array, values: Array) -> tuple[str, ...]:
    """Notes on joints that start beyond their limits, which end no run before they are within."""
    read = NumberReader(system.model.parameter_values(values))
    places = [c.name for c in system.coordinates]
    notes = []
    for joint in topology(system.model).tree:
        if joint.limits is not None:
            (name,) = joint.coordinate_names()
            low, high = (float(read.scalar(end)) for end in joint.limits)
            here = float(q[places.index(name)])
            if not low <= here <= high:
                notes.append(
                    f"'{name}' starts at {here:.4g}, beyond its limits {low:.4g} and {high:.4g}"
                )
    return tuple(notes)


def check_pressed(
    system: System, code: EventCode, t: float, state: Array, u: Array, numbers: Array
) -> None:
    """Refuse a start at which the ground would have to pull a body that may lift.

    Raises
    ------
    SimulationError : with the contact and its normal force.
    """
    lifts = {f"stop '{name}'": name for name in lift_events(system)}
    if code.function is None or not lifts:
        return
    values = code.function(t, state, u, numbers)
    for k, where in enumerate(code.names):
        if where in lifts and values[k] < 0:
            raise pulling_start(system, lifts[where], values[k], t)


def pulling_start(
    system: System, event: str, force: float, t: float, which: str = ""
) -> SimulationError:
    """The error of a start at which the ground would have to pull.

    Parameters
    ----------
    system : that starts.
    event : of :func:`lift_events`, and its value, the normal force.
    t : s.
    which : of several starts, to end the place with.
    """
    contact = event.removesuffix(" lifts off")
    return SimulationError(
        f"contact '{contact}' would have to pull with {-force:.4g} N at the start",
        f"start of model '{system.model.name}', t = {t:.9g} s{which}",
        "start where the ground carries the body (give a guess if several contact points "
        'are possible), or write lift = "keep" to hold it down',
    )


def trace_events(
    system: System,
    texts: Mapping[str, str | ca.SX],
    definitions: Mapping[str, str | ca.SX] | None,
) -> EventValues:
    """Values of events in the symbols of a system.

    Parameters
    ----------
    system : whose symbols are used.
    texts : what it is, such as ``"stop 'fell'"`` → expression.
    definitions : as in :func:`read_expression`.
    """
    angles = {name: trace() for name, trace in jumping_angles(system).items()}
    near = {name: ca.SX.sym(name) for name in angles}
    follow = {name: unwrapped_near(angle, near[name]) for name, angle in angles.items()}
    turning = {name: ca.SX.sym(name) for name in angles}
    values = ca.vertcat(
        *(
            text
            if isinstance(text, ca.SX)
            else read_expression(system, text, where, definitions, turning, has_reactions=True)
            for where, text in texts.items()
        )
    )
    used = [name for name in near if ca.depends_on(values, turning[name])]

    def column(of: Mapping[str, ca.SX]) -> ca.SX:
        return ca.vertcat(*(of[name] for name in used)) if used else ca.SX(0, 1)

    followed = column(follow)
    expression = ca.substitute(values, column(turning), followed) if used else values
    return EventValues(
        expression=ca.vertcat(expression, followed),
        near=column(near),
        values=values,
        turning=column(turning),
        angles=column(angles),
    )


def enclosures_program(system: System, events: EventValues, params: ca.SX) -> Program:
    """Intervals [lower, upper, least rate, largest rate] of all events and of the angles.

    It is a function of (t, box, inputs, params), where box = [Δt; x₋; x₊; ẋ₋; ẋ₊] holds from t to
    t + Δt. What depends on inputs or takes many operations is not enclosed: `BLIND`.

    Parameters
    ----------
    system : in whose symbols the events are traced.
    events : traced.
    params : symbols of all parameters, angles at the last check included.
    """
    symbols, state = system.kinematics.symbols, system.state
    inputs, n = system.equations.inputs, state.numel()
    box = ca.SX.sym("box", 1 + 4 * n)
    span, ends = box[0], [box[1 + k * n : 1 + (k + 1) * n] for k in range(4)]
    time = Enclosure(Interval(symbols.t, symbols.t + span), number(1.0))
    states = [
        Enclosure(Interval(ends[0][k], ends[1][k]), Interval(ends[2][k], ends[3][k]))
        for k in range(n)
    ]
    unknown = [UNKNOWN] * inputs.numel()
    constants = [Enclosure(number(params[k]), None) for k in range(params.numel())]

    def enclosed(values: ca.SX, more: list[Enclosure], *, goes_on: bool) -> list[Enclosure]:
        """Enclosures of values, one by one."""
        found = []
        given = (symbols.t, ca.vertcat(state, events.turning), inputs, params)
        for k in range(values.numel()):
            if inputs.numel() and ca.depends_on(values[k], inputs):
                found.append(BLIND)
                continue
            program = trace_program("event", given, ca.densify(system.fold(values[k])))
            if program.num_operations > MOST_ENCLOSED:
                found.append(BLIND)
            else:
                all_given = [time, *states, *more, *unknown, *constants]
                found += enclose(program, all_given, goes_on=goes_on)
        return found

    turns = enclosed(events.angles, [UNKNOWN] * events.turning.numel(), goes_on=True)
    turned = []
    for k, turn in enumerate(turns):
        rate = turn.rate or number(0.0)
        value = Interval(
            events.near[k] + ca.fmin(span * rate.lower, 0.0),
            events.near[k] + ca.fmax(span * rate.upper, 0.0),
        )
        turned.append(Enclosure(value, rate))
    all_of_them = [*enclosed(events.values, turned, goes_on=False), *turned]
    bounds = ca.vertcat(*(e.bounds() for e in all_of_them))
    return trace_program("enclosures", (symbols.t, box, inputs, params), ca.densify(bounds))


def compile_events(
    system: System,
    stop: Mapping[str, str | ca.SX] | None,
    events: Mapping[str, str] | None,
    definitions: Mapping[str, str] | None,
) -> EventCode:
    """Native code of events, those that end the run first.

    Stops that are traced already, such as guards of contacts, count where they fall.
    """
    if not stop and not events:
        return _NOTHING
    stop, events = stop or {}, events or {}
    both = sorted(set(stop) & set(events))
    if both:
        raise SimulationError(
            f"'{both[0]}' both stops the run and is an event of it",
            f"simulation of model '{system.model.name}'",
            "give the two different names",
        )

    def make() -> EventCode:
        texts = {f"stop '{name}'": text for name, text in stop.items()}
        texts |= {f"event '{name}'": text for name, text in events.items()}
        traced = trace_events(system, texts, definitions)
        symbols = system.kinematics.symbols
        params = ca.vertcat(traced.near, symbols.params)
        given = (symbols.t, system.state, system.equations.inputs, params)
        program = trace_program("events", given, ca.densify(system.fold(traced.expression)))
        functions = compile_native([program, enclosures_program(system, traced, params)])
        return EventCode(
            function=functions["events"],
            enclosures=functions["enclosures"],
            names=tuple(texts),
            num_endings=len(stop),
            num_events=len(events),
            num_angles=traced.near.numel(),
            falling=tuple(
                d < 0.0 or isinstance(text, ca.SX)
                for d, text in zip(
                    ending_directions(system, (*stop, *events)),
                    (*stop.values(), *events.values()),
                    strict=True,
                )
            ),
            notes=_notes(texts, traced.expression, ca.vertcat(*given[:3])),
        )

    key = texts_key(stop, events, definitions)
    return make() if key is None else system.cached(("events", key), make)


def _notes(texts: Mapping[str, str | ca.SX], values: ca.SX, changing: ca.SX) -> tuple[str, ...]:
    """Notes on events that depend on nothing that changes during a run."""
    return tuple(
        f"{where} never crosses zero: '{text}' depends on neither time nor motion"
        for k, (where, text) in enumerate(texts.items())
        if isinstance(text, str) and not ca.depends_on(values[k], changing)
    )


def fault_notes(names: Iterable[str], counts: NDArray[np.int64], times: Array) -> tuple[str, ...]:
    """Notes on events whose crossings are not known.

    Parameters
    ----------
    names : what each event is, such as ``"stop 'fell'"``.
    counts, times : (ne, 2) how often crossings were not excluded and values not defined; when
        first, s.
    """
    notes = []
    for where, (missed, undefined), at in zip(names, counts.tolist(), times, strict=True):
        if missed:
            notes.append(
                f"crossings of {where} may have been missed from t = {at[0]:.6g} s on: it changes "
                "too fast, or stays too near to zero, to be resolved within a step; give "
                "max_step=…, half of the time between two crossings"
            )
        if undefined:
            notes.append(
                f"{where} has no value (nan) at t = {at[1]:.6g} s: no crossing is seen there"
            )
    return tuple(notes)
