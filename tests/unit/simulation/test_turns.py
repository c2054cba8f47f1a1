"""Named angles count their turns along the run, whatever samples are asked for."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import noslip as ns

SystemOf = Callable[[str], ns.System]

START = {"disk.tilt": 1.4, "disk.yaw_rate": 0.3, "disk.spin_rate": -30.0}


@pytest.mark.parametrize("samples", [2, 4, 11])
def test_few_samples_have_the_turns_of_many(system_of: SystemOf, samples: int) -> None:
    system = system_of("rolling-disk")
    few = ns.simulate(system, start=START, duration=3.0, samples=samples)
    many = ns.simulate(system, start=START, duration=3.0, samples=10 * 300 + 1)
    names = ("disk.yaw", "disk.tilt", "disk.spin")
    at = np.searchsorted(many.t, few.t - 1e-9)
    for name in names:
        np.testing.assert_allclose(few[name], many[name][at], atol=1e-9)
    assert abs(few["disk.spin"][-1]) > 4 * math.pi


def test_turns_are_the_integral_of_the_rate(system_of: SystemOf) -> None:
    """Independent of unwrapping: Simpson's rule on the rate."""
    system = system_of("rolling-disk")
    run = ns.simulate(system, start=START, duration=3.0, samples=2)
    dense = ns.simulate(system, start=START, duration=3.0, samples=2001)
    rate, h = dense["disk.spin_rate"], 3.0 / 2000
    turned = h / 3 * (rate[0] + rate[-1] + 4 * rate[1::2].sum() + 2 * rate[2:-1:2].sum())
    assert np.ptp(run["disk.spin"]) == pytest.approx(abs(turned), abs=1e-8)


def test_turns_are_kept_in_a_folder(system_of: SystemOf, tmp_path: Path) -> None:
    run = ns.simulate(system_of("rolling-disk"), start=START, duration=3.0, samples=4)
    ns.write_run(run, tmp_path / "run", plots=False)
    np.testing.assert_array_equal(ns.read_run(tmp_path / "run")["disk.spin"], run["disk.spin"])


def test_a_spinning_ball_goes_where_a_slow_one_goes() -> None:
    """Position after 10 s at the default tolerance: the error does not grow with the spin."""
    b = ns.ModelBuilder("ball", gravity=(0.0, 0.0, -9.81))
    b.body("ball", mass=1.0, inertia=(0.016, 0.016, 0.016))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.contact(ns.contacts.Rolling(name="c", body="ball", wheel=ns.surfaces.Ball(radius=0.2)))
    system = ns.compile(ns.derive(b.build()))
    errors = []
    for spin in (3.0, 300.0):
        start = {"ball.z": 0.2, "ball.wx": 0.5, "ball.wy": 1.0, "ball.wz": spin}
        run = ns.simulate(system, start=start, duration=10.0, samples=2)
        errors.append(np.abs(run.q[-1, :2] - [2.0, -1.0]).max())
    assert errors[1] < 10 * errors[0] < 1e-6
