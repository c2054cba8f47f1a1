"""MJCF files: trees against MuJoCo's numbers, equalities as exact rows, faults with their lines."""

from pathlib import Path

import numpy as np
import pytest

import noslip as ns
from noslip import ModelError

HERE = Path(__file__).parent

# hopper.xml by MuJoCo 4.0.0, mj_forward without contact and actuation, 1.5 N m applied to hip_y
ACCELERATIONS = {
    "hip_y.rate": 33.873246946371836,
    "hip_x.rate": -0.9593754154969889,
    "knee.rate": -62.11786480794472,
    "spring.speed": -10.943715440118968,
    "swing.rate": -30.584784482592177,
    "root.wx": 1.0569086885047336,
    "root.wy": -12.230263335968775,
    "root.wz": 1.620066269156837,
}
MASS = 12.45944448814865
TOE = (0.1790156787486748, -0.20594941767628708, 0.7585409057436235)

# coordinates count from the pose of the file
STATE = {
    "root.x": 0.1, "root.y": -0.2, "root.z": 0.3,
    "root.qw": 0.8, "root.qx": 0.2, "root.qy": -0.3, "root.qz": 0.4,
    "root.vx": 0.5, "root.vy": -0.1, "root.vz": 0.2,
    "root.wx": 0.3, "root.wy": -0.7, "root.wz": 0.4,
    "hip_y.angle": 0.3, "hip_x.angle": -0.2, "knee.angle": 0.7, "spring.position": 0.02,
    "swing.angle": -0.4, "hip_y.rate": 1.1, "hip_x.rate": -0.6, "knee.rate": -1.4,
    "spring.speed": 0.3, "swing.rate": 2.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def hopper():
    return ns.import_robot(HERE / "hopper.xml")


def test_a_tree_moves_as_mujoco_says(hopper):
    length = np.linalg.norm([STATE[f"root.q{k}"] for k in "wxyz"])
    state = {n: x / length if n.startswith("root.q") else x for n, x in STATE.items()}
    system = ns.compile(ns.derive(hopper.model))
    outputs = {k: f"point(toe, 0, 0, 0).{k}" for k in "xyz"}
    here = ns.evaluate(system, state, inputs={"hip_y_torque": 1.5}, outputs=outputs)
    for name, expected in ACCELERATIONS.items():
        assert here.accelerations[name] == pytest.approx(expected, rel=1e-10), name
    np.testing.assert_allclose([here.outputs[k] for k in "xyz"], TOE, rtol=1e-12)


# the same with armatures of 0.03, 0.2 (knee) and 0.7 kg (spring)
ARMED = {
    "hip_y.rate": 8.408212352200731,
    "hip_x.rate": 1.4585950991591967,
    "knee.rate": -7.389270007768787,
    "spring.speed": -4.569060995104721,
    "swing.rate": -2.9946206442372145,
    "root.wx": -0.6907448338937519,
    "root.wy": -5.350754002782965,
    "root.wz": 1.628806369126303,
}


def test_armatures_and_ranges_are_mujocos(tmp_path):
    text = (HERE / "hopper.xml").read_text()
    for old, new in (
        ('damping="0.05"', 'damping="0.05" armature="0.03"'),
        ('name="knee"', 'name="knee" armature="0.2" range="-20 90"'),
        ('type="slide"', 'type="slide" armature="0.7"'),
        ('ref="20"', 'ref="20" range="-30 60"'),
    ):
        text = text.replace(old, new)
    (tmp_path / "armed.xml").write_text(text)
    model, notes = ns.import_robot(tmp_path / "armed.xml")
    assert not any("armature" in note or "limits" in note for note in notes)
    limits = {joint.name: joint.limits for joint in model.joints if joint.limits}
    assert limits["knee"] == pytest.approx(np.radians((-20.0, 90.0)))
    # a coordinate counts from the pose of the file, where MuJoCo's is 20°
    assert limits["swing"] == pytest.approx(np.radians((-50.0, 40.0))) and len(limits) == 2
    length = np.linalg.norm([STATE[f"root.q{k}"] for k in "wxyz"])
    state = {n: x / length if n.startswith("root.q") else x for n, x in STATE.items()}
    here = ns.evaluate(ns.compile(ns.derive(model)), state, inputs={"hip_y_torque": 1.5})
    for name, expected in ARMED.items():
        assert here.accelerations[name] == pytest.approx(expected, rel=1e-10), name


def test_masses_come_from_geoms(hopper):
    assert sum(body.mass for body in hopper.model.bodies) == pytest.approx(MASS, rel=1e-14)


def test_what_is_not_carried_is_said(hopper):
    text = "\n".join(hopper.notes)
    assert "the servo of joint 'knee' (position) is a plain motor here" in text
    assert "joint 'swing' has ref = 0.349066" in text
    assert [i.name for i in hopper.model.inputs] == ["hip_y_torque", "knee_torque"]
    assert hopper.model.gravity == (0.1, 0.0, -9.7)


def test_equalities_are_loops_and_rows_that_hold():
    model, notes = ns.import_robot(HERE / "fourbar.xml")
    assert "equalities are held exactly, not softly" in notes
    system = ns.compile(ns.derive(model))
    assert len(system.independent_speeds) == 1
    run = ns.simulate(system, start={"crank.angle": 0.2, "crank.rate": 8.0}, duration=1.0)
    crank, hand = run["crank.angle"], run["hand.angle"]
    np.testing.assert_allclose(hand, 0.1 + 2 * crank + 0.5 * crank**2, atol=1e-9)
    # the pin, by the geometry of the links: turning about y by a takes (x, z) to (x c + z s, …)
    a = run["crank.angle"] + run["coupler.angle"]
    x = 0.1 * np.cos(crank) + 0.3 * np.cos(a) + 0.2 * np.sin(a)
    z = -0.1 * np.sin(crank) - 0.3 * np.sin(a) + 0.2 * np.cos(a)
    rocker = run["rocker.angle"]
    np.testing.assert_allclose(x, 0.4 + 0.2 * np.sin(rocker), atol=1e-9)
    np.testing.assert_allclose(z, 0.2 * np.cos(rocker), atol=1e-9)


WHEELED = """
<mujoco model="buggy">
  <worldbody>
    <body name="chassis" pos="3 4 0.5">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="5"/>
      <body name="left" pos="0 0.15 -0.05" zaxis="0 1 0">
        <joint name="left"/><geom type="cylinder" size="0.1 0.02" mass="0.5"/>
      </body>
      <body name="right" pos="0 -0.15 -0.05" zaxis="0 1 0">
        <joint name="right"/><geom type="cylinder" size="0.1 0.02" mass="0.5"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>
"""


def test_a_free_body_on_wheels_stands_on_the_ground(tmp_path):
    (tmp_path / "buggy.xml").write_text(WHEELED)
    under = ns.Undercarriage(wheels={"left": None, "right": None})
    model, _ = ns.import_robot(tmp_path / "buggy.xml", under)
    base = next(joint for joint in model.joints if joint.child == "chassis")
    assert isinstance(base.type, ns.joints.Planar)
    assert base.parent_frame.position == pytest.approx((0.0, 0.0, 0.15))
    system = ns.compile(ns.derive(model))
    # F = ma by hand: two wheels of I = m r²/2 that roll
    torque = {"left_torque": 0.3, "right_torque": 0.3}
    here = ns.evaluate(system, {}, inputs=torque)
    expected = 2 * 0.3 / 0.1 / (6.0 + 2 * 0.5 / 2)
    assert here.accelerations[f"{base.name}.vx"] == pytest.approx(expected, rel=1e-12)
    # wheels turn forward about their z axes, which point to the left
    assert here.accelerations["left.rate"] == pytest.approx(expected / 0.1, rel=1e-12)


FAULTS = {
    "type": ('<joint type="screw"/>', "has the type 'screw'"),
    "axis": ('<joint axis="0 0 0"/>', "has the axis (0, 0, 0)"),
    "size": ('<geom type="capsule" size="0.1"/>', "a <geom> of type capsule has the size '0.1'"),
    "geom": ('<geom type="cone" size="1"/>', "a <geom> has the type 'cone'"),
    "class": ('<geom class="nobody" size="1"/>', "there is no default class 'nobody'"),
    "quaternion": ('<geom quat="0 0 0 0" size="1"/>', "a quaternion is zero"),
    "number": ('<geom size="1e400"/>', 'size="1e400" of <geom>'),
    "mass": ('<inertial mass="-2" pos="0 0 0" diaginertia="1 1 1"/>', "has the mass -2 kg"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_told_with_their_line(tmp_path, case):
    inner, what = FAULTS[case]
    (tmp_path / "bad.xml").write_text(
        f'<mujoco>\n<worldbody>\n<body name="a">\n{inner}\n</body>\n</worldbody>\n</mujoco>'
    )
    with pytest.raises(ModelError) as caught:
        ns.load(tmp_path / "bad.xml")
    fault = next(f for f in caught.value.faults if what in f.what)
    assert fault.where.endswith("line 3" if case == "mass" else "line 4") and fault.fix


def test_a_sequence_of_angles_that_is_none_is_a_fault(tmp_path, refuses):
    (tmp_path / "bad.xml").write_text(
        '<mujoco>\n<compiler eulerseq="xyw"/>\n<worldbody><body name="a" euler="1 2 3"><joint/>'
        '<geom size="1"/></body></worldbody></mujoco>'
    )
    with refuses(ModelError, "eulerseq='xyw'", "line 2", "three axes"):
        ns.load(tmp_path / "bad.xml")


def test_nothing_outside_the_file_is_read(tmp_path):
    (tmp_path / "more.xml").write_text("<mujoco><worldbody/></mujoco>")
    (tmp_path / "a.xml").write_text(
        '<mujoco><include file="more.xml"/><worldbody><body name="b"><joint/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert "included files are left out" in ns.import_robot(tmp_path / "a.xml").notes
    (tmp_path / "x.xml").write_text('<!DOCTYPE m [<!ENTITY e SYSTEM "more.xml">]><mujoco/>')
    with pytest.raises(ModelError, match="declares a document type"):
        ns.load(tmp_path / "x.xml")
    (tmp_path / "y.xml").write_text("<robot/>")
    with pytest.raises(ModelError, match="is a <robot>, not a <mujoco>"):
        ns.load(tmp_path / "y.xml")
