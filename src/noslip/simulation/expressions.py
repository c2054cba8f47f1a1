"""Expressions of a run, and the names they know beyond those of a model.

**Loads of wheels that stand under a planar joint, traced: which of them the ground would pull on.**

A planar joint holds its child at a height and upright; with (2) of `analysis/reactions.py` the
wheels under it carry what it holds, E N = w. In coordinates (a, b) of the contact points along the
plane, a column of E is [1, a, b].

Three wheels that are not in line have one N. Of more, some split has no negative load if and only
if the three wheels of some triangle carry w without one (Carathéodory's theorem), so that

    (1)  σ = max over triangles of the least of its three loads

is not negative where the base stands. Where it is, no split holds it, and the loads are those of
springs K, N = K Eᵀ (E K Eᵀ)⁻¹ w, as the audit has them. The support of a wheel is the larger of σ
and its load N: negative where it would have to be pulled. Three wheels have no split: then it is
the load itself.

Inputs, events, definitions and columns are written as expressions of t, parameters, coordinates and
speeds. Named angles, their rates and named independent speeds are known too, traced in the symbols
of a system:

    a = angles of the quaternion in q        ȧ = ∂a/∂q N v        η = E v as the model writes it

An angle lies between −π and π and jumps from one to the other. Next to a value that is less than
half a turn away, the same angle goes on without a jump; this is what events see.

**Enclosures: intervals that hold a traced value and its rate while what it depends on moves.**

Every symbol has an interval of values and one of rates, in time mostly; every operation of a
:class:`Program` makes both for its result:

    (1)  [a] + [b] = [a₋ + b₋, a₊ + b₊]        (a + b)˙ = ȧ + ḃ
    (2)  [a] [b] = hull of the four products    (a b)˙ = [ȧ] [b] + [a] [ḃ]
    (3)  f([a]) from ends and extrema           f(a)˙ = f'([a]) [ȧ]

Enclosures are again traced expressions, of the ends of the symbols' intervals. They are wider than
what a value really does, the more so the wider the intervals are, but never narrower, but for
rounding. A function that jumps within its interval, has a pole there or ends its domain has an
unbounded rate: if a value has a rate of one sign, it crosses zero at most once. Values are enclosed
where they are defined; what is defined nowhere has the interval [∞, ∞].

References
----------
[Moore1966] for intervals, without equation numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import cross, symmetric_solve, traced_angles
from noslip.base import CompileError, NoslipError, SimulationError, nearest
from noslip.engines import Operation, Program, System, once_a_system
from noslip.expressions import (
    CONSTANTS,
    ExpressionError,
    measures_in,
    names_in,
    parse,
    read_unit,
    unit_text,
)
from noslip.formulations import unknown_wrenches
from noslip.kinematics import named as named_symbols
from noslip.model import (
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    WORLD,
    AbstractContact,
    DimensionError,
    bears_force,
    dimension,
    is_undefined,
)
from noslip.simulation.starts.start_layout import Orientation, layout_of

#: Triangles whose area, relative to the square of their extent, is smaller are lines.
FLAT = 1e-9
#: Least load of a triangle that is a line: it holds nothing.
NOTHING = -1e300


def planar_supports(system: System) -> dict[str, Callable[[], ca.SX]]:
    """Contact → its support, N, of all wheels whose planar joint needs three wheels and has them.

    Negative where the ground would have to pull on it.
    """
    return {
        name: partial(_support, system, joint, place)
        for joint, wheels in _bases(system).items()
        for place, name in enumerate(wheels)
    }


def planar_loads(system: System) -> dict[str, Callable[[], ca.SX]]:
    """Contact → its load, N, of all wheels under such a joint: that of springs which also pull."""
    return {
        name: partial(_load, system, joint, place)
        for joint, wheels in _bases(system).items()
        for place, name in enumerate(wheels)
    }


def is_shared(system: System, contact: str) -> bool:
    """Whether the load of a wheel under a planar joint is one of several splits."""
    return any(contact in wheels and len(wheels) > 3 for wheels in _bases(system).values())


@once_a_system
def _bases(system: System) -> dict[int, list[str]]:
    """Planar joint, by its place in the tree → the wheels that stand under it."""
    kin, found = system.kinematics, {}
    if system.costates or not kin.contacts:
        return {}
    unknown = unknown_wrenches(kin)
    for j, node in enumerate(kin.tree.nodes):
        under = kin.wheels_under(node.joint, system.parameters())
        if len(under) > 2 and node.joint.name not in unknown and _spread(system, under):
            found[j] = [kin.contacts[k].contact.name for k in under]
    return found


def _spread(system: System, under: list[int]) -> bool:
    """Whether wheels are in line at no generic configuration."""
    kin = system.kinematics
    points = ca.horzcat(*(kin.contacts[k].point for k in under))
    where = ca.Function("points", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [points])
    for t, q in kin.probe.configurations():
        places = np.array(where(t, q, system.parameters()))
        sizes = np.linalg.svd(places - places.mean(axis=1, keepdims=True), compute_uv=False)
        if not sizes[1] > FLAT**0.5 * sizes[0]:
            return False
    return True


def _support(system: System, joint: int, place: int) -> ca.SX:
    supports: ca.SX = system.cached(("supports", joint), partial(_supports, system, joint))
    return supports[place]


def _load(system: System, joint: int, place: int) -> ca.SX:
    columns, w = system.cached(("held", joint), partial(_held, system, joint))
    if len(columns) == 3:
        return _loads(columns, w)[place]
    return _spring_loads(system, joint, columns, w)[place]


def _spring_loads(system: System, joint: int, columns: list[ca.SX], w: ca.SX) -> ca.SX:
    """N = K Eᵀ (E K Eᵀ)⁻¹ w."""
    E, K = ca.horzcat(*columns), ca.diag(ca.vertcat(*_stiffness(system, _under(system, joint))))
    shares, _ = symmetric_solve(ca.mtimes([E, K, E.T]), w)
    return ca.mtimes([K, E.T, shares])


def _under(system: System, joint: int) -> list[int]:
    names = [trace.contact.name for trace in system.kinematics.contacts]
    return [names.index(name) for name in _bases(system)[joint]]


def _held(system: System, joint: int) -> tuple[list[ca.SX], ca.SX]:
    """Columns of E and w of a joint."""
    kin = system.kinematics
    under = _under(system, joint)
    axes = ca.vertsplit(system.output_expression("contact_axes"), 3)
    points = [axes[4 * k] for k in under]
    along, across, normal = axes[4 * under[0] + 1 : 4 * under[0] + 4]
    given = ca.vertsplit(system.output_expression("joint_wrenches"), 3)
    point, force, moment = given[3 * joint : 3 * joint + 3]
    middle = sum(points[1:], points[0]) / len(points)
    # a force at r along the normal has the moments n × (r, e) = (normal × e)·r about e
    level = [cross(normal, e) / kin.length for e in (along, across)]
    columns = [ca.vertcat(1, *(ca.dot(e, p - middle) for e in level)) for p in points]
    load = ca.dot(force, normal)
    arm = [ca.dot(e, point - middle) * load for e in level]
    held = [ca.dot(moment, e) / kin.length for e in (along, across)]
    return columns, ca.vertcat(load, arm[0] + held[0], arm[1] + held[1])


def _supports(system: System, joint: int) -> ca.SX:
    """Supports of all wheels under a joint."""
    columns, w = system.cached(("held", joint), partial(_held, system, joint))
    if len(columns) == 3:
        return ca.vertcat(*_loads(columns, w))
    best = [_least_load([columns[k] for k in corners], w) for corners in _triangles(len(columns))]
    return ca.fmax(reduce(ca.fmax, best), _spring_loads(system, joint, columns, w))


def _triangles(count: int) -> list[tuple[int, ...]]:
    return list(combinations(range(count), 3))


def _loads(columns: list[ca.SX], w: ca.SX) -> list[ca.SX]:
    """Loads of three wheels by Cramer's rule."""
    over = ca.dot(columns[0], cross(columns[1], columns[2]))
    pairs = ((1, 2), (2, 0), (0, 1))
    return [ca.dot(w, cross(columns[i], columns[j])) / over for i, j in pairs]


