"""`Layout` of starts: names by index, and the constraint rows as a native function.

Made once for a system and cached with it.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import NativeFunction, System, compile_native, trace_program
from noslip.kinematics import Kinematics
from noslip.model import Angles
from noslip.simulation.starts.stacks import row_weights, solutions


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
    weight = _weights(A, kin.probe.scale)
    basis = ca.horzcat(kin.s, kin.S)
    matrices = (A, kin.a, kin.g, kin.N, kin.E, weight, basis)
    values = ca.vertcat(*[ca.vec(ca.densify(matrix).T) for matrix in matrices])
    given = (symbols.t, symbols.q, symbols.w, symbols.params)
    program = trace_program("rows", given, ca.densify(system.fold(values)))
    return compile_native([program])["rows"]


def _weights(A: ca.SX, scale: Array) -> ca.SX:
    """:func:`row_weights`, traced."""
    if not A.shape[0]:
        return ca.SX(0, 1)
    sizes = ca.sqrt(ca.sum2((A / ca.repmat(ca.DM(scale).T, A.shape[0], 1)) ** 2))
    most = ca.mmax(sizes)
    return 1 / ca.if_else(sizes > 1e-12 * most, sizes, ca.fmax(1.0, most))
