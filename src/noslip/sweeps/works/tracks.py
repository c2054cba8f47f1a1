"""A vehicle along a path as the work of a sweep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from noslip import SimulationError, Trajectory
from noslip.analysis import settable_names
from noslip.simulation import COLUMNS, known_columns, units_by_name
from noslip.sweeps.design import Array
from noslip.sweeps.measures import DOUBTFUL, PointResults, ResultVariable, read_measures
from noslip.sweeps.works.base import SystemWork
from noslip.sweeps.works.runs import SingleView, ending_of

if TYPE_CHECKING:
    from noslip import Follower


class TrackWork(SystemWork):
    """A vehicle along a path; texts of the settings may hold varied names in braces."""

    word = "track"
    defaults: ClassVar[Mapping[str, Any]] = {
        "set": {},
        "path": None,
        "timing": "",
        "point": "",
        "direction": "",
        "reverse": False,
        "heading": "",
        "steering": "",
        "wheelbase": "0",
        "largest_steering": None,
        "steering_rate": None,
        "hinge": "",
        "hitch": "0",
        "trailer": "0",
        "controller": "none",
        "limits": {},
        "period": 0.0,
        "reference": {},
        "duration": None,
        "samples": 601,
        "tolerance": 1e-9,
    }
    _TEXTS = (
        *("path", "timing", "point", "direction", "heading", "wheelbase", "hitch", "trailer"),
        "controller",
    )

    def prepare(self, measures: tuple[str, ...]) -> None:
        """Compile the system, and read all texts once."""
        settings = self.settings
        if not settings["path"]:
            raise SimulationError("there is no path to follow", self.where, "give a path")
        self.system = self.compile()
        self.task = sorted(
            {
                name
                for text in self._TEXTS
                for name in re.findall(r"{([^{}]*)}", str(settings[text]))
            }
        )
        units = {name: unit for name, (unit, _) in known_columns(self.system, None).items()}
        units |= COLUMNS | {"path.arc_length": "m", "energy_error": "J"}
        units |= {f"reference.{c.name}": c.unit for c in self.system.coordinates}
        self.units = units
        self.measures = read_measures(measures, units, [])
        samples = settings["samples"]
        if not isinstance(samples, int) or not 2 <= samples <= 1_000_000:
            raise SimulationError(
                f"the number of samples is {samples!r}", self.where, "give a whole number from 2 on"
            )

    def names(self) -> dict[str, str]:
        """Parameters, start values, and names in braces."""
        groups = settable_names(self.system, None)
        units = units_by_name(self.system) | {p.name: p.unit for p in self.model.parameters}
        known = (*groups["parameters"], *groups["start"])
        return {name: units.get(name, "") for name in known} | dict.fromkeys(self.task, "")

    def variables(self) -> dict[str, ResultVariable]:
        """Result variable of each measure; histories are over the fraction of the run done."""
        shares = np.linspace(0.0, 1.0, self.settings["samples"])
        found = {}
        for m in self.measures:
            if m.word in ("gradient", "at"):
                raise SimulationError(
                    f"work 'track' has no measure '{m.word}'",
                    f"measure '{m.text}'",
                    "its duration differs from point to point: measure final, min, max or history",
                )
            variable = m.variable(self.units[m.column], shares)
            if variable.dimension:
                variable = ResultVariable(variable.unit, "share", variable.coordinate, "1")
            found[m.text] = variable
        return found

    def run_point(self, point: Mapping[str, float], cancel: Any = None) -> Trajectory:
        """The whole motion at a point."""
        from noslip import ControlLoop, track

        s = self.settings
        texts = {
            name: re.sub(r"{([^{}]*)}", lambda found: repr(point[found[1]]), str(s[name]))
            for name in self._TEXTS
        }
        groups = settable_names(self.system, None)
        given = {**s["set"], **{n: x for n, x in point.items() if n not in self.task}}
        return track(
            self.system,
            texts["path"],
            timing=texts["timing"] or None,
            follower=self._follower(texts),
            controller=ControlLoop(
                controller=texts["controller"], limits=s["limits"], period=s["period"]
            ),
            start={n: float(x) for n, x in given.items() if n in groups["start"]},
            parameters={n: float(x) for n, x in given.items() if n in groups["parameters"]},
            duration=s["duration"],
            samples=s["samples"],
            rtol=s["tolerance"],
            atol=s["tolerance"],
            reactions=any(m.column.startswith("reaction.") for m in self.measures),
            cancel=cancel,
            on_failure="return",
        )

    def _follower(self, texts: Mapping[str, str]) -> Follower:
        """Follower of the path, as far as it is given."""
        from noslip import Follower

        s = self.settings
        given: dict[str, Any] = {
            name: tuple(part.strip() for part in texts[name].split(","))
            for name in ("point", "direction")
            if texts[name]
        }
        for name, sizes in (("steering", ("wheelbase",)), ("hinge", ("hitch", "trailer"))):
            if s[name]:
                given |= {name: s[name], **{size: texts[size] for size in sizes}}
        return Follower(
            **given,
            reverse=s["reverse"],
            heading=texts["heading"] or None,
            largest_steering=s["largest_steering"],
            steering_rate=s["steering_rate"],
            reference=s["reference"],
        )

    def compute(self, values: Mapping[str, Array], count: int, cancel: Any) -> PointResults | None:
        """Runs one by one."""

        def work(point: dict[str, float]) -> tuple[dict[str, Any], int, str]:
            run = self.run_point(point, cancel)
            end = run.t[-1] if len(run.t) else 0.0
            times = (
                run.t
                if len(run.t) == self.settings["samples"]
                else np.linspace(0.0, max(end, 1e-300), self.settings["samples"])
            )
            view = SingleView(run, times, {})
            found = {m.text: m.of(view)[0] for m in self.measures}
            ending, reason = ending_of(run)
            if not reason and run.path_errors is not None and run.path_errors.lost:
                ending, reason = DOUBTFUL, "the vehicle left its path"
            return found, ending, reason

        return self.one_by_one(values, count, cancel, work)
