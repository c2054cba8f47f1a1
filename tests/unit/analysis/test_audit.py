"""Loads, contact forces and friction demand of wheels against statics and Newton's laws by hand."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from audited_cart import MOTION, B, E, G, H, L, M, R, cart, steady_circle, still
from rolling import steady_spin_rate

import noslip as ns
from noslip.analysis import SampledMotion
from noslip.analysis.audit import audit

DISK = json.loads((Path(__file__).parents[2] / "papers/data/rolling_disk.json").read_text())
ROUNDING = 1e-10  # relative: a few evaluations and a small linear system


@pytest.mark.parametrize("caster_angle", [0.0, 0.7, -2.0])
def test_static_loads_of_the_agv_are_those_of_its_lever_arms(system_of, caster_angle):
    system = system_of("agv")
    p = system.model.parameter_values()
    found = audit(system, still(system, start={"bracket.angle": caster_angle}))
    # the caster trails its pivot: its contact moves with the bracket
    x3 = p["d"] * math.sin(caster_angle)
    y3 = p["a"] + p["b"] - p["d"] * math.cos(caster_angle)
    wheel, platform = p["m_wheel"] * p["g"], p["m_platform"] * p["g"]
    N3 = wheel + platform * p["a"] / y3
    both = 2 * wheel + platform - platform * p["a"] / y3
    # about the line of travel: (l/2)(N₂ − N₁) + x₃ N₃ = x₃ · weight of the caster's wheel
    difference = -(N3 - wheel) * x3 / (p["l"] / 2)
    expected = [(both - difference) / 2, (both + difference) / 2, N3]
    loads = [found[f"wheel{k}"].normal[0] for k in (1, 2, 3)]
    assert loads == pytest.approx(expected, rel=ROUNDING)
    assert {wheel.load_from for wheel in found.wheels} == {"platform"}
    assert not found["wheel3"].is_shared
    assert np.max(found.required) < ROUNDING


@pytest.mark.parametrize("joint_height", [0.0, H, 2.0])
def test_steady_circle_moves_load_to_the_outer_wheel(joint_height):
    """m v²/R h/track from the inner wheel to the outer one, wherever the joint's frame is."""
    system = cart(joint_height=joint_height)
    speed, radius = 1.4, 2.5
    found = audit(system, steady_circle(system, speed, radius))
    rate = speed / radius
    transfer = M * speed**2 / radius * H / (2 * B)
    # the mass center ahead of the axle is pulled back at ahead ω², which loads the caster
    caster = M * E * (G + H * rate**2) / L
    axle = M * G - caster
    assert found["caster"].normal == pytest.approx(caster, rel=MOTION)
    assert found["right"].normal == pytest.approx(axle / 2 + transfer, rel=MOTION)
    assert found["left"].normal == pytest.approx(axle / 2 - transfer, rel=MOTION)
    lateral = M * speed * rate
    for name in ("right", "left"):
        wheel = found[name]
        assert wheel.lateral == pytest.approx(lateral / 2, rel=MOTION)
        assert wheel.lateral_range[:, 0] == pytest.approx(0.0, abs=MOTION)
        assert wheel.lateral_range[:, 1] == pytest.approx(lateral, rel=MOTION)
        along = (-M * E * rate**2 + (1 if name == "right" else -1) * M * E * speed * rate / B) / 2
        assert wheel.longitudinal == pytest.approx(along, rel=MOTION)
        demand = np.hypot(along, lateral / 2) / wheel.normal
        assert wheel.demand == pytest.approx(demand, rel=MOTION)
        assert wheel.demand_range[:, 0] == pytest.approx(abs(along) / wheel.normal, rel=MOTION)
        most = np.hypot(along, lateral) / wheel.normal
        assert wheel.demand_range[:, 1] == pytest.approx(most, rel=MOTION)
    assert np.max(found["caster"].demand) == 0.0


