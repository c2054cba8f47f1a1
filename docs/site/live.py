"""Live pages: models of the library for the gallery, and motions beside the words about them.

All pages share one program and one style sheet; each has its own module, scene and equations. They
are written anew when anything of the package changes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import noslip as ns
from noslip.web import live_run
from noslip.web.page import client_files, page_html

PACKAGE = Path(ns.__file__).parent
#: Whose equations have the style of all.
PLAIN = "knife-edge"


@dataclass(frozen=True)
class Motion:
    """A motion within a page of the site.

    Parameters
    ----------
    name : of its file.
    page, heading : where it is, below which heading.
    caption : in words.
    thing : makes what is run.
    options : of `share`.
    """

    name: str
    page: str
    heading: str
    caption: str
    thing: Callable[[], Any]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


def _truck() -> ns.Model:
    """The truck at rest, all in line."""
    model = ns.load("truck-trailers")
    most = {"rear.torque": 4000.0, "front.steering_rate": 0.5}
    scenario = dataclasses.replace(model.scenario, start={}, inputs=most, duration=5.0)
    return dataclasses.replace(model, scenario=scenario)


def _tracking() -> ns.Trajectory:
    robot = ns.compile(ns.derive(ns.load("differential-robot")))
    return ns.track(
        robot,
        ns.paths.Circle(radius=1.5),
        timing=ns.timing.Trapezoidal(speed=0.6, acceleration=0.5),
        controller=ns.ControlLoop(controller="pose", period=0.05),
        duration=6,
    )


def _twin() -> ns.System:
    return ns.compile(ns.derive(ns.load("chaplygin-sleigh"), ns.Vakonomic()))


_SLEIGH = {"knobs": ["sleigh.rate", "sleigh.vx", "a", "I"], "plots": ["sleigh.rate", "sleigh.vx"]}
_COIN = {"knobs": {"disk.tilt": (0.8, 1.5), "disk.spin_rate": (-12, -4), "r": (0.3, 0.8)}}
MOTIONS = (
    Motion(
        "coin",
        "index",
        "It moves",
        "A rolling coin. Tilt it, spin it: each move of a slider is simulated anew, exactly, in "
        "this page.",
        lambda: "rolling-disk",
        _COIN,
    ),
    Motion(
        "truck",
        "index",
        "It moves",
        "Back up a truck with three trailers by hand: press Drive, then the arrow keys or the pad.",
        _truck,
        {"knobs": ["hitch_offset", "length"], "drive": ["rear.torque", "front.steering_rate"]},
    ),
    Motion(
        "sleigh",
        "learn/lecture",
        "What the motion shows",
        "The sleigh of this page. Move its mass center along the blade (a), or its moment (I).",
        lambda: "chaplygin-sleigh",
        _SLEIGH,
    ),
    Motion(
        "snakeboard",
        "learn/nonholonomic",
        "Parallel parking",
        "A snakeboard: from loops of its rotor and its two axles it goes ahead, with no motor on "
        "a wheel.",
        lambda: "snakeboard",
    ),
    Motion(
        "bicycle",
        "learn/bicycle",
        "Check with the nonlinear equations",
        "The nonlinear bicycle with its speed and its trail (c).",
        lambda: "whipple-bicycle",
        {"knobs": {"speed": (3.5, 7.0), "c": None}, "equations": False},
    ),
    Motion(
        "tracking",
        "learn/controller",
        "With feedback",
        "A sampled controller drives a robot whose mass it does not know.",
        _tracking,
        {"knobs": {"mass": (8, 30)}},
    ),
    Motion(
        "real-sleigh",
        "vakonomic",
        "The sleigh in both theories",
        "The sleigh by d'Alembert's principle.",
        lambda: "chaplygin-sleigh",
        _SLEIGH,
    ),
    Motion(
        "vakonomic-sleigh",
        "vakonomic",
        "The sleigh in both theories",
        "Its twin by vakonomic mechanics, from the same start.",
        _twin,
        _SLEIGH,
    ),
)
#: Models of the papers, below the title of each.
PAPERS = {
    "[SahaAngeles1991]": "rolling-disk",
    "[SahaAngeles1989]": "agv",
    "[DeSantis1994]": "tractor-trailer",
    "[CameronBook1993]": "sled-with-rotor",
    "[AntunesSigaudMoraes2010]": "chaplygin-sleigh",
}


def write(folder: Path, models: Sequence[str] = ns.MODELS) -> list[str]:
    """Write the pages of all models that can have one, and those of the motions; their names."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(PACKAGE.rglob("*.*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.read_bytes())
    key, now = folder / "key", digest.hexdigest()
    if not key.exists() or key.read_text() != now:
        for path in folder.glob("*"):
            path.unlink()
        for name, data in client_files(ns.compile(ns.derive(ns.load(PLAIN)))).items():
            (folder / name).write_bytes(data)
        key.write_text(now)
    written = []
    for name in models:
        if _page(folder / f"{name}.html", lambda name=name: name, {}):
            written.append(name)
    for motion in MOTIONS:
        if _page(folder / f"{motion.name}.html", motion.thing, motion.options):
            written.append(motion.name)
    return written


def _page(path: Path, thing: Callable[[], Any], options: dict[str, Any]) -> bool:
    """Write a page unless it is there; whether there can be one."""
    if path.exists():
        return True
    given = {name: value for name, value in options.items() if name != "equations"}
    try:
        live = live_run(thing(), **given)
    except ns.SimulationError as error:
        print(f"no live page {path.stem}: {error.what}")
        return False
    text = page_html(live, equations=options.get("equations", True), client="")
    path.write_text(text, "utf-8")
    return True


def link(page: str, source: list[str], names: Sequence[str]) -> None:
    """Add links and motions to the text of a page."""
    up = "../" * page.count("/")
    if page == "gallery":

        def linked(found: re.Match[str]) -> str:
            name = found[1]
            there = f' · <a href="_static/live/{name}.html">live page</a>'
            return found[0] + (there if name in names else "")

        source[0] = re.sub(r"^`noslip animate ([\w-]+)`$", linked, source[0], flags=re.MULTILINE)
    if page == "papers":
        for paper, name in PAPERS.items():
            line = re.search(rf"^{re.escape(paper)}, `noslip papers \w+`\.$", source[0], re.M)
            if line is not None and name in names:
                frame = _frame(up, name, f"{name}, simulated in this page")
                source[0] = source[0].replace(line[0], f"{line[0]}\n\n{frame}", 1)
    below: dict[str, str] = {}
    for motion in MOTIONS:
        if motion.page == page and motion.name in names:
            frame = _frame(up, motion.name, motion.caption)
            below[motion.heading] = below.get(motion.heading, "") + f"\n{frame}"
    for heading, frames in below.items():
        line = f"## {heading}\n"
        if line not in source[0]:
            raise ValueError(f"page {page} has no heading '{heading}' for its live page")
        source[0] = source[0].replace(line, f"{line}{frames}", 1)


def _frame(up: str, name: str, caption: str) -> str:
    """A page within another one, and a link to it."""
    address = f"{up}_static/live/{name}.html"
    return (
        f'<figure class="live"><iframe src="{address}" title="{escape(caption)}" loading="lazy">'
        f'</iframe>\n<figcaption>{escape(caption)} <a href="{address}">Page of its own</a>'
        "</figcaption></figure>\n"
    )
