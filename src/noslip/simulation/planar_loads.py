"""Loads of wheels that stand under a planar joint, traced: which of them the ground would pull on.

A planar joint holds its child at a height and upright; with (2) of `analysis/contact_loads.py` the
wheels under it carry what it holds, E N = w. In coordinates (a, b) of the contact points along the
plane, a column of E is [1, a, b].

Three wheels that are not in line have one N. Of more, some split has no negative load if and only
if the three wheels of some triangle carry w without one (Carathéodory's theorem), so that

    (1)  σ = max over triangles of the least of its three loads

is not negative where the base stands. Where it is, no split holds it, and the loads are those of
springs K, N = K Eᵀ (E K Eᵀ)⁻¹ w, as the audit has them. The support of a wheel is the larger of σ
and its load N: negative where it would have to be pulled. Three wheels have no split: then it is
the load itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from itertools import combinations

import casadi as ca
import numpy as np

from noslip.algebra import cross, symmetric_solve
from noslip.engines import System
from noslip.formulations import unknown_wrenches

#: Triangles whose area, relative to the square of their extent, is smaller are lines.
FLAT = 1e-9
#: Least load of a triangle that is a line: it holds nothing.
NOTHING = -1e300


def planar_supports(system: System) -> dict[str, Callable[[], ca.SX]]:
    """Contact → its support, N, of all wheels whose planar joint needs three wheels and has them.

    Negative where the ground would have to pull on it.
    """
    return {
        name: partial(_support, system, joint, place)
        for joint, wheels in _bases(system).items()
        for place, name in enumerate(wheels)
    }


def is_shared(system: System, contact: str) -> bool:
    """Whether the load of a wheel under a planar joint is one of several splits."""
    return any(contact in wheels and len(wheels) > 3 for wheels in _bases(system).values())


def _bases(system: System) -> dict[int, list[str]]:
    """Planar joint, by its place in the tree → the wheels that stand under it."""

    def find() -> dict[int, list[str]]:
        kin, found = system.kinematics, {}
        if system.costates or not kin.contacts:
            return {}
        unknown = unknown_wrenches(kin)
        for j, node in enumerate(kin.tree.nodes):
            under = kin.wheels_under(node.joint, system.parameters())
            if len(under) > 2 and node.joint.name not in unknown and _spread(system, under):
                found[j] = [kin.contacts[k].contact.name for k in under]
        return found

    return system.cached("bases on wheels", find)


def _spread(system: System, under: list[int]) -> bool:
    """Whether wheels are in line at no generic configuration."""
    kin = system.kinematics
    points = ca.horzcat(*(kin.contacts[k].point for k in under))
    where = ca.Function("points", [kin.symbols.t, kin.symbols.q, kin.symbols.params], [points])
    for t, q in kin.probe.configurations():
        places = np.array(where(t, q, system.parameters()))
        sizes = np.linalg.svd(places - places.mean(axis=1, keepdims=True), compute_uv=False)
        if not sizes[1] > FLAT**0.5 * sizes[0]:
            return False
    return True


def _support(system: System, joint: int, place: int) -> ca.SX:
    supports: ca.SX = system.cached(("supports", joint), partial(_supports, system, joint))
    return supports[place]


def _supports(system: System, joint: int) -> ca.SX:
    """Supports of all wheels under a joint."""
    kin = system.kinematics
    names = [trace.contact.name for trace in kin.contacts]
    under = [names.index(name) for name in _bases(system)[joint]]
    axes = ca.vertsplit(system.output_expression("contact_axes"), 3)
    points = [axes[4 * k] for k in under]
    along, across, normal = axes[4 * under[0] + 1 : 4 * under[0] + 4]
    given = ca.vertsplit(system.output_expression("joint_wrenches"), 3)
    point, force, moment = given[3 * joint : 3 * joint + 3]
    middle = sum(points[1:], points[0]) / len(points)
    # a force at r along the normal has the moments n × (r, e) = (normal × e)·r about e
    level = [cross(normal, e) / kin.length for e in (along, across)]
    columns = [ca.vertcat(1, *(ca.dot(e, p - middle) for e in level)) for p in points]
    load = ca.dot(force, normal)
    arm = [ca.dot(e, point - middle) * load for e in level]
    held = [ca.dot(moment, e) / kin.length for e in (along, across)]
    w = ca.vertcat(load, arm[0] + held[0], arm[1] + held[1])
    best = [_least_load([columns[k] for k in corners], w) for corners in _triangles(len(under))]
    margin = reduce(ca.fmax, best)
    if len(under) == 3:
        return ca.vertcat(*_loads(columns, w))
    E, K = ca.horzcat(*columns), ca.diag(ca.vertcat(*_stiffness(system, under)))
    shares, _ = symmetric_solve(ca.mtimes([E, K, E.T]), w)
    return ca.fmax(margin, ca.mtimes([K, E.T, shares]))


def _triangles(count: int) -> list[tuple[int, ...]]:
    return list(combinations(range(count), 3))


def _loads(columns: list[ca.SX], w: ca.SX) -> list[ca.SX]:
    """Loads of three wheels by Cramer's rule."""
    over = ca.dot(columns[0], cross(columns[1], columns[2]))
    pairs = ((1, 2), (2, 0), (0, 1))
    return [ca.dot(w, cross(columns[i], columns[j])) / over for i, j in pairs]


def _least_load(columns: list[ca.SX], w: ca.SX) -> ca.SX:
    """Least load of three wheels; that of none where they are in line."""
    over = ca.dot(columns[0], cross(columns[1], columns[2]))
    sides = [columns[1] - columns[0], columns[2] - columns[0]]
    extent = sum(ca.dot(side, side) for side in sides)
    is_line = ca.fabs(over) <= FLAT * extent
    safe = ca.if_else(is_line, 1, over)
    pairs = ((1, 2), (2, 0), (0, 1))
    loads = [ca.dot(w, cross(columns[i], columns[j])) / safe for i, j in pairs]
    return ca.if_else(is_line, NOTHING, reduce(ca.fmin, loads))


def _stiffness(system: System, under: list[int]) -> list[ca.SX]:
    """Stiffness of wheels against load over their mean; ones if one has none."""
    kin = system.kinematics
    given = [kin.contacts[k].contact.load_stiffness() for k in under]
    if any(k is None for k in given):
        return [ca.SX(1)] * len(under)
    found = [ca.SX(kin.reader.scalar(k)) for k in given if k is not None]
    return [k * len(found) / sum(found) for k in found]
