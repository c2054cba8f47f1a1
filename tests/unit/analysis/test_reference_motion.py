"""The reference motion as a stage: seen alone, run under, and compiled once for a system."""

import dataclasses

import numpy as np
import pytest

import noslip as ns

#: The tolerance of the integrations that are compared, and what rounding adds over a run.
CLOSE = dict(rtol=1e-9, atol=1e-10)


def scenario_motion(system, **task):
    scenario = system.model.scenario
    numbers = tuple(
        dataclasses.replace(p, value=task.get(p.name, p.value)) for p in scenario.parameters
    )
    return ns.motions.ExpressionMotion(
        coordinates=scenario.motion, definitions=scenario.definitions, parameters=numbers
    )


@pytest.fixture(scope="module")
def open_start(agv):
    """The caster's angle, which the motion leaves open."""
    return {"bracket.angle": 0.3}


def test_samples_are_the_kinematics_and_dynamics_of_the_same_motion(agv, open_start):
    times = np.linspace(0.0, 20.0, 41)
    motion = scenario_motion(agv)
    samples = ns.reference_motion(agv, motion, start=open_start).samples(times)
    history = ns.kinematic_history(agv, motion, duration=20.0, start=open_start, samples=times)
    forces = ns.dynamics_history(agv, history)
    for name, column in history.coordinates.items():
        np.testing.assert_allclose(samples.coordinates[name], column, **CLOSE)
    for name, column in history.speeds.items():
        np.testing.assert_allclose(samples.speeds[name], column, **CLOSE)
    for name, column in forces.inputs.items():
        np.testing.assert_allclose(samples.inputs[name], column, **CLOSE)
    assert all(np.max(np.abs(x)) < 1e-12 for x in samples.residual.values())


def test_a_run_under_its_inputs_stays_on_it(agv, open_start):
    reference = ns.reference_motion(agv, scenario_motion(agv), start=open_start)
    run = ns.simulate(agv, duration=20.0, start=reference.start, inputs=reference.law, samples=41)
    samples = reference.samples(run.t)
    for name, column in samples.coordinates.items():
        np.testing.assert_allclose(run[name], column, atol=1e-7)  # some 100 steps of 1e-9
    for name, column in samples.inputs.items():
        np.testing.assert_allclose(run[name], column, atol=1e-9)
    assert reference.residual(run).size < 1e-12


def test_a_scenario_runs_under_its_reference_motion(agv):
    run = ns.run_scenario(agv, changes={"R": 2.5}, duration=10.0)
    start = {name: run[name][0] for name in ("bracket.angle",)}
    reference = ns.reference_motion(agv, scenario_motion(agv, R=2.5), start=start)
    samples = reference.samples(run.t)
    for name, column in samples.inputs.items():
        np.testing.assert_allclose(run[name], column, atol=1e-9)
    assert run.admissibility == pytest.approx(reference.residual(run).size, abs=1e-13)


def test_other_numbers_of_the_task_compile_nothing(monkeypatch):
    from noslip.engines import native

    system = ns.compile(ns.derive(ns.load("agv")))
    ns.run_scenario(system, changes={"R": 2.0, "m_platform": 24.0}, duration=1.0)
    compiled = []
    monkeypatch.setattr(native, "machine_code", compiled.append)
    run = ns.run_scenario(system, changes={"R": 3.0, "m_platform": 25.0}, duration=1.0)
    assert not compiled
    assert run.ending is ns.Ending.FINISHED


def test_inputs_that_are_named_are_the_ones_of_the_samples(system_of):
    system = system_of("manipulator-2r")
    names = [i.name for i in system.model.inputs]
    motion = ns.motions.ExpressionMotion(
        coordinates={c.name: f"0.{k + 1}*sin(t)" for k, c in enumerate(system.coordinates)}
    )
    times = np.linspace(0.0, 1.0, 5)
    plain = ns.reference_motion(system, motion).samples(times)
    turned = ns.reference_motion(system, motion, inputs=tuple(names[::-1])).samples(times)
    assert list(turned.inputs) == names[::-1]
    for name in names:
        np.testing.assert_allclose(turned.inputs[name], plain.inputs[name], **CLOSE)
