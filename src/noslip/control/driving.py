"""Driving by commands and riding along a path: the laws that balance and follow.

**Driving by commands: channels, the laws that follow them, and a mechanism moved in real time.**

**`Balance`: LQR gains scheduled over speed and turning rate, for what falls unless it is held.**

The steady motions of a bicycle are a family over the speed V and the turning rate Ω: straight
running and turns. Each has a state x*(V, Ω) and motor forces u*(V, Ω) (`steady`), and small motions
about it follow ẋ = A x + B u (`linearize`), x without the cyclic coordinates: position, heading,
angles of wheels. The forces

    (1)  u = u* − K (x − x*),   K = R⁻¹BᵀP,   0 = AᵀP + PA − PBR⁻¹BᵀP + Q

minimize ∫ (x − x*)ᵀQ(x − x*) + (u − u*)ᵀR(u − u*) dt [AndersonMoore1990]. Q and R are diagonal with
entries 1/s², where s is the deviation that costs as much as any other: an angle of `ANGLE`, a rate
of `RATE` (positions in lengths of the model), and the force that changes a speed by at most
`CHANGE`.

**`make_controls`: what a driver commands, such as speed, turning rate and steering angle.**

Channels come from the inputs that the model's scenario uses (all of them where it uses none):

1. a speed input turns or moves a joint: its channel is the position of that joint;
2. a motor of a joint that carries no wheel, such as a steering, a waist or an arm: the same;
3. motors of wheels and forces on bodies drive the base: speed ahead and, if they can, turning rate;
   without a base on the ground a wheel's motor has the wheel's rate as its channel;
4. what is left is given directly, in N or N·m.

A mechanism that must be balanced, such as a bicycle, is commanded by its speed and
its turning rate. Without balancing only the speed is controlled, by the motor of the wheel; the
other motors are given directly, and it may fall. Forces from outside, such as gusts, are given
directly too.

**Input laws that follow the commands of a driver: `Servo`, and `Rider` for what must be
balanced.**

`Servo`: each channel's speed y follows the commanded one y* with a limited acceleration,

    (1)  ẏ = clip(k (y* − y), ±a),      y* = command, or clip(k_p (command − position), ±rate)

by the forces that inverse dynamics gives for it, D u = ẏ − a (see `channels.accelerations`). Speed
inputs follow the same law as states of their own, so that nothing with inertia jumps.

`Rider`: LQR gains scheduled over speed and turning rate (see `Balance`). The commands move the
operating point with limited rates, `STEP` seconds from one to the next. Between two of them x*, u*
and K are interpolated linearly,

    (2)  u = u*(t) − K(t) (x − x*(t))

A turn that would lean or steer by more than `REACH` is taken less tightly.

**`Driver`: a mechanism that moves in real time under the commands of a driver.**

The forces are those of a `Servo`, or of a `Rider` for what must be balanced. The motion is
integrated natively in short pieces, the commands held in each.

**`Ride`: what must be balanced, a bicycle or a robot on two wheels, along a path.**

The point that follows is where the wheels of the base touch the ground: it cannot move sideways.
With e_x, e_y, e_ψ its error against the path in the path's own axes, and V and Ω = κ V speed and
turning rate of the path, the steady turn of the balance (`Balance`) with this V and Ω has the
states x* and forces u*, and small motions about it follow

    (1)  ė_x = C_V ξ + Ω e_y,   ė_y = V e_ψ − Ω e_x,   ė_ψ = C_Ω ξ,   ξ̇ = A ξ + B w − ẋ*

with ξ = x − x*, w = u − u*, and C_V, C_Ω the derivatives of speed and turning rate of the point. A
steady turn is the motion on a circle. Where the curvature changes, x* does, which a bicycle cannot
follow at once: it leans by steering the other way first. The motion that stays on the path is
found from (1) with −ẋ* as a disturbance that is known in advance (`preview` of ``lqr.py``), at a
cost almost of e alone; it begins to lean before the bend. With e_r, ξ_r and w_r of this motion the
law is

    (2)  u = u* + w_r − K [σ(e_x − e_xr), σ(e_y − e_yr), sin(e_ψ − e_ψr), ξ − ξ_r]

with σ(e) = e/√(1 + (e/λ)²), so that from far away it comes no more steeply than from the reach λ,
and K of the regulator (1) of ``lqr.py`` for (1) with constant Ω. Its weights are those of the
balance, for the place 1/E² and for the heading (λ/2E)², with E the largest of λ, λ/2, λ/4, … for
which all errors of straight running decay at least as exp(−V t/λ).
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from noslip.algebra import angle_rate_map, angles_from_quaternion, angular_velocity, traced_angles
from noslip.analysis import Linearization, SteadyMotion, linearize, steady, steady_state_at
from noslip.base import Array, SimulationError
from noslip.control.followers import find_follower
from noslip.control.lqr import Regulation, preview, solve_lqr
from noslip.control.path_geometry import AbstractPath, arc_table, clamp, length, look_up, polynomial
from noslip.control.path_motion import PathMotion, planar_base
from noslip.control.reference_motion import solve_inputs
from noslip.control.timing_laws import AbstractTiming, ConstantSpeed
from noslip.engines import System
from noslip.expressions import names_of, nominal
from noslip.kinematics import Node
from noslip.model import Angles, Quantity
from noslip.simulation import (
    AbstractInputLaw,
    InputGenerator,
    PathErrors,
    Start,
    SteppedMotion,
    Trajectory,
    complete_start,
)

#: Units of the weights: rad (or lengths of the model), 1/s, 1/s².
ANGLE, RATE, CHANGE = 0.1, 1.0, 10.0
#: Slowest and fastest ride in √(g · length); below, steering hardly moves what it must catch.
SLOWEST, FASTEST = 1 / 3, 10 / 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatingPoint:
    """A steady motion and the gains that stabilize it."""

    #: speed, turning: V, m/s, and Ω, rad/s, positive to the left
    speed: float
    turning: float
    start: Start = field(repr=False)  #: a state on it
    #: x, u: (n,) states and (m,) forces of the motors
    x: Array
    u: Array
    gains: Array = field(repr=False)  #: (m, n) K
    #: (n, n) P: the integral from a state x on comes to (x − x*)ᵀP(x − x*)
    costs: Array = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Balance:
    """The steady motions of a mechanism and their gains. Made by :func:`find_balance`."""

    #: system, values: balanced system, and its (np,) parameter vector
    system: System
    values: Array = field(repr=False)
    #: the node that is free to move; the first of its angles is the heading
    base: Node = field(repr=False)
    wheel: str  #: name of the speed of the wheel that is driven
    motors: tuple[str, ...]  #: inputs that drive and balance
    ratio: float  #: distance that the base covers per radian of the wheel, m
    left: float  #: +1 if the heading grows to the left, else −1
    #: coordinates, speeds: names of x
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    ignored: tuple[Quantity, ...]  #: coordinates that nothing depends on
    forces: Array = field(repr=False)  #: (m,) of the motors that change a speed by `CHANGE`
    #: slowest, fastest: m/s
    slowest: float
    fastest: float

    def operating_point(
        self, speed: float, turning: float, near: OperatingPoint | None = None
    ) -> OperatingPoint:
        """The steady motion at a speed and a turning rate, by continuation from another.

        Raises
        ------
        SimulationError : if there is none, or it cannot be kept.
        """
        found, line = self.steady_turn(speed, turning, None if near is None else near.start)
        K, P = regulate(line, self.motors, self.system.kinematics.length)
        return OperatingPoint(
            speed=speed,
            turning=turning,
            start=found.start,
            x=np.array([found.values[q.name] for q in line.states]),
            u=np.array([found.inputs[name] for name in self.motors]),
            gains=K,
            costs=P,
        )

    def steady_turn(
        self, speed: float, turning: float, near: Start | None = None
    ) -> tuple[SteadyMotion, Linearization]:
        """The steady motion at a speed and a turning rate, and the deviations from it.

        Raises
        ------
        SimulationError : if there is none, or in other coordinates and speeds.
        """
        given = {self.wheel: speed / self.ratio, _heading_rate(self.base): self.left * turning}
        found, line = _about(self.system, self.values, given, self.motors, near)
        if line.coordinates != self.coordinates or line.speeds != self.speeds:
            raise SimulationError(
                "other coordinates and speeds are needed here",
                f"balance of model '{self.system.model.name}'",
                "lean and steer less",
            )
        return found, line

    @property
    def heading(self) -> str:
        """Name of the base's angle that is its heading."""
        return _angle_names(self.base)[0]

    def heading_of(self, q: Array) -> float:
        """Heading angle, rad."""
        return float(self._angles_at(q)[0])

    def tilt(self, point: OperatingPoint) -> float:
        """Largest of the angles of a steady motion, rad: how far it leans or steers."""
        angles = [x for c, x in zip(self.coordinates, point.x, strict=False) if c.unit == "rad"]
        return float(np.max(np.abs(angles), initial=0.0))

    def bent(self, x: Array) -> tuple[float, float]:
        """Largest angle of the base and of the joints in states x, rad: lean and steering."""
        own = _angle_names(self.base)
        angles = [
            (c.name in own, abs(float(value)))
            for c, value in zip(self.coordinates, x, strict=False)
            if c.unit == "rad"
        ]
        lean, steer = (
            max((a for is_own, a in angles if is_own is part), default=0.0)
            for part in (True, False)
        )
        return lean, steer

    def _angles_at(self, q: Array) -> list[float]:
        """The named angles of the base."""
        at = _quaternion(self.base)
        return list(angles_from_quaternion(q[at : at + 4], _angles(self.base).sequence))

    def turning(self, q: Array, v: Array) -> float:
        """The turning rate of a state, rad/s, positive to the left."""
        sequence = _angles(self.base).sequence
        angles = self._angles_at(q)
        axes = np.array([angular_velocity(angles, list(e), sequence) for e in np.eye(3)]).T
        rates = np.linalg.solve(axes, v[self.base.speeds][:3])
        return self.left * float(rates[0])

    def cost(self, point: OperatingPoint, q: Array, v: Array) -> float:
        """LQR cost to go from a state to a nearby steady motion."""
        kin = self.system.kinematics
        s = kin.symbols
        states = ca.Function("x", [s.t, s.q, kin.eta, s.params], [self.traced_states(self.system)])
        eta = kin.independent_rows(point.start.time, q, self.values) @ v
        off = np.array(states(point.start.time, q, eta, self.values)).ravel() - point.x
        return float(off @ point.costs @ off)

    def traced_states(self, system: System) -> ca.SX:
        """x in the symbols of this system, which may be written in other independent speeds."""
        kin, own = system.kinematics, self.system.kinematics
        s, o = kin.symbols, own.symbols
        known = {c.name: s.q[k] for k, c in enumerate(kin.coordinates)}
        known |= {z.name: kin.v[k] for k, z in enumerate(kin.speeds)}
        rows = ca.Function("rows", [o.t, o.q, o.params], [own.E])(s.t, s.q, s.params)
        eta = ca.mtimes(rows, kin.v)
        known |= {z.name: eta[k] for k, z in enumerate(own.independent_speeds)}
        at, sequence = _quaternion(self.base), _angles(self.base).sequence
        turned = traced_angles(s.q[at : at + 4], sequence)
        rates = ca.mtimes(angle_rate_map(turned, sequence), kin.v[self.base.speeds][:3])
        for k, name in enumerate(_angle_names(self.base)):
            known |= {name: turned[k], f"{name}_rate": rates[k]}
        return ca.vertcat(*[known[z.name] for z in (*self.coordinates, *self.speeds)])


