"""Choice of independent rows and speeds, and measures of how near they are to singular.

**Numeric choice of independent rows and independent speeds.**

Decided on numbers, at generic configurations that satisfy g(q, t) = 0 (an over-constrained loop
loses rank only there), after scaling angular speeds by a length of the model so that metres and
radians compare. Nothing decided here depends on the values of the speeds.

Which rows repeat the others may change on the way: of two side rods at a right angle, each says
nothing where its cranks are in line with it. Where a choice fails, rows and speeds are chosen again
together (`regular_bases`), and the rank of all rows decides, not that of the kept ones.

**Check where forces of user-written rows act against the work that the rows do.**

A row A v + a with the multiplier λ has the power λ A v. Forces f at points p and moments m on
bodies have

    (1)  Σ f · (v_B + ω_B × (p − p_B)) + m · ω_B

A row whose forces do other work does not act where it says.

**Singularity measures: numbers that reach zero where a basis or a rolling contact is singular.**
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import EYE3, cross, stack, vector
from noslip.base import Array, ModelError
from noslip.kinematics.constraint_rows import CLOSEST, ContactTrace, RowTrace, TermSizes
from noslip.kinematics.tree import Reader, Symbols, Tree, frame_pose, parameter_reader, twists
from noslip.model import AbstractRow, JointAxis, Model, Quantity, Reads, RowWrench

Indices = NDArray[np.int_]

#: A row whose part across the rows before it is smaller than this (relative) is redundant.
DEPENDENT = 1e-7
#: A row smaller than this beside its own terms before they cancel holds by itself: it is what
#: rounding, and configurations that satisfy g = 0 to some 1e-13, leave of them.
SELF_SATISFIED = 1e-11
#: Size of a row of a joint or contact below which it may be one of rounding.
DOUBTFUL = 1e-6
#: Number of generic configurations, and of a mechanism that is long.
SAMPLES = 8
LONG_SAMPLES = 2
#: Tree speeds up to which matrices of all rows and speeds are traced.
LONGEST_DENSE = 40
#: Share of the best conditioning with which speeds are taken that say more of the motion.
NEARLY = 0.5
#: Least singular value of all rows on the dependent speeds, over the rows' usual sizes, below which
#: no speeds determine the motion.
RANK_LOST = 1e-8
#: Share of the usual conditioning at which kept rows lose rank that all rows have. First step of
#: the search for such a place, in rad and lengths of the model, halved where it gains nothing, and
#: steps from each sample.
LOST, FIRST_STEP, SEARCHED = 0.05, 0.5, 12
#: Largest way, in lengths of the model, from a configuration to others on its branch.
NEAR_BRANCH = 3.0
#: Tries without success after which no configuration is expected.
HOPELESS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Probe:
    """Numeric access to the rows of a model at its nominal parameters."""

    constraint: Callable[[float, Array, Array, Array], tuple[Any, Any]]  # (t, q, w, params) → A, a
    position: ca.Function  # (t, q, params) → g of the holonomic rows
    kinematic_map: ca.Function  # (q) → N
    term_sizes: TermSizes  # (t, q, v, params) → (nc,)
    params: Array
    holonomic: tuple[int, ...]
    is_angular: tuple[bool, ...]
    length: float
    scale: Array  # (nv,) the length for angular speeds, else 1
    is_long: bool  # whether matrices of all rows and speeds are too large without need
    num_samples: int  # configurations that show what a mechanism does in general
    coordinate_range: Array  # (nq, 2)
    quaternions: tuple[int, ...]
    num_speed_inputs: int
    by_hand: tuple[int, ...]  # rows that are written as expressions
    closest: tuple[int, ...] = ()  # rows that find the closest points of contacts
    num_places: int = 0  # coordinates at the end of q that contacts own, found by those rows
    guess: ca.Function | None = None  # (q, params) → these coordinates about where bodies touch
    near: ca.Function | None = None  # (t, q, params) → what vanishes at closest points, and slopes
    #: Independent rows on the branch of configurations that is meant, None if there is one branch.
    rank: int | None = None
    _found: dict[int, list[tuple[float, Array]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def are_independent(self, rows: Sequence[int], samples: list[tuple[float, Array]]) -> bool:
        """Whether rows are independent at some sample."""
        matrices = [self.matrix(q, t)[0][list(rows)] for t, q in samples]
        ranks = (np.linalg.matrix_rank(A / row_lengths(A), DEPENDENT) for A in matrices)
        return any(rank == len(rows) for rank in ranks)

    def matrix(self, q: Array, t: float, w: Array | None = None) -> tuple[Array, Array]:
        """A with angular columns in m/s of the model's length, and a."""
        w = np.zeros(self.num_speed_inputs) if w is None else w
        A, a = self.constraint(t, q, w, self.params)
        return np.array(A) / self.scale[None, :], np.array(a).ravel()

    def sizes(self, samples: list[tuple[float, Array]]) -> Array:
        """(samples, nc) sizes of the rows' terms before they cancel, as of the rows of `matrix`."""
        rng, size = np.random.default_rng(4), len(self.is_angular)
        return np.array(
            [
                self.term_sizes(t, q, rng.normal(size=size) / self.scale, self.params)
                for t, q in samples
            ]
        )

    def matrices(self, t: Array, q: Array, params: Array) -> Array:
        """A (n, nc, nv) at times (n,) and configurations (n, nq), together if that is cheap.

        `params` are (np,) or one row for each configuration.
        """
        n, w = len(t), np.zeros(self.num_speed_inputs)
        if not isinstance(self.constraint, ca.Function):
            rows = np.broadcast_to(params, (n, params.shape[-1]))
            given = zip(t, q, rows, strict=True)
            return np.array([self.constraint(at, x, w, p)[0] for at, x, p in given])
        repeated = (np.broadcast_to(x, (n, x.shape[-1])).T for x in (w, params))
        stacked = np.array(self.constraint.map(n)(t[None, :], q.T, *repeated)[0])
        return stacked.reshape(len(stacked), n, len(self.is_angular)).transpose(1, 0, 2)

    @property
    def places(self) -> tuple[int, ...]:
        """Speeds that are rates of coordinates which contacts own; they are always dependent."""
        num = len(self.is_angular)
        return tuple(range(num - self.num_places, num))

    def with_places(self, q: Array, params: Array | None = None) -> Array:
        """Coordinates (n, nq) with those of contacts about where the bodies touch."""
        if self.guess is None or not len(q):
            return q
        params = self.params if params is None else params
        repeated = np.broadcast_to(params, (len(q), params.shape[-1]))
        found = np.array(self.guess.map(len(q))(q.T, repeated.T)).T
        q = q.copy()
        q[:, -self.num_places :] = np.where(np.isfinite(found), found, 0.0)
        return np.array([self._at_closest(*one) for one in zip(q, repeated, strict=True)])

    def _at_closest(self, q: Array, params: Array) -> Array:
        """Coordinates moved to the closest points with the bodies where they are, if possible."""
        assert self.near is not None
        here, num = q.copy(), self.num_places
        for _ in range(30):
            g, J = (np.array(x) for x in self.near(0.0, here, params))
            if not (np.isfinite(g).all() and np.isfinite(J).all()):
                return q
            if np.max(np.abs(g)) < 1e-13 * max(1.0, self.length):
                return here
            step = np.linalg.lstsq(J, -g.ravel(), rcond=1e-12)[0]
            size = max(float(np.linalg.norm(step)), 1e-300)
            here[-num:] += step * min(1.0, max(0.5, self.length) / size)
        return here if np.max(np.abs(g)) < 1e-6 * self.length else q

    def normalize(self, q: Array) -> Array:
        """The coordinates with unit quaternions."""
        q = q.copy()
        for k in self.quaternions:
            quaternion = q[k : k + 4]
            quaternion /= math.sqrt(quaternion @ quaternion)
        return q

    def on_manifold(self, q: Array, t: float, *, in_lengths: bool = False) -> Array | None:
        """The configuration moved onto g(q, t) = 0 by Newton's method, or None.

        Steps are as short as they can be in meters and radians or, where that leads to nothing, in
        lengths of the model and radians: what is 100 m long must not turn by 100 rad.
        """
        scale = self.scale if in_lengths else np.ones(len(self.is_angular))
        for _ in range(60):
            q = self.normalize(q)
            g = np.array(self.position(t, q, self.params)).ravel()
            if not np.all(np.isfinite(g)):
                return None
            if g.size == 0 or np.max(np.abs(g)) < 1e-13 * max(1.0, self.length):
                return q
            A, _ = self.constraint(t, q, np.zeros(self.num_speed_inputs), self.params)
            G = np.array(A)[list(self.holonomic)]
            if not np.all(np.isfinite(G)):
                return None
            step = -np.linalg.lstsq(G / scale, g, rcond=1e-10)[0]
            size = float(np.linalg.norm(step))
            longest = max(0.5, 0.5 * self.length, float(np.max(np.abs(g))))
            step *= min(1.0, longest / max(size, 1e-300))
            q = q + np.array(self.kinematic_map(q)) @ (step / scale)
        return q if np.max(np.abs(g)) < 1e-10 * (self.length if in_lengths else 1.0) else None

    def is_on(self, q: Array, t: float) -> bool:
        """Whether a configuration is on the branch on which the mechanism moves."""
        return self.rank is None or self.rank_at(q, t) == self.rank

    def rank_at(self, q: Array, t: float) -> int:
        """Number of independent rows at a configuration."""
        A = self.matrix(q, t)[0]
        floors = _floors(self, [(t, q)], np.linalg.norm(A, axis=1)[None, :])
        basis: list[Array] = []
        for row, floor in zip(A, floors[0], strict=True):
            _extend(basis, row, floor)
        return len(basis)

    def is_rank_constant_near(self, q: Array, t: float, rank: int) -> bool:
        """Whether all configurations near by have this rank, so that this one is not singular."""
        rng = np.random.default_rng(6)
        for _ in range(2):
            step = 0.03 * self.length * rng.normal(size=len(self.is_angular))
            moved = q + np.array(self.kinematic_map(q)) @ (step / self.scale)
            near = self.on_manifold(moved, t)
            if near is None or self.rank_at(near, t) != rank:
                return False
        return True

    def configurations_near(self, t: float, q: Array, count: int) -> list[tuple[float, Array]]:
        """Configurations with g(q, t) = 0 on the branch of one that has, always the same ones."""
        rng, found = np.random.default_rng(21), list[tuple[float, Array]]()
        size = len(self.is_angular)
        for attempt in range(30 * count):
            far = NEAR_BRANCH * self.length * (attempt + 1) / (30 * count)
            step = far * rng.normal(size=size) / self.scale
            on = self.on_manifold(q + np.array(self.kinematic_map(q)) @ step, t)
            if on is not None and np.all(np.isfinite(self.matrix(on, t)[0])) and self.is_on(on, t):
                found.append((t, on))
            if len(found) == count:
                break
        return found

    def configurations(self, count: int = SAMPLES) -> list[tuple[float, Array]]:
        """Generic configurations (t, q) with g(q, t) = 0, always the same ones."""
        found = self._found.get(count)
        if found is None:
            found = self._configurations(count, in_lengths=False)
            found = self._found[count] = found or self._configurations(count, in_lengths=True)
        return [(t, q.copy()) for t, q in found]

    def _configurations(self, count: int, in_lengths: bool) -> list[tuple[float, Array]]:
        rng = np.random.default_rng(20)
        found: list[tuple[float, Array]] = []
        for attempt in range(60 * count):
            if not found and attempt == HOPELESS:
                break
            low, high = self.coordinate_range[:, 0], self.coordinate_range[:, 1]
            q = low + (high - low) * rng.random(len(low))
            for k in self.quaternions:
                q[k : k + 4] = rng.normal(size=4)
            t = float(rng.random())
            if self.guess is not None:
                q = self.with_places(self.normalize(q)[None])[0]
            on = self.on_manifold(q, t, in_lengths=in_lengths)
            if on is not None and np.all(np.isfinite(self.matrix(on, t)[0])) and self.is_on(on, t):
                found.append((t, on))
            if len(found) == count:
                break
        return found


