"""Measured data: names and units said once, in SI, for plots, inputs and fits."""

import math

import numpy as np
import pytest

import noslip as ns
from noslip import SimulationError

LOG = "stamp,pos_x,heading,speed,torque\n0,10,90,3.6,1\n20,30,180,7.2,2\n50,70,45,0,4\n"
COLUMNS = """
time = {column = "stamp", unit = "ms"}
[columns]
pos_x = {name = "base.x", unit = "mm"}
heading = {name = "base.angle", unit = "deg"}
speed = {name = "base.vx", unit = "km/h"}
torque = {name = "left.torque", unit = "N*m"}
"""


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def test_names_and_units_are_said_once_in_a_file_beside(log):
    log.with_suffix(".columns.toml").write_text(COLUMNS)
    found = ns.read_measured(log)
    assert found.t == pytest.approx([0.0, 0.02, 0.05])
    assert {n: u for n, (u, _) in found.columns.items()} == {
        "base.x": "m", "base.angle": "rad", "base.vx": "m/s", "left.torque": "N*m",
    }  # fmt: skip
    assert found["base.x"] == pytest.approx([0.01, 0.03, 0.07])
    assert found["base.angle"] == pytest.approx([math.pi / 2, math.pi, math.pi / 4])
    assert found["base.vx"] == pytest.approx([1.0, 2.0, 0.0])
    assert "base.x [m]" in repr(found)


def test_or_in_the_call(log):
    found = ns.read_measured(
        log, columns={"pos_x": "base.x"}, units={"pos_x": "mm", "stamp": "ms"}, time="stamp"
    )
    assert list(found.columns) == ["base.x"] and found.t[-1] == pytest.approx(0.05)


def test_units_that_are_not_said_are_asked_for(log):
    with pytest.raises(SimulationError) as error:
        ns.read_measured(log)
    said = str(error.value)
    assert "'pos_x', 'heading', 'speed', 'torque' has no unit" in said
    assert 'say once in log.columns.toml: columns.pos_x = {name = "pos_x", unit = "m"}' in said


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ({"columns": {"pos_y": "base.y"}}, "there is no column 'pos_y'"),
        ({"columns": {"pos_x": "base.x"}, "units": {"pos_x": "parsec"}}, "is not a unit"),
        (
            {"columns": {"pos_x": "x"}, "units": {"pos_x": "m"}, "time": "heading"},
            "do not increase",
        ),
        ({"columns": {"pos_x": "x"}, "units": {"pos_x": "__import__('os')"}}, "is not a unit"),
    ],
)
def test_what_is_wrong_is_said(log, call, what):
    with pytest.raises(SimulationError, match=what):
        ns.read_measured(log, **call)


@pytest.mark.parametrize("text", ["columns = 3", "colums.x = 1", "columns.pos_x = 3", "= 2"])
def test_a_file_beside_that_is_wrong_is_refused(log, text):
    log.with_suffix(".columns.toml").write_text(text)
    with pytest.raises(SimulationError):
        ns.read_measured(log)


def test_runs_come_back_from_every_format_and_are_drawn_beside_the_model(tmp_path, system_of):
    pytest.importorskip("pyarrow")
    start = {"wheel1.rate": 2.0, "wheel2.rate": 3.0}
    run = ns.simulate(system_of("agv"), start=start, duration=1.0, samples=11)
    for suffix in ("csv", "nc", "parquet"):
        path = tmp_path / f"run.{suffix}"
        run.save(path)
        found = ns.read_measured(path)
        np.testing.assert_array_equal(found["platform.x"], run["platform.x"])
        np.testing.assert_array_equal(found.t, run.t)
    figure = ns.plot([run, found], ["platform.x"], labels=["model", "measured"])
    assert len(figure.axes[0].lines) == 2
    with pytest.raises(SimulationError, match="give a list of columns"):
        ns.plot(found, "path")
    torque = found.as_input("torque1")
    again = ns.simulate(
        system_of("agv"), start=start, duration=1.0, inputs={"torque1": torque}, samples=11
    )
    assert again["platform.x"] == pytest.approx(run["platform.x"], abs=1e-9)


def test_a_bag_gives_joints_and_the_base(tmp_path, system_of):
    pytest.importorskip("rosbags")
    start = {"wheel1.rate": 2.0, "wheel2.rate": 3.0}
    run = ns.simulate(system_of("agv"), start=start, duration=1.0, samples=11)
    run.save(tmp_path / "run.mcap")
    names = {"wheel1.position": "wheel1.angle", "odom.x": "platform.x", "odom.yaw": "heading"}
    found = ns.read_measured(tmp_path / "run.mcap", columns=names, units={"wheel1.position": "rad"})
    assert found.t == pytest.approx(run.t, abs=1e-9)
    assert found["wheel1.angle"] == pytest.approx(run["wheel1.angle"], abs=1e-12)
    assert found["platform.x"] == pytest.approx(run["platform.x"], abs=1e-12)
    assert found["heading"] == pytest.approx(run["platform.angle"], abs=1e-12)
    with pytest.raises(SimulationError, match="has no unit"):
        ns.read_measured(tmp_path / "run.mcap", columns={"wheel1.position": "a"})
    (tmp_path / "bad.mcap").write_bytes(b"no bag at all")
    with pytest.raises(SimulationError, match="the bag cannot be read"):
        ns.read_measured(tmp_path / "bad.mcap")
