"""Partition of the tree speeds into independent and dependent ones, and the dependent ones solved.

A mechanism with many speeds is solved joint by joint (`elimination`) where its rows allow it, else
all kept rows are solved together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import block_diagonal, block_solve, stack
from noslip.base import ModelError
from noslip.kinematics.basis import (
    Array,
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
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.elimination import find_elimination
from noslip.kinematics.rolling_base import RollingBase, find_rolling_base
from noslip.kinematics.rows import RowTrace
from noslip.kinematics.symbols import Reader, Symbols
from noslip.kinematics.tree import Tree
from noslip.kinematics.wheel_rows import WheelRows
from noslip.model import LATERAL, LONGITUDINAL, NORMAL, Model, Quantity

#: Tree speeds up to which all rows are solved together, which finds the best independent speeds.
MOST_TOGETHER = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TracedMechanism:
    """A mechanism traced as far as the partition of its speeds needs.

    Parameters
    ----------
    model, symbols, reader : described, its symbols, and expressions of them.
    tree, contacts, rows : poses, wheels and blades, and all constraint rows.
    speeds : (nv,) tree speeds.
    probe : the rows in numbers.
    samples : generic times and configurations.
    released : rows of contacts that do not hold.
    """

    model: Model
    symbols: Symbols
    reader: Reader
    tree: Tree
    contacts: tuple[ContactTrace, ...]
    rows: tuple[RowTrace, ...]
    speeds: tuple[Quantity, ...]
    probe: Probe
    samples: list[tuple[float, Array]]
    released: tuple[str, ...] = ()

    @property
    def index(self) -> dict[str, int]:
        """Places of the tree speeds by name."""
        return {speed.name: k for k, speed in enumerate(self.speeds)}

    def numbers(self, expression: ca.SX) -> Array:
        """(samples, rows, columns) values of an expression of t, q and parameters."""
        s = self.symbols
        f = ca.Function("n", [s.t, s.q, s.params], [ca.densify(expression)])
        return np.array([np.array(f(t, q, self.probe.params)) for t, q in self.samples])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeedPartition:
    """Independent speeds, the kept rows, and the solution of these rows for the dependent speeds.

    Parameters
    ----------
    row_basis, redundant : independent rows in their order, and those that follow from them.
    names, E : independent speeds, η = E v.
    solved, P : the kept rows as they are solved, P times the kept ones.
    solved_of : the same of other traces of the contacts and rows, before some are combined.
    combined : combines values of those rows to those that are solved.
    combination : from values of all rows to those of as many independent ones; None: the kept ones.
    solve : speeds (nv, c) for right-hand sides of the solved rows and of η, and the pivots.
    probe, samples : the rows in numbers, and configurations on the branch that is meant.
    rolling_base : where the mechanism rolls on its base; `solve` then gives speeds at that point.
    rates : solved row → its rate at constant v, where it is known in closed form.
    """

    row_basis: tuple[int, ...]
    redundant: tuple[Redundancy, ...]
    names: tuple[Quantity, ...]
    E: ca.SX
    solved: ca.SX
    P: ca.SX
    solved_of: Callable[[tuple[ContactTrace, ...], tuple[RowTrace, ...]], ca.SX]
    solve: Callable[[ca.SX, ca.SX], tuple[ca.SX, list[ca.SX]]]
    probe: Probe
    samples: list[tuple[float, Array]]
    combined: Callable[[ca.SX], ca.SX] = ca.SX
    combination: ca.SX | None = None
    rolling_base: RollingBase | None = None
    rates: Mapping[int, ca.SX] = field(default_factory=dict)


def partition_speeds(
    traced: TracedMechanism,
    independent: tuple[str, ...] | None,
    wanted: tuple[int, ...] | None = None,
) -> SpeedPartition:
    """Independent and dependent speeds of a mechanism.

    Parameters
    ----------
    traced : the mechanism.
    independent : tree speeds to write in, instead of the model's own choice.
    wanted : rows to keep where all are solved together, instead of the first independent ones.
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
#: Slips below this, over the sizes of speeds, are none.
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
