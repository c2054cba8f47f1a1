"""Runs for other programs, read back by those programs' own readers."""

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip import SimulationError
from noslip.cli import main
from noslip.formats import AbstractRunFormat


@pytest.fixture(scope="module")
def run(system_of):
    start = {"platform.angle": 0.3, "wheel1.rate": 2.0, "wheel2.rate": 3.0, "bracket.angle": 0.1}
    return ns.simulate(system_of("agv"), start=start, duration=1.0, samples=11)


def written(run, path):
    run.save(path)
    return path


def test_a_mat_file_holds_every_column(run, tmp_path):
    from scipy.io import loadmat

    read = loadmat(written(run, tmp_path / "run.mat"), simplify_cells=True)
    for name, (unit, values) in run.columns.items():
        field = name.replace(".", "_")
        np.testing.assert_array_equal(read["run"][field], values)
        assert read["units"][field] == unit and read["names"][field] == name
    np.testing.assert_array_equal(read["run"]["time"], run.t)


def test_a_parquet_file_is_a_table_with_units(run, tmp_path):
    import pandas as pd
    import pyarrow.parquet

    path = written(run, tmp_path / "run.parquet")
    table = pd.read_parquet(path)
    assert list(table.columns) == ["time", *run.columns]
    np.testing.assert_array_equal(table["platform.x"], run["platform.x"])
    assert pyarrow.parquet.read_schema(path).field("platform.x").metadata[b"unit"] == b"m"
    format = next(cls for cls in _members() if cls.word == "parquet")()
    read = format.read(path)
    assert {n: u for n, (u, _) in read.items()} == {
        "time": "s", **{n: u for n, (u, _) in run.columns.items()}
    }  # fmt: skip
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(SimulationError, match="the file is not Parquet"):
        format.read(tmp_path / "bad.parquet")


def _members():
    from noslip.base.families import members_of

    return members_of(AbstractRunFormat, installed=True)


def test_a_bag_is_read_by_ros_tools(run, tmp_path):
    from rosbags.rosbag2 import Reader
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    got = {}
    with Reader(written(run, tmp_path / "run.mcap")) as reader:
        for connection, stamp, data in reader.messages():
            message = store.deserialize_cdr(data, connection.msgtype)
            got.setdefault(connection.topic, []).append((stamp, message))
    assert {topic: len(found) for topic, found in got.items()} == {
        "/path": 1, "/joint_states": 11, "/odom": 11, "/tf": 11,
    }  # fmt: skip
    stamp, state = got["/joint_states"][3]
    assert stamp == 300_000_000
    assert state.name == ["bracket", "wheel1", "wheel2", "wheel3"]
    at = [run[f"{name}.angle"][3] for name in state.name]
    np.testing.assert_array_equal(state.position, at)
    np.testing.assert_array_equal(state.velocity, [run[f"{n}.rate"][3] for n in state.name])
    odometry = got["/odom"][10][1]
    place, turn = odometry.pose.pose.position, odometry.pose.pose.orientation
    assert (place.x, place.y) == (run["platform.x"][-1], run["platform.y"][-1])
    angle = 2 * np.arctan2(turn.z, turn.w)
    assert angle == pytest.approx(run["platform.angle"][-1], abs=1e-14)
    assert odometry.twist.twist.linear.x == run["platform.vx"][-1]
    assert odometry.header.frame_id == "odom" and odometry.child_frame_id == "platform"
    transform = got["/tf"][10][1].transforms[0]
    assert transform.transform.translation.y == place.y
    assert len(got["/path"][0][1].poses) == 11


def test_export_writes_what_was_run(system_of, run, tmp_path):
    ns.write_run(run, tmp_path / "folder", system=system_of("agv"), plots=False)
    target = tmp_path / "out.mat"
    words = ["export", str(tmp_path / "folder"), "--to", "mat", "-o", str(target)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0 and target.is_file(), result.output
    assert CliRunner().invoke(main, words).exit_code == 1  # nothing is replaced
    assert CliRunner().invoke(main, [*words, "--force"]).exit_code == 0
    result = CliRunner().invoke(main, ["export", str(tmp_path), "--to", "csv"])
    assert result.exit_code == 1 and "is not a run" in result.output
