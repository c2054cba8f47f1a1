"""Choices in the kernel of a batch on a GPU: steps per second of RK4 with each of them.

Registers of a thread, threads of a block, LLVM's passes, and how quotients are taken: by a shared
reciprocal as it is, by one that is corrected to the last digit, and by the card's own instruction.
Answers are compared with those of the processor before a line counts. The best choices stand in
`engines/cuda_driver.py` and `engines/elementary_functions.py`; this is how they were found.

    python benchmarks/kernels.py        needs a card of NVIDIA's and its driver
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

import noslip as ns
from gpu import CHECKED, SAME, SINGLE, STARTS, Clock, difference
from noslip.engines import cuda_driver, devices, elementary_functions
from noslip.engines.ir_writer import IRWriter, Value
from noslip.simulation.batches import batch_code

COUNT, ROUNDS = 2**20, 2
FIXED = {"method": "rk4", "step": 1e-3, "duration": 0.3}
WHOLE_PIPELINE = "O3"


def corrected(w: IRWriter, a: Value, b: Value) -> list[Value]:
    """a/b below 1 ulp: what a (1/b) misses is added."""
    name = elementary_functions.RECIPROCALS[a.kind]
    w.declared.add(f"declare {a.kind} @{name}({a.kind})")
    first = r = w.call(name, b)
    if a.kind == elementary_functions.REAL:
        e = w.fma(-b, r, 1.0)
        r = w.fma(r, w.fma(e, e, e), r)
    q = a * r
    rest = w.fma(-q, b, a)
    return [w.where(w.abs(rest) < math.inf, w.fma(rest, r, q), a * first)]


def of_the_card(w: IRWriter, a: Value, b: Value) -> list[Value]:
    """a/b rounded to nearest, by the card's own instruction."""
    return [w.binary({elementary_functions.REAL: "fdiv"}, a, b)]


def whole_pipeline(machine: Any, module: Any) -> None:
    """All of LLVM's passes at O3."""
    from llvmlite import binding

    options = binding.PipelineTuningOptions(speed_level=3)
    builder = binding.create_pass_builder(machine, options)
    thread_code_passes(machine, module)
    builder.getModulePassManager().run(module, builder)


thread_code_passes = devices.optimized_module_for


@contextmanager
def chosen(
    registers: int | None = None,
    block: int | None = None,
    quotient: Callable[..., Any] | None = None,
    passes: str | None = None,
) -> Iterator[None]:
    """Code in which kernels are made by other choices."""
    with ExitStack() as stack:
        patch = lambda *given: stack.enter_context(mock.patch.object(*given))  # noqa: E731
        if registers:
            patch(cuda_driver, "MOST_REGISTERS", registers)
            patch(cuda_driver, "MOST_SINGLE_REGISTERS", registers)
        if block:
            patch(cuda_driver, "BLOCK", block)
        if quotient:
            patch(elementary_functions, "quotient", quotient)
        if passes:
            patch(devices, "optimized_module_for", whole_pipeline)
        for cached in (cuda_driver._kernel, batch_code._kernel, devices.ptx_of):
            cached.cache_clear()
        yield


CHOICES: dict[str, dict[str, Any]] = {
    "as it is": {},
    **{f"{n} registers": {"registers": n} for n in (64, 96, 128, 168, 208, 255)},
    **{f"blocks of {n}": {"block": n} for n in (32, 128, 256)},
    "quotients to the last digit": {"quotient": corrected},
    "the card's quotients": {"quotient": of_the_card},
    "all passes of LLVM": {"passes": WHOLE_PIPELINE},
}


def main() -> None:
    print(cuda_driver.cuda_device().name)
    models = sys.argv[1:] or list(STARTS)
    rng = np.random.default_rng(0)
    for name in models:
        system = ns.compile(ns.derive(ns.load(name)))
        starts = {key: rng.uniform(*span, COUNT) for key, span in STARTS[name].items()}
        few = {key: values[:CHECKED] for key, values in starts.items()}
        expected = ns.simulate_batch(system, start=few, **FIXED)
        for precision, bound in (("double", SAME), ("single", SINGLE)):
            print(f"\n{name}, {precision} precision")
            print(f"{'':30}{'steps/s':>10}{'registers':>11}{'local, B':>10}{'off by':>10}")
            for word, choice in CHOICES.items():
                with chosen(**choice):
                    least, clock = math.inf, Clock()
                    for _ in range(ROUNDS):
                        clock = Clock()
                        with clock.watching():
                            batch = ns.simulate_batch(
                                system, start=starts, device="cuda", precision=precision, **FIXED
                            )
                        least = min(least, clock.seconds)
                off = difference(batch, expected)
                rate = f"{float(np.sum(batch.steps)) / least:.3g}" if off <= bound else "wrong"
                kernel = clock.kernel
                numbers = f"{kernel.registers:>11}{kernel.local_bytes:>10}{off:>10.1e}"
                print(f"{word:30}{rate:>10}{numbers}", flush=True)


if __name__ == "__main__":
    main()