def make_probe(
    model: Model,
    symbols: Symbols,
    tree: Tree,
    coordinates: tuple[Quantity, ...],
    speeds: tuple[Quantity, ...],
    rows: tuple[RowTrace, ...],
    N: ca.SX,
    velocities: ca.SX,
    term_sizes: TermSizes,
    places: ca.SX,
) -> Probe:
    """Numeric functions of the traced rows; `places` are guesses of what contacts own of q."""
    values = np.array([p.value for p in model.parameters], dtype=float)
    t, q, params = symbols.t, symbols.q, symbols.params
    holonomic = tuple(k for k, row in enumerate(rows) if row.is_holonomic)
    g = stack([row.position for row in rows if row.position is not None])
    quaternions = tuple(
        node.coordinates.start + node.joint.type.quaternion
        for node in tree.nodes
        if node.joint.type.quaternion is not None
    )
    reader = parameter_reader(model, params)
    radii = [ca.SX(c.reach(reader)) for c in model.contacts if c.is_wheel]
    steps = [ca.norm_2(n.p_PB) for n in tree.nodes if n.parent >= 0]
    distances = ca.Function("d", [q, params], [stack(steps + radii)])
    numbers = np.array(distances(np.array([0.5] * len(coordinates)), values)).ravel()
    lengths = [float(d) for d in numbers if np.isfinite(d) and d > 1e-9]
    length = float(np.median(lengths)) if lengths else 1.0
    is_angular = tuple(speed.unit == "rad/s" for speed in speeds)
    is_long = len(speeds) > LONGEST_DENSE
    return Probe(
        constraint=_constraint(symbols, velocities),
        position=ca.Function("g", [t, q, params], [g]),
        kinematic_map=ca.Function("N", [q], [N]),
        term_sizes=term_sizes,
        params=values,
        holonomic=holonomic,
        is_angular=is_angular,
        length=length,
        scale=np.where(np.array(is_angular, dtype=bool), length, 1.0),
        is_long=is_long,
        num_samples=LONG_SAMPLES if is_long else SAMPLES,
        coordinate_range=np.array([[c.lower, c.upper] for c in coordinates]).reshape(-1, 2),
        quaternions=quaternions,
        num_speed_inputs=len(model.speed_inputs),
        by_hand=tuple(k for k, row in enumerate(rows) if row.origin == "row"),
        closest=tuple(k for k, row in enumerate(rows) if row.origin == CLOSEST),
        num_places=places.shape[0],
        guess=ca.Function("places", [q, params], [ca.densify(places)]) if places.shape[0] else None,
        near=_near(symbols, rows, places.shape[0]),
    )


