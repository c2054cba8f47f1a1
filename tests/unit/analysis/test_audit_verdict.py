"""What the audit says: which wheel slips or lifts, when, by how much, and what it cannot know."""

import dataclasses
import json
import math

import numpy as np
import pytest
from audited_cart import MOTION, B, E, G, H, L, M, R, cart, steady_circle, still

import noslip as ns
from noslip.analysis.audit import audit
from noslip.results import Audit


def speeding_up(duration=2.0):
    """The cart on a straight line, pushed by a torque that grows with time."""
    system = cart()
    inputs = {"torque_right": "0.8*t", "torque_left": "0.8*t"}
    return system, ns.simulate(system, duration=duration, inputs=inputs, samples=201)


def needed(t):
    """Friction demand of both driven wheels at time t: F over (m g − N_caster)/2, N by hand."""
    force = 0.8 * t / R
    caster = M * (E * G - H * 2 * force / M) / L
    return force / ((M * G - caster) / 2)


def test_slip_names_wheel_time_and_excess():
    system, run = speeding_up()
    found = audit(system, run, friction=0.2)
    first = run.t[np.argmax(needed(run.t) > 0.2)]
    for slip, name in zip(found.slips, ("right", "left"), strict=True):
        assert (slip.wheel, slip.kind, slip.is_certain) == (name, "slip", True)
        assert (slip.start, slip.end, slip.time) == pytest.approx((first, 2.0, 2.0))
        assert slip.value == pytest.approx(needed(2.0), rel=MOTION)
        assert slip.excess == pytest.approx(needed(2.0) - 0.2, rel=MOTION)
    assert found.verdict == "fails"
    label, _, line = found.text().splitlines()[3].partition("fails with ")
    assert label.strip() == "no slip"
    assert line == (
        f"friction 0.2: right needs {needed(2.0):.3g} at t = 2 s, {needed(2.0) - 0.2:.3g} too much "
        f"(from {first:.4g} to 2 s)"
    )


def test_what_holds_says_its_margin():
    system, run = speeding_up()
    found = audit(system, run, friction=0.6)
    assert found.verdict == "holds" and not found.slips and not found.lifts
    text = found.text()
    assert f"friction demand      {needed(2.0):.3g} at most" in text
    assert text.endswith(f"holds with friction 0.6: margin {0.6 - needed(2.0):.3g}")
    # without a coefficient there is a demand and no verdict
    silent = audit(system, run)
    assert silent.verdict == "unknown" and "no slip" not in silent.text()
    assert "friction demand" in silent.text()
    assert repr(found).startswith("No-slip audit of 'cart', 201 samples\n")


def lift_speed(radius):
    """Of a circle at which the inner wheel's load vanishes, from the loads of a steady circle."""
    return math.sqrt(G * (1 - E / L) / (H / (B * radius) + E * H / (L * radius**2)))


def test_inner_wheel_lifts_at_the_speed_of_statics():
    system, radius = cart(), 2.0
    critical = lift_speed(radius)
    below = audit(system, steady_circle(system, 0.999 * critical, radius))
    assert not below.lifts and np.all(below["left"].normal > 0)
    run = steady_circle(system, 1.001 * critical, radius)
    above = audit(system, run, friction=0.6)
    (lift,) = above.lifts
    assert (lift.wheel, lift.kind, lift.is_certain) == ("left", "lift", True)
    assert (lift.start, lift.end) == (run.t[0], run.t[-1])
    assert lift.excess == pytest.approx(-np.min(above["left"].normal), rel=1e-12)
    assert above.verdict == "fails"
    assert f"lift                 left would lift: load {lift.value:.4g} N at t = " in above.text()
    # the force of a wheel without load is not called a slip as well
    assert "left" not in {slip.wheel for slip in above.slips}
    assert np.all(np.isinf(above["left"].demand))
    # at the critical speed itself the load is nothing
    there = audit(system, steady_circle(system, critical, radius))
    assert np.max(np.abs(there["left"].normal)) < MOTION * M * G
    # it also lifts without a coefficient
    assert audit(system, run).verdict == "fails"


