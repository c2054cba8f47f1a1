"""Measures of the motion that expressions may use: points, axes and rates, traced.

    point         p_W = p_WB + R_WB p          velocity              ṗ_W = R_WD (v_D + ω_D × R_DB p)
    axis          e_W = R_WB e                 angular velocity      ω_W = R_WD ω_D
    rate          ẋ = ∂x/∂q N v + ∂x/∂t + ∂x/∂v v̇

Accelerations are rates of velocities. They need v̇, which only solved equations have.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from noslip.algebra import EYE3, cross, traced_angles, vector
from noslip.base import SimulationError
from noslip.expressions import RATE, Measure
from noslip.kinematics.symbols import Reader, Symbols
from noslip.kinematics.tree import Pair, Tree
from noslip.model import Model, in_order

_ZERO3 = vector([0, 0, 0])
_AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """Reads measures of a mechanism.

    Parameters
    ----------
    tree, twists : of the bodies, for speeds v.
    symbols, N : in which they are traced, with q̇ = N v.
    vdot : v̇, where it is known.
    """

    tree: Tree
    twists: list[Pair]
    symbols: Symbols
    N: ca.SX
    vdot: ca.SX | None = None

    def __call__(self, measure: Measure, arguments: list[ca.SX]) -> ca.SX:
        """The traced value of a measure, from those of its arguments."""
        if measure.word == RATE:
            return self.rate(ca.SX(arguments[0]))
        place = vector(arguments) if arguments else _ZERO3
        match measure.word:
            case "point":
                found = self._point(measure.body, place)
            case "velocity":
                found = self._velocity(measure.body, place)
            case "acceleration":
                found = self.rate(self._velocity(measure.body, place))
            case "axis":
                found = self._orientation(measure.body)[:, _AXES.index(measure.axis)]
            case "angular_velocity":
                found = self._angular_velocity(measure.body)
            case _:
                found = self.rate(self._angular_velocity(measure.body))
        return found[_AXES.index(measure.part)]

    def rate(self, expression: ca.SX) -> ca.SX:
        """Rate in time of an expression along the motion."""
        s = self.symbols
        if ca.depends_on(expression, ca.vertcat(s.u, s.w)):
            raise SimulationError(
                "the rate of an input is requested",
                "an expression with rate(…)",
                "take rates of coordinates, speeds and measures; inputs may jump",
            )
        at, along = ca.vertcat(s.q, s.t), ca.vertcat(ca.mtimes(self.N, s.v), ca.SX(1))
        if ca.depends_on(expression, s.v):
            if self.vdot is None:
                raise SimulationError(
                    "an acceleration is used where accelerations are not known yet",
                    "an expression with rate(…) or acceleration(…)",
                    "use accelerations in outputs; inputs, events and rows can use only "
                    "positions and speeds",
                )
            at, along = ca.vertcat(at, s.v), ca.vertcat(along, self.vdot)
        return ca.jtimes(expression, at, along)

    def _point(self, body: str, place: ca.SX) -> ca.SX:
        k = self.tree.index(body)
        if k < 0:
            return place
        node = self.tree.nodes[k]
        return node.p_WB + ca.mtimes(node.R_WB, place)

    def _velocity(self, body: str, place: ca.SX) -> ca.SX:
        k = self.tree.index(body)
        if k < 0:
            return _ZERO3
        node, (w_D, v_D) = self.tree.nodes[k], self.twists[k]
        return ca.mtimes(node.R_WD, v_D + cross(w_D, ca.mtimes(node.R_DB, place)))

    def _orientation(self, body: str) -> ca.SX:
        k = self.tree.index(body)
        return EYE3 if k < 0 else self.tree.nodes[k].R_WB

    def _angular_velocity(self, body: str) -> ca.SX:
        k = self.tree.index(body)
        return _ZERO3 if k < 0 else ca.mtimes(self.tree.nodes[k].R_WD, self.twists[k][0])

    def named_angles(self) -> dict[str, ca.SX]:
        """Named angles of orientations and their rates, by name."""
        found = {}
        for node in self.tree.nodes:
            angles, at = node.joint.type.named_angles(), node.joint.type.quaternion
            if angles is None or at is None:
                continue
            first = node.coordinates.start + at
            values = traced_angles(self.symbols.q[first : first + 4], angles.sequence)
            for name, value in zip(angles.names, ca.vertsplit(ca.SX(values)), strict=True):
                found[f"{node.joint.name}.{name}"] = value
                found[f"{node.joint.name}.{name}_rate"] = self.rate(value)
        return found


def defining_reader(model: Model, reader: Reader, measures: Measures) -> Reader:
    """A reader that also knows measures, named angles, their rates, and the model's definitions."""
    reader = reader.measuring(measures).extended(measures.named_angles())
    texts = {d.name: d.expression for d in model.definitions}
    for name in in_order(texts)[0]:
        reader = reader.extended({name: reader.scalar(texts[name])})
    return reader
