"""Contact states of a motion: chosen at its start, and at each event anew.

**Consistent contact states and forces at one state, or impulses: pivoting and enumeration.**

w = G x + w0,   x = (N, F₁, F₂) and w = (normal, longitudinal, lateral) of each contact

    off      x = 0,                     w_n ≥ 0
    rolls    w = 0,                     N ≥ 0, |F| ≤ μ N
    slides   w_n = 0, F = −μ N d,       N ≥ 0; d is the direction of slip or, where there is none
                                        yet, that of the slip acceleration: d·w_t ≥ 0

The same for accelerations and forces, and for velocities after an impact and impulses. States are
improved one after the other, beginning with those that held (pivoting); where that comes back to
states that were tried, nonsmooth Gauss–Seidel gives others to begin with [JeanMoreau1992]; then all
sets of states are tried, of few contacts. Wheels of one axle share their lateral force as friction
allows: they slip only where no split of it holds.

**Impacts by Newton's law of restitution with Coulomb friction, in Moreau's form, all at once.**

v⁺ = v + Ψ Jᵀ p,    w = J v⁺ with the normal part w_n = u_n⁺ + e u_n⁻

and the impulses p of all contacts that touch obey the laws above with w for accelerations
[Moreau1988]. With different coefficients at contacts that strike together, or with friction, this
law may give energy [Kane1984]: that is no motion, and is refused by name.

At an event all guards that are zero together count. What lands strikes; then a consistent set of
states is chosen from the accelerations. A contact that rolls slips only where no
split of the forces holds, which its guard says; it begins to slip along the force that it can no
longer take. There v/|v| has no value: d is guided, with its computed rate of turning, for a time in
which slip grows, then free. Towards zero slip, which a free direction meets with a turn ever
faster, it is guided again from a gate on, at which the slip across it can no longer grow beyond the
tolerance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
import scipy.optimize

from noslip.base import Array
from noslip.simulation.contacts.states import (
    FIRST_GATE,
    OFF,
    ROLLS,
    SLIDES,
    Contact,
    ContactMechanism,
    ContactNumbers,
)

#: Relative violation of a condition that is rounding, and that after Gauss–Seidel.
EXACT, NEARLY = 1e-9, 1e-6
#: Contacts up to which all sets of states are tried.
MOST_TRIED = 5
#: Change of directions of slip at which a fixed point has not been found, and directions of slip
#: up to which Newton's method begins in each quarter of a turn.
SETTLING, MOST_TURNED = 1e-9, 3
#: Sweeps of Gauss–Seidel, and the relative changes at which they end.
SWEEPS, SETTLED, DIVERGED = 20_000, 1e-13, 1e9


class ClosedContact(NamedTuple):
    """A closed contact in a decision."""

    friction: float  #: μ while it slides
    ways: tuple[int, ...]  #: directions along the ground that it may hold, 0 and 1
    d: Array | None  #: (2,) direction of slip; None where it does not slip
    #: axle, sign, way: fields of `Contact`
    axle: int = -1
    sign: float = 1.0
    way: int = 1
    static: float | None = None  #: μ of what holds; that of sliding by default

    @property
    def holds(self) -> float:
        """μ up to which it rolls."""
        return self.friction if self.static is None else self.static


class ContactChoice(NamedTuple):
    """States of the contacts of a decision, with directions of slip d, x, w and the violation."""

    states: tuple[str, ...]
    d: tuple[Array | None, ...]
    x: Array
    w: Array
    worst: float


class ContactDecision(NamedTuple):
    """What was chosen, and how many sets of states are consistent as far as they were tried."""

    choice: ContactChoice | None
    others: tuple[ContactChoice, ...] = ()


def solve(
    G: Array, w0: Array, items: list[ClosedContact], states: tuple[str, ...], d: list[Array | None]
) -> tuple[Array, Array]:
    """(c, 3) x and w of given states and directions; least norm where forces are redundant."""
    c = len(items)
    columns, rows = [], []
    for k, (item, state) in enumerate(zip(items, states, strict=True)):
        if state == OFF:
            continue
        push = np.zeros(3 * c)
        push[3 * k] = 1.0
        direction = d[k]
        if state == SLIDES and direction is not None:
            push[3 * k + 1 : 3 * k + 3] = -item.friction * direction
        columns.append(push)
        rows.append(3 * k)
        if state == ROLLS:
            for way in item.ways:
                hold = np.zeros(3 * c)
                hold[3 * k + 1 + way] = 1.0
                columns.append(hold)
                rows.append(3 * k + 1 + way)
    x = np.zeros(3 * c)
    if columns:
        P = np.array(columns).T
        x = P @ np.linalg.lstsq(G[rows] @ P, -w0[rows], rcond=1e-11)[0]
    return x.reshape(c, 3), (G @ x + w0).reshape(c, 3)


def along_own_slip(
    G: Array, w0: Array, items: list[ClosedContact], states: tuple[str, ...], d: list[Array | None]
) -> tuple[Array, Array]:
    """x and w where contacts that begin to slip do so along their own slip accelerations."""
    begin = [
        k
        for k, state in enumerate(states)
        if state == SLIDES and items[k].d is None and len(items[k].ways) == 2
    ]
    x, w = solve(G, w0, items, states, d)
    rounding = 1e-13 * max(1.0, float(np.max(np.abs(w0), initial=0.0)))
    change = 0.0
    for _ in range(60 if begin else 0):
        change = 0.0
        for k in begin:
            size, old = float(np.linalg.norm(w[k, 1:])), d[k]
            if size < rounding or old is None:
                continue
            new = w[k, 1:] / size
            change = max(change, float(np.linalg.norm(new - old)))
            mixed = new + old  # slip accelerations may be coupled strongly: halfway is safe
            length = float(np.linalg.norm(mixed))
            d[k] = mixed / length if length > 1e-9 else new
        x, w = solve(G, w0, items, states, d)
        if change < 1e-14:
            break
    if change >= SETTLING:
        _turn_to_own_slip(G, w0, items, states, d, begin)
        x, w = solve(G, w0, items, states, d)
    return x, w


def _turn_to_own_slip(
    G: Array,
    w0: Array,
    items: list[ClosedContact],
    states: tuple[str, ...],
    d: list[Array | None],
    begin: list[int],
) -> None:
    """Directions d of contacts that begin to slip, by Newton's method on their angles."""
    given = np.array([np.arctan2(x[1], x[0]) for k in begin if (x := d[k]) is not None])

    def across(angles: Array) -> Array:
        for k, angle in zip(begin, angles, strict=True):
            d[k] = np.array([np.cos(angle), np.sin(angle)])
        slips = solve(G, w0, items, states, d)[1][begin, 1:]
        return np.cos(angles) * slips[:, 1] - np.sin(angles) * slips[:, 0]

    best = np.inf
    starts = [given, *itertools.product(np.arange(0.0, 2 * np.pi, np.pi / 2), repeat=len(begin))]
    for start in starts if len(begin) <= MOST_TURNED else starts[:1]:
        found = scipy.optimize.root(across, np.array(start), tol=1e-14)
        along = [
            float(np.asarray(d[k]) @ slip)
            for k, slip in zip(begin, solve(G, w0, items, states, d)[1][begin, 1:], strict=True)
        ]
        off = float(np.max(np.abs(across(found.x))))
        if off < best and min(along) > 0.0:
            best, given = off, found.x
        if best < EXACT * float(np.max(np.abs(w0))):
            break
    across(given)


