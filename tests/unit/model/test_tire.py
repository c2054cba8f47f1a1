"""The tire force: its law, where it acts, that it only takes energy away; checks and file."""

import dataclasses
import math

import numpy as np
import pytest

import noslip as ns

M, J, L = 4.0, 0.7, 0.6  # kg, kg m², m: a slab with one tire ahead of its mass center
C, V0 = 30.0, 0.2

TIRE = ns.forces.Tire(
    name="tire", body="slab", direction=(1.0, 0.0, 0.0), point=(L, 0.0, 0.0), stiffness=C, v0=V0
)


def slab(tire=TIRE, **more):
    b = ns.ModelBuilder(name="slab", gravity=(0.0, 0.0, -9.81))
    b.body("slab", mass=M, moment=J)
    b.joint("slab", ns.joints.Planar(), parent="world", child="slab")
    b.force(tire)
    return dataclasses.replace(b.build(), **more)


def side_force(law, vx, vy, rate):
    """Force across the heading and its moment, from the accelerations."""
    system = ns.compile(ns.derive(slab(law)))
    instant = ns.evaluate(
        system, {"slab.angle": 0.8, "slab.vx": vx, "slab.vy": vy, "slab.rate": rate}
    )
    a = instant.accelerations
    assert M * (a["slab.vx"] - rate * vy) == pytest.approx(0.0, abs=1e-12)
    return M * (a["slab.vy"] + rate * vx), J * a["slab.rate"]


@pytest.mark.parametrize("vx", [1.7, -1.7, 0.0])
def test_linear_law(vx):
    vy, rate = 0.3, -0.9
    force, moment = side_force(TIRE, vx, vy, rate)
    expected = -C * (vy + L * rate) / math.sqrt(vx**2 + V0**2)
    assert force == pytest.approx(expected, rel=1e-13)
    assert moment == pytest.approx(L * expected, rel=1e-13)


def test_without_a_smallest_speed_it_is_stiffness_times_slip():
    force, _ = side_force(dataclasses.replace(TIRE, v0=0.0), -2.0, 0.1, 0.0)
    assert force == pytest.approx(-C * 0.1 / 2.0, rel=1e-13)


@pytest.mark.parametrize("vy", [1e-6, 0.4, -50.0])
def test_law_with_a_maximum(vy):
    F = 12.0
    force, _ = side_force(dataclasses.replace(TIRE, maximum=F), 1.5, vy, 0.0)
    linear = -C * vy / math.sqrt(1.5**2 + V0**2)
    assert force == pytest.approx(F * math.tanh(linear / F), rel=1e-12)
    assert abs(force) <= F


def test_a_steered_tire_pushes_across_its_own_heading():
    heading = 0.4
    turned = dataclasses.replace(
        TIRE, direction=(math.cos(heading), math.sin(heading), 0.0), point=(0.0, 0.0, 0.0)
    )
    system = ns.compile(ns.derive(slab(turned)))
    instant = ns.evaluate(system, {"slab.vx": 1.0})
    c, s = math.cos(heading), math.sin(heading)
    size = C * s / math.sqrt(c**2 + V0**2)  # it is pushed to its left, where it heads
    ours = [M * instant.accelerations[k] for k in ("slab.vx", "slab.vy")]
    assert ours == pytest.approx([-size * s, size * c], rel=1e-13)


def test_a_slab_held_up_by_its_tire_comes_to_head_where_it_goes():
    """For a tire at the mass center the side speed decays at the rate C/(m √(v_u² + v0²))."""
    centered = dataclasses.replace(TIRE, point=(0.0, 0.0, 0.0))
    system = ns.compile(ns.derive(slab(centered)))
    start = {"slab.vx": 3.0, "slab.vy": 0.5}
    run = ns.simulate(system, duration=2.0, start=start, rtol=1e-12, atol=1e-12)
    decay = C / (M * math.sqrt(9.0 + V0**2))
    assert run["slab.vy"] == pytest.approx(0.5 * np.exp(-decay * run.t), abs=1e-11)
    assert run["slab.vx"] == pytest.approx(np.full(len(run.t), 3.0), abs=1e-12)


@pytest.mark.parametrize("maximum", [None, 5.0])
def test_it_takes_energy_away_and_the_balance_knows(maximum, rng):
    system = ns.compile(ns.derive(slab(dataclasses.replace(TIRE, maximum=maximum))))
    start = {"slab.vx": 2.0, "slab.vy": -1.0, "slab.rate": 3.0}
    run = ns.simulate(system, duration=3.0, start=start, rtol=1e-12, atol=1e-12)
    assert np.all(np.diff(run.kinetic_energy) < 0.0)
    assert np.all(np.diff(run.work) < 0.0)
    assert run.energy_drift < 1e-11


