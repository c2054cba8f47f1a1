"""Sketch of a mechanism with its coordinates, drawn from the model beside its equations.

The bodies are outlined as the scene shows them, at a configuration in which every angle is open
and the holonomic constraints hold. A coordinate is drawn as what it does to the body that it
moves: with ∂R/∂q Rᵀ = w× and the velocity ∂p/∂q of the body's origin it is

    an angle    about the axis w through p + w × ∂p/∂q, from where the body would be at q = 0
    a length    along ∂p/∂q where w = 0, from the axes of what carries it

A mechanism in which all angles turn about one axis is seen along it, others from aside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import casadi as ca
import numpy as np

from noslip.base import Array
from noslip.model import NumberReader
from noslip.scene import scene
from noslip.show.equations.layout import Glyph, Picture
from noslip.show.equations.subject import Subject
from noslip.show.outlines import hull

#: Title of the section with the sketch.
SKETCH = "Sketch"
#: Size of the drawing, its margin and the height of its letters, pixels.
WIDTH, HEIGHT, MARGIN, LETTER = 560.0, 400.0, 46.0, 15.0
#: Angles that are smaller are opened to this, rad; and what the base is turned and moved by.
OPEN, HEADING, AHEAD, ASIDE = 0.45, 0.4, 0.85, 0.55
#: The eye of an oblique view, seen from the mechanism: azimuth and elevation, rad.
AZIMUTH, ELEVATION = -0.95, 0.42
#: Steps to a configuration that fulfills the holonomic constraints, and their residual, m or rad.
STEPS, CLOSED = 40, 1e-9
#: Axes nearer to each other than this are parallel; what is seen nearer to its end is a point.
PARALLEL, EDGE_ON = 0.999, 0.25


@dataclass(frozen=True, slots=True)
class _Turn:
    """A coordinate that turns a body: its value, the axis through a point, and whether it spins."""

    glyph: Glyph
    value: float
    axis: Array
    about: Array
    heading: Array
    is_spin: bool


@dataclass(frozen=True, slots=True)
class _Way:
    """A coordinate that moves a body: from where the way begins to where it ends."""

    glyph: Glyph
    start: Array
    end: Array


@dataclass(slots=True)
class _Drawing:
    """An orthographic picture that is filled bit by bit."""

    #: right, up: directions of the picture, unit vectors of the world
    right: Array
    up: Array
    scale: float = 1.0
    center: Array = field(default_factory=lambda: np.zeros(2))
    lines: list[str] = field(default_factory=list)
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    def flat(self, points: Array) -> Array:
        """Points of the world (n, 3) in the plane of the picture, m."""
        return np.atleast_2d(points) @ np.column_stack([self.right, self.up])

    def pixels(self, points: Array) -> Array:
        """Points of the world (n, 3) in pixels."""
        moved = (self.flat(points) - self.center) * self.scale
        return np.column_stack([WIDTH / 2 + moved[:, 0], HEIGHT / 2 - moved[:, 1]])

    def fit(self, points: Array) -> None:
        """Scale such that the points (n, 3) fill the picture."""
        flat = self.flat(points)
        low, high = flat.min(axis=0), flat.max(axis=0)
        self.center = (low + high) / 2
        room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
        self.scale = float(np.min(room / np.maximum(high - low, 1e-9)))

    def stroke(self, points: Array, kind: str, arrow: bool = False) -> None:
        """A line through points in pixels (n, 2)."""
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.lines.append(f'<polyline class="{kind}" points="{way}"/>')
        if arrow:
            along = points[-1] - points[-2] if len(points) > 1 else np.array([1.0, 0.0])
            self._head(points[-1], along)

    def _head(self, tip: Array, along: Array) -> None:
        along = along / max(float(np.linalg.norm(along)), 1e-9)
        aside = np.array([-along[1], along[0]])
        corners = [tip, tip - 9 * along + 3.2 * aside, tip - 9 * along - 3.2 * aside]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.lines.append(f'<polygon class="head" points="{way}"/>')

    def letter(self, glyph: Glyph, at: Array, away: Array) -> None:
        """A symbol near a point in pixels, preferably in a direction, where nothing is written."""
        wide = 0.62 * LETTER * (len(glyph.base) + 0.72 * len(glyph.index)) + 4
        size = float(np.linalg.norm(away))
        first = float(np.arctan2(away[1], away[0])) if size > 1e-6 else -0.8
        best, least = None, np.inf
        for step in (13.0, 22.0, 34.0, 48.0):
            for turn in (0.0, 0.7, -0.7, 1.4, -1.4, 2.2, -2.2, 3.1):
                way = np.array([np.cos(first + turn), np.sin(first + turn)])
                x, y = at + (step + wide / 2 * abs(way[0])) * way
                box = (x - wide / 2, y - LETTER / 2, x + wide / 2, y + LETTER / 2)
                cost = step / 10 + abs(turn) + 40 * sum(_overlap(box, b) for b in self.taken)
                cost += 100 * (x < wide / 2 or x > WIDTH - wide / 2 or not 10 < y < HEIGHT - 10)
                if cost < least:
                    best, least = (x, y, box), cost
        assert best is not None, "some place is always the best"
        x, y, box = best
        self.taken.append(box)
        slanted = "italic" if len(glyph.base) == 1 else "normal"
        said = f'<tspan style="font-style: {slanted}">{escape(glyph.base)}</tspan>'
        if glyph.index:
            said += f'<tspan dy="4" style="font-size: 0.72em">{escape(glyph.index)}</tspan>'
        self.lines.append(f'<text x="{x:.1f}" y="{y + LETTER / 3:.1f}">{said}</text>')


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Part of the first box that lies in the second one."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0) / max((a[2] - a[0]) * (a[3] - a[1]), 1e-9)


def sketch(subject: Subject) -> list[Picture]:
    """The sketch of the printed coordinates; none without bodies or finite shapes."""
    kin = subject.kin
    model = subject.printed.model
    if not kin.tree.nodes or not kin.num_coordinates:
        return []
    poses = _Poses(subject)
    seen = scene(model)
    parts = [p for p in seen.parts if not p.is_ground and p.body in poses.places]
    q = poses.closed(_opened(subject, poses, seen.length))
    R, p = poses(q)
    centers = {roller.name: roller.center for roller in seen.rollers}
    outlines = []
    for part in parts:
        k = poses.places[part.body]
        corners = part.vertices + centers.get(part.roller, np.zeros(3))
        outlines.append((part, corners @ R[k].T + p[k]))
    turns, ways = _coordinates(subject, poses, q)
    points = np.concatenate([*(x for _, x in outlines), *(w.end[None] for w in ways),
                             *(w.start[None] for w in ways), p])  # fmt: skip
    if not np.all(np.isfinite(points)):
        return []
    picture = _Drawing(*_view(turns))
    picture.fit(points)
    toward = np.cross(picture.right, picture.up)
    for part, corners in sorted(outlines, key=lambda x: float(np.mean(x[1] @ toward))):
        edge = " ".join(f"{x:.1f},{y:.1f}" for x, y in hull(picture.pixels(corners)))
        color = "#{:02x}{:02x}{:02x}".format(*part.color)
        picture.lines.append(f'<polygon class="body" fill="{color}" points="{edge}"/>')
    _draw_axes(picture)
    for way in ways:
        _draw_way(picture, way)
    for k, turn in enumerate(turns):
        _draw_turn(picture, turn, 1.0 + 0.16 * (k % 3))
    said = f"Sketch of '{model.name}' with its coordinates"
    whole = "\n".join(picture.lines)
    svg = (
        f'<svg class="sketch" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'style="width: 100%; max-width: {WIDTH:.0f}px" aria-label="{escape(said)}"'
        f">\n{whole}\n</svg>"
    )
    return [Picture(svg, "Drawn from the model, with open angles; letters as under Symbols.")]


class _Poses:
    """Poses of all nodes as numbers, and configurations that fulfill the position rows."""

    def __init__(self, subject: Subject) -> None:
        kin = subject.kin
        symbols, nodes = kin.symbols, kin.tree.nodes
        self.params = kin.probe.params
        self.places = {node.body.name: k for k, node in enumerate(nodes)}
        given = [symbols.q, symbols.t, symbols.params]
        R = ca.vertcat(*[ca.vec(ca.densify(node.R_WD)) for node in nodes])
        p = ca.vertcat(*[node.p_WB for node in nodes])
        self._poses = ca.Function("poses", given, [ca.densify(R), ca.densify(p)])
        slopes = [ca.densify(ca.jacobian(x, symbols.q)) for x in (R, p)]
        self._slopes = ca.Function("slopes", given, slopes)
        axles = [node.H[0:3, 0] if node.is_rotor else ca.SX.zeros(3) for node in nodes]
        self._axles = ca.Function("axles", [symbols.params], [ca.densify(ca.vertcat(*axles))])
        rows = [r.position for r in kin.rows if r.position is not None]
        lengths = [ca.sumsqr(symbols.q[list(at)]) - 1 for at in _quaternions(subject)]
        held = ca.vertcat(ca.SX(0, 1), *rows, *lengths)
        self._held = ca.Function(
            "held", given, [ca.densify(held), ca.densify(ca.jacobian(held, symbols.q))]
        )

    def axle(self, place: int) -> Array:
        """Axis of a wheel in its computing axes."""
        axis: Array = np.array(self._axles(self.params)).reshape(-1, 3)[place]
        return axis

    def __call__(self, q: Array) -> tuple[Array, Array]:
        """R (n, 3, 3) and p (n, 3) of all nodes."""
        R, p = (np.array(x).ravel() for x in self._poses(q, 0.0, self.params))
        return R.reshape(-1, 3, 3).transpose(0, 2, 1), p.reshape(-1, 3)

    def slopes(self, q: Array) -> tuple[Array, Array]:
        """∂R/∂q (n, 3, 3, nq) and ∂p/∂q (n, 3, nq)."""
        R, p = (np.array(x) for x in self._slopes(q, 0.0, self.params))
        num = len(q)
        return R.reshape(-1, 3, 3, num).transpose(0, 2, 1, 3), p.reshape(-1, 3, num)

    def closed(self, tries: list[Array]) -> Array:
        """The first try from which the position rows can be fulfilled, moved as little as that."""
        for start in tries:
            q = start.copy()
            for _ in range(STEPS):
                held, slope = (np.array(x) for x in self._held(q, 0.0, self.params))
                if not np.all(np.isfinite(held)) or not held.size:
                    break
                if float(np.max(np.abs(held))) < CLOSED:
                    break
                q = q - np.linalg.lstsq(slope, held.ravel(), rcond=None)[0]
            held = np.array(self._held(q, 0.0, self.params)[0])
            if np.all(np.isfinite(held)) and (not held.size or np.max(np.abs(held)) < 1e-6):
                return q
        return tries[-1]


def _quaternions(subject: Subject) -> list[tuple[int, ...]]:
    return [(k, k + 1, k + 2, k + 3) for k in subject.kin.probe.quaternions]


def _opened(subject: Subject, poses: _Poses, size: float) -> list[Array]:
    """Configurations to try: the scenario's start with open angles, then the start alone."""
    kin, model = subject.kin, subject.printed.model
    read = NumberReader(model.parameter_values())
    given = {} if model.scenario is None else model.scenario.start
    names = [c.name for c in kin.coordinates]
    start = np.array([float(read.scalar(given[n])) if n in given else 0.0 for n in names])
    for at in _quaternions(subject):
        if not np.any(start[list(at)]):
            start[at[0]] = 1.0
    turning = poses.slopes(start)
    opened = start.copy()
    quaternion = {k for at in _quaternions(subject) for k in at}
    for node in kin.tree.nodes:
        own = range(node.coordinates.start, node.coordinates.stop)
        place = poses.places[node.body.name]
        for k in own:
            if k in quaternion or node.is_rotor:
                continue
            turns = float(np.linalg.norm(turning[0][place, :, :, k])) > 1e-6
            if turns and abs(start[k]) < OPEN / 2:
                opened[k] = HEADING if len(own) > 1 else OPEN
            elif not turns and node.parent < 0 and names[k].endswith((".x", ".y")):
                opened[k] = 1.6 * size * (AHEAD if names[k].endswith(".x") else ASIDE)
    return [opened, start]