def shared(items: list[ClosedContact], states: tuple[str, ...], x: Array) -> Array:
    """x with forces of rolling wheels along their axle in proportion to what friction leaves."""
    x = x.copy()
    for axle in {item.axle for item in items if item.axle >= 0}:
        own = [k for k, i in enumerate(items) if i.axle == axle and states[k] == ROLLS]
        if len(own) < 2:
            continue
        way, other = 1 + items[own[0]].way, 2 - items[own[0]].way
        room = np.array(
            [np.sqrt(max((items[k].holds * x[k, 0]) ** 2 - x[k, other] ** 2, 0.0)) for k in own]
        )
        total = sum(items[k].sign * x[k, way] for k in own)
        share = room / room.sum() if room.sum() > 0 else np.full(len(own), 1 / len(own))
        for k, part in zip(own, share, strict=True):
            x[k, way] = items[k].sign * part * total
    return x


def decide(
    G: Array, w0: Array, items: list[ClosedContact], states: tuple[str, ...]
) -> ContactDecision:
    """A consistent choice, beginning with some states; none where there is none."""
    scale_w = max(float(np.max(np.abs(w0), initial=0.0)), 1e-12)
    normal = np.diag(G)[::3]
    scale_x = scale_w / max(float(np.min(normal, initial=np.inf)), 1e-300) if len(items) else 1.0
    scales = scale_x, scale_w
    seen: set[tuple[str, ...]] = set()
    now = tuple(states)
    while now not in seen and len(seen) < 8 * len(items) + 8:
        seen.add(now)
        choice, bad, wish = _evaluated(G, w0, items, now, [i.d for i in items], scales)
        if choice.worst <= EXACT:
            return ContactDecision(choice)
        now = tuple(w if b > EXACT else s for s, w, b in zip(now, wish, bad, strict=True))
    guess, d = gauss_seidel(G, w0, items)
    for is_fixed, most in ((False, EXACT), (True, NEARLY)):
        choice, _, _ = _evaluated(G, w0, items, guess, d, scales, is_fixed=is_fixed)
        if choice.worst <= most:
            return ContactDecision(choice)
    if len(items) > MOST_TRIED:
        return ContactDecision(None)
    found = consistent(G, w0, items)
    return ContactDecision(found[0] if found else None, tuple(found[1:]))


