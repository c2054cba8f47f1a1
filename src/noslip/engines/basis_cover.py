"""Choices of independent speeds that together cover the ranges of the coordinates.

A simulation chooses other independent speeds where those it has end. Code that runs elsewhere must
bring all it may need along: choices are added, the one that most of the places left ask for first,
until every sampled configuration is well within one of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.algebra import stack
from noslip.engines.system import Array, System
from noslip.kinematics import RANK_LOST

#: Configurations that are looked at.
SAMPLES = 300
#: Most choices of speeds.
MOST = 12
#: Share of the floor by which a sampled configuration must be within a choice.
WITHIN = 1.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BasisCover:
    """The same mechanism in several choices of independent speeds, the given one first.

    Parameters
    ----------
    systems : one for each choice.
    uncovered : share of the sampled configurations at which none of them is well within its bounds.
    """

    systems: tuple[System, ...]
    uncovered: float


def basis_measures(system: System) -> ca.SX:
    """Measures of the independent speeds over their floors: below 1 in size another choice is due.

    Those that change their signs keep them.
    """
    found = [h.value / h.floor for h in system.singularity_measures if h.kind == "basis"]
    return stack(found) if found else ca.SX(0, 1)


def cover_ranges(system: System) -> BasisCover:
    """Choices of independent speeds that cover the coordinates' ranges, at nominal parameters."""
    return system.cached("basis cover", lambda: _cover(system))


def _cover(system: System) -> BasisCover:
    systems = [system]
    places = system.kinematics.probe.configurations(SAMPLES)
    if not places or not basis_measures(system).shape[0]:
        return BasisCover(systems=(system,), uncovered=0.0)
    t, q = np.array([at for at, _ in places]), np.array([x for _, x in places])
    params = np.tile(system.parameters(), (len(t), 1))
    choices = system.kinematics.regular_bases(t, q, params, same_rows=bool(system.costates))
    # nothing covers where the constraints themselves lose rank
    is_open = np.array([c is not None and c.rank >= RANK_LOST for c in choices])
    is_open &= ~_covered(system, t, q)
    tried: set[object] = set()
    while is_open.any() and len(systems) < MOST:
        wanted = Counter(
            (choices[k].dependent, choices[k].rows)  # type: ignore[union-attr]
            for k in np.flatnonzero(is_open)
        )
        new = [(key, count) for key, count in wanted.most_common() if key not in tried]
        if not new:
            break
        (dependent, rows), _ = new[0]
        tried.add((dependent, rows))
        names = tuple(s.name for k, s in enumerate(system.speeds) if k not in dependent)
        other = system.in_speeds(names, rows, params[0])
        covered = _covered(other, t, q) & is_open
        if covered.any() and other not in systems:
            systems.append(other)
            is_open &= ~covered
    return BasisCover(systems=tuple(systems), uncovered=float(np.mean(is_open)))


def _covered(system: System, t: Array, q: Array) -> NDArray[np.bool_]:
    """(n,) whether configurations are well within a choice of speeds."""
    symbols = system.kinematics.symbols
    measures = ca.Function("h", [symbols.t, symbols.q, symbols.params], [basis_measures(system)])
    values = np.array(measures.map(len(t))(t[None, :], q.T, system.parameters()))
    return np.asarray(np.min(np.abs(values), axis=0, initial=np.inf) >= WITHIN)
