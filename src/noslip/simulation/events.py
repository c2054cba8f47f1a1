"""Events and switches: values whose zero crossings end a run, are recorded, or begin a step.

**Switches of the state in expressions: where they bend or jump, a run begins a new step.**

An adaptive step sees its inputs at a dozen states. A contact spring of a millimeter's reach that
is passed within a step it does not see. What switches is in the text,

    abs(g), sign(g)  at g = 0        min(a, b), max(a, b)  at a = b        floor(g)  at sin(πg) = 0

so these values are watched like events, and a step ends where one crosses zero. Of forces of the
model whose expressions jump, sign and floor are watched; their bends are left to the error of the
steps. Switches of time alone are known before the run (``time_features``).

Ground of a grid has borders of cells, where a high derivative jumps; steps end there as well. What
runs along a border crosses it without end: it is then no longer watched, since all that it costs is
accuracy.

**Events: values whose zero crossings end a run or are recorded, as cached native code.**

A named angle jumps from π to −π, where nothing happens. In events it is unwrapped, as the column of
the same name is: events are traced with the angles at the last check as symbols, and return the
angles after their own values, so that the loop can unwrap from there.

Beside their values there are enclosures: intervals of values and rates while time and states stay
within intervals, by which the loop chooses where to look.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.engines import (
    NativeFunction,
    Program,
    System,
    compile_native,
    once_a_system,
    trace_program,
)
from noslip.expressions import Expression, Measure, Name, Number, fold, names_in, parse
from noslip.model import Joint, NumberReader, topology
from noslip.simulation.expressions import (
    EVERYTHING,
    UNKNOWN,
    Enclosure,
    Interval,
    enclose,
    jumping_angles,
    load_names,
    named_values,
    number,
    read_expression,
    unwrapped_near,
)
from noslip.simulation.inputs import texts_key

#: Functions that bend or jump, and those of them that jump.
BENDS = frozenset({"abs", "sign", "min", "max", "floor"})
JUMPS = frozenset({"sign", "floor"})
_JUMP = re.compile(r"\b(sign|floor)\s*\(")

#: Switches after which a run is judged, and the share of it that they must have covered.
JUDGED, LEAST = 256, 1e-6

#: What borders of cells are called, and between two switches the share of the time so far below
#: which a body is taken to run along one.
BORDER, ALONG = "at the border of cells of", 1e-3


def switch_texts(
    system: System, inputs: Any, definitions: Mapping[str, Any] | None
) -> dict[str, str]:
    """Switching functions: input and number of the switch → expression that is zero there.

    Parameters
    ----------
    system : system whose names the expressions know.
    inputs : inputs of :func:`simulate`; only expressions have switches.
    definitions : definitions of the run, which know nothing of the state.
    """
    if not isinstance(inputs, Mapping):
        return force_texts(system)
    texts = {name: text for name, text in inputs.items() if isinstance(text, str)}
    if not any("(" in text for text in texts.values()) and not system.model.definitions:
        return force_texts(system)
    key = ("switches", tuple(texts.items()), tuple(definitions or ()))
    named = {f"input {name}": [text] for name, text in texts.items()}
    return system.cached(key, lambda: _switch_texts(system, named, BENDS)) | force_texts(system)


@once_a_system
def force_texts(system: System) -> dict[str, str]:
    """Switching functions of forces whose expressions jump, as `switch_texts` gives them."""
    written = {
        f"force {force.name}": [text for text in _texts(force) if _JUMP.search(text)]
        for force in system.model.forces
    }
    if any(_JUMP.search(d.expression) for d in system.model.definitions):
        written = {f"force {force.name}": _texts(force) for force in system.model.forces}
    return _switch_texts(system, {where: texts for where, texts in written.items() if texts}, JUMPS)


def _texts(force: Any) -> list[str]:
    """Expressions of a force: texts in those of its fields that may hold any."""
    found: list[str] = []
    for field in dataclasses.fields(force):
        value = getattr(force, field.name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, str) and "(" in each:
                found.append(each)
    return found


def without_border(
    watched: Mapping[str, str], index: int, time: float, before: dict[str, float]
) -> dict[str, str]:
    """Switching functions after a switch, without one that is crossed again at once."""
    where = list(watched)[index]
    if BORDER not in where:
        return dict(watched)
    is_again = time - before.get(where, -np.inf) <= ALONG * time
    before[where] = time
    return {name: text for name, text in watched.items() if not (is_again and name == where)}


def _switch_texts(
    system: System, texts: Mapping[str, Iterable[str]], kinds: frozenset[str]
) -> dict[str, str]:
    """Switching functions of the expressions of each thing, of these functions alone."""
    own = {d.name: d.expression for d in system.model.definitions}
    moving = {q.name for q in (*system.coordinates, *system.speeds)} | set(named_values(system))
    found: dict[str, str] = {}
    for name, written in texts.items():
        zeros: dict[str, None] = {}
        waiting, seen = list(written), set[str]()
        while waiting:
            tree = parse(waiting.pop())
            zeros |= dict.fromkeys(_zeros(tree, moving | set(own), kinds))
            used = names_in(tree) & set(own) - seen
            seen |= used
            waiting += [own[each] for each in sorted(used)]
        found |= {f"switch {k + 1} of {name}": zero for k, zero in enumerate(zeros)}
    return found


def check_chatter(
    system: System, watched: Mapping[str, str], index: int, times: list[float], duration: float
) -> None:
    """Refuse a run that switches without end, as dry friction does where a body would stick."""
    if len(times) < JUDGED or times[-1] - times[-JUDGED] > LEAST * duration:
        return
    where, zero = list(watched.items())[index]
    raise SimulationError(
        f"{where}, at {zero} = 0, switches back and forth without end from t = {times[-1]:.9g} s",
        f"{'forces' if ' of force ' in where else 'inputs'} of model '{system.model.name}'",
        "write a sign smoothly, as tanh(v/0.01); dry friction in sticking is not a function "
        "of the state",
    )


def _zeros(tree: Expression, moving: set[str], kinds: frozenset[str]) -> list[str]:
    """Expressions of the state that are zero where functions of these kinds bend or jump."""
    found: list[str] = []

    def leaf(node: Number | Name) -> tuple[str, bool]:
        text = repr(node.value) if isinstance(node, Number) else node.name
        return text, isinstance(node, Name) and node.name in moving

    def call(function: str, arguments: list[tuple[str, bool]]) -> tuple[str, bool]:
        texts = [text for text, _ in arguments]
        if function in kinds and any(is_moving for _, is_moving in arguments):
            if function in ("abs", "sign"):
                found.append(texts[0])
            elif function in ("min", "max"):
                found.append(f"{texts[0]} - {texts[1]}")
            elif function == "floor":
                found.append(f"sin(pi*{texts[0]})")
        return _written(function, texts), any(is_moving for _, is_moving in arguments)

    def measure(node: Measure, arguments: list[tuple[str, bool]]) -> tuple[str, bool]:
        inside = [node.body, node.axis, *(text for text, _ in arguments)]
        listed = ", ".join(part for part in inside if part)
        return f"{node.word}({listed})" + (f".{node.part}" if node.part else ""), True

    fold(tree, leaf, call, measure)
    return found


def _written(function: str, texts: list[str]) -> str:
    """A call as text, in parentheses where it is an operator."""
    if function == "neg":
        return f"(-{texts[0]})"
    if function in ("+", "-", "*", "/", "**"):
        return f"({texts[0]} {function} {texts[1]})"
    return f"{function}({', '.join(texts)})"


#: Operations up to which an event is enclosed; intervals through many are too wide to be of use.
MOST_ENCLOSED = 120


#: Of a value that is not enclosed: the lower end lies above the upper one.
BLIND = Enclosure(Interval(ca.SX(np.inf), ca.SX(-np.inf)), EVERYTHING)


class EventValues(NamedTuple):
    """Events, traced."""

    expression: ca.SX  #: values of all events, then the angles they follow
    near: ca.SX  #: symbols of these angles at the last check
    values: ca.SX  #: values of all events, with `turning` symbols for the angles
    turning: ca.SX  #: symbols of the turning angles
    angles: ca.SX  #: values of these symbols, between −π and π


class EventCode(NamedTuple):
    """Events as native code."""

    #: function of (t, x, inputs, [angles at the last check; parameters])
    function: NativeFunction | None = None
    #: enclosures of the same values, see `enclosures_program`
    enclosures: NativeFunction | None = None
    names: tuple[str, ...] = ()  #: names of the events, such as ``"stop 'fell'"``
    #: num_endings, num_events, num_angles: numbers of values that end the run, are recorded, and
    #: are angles to unwrap from
    num_endings: int = 0
    num_events: int = 0
    num_angles: int = 0
    falling: tuple[bool, ...] = ()  #: mask of those that count only where they fall below zero
    notes: tuple[str, ...] = ()  #: notes for the result on those that never change
    #: `function` with further values behind the events and the angles, which share operations
    whole: NativeFunction | None = None

    def directions(self) -> Array:
        """−1 for falling ones, 0 for those that count in both directions, NaN for angles."""
        return np.concatenate([-np.array(self.falling, float), np.full(self.num_angles, np.nan)])


_NOTHING = EventCode()


class OwnEvents(NamedTuple):
    """What ends or divides every run of a system."""

    #: stops where the ground would have to pull: name → normal force of a contact
    lifts: dict[str, str]
    #: stops where a joint would leave its limits: name → a product that falls below zero
    limits: dict[str, str]
    limited: tuple[Joint, ...]  #: joints that have limits
    #: borders of cells of ground that bodies roll on, as switching functions
    borders: dict[str, str]
    is_curved: bool  #: whether a wheel may touch its ground at a second point


@once_a_system
def own_events(system: System) -> OwnEvents:
    """What ends or divides every run of a system, found once.

    Raises
    ------
    SimulationError : a run is to end where a contact lifts whose normal force is not known.
    """
    lifts, limits, borders = dict[str, str](), dict[str, str](), dict[str, str]()
    for contact in system.model.contacts:
        load = load_names(system).get(contact.name) if contact.ends_at_lift else None
        if load:
            lifts[f"{contact.name} lifts off"] = load
        elif contact.asks_to_end:
            raise _unknown_lift(system, contact.name)
        names = {place.name for place in contact.parameters()}
        for name, first, step in contact.form.cells():
            if name in names:
                text = f"sin(pi*({contact.name}.{name} - ({first!r}))/{step!r})"
                borders[f"switch {BORDER} {contact.name}.{name}"] = text
    limited = tuple(j for j in topology(system.model).tree if j.limits is not None)
    for joint in limited:
        low, high = (f"({x})" if isinstance(x, str) else repr(x) for x in joint.limits or ())
        (name,) = joint.coordinate_names()
        limits[f"{joint.name} reaches its limit"] = f"({name} - {low})*({high} - {name})"
    curved = any(c.is_wheel and not c.is_flat for c in system.model.contacts)
    return OwnEvents(lifts, limits, limited, borders, curved)


def _unknown_lift(system: System, contact: str) -> SimulationError:
    """The error of a contact that is to end runs by a force that is not known."""
    why = (
        "vakonomic equations have costates in place of forces"
        if system.costates
        else "no normal row of its own holds it, nor three wheels or more, not in line, "
        "the planar joint that it stands under"
    )
    return SimulationError(
        f"contact '{contact}' has lift = \"end\", and its normal force is not known: {why}",
        f"model '{system.model.name}', contact '{contact}'",
        'leave lift out or write lift = "keep", or let a free joint carry the body',
    )


def ending_directions(system: System, texts: Mapping[str, Any]) -> list[float]:
    """−1 for events that count where they fall alone: of one side and of limits; 0 for others."""
    falling = own_events(system).limits
    return [-1.0 if name in falling or _one_sided(text)[1] else 0.0 for name, text in texts.items()]


#: An event that counts where it rises, or where it falls, alone.
_ONE_SIDED = re.compile(r"\s*(rising|falling)\s*(\(.*\))\s*", re.DOTALL)


def _one_sided(text: Any) -> tuple[Any, bool]:
    """The value whose zeros an event has, and whether they count only where it falls.

    ``rising(x)`` is where −x falls.
    """
    found = _ONE_SIDED.fullmatch(text) if isinstance(text, str) else None
    if found is None or not _is_enclosed(found[2]):
        return text, False
    return (f"-{found[2]}" if found[1] == "rising" else found[2]), True


def _is_enclosed(text: str) -> bool:
    """Whether the parenthesis that a text begins with is closed by its last character."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return k == len(text) - 1
    return False


