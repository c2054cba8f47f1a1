"""How a steered vehicle comes to have the speed and the steering rate that a law asks for.

A steering rate that is a speed input is given with its exact rate; one that a motor turns follows
through inverse dynamics, as the speed does:

    η̇ = η̇_d + k_v (η_d − η)
"""

from __future__ import annotations

import casadi as ca

from noslip.analysis.inverse import Reference
from noslip.control.controllers.base import accelerate
from noslip.control.controllers.feedback_rates import along_motion
from noslip.engines.system import System
from noslip.errors import SimulationError, nearest
from noslip.kinematics.linear import orthogonal_solve


def steering_coordinate(system: System, name: str) -> int:
    """Index of an angle by name, which must exist."""
    known = [c.name for c in system.coordinates]
    if name not in known:
        raise SimulationError(
            f"there is no coordinate '{name}' to steer by",
            f"controller of model '{system.model.name}'",
            nearest(name, known),
        )
    return known.index(name)


def steering_speed(system: System, name: str) -> int:
    """Index of the tree speed that is the rate of an angle."""
    k = steering_coordinate(system, name)
    node = next(
        n for n in system.kinematics.tree.nodes if n.coordinates.start <= k < n.coordinates.stop
    )
    return node.speeds.start + k - node.coordinates.start


def at_reference(system: System, reference: Reference, expression: ca.SX) -> ca.SX:
    """An expression of q, η and w where they are the reference's."""
    kin = system.kinematics
    given = [ca.densify(x) for x in (reference.q, reference.eta, reference.speed_inputs)]
    return ca.substitute([expression], [kin.symbols.q, kin.eta, kin.symbols.w], given)[0]


def moved(place: ca.SX, angle: ca.SX, x: ca.SX, y: ca.SX) -> ca.SX:
    """A point given in axes turned by `angle` about `place`."""
    cos, sin = ca.cos(angle), ca.sin(angle)
    return place + ca.vertcat(cos * x - sin * y, sin * x + cos * y)


def _input_index(system: System, steering: str) -> int | None:
    """Which speed input drives the steering, if one does."""
    name = system.speeds[steering_speed(system, steering)].name
    driven = [i.speed for i in system.model.speed_inputs]
    return driven.index(name) if name in driven else None


def with_steering(system: System, reference: Reference, steering: str, w: ca.SX) -> ca.SX:
    """The reference's speed inputs with that of the steering replaced."""
    parts = ca.vertsplit(reference.speed_inputs) if system.model.speed_inputs else []
    k = _input_index(system, steering)
    if k is not None:
        parts[k] = w
    return ca.vertcat(*parts) if parts else ca.SX(0, 1)


def independent(system: System, rows: list[ca.SX], values: list[ca.SX], steering: str) -> ca.SX:
    """η of a speed of the base and, where a motor steers, a rate of the steering angle."""
    kin = system.kinematics
    num = 1 if _input_index(system, steering) is not None else 2
    if kin.num_independent_speeds != num:
        raise SimulationError(
            f"the vehicle has {kin.num_independent_speeds} degrees of freedom, but its speed and "
            f"its steering are {num}",
            f"controller of model '{system.model.name}'",
            "use PoseTracking for a base that turns by its wheels, or another law",
        )
    speeds = ca.vertcat(*rows[:num])
    J = ca.densify(ca.jacobian(speeds, kin.eta))
    still = [ca.SX.zeros(kin.eta.shape), ca.SX.zeros(kin.symbols.w.shape)]
    offset = ca.substitute([speeds], [kin.eta, kin.symbols.w], still)[0]
    return orthogonal_solve(J, ca.vertcat(*values[:num]) - offset)[0]


def follow(
    system: System,
    reference: Reference,
    rows: list[ca.SX],
    values: list[ca.SX],
    steering: str,
    kv: float,
) -> ca.SX:
    """u with which the speeds go to those of the law."""
    eta_d = independent(system, rows, values, steering)
    rate = along_motion(system, reference, eta_d)
    return accelerate(system, rate + kv * (eta_d - system.kinematics.eta))
