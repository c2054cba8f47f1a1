"""A live page as one file, and a module with the program that drives it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from noslip import Model, SimulationError, System, Trajectory, __version__
from noslip.base import write_atomically
from noslip.show import equations_html
from noslip.web.live_run import LiveRun, live_run
from noslip.web.picture import scene_data

#: Equations are shown up to this many characters of their mathematics.
MOST_EQUATIONS = 400_000


def share(
    thing: Model | System | Trajectory | str,
    path: str | os.PathLike[str],
    *,
    knobs: Sequence[str] | Mapping[str, tuple[float, float] | None] = (),
    plots: Sequence[str] = (),
    drive: Sequence[str] = (),
    duration: float | None = None,
    title: str = "",
    overwrite: bool = False,
) -> Path:
    """Write a run as a page that simulates it anew in any browser, offline.

    Parameters
    ----------
    thing : a model with a scenario, its name or file, a compiled system, or a run of a scenario.
    path : of the page, ending in .html.
    knobs : names of parameters, start values and constant inputs with a slider each, or their
        ranges by name, as in ``{"mass": (10, 30)}``; a few by default.
    plots : columns that are drawn at first; a few by default.
    drive : one or two inputs that a reader drives with, by arrow keys or the thumb, up to what the
        scenario makes of them; in the run itself they are zero.
    duration : s; the scenario's own by default.
    title : of the page; the name of the model by default.
    overwrite : whether a file that is already there may be replaced.

    Returns
    -------
    Path : of the file.

    Raises
    ------
    SimulationError : the run cannot be repeated in a page, or the file exists.
    """
    target = Path(path)
    where = os.fspath(path)
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
    made = live_run(thing, knobs=knobs, plots=plots, drive=drive, duration=duration)
    text = page_html(made, title=title)
    write_atomically(target, lambda own: own.write_text(text, "utf-8"))
    return target


def page_html(live: LiveRun, *, title: str = "") -> str:
    """The page of a run."""
    system, model = live.system, live.system.model
    mathematics = equations_html(system.equations)
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
    equations = ""
    if len(mathematics) <= MOST_EQUATIONS:
        equations = (
            '<details class="wide">\n<summary>Equations of motion</summary>\n'
            f"<div>{mathematics}</div>\n</details>"
        )
    parts = {
        "title": escape(title or model.name),
        "style": _file("page.css"),
        "lead": lead,
        "equations": equations,
        "model": "",
        "version": escape(__version__),
        "size": f"{len(live.portable.module) / 1000:.0f} kB",
        "data": _json(data),
        "run": _script("run.js"),
        "draw": _script("draw.js"),
        "page": _script("page.js"),
    }
    pattern = re.compile(r"\{(" + "|".join(parts) + r")\}")
    return pattern.sub(lambda found: parts[found[1]], _file("page.html"))


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
