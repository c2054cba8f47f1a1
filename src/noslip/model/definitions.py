"""Named definitions: expressions that rows, speeds, forces and runs may use by name.

Their order is free; none may use itself, directly or through others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from noslip.expressions import ExpressionError, names_of
from noslip.model.findings import Finding
from noslip.model.quantities import Meaning

#: What expressions of the motion may use besides parameters.
MOVING: tuple[str, ...] = ("coordinates", "speeds", "angles", "rates", "definitions", "t")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A named expression of parameters, coordinates, speeds, measures, time and other definitions.

    Parameters
    ----------
    name : by which expressions know it.
    expression : kept as it is in files, equations and reports.
    unit : of its values; where it is left out, nothing is said of it.
    """

    name: str
    expression: Annotated[str, Meaning(scope=MOVING)]
    unit: str = ""
    description: str = ""


def in_order(texts: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """Names of definitions, each after those it uses; and the circles, each once.

    Parameters
    ----------
    texts : expressions by name; one that cannot be read counts as using nothing.
    """
    uses = {name: sorted(_names(text) & set(texts)) for name, text in texts.items()}
    ordered: list[str] = []
    circles: list[list[str]] = []
    done: set[str] = set()
    for first in texts:
        path: list[str] = []
        waiting = [(first, iter(uses[first]))] if first not in done else []
        if waiting:
            path.append(first)
        while waiting:
            name, rest = waiting[-1]
            following = next(rest, None)
            if following is None:
                waiting.pop()
                path.pop()
                if name not in done:
                    done.add(name)
                    ordered.append(name)
            elif following in path:
                circles.append(path[path.index(following) :])
            elif following not in done:
                waiting.append((following, iter(uses[following])))
                path.append(following)
    return ordered, circles


def circle_findings(definitions: Iterable[Definition]) -> Iterator[Finding]:
    """Findings about definitions that use themselves."""
    for circle in in_order({d.name: d.expression for d in definitions})[1]:
        through = " → ".join([*circle, circle[0]])
        yield Finding(
            ("definitions", circle[0], "expression"),
            f"definition '{circle[0]}' uses itself: {through}",
            "write one of them without the others",
        )


def _names(text: str) -> frozenset[str]:
    try:
        return names_of(text)
    except ExpressionError:
        return frozenset()
