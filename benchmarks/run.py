"""All benchmarks one after another, and one table of what they measured: `make bench`.

Each script runs in a process of its own, can be run alone, and leaves its numbers with the
processor and versions of packages in results/<name>.json. Exits with 1 if a script fails; a target
that is not met is shown and is no failure.

To add one: a script here that calls `measuring.leave` with its own name, and a line in SCRIPTS.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measuring import RESULTS, Measure, machine, read, table

SCRIPTS = (
    *("model_to_function", "right_hand_side", "rolling_disk", "tracking", "studio"),
    *("batch", "variants", "noise", "sweeps", "sensitivities", "parts", "curved"),
    *("exported_c", "cold_start"),
)
FOLDER = Path(__file__).parent


def main() -> int:
    about = machine()
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    print(f"{about['processor']}, {about['cores']} cores, load {about['load']:.1f}")
    print(f"Python {about['python']}, {packages}\n", flush=True)
    measures: list[Measure] = []
    notes: list[str] = []
    failed = []
    for name in SCRIPTS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        (RESULTS / f"{name}.json").unlink(missing_ok=True)
        script = [sys.executable, str(FOLDER / f"{name}.py")]
        done = subprocess.run(script, capture_output=True, text=True, check=False)
        if done.returncode:
            failed.append(name)
            print(done.stderr, file=sys.stderr)
            continue
        lines, left_out = read(name)
        measures += lines
        notes += [f"left out: {note}" for note in left_out]
    print(table(measures))
    print("\n".join(notes + [f"failed: {name}.py" for name in failed]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
