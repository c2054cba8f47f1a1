"""How everything here is measured, and the record that each script leaves.

A speed is a ratio of minima. The candidates take turns, several rounds of them, so that all meet
the same machine; in its turn a fast candidate is repeated, so that it is measured warm. A time
counts only after its answer was checked: a measure whose answer is off carries the reason instead
of a verdict.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("noslip", "casadi", "llvmlite", "numpy", "scipy", "sympy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One line of the table.

    Parameters
    ----------
    what : what was measured.
    value : in the unit: how many times faster or longer, or seconds.
    at_least, below : the target, if there is one.
    not_counted : why the time does not count, or nothing.
    """

    what: str
    value: float
    unit: str = "x faster"
    at_least: float | None = None
    below: float | None = None
    not_counted: str = ""

    @property
    def target(self) -> str:
        """The target in words."""
        if self.at_least is not None:
            return f"at least {self.at_least:g} {self.unit}"
        return "" if self.below is None else f"below {self.below:g} {self.unit}"

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        if self.not_counted:
            return f"not counted: {self.not_counted}"
        if self.at_least is not None:
            return "met" if self.value >= self.at_least else "not met"
        if self.below is not None:
            return "met" if self.value < self.below else "not met"
        return ""


def shortest(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    turn: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Least time of one call of each candidate, s.

    Parameters
    ----------
    candidates : what to call, by name.
    rounds : how often each has its turn.
    turn : s; within its turn a candidate is repeated until this has passed.
    clock : of the time that counts; ``time.process_time`` for long calls on a busy machine.
    """
    least = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, call in candidates.items():
            began = clock()
            while True:
                start = clock()
                call()
                end = clock()
                least[name] = min(least[name], end - start)
                if end - began >= turn:
                    break
    return least


def table(measures: Sequence[Measure]) -> str:
    """The measures as aligned text."""
    rows = [("measure", "value", "target", "verdict")]
    rows += [(m.what, f"{m.value:.3g} {m.unit}", m.target, m.verdict) for m in measures]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return "\n".join(
        f"{what:<{widths[0]}}  {value:>{widths[1]}}  {target:<{widths[2]}}  {verdict}".rstrip()
        for what, value, target, verdict in rows
    )


def leave(
    name: str,
    measures: Sequence[Measure],
    timings: Mapping[str, float],
    *,
    checks: Mapping[str, float],
    left_out: Sequence[str] = (),
) -> None:
    """Print the measures and write them, with what they were made from, to results/<name>.json.

    Parameters
    ----------
    name : of the script.
    measures : the lines of the table.
    timings : the minima behind them, s.
    checks : the differences between answers that were looked at.
    left_out : what could not be measured here, and why.
    """
    print(table(measures))
    for note in left_out:
        print(f"left out: {note}")
    record = {
        "measures": [asdict(m) | {"target": m.target, "verdict": m.verdict} for m in measures],
        "seconds": dict(timings),
        "checks": dict(checks),
        "left_out": list(left_out),
        "machine": machine(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")


def read(name: str) -> tuple[list[Measure], list[str]]:
    """Measures of a script that has run, and what it left out."""
    record = json.loads((RESULTS / f"{name}.json").read_text())
    fields = Measure.__dataclass_fields__
    measures = [Measure(**{k: m[k] for k in fields}) for m in record["measures"]]
    return measures, record["left_out"]


def machine() -> dict[str, object]:
    """Processor, Python and versions of packages; the load says how busy the machine was."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": load,
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
