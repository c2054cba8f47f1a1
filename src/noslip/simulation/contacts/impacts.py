"""Impacts by Newton's law of restitution with Coulomb friction, in Moreau's form, all at once.

    v⁺ = v + Ψ Jᵀ p,    w = J v⁺ with the normal part w_n = u_n⁺ + e u_n⁻

and the impulses p of all contacts that touch obey the laws of `decisions` with w for accelerations
[Moreau1988]. With different coefficients at contacts that strike together, or with friction, this
law may give energy [Kane1984]: that is no motion, and is refused by name.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noslip.base import Array
from noslip.simulation.contacts.decisions import ClosedContact, decide
from noslip.simulation.contacts.states import OFF, ROLLS, Contact, ContactNumbers

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
