"""Names of a model by kind, and its fields, collected once for all checks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from noslip.expressions import (
    Expression,
    ExpressionError,
    Measure,
    is_finite,
    measures_in,
    names_in,
    order,
    parse,
)
from noslip.model.bodies import WORLD
from noslip.model.contacts import AbstractContact
from noslip.model.definitions import in_order
from noslip.model.findings import Path
from noslip.model.joints import Joint
from noslip.model.model import Model
from noslip.model.parameter_dependence import Dependence, dependence
from noslip.model.quantities import place_rate
from noslip.model.schema import Key, leaves
from noslip.model.spanning_tree import Topology, topology

#: Fields of a model: path, key, the part they are fields of, and what they hold.
Fields = tuple[tuple[Path, Key, Any, Any], ...]

#: The name of time in expressions.
TIME = "t"


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The names of a model.

    Coordinates and speeds are those of joints that carry a body; a joint that closes a loop has
    none.

    Parameters
    ----------
    parameters : with their nominal values.
    bodies : ``world`` and all others.
    angles, rates : named orientation angles such as ``disk.yaw``, and ``disk.yaw_rate``.
    definitions : named expressions, each after those it uses; those in a circle in any order.
    loop_names : what coordinates and speeds of the joints that close loops would be called, each
        with its joint.
    forced : those of them that forces may act along, coordinates and speeds.
    contacts : of the model.
    topology : tree and loops; a joint whose parent is not known counts as fixed to the world.
    fields : of all parts.
    """

    parameters: Mapping[str, float]
    bodies: tuple[str, ...]
    coordinates: tuple[str, ...]
    coordinate_units: Mapping[str, str]
    speeds: tuple[str, ...]
    angles: tuple[str, ...]
    rates: tuple[str, ...]
    definitions: Mapping[str, str]
    inputs: tuple[str, ...]
    speed_inputs: tuple[str, ...]
    loop_names: Mapping[str, str]
    forced: Mapping[str, tuple[str, ...]]
    contacts: tuple[AbstractContact, ...]
    topology: Topology
    fields: Fields

    @property
    def finite_parameters(self) -> dict[str, float]:
        """Parameters whose nominal value is a finite number."""
        return {name: value for name, value in self.parameters.items() if is_finite(value)}

    def order(self, tree: Expression) -> int:
        """0 for an expression that positions determine, 1 for speeds, 2 for accelerations."""
        return order(tree, self._orders)

    def dependence_on_speeds(self, tree: Expression) -> Dependence:
        """Dependence of an expression on the speeds, at one configuration."""
        return dependence(tree, self._in_speeds, self._of_measure)

    def depends_on_motion(self, tree: Expression) -> bool:
        """Whether an expression has a coordinate, a speed or a measure in it."""
        return bool(measures_in(tree)) or not self._moving.isdisjoint(names_in(tree))

    def _of_measure(self, measure: Measure) -> Dependence:
        return Dependence.LINEAR if self.order(measure) else Dependence.CONSTANT

    @cached_property
    def _orders(self) -> dict[str, int]:
        orders = dict.fromkeys((*self.speeds, *self.rates), 1)
        for name, tree in self._definition_trees.items():
            orders[name] = order(tree, orders)
        return orders

    @cached_property
    def _in_speeds(self) -> dict[str, Dependence]:
        found = dict.fromkeys((*self.speeds, *self.rates), Dependence.LINEAR)
        for name, tree in self._definition_trees.items():
            found[name] = dependence(tree, found, self._of_measure)
        return found

    @cached_property
    def _moving(self) -> set[str]:
        found = {*self.coordinates, *self.speeds, *self.angles, *self.rates}
        for name, tree in self._definition_trees.items():
            if measures_in(tree) or not found.isdisjoint(names_in(tree)):
                found.add(name)
        return found

    @cached_property
    def _definition_trees(self) -> dict[str, Expression]:
        trees = {}
        for name, text in self.definitions.items():
            with suppress(ExpressionError):  # a fault of its own
                trees[name] = parse(text)
        return trees


def vocabulary(model: Model, fields: Fields | None = None) -> Vocabulary:
    """The names of a model, which may have faults; `fields` are its leaves, if at hand."""
    bodies = (WORLD, *(body.name for body in model.bodies))
    found = topology(_with_known_parents(model, bodies))
    # a joint that carries the world is a mistake of its own, not a loop
    loops = [joint for joint in found.loops if joint.child != WORLD]
    joints = [joint for joint in model.joints if joint not in loops]
    places = [q.renamed(c.name) for c in model.contacts for q in c.parameters()]
    return Vocabulary(
        parameters=model.parameter_values(),
        bodies=bodies,
        coordinates=(
            *(name for joint in joints for name in joint.coordinate_names()),
            *(place.name for place in places),
        ),
        coordinate_units={
            **{f"{j.name}.{c.name}": c.unit for j in joints for c in j.type.coordinates},
            **{place.name: place.unit for place in places},
        },
        speeds=(
            *(name for joint in joints for name in joint.speed_names()),
            *(place_rate(place).name for place in places),
        ),
        angles=tuple(f"{j.name}.{name}" for j in joints for name in angle_names(j)),
        rates=tuple(f"{j.name}.{name}_rate" for j in joints for name in angle_names(j)),
        definitions=_definitions(model),
        inputs=tuple(i.name for i in model.inputs),
        speed_inputs=tuple(i.name for i in model.speed_inputs),
        loop_names={name: j.name for j in loops for name in _would_be_names(j)},
        forced={
            "coordinate": tuple(
                name for j in loops if j.type.quaternion is None for name in j.coordinate_names()
            ),
            "speed": tuple(name for j in loops for name in j.speed_names()),
        },
        contacts=model.contacts,
        topology=found,
        fields=tuple(leaves(model)) if fields is None else fields,
    )


def _definitions(model: Model) -> dict[str, str]:
    texts = {d.name: d.expression for d in model.definitions}
    return {name: texts[name] for name in in_order(texts)[0]}


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
