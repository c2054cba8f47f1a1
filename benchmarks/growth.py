"""How cost grows with size: a chain of n hinges, and a tractor with n trailers.

Operations and time of one right-hand side, and the time to derive and to compile it, against n, the
latter by the processor's time. The exponent is that of a straight line through the logarithms from
n = 64 on. The longest are also compiled as straight-line code, without the loops that repeated
operations are found to be, and both are evaluated in turn.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest
from noslip.engines import optimization
from noslip.engines.native import NativeFunction, compile_native
from noslip.engines.program import Program, interpret

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "models"))
from chains import chain, train

SIZES = (4, 16, 64, 128, 256, 512, 1000)
FITTED = 64
TARGETS = {"operations": 1.2, "evaluation": 1.2, "compiling": 1.4}
SECONDS = {"chain of hinges": 3.0}  # to derive and compile the longest
EVALUATIONS = 200
ROUNDS = 20
TOLERANCE = 1e-9  # between native and interpreted rates, relative to the largest


def measure_one(model: ns.Model) -> tuple[dict[str, float], NativeFunction, Program]:
    """Operations, and seconds to derive, to compile and to evaluate; what was compiled."""
    begin = time.process_time()
    equations = ns.derive(model)
    derived = time.process_time()
    system = ns.compile(equations)
    rates = system.rates
    compiled = time.process_time()
    program = system.program("rates", system.rates_expression)
    _, nx, nu, _ = rates.input_sizes
    x = np.random.default_rng(1).uniform(-0.3, 0.3, size=nx)
    parameters = system.parameters()
    right = interpret(program, 0.0, x, np.zeros(nu), parameters)
    found = rates(0.0, x, np.zeros(nu), parameters)
    difference = float(np.max(np.abs(found - right)) / np.max(np.abs(right)))
    if not difference <= TOLERANCE:
        raise RuntimeError(f"{model.name}: differs from the interpreter by {difference:.1e}")
    least = shortest({"rates": evaluation(rates, parameters)}, rounds=ROUNDS)["rates"]
    found_values = {
        "operations": program.num_operations,
        "deriving": derived - begin,
        "compiling": compiled - derived,
        "evaluation": least / EVALUATIONS,
        "difference": difference,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    return found_values, rates, program


def evaluation(rates: NativeFunction, parameters: np.ndarray) -> Callable[[], object]:
    """Evaluations of a right-hand side in a row."""
    _, nx, nu, _ = rates.input_sizes
    x = np.random.default_rng(1).uniform(-0.3, 0.3, size=nx)
    table = (np.zeros(EVALUATIONS), np.tile(x, (EVALUATIONS, 1)), np.zeros((EVALUATIONS, nu)))
    return lambda: rates.map(*table, parameters)


def without_loops(name: str, rates: NativeFunction, program: Program) -> list[Measure]:
    """The same program as straight-line code, by its time to compile and to evaluate."""
    seconds = {}
    for what, fewest in (("loops", optimization.FEWEST_ITERATIONS), ("straight", sys.maxsize)):
        usual, optimization.FEWEST_ITERATIONS = optimization.FEWEST_ITERATIONS, fewest
        begin = time.process_time()
        compiled = compile_native([program])[program.name]
        seconds[what] = time.process_time() - begin
        optimization.FEWEST_ITERATIONS = usual
    parameters = np.zeros(program.input_sizes[3])
    calls = {"loops": rates, "straight": compiled}
    least = shortest({k: evaluation(f, parameters) for k, f in calls.items()}, rounds=ROUNDS)
    return [
        Measure(
            what=f"{name}: evaluation by loops, against straight-line code",
            value=least["straight"] / least["loops"],
            at_least=1.0,
        ),
        Measure(
            what=f"{name}: machine code of loops, against straight-line code",
            value=seconds["straight"] / seconds["loops"],
        ),
    ]


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope of log(value) over log(n)."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def family(
    name: str, build: Callable[[int], ns.Model]
) -> tuple[list[Measure], dict[str, float], dict[str, float]]:
    table: dict[int, dict[str, float]] = {}
    print(f"{name}: n, operations, deriving s, compiling s, evaluation µs, memory MiB")
    for n in SIZES:
        table[n], rates, program = measure_one(build(n))
        found = table[n]
        gc.collect()
        print(
            f"  {n:5d} {found['operations']:9.0f} {found['deriving']:8.2f} "
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
        for what in ("operations", "evaluation", "compiling", "deriving")
    ]
    longest = table[SIZES[-1]]
    measures.append(
        Measure(
            what=f"{name}: from {SIZES[-1]} bodies to a compiled function",
            value=longest["deriving"] + longest["compiling"],
            unit="s",
            below=SECONDS.get(name),
        )
    )
    measures += without_loops(name, rates, program)
    timings = {
        f"{name}: {what} at n = {n}": found[what]
        for n, found in table.items()
        for what in ("deriving", "compiling", "evaluation")
    }
    checks = {f"{name}: difference at n = {n}": found["difference"] for n, found in table.items()}
    checks |= {f"{name}: operations at n = {n}": found["operations"] for n, found in table.items()}
    return measures, timings, checks


def main() -> None:
    os.environ["NOSLIP_CACHE_DIR"] = ""  # nothing from the disk
    measures, timings, checks = family("chain of hinges", chain)
    more, times, others = family("tractor with trailers", train)
    leave("growth", measures + more, timings | times, checks=checks | others)


if __name__ == "__main__":
    main()