def test_verdict_says_whether_it_takes_a_split_between_two_wheels_of_an_axle():
    system = cart(ahead=0.0)
    speed, radius = 1.5, 2.0
    start = {"cart.vx": speed, "cart.rate": speed / radius}
    run = ns.simulate(system, duration=0.1, start=start, samples=3)
    demand = speed**2 / radius / G
    transfer = H * demand / B  # of the axle's load
    inner, outer = demand / (1 - transfer), 2 * demand / (1 - transfer)
    verdicts = {
        0.9 * demand: "fails",  # no split needs less than the whole force over the whole load
        0.5 * (demand + inner): "holds if shared",  # equal halves are too much for the inner wheel
        0.5 * (inner + outer): "holds if shared",  # all of it on the inner wheel is
        1.1 * outer: "holds",
    }
    for friction, verdict in verdicts.items():
        found = audit(system, run, friction=friction)
        assert found.verdict == verdict
        assert found.required[0] == pytest.approx(demand, rel=MOTION)
        text = found.text().splitlines()[-1 if verdict != "fails" else 3]
        if friction < demand:
            assert f"however the wheels share, {demand:.3g} is needed" in text
            assert found.slips[0].is_certain
        elif friction < inner:
            assert f"holds with friction {friction:g} if the wheels share the forces best" in text
            assert f"left needs {inner:.3g} at t = " in text
            assert f"{demand:.3g} is needed; by least-norm sharing" in text
            assert not found.slips[0].is_certain
        elif friction < outer:
            assert f"holds with friction {friction:g} if the wheels share the forces best" in text
            assert f"by least-norm sharing; otherwise left needs up to {outer:.3g}" in text
        else:
            assert text.endswith(f"margin {friction - inner:.3g}")


def test_two_wheels_cannot_hold_pitch(system_of):
    system = system_of("carriage")
    found = audit(system, ns.run_scenario(system), friction=0.6)
    (moment,) = found.unsupported
    assert (moment.joint, moment.wheels) == ("carriage", ("wheel1", "wheel2"))
    assert moment.about == "the line through 'wheel1' and 'wheel2' (pitch)"
    assert "caster" in moment.fix
    # the mass center is on the axle: what tips it are the motors' torques, 0.2 + 0.1 at the start
    assert moment.moment[0] == pytest.approx(0.3, rel=1e-9)
    assert found.verdict == "unknown" and not found.loaded
    assert np.all(np.isnan(found["wheel1"].normal)) and np.all(np.isnan(found["wheel1"].demand))
    assert np.all(np.isfinite(found["wheel1"].lateral_range))
    text = found.text()
    assert "planar joint 'carriage' holds a moment about the line through" in text
    assert text.endswith("no verdict: the loads of wheel1, wheel2 are not known")


def test_unsupported_moments_are_told_apart():
    one = cart((("only", 0.0, 0.0),), ())
    found = audit(one, still(one, start={"cart.rate": 1.0}))
    assert "pitch and roll" in found.unsupported[0].about
    assert "track width and a caster" in found.unsupported[0].fix
    tandem = cart((("rear", 0.0, 0.0), ("front", 0.7, 0.0)), ())
    # level and straight it is balanced: the wheels carry it and nothing is missing
    assert not audit(tandem, still(tandem, start={"cart.vx": 1.0})).unsupported
    found = audit(*_leaning(tandem))
    assert found.unsupported[0].about == "the line through 'rear' and 'front' (roll)"
    assert "track width: two wheels side by side" in found.unsupported[0].fix
    skew = cart((("rear", 0.0, 0.0),), (("aside", 0.5, 0.5),))
    found = audit(skew, still(skew))
    assert found.unsupported[0].about == "the line through 'rear' and 'aside'"
    assert "beside that line" in found.unsupported[0].fix


def _leaning(system):
    """The same motion where gravity pulls to the side as well."""
    run = still(system, start={"cart.vx": 1.0})
    tilted = dataclasses.replace(system.model, gravity=(0.0, -1.0, -9.0))
    system = ns.compile(ns.derive(tilted))
    return system, dataclasses.replace(run, model=tilted)


def test_blades_have_side_forces_and_no_verdict(system_of):
    system = system_of("tricycle")
    run = ns.run_scenario(system)
    found = audit(system, run, friction=0.6)
    assert {wheel.kind for wheel in found.wheels} == {"blade"}
    front = found["front"]
    worst = np.max(np.abs(front.lateral))
    assert f"side force           {worst:.4g} N at most (front, t = " in found.text()
    assert found.verdict == "unknown" and "blades hold without friction" in found.text()
    assert np.all(np.isnan(front.demand)) and np.all(front.longitudinal == 0)
    assert np.all(np.isnan(found.required))


def test_a_wheel_without_normal_row_or_planar_joint_has_no_load():
    b = ns.ModelBuilder(name="mill", gravity=(0.0, 0.0, -G))
    z, y = ns.joints.Revolute(axis=(0.0, 0.0, 1.0)), ns.joints.Revolute(axis=(0.0, 1.0, 0.0))
    b.body("arm", mass=1.0, inertia=(1.0, 1.0, 1.0))
    b.body("stone", mass=5.0, inertia=(0.1, 0.2, 0.1))
    b.joint("post", z, parent="world", child="arm")
    at = ns.Placement(position=(0.0, 1.0, 0.3))
    b.joint("axle", y, parent="arm", child="stone", parent_frame=at)
    disk = ns.surfaces.Disk(radius=0.3, axis=(0.0, 1.0, 0.0))
    b.contact(
        ns.contacts.Rolling(name="stone", body="stone", wheel=disk, lateral=False, normal=False)
    )
    system = ns.compile(ns.derive(b.build()))
    found = audit(system, still(system, start={"post.rate": 1.0}), friction=0.5)
    assert found.verdict == "unknown" and found["stone"].load_from == ""
    assert "the load of 'stone' is not known" in found.notes[0]
    assert "set normal = true" in found.notes[0]


