"""Dependent speeds solved for: the partition of the tree speeds, elimination, the rolling base.

**Elimination of dependent speeds joint by joint, in O(n) operations, for long mechanisms.**

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

**Rolling base: speeds of a base at the point it rolls on, for the same motion in fewer
operations.**

A body B on a free joint rolls on the ground, itself or on a wheel of its own, and all three rows of
that contact are kept. Its twist is taken at the contact point C instead of its origin,

    (1)  v_C = v + ω × r        r from the origin of B to C, all in the axes of B

so that the rows say v_C = 0, or v_C in terms of the wheel's rate alone. No other independent speed
moves the point C of B, and most linear velocities of the basis are zero.

Bodies that turn on B and carry a wheel (a fork), and wheels, are resolved in the axes of B too. No
vector has to be turned before it is used, and rows of all wheels are solved in the same axes, where
most of their entries are plain coordinates.

**Partition of the tree speeds into independent and dependent ones, and the dependent ones
solved.**

A mechanism with many speeds is solved joint by joint (`elimination`) where its rows allow it, else
all kept rows are solved together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import EYE3, block_diagonal, block_solve, cross, stack, turned_inertia
from noslip.base import Array, ModelError
from noslip.kinematics.basis import (
    Probe,
    Redundancy,
    compressed,
    dependent_columns,
    independent_columns,
    independent_rows,
    moving_branch,
    needed_rows,
    usual_sizes,
)
from noslip.kinematics.constraint_rows import (
    CarriedBody,
    ContactTrace,
    RowTrace,
    WheelRows,
    carried_bodies,
    path_from_base,
    trace_wheel,
)
from noslip.kinematics.tree import Node, Reader, Symbols, Tree
from noslip.model import LATERAL, LONGITUDINAL, NORMAL, SPIN, WORLD, Model, Quantity

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
    """Plan of an elimination: rows that determine the speeds of each joint."""

    tree: Tree  #: tree of the mechanism
    num_speeds: int
    rows: dict[int, list[_Row]]  #: rows solved at each node
    dependent: dict[int, list[int]]  #: speeds that they determine, by node
    given: dict[int, int]  #: speed → row that states it outright (a speed input)
    repeated: dict[int, tuple[int, ...]]  #: row → the rows that it follows from

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
    speed_index: Mapping[str, int],
    inputs: Sequence[str],
    numbers: Callable[[ca.SX], Array],
    scale: Array,
    independent: set[int] | None,
) -> Elimination | None:
    """An order of elimination for all rows, or None if there is none."""
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
            waiting.append(_Row(k, tree.index[trace.contact.body], covector, row.is_holonomic))
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RollingBase:
    """The base B of a mechanism and the point C it rolls on."""

    base: int  #: node of B
    start: int  #: index of B's first speed, angular ones first
    foot: str  #: contact at C
    arm: ca.SX  #: r of (1)
    bodies: dict[int, CarriedBody]  #: node → a fork or a wheel in the axes of B
    wheels: dict[str, WheelRows]  #: contact → wheel in the axes of B

    def tree_speeds(self, moved: ca.SX) -> ca.SX:
        """Tree speeds, or their rates, for columns of speeds at C: v = v_C + r × ω."""
        k = self.start
        v = moved[k + 3 : k + 6, :]
        for j in range(moved.shape[1]):
            v[:, j] += cross(self.arm, moved[k : k + 3, j])
        return ca.vertcat(moved[: k + 3, :], v, moved[k + 6 :, :])

    def moved_forces(self, forces: ca.SX) -> ca.SX:
        """Columns of forces on the speeds at C, with the power they have on the tree speeds."""
        k = self.start
        n = forces[k : k + 3, :]
        for j in range(forces.shape[1]):
            n[:, j] -= cross(self.arm, forces[k + 3 : k + 6, j])
        return ca.vertcat(forces[:k, :], n, forces[k + 3 :, :])

    def moved_velocity(self, contact: str, v: ca.SX) -> ca.SX:
        """Velocity of a contact's material point, in the axes of B, for speeds v at C."""
        rim, k = self.wheels[contact], self.start
        velocity = v[k + 3 : k + 6] + rim.relative
        if contact == self.foot:
            return velocity
        return velocity + cross(v[k : k + 3], rim.point - self.arm)

    def seen_from_base(self, contacts: tuple[ContactTrace, ...]) -> tuple[ContactTrace, ...]:
        """The same contacts, those of B's wheels in the axes of B."""
        wheels = self.wheels
        return tuple(
            wheels[t.contact.name].trace if t.contact.name in wheels else t for t in contacts
        )

    def moved_tree(self, tree: Tree) -> Tree:
        """The same tree with the origin of B at C, and forks and wheels in the axes of B."""
        nodes = [self._moved(k, node, tree) for k, node in enumerate(tree.nodes)]
        return dataclasses.replace(tree, nodes=tuple(nodes))

    def _moved(self, k: int, node: Node, tree: Tree) -> Node:
        if k == self.base:
            return dataclasses.replace(
                node,
                p_WB=node.p_WB + ca.mtimes(node.R_WD, self.arm),
                center_D=node.center_D - self.arm,
            )
        if node.parent != self.base and node.parent not in self.bodies:
            return node
        turned = EYE3 if node.parent == self.base else self.bodies[node.parent].axes
        p = ca.mtimes(turned, node.p_PB)
        p = p - self.arm if node.parent == self.base else p
        if k not in self.bodies:
            return dataclasses.replace(node, R_PD=ca.mtimes(turned, node.R_PD), p_PB=p)
        body = self.bodies[k]
        return dataclasses.replace(
            node,
            R_PD=EYE3,
            p_PB=p,
            R_DB=ca.mtimes(body.axes, node.R_DB),
            R_WD=tree.nodes[self.base].R_WD,
            H=body.motion,
            center_D=ca.mtimes(body.axes, node.center_D),
            inertia_D=turned_inertia(body.axes, node.inertia_D),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BasisAtContact:
    """The null-space basis S, speeds v at η and their rates at η̇ = 0, all in the speeds at C."""

    rolling_base: RollingBase
    S: ca.SX
    v: ca.SX
    vdot0: ca.SX


def find_rolling_base(
    tree: Tree, whole: Sequence[ContactTrace], v: ca.SX, reader: Reader
) -> RollingBase | None:
    """The first body on a free joint that rolls on the ground, with all its wheels, or None."""
    paths = {t.contact.name: path for t in whole if (path := path_from_base(tree, t, reader))}
    # a wheel on a fork is none: its contact point moves against the base as the fork turns
    feet = [name for name, path in paths.items() if len(path) < 3]
    if not feet:
        return None
    base = paths[feet[0]][0]
    bodies: dict[int, CarriedBody] = {}
    wheels: dict[str, WheelRows] = {}
    for trace in whole:
        path = paths.get(trace.contact.name)
        if path is not None and path[0] == base:
            found = carried_bodies(tree, path, reader)
            wheels[trace.contact.name] = trace_wheel(trace, tree, path, found, v, reader)
            bodies |= found
    return RollingBase(
        base=base,
        start=tree.nodes[base].speeds.start,
        foot=feet[0],
        arm=wheels[feet[0]].point,
        bodies=bodies,
        wheels=wheels,
    )


#: Tree speeds up to which all rows are solved together, which finds the best independent speeds.
MOST_TOGETHER = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TracedMechanism:
    """A mechanism traced as far as the partition of its speeds needs."""

    #: model, symbols, reader: described, its symbols, and expressions of them
    model: Model
    symbols: Symbols
    reader: Reader
    #: tree, contacts, rows: poses, wheels and blades, and all constraint rows
    tree: Tree
    contacts: tuple[ContactTrace, ...]
    rows: tuple[RowTrace, ...]
    speeds: tuple[Quantity, ...]  #: (nv,) tree speeds
    index: Mapping[str, int]  #: places of the tree speeds by name
    probe: Probe  #: the rows in numbers
    samples: list[tuple[float, Array]]  #: generic times and configurations
    released: tuple[str, ...] = ()  #: rows of contacts that do not hold

    def numbers(self, expression: ca.SX) -> Array:
        """(samples, rows, columns) values of an expression of t, q and parameters."""
        s = self.symbols
        f = ca.Function("n", [s.t, s.q, s.params], [ca.densify(expression)])
        return np.array([np.array(f(t, q, self.probe.params)) for t, q in self.samples])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeedPartition:
    """Independent speeds, the kept rows, and these rows solved for the dependent speeds."""

    #: row_basis, redundant: independent rows in their order, and those that follow from them
    row_basis: tuple[int, ...]
    redundant: tuple[Redundancy, ...]
    #: names, E: independent speeds, η = E v
    names: tuple[Quantity, ...]
    E: ca.SX
    #: solved, P: the kept rows as they are solved, P times the kept ones
    solved: ca.SX
    P: ca.SX
    #: the same of other traces of the contacts and rows, before some are combined
    solved_of: Callable[[tuple[ContactTrace, ...], tuple[RowTrace, ...]], ca.SX]
    #: speeds (nv, c) for right-hand sides of the solved rows and of η, and the pivots
    solve: Callable[[ca.SX, ca.SX], tuple[ca.SX, list[ca.SX]]]
    #: probe, samples: the rows in numbers, and configurations on the branch that is meant
    probe: Probe
    samples: list[tuple[float, Array]]
    #: function from values of those rows to those that are solved
    combined: Callable[[ca.SX], ca.SX] = ca.SX
    #: matrix from values of all rows to those of as many independent ones; None: the kept ones
    combination: ca.SX | None = None
    #: base on which the mechanism rolls; `solve` then gives speeds at its contact point
    rolling_base: RollingBase | None = None
    #: solved row → its rate at constant v, where it is known in closed form
    rates: Mapping[int, ca.SX] = field(default_factory=dict)


def partition_speeds(
    traced: TracedMechanism,
    independent: tuple[str, ...] | None,
    wanted: tuple[int, ...] | None = None,
) -> SpeedPartition:
    """Independent and dependent speeds of a mechanism.

    `independent`: tree speeds to write in, instead of the model's own choice; `wanted`: rows to
    keep where all are solved together, instead of the first independent ones.
    """
    is_long = len(traced.speeds) > MOST_TOGETHER and not traced.probe.num_places
    if is_long and not traced.released:
        choice = _joint_by_joint(traced, independent)
        if choice is not None:
            return choice
    found = independent_rows(traced.probe, traced.rows, traced.samples, wanted)
    probe, samples = moving_branch(traced.probe, traced.samples, found.ranks)
    if probe is not traced.probe:
        traced = dataclasses.replace(traced, probe=probe, samples=samples)
        found = independent_rows(probe, traced.rows, samples, wanted)
    kept, redundant = found.kept, needed_rows(probe, samples, found)
    names, E = _independent_speeds(traced, independent, kept)
    _check_determined(traced, E, kept, names)
    group = _repeating(traced, kept, redundant, names)
    alone = tuple(k for k in kept if k not in group.rows)
    whole = _whole_contacts(traced, alone)
    v = traced.symbols.v
    rolling_base = find_rolling_base(traced.tree, list(whole.values()), v, traced.reader)
    wheels = {} if rolling_base is None else rolling_base.wheels

    def solved_of(contacts: tuple[ContactTrace, ...], rows: tuple[RowTrace, ...]) -> ca.SX:
        apart = _solved_rows(contacts, rows, alone, whole, wheels)[0]
        return ca.vertcat(apart, *[rows[k].velocity for k in group.rows])

    def combined(values: ca.SX) -> ca.SX:
        apart = values.shape[0] - len(group.rows)
        return ca.vertcat(values[:apart, :], ca.mtimes(group.back, values[apart:, :]))

    P = _solved_rows(traced.contacts, traced.rows, alone, whole, wheels)[1]
    solved = solved_of(traced.contacts, traced.rows)
    combination = None
    if group.rows:
        solved = combined(solved)
        combination = ca.SX(len(kept), len(traced.rows))
        combination[: len(alone), list(alone)] = ca.SX.eye(len(alone))
        combination[len(alone) :, list(group.rows)] = group.back
        P = _shares(traced, solved, kept, E)
    K = ca.vertcat(ca.jacobian(solved, v), E)
    if rolling_base is not None:
        K = _at_foot(K, rolling_base, whole, v)
    # the block form is found by structure
    return SpeedPartition(
        row_basis=kept,
        redundant=redundant,
        names=names,
        E=E,
        solved=solved,
        P=P,
        solved_of=solved_of,
        solve=lambda of_rows, of_eta: block_solve(K, ca.vertcat(of_rows, of_eta)),
        probe=probe,
        samples=samples,
        combined=combined if group.rows else ca.SX,
        combination=combination,
        rolling_base=rolling_base,
        rates={
            k + i: rim.rate[i]
            for k, t in whole.items()
            if (rim := wheels.get(t.contact.name))
            for i in range(3)
        },
    )


class _RepeatingRows(NamedTuple):
    """Rows that repeat each other with shares that vary, and what combines them: A_Dᵀ."""

    rows: tuple[int, ...]
    back: ca.SX


def _repeating(
    traced: TracedMechanism,
    kept: tuple[int, ...],
    redundant: tuple[Redundancy, ...],
    names: tuple[Quantity, ...],
) -> _RepeatingRows:
    """Rows that are solved together by least squares, each over its usual size."""
    varying = [r for r in redundant if r.varies]
    index = {row.name: k for k, row in enumerate(traced.rows)}
    rows = sorted({r.row for r in varying} | {index[n] for r in varying for n in r.follows_from})
    if not rows:
        return _RepeatingRows((), ca.SX(0, 0))
    speeds = list(range(len(traced.speeds)))
    independent = {s.name for s in names}
    if independent <= traced.index.keys():
        speeds = [k for k in speeds if traced.speeds[k].name not in independent]
    sizes = usual_sizes(traced.probe, traced.samples)[rows]
    A = np.array([traced.probe.matrix(q, t)[0][rows] for t, q in traced.samples])
    rank = len(set(rows) & set(kept))
    chosen = dependent_columns(compressed(A[:, :, speeds] / sizes[:, None], rank))
    velocities = stack([traced.rows[k].velocity for k in rows])
    slopes = ca.jacobian(velocities, traced.symbols.v)[:, [speeds[j] for j in chosen]]
    return _RepeatingRows(tuple(rows), ca.densify(slopes.T) / ca.repmat(ca.DM(sizes**2).T, rank))


def _shares(traced: TracedMechanism, solved: ca.SX, kept: tuple[int, ...], E: ca.SX) -> ca.SX:
    """P of rows that are solved as combinations of all rows: solved = P kept."""
    v = traced.symbols.v
    own = ca.vertcat(ca.jacobian(stack([traced.rows[k].velocity for k in kept]), v), E)
    shares, _ = block_solve(own.T, ca.densify(ca.jacobian(solved, v).T))
    return shares[: len(kept), :].T


def _joint_by_joint(
    traced: TracedMechanism, independent: tuple[str, ...] | None
) -> SpeedPartition | None:
    """By elimination, if there is one; named independent speeds must be tree speeds."""
    model, speeds, rows, index = traced.model, traced.speeds, traced.rows, traced.index
    named = independent or tuple(s.name for s in model.independent_speeds)
    if any(s.expression for s in model.independent_speeds) and independent is None:
        return None
    elimination = find_elimination(
        traced.tree,
        rows,
        traced.contacts,
        index,
        [i.speed for i in model.speed_inputs],
        lambda entries: traced.numbers(entries)[:, :, 0],
        traced.probe.scale,
        {index[name] for name in named} if named else None,
    )
    if elimination is None:
        return None
    free = [index[name] for name in named] if named else elimination.independent
    unit = ca.SX.eye(len(speeds))
    repeated = elimination.repeated
    kept = tuple(k for k in range(len(rows)) if k not in repeated)

    def solve(of_rows: ca.SX, of_eta: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
        of_kept = {k: of_rows[j, :] for j, k in enumerate(kept)}
        return elimination.solve(of_kept, {k: of_eta[j, :] for j, k in enumerate(free)})

    def solved_of(contacts: tuple[ContactTrace, ...], rows: tuple[RowTrace, ...]) -> ca.SX:
        return stack([rows[k].velocity for k in kept])

    return SpeedPartition(
        row_basis=kept,
        redundant=tuple(
            Redundancy(row=k, follows_from=tuple(rows[j].name for j in repeated[k]))
            for k in sorted(repeated)
        ),
        names=tuple(speeds[k] for k in free),
        E=ca.sparsify(unit[free, :]) if free else ca.SX(0, len(speeds)),
        solved=solved_of(traced.contacts, rows),
        P=ca.SX.eye(len(kept)),
        solved_of=solved_of,
        solve=solve,
        probe=traced.probe,
        samples=traced.samples,
    )


def _independent_speeds(
    traced: TracedMechanism, independent: tuple[str, ...] | None, kept: tuple[int, ...]
) -> tuple[tuple[Quantity, ...], ca.SX]:
    """Quantities η and the rows E with η = E v: given, named by the model, or chosen."""
    model, speeds, index = traced.model, traced.speeds, traced.index
    unit_rows = ca.SX.eye(len(speeds))
    if traced.released and independent is None:
        return _with_slips(traced, kept)
    if independent is None and not model.independent_speeds:
        chosen = independent_columns(traced.probe, kept, traced.samples, _passive(traced))
        independent = tuple(speeds[k].name for k in chosen)
    if independent is not None:
        columns = [index[name] for name in independent]
        return tuple(speeds[k] for k in columns), ca.sparsify(unit_rows[columns, :])
    quantities, rows = [], []
    for speed in model.independent_speeds:
        if speed.expression:
            quantities.append(Quantity(name=speed.name, unit=speed.unit))
            rows.append(ca.jacobian(traced.reader.scalar(speed.expression), traced.symbols.v))
        else:
            quantities.append(speeds[index[speed.name]])
            rows.append(unit_rows[index[speed.name], :])
    return tuple(quantities), ca.sparsify(ca.vertcat(*rows))


#: How regular independent speeds are that are taken first, second and so on: the least singular
#: value of the kept rows and the speeds, each of length one.
_REGULAR = (0.1, 1e-2, 1e-4, 1e-7)
#: Slips below this, over the sizes of speeds, are zero.
_NO_SLIP = 1e-9


def _with_slips(
    traced: TracedMechanism, kept: tuple[int, ...]
) -> tuple[tuple[Quantity, ...], ca.SX]:
    """Slips along released rows first, so that K = [A; E] is as regular as where they hold.

    Then the model's own choice, then all other speeds. What is off has none: slips of two wheels of
    an axle depend on each other where it is level, and a normal row makes K singular where the body
    turns.
    """
    v, unit = traced.symbols.v, ca.SX.eye(len(traced.speeds))
    quantities: list[Quantity] = []
    rows: list[ca.SX] = []
    for trace in traced.contacts:
        for part in (LONGITUDINAL, LATERAL):
            name = f"{trace.contact.name}.{part}"
            is_off = f"{trace.contact.name}.{NORMAL}" in traced.released
            if name in traced.released and not is_off:
                quantities.append(Quantity(name=f"{name}_slip", unit="m/s"))
                rows.append(ca.jacobian(trace.slip[part], v))
    own = [s.name for s in traced.model.independent_speeds if not s.expression]
    for speed in [*own, *(s.name for s in traced.speeds if s.name not in own)]:
        quantities.append(traced.speeds[traced.index[speed]])
        rows.append(unit[traced.index[speed], :])
    E = ca.vertcat(*rows)
    numbers = traced.numbers(E) / traced.probe.scale[None, None, :]
    basis = np.array([traced.probe.matrix(q, t)[0][list(kept)] for t, q in traced.samples])
    sizes = np.median(np.linalg.norm(numbers, axis=2), axis=0)
    chosen: list[int] = []
    for bound in _REGULAR:
        for k in np.flatnonzero(sizes > _NO_SLIP).tolist():
            if len(chosen) + len(kept) == len(traced.speeds):
                break
            if k in chosen:
                continue
            trial = np.concatenate([basis, numbers[:, k : k + 1]], axis=1)
            lengths = np.linalg.norm(trial, axis=2, keepdims=True)
            least = np.linalg.svd(trial / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
            if np.median(least[:, -1]) > bound:
                chosen.append(k)
                basis = trial
    chosen.sort()
    return tuple(quantities[k] for k in chosen), ca.sparsify(E[chosen, :])


def _passive(traced: TracedMechanism) -> list[int]:
    """Speeds that no motor drives and that are not those of a base, such as a caster's."""
    driven = {speed for force in traced.model.forces for speed in force.driven()}
    places = range(len(traced.speeds))
    inner = [k for node in traced.tree.nodes if node.parent >= 0 for k in places[node.speeds]]
    return [k for k in inner if traced.speeds[k].name not in driven]


def _whole_contacts(traced: TracedMechanism, kept: tuple[int, ...]) -> dict[int, ContactTrace]:
    """Index among the kept rows at which the three rows of each contact start."""
    names = [traced.rows[k].name for k in kept]
    found = {}
    for trace in traced.contacts:
        wanted = [f"{trace.contact.name}.{part}" for part in trace.slip]
        if wanted[0] in names:
            k = names.index(wanted[0])
            if names[k : k + 3] == wanted:
                found[k] = trace
    return found


def _solved_rows(
    contacts: tuple[ContactTrace, ...],
    rows: tuple[RowTrace, ...],
    kept: tuple[int, ...],
    whole: Mapping[int, ContactTrace],
    wheels: Mapping[str, WheelRows],
) -> tuple[ca.SX, ca.SX]:
    """The kept rows as they are solved, and P: a contact with all three rows in a body's axes."""
    solved: list[ca.SX] = []
    blocks: list[ca.SX] = []
    traces = {t.contact.name: t for t in contacts} | {name: r.trace for name, r in wheels.items()}
    k = 0
    while k < len(kept):
        if k in whole:
            trace = traces[whole[k].contact.name]
            solved.append(trace.velocity_D)
            blocks.append(trace.axes_D)
            k += 3
        else:
            solved.append(rows[kept[k]].velocity)
            blocks.append(ca.SX(1))
            k += 1
    return stack(solved), block_diagonal(blocks)


def _at_foot(
    K: ca.SX, rolling_base: RollingBase, whole: Mapping[int, ContactTrace], v: ca.SX
) -> ca.SX:
    """The matrix of the same rows on the speeds at the point where the mechanism rolls."""
    moved = rolling_base.moved_forces(ca.densify(K.T)).T
    for k, trace in whole.items():
        if trace.contact.name in rolling_base.wheels:
            velocity = rolling_base.moved_velocity(trace.contact.name, v)
            moved[k : k + 3, :] = ca.densify(ca.jacobian(velocity, v))
    return ca.sparsify(moved)


def _check_determined(
    traced: TracedMechanism, E: ca.SX, kept: tuple[int, ...], names: tuple[Quantity, ...]
) -> None:
    """[A; E] must be square and regular at some generic configuration."""
    freedom = len(traced.speeds) - len(kept)
    where = f"model '{traced.model.name}', independent_speeds"
    listed = ", ".join(f"'{n.name}'" for n in names)
    if len(names) != freedom:
        raise ModelError(
            f"{len(names)} independent speeds are named ({listed}), but the mechanism has "
            f"{freedom} degrees of freedom",
            where,
            f"name {freedom}, or none to have them chosen automatically",
        )
    worst = []
    for (t, q), rows in zip(traced.samples, traced.numbers(E), strict=True):
        scaled, _ = traced.probe.matrix(q, t)
        K = np.vstack([scaled[list(kept)], rows / traced.probe.scale[None, :]])
        K = K / np.maximum(np.linalg.norm(K, axis=1, keepdims=True), 1e-300)
        worst.append(float(np.linalg.svd(K, compute_uv=False)[-1]) if K.size else 1.0)
    if max(worst, default=1.0) < 1e-9:
        raise ModelError(
            f"the independent speeds {listed} do not determine the motion: the constraints "
            "couple them",
            where,
            "choose other speeds, or none to have them chosen automatically",
        )
