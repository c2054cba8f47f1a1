"""Checks of what parts refer to by name: bodies, coordinates, speeds and inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from noslip.model.bodies import WORLD
from noslip.model.checks_expressions import kind_of, loop_finding
from noslip.model.contacts import Rolling
from noslip.model.findings import Finding, Path, hint, owner
from noslip.model.forces import (
    Force,
    JointDamper,
    JointFriction,
    JointSpring,
    Motor,
    Spring,
    Tire,
    Wrench,
)
from noslip.model.model import Model
from noslip.model.vocabulary import Vocabulary

_AXES = ("world", "body")


def check_references(model: Model, known: Vocabulary) -> Iterator[Finding]:
    """All names by which parts of the model refer to each other."""
    for joint in model.joints:
        for end in ("parent", "child"):
            yield from _body(("joints", joint.name, end), getattr(joint, end), known)
    yield from _check_contacts(model, known)
    for force in model.forces:
        yield from _check_force(force, known)
    yield from _check_speed_inputs(model, known)
    yield from _check_independent_speeds(model, known)


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


def _check_contacts(model: Model, known: Vocabulary) -> Iterator[Finding]:
    for contact in model.contacts:
        path = ("contacts", contact.name)
        yield from _body((*path, "body"), contact.body, known)
        yield from _body((*path, "plane", "body"), contact.plane.body, known)
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
        if isinstance(contact, Rolling):
            if not (contact.longitudinal or contact.lateral or contact.normal):
                yield Finding(
                    path,
                    f"contact '{contact.name}' has all three rows switched off",
                    "keep one of longitudinal, lateral and normal, or remove the contact",
                )


def _check_force(force: Force, known: Vocabulary) -> Iterator[Finding]:
    path = ("forces", force.name)
    match force:
        case Motor() | JointDamper() | JointFriction():
            yield from check_reference((*path, "speed"), force.speed, "speed", known.speeds, known)
        case JointSpring():
            yield from check_reference(
                (*path, "coordinate"), force.coordinate, "coordinate", known.coordinates, known
            )
        case Spring():
            yield from _body((*path, "body"), force.body, known)
            yield from _body((*path, "other_body"), force.other_body, known)
            if force.body == force.other_body:
                yield Finding(
                    path,
                    f"force '{force.name}' is a spring from body '{force.body}' to itself",
                    "name another body in other_body",
                )
        case Tire():
            yield from _body((*path, "body"), force.body, known)
            yield from _body((*path, "plane", "body"), force.plane.body, known)
            yield from _check_tire(force)
        case Wrench():
            yield from _body((*path, "body"), force.body, known)
            yield from _check_wrench(force)
    if isinstance(force, Motor):
        yield from check_reference((*path, "input"), force.input, "input", known.inputs, known)


def _check_tire(tire: Tire) -> Iterator[Finding]:
    if tire.body == WORLD:
        yield Finding(
            ("forces", tire.name, "body"),
            f"force '{tire.name}' is a tire of '{WORLD}', which does not move",
            "name the body with the tire; what it rolls on is named in plane.body",
        )
    elif tire.body == tire.plane.body:
        yield Finding(
            ("forces", tire.name),
            f"force '{tire.name}' has a tire of body '{tire.body}' roll on a plane of its own",
            "name the body that carries the plane in plane.body, or the one with the tire",
        )


def _check_wrench(wrench: Wrench) -> Iterator[Finding]:
    if wrench.body == WORLD:
        yield Finding(
            ("forces", wrench.name, "body"),
            f"force '{wrench.name}' is a wrench on '{WORLD}', which does not move",
            "name the body it acts on",
        )
    if wrench.axes not in _AXES:
        yield Finding(
            ("forces", wrench.name, "axes"),
            f'force \'{wrench.name}\' has axes = "{wrench.axes}", expected "world" or "body"',
            hint(wrench.axes, _AXES),
        )


def _check_speed_inputs(model: Model, known: Vocabulary) -> Iterator[Finding]:
    imposed: dict[str, str] = {}
    prescribed = {
        name: joint.name
        for joint in model.joints
        if joint.motion and set(joint.motion) >= {c.name for c in joint.type.coordinates}
        for name in joint.speed_names()
    }
    for given in model.speed_inputs:
        path = ("speed_inputs", given.name, "speed")
        yield from check_reference(path, given.speed, "speed", known.speeds, known)
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
