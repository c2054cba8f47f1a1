"""Contact states, and a mechanism in each set of them.

Each contact *rolls* (all its rows hold), *slides* (its normal row holds, and friction by the load
of that row acts against the slip) or is *off* (no row holds). A set of contact states is a relative
of a `System`: the rows of what slides or is off are released, and slips along those of what slides
are independent speeds, so that K = [A; E] stays what it was.

The friction of a contact that slides is one force for all of that,

    (1)  F = −μ N D d,    d = D v/|D v|  free,  or  (cos φ, sin φ), φ = φ₀ + φ̇₀ (t − t₀)  guided

with D = diag(1, r) and r the friction across the heading by that along it,

guided where v is zero or nearly so: after slip has begun, along a single direction, and shortly
before it ends. Slips scaled by D and forces by D⁻¹ follow the law of equal friction in all
directions, in which decisions are made (`ContactNumbers.scaled`). Which of both, φ₀, φ̇₀ and t₀ are
parameters of a run, not code.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.engines import NativeFunction, System, compile_native, trace_program
from noslip.expressions import Scalar
from noslip.formulations import (
    applied_forces,
    inverse_dynamics,
    mass_matrix,
    row_rates,
)
from noslip.kinematics import trace
from noslip.model import (
    DISSIPATIVE,
    LATERAL,
    LONGITUDINAL,
    NORMAL,
    ZERO,
    AbstractContact,
    AbstractForce,
    AbstractRow,
    Model,
    Parameter,
    Quantity,
    joint_elements,
    number,
)

ROLLS, SLIDES, OFF = "rolls", "slides", "off"
#: Directions along the ground, in the order of all numbers here.
WAYS = (LONGITUDINAL, LATERAL)
PARTS = (NORMAL, *WAYS)

#: Parameters of a run for each contact, with what they are where nothing slides.
NUMBERS = {"slip_angle": 0.0, "slip_turn": 0.0, "slip_since": 0.0, "is_guided": 0.0, "gate": 1e-3}

#: m/s and m below zero at which a slip counts as ended and a gap as closed: rounding does not get
#: there.
STICK_SLACK, GAP_SLACK = 1e-12, 2e-14
#: First gate towards zero slip, and slip that is clear of it, where it began below, m/s.
FIRST_GATE, CLEAR = 1e-3, 1e-2
#: Least principal minor of 1 − Λ; nearer to zero, friction jams a contact that slides.
JAM = 1e-2
#: Slip of a contact by unit speeds that counts as zero: rounding of directions.
NO_MOTION = 1e-9
#: Contacts that slide together up to which all their principal minors are watched.
MOST_MINORS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactFriction(AbstractForce):
    """(1), with the energy that it takes as a state."""

    name: str
    contact: str
    friction: Scalar
    lateral: Scalar | None = None

    def states(self) -> tuple[Quantity, ...]:
        text = "energy that friction took"
        return (Quantity(name=f"{self.contact}.friction_loss", unit="J", description=text),)

    def apply(self, loads: Any) -> None:
        contact, read = loads.contact(self.contact), loads.read
        row = f"{self.contact}.{NORMAL}"
        ways = [w for w in contact.directions() if w in WAYS]
        if not ways or not loads.holds(row) or loads.holds(f"{self.contact}.{ways[0]}"):
            return
        moving = loads.sliding(contact)
        given = {key: read.scalar(f"{self.contact}.{key}") for key in NUMBERS}
        angle = given["slip_angle"] + given["slip_turn"] * (read.scalar("t") - given["slip_since"])
        guided, scale = given["is_guided"], dict(zip(WAYS, scales(self, read), strict=True))
        slips = {w: scale[w] * moving.slip[w] for w in ways}
        # where it is guided the root has no part in it, but must not be zero
        speed = ca.sqrt(sum((v**2 for v in slips.values()), ca.SX(0)) + guided)
        along = dict(zip(WAYS, (ca.cos(angle), ca.sin(angle)), strict=True))
        d = {w: guided * along[w] + (1 - guided) * slips[w] / speed for w in ways}
        load = contact.given_load()
        grip = read.scalar(self.friction) * (loads.load(row) if load is None else read.scalar(load))
        push(loads, contact, moving, {w: -grip * scale[w] * d[w] for w in ways})
        loads.evolve(
            f"{self.contact}.friction_loss",
            grip * sum((d[w] * slips[w] for w in ways), ca.SX(0)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FrictionLoss(AbstractForce):
    """Energy that a force of friction takes, as a state; it applies nothing."""

    name: str
    force: AbstractForce | AbstractRow
    state: str

    def states(self) -> tuple[Quantity, ...]:
        return (Quantity(name=self.state, unit="J", description="energy that friction took"),)

    def apply(self, loads: Any) -> None:
        taken = _TakenPower(loads)
        self.force.apply(taken)
        loads.evolve(self.state, taken.power)


class _TakenPower:
    """`Loads` to which nothing is applied: what forces that dissipate would take, W."""

    def __init__(self, loads: Any) -> None:
        self._loads, self.power = loads, ca.SX(0)

    def push(
        self, share: str, body: str, point: Any, force: Any, moment: Any = None, *,
        in_body: bool = False,
    ) -> None:  # fmt: skip
        if in_body:
            raise NotImplementedError("friction that is given in the axes of a body")
        _, v = self._loads.point(body, point)
        self._add(share, ca.dot(force, v))
        if moment is not None:
            self._add(share, ca.dot(moment, self._loads.turning(body)))

    def push_at(self, share: str, body: str, place: ca.SX, force: Any) -> None:
        p, v = self._loads.point(body, ZERO)
        self._add(share, ca.dot(force, v + ca.cross(self._loads.turning(body), place - p)))

    def along_speed(self, share: str, name: str, force: Any) -> None:
        self._add(share, force * self._loads.speed(name))

    def along_coordinate(self, share: str, name: str, force: Any) -> None:
        self._add(share, force * self._loads.read.scalar(f"rate({name})"))

    def store(self, energy: Any) -> None:
        """Friction stores nothing."""

    def grip(self, name: str, grip: Any) -> None:
        """Known from the force itself."""

    def _add(self, share: str, power: Any) -> None:
        if share == DISSIPATIVE:
            self.power -= power

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loads, name)


def _losses(model: Model, names: set[str]) -> tuple[FrictionLoss, ...]:
    """Losses of forces and rows with friction, beside those of some contacts."""
    found = []
    members: list[AbstractForce | AbstractRow] = [*model.forces, *model.rows]
    for one in members:
        if one.has_friction():
            name = one.name if one.name not in names else f"{one.name}.{one.word}"
            names.add(name)
            found.append(
                FrictionLoss(name=f"{name}.loss", force=one, state=f"{name}.friction_loss")
            )
    return tuple(found)


def push(loads: Any, contact: AbstractContact, moving: Any, forces: dict[str, Any]) -> None:
    """Apply forces along the ways of a contact to both bodies, or along the speed of a joint."""
    joint, speed = contact.joint
    if joint:
        loads.along_speed(DISSIPATIVE, speed, forces[LONGITUDINAL])
        return
    force = sum((f * moving.directions[w] for w, f in forces.items()), ca.SX.zeros(3))
    for body, sign in ((contact.body, 1.0), (contact.plane.body, -1.0)):
        loads.push_at(DISSIPATIVE, body, moving.point, sign * force)


def scales(law: ContactFriction, read: Any) -> tuple[ca.SX, ca.SX]:
    """D of (1)."""
    if law.lateral is None:
        return ca.SX(1), ca.SX(1)
    return ca.SX(1), read.scalar(law.lateral) / read.scalar(law.friction)


class Contact(NamedTuple):
    """What a run knows of a contact that may slide or lift."""

    name: str  #: name of the contact
    #: directions along the ground in which it holds where it rolls, 0 and 1 of `WAYS`
    ways: tuple[int, ...]
    lifts: bool  #: whether it has a normal row; a wheel under a planar joint has none
    #: axle, sign: contacts with the same number share their force along `way` as friction allows,
    #: each along its own direction or against it; −1: none
    axle: int = -1
    sign: float = 1.0
    #: way of `WAYS`, along which the contacts of an axle cannot move against each other
    way: int = 1

    @property
    def is_flat(self) -> bool:
        """Whether it slips along one direction only."""
        return len(self.ways) == 1


class Kit(NamedTuple):
    """Values of a mechanism in one set of contact states, as expressions."""

    #: (contact, what) → traced value that falls through zero where that state ends; a contact below
    #: zero stands for an axle, −2 − its number, or for all, −1
    guards: dict[tuple[int, str], ca.SX]
    #: slip along both ways, load, and force along both ways of each contact
    columns: ca.SX


class ContactNumbers(NamedTuple):
    """Numbers of all contacts at a state, whatever holds there.

    w = G x + w0 are normal, longitudinal and lateral accelerations of the contacts under forces x
    on them; of a wheel under a planar joint the first is its load less that of equilibrium.
    """

    #: M, h: mass matrix and forces on the tree speeds
    M: Array
    h: Array
    #: J, gamma, speeds: (3c, nv) rows of the contacts, their rates at v̇ = 0, and their values
    J: Array
    gamma: Array
    speeds: Array
    #: A, b: other rows, A v̇ = b
    A: Array
    b: Array
    gaps: Array  #: (c,) m
    #: loads, slopes: (c,) and (c, 3c) loads of wheels under planar joints, N₀ + Λ x
    loads: Array
    slopes: Array
    #: (nv, c) forces on the tree speeds for each load of one, of rolling resistance and pivoting
    #: friction; impulses have none
    carried: Array

    def pushes(self, rows: list[int]) -> Array:
        """(nv, r) forces on the tree speeds for forces of one along rows of the contacts."""
        found: Array = self.J[rows].T.copy()
        for place, row in enumerate(rows):
            if row % 3 == 0:
                found[:, place] += self.carried[:, row // 3]
        return found

    def scaled(self, ratio: Array) -> ContactNumbers:
        """Rows across the headings times r of (1), and forces there by it."""
        if np.all(ratio == 1.0):
            return self
        D = np.ones(3 * len(ratio))
        D[2::3] = ratio
        return self._replace(
            J=D[:, None] * self.J,
            gamma=D * self.gamma,
            speeds=D * self.speeds,
            slopes=self.slopes * D,
        )

    def response(self) -> tuple[Array, Array]:
        """a₀ and Ψ: v̇ = a₀ + Ψ f for forces f on the tree speeds, other rows held."""
        n, m = len(self.h), len(self.b)
        if not m:
            right = np.column_stack([np.eye(n), self.h])
            solved: Array = np.asarray(np.linalg.solve(self.M, right), dtype=float)
            return solved[:, n], solved[:, :n]
        K = np.block([[self.M, self.A.T], [self.A, np.zeros((m, m))]])
        right = np.zeros((n + m, n + 1))
        right[:n, :n] = np.eye(n)
        right[:n, n], right[n:, n] = self.h, self.b
        solved = np.asarray(np.linalg.lstsq(K, right, rcond=1e-13)[0], dtype=float)
        return solved[:n, n], solved[:n, :n]


class Coefficients(NamedTuple):
    """(c,) numbers of the contacts: μ of sliding and of what holds, r of (1), restitution."""

    friction: Array
    static: Array
    ratio: Array
    restitution: Array


#: Code of the probe, where its parts are and their shapes, rows that are none, number of z.
_ProbeCode = tuple[NativeFunction, list[tuple[slice, tuple[int, ...]]], list[int], int]


class ContactMechanism:
    """A mechanism whose contacts follow Coulomb's law, in any set of their states.

    Attributes
    ----------
    rolling : the system in which all contacts roll, with the parameters of a run beside its own.
    contacts : contacts that may slide or lift.
    """

    def __init__(self, system: System) -> None:
        model = system.model
        _check(system)
        names = {p.name for p in model.parameters}
        elements, replaced = joint_elements(model)
        # walls and stops that the model only meets have rows like all others here
        contacts = (*(c.met() for c in model.contacts), *elements)
        judged = [c for c in contacts if _is_judged(c)]
        extra = [
            Parameter(name=f"{c.name}.{key}", value=value, unit="1")
            for c in judged
            for key, value in NUMBERS.items()
        ]
        clash = [p.name for p in extra if p.name in names]
        if clash:
            raise SimulationError(
                f"a parameter is called '{clash[0]}', as a number of the contact is",
                f"model '{model.name}'",
                "rename it",
            )
        forces = tuple(
            ContactFriction(
                name=f"{c.name}.sliding",
                contact=c.name,
                friction=mu,
                lateral=c.coulomb().lateral_friction,
            )
            for c in judged
            if (mu := c.coulomb().friction) is not None
        )
        model = dataclasses.replace(
            model, forces=tuple(f for f in model.forces if f not in replaced)
        )
        #: Stops and bearings, which have no place in space.
        self.elements = tuple(element.name for element in elements)
        self.num_own = len(model.parameters)
        self.model: Model = dataclasses.replace(
            model,
            contacts=contacts,
            parameters=model.parameters + tuple(extra),
            forces=model.forces + forces + _losses(model, {f.contact for f in forces}),
            scenario=None,
        )
        formulation = system.equations.formulation
        self.is_met = {c.name for c in (*model.contacts, *elements) if c.is_met}
        apart = tuple(
            sorted(
                f"{c.name}.{way}"
                for c in contacts
                if c.name in self.is_met
                for way in c.directions()
            )
        )
        traced = trace(self.model, released=apart)
        self.rolling = System(equations=formulation.fill(traced), folded=system.folded)
        self._given_loads = {c.name: load for c in judged if (load := c.given_load()) is not None}
        self.contacts = self._described(judged)
        self._places = {p.name: k for k, p in enumerate(self.model.parameters)}

    def _described(self, judged: list[AbstractContact]) -> tuple[Contact, ...]:
        kin = self.rolling.kinematics
        rows = {row.name for k, row in enumerate(kin.rows) if k not in kin.self_satisfied}
        carried = set(self.rolling.equations.planar_wheels)
        axles = _axles(self.rolling, [c.name for c in judged])
        found = []
        for c in judged:
            row = f"{c.name}.{NORMAL}"
            if c.name in self.is_met:
                found.append(Contact(c.name, _free_ways(self.rolling, c), True))
                continue
            if row not in rows and c.name not in carried and c.given_load() is None:
                raise SimulationError(
                    f"contact '{c.name}' has friction and no load that is known",
                    f"contacts of model '{self.model.name}'",
                    "write normal = true at the contact, or let a planar joint stand on three "
                    "wheels that are not in line",
                )
            axle, sign, way = axles.get(c.name, (-1, 1.0, 1))
            ways = tuple(k for k, way in enumerate(WAYS) if f"{c.name}.{way}" in rows)
            found.append(Contact(c.name, ways, row in rows, axle, sign, way))
        return tuple(found)

    def values(self, given: Array) -> Array:
        """Parameters of a run: the model's, then its own."""
        extra = [p.value for p in self.model.parameters[self.num_own :]]
        return np.concatenate([given, extra])

    def place(self, contact: int, key: str) -> int:
        """Place of a number of a contact among the parameters."""
        return self._places[f"{self.contacts[contact].name}.{key}"]

    def coefficients(self, values: Array) -> Coefficients:
        """Coefficients of the contacts in numbers."""
        named = self.model.parameter_values(values)
        by_name = {c.name: c.coulomb() for c in self.model.contacts}
        rows = []
        for contact in self.contacts:
            law = by_name[contact.name]
            mu = 0.0 if law.friction is None else number(law.friction, named)
            static = mu if law.static_friction is None else number(law.static_friction, named)
            across = mu if law.lateral_friction is None else number(law.lateral_friction, named)
            if static < mu or across < 0.0 or (across != mu and mu <= 0.0):
                raise SimulationError(
                    f"contact '{contact.name}' has friction {mu:g}, static friction {static:g} "
                    f"and lateral friction {across:g}",
                    f"contacts of model '{self.model.name}'",
                    "give friction above zero, at least as much while it holds, and no negative "
                    "one",
                )
            ratio = across / mu if mu > 0.0 else 1.0
            rows.append([mu, static, ratio, number(law.restitution, named)])
        return Coefficients(*np.array(rows).T)

    def released(self, states: tuple[str, ...]) -> tuple[str, ...]:
        """Rows that do not hold in a set of contact states."""
        rows = []
        for contact, state in zip(self.contacts, states, strict=True):
            if state != ROLLS:
                rows += [f"{contact.name}.{WAYS[k]}" for k in contact.ways]
            if state == OFF:
                rows.append(f"{contact.name}.{NORMAL}")
        return tuple(rows)

    def system(self, states: tuple[str, ...]) -> System:
        """The mechanism in a set of contact states."""
        return self.rolling.in_contacts(self.released(states))

    def kit(self, system: System, states: tuple[str, ...]) -> Kit:
        """Guards and columns in a set of contact states, in the speeds of a system."""
        return system.cached(("contacts", states), lambda: self._make_kit(system, states))

    def _make_kit(self, system: System, states: tuple[str, ...]) -> Kit:
        kin, eq = system.kinematics, system.equations
        traces = {t.contact.name: t for t in kin.contacts}
        params = {p.name: kin.symbols.params[k] for k, p in enumerate(self.model.parameters)}
        rows = [row.name for row in kin.rows]
        guards: dict[tuple[int, str], ca.SX] = {}
        columns: list[ca.SX] = []
        axles: dict[int, list[tuple[ca.SX, ca.SX]]] = {}
        rolling = [c.axle for c, s in zip(self.contacts, states, strict=True) if s == ROLLS]
        laws = {c.name: c.coulomb() for c in self.model.contacts}
        frictions = {f.contact: f for f in self.model.forces if isinstance(f, ContactFriction)}
        for k, (contact, state) in enumerate(zip(self.contacts, states, strict=True)):
            found = traces[contact.name]
            slip = [kin.at_speeds(found.slip[way]) for way in WAYS]
            if state == OFF:
                guards[k, "lands"] = found.height + GAP_SLACK
                columns += [*slip, ca.SX(0), ca.SX(0), ca.SX(0)]
                continue
            law, given_load = frictions.get(contact.name), self._given_loads.get(contact.name)
            if given_load is None:
                load = eq.contact_load(contact.name)
            else:
                load = kin.reader.scalar(given_load)
            mu = static = ca.SX(0) if law is None else kin.reader.scalar(law.friction)
            scale = (ca.SX(1), ca.SX(1)) if law is None else scales(law, kin.reader)
            if (holds := laws[contact.name].static_friction) is not None:
                static = kin.reader.scalar(holds)
            force = [ca.SX(0), ca.SX(0)]
            given = {key: params[f"{contact.name}.{key}"] for key in NUMBERS}
            if state == ROLLS:
                for w in contact.ways:
                    force[w] = eq.multipliers[rows.index(f"{contact.name}.{WAYS[w]}")]
                room = (static * load) ** 2
                if contact.ways and contact.axle >= 0 and rolling.count(contact.axle) > 1:
                    way, other = contact.way, 1 - contact.way
                    room -= (force[other] / scale[other]) ** 2
                    shared = contact.sign * force[way] / scale[way]
                    axles.setdefault(contact.axle, []).append((room, shared))
                    if other in contact.ways:
                        guards[k, "slips"] = room
                elif contact.ways:
                    guards[k, "slips"] = room - sum(
                        (f / s) ** 2 for f, s in zip(force, scale, strict=True)
                    )
            elif contact.ways:
                guided, angle = given["is_guided"], given["slip_angle"]
                angle += given["slip_turn"] * (kin.symbols.t - given["slip_since"])
                d, along = [ca.cos(angle), ca.sin(angle)], ca.SX(0)
                size = sum(((scale[w] * slip[w]) ** 2 for w in contact.ways), ca.SX(0))
                for w in contact.ways:
                    along += d[w] * scale[w] * slip[w]
                    free = (1 - guided) * scale[w] * slip[w] / ca.sqrt(size + guided)
                    force[w] = -mu * load * scale[w] * (guided * d[w] + free)
                # without friction nothing grips
                grips = guided * (along + STICK_SLACK) + (1 - guided)
                guards[k, "grips"] = ca.if_else(mu > 0, grips, 1)
                if not contact.is_flat:
                    speed, gate = ca.sqrt(size + guided), given["gate"]
                    clears = ca.if_else(gate < FIRST_GATE, CLEAR - speed, 1)
                    guards[k, "clears"] = ca.if_else(mu > 0, (1 - guided) * clears + guided, 1)
                    near = speed - gate
                    guards[k, "nears"] = ca.if_else(mu > 0, (1 - guided) * near + guided, 1)
            if given_load is None:
                guards[k, "lifts"] = load
            columns += [*slip, load, *force]
        for axle, parts in axles.items():
            room = sum((ca.sqrt(ca.fmax(r, 0)) for r, _ in parts), ca.SX(0))
            guards[-2 - axle, "slips"] = room - ca.fabs(sum((f for _, f in parts), ca.SX(0)))
        jam = _least_minor(system)
        if jam is not None:
            guards[-1, "jams"] = jam - JAM
        return Kit(guards, ca.vertcat(ca.SX(0, 1), *columns))

    def probe(
        self, t: float, q: Array, v: Array, z: Array, u: Array, values: Array
    ) -> ContactNumbers:
        """All contacts at a state in numbers."""
        if self._probe is None:
            self._probe = self.rolling.cached("probe", self._make_probe)
        function, places, stuck, num_z = self._probe
        found = function(t, np.concatenate([q, v, z[:num_z]]), u, values)
        probe = ContactNumbers(*(found[k].reshape(shape, order="F") for k, shape in places))
        if stuck:
            probe.J[stuck] = 0.0
        return probe

    def independent_values(
        self, system: System, t: Array, q: Array, v: Array, values: Array
    ) -> Array:
        """η (n, nf) of a relative, by native code: E(t, q) v."""

        def make() -> NativeFunction:
            kin = system.kinematics
            s = kin.symbols
            given = (s.t, ca.vertcat(s.q, s.v), ca.SX(0, 1), s.params)
            program = trace_program("eta", given, ca.densify(ca.mtimes(kin.E, s.v)))
            return compile_native([program])["eta"]

        if not len(t) or not system.independent_speeds:
            return np.zeros((len(t), len(system.independent_speeds)))
        none = np.zeros((len(t), 0))
        return system.cached("eta", make).map(t, np.hstack([q, v]), none, values)

    _probe: _ProbeCode | None = None

    def _make_probe(self) -> _ProbeCode:
        planar = tuple(OFF if contact.lifts else SLIDES for contact in self.contacts)
        # what presses along the ground below a planar joint changes the loads there
        pushes = ca.SX.sym("pushes", 3 * len(self.contacts))
        loads_of = {
            f"{contact.name}.{NORMAL}": ca.SX.sym(f"load of {contact.name}")
            for contact in self.contacts
        }
        own: list[AbstractForce] = [
            _UnderLoads(name=f.name, force=f, given=loads_of)
            for f in self.model.forces
            if not isinstance(f, ContactFriction | FrictionLoss)
        ]
        own += [
            _Push(
                name=f"{contact.name}.push",
                contact=contact.name,
                force=pushes[3 * k + 1 : 3 * k + 3],
            )
            for k, contact in enumerate(self.contacts)
            if not contact.lifts
        ]
        model = dataclasses.replace(self.model, forces=tuple(own))
        kin = trace(model, released=self.released(planar))
        s, nv, c = kin.symbols, kin.num_speeds, len(self.contacts)
        traces = {t.contact.name: t for t in kin.contacts}
        forces = applied_forces(kin)
        # in the tree speeds themselves, which every set of states has
        back = [kin.eta], [ca.mtimes(kin.E, s.v)]
        # forces that depend on loads of other rows than contacts' are left out of decisions
        h = ca.substitute([forces.Q], [forces.load_symbols], [0 * forces.load_symbols])[0]
        h = h + ca.mtimes(forces.B, kin.acting_inputs)
        h = h - inverse_dynamics(kin, ca.SX.zeros(nv))
        given_loads = ca.vertcat(ca.SX(0, 1), *loads_of.values())
        velocities = ca.vertcat(
            ca.SX(0, 1), *(traces[k.name].slip[p] for k in self.contacts for p in PARTS)
        )
        at = ca.vertcat(s.q, s.t, s.w)
        along = ca.vertcat(ca.mtimes(kin.N, s.v), ca.SX(1), s.wdot)
        gaps = ca.vertcat(ca.SX(0, 1), *(traces[k.name].height for k in self.contacts))
        loads = ca.SX.zeros(c)
        if not all(contact.lifts for contact in self.contacts):
            eq = self.rolling.equations.formulation.fill(kin)
            for k, contact in enumerate(self.contacts):
                given_load = self._given_loads.get(contact.name)
                if given_load is not None:
                    loads[k] = kin.reader.scalar(given_load)
                elif not contact.lifts:
                    loads[k] = eq.contact_load(contact.name)
        slopes = ca.jacobian(loads, pushes)
        slopes[:, ::3] += ca.jacobian(loads, given_loads)
        parts = [
            mass_matrix(kin),
            h,
            ca.jacobian(velocities, s.v),
            ca.jtimes(velocities, at, along),
            velocities,
            kin.independent_A,
            -row_rates(kin),
            gaps,
            loads,
            slopes,
            ca.jacobian(h, given_loads),
        ]
        num = len(kin.row_basis)
        sizes: list[tuple[int, ...]] = [
            (nv, nv), (nv,), (3 * c, nv), (3 * c,), (3 * c,), (num, nv), (num,), (c,), (c,),
            (c, 3 * c), (nv, c),
        ]  # fmt: skip
        flat = ca.vertcat(*(ca.vec(ca.densify(ca.SX(part))) for part in parts))
        flat = ca.substitute([flat], *back)[0]
        still = ca.vertcat(pushes, given_loads)
        flat = ca.substitute([flat], [still], [ca.SX.zeros(still.shape)])[0]
        given = (s.t, ca.vertcat(s.q, s.v, s.z), ca.vertcat(s.u, s.w, s.wdot), s.params)
        program = trace_program("probe", given, ca.densify(self.rolling.fold(flat)))
        stuck = [
            3 * k + 1 + w
            for k, contact in enumerate(self.contacts)
            for w in range(2)
            if w not in contact.ways
        ]
        stuck += [3 * k for k, contact in enumerate(self.contacts) if not contact.lifts]
        ends = np.cumsum([0, *(int(np.prod(size)) for size in sizes)])
        places = [
            (slice(a, b), size) for a, b, size in zip(ends[:-1], ends[1:], sizes, strict=True)
        ]
        return compile_native([program])["probe"], places, stuck, s.z.shape[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Push(AbstractForce):
    """A force at a contact along the ground, by symbols."""

    name: str
    contact: str
    force: ca.SX

    def apply(self, loads: Any) -> None:
        contact = loads.contact(self.contact)
        moving = loads.sliding(contact)
        push(loads, contact, moving, {w: self.force[k] for k, w in enumerate(WAYS)})


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnderLoads(AbstractForce):
    """A force, with loads of contacts by symbols."""

    name: str
    force: AbstractForce
    given: dict[str, ca.SX]

    def states(self) -> tuple[Quantity, ...]:
        return self.force.states()

    def pressed(self) -> tuple[str, ...]:
        return self.force.pressed()

    def apply(self, loads: Any) -> None:
        self.force.apply(_GivenLoads(loads, self.given))


class _GivenLoads:
    """`Loads` with the loads of some rows by symbols."""

    def __init__(self, loads: Any, given: dict[str, ca.SX]) -> None:
        self._loads, self._given = loads, given

    def load(self, row: str) -> ca.SX:
        return self._given[row] if row in self._given else self._loads.load(row)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loads, name)


