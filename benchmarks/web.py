"""Live pages: sizes, and the time of a run in a browser's engine (Node's V8) against native code.

    python benchmarks/web.py [MODEL ...]

Ten seconds at 1e-9, 601 samples of the coordinates and speeds; the minimum of many. Native is one
lane of a batch of one, with all that `simulate_batch` does around the loop left out: a thread's
kernel on this processor, as in the module. Times of one process each, in one run, with
the `node` in PATH.

Beside it, MuJoCo's own WebAssembly build from the npm registry rolls the same disk by contact and
friction; how far its center is from the exact one in the end is what its steps cost in accuracy.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

import noslip as ns
from noslip.engines.devices import HostDevice
from noslip.simulation.batches import batch_code
from noslip.web.page import live_run, module_files, page_html

MODELS = (
    *("rolling-disk", "agv", "whipple-bicycle"),
    *("ackermann-car", "snakeboard", "truck-trailers"),
)
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


#: MuJoCo in browsers: its package, and steps in s.
MUJOCO, STEPS = "@mujoco/mujoco@3.14.0", (2e-3, 1e-4)
#: A thin disk that rolls by contact and friction; hard contacts, as its accuracy needs.
DISK = """<mujoco><option timestep="{step}" cone="elliptic" integrator="implicitfast"/>
<default><geom condim="3" friction="2 0 0" solref="{stiff} 1" solimp=".9999 .9999 .001 .5 2"/>
</default>
<worldbody><geom type="plane" size="0 0 1"/><body><freejoint/>
<inertial pos="0 0 0" mass="{m}" diaginertia="{I_transverse} {I_transverse} {I_axial}"/>
<geom type="cylinder" size="{r} 1e-6"/></body></worldbody></mujoco>"""
ROLL = """
import load from "@mujoco/mujoco";
const {xml, qpos, qvel, steps} = JSON.parse(process.argv[2]);
const mujoco = await load();
const model = mujoco.MjModel.from_xml_string(xml), data = new mujoco.MjData(model);
let best = Infinity;
for (let k = 0; k < 5; k++) {
  mujoco.mj_resetData(model, data);
  data.qpos.set(qpos); data.qvel.set(qvel);
  const t = performance.now();
  for (let n = 0; n < steps; n++) mujoco.mj_step(model, data);
  best = Math.min(best, performance.now() - t);
}
console.log(JSON.stringify({best, center: [...data.qpos.slice(0, 3)]}));
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
            inputs=dict(scenario.inputs) if live.law is None else live.law,
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


def beside_mujoco() -> None:
    """A line for each of MuJoCo's steps, with the distance of the disk's center from the end."""
    if shutil.which("npm") is None:
        print("MuJoCo is left out: there is no npm")
        return
    system = ns.compile(ns.derive(ns.load("rolling-disk")))
    run = ns.run_scenario(system, duration=DURATION, rtol=1e-12, atol=1e-12)
    at = [np.array([run[f"disk.{axis}"][k] for axis in "xyz"]) for k in (0, -1)]
    begin = [run[f"disk.{name}"][0] for name in ("qw", "qx", "qy", "qz")]
    turning = [run[f"disk.w{axis}"][0] for axis in "xyz"]
    pose = Rotation.from_quat(begin, scalar_first=True)
    moving = pose.apply([run[f"disk.v{axis}"][0] for axis in "xyz"]).tolist()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "package.json").write_text("{}")
        (here / "roll.mjs").write_text(ROLL)
        install = ["npm", "install", "--silent", MUJOCO]
        if subprocess.run(install, cwd=here, capture_output=True, check=False).returncode:
            print(f"MuJoCo is left out: npm does not install {MUJOCO}")
            return
        package = here / "node_modules" / MUJOCO.rpartition("@")[0]
        size = sum((package / f"mujoco.{end}").stat().st_size for end in ("js", "wasm"))
        print(f"\nMuJoCo's WebAssembly, {size / 1e3:.0f} kB, the disk by contact and friction")
        for step in STEPS:
            given = {
                "xml": DISK.format(step=step, stiff=2 * step, **run.parameters),
                "qpos": [*at[0], *begin],
                "qvel": [*moving, *turning],
                "steps": round(DURATION / step),
            }
            command = ["node", "roll.mjs", json.dumps(given)]
            out = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
            found = json.loads(out.stdout)
            far = np.linalg.norm(np.array(found["center"]) - at[1])
            print(f"  step {step:7g} s {found['best']:9.1f} ms, {far:.2g} m from the exact end")


def main() -> None:
    """Print the table."""
    if shutil.which("node") is None:
        raise SystemExit("this needs Node: apt install nodejs")
    batch_code.FIRST_ROUNDS = batch_code.MOST_ROUNDS  # one launch, as in a page
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    print(
        f"Node {version.stdout.strip()}\n"
        f"{'':22s} {'module':>7s} {'page':>7s} {'made':>7s} {'steps':>6s} {'native':>6s} "
        f"{'first':>8s} {'best':>8s} {'native':>8s} {'ratio':>6s}\n"
        f"{'':22s} {'kB':>7s} {'kB':>7s} {'s':>7s} {'':>6s} {'':>6s} "
        f"{'ms':>8s} {'ms':>8s} {'ms':>8s}"
    )
    for name in sys.argv[1:] or MODELS:
        measure(name)
    if len(sys.argv) == 1:
        beside_mujoco()


if __name__ == "__main__":
    main()
