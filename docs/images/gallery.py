"""Draws gallery/*.png, a picture of every ready model as it moves, and the film agv.gif.

python docs/images/gallery.py draws all; names of models after it, or agv.gif, draw only these. A
picture shows the model's own scenario, or the beginning of it where all would be too long, at a few
times, the last of them in full color.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import noslip as ns
from noslip.base.files import write_atomically
from noslip.scene.assembly import frames, scene
from noslip.scene.overlays import camera
from noslip.scene.film import Film

HERE = Path(__file__).parent
#: Of the pictures: pixels, and colors.
SIZE, COLORS = (720, 450), 160
#: Of the film: pixels, and pictures a second.
FILM, RATE = (720, 380), 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """When and from where a model is looked at.

    Parameters
    ----------
    times : s, the last one in full color.
    azimuth, elevation : of the direction one looks from, degrees.
    until : s, end of the motion that is shown; the last of the times by default.
    """

    times: tuple[float, ...]
    azimuth: float = -75.0
    elevation: float = 26.0
    until: float | None = None


SHOTS = {
    "rolling-disk": Shot(times=(0.0, 0.32, 0.64, 0.96, 1.28), azimuth=-45.0, elevation=20.0),
    "agv": Shot(times=(0.0, 18.0, 24.0, 30.0, 36.0, 42.0), until=60.0),
    "tractor-trailer": Shot(times=(0.0, 3.5, 6.5, 10.0), azimuth=-8.0),
    "tractor-trailer-slip": Shot(times=(0.0, 3.5, 6.5, 10.0), azimuth=-8.0),
    "lhd": Shot(times=(0.0, 4.0), azimuth=-52.0),
    "lhd-noslip": Shot(times=(0.0, 4.0), azimuth=35.0),
    "manipulator-2r": Shot(times=(0.0, 0.5, 1.0, 1.5, 2.0)),
    "manipulator-3r": Shot(times=(0.0, 0.25, 0.5, 0.75, 1.0)),
    "manipulator-6r": Shot(times=(0.0, 1.0, 2.0), azimuth=0.0),
    "knife-edge": Shot(times=(0.0, 1.0, 2.0, 3.0, 4.0), azimuth=55.0, elevation=30.0),
    "tricycle": Shot(times=(0.0, 1.0, 2.0), azimuth=55.0),
    "heavy-body": Shot(times=(0.0, 0.6, 1.2, 2.0), azimuth=30.0),
    "sled-with-rotor": Shot(times=(0.0, 1.7, 3.2, 5.0), azimuth=40.0, elevation=32.0),
    "chaplygin-sleigh": Shot(times=(0.0, 1.2, 2.4, 4.0), azimuth=75.0, elevation=34.0),
    "vertical-disk": Shot(times=(0.0, 1.2, 2.4, 3.5), azimuth=-25.0, elevation=30.0),
    "carriage": Shot(times=(0.0, 1.3, 2.6, 4.0), azimuth=66.0),
    "differential-robot": Shot(times=(0.0, 2.2, 4.0, 5.5), azimuth=-60.0),
    "ackermann-car": Shot(times=(0.0, 2.0, 3.6, 5.0), azimuth=-60.0),
    "forklift": Shot(times=(0.0, 4.0, 8.0), azimuth=-50.0),
    "mecanum-base": Shot(times=(0.0, 3.0, 6.0, 10.0), azimuth=-60.0, elevation=32.0),
    "omni-base": Shot(times=(0.0, 3.0, 5.5, 8.0), azimuth=-60.0, elevation=32.0),
    "truck-trailers": Shot(times=(0.0, 12.0), azimuth=-65.0, elevation=32.0),
    "tractor-trailer-tires": Shot(times=(0.0, 3.0, 6.0), azimuth=-40.0, elevation=30.0),
    "snakeboard": Shot(times=(0.0, 5.0, 10.0), azimuth=-60.0, elevation=30.0),
    "roller-racer": Shot(times=(0.0, 2.5, 5.0), azimuth=-60.0, elevation=30.0),
    "balancing-robot": Shot(times=(0.0, 0.45, 0.62, 0.75), azimuth=-70.0, elevation=16.0),
    "mobile-manipulator": Shot(times=(0.0, 2.5, 4.0, 6.0), azimuth=-60.0),
    "cartesian-crane": Shot(times=(0.0, 3.5, 7.0, 16.0), azimuth=-50.0, elevation=20.0),
    "crane": Shot(times=(0.0, 2.5, 5.0, 8.0), azimuth=-75.0, elevation=14.0),
    "whipple-bicycle": Shot(times=(0.0, 0.5, 1.0, 1.5), azimuth=-48.0, elevation=20.0),
    "rattleback": Shot(times=(0.0, 2.0, 3.2), azimuth=-60.0, elevation=30.0),
    "ball-in-bowl": Shot(times=(0.0, 2.6, 3.2), azimuth=-60.0, elevation=38.0, until=8.0),
    "ball-on-dish": Shot(times=(0.0, 2.0, 4.0, 6.0), azimuth=-60.0, elevation=35.0, until=10.0),
    "coin-in-funnel": Shot(times=(0.0, 0.8, 1.6, 2.4, 3.0), azimuth=-60.0, elevation=38.0),
    "spherical-robot": Shot(times=(0.0, 2.0, 3.5, 5.0), azimuth=-100.0, elevation=25.0),
    "bicycle-on-hills": Shot(times=(0.0, 0.6, 1.2, 1.8), azimuth=-38.0, elevation=24.0),
    "vehicle-on-hills": Shot(times=(0.0, 1.0, 2.0, 3.0), azimuth=-35.0, elevation=30.0),
    "tippe-top": Shot(times=(0.0, 0.35, 0.6, 1.0, 3.0), azimuth=-60.0, elevation=14.0),
    "eulers-disk": Shot(times=(0.0, 1.9, 3.8), azimuth=-60.0, elevation=24.0),
    "braking-forklift": Shot(times=(0.0, 0.6, 1.0), azimuth=-75.0, elevation=12.0),
    "split-friction-robot": Shot(times=(0.0, 1.0, 1.6, 3.0), azimuth=-75.0, elevation=38.0),
}


def film_of(name: str, shot: Shot, rate: float, width: int, height: int) -> Film:
    """The scenario of a model, `rate` pictures a second of its motion, as a shot sees it."""
    system = ns.compile(ns.derive(ns.load(name)))
    run = ns.run_scenario(system)
    end = shot.times[-1] if shot.until is None else shot.until
    motion = frames(system, run, times=np.linspace(0.0, end, 1 + round(rate * end)))
    look = scene(run.model, run.parameters)
    azimuth, elevation = np.radians([shot.azimuth, shot.elevation])
    view = camera(look, motion, aspect=width / height, azimuth=azimuth, elevation=elevation)
    return Film(scene=look, frames=motion, width=width, height=height, view=view, caption=None)


def picture(name: str, width: int, height: int) -> Image.Image:
    """A model at the times of its shot."""
    shot = SHOTS[name]
    film = film_of(name, shot, 60.0, width, height)
    *earlier, last = (int(np.argmin(np.abs(film.frames.times - t))) for t in shot.times)
    return film.picture(last, earlier)


def draw(name: str) -> None:
    """One picture, with a palette of its own, which makes it small."""
    drawn = picture(name, *SIZE).quantize(COLORS)
    target = HERE / "gallery" / f"{name}.png"
    write_atomically(target, lambda file: drawn.save(file, format="PNG", optimize=True))


def draw_film() -> None:
    """The film of the README: six seconds of the vehicle in a second."""
    film = film_of("agv", SHOTS["agv"], RATE / 6, *FILM)
    film.save(HERE / "agv.gif", RATE)


if __name__ == "__main__":
    for name in sys.argv[1:] or (*ns.MODELS, "agv.gif"):
        if name == "agv.gif":
            draw_film()
        else:
            draw(name)