def _least_load(columns: list[ca.SX], w: ca.SX) -> ca.SX:
    """Least load of three wheels; that of none where they are in line."""
    over = ca.dot(columns[0], cross(columns[1], columns[2]))
    sides = [columns[1] - columns[0], columns[2] - columns[0]]
    extent = sum(ca.dot(side, side) for side in sides)
    is_line = ca.fabs(over) <= FLAT * extent
    safe = ca.if_else(is_line, 1, over)
    pairs = ((1, 2), (2, 0), (0, 1))
    loads = [ca.dot(w, cross(columns[i], columns[j])) / safe for i, j in pairs]
    return ca.if_else(is_line, NOTHING, reduce(ca.fmin, loads))


def _stiffness(system: System, under: list[int]) -> list[ca.SX]:
    """Stiffness of wheels against load over their mean; ones if one has none."""
    kin = system.kinematics
    given = [kin.contacts[k].contact.load_stiffness() for k in under]
    if any(k is None for k in given):
        return [ca.SX(1)] * len(under)
    found = [ca.SX(kin.reader.scalar(k)) for k in given if k is not None]
    return [k * len(found) / sum(found) for k in found]


#: Unit of a name, and how it is traced.
NamedValue = tuple[str, Callable[[], ca.SX]]


def named_values(system: System) -> dict[str, NamedValue]:
    """Named angles, their rates and named speeds: unit, and a function that traces it."""
    kin = system.kinematics
    found: dict[str, NamedValue] = {}
    for o in layout_of(system).orientations:
        for k, (angle, rate) in enumerate(zip(o.angle_names, o.rate_names, strict=True)):
            found[angle] = ("rad", partial(_angle, system, o, k))
            found[rate] = ("rad/s", partial(_rate, system, o, k))
    for speed in system.model.independent_speeds:
        if speed.expression:
            found[speed.name] = (speed.unit, partial(kin.reader.scalar, speed.expression))
    return found


def reaction_values(system: System) -> dict[str, NamedValue]:
    """Forces by name: ``reaction.ROW``, ``force.TIRE.PART`` and ``joint_reaction.JOINT.PART``.

    A row's is its multiplier. Of a tire or another force that slides, ``longitudinal`` and
    ``lateral`` are what the ground exerts on its body along the wheel's heading and across. Of a
    joint ``x``, ``y``, ``z`` are the force on its child in world axes, ``moment_x`` … the moment
    about the joint's point, ``point_x`` … that point. Of a wheel under a planar joint, whose load
    is no row, ``support.WHEEL`` is negative where the ground would have to pull on it, and
    ``load.WHEEL`` its load on springs that also pull; under three wheels both are the load.
    """
    kin, equations = system.kinematics, system.equations
    found: dict[str, NamedValue] = {}
    for k, row in enumerate(kin.rows):
        if not bears_force(system.model.contacts, row.name):
            continue
        found[f"reaction.{row.name}"] = (
            row.multiplier_unit,
            partial(_entry, lambda: equations.multipliers, k),
        )
    parts = [(f"point_{axis}", "m") for axis in "xyz"] + [(axis, "N") for axis in "xyz"]
    parts += [(f"moment_{axis}", "N*m") for axis in "xyz"]
    joints = [*(node.joint for node in kin.tree.nodes), *kin.tree.loops]
    for j, joint in enumerate(joints):
        for k, (part, unit) in enumerate(parts):
            found[f"joint_reaction.{joint.name}.{part}"] = (
                unit,
                partial(_entry, lambda: system.output_expression("joint_wrenches"), 9 * j + k),
            )
    for k, name in enumerate(equations.forces.grips):
        for j, part in enumerate((LONGITUDINAL, LATERAL)):
            grips = partial(system.output_expression, "grips")
            found[f"force.{name}.{part}"] = ("N", partial(_entry, grips, 5 * k + j))
    for name, trace in planar_supports(system).items():
        found[f"support.{name}"] = ("N", trace)
    for name, trace in planar_loads(system).items():
        found[f"load.{name}"] = ("N", trace)
    return found


