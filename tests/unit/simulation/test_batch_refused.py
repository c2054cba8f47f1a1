"""What a batch refuses, and what it says then."""

import numpy as np
import pytest
from batch_runs import QUATERNION

import noslip as ns


class TestRefused:
    @pytest.mark.parametrize(
        "case",
        [
            ({"start": {"swing.angle": [0.1, 0.2]}, "parameters": {"m": [1, 2, 3]}},
             "the numbers of trajectories differ: start 'swing.angle': 2, parameter 'm': 3",
             "batch of model 'pendulum'", "as many as there are trajectories"),
            ({"start": {"swing.angel": [0.1, 0.2]}},
             "there is no coordinate, speed or angle 'swing.angel'", "start of model 'pendulum'",
             "did you mean 'swing.angle'"),
            ({"inputs": {"torqe": 1.0}}, "there is no input 'torqe'", "inputs of model 'pendulum'",
             "did you mean 'torque'"),
            ({"inputs": {"torque": lambda t, q, v: 0.0}},
             "input 'torque' is a Python callable, which batches cannot call",
             "batch of model 'pendulum'", "give numbers, an expression"),
            ({"parameters": {"mm": [1.0, 2.0]}}, "is no parameter 'mm'", "'pendulum', parameters"),
            ({"parameters": {"m": [1.0, 2.0, -3.0, 4.0]}}, "mass", "trajectory 2", ""),
            ({"start": {"swing.angle": [0.1, np.nan]}}, "nan for trajectory 1", "model 'pendulum'"),
            ({"start": {"swing.angle": [[0.1], [0.2]]}}, "start 'swing.angle' has the shape (2, 1)",
             "batch of model 'pendulum'", "one number for all trajectories"),
            ({"start": {"swing.angle": "0.1"}}, "which is not a number", "of model 'pendulum'"),
            ({"parameters": {"m": [1.0 + 2.0j, 2.0]}}, "which are not numbers", "model 'pendulum'"),
            ({"start": {"swing.angle": np.array(["2020-01-01"], dtype="datetime64[D]")}},
             "start 'swing.angle' is array(['2020-01-01']", "batch of model 'pendulum'",
             "give a number, or a list of numbers"),
            ({"start": {3: [0.1, 0.2]}}, "speed or angle '3'", "of model 'pendulum'", "known: "),
            ({"definitions": {3: 0.1}}, "definition 3 has no name", "of model 'pendulum'"),
            ({"inputs": {"torque": ["t", "2*t"]}}, "which are not numbers", "of model 'pendulum'"),
            ({"columns": [3]}, "there is no column '3'", "a batch of model 'pendulum'", "known: "),
            ({"inputs": {"torque": "sin(t) + what"}}, "which is not known", "input 'torque'"),
            ({"columns": ["swing.angel"]}, "there is no column 'swing.angel'",
             "columns of a batch of model 'pendulum'", "did you mean 'swing.angle'"),
            ({"keep": "final"}, "keep is 'final'", "batch of", "give a list: keep=['final']"),
            ({"keep": ["last"]}, "to keep as 'last'", "of model 'pendulum'", "known: 'final'"),
            ({"lanes": 3}, "code of 3 lanes is requested", "batch of", "1, 2, 4, 8, 16"),
            ({"threads": 0}, "threads is 0", "batch of model", "1 or more"),
            ({"max_events": 0.5}, "max_events is 0.5", "simulate_batch", "whole number"),
            ({"count": 0}, "count is 0", "batch of model", "the number of trajectories"),
            ({"events": {"a": "t"}, "stop": {"a": "t - 1"}},
             "'a' both stops the run and is an event of it", "batch of model 'pendulum'",
             "give the two different names"),
            ({"method": "euler"}, "there is no method 'euler'", "simulation of", "dop853"),
            ({"rtol": 0.0}, "tolerance is", "simulation of", "positive"),
            ({"keep": ["samples"], "out": np.zeros((1, 2, 3))}, "out has the shape (1, 2, 3)",
             "batch of model 'pendulum'", "with the shape (1, 201, 2)"),
        ],
    )  # fmt: skip
    def test_arguments(self, pendulum, refuses, case):
        kwargs, *parts = case
        with refuses(ns.NoslipError, *parts):
            ns.simulate_batch(pendulum, duration=1.0, **kwargs)

    def test_a_start_that_breaks_the_constraints_names_its_trajectory(self, disk, refuses):
        with refuses(ns.SimulationError, "", "trajectory 1", ""):
            ns.simulate_batch(
                disk,
                duration=1.0,
                start={"disk.tilt": 1.0, "disk.z": [0.5 * np.sin(1.0), 5.0], "disk.yaw_rate": 0.0},
            )

    @pytest.mark.filterwarnings("ignore:invalid value encountered in divide")
    def test_a_start_that_is_not_finite(self, system_of, refuses):
        zero = {f"pivot.{letter}": [1.0, 0.0] if letter == "qw" else 0.0 for letter in QUATERNION}
        with refuses(ns.SimulationError, "the start state is not finite", "trajectory 1"):
            ns.simulate_batch(system_of("heavy-body"), duration=1.0, start=zero)

    def test_a_column_that_was_not_kept(self, pendulum, refuses):
        batch = ns.simulate_batch(pendulum, duration=0.1, columns=["swing.angle"])
        with refuses(ns.SimulationError, "there is no column 'swing.rate'", "batch of"):
            _ = batch["swing.rate"]


def test_a_text_for_columns(disk, refuses):
    with refuses(ns.SimulationError, "columns is 'disk.z'", "batch", "columns=['disk.z']"):
        ns.simulate_batch(disk, duration=1.0, columns="disk.z")
