"""`make_controls`: what a driver commands, such as speed, turning rate and steering angle.

Channels come from the inputs that the model's scenario uses (all of them where it uses none):

1. a speed input turns or moves a joint: its channel is the position of that joint;
2. a motor of a joint that carries no wheel, such as a steering, a waist or an arm: the same;
3. motors of wheels and forces on bodies drive the base: speed ahead and, if they can, turning rate;
   without a base on the ground a wheel's motor has the wheel's rate as its channel;
4. what is left is given directly, in N or N·m.

A mechanism that must be balanced (`balancing.py`), such as a bicycle, is commanded by its speed and
its turning rate. Without balancing only the speed is controlled, by the motor of the wheel; the
other motors are given directly, and it may fall. Forces from outside, such as gusts, are given
directly too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.base import Array, SimulationError
from noslip.control.driving.balancing import Balance, find_balance
from noslip.control.motions.follower_search import find_follower
from noslip.control.motions.path import planar_base
from noslip.engines import System
from noslip.expressions import names_of, nominal
from noslip.kinematics import Node

#: How a channel acts.
PLACE, SPEED, FORCE = "place", "speed", "force"

#: Turning rate of a base at most, rad/s.
TURNING = 1.0
#: Turning rate of a joint at most, rad/s; angle of a steering at most, rad.
JOINT_RATE, STEERING = 0.8, 0.6
#: Time from rest to the largest speed or turning rate, s.
LEISURE = 4.0
#: A turning rate, rad/s, at which a joint shows which way is left.
GENTLE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Channel:
    """One thing to command.

    Parameters
    ----------
    label, unit : for the page.
    kind : `PLACE` of a joint, `SPEED` of the base or a wheel, `FORCE` as it is.
    largest : of the command, in its unit.
    least : the same; minus the largest by default.
    rate : largest rate of a place, unit/s, or of a speed, unit/s².
    row : (nv,) the tree speeds' part in the speed that is commanded, or whose integral is.
    coordinate : index of a commanded place, else −1.
    speed_input : name of the speed input that moves it, else empty.
    force_input : name of a force input that is given as it is, else empty.
    left : +1 if more of it goes to the left, or −1.
    """

    label: str
    unit: str
    kind: str
    largest: float
    least: float = -np.inf
    rate: float = 0.0
    row: Array = field(default_factory=lambda: np.zeros(0))
    coordinate: int = -1
    speed_input: str = ""
    force_input: str = ""
    left: float = 1.0

    def within(self, command: float) -> float:
        """A command as far as the channel goes."""
        return min(max(command, self.lower), self.largest)

    @property
    def lower(self) -> float:
        """The smallest command."""
        return max(self.least, -self.largest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriveControls:
    """The channels of a mechanism.

    Parameters
    ----------
    channels : what is commanded; the keys change the first two.
    motors : force inputs that serve the channels with speeds.
    balance : how it is kept upright, of what would fall; else None.
    by_hand : whether nothing keeps it upright all the same.
    """

    channels: tuple[Channel, ...]
    motors: tuple[str, ...]
    balance: Balance | None = None
    by_hand: bool = False

    @property
    def labels(self) -> list[str]:
        """Labels of the channels on pages."""
        return [channel.label for channel in self.channels]

    @property
    def is_balanced(self) -> bool:
        """Whether something keeps it upright."""
        return self.balance is not None and not self.by_hand


def make_controls(
    system: System, values: Array, length: float, *, by_hand: bool = False
) -> DriveControls:
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
            "the model has no inputs, so it cannot be driven",
            f"model '{model.name}'",
            "choose another model or task, or give it a motor",
        )
    scenario = model.scenario
    wanted = set(scenario.inputs) if scenario is not None and scenario.inputs else set(everything)
    riding = _riding_controls(system, values, wanted, length, by_hand=by_hand)
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
            # wheels that the others determine help to drive, and have no channel of their own
            wheel, served = _wheel_channel(system, node), [c for c in channels if not c.speed_input]
            if can_command(system, [*served, wheel], [*motors, name], values):
                channels.append(wheel)
            motors.append(name)
        else:
            rest.append(name)
    moving = _base_channels(system, base, values, motors, rest, channels, length)
    if moving:
        motors += rest
    units = {i.name: i.unit for i in model.inputs}
    given = [] if moving else [given_force(system, n, units[n], values) for n in rest]
    if not moving:
        # ahead first, then what steers
        channels.sort(key=lambda channel: channel.kind != SPEED)
    return DriveControls(channels=(*moving, *channels, *given), motors=tuple(motors))


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
        (x, y), ahead = (e[:2] for e in follower.frame)
    except SimulationError:
        x, y, ahead = 0.0, 0.0, (1.0, 0.0)
    vx, vy, turn = np.eye(len(system.speeds))[base.speeds.start : base.speeds.stop]
    forward = ahead[0] * (vx - turn * y) + ahead[1] * (vy + turn * x)
    sideways = ahead[0] * (vy + turn * x) - ahead[1] * (vx - turn * y)
    fast = float(f"{2 * length:.1g}")
    candidates = [
        Channel(label="speed", unit="m/s", kind=SPEED, largest=fast, rate=fast, row=forward),
        Channel(
            label="turning", unit="rad/s", kind=SPEED, largest=TURNING, rate=2 * TURNING, row=turn
        ),
        # of a base on mecanum or omni wheels, to its left
        Channel(label="sideways", unit="m/s", kind=SPEED, largest=fast, rate=fast, row=sideways),
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


def _riding_controls(
    system: System, values: Array, wanted: set[str], length: float, *, by_hand: bool
) -> DriveControls | None:
    """The channels of what must be balanced; None for what need not or cannot be.

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    wanted : inputs that may be used.
    length : of the model, m.
    by_hand : let nothing keep it upright.
    """
    inputs = {i.name: i.unit for i in system.model.inputs if i.name in wanted}
    joints = {name: motor_joint(system, name) for name in inputs}
    motors = tuple(n for n, node in joints.items() if node is not None and node.parent >= 0)
    wheels = [n for n in motors if (node := joints[n]) is not None and carries_wheel(system, node)]
    node = joints[wheels[0]] if wheels else None
    if node is None:
        return None
    speed = system.speeds[node.speeds.start]
    balance = find_balance(system, values, speed.name, motors, length)
    if balance is None:
        return None
    ahead = Channel(
        label="speed",
        unit="m/s",
        kind=SPEED,
        largest=balance.fastest,
        least=balance.slowest,
        rate=balance.fastest / LEISURE,
        row=balance.ratio * np.eye(len(system.speeds))[node.speeds.start],
    )
    outside = [given_force(system, n, inputs[n], values) for n in inputs if n not in motors]
    if by_hand:
        hands = [
            _by_hand(balance, n, inputs[n], j)
            for n, j in joints.items()
            if j is not None and n in motors and n != wheels[0]
        ]
        return DriveControls(
            channels=(ahead, *hands, *outside),
            motors=(wheels[0],),
            balance=balance,
            by_hand=True,
        )
    turning = Channel(
        label="turning", unit="rad/s", kind=SPEED, largest=TURNING, rate=TURNING / LEISURE * 2
    )
    return DriveControls(channels=(ahead, turning, *outside), motors=motors, balance=balance)


def _by_hand(balance: Balance, name: str, unit: str, joint: Node) -> Channel:
    """A motor that is given as it is; to the left is where its joint stands in a left turn."""
    turn = balance.operating_point(balance.fastest / 2, GENTLE)
    names = [c.name for c in balance.coordinates]
    place = balance.system.coordinates[joint.coordinates.start].name
    side = float(np.sign(turn.x[names.index(place)])) if place in names else 1.0
    largest = float(f"{balance.forces[balance.motors.index(name)]:.1g}")
    return Channel(
        label=name, unit=unit, kind=FORCE, largest=largest, force_input=name, left=side or 1.0
    )


def motor_joint(system: System, name: str) -> Node | None:
    """The joint that a force input turns or pushes as its only motor."""
    driven = [
        speed for force in system.model.forces for speed, by in force.driven().items() if by == name
    ]
    names = [s.name for s in system.speeds]
    if len(driven) != 1 or driven[0] not in names:
        return None
    return node_of_speed(system, names.index(driven[0]))


def node_of_speed(system: System, k: int) -> Node:
    return next(n for n in system.kinematics.tree.nodes if n.speeds.start <= k < n.speeds.stop)


def carries_wheel(system: System, node: Node) -> bool:
    """Whether a joint turns a wheel: its own, or through a row such as that of a differential."""
    model = system.model
    wheels = {c.body for c in model.contacts if c.is_wheel}
    if node.body.name in wheels:
        return True
    own = set(node.joint.coordinate_names())
    spins = {name for j in model.joints if j.child in wheels for name in j.coordinate_names()}
    return any(own & (used := names_of(row.expression)) and spins & used for row in model.rows)


def given_force(system: System, name: str, unit: str, values: Array) -> Channel:
    """A force that is given as it is, up to what the model weighs or half its weight on a lever."""
    model = system.model
    known = model.parameter_values(values)
    mass = sum(nominal(body.mass, known) for body in model.bodies)
    largest = float(f"{max(mass, 1e-3) * (5.0 if unit == 'N' else 1.0):.1g}")
    return Channel(label=name, unit=unit, kind=FORCE, largest=largest, force_input=name)