def _given_inputs(system: System) -> dict[str, NamedValue]:
    """Inputs of brakes as they are given, before they are cut off at 0."""
    pressed = {name for force in system.model.forces for name in force.pressed()}
    inputs = system.equations.inputs
    return {
        f"given.{i.name}": (i.unit, partial(_entry, lambda: inputs, k))
        for k, i in enumerate(system.model.inputs)
        if i.name in pressed
    }


@once_a_system
def load_names(system: System) -> dict[str, str]:
    """Contact → the name of its load among `reaction_values`, of those that have one."""
    if system.costates:
        return {}
    kin = system.kinematics
    # a row that says nothing (a wheel's height under a planar joint) holds nothing
    silent = {kin.rows[r.row].name for r in kin.redundant if not r.follows_from}
    rows = (f"{trace.contact.name}.{NORMAL}" for trace in kin.contacts)
    of_rows = {row.name for row in kin.rows} - silent
    found = {row.removesuffix(f".{NORMAL}"): f"reaction.{row}" for row in rows if row in of_rows}
    return found | {name: f"support.{name}" for name in planar_supports(system)}


def _entry(column: Callable[[], ca.SX], k: int) -> ca.SX:
    return column()[k]


def units_by_name(system: System) -> dict[str, str]:
    """Units of all quantities that a start may give."""
    own = (*system.coordinates, *system.speeds, *system.independent_speeds)
    own += system.auxiliary_states
    units = {quantity.name: quantity.unit for quantity in own}
    units |= {name: unit for name, (unit, _) in named_values(system).items()}
    return {name: units[name] for name in layout_of(system).names}


def angle_names(system: System) -> tuple[str, ...]:
    """Named angles alone."""
    return tuple(name for o in layout_of(system).orientations for name in o.angle_names)


def jumping_angles(system: System) -> dict[str, Callable[[], ca.SX]]:
    """Named angles that wrap around at ±π; the second of three never does."""
    return {
        name: partial(_angle, system, o, k)
        for o in layout_of(system).orientations
        for k, name in enumerate(o.angle_names)
        if k != 1
    }


def unwrapped_near(angle: ca.SX, near: ca.SX) -> ca.SX:
    """An angle unwrapped: full turns added so that it is at most half a turn from another one.

    a + 2πn with n the whole number next to (near − a)/2π; without a jump, it is a itself. Between
    two of them it is the smaller one, so that −π and π are at most half a turn from 0 as they are.
    """
    turns = (near - angle) / (2 * math.pi)
    return angle + 2 * math.pi * ca.sign(turns) * ca.ceil(ca.fabs(turns) - 0.5)


def _angle(system: System, o: Orientation, k: int) -> ca.SX:
    q = system.kinematics.symbols.q
    return traced_angles(q[o.quaternion : o.quaternion + 4], o.angles.sequence)[k]


def _rate(system: System, o: Orientation, k: int) -> ca.SX:
    kin = system.kinematics
    at = slice(o.quaternion, o.quaternion + 4)
    turning = ca.mtimes(kin.N[at, :], kin.symbols.v)
    return ca.jtimes(_angle(system, o, k), kin.symbols.q[at], turning)


def read_expression(
    system: System,
    text: str,
    where: str,
    definitions: Mapping[str, str | ca.SX] | None = None,
    angles: Mapping[str, ca.SX] | None = None,
    *,
    is_output: bool = False,
    has_reactions: bool = False,
) -> ca.SX:
    """An expression as a traced scalar at v = Sη + s.

    It may use t, parameters, coordinates, tree speeds, named angles, which lie between −π and π,
    their rates, named independent speeds, states of forces, the model's definitions and measures of
    the motion.

    Parameters
    ----------
    system, text : text, and the system in whose symbols it is read.
    where : place named in the message.
    definitions : named expressions that the text may use, each of those before it; or symbols under
        their names.
    angles : symbols by name that named angles stand for instead.
    is_output : whether it may use accelerations, inputs and reactions as well.
    has_reactions : whether it may use reactions as well.
    """
    kin = system.kinematics
    reader = kin.reader.extended(named_symbols(kin.force_states, kin.symbols.z))
    named, angles = named_values(system), angles or {}
    if is_output:
        reader = reader.extended({}, kin.measures(system.equations.speed_rates))
        reader = reader.extended(named_symbols(system.inputs, system.equations.inputs))
    if is_output or has_reactions:
        named = named | reaction_values(system)
    if has_reactions:
        named = named | _given_inputs(system)
    known = _plain_names(system) | set(named)
    if is_output:
        known |= {q.name for q in system.inputs}

    def read(given: str, place: str) -> ca.SX:
        used = _check_expression(system, given, place, known)
        more = {n: angles[n] if n in angles else named[n][1]() for n in used & set(named) - defined}
        return reader.extended(more).scalar(given)

    defined: set[str] = set()
    for name, definition in (definitions or {}).items():
        if isinstance(definition, str):
            definition = read(definition, f"definition '{name}'")
        reader = reader.extended({name: definition})
        defined.add(name)
        known.add(name)
    return kin.at_speeds(read(text, where))


