"""Limits of joints: a run ends where a joint would leave them, one alone and many at once."""

import numpy as np
import pytest
from scipy.integrate import quad

import noslip as ns


def slider(**given):
    """A mass of 2 kg on a rail under a force."""
    b = ns.ModelBuilder(name="slider", gravity=(0.0, 0.0, -9.81))
    b.body("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.joint(
        "rail", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="mass", **given
    )
    b.input("push", "N")
    b.force(ns.forces.Motor(name="push", speed="rail.speed", input="push"))
    b.parameter("reach", 0.9, "m")
    return b.build()


@pytest.fixture(scope="module")
def system():
    return ns.compile(ns.derive(slider(limits=(-0.5, "reach"))))


def test_a_run_ends_at_the_limit(system):
    run = ns.simulate(system, inputs={"push": 1.0}, duration=10.0)
    assert run.ended_by == "rail reaches its limit"
    assert run.t[-1] == pytest.approx(np.sqrt(2 * 0.9 / 0.5), rel=1e-9)  # s = ½ (F/m) t²
    assert run["rail.position"][-1] == pytest.approx(0.9, abs=1e-9)
    other = ns.simulate(system, inputs={"push": -1.0}, duration=10.0)
    assert other["rail.position"][-1] == pytest.approx(-0.5, abs=1e-9)
    far = ns.simulate(system, inputs={"push": 1.0}, duration=10.0, parameters={"reach": 1.6})
    assert far.t[-1] == pytest.approx(np.sqrt(2 * 1.6 / 0.5), rel=1e-9)


def test_a_pendulum_reaches_its_limit_when_the_integral_says():
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -9.81))
    b.body("bob", mass=1.0, inertia=(0.0, 0.05, 0.0), center_of_mass=(0.0, 0.0, -0.5))
    hinge = ns.joints.Revolute(axis=(0.0, 1.0, 0.0))
    b.joint("pin", hinge, parent="world", child="bob", armature=0.2, limits=(-1.0, 1.0))
    run = ns.simulate(ns.compile(ns.derive(b.build())), start={"pin.rate": 4.0}, duration=5.0)
    inertia = 0.05 + 0.25 + 0.2
    rate = lambda a: np.sqrt(4.0**2 - 2 * 9.81 * 0.5 * (1 - np.cos(a)) / inertia)  # noqa: E731
    assert run.t[-1] == pytest.approx(quad(lambda a: 1 / rate(a), 0.0, 1.0)[0], rel=1e-8)


def test_beyond_its_limits_a_joint_comes_back_and_is_noted(system):
    run = ns.simulate(
        system,
        start={"rail.position": 1.5, "rail.speed": -1.0},
        inputs={"push": -1.0},
        duration=9.0,
    )
    assert any("'rail.position' starts at 1.5, beyond its limits" in note for note in run.notes)
    assert run["rail.position"][-1] == pytest.approx(-0.5, abs=1e-9)


def test_many_at_once_end_as_one_does(system):
    pushes = np.array([1.0, -1.0, 0.0, 3.0])
    batch = ns.simulate_batch(
        system, inputs={"push": pushes}, start={"rail.position": np.array([0.0, 0.0, 0.1, 1.2])},
        duration=4.0,
    )  # fmt: skip
    assert list(batch.ended_by) == ["rail reaches its limit"] * 2 + ["", ""]
    np.testing.assert_allclose(batch.t, [np.sqrt(3.6), np.sqrt(2.0), 4.0, 4.0], rtol=1e-9)


def test_random_states_are_within_limits():
    kin = ns.trace(slider(limits=(0.3, 0.4)))
    (place,) = kin.coordinates
    assert (place.lower, place.upper) == (0.3, 0.4)
    beyond = ns.trace(slider(limits=(5.0, 7.0)))
    assert (beyond.coordinates[0].lower, beyond.coordinates[0].upper) == (5.0, 7.0)


def test_files_keep_armature_and_limits(tmp_path):
    model = slider(limits=(-0.5, "reach"), armature=0.3)
    ns.save_model(model, tmp_path / "slider.toml")
    assert ns.load(tmp_path / "slider.toml") == model
