"""Layout of starts, and the linear algebra of many small matrices that completes them.

**Linear algebra of stacks of small matrices: the first index is that of the start.**

Every matrix of a stack is taken by itself, by the same routine of BLAS or LAPACK in the same order,
so that the bits of a start depend on no other one, nor on how many there are.

Singular values of one matrix come from LAPACK itself. NumPy calls the same routine, but for
matrices of some ten rows its checks and conversions take twice as long. SciPy, which has the
routine itself, takes a fifth of a second to import: it is asked from the FOURTH time on, in a
process that does this often. NumPy and SciPy each bring an OpenBLAS of their own; where these are
not of one version, their last bits may differ, and NumPy is asked for all.

**`Layout` of starts: names by index, and the constraint rows as a native function.**

Made once for a system and cached with it.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import NativeFunction, System, compile_native, trace_program
from noslip.kinematics import Kinematics
from noslip.model import Angles

#: Up to so many numbers plain Python is quicker than NumPy.
FEW = 40
FOURTH = 4

RANK = 1e-10  # singular values below this share of the largest count as zero
SAFE = 1e8  # condition up to which an inverse by elimination is trusted
_times = itertools.count(1)


def each(function: Callable[..., float], *values: Array) -> Array:
    """A function of the C library applied to arrays, number by number: NumPy may use its own."""
    return np.array([function(*row) for row in zip(*(a.tolist() for a in values), strict=True)])


def apply(A: Array, x: Array) -> Array:
    """A x (n, i) for matrices (n, i, j) and vectors (n, j)."""
    found: Array = (A @ x[:, :, None])[:, :, 0]
    return found


def largest(values: Array) -> Array:
    """Largest size (n,) in each of (n, …), infinite where one is nan."""
    if len(values) == 1 and values.size <= FEW:
        sizes = list(map(abs, values.ravel().tolist()))
        return np.array([math.inf if math.isnan(sum(sizes)) else max(sizes, default=0.0)])
    inner = tuple(range(1, values.ndim))
    found = np.maximum.reduce(np.abs(values), axis=inner, initial=0.0)
    return np.where(np.isnan(found), np.inf, found)


def is_within(values: Array, share: float, size: Array) -> NDArray[np.bool_]:
    """(n,) whether values (n, m) are finite and at most a share of max(1, |size|) of each start."""
    most = largest(values)
    found: NDArray[np.bool_] = most <= share
    if not found.all():
        found = (most <= share * np.maximum(1.0, largest(size))) & np.isfinite(most)
    return found


def row_weights(C: Array) -> Array:
    """Weights that give the rows (…, rows, columns) unit length.

    A row of rounding alone at this configuration stays as small as it is: it constrains nothing.
    """
    size = np.sqrt(np.add.reduce(C * C, axis=-1))
    most = np.maximum.reduce(size, axis=-1, keepdims=True, initial=0.0)
    return np.asarray(1.0 / np.where(size > 1e-12 * most, size, np.maximum(1.0, most)))


def pseudo_inverse(C: Array) -> Array:
    """C⁺ (n, j, i) of matrices (n, i, j): C⁻¹ or Cᵀ (C Cᵀ)⁻¹, by singular values if need be."""
    num_rows, num_columns = C.shape[1:]
    if not C.size:
        return np.zeros((len(C), num_columns, num_rows))
    if num_rows > num_columns:
        return singular_inverse(C)
    is_square, Ct = num_rows == num_columns, C.transpose(0, 2, 1)
    if num_rows == 1:
        K = C @ Ct
        return np.divide(Ct, K, out=np.zeros(Ct.shape), where=K > 0.0)
    K = C if is_square else C @ Ct
    inverse = inverses(K)
    found = inverse if is_square else Ct @ inverse
    is_good = largest(inverse) * np.maximum(largest(K), 1e-300) <= SAFE
    if not is_good.all():
        found[~is_good] = singular_inverse(C[~is_good])
    return found


def inverses(K: Array) -> Array:
    """K⁻¹ of square matrices by elimination with pivots; nan where there is none."""
    return _where_regular(np.linalg.inv, K)


def solutions(G: Array, right: Array) -> Array:
    """X (n, i, k) with G X = right, by elimination with pivots; nan where G is singular."""
    return _where_regular(np.linalg.solve, G, right)


def _where_regular(function: Any, *stacks: Array) -> Array:
    """A function of NumPy that refuses all matrices if one is singular."""
    try:
        return np.asarray(function(*stacks))
    except np.linalg.LinAlgError:
        if len(stacks[0]) == 1:
            return np.full(stacks[-1].shape, np.nan)
        parts = [[stack[k : k + 1] for stack in stacks] for k in range(len(stacks[0]))]
        return np.concatenate([_where_regular(function, *part) for part in parts])


def singular_inverse(C: Array, rank: float = RANK, least: float = 0.0) -> Array:
    """C⁺ by singular values, those below a share of the largest left out; 0 if C is not finite.

    `least` is a size that the largest one has at least: a matrix of rounding alone has no inverse.
    """
    U, sigma, Vt = singular_values(C)
    keep = sigma > rank * np.max(sigma, axis=1, keepdims=True, initial=least)
    back = np.divide(1.0, sigma, where=keep, out=np.zeros_like(sigma))
    size = sigma.shape[1]
    return np.asarray(
        (Vt[:, :size].transpose(0, 2, 1) * back[:, None, :]) @ U[:, :, :size].transpose(0, 2, 1)
    )


def singular_values(C: Array) -> tuple[Array, Array, Array]:
    """U (n, i, i), Σ and Vᵀ (n, j, j) with C = U Σ Vᵀ, as ``numpy.linalg.svd(C)``.

    Those of zero where C is not finite.
    """
    if not np.isfinite(C).all():
        C = np.where(np.isfinite(C).all(axis=(1, 2), keepdims=True), C, 0.0)
    if C.size and len(C) == 1 and next(_times) >= FOURTH and _has_same_bits():
        return _by_scipy(C)
    U, sigma, Vt = np.linalg.svd(C, full_matrices=True)
    return U, sigma, Vt


def _by_scipy(C: Array) -> tuple[Array, Array, Array]:
    """Singular values of a stack of one, by SciPy's LAPACK."""
    from scipy.linalg import lapack

    U, sigma, Vt, info = lapack.dgesdd(C[0], compute_uv=1, full_matrices=1)
    if info:
        raise np.linalg.LinAlgError("SVD did not converge")
    # by rows, as NumPy has them: products then have the same bits, too
    return np.ascontiguousarray(U)[None], sigma[None], np.ascontiguousarray(Vt)[None]


