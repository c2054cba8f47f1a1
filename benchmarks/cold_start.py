"""From the command line: how long a user waits, with warm caches and on the very first run.

Whole processes are timed from the outside, in turn. Warm: byte code and compiled loops are there.
Cold: the folder of compiled loops is empty, so that of the run is compiled once more.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from measuring import Measure, leave, shortest

ROUNDS = 5
COLD_ROUNDS = 2
MISS = 1e-6  # m; the vehicle must come back to where its circle began
START = {"platform.x": math.sqrt(1.0 - 0.101**2), "platform.y": 0.101}

NOSLIP = str(Path(sysconfig.get_path("scripts")) / "noslip")
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    'python -c "import noslip"': [sys.executable, "-c", "import noslip"],
    "noslip --help": [NOSLIP, "--help"],
    "noslip run agv, warm": [NOSLIP, "run", "agv", "--no-plots", "--json", "--force", "-o"],
}
TARGETS = {"noslip run agv, warm": 3.0, "noslip run agv, no compiled code": 5.0}


def environment(code: Path) -> dict[str, str]:
    """This process's environment, with byte code kept and compiled loops in a given folder."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"NOSLIP_CACHE_DIR": str(code)}


def run(command: list[str], folder: Path, code: Path) -> str:
    """Standard output of a command; a run of the vehicle leaves its folder in a temporary one."""
    if command[-1] == "-o":
        command = [*command, str(folder / "run")]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(code),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr.strip()[-400:]}")
    return done.stdout


def miss(output: str) -> float:
    """How far from its start the vehicle ended its turn, m."""
    state = json.loads(output)["final_state"]
    return max(abs(state[name] - value) for name, value in START.items())


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        warm = folder / "warm"

        # the first of each fills the caches, and its answer is looked at
        outputs = {name: run(command, folder, warm) for name, command in COMMANDS.items()}
        checks = {"noslip run agv, warm": miss(outputs["noslip run agv, warm"])}
        seconds = shortest(
            {
                name: lambda command=command: run(command, folder, warm)
                for name, command in COMMANDS.items()
            },
            rounds=ROUNDS,
        )

        cold = "noslip run agv, no compiled code"
        answers: list[str] = []

        def run_cold() -> None:
            cache = folder / f"cold{len(answers)}"
            answers.append(run(COMMANDS["noslip run agv, warm"], folder, cache))

        seconds |= shortest({cold: run_cold}, rounds=COLD_ROUNDS)
        checks[cold] = miss(answers[-1])

    measures = []
    for name, least in seconds.items():
        error = checks.get(name, 0.0)
        wrong = "" if error <= MISS else f"misses its start by {error:.1e} m"
        measures.append(
            Measure(what=name, value=least, unit="s", below=TARGETS.get(name), not_counted=wrong)
        )
    bare = seconds["python -c pass"]
    measures += [
        Measure(what=f"{name}, against python -c pass", value=least / bare, unit="x longer")
        for name, least in seconds.items()
        if least != bare
    ]
    leave("cold_start", measures, seconds, checks=checks)


if __name__ == "__main__":
    main()