def limit_notes(system: System, q: Array, values: Array) -> tuple[str, ...]:
    """Notes on joints that start beyond their limits, which end no run before they are within."""
    limited = own_events(system).limited
    if not limited:
        return ()
    read = NumberReader(system.model.parameter_values(values))
    places = [c.name for c in system.coordinates]
    notes = []
    for joint in limited:
        (name,) = joint.coordinate_names()
        low, high = (float(read.scalar(end)) for end in joint.limits or ())
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
    lifts = {f"stop '{name}'": name for name in own_events(system).lifts}
    if code.function is None or not lifts:
        return
    values = code.function(t, state, u, numbers)
    for k, where in enumerate(code.names):
        if where in lifts and values[k] < 0:
            raise pulling_start(system, lifts[where], values[k], t)


def pulling_start(
    system: System, event: str, force: float, t: float, which: str = ""
) -> SimulationError:
    """The error of a start at which the ground would have to pull."""
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
    """Values of events in the symbols of a system."""
    angles = {name: trace() for name, trace in jumping_angles(system).items()}
    near = {name: ca.SX.sym(name) for name in angles}
    follow = {name: unwrapped_near(angle, near[name]) for name, angle in angles.items()}
    turning = {name: ca.SX.sym(name) for name in angles}
    values = ca.vertcat(
        *(
            text
            if isinstance(text, ca.SX)
            else read_expression(system, text, where, definitions, turning, has_reactions=True)
            for where, (text, _) in ((name, _one_sided(text)) for name, text in texts.items())
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


def enclosures_program(
    system: System, events: EventValues, params: ca.SX, program: Program
) -> Program:
    """Intervals [lower, upper, least rate, largest rate] of all events and of the angles.

    It is a function of (t, box, inputs, params), where box = [Δt; x₋; x₊; ẋ₋; ẋ₊] holds from t to
    t + Δt. What depends on inputs or takes many operations is not enclosed: `BLIND`.
    `program` is that of the events, then the angles.
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
    # there angles are operations, too, which a value of its own takes for given
    most = program.num_operations if events.near.numel() else MOST_ENCLOSED
    is_short = program.short_outputs(most)

    def enclosed(
        values: ca.SX, first: int, more: list[Enclosure], *, goes_on: bool
    ) -> list[Enclosure]:
        """Enclosures of values, one by one, of which `first` is the number in the program."""
        found = []
        given = (symbols.t, ca.vertcat(state, events.turning), inputs, params)
        for k in range(values.numel()):
            is_long = not is_short[first + k]
            if is_long or (inputs.numel() and ca.depends_on(values[k], inputs)):
                found.append(BLIND)
                continue
            own = trace_program("event", given, ca.densify(system.fold(values[k])))
            if own.num_operations > MOST_ENCLOSED:
                found.append(BLIND)
            else:
                all_given = [time, *states, *more, *unknown, *constants]
                found += enclose(own, all_given, goes_on=goes_on)
        return found

    own, none = events.values.numel(), [UNKNOWN] * events.turning.numel()
    turns = enclosed(events.angles, own, none, goes_on=True)
    turned = []
    for k, turn in enumerate(turns):
        rate = turn.rate or number(0.0)
        value = Interval(
            events.near[k] + ca.fmin(span * rate.lower, 0.0),
            events.near[k] + ca.fmax(span * rate.upper, 0.0),
        )
        turned.append(Enclosure(value, rate))
    all_of_them = [*enclosed(events.values, 0, turned, goes_on=False), *turned]
    bounds = ca.vertcat(*(e.bounds() for e in all_of_them))
    return trace_program("enclosures", (symbols.t, box, inputs, params), ca.densify(bounds))


def compile_events(
    system: System,
    stop: Mapping[str, str | ca.SX] | None,
    events: Mapping[str, str] | None,
    definitions: Mapping[str, str] | None,
    more: ca.SX | None = None,
) -> EventCode:
    """Native code of events, those that end the run first.

    Stops that are traced already, such as guards of contacts, count where they fall. `more` are
    further values of `EventCode.whole`: what they need of accelerations is compiled once.
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
        values = traced.expression if more is None else ca.vertcat(traced.expression, more)
        program = trace_program("events", given, ca.densify(system.fold(values)))
        programs = [program, enclosures_program(system, traced, params, program)]
        heads = {} if more is None else {"events": traced.expression.numel()}
        functions = compile_native(programs, heads)
        return EventCode(
            function=functions["events head" if heads else "events"],
            whole=functions["events"],
            enclosures=functions["enclosures"],
            names=tuple(texts),
            num_endings=len(stop),
            num_events=len(events),
            num_angles=traced.near.numel(),
            falling=tuple(
                d < 0.0 or isinstance(text, ca.SX)
                for d, text in zip(
                    ending_directions(system, {**stop, **events}),
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

    `names`: names of the events, such as ``"stop 'fell'"``. `counts`, `times`: (ne, 2) how often
    crossings were not excluded and values not defined; when first, s.
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
