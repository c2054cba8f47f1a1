"""Universal joints, against Lagrange's equations by hand and the closed form of a Cardan shaft."""

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import noslip as ns
from noslip.scene import scene

MASS, LENGTH, G = 1.3, 0.4, 9.81
INERTIA = (0.03, 0.05, 0.02)
BEND, J1, J2 = 0.6, 0.02, 0.05


def pendulum(**joint: object) -> ns.Model:
    b = ns.ModelBuilder("pendulum", gravity=(0.0, 0.0, -G))
    b.body("bob", mass=MASS, inertia=INERTIA, center_of_mass=(0.0, 0.0, -LENGTH))
    b.joint("hook", ns.joints.Universal(), parent="world", child="bob", **joint)
    return b.build()


def lagrange(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Accelerations of R = Rx(a) Ry(b) with L = T − U written out by hand."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    a, b = q[0], q[1]
    c, s = ca.cos, ca.sin
    # body angular velocity Ry(b)ᵀ (ȧ, 0, 0) + (0, ḃ, 0), and the bob at R (0, 0, −l)
    w = ca.vertcat(v[0] * c(b), v[1], v[0] * s(b))
    place = -LENGTH * ca.vertcat(s(b), -s(a) * c(b), c(a) * c(b))
    speed = ca.jtimes(place, q, v)
    T = MASS * ca.dot(speed, speed) / 2 + ca.dot(ca.DM(INERTIA), w**2) / 2
    L = T - MASS * G * place[2]
    p = ca.gradient(L, v)
    M, bias = ca.jacobian(p, v), ca.jtimes(p, q, v) - ca.gradient(L, q)
    f = ca.Function("f", [q, v], [ca.solve(M, -bias)])
    return np.array(f(angles, rates)).ravel()


def test_a_pendulum_on_a_universal_joint_by_lagrange(tmp_path: Path) -> None:
    model = pendulum()
    assert [j.name for j in model.joints] == ["hook_1", "hook_2"]
    system = ns.compile(ns.derive(model))
    rng = np.random.default_rng(1)
    for _ in range(5):
        angles, rates = rng.uniform(-1.2, 1.2, 2), rng.uniform(-3, 3, 2)
        state = dict(zip(("hook_1.angle", "hook_2.angle"), angles, strict=True))
        state |= dict(zip(("hook_1.rate", "hook_2.rate"), rates, strict=True))
        found = ns.evaluate(system, {k: float(x) for k, x in state.items()})
        expected = lagrange(angles, rates)
        assert list(found.accelerations.values()) == pytest.approx(expected, rel=1e-12)
        # both hinges carry the same force, and the joint as a whole no moment about its axes
        force = [[found.joint_reactions[n][k] for k in "xyz"] for n in ("hook_1", "hook_2")]
        assert force[0] == pytest.approx(force[1], abs=1e-12)
        assert found.joint_reactions["hook_1"]["moment_x"] == pytest.approx(0.0, abs=1e-12)
    assert ns.verify(model).holds
    ns.save_model(model, tmp_path / "pendulum.toml")
    assert ns.load(tmp_path / "pendulum.toml") == model


def cardan_shaft() -> ns.Model:
    """Two shafts in bearings at an angle, the joint between them listed last: it closes a loop."""
    b = ns.ModelBuilder("shaft", gravity=(0.0, 0.0, -G))
    bent = ns.Placement(angles=(0.0, BEND, 0.0))
    for name, J, frame in (("drive", J1, ns.Placement()), ("driven", J2, bent)):
        b.body(name, mass=1.0, inertia=(0.01, 0.01, J))
        axis = ns.joints.Revolute(axis=(0, 0, 1))
        b.joint(name, axis, parent="world", child=name, parent_frame=frame)
    b.joint("cross", ns.joints.Universal(), parent="drive", child="driven")
    b.input("torque", "N*m")
    b.force(ns.forces.Motor(name="motor", speed="drive.rate", input="torque"))
    return b.build()


def test_a_cardan_shaft_by_its_closed_form() -> None:
    """The fork of the drive holds the x axis of its body, that of the driven shaft its y axis.

    Across each other, (cos a, sin a, 0) · Ry(β) (−sin d, cos d, 0) = 0: tan a = cos β tan d, and
    with ratio r(a) = ḋ/ȧ: (J₁ + J₂ r²) ä + J₂ r r' ȧ² = torque.
    """
    model = cardan_shaft()
    system = ns.compile(ns.derive(model))
    assert len(system.independent_speeds) == 1
    a = ca.SX.sym("a")
    d = ca.atan(ca.tan(a) / ca.cos(BEND))
    r = ca.jacobian(d, a)
    f = ca.Function("f", [a], [d, r, ca.jacobian(r, a)])
    for angle in (0.0, 0.4, -1.1):
        other, ratio, slope = (float(x) for x in f(angle))
        start = {"drive.angle": angle, "driven.angle": other, "drive.rate": 3.0}
        found = ns.evaluate(system, start, guess={"cross_1.angle": 0.0}, inputs={"torque": 0.7})
        assert found.speeds["driven.rate"] == pytest.approx(3.0 * ratio, rel=1e-12)
        expected = (0.7 - J2 * ratio * slope * 9.0) / (J1 + J2 * ratio**2)
        assert found.accelerations["drive.rate"] == pytest.approx(expected, rel=1e-11)
    assert ns.verify(model, states=2).holds
    # two turns under the drive's torque: the energy is its work
    run = ns.simulate(
        system,
        duration=4.0,
        start={"drive.rate": 3.0},
        inputs={"torque": 0.02},
        rtol=1e-11,
        atol=1e-11,
    )
    assert run["drive.angle"][-1] > 4 * np.pi
    speeds = J1 * run["drive.rate"] ** 2 / 2 + J2 * run["driven.rate"] ** 2 / 2
    assert speeds - speeds[0] == pytest.approx(0.02 * run["drive.angle"], abs=1e-9)


def test_a_universal_joint_of_a_file() -> None:
    from noslip.model.files import parse_model

    text = """
    format = 1
    name = "hook"
    gravity = [0, 0, -9.81]
    [bodies.bob]
    mass = 1
    inertia = [0.1, 0.1, 0.1]
    [joints.hook]
    type = "universal"
    parent = "world"
    child = "bob"
    first_axis = [0, 1, 0]
    second_axis = [1, 0, 0]
    mass = 0.2
    moment = 0.001
    motion = {angle_2 = "0.3*t"}
    """
    model, warnings = parse_model(text)
    assert not warnings
    cross = next(b for b in model.bodies if b.name == "hook_cross")
    assert cross.mass == 0.2 and model.joints[1].motion == {"angle": "0.3*t"}
    system = ns.compile(ns.derive(model))
    assert [s.name for s in system.independent_speeds] == ["hook_1.rate"]
    wrong = text.replace("second_axis = [1, 0, 0]", "second_axis = [0, 2, 0]")
    wrong = wrong.replace("angle_2 =", "angle_3 =").replace("mass = 0.2", "mass = -1")
    with pytest.raises(ns.ModelError) as caught:
        parse_model(wrong, "hook.toml")
    said = "\n".join(f"{f.what} @ {f.where}" for f in caught.value.faults)
    assert "axes are not at right angles @ hook.toml, line 8" in said
    assert "prescribes 'angle_3'" in said and "has mass -1" in said


def test_it_is_drawn_as_two_pins_across_each_other() -> None:
    drawn = scene(pendulum())
    assert {part.body for part in drawn.parts} >= {"hook_cross", "bob"}