def two_bodies():
    """A slab whose tire rolls on a plate that slides on the ground, turned and out of center."""
    b = ns.ModelBuilder(name="slab-on-plate", gravity=(0.0, 0.0, -9.81))
    b.body("plate", mass=7.0, moment=2.0, center_of_mass=(0.1, -0.2, 0.0))
    b.body("slab", mass=M, moment=J)
    b.joint("plate", ns.joints.Planar(), parent="world", child="plate")
    b.joint("slab", ns.joints.Planar(), parent="world", child="slab")
    b.force(dataclasses.replace(TIRE, plane=ns.contacts.Plane(body="plate")))
    return b.build()


def test_what_it_rolls_on_is_pushed_back(rng):
    """Linear and angular momentum of both bodies together are kept, and speeds are relative."""
    system = ns.compile(ns.derive(two_bodies()))
    names = ["x", "y", "angle", "vx", "vy", "rate"]
    start = {f"{b}.{k}": float(rng.normal()) for b in ("plate", "slab") for k in names}
    run = ns.simulate(system, duration=2.0, start=start, rtol=1e-12, atol=1e-12)
    total = np.zeros((len(run.t), 3))
    for body, mass, moment, center in (
        ("plate", 7.0, 2.0, (0.1, -0.2)),
        ("slab", M, J, (0.0, 0.0)),
    ):
        x, y, angle, vx, vy, rate = (run[f"{body}.{k}"] for k in names)
        c, s = np.cos(angle), np.sin(angle)
        ux, uy = vx - rate * center[1], vy + rate * center[0]
        px, py = mass * (ux * c - uy * s), mass * (ux * s + uy * c)
        cx, cy = x + center[0] * c - center[1] * s, y + center[0] * s + center[1] * c
        total += np.column_stack([px, py, moment * rate + cx * py - cy * px])
    assert total == pytest.approx(np.tile(total[0], (len(total), 1)), abs=1e-10)
    assert run.energy_drift < 1e-11
    # together they move as one: no slip, no force
    alike = {f"{b}.vx": 1.0 for b in ("plate", "slab")}
    assert set(ns.evaluate(system, alike).accelerations.values()) == {0.0}


@pytest.mark.parametrize(
    "case",
    [
        ({"stiffness": -1.0}, "stiffness -1, expected 0 or more", "stiffness", "of zero or more"),
        ({"v0": -0.1}, "v0 -0.1, expected 0 or more", "v0", "of zero or more"),
        ({"maximum": 0.0}, "maximum 0, expected more than 0", "maximum", "above zero"),
        ({"direction": (0.0, 0.0, 0.0)}, "which has no direction", "direction"),
        ({"body": "slob"}, "refers to body 'slob'", "body", "did you mean 'slab'"),
        ({"body": "world"}, "is a tire of 'world'", "body", "named in plane.body"),
        ({"plane": ns.contacts.Plane(body="plat")}, "refers to body 'plat'", "plane.body"),
        ({"plane": ns.contacts.Plane(body="slab")}, "on a plane of its own", "", "in plane.body"),
        ({"stiffness": "slab.vx"}, "uses 'slab.vx', a speed", "stiffness", "only parameters"),
    ],
)
def test_faults(case):
    changes, what, where, *fix = case
    with pytest.raises(ns.ModelError) as caught:
        slab(dataclasses.replace(TIRE, **changes))
    (fault,) = caught.value.faults
    assert what in fault.what
    assert fault.where == ".".join(["forces.tire", *([where] if where else [])])
    assert fault.fix and all(words in fault.fix for words in fix)


SIGMA = 0.45
RELAXED = dataclasses.replace(TIRE, relaxation_length=SIGMA)


def test_slip_builds_up_with_the_way_rolled():
    """Drawn at a constant slip from rest: z = −(v_w/V)(1 − exp(−V t/σ)), forward and in reverse."""
    b = ns.ModelBuilder.from_model(slab(RELAXED))
    for name in ("vx", "vy", "rate"):
        b.speed_input(name, f"slab.{name}")
    system = ns.compile(ns.derive(b.build()))
    for vx in (1.7, -1.7):
        given = {"vx": vx, "vy": 0.2, "rate": -0.1}
        run = ns.simulate(system, duration=2.0, inputs=given, rtol=1e-12, atol=1e-13)
        speed, v_w = math.hypot(vx, V0), 0.2 - 0.1 * L
        expected = -v_w / speed * (1 - np.exp(-speed * run.t / SIGMA))
        assert run["tire.slip"] == pytest.approx(expected, abs=1e-11)
        assert run["acceleration.slab.vy"] == pytest.approx(0.0, abs=1e-12)


