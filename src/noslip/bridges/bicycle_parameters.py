"""Parameter files of bicycles, as the package BicycleParameters writes them.

A line is ``name = value``, with ``+/- deviation`` after it if it was measured; names and axes are
those of [MeijaardPapadopoulosRuinaSchwab2007]: x forward, y to the right, z down. The bicycle is
the library's whipple-bicycle with these values.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from pathlib import Path

from noslip import Fault, Model, ModelError, load
from noslip.base import LARGEST, nearest, read_text
from noslip.model import AbstractModelFormat, check_model

MAX_BYTES = 100_000
#: Names that such files may have beside those of the bicycle: the speed it was computed at.
BESIDE = ("v",)

_LINE = re.compile(r"\s*(\w+)\s*=\s*(\S+)(?:\s*\+/-\s*(\S+))?\s*(?:[#%].*)?")


class BicycleParameters(AbstractModelFormat):
    """Values of a bicycle by the names of the benchmark; see the list at the top of this file."""

    __slots__ = ()

    word = "bicycle"
    name = "BicycleParameters"
    suffixes = ("benchmark.txt",)

    def read(self, path: Path) -> tuple[Model, tuple[Fault, ...]]:
        """The bicycle with the values of a file, and notes on what was not used or not given."""
        file = os.fspath(path)
        fix = "give lines such as IBxx = 11.3 +/- 0.1"
        text = read_text(file, ModelError, fix, max_bytes=MAX_BYTES)
        model = load("whipple-bicycle")
        known = {p.name: p for p in model.parameters}
        faults: list[Fault] = []
        values: dict[str, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{file}, line {number}"
            if not line.strip() or line.lstrip()[0] in "#%":
                continue
            found = _LINE.fullmatch(line)
            value = _number(found[2]) if found is not None else None
            if found is None or value is None:
                faults.append(
                    Fault(f"'{line.strip()[:60]}' is not a name with a value", where, fix)
                )
            elif found[1] in values:
                faults.append(Fault(f"'{found[1]}' is given twice", where, "leave one out"))
            elif found[1] not in (*known, *BESIDE):
                what = f"the benchmark bicycle has no parameter '{found[1]}'"
                faults.append(Fault(what, where, nearest(found[1], known)))
            else:
                values[found[1]] = value
        missing = [name for name in known if name not in values and name != "g"]
        if missing:
            listed = ", ".join(missing[:8])
            faults.append(Fault(f"{listed} is not given", file, "give all values of the bicycle"))
        if faults:
            raise ModelError.from_faults(faults)
        name = Path(file).name[: -len(self.suffixes[0])].strip("-_. ") or "bicycle"
        made = dataclasses.replace(
            model,
            name=re.sub(r"[^A-Za-z0-9_-]", "-", name, flags=re.ASCII),
            description=f"Bicycle of {Path(file).name}",
            parameters=tuple(
                dataclasses.replace(p, value=values.get(p.name, p.value)) for p in model.parameters
            ),
        )
        return made, check_model(made)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= LARGEST else None
