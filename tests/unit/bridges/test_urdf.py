"""URDF files: the tree against Pinocchio's numbers, wheels against the same robot by hand."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import noslip as ns
from noslip import ModelError
from noslip.bridges.urdf import read_urdf

HERE = Path(__file__).parent
CART = HERE.parents[2] / "examples" / "cart.urdf"
JOINTS = ("swing_1", "elbow", "reach")
STATE = {
    "swing_1.angle": 0.7, "elbow.angle": -0.9, "reach.position": 0.13,
    "swing_1.rate": 1.3, "elbow.rate": -2.1, "reach.speed": 0.4,
}  # fmt: skip

# arm.urdf by Pinocchio 4.1.0 at STATE: crba, nonLinearEffects, the frame of the tool
MASS = np.array(
    [
        [0.6537640367643236, 0.2591902001551024, 0.007865666309513467],
        [0.2591902001551024, 0.1351703194723371, -0.005303064213864535],
        [0.007865666309513467, -0.005303064213864535, 0.8999999999999998],
    ]
)
BIAS = np.array([11.301524056208835, 3.3380058533815773, -5.242241821995564])
TOOL = (-0.2976966587215529, 0.13958665412695756, 0.013449239333833612)


@pytest.fixture(scope="module")
def arm():
    return ns.import_robot(HERE / "arm.urdf")


@pytest.fixture(scope="module")
def arm_system(arm):
    return ns.compile(ns.derive(arm.model))


def accelerations(system, torques):
    names = ("swing_1_torque", "elbow_torque", "reach_force")
    here = ns.evaluate(system, STATE, inputs=dict(zip(names, torques, strict=True)))
    return np.array([here.accelerations[n] for n in ("swing_1.rate", "elbow.rate", "reach.speed")])


def test_an_arm_moves_as_pinocchio_says(arm_system):
    # Pinocchio leaves the elbow's damping of 0.4 N m s out
    bias = BIAS + np.array([0.0, 0.4 * STATE["elbow.rate"], 0.0])
    for torques in ((0.0, 0.0, 0.0), (3.0, -1.2, 5.0), (-40.0, 7.0, 30.0)):
        expected = np.linalg.solve(MASS, np.array(torques) - bias)
        np.testing.assert_allclose(accelerations(arm_system, torques), expected, rtol=1e-12)


# aba of the same with model.armature = ARMATURE, torques 3, −1.2 and 5 and the elbow's damping
ARMATURE = (0.4, 0.07, 1.3)
ARMED = (-5.090696489927724, -11.47294890505121, 4.646109889592033)


def test_rotors_resist_as_pinocchio_says(arm):
    armature = dict(zip(JOINTS, ARMATURE, strict=True))
    joints = tuple(
        dataclasses.replace(j, armature=armature.get(j.name, 0.0)) for j in arm.model.joints
    )
    system = ns.compile(ns.derive(dataclasses.replace(arm.model, joints=joints)))
    np.testing.assert_allclose(accelerations(system, (3.0, -1.2, 5.0)), ARMED, rtol=1e-12)


def test_limits_are_ranges_of_the_coordinates(arm, arm_system):
    limits = {joint.name: joint.limits for joint in arm.model.joints}
    assert limits["elbow"] == (-2.0, 2.0) and limits["reach"] == (0.0, 0.2)
    assert limits["swing_1"] is None  # a continuous joint
    run = ns.simulate(arm_system, start={"reach.position": 0.1}, duration=2.0)
    assert run.ended_by == "reach reaches its limit"
    assert run["reach.position"][-1] == pytest.approx(0.2, abs=1e-9)


def test_a_frame_on_it_is_where_pinocchio_says(arm_system):
    outputs = {f"tool_{k}": f"point(tool, 0, 0, 0).{k}" for k in "xyz"}
    here = ns.evaluate(arm_system, STATE, outputs=outputs)
    got = [here.outputs[name] for name in outputs]
    np.testing.assert_allclose(got, TOOL, rtol=1e-13)


def test_what_is_not_carried_is_said(arm):
    text = "\n".join(arm.notes)
    assert "mesh 'package://robot/meshes/tool.dae' of link 'tool' is not drawn: there is no" in text
    assert "limits of effort and velocity are left out" in text
    assert "'upper arm' → 'upper_arm'" in text and "'swing-1' → 'swing_1'" in text
    assert arm.model.name == "test-arm"


def test_an_imported_model_is_saved_and_read_again(arm, tmp_path):
    ns.save_model(arm.model, tmp_path / "arm.toml")
    assert ns.load(tmp_path / "arm.toml") == arm.model


def by_hand():
    """The cart of cart.urdf on its two wheels and its caster, written out."""
    b = ns.ModelBuilder(name="cart", gravity=(0.0, 0.0, -9.81))
    b.body(
        "chassis", mass=12.0, center_of_mass=(0.05, 0.0, 0.08),
        inertia=(0.2, 0.3, 0.4, 0.0, 0.01, 0.0),
    )  # fmt: skip
    b.joint(
        "base", ns.joints.Planar(), parent="world", child="chassis",
        parent_frame=ns.Placement(position=(0.0, 0.0, 0.1)),
    )  # fmt: skip
    for name, y in (("left", 0.2), ("right", -0.2)):
        b.body(name, mass=1.0, inertia=(0.0017, 0.0032, 0.0017))
        b.joint(
            f"{name}_joint", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="chassis", child=name,
            parent_frame=ns.Placement(position=(0.0, y, -0.02)),
        )  # fmt: skip
        wheel = ns.surfaces.Disk(radius=0.08, axis=(0.0, 1.0, 0.0))
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=wheel, normal=False))
        b.input(f"{name}_joint_torque", "N*m")
        b.force(
            ns.forces.Motor(name=name, speed=f"{name}_joint.rate", input=f"{name}_joint_torque")
        )
        b.force(ns.forces.JointDamper(name=f"{name}_d", speed=f"{name}_joint.rate", damping=0.01))
    b.body("fork", mass=0.3, inertia=(0.0002,) * 3, center_of_mass=(-0.02, 0.0, 0.0))
    b.joint(
        "swivel", ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), parent="chassis", child="fork",
        parent_frame=ns.Placement(position=(0.25, 0.0, -0.02)),
    )  # fmt: skip
    b.body("roller", mass=0.2, inertia=(0.0001, 0.00016, 0.0001))
    b.joint(
        "roller_joint", ns.joints.Revolute(axis=(0.0, 1.0, 0.0)), parent="fork", child="roller",
        parent_frame=ns.Placement(position=(-0.04, 0.0, -0.04)),
    )  # fmt: skip
    wheel = ns.surfaces.Disk(radius=0.04, axis=(0.0, 1.0, 0.0))
    b.contact(ns.contacts.Rolling(name="roller", body="roller", wheel=wheel, normal=False))
    return b.build()


START = {"base.angle": 0.4, "swivel.angle": 0.6, "base.vx": 0.5, "base.rate": -0.8}
INPUTS = {"left_joint_torque": 0.7, "right_joint_torque": -0.3}


@pytest.fixture(scope="module")
def cart():
    under = ns.Undercarriage(wheels={"left": None, "right": None}, casters={"fork": None})
    return ns.import_robot(CART, under)


def test_a_robot_on_wheels_moves_as_the_one_by_hand(cart):
    made = ns.evaluate(ns.compile(ns.derive(cart.model)), START, inputs=INPUTS)
    hand = ns.evaluate(ns.compile(ns.derive(by_hand())), START, inputs=INPUTS)
    for name in ("base.vx", "base.rate", "left_joint.rate", "swivel.rate", "roller_joint.rate"):
        assert made.accelerations[name] == pytest.approx(hand.accelerations[name], rel=1e-12), name


def test_wheels_are_found_from_their_geometry(cart):
    model = cart.model
    values = model.parameter_values()
    assert values == {"r_left": 0.08, "r_right": 0.08, "r_roller": 0.04}
    base = next(joint for joint in model.joints if joint.name == "base")
    assert base.parent_frame.position == (0.0, 0.0, 0.0)  # the footprint is on the ground
    assert [i.name for i in model.inputs] == ["left_joint_torque", "right_joint_torque"]
    assert ns.check(model).degrees_of_freedom == 2


def test_the_formulations_agree_on_it(cart):
    assert ns.verify(cart.model, states=4, seed=1).holds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('wheels = ["left", "right"]\ncasters = ["roller"]\n', ("swivel.rate", None)),
        ('wheels = {left = 0.1, right = 0.1}\nslides = ["right"]\n', (None, 0.1)),
        ('wheels = ["left"]\nlocked = {right_joint = 0.3}\nbase = "free"\n', (None, None)),
    ],
)
def test_a_file_beside_it_says_what_rolls(tmp_path, text, found):
    (tmp_path / "cart.urdf").write_bytes((CART).read_bytes())
    (tmp_path / "cart.rolling.toml").write_text(text)
    model = ns.load(tmp_path / "cart.urdf")
    assert model == ns.import_robot(tmp_path / "cart.urdf").model
    passive, radius = found
    driven = {force.speed for force in model.forces if isinstance(force, ns.forces.Motor)}
    assert passive not in driven
    if radius is not None:
        assert model.parameter_values()["r_left"] == radius
        contacts = {contact.name: contact.lateral for contact in model.contacts}
        assert contacts == {"left": True, "right": False}
    if "free" in text:
        base = next(joint for joint in model.joints if joint.name == "base")
        assert isinstance(base.type, ns.joints.Free) and model.contacts[0].normal


def test_locked_joints_are_where_they_were_told(tmp_path):
    """A locked arm is the rigid body that Pinocchio's tool pose shows."""
    locked = {"swing-1": 0.7, "elbow": -0.9}
    model = ns.import_robot(HERE / "arm.urdf", ns.Undercarriage(locked=locked)).model
    system = ns.compile(ns.derive(model))
    outputs = {k: f"point(tool, 0, 0, 0).{k}" for k in "xyz"}
    here = ns.evaluate(system, {"reach.position": 0.13}, outputs=outputs)
    np.testing.assert_allclose([here.outputs[k] for k in "xyz"], TOOL, rtol=1e-13)


