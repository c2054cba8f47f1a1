"""Scenarios with a path, a controller and a plant: the words of `track` in model files."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import noslip as ns
from noslip import ModelError, Scenario
from noslip.control import driven_system
from noslip.model import ScenarioFollower, ScenarioPlant, model_to_toml, parse_model

AGV = model_to_toml(dataclasses.replace(ns.load("agv"), scenario=None))
TASK = """
[scenario]
duration = 3
samples = 61
path = "circle:radius=2"
timing = "quintic:6"
controller = "pose:kx=2"
period = 0.02
limits = {torque1 = "20*b/b", torque2 = 20}

[scenario.start]
platform.y = 0.05

[scenario.follower]
reverse = true

[scenario.plant]
parameters = {m_platform = 45}
start = {platform.x = 0.02}
gravity = [0.1, 0, -9.8]
sensors = ["platform.x:sigma=0.002", "platform.y:sigma=0.002,delay=1"]
actuators = "torque1:largest=3,lag=0.02"
seed = 3

[scenario.plant.forces.push]
type = "wrench"
body = "platform"
force = ["2*sin(t)", 0, 0]
"""


@pytest.fixture(scope="module")
def driven():
    model = parse_model(AGV + TASK)[0]
    system = ns.compile(ns.derive(model))
    return system, ns.run_scenario(system)


def test_a_file_does_what_track_does_in_python(driven):
    system, run = driven
    plant = ns.Plant(
        parameters={"m_platform": 45.0},
        start={"platform.x": 0.02},
        gravity=(0.1, 0.0, -9.8),
        forces=(ns.forces.Wrench(name="push", body="platform", force=("2*sin(t)", 0.0, 0.0)),),
        sensors=(
            ns.Sensor(of="platform.x", sigma=0.002),
            ns.Sensor(of="platform.y", sigma=0.002, delay=1),
        ),
        actuators=(ns.Actuator(of="torque1", largest=3.0, lag=0.02),),
        seed=3,
    )
    loop = ns.ControlLoop(
        controller="pose:kx=2", limits={"torque1": 20.0, "torque2": 20.0}, period=0.02
    )
    same = ns.track(
        system,
        "circle:radius=2",
        timing="quintic:6",
        follower=ns.Follower(reverse=True),
        controller=loop,
        plant=plant,
        duration=3.0,
        start={"platform.y": 0.05},
        samples=61,
        rtol=1e-9,
        atol=1e-9,
    )
    np.testing.assert_array_equal(run.q, same.q)
    np.testing.assert_array_equal(run["got.torque1"], same["got.torque1"])
    assert np.abs(run["seen.platform.x"] - run["platform.x"]).max() > 1e-3
    assert driven_system(system).model.forces[-1].name == "push"


def test_a_file_with_a_task_comes_back_as_it_was(driven):
    model = driven[0].model
    assert parse_model(model_to_toml(model))[0] == model
    full = ScenarioPlant(
        model="agv",
        disturbances={"wind": "5*sin(t)"},
        sensors=("gyroscope:body=platform;sigma=0.01",),
        estimator="ekf",
        start_sigma={"platform.x": 0.1},
        input_sigma={"torque1": 0.1},
        drift={"platform.y": 0.01},
    )
    follower = ScenarioFollower(point=(0.0, "b", 0.0), heading="0.1*s", reference={"platform.y": 1})
    task = dataclasses.replace(model.scenario, plant=full, follower=follower)
    other = dataclasses.replace(model, scenario=task)
    assert parse_model(model_to_toml(other))[0] == other


def test_all_faults_of_a_task_are_told_at_once_with_their_lines():
    wrong = {
        "circle:radius": "circl:radius",
        "quintic:6": "quintic:six",
        "pose:kx": "pose:kz",
        "torque1 = ": "torque9 = ",
        "m_platform = 45": "m_platfrm = 45",
        "platform.x:sigma": "platform.z:sigma",
        "lag=0.02": "lagg=0.02",
        'body = "platform"': 'body = "platfrm"',
        "2*sin(t)": "2*sin(tt)",
    }
    text = AGV + TASK
    for good, bad in wrong.items():
        assert text.count(good) >= 1
        text = text.replace(good, bad)
    with pytest.raises(ModelError) as caught:
        parse_model(text, "robot.toml")
    lines = text.split("\n")
    assert len(caught.value.faults) == len(wrong)
    for fault, bad in zip(caught.value.faults, wrong.values(), strict=True):
        line = int(fault.where.split("line ")[1].split(",")[0])
        assert bad in lines[line - 1], fault


CASES = [
    ({"timing": "quintic:6"}, "the scenario has a timing, and no path", "scenario.timing"),
    ({"controller": "path"}, "the scenario has controller, and nothing", "scenario.controller"),
    (
        {"path": ("circle:2",), "motion": {"platform.x": "t"}},
        "the scenario gives both a motion and a path",
        "scenario.path",
    ),
    (
        {"path": ("circle:2",), "plant": ScenarioPlant(disturbances={"wind": 1.0})},
        "the plant has disturbances, but its inputs are all the controller's",
        "scenario.plant.disturbances",
    ),
    (
        {"path": ("circle:2",), "plant": ScenarioPlant(drift={"platform.x": 1.0})},
        "the plant has drift of an estimator, and no estimator",
        "scenario.plant.drift",
    ),
    ({"path": ("circle:2",), "period": -1.0}, "the scenario has period -1 s", "scenario.period"),
]


@pytest.mark.parametrize(("given", "what", "where"), CASES)
def test_a_task_that_does_not_fit_together_is_refused(given, what, where):
    model = ns.load("agv")
    with pytest.raises(ModelError) as caught:
        ns.check(dataclasses.replace(model, scenario=Scenario(duration=1.0, **given)))
    (fault,) = caught.value.faults
    assert fault.what.startswith(what) and fault.where == where


def test_words_of_tables_are_those_of_the_python_classes():
    def words(part):
        return {f.name for f in dataclasses.fields(part)}

    assert words(ScenarioFollower) == words(ns.Follower) - {"links", "base", "held"}
    estimator = words(ns.sensors.ExtendedKalman) & words(ScenarioPlant)
    assert words(ScenarioPlant) - estimator == words(ns.Plant) - {"system", "run"} | {"model"}
    assert {"controller", "limits", "period"} <= words(Scenario) & words(ns.ControlLoop)


def test_every_controller_is_known_to_a_fresh_process():
    """A word must not depend on what was imported before."""
    text = "adaptive:unknown=m_platform;rates=1"
    code = f"from noslip.controllers import parse_controller as p; print(p('{text}').word)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "adaptive"