@cache
def _has_same_bits() -> bool:
    """Whether the libraries of NumPy and SciPy agree to the last bit, for a dense matrix a size."""
    rng = np.random.default_rng(0)
    for rows, columns in itertools.product((1, 2, 3, 5, 9, 14), (2, 3, 9, 16)):
        C = rng.normal(size=(1, rows, columns))
        pairs = zip(_by_scipy(C), np.linalg.svd(C, full_matrices=True), strict=True)
        if not all(np.array_equal(one, other) for one, other in pairs):
            return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Orientation:
    """Indices of the quaternion and the angular speeds of a joint with named angles."""

    joint: str
    angles: Angles
    quaternion: int
    speed: int
    angle_names: tuple[str, ...]
    rate_names: tuple[str, ...]


class ConstraintBlock(NamedTuple):
    """Coordinates whose rates are made of the same few speeds, by the pattern of N."""

    coordinates: frozenset[int]
    speeds: tuple[int, ...]


#: Where each matrix is in the values of a configuration, and its shape.
RowPlaces = dict[str, tuple[slice, tuple[int, ...]]]


class Rows:
    """A v + a = 0, g = 0 of the holonomic rows, q̇ = N v and η = E v of n configurations.

    The first index is that of the configuration. Rows that hold by themselves are zero in A, where
    rounding would ask for speeds. `weight` gives the rows of A, over the scale, unit length.

    `basis` is [s, S], v = s + S η; not finite, or far too large, where it fails.
    """

    A: Array
    a: Array
    g: Array
    N: Array
    E: Array
    weight: Array
    basis: Array

    def __init__(self, values: Array, places: RowPlaces) -> None:
        self.values, self._places = values, places

    def __getattr__(self, name: str) -> Array:
        """One of the matrices, lazily."""
        place, shape = self._places[name]
        matrix: Array = self.values[:, place].reshape(len(self.values), *shape)
        self.__dict__[name] = matrix
        return matrix

    def part(self, k: Array | NDArray[np.int64] | NDArray[np.bool_]) -> Rows:
        """Rows of some of the configurations."""
        return Rows(self.values[k], self._places)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Names by index, and the rows as one native function of (t, q, w, parameters)."""

    coordinates: dict[str, int]
    speeds: dict[str, int]
    independent_speeds: dict[str, int]
    auxiliary_states: tuple[str, ...]
    names: dict[str, None]  # all that a start may give, in order
    states: tuple[str, ...]  # coordinates, then speeds
    orientations: tuple[Orientation, ...]
    rest: Array  # (nq,)
    num_inputs: int  # [u; w; ẇ]
    blocks: tuple[ConstraintBlock, ...]
    scale: Array  # (nv,) a length of the model for angular speeds, else 1
    unit: Array  # (nv, nv) identity
    holonomic: NDArray[np.int64]  # rows of A that have a g
    closing: NDArray[np.int64]  # those of them that do not hold by themselves
    closing_g: NDArray[np.int64]  # and their places in g
    kept: NDArray[np.int64]  # rows of A that the others do not imply
    kinematics: Kinematics
    function: NativeFunction | None  # None for a long mechanism
    places: RowPlaces  # of the matrices in it
    plans: dict[tuple[str, ...], Any]  # of completions, by the names that are given

    def rows(self, t: Array, q: Array, w: Array, params: Array) -> Rows:
        """The rows at times (n,), configurations (n, nq) and speed inputs (n, nw)."""
        if self.function is None:
            all_params = np.broadcast_to(params, (len(q), params.shape[-1]))
            each = zip(t, q, w, all_params, strict=True)
            return Rows(np.array([_long_rows(self.kinematics, *one) for one in each]), self.places)
        return Rows(self.function.map(t, q, w, params), self.places)


_LAYOUTS: weakref.WeakKeyDictionary[System, Layout] = weakref.WeakKeyDictionary()


def layout_of(system: System) -> Layout:
    """The layout of a system, cached with it."""
    layout = _LAYOUTS.get(system)
    if layout is None:
        layout = _LAYOUTS[system] = _make_layout(system)
    return layout


def _make_layout(system: System) -> Layout:
    kin = system.kinematics
    coordinates = {c.name: k for k, c in enumerate(kin.coordinates)}
    speeds = {s.name: k for k, s in enumerate(kin.speeds)}
    independent = {s.name: k for k, s in enumerate(kin.independent_speeds)}
    auxiliary_states = tuple(c.name for c in system.auxiliary_states)
    orientations = _orientations(system)
    angles = [n for o in orientations for n in (*o.angle_names, *o.rate_names)]
    hold = set(kin.self_satisfied)
    return Layout(
        coordinates=coordinates,
        speeds=speeds,
        independent_speeds=independent,
        auxiliary_states=auxiliary_states,
        names=dict.fromkeys([*coordinates, *speeds, *independent, *auxiliary_states, *angles]),
        states=(*coordinates, *speeds),
        orientations=orientations,
        rest=kin.rest,
        num_inputs=len(system.inputs),
        blocks=_blocks(kin.N.sparsity()),
        scale=kin.probe.scale,
        unit=np.eye(kin.num_speeds),
        holonomic=np.array(kin.probe.holonomic, dtype=int),
        closing=np.array([k for k in kin.probe.holonomic if k not in hold], dtype=int),
        closing_g=np.array(
            [i for i, k in enumerate(kin.probe.holonomic) if k not in hold], dtype=int
        ),
        kept=np.array(kin.row_basis, dtype=int),
        kinematics=kin,
        function=None if kin.is_long else _rows(system),
        places=_row_places(kin),
        plans={},
    )


def _blocks(pattern: ca.Sparsity) -> tuple[ConstraintBlock, ...]:
    """Coordinates and speeds that N ties together."""
    coordinates, speeds = pattern.shape
    parts = [({k}, set[int]()) for k in range(coordinates)]
    for k, speed in zip(*pattern.get_triplet(), strict=True):
        parts[k][1].add(speed)
    for speed in range(speeds):
        tied = [part for part in parts if speed in part[1]]
        parts = [part for part in parts if speed not in part[1]]
        parts.append((set().union(*(p[0] for p in tied)), set().union(*(p[1] for p in tied))))
    return tuple(ConstraintBlock(frozenset(qs), tuple(sorted(vs))) for qs, vs in parts if qs)


def _orientations(system: System) -> tuple[Orientation, ...]:
    found = []
    for node in system.kinematics.tree.nodes:
        joint = node.joint
        angles = joint.type.named_angles()
        if angles is not None and joint.type.quaternion is not None:
            found.append(
                Orientation(
                    joint=joint.name,
                    angles=angles,
                    quaternion=node.coordinates.start + joint.type.quaternion,
                    speed=node.speeds.start,
                    angle_names=tuple(f"{joint.name}.{n}" for n in angles.names),
                    rate_names=tuple(f"{joint.name}.{n}_rate" for n in angles.names),
                )
            )
    return tuple(found)


def _row_places(kin: Kinematics) -> RowPlaces:
    """Offsets of the matrices of :class:`Rows` in one vector."""
    (rows, nv), nf = kin.A.shape, kin.num_independent_speeds
    shapes: dict[str, tuple[int, ...]] = {
        "A": (rows, nv),
        "a": (rows,),
        "g": (kin.g.shape[0],),
        "N": (kin.num_coordinates, nv),
        "E": (nf, nv),
        "weight": (rows,),
        "basis": (nv, 1 + nf),
    }
    places, at = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        places[name] = (slice(at, at + size), shape)
        at += size
    return places


def _long_rows(kin: Kinematics, t: float, q: Array, w: Array, params: Array) -> Array:
    """The rows in numbers, column by column, where their matrix is too large to be compiled."""
    probe = kin.probe
    A, a = (np.array(matrix) for matrix in probe.constraint(t, q, w, params))
    A[kin.self_satisfied] = 0.0
    a, E, kept = a.ravel(), kin.independent_rows(t, q, params), list(kin.row_basis)
    weight = row_weights(A / probe.scale)
    G = np.concatenate([A[kept] * weight[kept, None], E])
    right = np.zeros((len(G), 1 + len(E)))
    right[: len(kept), 0] = -a[kept] * weight[kept]
    right[len(kept) :, 1:] = np.eye(len(E))
    basis = solutions(G[None], right[None])[0]
    g = np.array(probe.position(t, q, params)).ravel()
    parts = (A, a, g, np.array(probe.kinematic_map(q)), E, weight, basis)
    return np.concatenate([part.ravel() for part in parts])


def _rows(system: System) -> NativeFunction:
    """The matrices of :class:`Rows`, row by row, as one native function."""
    kin, symbols = system.kinematics, system.kinematics.symbols
    A = ca.densify(kin.A)
    A[kin.self_satisfied, :] = 0
    weight = ca.SX(0, 1)
    if A.shape[0]:  # :func:`row_weights`, traced
        sizes = ca.sqrt(ca.sum2((A / ca.repmat(ca.DM(kin.probe.scale).T, A.shape[0], 1)) ** 2))
        most = ca.mmax(sizes)
        weight = 1 / ca.if_else(sizes > 1e-12 * most, sizes, ca.fmax(1.0, most))
    basis = ca.horzcat(kin.s, kin.S)
    matrices = (A, kin.a, kin.g, kin.N, kin.E, weight, basis)
    values = ca.vertcat(*[ca.vec(ca.densify(matrix).T) for matrix in matrices])
    given = (symbols.t, symbols.q, symbols.w, symbols.params)
    program = trace_program("rows", given, ca.densify(system.fold(values)))
    return compile_native([program])["rows"]
