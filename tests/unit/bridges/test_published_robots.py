"""Robots that nobody here described: those of the package example-robot-data, if it is installed.

A few by `make test`, all by `make test-all`.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

import noslip as ns


def robots():
    """The folder of the package with its descriptions, or None."""
    try:
        package = importlib.metadata.distribution("example-robot-data")
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(package.locate_file("cmeel.prefix/share/example-robot-data/robots"))


FOLDER = robots()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="example-robot-data is not installed")

#: Three arms and a humanoid.
SOME = ("panda.urdf", "ur5_robot.urdf", "kinova.urdf", "simple_humanoid.urdf")


def files():
    return [] if FOLDER is None else sorted(FOLDER.rglob("*.urdf"))


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


def test_a_mobile_manipulator_drives_on_its_wheels(pytestconfig):
    if not pytestconfig.getoption("--long"):
        pytest.skip("with --long")
    path = next(path for path in files() if path.name == "tiago.urdf")
    wheels = {"wheel_left_link": 0.0985, "wheel_right_link": 0.0985}
    joints = ns.load(path).joints
    held = [j.name for j in joints if j.name.split("_")[0] not in ("wheel", "base")]
    moving, kinds = ("revolute", "prismatic"), {j.name: j.type.word for j in joints}
    locked = {j: 0.0 for j in held if kinds[j] in moving and "caster" not in j}
    under = ns.Undercarriage(wheels=wheels, locked=locked)
    model, _ = ns.import_robot(path, under)
    system = ns.compile(ns.derive(model))
    here = ns.evaluate(system, {"wheel_left_joint.rate": 2.0, "wheel_right_joint.rate": 2.0})
    assert abs(here.speeds["base.vx"]) == pytest.approx(2.0 * 0.0985, rel=1e-6)
    assert here.speeds["base.rate"] == pytest.approx(0.0, abs=1e-9)