def find_balance(
    system: System, values: Array, wheel: str, motors: tuple[str, ...], length: float
) -> Balance | None:
    """The balancing of a mechanism; None for one that needs none or has none.

    It must be free to move, with named angles of which the first is its heading, on ground that
    is level; and it must run straight and be kept so by its motors.
    """
    base = system.kinematics.tree.nodes[0]
    known = system.model.parameter_values(values)
    pull = np.array([nominal(e, known) for e in system.model.gravity])
    angles = base.joint.type.named_angles() if len(base.joint.type.speeds) == 6 else None
    if angles is None or not np.any(pull) or system.model.speed_inputs:
        return None
    up = -pull["xyz".index(angles.sequence[0])]
    heading = _angle_names(base)[0]
    try:
        found, line = _about(system, values, {wheel: 1.0, f"{heading}_rate": 0.0}, motors, None)
        regulate(line, motors, system.kinematics.length)
    except SimulationError:
        return None
    moving = found.start.v[base.speeds][3:]
    ahead = float(moving[np.argmax(np.abs(moving))])
    if heading not in [c.name for c in line.ignored] or not ahead or not up:
        return None
    unit = np.sqrt(np.linalg.norm(pull) * length)
    return Balance(
        system=system,
        values=values,
        base=base,
        wheel=wheel,
        motors=motors,
        ratio=ahead,
        left=float(np.sign(up)),
        coordinates=line.coordinates,
        speeds=line.speeds,
        ignored=line.ignored,
        forces=_force_units(line, motors, system.kinematics.length),
        slowest=float(f"{SLOWEST * unit:.1g}"),
        fastest=float(f"{FASTEST * unit:.1g}"),
    )