def _coordinates(subject: Subject, poses: _Poses, q: Array) -> tuple[list[_Turn], list[_Way]]:
    """What each coordinate does to the body that it moves."""
    kin = subject.kin
    R, p = poses(q)
    dR, dp = poses.slopes(q)
    turns: list[_Turn] = []
    ways: list[_Way] = []
    quaternion = {k for at in _quaternions(subject) for k in at}
    for place, node in enumerate(kin.tree.nodes):
        end = p[place]
        for k in reversed(range(node.coordinates.start, node.coordinates.stop)):
            entry = subject.notation.coordinates[k]
            if k in quaternion:
                continue
            W = dR[place, :, :, k] @ R[place].T
            axis = np.array([W[2, 1], W[0, 2], W[1, 0]])
            speed, rate = dp[place, :, k], float(np.linalg.norm(axis))
            if node.is_rotor:
                # the computing axes leave the spin out
                axis = R[place] @ poses.axle(place)
                rate = float(np.linalg.norm(axis))
            if rate > 1e-6:
                axis = axis / rate
                about = end + np.cross(axis, speed) / rate
                heading = next((R[place][:, j] for j in (0, 1, 2)
                                if abs(R[place][:, j] @ axis) < 0.9), R[place][:, 0])  # fmt: skip
                heading = heading - axis * float(heading @ axis)
                heading /= np.linalg.norm(heading)
                turns.append(
                    _Turn(entry.glyph, float(q[k]) * rate, axis, about, heading, node.is_rotor)
                )
            elif float(np.linalg.norm(speed)) > 1e-6:
                start = end - float(q[k]) * speed
                ways.append(_Way(entry.glyph, start, end))
                end = start
    return turns, ways