def _near(symbols: Symbols, rows: tuple[RowTrace, ...], num_places: int) -> ca.Function | None:
    """(t, q, params) → rows of closest points, and their slopes by what contacts own of q."""
    if not num_places:
        return None
    g = stack([row.position for row in rows if row.origin == CLOSEST and row.position is not None])
    slopes = ca.jacobian(g, symbols.q[symbols.q.shape[0] - num_places :])
    given = [symbols.t, symbols.q, symbols.params]
    return ca.Function("near", given, [ca.densify(g), ca.densify(slopes)])


def _constraint(
    symbols: Symbols, velocities: ca.SX
) -> Callable[[float, Array, Array, Array], tuple[Any, Any]]:
    """(t, q, w, params) → A, a of rows that are linear in v; of a long one, column by column."""
    t, q, v, w, params = symbols.t, symbols.q, symbols.v, symbols.w, symbols.params
    num = v.shape[0]
    if not velocities.shape[0]:
        return lambda t, q, w, params: (np.zeros((0, num)), np.zeros(0))
    if num <= LONGEST_DENSE:
        A = ca.jacobian(velocities, v)
        a = ca.substitute([velocities], [v], [ca.SX.zeros(num)])[0]
        dense: Callable[..., Any] = ca.Function("A", [t, q, w, params], [ca.densify(A), a])
        return dense
    rows = ca.Function("r", [v, t, q, w, params], [velocities])
    speeds = np.hstack([np.zeros((num, 1)), np.eye(num)])

    def columns(t: float, q: Array, w: Array, params: Array) -> tuple[Array, Array]:
        values = np.array(
            rows.map(num + 1)(speeds, *(ca.repmat(x, 1, num + 1) for x in (t, q, w, params)))
        )
        return values[:, 1:] - values[:, :1], values[:, 0]

    return columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Redundancy:
    """A row that follows from others: its index, and the names of the rows it follows from.

    A row that holds by itself follows from none. Where shares of the others in it vary so that the
    kept rows may lose rank although all rows together do not, these are solved together.
    """

    row: int
    follows_from: tuple[str, ...]
    varies: bool = False


