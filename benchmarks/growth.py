"""How cost grows with size: a chain of n hinges, and a tractor with n trailers.

Operations and time of one right-hand side, and the time to trace and to compile it, against n, the
latter by the processor's time. The exponent is that of a straight line through the logarithms from
n = 64 on.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import noslip as ns
from measuring import Measure, leave
from noslip.engines.interpreter import interpret

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "models"))
from chains import chain, train

SIZES = (4, 16, 64, 128, 256, 512, 1000)
FITTED = 64
TARGETS = {"operations": 1.2, "evaluation": 1.2, "compiling": 1.4}
EVALUATIONS = 200
TOLERANCE = 1e-9  # between native and interpreted rates, relative to the largest


def measure_one(model: ns.Model) -> dict[str, float]:
    """Operations, and seconds to trace, to compile and to evaluate."""
    begin = time.process_time()
    equations = ns.derive(model)
    system = ns.System(equations=equations)
    program = system.program("rates", system.rates_expression)
    traced = time.process_time()
    rates = ns.compile(equations).rates
    compiled = time.process_time()
    _, nx, nu, _ = rates.input_sizes
    x = np.random.default_rng(1).uniform(-0.3, 0.3, size=nx)
    table = (np.zeros(EVALUATIONS), np.tile(x, (EVALUATIONS, 1)), np.zeros((EVALUATIONS, nu)))
    parameters = system.parameters()
    right = interpret(program, 0.0, x, np.zeros(nu), parameters)
    found = rates(0.0, x, np.zeros(nu), parameters)
    difference = float(np.max(np.abs(found - right)) / np.max(np.abs(right)))
    if not difference <= TOLERANCE:
        raise RuntimeError(f"{model.name}: differs from the interpreter by {difference:.1e}")
    least = np.inf
    for _ in range(20):
        start = time.perf_counter()
        rates.map(*table, parameters)
        least = min(least, time.perf_counter() - start)
    return {
        "operations": program.num_operations,
        "tracing": traced - begin,
        "compiling": compiled - traced,
        "evaluation": least / EVALUATIONS,
        "difference": difference,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope of log(value) over log(n)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def family(
    name: str, build: Callable[[int], ns.Model]
) -> tuple[list[Measure], dict[str, float], dict[str, float]]:
    table: dict[int, dict[str, float]] = {}
    print(f"{name}: n, operations, tracing s, compiling s, evaluation µs, memory MiB")
    for n in SIZES:
        table[n] = found = measure_one(build(n))
        gc.collect()
        print(
            f"  {n:5d} {found['operations']:9.0f} {found['tracing']:8.2f} "
            f"{found['compiling']:8.2f} {1e6 * found['evaluation']:9.2f} {found['memory']:7.0f}",
            flush=True,
        )
    fitted = [n for n in SIZES if n >= FITTED]
    measures = [
        Measure(
            what=f"{name}: exponent of {what} from n = {FITTED} to {SIZES[-1]}",
            value=exponent(fitted, [table[n][what] for n in fitted]),
            unit="",
            below=TARGETS.get(what),
        )
        for what in ("operations", "evaluation", "compiling", "tracing")
    ]
    timings = {
        f"{name}: {what} at n = {n}": found[what]
        for n, found in table.items()
        for what in ("tracing", "compiling", "evaluation")
    }
    checks = {f"{name}: difference at n = {n}": found["difference"] for n, found in table.items()}
    checks |= {f"{name}: operations at n = {n}": found["operations"] for n, found in table.items()}
    return measures, timings, checks


def main() -> None:
    measures, timings, checks = family("chain of hinges", chain)
    more, times, others = family("tractor with trailers", train)
    leave("growth", measures + more, timings | times, checks=checks | others)


if __name__ == "__main__":
    main()
