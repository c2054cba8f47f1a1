"""Names of a model by kind, and its fields, collected once for all checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from noslip.model.bodies import WORLD
from noslip.model.expressions import is_finite
from noslip.model.findings import Path
from noslip.model.joints import Joint
from noslip.model.model import Model
from noslip.model.schema import Key, leaves
from noslip.model.topology import Topology, topology

#: Fields of a model: path, key, the part they are fields of, and what they hold.
Fields = tuple[tuple[Path, Key, Any, Any], ...]

#: The name of time in expressions.
TIME = "t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names of a model.

    Coordinates and speeds are those of joints that carry a body; a joint that closes a loop has
    none.

    Parameters
    ----------
    parameters : with their nominal values.
    bodies : ``world`` and all others.
    angles, rates : named orientation angles such as ``disk.yaw``, and ``disk.yaw_rate``.
    loop_names : what coordinates and speeds of the joints that close loops would be called, each
        with its joint.
    topology : tree and loops; a joint whose parent is not known counts as fixed to the world.
    fields : of all parts.
    """

    parameters: Mapping[str, float]
    bodies: tuple[str, ...]
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    angles: tuple[str, ...]
    rates: tuple[str, ...]
    inputs: tuple[str, ...]
    speed_inputs: tuple[str, ...]
    loop_names: Mapping[str, str]
    topology: Topology
    fields: Fields

    @property
    def finite_parameters(self) -> dict[str, float]:
        """Parameters whose nominal value is a finite number."""
        return {name: value for name, value in self.parameters.items() if is_finite(value)}


def vocabulary(model: Model, fields: Fields | None = None) -> Vocabulary:
    """The names of a model, which may have faults; `fields` are its leaves, if at hand."""
    bodies = (WORLD, *(body.name for body in model.bodies))
    found = topology(_with_known_parents(model, bodies))
    # a joint that carries the world is a mistake of its own, not a loop
    loops = [joint for joint in found.loops if joint.child != WORLD]
    joints = [joint for joint in model.joints if joint not in loops]
    return Vocabulary(
        parameters=model.parameter_values(),
        bodies=bodies,
        coordinates=tuple(name for joint in joints for name in joint.coordinate_names()),
        speeds=tuple(name for joint in joints for name in joint.speed_names()),
        angles=tuple(f"{j.name}.{name}" for j in joints for name in angle_names(j)),
        rates=tuple(f"{j.name}.{name}_rate" for j in joints for name in angle_names(j)),
        inputs=tuple(i.name for i in model.inputs),
        speed_inputs=tuple(i.name for i in model.speed_inputs),
        loop_names={name: j.name for j in loops for name in _would_be_names(j)},
        topology=found,
        fields=tuple(leaves(model)) if fields is None else fields,
    )


def angle_names(joint: Joint) -> tuple[str, ...]:
    """The named angles of a joint's orientation, if it has some, without the joint's name."""
    angles = joint.type.named_angles()
    return () if angles is None else tuple(angles.names)


def _would_be_names(joint: Joint) -> list[str]:
    angles = [f"{joint.name}.{name}" for name in angle_names(joint)]
    rates = [f"{angle}_rate" for angle in angles]
    return [*joint.coordinate_names(), *joint.speed_names(), *angles, *rates]


def _with_known_parents(model: Model, bodies: tuple[str, ...]) -> Model:
    """The model with every joint whose parent is unknown tied to the world instead.

    So one misspelled parent is one fault, and what hangs on it is not reported as well.
    """
    joints = tuple(j if j.parent in bodies else replace(j, parent=WORLD) for j in model.joints)
    return replace(model, joints=joints)
