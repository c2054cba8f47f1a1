"""Curves of a run over time: which columns stand together, and their data with a cursor.

The cursor is a curve of its own. Three points at the shown time are put among the samples, where
all curves have the value they pass through. The cursor runs along the lowest value of the picture,
and at these points up to the highest one and back: a vertical line.

One more point stands behind the last sample, closer than anything that is drawn. It moves from one
drawing to the next: a plot that was made while it had no size draws its time axis only when the
range of time changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noslip.engines.system import Array
from noslip.model.contacts import Rolling
from noslip.model.joints import Revolute
from noslip.show.report.elements import unit_text
from noslip.simulation.trajectory import Trajectory
from noslip.studio.choosing.knobs import power_text

COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#eeca3b")
GHOST, CURSOR = "rgba(140, 140, 140, 0.55)", "rgba(120, 120, 120, 0.8)"

#: Most curves of one picture.
MOST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Columns of one unit that are drawn together.

    Parameters
    ----------
    title : what it is called on the page, with its unit.
    unit : of the columns, as it is shown.
    columns : their names; those that start with ``error.`` are simulated minus reference.
    """

    title: str
    unit: str
    columns: tuple[str, ...]


def pictures(run: Trajectory) -> dict[str, Picture]:
    """The pictures of a run by title, those that say most first."""
    units = {c.name: c.unit for c in run.coordinates}
    angles = [
        name
        for joint in run.model.joints
        if getattr(joint.type, "angles", None) is not None
        for name in (f"{joint.name}.{a}" for a in joint.type.angles.names)  # type: ignore[union-attr]
        if name in run.columns
    ]
    places = [c.name for c in run.coordinates if units[c.name] != "1"] + angles
    # a wheel turns so far that other angles would be a flat line beside it
    wheels = _wheel_angles(run) if set(places) - set(_wheel_angles(run)) else []
    groups: list[tuple[str, str, list[str]]] = []
    for title, names in (
        ("places", [name for name in places if name not in wheels]),
        ("speeds", [s.name for s in run.speeds]),
        ("inputs", [q.name for q in run.input_quantities]),
        ("wheels", wheels),
        ("energy", ["kinetic_energy", "potential_energy", "work"]),
        ("errors", [f"error.{n}" for n in run.errors]),
        ("energy error", ["energy_error"]),
        ("residuals", [f"residual.{r}" for r in run.rows]),
        ("accelerations", [f"acceleration.{s.name}" for s in run.speeds]),
    ):
        of = {n: run.columns[n.removeprefix("error.")][0] for n in names}
        groups += [(title, u, [n for n in names if of[n] == u]) for u in dict.fromkeys(of.values())]
    found = {}
    for title, unit, names in groups:
        shown = unit_text(unit)
        full = f"{title} [{shown}]" if shown else title
        found[full] = Picture(title=full, unit=shown, columns=tuple(names[:MOST]))
    return found


def _wheel_angles(run: Trajectory) -> list[str]:
    """Angles of the joints that carry rolling wheels."""
    rolling = {c.body for c in run.model.contacts if isinstance(c, Rolling)}
    carrying = [
        j.name for j in run.model.joints if j.child in rolling and isinstance(j.type, Revolute)
    ]
    known = {c.name for c in run.coordinates}
    return [name for j in carrying if (name := f"{j}.angle") in known]


def column(run: Trajectory, name: str) -> Array:
    """(n,) values of a column or an error."""
    if name.startswith("error."):
        return np.asarray(run.errors[name.removeprefix("error.")])
    return run[name]


def data(
    run: Trajectory,
    picture: Picture,
    shown_time: float,
    ghost: Trajectory | None = None,
    *,
    drawing: int = 0,
) -> tuple[Array, ...]:
    """Times, the cursor, the columns, and those of a ghost, each (n + 4,).

    Parameters
    ----------
    run : what happened.
    picture : what to draw.
    shown_time : where the cursor stands, s.
    ghost : another run whose columns are drawn too, where it has them.
    drawing : counts the drawings.
    """
    t = run.t
    at = float(np.clip(shown_time, t[0], t[-1]))
    k = int(np.searchsorted(t, at, side="right"))
    behind = t[-1] + (t[-1] - t[0]) * (1 + drawing % 2) * 1e-9
    times = np.concatenate([t[:k], [at, at, at], t[k:], [behind]])
    curves = []
    for name in picture.columns:
        values = column(run, name)
        now = float(np.interp(at, t, values))
        curves.append(np.concatenate([values[:k], [now, now, now], values[k:], values[-1:]]))
    if ghost is not None:
        for name in picture.columns:
            curves.append(np.interp(times, ghost.t, column(ghost, name)))
    stacked = np.nan_to_num(np.array(curves), nan=0.0, posinf=0.0, neginf=0.0)
    size = scale(run, picture)
    stacked = stacked if size == 1.0 else stacked / size
    low, high = float(np.min(stacked)), float(np.max(stacked))
    cursor = np.full(len(times), low)
    cursor[k + 1] = high if high > low else low + 1.0
    return (times, cursor, *stacked)


def scale(run: Trajectory, picture: Picture) -> float:
    """What the values are counted in: a power of 1000 where they are very small or very large."""
    largest = max(float(np.max(np.abs(column(run, n)), initial=0.0)) for n in picture.columns)
    if not np.isfinite(largest) or largest == 0.0 or 0.01 <= largest < 1e6:
        return 1.0
    return float(1000.0 ** math.floor(math.log10(largest) / 3))


def same_columns(ghost: Trajectory | None, picture: Picture) -> bool:
    """Whether a ghost has all columns of a picture."""
    if ghost is None:
        return False
    has = set(ghost.columns) | {f"error.{n}" for n in ghost.errors}
    return all(name in has for name in picture.columns)


def series(
    picture: Picture, has_ghost: bool, counted_in: float = 1.0
) -> tuple[dict[str, object], ...]:
    """What uPlot is told about each array of `data`; `counted_in` is their scale."""
    cursor = "now"
    if counted_in != 1.0:
        cursor = f"in 10{power_text(round(math.log10(counted_in)))} {picture.unit}".strip()
    told: list[dict[str, object]] = [
        {"label": "t [s]"},
        {"label": cursor, "stroke": CURSOR, "width": 1, "points": {"show": False}},
    ]
    for k, name in enumerate(picture.columns):
        label = name.removeprefix("error.").removeprefix("residual.").removeprefix("acceleration.")
        told.append(
            {"label": label, "stroke": COLORS[k % len(COLORS)], "width": 1.75,
             "points": {"show": False}}
        )  # fmt: skip
    if has_ghost:
        told += [
            {"label": "\u200b" if k else "before", "stroke": GHOST, "width": 1.25, "dash": (5, 4),
             "points": {"show": False}}
            for k, _ in enumerate(picture.columns)
        ]  # fmt: skip
    return tuple(told)
