"""A candidate in a process of its own: it prepares work when asked, and takes its turn when asked.

The runner writes one request a line and reads one answer a line, both JSON:

    {"prepare": "bicycle path", "as": "3", "options": {...}}   →  {"answer": ..., "notes": {...}}
    {"turn": "3", "seconds": 0.1}                              →  {"wall": s, "cpu": s, "calls": n}
    {"drop": "3"}                                              →  {}

A turn repeats the call until its time has passed and tells the least time of one, divided by the
number of pieces that a call does. So all candidates stay warm and take turns on the same machine.
Needs nothing but Python's library: it runs in every environment.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work that is ready to be timed.

    Parameters
    ----------
    call : what is timed.
    answer : what the call finds, for the check that comes before any time.
    pieces : how many pieces of work a call does.
    before : what is done before each call and not timed.
    notes : what else is worth a line of the record.
    """

    call: Callable[[], object]
    answer: Any
    pieces: int = 1
    before: Callable[[], object] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


def processor_time() -> float:
    """Time this process and its finished children had a processor, s."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def least_times(job: Job, seconds: float) -> dict[str, float]:
    """Least wall and processor time of one piece, s."""
    wall = cpu = float("inf")
    calls, began = 0, time.perf_counter()
    while not calls or time.perf_counter() - began < seconds:
        if job.before:
            job.before()
        cpu_before, start = processor_time(), time.perf_counter()
        job.call()
        end, cpu_after = time.perf_counter(), processor_time()
        wall, cpu = min(wall, end - start), min(cpu, cpu_after - cpu_before)
        calls += 1
    return {"wall": wall / job.pieces, "cpu": cpu / job.pieces, "calls": calls}


def serve(works: Mapping[str, Callable[..., Job]], packages: tuple[str, ...]) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    works : by name, what prepares a job.
    packages : whose versions are told.
    """
    # what the candidate prints must not get between the answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs: dict[str, Job] = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = _reply(request, works, jobs)
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        reply["versions"] = {package: metadata.version(package) for package in packages}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def _reply(
    request: Mapping[str, Any], works: Mapping[str, Callable[..., Job]], jobs: dict[str, Job]
) -> dict[str, Any]:
    if "prepare" in request:
        job = works[request["prepare"]](**request["options"])
        jobs[request["as"]] = job
        return {"answer": job.answer, "notes": dict(job.notes)}
    if "turn" in request:
        return dict(least_times(jobs[request["turn"]], request["seconds"]))
    del jobs[request["drop"]]
    return {}
