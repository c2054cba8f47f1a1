"""A plant that the controller does not know: other parameters, disturbances, sensors, actuators.

    controller of the model ──wanted──► actuators ──► plant ──► sensors ──seen──► controller

The controller is traced for the model it believes in, as a function of what it sees; the plant is
simulated. Where the loop is sampled, sensors are read at every sample: x plus bias plus noise,
rounded to the quantum, some samples late; the controller computes from what it sees, or from what
an estimator makes of it (`estimators.py`), and actuators make of its command what they can. Noise
is drawn from a counter (`simulation/loop/steps.py`), so that a run repeats to the bit and every
run of a batch has numbers of its own.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import casadi as ca
import numpy as np
from scipy.special import ive

from noslip.base import Array, IdentityKey, SimulationError, as_number, find_member, nearest
from noslip.control.estimators import (
    LARGEST_SIGMA,
    AbstractInstrument,
    ExtendedKalman,
    KalmanFilter,
    SensorChannel,
    check_delay,
    normalized_square,
    overconfidence,
)
from noslip.control.text_grammar import read_entries, read_form, read_number
from noslip.engines import System
from noslip.engines import compile as compile_system
from noslip.expressions import Scalar
from noslip.formulations import derive
from noslip.model import AbstractForce, ModelBuilder, Quantity, Vector3
from noslip.simulation import (
    AbstractInputLaw,
    InputGenerator,
    Trajectory,
    inputs_expression,
    read_expression,
)

#: Samples that an estimator repeats for late values; its code grows with them.
LATEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensor:
    """Sensor of a coordinate or an independent speed."""

    of: str  #: name of the coordinate or speed
    #: standard deviation of the noise of each sample, in the unit of what is measured
    sigma: float = 0.0
    #: density of white noise, in place of `sigma`, in that unit times √s: sigma = density/√(time
    #: between samples)
    density: float = 0.0
    bias: float = 0.0  #: constant error
    quantum: float = 0.0  #: step to whole multiples of which the value is rounded; 0 for none
    every: int = 1  #: a new value every so many samples of the controller
    delay: int = 0  #: samples of the controller by which it is late
    #: standard deviation of a further bias, drawn anew for every run; an estimator estimates it
    bias_sigma: float = 0.0

    def __post_init__(self) -> None:
        _check_sizes(self, "sigma", "density", "quantum", "bias_sigma")
        _check_finite(self, "bias")
        if self.sigma and self.density:
            raise SimulationError(
                "the noise is given by both sigma and density",
                f"Sensor(of='{self.of}')",
                "give sigma, of each sample, or density, in units times √s",
            )
        for name, least in (("every", 1), ("delay", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SimulationError(
                    f"{name} is {value!r}, expected a whole number of samples from {least} on",
                    f"Sensor(of='{self.of}')",
                    f"give {name} as samples of the controller; sensors are read with its period",
                )
        check_delay(self.delay, f"Sensor(of='{self.of}')")

    @property
    def is_sampled(self) -> bool:
        """Whether it needs samples."""
        noisy = self.sigma or self.density or self.quantum or self.bias_sigma
        return bool(noisy or self.every > 1 or self.delay)

    def sigma_at(self, period: float) -> float:
        """Standard deviation of a value, where the controller looks every `period` seconds."""
        return self.sigma or self.density / math.sqrt(period * self.every)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actuator:
    """Actuator of a force input; its effects apply to the command in this order."""

    of: str  #: name of the input
    #: width within which a command does not move it, in the unit of the input
    backlash: float = 0.0
    dead_zone: float = 0.0  #: magnitude below which nothing arrives; beyond, that much less
    largest: float = math.inf  #: magnitude that it can give
    lag: float = 0.0  #: time constant, s: ḟ = (command − f)/lag
    fastest: float = math.inf  #: largest rate of what it gives, in the unit of the input per s
    #: standard deviation of noise that is added to what it aims at, anew in each sample
    sigma: float = 0.0

    def __post_init__(self) -> None:
        _check_sizes(self, "backlash", "dead_zone", "lag", "sigma")
        for name in ("largest", "fastest"):
            value = getattr(self, name)
            if isinstance(value, bool) or not value > 0:
                raise SimulationError(
                    f"{name} is {value!r}, expected more than 0",
                    f"Actuator(of='{self.of}')",
                    f"give {name} a positive number, or leave it out",
                )

    def static(self, command: ca.SX) -> ca.SX:
        """Dead zone and largest magnitude."""
        if self.dead_zone:
            d = self.dead_zone
            command = command - ca.fmin(ca.fmax(command, -d), d)
        if math.isfinite(self.largest):
            command = ca.fmin(ca.fmax(command, -self.largest), self.largest)
        return command

    @property
    def is_dynamic(self) -> bool:
        """Whether what it gives is a state."""
        return self.lag > 0 or math.isfinite(self.fastest)

    def over(
        self, force: ca.SX, aim: ca.SX, step: float, left: float
    ) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """What it gives in a Runge–Kutta step: at its start, middle and end, and after it.

        With a lag τ alone f = aim + (f₀ − aim) e^{−s/τ}. The first three values are those of the
        quadratic polynomial nearest to it (of least squares), whose moments of order 0, 1 and 2
        are those of f: impulse and displacement are right for a lag far shorter than the step.
        With a largest rate too, f moves at it until |aim − f| = rate·τ.

        Parameters
        ----------
        force, aim : f₀ at the start of the step, and what it aims at.
        step : s.
        left : s from the start of the step to the next sample.
        """
        if not self.lag:
            rate = _limited((aim - force) / left, self.fastest)
            end = force + step * rate
            return force, force + step / 2 * rate, end, end
        away = force - aim
        if not math.isfinite(self.fastest):
            first, middle, last = decay_fit(step / self.lag)
            after = aim + math.exp(-step / self.lag) * away
            return aim + first * away, aim + middle * away, aim + last * away, after
        near = _limited(away, self.fastest * self.lag)
        until = (away - near) / (ca.sign(away) * self.fastest + (away == 0))

        def at(s: float) -> ca.SX:
            moved = ca.fmin(until, s)
            tail = ca.exp(-(s - moved) / self.lag)
            return aim + (away - ca.sign(away) * self.fastest * moved) * tail

        return force, at(step / 2), at(step), at(step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """Plant that is driven, as far as it differs from the model that the controller knows."""

    #: compiled system with the model's coordinates, such as one with other tires, or with inputs
    #: for disturbances; the model's own by default
    system: System | None = None
    #: values that differ from those that the controller knows
    parameters: Mapping[str, float] = field(default_factory=dict)
    #: coordinates and speeds that differ from the reference's at the start
    start: Mapping[str, float] = field(default_factory=dict)
    #: forces that act on it beside the model's: a push (:class:`Wrench`, whose entries may be
    #: expressions of ``t``), friction in a joint, drag
    forces: tuple[AbstractForce, ...] = ()
    #: m/s² in world axes, such as that of a slope; the model's own by default
    gravity: Vector3 | None = None
    #: inputs that are not actuators → expression of ``t`` and the plant's parameters
    disturbances: Mapping[str, Scalar] = field(default_factory=dict)
    #: sensors of coordinates and speeds; the controller sees those without a sensor exactly. With
    #: an estimator, all that is measured: :class:`Sensor`, :class:`Odometry`, :class:`Gyroscope`,
    #: :class:`PoseSensor`, :class:`Beacon`.
    sensors: tuple[Sensor | AbstractInstrument, ...] = ()
    #: estimator between sensors and controller; none by default
    estimator: ExtendedKalman | None = None
    #: actuators between commands and inputs; commands without one arrive unchanged
    actuators: tuple[Actuator, ...] = ()
    #: seed, run: seed of the noise, and number of the run
    seed: int = 0
    run: int = 0

    def __post_init__(self) -> None:
        """Take lists for tuples; a plant is compared with others."""
        for name in ("forces", "gravity", "sensors", "actuators"):
            if isinstance(given := getattr(self, name), list):
                object.__setattr__(self, name, tuple(given))
        for name in ("seed", "run"):
            number = getattr(self, name)
            if not isinstance(number, int) or not 0 <= as_number(number) < 2**63:
                raise SimulationError(
                    f"{name} is {number!r:.40}", "Plant", "give a whole number from 0 to 2**63 - 1"
                )

    def driven(self, model: System) -> System:
        """The system that is driven, compiled once for equal forces and gravity.

        Parameters
        ----------
        model : model that the controller knows.
        """
        base = self.system or model
        if not self.forces and self.gravity is None:
            return base

        def make() -> System:
            known = base.model
            gravity = known.gravity if self.gravity is None else self.gravity
            forces = (*known.forces, *self.forces)
            other = replace(known, gravity=gravity, forces=forces, scenario=None)
            # checked as any other
            built = ModelBuilder.from_model(other).build()
            return compile_system(derive(built, base.equations.formulation))

        return base.cached(("plant", self.forces, self.gravity), make)

    def check(self, model: System, period: float) -> None:
        """Refuse names that are not known, and signals that need samples without a period.

        Parameters
        ----------
        model : model that the controller knows.
        period : s between its samples, 0 for a continuous loop.
        """
        where = f"plant of model '{model.model.name}'"
        plant = self.driven(model)
        seen = [c.name for c in model.coordinates] + [s.name for s in model.independent_speeds]
        forces = [i.name for i in model.model.inputs]
        inputs = [i.name for i in plant.model.inputs]
        for kind, names, known in (
            ("sensor", [s.of for s in self.plain_sensors], seen),
            ("actuator", [a.of for a in self.actuators], forces),
            ("disturbance", list(self.disturbances), inputs),
        ):
            for name in names:
                if name not in known:
                    raise SimulationError(
                        f"there is no '{name}' for {kind}s", where, nearest(name, known)
                    )
                if names.count(name) > 1:
                    raise SimulationError(
                        f"'{name}' has two {kind}s", where, f"give one {kind} for it"
                    )
        for name in self.disturbances:
            if name in forces:
                raise SimulationError(
                    f"input '{name}' is a disturbance, but the controller uses it too",
                    where,
                    "give a plant system with an input of its own for it: Plant(system=…)",
                )
        missing = [c.name for c in model.coordinates]
        missing = [name for name in missing if name not in {c.name for c in plant.coordinates}]
        if missing:
            raise SimulationError(
                f"the plant has no coordinate '{missing[0]}', which the controller's model has",
                where,
                "give a plant with the same joints",
            )
        self._check_estimator(where)
        if period:
            return
        if self.estimator is not None:
            raise SimulationError(
                "an estimator works on samples, and the loop is continuous",
                where,
                "give a period, such as period=0.01",
            )
        late = [s.of for s in self.plain_sensors if s.is_sampled]
        late += [a.of for a in self.actuators if a.sigma]
        late += [a.of for a in self.actuators if a.backlash]
        late += [a.of for a in self.actuators if math.isfinite(a.fastest) and not a.lag]
        if late:
            raise SimulationError(
                f"noise, rounding, delays, backlash and rate limits without lag belong to sampled "
                f"signals, and the loop of '{late[0]}' is continuous",
                where,
                "give a period, such as period=0.01",
            )

    def _check_estimator(self, where: str) -> None:
        instruments = [s for s in self.sensors if isinstance(s, AbstractInstrument)]
        if self.estimator is None and instruments:
            raise SimulationError(
                f"a controller uses coordinates and speeds, but {instruments[0].word} measures "
                "something else",
                where,
                "give an estimator: Plant(estimator=ns.sensors.ExtendedKalman(…))",
            )
        late = max((getattr(s, "delay", 0) for s in self.sensors), default=0)
        if self.estimator is not None and late > LATEST:
            raise SimulationError(
                f"a sensor is delayed by {late} samples, and the estimator supports up to {LATEST}",
                where,
                "give a longer period, or a shorter delay",
            )

    @property
    def plain_sensors(self) -> tuple[Sensor, ...]:
        """Sensors of coordinates and speeds."""
        return tuple(s for s in self.sensors if isinstance(s, Sensor))

    def channels(self, model: System, period: float) -> tuple[SensorChannel, ...]:
        """Everything that is measured for an estimator, in order."""
        units = {x.name: x.unit for x in _seen(model)}
        found: list[SensorChannel] = []
        for s in self.sensors:
            if isinstance(s, AbstractInstrument):
                found += s.channels(model)
                continue
            sigma = s.sigma_at(period)
            found.append(
                SensorChannel(
                    s.of,
                    s.of,
                    units[s.of],
                    sigma,
                    bias=s.bias,
                    quantum=s.quantum,
                    every=s.every,
                    delay=s.delay,
                    bias_sigma=s.bias_sigma,
                )
            )
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlantLaw(AbstractInputLaw):
    """A controller of a model, closed round a plant."""

    model: System  #: compiled system that the controller knows
    law: AbstractInputLaw  #: continuous law of the controller's inputs
    known: Array  #: (np,) parameter values that it knows
    plant: Plant  #: plant that is driven
    period: float = 0.0  #: s between samples; 0 for a continuous loop
    #: (nq + nf,) coordinates and independent speeds that an estimator starts from; those of the
    #: model at rest by default
    believed: Array | None = None

    def keeping(self, values: Array) -> AbstractInputLaw:
        """Itself: it knows parameters of its own."""
        return self

    def generator(self, system: System) -> InputGenerator:
        """The loop in the symbols of the plant's system."""
        own = self.law.generator(self.model)
        law = _law_function(self.model, own)
        z = ca.SX.sym("z", len(own.start))
        known = ca.SX.sym("known", len(self.known) + len(own.parameter_values))
        names = [i.name for i in self.model.inputs]
        given = {n: k for k, n in enumerate(names) if n in own.inputs}
        t = system.kinematics.symbols.t
        true = self._true(system)
        sampled = self._sampled if self.period else self._continuous
        loop = _Loop(system, names, given, law, t, z, known, true, own)
        parts = sampled(loop)
        inputs = {**parts.inputs, **self._disturbances(system)}
        update = parts.update
        if update is not None and system.model.speed_inputs:
            # speeds that depend on speed inputs see those that are given
            num = len(system.model.inputs)
            symbols = system.equations.inputs[num:, :]
            now = [ca.densify(inputs.get(i.name, ca.SX(0))) for i in system.inputs[num:]]
            update = ca.substitute([update], [symbols], [ca.vertcat(*now)])[0]
        assert update is None or update.shape[0] == z.shape[0] + parts.states.shape[0]
        units = {x.name: x.unit for x in (*system.inputs, *_seen(self.model))}
        own_units = (parts.units.get(n, units.get(n.partition(".")[2], "1")) for n in parts.names)
        begin = np.zeros(parts.states.shape[0])
        begin[: len(parts.start)] = parts.start
        return replace(
            own,
            inputs=inputs,
            states=ca.vertcat(z, parts.states),
            rates=ca.vertcat(parts.law_rates, parts.rates),
            start=np.concatenate([own.start, begin]),
            names=(*own.names, *parts.names),
            units=(*own.units, *own_units),
            parameters=known,
            parameter_values=np.concatenate([self.known, own.parameter_values]),
            update=update,
            period=self.period,
            noise=parts.noise,
            shown=parts.shown,
            seed=self.plant.seed,
            run=self.plant.run,
            guards=(),
            is_rounded=any(getattr(s, "quantum", 0.0) for s in self.plant.sensors),
            key=self._key(own, parts.names),
        )

    def with_columns(self, system: System, run: Trajectory) -> Trajectory:
        """A run with measured, commanded and applied values, as far as these are no states.

        Parameters
        ----------
        system : the plant's.
        run : run of the plant under this law.
        """
        if not len(run.t):
            return run
        if self.plant.estimator is not None:
            run = run.also_noted(*overconfidence(run))
        own = self.law.generator(self.model)
        units = {i.name: i.unit for i in self.model.inputs}
        given = [i.name for i in self.model.inputs if i.name in own.inputs]
        columns = {}
        if not self.period:
            kin = system.kinematics
            s = kin.symbols
            names = [p.name for p in system.model.parameters]
            params = system.parameters({name: run.parameters[name] for name in names})
            z = ca.SX.sym("z", len(own.start))
            known = np.concatenate([self.known, own.parameter_values])
            biases = {x.of: x.bias for x in self.plant.plain_sensors}
            seen = self._true(system) + ca.DM([biases.get(n, 0.0) for n in _seen_names(self.model)])
            law = _law_function(self.model, own)
            wanted, _, _ = law(s.t, seen, z, ca.DM(known), ca.SX(own.asked))
            both = [s.t, s.q, kin.eta, z, s.params, s.w]
            found = ca.Function("signals", both, [ca.densify(seen), wanted])
            speeds = [i.name for i in system.model.speed_inputs]
            at = [
                run.t[None, :],
                run.q.T,
                kin.independent_values(run.t, run.q, run.v, params).T,
                np.array([run[name] for name in own.names]).reshape(len(own.names), len(run.t)),
                np.repeat(params[:, None], len(run.t), axis=1),
                np.array([run[name] for name in speeds]).reshape(len(speeds), len(run.t)),
            ]
            saw, wished = (np.array(e) for e in found.map(len(run.t)).call(at))
            places = [i.name for i in self.model.inputs]
            for k, x in enumerate(_seen(self.model)):
                if x.name in biases:
                    columns[f"seen.{x.name}"] = x.unit, saw[k]
            columns |= {f"wanted.{n}": (units[n], wished[places.index(n)]) for n in given}
        columns |= {f"got.{n}": (units[n], run[n]) for n in given if f"got.{n}" not in run.columns}
        return run.replaced(extra={**run.extra, **columns})

    def _key(self, own: InputGenerator, names: tuple[str, ...]) -> Hashable:
        """Cache key of the code: noise, starts and parameters are values."""
        if own.key is None:
            return None
        plant = self.plant
        disturbances = tuple((name, str(text)) for name, text in plant.disturbances.items())
        filtered = plant.estimator.key if plant.estimator is not None else None
        signals = plant.sensors, plant.actuators, disturbances, self.period, filtered
        # which errors a filter has depends on where it starts; names of states say it
        return "plant", own.key, signals, names, IdentityKey(self.model)

    def _true(self, system: System) -> ca.SX:
        """Coordinates and independent speeds of the model, of the plant's state."""
        kin = system.kinematics
        q = {c.name: kin.symbols.q[k] for k, c in enumerate(kin.coordinates)}
        speeds = {s.name: kin.v[k] for k, s in enumerate(kin.speeds)}
        speeds |= {s.name: kin.eta[k] for k, s in enumerate(system.independent_speeds)}
        for s in self.model.independent_speeds:
            if s.name not in speeds:
                raise SimulationError(
                    f"the plant has no speed '{s.name}', which the controller uses",
                    f"plant of model '{self.model.model.name}'",
                    "declare the same independent speed in the plant's model",
                )
        eta = [speeds[s.name] for s in self.model.independent_speeds]
        return ca.vertcat(*[q[c.name] for c in self.model.coordinates], *eta)

    def _disturbances(self, system: System) -> dict[str, ca.SX]:
        return {
            name: read_expression(system, str(text), f"disturbance '{name}'")
            for name, text in self.plant.disturbances.items()
        }

    def _continuous(self, loop: _Loop) -> _Parts:
        biases = {s.of: s.bias for s in self.plant.plain_sensors}
        seen = loop.true + ca.DM([biases.get(n, 0.0) for n in _seen_names(self.model)])
        wanted, law_rates, _ = loop.call(seen, loop.z)
        inputs = {name: wanted[k] for name, k in loop.given.items()}
        states, rates, names = [], [], []
        for actuator in self.plant.actuators:
            aim = actuator.static(inputs[actuator.of])
            if actuator.is_dynamic:
                force = ca.SX.sym("force")
                states.append(force)
                rates.append(_limited((aim - force) / actuator.lag, actuator.fastest))
                names.append(f"got.{actuator.of}")
                aim = force
            inputs[actuator.of] = aim
        return _Parts(
            inputs=inputs,
            law_rates=law_rates,
            states=ca.vertcat(ca.SX(0, 1), *states),
            rates=ca.vertcat(ca.SX(0, 1), *rates),
            names=tuple(names),
        )

    def _sampled(self, loop: _Loop) -> _Parts:
        """Sensors, controller and actuators at every sample; inputs held, or moving, in between."""
        period, model = self.period, self.model
        tick = ca.SX.sym("tick")
        forces = [n for n in loop.given if n in {i.name for i in model.model.inputs}]
        speeds = [n for n in loop.given if n in {i.name for i in model.model.speed_inputs}]
        held = ca.SX.sym("wanted", len(forces))
        actuators = {a.of: a for a in self.plant.actuators}
        inside = {n: _ActuatorStates() for n in actuators}
        if self.plant.estimator is None:
            sight = self._direct(loop, tick)
        else:
            before = {n: held[k] for k, n in enumerate(forces)}
            # what actuators aimed at in the period, but for their noise
            for own in self.plant.actuators:
                command = inside[own.of].play if own.backlash else before[own.of]
                before[own.of] = own.static(command)
            given = {n: s.force for n, s in inside.items() if actuators[n].is_dynamic}
            sight = self._estimated(loop, tick, before, given)
        noise = list(sight.noise)
        wanted, _, shown = loop.call(sight.new_seen, loop.z)
        _, law_rates, _ = loop.call(sight.seen, loop.z)
        commands = [wanted[loop.given[n]] for n in forces]
        states = [sight.states, tick, held]
        updates = [sight.updates, tick + 1, ca.vertcat(ca.SX(0, 1), *commands)]
        rates = [ca.SX.zeros(sight.states.shape[0]), ca.SX(0), ca.SX.zeros(len(forces))]
        names = [*sight.names, "sample", *(f"wanted.{n}" for n in forces)]
        inputs: dict[str, ca.SX] = {}
        for k, name in enumerate(forces):
            actuator = actuators.get(name)
            if actuator is None:
                inputs[name] = held[k]
                continue
            extra = ca.SX(0)
            if actuator.sigma:
                u = ca.SX.sym(f"u_{name}", 2)
                noise.append(u)
                extra = actuator.sigma * _normal(u)
            parts = _actuated(actuator, commands[k], extra, period, inside[name])
            inputs[name] = parts.inputs[name]
            states.append(parts.states)
            updates.append(ca.SX(0, 1) if parts.update is None else parts.update)
            rates.append(parts.rates)
            names += parts.names
        for name in speeds:
            # a speed goes on from where it is, at a constant rate, to what is wanted
            speed, slope = ca.SX.sym("speed"), ca.SX.sym("slope")
            aim = wanted[loop.given[name]]
            states += [speed, slope]
            updates += [speed, (aim - speed) / period]
            rates += [slope, ca.SX(0)]
            names += [f"got.{name}", f"slope.{name}"]
            inputs |= {name: speed, f"{name}_rate": slope}
        return _Parts(
            inputs=inputs,
            law_rates=law_rates,
            states=ca.vertcat(*states),
            rates=ca.vertcat(*rates),
            names=tuple(names),
            update=ca.vertcat(loop.kept, *updates),
            noise=ca.vertcat(ca.SX(0, 1), *noise),
            shown=shown,
            start=sight.start,
            units=sight.units,
        )

    def _direct(self, loop: _Loop, tick: ca.SX) -> _Sight:
        """Coordinates and speeds as sensors show them."""
        period = self.period
        sensed = _seen_names(self.model)
        seen = ca.SX.sym("seen", len(sensed))
        noise: list[ca.SX] = []
        new_seen = ca.vertsplit(seen)
        lines: list[tuple[ca.SX, ca.SX]] = []  # delay lines: states and their new values
        biases = _Biases(tick)
        sensors = {s.of: s for s in self.plant.plain_sensors}
        for k, name in enumerate(sensed):
            sensor = sensors.get(name, Sensor(of=name))
            value = loop.true[k] + biases.of(name, sensor.bias, sensor.bias_sigma)
            sigma = sensor.sigma_at(period)
            if sigma:
                u = ca.SX.sym(f"u{k}", 2)
                noise.append(u)
                value = value + sigma * _normal(u)
            if sensor.quantum:
                value = _rounded(value, sensor.quantum)
            if sensor.delay:
                line = ca.SX.sym(f"line{k}", sensor.delay)
                # at the start it has seen the start ever since
                first = ca.if_else(tick < 0.5, ca.repmat(value, sensor.delay, 1), line)
                lines.append((line, ca.vertcat(first[1:, :], value)))
                value = first[0]
            if sensor.every > 1:
                value = ca.if_else(_is_due(tick, sensor.every), value, seen[k])
            new_seen[k] = value
        # what no sensor measures is seen as it is at the sample
        names = [f"seen.{n}" if n in sensors else f"sampled.{n}" for n in sensed]
        for line, _ in lines:
            names += [f"late.{len(names)}.{k}" for k in range(line.shape[0])]
        shown = ca.vertcat(*new_seen)
        return _Sight(
            seen=seen,
            new_seen=shown,
            states=ca.vertcat(seen, *(line for line, _ in lines), *biases.states),
            updates=ca.vertcat(shown, *(new for _, new in lines), *biases.updates),
            names=(*names, *biases.names),
            noise=(*noise, *biases.noise),
        )

    def _estimated(
        self, loop: _Loop, tick: ca.SX, before: Mapping[str, ca.SX], given: Mapping[str, ca.SX]
    ) -> _Sight:
        """The estimate of a filter, from measurements and what actuators aimed at in the period.

        `given` are the forces of actuators that are states.
        """
        assert self.plant.estimator is not None
        model, t = self.model, loop.t
        channels = self.plant.channels(model, self.period)
        noisy = {a.of: a.sigma for a in self.plant.actuators if a.sigma}
        settings = self.plant.estimator
        settings = replace(settings, input_sigma=noisy | dict(settings.input_sigma))
        dynamic = [a for a in self.plant.actuators if a.of in given]
        ekf = KalmanFilter(model, settings, channels, self.period, self.believed, dynamic)
        pairs, units = ekf.pairs(), ekf.units()
        p = loop.known[: model.kinematics.symbols.params.shape[0], :]
        inputs = ca.vertcat(ca.SX(0, 1), *(before.get(i.name, 0) for i in model.model.inputs))
        biases, noise, values = _Biases(tick), [], []
        for k, channel in enumerate(channels):
            value = read_expression(loop.system, channel.text, f"sensor '{channel.name}'")
            value = value + biases.of(channel.name, channel.bias, channel.bias_sigma)
            if channel.sigma:
                noise.append(ca.SX.sym(f"u{k}", 2))
                value = value + channel.sigma * _normal(noise[-1])
            if channel.quantum:
                value = _rounded(value, channel.quantum)
            values.append(value)
        # x and P as many samples ago as the latest value is late, inputs and values since then
        late = max(c.delay for c in channels)
        x, packed = ca.SX.sym("x", len(ekf.believed)), ca.SX.sym("P", len(pairs))
        used = ca.SX.sym("used", inputs.shape[0], late)
        line = ca.SX.sym("line", len(channels), late)
        all_inputs, all_values = ca.horzcat(inputs, used), ca.horzcat(ca.vertcat(*values), line)
        nis, count = ca.SX(0), ca.SX(0)
        x_new, P_new = x, _unpacked(packed, pairs, ekf.size)
        kept: list[ca.SX] = []
        for age in range(late, -1, -1):
            then, index = t - age * self.period, tick - age
            x_next, F, G, Q = ekf.predict(then - self.period, x_new, all_inputs[:, age], p)
            Q = Q + ca.mtimes(ca.mtimes(G, ca.diag(ca.DM(ekf.input_variance))), G.T)
            is_moved = index > 0.5
            P_new = ca.if_else(is_moved, ca.mtimes(F, ca.mtimes(P_new, F.T)) + Q, P_new)
            x_new = ca.if_else(is_moved, x_next, x_new)
            due = [_is_due(index, c.every) * (index > -0.5) for c in channels]
            x_new, P_new, *news = ekf.correct(then, x_new, P_new, all_values[:, age], due, p, age)
            nis, count = nis + news[0], count + news[1]
            if age == late and late:
                kept = [x_new, *(P_new[i, j] for i, j in pairs)]
        shown = ca.SX.sym("measured", len(channels))
        # a value shows when it arrives; before the first one, what is there to measure
        arrived = [
            ca.if_else(
                _is_due(tick - c.delay, c.every) * (tick - c.delay > -0.5),
                all_values[k, c.delay],
                ca.if_else(tick < 0.5, values[k], shown[k]),
            )
            for k, c in enumerate(channels)
        ]
        true = ca.vertcat(loop.true, *(biases.values[channels[k].name] for k in ekf.biased))
        true = ca.vertcat(true, *(given[a.of] for a in dynamic))
        error = ekf.error(t, x_new, true, p)
        nees = normalized_square(P_new, error)
        extra = ca.SX.sym("normalized", 4 + ekf.size)
        off = {f"estimate_error.{n}": units[n] for n in ekf.names}
        square = {
            f"covariance.{ekf.names[i]},{ekf.names[j]}": (
                f"({units[ekf.names[i]]})*({units[ekf.names[j]]})"
            )
            for i, j in pairs
        }
        believed = [f"estimate.{n}" for n in (*_seen_names(model), *ekf.further)]
        entries = [P_new[i, j] for i, j in pairs]
        states, updates = [x, packed], [x_new, *entries]
        names, start = [*believed, *square], ekf.start()
        if late:
            now, squares = ca.SX.sym("now", x.shape[0]), ca.SX.sym("squares", len(pairs))
            states = [now, squares, *states, ca.vec(used), ca.vec(line)]
            updates += [*kept, ca.vec(all_inputs[:, :-1]), ca.vec(all_values[:, :-1])]
            names += [f"late.{n}" for n in names]
            names += [f"late.wanted.{i.name}.{k}" for k in range(late) for i in model.model.inputs]
            names += [f"late.measured.{c.name}.{k}" for k in range(late) for c in channels]
            start = np.concatenate([start, start])
        shown_units = {f"measured.{c.name}": c.unit for c in channels}
        shown_units |= {f"bias.{c.name}": c.unit for c in channels}
        return _Sight(
            seen=states[0][: ekf.nq + ekf.nf],
            new_seen=x_new[: ekf.nq + ekf.nf],
            states=ca.vertcat(*states, shown, extra, *biases.states),
            updates=ca.vertcat(*updates, *arrived, nis, count, *nees, error, *biases.updates),
            names=(
                *names,
                *(f"measured.{c.name}" for c in channels),
                "nis",
                "nis_count",
                "nees",
                "nees_count",
                *off,
                *biases.names,
            ),
            noise=(*noise, *biases.noise),
            start=start,
            units=square | off | shown_units | {f"estimate.{n}": units[n] for n in ekf.further},
        )


