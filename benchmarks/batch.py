"""Many trajectories at once: wide code against scalar code, and both against the machine's limit.

All on one thread, whole runs by the processor's time. The scalar loop is the one of `simulate`,
without what Python does around it; the batch loop is that of `simulate_batch`, with 8 lanes and
with 1. All integrate the same trajectories to the same tolerance, and their ends are compared
before a time counts. The limit is the measured rate of fused multiplications and additions on
vectors of 8 doubles; operations are counted in the LLVM text, elementary functions by what their
bodies do, a fused one as two.
"""

from __future__ import annotations

import ctypes
import dataclasses
import re
import time
from collections.abc import Callable

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest
from noslip.engines.llvm import print_llvm
from noslip.engines.machine_code import machine_code
from noslip.engines.native import CALL_ROWS, compile_wide, pack
from noslip.engines.program import Program
from noslip.simulation.batches.batch import BatchMotions
from noslip.simulation.batches.batch_request import read_batch
from noslip.simulation.native_run import NativeLoop
from noslip.simulation.samples import SegmentBasis
from right_hand_side import NUM_ROWS, generic_rows

LANES = 8
COUNT = 64  # trajectories, a whole number of packs
ROUNDS = 12
TOLERANCE = 1e-9
SAME = 1e-5  # of an end, relative to its size, after motions that let differences grow

