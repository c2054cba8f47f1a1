"""Loads of the wheels under a planar joint.

A planar joint holds its child at a height and upright. What it supplies for that is what the ground
supplies through the wheels that stand on it. With n the normal of the ground, F and M the joint's
force and moment on its child at its point p_J, and p_i the contact points,

    (1)  Σ N_i = F·n,    Σ (p_i − p_J) × n N_i = M − (M·n) n

Three contacts that are not in line determine the loads N_i; more leave a family; fewer cannot hold
every moment. The wheels' in-plane forces act at the ground and the joint is above it: their moment
is already part of M, as are weight and inertia. An in-plane force of the joint is that of a motor
or a prescribed motion; it acts at p_J and is nothing that the ground must supply.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.engines.system import Array

#: Contacts whose spread across a line is smaller than this (relative) are in line.
IN_LINE = 1e-6
#: A moment smaller than this, relative to the load times the length of the model, is none.
BALANCED = 1e-9

_CASTER = "a contact with longitudinal = false and lateral = false"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unsupported:
    """A moment that a planar joint holds and the wheels under it cannot.

    Parameters
    ----------
    joint : the planar joint.
    wheels : the contacts that stand on its plane.
    about : the axis of the moment, in words.
    fix : what to add to the model.
    moment : (n,) N·m; zero where the wheels hold all of it.
    """

    joint: str
    wheels: tuple[str, ...]
    about: str
    fix: str
    moment: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Base:
    """The wheels that stand under one planar joint.

    Parameters
    ----------
    joint : its name.
    wheels : names of the m contacts.
    frames : (n, m, 4, 3) contact points, longitudinal, lateral and normal directions, in the world.
    point, force, moment : (n, 3) wrench of the joint on its child, in world axes.
    length : of the model, to compare moments with forces, m.
    """

    joint: str
    wheels: tuple[str, ...]
    frames: Array
    point: Array
    force: Array
    moment: Array
    length: float

    @property
    def _middle(self) -> Array:
        return self.frames[:, :, 0].mean(axis=1)

    def _held(self, force: Array, moment: Array) -> Array:
        """(n, 3, r) sides of (1) of forces and moments (n, 3, r) at p_J, over the length.

        Moments are taken about the middle of the contacts, where (1) is best conditioned.
        """
        # the plane's directions are those of the first wheel
        longitudinal, lateral, normal = (self.frames[:, 0, j] for j in (1, 2, 3))
        load = np.einsum("nkr,nk->nr", force, normal)
        arm = np.cross(self.point - self._middle, normal)
        moment = moment + arm[:, :, None] * load[:, None]
        rows = [np.einsum("nkr,nk->nr", moment, e) / self.length for e in (longitudinal, lateral)]
        return np.stack([load, *rows], axis=1)

    def _equilibrium(self) -> Array:
        """(n, 3, m) matrix of (1)."""
        normal = self.frames[:, :, 3]
        moment = np.cross(self.frames[:, :, 0] - self.point[:, None], normal)
        return self._held(normal.transpose(0, 2, 1), moment.transpose(0, 2, 1))

    def _inverse(self) -> Array:
        """(n, m, 3) least-norm solution of (1)."""
        return np.asarray(np.linalg.pinv(self._equilibrium(), rcond=IN_LINE), dtype=np.float64)

    def loads(self) -> tuple[Array, Array]:
        """(n, m) loads of least norm, NaN where a moment is not held; that moment, (n,) N·m."""
        needed = self._held(self.force[..., None], self.moment[..., None])
        loads = self._inverse() @ needed
        missing = (needed - self._equilibrium() @ loads)[..., 0]
        tolerance = BALANCED * float(np.max(np.abs(needed), initial=0.0))
        is_held = np.linalg.norm(missing, axis=1) <= tolerance
        unheld = self.length * np.linalg.norm(missing[:, 1:], axis=1)
        return np.where(is_held[:, None], loads[..., 0], np.nan), np.where(is_held, 0.0, unheld)

    def open_loads(self) -> Array:
        """(n, m, m) columns that span the loads which (1) leaves open."""
        return np.eye(len(self.wheels)) - self._inverse() @ self._equilibrium()

    def following_loads(self, shared: Array, frames: Array) -> Array:
        """(n, m, r) loads that go with forces shared between contacts of this base.

        Parameters
        ----------
        shared : (n, c, 3, r) forces of all contacts that act on the base from outside.
        frames : (n, c, 4, 3) of those contacts.
        """
        force = np.einsum("ncjr,ncjk->nckr", shared, frames[:, :, 1:])
        arm = frames[:, :, 0] - self.point[:, None]
        moment = np.cross(arm[..., None], force, axisa=2, axisb=2, axisc=2)
        return -self._inverse() @ self._held(force.sum(axis=1), moment.sum(axis=1))

    def unsupported(self, moment: Array) -> Unsupported:
        """The moment that is not held in words, and what to add."""
        worst = int(np.argmax(moment))
        points = self.frames[worst, :, 0]
        _, spread, directions = np.linalg.svd(points - self._middle[worst], full_matrices=False)
        line = directions[0]
        longitudinal, lateral = self.frames[worst, 0, 1:3]
        names = [f"'{name}'" for name in self.wheels]
        listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
        if spread[0] <= IN_LINE * self.length:
            about = (
                f"both horizontal axes (pitch and roll) at the only place it stands on, {listed}"
            )
            fix = f"add two wheels not in line with it: a track width and a caster ({_CASTER})"
        elif abs(line @ lateral) > 0.9:
            about = f"the line through {listed} (pitch)"
            fix = f"add a wheel ahead of that axle or behind it, such as a caster ({_CASTER})"
        elif abs(line @ longitudinal) > 0.9:
            about = f"the line through {listed} (roll)"
            fix = "add a track width: two wheels side by side in place of one"
        else:
            about = f"the line through {listed}"
            fix = f"add a wheel beside that line, such as a caster ({_CASTER})"
        return Unsupported(
            joint=self.joint, wheels=self.wheels, about=about, fix=fix, moment=moment
        )
