"""How near one evaluation in scalar code is to what the processor can do, and what holds it back.

Measured here: the clock, by a chain of whole-number operations that take one cycle each; the limit,
by independent fused multiplications and additions; and the time of a right-hand side. Counted:
operations of the program as it is compiled, instructions of its machine code (straight-line code
runs each once; those inside the C library's functions are not counted), and the longest chain of
operations that wait for each other, by `noslip.engines.optimization`. The share of the limit takes
an operation as one of the two in a fused one.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter

import numpy as np

import noslip as ns
from batch import peak_flops
from measuring import Measure, leave, shortest
from noslip.engines.llvm import print_llvm
from noslip.engines.machine_code import machine_code, optimized_module
from noslip.engines.native import CALL_ROWS
from noslip.engines.optimization import FUSED, LATENCIES, optimize
from noslip.engines.program import Program, interpret_rows
from right_hand_side import NUM_ROWS, generic_rows, loop_call

MODELS = ("rolling-disk", "agv", "whipple-bicycle", "manipulator-6r")
ROUNDS = 25
TOLERANCE = 1e-9
CHAIN, TIMES = 200, 20_000


def clock_rate() -> float:
    """Cycles a second, from a chain of additions and exclusive ors that cannot be shortened."""
    lines = ["define i64 @chain(i64 %n, i64 %a, i64 %b) {\nstart:\n  br label %rows\nrows:"]
    lines += ["  %i = phi i64 [ 0, %start ], [ %next, %rows ]"]
    lines += [f"  %x0 = phi i64 [ %a, %start ], [ %x{CHAIN}, %rows ]"]
    for k in range(CHAIN):
        kind = "xor i64 %b" if k % 2 else "add i64 %a"
        lines.append(f"  %x{k + 1} = {kind}, %x{k}")
    lines += ["  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %n"]
    lines += [f"  br i1 %more, label %rows, label %done\ndone:\n  ret i64 %x{CHAIN}\n}}\n"]
    engine = machine_code("\n".join(lines))
    function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(engine.get_function_address("chain"))
    seconds = shortest({"chain": lambda: function(TIMES, 3, 5)}, rounds=ROUNDS)
    return CHAIN * TIMES / seconds["chain"]


def instructions(program: Program) -> Counter[str]:
    """Machine instructions of one evaluation by their names, as the engine compiles it."""
    module, machine = optimized_module(print_llvm([program]))
    text = machine.emit_assembly(module)
    counts: Counter[str] = Counter()
    for name, body in re.findall(r"^(program0\w*):(.*?)^\.Lfunc_end", text, re.M | re.S):
        if not name.endswith("_rows"):
            counts.update(re.findall(r"^\t([a-z]\w*)", body, re.M))
    return counts


def longest_chain(program: Program) -> int:
    """Cycles that operations which wait for each other take at the least."""
    ready = [0] * program.num_given
    for kind, operands in program.operations:
        takes = LATENCIES.get(kind, FUSED)
        ready.append(takes + max((ready[value] for value in operands), default=0))
    return max(ready[value] for value in program.outputs)


def measure_model(
    name: str, clock: float, limit: float
) -> tuple[list[Measure], dict[str, float], float]:
    """Measures, seconds of a row, and how far native code is from the interpreter."""
    system = ns.compile(ns.derive(ns.load(name)))
    program = optimize(system.program("rates", system.rates_expression))
    rows = generic_rows(system)
    out = np.zeros((NUM_ROWS, program.output_size))
    call = loop_call(CALL_ROWS(system.rates.rows_address), rows, out)
    call()
    right = interpret_rows(program, *rows)
    off = float(np.max(np.abs(out - right) / np.max(np.abs(right), axis=1, keepdims=True)))
    wrong = "" if off <= TOLERANCE else f"differs from the interpreter by {off:.1e}"
    seconds = shortest({"rates": call}, rounds=ROUNDS)["rates"] / NUM_ROWS
    counts = instructions(program)
    total = sum(counts.values())
    slow = sum(n for word, n in counts.items() if re.match(r"v?(div|sqrt)", word))
    multiplied = sum(n for word, n in counts.items() if re.match(r"v?(mul|fn?m(add|sub))", word))
    lines = {
        "operations": (program.num_operations, ""),
        "machine instructions": (total, ""),
        "  of which multiply": (multiplied, ""),
        "  of which divisions and roots": (slow, ""),
        "time": (1e9 * seconds, "ns"),
        "time per operation": (1e9 * seconds / program.num_operations, "ns"),
        "cycles": (seconds * clock, ""),
        "instructions per cycle": (total / (seconds * clock), ""),
        "least cycles of the multipliers": (2 * multiplied * clock / limit, ""),
        "longest chain": (longest_chain(program), "cycles"),
        "share of the scalar limit": (100 * program.num_operations / seconds / limit, "%"),
    }
    measures = [
        Measure(what=f"{name}: {what}", value=value, unit=unit, not_counted=wrong)
        for what, (value, unit) in lines.items()
    ]
    return measures, {f"{name}: a row": seconds}, off


def main() -> None:
    clock, scalar, wide = clock_rate(), peak_flops(lanes=1), peak_flops(lanes=8)
    measures = [
        Measure(what="clock", value=clock / 1e9, unit="GHz"),
        Measure(what="limit of scalar code", value=scalar / 1e9, unit="Gflop/s"),
        Measure(what="limit in 8 lanes", value=wide / 1e9, unit="Gflop/s"),
    ]
    timings, checks = {}, {}
    for name in MODELS:
        lines, seconds, checks[name] = measure_model(name, clock, scalar)
        measures += lines
        timings |= seconds
    leave("roofline", measures, timings, checks=checks)


if __name__ == "__main__":
    main()
