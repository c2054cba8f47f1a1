"""Checks of names: those a model declares, and those by which its parts refer to each other.

A declared name is readable in expressions, unique, not taken, and used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from noslip.base import nearest
from noslip.expressions import CONSTANTS, FUNCTIONS, ExpressionError, names_of, read_symbol
from noslip.model.bodies import WORLD
from noslip.model.checks_expressions import kind_of, loop_finding, quoted, texts_of
from noslip.model.contacts import AbstractContact
from noslip.model.definitions import circle_findings
from noslip.model.findings import NOUNS, Finding, Path, field, hint, owner
from noslip.model.joints import Joint
from noslip.model.known_names import TIME, Vocabulary, angle_names
from noslip.model.model import Model
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
    for path, name in _declared(model):
        yield from check_identifier(path, name, owner(path), is_dotted=path[0] in _DOTTED_KINDS)
    for kind in NOUNS:
        yield from _duplicates(kind, getattr(model, kind))
    yield from _shared_inputs(model)
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
    for parameter in model.parameters:
        if parameter.name in (*known.inputs, *known.speed_inputs):
            yield Finding(
                ("parameters", parameter.name),
                f"parameter '{parameter.name}' has the name of an input",
                "rename one of them; expressions refer to both by name",
            )
    yield from _input_names(model, known)
    yield from _definition_names(model, known)
    yield from circle_findings(model.definitions)
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


def _declared(model: Model) -> Iterator[tuple[Path, str]]:
    """Paths and names of all named parts."""
    for kind in NOUNS:
        yield from (((kind, part.name), part.name) for part in getattr(model, kind))


def _duplicates(kind: str, parts: Iterable[Any]) -> Iterator[Finding]:
    for name, count in Counter(part.name for part in parts).items():
        if count > 1:
            yield Finding(
                (kind, name),
                f"{count} {kind.replace('_', ' ')} are called '{name}'",
                f"give each {NOUNS[kind]} its own name",
            )


def _shared_inputs(model: Model) -> Iterator[Finding]:
    speed_inputs = {i.name for i in model.speed_inputs}
    for name in dict.fromkeys(i.name for i in model.inputs):
        if name in speed_inputs:
            yield Finding(
                ("speed_inputs", name),
                f"an input and a speed input are both called '{name}'",
                "rename one of them; a scenario gives both kinds by name",
            )


def _input_names(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """An input or a definition must not have the name of a coordinate or a speed."""
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


def _definition_names(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """A definition must not have the name of anything else that expressions know."""
    speeds = [s.name for s in model.independent_speeds if s.expression]
    for definition in model.definitions:
        name = definition.name
        taken = (*known.parameters, *known.inputs, *known.speed_inputs, *speeds)
        if name in taken:
            yield Finding(
                ("definitions", name),
                f"definition '{name}' has the name of a parameter, an input or a named speed",
                "rename one of them; expressions refer to both by name",
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
        if kind == "body":
            yield from _body(path, value, known)
        elif kind and not (key.meaning.has_loops and value in known.forced[kind]):
            yield from check_reference(path, value, kind, names[kind], known)
        if key.meaning.choices and value not in key.meaning.choices:
            yield _not_among(path, value, key.meaning.choices)
    for contact in model.contacts:
        yield from _check_contact(contact)
    yield from _check_speed_inputs(model)
    yield from _check_independent_speeds(model, known)


def findings_of_members(model: Model, known: Vocabulary) -> Iterator[Iterable[Finding]]:
    """What each shape, joint type, contact, row and force says of its own fields together."""
    for body in model.bodies:
        for k, shape in enumerate(body.shapes):
            yield shape.faults(("bodies", body.name, "shapes", k))
    for joint in model.joints:
        yield joint.type.faults(("joints", joint.name), known)
    for contact in model.contacts:
        yield contact.faults(known)
    for row in model.rows:
        yield row.faults(known)
    yield contradictions(model.rows, known)
    for force in model.forces:
        yield force.faults(known)
    if model.scenario is not None and model.scenario.plant is not None:
        at = ("scenario", "plant")
        for force in model.scenario.plant.forces:
            yield (replace(f, path=(*at, *f.path)) for f in force.faults(known))


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


def _body(path: Path, name: str, known: Vocabulary) -> Iterator[Finding]:
    if name not in known.bodies:
        yield Finding(
            path,
            f"{owner(path)} refers to body '{name}', which is not declared",
            hint(name, known.bodies),
        )


def _not_among(path: Path, value: str, choices: tuple[str, ...]) -> Finding:
    listed = " or ".join(f'"{choice}"' for choice in choices)
    what = f'{owner(path)} has {field(path)} = "{value}", expected {listed}'
    return Finding(path, what, hint(value, choices))


def _check_contact(contact: AbstractContact) -> Iterator[Finding]:
    path = ("contacts", contact.name)
    if contact.body == WORLD != contact.plane.body:
        yield Finding(
            (*path, "body"),
            f"contact '{contact.name}' has its wheel or blade on '{WORLD}'",
            "put it on a body, if need be one that a fixed joint ties to the world",
        )
    if contact.body == contact.plane.body:
        yield Finding(
            path,
            f"contact '{contact.name}' has body '{contact.body}' touch a plane of its own",
            "name the body that carries the plane in plane.body, or the body that touches it",
        )


def _check_speed_inputs(model: Model) -> Iterator[Finding]:
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


def _check_independent_speeds(model: Model, known: Vocabulary) -> Iterator[Finding]:
    seen: set[str] = set()
    for k, speed in enumerate(model.independent_speeds):
        path = ("independent_speeds", k, "name")
        if not speed.expression:
            yield from check_reference(path, speed.name, "speed", known.speeds, known)
        if speed.name in seen:
            yield Finding(
                path,
                f"independent speed '{speed.name}' is given twice",
                "keep one of them",
            )
        seen.add(speed.name)
