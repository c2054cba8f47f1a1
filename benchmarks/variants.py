"""Batches of everything but runs, against the single calls in a loop.

Each call gets lists of states and parameters; the loop makes some of the same single calls, whose
results are compared with those of the batch before a time counts. Ratios are of the time for one
variant. All cores work on a batch; a single call has one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import noslip as ns
from measuring import Measure, leave, shortest
from noslip.engines.cuda_driver import cuda_device

SINGLE = 20  # calls of the loop
ROUNDS = 3
SPEEDS = 36
SAME = 1e-7  # relative, of numbers of both
#: What was measured and compared, for the record.
TIMINGS: dict[str, float] = {}
CHECKS: dict[str, float] = {}


def one(values: dict[str, Any], k: int) -> dict[str, float]:
    """Numbers of one variant."""
    return {name: float(v if np.ndim(v) == 0 else v[k]) for name, v in values.items()}


def compared(
    what: str,
    count: int,
    many: Callable[..., Any],
    single: Callable[[int], Any],
    numbers: Callable[[Any], np.ndarray],
    at_least: float | None = None,
) -> Measure:
    """How many times as fast a batch is, for one variant."""
    found, off = many(), 0.0
    for k in range(SINGLE):
        a, b = numbers(found[k]), numbers(single(k))
        off = max(off, float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b))))))
    least = shortest(
        {"many": many, "single": lambda: [single(k) for k in range(SINGLE)]}, rounds=ROUNDS
    )
    ratio = (least["single"] / SINGLE) / (least["many"] / count)
    note = "" if off <= SAME else f"results differ by {off:.1e}"
    TIMINGS[f"{what}, one of many"] = least["many"] / count
    TIMINGS[f"{what}, single call"] = least["single"] / SINGLE
    CHECKS[what] = off
    return Measure(what=what, value=ratio, at_least=at_least, not_counted=note)


def on_card(what: str, many: Callable[..., Any], numbers: Callable[[Any], np.ndarray]) -> Measure:
    """How many times as fast a batch is on a card as in lanes on all cores."""
    lanes, card = (numbers(many(device=device)) for device in ("cpu", "cuda"))
    off = float(np.max(np.abs(card - lanes)) / max(1.0, float(np.max(np.abs(lanes)))))
    least = shortest(
        {device: functools.partial(many, device=device) for device in ("cpu", "cuda")},
        rounds=ROUNDS,
    )
    note = "" if off <= SAME else f"results differ by {off:.1e}"
    return Measure(what=what, value=least["cpu"] / least["cuda"], not_counted=note)


def has_card() -> bool:
    """Whether there is a card of NVIDIA's."""
    try:
        return bool(cuda_device())
    except ns.DeviceError:
        return False


