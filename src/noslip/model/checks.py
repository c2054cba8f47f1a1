"""The check of a model as a whole: all faults together, each as what, where and fix.

**Checks of names: those a model declares, and those by which its parts refer to each other.**

A declared name is readable in expressions, unique, not taken, and used.

**Checks of how joints connect bodies: nothing hangs in the air, nothing is tied to itself.**

**Checks of masses and inertia at the nominal parameter values.**

`moment` is about the z axis of the body. A body that gives it and is turned about another axis
would have no inertia at all there, and its motion would be wrong without a word.

**Checks of the default run of a model.**

Paths, timing laws, controllers, sensors and actuators are texts, whose words are known by a later
stage: its module `TASKS` is imported by name where a scenario has such texts.

**The check of a model as a whole: all faults together, each as what, where and fix.**

To add a check: write a generator of findings that takes the model and its vocabulary, and list it
in `CHECKS`. A check never raises; where something is not known because of another fault, it stays
silent, so that one mistake is one fault.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from noslip.base import Array, Fault, ModelError, counted, nearest
from noslip.expressions import (
    CONSTANTS,
    FUNCTIONS,
    ExpressionError,
    Scalar,
    is_finite,
    names_of,
    nominal,
    parse,
    read_symbol,
)
from noslip.model.bodies import WORLD, Body, Placement
from noslip.model.expression_checks import (
    TIME,
    Fields,
    Scope,
    Vocabulary,
    angle_names,
    check_array,
    check_expressions,
    check_number,
    check_numbers,
    check_text,
    check_units,
    kind_of,
    loop_finding,
    numbers_of,
    quoted,
    scope_of,
    texts_of,
    value_at,
    vocabulary,
)
from noslip.model.findings import (
    NOUNS,
    Finding,
    Locate,
    Path,
    field,
    hint,
    number_text,
    owner,
    vector_text,
)
from noslip.model.joints import Expansion, Joint, motion_numbers
from noslip.model.model import MAX_SAMPLES, Model, Scenario, ScenarioFollower, ScenarioPlant
from noslip.model.rows import in_order
from noslip.model.schema import Key, Kind, leaves
from noslip.model.transmissions import contradictions

#: Length of a model's name.
MAX_NAME = 100

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", re.ASCII)

# kinds whose names may have points in them, as caster.swivel
_DOTTED_KINDS = tuple(kind for kind in NOUNS if kind != "parameters")


def check_names(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All names that the model declares."""
    yield from _check_model_name(model.name)
    for kind, noun in NOUNS.items():
        names = [part.name for part in getattr(model, kind)]
        for name in names:
            whose = owner((kind, name))
            yield from check_identifier((kind, name), name, whose, is_dotted=kind in _DOTTED_KINDS)
        for name, count in Counter(names).items():
            if count > 1:
                yield Finding(
                    (kind, name),
                    f"{count} {kind.replace('_', ' ')} are called '{name}'",
                    f"give each {noun} its own name",
                )
    for body in model.bodies:
        if body.name == WORLD:
            yield Finding(
                ("bodies", WORLD),
                f"a body is called '{WORLD}', which is the name of the ground",
                f"give it another name; joints and planes refer to the ground as '{WORLD}'",
            )
    for kind in ("parameters", "definitions", "inputs", "speed_inputs"):
        for part in getattr(model, kind):
            yield from check_reserved((kind, part.name), part.name, owner((kind, part.name)))
    yield from _shared_names(model, known)
    for circle in in_order({d.name: d.expression for d in model.definitions})[1]:
        through = " → ".join([*circle, circle[0]])
        yield Finding(
            ("definitions", circle[0], "expression"),
            f"definition '{circle[0]}' uses itself: {through}",
            "write one of them without the others",
        )
    yield from _angle_names(model)
    yield from _speed_names(model, known)


def _check_model_name(name: str) -> Iterator[Finding]:
    """A model's name is a line of text that can name a folder for its runs."""
    fix = 'give it one, for example name = "my_robot"'
    if not name.strip():
        yield Finding(("name",), "the model has no name", fix)
    elif len(name) > MAX_NAME:
        yield Finding(
            ("name",), f"the model's name has {len(name)} characters, at most {MAX_NAME}", fix
        )
    elif not name.isprintable() or set(name) & set('/\\:*?"<>|') or name[0] in ". ":
        yield Finding(
            ("name",),
            f"the model's name is {name!r}, which cannot name a folder for its runs",
            'leave out / \\ : * ? " < > |, line breaks, and a dot or space at the start',
        )


def check_identifier(
    path: Path, name: str, whose: str, *, is_dotted: bool = False
) -> Iterator[Finding]:
    """A name must be letters, digits and underscores, since expressions use it.

    What belongs to something else may have its name before a point.
    """
    if not (_DOTTED if is_dotted else _IDENTIFIER).fullmatch(name):
        yield Finding(
            path,
            f"{whose} has a name that expressions cannot use",
            "use letters, digits and underscores, not starting with a digit, for example "
            f"'{_as_identifier(name)}'",
        )


def check_reserved(path: Path, name: str, whose: str) -> Iterator[Finding]:
    """A name must not be one that every expression already knows."""
    taken = None
    if name == TIME:
        taken = "time"
    elif name in CONSTANTS:
        taken = f"the constant {CONSTANTS[name]:.6g}"
    elif name in FUNCTIONS:
        taken = "a function"
    if taken:
        yield Finding(
            path,
            f"{whose} has a name that means {taken} in expressions",
            f"rename it, for example '{name}0'",
        )


