"""A sensor, a measure, a distribution, a work and an export from outside the package.

They are defined in `tests/models/own_studies.py`, which nothing of the package knows.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.base.families import isolated, load_plugin
from noslip.cli import main
from noslip.control import read_form
from noslip.model import ScenarioPlant
from noslip.sensors import AbstractInstrument

PLUGIN = Path(__file__).parent / "models" / "own_studies.py"
#: Draws from the distribution, and what is kept of each run.
DRAWN = {"m": "own_exponential:2"}
MEASURES = ("own_spread:skate.x", "max:skate.x", "min:skate.x")


@pytest.fixture(scope="module")
def own():
    with isolated():
        yield load_plugin(PLUGIN)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*words):
    """Run a command that is given the plugin, in families without its members; its output."""
    with isolated():
        result = CliRunner().invoke(main, [*words, "--plugin", str(PLUGIN)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def check_spread(found):
    spread, most, least = (found[name].values for name in MEASURES)
    assert np.all(spread > 0) and spread == pytest.approx(most - least, rel=1e-15)


def test_a_sweep_draws_from_the_distribution_and_takes_the_measure(own, folder):
    found = ns.sweep(
        ns.load("knife-edge"),
        MEASURES,
        sample=DRAWN,
        draws=8,
        sampling="lhs",
        duration=0.5,
        folder="study",
    )
    check_spread(found)
    # one draw in each eighth of the probability 1 − exp(−m/2)
    eighths = np.floor(8 * (1 - np.exp(-found["m"].values / 2)))
    assert sorted(eighths) == list(range(8))
    with pytest.raises(ns.SimulationError, match="MEAN is not positive"):
        ns.sweep(
            ns.load("knife-edge"),
            MEASURES,
            sample={"m": "own_exponential:-1"},
            draws=2,
            folder="other",
        )


def test_the_command_sweeps_with_them_and_reports(folder):
    words = ["sweep", "knife-edge", "--sample", "m=own_exponential:2", "--draws", "4"]
    for measure in MEASURES:
        words += ["--measure", measure]
    said = command(*words, "--duration", "0.5", "-o", "study", "--json")
    assert json.loads(said)
    with isolated():
        load_plugin(PLUGIN)
        check_spread(ns.open_sweep("study"))
    assert MEASURES[0] in Path("study", "report.html").read_text()


def test_a_work_is_done_at_every_point(own, folder):
    """The skate alone has M = diag(m, J) in the speeds of its base, whatever its state."""
    model = ns.load("knife-edge")
    found = ns.sweep(model, ["det"], vary={"m": [1.0, 2.0]}, work="own_inertia", folder="study")
    det = found["det"].values
    one = ns.evaluate(ns.compile(ns.derive(model)), {}, parameters={"m": 1.0})
    assert det == pytest.approx(np.linalg.det(one.mass_matrix) * np.array([1.0, 2.0]), rel=1e-12)
    said = command("sweep", "knife-edge", "--work", "own_inertia", "--vary", "m=1,2",
                   "--measure", "det", "-o", "by_command", "--no-report", "--json")  # fmt: skip
    assert json.loads(said)


def test_a_filter_takes_in_what_the_sensor_measures(own, system_of):
    text = "own_compass:joint=platform;sigma=0.02"
    compass = read_form(AbstractInstrument, text)
    assert compass == own.Compass(joint="platform", sigma=0.02)
    agv = system_of("agv")
    plant = ns.Plant(
        sensors=(ns.sensors.Odometry(wheels=("wheel1", "wheel2")), compass),
        estimator=ns.sensors.ExtendedKalman(start_sigma={"platform.angle": 0.1}),
        seed=3,
    )
    run = ns.track(
        agv,
        ns.paths.Circle(radius=2.0),
        timing=ns.timing.ConstantSpeed(0.3),
        controller=ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.05),
        plant=plant,
        duration=4.0,
        samples=81,
    )
    noise = run["measured.compass.platform"][1:] - run["platform.angle"][1:]
    noise = np.arctan2(np.sin(noise), np.cos(noise))
    # 80 samples: four standard deviations of their mean square are 0.63 of it
    assert abs(np.mean(noise**2) / 0.02**2 - 1) < 0.63
    # without the compass the heading would be known no better than at the start, by 0.1 rad
    assert run["covariance.platform.angle,platform.angle"][-1] < 0.01**2


def test_a_scenario_names_the_sensor_in_its_file_and_report(own, folder):
    scenario = ns.Scenario(
        duration=1.0,
        samples=21,
        path=("circle:2",),
        timing="constant-speed:0.3",
        controller="pose",
        period=0.05,
        plant=ScenarioPlant(
            sensors=("odometry:wheels=wheel1,wheel2", "own_compass:joint=platform"),
            estimator="ekf",
        ),
    )
    model = replace(ns.load("agv"), scenario=scenario)
    ns.save_model(model, "agv.toml")
    assert ns.load("agv.toml") == model
    command("run", "agv.toml", "--no-plots", "--report", "-o", "run")
    assert "measured.compass.platform" in ns.read_run("run").columns
    assert "own_compass:joint=platform" in Path("run", "report.html").read_text()
    # the command line names sensors by the same texts
    command("track", "agv", "--path", "circle:2", "--controller", "pose", "--period", "0.05",
            "--duration", "0.5", "--sensor", "own_compass:joint=platform",
            "--sensor", "odometry:wheels=wheel1,wheel2", "--estimator", "ekf",
            "--no-plots", "--no-report", "-o", "tracked")  # fmt: skip
    assert "measured.compass.platform" in ns.read_run("tracked").columns


def test_the_system_is_exported(own, folder, system_of):
    done = ns.export(system_of("agv"), "a.own_states")
    assert done.files[0].read_text().startswith("a\nplatform.x\n")
    command("export", "agv", "--to", "own_listing", "-o", "b.own_states")
    assert Path("b.own_states").read_text().startswith("b\nplatform.x\n")


def test_a_plan_keeps_clear_of_an_obstacle(own, system_of):
    robot = system_of("differential-robot")
    asked = {"goal": {"base.x": 1.0}, "limits": {"left.torque": 2.0, "right.torque": 2.0}}
    corners = ((-0.1, 1.1), (1.1, 1.1), (1.1, 1.9), (-0.1, 1.9))
    same = ns.plan(robot, obstacles=[ns.obstacles.Polygon(points=corners)], intervals=10, **asked)
    found = ns.plan(robot, obstacles=[own.Pallet(center=(0.5, 1.5))], intervals=10, **asked)
    assert found.clearance == pytest.approx(same.clearance, rel=1e-9)
    assert found.clearance > 0