@pytest.mark.parametrize("torque", [0.6, -0.4])
def test_acceleration_moves_load_along_the_wheelbase(torque):
    """m a h/L from the caster ahead to the driven axle, and back when it brakes."""
    system = cart()
    inputs = {"torque_right": torque, "torque_left": torque}
    found = audit(system, still(system, start={"cart.vx": 1.0}, inputs=inputs))
    a = 2 * torque / (R * M)
    assert found["caster"].normal == pytest.approx(M * (E * G - H * a) / L, rel=ROUNDING)
    axle = M * G - M * (E * G - H * a) / L
    for name in ("right", "left"):
        assert found[name].normal == pytest.approx(axle / 2, rel=ROUNDING)
        assert found[name].longitudinal == pytest.approx(torque / R, rel=ROUNDING)
        assert found[name].demand == pytest.approx(2 * abs(torque) / R / axle, rel=ROUNDING)
    assert found.required == pytest.approx(found["left"].demand, rel=ROUNDING)


def test_loads_on_a_slope_are_those_across_it():
    slope = 0.3
    system = cart(slope=slope, joint_height=H)
    found = audit(system, still(system))
    # free wheels push nothing along the slope, so that no load moves
    caster = M * G * math.cos(slope) * E / L
    assert found["caster"].normal == pytest.approx(caster, rel=ROUNDING)
    assert sum(w.normal for w in found.wheels) == pytest.approx(
        M * G * math.cos(slope), rel=ROUNDING
    )
    assert np.max(found.required) < ROUNDING


def test_loads_on_a_deck_that_is_lifted_grow_with_its_acceleration():
    system = cart(lift="0.8*t^2")
    found = audit(system, still(system))
    assert sum(w.normal for w in found.wheels) == pytest.approx(M * (G + 1.6), rel=ROUNDING)
    assert found["caster"].normal == pytest.approx(M * (G + 1.6) * E / L, rel=ROUNDING)


@pytest.mark.parametrize("wheels", ["three", "four"])
def test_planar_joint_and_normal_rows_give_the_same_audit(wheels):
    """A cart held upright by a planar joint, and the same one that stands on its wheels alone."""
    casters = {
        "three": (("caster", L, 0.0),),
        "four": (("ahead", L, 0.1), ("behind", -0.5, -0.2)),
    }[wheels]
    audits = []
    for base, height in (("planar", H), ("free", H)):
        system = cart(casters=casters, base=base, joint_height=height)
        start = {"cart.vx": 1.3, "right.rate": 16.0}
        if base == "free":
            start |= {"cart.z": 0.0, "cart.qw": 1.0}
        inputs = {"torque_right": 0.3, "torque_left": -0.2}
        audits.append(audit(system, still(system, start=start, inputs=inputs), friction=0.4))
    planar, free = audits
    assert planar["right"].load_from == "cart" and free["right"].load_from == "row"
    for one, other in zip(planar.wheels, free.wheels, strict=True):
        for part in ("longitudinal", "lateral", "normal", "demand"):
            for name in (part, f"{part}_range"):
                assert getattr(one, name)[0] == pytest.approx(
                    getattr(other, name)[0], rel=MOTION, abs=MOTION
                ), f"{one.name}.{name}"
    assert planar.required[0] == pytest.approx(free.required[0], rel=1e-6)
    assert planar.verdict == free.verdict


def test_disk_that_rolls_straight_asks_for_no_friction(system_of):
    system = system_of("rolling-disk")
    start = {"disk.tilt": math.pi / 2, "disk.spin_rate": -6.0}
    found = audit(system, still(system, start=start), friction=0.0)
    p = system.model.parameter_values()
    assert found["rim"].normal == pytest.approx(p["m"] * p["g"], rel=ROUNDING)
    assert np.max(found["rim"].demand) < ROUNDING
    assert found["rim"].load_from == "row" and found.verdict == "holds"
    # on a fork that has nothing to hold, one wheel carries its weight
    fork = system_of("vertical-disk")
    coasting = audit(fork, still(fork, start={"fork.vx": 2.0}))
    p = fork.model.parameter_values()
    assert coasting["rim"].normal == pytest.approx(p["m"] * p["g"], rel=ROUNDING)
    assert not coasting.unsupported


