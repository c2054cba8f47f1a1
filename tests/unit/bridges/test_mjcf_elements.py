"""MJCF: frames, replicates, shells, bounds and flags against MuJoCo; all else is listed."""

import numpy as np
import pytest

import noslip as ns

# accelerations by MuJoCo 4.0.0, mj_forward without contact, of hinges and slides at q_k = 0.1 k
# with the rates below, and the mass of the whole; then of a ball and of a free joint at rest pose
RATES = (0.3, -0.7, 0.5, 0.2, -0.4, 0.1)
BALL = '<geom size="0.1" pos="0.3 0 0"/>'
SHELLS = ('sphere" size="0.2', 'box" size="0.1 0.2 0.3', 'cylinder" size="0.1 0.3')
SHELLS += ('capsule" size="0.1 0.3',)
CASES = {
    "frames": (
        '<body name="a" pos="0.1 0 1"><frame pos="1 0 0" euler="0 90 30"><joint name="j" '
        'pos="0 0 0.2" axis="0 0.3 1" damping="0.2"/><geom size="0.1 0.2 0.3" type="box"/><geom '
        'type="capsule" fromto="0 0 0 0.2 0 1" size="0.1"/><frame pos="0 1 0" axisangle="1 1 0 20">'
        '<body name="b" pos="0.3 0 0" quat="1 0.2 0.3 0"><joint name="k" type="slide" '
        'axis="1 1 0"/><geom size="0.2"/></body></frame></frame></body>',
        *("", "", {"j": -7.71629202194318, "k": -2.59793002822579}, 117.73719633190574),
    ),
    "replicates": (
        '<body name="hub"><joint name="h" axis="0 1 0"/><geom size="0.2"/><replicate count="3" '
        'offset="0.1 0.2 0" euler="0 20 30" sep="_"><body name="a" pos="1 0 0"><joint name="j" '
        'axis="0 0 1"/><geom type="box" size="0.1 0.2 0.3"/><replicate count="11" '
        'offset="0 0 0.1"><geom size="0.02" pos="0 0 0.4"/></replicate></body></replicate></body>',
        *("", ""),
        {"h": 9.51168256539631, "j_0": 0.0105135201571614, "j_1": 0.0269192522779792,
         "j_2": 0.00660607990539932},
        178.61616225235468,
    ),
    "replicates in replicates": (
        '<replicate count="2" offset="0 0 1" sep="-"><replicate count="2" offset="0.5 0 0"><body '
        'name="b"><joint name="j" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body>'
        "</replicate></replicate>",
        *("", ""),
        {"j0_0": 44.3681402789883, "j1_0": 43.7020596755572, "j0_1": 42.5993225378282,
         "j1_1": 41.070947050765},
        16.755160819145566,
    ),
    "shells": (
        "".join(
            f'<body name="b{k}"><joint name="j{k}" axis="1 2 {k}"/><geom type="{g}" '
            'pos="0.3 0.1 0" euler="10 20 30" shellinertia="true"/></body>'
            for k, g in enumerate(SHELLS)
        ),
        *("", ""),
        {"j0": 28.4690075136446, "j1": 16.4010198176185, "j2": 12.1194663685937,
         "j3": 7.0682732331257},
        2325.132620651305,
    ),
    "bounds": (
        '<body name="a"><joint name="i" axis="0 1 0"/><joint name="j" axis="1 2 3"/><geom '
        'type="box" size="0.1 0.05 0.01" pos="0.1 0 0" mass="0.01"/></body>',
        *('boundmass="0.5" boundinertia="0.01"', ""),
        *({"i": 33.044133662506546, "j": -2.183991085860388}, 0.5),
    ),
    "total": (
        '<body name="a"><joint name="j" axis="1 2 3"/><geom size="0.1" pos="0.2 0 0"/><body '
        'name="b"><joint name="k"/><geom pos="0.2 0.1 0" size="0.2"/></body></body>',
        *('settotalmass="5"', "", {"j": 48.3768021280258, "k": -40.6223999622929}, 5.0),
    ),
    "balance": (
        '<body name="a"><joint name="j" axis="1 2 3"/><inertial pos="0 0.1 0" mass="1" '
        'diaginertia="1 1 3"/></body>',
        *('balanceinertia="true"', "", {"j": -0.180932340522922}, 1.0),
    ),
    "groups": (
        '<body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1" group="1"/><geom '
        'size="0.1" pos="1 0 0" group="3"/></body>',
        *('inertiagrouprange="0 2"', "", {"j": 0.0}, 4.188790204786391),
    ),
    "lift": (
        f'<body name="a" gravcomp="0.6"><joint name="j" axis="0 1 0"/>{BALL}<body name="b" '
        'gravcomp="1.5"><joint name="k" axis="1 1 0"/><geom pos="0.2 0.1 0" size="0.2"/></body>'
        "</body>",
        *("", "", {"j": -11.1949194273131, "k": -2.42099380794208}, 37.699111843077524),
    ),
    "no gravity": (
        f'<body name="a"><joint name="j" axis="0 1 0"/>{BALL}</body>',
        *("", '<flag gravity="disable"/>', {"j": 0.0}, 4.188790204786391),
    ),
    "no damper": (
        f'<body name="a"><joint name="j" axis="0 1 0" damping="1" stiffness="2"/>{BALL}</body>',
        *("", '<flag damper="disable"/>', {"j": 30.6441571860177}, 4.188790204786391),
    ),
    "no spring": (
        '<body name="a"><joint name="j" axis="0 1 0" damping="1" stiffness="2" springref="30"/>'
        f"{BALL}</body>",
        *("", '<flag spring="disable"/>', {"j": 30.3901865321476}, 4.188790204786391),
    ),
}  # fmt: skip


