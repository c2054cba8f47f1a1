"""Robots that nobody here described: those of registry packages, where these are installed.

    pip install --group robots       example-robot-data: arms, humanoids, a mobile manipulator
    pip install pybullet             a differential-drive base and an Ackermann car; no wheels for
                                     every Python

A few by `make test`, all by `make test-all`: each becomes a running model in one command.
"""

import importlib.metadata
import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli import main


def robots():
    """The folder of example-robot-data with its descriptions, or None."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))


def bullet():
    """The folder of pybullet's data, or None."""
    found = importlib.util.find_spec("pybullet_data")
    return None if found is None else Path(found.submodule_search_locations[0])


FOLDER = robots()
needs_robots = pytest.mark.skipif(FOLDER is None, reason="example-robot-data is not installed")

#: Three arms and a humanoid.
SOME = ("panda.urdf", "ur5_robot.urdf", "kinova.urdf", "simple_humanoid.urdf")


class Robot(NamedTuple):
    """A file of a package, how it is imported and what drives it; speed at the start."""

    package: str
    file: str
    options: tuple[str, ...] = ()
    drive: tuple[str, ...] = ()


WHEELS = ("front_left", "front_right", "rear_left", "rear_right")
HELD = tuple(f"arm_{k}_joint" for k in range(1, 8))
TIAGO = "tiago_description/robots/tiago_no_hand.urdf"
ON_WHEELS = ("--wheel", "wheel_left_link=0.0985", "--wheel", "wheel_right_link=0.0985")
#: A robot of each kind → one command.
COMMANDS = {
    "differential drive": Robot(
        "pybullet",
        "husky/husky.urdf",
        (
            *(text for name in WHEELS for text in ("--wheel", f"{name}_wheel_link")),
            *(text for name in WHEELS[:2] for text in ("--slides", f"{name}_wheel_link")),
        ),
        ("rear_left_wheel.rate=3",),
    ),
    "Ackermann car": Robot(
        "pybullet",
        "racecar/racecar.urdf",
        (
            *("--wheel", "left_rear_wheel", "--wheel", "right_rear_wheel"),
            *("--wheel", "left_front_wheel", "--wheel", "right_front_wheel"),
            *("--slides", "right_front_wheel"),
        ),
        ("left_rear_wheel_joint.rate=-4",),
    ),
    "mobile manipulator": Robot("robots", TIAGO, ON_WHEELS, ("wheel_left_joint.rate=2",)),
    "base of a mobile manipulator": Robot(
        "robots",
        TIAGO,
        (
            *ON_WHEELS,
            *(text for name in HELD for text in ("--lock", name)),
            *("--lock", "torso_lift_joint=0.1", "--lock", "head_1_joint", "--lock", "head_2_joint"),
        ),
        ("wheel_left_joint.rate=2", "wheel_right_joint.rate=2"),
    ),
    "arm with seven joints": Robot("robots", "panda_description/urdf/panda.urdf"),
    "arm with six joints": Robot("robots", "ur_description/urdf/ur5_robot.urdf"),
    "arm with a hand": Robot("robots", "kinova_description/robots/kinova.urdf"),
    "humanoid": Robot(
        "robots", "simple_humanoid_description/urdf/simple_humanoid.urdf", ("--base", "free")
    ),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_one_command_makes_a_running_model(kind, tmp_path, pytestconfig):
    robot = COMMANDS[kind]
    folder = {"robots": FOLDER, "pybullet": bullet()}[robot.package]
    if not pytestconfig.getoption("--long"):
        pytest.skip("with --long")
    if folder is None:
        pytest.skip(f"the package of {robot.file} is not installed")
    model = tmp_path / "robot.toml"
    source = folder / robot.file
    text = source.read_text()
    if "$(optenv" in text:
        # of the Husky two values of xacro are left in the file: expanded beforehand, as it is asked
        source = tmp_path / source.name
        source.write_text(re.sub(r"\$\(optenv \w+ ([^)]*)\)", r"\1", text))
    command = ["import", str(source), "-o", str(model), *robot.options]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    start = [text for given in robot.drive for text in ("--set", given)]
    out = tmp_path / "run"
    command = ["run", str(model), *start, "--duration", "0.5", "-o", str(out), "--no-report"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    run = ns.read_run(out)
    assert (
        run.success
        and np.abs(run.row_residuals).max(initial=0.0) < 1e-9
        and abs(run.energy_drift) < 1e-6
    )
    if robot.drive:
        name, _, rate = robot.drive[0].partition("=")
        assert run[name][0] == pytest.approx(float(rate), rel=1e-9)
        assert np.hypot(run["base.x"][-1], run["base.y"][-1]) > 0.05


def files():
    return [] if FOLDER is None else sorted(FOLDER.rglob("*.urdf"))


@needs_robots
@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_every_robot_becomes_a_model_or_says_why_not(path, pytestconfig):
    if path.name not in SOME and not pytestconfig.getoption("--long"):
        pytest.skip("with --long")
    try:
        model, notes = ns.import_robot(path, ns.Undercarriage(base="free"))
    except ns.ModelError as error:
        # some have inertias that no body has, or follow joints that are not there
        assert path.name not in SOME and error.what and error.where and error.fix
        return
    assert model.bodies and all(note for note in notes)
    system = ns.compile(ns.derive(model))
    here = ns.evaluate(system, {})
    assert np.all(np.isfinite(list(here.accelerations.values())))


@needs_robots
def test_a_mobile_manipulator_rolls_as_its_wheels_turn(pytestconfig):
    if not pytestconfig.getoption("--long"):
        pytest.skip("with --long")
    wheels = {"wheel_left_link": 0.0985, "wheel_right_link": 0.0985}
    locked = dict.fromkeys((*HELD, "torso_lift_joint", "head_1_joint", "head_2_joint"), 0.0)
    model, _ = ns.import_robot(FOLDER / TIAGO, ns.Undercarriage(wheels=wheels, locked=locked))
    system = ns.compile(ns.derive(model))
    here = ns.evaluate(system, {"wheel_left_joint.rate": 2.0, "wheel_right_joint.rate": 2.0})
    assert abs(here.speeds["base.vx"]) == pytest.approx(2.0 * 0.0985, rel=1e-6)
    assert here.speeds["base.rate"] == pytest.approx(0.0, abs=1e-9)