class IndependentRows(NamedTuple):
    """Rows to keep in their order, those that follow from them, and the rank at each sample."""

    kept: tuple[int, ...]
    redundant: tuple[Redundancy, ...]
    ranks: tuple[int, ...]


def independent_rows(
    probe: Probe,
    rows: Sequence[RowTrace],
    samples: list[tuple[float, Array]],
    wanted: tuple[int, ...] | None = None,
) -> IndependentRows:
    """Rows that are independent at some sample, and the redundant ones with what they follow from.

    Holonomic rows come first: a position that velocities imply is more than they say. Those that
    are `wanted` are kept, as many as there are independent ones, if any are named.

    Raises
    ------
    ModelError : if a redundant row contradicts those it depends on.
    """
    rng = np.random.default_rng(3)
    w = rng.normal(size=probe.num_speed_inputs)
    numbers = [probe.matrix(q, t, w) for t, q in samples]
    sizes = [np.linalg.norm(A, axis=1) for A, _ in numbers]
    scales = np.array(sizes).reshape(len(samples), len(rows))
    floors = _floors(probe, samples, scales)
    kept: list[int] = []
    redundant: list[Redundancy] = []
    bases: list[list[Array]] = [[] for _ in samples]
    holonomic = [k for k, row in enumerate(rows) if row.is_holonomic]
    others = [k for k, row in enumerate(rows) if not row.is_holonomic]
    for k in holonomic + others:
        # a list, so that every sample's basis is extended
        adds = [
            _extend(basis, A[k], floor[k])
            for (A, _), basis, floor in zip(numbers, bases, floors, strict=True)
        ]
        if any(adds) or not adds:
            kept.append(k)
        else:
            redundant.append(_redundancy(k, rows[k], rows, kept, numbers))
    kept.sort()
    redundant.sort(key=attrgetter("row"))
    ranks = tuple(len(basis) for basis in bases)
    if wanted is not None and wanted != tuple(kept):
        kept, by_themselves = list(wanted), {r.row: r for r in redundant if not r.follows_from}
        redundant = [
            by_themselves.get(k) or _redundancy(k, row, rows, kept, numbers)
            for k, row in enumerate(rows)
            if k not in kept
        ]
    return IndependentRows(tuple(kept), tuple(redundant), ranks)


def row_lengths(A: Array) -> Array:
    """(…, nc, 1) lengths of rows, not zero."""
    return np.maximum(np.linalg.norm(A, axis=-1, keepdims=True), 1e-300)


def _extend(basis: list[Array], row: Array, floor: float) -> bool:
    """Extend an orthonormal basis by a row's part orthogonal to it, unless that is rounding."""
    rest = row.copy()
    for _ in range(2):
        for b in basis:
            rest -= b * (b @ rest)
    size = float(np.linalg.norm(rest))
    if size <= max(DEPENDENT * float(np.linalg.norm(row)), floor):
        return False
    basis.append(rest / size)
    return True


def moving_branch(
    probe: Probe, samples: list[tuple[float, Array]], ranks: Sequence[int]
) -> tuple[Probe, list[tuple[float, Array]]]:
    """The branch of configurations with the most degrees of freedom, where branches differ.

    Two wheels tied by a side rod roll where the rod stays parallel, and lock each other on the
    branch where they turn against each other: a mechanism is meant to move.
    """
    least = min(ranks, default=0)
    if least == max(ranks, default=0):
        return probe, samples
    branch = [
        (t, q)
        for (t, q), rank in zip(samples, ranks, strict=True)
        if rank == least and probe.is_rank_constant_near(q, t, least)
    ]
    if not branch:
        return probe, samples
    probe = dataclasses.replace(probe, rank=least)
    # as many as there were: what a few of them do not show is decided on them
    more = probe.configurations(len(samples))
    return probe, more if len(more) > len(branch) else branch


def _floors(probe: Probe, samples: list[tuple[float, Array]], scales: Array) -> Array:
    """(samples, nc) rounding level of rows: one below it is satisfied identically.

    Rows of joints and contacts are made of unit vectors and lengths: a coefficient of usual size
    needs no proof that it is one. Rows written by hand have any size.
    """
    is_doubtful = scales < DOUBTFUL
    is_doubtful[:, list(probe.by_hand)] = True
    if not is_doubtful.any():
        return np.zeros(scales.shape)
    return np.where(is_doubtful, SELF_SATISFIED * probe.sizes(samples), 0.0)


