"""Friction at contacts in proportion to what presses them together: the load of a row.

With N the load of a contact, v its sliding velocity along the ground, n the ground's normal and
ω = ω_t + (ω·n) n the angular velocity of the body against the ground,

    (1)  F = −μ N v/|v|                  sliding
    (2)  M = −l N ω_t/|ω_t|              rolling resistance: N acts ahead of the contact by l
    (3)  M = −l N n sign(ω·n)            pivoting

For a round patch with radius ε and even pressure, l of (3) is ⅔ μ ε [Contensou1963]. Near rest |x|
and sign(x) are made smooth by tanh(|x|/smoothing).

N is the multiplier of the contact's normal row, which these forces change: `Loads.load` stands for
it, and the equations are solved for both together (`formulations/loads.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import casadi as ca

from noslip.expressions import Scalar
from noslip.model.contacts import LATERAL, LONGITUDINAL, NORMAL
from noslip.model.findings import Finding
from noslip.model.forces import (
    DISSIPATIVE,
    AbstractForce,
    Grip,
    Loads,
    push_between,
    turn_between,
)
from noslip.model.quantities import NOT_NEGATIVE, POSITIVE, Meaning, NotNegativeLength

if TYPE_CHECKING:
    from noslip.model.known_names import Vocabulary

ContactName = Annotated[str, Meaning(names="contact")]
_Coefficient = Annotated[Scalar, Meaning(unit="1", sign=NOT_NEGATIVE)]
_Rate = Annotated[Scalar, Meaning(unit="rad/s", sign=POSITIVE)]

#: What is added to a square under a root, so that the root has a slope at rest.
_TINY = 1e-60


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingFriction(AbstractForce):
    """Coulomb friction (1) of a contact along the directions in which it does not hold.

    Parameters
    ----------
    contact : by name, with ``longitudinal`` or ``lateral`` or both switched off.
    friction : μ.
    smoothing : speed at which friction has reached 76 %, m/s; 0 for friction that is exact as long
        as the contact slides, and has no value at rest.
    """

    name: str
    contact: ContactName
    friction: _Coefficient
    smoothing: Annotated[Scalar, Meaning(unit="m/s", sign=NOT_NEGATIVE)] = 0.0

    word = "sliding_friction"

    def apply(self, loads: Loads) -> None:
        contact, read = loads.contact(self.contact), loads.read
        moving, held = loads.sliding(contact), contact.directions()
        ways = [d for d in (LONGITUDINAL, LATERAL) if d not in held]
        slide = ca.sqrt(sum((moving.slip[d] ** 2 for d in ways), ca.SX(0)))
        grip, use = read.scalar(self.friction) * loads.load(f"{contact.name}.{NORMAL}"), ca.SX(1)
        if self.smoothing == 0.0:
            parts = {d: -grip * moving.slip[d] / slide for d in ways}
        else:
            smooth, size = read.scalar(self.smoothing), ca.sqrt(slide**2 + _TINY)
            use = ca.tanh(size / smooth)
            parts = {d: -grip * use * moving.slip[d] / size for d in ways}
        force = sum((f * moving.directions[d] for d, f in parts.items()), ca.SX.zeros(3))
        push_between(loads, DISSIPATIVE, (contact.body, contact.plane.body), moving.point, force)
        along, across = (parts.get(d, ca.SX(0)) for d in (LONGITUDINAL, LATERAL))
        loads.grip(self.name, Grip(contact, along, across, None, use, slide))

    def faults(self, known: Vocabulary) -> Iterator[Finding]:
        contact = next((c for c in known.contacts if c.name == self.contact), None)
        if contact is not None and {LONGITUDINAL, LATERAL} <= set(contact.directions()):
            yield Finding(
                ("forces", self.name, "contact"),
                f"force '{self.name}' is the friction of contact '{self.contact}', which does not "
                "slide",
                "write longitudinal = false or lateral = false at the contact, or friction = … "
                'there for a run with contact = "coulomb"',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingResistance(AbstractForce):
    """Rolling resistance (2) of a contact.

    Parameters
    ----------
    contact : by name.
    lever : l, m.
    smoothing : angular speed at which it has reached 76 %, rad/s.
    """

    name: str
    contact: ContactName
    lever: NotNegativeLength
    smoothing: _Rate

    word = "rolling_resistance"

    def apply(self, loads: Loads) -> None:
        contact = loads.contact(self.contact)
        bodies, n = (contact.body, contact.plane.body), loads.sliding(contact).directions[NORMAL]
        turning = loads.turning(bodies[0]) - loads.turning(bodies[1])
        rolling = turning - ca.dot(turning, n) * n
        size = ca.sqrt(ca.dot(rolling, rolling) + _TINY)
        moment = loads.read.scalar(self.lever) * loads.load(f"{contact.name}.{NORMAL}")
        moment *= ca.tanh(size / loads.read.scalar(self.smoothing)) / size
        turn_between(loads, DISSIPATIVE, bodies, -moment * rolling)


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotingFriction(AbstractForce):
    """Friction (3) against turning about the normal of a contact.

    Parameters
    ----------
    contact : by name.
    lever : l, m; ⅔ of friction times radius for a round patch with even pressure.
    smoothing : angular speed at which it has reached 76 %, rad/s.
    """

    name: str
    contact: ContactName
    lever: NotNegativeLength
    smoothing: _Rate

    word = "pivoting_friction"

    def apply(self, loads: Loads) -> None:
        contact = loads.contact(self.contact)
        bodies, n = (contact.body, contact.plane.body), loads.sliding(contact).directions[NORMAL]
        rate = ca.dot(loads.turning(bodies[0]) - loads.turning(bodies[1]), n)
        moment = loads.read.scalar(self.lever) * loads.load(f"{contact.name}.{NORMAL}")
        moment *= ca.tanh(rate / loads.read.scalar(self.smoothing))
        turn_between(loads, DISSIPATIVE, bodies, -moment * n)