FAULTS = {
    "a joint without a child": (
        '<joint name="lost" type="fixed"><parent link="base_footprint"/></joint>',
        "joint 'lost' has no child",
    ),
    "an unknown type": (
        '<joint name="odd" type="hinge"><parent link="left"/><child link="fork"/></joint>',
        "joint 'odd' has the type 'hinge'",
    ),
    "a link that is not there": (
        '<joint name="far" type="fixed"><parent link="lef"/><child link="moon"/></joint>',
        "joint 'far' has the parent 'lef', which is not a link",
    ),
    "two parents": (
        '<joint name="again" type="fixed"><parent link="left"/><child link="fork"/></joint>',
        "link 'fork' is the child of 'swivel' and of 'again'",
    ),
    "a second root": ('<link name="alone"/>', "there are 2 links that no joint carries"),
    "a name twice": ('<link name="fork"/>', "two links are called 'fork'"),
    "a huge number": (
        '<link name="fork2"><inertial><mass value="1e300"/></inertial></link>',
        'value="1e300" of <mass> is not a number within',
    ),
    "no number": (
        '<link name="fork2"><inertial><mass value="nan"/></inertial></link>',
        'value="nan" of <mass>',
    ),
    "an axis without direction": (
        '<link name="x"/><joint name="j" type="revolute"><parent link="left"/><child link="x"/>'
        '<axis xyz="0 0 0"/></joint>',
        "joint 'j' has the axis (0, 0, 0)",
    ),
    "a negative size": (
        '<link name="x"><visual><geometry><sphere radius="-1"/></geometry></visual></link>',
        "a <sphere> has a negative size",
    ),
    "a mimic of itself": (
        '<link name="x"/><joint name="j" type="revolute"><parent link="left"/><child link="x"/>'
        '<mimic joint="j"/></joint>',
        "joint 'j' follows itself",
    ),
    "negative mass": (
        '<link name="x"><inertial><mass value="-1"/><inertia ixx="0" iyy="0" izz="0"/>'
        '</inertial></link>'
        '<joint name="j" type="revolute"><parent link="left"/><child link="x"/></joint>',
        "link 'x' has the mass -1 kg",
    ),
    "no mass": (
        '<link name="x"><inertial><mass/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
        '<joint name="j" type="revolute"><parent link="left"/><child link="x"/></joint>',
        "a <mass> has no value",
    ),
    "no inertia": (
        '<link name="x"><inertial><mass value="1"/></inertial></link>'
        '<joint name="j" type="revolute"><parent link="left"/><child link="x"/></joint>',
        "the <inertial> of link 'x' has no <inertia>",
    ),
    "digits of Python": (
        '<link name="x"><inertial><mass value="1_0"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
        '</link><joint name="j" type="revolute"><parent link="left"/><child link="x"/></joint>',
        'value="1_0" of <mass> is not a number',
    ),
    "an inertia that no body has": (
        '<link name="x"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="2"/>'
        '</inertial></link>'
        '<joint name="j" type="revolute"><parent link="left"/><child link="x"/></joint>',
        "link 'x' has the principal moment of inertia -1 kg m²",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_told_with_their_line(tmp_path, case):
    more, what = FAULTS[case]
    lines = (CART).read_text().splitlines()
    lines.insert(-1, more)
    file = tmp_path / "bad.urdf"
    file.write_text("\n".join(lines))
    with pytest.raises(ModelError) as caught:
        ns.load(file)
    fault = next(f for f in caught.value.faults if what in f.what)
    assert fault.fix
    if "root" not in case:
        assert fault.where.endswith(f"line {len(lines) - 1}")


HOSTILE = {
    "a bomb of entities": (
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
        "declares a document type",
    ),
    "an external entity": (
        '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot name="r"/>',
        "declares a document type",
    ),
    "xacro": (
        '<robot name="r" xmlns:xacro="http://wiki/xacro"><xacro:include filename="x"/></robot>',
        "the file is xacro",
    ),
    "macros in numbers": ('<robot><link name="${x}"/></robot>', "the file is xacro"),
    "another document": ("<mujoco/>", "the document is a <mujoco>"),
    "not XML": ("<robot", "the text is not XML"),
    "nothing": ("", "the text is not XML"),
    "depth": ("<robot>" + "<a>" * 300 + "</a>" * 300 + "</robot>", "more than"),
    "no links": ('<robot name="r"/>', "the robot has no link"),
    "a circle": (
        '<robot><link name="a"/><link name="b"/>'
        '<joint name="i" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
        "every link is the child of a joint",
    ),
    "a circle beside a root": (
        '<robot><link name="r"/><link name="a"/><link name="b"/>'
        '<joint name="i" type="fixed"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
        "link 'a' is its own ancestor",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused(tmp_path, case):
    text, what = HOSTILE[case]
    (tmp_path / "bad.urdf").write_text(text)
    with pytest.raises(ModelError) as caught:
        ns.load(tmp_path / "bad.urdf")
    assert what in str(caught.value) and "fix" in str(caught.value)


UNDER = {
    "no such link": (ns.Undercarriage(wheels={"lft": None}), "there is no link 'lft'"),
    "a joint for a link": (ns.Undercarriage(wheels={"swivel": None}), "its link is 'fork'"),
    "a wheel that is fixed": (ns.Undercarriage(wheels={"chassis": None}), "does not turn"),
    "no geometry": (ns.Undercarriage(wheels={"fork": None}), "--wheel fork=0.1"),
    "no radius": (ns.Undercarriage(wheels={"fork": -1.0}), "has the radius -1 m"),
    "no such joint": (ns.Undercarriage(locked={"x": 0.0}), "there is no joint 'x'"),
    "both": (
        ns.Undercarriage(locked={"swivel": 0.0}, driven=("swivel",)),
        "is both driven and locked",
    ),
    "slides": (ns.Undercarriage(slides=("fork",)), "is not a wheel"),
    "base": (ns.Undercarriage(base="flying"), "the base is 'flying'"),
}


@pytest.mark.parametrize("case", UNDER)
def test_an_undercarriage_that_does_not_fit_is_refused(case):
    under, what = UNDER[case]
    with pytest.raises(ModelError, match=what):
        ns.import_robot(CART, under)


def test_impossible_inertia_of_a_fixed_link_counts_with_its_parent(tmp_path):
    text = (CART).read_text().replace(
        "</robot>",
        '<link name="antenna"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>'
        '<inertia ixx="0" ixy="0.01" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="stick" type="fixed"><parent link="chassis"/><child link="antenna"/>'
        '<origin xyz="0.1 0 0.2" rpy="0 0 0.3"/></joint></robot>',
    )  # fmt: skip
    (tmp_path / "cart.urdf").write_text(text)
    model, notes = ns.import_robot(tmp_path / "cart.urdf")
    assert any("its mass is counted with 'chassis'" in note for note in notes)
    chassis = next(body for body in model.bodies if body.name == "chassis")
    assert chassis.mass == 12.5
    # Steiner, by the parallel axes of two points
    joined = (12 * np.array([0.05, 0, 0.08]) + 0.5 * np.array([0.1, 0, 0.3])) / 12.5
    np.testing.assert_allclose(chassis.center_of_mass, joined, rtol=1e-14)


def test_reading_says_how_a_file_describes_it():
    robot = read_urdf(CART)
    assert [joint.kind for joint in robot.joints].count("revolute") == 4
    assert robot.driven is None


# out and in again


def again(model, tmp_path, under=None):
    path = tmp_path / "out.urdf"
    notes = ns.save_model(model, path)
    return ns.import_robot(path, under).model, notes


@pytest.mark.parametrize("name", ["manipulator-6r", "manipulator-3r"])
def test_an_arm_comes_back_from_urdf_with_the_same_dynamics(name, tmp_path, system_of):
    before = system_of(name)
    model, notes = again(before.model, tmp_path)
    assert "parameters are numbers in the file" in notes
    if name == "manipulator-3r":
        # it hangs along y, which URDF cannot say
        assert "gravity (0.0 -9.81 0.0) m/s² is left out" in notes
        model = dataclasses.replace(model, gravity=(0.0, -9.81, 0.0))
    after = ns.compile(ns.derive(model))
    assert [c.name for c in after.coordinates] == [c.name for c in before.coordinates]
    rng = np.random.default_rng(24)
    state = {q.name: rng.normal() for q in (*before.coordinates, *before.speeds)}
    one, other = (ns.evaluate(system, state) for system in (before, after))
    np.testing.assert_allclose(other.mass_matrix, one.mass_matrix, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        list(other.accelerations.values()), list(one.accelerations.values()), rtol=1e-10
    )


def test_a_robot_on_wheels_comes_back_once_they_are_named(tmp_path, system_of):
    before = system_of("differential-robot")
    under = ns.Undercarriage(
        wheels={"left": None, "right": None}, casters={"caster": None}, slides=()
    )
    model, notes = again(before.model, tmp_path, under)
    assert any("URDF has no word for rolling" in note for note in notes)
    assert any("carries the root 'base'" in note for note in notes)
    after = ns.compile(ns.derive(model))
    state = {"left.rate": 2.0, "right.rate": 3.0}
    names = {"left.torque": "left_torque", "right.torque": "right_torque"}
    given = dict(zip(names, (0.3, -0.2), strict=True))
    one = ns.evaluate(before, state | {"caster.swivel.angle": 0.4}, inputs=given)
    other = ns.evaluate(
        after,
        state | {"caster_swivel.angle": 0.4},
        inputs={names[k]: value for k, value in given.items()},
    )
    for name in ("base.vx", "base.rate"):
        assert other.accelerations[name] == pytest.approx(one.accelerations[name], rel=1e-10)


def test_frames_of_joints_on_both_bodies_damping_friction_and_couplings_are_carried(tmp_path):
    b = ns.ModelBuilder(name="a & b", gravity=(0.0, 0.0, -9.81))
    shapes = (ns.shapes.Box(size=(0.1, 0.2, 0.3), frame=ns.Placement(angles=(0.3, -0.2, 0.9))),)
    place = ns.Placement(position=(0.1, -0.2, 0.3), angles=(0.4, 1.1, -0.7))
    other = ns.Placement(position=(-0.3, 0.1, 0.2), angles=(-0.9, 0.2, 0.5))
    parent = "world"
    for name, kind in (
        ("a", ns.joints.Revolute),
        ("b", ns.joints.Prismatic),
        ("c", ns.joints.Revolute),
    ):
        inertia = (0.2, 0.3, 0.25, 0.01, -0.02, 0.03)
        center = (0.1, 0.05, -0.02)
        b.body(name, mass=2.0, inertia=inertia, center_of_mass=center, shapes=shapes)
        frames = {"parent_frame": place, "child_frame": other}
        b.joint(name, kind(axis=(1.0, 2.0, -1.0)), parent=parent, child=name, **frames)
        parent = name
    b.force(ns.forces.JointDamper(name="d", speed="a.rate", damping=0.3))
    b.force(ns.forces.JointFriction(name="f", speed="a.rate", level=0.2, smoothing=0.01))
    b.force(ns.forces.JointSpring(name="s", coordinate="b.position", stiffness=40.0))
    b.row(ns.rows.PositionRow(name="m", expression="2*c.angle - a.angle + 0.5", unit="rad"))
    model, notes = again(b.build(), tmp_path)
    assert "force 's' (joint_spring) is left out" in notes
    assert any("smooth below" in note for note in notes)
    assert any("are 1e+06, because URDF requires them" in note for note in notes)
    assert len(model.rows) == 1
    assert ns.trace(model).num_independent_speeds == 2
    b.force(ns.forces.JointSpring(name="t", coordinate="b.position", stiffness=-40.0))  # no spring
    systems = [ns.compile(ns.derive(m)) for m in (b.build(), model)]
    state = {"a.angle": 0.7, "b.position": 0.2, "a.rate": 0.5, "b.speed": -0.3}
    points = {f"p{k}": f"point(c, -0.3, 0.1, 0.2).{k}" for k in "xyz"}
    one = ns.evaluate(systems[0], state, outputs=points)
    # a link's frame is that of its joint: there the origin
    origin = {f"p{k}": f"point(c, 0, 0, 0).{k}" for k in "xyz"}
    two = ns.evaluate(systems[1], state, outputs=origin)
    for k in "xyz":
        assert two.outputs[f"p{k}"] == pytest.approx(one.outputs[f"p{k}"], abs=1e-13)
    for name in ("a.rate", "b.speed", "c.rate"):
        assert two.accelerations[name] == pytest.approx(one.accelerations[name], rel=1e-9)


def test_what_urdf_has_no_joint_for_is_refused(tmp_path):
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, -9.81))
    b.body("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("a", ns.joints.Spherical(), parent="world", child="a")
    with pytest.raises(
        ModelError, match="is of type 'spherical', for which URDF has no joint type"
    ):
        ns.save_model(b.build(), tmp_path / "out.urdf")


def test_export_of_a_model_lists_what_is_lost(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from noslip.cli import main

    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["export", "agv", "--to", "urdf"])
    assert done.exit_code == 0 and "note: 3 contacts" in done.output
    assert ns.load("agv.urdf").bodies
    done = CliRunner().invoke(main, ["export", "agv.urdf", "--to", "toml", "-o", "plain.toml"])
    assert done.exit_code == 0 and ns.load("plain.toml").name == "agv"
