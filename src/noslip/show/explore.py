"""`explore`: sliders in a notebook; the numbers of a model that one may change.

**Knobs: the numbers of a model that a page lets one change, each with a unit, a range and a
step.**

Ranges come from the model's quantities; a parameter, which has none, goes from a fifth to three
times its nominal value. A value beyond its range widens it.

**`explore`: sliders in a notebook; each change runs the model again and draws it anew.**
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from noslip import (
    Model,
    NoslipError,
    Parameter,
    Quantity,
    SimulationError,
    System,
    Trajectory,
    compile,
    derive,
    load,
    run_scenario,
)
from noslip.analysis import scenario_start
from noslip.base import nearest, require
from noslip.show.headlines import unit_text
from noslip.simulation import units_by_name

if TYPE_CHECKING:
    import ipywidgets


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One number."""

    name: str  #: name in files and commands
    #: unit, description: texts for people
    unit: str
    description: str = ""
    value: float  #: value before it is changed
    #: lower, upper, step: range and step of its slider
    lower: float
    upper: float
    step: float
    #: knobs of one bundle count only together, as the three angles of an orientation do
    bundle: str = ""

    @classmethod
    def ranged(
        cls, name: str, unit: str, value: float, lower: float, upper: float, description: str = ""
    ) -> Knob:
        """A knob with its range on round numbers and about 400 steps."""
        lower, upper = min(lower, upper), max(lower, upper)
        if not upper > lower:
            lower, upper = value - 1.0, value + 1.0
        step = round_step((upper - lower) / 400)
        lower, upper = math.floor(lower / step + 1e-9) * step, math.ceil(upper / step - 1e-9) * step
        digits = max(0, 2 - math.floor(math.log10(step)))
        return cls(
            name=name,
            unit=unit,
            description=description,
            value=value,
            lower=min(round(lower, digits), value),
            upper=max(round(upper, digits), value),
            step=step,
        )

    @classmethod
    def of_parameters(cls, parameters: Iterable[Parameter]) -> tuple[Knob, ...]:
        """Parameters from a fifth to three times their nominal value; those of zero within ±1."""
        found = []
        for p in parameters:
            ends = (-1.0, 1.0) if p.value == 0 else (p.value / 5, 3 * p.value)
            found.append(cls.ranged(p.name, p.unit, p.value, *ends, p.description))
        return tuple(found)

    @property
    def scale(self) -> float:
        """Display unit: a power of 1000 for very small and very large numbers."""
        size = max(abs(self.lower), abs(self.upper))
        if 0.01 <= size < 1e6:
            return 1.0
        return float(1000.0 ** math.floor(math.log10(size) / 3))

    @property
    def label(self) -> str:
        """Name and unit: ``m_platform [kg]``."""
        unit = unit_text(self.unit, round(math.log10(self.scale)))
        return f"{self.name} [{unit}]" if unit else self.name

    def widened(self, value: float) -> Knob:
        """The same knob with a range that holds a value."""
        if self.lower <= value <= self.upper:
            return self
        lower, upper = min(self.lower, value), max(self.upper, value)
        return dataclasses.replace(
            self, lower=lower, upper=upper, step=round_step((upper - lower) / 400)
        )


