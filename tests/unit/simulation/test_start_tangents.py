"""Derivatives of completed starts, of tree speeds and by time too, against differences."""

import numpy as np
import pytest

from noslip.simulation.sensitivities.start_derivatives import Change, start_tangents
from noslip.simulation.starts.completion import complete_one

#: Fourth-order differences of completions, which are good to rounding, with steps of 1e-3.
DIFFERENCES = 1e-9

#: Model, what is given, parameters.
CASES = {
    "a motion of time": ("shaken-pendulum", {"swing.angle": 0.3}, []),
    "an orientation of time": ("led-pendulum", {}, []),
    "a linkage": ("four-bar", {"crank.angle": 0.4, "crank.rate": 2.0}, ["a", "c"]),
    "all angles": (
        "rolling-disk",
        {"disk.yaw": 0.2, "disk.tilt": 1.1, "disk.spin": 0.4, "disk.spin_rate": -4.0},
        ["r"],
    ),
    "some angles and rates": (
        "whipple-bicycle",
        {"frame.lean": 0.1, "steer.angle": 0.05, "speed": 4.6, "frame.lean_rate": 0.2},
        ["w"],
    ),
    "dependent speeds": ("agv", {"platform.vy": 0.7, "bracket.angle": 0.4}, ["r", "l"]),
    "a quaternion, a tree speed and a place": (
        "rolling-disk",
        {"disk.qw": 0.9, "disk.qx": 0.3, "disk.qy": 0.1, "disk.vx": 0.5, "disk.x": 2.0},
        ["r"],
    ),
    "a basis that fails": (
        "sleigh-on-slides", {"heading.angle": np.pi / 2, "y.speed": 1.2, "heading.rate": 0.3}, [],
    ),
    "speed inputs": ("tractor-trailer", {"steer.angle": 0.2, "tractor.vx": 2.0}, ["l1"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_tangents_are_those_of_differences(case, system_of):
    name, given, parameters = CASES[case]
    system = system_of(name)
    names = [p.name for p in system.model.parameters]
    params, num_w = system.parameters(), len(system.model.speed_inputs)

    def complete(moved=(), time=0.0, along=0.0, w=0.0):
        """All that is completed, with some value moved."""
        return complete_one(
            system,
            {n: x + along * (n == moved) for n, x in given.items()},
            time=0.7 + time,
            speed_inputs=lambda q: np.full(num_w, 0.3 + w),
            parameters=params + along * np.array([n == moved for n in names], dtype=float),
        )

    changes, moves = [], []
    for n in (*given, *parameters):
        along = np.array([float(n == other) for other in names])
        changes.append(Change(n, {n: 1.0} if n in given else {}, along, lambda q: np.zeros(num_w)))
        moves.append(lambda h, n=n: complete(moved=n, along=h))
    none = np.zeros(len(names))
    changes.append(Change("t", {}, none, lambda q: np.zeros(num_w), time=1.0))
    moves.append(lambda h: complete(time=h))
    if num_w:
        changes.append(Change("w", {}, none, lambda q: np.ones(num_w)))
        moves.append(lambda h: complete(w=h))
    for change, found, move in zip(
        changes, start_tangents(complete(), changes), moves, strict=True
    ):
        value = given.get(change.name, dict(zip(names, params, strict=True)).get(change.name, 1.0))
        step = 1e-3 * max(0.1, abs(value))
        ends = [move(h * step) for h in (1, -1, 2, -2)]
        for word in ("q", "v", "eta"):
            a, b, c, d = (getattr(end, word)[0] for end in ends)
            expected = (8 * (a - b) - (c - d)) / (12 * step)
            scale = max(1.0, np.abs(expected).max(initial=0.0))
            assert getattr(found, word) == pytest.approx(expected, abs=DIFFERENCES * scale), (
                change.name,
                word,
            )