def contact_forces(system: System) -> ca.SX:
    """Longitudinal and lateral force and load of each contact, N; nan for a load not known.

    Loads are those of springs that also pull; a tire's force is added to the contact's that holds
    its wheel up.
    """
    kin, values = system.kinematics, reaction_values(system)
    grips = system.equations.forces.grips
    held = ca.vertsplit(system.output_expression("grips"), 5) if grips else []
    found: list[ca.SX] = []
    for trace in kin.contacts:
        contact = trace.contact
        rows = (f"reaction.{contact.name}.{part}" for part in (LONGITUDINAL, LATERAL))
        parts = [values[name][1]() if name in values else ca.SX(0) for name in rows]
        for numbers, grip in zip(held, grips.values(), strict=True):
            if contact.wheel_center() is not None and _place(grip.contact) == _place(contact):
                parts = [parts[0] + numbers[0], parts[1] + numbers[1]]
        load = load_names(system).get(contact.name, "").replace("support.", "load.")
        found += [*parts, values[load][1]() if load else ca.SX(np.nan)]
    return kin.at_speeds(ca.vertcat(*found)) if found else ca.SX(0, 1)


def _place(contact: AbstractContact) -> tuple[object, ...]:
    """Body, center and ground by which a tire is found to be that of a contact."""
    return contact.body, contact.wheel_center(), contact.plane


def traced_output(system: System, text: str, where: str, words: tuple[str, ...]) -> ca.SX:
    """An output of `System.casadi_function` that is no word of `engines`."""
    if text == "contact_forces":
        return contact_forces(system)
    try:
        return read_expression(system, text, f"output '{text}'", is_output=True)
    except NoslipError as error:
        if not text.isidentifier():
            raise
        known = (*words, "contact_forces", *reaction_values(system))
        raise CompileError(
            f"there is no output '{text}', and as an expression of the motion {error.what}",
            where,
            nearest(text, known),
        ) from None


@dataclass(frozen=True, slots=True)
class Outputs:
    """Expressions of the motion by name, accelerations, inputs and reactions among them."""

    texts: Mapping[str, str]

    def check(self, system: System) -> None:
        """Refuse names that would hide what has their name already."""
        taken = {"time", "t", *units_by_name(system)} if self.texts else ()
        for name, text in self.texts.items():
            if isinstance(name, str) and (name not in taken or text == name):
                continue
            raise SimulationError(
                f"output '{name}' has the name of a column that every run has"
                if isinstance(name, str)
                else f"output {name!r:.60} has no name",
                f"outputs of model '{system.model.name}'",
                "give it a name of its own: outputs={'tip_height': 'point(arm, 0.5, 0, 0).z'}",
            )

    def trace(self, system: System, definitions: Mapping[str, str | ca.SX] | None = None) -> ca.SX:
        """All of them as one traced column."""
        read = [
            read_expression(system, text, f"output '{name}'", definitions, is_output=True)
            for name, text in self.texts.items()
        ]
        return ca.densify(ca.vertcat(*read)) if read else ca.SX(0, 1)

    def units(self, system: System) -> dict[str, str]:
        """Units by name, from those of what they use; empty where they cannot be told."""
        units = units_by_name(system) | {q.name: q.unit for q in system.inputs} | {"t": "s"}
        units |= {name: unit for name, (unit, _) in reaction_values(system).items()}
        model = system.model
        units |= {p.name: p.unit for p in model.parameters}
        units |= {d.name: d.unit for d in model.definitions if d.unit}
        scope = {name: read_unit(unit) for name, unit in units.items()}
        found = {}
        for name, text in self.texts.items():
            if text in units:
                found[name] = units[text]
                continue
            try:
                size = dimension(text, scope)
            except DimensionError:
                size = None
            found[name] = unit_text(size) if isinstance(size, tuple) else ""
        return found


def check_definitions(system: System, definitions: Iterable[str]) -> None:
    """Refuse definitions that would hide what has their name already."""
    model, kin = system.model, system.kinematics
    taken = {"t": "time", **dict.fromkeys(CONSTANTS, "a constant")}
    taken |= dict.fromkeys((q.name for q in system.inputs), "an input")
    taken |= dict.fromkeys((q.name for q in kin.coordinates), "a coordinate")
    taken |= dict.fromkeys((q.name for q in kin.speeds), "a speed")
    taken |= dict.fromkeys((q.name for q in kin.force_states), "a state of a force")
    taken |= dict.fromkeys(named_values(system), "a named angle, its rate or a named speed")
    taken |= dict.fromkeys((p.name for p in model.parameters), "a parameter")
    taken |= dict.fromkeys((d.name for d in model.definitions), "a definition of the model")
    for name in definitions:
        if not isinstance(name, str):
            raise SimulationError(
                f"definition {name!r:.60} has no name",
                f"definitions of model '{model.name}'",
                "give names and values or expressions: definitions={'gain': 0.2}",
            )
        if name in taken:
            kind = taken[name]
            other = f"; to change the parameter, give parameters={{'{name}': …}}"
            raise SimulationError(
                f"definition '{name}' has the name of {kind}, which it would hide",
                f"definitions of model '{model.name}'",
                f"give the definition another name, such as '{name.replace('.', '_')}_own'"
                + (other if kind == "a parameter" else ""),
            )


def _plain_names(system: System) -> set[str]:
    """t, parameters, definitions, coordinates, tree speeds and states of forces."""
    kin, model = system.kinematics, system.model
    names = {"t", *(p.name for p in model.parameters), *(d.name for d in model.definitions)}
    return names | {q.name for q in (*kin.coordinates, *kin.speeds, *kin.force_states)}


