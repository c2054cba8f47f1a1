"""`animate`: a run as an animation: a player in a notebook, HTML that plays offline, a film."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from noslip import SimulationError, Trajectory
from noslip.base import ArgumentError, real_array, require, write_atomically
from noslip.scene import Film, Frames, Recording, Scene, frames, record, scene

if TYPE_CHECKING:
    from PIL.Image import Image

    from noslip import System


#: Most pictures of a file; a longer run gets fewer a second.
MOST = {".html": 3600, ".gif": 600, ".mp4": 7200}
#: Pictures a second unless asked otherwise.
RATES = {".html": 30.0, ".gif": 20.0, ".mp4": 30.0}
#: Pictures a second in a notebook, which carries every player in its file.
CELL_RATE = 20.0
#: A frame is as dark as `color-scheme` of its element asks: here dark where the ink of the page is
#: light. When another theme is chosen, the ink changes in a transition, and the frame with it.
SHADE = f"<script>\n{files('noslip.show').joinpath('shade.js').read_text('utf-8')}</script>"
#: On a phone, where a title and a legend need room, and what the script above waits for.
ROOM = "min-height: 300px; transition: color 1ms"
#: Pictures a second that a film may have: more than any display shows.
FASTEST = 1000.0
#: As few as a file can say: a picture of a GIF lasts 655 s at most.
SLOWEST = 0.01
#: s that an animation may last.
LONGEST = 86400.0


def animate(
    run: Trajectory,
    path: str | Path | None = None,
    *,
    system: System | None = None,
    forces: bool = False,
    velocities: bool = False,
    traces: bool = True,
    follow: bool | None = None,
    rate: float | None = None,
    speed: float = 1.0,
    title: str | None = None,
    width: Annotated[int, range(16, 16_385)] = 960,
    height: Annotated[int, range(16, 16_385)] = 600,
    progress: Callable[[float], None] | None = None,
) -> Path | AnimationPlayer:
    """Write a run as an animation, or show it as a player in a notebook.

    Parameters
    ----------
    run : run by :func:`simulate`, :func:`run_scenario` or :func:`track`.
    path : path of the file; its ending chooses the format. ``.html`` plays in any browser without a
        network, with a time bar and a camera to turn; ``.gif`` and ``.mp4`` are films (the latter
        by ffmpeg); ``.png`` is a picture of the end of the run. Without a path, a player is
        returned, which a notebook shows below the cell.
    system : simulated system; by default made from the run's model.
    forces : arrows for the forces of the ground.
    velocities : arrows for the velocities of the mass centers.
    traces : lines of the contact points and mass centers.
    follow : whether the camera follows the bodies; by default where the motion is too long to fit.
    rate : pictures a second; 30, for a GIF and in a notebook 20. Where a file would have too many,
        it has fewer.
    speed : seconds of the motion that pass in a second of the animation.
    title : text in the corner, before the time; the model's name by default.
    width, height : size of films and pictures, pixels; a player is as wide as its page allows.
    progress : function called with the fraction done, for films.

    Returns
    -------
    Path or AnimationPlayer : the file that was written, or what a notebook shows.

    Raises
    ------
    SimulationError : for another ending, a run without samples, or a missing program.
    """
    trajectory = _trajectory(run)
    if path is None:
        require("viser", "an animation in a notebook", f"run of model '{trajectory.model.name}'")
        return _player(
            trajectory,
            system if system is not None else _system(trajectory),
            (width, height),
            forces=forces,
            velocities=velocities,
            traces=traces,
            follow=follow,
            rate=CELL_RATE if rate is None else rate,
            speed=speed,
            title=title,
        )
    target = Path(path)
    kind = FilmFile(target).kind
    system = system if system is not None else _system(trajectory)
    if kind == ".html":
        html = recorded(
            system,
            trajectory,
            forces=forces,
            velocities=velocities,
            traces=traces,
            follow=follow,
            rate=rate,
            speed=speed,
            title=title,
            dark=None,
        ).page
        write_atomically(target, lambda file: file.write_text(html, encoding="utf-8"))
        return target

    shown_rate = film_rate(trajectory, rate, speed, kind)
    drawn, motion = _motion(system, trajectory, shown_rate / speed, forces)
    film = Film(
        scene=drawn,
        frames=motion,
        width=_even(width),
        height=_even(height),
        traces=traces,
        forces=forces,
        velocities=velocities,
        follow=follow,
        caption=trajectory.model.name if title is None else title,
        speed=speed,
    )
    film.save(target, shown_rate, progress)
    return target


class FilmFile:
    """File that an animation can be written to; its folder is there, and what it needs installed.

    Parameters
    ----------
    path : path of the file.

    Attributes
    ----------
    kind : ending of its name.

    Raises
    ------
    SimulationError : the ending is another one, there is no such folder, or no program for it.
    MissingPackageError : a package for it is missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = target = Path(path)
        self.kind = target.suffix.lower()
        if self.kind not in (*RATES, ".png"):
            raise SimulationError(
                f"an animation cannot be written as '{target.suffix or target.name}'",
                str(target),
                "choose a file that ends in .html, .gif, .mp4 or .png",
            )
        if not os.path.isdir(target.parent):
            raise SimulationError(
                f"there is no folder '{target.parent}'",
                str(target),
                "make it, or correct the path",
            )
        if self.kind == ".html":
            require("viser", "an animation as a page", str(target))
        else:
            Film.check(target)

    def check_rate(self, rate: float | None, speed: float) -> None:
        """Refuse pictures a second and a speed that no film has."""
        _check_rate(rate, speed, str(self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimationPlayer:
    """An animation that a notebook shows below its cell; complete in itself, without a server.

    The page is in a frame of its own, so that neither style of notebook and page touches the other,
    and it plays in a static export, too. Where frames are not allowed, as in a notebook that is not
    trusted, the picture is seen.
    """

    title: str  #: title of the page
    page: str = field(repr=False)  #: HTML that plays offline
    still: bytes = field(repr=False)  #: PNG of the end of the run
    size: tuple[int, int]  #: width and height, pixels

    def save(self, path: str | Path) -> Path:
        """Write the page as a file, all or nothing."""
        target = Path(path)
        write_atomically(target, lambda file: file.write_text(self.page, encoding="utf-8"))
        return target

    def html(self) -> str:
        """The frame with its page over the picture, to be put into another page."""
        wide, tall = self.size
        picture = base64.b64encode(self.still).decode("ascii")
        fill = "position: absolute; left: 0; top: 0; width: 100%; height: 100%; border: 0"
        return (
            '<div style="position: relative; overflow: hidden; border-radius: 6px; '
            f'max-width: {wide}px; aspect-ratio: {wide} / {tall}; {ROOM}">{SHADE}\n'
            f'<img alt="{escape(self.title)}" style="width: 100%; height: 100%; margin: 0" '
            f'src="data:image/png;base64,{picture}"/>\n'
            f'<iframe title="{escape(self.title)}" style="{fill}" sandbox="allow-scripts" '
            f'loading="lazy" srcdoc="{escape(self.page)}"></iframe>\n</div>'
        )

    def _repr_html_(self) -> str:
        return self.html()


def _player(
    run: Trajectory, system: System, size: tuple[int, int], *, rate: float, **options: Any
) -> AnimationPlayer:
    """Record a run for a notebook, with a picture of its end."""
    page = recorded(system, run, rate=rate, dark=None, **options).page
    shown = {name: options[name] for name in ("forces", "velocities", "traces")}
    title = run.model.name if options["title"] is None else options["title"]
    end = picture(run, system=system, width=size[0], height=size[1], caption=title, **shown)
    data = io.BytesIO()
    end.quantize(64).save(data, format="PNG", optimize=True)
    return AnimationPlayer(title=title, page=page, still=data.getvalue(), size=size)


def recorded(
    system: System,
    run: Trajectory,
    *,
    forces: bool = False,
    velocities: bool = False,
    traces: bool = True,
    follow: bool | None = None,
    rate: float | None = None,
    speed: float = 1.0,
    title: str | None = None,
    dark: bool | None = False,
    legend: bool = True,
) -> Recording:
    """Record an animation as a page, complete in itself; see :func:`animate`.

    Parameters
    ----------
    dark : a dark page; None for one that is as dark as the page around it, or as its device asks.
    legend : whether the names of the traces stand in the scene, beside the scale of the grid.
    """
    trajectory = _trajectory(run)
    shown_rate = film_rate(trajectory, rate, speed, ".html")
    drawn, motion = _motion(system, trajectory, shown_rate / speed, forces)
    return record(
        drawn,
        motion,
        title=trajectory.model.name if title is None else title,
        traces=traces,
        forces=forces,
        velocities=velocities,
        follow=follow,
        speed=speed,
        dark=dark,
        legend=legend,
    )


def picture(
    run: Trajectory,
    *,
    system: System | None = None,
    time: float | Sequence[float] | None = None,
    forces: bool = False,
    velocities: bool = False,
    traces: bool = True,
    follow: bool = False,
    width: Annotated[int, range(16, 16_385)] = 960,
    height: Annotated[int, range(16, 16_385)] = 600,
    caption: str | None = None,
) -> Image:
    """Render a picture of a run at a time, at its end by default; a notebook shows it.

    Parameters
    ----------
    run : run by :func:`simulate`, :func:`run_scenario` or :func:`track`.
    system : simulated system; by default made from the run's model.
    time : s. Several times are drawn in one picture, the bodies paler at all but the last.
    forces : arrows for the forces of the ground.
    velocities : arrows for the velocities of the mass centers.
    traces : lines of the contact points and mass centers.
    follow : whether the camera comes close to the bodies instead of showing all of the motion.
    width, height : pixels.
    caption : text in the corner, before the time; None for neither.
    """
    trajectory = _trajectory(run)
    system = system if system is not None else _system(trajectory)
    drawn, motion = _motion(system, trajectory, RATES[".html"], forces)
    given = np.atleast_1d([] if time is None else real_array(time))
    if given.ndim != 1 or not np.all(np.isfinite(given)):
        fix = "give a time of the run in s, or a list of them"
        raise SimulationError(f"the time is {time!r:.60}", "picture(time=…)", fix)
    times = given if len(given) else trajectory.t[-1:]
    film = Film(
        scene=drawn,
        frames=motion,
        width=width,
        height=height,
        follow=follow,
        caption=caption,
        traces=traces,
        forces=forces,
        velocities=velocities,
    )
    *earlier, last = (int(np.argmin(np.abs(motion.times - t))) for t in times)
    return film.picture(last, earlier)


def _check_rate(rate: float | None, speed: float, where: str) -> None:
    """Refuse pictures a second and a speed that no film has.

    Raises
    ------
    SimulationError : one is not positive, or the rate is beyond `SLOWEST` and `FASTEST`.
    """
    limits = (("rate", rate, SLOWEST, FASTEST), ("speed", speed, 5e-324, np.finfo(float).max))
    for name, value, least, most in limits:
        if value is not None and not least <= value <= most:
            wanted = "number" + f" from {least:g} to {most:g}" * (name == "rate")
            raise SimulationError(
                f"the {name} of the animation is {value:g}", where, f"give a positive {wanted}"
            )


def film_rate(run: Trajectory, rate: float | None, speed: float, kind: str) -> float:
    """Frames per second of a file: the given rate, or less where there would be too many."""
    wanted = RATES.get(kind, 30.0) if rate is None else rate
    _check_rate(wanted, speed, f"animation of model '{run.model.name}'")
    seconds = float(run.t[-1] - run.t[0]) / speed if len(run.t) else 0.0
    most = MOST.get(kind, 3600)
    if seconds > LONGEST:
        raise SimulationError(
            f"the animation would last {seconds:.3g} s",
            f"animation of model '{run.model.name}'",
            f"give a higher speed: {LONGEST:g} s is the longest",
        )
    return wanted if seconds * wanted <= most else most / seconds


def _motion(system: System, run: Trajectory, rate: float, forces: bool) -> tuple[Scene, Frames]:
    drawn = scene(run.model, run.parameters, run.obstacles)
    return drawn, frames(system, run, rate=rate, forces=forces)


def _trajectory(run: Trajectory) -> Trajectory:
    found = run if isinstance(run, Trajectory) else getattr(run, "trajectory", None)
    if not isinstance(found, Trajectory):
        raise ArgumentError(
            f"a run is a Trajectory or has one, got {type(run).__name__}",
            "run",
            "give what simulate, run_scenario or track returned",
        )
    return found


def _system(run: Trajectory) -> System:
    from noslip import System, derive

    return System(equations=derive(run.model))


def _even(pixels: int) -> int:
    """Films are coded in blocks of two by two pixels."""
    return max(2, int(pixels) // 2 * 2)
