"""Missions: legs, loads, zones, drives and battery, and their files.

**Motors with gears, and a battery: what the torques of axles ask of them.**

With torque T and rate ω of an axle, the rotor's inertia J, gear ratio i and efficiency η of the
gear, which loses where power flows, at the motor's shaft

    (1)  τ = (T / i + J i ω̇) η^(−sgn P),  ω_m = i ω,  P = (T + J i² ω̇) ω
    (2)  P_el = τ ω_m + R (τ / k)²

with the resistance R and the torque constant k of its winding. Motors share the battery: braking
of one feeds another, and what is left over is recuperated.

**Missions: legs one after the other, and their files.**

A mission file is TOML with the keys of the classes here:

    model = "differential-robot"
    friction = 0.6
    speed = 0.8
    acceleration = 0.4

    [[legs]]
    path = "line:start=0,0;end=3,0"

    [[legs]]
    turn = 1.5708

    [[legs]]
    stop = 12
    changes = {mass = 30}
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import simpson

from noslip import Fault, ModelError, NoslipError, SimulationError
from noslip.base import nearest, read_text
from noslip.paths import AbstractPath, parse_path
from noslip.timing import AbstractTiming

if TYPE_CHECKING:
    from noslip.results import Order

Array = NDArray[np.float64]


def checked(
    owner: str, name: str, value: object, *, low: float = 0.0, is_open: bool = True
) -> float:
    """A finite number above a bound, or at it unless the bound is open.

    Raises
    ------
    SimulationError : if it is none.
    """
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    if not math.isfinite(number) or number < low or (is_open and number == low):
        sign = "above" if is_open else "at least"
        raise SimulationError(
            f"{name} is {value!r}, expected a number {sign} {low:g}",
            f"{owner}({name}=…)",
            "give a finite number in SI units",
        )
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Gearmotor:
    """Gearmotor and gear at a force input."""

    peak_torque: float = math.inf  #: largest torque of the motor's shaft at standstill, N·m
    #: torque that it stands for ever, N·m; limits the root mean square
    rated_torque: float = math.inf
    maximum_speed: float = math.inf  #: rate of the shaft beyond which it gives none, rad/s
    #: points (rate in rad/s, torque in N·m) of the limit, linear between them; by default the peak
    #: torque up to the maximum speed
    torque_speed: tuple[tuple[float, float], ...] = ()
    ratio: float = 1.0  #: revolutions of the shaft per revolution of the axle, or rad per m
    efficiency: float = 1.0  #: share of the power that passes the gear
    #: moment of inertia of rotor and gear at the shaft that the model does not have, kg·m²
    rotor_inertia: float = 0.0
    resistance: float = 0.0  #: resistance R of the winding, Ω
    torque_constant: float = 1.0  #: torque per current k, N·m/A
    name: str = ""  #: name in a catalog

    def __post_init__(self) -> None:
        for name in ("peak_torque", "rated_torque", "maximum_speed"):
            if getattr(self, name) != math.inf:
                checked("Gearmotor", name, getattr(self, name))
        for name in ("ratio", "efficiency", "torque_constant"):
            checked("Gearmotor", name, getattr(self, name))
        for name in ("rotor_inertia", "resistance"):
            checked("Gearmotor", name, getattr(self, name), is_open=False)
        if self.efficiency > 1:
            raise SimulationError(
                f"efficiency is {self.efficiency:g}, expected 1 at most",
                "Gearmotor(efficiency=…)",
                "give the share of the power that passes the gear, such as 0.9",
            )
        points = np.array(self.torque_speed, float).reshape(-1, 2)
        if len(points) and (np.any(np.diff(points[:, 0]) <= 0) or np.any(points < 0)):
            raise SimulationError(
                "the rates of torque_speed do not rise from zero, or a torque is negative",
                "Gearmotor(torque_speed=…)",
                "give points (rate in rad/s, torque in N·m) of rising rate",
            )
        object.__setattr__(self, "torque_speed", tuple((float(w), float(t)) for w, t in points))

    def limit(self, rate: Array) -> Array:
        """Largest torque at rates of the shaft, N·m."""
        rate = np.abs(rate)
        found = np.full(rate.shape, self.peak_torque)
        if self.torque_speed:
            w, torque = np.array(self.torque_speed).T
            found = np.minimum(found, np.interp(rate, w, torque, right=0.0))
        return np.where(rate > self.maximum_speed, 0.0, found)

    def shaft(self, torque: Array, rate: Array, acceleration: Array) -> tuple[Array, Array]:
        """Torque and rate of the shaft, (1)."""
        whole = torque + self.rotor_inertia * self.ratio**2 * acceleration
        lost = np.where(whole * rate >= 0, 1 / self.efficiency, self.efficiency)
        return whole / self.ratio * lost, self.ratio * rate

    def heat(self, shaft_torque: Array) -> Array:
        """Power lost in the winding, W."""
        return self.resistance * (np.asarray(shaft_torque, float) / self.torque_constant) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Battery:
    """Store of energy that all motors share."""

    energy: float  #: usable energy when it is full, J
    standby: float = 0.0  #: power of everything but the motors, W
    recuperation: float = 0.0  #: share of what motors give back that is stored

    def __post_init__(self) -> None:
        checked("Battery", "energy", self.energy)
        checked("Battery", "standby", self.standby, is_open=False)
        if checked("Battery", "recuperation", self.recuperation, is_open=False) > 1:
            raise SimulationError(
                f"recuperation is {self.recuperation:g}, expected 1 at most",
                "Battery(recuperation=…)",
                "give the share of the power that is stored, such as 0.6",
            )

    def drawn(self, power: Array) -> Array:
        """Power that the battery gives while motors take this, W."""
        whole = np.asarray(power, float) + self.standby
        return np.where(whole > 0, whole, self.recuperation * whole)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DriveSamples:
    """What a leg asks of an axle."""

    t: Array  #: s
    #: torque, rate, acceleration: samples of the axle: N·m, rad/s, rad/s², or N, m/s, m/s²
    torque: Array
    rate: Array
    acceleration: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class MotorDuty:
    """What samples ask of a motor."""

    #: peak_torque, rms_torque: largest torque of the shaft and root mean square, N·m
    peak_torque: float
    rms_torque: float
    peak_rate: float  #: largest rate of the shaft, rad/s
    peak_power: float  #: largest power of the shaft, W
    energy: float  #: electrical, less what is given back, J
    heat: float  #: lost in the winding, J
    torque_use: float  #: largest torque over the limit at its rate
    heat_use: float  #: root mean square over the rated torque
    rate_use: float  #: largest rate over the maximum

    @property
    def use(self) -> float:
        """Largest of all uses; above 1 where a limit is passed."""
        return max(self.torque_use, self.heat_use, self.rate_use)

    @classmethod
    def of(cls, motor: Gearmotor, legs: Sequence[DriveSamples]) -> MotorDuty:
        """What legs one after the other ask of a motor."""
        squares = time = energy = heat = 0.0
        peaks = np.zeros(4)
        for leg in legs:
            torque, rate = motor.shaft(leg.torque, leg.rate, leg.acceleration)
            lost, power = motor.heat(torque), torque * rate
            squares += integral(torque**2, leg.t)
            heat += integral(lost, leg.t)
            energy += integral(power + lost, leg.t)
            time += float(leg.t[-1] - leg.t[0])
            size, limit = np.abs(torque), motor.limit(rate)
            # a torque that is rounding needs no motor
            felt = size > 1e-9 * max(float(np.max(size)), 1e-300)
            with np.errstate(divide="ignore"):
                used = np.where(felt, size / limit, 0.0)
            found = (size, np.abs(rate), np.abs(power), used)
            peaks = np.maximum(peaks, [float(np.max(x)) for x in found])
        rms = math.sqrt(squares / time) if time else 0.0
        return cls(
            peak_torque=float(peaks[0]),
            rms_torque=rms,
            peak_rate=float(peaks[1]),
            peak_power=float(peaks[2]),
            energy=energy,
            heat=heat,
            torque_use=float(peaks[3]),
            heat_use=rms / motor.rated_torque,
            rate_use=float(peaks[1]) / motor.maximum_speed,
        )


def integral(values: Array, t: Array) -> float:
    """∫ values dt by Simpson's rule."""
    return float(simpson(values, x=t))