def imported(tmp_path, body, compiler="", option=""):
    (tmp_path / "m.xml").write_text(
        f"<mujoco><compiler {compiler}/><option>{option}</option>\n"
        f"<worldbody>\n{body}\n</worldbody></mujoco>"
    )
    return ns.import_robot(tmp_path / "m.xml")


@pytest.mark.parametrize("name", CASES)
def test_elements_act_as_mujoco_says(name, tmp_path):
    body, compiler, option, expected, mass = CASES[name]
    model, notes = imported(tmp_path, body, compiler, option)
    assert not [note for note in notes if "not carried over" in note]
    assert sum(b.mass for b in model.bodies) == pytest.approx(mass, rel=1e-14)
    ends = {j.name: "angle rate" if isinstance(j.type, ns.joints.Revolute) else "position speed"
            for j in model.joints}  # fmt: skip
    state = {}
    for k, joint in enumerate(expected):
        coordinate, speed = ends[joint].split()
        state |= {f"{joint}.{coordinate}": 0.1 * (k + 1), f"{joint}.{speed}": RATES[k]}
    here = ns.evaluate(ns.compile(ns.derive(model)), state)
    for joint, value in expected.items():
        found = here.accelerations[f"{joint}.{ends[joint].split()[1]}"]
        assert found == pytest.approx(value, rel=1e-10, abs=1e-10), joint


