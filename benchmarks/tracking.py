"""A minute of the guided vehicle on a circle: what feedback costs, and what a sample costs.

The axle's middle goes once round a circle of 2 m in 60 s, from rest to rest. Open loop, the torques
of inverse dynamics drive it; closed loop, a controller compares the pose with the same reference.
Both carry the reference as states and run natively. A controller can make a run longer in two ways:
by its law, which is evaluated each time, and by its gains, which call for shorter steps; the lines
on steps and evaluations tell them apart. A sampled controller ends a step at every look at the
state.

The runs alone are compared, from the same start to the same end; tracing and compiling the law is
in the lines that say track(). Every end is compared with that of a run at 1e-12.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest
from noslip.control.closed_loop import Tracking
from noslip.control.computed_torque import ComputedTorque
from noslip.control.controlled_runs import track
from noslip.control.curves import Circle
from noslip.control.path_motion import PathMotion
from noslip.control.path_tracking import PoseTracking
from noslip.control.reference_motion import start_on_motion
from noslip.control.timing_laws import Quintic
from noslip.simulation.inputs import AbstractInputLaw, InputPlan, plan_inputs
from noslip.simulation.native_run import NativeLoop, NativeResult

DURATION = 60.0
TOLERANCE = 1e-9
SAMPLES = 3
PERIODS = (0.1, 0.02, 0.005)  # s
AGREEMENT = 1e-6  # m or rad, continuous laws against the reference at the end
HELD = 1e-3  # m or rad, laws that hold their inputs
ROUNDS = 8
TURN = 0.15  # s
OPEN, POSE, TORQUE = "open loop", "PoseTracking", "ComputedTorque"

FRAME = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
PATH, TIMING = Circle(radius=2.0), Quintic(DURATION)
CONTROLLERS = {POSE: PoseTracking(**FRAME), TORQUE: ComputedTorque(kp=4.0, kd=4.0)}


def laws(system: ns.System) -> tuple[dict[str, AbstractInputLaw], ns.Start]:
    """Every law that is measured, by name, and the start on the path."""
    motion = PathMotion(path=PATH, timing=TIMING, **FRAME)
    follow = ns.motions.FollowMotion(
        motion=motion, reference_start=np.zeros(len(system.coordinates))
    )
    start = start_on_motion(system, follow, {}, system.parameters())
    found: dict[str, AbstractInputLaw] = {
        OPEN: dataclasses.replace(follow, reference_start=start.q)
    }
    for name, controller in CONTROLLERS.items():
        found[name] = Tracking(
            motion=motion, controller=controller, reference_start=start.q, limits={}
        )
    for period in PERIODS:
        found[sampled(period)] = dataclasses.replace(found[POSE], period=period)
    return found, start


def sampled(period: float) -> str:
    return f"{POSE} every {period:g} s"


def simulate(
    system: ns.System, start: ns.Start, law: AbstractInputLaw, tolerance: float
) -> ns.Trajectory:
    options = {"duration": DURATION, "samples": SAMPLES, "rtol": tolerance, "atol": tolerance}
    return ns.simulate(system, start=start, inputs=law, **options)


def native_call(system: ns.System, start: ns.Start, plan: InputPlan) -> Callable[[], NativeResult]:
    """What `simulate` does in the native loop under a law."""
    states = plan.generator.start
    x = [start.q, start.eta, start.mu, np.zeros(1 if system.does_work else 0)]
    absolute = np.full(system.num_states + len(states), TOLERANCE)
    if system.does_work:
        absolute[system.num_states - 1] = 1e300
    period = plan.generator.period
    looks = np.arange(round(DURATION / period) + 1) * period if plan.update else np.zeros(0)
    loop = NativeLoop(
        rates=system.rates,
        num_generator_states=len(states),
        generator=plan.function,
        update=plan.update,
        update_times=looks,
        num_inputs=len(system.inputs),
        project=system.projection if system.has_projection else None,
        floors=np.array([health.floor for health in system.singularity_measures]),
    )
    return lambda: loop.begin(
        parameters=system.parameters(),
        start_time=0.0,
        end_time=DURATION,
        start_state=np.concatenate([*x, states]),
        sample_times=np.linspace(0.0, DURATION, SAMPLES),
        base_inputs=plan.base,
        generator_parameters=plan.parameters,
        relative_tolerance=TOLERANCE,
        absolute_tolerance=absolute,
    ).go()


def end_error(run: ns.Trajectory) -> float:
    """Largest distance of the base from its reference at the end, m or rad."""
    names = [f"platform.{k}" for k in ("x", "y", "angle")]
    return max(abs(float(run[n][-1] - run[f"reference.{n}"][-1])) for n in names)


def main() -> None:
    system = ns.compile(ns.derive(ns.load("agv")))
    given, start = laws(system)
    compiled = {name: plan_inputs(system, law, system.parameters()) for name, law in given.items()}
    natives = {name: native_call(system, start, plan) for name, plan in compiled.items()}

    # every answer, before any time is taken
    runs = {name: simulate(system, start, law, TOLERANCE) for name, law in given.items()}
    checks, evaluations = {}, {}
    for name, law in given.items():
        result = natives[name]()
        if not np.array_equal(result.states[:, : runs[name].q.shape[1]], runs[name].q):
            raise RuntimeError(f"the native run alone differs from what simulate() runs: {name}")
        evaluations[name] = result.evaluations
        tight = simulate(system, start, law, 1e-12)
        checks[f"{name}: end against 1e-12"] = float(np.max(np.abs(tight.q[-1] - runs[name].q[-1])))
        checks[f"{name}: end against the reference"] = end_error(runs[name])

    calls: dict[str, Callable[[], object]] = {**natives}
    for name, controller in {OPEN: None, **CONTROLLERS}.items():
        calls[f"track(), {name}"] = lambda controller=controller: track(
            system,
            PATH,
            timing=TIMING,
            follower=ns.Follower(**FRAME),
            controller=controller,
            samples=SAMPLES,
        )
    seconds = shortest(calls, rounds=ROUNDS, turn=TURN)

    def reason(name: str) -> str:
        off = checks[f"{name}: end against the reference"]
        tolerance = HELD if name.startswith(f"{POSE} every") else AGREEMENT
        return "" if off <= tolerance else f"{name} ends {off:.1e} m or rad off"

    measures = []
    for name in CONTROLLERS:
        measures.append(
            Measure(
                what=f"AGV circle, 60 s at 1e-9: {name} against {OPEN}",
                value=seconds[name] / seconds[OPEN],
                unit="x longer",
                below=3.0,
                not_counted=reason(name) or reason(OPEN),
            )
        )
        for what, value in (
            ("steps", runs[name].steps / runs[OPEN].steps),
            (
                "track(), tracing and compiling",
                seconds[f"track(), {name}"] / seconds[f"track(), {OPEN}"],
            ),
            (
                "one evaluation",
                seconds[name] / evaluations[name] / (seconds[OPEN] / evaluations[OPEN]),
            ),
        ):
            measures.append(Measure(what=f"AGV circle, {name}: {what}", value=value, unit="x"))
    for period in PERIODS:
        name = sampled(period)
        measures.append(
            Measure(
                what=f"AGV circle, {name}: time for each sample",
                value=1e6 * seconds[name] * period / DURATION,
                unit="µs",
                not_counted=reason(name),
            )
        )
    leave("tracking", measures, seconds, checks=checks)


if __name__ == "__main__":
    main()