def consistent(G: Array, w0: Array, items: list[ClosedContact]) -> list[ContactChoice]:
    """All consistent choices, by trying every set of states."""
    scale_w = max(float(np.max(np.abs(w0), initial=0.0)), 1e-12)
    normal = np.diag(G)[::3]
    scales = scale_w / max(float(np.min(normal, initial=np.inf)), 1e-300), scale_w
    options = [
        (SLIDES, OFF) if i.d is not None else (ROLLS, SLIDES, OFF) if i.ways else (ROLLS, OFF)
        for i in items
    ]
    found: list[ContactChoice] = []
    for states in itertools.product(*options):
        flat = [
            k
            for k, state in enumerate(states)
            if state == SLIDES and items[k].d is None and len(items[k].ways) == 1
        ]
        for signs in itertools.product((1.0, -1.0), repeat=len(flat)):
            d = [i.d for i in items]
            for k, sign in zip(flat, signs, strict=True):
                d[k] = sign * np.eye(2)[items[k].ways[0]]
            choice, _, _ = _evaluated(G, w0, items, states, d, scales)
            if choice.worst <= EXACT:
                found.append(choice)
    return found


def _evaluated(
    G: Array,
    w0: Array,
    items: list[ClosedContact],
    states: tuple[str, ...],
    given: list[Array | None],
    scales: tuple[float, float],
    *,
    is_fixed: bool = False,
) -> tuple[ContactChoice, Array, list[str]]:
    """Forces of some states, the violation of each contact's conditions, and the state it wants."""
    d = list(given)
    unknown = [k for k, s in enumerate(states) if s == SLIDES and d[k] is None]
    if unknown:
        held = tuple(ROLLS if k in unknown else s for k, s in enumerate(states))
        x = shared(items, held, solve(G, w0, items, held, d)[0])
        for k in unknown:
            d[k] = _direction(items[k], -x[k, 1:])
    if is_fixed:
        x, w = solve(G, w0, items, states, d)
    else:
        x, w = along_own_slip(G, w0, items, states, d)
    scale_x, scale_w = scales
    bad, wish = np.zeros(len(items)), list(states)
    split = shared(items, states, x)
    for k, (item, state) in enumerate(zip(items, states, strict=True)):
        N, F, direction = split[k, 0], split[k, 1:], d[k]
        if state == OFF:
            bad[k] = -w[k, 0] / scale_w
            wish[k] = SLIDES if item.d is not None else ROLLS
        elif N < -1e-11 * scale_x:
            bad[k], wish[k] = -N / scale_x, OFF
        elif state == ROLLS and item.ways:
            bad[k] = (np.linalg.norm(F) - item.holds * N) / scale_x
            wish[k] = SLIDES
        elif state == SLIDES and item.d is None and direction is not None:
            slip = w[k, 1:]
            along = float(direction @ slip)
            bad[k] = -along / scale_w
            if bad[k] > EXACT:
                wish[k] = ROLLS
            elif len(item.ways) == 2:
                # a direction that was not found is none
                bad[k] = float(np.linalg.norm(slip - along * direction)) / scale_w
    worst = float(np.max(bad, initial=0.0))
    return ContactChoice(states, tuple(d), x, w, worst), bad, wish


def _direction(item: ClosedContact, force: Array) -> Array:
    """Unit vector along a force, in the directions that there are."""
    if len(item.ways) == 1:
        return (np.sign(force[item.ways[0]]) or 1.0) * np.eye(2)[item.ways[0]]
    size = float(np.linalg.norm(force))
    return force / size if size > 0 else np.array([1.0, 0.0])