def regulate(line: Linearization, motors: tuple[str, ...], length: float) -> Regulation:
    """(m, n) K and (n, n) P of (1) about a steady motion.

    Raises
    ------
    SimulationError : if the motors cannot keep it.
    """
    units, forces = weight_units(line, motors, length)
    found = solve_lqr(line.A, motor_columns(line, motors), np.diag(units**-2), forces**-2)
    if found is None:
        raise SimulationError(
            "the motors cannot maintain this steady motion",
            f"balance of model '{line.model}'",
            "ride it manually, or add a steering motor",
        )
    return found


def weight_units(
    line: Linearization, motors: tuple[str, ...], length: float
) -> tuple[Array, Array]:
    """Deviations of the states (n,) and of the forces (m,) that cost as much as any other."""
    units = np.array([ANGLE] * len(line.coordinates) + [RATE] * len(line.speeds))
    return units * _lengths(line.states, length), _force_units(line, motors, length)


def motor_columns(line: Linearization, motors: tuple[str, ...]) -> Array:
    """B of the motors."""
    inputs = [i.name for i in line.inputs]
    return line.B[:, [inputs.index(name) for name in motors]]


def _lengths(quantities: tuple[Quantity, ...], length: float) -> Array:
    return np.array([length if q.unit in ("m", "m/s") else 1.0 for q in quantities])


def _force_units(line: Linearization, motors: tuple[str, ...], length: float) -> Array:
    """The force of each motor that changes a speed by `CHANGE`, and none by more."""
    changes = motor_columns(line, motors)[len(line.coordinates) :]
    largest = np.max(np.abs(changes / _lengths(line.speeds, length)[:, None]), axis=0)
    return CHANGE / np.maximum(largest, 1e-300)


def _about(
    system: System,
    values: Array,
    given: dict[str, float],
    motors: tuple[str, ...],
    guess: Start | None,
) -> tuple[SteadyMotion, Linearization]:
    """A steady motion, and the deviations from it."""
    parameters = system.model.parameter_values(values)
    found = steady(system, given, guess=guess, find=motors, parameters=parameters)
    return found, linearize(system, found.start, inputs=found.inputs, parameters=parameters)


def _angles(base: Node) -> Angles:
    """The named angles of a base, which has some."""
    angles = base.joint.type.named_angles() if len(base.joint.type.speeds) == 6 else None
    assert angles is not None
    return angles


def _quaternion(base: Node) -> int:
    """Index in q at which the quaternion of a base starts."""
    at = base.joint.type.quaternion
    assert at is not None
    return int(base.coordinates.start + at)


def _angle_names(base: Node) -> list[str]:
    return [f"{base.joint.name}.{name}" for name in _angles(base).names]


def _heading_rate(base: Node) -> str:
    return f"{_angle_names(base)[0]}_rate"


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
    """One thing to command."""

    #: label, unit: label and unit on the page
    label: str
    unit: str
    kind: str  #: `PLACE` of a joint, `SPEED` of the base or a wheel, `FORCE` as it is
    largest: float  #: largest of the command, in its unit
    least: float = -np.inf  #: the same; minus the largest by default
    rate: float = 0.0  #: largest rate of a place, unit/s, or of a speed, unit/s²
    #: (nv,) the tree speeds' part in the speed that is commanded, or whose integral is
    row: Array = field(default_factory=lambda: np.zeros(0))
    coordinate: int = -1  #: index of a commanded place, else −1
    speed_input: str = ""  #: name of the speed input that moves it, else empty
    force_input: str = ""  #: name of a force input that is given as it is, else empty
    left: float = 1.0  #: +1 if more of it goes to the left, or −1

    def within(self, command: float) -> float:
        """A command as far as the channel goes."""
        return min(max(command, self.lower), self.largest)

    @property
    def lower(self) -> float:
        """The smallest command."""
        return max(self.least, -self.largest)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriveControls:
    """The channels of a mechanism."""

    channels: tuple[Channel, ...]  #: commanded quantities; the keys change the first two
    motors: tuple[str, ...]  #: force inputs that serve the channels with speeds
    balance: Balance | None = None  #: balance of what would fall; else None
    by_hand: bool = False  #: whether nothing keeps it upright all the same

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
    length : length of the model, m; the speed ahead goes up to twice this a second.
    by_hand : whether nothing keeps it upright.

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
    """The channels of what must be balanced; None for what need not or cannot be."""
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


#: Gains of places and speeds, 1/s.
KP, KV = 3.0, 8.0
#: Time between operating points, s, and the largest angle of a steady motion, rad.
STEP, REACH = 0.1, 0.5
#: How often a turn is made less tight, and a change of its rate, rad/s, that is not worth more.
TRIES, LITTLE = 5, 2e-3