def _check_expression(system: System, text: str, where: str, known: set[str]) -> set[str]:
    """Names that an expression uses; refuses what cannot be read and names that are not known."""
    if not isinstance(text, str):
        raise SimulationError(
            f"{text!r:.60} is given where an expression is expected",
            f"{where} of model '{system.model.name}'",
            "write it in quotes, as arithmetic of t, parameters, coordinates and speeds: 'disk.z'",
        )
    try:
        tree = parse(text)
    except ExpressionError as error:
        raise SimulationError(
            f"expression '{text}' cannot be read: {error}",
            f"{where} of model '{system.model.name}'",
            "give the difference of both sides, whose sign is monitored: 'disk.x - 3'"
            if where.startswith(("stop", "event")) and set(text) & set("<>=")
            else "write arithmetic of t, parameters, coordinates and speeds, such as '0.1*sin(t)'",
        ) from None
    used = names_in(tree)
    unknown = used - known - set(CONSTANTS)
    if unknown:
        name = sorted(unknown)[0]
        raise SimulationError(
            f"expression '{text}' uses '{name}', which is not known",
            f"{where} of model '{system.model.name}'",
            nearest(name, sorted(known)),
        )
    bodies = (WORLD, *(body.name for body in system.model.bodies))
    for measure in measures_in(tree):
        if measure.body and measure.body not in bodies:
            raise SimulationError(
                f"expression '{text}' uses body '{measure.body}', which is not known",
                f"{where} of model '{system.model.name}'",
                nearest(measure.body, bodies),
            )
    if is_undefined(tree, {}):
        raise SimulationError(
            f"expression '{text}' has no finite value",
            f"{where} of model '{system.model.name}'",
            "keep denominators away from zero and arguments of sqrt, log, asin and powers in range",
        )
    return used


INF = float("inf")


class Interval(NamedTuple):
    """Ends of an interval, traced; a number is one whose ends are the same object."""

    lower: ca.SX
    upper: ca.SX

    @property
    def is_number(self) -> bool:
        """Whether it is known to be a single number."""
        return self.lower is self.upper


class Enclosure(NamedTuple):
    """Intervals of a value and of its rate; none where it does not change.

    `whole` holds two truths: whether the value is surely defined and without a pole everywhere, and
    whether it may be defined anywhere; none where both are sure.
    """

    value: Interval
    rate: Interval | None
    whole: Interval | None = None

    def bounds(self) -> ca.SX:
        """[lower, upper, least rate, largest rate], of a value with gaps as said above."""
        value, rate = self.value, self.rate or _ZERO
        if self.whole is not None:
            if not self.whole.upper.is_constant():
                value = _chosen(self.whole.upper, value, Interval(ca.SX(INF), ca.SX(INF)))
            rate = _chosen(self.whole.lower, rate, EVERYTHING)
        return ca.vertcat(*value, *rate)


def number(value: float | ca.SX) -> Interval:
    """The interval of a single number."""
    traced = ca.SX(value)
    return Interval(traced, traced)


EVERYTHING: Interval = Interval(ca.SX(-INF), ca.SX(INF))
UNKNOWN = Enclosure(EVERYTHING, EVERYTHING)
_ZERO, _ONE = number(0.0), number(1.0)
_BOTH = _ONE  # surely, and maybe


def enclose(
    program: Program, given: Sequence[Enclosure], *, goes_on: bool = False
) -> list[Enclosure]:
    """Enclosures of a program's outputs.

    `given`: enclosures of its inputs t, x, u, p, one after the other; `goes_on`: whether atan2 is
    an angle that goes on after half a turn, whose rate is bounded there.
    """
    values = [*given, *(Enclosure(number(c), None) for c in program.constants)]
    for operation in program.operations:
        values.append(enclose_operation(operation, values, goes_on=goes_on))
    return [values[k] for k in program.outputs]


def enclose_operation(
    operation: Operation, values: Sequence[Enclosure], *, goes_on: bool = False
) -> Enclosure:
    """Enclosure of an operation's result, from those of all values before it."""
    kind, operands = operation
    given = [values[k] for k in operands]
    if all(each.value.is_number and each.rate is None for each in given) and kind in _PLAIN:
        return Enclosure(number(_PLAIN[kind](*(each.value.lower for each in given))), None)
    if kind == "mul" and operands[0] == operands[1]:
        found = _square(given[0])
    elif kind == "atan2":
        found = _atan2(given[0], given[1], goes_on)
    elif kind in _RULES:
        found = _RULES[kind](*given)
    else:
        return UNKNOWN
    return found._replace(whole=_whole(kind, given))


def _whole(kind: str, given: Sequence[Enclosure]) -> Interval | None:
    """Where the result of an operation is defined and without a pole, see :class:`Enclosure`."""
    if kind == "if_else":
        condition, *branches = given
        chosen, other = (branch.whole or _BOTH for branch in branches)
        if condition.whole is None and chosen is other is _BOTH:
            return None
        c = condition.value
        either = Interval(
            ca.logic_and(chosen.lower, other.lower), ca.logic_or(chosen.upper, other.upper)
        )
        branch = _chosen(c.lower > 0, chosen, _chosen(c.upper > 0, either, other))
        return _both(condition.whole, branch)
    whole = None
    for each in given:
        whole = _both(whole, each.whole)
    if kind in _DOMAINS and any(each.rate is not None for each in given):
        whole = _both(whole, _DOMAINS[kind](*given))
    return whole


