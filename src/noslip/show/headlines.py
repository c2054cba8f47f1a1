"""Headline numbers of runs, with words and units as people write them.

**Words and units for axes: "speed (m/s)", "angular acceleration (10⁻³ rad/s²)".**

**Headline numbers of a run: speed, distance, inputs, power, errors, final state.**
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from noslip import Trajectory
from noslip.base import Array
from noslip.model import angle_names
from noslip.scene import ground_joints

#: Unit of a model → what it measures.
QUANTITIES = {
    "m": "position", "rad": "angle", "m/s": "speed", "rad/s": "rate", "m/s^2": "acceleration",
    "rad/s^2": "angular acceleration", "N": "force", "N*m": "torque", "J": "energy", "s": "time",
    "kg": "mass", "kg*m^2": "inertia", "W": "power", "1": "number",
}  # fmt: skip

_SUPERSCRIPTS = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")


def raised(exponent: int | str) -> str:
    """An exponent in small figures above the line."""
    return str(exponent).translate(_SUPERSCRIPTS)


def unit_text(unit: str, exponent: int = 0) -> str:
    """A unit as it is printed, of numbers counted in 10 to the exponent: ``kg*m^2`` is kg·m²."""
    power = f"10{raised(exponent)}" if exponent else ""
    if unit in ("", "1"):
        return power
    powers = re.sub(r"(?:\^|\*\*)\(?([-+]?\d+)\)?", lambda found: raised(found[1]), unit)
    return f"{power} {powers.replace('*', '·')}".strip()


def quantity_of(unit: str) -> str:
    """Name of the quantity measured in a unit; empty if the unit is ambiguous."""
    return QUANTITIES.get(unit, "")


def axis_label(name: str, unit: str, exponent: int = 0) -> str:
    """Name and unit of an axis whose numbers are multiples of 10 to the exponent."""
    inside = unit_text(unit, exponent)
    return " ".join(part for part in (name, f"({inside})" if inside else "") if part)


#: What is smaller is zero but for rounding, in its unit or over the largest value.
ROUNDING = 1e-12


class TopSpeed(NamedTuple):
    """The largest speed of a run."""

    #: name, unit: name and unit of the fastest: a joint over the ground, or a speed
    name: str
    unit: str
    size: float  #: size of it, in its unit
    sample: int  #: index of it
    way: float | None  #: m that a joint over the ground went; None for a single speed


class PowerUse(NamedTuple):
    """Power of all inputs together."""

    peak: float  #: W, the largest in size, positive where it drives
    sample: int  #: index of it
    #: spent, regained: J, by the inputs that drive and into those that brake at each instant
    spent: float
    regained: float


def top_speed(run: Trajectory) -> TopSpeed | None:
    """Largest speed of what moves over the ground; else of the first unit's fastest speed."""
    joints = ground_joints(run)
    if joints:
        name = joints[0].name
        parts = [run[c] for c in (f"{name}.v{x}" for x in "xyz") if c in run.columns]
        speed = np.sqrt(np.sum(np.square(parts), axis=0))
        k = int(np.argmax(speed))
        return TopSpeed(name, "m/s", float(speed[k]), k, float(np.trapezoid(speed, run.t)))
    # angles and distances are not compared: the first unit is that of the first speed
    unit = run.speeds[0].unit if run.speeds else "1"
    alike = [s.name for s in run.speeds if s.unit == unit]
    if not alike:
        return None
    worst = max(alike, key=lambda n: float(np.max(np.abs(run[n]))))
    k = int(np.argmax(np.abs(run[worst])))
    return TopSpeed(worst, unit, float(np.abs(run[worst][k])), k, None)


def power_use(run: Trajectory, names: Sequence[str]) -> PowerUse:
    """Power of inputs together, and the energy of those that drive at each instant."""
    powers: Array = np.array([run[f"power.{name}"] for name in names])
    total = powers.sum(axis=0)
    k = int(np.argmax(np.abs(total)))
    spent = float(np.trapezoid(np.maximum(powers, 0.0).sum(axis=0), run.t))
    regained = float(np.trapezoid(np.maximum(-powers, 0.0).sum(axis=0), run.t))
    return PowerUse(float(total[k]), k, spent, regained)


def negligible(run: Trajectory) -> float:
    """Error that counts as zero: the tolerance of a run, or rounding."""
    return max(run.rtol, ROUNDING)


class Headline(NamedTuple):
    """A number that sums up a run: what it is, its unit, and below what it is zero."""

    name: str
    unit: str
    value: float
    least: float = 0.0


def headlines(run: Trajectory) -> list[Headline]:
    """End, speed, way, peaks of inputs and outputs, power, errors, final state; none if no samples.

    Errors below the tolerance of the run count as zero.
    """
    if not len(run.t):
        return []
    found = [Headline("time at the end", "s", float(run.t[-1]))]
    if (fast := top_speed(run)) is not None:
        found.append(Headline(f"top speed of {fast.name}", fast.unit, fast.size))
        if fast.way is not None:
            found.append(Headline(f"distance of {fast.name}", "m", fast.way))
    used = run.input_use()
    found += [Headline(f"peak of {name}", use.unit, use.peak) for name, use in used.items()]
    given = run.scenario.outputs if run.scenario is not None else ()
    for name in (name for name in given if name in run.columns):
        unit, values = run.columns[name]
        found.append(Headline(f"peak of {name}", unit, float(np.max(np.abs(values)))))
    if used:
        power = power_use(run, list(used))
        found.append(Headline("peak power", "W", abs(power.peak)))
        found.append(Headline("energy spent", "J", power.spent))
    if run.path_errors is not None:
        errors = run.path_errors
        last = float(errors.distance[-1])
        found.append(Headline("path error, largest", "m", errors.largest, negligible(run)))
        found.append(Headline("path error at the end", "m", last, negligible(run)))
    elif run.errors:
        for worst in run.largest_errors:
            found.append(Headline("tracking error", worst.unit, worst.size, negligible(run)))
    return found + _final(run)


def _final(run: Trajectory) -> list[Headline]:
    """Coordinates, named angles and speeds of the last sample; quaternions are left to angles."""
    angles = [f"{j.name}.{n}" for j in run.model.joints for n in angle_names(j)]
    names = [c.name for c in run.coordinates if c.unit != "1"]
    names += [n for n in angles if n in run.columns] + [s.name for s in run.speeds]
    found = []
    for name in dict.fromkeys(names):
        unit, values = run.columns[name]
        least = negligible(run) * max(1.0, float(np.max(np.abs(values))))
        found.append(Headline(f"final {name}", unit, float(values[-1]), least))
    return found
