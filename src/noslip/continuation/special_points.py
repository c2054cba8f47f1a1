"""Points of a curve at which the solutions around it, or their stability, change.

Between two neighbors of a curve, with eigenvalues λ of small motions (of motions that repeat, the
Floquet multipliers μ of a period, whose logarithms stand for λ), the values

    fold            τ_s                    the curve turns back in s
    branch point    det [QᵀJ; τᵀ]          another curve crosses
    Hopf point      Re λ of a pair         periodic motions begin; of multipliers, a torus
    doubling        Π (μ + 1)              motions of twice the period begin
    limit           e(λ)                   one eigenvalue is zero, and no other curve crosses

change their sign; e is the product of all eigenvalues but those that are zero all along, as a
coefficient of the characteristic polynomial: it is smooth where eigenvalues meet. Pairs that stay
on the axis until they meet and leave it have no sign to change: the point is found by halving.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.continuation.arclength import Knot, SolutionCurve

FOLD, BRANCH_POINT, HOPF, TORUS, DOUBLING, LIMIT = (
    "fold",
    "branch point",
    "Hopf point",
    "torus",
    "period doubling",
    "stability limit",
)
#: Two of them nearer than this, as a part of a step, are one.
SAME = 1e-3

Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """A special point between two neighbors of a curve."""

    kind: str  #: name of what happens
    after: int  #: number of the knot before it
    part: float  #: fraction of the way to the next one
    knot: Knot = field(repr=False)  #: itself
    frequency: float = 0.0  #: rad/s of a Hopf point; the angle of the multipliers of a torus, rad
    basis: Array = field(repr=False)  #: Q of the knot before it


class Spectra:
    """Eigenvalues along a curve.

    `of`: eigenvalues or multipliers (n, nx) of unknowns (n, k). `bound`: size of an exponent below
    which it counts as zero, from all of them.
    """

    def __init__(
        self,
        of: Callable[[Array], Complex],
        bound: Callable[[Complex], float],
        *,
        is_map: bool,
    ) -> None:
        self.of, self.bound, self.is_map = of, bound, is_map

    def at(self, knot: Knot) -> Complex:
        """(nx,) of a point."""
        found: Complex = self.of(knot.y[None])[0]
        return found

    def exponents(self, values: Complex) -> Complex:
        """λ of eigenvalues; log μ of multipliers."""
        if not self.is_map:
            return values
        with np.errstate(all="ignore"):
            return np.asarray(np.log(np.where(values == 0.0, 1e-300, values)))

    def growing(self, values: Complex) -> int:
        """How many grow."""
        exponents = self.exponents(values)
        return int(np.sum(exponents.real > self.bound(exponents)))

    def neutral(self, values: Complex) -> int:
        """How many are zero."""
        exponents = self.exponents(values)
        return int(np.sum(np.abs(exponents) <= self.bound(exponents)))

    def product(self, values: Complex, neutral: int) -> float:
        """e: the product of all but so many that are zero, in a form that is smooth."""
        shifted = values - 1.0 if self.is_map else values
        return float(np.poly(shifted)[len(shifted) - neutral].real)

    def pairs(self, values: Complex) -> Complex:
        """λ of the pairs, the upper of each."""
        exponents = self.exponents(values)
        least = self.bound(exponents)
        upper = exponents[exponents.imag > least]
        # a negative multiplier is no pair
        return np.asarray(upper[upper.imag < np.pi - 1e-7] if self.is_map else upper)


def special_points(curve: SolutionCurve, knots: list[Knot], spectra: Spectra) -> list[Found]:
    """Special points of a curve, in their order."""
    if len(knots) < 2:
        return []
    values = spectra.of(np.array([knot.y for knot in knots]))
    is_known = np.all(np.isfinite(values), axis=1)
    neutral = min((spectra.neutral(v) for v in values[is_known]), default=0)
    found: list[Found] = []
    for k in range(len(knots) - 1):
        one, other = knots[k], knots[k + 1]
        here = [*_geometric(curve, one, other, k)]
        if is_known[k] and is_known[k + 1]:
            here += _spectral(curve, one, other, k, (values[k], values[k + 1]), spectra, neutral)
        # of two at one place the first says more
        for point in here:
            if all(abs(point.part + k - (f.part + f.after)) > SAME for f in found):
                found.append(point)
    return sorted(found, key=lambda point: point.after + point.part)


def _geometric(curve: SolutionCurve, one: Knot, other: Knot, k: int) -> list[Found]:
    """Folds and branch points between two neighbors."""
    found = []
    first, last = float(one.tangent[-1]), float(other.tangent[-1])
    if first * last < 0.0 and max(abs(first), abs(last)) > 1e-7:
        knot = curve.root(one, other, lambda at: float(at.tangent[-1]), first, last)
        if knot is not None:
            found.append(_found(FOLD, k, one, other, knot))
    basis = one.basis
    first, last = one.determinant(basis), other.determinant(basis)
    if first * last < 0.0:
        near = curve.root(one, other, lambda at: at.determinant(basis), first, last)
        # where the determinant vanishes the correction may not converge: begin in the middle
        near = near or curve.between(one, other, first / (first - last))
        exact = None if near is None else curve.branch_point(near, basis)
        if exact is not None:
            found.append(_found(BRANCH_POINT, k, one, other, exact[0]))
    return found


def _found(kind: str, k: int, one: Knot, other: Knot, knot: Knot, frequency: float = 0.0) -> Found:
    chord = other.y - one.y
    part = float((knot.y - one.y) @ chord / max(float(chord @ chord), 1e-300))
    return Found(kind=kind, after=k, part=part, knot=knot, frequency=frequency, basis=one.basis)


def _spectral(
    curve: SolutionCurve,
    one: Knot,
    other: Knot,
    k: int,
    values: tuple[Complex, Complex],
    spectra: Spectra,
    neutral: int,
) -> list[Found]:
    """Points between two neighbors at which eigenvalues cross; those of `_geometric` come first."""
    found = []
    first, last = (spectra.product(v, neutral) for v in values)
    if first * last < 0.0:
        knot = curve.root(
            one, other, lambda at: spectra.product(spectra.at(at), neutral), first, last
        )
        if knot is not None:
            found.append(_found(LIMIT, k, one, other, knot))
    if spectra.is_map:
        first, last = (float(np.prod(v + 1.0).real) for v in values)
        if first * last < 0.0:
            knot = curve.root(
                one, other, lambda at: float(np.prod(spectra.at(at) + 1.0).real), first, last
            )
            if knot is not None:
                found.append(_found(DOUBLING, k, one, other, knot))
    crossing = _crossing_pair(curve, one, other, values, spectra)
    if crossing is not None:
        knot, frequency = crossing
        kind = TORUS if spectra.is_map else HOPF
        found.append(_found(kind, k, one, other, knot, frequency))
    elif not found and spectra.growing(values[0]) != spectra.growing(values[1]):
        # eigenvalues that met on the axis and left it
        few = min(spectra.growing(v) for v in values)
        knot = curve.bisected(one, other, lambda at: spectra.growing(spectra.at(at)) == few)
        if knot is not None:
            found.append(_found(LIMIT, k, one, other, knot))
    return found


def _crossing_pair(
    curve: SolutionCurve, one: Knot, other: Knot, values: tuple[Complex, Complex], spectra: Spectra
) -> tuple[Knot, float] | None:
    """The point at which a pair crosses the axis, and its frequency there."""
    first, last = (spectra.pairs(v) for v in values)
    if not (first.size and last.size):
        return None
    bound = max(spectra.bound(spectra.exponents(v)) for v in values)
    counts = [int(np.sum(p.real > 0.0)) for p in (first, last)]
    if counts[0] == counts[1]:
        return None
    # the pair that changes its side, by the nearest of the other side
    apart = np.abs(first[:, None] - last[None, :]) + 1e300 * (
        (first.real[:, None] > 0.0) == (last.real[None, :] > 0.0)
    )
    i, j = np.unravel_index(int(np.argmin(apart)), apart.shape)
    if not abs(first[i].real) + abs(last[j].real) > 4 * bound or apart[i, j] >= 1e300:
        return None
    if min(abs(first[i].real), abs(last[j].real)) <= bound:
        return None
    ends = np.array([first[i], last[j]])

    def tracked(at: Knot) -> complex:
        pairs = spectra.pairs(spectra.at(at))
        if not pairs.size:
            return complex(np.nan)
        chord = other.y - one.y
        part = float((at.y - one.y) @ chord / max(float(chord @ chord), 1e-300))
        expected = ends[0] + part * (ends[1] - ends[0])
        return complex(pairs[int(np.argmin(np.abs(pairs - expected)))])

    knot = curve.root(
        one, other, lambda at: tracked(at).real, float(ends[0].real), float(ends[1].real)
    )
    if knot is None or not np.isfinite(tracked(knot).real):
        return None
    return knot, float(tracked(knot).imag)
