"""Sensors that measure something of the state, and a filter that estimates the state from them.

The extended Kalman filter runs in the sampled loop, next to the plant, as traced expressions. Its
state is x = (q, η) of the model: coordinates and independent speeds, so that an estimate is always
admissible. Errors are minimal: ξ moves x along

    (1)  δx = T(x) ξ

where T leaves plain coordinates and η as they are, turns a quaternion by its body's small rotation,
and follows the holonomic rows for coordinates that these determine. With Φ one period of the model
under the inputs that were wanted (Runge–Kutta, on the constraints), all derivatives exact,

    (2)  x⁻ = Φ(x, u),   F = T⁺(x⁻) Φ_x T(x),   Γ = T⁺(x⁻) Φ_u
    (3)  P⁻ = F P Fᵀ + Γ Σ Γᵀ + Q,   Q = ∫ e^{As} D e^{Aᵀs} ds from 0 to T_s
    (4)  S = H P⁻ Hᵀ + R,   K = P⁻ Hᵀ S⁻¹,   x = x⁻ ⊕ K (y − h(x⁻)),   P = P⁻ − K S Kᵀ,   H = h_x T

Σ is the covariance of the noise of inputs, held over a period T_s, and D the density of white noise
that is added to the rates of ξ, whose derivative is A. Q is the integral of Van Loan (IEEE Trans.
Autom. Control 23, 1978, 395), for each Runge–Kutta step with the A of its middle.

The force f of an actuator with a lag or a largest rate is a state too, behind the biases in x, and
u is then what it aims at; f over a step is known in closed form (`Actuator.over`).

The values of a sample are taken in one by one, which is (4) without a matrix to invert since their
noise is independent: each with the innovation that those before it leave. Then νᵀS⁻¹ν, the
normalized innovation squared, is the sum of theirs.

The bias of a sensor is a state β that stays, or drifts with a density; its value is h(x) + β. A
value that is d samples late is taken in at the instant it was measured: x and P are kept as they
were D samples ago, D the largest delay, with the inputs and values since then, and at every sample
(2) to (4) are repeated from there to now with all values that have arrived. No value is treated as
newer than it is, so this is the filter of all that is known, not an approximation.

To add a sensor: a frozen class with `channels(system)`, a text of what it measures for each.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import casadi as ca
import numpy as np
from scipy.special import chdtrc

from noslip.algebra import block_solve
from noslip.base import Array, SimulationError, check_memory, nearest
from noslip.control.text_grammar import AbstractForm, Angle, AngularRate, Length
from noslip.engines import System
from noslip.model import ZERO, Point, Vector3
from noslip.simulation import Trajectory, complete_start, read_expression

#: Terms of the series of Van Loan's integral: with |A| h below 0.1 the rest is below 1e-15 of it.
TERMS = 10
#: Samples that a measurement may be late. Each is a state of a line that is traced, compiled and
#: carried, which takes 5 ms and so many bytes.
LONGEST_DELAY, DELAY_BYTES = 10_000, 1e5
#: Largest standard deviation: squares of more, and sums of these, are no numbers.
LARGEST_SIGMA = 1e100
#: Share of the runs of a consistent filter that are noted.
CHANCE = 1e-4
#: Standard deviation of a direction, relative to those of its parts, below which it is thin.
THIN = 0.01
#: Share of a variance below which what is left of it, given others, is rounding.
KNOWN = 1e-9


class SensorChannel(NamedTuple):
    """One number that a sensor measures.

    ``text`` is the expression of what is measured, ``sigma`` the standard deviation of its noise,
    ``every`` how many samples of the controller go by between its values, and ``delay`` how many
    until one arrives; of an angle, innovations are taken between −π and π. ``bias_sigma`` is the
    standard deviation of a bias that every run has of its own.
    """

    name: str
    text: str
    unit: str
    sigma: float
    bias: float = 0.0
    quantum: float = 0.0
    every: int = 1
    is_angle: bool = False
    delay: int = 0
    bias_sigma: float = 0.0

    @property
    def variance(self) -> float:
        """Variance of the noise, quantization included."""
        return self.sigma**2 + self.quantum**2 / 12


class AbstractInstrument(AbstractForm, abc.ABC, family="sensor"):
    """A sensor of something else than a coordinate or speed, which needs an estimator."""

    __slots__ = ()

    @abc.abstractmethod
    def channels(self, system: System) -> tuple[SensorChannel, ...]:
        """Measured channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Odometry(AbstractInstrument):
    """Encoders of wheels: how far each has turned."""

    word = "odometry"

    wheels: tuple[str, ...]  #: joints about which they turn
    sigma: Angle = 0.01  #: standard deviation of an angle, rad
    quantum: Angle = 0.0  #: angle between two marks, rad; 0 for none
    #: every, delay: samples of the controller from value to value, and until one arrives
    every: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        check_sensor(self, ("sigma", "quantum"))

    def channels(self, system: System) -> tuple[SensorChannel, ...]:
        """An angle for each wheel."""
        known = {c.name for c in system.coordinates}
        found = []
        for wheel in self.wheels:
            name = f"{wheel}.angle"
            if name not in known:
                joints = [n.removesuffix(".angle") for n in known if n.endswith(".angle")]
                raise SimulationError(
                    f"there is no joint '{wheel}' with an angle",
                    f"odometry of model '{system.model.name}'",
                    nearest(wheel, sorted(joints)),
                )
            found.append(
                SensorChannel(
                    f"odometry.{wheel}",
                    name,
                    "rad",
                    self.sigma,
                    quantum=self.quantum,
                    every=self.every,
                    delay=self.delay,
                )
            )
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gyroscope(AbstractInstrument):
    """The angular velocity of a body about the vertical, or another world axis."""

    word = "gyroscope"

    body: str  #: body that carries it
    sigma: AngularRate = 0.01  #: standard deviation of each sample, rad/s
    bias: AngularRate = 0.0  #: constant error, unknown to the filter, rad/s
    axis: str = "z"  #: ``x``, ``y`` or ``z`` of the world
    #: every, delay: samples of the controller from value to value, and until one arrives
    every: int = 1
    delay: int = 0
    #: standard deviation of a further bias, drawn anew for every run and estimated, rad/s
    bias_sigma: AngularRate = 0.0

    def __post_init__(self) -> None:
        check_sensor(self, ("sigma", "bias_sigma"))
        if self.axis not in ("x", "y", "z"):
            raise SimulationError(
                f"there is no axis '{self.axis}'", "gyroscope", nearest(self.axis, ("x", "y", "z"))
            )

    def channels(self, system: System) -> tuple[SensorChannel, ...]:
        """One rate."""
        check_body(system, self.body, self.word)
        text = f"angular_velocity({self.body}).{self.axis}"
        name = f"gyroscope.{self.body}"
        return (
            SensorChannel(
                name,
                text,
                "rad/s",
                self.sigma,
                bias=self.bias,
                every=self.every,
                delay=self.delay,
                bias_sigma=self.bias_sigma,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseSensor(AbstractInstrument):
    """Place and heading of a body in the plane, as from satellites, a camera or laser scans."""

    word = "pose"

    #: body, point: body, and point in its axes, m, whose position is measured
    body: str
    point: Point = ZERO
    #: sigma, angle_sigma: standard deviations of x and y, m, and of the heading of the body's x
    #: axis, rad; a heading of 0 is not measured
    sigma: Length = 0.01
    angle_sigma: Angle = 0.01
    #: every, delay: samples of the controller from value to value, and until one arrives
    every: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        check_sensor(self, ("sigma", "angle_sigma"))

    def channels(self, system: System) -> tuple[SensorChannel, ...]:
        """x, y and heading."""
        check_body(system, self.body, self.word)
        place = point_text(self.body, self.point)
        when: dict[str, Any] = {"every": self.every, "delay": self.delay}
        found = [
            SensorChannel(f"pose.{self.body}.{a}", f"{place}.{a}", "m", self.sigma, **when)
            for a in "xy"
        ]
        if self.angle_sigma:
            heading = heading_text(self.body)
            name = f"pose.{self.body}.heading"
            found.append(
                SensorChannel(name, heading, "rad", self.angle_sigma, is_angle=True, **when)
            )
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beacon(AbstractInstrument):
    """The distance of a point of a body from a beacon in the world, or the angle it is seen at."""

    word = "beacon"

    #: body, point: body, and point in its axes, m, from which the beacon is seen
    body: str
    point: Point = ZERO
    at: Point  #: place of the beacon in the world, m
    sigma: Length = 0.01  #: standard deviation of the distance, m; 0 if that is not measured
    #: standard deviation of the angle about the vertical from the body's x axis to the beacon, rad;
    #: 0 if it is not measured
    angle_sigma: Angle = 0.0
    #: every, delay: samples of the controller from value to value, and until one arrives
    every: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        check_sensor(self, ("sigma", "angle_sigma"))

    def channels(self, system: System) -> tuple[SensorChannel, ...]:
        """Distance, angle, or both."""
        check_body(system, self.body, self.word)
        place = point_text(self.body, self.point)
        away = [f"(({a}) - {place}.{axis})" for a, axis in zip(self.at, "xyz", strict=True)]
        label = ",".join(str(a) for a in self.at[:2])
        when: dict[str, Any] = {"every": self.every, "delay": self.delay}
        found = []
        if self.sigma:
            text = f"sqrt({away[0]}**2 + {away[1]}**2 + {away[2]}**2)"
            found.append(SensorChannel(f"beacon.{label}.range", text, "m", self.sigma, **when))
        if self.angle_sigma:
            text = f"atan2({away[1]}, {away[0]}) - {heading_text(self.body)}"
            name = f"beacon.{label}.bearing"
            found.append(SensorChannel(name, text, "rad", self.angle_sigma, is_angle=True, **when))
        return tuple(found)


def point_text(body: str, point: Vector3) -> str:
    """The expression of a point of a body."""
    return f"point({body}, {', '.join(f'({x})' for x in point)})"


def heading_text(body: str) -> str:
    """The expression of the heading of a body's x axis."""
    return f"atan2(axis({body}, x).y, axis({body}, x).x)"


def check_body(system: System, body: str, word: str) -> None:
    """Refuse a body that is not there."""
    known = [b.name for b in system.model.bodies]
    if body not in known:
        raise SimulationError(
            f"there is no body '{body}'",
            f"{word} of model '{system.model.name}'",
            nearest(body, known),
        )


def check_sensor(sensor: AbstractInstrument, sizes: Sequence[str]) -> None:
    """Refuse standard deviations that are negative and rates that are no whole numbers."""
    for name in sizes:
        value = getattr(sensor, name)
        if isinstance(value, bool) or not 0 <= value <= LARGEST_SIGMA:
            raise SimulationError(
                f"{name} is {value!r}, expected a number from 0 to {LARGEST_SIGMA:g}",
                f"{sensor.word}",
                f"give {name} a size",
            )
    for name, least in (("every", 1), ("delay", 0)):
        count = getattr(sensor, name, least)
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise SimulationError(
                f"{name} is {count!r}, expected a whole number of samples from {least} on",
                f"{sensor.word}",
                "give it as samples of the controller",
            )
    check_delay(getattr(sensor, "delay", 0), sensor.word)


def check_delay(samples: int, where: str) -> None:
    """Refuse a delay whose line takes more memory than is free, or minutes to compile.

    Raises
    ------
    SimulationError : it does not fit, or is longer than `LONGEST_DELAY`.
    """
    fix = "give a shorter delay, or a longer period of the controller"
    check_memory(DELAY_BYTES * min(samples, 10**30), f"a delay of {samples} samples", where, fix)
    if samples > LONGEST_DELAY:
        raise SimulationError(
            f"a delay of {samples} samples is a line of as many states, and at most "
            f"{LONGEST_DELAY} are carried",
            where,
            fix,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendedKalman:
    """An extended Kalman filter between sensors and controller.

    The controller then sees the estimate. Columns are ``estimate.NAME``, the covariance
    ``covariance.NAME,NAME``, ``nis`` and ``nees``: the normalized squares of innovations and, which
    only a simulation knows, of errors, ``estimate_error.NAME`` at each sample; ``nis_count`` and
    ``nees_count`` are their degrees of freedom.
    """

    #: name of a coordinate or independent speed → standard deviation of what is believed of it at
    #: the start; of those that are not named it is known. Of a quaternion ``JOINT.turn_x`` …, rad.
    #: With ``bias.SENSOR``, such as ``bias.gyroscope.base``, the bias of a sensor is estimated,
    #: from 0 on; by default those that have a `bias_sigma` are. ``got.INPUT`` is the force of an
    #: actuator with a lag or a largest rate.
    start_sigma: Mapping[str, float] = field(default_factory=dict)
    #: input → standard deviation of its noise, held over each period, in its unit; that of its
    #: actuator by default
    input_sigma: Mapping[str, float] = field(default_factory=dict)
    #: name of a coordinate, a speed or a bias → density of further white noise of its rate, in its
    #: unit over √s: for what the model does not know
    drift: Mapping[str, float] = field(default_factory=dict)
    steps: int = 1  #: number of steps of the Runge–Kutta method in a period

    def __post_init__(self) -> None:
        for word in ("start_sigma", "input_sigma", "drift"):
            for name, value in getattr(self, word).items():
                if isinstance(value, bool) or not 0 <= value <= LARGEST_SIGMA:
                    raise SimulationError(
                        f"{word} of '{name}' is {value!r}, expected a number from 0 to "
                        f"{LARGEST_SIGMA:g}",
                        "ExtendedKalman",
                        "give a standard deviation",
                    )
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise SimulationError(
                f"steps is {self.steps!r}", "ExtendedKalman", "give a whole number from 1 on"
            )

    @property
    def key(self) -> tuple[object, ...]:
        """Cache key of its code: everything but the start, whose values are data."""
        return tuple(self.input_sigma.items()), tuple(self.drift.items()), self.steps


class ActuatorDynamics(Protocol):
    """An actuator whose force is a state."""

    @property
    def of(self) -> str:
        """Its input."""

    def over(
        self, force: ca.SX, aim: ca.SX, step: float, left: float
    ) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Forces of a Runge–Kutta step at its start, middle and end, and the force after it."""


class KalmanFilter:
    """The filter of a model: its steps as CasADi functions, and what its states are called.

    `period`: s. `believed`: (nq + nf,) x at the start; that of the model at rest by default.
    """

    def __init__(
        self,
        model: System,
        settings: ExtendedKalman,
        channels: Sequence[SensorChannel],
        period: float,
        believed: Array | None = None,
        actuators: Sequence[ActuatorDynamics] = (),
    ) -> None:
        where = f"estimator of model '{model.model.name}'"
        if model.model.speed_inputs:
            raise SimulationError(
                f"the model has the speed input '{model.model.speed_inputs[0].name}'",
                where,
                "use a motor instead: the filter supports force inputs only",
            )
        if not channels:
            raise SimulationError(
                "nothing is measured",
                where,
                "give sensors: Plant(sensors=(ns.sensors.Odometry(…), …))",
            )
        if model.costates:
            raise SimulationError("the equations have costates", where, "use another formulation")
        self.model, self.settings, self.channels, self.period = model, settings, channels, period
        kin = model.kinematics
        s = kin.symbols
        self.nq, self.nf = s.q.shape[0], kin.eta.shape[0]
        if believed is None:
            found = complete_start(model, {})
            believed = np.concatenate([found.q, found.eta])
        named = {*settings.start_sigma, *settings.drift}
        #: Channels whose bias is a state.
        self.biased = [
            k for k, c in enumerate(channels) if c.bias_sigma or f"bias.{c.name}" in named
        ]
        self.actuators = actuators
        #: Names of the states behind q and η: biases, then forces of actuators.
        self.further = [f"bias.{channels[k].name}" for k in self.biased]
        self.further += [f"got.{a.of}" for a in actuators]
        self.believed: Array = np.concatenate([believed, np.zeros(len(self.further))])
        self._errors()
        self.initial = self._initial(where)
        self.density = np.array([settings.drift.get(n, 0.0) ** 2 for n in self.names])
        self._check_names(settings.drift, where, "drift")
        for name in settings.drift:
            if name.startswith("got."):
                raise SimulationError(
                    f"'{name}' is the force of an actuator",
                    f"{where}, drift",
                    f"give its noise as input_sigma of '{name.removeprefix('got.')}'",
                )
        inputs = [i.name for i in model.model.inputs]
        for name in settings.input_sigma:
            if name not in inputs:
                raise SimulationError(
                    f"there is no force input '{name}'", where, nearest(name, inputs)
                )
        self.input_variance = np.array([settings.input_sigma.get(n, 0.0) ** 2 for n in inputs])
        self.predict, self.measure = self._predict(), self._measure()

    @property
    def size(self) -> int:
        """Number of errors ξ."""
        return len(self.names)

    def pairs(self) -> list[tuple[int, int]]:
        """Entries of the covariance that are kept."""
        return [(i, j) for i in range(self.size) for j in range(i, self.size)]

    def units(self) -> dict[str, str]:
        """Units of errors by name."""
        known = {x.name: x.unit for x in (*self.model.coordinates, *self.model.independent_speeds)}
        known |= {f"bias.{c.name}": c.unit for c in self.channels}
        known |= {f"got.{i.name}": i.unit for i in self.model.model.inputs}
        return {name: known.get(name, "rad") for name in self.names}

    # errors ----------------------------------------------------------------------------------

    def _errors(self) -> None:
        """Names of ξ, T(x) and T⁺(x) as functions of (t, x, p)."""
        kin = self.model.kinematics
        s, nq, nf = kin.symbols, self.nq, self.nf
        names: list[str] = []
        columns: list[ca.SX] = []
        inverse: list[ca.SX] = []
        k = 0
        while k < nq:
            if k in kin.probe.quaternions:
                joint = kin.coordinates[k].name.rpartition(".")[0]
                turning = _turning(s.q[k : k + 4])
                block = ca.SX(nq, 3)
                block[k : k + 4, :] = turning
                columns.append(block)
                back = ca.SX(3, nq)
                back[:, k : k + 4] = 4 * turning.T
                inverse.append(back)
                names += [f"{joint}.turn_{axis}" for axis in "xyz"]
                k += 4
                continue
            unit = ca.SX(nq, 1)
            unit[k] = 1
            columns.append(unit)
            inverse.append(unit.T)
            names.append(kin.coordinates[k].name)
            k += 1
        T0, back0 = ca.horzcat(*columns), ca.vertcat(*inverse)
        independent = list(range(len(names)))
        if kin.held_positions:
            _, values = kin.independent_positions
            G = ca.densify(ca.mtimes(ca.jacobian(values, s.q), T0))
            dependent = _pivots(self._numeric(G))
            independent = [j for j in independent if j not in dependent]
            solved, _ = block_solve(G[:, dependent], ca.densify(G[:, independent]))
            Z = ca.SX(len(names), len(independent))
            for row, j in enumerate(dependent):
                Z[j, :] = -solved[row, :]
            for column, j in enumerate(independent):
                Z[j, column] = 1
            T0 = ca.mtimes(T0, Z)
            back0 = back0[independent, :]
        self.names = [names[j] for j in independent]
        self.names += [x.name for x in self.model.independent_speeds]
        self.names += self.further
        plain = nf + len(self.further)
        T = ca.diagcat(T0, ca.SX.eye(plain))
        back = ca.diagcat(back0, ca.SX.eye(plain))
        self.tangent, self.cotangent = self._function("T", T), self._function("back", back)

    def _function(self, name: str, expression: ca.SX) -> ca.Function:
        """(t, x, p) → an expression of the model's symbols."""
        kin = self.model.kinematics
        s = kin.symbols
        further = ca.SX.sym("further", len(self.further))
        return ca.Function(name, [s.t, ca.vertcat(s.q, kin.eta, further), s.params], [expression])

    def _numeric(self, expression: ca.SX) -> Array:
        """An expression of q at the start."""
        s = self.model.kinematics.symbols
        at = ca.Function("at", [s.t, s.q, s.params], [expression])
        return np.array(at(0.0, self.believed[: self.nq], self.model.parameters()))

    def _check_names(self, given: Mapping[str, float], where: str, word: str) -> None:
        for name in given:
            if name in self.names:
                continue
            known = {x.name for x in (*self.model.coordinates, *self.model.independent_speeds)}
            what = f"'{name}' is no independent coordinate or speed" if name in known else ""
            if name.startswith("bias."):
                measured = [f"bias.{c.name}" for c in self.channels]
                raise SimulationError(
                    f"there is no sensor '{name.removeprefix('bias.')}'",
                    f"{where}, {word}",
                    nearest(name, measured),
                )
            raise SimulationError(
                what or f"there is no coordinate or independent speed '{name}'",
                f"{where}, {word}",
                nearest(name, self.names),
            )

    def _initial(self, where: str) -> Array:
        """(n, n) covariance at the start."""
        self._check_names(self.settings.start_sigma, where, "start_sigma")
        sigma = {f"bias.{c.name}": c.bias_sigma for c in self.channels}
        sigma |= self.settings.start_sigma
        return np.diag([sigma.get(n, 0.0) ** 2 for n in self.names])

    # steps -----------------------------------------------------------------------------------

    def _rates(self) -> ca.Function:
        """(t, x, u, p) → ẋ."""
        model, kin = self.model, self.model.kinematics
        s = kin.symbols
        rates = model.rates_expression[: self.nq + self.nf, :]
        x = ca.vertcat(s.q, kin.eta)
        return ca.Function("rates", [s.t, x, model.equations.inputs, s.params], [ca.densify(rates)])

    def project(self, t: ca.SX, x: ca.SX, p: ca.SX, times: int) -> ca.SX:
        """A state brought onto the constraints."""
        if not self.model.has_projection:
            return x
        moving = self.model.projection_expression[: self.nq + self.nf, :]
        step = self._function("project", moving)
        for _ in range(times):
            x = ca.vertcat(step(t, x, p), x[self.nq + self.nf :])
        return x

    def _predict(self) -> ca.Function:
        """(t, x, u, p) → x⁻, F, Γ and Q of (2) and (3)."""
        model, count = self.model, self.settings.steps
        t, x = ca.SX.sym("t"), ca.SX.sym("x", len(self.believed))
        u = ca.SX.sym("u", model.equations.inputs.shape[0])
        p = ca.SX.sym("p", model.kinematics.symbols.params.shape[0])
        after, h = x, self.period / count
        F, G, Q = ca.SX.eye(self.size), ca.SX(self.size, u.shape[0]), ca.SX(self.size, self.size)
        for k in range(count):
            after, F_k, G_k, Q_k = self._step(h, self.period - k * h)(t + k * h, after, u, p)
            F, G = ca.mtimes(F_k, F), ca.mtimes(F_k, G) + G_k
            Q = ca.mtimes(F_k, ca.mtimes(Q, F_k.T)) + Q_k
        return ca.Function("predict", [t, x, u, p], [ca.densify(e) for e in (after, F, G, Q)])

    def _step(self, h: float, left: float) -> ca.Function:
        """(t, x, u, p) → the same of one Runge–Kutta step, `left` seconds before the sample."""
        model, n = self.model, self.nq + self.nf
        t, x = ca.SX.sym("t"), ca.SX.sym("x", len(self.believed))
        u = ca.SX.sym("u", model.equations.inputs.shape[0])
        p = ca.SX.sym("p", model.kinematics.symbols.params.shape[0])
        rates, now, biases = self._rates(), x[:n], x[n : n + len(self.biased)]
        stages, forces = [[*ca.vertsplit(u)] for _ in range(3)], []
        inputs = [i.name for i in model.model.inputs]
        for k, actuator in enumerate(self.actuators):
            j = inputs.index(actuator.of)
            *given, force = actuator.over(x[n + len(self.biased) + k], u[j], h, left)
            for stage, value in zip(stages, given, strict=True):
                stage[j] = value
            forces.append(force)
        first, middle, last = (ca.vertcat(ca.SX(0, 1), *stage) for stage in stages)
        k1 = rates(t, now, first, p)
        k2 = rates(t + h / 2, now + h / 2 * k1, middle, p)
        k3 = rates(t + h / 2, now + h / 2 * k2, middle, p)
        k4 = rates(t + h, now + h * k3, last, p)
        after = ca.vertcat(now + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), biases, *forces)
        after = self.project(t + h, after, p, 1)
        back = self.cotangent(t, after, p)
        by_state = ca.mtimes(ca.jacobian(after, x), self.tangent(t, x, p))
        F, G = ca.mtimes(back, by_state), ca.mtimes(back, ca.jacobian(after, u))
        half = ca.vertcat(now + h / 2 * k2, x[n:])
        Q = self._noise(t + h / 2, half, middle, p, h)
        return ca.Function("step", [t, x, u, p], [after, F, G, Q])

    def _noise(self, t: ca.SX, x: ca.SX, u: ca.SX, p: ca.SX, h: float) -> ca.SX:
        """Q of (3) over a step, with A of one state.

        (5)  A = T⁺(ẋ_x T − Ṫ),   Q = Σ hᵏ⁺¹/(k+1)! M_k,   M_0 = D,   M_k+1 = A M_k + M_k Aᵀ

        is Van Loan's integral as a series. Biases and forces of actuators do not depend on ξ.
        """
        D = ca.SX(ca.diag(ca.sparsify(ca.DM(self.density))))
        if not self.density.any():
            return ca.SX(self.size, self.size)
        n, moving = self.nq + self.nf, ca.SX.sym("x", len(self.believed))
        inputs = ca.SX.sym("u", u.shape[0])
        rates = ca.vertcat(
            self._rates()(t, moving[:n], inputs, p), ca.SX.zeros(len(self.further), 1)
        )
        T = self.tangent(t, moving, p)
        turned = ca.reshape(ca.jtimes(ca.vec(ca.densify(T)), moving, rates), *T.shape)
        change = ca.mtimes(ca.jacobian(rates, moving), T) - turned
        A = ca.mtimes(self.cotangent(t, moving, p), change)
        A = ca.substitute(
            [A], [moving, inputs] if u.shape[0] else [moving], [x, u][: 1 + bool(u.shape[0])]
        )[0]
        Q, M, share = ca.SX(self.size, self.size), D, 1.0
        for k in range(TERMS):
            share *= h / (k + 1)
            Q = Q + share * M
            step = ca.mtimes(A, M)
            M = step + step.T
        return Q

    def _measure(self) -> ca.Function:
        """(t, x, p) → h and H of (4)."""
        kin = self.model.kinematics
        s = kin.symbols
        further = ca.SX.sym("further", len(self.further))
        x = ca.vertcat(s.q, kin.eta, further)
        texts = [read_expression(self.model, c.text, f"sensor '{c.name}'") for c in self.channels]
        for j, k in enumerate(self.biased):
            texts[k] = texts[k] + further[j]
        h = ca.vertcat(*texts)
        H = ca.mtimes(ca.jacobian(h, x), self.tangent(s.t, x, s.params))
        return ca.Function("measure", [s.t, x, s.params], [ca.densify(h), ca.densify(H)])

    def correct(
        self,
        t: ca.SX,
        x: ca.SX,
        P: ca.SX,
        y: ca.SX,
        due: Sequence[ca.SX],
        p: ca.SX,
        age: int = 0,
    ) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """x and P of (4), the normalized innovation squared, and how many values it is of.

        `y`: (m,) measured values; `due`: whether each was measured at t, 1 or 0; `age`: samples
        since t: later values are not known yet, earlier ones are not new.
        """
        h, H = self.measure(t, x, p)
        step, nis, count = ca.SX.zeros(self.size), ca.SX(0), ca.SX(0)
        for j, channel in enumerate(self.channels):
            if channel.delay > age:
                continue
            row = H[j, :]
            nu = y[j] - h[j]
            if channel.is_angle:
                nu = ca.atan2(ca.sin(nu), ca.cos(nu))
            nu = nu - ca.mtimes(row, step)
            along = ca.mtimes(P, row.T)
            S = ca.mtimes(row, along) + channel.variance
            # a value without noise of what is known already says nothing
            share = ca.if_else(S > 0, due[j] / S, 0)
            step = step + share * nu * along
            P = P - share * ca.mtimes(along, along.T)
            if channel.delay == age:
                nis, count = nis + share * nu**2, count + due[j]
        moved = x + ca.mtimes(self.tangent(t, x, p), step)
        return self.project(t, moved, p, 2), P, nis, count

    def error(self, t: ca.SX, x: ca.SX, true: ca.SX, p: ca.SX) -> ca.SX:
        """ξ from an estimate to the truth."""
        parts = list(ca.vertsplit(true - x))
        for k in self.model.kinematics.probe.quaternions:
            # both signs of a quaternion are one orientation
            sign = ca.sign(ca.dot(true[k : k + 4], x[k : k + 4]))
            for j in range(k, k + 4):
                parts[j] = sign * true[j] - x[j]
        return ca.mtimes(self.cotangent(t, x, p), ca.vertcat(*parts))

    def start(self) -> Array:
        """[x; P] at the start, P by its upper triangle."""
        return np.concatenate([self.believed, [self.initial[i, j] for i, j in self.pairs()]])


def normalized_square(P: ca.SX, e: ca.SX) -> tuple[ca.SX, ca.SX]:
    """eᵀP⁻¹e, traced, and of how many directions it is: those that are known exactly are left out.

    A wheel's angle and the heading that follows from it may be known together far better than
    either; below `KNOWN` of a variance a pivot of P is rounding.
    """
    n = e.shape[0]
    M = [[P[i, j] for j in range(n)] for i in range(n)]
    rest, total, count = list(ca.vertsplit(e)), ca.SX(0), ca.SX(0)
    for k in range(n):
        pivot = M[k][k]
        is_open = pivot > KNOWN * P[k, k]
        share = ca.if_else(is_open, 1 / pivot, 0)
        total, count = total + share * rest[k] ** 2, count + is_open
        for i in range(k + 1, n):
            factor = M[i][k] * share
            rest[i] = rest[i] - factor * rest[k]
            for j in range(k + 1, i + 1):
                M[i][j] = M[i][j] - factor * M[j][k]
    return total, count


def overconfidence(run: Trajectory) -> tuple[str, ...]:
    """A note on a run whose errors are larger than its filter believes, with what is seen of why.

    Of a consistent filter, NEES at a sample is chi-square; the smallest of its probabilities is
    below `CHANCE` over the number of samples in at most that share of all runs.
    """
    nees, count = run["nees"], run["nees_count"]
    chance = np.where(count > 0, chdtrc(np.maximum(count, 1.0), nees), 1.0)
    if not len(nees) or not np.min(chance) < CHANCE / len(nees):
        return ()
    k = int(np.argmin(chance))
    prefix = "estimate_error."
    names = [name.removeprefix(prefix) for name in run.columns if name.startswith(prefix)]
    P = np.array(
        [
            [run[f"covariance.{','.join(names[i] for i in sorted(pair))}"][k] for pair in row]
            for row in [[(i, j) for j in range(len(names))] for i in range(len(names))]
        ]
    )
    told = np.diag(P) > 0
    sigma = np.sqrt(np.diag(P)[told])
    thin = math.sqrt(max(np.linalg.eigvalsh(P[np.ix_(told, told)] / np.outer(sigma, sigma))[0], 0))
    why = (
        "what it is not told: a start further off than start_sigma, noise, or what its model "
        "leaves out (drift)"
    )
    if thin < THIN:
        better = "exactly" if thin < 1e-9 else f"{1 / thin:.0e} times better than its parts"
        why = (
            f"a direction of the state that it believes to know {better}: there errors of second "
            "order, and of a Runge–Kutta step, are larger than that; give start_sigma of what is "
            "not known exactly at the start, drift, or more steps"
        )
    return (
        f"the filter is overconfident: NEES {nees[k]:.3g} of {count[k]:.0f} errors at "
        f"t = {run.t[k]:.4g} s, by {why}",
    )


def _turning(q: ca.SX) -> ca.SX:
    """(4, 3) ∂q/∂θ of a quaternion, scalar first, by a small rotation θ in body axes."""
    w, x, y, z = ca.vertsplit(q)
    rows = ((-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w))
    return 0.5 * ca.vertcat(*[ca.horzcat(*row) for row in rows])


def _pivots(G: Array) -> list[int]:
    """Columns that determine the rows best, in order of elimination."""
    left, found = G.astype(float).copy(), []
    for _ in range(len(G)):
        k = int(np.argmax(np.linalg.norm(left, axis=0)))
        found.append(k)
        direction = left[:, k] / np.linalg.norm(left[:, k])
        left = left - np.outer(direction, direction @ left)
    return sorted(found)
