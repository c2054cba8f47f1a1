"""Named angles at the start: how an orientation and the rates of its angles change with them.

With a the angles and e_k(a) the axes of the turns in body axes,

    (1)  ω = Σ e_k ȧ_k,     a' = W⁻¹ φ',   W = [e₁ e₂ e₃],   φ' the change of orientation, body axes
    (2)  ∂e_k/∂a_j = e_k × e_j for a later turn j > k, else 0

since a later turn carries the frame in which e_k is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from noslip import spatial
from noslip.engines.system import Array, System
from noslip.simulation.start import Start, given_coordinates
from noslip.simulation.start_angles import Held, partly_rated, releases, start_angles
from noslip.simulation.start_rows import Layout, Orientation

_SAME = 1e-9  # angles and rates that agree to this are those that were held


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrientationTangents:
    """What the completion held of orientations, and how that changes.

    Parameters
    ----------
    first_guess : coordinates that the completion began with.
    fixed : coordinates that it did not move.
    held : orientations of which some angles were held.
    rated : orientations of which the rates of some angles were held.
    """

    layout: Layout
    given: Mapping[str, float]
    start: Start
    first_guess: Array
    fixed: list[int]
    held: tuple[Held, ...]
    rated: tuple[Held, ...]

    @classmethod
    def at(
        cls, system: System, layout: Layout, given: Mapping[str, float], start: Start
    ) -> OrientationTangents:
        """Find out what a completed start has kept of what was given."""
        guess, fixed = given_coordinates(system, layout, given)
        held: tuple[Held, ...] = ()
        if np.abs(start.q[fixed] - guess[fixed]).max(initial=0.0) > _SAME:
            tries = releases(layout, given)
            held = next((h for h in tries if _keeps(h, start.q)), tries[-1] if tries else ())
            turned = {k for h in held for k in h.quaternion}
            fixed = [k for k in fixed if k not in turned]
        rated = partly_rated(layout, given)
        if all(_turns_as_given(o, given, start) for o in (h.orientation for h in rated)):
            rated = ()
        return cls(
            layout=layout,
            given=given,
            start=start,
            first_guess=guess,
            fixed=fixed,
            held=held,
            rated=rated,
        )

    # positions

    def given_tangent(self, change: Mapping[str, float]) -> Array:
        """q' of the coordinates and angles that are given; zero for those that are completed."""
        q = np.zeros(len(self.layout.coordinates))
        for name, along in change.items():
            if name in self.layout.coordinates:
                q[self.layout.coordinates[name]] = along
        self._normalize(q)
        loose = [h.orientation for h in self.held]
        for o in self.layout.orientations:
            if o in loose or not any(n in change for n in o.angle_names):
                continue
            angles = [float(self.given.get(n, 0.0)) for n in o.angle_names]
            rates = [float(change.get(n, 0.0)) for n in o.angle_names]
            omega = spatial.angular_velocity(angles, rates, o.angles.sequence)
            q[_quaternion(o)] = _rate_map(self.start.q[_quaternion(o)]) @ omega
        return q

    def _normalize(self, tangent: Array) -> None:
        """Quaternions that are given by their numbers are made unit ones."""
        for k in self.layout.kinematics.probe.quaternions:
            here = slice(k, k + 4)
            if np.any(tangent[here]):
                names = list(self.layout.coordinates)[here]
                rest = self.layout.rest[here]
                raw = [self.given.get(n, x) for n, x in zip(names, rest, strict=True)]
                size = float(np.linalg.norm(raw))
                unit = np.array(raw) / size
                tangent[here] = (tangent[here] - unit * (unit @ tangent[here])) / size

    def held_rows(self) -> list[Array]:
        """Rows on the tree speeds: rates of the angles that are held."""
        return [h.rows(self.start.q, len(self.layout.scale)) for h in self.held]

    def held_tangents(self, change: Mapping[str, float]) -> Array:
        """Changes of the angles that are held."""
        names = [h.orientation.angle_names[k] for h in self.held for k in h.places]
        return np.array([change.get(name, 0.0) for name in names], dtype=float)

    # speeds

    def rate_rows(self) -> list[tuple[str, Array]]:
        """Orientations of which rates are given, and the rows on the tree speeds that hold them."""
        rows = []
        partly = {h.orientation.joint: h for h in self.rated}
        for o in self._rated_orientations():
            held = partly.get(o.joint)
            if held is not None:
                rows.append((o.joint, held.rows(self.start.q, len(self.layout.scale))))
            else:
                rows.append((o.joint, self.layout.unit[o.speed : o.speed + 3]))
        return rows

    def rate_tangent(
        self, joint: str, change: Mapping[str, float], q: Array, lam: Array
    ) -> tuple[Array, Array]:
        """d' − C'v of an orientation's rows, and C'ᵀλ on the tree speeds."""
        o = next(o for o in self.layout.orientations if o.joint == joint)
        held = next((h for h in self.rated if h.orientation is o), None)
        angles = np.array(start_angles(o, self.given, self.start.q))
        W = _axes(angles, o.angles.sequence)
        moved = self._angle_tangent(o, change, q, W)
        turned = _axes_tangent(W, moved)
        rates = np.array([change.get(n, 0.0) for n in o.rate_names], dtype=float)
        pushed = np.zeros(len(self.layout.scale))
        if held is None:
            now = np.array([float(self.given.get(n, 0.0)) for n in o.rate_names])
            return turned @ now + W @ rates, pushed
        # rows of W⁻¹; (W⁻¹)' = −W⁻¹ W' W⁻¹
        places = list(held.places)
        inverse = np.linalg.pinv(W, rcond=1e-12)
        change_of_rows = -(inverse @ turned @ inverse)[places]
        omega = self.start.v[o.speed : o.speed + 3]
        pushed[o.speed : o.speed + 3] = change_of_rows.T @ lam
        return rates[places] - change_of_rows @ omega, pushed

    def _rated_orientations(self) -> list[Orientation]:
        """Those that are partly held first, as the completion takes them."""
        partly = [h.orientation for h in self.rated]
        others = [
            o
            for o in self.layout.orientations
            if o not in partly and any(n in self.given for n in o.rate_names)
        ]
        return [*partly, *others]

    def _angle_tangent(
        self, o: Orientation, change: Mapping[str, float], q: Array, W: Array
    ) -> Array:
        """a' of an orientation."""
        if all(n in self.given for n in o.angle_names):
            return np.array([change.get(n, 0.0) for n in o.angle_names], dtype=float)
        here = _quaternion(o)
        # NᵀN = 1/4 for a unit quaternion
        turned = 4.0 * _rate_map(self.start.q[here]).T @ q[here]
        # least squares where the angles are singular, as in the completion
        return np.asarray(np.linalg.pinv(W, rcond=1e-12) @ turned, dtype=float)