def main() -> None:
    rng = np.random.default_rng(1)
    bicycle = ns.compile(ns.derive(ns.load("whipple-bicycle")))
    car = ns.compile(ns.derive(ns.load("agv")))
    sleigh = ns.compile(ns.derive(ns.load("chaplygin-sleigh")))
    n = 4000
    leaning = {"frame.lean": rng.uniform(-0.3, 0.3, n), "speed": rng.uniform(3.0, 6.0, n)}
    few = {name: x[:1000] for name, x in leaning.items()}
    masses = {"mB": rng.uniform(80.0, 90.0, n)}
    rolling = {"wheel1.rate": rng.uniform(-8.0, -4.0, n), "wheel2.rate": -5.0}
    rates = {s.name: rng.uniform(-1.0, 1.0, n) for s in car.independent_speeds}
    begun = {"sleigh.vx": rng.uniform(0.5, 2.0, 1000), "sleigh.rate": rng.uniform(0.2, 1.0, 1000)}
    mass = {"m": rng.uniform(0.8, 1.5, 1000)}
    number: dict[str, Any] = {
        "with_respect_to": ["m", "sleigh.rate"],
        "duration": 10.0,
        "terminal": "sleigh.x",
    }
    followed: dict[str, Any] = {"with_respect_to": ["m"], "duration": 10.0, "samples": 11}
    measures = [
        compared(
            "evaluate, bicycle",
            n,
            lambda **on: ns.evaluate_batch(bicycle, leaning, parameters=masses, **on),
            lambda k: ns.evaluate(bicycle, one(leaning, k), parameters=one(masses, k)),
            lambda found: np.array(list(found.accelerations.values())),
        ),
        compared(
            "inverse dynamics, vehicle",
            n,
            lambda **on: ns.inverse_dynamics_batch(car, rolling, rates, **on),
            lambda k: ns.inverse_dynamics(car, one(rolling, k), one(rates, k)),
            lambda found: np.array(list(found.inputs.values())),
        ),
        compared(
            "no-slip audit of a state, vehicle",
            n,
            lambda: ns.audit_batch(car, rolling, friction=0.5),
            lambda k: ns.audit_batch(car, one(rolling, k), friction=0.5)[0],
            lambda found: found.required,
        ),
        compared(
            "steady turns, bicycle",
            1000,
            lambda **on: ns.steady_batch(bicycle, few, find=["steer_torque"], **on),
            lambda k: ns.steady(bicycle, one(few, k), find=["steer_torque"]),
            lambda found: np.array(list(found.values.values())),
        ),
        compared(
            "gradient of a motion of 10 s, sleigh",
            1000,
            lambda: ns.gradient_batch(sleigh, start=begun, parameters=mass, **number),
            lambda k: ns.gradient(sleigh, start=one(begun, k), parameters=one(mass, k), **number),
            lambda found: found.vector,
            at_least=5.0,
        ),
    ]
    sensed = ns.simulate_sensitivities_batch(sleigh, start=begun, parameters=mass, **followed)
    alone = ns.simulate_sensitivities(
        sleigh, start=one(begun, 0), parameters=one(mass, 0), **followed
    )
    off = float(np.max(np.abs(sensed["sleigh.x", "m"][0] - alone["sleigh.x", "m"])))
    least = shortest(
        {
            "many": lambda: ns.simulate_sensitivities_batch(
                sleigh, start=begun, parameters=mass, **followed
            ),
            "single": lambda: [
                ns.simulate_sensitivities(
                    sleigh, start=one(begun, k), parameters=one(mass, k), **followed
                )
                for k in range(SINGLE)
            ],
        },
        rounds=ROUNDS,
    )
    measures.append(
        Measure(
            what="sensitivities of a motion of 10 s, sleigh",
            value=least["single"] / SINGLE / (least["many"] / 1000),
            not_counted="" if off < SAME else f"results differ by {off:.1e}",
        )
    )
    measures.append(_eigenvalues(bicycle, rng))
    left_out = []
    if has_card():
        measures += [
            on_card(
                "evaluate on a GPU against lanes, bicycle",
                lambda **on: ns.evaluate_batch(bicycle, leaning, parameters=masses, **on),
                lambda found: np.column_stack(list(found.accelerations.values())),
            ),
            on_card(
                "eigenvalues on a GPU against lanes, bicycle",
                lambda **on: ns.linearize_batch(bicycle, {"speed": leaning["speed"]}, **on),
                lambda found: np.abs(found.eigenvalues),
            ),
            on_card(
                "sensitivities on a GPU against all cores, sleigh",
                lambda **on: ns.simulate_sensitivities_batch(
                    sleigh, start=begun, parameters=mass, **followed, **on
                ),
                lambda found: found["sleigh.x", "m"],
            ),
        ]
    else:
        left_out = ["the same on a GPU: there is none on this machine"]
    leave("variants", measures, TIMINGS, checks=CHECKS, left_out=left_out)


def _eigenvalues(bicycle: ns.System, rng: np.random.Generator) -> Measure:
    """Minutes that 100 000 bicycles over 36 speeds take, from 1000 of them."""
    shapes = 1000
    speeds = np.tile(np.linspace(0.5, 9.5, SPEEDS), shapes)
    names = [p.name for p in bicycle.model.parameters]
    nominal = bicycle.parameters()
    parameters = {
        name: np.repeat(nominal[names.index(name)] * rng.uniform(0.9, 1.1, shapes), SPEEDS)
        for name in ("mB", "mR", "w", "xB")
    }
    found = ns.linearize_batch(bicycle, {"speed": speeds}, parameters=parameters)
    alone = ns.linearize(bicycle, {"speed": speeds[5]}, parameters=one(parameters, 5))
    a, b = (np.sort_complex(e) for e in (found.eigenvalues[5], alone.eigenvalues))
    note = "" if np.allclose(a, b, rtol=SAME, atol=SAME) else "eigenvalues differ"
    least = shortest(
        {
            "many": lambda: ns.linearize_batch(bicycle, {"speed": speeds}, parameters=parameters),
        },
        rounds=ROUNDS,
    )
    return Measure(
        what="eigenvalues of 100 000 bicycles over 36 speeds",
        value=least["many"] * (100_000 / shapes) / 60.0,
        unit="min",
        below=1.0,
        not_counted=note,
    )


if __name__ == "__main__":
    main()
