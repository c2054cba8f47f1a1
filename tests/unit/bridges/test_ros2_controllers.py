"""Parameters of ros2_controllers: what the controllers compute with them is how the models roll."""

import math

import pytest

import noslip as ns
from noslip import ModelError


@pytest.fixture
def written(tmp_path, system_of):
    yaml = pytest.importorskip("ruamel.yaml")

    def write(name):
        path = tmp_path / f"{name}.controllers.yaml"
        notes = ns.save_model(system_of(name).model, path)
        assert "limits, rates and gains are yours" in notes[0]
        read = yaml.YAML(typ="safe", pure=True).load(path)
        kind = read["controller_manager"]["ros__parameters"]["drive_controller"]["type"]
        return kind, read["drive_controller"]["ros__parameters"]

    return write


def test_a_differential_base_turns_as_its_controller_commands(written, system_of):
    kind, found = written("differential-robot")
    assert kind == "diff_drive_controller/DiffDriveController"
    v, w = 0.7, 0.4
    system = system_of("differential-robot")
    # the wheel rates of diff_drive_controller
    rates = {
        f"{found[f'{side}_wheel_names'][0]}.rate": (v + sign * w * found["wheel_separation"] / 2)
        / found["wheel_radius"]
        for side, sign in (("left", -1), ("right", 1))
    }
    here = ns.evaluate(system, rates)
    assert here.speeds["base.vx"] == pytest.approx(v, rel=1e-12)
    assert here.speeds["base.rate"] == pytest.approx(w, rel=1e-12)
    assert found["base_frame_id"] == "base" and found["odom_frame_id"] == "odom"


def test_a_mecanum_base_moves_as_its_controller_commands(written, system_of):
    kind, found = written("mecanum-base")
    assert kind == "mecanum_drive_controller/MecanumDriveController"
    vx, vy, w = 0.5, -0.3, 0.7
    r = found["kinematics"]["wheels_radius"]
    reach = found["kinematics"]["sum_of_robot_center_projection_on_X_Y_axis"]
    # the inverse kinematics of mecanum_drive_controller
    signs = {
        "front_left": (-1, -1),
        "front_right": (1, 1),
        "rear_right": (-1, 1),
        "rear_left": (1, -1),
    }
    here = ns.evaluate(system_of("mecanum-base"), {"base.vx": vx, "base.vy": vy, "base.rate": w})
    for name, (aside, turn) in signs.items():
        joint = found[f"{name}_wheel_command_joint_name"]
        expected = (vx + aside * vy + turn * reach * w) / r
        assert here.speeds[f"{joint}.rate"] == pytest.approx(expected, rel=1e-9)


def test_a_car_steers_as_its_controller_commands(written, system_of):
    kind, found = written("ackermann-car")
    assert kind == "ackermann_steering_controller/AckermannSteeringController"
    system = system_of("ackermann-car")
    steer = 0.3
    here = ns.evaluate(system, {"front.steer.angle": steer, "base.vx": 2.0})
    # the radius of the turn, and the angles and rates of the wheels around its center
    radius = found["wheelbase"] / math.tan(steer)
    assert here.speeds["base.rate"] == pytest.approx(2.0 / radius, rel=1e-9)
    left, right = found["steering_joints_names"]
    half = found["steering_track_width"] / 2
    for joint, side in ((left, -half), (right, half)):
        expected = math.atan(found["wheelbase"] / (radius + side))
        assert here.coordinates[f"{joint}.angle"] == pytest.approx(expected, rel=1e-9)
    left, right = found["traction_joints_names"]
    half = found["traction_track_width"] / 2
    for joint, side in ((left, -half), (right, half)):
        expected = 2.0 * (1 + side / radius) / found["traction_wheels_radius"]
        assert here.speeds[f"{joint}.rate"] == pytest.approx(expected, rel=1e-9)


def test_a_forklift_is_a_tricycle(written):
    kind, found = written("forklift")
    assert kind == "tricycle_controller/TricycleController"
    assert found["traction_joint_name"] == "rear" and found["steering_joint_name"] == "rear.steer"
    assert found["wheelbase"] == pytest.approx(1.4) and found["wheel_radius"] == pytest.approx(0.2)


def test_bases_that_no_controller_fits_are_refused(tmp_path, system_of):
    for name, what in (
        ("omni-base", "no controller fits 3 wheels"),
        ("snakeboard", "no controller"),
    ):
        with pytest.raises(ModelError, match=what):
            ns.save_model(ns.load(name), tmp_path / "x.controllers.yaml")
    with pytest.raises(ModelError, match="no base that moves over the ground"):
        ns.save_model(ns.load("manipulator-2r"), tmp_path / "x.controllers.yaml")
