"""Expressions of a run, and the names they know beyond those of a model.

**Loads of wheels that stand under a planar joint, traced: which of them the ground would pull on.**

A planar joint holds its child at a height and upright; with (2) of `analysis/contact_loads.py` the
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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations

import casadi as ca
import numpy as np

from noslip.algebra import cross, symmetric_solve, traced_angles
from noslip.base import CompileError, NoslipError, SimulationError, nearest
from noslip.engines import System
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


def _bases(system: System) -> dict[int, list[str]]:
    """Planar joint, by its place in the tree → the wheels that stand under it."""

    def find() -> dict[int, list[str]]:
        kin, found = system.kinematics, {}
        if system.costates or not kin.contacts:
            return {}
        unknown = unknown_wrenches(kin)
        for j, node in enumerate(kin.tree.nodes):
            under = kin.wheels_under(node.joint, system.parameters())
            if len(under) > 2 and node.joint.name not in unknown and _spread(system, under):
                found[j] = [kin.contacts[k].contact.name for k in under]
        return found

    return system.cached("bases on wheels", find)


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
    """Constraint forces by name: ``reaction.ROW`` and ``joint_reaction.JOINT.PART``.

    A row's is its multiplier. Of a joint ``x``, ``y``, ``z`` are the force on its child in world
    axes, ``moment_x`` … the moment about the joint's point, ``point_x`` … that point. Of a wheel
    under a planar joint, whose load is no row, ``support.WHEEL`` is negative where the ground would
    have to pull on it, and ``load.WHEEL`` its load on springs that also pull; under three wheels
    both are the load.
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


def load_name(system: System, contact: str) -> str:
    """The name of a contact's load among `reaction_values`; empty where it has none."""

    def find() -> dict[str, str]:
        kin = system.kinematics
        # a row that says nothing (a wheel's height under a planar joint) holds nothing
        silent = {kin.rows[r.row].name for r in kin.redundant if not r.follows_from}
        rows = (f"{trace.contact.name}.{NORMAL}" for trace in kin.contacts)
        of_rows = {row.name for row in kin.rows} - silent
        found = {
            row.removesuffix(f".{NORMAL}"): f"reaction.{row}" for row in rows if row in of_rows
        }
        return found | {name: f"support.{name}" for name in planar_supports(system)}

    return "" if system.costates else system.cached("loads", find).get(contact, "")


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
        reader = reader.measuring(kin.measures(system.equations.speed_rates))
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
        load = load_name(system, contact.name).replace("support.", "load.")
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
