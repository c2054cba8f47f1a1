"""Which rows are solved and which speeds stay independent, and how the others follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from noslip.errors import ModelError
from noslip.kinematics.basis import (
    Array,
    Probe,
    Redundancy,
    independent_columns,
    independent_rows,
)
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.elimination import find_elimination
from noslip.kinematics.linear import block_solve
from noslip.kinematics.rows import RowTrace
from noslip.kinematics.symbols import Reader, Symbols
from noslip.kinematics.tree import Tree
from noslip.model.model import Model
from noslip.model.quantities import Quantity
from noslip.spatial import block_diagonal, stack

Samples = list[tuple[float, Array]]

#: Tree speeds up to which all rows are solved together, which finds the best speeds to write in.
MOST_TOGETHER = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """What is solved for what.

    Parameters
    ----------
    kept, redundant : independent rows in their order, and those that follow from them.
    names, E : independent speeds, η = E v.
    solved, P : the kept rows as they are solved, P times the kept ones.
    solve : tree speeds (nv, c) for right-hand sides of the solved rows and of η, and the pivots.
    """

    kept: tuple[int, ...]
    redundant: tuple[Redundancy, ...]
    names: tuple[Quantity, ...]
    E: ca.SX
    solved: ca.SX
    P: ca.SX
    solve: Callable[[ca.SX, ca.SX], tuple[ca.SX, list[ca.SX]]]


def choose(
    model: Model,
    symbols: Symbols,
    reader: Reader,
    tree: Tree,
    rows: tuple[RowTrace, ...],
    contacts: tuple[ContactTrace, ...],
    speeds: tuple[Quantity, ...],
    probe: Probe,
    samples: Samples,
    independent: tuple[str, ...] | None,
) -> Choice:
    """Joint by joint where there are many speeds and the rows allow it, else all rows together."""
    if len(speeds) > MOST_TOGETHER:
        choice = _joint_by_joint(
            model, symbols, tree, rows, contacts, speeds, probe, samples, independent
        )
        if choice is not None:
            return choice
    kept, redundant = independent_rows(probe, rows, samples)
    names, E = _independent_speeds(
        model, symbols, speeds, reader, independent, probe, kept, samples
    )
    _check_determined(model, probe, symbols, E, kept, names, samples)
    solved, P = _solved_rows(rows, contacts, kept)
    # the block form is found by structure
    K = ca.vertcat(ca.jacobian(solved, symbols.v), E)
    return Choice(
        kept=kept,
        redundant=redundant,
        names=names,
        E=E,
        solved=solved,
        P=P,
        solve=lambda of_rows, of_eta: block_solve(K, ca.vertcat(of_rows, of_eta)),
    )


def _joint_by_joint(
    model: Model,
    symbols: Symbols,
    tree: Tree,
    rows: tuple[RowTrace, ...],
    contacts: tuple[ContactTrace, ...],
    speeds: tuple[Quantity, ...],
    probe: Probe,
    samples: Samples,
    independent: tuple[str, ...] | None,
) -> Choice | None:
    """By elimination, if there is one; named independent speeds must be tree speeds."""
    index = {speed.name: k for k, speed in enumerate(speeds)}
    named = independent or tuple(s.name for s in model.independent_speeds)
    if any(s.expression for s in model.independent_speeds) and independent is None:
        return None

    def numbers(entries: ca.SX) -> Array:
        f = ca.Function("n", [symbols.t, symbols.q, symbols.params], [ca.densify(entries)])
        return np.array([np.array(f(t, q, probe.params)).ravel() for t, q in samples])

    elimination = find_elimination(
        tree,
        rows,
        contacts,
        index,
        [i.speed for i in model.speed_inputs],
        numbers,
        np.where(np.array(probe.is_angular, dtype=bool), probe.length, 1.0),
        {index[name] for name in named} if named else None,
    )
    if elimination is None:
        return None
    free = [index[name] for name in named] if named else elimination.independent
    unit = ca.SX.eye(len(speeds))

    def solve(of_rows: ca.SX, of_eta: ca.SX) -> tuple[ca.SX, list[ca.SX]]:
        values = {k: of_eta[j, :] for j, k in enumerate(free)}
        return elimination.solve([of_rows[k, :] for k in range(len(rows))], values)

    return Choice(
        kept=tuple(range(len(rows))),
        redundant=(),
        names=tuple(speeds[k] for k in free),
        E=ca.sparsify(unit[free, :]) if free else ca.SX(0, len(speeds)),
        solved=stack([row.velocity for row in rows]),
        P=ca.SX.eye(len(rows)),
        solve=solve,
    )


def _independent_speeds(
    model: Model,
    symbols: Symbols,
    speeds: tuple[Quantity, ...],
    reader: Reader,
    independent: tuple[str, ...] | None,
    probe: Probe,
    kept: tuple[int, ...],
    samples: Samples,
) -> tuple[tuple[Quantity, ...], ca.SX]:
    """Quantities η and the rows E with η = E v: as asked, as the model names them, or chosen."""
    index = {speed.name: k for k, speed in enumerate(speeds)}
    unit_rows = ca.SX.eye(len(speeds))
    if independent is None and not model.independent_speeds:
        chosen = independent_columns(probe, kept, samples)
        independent = tuple(speeds[k].name for k in chosen)
    if independent is not None:
        columns = [index[name] for name in independent]
        return tuple(speeds[k] for k in columns), ca.sparsify(unit_rows[columns, :])
    quantities, rows = [], []
    for speed in model.independent_speeds:
        if speed.expression:
            quantities.append(Quantity(name=speed.name, unit=speed.unit))
            rows.append(ca.jacobian(reader.scalar(speed.expression), symbols.v))
        else:
            quantities.append(speeds[index[speed.name]])
            rows.append(unit_rows[index[speed.name], :])
    return tuple(quantities), ca.sparsify(ca.vertcat(*rows))


def _solved_rows(
    rows: tuple[RowTrace, ...], contacts: tuple[ContactTrace, ...], kept: tuple[int, ...]
) -> tuple[ca.SX, ca.SX]:
    """The kept rows as they are solved, and P: a contact with all three rows in its body's axes."""
    solved: list[ca.SX] = []
    blocks: list[ca.SX] = []
    whole = {trace.contact.name: trace for trace in contacts}
    names = [rows[k].name for k in kept]
    k = 0
    while k < len(names):
        owner = names[k].rpartition(".")[0]
        trace = whole.get(owner)
        if trace is not None and names[k : k + 3] == [f"{owner}.{part}" for part in trace.slip]:
            solved += ca.vertsplit(trace.velocity_D)
            blocks.append(trace.axes_D)
            k += 3
        else:
            solved.append(rows[kept[k]].velocity)
            blocks.append(ca.SX(1))
            k += 1
    return stack(solved), block_diagonal(blocks)


