"""Where the time of a call of `simulate` goes: start, set-up, right-hand sides, steps, samples.

Differences of whole calls, each the least of many: a call that completes its start and one that is
given it, a run of no length, a run with its two ends only, and one with samples. Within the loop,
the evaluations that the run counts at the price of one in a plain loop are told from the rest:
combining stages, error norms, projections.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest
from noslip.engines.native import CALL_ROWS

DURATION, NOTHING = 10.0, 1e-9  # s
TOLERANCE = 1e-9
SAMPLES = 101
ROWS = 500
ROUNDS = 30
STARTS: dict[str, dict[str, float]] = {
    "rolling-disk": {
        **{"disk.yaw": 0.0, "disk.tilt": 1.4, "disk.spin": 0.0, "disk.x": 0.0, "disk.y": 0.0},
        **{"disk.yaw_rate": 0.3, "disk.tilt_rate": 0.1, "disk.spin_rate": -8.0},
    },
    "agv": {"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4},
    "whipple-bicycle": {"speed": 4.6, "frame.wx": 0.5},
}


def calls_of(system: ns.System, start: dict[str, float]) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    begin = ns.complete_start(system, start)

    def run(given: object, duration: float, samples: int) -> ns.Trajectory:
        options = {"samples": samples, "rtol": TOLERANCE, "atol": TOLERANCE}
        return ns.simulate(system, start=given, duration=duration, **options)

    extra = np.zeros(system.num_states - len(begin.q) - len(begin.eta))
    state = np.concatenate([begin.q, begin.eta, extra])
    rows = (np.zeros(ROWS), np.tile(state, (ROWS, 1)), np.zeros((ROWS, len(system.inputs))))
    out = np.zeros((ROWS, system.rates.output_size))
    loop = CALL_ROWS(system.rates.rows_address)
    addresses = [table.ctypes.data for table in (*rows, system.parameters())]
    return {
        "completing": lambda: ns.complete_start(system, start),
        "nothing": lambda: run(begin, NOTHING, 2),
        "ends": lambda: run(begin, DURATION, 2),
        "samples": lambda: run(begin, DURATION, SAMPLES),
        "whole": lambda: run(start, DURATION, SAMPLES),
        "rows": lambda: loop(ROWS, *addresses, 0, out.ctypes.data),
        "keep": lambda: (rows, out),
    }


def measure_model(name: str) -> tuple[list[Measure], dict[str, float], dict[str, float]]:
    """Measures, seconds and what the runs took."""
    system = ns.compile(ns.derive(ns.load(name)))
    calls = calls_of(system, STARTS[name])
    ends, sampled = calls["ends"](), calls["samples"]()
    apart = float(np.max(np.abs(ends.q[-1] - sampled.q[-1])))
    wrong = "" if apart == 0.0 else f"runs with and without samples end {apart:.1e} apart"
    seconds = shortest(calls, rounds=ROUNDS, turn=0.01)
    row = seconds["rows"] / ROWS
    inside = seconds["ends"] - seconds["nothing"]
    evaluations = ends.nfev * row
    lines = {
        "whole call with its start to complete": seconds["whole"],
        "  completing the start": seconds["completing"],
        "  arguments, memory, set-up and results": seconds["nothing"],
        f"  {ends.nfev} right-hand sides": evaluations,
        f"  the rest of {ends.steps} steps": inside - evaluations,
        f"  {SAMPLES - 2} more samples": seconds["samples"] - seconds["ends"],
    }
    measures = [
        Measure(what=f"{name}, {DURATION:g} s: {what}", value=1e6 * s, unit="µs", not_counted=wrong)
        for what, s in lines.items()
    ]
    timings = {f"{name}: {key}": s for key, s in seconds.items() if key != "keep"}
    counts = {"evaluations, ends": ends.nfev, "evaluations, samples": sampled.nfev}
    return measures, timings, {f"{name}: {key}": float(n) for key, n in counts.items()}


def main() -> None:
    measures: list[Measure] = []
    timings: dict[str, float] = {}
    checks: dict[str, float] = {}
    for name in STARTS:
        lines, seconds, counts = measure_model(name)
        measures += lines
        timings |= seconds
        checks |= counts
    leave("call_time", measures, timings, checks=checks)


if __name__ == "__main__":
    main()
