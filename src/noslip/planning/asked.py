"""What is asked of `plan`: the call's words before those of the model's own `[plan]`.

Amounts may be texts, as in files and on the command line: ``"90deg"``, ``"-1..3"`` for a range,
``"±2"``, an expression of parameters. Obstacles may be texts, ``"disc:center=1,0;radius=0.3"``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from noslip.base import NoslipError
from noslip.control import read_form
from noslip.engines import System
from noslip.expressions import ExpressionError, nominal
from noslip.model import Finding, Model
from noslip.planning.obstacles import AbstractObstacle
from noslip.planning.problem import PlanError

#: Tables of amounts, of which a call changes entries and not the whole.
TABLES = ("start", "goal", "limits")
_DEGREES = re.compile(r"(\d\.?)\s*(deg|°)$")
#: Text of an amount in messages.
SHOWN = 60
#: Keys from the top of a model to a value.
Path: TypeAlias = tuple[str | int, ...]


def asked(system: System, given: Mapping[str, Any], parameters: Any) -> dict[str, Any]:
    """Arguments of a plan with the model's own where the call has None, texts read."""
    own = system.model.task()
    where = f"plan of model '{system.model.name}'"
    known = system.model.parameter_values(system.parameters(parameters))
    found: dict[str, Any] = {}
    for name, value in given.items():
        first = getattr(own, name)
        if name == "waypoints":
            first = [mark.at for mark in first]
        if name in TABLES and isinstance(value, Mapping):
            value = {**first, **value}
        found[name] = first if value is None else value
    if system.model.plan is None and given["goal"] is None:
        raise PlanError(
            "no goal is given, and the model has no [plan]",
            where,
            "name where it ends: goal={'base.x': 2.5}",
        )
    for name in TABLES:
        found[name] = _read_table(found[name], known, name, where)
    found["waypoints"] = [
        _read_table(mark, known, f"waypoint {k + 1}", where)
        for k, mark in enumerate(found["waypoints"])
    ]
    if isinstance(found["duration"], str):
        found["duration"] = amount(found["duration"], known, "duration", where)
    found["obstacles"] = _read_obstacles(found["obstacles"], where)
    return found


def _read_table(table: Any, known: Mapping[str, float], what: str, where: str) -> Any:
    if not isinstance(table, Mapping):
        return table
    return {
        name: amount(value, known, f"{what} '{name}'", where) if isinstance(value, str) else value
        for name, value in table.items()
    }


def _read_obstacles(obstacles: Any, where: str) -> Any:
    """Obstacles, of which some are texts."""
    listed = [obstacles] if isinstance(obstacles, str) else obstacles
    if not isinstance(listed, list | tuple):
        return listed
    found = []
    for k, one in enumerate(listed):
        if not isinstance(one, str):
            found.append(one)
            continue
        try:
            found.append(read_form(AbstractObstacle, one))
        except NoslipError as error:
            raise PlanError(f"obstacle {k + 1}: {error.what}", where, error.fix) from None
    return found


def amount(
    text: str, known: Mapping[str, float], what: str, where: str
) -> float | tuple[float, float]:
    """Value of a text: a number, or a range (low, high)."""

    def number(part: str) -> float:
        plain = _DEGREES.sub(r"\1*pi/180", part.strip())
        try:
            value = float(nominal(plain, dict(known)))
        except (ExpressionError, KeyError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise PlanError(
                f"{what} is '{part.strip():.{SHOWN}}', which is not a number",
                where,
                "write a number, an expression of parameters, an angle as 90deg, or LOW..HIGH",
            )
        return value

    low, is_range, high = text.strip().removeprefix("±").partition("..")
    return (number(low), number(high)) if is_range else number(low)


def text_faults(model: Model, known: Any) -> Iterator[Finding]:
    """Findings about the texts of a model's plan: amounts and obstacles."""
    plan = model.plan
    assert plan is not None
    values = model.parameter_values()
    tables: list[tuple[Path, Any]] = [((name,), getattr(plan, name)) for name in TABLES]
    tables += [(("waypoints", k, "at"), mark.at) for k, mark in enumerate(plan.waypoints)]
    given = [((*path, n), text) for path, table in tables for n, text in table.items()]
    for path, text in [*given, (("duration",), plan.duration)]:
        if isinstance(text, str):
            read = partial(amount, text, values, "it", "")
            yield from _fault(("plan", *path), read)
    for k, text in enumerate(plan.obstacles):
        if text.partition(":")[0].strip() != "map":  # files are read when it is planned
            read = partial(read_form, AbstractObstacle, text)
            yield from _fault(("plan", "obstacles", k), read)


def _fault(path: Path, read: Callable[[], object]) -> Iterator[Finding]:
    try:
        read()
    except NoslipError as error:
        for fault in error.faults:
            yield Finding(path, f"the plan cannot be read: {fault.what}", fault.fix)