def round_step(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a size."""
    if not (size > 0 and math.isfinite(size)):
        return 0.01
    power = 10.0 ** math.floor(math.log10(size) + 1e-12)
    return float(next(round(m * power, 12) for m in (5, 2, 1) if m * power <= size * (1 + 1e-9)))


#: Sliders that are shown unless they are chosen.
MOST = 8


def explore(
    model: Model | System | str,
    names: Sequence[str] = (),
    *,
    plot: str | Sequence[str] = "",
    animation: bool = False,
    duration: float | None = None,
) -> Explorer:
    """Show sliders for a model in a notebook, and its run, which follows them.

    Parameters
    ----------
    model : a model, its name or file, or a compiled system.
    names : names of parameters, start values and constant inputs, one slider each; by default what
        the scenario gives, then parameters, eight in all.
    plot : columns to draw, as for :func:`plot`; by default the path, or the coordinates of what
        does not move over ground.
    animation : a player instead of a figure.
    duration : s; the scenario's own by default.

    Returns
    -------
    Explorer : shown by a notebook; its ``run`` is the last one, ``values`` what differs from the
        model.

    Raises
    ------
    MissingPackageError : without ipywidgets.
    """
    system = model if isinstance(model, System) else _compiled(model)
    require("ipywidgets", "explore", f"sliders for model '{system.model.name}'")
    return Explorer(
        system, knobs_of(system, names), plot=plot, animation=animation, duration=duration
    )


def _compiled(model: Model | str) -> System:
    return compile(derive(load(model) if isinstance(model, str) else model))


def knobs_of(system: System, names: Sequence[str] = ()) -> tuple[Knob, ...]:
    """Knobs for numbers of a model and its scenario: those that are named, or a few."""
    model, scenario = system.model, system.model.scenario
    found: dict[str, Knob] = {}
    if scenario is not None:
        found |= {k.name: k for k in Knob.of_parameters(scenario.parameters)}
        inputs = {i.name: i.unit for i in model.inputs}
        for name, value in scenario.inputs.items():
            if isinstance(value, int | float):
                size = 3 * abs(value) or 1.0
                found[name] = Knob.ranged(name, inputs.get(name, ""), float(value), -size, size)
        values = model.parameter_values() | {p.name: p.value for p in scenario.parameters}
        start = scenario_start(scenario, values, motion=False)
        found |= {name: _start_knob(system, name, value) for name, value in start.items()}
    first = list(found)
    found |= {k.name: k for k in Knob.of_parameters(model.parameters)}
    for name in names:
        if name not in found and name in units_by_name(system):
            found[name] = _start_knob(system, name, 0.0)
        if name not in found:
            raise SimulationError(
                f"there is no number '{name}' to change",
                f"explore of model '{model.name}'",
                nearest(name, [*found, *units_by_name(system)]),
            )
    chosen = list(names) or [*first, *(name for name in found if name not in first)][:MOST]
    return tuple(found[name] for name in chosen)


def _start_knob(system: System, name: str, value: float) -> Knob:
    known = {q.name: q for q in (*system.coordinates, *system.speeds, *system.independent_speeds)}
    unit = "rad/s" if name.endswith("_rate") else "rad"
    quantity = known.get(name, Quantity(name=name, unit=unit))
    reach = 2 * abs(value)
    ends = (min(quantity.lower, -reach), max(quantity.upper, reach))
    return Knob.ranged(name, quantity.unit, value, *ends, f"at the start. {quantity.description}")


class Explorer:
    """Sliders, and below them the run that belongs to them. Made by :func:`explore`.

    `knobs`: one slider each; `plot`, `animation`, `duration`: arguments of :func:`explore`.
    """

    def __init__(
        self,
        system: System,
        knobs: Sequence[Knob],
        *,
        plot: str | Sequence[str] = "",
        animation: bool = False,
        duration: float | None = None,
    ) -> None:
        import ipywidgets

        # where the widget is on the page, its static copy is not shown
        self._mark = f"noslip-explorer-{uuid4().hex[:12]}"
        self.system, self.knobs = system, tuple(knobs)
        self.what = plot if isinstance(plot, str) else list(plot)
        self.animation, self.duration = animation, duration
        self.run: Trajectory | None = None
        self.sliders = {knob.name: _slider(knob) for knob in self.knobs}
        self._said = ipywidgets.HTML()
        self._shown = ipywidgets.HTML(layout={"max_width": "100%"})
        reset = ipywidgets.Button(description="Reset")
        reset.on_click(lambda _: self.reset())
        sliders = ipywidgets.VBox([*self.sliders.values(), reset])
        self.widget = ipywidgets.VBox([sliders, self._said, self._shown])
        self.widget.add_class(self._mark)
        for slider in self.sliders.values():
            slider.observe(lambda _: self.update(), names="value")
        self.update()

    @property
    def values(self) -> dict[str, float]:
        """Values set by the sliders: name → value, where it differs from the model's."""
        return {
            knob.name: float(self.sliders[knob.name].value) * knob.scale
            for knob in self.knobs
            if self.sliders[knob.name].value != knob.value / knob.scale
        }

    def reset(self) -> None:
        """Put all sliders back to the model's own values."""
        for knob in self.knobs:
            self.sliders[knob.name].value = knob.value / knob.scale

    def update(self) -> None:
        """Run with the values of the sliders and draw; a run that fails says why, and stays."""
        from html import escape

        try:
            run = run_scenario(
                self.system, changes=self.values, duration=self.duration, on_failure="return"
            )
            self._draw(run)
        except NoslipError as error:
            self._said.value = f"<pre>{escape(str(error))}</pre>"
            return
        self.run = run
        self._said.value = escape("" if run.success else run.message)

    def _draw(self, run: Trajectory) -> None:
        if self.animation:
            from noslip.show.animate import animate

            player: Any = animate(run, system=self.system)
            self._shown.value = player.html()
            return
        from noslip.scene import ground_joints
        from noslip.show.plots.painting import figure_html
        from noslip.show.plots.plotting import plot

        what = self.what or ("path" if ground_joints(run) else "coordinates")
        self._shown.value = figure_html(plot(run, what))

    def _ipython_display_(self) -> None:
        """Show what is drawn, and the widget, which takes its place wherever sliders work."""
        from IPython.display import display

        display({"text/html": self.html(), "text/plain": self._text()}, raw=True)
        bundle = dict(self.widget._repr_mimebundle_() or {}) | {"text/plain": ""}
        display(bundle, raw=True)

    def html(self) -> str:
        """What is drawn and the values of the sliders, for pages that cannot move sliders.

        Where the run can be repeated in a page, its sliders move there (:func:`share`). It is
        hidden on a page that shows the widget: neither a notebook without a kernel nor a static
        export without a network does.
        """
        from html import escape

        hidden = f"body:has(.{self._mark}) .{self._mark}-static {{ display: none; }}"
        return (
            f'<div class="{self._mark}-static">\n<style>{hidden}</style>\n{self._shown.value}\n'
            f"<p>{escape(self._text())}</p>\n{self._live()}</div>"
        )

    def _live(self) -> str:
        """A live page of the last run with these sliders, to be opened; empty where none can be."""
        from noslip import share  # it has knobs of this module

        if self.run is None:
            return ""
        ranges = {knob.name: (knob.lower, knob.upper) for knob in self.knobs}
        try:
            page = share(self.run, knobs=ranges, equations=False)
        except NoslipError:
            return ""
        return f"<details>\n<summary>Move the sliders here</summary>\n{page.html()}\n</details>\n"

    def _text(self) -> str:
        changed = self.values
        values = ", ".join(
            f"{k.name} = {changed.get(k.name, k.value):.4g} {unit_text(k.unit)}".strip()
            for k in self.knobs
        )
        model = self.system.model.name
        return f"Run the notebook to explore {model} with sliders. Here: {values}."


def _slider(knob: Knob) -> ipywidgets.FloatSlider:
    import ipywidgets

    return ipywidgets.FloatSlider(
        value=knob.value / knob.scale,
        min=knob.lower / knob.scale,
        max=knob.upper / knob.scale,
        step=knob.step / knob.scale / 10,
        description=knob.label,
        tooltip=knob.description,
        continuous_update=False,
        readout_format=".4g",
        style={"description_width": "14em"},
        layout={"width": "min(100%, 46em)"},
    )
