"""Orientations of which only some named angles are given: the others may move.

A bicycle that leans and steers pitches by what its wheels ask for. Given are then lean and steer;
the pitch follows. With the axes of turning as columns, ω = [e₁ e₂ e₃] ȧ, so that ȧ_k of the given
angles are rows on ω.

An orientation has two sets of angles: where the first axis is used twice, (a, b, c) and (a + π, −b,
c + π), else (a, b, c) and (a + π, π − b, c + π). Rates belong to the set whose middle angle is the
given one, not always the one with the middle angle in its usual range.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noslip import spatial
from noslip.engines.system import Array
from noslip.simulation.start_rows import Layout, Orientation


@dataclass(frozen=True, slots=True)
class Held:
    """An orientation and those of its angles, or of their rates, that are given.

    Parameters
    ----------
    places, values : of what is given.
    middle : the middle angle, if it is given.
    """

    orientation: Orientation
    places: tuple[int, ...]
    values: tuple[float, ...]
    middle: float | None

    @property
    def quaternion(self) -> range:
        """Places of its quaternion among the coordinates."""
        return range(self.orientation.quaternion, self.orientation.quaternion + 4)

    def rows(self, q: Array, num_speeds: int) -> Array:
        """(k, nv): rates of the given angles from the tree speeds."""
        rows = np.zeros((len(self.places), num_speeds))
        at = self.orientation.speed
        rows[:, at : at + 3] = angle_rates(self.orientation, self.angles(q))[list(self.places)]
        return rows

    def angles(self, q: Array) -> list[float]:
        """Named angles of the quaternion as it is, in the set of the given ones."""
        return angles_now(self.orientation, q, self.middle)

    def restore(self, q: Array) -> None:
        """Set the given angles again, and leave the others."""
        angles = self.angles(q)
        for place, value in zip(self.places, self.values, strict=True):
            angles[place] = value
        sequence = self.orientation.angles.sequence
        q[list(self.quaternion)] = spatial.quaternion_from_angles(angles, sequence)


def releases(layout: Layout, given: Mapping[str, float]) -> list[tuple[Held, ...]]:
    """What to hold, try by try, where some angles of an orientation are given, but not all.

    One angle that is not given is let go first, the last of the sequence before the others; then
    more of them. Those that are held and not given are zero.
    """
    options = []
    for o in layout.orientations:
        places = _places(o.angle_names, given)
        if not 0 < len(places) < 3:
            continue
        free = [k for k in reversed(range(3)) if k not in places]
        choices = []
        for count in range(1, len(free) + 1):
            for gone in itertools.combinations(free, count):
                kept = tuple(k for k in range(3) if k not in gone)
                values = tuple(float(given.get(o.angle_names[k], 0.0)) for k in kept)
                choices.append(Held(o, kept, values, _middle(o, given)))
        options.append(choices)
    return list(itertools.product(*options)) if options else []


def partly_rated(layout: Layout, given: Mapping[str, float]) -> tuple[Held, ...]:
    """Orientations of which the rates of some angles are given, but not all."""
    found = []
    for o in layout.orientations:
        places = _places(o.rate_names, given)
        if 0 < len(places) < 3:
            values = tuple(float(given[o.rate_names[k]]) for k in places)
            found.append(Held(o, places, values, _middle(o, given)))
    return tuple(found)


def start_angles(o: Orientation, given: Mapping[str, float], q: Array) -> list[float]:
    """Named angles of an orientation: as given if all are, else those of its quaternion."""
    if all(n in given for n in o.angle_names):
        return [float(given[n]) for n in o.angle_names]
    return angles_now(o, q, _middle(o, given))


def angles_now(o: Orientation, q: Array, middle: float | None) -> list[float]:
    """Named angles of the quaternion as it is; of the two sets the one nearer to a middle angle."""
    sequence = o.angles.sequence
    angles = spatial.angles_from_quaternion(q[o.quaternion : o.quaternion + 4], sequence)
    if middle is None:
        return angles
    other = other_angles(angles, sequence)
    return other if _apart(other[1], middle) < _apart(angles[1], middle) else angles


def other_angles(angles: Sequence[Any], sequence: str) -> list[Any]:
    """The other set of angles of the same orientation, numbers or arrays."""
    first, middle, last = angles
    turned = -middle if sequence[0] == sequence[2] else math.pi - middle
    return [first + math.pi, turned, last + math.pi]


def _apart(a: float, b: float) -> float:
    return abs(math.remainder(a - b, 2 * math.pi))


def _middle(o: Orientation, given: Mapping[str, float]) -> float | None:
    value = given.get(o.angle_names[1])
    return None if value is None else float(value)


def angle_rates(o: Orientation, angles: list[float]) -> Array:
    """(3, 3): ȧ from ω in body axes; least squares where the angles are singular."""
    axes = [spatial.angular_velocity(angles, list(e), o.angles.sequence) for e in np.eye(3)]
    return np.linalg.pinv(np.array(axes).T, rcond=1e-12)


def _places(names: Sequence[str], given: Mapping[str, float]) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(names) if name in given)
