"""A mission driven: each leg simulated, what it asks of the drives, and drives sized for it.

**A mission driven: each leg simulated by the exact equations, and what it asks of the drives.**

A path or a turn starts where the leg before ended, casters included; a plan starts from the base's
place. The rate of an axle is
the one on which its input does work,

    (3)  ω = bᵀ v,  ω̇ = bᵀ v̇ + ḃᵀ v

with the input's column b of B in the generalized forces B u.

**Motors and gears from a catalog, for what a mission asks of them.**
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from noslip import (
    Fault,
    Follower,
    ModelError,
    NoslipError,
    SimulationError,
    System,
    Trajectory,
    audit,
    compile,
    derive,
    follow,
    load,
    plan,
    track,
)
from noslip.base import counted, nearest
from noslip.control import find_follower, has_planar_base, sample
from noslip.duty.mission import (
    Array,
    DriveLeg,
    DriveSamples,
    Gearmotor,
    Leg,
    Mission,
    MotorDuty,
    PlanLeg,
    StopLeg,
    TurnLeg,
    Zone,
    integral,
    named_motors,
    read_table,
)
from noslip.motions import ExpressionMotion
from noslip.paths import AbstractPath
from noslip.results import Audit
from noslip.timing import SpeedSchedule, Trapezoidal

#: Samples a second, and the most of a leg.
RATE, MOST = 100.0, 20_001
#: Distance, m, and angle, rad, by which a leg may begin away from where the last one ended.
NEAR = 1e-6
#: Places of a path that are looked at for zones.
PLACES = 4001


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LegDuty:
    """A leg that was driven."""

    leg: Leg  #: leg as it was asked for
    name: str  #: name of the leg
    #: start, duration: s
    start: float
    duration: float
    distance: float  #: way of the base, m
    drives: Mapping[str, DriveSamples]  #: input → samples of its axle
    run: Trajectory | None = field(repr=False)  #: motion; None for a stop
    audit: Audit | None = field(repr=False)  #: loads and friction of the wheels; None for a stop
    parameters: Mapping[str, float]  #: values of the model's parameters that differ from its own

    @property
    def friction(self) -> float:
        """Largest friction that a wheel asks for; nan where no load is known."""
        wheels = self.audit.loaded if self.audit is not None else ()
        return max((float(np.nanmax(w.demand)) for w in wheels), default=math.nan)

    @property
    def least_load(self) -> float:
        """Smallest load of a wheel, N; nan where none is known."""
        wheels = self.audit.loaded if self.audit is not None else ()
        return min((float(np.nanmin(w.normal)) for w in wheels), default=math.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DutyCycle:
    """What a mission asks of motors, battery and wheels. Made by :func:`drive_mission`."""

    mission: Mission  #: mission that was driven
    legs: tuple[LegDuty, ...]  #: legs as they were driven
    motors: Mapping[str, MotorDuty]  #: input → what all legs ask of the motor there
    charge: float | None  #: energy that is left in the battery, J; None without a battery
    notes: tuple[str, ...] = ()  #: remarks on where legs do not meet, and on what they leave out

    @property
    def duration(self) -> float:
        """Cycle time, s."""
        return sum(leg.duration for leg in self.legs)

    @property
    def distance(self) -> float:
        """Way of the base, m."""
        return sum(leg.distance for leg in self.legs)

    def of_motor(self, name: str) -> list[DriveSamples]:
        """Samples of an axle, leg by leg."""
        return [leg.drives[name] for leg in self.legs]

    def deciding_leg(self, name: str) -> LegDuty:
        """The leg that asks most of a motor: of its torque limit, its heat or its rate."""
        motor = self.mission.motors[name]
        uses = [MotorDuty.of(motor, [leg.drives[name]]).use for leg in self.legs]
        return self.legs[int(np.argmax(uses))]

    @property
    def failures(self) -> tuple[str, ...]:
        """What is asked for beyond a limit, as sentences."""
        found = []
        for name, duty in self.motors.items():
            said = {"torque": duty.torque_use, "heat": duty.heat_use, "rate": duty.rate_use}
            decides = self.deciding_leg(name).name
            found += [
                f"motor at '{name}': {use:.3g} of its {what} (leg '{decides}')"
                for what, use in said.items()
                if use > 1 + 1e-9
            ]
        for leg in self.legs:
            if self.mission.friction is not None and leg.friction > self.mission.friction:
                found.append(f"leg '{leg.name}' asks for friction {leg.friction:.3g}")
            if leg.least_load < 0:
                found.append(f"leg '{leg.name}' lifts a wheel, by {-leg.least_load:.3g} N")
        if self.charge is not None and self.charge < 0:
            found.append(f"the battery lacks {-self.charge:.3g} J")
        return tuple(found)

    def text(self) -> str:
        """Legs, motors and battery in a few lines."""
        lines = [
            f"{self.mission.name}: {counted(len(self.legs), 'leg')} in {self.duration:.4g} s, "
            f"{self.distance:.4g} m",
            f"  {'leg':28s} {'s':>8s} {'m':>8s} {'J':>9s} {'friction':>9s} {'least load':>11s}",
        ]
        for leg in self.legs:
            energy = sum(integral(d.torque * d.rate, d.t) for d in leg.drives.values())
            lines.append(
                f"  {leg.name[:28]:28s} {leg.duration:8.4g} {leg.distance:8.4g} {energy:9.4g} "
                f"{_known(leg.friction, ''):>9s} {_known(leg.least_load, ' N'):>11s}"
            )
        for name, duty in self.motors.items():
            lines.append(
                f"  motor at {name}: {duty.peak_torque:.4g} N·m peak, {duty.rms_torque:.4g} N·m "
                f"RMS, {duty.peak_rate:.4g} rad/s, {duty.peak_power:.4g} W, {duty.energy:.4g} J, "
                f"{duty.heat:.4g} J heat; decided by '{self.deciding_leg(name).name}'"
            )
            uses = (("torque", duty.torque_use), ("heat", duty.heat_use), ("rate", duty.rate_use))
            told = [f"{100 * use:.3g} % of its {what}" for what, use in uses if use > 0]
            lines += [f"    uses {', '.join(told)}"] if told else []
        battery = self.mission.battery
        if self.charge is not None and battery is not None:
            cycles = battery.energy / max(battery.energy - self.charge, 1e-300)
            lines.append(
                f"  battery: {battery.energy - self.charge:.4g} J of {battery.energy:.4g} J, "
                f"{cycles:.3g} cycles to a charge"
            )
        lines += [f"  fails: {text}" for text in self.failures]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Numbers as plain data."""
        return {
            "mission": self.mission.name,
            "duration": self.duration,
            "distance": self.distance,
            "legs": [
                {
                    "name": leg.name,
                    "kind": leg.leg.kind,
                    "start": leg.start,
                    "duration": leg.duration,
                    "distance": leg.distance,
                    "friction": _finite(leg.friction),
                    "least_load": _finite(leg.least_load),
                    "parameters": dict(leg.parameters),
                    "energy": {
                        name: integral(d.torque * d.rate, d.t) for name, d in leg.drives.items()
                    },
                }
                for leg in self.legs
            ],
            "motors": {
                name: {
                    **{key: _finite(getattr(duty, key)) for key in MotorDuty.__slots__},
                    "decided_by": self.deciding_leg(name).name,
                }
                for name, duty in self.motors.items()
            },
            "charge": self.charge,
            "failures": list(self.failures),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return self.text()


def _known(value: float, unit: str) -> str:
    return f"{value:.3g}{unit}" if math.isfinite(value) else "-"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def drive_mission(
    mission: Mission,
    system: System | None = None,
    *,
    progress: Callable[[float], None] | None = None,
) -> DutyCycle:
    """Drive a mission and count what it asks of motors, battery and wheels.

    Parameters
    ----------
    mission : legs, motors, battery.
    system : compiled vehicle; that of the mission's file by default.
    progress : function that is called with the share that is done.

    Raises
    ------
    SimulationError : a leg cannot be driven, with its name; a motor is at no force input.
    """
    if system is None:
        if not mission.model:
            raise SimulationError(
                "the mission names no model", "drive_mission", "pass the system of the vehicle"
            )
        system = compile(derive(load(mission.model)))
    vehicle = _Vehicle(system)
    known = [i.name for i in system.model.inputs]
    for name in mission.motors:
        if name not in known:
            where = f"Mission(motors=…) of model '{system.model.name}'"
            raise SimulationError(f"there is no force input '{name}'", where, nearest(name, known))
    made: list[LegDuty] = []
    notes = list(mission.notes)
    values: dict[str, float] = {}
    for k, leg in enumerate(mission.legs):
        name = leg.name or f"{k + 1} {leg.kind}"
        if progress is not None:
            progress(k / len(mission.legs))
        values |= leg.changes
        before = sum(done.duration for done in made)
        try:
            duty = vehicle.drive(mission, leg, name, before, dict(values))
        except NoslipError as error:
            fault = error.faults[0]
            where = f"leg '{name}' of mission '{mission.name}': {fault.where}"
            raise SimulationError(fault.what, where, fault.fix) from None
        made.append(duty)
        notes += vehicle.jumps(name)
    drawn = 0.0
    if mission.battery is not None:
        for done in made:
            drawn += _drawn(mission, done)
    return DutyCycle(
        mission=mission,
        legs=tuple(made),
        motors={
            name: MotorDuty.of(motor, [done.drives[name] for done in made])
            for name, motor in mission.motors.items()
        },
        charge=None if mission.battery is None else mission.battery.energy - drawn,
        notes=tuple(dict.fromkeys(notes)),
    )


def _drawn(mission: Mission, leg: LegDuty) -> float:
    """Energy that a leg takes from the battery, J."""
    assert mission.battery is not None
    some = next(iter(leg.drives.values()), None)
    t = np.array([0.0, leg.duration]) if some is None else some.t
    power = np.zeros(len(t))
    for name, motor in mission.motors.items():
        axle = leg.drives[name]
        torque, rate = motor.shaft(axle.torque, axle.rate, axle.acceleration)
        power += torque * rate + motor.heat(torque)
    return integral(mission.battery.drawn(power), t)


class _Vehicle:
    """A vehicle that goes on from leg to leg."""

    def __init__(self, system: System) -> None:
        self.system = system
        if not has_planar_base(system):
            raise SimulationError(
                "the model has no base that moves in the plane",
                f"mission of model '{system.model.name}'",
                "give a vehicle",
            )
        eq, kin = system.equations, system.kinematics
        v, vdot = ca.SX.sym("v", len(system.speeds)), ca.SX.sym("a", len(system.speeds))
        q, values = kin.symbols.q, kin.symbols.params
        rate = ca.mtimes(eq.forces.B.T, v)
        more = ca.jtimes(rate, q, ca.mtimes(kin.N, v)) + ca.mtimes(eq.forces.B.T, vdot)
        self.axles = ca.Function("axles", [q, v, vdot, values], [rate, more])
        joint = next(j for j in system.model.joints if f"{j.name}.x" in self._names())
        self.place = [f"{joint.name}.{part}" for part in ("x", "y", "angle")]
        #: Coordinates where the last leg ended; None before the first.
        self.q: dict[str, float] | None = None
        self._gaps: list[str] = []

    def _names(self) -> list[str]:
        return [c.name for c in self.system.coordinates]

    def drive(
        self, mission: Mission, leg: Leg, name: str, start: float, values: dict[str, float]
    ) -> LegDuty:
        """Drive a leg from where the vehicle is."""
        self._gaps = []
        if isinstance(leg, StopLeg):
            still = np.array([0.0, leg.duration])
            zero = np.zeros(2)
            drives = {
                i.name: DriveSamples(t=still, torque=zero, rate=zero, acceleration=zero)
                for i in self.system.model.inputs
            }
            run, found = None, None
            duration = leg.duration
        else:
            run = self._run(mission, leg, values)
            drives, duration = self._drives(run), float(run.t[-1] - run.t[0])
            found = audit(self.system, run, mission.friction)
            first = {n: float(run[n][0]) for n in self._names()}
            if self.q is not None:
                self._compare(self.q, first)
            self.q = {n: float(run[n][-1]) for n in self._names()}
        return LegDuty(
            leg=leg,
            name=name,
            start=start,
            duration=duration,
            distance=0.0 if run is None else self._distance(run),
            drives=drives,
            run=run,
            audit=found,
            parameters=values,
        )

    def jumps(self, name: str) -> list[str]:
        """Sentences on where the last leg does not begin where the one before ended."""
        return [f"leg '{name}' begins {gap} from where the one before ended" for gap in self._gaps]

    def _compare(self, before: Mapping[str, float], first: Mapping[str, float]) -> None:
        x, y, angle = (first[n] - before[n] for n in self.place)
        if (far := math.hypot(x, y)) > NEAR:
            self._gaps.append(f"{far:.3g} m")
        if (turned := abs(math.remainder(angle, math.tau))) > NEAR:
            self._gaps.append(f"{turned:.3g} rad")

    def _distance(self, run: Trajectory) -> float:
        x, y = (run[n] for n in self.place[:2])
        way = float(np.sum(np.hypot(np.diff(x), np.diff(y))))
        return way if way > NEAR else 0.0

    def _run(self, mission: Mission, leg: Leg, values: Mapping[str, float]) -> Trajectory:
        changed: dict[str, Any] = {"parameters": dict(values)} if values else {}
        if isinstance(leg, PlanLeg):
            return self._planned(leg, changed)
        if isinstance(leg, TurnLeg):
            return self._turned(leg, leg.rate or mission.turn_rate, changed)
        assert isinstance(leg, DriveLeg) and isinstance(leg.path, AbstractPath)
        timing = leg.timing
        if timing is None:
            limits = leg.speed or mission.speed, leg.acceleration or mission.acceleration
            timing = zoned_timing(leg.path, *limits, mission.zones)
        open_ones = {n: x for n, x in (self.q or {}).items() if n not in self.place}
        follower = Follower(reverse=leg.is_backward, reference=open_ones)
        lasting = timing.duration(leg.path) if hasattr(timing, "duration") else 0.0
        return track(
            self.system,
            leg.path,
            timing=timing,
            follower=follower,
            samples=_samples(lasting),
            **changed,
        )

    def _turned(self, leg: TurnLeg, rate: float, changed: Mapping[str, Any]) -> Trajectory:
        """θ = θ₁ (10 τ³ − 15 τ⁴ + 6 τ⁵) about the point that follows paths."""
        here = self.q or dict.fromkeys(self._names(), 0.0)
        given = self.system.parameters(changed.get("parameters"))
        point = find_follower(self.system, given).point or (0.0, 0.0, 0.0)
        a, b = float(point[0]), float(point[1])
        x, y, angle = (here[n] for n in self.place)
        at = x + a * math.cos(angle) - b * math.sin(angle)
        on = y + a * math.sin(angle) + b * math.cos(angle)
        lasts = 1.875 * abs(leg.angle) / rate
        tau = f"(t/{lasts!r})"
        turn = f"({angle!r} + {leg.angle!r}*(10*{tau}^3 - 15*{tau}^4 + 6*{tau}^5))"
        motion = ExpressionMotion(
            coordinates={
                self.place[0]: f"{at!r} - ({a!r}*cos{turn} - {b!r}*sin{turn})",
                self.place[1]: f"{on!r} - ({a!r}*sin{turn} + {b!r}*cos{turn})",
                self.place[2]: turn,
            }
        )
        held = {n: x for n, x in here.items() if n not in self.place}
        return follow(
            self.system,
            motion,
            duration=lasts,
            reference=held,
            samples=_samples(lasts),
            **changed,
        )

    def _planned(self, leg: PlanLeg, changed: Mapping[str, Any]) -> Trajectory:
        start = {n: x for n, x in (self.q or {}).items() if n in self.place}
        return plan(self.system, start=start, goal=leg.goal, **leg.options, **changed).run

    def _drives(self, run: Trajectory) -> dict[str, DriveSamples]:
        values = np.tile(self.system.parameters(run.parameters)[:, None], len(run.t))
        rates, more = (np.asarray(x) for x in self.axles(run.q.T, run.v.T, run.vdot.T, values))
        return {
            i.name: DriveSamples(
                t=run.t - run.t[0], torque=run[i.name], rate=rates[k], acceleration=more[k]
            )
            for k, i in enumerate(self.system.model.inputs)
        }


def _samples(lasting: float) -> int:
    return int(np.clip(math.ceil(RATE * lasting) + 1, 401, MOST))


# zones


def zoned_timing(
    path: AbstractPath, speed: float, acceleration: float, zones: Sequence[Zone]
) -> Trapezoidal | SpeedSchedule:
    """The fastest timing from rest to rest within a speed, an acceleration and the zones' speeds.

    `speed`, `acceleration`: highest ones, m/s and m/s².
    """
    cuts, caps = _limits_along(path, speed, zones)
    if len(caps) == 1 and caps[0] == speed:
        return Trapezoidal(speed=speed, acceleration=acceleration)
    # squares of the speed at the cuts: forward, then backward
    lengths = np.diff(cuts)
    most = np.minimum(np.append(caps, np.inf), np.append(np.inf, caps)) ** 2
    most[[0, -1]] = 0.0
    for k, step in enumerate(lengths):
        most[k + 1] = min(most[k + 1], most[k] + 2 * acceleration * step)
    for k in range(len(lengths) - 1, -1, -1):
        most[k] = min(most[k], most[k + 1] + 2 * acceleration * lengths[k])
    times, speeds = [0.0], [0.0]
    for k, step in enumerate(lengths):
        first, last = math.sqrt(most[k]), math.sqrt(most[k + 1])
        top = min(caps[k], math.sqrt((most[k] + most[k + 1]) / 2 + acceleration * step))
        up, down = (top - first) / acceleration, (top - last) / acceleration
        flat = step - (top**2 - most[k] + top**2 - most[k + 1]) / (2 * acceleration)
        for after, now in ((up, top), (max(flat, 0.0) / top, top), (down, last)):
            if after > 1e-12:
                times.append(times[-1] + after)
                speeds.append(now)
    return SpeedSchedule(times=tuple(times), speeds=tuple(speeds))


def _limits_along(path: AbstractPath, speed: float, zones: Sequence[Zone]) -> tuple[Array, Array]:
    """Arc lengths where the speed limit of a path changes, its ends too, and the limits between."""
    places = sample(path, PLACES)
    parameter = ca.SX.sym("p")
    position = ca.Function("position", [parameter], [path.position(parameter)])

    def limit(points: Array) -> Array:
        found = np.full(len(points), speed)
        for zone in zones:
            found = np.where(zone.contains(points), np.minimum(found, zone.speed), found)
        return found

    found = limit(np.column_stack([places.x, places.y]))
    at = np.flatnonzero(np.diff(found))
    # share of the way from one place to the next at which the limit changes
    low, high = np.zeros(len(at)), np.ones(len(at))
    p, along = places.parameter, places.arc_length
    for _ in range(60 if len(at) else 0):
        middle = (low + high) / 2
        inside = np.asarray(position((p[at] + middle * (p[at + 1] - p[at]))[None, :])).T
        same = limit(inside) == found[at]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    cuts = along[at] + low * (along[at + 1] - along[at])
    return np.concatenate([[0.0], cuts, along[-1:]]), found[np.append(0, at + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Motors and gears to choose among, smallest first."""

    motors: tuple[Gearmotor, ...]  #: motors in the order in which they are preferred
    #: gears in the order in which they are preferred: ratio, efficiency and the inertia that they
    #: add at the shaft are used of each, as fields of a :class:`Gearmotor`; its peak torque is that
    #: of its output
    gears: tuple[Gearmotor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveChoice:
    """A motor with a gear, and what a mission asks of both."""

    input: str  #: force input
    motor: Gearmotor  #: motor with the gear's ratio, efficiency and inertia
    gear: str  #: name of the gear
    duty: MotorDuty  #: load of the motor by the mission
    gear_use: float  #: largest torque at the gear's output over what it bears
    decided_by: str  #: name of the leg that asks most

    @property
    def use(self) -> float:
        """Largest use of a limit; the choice is too small above 1."""
        return max(self.duty.use, self.gear_use)

    def text(self) -> str:
        """Gearmotor, gear and what decides, as a sentence."""
        duty = self.duty
        uses = {
            "torque": duty.torque_use,
            "heat": duty.heat_use,
            "rate": duty.rate_use,
            "gear torque": self.gear_use,
        }
        what = max(uses, key=lambda key: uses[key])
        word = "" if self.use <= 1 else "nothing is large enough; nearest is "
        return (
            f"{self.input}: {word}{self.motor.name} with {self.gear} (1:{self.motor.ratio:g}), "
            f"{100 * self.use:.3g} % of its {what}, decided by '{self.decided_by}'"
        )


def read_catalog(path: str | os.PathLike[str]) -> Catalog:
    """Read a catalog: TOML with tables ``[motors.NAME]`` and ``[gears.NAME]``, smallest first.

    Parameters
    ----------
    path : file with the fields of :class:`Gearmotor`; gears have ratio, efficiency, peak_torque at
        their output, and rotor_inertia.

    Raises
    ------
    ModelError : with all faults of the file.
    """
    file = os.fspath(path)
    table = read_table(file, "give a catalog as TOML: [motors.NAME] and [gears.NAME]")
    faults: list[Fault] = []
    for key in table.keys() - {"motors", "gears"}:
        faults.append(Fault(f"'{key}' is not known", file, "write [motors.NAME] or [gears.NAME]"))
    made = {}
    for kind in ("motors", "gears"):
        found = named_motors(table.get(kind, {}), kind, file, faults)
        made[kind] = tuple(dataclasses.replace(m, name=name) for name, m in found.items())
    if not made["motors"] and not faults:
        faults.append(Fault("there are no motors", file, "write [motors.NAME]"))
    if faults:
        raise ModelError.from_faults(faults)
    return Catalog(motors=made["motors"], gears=made["gears"] or (Gearmotor(name="no gear"),))


def size_drives(
    duty: DutyCycle, catalog: Catalog, inputs: Sequence[str] = ()
) -> Mapping[str, DriveChoice]:
    """The first motor and gear of a catalog that bear a mission, at each input.

    Parameters
    ----------
    duty : cycle by :func:`drive_mission`.
    catalog : motors and gears, smallest first.
    inputs : force inputs; those with a motor in the mission by default, or all.

    Returns
    -------
    Mapping : input → choice; where nothing is large enough, the one that is used least.

    Raises
    ------
    SimulationError : an input is none of the vehicle's.
    """
    known = list(duty.legs[0].drives)
    for name in inputs:
        if name not in known:
            raise SimulationError(
                f"there is no force input '{name}'", "size_drives", f"known: {', '.join(known)}"
            )
    names = tuple(inputs) or tuple(duty.mission.motors) or tuple(known)
    return {name: _choose(duty, catalog, name) for name in names}


def _choose(duty: DutyCycle, catalog: Catalog, name: str) -> DriveChoice:
    nearest: DriveChoice | None = None
    for motor in catalog.motors:
        for gear in catalog.gears:
            found = _choice(duty, name, motor, gear)
            if found.use <= 1:
                return found
            if nearest is None or found.use < nearest.use:
                nearest = found
    assert nearest is not None
    return nearest


def _choice(duty: DutyCycle, name: str, motor: Gearmotor, gear: Gearmotor) -> DriveChoice:
    both = dataclasses.replace(
        motor,
        ratio=motor.ratio * gear.ratio,
        efficiency=motor.efficiency * gear.efficiency,
        rotor_inertia=motor.rotor_inertia + gear.rotor_inertia,
    )
    legs = duty.of_motor(name)
    each = [MotorDuty.of(both, [leg]).use for leg in legs]
    output = [float(abs(leg.torque).max()) / gear.peak_torque for leg in legs]
    worst = max(range(len(legs)), key=lambda k: max(each[k], output[k]))
    return DriveChoice(
        input=name,
        motor=both,
        gear=gear.name,
        duty=MotorDuty.of(both, legs),
        gear_use=max(output),
        decided_by=duty.legs[worst].name,
    )


def choices_text(choices: Mapping[str, DriveChoice]) -> str:
    """Choices as lines."""
    head = f"motors and gears at {counted(len(choices), 'input')}:"
    return "\n".join([head, *(f"  {choice.text()}" for choice in choices.values())])


def choices_data(choices: Mapping[str, DriveChoice]) -> dict[str, Any]:
    """Choices as plain data."""
    return {
        name: {
            "motor": c.motor.name,
            "gear": c.gear,
            "ratio": c.motor.ratio,
            "use": c.use,
            "decided_by": c.decided_by,
        }
        for name, c in choices.items()
    }
