"""Forces of all contacts along a motion, with everything that equilibrium leaves open.

Equilibrium determines the forces f of the contacts up to a linear family,

    (1)  f = f₀ + D ζ,   ζ free

f₀ is the split of least norm. D has two sources. *Redundant rows*: Aᵀλ is determined, so λ is up to
Aᵀλ = 0; two wheels of one axle share their lateral force in any way. *Loads in a planar model*:
more than three wheels share what the planar joint holds; where the shared forces change what it
holds, the loads follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from noslip.analysis.audit_support import IN_LINE, Base, Unsupported
from noslip.analysis.reactions import reactions, sampled_states
from noslip.engines.system import Array, System
from noslip.kinematics.kinematics import Kinematics
from noslip.kinematics.tree import frame_pose
from noslip.model.contacts import LATERAL, LONGITUDINAL, NORMAL, Contact, KnifeEdge
from noslip.model.joints import Joint, Planar
from noslip.simulation.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContactForces:
    """Forces on the bodies along longitudinal, lateral and normal: the family (1).

    Parameters
    ----------
    contacts : c contacts, wheels and blades.
    load_from : contact → what its load is read from: ``row`` (its own normal row) or the name of a
        planar joint. Contacts whose load is not known are left out.
    unknown : wheel under a planar joint whose wrench is not known → why.
    is_valid : (samples,) whether the forces could be computed there; the arrays below have only the
        n samples where they could.
    least : (n, c, 3) f₀, N; NaN where a load is not known.
    family : (n, 3 c, k) D; its columns may depend on each other.
    unsupported : moments that planar joints hold and wheels cannot.
    """

    contacts: tuple[Contact, ...]
    load_from: dict[str, str]
    unknown: dict[str, str]
    is_valid: NDArray[np.bool_]
    least: Array
    family: Array
    unsupported: tuple[Unsupported, ...]


def contact_forces(system: System, run: Trajectory) -> ContactForces:
    """The forces of all contacts along a run, and what is left open in them."""
    kin = system.kinematics
    contacts = tuple(trace.contact for trace in kin.contacts)
    joints = [r for r in reactions(system, run) if r.kind == "joint"]
    parts = [r for r in reactions(system, run, axes="contact") if r.kind == "contact"]
    at = sampled_states(system, run)
    frames = system.contact_axes.map(*at).reshape(len(run.t), len(contacts), 4, 3)
    ok = _determines_motion(system, at)
    for numbers in (frames, *(r.force for r in (*joints, *parts) if not r.note)):
        ok &= np.all(np.isfinite(numbers.reshape(len(ok), -1)), axis=1)
    frames, n = frames[ok], int(np.sum(ok))
    least = np.array([r.force[ok] for r in parts]).reshape(len(contacts), n, 3)
    least = least.transpose(1, 0, 2).copy()
    shared = _shared_by_rows(system, run.t[ok], run.q[ok], at[3])
    rows = {row.name for row in kin.rows}
    load_from = {c.name: "row" for c in contacts if f"{c.name}.{NORMAL}" in rows}
    families, unsupported = [shared], []
    unknown: dict[str, str] = {}
    for node, joint in zip(kin.tree.nodes, joints, strict=False):
        carried = [k for k, c in enumerate(contacts) if _is_between(kin, node.joint, c)]
        under = [k for k in carried if _stands_under(kin, node.joint, contacts[k], at[3])]
        if joint.note:
            why = f"planar joint '{joint.name}' holds the wheels, and {joint.note}"
            unknown |= {contacts[k].name: why for k in under}
            load_from = {n: x for n, x in load_from.items() if n not in unknown}
            continue
        if not under:
            continue
        base = Base(
            joint=joint.name,
            wheels=tuple(contacts[k].name for k in under),
            frames=frames[:, under],
            point=joint.point[ok],
            force=joint.force[ok],
            moment=joint.moment[ok],
            length=kin.length,
        )
        loads, unheld = base.loads()
        least[:, under, 2] += loads
        shared[:, under, 2] += base.following_loads(shared[:, carried], frames[:, carried])
        free = np.zeros((n, len(contacts), 3, len(under)))
        free[:, under, 2] = base.open_loads()
        families.append(free)
        load_from |= dict.fromkeys(base.wheels, joint.name)
        if np.any(unheld):
            unsupported.append(base.unsupported(unheld))
    least[:, [k for k, c in enumerate(contacts) if c.name not in load_from], 2] = np.nan
    family = np.concatenate(families, axis=-1)
    return ContactForces(
        contacts=contacts,
        load_from=load_from,
        unknown=unknown,
        is_valid=ok,
        least=least,
        family=family.reshape(n, 3 * len(contacts), family.shape[-1]),
        unsupported=tuple(unsupported),
    )


def _determines_motion(system: System, at: tuple[Array, Array, Array, Array]) -> NDArray[np.bool_]:
    """(n,) whether the system's independent speeds determine the motion at each sample."""
    health = system.rates.map(*at)[:, system.num_states :]
    return np.all(np.abs(health) > np.array([h.limit for h in system.health]), axis=1)


def _shared_by_rows(system: System, t: Array, q: Array, params: Array) -> Array:
    """(n, c, 3, r) contact forces of the null space Aᵀλ = 0."""
    kin, n = system.kinematics, len(t)
    # a row that says nothing (a wheel's height under a planar joint) shares with nobody
    redundant = [r.row for r in kin.redundant if r.follows_from]
    rows = sorted([*kin.kept, *redundant])
    shared = np.zeros((n, len(kin.contacts), 3, len(redundant)))
    if not shared.size:
        return shared
    A = kin.probe.matrices(t, q, params)[:, rows]
    null = np.linalg.svd(A, full_matrices=True)[0][:, :, len(kin.kept) :]
    index = {kin.rows[row].name: k for k, row in enumerate(rows)}
    for k, trace in enumerate(kin.contacts):
        for j, part in enumerate((LONGITUDINAL, LATERAL, NORMAL)):
            name = f"{trace.contact.name}.{part}"
            if name in index:
                shared[:, k, j] = null[:, index[name]]
    return shared


def _is_between(kin: Kinematics, joint: Joint, contact: Contact) -> bool:
    """Whether a contact is between the parent of a joint and what the joint's child carries."""
    if contact.plane.body != joint.parent:
        return False
    k = kin.tree.index(contact.body)
    while k >= 0 and kin.tree.nodes[k].body.name != joint.child:
        k = kin.tree.nodes[k].parent
    return k >= 0


def _stands_under(kin: Kinematics, joint: Joint, contact: Contact, params: Array) -> bool:
    """Whether a contact is a wheel under a planar joint, on a plane parallel to the joint's."""
    if isinstance(contact, KnifeEdge) or not isinstance(joint.type, Planar):
        return False
    normals = [
        frame_pose(frame, kin.reader)[0][:, 2]
        for frame in (joint.parent_frame, contact.plane.frame)
    ]
    numbers = ca.Function("normals", [kin.symbols.params], normals)(params)
    of_joint, of_ground = (np.array(x).ravel() for x in numbers)
    return bool(np.linalg.norm(np.cross(of_joint, of_ground)) < IN_LINE)
