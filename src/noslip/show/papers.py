"""The papers with their figures, tables and schematics, drawn from computed values.

**The five papers, result by result: how each is reproduced, and what comes out beside the print.**

The list is the file `papers.toml`. An entry has a command, or a script of a few lines in which
``ns`` is noslip and ``np`` NumPy, and whose last value is called ``result``. `docs/papers.md` is
written from it, and the tests run all of it.

**The figures of the five papers, drawn from runs and models in the papers' arrangement.**

**Figures of the papers that show a mechanism: a picture of its model with the authors' letters.**

Lengths, points, axes, angles and forces are marked as the papers' texts define them, at places
given in the frames of bodies as expressions of the model's parameters. To add a figure: an entry
in `SCHEMATICS`.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noslip import (
    ControlLoop,
    SimulationError,
    System,
    Trajectory,
    compile,
    derive,
    load,
    run_scenario,
    track,
)
from noslip.base import Array, nearest
from noslip.model import WORLD, NumberReader, Vector3
from noslip.paths import Catenary, Sine
from noslip.scene import Camera, Film, Frames, camera, scene, start_frame
from noslip.show.plots.sheets import color
from noslip.timing import ConstantEnergy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperEntry:
    """A numbered result, an example or a figure of a paper."""

    paper: str  #: key of the paper
    place: str  #: place in the paper, such as ``eq. 33`` or ``Fig. 4``.
    what: str  #: content of the entry
    command: str = ""  #: command of the command line; empty where there is a script
    script: str = ""  #: lines of Python that end in ``result = …``
    #: result of the script, to 1e-9 of the largest; empty for pictures and words
    value: tuple[float, ...] = ()
    print: str = ""  #: text printed in the paper
    erratum: str = ""  #: error of the print, in a few words; empty where it is right

    @property
    def is_figure(self) -> bool:
        """Whether it is drawn."""
        return self.place.startswith("Fig.")

    @property
    def number(self) -> int:
        """Number of a figure."""
        return int(self.place.removeprefix("Fig. "))


class NumberedEquations(NamedTuple):
    """Numbered equations or figures of a paper, and where they are shown."""

    paper: str  #: key of the paper
    equations: str  #: numbers as in ``6.14–6.25``
    what: str  #: content of the equations
    command: str = ""  #: command that shows them; empty where there is a reason
    reason: str = ""  #: reason why there is no command


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("noslip.show").joinpath("papers.toml").read_text("utf-8"))


def known_papers() -> dict[str, tuple[str, str]]:
    """Word of a paper → its key in docs/references.bib and its title."""
    return {p["word"]: (p["reference"], p["title"]) for p in _data()["papers"]}


@cache
def paper_entries() -> tuple[PaperEntry, ...]:
    """All entries, paper by paper, in their order."""
    found = []
    for entry in _data()["entries"]:
        values = {**entry, "value": tuple(entry.get("value", ()))}
        found.append(PaperEntry(**{**values, "script": entry.get("script", "").strip()}))
    return tuple(found)


def numbered_equations(paper: str) -> list[NumberedEquations]:
    """Every numbered equation and figure of a paper, in its order."""
    found = [NumberedEquations(**numbered) for numbered in _data()["numbers"]]
    return [numbered for numbered in found if numbered.paper == paper]


def entries_of(paper: str) -> list[PaperEntry]:
    """All entries of a paper, in its order.

    Raises
    ------
    SimulationError : if there is no such paper.
    """
    if paper not in known_papers():
        fix = nearest(paper, known_papers(), more="`noslip papers` lists them")
        raise SimulationError(f"there is no paper '{paper}'", "papers", fix)
    return [entry for entry in paper_entries() if entry.paper == paper]


def papers_text(paper: str | None = None) -> str:
    """The list for a terminal: of all papers a line each, or of one with its commands and scripts.

    Parameters
    ----------
    paper : key of the paper; all papers by default.
    """
    lines: list[str] = []
    papers = known_papers()
    for word in papers if paper is None else [paper]:
        found = entries_of(word)
        key, title = papers[word]
        lines.append(f"{word}  [{key}] {title}")
        for entry in found:
            lines.append(f"  {entry.place:<18} {entry.what}")
            if paper is None:
                continue
            body = entry.command or entry.script
            lines += [f"      {line}" for line in body.splitlines()]
            if entry.value:
                lines.append(f"      result:    {_numbers(entry.value)}")
            if entry.print:
                lines.append(f"      in print:  {entry.print}")
            if entry.erratum:
                lines.append(f"      erratum:   {entry.erratum}")
        lines.append("")
    return "\n".join(lines[:-1])


def papers_page() -> str:
    """The page docs/papers.md."""
    lines = ["# Every paper on one page", "", _data()["intro"].strip()]
    for word, group in groupby(paper_entries(), key=lambda entry: entry.paper):
        key, title = known_papers()[word]
        lines += ["", f"## {title}", "", f"[{key}], `noslip papers {word}`."]
        for entry in group:
            lines += ["", f"**{entry.place}** {entry.what}."]
            notes = []
            if entry.value:
                notes.append(f"Result: {_numbers(entry.value)}.")
            if entry.print:
                notes.append(f"In print: {entry.print}.")
            if entry.erratum:
                notes.append(f"[Erratum](errata.md#{key.lower()}): {entry.erratum}.")
            if notes:
                lines += ["", " ".join(notes)]
            # an own language would be run by the page's test; here a test of its own runs them
            lines += ["", "```", *(entry.command or entry.script).splitlines(), "```"]
            if entry.is_figure:
                lines += ["", f"![{entry.what}](images/papers/{word}-{entry.number}.png)"]
        lines += ["", f"**Every number** of [{key}], and the command that shows it.", ""]
        lines += ["| number | what | command |", "|---|---|---|"]
        for n in numbered_equations(word):
            lines.append(f"| {n.equations} | {n.what} | {_cell(n)} |")
    return "\n".join(lines) + "\n"


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{x:.12g}".replace("-", "−") for x in values)


def _cell(numbered: NumberedEquations) -> str:
    """The command or the reason in a table."""
    return f"`{numbered.command}`" if numbered.command else numbered.reason


def paper_figure(paper: str, number: int) -> Figure:
    """A figure of one of the five papers, in its arrangement.

    Parameters
    ----------
    paper : ``saha1991``, ``saha1989``, ``desantis1994``, ``cameron1993`` or ``antunes2010``.
    number : number of the figure.

    Raises
    ------
    SimulationError : if there is no such paper or figure.
    """
    known = [e.place.removeprefix("Fig. ") for e in entries_of(paper) if e.is_figure]
    if str(number) not in known:
        raise SimulationError(
            f"there is no figure {number} in [{known_papers()[paper][0]}]",
            "papers",
            f"its figures are {', '.join(known)}",
        )
    if (paper, number) in SCHEMATICS:
        return draw_schematic(SCHEMATICS[paper, number])
    return _DRAWN[paper, number]()


def _sheet(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150)


@cache
def _system(name: str) -> System:
    return compile(derive(load(name)))


@cache
def _circle(radius: float, tolerance: float) -> Trajectory:
    return run_scenario(_system("agv"), changes={"R": radius}, rtol=tolerance, atol=tolerance)


def _panels(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    figure = _sheet(3.2 * columns, 2.3 * rows)
    axes = list(np.ravel(figure.subplots(rows, columns)))
    figure.set_layout_engine("constrained")
    for k, ax in enumerate(axes):
        ax.grid(alpha=0.3)
        ax.set_title(f"({'abcd'[k]})", fontsize=9, loc="left")
        ax.tick_params(labelsize=8)
    return figure, axes


def _label(ax: Axes, x: str, y: str) -> None:
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)


def _trajectory_and_sweep() -> Figure:
    """Figure 3 of the vehicle: (a) the path of its mass center, (b) β over time."""
    figure, (left, right) = _panels(1, 2)
    for k, radius in enumerate((1.0, 2.0)):
        run = _circle(radius, 1e-9)
        left.plot(run["platform.x"], run["platform.y"], color=color(k), label=f"R = {radius:g} m")
    left.set_aspect("equal")
    left.legend(fontsize=7)
    _label(left, "X [m]", "Y [m]")
    right.plot(run.t, run["platform.angle"], color=color(0))
    _label(right, "t [s]", "β [rad]")
    return figure


def _joint_histories() -> Figure:
    """Figure 4: (a) angles, (b) rates, (c) accelerations, (d) torques, for R = 1 and 2 m."""
    figure, axes = _panels(2, 2)
    columns = ("wheel{}.angle", "wheel{}.rate", "acceleration.wheel{}.rate", "torque{}")
    labels = (
        r"$\theta$ [rad]",
        r"$\dot\theta$ [rad/s]",
        r"$\ddot\theta$ [rad/s²]",
        r"$\tau$ [N m]",
    )
    for ax, column, label in zip(axes, columns, labels, strict=True):
        for k, radius in enumerate((1.0, 2.0)):
            run = _circle(radius, 1e-9)
            for wheel, line in ((1, "-"), (2, "--")):
                said = f"wheel {wheel}, R = {radius:g} m"
                ax.plot(run.t, run[column.format(wheel)], line, color=color(k), label=said)
        _label(ax, "t [s]", label)
    axes[0].legend(fontsize=6)
    return figure


def _simulation_errors() -> Figure:
    """Figure 5: errors of the joint angles, at three tolerances."""
    figure, (left, right) = _panels(1, 2)
    for k, tolerance in enumerate((1e-6, 1e-9, 1e-12)):
        run = _circle(1.0, tolerance)
        for ax, wheel in ((left, 1), (right, 2)):
            error = np.abs(run.errors[f"wheel{wheel}.angle"])
            ax.semilogy(run.t, np.maximum(error, 1e-16), color=color(k), label=f"{tolerance:g}")
            _label(ax, "t [s]", f"|error of θ{wheel}| [rad]")
    left.set_ylim(1e-16, 1e-2)  # room for the legend above the curves
    right.set_ylim(1e-16, 1e-2)
    left.legend(title="tolerance", fontsize=7, title_fontsize=7, loc="upper left", ncols=3)
    return figure


def _structure() -> Figure:
    """Figure 1 of the procedure: dynamics, then kinematics."""
    figure = _sheet(6.4, 1.6)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 2)
    boxes = (
        (2.6, r"$\dot\alpha = g_0 + g_{wa}\,\tau_a$"),
        (5.4, r"$\dot q = J_{nh}\,\alpha$"),
        (7.9, r"$\chi = f(q)$"),
    )
    for x, text in boxes:
        ax.text(x, 1.0, text, ha="center", va="center", fontsize=10,
                bbox={"boxstyle": "square,pad=0.6", "fc": "white", "ec": color(0)})  # fmt: skip
    for start, end, text in (
        (0.4, 1.2, r"$\tau_a$"),
        (3.95, 4.55, r"$\alpha$"),
        (6.3, 7.1, "$q$"),
        (8.75, 9.5, r"$\chi$"),
    ):
        ax.annotate("", (end, 1.0), (start, 1.0), arrowprops={"arrowstyle": "->"})
        ax.text((start + end) / 2, 1.15, text, ha="center", fontsize=9)
    return figure


@cache
def _led(word: str) -> Trajectory:
    path = Catenary(x0=1.0, extent=6.0) if word == "catenary" else Sine(
        amplitude=-1.0, wave_number=1.0, extent=9.0
    )  # fmt: skip
    return track(
        _system("chaplygin-sleigh"),
        path,
        timing=ConstantEnergy(total_speed=1.0),
        controller=ControlLoop(inputs=("F_cs", "F_cphi")),
        parameters={"m": 1.0, "a": 0.5, "I": 0.75},
        duration=5.0 if word == "catenary" else 10.0,
    )


def _catenary() -> Figure:
    """Figure 2: (a) s(t), (b) x(t), (c) y(t), (d) y(x)."""
    figure, axes = _panels(2, 2)
    run = _led("catenary")
    for ax, name, label in zip(
        axes, ("path.arc_length", "sleigh.x", "sleigh.y"), ("s", "x", "y"), strict=False
    ):
        ax.plot(run.t, run[name], color=color(0))
        _label(ax, "t [s]", f"{label} [m]")
    axes[3].plot(run["sleigh.x"], run["sleigh.y"], color=color(0))
    _label(axes[3], "x [m]", "y [m]")
    return figure


def _sine() -> Figure:
    """Figure 3: (a) x(t), (b) y(t), (c) y(x) with the path y = −sin x."""
    figure, axes = _panels(1, 3)
    run = _led("sine")
    for ax, name, label in zip(axes, ("sleigh.x", "sleigh.y"), ("x", "y"), strict=False):
        ax.plot(run.t, run[name], color=color(0))
        _label(ax, "t [s]", f"{label} [m]")
    axes[2].plot(run["sleigh.x"], -np.sin(run["sleigh.x"]), color=color(1), label="y = −sin x")
    axes[2].plot(
        run["sleigh.x"][::30], run["sleigh.y"][::30], "o", ms=3, color=color(0), label="run"
    )
    axes[2].legend(fontsize=7)
    _label(axes[2], "x [m]", "y [m]")
    return figure


_DRAWN: dict[tuple[str, int], Callable[[], Figure]] = {
    ("saha1989", 3): _trajectory_and_sweep,
    ("saha1989", 4): _joint_histories,
    ("saha1989", 5): _simulation_errors,
    ("desantis1994", 1): _structure,
    ("antunes2010", 2): _catenary,
    ("antunes2010", 3): _sine,
}


#: Pixels of the picture, and its size on paper, inches.
WIDTH, HEIGHT, INCHES = 960, 640, 6.4
#: How much of their color bodies lose, so that letters are seen.
PALE = 0.4
#: From above, one looks from this many times as far with a narrower angle: nearly parallel rays.
PARALLEL = 8.0
INK, FORCE = "#1b2430", "#c0392b"
ORIGIN: Vector3 = (0.0, 0.0, 0.0)

#: A body and a point in its frame.
Place = tuple[str, Vector3]
#: Projects places and draws on axes.
Seen = Callable[[Place], Array]


@dataclass(frozen=True, slots=True)
class PointMark:
    """A point with a letter `shift` pixels beside it; without a dot it names a body."""

    text: str
    at: Place
    shift: tuple[float, float] = (10.0, -10.0)
    has_dot: bool = True

    def draw(self, ax: Axes, seen: Seen) -> None:
        """Draw it."""
        x, y = seen(self.at)
        if self.has_dot:
            ax.plot([x], [y], "o", ms=4, color=INK, mec="white", mew=0.8, zorder=5)
        _write(ax, self.text, (x + self.shift[0], y + self.shift[1]))


@dataclass(frozen=True, slots=True)
class Span:
    """A length, drawn `aside` pixels to the left of the way from its start to its end."""

    text: str
    start: Place
    end: Place
    aside: float = 0.0

    def draw(self, ax: Axes, seen: Seen) -> None:
        """Draw it."""
        a, b = seen(self.start), seen(self.end)
        along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
        left = np.array([along[1], -along[0]])
        moved = [p + self.aside * left for p in (a, b)]
        if self.aside:
            for p, q in zip((a, b), moved, strict=True):
                ax.plot(*zip(p, q, strict=True), color=INK, lw=0.6, alpha=0.6)
        _arrow(ax, moved[0], moved[1], INK, "<|-|>")
        _write(
            ax, self.text, (moved[0] + moved[1]) / 2 + (13.0 if self.aside >= 0 else -13.0) * left
        )


@dataclass(frozen=True, slots=True)
class VectorMark:
    """A vector between points, its letter at the tip or `beside` pixels left of its middle.

    One that others would hide is drawn `aside` pixels to the left, with thin lines to its ends.
    """

    text: str
    start: Place
    end: Place
    color: str = INK
    beside: float = 0.0
    aside: float = 0.0

    def draw(self, ax: Axes, seen: Seen) -> None:
        """Draw it."""
        a, b = seen(self.start), seen(self.end)
        along = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
        left = np.array([along[1], -along[0]])
        if self.aside:
            for p in (a, b):
                ax.plot(*zip(p, p + self.aside * left, strict=True), color=INK, lw=0.6, alpha=0.6)
            a, b = a + self.aside * left, b + self.aside * left
        _arrow(ax, a, b, self.color, "-|>")
        at = (a + b) / 2 + self.beside * left if self.beside else b + 13.0 * along
        _write(ax, self.text, at, self.color)


@dataclass(frozen=True, slots=True)
class AngleMark:
    """An angle about a point, from the direction to one point to the direction to another."""

    text: str
    about: Place
    start: Place
    end: Place
    radius: float = 70.0

    def draw(self, ax: Axes, seen: Seen) -> None:
        """Draw it."""
        center = seen(self.about)
        first, last = (np.arctan2(*(seen(p) - center)[::-1]) for p in (self.start, self.end))
        turn = (last - first + np.pi) % (2 * np.pi) - np.pi
        angles = first + np.linspace(0.0, turn, 40)
        arc = center + self.radius * np.column_stack([np.cos(angles), np.sin(angles)])
        for p in (self.start, self.end):
            way = seen(p) - center
            tip = center + way / max(float(np.linalg.norm(way)), 1e-9) * (self.radius + 14.0)
            ax.plot(*zip(center, tip, strict=True), color=INK, lw=0.7, ls=(0, (4, 3)))
        ax.plot(*arc[:-2].T, color=INK, lw=1.0)
        _arrow(ax, arc[-4], arc[-1], INK, "-|>")
        middle = first + turn / 2
        _write(
            ax,
            self.text,
            center + (self.radius + 15.0) * np.array([np.cos(middle), np.sin(middle)]),
        )


Mark = PointMark | Span | VectorMark | AngleMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Schematic:
    """A figure: a model at a configuration, how it is looked at, and what is marked."""

    model: str  #: name of the model
    marks: tuple[Mark, ...]  #: letters, lengths, vectors and angles
    #: coordinates that differ from the scenario's start
    start: dict[str, float] = field(default_factory=dict)
    #: azimuth, elevation: the direction one looks from, degrees; from above by default
    azimuth: float = -90.0
    elevation: float = 89.9
    room: float = 1.15  #: factor on the distance of the camera that the bodies alone need
    #: bodies → how far they are moved from their places, m, in the world
    apart: dict[str, Vector3] = field(default_factory=dict)


def draw_schematic(schematic: Schematic) -> Figure:
    """The figure."""
    from matplotlib.figure import Figure

    model = load(schematic.model)
    frame = schematic_frame(schematic)
    view = _camera(schematic, frame)
    film = Film(
        scene=scene(model),
        frames=frame,
        width=WIDTH,
        height=HEIGHT,
        traces=False,
        caption=None,
        view=view,
    )
    image = film.picture(0)
    figure = Figure(figsize=(INCHES, INCHES * HEIGHT / WIDTH), dpi=150)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.imshow(np.round(255 * PALE + (1 - PALE) * np.asarray(image)).astype(np.uint8))
    picture = view.picture(WIDTH, HEIGHT)
    read = NumberReader(model.parameter_values())

    def seen(place: Place) -> Array:
        found: Array = picture.pixels(picture.seen(in_world(place, frame, read)))
        return found

    for mark in schematic.marks:
        mark.draw(ax, seen)
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(HEIGHT, 0)
    return figure


def schematic_frame(schematic: Schematic) -> Frames:
    """Poses of the bodies in a figure."""
    frame = start_frame(System(equations=derive(load(schematic.model))), schematic.start)
    return _moved_apart(frame, schematic.apart)


def in_world(place: Place, frame: Frames, read: NumberReader) -> Array:
    """A place in the world, m."""
    body, point = place
    at: Array = np.array(read.vector(point), dtype=float)
    if body == WORLD:
        return at
    return frame.in_world(0, body, at)


def _moved_apart(frame: Frames, apart: dict[str, Vector3]) -> Frames:
    positions = frame.positions.copy()
    for body, by in apart.items():
        positions[0, frame.bodies.index(body)] += np.array(by, dtype=float)
    return dataclasses.replace(frame, positions=positions)


def _camera(schematic: Schematic, frame: Frames) -> Camera:
    """The camera of a figure, with room for letters; from above with nearly parallel rays."""
    fitted = camera(
        scene(load(schematic.model)),
        frame,
        aspect=WIDTH / HEIGHT,
        azimuth=float(np.radians(schematic.azimuth)),
        elevation=float(np.radians(schematic.elevation)),
    )
    farther = schematic.room * (PARALLEL if schematic.elevation > 80.0 else 1.0)
    tangent = np.tan(fitted.field_of_view / 2) * schematic.room / farther
    return dataclasses.replace(
        fitted,
        position=fitted.look_at + farther * (fitted.position - fitted.look_at),
        field_of_view=float(2 * np.arctan(tangent)),
    )


def _write(ax: Axes, text: str, at: Sequence[float] | Array, color: str = INK) -> None:
    from matplotlib.patheffects import withStroke

    ax.text(
        at[0],
        at[1],
        text,
        ha="center",
        va="center",
        fontsize=12,
        color=color,
        zorder=6,
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )


def _arrow(ax: Axes, start: Array, end: Array, color: str, style: str) -> None:
    from matplotlib.patheffects import withStroke

    ax.annotate(
        "",
        tuple(end),
        tuple(start),
        zorder=4,
        arrowprops={
            "arrowstyle": style,
            "color": color,
            "lw": 1.2,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 9,
            "path_effects": [withStroke(linewidth=2.6, foreground="white")],
        },
    )


def _axes(body: str, length: str, names: Sequence[str], at: Vector3 = ORIGIN) -> tuple[Mark, ...]:
    """Vectors along the axes of a body."""
    ends = []
    for k in range(len(names)):
        end = list(at)
        end[k] = f"({at[k]}) + {length}"
        ends.append((end[0], end[1], end[2]))
    return tuple(
        VectorMark(name, (body, at), (body, end)) for name, end in zip(names, ends, strict=True)
    )


_AGV_AT = {"platform.x": 0.0, "platform.y": 0.0, "platform.angle": 0.0, "bracket.angle": 0.6}
_AGV: tuple[Mark, ...] = (
    *_axes("platform", "0.15", ("$i$", "$j$", "$k$")),
    PointMark("$C$", ("platform", ORIGIN), (16.0, 10.0)),
    PointMark("$O_1$", ("wheel1", ORIGIN), (-16.0, -12.0)),
    PointMark("$O_2$", ("wheel2", ORIGIN), (18.0, 12.0)),
    PointMark("$O_3$", ("wheel3", ORIGIN), (-18.0, 12.0)),
    PointMark("$A_3$", ("bracket", ORIGIN), (22.0, -6.0)),
    Span("$l$", ("wheel1", ORIGIN), ("wheel2", ORIGIN), -58.0),
    Span("$a$", ("platform", (0.0, "-a", 0.0)), ("platform", ORIGIN), -90.0),
    Span("$b$", ("platform", ORIGIN), ("platform", (0.0, "b", 0.0)), -90.0),
    Span("$d$", ("bracket", ORIGIN), ("wheel3", ORIGIN), -34.0),
)

_TRACTOR_AT = {
    "tractor.x": 0.0,
    "tractor.y": 0.0,
    "tractor.angle": 0.3,
    "hinge.angle": -0.45,
    "steer.angle": 0.4,
}
_TRACTOR: tuple[Mark, ...] = (
    AngleMark(
        r"$\theta$",
        ("tractor", ORIGIN),
        (WORLD, (4.0, 0.0, 0.0)),
        ("tractor", ("l1", 0.0, 0.0)),
        150.0,
    ),
    AngleMark(
        r"$\delta$",
        ("front", ORIGIN),
        ("tractor", ("2*l1", 0.0, 0.0)),
        ("front", (1.0, 0.0, 0.0)),
        60.0,
    ),
    AngleMark(
        r"$\phi$",
        ("trailer", ORIGIN),
        ("tractor", ("-2*l1", 0.0, 0.0)),
        ("trailer", ("-l2", 0.0, 0.0)),
        250.0,
    ),
    PointMark("$(x, y)$", ("tractor", ORIGIN), (12.0, 34.0)),
    PointMark("$CG_1$", ("tractor", ("b", 0.0, 0.0)), (-6.0, -22.0)),
    PointMark("$CG_2$", ("trailer", ("-e", 0.0, 0.0)), (0.0, -22.0)),
    PointMark("$P_0$", ("trailer", ORIGIN), (-2.0, -26.0)),
    Span(r"$\ell_1$", ("tractor", ORIGIN), ("tractor", ("l1", 0.0, 0.0)), 110.0),
    Span("$b$", ("tractor", ORIGIN), ("tractor", ("b", 0.0, 0.0)), -110.0),
    Span("$c$", ("tractor", ("-c", 0.0, 0.0)), ("tractor", ORIGIN), 110.0),
    Span("$e$", ("trailer", ("-e", 0.0, 0.0)), ("trailer", ORIGIN), -108.0),
    Span(r"$\ell_2$", ("trailer", ("-l2", 0.0, 0.0)), ("trailer", ORIGIN), -150.0),
)


def _tires(body: str, at: str, k: int, size: str) -> tuple[Mark, ...]:
    """The longitudinal and the lateral force of a tire."""
    start = (body, (at, 0.0, 0.0))
    ahead, left = (body, (f"{at} + {size}", 0.0, 0.0)), (body, (at, size, 0.0))
    return (
        VectorMark(f"$F_{{u{k}}}$", start, ahead, FORCE),
        VectorMark(f"$F_{{w{k}}}$", start, left, FORCE),
    )


_DISK_AT = {"disk.x": 0.0, "disk.y": 0.0, "disk.yaw": 1.1, "disk.tilt": 1.15, "disk.spin": 0.0}
#: The contact point in the frame of a disk that has not spun.
_Q: Vector3 = (0.0, "-r", 0.0)
_PLANAR = ("x", "y")

#: Paper and number of a figure → what it shows.
SCHEMATICS: dict[tuple[str, int], Schematic] = {
    ("saha1991", 1): Schematic(
        model="manipulator-2r",
        start={"joint1.angle": 0.3, "joint2.angle": 0.7},
        marks=(
            PointMark("link $i$", ("link1", ("-0.8*l1", 0.0, 0.0)), (0.0, 40.0), has_dot=False),
            PointMark("link $j$", ("link2", ("-0.35*l2", 0.0, 0.0)), (60.0, 16.0), has_dot=False),
            PointMark("$C_i$", ("link1", ("r1-l1", 0.0, 0.0)), (-6.0, 22.0)),
            PointMark("$C_j$", ("link2", ("r2-l2", 0.0, 0.0)), (20.0, 14.0)),
            VectorMark(r"$\rho_i$", ("link1", ORIGIN), ("link1", ("r1-l1", 0.0, 0.0)), FORCE, 13.0),
            VectorMark("$a_j$", ("link1", ORIGIN), ("link2", ORIGIN), beside=15.0, aside=22.0),
            VectorMark(r"$\rho_j$", ("link2", ORIGIN), ("link2", ("r2-l2", 0.0, 0.0)), FORCE, 13.0),
            VectorMark("$e_{ij}$", ("link1", ORIGIN), ("link1", (0.0, 0.0, "0.36*l1"))),
            AngleMark(
                r"$\theta_{ij}$",
                ("link1", ORIGIN),
                ("link1", ("l1", 0.0, 0.0)),
                ("link2", ORIGIN),
                110.0,
            ),
        ),
        azimuth=-70.0,
        elevation=35.0,
    ),
    ("saha1991", 2): Schematic(
        model="rolling-disk",
        start=_DISK_AT,
        marks=(
            PointMark("$C_j$", ("disk", ORIGIN), (24.0, -8.0)),
            PointMark("$Q$", ("disk", _Q), (22.0, 16.0)),
            VectorMark("$c_j - q$", ("disk", _Q), ("disk", ORIGIN), beside=13.0),
            VectorMark("$q$", (WORLD, (-0.3, -1.1, 0.0)), ("disk", _Q), beside=13.0),
            VectorMark("$c_j$", (WORLD, (-0.3, -1.1, 0.0)), ("disk", ORIGIN), beside=13.0),
            PointMark("$O$", (WORLD, (-0.3, -1.1, 0.0)), (-14.0, 12.0)),
            PointMark("body $i$", (WORLD, (0.25, -0.75, 0.0)), (0.0, 0.0), has_dot=False),
            PointMark("body $j$", ("disk", (0.0, "0.75*r", 0.0)), (70.0, -24.0), has_dot=False),
        ),
        azimuth=-40.0,
        elevation=24.0,
        room=1.6,
    ),
    ("saha1991", 3): Schematic(
        model="rolling-disk",
        start=_DISK_AT,
        marks=(
            PointMark("$C$", ("disk", ORIGIN), (20.0, -8.0)),
            PointMark("$Q$", ("disk", _Q), (22.0, 16.0)),
            VectorMark("$c$", (WORLD, (-0.3, -1.1, 0.0)), ("disk", ORIGIN), beside=13.0),
            VectorMark("$q$", (WORLD, (-0.3, -1.1, 0.0)), ("disk", _Q), beside=13.0),
            VectorMark("$c - q$", ("disk", _Q), ("disk", ORIGIN), beside=13.0),
            VectorMark(r"$\dot{c}$", ("disk", ORIGIN), ("disk", ("0.9*r", 0.0, 0.0)), FORCE),
            *_axes(WORLD, "0.35", ("$X$", "$Y$", "$Z$"), (-0.3, -1.1, 0.0)),
        ),
        azimuth=-40.0,
        elevation=24.0,
        room=1.6,
    ),
    ("saha1991", 4): Schematic(
        model="agv", start=_AGV_AT, marks=_AGV, azimuth=50.0, elevation=32.0, room=1.25
    ),
    ("saha1989", 1): Schematic(
        model="agv",
        start=_AGV_AT,
        marks=(
            *_AGV,
            AngleMark(
                r"$\psi$",
                ("bracket", ORIGIN),
                ("platform", (0.0, "3*b", "r-h")),
                ("bracket", (0.0, "b", 0.0)),
                60.0,
            ),
        ),
        azimuth=50.0,
        elevation=32.0,
        room=1.25,
    ),
    ("saha1989", 2): Schematic(
        model="agv",
        start=_AGV_AT,
        marks=(
            PointMark("1", ("wheel1", ORIGIN), (44.0, 0.0), has_dot=False),
            PointMark("2", ("wheel2", ORIGIN), (50.0, 0.0), has_dot=False),
            PointMark("3", ("wheel3", ORIGIN), (-64.0, 0.0), has_dot=False),
            PointMark("4", ("bracket", ORIGIN), (44.0, 0.0), has_dot=False),
            PointMark("5", ("platform", ORIGIN), (100.0, 0.0), has_dot=False),
            PointMark("$O_1$", ("wheel1", ORIGIN), (18.0, 14.0)),
            PointMark("$O_2$", ("wheel2", ORIGIN), (-6.0, 24.0)),
            PointMark("$O_3$", ("wheel3", ORIGIN), (20.0, 14.0)),
            PointMark("$C$", ("platform", ORIGIN), (14.0, -10.0)),
        ),
        azimuth=50.0,
        elevation=24.0,
        apart={
            "wheel1": (-0.35, 0.0, 0.0),
            "wheel2": (0.16, -0.05, 0.0),
            "platform": (0.0, -0.1, 0.24),
            "bracket": (0.0, 0.16, 0.06),
            "wheel3": (0.0, 0.16, -0.08),
        },
    ),
    ("desantis1994", 2): Schematic(
        model="tractor-trailer", start=_TRACTOR_AT, marks=_TRACTOR, room=1.0
    ),
    ("desantis1994", 3): Schematic(
        model="tractor-trailer",
        start=_TRACTOR_AT,
        marks=(
            *_tires("front", "0", 1, "1.6"),
            *_tires("tractor", "0", 2, "1.6"),
            *_tires("trailer", "-l2", 3, "1.6"),
        ),
    ),
    ("desantis1994", 4): Schematic(
        model="lhd",
        start={"front.x": 0.0, "front.y": 0.0, "front.angle": 0.3, "waist.angle": -0.55},
        marks=(
            AngleMark(
                r"$\theta$",
                ("front", ORIGIN),
                (WORLD, (4.0, 0.0, 0.0)),
                ("front", ("c", 0.0, 0.0)),
                190.0,
            ),
            AngleMark(
                r"$\phi$",
                ("rear", ORIGIN),
                ("front", ("-3*c", 0.0, 0.0)),
                ("rear", ("-l2", 0.0, 0.0)),
                200.0,
            ),
            PointMark("$(x, y)$", ("front", ORIGIN), (6.0, 28.0)),
            PointMark("$CG_1$", ("front", ("b", 0.0, 0.0)), (22.0, -20.0)),
            PointMark("$CG_2$", ("rear", ("-e", 0.0, 0.0)), (4.0, -24.0)),
            PointMark("$P_0$", ("rear", ORIGIN), (6.0, 24.0)),
            Span("$b$", ("front", ORIGIN), ("front", ("b", 0.0, 0.0)), -150.0),
            Span("$c$", ("front", ("-c", 0.0, 0.0)), ("front", ORIGIN), 190.0),
            Span("$e$", ("rear", ("-e", 0.0, 0.0)), ("rear", ORIGIN), -150.0),
            Span(r"$\ell_2$", ("rear", ("-l2", 0.0, 0.0)), ("rear", ORIGIN), -190.0),
        ),
    ),
    ("cameron1993", 1): Schematic(
        model="knife-edge",
        start={"skate.x": 0.0, "skate.y": 0.0, "skate.angle": 0.5},
        marks=(
            *_axes(WORLD, "0.12", ("$x_i$", "$y_i$")),
            VectorMark("$v_i$", ("skate", ORIGIN), ("skate", (0.25, 0.0, 0.0)), FORCE),
            PointMark("$O_i$", ("skate", ORIGIN), (14.0, 18.0)),
            AngleMark(
                r"$\theta_i$",
                ("skate", ORIGIN),
                (WORLD, (1.0, 0.0, 0.0)),
                ("skate", (1.0, 0.0, 0.0)),
                130.0,
            ),
        ),
    ),
    ("cameron1993", 2): Schematic(
        model="tricycle",
        start={"frame.x": 0.0, "frame.y": 0.0, "frame.angle": 0.4, "steer.angle": 0.5},
        marks=(
            AngleMark(
                r"$\theta_i$",
                ("frame", ORIGIN),
                (WORLD, (1.0, 0.0, 0.0)),
                ("frame", ("ell", 0.0, 0.0)),
                170.0,
            ),
            AngleMark(
                r"$\phi_i$",
                ("fork", ORIGIN),
                ("frame", ("3*ell", 0.0, 0.0)),
                ("fork", (1.0, 0.0, 0.0)),
                120.0,
            ),
            VectorMark("$v_i$", ("fork", ORIGIN), ("fork", (0.6, 0.0, 0.0)), FORCE),
            PointMark("$(x_i, y_i)$", ("frame", ORIGIN), (-50.0, 10.0)),
            Span(r"$\ell_i$", ("frame", ORIGIN), ("frame", ("ell", 0.0, 0.0)), 120.0),
        ),
    ),
    ("cameron1993", 3): Schematic(
        model="heavy-body",
        start={"pivot.yaw": 0.4, "pivot.pitch": -0.25, "pivot.roll": 0.2},
        marks=(
            *_axes(
                "body",
                "0.42",
                (
                    r"$\hat{X}_i,\ \omega_{xi}$",
                    r"$\hat{Y}_i,\ \omega_{yi}$",
                    r"$\hat{Z}_i,\ \omega_{zi}$",
                ),
            ),
            *_axes(WORLD, "0.45", (r"$\hat{X}_{i-1}$", r"$\hat{Y}_{i-1}$", r"$\hat{Z}_{i-1}$")),
            PointMark(
                r"roll $\phi_i$, pitch $\theta_i$, yaw $\psi_i$",
                ("body", ORIGIN),
                (-250.0, 130.0),
                has_dot=False,
            ),
            PointMark("$O_i$", ("body", ORIGIN), (-16.0, 14.0)),
        ),
        azimuth=-40.0,
        elevation=24.0,
        room=1.35,
    ),
    ("cameron1993", 4): Schematic(
        model="sled-with-rotor",
        start={"sled.x": 0.0, "sled.y": 0.0, "sled.angle": 0.35, "rotor.angle": 0.6},
        marks=(
            AngleMark(
                r"$\theta_1$",
                ("sled", ORIGIN),
                (WORLD, (1.0, 0.0, 0.0)),
                ("sled", ("ell", 0.0, 0.0)),
                190.0,
            ),
            AngleMark(
                r"$\theta_2$",
                ("rotor", ORIGIN),
                ("sled", ("ell", 0.0, 0.0)),
                ("rotor", ("ell", 0.0, 0.0)),
                120.0,
            ),
            VectorMark("$v_1$", ("sled", ORIGIN), ("sled", ("0.9*ell", 0.0, 0.0)), FORCE),
            PointMark("$O_1$", ("sled", ORIGIN), (10.0, 24.0)),
            PointMark("$m_1$", ("sled", ("-ell", 0.0, 0.0)), (0.0, 24.0)),
            Span(r"$\ell$", ("sled", ("-ell", 0.0, 0.0)), ("sled", ORIGIN), 130.0),
        ),
    ),
    ("antunes2010", 1): Schematic(
        model="chaplygin-sleigh",
        start={"sleigh.x": 0.0, "sleigh.y": 0.0, "sleigh.angle": 0.45},
        marks=(
            *_axes(WORLD, "0.35", ("$x$", "$y$")),
            AngleMark(
                r"$\phi$",
                ("sleigh", ORIGIN),
                (WORLD, (1.0, 0.0, 0.0)),
                ("sleigh", ("a", 0.0, 0.0)),
                150.0,
            ),
            VectorMark(r"$\dot{s}$", ("sleigh", ORIGIN), ("sleigh", ("0.8*a", 0.0, 0.0)), FORCE),
            PointMark("$(x, y)$", ("sleigh", ORIGIN), (-44.0, 10.0)),
            PointMark("$C$", ("sleigh", ("a", 0.0, 0.0)), (10.0, 22.0)),
            Span("$a$", ("sleigh", ORIGIN), ("sleigh", ("a", 0.0, 0.0)), 130.0),
        ),
    ),
}
