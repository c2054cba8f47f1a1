"""Several runs in one figure: a panel for each column, a curve for each run."""

from __future__ import annotations

from collections.abc import Sequence

from noslip.errors import SimulationError
from noslip.show.plots.curves import Curve, Panel
from noslip.show.plots.style import DASHES


def side_by_side(
    sets: Sequence[Sequence[Panel]], labels: Sequence[str], columns: Sequence[str]
) -> list[Panel]:
    """One panel for each curve that all runs have, with a curve for each run.

    Parameters
    ----------
    sets : the panels of each run.
    labels : of the runs.
    columns : names in the order in which they are drawn.
    """
    tables = [{_key(p, c): (p, c) for p in panels for c in p.curves} for panels in sets]
    common = [key for key in tables[0] if all(key in table for table in tables)]
    order = {name: k for k, name in enumerate(columns)}
    common.sort(key=lambda key: order.get(key[0], len(order)))
    if not common:
        raise SimulationError(
            "the runs have no column in common", "plot([run1, run2], …)", "draw them one by one"
        )
    found = []
    for key in common:
        panel, _ = tables[0][key]
        curves = [
            Curve(label=label, x=table[key][1].x, y=table[key][1].y, dashes=DASHES[k % len(DASHES)])
            for k, (label, table) in enumerate(zip(labels, tables, strict=True))
        ]
        found.append(
            Panel(
                name=key[0],
                unit=panel.unit,
                curves=tuple(curves),
                x_name=panel.x_name,
                x_unit=panel.x_unit,
                log=panel.log,
                marks_start=panel.marks_start,
            )
        )
    return found


def _key(panel: Panel, curve: Curve) -> tuple[str, str]:
    """By which curves of several runs belong together: the column, or the name of a lone axis."""
    return (curve.label if panel.has_names else panel.name, panel.x_name)
