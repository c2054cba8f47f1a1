"""Forces and torques at every joint and contact along a motion, in chosen axes.

**Forces of all contacts along a motion, with everything that equilibrium leaves open.**

Equilibrium determines the forces f of the contacts up to a linear family,

    (1)  f = f₀ + D ζ,   ζ free

f₀ is the split of least norm, with loads by (3). D has two sources. *Redundant rows*: Aᵀλ is
determined, so λ is up to Aᵀλ = 0; two wheels of one axle share their lateral force in any way.
*Loads in a planar model*: more than three wheels share what the planar joint holds; where the
shared forces change what it holds, the loads follow.

**Loads under a planar joint.** The joint holds its child at a height and upright. What it supplies
for that is what the ground supplies through the wheels that stand on it. With n the normal of the
ground, F and M the joint's force and moment on its child at its point p_J, and p_i the contact
points,

    (2)  Σ N_i = F·n,    Σ (p_i − p_J) × n N_i = M − (M·n) n

Three contacts that are not in line determine the loads N_i; more leave a family; fewer cannot hold
every moment. The wheels' in-plane forces act at the ground and the joint is above it: their moment
is already part of M, as are weight and inertia. An in-plane force of the joint is that of a motor
or a prescribed motion; it acts at p_J and is nothing that the ground must supply.

**Loads that statics leaves open**, of a planar joint or of redundant normal rows. f₀ has those of a
rigid base on springs that push and do not pull, with K the wheels' stiffnesses,

    (3)  min Σ N_i²/K_i   over (1) with unchanged in-plane forces and all N_i ≥ 0

K = 1 where not all have one. Without a wheel that lifts, N = K Eᵀ μ with E the matrix of (2): loads
in proportion to stiffness times how far the base sinks there. Where no split has all loads
nonnegative, they are those without that condition.

**Tires.** What a tire pushes is given by its law and not shared: it is added to f₀ of the contact
that holds its wheel up. A tire without such a contact stands for itself, with its law's load.

**Splits that count.** Of the family (1) only splits count in which no wheel is pulled down or works
against the others: loads are not negative, and no other force has the sign opposite to its
least-norm value (two wheels of one axle carry anything between none and all of its side force). The
extreme splits are corners of this set: those in which as few wheels as possible carry everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noslip.base import Array, SimulationError
from noslip.engines import System, require_system
from noslip.engines import compile as compile_system
from noslip.formulations import derive, unknown_wrenches
from noslip.kinematics import Kinematics
from noslip.model import LATERAL, LONGITUDINAL, NORMAL, SPIN, AbstractContact, Model, number
from noslip.simulation import Trajectory, choose_bases, with_regular_rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reaction:
    """Force and moment of a joint or a contact on a body, sampled."""

    name: str  #: name of the joint or contact
    kind: str  #: ``joint`` or ``contact``
    on: str  #: the body that the force acts on; the other side gets the opposite
    axes: str  #: ``world``, ``body`` (of `on`) or ``contact`` (longitudinal, lateral, normal)
    point: Array  #: (n, 3) where it acts, in the world, m
    force: Array  #: (n, 3), N
    moment: Array  #: (n, 3), N·m; of contacts about the normal, where a row holds their spin
    note: str = ""  #: reason why force and moment are NaN; empty if they are known


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
    return reactions_at(system, SampledMotion.of(system, run), axes)


class SampledMotion(NamedTuple):
    """States along a motion, or of many variants, as forces are computed from them."""

    #: t, q, v, inputs: (n,), (n, nq), (n, nv) and (n, nu)
    t: Array
    q: Array
    v: Array
    inputs: Array
    rest: Array  #: (n, k) auxiliary states and work, behind the independent speeds
    values: Array  #: (np,) parameters, or (n, np)
    #: whether the samples are of one motion, whose largest force is the scale of all
    is_one: bool = True

    @classmethod
    def of(cls, system: System, run: Trajectory) -> SampledMotion:
        """The samples of a run, which must be one of this system (:func:`simulated_system`)."""
        if run.model != system.model:
            raise ValueError("the system is not that of the run: simulated_system(system, run)")
        columns = [run[c.name][:, None] for c in system.auxiliary_states]
        if system.does_work:
            columns.append(run.work[:, None])
        return cls(
            t=run.t,
            q=run.q,
            v=run.v,
            inputs=np.ascontiguousarray(run.inputs),
            rest=np.hstack(columns) if columns else np.zeros((len(run.t), 0)),
            values=system.parameters(run.parameters),
        )

    def arguments(self, system: System) -> tuple[Array, Array, Array, Array]:
        """(t, x, inputs, parameters) of the samples, as a system's functions take them."""
        eta = system.kinematics.independent_values(self.t, self.q, self.v, self.values)
        return self.t, np.hstack([self.q, eta, self.rest]), self.inputs, self.values

    def outputs(self, system: System, function: str) -> Array:
        """Evaluate a function of the system, in other speeds where its own are singular.

        What no speeds determine is nan.
        """
        if self.values.ndim == 1:
            given = system.model.parameter_values(self.values)
            system = with_regular_rows(system, self.values, given)
        at = self.arguments(system)
        values: Array = getattr(system, function).map(*at)
        if function in OF_COORDINATES:
            return values
        bases = choose_bases(system, self.t, self.q, self.values, need="speeds")
        for here, which in bases.groups:
            if here is not system:
                values[which] = getattr(here, function).map(*self.part(which).arguments(here))
        values[list(bases.faults)] = np.nan
        return values

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


