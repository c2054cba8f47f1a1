"""Live pages: sizes, and the time of a run in a browser's engine (Node's V8) against native code.

    python benchmarks/web.py [MODEL ...]

Ten seconds at 1e-9, 601 samples of the coordinates and speeds; the minimum of many. Native is one
lane of a batch of one, with all that `simulate_batch` does around the loop left out: a thread's
kernel on this processor, as in the module. Times of one process each, in one run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import noslip as ns
from noslip.engines.devices import HostDevice
from noslip.simulation.batches import batch_code
from noslip.web.live_run import live_run
from noslip.web.page import module_files, page_html

MODELS = ("rolling-disk", "ackermann-car", "whipple-bicycle", "snakeboard", "truck-trailers")
DURATION, TIMES = 10.0, 200
PROGRAM = """
import {open} from "./run.mjs";
const run = await open();
const values = JSON.parse(process.argv[2]);
let best = Infinity, first = 0, steps = 0;
const began = performance.now();
for (let k = 0; k < %d && performance.now() - began < 4000; k++) {
  const t = performance.now();
  steps = run.simulate(values).steps;
  const ms = performance.now() - t;
  if (k === 0) first = ms;
  best = Math.min(best, ms);
}
console.log(JSON.stringify({first, best, steps}));
"""


class Clock(HostDevice):
    """This processor as a device, with the time of each launch."""

    def kernel(self, text, tables=()):
        """The kernel, whose launches are timed."""
        made = super().kernel(text, tables)
        launch = made.launch

        def timed(*given):
            began = time.perf_counter()
            launch(*given)
            self.seconds += time.perf_counter() - began

        made.launch = timed
        return made

    seconds = 0.0


def native(live) -> tuple[float, int]:
    """Least time of the loop, ms, and its steps."""
    scenario, best, steps = live.scenario, float("inf"), 0
    for _ in range(40):
        clock = Clock(1)
        run = ns.simulate_batch(
            live.system,
            duration=DURATION,
            count=1,
            samples=live.portable.plan["samples"],
            keep=["samples"],
            columns=[*live.choices, "kinetic_energy", "potential_energy", "work"],
            start=live.portable.plan["start"],
            inputs=dict(scenario.inputs),
            definitions=dict(scenario.definitions),
            stop=dict(scenario.stop),
            device=clock,
        )
        best, steps = min(best, 1e3 * clock.seconds), int(run.steps[0])
    return best, steps


def measure(name: str) -> None:
    """One line of the table."""
    began = time.perf_counter()
    live = live_run(name, duration=DURATION, with_picture=False)
    made = time.perf_counter() - began
    page = len(page_html(live_run(name)).encode())
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for suffix, data in zip(
            ("wasm", "mjs", "d.mts", "md"), module_files(live, "run"), strict=True
        ):
            (here / f"run.{suffix}").write_bytes(data)
        (here / "try.mjs").write_text(PROGRAM % TIMES)
        command = ["node", "try.mjs", "{}"]
        out = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    found = json.loads(out.stdout)
    own, steps = native(live)
    print(
        f"{name:22s} {len(live.portable.module) / 1e3:7.0f} {page / 1e3:7.0f} {made:7.2f} "
        f"{found['steps']:6d} {steps:6d} {found['first']:8.2f} {found['best']:8.3f} {own:8.3f} "
        f"{found['best'] / own:6.2f}"
    )


def main() -> None:
    """Print the table."""
    if shutil.which("node") is None:
        raise SystemExit("this needs Node: apt install nodejs")
    batch_code.FIRST_ROUNDS = batch_code.MOST_ROUNDS  # one launch, as in a page
    print(
        f"{'':22s} {'module':>7s} {'page':>7s} {'made':>7s} {'steps':>6s} {'native':>6s} "
        f"{'first':>8s} {'best':>8s} {'native':>8s} {'ratio':>6s}\n"
        f"{'':22s} {'kB':>7s} {'kB':>7s} {'s':>7s} {'':>6s} {'':>6s} "
        f"{'ms':>8s} {'ms':>8s} {'ms':>8s}"
    )
    for name in sys.argv[1:] or MODELS:
        measure(name)


if __name__ == "__main__":
    main()