def _both(a: Interval | None, b: Interval | None) -> Interval | None:
    """Truths of two that must both hold."""
    if a is None or b is None:
        return b if a is None else a
    return Interval(ca.logic_and(a.lower, b.lower), ca.logic_and(a.upper, b.upper))


# intervals


def _holds_zero(a: Interval) -> ca.SX:
    return ca.logic_and(a.lower <= 0, a.upper >= 0)


def hull(*some: Interval) -> Interval:
    """The least interval that holds some others."""
    lower, upper = some[0]
    for each in some[1:]:
        lower, upper = ca.fmin(lower, each.lower), ca.fmax(upper, each.upper)
    return Interval(lower, upper)


def _add(a: Interval, b: Interval) -> Interval:
    if a.is_number and b.is_number:
        return number(a.lower + b.lower)
    return Interval(a.lower + b.lower, a.upper + b.upper)


def _neg(a: Interval) -> Interval:
    return number(-a.lower) if a.is_number else Interval(-a.upper, -a.lower)


def _mul(a: Interval, b: Interval) -> Interval:
    if a.is_number and b.is_number:
        return number(a.lower * b.lower)
    if b.is_number:
        a, b = b, a
    if a.is_number:
        if a.lower.is_constant():
            ends = (a.lower * b.lower, a.lower * b.upper)
            return Interval(*ends) if float(a.lower) >= 0.0 else Interval(*ends[::-1])
        return hull(number(a.lower * b.lower), number(a.lower * b.upper))
    products = [number(x * y) for x in a for y in b]
    return hull(*products)


def _inverse(a: Interval) -> Interval:
    if a.is_number:
        return number(1.0 / a.lower)
    is_open = _holds_zero(a)
    return Interval(
        ca.if_else(is_open, -INF, 1.0 / a.upper), ca.if_else(is_open, INF, 1.0 / a.lower)
    )


def _div(a: Interval, b: Interval) -> Interval:
    if a.is_number and b.is_number:
        return number(a.lower / b.lower)
    return _mul(a, _inverse(b))


def _square_of(a: Interval) -> Interval:
    if a.is_number:
        return number(a.lower * a.lower)
    low, high = a.lower * a.lower, a.upper * a.upper
    return Interval(ca.if_else(_holds_zero(a), 0.0, ca.fmin(low, high)), ca.fmax(low, high))


def _rising(function: Callable[[ca.SX], ca.SX], a: Interval) -> Interval:
    """Enclosure of an increasing function."""
    if a.is_number:
        return number(function(a.lower))
    return Interval(function(a.lower), function(a.upper))


def _clipped(a: Interval, lower: float, upper: float) -> Interval:
    """Intersection of an interval with the domain of a function."""
    return _rising(lambda x: ca.fmin(ca.fmax(x, lower), upper), a)


def _sine(a: Interval, phase: float) -> Interval:
    """Enclosure of sin(a + phase), which is 1 where (a + phase − π/2) / 2π is an integer."""
    if a.is_number:
        return number(ca.sin(a.lower + phase))
    ends = hull(number(ca.sin(a.lower + phase)), number(ca.sin(a.upper + phase)))

    def holds(top: float) -> ca.SX:
        turns = [ca.floor((x + (phase - top)) / (2 * math.pi)) for x in a]
        return turns[1] > turns[0]

    return Interval(
        ca.if_else(holds(-math.pi / 2), -1.0, ends.lower),
        ca.if_else(holds(math.pi / 2), 1.0, ends.upper),
    )


def _chosen(condition: ca.SX, a: Interval, b: Interval) -> Interval:
    return Interval(
        ca.if_else(condition, a.lower, b.lower), ca.if_else(condition, a.upper, b.upper)
    )


# rates


def _sum_of_rates(a: Interval | None, b: Interval | None) -> Interval | None:
    if a is None or b is None:
        return b if a is None else a
    return _add(a, b)


def _times(slope: Interval, rate: Interval | None) -> Interval | None:
    return None if rate is None else _mul(slope, rate)


def _jumping(value: Interval, is_steady: ca.SX) -> Enclosure:
    """Enclosure of a function that is constant between its jumps."""
    return Enclosure(value, _chosen(is_steady, _ZERO, EVERYTHING))


# rules


def _sum(a: Enclosure, b: Enclosure) -> Enclosure:
    return Enclosure(_add(a.value, b.value), _sum_of_rates(a.rate, b.rate))


def _negative(a: Enclosure) -> Enclosure:
    return Enclosure(_neg(a.value), None if a.rate is None else _neg(a.rate))


def difference(a: Enclosure, b: Enclosure) -> Enclosure:
    """Enclosure of a − b."""
    return _sum(a, _negative(b))._replace(whole=_both(a.whole, b.whole))


def between_wholes(a: Enclosure) -> Enclosure:
    """Enclosure of sin πa, which is zero where a is a whole number."""
    return _RULES["sin"](_product(Enclosure(number(math.pi), None), a))._replace(whole=a.whole)


def _product(a: Enclosure, b: Enclosure) -> Enclosure:
    rate = _sum_of_rates(_times(b.value, a.rate), _times(a.value, b.rate))
    return Enclosure(_mul(a.value, b.value), rate)


def _square(a: Enclosure) -> Enclosure:
    twice = _mul(number(2.0), a.value)
    return Enclosure(_square_of(a.value), _times(twice, a.rate))


def _quotient(a: Enclosure, b: Enclosure) -> Enclosure:
    value = _div(a.value, b.value)
    rate = a.rate
    if b.rate is not None:
        rate = _sum_of_rates(rate, _neg(_mul(value, b.rate)))
    return Enclosure(value, None if rate is None else _div(rate, b.value))


