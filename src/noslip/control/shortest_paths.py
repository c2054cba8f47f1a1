"""Shortest paths with a least turning radius: Dubins forward only, Reeds–Shepp both ways.

A path is a word of at most five pieces, left, straight and right (1, 0, −1), of signed lengths in
radii, negative backward. Every family of words is solved in closed form for the pose (x, y, φ) in
the frame of the start, and mirrored: time flip (x, φ → −x, −φ), reflection (y, φ → −y, −φ), and the
path from its end to its start. Numbers of equations are those of J. A. Reeds and L. A. Shepp,
*Optimal paths for a car that goes both forwards and backwards*, Pacific J. Math. 145 (1990); the
forward words are those of L. E. Dubins, *On curves of minimal length*, Amer. J. Math. 79 (1957).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.control.curves import Stretch, bent_position, pieces_of
from noslip.control.path_geometry import (
    AbstractPath,
    Composite,
    Point,
    check_fields,
    number,
    point,
    positive,
)
from noslip.control.text_grammar import Angle

#: Most pieces of a word.
PIECES = 5
#: Below this many radii a length is none, and a difference between two words is rounding.
NONE = 1e-13
#: By which a solution's signs and roots may be off: at words of fewer pieces they are zero.
EPS = 1e-12

Words: TypeAlias = tuple[NDArray[np.int64], Array]
Solved: TypeAlias = tuple[NDArray[np.bool_], tuple[Array | float, ...]]

_L, _S, _R = 1, 0, -1


def _turned(angle: Array) -> Array:
    """An angle between −π and π."""
    return np.remainder(angle + math.pi, 2 * math.pi) - math.pi


def _around(angle: Array) -> Array:
    """An angle between 0 and 2π; what is a full turn but for rounding is none."""
    found = np.remainder(angle, 2 * math.pi)
    return np.where(found > 2 * math.pi - 1e-12, 0.0, found)


def _root(value: Array) -> tuple[NDArray[np.bool_], Array]:
    """Where a root is real, and the root."""
    return value >= -EPS, np.sqrt(np.maximum(value, 0.0))


def _lsl(x: Array, y: Array, phi: Array) -> Solved:
    """(8.1) L+ S+ L+."""
    a, b = x - np.sin(phi), y - 1 + np.cos(phi)
    t = np.arctan2(b, a)
    v = _turned(phi - t)
    return (t >= -EPS) & (v >= -EPS), (t, np.hypot(a, b), v)


def _lsr(x: Array, y: Array, phi: Array) -> Solved:
    """(8.2) L+ S+ R+."""
    a, b = x + np.sin(phi), y - 1 - np.cos(phi)
    fits, u = _root(a * a + b * b - 4)
    t = _turned(np.arctan2(b, a) + np.arctan2(2.0, u))
    v = _turned(t - phi)
    return fits & (t >= -EPS) & (v >= -EPS), (t, u, v)


def _lrl(x: Array, y: Array, phi: Array) -> Solved:
    """(8.3) L+ R− L±."""
    a, b = x - np.sin(phi), y - 1 + np.cos(phi)
    far = np.hypot(a, b) / 4
    u = -2 * np.arcsin(np.minimum(far, 1.0))
    t = _turned(np.arctan2(b, a) + u / 2 + math.pi)
    v = _turned(phi - t + u)
    return (far <= 1 + EPS) & (t >= -EPS), (t, u, v)


def _outer(u: Array, v: Array, a: Array, b: Array, phi: Array) -> tuple[Array, Array]:
    """First and last piece of four turns."""
    delta = _turned(u - v)
    A, B = np.sin(u) - np.sin(delta), np.cos(u) - np.cos(delta) - 1
    t = np.arctan2(b * A - a * B, a * A + b * B)
    flips = 2 * (np.cos(delta) - np.cos(v) - np.cos(u)) + 3 < 0
    t = _turned(np.where(flips, t + math.pi, t))
    return t, _turned(t - u + v - phi)


def _lrlr(x: Array, y: Array, phi: Array) -> Solved:
    """(8.7) L+ R+ L− R−."""
    a, b = x + np.sin(phi), y - 1 - np.cos(phi)
    rho = (2 + np.hypot(a, b)) / 4
    u = np.arccos(np.minimum(rho, 1.0))
    t, v = _outer(u, -u, a, b, phi)
    return (rho <= 1 + EPS) & (t >= -EPS) & (v <= EPS), (t, u, -u, v)


def _lrlr_back(x: Array, y: Array, phi: Array) -> Solved:
    """(8.8) L+ R− L− R+."""
    a, b = x + np.sin(phi), y - 1 - np.cos(phi)
    rho = (20 - a * a - b * b) / 16
    u = -np.arccos(np.clip(rho, 0.0, 1.0))
    t, v = _outer(u, u, a, b, phi)
    return (rho >= -EPS) & (rho <= 1 + EPS) & (t >= -EPS) & (v >= -EPS), (t, u, u, v)


def _lrsl(x: Array, y: Array, phi: Array) -> Solved:
    """(8.9) L+ R− S− L−."""
    a, b = x - np.sin(phi), y - 1 + np.cos(phi)
    fits, r = _root(a * a + b * b - 4)
    u = 2 - r
    t = _turned(np.arctan2(b, a) + np.arctan2(r, -2.0))
    v = _turned(phi - math.pi / 2 - t)
    return fits & (t >= -EPS) & (u <= EPS) & (v <= EPS), (t, -math.pi / 2, u, v)


def _lrsr(x: Array, y: Array, phi: Array) -> Solved:
    """(8.10) L+ R− S− R−."""
    a, b = x + np.sin(phi), y - 1 - np.cos(phi)
    t, u = np.arctan2(a, -b), 2 - np.hypot(a, b)
    v = _turned(t + math.pi / 2 - phi)
    return (t >= -EPS) & (u <= EPS) & (v <= EPS), (t, -math.pi / 2, u, v)


def _lrslr(x: Array, y: Array, phi: Array) -> Solved:
    """(8.11) L+ R− S− L− R+."""
    a, b = x + np.sin(phi), y - 1 - np.cos(phi)
    fits, r = _root(a * a + b * b - 4)
    u = 4 - r
    t = _turned(np.arctan2((4 - u) * a - 2 * b, -2 * a + (u - 4) * b))
    v = _turned(t - phi)
    return fits & (u <= EPS) & (t >= -EPS) & (v >= -EPS), (t, -math.pi / 2, u, -math.pi / 2, v)


#: Turns of a family, its solution, and whether the word from the end to the start is another one.
_FAMILIES: tuple[tuple[tuple[int, ...], Callable[[Array, Array, Array], Solved], bool], ...] = (
    ((_L, _S, _L), _lsl, False),
    ((_L, _S, _R), _lsr, False),
    ((_L, _R, _L), _lrl, True),
    ((_L, _R, _L, _R), _lrlr, False),
    ((_L, _R, _L, _R), _lrlr_back, False),
    ((_L, _R, _S, _L), _lrsl, True),
    ((_L, _R, _S, _R), _lrsr, True),
    ((_L, _R, _S, _L, _R), _lrslr, False),
)


def _reeds_shepp_words(x: Array, y: Array, phi: Array) -> Iterator[Words]:
    """Turns (5,) and lengths (n, 5), infinite where there is no such word."""
    flip = np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    mirror = np.array([1.0, 1.0, -1.0, -1.0])[:, None]
    back = x * np.cos(phi) + y * np.sin(phi), x * np.sin(phi) - y * np.cos(phi)
    for turns, solve, has_reverse in _FAMILIES:
        for is_reverse in (False, True) if has_reverse else (False,):
            px, py = back if is_reverse else (x, y)
            fits, parts = solve(flip * px, mirror * py, flip * mirror * phi)
            lengths = np.zeros((4, len(x), PIECES))
            order = parts[::-1] if is_reverse else parts
            for k, part in enumerate(order):
                lengths[..., k] = flip * part
            lengths[~fits, 0] = np.inf
            own = turns[::-1] if is_reverse else turns
            for k in range(4):
                word = np.zeros(PIECES, dtype=np.int64)
                word[: len(own)] = np.array(own) * int(mirror[k, 0])
                yield word, lengths[k]


def _dubins_words(x: Array, y: Array, phi: Array) -> Iterator[Words]:
    """The six forward words."""
    for mirror in (1.0, -1.0):
        my, mphi = mirror * y, mirror * phi
        a, b = x - np.sin(mphi), my - 1 + np.cos(mphi)  # center of the last left turn, from first
        t = np.arctan2(b, a)
        yield _word((_L, _S, _L), mirror, np.isfinite(t), (_around(t), np.hypot(a, b), mphi - t))
        far = np.hypot(a, b) / 4
        turn = np.arccos(np.minimum(far, 1.0))
        for bulge in (1.0, -1.0):
            first = t + math.pi / 2 + bulge * turn
            middle = math.pi + bulge * 2 * turn
            yield _word(
                (_L, _R, _L), mirror, far <= 1 + EPS, (first, middle, mphi - first + middle)
            )
        a, b = x + np.sin(mphi), my - 1 - np.cos(mphi)
        fits, u = _root(a * a + b * b - 4)
        t = np.arctan2(b, a) + np.arctan2(2.0, u)
        yield _word((_L, _S, _R), mirror, fits, (t, u, t - mphi))


def _word(
    turns: tuple[int, ...], mirror: float, fits: NDArray[np.bool_], parts: tuple[Array, ...]
) -> Words:
    """A forward word; its turns are between 0 and 2π."""
    lengths = np.zeros((len(fits), PIECES))
    word = np.zeros(PIECES, dtype=np.int64)
    for k, (turn, part) in enumerate(zip(turns, parts, strict=True)):
        word[k] = turn * int(mirror)
        lengths[:, k] = _around(np.asarray(part)) if turn else part
    lengths[~fits, 0] = np.inf
    return word, lengths


def shortest_words(x: Array, y: Array, phi: Array, *, may_reverse: bool = True) -> Words:
    """Turns (n, 5) and signed lengths (n, 5) of shortest paths to poses (n,), in radii.

    Parameters
    ----------
    x, y, phi : poses in the frame of the start, x and y over the least radius.
    may_reverse : whether the vehicle may drive backward.
    """
    x, y, phi = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, y, phi))
    phi = _turned(phi)
    turns = np.zeros((len(x), PIECES), dtype=np.int64)
    lengths = np.zeros((len(x), PIECES))
    best = np.full(len(x), np.inf)
    for word, found in (_reeds_shepp_words if may_reverse else _dubins_words)(x, y, phi):
        total = np.sum(np.abs(found), axis=1)
        is_better = total < best - NONE
        best = np.where(is_better, total, best)
        turns[is_better] = word
        lengths[is_better] = found[is_better]
    return turns, lengths


class _Shortest(AbstractPath):
    """What both kinds share: a composite of arcs and lines between cusps."""

    __slots__ = ()

    typical = {"radius": 1.0}

    start: Point
    start_heading: float
    end: Point
    end_heading: float
    radius: float

    def __post_init__(self) -> None:
        check_fields(
            self,
            start=point,
            end=point,
            radius=positive,
            start_heading=number,
            end_heading=number,
        )
        _sections(self)

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the arc length p."""
        return _sections(self).position(p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the arc length p of the piece that holds at `near`."""
        return _sections(self).position_near(p, near)

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX | None:
        """Curvature at the arc length p."""
        return _sections(self).bend_near(p, near)

    @property
    def parts(self) -> tuple[AbstractPath, ...]:
        """Arcs and lines between cusps."""
        return _sections(self).parts

    @property
    def cusps(self) -> tuple[float, ...]:
        """Arc lengths at which the vehicle changes its direction."""
        return _sections(self).cusps

    @property
    def breaks(self) -> tuple[float, ...]:
        """Ends of all pieces."""
        return _sections(self).breaks


@dataclass(frozen=True, slots=True, kw_only=True)
class Dubins(_Shortest):
    """The shortest path forward to a pose, nowhere sharper than `radius` (m).

    Parameters
    ----------
    end, end_heading : position and heading at the end, m and rad.
    start, start_heading : position and heading at the start, m and rad.
    """

    word = "dubins"

    end: Point
    end_heading: Angle
    radius: float
    start: Point = (0.0, 0.0)
    start_heading: Angle = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReedsShepp(_Shortest):
    """The shortest path to a pose, forward and backward, nowhere sharper than `radius` (m).

    Parameters
    ----------
    end, end_heading : position and heading at the end, m and rad.
    start, start_heading : position and heading at the start, m and rad; the vehicle may drive
        backward at once.
    """

    word = "reeds-shepp"

    end: Point
    end_heading: Angle
    radius: float
    start: Point = (0.0, 0.0)
    start_heading: Angle = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcsAndLines(AbstractPath):
    """Arcs and lines that join smoothly in one direction, from a start and a heading."""

    stretches: tuple[Stretch, ...]
    start: Point
    start_heading: float

    def position(self, p: ca.SX) -> ca.SX:
        """The point at the arc length p."""
        return self.position_near(p, p)

    def position_near(self, p: ca.SX, near: ca.SX) -> ca.SX:
        """The point at the arc length p of the piece that holds at `near`."""
        position, _ = bent_position(p, near, self._pieces())
        return position

    def bend_near(self, p: ca.SX, near: ca.SX) -> ca.SX | None:
        """Curvature at the arc length p."""
        _, bend = bent_position(p, near, self._pieces())
        return bend

    @property
    def breaks(self) -> tuple[float, ...]:
        """Ends of all pieces."""
        return tuple(float(s) for s in np.cumsum([0.0, *(s[0] for s in self.stretches)]))

    def _pieces(self) -> tuple[tuple[float, ...], Array]:
        return pieces_of(self.stretches, self.start, self.start_heading)


@lru_cache(maxsize=256)
def _sections(path: _Shortest) -> AbstractPath:
    """The path as arcs and lines between cusps."""
    r, heading = path.radius, path.start_heading
    away = complex(path.end[0] - path.start[0], path.end[1] - path.start[1])
    away *= complex(math.cos(heading), -math.sin(heading)) / r
    turns, lengths = shortest_words(
        np.array([away.real]),
        np.array([away.imag]),
        np.array([path.end_heading - heading]),
        may_reverse=isinstance(path, ReedsShepp),
    )
    place = complex(*path.start)
    sections: list[tuple[float, complex, float, list[Stretch]]] = []
    for turn, length in zip(turns[0].tolist(), lengths[0].tolist(), strict=True):
        if abs(length) <= NONE:
            continue
        sign = math.copysign(1.0, length)
        if not sections or sections[-1][0] != sign:
            sections.append((sign, place, heading + (0.0 if sign > 0 else math.pi), []))
        # backward, the vehicle's left turn is the curve's right turn
        sections[-1][3].append((abs(length) * r, (sign * turn / r,)))
        place, heading = moved(place, heading, turn, length, r)
    if not sections:
        raise _nowhere(path)
    found = [
        ArcsAndLines(stretches=tuple(s), start=(z.real, z.imag), start_heading=h)
        for _, z, h, s in sections
    ]
    return found[0] if len(found) == 1 else Composite(tuple(found))


def _nowhere(path: _Shortest) -> Exception:
    from noslip.base import SimulationError

    return SimulationError(
        "the path ends where it starts",
        f"{type(path).__name__}(end=…, end_heading=…)",
        "give another end or another heading there",
    )


def moved(
    place: complex, heading: float, turn: int, length: float, radius: float
) -> tuple[complex, float]:
    """Where a piece of a word leads."""
    direction = complex(math.cos(heading), math.sin(heading))
    if not turn:
        return place + length * radius * direction, heading
    after = heading + turn * length
    end = complex(math.cos(after), math.sin(after))
    return place + turn * radius * 1j * (direction - end), after
