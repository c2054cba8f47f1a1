"""Forces and torques at every joint and contact along a motion, in chosen axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.formulations.reactions import unknown_wrenches, why_unknown
from noslip.simulation.request import with_regular_rows
from noslip.simulation.trajectory import Trajectory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reaction:
    """Force and moment of a joint or a contact on a body, sampled.

    Parameters
    ----------
    name : of the joint or contact.
    kind : ``joint`` or ``contact``.
    on : the body that the force acts on; the other side gets the opposite.
    axes : ``world``, ``body`` (of `on`) or ``contact`` (longitudinal, lateral, normal).
    point : (n, 3) where it acts, in the world, m.
    force : (n, 3), N.
    moment : (n, 3), N·m; zero for contacts.
    note : why force and moment are NaN, where they are not known; else empty.
    """

    name: str
    kind: str
    on: str
    axes: str
    point: Array
    force: Array
    moment: Array
    note: str = ""


def reactions(system: System, run: Trajectory, *, axes: str = "world") -> tuple[Reaction, ...]:
    """Compute wrenches of all joints and forces of all contacts along a motion.

    Of joints between the world and a body whose speed is in a row written by hand no wrench is
    known, unless the row says where it acts; their `note` says so.

    Parameters
    ----------
    system : the system that was simulated.
    run : the motion.
    axes : ``"world"``, ``"body"`` (axes of the body acted on), or ``"contact"`` (contacts along
        longitudinal, lateral and normal; joints in body axes).

    Raises
    ------
    SimulationError : for other axes, or a run of another model.
    """
    if axes not in ("world", "body", "contact"):
        raise SimulationError(
            f"there are no axes '{axes}'",
            f"reactions of model '{system.model.name}'",
            "use 'world', 'body' or 'contact'",
        )
    if run.model != system.model:
        raise SimulationError(
            f"the run is of model '{run.model.name}' and the system of '{system.model.name}'",
            "reactions(system, run)",
            "pass the system that was simulated",
        )
    kin, n = system.kinematics, len(run.t)
    poses = sampled(system, run, "poses").reshape(n, -1, 12)
    turn = {
        node.body.name: poses[:, k, :9].reshape(n, 3, 3) for k, node in enumerate(kin.tree.nodes)
    }
    result: list[Reaction] = []
    joints = [*(node.joint for node in kin.tree.nodes), *kin.tree.loops]
    unknown = unknown_wrenches(kin)
    wrenches = sampled(system, run, "joint_wrenches").reshape(n, -1, 3, 3)
    for k, joint in enumerate(joints):
        point, force, moment = (wrenches[:, k, j] for j in range(3))
        if axes != "world":
            R = turn[joint.child]
            force, moment = (np.einsum("nji,nj->ni", R, x) for x in (force, moment))
        result.append(
            Reaction(
                name=joint.name,
                kind="joint",
                on=joint.child,
                axes="world" if axes == "world" else "body",
                point=point,
                force=force,
                moment=moment,
                note=why_unknown(kin, unknown[joint.name]) if joint.name in unknown else "",
            )
        )
    lam = sampled(system, run, "multipliers")
    index = {row.name: k for k, row in enumerate(kin.rows)}
    frames = sampled(system, run, "contact_axes").reshape(n, -1, 4, 3)
    for k, trace in enumerate(kin.contacts):
        name = trace.contact.name
        parts = np.zeros((n, 3))
        for j, part in enumerate(trace.directions):
            if f"{name}.{part}" in index:
                parts[:, j] = lam[:, index[f"{name}.{part}"]]
        force = parts if axes == "contact" else np.einsum("nj,njk->nk", parts, frames[:, k, 1:])
        if axes == "body":
            force = np.einsum("nji,nj->ni", turn[trace.contact.body], force)
        result.append(
            Reaction(
                name=name,
                kind="contact",
                on=trace.contact.body,
                axes=axes,
                point=frames[:, k, 0],
                force=force,
                moment=np.zeros((n, 3)),
            )
        )
    return tuple(result)


def sampled(system: System, run: Trajectory, function: str) -> Array:
    """Evaluate a function of the system along a run, in other speeds where its own are singular."""
    system = with_regular_rows(system, system.parameters(run.parameters), run.parameters)
    at = sampled_states(system, run)
    values = getattr(system, function).map(*at)
    health = system.rates.map(*at)[:, system.num_states :]
    floors = [h.floor if h.kind == "basis" else -np.inf for h in system.singularity_measures]
    for k in np.flatnonzero(~np.all(np.abs(health) >= np.array(floors), axis=1)):
        (other,) = system.regular_at(run.t[k : k + 1], run.q[k : k + 1], at[3][None])
        if other is None or other is system:
            continue
        nq, nf = len(system.coordinates), len(system.independent_speeds)
        eta = other.kinematics.independent_rows(run.t[k], run.q[k], at[3]) @ run.v[k]
        x = np.concatenate([run.q[k], eta, at[1][k][nq + nf :]])
        values[k] = getattr(other, function)(float(run.t[k]), x, at[2][k], at[3])
    return values


def sampled_states(system: System, run: Trajectory) -> tuple[Array, Array, Array, Array]:
    """(t, x, inputs, parameters) of a run's samples, as the system's functions take them."""
    values = system.parameters(run.parameters)
    eta = system.kinematics.independent_values(run.t, run.q, run.v, values)
    columns = [run.q, eta]
    columns += [run[c.name][:, None] for c in system.auxiliary_states]
    if system.does_work:
        columns.append(run.work[:, None])
    return run.t, np.hstack(columns), np.ascontiguousarray(run.inputs), values
