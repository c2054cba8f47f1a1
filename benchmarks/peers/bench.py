"""The runner's side: workers, jobs that are prepared and checked, turns, and ratios.

A ratio is the peer's least processor time over noslip's least wall time. Both are of one thread, so
what else the machine does can only lengthen ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments import PEERS, Unavailable, python_of

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from measuring import Measure  # noqa: E402

LIMIT = 600.0  # s, for one answer
NOSLIP = "noslip"


class Failed(Exception):
    """A candidate that gave no answer."""


class Worker:
    """A candidate's process."""

    def __init__(self, name: str) -> None:
        self.name = name
        python = sys.executable if name == NOSLIP else str(python_of(name))
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.log = (HERE.parent / "results" / f"peers-{name}.log").open("w")
        self.process = subprocess.Popen(
            [python, str(HERE / f"by_{name}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=os.environ | one,
        )
        self.versions: dict[str, str] = {}

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request.

        Raises
        ------
        Failed : if it has none, or takes too long.
        """
        watch = threading.Timer(LIMIT, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            raise Failed(f"{self.name} gave no answer; see {self.log.name}")
        reply = json.loads(line)
        self.versions = reply.pop("versions", self.versions)
        if "error" in reply:
            raise Failed(f"{self.name}: {reply['error']}")
        return reply

    def close(self) -> None:
        """End it; it may have ended by itself."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=30)
        self.log.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A job in its worker, with what it found."""

    worker: Worker
    key: str
    label: str
    answer: Any
    notes: Mapping[str, Any]
    error: float = 0.0


@dataclass(slots=True)
class Bench:
    """All workers, and what was measured so far."""

    asked: Sequence[str] = PEERS
    workers: dict[str, Worker] = field(default_factory=dict)
    measures: list[Measure] = field(default_factory=list)
    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    checks: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    _count: int = 0
    _missing: set[str] = field(default_factory=set)

    def prepare(self, who: str, work: str, label: str, **options: Any) -> Prepared | None:
        """A job of a candidate, or nothing if it cannot be had; why is noted."""
        if who != NOSLIP and (who not in self.asked or who in self._missing):
            return None
        try:
            if who not in self.workers:
                self.workers[who] = Worker(who)
            self._count += 1
            key = str(self._count)
            worker = self.workers[who]
            reply = worker.ask(prepare=work, options=options, **{"as": key})
        except Unavailable as why:
            self._missing.add(who)
            self.left_out.append(str(why))
            return None
        except Failed as why:
            if who == NOSLIP:
                raise
            if self.workers[who].process.poll() is not None:
                self._missing.add(who)
            self.left_out.append(f"{label}: {why}")
            return None
        return Prepared(
            worker=worker, key=key, label=label, answer=reply["answer"], notes=reply["notes"]
        )

    def drop(self, job: Prepared) -> None:
        """Forget a job that is not to be timed."""
        job.worker.ask(drop=job.key)

    def time(self, jobs: Sequence[Prepared], *, rounds: int = 5, seconds: float = 0.1) -> None:
        """Let jobs take turns; keeps the least times, s."""
        for _ in range(rounds):
            for job in jobs:
                found = job.worker.ask(turn=job.key, seconds=seconds)
                for table, kind in ((self.wall, "wall"), (self.cpu, "cpu")):
                    table[job.label] = min(table.get(job.label, float("inf")), found[kind])

    def faster(
        self,
        ours: Prepared,
        theirs: Prepared,
        *,
        at_least: float | None = None,
        wrong: str = "",
    ) -> None:
        """A line of the table: how many times as fast ours is."""
        self.measures.append(
            Measure(
                what=f"{ours.label} against {theirs.label.partition(': ')[2]}",
                value=self.cpu[theirs.label] / self.wall[ours.label],
                at_least=at_least,
                not_counted=wrong,
            )
        )

    def value(self, what: str, value: float, unit: str, **target: Any) -> None:
        """A line of the table that is no ratio."""
        self.measures.append(Measure(what=what, value=value, unit=unit, **target))

    def versions(self) -> dict[str, dict[str, str]]:
        """Of all packages that took part, by candidate."""
        return {name: worker.versions for name, worker in self.workers.items()}

    def close(self) -> None:
        """End all workers."""
        for worker in self.workers.values():
            worker.close()
