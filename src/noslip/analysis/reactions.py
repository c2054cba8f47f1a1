"""Forces and torques at every joint and contact along a motion, in chosen axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.engines import System, require_system
from noslip.engines import compile as compile_system
from noslip.formulations import derive, unknown_wrenches
from noslip.kinematics import Kinematics
from noslip.model import NORMAL, SPIN, Model
from noslip.simulation import Trajectory, choose_bases, with_regular_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reaction:
    """Force and moment of a joint or a contact on a body, sampled.

    Parameters
    ----------
    name : name of the joint or contact.
    kind : ``joint`` or ``contact``.
    on : the body that the force acts on; the other side gets the opposite.
    axes : ``world``, ``body`` (of `on`) or ``contact`` (longitudinal, lateral, normal).
    point : (n, 3) where it acts, in the world, m.
    force : (n, 3), N.
    moment : (n, 3), N·m; of contacts about the normal, where a row holds their spin.
    note : reason why force and moment are NaN; empty if they are known.
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
    system : the system that was simulated, or drove the plant that was.
    run : the motion.
    axes : ``"world"``, ``"body"`` (axes of the body acted on), or ``"contact"`` (contacts along
        longitudinal, lateral and normal; joints in body axes).

    Raises
    ------
    SimulationError : for other axes, or a run of another model.
    """
    require_system("reactions", system)
    if axes not in ("world", "body", "contact"):
        raise SimulationError(
            f"there are no axes '{axes}'",
            f"reactions of model '{system.model.name}'",
            "use 'world', 'body' or 'contact'",
        )
    check_holds(run, "reactions(system, run)")
    system = simulated_system(system, run, "reactions(system, run)")
    return reactions_at(system, motion_of(system, run), axes)


class SampledMotion(NamedTuple):
    """States along a motion, or of many variants, as forces are computed from them.

    Parameters
    ----------
    t, q, v, inputs : (n,), (n, nq), (n, nv) and (n, nu).
    rest : (n, k) auxiliary states and work, behind the independent speeds.
    values : (np,) parameters, or (n, np).
    is_one : whether the samples are of one motion, whose largest force is the scale of all.
    """

    t: Array
    q: Array
    v: Array
    inputs: Array
    rest: Array
    values: Array
    is_one: bool = True

    def arguments(self, system: System) -> tuple[Array, Array, Array, Array]:
        """(t, x, inputs, parameters) of the samples, as a system's functions take them."""
        eta = system.kinematics.independent_values(self.t, self.q, self.v, self.values)
        return self.t, np.hstack([self.q, eta, self.rest]), self.inputs, self.values

    def parameters_of(self, k: int) -> Array:
        """(np,) parameters of one sample."""
        return self.values if self.values.ndim == 1 else self.values[k]

    def part(self, which: NDArray[np.int_]) -> SampledMotion:
        """Some of the samples."""
        t, q, v, inputs, rest = (x[which] for x in (self.t, self.q, self.v, self.inputs, self.rest))
        values = self.values if self.values.ndim == 1 else self.values[which]
        return SampledMotion(t, q, v, inputs, rest, values, self.is_one)


def assumed_contacts(model: Model) -> dict[str, str]:
    """State in which an analysis takes each contact that may slip or is only met."""
    return {
        c.name: "off" if c.is_met else "rolls"
        for c in model.contacts
        if c.is_met or c.coulomb().friction is not None
    }


def contact_lines(contacts: dict[str, str]) -> list[str]:
    """The line of a text that says of which contact states it speaks."""
    listed = ", ".join(f"{name} {state}" for name, state in contacts.items())
    return [f"  contacts   {listed}"] if listed else []


def contact_notes(model: Model) -> tuple[str, ...]:
    """The note that says in which contact states accelerations and reactions are."""
    found = assumed_contacts(model)
    names = ", ".join(f"'{name}'" for name, state in found.items() if state == "rolls")
    return (f"contacts that may slip are taken to roll: {names}",) if names else ()


def check_holds(run: Trajectory, where: str) -> None:
    """Refuse a run whose contacts did not hold, for what is computed as if they did."""
    if run.contact != "ideal":
        raise SimulationError(
            "the contacts of this run slide and lift by Coulomb's law, and what is asked is of "
            "contacts that hold",
            where,
            "read its columns, such as left.contact, left.load, left.grip and "
            "reaction.left.lateral, and run.contact_events",
        )