#: Bytes of a file.
MAX_FILE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveLeg:
    """Drive along a path, from rest to rest."""

    path: AbstractPath | str  #: path, or its text as in ``"line:start=0,0;end=3,0"``
    #: timing law or its text; by default constant acceleration, constant speed, braking
    timing: AbstractTiming | str | None = None
    #: speed, acceleration: highest ones, m/s and m/s²; by default those of the mission
    speed: float | None = None
    acceleration: float | None = None
    is_backward: bool = False  #: whether the vehicle drives backwards
    name: str = ""  #: name in tables
    #: parameters from this leg on, such as a load
    changes: Mapping[str, float] = field(default_factory=dict)
    actions: tuple[str, ...] = ()  #: remarks on what is done at its end

    kind = "drive"

    def __post_init__(self) -> None:
        for name in ("speed", "acceleration"):
            if getattr(self, name) is not None:
                checked("DriveLeg", name, getattr(self, name))
        if isinstance(self.path, str):
            object.__setattr__(self, "path", parse_path(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLeg:
    """Turn about the point of the vehicle that follows paths, from rest to rest."""

    angle: float  #: rad, counterclockwise
    rate: float | None = None  #: highest rate, rad/s; by default that of the mission
    name: str = ""  #: name in tables
    changes: Mapping[str, float] = field(default_factory=dict)  #: parameters from this leg on

    kind = "turn"

    def __post_init__(self) -> None:
        if checked("TurnLeg", "angle", self.angle, low=-math.inf) == 0:
            raise SimulationError(
                "angle is 0, so nothing turns", "TurnLeg(angle=…)", "leave the leg out"
            )
        if self.rate is not None:
            checked("TurnLeg", "rate", self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLeg:
    """Stand still, as while a load is picked up: brakes hold the vehicle, motors give nothing."""

    duration: float  #: s
    name: str = ""  #: name in tables
    changes: Mapping[str, float] = field(default_factory=dict)  #: parameters from this leg on

    kind = "stop"

    def __post_init__(self) -> None:
        checked("StopLeg", "duration", self.duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLeg:
    """Drive from where the base is to a goal, by the best motion that `plan` finds.

    What else the vehicle has, such as casters, begins as `plan` completes it.
    """

    #: coordinates at the end, as :func:`noslip.plan` takes them
    goal: Mapping[str, float | str | Sequence[float | str]]
    #: other arguments of :func:`noslip.plan`: minimize, limits, obstacles, friction, …
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""  #: name in tables
    changes: Mapping[str, float] = field(default_factory=dict)  #: parameters from this leg on

    kind = "plan"


Leg = DriveLeg | TurnLeg | StopLeg | PlanLeg


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """Area of the floor with a speed limit."""

    corners: tuple[tuple[float, float], ...]  #: corners of a polygon, m; the last side closes it
    speed: float  #: highest speed of the point that follows a path there, m/s
    name: str = ""  #: name in messages

    def __post_init__(self) -> None:
        checked("Zone", "speed", self.speed)
        points = np.array(self.corners, float)
        if points.ndim != 2 or points.shape[0] < 3 or points.shape[1] != 2:
            raise SimulationError(
                "the corners are no polygon", "Zone(corners=…)", "give three corners (x, y) or more"
            )
        object.__setattr__(self, "corners", tuple((float(x), float(y)) for x, y in points))

    def contains(self, points: Array) -> Array:
        """(n,) whether (n, 2) points are inside, by the number of sides to their right."""
        inside = np.zeros(len(points), bool)
        corners = np.array(self.corners)
        for (x1, y1), (x2, y2) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            beside = (y1 > points[:, 1]) != (y2 > points[:, 1])
            with np.errstate(divide="ignore", invalid="ignore"):
                cut = x1 + (points[:, 1] - y1) * (x2 - x1) / (y2 - y1)
            inside ^= beside & (points[:, 0] < cut)
        return inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Mission:
    """Legs that a vehicle drives one after the other, and what drives it."""

    legs: tuple[Leg, ...]  #: legs in their order
    name: str = "mission"  #: name of the mission
    model: str = ""  #: name or file of the vehicle, of a mission file; empty if none says it
    #: speed, acceleration, turn_rate: highest ones of legs without their own, m/s, m/s², rad/s
    speed: float = 1.0
    acceleration: float = 0.5
    turn_rate: float = 0.5
    friction: float | None = None  #: coefficient of the floor that wheels are audited with
    zones: tuple[Zone, ...] = ()  #: areas with speed limits
    #: force input → motor and gear at it
    motors: Mapping[str, Gearmotor] = field(default_factory=dict)
    battery: Battery | None = None  #: store of energy
    notes: tuple[str, ...] = ()  #: remarks on what the legs leave out

    def __post_init__(self) -> None:
        object.__setattr__(self, "legs", tuple(self.legs))
        object.__setattr__(self, "zones", tuple(self.zones))
        if not self.legs:
            raise SimulationError("the mission has no legs", "Mission(legs=…)", "give a leg")
        for name in ("speed", "acceleration", "turn_rate"):
            checked("Mission", name, getattr(self, name))
        if self.friction is not None:
            checked("Mission", "friction", self.friction)

    @classmethod
    def from_order(cls, order: Order, **settings: Any) -> Mission:
        """The mission of an order of VDA 5050, with a turn where two legs meet at an angle.

        Parameters
        ----------
        order : order by :func:`noslip.read_order`.
        settings : fields of the mission, such as its motors.
        """
        legs: list[Leg] = []
        before: float | None = None
        for part in order.legs:
            first, last = part.headings
            if before is not None and abs(turn := math.remainder(first - before, math.tau)) > TURN:
                legs.append(TurnLeg(angle=turn, name=f"turn at {part.nodes[0]}"))
            legs.append(
                DriveLeg(
                    path=part.path,
                    speed=None if math.isinf(part.maximum_speed) else part.maximum_speed,
                    is_backward=part.is_backward,
                    name=" → ".join((part.nodes[0], part.nodes[-1])),
                    actions=part.actions,
                )
            )
            before = last
            if part.heading is not None:
                turn = math.remainder(part.heading - last, math.tau)
                if abs(turn) > TURN:
                    legs.append(TurnLeg(angle=turn, name=f"turn at {part.nodes[-1]}"))
                    before = part.heading
        return cls(**{"name": order.name, "notes": order.notes} | settings, legs=tuple(legs))


#: Smallest angle between two legs that is a turn, rad.
TURN = 1e-6


def read_mission(path: str | os.PathLike[str]) -> Mission:
    """Read a mission file.

    Parameters
    ----------
    path : TOML file with ``model``, ``[[legs]]``, ``[motors.INPUT]``, ``[battery]``, ``[[zones]]``.

    Raises
    ------
    ModelError : with all faults of the file.
    """
    file = os.fspath(path)
    table = read_table(file, "give a mission as TOML: model, [[legs]], [motors.INPUT]")
    faults: list[Fault] = []
    own = _known(table, {f.name for f in fields(Mission)} - {"notes"}, file, faults)
    made = {key: value for key, value in own.items() if key not in _PARTS}
    legs = _listed(own.get("legs", []), "legs", file, faults, _leg)
    zones = _listed(own.get("zones", []), "zones", file, faults, _maker(Zone))
    motors = named_motors(own.get("motors", {}), "motors", file, faults)
    if "battery" in own:
        made["battery"] = _made(Battery, own["battery"], f"battery, {file}", faults)
    model = own.get("model")
    if not isinstance(model, str) or not model:
        faults.append(Fault("there is no model", file, 'write model = "NAME or file.toml"'))
    else:
        beside = Path(file).parent / model
        made["model"] = os.fspath(beside) if beside.is_file() else model
    mission: Any = None
    if legs or not faults:
        made |= {"legs": tuple(legs), "zones": tuple(zones), "motors": motors}
        mission = _made(Mission, made, file, faults)
    if faults:
        raise ModelError.from_faults(faults)
    return mission


#: Keys of a mission that are tables of their own.
_PARTS = ("legs", "zones", "motors", "battery", "model")
#: Key of a leg that says what it is → its class, and the field that the key is.
_LEGS: dict[str, tuple[type, str]] = {
    "path": (DriveLeg, "path"),
    "turn": (TurnLeg, "angle"),
    "stop": (StopLeg, "duration"),
    "goal": (PlanLeg, "goal"),
}


def read_table(file: str, fix: str) -> dict[str, Any]:
    """A TOML file."""
    try:
        return tomllib.loads(read_text(file, ModelError, fix, max_bytes=MAX_FILE))
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"the text is not TOML: {error}", file, "correct it there") from None


def named_motors(table: object, where: str, file: str, faults: list[Fault]) -> dict[str, Gearmotor]:
    """Motors by name from a table of tables."""
    if not isinstance(table, dict):
        faults.append(Fault(f"{where} is no table", file, f"write [{where}.NAME]"))
        return {}
    found = {n: _made(Gearmotor, part, f"{where}.{n}, {file}", faults) for n, part in table.items()}
    return {name: motor for name, motor in found.items() if motor is not None}


def _leg(table: object, where: str, faults: list[Fault]) -> Leg | None:
    kinds = [key for key in _LEGS if isinstance(table, dict) and key in table]
    if not isinstance(table, dict) or len(kinds) != 1:
        said = " and ".join(kinds) if kinds else f"none of {', '.join(_LEGS)}"
        faults.append(Fault(f"the leg has {said}", where, "give one: path, turn, stop or goal"))
        return None
    cls, name = _LEGS[kinds[0]]
    rest = {key: value for key, value in table.items() if key != kinds[0]}
    return _made(cls, {**rest, name: table[kinds[0]]}, where, faults)


def _maker(cls: type) -> Callable[[object, str, list[Fault]], Any]:
    return lambda table, where, faults: _made(cls, table, where, faults)


def _listed(
    given: object,
    name: str,
    file: str,
    faults: list[Fault],
    make: Callable[[object, str, list[Fault]], Any],
) -> list[Any]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        faults.append(Fault(f"{name} is no list of tables", file, f"write [[{name}]]"))
        return []
    made = [make(part, f"{name}[{k}], {file}", faults) for k, part in enumerate(given, start=1)]
    return [part for part in made if part is not None]


def _known(table: object, keys: set[str], where: str, faults: list[Fault]) -> dict[str, Any]:
    """Entries whose keys are known; the others are faults."""
    if not isinstance(table, dict):
        faults.append(Fault(f"{table!r} is no table", where, "write one"))
        return {}
    for key in table.keys() - keys:
        faults.append(Fault(f"'{key}' is not known", where, nearest(key, sorted(keys))))
    return {key: value for key, value in table.items() if key in keys}


def _made(cls: type, table: object, where: str, faults: list[Fault]) -> Any:
    """An object of a class from a table of its fields; None where it has faults."""
    before = len(faults)
    names = {f.name for f in fields(cls)}
    own = _known(table, names, where, faults)
    for one in fields(cls):
        if one.default is MISSING and one.default_factory is MISSING and one.name not in own:
            faults.append(Fault(f"there is no '{one.name}'", where, f"write {one.name} = …"))
    if len(faults) > before:
        return None
    try:
        if "changes" in own:
            pairs = own["changes"].items() if isinstance(own["changes"], dict) else [("", None)]
            own["changes"] = {n: checked("changes", n, x, low=-math.inf) for n, x in pairs}
        return cls(**own)
    except NoslipError as error:
        faults += [Fault(f.what, f"{f.where}, {where}", f.fix) for f in error.faults]
    except (TypeError, ValueError) as error:
        fix = "write the values as the page of missions says"
        faults.append(Fault(f"it cannot be read: {error}", where, fix))
    return None
