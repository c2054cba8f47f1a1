"""noslip and its peers on the same work in one run, and one table of ratios: `make bench-peers`.

    python benchmarks/peers/run.py                       everything
    python benchmarks/peers/run.py sympy casadi          some peers
    python benchmarks/peers/run.py --work function       some work

Every peer runs in a virtual environment of its own, made from the versions in requirements/. A time
counts only after the answer was checked. The candidates of a line take turns, and a ratio is the
peer's least processor time over noslip's least wall time. Leaves results/peers.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict

import functions
import mechanisms
import paths
from bench import Bench
from environments import PEERS
from measuring import RESULTS, machine, table
from problems import DISKS

WORKS: dict[str, Callable[[Bench], object]] = {
    "build": functions.build,
    "function": functions.evaluate,
    "mechanisms": mechanisms.all_mechanisms,
    "disks": lambda bench: [paths.disk(bench, start) for start in DISKS],
    "contact": paths.contact,
    "field": paths.field,
    "bicycle": lambda bench: paths.stepping(bench, paths.bicycle(bench)),
}


def leave(bench: Bench, load_before: object) -> None:
    """Write what was measured so far to results/peers.json."""
    record = {
        "measures": [
            asdict(m) | {"target": m.target, "verdict": m.verdict} for m in bench.measures
        ],
        **{"wall": bench.wall, "processor": bench.cpu, "checks": bench.checks},
        **{"notes": bench.notes, "left_out": bench.left_out, "versions": bench.versions()},
        "machine": machine() | {"load before": load_before},
    }
    (RESULTS / "peers.json").write_text(json.dumps(record, indent=2) + "\n")


def main() -> int:
    reader = argparse.ArgumentParser(description="noslip and its peers on the same work")
    reader.add_argument("peers", nargs="*", metavar="PEER", help=f"of {', '.join(PEERS)}; or all")
    reader.add_argument("--work", choices=WORKS, action="append", help="some work instead of all")
    options = reader.parse_args()
    unknown = [name for name in options.peers if name not in PEERS]
    if unknown:
        reader.error(f"there is no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    RESULTS.mkdir(exist_ok=True)
    bench, before = Bench(options.peers or PEERS), machine()
    try:
        for name in options.work or WORKS:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            WORKS[name](bench)
            leave(bench, before["load"])
        versions = bench.versions()
    finally:
        bench.close()
    print(f"{before['processor']}, {before['cores']} cores, load {before['load']:.1f}")
    for name, found in versions.items():
        print(f"{name}: " + ", ".join(f"{package} {v}" for package, v in found.items()))
    print()
    print(table(bench.measures))
    print("\n".join(f"left out: {note}" for note in bench.left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
