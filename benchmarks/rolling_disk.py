"""Ten seconds of the rolling disk: `noslip.simulate` against SciPy on a lambdified right-hand side.

Both use DOP853 with the same tolerances, from a state that fits together; one line has `simulate`
complete its start as well. SciPy's right-hand side is what KanesMethod leads to, the mass matrix
and the forcing lambdified and solved in each call; and, harder to beat, the accelerations solved
and simplified in symbols once, which the diagonal mass matrix of a well chosen frame allows here.

SciPy integrates Euler angles that a person chose for this mechanism; noslip integrates quaternions,
projects every step on the ground, and takes more steps where the disk spins fast. So the error of
each is measured too, against a run at 1e-13 that SciPy confirms, and one line compares times where
the error of noslip is no larger.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

import noslip as ns
from kane_disk import CONTACT, PARAMETERS, Rates, derive_disk, start_state
from measuring import Measure, leave, shortest
from noslip.simulation.native_run import NativeLoop, NativeResult

DURATION = 10.0
REFERENCE_TOLERANCE = 1e-13
TIGHTER = (1e-9, 1e-10, 1e-11, 1e-12, 1e-13)
AGREEMENT = 1e-6  # m, between the contact points at the end
ROUNDS = 8
TURN = 0.15  # s
SAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How the disk starts, its contact point at the origin."""

    name: str
    tilt: float
    yaw_rate: float
    tilt_rate: float
    spin_rate: float
    tolerance: float

    def scipy_start(self) -> np.ndarray:
        return start_state(self.tilt, self.yaw_rate, self.tilt_rate, self.spin_rate)

    def start(self, radius: float) -> dict[str, float]:
        rates = ("yaw_rate", "tilt_rate", "spin_rate")
        return {
            **{f"disk.{rate}": getattr(self, rate) for rate in rates},
            **{"disk.yaw": 0.0, "disk.tilt": self.tilt, "disk.spin": 0.0},
            **{"disk.x": 0.0, "disk.y": radius * np.cos(self.tilt)},
        }


# the scenario in the library, and a disk that wobbles nearly flat
CASES = (
    Case(
        name="rolling disk", tilt=1.4, yaw_rate=0.3, tilt_rate=0.1, spin_rate=-8.0, tolerance=1e-9
    ),
    Case(
        name="flat disk", tilt=0.2, yaw_rate=19.5, tilt_rate=0.2, spin_rate=-19.0, tolerance=1e-10
    ),
)


def simulate(
    system: ns.System, start: dict[str, float] | ns.Start, tolerance: float
) -> ns.Trajectory:
    options = {"duration": DURATION, "samples": SAMPLES, "rtol": tolerance, "atol": tolerance}
    return ns.simulate(system, start=start, **options)


def contact(run: ns.Trajectory) -> np.ndarray:
    """Contact point at the end, (x, y)."""
    return np.array([run["rim.contact_x"][-1], run["rim.contact_y"][-1]])


def scipy_run(rates: Rates, start: np.ndarray, tolerance: float) -> object:
    span = (0.0, DURATION)
    return solve_ivp(rates, span, start, method="DOP853", rtol=tolerance, atol=tolerance)


def distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


def as_exact(
    system: ns.System, start: dict[str, float], reference: np.ndarray, error: float
) -> tuple[float, np.ndarray]:
    """The loosest tolerance whose error is no larger than the given one, and where it ends."""
    for tolerance in TIGHTER:
        end = contact(simulate(system, start, tolerance))
        if distance(end, reference) <= error:
            break
    return tolerance, end


def native_call(
    system: ns.System, start: dict[str, float], tolerance: float
) -> Callable[[], NativeResult]:
    """What `simulate` does in the native loop."""
    begin = ns.complete_start(system, start)
    state = np.concatenate([begin.q, begin.eta])
    loop = NativeLoop(
        rates=system.rates,
        project=system.projection,
        floors=np.array([health.floor for health in system.singularity_measures]),
    )
    return lambda: loop.begin(
        parameters=system.parameters(),
        start_time=0.0,
        end_time=DURATION,
        start_state=state,
        sample_times=np.linspace(0.0, DURATION, SAMPLES),
        relative_tolerance=tolerance,
        absolute_tolerance=np.full(len(state), tolerance),
    ).go()