def _check_determined(
    model: Model,
    probe: Probe,
    symbols: Symbols,
    E: ca.SX,
    kept: tuple[int, ...],
    names: tuple[Quantity, ...],
    samples: Samples,
) -> None:
    """[A; E] must be square and regular at some generic configuration."""
    freedom = len(probe.is_angular) - len(kept)
    where = f"model '{model.name}', independent_speeds"
    listed = ", ".join(f"'{n.name}'" for n in names)
    if len(names) != freedom:
        raise ModelError(
            f"{len(names)} independent speeds are named ({listed}), but the mechanism has "
            f"{freedom} degrees of freedom",
            where,
            f"name {freedom}, or none to let them be chosen",
        )
    rows = ca.Function("E", [symbols.t, symbols.q, symbols.params], [E])
    worst = []
    for t, q in samples:
        scaled, _ = probe.matrix(q, t)
        scale = np.where(np.array(probe.is_angular, dtype=bool), probe.length, 1.0)
        K = np.vstack([scaled[list(kept)], np.array(rows(t, q, probe.params)) / scale[None, :]])
        K = K / np.maximum(np.linalg.norm(K, axis=1, keepdims=True), 1e-300)
        worst.append(float(np.linalg.svd(K, compute_uv=False)[-1]) if K.size else 1.0)
    if max(worst, default=1.0) < 1e-9:
        raise ModelError(
            f"the independent speeds {listed} do not determine the motion: the constraints tie "
            "them to each other",
            where,
            "choose other speeds, or none to let them be chosen",
        )