def test_blades_beside_wheels_are_said_to_carry_nothing():
    system = cart(blades=(("keel", -0.4, 0.0),))
    found = audit(system, still(system), friction=0.5)
    assert "blades carry no load here ('keel'): the wheels carry all of it" in found.notes
    assert found.verdict == "holds" and found["keel"].load_from == ""
    assert found["caster"].normal[0] == pytest.approx(M * G * E / L)


def test_nothing_to_audit_is_said(system_of):
    system = system_of("manipulator-2r")
    found = audit(system, still(system), friction=0.5)
    assert found.verdict == "unknown" and found.wheels == ()
    assert found.text().endswith("nothing rolls or skates: the model has no contacts")


def test_forces_where_the_speeds_of_the_system_are_singular(system_of):
    """A slide's speed says nothing of a sleigh that moves across it: other speeds do."""
    system = system_of("sleigh-on-slides")
    start = {"heading.angle": math.pi / 2, "heading.rate": 1.0, "y.speed": 0.5}
    found = audit(system, ns.simulate(system, duration=1.0, start=start, samples=11))
    at_start = ns.evaluate(system, start).multipliers["blade.lateral"]
    assert found["blade"].lateral[0] == pytest.approx(at_start, rel=1e-12)
    assert np.max(np.abs(found["blade"].lateral)) < 1.0 and not found.notes


def test_plain_data_says_the_same_and_is_strict_json():
    system, run = speeding_up(duration=1.0)
    found = audit(system, run, friction=0.1)
    data = json.loads(json.dumps(found.to_json(samples=True), allow_nan=False))
    assert (data["verdict"], data["friction"]) == ("fails", 0.1)
    assert data["required_friction"] == pytest.approx(needed(1.0), rel=MOTION)
    wheel = data["wheels"]["left"]
    assert wheel["largest_demand"] == pytest.approx(needed(1.0), rel=MOTION)
    assert wheel["largest_demand_time"] == 1.0
    assert wheel["least_load"] == pytest.approx(np.min(found["left"].normal))
    assert data["slips"][0]["wheel"] == "right" and data["slips"][0]["is_certain"]
    assert data["samples"]["left"]["normal"] == found["left"].normal.tolist()
    assert len(data["samples"]["left"]["lateral_range"][0]) == 2
    assert "samples" not in found.to_json()
    lifted = audit(system, steady_circle(system, 1.2 * lift_speed(2.0), 2.0), friction=0.3)
    assert json.dumps(lifted.to_json(samples=True), allow_nan=False)


def test_wrong_requests_say_what_to_do(system_of, refuses):
    system = system_of("agv")
    run = still(system)
    with refuses(ns.SimulationError, "coefficient is -0.1", "'agv'", "not negative"):
        audit(system, run, friction=-0.1)
    with refuses(ns.SimulationError, "the run is of model 'agv'", "audit", "was simulated"):
        audit(system_of("carriage"), run)
    with refuses(ns.SimulationError, "no contact 'wheel4'", "audit of model", "wheel1"):
        audit(system, run)["wheel4"]
    other = ns.compile(ns.derive(ns.load("knife-edge"), ns.Vakonomic()))
    motion = ns.simulate(other, duration=0.1)
    with refuses(ns.SimulationError, "no forces of the ground", "'knife-edge'", "d'Alembert"):
        audit(other, motion)


def test_an_audit_cannot_be_changed(system_of):
    found = audit(system_of("agv"), still(system_of("agv")))
    assert isinstance(found, Audit)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.friction = 1.0


def test_the_headline_is_the_split_that_friction_makes_and_the_same_everywhere():
    """The best split counts, on the console and in data; what has no load is said in words."""
    system, run = speeding_up()
    found = audit(system, run)
    headline = found.to_json()["headline"]
    # both driven wheels ask for the same
    wheels = [f"{found.required.max():.3g} at most ({name}, t = 2 s)" for name in ("left", "right")]
    assert headline in wheels
    assert f"friction demand      {headline}" in found.text()
    hopeless = dataclasses.replace(found, required=np.full(len(found.t), np.inf))
    assert "no friction is enough" in hopeless.to_json()["headline"]
    assert "∞" not in hopeless.to_json()["headline"]
