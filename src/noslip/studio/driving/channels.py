"""`make_helm`: the channels of a mechanism, such as speed, turning rate and steering angle.

Channels come from the inputs that the model's scenario uses (all of them where it uses none):

1. a speed input turns or moves a joint: its channel is the place of that joint;
2. a motor of a joint that carries no wheel, such as a steering, a waist or an arm: the same;
3. motors of wheels and forces on bodies drive the base: speed ahead and, if they can, turning rate;
   without a base on the ground a wheel's motor has the wheel's rate as its channel;
4. what is left is given as it is, in N or N·m.

What runs on wheels and must be balanced has the channels of `riding.py` instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from noslip.control.motions.path import planar_base
from noslip.engines.system import Array, System
from noslip.errors import SimulationError
from noslip.kinematics.tree import Node
from noslip.studio.driving.helm import (
    PLACE,
    SPEED,
    TURNING,
    Channel,
    Helm,
    carries_wheel,
    given_force,
    motor_joint,
    node_of_speed,
)
from noslip.studio.driving.riding import riding_helm
from noslip.studio.running.follower import find_follower

#: Turning rate of a joint at most, rad/s; angle of a steering at most, rad.
JOINT_RATE, STEERING = 0.8, 0.6


def make_helm(system: System, values: Array, length: float, *, by_hand: bool = False) -> Helm:
    """The channels of a system.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    length : of the model, m; the speed ahead goes up to twice this a second.
    by_hand : let nothing keep it upright.

    Raises
    ------
    SimulationError : if the model has no inputs.
    """
    model = system.model
    everything = [i.name for i in model.inputs] + [i.name for i in model.speed_inputs]
    if not everything:
        raise SimulationError(
            "the model has no inputs, so there is nothing to drive it with",
            f"model '{model.name}'",
            "choose another model or task, or give it a motor",
        )
    scenario = model.scenario
    wanted = set(scenario.inputs) if scenario is not None and scenario.inputs else set(everything)
    riding = riding_helm(system, values, wanted, length, by_hand=by_hand)
    if riding is not None:
        return riding
    base = _base(system)
    channels = _imposed(system, wanted)
    motors: list[str] = []
    rest: list[str] = []
    for name in [i.name for i in model.inputs if i.name in wanted]:
        node = motor_joint(system, name)
        if node is None or (base is not None and node is base):
            rest.append(name)
        elif not carries_wheel(system, node):
            channels.append(_joint_channel(system, node, ""))
            motors.append(name)
        elif base is None:
            channels.append(_wheel_channel(system, node))
            motors.append(name)
        else:
            rest.append(name)
    moving = _base_channels(system, base, values, motors, rest, channels, length)
    if moving:
        motors += rest
    units = {i.name: i.unit for i in model.inputs}
    given = [] if moving else [given_force(system, n, units[n], values) for n in rest]
    return Helm(channels=(*moving, *channels, *given), motors=tuple(motors))


def _base(system: System) -> Node | None:
    try:
        return planar_base(system)
    except SimulationError:
        return None


def _imposed(system: System, wanted: set[str]) -> list[Channel]:
    """Channels of speed inputs: the places they move."""
    names = [s.name for s in system.speeds]
    found = []
    for i in system.model.speed_inputs:
        if i.name in wanted:
            node = node_of_speed(system, names.index(i.speed))
            found.append(_joint_channel(system, node, i.name))
    return found


def _joint_channel(system: System, node: Node, speed_input: str) -> Channel:
    coordinate = system.coordinates[node.coordinates.start]
    is_angle = coordinate.unit == "rad"
    is_steering = is_angle and bool(system.model.contacts or _base(system))
    return Channel(
        label=coordinate.name,
        unit=coordinate.unit,
        kind=PLACE,
        largest=STEERING if is_steering else coordinate.upper,
        rate=JOINT_RATE if is_angle else coordinate.upper,
        row=np.eye(len(system.speeds))[node.speeds.start],
        coordinate=node.coordinates.start,
        speed_input=speed_input,
    )


def _wheel_channel(system: System, node: Node) -> Channel:
    speed = system.speeds[node.speeds.start]
    return Channel(
        label=speed.name,
        unit=speed.unit,
        kind=SPEED,
        largest=20.0,
        rate=20.0,
        row=np.eye(len(system.speeds))[node.speeds.start],
    )


def _base_channels(
    system: System,
    base: Node | None,
    values: Array,
    motors: list[str],
    rest: list[str],
    others: list[Channel],
    length: float,
) -> list[Channel]:
    """Speed ahead and turning rate of the base, as far as its drives can command them."""
    if base is None or not rest:
        return []
    try:
        follower = find_follower(system, values)
        (x, y), ahead = follower.point[:2], follower.direction[:2]
    except SimulationError:
        x, y, ahead = 0.0, 0.0, (1.0, 0.0)
    vx, vy, turn = np.eye(len(system.speeds))[base.speeds.start : base.speeds.stop]
    forward = ahead[0] * (vx - turn * y) + ahead[1] * (vy + turn * x)
    fast = float(f"{2 * length:.1g}")
    candidates = [
        Channel(label="speed", unit="m/s", kind=SPEED, largest=fast, rate=fast, row=forward),
        Channel(
            label="turning", unit="rad/s", kind=SPEED, largest=TURNING, rate=2 * TURNING, row=turn
        ),
    ]
    served = [c for c in others if not c.speed_input]
    chosen: list[Channel] = []
    for candidate in candidates[: len(rest)]:
        if can_command(system, [*served, *chosen, candidate], [*motors, *rest], values):
            chosen.append(candidate)
    return chosen


def can_command(
    system: System, channels: Sequence[Channel], motors: Sequence[str], values: Array
) -> bool:
    """Whether the motors can give every channel any acceleration, in general places."""
    D, _ = accelerations(system, channels, motors)
    symbols = system.kinematics.symbols
    inputs = system.equations.inputs
    function = ca.Function("D", [symbols.t, system.state, inputs, symbols.params], [ca.densify(D)])
    x = np.zeros(system.num_states)
    for t, q in system.kinematics.probe.configurations(3):
        x[: len(q)] = q
        found = np.array(function(t, x, np.zeros(inputs.shape[0]), values))
        sizes = np.linalg.svd(found, compute_uv=False)
        if len(channels) > len(motors) or not sizes[-1] > 1e-6 * max(sizes[0], 1e-300):
            return False
    return True


def accelerations(
    system: System, channels: Sequence[Channel], motors: Sequence[str]
) -> tuple[ca.SX, ca.SX]:
    """(D, a): the speeds y of the channels change by ẏ = D u + a under the forces u of the motors.

    y is a function of (t, q, η, w), so that ẏ = ∂y/∂t + ∂y/∂q N v + ∂y/∂η η̇ + ∂y/∂w ẇ, and η̇ of
    the equations of motion is affine in u.
    """
    kin, eq = system.kinematics, system.equations
    symbols = kin.symbols
    y = ca.mtimes(ca.DM(np.array([c.row for c in channels])), kin.v)
    at = ca.vertcat(symbols.t, symbols.q, kin.eta, symbols.w)
    rates = ca.vertcat(ca.SX(1), ca.mtimes(kin.N, kin.v), eq.accelerations, symbols.wdot)
    ydot = ca.jtimes(y, at, ca.densify(rates))
    names = [i.name for i in system.model.inputs]
    u = ca.vertcat(*[symbols.u[names.index(n)] for n in motors])
    D = ca.jacobian(ydot, u)
    a = ca.substitute([ydot], [u], [ca.SX.zeros(u.shape)])[0]
    return ca.substitute([D], [u], [ca.SX.zeros(u.shape)])[0], a
