"""Overlays drawn beside the bodies: the ground's grid, traces, and arrows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from noslip.base import Array
from noslip.model import WORLD, rotation_to, round_cell
from noslip.scene import colors
from noslip.scene.assembly import Frames, Ground, Scene
from noslip.scene.cameras import Extent
from noslip.scene.geometry import Color, rgb

CONTACT_TRACE, CENTER_TRACE = rgb(colors.PATH_COLORS["contact"]), rgb(colors.PATH_COLORS["body"])
REFERENCE_TRACE, ESTIMATE_TRACE = rgb(colors.INK), rgb(colors.PATH_COLORS["estimate"])
#: Kind of a trace → its color.
KINDS = {
    "contact": CONTACT_TRACE,
    "center_of_mass": CENTER_TRACE,
    "origin": CENTER_TRACE,
    "reference": REFERENCE_TRACE,
    "path": REFERENCE_TRACE,
    "estimate": ESTIMATE_TRACE,
}
#: The same → what it is called, where that is another word.
WORDS = {"center_of_mass": "mass center", "origin": "", "path": "reference path"}
#: Kinds that are there from the start and are dashed.
PLANS = ("reference", "path")
#: Dashes of a reference, and what is between them, over the model's length.
DASH, GAP = 0.25, 0.15
#: Most dashes of a reference.
MOST_DASHES = 400
#: Traces of one color that a legend names.
NAMED = 4
FORCE, VELOCITY = rgb(colors.FORCE), rgb(colors.VELOCITY)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """Squares on a ground."""

    body: str  #: body that carries it
    #: rotation, position: pose of its middle, a crossing of lines, on that body
    rotation: Array
    position: Array
    width: float  #: width of the whole, m, an even number of cells
    cell: float  #: width of a square, m; every fifth line is heavier


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """The path of a point."""

    name: str  #: name of the point that it follows, and its kind
    points: Array  #: (k, 3) in the world, m
    color: Color  #: color of its line
    #: (j, 2, 3) of a reference, which is there from the start; None for what was gone
    dashes: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrows:
    """Arrows of one kind: (k, n, 3) starts and ends over the frames."""

    name: str
    starts: Array
    ends: Array
    color: Color


def grids(scene: Scene, box: Extent, room: float = 0.0) -> tuple[Grid, ...]:
    """A grid for each plane; a floor below everything for models that touch no fixed ground.

    With room, m, to go on in any direction. Curved ground has lines of its own.
    """
    grounds = list(scene.grounds)
    on_curved = any(part.is_ground and part.body == WORLD for part in scene.parts)
    if not on_curved and not any(ground.body == WORLD for ground in grounds):
        grounds.append(_floor(scene, box))
    found = []
    for ground in grounds:
        if ground.body == WORLD:
            wide = 1.25 * float(np.max(box.upper - box.lower)) + 2 * (scene.length + room)
            middle = box.center
        else:
            wide, middle = 3 * scene.length, ground.position
        cell = round_cell(wide)
        found.append(
            Grid(
                body=ground.body,
                rotation=ground.rotation,
                position=_crossing(middle, ground, cell),
                width=float(np.ceil(wide / (2 * cell)) * 2 * cell),
                cell=cell,
            )
        )
    return tuple(found)


def traces(scene: Scene, frames: Frames) -> tuple[Trace, ...]:
    """Paths worth drawing: what moves; of mass centers only those of bodies without a contact.

    Of what follows a reference the point that follows is drawn, not the mass center. They are
    lifted a little, so that they do not drown in the ground.
    """
    if len(frames) < 2:
        return ()
    # curved ground is drawn by flat triangles, which reach above it
    lift = (4e-2 if scene.is_curved else 4e-3) * scene.length * scene.up
    found = []
    for name, points in frames.traces.items():
        what, _, kind = name.rpartition(".")
        still = float(np.max(np.ptp(points, axis=0))) < 1e-3 * scene.length
        if still or name in scene.untraced:
            continue
        if kind == "center_of_mass" and f"{what}.origin" in frames.traces:
            continue
        is_plan = kind in PLANS
        raised = points + (1.5 * lift if is_plan else lift)
        found.append(
            Trace(
                name=name,
                points=raised,
                color=KINDS[kind],
                dashes=dashed(rounded(raised), scene.length) if is_plan else None,
            )
        )
    return tuple(found)


def dashed(points: Array, length: float) -> Array:
    """Dashes (j, 2, 3) along a curve through points (k, 3), for a model of a length, m."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    period = (DASH + GAP) * length
    # of a long way no more dashes than can be seen
    period = max(period, way[-1] / MOST_DASHES)
    begin = np.arange(0.0, way[-1], period)
    ends = np.stack([begin, np.minimum(begin + DASH / (DASH + GAP) * period, way[-1])], axis=1)
    result: Array = np.stack([np.interp(ends, way, points[:, j]) for j in range(3)], axis=-1)
    return result


