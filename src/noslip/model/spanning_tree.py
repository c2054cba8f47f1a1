"""Spanning tree: joints that carry it, and joints that close loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.model.bodies import WORLD, Placement
from noslip.model.joints import Joint
from noslip.model.model import Model
from noslip.model.number_reader import Array, NumberReader, rotation_about


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The spanning tree of a model.

    Parameters
    ----------
    tree : joints that carry a body, each after the joint that carries its parent.
    loops : joints between two bodies that the tree already holds.
    unreached : bodies that no chain of joints ties to the world.
    """

    tree: tuple[Joint, ...]
    loops: tuple[Joint, ...]
    unreached: tuple[str, ...]


def topology(model: Model) -> Topology:
    """Spanning tree by passes over the joints in their order; what is left closes loops."""
    reached = {WORLD}
    waiting = list(model.joints)
    tree: list[Joint] = []
    progress = True
    while progress:
        progress = False
        for joint in list(waiting):
            if joint.parent in reached and joint.child not in reached:
                tree.append(joint)
                reached.add(joint.child)
                waiting.remove(joint)
                progress = True
    loops = tuple(j for j in waiting if j.parent in reached and j.child in reached)
    unreached = tuple(b.name for b in model.bodies if b.name not in reached)
    return Topology(tree=tuple(tree), loops=loops, unreached=unreached)


def rest_poses(model: Model, read: NumberReader) -> dict[str, tuple[Array, Array]]:
    """R and p of every body with all joints at rest, where their two frames coincide."""
    poses = {"world": (np.eye(3), np.zeros(3))}
    for joint in topology(model).tree:
        R, p = poses[joint.parent]
        R_F, p_F = frame_numbers(joint.parent_frame, read)
        R_M, p_M = frame_numbers(joint.child_frame, read)
        R_B = R @ R_F @ R_M.T
        poses[joint.child] = (R_B, p + R @ p_F - R_B @ p_M)
    return poses


def frame_numbers(frame: Placement, read: NumberReader) -> tuple[Array, Array]:
    """R and p of a frame on its body."""
    R = np.eye(3)
    for letter, angle in zip(frame.sequence, read.vector(frame.angles), strict=True):
        R = R @ rotation_about(np.eye(3)["xyz".index(letter)], float(angle))
    return R, read.vector(frame.position)