def _view(turns: list[_Turn]) -> tuple[Array, Array]:
    """Right and up of the picture: along the one axis of all angles, or from aside."""
    axes = [t.axis for t in turns if not t.is_spin]
    z = np.array([0.0, 0.0, 1.0])
    common = axes[0] if axes else z
    if all(abs(a @ common) > PARALLEL for a in axes):
        if abs(common @ z) > PARALLEL:
            return np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
        if abs(common @ z) < 1 - PARALLEL:
            toward = common if common[1] < 0 or common[0] > 0 else -common
            return np.cross(z, toward), z
    toward = np.array([np.cos(ELEVATION) * np.cos(AZIMUTH), np.cos(ELEVATION) * np.sin(AZIMUTH),
                       np.sin(ELEVATION)])  # fmt: skip
    right = np.cross(z, toward)
    right /= np.linalg.norm(right)
    return right, np.cross(toward, right)


def _draw_axes(picture: _Drawing) -> None:
    """Axes of the world in a corner, those that are seen."""
    at = np.array([MARGIN * 0.55, HEIGHT - MARGIN * 0.55])
    for k, name in enumerate("xyz"):
        way = np.array([picture.right[k], -picture.up[k]])
        if float(np.linalg.norm(way)) > EDGE_ON:
            tip = at + 34 * way
            picture.stroke(np.array([at, tip]), "axis", arrow=True)
            picture.letter(Glyph(name), tip, way)