class AbstractCommandLaw(AbstractInputLaw):
    """A law whose parameters follow the commands of a driver."""

    __slots__ = ()

    @abc.abstractmethod
    def parameters_at(self, t: float, commands: Array) -> tuple[Array, float]:
        """The law's parameters from a time on, and until when they hold."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Servo(AbstractCommandLaw):
    """(1) for all channels; the commands are parameters of the law."""

    controls: DriveControls  #: channels and the motors that serve them
    commands: Array  #: (nc,) at the start

    def parameters_at(self, t: float, commands: Array) -> tuple[Array, float]:
        """The commands, until they change."""
        return commands, np.inf

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        controls = self.controls
        q = system.kinematics.symbols.q
        command = ca.SX.sym("command", len(controls.channels))
        imposed = [c for c in controls.channels if c.speed_input]
        w = ca.SX.sym("imposed", len(imposed))
        inputs: dict[str, ca.SX] = {}
        slopes, wanted, served = [], [], []
        for k, channel in enumerate(controls.channels):
            if channel.kind == FORCE:
                inputs[channel.force_input] = command[k]
                continue
            target = command[k]
            if channel.kind == PLACE:
                target = _clip(KP * (command[k] - q[channel.coordinate]), channel.rate)
            if channel.speed_input:
                j = imposed.index(channel)
                slope = _clip(KV * (target - w[j]), 4 * channel.rate)
                inputs |= {channel.speed_input: w[j], f"{channel.speed_input}_rate": slope}
                slopes.append(slope)
            else:
                limit = 4 * channel.rate if channel.kind == PLACE else channel.rate
                speed = ca.dot(ca.DM(channel.row), system.kinematics.v)
                wanted.append(_clip(KV * (target - speed), limit))
                served.append(channel)
        if served:
            D, a = accelerations(system, served, controls.motors)
            u = solve_inputs(D, ca.vertcat(*wanted) - a)
            inputs |= {name: u[k] for k, name in enumerate(controls.motors)}
        return InputGenerator(
            inputs={name: ca.densify(e) for name, e in inputs.items()},
            states=w,
            rates=ca.vertcat(*slopes) if slopes else ca.SX(0, 1),
            start=np.zeros(len(imposed)),
            names=tuple(f"drive.{c.speed_input}" for c in imposed),
            units=tuple(f"{c.unit}/s" for c in imposed),
            parameters=command,
            parameter_values=self.commands,
        )


@dataclass(slots=True, kw_only=True, eq=False)
class Rider(AbstractCommandLaw):
    """(2), with the two operating points that a ride is between."""

    controls: DriveControls  #: speed, turning rate, and forces that are given as they are
    balance: Balance  #: balance that keeps it upright
    #: here, ahead: the operating points
    here: OperatingPoint
    ahead: OperatingPoint
    since: float  #: time of the first one, s
    held: tuple[float, float] = (np.nan, np.nan)  #: commands that are met as far as they can be

    def parameters_at(self, t: float, commands: Array) -> tuple[Array, float]:
        """x*, u* and K of both operating points, and the forces that are given."""
        if t >= self.since + STEP:
            self.here, self.since = self.ahead, t
            self.ahead = self._next((float(commands[0]), float(commands[1])))
        ends = (_flat(self.here), _flat(self.ahead))
        slope = (ends[1] - ends[0]) / STEP
        given = [c for k, c in enumerate(commands) if self.controls.channels[k].kind == FORCE]
        return np.concatenate([[self.since], ends[0], slope, given]), self.since + STEP

    def _next(self, commands: tuple[float, float]) -> OperatingPoint:
        """The next operating point on the way to a speed and a turning rate."""
        here = self.here
        if commands in (self.held, (here.speed, here.turning)):
            return here
        reached = zip((here.speed, here.turning), commands, self.controls.channels[:2], strict=True)
        speed, turning = (_towards(now, x, c.rate * STEP) for now, x, c in reached)
        for _ in range(TRIES):
            try:
                found = self.balance.operating_point(speed, turning, here)
            except SimulationError:
                turning *= 0.8
                continue
            tilt = self.balance.tilt(found)
            if tilt <= REACH:
                if speed == here.speed and abs(turning - here.turning) < LITTLE:
                    self.held = commands
                return found
            # angles grow about as the turning rate does
            turning *= 0.999 * REACH / tilt
        self.held = commands
        return here

    def generator(self, system: System) -> InputGenerator:
        """(2) in the symbols of this system."""
        balance = self.balance
        n, m = len(self.here.x), len(self.here.u)
        since = ca.SX.sym("since")
        ends = [ca.SX.sym(name, n + m + m * n) for name in ("point", "slope")]
        now = ends[0] + (system.kinematics.symbols.t - since) * ends[1]
        x, u, K = now[:n], now[n : n + m], ca.reshape(now[n + m :], n, m).T
        forces = u - ca.mtimes(K, balance.traced_states(system) - x)
        names = [c.force_input for c in self.controls.channels if c.kind == FORCE]
        given = ca.SX.sym("given", len(names))
        inputs = {name: forces[k] for k, name in enumerate(balance.motors)}
        inputs |= {name: given[k] for k, name in enumerate(names)}
        parameters, _ = self.parameters_at(self.since, np.zeros(len(self.controls.channels)))
        return InputGenerator(
            inputs={name: ca.densify(e) for name, e in inputs.items()},
            states=ca.SX(0, 1),
            rates=ca.SX(0, 1),
            start=np.zeros(0),
            names=(),
            units=(),
            parameters=ca.vertcat(since, *ends, given),
            parameter_values=parameters,
        )


def make_rider(
    controls: DriveControls, balance: Balance, t: float, speed: float, q: Array, v: Array
) -> Rider:
    """A rider who runs straight, or goes on in the turn that a state is in, whichever is nearer."""
    first = balance.operating_point(speed, 0.0)
    with suppress(SimulationError):
        turn = balance.operating_point(speed, balance.turning(q, v), first)
        if balance.tilt(turn) <= REACH and balance.cost(turn, q, v) < balance.cost(first, q, v):
            first = turn
    return Rider(controls=controls, balance=balance, here=first, ahead=first, since=t)


def _flat(point: OperatingPoint) -> Array:
    return np.concatenate([point.x, point.u, point.gains.ravel()])


def _towards(now: float, wanted: float, step: float) -> float:
    return now + min(max(wanted - now, -step), step)


def _clip(value: ca.SX, limit: float) -> ca.SX:
    return ca.fmin(ca.fmax(value, -limit), limit)


#: Tolerance of the integration, and the longest piece of time it does at once, s.
TOLERANCE, PIECE = 1e-8, 0.1
#: Steps of a piece.
MOST_STEPS = 20_000
#: Sine of the angle between a wheel and the ground below which it has fallen over: 60° of lean.
FALLEN = 0.5


class Driver:
    """Moves a system on from a start.

    Parameters
    ----------
    system : compiled system.
    controls : controls that give the commands.
    values : (np,) parameter vector.
    start : start position.
    """

    def __init__(
        self, system: System, controls: DriveControls, values: Array, start: Start
    ) -> None:
        self.system, self.values = system, values
        self._law = self._take(controls, start.time, start.q, start.v)
        self._motion = SteppedMotion(
            system, start, self._law, values, tolerance=TOLERANCE, max_steps=MOST_STEPS
        )

    @property
    def t(self) -> float:
        """Time now, s."""
        return self._motion.t

    @property
    def q(self) -> Array:
        """Coordinates now."""
        return self._motion.q

    @property
    def v(self) -> Array:
        """Tree speeds now."""
        return self._motion.v

    def command(self, k: int, value: float) -> None:
        """Set a channel, within what it can do."""
        self.commands[k] = self.controls.channels[k].within(value)

    def stop(self) -> None:
        """Set all commands to zero but those that cannot be, such as the speed of a bicycle."""
        for k, channel in enumerate(self.controls.channels):
            if channel.lower <= 0.0:
                self.commands[k] = 0.0

    def change(self, controls: DriveControls) -> None:
        """Go on with other channels, from the speed it has."""
        self._law = self._take(controls, self.t, self.q, self.v)
        self._motion.change(self._law)

    def advance(self, seconds: float) -> None:
        """Move on by so much time, at most `PIECE`.

        Raises
        ------
        SimulationError : if the motion cannot go on.
        """
        reason = self._motion.advance(
            self.t + min(seconds, PIECE), lambda t: self._law.parameters_at(t, self.commands)
        )
        if reason:
            raise SimulationError(
                f"the drive cannot continue: {reason}",
                f"model '{self.system.model.name}', t = {self.t:.4g} s",
                "start again, and drive more gently there",
            )
        self._check_upright()

    def trajectory(self, since: float = -np.inf) -> Trajectory:
        """Trajectory driven so far, from a given time on."""
        return self._motion.trajectory(since)

    def piece(self) -> Trajectory:
        """Last piece of the trajectory: its last two samples."""
        return self._motion.piece()

    def _take(self, controls: DriveControls, t: float, q: Array, v: Array) -> AbstractCommandLaw:
        """These channels from now on; what cannot stand still is commanded to go on as it does."""
        self.controls = controls
        now = [float(c.row @ v) if c.least > 0 else 0.0 for c in controls.channels]
        # to digits that a slider shows
        held = [c.within(float(f"{x:.6g}")) for c, x in zip(controls.channels, now, strict=True)]
        self.commands = np.array(held)
        if controls.balance is not None and controls.is_balanced:
            return make_rider(controls, controls.balance, t, self.commands[0], q, v)
        return Servo(controls=controls, commands=self.commands)

    def _check_upright(self) -> None:
        """Stop where what must be balanced leans too far to come back."""
        if self.controls.balance is None:
            return
        for measure, margin in self._motion.margins:
            if measure.kind == "contact" and margin < FALLEN:
                raise SimulationError(
                    f"it has fallen over: wheel '{measure.name}' leans by more than 60°",
                    f"model '{self.system.model.name}', t = {self.t:.4g} s",
                    "start again, and ride more gently or switch on balancing",
                )


#: Seconds of way over which errors decay: slower than the balance, which steers for it.
AHEAD = 1.5
#: Steps of the motion that stays on the path, s, and the most of them.
LAW_STEP, MOST = 0.02, 20_000
#: Steady turns that are found to either side of straight ahead, and the time between those along a
#: way of changing speed, s.
TURNS, APART = 11, 0.3
#: Largest angles of a ride, rad: of the base, and of a joint such as the steering.
STEEPEST, SHARPEST = 0.5, 1.0
#: Most halvings of E.
HALVINGS = 10
#: Sideways acceleration of the default speed in the tightest bend, in g.
SIDEWAYS = 0.2
#: Cost of the place on the motion that stays on the path, and of forces and states, as parts of
#: those of the feedback: units of the place, weights of the rest.
EXACT, CHEAP = 0.01, 0.01


def find_ride(system: System, values: Array) -> Balance | None:
    """Find the balancing controller of a mechanism that needs one and has motors for it."""
    if not system.model.inputs:
        return None
    with suppress(SimulationError):
        return make_controls(system, values, max(system.kinematics.length, 1e-3)).balance
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ride(AbstractInputLaw):
    """(2). Made by :func:`plan_ride`."""

    balance: Balance  #: balance that keeps it upright
    motion: PathMotion  #: path and timing
    reach: float  #: λ, m
    wheels: tuple[int, ...]  #: contacts of the base, whose mean follows
    sign: float  #: sign of their longitudinal directions, along the way that is driven
    times: Array  #: (n,) s
    table: Array  #: (n, …) x* + ξ_r, u* + w_r, e_r and K by row at these times
    start: Mapping[str, float]  #: coordinates, speeds and named angles on the path, by name

    def generator(self, system: System) -> InputGenerator:
        """The law in the symbols of this system."""
        balance, motion, path = self.balance, self.motion, self.motion.path
        t = system.kinematics.symbols.t
        p, s, theta = (ca.SX.sym(name) for name in ("p", "s", "theta"))
        r, _, pace, curvature = motion.geometry(t, p)
        speed = ca.SX(motion.timing.speed(t, s, curvature, length(path)))
        place, ahead = tracked(system, self.wheels, self.sign)
        gap = place - r
        c, d = ca.cos(theta), ca.sin(theta)
        e_x, e_y = c * gap[0] + d * gap[1], -d * gap[0] + c * gap[1]
        e_psi = ca.atan2(c * ahead[1] - d * ahead[0], c * ahead[0] + d * ahead[1])
        n, m = len(balance.coordinates) + len(balance.speeds), len(balance.motors)
        now, knots = self._now(t)
        x, u = ca.vertcat(*now[:n]), ca.vertcat(*now[n : n + m])
        e = now[n + m : n + m + 3]
        K = ca.reshape(ca.vertcat(*now[n + m + 3 :]), n + 3, m).T
        off = ca.vertcat(
            self._bounded(e_x - e[0]),
            self._bounded(e_y - e[1]),
            ca.sin(e_psi - e[2]),
            balance.traced_states(system) - x,
        )
        forces = u - ca.mtimes(K, off)
        first = arc_table(path)
        z = np.array([path.interval[0], 0.0, float(first.turned(np.array([first.p[0]]))[0])])
        breaks = (*motion.timing.knots(path), *motion.timing.break_times(path))
        return InputGenerator(
            inputs={name: ca.densify(forces[k]) for k, name in enumerate(balance.motors)},
            states=ca.vertcat(p, s, theta),
            rates=ca.vertcat(speed / pace, speed, curvature * speed),
            start=z,
            names=("path.parameter", "path.arc_length", "path.heading"),
            units=("1", "m", "rad"),
            parameters=ca.SX(0, 1),
            parameter_values=np.zeros(0),
            knots=np.unique([*breaks, *knots]),
        )

    def _bounded(self, error: ca.SX) -> ca.SX:
        """σ of (2)."""
        return error / ca.sqrt(1 + (error / self.reach) ** 2)

    def _now(self, t: ca.SX) -> tuple[list[ca.SX], Array]:
        """The table at a time, cubic in between, and its times; what is constant is a number."""
        from scipy.interpolate import CubicSpline

        table, times = self.table, self.times
        sizes = np.maximum(np.max(np.abs(table), axis=0), 1e-9)
        moving = np.flatnonzero(np.ptp(table, axis=0) > 1e-9 * sizes)
        entries = [ca.SX(float(x)) for x in table[0]]
        if not moving.size:
            return entries, np.zeros(0)
        pieces = CubicSpline(times, table[:, moving]).c.transpose(1, 2, 0)
        starts, now = times[:-1].tolist(), clamp(t, float(times[0]), float(times[-1]))
        row = look_up(now, starts, np.column_stack([starts, pieces.reshape(len(starts), -1)]))
        for j, k in enumerate(moving.tolist()):
            entries[k] = polynomial(now - row[0], row[1 + 4 * j : 5 + 4 * j])
        return entries, times[1:-1]

    def errors(self, system: System, run: Trajectory) -> PathErrors:
        """Errors of what follows along a run."""
        kin = system.kinematics
        s = kin.symbols
        place, ahead = tracked(system, self.wheels, self.sign)
        function = ca.Function("at", [s.t, s.q, s.params], [ca.vertcat(place, ahead)])
        names = [p.name for p in system.model.parameters]
        values = system.parameters({name: run.parameters[name] for name in names})
        at = run.t[None, :], run.q.T, np.repeat(values[:, None], len(run.t), axis=1)
        x, y, dx, dy = np.array(function.map(len(run.t))(*at))
        theta = run["path.heading"]
        heading = theta + np.angle((dx + 1j * dy) * np.exp(-1j * theta))
        return self.motion.errors_of(run, np.column_stack([x, y]), heading)

    def text(self) -> str:
        """Describe what follows the path."""
        contacts = [self.balance.system.kinematics.contacts[k].contact.name for k in self.wheels]
        motors = ", ".join(self.balance.motors)
        touch = "touches" if len(contacts) == 1 else "touch"
        return f"where {' and '.join(contacts)} {touch} the ground, balanced by {motors}"


def tracked(system: System, wheels: tuple[int, ...], sign: float) -> tuple[ca.SX, ca.SX]:
    """Place and direction (2,) of what follows: between contacts, along their wheels."""
    contacts = [system.kinematics.contacts[k] for k in wheels]
    place = sum((c.point[:2] for c in contacts), ca.SX.zeros(2)) / len(contacts)
    return place, sign * contacts[0].directions["longitudinal"][:2]


class _SteadyTurn(NamedTuple):
    """A steady turn of what follows, and (1) about it."""

    start: Start
    x: Array
    u: Array
    A: Array  # (3 + n, 3 + n), of e_x, e_y, e_ψ and ξ
    B: Array  # (3 + n, m)
    gains: Array  # (m, 3 + n)
    weights: tuple[Array, Array]  # diagonals of Q and R


def plan_ride(
    system: System,
    balance: Balance,
    path: AbstractPath,
    timing: AbstractTiming | None,
    reach: float | None = None,
) -> Ride:
    """The law that rides along a path, and its start.

    `path`, `timing`: path and timing law; by default a moderate constant speed, that accelerates
    sideways by 0.2 g at most. `reach`: λ, m; as far as it goes in 1.5 s by default.

    Raises
    ------
    SimulationError : if it is too slow or too fast to be balanced, or leans too far in a bend.
    """
    where = f"ride of model '{system.model.name}'"
    if path.cusps:
        raise SimulationError(
            "the path has a cusp, where a vehicle stops, and this one would fall", where,
            "remove the parts that reverse",
        )  # fmt: skip
    law = timing or ConstantSpeed(_moderate_speed(balance, path))
    steps = int(np.clip(np.ceil(law.duration(path) / LAW_STEP), 8, MOST))
    times = np.linspace(0.0, law.duration(path), steps + 1)
    s, speeds, bends = _along(law, path, times)
    for t, v in zip(times, speeds, strict=True):
        if not balance.slowest <= v <= balance.fastest:
            raise SimulationError(
                f"at t = {t:.4g} s it should go {v:.4g} m/s, but it can be balanced from "
                f"{balance.slowest:g} to {balance.fastest:g} m/s",
                where,
                f"give a timing law within these, such as constant-speed:{_middle(balance):g}",
            )
    reach = AHEAD * float(np.mean(speeds)) if reach is None else reach
    wheels = tuple(
        k
        for k, c in enumerate(system.kinematics.contacts)
        if c.contact.is_wheel
        and system.kinematics.tree.nodes[system.kinematics.tree.index[c.contact.body]].parent == 0
    )
    turns = _SteadyTurns(balance=balance, wheels=wheels, reach=reach).tuned(float(np.mean(speeds)))
    first, rows = _rows_along(turns, times, s, speeds, bends)
    n, m = len(first.x), len(first.u)
    cuts = np.cumsum([n, m, (n + 3) ** 2, (n + 3) * m])
    x, u, A, B, K = np.split(rows, cuts, axis=1)
    A, B = A.reshape(-1, n + 3, n + 3), B.reshape(-1, n + 3, m)
    # the motion that stays on the path
    d = np.zeros((len(times), n + 3))
    d[:, 3:] = -np.gradient(x, times, axis=0)
    Q, R = first.weights
    Q = np.concatenate([Q[:3] / EXACT**2, CHEAP * Q[3:]])
    on_path = np.concatenate([np.zeros(3), np.full(n, np.nan)])
    found = preview(A, B, d, np.diag(Q), CHEAP * R, float(times[1]), on_path)
    if found is None:
        raise SimulationError(
            "no motion of bounded lean stays on this path", where, "choose a smoother path"
        )
    motion = PathMotion(path=path, timing=law)
    x = x + found.states[:, 3:]
    start, sign = _start(balance, first.start, x[0], wheels, motion)
    return Ride(
        balance=balance,
        motion=motion,
        reach=reach,
        wheels=wheels,
        sign=sign,
        times=times,
        table=np.hstack([x, u + found.inputs, found.states[:, :3], K]),
        start=start,
    )


def _middle(balance: Balance) -> float:
    """A moderate speed, m/s."""
    return float(f"{math.sqrt(balance.slowest * balance.fastest):.2g}")


def _moderate_speed(balance: Balance, path: AbstractPath) -> float:
    """A moderate speed, m/s, that is slow enough in the tightest bend as far as it can be."""
    table = arc_table(path)
    s = np.linspace(0.0, table.s[-1], 2001)
    tightest = max(float(np.max(np.abs(table.curvature(table.parameter(s))))), 1e-9)
    fastest = math.sqrt(SIDEWAYS * _gravity(balance) / tightest)
    if fastest >= _middle(balance):
        return _middle(balance)
    return max(math.floor(100 * fastest) / 100, balance.slowest)


def _gravity(balance: Balance) -> float:
    """m/s²."""
    model = balance.system.model
    known = model.parameter_values(balance.values)
    return float(np.linalg.norm([nominal(e, known) for e in model.gravity]))


def _along(law: AbstractTiming, path: AbstractPath, times: Array) -> tuple[Array, Array, Array]:
    """Arc lengths, speeds and curvatures of a law at times."""
    from scipy.integrate import solve_ivp

    table, whole = arc_table(path), length(path)
    t, s, bend = (ca.SX.sym(name) for name in ("t", "s", "bend"))
    speed = ca.Function("v", [t, s, bend], [ca.SX(law.speed(t, s, bend, whole))])

    def bend_at(s: Array) -> Array:
        return np.asarray(table.curvature(table.parameter(np.clip(s, 0.0, table.s[-1]))))

    def rate(t: float, s: Array) -> Array:
        return np.array(speed(t, s[0], bend_at(s)[0])).ravel()

    breaks = [b for b in law.knots(path) if 0.0 < b < times[-1]]
    longest = float(np.min(np.diff([0.0, *breaks, times[-1]])))
    solved = solve_ivp(
        rate, (0.0, times[-1]), [0.0], t_eval=times, rtol=1e-10, atol=1e-12, max_step=longest
    )
    s_at = solved.y[0]
    bends = bend_at(s_at)
    at = times[None, :], s_at[None, :], bends[None, :]
    speeds = np.array(speed.map(len(times))(*at)).ravel()
    return s_at, speeds, bends


def _rows_along(
    turns: _SteadyTurns, times: Array, s: Array, speeds: Array, bends: Array
) -> tuple[_SteadyTurn, Array]:
    """The steady turn at the start, and x*, u*, A, B and K of (1) and (2) at all times.

    At a constant speed they are functions of the curvature, found at some and interpolated; else
    they are found at places along the way.
    """
    from scipy.interpolate import CubicSpline

    speed = float(speeds[0])
    if np.ptp(speeds) > 1e-9 * speed:
        count = max(17, math.ceil(times[-1] / APART))
        places = np.unique(np.linspace(0, len(times) - 1, count).astype(int))
        found = turns.along(zip(s[places], speeds[places], bends[places], strict=True))
        return found[0], CubicSpline(times[places], [_flat_turn(turn) for turn in found])(times)
    if np.ptp(bends) < 1e-9 * max(1.0, float(np.max(np.abs(bends)))):
        turn = turns.along([(0.0, speed, 0.0), (0.0, speed, float(bends[0]))])[-1]
        return turn, np.tile(_flat_turn(turn), (len(times), 1))
    nodes: dict[float, _SteadyTurn] = {}
    least = 1e-3 * float(np.max(np.abs(bends)))
    for end in (min(float(np.min(bends)), -least), max(float(np.max(bends)), least)):
        side = np.linspace(0.0, end, TURNS if abs(end) > least else 2)
        at = [float(s[np.argmin(np.abs(bends - bend))]) for bend in side]
        found = turns.along((a, speed, float(bend)) for a, bend in zip(at, side, strict=True))
        nodes |= dict(zip(side.tolist(), found, strict=True))
    grid = sorted(nodes)
    rows = CubicSpline(grid, [_flat_turn(nodes[bend]) for bend in grid])(bends)
    return nodes[min(grid, key=lambda bend: abs(bend - bends[0]))], rows


def _flat_turn(turn: _SteadyTurn) -> Array:
    parts = (turn.x, turn.u, turn.A.ravel(), turn.B.ravel(), turn.gains.ravel())
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SteadyTurns:
    """Steady turns of what follows, by the speed and the turning rate of its own point."""

    balance: Balance
    wheels: tuple[int, ...]
    reach: float
    off: float = math.nan  # E, m

    def tuned(self, speed: float) -> _SteadyTurns:
        """With E, at a speed of straight running."""
        found = replace(self, off=self.reach)
        for _ in range(HALVINGS):
            turn = found._at(speed, 0.0, None)
            decays = -np.max(np.linalg.eigvals(turn.A - turn.B @ turn.gains).real)
            if decays * self.reach >= speed:
                break
            found = replace(found, off=found.off / 2)
        return found

    def along(self, ways: Iterable[tuple[float, float, float]]) -> list[_SteadyTurn]:
        """Steady turns at places (s, V, κ), by continuation; a failure names its place."""
        found: list[_SteadyTurn] = []
        for s, speed, bend in ways:
            where = f"ride of model '{self.balance.system.model.name}'"
            what = f"{s:.4g} m along the path the curvature is {bend:.4g} 1/m, where at "
            what += f"{speed:.4g} m/s it "
            fix = "choose a wider path, or go slower"
            if found:
                fix = f"keep the curvature below {abs(self._bend(found[-1])):.2g} 1/m, or go slower"
            near = found[-1].start if found else None
            try:
                turn = self._at(speed, speed * bend, near)
            except SimulationError as error:
                raise SimulationError(
                    f"{what}has no steady turn: {error.what}", where, fix
                ) from None
            lean, steer = self.balance.bent(turn.x)
            if lean > STEEPEST or steer > SHARPEST:
                much = f"lean or steer by {max(lean, steer):.3g} rad"
                raise SimulationError(f"{what}would {much}", where, fix)
            found.append(turn)
        return found

    def _bend(self, turn: _SteadyTurn) -> float:
        """Curvature of a turn, 1/m."""
        return float(turn.A[0, 1] / turn.A[1, 2])

    def _at(self, speed: float, turning: float, near: Start | None) -> _SteadyTurn:
        """The turn in which the point that follows has a speed and a turning rate, and (1)."""
        balance = self.balance
        system, values = balance.system, balance.values
        # the balance counts one driven wheel and the heading of the base: they differ in a turn
        v, w = speed, turning
        for _ in range(5):
            motion, line = balance.steady_turn(v, balance.left * w, near)
            near = start = motion.start
            y, y_q, y_eta = (np.array(e) for e in self._way()(0.0, start.q, start.eta, values))
            sign = 1.0 if y[0, 0] > 0 else -1.0
            excess = sign * y[0, 0] - speed, y[1, 0] - turning
            if max(abs(excess[0]), abs(excess[1])) < 1e-12 * speed:
                break
            v, w = v - excess[0], w - excess[1]
        forces = np.zeros(len(system.inputs))
        names = [i.name for i in system.inputs]
        for name, value in motion.inputs.items():
            forces[names.index(name)] = value
        point = steady_state_at(system, start, forces, values)
        by_c, by_zeta = (part[4] for part in point.derivatives()[:2])
        c = [x.name for x in point.chart.coordinates]
        T = np.zeros((len(c), len(line.coordinates)))
        T[[c.index(x.name) for x in line.coordinates], range(len(line.coordinates))] = 1.0
        T[[c.index(x.name) for x in line.dependent]] = line.coordinate_map
        placing = np.array(point.chart.placing(point.c))
        C = np.hstack([(y_q @ placing + y_eta @ by_c) @ T, y_eta @ by_zeta])
        n, m = len(line.states), len(balance.motors)
        A, B = np.zeros((n + 3, n + 3)), np.zeros((n + 3, m))
        A[0, 1], A[1, 0], A[1, 2] = turning, -turning, speed
        A[0, 3:], A[2, 3:], A[3:, 3:] = sign * C[0], C[1], line.A
        B[3:] = motor_columns(line, balance.motors)
        units, pushes = weight_units(line, balance.motors, system.kinematics.length)
        off = self.off
        Q = np.concatenate([[off, off, 2 * off / self.reach], units]) ** -2.0
        regulation = solve_lqr(A, B, np.diag(Q), pushes**-2)
        if regulation is None:
            raise SimulationError(
                "the motors cannot maintain this steady motion",
                f"ride of model '{system.model.name}'",
                "add a steering motor",
            )
        return _SteadyTurn(
            start=start,
            x=np.array([motion.values[q.name] for q in line.states]),
            u=np.array([motion.inputs[name] for name in balance.motors]),
            A=A,
            B=B,
            gains=regulation.gains,
            weights=(Q, pushes**-2),
        )

    def _way(self) -> ca.Function:
        """Speed and turning rate of what follows, and their derivatives by q and η."""
        system, wheels = self.balance.system, self.wheels
        kin = system.kinematics
        s = kin.symbols

        def make() -> ca.Function:
            place, ahead = tracked(system, wheels, 1.0)
            moving, turning = (ca.jtimes(e, s.q, ca.mtimes(kin.N, kin.v)) for e in (place, ahead))
            along = ca.dot(moving, ahead) / ca.norm_2(ahead)
            rate = (ahead[0] * turning[1] - ahead[1] * turning[0]) / ca.dot(ahead, ahead)
            y = ca.vertcat(along, rate)
            slopes = [ca.densify(ca.jacobian(y, x)) for x in (s.q, kin.eta)]
            return ca.Function("way", [s.t, s.q, kin.eta, s.params], [y, *slopes])

        return system.cached(("way of contacts", wheels), make)


def _start(
    balance: Balance, near: Start, x: Array, wheels: tuple[int, ...], motion: PathMotion
) -> tuple[dict[str, float], float]:
    """The states x at the start of the path, and the sign of the wheels' directions."""
    system, values = balance.system, balance.values
    kin = system.kinematics
    s = kin.symbols
    place, ahead = tracked(system, wheels, 1.0)
    moving = ca.jtimes(place, s.q, ca.mtimes(kin.N, s.v))
    at = ca.Function("at", [s.t, s.q, s.v, s.params], [place, ahead, moving])

    def found(q: Array, v: Array) -> list[Array]:
        return [np.array(e).ravel() for e in at(0.0, q, v, values)]

    _, direction, way = found(near.q, near.v)
    sign = 1.0 if direction @ way > 0 else -1.0
    base, yaw = balance.base.joint.name, balance.heading
    states = (*balance.coordinates, *balance.speeds)
    given = {x.name: float(value) for x, value in zip(states, x, strict=True)}
    given |= {f"{base}.x": 0.0, f"{base}.y": 0.0, yaw: balance.heading_of(near.q)}
    table = arc_table(motion.path)
    heading = float(table.turned(table.p[:1])[0])
    # the heading of the joint at which the wheels head along the path, and then their place
    first = complete_start(system, given, parameters=values)
    direction = sign * found(first.q, first.v)[1]
    given[yaw] += balance.left * (heading - math.atan2(direction[1], direction[0]))
    t, p = ca.SX.sym("t"), ca.SX.sym("p")
    r = np.array(ca.Function("r", [t, p], [motion.geometry(t, p)[0]])(0.0, table.p[0])).ravel()
    turned = complete_start(system, given, parameters=values)
    off = r - found(turned.q, turned.v)[0]
    return {**given, f"{base}.x": float(off[0]), f"{base}.y": float(off[1])}, sign