def _free_ways(system: System, contact: AbstractContact) -> tuple[int, ...]:
    """Directions along the ground in which a contact can move at all, of those that it holds."""
    kin = system.kinematics
    found = next(t for t in kin.contacts if t.contact.name == contact.name)
    ways = [k for k, way in enumerate(WAYS) if way in contact.directions()]
    if not ways:
        return ()
    s = kin.symbols
    slips = ca.vertcat(*(found.slip[WAYS[k]] for k in ways))
    rows = ca.Function("ways", [s.t, s.q, s.params], [ca.jacobian(slips, s.v)])
    size = np.zeros(len(ways))
    for t, q in kin.probe.configurations(3):
        size = np.maximum(size, np.abs(np.array(rows(t, q, kin.probe.params))).max(axis=1))
    return tuple(k for k, most in zip(ways, size, strict=True) if most > NO_MOTION)


def _is_judged(contact: AbstractContact) -> bool:
    """Whether a contact follows Coulomb's law: it has friction, or a load and nothing to hold."""
    ways = [d for d in contact.directions() if d != NORMAL]
    return contact.coulomb().friction is not None or (NORMAL in contact.directions() and not ways)


def _check(system: System) -> None:
    """Refuse what no contact state can be chosen for."""
    where = f"contacts of model '{system.model.name}'"
    if system.costates:
        raise SimulationError(
            "vakonomic equations have costates in place of forces, and no friction",
            where,
            "use a formulation that follows d'Alembert's principle",
        )
    contacts = [*(c.met() for c in system.model.contacts), *joint_elements(system.model)[0]]
    for contact in contacts:
        if contact.is_wheel and not _is_judged(contact):
            raise SimulationError(
                f"contact '{contact.name}' has no friction, by which it would slide",
                where,
                f"write friction = … at contact '{contact.name}', a number of zero or more",
            )
    if not any(_is_judged(c) for c in contacts):
        raise SimulationError(
            "no contact has friction or may lift",
            where,
            "write friction = … at its rolling contacts, or limits = … at joints, or leave out "
            'contact="coulomb"',
        )


