"""`Balance`: LQR gains scheduled over speed and turning rate, for what falls unless it is held.

The steady motions of a bicycle are a family over the speed V and the turning rate Ω: straight
running and turns. Each has a state x*(V, Ω) and motor forces u*(V, Ω) (`steady`), and small motions
about it follow ẋ = A x + B u (`linearize`), x without the cyclic coordinates: position, heading,
angles of wheels. The forces

    (1)  u = u* − K (x − x*),   K = R⁻¹BᵀP,   0 = AᵀP + PA − PBR⁻¹BᵀP + Q

minimize ∫ (x − x*)ᵀQ(x − x*) + (u − u*)ᵀR(u − u*) dt [AndersonMoore1990]. Q and R are diagonal with
entries 1/s², where s is the deviation that costs as much as any other: an angle of `ANGLE`, a rate
of `RATE` (positions in lengths of the model), and the force that changes a speed by at most
`CHANGE`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from noslip.algebra import (
    angle_rate_map,
    angles_from_quaternion,
    angular_velocity,
    traced_angles,
)
from noslip.analysis import Linearization, SteadyMotion, linearize, steady
from noslip.base import Array, SimulationError
from noslip.control.lqr import Regulation, solve_lqr
from noslip.engines import System
from noslip.expressions import nominal
from noslip.kinematics import Node
from noslip.model import Angles, Quantity
from noslip.simulation import Start

#: Units of the weights: rad (or lengths of the model), 1/s, 1/s².
ANGLE, RATE, CHANGE = 0.1, 1.0, 10.0
#: Slowest and fastest ride in √(g · length); below, steering hardly moves what it must catch.
SLOWEST, FASTEST = 1 / 3, 10 / 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatingPoint:
    """A steady motion and the gains that stabilize it.

    Parameters
    ----------
    speed, turning : V, m/s, and Ω, rad/s, positive to the left.
    start : a state on it.
    x, u : (n,) states and (m,) forces of the motors.
    gains : (m, n) K.
    costs : (n, n) P: the integral from a state x on comes to (x − x*)ᵀP(x − x*).
    """

    speed: float
    turning: float
    start: Start = field(repr=False)
    x: Array
    u: Array
    gains: Array = field(repr=False)
    costs: Array = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Balance:
    """The steady motions of a mechanism and their gains. Made by :func:`find_balance`.

    Parameters
    ----------
    system, values : what is balanced, and its (np,) parameter vector.
    base : the node that is free to move; the first of its angles is the heading.
    wheel : name of the speed of the wheel that is driven.
    motors : inputs that drive and balance.
    ratio : distance that the base covers per radian of the wheel, m.
    left : +1 if the heading grows to the left, else −1.
    coordinates, speeds : of x.
    ignored : coordinates that nothing depends on.
    forces : (m,) of the motors that change a speed by `CHANGE`.
    slowest, fastest : m/s.
    """

    system: System
    values: Array = field(repr=False)
    base: Node = field(repr=False)
    wheel: str
    motors: tuple[str, ...]
    ratio: float
    left: float
    coordinates: tuple[Quantity, ...]
    speeds: tuple[Quantity, ...]
    ignored: tuple[Quantity, ...]
    forces: Array = field(repr=False)
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

    Parameters
    ----------
    system : compiled system.
    values : (np,) parameter vector.
    wheel : name of the speed of the wheel that is driven.
    motors : inputs that drive and balance.
    length : of the model, m.
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
