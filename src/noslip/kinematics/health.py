"""Numbers that must stay away from zero while a mechanism moves."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.kinematics.basis import Array, Probe
from noslip.kinematics.contacts import ContactTrace
from noslip.kinematics.symbols import Symbols
from noslip.spatial import stack


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Health:
    """A number that must stay away from zero while the mechanism moves.

    Parameters
    ----------
    name : what it watches.
    kind : ``basis`` (another choice of independent speeds helps) or ``contact`` (nothing does).
    value : traced, about 1 at ordinary configurations.
    floor : below it another choice of independent speeds is taken.
    limit : below it, or below the floor where there is no other choice to take, the run stops.
    sentence : what the user reads then.
    """

    name: str
    kind: str
    value: ca.SX = field(repr=False)
    floor: float
    limit: float
    sentence: str


def find_health(
    symbols: Symbols,
    probe: Probe,
    pivots: list[ca.SX],
    contacts: tuple[ContactTrace, ...],
    samples: list[tuple[float, Array]],
) -> tuple[Health, ...]:
    """Pivots of K that move with the configuration, and how far each wheel is from lying flat."""
    result = []
    moving = [p for p in pivots if ca.depends_on(p, ca.vertcat(symbols.q, symbols.t))]
    if moving:
        values = ca.Function("p", [symbols.t, symbols.q, symbols.params], [stack(moving)])
        numbers = np.array([np.array(values(t, q, probe.params)).ravel() for t, q in samples])
        usual = np.nanmedian(numbers, axis=0)
        least = moving[0] / float(usual[0])
        for pivot, scale in zip(moving[1:], usual[1:], strict=True):
            least = ca.fmin(least, pivot / float(scale))
        result.append(
            Health(
                name="independent speeds",
                kind="basis",
                value=least,
                floor=0.2,
                limit=1e-3,
                sentence="the constraints lose rank here, so that no independent speeds determine "
                "the motion",
            )
        )
    for trace in contacts:
        if trace.regularity is not None and ca.depends_on(trace.regularity, symbols.q):
            result.append(
                Health(
                    name=trace.contact.name,
                    kind="contact",
                    value=trace.regularity,
                    floor=1e-6,
                    limit=1e-6,
                    sentence=f"wheel '{trace.contact.name}' lies flat on its plane, where it "
                    "touches along a whole circle and rolling is not defined",
                )
            )
    return tuple(result)
