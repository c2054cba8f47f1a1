"""Words and units for axes: "speed (m/s)", "angular acceleration (10⁻³ rad/s²)"."""

from __future__ import annotations

import re

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
