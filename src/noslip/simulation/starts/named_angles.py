"""Named angles of orientations: what a start gives of them, and what it holds.

Where only some angles are given, the others may move. A bicycle that leans and steers pitches by
what its wheels ask for. Given are then lean and steer; the pitch follows. With the axes of turning
as columns,

    (1)  ω = W ȧ,   W = [e₁ e₂ e₃],   ȧ = W⁻¹ ω

so that ȧ_k of the given angles are rows on ω.

An orientation has two sets of angles: where the first axis is used twice, (a, b, c) and (a + π, −b,
c + π), else (a, b, c) and (a + π, π − b, c + π). Rates belong to the set whose middle angle is the
given one, not always the one with the middle angle in its usual range.

Values of n starts are arrays (n,) by name.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from noslip.algebra import angular_velocity, intrinsic_angles, quaternion_from_angles
from noslip.base import Array
from noslip.simulation.starts.layout import Layout, Orientation
from noslip.simulation.starts.stacks import each, singular_inverse

Given = Mapping[str, Array]

_ZERO = np.zeros(1)
#: cos and sin, atan2 and hypot: of one start, and of many.
_TURNS = (math.cos, math.sin), (partial(each, math.cos), partial(each, math.sin))
_ANGLES = (math.atan2, math.hypot), (partial(each, math.atan2), partial(each, math.hypot))


@dataclass(frozen=True, slots=True)
class Held:
    """An orientation and those of its angles, or of their rates, that are held.

    Parameters
    ----------
    places : of what is held.
    is_rate : whether rates are held.
    """

    orientation: Orientation
    places: tuple[int, ...]
    is_rate: bool = False

    @property
    def names(self) -> list[str]:
        """Names of the prescribed angles and rates."""
        o = self.orientation
        names = o.rate_names if self.is_rate else o.angle_names
        return [names[k] for k in self.places]

    def values(self, given: Given, n: int) -> Array:
        """(n, k): what it is held at; what is not given is zero."""
        return columns(given_values(self.names, given, n), n)

    def rows(self, given: Given, q: Array, num_speeds: int) -> Array:
        """(n, k, nv): rates of the held angles from the tree speeds."""
        rows = np.zeros((len(q), len(self.places), num_speeds))
        at, o = self.orientation.speed, self.orientation
        rows[:, :, at : at + 3] = angle_rates(axes(o, angles_now(o, given, q), len(q)))[
            :, list(self.places)
        ]
        return rows

    def restore(self, given: Given, q: Array) -> None:
        """Set the held angles again, and leave the others."""
        o, n = self.orientation, len(q)
        angles = angles_now(o, given, q)
        for place, value in zip(self.places, given_values(self.names, given, n), strict=True):
            angles[place] = value
        q[:, o.quaternion : o.quaternion + 4] = quaternions(angles, o.angles.sequence, n)


def given_values(names: Sequence[str], given: Given, n: int) -> list[Any]:
    """Values by name, zero where they are not given: numbers of one start, arrays (n,) of many."""
    found = [given.get(name, _ZERO) for name in names]
    return [float(x[0]) if n == 1 else np.broadcast_to(x, n) for x in found]


def columns(values: Sequence[Any], n: int) -> Array:
    """(n, k) of k values that are numbers of one start, arrays of many."""
    if n == 1:
        return np.array([values], dtype=float)
    return np.stack([np.broadcast_to(x, n) for x in values], axis=-1)


def quaternions(angles: Sequence[Any], sequence: str, n: int) -> Array:
    """(n, 4): unit quaternions of named angles."""
    return columns(quaternion_from_angles(angles, sequence, *_TURNS[n > 1]), n)


def turning(o: Orientation, angles: Sequence[Any], rates: Sequence[Any], n: int) -> Array:
    """(n, 3): ω in body axes, of the rates of named angles."""
    sequence = o.angles.sequence
    return columns(angular_velocity(angles, rates, sequence, *_TURNS[n > 1]), n)


def axes(o: Orientation, angles: Sequence[Any], n: int) -> Array:
    """(n, 3, 3): W of (1)."""
    units = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    return np.stack([turning(o, angles, unit, n) for unit in units], axis=-1)


def angle_rates(W: Array) -> Array:
    """W⁻¹ of (1); least squares where the angles are singular."""
    return singular_inverse(W, 1e-12)


def start_angles(o: Orientation, given: Given, q: Array) -> list[Any]:
    """Named angles of an orientation: as given if all are, else those of its quaternion."""
    if all(name in given for name in o.angle_names):
        return given_values(o.angle_names, given, len(q))
    return angles_now(o, given, q)


def angles_now(o: Orientation, given: Given, q: Array) -> list[Any]:
    """Named angles of the quaternion as it is; of the two sets the one nearer to a middle angle."""
    sequence, parts = o.angles.sequence, q[:, o.quaternion : o.quaternion + 4].T
    quaternion = parts[:, 0].tolist() if len(q) == 1 else list(parts)
    angles = intrinsic_angles(quaternion, sequence, *_ANGLES[len(q) > 1])
    if o.angle_names[1] not in given:
        return angles
    (middle,) = given_values(o.angle_names[1:2], given, len(q))
    other = other_angles(angles, sequence)
    is_nearer = _apart(other[1], middle) < _apart(angles[1], middle)
    if len(q) == 1:
        return other if is_nearer else angles
    return [np.where(is_nearer, b, a) for a, b in zip(angles, other, strict=True)]


def other_angles(angles: Sequence[Any], sequence: str) -> list[Any]:
    """The other set of angles of the same orientation."""
    first, middle, last = angles
    turned = -middle if sequence[0] == sequence[2] else math.pi - middle
    return [first + math.pi, turned, last + math.pi]


def _apart(a: Any, b: Any) -> Any:
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


def releases(layout: Layout, given: Container[str]) -> list[tuple[Held, ...]]:
    """Coordinates to hold in each attempt, where only some angles of an orientation are given.

    One angle that is not given is let go first, the last of the sequence before the others; then
    more of them. Those that are held and not given are zero.
    """
    options = []
    for o in layout.orientations:
        places = _places(o.angle_names, given)
        if 0 < len(places) < 3:
            free = [k for k in reversed(range(3)) if k not in places]
            gone = [
                g for count in range(1, len(free) + 1) for g in itertools.combinations(free, count)
            ]
            options.append([Held(o, tuple(k for k in range(3) if k not in g)) for g in gone])
    return list(itertools.product(*options)) if options else []


def partly_rated(layout: Layout, given: Container[str]) -> tuple[Held, ...]:
    """Orientations of which the rates of some angles are given, but not all."""
    found = [(o, _places(o.rate_names, given)) for o in layout.orientations]
    return tuple(Held(o, places, is_rate=True) for o, places in found if 0 < len(places) < 3)


def _places(names: Sequence[str], given: Container[str]) -> tuple[int, ...]:
    return tuple(k for k, name in enumerate(names) if name in given)
