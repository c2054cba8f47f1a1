"""Random trees as data that every candidate reads: hinges, slides and free bodies, frames askew.

Needs NumPy only. All numbers are in SI units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = ("revolute", "revolute", "revolute", "prismatic", "prismatic", "free")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A body and the joint that carries it; the joint's frame is the body's own.

    Parameters
    ----------
    parent : index of the link that carries it, −1 for the world.
    kind : ``revolute``, ``prismatic`` or ``free``.
    axis : of a hinge or a slide, a unit vector along the joint's frame.
    position, rotation : of the joint's frame on the parent.
    center, tensor : mass center, and inertia about it, along the body's axes.
    """

    parent: int
    kind: str
    axis: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    mass: float
    center: np.ndarray
    tensor: np.ndarray

    @property
    def freedoms(self) -> int:
        return 6 if self.kind == "free" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A tree at a state.

    Parameters
    ----------
    q : of each link: an angle, a position, or x y z and a unit quaternion, scalar first.
    v : of each link: a rate, a speed, or angular velocity and velocity of the frame's origin, both
        along the body's axes.
    forces : on v.
    """

    gravity: np.ndarray
    links: tuple[Link, ...]
    q: tuple[np.ndarray, ...]
    v: tuple[np.ndarray, ...]
    forces: tuple[np.ndarray, ...]


def random_tree(number: int) -> Tree:
    """A tree of one to seven bodies at a random state; always the same one for a number."""
    rng = np.random.default_rng([1991, number])
    links, q, v, forces = [], [], [], []
    for k in range(int(rng.integers(1, 8))):
        kind = str(rng.choice(KINDS))
        # depth first, as Pinocchio counts, and free bodies on the world, as MuJoCo has them
        parent = -1 if kind == "free" else k - 1
        while parent >= 0 and rng.random() < 0.3:
            parent = links[parent].parent
        links.append(_link(rng, kind, parent))
        if kind == "free":
            quaternion = _unit(rng.normal(size=4))
            q.append(np.concatenate([rng.uniform(-1, 1, 3), quaternion]))
        else:
            q.append(rng.uniform(-2.0, 2.0, 1))
        v.append(rng.normal(size=links[-1].freedoms))
        forces.append(3.0 * rng.normal(size=links[-1].freedoms))
    return Tree(
        gravity=rng.normal(size=3) * 6,
        links=tuple(links),
        q=tuple(q),
        v=tuple(v),
        forces=tuple(forces),
    )


def _link(rng: np.random.Generator, kind: str, parent: int) -> Link:
    """A body of four mass points and a small sphere: any tensor that a real body can have."""
    points, masses = rng.uniform(-0.3, 0.3, (4, 3)), rng.uniform(0.2, 1.5, 4)
    center = masses @ points / masses.sum()
    tensor = 0.01 * np.eye(3)
    for mass, x in zip(masses, points - center, strict=True):
        tensor += mass * (x @ x * np.eye(3) - np.outer(x, x))
    free = kind == "free"
    return Link(
        parent=parent,
        kind=kind,
        axis=_unit(rng.normal(size=3)),
        position=np.zeros(3) if free else rng.uniform(-0.5, 0.5, 3),
        rotation=np.eye(3) if free else rotation(_unit(rng.normal(size=4))),
        mass=float(masses.sum()),
        center=center,
        tensor=tensor,
    )


def _unit(a: np.ndarray) -> np.ndarray:
    return a / np.linalg.norm(a)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix of a unit quaternion, scalar first."""
    w, x, y, z = quaternion
    e = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * e + 2 * e @ e


def quaternion(R: np.ndarray) -> np.ndarray:
    """Unit quaternion, scalar first, of a rotation: an eigenvector of its symmetric form."""
    K = np.zeros((4, 4))
    K[0, 0] = np.trace(R)
    K[0, 1:] = K[1:, 0] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[1:, 1:] = R + R.T - np.trace(R) * np.eye(3)
    return np.linalg.eigh(K)[1][:, -1]