def reactions_at(system: System, run: SampledMotion, axes: str) -> tuple[Reaction, ...]:
    """The reactions along a sampled motion, as :func:`reactions` gives them."""
    kin, n = system.kinematics, len(run.t)
    poses = run.outputs(system, "poses").reshape(n, -1, 12)
    turn = {
        node.body.name: poses[:, k, :9].reshape(n, 3, 3) for k, node in enumerate(kin.tree.nodes)
    }
    result: list[Reaction] = []
    joints = [*(node.joint for node in kin.tree.nodes), *kin.tree.loops]
    unknown = unknown_wrenches(kin)
    wrenches = run.outputs(system, "joint_wrenches").reshape(n, -1, 3, 3)
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
    lam = run.outputs(system, "multipliers")
    index = {row.name: k for k, row in enumerate(kin.rows)}
    frames = run.outputs(system, "contact_axes").reshape(n, -1, 4, 3)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledGrip:
    """What a force that slides, such as a tire, takes of its plane, sampled."""

    name: str  #: name of the force
    body: str  #: body that it acts on
    #: the contact that holds its wheel up, to whose forces it is added; empty for none
    contact: str
    #: (n, 3) longitudinal, lateral and, by its own law, normal, N; NaN for a load it has not
    forces: Array
    use: Array  #: (n,) fraction of its own limit; NaN without one
    slide: Array  #: (n,) sliding speed, m/s


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContactForces:
    """Forces on the bodies along longitudinal, lateral and normal: the family (1)."""

    contacts: tuple[AbstractContact, ...]  #: c contacts, wheels and blades
    #: contact → what its load is read from: ``row`` (its own normal row) or the name of a planar
    #: joint. Contacts whose load is not known are left out.
    load_from: dict[str, str]
    unknown: dict[str, str]  #: wheel under a planar joint whose wrench is not known → why
    #: (samples,) whether the forces could be computed there; the arrays below have only the n
    #: samples where they could
    is_valid: NDArray[np.bool_]
    least: Array  #: (n, c, 3) f₀, N; NaN where a load is not known
    family: Array  #: (n, 3 c, k) D; its columns may depend on each other
    unsupported: tuple[Unsupported, ...]  #: moments that planar joints hold and wheels cannot
    #: tires and other forces that slide; those of a contact are in `least`
    grips: tuple[SampledGrip, ...] = ()


def contact_forces(system: System, run: Trajectory) -> ContactForces:
    """Compute the forces of all contacts along a run, and the family that is left open."""
    check_holds(run, "contact_forces(system, run)")
    system = simulated_system(system, run, "contact_forces(system, run)")
    return contact_forces_at(system, SampledMotion.of(system, run))


