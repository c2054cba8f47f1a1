"""Batches on a GPU: steps and evaluations per second, and how long the first result takes.

Times are those of the kernel's launches; the answers of the first trajectories are compared with
those of the processor before a time counts. Trajectories differ in their starts. The record is left
under the name of the card.

    python benchmarks/gpu.py            needs a card of NVIDIA's and its driver
    python benchmarks/gpu.py --variants the batches without a motion, and no record
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import noslip as ns
from measuring import Measure, leave
from noslip.engines.cuda_driver import CudaKernel, cuda_device

COUNT = 2**20
CHECKED = 64  # trajectories that are compared with those of the processor
ROUNDS = 3
#: Model → ranges of the start.
STARTS: dict[str, dict[str, tuple[float, float]]] = {
    "rolling-disk": {
        **{"disk.tilt": (1.2, 1.5), "disk.yaw_rate": (0.2, 0.4), "disk.spin_rate": (-9.0, -7.0)},
    },
    "agv": {"wheel1.rate": (-6.0, -4.0), "wheel2.rate": (-9.0, -7.0), "bracket.angle": (0.3, 0.5)},
    "whipple-bicycle": {"speed": (4.4, 4.8), "frame.wx": (0.1, 0.5)},
}
#: RK4 steps/s that are aimed at, double precision and single.
AIMS = {"agv": (1e10, 3e10), "whipple-bicycle": (4e9, None), "rolling-disk": (None, None)}
FIXED = {"method": "rk4", "step": 1e-3, "duration": 1.0}
ADAPTIVE = {"duration": 10.0}
LOOSE = {"rtol": 1e-5, "atol": 1e-5}
#: Largest difference from the processor: the same steps, rounded otherwise; at loose tolerances a
#: rounding changes steps by more; in single precision, seven digits less those that steps take.
SAME, ROUGH, SINGLE = 1e-7, 1e-6, 1e-2
FIRST = """
import time; began = time.perf_counter()
import noslip as ns
system = ns.compile(ns.derive(ns.load({name!r})))
batch = ns.simulate_batch(system, duration=1.0, start={start!r}, count=1000, device="cuda")
print(time.perf_counter() - began, (batch.t == 1.0).all())
"""


class Clock:
    """Seconds and number of launches, and the kernel of the last one."""

    def __init__(self) -> None:
        self.seconds, self.launches = 0.0, 0
        self.kernel: Any = None

    @contextmanager
    def watching(self) -> Iterator[Clock]:
        """Code whose launches are counted."""
        launch = CudaKernel.launch

        def timed(kernel: Any, *given: Any) -> None:
            began = time.perf_counter()
            launch(kernel, *given)
            self.seconds += time.perf_counter() - began
            self.launches, self.kernel = self.launches + 1, kernel

        CudaKernel.launch = timed  # type: ignore[method-assign]
        try:
            yield self
        finally:
            CudaKernel.launch = launch  # type: ignore[method-assign]


def starts_of(name: str) -> dict[str, np.ndarray]:
    """Starts that differ from each other."""
    rng = np.random.default_rng(0)
    return {key: rng.uniform(*span, COUNT) for key, span in STARTS[name].items()}


def difference(batch: ns.Batch, expected: ns.Batch) -> float:
    """Largest difference of ends, relative to the size of a column where that is above 1."""
    return max(
        float(np.abs(batch.final[column][:CHECKED] - values).max())
        / max(1.0, float(np.abs(values).max()))
        for column, values in expected.final.items()
    )


class Bench:
    """All lines of the table."""

    def __init__(self) -> None:
        self.measures: list[Measure] = []
        self.timings: dict[str, float] = {}
        self.checks: dict[str, float] = {}

    def run(self, name: str, system: ns.System, label: str, **given: Any) -> tuple[float, float]:
        """Steps and evaluations per second of a batch, its answers checked."""
        starts = starts_of(name)
        few = {key: values[:CHECKED] for key, values in starts.items()}
        settings = {key: value for key, value in given.items() if key != "precision"}
        expected = ns.simulate_batch(system, start=few, **settings)
        least, batch, clock = np.inf, None, Clock()
        for _ in range(ROUNDS):
            clock = Clock()
            began = time.perf_counter()
            with clock.watching():
                batch = ns.simulate_batch(system, start=starts, device="cuda", **given)
            whole = time.perf_counter() - began
            least = min(least, clock.seconds)
        assert batch is not None
        off = difference(batch, expected)
        key = f"{name}, {label}"
        self.timings |= {f"{key}: kernel": least, f"{key}: whole call": whole}
        self.checks |= {f"{key}: largest difference from the processor": off}
        self.checks |= {f"{key}: registers": clock.kernel.registers}
        self.checks |= {f"{key}: bytes of local memory": clock.kernel.local_bytes}
        self.checks |= {
            f"{key}: not finished": float(np.count_nonzero(batch.t < given["duration"]))
        }
        self.off = off
        return float(np.sum(batch.steps)) / least, float(np.sum(batch.nfev)) / least

    def add(self, what: str, value: float, unit: str, *, bound: float = SAME, **aim: Any) -> None:
        """A line of the table; it does not count if the answers were off."""
        reason = "" if self.off <= bound else f"answers differ by {self.off:.1e}"
        self.measures.append(Measure(what=what, value=value, unit=unit, not_counted=reason, **aim))
        print(f"{what}: {value:.3g} {unit} {reason}", flush=True)

    def model(self, name: str) -> None:
        """Fixed and adaptive steps of a model."""
        system = ns.compile(ns.derive(ns.load(name)))
        double, single = AIMS[name]
        steps, fixed = self.run(name, system, "rk4", **FIXED)
        self.add(f"{name}: RK4 in double precision", steps, "steps/s", at_least=double)
        steps, _ = self.run(name, system, "rk4 single", precision="single", **FIXED)
        self.add(
            f"{name}: RK4 in single precision", steps, "steps/s", bound=SINGLE, at_least=single
        )
        _, evaluations = self.run(name, system, "dop853", **ADAPTIVE)
        seconds = self.timings[f"{name}, dop853: kernel"]
        self.add(f"{name}: DOP853 to 1e-9, 10 s", COUNT / seconds, "runs/s")
        self.add(f"{name}: DOP853 to 1e-9", evaluations, "evaluations/s")
        self.add(
            f"{name}: evaluations of DOP853 against those of RK4",
            evaluations / fixed,
            "of them",
            at_least=0.25,
        )
        self.run(name, system, "dop853 at 1e-5", **ADAPTIVE, **LOOSE)
        self.add(
            f"{name}: DOP853 to 1e-5, 10 s",
            COUNT / self.timings[f"{name}, dop853 at 1e-5: kernel"],
            "runs/s",
            bound=ROUGH,
        )
        self.run(name, system, "dop853 single", precision="single", **ADAPTIVE, **LOOSE)
        self.add(
            f"{name}: DOP853 to 1e-5 in single precision, 10 s",
            COUNT / self.timings[f"{name}, dop853 single: kernel"],
            "runs/s",
            bound=SINGLE,
        )

    def different_parameters(self) -> None:
        """Bicycles of which every one has other masses."""
        name = "whipple-bicycle"
        system = ns.compile(ns.derive(ns.load(name)))
        rng = np.random.default_rng(1)
        names = [p.name for p in system.model.parameters]
        nominal = dict(zip(names, system.parameters().tolist(), strict=True))
        some = [n for n, value in nominal.items() if value > 0.0][:8]
        chosen = {n: nominal[n] * rng.uniform(0.99, 1.01, COUNT) for n in some}
        clock = Clock()
        with clock.watching():
            batch = ns.simulate_batch(
                system, start=starts_of(name), parameters=chosen, device="cuda", **ADAPTIVE
            )
        few = {n: values[:CHECKED] for n, values in chosen.items()}
        starts = {n: values[:CHECKED] for n, values in starts_of(name).items()}
        expected = ns.simulate_batch(system, start=starts, parameters=few, **ADAPTIVE)
        self.off = difference(batch, expected)
        self.timings[f"{name}, other parameters: kernel"] = clock.seconds
        what = f"{name}: DOP853 to 1e-9, {len(some)} parameters different in every one"
        self.add(what, COUNT / clock.seconds, "runs/s")
        self.add(what, float(np.sum(batch.nfev)) / clock.seconds, "evaluations/s")

    def queue(self) -> None:
        """Threads that take trajectories from a queue against one thread for each trajectory."""
        name = "whipple-bicycle"
        system = ns.compile(ns.derive(ns.load(name)))
        starts = starts_of(name)
        # motions that end between 0.5 s and 10 s
        limits = np.random.default_rng(2).uniform(0.5, 10.0, COUNT)
        given = {
            **{"start": starts, "definitions": {"limit": limits}, "device": "cuda"},
            **{"stop": {"limit": "t - limit"}, "duration": 10.0},
        }
        seconds = {}
        for word in ("queue", "one thread each", "queue", "one thread each"):
            clock = Clock()
            with clock.watching(), _one_thread_each(word != "queue"):
                batch = ns.simulate_batch(system, **given)
            seconds[word] = clock.seconds
            self.off = float(np.abs(batch.t - limits).max())
        self.timings |= {f"{name}, runs of different length: {k}": s for k, s in seconds.items()}
        self.add(
            f"{name}: runs of different length, a queue against one thread each",
            seconds["one thread each"] / seconds["queue"],
            "x faster",
        )

    def variants(self) -> None:
        """Batches without a motion, and derivatives of motions: the card against all cores."""
        rng = np.random.default_rng(3)
        bicycle, car, sleigh = (
            ns.compile(ns.derive(ns.load(name)))
            for name in ("whipple-bicycle", "agv", "chaplygin-sleigh")
        )
        n, few = 2**18, 2**14
        masses = {"mB": rng.uniform(80.0, 90.0, n)}
        leaning = {"frame.lean": rng.uniform(-0.3, 0.3, n), "speed": rng.uniform(3.0, 6.0, n)}
        rolling = {"wheel1.rate": rng.uniform(-8.0, -4.0, n), "wheel2.rate": -5.0}
        rates = {s.name: rng.uniform(-1.0, 1.0, n) for s in car.independent_speeds}
        some = {name: x[:few] for name, x in leaning.items()}
        begun = {"sleigh.vx": rng.uniform(0.5, 2.0, n), "sleigh.rate": rng.uniform(0.2, 1.0, n)}
        followed: dict[str, Any] = {
            **{"with_respect_to": ["m", "sleigh.rate"], "duration": 10.0, "samples": 2},
            **{"start": begun, "parameters": {"m": rng.uniform(0.8, 1.5, n)}},
        }
        calls: dict[str, tuple[int, Any, Any]] = {
            "evaluate, bicycle": (
                n,
                lambda **on: ns.evaluate_batch(bicycle, leaning, parameters=masses, **on),
                lambda found: np.column_stack(list(found.accelerations.values())),
            ),
            "inverse dynamics, vehicle": (
                n,
                lambda **on: ns.inverse_dynamics_batch(car, rolling, rates, **on),
                lambda found: np.column_stack(list(found.inputs.values())),
            ),
            "eigenvalues, bicycle": (
                n,
                lambda **on: ns.linearize_batch(
                    bicycle, {"speed": leaning["speed"]}, parameters=masses, **on
                ),
                lambda found: np.abs(found.eigenvalues),
            ),
            "steady turns, bicycle": (
                few,
                lambda **on: ns.steady_batch(bicycle, some, find=["steer_torque"], **on),
                lambda found: np.column_stack(list(found.values.values())),
            ),
            "sensitivities of 10 s, sleigh": (
                n,
                lambda **on: ns.simulate_sensitivities_batch(sleigh, **followed, **on),
                lambda found: found["sleigh.x", "m"],
            ),
        }
        for what, (count, call, numbers) in calls.items():
            found, least = {}, {}
            for device in ("cpu", "cuda"):
                least[device] = np.inf
                for _ in range(2):
                    began = time.perf_counter()
                    found[device] = numbers(call(device=device))
                    least[device] = min(least[device], time.perf_counter() - began)
            size = max(1.0, float(np.abs(found["cpu"]).max()))
            self.off = float(np.abs(found["cuda"] - found["cpu"]).max()) / size
            self.timings |= {f"{what}: {d}": s for d, s in least.items()}
            self.checks[f"{what}: largest difference from the processor"] = self.off
            self.add(f"{what}, on the card", count / least["cuda"], "variants/s", bound=ROUGH)
            ratio = least["cpu"] / least["cuda"]
            self.add(f"{what}, against {os.cpu_count()} cores", ratio, "x faster", bound=ROUGH)

    def mjx(self) -> list[str]:
        """Steps of the same vehicle by MJX, single precision; what is left out where it is not."""
        script = Path(__file__).parent / "peers" / "by_mjx.py"
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            return [f"MJX on the same vehicle: {why[0]}"]
        found = json.loads(done.stdout.splitlines()[-1])
        self.off = 0.0
        own = next(m.value for m in self.measures if m.what == "agv: RK4 in double precision")
        self.checks |= {f"MJX: {key}": x for key, x in found.items() if isinstance(x, float)}
        self.add("agv by MJX, single precision", found["steps_per_second"], "steps/s")
        self.add(
            "agv: RK4 in double precision against MJX in single",
            own / found["steps_per_second"],
            "x faster",
            at_least=500.0,
        )
        return []

    def first_result(self) -> None:
        """Model name to first result, in a process of its own, then with the driver's cache."""
        self.off = 0.0
        for name, spans in STARTS.items():
            start = {key: sum(span) / 2 for key, span in spans.items()}
            code = FIRST.format(name=name, start=start)
            for label in ("", ", translated before"):
                found = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True
                )
                seconds, is_done = found.stdout.split()
                self.off = 0.0 if is_done == "True" else np.inf
                self.add(f"{name} to first result{label}", float(seconds), "s", below=3.0)


@contextmanager
def _one_thread_each(is_so: bool) -> Iterator[None]:
    """Code in which launches have as many threads as there are trajectories."""
    made = CudaKernel.__init__

    def init(kernel: Any, *given: Any) -> None:
        made(kernel, *given)
        kernel.most_threads = COUNT

    if is_so:
        from noslip.engines import cuda_driver

        cuda_driver._kernel.cache_clear()
        CudaKernel.__init__ = init  # type: ignore[method-assign]
    try:
        yield
    finally:
        if is_so:
            cuda_driver._kernel.cache_clear()
            CudaKernel.__init__ = made  # type: ignore[method-assign]


def main() -> None:
    card = cuda_device()
    print(card.name)
    bench = Bench()
    bench.variants()
    if "--variants" in sys.argv[1:]:
        return
    for name in STARTS:
        bench.model(name)
    bench.different_parameters()
    bench.queue()
    bench.first_result()
    left_out = bench.mjx()
    leave(
        f"gpu-{card.name.lower().replace(' ', '-')}",
        bench.measures,
        bench.timings,
        checks=bench.checks,
        left_out=[*left_out, "MuJoCo Warp, Newton and Brax on the same vehicle"],
    )


if __name__ == "__main__":
    main()
