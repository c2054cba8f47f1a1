"""Missions: legs one after the other, and their files.

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

from noslip import Fault, ModelError, NoslipError, SimulationError
from noslip.base import nearest, read_text
from noslip.duty.drives import Array, Battery, Gearmotor, checked
from noslip.paths import AbstractPath, parse_path
from noslip.timing import AbstractTiming

if TYPE_CHECKING:
    from noslip.results import Order

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
