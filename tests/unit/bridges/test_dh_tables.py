"""Denavit–Hartenberg tables: conventions against products of matrices, and the library's arm."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import noslip as ns

EXAMPLE = Path(__file__).parents[3] / "examples" / "puma.dh.csv"

# a, alpha, d, theta, kind
ROWS = (
    (0.3, 0.5, 0.1, 0.2, "revolute"),
    (-0.1, -1.2, 0.25, -0.7, "prismatic"),
    (0.2, 0.9, -0.15, 1.1, "revolute"),
)
STATE = {"joint1": 0.4, "joint2": 0.3, "joint3": -0.8}


def turn(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    X = np.eye(4)
    j, k = {"x": (1, 2), "z": (0, 1)}[axis]
    X[j, j] = X[k, k] = c
    X[j, k], X[k, j] = -s, s
    return X


def shift(axis, length):
    X = np.eye(4)
    X["xyz".index(axis), 3] = length
    return X


def by_hand(convention):
    """The last frame as textbooks multiply it."""
    X = np.eye(4)
    for (a, alpha, d, theta, kind), q in zip(ROWS, STATE.values(), strict=True):
        theta, d = (theta + q, d) if kind == "revolute" else (theta, d + q)
        if convention == "standard":
            X = X @ turn("z", theta) @ shift("z", d) @ shift("x", a) @ turn("x", alpha)
        else:
            X = X @ turn("x", alpha) @ shift("x", a) @ turn("z", theta) @ shift("z", d)
    return X


def table(convention, more=""):
    lines = [f"# convention: {convention}", f"kind,a,alpha,d,theta{',mass' if more else ''}"]
    lines += [f"{kind},{a},{alpha},{d},{theta}{more}" for a, alpha, d, theta, kind in ROWS]
    return "\n".join(lines) + "\n"


def read(tmp_path, text, name="arm.dh.csv"):
    (tmp_path / name).write_text(text)
    return ns.import_robot(tmp_path / name)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_the_last_frame_is_the_product_of_the_table(convention, tmp_path):
    model, notes = read(tmp_path, table(convention))
    assert notes == ("the table has no masses: each link is a rod of 1 kg",)
    words = ("angle", "position", "angle")
    state = {f"{n}.{w}": q for (n, q), w in zip(STATE.items(), words, strict=True)}
    outputs = {f"p{k}": f"point(link3, 0.1, -0.2, 0.3).{k}" for k in "xyz"}
    here = ns.evaluate(ns.compile(ns.derive(model)), state, outputs=outputs)
    expected = by_hand(convention) @ [0.1, -0.2, 0.3, 1.0]
    np.testing.assert_allclose(list(here.outputs.values()), expected[:3], atol=1e-14)


def test_the_librarys_arm_comes_from_its_table(system_of, tmp_path):
    from noslip.library.desantis_machines import INERTIAS, MASSES, TABLE

    arm = system_of("manipulator-6r")
    values = arm.model.parameter_values()
    head = "joint,link,alpha,a,d,theta,mass,cx,cy,cz,ixx,iyy,izz,ixy,ixz,iyz"
    lines = ["# convention: modified", head]
    for k, (row, (mass, center), inertia) in enumerate(
        zip(TABLE, MASSES, INERTIAS, strict=True), 1
    ):
        numbers = (*row, 0.0, mass, *center, *inertia)
        shown = [repr(values.get(x, x)) for x in numbers]
        lines.append(",".join([f"joint{k}", f"link{k}", *shown]))
    model, notes = read(tmp_path, "\n".join(lines))
    assert notes == ()
    other = ns.compile(ns.derive(model))
    rng = np.random.default_rng(2)
    state = {q.name: rng.normal() for q in (*arm.coordinates, *arm.speeds)}
    one, two = ns.evaluate(arm, state), ns.evaluate(other, state)
    np.testing.assert_allclose(two.mass_matrix, one.mass_matrix, rtol=1e-11, atol=1e-13)
    for name, value in one.accelerations.items():
        assert two.accelerations[name] == pytest.approx(value, rel=1e-9), name


def test_armature_limits_and_degrees_of_a_table():
    model = ns.load(EXAMPLE)
    joints = {joint.name: joint for joint in model.joints}
    assert joints["shoulder"].armature == 4.71
    assert joints["shoulder"].limits == pytest.approx(np.radians([-225, 45]))
    run = ns.simulate(ns.compile(ns.derive(model)), duration=2.0)
    assert run.ended_by.endswith("reaches its limit")


def test_a_table_without_masses_moves_as_its_rods_say(tmp_path):
    """One rod of 1 kg and 0.8 m that swings: m l²/3 at its end, and its own radius."""
    text = "# convention: standard\na,alpha,d,theta\n0.8,0,0,0\n"
    model, _ = read(tmp_path, text)
    flat = dataclasses.replace(model, gravity=(0.0, -9.81, 0.0))
    here = ns.evaluate(ns.compile(ns.derive(flat)), {})
    inertia = 0.8**2 / 3 + 0.02**2 / 4
    assert here.accelerations["joint1.rate"] == pytest.approx(-9.81 * 0.4 / inertia, rel=1e-12)


FAULTS = {
    "no convention": ("a,alpha,d,theta\n0,0,0,0\n", "does not name its convention"),
    "convention": ("# convention: craig\na,alpha,d,theta\n0,0,0,0\n", "is 'craig'"),
    "column": ("# convention: standard\na,alpha,d,theta,mas\n0,0,0,0,1\n", "no column 'mas'"),
    "twice": ("# convention: standard\na,alpha,alpha_deg,d,theta\n0,0,0,0,0\n", "occurs twice"),
    "missing": ("# convention: standard\na,alpha,d\n0,0,0\n", "column 'theta' is missing"),
    "fields": ("# convention: standard\na,alpha,d,theta\n0,0,0\n", "has 3 fields, its header 4"),
    "number": ("# convention: standard\na,alpha,d,theta\n0,pi,0,0\n", "alpha is 'pi'"),
    "huge": ("# convention: standard\na,alpha,d,theta\n1e40,0,0,0\n", "beyond"),
    "kind": ("# convention: standard\nkind,a,alpha,d,theta\nball,0,0,0,0\n", "the kind is 'ball'"),
    "rows": ("# convention: standard\na,alpha,d,theta\n", "no rows"),
    "inertia": (
        "# convention: standard\na,alpha,d,theta,mass,ixx\n0,0,0,0,1,-2\n",
        "principal moment of inertia -2",
    ),
    "names": (
        "# convention: standard\njoint,a,alpha,d,theta\nj,0,0,0,0\nj,1,0,0,0\n",
        "two joints are called 'j'",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_told(case, tmp_path):
    text, what = FAULTS[case]
    with pytest.raises(ns.ModelError) as caught:
        read(tmp_path, text)
    fault = next(f for f in caught.value.faults if what in f.what)
    assert "arm.dh.csv" in fault.where and fault.fix
