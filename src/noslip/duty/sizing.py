"""Motors and gears from a catalog, for what a mission asks of them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from noslip import Fault, ModelError, SimulationError
from noslip.base import counted
from noslip.duty.cycle import DutyCycle
from noslip.duty.drives import Gearmotor, MotorDuty
from noslip.duty.mission import named_motors, read_table


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