def trace_names(shown: Iterable[Trace], most: int = NAMED) -> dict[Color, str]:
    """Color of traces → what they follow: ``wheel1 contact``, ``contacts of wheel1, wheel2``.

    `most`: names of one kind that are written out; 0 for the kind alone, ``contacts``.
    """
    found: dict[Color, dict[str, list[str]]] = {}
    for trace in shown:
        what, _, kind = trace.name.rpartition(".")
        found.setdefault(trace.color, {}).setdefault(kind, []).append(what)
    return {
        color: ", ".join(_together(kind, names, most) for kind, names in kinds.items())
        for color, kinds in found.items()
    }


def _together(kind: str, names: list[str], most: int) -> str:
    """Names of one kind of traces."""
    word = WORDS.get(kind, kind)
    if not most and word:
        return word if len(names) == 1 else f"{word}s"
    most = max(most, 1)
    listed = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    if len(names) == 1 or not word:
        return f"{listed} {word}".strip()
    return f"{word}s of {listed}"


def scale_text(scene: Scene, found: Sequence[Grid], speed: float = 1.0) -> str:
    """Scale of the grid, where there is one, and how fast the motion is shown."""
    cell = found[0].cell if found else scene.line_distance
    said = [] if cell is None else [f"grid {cell:g}\N{NO-BREAK SPACE}m"]
    if speed > 1:
        said.append(f"{speed:g} times as fast")
    elif speed < 1:
        said.append(f"{1 / speed:.3g} times slower")
    return ", ".join(said)


def rounded(points: Array, between: int = 4) -> Array:
    """A curve through points (k, 3) with more points between them (Catmull and Rom's spline).

    Pictures are too few to draw a fast motion by straight lines from one to the next.
    """
    if len(points) < 3 or between < 2:
        return points
    ends = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    a, b, c, d = (ends[k : len(ends) - 3 + k, None, :] for k in range(4))
    s = (np.arange(between) / between)[None, :, None]
    curve = b + s / 2 * ((c - a) + s * (2 * a - 5 * b + 4 * c - d + s * (3 * (b - c) + d - a)))
    return np.concatenate([curve.reshape(-1, 3), points[-1:]])


def fineness(points: Array) -> int:
    """Number of pieces between two points for a smooth curve: one where they lie close."""
    steps = np.diff(points, axis=0)
    size = np.linalg.norm(steps, axis=1)
    moving = size > 1e-2 * np.max(size, initial=0.0)
    steps, size = steps[moving], size[moving]
    if len(steps) < 2:
        return 1
    cosine = np.clip(np.sum(steps[1:] * steps[:-1], axis=1) / (size[1:] * size[:-1]), -1.0, 1.0)
    turn = float(np.degrees(np.percentile(np.arccos(cosine), 90)))
    return int(np.clip(np.ceil(turn / 2.5), 1, 6))


def arrows(scene: Scene, frames: Frames, *, forces: bool, velocities: bool) -> tuple[Arrows, ...]:
    """Arrows at contacts and mass centers; the longest of a kind is as long as the model."""
    found = []
    if velocities and frames.bodies:
        moving = [
            k
            for k, name in enumerate(frames.bodies)
            if f"{name}.center_of_mass" not in scene.untraced
        ]
        found.append(
            ("velocities", frames.centers[:, moving], frames.velocities[:, moving], VELOCITY)
        )
    if forces and frames.forces:
        points, vectors = (np.stack(x, axis=1) for x in zip(*frames.forces.values(), strict=True))
        found.append(("forces", points, vectors, FORCE))
    result = []
    for name, points, vectors, color in found:
        longest = float(np.max(np.linalg.norm(vectors, axis=-1), initial=0.0))
        if longest > 0:
            ends = points + 1.5 * scene.length / longest * vectors
            result.append(Arrows(name=name, starts=points, ends=ends, color=color))
    return tuple(result)


def pale(color: Color, share: float = 0.4, paper: Color = (255, 255, 255)) -> Color:
    """A color mixed with that of the paper."""
    r, g, b = (round(p - share * (p - c)) for c, p in zip(color, paper, strict=True))
    return r, g, b


def _floor(scene: Scene, box: Extent) -> Ground:
    lowest = float(np.min(box.corners @ scene.up))
    position = box.center + scene.up * (lowest - float(box.center @ scene.up))
    return Ground(body=WORLD, rotation=rotation_to(scene.up), position=position)


def _crossing(middle: Array, ground: Ground, cell: float) -> Array:
    """The crossing of lines through the ground's origin that is nearest to a point."""
    local = ground.rotation.T @ (middle - ground.position)
    local = np.array([*(np.round(local[:2] / cell) * cell), 0.0])
    crossing: Array = ground.position + ground.rotation @ local
    return crossing