def _draw_way(picture: _Drawing, way: _Way) -> None:
    start, end = picture.pixels(np.array([way.start, way.end]))
    if float(np.linalg.norm(end - start)) < 6:
        picture.letter(way.glyph, end, np.array([1.0, 1.0]))
        return
    picture.stroke(np.array([start, end]), "thin", arrow=True)
    along = end - start
    picture.letter(way.glyph, (start + end) / 2, np.array([-along[1], along[0]]))


def _draw_turn(picture: _Drawing, turn: _Turn, reach: float) -> None:
    """An arc from where the body would be without this angle, or an arrow of a spin."""
    toward = np.cross(picture.right, picture.up)
    radius = 44.0 * reach / picture.scale
    center = picture.pixels(turn.about)[0]
    if turn.is_spin or abs(turn.axis @ toward) < EDGE_ON:
        # seen from its edge: the way of the side that is turned to the eye
        side = toward - turn.axis * float(turn.axis @ toward)
        side = side / max(float(np.linalg.norm(side)), 1e-9)
        if abs(turn.axis @ toward) < 0.6:
            way = picture.pixels(turn.about + 0.55 * radius * np.cross(turn.axis, side))[0] - center
            picture.stroke(np.array([center - way, center + way]), "axis", arrow=True)
            picture.letter(turn.glyph, center + way, way)
            return
        angle = 1.9
    else:
        angle = turn.value
    first = _rotated(turn.heading, turn.axis, -angle)
    arc = np.array([turn.about + radius * _rotated(first, turn.axis, a)
                    for a in np.linspace(0.0, angle, 24)])  # fmt: skip
    seen = picture.pixels(arc)
    if not turn.is_spin:
        for direction in (first, turn.heading):
            end = picture.pixels(turn.about + 1.25 * radius * direction)[0]
            picture.stroke(np.array([center, end]), "thin")
    picture.stroke(seen, "axis", arrow=True)
    middle = seen[len(seen) // 2]
    picture.letter(turn.glyph, middle, middle - center)


def _rotated(vector: Array, axis: Array, angle: float) -> Array:
    """A vector turned about an axis (Rodrigues)."""
    c, s = np.cos(angle), np.sin(angle)
    turned: Array = vector * c + np.cross(axis, vector) * s + axis * float(axis @ vector) * (1 - c)
    return turned