def contact_forces_at(system: System, run: SampledMotion) -> ContactForces:
    """The forces of all contacts at sampled states, as :func:`contact_forces` gives them."""
    kin = system.kinematics
    contacts = tuple(trace.contact for trace in kin.contacts)
    joints = [r for r in reactions_at(system, run, "world") if r.kind == "joint"]
    parts = [r for r in reactions_at(system, run, "contact") if r.kind == "contact"]
    at = run.arguments(system)
    frames = system.contact_axes.map(*at).reshape(len(run.t), len(contacts), 4, 3)
    held = _grips(system, run, contacts)
    ok = np.ones(len(run.t), bool)
    ok[list(choose_bases(system, run.t, run.q, run.values).faults)] = False
    pushes = [grip.forces[:, :2] for grip in held]
    for numbers in (frames, *pushes, *(r.force for r in (*joints, *parts) if not r.note)):
        ok &= np.all(np.isfinite(numbers.reshape(len(ok), -1)), axis=1)
    frames, n = frames[ok], int(np.sum(ok))
    least = np.array([r.force[ok] for r in parts]).reshape(len(contacts), n, 3)
    least = least.transpose(1, 0, 2).copy()
    held = tuple(replace(g, forces=g.forces[ok], use=g.use[ok], slide=g.slide[ok]) for g in held)
    names = [c.name for c in contacts]
    for grip in held:
        if grip.contact:
            least[:, names.index(grip.contact), :2] += grip.forces[:, :2]
    values = run.values if run.values.ndim == 1 else run.values[ok]
    first = run.parameters_of(0)
    shared = _shared_by_rows(system, run.t[ok], run.q[ok], values)
    rows = {row.name for row in kin.rows}
    load_from = {c.name: "row" for c in contacts if f"{c.name}.{NORMAL}" in rows}
    families, unsupported = [shared], []
    unknown: dict[str, str] = {}
    for node, joint in zip(kin.tree.nodes, joints, strict=False):
        carried = [k for k, c in enumerate(contacts) if kin.is_between(node.joint, c)]
        under = kin.wheels_under(node.joint, first)
        if joint.note:
            why = f"planar joint '{joint.name}' holds the wheels, and {joint.note}"
            unknown |= {contacts[k].name: why for k in under}
            load_from = {n: x for n, x in load_from.items() if n not in unknown}
            continue
        if not under:
            continue
        base = WheelSupport(
            joint=joint.name,
            wheels=tuple(contacts[k].name for k in under),
            frames=frames[:, under],
            point=joint.point[ok],
            force=joint.force[ok],
            moment=joint.moment[ok],
            length=kin.length,
            is_one_motion=run.is_one,
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
    for source in dict.fromkeys(load_from.values()):
        of_source = [k for k, c in enumerate(contacts) if load_from.get(c.name) == source]
        stiffness = _stiffness(system, [contacts[k] for k in of_source], values)
        share_loads(least, family, of_source, stiffness)
    return ContactForces(
        contacts=contacts,
        load_from=load_from,
        unknown=unknown,
        is_valid=ok,
        least=least,
        family=family.reshape(n, 3 * len(contacts), family.shape[-1]),
        unsupported=tuple(unsupported),
        grips=held,
    )


def _grips(
    system: System, run: SampledMotion, contacts: tuple[AbstractContact, ...]
) -> tuple[SampledGrip, ...]:
    """What tires and other forces that slide take of their planes."""
    given = system.equations.forces.grips
    if not given:
        return ()
    numbers = run.outputs(system, "grips").reshape(len(run.t), len(given), 5)
    found = []
    for k, (name, grip) in enumerate(given.items()):
        place = _place(grip.contact)
        of = [c.name for c in contacts if place[1] is not None and _place(c) == place]
        found.append(
            SampledGrip(
                name=name,
                body=grip.contact.body,
                contact=of[0] if of else "",
                forces=numbers[:, k, :3],
                use=numbers[:, k, 3],
                slide=numbers[:, k, 4],
            )
        )
    return tuple(found)


def _place(contact: AbstractContact) -> tuple[object, ...]:
    """Body, center and ground by which a tire is found to be that of a contact."""
    return contact.body, contact.wheel_center(), contact.plane


def _shared_by_rows(system: System, t: Array, q: Array, params: Array) -> Array:
    """(n, c, 3, r) contact forces of the null space Aᵀλ = 0."""
    kin, n = system.kinematics, len(t)
    # a row that says nothing (a wheel's height under a planar joint) shares no force
    redundant = [r.row for r in kin.redundant if r.follows_from]
    rows = sorted([*kin.row_basis, *redundant])
    shared = np.zeros((n, len(kin.contacts), 3, len(redundant)))
    if not shared.size:
        return shared
    A = kin.probe.matrices(t, q, params)[:, rows]
    null = np.linalg.svd(A, full_matrices=True)[0][:, :, len(kin.row_basis) :]
    index = {kin.rows[row].name: k for k, row in enumerate(rows)}
    for k, trace in enumerate(kin.contacts):
        for j, part in enumerate((LONGITUDINAL, LATERAL, NORMAL)):
            name = f"{trace.contact.name}.{part}"
            if name in index:
                shared[:, k, j] = null[:, index[name]]
    return shared


def _stiffness(system: System, contacts: list[AbstractContact], params: Array) -> Array:
    """(m,) or (n, m) stiffness of wheels against load over their mean; ones if one has none."""
    if params.ndim > 1:
        rows, which = np.unique(params, axis=0, return_inverse=True)
        return np.array([_stiffness(system, contacts, row) for row in rows])[which.ravel()]
    values = system.model.parameter_values(params)
    given = [c.load_stiffness() for c in contacts]
    found = [number(k, values) for k in given if k is not None]
    if len(found) < len(contacts):
        return np.ones(len(contacts))
    return np.array(found) / np.mean(found)


def share_loads(least: Array, family: Array, wheels: list[int], stiffness: Array) -> None:
    """Write the loads of (3) into f₀."""
    roots = np.broadcast_to(np.sqrt(stiffness), (len(least), len(wheels)))
    for forces, directions, W in zip(least, family, roots, strict=True):
        loads = forces[wheels, 2]
        if not np.all(np.isfinite(loads)):
            continue
        # of the family what changes these loads and nothing else
        others = np.ones(forces.shape, dtype=bool)
        others[wheels, 2] = False
        free = directions[wheels, 2] @ _null_space(directions[others])
        u, sizes, _ = np.linalg.svd(free / W[:, None], full_matrices=False)
        Q = u[:, sizes > UNCOUPLED]
        if not Q.shape[1]:
            continue
        # without the condition on the sign, then as a problem of least distance
        y = loads / W - Q @ (Q.T @ (loads / W))
        if np.any(W * y < -SMALL * np.max(np.abs(loads))):
            y = y + Q @ _least_distance(W[:, None] * Q, -W * y)
        forces[wheels, 2] = W * y


def _null_space(rows: Array) -> Array:
    """Orthonormal columns that the rows do not see."""
    _, sizes, v = np.linalg.svd(rows, full_matrices=True)
    rank = int(np.sum(sizes > UNCOUPLED))
    return np.asarray(v[rank:].T)


def _least_distance(G: Array, h: Array) -> Array:
    """The shortest x with G x ≥ h, by nonnegative least squares; zero where there is none.

    [LawsonHanson1974, chapter 23].
    """
    from scipy.optimize import nnls

    size = float(np.max(np.abs(h)))
    E = np.vstack([G.T, h / size])
    f = np.eye(1, len(E), len(E) - 1)[0]
    dual, miss = nnls(E, f)
    if miss <= UNCOUPLED:
        return np.zeros(G.shape[1])
    r = E @ dual - f
    return np.asarray(-size * r[:-1] / r[-1])


#: Contacts whose spread across a line is smaller than this (relative) are in line.
IN_LINE = 1e-6
#: A moment smaller than this, relative to the load times the length of the model, is zero.
BALANCED = 1e-9

_CASTER = "a contact with longitudinal = false and lateral = false"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unsupported:
    """A moment that a planar joint holds and the wheels under it cannot."""

    joint: str  #: the planar joint
    wheels: tuple[str, ...]  #: the contacts that stand on its plane
    about: str  #: the axis of the moment, in words
    fix: str  #: addition to the model that determines the load
    moment: Array  #: (n,) N·m; zero where the wheels hold all of it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WheelSupport:
    """The wheels that stand under one planar joint."""

    joint: str  #: name of the joint
    wheels: tuple[str, ...]  #: names of the m contacts
    #: (n, m, 4, 3) contact points, longitudinal, lateral and normal directions, in the world
    frames: Array
    #: point, force, moment: (n, 3) wrench of the joint on its child, in world axes
    point: Array
    force: Array
    moment: Array
    length: float  #: length of the model, to compare moments with forces, m
    is_one_motion: bool = True  #: whether the largest load of all samples is the scale of each

    @property
    def _middle(self) -> Array:
        return self.frames[:, :, 0].mean(axis=1)

    def _held(self, force: Array, moment: Array) -> Array:
        """(n, 3, r) sides of (2) of forces and moments (n, 3, r) at p_J, over the length.

        Moments are taken about the middle of the contacts, where (2) is best conditioned.
        """
        # the plane's directions are those of the first wheel
        longitudinal, lateral, normal = (self.frames[:, 0, j] for j in (1, 2, 3))
        load = np.einsum("nkr,nk->nr", force, normal)
        arm = np.cross(self.point - self._middle, normal)
        moment = moment + arm[:, :, None] * load[:, None]
        rows = [np.einsum("nkr,nk->nr", moment, e) / self.length for e in (longitudinal, lateral)]
        return np.stack([load, *rows], axis=1)

    def _equilibrium(self) -> Array:
        """(n, 3, m) matrix of (2)."""
        normal = self.frames[:, :, 3]
        moment = np.cross(self.frames[:, :, 0] - self.point[:, None], normal)
        return self._held(normal.transpose(0, 2, 1), moment.transpose(0, 2, 1))

    def _inverse(self) -> Array:
        """(n, m, 3) solution of (2) of least norm."""
        return np.asarray(np.linalg.pinv(self._equilibrium(), rcond=IN_LINE), dtype=np.float64)

    def loads(self) -> tuple[Array, Array]:
        """(n, m) loads of least norm, NaN where a moment is not held; that moment, (n,) N·m."""
        needed = self._held(self.force[..., None], self.moment[..., None])
        loads = self._inverse() @ needed
        missing = (needed - self._equilibrium() @ loads)[..., 0]
        largest = np.max(np.abs(needed), axis=(1, 2), initial=0.0)
        if self.is_one_motion:
            largest = np.max(largest, initial=0.0)
        tolerance = BALANCED * largest
        is_held = np.linalg.norm(missing, axis=1) <= tolerance
        unheld = self.length * np.linalg.norm(missing[:, 1:], axis=1)
        return np.where(is_held[:, None], loads[..., 0], np.nan), np.where(is_held, 0.0, unheld)

    def open_loads(self) -> Array:
        """(n, m, m) columns that span the loads which (2) leaves open."""
        return np.eye(len(self.wheels)) - self._inverse() @ self._equilibrium()

    def following_loads(self, shared: Array, frames: Array) -> Array:
        """(n, m, r) loads that go with forces shared between contacts of this base."""
        force = np.einsum("ncjr,ncjk->nckr", shared, frames[:, :, 1:])
        arm = frames[:, :, 0] - self.point[:, None]
        moment = np.cross(arm[..., None], force, axisa=2, axisb=2, axisc=2)
        return -self._inverse() @ self._held(force.sum(axis=1), moment.sum(axis=1))

    def unsupported(self, moment: Array) -> Unsupported:
        """The moment that is not held in words, and what to add."""
        worst = int(np.argmax(moment))
        points = self.frames[worst, :, 0]
        _, spread, directions = np.linalg.svd(points - self._middle[worst], full_matrices=False)
        line = directions[0]
        longitudinal, lateral = self.frames[worst, 0, 1:3]
        names = [f"'{name}'" for name in self.wheels]
        listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
        if spread[0] <= IN_LINE * self.length:
            about = (
                f"both horizontal axes (pitch and roll) at the only place it stands on, {listed}"
            )
            fix = f"add two wheels not in line with it: a track width and a caster ({_CASTER})"
        elif abs(line @ lateral) > 0.9:
            about = f"the line through {listed} (pitch)"
            fix = f"add a wheel ahead of that axle or behind it, such as a caster ({_CASTER})"
        elif abs(line @ longitudinal) > 0.9:
            about = f"the line through {listed} (roll)"
            fix = "add a track width: two wheels side by side in place of one"
        else:
            about = f"the line through {listed}"
            fix = f"add a wheel beside that line, such as a caster ({_CASTER})"
        return Unsupported(
            joint=self.joint, wheels=self.wheels, about=about, fix=fix, moment=moment
        )


#: Forces below this, relative to the largest one of their sample, are rounding.
SMALL = 1e-9
#: Couplings in the family below this are rounding.
UNCOUPLED = 1e-7
#: Forces that can reach this many times the least-norm ones have no bound, and are looked for among
#: sums of forces up to the second number of times.
UNBOUNDED, FAR = 1e3, 1e6
#: The best split is searched among forces up to this many times the least-norm ones, to this
#: relative accuracy.
REACH, ACCURACY = 20.0, 1e-9


def independent_directions(family: Array) -> Array:
    """(n, f, k) orthonormal columns that span the family; zero columns where it is smaller."""
    U, s, _ = np.linalg.svd(family, full_matrices=False)
    is_there = s > UNCOUPLED
    k = int(np.max(np.sum(is_there, axis=1), initial=0))
    return U[:, :, :k] * is_there[:, None, :k]


def split_ranges(least: Array, directions: Array, is_load: NDArray[np.bool_]) -> Array:
    """(n, f, 2) least and largest value of every force over the splits that count.

    NaN where no split has all loads nonnegative; infinite where wheels can be squeezed against each
    other without limit.
    """
    ranges = np.stack([least, least], axis=-1)
    small = rounding(least)
    for block in _components(_coupling(directions)):
        U = independent_directions(directions[:, block])
        ranks = np.sum(np.any(U != 0, axis=1), axis=1)
        is_known = np.all(np.isfinite(least[:, block]), axis=1)
        for rank in set(ranks.tolist()) - {0}:
            at = np.ix_(np.flatnonzero(is_known & (ranks == rank)), np.array(block))
            of = at[0][:, 0]
            ranges[at] = _corner_ranges(least[at], U[of, :, :rank], is_load[block], small[of])
    return ranges


def _coupling(directions: Array) -> NDArray[np.bool_]:
    """(f, f) which forces are shared with which: where the projector on the family is not zero."""
    projector = directions @ directions.transpose(0, 2, 1)
    return np.max(np.abs(projector), axis=0, initial=0.0) > UNCOUPLED


def _components(is_coupled: NDArray[np.bool_]) -> list[list[int]]:
    """Groups of a symmetric relation; what is not even related to itself is in none."""
    left = {k for k in range(len(is_coupled)) if is_coupled[k, k]}
    groups = []
    while left:
        group: set[int] = set()
        reached = {min(left)}
        while reached:
            group |= reached
            reached = {j for k in reached for j in left if is_coupled[k, j]} - group
        left -= group
        groups.append(sorted(group))
    return groups


def _corner_ranges(
    least: Array, directions: Array, is_load: NDArray[np.bool_], small: Array
) -> Array:
    """(n, m, 2) ranges of one group of shared forces, from the corners of its splits."""
    (n, m), k = least.shape, directions.shape[2]
    scale, tolerance = np.max(np.abs(least), axis=1), small[:, None]
    # sign · force ≥ 0; a force that the least-norm split does not use is not used
    sign = np.where(is_load, 1.0, np.where(np.abs(least) <= tolerance, 0.0, np.sign(least)))
    # a last face, far away, closes the set where it has no bound: Σ sign · force ≤ FAR · scale
    total, far = np.einsum("nm,nmk->nk", sign, directions), FAR * scale
    faces = np.concatenate([directions, total[:, None]], axis=1)
    reach = np.concatenate([-least, (far - np.sum(sign * least, axis=1))[:, None]], axis=1)
    low, high = np.full((n, m), np.inf), np.full((n, m), -np.inf)
    for chosen in combinations(range(m + 1), k):
        face = faces[:, chosen]
        is_corner = np.abs(np.linalg.det(face)) > SMALL
        face = np.where(is_corner[:, None, None], face, np.eye(k))
        corner = least + (directions @ np.linalg.solve(face, reach[:, chosen, None]))[..., 0]
        outside = np.where(sign == 0, np.abs(corner), -sign * corner)
        counts = is_corner & np.all(outside <= tolerance, axis=1)
        low = np.where(counts[:, None], np.minimum(low, corner), low)
        high = np.where(counts[:, None], np.maximum(high, corner), high)
    ranges = np.stack([low, high], axis=-1)
    is_empty = low > high
    # what lies on a face is zero but for rounding, what lies on the far one has no bound
    ranges[np.abs(ranges) <= tolerance[..., None]] = 0.0
    is_far = np.abs(ranges) > UNBOUNDED * scale[:, None, None]
    ranges = np.where(is_far, np.copysign(np.inf, ranges), ranges)
    return np.where(is_empty[..., None], np.nan, ranges)


def least_friction(least: Array, directions: Array, is_wheel: NDArray[np.bool_]) -> Array:
    """(n,) friction coefficient that the best split needs: no smaller one holds every wheel.

    It is that of the wheels with known loads, and NaN without any. A wheel without a known load
    takes those that share forces with it out.
    """
    n, c, _ = least.shape
    by_contact = directions.reshape(n, c, 3, directions.shape[2])
    shared = _coupling(directions).reshape(c, 3, c, 3).any(axis=(1, 3)) | np.eye(c, dtype=bool)
    needed = np.full(n, np.nan)
    for group in _components(shared):
        wheels = [k for k in group if is_wheel[k]]
        if not wheels:
            continue
        of_wheels = by_contact[:, wheels].reshape(n, 3 * len(wheels), directions.shape[2])
        U = independent_directions(of_wheels)
        known = np.flatnonzero(np.all(np.isfinite(least[:, wheels]), axis=(1, 2)))
        best = _best_split(
            least[known][:, wheels], U[known].reshape(len(known), len(wheels), 3, U.shape[2])
        )
        needed[known] = np.fmax(needed[known], best)
    return needed


def _best_split(least: Array, directions: Array) -> Array:
    """(n,) least over ζ of the largest |F_t| / N of the wheels, F_t and N affine in ζ.

    Where the largest ratio is below a given number is a convex set of ζ, so that every gradient
    cuts off a half of the candidates: bisection for one ζ, the ellipsoid method for more.
    """
    n, _, _, k = directions.shape
    best = np.max(friction_demand(least), axis=1, initial=0.0)
    if not k or not n:
        return best
    radius = REACH * np.linalg.norm(least.reshape(n, -1), axis=1)
    # candidates are center + J y, |y| ≤ 1; a cut g·(ζ − center) ≤ 0 leaves the smallest such set
    center, J = np.zeros((n, k)), radius[:, None, None] * np.eye(k)
    grown = k / np.sqrt(k**2 - 1) if k > 1 else 1.0
    shrunk = np.sqrt((k - 1) / (k + 1)) if k > 1 else 0.5
    for _ in range(int(2 * k * (k + 1) * np.log(REACH / ACCURACY))):
        forces = least + np.einsum("nwjk,nk->nwj", directions, center)
        demand = friction_demand(forces)
        best = np.minimum(best, np.max(demand, axis=1))
        g = np.einsum("nji,nj->ni", J, _rising(forces, demand, directions))
        length = np.linalg.norm(g, axis=1, keepdims=True)
        g = np.divide(g, length, out=np.zeros_like(g), where=length > 0)
        Jg = np.einsum("nij,nj->ni", J, g)
        center = center - Jg / (k + 1)
        cut = grown * (J + (shrunk - 1) * Jg[:, :, None] * g[:, None, :])
        J = np.where(length[..., None] > 0, cut, J)
    return best


def _rising(forces: Array, demand: Array, directions: Array) -> Array:
    """(n, k) gradient in ζ of the worst wheel: the one most lifted, or of largest demand."""
    load = forces[..., 2]
    worst = np.where(np.min(load, axis=1) <= 0, np.argmin(load, axis=1), np.argmax(demand, axis=1))
    each = np.arange(len(forces))
    f, slope = forces[each, worst], directions[each, worst]
    # ∂/∂ζ of (|F_t| / N)², times N³ / 2
    along = np.einsum("nj,njk->nk", f[:, :2], slope[:, :2])
    of_demand = f[:, 2:] * along - np.sum(f[:, :2] ** 2, axis=1)[:, None] * slope[:, 2]
    return np.where(f[:, 2:] <= 0, -slope[:, 2], of_demand)


def friction_demand(forces: Array) -> Array:
    """(n, c) |F_t| / N of forces (n, c, 3): infinite for a force without load, or 0 without one."""
    size, load = np.hypot(forces[..., 0], forces[..., 1]), forces[..., 2]
    small = rounding(forces)[:, None]
    without = np.where(size <= small, 0.0, np.inf)
    demand = np.divide(size, load, out=without, where=load > small)
    return np.where(np.isnan(size + load), np.nan, demand)


def rounding(forces: Array) -> Array:
    """(n,) threshold below which a force of the samples (n, …) is rounding error, N."""
    sizes = np.where(np.isfinite(forces), np.abs(forces), 0.0)
    return np.asarray(SMALL * np.max(sizes, axis=tuple(range(1, forces.ndim)), initial=0.0))