class _Biases:
    """Biases of sensors: a number, and what each run draws for itself at its first sample."""

    def __init__(self, tick: ca.SX) -> None:
        self.tick = tick
        self.states: list[ca.SX] = []
        self.updates: list[ca.SX] = []
        self.noise: list[ca.SX] = []
        self.names: list[str] = []
        self.values: dict[str, ca.SX] = {}

    def of(self, name: str, bias: float, sigma: float) -> ca.SX:
        """The bias of a sensor, kept as a state if it is drawn."""
        self.values[name] = ca.SX(bias)
        if sigma:
            state, u = ca.SX.sym("bias"), ca.SX.sym("u_bias", 2)
            value = ca.if_else(self.tick < 0.5, bias + sigma * _normal(u), state)
            self.states.append(state)
            self.updates.append(value)
            self.noise.append(u)
            self.names.append(f"bias.{name}")
            self.values[name] = value
        return self.values[name]


def _unpacked(packed: ca.SX, pairs: list[tuple[int, int]], size: int) -> ca.SX:
    """A symmetric matrix of its upper triangle."""
    P = ca.SX(size, size)
    for entry, (i, j) in enumerate(pairs):
        P[i, j] = P[j, i] = packed[entry]
    return P


@dataclass(slots=True)
class _Loop:
    """Symbols of a loop that is being written."""

    system: System
    names: list[str]  # of the model's inputs
    given: dict[str, int]
    law: ca.Function
    t: ca.SX
    z: ca.SX
    known: ca.SX
    true: ca.SX

    own: InputGenerator

    @property
    def kept(self) -> ca.SX:
        """The law's own states after an update: signals of a Python law are new."""
        num = self.own.num_signals
        if not num:
            return self.z
        return ca.vertcat(self.z[: self.z.shape[0] - num, :], self.own.asked[-num:, :])

    def call(self, seen: ca.SX, z: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Inputs that the law wants, rates of its states, and what a Python law is shown."""
        found: Any = self.law(self.t, seen, z, self.known, self.own.asked)
        return found


@dataclass(slots=True, kw_only=True)
class _Parts:
    inputs: dict[str, ca.SX]
    states: ca.SX
    rates: ca.SX
    names: tuple[str, ...]
    law_rates: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    update: ca.SX | None = None
    noise: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    shown: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    start: Array = field(default_factory=lambda: np.zeros(0))
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Sight:
    """Sampled measurement: its states, their new values, and the noise drawn."""

    seen: ca.SX
    new_seen: ca.SX
    states: ca.SX
    updates: ca.SX
    names: tuple[str, ...]
    noise: tuple[ca.SX, ...]
    start: Array = field(default_factory=lambda: np.zeros(0))
    units: Mapping[str, str] = field(default_factory=dict)


def _normal(u: ca.SX) -> ca.SX:
    """A normal number of two uniform ones."""
    return ca.sqrt(-2 * ca.log(u[0])) * ca.cos(2 * math.pi * u[1])


def _rounded(value: ca.SX, quantum: float) -> ca.SX:
    return quantum * ca.floor(value / quantum + 0.5)


def _is_due(tick: ca.SX, every: int) -> ca.SX:
    """Whether a sensor has a new value in a sample."""
    return ca.fmod(tick, every) < 0.5


def _law_function(model: System, own: InputGenerator) -> ca.Function:
    """Inputs, ż and what a Python law is shown, in numbers that the model knows.

    Of (t, [q; η], z, [parameters; the law's], answers of a Python law).
    """
    kin = model.kinematics
    s = kin.symbols
    both = ca.vertcat(inputs_expression(model, own), own.shown)
    states = ca.SX(own.states)
    z = ca.SX.sym("z", states.shape[0])
    seen = ca.SX.sym("seen", s.q.shape[0] + kin.eta.shape[0])
    known = ca.SX.sym("known", s.params.shape[0] + own.parameters.shape[0])
    at = [s.q, kin.eta, states, ca.vertcat(s.params, own.parameters), model.equations.inputs]
    nq = s.q.shape[0]
    values = [seen[:nq], seen[nq:], z, known, ca.SX.zeros(model.equations.inputs.shape)]
    pairs = [(a, b) for a, b in zip(at, values, strict=True) if a.shape[0]]
    both = ca.substitute([both], [a for a, _ in pairs], [ca.densify(b) for _, b in pairs])[0]
    count = len(model.inputs)
    last = both.shape[0] - own.shown.shape[0]
    parts = both[:count, :], both[count:last, :], both[last:, :]
    return ca.Function(
        "law", [s.t, seen, z, known, ca.SX(own.asked)], [ca.densify(part) for part in parts]
    )


class _ActuatorStates:
    """Symbols of an actuator's states: command past its backlash, aim, and force."""

    def __init__(self) -> None:
        self.play, self.aim, self.force = (ca.SX.sym(n) for n in ("play", "aim", "force"))


def _actuated(
    actuator: Actuator, command: ca.SX, noise: ca.SX, period: float, symbols: _ActuatorStates
) -> _Parts:
    """An actuator whose command changes at samples: states, updates and rates."""
    states, updates, rates, names = [], [], [], []
    if actuator.backlash:
        play, half = symbols.play, actuator.backlash / 2
        command = ca.fmin(ca.fmax(play, command - half), command + half)
        states.append(play)
        updates.append(command)
        rates.append(ca.SX(0))
        names.append(f"play.{actuator.of}")
    aim, target = symbols.aim, actuator.static(command) + noise
    force = symbols.force
    if actuator.lag:
        states += [aim, force]
        updates += [target, force]
        rates += [ca.SX(0), _limited((aim - force) / actuator.lag, actuator.fastest)]
        names += [f"aim.{actuator.of}", f"got.{actuator.of}"]
        given = force
    elif actuator.is_dynamic:
        # as fast as it can, at a constant rate over the period
        states += [aim, force]
        updates += [_limited((target - force) / period, actuator.fastest), force]
        rates += [ca.SX(0), aim]
        names += [f"rate.{actuator.of}", f"got.{actuator.of}"]
        given = force
    else:
        states.append(aim)
        updates.append(target)
        rates.append(ca.SX(0))
        names.append(f"got.{actuator.of}")
        given = aim
    return _Parts(
        inputs={actuator.of: given},
        states=ca.vertcat(*states),
        rates=ca.vertcat(*rates),
        names=tuple(names),
        update=ca.vertcat(*updates),
    )


def decay_fit(decay: float) -> tuple[float, float, float]:
    """Values at 0, 1/2 and 1 of the quadratic polynomial nearest to e^{−decay·s} on [0, 1].

    Its Legendre coefficients are c_j = (2j + 1)(−1)ʲ e^{−z} i_j(z), z = decay/2, with the modified
    spherical Bessel functions i_j(z) = √(π/2z) I_{j+1/2}(z).
    """
    z = decay / 2
    c = [
        (2 * j + 1) * (-1) ** j * math.sqrt(math.pi / (2 * z)) * float(ive(j + 0.5, z))
        for j in range(3)
    ]
    return c[0] - c[1] + c[2], c[0] - c[2] / 2, c[0] + c[1] + c[2]


def _limited(rate: ca.SX, fastest: float) -> ca.SX:
    return ca.fmin(ca.fmax(rate, -fastest), fastest) if math.isfinite(fastest) else rate


def _seen(model: System) -> tuple[Quantity, ...]:
    """Quantities that a controller compares: coordinates and independent speeds."""
    return (*model.coordinates, *model.independent_speeds)


def _seen_names(model: System) -> list[str]:
    return [x.name for x in _seen(model)]


def parse_sensor(text: str) -> Sensor | AbstractInstrument:
    """A sensor of text: ``platform.x:sigma=0.01``, or ``gyroscope:body=platform,sigma=0.01``."""
    word = text.partition(":")[0].strip()
    if find_member(AbstractInstrument, word) is not None:
        found: AbstractInstrument = read_form(AbstractInstrument, text)
        return found
    sensor: Sensor = parse_signal(Sensor, text)
    return sensor


def plant_of(system: System, plant: Plant | Mapping[str, float] | None) -> Plant | None:
    """A plant, of its parameters and start values by name too."""
    if plant is None or isinstance(plant, Plant):
        return plant
    own = {p.name for p in system.model.parameters}
    return Plant(
        parameters={name: value for name, value in plant.items() if name in own},
        start={name: value for name, value in plant.items() if name not in own},
    )


def parse_signal(kind: type[Any], text: str) -> Any:
    """A :class:`Sensor` or an :class:`Actuator` of text: ``platform.x:sigma=0.01,delay=1``.

    Parameters
    ----------
    kind : kind of signal: sensor or actuator.
    text : name, colon, keys with values.
    """
    of, _, _ = text.partition(":")
    where, values = f"{kind.__name__.lower()} '{text}'", {}
    known = {f.name: f.type for f in fields(kind) if f.name != "of"}
    for key, value in read_entries(text, kind.__name__.lower(), []):
        if key not in known:
            raise SimulationError(f"there is no '{key}'", where, nearest(key, list(known)))
        number = read_number(value, key, where)
        values[key] = int(number) if known[key] == "int" and number == int(number) else number
    return kind(of=of.strip(), **values)


def _check_sizes(target: Any, *names: str) -> None:
    for name in names:
        value = getattr(target, name)
        if isinstance(value, bool) or not 0 <= value <= LARGEST_SIGMA:
            raise SimulationError(
                f"{name} is {value!r}, expected a number from 0 to {LARGEST_SIGMA:g}",
                f"{type(target).__name__}(of='{target.of}')",
                f"give {name} a size",
            )


def _check_finite(target: Any, *names: str) -> None:
    for name in names:
        value = getattr(target, name)
        if isinstance(value, bool) or not math.isfinite(value):
            raise SimulationError(
                f"{name} is {value!r}, which is not a finite number",
                f"{type(target).__name__}(of='{target.of}')",
                f"give {name} a number",
            )
