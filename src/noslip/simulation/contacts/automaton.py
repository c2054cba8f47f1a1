"""Contact states of a motion: chosen at its start, and at each event anew.

At an event all guards that are zero together count. What lands strikes; then a consistent set of
states is chosen from the accelerations (`decisions`). A contact that rolls slips only where no
split of the forces holds, which its guard says; it begins to slip along the force that it can no
longer take. There v/|v| has no value: d is guided, with its computed rate of turning, for a time in
which slip grows, then free. Towards zero slip, which a free direction meets with a turn ever
faster, it is guided again from a gate on, at which the slip across it can no longer grow beyond the
tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.base import Array
from noslip.simulation.contacts import decisions
from noslip.simulation.contacts.decisions import ClosedContact, ContactChoice
from noslip.simulation.contacts.impacts import gains, held, strike
from noslip.simulation.contacts.states import (
    FIRST_GATE,
    OFF,
    ROLLS,
    SLIDES,
    ContactMechanism,
    ContactNumbers,
)

#: Height below which a contact touches, m, and speeds along and towards the ground that count as 0.
TOUCHES, STILL = 1e-9, 1e-10
#: Slower bounces, 5e-14 m high, are none: they end what would bounce without end, m/s.
BOUNCE = 1e-6
#: Least gate towards zero slip; each is a tenth of the one before, m/s.
LEAST_GATE = 1e-10
#: Slip that may grow across a direction while it is held, m/s.
ACROSS = 1e-12
#: Shortest and longest time for which a direction is guided where slip begins, s.
ONSET = (1e-4, 1e-2)
#: Events within so little time are simultaneous, relative to sizes of their values.
TOGETHER = 1e-10


class State(NamedTuple):
    """A state in tree speeds: time, q, v, states of forces and inputs."""

    t: float
    q: Array
    v: Array
    z: Array
    u: Array


class Changed(NamedTuple):
    """What an event made of a motion."""

    #: states, v: contact states and tree speeds from here on
    states: tuple[str, ...]
    v: Array
    loss: float = 0.0  #: energy that an impact took, J
    snapped: float = 0.0  #: energy that went with slips below what is resolved, J


class Stuck(Exception):
    """No motion continues; the sentence says why."""


class Automaton:
    """Contact states of one motion.

    Attributes
    ----------
    values : parameters of the run, with the numbers of directions of slip.
    onset : contact → until when its direction is guided, s.
    """

    def __init__(
        self,
        mechanism: ContactMechanism,
        values: Array,
        tolerances: tuple[float, float],
        near: Callable[[tuple[str, ...], float, Array, Array], State],
    ) -> None:
        self.mechanism, self.values, self._near = mechanism, values, near
        rtol, atol = tolerances
        self.law = mechanism.coefficients(values)
        self.mu, self.e = self.law.friction, self.law.restitution
        self.onset: dict[int, float] = {}
        self._gates: dict[int, float] = {}
        # what the integration does not resolve is not looked at
        self._least_gate, self._across = max(LEAST_GATE, 100 * atol), max(ACROSS, atol)
        self.still = max(STILL, 10 * atol)
        self._guided_for = min(max(rtol ** (1 / 3), ONSET[0]), ONSET[1])

    def probe(self, at: State) -> ContactNumbers:
        """All contacts at a state in numbers, scaled where friction depends on the direction."""
        known, numbers = self._probed
        if known is None or known.t != at.t or not _is_same(known, at):
            found = self.mechanism.probe(at.t, at.q, at.v, at.z, at.u, self.values)
            numbers = found.scaled(self.law.ratio)
            self._probed = at, numbers
        assert numbers is not None
        return numbers

    #: The last state that was looked at; a decision looks at one several times.
    _probed: tuple[State | None, ContactNumbers | None] = (None, None)
    _responded: tuple[ContactNumbers | None, tuple[Array, Array] | None] = (None, None)

    def begin(self, at: State, states: tuple[str, ...]) -> Changed:
        """States at the start: what touches is decided, what falls on the ground strikes it."""
        contacts, probe, v, loss = self.mechanism.contacts, self.probe(at), at.v, 0.0
        touching = [
            k
            for k, contact in enumerate(contacts)
            if not contact.lifts or abs(probe.gaps[k]) < TOUCHES
        ]
        below = [
            contacts[k].name
            for k, gap in enumerate(probe.gaps)
            if contacts[k].lifts and gap < -TOUCHES
        ]
        if below:
            raise Stuck(f"contact '{below[0]}' starts below its ground")
        landing = [k for k in touching if contacts[k].lifts and probe.speeds[3 * k] < -self.still]
        if landing:
            v, loss = self._strike(probe, v, landing, touching)
            at = at._replace(v=v)
            probe = self.probe(at)
        closed = [
            k for k in touching if not contacts[k].lifts or abs(probe.speeds[3 * k]) <= self.still
        ]
        prefer = {k: states[k] for k in closed if states[k] != OFF}
        chosen = self._choose(at, closed, {}, prefer, tuple(ROLLS for _ in contacts))
        v, more = held(self.probe(at), v, contacts, chosen)
        return Changed(chosen, v, loss, more)

    def ended_onsets(self, at: State) -> bool:
        """Let directions of slip be free whose time of guidance is over; whether there are some."""
        over = [k for k, until in self.onset.items() if until <= at.t + 1e-15]
        for k in over:
            del self.onset[k]
            if not self.mechanism.contacts[k].is_flat:
                slip = self.probe(at).speeds[3 * k + 1 : 3 * k + 3]
                self._free(k, float(np.linalg.norm(slip)))
        return bool(over)

    def handle(
        self,
        at: State,
        states: tuple[str, ...],
        triggers: list[tuple[int, str]],
        columns: Array,
        vdot: Array,
    ) -> Changed:
        """What the guards that have fallen make of the motion."""
        contacts, kinds = self.mechanism.contacts, dict(triggers)
        if -1 in kinds:
            sliding = [c.name for c, s in zip(contacts, states, strict=True) if s == SLIDES]
            raise Stuck(
                f"friction jams {_listed(sliding)}: the least principal minor of 1 − Λ has fallen "
                "to 0.01, so that no finite load soon balances the friction it causes "
                "(Painlevé's paradox)"
            )
        self._at = at
        planar = [k for k, what in triggers if what == "lifts" and not contacts[k].lifts]
        if planar:
            raise Stuck(
                f"contact '{contacts[planar[0]].name}' lifts off, and its planar joint cannot "
                "follow: give the base a free joint and its wheels normal rows"
            )
        probe, v, loss = self.probe(at), at.v, 0.0
        for k in [k for k, what in triggers if what == "clears"]:
            slip = probe.speeds[3 * k + 1 : 3 * k + 3]
            self._free(k, float(np.linalg.norm(slip)))
        triggers = [x for x in triggers if x[1] != "clears"]
        if not triggers:
            return Changed(states, v)
        gates = [k for k, what in triggers if what == "nears"]
        if gates and len(gates) == len(triggers):
            for k in gates:
                self._pass_gate(k, probe, vdot)
            return Changed(states, v)
        closed = [k for k, state in enumerate(states) if state != OFF]
        prefer = {k: states[k] for k in closed}
        forced: dict[int, Array] = {}
        landing = [k for k, what in triggers if what == "lands"]
        if landing:
            v, loss = self._strike(probe, v, landing, closed)
            probe = self.probe(at._replace(v=v))
            # a body that rocks to rest bounces on one foot after the other
            slow = [
                k for k in {*closed, *landing} if contacts[k].lifts and probe.speeds[3 * k] < BOUNCE
            ]
            if any(probe.speeds[3 * k] > self.still for k in slow):
                rest = tuple(SLIDES if k in slow else OFF for k in range(len(contacts)))
                v, more = held(probe, v, contacts, rest)
                loss += more
                probe = self.probe(at._replace(v=v))
            both = sorted({*closed, *landing})
            closed = [k for k in both if probe.speeds[3 * k] <= self.still or not contacts[k].lifts]
            prefer = {}
        for k, what in triggers:
            if what == "lifts" and k in closed and k not in landing:
                closed.remove(k)
            elif what == "slips":
                axle = -2 - k
                slipping = [k]
                if k < 0:
                    slipping = [
                        j for j, c in enumerate(contacts) if c.axle == axle and states[j] == ROLLS
                    ]
                for j in slipping:
                    if self.law.static[j] > self.mu[j]:
                        # friction drops, and slip begins along its own acceleration
                        prefer[j] = SLIDES
                    else:
                        forced[j] = self._begins_along(j, states, columns)
            elif what == "grips":
                prefer[k] = ROLLS
        forced = {k: d for k, d in forced.items() if k in closed}
        at = at._replace(v=v)
        chosen = self._choose(at, closed, forced, prefer, states)
        v, more = held(self.probe(at), v, contacts, chosen)
        return Changed(chosen, v, loss, more)

    def again(self, at: State, states: tuple[str, ...]) -> Changed:
        """States where inputs have jumped."""
        closed = [k for k, state in enumerate(states) if state != OFF]
        chosen = self._choose(at, closed, {}, {k: states[k] for k in closed}, states)
        v, loss = held(self.probe(at), at.v, self.mechanism.contacts, chosen)
        return Changed(chosen, v, 0.0, loss)

    # steps of these

    def _strike(
        self, probe: ContactNumbers, v: Array, landing: list[int], closed: list[int]
    ) -> tuple[Array, float]:
        contacts = self.mechanism.contacts
        which = sorted({*landing, *(k for k in closed if contacts[k].lifts)})
        found = strike(probe, v, contacts, which, self.mu, self.e)
        names = _listed([contacts[k].name for k in which])
        if found is None:
            raise Stuck(f"no impulses at {names} obey the law of impact")
        if gains(probe, v, found):
            rows = ", ".join(
                f"'{contacts[k].name}' with friction {self.mu[k]:g} and restitution {self.e[k]:g}"
                for k in which
            )
            raise Stuck(
                f"the impact at {names} would gain {-found.loss:.3g} J by Newton's restitution "
                f"({rows}): these coefficients contradict each other here"
            )
        return found.v, found.loss

    def _problem(
        self, probe: ContactNumbers, closed: list[int]
    ) -> tuple[Array, Array, Array, Array]:
        """G and w0 of the closed contacts, and a₀ and Ψ."""
        known, response = self._responded
        if known is not probe or response is None:
            response = probe.response()
            self._responded = probe, response
        a0, Psi = response
        rows = [3 * k + j for k in closed for j in range(3)]
        J = probe.J[rows]
        G, w0 = J @ Psi @ probe.pushes(rows), J @ a0 + probe.gamma[rows]
        stuck = np.all(probe.J[rows] == 0.0, axis=1)
        w0[stuck] = 0.0
        for i, k in enumerate(closed):
            if not self.mechanism.contacts[k].lifts:
                G[3 * i] = -probe.slopes[k, rows]
                G[3 * i, 3 * i] = 1.0
                w0[3 * i] = -probe.loads[k]
        return G, w0, a0, Psi

    def _items(
        self, probe: ContactNumbers, closed: list[int], forced: dict[int, Array]
    ) -> list[ClosedContact]:
        items = []
        for k in closed:
            contact = self.mechanism.contacts[k]
            slip = np.zeros(2)
            for way in contact.ways:
                slip[way] = probe.speeds[3 * k + 1 + way]
            d, speed = forced.get(k), float(np.linalg.norm(slip))
            if d is None and contact.ways and (speed > self.still or not self.mu[k]):
                first = np.eye(2)[contact.ways[0]]
                d = slip / speed if speed > self.still else first
            items.append(self._item(k, d))
        return items

    def _item(self, k: int, d: Array | None) -> ClosedContact:
        c, law = self.mechanism.contacts[k], self.law
        mu, static = float(law.friction[k]), float(law.static[k])
        return ClosedContact(mu, c.ways, d, c.axle, c.sign, c.way, static)

    def _choose(
        self,
        at: State,
        closed: list[int],
        forced: dict[int, Array],
        prefer: dict[int, str],
        old: tuple[str, ...],
    ) -> tuple[str, ...]:
        """States of all contacts from here on, and how their directions of slip go on."""
        contacts, probe = self.mechanism.contacts, self.probe(at)
        items = self._items(probe, closed, forced)
        G, w0, a0, Psi = self._problem(probe, closed)
        first = tuple(
            SLIDES if item.d is not None else prefer.get(k, ROLLS)
            for k, item in zip(closed, items, strict=True)
        )
        choice = decisions.decide(G, w0, items, first).choice
        if choice is None:
            raise Stuck(
                f"no set of contact states of {_listed([contacts[k].name for k in closed])} is "
                "consistent (Painlevé's paradox, or more contacts than can be decided)"
            )
        states = [OFF] * len(contacts)
        self.onset = {k: until for k, until in self.onset.items() if k in closed}
        turning: list[int] = []
        for i, k in enumerate(closed):
            states[k] = choice.states[i]
            if states[k] != SLIDES:
                self.onset.pop(k, None)
                if states[k] == OFF and not contacts[k].lifts:
                    raise Stuck(f"contact '{contacts[k].name}' lifts off, its joint cannot follow")
                continue
            self._directed(at, k, choice.d[i], probe, k in forced, old[k], turning, i)
        if turning:
            there = at, tuple(states)
            rates = self._turns(there, probe, closed, items, choice, turning, a0, Psi)
            for i, rate in zip(turning, rates, strict=True):
                self._guide(closed[i], choice.d[i], float(rate), at.t)
        return tuple(states)

    def _directed(
        self,
        at: State,
        k: int,
        d: Array | None,
        probe: ContactNumbers,
        is_forced: bool,
        old: str,
        turning: list[int],
        i: int,
    ) -> None:
        """Let the direction of a contact that slides be guided or free."""
        contact = self.mechanism.contacts[k]
        slip = np.zeros(2)
        for way in contact.ways:
            slip[way] = probe.speeds[3 * k + 1 + way]
        speed = float(np.linalg.norm(slip))
        begins = is_forced or speed <= self.still
        is_guided = bool(self.values[self.mechanism.place(k, "is_guided")])
        if not self.mu[k] or not contact.ways:
            self._guide(k, np.array([1.0, 0.0]), 0.0, at.t)
        elif old == SLIDES and not begins and (k in self.onset or (is_guided and k in self._gates)):
            pass  # it goes on as it was
        elif begins:
            self._guide(k, d, 0.0, at.t)
            self._gates.pop(k, None)
            if not contact.is_flat:
                if is_forced:
                    turning.append(i)
                self.onset[k] = at.t + (self._guided_for if is_forced else 1e-6)
        elif contact.is_flat:
            self._guide(k, slip / speed, 0.0, at.t)
        else:
            self._free(k, speed, was_free=old == SLIDES and not is_guided)

    def _guide(self, k: int, d: Array | None, turn: float, t: float) -> None:
        assert d is not None
        given = {"slip_angle": np.arctan2(d[1], d[0]), "slip_turn": turn, "slip_since": t}
        for key, value in (given | {"is_guided": 1.0}).items():
            self.values[self.mechanism.place(k, key)] = value

    def _free(self, k: int, speed: float, *, was_free: bool = False) -> None:
        place, gate = self.mechanism.place(k, "gate"), min(FIRST_GATE, 0.1 * speed)
        self.values[place] = min(self.values[place], gate) if was_free else gate
        self.values[self.mechanism.place(k, "is_guided")] = 0.0
        self._gates.pop(k, None)

    def _pass_gate(self, k: int, probe: ContactNumbers, vdot: Array) -> None:
        """Hold a direction from here on, or look again at a tenth of the speed or less.

        What slip grows across while it ends is |a_e| |v|/|a_d|; where a_e falls with |v|, as a
        direction does that turns evenly, it is small enough at √(allowed/grown) of the speed.
        """
        rows = slice(3 * k + 1, 3 * k + 3)
        slip, rate = probe.speeds[rows], probe.J[rows] @ vdot + probe.gamma[rows]
        speed = float(np.linalg.norm(slip))
        d, place = slip / speed, self.mechanism.place(k, "gate")
        along, across = float(d @ rate), abs(float(d[0] * rate[1] - d[1] * rate[0]))
        grown = across * speed / -along if along < 0 else np.inf
        if along < 0 and (grown <= self._across or self.values[place] <= self._least_gate):
            self._guide(k, d, 0.0, self._at.t)
            self._gates[k] = speed
        else:
            part = min(0.9 * np.sqrt(self._across / grown), 0.1) if along < 0 else 0.1
            self.values[place] = max(part * self.values[place], self._least_gate)

    _at: State

    def _begins_along(self, k: int, states: tuple[str, ...], columns: Array) -> Array:
        """Direction in which a contact begins to slip: against the force that it cannot take."""
        contacts = self.mechanism.contacts
        items = [self._item(j, None) for j in range(len(contacts))]
        given = columns[:, 2:5].copy()
        given[:, 2] /= self.law.ratio
        force = decisions.shared(items, states, given)[k, 1:]
        if contacts[k].is_flat:
            way = contacts[k].ways[0]
            return -np.sign(force[way]) * np.eye(2)[way]
        return -force / np.linalg.norm(force)

    def _turns(
        self,
        there: tuple[State, tuple[str, ...]],
        probe: ContactNumbers,
        closed: list[int],
        items: list[ClosedContact],
        choice: ContactChoice,
        which: list[int],
        a0: Array,
        Psi: Array,
    ) -> Array:
        """Rates at which directions of slip turn while slip is zero.

        Slip accelerations a(t, φ) stay along d: e_i·(a_t + a_φ φ̇) = 0 for each.
        """
        at, states = there
        delta = 1e-5
        rows = [3 * k + j for k in closed for j in range(3)]
        vdot = a0 + Psi @ (probe.pushes(rows) @ choice.x.ravel())
        qdot = self._qdot(at)
        d = [np.asarray(choice.d[i]) for i in which]
        phi = np.array([np.arctan2(x[1], x[0]) for x in d])
        across = np.array([[-x[1], x[0]] for x in d])

        here = self._problem(probe, closed)

        def slips(s: float, angles: Array) -> Array:
            G, w0, _, _ = here
            if s:
                beside = self._near(states, at.t + s, at.q + s * qdot, at.v + s * vdot)
                G, w0, _, _ = self._problem(self.probe(beside), closed)
            turned = list(choice.d)
            for i, angle in zip(which, angles, strict=True):
                turned[i] = np.array([np.cos(angle), np.sin(angle)])
            w = decisions.solve(G, w0, items, choice.states, turned)[1]
            return np.array([e @ w[i, 1:] for e, i in zip(across, which, strict=True)])

        a_t = (slips(delta, phi) - slips(-delta, phi)) / (2 * delta)
        slope = np.zeros((len(which), len(which)))
        for n in range(len(which)):
            step = np.zeros(len(which))
            step[n] = delta
            slope[:, n] = (slips(0.0, phi + step) - slips(0.0, phi - step)) / (2 * delta)
        return -np.asarray(np.linalg.lstsq(slope, a_t, rcond=1e-9)[0], dtype=float)

    def _qdot(self, at: State) -> Array:
        kin = self.mechanism.rolling.kinematics

        def make() -> ca.Function:
            given = [kin.symbols.q, kin.symbols.v, kin.symbols.params]
            return ca.Function("rates", given, [ca.densify(ca.mtimes(kin.N, kin.symbols.v))])

        rates = self.mechanism.rolling.cached("coordinate rates", make)
        return np.array(rates(at.q, at.v, self.values), dtype=float).ravel()


def _is_same(one: State, other: State) -> bool:
    return all(
        np.array_equal(a, b)
        for a, b in ((one.q, other.q), (one.v, other.v), (one.z, other.z), (one.u, other.u))
        if a is not b
    )


def _listed(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return f"contact {quoted[0]}" if len(quoted) == 1 else f"contacts {', '.join(quoted)}"
