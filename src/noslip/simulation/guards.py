"""Where a law of inputs is not defined, and words for a run that ends there.

A law that divides by something that can vanish, such as the pivots of a Jacobian, names it. The run
itself is not slowed: only when it has ended early is each of them looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from noslip.engines.system import Array, System
from noslip.errors import Fault

if TYPE_CHECKING:
    from noslip.simulation.input_kinds import InputGenerator

#: Conditioning (1: all directions alike) below which a law is told to be singular.
SINGULAR = 1e-3


class Guard(NamedTuple):
    """What a law divides by: its conditioning, and what to say where that is small."""

    conditioning: ca.SX
    what: str
    fix: str


def conditioning(pivots: list[ca.SX]) -> ca.SX:
    """The smallest of some pivots over the largest in magnitude, traced; 1 if there are none."""
    if not pivots:
        return ca.SX(1)
    smallest = largest = ca.fabs(pivots[0])
    for pivot in pivots[1:]:
        magnitude = ca.fabs(pivot)
        smallest, largest = ca.fmin(smallest, magnitude), ca.fmax(largest, magnitude)
    return smallest / largest


def broken_guard(
    system: System, generator: InputGenerator | None, t: float, state: Array, parameters: Array
) -> Fault | None:
    """What the law of a run could not do at a state, if that is why the run ended.

    Parameters
    ----------
    system : in whose symbols the law is.
    generator : the law.
    t, state : time and [x; z].
    parameters : of the model, then of the law.
    """
    if generator is None or not generator.guards:
        return None
    symbols = system.kinematics.symbols
    states = ca.vertcat(system.state, generator.states)
    known = ca.vertcat(symbols.params, generator.parameters)
    values = ca.Function(
        "guards",
        [symbols.t, states, known],
        [ca.vertcat(*[guard.conditioning for guard in generator.guards])],
        {"allow_free": True},
    )
    if values.get_free():
        return None
    found = np.array(values(t, state, parameters)).ravel()
    for guard, value in zip(generator.guards, found, strict=True):
        if not value >= SINGULAR:
            where = f"model '{system.model.name}', t = {t:.9g} s"
            if "path.arc_length" in generator.names:
                at = system.num_states + generator.names.index("path.arc_length")
                where += f", {state[at]:.4g} m along the path"
            return Fault(guard.what, where, guard.fix)
    return None
