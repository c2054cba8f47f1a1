"""The same mechanism described differently: in a displaced world, or with plain numbers."""

import dataclasses
import re
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import noslip as ns
from noslip.forces import Tire
from noslip.model.forces import AbstractWheelTire

GROUND = "displaced_ground"

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*")

#: Fields of a model that hold names, units or text for people, never expressions.
_WORDS = {"name", "names", "unit", "description", "references", "body", "other_body", "parent"}
_WORDS |= {
    "child",
    "speed",
    "coordinate",
    "input",
    "axes",
    "color",
    "sequence",
    "shapes",
    "scenario",
}


def in_displaced_world(model: ns.Model, place: ns.Placement) -> ns.Model:
    """What stood on the world stands on a ground displaced by `place`; gravity turns along.

    All coordinates and speeds keep their meaning, because they are relative to the ground.
    """
    R = Rotation.from_euler(place.sequence.upper(), place.angles).as_matrix()

    def turned(vector: tuple) -> tuple:
        return tuple(
            " + ".join(f"({float(r)!r})*({e})" for r, e in zip(row, vector, strict=True))
            for row in R
        )

    def grounded(part: Any, *fields: str) -> Any:
        changes = {f: GROUND for f in fields if getattr(part, f) == "world"}
        return dataclasses.replace(part, **changes)

    forces = []
    for force in model.forces:
        if isinstance(force, ns.forces.Spring):
            force = grounded(force, "body", "other_body")
        if isinstance(force, Tire | AbstractWheelTire):
            force = dataclasses.replace(force, plane=grounded(force.plane, "body"))
        if isinstance(force, ns.forces.Wrench) and force.axes == "world":
            force = dataclasses.replace(
                force, force=turned(force.force), moment=turned(force.moment)
            )
        forces.append(force)
    ground = ns.Body(name=GROUND, mass=0.0, inertia=(0.0, 0.0, 0.0))
    displaced = ns.Joint(
        name=GROUND, parent="world", child=GROUND, type=ns.joints.Fixed(), parent_frame=place
    )
    return dataclasses.replace(
        model,
        gravity=turned(model.gravity),
        bodies=(ground, *model.bodies),
        joints=(displaced, *(grounded(joint, "parent") for joint in model.joints)),
        contacts=tuple(
            dataclasses.replace(contact, plane=grounded(contact.plane, "body"))
            for contact in model.contacts
        ),
        forces=tuple(forces),
    )


def with_numbers(model: ns.Model, values: dict[str, float]) -> ns.Model:
    """The model without parameters: their values stand in its expressions."""
    texts = {name: f"({float(value)!r})" for name, value in values.items()}

    def written(value: Any) -> Any:
        if isinstance(value, str):
            return _NAME.sub(lambda m: texts.get(m[0], m[0]), value)
        if isinstance(value, tuple):
            return tuple(written(v) for v in value)
        if isinstance(value, dict):
            return {k: written(v) for k, v in value.items()}
        if dataclasses.is_dataclass(value):
            changes = {
                f.name: written(getattr(value, f.name))
                for f in dataclasses.fields(value)
                if f.name not in _WORDS
            }
            return dataclasses.replace(value, **changes)
        return value

    return dataclasses.replace(written(dataclasses.replace(model, parameters=())), parameters=())


def changed_values(model: ns.Model, rng: np.random.Generator) -> dict[str, float]:
    """All parameters a little away from their nominal values; angles of zero stay zero."""
    return {p.name: p.value * float(rng.uniform(0.93, 1.07)) for p in model.parameters}
