"""Files that a page offers: made in memory or in a folder of our own, sent to the browser.

A page never says where: it asks for a kind of file and gets bytes with a name.
"""

from __future__ import annotations

import dataclasses
import re
import tempfile
from pathlib import Path

from noslip import Model, Scenario, animate
from noslip.results import Audit
from noslip.model import model_to_toml
from noslip.show import recorded, report_html
from noslip.studio.choosing.choice import DURATION, INPUTS, SCENARIO, Choice, number_or_text
from noslip.studio.choosing.link import PageView
from noslip.studio.running.session import Shown

#: Kind → what the page calls it.
KINDS = {
    "model": "Model (TOML)",
    "data": "Data (NetCDF)",
    "report": "Report (HTML)",
    "animation": "Animation (HTML)",
    "film": "Film (GIF)",
}


#: Longest film, s; a longer run is shown faster. Pictures a second, and their size.
LONGEST, FILM_RATE, FILM_SIZE = 20.0, 12.5, (640, 400)


def make_file(
    kind: str, shown: Shown, audit: Audit | None = None, view: PageView | None = None
) -> tuple[str, bytes]:
    """Name and content of a file of the run that is shown.

    Parameters
    ----------
    kind : one of `KINDS`.
    shown : the run.
    audit : of the run, for its report; made if it is not given.
    view : how the run is looked at, for its film.
    """
    name = file_stem(shown.mechanism.model.name)
    if kind == "model":
        model = model_with(shown.mechanism.model, shown.choice)
        return f"{name}.toml", model_to_toml(model).encode()
    if kind == "data":
        with tempfile.TemporaryDirectory(prefix="noslip-studio-") as folder:
            path = Path(folder) / "run.nc"
            shown.run.to_netcdf(path)
            return f"{name}.nc", path.read_bytes()
    if kind == "report":
        page = report_html(shown.system, shown.run, command=shown.command, audit=audit)
        return f"{name}-report.html", page.encode()
    if kind == "film":
        return f"{name}.gif", _film(shown, view or PageView())
    return f"{name}.html", recorded(shown.system, shown.run).page.encode()


def _film(shown: Shown, view: PageView) -> bytes:
    """The film of a run with what the page draws, at the speed of its playback or faster."""
    lasts = float(shown.run.t[-1] - shown.run.t[0])
    with tempfile.TemporaryDirectory(prefix="noslip-studio-") as folder:
        path = Path(folder) / "film.gif"
        animate(
            shown.run,
            path,
            system=shown.system,
            traces=view.drawn.get("traces", True),
            forces=view.drawn.get("forces", False),
            velocities=view.drawn.get("velocities", False),
            follow=view.follow,
            rate=FILM_RATE,
            speed=max(view.speed, lasts / LONGEST),
            width=FILM_SIZE[0],
            height=FILM_SIZE[1],
        )
        return path.read_bytes()


def model_with(model: Model, choice: Choice) -> Model:
    """The model with the values that were chosen, so that its scenario does what is shown.

    A path is no part of a model file; of a run along one, the parameters are kept.
    """
    changes = choice.changes
    parameters = tuple(
        dataclasses.replace(p, value=changes.get(p.name, p.value)) for p in model.parameters
    )
    scenario = model.scenario
    if scenario is not None:
        task = tuple(
            dataclasses.replace(p, value=changes.get(p.name, p.value)) for p in scenario.parameters
        )
        scenario = dataclasses.replace(scenario, parameters=task)
    if choice.task in (SCENARIO, INPUTS):
        scenario = _scenario(model, scenario, choice)
    return dataclasses.replace(model, parameters=parameters, scenario=scenario)


def _scenario(model: Model, scenario: Scenario | None, choice: Choice) -> Scenario:
    """The scenario with the chosen start, inputs and duration."""
    made = scenario if scenario is not None else Scenario(duration=DURATION)
    known = {p.name for p in (*model.parameters, *made.parameters)}
    given = {} if choice.task == INPUTS and made.motion else made.start
    start = {**given, **{n: x for n, x in choice.changes.items() if n not in known}}
    made = dataclasses.replace(made, start=start, duration=choice.duration or made.duration)
    if choice.task == INPUTS:
        typed = {name: number_or_text(text) for name, text in choice.inputs.items()}
        inputs = {name: value for name, value in typed.items() if value != 0.0}
        made = dataclasses.replace(made, inputs=inputs, motion={}, description="")
    return made


def file_stem(name: str) -> str:
    """A model's name as part of a file's name: letters, digits, - and _ alone."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "model"