def _axles(system: System, names: list[str]) -> dict[str, tuple[int, float, int]]:
    """Contact → number of the axle whose force along a way it shares, its sign there, the way.

    Two contacts that cannot move against each other along their lateral or their longitudinal
    directions, as wheels of an axle or feet of a body, leave open who of them holds what.
    """
    kin = system.kinematics
    index = {row.name: k for k, row in enumerate(kin.rows)}
    found: dict[str, tuple[int, float, int]] = {}
    t, q = kin.probe.configurations(1)[0]
    matrix, _ = kin.probe.matrix(q, t)
    for group, redundancy in enumerate(kin.redundant):
        rows = [kin.rows[redundancy.row].name, *redundancy.follows_from]
        owners = [row.rpartition(".")[0] for row in rows]
        ways = {row.rpartition(".")[2] for row in rows}
        if len(rows) != 2 or len(ways) != 1 or not ways <= set(WAYS):
            continue
        way = WAYS.index(ways.pop())
        if not set(owners) <= set(names):
            continue
        one, other = (matrix[index[row]] for row in rows)
        axle, sign, known = found.get(owners[1], (group, 1.0, way))
        if known != way or found.get(owners[0], (axle, 1.0, way))[0] != axle:
            continue
        found[owners[1]] = axle, sign, way
        found[owners[0]] = axle, sign * float(np.sign(one @ other)), way
    return found


def _least_minor(system: System) -> ca.SX | None:
    """Least principal minor of 1 − Λ, one more than which changes its sign where friction jams."""
    closure = system.equations.closure
    if closure is None or len(closure.rows) > MOST_MINORS:
        return None
    n, symbols = len(closure.rows), system.kinematics.symbols
    minors = [
        ca.det(closure.matrix[list(some), list(some)])
        for size in range(1, n + 1)
        for some in itertools.combinations(range(n), size)
    ]
    minors = [m for m in minors if ca.depends_on(m, ca.vertcat(symbols.q, symbols.t))]
    if not minors:
        return None
    least = minors[0]
    for minor in minors[1:]:
        least = ca.fmin(least, minor)
    return least
