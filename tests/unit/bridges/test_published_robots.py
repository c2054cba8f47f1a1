"""Robots that nobody here described: those of the package example-robot-data, if it is installed.

A few by `make test`, all by `make test-all`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import noslip as ns


def robots():
    """The folder of the package with its descriptions, or None."""
    found = importlib.util.find_spec("example_robot_data")
    if found is None or found.origin is None:
        return None
    place = Path(found.origin).resolve()
    for above in place.parents:
        folder = next(above.glob("share/example-robot-data/robots"), None)
        folder = folder or next(above.glob("**/share/example-robot-data/robots"), None)
        if folder is not None:
            return folder
        if above.name in ("site-packages", "erd"):
            break
    return None


FOLDER = robots()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="example-robot-data is not installed")

#: Three arms, a humanoid and a hand.
SOME = ("panda.urdf", "ur5_robot.urdf", "kinova.urdf", "simple_humanoid.urdf")


def files():
    return [] if FOLDER is None else sorted(FOLDER.rglob("*.urdf"))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_every_robot_becomes_a_model_or_says_why_not(path, pytestconfig):
    if path.name not in SOME and not pytestconfig.getoption("--long"):
        pytest.skip("with --long")
    model, notes = ns.import_robot(path, ns.Undercarriage(base="free"))
    assert model.bodies and all(note for note in notes)
    system = ns.compile(ns.derive(model))
    here = ns.evaluate(system, {})
    assert np.all(np.isfinite(list(here.accelerations.values())))


@pytest.mark.parametrize("name", ["tiago.urdf", "tiago_dual.urdf"])
def test_a_mobile_manipulator_drives_on_its_wheels(name):
    path = next(path for path in files() if path.name == name)
    wheels = {"wheel_left_link": 0.0985, "wheel_right_link": 0.0985}
    held = [j.name for j in ns.load(path).joints if j.name.split("_")[0] not in ("wheel", "base")]
    moving = ("revolute", "prismatic")
    kinds = {j.name: j.type.word for j in ns.load(path).joints}
    locked = {j: 0.0 for j in held if kinds[j] in moving and "caster" not in j}
    under = ns.Undercarriage(wheels=wheels, locked=locked)
    model, _ = ns.import_robot(path, under)
    system = ns.compile(ns.derive(model))
    here = ns.evaluate(system, {"wheel_left_joint.rate": 2.0, "wheel_right_joint.rate": 2.0})
    assert abs(here.speeds["base.vx"]) == pytest.approx(2.0 * 0.0985, rel=1e-6)
    assert here.speeds["base.rate"] == pytest.approx(0.0, abs=1e-9)
