"""A brake never drives: where its input is negative it counts as 0, however the input is given."""

import math

import numpy as np
import pytest

import noslip as ns

INERTIA, SMOOTHING = 0.1, 0.1


def wheel(*more):
    b = ns.ModelBuilder(name="wheel", gravity=(0, 0, -9.81))
    b.body("w", mass=1.0, inertia=(INERTIA,) * 3)
    b.joint("w", ns.joints.Revolute(axis=(0, 1, 0)), parent="world", child="w")
    b.input("brake", "N*m")
    b.force(ns.forces.Brake(name="br", speed="w.rate", input="brake", smoothing=SMOOTHING))
    for force in more:
        b.force(force)
    return b.build()


def rate(torque, t, begun=2.0):
    """Closed form: I ω̇ = −M tanh(ω/s) gives sinh(ω/s) = sinh(ω₀/s) exp(−M t/(I s))."""
    return SMOOTHING * math.asinh(
        math.sinh(begun / SMOOTHING) * math.exp(-torque * t / (INERTIA * SMOOTHING))
    )


#: Inputs that change their sign at 0.1 s, and the impulse until then, N m s.
CHANGING = {
    "expression": "0.5 - 5*t",
    "table": ns.Table(times=[0.0, 0.1, 2.0], values=[0.5, 0.0, -9.5], kind="linear"),
    "feedback": "0.5 - 5*t + 0*w.rate",
    "callable": lambda t, q, v: 0.5 - 5 * t,
}


@pytest.mark.parametrize("how", CHANGING)
def test_an_input_that_changes_its_sign_brakes_and_then_lets_go(how):
    system = ns.compile(ns.derive(wheel()))
    options = {"duration": 1.0, "start": {"w.rate": 2.0}}
    run = ns.simulate(
        system, inputs={"brake": CHANGING[how]}, samples=101, max_step=0.05, **options
    )
    # while it slips fast the torque is the input: what is left is ω₀ − ∫M dt/I
    assert run["w.rate"][-1] == pytest.approx(rate(0.25, 0.1), rel=1e-6)
    assert np.ptp(run["w.rate"][run.t > 0.105]) < 1e-9
    assert np.all(np.diff(run["energy.brake"]) <= 1e-9)  # never drives
    (note,) = (note for note in run.notes if "negative" in note)
    first = float(note.partition("negative from t = ")[2].partition(" s on")[0])
    # what a Python function does between two evaluations of a step is not known
    assert 0.1 <= first <= (0.105 if how == "callable" else 0.1)
    if how != "callable":
        batch = ns.simulate_batch(
            system, inputs={"brake": CHANGING[how]}, duration=1.0, start={"w.rate": [2.0]}
        )
        assert batch["w.rate"][0] == pytest.approx(run["w.rate"][-1], rel=1e-6)
        assert any("brake" in note for note in batch.notes)


#: An input that is below zero for 2 ms around 0.7331 s, between samples.
DIP = {
    "expression": "1 - 1.01*exp(-((t - 0.7331)/0.01)^2)",
    "table": ns.Table(times=[0.0, 0.73, 0.7331, 0.735, 2.0], values=[1.0, 1.0, -0.1, 1.0, 1.0]),
    "callable": lambda t, q, v: 1 - 1.01 * np.exp(-(((t - 0.7331) / 0.01) ** 2)),
}


@pytest.mark.parametrize("how", DIP)
def test_an_input_that_dips_below_zero_between_samples_is_noted(how):
    system = ns.compile(ns.derive(wheel()))
    run = ns.simulate(
        system, duration=2.0, start={"w.rate": 20.0}, inputs={"brake": DIP[how]}, samples=5,
        max_step=2e-4,
    )  # fmt: skip
    (note,) = (n for n in run.notes if "brake never drives" in n)
    first = float(note.partition("t = ")[2].partition(" s")[0])
    begins = 0.7331 - (0.0031 / 11 if how == "table" else 0.01 * math.sqrt(math.log(1.01)))
    # a callable is seen where a step evaluates it
    assert first == pytest.approx(begins, abs=2e-4 if how == "callable" else 1e-6)


def test_a_negative_constant_is_none_and_a_positive_one_is_exact():
    system = ns.compile(ns.derive(wheel()))
    free = ns.simulate(system, duration=1.0, start={"w.rate": 2.0}, inputs={"brake": -3.0})
    assert np.all(free["w.rate"] == 2.0) and len(free.notes) == 1
    held = ns.simulate(system, duration=0.3, start={"w.rate": 2.0}, inputs={"brake": 0.4})
    expected = [rate(0.4, t) for t in held.t]
    assert held["w.rate"] == pytest.approx(expected, rel=1e-7) and held.notes == ()
    batch = ns.simulate_batch(
        system, duration=0.3, start={"w.rate": 2.0}, inputs={"brake": [-3.0, 0.4]}
    )
    assert batch["w.rate"] == pytest.approx([2.0, rate(0.4, 0.3)], rel=1e-7)
    assert "negative" in batch.notes[0]
    now = ns.evaluate(system, {"w.rate": 2.0}, inputs={"brake": -3.0})
    assert now.accelerations["w.rate"] == 0.0


def four_bar():
    """A four-bar linkage with the brake in its rocker."""
    b = ns.ModelBuilder(name="bars", gravity=(0, -9.81, 0))
    for name in ("crank", "coupler", "rocker"):
        b.body(name, mass=1.0, inertia=(0.01, 0.01, 0.01), center_of_mass=(0.2, 0.0, 0.0))
    z = ns.joints.Revolute(axis=(0, 0, 1))

    def at(x):
        return ns.Placement(position=(x, 0.0, 0.0))

    b.joint("a", z, parent="world", child="crank")
    b.joint("b", z, parent="crank", child="coupler", parent_frame=at(0.25))
    b.joint("c", z, parent="world", child="rocker", parent_frame=at(0.8))
    b.joint("d", z, parent="coupler", child="rocker", parent_frame=at(0.7), child_frame=at(0.5))
    b.input("brake", "N*m")
    b.force(ns.forces.Brake(name="br", speed="c.rate", input="brake", smoothing=0.1))
    return b.build()


@pytest.mark.parametrize("make", [wheel, four_bar])
def test_all_formulations_agree_and_energy_balances(make):
    """`verify` takes inputs of both signs, and compares power with what the energy does."""
    assert ns.verify(make()).holds


def test_reactions_of_a_brake_let_go_too():
    system = ns.compile(ns.derive(four_bar()))
    state = {"a.angle": 0.7, "a.rate": 2.0}
    found = [ns.evaluate(system, state, inputs={"brake": u}) for u in (-5.0, 0.0, 5.0)]
    for joint, wrench in found[0].joint_reactions.items():
        same = found[1].joint_reactions[joint]
        assert dict(wrench) == pytest.approx(dict(same), rel=1e-12, abs=1e-12)
    assert found[2].accelerations["a.rate"] != pytest.approx(found[1].accelerations["a.rate"])