def _redundancy(
    k: int,
    row: RowTrace,
    rows: Sequence[RowTrace],
    kept: list[int],
    numbers: list[tuple[Array, Array]],
) -> Redundancy:
    names: dict[str, None] = {}
    combinations = []
    for A, a in numbers:
        if not kept:
            combination = np.zeros(0)
        else:
            combination = np.linalg.lstsq(A[kept].T, A[k], rcond=1e-10)[0]
        combinations.append(combination)
        shares = np.abs(combination) * np.linalg.norm(A[kept], axis=1)
        for j, share in zip(kept, shares, strict=True):
            if share > 1e-6 * np.linalg.norm(A[k]):
                names[rows[j].name] = None
        contradiction = abs(a[k] - (combination @ a[kept] if kept else 0.0))
        if contradiction > 1e-8 * max(1.0, float(np.max(np.abs(a)))):
            others = ", ".join(f"'{n}'" for n in names) or "no other row"
            raise ModelError(
                f"row '{row.name}' contradicts {others}: they demand different speeds",
                f"row '{row.name}' ({row.origin})",
                "remove one of them, or give both the same motion",
            )
    most = float(np.abs(combinations).max(initial=0.0))
    spread = float(np.ptp(combinations, axis=0).max(initial=0.0)) if combinations else 0.0
    return Redundancy(row=k, follows_from=tuple(names), varies=spread > DEPENDENT * most)


def needed_rows(
    probe: Probe, samples: list[tuple[float, Array]], found: IndependentRows
) -> tuple[Redundancy, ...]:
    """Redundant rows, of which none vary where the kept rows hold as well as all of them."""
    varying = [r.row for r in found.redundant if r.varies]
    if not varying or _is_weakened(probe, samples, found, varying):
        return found.redundant
    return tuple(dataclasses.replace(r, varies=False) for r in found.redundant)


def _is_weakened(
    probe: Probe, samples: list[tuple[float, Array]], found: IndependentRows, varying: list[int]
) -> bool:
    """Whether the kept rows come nearer to losing rank, from place to place, than all rows do.

    From sample to sample, or at a place where they lose it, in line with the motion from a sample.
    """
    kept = list(found.kept)
    matrices = np.array([probe.matrix(q, t)[0] for t, q in samples])
    usual = np.maximum(np.median(np.linalg.norm(matrices, axis=2), axis=0), SELF_SATISFIED)

    def share(A: Array) -> float:
        own, every = (
            np.linalg.svd(A[rows] / usual[rows, None], compute_uv=False)[len(kept) - 1]
            for rows in (kept, [*kept, *varying])
        )
        return float(own / max(every, 1e-300))

    shares = [share(A) for A in matrices]
    if min(shares) < NEARLY * max(shares):
        return True
    rng = np.random.default_rng(8)
    for k, (t, q) in enumerate(samples):
        A, least, step = matrices[k], shares[k], FIRST_STEP * probe.length
        for _ in range(SEARCHED):
            free = np.linalg.svd(A)[2][found.ranks[k] :]
            along = rng.normal(size=len(free)) @ free
            along *= step / max(float(np.linalg.norm(along)), 1e-300)
            move = np.array(probe.kinematic_map(q)) @ (along / probe.scale)
            tried = []
            for x in (probe.on_manifold(q + move, t), probe.on_manifold(q - move, t)):
                if x is not None and np.isfinite(B := probe.matrix(x, t)[0]).all():
                    tried.append((share(B), x, B))
            best = min(tried, key=lambda one: one[0], default=(np.inf, q, A))
            if best[0] < least and probe.is_on(best[1], t):
                least, q, A = best
            else:
                step /= 2
            if least < LOST * max(shares):
                return True
    return False


def usual_sizes(probe: Probe, samples: list[tuple[float, Array]]) -> Array:
    """(nc,) sizes of the rows at ordinary configurations, 1 of those that hold by themselves.

    Rows are compared by these, never by their size at an instant, which hides one that vanishes.
    """
    sizes = np.median([np.linalg.norm(probe.matrix(q, t)[0], axis=1) for t, q in samples], axis=0)
    return np.where(sizes > SELF_SATISFIED, sizes, 1.0)


def compressed(matrices: Array, rank: int) -> Array:
    """(n, r, nv) rows Σ Vᵀ of (n, nc, nv) matrices A = U Σ Vᵀ of rank r.

    Their columns have the singular values of those of A, since the columns of U are orthonormal.
    """
    _, sigma, Vt = np.linalg.svd(matrices, full_matrices=False)
    return np.array((sigma[:, :, None] * Vt)[:, :rank])


class BasisChoice(NamedTuple):
    """Rows to keep and tree speeds they determine, at one configuration."""

    #: rows, dependent: independent rows and dependent speeds in their order, as many of each
    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    #: least singular value of all rows on these speeds; nothing determines the motion where it
    #: vanishes
    rank: float


class BasisRule(NamedTuple):
    """What a choice of rows and speeds is made from."""

    rows: tuple[int, ...]  #: rows that count; those that hold by themselves do not
    #: kept, dependent: present choice; None: the independent speeds are not tree speeds
    kept: tuple[int, ...]
    dependent: tuple[int, ...] | None
    holonomic: tuple[int, ...]  #: rows of which as many are kept as are now
    sizes: Array  #: (nc, nv) usual sizes of the entries of A
    same_rows: bool  #: whether the rows stay


