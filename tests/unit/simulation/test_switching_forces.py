"""Forces that switch: their jumps are located."""

import numpy as np
import pytest

import noslip as ns


def slider(force: str) -> ns.System:
    """A mass of 1 kg on a spring of 10 N/m, with a force of its motion."""
    builder = ns.ModelBuilder(name="slider", gravity=(0.0, 0.0, 0.0))
    builder.body("m", mass=1.0, inertia=(0.1, 0.1, 0.1))
    axis = ns.joints.Prismatic(axis=(1.0, 0.0, 0.0))
    builder.joint("s", axis, parent="world", child="m")
    builder.force(ns.forces.JointSpring(name="spring", coordinate="s.position", stiffness=10.0))
    builder.force(ns.forces.Wrench(name="own", body="m", force=(force, 0.0, 0.0)))
    return ns.compile(ns.derive(builder.build()))


def test_a_sign_in_a_force_is_a_switch():
    """m s̈ = −k s − F sign(ṡ): amplitudes fall by 2 F/k in every half period π√(m/k)."""
    system = slider("-0.5*sign(s.speed)")
    half = np.pi / np.sqrt(10.0)
    run = ns.simulate(system, duration=3.5 * half, start={"s.position": 1.0}, samples=2)
    turns = [1.0, -0.9, 0.8, -0.7]
    # within the fourth half period, about +F/k
    exact = 0.05 * -1.0 + (turns[3] + 0.05) * np.cos(np.sqrt(10.0) * 0.5 * half)
    assert run["s.position"][-1] == pytest.approx(exact, abs=1e-8)
    assert run.steps < 400 and run.energy_drift < 1e-8


@pytest.mark.parametrize("force", ["2*sign(0.2 - s.speed)", "4*(floor(1.2 - s.speed) - 0.5)"])
def test_sliding_along_a_jump_ends_early_and_says_so(force):
    with pytest.raises(ns.NoslipError, match="switches back and forth without end") as caught:
        ns.simulate(slider(force), duration=10.0)
    assert "switch 1 of force own" in caught.value.what


def test_a_batch_says_that_its_steps_do_not_end_on_switches():
    system = slider("-0.5*sign(s.speed)")
    batch = ns.simulate_batch(system, duration=0.5, start={"s.position": [1.0, 1.1]})
    assert any("switch 1 of force own" in note for note in batch.notes)


def test_smooth_forces_watch_nothing():
    run = ns.simulate(slider("-0.1*tanh(s.speed/0.01)"), duration=0.1, start={"s.position": 1.0})
    assert run.notes == ()
