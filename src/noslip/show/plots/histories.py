"""Time histories of columns, those of one unit together; and phase plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from noslip.model.joints import Joint
from noslip.show.plots.curves import NOTHING, Array, Curve, Panel
from noslip.show.units import quantity_of
from noslip.simulation.trajectory import Trajectory

#: Curves smaller than this part of the largest one of their unit get a panel of their own.
SMALL = 0.08
#: Panels of one unit at most.
MOST = 3


def unit_of(run: Trajectory, name: str) -> str:
    """Unit of a column; a column that is not there is refused."""
    if name == "time":
        return "s"
    run[name]
    return run.columns[name][0]


def history_panels(
    run: Trajectory, names: Sequence[str], *, against: str = "time", by_size: bool = False
) -> list[Panel]:
    """Columns over time or another column, one panel for each unit.

    Parameters
    ----------
    run : simulated motion.
    names : columns.
    against : column on the abscissa.
    by_size : also part curves of one unit that would not be seen beside each other.
    """
    x, x_unit = run[against], unit_of(run, against)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(unit_of(run, name), []).append(name)
    parts: list[tuple[str, list[str]]] = []
    for unit, members in groups.items():
        split = by_magnitude(run, members) if by_size else [members]
        parts += [(unit, part) for part in split]
    return [
        Panel(
            name=_axis_name(unit, part),
            unit=unit,
            curves=tuple(Curve(label=name, x=x, y=run[name]) for name in part),
            x_name=against,
            x_unit=x_unit,
        )
        for unit, part in parts
    ]


def by_magnitude(run: Trajectory, names: Sequence[str]) -> list[list[str]]:
    """Columns in groups of like size, largest first, each group in the order given.

    A group ends where the next smaller column is less than `SMALL` of its largest. What stays zero
    is seen anywhere and goes with the first group.
    """
    size = {name: float(np.max(np.abs(run[name]), initial=0.0)) for name in names}
    order = sorted((n for n in names if size[n] > NOTHING), key=lambda n: -size[n])
    groups: list[list[str]] = []
    for name in order:
        if groups and (size[name] >= SMALL * size[groups[-1][0]] or len(groups) == MOST):
            groups[-1].append(name)
        else:
            groups.append([name])
    nothing = [n for n in names if n not in order]
    if not groups:
        return [nothing]
    groups[0] += nothing
    return [[n for n in names if n in group] for group in groups]


def _axis_name(unit: str, names: Sequence[str]) -> str:
    """What the unit measures, or the column itself where the unit does not say."""
    return quantity_of(unit) or (names[0] if len(names) == 1 else "")


# columns by kind


def coordinate_names(run: Trajectory) -> list[str]:
    """Coordinates and named angles; quaternions are left to them."""
    angles = [f"{j.name}.{n}" for j in run.model.joints for n in angle_names(j)]
    plain = [c.name for c in run.coordinates if c.unit != "1"]
    return plain + [n for n in angles if n in run.columns]


def speed_names(run: Trajectory) -> list[str]:
    """Tree speeds."""
    return [s.name for s in run.speeds]


def acceleration_names(run: Trajectory) -> list[str]:
    """Their rates."""
    return [f"acceleration.{s.name}" for s in run.speeds]


def input_names(run: Trajectory) -> list[str]:
    """Force inputs, speed inputs and the rates of these."""
    return [q.name for q in run.input_quantities]


def reaction_names(run: Trajectory) -> list[str]:
    """Multipliers of all rows, where they were asked for."""
    return [f"reaction.{row}" for row in run.rows] if run.multipliers is not None else []


def angle_names(joint: Joint) -> tuple[str, ...]:
    """Named angles of a joint's orientation."""
    angles = getattr(joint.type, "angles", None)
    return () if angles is None else tuple(angles.names)


# phase plots


def phase_panels(run: Trajectory) -> list[Panel]:
    """Every angle and position against its own rate."""
    pairs = [*_plain_pairs(run), *_angle_pairs(run)]
    panels = []
    for name, (rate_name, rate) in pairs:
        unit = unit_of(run, name)
        curve = Curve(label=run.model.name, x=run[name], y=rate)
        panels.append(
            Panel(
                name=rate_name,
                unit=f"{unit}/s",
                curves=(curve,),
                x_name=name,
                x_unit=unit,
                has_names=False,
                marks_start=True,
            )
        )
    return panels


def _plain_pairs(run: Trajectory) -> Iterable[tuple[str, tuple[str, Array]]]:
    """Coordinates whose rate is a speed: those of revolute and prismatic joints, and headings."""
    pairs = {"angle": "rate", "position": "speed"}
    for coordinate in run.coordinates:
        joint, _, last = coordinate.name.rpartition(".")
        rate = f"{joint}.{pairs.get(last, '')}"
        if rate in run.columns:
            yield coordinate.name, (rate, run[rate])


def _angle_pairs(run: Trajectory) -> Iterable[tuple[str, tuple[str, Array]]]:
    for joint in run.model.joints:
        names = [f"{joint.name}.{n}" for n in angle_names(joint)]
        if names and names[0] in run.columns:
            yield from ((name, (f"{name}_rate", run[f"{name}_rate"])) for name in names)
