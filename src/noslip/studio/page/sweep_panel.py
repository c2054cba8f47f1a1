"""The panel of a sweep: a table of points, one of which is clicked to see its motion."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from noslip.studio.choosing.sweep_points import PointRow, SweepPoints
from noslip.studio.page import texts
from noslip.studio.running.worker import Cancel, Worker

if TYPE_CHECKING:
    from noslip.studio.page.studio_page import Page

#: Place in the left panel, below the model.
ORDER = 2.5


class SweepPanel:
    """The table of a sweep on a page.

    Parameters
    ----------
    page : whose it is.
    points : of the sweep.
    failed : is told what goes wrong.
    """

    def __init__(
        self, page: Page, points: SweepPoints, failed: Callable[[Exception], None]
    ) -> None:
        self._page, self._points = page, points
        self._worker: Worker[int] = Worker(self._run, failed, "noslip studio sweep")
        self._rows: list[Any] = []
        gui = page.client.gui
        self._folder = gui.add_folder("Sweep", order=ORDER)
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