def check_unused(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Warnings for parameters, inputs and definitions that nothing uses."""
    used: set[str] = set()
    for path, key, _, value in known.fields:
        if key.meaning.names == "input":
            used.add(value)
        for _, text in texts_of(path, key, value):
            try:
                used |= names_of(text) - set(key.meaning.own)
            except ExpressionError:
                continue
    declared: list[Path] = [("parameters", p.name) for p in model.parameters]
    # those of parts, as left.slip_angle, are there to be asked for
    declared += [("definitions", d.name) for d in model.definitions if "." not in d.name]
    declared += [("inputs", i.name) for i in model.inputs]
    if model.scenario:
        declared += [("scenario", "parameters", p.name) for p in model.scenario.parameters]
        declared += [("scenario", "definitions", name) for name in model.scenario.definitions]
    for path in declared:
        if path[-1] not in used:
            whose = f"definition '{path[2]}'" if path[1] == "definitions" else owner(path)
            yield Finding(
                path, f"{whose} is never used", "use it in an expression, or remove it", True
            )


def _shared_names(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Parameters, inputs, definitions and states of forces have names that nothing else has."""
    for name in dict.fromkeys(known.inputs):
        if name in known.speed_inputs:
            yield Finding(
                ("speed_inputs", name),
                f"an input and a speed input are both called '{name}'",
                "rename one of them; a scenario gives both kinds by name",
            )
    for parameter in model.parameters:
        if parameter.name in (*known.inputs, *known.speed_inputs):
            yield Finding(
                ("parameters", parameter.name),
                f"parameter '{parameter.name}' has the name of an input",
                "rename one of them; expressions refer to both by name",
            )
    moving = {*known.coordinates, *known.speeds, *known.angles, *known.rates}
    for kind in ("inputs", "speed_inputs", "definitions"):
        for given in getattr(model, kind):
            if given.name in moving:
                yield Finding(
                    (kind, given.name),
                    f"{owner((kind, given.name))} has the name of {kind_of(given.name, known)}",
                    "rename it; expressions refer to both by name",
                )
    named = {*moving, *known.inputs, *known.speed_inputs, *known.parameters}
    named |= {definition.name for definition in model.definitions}
    for force in model.forces:
        for state in force.states():
            if state.name in named:
                yield Finding(
                    ("forces", force.name),
                    f"force '{force.name}' has a state '{state.name}', and so is something else "
                    "called",
                    "rename one of them; expressions refer to both by name",
                )
    speeds = [s.name for s in model.independent_speeds if s.expression]
    for name in (definition.name for definition in model.definitions):
        if name in (*known.parameters, *known.inputs, *known.speed_inputs, *speeds):
            yield Finding(
                ("definitions", name),
                f"definition '{name}' has the name of a parameter, an input or a named speed",
                "rename one of them; expressions refer to both by name",
            )


def check_symbols(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Every symbol is a letter with an index, and those of joints belong to what the joint has."""
    for path, key, part, value in known.fields:
        if key.name not in ("symbol", "symbols") or not value:
            continue
        if isinstance(part, Joint):
            names = [q.name for q in (*part.type.coordinates, *part.type.speeds)]
            names += angle_names(part)
            names += [f"{name}_rate" for name in angle_names(part)]
            for name in value:
                if name not in names:
                    yield Finding(
                        (*path, name),
                        f"joint '{part.name}' has no coordinate or speed '{name}' to give a symbol",
                        nearest(name, names),
                    )
        texts = value.items() if isinstance(value, dict) else enumerate(value)
        for at, text in [("", value)] if isinstance(value, str) else texts:
            try:
                read_symbol(text)
            except ValueError as error:
                yield Finding(
                    (*path, at) if at != "" else path,
                    f"{owner(path)} has the symbol {quoted(text)}: {error}",
                    "write a letter with an index, such as I_1, θ or \\theta_w",
                )


def _angle_names(model: Model) -> Iterator[Finding]:
    """Named angles and their rates must not collide with each other or the joint's own names."""
    for joint in model.joints:
        angles = joint.type.named_angles()
        if angles is None:
            continue
        path = ("joints", joint.name, "angles", "names")
        for name in angles.names:
            yield from check_identifier(path, name, f"joint '{joint.name}', angle '{name}',")
        taken = dict.fromkeys(
            (q.name for q in (*joint.type.coordinates, *joint.type.speeds)),
            "its coordinate or speed",
        )
        for angle in angles.names:
            names = (angle, f"{angle}_rate")
            clash = next((name for name in names if name in taken), None)
            if clash is not None:
                yield Finding(
                    path,
                    f"joint '{joint.name}' calls an angle or rate '{clash}', the name of "
                    f"{taken[clash]}",
                    'give three other names, for example names = ["yaw", "pitch", "roll"]',
                )
            taken |= dict.fromkeys(names, "another angle or rate")


def _speed_names(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Independent speeds that are expressions need new names."""
    for k, speed in enumerate(model.independent_speeds):
        path = ("independent_speeds", k, "name")
        if not speed.expression:
            continue
        if speed.name in known.speeds:
            yield Finding(
                path,
                f"independent speed '{speed.name}' has an expression and the name of a tree speed",
                "give the expression a new name, or leave the expression out",
            )
        elif speed.name in (*known.parameters, *known.inputs, *known.speed_inputs):
            yield Finding(
                path,
                f"independent speed '{speed.name}' has the name of a parameter or an input",
                "rename one of them; expressions and columns refer to both by name",
            )
        else:
            whose = f"independent speed '{speed.name}'"
            yield from check_identifier(path, speed.name, whose)
            yield from check_reserved(path, speed.name, whose)


def _as_identifier(name: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "name"
    return f"n{kept}" if kept[0].isdigit() else kept


def check_references(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All names by which parts of the model refer to each other."""
    names: dict[str, Collection[str]] = {
        "body": known.bodies,
        "coordinate": known.coordinates,
        "coordinate or angle": (*known.coordinates, *known.angles),
        "speed": known.speeds,
        "input": known.inputs,
        "contact": [contact.name for contact in known.contacts],
    }
    for path, key, _, value in known.fields:
        kind = key.meaning.names
        if key.meaning.is_optional and not value:
            continue
        if kind and not (key.meaning.has_loops and value in known.forced[kind]):
            yield from check_reference(path, value, kind, names[kind], known)
        if key.meaning.choices and value not in key.meaning.choices:
            yield _not_among(path, value, key.meaning.choices)
    for contact in model.contacts:
        at = ("contacts", contact.name)
        if contact.body == WORLD != contact.plane.body:
            yield Finding(
                (*at, "body"),
                f"contact '{contact.name}' has its wheel or blade on '{WORLD}'",
                "put it on a body, if need be one that a fixed joint ties to the world",
            )
        if contact.body == contact.plane.body:
            yield Finding(
                at,
                f"contact '{contact.name}' has body '{contact.body}' touch a plane of its own",
                "name the body that carries the plane in plane.body, or the body that touches it",
            )
    yield from _check_speeds(model, known)


def check_reference(
    path: Path, name: str, kind: str, names: Collection[str], known: Vocabulary
) -> Iterator[Finding]:
    """A name of the given kind must be among `names`."""
    if name in names:
        return
    said = owner(path)
    if name in known.loop_names:
        yield loop_finding(path, said, name, known)
        return
    other = kind_of(name, known)
    if other is not None:
        what = f"{said} refers to {kind} '{name}', which is {other}"
    else:
        what = f"{said} refers to {kind} '{name}', which is not declared"
    yield Finding(path, what, hint(name, names) if names else f"the model has no {kind} yet")


def _not_among(path: Path, value: str, choices: tuple[str, ...]) -> Finding:
    listed = " or ".join(f'"{choice}"' for choice in choices)
    what = f'{owner(path)} has {field(path)} = "{value}", expected {listed}'
    return Finding(path, what, hint(value, choices))


def _check_speeds(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Speeds that are imposed, and those that are independent, are so once."""
    imposed: dict[str, str] = {}
    prescribed = {
        name: joint.name
        for joint in model.joints
        if joint.motion and set(joint.motion) >= {c.name for c in joint.type.coordinates}
        for name in joint.speed_names()
    }
    for given in model.speed_inputs:
        path = ("speed_inputs", given.name, "speed")
        if given.speed in imposed:
            yield Finding(
                path,
                f"speed inputs '{imposed[given.speed]}' and '{given.name}' both impose "
                f"'{given.speed}'",
                "keep one of them",
            )
        imposed.setdefault(given.speed, given.name)
        if given.speed in prescribed:
            yield Finding(
                path,
                f"speed input '{given.name}' imposes '{given.speed}', which the motion of joint "
                f"'{prescribed[given.speed]}' prescribes already",
                "remove the speed input or the motion",
            )
    seen: set[str] = set()
    for k, speed in enumerate(model.independent_speeds):
        at = ("independent_speeds", k, "name")
        if not speed.expression:
            yield from check_reference(at, speed.name, "speed", known.speeds, known)
        if speed.name in seen:
            yield Finding(
                at,
                f"independent speed '{speed.name}' is given twice",
                "keep one of them",
            )
        seen.add(speed.name)


def check_topology(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Every body is carried by a chain of joints from the world."""
    if not model.bodies:
        yield Finding(
            ("bodies",), "the model has no bodies", "add one, for example [bodies.platform]"
        )
    for joint in model.joints:
        path = ("joints", joint.name)
        if joint.parent == joint.child != WORLD:
            yield Finding(
                path,
                f"joint '{joint.name}' ties body '{joint.child}' to itself",
                "name two different bodies as parent and child",
            )
        elif joint.child == WORLD:
            fix = f'swap them: parent = "{WORLD}", child = "{joint.parent}"'
            yield Finding(
                (*path, "child"),
                f"joint '{joint.name}' has '{WORLD}' as its child, which nothing can carry",
                fix if joint.parent != WORLD else "name the body that it carries as its child",
            )
    yield from _hanging(model, known)


def check_motion(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Prescribed motions name coordinates of joints that have them."""
    loops = {joint.name for joint in known.topology.loops}
    for joint in model.joints:
        if joint.motion is None:
            continue
        if joint.name in loops:
            yield Finding(
                ("joints", joint.name, "motion"),
                f"joint '{joint.name}' prescribes a motion, but it closes a loop and has no "
                "coordinates",
                "prescribe the motion of a joint that carries a body; of the joints that reach a "
                f"body, the first listed carries it, so '{joint.name}' may be listed earlier",
            )
        else:
            yield from _check_motion(joint)


def check_single_joints(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Armature and limits belong to joints with one speed, which carry a body."""
    loops = {joint.name for joint in known.topology.loops}
    for joint in model.joints:
        given = {"armature": joint.armature != 0.0, "limits": joint.limits is not None}
        for key in (key for key, is_given in given.items() if is_given):
            path = ("joints", joint.name, key)
            if joint.name in loops:
                yield Finding(
                    path,
                    f"joint '{joint.name}' has {key}, but it closes a loop and has no coordinates",
                    f"list '{joint.name}' before the other joints that reach its child, or leave "
                    f"{key} out",
                )
            elif len(joint.type.speeds) != 1:
                yield Finding(
                    path,
                    f"joint '{joint.name}' has {key}, but a {joint.type.word} joint has "
                    f"{len(joint.type.speeds) or 'no'} speeds",
                    f"leave {key} out, or make it of joints with one speed each",
                )
        found = (value_at(end, known.finite_parameters) for end in joint.limits or ())
        ends = [end for end in found if end is not None]
        if len(ends) == 2 and not ends[0] < ends[1]:
            yield Finding(
                ("joints", joint.name, "limits"),
                f"joint '{joint.name}' has the limits {ends[0]:g} and {ends[1]:g}",
                "give the lowest coordinate, then the highest",
            )
        path = ("joints", joint.name, "restitution")
        bounce = value_at(joint.restitution, known.finite_parameters)
        if bounce is not None and bounce > 1.0:
            yield Finding(
                path,
                f"joint '{joint.name}' has the restitution {bounce:g}: it would gain energy at its "
                "limits",
                "give a number from 0 to 1",
            )
        if joint.restitution != 0.0 and joint.limits is None:
            yield Finding(
                path,
                f"joint '{joint.name}' has a restitution and no limits: it meets no stop",
                "write limits = [lowest, highest], or leave it out",
            )


def _hanging(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Bodies that the world does not reach, each group under the body or cycle it hangs on."""
    unreached = known.topology.unreached
    carriers: dict[str, Joint] = {}
    for joint in model.joints:
        if joint.child in unreached and joint.parent != joint.child:
            carriers.setdefault(joint.child, joint)
    groups: dict[tuple[str, ...], list[str]] = {}
    for body in dict.fromkeys(unreached):
        groups.setdefault(_root(body, carriers), []).append(body)
    # the body meant by a misspelled child is not known, so only the spelling is reported
    carriable = set(known.bodies) - {WORLD}
    misspelled = any(joint.child not in carriable for joint in model.joints)
    for root, bodies in groups.items():
        carried = [body for body in bodies if body not in root]
        also = f", and with {'it' if len(root) == 1 else 'them'} {_listed(carried)}"
        also = also if carried else ""
        if len(root) > 1:
            joints = _listed([carriers[body].name for body in root])
            yield Finding(
                ("bodies", root[0]),
                f"bodies {_listed(list(root))} hang in the air{also}: their joints {joints} form a "
                "cycle that does not reach the world",
                'add a joint with parent = "world" to one of them, listed before the cycle closes',
            )
        elif not misspelled and root[0] not in {
            j.child for j in model.joints if j.child == j.parent
        }:
            yield _uncarried(root[0], also, model)


def _uncarried(body: str, also: str, model: Model) -> Finding:
    path = ("bodies", body)
    what = f"body '{body}' hangs in the air{also}: no joint has it as its child"
    turned = next((j for j in model.joints if j.parent == body and j.child != WORLD), None)
    fix = f'add a joint with child = "{body}"'
    if turned is not None:
        fix += f", or swap parent and child of joint '{turned.name}'"
    return Finding(path, what, fix)


def _root(body: str, carriers: dict[str, Joint]) -> tuple[str, ...]:
    """The body without a joint at the upper end of a chain, or the bodies of the cycle there."""
    chain = [body]
    while chain[-1] in carriers:
        parent = carriers[chain[-1]].parent
        if parent in chain:
            cycle = chain[chain.index(parent) :]
            first = cycle.index(min(cycle))
            return tuple(cycle[first:] + cycle[:first])
        chain.append(parent)
    return (chain[-1],)


def _check_motion(joint: Joint) -> Iterator[Finding]:
    path = ("joints", joint.name, "motion")
    angles = angle_names(joint)
    coordinates = [c.name for c in joint.type.coordinates]
    start = joint.type.quaternion
    quaternion = coordinates[start : start + 4] if start is not None else []
    allowed = [name for name in coordinates if name not in quaternion] + list(angles)
    for name in joint.motion or {}:
        if name in quaternion:
            yield Finding(
                (*path, name),
                f"joint '{joint.name}' prescribes '{name}', one entry of a quaternion",
                "prescribe three named angles instead: "
                'angles = {sequence = "zyx", names = ["yaw", "pitch", "roll"]}',
            )
        elif name not in allowed:
            known = ", ".join(f"'{n}'" for n in allowed) or "none"
            yield Finding(
                (*path, name),
                f"joint '{joint.name}' prescribes '{name}', which a {joint.type.word} joint does "
                "not have",
                f"coordinates that can be prescribed here: {known}",
            )
    given = [name for name in angles if name in (joint.motion or {})]
    if 0 < len(given) < len(angles):
        missing = [name for name in angles if name not in given]
        yield Finding(
            path,
            f"joint '{joint.name}' prescribes {_listed(given)} but not {_listed(missing)}; an "
            "orientation is prescribed by all its named angles",
            "add " + " and ".join(f'{name} = "0"' for name in missing),
        )


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


#: By which joints a body turns, and about which axes in its own frame.
Turns = list[tuple[str, Array]]

#: Sine of the angle below which an axis counts as parallel to z.
PARALLEL = 1e-9

#: Principal moments are compared to rounding, relative to the largest of them.
ROUNDING = 1e-9


def check_inertia(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Mass and inertia of every body."""
    values = known.finite_parameters
    fixed = {joint.child for joint in model.joints if not joint.type.speeds}
    for body in model.bodies:
        path = ("bodies", body.name)
        mass = value_at(body.mass, values)
        if mass is not None and mass < 0.0:
            yield Finding(
                (*path, "mass"),
                f"body '{body.name}' has mass {number_text(mass)}, expected 0 or more",
                "give a mass in kg of zero or more",
            )
        elif mass == 0.0 and body.name not in fixed:  # a fixed one is a frame on another
            yield Finding(
                (*path, "mass"),
                f"body '{body.name}' has no mass; its motion must be fixed by bodies that have one",
                "give it a mass, or leave it if other bodies carry its motion",
                True,
            )
        if body.inertia is None and body.moment is None:
            yield Finding(
                path,
                f"body '{body.name}' has neither inertia nor moment",
                "add inertia = [Ixx, Iyy, Izz], about the axes of the body; or moment = Izz if it "
                "only ever turns about its z axis",
            )
        if body.inertia is not None and body.moment is not None:
            yield Finding(
                path,
                f"body '{body.name}' has both inertia and moment",
                "keep inertia, or moment (about z) if it only ever turns about its z axis",
            )
        if body.inertia is not None:
            yield from _check_tensor(body, values)
        moment = None if body.moment is None else value_at(body.moment, values)
        if moment is not None and moment < 0.0:
            yield Finding(
                (*path, "moment"),
                f"body '{body.name}' has moment {number_text(moment)}, expected 0 or more",
                "give a moment of inertia of zero or more",
            )


def _check_tensor(body: Body, values: dict[str, float]) -> Iterator[Finding]:
    """Three or six entries; principal moments not negative, none above the sum of the others."""
    path = ("bodies", body.name, "inertia")
    given = body.inertia if isinstance(body.inertia, tuple) else ()
    if len(given) not in (3, 6):
        yield Finding(
            path,
            f"body '{body.name}' has inertia with {len(given)} values, expected 3 or 6",
            "give (Ixx, Iyy, Izz) or (Ixx, Iyy, Izz, Ixy, Ixz, Iyz)",
        )
        return
    entries = [value_at(entry, values) for entry in given]
    numbers = [entry for entry in entries if entry is not None]
    if len(numbers) != len(entries):
        return
    xx, yy, zz, xy, xz, yz = (*numbers, 0.0, 0.0, 0.0)[:6]
    moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    largest = float(np.abs(moments).max())
    listed = vector_text(tuple(float(m) for m in moments))
    if moments[0] < -ROUNDING * largest:
        yield Finding(
            path,
            f"body '{body.name}' has principal moments of inertia {listed}, expected 0 or more",
            "check the entries and the signs of the products: Ixy = -∫ x y dm",
        )
    elif moments[0] + moments[1] < moments[2] - ROUNDING * largest:
        yield Finding(
            path,
            f"body '{body.name}' has principal moments of inertia {listed}, which no body has: "
            "the largest is above the sum of the others",
            "check the entries; A + B >= C holds for every distribution of mass",
            True,
        )


def check_moment(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """Check that bodies with a moment turn about their z axis, with all joints at rest."""
    flat = [body.name for body in model.bodies if body.moment is not None]
    values = known.finite_parameters
    turns: dict[str, Turns] = {WORLD: []}
    for joint in known.topology.tree if flat else ():
        before = turns.get(joint.parent)
        found = None if before is None else _turns(joint, before, values)
        if found is not None:
            turns[joint.child] = found
    for name in flat:
        wrong = [turn for turn in turns.get(name, []) if np.hypot(*turn[1][:2]) > PARALLEL]
        if wrong:
            joint_name, axis = wrong[0]
            yield Finding(
                ("bodies", name, "moment"),
                f"body '{name}' has moment, its inertia about its own z axis alone, but joint "
                f"'{joint_name}' turns it about {vector_text(tuple(axis.round(9) + 0.0))}",
                "give inertia = [Ixx, Iyy, Izz] instead, about the axes of the body",
                True,
            )


def _turns(joint: Joint, before: Turns, values: dict[str, float]) -> Turns | None:
    """By what the child turns, in its frame, with all joints at rest; None if that is not known.

    ω_child = Rᵀ ω_parent + R_BM H v, H the angular part of the joint's motion, and
    R = R_PF R_BMᵀ since F and M coincide at rest.
    """
    R_PF, R_BM = (_rotation(f, values) for f in (joint.parent_frame, joint.child_frame))
    if R_PF is None or R_BM is None:
        return None
    try:
        H = motion_numbers(joint.type, values)[:3]
    except (TypeError, KeyError, IndexError, ExpressionError):
        # fields that cannot be read are faults of their own
        return None
    if not np.all(np.isfinite(H)):
        return None
    columns = [column for column in H.T if column.any()]
    own = [(joint.name, R_BM @ column) for column in columns]
    return [(name, (R_PF @ R_BM.T).T @ axis) for name, axis in before] + own


def _rotation(frame: Placement, values: dict[str, float]) -> Array | None:
    """R₁(a₁) R₂(a₂) R₃(a₃), or None if an angle is not known."""
    R = np.eye(3)
    for letter, entry in zip(frame.sequence, frame.angles, strict=False):
        angle = value_at(entry, values)
        if angle is None or letter not in "xyz":
            return None
        i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[letter]
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        R = R @ turn
    return R


#: Module whose `text_faults` reads the texts of a scenario.
TASKS = "noslip.control.controlled_runs"
#: That of a plan.
PLANS = "noslip.planning.optimal"


def check_scenario(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """The scenario, if the model has one."""
    scenario = model.scenario
    if scenario is None:
        return
    named = tuple(s.name for s in model.independent_speeds if s.expression)
    yield from _check_names(scenario, known, named)
    yield from _check_keys(scenario, known, named)
    # an orientation starts from named angles or from a quaternion, not from both
    for joint in model.joints:
        start = joint.type.quaternion
        if start is None:
            continue
        entries = joint.coordinate_names()[start : start + 4]
        angles = [f"{joint.name}.{name}" for name in angle_names(joint)]
        first = [name for name in entries if name in scenario.start][:1]
        second = [name for name in angles if name in scenario.start][:1]
        if first and second:
            yield Finding(
                ("scenario", "start"),
                f"the scenario starts joint '{joint.name}' from both '{first[0]}' and "
                f"'{second[0]}'",
                "give its orientation by the named angles, or by the quaternion",
            )
    yield from _check_task(scenario)
    if scenario.plant is not None:
        yield from _check_plant(model, scenario.plant)
    yield from _check_texts(scenario, known, named, _reactions(model, scenario, known))
    if scenario.path or scenario.controller or scenario.timing or scenario.plant is not None:
        yield from importlib.import_module(TASKS).text_faults(model, known)


def check_plan(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """The task of `plan`, if the model has one."""
    plan = model.plan
    if plan is None:
        return
    if not plan.goal:
        yield Finding(("plan", "goal"), "the plan has an empty goal", "add goal = {base.x = 2.5}")
    if not 0 <= plan.clearance < float("inf"):
        yield Finding(
            ("plan", "clearance"),
            f"the plan has clearance {number_text(plan.clearance)} m",
            "give 0 or more, in m",
        )
    yield from importlib.import_module(PLANS).text_faults(model, known)


def _check_task(scenario: Scenario) -> Iterator[Finding]:
    """Check the times, and what is asked: inputs, a motion or a path, which a controller needs."""
    duration = value_at(scenario.duration, {})
    if duration is not None and duration <= 0.0:
        yield Finding(
            ("scenario", "duration"),
            f"the scenario has duration {number_text(duration)} s, expected more than 0",
            "give the time to simulate in s, for example duration = 10",
        )
    if scenario.samples < 2:
        yield Finding(
            ("scenario", "samples"),
            f"the scenario has {counted(scenario.samples, 'sample')}, expected 2 or more",
            "count both ends, for example samples = 501",
        )
    elif scenario.samples > MAX_SAMPLES:
        yield Finding(
            ("scenario", "samples"),
            f"the scenario has {scenario.samples} samples, expected {MAX_SAMPLES} or fewer",
            "give as many as you want to look at, for example samples = 501",
        )
    given = [word for word in ("inputs", "motion", "path") if getattr(scenario, word)]
    if len(given) > 1:
        said = {"inputs": "inputs", "motion": "a motion", "path": "a path"}
        first, second = given[:2]
        yield Finding(
            ("scenario", second),
            f"the scenario gives both {said[first]} and {said[second]}, from which inputs would "
            "follow",
            f"keep scenario.{first} or scenario.{second}",
        )
    of_path = {"timing": scenario.timing, "follower": scenario.follower}
    for word, value in of_path.items():
        if value and not scenario.path:
            yield Finding(
                ("scenario", word),
                f"the scenario has a {word}, and no path",
                'add a path, such as path = "circle:radius=2"',
            )
    for word in ("controller", "limits", "period", "plant"):
        if getattr(scenario, word) and not scenario.has_reference:
            yield Finding(
                ("scenario", word),
                f"the scenario has {field(('scenario', word))}, and nothing to follow",
                'add a path, such as path = "circle:radius=2", or a motion of coordinates',
            )
    if not 0 <= scenario.period < float("inf"):
        yield Finding(
            ("scenario", "period"),
            f"the scenario has period {number_text(scenario.period)} s",
            "give the time between samples of the controller, or 0",
        )


def _check_plant(model: Model, plant: ScenarioPlant) -> Iterator[Finding]:
    """Disturbances, estimator and forces of the plant."""
    at = ("scenario", "plant")
    if plant.disturbances and not plant.model:
        yield Finding(
            (*at, "disturbances"),
            "the plant has disturbances, but its inputs are all the controller's",
            "give plant.model, a model with an input of its own for them, or plant.forces",
        )
    if not plant.estimator:
        for word in ("start_sigma", "input_sigma", "drift"):
            if getattr(plant, word):
                yield Finding(
                    (*at, word),
                    f"the plant has {word} of an estimator, and no estimator",
                    'add estimator = "ekf"',
                )
    taken = {force.name for force in model.forces}
    for force in plant.forces:
        path = (*at, "forces", force.name)
        yield from check_identifier(path, force.name, f"force '{force.name}'", is_dotted=True)
        if force.name in taken:
            yield Finding(
                path, f"the model has a force '{force.name}', too", "give this one another name"
            )


def _check_names(
    scenario: Scenario, known: Vocabulary, named: tuple[str, ...]
) -> Iterator[Finding]:
    """Parameters and definitions of the scenario have usable names of their own."""
    parameters = [p.name for p in scenario.parameters]
    taken = {
        **{name: "an independent speed" for name in named},
        **{name: "an input" for name in (*known.inputs, *known.speed_inputs)},
        **{name: "a parameter of the model" for name in known.parameters},
    }
    for kind, noun, names in (
        ("parameters", "scenario parameter", parameters),
        ("definitions", "definition", list(scenario.definitions)),
    ):
        for name, count in Counter(names).items():
            path, whose = ("scenario", kind, name), f"{noun} '{name}'"
            yield from check_identifier(path, name, whose)
            yield from check_reserved(path, name, whose)
            if count > 1:
                yield Finding(
                    path,
                    f"{count} scenario parameters are called '{name}'",
                    "give each its own name",
                )
            if name in taken:
                yield Finding(path, f"{whose} has the name of {taken[name]}", "rename one of them")
        taken |= {name: "a scenario parameter" for name in parameters}


def _check_keys(scenario: Scenario, known: Vocabulary, named: tuple[str, ...]) -> Iterator[Finding]:
    """Keys of the scenario's tables are names of what they give values to."""
    inputs = (*known.inputs, *known.speed_inputs)
    starting = (*known.coordinates, *known.speeds, *known.angles, *known.rates, *named)
    tables: list[tuple[Path, Mapping[str, Scalar], str, Collection[str]]] = [
        (("start",), scenario.start, "coordinate or speed", starting),
        (("inputs",), scenario.inputs, "input", inputs),
        (("motion",), scenario.motion, "coordinate", known.coordinates),
        (("limits",), scenario.limits, "input", inputs),
    ]
    if scenario.follower is not None:
        reference = scenario.follower.reference
        tables.append((("follower", "reference"), reference, "coordinate", starting))
    plant = scenario.plant
    if plant is not None and not plant.model:
        # another model may have names of its own
        tables.append((("plant", "parameters"), plant.parameters, "parameter", known.parameters))
        tables.append((("plant", "start"), plant.start, "coordinate or speed", starting))
    if plant is not None:
        tables.append((("plant", "input_sigma"), plant.input_sigma, "input", known.inputs))
    for place, given, kind, names in tables:
        for name in given:
            yield from check_reference(("scenario", *place, name), name, kind, names, known)


def _reactions(model: Model, scenario: Scenario, known: Vocabulary) -> set[str]:
    """Constraint forces, and forces of tires, that outputs may use.

    Only the equations know which rows a loop has, and which wheels stand under a planar joint; a
    wrong one is told when they are compiled.
    """
    rows = {row.name for row in model.rows} | {given.name for given in model.speed_inputs}
    rows |= {f"{c.name}.{direction}" for c in model.contacts for direction in c.directions()}
    parts = [f"{kind}{axis}" for kind in ("", "moment_", "point_") for axis in "xyz"]
    joints = {f"joint_reaction.{joint.name}.{part}" for joint in model.joints for part in parts}
    loops = tuple(f"reaction.{joint.name}." for joint in known.topology.loops)
    used = {name for text in scenario.outputs.values() for name in _names(text)}
    if any(joint.type.is_planar for joint in model.joints):
        wheels = [c.name for c in model.contacts if c.is_wheel]
        joints |= {f"{word}.{name}" for word in ("support", "load") for name in wheels}
    # whether a force slides over a plane is known when it is traced
    loops += tuple(f"force.{force.name}." for force in model.forces if force.planes())
    return joints | {f"reaction.{row}" for row in rows} | {n for n in used if n.startswith(loops)}


def _names(text: object) -> frozenset[str]:
    """Names of an expression; none of a text that cannot be read."""
    try:
        return names_of(text) if isinstance(text, str) else frozenset()
    except ExpressionError:
        return frozenset()


def _check_texts(
    scenario: Scenario, known: Vocabulary, named: tuple[str, ...], reactions: set[str]
) -> Iterator[Finding]:
    """Expressions use parameters, t and definitions, which see only those declared before them."""
    own = {p.name: p.value for p in scenario.parameters}
    values = {**known.finite_parameters, **{n: v for n, v in own.items() if value_at(v, {}) == v}}
    scope = scope_of(known, (TIME,), definitions=own)
    seen, later = set(scope.names), set(scenario.definitions)
    for name, text in scenario.definitions.items():
        later.discard(name)
        path = ("scenario", "definitions", name)
        yield from check_text(path, text, Scope(seen, scope.words, later), known, values)
        seen.add(name)
    given = scope_of(known, (TIME,), definitions=seen)
    moving = ("coordinates", "speeds", "angles", "rates", TIME)
    seen |= set(known.definitions)
    stop = scope_of(known, moving, definitions={*seen, *named})
    inputs = {*known.inputs, *known.speed_inputs}
    outputs = scope_of(known, moving, definitions={*seen, *named, *inputs, *reactions})
    scopes = {
        **{"start": given, "inputs": given, "motion": given},
        **{"stop": stop, "outputs": outputs},
    }
    yield from _check_plain(scenario, scope_of(known, (), definitions=own), known, values)
    for part, scope in scopes.items():
        for name, entry in getattr(scenario, part).items():
            if not isinstance(entry, str):
                continue
            path = ("scenario", part, name)
            findings = list(check_text(path, entry, scope, known, values))
            yield from findings
            if part == "start" and not findings:
                yield from _check_start_value(name, entry, scenario, values)


def _check_plain(
    scenario: Scenario, scope: Scope, known: Vocabulary, values: Mapping[str, float]
) -> Iterator[Finding]:
    """Scalars of limits, follower and plant are numbers or expressions of parameters."""
    follower = scenario.follower or ScenarioFollower()
    plant = scenario.plant or ScenarioPlant()
    entries: dict[Path, Scalar | None] = {}
    of_follower = (
        *("point", "direction", "wheelbase", "largest_steering", "steering_rate"),
        *("hitch", "trailer"),
    )
    of_plant = ("parameters", "start", "start_sigma", "input_sigma", "drift", "gravity")
    for home, part, words in (
        (("follower",), follower, (*of_follower, "reference")),
        (("plant",), plant, of_plant),
        ((), scenario, ("limits",)),
    ):
        for word in words:
            held, path = getattr(part, word), ("scenario", *home, word)
            if isinstance(held, dict):
                entries |= {(*path, name): value for name, value in held.items()}
            elif isinstance(held, tuple):
                entries |= {(*path, k): value for k, value in enumerate(held)}
            else:
                entries[path] = held
    for path, entry in entries.items():
        if isinstance(entry, str):
            yield from check_text(path, entry, scope, known, values)
    if isinstance(follower.heading, str):
        own = Scope({*scope.names, "s"}, f"{scope.words} and s")
        path = ("scenario", "follower", "heading")
        yield from check_text(path, follower.heading, own, known, values)
    for name, entry in plant.disturbances.items():
        path = ("scenario", "plant", "disturbances", name)
        try:
            parse(str(entry))
        except ExpressionError as error:
            yield Finding(
                path,
                f"the scenario has {field(path)} = {quoted(str(entry))}, which cannot be read: "
                f"{error}",
                'write an expression of t and parameters of the plant, such as "5*sin(t)"',
            )


def _check_start_value(
    name: str, text: str, scenario: Scenario, values: Mapping[str, float]
) -> Iterator[Finding]:
    """A start value that depends on t has a finite value at t = 0."""
    known = {**values, TIME: 0.0}
    try:
        for definition, expression in scenario.definitions.items():
            known[definition] = nominal(expression, known)
        value = nominal(text, known)
    except (ExpressionError, KeyError):
        return
    if value != value:
        path = ("scenario", "start", name)
        yield Finding(
            path,
            f"the scenario has {field(path)} = {quoted(text)}, which has no finite value at t = 0",
            "write an expression that has a value at the start",
        )


Check = Callable[[Model, Vocabulary], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    check_names,
    check_references,
    check_symbols,
    check_topology,
    check_motion,
    check_single_joints,
    check_numbers,
    check_inertia,
    check_moment,
    check_expressions,
    check_units,
    check_scenario,
    check_plan,
    check_unused,
)


def check_model(
    model: Model, *, locate: Locate | None = None, expanded: Expansion | None = None
) -> tuple[Fault, ...]:
    """Warnings about a model that can be used.

    Parameters
    ----------
    model : Model
        What to check.
    locate : function, optional
        Turns a path such as ``("joints", "steer", "axis")`` into the text of `Fault.where`, such as
        ``car.toml, line 27, joints.steer.axis``; without it the text is ``joints.steer.axis``.

    expanded : Expansion, optional
        Where the parts of composite joints come from.

    Returns
    -------
    tuple of Fault
        What is unusual but allowed: a massless body, an inertia no real body has, an unused name.

    Raises
    ------
    ModelError : with all faults that keep the model from being used.
    """
    findings = find_faults(model, expanded)
    faults = [finding.fault(locate) for finding in findings if not finding.warning]
    if faults:
        # shapes come last: a negative radius is reported of the wheel, then of its shape
        raise ModelError.from_faults(sorted(faults, key=lambda fault: ".shapes[" in fault.where))
    return tuple(finding.fault(locate) for finding in findings)


def find_faults(model: Model, expanded: Expansion | None = None) -> list[Finding]:
    """All findings about a model, faults and warnings, with their paths as they are written."""
    fields = tuple(leaves(model))
    # nothing can be said of values that are not texts or tables
    findings = check_kinds(fields)
    if not findings:
        with np.errstate(all="ignore"):  # numbers without a meaning are findings, not warnings
            known = vocabulary(model, fields)
            found = {check: list(check(model, known)) for check in CHECKS}
            is_faulty = any(not finding.warning for some in found.values() for finding in some)
            found[check_references] += _findings_of_members(model, known, is_faulty)
        # of a field that is at fault otherwise, its dimension says nothing new
        others = [f for check, some in found.items() if check is not check_units for f in some]
        wrong = {finding.path for finding in others if not finding.warning}
        found[check_units] = [f for f in found[check_units] if f.path not in wrong]
        findings = [finding for some in found.values() for finding in some]
    if expanded is None or not expanded.origins:
        return findings
    moved = [dataclasses.replace(f, path=expanded.path(f.path)) for f in findings]
    return [*expanded.findings, *moved]


def _findings_of_members(model: Model, known: Vocabulary, is_faulty: bool) -> Iterator[Finding]:
    """What each shape, joint type, contact, row and force says of its own fields together.

    In a model that is refused anyway a field may have no value; its member then stays silent.
    """
    asked: list[tuple[Path, Callable[[], Iterable[Finding]]]] = [
        ((), partial(shape.faults, ("bodies", body.name, "shapes", k)))
        for body in model.bodies
        for k, shape in enumerate(body.shapes)
    ]
    asked += [((), partial(j.type.faults, ("joints", j.name), known)) for j in model.joints]
    asked += [((), partial(contact.faults, known)) for contact in model.contacts]
    asked += [((), partial(row.faults, known)) for row in model.rows]
    asked += [((), partial(contradictions, model.rows, known))]
    asked += [((), partial(force.faults, known)) for force in model.forces]
    if model.scenario is not None and model.scenario.plant is not None:
        pushes = model.scenario.plant.forces
        asked += [(("scenario", "plant"), partial(force.faults, known)) for force in pushes]
    for place, faults in asked:
        try:
            yield from (replace(f, path=(*place, *f.path)) for f in faults())
        except (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError):
            if not is_faulty:
                raise


def check_kinds(fields: Fields) -> list[Finding]:
    """Findings about fields that must be texts, truth values, tables or numbers and are not."""
    return [finding for path, key, _, value in fields for finding in _check_kind(path, key, value)]


_TYPES: dict[Kind, type] = {
    Kind.TEXT: str,
    Kind.TRUTH: bool,
    Kind.SCALAR_TABLE: dict,
    Kind.TEXT_TABLE: dict,
}

_EXAMPLES = {
    Kind.TEXT: 'write it in quotes, such as {name}="…"',
    Kind.TRUTH: "write {name}=True or {name}=False",
    Kind.SCALAR_TABLE: 'write {name}={{"wheel1.angle": 0.5}}',
    Kind.TEXT_TABLE: 'write {name}={{"angle": "0.5*t"}}, with expressions in quotes',
}


def _check_kind(path: Path, key: Key, value: Any) -> Iterator[Finding]:
    """One field that must be a text, a truth value, a table, or numbers that a float can hold.

    A file is checked for this as it is read; a model that was built may hold anything.
    """
    if key.kind is Kind.NUMBERS:
        yield from check_array(path, key, value)
    for at, entry in numbers_of(path, key, value):
        if not (isinstance(entry, float) or is_finite(entry)):
            yield from check_number(at, entry)
    expected = _TYPES.get(key.kind)
    if expected is None:
        return
    wrong = not isinstance(value, expected)
    if not wrong and isinstance(value, dict):
        wrong = not all(isinstance(name, str) for name in value)
        if key.kind is Kind.TEXT_TABLE:
            wrong = wrong or not all(isinstance(text, str) for text in value.values())
    if wrong:
        yield Finding(
            path,
            f"{owner(path)} has {field(path)} = {value!r:.60}, expected {key.kind.value}",
            _EXAMPLES[key.kind].format(name=key.name),
        )
