"""A live page as one file, and a module with the program that drives it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, overload

from noslip import Model, SimulationError, System, Trajectory, __version__
from noslip.base import write_atomically
from noslip.model import model_to_toml
from noslip.show import equations_html
from noslip.web.live_run import LiveRun, live_run
from noslip.web.picture import scene_data

#: Equations are shown up to this many characters of their mathematics; a page stays below 2.5 MB.
MOST_EQUATIONS = 1_300_000
#: Pixels that a page has in another one.
HEIGHT = 760

#: A range, or None for the default one, by the name of a knob.
Ranges = Mapping[str, tuple[float, float] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePage:
    """A live page in another one, such as a notebook. Made by :func:`share` without a path."""

    title: str  #: title for screen readers
    page: str = field(repr=False)  #: HTML of the page

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as a file, all or nothing."""
        target = Path(path)
        write_atomically(target, lambda own: own.write_text(self.page, "utf-8"))
        return target

    def html(self) -> str:
        """A frame with the page."""
        return (
            f'<iframe title="{escape(self.title)}, simulated in this page" loading="lazy" '
            'sandbox="allow-scripts" style="border: 1px solid #8884; border-radius: 10px; '
            f'box-sizing: border-box; width: 100%; height: {HEIGHT}px" '
            f'srcdoc="{escape(self.page)}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.html()


@overload
def share(
    thing: Model | System | Trajectory | str,
    path: str | os.PathLike[str],
    *,
    knobs: Sequence[str] | Ranges = ...,
    plots: Sequence[str] = ...,
    drive: Sequence[str] = ...,
    duration: float | None = ...,
    title: str = ...,
    equations: bool = ...,
    overwrite: bool = ...,
) -> Path: ...


@overload
def share(
    thing: Model | System | Trajectory | str,
    path: None = None,
    *,
    knobs: Sequence[str] | Ranges = ...,
    plots: Sequence[str] = ...,
    drive: Sequence[str] = ...,
    duration: float | None = ...,
    title: str = ...,
    equations: bool = ...,
    overwrite: bool = ...,
) -> LivePage: ...


def share(
    thing: Model | System | Trajectory | str,
    path: str | os.PathLike[str] | None = None,
    *,
    knobs: Sequence[str] | Ranges = (),
    plots: Sequence[str] = (),
    drive: Sequence[str] = (),
    duration: float | None = None,
    title: str = "",
    equations: bool = True,
    overwrite: bool = False,
) -> Path | LivePage:
    """Write a run as a page that simulates it anew in any browser, offline.

    Parameters
    ----------
    thing : a model with a scenario, its name or file, a compiled system, or a run of a scenario.
    path : path of the page, ending in .html. Without a path, the page is returned, which a notebook
        shows below the cell.
    knobs : names of parameters, start values and constant inputs with a slider each, or their
        ranges by name, as in ``{"mass": (10, 30)}``; a few by default.
    plots : columns that are drawn at first; a few by default.
    drive : one or two inputs that a reader drives with, by arrow keys or the thumb, up to what the
        scenario makes of them; in the run itself they are zero.
    duration : s; the scenario's own by default.
    title : title of the page; the name of the model by default.
    equations : whether the equations of motion are typeset in the page.
    overwrite : whether a file that is already there may be replaced.

    Returns
    -------
    Path or LivePage : the file that was written, or what a notebook shows.

    Raises
    ------
    SimulationError : the run cannot be repeated in a page, or the file exists.
    """
    target = None if path is None else Path(path)
    if target is not None:
        _check_target(target, overwrite)
    live = live_run(thing, knobs=knobs, plots=plots, drive=drive, duration=duration)
    text = page_html(live, title=title, equations=equations)
    made = LivePage(title=title or live.system.model.name, page=text)
    return made if target is None else made.save(target)


def _check_target(target: Path, overwrite: bool) -> None:
    where = os.fspath(target)
    if target.suffix.lower() not in (".html", ".htm"):
        raise SimulationError(
            f"a page is no '{target.suffix}' file", where, "choose a name that ends in .html"
        )
    if os.path.lexists(target) and (target.is_dir() or not overwrite):
        raise SimulationError(
            f"there is already a file '{target}'",
            where,
            "choose another name, or pass overwrite=True",
        )


def page_html(
    live: LiveRun, *, title: str = "", equations: bool = True, client: str | None = None
) -> str:
    """The page of a run.

    `title`: title of the page; the name of the model by default. `client`: folder of the files that
    several pages share (:func:`client_files`), as a page finds it; a page of its own holds them.
    """
    system, model = live.system, live.system.model
    plan = live.portable.data()
    data = {
        "plan": plan,
        "scene": scene_data(system, live.values, live.knobs),
        "knobs": [knob.data() for knob in live.knobs],
        "plots": list(live.plots),
        "choices": list(live.choices),
        "drive": [{"name": name, "largest": largest} for name, largest in live.drive],
        "angles": [n for n in live.choices if n not in _plain(system)],
        "isLaw": live.law is not None,
        "command": f"noslip run {live.source} --duration {live.scenario.duration:g}",
    }
    lead = f"<p>{escape(model.description)}</p>" if model.description else ""
    style, mathematics = _mathematics(system) if equations else ("", "")
    if mathematics:
        mathematics = (
            '<details class="wide">\n<summary>Equations of motion</summary>\n'
            f"<div>{mathematics}</div>\n</details>"
        )
    if client is None:
        style = f"<style>\n{_file('page.css')}\n{style}\n</style>"
        program = f'<script>\n"use strict";\n{_program()}\n</script>'
        sources = "'unsafe-inline'"
    else:
        style = f'<link rel="stylesheet" href="{escape(client)}{CLIENT}.css">'
        program = f'<script src="{escape(client)}{CLIENT}.js"></script>'
        sources = "'self' file:"
    parts = {
        "title": escape(title or model.name),
        "style": style,
        "lead": lead,
        "equations": mathematics,
        "model": escape(model_to_toml(model)),
        "file": escape(f"{model.name}.toml"),
        "version": escape(__version__),
        "size": f"{len(live.portable.module) / 1000:.0f} kB",
        "data": _json(data),
        "program": program,
        "scripts": sources,
        "styles": "'unsafe-inline'" if client is None else "'unsafe-inline' 'self' file:",
    }
    pattern = re.compile(r"\{(" + "|".join(parts) + r")\}")
    return pattern.sub(lambda found: parts[found[1]], _file("page.html"))


#: Files that pages share, without their suffixes.
CLIENT = "live"


def client_files(system: System) -> dict[str, bytes]:
    """What pages of one folder share, by name; the style of equations is that of any system."""
    style = _file("page.css") + "\n" + _mathematics(system)[0]
    return {
        f"{CLIENT}.css": style.encode(),
        f"{CLIENT}.js": f'"use strict";\n{_program()}\n'.encode(),
    }


def _mathematics(system: System) -> tuple[str, str]:
    """Style and markup of the equations of motion; empty where they are too long to be read."""
    text = equations_html(system.equations)
    styles = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    markup = re.sub(r"<style>.*?</style>\s*", "", text, flags=re.DOTALL)
    return ("\n".join(styles), markup) if len(markup) <= MOST_EQUATIONS else ("", "")


def _program() -> str:
    """All that a page does; what runs are made of is a function, whose text a worker is given."""
    run = _script("run.js")
    names = ", ".join(re.findall(r"^(?:class|function|const) (\w+)", run, flags=re.MULTILINE))
    return (
        f"function runProgram() {{\n{run}\nreturn {{{names}}};\n}}\n"
        "const {Run, RunError, bytesOf, answer} = runProgram();\n"
        f"{_script('draw.js')}\n{_script('page.js')}"
    )


def module_files(live: LiveRun, stem: str) -> tuple[bytes, ...]:
    """A module, the program that drives it, its types, and a page about both."""
    plan = {k: v for k, v in live.portable.data().items() if k != "module"}
    units = "\n".join(f"| `{n}` | {u or '1'} |" for n, u in plan["units"].items())
    knobs = "\n".join(
        f"| `{name}` | `{kind}` | {value:g} |" for kind, name, value in _settable(live, plan)
    )
    parts = {
        "stem": stem,
        "model": live.system.model.name,
        "version": __version__,
        "columns": units,
        "values": knobs,
        "duration": f"{plan['duration']:g}",
    }
    pattern = re.compile(r"\{\{(" + "|".join(parts) + r")\}\}")

    def filled(text: str) -> bytes:
        return pattern.sub(lambda found: parts[found[1]], text).encode()

    program = (
        _file("run.js") + "\n\n" + _file("module.js") + f"\nexport const plan = {_json(plan)};\n"
    )
    return (
        live.portable.module,
        filled(program),
        filled(_file("run.d.ts")),
        filled(_file("module.md")),
    )


def _settable(live: LiveRun, plan: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Kind, name and value of all that a run may be given."""
    found = [("parameters", name, live.values[name]) for name in plan["parameters"]]
    found += [("start", name, value) for name, value in plan["start"].items()]
    inputs = live.scenario.inputs
    for name in plan["inputs"]:
        value = inputs.get(name, 0.0)
        if not isinstance(value, str):
            found.append(("inputs", name, float(value)))
    return found


def _plain(system: System) -> set[str]:
    """Columns that are no angles of an orientation, which jump by turns."""
    named = (*system.coordinates, *system.speeds, *system.independent_speeds, *system.inputs)
    return {q.name for q in named}


def _file(name: str) -> str:
    return files("noslip.web").joinpath(name).read_text("utf-8").strip()


def _script(name: str) -> str:
    """A program without what only modules have."""
    return re.sub(r"^export ", "", _file(name), flags=re.MULTILINE)


def _json(data: Any) -> str:
    """JSON that ends no element of a page."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
