"""The bicycle's right-hand side: how long from a model to it, and how long one evaluation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench import NOSLIP, Bench, Prepared
from references import BICYCLE_ACCELERATIONS

AGREEMENT = 1e-9  # of accelerations, relative to the largest
SAME_EQUATIONS = 1e-9  # of all rates, relative to the largest


def right(bench: Bench, job: Prepared, reference: Sequence[float] = BICYCLE_ACCELERATIONS) -> str:
    """Nothing if a job's accelerations are right, else what is wrong."""
    off = np.abs(np.array(job.answer) - reference).max() / np.abs(reference).max()
    bench.checks[job.label] = float(off)
    return "" if off <= AGREEMENT else f"accelerations are off by {off:.1e}"


def build(bench: Bench) -> None:
    """From nothing to a compiled right-hand side."""
    ours = bench.prepare(NOSLIP, "bicycle_build", "bicycle, model to function: noslip")
    kane = "bicycle, model to function: SymPy, KanesMethod"
    peers = [
        bench.prepare("sympy", "bicycle_build", f"{kane} (CRAMER) and lambdify", solver="CRAMER"),
        bench.prepare("sympy", "bicycle_build", f"{kane} (LU) and lambdify", solver="LU"),
        bench.prepare("casadi", "bicycle_build", f"{kane}, CasADi's C and gcc -O3"),
    ]
    peers = [job for job in peers if job]
    bench.time([ours, *peers], rounds=3, seconds=0.5)
    wrong = right(bench, ours)
    least = bench.wall[ours.label]
    bench.value(ours.label, least, "s", below=0.5, not_counted=wrong)
    targets = [10.0, 10.0, None]
    for job, target in zip(peers, targets, strict=False):
        bench.faster(ours, job, at_least=target, wrong=wrong or right(bench, job))


def evaluate(bench: Bench) -> None:
    """One evaluation: in loops of compiled code, and called from Python."""
    what = "bicycle, one right-hand side"
    ours = bench.prepare(NOSLIP, "bicycle_rhs", f"{what}: noslip")
    folded = bench.prepare(
        NOSLIP, "bicycle_rhs", f"{what}: noslip, parameters folded in", fold=True
    )
    called = bench.prepare(NOSLIP, "bicycle_call", f"{what}: noslip called from Python")
    given = bench.prepare(NOSLIP, "bicycle_function", "bicycle's function in a file").answer
    found = np.array(given.pop("found"))
    loops, wrong = [], {}
    for flags in ("plain", "fast-math"):
        gcc = "gcc -O3 -march=native" + (" -ffast-math" if flags == "fast-math" else "")
        label = f"{what}: the same equations as CasADi's C, {gcc}"
        job = bench.prepare("casadi", "given_rhs", label, flags=flags, **given)
        if job:
            off = np.abs(np.array(job.answer) - found).max() / np.abs(found).max()
            bench.checks[label] = float(off)
            wrong[label] = "" if off <= SAME_EQUATIONS else f"rates differ by {off:.1e}"
        kane = bench.prepare(
            "casadi", "bicycle_rhs", f"{what}: SymPy's equations as CasADi's C, {gcc}", flags=flags
        )
        if kane:
            wrong[kane.label] = right(bench, kane)
        loops += [(job, 1.5), (kane, None)]
    python = [
        (bench.prepare("pydy", "bicycle_rhs", f"{what}: PyDy, solve in C", solver="sympy"), 10.0),
        (
            bench.prepare("pydy", "bicycle_rhs", f"{what}: PyDy, solve by NumPy", solver="numpy"),
            10.0,
        ),
        (bench.prepare("sympy", "bicycle_rhs", f"{what}: SymPy, lambdify"), None),
    ]
    for job, _ in python:
        if job:
            wrong[job.label] = right(bench, job)
    peers = [(job, target) for job, target in loops + python if job]
    bench.time([ours, folded, called, *(job for job, _ in peers)], rounds=8, seconds=0.05)
    us = right(bench, ours)
    for job, target in peers:
        bench.faster(ours, job, at_least=target, wrong=us or wrong[job.label])
    for job, _ in python:
        if job:
            bench.faster(called, job, wrong=us or wrong[job.label])
    bench.notes["operations of the bicycle"] = ours.notes["operations"]
    per = 1e9 * bench.wall[ours.label]
    bench.value(ours.label, per, "ns")
    bench.value(folded.label, 1e9 * bench.wall[folded.label], "ns")