#: Model → start and duration, s.
RUNS: dict[str, tuple[dict[str, float], float]] = {
    "rolling-disk": (
        {"disk.tilt": 1.3, "disk.yaw_rate": 0.3, "disk.tilt_rate": 0.1, "disk.spin_rate": -6.0},
        30.0,
    ),
    "agv": ({"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4}, 60.0),
    "whipple-bicycle": ({"speed": 4.6, "frame.wx": 0.3, "steer.rate": 0.1}, 20.0),
}


def starts_of(system: ns.System, start: dict[str, float]) -> np.ndarray:
    """States near a start, one row for each trajectory."""
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(COUNT):
        given = {n: v * (1.0 + 0.02 * rng.normal()) for n, v in start.items()}
        s = ns.complete_start(system, given)
        rows.append(np.concatenate([s.q, s.eta, s.mu, np.zeros(int(system.does_work))]))
    return np.array(rows)


def scalar_calls(system: ns.System, states: np.ndarray, duration: float) -> Callable[[], list]:
    """All trajectories by the loop of `simulate`, one after the other."""
    absolute = np.full(system.num_states, TOLERANCE)
    if system.does_work:
        absolute[-1] = 1e300
    loop = NativeLoop(
        rates=system.rates,
        project=system.projection if system.has_projection else None,
        floors=np.array([h.floor for h in system.singularity_measures]),
        direct_steps=10**9,
    )

    def run(state: np.ndarray) -> np.ndarray:
        return (
            loop.begin(
                parameters=system.parameters(),
                start_time=0.0,
                end_time=duration,
                start_state=state,
                base_inputs=np.zeros(len(system.inputs)),
                relative_tolerance=TOLERANCE,
                absolute_tolerance=absolute,
            )
            .go()
            .state
        )

    return lambda: [run(state) for state in states]


def batch_call(
    system: ns.System, states: np.ndarray, duration: float, lanes: int
) -> Callable[[], np.ndarray]:
    """All trajectories by the batch loop on one thread."""
    names = [c.name for c in (*system.coordinates, *system.independent_speeds)]
    given = {
        "start": dict(zip(names, states.T, strict=False)),
        "duration": duration,
        "count": len(states),
    }
    given |= {"lanes": lanes, "keep": (), "max_events": 1, "rtol": TOLERANCE, "atol": TOLERANCE}
    request = dataclasses.replace(read_batch(system, given), columns=(), threads=1)
    motions, basis = BatchMotions(request, None), SegmentBasis(system)

    def call() -> np.ndarray:
        motions.restart(states)
        motions.run(basis, np.arange(len(states)))
        return motions.results.states

    return call


def rates_calls(
    system: ns.System, folded: ns.System
) -> tuple[dict[str, Callable[[], object]], dict[str, Program], float]:
    """Right-hand sides on the same rows; their programs, and how far apart they are."""
    rows = generic_rows(system)
    calls: dict[str, Callable[[], object]] = {}
    programs = {}
    answers = {}
    kept_alive = []
    for name, s in (("kept", system), ("folded", folded)):
        programs[name] = s.program("rates", s.rates_expression)
        out = np.zeros((NUM_ROWS, programs[name].output_size))
        scalar = CALL_ROWS(s.rates.rows_address)
        addresses = [table.ctypes.data for table in rows]
        calls[f"scalar, {name}"] = lambda f=scalar, a=addresses, o=out: f(
            NUM_ROWS, *a, 0, o.ctypes.data
        )
        wide = compile_wide([programs[name]], LANES)["rates"]
        tables = [rows[0][:, None], rows[1], rows[2], np.tile(rows[3], (NUM_ROWS, 1))]
        packed = [pack(table, LANES) for table in tables]
        packs = np.zeros((NUM_ROWS // LANES, programs[name].output_size, LANES))
        loop = CALL_ROWS(wide.packs_address)
        calls[f"wide, {name}"] = lambda f=loop, a=packed, o=packs: f(
            NUM_ROWS // LANES, *[p.ctypes.data for p in a], 0, o.ctypes.data
        )
        answers[f"scalar, {name}"] = out
        answers[f"wide, {name}"] = packs
        kept_alive.append((wide, packed))
    for call in calls.values():
        call()
    right = answers["scalar, kept"]
    scale = np.max(np.abs(right), axis=1, keepdims=True)
    difference = 0.0
    for name, answer in answers.items():
        if name.startswith("wide"):
            answer = answer.transpose(0, 2, 1).reshape(NUM_ROWS, -1)
        difference = max(difference, float(np.max(np.abs(answer - right) / scale)))
    calls["keep"] = lambda: kept_alive
    return calls, programs, difference


def num_flops(program: Program) -> int:
    """Arithmetic of one evaluation in wide code, a fused operation as two."""
    text = print_llvm([program], LANES)
    bodies: dict[str, int] = {}
    for head, body in re.findall(r"^define [^@]*@(\w+)\(.*?\{$(.*?)^\}", text, re.M | re.S):
        single = len(re.findall(r"= f(?:add|sub|mul|div) ", body))
        single += len(re.findall(r"@llvm\.(?:sqrt|minnum|maxnum)\.", body))
        bodies[head] = single + 2 * len(re.findall(r"@llvm\.fma\.v", body))
    called = re.findall(r"@(lanes_\w+)\(", text[: text.index("@program0_rows")])
    own = [name for name in bodies if re.fullmatch(r"program0(_part\d+)?", name)]
    return sum(bodies[name] for name in own) + sum(bodies[name] for name in called)


def peak_flops(lanes: int = LANES, chains: int = 12) -> float:
    """Flops per second of independent fused multiplications and additions on one core."""
    vector = f"<{lanes} x double>"
    lines = [f"define void @peak(i64 %n, ptr %out) {{\nstart:\n  %a = load {vector}, ptr %out"]
    lines += ["  br label %rows\nrows:", "  %i = phi i64 [ 0, %start ], [ %next, %rows ]"]
    for k in range(chains):
        lines.append(f"  %s{k} = phi {vector} [ %a, %start ], [ %t{k}, %rows ]")
    for k in range(chains):
        given = ", ".join(f"{vector} {name}" for name in (f"%s{k}", "%a", "%a"))
        lines.append(f"  %t{k} = call {vector} @llvm.fma.v{lanes}f64({given})")
    lines += ["  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %n"]
    lines += ["  br i1 %more, label %rows, label %done\ndone:"]
    for k in range(chains):
        lines.append(f"  %o{k} = getelementptr {vector}, ptr %out, i64 {k}")
        lines.append(f"  store {vector} %t{k}, ptr %o{k}")
    lines.append("  ret void\n}")
    lines.append(f"declare {vector} @llvm.fma.v{lanes}f64({vector}, {vector}, {vector})\n")
    engine = machine_code("\n".join(lines))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(
        engine.get_function_address("peak")
    )
    memory = np.zeros((chains + 1) * lanes + 8)
    aligned = memory[(-memory.ctypes.data // 8) % 8 :]
    times = 100_000
    seconds = shortest({"peak": lambda: function(times, aligned.ctypes.data)}, rounds=ROUNDS)
    return 2.0 * lanes * chains * times / seconds["peak"]


def measure_model(name: str, peak: float) -> tuple[list[Measure], dict[str, float], dict]:
    """Measures, seconds and differences of one model."""
    start, duration = RUNS[name]
    equations = ns.derive(ns.load(name))
    system, folded = ns.compile(equations), ns.compile(equations, fold=True)
    states = starts_of(system, start)
    loops: dict[str, Callable[[], object]] = {
        "scalar loop": scalar_calls(system, states, duration),
        "batch, 1 lane": batch_call(system, states, duration, 1),
        "batch, 8 lanes": batch_call(system, states, duration, LANES),
        "batch, 8 lanes, folded": batch_call(folded, states, duration, LANES),
    }
    ends = {key: np.array(call()) for key, call in loops.items()}
    right = ends["scalar loop"]
    scale = np.maximum(1.0, np.max(np.abs(right), axis=1, keepdims=True))
    apart = {key: float(np.max(np.abs(end - right) / scale)) for key, end in ends.items()}
    calls, programs, difference = rates_calls(system, folded)
    del calls["keep"]
    seconds = shortest(loops, rounds=ROUNDS, clock=time.process_time)
    seconds |= shortest(calls, rounds=ROUNDS)
    per_run = {key: seconds[key] / COUNT for key in loops}
    per_row = {key: seconds[key] / NUM_ROWS for key in calls}

    worst = max(apart.values())
    doubt = "" if worst <= SAME else f"ends differ by {worst:.1e}"
    flops = num_flops(programs["kept"])
    share = flops / per_row["wide, kept"] / peak
    measures = [
        Measure(
            what=f"batch of {name}: 8 lanes against the loop of simulate",
            value=per_run["scalar loop"] / per_run["batch, 8 lanes"],
            at_least=3.0,
            not_counted=doubt,
        ),
        Measure(
            what=f"batch of {name}: 8 lanes against 1 lane",
            value=per_run["batch, 1 lane"] / per_run["batch, 8 lanes"],
            at_least=3.0,
            not_counted=doubt,
        ),
        Measure(
            what=f"right-hand side of {name}: 8 lanes against scalar code",
            value=per_row["scalar, kept"] / per_row["wide, kept"],
        ),
        Measure(
            what=f"right-hand side of {name} in 8 lanes, share of the machine's limit",
            value=100.0 * share,
            unit="%",
        ),
        Measure(
            what=f"batch of {name}: parameters folded against kept",
            value=per_run["batch, 8 lanes"] / per_run["batch, 8 lanes, folded"],
            not_counted=doubt,
        ),
    ]
    for width in ("scalar", "wide"):
        fewer = 1 - programs["folded"].num_operations / programs["kept"].num_operations
        measures.append(
            Measure(
                what=f"right-hand side of {name}, {width}: folded ({100 * fewer:.0f} % fewer "
                "operations) against kept",
                value=per_row[f"{width}, kept"] / per_row[f"{width}, folded"],
            )
        )
    timings = {f"{name}: {key}, a run": s for key, s in per_run.items()}
    timings |= {f"{name}: {key}, a row": s for key, s in per_row.items()}
    checks = {f"{name}: {key}": d for key, d in apart.items()}
    checks |= {f"{name}: right-hand sides": difference, f"{name}: flops": float(flops)}
    return measures, timings, checks


def whole_call(name: str, count: int = 4000) -> tuple[Measure, dict[str, float]]:
    """One call of `simulate_batch`, starts completed, against calls of `simulate`, per core."""
    start, _ = RUNS[name]
    system = ns.compile(ns.derive(ns.load(name)))
    rng = np.random.default_rng(2)
    starts = {n: v * (1.0 + 0.02 * rng.normal(size=count)) for n, v in start.items()}
    seconds = {"batch": np.inf, "simulate": np.inf}
    for _ in range(3):
        began = time.process_time()
        ns.simulate_batch(system, duration=10.0, start=starts, threads=1)
        seconds["batch"] = min(seconds["batch"], (time.process_time() - began) / count)
        began = time.process_time()
        for k in range(20):
            one = {n: float(v[k]) for n, v in starts.items()}
            ns.simulate(system, duration=10.0, start=one, samples=[10.0])
        seconds["simulate"] = min(seconds["simulate"], (time.process_time() - began) / 20)
    measure = Measure(
        what=f"{count} runs of {name}, 10 s each: one call of simulate_batch against simulate",
        value=seconds["simulate"] / seconds["batch"],
    )
    return measure, {f"{name}: {key}, whole call": s for key, s in seconds.items()}


def main() -> None:
    peak = peak_flops()
    measures = [Measure(what="fused operations in 8 lanes", value=peak / 1e9, unit="Gflop/s")]
    timings: dict[str, float] = {}
    checks: dict[str, float] = {}
    for name in RUNS:
        lines, seconds, differences = measure_model(name, peak)
        measures += lines
        timings |= seconds
        checks |= differences
    line, seconds = whole_call("rolling-disk")
    leave("batch", [*measures, line], timings | seconds, checks=checks)


if __name__ == "__main__":
    main()
