"""How far the forces of wheels can go when equilibrium leaves their split open.

Of the family f = f₀ + D ζ only splits count in which no wheel is pulled down or works against the
others: loads are not negative, and no other force has the sign opposite to its least-norm value
(two wheels of one axle carry anything between none and all of its side force). The extreme splits
are corners of this set: those in which as few wheels as possible carry everything.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from noslip.engines.system import Array

#: Forces below this, relative to the largest one of their sample, are rounding.
SMALL = 1e-9
#: Couplings in the family below this are rounding.
UNCOUPLED = 1e-7
#: Forces that can reach this many times the least-norm ones have no bound, and are looked for among
#: sums of forces up to the second number of times.
UNBOUNDED, FAR = 1e3, 1e6
#: The best split is searched among forces up to this many times the least-norm ones, to this
#: relative accuracy.
REACH, ACCURACY = 20.0, 1e-9


def independent_directions(family: Array) -> Array:
    """(n, f, k) orthonormal columns that span the family; zero columns where it is smaller."""
    U, s, _ = np.linalg.svd(family, full_matrices=False)
    is_there = s > UNCOUPLED
    k = int(np.max(np.sum(is_there, axis=1), initial=0))
    return U[:, :, :k] * is_there[:, None, :k]


def split_ranges(least: Array, directions: Array, is_load: NDArray[np.bool_]) -> Array:
    """(n, f, 2) least and largest value of every force over the splits that count.

    NaN where no split has all loads nonnegative; infinite where wheels can be squeezed against each
    other without limit.

    Parameters
    ----------
    least : (n, f) forces of least norm.
    directions : (n, f, k) orthonormal columns of the family.
    is_load : (f,) which of the forces are normal loads.
    """
    ranges = np.stack([least, least], axis=-1)
    small = rounding(least)
    for block in _components(_coupling(directions)):
        U = independent_directions(directions[:, block])
        ranks = np.sum(np.any(U != 0, axis=1), axis=1)
        is_known = np.all(np.isfinite(least[:, block]), axis=1)
        for rank in set(ranks.tolist()) - {0}:
            at = np.ix_(np.flatnonzero(is_known & (ranks == rank)), np.array(block))
            of = at[0][:, 0]
            ranges[at] = _corner_ranges(least[at], U[of, :, :rank], is_load[block], small[of])
    return ranges


def _coupling(directions: Array) -> NDArray[np.bool_]:
    """(f, f) which forces are shared with which: where the projector on the family is not zero."""
    projector = directions @ directions.transpose(0, 2, 1)
    return np.max(np.abs(projector), axis=0, initial=0.0) > UNCOUPLED


def _components(is_coupled: NDArray[np.bool_]) -> list[list[int]]:
    """Groups of a symmetric relation; what is not even related to itself is in none."""
    left = {k for k in range(len(is_coupled)) if is_coupled[k, k]}
    groups = []
    while left:
        group: set[int] = set()
        reached = {min(left)}
        while reached:
            group |= reached
            reached = {j for k in reached for j in left if is_coupled[k, j]} - group
        left -= group
        groups.append(sorted(group))
    return groups


def _corner_ranges(
    least: Array, directions: Array, is_load: NDArray[np.bool_], small: Array
) -> Array:
    """(n, m, 2) ranges of one group of shared forces, from the corners of its splits."""
    (n, m), k = least.shape, directions.shape[2]
    scale, tolerance = np.max(np.abs(least), axis=1), small[:, None]
    # sign · force ≥ 0; a force that the least-norm split does not use is not used
    sign = np.where(is_load, 1.0, np.where(np.abs(least) <= tolerance, 0.0, np.sign(least)))
    # a last face, far away, closes the set where it has no bound: Σ sign · force ≤ FAR · scale
    total, far = np.einsum("nm,nmk->nk", sign, directions), FAR * scale
    faces = np.concatenate([directions, total[:, None]], axis=1)
    reach = np.concatenate([-least, (far - np.sum(sign * least, axis=1))[:, None]], axis=1)
    low, high = np.full((n, m), np.inf), np.full((n, m), -np.inf)
    for chosen in combinations(range(m + 1), k):
        face = faces[:, chosen]
        is_corner = np.abs(np.linalg.det(face)) > SMALL
        face = np.where(is_corner[:, None, None], face, np.eye(k))
        corner = least + (directions @ np.linalg.solve(face, reach[:, chosen, None]))[..., 0]
        outside = np.where(sign == 0, np.abs(corner), -sign * corner)
        counts = is_corner & np.all(outside <= tolerance, axis=1)
        low = np.where(counts[:, None], np.minimum(low, corner), low)
        high = np.where(counts[:, None], np.maximum(high, corner), high)
    ranges = np.stack([low, high], axis=-1)
    is_empty = low > high
    # what lies on a face is zero but for rounding, what lies on the far one has no bound
    ranges[np.abs(ranges) <= tolerance[..., None]] = 0.0
    is_far = np.abs(ranges) > UNBOUNDED * scale[:, None, None]
    ranges = np.where(is_far, np.copysign(np.inf, ranges), ranges)
    return np.where(is_empty[..., None], np.nan, ranges)


def least_friction(least: Array, directions: Array, is_wheel: NDArray[np.bool_]) -> Array:
    """(n,) friction coefficient that the best split needs: no smaller one holds every wheel.

    It is that of the wheels with known loads, and NaN without any. A wheel without a known load
    takes those that share forces with it out.

    Parameters
    ----------
    least : (n, c, 3) longitudinal, lateral and normal forces of least norm.
    directions : (n, 3 c, k) orthonormal columns of the family.
    is_wheel : (c,) contacts that friction holds; blades hold without.
    """
    n, c, _ = least.shape
    by_contact = directions.reshape(n, c, 3, directions.shape[2])
    shared = _coupling(directions).reshape(c, 3, c, 3).any(axis=(1, 3)) | np.eye(c, dtype=bool)
    needed = np.full(n, np.nan)
    for group in _components(shared):
        wheels = [k for k in group if is_wheel[k]]
        if not wheels:
            continue
        of_wheels = by_contact[:, wheels].reshape(n, 3 * len(wheels), directions.shape[2])
        U = independent_directions(of_wheels)
        known = np.flatnonzero(np.all(np.isfinite(least[:, wheels]), axis=(1, 2)))
        best = _best_split(
            least[known][:, wheels], U[known].reshape(len(known), len(wheels), 3, U.shape[2])
        )
        needed[known] = np.fmax(needed[known], best)
    return needed


def _best_split(least: Array, directions: Array) -> Array:
    """(n,) least over ζ of the largest |F_t| / N of the wheels, F_t and N affine in ζ.

    Where the largest ratio is below a given number is a convex set of ζ, so that every gradient
    cuts off a half of the candidates: bisection for one ζ, the ellipsoid method for more.
    """
    n, _, _, k = directions.shape
    best = np.max(friction_demand(least), axis=1, initial=0.0)
    if not k or not n:
        return best
    radius = REACH * np.linalg.norm(least.reshape(n, -1), axis=1)
    # candidates are center + J y, |y| ≤ 1; a cut g·(ζ − center) ≤ 0 leaves the smallest such set
    center, J = np.zeros((n, k)), radius[:, None, None] * np.eye(k)
    grown = k / np.sqrt(k**2 - 1) if k > 1 else 1.0
    shrunk = np.sqrt((k - 1) / (k + 1)) if k > 1 else 0.5
    for _ in range(int(2 * k * (k + 1) * np.log(REACH / ACCURACY))):
        forces = least + np.einsum("nwjk,nk->nwj", directions, center)
        demand = friction_demand(forces)
        best = np.minimum(best, np.max(demand, axis=1))
        g = np.einsum("nji,nj->ni", J, _rising(forces, demand, directions))
        length = np.linalg.norm(g, axis=1, keepdims=True)
        g = np.divide(g, length, out=np.zeros_like(g), where=length > 0)
        Jg = np.einsum("nij,nj->ni", J, g)
        center = center - Jg / (k + 1)
        cut = grown * (J + (shrunk - 1) * Jg[:, :, None] * g[:, None, :])
        J = np.where(length[..., None] > 0, cut, J)
    return best


def _rising(forces: Array, demand: Array, directions: Array) -> Array:
    """(n, k) direction of ζ in which it gets worse: for the wheel most lifted, or most in need."""
    load = forces[..., 2]
    worst = np.where(np.min(load, axis=1) <= 0, np.argmin(load, axis=1), np.argmax(demand, axis=1))
    each = np.arange(len(forces))
    f, slope = forces[each, worst], directions[each, worst]
    # ∂/∂ζ of (|F_t| / N)², times N³ / 2
    along = np.einsum("nj,njk->nk", f[:, :2], slope[:, :2])
    of_demand = f[:, 2:] * along - np.sum(f[:, :2] ** 2, axis=1)[:, None] * slope[:, 2]
    return np.where(f[:, 2:] <= 0, -slope[:, 2], of_demand)


def friction_demand(forces: Array) -> Array:
    """(n, c) |F_t| / N of forces (n, c, 3): infinite for a force without load, or 0 without one."""
    size, load = np.hypot(forces[..., 0], forces[..., 1]), forces[..., 2]
    small = rounding(forces)[:, None]
    without = np.where(size <= small, 0.0, np.inf)
    demand = np.divide(size, load, out=without, where=load > small)
    return np.where(np.isnan(size + load), np.nan, demand)


def rounding(forces: Array) -> Array:
    """(n,) below which a force of the samples (n, …) is zero but for rounding, N."""
    sizes = np.where(np.isfinite(forces), np.abs(forces), 0.0)
    return np.asarray(SMALL * np.max(sizes, axis=tuple(range(1, forces.ndim)), initial=0.0))
