"""The panel of a sweep: its points as a table to click on, and the motion at each.

The last factor of the design goes across, the one before it down; of more factors one place each is
shown. Of a factor with more rows than a panel has room for, some are shown, equally spaced. It is
imported where a sweep is shown alone: the studio does without sweeps.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noslip import SimulationError, Trajectory
from noslip.studio.page import texts
from noslip.studio.session import Cancel, Worker
from noslip.sweeps import PointEnding, StoreReader, point_values

if TYPE_CHECKING:
    from noslip.studio.page.studio_page import Page


#: Places across and down that a panel has room for.
ACROSS, DOWN = 5, 8


@dataclass(frozen=True, slots=True)
class PointRow:
    """A row of the table."""

    label: str  #: values that the points of the row have in common
    texts: tuple[str, ...]  #: value of the measure at each, or how the point ended; all different
    points: tuple[int, ...]  #: numbers of the points


class SweepPoints:
    """A sweep to choose points from.

    Raises
    ------
    SimulationError : there is no sweep, or nothing moves at its points.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reader = StoreReader.open(folder)
        self._request = self.reader.store.request
        self._design = self.reader.design
        self._work: Any = self._request.make()
        if not hasattr(self._work, "run_point"):
            raise SimulationError(
                f"the work of the sweep is '{self._request.work}', which has no motion to show",
                f"sweep '{folder}'",
                "open a sweep of runs or tracks, or look at its report",
            )
        facts = self.reader.store.data["variables"]
        self.measures = tuple(m for m in self._request.measures if not facts[m]["dimension"])
        self._units = {m: facts[m]["unit"] for m in self.measures}

    @property
    def model_file(self) -> Path:
        """The model of the sweep."""
        return self.folder / "model.toml"

    @property
    def further(self) -> dict[str, int]:
        """Factors of which one place is shown, with their numbers of places."""
        return {f.dimension: len(f) for f in self._design.factors[:-2]}

    def title(self, measure: str) -> str:
        """Title of the table: the measure, and the quantity across."""
        unit = self._units[measure]
        factor = self._design.factors[-1]
        where = "points" if len(factor.names) > 1 else factor.names[0]
        shown = ", ".join(self._label(len(self._design.factors) - 1, k) for k in self._across())
        return f"{measure}{f' [{unit}]' if unit else ''}; {where}: {shown}"

    def table(self, measure: str, places: Sequence[int] = ()) -> list[PointRow]:
        """Rows of points with the values of a measure, as far as they are there."""
        shape = self._design.shape
        before = list(places) or [0] * max(0, len(shape) - 2)
        down = self._spaced(shape[-2], DOWN) if len(shape) > 1 else [-1]
        rows = []
        for k in down:
            place = [*before, *([k] if len(shape) > 1 else [])]
            points = [int(np.ravel_multi_index((*place, j), shape)) for j in self._across()]
            label = self._label(len(shape) - 2, k) if len(shape) > 1 else "all"
            rows.append(PointRow(label, self._texts(measure, points), tuple(points)))
        return rows

    def chosen(self, measure: str, most: int = 100_000) -> dict[str, int]:
        """Points with the least, the largest and the median value of a measure."""
        points = np.arange(min(self._design.size, most))
        values = self.reader.read(measure, points)
        codes = self.reader.endings(points)
        good = points[
            np.isfinite(values) & np.isin(codes, (PointEnding.FINISHED, PointEnding.EVENT))
        ]
        if not good.size:
            return {}
        order = good[np.argsort(values[good], kind="stable")]
        return {
            "least": int(order[0]),
            "typical": int(order[len(order) // 2]),
            "largest": int(order[-1]),
        }

    def values(self, point: int) -> dict[str, float]:
        """Varied values at a point."""
        return point_values(self._design.values(np.array([point])), 0)

    def text(self, point: int) -> str:
        """A point in words: what is varied, and how it ended."""
        units = self.reader.store.data["units"]
        listed = [
            f"{n} = {x:.6g} {units.get(n, '')}".rstrip() for n, x in self.values(point).items()
        ]
        only = np.array([point])
        ending = PointEnding(self.reader.endings(only)[0]).words
        reason = self.reader.reasons(only)[0]
        return f"{', '.join(listed)}: {ending}{f', {reason}' if reason else ''}"

    def run(self, point: int, cancel: Any = None) -> Trajectory:
        """The motion at a point, simulated as the sweep did it."""
        found: Trajectory = self._work.run_point(self.values(point), cancel)
        return found

    def _across(self) -> list[int]:
        return self._spaced(self._design.shape[-1], ACROSS)

    @staticmethod
    def _spaced(count: int, most: int) -> list[int]:
        """Places of a factor that are shown."""
        if count <= most:
            return list(range(count))
        return [int(k) for k in np.unique(np.linspace(0, count - 1, most).round())]

    def _label(self, factor: int, place: int) -> str:
        """A row of a factor in words."""
        own = self._design.factors[factor]
        if len(own.names) > 1:
            return f"#{place}"
        value = own.rows(np.array([place]))[0, 0]
        return (
            f"{value:.4g}"
            if factor == len(self._design.factors) - 1
            else (f"{own.names[0]} = {value:.4g}")
        )

    def _texts(self, measure: str, points: list[int]) -> tuple[str, ...]:
        values = self.reader.read(measure, np.array(points))
        codes = self.reader.endings(np.array(points))
        texts: list[str] = []
        for value, code in zip(values, codes, strict=True):
            text = f"{value:.4g}" if np.isfinite(value) else PointEnding(code).words
            # a button is known by its text
            while text in texts:
                text += "\u200b"
            texts.append(text)
        return tuple(texts)


#: Place in the left panel, below the model.
POINT_ORDER = 2.5


class SweepPanel:
    """The table of a sweep on a page."""

    def __init__(
        self, page: Page, points: SweepPoints, failed: Callable[[Exception], None]
    ) -> None:
        self._page, self._points = page, points
        self._worker: Worker[int] = Worker(self._run, failed, "noslip studio sweep")
        self._rows: list[Any] = []
        gui = page.client.gui
        self._folder = gui.add_folder("Sweep", order=POINT_ORDER)
        with self._folder:
            self._measure = gui.add_dropdown("measure", points.measures)
            self._further = [
                gui.add_slider(name, min=0, max=count - 1, step=1, initial_value=0)
                for name, count in points.further.items()
            ]
            self._title = gui.add_html("")
            self._chosen = gui.add_button_group("show", ("least", "typical", "largest"))
            self._told = gui.add_html("")
        for handle in (self._measure, *self._further):
            handle.on_update(page.guard(lambda _: self.show()))
        self._chosen.on_click(page.guard(self._choose))
        self.show()

    def show(self) -> None:
        """The table of the measure that is chosen."""
        for row in self._rows:
            row.remove()
        measure, places = self._measure.value, [int(slider.value) for slider in self._further]
        self._title.content = texts.box(f"<p>{html.escape(self._points.title(measure))}</p>")
        self._rows = []
        with self._folder:
            for row in self._points.table(measure, places):
                group = self._page.client.gui.add_button_group(row.label, row.texts)
                group.on_click(self._page.guard(self._clicked(row)))
                self._rows.append(group)

    def close(self) -> None:
        """End the thread of the panel."""
        self._worker.close()

    def _clicked(self, row: PointRow) -> Callable[[Any], None]:
        def clicked(event: Any) -> None:
            self.show_point(row.points[row.texts.index(event.target.value)])

        return clicked

    def _choose(self, event: Any) -> None:
        chosen = self._points.chosen(self._measure.value)
        if event.target.value in chosen:
            self.show_point(chosen[event.target.value])

    def show_point(self, point: int) -> None:
        """Simulate the motion at a point, and show it."""
        self._told.content = texts.box(f"<p>{html.escape(self._points.text(point))}</p>")
        self._worker.submit(point)

    def _run(self, point: int, cancel: Cancel) -> None:
        run = self._points.run(point, cancel)
        cancel.check()
        self._page.session.show_drive(run)