def regular_bases(
    matrices: Array,
    rows: Sequence[int],
    kept: tuple[int, ...],
    dependent: tuple[int, ...] | None,
    *,
    holonomic: Sequence[int],
    same_rows: bool,
) -> list[BasisChoice]:
    """Rows and speeds that are best conditioned at each of n matrices A by itself.

    Speeds are chosen on all rows at once, then as many rows that determine these best.

    Parameters
    ----------
    matrices : (n, nc, nv) with columns over the scale of the speeds, rows over their usual sizes.
    rows : rows that count; those that hold by themselves do not.
    kept, dependent : present choice. The speeds stay where they determine the motion nearly as well
        as the best ones, so that only rows change; None: they are not tree speeds.
    holonomic : rows of which as many are kept as are now.
    """
    if len(rows) == len(kept):
        columns, least = dependent_columns_each(matrices[:, list(kept)])
        return [
            BasisChoice(kept, tuple(c), float(x))
            for c, x in zip(columns.tolist(), least, strict=True)
        ]
    candidates = matrices[:, list(rows)]
    columns, least = dependent_columns_each(compressed(candidates, len(kept)))
    found = []
    for k, A in enumerate(candidates):
        best, rank = tuple(columns[k].tolist()), float(least[k])
        if dependent is not None:
            now = float(np.linalg.svd(A[:, list(dependent)], compute_uv=False)[-1])
            if now > NEARLY * rank:
                best, rank = dependent, now
        if same_rows:
            found.append(BasisChoice(kept, best, rank))
            continue
        by_row = A[None, :, list(best)].transpose(0, 2, 1)
        first = [j for j, row in enumerate(rows) if row in holonomic]
        count = len(set(kept) & set(holonomic))
        chosen = dependent_columns(compressed(by_row[:, :, first], count)) if count else ()
        chosen = dependent_columns(by_row, tuple(first[j] for j in chosen))
        found.append(BasisChoice(tuple(rows[j] for j in chosen), best, rank))
    return found


def independent_columns(
    probe: Probe,
    kept: Sequence[int],
    samples: list[tuple[float, Array]],
    passive: Sequence[int] = (),
) -> tuple[int, ...]:
    """Indices of tree speeds that leave the dependent ones best conditioned at all samples.

    Candidates are the choices of QR with column pivoting at each sample; the one whose least
    singular value of A_d, over all samples, is largest wins. Then speeds are exchanged one by one
    as long as that value grows.

    Speeds that are `passive` follow from others, if these leave the dependent ones nearly as well
    conditioned: a caster says little of where a vehicle goes.
    """
    import scipy.linalg

    num_speeds = len(probe.is_angular)
    if not kept:
        return tuple(range(num_speeds))
    matrices = np.array([probe.matrix(q, t)[0][list(kept)] for t, q in samples])
    matrices /= np.maximum(np.linalg.norm(matrices, axis=2, keepdims=True), 1e-300)
    best = dependent_columns(matrices, probe.places)
    following = len(set(passive) & set(best))
    if following < len(passive):
        # a pendulum on a vehicle follows from nothing, its caster does
        # beside the places of contacts, which always follow
        others = matrices[0][:, list(passive)]
        Q = np.linalg.qr(matrices[0][:, list(probe.places)])[0]
        R, pivots = scipy.linalg.qr(others - Q @ (Q.T @ others), mode="r", pivoting=True)
        rank = int(np.count_nonzero(np.abs(np.diag(R)) > DEPENDENT))
        if rank > following:
            moved = tuple(passive[p] for p in pivots[:rank])
            other = dependent_columns(matrices, (*moved, *probe.places))
            best = other if _least(matrices, other) > NEARLY * _least(matrices, best) else best
    return tuple(j for j in range(num_speeds) if j not in best)


def dependent_columns_each(matrices: Array) -> tuple[Indices, Array]:
    """(n, nr) columns of A_d, best conditioned at each of n matrices by itself, and (n,) least σ.

    For each matrix the columns are those of :func:`independent_columns` with this one sample. An
    exchange of column o for j is evaluated only if it can be better: row o of A_d⁻¹ becomes
    (A_d⁻¹)_o / B_oj with B = A_d⁻¹ A, and 1/σ is at least its norm, so σ ≤ |B_oj| / ‖(A_d⁻¹)_o‖.
    """
    from scipy.linalg.lapack import dgeqp3

    n, num_rows, num_speeds = matrices.shape
    if not num_rows:
        return np.zeros((n, 0), int), np.full(n, np.inf)
    pivots = np.array([dgeqp3(A)[1][:num_rows] for A in matrices]).reshape(n, num_rows)
    best = np.sort(pivots.astype(int) - 1, axis=1)
    least = _least_each(matrices, best)
    active = np.arange(n)
    num_free = num_speeds - num_rows
    while active.size and num_free:
        A, columns = matrices[active], best[active]
        is_free = np.ones((active.size, num_speeds), bool)
        np.put_along_axis(is_free, columns, False, axis=1)
        free = np.nonzero(is_free)[1].reshape(-1, num_free)
        exchanged = np.broadcast_to(
            columns[:, None, None], (active.size, num_rows, num_free, num_rows)
        ).copy()
        for out in range(num_rows):
            exchanged[:, out, :, out] = free
        exchanged = np.sort(exchanged.reshape(active.size, -1, num_rows), axis=2)
        bound = np.full((active.size, num_rows, num_free), np.inf)
        is_regular = least[active] > 1e-8
        inverse = np.linalg.inv(_columns(A, columns)[is_regular])
        B = inverse @ _columns(A, free)[is_regular]
        bound[is_regular] = np.abs(B) / np.linalg.norm(inverse, axis=2, keepdims=True)
        k, m = np.nonzero(bound.reshape(active.size, -1) > least[active, None])
        found = np.full((active.size, exchanged.shape[1]), -1.0)
        found[k, m] = _least_each(A[k], exchanged[k, m])
        chosen = np.argmax(found, axis=1)
        value = found[np.arange(active.size), chosen]
        is_better = value > 1.01 * least[active]
        best[active[is_better]] = exchanged[is_better, chosen[is_better]]
        least[active[is_better]] = value[is_better]
        active = active[is_better]
    return best, least


