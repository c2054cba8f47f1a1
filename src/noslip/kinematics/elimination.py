"""Elimination of dependent speeds joint by joint, in O(n) operations, for long mechanisms.

The rows of a wheel or a blade on the ground involve one body's twist alone, a·V_B = b, and

    (1)  V_B = X V_P + H v_B        twist of a body from its parent's and its joint's speeds

so a row is carried towards the base as long as the joint it passes has no dependent speed in it,

    (2)  a·V_B = (Xᵀ a)·V_P + (Hᵀ a)·v_B,       v_B known there

and it determines a dependent speed of the joint where it stops. From the base to the tips, every
joint then solves its few rows for its few dependent speeds:

    (3)  (a·H_dep) v_dep = b − a·X V_P − a·H_free v_free − (what was known on the way)

No matrix of all rows and speeds is formed. A row that meets others it repeats on its way, such as
that of the second wheel on an axle, is left out there, and so is one that arrives at the ground
with nothing in it. Where rows do not fit this order (loops, planes that move, expressions), there
is no elimination, and the rows are solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import block_solve, cross
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.rows import RowTrace
from noslip.kinematics.tree import Tree
from noslip.model import SPIN, WORLD

Array = NDArray[np.float64]

#: A pivot below this, with angular speeds scaled by a length of the model, determines nothing.
LEAST_PIVOT = 1e-3
#: What is smaller than this beside what it is made of is zero.
ZERO = 1e-10


@dataclass(slots=True)
class _Row:
    """A row carried towards the base: a·V of a node, and its entries of the joints passed."""

    index: int
    node: int
    covector: ca.SX  # (6,) angular part first, in D axes at the body's origin
    is_holonomic: bool
    known: list[tuple[int, ca.SX]] = field(default_factory=list)  # (speed, coefficient)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Elimination:
    """Plan of an elimination: rows that determine the speeds of each joint.

    Parameters
    ----------
    tree : of the mechanism.
    rows : by node: the rows solved there.
    dependent : by node: the speeds they determine.
    given : speed → row that states it outright (a speed input).
    repeated : row → the rows that it follows from.
    """

    tree: Tree
    num_speeds: int
    rows: dict[int, list[_Row]]
    dependent: dict[int, list[int]]
    given: dict[int, int]
    repeated: dict[int, tuple[int, ...]]

    @property
    def independent(self) -> list[int]:
        """Speeds that no row determines."""
        taken = {k for speeds in self.dependent.values() for k in speeds} | set(self.given)
        return [k for k in range(self.num_speeds) if k not in taken]

    def solve(self, values: dict[int, ca.SX], free: dict[int, ca.SX]) -> tuple[ca.SX, list[ca.SX]]:
        """Tree speeds (nv, c) for right-hand sides (1, c) of the rows and free speeds; pivots."""
        columns = next(iter([*values.values(), *free.values()]), ca.SX(1, 1)).shape[1]
        v: list[ca.SX] = [free.get(k, ca.SX(1, columns)) for k in range(self.num_speeds)]
        for k, stated in self.given.items():
            v[k] = values[stated]
        needed = self._carriers()
        motion: dict[int, ca.SX] = {}
        pivots: list[ca.SX] = []
        for i, node in enumerate(self.tree.nodes):
            if i not in needed:
                continue
            carried = ca.SX(6, columns)
            if node.parent >= 0:
                carried = _carried(self.tree, i, motion[node.parent])
            if i in self.rows:
                pivots += self._solve_joint(i, carried, values, v)
            own = ca.vertcat(*v[node.speeds])
            motion[i] = carried + ca.mtimes(node.H, own) if node.H.shape[1] else carried
        return ca.vertcat(*v), pivots

    def _solve_joint(
        self, i: int, carried: ca.SX, values: dict[int, ca.SX], v: list[ca.SX]
    ) -> list[ca.SX]:
        """(3): put the dependent speeds of a joint into v; their pivots."""
        node, dependent = self.tree.nodes[i], self.dependent[i]
        first = node.speeds.start
        others = [k for k in range(first, node.speeds.stop) if k not in dependent]
        matrix, right = [], []
        for row in self.rows[i]:
            on_joint = ca.mtimes(row.covector.T, node.H)
            b = values[row.index] - ca.mtimes(row.covector.T, carried)
            for k in others:
                b = b - on_joint[k - first] * v[k]
            for k, coefficient in row.known:
                b = b - coefficient * v[k]
            matrix.append(on_joint[[k - first for k in dependent]])
            right.append(b)
        solved, pivots = block_solve(ca.vertcat(*matrix), ca.vertcat(*right))
        for j, k in enumerate(dependent):
            v[k] = solved[j, :]
        return pivots

    def _carriers(self) -> set[int]:
        """Nodes whose twist some row needs: those with rows, and all towards the base."""
        needed: set[int] = set()
        for i in self.rows:
            while i >= 0 and i not in needed:
                needed.add(i)
                i = self.tree.nodes[i].parent
        return needed


def find_elimination(
    tree: Tree,
    rows: Sequence[RowTrace],
    contacts: Sequence[ContactTrace],
    speed_index: dict[str, int],
    inputs: Sequence[str],
    numbers: Callable[[ca.SX], Array],
    scale: Array,
    independent: set[int] | None,
) -> Elimination | None:
    """An order of elimination for all rows, or None if there is none.

    Parameters
    ----------
    inputs : names of the speeds that speed inputs state.
    numbers : values of a traced vector at generic configurations, (samples, size).
    scale : (nv,) a length for angular speeds, else 1.
    independent : speeds that must stay independent, or None to choose.
    """
    given: dict[int, int] = {}
    waiting: list[_Row] = []
    by_name = {trace.contact.name: trace for trace in contacts}
    stated = iter(inputs)
    for k, row in enumerate(rows):
        owner, _, part = row.name.rpartition(".")
        trace = by_name.get(owner)
        if trace is not None and row.origin == trace.contact.origin:
            if trace.contact.plane.body != WORLD:
                return None
            if part == SPIN:
                covector = ca.vertcat(trace.normal_D, ca.SX(3, 1))
            else:
                axis = trace.axes_D[:, list(trace.slip).index(part)]
                covector = ca.vertcat(cross(trace.arm_D, axis), axis)
            waiting.append(_Row(k, tree.index(trace.contact.body), covector, row.is_holonomic))
        elif row.origin == "speed input":
            given[speed_index[next(stated)]] = k
        else:
            return None
    return _assign(tree, waiting, given, numbers, scale, independent)


def _assign(
    tree: Tree,
    waiting: list[_Row],
    given: dict[int, int],
    numbers: Callable[[ca.SX], Array],
    scale: Array,
    independent: set[int] | None,
) -> Elimination | None:
    """Carry every row to the first joint with a speed to determine, tips first."""
    placed: dict[int, list[_Row]] = {}
    dependent: dict[int, list[int]] = {}
    repeated: dict[int, tuple[int, ...]] = {}
    at_node: dict[int, list[_Row]] = {}
    for row in waiting:
        at_node.setdefault(row.node, []).append(row)
    for i in reversed(range(len(tree.nodes))):
        node, here = tree.nodes[i], _without_repeats(at_node.pop(i, []), numbers, repeated)
        speeds = list(range(node.speeds.start, node.speeds.stop))
        open_speeds = [
            k for k in speeds if k not in given and (independent is None or k not in independent)
        ]
        if here and open_speeds:
            # coefficients of all rows here on the joint's open speeds, at generic configurations
            entries = [
                ca.mtimes(row.covector.T, node.H)[k - speeds[0]]
                for row in here
                for k in open_speeds
            ]
            tables = numbers(ca.vertcat(*entries)).reshape(-1, len(here), len(open_speeds))
            chosen_rows, chosen_speeds = _pivots(tables / scale[open_speeds])
            placed[i] = [here[j] for j in chosen_rows]
            dependent[i] = [open_speeds[j] for j in chosen_speeds]
            here = [row for j, row in enumerate(here) if j not in chosen_rows]
            if not placed[i]:
                del placed[i], dependent[i]
        for row in here:
            for k, coefficient in _nonzero(row, node.H, numbers):
                if speeds[k] in dependent.get(i, []):
                    return None  # the row would tie this speed to the ones before it
                row.known.append((speeds[k], coefficient))
            if node.parent >= 0:
                row.covector = _covector_to_parent(tree, i, row.covector)
                at_node.setdefault(node.parent, []).append(row)
            elif row.known:
                return None  # nothing is left for it to determine
            else:
                repeated[row.index] = ()
    if independent is not None:
        taken = {k for speeds in dependent.values() for k in speeds} | set(given)
        if taken | independent != set(range(len(scale))):
            return None
    return Elimination(
        tree=tree,
        num_speeds=len(scale),
        rows=placed,
        dependent=dependent,
        given=given,
        repeated=_resolved(repeated),
    )


def _without_repeats(
    here: list[_Row], numbers: Callable[[ca.SX], Array], repeated: dict[int, tuple[int, ...]]
) -> list[_Row]:
    """Rows on one body without those that follow from the ones before them, which are noted."""
    free = sorted((r for r in here if not r.known), key=lambda r: (not r.is_holonomic, r.index))
    if len(free) < 2:
        return here
    values = numbers(ca.vertcat(*[row.covector for row in free])).reshape(-1, len(free), 6)
    kept: list[int] = []
    for j, row in enumerate(free):
        before, own = values[:, kept, :].transpose(0, 2, 1), values[:, j, :]
        shares = [np.linalg.lstsq(B, a, rcond=None)[0] for B, a in zip(before, own, strict=True)]
        rest = [a - B @ c for B, a, c in zip(before, own, shares, strict=True)]
        if kept and np.linalg.norm(rest) <= ZERO * np.linalg.norm(own):
            most = np.abs(shares).max(axis=0)
            follows = [free[k].index for k, share in zip(kept, most, strict=True) if share > ZERO]
            repeated[row.index] = tuple(follows)
        else:
            kept.append(j)
    return [row for row in here if row.index not in repeated]


def _resolved(repeated: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """The same with nothing but rows that are kept; rows left out first may refer to later ones."""
    found: dict[int, set[int]] = {}
    for k in reversed(repeated):
        found[k] = set().union(*(found.get(j, {j}) for j in repeated[k]))
    return {k: tuple(sorted(rows)) for k, rows in found.items()}


def _nonzero(row: _Row, H: ca.SX, numbers: Callable[[ca.SX], Array]) -> list[tuple[int, ca.SX]]:
    """Places and values of a row's coefficients on a joint's speeds that are not always zero."""
    if not H.shape[1]:
        return []
    coefficients = ca.sparsify(ca.mtimes(row.covector.T, H))
    if not coefficients.nnz():
        return []
    sizes = np.abs(numbers(ca.densify(coefficients).T)).max(axis=0)
    largest = np.abs(numbers(row.covector)).max()
    return [(k, coefficients[k]) for k, size in enumerate(sizes) if size > ZERO * largest]


def _pivots(tables: Array) -> tuple[list[int], list[int]]:
    """Rows and columns of the largest pivots of (samples, rows, columns), by Gaussian elimination.

    A pivot counts as it is at the sample where it is smallest, after the ones before it: large
    entries alone may belong to speeds that the rows tie to each other.
    """
    rows: list[int] = []
    columns: list[int] = []
    left = tables.copy()
    while left.size:
        sizes = np.abs(left).min(axis=0)
        sizes[rows, :] = 0.0
        sizes[:, columns] = 0.0
        if not sizes.max(initial=0.0) > LEAST_PIVOT:
            break
        i, j = (int(k) for k in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
        rows.append(i)
        columns.append(j)
        left = left - left[:, :, j : j + 1] * (left[:, i : i + 1, :] / left[:, i, j, None, None])
    return rows, columns


def _carried(tree: Tree, i: int, motion: ca.SX) -> ca.SX:
    """X V_P for columns of twists."""
    node = tree.nodes[i]
    to_D, p = node.R_PD.T, node.p_PB
    w, v = motion[:3, :], motion[3:, :]
    moved = ca.horzcat(*[v[:, j] + cross(w[:, j], p) for j in range(motion.shape[1])])
    return ca.sparsify(ca.vertcat(ca.mtimes(to_D, w), ca.mtimes(to_D, moved)))


def _covector_to_parent(tree: Tree, i: int, covector: ca.SX) -> ca.SX:
    """Xᵀ a: the same power on the parent's twist."""
    node = tree.nodes[i]
    f = ca.mtimes(node.R_PD, covector[3:])
    return ca.vertcat(ca.mtimes(node.R_PD, covector[:3]) + cross(node.p_PB, f), f)
