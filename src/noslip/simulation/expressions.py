"""Expressions of a run, and the names they know beyond those of a model.

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
from functools import partial

import casadi as ca

from noslip.algebra import traced_angles
from noslip.base import SimulationError, nearest
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
from noslip.kinematics import named as named_symbols
from noslip.model import NORMAL, WORLD, DimensionError, bears_force, dimension, is_undefined
from noslip.simulation.planar_loads import planar_supports
from noslip.simulation.starts.layout import Orientation, layout_of

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
    have to pull on it; under three wheels it is the load.
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
    system, text : in whose symbols it is read.
    where : what it is, for the message.
    definitions : named expressions, each of what comes before it, that the text may use; or symbols
        under their names.
    angles : what named angles stand for instead, by name.
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


def trace_outputs(
    system: System, outputs: Mapping[str, str], definitions: Mapping[str, str | ca.SX] | None = None
) -> ca.SX:
    """Expressions of the motion, accelerations and inputs among them, as one traced column."""
    read = [
        read_expression(system, text, f"output '{name}'", definitions, is_output=True)
        for name, text in outputs.items()
    ]
    return ca.densify(ca.vertcat(*read)) if read else ca.SX(0, 1)


def check_outputs(system: System, outputs: Mapping[str, str]) -> None:
    """Refuse outputs that would hide what has their name already."""
    taken = {"time", "t", *units_by_name(system)} if outputs else ()
    for name, text in outputs.items():
        if isinstance(name, str) and (name not in taken or text == name):
            continue
        raise SimulationError(
            f"output '{name}' has the name of a column that every run has"
            if isinstance(name, str)
            else f"output {name!r:.60} has no name",
            f"outputs of model '{system.model.name}'",
            "give it a name of its own: outputs={'tip_height': 'point(arm, 0.5, 0, 0).z'}",
        )


def output_units(system: System, outputs: Mapping[str, str]) -> dict[str, str]:
    """Units of outputs, from those of what they use; empty where they cannot be told."""
    units = units_by_name(system) | {q.name: q.unit for q in system.inputs} | {"t": "s"}
    units |= {name: unit for name, (unit, _) in reaction_values(system).items()}
    model = system.model
    units |= {p.name: p.unit for p in model.parameters}
    units |= {d.name: d.unit for d in model.definitions if d.unit}
    scope = {name: read_unit(unit) for name, unit in units.items()}
    found = {}
    for name, text in outputs.items():
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
