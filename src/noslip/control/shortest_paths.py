"""Shortest paths with a least turning radius: Dubins forward only, Reeds–Shepp both ways.

**Arcs and lines, whose curvature jumps.**

A path is a word of at most five pieces, left, straight and right (1, 0, −1), of signed lengths in
radii, negative backward. Every family of words is solved in closed form for the pose (x, y, φ) in
the frame of the start, and mirrored: time flip (x, φ → −x, −φ), reflection (y, φ → −y, −φ), and the
path from its end to its start. Numbers of equations are those of J. A. Reeds and L. A. Shepp,
*Optimal paths for a car that goes both forwards and backwards*, Pacific J. Math. 145 (1990); the
forward words are those of L. E. Dubins, *On curves of minimal length*, Amer. J. Math. 79 (1957).
They are traced once and evaluated natively.

**With clothoids, so that curvature is continuous, and zero at both ends and at cusps.**

A turn by δ at the largest curvature 1 and the largest sharpness s, in radii, is clothoid, arc,
clothoid, of length δ + 1/s; below δ = 1/s two clothoids of less sharpness. Its ends lie on a circle
of radius R about the center of the arc, where the heading is off the tangent by μ: with k = ±1 for
left and right and d = ±1 for forward and backward, from start and end at the heading θ

    (a)  c − z = R e^{iθ} (d sin μ + i k cos μ),     c − z = R e^{iθ} (−d sin μ + i k cos μ)

so that the centers of two turns that follow each other at the heading θ, with a line of length ℓ
between them or without, are apart by

    (b)  c₂ − c₁ = e^{iθ} (R ((d₁ + d₂) sin μ + i (k₂ − k₁) cos μ) + d ℓ)

(T. Fraichard and A. Scheuer, *From Reeds and Shepp's to continuous-curvature paths*, IEEE Trans.
Robotics 20 (2004)). The sum of (b) over a word is known; two or three such vectors of known lengths
are a triangle, a line is the root of a quadratic equation. For s → ∞ these are the words above. For
a finite s the least of them is short, not always the shortest path of its kind.
"""

from __future__ import annotations

import math
from cmath import exp, phase
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from itertools import pairwise, product
from typing import Annotated, Any, NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.control.curves import JoinedStretches, Stretch, end_of
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
from noslip.engines import RowFunction, compile_rows, trace_program
from noslip.model import Meaning

#: Most pieces of a word.
PIECES = 5
#: Below this many radii a length is zero, and a difference between two words is rounding.
NONE = 1e-13
#: Longest clothoid, in radii: it turns by half of this.
LONGEST_RAMP = 6.0
#: By which a solution's signs and roots may be off: at words of fewer pieces they are zero.
EPS = 1e-12

Words: TypeAlias = tuple[NDArray[np.int64], Array]
#: Whether a word leads to a pose, and the lengths of its pieces.
Solved: TypeAlias = tuple[ca.SX, tuple[Any, ...]]

_L, _S, _R = 1, 0, -1


def _half_turn(angle: ca.SX) -> ca.SX:
    """An angle between −π and π."""
    return angle - 2 * math.pi * ca.floor((angle + math.pi) / (2 * math.pi))


def _full_turn(angle: ca.SX) -> ca.SX:
    """An angle between 0 and 2π; a full turn up to rounding is 0."""
    found = angle - 2 * math.pi * ca.floor(angle / (2 * math.pi))
    return ca.if_else(found > 2 * math.pi - 1e-12, 0.0, found)