def car(relaxation_length):
    """A slab on two tires, the one ahead with a carcass that deflects."""
    rear = dataclasses.replace(TIRE, name="rear", point=(-L / 2, 0.0, 0.0), stiffness=2 * C)
    front = dataclasses.replace(TIRE, relaxation_length=relaxation_length)
    b = ns.ModelBuilder.from_model(slab(front))
    b.force(rear)
    for name, unit in (("vx", "N"), ("vy", "N"), ("rate", "N*m")):
        b.force(ns.forces.Motor(name=name, speed=f"slab.{name}", input=b.input(name, unit)))
    return ns.compile(ns.derive(b.build()))


def test_small_motions_of_a_relaxed_tire_by_hand():
    """M (v̇ + V r) = C z − 2C β, J ṙ = L C z + L C β, σ ż = −(v + L r) − S z, S = √(V² + v0²)."""
    system, V = car(SIGMA), 3.0
    S, back = math.hypot(V, V0), L / 2
    ours = ns.linearize(system, ns.steady(system, {"slab.vx": V}).start)
    k = 2 * C / S
    by_hand = np.array(
        [
            [-S / SIGMA, -1 / SIGMA, -L / SIGMA],
            [C / M, -k / M, back * k / M - V],
            [L * C / J, back * k / J, -(back**2) * k / J],
        ]
    )
    at = [[s.name for s in ours.states].index(n) for n in ("tire.slip", "slab.vy", "slab.rate")]
    assert ours.A[np.ix_(at, at)] == pytest.approx(by_hand, rel=1e-12, abs=1e-12)


def test_a_relaxed_tire_in_runs_batches_derivatives_and_formulations():
    system = car(SIGMA)
    assert ns.verify(system.model).worst < 1e-12
    start = {"slab.vx": 3.0, "slab.vy": 0.2, "tire.slip": 0.05}
    how = {"duration": 1.0, "rtol": 1e-12, "atol": 1e-12}
    run = ns.simulate(system, start=start, outputs={"force": f"{C}*tire.slip"}, **how)
    assert run.energy_drift < 1e-10
    assert run["force"] == pytest.approx(C * run["tire.slip"], rel=1e-14)
    steps = 1e-5 * np.array([1.0, -1.0])
    batch = ns.simulate_batch(
        system,
        start=start | {"tire.slip": np.array([0.05, *(0.05 + steps)])},
        columns=["slab.y", "tire.slip"],
        **how,
    )
    assert batch["tire.slip"][0] == pytest.approx(run["tire.slip"][-1], abs=1e-11)
    slope = ns.gradient(
        system, with_respect_to=["tire.slip"], terminal="slab.y", start=start, **how
    )
    by_difference = (batch["slab.y"][1] - batch["slab.y"][2]) / 2e-5
    assert slope["tire.slip"] == pytest.approx(by_difference, rel=1e-6)  # steps of 1e-5
    text = ns.equations_text(system.equations)
    assert "ż1" in text and "agree with the compiled functions" in text


def test_steady_slip_of_a_relaxed_tire_is_that_of_one_without_delay():
    given, find = {"slab.vx": 3.0, "slab.vy": 0.1, "slab.rate": 0.3}, ["vx", "vy", "rate"]
    plain, relaxed = (ns.steady(car(length), given, find=find) for length in (None, SIGMA))
    assert relaxed.values["tire.slip"] == pytest.approx(-(0.1 + L * 0.3) / math.hypot(3.0, V0))
    assert relaxed.inputs == pytest.approx(plain.inputs, abs=1e-9)


def test_inputs_for_a_motion_with_a_relaxed_tire_are_refused():
    motion = ns.motions.ExpressionMotion(
        coordinates={"slab.x": "t", "slab.y": "0", "slab.angle": "0"}
    )
    with pytest.raises(ns.SimulationError, match=r"has the state 'tire\.slip'"):
        ns.reference_motion(car(SIGMA), motion)


def test_a_state_of_a_force_has_a_name_of_its_own():
    b = ns.ModelBuilder.from_model(slab(RELAXED))
    b.input("tire.slip", "N")
    with pytest.raises(ns.ModelError, match=r"has a state 'tire\.slip', and so is something else"):
        b.build()