@pytest.mark.parametrize("case", DISK["cases"], ids=["lean", "low", "past_upright"])
def test_demand_of_a_rolling_disk_is_that_of_its_contact_force(system_of, case):
    state = case["state"]
    start = {"disk.yaw": state["psi"], "disk.tilt": state["theta"], "disk.spin": state["phi"]}
    start |= {
        "disk.yaw_rate": state["psi_dot"],
        "disk.tilt_rate": state["theta_dot"],
        "disk.spin_rate": state["phi_dot"],
    }
    rim = audit(system_of("rolling-disk"), still(system_of("rolling-disk"), start=start))["rim"]
    x, y, z = case["results"]["contact_force"]
    # longitudinal is axis × normal, f of the reference; lateral is normal × longitudinal
    c, s = math.cos(state["psi"]), math.sin(state["psi"])
    assert [abs(rim.longitudinal[0]), abs(rim.lateral[0])] == pytest.approx(
        [abs(c * x + s * y), abs(-s * x + c * y)], rel=ROUNDING
    )
    assert rim.normal[0] == pytest.approx(z, rel=ROUNDING)
    assert rim.demand[0] == pytest.approx(math.hypot(x, y) / z, rel=ROUNDING)


def test_steady_turn_of_a_disk_asks_for_the_centripetal_force(system_of):
    system = system_of("rolling-disk")
    p = system.model.parameter_values()
    tilt, yaw_rate = 1.2, 1.5
    spin = steady_spin_rate(
        tilt,
        yaw_rate,
        m=p["m"],
        ring=p["r"],
        tube=0.0,
        I_t=p["I_transverse"],
        I_a=p["I_axial"],
        g=p["g"],
    )
    start = {"disk.tilt": tilt, "disk.yaw_rate": yaw_rate, "disk.spin_rate": spin}
    run = ns.simulate(system, duration=2.0, start=start, samples=21, rtol=1e-12, atol=1e-12)
    rim = audit(system, run)["rim"]
    # ω = Ω n + s a along the axis and up: the center moves at r (s + Ω cos tilt) along the heading
    speed = p["r"] * abs(spin + yaw_rate * math.cos(tilt))
    assert rim.normal == pytest.approx(p["m"] * p["g"], rel=MOTION)
    assert rim.demand == pytest.approx(abs(yaw_rate) * speed / p["g"], rel=MOTION)


def test_ground_forces_of_the_agv_and_the_rates_of_its_momenta(system_of):
    """Newton's and Euler's laws for the whole vehicle, its motion differentiated numerically."""
    system = system_of("agv")
    p = system.model.parameter_values()
    start = {"wheel1.rate": -20.0, "wheel2.rate": -34.0, "bracket.angle": 0.5}
    inputs = {"torque1": "0.9*cos(3*t)", "torque2": -0.5}
    run = ns.simulate(
        system, duration=0.4, start=start, inputs=inputs, samples=401, rtol=1e-13, atol=1e-13
    )
    found = audit(system, run)
    at = SampledMotion.of(system, run).arguments(system)
    poses = system.poses.map(*at).reshape(len(run.t), -1, 12)
    names = [node.body.name for node in system.kinematics.tree.nodes]
    platform = (p["m_platform"], (p["I_x"], p["I_y"], p["I_z"]))
    wheel = (p["m_wheel"], (p["I_spin"], p["I_diameter"], p["I_diameter"]))
    momentum, spin, weight = np.zeros((401, 3)), np.zeros((401, 3)), np.zeros((401, 3))
    for k, name in enumerate(names):
        if name == "bracket":
            continue
        mass, inertia = platform if name == "platform" else wheel
        turn, place = poses[:, k, :9].reshape(-1, 3, 3), poses[:, k, 9:]
        velocity = rate_of(place, run.t)
        # ω× = Ṙ Rᵀ
        turning = rate_of(turn, run.t) @ turn.transpose(0, 2, 1)
        omega = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
        momentum += mass * velocity
        about_center = np.einsum("nij,j,nkj,nk->ni", turn, inertia, turn, omega)
        spin += about_center + np.cross(place, mass * velocity)
        weight += np.cross(place, [0.0, 0.0, -mass * p["g"]])
    force, moment = np.zeros((401, 3)), np.zeros((401, 3))
    frames = system.contact_axes.map(*at).reshape(401, 3, 4, 3)
    for k, wheel in enumerate(found.wheels):
        parts = np.stack([wheel.longitudinal, wheel.lateral, wheel.normal], axis=1)
        on_wheel = np.einsum("nj,njk->nk", parts, frames[:, k, 1:])
        force += on_wheel
        moment += np.cross(frames[:, k, 0], on_wheel)
    total = 3 * p["m_wheel"] + p["m_platform"]
    needed = rate_of(momentum, run.t) + [0.0, 0.0, total * p["g"]]
    inner = slice(4, -4)
    assert force[inner] == pytest.approx(needed[inner], abs=1e-6 * total * p["g"])
    needed = rate_of(spin, run.t) - weight
    assert moment[inner] == pytest.approx(needed[inner], abs=1e-6 * total * p["g"])


