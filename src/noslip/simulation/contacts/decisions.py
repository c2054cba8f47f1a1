"""Consistent contact states and forces at one state, or impulses: pivoting and enumeration.

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
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import scipy.optimize

from noslip.base import Array
from noslip.simulation.contacts.states import OFF, ROLLS, SLIDES

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
    choice, _, _ = _evaluated(G, w0, items, guess, d, scales, is_fixed=True)
    if choice.worst <= NEARLY:
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
