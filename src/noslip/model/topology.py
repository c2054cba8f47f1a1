"""Spanning tree: joints that carry it, and joints that close loops."""

from __future__ import annotations

from dataclasses import dataclass

from noslip.model.bodies import WORLD
from noslip.model.joints import Joint
from noslip.model.model import Model


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
