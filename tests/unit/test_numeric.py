"""True and False are not taken for 1 and 0, wherever a number is asked for."""

import numpy as np
import pytest

import noslip as ns
from noslip.base.arguments import is_truth

START = {"swing.angle": 0.3}


@pytest.mark.parametrize(
    "value", [True, False, np.True_, np.array(True), np.array([False]), [1.0, True], ([True],)]
)
def test_truths(value):
    assert is_truth(value)


@pytest.mark.parametrize(
    "value", [1.0, 0, np.float64(1.0), np.int64(1), np.ones(2), [1.0, 0], (), "True", None]
)
def test_what_is_no_truth(value):
    assert not is_truth(value)


def tracked(system, **loop):
    axle = {"point": (0.0, "-a", 0.0), "direction": (0.0, 1.0, 0.0)}
    path, timing = ns.paths.Circle(radius=2.0), ns.timing.Quintic(20.0)
    return ns.track(
        system,
        path,
        follower=ns.Follower(**axle),
        controller=ns.ControlLoop(controller=ns.controllers.PoseTracking(), **loop),
        timing=timing,
    )


def batch(system, **options):
    given = {"start": START, **options}
    return ns.simulate_batch(system, duration=0.1, **given)


#: What is asked → what is told, where.
ASKED = {
    "parameter": (lambda s, true: ns.simulate(s, duration=0.1, parameters={"m": true}),
        "parameter 'm' is ", "parameters"),
    "start": (lambda s, true: ns.simulate(s, duration=0.1, start={"swing.angle": true}),
        "'swing.angle' starts at ", "start of model"),
    "input": (lambda s, true: ns.simulate(s, duration=0.1, inputs={"torque": true}),
        "input 'torque' is ", "inputs of model"),
    "duration": (lambda s, true: ns.simulate(s, duration=true), "the duration is ",
        "simulation of model"),
    "samples": (lambda s, true: ns.simulate(s, duration=1.0, samples=true),
        "the requested number of samples is ", "simulation of model"),
    "table": (lambda s, true: ns.Table(times=[0.0, 1.0], values=[true, 2.0]),
        "a table holds numbers", "Table("),
    "parameter of a batch": (lambda s, true: batch(s, parameters={"m": [1.0, true]}), "'m' is ",
        "batch of model"),
    "start of a batch": (lambda s, true: batch(s, start={"swing.angle": true}), "'swing.angle' is ",
        "model"),
    "input of a batch": (lambda s, true: batch(s, inputs={"torque": true}), "input 'torque' is ",
        "model"),
    "scenario": (lambda s, true: ns.run_scenario(s, duration=0.1, changes={"m": true}), "'m' is ",
        "model"),
    "state of an evaluation": (lambda s, true: ns.evaluate(s, {"swing.angle": true}),
        "'swing.angle' starts at ", "start"),
    "input of an evaluation": (lambda s, true: ns.evaluate(s, START, inputs={"torque": true}),
        "'torque' is ", "inputs"),
    "time of an evaluation": (lambda s, true: ns.evaluate(s, START, time=true), "the time is ",
        "model"),
    "steady motion": (lambda s, true: ns.steady(s, {"swing.angle": true}), "'swing.angle' is ",
        "steady motion"),
    "linearization": (lambda s, true: ns.linearize(s, {"swing.angle": true}),
        "'swing.angle' starts at", "start"),
    "sweep": (lambda s, true: ns.sweep_eigenvalues(s, "m", [true, 2.0]), "the values of 'm' are",
        "sweep"),
    "radius": (lambda s, true: ns.paths.Circle(radius=true), "radius is ", "Circle"),
    "timing": (lambda s, true: ns.timing.Quintic(true), " is ", "Quintic"),
    "gain": (lambda s, true: ns.controllers.PoseTracking(kx=true), "kx is ", "PoseTracking"),
}  # fmt: skip


@pytest.mark.parametrize("true", [True, np.True_], ids=["Python", "NumPy"])
@pytest.mark.parametrize("name", ASKED)
def test_a_truth_is_refused_for_a_number(pendulum, refuses, name, true):
    ask, what, where = ASKED[name]
    with refuses(ns.SimulationError, what, where, "give "):
        ask(pendulum, true)


@pytest.mark.parametrize("name, what", [("limits", "limits['torque1'] is True"),
                                        ("period", "period is True")])  # fmt: skip
def test_a_truth_is_refused_for_a_controller(system_of, refuses, name, what):
    given = {"limits": {"torque1": True}} if name == "limits" else {"period": True}
    with refuses(ns.SimulationError, what, "argument of ControlLoop", "give a number"):
        tracked(system_of("agv"), **given)


def test_a_truth_is_refused_for_friction(system_of, refuses):
    system = system_of("agv")
    run = ns.simulate(system, duration=0.1, samples=2)
    with refuses(ns.SimulationError, "the friction coefficient is True", "audit", "such as 0.6"):
        ns.audit(system, run, True)


def test_a_model_refuses_it_too(refuses):
    b = ns.ModelBuilder("block", gravity=(0.0, 0.0, -9.81))
    b.parameter("m", True, "kg")
    b.body("block", mass="m", inertia=(0.1, 0.1, 0.1))
    b.joint("slide", ns.joints.Prismatic(axis=(1.0, 0.0, 0.0)), parent="world", child="block")
    with refuses(ns.ModelError, "True, which is not a number", "", "give a number"):
        b.build()
