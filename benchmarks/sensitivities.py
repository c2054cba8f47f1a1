"""What derivatives of a simulation cost: adjoint and forward, against one run and differences.

A number at the end of a motion is differentiated by all parameters of a model, and by the values of
a table. The gradient takes one run and one way back, whatever the number of derivatives; central
differences take two runs for each. All run at the same tolerance, after tracing and compiling, with
parameters that differ from call to call, as an optimization calls them, and from a start that is
completed each time. Every gradient is compared with one at 1e-13, and so are the differences, whose
steps are those that serve them best.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest

TOLERANCE = 1e-9
SHARP = 1e-13
AGREEMENT = 1e-6  # relative, gradient against the sharp one
ROUNDS = 6
TURN = 0.2
STEPS = (1e-3, 1e-4, 1e-5)  # of differences, relative
TABLES = (10, 1000)
LONG = 30


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    model: str
    number: str
    duration: float
    start: dict[str, float]
    inputs: dict[str, Any] = field(default_factory=dict)

    def arguments(self, tolerance: float) -> dict[str, Any]:
        return {
            "duration": self.duration,
            "start": self.start,
            "inputs": self.inputs,
            "rtol": tolerance,
            "atol": tolerance,
        }


CASES = (
    Case(
        name="rolling disk, 10 s",
        model="rolling-disk",
        number="disk.x",
        duration=10.0,
        start={"disk.tilt": 1.1, "disk.yaw_rate": 0.5, "disk.spin_rate": -4.0},
    ),
    Case(
        name="vehicle, 10 s",
        model="agv",
        number="platform.x",
        duration=10.0,
        start={"wheel1.rate": -5.0, "wheel2.rate": -8.0, "bracket.angle": 0.4},
        inputs={"torque1": 0.02, "torque2": -0.01},
    ),
    Case(
        name="bicycle, 5 s",
        model="whipple-bicycle",
        number="frame.y",
        duration=5.0,
        start={"speed": 4.6, "frame.wx": 0.1},
    ),
)


def value(case: Case, system: ns.System, parameters: dict[str, float]) -> float:
    run = ns.simulate(system, samples=2, parameters=parameters, **case.arguments(TOLERANCE))
    return float(run[case.number][-1])


def points(system: ns.System) -> Iterator[dict[str, float]]:
    """Parameters that are new each time, though by next to nothing."""
    nominal = system.model.parameter_values()
    for k in itertools.count(1):
        yield {name: x * (1 + 1e-12 * k) for name, x in nominal.items()}


def differences(
    case: Case, system: ns.System, nominal: dict[str, float], names: list[str], step: float
) -> np.ndarray:
    """Central differences by all parameters."""
    columns = []
    for name in names:
        h = step * (abs(nominal[name]) or 1.0)
        moved = [{**nominal, name: nominal[name] + sign * h} for sign in (1, -1)]
        ends = [value(case, system, parameters) for parameters in moved]
        columns.append((ends[0] - ends[1]) / (2 * h))
    return np.array(columns)


def off(found: np.ndarray, exact: np.ndarray, sizes: np.ndarray) -> float:
    """Largest error of the change that 100 % of a parameter would make, relative."""
    return float(np.max(np.abs(found - exact) * sizes) / np.max(np.abs(exact) * sizes))


def measure_case(case: Case) -> tuple[list[Measure], dict[str, float], dict[str, float]]:
    system = ns.compile(ns.derive(ns.load(case.model)))
    nominal = system.model.parameter_values()
    names = list(nominal)
    sizes = np.array([abs(nominal[name]) or 1.0 for name in names])

    point = points(system)

    def gradient(tolerance: float, by: list[str]) -> np.ndarray:
        options = {**case.arguments(tolerance), "parameters": next(point)}
        return ns.gradient(system, with_respect_to=by, terminal=case.number, **options).vector

    def forward(by: list[str]) -> np.ndarray:
        options = {**case.arguments(TOLERANCE), "parameters": next(point)}
        found = ns.simulate_sensitivities(system, with_respect_to=by, samples=2, **options)
        return found[case.number][-1]

    exact = gradient(SHARP, names)
    errors = {f"differences, step {h:g}": 0.0 for h in STEPS}
    for h in STEPS:
        errors[f"differences, step {h:g}"] = off(
            differences(case, system, nominal, names, h), exact, sizes
        )
    errors["gradient"] = off(gradient(TOLERANCE, names), exact, sizes)
    errors["forward"] = off(forward(names), exact, sizes)
    least = min(errors[f"differences, step {h:g}"] for h in STEPS)
    calls: dict[str, Callable[[], object]] = {
        "one run": lambda: value(case, system, next(point)),
        "gradient": lambda: gradient(TOLERANCE, names),
        "gradient by one": lambda: gradient(TOLERANCE, names[:1]),
        "forward": lambda: forward(names),
        "differences": lambda: differences(case, system, next(point), names, STEPS[0]),
    }
    seconds = shortest(calls, rounds=ROUNDS, turn=TURN)
    reason = "" if errors["gradient"] <= AGREEMENT else f"off by {errors['gradient']:.1e}"
    count = f"{case.name}, {len(names)} parameters"
    one = seconds["one run"]
    measures = [
        Measure(what=f"{count}: gradient", value=seconds["gradient"] / one, unit="runs"),
        Measure(
            what=f"{count}: gradient by one parameter alone",
            value=seconds["gradient by one"] / one,
            unit="runs",
        ),
        Measure(
            what=f"{count}: forward sensitivities", value=seconds["forward"] / one, unit="runs"
        ),
        Measure(
            what=f"{count}: gradient against central differences",
            value=seconds["differences"] / seconds["gradient"],
            not_counted=reason,
        ),
        Measure(what=f"{count}: error of the gradient", value=errors["gradient"], unit="relative"),
        Measure(what=f"{count}: error of differences", value=least, unit="relative"),
    ]
    return measures, seconds, errors


def measure_long(case: Case) -> tuple[list[Measure], dict[str, float]]:
    """The same over a time so long that fixed costs of a call do not weigh: native code alone."""
    system = ns.compile(ns.derive(ns.load(case.model)))
    options = {**case.arguments(TOLERANCE), "duration": LONG * case.duration}
    names = [p.name for p in system.model.parameters]

    def gradient() -> object:
        return ns.gradient(system, with_respect_to=names, terminal=case.number, **options)

    def forward() -> object:
        return ns.simulate_sensitivities(system, with_respect_to=names[:1], samples=2, **options)

    calls = {
        "one long run": lambda: ns.simulate(system, samples=2, **options),
        "gradient of a long run": gradient,
        "forward by one, long run": forward,
    }
    seconds = shortest(calls, rounds=ROUNDS, turn=TURN)
    one = seconds["one long run"]
    what = f"{case.model}, {LONG * case.duration:g} s"
    measures = [
        Measure(
            what=f"{what}: gradient by {len(names)} parameters",
            value=seconds["gradient of a long run"] / one,
            unit="runs",
        ),
        Measure(
            what=f"{what}: forward sensitivities by one parameter",
            value=seconds["forward by one, long run"] / one,
            unit="runs",
        ),
    ]
    return measures, seconds


def measure_tables() -> tuple[list[Measure], dict[str, float], dict[str, float]]:
    """The gradient by the values of a table, few and many, against runs with the same tables."""
    case = CASES[1]
    system = ns.compile(ns.derive(ns.load(case.model)))
    calls: dict[str, Callable[[], object]] = {}
    sums = {}
    for count in TABLES:
        times = np.linspace(0.0, case.duration, count)
        table = ns.Table(times=times, values=np.full(count, 0.02), kind="linear")
        options = {**case.arguments(TOLERANCE), "inputs": {**case.inputs, "torque1": table}}

        def gradient(options: dict[str, Any] = options) -> ns.results.Gradient:
            return ns.gradient(system, with_respect_to=["torque1"], terminal=case.number, **options)

        calls[f"gradient by {count} values"] = gradient
        calls[f"one run with {count} values"] = lambda options=options: ns.simulate(
            system, samples=2, **options
        )
        sums[f"sum of derivatives by {count} values"] = float(np.sum(gradient()["torque1"]))
    seconds = shortest(calls, rounds=ROUNDS, turn=TURN)
    few, many = sums.values()
    reason = "" if abs(few - many) <= AGREEMENT * abs(many) else "the sums differ"
    measures = [
        Measure(
            what=f"vehicle, 10 s: gradient by {count} values of a table",
            value=seconds[f"gradient by {count} values"] / seconds[f"one run with {count} values"],
            unit="runs",
            not_counted=reason,
        )
        for count in TABLES
    ]
    return measures, seconds, sums


def main() -> None:
    measures, timings, checks = [], {}, {}
    for case in CASES:
        lines, seconds, errors = measure_case(case)
        more, long = measure_long(case)
        measures += lines + more
        timings |= {f"{case.name}: {name}": s for name, s in (seconds | long).items()}
        checks |= {f"{case.name}: {name}": e for name, e in errors.items()}
    lines, seconds, sums = measure_tables()
    leave(
        "sensitivities",
        [*measures, *lines],
        timings | {f"vehicle: {name}": s for name, s in seconds.items()},
        checks=checks | sums,
    )


if __name__ == "__main__":
    main()