def _smooth(
    value: Callable[[Interval], Interval], slope: Callable[[Interval, Interval], Interval]
) -> Callable[[Enclosure], Enclosure]:
    """Rule (3) of a function, and of its slope from its argument and its own value."""

    def rule(a: Enclosure) -> Enclosure:
        found = value(a.value)
        return Enclosure(found, _times(slope(a.value, found), a.rate))

    return rule


def _exp(a: Interval) -> Interval:
    return _rising(ca.exp, a)


def _sqrt(a: Interval) -> Interval:
    return _rising(ca.sqrt, _clipped(a, 0.0, INF))


def _log(a: Interval) -> Interval:
    return _rising(ca.log, _clipped(a, 0.0, INF))


def _cosh(a: Interval) -> Interval:
    if a.is_number:
        return number(ca.cosh(a.lower))
    low, high = ca.cosh(a.lower), ca.cosh(a.upper)
    return Interval(ca.if_else(_holds_zero(a), 1.0, ca.fmin(low, high)), ca.fmax(low, high))


def _tan(a: Interval) -> Interval:
    if a.is_number:
        return number(ca.tan(a.lower))
    branch = [ca.floor(x / math.pi + 0.5) for x in a]
    return _chosen(
        ca.eq(branch[0], branch[1]), Interval(ca.tan(a.lower), ca.tan(a.upper)), EVERYTHING
    )


def _less_square(a: Interval) -> Interval:
    """1 − a²."""
    return _add(_ONE, _neg(_square_of(a)))


def _plus_square(a: Interval) -> Interval:
    """1 + a²."""
    return _add(_ONE, _square_of(a))


def _power(a: Enclosure, b: Enclosure) -> Enclosure:
    exponent = b.value.lower
    if b.rate is not None or not b.value.is_number:
        return _RULES["exp"](_product(b, _RULES["log"](a)))
    if exponent.is_constant() and float(exponent).is_integer() and abs(float(exponent)) <= 64:
        return _whole_power(a, int(float(exponent)))
    # of what is positive; log refuses the rest by an unbounded interval
    return _RULES["exp"](_product(b, _RULES["log"](a)))


def _whole_power(a: Enclosure, n: int) -> Enclosure:
    if n < 0:
        return _quotient(Enclosure(_ONE, None), _whole_power(a, -n))
    if n < 2:
        return a if n else Enclosure(_ONE, None)
    ends = [number(x**n) for x in a.value]
    value = hull(*ends)
    if n % 2 == 0 and not a.value.is_number:
        value = Interval(ca.if_else(_holds_zero(a.value), 0.0, value.lower), value.upper)
    slope = _mul(number(float(n)), _whole_power(Enclosure(a.value, None), n - 1).value)
    return Enclosure(value, _times(slope, a.rate))


def _atan2(y: Enclosure, x: Enclosure, goes_on: bool) -> Enclosure:
    corners = [number(ca.atan2(b, a)) for b in y.value for a in x.value]
    is_whole = ca.logic_or(x.value.lower > 0, ca.logic_or(y.value.lower > 0, y.value.upper < 0))
    value = _chosen(is_whole, hull(*corners), Interval(ca.SX(-math.pi), ca.SX(math.pi)))
    turning = _sum_of_rates(
        _times(x.value, y.rate), None if x.rate is None else _neg(_mul(y.value, x.rate))
    )
    if turning is None:
        return Enclosure(value, None)
    rate = _div(turning, _add(_square_of(x.value), _square_of(y.value)))
    return Enclosure(value, rate if goes_on else _chosen(is_whole, rate, EVERYTHING))


def _hypot(a: Enclosure, b: Enclosure) -> Enclosure:
    return _RULES["sqrt"](_sum(_square(a), _square(b)))


def _abs(a: Enclosure) -> Enclosure:
    low, high = ca.fabs(a.value.lower), ca.fabs(a.value.upper)
    lower = ca.if_else(_holds_zero(a.value), 0.0, ca.fmin(low, high))
    slope = Interval(ca.sign(a.value.lower), ca.sign(a.value.upper))
    return Enclosure(Interval(lower, ca.fmax(low, high)), _times(slope, a.rate))


def _step_function(function: Callable[[ca.SX], ca.SX]) -> Callable[[Enclosure], Enclosure]:
    """Rule of a function that jumps, and is constant in between."""

    def rule(a: Enclosure) -> Enclosure:
        value = _rising(function, a.value)
        is_steady = ca.eq(value.lower, value.upper)
        return Enclosure(value, None) if a.rate is None else _jumping(value, is_steady)

    return rule


def _least(a: Enclosure, b: Enclosure) -> Enclosure:
    value = Interval(ca.fmin(*(x.value.lower for x in (a, b))), ca.fmin(a.value[1], b.value[1]))
    if a.rate is None and b.rate is None:
        return Enclosure(value, None)
    first, second = a.rate or _ZERO, b.rate or _ZERO
    rate = _chosen(a.value.upper < b.value.lower, first, hull(first, second))
    return Enclosure(value, _chosen(b.value.upper < a.value.lower, second, rate))


def _most(a: Enclosure, b: Enclosure) -> Enclosure:
    return _negative(_least(_negative(a), _negative(b)))


def _truth(surely: ca.SX, maybe: ca.SX, *given: Enclosure) -> Enclosure:
    """Enclosure of a condition: 1, 0, or both."""
    value = Interval(surely, maybe)
    if all(each.rate is None for each in given):
        return Enclosure(value, None)
    return _jumping(value, ca.eq(surely, maybe))


def _less(a: Enclosure, b: Enclosure) -> Enclosure:
    return _truth(a.value.upper < b.value.lower, a.value.lower < b.value.upper, a, b)


def _at_most(a: Enclosure, b: Enclosure) -> Enclosure:
    return _truth(a.value.upper <= b.value.lower, a.value.lower <= b.value.upper, a, b)


