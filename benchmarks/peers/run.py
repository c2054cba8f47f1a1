"""noslip and its peers on the same work in one run, and one table of ratios: `make bench-peers`.

    python benchmarks/peers/run.py                  all peers
    python benchmarks/peers/run.py sympy casadi     some of them

Every peer runs in a virtual environment of its own, made from the versions in requirements/. A time
counts only after the answer was checked. The candidates of a line take turns, and a ratio is the
peer's least processor time over noslip's least wall time. Leaves results/peers.json.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import functions
import mechanisms
import paths
from bench import Bench
from environments import PEERS
from measuring import RESULTS, machine, table
from problems import DISKS


def measure(bench: Bench) -> None:
    """All work, one after another; what is done is said."""
    works = [
        ("bicycle, model to function", lambda: functions.build(bench)),
        ("bicycle, right-hand side", lambda: functions.evaluate(bench)),
        ("arms and chains", lambda: mechanisms.all_mechanisms(bench)),
        *((f"{name} disk", lambda name=name: paths.disk(bench, name)) for name in DISKS),
        ("disk by contact", lambda: paths.contact(bench)),
        ("bicycle and those who step", lambda: paths.stepping(bench, paths.bicycle(bench))),
    ]
    for name, work in works:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        work()


def main(asked: list[str]) -> int:
    unknown = [name for name in asked if name not in PEERS]
    if unknown:
        print(f"there is no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
        return 2
    RESULTS.mkdir(exist_ok=True)
    bench = Bench(asked or PEERS)
    before = machine()
    try:
        measure(bench)
        versions = bench.versions()
    finally:
        bench.close()
    record = {
        "measures": [
            asdict(m) | {"target": m.target, "verdict": m.verdict} for m in bench.measures
        ],
        **{"wall": bench.wall, "processor": bench.cpu, "checks": bench.checks},
        **{"notes": bench.notes, "left_out": bench.left_out, "versions": versions},
        "machine": machine() | {"load before": before["load"]},
    }
    (RESULTS / "peers.json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"{before['processor']}, {before['cores']} cores, load {before['load']:.1f}")
    for name, found in versions.items():
        print(f"{name}: " + ", ".join(f"{package} {v}" for package, v in found.items()))
    print()
    print(table(bench.measures))
    print("\n".join(f"left out: {note}" for note in bench.left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