def _root(value: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Where a root is real, and the root."""
    return value >= -EPS, ca.sqrt(ca.fmax(value, 0.0))


def _all(*conditions: ca.SX) -> ca.SX:
    """Whether all conditions hold."""
    return reduce(ca.logic_and, conditions)


def _lsl(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.1) L+ S+ L+."""
    a, b = x - ca.sin(phi), y - 1 + ca.cos(phi)
    t = ca.atan2(b, a)
    v = _half_turn(phi - t)
    return _all(t >= -EPS, v >= -EPS), (t, ca.hypot(a, b), v)


def _lsr(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.2) L+ S+ R+."""
    a, b = x + ca.sin(phi), y - 1 - ca.cos(phi)
    fits, u = _root(a * a + b * b - 4)
    t = _half_turn(ca.atan2(b, a) + ca.atan2(2.0, u))
    v = _half_turn(t - phi)
    return _all(fits, t >= -EPS, v >= -EPS), (t, u, v)


def _lrl(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.3) L+ R− L±."""
    a, b = x - ca.sin(phi), y - 1 + ca.cos(phi)
    far = ca.hypot(a, b) / 4
    u = -2 * ca.asin(ca.fmin(far, 1.0))
    t = _half_turn(ca.atan2(b, a) + u / 2 + math.pi)
    v = _half_turn(phi - t + u)
    return _all(far <= 1 + EPS, t >= -EPS), (t, u, v)


def _outer(u: ca.SX, v: ca.SX, a: ca.SX, b: ca.SX, phi: ca.SX) -> tuple[ca.SX, ca.SX]:
    """First and last piece of four turns."""
    delta = _half_turn(u - v)
    A, B = ca.sin(u) - ca.sin(delta), ca.cos(u) - ca.cos(delta) - 1
    t = ca.atan2(b * A - a * B, a * A + b * B)
    flips = 2 * (ca.cos(delta) - ca.cos(v) - ca.cos(u)) + 3 < 0
    t = _half_turn(t + math.pi * flips)
    return t, _half_turn(t - u + v - phi)


def _lrlr(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.7) L+ R+ L− R−."""
    a, b = x + ca.sin(phi), y - 1 - ca.cos(phi)
    rho = (2 + ca.hypot(a, b)) / 4
    u = ca.acos(ca.fmin(rho, 1.0))
    t, v = _outer(u, -u, a, b, phi)
    return _all(rho <= 1 + EPS, t >= -EPS, v <= EPS), (t, u, -u, v)


def _lrlr_back(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.8) L+ R− L− R+."""
    a, b = x + ca.sin(phi), y - 1 - ca.cos(phi)
    rho = (20 - a * a - b * b) / 16
    u = -ca.acos(ca.fmax(ca.fmin(rho, 1.0), 0.0))
    t, v = _outer(u, u, a, b, phi)
    return _all(rho >= -EPS, rho <= 1 + EPS, t >= -EPS, v >= -EPS), (t, u, u, v)


def _lrsl(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.9) L+ R− S− L−."""
    a, b = x - ca.sin(phi), y - 1 + ca.cos(phi)
    fits, r = _root(a * a + b * b - 4)
    u = 2 - r
    t = _half_turn(ca.atan2(b, a) + ca.atan2(r, -2.0))
    v = _half_turn(phi - math.pi / 2 - t)
    return _all(fits, t >= -EPS, u <= EPS, v <= EPS), (t, -math.pi / 2, u, v)


def _lrsr(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.10) L+ R− S− R−."""
    a, b = x + ca.sin(phi), y - 1 - ca.cos(phi)
    t, u = ca.atan2(a, -b), 2 - ca.hypot(a, b)
    v = _half_turn(t + math.pi / 2 - phi)
    return _all(t >= -EPS, u <= EPS, v <= EPS), (t, -math.pi / 2, u, v)


def _lrslr(x: ca.SX, y: ca.SX, phi: ca.SX) -> Solved:
    """(8.11) L+ R− S− L− R+."""
    a, b = x + ca.sin(phi), y - 1 - ca.cos(phi)
    fits, r = _root(a * a + b * b - 4)
    u = 4 - r
    t = _half_turn(ca.atan2((4 - u) * a - 2 * b, -2 * a + (u - 4) * b))
    v = _half_turn(t - phi)
    return _all(fits, u <= EPS, t >= -EPS, v >= -EPS), (t, -math.pi / 2, u, -math.pi / 2, v)


#: Turns of a family, its solution, and whether the word from the end to the start is another one.
_FAMILIES: tuple[tuple[tuple[int, ...], Callable[[ca.SX, ca.SX, ca.SX], Solved], bool], ...] = (
    ((_L, _S, _L), _lsl, False),
    ((_L, _S, _R), _lsr, False),
    ((_L, _R, _L), _lrl, True),
    ((_L, _R, _L, _R), _lrlr, False),
    ((_L, _R, _L, _R), _lrlr_back, False),
    ((_L, _R, _S, _L), _lrsl, True),
    ((_L, _R, _S, _R), _lrsr, True),
    ((_L, _R, _S, _L, _R), _lrslr, False),
)
#: Turns of a word, whether it leads to the pose, and the lengths of its pieces.
_Word: TypeAlias = tuple[tuple[int, ...], ca.SX, tuple[Any, ...]]


def _reeds_shepp_words(x: ca.SX, y: ca.SX, phi: ca.SX) -> Iterator[_Word]:
    """All words forward and backward."""
    back = x * ca.cos(phi) + y * ca.sin(phi), x * ca.sin(phi) - y * ca.cos(phi)
    for turns, solve, has_reverse in _FAMILIES:
        for step, (px, py) in ((1, (x, y)), (-1, back))[: 1 + has_reverse]:
            for mirror, flip in product((1, -1), (1, -1)):
                fits, parts = solve(flip * px, mirror * py, flip * mirror * phi)
                yield (
                    tuple(mirror * turn for turn in turns[::step]),
                    fits,
                    tuple(flip * part for part in parts[::step]),
                )


def _dubins_words(x: ca.SX, y: ca.SX, phi: ca.SX) -> Iterator[_Word]:
    """The six forward words; their turns are between 0 and 2π."""
    for mirror in (1, -1):
        my, mphi = mirror * y, mirror * phi
        left, right = (mirror, 0, mirror), (mirror, 0, -mirror)
        a, b = x - ca.sin(mphi), my - 1 + ca.cos(mphi)  # center of the last left turn, from first
        t, far = ca.atan2(b, a), ca.hypot(a, b)
        yield left, ca.SX(1), (_full_turn(t), far, _full_turn(mphi - t))
        turn = ca.acos(ca.fmin(far / 4, 1.0))
        for bulge in (1, -1):
            first, middle = t + math.pi / 2 + bulge * turn, math.pi + bulge * 2 * turn
            pieces = first, middle, mphi - first + middle
            yield (mirror, -mirror, mirror), far <= 4 * (1 + EPS), tuple(map(_full_turn, pieces))
        a, b = x + ca.sin(mphi), my - 1 - ca.cos(mphi)
        fits, u = _root(a * a + b * b - 4)
        t = ca.atan2(b, a) + ca.atan2(2.0, u)
        yield right, fits, (_full_turn(t), u, _full_turn(t - mphi))


@cache
def _word_table(may_reverse: bool) -> tuple[NDArray[np.int64], RowFunction]:
    """Turns of all words, and a native function of poses: the shortest word and its lengths."""
    pose, none = ca.SX.sym("pose", 3), ca.SX(0, 1)
    words = list((_reeds_shepp_words if may_reverse else _dubins_words)(*ca.vertsplit(pose)))
    table = np.zeros((len(words), PIECES), dtype=np.int64)
    least, found = ca.SX(math.inf), ca.SX.zeros(1 + PIECES)
    for k, (turns, fits, parts) in enumerate(words):
        table[k, : len(turns)] = turns
        total = sum(map(ca.fabs, parts), ca.SX(0))
        is_better = _all(fits, total < least - NONE)
        lengths = ca.vertcat(k, *parts, ca.SX.zeros(PIECES - len(parts)))
        least, found = (ca.if_else(is_better, *both) for both in ((total, least), (lengths, found)))
    program = trace_program("shortest word", [none, pose, none, none], found)
    return table, compile_rows(program, None)


def shortest_words(x: Array, y: Array, phi: Array, *, may_reverse: bool = True) -> Words:
    """Turns (n, 5) and signed lengths (n, 5) of shortest paths to poses (n,), in radii.

    Parameters
    ----------
    x, y, phi : poses in the frame of the start, x and y over the least radius.
    may_reverse : whether the vehicle may drive backward.
    """
    poses = np.stack([np.atleast_1d(np.asarray(v, dtype=float)) for v in (x, y, phi)], axis=1)
    poses[:, 2] = np.remainder(poses[:, 2] + math.pi, 2 * math.pi) - math.pi
    table, find = _word_table(may_reverse)
    none = np.zeros((len(poses), 0))
    found = find.map(np.zeros(len(poses)), poses, none, none[0])
    return table[found[:, 0].astype(np.int64)], found[:, 1:]


class _WordPiece(NamedTuple):
    """A piece of a word with clothoids: a turn to the left or right, or a line (side 0)."""

    side: int  #: k of (a)
    way: int  #: d of (a)
    is_quarter: bool = False  #: whether it turns by π/2, between a cusp and a line


#: Sides and ways of the pieces of a family, to be mirrored; a quarter turn is written q.
_SMOOTH_FAMILIES = (
    "L+ S+ L+",
    "L+ S+ R+",
    "L+ R+ L+",
    "L+ R- L+",
    "L+ R+ L-",
    "L+ R- L-",
    "L+ R+ L- R-",
    "L+ R- L- R+",
    "L+ R-q S- L-",
    "L+ R-q S- R-",
    "L+ S+ L+q R-",
    "L+ S+ R+q L-",
    "L+ R-q S- L-q R+",
)


@cache
def _smooth_words(may_reverse: bool) -> tuple[tuple[_WordPiece, ...], ...]:
    """All words with clothoids."""
    sides, ways = {"L": 1, "S": 0, "R": -1}, {"+": 1, "-": -1}
    return tuple(
        tuple(_WordPiece(m * sides[p[0]], f * ways[p[1]], p.endswith("q")) for p in word.split())
        for word in _SMOOTH_FAMILIES
        for m, f in product((1, -1), (1, -1))
        if may_reverse or (f > 0 and "-" not in word)
    )


class _SmoothTurns:
    """Turns of the least radius 1 and a largest sharpness; lengths in radii."""

    def __init__(self, sharpness: float) -> None:
        self.ramp = 1 / sharpness  # length of a clothoid, and the turn of two of them
        center = end_of(((self.ramp, (0.5, 1.0)),)) + 1j * exp(0.5j * self.ramp)
        self.radius, self.tilt = abs(center), math.atan2(center.real, center.imag)  # R, μ

    def stretches(self, turn: float) -> tuple[Stretch, ...]:
        """A turn to the left."""
        if turn >= self.ramp:
            up, down = (self.ramp, (0.5, 1.0)), (self.ramp, (0.5, -1.0))
            arc = turn - self.ramp
            return (up, (arc, (1.0,)), down) if arc > NONE else (up, down)
        chord = 2 * self.radius * math.sin(turn / 2 + self.tilt)
        if turn == 0:
            return ((chord, (0.0,)),)
        # two clothoids to the same circle: those of length 1 together, enlarged
        unit = (0.5, (turn, 2 * turn)), (0.5, (turn, -2 * turn))
        length = chord / abs(end_of(unit))
        half = turn / length
        return (length / 2, (half, 2 * half)), (length / 2, (half, -2 * half))

    def length(self, turn: float) -> float:
        """Length of a turn; infinite where it would have to be sharper."""
        if turn >= self.ramp:
            return turn + self.ramp
        length = 2 * self.stretches(turn)[0][0] if turn else self.stretches(turn)[0][0]
        return length if 4 * turn * self.ramp <= length**2 * (1 + EPS) else math.inf

    def center(self, piece: _WordPiece, *, is_end: bool = False) -> complex:
        """c − z of (a) at the heading 0."""
        along = -piece.way if is_end else piece.way
        return self.radius * complex(along * math.sin(self.tilt), piece.side * math.cos(self.tilt))

    def apart(self, a: _WordPiece, b: _WordPiece) -> complex:
        """c₂ − c₁ of (b) at the heading 0, without a line."""
        return self.center(b) - self.center(a, is_end=True)

    def solved(self, word: tuple[_WordPiece, ...], z: complex, phi: float) -> Iterator[list[float]]:
        """Turns and length of the line of a word to a pose, in their order."""
        turns = [piece for piece in word if piece.side]
        whole = z + exp(1j * phi) * self.center(turns[-1], is_end=True) - self.center(turns[0])
        steps = [self.apart(a, b) for a, b in pairwise(turns)]
        found: Iterator[tuple[list[float], float]]
        line = next((k for k, piece in enumerate(word) if not piece.side), 0)
        if line:
            found = _with_line(turns, steps, whole, line - 1, word[line].way)
        elif len(turns) == 4:
            found = _of_four(steps, whole, is_bent=turns[0].way == turns[1].way)
        else:
            found = ((headings, 0.0) for headings in _triangle(steps[0], steps[1], whole))
        for headings, length in found:
            turned = [
                _positive_turn(piece.side * piece.way * (after - before))
                for piece, (before, after) in zip(
                    turns, pairwise([0.0, *headings, phi]), strict=True
                )
            ]
            yield [*turned[:line], length, *turned[line:]] if line else turned


def _positive_turn(angle: float) -> float:
    """An angle between 0 and 2π; a full turn up to rounding is 0."""
    found = angle % (2 * math.pi)
    return 0.0 if found > 2 * math.pi - 1e-10 else found


def _triangle(a: complex, b: complex, whole: complex) -> Iterator[list[float]]:
    """Angles θ with e^{iθ₁} a + e^{iθ₂} b = whole."""
    far = abs(whole)
    if not abs(abs(a) - abs(b)) - EPS < far < abs(a) + abs(b) + EPS or far < EPS:
        return
    along = (far**2 + abs(a) ** 2 - abs(b) ** 2) / (2 * far)
    across = math.sqrt(max(abs(a) ** 2 - along**2, 0.0))
    for side in (1, -1):
        first = whole / far * complex(along, side * across)
        yield [phase(first / a), phase((whole - first) / b)]


def _of_four(
    steps: list[complex], whole: complex, *, is_bent: bool
) -> Iterator[tuple[list[float], float]]:
    """Four turns, the two in the middle by the same angle: to the same side or back."""
    a, b, c = steps
    if not is_bent:
        # back: θ₃ = θ₁
        for first, second in _triangle(a + c, b, whole):
            yield [first, second, first], 0.0
        return
    far = abs(whole)
    for sign in (1, -1):
        # to the same side: an isosceles trapezoid
        along = (far - sign * abs(b)) / 2
        if far < EPS or abs(along) > abs(a):
            continue
        across = math.sqrt(abs(a) ** 2 - along**2)
        for side in (1, -1):
            one = whole / far * complex(along, side * across)
            two = whole / far * sign * abs(b)
            yield [phase(one / a), phase(two / b), phase((whole - one - two) / c)], 0.0


def _with_line(
    turns: list[_WordPiece], steps: list[complex], whole: complex, line: int, way: int
) -> Iterator[tuple[list[float], float]]:
    """A line after a turn: |A + ℓ w| = |whole|, all headings relative to the first one."""
    relative = [0.0]
    for piece in turns[1:-1]:
        relative.append(relative[-1] + piece.side * piece.way * math.pi / 2)
    known = sum(exp(1j * angle) * step for angle, step in zip(relative, steps, strict=True))
    w = way * exp(1j * relative[line])
    half = (known.conjugate() * w).real
    square = half**2 - abs(known) ** 2 + abs(whole) ** 2
    if square < -EPS:
        return
    for sign in (1, -1):
        length = -half + sign * math.sqrt(max(square, 0.0))
        if length >= -EPS:
            length = max(length, 0.0)
            first = phase(whole / (known + length * w))
            yield [first + angle for angle in relative], length


def _smooth_pieces(
    z: complex, phi: float, sharpness: float, may_reverse: bool
) -> list[tuple[_WordPiece, tuple[Stretch, ...]]]:
    """The shortest word with clothoids to a pose, in radii: pieces and their curvatures."""
    if abs(z.imag) < EPS and abs(math.remainder(phi, 2 * math.pi)) < EPS:
        if may_reverse or z.real > 0:
            way = 1 if z.real > 0 else -1
            return [(_WordPiece(0, way), ((abs(z.real), (0.0,)),))] if abs(z) > EPS else []
    turns, least = _SmoothTurns(sharpness), math.inf
    best: tuple[tuple[_WordPiece, ...], list[float]] = (), []
    for word in _smooth_words(may_reverse):
        for sizes in turns.solved(word, z, phi):
            length = sum(
                turns.length(size) if piece.side else size
                for piece, size in zip(word, sizes, strict=True)
            )
            if length < least - NONE:
                least, best = length, (word, sizes)
    found = []
    for piece, size in zip(*best, strict=True):
        parts = turns.stretches(size) if piece.side else ((size, (0.0,)),)
        sign = piece.side * piece.way  # backward, the vehicle's left turn is the curve's right one
        found.append((piece, tuple((n, tuple(sign * c for c in k)) for n, k in parts if n > NONE)))
    return found


class _Shortest(AbstractPath):
    """What both kinds share: a composite of arcs and lines between cusps."""

    __slots__ = ()

    typical = {"radius": 1.0}

    start: Point
    start_heading: float
    end: Point
    end_heading: float
    radius: float
    sharpness: float | None

    def __post_init__(self) -> None:
        check_fields(
            self,
            start=point,
            end=point,
            radius=positive,
            start_heading=number,
            end_heading=number,
        )
        if self.sharpness is not None:
            check_fields(self, sharpness=positive)
            ramp = 1 / (self.sharpness * self.radius**2)
            if not ramp <= LONGEST_RAMP:
                raise SimulationError(
                    f"a clothoid to the radius {self.radius:g} m turns by {ramp / 2:.3g} rad",
                    f"{type(self).__name__}(radius=…, sharpness=…)",
                    f"give a sharpness of at least {1 / LONGEST_RAMP / self.radius**2:.3g} 1/m²",
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
    """The shortest path forward to a pose, nowhere of less than `radius` (m)."""

    word = "dubins"

    end: Point  #: position at the end, m
    end_heading: Angle  #: heading at the end, rad
    radius: float  #: least radius of curvature, m
    start: Point = (0.0, 0.0)  #: position at the start, m
    start_heading: Angle = 0.0  #: heading at the start, rad
    #: largest change of curvature, 1/m², of clothoids between lines and arcs; curvature is then
    #: continuous, and zero at both ends. None: arcs and lines alone
    sharpness: Annotated[float, Meaning(unit="1/m^2")] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReedsShepp(_Shortest):
    """The shortest path to a pose, forward and backward, nowhere of less than `radius` (m)."""

    word = "reeds-shepp"

    end: Point  #: position at the end, m
    end_heading: Angle  #: heading at the end, rad
    radius: float  #: least radius of curvature, m
    start: Point = (0.0, 0.0)  #: position at the start, m
    #: heading at the start, rad; the vehicle may drive backward at once
    start_heading: Angle = 0.0
    #: largest change of curvature, 1/m², of clothoids between lines and arcs; curvature is then
    #: continuous, and zero at both ends and at cusps. None: arcs and lines alone
    sharpness: Annotated[float, Meaning(unit="1/m^2")] | None = None


@lru_cache(maxsize=256)
def _sections(path: _Shortest) -> AbstractPath:
    """The path as stretches between cusps."""
    r, heading = path.radius, path.start_heading
    away = complex(path.end[0] - path.start[0], path.end[1] - path.start[1])
    away *= exp(-1j * heading) / r
    turned, both = path.end_heading - heading, isinstance(path, ReedsShepp)
    if path.sharpness is not None:
        pieces = [
            (piece.way, stretches)
            for piece, stretches in _smooth_pieces(away, turned, path.sharpness * r**2, both)
        ]
    else:
        turns, lengths = shortest_words(
            np.array([away.real]), np.array([away.imag]), np.array([turned]), may_reverse=both
        )
        pieces = [
            (way, ((abs(length), (float(way * turn),)),))
            for turn, length in zip(turns[0].tolist(), lengths[0].tolist(), strict=True)
            if abs(length) > NONE and (way := 1 if length > 0 else -1)
        ]
    # along and against the heading of the vehicle, the curve from one cusp to the next
    sections: list[tuple[int, list[Stretch]]] = []
    for way, stretches in pieces:
        if not sections or sections[-1][0] != way:
            sections.append((way, []))
        sections[-1][1].extend((n * r, tuple(c / r for c in k)) for n, k in stretches)
    if not sections:
        raise SimulationError(
            "the path ends where it starts",
            f"{type(path).__name__}(end=…, end_heading=…)",
            "give another end or another heading there",
        )
    place, found = complex(*path.start), []
    for way, joined in sections:
        along = heading if way > 0 else heading + math.pi
        found.append(
            JoinedStretches(
                stretches=tuple(joined), start=(place.real, place.imag), start_heading=along
            )
        )
        place += exp(1j * along) * end_of(tuple(joined))
        # the curvature's mean is its value in the middle, but for even powers, of which it has none
        heading += sum(n * k[0] for n, k in joined)
    return found[0] if len(found) == 1 else Composite(tuple(found))
