"""`compare`: runs side by side, their parameters that differ and their headline numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noslip import SimulationError, Trajectory
from noslip.base import ArgumentError, counted
from noslip.show.headlines import Headline, axis_label, headlines, unit_text
from noslip.show.report.elements import Html, number, table, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Numbers that differ by less than this part of their size, or by less than the tolerance of the
#: runs, are the same.
SAME = 1e-9
#: Figures of a number in a table.
DIGITS = 4


class ComparedNumber(NamedTuple):
    """One number of several runs; NaN where a run does not have it."""

    #: name, unit: name and unit of the number
    name: str
    unit: str
    values: tuple[float, ...]  #: one for each run
    is_same: bool  #: whether they agree to 1e-9, or to the tolerance of the runs
    least: float = 0.0  #: bound below which a value is zero

    @property
    def shown(self) -> tuple[float, ...]:
        """The values, and of two runs their difference; zero for what is below `least`."""
        found = (*self.values, self.difference) if len(self.values) == 2 else self.values
        return tuple(0.0 if abs(x) <= self.least else x for x in found)

    @property
    def difference(self) -> float:
        """The last value minus the first."""
        return self.values[-1] - self.values[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunComparison:
    """Runs side by side. Made by :func:`compare`."""

    #: runs, labels: compared runs, and their names
    runs: tuple[Trajectory, ...]
    labels: tuple[str, ...]
    #: parameters of models and scenarios that are not the same in all runs
    parameters: tuple[ComparedNumber, ...]
    #: headline numbers: end, speeds, inputs, power, errors, final state
    numbers: tuple[ComparedNumber, ...]

    def text(self) -> str:
        """A table of what differs, and how many numbers do not."""
        rows = [["", *self.labels, *(["difference"] if len(self.runs) == 2 else []), ""]]
        for row in self.different:
            rows.append([row.name, *map(_number, row.shown), unit_text(row.unit)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for name, *values, unit in rows:
            cells = [x.rjust(width) for x, width in zip(values, widths[1:-1], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *cells, unit]).rstrip())
        return "\n".join([*lines, self.remark])

    @property
    def different(self) -> list[ComparedNumber]:
        """Parameters and numbers that are not the same in all runs."""
        return [*self.parameters, *(row for row in self.numbers if not row.is_same)]

    @property
    def remark(self) -> str:
        """Remark on how many headline numbers are the same in all runs."""
        same = sum(row.is_same for row in self.numbers)
        if same == len(self.numbers):
            return f"all {len(self.numbers)} headline numbers are the same"
        if not same:
            return "all headline numbers differ"
        return f"{counted(same, 'further number')} {'is' if same == 1 else 'are'} the same"

    def html(self) -> Html:
        """The differences as a table for a page; of two runs also by how much."""
        rows = []
        for row in self.different:
            cells = [text("–") if np.isnan(x) else number(x, DIGITS) for x in row.shown]
            rows.append((text(axis_label(row.name, row.unit)), *cells))
        header = ("", *self.labels, *(("difference",) if len(self.runs) == 2 else ()))
        return table("What differs", header, rows, numbers=set(range(1, len(header))))

    def plot(self, what: str | Sequence[str] = "", **options: Any) -> Figure:
        """The runs in one figure; arguments as of :func:`noslip.plot`."""
        from noslip.show.plots.plotting import plot

        return plot(list(self.runs), what, labels=list(self.labels), **options)

    def to_json(self) -> dict[str, Any]:
        """Labels, parameters that differ, and all numbers, for programs."""

        def entries(rows: Sequence[ComparedNumber]) -> dict[str, Any]:
            return {r.name: {"unit": r.unit, "values": list(r.values)} for r in rows}

        return {
            "runs": list(self.labels),
            "models": [run.model.name for run in self.runs],
            "parameters": entries(self.parameters),
            "numbers": entries(self.numbers),
        }

    def __str__(self) -> str:
        return self.text()


def compare(*runs: Trajectory, labels: Sequence[str] = ()) -> RunComparison:
    """Compare runs: their parameters that differ, and their headline numbers side by side.

    Parameters
    ----------
    runs : two or more; of any models.
    labels : names of the runs.

    Returns
    -------
    RunComparison : ``text()`` is a table of what differs, shown by notebooks too; ``plot()`` draws
        the runs in one figure.
    """
    for k, run in enumerate(runs):
        if not isinstance(run, Trajectory):
            raise ArgumentError(
                f"run {k + 1} is {type(run).__name__}",
                "argument of compare",
                "give what simulate, run_scenario or track returned",
            )
    if len(runs) < 2:
        raise SimulationError(
            f"{counted(len(runs), 'run')} cannot be compared",
            "compare(…)",
            "give two runs or more: compare(run, other)",
        )
    if isinstance(labels, str) or (labels and len(labels) != len(runs)):
        raise SimulationError(
            f"there are {len(runs)} runs, and labels={labels!r}",
            "compare(…, labels=…)",
            "give a list with one label a run",
        )
    names = tuple(str(x) for x in labels) or tuple(f"run {k + 1}" for k in range(len(runs)))
    return RunComparison(
        runs=runs,
        labels=names,
        parameters=tuple(
            row for row in _side_by_side([*map(_parameters, runs)]) if not row.is_same
        ),
        numbers=tuple(_side_by_side([headlines(run) for run in runs])),
    )


def _parameters(run: Trajectory) -> list[Headline]:
    """Parameters of the model and of the scenario, as they were in a run."""
    task = () if run.scenario is None else run.scenario.parameters
    own = [Headline(p.name, p.unit, float(run.parameters[p.name])) for p in run.model.parameters]
    # of a vakonomic motion the start of the costates is chosen, as a parameter is
    chosen = [name for name in run.columns if name.startswith("costate.")] if len(run.t) else []
    own += [Headline(f"start {name}", run.columns[name][0], float(run[name][0])) for name in chosen]
    return own + [Headline(p.name, p.unit, float(p.value)) for p in task]


def _side_by_side(lists: Sequence[Sequence[Headline]]) -> list[ComparedNumber]:
    """The numbers of all runs by name, in the order of the first run that has each."""
    found = [{(h.name, h.unit): h for h in numbers} for numbers in lists]
    rows = []
    for key in dict.fromkeys(key for numbers in found for key in numbers):
        values = tuple(numbers[key].value if key in numbers else np.nan for numbers in found)
        least = max(numbers[key].least for numbers in found if key in numbers)
        # NaN, which a run does not have, is no difference that is small
        spread = float(np.max(values) - np.min(values))
        is_same = spread <= max(SAME * float(np.max(np.abs(values))), least)
        rows.append(ComparedNumber(*key, values, is_same, least))
    return rows


def _number(value: float) -> str:
    """A number of a table; a dash for one that a run does not have."""
    return "–" if np.isnan(value) else f"{value + 0.0:.{DIGITS}g}"
