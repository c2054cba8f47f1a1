"""Joints that are made of several: bodies and plain joints take their place in a model.

A universal joint is two hinges on a cross. Its twists do not form one subspace, in whatever axes,
as those of all plain joint types do, so it is no joint type of its own to any later stage.

To add one: a frozen data class below `AbstractCompositeJoint` with `parts`.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NoReturn

from noslip.algebra import Traced
from noslip.expressions import Scalar
from noslip.model.bodies import Body
from noslip.model.findings import Finding, Path
from noslip.model.joints import AbstractJointType, Joint, Revolute
from noslip.model.number_reader import NumberReader
from noslip.model.quantities import NOT_NEGATIVE, Direction, Meaning, Reads

if TYPE_CHECKING:
    from noslip.model.model import Model


class AbstractCompositeJoint(AbstractJointType):
    """Base class of joints that are made of several."""

    __slots__ = ()

    coordinates = ()
    speeds = ()
    rest = ()

    @abc.abstractmethod
    def parts(self, joint: Joint) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
        """Bodies and joints that take the place of a joint of this type."""

    @abc.abstractmethod
    def own_faults(
        self, path: Path, joint: Joint, values: Mapping[str, float]
    ) -> Iterator[Finding]:
        """Findings about the joint as it is written."""

    def pose(self, q: Traced, read: Reads) -> NoReturn:
        raise self._unbuilt()

    def motion(self, read: Reads) -> NoReturn:
        raise self._unbuilt()

    def closure(self, R: Traced, p: Traced, read: Reads) -> NoReturn:
        raise self._unbuilt()

    def _unbuilt(self) -> TypeError:
        return TypeError(f"a {self.word} joint is replaced by its parts when a model is built")


@dataclass(frozen=True, slots=True, kw_only=True)
class Universal(AbstractCompositeJoint):
    """A universal (Cardan, Hooke) joint: two hinges on a cross, R_FM = R(first) R(second).

    The joint ``NAME`` is the body ``NAME_cross`` between the hinges ``NAME_1`` on the parent and
    ``NAME_2`` on the child; a prescribed motion and symbols name ``angle_1`` and ``angle_2``.

    Parameters
    ----------
    first_axis : of the hinge on the parent, in F.
    second_axis : of the hinge on the child, in M; across the first one.
    mass, moment : of the cross, its mass center in the middle and the moment about every axis.
    """

    first_axis: Direction = (1.0, 0.0, 0.0)
    second_axis: Direction = (0.0, 1.0, 0.0)
    mass: Annotated[Scalar, Meaning(unit="kg", sign=NOT_NEGATIVE)] = 0.0
    moment: Annotated[Scalar, Meaning(unit="kg*m^2", sign=NOT_NEGATIVE)] = 0.0

    word = "universal"
    also_called = ("cardan", "hooke", "u_joint")

    def parts(self, joint: Joint) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
        cross = f"{joint.name}_cross"
        motion, symbols = (
            [_renamed(table, k) for k in (1, 2)] for table in (joint.motion, joint.symbols)
        )
        first = dataclasses.replace(
            joint,
            name=f"{joint.name}_1",
            child=cross,
            type=Revolute(axis=self.first_axis),
            child_frame=type(joint.child_frame)(),
            motion=motion[0],
            symbols=symbols[0],
            armature=0.0,
            limits=None,
        )
        second = dataclasses.replace(
            joint,
            name=f"{joint.name}_2",
            parent=cross,
            type=Revolute(axis=self.second_axis),
            parent_frame=type(joint.parent_frame)(),
            motion=motion[1],
            symbols=symbols[1],
            armature=0.0,
            limits=None,
        )
        body = Body(name=cross, mass=self.mass, inertia=(self.moment,) * 3)
        return (body,), (first, second)

    def own_faults(
        self, path: Path, joint: Joint, values: Mapping[str, float]
    ) -> Iterator[Finding]:
        read = NumberReader(values)
        try:
            along = float(read.direction(self.first_axis) @ read.direction(self.second_axis))
        except (KeyError, ValueError):
            along = float("nan")
        if abs(along) > 1e-9:
            yield Finding(
                path,
                f"joint '{joint.name}' is a universal joint whose axes are not at right angles",
                "give axes across each other, such as first_axis = [1, 0, 0] and "
                "second_axis = [0, 1, 0]",
            )
        for table, what in ((joint.motion, "prescribes"), (joint.symbols, "has a symbol for")):
            for name in sorted(set(table or ()) - {"angle_1", "angle_2"}):
                yield Finding(
                    path,
                    f"joint '{joint.name}' {what} '{name}', which a universal joint does not have",
                    "name 'angle_1' or 'angle_2'",
                )


def _renamed(table: dict[str, str] | None, k: int) -> dict[str, str] | None:
    """The entry of one hinge, under the hinge's own name."""
    if table is not None and not isinstance(table, dict):
        return table  # which the checks find
    return {"angle": table[f"angle_{k}"]} if table and f"angle_{k}" in table else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A model without composite joints.

    Parameters
    ----------
    model : with their parts.
    origins : name of each part → joint that it is of.
    findings : about composite joints as they are written.
    """

    model: Model
    origins: dict[str, str]
    findings: tuple[Finding, ...]

    def path(self, path: Path) -> Path:
        """Path at which a part is written."""
        if len(path) > 1 and path[0] in ("bodies", "joints") and path[1] in self.origins:
            return ("joints", self.origins[str(path[1])], *path[2:])
        return path


def expand(model: Model) -> Expansion:
    """The model with the parts of composite joints in their place."""
    values = {p.name: p.value for p in model.parameters if isinstance(p.value, float | int)}
    bodies, joints = list(model.bodies), list[Joint]()
    origins: dict[str, str] = {}
    findings: list[Finding] = []
    for joint in model.joints:
        if not isinstance(joint.type, AbstractCompositeJoint):
            joints.append(joint)
            continue
        own_bodies, own_joints = joint.type.parts(joint)
        findings += joint.type.own_faults(("joints", joint.name), joint, values)
        findings += [
            Finding(
                ("joints", joint.name, key),
                f"joint '{joint.name}' has {key}, but a {joint.type.word} joint has several speeds",
                f"leave {key} out, or write its parts as joints of their own",
            )
            for key, is_given in (
                ("armature", joint.armature != 0.0),
                ("limits", joint.limits is not None),
            )
            if is_given
        ]
        origins |= {body.name: joint.name for body in own_bodies}
        origins |= {part.name: joint.name for part in own_joints}
        bodies += own_bodies
        joints += own_joints
    if not origins:
        return Expansion(model=model, origins={}, findings=())
    plain = dataclasses.replace(model, bodies=tuple(bodies), joints=tuple(joints))
    return Expansion(model=plain, origins=origins, findings=tuple(findings))