def _choice(condition: Enclosure, a: Enclosure, b: Enclosure) -> Enclosure:
    c = condition.value
    value = _chosen(c.lower > 0, a.value, _chosen(c.upper > 0, hull(a.value, b.value), b.value))
    if condition.rate is None and a.rate is None and b.rate is None:
        return Enclosure(value, None)
    first, second = a.rate or _ZERO, b.rate or _ZERO
    either = _chosen(c.upper > 0, EVERYTHING, second)
    return Enclosure(value, _chosen(c.lower > 0, first, either))


# domains


def _within(lower: float, upper: float, *, is_open: bool = False) -> Callable[..., Interval]:
    """Truths of a function that is defined from one number to another."""

    def truths(a: Enclosure) -> Interval:
        low, high = a.value
        if is_open:
            maybe = ca.logic_and(high > lower, low < upper)
            return Interval(ca.logic_and(low > lower, high < upper), maybe)
        maybe = ca.logic_and(high >= lower, low <= upper)
        return Interval(ca.logic_and(low >= lower, high <= upper), maybe)

    return truths


def _denominator(a: Enclosure, b: Enclosure) -> Interval | None:
    """Truths of a quotient: poles where the denominator is zero."""
    if b.rate is None and b.value.is_number:
        return None
    return Interval(ca.logic_not(_holds_zero(b.value)), _ONE.upper)


def _one_branch(a: Enclosure) -> Interval:
    """Truths of a tangent: no pole lies between the ends."""
    return Interval(ca.eq(*(ca.floor(x / math.pi + 0.5) for x in a.value)), _ONE.upper)


def _powers(a: Enclosure, b: Enclosure) -> Interval | None:
    """Truths of a power: whole ones are defined everywhere, others of what is not negative."""
    exponent = b.value.lower
    if b.rate is None and b.value.is_number and exponent.is_constant():
        power = float(exponent)
        if power.is_integer():
            return None if power >= 0.0 else _denominator(_UNIT, a)
        if power > 0.0:
            return _within(0.0, INF)(a)
    elif a.rate is None and a.value.is_number:
        return None
    return _within(0.0, INF, is_open=True)(a)


_UNIT = Enclosure(_ONE, None)

#: Where functions are defined and without a pole: surely everywhere, and maybe anywhere.
_DOMAINS: dict[str, Callable[..., Interval | None]] = {
    "sqrt": _within(0.0, INF),
    "log": _within(0.0, INF, is_open=True),
    "asin": _within(-1.0, 1.0),
    "acos": _within(-1.0, 1.0),
    "acosh": _within(1.0, INF),
    "atanh": _within(-1.0, 1.0, is_open=True),
    "tan": _one_branch,
    "div": _denominator,
    "pow": _powers,
}

#: Functions that numbers alone go through as they are.
_PLAIN: dict[str, Callable[..., ca.SX]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "pow": operator.pow,
    "abs": ca.fabs,
    "min": ca.fmin,
    "max": ca.fmax,
    "atan2": ca.atan2,
    "if_else": ca.if_else,
    **{
        word: getattr(ca, word)
        for word in (
            *("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sign", "floor", "ceil"),
        )
    },
}

_RULES: dict[str, Callable[..., Enclosure]] = {
    "add": _sum,
    "sub": difference,
    "mul": _product,
    "div": _quotient,
    "neg": _negative,
    "pow": _power,
    "hypot": _hypot,
    "sqrt": _smooth(_sqrt, lambda a, f: _div(number(0.5), f)),
    "exp": _smooth(_exp, lambda a, f: f),
    "log": _smooth(_log, lambda a, f: _inverse(_clipped(a, 0.0, INF))),
    "sin": _smooth(partial(_sine, phase=0.0), lambda a, f: _sine(a, math.pi / 2)),
    "cos": _smooth(partial(_sine, phase=math.pi / 2), lambda a, f: _sine(a, math.pi)),
    "tan": _smooth(_tan, lambda a, f: _plus_square(f)),
    "asin": _smooth(
        lambda a: _rising(ca.asin, _clipped(a, -1.0, 1.0)),
        lambda a, f: _inverse(_sqrt(_less_square(a))),
    ),
    "acos": _smooth(
        lambda a: _neg(_rising(lambda x: -ca.acos(x), _clipped(a, -1.0, 1.0))),
        lambda a, f: _neg(_inverse(_sqrt(_less_square(a)))),
    ),
    "atan": _smooth(lambda a: _rising(ca.atan, a), lambda a, f: _inverse(_plus_square(a))),
    "sinh": _smooth(lambda a: _rising(ca.sinh, a), lambda a, f: _cosh(a)),
    "cosh": _smooth(_cosh, lambda a, f: _rising(ca.sinh, a)),
    "tanh": _smooth(lambda a: _rising(ca.tanh, a), lambda a, f: _less_square(f)),
    "asinh": _smooth(lambda a: _rising(ca.asinh, a), lambda a, f: _inverse(_sqrt(_plus_square(a)))),
    "acosh": _smooth(
        lambda a: _rising(ca.acosh, _clipped(a, 1.0, INF)),
        lambda a, f: _inverse(_sqrt(_neg(_less_square(_clipped(a, 1.0, INF))))),
    ),
    "atanh": _smooth(
        lambda a: _rising(ca.atanh, _clipped(a, -1.0, 1.0)),
        lambda a, f: _inverse(_less_square(a)),
    ),
    "abs": _abs,
    "sign": _step_function(ca.sign),
    "floor": _step_function(ca.floor),
    "ceil": _step_function(ca.ceil),
    "min": _least,
    "max": _most,
    "lt": _less,
    "le": _at_most,
    "if_else": _choice,
}
