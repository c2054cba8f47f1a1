"""Forces that depend on loads: of the package, and of your own."""

import dataclasses
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

import noslip as ns

G, R, WIDTH = 9.81, 0.1, 0.4
#: Accuracy of runs at rtol 1e-11, and rounding of accelerations of order 100.
TIGHT, ROUNDING = 1e-10, 1e-12


def ball(*forces, **rows):
    b = ns.ModelBuilder(name="ball", gravity=(0, 0, -G))
    b.body("ball", mass=2.0, inertia=(0.008, 0.008, 0.008))
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.contact(
        ns.contacts.Rolling(name="ground", body="ball", wheel=ns.surfaces.Ball(radius=R), **rows)
    )
    for force in forces:
        b.force(force)
    return b.build()


SLIDES = {"longitudinal": False, "lateral": False}
FRICTION = ns.forces.SlidingFriction(name="slide", contact="ground", friction=0.3)
RESISTANCE = ns.forces.RollingResistance(name="roll", contact="ground", lever=0.002, smoothing=1e-3)
PIVOTING = ns.forces.PivotingFriction(name="pivot", contact="ground", lever=0.003, smoothing=1e-3)


def robot(is_free, *, caster=True):
    """A base on two driven wheels and a skid that all slide; planar, or free on normal rows."""
    b = ns.ModelBuilder(name="robot", gravity=(0, 0, -G))
    b.body("base", mass=15.0, inertia=(0.25, 0.45, 0.6), center_of_mass=(0.15, 0, 0.05))
    height = ns.Placement() if is_free else ns.Placement(position=(0, 0, R))
    kind = ns.joints.Free() if is_free else ns.joints.Planar()
    b.joint("base", kind, parent="world", child="base", parent_frame=height)
    for name, y in (("left", WIDTH / 2), ("right", -WIDTH / 2)):
        b.body(name, mass=1.2, inertia=(0.003, 0.006, 0.003))
        place = ns.Placement(position=(0, y, 0))
        axle = ns.joints.Revolute(axis=(0, 1, 0))
        b.joint(name, axle, parent="base", child=name, parent_frame=place)
        disk = ns.surfaces.Disk(radius=R, axis=(0, 1, 0))
        b.contact(ns.contacts.Rolling(name=name, body=name, wheel=disk, **SLIDES))
        b.input(f"{name}.torque", "N*m")
        b.force(ns.forces.Motor(name=f"{name}.motor", speed=f"{name}.rate", input=f"{name}.torque"))
    if caster:
        at = (0.25, 0, -0.05)
        b.contact(
            ns.contacts.Rolling(
                name="skid", body="base", wheel=ns.surfaces.Ball(radius=0.05), center=at, **SLIDES
            )
        )
    for name, mu in (("left", 0.5), ("right", 0.4)):
        b.force(ns.forces.SlidingFriction(name=f"{name}.slide", contact=name, friction=mu))
    return b.build()


@pytest.fixture(scope="module")
def sliding():
    return ns.compile(ns.derive(ball(FRICTION, **SLIDES)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(ball(FRICTION, RESISTANCE, PIVOTING, **SLIDES), id="slides"),
        pytest.param(ball(RESISTANCE, PIVOTING), id="rolls"),
        pytest.param(robot(True), id="redundant in nothing"),
        pytest.param(robot(False), id="planar"),
    ],
)
def test_five_formulations_agree(model):
    assert ns.verify(model, states=4).worst < 1e-11


def test_bowling_ball_slides_as_its_closed_form(sliding):
    start = {"ball.vx": 2.0, "ball.wx": 1.0, "ball.z": R}
    run = ns.simulate(sliding, duration=0.1, start=start, rtol=1e-11, atol=1e-11, reactions=True)
    # v of the contact is (vx, vy + r wx) = (2, 0.1): friction along it, which keeps its direction
    slip = np.array([2.0, R * 1.0])
    along = slip / np.linalg.norm(slip)
    t = run.t
    np.testing.assert_allclose(run["ball.x"], 2.0 * t - 0.15 * G * along[0] * t**2, atol=TIGHT)
    np.testing.assert_allclose(run["ball.y"], -0.15 * G * along[1] * t**2, atol=TIGHT)
    np.testing.assert_allclose(run["reaction.ground.normal"], 2.0 * G, rtol=1e-13)
    assert run.energy_drift < TIGHT


