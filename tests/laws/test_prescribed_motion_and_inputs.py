"""Inputs found by inverse dynamics produce the prescribed motion; what is refused."""

import dataclasses

import numpy as np
import pytest

import noslip as ns
from mechanisms import pendulum

TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def with_scenario(model, **fields):
    return dataclasses.replace(model, scenario=ns.Scenario(**{"duration": 1.0, **fields}))


def compiled(model):
    return ns.compile(ns.derive(model))


class TestMotion:
    def test_torques_of_the_vehicle_keep_it_on_its_circle(self, system_of):
        run = ns.run_scenario(system_of("agv"), duration=20.0, **TIGHT)
        assert run.tracking_error < 1e-8
        assert run.energy_drift < 1e-10

    def test_torque_of_a_pendulum_is_that_of_its_equation(self):
        """τ = I φ̈ + d φ̇ + friction + k (φ − φ₀) + m g l sin φ for φ = 0.4 sin 2t."""
        model = with_scenario(
            pendulum(),
            motion={"swing.angle": "a0*sin(w*t)"},
            samples=21,
            parameters=(
                ns.Parameter(name="a0", value=0.4, unit="rad"),
                ns.Parameter(name="w", value=2.0, unit="rad/s"),
            ),
        )
        run = ns.run_scenario(compiled(model), **TIGHT)
        phi, rate = 0.4 * np.sin(2 * run.t), 0.8 * np.cos(2 * run.t)
        torque = (0.03 + 1.3 * 0.7**2) * (-4 * phi) + 0.4 * rate + 0.2 * np.tanh(rate / 0.05)
        torque = torque + 2.1 * (phi - 0.3) + 1.3 * 9.81 * 0.7 * np.sin(phi)
        assert run["swing.angle"] == pytest.approx(phi, abs=1e-9)
        assert run["torque"] == pytest.approx(torque, abs=1e-9)
        assert run.tracking_error < 1e-9
        assert run.admissibility < 1e-12

    def test_numbers_of_the_task_can_be_changed(self):
        motion = {"swing.angle": "half"}
        task = (ns.Parameter(name="a0", value=0.4, unit="rad"),)
        definitions = {"half": "a0/2 + 0*t"}
        model = with_scenario(
            pendulum(), motion=motion, parameters=task, definitions=definitions, samples=3
        )
        run = ns.run_scenario(compiled(model), changes={"a0": 1.0})
        assert run["swing.angle"] == pytest.approx([0.5, 0.5, 0.5], abs=1e-9)


class TestInputs:
    def test_inputs_start_stop_and_definitions(self):
        """Start values, inputs and stops may use parameters and definitions of the scenario."""
        model = with_scenario(
            pendulum(),
            duration=5.0,
            start={"swing.angle": "first"},
            inputs={"torque": "slope*t"},
            parameters=(ns.Parameter(name="first", value=0.9, unit="rad"),),
            definitions={"slope": "first/9", "low": "first/3"},
            stop={"down": "swing.angle - low"},
        )
        run = ns.run_scenario(compiled(model), **TIGHT)
        assert run.ending is ns.Ending.EVENT
        assert run["swing.angle"][0] == 0.9
        assert run["swing.angle"][-1] == pytest.approx(0.3, abs=1e-11)
        assert run["torque"] == pytest.approx(0.1 * run.t, abs=1e-14)

    def test_changes_of_parameters_start_and_inputs(self):
        system = compiled(with_scenario(pendulum(), inputs={"torque": "t"}, samples=3))
        changes = {"m": 2.0, "swing.angle": 0.2, "torque": 0.7}
        run = ns.run_scenario(system, changes=changes)
        assert run.parameters["m"] == 2.0
        assert run["swing.angle"][0] == 0.2
        assert np.all(run["torque"] == 0.7)

    def test_model_without_a_scenario_runs_for_a_given_time(self, system_of):
        run = ns.run_scenario(system_of("pendulum"), duration=0.5)
        assert run.t[-1] == 0.5
        assert (run.tracking_error, run.errors) == (0.0, {})


class TestRefusals:
    def follow(self, system, motion):
        moved = ns.motions.ExpressionMotion(coordinates=motion)
        law = ns.motions.FollowMotion(
            motion=moved, reference_start=np.zeros(len(system.coordinates))
        )
        return ns.simulate(system, duration=1.0, inputs=law)

    def test_no_scenario_and_no_duration(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "the model has no scenario, so the duration is unknown",
            "model 'pendulum'",
            "give a duration (on the command line --duration 5), or write a [scenario] into "
            "the model",
        ):
            ns.run_scenario(system_of("pendulum"))

    def test_unknown_change(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "there is no parameter, start value or input 'torque3'",
            "model 'agv'",
            "did you mean 'torque",
        ):
            ns.run_scenario(system_of("agv"), changes={"torque3": 1.0})

    def test_input_beside_a_motion(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "input 'torque1' is changed, but the inputs of this scenario follow from its motion",
            "scenario of model 'agv'",
            "leave the input out",
        ):
            ns.run_scenario(system_of("agv"), changes={"torque1": 1.0})

    def test_start_speed_beside_a_motion(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "start speed 'wheel1.rate' is changed, but the speeds of this scenario follow from",
            "scenario of model 'agv'",
            "change the motion, or call noslip.simulate(…) with a start of your own",
        ):
            ns.run_scenario(system_of("agv"), changes={"wheel1.rate": 1.0})

    def test_motion_that_slips(self, refuses):
        agv = ns.load("agv")
        motion = {"platform.x": "0.1*t", "platform.y": "0.2*t", "platform.angle": "0*t"}
        model = dataclasses.replace(agv, scenario=ns.Scenario(duration=1.0, motion=motion))
        with refuses(
            ns.SimulationError,
            "the prescribed motion is not admissible: at t = ",
            "scenario of model 'agv', motion",
            "prescribe a motion that satisfies the constraints, or fewer coordinates",
        ):
            ns.run_scenario(compiled(model))

    def test_unknown_coordinate(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "there is no coordinate 'platform.z' to move",
            "motion of model 'agv'",
            "did you mean 'platform.",
        ):
            self.follow(system_of("agv"), {"platform.z": "t", "platform.x": "t"})

    def test_too_few_coordinates(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "1 coordinates are given, but 2 are needed to fix the motion",
            "motion of model 'agv'",
            "prescribe at least 2 coordinates",
        ):
            self.follow(system_of("agv"), {"platform.x": "t"})

    def test_too_few_inputs(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "the model has 0 force inputs for 2 degrees of freedom, so they cannot produce every",
            "motion of model 'sleigh'",
            "add motors, or give the inputs instead of the motion",
        ):
            self.follow(system_of("sleigh"), {"sled.x": "t", "sled.angle": "t"})

    def test_speed_inputs(self, system_of, refuses):
        with refuses(
            ns.SimulationError,
            "speed input 'steering' drives 'steer.angle', which the motion does not prescribe",
            "motion of model 'car'",
            "prescribe 'steer.angle' too: its rate is then the input",
        ):
            self.follow(system_of("car"), {"rear.angle": "t"})
