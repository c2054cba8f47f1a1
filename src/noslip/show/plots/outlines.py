"""Outlines of a mechanism seen from above, at a few of its samples.

Poses are those of the tree at the sampled coordinates,

    p = p_WB + R_WB r

for every corner r of a body's meshes; the outline of a mesh is the convex hull of its corners as
seen along the normal of the plane that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.kinematics.symbols import parameter_reader
from noslip.kinematics.tree import build_tree
from noslip.model.bodies import WORLD
from noslip.show.plots.curves import Array
from noslip.show.scene.scene import scene
from noslip.simulation.trajectory import Trajectory

#: A part that stands out of another by less than this part of its length is not drawn.
NEAR = 0.08


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViewPlane:
    """A plane to look at: its frame in the world, z towards the eye."""

    rotation: Array
    position: Array

    def seen(self, points: Array) -> Array:
        """(…, 2) places in the plane of points (…, 3) of the world, m."""
        return (points - self.position) @ self.rotation[:, :2]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outline:
    """A mechanism at a sample: the hulls of its parts, each (k, 2), m."""

    sample: int
    hulls: tuple[Array, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solid:
    """Corners (n, 3) of a mesh that moves with a body, in the body frame, m."""

    body: str
    corners: Array

    def covers(self, other: Solid, seen: Sequence[int]) -> bool:
        """Whether the other is behind it, or hardly stands out, for one who looks at some axes."""
        low, high = self.corners.min(axis=0), self.corners.max(axis=0)
        near = NEAR * float(np.max(high - low))
        inside = (other.corners >= low - near) & (other.corners <= high + near)
        return self.body == other.body and bool(np.all(inside[:, seen]))


def solids(run: Trajectory) -> list[Solid]:
    """What moves in the picture of a model, largest first."""
    drawn = scene(run.model, run.parameters)
    centers = {roller.name: roller.center for roller in drawn.rollers} | {"": np.zeros(3)}
    found = [
        Solid(body=part.body, corners=part.vertices.astype(float) + centers[part.roller])
        for part in drawn.parts
        if part.body != WORLD
    ]
    return sorted(found, key=lambda solid: -float(np.sum(np.ptp(solid.corners, axis=0))))


class Outliner:
    """Outlines of a run's mechanism on a plane, at any of its samples."""

    def __init__(self, run: Trajectory, plane: ViewPlane) -> None:
        self.run, self.plane = run, plane
        self._poses, self._bodies = pose_function(run)
        # marks, hubs and what stands on a larger part of the same body are left out
        self.parts: list[Solid] = []
        at_start = self._table(0)
        for solid in solids(run):
            R, _ = at_start[solid.body]
            seen = np.argsort(np.abs(plane.rotation[:, 2] @ R))[:2].tolist()
            if not any(other.covers(solid, seen) for other in self.parts):
                self.parts.append(solid)

    def __call__(self, samples: Sequence[int]) -> list[Outline]:
        """The outlines at some samples."""
        found = []
        for sample in samples:
            poses = self._table(sample)
            hulls = []
            for part in self.parts:
                R, p = poses[part.body]
                hulls.append(hull(self.plane.seen(part.corners @ R.T + p)))
            found.append(Outline(sample=sample, hulls=tuple(hulls)))
        return found

    def _table(self, sample: int) -> dict[str, tuple[Array, Array]]:
        """Body → orientation and position in the world."""
        columns = np.array(self._poses(self.run.q[sample])).T
        return {
            name: (column[:9].reshape(3, 3), column[9:])
            for name, column in zip(self._bodies, columns, strict=True)
        }


def pose_function(run: Trajectory) -> tuple[ca.Function, list[str]]:
    """q → (12, bodies): R_WB by rows and p_WB of each body; and the bodies' names in order."""
    q = ca.SX.sym("q", run.q.shape[1])
    params = ca.SX([run.parameters[p.name] for p in run.model.parameters])
    tree = build_tree(run.model, q, parameter_reader(run.model, params))
    # a matrix by columns of its transpose is itself by rows
    columns = [ca.vertcat(ca.vec(node.R_WB.T), node.p_WB) for node in tree.nodes]
    function = ca.Function("poses", [q], [ca.densify(ca.horzcat(*columns))])
    return function, [node.body.name for node in tree.nodes]


def hull(points: Array) -> Array:
    """Corners of the convex hull of points (n, 2), counterclockwise (the monotone chain)."""
    # meshes repeat corners, and rounding must not make them different
    scale = float(np.max(np.ptp(points, axis=0))) or 1.0
    ordered = np.unique(np.round(points / scale, 9), axis=0)
    if len(ordered) < 3:
        return ordered * scale

    def chain(sequence: list[list[float]]) -> list[list[float]]:
        kept: list[list[float]] = []
        for c in sequence:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], c) <= 1e-9:
                kept.pop()
            kept.append(c)
        return kept[:-1]

    corners = chain(ordered.tolist()) + chain(ordered[::-1].tolist())
    return np.array(corners) * scale


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Twice the area of a triangle; positive where it turns to the left."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
