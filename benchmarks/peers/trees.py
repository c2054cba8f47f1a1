"""Random trees by noslip, MuJoCo and Pinocchio: forward dynamics and mass matrices must agree.

    python benchmarks/peers/trees.py                 200 trees
    python benchmarks/peers/trees.py 1000 --from 200

Each tool reads the same numbers (`tree_problems.py`) in an environment of its own, as for
`make bench-peers`. A difference is relative to the largest entry; for accelerations also times the
root of the mass matrix's condition number, since that much of the rounding of forces they show.
Prints the worst of all trees. Ends with 1 if it is above 1e-9, with 0 where no tool is to be had.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from bench import NOSLIP, Bench
from measuring import RESULTS

PEERS = ("mujoco", "pinocchio")
TOLERANCE = 1e-9
#: Trees that a tool is asked for at once.
CHUNK = 50


def compared(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, float]:
    """Relative differences of one tree."""
    mass, other = np.array(found["mass"]), np.array(expected["mass"])
    rates, wanted = np.array(found["rates"]), np.array(expected["rates"])
    spread = np.sqrt(np.linalg.cond(mass))
    return {
        "mass matrix": float(np.max(np.abs(mass - other)) / np.max(np.abs(mass))),
        "accelerations": float(
            np.max(np.abs(rates - wanted)) / (spread * max(1.0, np.max(np.abs(rates))))
        ),
    }


def answers(bench: Bench, who: str, numbers: range) -> list[dict[str, Any]] | None:
    """What a tool finds for the trees; None where it is not to be had."""
    found: list[dict[str, Any]] = []
    for k in range(0, len(numbers), CHUNK):
        job = bench.prepare(who, "trees", f"{who}: trees", numbers=list(numbers[k : k + CHUNK]))
        if job is None:
            return None
        found += job.answer
        bench.drop(job)
    return found


def main() -> int:
    reader = argparse.ArgumentParser(description="random trees by noslip and by other tools")
    reader.add_argument("count", nargs="?", type=int, default=200, help="number of trees")
    reader.add_argument("--from", dest="first", type=int, default=0, help="number of the first")
    options = reader.parse_args()
    RESULTS.mkdir(exist_ok=True)
    bench, failed = Bench(PEERS), False
    numbers = range(options.first, options.first + options.count)
    try:
        own = answers(bench, NOSLIP, numbers)
        for peer in PEERS:
            theirs = answers(bench, peer, numbers)
            if own is None or theirs is None:
                continue
            differences = [compared(a, b) for a, b in zip(own, theirs, strict=True)]
            for what in differences[0]:
                worst = max(range(len(numbers)), key=lambda k, what=what: differences[k][what])
                value = differences[worst][what]
                failed |= not value <= TOLERANCE
                print(f"{peer}: {what} of {len(numbers)} trees {value:.1e}, tree {numbers[worst]}")
    finally:
        bench.close()
    for note in bench.left_out:
        print(f"left out: {note}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