def measure_case(
    case: Case, system: ns.System, baselines: dict[str, Rates]
) -> tuple[list[Measure], dict[str, float], dict[str, float]]:
    """Measures, least times and errors (m) of one start."""
    start, y0 = case.start(system.model.parameter_values()["r"]), case.scipy_start()
    tolerance = case.tolerance
    begin, native = ns.complete_start(system, start), native_call(system, start, tolerance)
    reference = contact(simulate(system, start, REFERENCE_TOLERANCE))
    first, *others = baselines

    # every answer, before any time is taken
    run = simulate(system, start, tolerance)
    if not np.array_equal(native().states[:, : run.q.shape[1]], run.q):
        raise RuntimeError("the native run alone differs from what simulate() runs")
    ends = {k: scipy_run(rates, y0, tolerance).y[CONTACT, -1] for k, rates in baselines.items()}
    confirmed = scipy_run(baselines[first], y0, REFERENCE_TOLERANCE).y[CONTACT, -1]
    tight, tight_end = as_exact(system, start, reference, distance(ends[first], reference))

    calls: dict[str, Callable[[], object]] = {
        "simulate()": lambda: simulate(system, begin, tolerance),
        "simulate() that completes its start": lambda: simulate(system, start, tolerance),
        "its native run alone": native,
        f"simulate() at {tight:.0e} (error no larger)": lambda: simulate(system, begin, tight),
    }
    ours = list(calls)
    ends |= dict.fromkeys(ours[:3], contact(run)) | {ours[3]: tight_end}
    for name, rates in baselines.items():
        calls[name] = lambda rates=rates: scipy_run(rates, y0, tolerance)
    # processor time: a run of SciPy is too long to meet a moment without other work on the machine
    seconds = shortest(calls, rounds=ROUNDS, turn=TURN, clock=time.process_time)

    pairs = [(name, first) for name in ours] + [(ours[0], name) for name in others]
    measures = []
    for name, other in pairs:
        apart = max(distance(ends[name], ends[other]), distance(confirmed, reference))
        measures.append(
            Measure(
                what=f"{case.name}: {name} against {other}",
                value=seconds[other] / seconds[name],
                at_least=100.0 if (name, other) == (ours[0], first) else None,
                not_counted="" if apart <= AGREEMENT else f"ends are {apart:.1e} m apart",
            )
        )
    errors = {name: distance(end, reference) for name, end in ends.items()}
    errors["SciPy at 1e-13"] = distance(confirmed, reference)
    for name in (ours[0], ours[3], first, "SciPy at 1e-13"):
        what = f"{case.name}: error of {name}"
        measures.append(Measure(what=what, value=errors[name], unit="m"))
    return measures, seconds, errors


def main() -> None:
    system = ns.compile(ns.derive(ns.load("rolling-disk")))
    nominal = system.model.parameter_values()
    values = tuple(nominal[name] for name in PARAMETERS)
    disk = derive_disk()
    baselines = {
        "SciPy": disk.solving(values),
        "SciPy, solved and simplified in symbols": disk.solved(values, "numpy"),
        "SciPy, the same with math for NumPy": disk.solved(values, "math"),
    }
    measures, timings, checks = [], {}, {}
    for case in CASES:
        lines, seconds, errors = measure_case(case, system, baselines)
        measures += lines
        timings |= {f"{case.name}: {name}": s for name, s in seconds.items()}
        checks |= {f"{case.name}: {name}": e for name, e in errors.items()}
    leave("rolling_disk", measures, timings, checks=checks)


if __name__ == "__main__":
    main()