def _columns(matrices: Array, columns: Indices) -> Array:
    """(n, nr, k) of (n, nr, nv) matrices the columns (n, k)."""
    return np.take_along_axis(matrices, columns[:, None, :], axis=2)


def _least_each(matrices: Array, columns: Indices) -> Array:
    """(n,) the least singular value of the columns of each matrix."""
    return np.array(np.linalg.svd(_columns(matrices, columns), compute_uv=False)[:, -1])


def dependent_columns(matrices: Array, given: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Columns of A_d that are best conditioned at all samples, with the given ones among them."""
    import scipy.linalg

    _, num_rows, num_speeds = matrices.shape
    others = [j for j in range(num_speeds) if j not in given]
    candidates = []
    for A in matrices:
        # what the given columns leave of the others
        Q = np.linalg.qr(A[:, list(given)])[0]
        rest = A[:, others] - Q @ (Q.T @ A[:, others])
        _, pivots = scipy.linalg.qr(rest, mode="r", pivoting=True)
        more = [others[p] for p in pivots[: num_rows - len(given)]]
        candidates.append(tuple(sorted([*given, *more])))
    best = max(dict.fromkeys(candidates), key=lambda columns: _least(matrices, columns))
    least = _least(matrices, best)
    while True:
        free = [j for j in range(num_speeds) if j not in best]
        bounds = _bounds(matrices, best, free)
        better, value = best, 1.01 * least
        for i, out in enumerate(best):
            if out in given:
                continue
            for into, bound in zip(free, bounds[i], strict=True):
                if bound > value:
                    exchanged = tuple(sorted((set(best) - {out}) | {into}))
                    found = _least(matrices, exchanged)
                    if found > value:
                        better, value = exchanged, found
        if better == best:
            return best
        best, least = better, value


def _bounds(matrices: Array, columns: tuple[int, ...], free: list[int]) -> Array:
    """(nr, nf) no smaller than the least singular value if a free column takes another's place.

    With A_d of these columns, B = A_d⁻¹ A and σ as of `dependent_columns_each`.
    """
    A = matrices[:, :, list(columns)]
    if not np.linalg.cond(A).max(initial=0.0) < 1e8:
        return np.full((len(columns), len(free)), np.inf)
    inverse = np.linalg.inv(A)
    B = np.abs(inverse @ matrices[:, :, free])
    sizes = np.linalg.norm(inverse, axis=2, keepdims=True)
    # rounding must not leave out what is just as good
    return np.asarray((B / sizes).min(axis=0)) * (1.0 + 1e-6)


def _least(matrices: Array, columns: tuple[int, ...]) -> float:
    """The least singular value of these columns, over all samples."""
    return float(np.linalg.svd(matrices[:, :, list(columns)], compute_uv=False)[:, -1].min())


#: Work that may differ, beside the largest.
WORK_TOLERANCE = 1e-8


class TracedPlaces:
    """Traced `noslip.model.rows.Places` of a tree."""

    def __init__(self, tree: Tree, reader: Reader) -> None:
        self.read: Reads = reader
        self._reader = reader
        self._tree = tree

    def axis(self, coordinate: str) -> JointAxis:
        node = next(n for n in self._tree.nodes if coordinate in n.joint.coordinate_names())
        R_BM, p_BM = frame_pose(node.joint.child_frame, self._reader)
        k = node.joint.coordinate_names().index(coordinate)
        column = node.joint.type.motion(self.read)[:, k]
        turns = not ca.SX(column[:3]).is_zero()
        along = ca.mtimes(node.R_WB, ca.mtimes(R_BM, column[:3] if turns else column[3:]))
        return JointAxis(node.body.name, node.p_WB + ca.mtimes(node.R_WB, p_BM), along)

    def frame(self, body: str) -> tuple[ca.SX, ca.SX]:
        k = self._tree.index[body]
        if k < 0:
            return EYE3, vector([0, 0, 0])
        return self._tree.nodes[k].R_WB, self._tree.nodes[k].p_WB


def unplaced_rows(
    rows: list[tuple[AbstractRow, ca.SX]],
    tree: Tree,
    symbols: Symbols,
    reader: Reader,
    speeds: list[str],
    samples: list[tuple[float, Array]],
    params: Array,
) -> dict[str, str]:
    """Rows that do not say where they act, each with the reason.

    Raises
    ------
    ModelError : if a row is told to act where it would do other work.
    """
    found = {row.name: why for row, _ in rows if (why := row.why_unplaced())}
    places = TracedPlaces(tree, reader)
    for row, velocity in rows:
        if row.name in found:
            continue
        work = _power(tree, symbols, row.wrenches(places, ca.SX(1)))
        both = ca.horzcat(ca.gradient(velocity, symbols.v), ca.gradient(work, symbols.v))
        columns = ca.Function("work", [symbols.t, symbols.q, symbols.params], [ca.densify(both)])
        for t, q in samples:
            A, W = np.array(columns(t, q, params)).T
            differs = ~(np.abs(A - W) <= WORK_TOLERANCE * max(np.abs(A).max(initial=0.0), 1e-300))
            if not differs.any():
                continue
            if row.acts:
                raise _other_work(row, speeds, A, W, int(np.argmax(differs)))
            found[row.name] = "has radii that do not fit the places of its joints"
            break
    return found


def _power(tree: Tree, symbols: Symbols, wrenches: list[RowWrench]) -> ca.SX:
    """(1)."""
    motion = twists(tree, symbols.v)
    power = ca.SX(0)
    for body, point, force, moment in wrenches:
        k = tree.index[body]
        if k < 0:
            continue
        node = tree.nodes[k]
        w, v = (ca.mtimes(node.R_WD, x) for x in motion[k])
        power += ca.dot(force, v + cross(w, point - node.p_WB)) + ca.dot(moment, w)
    return power


def _other_work(row: AbstractRow, speeds: list[str], A: Array, W: Array, k: int) -> ModelError:
    return ModelError(
        f"row '{row.name}' does not act as declared: its forces move with "
        f"{W[k]:.6g} times '{speeds[k]}', and its expression has {A[k]:.6g} times that",
        f"rows.{row.name}.acts",
        "correct bodies, point, force or moment, so that force · velocity + moment · angular "
        "velocity is the row",
    )


#: Share by which bounds come nearer to the limit, from segment to segment.
APPROACHING = 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SingularityMeasure:
    """A number that reaches zero at a singularity, which a motion must stay away from."""

    name: str  #: name of the quantity that vanishes
    #: ``basis`` (another choice of independent speeds helps) or ``contact`` (nothing does)
    kind: str
    #: traced, about 1 in magnitude at ordinary configurations. Those of a basis change their signs
    #: where they pass zero, so that no step leaps over such a place unseen.
    value: ca.SX = field(repr=False)
    floor: float  #: nearer to zero another choice of independent speeds is taken
    #: nearer than that, or than the floor where there is no other choice to take, the run stops
    limit: float
    sentence: str  #: message where it vanishes

    def bound(self, depth: int) -> float:
        """Bound that ends a segment after `depth` changes of speeds that brought no improvement.

        That of a basis comes near to its limit in parts. Stages of a step see a value that falls
        below half of the next part, so that none leaps over a place at which it only touches zero.
        """
        if depth == 0:
            return self.floor
        if self.kind != "basis":
            return self.limit
        return max(self.limit, self.floor / APPROACHING**depth)


def find_singularity_measures(
    symbols: Symbols,
    probe: Probe,
    pivots: list[ca.SX],
    contacts: tuple[ContactTrace, ...],
    samples: list[tuple[float, Array]],
) -> tuple[SingularityMeasure, ...]:
    """Pivots of K that move with the configuration, and how far each wheel is from lying flat."""
    result = []
    moving = [p for p in pivots if ca.depends_on(p, ca.vertcat(symbols.q, symbols.t))]
    if moving:
        values = ca.Function("p", [symbols.t, symbols.q, symbols.params], [stack(moving)])
        numbers = np.array([np.array(values(t, q, probe.params)).ravel() for t, q in samples])
        for value in _apart(moving, np.nanmedian(np.abs(numbers), axis=0)):
            result.append(
                SingularityMeasure(
                    name="independent speeds",
                    kind="basis",
                    value=value,
                    floor=0.2,
                    limit=1e-3,
                    sentence="the constraints lose rank here, so that no independent speeds "
                    "determine the motion",
                )
            )
    for trace in contacts:
        if trace.curvatures is not None:
            result.append(_curvature_measure(trace))
        if trace.margin is not None:
            name = trace.contact.name
            result.append(
                SingularityMeasure(
                    name=f"{name}.margin",
                    kind="contact",
                    value=ca.fmax(trace.margin, 0),
                    floor=1e-6,
                    limit=1e-6,
                    sentence=f"contact '{name}' has reached the border of its ground",
                )
            )
        if trace.regularity is not None and ca.depends_on(trace.regularity, symbols.q):
            result.append(
                SingularityMeasure(
                    name=trace.contact.name,
                    kind="contact",
                    value=trace.regularity,
                    floor=1e-6,
                    limit=1e-6,
                    sentence=f"wheel '{trace.contact.name}' lies flat on its plane, where it "
                    "touches along a whole circle and rolling is not defined",
                )
            )
    return tuple(result)


def _curvature_measure(trace: ContactTrace) -> SingularityMeasure:
    """The smaller eigenvalue of the relative curvature; a negative one counts as zero."""
    assert trace.curvatures is not None
    name = trace.contact.name
    return SingularityMeasure(
        name=f"{name}.curvature",
        kind="contact",
        value=ca.fmax(trace.curvatures[0], 0),
        floor=1e-2,
        limit=1e-2,
        sentence=f"the relative curvature of contact '{name}' is not positive: beside its contact "
        "point the body touches the ground along a line or penetrates it",
    )


def _apart(pivots: list[ca.SX], usual: Array) -> list[ca.SX]:
    """Pivots over their usual magnitudes: all that have a sign, and the least of the others.

    The product of two that change their signs in one step would not show it.
    """
    scaled = [pivot / float(scale) for pivot, scale in zip(pivots, usual, strict=True)]
    magnitudes = [value for value in scaled if _is_magnitude(value)]
    signed = [value for value in scaled if not _is_magnitude(value)]
    return signed + ([functools.reduce(ca.fmin, magnitudes)] if magnitudes else [])


def _is_magnitude(value: ca.SX) -> bool:
    """Whether a scalar is never below zero by the way it is written: a root, or a ratio of them."""
    if value.is_constant() or value.is_symbolic():
        return value.is_constant() and float(value) >= 0.0
    if value.op() == ca.OP_DIV:
        return all(_is_magnitude(value.dep(k)) for k in range(2))
    return value.op() in (ca.OP_SQRT, ca.OP_FABS, ca.OP_SQ)
