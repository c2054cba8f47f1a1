"""`animate`: write a run as an animation: HTML that plays offline, GIF, MP4, or one picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from noslip.atomic import write_atomically
from noslip.errors import SimulationError
from noslip.extras import require
from noslip.memory_limits import check_memory
from noslip.show.scene import overlays
from noslip.show.scene.camera import extent, is_far
from noslip.show.scene.frames import Frames, frames
from noslip.show.scene.meshes import Color
from noslip.show.scene.scene import Scene, scene
from noslip.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from PIL.Image import Image

    from noslip.engines.system import System


#: Most pictures of a file; a longer run gets fewer a second.
MOST = {".html": 3600, ".gif": 600, ".mp4": 7200}
#: Pictures a second unless asked otherwise.
RATES = {".html": 30.0, ".gif": 20.0, ".mp4": 30.0}
#: s that an animation may last.
LONGEST = 86400.0


def animate(
    run: Trajectory,
    path: str | Path,
    *,
    system: System | None = None,
    forces: bool = False,
    velocities: bool = False,
    traces: bool = True,
    follow: bool | None = None,
    rate: float | None = None,
    speed: float = 1.0,
    width: int = 960,
    height: int = 600,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write a run as an animation.

    Parameters
    ----------
    run : from :func:`simulate`, :func:`run_scenario` or :func:`track`.
    path : of the file; its ending says what is written. ``.html`` plays in any browser without a
        network, with a time bar and a camera to turn; ``.gif`` and ``.mp4`` are films (the latter
        by ffmpeg); ``.png`` is a picture of the end of the run.
    system : that was simulated; without it one is made from the run's model.
    forces : arrows for the forces of the ground.
    velocities : arrows for the velocities of the mass centers.
    traces : lines of the contact points and mass centers.
    follow : keep the bodies in the middle; by default where the motion is too long to fit.
    rate : pictures a second; 30, for a GIF 20. Where a file would have too many, it has fewer.
    speed : seconds of the motion that pass in a second of the animation.
    width, height : of films and pictures, pixels.
    progress : called with the fraction done, for films.

    Returns
    -------
    Path : of the file.

    Raises
    ------
    SimulationError : for another ending, a run without samples, or a missing program.
    """
    target = Path(path)
    kind = check_file(target)
    trajectory = _trajectory(run)
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
        ).page
        write_atomically(target, lambda file: file.write_text(html, encoding="utf-8"))
        return target

    from noslip.show.scene.film import FINER, Film, write_gif, write_mp4

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
        follow=is_far(drawn, motion) if follow is None else follow,
        caption=trajectory.model.name,
    )
    pixels = film.width * film.height
    check_memory(
        pixels * (16 * FINER**2 + (len(motion) if kind == ".gif" else 1)),
        "pictures",
        f"animation of model '{trajectory.model.name}'",
        "give a smaller size, or a lower rate",
    )
    if kind == ".png":
        picture = film.picture(len(motion) - 1)
        write_atomically(target, lambda file: picture.save(file, format="PNG"))
    elif kind == ".gif":
        write_atomically(target, lambda file: write_gif(film, file, shown_rate, progress))
    else:
        write_atomically(target, lambda file: write_mp4(film, file, shown_rate, progress))
    return target


def check_file(target: Path) -> str:
    """The ending of a file that an animation can be written to, or why it cannot."""
    kind = target.suffix.lower()
    if kind not in (*RATES, ".png"):
        raise SimulationError(
            f"an animation cannot be written as '{target.suffix or target.name}'",
            str(target),
            "choose a file that ends in .html, .gif, .mp4 or .png",
        )
    if not target.parent.is_dir():
        raise SimulationError(
            f"there is no folder '{target.parent}'",
            str(target),
            "make it, or correct the path",
        )
    if kind == ".html":
        require("viser", "an animation as a page", str(target))
    else:
        require("PIL", "a film or a picture", str(target))
    if kind == ".mp4":
        from noslip.show.scene.film import find_ffmpeg

        find_ffmpeg(target)
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """An animation as a page, with what its scene shows.

    Parameters
    ----------
    page : the HTML.
    cell : distance of the grid lines of a plane, m, every fifth line dark; None without a plane.
    traces : name of a path that is drawn → its color.
    """

    page: str
    cell: float | None
    traces: dict[str, Color]


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
    dark: bool = False,
) -> Recording:
    """Record an animation as a page, complete in itself; see :func:`animate`.

    Parameters
    ----------
    dark : a dark page.
    """
    from noslip.show.scene.stage import recording_html

    trajectory = _trajectory(run)
    shown_rate = film_rate(trajectory, rate, speed, ".html")
    drawn, motion = _motion(system, trajectory, shown_rate / speed, forces)
    page = recording_html(
        drawn,
        motion,
        title=f"{trajectory.model.name} - noslip",
        traces=traces,
        forces=forces,
        velocities=velocities,
        follow=is_far(drawn, motion) if follow is None else follow,
        speed=speed,
        dark=dark,
    )
    shown = overlays.traces(drawn, motion) if traces else ()
    return Recording(
        page=page,
        cell=next((grid.cell for grid in overlays.grids(drawn, extent(drawn, motion))), None),
        traces={trace.name: trace.color for trace in shown},
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
    width: int = 960,
    height: int = 600,
    caption: str | None = None,
) -> Image:
    """Render a picture of a run at a time, at its end by default; a notebook shows it.

    Parameters
    ----------
    run : from :func:`simulate`, :func:`run_scenario` or :func:`track`.
    system : that was simulated; without it one is made from the run's model.
    time : s. Several times are drawn in one picture, the bodies paler at all but the last.
    forces : arrows for the forces of the ground.
    velocities : arrows for the velocities of the mass centers.
    traces : lines of the contact points and mass centers.
    follow : come close to the bodies instead of showing all of the motion.
    width, height : pixels.
    caption : in the corner, before the time; None for neither.
    """
    from noslip.show.scene.film import Film

    trajectory = _trajectory(run)
    system = system if system is not None else _system(trajectory)
    drawn, motion = _motion(system, trajectory, RATES[".html"], forces)
    given = np.atleast_1d([] if time is None else time)
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


def film_rate(run: Trajectory, rate: float | None, speed: float, kind: str) -> float:
    """Frames per second of a file: the given rate, or less where there would be too many."""
    wanted = RATES.get(kind, 30.0) if rate is None else rate
    for name, value in (("rate", wanted), ("speed", speed)):
        if not 0 < value < np.inf:
            raise SimulationError(
                f"the {name} of the animation is {value:g}",
                f"animation of model '{run.model.name}'",
                "give a positive number",
            )
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
    return scene(run.model, run.parameters), frames(system, run, rate=rate, forces=forces)


def _trajectory(run: Trajectory) -> Trajectory:
    found = run if isinstance(run, Trajectory) else getattr(run, "trajectory", None)
    if not isinstance(found, Trajectory):
        raise TypeError(f"a run is a Trajectory or has one, got {type(run).__name__}")
    return found


def _system(run: Trajectory) -> System:
    from noslip.engines.system import System
    from noslip.formulations.derive import derive

    return System(equations=derive(run.model))


def _even(pixels: int) -> int:
    """Films are coded in blocks of two by two pixels."""
    return max(2, int(pixels) // 2 * 2)
