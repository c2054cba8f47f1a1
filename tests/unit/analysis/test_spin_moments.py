"""Moments of contacts whose spin is held: the wrench of the ground balances Newton and Euler."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import noslip as ns

M, RADIUS, INERTIA = 2.0, 0.1, np.array([0.01, 0.012, 0.015])


def ball(ground, torque):
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, -9.81))
    b.body("ball", mass=M, inertia=tuple(INERTIA))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    wheel = ns.surfaces.Ball(radius=RADIUS)
    b.contact(ns.contacts.Rolling(name="c", body="ball", wheel=wheel, ground=ground, spin=True))
    b.force(ns.forces.Wrench(name="twist", body="ball", moment=torque))
    return ns.compile(ns.derive(b.build()))


def test_a_torque_about_the_normal_is_held():
    system = ball(ns.grounds.FlatGround(), (0, 0, 0.7))
    run = ns.simulate(system, duration=0.1, start={"ball.z": RADIUS}, samples=3)
    for axes in ("world", "contact"):
        (contact,) = (r for r in ns.reactions(system, run, axes=axes) if r.kind == "contact")
        assert contact.moment == pytest.approx(np.tile([0, 0, -0.7], (3, 1)), abs=1e-12)


@pytest.mark.parametrize("ground", [ns.grounds.FlatGround(), ns.grounds.SphereGround(radius=1.0)])
def test_a_ball_whose_spin_is_held_turns_with_its_ground(ground):
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, -9.81))
    b.body("table", mass=1.0, inertia=(1.0, 1.0, 1.0))
    about_z = ns.joints.Revolute(axis=(0.0, 0.0, 1.0))
    b.joint("table", about_z, parent="world", child="table", motion={"angle": "1.3*t"})
    b.body("ball", mass=M, inertia=tuple(INERTIA))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    on = {"wheel": ns.surfaces.Ball(radius=RADIUS), "plane": ns.contacts.Plane(body="table")}
    b.contact(ns.contacts.Rolling(name="c", body="ball", ground=ground, spin=True, **on))
    height = RADIUS if ground.is_plane else 1.0 + RADIUS
    system = ns.compile(ns.derive(b.build()))
    run = ns.simulate(system, duration=0.3, start={"ball.z": height}, samples=3)
    assert run["ball.wz"] == pytest.approx(np.full(3, 1.3), abs=1e-9)


@pytest.mark.parametrize("ground", [ns.grounds.FlatGround(), ns.grounds.SphereGround(radius=1.0)])
def test_forces_and_moments_balance_the_motion(ground):
    torque = np.array([0.2, -0.1, 0.3])
    system = ball(ground, tuple(torque))
    height = RADIUS if ground.is_plane else 1.0 + RADIUS
    start = {"ball.x": 0.0, "ball.y": 0.0, "ball.z": height, "ball.wx": 0.5, "ball.wy": -0.4}
    run = ns.simulate(system, duration=0.2, start=start, samples=5)
    found = {
        axes: next(r for r in ns.reactions(system, run, axes=axes) if r.kind == "contact")
        for axes in ("world", "body")
    }
    for k in range(len(run.t)):
        R = Rotation.from_quat(
            [run[f"ball.q{x}"][k] for x in "wxyz"], scalar_first=True
        ).as_matrix()
        w, wdot, v, vdot = (
            np.array([run[f"{prefix}ball.{letter}{x}"][k] for x in "xyz"])
            for letter in "wv"
            for prefix in ("", "acceleration.")
        )
        inertial = R @ (INERTIA * wdot + np.cross(w, INERTIA * w))
        p = np.array([run[f"ball.{x}"][k] for x in "xyz"])
        contact = found["world"]
        arm = np.cross(contact.point[k] - p, contact.force[k])
        assert inertial == pytest.approx(torque + arm + contact.moment[k], abs=1e-9)
        pushed = M * R @ (vdot + np.cross(w, v))
        assert pushed == pytest.approx(contact.force[k] + [0, 0, -9.81 * M], abs=1e-9)
        assert R @ found["body"].moment[k] == pytest.approx(contact.moment[k], abs=1e-12)
    assert np.abs(found["world"].moment).max() > 0.1