def simulated_system(system: System, run: Trajectory, where: str) -> System:
    """The system of a run: this one, or that of a plant with the same joints that it drove.

    Parameters
    ----------
    system : system that was simulated, or that a controller knew.
    run : run of it, or of a plant.
    where : place named in messages.

    Raises
    ------
    SimulationError : if the run is one of another mechanism.
    """
    if run.model == system.model:
        return system
    if run.model.joints != system.model.joints:
        one, other = run.model.name, system.model.name
        what = f"the run is of model '{one}' and the system of '{other}'"
        if one == other:
            what = f"the run is of a model '{one}' with other joints than that of the system"
        raise SimulationError(what, where, "pass the system that was simulated")

    def make() -> tuple[Model, System]:
        # the model is kept with it, so that no other has its id
        return run.model, compile_system(derive(run.model, system.equations.formulation))

    return system.cached(("system of a run", id(run.model)), make)[1]


def motion_of(system: System, run: Trajectory) -> SampledMotion:
    """The samples of a run, which must be one of this system."""
    if run.model != system.model:
        raise ValueError("motion_of takes the system of the run: simulated_system(system, run)")
    columns = [run[c.name][:, None] for c in system.auxiliary_states]
    if system.does_work:
        columns.append(run.work[:, None])
    return SampledMotion(
        t=run.t,
        q=run.q,
        v=run.v,
        inputs=np.ascontiguousarray(run.inputs),
        rest=np.hstack(columns) if columns else np.zeros((len(run.t), 0)),
        values=system.parameters(run.parameters),
    )


def reactions_at(system: System, run: SampledMotion, axes: str) -> tuple[Reaction, ...]:
    """The reactions along a sampled motion, as :func:`reactions` gives them."""
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
                note=kin.why_unplaced(unknown[joint.name]) if joint.name in unknown else "",
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
        # a row against spin holds a moment about the normal
        turning = np.zeros((n, 3))
        if f"{name}.{SPIN}" in index:
            turning[:, list(trace.directions).index(NORMAL)] = lam[:, index[f"{name}.{SPIN}"]]
        force, moment = parts, turning
        if axes != "contact":
            force, moment = (np.einsum("nj,njk->nk", x, frames[:, k, 1:]) for x in (parts, turning))
        if axes == "body":
            R = turn[trace.contact.body]
            force, moment = (np.einsum("nji,nj->ni", R, x) for x in (force, moment))
        result.append(
            Reaction(
                name=name,
                kind="contact",
                on=trace.contact.body,
                axes=axes,
                point=frames[:, k, 0],
                force=force,
                moment=moment,
            )
        )
    return tuple(result)


#: Functions of a system that no speeds enter.
OF_COORDINATES = ("poses", "contact_axes")


def sampled(system: System, run: SampledMotion, function: str) -> Array:
    """Evaluate a function of the system along a run, in other speeds where its own are singular.

    What no speeds determine is nan.
    """
    if run.values.ndim == 1:
        given = system.model.parameter_values(run.values)
        system = with_regular_rows(system, run.values, given)
    at = run.arguments(system)
    values: Array = getattr(system, function).map(*at)
    if function in OF_COORDINATES:
        return values
    bases = choose_bases(system, run.t, run.q, run.values, need="speeds")
    for here, which in bases.groups:
        if here is not system:
            values[which] = getattr(here, function).map(*run.part(which).arguments(here))
    values[list(bases.faults)] = np.nan
    return values


def unknown_notes(kin: Kinematics) -> tuple[str, ...]:
    """Joint wrenches that are not known, a sentence per reason."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for joint, rows in unknown_wrenches(kin).items():
        groups.setdefault(rows, []).append(f"'{joint}'")
    return tuple(
        f"{'the wrench of joint' if len(joints) == 1 else 'the wrenches of joints'} "
        f"{', '.join(joints)} {'is' if len(joints) == 1 else 'are'} not known: "
        f"{kin.why_unplaced(rows)}"
        for rows, joints in groups.items()
    )