def gauss_seidel(
    G: Array, w0: Array, items: list[ClosedContact]
) -> tuple[tuple[str, ...], list[Array | None]]:
    """States and directions of slip by nonsmooth Gauss–Seidel, contact by contact."""
    c = len(items)
    x, w = np.zeros((c, 3)), w0.copy()
    steps_n = [1.0 / max(G[3 * k, 3 * k], 1e-300) for k in range(c)]
    blocks = [G[3 * k + 1 : 3 * k + 3, 3 * k + 1 : 3 * k + 3] for k in range(c)]
    steps_t = [1.0 / max(float(np.linalg.norm(block, 2)), 1e-300) for block in blocks]
    scale = max(float(np.max(np.abs(w0), initial=0.0)) * max(steps_n, default=0.0), 1e-300)
    for _ in range(SWEEPS):
        change = 0.0
        for k, item in enumerate(items):
            n = 3 * k
            N = max(x[k, 0] - steps_n[k] * w[n], 0.0)
            F = np.zeros(2)
            if item.d is not None:
                F = -item.friction * N * item.d
            elif item.ways:
                for way in item.ways:
                    F[way] = x[k, 1 + way] - steps_t[k] * w[n + 1 + way]
                size = float(np.linalg.norm(F))
                if size > item.friction * N:
                    F *= item.friction * N / size
            moved = np.array([N, *F]) - x[k]
            x[k] += moved
            if moved.any():
                w += G[:, n : n + 3] @ moved
                change = max(change, float(np.max(np.abs(moved))))
        # where friction jams, forces grow without end
        if not SETTLED * scale <= change <= DIVERGED * scale:
            break
    w = (G @ x.ravel() + w0).reshape(c, 3)
    still = 1e-7 * max(float(np.max(np.abs(w0), initial=0.0)), 1e-300)
    states, d = [], [i.d for i in items]
    for k, item in enumerate(items):
        slip = np.zeros(2)
        for way in item.ways:
            slip[way] = w[k, 1 + way]
        size = float(np.linalg.norm(slip))
        if x[k, 0] <= 1e-9 * scale:
            states.append(OFF)
        elif item.d is not None:
            states.append(SLIDES)
        elif size > still:
            states.append(SLIDES)
            d[k] = slip / size
        else:
            states.append(ROLLS)
    return tuple(states), d


#: Energy that an impact may gain, of the kinetic energy before: rounding.
GAINED = 1e-10
#: Speeds along rows, over the largest speed, that are rounding.
ROUNDING = 1e-14


class Impact(NamedTuple):
    """Tree speeds after an impact, and the energy that it took, J; None where no law holds."""

    v: Array
    loss: float


def strike(
    probe: ContactNumbers,
    v: Array,
    contacts: tuple[Contact, ...],
    which: list[int],
    mu: Array,
    e: Array,
) -> Impact | None:
    """Impact in which some contacts take part."""
    _, Psi = probe.response()
    rows = [3 * k + j for k in which for j in range(3)]
    J, w0 = probe.J[rows], probe.speeds[rows].copy()
    for i, k in enumerate(which):
        w0[3 * i] *= 1.0 + e[k]
    items = [
        ClosedContact(float(mu[k]), contact.ways, None, contact.axle, contact.sign, contact.way)
        for k, contact in ((k, contacts[k]) for k in which)
    ]
    choice = decide(J @ Psi @ J.T, w0, items, tuple(ROLLS for _ in which)).choice
    if choice is None:
        return None
    after = v + Psi @ (J.T @ choice.x.ravel())
    return Impact(after, energy(probe, v) - energy(probe, after))


def gains(probe: ContactNumbers, v: Array, impact: Impact) -> bool:
    """Whether an impact gives energy."""
    return impact.loss < -GAINED * max(energy(probe, v), 1e-300)


def energy(probe: ContactNumbers, v: Array) -> float:
    """Kinetic energy, J; of a mechanism whose constraints move, as far as v changes it."""
    return float(0.5 * v @ probe.M @ v)


def held(
    probe: ContactNumbers, v: Array, contacts: tuple[Contact, ...], states: tuple[str, ...]
) -> Impact:
    """Speeds on the rows of a set of contact states, by the least impulse."""
    rows = []
    for k, (contact, state) in enumerate(zip(contacts, states, strict=True)):
        if state != OFF and contact.lifts:
            rows.append(3 * k)
        if state == ROLLS:
            rows += [3 * k + 1 + way for way in contact.ways]
    # speeds of rounding are left to the rows of the next segment
    if not rows or np.max(np.abs(probe.speeds[rows])) <= ROUNDING * np.max(np.abs(v)):
        return Impact(v, 0.0)
    _, Psi = probe.response()
    J = probe.J[rows]
    push = np.linalg.lstsq(J @ Psi @ J.T, probe.speeds[rows], rcond=1e-11)[0]
    after = v - Psi @ (J.T @ push)
    return Impact(after, energy(probe, v) - energy(probe, after))


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
        choice = decide(G, w0, items, first).choice
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
        force = shared(items, states, given)[k, 1:]
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
            w = solve(G, w0, items, choice.states, turned)[1]
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
