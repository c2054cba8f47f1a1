"""Names beyond coordinates and tree speeds: named angles, their rates, named independent speeds.

They are traced in the symbols of a system, of t, q, v and parameters, for expressions and columns:

    a = angles of the quaternion in q        ȧ = ∂a/∂q N v        η = E v as the model writes it

An angle lies between −π and π and jumps from one to the other. Next to a value that is less than
half a turn away, the same angle goes on without a jump; this is what events see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import casadi as ca

from noslip.engines.system import System
from noslip.simulation.starts.layout import Orientation, layout_of
from noslip.spatial import traced_angles

#: Unit of a name, and how it is traced.
NamedValue = tuple[str, Callable[[], ca.SX]]


def named_values(system: System) -> dict[str, NamedValue]:
    """Every such name of a system."""
    kin = system.kinematics
    found: dict[str, NamedValue] = {}
    for o in layout_of(system).orientations:
        for k, (angle, rate) in enumerate(zip(o.angle_names, o.rate_names, strict=True)):
            found[angle] = ("rad", partial(_angle, system, o, k))
            found[rate] = ("rad/s", partial(_rate, system, o, k))
    for speed in system.model.independent_speeds:
        if speed.expression:
            found[speed.name] = (speed.unit, partial(kin.reader.scalar, speed.expression))
    return found


def units_by_name(system: System) -> dict[str, str]:
    """Units of all that a start may give."""
    own = (*system.coordinates, *system.speeds, *system.independent_speeds, *system.costates)
    units = {quantity.name: quantity.unit for quantity in own}
    return units | {name: unit for name, (unit, _) in named_values(system).items()}


def angle_names(system: System) -> tuple[str, ...]:
    """Named angles alone."""
    return tuple(name for o in layout_of(system).orientations for name in o.angle_names)


def jumping_angles(system: System) -> dict[str, Callable[[], ca.SX]]:
    """Named angles that go all the way round; the second of three never does."""
    return {
        name: partial(_angle, system, o, k)
        for o in layout_of(system).orientations
        for k, name in enumerate(o.angle_names)
        if k != 1
    }


def going_on(angle: ca.SX, near: ca.SX) -> ca.SX:
    """The same angle but for full turns, at most half a turn from another one.

    a + 2πn with n the whole number next to (near − a)/2π; without a jump, it is a itself. Between
    two of them it is the smaller one, so that −π and π are at most half a turn from 0 as they are.
    """
    turns = (near - angle) / (2 * math.pi)
    return angle + 2 * math.pi * ca.sign(turns) * ca.ceil(ca.fabs(turns) - 0.5)


def _angle(system: System, o: Orientation, k: int) -> ca.SX:
    q = system.kinematics.symbols.q
    return traced_angles(q[o.quaternion : o.quaternion + 4], o.angles.sequence)[k]


def _rate(system: System, o: Orientation, k: int) -> ca.SX:
    kin = system.kinematics
    at = slice(o.quaternion, o.quaternion + 4)
    turning = ca.mtimes(kin.N[at, :], kin.symbols.v)
    return ca.jtimes(_angle(system, o, k), kin.symbols.q[at], turning)