def test_rolling_resistance_and_pivoting_friction_by_the_load():
    system = ns.compile(ns.derive(ball(RESISTANCE, PIVOTING)))
    start = ns.complete_start(system, {"ball.vx": 2.0, "ball.wz": 5.0, "ball.z": R})
    state = np.concatenate([start.q, start.eta, [0.0]])
    found = system.motion(0.0, state, np.zeros(0), system.parameters())[6:]
    rates = dict(zip([s.name for s in system.speeds], found, strict=True))
    moment, pivot = 0.002 * 2.0 * G, 0.003 * 2.0 * G
    assert rates["ball.vx"] == pytest.approx(-moment * R / (0.008 + 2.0 * R**2), rel=1e-13)
    assert rates["ball.wz"] == pytest.approx(-pivot / 0.008, rel=1e-13)


def test_a_planar_model_has_the_loads_of_a_free_base(rng):
    """Wheel loads by (2) of the contact forces, against normal rows."""
    systems = [ns.compile(ns.derive(robot(is_free))) for is_free in (False, True)]
    for _ in range(10):
        vx, vy, wz, a, b = rng.normal(size=5) * (1, 0.5, 1, 20, 20)
        shared = {"base.vx": vx, "base.vy": vy, "left.rate": a, "right.rate": b}
        found = []
        for system, turn in zip(systems, ("base.rate", "base.wz"), strict=True):
            given = shared | {turn: wz} | ({"base.z": R} if turn == "base.wz" else {})
            start = ns.complete_start(system, given)
            u = np.array([1.3, -0.4])
            state = np.concatenate([start.q, start.eta, [0.0]])
            rates = system.motion(0.0, state, u, system.parameters())[len(system.speeds) :]
            rates = dict(zip([s.name for s in system.speeds], rates, strict=True))
            names = ("base.vx", "base.vy", turn, "left.rate", "right.rate")
            found.append([rates[name] for name in names])
        np.testing.assert_allclose(*found, rtol=ROUNDING, atol=ROUNDING * np.max(np.abs(found)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt(ns.forces.AbstractForce):
    """A felt pad that rests on the ground and brakes with a part of the load of a contact."""

    name: str
    contact: str
    part: float
    is_squared: bool = False

    def apply(self, loads):
        load = loads.load(f"{self.contact}.normal")
        load = load**2 if self.is_squared else load
        body = loads.contact(self.contact).body
        _, v = loads.point(body, (0.0, 0.0, 0.0))
        loads.push("dissipative", body, (0.0, 0.0, 0.0), -self.part * load * v / ca.norm_2(v))


def test_a_force_of_ones_own_asks_for_a_load():
    """On a ball that rolls freely a force at its center slows 7/5 of its mass."""
    system = ns.compile(ns.derive(ball(Felt(name="felt", contact="ground", part=0.1))))
    run = ns.simulate(system, duration=0.5, start={"ball.vx": 2.0, "ball.z": R}, rtol=1e-11)
    expected = 2.0 * run.t - 0.05 * G / 1.4 * run.t**2
    np.testing.assert_allclose(run["ball.x"], expected, atol=TIGHT)


def test_loads_that_are_not_there_are_refused():
    with pytest.raises(ns.ModelError, match=r"ground\.normal") as raised:
        ns.derive(ball(FRICTION, normal=False, lateral=True, longitudinal=False))
    assert "normal = true" in str(raised.value)
    with pytest.raises(ns.ModelError, match=r"left\.normal"):
        ns.derive(robot(False, caster=False))


def test_forces_must_be_linear_in_loads():
    with pytest.raises(ns.ModelError, match="not linear in the loads"):
        ns.derive(ball(Felt(name="felt", contact="ground", part=0.1, is_squared=True)))


def test_friction_of_what_holds_is_refused():
    with pytest.raises(ns.ModelError, match="does not slide"):
        ball(FRICTION)
    with pytest.raises(ns.ModelError, match="grund"):
        ball(dataclasses.replace(FRICTION, contact="grund"), **SLIDES)


def test_vakonomic_mechanics_has_no_loads():
    with pytest.raises(ns.FormulationError, match="vakonomic"):
        ns.derive(ball(RESISTANCE), ns.Vakonomic())
