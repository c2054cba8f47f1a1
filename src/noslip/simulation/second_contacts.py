"""Search for second contacts: where a body is within its ground beside its contact.

A contact knows one pair of closest points. Whether a body touches its ground elsewhere too, as a
wheel does in a ditch that is narrower than it, no row shows. So after a run points all over the
surface (those of its picture) are put where they are at samples, and their clearance of the ground
is looked at. A second contact is seen once one of these points, a tenth of a radius apart, is
within the ground: a thousandth of the body's size deep on smooth ground, later on a sharp ridge.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.base import Array
from noslip.engines import System
from noslip.kinematics import parameter_reader, plane_pose
from noslip.model import AbstractContact, NumberReader

#: Samples that are looked at, evenly spaced, and the share of a body's size that counts as depth.
MOST, DEPTH = 64, 1e-6
#: Far from the contact, in sizes of the body, each third point along both parameters is looked at
#: first; all of them where one is closer to the ground than half of what lies between such points.
FAR, COARSE, CLOSE = 0.25, 3, 0.02


def second_contact_notes(system: System, t: Array, q: Array, values: Array) -> tuple[str, ...]:
    """A note for each contact on curved ground whose body is within its ground elsewhere.

    Parameters
    ----------
    system : that was run.
    t, q : (n,) s and (n, nq) samples.
    values : of the parameters.
    """
    contacts = [c for c in system.model.contacts if not c.is_flat]
    if not contacts or not len(t):
        return ()
    chosen = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST)).round().astype(int))
    read = NumberReader(system.model.parameter_values(values))
    notes = []
    for contact in contacts:
        found = _deepest(system, contact, t[chosen], q[chosen], values, read)
        if found is not None:
            when, depth, place = found
            x, y, z = place
            notes.append(
                f"contact '{contact.name}': beside its contact point the body is within its ground "
                f"at t = {when:.4g} s, {depth:.2g} m deep near ({x:.3g}, {y:.3g}, {z:.3g}): a "
                "second contact, which the model does not have"
            )
    return tuple(notes)


def _deepest(
    system: System, contact: AbstractContact, t: Array, q: Array, values: Array, read: NumberReader
) -> tuple[float, float, Array] | None:
    """Time, depth and place in the world at the first sample where a body is within its ground."""
    surface = contact.surface
    assert surface is not None
    net = surface.picture(read)
    marks = np.zeros(net.shape[:2], bool)
    marks[::COARSE, ::COARSE] = True
    points, is_coarse = net.reshape(-1, 3), marks.ravel()
    is_known = np.all(np.isfinite(points), axis=1)
    points, is_coarse = points[is_known], is_coarse[is_known]
    reach = float(ca.DM(ca.evalf(ca.SX(surface.reach(read)))))
    poses = np.array(_poses(system, contact).map(len(t))(t, q.T, np.tile(values, (len(t), 1)).T)).T
    R, R_ground = (poses[:, k : k + 9].reshape(-1, 3, 3) for k in (0, 9))  # transposed
    center, ground, touch = (poses[:, k : k + 3] for k in (18, 21, 24))
    world = points @ R + center[:, None]
    local = (world - ground[:, None]) @ R_ground.transpose(0, 2, 1)
    is_far = np.linalg.norm(world - touch[:, None], axis=2) > FAR * reach
    clearance = np.full(is_far.shape, np.inf)

    def look(where: NDArray[np.bool_]) -> None:
        found = contact.form.clearance(local[where], read)
        clearance[where] = np.where(np.isnan(found), np.inf, found)

    look(np.where(is_far, is_coarse, True))
    is_close = np.any(np.where(is_far, clearance, np.inf) < CLOSE * reach, axis=1)
    if is_close.any():
        look(is_far & is_close[:, None])
    deepest = clearance.min(axis=1)
    if not np.any(deepest < -DEPTH * reach):
        return None
    k = int(np.argmax(deepest < -DEPTH * reach))
    return float(t[k]), float(-deepest[k]), world[k, np.argmin(clearance[k])]


def _poses(system: System, contact: AbstractContact) -> ca.Function:
    """(t, q, params) → R of surface and ground by columns, their origins, and the contact point."""

    def make() -> ca.Function:
        middle = contact.wheel_center()
        assert middle is not None
        kin = system.kinematics
        symbols, tree = kin.symbols, kin.tree
        reader = parameter_reader(system.model, symbols.params)
        node = tree.nodes[tree.index(contact.body)]
        center = node.p_WB + ca.mtimes(node.R_WB, reader.vector(middle))
        R, p = plane_pose(contact.plane, tree, reader)
        trace = next(c for c in kin.contacts if c.contact.name == contact.name)
        parts = [node.R_WB, R, center, p, trace.point]
        output = ca.vertcat(*(ca.vec(ca.densify(ca.SX(x))) for x in parts))
        return ca.Function("poses", [symbols.t, symbols.q, symbols.params], [output])

    return system.cached(("poses of surface and ground", contact.name), make)