def rate_of(values, t):
    """Central differences of fourth order; two samples at each end are left without meaning."""
    rate = np.zeros_like(values)
    rate[2:-2] = values[:-4] - 8 * values[1:-3] + 8 * values[3:-1] - values[4:]
    return rate / (12 * (t[1] - t[0]))


def with_flywheel(system, row, parent="cart"):
    """A model with a flywheel, which a row written by hand may gear to a wheel."""
    model = system.model
    wheel = ns.Body(name="flywheel", mass=2.0, inertia=(0.1, 0.2, 0.1))
    hinge = ns.Joint(
        name="flywheel",
        type=ns.joints.Revolute(axis=(0.0, 1.0, 0.0)),
        parent=parent,
        child="flywheel",
    )
    model = dataclasses.replace(
        model,
        bodies=(*model.bodies, wheel),
        joints=(*model.joints, hinge),
        rows=(ns.rows.VelocityRow(name="gear", expression=row, unit="rad/s"),),
    )
    return ns.compile(ns.derive(model))


def test_loads_that_depend_on_where_a_row_acts_are_not_told(tmp_path):
    """A planar joint holds what the wheels carry, and the row may act from the ground on it."""
    geared = with_flywheel(cart(), "flywheel.rate - 5*right.rate")
    run = ns.simulate(
        geared, duration=0.2, start={"cart.vx": 0.4}, inputs={"torque_left": 0.3}, samples=5
    )
    found = audit(geared, run, friction=0.5)
    assert found.verdict == "unknown" and not found.loaded
    for name in ("right", "left", "caster"):
        assert np.all(np.isnan(found[name].normal)) and found[name].load_from == ""
    (note,) = (note for note in found.notes if "load" in note)
    assert note.startswith("the loads of 'right', 'left', 'caster' are not known: planar joint")
    assert "row 'gear' does not declare" in note and note in found.text()
    # what rows of its own give is known: the lateral and longitudinal forces
    assert np.all(np.isfinite(found["left"].longitudinal))
    assert np.max(np.abs(found["left"].longitudinal)) > 0.1
    assert "row 'gear' does not declare" in json.dumps(found.to_json(), allow_nan=False)
    ns.write_report(geared, run, tmp_path / "report.html")
    assert "row &#x27;gear&#x27; does not declare" in (tmp_path / "report.html").read_text()


def test_loads_that_a_row_cannot_change_are_told():
    """Wheels with normal rows of their own, and a row that is beside the cart."""
    geared = with_flywheel(cart(base="free"), "flywheel.rate - 5*right.rate")
    beside = with_flywheel(cart(), "flywheel.rate", parent="world")
    weights = {"free": (M + 2.0) * G, "planar": M * G}
    for base, system in (("free", geared), ("planar", beside)):
        found = audit(system, still(system), friction=0.5)
        assert found.verdict == "holds" and not [n for n in found.notes if "load" in n]
        loads = sum(wheel.normal for wheel in found.wheels)
        assert loads == pytest.approx(weights[base], rel=1e-9)
