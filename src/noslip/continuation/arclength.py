"""Pseudo-arclength continuation: curves of F(y) = 0, and the singular points on them.

There is one unknown more than F has independent entries; F may have further entries that follow
from these (energy keeps the forward speed). With the tangent τ of the curve, J τ = 0, |τ| = 1, a
step of length h is

    (1)  z = y + h τ,    F(y) = 0,  τᵀ(y − z) = 0       (Newton's method, J = ∂F/∂y exact)

[Keller1977], in unknowns that are measured by their scale, the varied one s, which is the last, by
its range. The step is halved where (1) does not converge or the tangent turns too far. With Q an
orthonormal basis of the range of J, found at the point before,

    (2)  fold            τ_s = 0
    (3)  branch point    det [QᵀJ; τᵀ] = 0

change sign from a point of the curve to the next. A zero is found by Brent's method along the arc,
every value at a point that (1) has put onto the curve. At a branch point J loses a rank, and is the
solution of the regular system, with ψ of unit length [Moore1980],

    (4)  QᵀF + μ ψ = 0,    Jᵀ Q ψ = 0,    |ψ|² = 1

With J φ = 0 for φ = a φ₁ + b φ₂, the directions of the two curves are the roots of

    (5)  a² ψᵀF″φ₁φ₁ + 2ab ψᵀF″φ₁φ₂ + b² ψᵀF″φ₂φ₂ = 0

where F″ is a difference of J: it only directs the first step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from noslip.base import Array

#: Newton steps of (1).
MOST_NEWTON = 10
#: Cosine of the angle by which the tangent may turn in a step, and of that which makes it longer.
TURN, STRAIGHT = 0.95, 0.995
#: Singular values below this beside the largest are zero.
RANK = 1e-9
#: Shortest step beside the longest.
SHORTEST = 1e-6
#: Step of differences of J, in scaled unknowns.
NUDGE = 1e-5

#: Why a curve ends.
RANGE, CLOSED, FULL, STUCK, CANCELLED = (
    "the end of the range",
    "where it began",
    "the most points that were asked for",
    "where the next motion is not found",
    "where the work was cancelled",
)


class Conditions(Protocol):
    """F and J at a point, and what may be left of F."""

    @property
    def F(self) -> Array:
        """(m,)."""

    @property
    def J(self) -> Array:
        """(m, k)."""

    @property
    def allowed(self) -> Array:
        """(m,)."""


class CurveEquations(Protocol):
    """F of k unknowns, the varied one last."""

    @property
    def scale(self) -> Array:
        """(k,) what counts as a step of 1 of each unknown."""

    @property
    def precision(self) -> float:
        """Length of a step of (1), beside the unknowns, below which it is rounding."""

    def at(self, y: Array) -> Conditions:
        """F and J at a point (k,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Knot:
    """A point of a curve."""

    y: Array  #: (k,) unknowns
    tangent: Array = field(repr=False)  #: (k,) of scaled unknowns, of unit length
    basis: Array = field(repr=False)  #: (m, k − 1) Q
    slopes: Array = field(repr=False)  #: (m, k) J of scaled unknowns

    def determinant(self, basis: Array) -> float:
        """(3), with Q of another point."""
        rows = np.vstack([basis.T @ self.slopes, self.tangent])
        return float(np.linalg.det(rows)) if rows.shape[0] == rows.shape[1] else np.nan


@dataclass(frozen=True, slots=True, eq=False)
class ArcLimits:
    """How far a curve is followed, and in what steps."""

    #: low, high: range of the varied value
    low: float
    high: float
    longest: float  #: step at most, of scaled unknowns
    most: int  #: points at most
    cancel: Any = None  #: a ``threading.Event``


class SolutionCurve:
    """Points of a problem, to be followed in either direction.

    `scale`: (k,) what counts as a step of 1 of each unknown.
    """

    def __init__(self, problem: CurveEquations, scale: Array) -> None:
        self.problem, self.scale = problem, scale
        #: Evaluations of F and J so far.
        self.evaluations = 0

    def evaluate(self, y: Array) -> Conditions:
        """F and J at a point, counted."""
        self.evaluations += 1
        return self.problem.at(y)

    def dimension(self, y: Array) -> int:
        """How many parameters the solutions around a point have; 1 on a curve."""
        sizes = np.linalg.svd(self.evaluate(y).J * self.scale, compute_uv=False)
        return len(y) - int(np.sum(sizes > RANK * max(1.0, float(np.max(sizes, initial=0.0)))))

    def knot(self, y: Array, along: Array | None = None, slopes: Array | None = None) -> Knot:
        """The point with its tangent, in the direction of another one if given."""
        J = self.evaluate(y).J * self.scale if slopes is None else slopes
        U, _, Vt = np.linalg.svd(J)
        tangent = Vt[-1]
        if along is not None:
            # beside a branch point two directions are almost in the kernel
            rows = np.vstack([J, along])
            right = np.append(np.zeros(len(J)), 1.0)
            tangent = np.linalg.lstsq(rows, right, rcond=None)[0]
            tangent = tangent / np.linalg.norm(tangent)
        return Knot(y=y, tangent=tangent, basis=U[:, : len(y) - 1], slopes=J)

    def corrected(self, guess: Array, normal: Array) -> tuple[Array, Array, int] | None:
        """(1) from a guess: the point, J of scaled unknowns there, and the number of steps."""
        z = guess / self.scale
        first, least = z, self.problem.precision
        for count in range(MOST_NEWTON):
            with np.errstate(all="ignore"):
                here = self.evaluate(z * self.scale)
            if not (np.all(np.isfinite(here.F)) and np.all(np.isfinite(here.J))):
                return None
            J = here.J * self.scale
            is_solved = bool(np.all(np.abs(here.F) <= here.allowed))
            rows = np.vstack([J, normal])
            right = np.append(-here.F, -normal @ (z - first))
            step = np.linalg.lstsq(rows, right, rcond=1e-13)[0]
            size = float(np.linalg.norm(step))
            if is_solved and (size <= least * (1.0 + float(np.linalg.norm(z))) or count >= 4):
                return z * self.scale, J, count
            if size > 1.0:
                return None
            z = z + step
        return None

    def at_value(self, guess: Array, value: float) -> Array | None:
        """The point near a guess at a value of the varied unknown."""
        normal = np.zeros(len(guess))
        normal[-1] = 1.0
        there = guess.copy()
        there[-1] = value
        found = self.corrected(there, normal)
        return None if found is None else found[0]

    def between(self, one: Knot, other: Knot, part: float) -> Knot | None:
        """The point at a part of the way between two neighbors."""
        chord = (other.y - one.y) / self.scale
        length = float(np.linalg.norm(chord))
        if not length:
            return one
        normal = chord / length
        guess = one.y + part * (other.y - one.y)
        # the cubic that has both tangents, its part beside the chord
        for knot, weight in (
            (one, part * (1 - part) ** 2),
            (other, -(part**2) * (1 - part)),
        ):
            cosine = float(knot.tangent @ normal)
            if cosine > 0.5:
                beside = knot.tangent / cosine - normal
                guess = guess + weight * length * beside * self.scale
        found = self.corrected(guess, normal)
        if found is None:
            return None
        return self.knot(found[0], one.tangent, found[1])

    def root(
        self, one: Knot, other: Knot, test: Callable[[Knot], float], first: float, last: float
    ) -> Knot | None:
        """The zero between neighbors of a value that changes sign; its ends are given."""
        from scipy.optimize import brentq

        class _Lost(Exception):
            pass

        kept: dict[float, Knot] = {}

        def value(part: float) -> float:
            if part in (0.0, 1.0):
                return first if part == 0.0 else last
            knot = self.between(one, other, part)
            if knot is None:
                raise _Lost
            kept[part] = knot
            return test(knot)

        if not first:
            return one
        if not last:
            return other
        try:
            part = float(brentq(value, 0.0, 1.0, xtol=1e-15, rtol=1e-14, maxiter=80))
        except _Lost:
            return None
        return kept.get(part) or self.between(one, other, part)

    def bisected(self, one: Knot, other: Knot, holds: Callable[[Knot], bool]) -> Knot | None:
        """Where a property that one of two neighbors has ends, by halving."""
        low, high, found = 0.0, 1.0, None
        is_first = holds(one)
        for _ in range(40):
            middle = (low + high) / 2
            knot = self.between(one, other, middle)
            if knot is None:
                return found
            found = knot
            if holds(knot) == is_first:
                low = middle
            else:
                high = middle
        return found

    def follow(self, start: Knot, arc: ArcLimits) -> tuple[list[Knot], str]:
        """Points from a start along its tangent, and why they end."""
        knots, step, here = [start], arc.longest / 8, start
        while len(knots) < arc.most:
            if arc.cancel is not None and arc.cancel.is_set():
                return knots, CANCELLED
            guess = here.y + step * here.tangent * self.scale
            found = self.corrected(guess, here.tangent)
            there = None if found is None else self.knot(found[0], here.tangent, found[1])
            if there is None or float(there.tangent @ here.tangent) < TURN:
                step /= 2
                if step < SHORTEST * arc.longest:
                    return knots, STUCK
                continue
            s = float(there.y[-1])
            if not arc.low <= s <= arc.high:
                bound = arc.low if s < arc.low else arc.high
                last = self._at_bound(here, there, bound)
                if last is not None and last.y[-1] != here.y[-1]:
                    knots.append(last)
                return knots, RANGE
            knots.append(there)
            if self._is_closed(knots, step):
                return knots, CLOSED
            if found is not None and found[2] <= 4 and there.tangent @ here.tangent > STRAIGHT:
                step = min(1.4 * step, arc.longest)
            here = there
        return knots, FULL

    def _at_bound(self, here: Knot, there: Knot, bound: float) -> Knot | None:
        """The last point, at the bound of the varied value itself."""
        near = self.root(
            here,
            there,
            lambda knot: float(knot.y[-1]) - bound,
            float(here.y[-1]) - bound,
            float(there.y[-1]) - bound,
        )
        if near is None:
            return None
        y = self.at_value(near.y, bound)
        if y is None:
            y = near.y.copy()
        y[-1] = bound
        return self.knot(y, near.tangent)

    def _is_closed(self, knots: list[Knot], step: float) -> bool:
        """Whether the last step passes the start in the direction in which it was left."""
        if len(knots) < 8:
            return False
        start = knots[0]
        before, after = ((k.y - start.y) / self.scale for k in knots[-2:])
        is_near = float(np.linalg.norm(after)) < 1.5 * step
        passes = before @ start.tangent <= 0.0 < after @ start.tangent
        return bool(is_near and passes and knots[-1].tangent @ start.tangent > TURN)

    def branch_point(self, near: Knot, basis: Array) -> tuple[Knot, Array, Array] | None:
        """(4) from a point nearby, with Q: the point, φ₁ and φ₂ as columns, and ψ in rows of F."""
        from scipy.optimize import root

        k = len(near.y)
        U, _, _ = np.linalg.svd(basis.T @ near.slopes)
        first = np.concatenate([near.y / self.scale, [0.0], U[:, -1]])

        def rows_at(x: Array) -> Array:
            here = self.evaluate(x[:k] * self.scale)
            psi = x[k + 1 :]
            return np.concatenate(
                [
                    basis.T @ here.F + x[k] * psi,
                    (here.J * self.scale).T @ (basis @ psi),
                    [psi @ psi - 1.0],
                ]
            )

        with np.errstate(all="ignore"):
            found = root(rows_at, first, method="hybr", options={"xtol": 1e-14, "maxfev": 60 * k})
        y = found.x[:k] * self.scale
        here = self.evaluate(y)
        apart = float(np.linalg.norm(found.x[:k] - first[:k]))
        left = float(np.max(np.abs(rows_at(found.x)), initial=0.0))
        if not (apart < 1e-2 and left < 1e-7 and abs(found.x[k]) < 1e-7):
            return None
        J = here.J * self.scale
        _, _, Vt = np.linalg.svd(J)
        knot = self.knot(y, near.tangent, J)
        return knot, Vt[-2:].T, basis @ found.x[k + 1 :]

    def directions(self, point: Knot, kernel: Array, left: Array) -> list[Array]:
        """(5): tangents of the curves that cross at a branch point."""

        def second(one: Array, other: Array) -> float:
            moved = [
                self.evaluate(point.y + sign * NUDGE * one * self.scale).J for sign in (1.0, -1.0)
            ]
            slope = (moved[0] - moved[1]) * self.scale / (2 * NUDGE)
            return float(left @ slope @ other)

        p, q = kernel.T
        a, b, c = second(p, p), second(p, q), second(q, q)
        size = max(abs(a), abs(b), abs(c), 1e-300)
        a, b, c = a / size, b / size, c / size
        inside = b * b - a * c
        if inside < 0.0:
            return []
        if max(abs(a), abs(c)) <= 1e-9:
            return [p, q]
        root = np.sqrt(inside)
        # a x² + 2 b x y + c y² = 0, without a division by what may vanish
        ways = []
        for sign in (1.0, -1.0):
            mixed = -b + sign * root
            x, y = (mixed, a) if abs(a) >= abs(c) else (c, mixed)
            way = x * p + y * q
            if np.linalg.norm(way) > 0.0:
                ways.append(way / np.linalg.norm(way))
        return ways