def test_losses_of_ball_and_free_joints_are_mujocos(tmp_path):
    box = '<geom size="0.1 0.2 0.3" type="box" pos="0.3 0 0"/>'
    model, _ = imported(tmp_path, f'<body><joint name="j" type="ball" damping="0.7"/>{box}</body>')
    state = dict(zip(("j.wx", "j.wy", "j.wz"), RATES, strict=False))
    here = ns.evaluate(ns.compile(ns.derive(model)), state)
    expected = (-0.235576923076923, 24.0219594594595, 0.089140625)
    assert [here.accelerations[name] for name in state] == pytest.approx(expected, rel=1e-12)
    model, _ = imported(tmp_path, f'<body><joint name="j" type="free" damping="0.7"/>{box}</body>')
    names = [f"j.{speed}" for speed in ("vx", "vy", "vz", "wx", "wy", "wz")]
    state = dict(zip(names, RATES, strict=True))
    here = ns.evaluate(ns.compile(ns.derive(model)), state)
    # MuJoCo's are along the axes of the world, ours along those of the body
    v, w = np.array(RATES[:3]), np.array(RATES[3:])
    found = [here.accelerations[name] for name in names[:3]] + np.cross(w, v)
    assert found == pytest.approx((0.046625, 0.129983333333333, -9.79527916666667), rel=1e-12)


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ('<joint type="ball" stiffness="2"/>', "the stiffness of joint"),
        ('<joint type="free" frictionloss="2"/>', "dry friction of joint"),
        ('<joint springdamper="0.1 1"/>', "the springdamper of joint"),
        ('<joint range="10 -10"/>', "from 10 to -10, which limits nothing"),
        ('<joint actuatorgravcomp="true"/>', "attributes of <joint> that are not carried over"),
        ('<geom fluidshape="ellipsoid" size="0.1"/>', "<geom> that are not carried over: fluids"),
        ('<geom type="ellipsoid" size="1 1 1" shellinertia="true"/>', "taken as a solid"),
        ('<composite type="cable"/>', "elements that are not carried over: <composite>"),
        ('<attach model="m" body="b" prefix="p"/>', "elements that are not carried over: <attach>"),
        ("<frame><camera/><site/><site/></frame>", "<camera>, <site> (2)"),
    ],
)
def test_what_is_not_carried_is_listed(body, note, tmp_path):
    _, notes = imported(tmp_path, f'<body name="a">{body}<geom size="0.1"/></body>')
    assert any(note in said for said in notes), notes


@pytest.mark.parametrize(
    ("body", "compiler", "what", "line"),
    [
        ("<body/>", 'angle="gradian"', 'angle="gradian"', 1),
        ("<body/>", 'autolimits="yes"', 'autolimits="yes"', 1),
        ('<body xyaxes="1 0 0 2 0 0"/>', "", "an axis without a direction", 3),
        ('<body xyaxes="0.1 0.3 0 0.2 0.6 0"/>', "", "an axis without a direction", 3),
        ('<body zaxis="0 0 0"/>', "", "an axis without a direction", 3),
        ('<body axisangle="0 0 0 1"/>', "", "an axis without a direction", 3),
        ('<body quat="1 0 0 0" euler="1 2 3"/>', "", "has quat and euler", 3),
        ('<body><joint limited="true" range="2 1"/></body>', "", "is limited to 2 to 1", 3),
        ('<body><geom size="0.1" mass="-1"/></body>', "", "has the mass -1 kg", 3),
        ('<replicate count="1.5"><body/></replicate>', "", "count='1.5'", 3),
        ('<replicate count="-1"><body/></replicate>', "", "count='-1'", 3),
        ('<replicate count="1e9"><body/></replicate>', "", "count='1e9'", 3),
        ("<replicate count='9999'>" * 3 + "</replicate>" * 3, "", "count='9999'", 3),
    ],
)
def test_what_mujoco_refuses_is_a_fault(body, compiler, what, line, tmp_path):
    with pytest.raises(ns.ModelError) as caught:
        imported(tmp_path, body, compiler)
    assert what in caught.value.what and f"line {line}" in caught.value.where, caught.value


def test_what_a_urdf_file_has_besides_is_listed(tmp_path):
    (tmp_path / "r.urdf").write_text(
        '<robot name="r" version="1.0" xmlns:x="y"><link name="a" type="box"><inertial><mass '
        'value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial><contact/></link><link name="b"/>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="0" '
        'upper="1" jerk="1"/><safety_controller k_velocity="1"/></joint><plugin/></robot>'
    )
    _, notes = ns.import_robot(tmp_path / "r.urdf")
    text = "\n".join(notes)
    assert "elements that are not carried over: <contact>, <plugin>, <safety_controller>" in text
    for said in ("<limit> that are not carried over: jerk", "<link> that are not carried over: ty"):
        assert said in text
    assert "xmlns" not in text
