"""An instant for people: one table a quantity, each number with its unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from noslip.model.units import read_unit, times, unit_text

if TYPE_CHECKING:
    from noslip.analysis.instant import Instant

#: Units of the parts of a reaction that are no multipliers, by how their names begin.
PARTS = {"point_": "m", "moment_": "N*m"}


def instant_text(instant: Instant) -> str:
    """All that an instant holds, as text."""
    units = instant.units
    rates = {name: "1/s" if (u := units[name]) == "1" else f"{u}/s" for name in instant.coordinates}
    lines = _table("coordinates", instant.coordinates, units)
    lines += _table("speeds", instant.speeds, units)
    lines += _table("coordinate rates", instant.coordinate_rates, rates)
    # m/s becomes m/s^2
    changes = {name: f"{units[name]}^2" for name in instant.speeds}
    lines += _table("accelerations", instant.accelerations, changes)
    lines += _mass_matrix(instant)
    energies = {"kinetic": instant.kinetic_energy, "potential": instant.potential_energy}
    lines += _table("energies", energies, dict.fromkeys(energies, "J"))
    lines += _table("multipliers", instant.multipliers, units)
    for owner, parts in instant.reactions.items():
        named = {part: units.get(f"{owner}.{part}", units.get(owner, "")) for part in parts}
        lines += _table(f"reaction of '{owner}'", parts, {**_units_of(parts), **_known(named)})
    for owner, parts in instant.joint_reactions.items():
        known = {part: value for part, value in parts.items() if not math.isnan(value)}
        title = f"joint '{owner}' on its child"
        lines += _table(title if known == parts else f"{title}: not known", known, _units_of(known))
    contacts = [parts for parts in instant.reactions.values() if "point_x" in parts]
    if any("normal" not in parts for parts in contacts):
        lines.append(
            "contacts without a normal row carry no weight here: the joint that holds their "
            "height does; `noslip run` tells the loads of the wheels"
        )
    lines += [f"note: {note}" for note in instant.notes]
    lines.append(
        f"constraint residual {instant.speed_residual:.1e} (speeds, m/s or rad/s) "
        f"{instant.position_residual:.1e} (positions, m or rad)"
    )
    return "\n".join(lines)


def _table(title: str, values: Mapping[str, float], units: Mapping[str, str]) -> list[str]:
    """A title, then name, number and unit in columns."""
    name_width = max(map(len, values), default=0)
    # no minus before a zero
    numbers = {name: f"{value + 0.0: .12g}" for name, value in values.items()}
    width = max(map(len, numbers.values()), default=0)
    return [
        title,
        *(
            f"  {name:<{name_width}}  {number:<{width}}  {units[name]}".rstrip()
            for name, number in numbers.items()
        ),
    ]


def _mass_matrix(instant: Instant) -> list[str]:
    """The reduced mass matrix; an entry is in J over the units of both speeds."""
    speeds = [read_unit(instant.units[name] or "1") for name in instant.independent_speeds]
    found = [unit_text(times(times(read_unit("J"), a, -1), b, -1)) for a in speeds for b in speeds]
    listed = ", ".join(dict.fromkeys(found))
    rows = [[f"{x + 0.0: .9g}" for x in row] for row in instant.mass_matrix]
    width = max((len(entry) for row in rows for entry in row), default=0)
    return [
        f"reduced mass matrix ({', '.join(instant.independent_speeds)}) [{listed}]",
        *("  " + "  ".join(f"{entry:<{width}}" for entry in row).rstrip() for row in rows),
    ]


def _units_of(parts: Mapping[str, float]) -> dict[str, str]:
    """Points in m, moments in N*m, all else a force."""
    return {
        part: next((unit for word, unit in PARTS.items() if part.startswith(word)), "N")
        for part in parts
    }


def _known(units: Mapping[str, str]) -> dict[str, str]:
    return {name: unit for name, unit in units.items() if unit}