def _quaternion(o: Orientation) -> slice:
    return slice(o.quaternion, o.quaternion + 4)


def _keeps(held: tuple[Held, ...], q: Array) -> bool:
    """Whether the angles that would be held have the values they would be held at."""
    for h in held:
        now = h.angles(q)
        off = [now[k] - value for k, value in zip(h.places, h.values, strict=True)]
        if np.abs(np.angle(np.exp(1j * np.array(off)))).max(initial=0.0) > _SAME:
            return False
    return True


def _turns_as_given(o: Orientation, given: Mapping[str, float], start: Start) -> bool:
    """Whether the angular velocity is that of the given rates, with zero for the others."""
    angles = start_angles(o, given, start.q)
    rates = [float(given.get(n, 0.0)) for n in o.rate_names]
    omega = np.array(spatial.angular_velocity(angles, rates, o.angles.sequence))
    off = np.abs(start.v[o.speed : o.speed + 3] - omega).max()
    return bool(off <= _SAME * max(1.0, float(np.abs(omega).max())))


def _rate_map(quaternion: Array) -> Array:
    """(4, 3): the rate of a quaternion from ω in body axes, as in :mod:`noslip.spatial`."""
    w, x, y, z = quaternion
    return np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2


def _axes(angles: Array, sequence: str) -> Array:
    """(1): the axes of the turns as columns."""
    turning = [spatial.angular_velocity(list(angles), list(e), sequence) for e in np.eye(3)]
    return np.array(turning).T


def _axes_tangent(W: Array, moved: Array) -> Array:
    """(2): the change of the axes with that of the angles."""
    turned = np.zeros((3, 3))
    for k in range(3):
        for j in range(k + 1, 3):
            turned[:, k] += np.cross(W[:, k], W[:, j]) * moved[j]
    return turned
